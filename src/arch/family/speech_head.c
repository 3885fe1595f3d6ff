// SPDX-License-Identifier: Apache-2.0
// Heads of speech encoders: letters for each frame, a class for each frame or for the whole, a vector for a voice (x-vectors,
// Snyder et al. 2018). The last three may read a learned mean of all layers' states.
#include "arch/block/sound.h"
#include "arch/family/speech.h"

// The states of all layers, weighed by a softmax: [batch, frames, hidden]
static graph_value weighed(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	int64_t n = b->s->layers_in_config + 1;
	graph_value w = op_softmax(g, WEIGHT(b, "head.layers", "", n), 0), sum = NO_VALUE;
	for (int64_t i = 0; i < io->state_count; i++) {
		graph_value part = op_mul(g, io->states[i], op_slice(g, w, 0, i, i + 1));
		sum = sum.id ? op_add(g, sum, part) : part;
	}
	return sum;
}

static graph_value lengths_of(struct build *b, const struct body *io) // f32 [batch]: frames after stem and adapter
{
	graph_value n = sound_lengths(b, io->mask);
	for (int64_t i = 0; i < sound_of(b)->adapter_layers; i++)
		n = sound_adapter_length(b, n);
	return n;
}

static graph_value sequence_of(struct build *b, const struct body *io, graph_value x)
{
	const struct spec *s = b->s;
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	x = linear(b, "head.projector", x, s->hidden_size, o->projector_size, true);
	graph_value lengths = lengths_of(b, io);
	graph_value frames = o->squeeze ? sound_frames(b, x, lengths, 1) : sound_frames_to_last(b, x, lengths); // [batch, frames]
	graph_value count = op_reduce_sum(g, op_cast(g, frames, DTYPE_F32), 1, true);                           // [batch, 1]
	graph_value mean = op_div(g, op_reduce_sum(g, sound_zeroed(b, x, frames), 1, false), count);
	return linear(b, "head.classifier", mean, o->projector_size, s->labels, true);
}

// Layers over kernels of frames, as linear layers over frames side by side; then mean and deviation of what no padding reached.
static void voice_of(struct build *b, const struct body *io, graph_value x)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t in = o->tdnn_dim[0], taken = 0;
	x = linear(b, "head.projector", x, b->s->hidden_size, in, true);
	for (b->layer = 0; b->layer < o->tdnn_count && !graph_failed(b->g); b->layer++) {
		int64_t k = o->tdnn_kernel[b->layer], step = o->tdnn_dilation[b->layer], out = o->tdnn_dim[b->layer];
		graph_value *part = GRAPH_TABLE(g, NULL, k + 1, 1, graph_value);
		for (int64_t i = 0; part && i < k && !graph_failed(g); i++)
			part[i] = op_slice(g, x, 1, i * step, i == k - 1 ? INT64_MAX : -(k - 1 - i) * step);
		x = op_relu(
			g, linear(b, "head.tdnn", graph_failed(g) ? NO_VALUE : op_concat(g, (int)k, part, 2), k * in, out, true));
		in = out, taken += k - 1;
	}
	graph_value lengths = op_sub(g, lengths_of(b, io), graph_f32(g, (float)taken));
	graph_value frames = op_cast(g, sound_frames(b, x, lengths, 1), DTYPE_F32); // [batch, frames]
	graph_value count = op_reduce_sum(g, frames, 1, true), weight = op_unsqueeze(g, frames, 2);
	graph_value mean = op_div(g, op_reduce_sum(g, op_mul(g, x, weight), 1, false), count);
	graph_value off = op_mul(g, op_sub(g, x, op_unsqueeze(g, mean, 1)), weight);
	graph_value square = op_reduce_sum(g, op_mul(g, off, off), 1, false);
	graph_value deviation = op_sqrt(g, op_div(g, square, op_sub(g, count, graph_f32(g, 1))));
	x = linear(b, "head.embed", op_concat(g, 2, (graph_value[]){ mean, deviation }, 1), 2 * in, o->xvector_size, true);
	graph_output(g, "logits", linear(b, "head.classifier", x, o->xvector_size, o->xvector_size, true));
	graph_output(g, "embeddings", x);
}

