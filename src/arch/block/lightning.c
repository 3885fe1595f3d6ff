// SPDX-License-Identifier: Apache-2.0
// Lightning attention (Qin et al. 2024, https://arxiv.org/abs/2401.04658; MiniMax-01, https://arxiv.org/abs/2501.08313): linear
// attention, whose memory S of a head decays by the same factor with each token:
//
//   S_t = exp(-slope) S_(t-1) + k_t^T v_t        y_t = q_t S_t
//
//   x -+- q, k, v - act - the above - norm -(*)- out
//      +- gate - sigmoid ---------------------+
//
// Files hold the powers of the decay within a block of tokens as tables, which count; from block to block it is the slope's.
#include "arch/block/recurrent.h"

struct tables {
	graph_value slope, query, key, diagonal; // [heads, 1, 1]; [heads, block, 1] twice; [heads, block, block]
};

static struct tables tables_of(struct build *b)
{
	int64_t n = b->s->heads, block = b->s->recurrence->block;
	return (struct tables){ WEIGHT(b, "layers.slope", "", n, 1, 1), WEIGHT(b, "layers.query_decay", "", n, block, 1),
		WEIGHT(b, "layers.key_decay", "", n, block, 1),
		op_squeeze(b->g, WEIGHT(b, "layers.diagonal_decay", "", 1, n, block, block), 0) };
}

// exp(-slope * block * blocks), blocks i64 of any shape
static graph_value after_blocks(struct build *b, const struct tables *t, graph_value blocks)
{
	struct graph *g = b->g;
	graph_value steps = op_scale(g, op_cast(g, blocks, DTYPE_F32), -(float)b->s->recurrence->block);
	return op_exp(g, op_mul(g, t->slope, steps));
}

// What a query keeps of a key: at i64 [seq] -> [heads, seq, seq]
static graph_value kept(struct build *b, const struct tables *t, graph_value at)
{
	struct graph *g = b->g;
	graph_value size = graph_i64(g, b->s->recurrence->block), number = op_div(g, at, size), place = op_mod(g, at, size);
	graph_value here = op_gather(g, op_gather(g, t->diagonal, place, 1), place, 2);
	graph_value key = op_transpose(g, op_gather(g, t->key, place, 1), 3, (int[]){ 0, 2, 1 });
	graph_value apart = op_sub(g, op_unsqueeze(g, number, 1), op_unsqueeze(g, number, 0)); // [seq, seq]
	graph_value between = op_max(g, op_sub(g, apart, graph_i64(g, 1)), graph_i64(g, 0));
	graph_value far = op_mul(g, op_mul(g, op_gather(g, t->query, place, 1), key), after_blocks(b, t, between));
	graph_value zero = graph_i64(g, 0);
	far = op_where(g, op_less(g, zero, apart), far, graph_f32(g, 0));
	return op_where(g, op_equal(g, apart, zero), here, far);
}

// Memory from before the new tokens, and after them. q, k, v [batch, heads, seq, width] -> what is added to y
static graph_value remembered(struct build *b, struct body *io, const struct tables *t, graph_value at, const graph_value *qkv)
{
	struct graph *g = b->g;
	int64_t n = b->s->heads, d = b->s->head_width, block = b->s->recurrence->block;
	graph_value size = graph_i64(g, block), seq = op_dim(g, at, 0);
	graph_value x = op_transpose(g, qkv[0], 4, (int[]){ 0, 2, 1, 3 });
	graph_value before = state_before(b, io, "recurrent", x, 3, (int64_t[]){ n, d, d });
	graph_value first = op_gather(g, t->query, op_mod(g, at, size), 1);
	first = op_mul(g, first, after_blocks(b, t, op_unsqueeze(g, op_div(g, at, size), 1))); // [heads, seq, 1]
	graph_value y = op_matmul(g, op_mul(g, qkv[0], first), before);
	graph_value behind = op_sub(g, op_sub(g, seq, graph_i64(g, 1)), at); // how far each is from the last
	graph_value place = op_sub(g, graph_i64(g, block - 1), op_mod(g, behind, size));
	graph_value last = op_gather(g, t->key, place, 1);
	last = op_mul(g, last, after_blocks(b, t, op_unsqueeze(g, op_div(g, behind, size), 1)));
	graph_value k = op_transpose(g, op_mul(g, qkv[1], last), 4, (int[]){ 0, 1, 3, 2 });
	graph_value decay = op_exp(g, op_mul(g, t->slope, op_neg(g, op_cast(g, seq, DTYPE_F32)))); // [heads, 1, 1]
	state_after(b, io, "recurrent", op_add(g, op_mul(g, before, decay), op_matmul(g, k, qkv[2])));
	return y;
}

graph_value lightning_mixer(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->heads, d = s->head_width, h = s->hidden_size;
	const struct tables t = tables_of(b);
	graph_value all = op_mul(g, activate(b, s->act, linear(b, "layers.in", x, h, 3 * n * d, false)), mask);
	all = op_transpose(g, op_reshape(g, all, 4, (int64_t[]){ 0, 0, n, 3 * d }), 4, (int[]){ 0, 2, 1, 3 });
	graph_value qkv[3], at = places_of(g, x);
	for (int i = 0; i < 3; i++)
		qkv[i] = op_slice(g, all, 3, i * d, (i + 1) * d); // [batch, heads, seq, width]
	graph_value scores = op_matmul(g, qkv[0], op_transpose(g, qkv[1], 4, (int[]){ 0, 1, 3, 2 }));
	graph_value y = op_matmul(g, op_mul(g, scores, kept(b, &t, at)), qkv[2]);
	if (io->states_after)
		y = op_add(g, y, remembered(b, io, &t, at, qkv));
	y = op_reshape(g, op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, n * d });
	y = op_rms_norm(g, y, WEIGHT(b, "layers.gated_norm", "weight", n * d), 1e-6f);
	y = op_mul(g, op_sigmoid(g, linear(b, "layers.gate", x, h, n * d, false)), y);
	return linear(b, "layers.out", y, n * d, h, false);
}
