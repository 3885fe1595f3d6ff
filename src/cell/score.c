// SPDX-License-Identifier: Apache-2.0
#include "cell/score.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

enum { IGNORED = -100 };

const char *data_metric_word(enum data_metric m)
{
	static const char *const words[DATA_METRICS] = { "accuracy", "token accuracy", "perplexity", "cosine", "word error rate",
		"mAP", "mean IoU" };

	return words[m];
}

void scores_begin(struct scores *s, struct arena *a, size_t examples)
{
	*s = (struct scores){ .metric = DATA_METRICS,
		.sum = ARENA_ARRAY(a, examples + 1, double),
		.weight = ARENA_ARRAY(a, examples + 1, double),
		.relative = ARENA_ARRAY(a, examples + 1, double),
		.first = ARENA_ARRAY(a, examples + 1, int64_t),
		.row_first = ARENA_ARRAY(a, examples + 1, int64_t) };
}

size_t scores_row_size(enum data_metric m)
{
	return m == DATA_PRECISION  ? sizeof(struct detection) / sizeof(double)
		: m == DATA_OVERLAP ? sizeof(struct overlap) / sizeof(double)
				    : 0;
}

// ---- labels --------------------------------------------------------------------------------------------------------------

static const struct tensor *find_logits(const struct tensor *out, size_t count)
{
	const struct tensor *named = tensor_named(out, count, "logits");

	return named ? named : count == 1 ? out : NULL;
}

// Twice as much room for one array of places.
static int64_t *grown(struct arena *a, const int64_t *old, size_t count, size_t room)
{
	int64_t *more = ARENA_ARRAY(a, room, int64_t);

	if (count)
		memcpy(more, old, count * sizeof *more);
	return more;
}

enum status scores_place(struct scores *s, struct arena *a, int64_t chosen, int64_t label, int64_t rank, struct error *err)
{
	if (s->places == DATA_LABELS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "--data: more than %d labels in all", DATA_LABELS_MOST);
	if (s->places == s->room) {
		s->room = 2 * s->room + 1024;
		s->chosen = grown(a, s->chosen, s->places, s->room);
		s->label = grown(a, s->label, s->places, s->room);
		s->rank = grown(a, s->rank, s->places, s->room);
	}
	s->chosen[s->places] = chosen;
	s->label[s->places] = label;
	s->rank[s->places++] = rank;
	return STATUS_OK;
}

// The largest of a row of logits, the first of equal ones, and -log softmax(row)[label]. -1: one of them is not finite.
static int64_t choose(const struct tensor *logits, size_t row, size_t classes, size_t label, double *loss)
{
	double most = -INFINITY, sum = 0;
	int64_t chosen = -1;

	for (size_t i = 0; i < classes; i++) {
		const double x = tensor_get(logits, row * classes + i);

		if (isnan(x) || x == (double)INFINITY)
			return -1;
		if (x > most) {
			most = x;
			chosen = (int64_t)i;
		}
	}
	for (size_t i = 0; i < classes; i++)
		sum += exp(tensor_get(logits, row * classes + i) - most);
	*loss = most + log(sum) - tensor_get(logits, row * classes + label);
	return chosen;
}

// How many logits of a row come before that of `label`: larger ones, and equal ones that stand before it.
static int64_t rank_of(const struct tensor *logits, size_t row, size_t classes, size_t label)
{
	const double own = tensor_get(logits, row * classes + label);
	int64_t before = 0;

	for (size_t i = 0; i < classes; i++) {
		const double x = tensor_get(logits, row * classes + i);

		before += !(x < own) && (x != own || i < label); // a NaN is before everything
	}
	return before;
}

static enum status add_labelled(struct scores *s, struct arena *a, const struct tensor *labels, const struct tensor *logits,
	enum data_metric metric, struct error *err)
{
	const size_t classes = (size_t)logits->dim[logits->rank - 1];
	const size_t length = logits->rank == 3 ? (size_t)logits->dim[1] : 1, shift = metric == DATA_PERPLEXITY;
	size_t rows, broken = 0;
	enum status st = STATUS_OK;

