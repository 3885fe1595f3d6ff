// SPDX-License-Identifier: Apache-2.0
#include "base/claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"

enum { MOST_TRIES = 16 };

static struct {
	pthread_mutex_t mutex;
	char token[CLAIM_TOKEN_LENGTH + 1];
	char folder[4096];                   // the claims' folder then: a test has several caches
	pid_t pid;                           // a forked process is another
	bool has_no_locks;
} own = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void new_token(char out[CLAIM_TOKEN_LENGTH + 1])
{
	static uint64_t count;

	snprintf(out, CLAIM_TOKEN_LENGTH + 1, "%016llx", (unsigned long long)splitmix64(process_nonce(), count++));
}

static bool is_token(const char *name)
{
	return strlen(name) == CLAIM_TOKEN_LENGTH && strspn(name, "0123456789abcdef") == CLAIM_TOKEN_LENGTH;
}

// The file, locked, and still under its name: a sweeper may have had the lock between open and flock, and removed it. -1: not this one;
// *never: not another one either.
static int take(const char *path, bool *never)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0) {
		*never = errno != EEXIST;
		return -1;
	}
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && st.st_nlink > 0)
		return fd;
	if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) {
		own.has_no_locks = *never = true;
		unlink(path);
	}
	close(fd);
	return -1;
}

// The descriptor stays open for the life of the process: it is the claim.
static void make_claim(const char *folder)
{
	bool never = file_mkdirs(folder, NULL) != STATUS_OK;
	char path[sizeof own.folder + 32];

	snprintf(own.folder, sizeof own.folder, "%s", folder);
	own.pid = getpid();
	new_token(own.token);
	for (int i = 0; i < MOST_TRIES && !never; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, own.token);
		if (take(path, &never) >= 0)
			return;
		new_token(own.token);
	}
}

const char *claim_token(void)
{
	struct arena a = { 0 };
	const char *folder = arena_printf(&a, "%s/claim", file_cache_dir(&a));

	pthread_mutex_lock(&own.mutex);
	if (own.pid != getpid() || !text_is(own.folder, folder))
		make_claim(folder);
	pthread_mutex_unlock(&own.mutex);
	arena_done(&a);
	return own.token;
}

void claim_sweep(void (*over)(void *context, const char *token), void *context)
{
	struct arena a = { 0 };
	DIR *dir = opendir(arena_printf(&a, "%s/claim", file_cache_dir(&a)));
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int fd = is_token(e->d_name) ? openat(dirfd(dir), e->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;

		if (fd < 0)
			continue;
		// Ours too is locked, by another descriptor.
		if (!flock(fd, LOCK_EX | LOCK_NB)) {
			over(context, e->d_name);
			unlinkat(dirfd(dir), e->d_name, 0);
		}
		close(fd);
	}
	if (dir)
		closedir(dir);
	arena_done(&a);
}

const char *claim_problem(void)
{
	claim_token();
	return own.has_no_locks ? "the cache's file system has no locks: what killed programs leave in it is not removed, because nobody can tell whether they live"
		: NULL;
}
