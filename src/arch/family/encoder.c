// SPDX-License-Identifier: Apache-2.0
// BERT and its kin: a bidirectional transformer, normalised behind each residual (Devlin et al. 2018,
// https://arxiv.org/abs/1810.04805; RoBERTa, https://arxiv.org/abs/1907.11692; ALBERT, https://arxiv.org/abs/1909.11942;
// ELECTRA, https://arxiv.org/abs/2003.10555; MPNet, https://arxiv.org/abs/2004.09297).
//
//   ids -> word + position + type -> norm (-> project) -> layers -> head
//   layer:  x -+- attention -(+)- norm -+- up - act - down -(+)- norm
//              +--------------+         +------------------+
#include <math.h>

#include "arch/block/block.h"

static value embed(struct build *b, value ids, value types)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "embed");
	value x = embedding(b, "embed.word", ids, s->vocab_size, s->embedding_size);                         // [batch, seq, embedding]
	if (s->traits.no_types)
		;
	else if (s->type_vocab_size > 1)
		x = op_add(g, x, embedding(b, "embed.type", types, s->type_vocab_size, s->embedding_size));
	else                                                                                                 // one type: a constant row
		x = op_add(g, x, embedding(b, "embed.type", graph_i64s(g, 1, (int64_t[]){ 0 }), s->type_vocab_size, s->embedding_size));
	value positions;
	if (s->traits.positions_from_pad)
		positions = embedding(b, "embed.position", positions_from_pad(b, ids), s->max_positions, s->embedding_size);
	else {
		value table = WEIGHT(b, "embed.position", "weight", s->max_positions, s->embedding_size);
		positions = op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, ids, 1)); // [seq, embedding]
	}
	x = layer_norm(b, "embed.norm", op_add(g, x, positions), s->embedding_size);
	if (s->embedding_size != s->hidden_size || s->traits.always_projected)
		x = linear(b, "embed.project", x, s->embedding_size, s->hidden_size, true);
	graph_leave(g);
	return x;                                                                                            // [batch, seq, hidden]
}

static value layer(struct build *b, value x, value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	value y = self_attention(b, x, bias, NO_VALUE, NO_VALUE, true, true, NULL);
	x = layer_norm(b, "layers.attn.norm", op_add(g, y, x), s->hidden_size);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = activate(b, s->act, linear(b, "layers.ffn.up", x, s->hidden_size, s->ffn_size, true));           // [batch, seq, ffn]
	y = linear(b, "layers.ffn.down", y, s->ffn_size, s->hidden_size, true);
	x = layer_norm(b, "layers.ffn.norm", op_add(g, y, x), s->hidden_size);
	graph_leave(g);
	return x;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	(void)a;
	resolve_transformer(c, s, false);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	value x = embed(b, io->ids, io->types);
	value bias = mask_bidirectional(b, io->mask);                                                        // [batch, 1, 1, seq]
	if (b->s->traits.relative_buckets)
		bias = mask_relative(b, bias, io->ids);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers; b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, bias);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

static void draw(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { 0 };
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	io.ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	io.types = b->s->type_vocab_size > 1 ? graph_input(g, "token_type_ids", DTYPE_I64, 2, shape) : NO_VALUE;
	body(b, &io);
	b->s->head->draw(b, io.last);
}

const struct family encoder = { "encoder", "encoder-only", resolve, draw, body, NULL, NULL };
