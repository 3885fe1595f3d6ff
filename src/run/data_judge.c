// SPDX-License-Identifier: Apache-2.0
#include "run/data_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/cell_judge.h"
#include "run/reference.h"
#include "stats/proportion.h"

#define SURE 0.05

// How much an example's score may differ by rounding, and is a smaller one better?
static const struct {
	double slack;
	bool is_loss;
} metrics[DATA_METRICS] = {
	[DATA_ACCURACY] = { 1e-12, false },
	[DATA_TOKEN_ACCURACY] = { 1e-12, false },
	[DATA_PERPLEXITY] = { 1e-4, true },
	[DATA_COSINE] = { 1e-6, false },
	[DATA_WORD_ERROR] = { 1e-12, true },
	[DATA_PRECISION] = { 1e-4, false },
	[DATA_OVERLAP] = { 1e-4, false },
};

// exp of the loss, else the share or the mean. NaN: an output was not finite.
static double value_of(enum data_metric m, double ratio)
{
	return m == DATA_PERPLEXITY ? exp(ratio) : ratio;
}

static double metric_of(const struct scores *s)
{
	double sum = 0, weight = 0;

	if (scores_row_size(s->metric) && s->broken)
		return (double)NAN;
	if (s->metric == DATA_PRECISION)
		return average_precision((const struct detection *)s->rows, s->row_first, s->count).mean;
	if (s->metric == DATA_OVERLAP)
		return overlap_mean((const struct overlap *)s->rows, s->row_count);
	for (size_t i = 0; i < s->count; i++) {
		sum += s->sum[i];
		weight += s->weight[i];
	}
	return value_of(s->metric, sum / weight);
}

// The share of labels among the TOP largest logits, where there are more classes than that; NaN.
static double top_of(const struct scores *s)
{
	enum { TOP = 5 };
	size_t within = 0;

	for (size_t i = 0; i < s->places; i++)
		within += s->rank[i] < TOP && s->chosen[i] >= 0;
	return s->metric == DATA_ACCURACY && s->classes > TOP ? (double)within / (double)s->places : (double)NAN;
}

static void take_interval(const struct scores *s, struct row *r)
{
	double right = 0, places = 0;

	if (s->metric == DATA_ACCURACY) { // rows are examples
		for (size_t i = 0; i < s->count; i++) {
			right += s->sum[i];
			places += s->weight[i];
		}
		stats_wilson((size_t)right, (size_t)places, &r->data_low, &r->data_high);
	} else if (!s->broken && !scores_row_size(s->metric) &&
		stats_ratio_interval(s->sum, s->weight, s->count, 0, &r->data_low, &r->data_high)) {
		r->data_low = value_of(s->metric, r->data_low);
		r->data_high = value_of(s->metric, r->data_high);
	}
}

// ---- macro F1 ------------------------------------------------------------------------------------------------------------

