// SPDX-License-Identifier: Apache-2.0
// What a text weighs is what jansson allocates for it, rounded up: an object with its first eight buckets, an array with its
// first eight places, a member with its share of larger tables, a string, its copy while it is read, and the text itself.
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum {
	WEIGHT_OBJECT = 240,
	WEIGHT_ARRAY = 144,
	WEIGHT_STRING = 88,
	WEIGHT_NUMBER = 40,
	WEIGHT_PLACE = 24,
	WEIGHT_WORD = 512,
	LONG_STRING = 4096
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

// Behind the string that begins at p, or `end` where it does not stop.
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && p + 1 < end;
	return p < end ? p + 1 : end;
}

static const char *skip_word(const char *p, const char *end)
{
	while (p < end && !is_blank(*p) && *p != ',' && *p != ']' && *p != '}' && *p != ':' && *p != '"')
		p++;
	return p;
}

size_t json_weight(const char *data, size_t nbytes, size_t most)
{
	const char *p = data, *end = data + nbytes;
	size_t weight = 0;

	while (p < end && weight + (size_t)(p - data) <= most) {
		const char *from = p;

		switch (*p) {
		case '{':
			weight += WEIGHT_OBJECT;
			p++;
			break;
		case '[':
			weight += WEIGHT_ARRAY;
			p++;
			break;
		case ',':
			weight += WEIGHT_PLACE;
			p++;
			break;
		case '"':
			p = skip_string(p, end);
			weight += WEIGHT_STRING +
				(size_t)(p - from) * (p - from > LONG_STRING ? 3 : 1); // read through a buffer that doubles
			break;
		case ' ':
		case '\t':
		case '\r':
		case '\n':
		case ':':
		case ']':
		case '}':
			p++;
			break;
		default:
			p = skip_word(p, end);
			p += p == from;
			// What Python writes as NaN becomes an object (checkpoint.h).
			weight += (*from >= '0' && *from <= '9') || (*from == '-' && p - from > 1 && from[1] != 'I')
				? WEIGHT_NUMBER
				: WEIGHT_WORD;
		}
	}
	return weight + (size_t)(p - data);
}

static enum status too_heavy(const char *name, size_t nbytes, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT,
		"%s: %zu bytes of JSON would take more than the %zu MiB of memory that are given to one text", name, nbytes,
		JSON_MOST >> 20);
}

static enum status parse(const char *name, const char *data, size_t nbytes, size_t flags, json_t **out, struct error *err)
{
	json_error_t e;

	if (json_weight(data, nbytes, JSON_MOST) > JSON_MOST)
		return too_heavy(name, nbytes, err);
	json_t *v = json_loadb(nbytes ? data : "", nbytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, &e);
	if (!v)
		return error_set(
			err, STATUS_BAD_INPUT, "%s: not valid JSON: %s (line %d, column %d)", name, e.text, e.line, e.column);
	*out = v;
	return STATUS_OK;
}

enum status json_bytes(const char *name, const char *data, size_t nbytes, json_t **out, struct error *err)
{
	return parse(name, data, nbytes, 0, out, err);
}

enum status json_bytes_nul(const char *name, const char *data, size_t nbytes, json_t **out, struct error *err)
{
	return parse(name, data, nbytes, JSON_ALLOW_NUL, out, err);
}

enum status json_file(const char *path, size_t limit, json_t **out, struct error *err)
{
	struct arena a = { 0 };
	char *data;
	size_t nbytes;
	enum status s = file_read(&a, path, limit, &data, &nbytes, err);
	if (s == STATUS_OK)
		s = json_bytes(path, data, nbytes, out, err);
	arena_done(&a);
	return s;
}

json_t *json_line(const char *data, size_t nbytes)
{
	json_t *v = NULL;

	return data && json_bytes("", data, nbytes, &v, NULL) == STATUS_OK ? v : NULL;
}

