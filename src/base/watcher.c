// SPDX-License-Identifier: Apache-2.0
#include "base/watcher.h"

#include <signal.h>
#include <time.h>

static void *run(void *context)
{
	struct watcher *w = context;
	struct timespec until;

	pthread_mutex_lock(&w->lock);
	while (!w->is_ending) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += (time_t)(w->every_ms / 1e3);
		until.tv_nsec += (long)((w->every_ms - 1e3 * (double)(time_t)(w->every_ms / 1e3)) * 1e6);
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		while (!w->is_ending && pthread_cond_timedwait(&w->end, &w->lock, &until) == 0)
			;
		if (!w->is_ending)
			w->look(w->context);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int watcher_begin(struct watcher *w, double every_ms, void (*look)(void *context), void *context)
{
	enum { STACK_NBYTES = 128 << 10 };
	pthread_condattr_t clock;
	pthread_attr_t how;
	sigset_t all, before;

	*w = (struct watcher){ .every_ms = every_ms, .look = look, .context = context };
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&w->end, &clock);
	pthread_condattr_destroy(&clock);
	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, STACK_NBYTES);
	sigfillset(&all); // signals are the other threads'
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failure = pthread_create(&w->thread, &how, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&how);
	if (failure != 0) {
		pthread_cond_destroy(&w->end);
		pthread_mutex_destroy(&w->lock);
	}
	return failure;
}

void watcher_end(struct watcher *w)
{
	watcher_hold(w);
	w->is_ending = true;
	pthread_cond_signal(&w->end);
	watcher_release(w);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->end);
	pthread_mutex_destroy(&w->lock);
}

void watcher_hold(struct watcher *w)
{
	pthread_mutex_lock(&w->lock);
}

void watcher_release(struct watcher *w)
{
	pthread_mutex_unlock(&w->lock);
}
