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
	if (s->traits.embed.no_types)
		;
	else if (s->type_vocab_size > 1)
		x = op_add(g, x, embedding(b, "embed.type", types, s->type_vocab_size, s->embedding_size));
	else                                                                                                 // one type: a constant row
		x = op_add(g, x, embedding(b, "embed.type", graph_i64s(g, 1, (int64_t[]){ 0 }), s->type_vocab_size, s->embedding_size));
	value positions;
	if (s->traits.pos.from_pad)
		positions = embedding(b, "embed.position", positions_from_pad(b, ids), s->max_positions, s->embedding_size);
	else {
		value table = WEIGHT(b, "embed.position", "weight", s->max_positions, s->embedding_size);
		positions = op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, ids, 1)); // [seq, embedding]
	}
	x = layer_norm(b, "embed.norm", op_add(g, x, positions), s->embedding_size);
	if (s->embedding_size != s->hidden_size || s->traits.embed.always_projected)
		x = linear(b, "embed.project", x, s->embedding_size, s->hidden_size, true);
	graph_leave(g);
	return x;                                                                                            // [batch, seq, hidden]
}

static value layer(struct build *b, value x, value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	value y = self_attention(b, x, bias, NO_VALUE, NO_VALUE, true, true);
	x = layer_norm(b, "layers.attn.norm", op_add(g, y, x), s->hidden_size);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = activate(b, s->act, linear(b, "layers.ffn.up", x, s->hidden_size, s->ffn_size, true));           // [batch, seq, ffn]
	y = linear(b, "layers.ffn.down", y, s->ffn_size, s->hidden_size, true);
	x = layer_norm(b, "layers.ffn.norm", op_add(g, y, x), s->hidden_size);
	graph_leave(g);
	return x;
}

static void draw(struct build *b)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	value ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	value mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	value types = b->s->type_vocab_size > 1 ? graph_input(g, "token_type_ids", DTYPE_I64, 2, shape) : NO_VALUE;
	value x = embed(b, ids, types);
	value bias = mask_bidirectional(b, mask);                                                            // [batch, 1, 1, seq]
	if (b->s->traits.attn.relative_buckets)
		bias = mask_relative(b, bias, ids);
	for (b->layer = 0; b->layer < b->s->layers; b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, bias);
		graph_leave(g);
	}
	b->s->head->draw(b, x);
}

const struct family encoder = { "encoder", "encoder-only", draw };
