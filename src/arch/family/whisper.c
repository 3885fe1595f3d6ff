// SPDX-License-Identifier: Apache-2.0
// Whisper: an encoder-decoder that reads 30 seconds of sound as a log-mel spectrogram through two convolutions (Radford et al.
// 2022, https://arxiv.org/abs/2212.04356). The decoder looks at all of the encoder's states; keys have no bias.
//
//   mel [batch, bins, frames] -> conv, gelu -> conv / 2, gelu -> + positions -> layers -> norm
//   ids -> tokens + positions -> layers -> norm -> tokens, transposed
//
// The encoder is a model of its own too, for language models that hear; one type of it has rotary positions and the layers of
// a Llama, but for their norms.
#include "arch/block/seq2seq.h"
#include "arch/block/sound.h"
#include "arch/family/whisper.h"

enum { BIASES = BIAS_Q | BIAS_V | BIAS_O };

struct whisper {
	int64_t bins, project_size;
	int64_t source_positions; // 0: sound of any length
	bool weighted;            // the classifier reads a learned mix of all layers' states
};

void whisper_inputs(struct build *b, struct body *io, const char *batch, const char *mask)
{
	const struct whisper *w = b->s->own;
	int64_t frames = w->source_positions ? 2 * w->source_positions : graph_symbol(b->g, "frames");
	int64_t shape[] = { graph_symbol(b->g, batch), w->bins, frames };
	io->features = graph_input(b->g, "input_features", DTYPE_F32, 3, shape);
	if (mask)
		io->mask = graph_input(b->g, mask, DTYPE_I64, 2, (int64_t[]){ shape[0], frames });
}

static void inputs(struct build *b, struct body *io)
{
	whisper_inputs(b, io, "batch", NULL);
}

static graph_value convolve(struct build *b, const char *stem, graph_value x, int64_t in, int64_t stride)
{
	int64_t h = b->s->hidden_size;
	graph_value w = WEIGHT(b, stem, "weight", h, in, 3);
	x = op_conv(b->g, x, w, WEIGHT(b, stem, "bias", h), (int64_t[]){ stride }, (int64_t[]){ 1, 1 }, (int64_t[]){ 1 }, 1);
	return op_gelu(b->g, x);
}

static graph_value sound(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct whisper *w = b->s->own;
	graph_enter(g, "stem");
	graph_value x = convolve(b, "stem.first", io->features, w->bins, 1); // [batch, hidden, frames]
	x = convolve(b, "stem.second", x, b->s->hidden_size, 2);             // [batch, hidden, source]
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	if (w->source_positions)
		x = op_add(g, x, WEIGHT(b, "embed.position", "weight", w->source_positions, b->s->hidden_size));
	graph_leave(g);
	return x; // [batch, source, hidden]
}

static void encode(struct build *b, struct body *io)
{
	seq2seq_layers(b, io, sound(b, io), false, BIASES);
}

static void decode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	graph_value query, key;
	decoder_places(b, io, &query, &key);
	graph_value x =
		embedding(b, "embed.position", op_squeeze(g, query, 1), b->s->max_positions, b->s->hidden_size); // [seq, hidden]
	seq2seq_layers(b, io, op_add(g, io->embeds, x), true, BIASES);
}

// softmax(w) over the states before, between and after the layers, then the mean over time of a linear layer
static void classify(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct whisper *w = s->own;
	graph_value x = io->last;
	graph_enter(g, "head");
	if (w->weighted) {
		graph_value share = op_softmax(g, WEIGHT(b, "head.audio.weights", "", s->layers_in_config + 1), 0);
		for (int64_t i = 0; i < io->state_count; i++) {
			graph_value part = op_mul(g, io->states[i], op_slice(g, share, 0, i, i + 1));
			x = i ? op_add(g, x, part) : part;
		}
	}
	x = op_reduce_mean(g, linear(b, "head.audio.project", x, s->hidden_size, w->project_size, true), 1, false);
	x = linear(b, "head.audio.out", x, w->project_size, s->labels, true);
	graph_leave(g);
	graph_output(g, "logits", x); // [batch, labels]
}

