// SPDX-License-Identifier: Apache-2.0
// Forecasts as distributions (GluonTS: Alexandrov et al. 2019, https://arxiv.org/abs/1906.05264): values are divided by the scale
// of what the encoder reads; a step's features are its lags, its own, and those of the series.
#include "arch/block/forecast.h"

#include <float.h>
#include <math.h>

static enum distribution distribution_of(struct config *c)
{
	const char *word = config_text(c, "distribution_output"), *loss = config_text(c, "loss");
	if (loss && !text_is(loss, "nll"))
		config_fail(c, STATUS_UNSUPPORTED, "loss %s is not supported yet", loss);
	if (!word || text_is(word, "student_t"))
		return STUDENT_T;
	if (!text_is(word, "normal") && !text_is(word, "negative_binomial"))
		config_fail(c, STATUS_UNSUPPORTED, "distribution_output %s is not supported yet", word);
	return text_is(word, "normal") ? NORMAL : NEGATIVE_BINOMIAL;
}

static void resolve_lags(struct config *c, struct forecast *o, struct arena *a)
{
	static const int64_t usual[] = { 1, 2, 3, 4, 5, 6, 7 };
	int64_t longest = 0;
	o->lags = config_sizes(c, "lags_sequence", a, 0, &o->lag_count);
	if (!o->lags) {
		o->lags = usual;
		o->lag_count = sizeof usual / sizeof *usual;
	}
	for (int64_t i = 0; i < o->lag_count; i++)
		longest = o->lags[i] > longest ? o->lags[i] : longest;
	o->past = o->context + longest;
}

// Features of the whole series that are one of several things, each with a table of its own. Gives how many numbers they become.
static int64_t resolve_categories(struct config *c, struct forecast *o, struct arena *a)
{
	int64_t rows = 0, widths = 0, sum = 0;
	o->categories = config_count(c, "num_static_categorical_features", 0);
	o->cardinality = config_sizes(c, "cardinality", a, 0, &rows);
	o->widths = config_sizes(c, "embedding_dimension", a, 0, &widths);
	if (c->error.status || !o->categories)
		return 0;
	if (rows != o->categories || (widths && widths != o->categories)) {
		config_fail(c, STATUS_BAD_INPUT, "cardinality and embedding_dimension should have %lld numbers each",
			(long long)o->categories);
		return 0;
	}
	int64_t *width = ARENA_ARRAY(a, (size_t)o->categories, int64_t);
	for (int64_t i = 0; i < o->categories; i++) {
		int64_t half = (o->cardinality[i] + 1) / 2;
		width[i] = widths ? o->widths[i] : half < 50 ? half : 50;
		sum += width[i];
		if (o->cardinality[i] < 1 || width[i] < 1)
			config_fail(c, STATUS_BAD_INPUT, "cardinality %lld, embedding_dimension %lld",
				(long long)o->cardinality[i], (long long)width[i]);
	}
	o->widths = width;
	return sum;
}

bool forecast_resolve(struct config *c, struct spec *s, struct forecast *o, struct halves_sizes *h, struct arena *a)
{
	h->without_tokens = true;
	resolve_halves_sizes(c, s, h);
	o->prediction = config_size(c, "prediction_length", -1);
	o->context = config_size(c, "context_length", 0);
	o->context = o->context ? o->context : o->prediction;
	o->channels = config_size(c, "input_size", 1);
	o->known = config_size(c, "num_time_features", 0) + config_size(c, "num_dynamic_real_features", 0);
	o->real = config_size(c, "num_static_real_features", 0);
	o->scaling = series_scaling_of(c);
	o->least_scale = config_real(c, "minimum_scale", o->scaling == SCALING_DEVIATION ? 1e-5 : 1e-10);
	o->default_scale = config_real(c, "default_scale", NAN);
	o->distribution = distribution_of(c);
	resolve_lags(c, o, a);
	o->features = resolve_categories(c, o, a) + o->channels * (o->lag_count + 2) + o->known + o->real;
	if (!c->error.status && (o->prediction < 1 || o->channels < 1 || o->past + o->prediction > 1 << 20))
		config_fail(c, STATUS_BAD_INPUT, "context_length %lld, prediction_length %lld, input_size %lld",
			(long long)o->context, (long long)o->prediction, (long long)o->channels);
	int64_t said = config_size(c, "feature_size", o->features);
	if (!c->error.status && said != o->features)
		config_fail(c, STATUS_BAD_INPUT, "feature_size %lld, and features of %lld numbers", (long long)said,
			(long long)o->features);
	s->max_positions = o->context + o->prediction;
	return !c->error.status;
}

