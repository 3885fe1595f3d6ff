// SPDX-License-Identifier: Apache-2.0
// LLaMA and its kin: a causal transformer with rotary positions, RMS norms before each branch and a gated feed-forward
// (Touvron et al. 2023, https://arxiv.org/abs/2302.13971; Mistral, https://arxiv.org/abs/2310.06825; Qwen2,
// https://arxiv.org/abs/2407.10671; Gemma 2, https://arxiv.org/abs/2408.00118). One forward pass over a prompt, without a cache.
//
//   ids -> tokens -> layers -> norm -> head
//   layer:  x -+- norm - attention -(norm)-(+)-+- norm - down(act(gate) * up) -(norm)-(+)-
//              +----------------------------+  +-----------------------------------+
#include <math.h>

#include "arch/block/block.h"

struct positions { value cos, sin, full, window; };      // window: NO_VALUE when no layer has one

static value layer(struct build *b, value x, const struct positions *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct traits *t = &s->traits;
	graph_enter(g, "attn");
	value y = rms_norm(b, "layers.attn.norm", x, s->hidden_size);
	y = self_attention(b, y, s->sliding[b->layer] ? p->window : p->full, p->cos, p->sin, t->attn.qkv_bias, t->attn.out_bias);
	if (t->norm.sandwich)
		y = rms_norm(b, "layers.attn.after", y, s->hidden_size);
	x = op_add(g, x, y);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = rms_norm(b, "layers.ffn.norm", x, s->hidden_size);
	value gate = activate(b, s->act, linear(b, "layers.ffn.gate", y, s->hidden_size, s->ffn_size, t->ffn.bias));
	y = op_mul(g, gate, linear(b, "layers.ffn.up", y, s->hidden_size, s->ffn_size, t->ffn.bias));        // [batch, seq, ffn]
	y = linear(b, "layers.ffn.down", y, s->ffn_size, s->hidden_size, t->ffn.bias);
	if (t->norm.sandwich)
		y = rms_norm(b, "layers.ffn.after", y, s->hidden_size);
	x = op_add(g, x, y);
	graph_leave(g);
	return x;
}

static void draw(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	value ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	value mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	value x = embedding(b, "embed.word", ids, s->vocab_size, s->hidden_size);                            // [batch, seq, hidden]
	if (s->traits.embed.scaled)
		x = op_scale(g, x, (float)sqrt((double)s->hidden_size));
	struct positions p = { 0 };
	rope_tables(b, ids, &p.cos, &p.sin);
	bool full = false, window = false;
	for (int64_t i = 0; i < s->layers; i++)
		*(s->sliding[i] ? &window : &full) = true;
	p.full = full ? mask_causal(b, mask, 0) : NO_VALUE;
	p.window = window ? mask_causal(b, mask, s->sliding_window) : NO_VALUE;
	for (b->layer = 0; b->layer < s->layers; b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &p);
		graph_leave(g);
	}
	s->head->draw(b, rms_norm(b, "norm", x, s->hidden_size));
}

const struct family decoder = { "decoder", "decoder-only", draw };
