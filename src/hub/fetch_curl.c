// SPDX-License-Identifier: Apache-2.0
#include "hub/fetch_curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct curl_table table;
static struct error failure;

// A function's address in a pointer to a function: ISO C has no cast for that, POSIX says it works.
static void *take(void *library, const char *name, void *to)
{
	void *at = dlsym(library, name);
	memcpy(to, &at, sizeof at);
	return at;
}

static void load(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so" };
	void *library = NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		error_set(&failure, STATUS_UNAVAILABLE,
			"libcurl.so.4 is not on this machine; install libcurl4 (Debian's name) to fetch models");
		return;
	}
	const char *absent = NULL;
#define X(member, function) \
	if (!take(library, #function, &table.member)) \
		absent = #function;
	CURL_FUNCTIONS(X)
#undef X
	if (absent)
		error_set(&failure, STATUS_UNAVAILABLE, "libcurl is too old: it has no %s", absent);
	else if (table.global_init(CURL_GLOBAL_DEFAULT))
		error_set(&failure, STATUS_UNAVAILABLE, "libcurl cannot be started");
}

enum status curl_load(const struct curl_table **out, struct error *err)
{
	pthread_once(&once, load);
	if (failure.status)
		return error_set(err, failure.status, "%s", failure.text);
	*out = &table;
	return STATUS_OK;
}
