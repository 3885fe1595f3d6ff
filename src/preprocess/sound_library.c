// SPDX-License-Identifier: Apache-2.0
#include "preprocess/sound_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct sound_library table;
static struct error sndfile_failure, soxr_failure;

static void *open_library(const char *soname, const char *package, const char *purpose, struct error *failure)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		error_set(failure, STATUS_UNAVAILABLE, "%s is not on this machine; install %s (Debian's name) to %s", soname,
			package, purpose);
	return library;
}

// A function's address in a pointer to a function: ISO C has no cast for that, POSIX says it works.
#define TAKE(function, failure) \
	if (library && !(*(void **)&table.function = dlsym(library, #function))) \
		error_set(failure, STATUS_UNAVAILABLE, "the library is too old: it has no %s", #function);

static void load_sndfile(void)
{
	void *library = open_library("libsndfile.so.1", "libsndfile1", "read and write sound files", &sndfile_failure);

#define X(function) TAKE(function, &sndfile_failure)
	SNDFILE_FUNCTIONS(X)
#undef X
}

static void load_soxr(void)
{
	void *library = open_library("libsoxr.so.0", "libsoxr0", "bring sounds to a model's rate", &soxr_failure);

#define X(function) TAKE(function, &soxr_failure)
	SOXR_FUNCTIONS(X)
#undef X
}

enum status sndfile_load(const struct sound_library **out, struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_sndfile);
	*out = &table;
	return sndfile_failure.status ? error_set(err, sndfile_failure.status, "%s", sndfile_failure.text) : STATUS_OK;
}

enum status soxr_load(const struct sound_library **out, struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_soxr);
	*out = &table;
	return soxr_failure.status ? error_set(err, soxr_failure.status, "%s", soxr_failure.text) : STATUS_OK;
}
