// SPDX-License-Identifier: Apache-2.0
// A folder for the files of a test program, made and removed by cmocka's group, and an arena for what is named and read there.
// Included behind cmocka.h.
#ifndef ASSAY_TESTS_SCRATCH_H
#define ASSAY_TESTS_SCRATCH_H

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char scratch[PATH_MAX]; // its real path, under TMPDIR or /tmp
static struct arena arena;     // until scratch_remove

// The path of `name` in the folder.
static inline const char *path(const char *name)
{
	return arena_printf(&arena, "%s/%s", scratch, name);
}

// A group's setup and teardown: 0, or -1.
static inline int scratch_make(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = arena_printf(&arena, "%s/assay-%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", program_invocation_short_name);

	(void)state;
	return mkdtemp(folder) && realpath(folder, scratch) ? 0 : -1;
}

static inline int scratch_remove(void **state)
{
	enum status s = file_remove_tree(scratch, NULL);

	(void)state;
	arena_done(&arena);
	return s || file_exists(scratch) ? -1 : 0;
}

// A file in the folder, and the folders above it.
static inline void put_bytes(const char *name, const void *data, size_t nbytes)
{
	const char *file = path(name);

	assert_int_equal(file_mkdirs(arena_strndup(&arena, file, (size_t)(strrchr(file, '/') - file)), NULL), STATUS_OK);
	assert_int_equal(file_put(file, data, nbytes, NULL), STATUS_OK);
}

static inline void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

// How many files and folders lie in it, hidden ones too; 0 where it is absent.
static inline size_t names_in(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	size_t count = 0;

	while (d && (e = readdir(d)))
		count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return count;
}

static inline bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

#endif
