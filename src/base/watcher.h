// SPDX-License-Identifier: Apache-2.0
// A thread that looks, every so often, at what another one does: a call into a library that may not come back.
#ifndef ASSAY_BASE_WATCHER_H
#define ASSAY_BASE_WATCHER_H

#include <pthread.h>
#include <stdbool.h>

struct watcher {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t end;
	double every_ms;
	void (*look)(void *context);
	void *context;
	bool is_ending;
};

// From now on `look` is called every `every_ms` in a thread of its own, with 128 KiB of stack and all signals blocked, until
// watcher_end. *w stays where it is until then. 0, or why there is no thread: an errno; then watcher_end must not be called.
int watcher_begin(struct watcher *w, double every_ms, void (*look)(void *context), void *context);
// Waits for a look that is under way; there is none afterwards.
void watcher_end(struct watcher *w);

// No look is under way between the two, for what it reads or writes.
void watcher_hold(struct watcher *w);
void watcher_release(struct watcher *w);

#endif
