// SPDX-License-Identifier: Apache-2.0
// The conformer layer (Gulati et al. 2020, https://arxiv.org/abs/2005.08100) as speech encoders have it: positions rotary,
// relative (Dai et al. 2019, https://arxiv.org/abs/1901.02860) or by learned keys of clamped distance.
//
//   x -(+ ffn/2)-(+ attention)-(+ convolution)-(+ ffn/2)- norm
//   convolution:  norm - pointwise to 2h - glu - depthwise - norm - act - pointwise
#include "arch/block/sound.h"

#include <math.h>

static graph_value half_ffn(struct build *b, const char *norm, const char *up, const char *down, graph_value x)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	graph_value y = sound_norm(b, norm, x, s->hidden_size, sound_of(b)->inner_eps);
	y = activate(b, s->act, linear(b, up, y, s->hidden_size, s->ffn_size, true));
	return op_add(g, op_scale(g, linear(b, down, y, s->ffn_size, s->hidden_size, true), 0.5f), x);
}

graph_value conformer_positions(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, half = h / 2;
	float *frequency = GRAPH_TABLE(g, NULL, half, 1, float);
	if (!frequency)
		return NO_VALUE;
	for (int64_t i = 0; i < half; i++)
		frequency[i] = expf((float)(2 * i) * -(float)(log(10000.0) / (double)h));
	graph_enter(g, "positions");
	graph_value n = op_squeeze(g, op_dim(g, x, 1), 0), last = op_sub(g, n, graph_i64(g, 1));
	graph_value at = op_sub(g, last, op_range(g, graph_i64(g, 0), op_add(g, last, n), graph_i64(g, 1))); // n-1 .. -(n-1)
	at = op_unsqueeze(g, op_cast(g, at, DTYPE_F32), 1);
	graph_value angle = op_mul(g, at, graph_constant(g, DTYPE_F32, 1, &half, frequency));
	graph_value pairs[] = { op_unsqueeze(g, op_sin(g, angle), 2), op_unsqueeze(g, op_cos(g, angle), 2) };
	graph_value table = op_reshape(g, op_concat(g, 2, pairs, 2), 2, (int64_t[]){ 0, h }); // [2*frames-1, hidden]
	graph_leave(g);
	return table;
}

// Row i of scores [batch, heads, frames, 2*frames-1] begins with the earliest key of any query; shifted by i, its first
// `frames` columns are the keys. Padding each row by one and cutting the whole anew shifts them all.
static graph_value shifted(struct build *b, graph_value scores, graph_value x)
{
	struct graph *g = b->g;
	graph_value n = op_dim(g, x, 1), twice = op_add(g, n, n);
	graph_value heads = graph_i64s(g, 1, &b->s->heads), one = graph_i64s(g, 1, (int64_t[]){ 1 });
	graph_value flat = op_reshape(g, op_pad(g, scores, 3, 1, 0), 3, (int64_t[]){ 0, b->s->heads, -1 });
	flat = op_slice_to(g, flat, 2, n, graph_i64s(g, 1, (int64_t[]){ INT64_MAX }));
	graph_value shape = op_concat(g, 4, (graph_value[]){ op_dim(g, x, 0), heads, n, op_sub(g, twice, one) }, 0);
	return op_slice_to(g, op_reshape_to(g, flat, shape), 3, graph_i64s(g, 1, (int64_t[]){ 0 }), n);
}

static graph_value by_head(struct build *b, graph_value x) // [batch, frames, hidden] -> [batch, heads, frames, width]
{
	return op_transpose(
		b->g, op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, b->s->heads, b->s->head_width }), 4, (int[]){ 0, 2, 1, 3 });
}

// (q + v) p^T, shifted; p are the projected sines.
graph_value conformer_relative(struct build *b, graph_value q, graph_value positions, graph_value x)
{
	struct graph *g = b->g;
	int64_t heads = b->s->heads, width = b->s->head_width, all = heads * width;
	graph_value p = op_reshape(g, linear(b, "layers.attn.positions", positions, b->s->hidden_size, all, false), 3,
		(int64_t[]){ 0, heads, width });
	p = op_unsqueeze(g, op_transpose(g, p, 3, (int[]){ 1, 2, 0 }), 0); // [1, heads, width, 2*frames-1]
	graph_value v = op_reshape(g, WEIGHT(b, "layers.attn.v_bias", "", heads, width), 1, (int64_t[]){ all });
	return shifted(b, op_matmul(g, by_head(b, op_add(g, q, v)), p), x);
}

