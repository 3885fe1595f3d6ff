// SPDX-License-Identifier: Apache-2.0
// sweep.h: products of lists and the rule that ends a series of batches. What it does not do: know how a row comes about.
#include "plan/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_gain = 0.05; // less throughput than this above the batch before is not worth a larger batch

enum status sweep_add(struct sweep_axes *axes, struct arena *a, enum question_at at, const char *words, struct error *err)
{
	const struct member *m = &question_members[at];
	struct sweep_axis *axis = &axes->of[at];

	while (words) {
		const char *comma = strchr(words, ',');
		struct question *values = ARENA_ARRAY(a, axis->count + 1, struct question), *last = &values[axis->count];
		size_t i = 0;

		if (axis->count)
			memcpy(values, axis->values, axis->count * sizeof *values);
		enum status s = member_set(m, last, comma ? arena_strndup(a, words, (size_t)(comma - words)) : words, err);
		if (s != STATUS_OK)
			return s;
		while (!member_is_same(m, &values[i], last))
			i++;
		axis->count += i == axis->count;
		axis->values = values;
		words = comma && comma[1] ? comma + 1 : NULL;
	}
	return STATUS_OK;
}

static bool means_something(enum question_at at, const struct plan_model *m)
{
	return at == QUESTION_AT_image_size ? m->takes_images : at == QUESTION_AT_sequence ? m->takes_tokens : true;
}

static int by_batch(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	return x->batch < y->batch ? -1 : x->batch > y->batch;
}

// "image size" of --image-size; of a text the value says what it is.
static const char *name_of(struct arena *a, const struct member *m)
{
	char *name = arena_strdup(a, m->option);

	for (char *p = name; *p; p++)
		*p = *p == '-' ? ' ' : *p;
	return m->kind == MEMBER_TEXT ? "" : arena_printf(a, "%s ", name);
}

static const char *label_of(struct arena *a, const struct sweep_axes *all, const struct question *q)
{
	const char *out = "";

	for (size_t i = QUESTION_COUNT; i-- > 0;) {
		const struct member *m = &question_members[i];
		const char *word = all->of[i].count > 1 ? member_word(m, a, q) : NULL;

		if (word)
			out = arena_printf(a, "%s%s%s%s", out, *out ? ", " : "", name_of(a, m), word);
	}
	return out;
}

// Each axis with at least one value: what was typed, or the base's; none at all where it means nothing to the model.
static void complete(struct sweep_axes *all, const char **left_out, struct arena *a, const struct sweep_axes *axes,
	const struct question *base, const struct plan_model *m)
{
	*left_out = NULL;
	for (size_t i = 0; i < QUESTION_COUNT; i++) {
		const struct sweep_axis *axis = &axes->of[i];
		const bool has_meaning = means_something((enum question_at)i, m);
		struct question *values = ARENA_ARRAY(a, axis->count + 1, struct question);

		all->of[i] = (struct sweep_axis){ values, has_meaning && axis->count ? axis->count : 1 };
		if (has_meaning && axis->count)
			memcpy(values, axis->values, axis->count * sizeof *values);
		else if (has_meaning)
			values[0] = *base;
		else if (axis->count)
			*left_out = arena_printf(
				a, "%s%s--%s", *left_out ? *left_out : "", *left_out ? " and " : "", question_members[i].option);
	}
}

void sweep_cells(struct sweep_cell **out, size_t *count, const char **left_out, struct arena *a, const struct sweep_axes *axes,
	const struct question *base, const struct plan_model *m)
{
	const struct sweep_axis *batches;
	struct sweep_axes all;
	size_t n = 1;

	complete(&all, left_out, a, axes, base, m);
	batches = &all.of[QUESTION_AT_batch];
	qsort(batches->values, batches->count, sizeof *batches->values, by_batch);
	for (size_t i = 0; i < QUESTION_COUNT; i++)
		n *= all.of[i].count;
	*out = ARENA_ARRAY(a, n, struct sweep_cell);
	*count = n;
	for (size_t k = 0; k < n; k++) {
		struct question *q = &(*out)[k].question;
		size_t rest = k;

		*q = *base;
		for (size_t i = 0; i < QUESTION_COUNT; i++) {
			member_copy(&question_members[i], q, &all.of[i].values[rest % all.of[i].count]);
			rest /= all.of[i].count;
		}
		(*out)[k].series = k / batches->count;
		(*out)[k].label = label_of(a, &all, q);
	}
}

size_t sweep_most(const struct sweep_axes *axes)
{
	size_t most = 0;

	for (size_t i = 0; i < QUESTION_COUNT; i++)
		most = axes->of[i].count > most ? axes->of[i].count : most;
	return most;
}

const char *sweep_words(const struct sweep_axes *axes, struct arena *a)
{
	const char *out = "";

	for (size_t i = QUESTION_COUNT; i-- > 0;) {
		const struct member *m = &question_members[i];
		const struct sweep_axis *axis = &axes->of[i];

		for (size_t k = 0; k < axis->count && axis->count > 1; k++)
			out = arena_printf(a, "%s%s%s%s", out,
				k              ? ","
					: *out ? ", "
					       : "",
				k                                ? ""
					: m->kind == MEMBER_TEXT ? arena_printf(a, "%s ", m->option)
								 : name_of(a, m),
				member_word(m, a, &axis->values[k]));
	}
	return out;
}

const char *sweep_take(struct sweep_series *s, struct arena *a, int64_t batch, enum verdict v, bool tight, const struct row *r)
{
	const struct sweep_series before = *s;

	if (tight || v == VERDICT_NO_MEMORY || v == VERDICT_TIMEOUT)
		return arena_printf(
			a, "stopped at batch %lld: %s", (long long)batch, verdict_word(tight ? VERDICT_NO_MEMORY : v));
	*s = (struct sweep_series){ .batch = batch, .per_s = (double)NAN, .is_unstable = text_is(r->stability, "unstable") };
	if (verdict_ran(v))
		s->per_s = row_median_per_s(r);
	if (s->is_unstable || before.is_unstable || before.batch == 0 || !(before.per_s > 0) || !(s->per_s > 0))
		return NULL;
	const double gain = s->per_s / before.per_s - 1;
	return gain < least_gain
		? arena_printf(a, "stopped at batch %lld: %+.1f %% samples/s by the median", (long long)batch, gain * 100)
		: NULL;
}
