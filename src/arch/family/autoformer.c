// SPDX-License-Identifier: Apache-2.0
// Autoformer (Wu et al. 2021, https://arxiv.org/abs/2106.13008): an encoder and a decoder of a series' seasonal part. What each
// branch gives is split into a moving average, the trend, and the rest, which goes on; the decoder adds the trends up.
//
//   attention: how alike query and key are at each delay, over all heads; the values, turned round by the best delays and weighed
//   encoder layer:  x + attention - norm - rest - + feed-forward - rest - norm less its mean over time
//   decoder layer:  x + attention - rest - norm - + attention to the encoder - rest - norm - + feed-forward - rest - norm less ..
//                   trend + convolution of the three moving averages
//
// The class lets a row of the batch take the delays of another, as rows and heads lie: head h of row b has those of row
// (b * heads + h) mod batch.
#include <float.h>
#include <math.h>

#include "arch/block/forecast.h"

struct autoformer { // of the whole and of both halves
	struct forecast series;
	int64_t label; // steps before those that are forecast, which the decoder reads, too
	int64_t window, factor;
};

static int64_t delays_of(const struct autoformer *o, int64_t steps)
{
	return (int64_t)((double)o->factor * log((double)steps));
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct autoformer *o = ARENA_NEW(a, struct autoformer);
	struct halves_sizes h = { 0 };
	s->own = o;
	if (!forecast_resolve(c, s, &o->series, &h, a))
		return;
	o->label = config_size(c, "label_length", 10);
	o->window = config_size(c, "moving_average", 25);
	o->factor = config_size(c, "autocorrelation_factor", 3);
	int64_t steps[] = { o->series.context, o->label + o->series.prediction };
	bool bad =
		o->label < 1 || o->label > o->series.context || o->window % 2 != 1 || o->window > 1 << 16 || o->factor > 1 << 16;
	for (int i = 0; i < 2 && !bad; i++)
		bad = steps[i] > 1 << 12 || delays_of(o, steps[i]) < 1 || delays_of(o, steps[i]) > steps[i];
	if (!c->error.status && bad)
		config_fail(c, STATUS_BAD_INPUT,
			"label_length %lld, moving_average %lld, autocorrelation_factor %lld for %lld and %lld steps",
			(long long)o->label, (long long)o->window, (long long)o->factor, (long long)steps[0],
			(long long)steps[1]);
	if (!c->error.status)
		resolve_halves(s, a, &h);
}

// x [batch, steps, width]: *trend its moving average, whose ends go on as they are; gives the rest.
static graph_value decompose(struct build *b, graph_value x, graph_value *trend)
{
	struct graph *g = b->g;
	const struct autoformer *o = b->s->own;
	int64_t n = value_dim(g, x, 1), all = n + o->window - 1, one = 1, *at = GRAPH_TABLE(g, NULL, all, 1, int64_t);
	for (int64_t i = 0; at && i < all; i++) {
		int64_t place = i - (o->window - 1) / 2;
		at[i] = place < 0 ? 0 : place < n ? place : n - 1;
	}
	graph_value y = op_gather(g, x, graph_constant(g, DTYPE_I64, 1, &all, at), 1);
	y = op_transpose(g, y, 3, (int[]){ 0, 2, 1 });
	y = op_average_pool(g, y, 1, &o->window, &one, (int64_t[]){ 0, 0 }, false, false);
	*trend = op_transpose(g, y, 3, (int[]){ 0, 2, 1 });
	return op_sub(g, x, *trend);
}

static graph_value seasonal_norm(struct build *b, const char *stem, graph_value x)
{
	x = layer_norm(b, stem, x, b->s->hidden_size);
	return op_sub(b->g, x, op_reduce_mean(b->g, x, 1, true));
}

// Cut to, or filled with zeros up to, n steps.
static graph_value of_length(struct build *b, graph_value x, int64_t n)
{
	int64_t has = value_dim(b->g, x, 1);
	return has >= n ? op_slice(b->g, x, 1, 0, n) : op_pad(b->g, x, 1, 0, n - has);
}

