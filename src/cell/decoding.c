// SPDX-License-Identifier: Apache-2.0
// Settings of a generation, and what becomes of the scores before a token is chosen.
#include "cell/decoding.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

// ---- settings ---------------------------------------------------------------------------------------------------------------

enum { TOP_K_USUAL = 50 };

struct settings {
	struct arena *a;
	const json_t *options, *file; // what was asked for; what the model's file says
	struct error *err;
	enum status st; // sticky
};

static const json_t *setting(const struct settings *s, const char *key)
{
	const json_t *x = json_object_get(s->options, key);

	x = x && !json_is_null(x) ? x : json_object_get(s->file, key);
	return json_is_null(x) ? NULL : x;
}

static void refuse(struct settings *s, enum status st, const char *key, const char *what)
{
	if (!s->st)
		s->st = error_set(s->err, st, "%s %s", key, what);
}

static int64_t whole(struct settings *s, const char *key, int64_t least, int64_t most, int64_t otherwise)
{
	const json_t *x = setting(s, key);

	if (x && (!json_is_integer(x) || json_integer_value(x) < least || json_integer_value(x) > most))
		refuse(s, STATUS_BAD_INPUT, key, "is no whole number, or out of bounds");
	return x && !s->st ? json_integer_value(x) : otherwise;
}

static double real(struct settings *s, const char *key, double otherwise)
{
	const json_t *x = setting(s, key);

	if (x && (!json_is_number(x) || !isfinite(json_number_value(x))))
		refuse(s, STATUS_BAD_INPUT, key, "is no number");
	return x && !s->st ? json_number_value(x) : otherwise;
}

// One id, or a list.
static struct token_list list_of(struct settings *s, const char *key, const json_t *x)
{
	size_t count = json_is_array(x) ? json_array_size(x) : x ? 1 : 0;
	struct token_list out = { ARENA_ARRAY(s->a, count + 1, int64_t), count };

	for (size_t i = 0; i < count; i++) {
		const json_t *id = json_is_array(x) ? json_array_get(x, i) : x;
		if (!json_is_integer(id))
			refuse(s, STATUS_BAD_INPUT, key, "has something that is no id");
		out.ids[i] = json_integer_value(id);
	}
	return out;
}

static void read_bad_words(struct settings *s, struct decoding *out)
{
	const json_t *all = setting(s, "bad_words_ids"), *one;
	size_t i;

	out->bad_words = ARENA_ARRAY(s->a, json_array_size(all) + 1, struct token_list);
	json_array_foreach(all, i, one)
	{
		out->bad_words[i] = list_of(s, "bad_words_ids", one);
		out->bad_word_count += out->bad_words[i].count > 0;
	}
	if (out->bad_word_count != json_array_size(all))
		refuse(s, STATUS_BAD_INPUT, "bad_words_ids", "has an empty list");
}

// What changes a text, and is not there: left out it would be another text.
static void refuse_others(struct settings *s)
{
	static const struct {
		const char *key;
		double usual; // a value that changes nothing
	} others[] = { { "encoder_no_repeat_ngram_size", 0 }, { "num_beam_groups", 1 }, { "penalty_alpha", 0 },
		{ "guidance_scale", 1 }, { "encoder_repetition_penalty", 1 }, { "diversity_penalty", 0 },
		{ "num_return_sequences", 1 }, { "exponential_decay_length_penalty", NAN }, { "sequence_bias", NAN },
		{ "stop_strings", NAN }, { "constraints", NAN }, { "force_words_ids", NAN }, { "watermarking_config", NAN },
		{ "token_healing", 0 }, { "dola_layers", NAN }, { "max_time", NAN } };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		const json_t *x = setting(s, others[i].key);
		if (x && !(json_is_number(x) && json_number_value(x) == others[i].usual) && !json_is_false(x))
			refuse(s, STATUS_UNSUPPORTED, others[i].key, "is not supported yet");
	}
}

static double share(struct settings *s, const char *key, double usual)
{
	double x = real(s, key, usual);

	if (!(x >= 0 && x <= 1))
		refuse(s, STATUS_BAD_INPUT, key, "is from 0 to 1");
	return x;
}

