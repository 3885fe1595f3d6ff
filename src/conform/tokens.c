// SPDX-License-Identifier: Apache-2.0
// A folder of a tokenizer and cases.jsonl: texts with the ids, tokens, offsets and decoded texts that the library gave. One
// line is one JSON object; which members it has says what is compared.
#include "conform/case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "token/token.h"

enum { LINES_LIMIT = 4 << 20, LINE_LIMIT = 1 << 18 }; // the largest that there are have 130 kB, and 14

struct run {
	struct tokenizer *t;
	struct arena *a; // of the line
	const json_t *line;
	size_t compared;     // of the line: how many of its members
	struct text differs; // the first difference
	bool wrong;
};

bool conform_is_tokenizer(const char *folder, struct arena *a)
{
	return file_exists(arena_printf(a, "%s/cases.jsonl", folder)) && !file_exists(arena_printf(a, "%s/case.json", folder));
}

// What is in a reason of limited length: the beginning of a JSON text.
static void add_short(struct text *t, const json_t *v)
{
	enum { MOST = 300 };
	char *s = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	if (s && strlen(s) > MOST)
		memcpy(s + MOST - 4, "...", 4);
	text_add(t, s ? s : "?");
	free(s);
}

// Takes `got`. Says the first difference of a line, with its text.
static void compare(struct run *r, const char *what, const json_t *expected, json_t *got)
{
	r->compared++;
	if (!r->wrong && !json_equal(expected, got)) {
		static const char *const keys[] = { "text", "pair", "batch", "decode_ids", "ctc_ids" };
		r->wrong = true;
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			if (json_object_get(r->line, keys[i])) {
				text_addf(&r->differs, "%s ", keys[i]);
				add_short(&r->differs, json_object_get(r->line, keys[i]));
				text_add(&r->differs, ", ");
			}
		text_addf(&r->differs, "%s expected ", what);
		add_short(&r->differs, expected);
		text_add(&r->differs, ", got ");
		add_short(&r->differs, got);
	}
	json_decref(got);
}

// ---- encodings as the files have them -------------------------------------------------------------------------------------

static json_t *ids_of(const struct encoding *e)
{
	json_t *out = json_array();

	for (size_t i = 0; i < e->count; i++)
		json_array_append_new(out, json_integer(e->tokens[i].id));
	return out;
}

static json_t *types_of(const struct encoding *e)
{
	json_t *out = json_array();

	for (size_t i = 0; i < e->count; i++)
		json_array_append_new(out, json_integer(e->tokens[i].type));
	return out;
}

static json_t *flags_of(const struct encoding *e, uint32_t flag, bool inverted)
{
	json_t *out = json_array();

	for (size_t i = 0; i < e->count; i++)
		json_array_append_new(out, json_integer(((e->tokens[i].flags & flag) != 0) != inverted));
	return out;
}

static json_t *tokens_of(const struct encoding *e)
{
	json_t *out = json_array();

	for (size_t i = 0; i < e->count; i++)
		json_array_append_new(out, json_stringn(e->tokens[i].text, e->tokens[i].nbytes));
	return out;
}

static json_t *offsets_of(const struct encoding *e)
{
	json_t *out = json_array();

	for (size_t i = 0; i < e->count; i++)
		json_array_append_new(out, json_pack("[i, i]", (int)e->tokens[i].begin, (int)e->tokens[i].end));
	return out;
}

static json_t *zeros(size_t n)
{
	json_t *out = json_array();

	while (n--)
		json_array_append_new(out, json_integer(0));
	return out;
}

// Types are left out of the files where all are 0.
static void compare_types(struct run *r, const json_t *expected, const struct encoding *e)
{
	json_t *none = expected ? NULL : zeros(e->count);

	compare(r, "type_ids", expected ? expected : none, types_of(e));
	json_decref(none);
}

static enum status text_of(const json_t *v, struct token_text *out)
{
	const json_t *first = json_is_array(v) ? json_array_get(v, 0) : v, *second = json_array_get(v, 1);

	if (!json_is_string(first) || (second && !json_is_string(second)))
		return STATUS_BAD_INPUT;
	*out = (struct token_text){ json_string_value(first), json_string_length(first), json_string_value(second),
		json_string_length(second) };
	return STATUS_OK;
}

// ---- lines ----------------------------------------------------------------------------------------------------------------

static enum status ids_from(struct run *r, const json_t *list, uint32_t **out, struct error *err)
{
	size_t n = json_array_size(list);

