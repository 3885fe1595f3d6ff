// SPDX-License-Identifier: Apache-2.0
// What `assay cell` calls: the child's side of a cell, of a probe of an engine, of a question to a driver. Each is a whole
// process.
#ifndef ASSAY_CELL_CELL_H
#define ASSAY_CELL_CELL_H

// The child's side, called by `assay cell`: request on fd 0, events on fd 3. Returns the exit code.
int cell_child(void);
// `assay cell --probe ENGINE/BUILD`: devices of one build of an engine as JSON on fd 3. A library of one build is never loaded
// beside another's.
int cell_child_probe(const char *engine_build);
// `assay cell --driver NAME`: what a vendor's library says (driver_ask), as JSON on fd 3.
int cell_child_driver(const char *name);

#endif
