// SPDX-License-Identifier: Apache-2.0
// automatic-speech-recognition by labels of frames (CTC): the text, its characters or words with their times, and long sounds in
// windows.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "pipeline/choose.h"
#include "answer/ctc.h"
#include "pipeline/pictures.h"
#include "pipeline/speech.h"

enum { WINDOWS_MOST = 1 << 14 };

struct listener {
	struct part *m;
	const json_t *settings; // of the feature extractor
	struct sound sound;
	size_t align; // samples a frame is made of
	struct ctc_labels labels;
	uint32_t *ids; // of all frames so far
	size_t frames, room;
};

// Samples a frame: the product of the convolutions' steps (inputs_to_logits_ratio); 1 where the model has none.
static size_t samples_of_frame(const json_t *config)
{
	const json_t *strides = json_object_get(config, "conv_stride"), *x;
	double product = 1;
	size_t i;

	json_array_foreach(strides, i, x) product *= (double)json_integer_value(x);
	return product >= 1 && product <= 1 << 20 ? (size_t)product : 1;
}

static enum status listener_open(struct call *c, struct listener *l, struct error *err)
{
	struct part *m = l->m;
	const json_t *config;
	const char *delimiter;
	struct tokenizer *t;
	int64_t pad;
	enum status st;

	if ((st = call_sound(c, m, &l->sound, &l->settings, err)) || (st = part_tokenizer(m, &t, err)) ||
		(st = part_json(m, "tokenizer_config.json", &config, err)))
		return st;
	l->align = samples_of_frame(m->config);
	if ((pad = part_special_id(m, "pad_token")) < 0)
		return error_set(
			err, STATUS_UNSUPPORTED, "%s: labels of frames without a pad_token, which is the blank", m->folder);
	l->labels.blank = (uint32_t)pad;
	delimiter = json_string_value(json_object_get(config, "word_delimiter_token"));
	delimiter = delimiter ? delimiter : "|";
	if (!tokenizer_id(t, delimiter, strlen(delimiter), &l->labels.delimiter))
		l->labels.delimiter = UINT32_MAX; // words are never parted
	return STATUS_OK;
}

static void add_frames(struct listener *l, struct arena *a, const uint32_t *ids, size_t count)
{
	if (l->frames + count > l->room) {
		size_t room = 2 * (l->frames + count);
		uint32_t *more = ARENA_ARRAY(a, room, uint32_t);

		if (l->frames)
			memcpy(more, l->ids, l->frames * sizeof *more);
		l->ids = more;
		l->room = room;
	}
	memcpy(l->ids + l->frames, ids, count * sizeof *ids);
	l->frames += count;
}

// The labels of the frames of a part of the sound, added to those before. `c` is of this part alone, `keep` of the whole answer.
static enum status listen(struct call *c, struct listener *l, const struct sound_window *w, struct arena *keep, struct error *err)
{
	struct sound part = l->sound;
	struct inputs in = { 0 };
	struct outputs given;
	const struct tensor *logits;
	size_t first = 0, end;
	enum status st;

	part.samples += w->begin;
	part.length = w->length;
	if ((st = sound_inputs(c, l->settings, &part, &in, err)) || (st = whole_run(c, l->m, &in, &given, err)) ||
		(st = output_of(&given, "logits", 3, &logits, err)))
		return st;
	size_t frames = (size_t)logits->dim[1];
	uint32_t *ids = ARENA_ARRAY(c->a, frames + 1, uint32_t);
	end = frames;
	if (w->left || w->right)
		sound_window_frames(w, l->align, frames, &first, &end);
	ctc_best(logits->data, frames, (size_t)logits->dim[2], ids);
	add_frames(l, keep, ids + first, end - first);
	return STATUS_OK;
}

// Seconds of an option to samples, a whole number of frames.
static size_t whole_frames(const struct listener *l, double seconds)
{
	return (size_t)(rint(seconds * l->sound.rate / (double)l->align) * (double)l->align);
}

// chunk_length_s, and stride_length_s: one number for both sides, or two; a sixth of the window.
static enum status window_options(struct call *c, const struct listener *l, size_t samples[3], struct error *err)
{
	const json_t *stride = json_object_get(c->options, "stride_length_s");
	double seconds[3];
	enum status st = option_real(c, "chunk_length_s", 0, &seconds[0], err);