// transformers 5 has the usual numbers: top_k is 50.
static void read_sampling(struct settings *s, struct decoding *out)
{
	static const char *const words[] = { "seed", "temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff",
		"eta_cutoff" };
	const json_t *asked = json_object_get(s->options, "do_sample");
	struct sampling *p = &out->sampling;

	if (asked && !json_is_boolean(asked) && !json_is_null(asked))
		refuse(s, STATUS_BAD_INPUT, "do_sample", "is true or false");
	out->samples = json_is_true(asked);
	for (size_t i = 0; !out->samples && i < sizeof words / sizeof *words; i++) {
		const json_t *x = json_object_get(s->options, words[i]);
		if (x && !json_is_null(x))
			refuse(s, STATUS_BAD_INPUT, words[i], "changes nothing without do_sample=true");
	}
	if (!out->samples)
		return;
	p->seed = whole(s, "seed", 0, INT64_MAX, 0);
	p->temperature = real(s, "temperature", 1);
	p->top_k = whole(s, "top_k", 0, INT32_MAX, TOP_K_USUAL);
	p->top_p = share(s, "top_p", 1);
	p->min_p = share(s, "min_p", 0);
	p->typical_p = share(s, "typical_p", 1);
	p->epsilon = share(s, "epsilon_cutoff", 0);
	p->eta = share(s, "eta_cutoff", 0);
	if (!(p->temperature > 0))
		refuse(s, STATUS_BAD_INPUT, "temperature", "is above 0");
	if (!(p->typical_p > 0))
		refuse(s, STATUS_BAD_INPUT, "typical_p", "is above 0");
	if (out->beams > 1)
		refuse(s, STATUS_UNSUPPORTED, "do_sample", "with num_beams is not supported yet");
	if (setting(s, "top_h"))
		refuse(s, STATUS_UNSUPPORTED, "top_h", "is not supported yet");
}

static void read_lengths(struct settings *s, int64_t places, int64_t usual, struct decoding *out)
{
	int64_t asked = whole(s, "max_new_tokens", 1, NEW_TOKENS_MOST, 0), length = whole(s, "max_length", 1, NEW_TOKENS_MOST, 0),
		room = places > 0 ? places - out->prompt_length : NEW_TOKENS_MOST;

	if (!asked && length && length <= out->prompt_length)
		refuse(s, STATUS_BAD_INPUT, "max_length", "is no more than the prompt has");
	out->new_tokens = asked ? asked : length > out->prompt_length ? length - out->prompt_length : usual;
	if (!asked && out->new_tokens > room)
		out->new_tokens = room;
	if (room < 1 || (asked && asked > room + 1))
		refuse(s, STATUS_BAD_INPUT, "the prompt", "and the new tokens are more than the model has places for");
	out->max_length = out->prompt_length + out->new_tokens;
	out->min_length = whole(s, "min_length", 0, NEW_TOKENS_MOST, 0);
	out->min_new_tokens = whole(s, "min_new_tokens", 0, NEW_TOKENS_MOST, 0);
	if (setting(s, "min_new_tokens")) // it goes over min_length, as in transformers
		out->min_length = out->prompt_length + out->min_new_tokens;
}

static void read_early(struct settings *s, struct decoding *out)
{
	const json_t *x = setting(s, "early_stopping");

	out->early = json_is_true(x) ? STOP_EARLY : json_is_string(x) ? STOP_NEVER : STOP_HEURISTIC;
	if (json_is_string(x) && !text_is(json_string_value(x), "never"))
		refuse(s, STATUS_BAD_INPUT, "early_stopping", "is true, false or \"never\"");
}

enum status decoding_settle(struct decoding *out, struct arena *a, const struct decoding_source *from, int64_t prompt_length,
	int64_t usual, struct error *err)
{
	struct settings s = { .a = a, .options = from->options, .file = from->file, .err = err };

	*out = (struct decoding){ .prompt_length = prompt_length };
	refuse_others(&s);
	read_lengths(&s, from->places, usual, out);
	read_early(&s, out);
	read_bad_words(&s, out);
	out->beams = whole(&s, "num_beams", 1, BEAMS_MOST, 1);
	read_sampling(&s, out);
	out->ngram = whole(&s, "no_repeat_ngram_size", 0, NEW_TOKENS_MOST, 0);
	out->repetition_penalty = real(&s, "repetition_penalty", 1);
	out->length_penalty = real(&s, "length_penalty", 1);
	out->forced_bos = whole(&s, "forced_bos_token_id", 0, INT32_MAX, -1);
	out->forced_eos = whole(&s, "forced_eos_token_id", 0, INT32_MAX, -1);
	out->start = whole(&s, "decoder_start_token_id", 0, INT32_MAX, -1);
	if (out->start < 0)
		out->start = whole(&s, "bos_token_id", 0, INT32_MAX, -1);
	out->eos = list_of(&s, "eos_token_id", setting(&s, "eos_token_id"));
	out->suppress = list_of(&s, "suppress_tokens", setting(&s, "suppress_tokens"));
	out->begin_suppress = list_of(&s, "begin_suppress_tokens", setting(&s, "begin_suppress_tokens"));
	if (!(out->repetition_penalty > 0))
		refuse(&s, STATUS_BAD_INPUT, "repetition_penalty", "is above 0");
	return s.st;
}

// ---- scores -----------------------------------------------------------------------------------------------------------------

