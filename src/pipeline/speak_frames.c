// SPDX-License-Identifier: Apache-2.0
// SpeechT5: a text is read once, the decoder goes on frame by frame until it says that a frame was the last, what it gave is
// smoothed by the post-net, and a vocoder makes samples of it: generate_speech of transformers 5 (_generate_speech).
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "onnx/flow.h"
#include "pipeline/speak.h"

enum { STEPS_MOST = 1 << 16, PAST_MOST = 1 << 9, FIXED = 4 }; // FIXED: inputs of a step that are no past

struct speech {
	struct call *c;
	struct part *m;
	double threshold, least_ratio, most_ratio;
	int64_t seed;
	size_t bins, reduction, least, most; // steps
	size_t prenet;                       // numbers of prenet_kept for a frame; 0: all stay
	double dropout;
	struct tensor speaker, encoded, mask;
	struct tensor past[PAST_MOST]; // the next step's past_key_values.*
	size_t past_count;
	float *frames, *spectrum; // [most, bins], what steps read, the first zeros; [most * reduction, bins]
	size_t steps;             // made so far
	// Frames that each step reads: one behind its past; or, where the platform takes fixed shapes only, all of them without a
	// past, those that are not made yet as zeros, which no earlier one sees.
	size_t reads;
};

static int64_t sized(const struct part *m, const char *key, int64_t usual)
{
	const json_t *x = json_object_get(m->config, key);

	return json_is_integer(x) ? json_integer_value(x) : usual;
}

static enum status read_asked(struct speech *s, struct error *err)
{
	const json_t *dropout = json_object_get(s->m->config, "speech_decoder_prenet_dropout");
	enum status st;

	if ((st = option_real(s->c, "threshold", 0.5, &s->threshold, err)) ||
		(st = option_real(s->c, "minlenratio", 0, &s->least_ratio, err)) ||
		(st = option_real(s->c, "maxlenratio", 20, &s->most_ratio, err)) ||
		(st = option_integer(s->c, "seed", 0, INT64_MAX, 0, &s->seed, err)))
		return st;
	if (s->least_ratio < 0 || s->most_ratio < 0)
		return error_set(err, STATUS_BAD_INPUT, "minlenratio and maxlenratio are 0 or more");
	s->bins = (size_t)sized(s->m, "num_mel_bins", 80);
	s->reduction = (size_t)sized(s->m, "reduction_factor", 2);
	s->dropout = json_is_number(dropout) ? json_number_value(dropout) : 0.5;
	if (s->dropout > 0)
		s->prenet = (size_t)(sized(s->m, "speech_decoder_prenet_layers", 2) *
			sized(s->m, "speech_decoder_prenet_units", 256));
	if (!call_has(s->c, "speaker_embeddings"))
		return error_set(err, STATUS_BAD_INPUT,
			"the input has no speaker_embeddings, a safetensors file with the vector of a voice, [1,%lld]",
			(long long)sized(s->m, "speaker_embedding_dim", 512));
	if ((st = call_tensor(s->c, "speaker_embeddings", NULL, 2, &s->speaker, err)))
		return st;
	s->speaker.name = "speaker_embeddings";
	return s->speaker.dim[0] == 1 && s->speaker.dim[1] == sized(s->m, "speaker_embedding_dim", 512)
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "speaker_embeddings: not one vector of %lld",
			  (long long)sized(s->m, "speaker_embedding_dim", 512));
}

static enum status graph_of(const struct speech *s, const char *file, const struct arch_graph **out, struct error *err)
{
	*out = part_graph_named(s->m, file);
	return *out ? STATUS_OK : error_set(err, STATUS_UNSUPPORTED, "the model has no %s", file);
}

static enum status encode(struct speech *s, struct error *err)
{
	const struct arch_graph *encoder, *decoder;
	const struct tensor *states;
	struct encoding e;
	struct tensor *in, *out;
	const char *text;
	size_t n, count;
	enum status st;

