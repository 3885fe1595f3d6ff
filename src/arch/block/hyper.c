// SPDX-License-Identifier: Apache-2.0
// Hyper-connections: several residual streams in the place of one (Zhu et al. 2024, https://arxiv.org/abs/2409.19606). A branch
// reads a sum of them and gives to each, by weights that a linear layer makes of all streams together. Between two branches the
// streams may be mixed by a matrix whose rows and columns sum to 1 (Xie et al. 2025, https://arxiv.org/abs/2512.24880):
// Sinkhorn's alternation makes it.
//
//   streams -+- linear of the normed streams -> [before | after | mix]
//            +- sum of before * stream -> branch -> after * its result + mix^T streams
#include <math.h>

#include "arch/block/block.h"

// Linear layer STEM.fn of all streams, normed together: [batch, seq, out]
static graph_value logits_of(struct build *b, const char *stem, graph_value streams, int64_t out)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t all = s->hyper->streams * s->hidden_size;
	graph_value x = op_reshape(g, streams, 3, (int64_t[]){ 0, 0, all });
	x = op_rms_norm(g, x, ones_of(b, all), (float)s->norm_eps);
	return op_linear(g, x, WEIGHT(b, arena_printf(graph_arena(g), "%s.fn", stem), "", out, all), NO_VALUE);
}

// logits' columns begin .. end times element `which` of the scales, plus those of the base
static graph_value part(
	struct graph *g, graph_value logits, graph_value scale, graph_value base, int which, int64_t begin, int64_t end)
{
	graph_value x = op_mul(g, op_slice(g, logits, 2, begin, end), op_slice(g, scale, 0, which, which + 1));
	return op_add(g, x, op_slice(g, base, 0, begin, end));
}

// [batch, seq, n, n], rows and columns by turns divided by their sums
static graph_value doubly_stochastic(struct build *b, graph_value logits)
{
	struct graph *g = b->g;
	const struct hyper *h = b->s->hyper;
	graph_value eps = graph_f32(g, (float)h->eps);
	graph_value x = op_reshape(g, logits, 4, (int64_t[]){ 0, 0, h->streams, h->streams });
	x = op_add(g, op_softmax(g, x, 3), eps);
	for (int64_t i = 0; i < 2 * h->rounds - 1; i++)
		x = op_div(g, x, op_add(g, op_reduce_sum(g, x, i % 2 ? 3 : 2, true), eps));
	return x;
}

// sum of weight [batch, seq, n] * stream: [batch, seq, hidden]
static graph_value sum_of(struct graph *g, graph_value weight, graph_value streams)
{
	return op_reduce_sum(g, op_mul(g, op_unsqueeze(g, weight, 3), streams), 2, false);
}

// Hyper-connections of low rank (Qwen4): a branch reads the mean of the streams, each normed by itself, every element let through
// by a gate that two narrow layers make of all of them together. It gives to each stream by a gate of that.
static graph_value read_by_rank(struct build *b, const char *stem, graph_value streams, graph_value *normed)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct arena *a = graph_arena(g);
	int64_t n = s->hyper->streams, h = s->hidden_size, rank = s->hyper->rank;
	graph_value w = WEIGHT(b, arena_printf(a, "%s.norm", stem), "weight", n * h);
	w = s->traits.norm_plus_one ? op_add(g, w, graph_f32(g, 1)) : w;
	graph_value each = op_rms_norm(g, streams, ones_of(b, h), (float)s->norm_eps);
	each = op_mul(g, each, op_reshape(g, w, 2, (int64_t[]){ n, h }));
	*normed = op_reshape(g, each, 3, (int64_t[]){ 0, 0, n * h });
	graph_value gate = linear(b, arena_printf(a, "%s.down", stem), *normed, n * h, rank, false);
	gate = op_silu(g, op_scale(g, gate, (float)(1 / (double)n)));
	gate = op_sigmoid(g, linear(b, arena_printf(a, "%s.up", stem), gate, rank, n * h, false));
	return op_reduce_mean(g, op_mul(g, op_reshape(g, gate, 4, (int64_t[]){ 0, 0, n, h }), each), 2, false);
}

graph_value hyper_begin(struct build *b, graph_value x)
{
	return op_expand(b->g, op_unsqueeze(b->g, x, 2), graph_i64s(b->g, 4, (int64_t[]){ 1, 1, b->s->hyper->streams, 1 }));
}

graph_value hyper_enter(struct build *b, const char *stem, graph_value streams, struct hyper_weights *w)
{
	struct graph *g = b->g;
	const struct hyper *h = b->s->hyper;
	int64_t n = h->streams, out = h->rounds ? (2 + n) * n : 2 * n;
	if (h->rank) {
		graph_value normed, x = read_by_rank(b, stem, streams, &normed);
		graph_value inject =
			linear(b, arena_printf(graph_arena(g), "%s.inject", stem), normed, n * b->s->hidden_size, n, false);
		w->after = op_scale(g, op_sigmoid(g, op_scale(g, inject, (float)(1 / (double)n))), (float)h->magnitude);
		w->mix = NO_VALUE;
		return x;
	}
	graph_value logits = logits_of(b, stem, streams, out), eps = graph_f32(g, (float)h->eps);
	graph_value scale = WEIGHT(b, arena_printf(graph_arena(g), "%s.scale", stem), "", h->rounds ? 3 : 2);
	graph_value base = WEIGHT(b, arena_printf(graph_arena(g), "%s.base", stem), "", out);
	graph_value before = op_add(g, op_sigmoid(g, part(g, logits, scale, base, 0, 0, n)), eps);
	w->after = op_scale(g, op_sigmoid(g, part(g, logits, scale, base, 1, n, 2 * n)), (float)h->magnitude);
	w->mix = NO_VALUE;
	if (h->rounds)
		w->mix = doubly_stochastic(b, part(g, logits, scale, base, 2, 2 * n, out));
	else
		w->after = op_add(g, w->after, eps);
	return sum_of(g, before, streams);
}

graph_value hyper_leave(struct build *b, graph_value streams, graph_value y, const struct hyper_weights *w)
{
	struct graph *g = b->g;
	if (w->mix.id)
		streams = op_matmul(g, op_transpose(g, w->mix, 4, (int[]){ 0, 1, 3, 2 }), streams);
	return op_add(g, op_mul(g, op_unsqueeze(g, w->after, 3), op_unsqueeze(g, y, 2)), streams);
}

graph_value hyper_end(struct build *b, graph_value streams)
{
	struct graph *g = b->g;
	const struct hyper *h = b->s->hyper;
	int64_t n = h->streams;
	graph_value normed;
	if (h->rank)
		return read_by_rank(b, "hyper", streams, &normed);
	if (!weight_named(b, "hyper.fn"))
		return op_reduce_mean(g, streams, 2, false);
	graph_value logits = logits_of(b, "hyper", streams, n);
	logits = part(g, logits, WEIGHT(b, "hyper.scale", "", 1), WEIGHT(b, "hyper.base", "", n), 0, 0, n);
	return sum_of(g, op_add(g, op_sigmoid(g, logits), graph_f32(g, (float)h->eps)), streams);
}