	if (!tensor_count(labels->rank, labels->dim, &rows) || rows != (size_t)logits->dim[0] * length)
		return error_set(err, STATUS_BAD_INPUT, "%zu labels do not go with logits of %lld rows", rows,
			(long long)logits->dim[0] * (long long)length);
	for (size_t row = 0; row < rows && !st; row++) {
		const double given = row % length + shift < length ? tensor_get(labels, row + shift) : IGNORED;
		double loss = (double)NAN;

		if ((int64_t)given == IGNORED)
			continue;
		if (given < 0 || given >= (double)classes)
			return error_set(err, STATUS_BAD_INPUT, "the label %.0f is none of %zu classes", given, classes);
		const int64_t chosen = choose(logits, row, classes, (size_t)given, &loss);

		broken += chosen < 0;
		s->sum[s->count] += metric == DATA_PERPLEXITY ? loss : chosen == (int64_t)given;
		s->weight[s->count] += 1;
		st = scores_place(s, a, chosen, (int64_t)given,
			metric == DATA_ACCURACY ? rank_of(logits, row, classes, (size_t)given) : 0, err);
	}
	s->broken += broken > 0;
	s->classes = metric == DATA_ACCURACY ? (int64_t)classes : 0;
	if (!st && !(s->weight[s->count] > 0))
		st = error_set(err, STATUS_BAD_INPUT, "none of its labels is judged: all are %d", IGNORED);
	return st;
}

// A text is its own labels; what is padding is none's.
static const struct tensor *own_labels(const struct data_example *e, struct arena *a)
{
	const struct weight *ids = NULL, *mask = NULL;
	struct tensor *out = ARENA_NEW(a, struct tensor);
	size_t count;

	for (size_t i = 0; i < e->input_count; i++) {
		ids = text_is(e->inputs[i].name, "in.input_ids") ? &e->inputs[i] : ids;
		mask = text_is(e->inputs[i].name, "in.attention_mask") ? &e->inputs[i] : mask;
	}
	if (!e->is_text || !ids || !mask || !tensor_count(ids->rank, ids->dim, &count))
		return NULL;
	*out = weight_tensor(ids);
	int64_t *labels = ARENA_ARRAY(a, count, int64_t);
	for (size_t i = 0; i < count; i++)
		labels[i] = ((const int64_t *)mask->data)[i] ? ((const int64_t *)ids->data)[i] : IGNORED;
	out->data = labels;
	return out;
}

// ---- golden outputs ------------------------------------------------------------------------------------------------------

// At most x, and 1 of 0: what is divided by it has squares within float64.
static double power_of_two(double x)
{
	return x > 0 && isfinite(x) ? ldexp(1, ilogb(x)) : 1;
}

static enum status add_golden(
	struct scores *s, const struct data_example *e, const struct tensor *out, size_t count, struct error *err)
{
	double worst = INFINITY, relative = 0;
	size_t compared = 0;

	for (size_t k = 0; k < e->golden_count; k++) {
		const struct tensor g = weight_tensor(&e->golden[k]), *o = tensor_named(out, count, g.name);
		double dot = 0, of_out = 0, of_golden = 0, most = 0, most_out = 0;
		bool finite = true;
		char is[128], wanted[128];
		size_t n = 0;

		if (!o)
			return error_set(err, STATUS_BAD_INPUT, "%s is neither an input nor an output of the model", g.name);
		if (o->rank != g.rank || memcmp(o->dim, g.dim, (size_t)g.rank * sizeof *g.dim) != 0 ||
			!tensor_count(g.rank, g.dim, &n))
			return error_set(err, STATUS_BAD_INPUT, "the output %s is %s, the example has %s", g.name,
				tensor_shape_text(o->rank, o->dim, is, sizeof is),
				tensor_shape_text(g.rank, g.dim, wanted, sizeof wanted));
		compared += n;
		for (size_t i = 0; i < n; i++) {
			const double x = tensor_get(o, i), y = tensor_get(&g, i);

			most = fmax(most, fabs(y));
			most_out = fmax(most_out, fabs(x));
			finite = finite && isfinite(x) && isfinite(y);
		}
		const double unit = power_of_two(most), unit_out = power_of_two(most_out);
		for (size_t i = 0; i < n; i++) {
			const double x = tensor_get(o, i), y = tensor_get(&g, i), in_out = x / unit_out, in_golden = y / unit;

			dot += in_out * in_golden;
			of_out += in_out * in_out;
			of_golden += in_golden * in_golden;
			if (fabs(y) > 0.01 * most)
				relative = fmax(relative, fabs(x - y) / fabs(y));
		}
		const double cosine = !finite      ? (double)NAN
			: most > 0 && most_out > 0 ? dot / sqrt(of_out) / sqrt(of_golden)
						   : most == most_out;
		worst = isnan(cosine) || cosine < worst ? cosine : worst;
	}
	if (!compared)
		return error_set(err, STATUS_BAD_INPUT, "the outputs that it holds have no element: nothing is compared");
	s->broken += !isfinite(worst);
	s->sum[s->count] = worst;
	s->weight[s->count] = 1;
	s->relative[s->count] = relative;
	return STATUS_OK;
}