// What pre-training compares: the states, and the code vectors nearest to what the stem extracted, one of each group; how many
// code vectors are in use is the exponential of their entropy.
static void compare_codes(struct build *b, const struct body *io)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t groups = o->code_groups, codes = o->codes, width = o->code_size / groups;
	graph_output(g, "projected_states", linear(b, "head.project_states", io->last, b->s->hidden_size, o->code_out, true));
	graph_value x = linear(b, "head.quantizer", io->pooled, o->feature_size, groups * codes, true);
	x = op_argmax(g, op_reshape(g, x, 4, (int64_t[]){ 0, 0, groups, codes }), 3, false); // [batch, frames, groups]
	int64_t *first = GRAPH_TABLE(g, NULL, groups, 1, int64_t), *each = GRAPH_TABLE(g, NULL, codes, 1, int64_t);
	if (!first || !each)
		return;
	for (int64_t i = 0; i < groups; i++)
		first[i] = i * codes;
	for (int64_t i = 0; i < codes; i++)
		each[i] = i;
	graph_value table = op_reshape(
		g, WEIGHT(b, "head.quantizer.codes", "", 1, groups * codes, width), 2, (int64_t[]){ groups * codes, width });
	graph_value chosen =
		op_gather(g, table, op_add(g, x, graph_i64s(g, (int)groups, first)), 0); // [batch, frames, groups, width]
	chosen = op_reshape(g, chosen, 3, (int64_t[]){ 0, 0, o->code_size });
	graph_output(g, "projected_quantized_states", linear(b, "head.project_codes", chosen, o->code_size, o->code_out, true));
	graph_value is = op_cast(g, op_equal(g, op_unsqueeze(g, x, 3), graph_i64s(g, (int)codes, each)), DTYPE_F32);
	graph_value share = op_reduce_mean(g, op_reduce_mean(g, is, 0, false), 0, false); // [groups, codes]
	graph_value entropy = op_mul(g, share, op_log(g, op_max(g, share, graph_f32(g, 1e-30f))));
	graph_output(g, "codevector_perplexity",
		op_reduce_sum(g, op_exp(g, op_neg(g, op_reduce_sum(g, entropy, 1, false))), 0, false));
}

static void build_bare(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	if (sound_of(b)->gives_features)
		graph_output(b->g, "extract_features", io->pooled); // [batch, frames, feature]
}

static void build_ctc(struct build *b, const struct body *io)
{
	graph_enter(b->g, "head");
	graph_value logits = linear(b, "head.ctc", io->last, sound_of(b)->out_size, b->s->vocab_size, true);
	graph_leave(b->g);
	graph_output(b->g, "logits", logits); // [batch, frames, vocab]
}

static void build_pretraining(struct build *b, const struct body *io)
{
	if (!weight_named(b, "head.quantizer")) {
		head_unsupported(b);
		return;
	}
	graph_enter(b->g, "head");
	compare_codes(b, io);
	graph_leave(b->g);
}

static graph_value heard(struct build *b, const struct body *io)
{
	return sound_of(b)->weighted_sum ? weighed(b, io) : io->last;
}

static void build_sequence(struct build *b, const struct body *io)
{
	graph_enter(b->g, "head");
	graph_output(b->g, "logits", sequence_of(b, io, heard(b, io))); // [batch, labels]
	graph_leave(b->g);
}

static void build_frames(struct build *b, const struct body *io)
{
	graph_enter(b->g, "head");
	graph_output(b->g, "logits", linear(b, "head.classifier", heard(b, io), b->s->hidden_size, b->s->labels, true));
	graph_leave(b->g);
}

static void build_voice(struct build *b, const struct body *io)
{
	graph_enter(b->g, "head");
	voice_of(b, io, heard(b, io));
	graph_leave(b->g);
}

const struct family_head speech_heads[] = {
	{ &head_model, build_bare, SPEECH_ADAPTED },
	{ &head_ctc, build_ctc, SPEECH_ADAPTED | SPEECH_LETTERS },
	{ &head_pretraining, build_pretraining, SPEECH_ADAPTED | SPEECH_CODES },
	{ &head_sequence, build_sequence },
	{ &head_audio_frames, build_frames },
	{ &head_x_vector, build_voice, SPEECH_ADAPTED | SPEECH_VOICE },
	{ 0 },
};
