// SPDX-License-Identifier: Apache-2.0
// GPTSAN-japanese (https://github.com/tanreinama/GPTSAN): a language model whose prefix is read both ways; layers with experts,
// then some without. Norms are on what a branch gives.
//
//   x -+- attention - norm -(+)-+- experts --------(+)- norm -(+)-
//      +---------------------+  +- linear - tanh ---+          |
//                               +------------------------------+
//
// A token goes to the expert it scores highest, which takes the first expert_capacity tokens of a text; who comes later stays as
// it is. Either is weighed by the score. The vector that may stand before a text ("spout") is not an input.
#include <float.h>

#include "arch/block/seq2seq.h"

struct gptsan {
	int64_t sparse, dense, width; // layers with experts, layers without, and the width of those
	int64_t capacity;
	bool biased; // the router
	struct moe moe;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct gptsan *o = s->own = ARENA_NEW(a, struct gptsan);
	const char *precision = config_text(c, "router_dtype");
	o->sparse = config_count(c, "num_switch_layers", 10);
	o->dense = config_count(c, "num_ext_layers", 0);
	resolve_transformer(c, s, false);
	s->act = ACT_RELU;
	o->width = config_size(c, "d_ext", 4096);
	o->capacity = config_size(c, "expert_capacity", 128);
	o->biased = config_bool(c, "router_bias", false);
	o->moe = (struct moe){ .experts = config_count(c, "num_experts", 16), .top_k = 1, .width = s->ffn_size };
	s->moe = &o->moe;
	resolve_experts(c, s, o->moe.experts, o->sparse);
	if (precision && !text_is(precision, "float32"))
		config_fail(c, STATUS_UNSUPPORTED, "router_dtype %s is not supported yet", precision);
	if (c->error.status)
		return;
	if (s->layers != o->sparse + o->dense)
		config_fail(c, STATUS_BAD_INPUT, "num_layers %lld: %lld with experts and %lld without", (long long)s->layers,
			(long long)o->sparse, (long long)o->dense);
	if (s->ffn_size < 1 || o->width < 1 || o->moe.experts < 1 || s->max_positions < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld experts of %lld, layers without of %lld, %lld positions",
			(long long)o->moe.experts, (long long)s->ffn_size, (long long)o->width, (long long)s->max_positions);
}

static graph_value experts(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct gptsan *o = b->s->own;
	int64_t n = o->moe.experts, *every = ARENA_ARRAY(graph_arena(g), (size_t)n, int64_t);
	for (int64_t i = 0; i < n; i++)
		every[i] = i;
	graph_value scores = op_softmax(g, linear(b, "layers.moe.router", x, b->s->hidden_size, n, o->biased), -1);
	graph_value chosen = op_equal(g, op_argmax(g, scores, -1, true), graph_i64s(g, (int)n, every)); // [batch, seq, experts]
	graph_value count = op_cumsum(g, op_cast(g, chosen, DTYPE_I64), 1);
	chosen = op_and(g, chosen, op_less_or_equal(g, count, graph_i64(g, o->capacity)));
	graph_value score = op_reduce_max(g, scores, -1, true), share = op_mul(g, op_cast(g, chosen, DTYPE_F32), score);
	graph_value left = op_sub(g, score, op_reduce_sum(g, share, -1, true));
	return op_add(g, weighed_experts(b, x, share), op_mul(g, x, left));
}

static graph_value layer(struct build *b, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct gptsan *o = s->own;
	int64_t h = s->hidden_size;
	x = op_add(g, x, layer_norm(b, "layers.attn.norm", attend(b, "layers.attn", x, x, bias, NULL, 0), h));
	graph_value y;
	if (b->layer < o->sparse)
		y = op_add(g, experts(b, x), op_tanh(g, linear(b, "layers.bypass", x, h, h, false)));
	else
		y = linear(b, "layers.ffn.down", op_silu(g, linear(b, "layers.ffn.up", x, h, o->width, true)), o->width, h, true);
	return op_add(g, x, layer_norm(b, "layers.ffn.norm", y, h));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct gptsan *o = s->own;
	int64_t h = s->hidden_size, shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) };
	b->ids = io.ids;
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	io.types = graph_input(g, "token_type_ids", DTYPE_I64, 2, shape); // 1: of the prefix, which all tokens see
	graph_value at = places_of(g, io.ids), zero = graph_i64(g, 0);
	graph_value seen = op_less_or_equal(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, at, 1));
	seen = op_or(g, seen, op_unsqueeze(g, op_unsqueeze(g, op_greater(g, io.types, zero), 1), 1));
	seen = op_and(g, seen, op_unsqueeze(g, op_unsqueeze(g, op_cast(g, io.mask, DTYPE_BOOL), 1), 1));
	graph_value bias = op_where(g, seen, graph_f32(g, 0), graph_f32(g, -FLT_MAX)); // [batch, 1, seq, seq]
	at = op_sub(g, at, op_argmax(g, io.mask, 1, true));                            // from the first token that counts
	at = op_max(g, op_min(g, at, graph_i64(g, s->max_positions - 1)), zero);       // [batch, seq]
	graph_value x = op_add(
		g, embedding(b, "embed.word", io.ids, s->vocab_size, h), embedding(b, "embed.position", at, s->max_positions, h));
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		if (b->layer == o->sparse)
			x = op_add(g, x, embedding(b, "embed.more_position", at, s->max_positions, h));
		x = layer(b, x, bias);
		graph_leave(g);
	}
	io.last = op_silu(g, linear(b, "project", x, h, h, true));
	head_build(b, &io);
}

static void give_logits(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value w = WEIGHT(b, s->tied ? "embed.word" : "head.lm.out", "weight", s->vocab_size, s->hidden_size);
	graph_value bias = op_reshape(b->g, WEIGHT(b, "head.lm.loose", "", 1, s->vocab_size), 1, &s->vocab_size);
	graph_output(b->g, "logits", op_linear_output(b->g, io->last, w, bias));
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_causal_lm, give_logits },
	{ 0 },
};

const struct family gptsan = {
	.name = "gptsan",
	.architecture = "decoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
