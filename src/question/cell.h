// SPDX-License-Identifier: Apache-2.0
// A cell: one question about one model on one platform, asked and answered.
#ifndef ASSAY_QUESTION_CELL_H
#define ASSAY_QUESTION_CELL_H

#include <jansson.h>

#include "question/row.h"

struct cell {
	const char *model; // as asked
	const char *path;  // folder of the checkpoint, or an .onnx file
	const char *revision;
	const char *platform, *device, *options; // of struct target; options: user's over the platform's
	const char *requested;                   // the platform that was asked for, where this is a fallback; NULL: the same
	int64_t attempt, fallback_of; // of a chain of fallbacks: from 2 on, and the row of the first try; 0: a first try
	const char *fallback_reason;
	bool shortened;   // its layers are fewer than the model's configuration says
	bool unwritten;   // its synthetic weights were made in its precision alone: none of float32 exist (synth_options.form)
	double planned_s; // of timeout_s, before the cell was run
	int64_t second_bytes;            // anonymous memory that opening it once more would take (predicted); 0: not known
	const char *given, *given_files; // what --input FILE and TEXT came to (plan/given.h); NULL: not asked
	const char *identity;            // model_identity of the path; NULL: found out when it is asked for
	const char *fingerprint;         // model_fingerprint of it, before that
	const char *key;                 // what --resume knows the cell by; NULL: cell_key
	QUESTION_INSIDE;                 // with what is known now: a batch, a time limit, and whether the weights are synthetic
};

// Everything measured. All memory in the caller's arena.
struct cell_result {
	struct row row;
	enum verdict verdict;
	double *sample_ms;
	size_t sample_count;
	json_t *placement; // array of {name, op, dtype, where, kernel, reason, fused, elsewhere, ms}; may be NULL; freed with the
			   // arena
	json_t *profile; // array of the engine's nodes: name, op, kernel, where, scope, named_by, drawn_nodes, ms, flops, bytes,
			 // ...; may be NULL
	// Of --together, by clock_ns: from the first timed run to the end of the last, and from the first warm-up run to the last
	// run of all. 0: it had none.
	int64_t timed_from_ns, timed_to_ns, busy_from_ns, busy_to_ns;
	json_t *checks; // array, one object an output: name, max_abs_error, ...; may be NULL
};

#endif
