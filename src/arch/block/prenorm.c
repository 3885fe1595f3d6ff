// SPDX-License-Identifier: Apache-2.0
// The layer of CLIP's towers, and of most image transformers: layer norms before each branch, a feed-forward without gate.
//
//   x -+- norm - attention -(+)-+- norm - up - act - down -(+)-
//      +---------------------+  +---------------------------+
#include "arch/block/block.h"

graph_value prenorm_ffn(struct build *b, const char *up, const char *down, graph_value x)
{
	const struct spec *s = b->s;
	graph_value y = activate(b, s->act, linear(b, up, x, s->hidden_size, s->ffn_size, true)); // [.., ffn]
	return linear(b, down, y, s->ffn_size, s->hidden_size, true);
}

static graph_value layer(struct build *b, graph_value x, graph_value bias, graph_value cos, graph_value sin)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	graph_value y = layer_norm(b, "layers.attn.norm", x, s->hidden_size);
	x = op_add(g, self_attention(b, y, bias, cos, sin, true, true, NULL), x);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, s->hidden_size));
	x = op_add(g, y, x);
	graph_leave(g);
	return x;
}

graph_value prenorm_layer(struct build *b, graph_value x, graph_value bias)
{
	return layer(b, x, bias, NO_VALUE, NO_VALUE);
}

void prenorm_layers_rotary(struct build *b, struct body *io, graph_value x, graph_value bias, graph_value cos, graph_value sin)
{
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, bias, cos, sin);
		graph_leave(b->g);
		states_add(io, x);
	}
	io->last = x;
}

void prenorm_layers(struct build *b, struct body *io, graph_value x, graph_value bias)
{
	prenorm_layers_rotary(b, io, x, bias, NO_VALUE, NO_VALUE);
}
