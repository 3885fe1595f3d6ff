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

#include "base/cache.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"

enum { MOST_TRIES = 16 };

static struct {
	pthread_mutex_t mutex;
	char token[CLAIM_TOKEN_LENGTH + 1];
	char folder[4096];  // the claims' folder then: a test has several caches
	pid_t pid;          // a forked process is another
	char problem[2304]; // "": none
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

// The file, locked, and still under its name: a sweeper may have had the lock between open and flock, and removed it. -1: not
// this one; where `why` is filled not another one either.
static int take(const char *path, struct error *why)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0) {
		if (errno != EEXIST)
			error_errno(why, "%s", path);
		return -1;
	}
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && st.st_nlink > 0)
		return fd;
	if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) {
		error_set(why, STATUS_FAILED, "the cache's file system has no locks");
		unlink(path);
	}
	close(fd);
	return -1;
}

// The descriptor stays open for the life of the process: it is the claim.
static void make_claim(struct arena *a, const char *folder)
{
	struct error why = { 0 };
	char path[sizeof own.folder + 32];

	cache_part(&folder, a, "claim", &why);
	snprintf(own.folder, sizeof own.folder, "%s", folder);
	own.pid = getpid();
	own.problem[0] = 0;
	new_token(own.token);
	for (int i = 0; i < MOST_TRIES && !why.status; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, own.token);
		if (take(path, &why) >= 0)
			return;
		new_token(own.token);
	}
	snprintf(own.problem, sizeof own.problem,
		"what killed programs leave in the cache is not removed, because nobody can tell whether they live: %s",
		why.text);
}

const char *claim_token(void)
{
	struct arena a = { 0 };
	const char *folder = arena_printf(&a, "%s/claim", cache_dir(&a));

	pthread_mutex_lock(&own.mutex);
	if (own.pid != getpid() || !text_is(own.folder, folder))
		make_claim(&a, folder);
	pthread_mutex_unlock(&own.mutex);
	arena_done(&a);
	return own.token;
}

// The file of every claim, opened, until `visit` says that it has seen enough.
static void visit_claims(bool (*visit)(void *context, int folder, const char *token, int file), void *context)
{
	struct arena a = { 0 };
	const char *folder = cache_find(&a, "claim");
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *e;
	bool goes_on = true;

	while (goes_on && dir && (e = readdir(dir))) {
		int fd = is_token(e->d_name) ? openat(dirfd(dir), e->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;

		if (fd < 0)
			continue;
		goes_on = visit(context, dirfd(dir), e->d_name, fd);
		close(fd);
	}
	if (dir)
		closedir(dir);
	arena_done(&a);
}

struct sweeping {
	void (*over)(void *context, const char *token);
	void *context;
};

// Ours too is locked, by another descriptor.
static bool sweep_one(void *context, int folder, const char *token, int file)
{
	const struct sweeping *s = context;

	if (!flock(file, LOCK_EX | LOCK_NB)) {
		s->over(s->context, token);
		unlinkat(folder, token, 0);
	}
	return true;
}

void claim_sweep(void (*over)(void *context, const char *token), void *context)
{
	visit_claims(sweep_one, &(struct sweeping){ over, context });
}

struct others {
	const char *mine;
	bool live;
};

static bool is_none_of_others(void *context, int folder, const char *token, int file)
{
	struct others *o = context;

	(void)folder;
	o->live = !text_is(token, o->mine) && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	return !o->live;
}

bool claim_others_live(void)
{
	struct others o = { .mine = claim_token() };

	visit_claims(is_none_of_others, &o);
	return o.live;
}

const char *claim_problem(void)
{
	claim_token();
	return own.problem[0] ? own.problem : NULL;
}
