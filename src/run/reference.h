// SPDX-License-Identifier: Apache-2.0
// What the outputs of a cell are compared with, and the comparison of all of them. Private to run/.
//
// float32           against golden outputs, else against another engine in float32.
// reduced           its rounding would hide a wrong graph, so it is judged twice (cell_judge.c):
//                     the graph        the same form of it in float32 on the processor, by float32's bound, against golden
//                                      outputs or a second engine
//                     the arithmetic   the cell's outputs against the same weights, dequantised, in float32
//                   Its distance from float32 is a figure and no verdict (loss.h).
#ifndef ASSAY_RUN_REFERENCE_H
#define ASSAY_RUN_REFERENCE_H

#include "question/cell.h"
#include "run/cell.h"
#include "run/judge.h"
#include "cell/output_file.h"

struct reference {
	const char *name;   // "golden", "engine:openvino-f32", "engine:ort-cpu-unoptimised"; NULL: there is none
	const char *absent; // why not, a sentence
	bool no_memory;     // it was too large for this machine, by prediction or at its limit
	enum judged_by by;
	bool is_reduced;  // of REFERENCE_REDUCED
	int64_t language; // of a generation: as struct heard has it
	bool derives;     // golden: outputs that follow from others may be asked for
	struct answer answer;
};

// A file of CACHE/reference is used until `a` ends: it is not trimmed, and is the youngest. False: it is gone.
bool reference_hold(struct arena *a, const char *path);

// The golden file of a cell: what --input came to, which has inputs alone, its own, else io.safetensors beside case.json in the
// model's folder, unless that is a download or holds no outputs; NULL when there is none. A shortened model and one with
// synthetic weights has none but what the caller names.
const char *reference_golden(const struct cell *c, struct arena *a);

// Without a name: the file holds inputs alone, and an engine judges.
enum status reference_read_golden(struct reference *out, const char *path, struct arena *a, struct error *err);

// Another run of our graph, in a child or from the cache. What the null engine serves it also judges, for every kind.
enum reference_kind {
	REFERENCE_ENGINE, // the platform's row names it; else the unoptimised ONNX Runtime on the processor, for other platforms
	REFERENCE_GRAPH,  // the cell's form of the graph in float32, unoptimised, on the processor
	REFERENCE_SECOND, // the engine that judges the processor: what judges REFERENCE_GRAPH without golden outputs
	// Where that does not fit into memory: its engine on the graph of weights in integers, with which it multiplies in
	// float32; what judges REFERENCE_ARITHMETIC.
	REFERENCE_REDUCED,
	REFERENCE_ARITHMETIC, // the cell's form and precision, its weights dequantised, in float32, unoptimised, on the processor
};
struct reference_question {
	enum reference_kind kind;
	int64_t form;       // of REFERENCE_GRAPH and _ARITHMETIC: index of the cell's form among its platform's
	const char *golden; // inputs come from this file; NULL: seeded ones
	const char *tokens; // of a generation: what is asked about, as reference_tokens gives it; NULL: what it generates itself
	int64_t language;   // of `tokens`: the token of the language that they were heard in; 0: none was heard
	const char *calibration; // of int8-static: the file of ranges
	const char *data;        // the scores of these examples in the place of outputs (cell/score.h); NULL: none
};

// Having none is not an error: out->absent says why.
enum status reference_ask(struct reference *out, const struct reference_question *q, const struct cell *c,
	const struct cell_watch *watch, struct arena *a, struct error *err);

// The reference's generated tokens as text, "12 7 99": what a cell of a reduced precision is asked about. NULL: there are none.
const char *reference_tokens(const struct reference *ref, struct arena *a);

// Ranges for int8-static, measured in a child by ONNX Runtime on the processor, whatever platform is asked for, or found in the
// cache: the path of their file. NULL *path: *why says why not, and *verdict how that child ended.
enum status reference_calibrate(const struct cell *c, const struct cell_watch *watch, struct arena *a, const char **path,
	enum verdict *verdict, const char **why, struct error *err);

// Are these names of one output? An output cannot have the name of an input of its graph: it is "out_" and that name then
// (diffusers' sample).
bool reference_same_output(const char *a, const char *b);

// Judges every tensor of the reference: RIGHT, WRONG, or UNJUDGED where there is none or it masks every value. Fills the figures
// of `row` and *checks (an array of check_json, may be NULL).
enum verdict reference_judge(const struct reference *ref, const struct answer *x, struct bound usual, struct arena *a,
	struct row *row, json_t **checks);

#endif
