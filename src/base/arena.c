// SPDX-License-Identifier: Apache-2.0
// Arena blocks double from 8 KiB to 256 KiB; a large piece gets a block of its own, so that the system gives zeroed pages
// and takes them back whole. Under AddressSanitizer every piece is a block, so that an overrun is seen.
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define EVERY_PIECE_ALONE true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EVERY_PIECE_ALONE true
#endif
#endif
#ifndef EVERY_PIECE_ALONE
#define EVERY_PIECE_ALONE false
#endif

enum { ALIGN = 16, FIRST_BLOCK = 8 << 10, LARGEST_BLOCK = 256 << 10 };

struct arena_block {
	struct arena_block *next;
	size_t size, used; // of data
	size_t pad;        // keeps data aligned
	unsigned char data[];
};

struct arena_deferred {
	struct arena_deferred *next;
	void (*release)(void *);
	void *handle;
};

void out_of_memory(size_t nbytes)
{
	fprintf(stderr, "assay: out of memory (%zu bytes)\n", nbytes);
	_exit(1); // no handlers, which may want memory, and no core
}

static struct arena_block *try_block(size_t size)
{
	struct arena_block *b = size <= SIZE_MAX - sizeof *b ? calloc(1, sizeof *b + size) : NULL;
	if (b)
		b->size = size;
	return b;
}

static struct arena_block *new_block(size_t size)
{
	struct arena_block *b = try_block(size);
	if (!b)
		out_of_memory(size);
	return b;
}

// A block that is one piece: after the one that still has room, which stays the current one.
static void *put_alone(struct arena *a, struct arena_block *alone)
{
	struct arena_block *b = a->blocks;
	alone->used = alone->size;
	if (b) {
		alone->next = b->next;
		b->next = alone;
	} else {
		a->blocks = alone;
	}
	return alone->data;
}

void *arena_alloc(struct arena *a, size_t nbytes)
{
	if (nbytes > SIZE_MAX / 2)
		out_of_memory(nbytes);
	size_t need = nbytes ? (nbytes + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
	struct arena_block *b = a->blocks;
	if (b && need <= b->size - b->used) {
		void *p = b->data + b->used;
		b->used += need;
		return p;
	}
	if (EVERY_PIECE_ALONE || need > LARGEST_BLOCK / 4)
		return put_alone(a, new_block(EVERY_PIECE_ALONE ? nbytes : need));
	size_t size = !b || b->size < FIRST_BLOCK ? FIRST_BLOCK : b->size < LARGEST_BLOCK ? b->size * 2 : LARGEST_BLOCK;
	while (size < need)
		size *= 2;
	struct arena_block *fresh = new_block(size);
	fresh->next = b;
	fresh->used = need;
	a->blocks = fresh;
	return fresh->data;
}

void *arena_try(struct arena *a, size_t nbytes)
{
	if (nbytes <= LARGEST_BLOCK)
		return arena_alloc(a, nbytes);
	struct arena_block *alone = nbytes <= SIZE_MAX / 2 ? try_block(nbytes) : NULL;
	return alone ? put_alone(a, alone) : NULL;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
	size_t nbytes;
	if (__builtin_mul_overflow(count, size, &nbytes))
		out_of_memory(SIZE_MAX);
	return arena_alloc(a, nbytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t length)
{
	char *copy = arena_alloc(a, length + 1);
	if (length)
		memcpy(copy, s, length);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_vprintf(struct arena *a, const char *format, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n < 0)
		return arena_strdup(a, "");
	char *s = arena_alloc(a, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, format, ap);
	return s;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	char *s = arena_vprintf(a, format, ap);
	va_end(ap);
	return s;
}

const char *arena_join(struct arena *a, const char *first, const char *between, const char *second)
{
	return !first ? second : !second ? first : arena_printf(a, "%s%s%s", first, between, second);
}

void arena_defer(struct arena *a, void (*release)(void *), void *handle)
{
	struct arena_deferred *d = ARENA_NEW(a, struct arena_deferred);
	d->next = a->deferred;
	d->release = release;
	d->handle = handle;
	a->deferred = d;
}

void arena_take(struct arena *to, struct arena *from)
{
	struct arena_block **last_block = &to->blocks; // behind the one that still has room
	struct arena_deferred **last = &from->deferred;

	while (*last_block)
		last_block = &(*last_block)->next;
	while (*last)
		last = &(*last)->next;
	*last_block = from->blocks;
	*last = to->deferred; // what came later is released first
	to->deferred = from->deferred;
	*from = (struct arena){ 0 };
}

void arena_done(struct arena *a)
{
	while (a->deferred) {
		struct arena_deferred *d = a->deferred;
		a->deferred = d->next;
		d->release(d->handle);
	}
	while (a->blocks) {
		struct arena_block *b = a->blocks;
		a->blocks = b->next;
		free(b);
	}
}
