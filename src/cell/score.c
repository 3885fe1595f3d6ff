// SPDX-License-Identifier: Apache-2.0
#include "cell/score.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

enum { IGNORED = -100 };

const char *data_metric_word(enum data_metric m)
{
	static const char *const words[DATA_METRICS] = { "accuracy", "token accuracy", "perplexity", "cosine" };

	return words[m];
}

void scores_begin(struct scores *s, struct arena *a, size_t examples)
{
	*s = (struct scores){ .metric = DATA_METRICS,
		.sum = ARENA_ARRAY(a, examples + 1, double),
		.weight = ARENA_ARRAY(a, examples + 1, double),
		.relative = ARENA_ARRAY(a, examples + 1, double),
		.first = ARENA_ARRAY(a, examples + 1, int64_t) };
}

// ---- labels --------------------------------------------------------------------------------------------------------------

static const struct tensor *find_logits(const struct tensor *out, size_t count)
{
	const struct tensor *named = tensor_named(out, count, "logits");

	return named ? named : count == 1 ? out : NULL;
}

static enum status add_place(struct scores *s, struct arena *a, int64_t chosen, int64_t label, struct error *err)
{
	if (s->places == DATA_LABELS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "--data: more than %d labels in all", DATA_LABELS_MOST);
	if (s->places == s->room) {
		s->room = 2 * s->room + 1024;
		int64_t *c = ARENA_ARRAY(a, s->room, int64_t), *l = ARENA_ARRAY(a, s->room, int64_t);
		if (s->places) {
			memcpy(c, s->chosen, s->places * sizeof *c);
			memcpy(l, s->label, s->places * sizeof *l);
		}
		s->chosen = c;
		s->label = l;
	}
	s->chosen[s->places] = chosen;
	s->label[s->places++] = label;
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
		st = add_place(s, a, chosen, (int64_t)given, err);
	}
	s->broken += broken > 0;
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

static enum status add_golden(
	struct scores *s, const struct data_example *e, const struct tensor *out, size_t count, struct error *err)
{
	double worst = INFINITY, relative = 0;

	for (size_t k = 0; k < e->golden_count; k++) {
		const struct tensor g = weight_tensor(&e->golden[k]), *o = tensor_named(out, count, g.name);
		double dot = 0, of_out = 0, of_golden = 0, most = 0;
		char is[128], wanted[128];
		size_t n = 0;

		if (!o)
			return error_set(err, STATUS_BAD_INPUT, "%s is neither an input nor an output of the model", g.name);
		if (o->rank != g.rank || memcmp(o->dim, g.dim, (size_t)g.rank * sizeof *g.dim) != 0 ||
			!tensor_count(g.rank, g.dim, &n))
			return error_set(err, STATUS_BAD_INPUT, "the output %s is %s, the example has %s", g.name,
				tensor_shape_text(o->rank, o->dim, is, sizeof is),
				tensor_shape_text(g.rank, g.dim, wanted, sizeof wanted));
		for (size_t i = 0; i < n; i++)
			most = fmax(most, fabs(tensor_get(&g, i)));
		for (size_t i = 0; i < n; i++) {
			const double x = tensor_get(o, i), y = tensor_get(&g, i);

			dot += x * y;
			of_out += x * x;
			of_golden += y * y;
			if (fabs(y) > 0.01 * most)
				relative = fmax(relative, fabs(x - y) / fabs(y));
		}
		const double cosine = of_out > 0 && of_golden > 0 ? dot / sqrt(of_out) / sqrt(of_golden) : of_out == of_golden;
		worst = isnan(cosine) || cosine < worst ? cosine : worst;
	}
	s->broken += !isfinite(worst);
	s->sum[s->count] = worst;
	s->weight[s->count] = 1;
	s->relative[s->count] = relative;
	return STATUS_OK;
}

// ---- an example ----------------------------------------------------------------------------------------------------------

