// SPDX-License-Identifier: Apache-2.0
// Forecasts of a series from patches of it, each of which sees those before it (TimesFM: Das et al. 2024,
// https://arxiv.org/abs/2310.10688). What comes out after the last patch is the horizon: a mean and quantiles at each step.
//
//   the last `context` values, zeros before a shorter series -> patches, normed, beside what is padding
//   - block -> layers - block -> horizon
//   block:  linear - act - linear (+ linear)
//
// The first norms by one patch; a layer of it is RMS norm - attention -(+)- layer norm - linear - ReLU - linear -(+)-. TimesFM
// 2.5 norms the whole, then each patch by all that came before; its layers have four norms and rotary positions. It forecasts a
// series and its mirror image, and has a block of its own for quantiles.
#include <math.h>

#include "arch/block/block.h"

struct timesfm {
	int64_t context, patch, horizon, quantiles; // quantiles: with the mean beside them
	double tolerance, padding;                  // a value that is no value
	bool positions;
	double least_scale, most_scale; // of positions
	int64_t frequencies;
	// 2.5
	int64_t quantile_horizon, median;
	bool mirrors, keeps_positive, quantile_block, ffn_bias;
};

static const struct timesfm *timesfm_of(const struct build *b)
{
	return b->s->own;
}

static struct timesfm *resolve_both(struct config *c, struct spec *s, struct arena *a)
{
	struct timesfm *o = ARENA_NEW(a, struct timesfm);
	const json_t *quantiles = config_get(c, "quantiles");
	s->own = o;
	resolve_transformer(c, s, true);
	s->norm_eps = config_real(c, "rms_norm_eps", 1e-6);
	s->attention_scale = 1;
	o->context = config_size(c, "context_length", -1);
	o->patch = config_size(c, "patch_length", -1);
	o->horizon = config_size(c, "horizon_length", -1);
	o->quantiles = 1 + (int64_t)json_array_size(quantiles);
	o->tolerance = config_real(c, "tolerance", 1e-6);
	if (!c->error.status &&
		(o->context < 1 || o->patch < 1 || o->horizon < 1 || o->context % o->patch || s->ffn_size < 1 ||
			s->hidden_size < 4 || s->hidden_size % 2))
		config_fail(c, STATUS_BAD_INPUT, "context_length %lld, patch_length %lld, horizon_length %lld over %lld",
			(long long)o->context, (long long)o->patch, (long long)o->horizon, (long long)s->hidden_size);
	return o;
}

// Zeros before a series that is shorter: [batch, length] -> [batch, context]; *missing: 1 where they are.
static graph_value context_of(struct build *b, graph_value values, graph_value *missing)
{
	struct graph *g = b->g;
	int64_t n = timesfm_of(b)->context;
	graph_value none = op_scale(g, values, 0), one = op_exp(g, op_slice(g, none, 1, 0, 1)); // [batch, 1]
	graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, values, 0), graph_i64s(g, 1, &n) }, 0);
	graph_value before = op_expand(g, one, shape);
	*missing = op_slice(g, op_concat(g, 2, (graph_value[]){ before, none }, 1), 1, -n, INT64_MAX);
	return op_slice(g, op_concat(g, 2, (graph_value[]){ op_scale(g, before, 0), values }, 1), 1, -n, INT64_MAX);
}

static graph_value in_patches(struct build *b, graph_value x)
{
	const struct timesfm *o = timesfm_of(b);
	return op_reshape(b->g, x, 3, (int64_t[]){ 0, o->context / o->patch, o->patch });
}

static graph_value block(
	struct build *b, const char *stem, graph_value x, int64_t in, int64_t inner, int64_t out, enum activation act, bool bias)
{
	struct arena *a = graph_arena(b->g);
	graph_value y = activate(b, act, linear(b, arena_printf(a, "%s.in", stem), x, in, inner, bias));
	y = linear(b, arena_printf(a, "%s.out", stem), y, inner, out, bias);
	return op_add(b->g, y, linear(b, arena_printf(a, "%s.past", stem), x, in, out, bias));
}

