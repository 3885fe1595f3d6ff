// SPDX-License-Identifier: Apache-2.0
// What an ONNX file holds, for a person who asks: versions, operators, parameters. Nothing of it is copied but names; no weight
// is read. Its inputs and outputs: outline.h; the files that it names: onnx/external.h.
#ifndef ASSAY_BACKEND_CONTENTS_H
#define ASSAY_BACKEND_CONTENTS_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/error.h"

struct contents {
	int64_t ir_version; // 0: not said
	const char *producer, *producer_version;
	struct contents_opset {
		const char *domain; // "" is ai.onnx
		int64_t version;
	} * opsets;
	size_t opset_count;
	struct contents_operator {
		const char *domain, *op;
		size_t count; // in the graph, its branches and the file's own functions
		bool defined; // by a function of the file
	} * operators;        // sorted by domain and name
	size_t operator_count, node_count, function_count;
	uint64_t parameters;         // elements of initializers and constants, but 32 and 64-bit integers and booleans
	uint64_t bytes[DTYPE_COUNT]; // of all initializers and constants; DTYPE_NONE: of types that dtype.h has not
	const char *too_deep;        // a sentence where branches lie deeper than is looked; NULL
};

// Memory in `a`. BAD_INPUT: no readable ONNX file, or more nodes than any has.
enum status contents_read(struct contents *out, struct arena *a, const void *onnx, size_t nbytes, struct error *err);

enum { CONTENTS_OPSET = 28 }; // the newest of ai.onnx whose operators are known here

// The opset that first had an operator of ai.onnx; 0: no opset up to CONTENTS_OPSET has it.
int contents_since(const char *op);

// What an engine takes, as far as it was measured with the version that deps.lock pins.
struct contents_bounds {
	const char *engine, *version;
	int64_t opset_least, opset_most, ir_most; // 0: no bound was met
	const char *domains;                      // separated by blanks; ai.onnx always
	const char *more;                         // operators of ai.onnx that it knows and no opset has; separated by blanks
	bool holds_to_opset;                      // it refuses an operator that the imported opset has not
};
const struct contents_bounds *contents_bounds(const char *engine); // NULL: not measured

#endif
