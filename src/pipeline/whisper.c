// SPDX-License-Identifier: Apache-2.0
// automatic-speech-recognition by an encoder and decoder that is told language and task by its first tokens (Whisper).
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "pipeline/choose.h"
#include "pipeline/pictures.h"
#include "pipeline/speech.h"

enum {
	PROMPT_MOST = 8,
	// Of AutomaticSpeechRecognitionPipeline, where neither who asks nor generation_config.json sets them.
	TOKENS_USUAL = 256,
	BEAMS_USUAL = 5,
};

struct dictation {
	struct call *c;
	struct part *m;
	struct inputs in;
	const json_t *file, *asked; // generation_config.json, generate_kwargs
	int64_t prompt[PROMPT_MOST];
	size_t length;
};

static const char *word_asked(const struct dictation *d, const char *key)
{
	const char *word = json_string_value(json_object_get(d->asked, key));

	return word ? word : json_string_value(json_object_get(d->file, key));
}

static void say(struct dictation *d, const json_t *id)
{
	if (json_is_integer(id) && d->length < PROMPT_MOST)
		d->prompt[d->length++] = json_integer_value(id);
}

// A prompt's place for it, and what it may be.
static void leave_language(struct dictation *d, const json_t *languages)
{
	int64_t *ids = ARENA_ARRAY(d->c->a, json_object_size(languages) + 1, int64_t);
	const json_t *id;
	const char *key;
	size_t count = 0;

	json_object_foreach((json_t *)(uintptr_t)languages, key, id) if (json_is_integer(id)) ids[count++] =
		json_integer_value(id);
	prompt_languages(d->c->p, ids, count);
	d->prompt[d->length++] = PIPELINE_LANGUAGE;
}

// The language that the first token is most likely followed by.
static enum status detect_language(struct dictation *d, struct error *err)
{
	const json_t *ids = json_object_get(d->file, "lang_to_id"), *id;
	const struct tensor *logits;
	struct inputs in = d->in;
	struct outputs given;
	const char *key;
	double most = -INFINITY;
	const json_t *best = NULL;
	struct tensor first = { .name = "decoder_input_ids",
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { 1, 1 },
		.data = d->prompt,
		.nbytes = sizeof *d->prompt };
	enum status st;

	if (d->c->p->prompt && json_object_size(ids)) {
		leave_language(d, ids);
		return STATUS_OK;
	}
	inputs_add(&in, &first, 1);
	if ((st = whole_run(d->c, d->m, &in, &given, err)) || (st = output_of(&given, "logits", 3, &logits, err)))
		return st;
	json_object_foreach((json_t *)(uintptr_t)ids, key, id)
	{
		int64_t at = json_integer_value(id);

		if (at >= 0 && at < logits->dim[2] && tensor_get(logits, (size_t)at) > most) {
			most = tensor_get(logits, (size_t)at);
			best = id;
		}
	}
	say(d, best);
	return best ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "generation_config.json: no language in lang_to_id");
}

// What older files say of the tokens behind the first one, where neither language nor task is named: [[1, null], [2, 50359], ..],
// null for a language that is to be heard.
static enum status say_forced(struct dictation *d, const json_t *forced, struct error *err)
{
	const json_t *pair;
	size_t i;
	enum status st = STATUS_OK;

	json_array_foreach(forced, i, pair)
	{
		const json_t *id = json_array_get(pair, 1);

		if (json_integer_value(json_array_get(pair, 0)) != (json_int_t)i + 1 || st)
			break;
		if (json_is_null(id))
			st = detect_language(d, err);
		else
			say(d, id);
	}
	return st;
}

static void say_once(struct dictation *d, const json_t *id)
{
	if (json_is_integer(id) && d->prompt[d->length - 1] != json_integer_value(id))
		say(d, id);
}

// <|startoftranscript|> <|en|> <|transcribe|> <|notimestamps|>: language and task where the model has several.
static enum status dictation_prompt(struct dictation *d, int64_t start, struct error *err)
{
	const json_t *languages = json_object_get(d->file, "lang_to_id"), *tasks = json_object_get(d->file, "task_to_id"),
		     *forced = json_object_get(d->file, "forced_decoder_ids");
	const char *language = word_asked(d, "language"), *task = word_asked(d, "task");
	enum status st = STATUS_OK;