// Each element of a head's query by a learned factor: softplus(w) log2(e) / sqrt(width).
static graph_value scaled_query(struct build *b, graph_value q)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t d = s->head_width;
	graph_value factor = op_softplus(g, WEIGHT(b, "layers.attn.scale", "", d));
	factor = op_scale(g, factor, (float)(1.442695041 / sqrt((double)d)));
	q = op_mul(g, op_reshape(g, q, 4, (int64_t[]){ 0, 0, s->heads, d }), factor);
	return op_reshape(g, q, 3, (int64_t[]){ 0, 0, s->heads * d });
}

// ---- the first ----------------------------------------------------------------------------------------------------------

static void resolve_first(struct config *c, struct spec *s, struct arena *a)
{
	struct timesfm *o = resolve_both(c, s, a);
	o->padding = config_real(c, "pad_val", 1123581321.0);
	o->frequencies = config_size(c, "freq_size", 3);
	o->positions = config_bool(c, "use_positional_embedding", false);
	o->least_scale = config_real(c, "min_timescale", 1);
	o->most_scale = config_real(c, "max_timescale", 10000);
	if (!c->error.status && (o->frequencies < 1 || !(o->least_scale > 0) || !(o->most_scale > 0)))
		config_fail(c, STATUS_BAD_INPUT, "freq_size %lld, timescales from %g to %g", (long long)o->frequencies,
			o->least_scale, o->most_scale);
}

// The first place of an axis where `is` f32 [batch, patches] is 1, or `otherwise`: i64 [batch]
static graph_value first_of(struct build *b, graph_value is, int64_t otherwise)
{
	struct graph *g = b->g;
	graph_value any = op_greater(g, op_reduce_max(g, is, 1, false), graph_f32(g, 0));
	return op_where(g, any, op_argmax(g, op_cast(g, is, DTYPE_I64), 1, false), graph_i64(g, otherwise));
}

// Mean and deviation of the first patch with three values, of x and its padding [batch, patches, patch]: [batch, 1, 1] each
static void first_stats(struct build *b, graph_value x, graph_value pad, graph_value *mean, graph_value *deviation)
{
	struct graph *g = b->g;
	const struct timesfm *o = timesfm_of(b);
	graph_value there = op_sub(g, graph_f32(g, 1), pad), count = op_reduce_sum(g, there, 2, false);
	graph_value enough = op_cast(g, op_less_or_equal(g, graph_f32(g, 3), count), DTYPE_F32);
	graph_value at = op_unsqueeze(g, first_of(b, enough, o->context / o->patch - 1), 1);
	graph_value v = op_gather_nd(g, x, at, 1), w = op_gather_nd(g, there, at, 1); // [batch, patch]
	graph_value n = op_max(g, op_reduce_sum(g, w, 1, true), graph_f32(g, 1));
	graph_value m = op_div(g, op_reduce_sum(g, op_mul(g, v, w), 1, true), n), off = op_mul(g, op_sub(g, v, m), w);
	graph_value d = op_sqrt(g, op_div(g, op_reduce_sum(g, op_mul(g, off, off), 1, true), n));
	*mean = op_unsqueeze(g, m, 2);
	*deviation = op_unsqueeze(g, op_max(g, d, graph_f32(g, (float)o->tolerance)), 2);
}

// Of the positions' sines, [hidden / 2]: those of the file, where it has them.
static graph_value frequencies_of(struct build *b)
{
	struct graph *g = b->g;
	const struct timesfm *o = timesfm_of(b);
	int64_t half = b->s->hidden_size / 2;
	if (!b->plan && weight_exists(b, "positions.frequencies", ""))
		return WEIGHT(b, "positions.frequencies", "", half);
	double step = log(o->most_scale / o->least_scale) / (double)(half > 1 ? half - 1 : 1);
	float *f = GRAPH_TABLE(g, NULL, half, 1, float);
	if (!f)
		return NO_VALUE;
	for (int64_t i = 0; i < half; i++)
		f[i] = (float)(o->least_scale * exp(-(double)i * step));
	return graph_constant(g, DTYPE_F32, 1, &half, f);
}

