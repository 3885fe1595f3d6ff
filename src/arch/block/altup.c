// SPDX-License-Identifier: Apache-2.0
// Alternating updates (Baykal et al. 2023, https://arxiv.org/abs/2301.13310) and LAuReL (Menghani et al. 2024,
// https://arxiv.org/abs/2411.07501), as Gemma 3n has them: states [batch, seq, inputs, hidden].
//
//   x -- predict: p = x + P(x_active) x -+- p_active -> layer -> y
//                                        +- correct: p + (1 + c(y)) (y - p_active)
#include <math.h>

#include "arch/block/block.h"

static graph_value at(struct build *b, graph_value x, int64_t i)
{
	return op_squeeze(b->g, op_slice(b->g, x, 2, i, i + 1), 2);
}

static graph_value mean_square(struct build *b, graph_value x)
{
	return op_reduce_mean(b->g, op_mul(b->g, x, x), -1, true);
}

// A linear layer of x, made as long as `first`.
static graph_value as_long(struct build *b, const char *stem, graph_value x, graph_value first)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value y = linear(b, stem, x, h, h, false);
	graph_value length = op_sqrt(g, op_max(g, mean_square(b, y), graph_f32(g, 1e-5f)));

	return op_div(g, op_mul(g, y, op_sqrt(g, mean_square(b, first))), length);
}

graph_value altup_begin(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t n = b->s->altup->inputs;
	graph_value *states = ARENA_ARRAY(graph_arena(g), (size_t)n, graph_value);

	states[0] = op_unsqueeze(g, x, 2);
	for (b->item = 0; b->item < n - 1; b->item++)
		states[b->item + 1] = op_unsqueeze(g, as_long(b, "altup.in", x, x), 2);
	return op_concat(g, (int)n, states, 2);
}

graph_value altup_active(struct build *b, graph_value x)
{
	return at(b, x, b->s->altup->active);
}

// [batch, seq, inputs], between -1 and 1
static graph_value modalities(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;

	x = op_scale(g, norm(b, "layers.altup.norm", x, h), (float)(1 / (double)h));
	return op_tanh(g, linear(b, "layers.altup.router", x, h, b->s->altup->inputs, false));
}

graph_value altup_predict(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t n = b->s->altup->inputs;
	graph_value p = linear(b, "layers.altup.predict", modalities(b, altup_active(b, x)), n, n * n, false);

	return op_add(g, op_matmul(g, op_reshape(g, p, 4, (int64_t[]){ 0, 0, n, n }), x), x);
}

graph_value altup_correct(struct build *b, graph_value predicted, graph_value y)
{
	struct graph *g = b->g;
	int64_t n = b->s->altup->inputs;
	graph_value news = op_unsqueeze(g, op_sub(g, y, altup_active(b, predicted)), 2);
	graph_value c = linear(b, "layers.altup.correct", modalities(b, y), n, n, false);

	return op_add(g, predicted, op_mul(g, news, op_unsqueeze(g, op_add(g, c, graph_f32(g, 1)), 3)));
}

graph_value altup_add(struct build *b, graph_value x, graph_value y)
{
	struct graph *g = b->g;
	graph_value others = op_add(g, op_slice(g, x, 2, 1, b->s->altup->inputs), op_unsqueeze(g, y, 2));

	return op_concat(g, 2, (graph_value[]){ op_slice(g, x, 2, 0, 1), others }, 2);
}

graph_value altup_end(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t n = b->s->altup->inputs;
	graph_value first = at(b, x, 0), sum = first;

	for (b->item = 0; b->item < n - 1; b->item++)
		sum = op_add(g, sum, as_long(b, "altup.out", at(b, x, b->item + 1), first));
	return op_scale(g, sum, (float)(1 / (double)n));
}

graph_value altup_laurel(struct build *b, graph_value x)
{
	int64_t h = b->s->hidden_size, rank = b->s->altup->laurel_rank;
	graph_value y = linear(b, "layers.laurel.right", linear(b, "layers.laurel.left", x, h, rank, false), rank, h, false);

	return op_add(b->g, x, norm(b, "layers.laurel.norm", y, h));
}
