// SPDX-License-Identifier: Apache-2.0
// A cell: one question, run in a child process and judged.
//
//   parent (cell.c)                         child: `assay cell` (child.c)
//   spawn, write request JSON to its fd 0   read request; PR_SET_PDEATHSIG, check the parent is still there
//   read events from its fd 3, one JSON     {"event":"phase","phase":"build"} ... "load" "first" "warm" "explain"
//   object a line; sample /proc in the      {"event":"row", ...fields of struct row...}      (may come in pieces; later wins)
//   untimed phases; kill the group at the   {"event":"samples","ms":[...]}
//   time or memory limit                    {"event":"placement","nodes":[...]} {"event":"error","status":"unsupported","text":"..."}
//                                           {"event":"profile","nodes":[...]}: the engine's own nodes with their times
//                                           {"event":"shape","sequence":16}: of the inputs; the reference gets the same
//                                           {"event":"form","index":0}: of the platform's graph forms; the float32 graph is judged in it
//                                           {"event":"compiled"}: for a device that is not here; nothing runs
//                                           {"event":"done"}  {"event":"notice","text":"..."}
// Outputs do not go through the pipe: the child writes them as safetensors to request.outputs_path, the parent judges.
// Anything on fd 3 that is not such a line, an exit without "done", a signal: verdict crashed or failed, with the cause.
#ifndef ASSAY_MEASURE_CELL_H
#define ASSAY_MEASURE_CELL_H

#include <signal.h>

#include "measure/row.h"
#include "measure/variant.h"
#include "platform/platform.h"

struct cell {
	const char *model;                   // as asked
	const char *path;                    // folder of the checkpoint, or an .onnx file
	const char *revision;
	const char *platform, *device, *options;     // of struct target; options: user's over the platform's
	const char *requested;               // the platform that was asked for, where this is a fallback; NULL: the same
	int64_t attempt, fallback_of;        // of a chain of fallbacks: from 2 on, and the row of the first try; 0: a first try
	const char *fallback_reason;
	int64_t batch, sequence;             // sequence 0: the default (128), cut to what the model takes
	int64_t runs;                        // exactly so many timed ones; 0: as variant.effort says
	int64_t prompt_tokens, new_tokens;   // generation; new_tokens 0: one forward pass
	int64_t layers;                      // 0: all
	bool shortened;                      // those are fewer than the model's configuration says
	uint64_t seed;                       // of the inputs (weights have their own)
	bool synthetic;                      // weights are synthetic, as their file says
	bool is_static;                      // fixed shapes
	bool is_dynamic;                     // none of the platform's forms with fixed shapes
	bool no_explain;                     // where its nodes ran is known from a cell before
	bool no_fallback;                    // a node that runs elsewhere makes the cell unsupported
	bool allow_fallback;                 // the platform may take no node at all: then the outputs are judged as if it had
	double timeout_s;                    // wall, for the whole cell
	double planned_s;                    // of it, before the cell was run
	double quiet_wait_s;                 // wait at most so long for a calm machine before it begins
	int64_t memory_bytes;                // limit; 0: none
	int64_t second_bytes;                // anonymous memory that opening it once more would take (predicted); 0: not known
	bool force;                          // try what does not fit
	const char *golden;                  // safetensors with in.* and out.*, or NULL
	const char *identity;                // model_identity of the path; NULL: found out when it is asked for
	const char *key;                     // what --resume knows the cell by; NULL: cell_key
	bool profile;                        // also how long each of the engine's nodes takes, in a session of its own
	struct variant variant;
};

// Everything measured. All memory in the caller's arena.
struct cell_result {
	struct row row;
	enum verdict verdict;
	double *sample_ms;
	size_t sample_count;
	json_t *placement;                   // array of {name, op, dtype, where, kernel, reason, fused, elsewhere, ms}; may be NULL; freed with the arena
	json_t *profile;                     // array of the engine's nodes: name, op, kernel, where, scope, named_by, drawn_nodes, ms, flops, bytes, ...; may be NULL
	json_t *checks;                      // array, one object an output: name, max_abs_error, ...; may be NULL
};

// What a caller may watch; every member may be NULL.
struct cell_watch {
	void (*phase)(void *context, const char *phase);
	void (*notice)(void *context, const char *text);     // something that the person must do: open an address in a browser
	void *context;
	volatile sig_atomic_t *stop;         // non-zero: end the child, verdict interrupted
};

// What a row says of a cell's weights: "synthetic", "real" (of a checkpoint), or "as in the file" (of an .onnx file that assay did not fill).
const char *cell_weights_word(const struct cell *c);
// Hash of the question, for --resume: the contents of the model's files and of the golden file, shapes, platform, options, precision...
// Reads every file of the model where c->identity is NULL. Where what one of them contains cannot be known the key is another one at every
// call, and no row has it.
const char *cell_key(const struct cell *c, struct arena *a);

// Runs the cell in a child, then judges (running a reference cell where needed and not cached). A bad outcome is a verdict,
// not an error: an error here means that assay itself could not do its work.
enum status cell_run(const struct cell *c, const struct cell_watch *watch, struct arena *a, struct cell_result *out, struct error *err);

// The child's side, called by `assay cell`: request on fd 0, events on fd 3. Returns the exit code.
int cell_child(void);
// `assay cell --probe ENGINE/BUILD`: devices of one build of an engine as JSON on fd 3. A library of one build is never loaded beside another's.
int cell_child_probe(const char *engine_build);
// Runs a probe child and returns
// {"engine","build","verdict","reason","version","library","devices":[{"provider","name","description","emulated",
// "compiles_only","features","facts"}],"absent":{PROVIDER: REASON}}; never NULL. `reason`: why the whole build is not available.
json_t *cell_probe(const struct backend *b, const char *build);

// `assay cell --driver NAME`: what a vendor's library says (driver_ask), as JSON on fd 3.
int cell_child_driver(const char *name);
// The same in a child: the answer, or {"error": "..."} also when the child crashed or hung; never NULL.
json_t *cell_driver(const char *name);

// The program that children are started from: ASSAY_PROGRAM, else beside or below this library or program.
const char *cell_program(struct arena *a);

#endif