	if (st)
		return st;
	seconds[1] = seconds[2] = seconds[0] / 6;
	for (size_t i = 0; i < 2 && json_is_array(stride); i++)
		seconds[1 + i] = json_number_value(json_array_get(stride, i));
	if (json_is_number(stride))
		seconds[1] = seconds[2] = json_number_value(stride);
	else if (stride && !json_is_null(stride) && json_array_size(stride) != 2)
		return error_set(err, STATUS_BAD_INPUT, "the option stride_length_s is a number of seconds, or two");
	for (int i = 0; i < 3; i++) {
		if (!(seconds[i] >= 0 && seconds[i] <= 86400))
			return error_set(err, STATUS_BAD_INPUT, "lengths of windows are 0 to 86400 seconds");
		samples[i] = whole_frames(l, seconds[i]);
	}
	return STATUS_OK;
}

static enum status listen_all(struct call *c, struct listener *l, struct error *err)
{
	size_t samples[3], count = 1;
	struct sound_window whole = { .length = l->sound.length };
	const struct sound_window *windows = &whole;
	enum status st = window_options(c, l, samples, err);

	if (st)
		return st;
	if (samples[0] && samples[1] + samples[2] >= samples[0])
		return error_set(err, STATUS_BAD_INPUT, "chunk_length_s must be above the two of stride_length_s together");
	if (samples[0] && l->sound.length / (samples[0] - samples[1] - samples[2]) >= WINDOWS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "a sound of more than %d windows", WINDOWS_MOST);
	if (samples[0])
		windows = sound_windows(c->a, l->sound.length, samples[0], samples[1], samples[2], &count);
	for (size_t i = 0; i < count && !st; i++) {
		struct arena brief = { 0 };
		struct call one = *c;

		one.a = &brief;
		st = listen(&one, l, &windows[i], c->a, err);
		arena_done(&brief);
	}
	return st;
}

static json_t *chunks_of(const struct listener *l, const struct ctc_pieces *pieces)
{
	double rate = l->sound.rate;
	json_t *list = json_array();

	for (size_t i = 0; i < pieces->count; i++) {
		const struct ctc_piece *p = &pieces->items[i];

		json_array_append_new(list,
			json_pack("{s:s, s:[f, f]}", "text", p->text, "timestamp", (double)(p->first * l->align) / rate,
				(double)(p->end * l->align) / rate));
	}
	return list;
}

enum status recognise_labels(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err)
{
	struct listener l = { .m = m };
	struct tokenizer *t;
	const char *stamps;
	char *text;
	size_t nbytes;
	enum status st;

	if ((st = option_text(c, "return_timestamps", NULL, &stamps, err)))
		return st;
	if (stamps && !text_is(stamps, "char") && !text_is(stamps, "word"))
		return error_set(err, STATUS_BAD_INPUT, "return_timestamps is char or word, not '%s'", stamps);
	if ((st = listener_open(c, &l, err)) || (st = listen_all(c, &l, err)) || (st = part_tokenizer(m, &t, err)) ||
		(st = tokenizer_decode_frames(t, c->a, l.ids, l.frames, false, &text, &nbytes, err)))
		return st;
	out->json = json_pack("{s:s%}", "text", text, nbytes);
	if (!stamps || !out->json)
		return STATUS_OK;
	const struct ctc_pieces pieces = text_is(stamps, "char") ? ctc_characters(c->a, t, &l.labels, l.ids, l.frames)
								 : ctc_words(c->a, t, &l.labels, l.ids, l.frames);
	json_object_set_new(out->json, "chunks", chunks_of(&l, &pieces));
	return STATUS_OK;
}

TASK(automatic_speech_recognition)
{
	struct part *m;
	const json_t *asked;
	enum status st = part_open(c->p, ".", &m, err);

	if (st)
		return st;
	if (text_is(arch_model_type(m->spec), "whisper"))
		return recognise_dictation(c, m, out, err);
	if (!text_is(arch_head(m->spec), "ctc"))
		return error_set(
			err, STATUS_UNSUPPORTED, "speech by a model of the head %s is not supported yet", arch_head(m->spec));
	if ((st = decoding_asked(c, DICTATION_OPTIONS, &asked, err)))
		return st;
	if (json_object_size(asked))
		return error_set(err, STATUS_BAD_INPUT, "options of a text that is written: this model gives labels of frames");
	return recognise_labels(c, m, out, err);
}