// ---- an example ----------------------------------------------------------------------------------------------------------

// Labels of classes or tokens; *logits is what they are of.
static enum status labels_of(const struct tensor **labels, const struct tensor **logits, struct arena *a,
	const struct data_example *e, const struct tensor *out, size_t count, bool next, struct error *err)
{
	struct tensor *given = ARENA_NEW(a, struct tensor);

	if (e->labels)
		*given = weight_tensor(e->labels);
	*labels = e->labels ? given : next && !e->golden_count ? own_labels(e, a) : NULL;
	*logits = *labels ? find_logits(out, count) : NULL;
	if (*labels && (!*logits || (*logits)->rank < 2 || (*logits)->rank > 3))
		return error_set(err, STATUS_BAD_INPUT,
			"labels go with an output logits of two or three dimensions, and this model has none");
	if (!*labels && !e->golden_count)
		return error_set(err, STATUS_BAD_INPUT, "it has neither label nor labels, nor an output to be held against");
	return STATUS_OK;
}

static enum status set_metric(struct scores *s, enum data_metric metric, struct error *err)
{
	if (s->metric != DATA_METRICS && s->metric != metric)
		return error_set(err, STATUS_BAD_INPUT, "it asks for %s, and the examples before it for %s: a set has one metric",
			data_metric_word(metric), data_metric_word(s->metric));
	s->metric = metric;
	return STATUS_OK;
}

static enum status add_usual(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, bool next, struct error *err)
{
	const struct tensor *labels, *logits;
	enum status st = labels_of(&labels, &logits, a, e, out, count, next, err);

	if (st)
		return st;
	const enum data_metric metric = !labels ? DATA_COSINE
		: logits->rank == 2             ? DATA_ACCURACY
		: next                          ? DATA_PERPLEXITY
						: DATA_TOKEN_ACCURACY;
	if ((st = set_metric(s, metric, err)))
		return st;
	return labels ? add_labelled(s, a, labels, logits, metric, err) : add_golden(s, e, out, count, err);
}

static enum status add_of_task(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, const struct score_rules *rules, struct error *err)
{
	enum status st = set_metric(s, e->transcript ? DATA_WORD_ERROR : e->boxes ? DATA_PRECISION : DATA_OVERLAP, err);

	if (st)
		return st;
	return e->transcript ? scores_add_words(s, a, e, out, count, rules, err)
		: e->boxes   ? scores_add_boxes(s, a, e, out, count, rules, err)
			     : scores_add_mask(s, a, e, out, count, rules, err);
}

enum status scores_add(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out, size_t count,
	const struct score_rules *rules, struct error *err)
{
	enum status st;

	s->first[s->count] = (int64_t)s->places;
	s->row_first[s->count] = (int64_t)s->row_count;
	if (e->transcript || e->boxes || e->mask.pixels)
		st = add_of_task(s, a, e, out, count, rules, err);
	else
		st = add_usual(s, a, e, out, count, rules->predicts_next, err);
	if (st)
		return st;
	s->cut += e->is_cut;
	s->count++;
	s->first[s->count] = (int64_t)s->places;
	s->row_first[s->count] = (int64_t)s->row_count;
	return STATUS_OK;
}

// ---- the file ------------------------------------------------------------------------------------------------------------

static struct tensor row_of(const char *name, enum dtype dtype, const void *data, size_t count)
{
	return (struct tensor){ .name = name,
		.dtype = dtype,
		.rank = 1,
		.dim = { (int64_t)count },
		.data = (void *)(uintptr_t)data,
		.nbytes = count * 8 };
}

