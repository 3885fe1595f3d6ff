// SPDX-License-Identifier: Apache-2.0
#include "base/sealed.h"

#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

enum { DIGITS = 64, NOTE_MOST = 4096 };

static const char label[] = "\"sha256\":\"", zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

static void key_of(char out[DIGITS + 1], const char *made_from)
{
	struct hash h;

	hash_init(&h);
	hash_add_text(&h, made_from);
	hash_hex(&h, out);
}

enum status sealed_key(const char **key, const char **made_from, struct arena *a, json_t *facts, struct error *err)
{
	char *text = facts ? json_dumps(facts, JSON_COMPACT | JSON_SORT_KEYS) : NULL, *out = arena_alloc(a, DIGITS + 1);

	json_decref(facts);
	if (!text)
		return error_set(err, STATUS_FAILED, "a name that a reference is made from is not UTF-8");
	*made_from = arena_strdup(a, text);
	free(text);
	key_of(out, *made_from);
	*key = out;
	return STATUS_OK;
}

void sealed_add(json_t *object, const char *made_from)
{
	json_object_set_new(object, "made_from", json_string(made_from));
	json_object_set_new(object, "sha256", json_string(zeros));
}

// Quotes inside of JSON strings are escaped, so the label is found only where it is a label.
static const char *find_digits(const void *head, size_t nbytes)
{
	const char *begin = head, *at = memmem(head, nbytes, label, strlen(label));

	return at && (size_t)(at - begin) + strlen(label) + DIGITS <= nbytes ? at + strlen(label) : NULL;
}

void sealing_begin(struct sealing *s, char *head, size_t nbytes)
{
	hash_init(&s->hash);
	s->digits = (char *)(uintptr_t)find_digits(head, nbytes);
	hash_add(&s->hash, head, nbytes);
}

void sealing_data(struct sealing *s, const void *data, size_t nbytes)
{
	hash_add(&s->hash, data, nbytes);
}

void sealing_end(struct sealing *s)
{
	char hex[DIGITS + 1];

	hash_hex(&s->hash, hex);
	if (s->digits)
		memcpy(s->digits, hex, DIGITS);
}

static bool is_named(const char *path, const char *made_from)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char key[DIGITS + 1];

	key_of(key, made_from);
	return text_starts(name, key) && name[DIGITS] == '.';
}

enum status sealed_check(
	const char *path, const json_t *object, const void *file, size_t nbytes, size_t head_nbytes, struct error *err)
{
	const char *made_from = json_string_value(json_object_get(object, "made_from")),
		   *says = json_string_value(json_object_get(object, "sha256"));
	const char *begin = file, *digits = find_digits(file, head_nbytes);
	char hex[DIGITS + 1];
	struct hash h;

	if (!cache_is_own(path))
		return error_set(err, STATUS_BAD_INPUT, "%s is not this user's alone", path);
	if (!made_from || !says || !digits)
		return error_set(err, STATUS_BAD_INPUT, "%s does not say what it was made from", path);
	if (!is_named(path, made_from))
		return error_set(err, STATUS_BAD_INPUT, "%s was made from something else", path);
	hash_init(&h);
	hash_add(&h, begin, (size_t)(digits - begin));
	hash_add(&h, zeros, DIGITS);
	hash_add(&h, digits + DIGITS, nbytes - (size_t)(digits - begin) - DIGITS);
	hash_hex(&h, hex);
	if (!text_is(says, hex) || memcmp(digits, hex, DIGITS) != 0)
		return error_set(
			err, STATUS_BAD_INPUT, "%s does not hold what was written into it: its SHA-256 is another", path);
	return STATUS_OK;
}

enum status sealed_json_write(const char *path, json_t *object, const char *made_from, struct error *err)
{
	struct sealing s;
	char *text;
	enum status st;

	sealed_add(object, made_from);
	if (!(text = json_dumps(object, JSON_COMPACT)))
		return error_set(err, STATUS_FAILED, "%s: a name is not UTF-8", path);
	sealing_begin(&s, text, strlen(text));
	sealing_end(&s);
	st = file_put(path, text, strlen(text), err);
	free(text);
	return st;
}

enum status sealed_json_read(const char *path, size_t limit, json_t **out, struct error *err)
{
	struct arena a = { 0 };
	json_t *object = NULL;
	size_t nbytes;
	char *text;
	enum status st;

	if (!(st = file_read(&a, path, limit, &text, &nbytes, err)) && !(st = json_bytes(path, text, nbytes, &object, err)))
		st = sealed_check(path, object, text, nbytes, nbytes, err);
	if (st)
		json_decref(object);
	else
		*out = object;
	arena_done(&a);
	return st;
}

// ---- folders ------------------------------------------------------------------------------------------------------------

enum status sealed_folder_write(const char *folder, const char *name, const char *key, struct error *err)
{
	struct arena a = { 0 };
	char digest[DIGITS + 1];
	enum status st = file_digest(digest, arena_printf(&a, "%s/%s", folder, name), NULL, err);

	if (!st) {
		const char *note = arena_printf(&a, "{\"key\": \"%s\", \"sha256\": \"%s\"}\n", key, digest);

		st = file_put(arena_printf(&a, "%s/made.json", folder), note, strlen(note), err);
	}
	arena_done(&a);
	return st;
}

bool sealed_folder_note(const char *folder, struct arena *a, const char **key, const char **sha256)
{
	const char *path = arena_printf(a, "%s/made.json", folder);
	json_t *note = NULL;
	bool good =
		!json_file(path, NOTE_MOST, &note, NULL) && json_unpack(note, "{s:s, s:s}", "key", key, "sha256", sha256) == 0;

	*key = good ? arena_strdup(a, *key) : NULL;
	*sha256 = good ? arena_strdup(a, *sha256) : NULL;
	json_decref(note);
	return good;
}

bool sealed_folder_check(const char *folder, const char *name, const char *key)
{
	struct arena a = { 0 };
	char digest[DIGITS + 1];
	const char *of, *sha256;
	bool good = sealed_folder_note(folder, &a, &of, &sha256) && text_is(of, key) &&
		!file_digest(digest, arena_printf(&a, "%s/%s", folder, name), NULL, NULL) && text_is(sha256, digest);

	arena_done(&a);
	return good;
}