// Sines of places that count from the first patch that is not padding and go round: padding [batch, patches] -> [.., hidden]
static graph_value shifted_sines(struct build *b, graph_value padding)
{
	struct graph *g = b->g;
	const struct timesfm *o = timesfm_of(b);
	int64_t n = o->context / o->patch;
	graph_value is = op_cast(g, op_equal(g, padding, graph_f32(g, 0)), DTYPE_F32), first = first_of(b, is, -1);
	graph_value at = op_sub(g, places_of(g, padding), op_unsqueeze(g, first, 1));
	at = op_cast(g, op_mod(g, at, graph_i64(g, n)), DTYPE_F32);
	graph_value angle = op_mul(g, op_unsqueeze(g, at, 2), frequencies_of(b));
	return op_concat(g, 2, (graph_value[]){ op_sin(g, angle), op_cos(g, angle) }, 2);
}

static graph_value first_layer(struct build *b, graph_value x, graph_value bias, graph_value there)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, wide = s->heads * s->head_width;
	graph_value y = rms_norm(b, "layers.attn.norm", x, h);
	graph_value q = scaled_query(b, linear(b, "layers.attn.q", y, h, wide, true));
	y = op_attention(g,
		&(struct attention){ q, linear(b, "layers.attn.k", y, h, wide, true),
			linear(b, "layers.attn.v", y, h, wide, true), .bias = bias, .heads = s->heads, .scale = 1 });
	x = op_add(g, x, linear(b, "layers.attn.o", y, wide, h, true));
	y = op_layer_norm(g, x, WEIGHT(b, "layers.ffn.norm", "weight", h), WEIGHT(b, "layers.ffn.norm", "bias", h), 1e-6f);
	y = op_relu(g, linear(b, "layers.ffn.up", y, h, s->ffn_size, true));
	return op_add(g, op_mul(g, linear(b, "layers.ffn.down", y, s->ffn_size, h, true), there), x);
}

static void give(struct build *b, graph_value full, int64_t which)
{
	graph_output(b->g, "mean_predictions", op_squeeze(b->g, op_slice(b->g, full, 2, which, which + 1), 2));
	graph_output(b->g, "full_predictions", full); // [batch, horizon, quantiles]
}

static void build_first(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct timesfm *o = s->own;
	int64_t h = s->hidden_size, shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	graph_value values = graph_input(g, "past_values", DTYPE_F32, 2, shape), missing, mean, deviation;
	graph_value frequency = graph_input(g, "freq", DTYPE_I64, 1, shape), one = graph_f32(g, 1);
	graph_value x = in_patches(b, context_of(b, values, &missing)), pad = in_patches(b, missing);
	graph_value off = op_abs(g, op_sub(g, x, graph_f32(g, (float)o->padding)));
	graph_value is_none = op_less(g, off, graph_f32(g, (float)o->tolerance)); // a value that says that there is none
	pad = op_where(g, is_none, one, pad);
	first_stats(b, x, pad, &mean, &deviation);
	x = op_mul(g, op_div(g, op_sub(g, x, mean), deviation), op_sub(g, one, pad));
	x = block(b, "embed", op_concat(g, 2, (graph_value[]){ x, pad }, 2), 2 * o->patch, s->ffn_size, h, ACT_SILU, true);
	graph_value padding = op_reduce_min(g, pad, 2, false); // of whole patches
	if (o->positions)
		x = op_add(g, x, shifted_sines(b, padding));
	x = op_add(
		g, x, op_unsqueeze(g, op_gather(g, WEIGHT(b, "embed.frequency", "weight", o->frequencies, h), frequency, 0), 1));
	graph_value there = op_sub(g, one, padding), bias = mask_causal(b, op_cast(g, there, DTYPE_I64), x, 0);
	there = op_unsqueeze(g, there, 2);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = first_layer(b, x, bias, there);
		graph_leave(g);
	}
	x = op_squeeze(g, op_slice(g, x, 1, -1, INT64_MAX), 1); // after the last patch
	x = block(b, "horizon", x, h, s->ffn_size, o->horizon * o->quantiles, ACT_SILU, true);
	x = op_reshape(g, x, 3, (int64_t[]){ -1, o->horizon, o->quantiles });
	give(b, op_add(g, op_mul(g, x, deviation), mean), 0);
}

