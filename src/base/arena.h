// SPDX-License-Identifier: Apache-2.0
// One arena a lifetime (a checkpoint, a graph, a session, a row). Memory comes zeroed and aligned to 16 bytes, is never
// freed singly, and ends with the arena. Small allocations cannot fail: the process ends when the system has no
// memory for them, so no caller checks. Sizes that come from a file are checked by the caller first, against the file.
// arena_defer registers foreign handles (sessions, maps, descriptors): they are released in reverse order.
#ifndef ASSAY_BASE_ARENA_H
#define ASSAY_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;
struct arena_deferred;

struct arena { // all zero is a valid empty arena
	struct arena_block *blocks;
	struct arena_deferred *deferred;
};

// Says so on standard error, and ends the process with exit code 1.
_Noreturn void out_of_memory(size_t nbytes);
void *arena_alloc(struct arena *a, size_t nbytes);
// For a size that a file named: NULL where the system has no memory for it.
void *arena_try(struct arena *a, size_t nbytes);
// An array of `count` elements of `size` bytes; ends the process when the product overflows.
void *arena_array(struct arena *a, size_t count, size_t size);
#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, count, type) ((type *)arena_array((a), (count), sizeof(type)))
char *arena_strdup(struct arena *a, const char *s); // NULL gives NULL
char *arena_strndup(struct arena *a, const char *s, size_t length);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
// "first" "between" "second", or the one that is not NULL as it is; NULL of two NULL.
const char *arena_join(struct arena *a, const char *first, const char *between, const char *second);
char *arena_vprintf(struct arena *a, const char *format, va_list ap);
void arena_defer(struct arena *a, void (*release)(void *), void *handle);
// All that `from` holds, what was deferred too, moves to `to` and stays where it is; `from` is empty afterwards.
void arena_take(struct arena *to, struct arena *from);
// Runs what was deferred, newest first, and frees everything; the arena is empty and usable afterwards.
void arena_done(struct arena *a);

#endif
