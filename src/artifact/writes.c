// SPDX-License-Identifier: Apache-2.0
#include "artifact/writes.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif

#include "artifact/identity.h"
#include "base/arena.h"

#ifdef __linux__
// Links, renames and times change no content: what the file system says of them afterwards tells.
static const uint32_t writes = IN_MODIFY | IN_CLOSE_WRITE;

int writes_watch(const char *model, const char *beside)
{
	struct arena a = { 0 };
	struct model_file *files;
	size_t count;
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	bool all = watch >= 0;

	model_files(model, &a, &files, &count);
	for (size_t i = 0; i < count && all; i++)
		all = files[i].path == NULL || inotify_add_watch(watch, files[i].path, writes) >= 0 || errno == ENOENT;
	all = all && (beside == NULL || inotify_add_watch(watch, beside, writes) >= 0);
	arena_done(&a);
	if (all || watch < 0)
		return watch;
	close(watch);
	return -1;
}

bool writes_seen(int watch)
{
	struct inotify_event event;

	// A file has no name in its events, so each is as long as the structure. One that is there is one too many.
	return watch >= 0 && read(watch, &event, sizeof event) > 0;
}
#else
int writes_watch(const char *model, const char *beside)
{
	(void)model;
	(void)beside;
	return -1;
}

bool writes_seen(int watch)
{
	(void)watch;
	return false;
}
#endif
