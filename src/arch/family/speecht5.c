// SPDX-License-Identifier: Apache-2.0
// SpeechT5 (Ao et al. 2022, https://arxiv.org/abs/2110.07205), whose layers' queries meet learned vectors of distances (Shaw et
// al. 2018, https://arxiv.org/abs/1803.02155). Each half's layers lie in "wrapped_encoder." or "wrapped_decoder.".
//
// As it writes down what it hears: wav2vec2's convolutions over the samples, a decoder of text as BART's; positions are sines.
//   samples -> convolutions -> norm - linear -> + positions by convolution + sines -> norm -> layers
//
// As it says a text: the decoder reads frames of a spectrogram, N new ones behind P before them, and gives R others for each.
//   encoder_model.onnx             input_ids, attention_mask i64 [B,S]  ->  last_hidden_state [B,S,hidden]
//   decoder_model.onnx             output_sequence [B,N,bins], speaker_embeddings [B,voice], encoder_hidden_states
//                                  [B,S,hidden], encoder_attention_mask [B,S]  ->  spectrum [B,N*R,bins], prob [B,N,R] (of a
//                                  frame: it is the last), present.*
//   decoder_with_past_model.onnx   the same, past_key_values.* for encoder_hidden_states
//   decoder_postnet.onnx           spectrogram [B,F,bins]  ->  output_spectrogram [B,F,bins]
//   model.onnx                     input_ids, attention_mask, decoder_input_values [B,N,bins], speaker_embeddings  ->
//                                  spectrogram [B,N*R,bins], logits [B,N*R] (of prob), encoder_last_hidden_state
// The dropout in what reads frames is never switched off: which numbers stay is an input, prenet_kept f32 [N,layers,units], 1 or
// 0, unless the configuration has a dropout of 0.
//   frame -> [linear - relu - dropout] - linear -> + alpha * sines -> joined with the voice, of length 1 - linear - relu
#include <math.h>

#include "arch/block/seq2seq.h"
#include "arch/block/sound.h"
#include "arch/family/speech.h"

struct speecht5 {
	struct sound sound; // first: sound_of
	// as it says a text
	int64_t bins, reduction, voice; // of a frame, frames at once, of a speaker
	int64_t pre_layers, pre_width;
	double pre_dropout;
	struct sound_postnet post;
};

static const struct speecht5 *speecht5_of(const struct build *b)
{
	return b->s->own;
}

static bool speaks(const struct spec *s)
{
	return s->head == &head_speech;
}

// The loop over frames is text-to-audio's own.
static const struct arch_graph said_encoder = { "encoder_model.onnx", STEP_NONE, speaks },
			       said_first = { "decoder_model.onnx", STEP_NONE, speaks },
			       said_next = { "decoder_with_past_model.onnx", STEP_NONE, speaks },
			       said_postnet = { "decoder_postnet.onnx", STEP_NONE, speaks };
static const struct arch_graph *const graphs[] = { &seq2seq_encoder, &seq2seq_first, &seq2seq_next, &seq2seq_merged,
	&said_encoder, &said_first, &said_next, &said_postnet, NULL };
enum { SAID_FIRST = 4 };

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

static void encode_layers(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
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
	encode_layers(b, io, x, mask_bidirectional(b, frames));
}

static void decode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	io->memory_mask = seq2seq_states_of(b, io, sound_lengths(b, io->memory_mask));
	graph_value is_token = op_not(g, op_equal(g, io->ids, graph_i64(g, b->s->pad_token_id)));
	seq2seq_layers(b, io, op_add(g, io->embeds, sines_of_tokens(b, io, is_token)), true, BIAS_ALL);
}

// ---- as it says a text ----------------------------------------------------------------------------------------------------

// alpha * [sin, cos, sin, cos, ..] of places i64 [seq], by frequencies that fall from 1 to nearly 10^-4: [1, seq, hidden]
static graph_value scaled_sines(struct build *b, const char *alpha, graph_value places)
{
	struct graph *g = b->g;
	int64_t width = b->s->hidden_size, half = width / 2;
	graph_value x = op_unsqueeze(g, sines(b, places, width, half), 0);
	x = op_transpose(g, op_reshape(g, x, 4, (int64_t[]){ 0, 0, 2, half }), 4, (int[]){ 0, 1, 3, 2 });
	return op_mul(g, op_reshape(g, x, 3, (int64_t[]){ 0, 0, width }), weight(b, alpha, "", 0, NULL));
}