enum status scores_write(const struct scores *s, struct arena *a, const char *path, const char *made_from, struct error *err)
{
	enum { MOST = 10 };
	const int64_t facts[] = { (int64_t)s->metric, s->broken, s->cut, s->classes };
	const size_t numbers = s->row_count * scores_row_size(s->metric);
	struct tensor all[MOST] = { row_of("facts", DTYPE_I64, facts, 4), row_of("sum", DTYPE_F64, s->sum, s->count),
		row_of("weight", DTYPE_F64, s->weight, s->count), row_of("relative", DTYPE_F64, s->relative, s->count),
		row_of("first", DTYPE_I64, s->first, s->count + 1), row_of("row_first", DTYPE_I64, s->row_first, s->count + 1) };
	size_t count = 6;

	if (s->places) {
		all[count++] = row_of("chosen", DTYPE_I64, s->chosen, s->places);
		all[count++] = row_of("label", DTYPE_I64, s->label, s->places);
		all[count++] = row_of("rank", DTYPE_I64, s->rank, s->places);
	}
	if (numbers)
		all[count++] = row_of("rows", DTYPE_F64, s->rows, numbers);
	return outputs_write(a, path, made_from, &(struct answer){ .tensors = all, .count = count }, err);
}

static const void *take(const struct answer *x, const char *name, enum dtype dtype, size_t *count)
{
	const struct tensor *t = tensor_named(x->tensors, x->count, name);

	*count = t ? t->nbytes / 8 : 0;
	return t && t->dtype == dtype && t->rank == 1 && t->dim[0] == (int64_t)*count ? t->data : NULL;
}

// Do offsets [count + 1] rise from 0 to `most`?
static bool rises(const int64_t *first, size_t count, size_t most)
{
	for (size_t i = 0; i < count; i++)
		if (first[i] < 0 || first[i] > first[i + 1])
			return false;
	return first[0] == 0 && first[count] == (int64_t)most;
}

enum status scores_of(struct scores *out, const struct answer *x, struct error *err)
{
	size_t facts = 0, n[9];
	const int64_t *fact = take(x, "facts", DTYPE_I64, &facts);
	struct scores s = { .sum = (double *)(uintptr_t)take(x, "sum", DTYPE_F64, &n[0]),
		.weight = (double *)(uintptr_t)take(x, "weight", DTYPE_F64, &n[1]),
		.relative = (double *)(uintptr_t)take(x, "relative", DTYPE_F64, &n[2]),
		.first = (int64_t *)(uintptr_t)take(x, "first", DTYPE_I64, &n[3]),
		.chosen = (int64_t *)(uintptr_t)take(x, "chosen", DTYPE_I64, &n[4]),
		.label = (int64_t *)(uintptr_t)take(x, "label", DTYPE_I64, &n[5]),
		.rank = (int64_t *)(uintptr_t)take(x, "rank", DTYPE_I64, &n[6]),
		.row_first = (int64_t *)(uintptr_t)take(x, "row_first", DTYPE_I64, &n[7]),
		.rows = (double *)(uintptr_t)take(x, "rows", DTYPE_F64, &n[8]) };
	bool good = facts == 4 && fact && fact[0] >= 0 && fact[0] < DATA_METRICS && s.sum && s.weight && s.relative && s.first &&
		s.row_first && n[0] && n[1] == n[0] && n[2] == n[0] && n[3] == n[0] + 1 && n[4] == n[5] && n[6] == n[4] &&
		n[7] == n[0] + 1;
	const size_t width = good ? scores_row_size((enum data_metric)fact[0]) : 0;

	if (!good || !rises(s.first, n[0], n[4]) || (width ? n[8] % width != 0 : n[8] != 0) ||
		!rises(s.row_first, n[0], width ? n[8] / width : 0))
		return error_set(err, STATUS_BAD_INPUT, "the file of scores does not hold together");
	s.metric = (enum data_metric)fact[0];
	s.broken = fact[1];
	s.cut = fact[2];
	s.classes = fact[3];
	s.count = n[0];
	s.places = n[4];
	s.row_count = width ? n[8] / width : 0;
	*out = s;
	return STATUS_OK;
}