// [first, second] -> (second - first) mod n, or (first + second) mod n
static graph_value turned(struct build *b, int64_t n, int sign)
{
	int64_t *at = GRAPH_TABLE(b->g, NULL, n, n, int64_t);
	for (int64_t i = 0; at && i < n * n; i++)
		at[i] = (i % n + sign * (i / n) + n) % n;
	return graph_constant(b->g, DTYPE_I64, 2, (int64_t[]){ n, n }, at);
}

// The share of each delay, of all heads together: q, k [batch, n, hidden] -> [batch, n], 0 for all but the best
static graph_value shares(struct build *b, graph_value q, graph_value k, int64_t n)
{
	struct graph *g = b->g;
	graph_value met = op_matmul(g, q, op_transpose(g, k, 3, (int[]){ 0, 2, 1 }));
	graph_value at = op_expand(g, turned(b, n, 1), op_shape(g, met)); // [delay, key] -> query
	met = op_gather_elements(g, met, at, 1);
	graph_value alike = op_scale(g, op_reduce_sum(g, met, 2, false), 1 / (float)b->s->hidden_size);
	graph_value best = are_greatest(g, alike, delays_of(b->s->own, n));
	return op_softmax(g, op_where(g, best, alike, graph_f32(g, -FLT_MAX)), 1);
}

// x [batch, steps, hidden] by `from`, which is x itself or the encoder's states
static graph_value correlate(struct build *b, const char *stem, graph_value x, graph_value from)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, n = value_dim(g, x, 1), keys = value_dim(g, from, 1);
	struct arena *a = graph_arena(g);
	graph_value q = linear(b, arena_printf(a, "%s.q", stem), x, h, h, true),
		    k = linear(b, arena_printf(a, "%s.k", stem), from, h, h, true),
		    v = linear(b, arena_printf(a, "%s.v", stem), from, h, h, true);
	if (n > keys) // the class then keeps only as many queries as there are more of them
		q = of_length(b, of_length(b, q, n - keys), n);
	graph_value share = op_gather(g, shares(b, q, of_length(b, k, n), n), turned(b, n, -1), 1); // [batch, step, value's step]
	v = op_reshape(g, of_length(b, v, n), 4, (int64_t[]){ 0, n, s->heads, s->head_width });
	v = op_transpose(g, v, 4, (int[]){ 0, 2, 1, 3 });
	graph_value batch = op_squeeze(g, op_dim(g, x, 0), 0), zero = graph_i64(g, 0), one = graph_i64(g, 1);
	graph_value row = op_mod(g, op_range(g, zero, op_mul(g, batch, graph_i64(g, s->heads)), one), batch);
	row = op_reshape(g, row, 2, (int64_t[]){ -1, s->heads });
	graph_value y = op_matmul(g, op_gather(g, share, row, 0), v); // [batch, heads, n, width]
	y = op_reshape(g, op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, n, h });
	return linear(b, arena_printf(a, "%s.o", stem), y, h, h, true);
}

static graph_value feed_forward(struct build *b, graph_value x)
{
	return op_add(b->g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x));
}

static graph_value encode(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct autoformer *o = b->s->own;
	graph_value trend;
	x = forecast_embed(b, x, 0, o->series.context);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = op_add(g, x, correlate(b, "layers.attn", x, x));
		x = decompose(b, layer_norm(b, "layers.attn.norm", x, b->s->hidden_size), &trend);
		x = seasonal_norm(b, "layers.ffn.norm", decompose(b, feed_forward(b, x), &trend));
		graph_leave(g);
	}
	return x;
}

