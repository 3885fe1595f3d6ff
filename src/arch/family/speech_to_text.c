// SPDX-License-Identifier: Apache-2.0
// Speech to text with convolutions that each halve the time, gated, before BART's layers; positions are sines (Wang et al. 2020,
// https://arxiv.org/abs/2010.05171). The mask that the encoder and the decoders take is that of the frames.
//
//   frames [batch, frames, bins] -> (conv / 2, a * sigmoid(b)) .. -> * sqrt(hidden) -> + sines -> layers -> norm
#include <math.h>

#include "arch/block/seq2seq.h"

struct speech_to_text { // of the whole and of both halves
	int64_t bins, channels, kernel[8];
	int convolutions;
	bool scaled;
};

static void inputs(struct build *b, struct body *io)
{
	const struct speech_to_text *o = b->s->own;
	int64_t shape[] = { graph_symbol(b->g, "batch"), graph_symbol(b->g, "sequence"), o->bins };
	io->features = graph_input(b->g, "input_features", DTYPE_F32, 3, shape);
	io->mask = graph_input(b->g, "attention_mask", DTYPE_I64, 2, shape);
}

// [batch, frames] of the sound becomes [batch, steps] of the states: each convolution leaves (n - 1) / 2 + 1 of n. steps: i64
// [1].
static graph_value fewer(struct build *b, graph_value mask, graph_value steps)
{
	struct graph *g = b->g;
	const struct speech_to_text *o = b->s->own;
	graph_value one = graph_f32(g, 1), n = op_cast(g, op_reduce_sum(g, mask, 1, true), DTYPE_F32); // [batch, 1]
	// In floats with a floor: OpenVINO keeps the halves of a chain of integer divisions (seen with three of them in 2026.4).
	for (int i = 0; i < o->convolutions; i++)
		n = op_add(g, op_floor(g, op_scale(g, op_sub(g, n, one), 0.5f)), one);
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, steps, 0), graph_i64(g, 1));
	return op_cast(g, op_less(g, op_unsqueeze(g, op_cast(g, at, DTYPE_F32), 0), n), DTYPE_I64); // [batch, steps]
}

static void encode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct speech_to_text *o = s->own;
	graph_enter(g, "stem");
	graph_value x = op_transpose(g, io->features, 3, (int[]){ 0, 2, 1 }); // [batch, bins, frames]
	for (b->layer = 0; b->layer < o->convolutions && !graph_failed(b->g); b->layer++) {
		int64_t in = b->layer ? o->channels / 2 : o->bins,
			out = b->layer < o->convolutions - 1 ? o->channels : 2 * s->hidden_size, k = o->kernel[b->layer];
		graph_value w = WEIGHT(b, "stem.conv", "weight", out, in, k);
		x = op_conv(g, x, w, WEIGHT(b, "stem.conv", "bias", out), (int64_t[]){ 2 }, (int64_t[]){ k / 2, k / 2 },
			(int64_t[]){ 1 }, 1);
		x = op_mul(g, op_slice(g, x, 1, 0, out / 2), op_sigmoid(g, op_slice(g, x, 1, out / 2, out)));
	}
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 }); // [batch, steps, hidden]
	x = op_scale(g, x, o->scaled ? (float)sqrt((double)s->hidden_size) : 1);
	io->mask = fewer(b, io->mask, op_dim(g, x, 1));
	// The class looks for padding where it is 1 and a state 0, whatever the padding token is.
	graph_value is_padding = op_equal(g, io->mask, graph_i64(g, 0));
	graph_value is_token = op_not(g, op_equal(g, op_cast(g, is_padding, DTYPE_I64), graph_i64(g, s->pad_token_id)));
	x = op_add(g, x, sines_of_tokens(b, io, is_token));
	graph_leave(g);
	seq2seq_layers(b, io, x, false, BIAS_ALL);
}

static void decode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	graph_value steps = io->memory.id ? op_dim(g, io->memory, 1) : op_dim(g, io->cross->past_key[0], 2);
	if (b->which == &seq2seq_merged) // the states are cut to nothing when the past has their keys
		steps = op_add(g, steps, op_dim(g, io->cross->past_key[0], 2));
	io->memory_mask = fewer(b, io->memory_mask, steps);
	graph_value is_token = op_not(g, op_equal(g, io->ids, graph_i64(g, b->s->pad_token_id)));
	seq2seq_layers(b, io, op_add(g, io->embeds, sines_of_tokens(b, io, is_token)), true, BIAS_ALL);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct speech_to_text *o = ARENA_NEW(a, struct speech_to_text);
	struct halves_sizes h = { 0 };
	s->own = o;
	resolve_halves_sizes(c, s, &h);
	s->max_positions = config_size(c, "max_target_positions", -1);
	o->scaled = config_bool(c, "scale_embedding", true);
	o->channels = config_size(c, "conv_channels", -1);
	o->bins = config_size(c, "input_feat_per_channel", -1) * config_size(c, "input_channels", 1);
	const json_t *kernels = config_get(c, "conv_kernel_sizes");
	o->convolutions = (int)json_array_size(kernels);
	bool bad = o->convolutions < 1 || o->convolutions > 8 ||
		o->convolutions != config_size(c, "num_conv_layers", o->convolutions) || o->channels < 2 || o->channels % 2 ||
		o->bins < 1 || s->pad_token_id < 0;
	for (int i = 0; i < o->convolutions && !bad; i++) {
		o->kernel[i] = json_integer_value(json_array_get(kernels, (size_t)i));
		bad = o->kernel[i] < 1;
	}
	if (bad)
		config_fail(c, STATUS_BAD_INPUT, "the sizes of the convolutions, or pad_token_id, do not go together");
	if (c->error.status)
		return;
	s->traits.norm_first = true;
	resolve_halves(s, a, &h);
}

static void build(struct build *b)
{
	const struct speech_to_text *o = b->s->own;
	struct seq2seq f = { .inputs = inputs, .encode = encode, .decode = decode, .masks_frames = true };
	if (o->scaled)
		f.embed_scale = (float)sqrt((double)b->s->hidden_size);
	seq2seq_build(b, &f);
}

const struct family speech_to_text = {
	.name = "speech-to-text",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.heads = seq2seq_speech_heads,
};