	*out = ARENA_ARRAY(r->a, n + 1, uint32_t);
	for (size_t i = 0; i < n; i++) {
		json_int_t id = json_integer_value(json_array_get(list, i));
		if (!json_is_integer(json_array_get(list, i)) || id < 0 || id > UINT32_MAX)
			return error_set(err, STATUS_BAD_INPUT, "a list of ids that are none");
		(*out)[i] = (uint32_t)id;
	}
	return STATUS_OK;
}

static enum status compare_decoded(
	struct run *r, const char *key, const uint32_t *ids, size_t count, bool skip, bool frames, struct error *err)
{
	const json_t *expected = json_object_get(r->line, key);
	char *text;
	size_t nbytes;
	enum status s;

	if (!expected)
		return STATUS_OK;
	s = frames ? tokenizer_decode_frames(r->t, r->a, ids, count, skip, &text, &nbytes, err)
		   : tokenizer_decode(r->t, r->a, ids, count, skip, &text, &nbytes, err);
	if (s == STATUS_OK)
		compare(r, key, expected, json_stringn(text, nbytes));
	return s;
}

static enum status run_text(struct run *r, struct error *err)
{
	const json_t *special = json_object_get(r->line, "add_special_tokens"), *pair = json_object_get(r->line, "pair");
	struct token_text in;
	struct encoding e;
	uint32_t *ids;
	enum status s;

	if (text_of(json_object_get(r->line, "text"), &in) || (pair && !json_is_string(pair)))
		return error_set(err, STATUS_BAD_INPUT, "a text that is none");
	in.pair = json_string_value(pair);
	in.pair_nbytes = json_string_length(pair);
	if ((s = tokenizer_encode_batch(r->t, r->a, &in, 1, !special || json_is_true(special), NULL, NULL, &e, err)))
		return s;
	compare(r, "ids", json_object_get(r->line, "ids"), ids_of(&e));
	if (json_object_get(r->line, "tokens"))
		compare(r, "tokens", json_object_get(r->line, "tokens"), tokens_of(&e));
	if (json_object_get(r->line, "offsets")) {
		compare(r, "offsets", json_object_get(r->line, "offsets"), offsets_of(&e));
		compare_types(r, json_object_get(r->line, "type_ids"), &e);
	}
	if ((s = ids_from(r, json_object_get(r->line, "ids"), &ids, err)) ||
		(s = compare_decoded(r, "decoded", ids, json_array_size(json_object_get(r->line, "ids")), true, false, err)))
		return s;
	return compare_decoded(r, "decoded_no_group", ids, json_array_size(json_object_get(r->line, "ids")), false, false, err);
}

static size_t size_of(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? (size_t)v : 0;
}

static void compare_parts(struct run *r, const json_t *expected, const struct encoding *e)
{
	const json_t *overflow = json_object_get(expected, "overflowing");

	compare(r, "ids", json_object_get(expected, "ids"), ids_of(e));
	compare_types(r, json_object_get(expected, "type_ids"), e);
	compare(r, "attention_mask", json_object_get(expected, "attention_mask"), flags_of(e, TOKEN_PADDING, true));
	compare(r, "special_tokens_mask", json_object_get(expected, "special_tokens_mask"), flags_of(e, TOKEN_SPECIAL, false));
	if (!overflow)
		return;
	json_t *count = json_integer((json_int_t)json_array_size(overflow));
	compare(r, "parts that overflow", count, json_integer((json_int_t)e->overflow_count));
	json_decref(count);
	for (size_t i = 0; !r->wrong && i < e->overflow_count; i++)
		compare_parts(r, json_array_get(overflow, i), &e->overflow[i]);
}

static enum status run_batch(struct run *r, struct error *err)
{
	static const char *const strategies[] = { "longest_first", "only_first", "only_second" };
	const json_t *batch = json_object_get(r->line, "batch"), *cut = json_object_get(r->line, "truncation"),
		     *pad = json_object_get(r->line, "padding");
	size_t n = json_array_size(batch);

	if (json_array_size(json_object_get(r->line, "out")) != n)
		return error_set(err, STATUS_BAD_INPUT, "a batch, and not as many encodings of it");
	struct token_text *in = ARENA_ARRAY(r->a, n + 1, struct token_text);
	struct encoding *out = ARENA_ARRAY(r->a, n + 1, struct encoding);
	struct truncation how = { size_of(cut, "max_length"), size_of(cut, "stride"), LONGEST_FIRST,
		text_is(json_string_value(json_object_get(cut, "direction")), "left") };
	struct padding with = { size_of(pad, "length"), size_of(pad, "pad_to_multiple_of"), (uint32_t)size_of(pad, "pad_id"),
		(uint32_t)size_of(pad, "pad_type_id"), json_string_value(json_object_get(pad, "pad_token")),
		text_is(json_string_value(json_object_get(pad, "direction")), "left") };
	enum status s;