	if ((st = call_text(s->c, "text", &text, err)) || (st = text_encode(s->m, s->c->a, text, NULL, NULL, &e, err)) ||
		(st = text_tensors(s->m, s->c->a, &e, &in, &n, err)) || (st = graph_of(s, "encoder_model.onnx", &encoder, err)) ||
		(st = graph_of(s, "decoder_model.onnx", &decoder, err)) ||
		(st = part_run(s->m, encoder, in, n, s->c->a, &out, &count, err)))
		return st;
	if (!(states = part_output(out, count, "last_hidden_state", 3, err)))
		return err->status;
	s->encoded = *states;
	s->encoded.name = "encoder_hidden_states";
	s->mask = in[1];
	s->mask.name = "encoder_attention_mask";
	double tokens = (double)states->dim[1], most = floor(tokens * s->most_ratio / (double)s->reduction),
	       least = floor(tokens * s->least_ratio / (double)s->reduction);
	if (fmax(most, least) > STEPS_MOST || (double)s->reduction * (double)s->bins > STEPS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "more than %d steps, or numbers a step", STEPS_MOST);
	s->most = (size_t)fmax(fmax(most, least), 1); // the first step is always made
	s->least = (size_t)least;
	s->reads = part_is_static(s->m, decoder) ? s->most : 1;
	s->frames = ARENA_ARRAY(s->c->a, (s->most + 1) * s->bins, float);
	s->spectrum = ARENA_ARRAY(s->c->a, s->most * s->reduction * s->bins, float);
	return STATUS_OK;
}

// Which numbers of the frames' prenet stay, each with the probability `dropout`, as in transformers: numbers of the seed in the
// order of steps, layers and units.
static struct tensor kept_of(const struct speech *s, struct arena *a)
{
	size_t count = s->reads * s->prenet, first = s->reads == 1 ? s->steps * s->prenet : 0;
	float *kept = ARENA_ARRAY(a, count + 1, float);
	int64_t units = sized(s->m, "speech_decoder_prenet_units", 256);

	for (size_t i = 0; i < count; i++)
		kept[i] = splitmix64_share(splitmix64((uint64_t)s->seed, first + i)) < s->dropout;
	return (struct tensor){ .name = "prenet_kept",
		.dtype = DTYPE_F32,
		.rank = 3,
		.dim = { (int64_t)s->reads, units > 0 ? (int64_t)s->prenet / units : 0, units },
		.data = kept,
		.nbytes = count * sizeof *kept };
}

// Keys and values that the step gave, in `a`; those of the encoder's states are given once.
static enum status keep_past(struct speech *s, struct arena *a, const struct tensor *out, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *next = flow_output(out[i].name) == FLOW_CACHE ? flow_next(a, out[i].name) : NULL;
		size_t at = 0;

		if (!next)
			continue;
		while (at < s->past_count && !text_is(s->past[at].name, next))
			at++;
		if (at == PAST_MOST)
			return error_set(err, STATUS_UNSUPPORTED, "a decoder with a past of more than %d tensors", PAST_MOST);
		s->past[at] = out[i];
		s->past[at].name = next;
		s->past_count += at == s->past_count;
	}
	return STATUS_OK;
}

// The frames of a step, and the sum of their probabilities to be the last.
static enum status take_frames(struct speech *s, const struct tensor *out, size_t count, double *stop, struct error *err)
{
	const struct tensor *frames = part_output(out, count, "spectrum", 3, err),
			    *prob = frames ? part_output(out, count, "prob", 3, err) : NULL;
	size_t at = s->reads == 1 ? 0 : s->steps, n = s->reduction * s->bins; // of the frame that was read
	float sum = 0;

	if (!prob)
		return err->status;
	if (frames->dim[1] != (int64_t)(s->reads * s->reduction) || prob->dim[1] != (int64_t)s->reads ||
		frames->dim[2] != (int64_t)s->bins || prob->dim[2] != (int64_t)s->reduction)
		return error_set(err, STATUS_FAILED, "the decoder gives no %zu frames of %zu", s->reduction, s->bins);
	memcpy(s->spectrum + s->steps * n, (const float *)frames->data + at * n, n * sizeof *s->spectrum);
	memcpy(s->frames + (s->steps + 1) * s->bins, (const float *)frames->data + (at + 1) * n - s->bins,
		s->bins * sizeof *s->frames);
	for (size_t i = 0; i < s->reduction; i++)
		sum += ((const float *)prob->data)[at * s->reduction + i];
	*stop = (double)sum;
	return STATUS_OK;
}

