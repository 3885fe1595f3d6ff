// SPDX-License-Identifier: Apache-2.0
// sweep.h: products of lists and the rule that ends a series of batches. What it does not do: know how a row comes about.
#include "plan/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_gain = 0.05; // less throughput than this above the batch before is not worth a larger batch

static size_t without_doubles(int64_t *out, const struct sweep_numbers *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++) {
		size_t k = 0;

		while (k < n && out[k] != list->items[i])
			k++;
		if (k == n)
			out[n++] = list->items[i];
	}
	return n;
}

// The values of an axis, its base value where nothing was typed.
static struct sweep_numbers numbers(struct arena *a, const struct sweep_numbers *list, int64_t base, bool means_something)
{
	int64_t *items = ARENA_ARRAY(a, list->count + 1, int64_t);
	size_t n = means_something ? without_doubles(items, list) : 0;

	if (n == 0)
		items[n++] = means_something ? base : 0;
	return (struct sweep_numbers){ items, n };
}

static struct sweep_words words(struct arena *a, const struct sweep_words *list, const char *base)
{
	const char **items = ARENA_ARRAY(a, list->count + 1, const char *);
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++) {
		size_t k = 0;

		while (k < n && !text_is(items[k], list->items[i]))
			k++;
		if (k == n)
			items[n++] = list->items[i];
	}
	if (n == 0)
		items[n++] = base;
	return (struct sweep_words){ items, n };
}

static int by_size(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static const char *label_of(struct arena *a, const struct sweep_axes *all, const struct question *q)
{
	const char *out = "";

	if (all->precision.count > 1)
		out = arena_printf(a, "%s", q->variant.precision);
	if (all->threads.count > 1)
		out = arena_printf(a, "%s%s%lld thread%s", out, *out ? ", " : "", (long long)q->variant.threads,
			q->variant.threads == 1 ? "" : "s");
	if (all->image_size.count > 1)
		out = arena_printf(a, "%s%simage %lld", out, *out ? ", " : "", (long long)q->variant.image_size);
	if (all->sequence.count > 1)
		out = arena_printf(a, "%s%sseq %lld", out, *out ? ", " : "", (long long)q->sequence);
	if (all->batch.count > 1)
		out = arena_printf(a, "%s%sbatch %lld", out, *out ? ", " : "", (long long)q->batch);
	return out;
}

void sweep_cells(struct sweep_cell **out, size_t *count, const char **left_out, struct arena *a, const struct sweep_axes *axes,
	const struct question *base, const struct plan_model *m)
{
	const struct sweep_axes all = {
		.precision = words(a, &axes->precision, base->variant.precision),
		.threads = numbers(a, &axes->threads, base->variant.threads, true),
		.image_size = numbers(a, &axes->image_size, base->variant.image_size, m->takes_images),
		.sequence = numbers(a, &axes->sequence, base->sequence, m->takes_tokens),
		.batch = numbers(a, &axes->batch, base->batch, true),
	};
	const size_t series = all.precision.count * all.threads.count * all.image_size.count * all.sequence.count;
	struct sweep_cell *cells = ARENA_ARRAY(a, series * all.batch.count, struct sweep_cell);
	int64_t *batches = (int64_t *)(uintptr_t)all.batch.items;
	size_t n = 0;

	*left_out = NULL;
	if (!m->takes_tokens && axes->sequence.count)
		*left_out = "--seq";
	if (!m->takes_images && axes->image_size.count)
		*left_out = *left_out ? "--seq and --image-size" : "--image-size";
	qsort(batches, all.batch.count, sizeof *batches, by_size);
	for (size_t s = 0; s < series; s++)
		for (size_t b = 0; b < all.batch.count; b++, n++) {
			struct question *q = &cells[n].question;
			size_t rest = s;

			*q = *base;
			q->batch = batches[b];
			q->sequence = all.sequence.items[rest % all.sequence.count];
			rest /= all.sequence.count;
			q->variant.image_size = all.image_size.items[rest % all.image_size.count];
			rest /= all.image_size.count;
			q->variant.threads = all.threads.items[rest % all.threads.count];
			q->variant.precision = all.precision.items[rest / all.threads.count];
			cells[n].series = s;
			cells[n].label = label_of(a, &all, q);
		}
	*out = cells;
	*count = n;
}

size_t sweep_most(const struct sweep_axes *axes)
{
	const size_t counts[] = { axes->precision.count, axes->threads.count, axes->image_size.count, axes->sequence.count,
		axes->batch.count };
	size_t most = 0;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		most = counts[i] > most ? counts[i] : most;
	return most;
}

// By the median and not by the mean that throughput_per_s is: one run that took long says nothing of a batch. What generates, and
// a scenario, define their own.
static double per_s(const struct row *r)
{
	bool is_plain = r->new_tokens == ROW_NONE && (r->scenario == NULL || text_is(r->scenario, "single-stream"));

	return is_plain && r->latency_ms > 0 && r->batch > 0 ? 1000 * (double)r->batch / r->latency_ms : row_per_s(r);
}

const char *sweep_take(struct sweep_series *s, struct arena *a, int64_t batch, enum verdict v, bool tight, const struct row *r)
{
	const struct sweep_series before = *s;

	if (tight || v == VERDICT_NO_MEMORY || v == VERDICT_TIMEOUT)
		return arena_printf(
			a, "stopped at batch %lld: %s", (long long)batch, verdict_word(tight ? VERDICT_NO_MEMORY : v));
	*s = (struct sweep_series){ .batch = batch, .per_s = (double)NAN };
	if (verdict_ran(v))
		s->per_s = per_s(r);
	if (before.batch == 0 || !(before.per_s > 0) || !(s->per_s > 0))
		return NULL;
	const double gain = s->per_s / before.per_s - 1;
	return gain < least_gain ? arena_printf(a, "stopped at batch %lld: %+.1f %%", (long long)batch, gain * 100) : NULL;
}