static struct whisper *resolve_sound(struct config *c, struct spec *s, struct arena *a)
{
	struct whisper *w = ARENA_NEW(a, struct whisper);
	s->own = w;
	s->traits.norm_first = true;
	w->bins = config_size(c, "num_mel_bins", -1);
	w->source_positions = config_size(c, "max_source_positions", -1);
	if (!c->error.status && (w->bins < 1 || w->source_positions < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld mel bins over %lld positions", (long long)w->bins,
			(long long)w->source_positions);
	return w;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct halves_sizes h = { 0 };
	resolve_halves_sizes(c, s, &h);
	s->max_positions = config_size(c, "max_target_positions", -1);
	struct whisper *w = resolve_sound(c, s, a);
	w->project_size = config_size(c, "classifier_proj_size", 256);
	w->weighted = config_bool(c, "use_weighted_layer_sum", false);
	if (!c->error.status && w->project_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "a classifier %lld wide", (long long)w->project_size);
	if (c->error.status)
		return;
	bool classifies = head_how(s) & SEQ2SEQ_ENCODER_ONLY;
	if (classifies && !c->checkpoint->weight_count)
		s->prefix = "";
	resolve_halves(s, a, &h);
	if (classifies) {
		static const char *const decoder_names[] = { "*decoder.*", NULL };
		part_set(s, "decoder", NULL);
		s->unused = decoder_names;
	}
}

static void build(struct build *b)
{
	struct seq2seq f = { .inputs = inputs, .encode = encode, .decode = decode, .sees_all = true };
	seq2seq_build(b, &f);
}

static const struct family_head heads[] = {
	{ &head_conditional, seq2seq_logits },
	{ &head_model, head_give_last },
	{ &head_audio, classify, SEQ2SEQ_ENCODER_ONLY },
	{ 0 },
};

const struct family whisper = {
	.name = "whisper",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.heads = heads,
};

static void resolve_encoder(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, true);
	s->norm_eps = 1e-5;
	const struct whisper *w = resolve_sound(c, s, a);
	if (!c->error.status && (s->ffn_size < 1 || (TRAITS_OF(s, whisper_encoder)->paired_states && w->source_positions < 2)))
		config_fail(c, STATUS_BAD_INPUT, "%lld positions, a feed-forward %lld wide", (long long)w->source_positions,
			(long long)s->ffn_size);
	s->image_tokens = w->source_positions / (TRAITS_OF(s, whisper_encoder)->paired_states ? 2 : 1);
}

graph_value whisper_lengths(struct build *b, graph_value mask, int64_t of)
{
	struct graph *g = b->g;
	graph_value n = op_cast(g, op_reduce_sum(g, mask, 1, false), DTYPE_F32); // [batch]
	n = op_floor(g, op_scale(g, op_add(g, n, graph_f32(g, 1)), 0.5f));
	return of > 1 ? op_floor(g, op_div(g, n, graph_f32(g, (float)of))) : n;
}

static void encoder_body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x = sound(b, io);
	if (io->mask.id) // of frames; what follows wants one of states
		io->mask = sound_frames(b, x, whisper_lengths(b, io->mask, 1), 1);
	x = seq2seq_stack(b, io, x, false, BIASES);
	if (TRAITS_OF(s, whisper_encoder)->paired_states) {
		x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
		x = op_average_pool(g, x, 1, (int64_t[]){ 2 }, (int64_t[]){ 2 }, (int64_t[]){ 0, 0 }, false, false);
		x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 }); // [batch, source / 2, hidden]
	}
	io->last = layer_norm(b, "norm", x, s->hidden_size);
}

static void build_encoder(struct build *b)
{
	struct body io = { 0 };
	whisper_inputs(b, &io, "batch", TRAITS_OF(b->s, whisper_encoder)->masked ? "input_features_mask" : NULL);
	encoder_body(b, &io);
	head_build(b, &io);
}

static const struct family_head encoder_heads[] = { { &head_encoder }, { &head_model, head_give_last }, { 0 } };

const struct family whisper_encoder = {
	.name = "whisper-encoder",
	.architecture = "audio",
	.resolve = resolve_encoder,
	.build = build_encoder,
	.body = encoder_body,
	.heads = encoder_heads,
	.traits = FAMILY_TRAIT_LIST(whisper_encoder, WHISPER_ENCODER_TRAITS),
};

// ---- with rotary positions ----------------------------------------------------------------------------------------------

