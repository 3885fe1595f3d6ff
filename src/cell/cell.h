// SPDX-License-Identifier: Apache-2.0
// What `assay cell` calls: the child's side of a cell, of a probe of an engine, of a question to a driver. Each is a whole
// process.
#ifndef ASSAY_CELL_CELL_H
#define ASSAY_CELL_CELL_H

#include "base/arena.h"
#include "base/error.h"
#include "platform/platform.h"

// A model that writes down what a sound says, by a loop of graphs: pipeline/ has it, which comes after this folder.
struct cell_dictation {
	// On the platform, in a precision (NULL: as stored). In `a`, which closes it.
	enum status (*open)(void **handle, struct arena *a, const char *folder, const struct target *t, const char *precision,
		struct error *err);
	// What the sound in this file says, in `a`.
	enum status (*hear)(void *handle, struct arena *a, const char *path, const char **text, struct error *err);
};
// The child's side, called by `assay cell`: request on fd 0, events on fd 3. Returns the exit code.
int cell_child(const struct cell_dictation *dictation);
// `assay cell --probe ENGINE/BUILD`: devices of one build of an engine as JSON on fd 3. A library of one build is never loaded
// beside another's.
int cell_child_probe(const char *engine_build);
// `assay cell --driver NAME`: what a vendor's library says (driver_ask), as JSON on fd 3.
int cell_child_driver(const char *name);

#endif