static const struct family_head heads[] = { { &head_forecast }, { 0 } };

const struct family timesfm = {
	.name = "timesfm",
	.architecture = "time series",
	.resolve = resolve_first,
	.build = build_first,
	.heads = heads,
};

// ---- 2.5 ----------------------------------------------------------------------------------------------------------------

static void resolve_later(struct config *c, struct spec *s, struct arena *a)
{
	struct timesfm *o = resolve_both(c, s, a);
	if (c->error.status)
		return;
	s->act = config_activation(c, "activation", ACT_SILU);
	o->tolerance = 1e-6;
	o->quantile_horizon = config_size(c, "output_quantile_len", 1024);
	int64_t median = config_size(c, "decode_index", 5);
	o->median = median < o->quantiles - 1 ? median : o->quantiles - 1;
	o->mirrors = config_bool(c, "force_flip_invariance", true);
	o->keeps_positive = config_bool(c, "infer_is_positive", true);
	o->quantile_block = config_bool(c, "use_continuous_quantile_head", true);
	o->ffn_bias = config_bool(c, "use_bias", false);
	s->traits.qkv_bias = config_bool(c, "attention_bias", false);
	resolve_rope(c, s, a);
	if (!c->error.status && o->quantile_horizon < o->horizon)
		config_fail(c, STATUS_UNSUPPORTED, "output_quantile_len %lld is less than horizon_length",
			(long long)o->quantile_horizon);
}

// s, or 1 where it is next to nothing
static graph_value safe(struct build *b, graph_value s)
{
	struct graph *g = b->g;
	return op_where(g, op_less(g, s, graph_f32(g, (float)timesfm_of(b)->tolerance)), graph_f32(g, 1), s);
}

static graph_value ratio(struct build *b, graph_value x, graph_value count) // 0 of nothing
{
	struct graph *g = b->g;
	graph_value none = op_equal(g, count, graph_f32(g, 0));
	return op_where(g, none, graph_f32(g, 0), op_div(g, x, op_where(g, none, graph_f32(g, 1), count)));
}

// Count, mean and deviation of all values up to each patch: x, there [batch, patches, patch] -> [batch, patches, 3]
static graph_value running_stats(struct build *b, graph_value x, graph_value there)
{
	struct graph *g = b->g;
	graph_value none = op_scale(g, op_slice(g, op_squeeze(g, op_slice(g, x, 1, 0, 1), 1), 1, 0, 1), 0);
	struct scan s = { .state_count = 1,
		.first = { op_concat(g, 3, (graph_value[]){ none, none, none }, 1) },
		.over_count = 2,
		.over = { x, there },
		.axis = 1 };
	op_scan_begin(g, &s);
	graph_value count = op_slice(g, s.state[0], 1, 0, 1), mean = op_slice(g, s.state[0], 1, 1, 2),
		    deviation = op_slice(g, s.state[0], 1, 2, 3); // [batch, 1]
	graph_value more = op_reduce_sum(g, s.item[1], 1, true);
	graph_value m = ratio(b, op_reduce_sum(g, op_mul(g, s.item[0], s.item[1]), 1, true), more);
	graph_value off = op_mul(g, op_sub(g, s.item[0], m), s.item[1]);
	graph_value spread = op_reduce_sum(g, op_mul(g, off, off), 1, true), all = op_add(g, count, more);
	graph_value now = ratio(b, op_add(g, op_mul(g, count, mean), op_mul(g, m, more)), all);
	graph_value a = op_sub(g, mean, now), d = op_sub(g, m, now);
	spread = op_add(g, spread, op_mul(g, count, op_add(g, op_mul(g, deviation, deviation), op_mul(g, a, a))));
	spread = op_add(g, spread, op_mul(g, more, op_mul(g, d, d)));
	graph_value next = op_concat(g, 3, (graph_value[]){ all, now, op_sqrt(g, ratio(b, spread, all)) }, 1);
	graph_assume(g, next, 0, value_dim(g, s.state[0], 0));
	op_scan_end(g, &s, &next, 1, &next);
	return s.all[0];
}

