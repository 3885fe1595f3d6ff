// SPDX-License-Identifier: Apache-2.0
// SpeechT5 (Ao et al. 2022, https://arxiv.org/abs/2110.07205) as it writes down what it hears: wav2vec2's convolutions over the
// samples, layers whose queries meet learned vectors of distances (Shaw et al. 2018, https://arxiv.org/abs/1803.02155), and a
// decoder of text as BART's. Positions are sines. Each half's layers lie in "wrapped_encoder." or "wrapped_decoder.".
//
//   samples -> convolutions -> norm - linear -> + positions by convolution + sines -> norm -> layers
#include <math.h>

#include "arch/block/seq2seq.h"
#include "arch/block/sound.h"
#include "arch/family/speech.h"

static void inputs(struct build *b, struct body *io)
{
	int64_t shape[] = { graph_symbol(b->g, "batch"), graph_symbol(b->g, "samples") };
	io->features = graph_input(b->g, "input_values", DTYPE_F32, 2, shape);
	io->mask = graph_input(b->g, "attention_mask", DTYPE_I64, 2, shape);
}

static graph_value attend_near(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value q = linear(b, "layers.source.q", x, h, h, true), k = linear(b, "layers.source.k", x, h, h, true),
		    v = linear(b, "layers.source.v", x, h, h, true);
	graph_value bias = op_scale(g, sound_distance_bias(b, q, x, true), (float)s->attention_scale);
	graph_value y = op_attention(g,
		&(struct attention){
			q, k, v, .bias = op_add(g, bias, mask), .heads = s->heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.source.o", y, h, h, true);
}

static void encode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, n = sound_of(b)->feature_size;
	graph_enter(g, "stem");
	graph_value x = sound_stem(b, io->features), frames = sound_frames_to_last(b, x, sound_lengths(b, io->mask));
	x = linear(b, "features.project", layer_norm(b, "features.norm", x, n), n, h, true);
	x = op_add(g, x, sound_positions(b, x));
	// The class counts what is not padding as pad_token_id says, in a mask whose padding is 1.
	graph_value padding = op_cast(g, op_not(g, frames), DTYPE_I64);
	x = op_add(g, x, sines_of_tokens(b, io, op_not(g, op_equal(g, padding, graph_i64(g, s->pad_token_id)))));
	graph_leave(g);
	graph_value mask = mask_bidirectional(b, frames);
	x = layer_norm(b, "norm", x, h);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer_norm(b, "layers.source.norm", op_add(g, x, attend_near(b, x, mask)), h);
		x = op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x));
		x = layer_norm(b, "layers.ffn.norm", x, h);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

static void decode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	io->memory_mask = seq2seq_states_of(b, io, sound_lengths(b, io->memory_mask));
	graph_value is_token = op_not(g, op_equal(g, io->ids, graph_i64(g, b->s->pad_token_id)));
	seq2seq_layers(b, io, op_add(g, io->embeds, sines_of_tokens(b, io, is_token)), true, BIAS_ALL);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct sound *o = ARENA_NEW(a, struct sound);
	struct halves_sizes h = { 0 };
	s->own = o;
	resolve_halves_sizes(c, s, &h);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	s->embedding_scale = config_bool(c, "scale_embedding", false) ? sqrt((double)s->hidden_size) : 0;
	if (c->error.status)
		return;
	speech_resolve_stem(c, o, a);
	speech_resolve_positions(c, s, o);
	o->inner_eps = 1e-5;
	o->key_left = config_size(c, "encoder_max_relative_position", -1);
	o->key_right = o->key_left - 1;
	if (!c->error.status && (o->key_left < 1 || s->pad_token_id < 0 || !o->conv_count || o->position_layers))
		config_fail(c, STATUS_BAD_INPUT, "%lld relative positions, padding %lld", (long long)o->key_left,
			(long long)s->pad_token_id);
	if (c->error.status)
		return;
	resolve_halves(s, a, &h);
	part_of(s, "encoder")->prefix = arena_printf(a, "%sencoder.wrapped_encoder.", s->prefix);
	part_of(s, "decoder")->prefix = arena_printf(a, "%sdecoder.wrapped_decoder.", s->prefix);
}

static void build(struct build *b)
{
	struct seq2seq f = { .inputs = inputs, .encode = encode, .decode = decode, .masks_frames = true };
	f.embed_scale = (float)b->s->embedding_scale;
	seq2seq_build(b, &f);
}

static const struct family_head heads[] = { { &head_conditional, seq2seq_logits }, { 0 } };

const struct family speecht5 = {
	.name = "speecht5",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.heads = heads,
};