static void text_inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	graph_value ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	graph_enter(g, "embed");
	io->embeds = embedding(b, "embed.text", ids, b->s->vocab_size, b->s->hidden_size);
	io->embeds = op_add(g, io->embeds, scaled_sines(b, "embed.alpha", places_of(g, ids)));
	graph_leave(g);
}

static void encode_text(struct build *b, struct body *io)
{
	encode_layers(b, io, io->embeds, mask_bidirectional(b, io->mask));
}

static int64_t frames_symbol(struct build *b)
{
	return graph_symbol(b->g, b->which == &arch_whole ? "decoder_sequence" : "sequence");
}

static void frame_inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const char *name = b->which == &arch_whole ? "decoder_input_values" : "output_sequence";
	io->features = graph_input(
		g, name, DTYPE_F32, 3, (int64_t[]){ graph_symbol(g, "batch"), frames_symbol(b), speecht5_of(b)->bins });
}

// x [batch, seq, units] of layer b->layer; what is left out is 0, and the rest as much more. In transformers a number stays with
// the probability that the configuration calls dropout: of a dropout of 0 none does.
static graph_value some_of(struct build *b, graph_value kept, graph_value x)
{
	struct graph *g = b->g;
	if (!kept.id)
		return op_scale(g, x, 0);
	graph_value layer = op_squeeze(g, op_slice(g, kept, 1, b->layer, b->layer + 1), 1); // [seq, units]
	return op_scale(g, op_mul(g, x, layer), (float)(1 / (1 - speecht5_of(b)->pre_dropout)));
}

// What the layers read of frames: [batch, seq, hidden]
static graph_value read_frames(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct speecht5 *o = speecht5_of(b);
	int64_t h = b->s->hidden_size, in = o->bins;
	graph_value voice = graph_input(g, "speaker_embeddings", DTYPE_F32, 2, (int64_t[]){ graph_symbol(g, "batch"), o->voice }),
		    kept = NO_VALUE, x = io->features, query, key;
	if (o->pre_dropout > 0 && o->pre_layers)
		kept = graph_input(g, "prenet_kept", DTYPE_F32, 3, (int64_t[]){ frames_symbol(b), o->pre_layers, o->pre_width });
	for (b->layer = 0; b->layer < o->pre_layers && !graph_failed(g); b->layer++, in = o->pre_width)
		x = some_of(b, kept, op_relu(g, linear(b, "frame.in", x, in, o->pre_width, true)));
	x = linear(b, "frame.out", x, in, h, true);
	io->embeds = x;
	decoder_places(b, io, &query, &key);
	x = op_add(g, x, scaled_sines(b, "frame.alpha", op_squeeze(g, query, 1)));
	graph_value length = op_max(g, op_reduce_l2(g, voice, 1, true), graph_f32(g, 1e-12f));
	voice = op_unsqueeze(g, op_div(g, voice, length), 1); // [batch, 1, voice]
	graph_value shape = op_concat(g, 2, (graph_value[]){ op_slice(g, op_shape(g, x), 0, 0, 2), op_dim(g, voice, 2) }, 0);
	x = op_concat(g, 2, (graph_value[]){ x, op_expand(g, voice, shape) }, 2);
	return op_relu(g, linear(b, "frame.voice", x, h + o->voice, h, true));
}

static void decode_frames(struct build *b, struct body *io)
{
	graph_enter(b->g, "prenet");
	graph_value x = read_frames(b, io);
	graph_leave(b->g);
	seq2seq_layers(b, io, x, true, BIAS_ALL);
}

static void give_speech(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct speecht5 *o = speecht5_of(b);
	int64_t h = b->s->hidden_size;
	graph_value mel = linear(b, "head.speech.mel", io->last, h, o->bins * o->reduction, true);
	graph_value stop = linear(b, "head.speech.stop", io->last, h, o->reduction, true);
	mel = op_reshape(g, mel, 3, (int64_t[]){ 0, -1, o->bins });
	if (b->which == &arch_whole) {
		graph_output(g, "spectrogram", sound_after(b, mel, &o->post));
		graph_output(g, "logits", op_reshape(g, stop, 2, (int64_t[]){ 0, -1 }));
		return;
	}
	graph_output(g, "spectrum", mel);
	graph_output(g, "prob", op_sigmoid(g, stop));
}

