// SPDX-License-Identifier: Apache-2.0
// LLaMA and its kin: a causal transformer with rotary positions, RMS norms before each branch and a gated feed-forward
// (Touvron et al. 2023, https://arxiv.org/abs/2302.13971; Mistral, https://arxiv.org/abs/2310.06825; Qwen2,
// https://arxiv.org/abs/2407.10671; Gemma 2, https://arxiv.org/abs/2408.00118). Causal language models have a key-value cache;
// classifiers and bare models, which read a text once, have none.
//
//   ids -> tokens -> layers -> norm -> head
//   layer:  x -+- norm - attention -(norm)-(+)-+- norm - down(act(gate) * up) -(norm)-(+)-
//              +----------------------------+  +-----------------------------------+
#include <math.h>

#include "arch/block/block.h"

struct positions { value cos, sin, full, window; };      // window: NO_VALUE when no layer has one

static value layer(struct build *b, value x, const struct positions *p, struct cache *cache)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct traits *t = &s->traits;
	graph_enter(g, "attn");
	value y = rms_norm(b, "layers.attn.norm", x, s->hidden_size);
	y = self_attention(b, y, s->sliding[b->layer] ? p->window : p->full, p->cos, p->sin, t->qkv_bias, t->out_bias, cache);
	if (t->sandwich_norm)
		y = rms_norm(b, "layers.attn.after", y, s->hidden_size);
	x = op_add(g, x, y);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = rms_norm(b, "layers.ffn.norm", x, s->hidden_size);
	value gate = activate(b, s->act, linear(b, "layers.ffn.gate", y, s->hidden_size, s->ffn_size, t->ffn_bias));
	y = op_mul(g, gate, linear(b, "layers.ffn.up", y, s->hidden_size, s->ffn_size, t->ffn_bias));        // [batch, seq, ffn]
	y = linear(b, "layers.ffn.down", y, s->ffn_size, s->hidden_size, t->ffn_bias);
	if (t->sandwich_norm)
		y = rms_norm(b, "layers.ffn.after", y, s->hidden_size);
	x = op_add(g, x, y);
	graph_leave(g);
	return x;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, false);
	if (c->error.status)
		return;
	resolve_rope(c, s);
	resolve_window(c, s, a);
	bool bias = config_bool(c, "attention_bias", false);
	s->traits.qkv_bias |= bias;
	s->traits.out_bias |= bias;
	s->traits.ffn_bias |= config_bool(c, "mlp_bias", false);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	value x = io->embeds.id ? io->embeds : embedding(b, "embed.word", io->ids, s->vocab_size, s->hidden_size);   // [batch, seq, hidden]
	if (s->traits.scaled_embedding)
		x = op_scale(g, x, (float)sqrt((double)s->hidden_size));
	struct positions p = { 0 };
	rope_tables(b, x, io->positions, &p.cos, &p.sin);
	bool full = false, window = false;
	for (int64_t i = 0; i < s->layers; i++)
		*(s->sliding[i] ? &window : &full) = true;
	p.full = full ? mask_causal(b, io->mask, x, 0) : NO_VALUE;
	p.window = window ? mask_causal(b, io->mask, x, s->sliding_window) : NO_VALUE;
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers; b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &p, io->cache);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = rms_norm(b, "norm", x, s->hidden_size);
}

static void draw(struct build *b)
{
	struct body io = { 0 };
	decoder_inputs(b, &io);
	body(b, &io);
	b->s->head->draw(b, io.last);
	if (io.cache)
		cache_outputs(b, io.cache);
}

const struct family decoder = { "decoder", "decoder-only", resolve, draw, body, NULL, NULL };
