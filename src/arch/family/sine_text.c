// SPDX-License-Identifier: Apache-2.0
// A text tower whose positions are sines and whose pooled vector is the mean of its tokens (TIPSv2; TIPS: Maninis et al. 2024,
// https://arxiv.org/abs/2410.16512).
//
//   ids -> tokens * sqrt(hidden) + sines -> layers -> norm -> mean
#include <math.h>

#include "arch/block/block.h"

// spec.own of the family.
struct sine_text {
	double scale, epsilon; // of the tokens; added to how many they are
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct sine_text *t = ARENA_NEW(a, struct sine_text);
	s->own = t;
	resolve_transformer(c, s, false);
	t->scale = config_bool(c, "scale_sqrt_depth", true) ? sqrt((double)s->hidden_size) : 1;
	t->epsilon = config_real(c, "pooling_epsilon", 1e-8);
	if (!c->error.status && (s->hidden_size < 4 || s->hidden_size % 2))
		config_fail(c, STATUS_BAD_INPUT, "hidden_size %lld does not divide into sines and cosines",
			(long long)s->hidden_size);
}

// Of 0, 1, .. : sines, then cosines, of wave lengths from 1 to 10000: [max_positions, hidden]
static graph_value sines(struct build *b)
{
	int64_t n = b->s->max_positions, h = b->s->hidden_size, half = h / 2;
	float *table = GRAPH_TABLE(b->g, NULL, n, h, float);
	for (int64_t i = 0; table && i < n; i++)
		for (int64_t k = 0; k < half; k++) {
			float wave = expf((float)k * (float)-(log(10000) / (double)(half - 1)));
			table[i * h + k] = sinf((float)i * wave);
			table[i * h + half + k] = cosf((float)i * wave);
		}
	return graph_constant(b->g, DTYPE_F32, 2, (int64_t[]){ n, h }, table);
}

// Query, key and value lie in one tensor, as torch's MultiheadAttention has them.
static graph_value attention(struct build *b, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value all = op_linear(
		g, x, WEIGHT(b, "layers.attn", "in_proj_weight", 3 * h, h), WEIGHT(b, "layers.attn", "in_proj_bias", 3 * h));
	graph_value y = op_attention(g,
		&(struct attention){ op_slice(g, all, 2, 0, h), op_slice(g, all, 2, h, 2 * h), op_slice(g, all, 2, 2 * h, 3 * h),
			.bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, h, h, true);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct sine_text *t = s->own;
	int64_t h = s->hidden_size;
	graph_enter(g, "embed");
	graph_value x = op_scale(g, embedding(b, "embed.word", io->ids, s->vocab_size, h), (float)t->scale);
	x = op_add(g, x, op_slice_to(g, sines(b), 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, io->ids, 1)));
	graph_leave(g);
	graph_value bias = mask_bidirectional(b, io->mask);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = op_add(g, x, attention(b, layer_norm(b, "layers.attn.norm", x, h), bias));
		x = op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h)));
		graph_leave(g);
		states_add(io, x);
	}
	io->last = layer_norm(b, "norm", x, h);
	graph_value real = op_cast(g, io->mask, DTYPE_F32), count = op_reduce_sum(g, real, 1, true);
	graph_value sum = op_reduce_sum(g, op_mul(g, io->last, op_unsqueeze(g, real, 2)), 1, false);
	io->pooled = op_div(g, sum, op_add(g, count, graph_f32(g, (float)t->epsilon)));
}

static void build(struct build *b)
{
	struct body io = { 0 };
	text_tower_inputs(b, &io);
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family sine_text = {
	.name = "text-tower-sines",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
};
