// SPDX-License-Identifier: Apache-2.0
// A decoder's layer that looks at something else than the text, in the place of one that attends to it (Llama 3.2 Vision,
// https://arxiv.org/abs/2407.21783, section 7).
//
//   x -+- norm - attention to memory - tanh(gate) -(+)-+- norm - feed-forward -(rows)- tanh(gate) -(+)-
//      +--------------------------------------------+  +-------------------------------------------+
#include "arch/block/block.h"

// RMS norm over each head: x [batch, seq, heads * width] -> the same
static graph_value head_norm(struct build *b, const char *stem, graph_value x, int64_t heads, int64_t width)
{
	struct graph *g = b->g;
	x = rms_norm(b, stem, op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width }), width);
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, heads * width });
}

static graph_value gated(struct build *b, const char *stem, graph_value x)
{
	return op_mul(b->g, x, op_tanh(b->g, WEIGHT(b, stem, "", 1)));
}

static graph_value look(struct build *b, const struct body *io, graph_value x)
{
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, d = s->head_width, width = s->heads * d, kv_width = s->kv_heads * d;
	graph_value q = linear(b, "layers.crossing.q", x, h, width, false);
	graph_value k = linear(b, "layers.crossing.k", io->memory, h, kv_width, false);
	graph_value v = linear(b, "layers.crossing.v", io->memory, h, kv_width, false);
	graph_value y = op_attention(b->g,
		&(struct attention){ .q = head_norm(b, "layers.crossing.q_norm", q, s->heads, d),
			.k = head_norm(b, "layers.crossing.k_norm", k, s->kv_heads, d),
			.v = v,
			.bias = io->memory_bias,
			.heads = s->heads,
			.kv_heads = s->kv_heads,
			.scale = (float)s->attention_scale });
	return linear(b, "layers.crossing.o", y, width, h, false);
}

graph_value crossing_layer(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "crossing");
	graph_value y = look(b, io, norm(b, "layers.attn.norm", x, s->hidden_size));
	x = op_add(g, x, gated(b, "layers.crossing.attn_gate", y));
	graph_leave(g);
	graph_enter(g, "ffn");
	y = ffn_of(b, "layers.ffn", norm(b, "layers.ffn.norm", x, s->hidden_size), s->ffn_size, s->traits.ffn_bias);
	if (io->memory_rows.id)
		y = op_mul(g, y, io->memory_rows);
	x = op_add(g, x, gated(b, "layers.crossing.ffn_gate", y));
	graph_leave(g);
	return x;
}
