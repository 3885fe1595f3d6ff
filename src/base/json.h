// SPDX-License-Identifier: Apache-2.0
// JSON from outside: the one place that makes trees of it. A tree is up to 75 times its text ("{}," is 3 bytes of text and 220 of
// tree), so every text is weighed before a tree is made: one pass that adds up what the tree will take and stops at JSON_MOST.
// What has many members (the header of a safetensors file, the index of shards) is walked member by member and never becomes a
// tree.
#ifndef ASSAY_BASE_JSON_H
#define ASSAY_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"

// Bytes that a text and its tree may take together, whatever the text is.
#define JSON_MOST ((size_t)48 << 20)

// How many bytes this text and its tree take at most, counted up to the first beyond `most`. Says nothing about whether it is
// JSON.
size_t json_weight(const char *data, size_t nbytes, size_t most);

// A JSON file of at most `limit` bytes: duplicates of a key are an error, and so is anything after the value. BAD_INPUT too for
// a text that weighs more than JSON_MOST. Owned by the caller (json_decref).
enum status json_file(const char *path, size_t limit, json_t **out, struct error *err);
// The same from memory; `name` is used in errors.
enum status json_bytes(const char *name, const char *data, size_t nbytes, json_t **out, struct error *err);
// The same of texts in which U+0000 may stand: their strings are as long as json_string_length says.
enum status json_bytes_nul(const char *name, const char *data, size_t nbytes, json_t **out, struct error *err);
// The same for a line or a stored text that needs no sentence: NULL when it is no JSON or too heavy. `text` may be NULL.
json_t *json_line(const char *data, size_t nbytes);
json_t *json_parse(const char *text);

// A walk over the members of an object, without a tree of it.
//     struct json_walk w = json_members(data, nbytes);
//     struct json_member m;
//     while (json_next(&w, &m)) ...
//     if (w.error) ...                              // a sentence's end: "not valid JSON: ... (byte 7)"
// It checks commas, colons and what stands around the members; a member's own texts are checked where they are read. Neither is a
// name that comes twice noticed: the caller sorts them.
struct json_member {
	const char *key, *value; // in the text: the key with its quotes, the value without blanks around it
	size_t key_nbytes, value_nbytes;
};
struct json_walk {
	const char *begin, *at, *end;
	const char *error; // NULL: none yet
	bool begun, done;
};
struct json_walk json_members(const char *data, size_t nbytes);
bool json_next(struct json_walk *w, struct json_member *out);
// The key as text, in `a`; NULL when it is no string that JSON knows.
char *json_key(struct arena *a, const struct json_member *m);
// The value alone as a tree, owned by the caller; at most `limit` bytes of text. `name` is put before the sentence, `base` is
// where the text begins that the member lies in.
enum status json_value(
	const char *name, const char *base, const struct json_member *m, size_t limit, json_t **out, struct error *err);

// The members of the object under `key` of an object, all of them strings, sorted by name, no name twice: weight_map of an index
// of shards. In `a`. BAD_INPUT also when there is no such object, or it is empty.
struct json_pair {
	const char *name, *text;
};
enum status json_strings(const char *name, const char *data, size_t nbytes, const char *key, struct arena *a,
	struct json_pair **out, size_t *count, struct error *err);

#endif