static graph_value norm_of_heads(struct build *b, const char *stem, graph_value x, int64_t count)
{
	int64_t d = b->s->head_width;
	x = rms_norm(b, stem, op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, count, d }), d);
	return op_reshape(b->g, x, 3, (int64_t[]){ 0, 0, count * d });
}

static graph_value later_layer(struct build *b, graph_value x, graph_value bias, graph_value cos, graph_value sin)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool biased = s->traits.qkv_bias, ffn_bias = timesfm_of(b)->ffn_bias;
	int64_t h = s->hidden_size, wide = s->heads * s->head_width, kv = s->kv_heads * s->head_width;
	graph_value y = rms_norm(b, "layers.attn.norm", x, h);
	graph_value q = rope_turn(b, linear(b, "layers.attn.q", y, h, wide, biased), cos, sin, s->heads),
		    k = rope_turn(b, linear(b, "layers.attn.k", y, h, kv, biased), cos, sin, s->kv_heads);
	q = scaled_query(b, norm_of_heads(b, "layers.attn.q_norm", q, s->heads));
	k = norm_of_heads(b, "layers.attn.k_norm", k, s->kv_heads);
	y = op_attention(g,
		&(struct attention){ q, k, linear(b, "layers.attn.v", y, h, kv, biased), .bias = bias, .heads = s->heads,
			.kv_heads = s->kv_heads, .scale = 1 });
	x = op_add(g, x, rms_norm(b, "layers.attn.after", linear(b, "layers.attn.o", y, wide, h, biased), h));
	y = linear(b, "layers.ffn.up", rms_norm(b, "layers.ffn.norm", x, h), h, s->ffn_size, ffn_bias);
	y = linear(b, "layers.ffn.down", activate(b, s->act, y), s->ffn_size, h, ffn_bias);
	return op_add(g, x, rms_norm(b, "layers.ffn.after", y, h));
}

// x [batch, context], normed, and what is missing of it -> the mean and quantiles, and quantiles by the block of their own:
// [batch, horizon, quantiles] each
static graph_value foresee(struct build *b, graph_value x, graph_value missing, graph_value *quantiles)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct timesfm *o = s->own;
	int64_t h = s->hidden_size, n = o->quantiles;
	graph_value values = in_patches(b, x), pad = in_patches(b, missing), one = graph_f32(g, 1), cos, sin;
	graph_value stats = running_stats(b, values, op_sub(g, one, pad));
	graph_value mean = op_slice(g, stats, 2, 1, 2), deviation = op_slice(g, stats, 2, 2, 3);
	values = op_mul(g, op_div(g, op_sub(g, values, mean), safe(b, deviation)), op_sub(g, one, pad));
	x = block(b, "embed", op_concat(g, 2, (graph_value[]){ values, pad }, 2), 2 * o->patch, h, h, s->act, true);
	graph_value is_pad = op_cast(g, op_squeeze(g, op_slice(g, pad, 2, -1, INT64_MAX), 2), DTYPE_I64); // by its last value
	graph_value at = op_sub(g, places_of(g, x), op_reduce_sum(g, is_pad, 1, true));
	graph_value bias = mask_causal(b, op_sub(g, graph_i64(g, 1), is_pad), x, 0);
	rope_tables(b, x, at, &cos, &sin);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = later_layer(b, x, bias, cos, sin);
		graph_leave(g);
	}
	x = op_slice(g, x, 1, -1, INT64_MAX); // after the last patch
	mean = op_slice(g, mean, 1, -1, INT64_MAX), deviation = op_slice(g, deviation, 1, -1, INT64_MAX);
	graph_value y = block(b, "horizon", x, h, h, o->horizon * n, s->act, false);
	y = op_reshape(g, op_add(g, op_mul(g, y, deviation), mean), 3, (int64_t[]){ -1, o->horizon, n });
	if (!o->quantile_block)
		return y;
	x = block(b, "quantiles", x, h, h, o->quantile_horizon * n, s->act, false);
	x = op_reshape(g, op_add(g, op_mul(g, x, deviation), mean), 3, (int64_t[]){ -1, o->quantile_horizon, n });
	*quantiles = op_slice(g, x, 1, 0, o->horizon);
	return y;
}

