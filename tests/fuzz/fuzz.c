// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/visible.h"

// ---- memory -------------------------------------------------------------------------------------------------------------

// AddressSanitizer's, where it is linked.
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *, size_t), void (*on_free)(const volatile void *));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *p);

static atomic_bool counting;
static atomic_llong held, most_held;

static void on_malloc(const volatile void *p, size_t nbytes)
{
	if (!p || !atomic_load(&counting))
		return;
	long long now = atomic_fetch_add(&held, (long long)nbytes) + (long long)nbytes, most = atomic_load(&most_held);

	while (now > most && !atomic_compare_exchange_weak(&most_held, &most, now))
		;
}

static void on_free(const volatile void *p)
{
	if (p && atomic_load(&counting))
		atomic_fetch_sub(&held, (long long)__sanitizer_get_allocated_size(p));
}

static void finding(const char *words)
{
	fprintf(stderr, "fuzz: %s\n", words);
	abort();
}

static void start_counting(void)
{
	atomic_store(&held, 0);
	atomic_store(&most_held, 0);
	atomic_store(&counting, true);
}

// A count that counts nothing would find nothing.
static void try_count(void)
{
	enum { SOME = 12345 };
	void *volatile piece;

	start_counting();
	piece = malloc(SOME);
	free(piece);
	atomic_store(&counting, false);
	if (atomic_load(&most_held) < SOME || atomic_load(&held) >= SOME) // other threads count too
		finding("what is allocated is not counted");
}

void fuzz_memory_begin(void)
{
	static bool installed;

	if (!__sanitizer_install_malloc_and_free_hooks || !__sanitizer_get_allocated_size)
		return;
	if (!installed) {
		if (!__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free))
			finding("the sanitizer takes no more hooks");
		installed = true;
		try_count();
	}
	start_counting();
}

void fuzz_memory_end(size_t size, size_t fixed, size_t each)
{
	atomic_store(&counting, false);
	size_t most = (size_t)atomic_load(&most_held), bound = fixed + size * each;
	char words[160];

	if (getenv("FUZZ_SHOW_MEMORY"))
		fprintf(stderr, "fuzz: %zu bytes for %zu of input, bound %zu\n", most, size, bound);
	if (most <= bound && most <= FUZZ_MEMORY_MOST)
		return;
	snprintf(words, sizeof words, "%zu bytes of input took %zu bytes of memory at one time; the bound is %zu", size, most,
		bound < FUZZ_MEMORY_MOST ? bound : FUZZ_MEMORY_MOST);
	finding(words);
}

// ---- refusals -----------------------------------------------------------------------------------------------------------

void fuzz_refused(enum status s, const struct error *e, const char *begins)
{
	size_t length = strnlen(e->text, sizeof e->text), n;
	uint32_t code;

	if (!s || e->status != s)
		finding("a refusal whose error has another status");
	if (!length || length == sizeof e->text || (begins && strncmp(e->text, begins, strlen(begins))))
		finding("a refusal whose sentence is empty, or begins otherwise");
	for (size_t i = 0; i < length; i += n)
		if (!(n = visible_utf8(e->text + i, length - i, &code)) || visible_is_control(code))
			finding("a refusal whose sentence is not one line of text");
}

// ---- files --------------------------------------------------------------------------------------------------------------

static char folder[PATH_MAX];

static void remove_folder(void)
{
	file_remove_tree(folder, NULL);
}

const char *fuzz_folder(void)
{
	const char *where = getenv("TMPDIR");
	char made[PATH_MAX];

	if (*folder)
		return folder;
	if (snprintf(made, sizeof made, "%s/assay-fuzz-XXXXXX", where && *where ? where : "/tmp") >= (int)sizeof made ||
		!mkdtemp(made) || !realpath(made, folder))
		finding("no folder for files");
	atexit(remove_folder);
	return folder;
}

const char *fuzz_put(const char *name, const void *data, size_t size)
{
	static struct {
		char path[PATH_MAX];
	} paths[12];
	static size_t count;
	char path[PATH_MAX];
	size_t i = 0;

	if (snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name) >= (int)sizeof path)
		finding("the name of a file is too long");
	while (i < count && strcmp(paths[i].path, path))
		i++;
	if (i == sizeof paths / sizeof *paths)
		finding("more files than there is room for");
	if (i == count)
		memcpy(paths[count++].path, path, strlen(path) + 1);
	FILE *f = fopen(path, "wb");
	if (!f || (size && fwrite(data, 1, size, f) != size) || fclose(f))
		finding("a file cannot be written");
	return paths[i].path;
}

void fuzz_touch(const void *data, size_t nbytes)
{
	static volatile uint8_t sink;

	for (size_t i = 0; i < nbytes; i++)
		sink ^= ((const uint8_t *)data)[i];
}