json_t *json_parse(const char *text)
{
	return text ? json_line(text, strlen(text)) : NULL;
}

// ---- walks --------------------------------------------------------------------------------------------------------------

// The end of the value that begins at p. Brackets are only counted: the parser finds out whether they match.
static const char *skip_value(const char *p, const char *end)
{
	size_t depth = 0;

	do {
		if (*p == '"') {
			p = skip_string(p, end);
		} else if (*p == '{' || *p == '[') {
			depth++;
			p++;
		} else if (depth) {
			depth -= *p == '}' || *p == ']';
			p++;
		} else {
			return skip_word(p, end);
		}
	} while (depth && p < end);
	return p;
}

struct json_walk json_members(const char *data, size_t nbytes)
{
	const char *begin = nbytes > 0 ? data : ""; // of an empty file there may be no data

	return (struct json_walk){ .begin = begin, .at = begin, .end = begin + nbytes };
}

static bool stop(struct json_walk *w, const char *error)
{
	w->error = error;
	w->done = true;
	return false;
}

// Behind the last member: nothing but blanks.
static bool finish(struct json_walk *w)
{
	w->at = skip_blanks(w->at + 1, w->end);
	w->done = true;
	return w->at < w->end ? stop(w, "end of file expected") : false;
}

bool json_next(struct json_walk *w, struct json_member *out)
{
	if (w->done)
		return false;
	w->at = skip_blanks(w->at, w->end);
	if (w->at == w->end)
		return stop(w, "it ends too early");
	if (!w->begun) {
		if (*w->at != '{')
			return stop(w, "'{' expected");
		w->at = skip_blanks(w->at + 1, w->end);
		w->begun = true;
		if (w->at < w->end && *w->at == '}')
			return finish(w);
	} else {
		if (*w->at == '}')
			return finish(w);
		if (*w->at != ',')
			return stop(w, "',' or '}' expected");
		w->at = skip_blanks(w->at + 1, w->end);
	}
	if (w->at == w->end || *w->at != '"')
		return stop(w, "a name in quotes expected");
	out->key = w->at;
	w->at = skip_string(w->at, w->end);
	out->key_nbytes = (size_t)(w->at - out->key);
	w->at = skip_blanks(w->at, w->end);
	if (w->at == w->end || *w->at != ':')
		return stop(w, "':' expected");
	w->at = skip_blanks(w->at + 1, w->end);
	if (w->at == w->end)
		return stop(w, "a value expected");
	out->value = w->at;
	w->at = skip_value(w->at, w->end);
	out->value_nbytes = (size_t)(w->at - out->value);
	return out->value_nbytes ? true : stop(w, "a value expected");
}

// A string with its quotes as text; NULL when it is none.
static char *unquoted(struct arena *a, const char *token, size_t nbytes)
{
	bool plain = nbytes >= 2 && token[0] == '"' && token[nbytes - 1] == '"';

	for (size_t i = 1; plain && i + 1 < nbytes; i++)
		plain = token[i] >= ' ' && token[i] <= '~' && token[i] != '\\' && token[i] != '"';
	if (plain)
		return arena_strndup(a, token + 1, nbytes - 2);
	json_t *v = json_loadb(token, nbytes, JSON_DECODE_ANY, NULL);
	char *text = json_is_string(v) ? arena_strndup(a, json_string_value(v), json_string_length(v)) : NULL;
	json_decref(v);
	return text;
}

char *json_key(struct arena *a, const struct json_member *m)
{
	return unquoted(a, m->key, m->key_nbytes);
}