static void resolve_rotary(struct config *c, struct spec *s, struct arena *a)
{
	struct whisper *w = ARENA_NEW(a, struct whisper);
	resolve_transformer(c, s, true);
	s->norm_eps = 1e-5;
	s->own = w;
	w->bins = config_size(c, "num_mel_bins", -1);
	s->image_tokens = WHISPER_FRAMES / 2;
	resolve_rope(c, s, a);
	if (!c->error.status && (w->bins < 1 || s->ffn_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld mel bins, a feed-forward %lld wide", (long long)w->bins,
			(long long)s->ffn_size);
}

static graph_value rotary_attention(struct build *b, graph_value x, graph_value mask, graph_value cos, graph_value sin)
{
	const struct spec *s = b->s;
	int64_t width = s->heads * s->head_width, kv_width = s->kv_heads * s->head_width;
	graph_value q = linear(b, "layers.attn.q", x, s->hidden_size, width, true),
		    k = linear(b, "layers.attn.k", x, s->hidden_size, kv_width, false),
		    v = linear(b, "layers.attn.v", x, s->hidden_size, kv_width, true);
	q = rope_turn(b, q, cos, sin, s->heads);
	k = rope_turn(b, k, cos, sin, s->kv_heads);
	graph_value y = op_attention(b->g,
		&(struct attention){
			q, k, v, .bias = mask, .heads = s->heads, .kv_heads = s->kv_heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, width, s->hidden_size, true);
}

// Padding is not masked: such models were trained so.
static void rotary_body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value x = sound(b, io), cos, sin, y;
	rope_tables(b, x, NO_VALUE, &cos, &sin);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = op_add(g, x, rotary_attention(b, layer_norm(b, "layers.attn.norm", x, h), NO_VALUE, cos, sin));
		y = layer_norm(b, "layers.ffn.norm", x, h);
		x = op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", y));
		graph_leave(g);
		states_add(io, x);
	}
	io->last = layer_norm(b, "norm", x, h);
}

static void build_rotary(struct build *b)
{
	struct body io = { 0 };
	whisper_inputs(b, &io, "batch", NULL);
	rotary_body(b, &io);
	head_build(b, &io);
}

static void rotary_hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	out->symbols[0] = (struct input_symbol){ "frames", WHISPER_FRAMES };
}

const struct family whisper_rotary = {
	.name = "whisper-rotary",
	.architecture = "audio",
	.resolve = resolve_rotary,
	.build = build_rotary,
	.body = rotary_body,
	.hints = rotary_hints,
	.heads = encoder_heads,
};

// ---- for sound as it comes in -------------------------------------------------------------------------------------------

// Voxtral Realtime (mistralai/Voxtral-Mini-4B-Realtime-2602): convolutions and attention see what came
// before, no more than sliding_window states of it; RMS norms and a gated feed-forward.
static void resolve_causal(struct config *c, struct spec *s, struct arena *a)
{
	resolve_rotary(c, s, a);
	s->norm_eps = config_real(c, "rms_norm_eps", 1e-5);
	s->sliding_window = resolve_window_size(c);
}

static graph_value convolve_past(struct build *b, const char *stem, graph_value x, int64_t in, int64_t stride)
{
	int64_t h = b->s->hidden_size, kernel = 3;
	graph_value w = WEIGHT(b, stem, "weight", h, in, kernel);
	x = op_conv(b->g, x, w, WEIGHT(b, stem, "bias", h), &stride, (int64_t[]){ kernel - stride, 0 }, (int64_t[]){ 1 }, 1);
	return op_gelu(b->g, x);
}

static graph_value causal_ffn(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, n = s->ffn_size;
	graph_value gate = activate(b, s->act, linear(b, "layers.ffn.gate", x, h, n, false));
	return linear(b, "layers.ffn.down", op_mul(b->g, gate, linear(b, "layers.ffn.up", x, h, n, false)), n, h, true);
}

static void causal_body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct whisper *w = s->own;
	int64_t h = s->hidden_size;
	graph_enter(g, "stem");
	graph_value x = convolve_past(b, "stem.first", io->features, w->bins, 1), cos, sin;
	x = op_transpose(g, convolve_past(b, "stem.second", x, h, 2), 3, (int[]){ 0, 2, 1 }); // [batch, states, hidden]
	graph_leave(g);
	graph_value at = places_of(g, x), one = op_add(g, op_mul(g, at, graph_i64(g, 0)), graph_i64(g, 1));
	graph_value mask = mask_causal(b, op_unsqueeze(g, one, 0), x, s->sliding_window);
	rope_tables(b, x, NO_VALUE, &cos, &sin);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = op_add(g, x, rotary_attention(b, rms_norm(b, "layers.attn.norm", x, h), mask, cos, sin));
		x = op_add(g, x, causal_ffn(b, rms_norm(b, "layers.ffn.norm", x, h)));
		graph_leave(g);
		states_add(io, x);
	}
	io->last = rms_norm(b, "norm", x, h);
}

static void build_causal(struct build *b)
{
	struct body io = { 0 };
	whisper_inputs(b, &io, "batch", NULL);
	causal_body(b, &io);
	head_build(b, &io);
}

const struct family whisper_causal = {
	.name = "whisper-causal",
	.architecture = "audio",
	.resolve = resolve_causal,
	.build = build_causal,
	.body = causal_body,
	.hints = rotary_hints,
	.heads = encoder_heads,
};