bool decoding_ends(const struct decoding *d, int64_t id)
{
	for (size_t i = 0; i < d->eos.count; i++)
		if (d->eos.ids[i] == id)
			return true;
	return false;
}

static void never(const struct token_list *list, double *scores, int64_t vocab)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->ids[i] >= 0 && list->ids[i] < vocab)
			scores[list->ids[i]] = -INFINITY;
}

// Every token of the text once.
static void penalise(double penalty, const int64_t *text, int64_t length, double *scores, bool *seen, int64_t vocab)
{
	for (int64_t i = 0; i < length; i++) {
		int64_t id = text[i];
		if (id < 0 || id >= vocab || seen[id])
			continue;
		seen[id] = true;
		scores[id] = scores[id] < 0 ? scores[id] * penalty : scores[id] / penalty;
	}
	for (int64_t i = 0; i < length; i++)
		if (text[i] >= 0 && text[i] < vocab)
			seen[text[i]] = false;
}

// No n tokens in a row twice: what came after the same n - 1 before.
static void forbid_repeats(int64_t n, const int64_t *text, int64_t length, double *scores, int64_t vocab)
{
	for (int64_t i = 0; i + n <= length; i++) {
		int64_t id = text[i + n - 1];
		if (id >= 0 && id < vocab && !memcmp(text + i, text + length - (n - 1), (size_t)(n - 1) * sizeof *text))
			scores[id] = -INFINITY;
	}
}

static void forbid_words(const struct decoding *d, const int64_t *text, int64_t length, double *scores, int64_t vocab)
{
	for (size_t i = 0; i < d->bad_word_count; i++) {
		const struct token_list *w = &d->bad_words[i];
		int64_t before = (int64_t)w->count - 1, last = w->ids[before];
		if (last >= 0 && last < vocab && before <= length &&
			!memcmp(text + length - before, w->ids, (size_t)before * sizeof *text))
			scores[last] = -INFINITY;
	}
}

static void force(int64_t id, double *scores, int64_t vocab)
{
	for (int64_t i = 0; i < vocab; i++)
		scores[i] = i == id ? 0 : -INFINITY;
}

void decoding_process(const struct decoding *d, const int64_t *text, int64_t length, double *scores, bool *seen, int64_t vocab)
{
	if (d->repetition_penalty != 1)
		penalise(d->repetition_penalty, text, length, scores, seen, vocab);
	if (d->ngram > 0 && length + 1 >= d->ngram)
		forbid_repeats(d->ngram, text, length, scores, vocab);
	forbid_words(d, text, length, scores, vocab);
	if (length < d->min_length || length - d->prompt_length < d->min_new_tokens)
		never(&d->eos, scores, vocab);
	if (d->forced_bos >= 0 && length == 1)
		force(d->forced_bos, scores, vocab);
	if (d->forced_eos >= 0 && length == d->max_length - 1)
		force(d->forced_eos, scores, vocab);
	never(&d->suppress, scores, vocab);
	if (length == d->prompt_length + (d->prompt_length == 1 && d->forced_bos >= 0))
		never(&d->begin_suppress, scores, vocab);
}

bool decoding_is_plain(const struct decoding *d)
{
	return d->repetition_penalty == 1 && d->ngram <= 0 && !d->bad_word_count && d->min_length <= 0 &&
		d->min_new_tokens <= 0 && d->forced_bos < 0 && d->forced_eos < 0 && !d->suppress.count &&
		!d->begin_suppress.count;
}

// ---- as JSON ----------------------------------------------------------------------------------------------------------------

static json_t *ids_json(const struct token_list *list)
{
	json_t *out = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(out, json_integer(list->ids[i]));
	return out;
}

json_t *decoding_json(const struct decoding *d)
{
	json_t *words = json_array(),
	       *out = json_pack("{s:f, s:I, s:o, s:o, s:o}", "repetition_penalty", d->repetition_penalty, "no_repeat_ngram_size",
		       (json_int_t)d->ngram, "eos_token_id", ids_json(&d->eos), "suppress_tokens", ids_json(&d->suppress),
		       "begin_suppress_tokens", ids_json(&d->begin_suppress));

	for (size_t i = 0; i < d->bad_word_count; i++)
		json_array_append_new(words, ids_json(&d->bad_words[i]));
	json_object_set_new(out, "bad_words_ids", words);
	json_object_set_new(out, "min_length", json_integer(d->min_length > 0 ? d->min_length : 0));
	if (d->min_new_tokens > 0)
		json_object_set_new(out, "min_new_tokens", json_integer(d->min_new_tokens));
	if (d->forced_bos >= 0)
		json_object_set_new(out, "forced_bos_token_id", json_integer(d->forced_bos));
	if (d->forced_eos >= 0)
		json_object_set_new(out, "forced_eos_token_id", json_integer(d->forced_eos));
	return out;
}