	for (int i = 0; i < 3; i++)
		if (text_is(json_string_value(json_object_get(cut, "strategy")), strategies[i]))
			how.strategy = (enum truncation_strategy)i;
	for (size_t i = 0; i < n; i++)
		if (text_of(json_array_get(batch, i), &in[i]))
			return error_set(err, STATUS_BAD_INPUT, "a text of a batch that is none");
	with.token = with.token ? with.token : "";
	s = tokenizer_encode_batch(r->t, r->a, in, n, json_is_true(json_object_get(r->line, "add_special_tokens")),
		json_is_object(cut) ? &how : NULL, json_is_object(pad) ? &with : NULL, out, err);
	for (size_t i = 0; s == STATUS_OK && i < n; i++)
		compare_parts(r, json_array_get(json_object_get(r->line, "out"), i), &out[i]);
	return s;
}

static enum status run_ids(struct run *r, const json_t *list, bool frames, struct error *err)
{
	uint32_t *ids;
	size_t n = json_array_size(list);
	enum status s = ids_from(r, list, &ids, err);

	if (s == STATUS_OK)
		s = compare_decoded(r, "decoded", ids, n, !frames, frames, err);
	if (s == STATUS_OK)
		s = compare_decoded(r, "decoded_all", ids, n, false, false, err);
	if (s == STATUS_OK)
		s = compare_decoded(r, "decoded_skip_special", ids, n, true, true, err);
	return s ? s : compare_decoded(r, "decoded_no_group", ids, n, false, false, err);
}

static enum status run_line(struct run *r, struct error *err)
{
	const json_t *ids = json_object_get(r->line, "decode_ids"), *frames = json_object_get(r->line, "ctc_ids");
	enum status s;

	r->compared = 0;
	if (json_object_get(r->line, "batch"))
		s = run_batch(r, err);
	else if (ids || frames)
		s = run_ids(r, ids ? ids : frames, frames, err);
	else
		s = run_text(r, err);
	return s || r->compared ? s : error_set(err, STATUS_BAD_INPUT, "nothing in it can be compared");
}

static enum status run_lines(struct run *r, const char *path, char *text, size_t nbytes, size_t *done, struct error *err)
{
	enum status s = STATUS_OK;
	size_t line = 0;

	for (char *at = text, *end = text + nbytes, *next; at < end && s == STATUS_OK && !r->wrong; at = next) {
		char *stop = memchr(at, '\n', (size_t)(end - at));
		struct arena arena = { 0 };
		json_t *v = NULL;

		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		line++;
		if (stop == at)
			continue;
		if (stop - at > LINE_LIMIT)
			return error_set(err, STATUS_BAD_INPUT, "%s: line %zu has %zu bytes, and at most %d are taken", path,
				line, (size_t)(stop - at), LINE_LIMIT);
		if ((s = json_bytes_nul(path, at, (size_t)(stop - at), &v, err)))
			return error_prefix(err, "line %zu", line);
		r->a = &arena;
		r->line = v;
		if ((s = run_line(r, err)))
			error_prefix(err, "line %zu", line);
		*done += s == STATUS_OK && !r->wrong;
		json_decref(v);
		arena_done(&arena);
	}
	if (r->wrong) {
		struct text with = { 0 };
		text_addf(&with, "line %zu: %s", line, text_get(&r->differs));
		text_done(&r->differs);
		r->differs = with;
	}
	return s;
}

void conform_tokenizer(struct conform_case *c, struct arena *a)
{
	struct arena own = { 0 };
	struct run r = { 0 };
	struct error err = { 0 };
	const char *path = arena_printf(&own, "%s/cases.jsonl", c->folder);
	char *text;
	size_t nbytes, done = 0;
	enum status s = tokenizer_open(&r.t, &own, c->folder, &err);

	if (s == STATUS_OK && (s = file_read(&own, path, LINES_LIMIT, &text, &nbytes, &err)) == STATUS_OK)
		s = run_lines(&r, path, text, nbytes, &done, &err);
	if (s == STATUS_OK && !r.wrong && !done)
		s = error_set(&err, STATUS_BAD_INPUT, "%s: no lines", path);
	c->verdict = s != STATUS_OK ? VERDICT_FAILED : r.wrong ? VERDICT_WRONG : VERDICT_RIGHT;
	c->passed = c->verdict == VERDICT_RIGHT;
	c->reason = s != STATUS_OK ? arena_strdup(a, err.text) : r.wrong ? arena_strdup(a, text_get(&r.differs)) : NULL;
	c->lines = done;
	c->counted = "lines";
	c->elsewhere = -1;
	text_done(&r.differs);
	arena_done(&own);
}