static void build_postnet(struct build *b)
{
	struct graph *g = b->g;
	const struct speecht5 *o = speecht5_of(b);
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "frames"), o->bins };
	graph_value mel = graph_input(g, "spectrogram", DTYPE_F32, 3, shape);
	graph_output(g, "output_spectrogram", sound_after(b, mel, &o->post));
}

// ---- which ------------------------------------------------------------------------------------------------------------------

static void resolve_speaking(struct config *c, struct spec *s, struct speecht5 *o)
{
	o->bins = o->post.bins = config_size(c, "num_mel_bins", 80);
	o->reduction = config_size(c, "reduction_factor", 2);
	o->voice = config_size(c, "speaker_embedding_dim", 512);
	o->pre_layers = config_count(c, "speech_decoder_prenet_layers", 2);
	o->pre_width = config_size(c, "speech_decoder_prenet_units", 256);
	o->pre_dropout = config_real(c, "speech_decoder_prenet_dropout", 0.5);
	o->post.layers = config_count(c, "speech_decoder_postnet_layers", 5);
	o->post.width = config_size(c, "speech_decoder_postnet_units", 256);
	o->post.kernel = config_size(c, "speech_decoder_postnet_kernel", 5);
	s->max_positions = config_size(c, "max_text_positions", 450);
	if (!c->error.status &&
		(o->bins < 1 || o->reduction < 1 || o->voice < 1 || o->pre_width < 1 || o->post.width < 1 ||
			o->post.kernel % 2 != 1 || o->post.layers < 1 || !(o->pre_dropout >= 0 && o->pre_dropout < 1)))
		config_fail(c, STATUS_BAD_INPUT, "frames of %lld numbers, %lld at once, kernels of %lld, a dropout of %g",
			(long long)o->bins, (long long)o->reduction, (long long)o->post.kernel, o->pre_dropout);
}

static void resolve_hearing(struct config *c, struct spec *s, struct speecht5 *o, struct arena *a)
{
	speech_resolve_stem(c, &o->sound, a);
	speech_resolve_positions(c, s, &o->sound);
	if (!c->error.status && (s->pad_token_id < 0 || !o->sound.conv_count || o->sound.position_layers))
		config_fail(c, STATUS_BAD_INPUT, "no convolutions over samples, or padding %lld", (long long)s->pad_token_id);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct speecht5 *o = ARENA_NEW(a, struct speecht5);
	struct halves_sizes h = { 0 };
	s->own = o;
	resolve_halves_sizes(c, s, &h);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	s->embedding_scale = !speaks(s) && config_bool(c, "scale_embedding", false) ? sqrt((double)s->hidden_size) : 0;
	if (c->error.status)
		return;
	if (speaks(s))
		resolve_speaking(c, s, o);
	else
		resolve_hearing(c, s, o, a);
	o->sound.inner_eps = 1e-5;
	o->sound.key_left = config_size(c, "encoder_max_relative_position", -1);
	o->sound.key_right = o->sound.key_left - 1;
	if (!c->error.status && o->sound.key_left < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld relative positions", (long long)o->sound.key_left);
	if (c->error.status)
		return;
	resolve_halves(s, a, &h);
	part_of(s, "encoder")->prefix = arena_printf(a, "%sencoder.wrapped_encoder.", s->prefix);
	part_of(s, "decoder")->prefix = arena_printf(a, "%sdecoder.wrapped_decoder.", s->prefix);
}

static void build(struct build *b)
{
	struct seq2seq hears = { .inputs = inputs, .encode = encode, .decode = decode, .masks_frames = true },
		       says = { .inputs = text_inputs, .target = frame_inputs, .encode = encode_text, .decode = decode_frames };
	hears.embed_scale = (float)b->s->embedding_scale;
	says.graphs = graphs + SAID_FIRST;
	if (b->which == &said_postnet)
		build_postnet(b);
	else
		seq2seq_build(b, speaks(b->s) ? &says : &hears);
}

static const struct family_head heads[] = { { &head_conditional, seq2seq_logits }, { &head_speech, give_speech }, { 0 } };

const struct family speecht5 = {
	.name = "speecht5",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = graphs,
	.heads = heads,
};
