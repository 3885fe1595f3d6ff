// SPDX-License-Identifier: Apache-2.0
// Threads that work beside each other, and the one thread that hears of them. A step of work is a function in a thread of its
// own; what it has to tell comes to the caller's thread as events, in order, so that store, screen and counters need no locks.
// Signals reach the caller's thread only; a stop wakes those of the others that wait for a child process.
#ifndef ASSAY_PLAN_CREW_H
#define ASSAY_PLAN_CREW_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum crew_kind {
	CREW_PHASE,  // what it is doing
	CREW_NOTICE, // words for the person
	CREW_WANT,   // it waits for crew_grant
	CREW_DONE,   // the step is over and its thread gone
};
struct crew_event {
	size_t line;
	enum crew_kind kind;
	char text[320];
};

struct crew;
// `stop`: of the caller's signal handler; `polls_stop`: somebody sets it of whom this thread gets no signal, so that it is looked
// at ten times a second. `lines`: numbers that steps are known by, from 0. SIGURG gets a handler that does nothing, and keeps it.
enum status crew_open(struct crew **out, size_t lines, volatile sig_atomic_t *stop, bool polls_stop, struct error *err);
void crew_close(struct crew *c); // after every step was heard to be done; NULL is fine

enum status crew_start(struct crew *c, size_t line, void (*work)(void *), void *context, struct error *err);
// Waits. False, at once and again: the stop flag is set and no event is there; see crew_stop.
bool crew_hear(struct crew *c, struct crew_event *out);
void crew_grant(struct crew *c, size_t line);
// Sets the flag that the steps look at, and wakes them.
void crew_stop(struct crew *c);
volatile sig_atomic_t *crew_stop_flag(struct crew *c);

// For steps, from their threads.
void crew_tell(struct crew *c, size_t line, enum crew_kind kind, const char *text);
void crew_want(struct crew *c, size_t line); // returns when it was granted, or with the stop

#endif
