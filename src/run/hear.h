// SPDX-License-Identifier: Apache-2.0
// What a parent has heard from its child, and what became of it: events gathered, and the end of a child put into a verdict
// and a sentence. Private to run/.
#ifndef ASSAY_RUN_HEAR_H
#define ASSAY_RUN_HEAR_H

#include "question/cell.h"
#include "run/cell.h"
#include "run/child.h"

// Bytes that all lines of a child and their trees may take in its parent.
#define HEARD_MOST ((size_t)96 << 20)

struct heard {
	struct arena *arena;            // the caller's; everything heard lives in it
	const struct cell_watch *watch; // may be NULL
	struct row row;
	const char *phase; // the one it was in last; "start" before the first
	double delay_ms;   // in the phase "delay"
	double delay_from; // clock_ms when it began; 0: it is in no such phase
	double *sample_ms; // of all lines of samples, in their order
	size_t sample_count, sample_room;
	json_t *placement, *probe, *profile; // die with the arena
	const char *reference_path;
	double pss_mib, anonymous_mib, resident_mib; // largest told; NaN: none
	bool memory_beside;                          // those are of the engine's own processes too
	bool outputs, compiled, done;
	int64_t sequence;   // of the inputs; 0: not told
	int64_t language;   // of a sound: the token that was heard; 0: not told
	const char *shapes; // of a user's .onnx: those of its inputs, as --shape has them; NULL: not told
	int64_t given;      // what a user's .onnx rounds to: OUTLINE_F16, ...; 0: float32 alone
	const char *draws;  // of a user's .onnx: the operator that made two runs unlike, or NULL
	int64_t form;       // index of the platform's graph form that was opened
	enum status status; // of its error event
	const char *error;
	bool of_engine;                  // that it is an engine's
	const char *loading;             // the library that it loads; NULL: none
	const char *waiting;             // a file that another process has locked, or a folder that could not be written; NULL
	const char *rubbish;             // a sentence about the first line that is not an event; NULL
	size_t weight;                   // of all lines (json_weight)
	enum child_watch answer;         // CHILD_YES, CHILD_NO: to the line at hand
	int64_t timed_ns[2], busy_ns[2]; // struct cell_result; 0: not told
};

void heard_init(struct heard *h, struct arena *a, const struct cell_watch *watch);
// on_line of child_run; `context` is a struct heard.
enum child_watch heard_line(void *context, const char *line, size_t length);

// RIGHT: it came to its end without an error (nothing is judged yet). COMPILES: likewise, and nothing ran. Otherwise *cause says
// what happened and where. A child that died in "explain", "shape" or "cycles" has given its answer: RIGHT, and *note says how it
// ended.
enum verdict heard_verdict(
	const struct heard *h, const struct child_report *r, const struct child_limits *l, const char **cause, const char **note);

// Is a limit of this process (ulimit -d, -v) lower than the memory that the child was given? Then an allocation failed under that
// one, and *err says so.
bool heard_memory_limit(const struct child_report *r, const struct child_limits *l, struct error *err);

// Starts `program cell [argument...]`, gathers its events. Returns what child_run returns.
enum status hear_child(struct heard *h, const char *const *arguments, const char *request, const struct child_limits *l,
	struct child_report *r, struct error *err);

#endif
