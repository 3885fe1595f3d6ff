// SPDX-License-Identifier: Apache-2.0
// Reading what the kernel tells about the machine in small files, below a root that a test may bring. What cannot be read is NULL
// or -1: it is never guessed.
#ifndef ASSAY_PLATFORM_SYSFS_H
#define ASSAY_PLATFORM_SYSFS_H

#include <jansson.h>

#include "base/arena.h"
#include "base/text.h"

struct sysfs {
	struct arena *arena;
	const char *root; // "" is this machine
};

// The whole file (at most 64 KiB), without white space at its end; NULL when it is not there or not permitted.
char *sysfs_text(const struct sysfs *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Its first line.
char *sysfs_line(const struct sysfs *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A number, decimal or 0x...; `otherwise` when there is none.
int64_t sysfs_number(const struct sysfs *s, int64_t otherwise, const char *format, ...) __attribute__((format(printf, 3, 4)));
// The value of a line "KEY value", "KEY: value" or "KEY=value" in a text that was read; NULL when it has none.
const char *sysfs_value(const struct sysfs *s, const char *text, const char *key);
// Names in a folder that begin with `prefix` (and, with `numbered`, go on with a number and nothing else), "card2" before
// "card10".
size_t sysfs_list(const struct sysfs *s, const char *folder, const char *prefix, bool numbered, const char ***out);
bool sysfs_exists(const struct sysfs *s, const char *path);
// A device file as {"path", "usable", "reason"}: may this process open it for reading and writing? NULL when it is not there.
json_t *sysfs_device(const struct sysfs *s, const char *path);
// Adds text, or nothing when it is NULL or "".
void facts_text(json_t *facts, const char *key, const char *value);
// Adds a number, or nothing when it is negative.
void facts_number(json_t *facts, const char *key, int64_t value);
// Adds an array or object, or nothing when it is empty; takes it over.
void facts_add(json_t *facts, const char *key, json_t *value);
// A sentence that a person should know: facts["findings"].
void facts_finding(json_t *facts, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The same, and it is why the platform is not here: facts["cause"]; the first one stays.
void facts_cause(json_t *facts, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Variables that hide or choose devices, those that are set: facts["environment"].
void facts_environment(json_t *facts, const char *const *names);

#endif