// ---- what is read -------------------------------------------------------------------------------------------------------

// [batch, steps] of one channel, [batch, steps, channels] of several
static graph_value values_input(struct build *b, const char *name, int64_t steps)
{
	const struct forecast *o = b->s->own;
	int64_t dim[] = { graph_symbol(b->g, "batch"), steps, o->channels };
	return graph_input(b->g, name, DTYPE_F32, o->channels > 1 ? 3 : 2, dim);
}

// By the mean of the values that were observed, and their deviation from it or of their size. x, observed [batch, context, ..]
static void scale_of(struct build *b, struct forecast_series *r, graph_value x, graph_value observed)
{
	struct graph *g = b->g;
	const struct forecast *o = b->s->own;
	graph_value one = graph_f32(g, 1), least = graph_f32(g, (float)o->least_scale), seen = op_mul(g, x, observed);
	graph_value found = op_reduce_sum(g, observed, 1, true), count = op_max(g, found, one);
	graph_value none = op_scale(g, op_slice(g, x, 1, 0, 1), 0);
	r->loc = none;
	if (o->scaling == SCALING_NONE)
		r->scale = op_add(g, none, one);
	else if (o->scaling == SCALING_DEVIATION) {
		r->loc = op_div(g, op_reduce_sum(g, seen, 1, true), count);
		graph_value off = op_mul(g, op_sub(g, x, r->loc), observed);
		graph_value variance = op_div(g, op_reduce_sum(g, op_mul(g, off, off), 1, true), count);
		r->scale = op_sqrt(g, op_add(g, variance, least));
	} else {
		graph_value size = op_reduce_sum(g, op_abs(g, seen), 1, true), other = graph_f32(g, (float)o->default_scale);
		if (isnan(o->default_scale)) // of all rows together
			other = op_div(g, op_reduce_sum(g, size, 0, true), op_max(g, op_reduce_sum(g, found, 0, true), one));
		r->scale = op_where(g, op_greater(g, found, graph_f32(g, 0)), op_div(g, size, count), other);
		r->scale = op_max(g, r->scale, least);
	}
}

// x [batch, past + prediction, ..] -> [batch, steps, channels * lags]: each step's value so many steps before
static graph_value lagged(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct forecast *o = b->s->own;
	int64_t steps = o->context + o->prediction, all = o->past + o->prediction, dim[] = { steps, o->lag_count };
	int64_t *at = GRAPH_TABLE(g, NULL, steps, o->lag_count, int64_t);
	for (int64_t i = 0; at && i < steps * o->lag_count; i++)
		at[i] = all - steps - o->lags[i % o->lag_count] + i / o->lag_count;
	x = op_gather(g, x, graph_constant(g, DTYPE_I64, 2, dim, at), 1); // [batch, steps, lags, ..]
	if (o->channels == 1)
		return x;
	x = op_transpose(g, x, 4, (int[]){ 0, 1, 3, 2 });
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, o->channels * o->lag_count });
}

// What is known of a whole series: categories by their tables, numbers, log(1 + |loc|) and log(scale)
static graph_value fixed_features(struct build *b, const struct forecast_series *r)
{
	struct graph *g = b->g;
	const struct forecast *o = b->s->own;
	graph_value loc = r->loc, scale = r->scale, part[CONFIG_COUNT_MOST + 3];
	int count = 0;
	if (o->categories) {
		int64_t dim[] = { graph_symbol(g, "batch"), o->categories };
		graph_value ids = graph_input(g, "static_categorical_features", DTYPE_I64, 2, dim);
		for (b->layer = 0; b->layer < o->categories && !graph_failed(g); b->layer++) {
			graph_value one = op_squeeze(g, op_slice(g, ids, 1, b->layer, b->layer + 1), 1);
			part[count++] = embedding(b, "embed.category", one, o->cardinality[b->layer], o->widths[b->layer]);
		}
	}
	if (o->real)
		part[count++] =
			graph_input(g, "static_real_features", DTYPE_F32, 2, (int64_t[]){ graph_symbol(g, "batch"), o->real });
	if (o->channels > 1) {
		loc = op_squeeze(g, loc, 1);
		scale = op_squeeze(g, scale, 1);
	}
	part[count++] = op_log(g, op_add(g, op_abs(g, loc), graph_f32(g, 1)));
	part[count++] = op_log(g, scale);
	return op_concat(g, count, part, 1);
}

