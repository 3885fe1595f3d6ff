// SPDX-License-Identifier: Apache-2.0
// The child's side of the line to its parent: how it begins, its request on fd 0, its events on fd 3. The parent's side:
// run/child.h.
#ifndef ASSAY_CELL_SAY_H
#define ASSAY_CELL_SAY_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"
#include "base/text.h"

#define CHILD_LINE_LIMIT ((size_t)16 << 20) // of an event

// In the child, before it has threads: asks to die with the parent and checks that it still lives; returns in a process of its
// own, below a guard that ends everything below itself. `request` is everything up to the first newline.
enum status child_begin(struct text *request, struct error *err);
// Writes a line to fd 3, with its newline; ends the process when the parent is gone.
void child_say(const char *line, size_t length);

// Events, one JSON object a line on fd 3. Steals the object.
void say(json_t *event);
// What is said from now on is dropped, until it is called with false: of another model or platform than the cell's.
void say_nothing(bool mute);
void say_phase(const char *phase);
void say_error(const struct error *err); // cleans the text
void say_done(void);
// Waits at a gate (run/cell.h) for the parent's answer; false: it is to end, or the parent is gone.
bool say_meet(const char *gate);
#define NODES_MOST ((size_t)44 << 20) // of json_weight: two such lists are within HEARD_MOST
// {"event":name,"nodes":nodes}, unless the parent would not keep so long a list: then false, and nothing is said.
bool say_nodes(const char *name, json_t *nodes);
void say_notice(const char *text); // words for the person that waits
// A library is being loaded, and runs code of its own; NULL: it is loaded.
void say_loading(const char *file);
void say_waiting(const char *lock); // another process has it; NULL: no more
// {"event":"memory",...}: what /proc/self/smaps_rollup says now, and the largest resident set so far; nothing where there is
// neither.
void say_memory(const char *phase);
long long memory_anonymous_kib(void); // of this process, private and shared; -1: it cannot be read

#endif