	d->prompt[d->length++] = start;
	if (!language && !task && json_array_size(forced)) {
		if (!(st = say_forced(d, forced, err)))
			say_once(d, json_object_get(d->file, "no_timestamps_token_id"));
		return st;
	}
	if (language && languages) {
		const json_t *id = json_object_get(languages, arena_printf(d->c->a, "<|%s|>", language));

		id = id ? id : json_object_get(languages, language);
		if (!id)
			return error_set(
				err, STATUS_BAD_INPUT, "%s is no code of a language that the model has: en, de, ...", language);
		say(d, id);
	} else if (languages) {
		st = detect_language(d, err);
	}
	if (task && !json_object_get(tasks, task))
		return error_set(err, STATUS_BAD_INPUT, "%s is no task of the model's: transcribe, translate", task);
	say(d, json_object_get(tasks, task ? task : language ? "transcribe" : ""));
	say_once(d, json_object_get(d->file, "no_timestamps_token_id"));
	return st;
}

static bool is_set(const struct dictation *d, const char *key)
{
	return json_is_integer(json_object_get(d->asked, key)) || json_is_integer(json_object_get(d->file, key));
}

// What the pipeline and the class's own generate() do otherwise than generate(): several texts are followed, unless tokens are
// drawn, and max_length counts none of the first tokens.
static void set_usual(const struct dictation *d, struct decoding *how)
{
	const int64_t places = d->m->hints.max_sequence, length = (int64_t)d->length;

	if (!is_set(d, "num_beams") && !how->samples)
		how->beams = BEAMS_USUAL;
	if (!is_set(d, "max_length") || is_set(d, "max_new_tokens") || places < 1)
		return;
	how->max_length += length < places / 2 - 1 ? length : places / 2 - 1;
	how->max_length = how->max_length < places ? how->max_length : places;
	how->new_tokens = how->max_length - length;
}

enum status recognise_dictation(struct call *c, struct part *m, struct pipeline_answer *out, struct error *err)
{
	struct dictation d = { .c = c, .m = m };
	const json_t *settings;
	struct sound sound;
	struct decoding how;
	int64_t *ids;
	size_t count;
	char *text;
	enum status st;

	if (call_asked(c, "return_timestamps") || call_asked(c, "chunk_length_s") || call_asked(c, "stride_length_s"))
		return error_set(err, STATUS_UNSUPPORTED,
			"return_timestamps, chunk_length_s and stride_length_s of a model that writes the text (Whisper) are not "
			"supported yet: they are of labels of frames (CTC)");
	if ((st = decoding_asked(c, DICTATION_OPTIONS, &d.asked, err)) ||
		(st = part_json(m, "generation_config.json", &d.file, err)) || (st = call_sound(c, m, &sound, &settings, err)))
		return st;
	double most = json_number_value(json_object_get(settings, "chunk_length"));
	if (most > 0 && (double)sound.length > most * sound.rate)
		return error_set(err, STATUS_UNSUPPORTED, "a sound of %.1f seconds: more than %.0f are not supported yet",
			(double)sound.length / sound.rate, most);
	if ((st = sound_inputs(c, settings, &sound, &d.in, err)) || (st = decoding_read(m, c->a, d.asked, 1, 1, &how, err)) ||
		(st = dictation_prompt(&d, how.start, err)) ||
		(st = decoding_read(m, c->a, d.asked, (int64_t)d.length, TOKENS_USUAL, &how, err)))
		return st;
	set_usual(&d, &how);
	if ((st = generate_text(m, c->a, &how, d.prompt, d.in.items, d.in.count, &ids, &count, err)) ||
		(st = generated_decode(m, c->a, ids + d.length, count - d.length, &text, err)))
		return st;
	out->json = json_pack("{s:s}", "text", text);
	return STATUS_OK;
}