enum status scores_add(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out, size_t count,
	bool next, struct error *err)
{
	const struct tensor given = e->labels ? weight_tensor(e->labels) : (struct tensor){ 0 },
			    *labels = e->labels ? &given
		: next && !e->golden_count      ? own_labels(e, a)
						: NULL,
			    *logits = labels ? find_logits(out, count) : NULL;
	enum status st;

	if (labels && (!logits || logits->rank < 2 || logits->rank > 3))
		return error_set(err, STATUS_BAD_INPUT,
			"labels go with an output logits of two or three dimensions, and this model has none");
	if (!labels && !e->golden_count)
		return error_set(err, STATUS_BAD_INPUT, "it has neither label nor labels, nor an output to be held against");
	const enum data_metric metric = !labels ? DATA_COSINE
		: logits->rank == 2             ? DATA_ACCURACY
		: next                          ? DATA_PERPLEXITY
						: DATA_TOKEN_ACCURACY;
	if (s->metric != DATA_METRICS && s->metric != metric)
		return error_set(err, STATUS_BAD_INPUT, "it asks for %s, and the examples before it for %s: a set has one metric",
			data_metric_word(metric), data_metric_word(s->metric));
	s->metric = metric;
	s->first[s->count] = (int64_t)s->places;
	st = labels ? add_labelled(s, a, labels, logits, metric, err) : add_golden(s, e, out, count, err);
	if (st)
		return st;
	s->cut += e->is_cut;
	s->first[++s->count] = (int64_t)s->places;
	return STATUS_OK;
}

// ---- the file ------------------------------------------------------------------------------------------------------------

enum { TENSORS = 8 };

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
	const int64_t facts[] = { (int64_t)s->metric, s->broken, s->cut };
	struct tensor all[TENSORS] = { row_of("facts", DTYPE_I64, facts, 3), row_of("sum", DTYPE_F64, s->sum, s->count),
		row_of("weight", DTYPE_F64, s->weight, s->count), row_of("relative", DTYPE_F64, s->relative, s->count),
		row_of("first", DTYPE_I64, s->first, s->count + 1), row_of("chosen", DTYPE_I64, s->chosen, s->places),
		row_of("label", DTYPE_I64, s->label, s->places) };

	return outputs_write(a, path, made_from, &(struct answer){ .tensors = all, .count = s->places ? 7 : 5 }, err);
}

static const void *take(const struct answer *x, const char *name, enum dtype dtype, size_t *count)
{
	const struct tensor *t = tensor_named(x->tensors, x->count, name);

	*count = t ? t->nbytes / 8 : 0;
	return t && t->dtype == dtype && t->rank == 1 && t->dim[0] == (int64_t)*count ? t->data : NULL;
}

enum status scores_of(struct scores *out, const struct answer *x, struct error *err)
{
	size_t facts = 0, n[6];
	const int64_t *fact = take(x, "facts", DTYPE_I64, &facts);
	struct scores s = { .sum = (double *)(uintptr_t)take(x, "sum", DTYPE_F64, &n[0]),
		.weight = (double *)(uintptr_t)take(x, "weight", DTYPE_F64, &n[1]),
		.relative = (double *)(uintptr_t)take(x, "relative", DTYPE_F64, &n[2]),
		.first = (int64_t *)(uintptr_t)take(x, "first", DTYPE_I64, &n[3]),
		.chosen = (int64_t *)(uintptr_t)take(x, "chosen", DTYPE_I64, &n[4]),
		.label = (int64_t *)(uintptr_t)take(x, "label", DTYPE_I64, &n[5]) };
	bool good = facts == 3 && fact[0] >= 0 && fact[0] < DATA_METRICS && s.sum && s.weight && s.relative && s.first && n[0] &&
		n[1] == n[0] && n[2] == n[0] && n[3] == n[0] + 1 && n[4] == n[5];

	for (size_t i = 0; good && i < n[0]; i++)
		good = s.first[i] >= 0 && s.first[i] <= s.first[i + 1];
	if (!good || s.first[n[0]] != (int64_t)n[4])
		return error_set(err, STATUS_BAD_INPUT, "the file of scores does not hold together");
	s.metric = (enum data_metric)fact[0];
	s.broken = fact[1];
	s.cut = fact[2];
	s.count = n[0];
	s.places = n[4];
	*out = s;
	return STATUS_OK;
}