enum status json_value(
	const char *name, const char *base, const struct json_member *m, size_t limit, json_t **out, struct error *err)
{
	json_error_t e;

	if (m->value_nbytes > limit)
		return error_set(err, STATUS_BAD_INPUT, "%s: a value of %zu bytes (byte %td); at most %zu are read", name,
			m->value_nbytes, m->value - base, limit);
	if (json_weight(m->value, m->value_nbytes, JSON_MOST) > JSON_MOST)
		return too_heavy(name, m->value_nbytes, err);
	json_t *v = json_loadb(m->value, m->value_nbytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
	if (!v)
		return error_set(
			err, STATUS_BAD_INPUT, "%s: not valid JSON: %s (byte %td)", name, e.text, m->value - base + e.position);
	*out = v;
	return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct json_pair *)a)->name, ((const struct json_pair *)b)->name);
}

static enum status walk_error(const char *name, const struct json_walk *w, const char *base, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "%s: not valid JSON: %s (byte %td)", name, w->error, w->at - base);
}

// The member `key` of the whole text; the others are read and dropped, so that the text is known to be JSON.
static enum status find_member(
	const char *name, const char *data, size_t nbytes, const char *key, struct json_member *out, struct error *err)
{
	struct json_walk w = json_members(data, nbytes);
	struct json_member m;
	struct arena a = { 0 };
	enum status s = STATUS_OK;

	*out = (struct json_member){ 0 };
	while (s == STATUS_OK && json_next(&w, &m)) {
		const char *its = json_key(&a, &m);
		json_t *v = NULL;

		if (its && !strcmp(its, key) && out->key) {
			s = error_set(err, STATUS_BAD_INPUT, "%s: duplicate key \"%.100s\"", name, key);
		} else if (its && !strcmp(its, key)) {
			*out = m;
		} else {
			s = its ? json_value(name, data, &m, nbytes, &v, err)
				: error_set(err, STATUS_BAD_INPUT, "%s: not valid JSON: a name that is no text (byte %td)", name,
					  m.key - data);
			json_decref(v);
		}
		arena_done(&a);
	}
	return s == STATUS_OK && w.error ? walk_error(name, &w, data, err) : s;
}

enum status json_strings(const char *name, const char *data, size_t nbytes, const char *key, struct arena *a,
	struct json_pair **out, size_t *count, struct error *err)
{
	struct json_member of, m;
	size_t n = 0, room = 0;
	const char *first = skip_blanks(data, data + nbytes);
	enum status s = STATUS_OK;

	if (first < data + nbytes && *first != '{')
		return error_set(err, STATUS_BAD_INPUT, "%s: has no \"%s\"", name, key);
	if ((s = find_member(name, data, nbytes, key, &of, err)))
		return s;
	struct json_walk w = json_members(of.value, of.value_nbytes);
	while (json_next(&w, &m))
		room++;
	if (of.key && w.error && *of.value == '{')
		return walk_error(name, &w, data, err);
	if (!of.key || !room || w.error)
		return error_set(err, STATUS_BAD_INPUT, "%s: has no \"%s\"", name, key);
	if (room > JSON_MOST / (4 * sizeof **out) || room * 4 * sizeof **out + of.value_nbytes > JSON_MOST)
		return too_heavy(name, nbytes, err);
	struct json_pair *pairs = ARENA_ARRAY(a, room, struct json_pair);
	for (w = json_members(of.value, of.value_nbytes); json_next(&w, &m); n++) {
		json_t *v = NULL;

		pairs[n].name = json_key(a, &m);
		pairs[n].text = *m.value == '"' ? unquoted(a, m.value, m.value_nbytes) : NULL;
		if (!pairs[n].text && (s = json_value(name, data, &m, nbytes, &v, err)))
			return s;
		json_decref(v);
		if (!pairs[n].name)
			return error_set(err, STATUS_BAD_INPUT, "%s: not valid JSON: a name that is no text (byte %td)", name,
				m.key - data);
	}
	qsort(pairs, n, sizeof *pairs, by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(pairs[i - 1].name, pairs[i].name))
			return error_set(
				err, STATUS_BAD_INPUT, "%s: duplicate key \"%.200s\" in \"%s\"", name, pairs[i].name, key);
	*out = pairs;
	*count = n;
	return STATUS_OK;
}
