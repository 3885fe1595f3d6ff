// SPDX-License-Identifier: Apache-2.0
// Perceiver IO over text (Jaegle et al. 2021, https://arxiv.org/abs/2107.14795): a few learned latents look at the bytes of a
// text, then at each other, and learned queries, one for each place that there may be, look at them.
//
//   latents - look at [bytes + positions] -> blocks of layers -> queries look at them -> product with the bytes' embedding
//   layer:  q -+- norm - attention (to norm of the others) -(+)-+- norm - linear - act - linear -(+)-
//              +------------------------------------------------+  +----------------------------------+
#include <math.h>

#include "arch/block/block.h"

enum { DECODER_HEADS = 8, DECODER_QUERY = 256 }; // of the class, whatever the configuration says

struct perceiver_text {
	int64_t latents, blocks, each, cross_heads, query, value; // query and value: widths of all heads; 0: by the class's rule
	int64_t cross_wide, self_wide;
	bool cross_by_query, residual;
};

// The sizes of a layer.
struct sizes {
	int64_t heads, query, value, width, other, wide; // width: of what asks; other: of what it looks at
	bool residual;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct perceiver_text *o = s->own = ARENA_NEW(a, struct perceiver_text);
	s->hidden_size = config_size(c, "d_latents", -1);
	s->embedding_size = config_size(c, "d_model", -1);
	s->heads = s->kv_heads = config_size(c, "num_self_attention_heads", -1);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->max_positions = config_size(c, "max_position_embeddings", -1);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	s->norm_eps = 1e-5; // whatever layer_norm_eps says
	const char *shape = config_text(c, "cross_attention_shape_for_attention");
	*o = (struct perceiver_text){ .latents = config_size(c, "num_latents", -1),
		.blocks = config_count(c, "num_blocks", 1),
		.each = config_count(c, "num_self_attends_per_block", -1),
		.cross_heads = config_size(c, "num_cross_attention_heads", -1),
		.query = config_size(c, "qk_channels", 0),
		.value = config_size(c, "v_channels", 0),
		.cross_wide = config_size(c, "cross_attention_widening_factor", 1),
		.self_wide = config_size(c, "self_attention_widening_factor", 1),
		.cross_by_query = text_is(shape, "q"),
		.residual = config_bool(c, "use_query_residual", true) };
	int64_t query = o->query ? o->query : s->hidden_size, value = o->value ? o->value : query;
	s->layers = s->layers_in_config = o->each;
	if (!c->error.status &&
		(s->hidden_size < 1 || s->embedding_size < 1 || s->heads < 1 || o->cross_heads < 1 || query % s->heads ||
			value % s->heads || value != s->hidden_size || s->embedding_size % DECODER_HEADS || o->blocks < 1 ||
			o->each < 1 || o->blocks * o->each > CONFIG_COUNT_MOST || o->latents < 1 || o->cross_wide < 1 ||
			o->self_wide < 1 || s->max_positions < 1 || s->vocab_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld latents of %lld, %lld and %lld heads, values of %lld",
			(long long)o->latents, (long long)s->hidden_size, (long long)o->cross_heads, (long long)s->heads,
			(long long)value);
}

// q [batch, n, width] looks at `other` [batch, m, other], or at itself where there is none; bias may be NO_VALUE.
static graph_value layer(struct build *b, graph_value q, graph_value other, graph_value bias, const struct sizes *n)
{
	struct graph *g = b->g;
	graph_value asks = layer_norm(b, "attn.norm", q, n->width),
		    at = other.id ? layer_norm(b, "attn.other_norm", other, n->other) : asks;
	graph_value k = linear(b, "attn.k", at, n->other, n->query, true), v = linear(b, "attn.v", at, n->other, n->value, true);
	graph_value y = op_attention(g,
		&(struct attention){ linear(b, "attn.q", asks, n->width, n->query, true), k, v, .bias = bias, .heads = n->heads,
			.scale = (float)(1 / sqrt((double)(n->query / n->heads))) });
	y = linear(b, "attn.o", y, n->value, n->width, true);
	y = n->residual ? op_add(g, y, q) : y;
	graph_value z = linear(b, "ffn.up", layer_norm(b, "ffn.norm", y, n->width), n->width, n->wide * n->width, true);
	return op_add(g, linear(b, "ffn.down", activate(b, b->s->act, z), n->wide * n->width, n->width, true), y);
}

// A learned table for each text of a batch: [batch, rows, width]
static graph_value for_each(struct build *b, graph_value table, graph_value as)
{
	struct graph *g = b->g;
	graph_value shape[] = { op_dim(g, as, 0), op_shape(g, table) };
	return op_expand(g, op_unsqueeze(g, table, 0), op_concat(g, 2, shape, 0));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct perceiver_text *o = s->own;
	int64_t h = s->hidden_size, d = s->embedding_size;
	const int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "inputs", DTYPE_I64, 2, shape) };
	b->ids = io.ids;
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	graph_value x = embedding(b, "embed.word", io.ids, s->vocab_size, d);
	x = op_add(g, x, embedding(b, "embed.position", places_of(g, io.ids), s->max_positions, d));
	int64_t query = o->query ? o->query : o->cross_by_query ? h : d;
	struct sizes cross = { o->cross_heads, query, o->value ? o->value : query, h, d, o->cross_wide, o->residual };
	b->item_name = "encoder.cross_attention";
	graph_value latents = for_each(b, WEIGHT(b, "embed.latents", "", o->latents, h), io.ids);
	latents = layer(b, latents, x, mask_bidirectional(b, io.mask), &cross);
	query = o->query ? o->query : h;
	struct sizes own = { s->heads, query, o->value ? o->value : query, h, h, o->self_wide, true };
	for (int64_t i = 0; i < o->blocks * o->each && !graph_failed(g); i++) {
		graph_enter(g, "layers.%lld", (long long)i);
		b->item_name = arena_printf(graph_arena(g), "encoder.self_attends.%lld", (long long)(i % o->each));
		latents = layer(b, latents, NO_VALUE, NO_VALUE, &own);
		graph_leave(g);
	}
	struct sizes last = { DECODER_HEADS, DECODER_QUERY, d, d, h, 1, false };
	b->item_name = "decoder.decoding_cross_attention";
	graph_value places = for_each(b, WEIGHT(b, "embed.queries", "", s->max_positions, d), io.ids);
	io.last = layer(b, places, latents, NO_VALUE, &last);
	head_build(b, &io);
}

static void give_logits(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value w = WEIGHT(b, "embed.word", "weight", s->vocab_size, s->embedding_size);
	graph_output(b->g, "logits", op_linear_output(b->g, io->last, w, WEIGHT(b, "head.lm.out", "bias", s->vocab_size)));
}

static const struct family_head heads[] = { { &head_masked_lm, give_logits }, { 0 } };

const struct family perceiver_text = {
	.name = "perceiver-text",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
