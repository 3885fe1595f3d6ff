// SPDX-License-Identifier: Apache-2.0
// A cell: one model in one variant on one platform, asked and answered.
#ifndef ASSAY_QUESTION_CELL_H
#define ASSAY_QUESTION_CELL_H

#include <jansson.h>

#include "question/row.h"
#include "question/variant.h"

struct cell {
	const char *model; // as asked
	const char *path;  // folder of the checkpoint, or an .onnx file
	const char *revision;
	const char *platform, *device, *options; // of struct target; options: user's over the platform's
	const char *requested;                   // the platform that was asked for, where this is a fallback; NULL: the same
	int64_t attempt, fallback_of; // of a chain of fallbacks: from 2 on, and the row of the first try; 0: a first try
	const char *fallback_reason;
	int64_t batch, sequence;           // sequence 0: the default (128), cut to what the model takes
	int64_t runs;                      // exactly so many timed ones; 0: as variant.effort says
	int64_t prompt_tokens, new_tokens; // generation; new_tokens 0: one forward pass
	int64_t layers;                    // 0: all
	bool shortened;                    // those are fewer than the model's configuration says
	uint64_t seed;                     // of the inputs (weights have their own)
	bool synthetic;                    // weights are synthetic, as their file says
	bool is_static;                    // fixed shapes
	bool is_dynamic;                   // none of the platform's forms with fixed shapes
	bool no_explain;                   // where its nodes ran is known from a cell before
	bool no_fallback;                  // a node that runs elsewhere makes the cell unsupported
	bool allow_fallback;               // the platform may take no node at all: then the outputs are judged as if it had
	double timeout_s;                  // wall, for the whole cell
	double planned_s;                  // of it, before the cell was run
	double quiet_wait_s;               // wait at most so long for a calm machine before it begins
	int64_t memory_bytes;              // limit; 0: none
	int64_t second_bytes;              // anonymous memory that opening it once more would take (predicted); 0: not known
	bool force;                        // try what does not fit
	const char *golden;                // safetensors with in.* and out.*, or NULL
	const char *identity;              // model_identity of the path; NULL: found out when it is asked for
	const char *key;                   // what --resume knows the cell by; NULL: cell_key
	bool profile;                      // also how long each of the engine's nodes takes, in a session of its own
	struct variant variant;
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
	json_t *checks;  // array, one object an output: name, max_abs_error, ...; may be NULL
};

#endif