// *trend [batch, steps, features] grows.
static graph_value decoder_layer(struct build *b, graph_value x, graph_value memory, graph_value *trend)
{
	struct graph *g = b->g;
	const struct autoformer *o = b->s->own;
	int64_t h = b->s->hidden_size, one = 1;
	graph_value part[3];
	x = decompose(b, op_add(g, x, correlate(b, "layers.attn", x, x)), &part[0]);
	x = layer_norm(b, "layers.attn.norm", x, h);
	x = decompose(b, op_add(g, x, correlate(b, "layers.cross", x, memory)), &part[1]);
	x = layer_norm(b, "layers.cross.norm", x, h);
	x = decompose(b, feed_forward(b, x), &part[2]);
	x = seasonal_norm(b, "layers.ffn.norm", x);
	graph_value y = op_add(g, op_add(g, part[0], part[1]), part[2]);
	y = op_concat(g, 3, (graph_value[]){ op_slice(g, y, 1, -1, INT64_MAX), y, op_slice(g, y, 1, 0, 1) }, 1); // in a circle
	graph_value w = WEIGHT(b, "layers.trend", "weight", o->series.features, h, 3);
	y = op_conv(g, op_transpose(g, y, 3, (int[]){ 0, 2, 1 }), w, NO_VALUE, &one, (int64_t[]){ 0, 0 }, &one, 1);
	*trend = op_add(g, *trend, op_transpose(g, y, 3, (int[]){ 0, 2, 1 }));
	return x;
}

static graph_value decode(struct build *b, graph_value x, graph_value memory, graph_value *trend)
{
	struct graph *g = b->g;
	const struct autoformer *o = b->s->own;
	x = forecast_embed(b, x, o->series.context - o->label, o->label + o->series.prediction);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = decoder_layer(b, x, memory, trend);
		graph_leave(g);
	}
	return linear(b, "seasonality", x, b->s->hidden_size, o->series.features, true);
}

// What the decoder begins with: the last steps of one of the encoder's two parts, then `filling` for each that is forecast.
static graph_value begin(struct build *b, const struct forecast_series *r, graph_value part, graph_value filling)
{
	struct graph *g = b->g;
	const struct autoformer *o = b->s->own;
	int64_t n = o->series.prediction;
	graph_value shape[] = { op_dim(g, filling, 0), graph_i64s(g, 1, &n), op_dim(g, filling, 2) };
	filling = op_expand(g, filling, op_concat(g, 3, shape, 0));
	graph_value steps[] = { op_slice(g, part, 1, -o->label, INT64_MAX), filling };
	graph_value both[] = { op_concat(g, 2, steps, 1), op_slice(g, r->known, 1, o->series.context - o->label, INT64_MAX) };
	return op_concat(g, 2, both, 2);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct autoformer *o = b->s->own;
	struct forecast_series r = { 0 };
	graph_value trend;
	forecast_inputs(b, &r);
	graph_value past = op_slice(g, r.lagged, 1, 0, o->series.context), mean = op_reduce_mean(g, past, 1, true);
	graph_value known = op_slice(g, r.known, 1, 0, o->series.context), seasonal = decompose(b, past, &trend);
	seasonal = begin(b, &r, seasonal, op_scale(g, mean, 0));
	trend = begin(b, &r, trend, mean);
	graph_enter(g, "encoder");
	const struct spec *whole = part_enter(b, "encoder");
	r.remembered = encode(b, op_concat(g, 2, (graph_value[]){ past, known }, 2));
	part_leave(b, whole);
	graph_leave(g);
	graph_enter(g, "decoder");
	part_enter(b, "decoder");
	struct body io = { .own = &r };
	io.last = decode(b, seasonal, r.remembered, &trend);
	part_leave(b, whole);
	graph_leave(g);
	io.streams = trend;
	head_build(b, &io);
}

static void give_params(struct build *b, const struct body *io)
{
	const struct autoformer *o = b->s->own;
	struct body sum = *io;
	sum.last = op_slice(b->g, op_add(b->g, io->last, io->streams), 1, o->label, INT64_MAX);
	forecast_give_params(b, &sum, o->series.features);
}

static void give_states(struct build *b, const struct body *io)
{
	forecast_give_states(b, io);
	graph_output(b->g, "trend", io->streams);
}

static const struct family_head heads[] = {
	{ &head_forecast, give_params },
	{ &head_model, give_states },
	{ 0 },
};

const struct family autoformer = {
	.name = "autoformer",
	.architecture = "time series",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