// q e^T, where e is the row of a table by the clamped distance between query and key: a product for each query position.
graph_value sound_distance_bias(struct build *b, graph_value q, graph_value x, bool behind)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t heads = b->s->heads, width = b->s->head_width;
	graph_value n = op_dim(g, x, 1), at = op_range(g, graph_i64(g, 0), op_squeeze(g, n, 0), graph_i64(g, 1));
	graph_value row = op_unsqueeze(g, at, 0), column = op_unsqueeze(g, at, 1);
	graph_value ahead = behind ? op_sub(g, column, row) : op_sub(g, row, column); // [frames, frames]
	ahead = op_max(g, op_min(g, ahead, graph_i64(g, o->key_right)), graph_i64(g, -o->key_left));
	graph_value e = op_gather(g, WEIGHT(b, "layers.attn.distance", "weight", o->key_left + o->key_right + 1, width),
		op_add(g, ahead, graph_i64(g, o->key_left)), 0); // [frames, frames, width]
	graph_value rows = op_transpose(g, op_reshape(g, q, 4, (int64_t[]){ 0, 0, heads, width }), 4, (int[]){ 1, 0, 2, 3 });
	rows = op_reshape(g, rows, 3, (int64_t[]){ 0, -1, width });                    // [frames, batch*heads, width]
	graph_value y = op_matmul(g, rows, op_transpose(g, e, 3, (int[]){ 0, 2, 1 })); // [frames, batch*heads, frames]
	graph_value shape = op_concat(g, 4, (graph_value[]){ n, op_dim(g, x, 0), graph_i64s(g, 1, &heads), n }, 0);
	return op_transpose(g, op_reshape_to(g, y, shape), 4, (int[]){ 1, 2, 0, 3 });
}

static graph_value attention(
	struct build *b, graph_value x, graph_value mask, graph_value positions, graph_value cos, graph_value sin)
{
	const struct sound *o = sound_of(b);
	const struct spec *s = b->s;
	struct graph *g = b->g;
	int64_t h = s->hidden_size;
	graph_value at = o->positions == POSITIONS_ROTARY ? rope_turn(b, x, cos, sin, s->heads)
							  : x; // rotated before q and k, which share it
	graph_value q = linear(b, "layers.attn.q", at, h, h, true), k = linear(b, "layers.attn.k", at, h, h, true),
		    v = linear(b, "layers.attn.v", x, h, h, true);
	graph_value bias = NO_VALUE;
	if (o->positions == POSITIONS_RELATIVE) {
		bias = op_scale(g, conformer_relative(b, q, positions, x), (float)s->attention_scale);
		q = op_add(
			g, q, op_reshape(g, WEIGHT(b, "layers.attn.u_bias", "", s->heads, s->head_width), 1, (int64_t[]){ h }));
	} else if (o->positions == POSITIONS_RELATIVE_KEY)
		bias = op_scale(g, sound_distance_bias(b, q, x, false), (float)s->attention_scale);
	if (mask.id)
		bias = bias.id ? op_add(g, bias, mask) : mask;
	graph_value y = op_attention(
		g, &(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, h, h, true);
}

// Depthwise over time: centred, then batch norm; or over the past alone, then layer norm, without padded frames.
static graph_value convolution(struct build *b, graph_value x, graph_value frames)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, k = o->conformer_kernel, one[] = { 1 }, pad = (k - 1) / 2;
	bool causal = o->causal_convolution;
	x = sound_norm(b, "layers.conv.norm", x, h, o->inner_eps);
	if (causal || o->zeroed_convolution)
		x = sound_zeroed(b, x, frames);
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 }); // [batch, hidden, frames]
	graph_value frames_dim = x;
	x = op_conv(g, x, WEIGHT(b, "layers.conv.in", "weight", 2 * h, h, 1), NO_VALUE, one, (int64_t[]){ 0, 0 }, one, 1);
	x = sound_glu(g, x, 1, h);
	x = op_conv(g, x, WEIGHT(b, "layers.conv.depth", "weight", h, 1, k), NO_VALUE, one,
		causal ? (int64_t[]){ k - 1, 0 } : (int64_t[]){ pad, pad }, one, h);
	if (causal) {
		x = sound_norm(b, "layers.conv.depth_norm", op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), h, o->inner_eps);
		x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	} else
		x = sound_batch_norm(b, "layers.conv.batch_norm", x, h);
	x = op_conv(g, activate(b, b->s->act, x), WEIGHT(b, "layers.conv.out", "weight", h, h, 1), NO_VALUE, one,
		(int64_t[]){ 0, 0 }, one, 1);
	graph_assume(g, x, 2, value_dim(g, frames_dim, 2));
	return op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
}

graph_value conformer_layer(struct build *b, graph_value x, graph_value mask, graph_value frames, graph_value positions,
	graph_value cos, graph_value sin)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "ffn1");
	x = half_ffn(b, "layers.ffn1.norm", "layers.ffn1.up", "layers.ffn1.down", x);
	graph_leave(g);
	graph_enter(g, "attn");
	x = op_add(g, attention(b, sound_norm(b, "layers.attn.norm", x, h, o->inner_eps), mask, positions, cos, sin), x);
	graph_leave(g);
	graph_enter(g, "conv");
	x = op_add(g, x, convolution(b, x, frames));
	graph_leave(g);
	graph_enter(g, "ffn2");
	x = half_ffn(b, "layers.ffn2.norm", "layers.ffn2.up", "layers.ffn2.down", x);
	graph_leave(g);
	return sound_norm(b, "layers.norm", x, h, o->inner_eps);
}