static enum status step(struct speech *s, const struct arch_graph *which, struct arena *a, double *stop, struct error *err)
{
	struct tensor in[FIXED + 1 + PAST_MOST] = { { .name = "output_sequence",
							    .dtype = DTYPE_F32,
							    .rank = 3,
							    .dim = { 1, (int64_t)s->reads, (int64_t)s->bins },
							    .data = s->frames + (s->reads == 1 ? s->steps * s->bins : 0),
							    .nbytes = s->reads * s->bins * sizeof *s->frames },
		s->speaker, s->mask, s->encoded, kept_of(s, a) },
				     *out;
	size_t count;
	enum status st;

	memcpy(in + FIXED + 1, s->past, s->past_count * sizeof *in);
	if ((st = part_run(s->m, which, in, FIXED + 1 + s->past_count, a, &out, &count, err)) ||
		(st = take_frames(s, out, count, stop, err)))
		return st;
	s->steps++;
	return s->reads == 1 ? keep_past(s, a, out, count, err) : STATUS_OK;
}

// The memory of the first step stays, that of others until the one after it.
static enum status decode(struct speech *s, struct error *err)
{
	const struct arch_graph *first, *next;
	struct arena memory[2] = { 0 };
	double stop = 0;
	enum status st;

	if ((st = graph_of(s, "decoder_model.onnx", &first, err)) ||
		(st = graph_of(s, "decoder_with_past_model.onnx", &next, err)) || (st = step(s, first, s->c->a, &stop, err)))
		return st;
	while (!st && (s->steps < s->least || (s->steps < s->most && stop < s->threshold))) {
		struct arena *a = &memory[s->steps % 2];

		arena_done(a);
		*a = (struct arena){ 0 };
		st = step(s, s->reads == 1 ? next : first, a, &stop, err);
		if (!st && s->c->p->watch)
			s->c->p->watch(s->c->p->watch_context, s->steps, s->most);
	}
	arena_done(&memory[0]);
	arena_done(&memory[1]);
	return st;
}

static enum status smooth(struct speech *s, const struct tensor **out, struct error *err)
{
	const struct arch_graph *postnet;
	struct tensor *given,
		in = { .name = "spectrogram",
			.dtype = DTYPE_F32,
			.rank = 3,
			.dim = { 1, (int64_t)(s->steps * s->reduction), (int64_t)s->bins },
			.data = s->spectrum,
			.nbytes = s->steps * s->reduction * s->bins * sizeof *s->spectrum };
	size_t count;
	enum status st;

	if ((st = graph_of(s, "decoder_postnet.onnx", &postnet, err)) ||
		(st = part_run(s->m, postnet, &in, 1, s->c->a, &given, &count, err)))
		return st;
	*out = part_output(given, count, "output_spectrogram", 3, err);
	return *out ? STATUS_OK : err->status;
}

static enum status sing(struct speech *s, const struct tensor *mel, struct pipeline_answer *out, struct error *err)
{
	struct tensor in = *mel, *given;
	const struct tensor *samples;
	struct part *vocoder;
	size_t count;
	int rate;
	enum status st = part_open(s->c->p, "vocoder", &vocoder, err);

	in.name = "spectrogram";
	if (st)
		return error_prefix(err, "a vocoder is needed in the folder vocoder/ (with \"output\": \"spectrogram\" none is)");
	if ((st = sampling_rate(vocoder, &rate, err)) ||
		(st = part_run(vocoder, &arch_whole, &in, 1, s->c->a, &given, &count, err)))
		return st;
	if (!(samples = part_output(given, count, "waveform", 2, err)))
		return err->status;
	answer_sound(s->c, out, samples, rate);
	return STATUS_OK;
}

enum status speak_frames(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err)
{
	struct speech s = { .c = c, .m = m };
	const struct tensor *mel;
	const char *wanted = "audio";
	enum status st;

	if (call_has(c, "output") && (st = call_text(c, "output", &wanted, err)))
		return st;
	if (!text_is(wanted, "audio") && !text_is(wanted, "spectrogram"))
		return error_set(err, STATUS_BAD_INPUT, "the input's output is audio or spectrogram");
	if ((st = read_asked(&s, err)) || (st = encode(&s, err)) || (st = decode(&s, err)) || (st = smooth(&s, &mel, err)))
		return st;
	if (text_is(wanted, "audio"))
		return sing(&s, mel, out, err);
	struct tensor plain = *mel; // [frames, bins]
	plain.rank = 2;
	plain.dim[0] = mel->dim[1];
	plain.dim[1] = mel->dim[2];
	out->json = json_pack("{s:o}", "spectrogram", answer_tensor(c, out, "spectrogram", &plain));
	return STATUS_OK;
}
