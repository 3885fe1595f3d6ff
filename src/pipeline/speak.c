// SPDX-License-Identifier: Apache-2.0
// text-to-audio: a sound that says a text (TextToAudioPipeline). Here what its models have in common, and VITS.
#include "pipeline/speak.h"

#include <string.h>

#include "base/text.h"
#include "denoise/noise.h"

enum status sampling_rate(const struct part *m, int *out, struct error *err)
{
	enum { RATE_USUAL = 16000, RATE_MOST = 1000000 };
	const json_t *x = json_object_get(m->config, "sampling_rate");
	json_int_t rate = x ? json_integer_value(x) : RATE_USUAL;

	*out = (int)rate;
	return rate >= 1 && rate <= RATE_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "%s: config.json: sampling_rate is from 1 to %d", m->name, RATE_MOST);
}

void answer_sound(struct call *c, struct pipeline_answer *out, const struct tensor *samples, int rate)
{
	struct tensor audio = *samples;

	audio.rank = 1;
	audio.dim[0] = samples->dim[1];
	out->rate = rate;
	out->json = json_pack("{s:o, s:i}", "audio", answer_tensor(c, out, "audio", &audio), "sampling_rate", rate);
}

enum status call_tensor(const struct call *c, const char *key, const char *name, int rank, struct tensor *out, struct error *err)
{
	const struct weight *found = NULL;
	struct weight *stored;
	struct shard shard;
	const char *path;
	size_t count;
	enum status st = call_file(c, key, &path, err);

	if (st || (st = safetensors_open(c->a, path, &shard, &stored, &count, err)))
		return st;
	for (size_t i = 0; i < count; i++)
		if (name ? text_is(stored[i].name, name) : count == 1)
			found = &stored[i];
	if (!found || found->dtype != DTYPE_F32 || found->rank != rank || !found->nbytes)
		return error_set(
			err, STATUS_BAD_INPUT, "%s: no tensor %s of %d dimensions in F32", path, name ? name : "by itself", rank);
	*out = (struct tensor){ .name = name, .dtype = DTYPE_F32, .rank = rank, .nbytes = found->nbytes };
	out->data = arena_alloc(c->a, found->nbytes);
	memcpy(out->data, found->data, found->nbytes);
	memcpy(out->dim, found->dim, (size_t)rank * sizeof *out->dim);
	return all_finite(out) ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s: a number that is not finite", path);
}

// ---- VITS -------------------------------------------------------------------------------------------------------------------

enum { FRAMES_OF_TOKEN = 16, FRAMES_MOST = 1 << 18, VITS_INPUTS = 6 };

struct speaker {
	struct call *c;
	struct part *m;
	struct tensor in[VITS_INPUTS]; // ids, mask, types, speaker_id, duration_noise, noise
	int64_t seed, tokens, width;   // of a frame's noise
	bool is_given;                 // the noise is in a file
};

// Numbers of the seed from `first` on.
static struct tensor drawn(const struct speaker *s, const char *name, uint64_t first, int64_t rows, int64_t width)
{
	size_t n = (size_t)(rows * width);
	float *data = ARENA_ARRAY(s->c->a, n + 1, float);

	noise_normal((uint64_t)s->seed, first, data, n);
	return (struct tensor){
		.name = name, .dtype = DTYPE_F32, .rank = 3, .dim = { 1, rows, width }, .data = data, .nbytes = n * sizeof *data
	};
}

// That of the durations comes first, two numbers a token; then a frame's, one after the other.
static void draw_frames(struct speaker *s, int64_t frames)
{
	s->in[VITS_INPUTS - 1] = drawn(s, "noise", (uint64_t)(2 * s->tokens), frames, s->width);
}

static enum status read_noise(struct speaker *s, const struct part_graph *g, struct error *err)
{
	struct tensor *durations = &s->in[VITS_INPUTS - 2], *frames = &s->in[VITS_INPUTS - 1];
	enum status st = option_integer(s->c, "seed", 0, INT64_MAX, 0, &s->seed, err);

	s->is_given = call_has(s->c, "noise");
	if (st)
		return st;
	if (!s->is_given) {
		*durations = drawn(s, "duration_noise", 0, s->tokens, 2);
		draw_frames(s, FRAMES_OF_TOKEN * s->tokens);
		return STATUS_OK;
	}
	if ((part_takes(g, "noise") && (st = call_tensor(s->c, "noise", "noise", 3, frames, err))) ||
		(part_takes(g, "duration_noise") && (st = call_tensor(s->c, "noise", "duration_noise", 3, durations, err))))
		return st;
	if ((durations->name && (durations->dim[0] != 1 || durations->dim[1] != s->tokens || durations->dim[2] != 2)) ||
		(frames->name && (frames->dim[0] != 1 || frames->dim[2] != s->width)))
		return error_set(err, STATUS_BAD_INPUT, "noise is [1,frames,%lld], duration_noise [1,%lld,2] for this text",
			(long long)s->width, (long long)s->tokens);
	return STATUS_OK;
}