void forecast_inputs(struct build *b, struct forecast_series *r)
{
	struct graph *g = b->g;
	const struct forecast *o = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), steps = o->context + o->prediction, first = o->past - o->context;
	graph_value past = values_input(b, "past_values", o->past), future = values_input(b, "future_values", o->prediction);
	graph_value observed = values_input(b, "past_observed_mask", o->past);
	scale_of(b, r, op_slice(g, past, 1, first, o->past), op_slice(g, observed, 1, first, o->past));
	graph_value all = op_concat(g, 2, (graph_value[]){ past, future }, 1);
	r->lagged = lagged(b, op_div(g, op_sub(g, all, r->loc), r->scale));
	r->fixed = fixed_features(b, r);
	graph_value shape[] = { op_dim(g, past, 0), graph_i64s(g, 2, (int64_t[]){ steps, value_dim(g, r->fixed, 1) }) };
	r->known = op_expand(g, op_unsqueeze(g, r->fixed, 1), op_concat(g, 2, shape, 0));
	if (o->known) {
		graph_value before = graph_input(g, "past_time_features", DTYPE_F32, 3, (int64_t[]){ batch, o->past, o->known });
		graph_value after =
			graph_input(g, "future_time_features", DTYPE_F32, 3, (int64_t[]){ batch, o->prediction, o->known });
		before = op_slice(g, before, 1, first, o->past);
		before = op_concat(g, 2, (graph_value[]){ before, after }, 1);
		r->known = op_concat(g, 2, (graph_value[]){ r->known, before }, 2);
	}
}

graph_value forecast_embed(struct build *b, graph_value x, int64_t first, int64_t steps)
{
	struct graph *g = b->g;
	const struct forecast *o = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "embed");
	graph_value places = WEIGHT(b, "embed.position", "weight", o->context + o->prediction, h);
	x = linear(b, "embed.value", x, o->features, h, false);
	x = op_add(g, x, op_slice(g, places, 0, first, first + steps));
	x = layer_norm(b, "embed.norm", x, h);
	graph_leave(g);
	return x;
}

// ---- what is given ------------------------------------------------------------------------------------------------------

static void give_series(struct build *b, const struct forecast_series *r)
{
	struct graph *g = b->g;
	graph_output(g, "loc", r->loc);
	graph_output(g, "scale", r->scale);
	graph_output(g, "static_features", r->fixed);
	graph_output(g, "encoder_last_hidden_state", r->remembered);
}

void forecast_give_states(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	give_series(b, io->own);
}

// (x + sqrt(x^2 + 4)) / 2: above 0
static graph_value square_plus(struct graph *g, graph_value x)
{
	graph_value root = op_sqrt(g, op_add(g, op_mul(g, x, x), graph_f32(g, 4)));
	return op_scale(g, op_add(g, x, root), 0.5f);
}

void forecast_give_params(struct build *b, const struct body *io, int64_t width)
{
	struct graph *g = b->g;
	const struct forecast *o = b->s->own;
	const struct forecast_series *r = io->own;
	int64_t count = o->distribution == STUDENT_T ? 3 : 2;
	graph_value p[3];
	for (b->layer = 0; b->layer < count && !graph_failed(g); b->layer++) {
		p[b->layer] = linear(b, "head.parameters", io->last, width, o->channels, true); // [batch, prediction, channels]
		if (o->channels == 1)
			p[b->layer] = op_squeeze(g, p[b->layer], 2);
	}
	if (graph_failed(g))
		return;
	if (o->distribution == NEGATIVE_BINOMIAL) { // how many, and logits
		p[0] = square_plus(g, p[0]);
		p[1] = op_add(g, p[1], op_log(g, r->scale));
	} else
		p[count - 1] = op_max(g, square_plus(g, p[count - 1]), graph_f32(g, FLT_EPSILON));
	if (o->distribution == STUDENT_T) // degrees of freedom
		p[0] = op_add(g, square_plus(g, p[0]), graph_f32(g, 2));
	for (int64_t i = 0; i < count; i++)
		graph_output(g, arena_printf(graph_arena(g), "params.%lld", (long long)i), p[i]);
	give_series(b, r);
}
