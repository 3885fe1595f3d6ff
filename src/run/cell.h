// SPDX-License-Identifier: Apache-2.0
// A cell: one question, run in a child process and judged.
//
//   parent (run/cell.c)                     child: `assay cell` (cell/work.c)
//   spawn, write request JSON to its fd 0   read request; PR_SET_PDEATHSIG, check the parent is still there
//   read events from its fd 3, one JSON     {"event":"phase","phase":"build"} ... "load" "first" "warm" "explain"
//   object a line; sample /proc in the      {"event":"row", ...fields of struct row...}      (may come in pieces; later wins)
//   untimed phases; kill the group at the   {"event":"samples","ms":[...]}
//   time or memory limit                    {"event":"placement","nodes":[...]}
//                                           {"event":"error","status":"unsupported","text":"..."}
//                                           {"event":"profile","nodes":[...]}: the engine's own nodes with their times
//                                           {"event":"shape","sequence":16}: of the inputs; the reference gets the same
//                                           {"event":"form","index":0}: of the platform's graph forms; the float32 graph is
//                                           judged in it
//                                           {"event":"compiled"}: for a device that is not here; nothing runs
//                                           {"event":"meet","gate":"start"}: of --together: it waits for a byte on its
//                                           fd 0, 'y' or 'n'; "end": it goes on with runs until that byte
//                                           {"event":"loop","timed":[NS,NS],"busy":[NS,NS]}: of the same, by CLOCK_MONOTONIC
//                                           {"event":"loading","library":"..."}: runs code of its own; null: it is loaded
//                                           {"event":"waiting","lock":"..."}: another process has it; null: no more
//                                           {"event":"done"}  {"event":"notice","text":"..."}
// Outputs do not go through the pipe: the child writes them as safetensors to request.outputs_path, the parent judges.
// Anything on fd 3 that is not such a line, an exit without "done", a signal: verdict crashed or failed, with the cause.
#ifndef ASSAY_RUN_CELL_H
#define ASSAY_RUN_CELL_H

#include <signal.h>

#include "platform/platform.h"
#include "question/cell.h"

// Where the cells of --together wait for each other (cell/say.h has the child's side).
enum cell_gate { CELL_GATE_START, CELL_GATE_END };

// What a caller may watch; every member may be NULL.
struct cell_watch {
	void (*phase)(void *context, const char *phase);
	void (*notice)(void *context, const char *text); // something that the person must do: open an address in a browser
	// Of --together: a child is at its gate, and waits for the answer: before its warm-up, or when its timed runs are over,
	// and it goes on until then. Blocks until the others are there too; false: one of them will not come. NULL: nobody is
	// beside it.
	bool (*meet)(void *context, enum cell_gate gate);
	void *context;
	volatile sig_atomic_t *stop; // non-zero: end the child, verdict interrupted
};

// What a row says of a cell's weights: "synthetic", "real" (of a checkpoint), or "as in the file" (of an .onnx file that assay
// did not fill).
const char *cell_weights_word(const struct cell *c);
// What a row calls a reference on this platform: "engine:openvino-f32", "engine:ort-cpu-unoptimised", "engine:PLATFORM".
const char *cell_judge_word(struct arena *a, const struct target *t);
// Hash of the question, for --resume: the contents of the model's files and of the golden file, shapes, platform, options,
// precision... Reads every file of the model where c->identity is NULL. Where what one of them contains cannot be known the key
// is another one at every call, and no row has it.
const char *cell_key(const struct cell *c, struct arena *a);

// Runs the cell in a child, then judges (running a reference cell where needed and not cached). A bad outcome is a verdict,
// not an error: an error here means that assay itself could not do its work.
enum status cell_run(
	const struct cell *c, const struct cell_watch *watch, struct arena *a, struct cell_result *out, struct error *err);

// How long asking an engine or a driver may take: what they load runs code of its own. timeout_s: at most a minute is given
// anyway; 0: that. `stop` may be NULL: non-zero ends it.
struct probe_limits {
	double timeout_s;
	volatile sig_atomic_t *stop;
};

// Runs a probe child and returns
// {"engine","build","verdict","reason","version","library","devices":[{"provider","name","description","emulated",
// "compiles_only","features","facts"}],"absent":{PROVIDER: REASON}}; never NULL. `reason`: why the whole build is not available.
json_t *cell_probe(const struct backend *b, const char *build, const struct probe_limits *l);

// `assay cell --driver NAME` in a child: what a vendor's library says, or {"error": "..."} also when the child crashed or hung;
// never NULL.
json_t *cell_driver(const char *name, const struct probe_limits *l);

// The program that children are started from: ASSAY_PROGRAM, else this one where it is assay itself, else beside or below this
// library or program.
const char *cell_program(struct arena *a);
// Told by assay itself, which may have been renamed or copied, before the first child.
void cell_program_is_this(void);

#endif
