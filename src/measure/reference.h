// SPDX-License-Identifier: Apache-2.0
// What the outputs of a cell are judged by, and the judging of all of them. Private to measure/.
#ifndef ASSAY_MEASURE_REFERENCE_H
#define ASSAY_MEASURE_REFERENCE_H

#include "measure/cell.h"
#include "measure/judge.h"

struct reference {
	const char *name;                    // "golden", "engine:openvino-f32", "engine:ort-cpu-unoptimised"; NULL: there is none
	const char *absent;                  // why not, a sentence
	bool derives;                        // golden: outputs that follow from others may be asked for
	struct tensor *tensors;              // names as the graph's outputs
	size_t count;
	const struct tensor *mask;           // golden's in.attention_mask, or NULL
};

// The golden file of a cell: its own, else io.safetensors beside case.json in the model's folder; NULL when there is none.
// A shortened model and one with synthetic weights has none but what the caller names.
const char *reference_golden(const struct cell *c, struct arena *a);

enum status reference_read_golden(struct reference *out, const char *path, struct arena *a, struct error *err);

// Without golden outputs: the platform's reference engine (run in a child, or from the cache), else the unoptimised ONNX
// Runtime on the CPU for platforms other than that. Having none is not an error.
enum status reference_ask(struct reference *out, const struct cell *c, const struct cell_watch *watch, struct arena *a, struct error *err);

// The reference's generated tokens as text, "12 7 99": what a cell of a reduced precision is asked about. NULL: there are none.
const char *reference_tokens(const struct reference *ref, struct arena *a);

// Ranges for int8-static, measured in a child by ONNX Runtime on the processor, whatever platform is asked for, or found in the cache: the
// path of their file. NULL *path: *why says why not.
enum status reference_calibrate(const struct cell *c, const struct cell_watch *watch, struct arena *a, const char **path, const char **why, struct error *err);

// Tensors of a safetensors file whose names begin with `prefix`, which is cut off; aligned; in `a`.
enum status reference_read(struct arena *a, const char *path, const char *prefix, struct tensor **out, size_t *count, struct error *err);

// Judges every tensor of the reference: RIGHT, WRONG, or UNJUDGED without one. Fills the figures of `row` and *checks (an
// array of check_json, may be NULL).
enum verdict reference_judge(const struct reference *ref, const struct tensor *outputs, size_t count, struct bound usual, struct arena *a,
	struct row *row, json_t **checks);

#endif