static enum status read_inputs(struct speaker *s, struct error *err)
{
	struct call *c = s->c;
	const json_t *width = json_object_get(s->m->config, "flow_size");
	int64_t *speaker = ARENA_NEW(c->a, int64_t);
	struct part_graph *g;
	struct encoding e;
	struct tensor *text;
	const char *words;
	size_t n;
	enum status st;

	if ((st = call_text(c, "text", &words, err)) || (st = text_encode(s->m, c->a, words, NULL, NULL, &e, err)) ||
		(st = text_tensors(s->m, c->a, &e, &text, &n, err)) || (st = part_graph(s->m, &arch_whole, NULL, 0, &g, err)) ||
		(st = option_integer(c, "speaker_id", 0, INT32_MAX, -1, speaker, err)))
		return st;
	json_int_t speakers = json_integer_value(json_object_get(s->m->config, "num_speakers"));
	if (*speaker >= 0 && *speaker >= (speakers > 1 ? speakers : 0))
		return error_set(err, STATUS_BAD_INPUT, "the option speaker_id: the model has %lld speakers to choose from",
			(long long)(speakers > 1 ? speakers : 0));
	memcpy(s->in, text, 3 * sizeof *text);
	s->in[3] = (struct tensor){
		.name = "speaker_id", .dtype = DTYPE_I64, .rank = 1, .dim = { 1 }, .data = speaker, .nbytes = sizeof *speaker
	};
	s->tokens = (int64_t)e.count;
	s->width = json_is_integer(width) ? json_integer_value(width) : 192;
	return read_noise(s, g, err);
}

static enum status run(struct speaker *s, const struct tensor **samples, int64_t *frames, struct error *err)
{
	const struct tensor *spectrogram;
	struct tensor *out;
	size_t count;
	enum status st = part_run(s->m, &arch_whole, s->in, VITS_INPUTS, s->c->a, &out, &count, err);

	if (st)
		return st;
	if (!(*samples = part_output(out, count, "waveform", 2, err)) ||
		!(spectrogram = part_output(out, count, "spectrogram", 3, err)))
		return err->status;
	*frames = spectrogram->dim[2];
	return STATUS_OK;
}

enum status speak_samples(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err)
{
	struct speaker s = { .c = c, .m = m };
	const struct tensor *samples;
	struct part_graph *g;
	int64_t frames;
	int rate;
	enum status st;

	if ((st = sampling_rate(m, &rate, err)) || (st = read_inputs(&s, err)) || (st = run(&s, &samples, &frames, err)) ||
		(st = part_graph(m, &arch_whole, NULL, 0, &g, err)))
		return st;
	int64_t there = s.in[VITS_INPUTS - 1].dim[1];
	if (part_takes(g, "noise") && frames > there) {
		if (s.is_given || frames > FRAMES_MOST)
			return error_set(err, STATUS_BAD_INPUT, "%lld frames, and noise for %lld", (long long)frames,
				(long long)(s.is_given ? there : FRAMES_MOST));
		draw_frames(&s, frames); // the durations, which say how many there are, stay
		if ((st = run(&s, &samples, &frames, err)))
			return st;
	}
	answer_sound(c, out, samples, rate);
	return STATUS_OK;
}

TASK(text_to_audio)
{
	static const struct {
		const char *type;
		enum status (*speak)(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err);
		const char *others; // inputs and options that are another type's, a space between
	} types[] = { { "vits", speak_samples, "speaker_embeddings output threshold minlenratio maxlenratio" },
		{ "speecht5", speak_frames, "noise speaker_id" } };
	struct part *m;
	const char *key;
	const json_t *value;
	enum status st = part_open(c->p, ".", &m, err);

	for (size_t i = 0; i < sizeof types / sizeof *types && !st; i++) {
		if (!text_is(arch_model_type(m->spec), types[i].type))
			continue;
		json_object_foreach(
			(json_t *)(uintptr_t)c->input, key, value) if (words_have(types[i].others, key)) return error_set(err,
			STATUS_BAD_INPUT, "a model of the type %s takes no %s", types[i].type, key);
		json_object_foreach(
			(json_t *)(uintptr_t)c->options, key, value) if (words_have(types[i].others, key)) return error_set(err,
			STATUS_UNSUPPORTED, "the option %s is none of a model of the type %s", key, types[i].type);
		return types[i].speak(c, m, out, err);
	}
	return st ? st
		  : error_set(err, STATUS_UNSUPPORTED, "sounds by a model of the type %s are not supported yet",
			    arch_model_type(m->spec));
}