static int by_number(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static size_t times(const int64_t *sorted, size_t count, int64_t x)
{
	size_t n = 0, low = 0, high = count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (sorted[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < count && sorted[low + n] == x)
		n++;
	return n;
}

// Mean over classes of 2 right / (answered + labelled).
static double macro_f1(const struct scores *s, struct arena *a)
{
	int64_t *labelled = ARENA_ARRAY(a, s->places + 1, int64_t), *answered = ARENA_ARRAY(a, s->places + 1, int64_t),
		*right = ARENA_ARRAY(a, s->places + 1, int64_t), *all = ARENA_ARRAY(a, 2 * s->places + 1, int64_t);
	size_t right_count = 0, all_count = 0, classes = 0;
	double sum = 0;

	for (size_t i = 0; i < s->places; i++) {
		labelled[i] = all[all_count++] = s->label[i];
		answered[i] = s->chosen[i];
		if (s->chosen[i] >= 0)
			all[all_count++] = s->chosen[i];
		if (s->chosen[i] == s->label[i])
			right[right_count++] = s->label[i];
	}
	qsort(labelled, s->places, sizeof *labelled, by_number);
	qsort(answered, s->places, sizeof *answered, by_number);
	qsort(right, right_count, sizeof *right, by_number);
	qsort(all, all_count, sizeof *all, by_number);
	for (size_t i = 0; i < all_count; i++) {
		if (i && all[i] == all[i - 1])
			continue;
		sum += 2 * (double)times(right, right_count, all[i]) /
			(double)(times(answered, s->places, all[i]) + times(labelled, s->places, all[i]));
		classes++;
	}
	return classes ? sum / (double)classes : (double)NAN;
}

// ---- against float32 -----------------------------------------------------------------------------------------------------

// Has float32 a score of the example? Its loss may be infinite, beside which nothing is worse.
static bool has_score(const struct scores *ref, size_t i)
{
	return isfinite(ref->sum[i]);
}

// How much better the example is than float32's, in what is not rounding. Where that has no score nothing is better or worse;
// what is no number itself is worse.
static int side_of(const struct scores *x, const struct scores *ref, size_t i)
{
	const double is = x->sum[i] / x->weight[i], was = ref->sum[i] / ref->weight[i];
	const double slack = metrics[x->metric].slack, gain = metrics[x->metric].is_loss ? was - is : is - was;

	if (!has_score(ref, i) || isnan(was))
		return 0;
	return isnan(gain) ? -1 : gain > slack ? 1 : gain < -slack ? -1 : 0;
}

static bool is_unlike(const struct scores *x, const struct scores *ref, size_t i)
{
	const size_t first = (size_t)x->first[i], places = (size_t)x->first[i + 1] - first;

	if (x->metric == DATA_COSINE || scores_row_size(x->metric))
		return side_of(x, ref, i) != 0;
	return places > 0 && memcmp(x->chosen + first, ref->chosen + first, places * sizeof *x->chosen) != 0;
}

// The same examples, and the same places of them.
static bool is_alike(const struct scores *x, const struct scores *ref)
{
	return x->metric == ref->metric && x->count == ref->count && x->places == ref->places &&
		!memcmp(x->first, ref->first, (x->count + 1) * sizeof *x->first) &&
		(!x->places || !memcmp(x->label, ref->label, x->places * sizeof *x->label));
}

static void compare(const struct scores *x, const struct scores *ref, struct arena *a, struct row *r)
{
	r->data_reference = metric_of(ref);
	r->data_unlike = r->data_worse = r->data_better = 0;
	for (size_t i = 0; i < x->count; i++) {
		const int side = side_of(x, ref, i);

		r->data_unlike += is_unlike(x, ref, i);
		r->data_worse += side < 0;
		r->data_better += side > 0;
	}
	r->data_p = stats_sign_test((size_t)r->data_worse, (size_t)r->data_better);
	if (x->metric == DATA_ACCURACY)
		r->data_macro_f1_reference = macro_f1(ref, a);
	r->data_top5_reference = top_of(ref);
}

static size_t without_score(const struct scores *ref)
{
	size_t count = 0;

	for (size_t i = 0; i < ref->count; i++)
		count += !has_score(ref, i);
	return count > (size_t)ref->broken ? count : (size_t)ref->broken;
}

// Examples whose outputs are not finite at a place, or of metrics without places at all, where float32's are.
static size_t broken_alone(const struct scores *x, const struct scores *ref)
{
	size_t count = 0;

	for (size_t i = 0; i < x->count; i++) {
		bool is = isnan(x->sum[i]) && !isnan(ref->sum[i]);

		for (int64_t k = x->first[i]; k < x->first[i + 1]; k++)
			is = is || (x->chosen[k] < 0 && ref->chosen[k] >= 0);
		count += is;
	}
	return count;
}

// The metric of `s` over the examples of which float32 has a score; of pictures the mean of their own.
static double metric_beside(const struct scores *s, const struct scores *ref)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < s->count; i++)
		if (has_score(ref, i) && !isnan(s->sum[i])) {
			sum += s->sum[i];
			weight += s->weight[i];
		}
	return value_of(s->metric, sum / weight);
}

// The figures that are held against each other.
struct figures {
	double is, was;
};

static struct figures figures_of(const struct scores *x, const struct scores *ref, size_t unscored, const struct row *r)
{
	return isnan(r->data_value) || unscored ? (struct figures){ metric_beside(x, ref), metric_beside(ref, ref) }
						: (struct figures){ r->data_value, r->data_reference };
}

// The figure must have become worse, too, but for one that both sides' largest example makes infinite.
static bool is_worse(const struct scores *x, struct figures f, const struct row *r)
{
	const bool falls = metrics[x->metric].is_loss ? f.is > f.was : f.is < f.was;

	return (falls || (isinf(f.is) && isinf(f.was))) && r->data_worse > r->data_better && r->data_p < SURE;
}

void data_judge(const struct scores *x, const struct scores *ref, const char *by, const char *absent, bool is_reduced,
	struct arena *a, struct cell_result *out)
{
	struct row *r = &out->row;
	const char *note =
		x->cut ? arena_printf(a, "%lld texts were cut to the length that model and graph take", (long long)x->cut) : NULL;