// Half of what the first half of the batch differs from the second, whose quantiles go the other way.
static graph_value unmirrored(struct build *b, graph_value x, graph_value batch)
{
	struct graph *g = b->g;
	int64_t n = timesfm_of(b)->quantiles, *order = ARENA_ARRAY(graph_arena(g), (size_t)n, int64_t);
	for (int64_t i = 0; i < n; i++)
		order[i] = i ? n - i : 0;
	graph_value all = graph_i64s(g, 1, (int64_t[]){ INT64_MAX }), zero = graph_i64s(g, 1, (int64_t[]){ 0 });
	graph_value other = op_gather(g, op_slice_to(g, x, 0, batch, all), graph_i64s(g, (int)n, order), 2);
	return op_scale(g, op_sub(g, op_slice_to(g, x, 0, zero, batch), other), 0.5f);
}

static void build_later(struct build *b)
{
	struct graph *g = b->g;
	const struct timesfm *o = timesfm_of(b);
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	graph_value values = graph_input(g, "past_values", DTYPE_F32, 2, shape), missing, quantiles = NO_VALUE;
	graph_value x = context_of(b, values, &missing), batch = op_dim(g, values, 0);
	graph_value mean = op_reduce_mean(g, x, 1, true), off = op_sub(g, x, mean);
	graph_value spread = op_reduce_sum(g, op_mul(g, off, off), 1, true);
	graph_value deviation = op_sqrt(g, op_scale(g, spread, 1 / (float)(o->context - 1)));
	x = op_div(g, off, safe(b, deviation));
	if (o->mirrors) {
		x = op_concat(g, 2, (graph_value[]){ x, op_neg(g, x) }, 0);
		missing = op_concat(g, 2, (graph_value[]){ missing, missing }, 0);
	}
	graph_value full = foresee(b, x, missing, &quantiles);
	if (o->mirrors)
		full = unmirrored(b, full, batch);
	if (o->mirrors && quantiles.id)
		quantiles = unmirrored(b, quantiles, batch);
	if (quantiles.id) { // about the median
		graph_value q = op_sub(g, quantiles, op_slice(g, quantiles, 2, o->median, o->median + 1));
		q = op_add(g, q, op_slice(g, full, 2, o->median, o->median + 1));
		full = op_concat(g, 2, (graph_value[]){ op_slice(g, full, 2, 0, 1), op_slice(g, q, 2, 1, INT64_MAX) }, 2);
	}
	full = op_add(g, op_mul(g, full, op_unsqueeze(g, deviation, 2)), op_unsqueeze(g, mean, 2));
	if (o->keeps_positive) { // where no value of any series is less than 0
		graph_value seen = op_slice(g, values, 1, -o->context, INT64_MAX);
		graph_value least = op_reduce_min(g, op_reduce_min(g, seen, 1, true), 0, true), zero = graph_f32(g, 0);
		graph_value keeps = op_unsqueeze(g, op_less_or_equal(g, zero, least), 2); // [1, 1, 1]
		full = op_where(g, keeps, op_max(g, full, zero), full);
	}
	give(b, full, o->median);
}

const struct family timesfm2_5 = {
	.name = "timesfm-2.5",
	.architecture = "time series",
	.resolve = resolve_later,
	.build = build_later,
	.heads = heads,
};
