// SPDX-License-Identifier: Apache-2.0
// Files of the cache that say themselves what they were made from and what they hold, and are believed only where both agree.
//
//   a sealed file      is called KEY.anything, and its first JSON object has
//                        "made_from"   the JSON text of everything that decides what the file holds; KEY is its SHA-256
//                        "sha256"      of the whole file, with these 64 digits as zeros
//   a sealed folder    is called after its key and has, beside one file of weights, made.json: {"key", "sha256"} of that file
//
// This finds damage, files of another program or an older version, and files that were renamed or copied. It is no protection
// from a user who may write into the cache and computes the hashes, which have no secret: that is base/cache.h.
#ifndef ASSAY_BASE_SEALED_H
#define ASSAY_BASE_SEALED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"

// 64 hexadecimal digits, in `a`. Steals `facts`; NULL (text that is not UTF-8): FAILED. *made_from: their JSON text, sorted by
// name.
enum status sealed_key(const char **key, const char **made_from, struct arena *a, json_t *facts, struct error *err);

// Writing: add the two strings to a JSON object that is dumped with JSON_COMPACT, "sha256" being zeros; then the digest goes into
// the text.
void sealed_add(json_t *object, const char *made_from);
struct sealing {
	struct hash hash;
	char *digits; // in `head`
};
void sealing_begin(struct sealing *s, char *head, size_t nbytes); // the part of the file that holds the object; it comes first
void sealing_data(struct sealing *s, const void *data, size_t nbytes);
void sealing_end(struct sealing *s); // writes the digits into `head`

// Reading: a file in memory whose first head_nbytes hold the JSON `object` with the two strings. `path`: its name has the key.
// BAD_INPUT: it is not to be believed, and why.
enum status sealed_check(
	const char *path, const json_t *object, const void *file, size_t nbytes, size_t head_nbytes, struct error *err);

// A whole file that is one JSON object. Writing takes an object without the two strings and leaves them in it. Reading: at most
// `limit` bytes, checked; owned by the caller.
enum status sealed_json_write(const char *path, json_t *object, const char *made_from, struct error *err);
enum status sealed_json_read(const char *path, size_t limit, json_t **out, struct error *err);

// FOLDER/made.json, after FOLDER/NAME. The file is read, once: digests are remembered (base/digest.h).
enum status sealed_folder_write(const char *folder, const char *name, const char *key, struct error *err);
// What made.json says, in `a`; false: there is none that says both.
bool sealed_folder_note(const char *folder, struct arena *a, const char **key, const char **sha256);
bool sealed_folder_check(const char *folder, const char *name, const char *key);

#endif