	r->data_examples = (int64_t)x->count;
	r->data_metric = data_metric_word(x->metric);
	r->data_value = metric_of(x);
	take_interval(x, r);
	if (x->metric == DATA_PRECISION && !x->broken && isnan(r->data_value))
		note = arena_join(a, note, "; ", "mAP is of no example that has a box");
	if (x->metric == DATA_ACCURACY)
		r->data_macro_f1 = macro_f1(x, a);
	r->data_top5 = top_of(x);
	if (x->metric == DATA_PRECISION && !x->broken)
		r->data_map50 = average_precision((const struct detection *)x->rows, x->row_first, x->count).at_50;
	for (size_t i = 0; x->metric == DATA_COSINE && i < x->count; i++)
		r->data_max_rel_error = r->data_max_rel_error >= x->relative[i] ? r->data_max_rel_error : x->relative[i];
	if (ref && !is_alike(x, ref)) {
		ref = NULL;
		absent = "its examples are others";
	}
	if (ref) {
		compare(x, ref, a, r);
		r->data_reference_by = by;
	} else {
		note = arena_join(a, note, "; ", arena_printf(a, "there is no reference in float32: %s", absent));
	}
	r->data_note = note;
	if (out->verdict != VERDICT_RIGHT && out->verdict != VERDICT_UNJUDGED)
		return;
	const bool is_given = x->metric == DATA_COSINE; // the examples hold what it should be, which is finite
	const size_t wrong = is_given ? (size_t)x->broken : ref ? broken_alone(x, ref) : 0;
	const size_t unscored = ref ? without_score(ref) : 0;
	const struct figures f = ref ? figures_of(x, ref, unscored, r) : (struct figures){ 0 };
	if (x->broken && wrong) {
		out->verdict = VERDICT_WRONG;
		r->cause = arena_printf(a, "--data: the outputs for %zu of %zu examples are not finite", wrong, x->count);
	} else if (ref && is_worse(x, f, r)) {
		out->verdict = is_reduced ? VERDICT_LOSSY : VERDICT_WRONG;
		r->cause = arena_printf(a,
			"--data: %s %.4g, float32's %.4g on the same %zu examples: %lld are worse and %lld better (sign test p = "
			"%.2g)",
			r->data_metric, f.is, f.was, x->count, (long long)r->data_worse, (long long)r->data_better, r->data_p);
	} else if (x->broken && !ref) {
		out->verdict = VERDICT_UNJUDGED;
		r->cause = arena_printf(a,
			"not judged: --data: the outputs for %lld of %zu examples are not finite, and float32's are not known: "
			"%s",
			(long long)x->broken, x->count, absent);
	} else if (x->broken && isnan(r->data_value)) {
		out->verdict = VERDICT_UNJUDGED;
		r->cause = arena_printf(a,
			"not judged: --data: the outputs for %lld of %zu examples are not finite, float32's neither, and so "
			"there is no %s",
			(long long)x->broken, x->count, r->data_metric);
	} else if (!ref && out->verdict == VERDICT_RIGHT) {
		out->verdict = VERDICT_UNJUDGED;
		r->cause = arena_printf(a, "not judged: --data: float32's answers are not known: %s", absent);
	} else if (unscored && out->verdict == VERDICT_RIGHT) {
		out->verdict = VERDICT_UNJUDGED;
		r->cause = arena_printf(a,
			"not judged: --data: float32's outputs or loss for %zu of %zu examples are not finite, and the others "
			"are not "
			"worse",
			unscored, x->count);
	}
}

enum status data_judge_file(const struct cell *c, const char *path, int64_t form, bool is_reduced, const struct cell_watch *watch,
	struct arena *a, struct cell_result *out, struct error *err)
{
	const struct reference_question q = {
		.kind = is_reduced ? REFERENCE_GRAPH : REFERENCE_ENGINE, .form = form, .data = c->data
	};
	struct reference ref = { 0 };
	struct scores x, of_ref;
	struct answer answer;
	struct error why = { 0 };
	enum status st = outputs_read(a, path, &answer, &why);

	if (!st)
		st = scores_of(&x, &answer, &why);
	if (st) {
		out->verdict = unread_verdict(st);
		out->row.cause = arena_printf(a, "its answers to --data cannot be read: %s", why.text);
		return STATUS_OK;
	}
	if (!(watch && watch->stop && *watch->stop) && (st = reference_ask(&ref, &q, c, watch, a, err)))
		return st;
	const bool known = ref.name && !scores_of(&of_ref, &ref.answer, &why);

	data_judge(&x, known ? &of_ref : NULL, ref.name,
		ref.name             ? why.text
			: ref.absent ? ref.absent
				     : "it was stopped from outside",
		is_reduced, a, out);
	return STATUS_OK;
}
