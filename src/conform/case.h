// SPDX-License-Identifier: Apache-2.0
// What both sides of a conformance run know. Private to conform/.
#ifndef ASSAY_CONFORM_CASE_H
#define ASSAY_CONFORM_CASE_H

#include "conform/conform.h"
#include "conform/stored.h"
#include "pipeline/pipeline.h"

// The folder of the cases that the program carries; NULL when there is none. ASSAY_SHARE/conform where that is set; else beside
// the program's prefix, else the source tree of a build.
const char *conform_folder(struct arena *a);
// The cases in it whose model_type is `type`, or all for NULL, sorted by name.
struct conform_case *conform_cases(struct arena *a, const char *folder, const char *type, size_t *count);

// A case is made into a folder of the cache, whose name says nothing: an error names the case's own. Returns `st`.
enum status conform_named(enum status st, const char *made, const char *folder, struct error *err);
// Bytes of weights of all folders of a pipeline, which are made before its models are looked at. Those that there are have
// 43 MiB.
#define CONFORM_PIPELINE_WEIGHTS_MOST ((uint64_t)128 << 20)
// A file of weights by formula from one of their names, types and shapes (weights.tsv); `integers`: {NAME: contents} of those
// that are no floats, may be NULL. *left: bytes that may still be made, of CONFORM_PIPELINE_WEIGHTS_MOST; BAD_INPUT: too
// few.
enum status conform_weights(const char *lines, const json_t *integers, const char *to, uint64_t *left, struct error *err);

// The engine that ran, as its child told it.
struct conform_engine {
	const char *version, *library;
};
enum status conform_run_told(
	const struct conform_asked *which, struct arena *a, struct conform_engine *engine, struct error *err);

// arguments.c: a case's inputs, for the declared ones of a graph: those of io.safetensors, and such as its class makes of
// arguments that are no tensors, which "notes" of case.json tell ("num_frames 2, height 3, width 4"): video_coords, the places as
// the class counts them without rope_interpolation_scale. Memory in `a`. BAD_INPUT: one is in neither of them.
enum status conform_inputs(const char *folder, const struct spec *spec, const struct tensor_type *types, size_t count,
	struct arena *a, struct tensor *out, struct error *err);

// batch.c: the session's model, `in` in the order of its inputs. *differs, here and below: it ran, and what it gave is
// wrong; only then is a failure no fault of the engine or of the case's files.
enum status conform_batch(struct session *s, const struct tensor *in, int64_t rows, struct arena *a, double *max_abs_error,
	double *nmse, bool *differs, struct error *err);
// gen.json in a case's folder.
struct conform_model {
	const char *folder;
	const struct spec *spec;
	const struct checkpoint *checkpoint;
	const struct target *target;
	const struct graph_form *form;
	struct session *whole; // of the model's one graph, built in that form; open
};
// One of its graphs, for the pictures of the file io; *g is the caller's and may become another.
enum status conform_build(struct artifact *out, const struct conform_model *m, const struct arch_graph *which, struct graph **g,
	const char *io, struct arena *a, struct error *err);
// Another of its graphs in the same form. conform_graph_close is right for one that did not open, too.
struct conform_graph {
	struct graph *graph;
	struct artifact artifact;
	struct session session;
};
enum status conform_graph_open(struct conform_graph *out, const struct conform_model *m, const struct arch_graph *which,
	struct arena *a, struct error *err);
void conform_graph_close(struct conform_graph *g);
// steps.c: of a model with a graph of STEP_TRANSDUCE: token by token it gives what the whole graph gave, `out` of `in`.
enum status conform_steps(const struct conform_model *m, const struct tensor *in, const struct tensor *out, struct arena *a,
	bool *differs, struct error *err);
enum status conform_generate(const struct conform_model *m, struct arena *a, bool *differs, struct error *err);

// pipeline.c: a folder with pipeline.json, in the child. *differs: as above.
enum status conform_pipeline_run(const struct target *t, const char *folder, struct arena *a, struct pipeline_placement *placed,
	bool *differs, struct error *err);
// pipeline_compare.c: an answer against the stored one. FAILED names the first member that differs, as answers[0][1].score.
struct answer_bounds {
	const char *folder;           // of the pictures that are pointed to
	const struct stored *tensors; // NULL: there are none
	json_t *tolerance;            // of this input: score, tensor, box, mask, levels, seconds
};
// BAD_INPUT: a bound that is not known, no number, negative, or so wide that it would call anything right.
enum status conform_tolerance_check(const json_t *tolerance, struct error *err);
// Where the engine computes in less than float32 (bound_for of run/judge.h): tensors as outputs of models are judged, scores by
// what such errors of the logits do to a softmax. A bound that is wider stays.
void conform_tolerance_reduce(json_t *tolerance, enum dtype computes);
enum status conform_answer_compare(const struct answer_bounds *b, const char *where, const json_t *want,
	const struct pipeline_answer *got, struct arena *a, struct error *err);

// node.c: is the case one of ONNX's own tests of an operator?
bool conform_is_node(const char *folder, struct arena *a);
struct conform_node {
	double max_abs_error, nmse; // NaN: it did not run
	int64_t nodes;              // of its graph
	bool differs;               // it ran, and what it gave is wrong
	bool untaken;               // assay cannot ask it or judge it: nothing is said of the platform
	enum dtype computes;        // as the engine says
};
// Opens and runs it; artifact and session are the caller's to ask further and to close.
enum status conform_node_run(struct conform_node *n, const struct target *t, const char *folder, struct artifact *art,
	struct session *s, struct arena *a, struct error *err);

#endif
