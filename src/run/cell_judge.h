// SPDX-License-Identifier: Apache-2.0
// From the outputs of a cell to its verdict. Private to run/; the parent's side.
#ifndef ASSAY_RUN_CELL_JUDGE_H
#define ASSAY_RUN_CELL_JUDGE_H

#include "question/cell.h"
#include "run/cell.h"
#include "run/reference.h"

struct judging {
	const struct cell *cell;  // its sequence as it ran
	const char *outputs_path; // safetensors that the child wrote
	const char *golden;       // path, or NULL
	const char *calibration;  // of int8-static: the file of ranges
	int64_t language;         // of a reduced precision: struct reference_question
	// What a user's .onnx rounds to: OUTLINE_F16, ... of backend/outline.h; 0: float32 alone, or built by assay.
	unsigned given;
	const char *draws; // of a user's .onnx: the operator that made two runs unlike, or NULL
	int64_t form;      // index of the graph form that ran
	const struct cell_watch *watch;
};

// Of outputs that this process could not read: FAILED where the file is not what it should be, NOT_ASKED where a disk, a right or
// memory of this process was missing.
enum verdict unread_verdict(enum status st);

// `ref` holds golden outputs, or the float32 generation that the cell was asked about (REFERENCE_GRAPH), where there are some.
// Sets out->verdict, out->checks and the figures of out->row, whose compute_dtype is what the engine confirmed.
enum status cell_judge(
	const struct judging *j, struct reference *ref, struct arena *a, struct cell_result *out, struct error *err);

#endif
