// SPDX-License-Identifier: Apache-2.0
// Causes: what engines, drivers and browsers say when something goes wrong, each known message once, with what it means and
// what to do about it. Engines ask it for the status of a message, the child whether another graph form is worth a try, the
// parent for the sentence in the row. The words of the engine are never thrown away: the row keeps them as raw_error.
#ifndef ASSAY_BACKEND_CAUSE_H
#define ASSAY_BACKEND_CAUSE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct cause {
	enum status status; // what it is
	bool of_form;       // an operator, a type or a shape is refused: another form of the graph may be taken
	bool of_host;       // memory of the host was not given: a limit of this process may be why
	bool is_doubtful;   // words of the user's file may be what it was known by (cause_set_file)
	const char *text;   // a sentence; NULL: the message says it well enough
	const char *hint;   // what to do; NULL: nothing is known
};

// `engine`, `provider`: where the message came from; NULL: not known, then rows of any engine and of no provider count. False:
// not a known one. Texts are in `a`.
bool cause_find(struct cause *out, struct arena *a, const char *engine, const char *provider, const char *message);
// Its status, or `told` for an unknown one.
enum status cause_status(const char *engine, const char *provider, const char *message, enum status told);

// Of a child whose answers no parent explains. NOT_ASKED or NO_SPACE: the words of *err, of status `told`, say that a limit of
// this process or the machine was in the way, or memory was not given and a limit of the user's is why, which *err then names.
// Else `told`.
enum status cause_in_the_way(const char *engine, const char *provider, enum status told, struct error *err);

// The user's .onnx that this thread's next messages are about; NULL: none. Engines repeat the names of its nodes and tensors:
// what would tell of this machine by words that stand in it or its path, whatever lies between their letters, is NOT_ASKED and
// says so, and other messages are not known by such words. *path stays.
void cause_set_file(const char *path);
bool cause_is_own(const char *words); // do these?

// For tests and documents.
size_t cause_count(void);
const char *cause_pattern(size_t i);
size_t cause_row(const char *engine, const char *provider, const char *message); // the row that counts; cause_count() for none

#endif
