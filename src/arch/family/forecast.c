// SPDX-License-Identifier: Apache-2.0
// The Time Series Transformer (transformers' own) and Informer (Zhou et al. 2020, https://arxiv.org/abs/2012.07436): BART's
// layers over the steps of a series. The encoder reads what was, the decoder the steps that are forecast, each with its lags.
//
// In Informer's sparse attention only the queries that tell most attend, the others get the mean of all values (in the decoder
// the sum of those so far). How much a query tells is measured on keys drawn at random, which are inputs, i64 [keys]:
// "sampled_keys.encoder.N" and "sampled_keys.decoder.N". Where as many queries are taken as there are it is full attention,
// and nothing is drawn. Between layers of the encoder a convolution halves the steps.
#include <math.h>

#include "arch/block/forecast.h"
#include "arch/block/image.h"

struct informer { // of the whole and of both halves
	struct forecast series;
	bool sparse, distils;
	int64_t factor; // of how many queries attend
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct informer *o = ARENA_NEW(a, struct informer);
	struct halves_sizes h = { 0 };
	const char *attention = config_text(c, "attention_type");
	s->own = o;
	if (!forecast_resolve(c, s, &o->series, &h, a))
		return;
	o->sparse = attention && text_is(attention, "prob");
	o->distils = config_bool(c, "distil", false);
	o->factor = config_size(c, "sampling_factor", 5);
	if (o->sparse && (o->factor < 1 || o->factor > 1 << 20))
		config_fail(c, STATUS_BAD_INPUT, "sampling_factor %lld", (long long)o->factor);
	if (!c->error.status)
		resolve_halves(s, a, &h);
}

static graph_value by_head(struct build *b, graph_value x) // [batch, steps, hidden] -> [batch, heads, steps, width]
{
	x = op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, b->s->heads, b->s->head_width });
	return op_transpose(b->g, x, 4, (int[]){ 0, 2, 1, 3 });
}

// Which queries attend: the `most` whose greatest score, of keys drawn at random, is furthest above the sum of these scores by
// the number of keys. q, k [batch, steps, hidden] -> bool [batch, heads, steps]
static graph_value telling(struct build *b, graph_value q, graph_value k, int64_t most, bool is_decoder)
{
	struct graph *g = b->g;
	int64_t n = value_dim(g, k, 1);
	const char *half = is_decoder ? "decoder" : "encoder";
	const char *name = arena_printf(graph_arena(g), "sampled_keys.%s.%lld", half, (long long)b->layer);
	graph_value drawn = graph_input(g, name, DTYPE_I64, 1, &n);
	graph_value keys = op_transpose(g, op_gather(g, by_head(b, k), drawn, 2), 4, (int[]){ 0, 1, 3, 2 });
	graph_value score = op_scale(g, op_matmul(g, by_head(b, q), keys), (float)b->s->attention_scale);
	graph_value mean = op_scale(g, op_reduce_sum(g, score, 3, false), 1 / (float)n);
	return are_greatest(g, op_sub(g, op_reduce_max(g, score, 3, false), mean), most);
}

static graph_value self(struct build *b, graph_value x, graph_value bias, bool is_decoder)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct informer *o = s->own;
	int64_t h = s->hidden_size, n = value_dim(g, x, 1), most = o->factor * (int64_t)ceil(log1p((double)n));
	if (!o->sparse || most >= n)
		return attend(b, "layers.attn", x, x, bias, NULL, BIAS_ALL);
	graph_value q = linear(b, "layers.attn.q", x, h, h, true), k = linear(b, "layers.attn.k", x, h, h, true),
		    v = linear(b, "layers.attn.v", x, h, h, true);
	graph_value all = op_attention(
		g, &(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	graph_value others = by_head(b, v);
	others = is_decoder ? op_cumsum(g, others, 2) : op_reduce_mean(g, others, 2, true);
	graph_value attends = op_unsqueeze(g, telling(b, q, k, most, is_decoder), 3);
	x = op_transpose(g, op_where(g, attends, by_head(b, all), others), 4, (int[]){ 0, 2, 1, 3 });
	return linear(b, "layers.attn.o", op_reshape(g, x, 3, (int64_t[]){ 0, n, h }), h, h, true);
}

// memory NO_VALUE: of the encoder
static graph_value layer(struct build *b, graph_value x, graph_value bias, graph_value memory)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "attn");
	x = layer_norm(b, "layers.attn.norm", op_add(g, x, self(b, x, bias, memory.id)), h);
	graph_leave(g);
	if (memory.id) {
		graph_enter(g, "cross");
		graph_value y = attend(b, "layers.cross", x, memory, NO_VALUE, NULL, BIAS_ALL);
		x = layer_norm(b, "layers.cross.norm", op_add(g, x, y), h);
		graph_leave(g);
	}
	graph_enter(g, "ffn");
	x = layer_norm(b, "layers.ffn.norm", op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x)), h);
	graph_leave(g);
	return x;
}

// A convolution over a step and its neighbours, in a circle, and the greatest of each three at every second step.
static graph_value halved(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, one = 1, two = 2, three = 3;
	graph_enter(g, "distil");
	x = op_concat(g, 3, (graph_value[]){ op_slice(g, x, 1, -1, INT64_MAX), x, op_slice(g, x, 1, 0, 1) }, 1);
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	graph_value w = WEIGHT(b, "distil.conv", "weight", h, h, 3), bias = WEIGHT(b, "distil.conv", "bias", h);
	x = op_conv(g, x, w, bias, &one, (int64_t[]){ 0, 0 }, &one, 1);
	x = elu(g, batch_norm(b, "distil.norm", x, 1e-5));
	x = op_max_pool(g, x, 1, &three, &two, (int64_t[]){ 1, 1 }, false);
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	graph_leave(g);
	return x;
}

static graph_value encode(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct informer *o = b->s->own;
	x = forecast_embed(b, x, 0, o->series.context);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, NO_VALUE, NO_VALUE);
		x = o->distils && b->layer < b->s->layers_in_config - 1 ? halved(b, x) : x;
		graph_leave(g);
	}
	return x;
}

static graph_value decode(struct build *b, graph_value x, graph_value memory)
{
	struct graph *g = b->g;
	const struct informer *o = b->s->own;
	struct body io = { .embeds = x };
	graph_value query, key;
	decoder_places(b, &io, &query, &key);
	x = forecast_embed(b, x, o->series.context, o->series.prediction);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, causal_bias(b, query, key), memory);
		graph_leave(g);
	}
	return x;
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct informer *o = b->s->own;
	struct forecast_series r = { 0 };
	forecast_inputs(b, &r);
	graph_value x = op_concat(g, 2, (graph_value[]){ r.lagged, r.known }, 2);
	graph_enter(g, "encoder");
	const struct spec *whole = part_enter(b, "encoder");
	r.remembered = encode(b, op_slice(g, x, 1, 0, o->series.context));
	part_leave(b, whole);
	graph_leave(g);
	graph_enter(g, "decoder");
	part_enter(b, "decoder");
	struct body io = { .own = &r };
	io.last = decode(b, op_slice(g, x, 1, o->series.context, INT64_MAX), r.remembered);
	part_leave(b, whole);
	graph_leave(g);
	head_build(b, &io);
}

static void give_params(struct build *b, const struct body *io)
{
	forecast_give_params(b, io, b->s->hidden_size);
}

static const struct family_head heads[] = {
	{ &head_forecast, give_params },
	{ &head_model, forecast_give_states },
	{ 0 },
};

const struct family forecast = {
	.name = "forecast",
	.architecture = "time series",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
