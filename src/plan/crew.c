// SPDX-License-Identifier: Apache-2.0
// crew.h: a thread a step, a queue of events behind an eventfd. What it does not do: decide who works when (schedule.h).
#include "plan/crew.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct member {
	struct crew *crew;
	size_t line;
	void (*work)(void *);
	void *context;
	pthread_t thread;
	bool works, granted;
};

struct queued {
	struct crew_event event;
	struct queued *next;
};

struct crew {
	pthread_mutex_t mutex;
	pthread_cond_t grant;
	struct member *members;
	size_t count;
	struct queued *first, **last;
	int wake;
	volatile sig_atomic_t *stop; // the caller's
	bool polls_stop;
	volatile sig_atomic_t stopped; // the steps'
};

static void on_wake(int signal_number)
{
	(void)signal_number; // it is enough that a sleep ends
}

enum status crew_open(struct crew **out, size_t lines, volatile sig_atomic_t *stop, bool polls_stop, struct error *err)
{
	struct sigaction action = { .sa_handler = on_wake };
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct crew *c = wake < 0 ? NULL : calloc(1, sizeof *c);

	if (wake < 0)
		return error_errno(err, "cells side by side");
	if (!c || !(c->members = calloc(lines ? lines : 1, sizeof *c->members)))
		abort();
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->grant, NULL);
	c->last = &c->first;
	c->wake = wake;
	c->stop = stop;
	c->polls_stop = polls_stop;
	c->count = lines;
	sigemptyset(&action.sa_mask);
	sigaction(SIGURG, &action, NULL); // without SA_RESTART
	*out = c;
	return STATUS_OK;
}

void crew_close(struct crew *c)
{
	if (!c)
		return;
	for (struct queued *q = c->first; q;) {
		struct queued *next = q->next;

		free(q);
		q = next;
	}
	close(c->wake);
	pthread_cond_destroy(&c->grant);
	pthread_mutex_destroy(&c->mutex);
	free(c->members);
	free(c);
}

volatile sig_atomic_t *crew_stop_flag(struct crew *c)
{
	return &c->stopped;
}

void crew_tell(struct crew *c, size_t line, enum crew_kind kind, const char *text)
{
	struct queued *q = calloc(1, sizeof *q);

	if (!q)
		abort();
	q->event.line = line;
	q->event.kind = kind;
	snprintf(q->event.text, sizeof q->event.text, "%s", text ? text : "");
	pthread_mutex_lock(&c->mutex);
	*c->last = q;
	c->last = &q->next;
	pthread_mutex_unlock(&c->mutex);
	eventfd_write(c->wake, 1);
}

void crew_want(struct crew *c, size_t line)
{
	struct member *m = &c->members[line];

	crew_tell(c, line, CREW_WANT, NULL);
	pthread_mutex_lock(&c->mutex);
	while (!m->granted && !c->stopped)
		pthread_cond_wait(&c->grant, &c->mutex);
	m->granted = false;
	pthread_mutex_unlock(&c->mutex);
}

void crew_grant(struct crew *c, size_t line)
{
	pthread_mutex_lock(&c->mutex);
	c->members[line].granted = true;
	pthread_cond_broadcast(&c->grant);
	pthread_mutex_unlock(&c->mutex);
}

void crew_stop(struct crew *c)
{
	pthread_mutex_lock(&c->mutex);
	c->stopped = 1;
	pthread_cond_broadcast(&c->grant);
	for (size_t i = 0; i < c->count; i++)
		if (c->members[i].works)
			pthread_kill(c->members[i].thread, SIGURG);
	pthread_mutex_unlock(&c->mutex);
}

static void *run(void *context)
{
	struct member *m = context;

	m->work(m->context);
	crew_tell(m->crew, m->line, CREW_DONE, NULL);
	return NULL;
}

enum status crew_start(struct crew *c, size_t line, void (*work)(void *), void *context, struct error *err)
{
	struct member *m = &c->members[line];
	sigset_t theirs, before;

	*m = (struct member){ .crew = c, .line = line, .work = work, .context = context, .works = true };
	sigfillset(&theirs);
	sigdelset(&theirs, SIGURG);
	sigdelset(&theirs, SIGBUS); // a blocked one ends the program whatever its handler would do
	// A thread begins with the mask of who makes it.
	pthread_sigmask(SIG_SETMASK, &theirs, &before);
	errno = pthread_create(&m->thread, NULL, run, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errno == 0)
		return STATUS_OK;
	m->works = false;
	return error_errno(err, "a thread for a cell");
}

static bool take(struct crew *c, struct crew_event *out)
{
	pthread_mutex_lock(&c->mutex);
	struct queued *q = c->first;
	if (q) {
		c->first = q->next;
		if (!c->first)
			c->last = &c->first;
		*out = q->event;
	}
	pthread_mutex_unlock(&c->mutex);
	free(q);
	if (!q)
		return false;
	if (out->kind == CREW_DONE) {
		struct member *m = &c->members[out->line];

		pthread_join(m->thread, NULL);
		pthread_mutex_lock(&c->mutex);
		m->works = false;
		pthread_mutex_unlock(&c->mutex);
	}
	return true;
}

bool crew_hear(struct crew *c, struct crew_event *out)
{
	static const struct timespec pause = { .tv_nsec = 100000000 };
	sigset_t all, before;
	eventfd_t ignored;
	bool stops;

	sigfillset(&all);
	while (!take(c, out)) {
		// With signals held between the look at the flag and the sleep, none is missed.
		pthread_sigmask(SIG_SETMASK, &all, &before);
		stops = *c->stop && !c->stopped;
		if (!stops &&
			ppoll(&(struct pollfd){ .fd = c->wake, .events = POLLIN }, 1, c->polls_stop ? &pause : NULL, &before) > 0)
			eventfd_read(c->wake, &ignored);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		if (stops)
			return false;
	}
	return true;
}
