// SPDX-License-Identifier: Apache-2.0
// Conformance cases: tiny models whose outputs transformers computed (tests/conform/README.md). A case is a folder with
// config.json, weights.tsv (names, dtypes, shapes; contents by formula), case.json and io.safetensors.
#ifndef ASSAY_CONFORM_CONFORM_H
#define ASSAY_CONFORM_CONFORM_H

#include <signal.h>

#include "run/judge.h"
#include "platform/platform.h"

struct conform_case {
	const char *name, *folder, *model_type;
	const char *class_name;     // of transformers; NULL where it is not known
	const char *op;             // of one of ONNX's tests: the operator that it is about; NULL: of a model
	enum verdict verdict;       // right, wrong, or why it did not run
	bool passed;                // right
	const char *reason;         // NULL when passed
	double max_abs_error, nmse; // the worst output's; NaN when it did not run
	int64_t elsewhere;          // nodes that were not on the platform; -1: not known
	const char *placement;      // in words; NULL: not known
	const char *form;           // of the graph, the one that `run` takes too; NULL: not known
	json_t *graphs;             // of a whole pipeline that ran: where each did (struct pipeline_placement); NULL
	bool here;                  // of a tokenizer, processor or scheduler: run on no platform
	size_t lines;               // of a tokenizer's or a processor's cases, that agreed; 0: of a model
	const char *counted;        // what `lines` counts: "lines", "cases"
};

// A checkpoint folder made from a case, in the cache (CACHE/conform/KEY): config.json and model.safetensors. While `a` lives it
// is not trimmed away.
enum status conform_materialise(const char **folder, struct arena *a, const char *case_folder, struct error *err);

struct conform_asked {
	const struct target *target; // its parts are whole pipelines'; NULL: all cases are such as conform_is_here takes
	struct conform_case *cases;
	size_t count;
	// Above 0: not against transformers, but that many of a case's rows at once against each of them alone; outputs without
	// an axis are left out.
	int64_t rows;
	int64_t memory_bytes;                              // as in child_limits
	volatile sig_atomic_t *stop;                       // likewise
	void (*each)(void *, const struct conform_case *); // called as answers come; may be NULL
	void *context;
};
// Runs the cases, many in one child; a child that dies fails the case it was at and the next starts anew. Every case gets an
// answer.
enum status conform_run(const struct conform_asked *which, struct arena *a, struct error *err);
int conform_child(void); // `assay cell --conform`

// here.c: is it a folder of a tokenizer, a scheduler or a processor? Such run on no platform.
bool conform_is_here(const char *folder, struct arena *a);
// Runs it in this process: c->folder is given, the answer lies in `a`.
void conform_here(struct conform_case *c, struct arena *a);
// tokens.c: a folder with cases.jsonl and without case.json is one of a tokenizer. It runs here, on no platform; c->name and
// c->folder are given, the answer lies in `a`.
bool conform_is_tokenizer(const char *folder, struct arena *a);
void conform_tokenizer(struct conform_case *c, struct arena *a);

// scheduler.c: a folder with scheduler_config.json and golden steps, likewise.
bool conform_is_scheduler(const char *folder, struct arena *a);
void conform_scheduler(struct conform_case *c, struct arena *a);
// preprocess.c: a folder with meta.json and expected.safetensors: cases of the processor whose settings lie there, both of its
// implementations. As above; max_abs_error is of the elements that are stored.
bool conform_is_preprocessor(const char *folder, struct arena *a);
void conform_preprocessor(struct conform_case *c, struct arena *a);

// pipeline.c: a folder with pipeline.json is a whole pipeline: a model's folder, questions and answers. It runs on the platform,
// among the cases of conform_run.
bool conform_is_pipeline(const char *folder, struct arena *a);
// BAD_INPUT: ASSAY_SHARE is set to a folder without conform/.
enum status conform_check_share(struct error *err);
// Of the pipelines that the program carries, found as its cases are (types.c); NULL: they are not there.
const char *conform_pipelines_folder(struct arena *a);

// node.c: ONNX's own tests of its operators in a folder: each a folder with model.onnx, and in test_data_set_0 inputs and outputs
// as ONNX's reference implementation computed them. Sorted by operator, then by name; of a test that has its operator taken apart
// (NAME_expanded, ..) the operator is that of NAME. BAD_INPUT: there are none.
enum status conform_nodes(struct conform_case **out, size_t *count, struct arena *a, const char *folder, struct error *err);

// types.c: the cases that the program carries (PREFIX/share/assay/conform, or the build's), run once a program, engine
// version, platform and type, and kept in the cache.
struct conform_type {
	const char *model_type;
	struct conform_case *cases;       // sorted by name
	size_t count, passed, unanswered; // unanswered: memory, time, a process that died or a disk was in the way
};
// Every model type of the table, in its order. What the cache does not know is run, in one child: `begin` is called with how many
// cases that are, where there is one, and `each` after each of them.
// UNAVAILABLE when the platform's engine is not here, or no cases are.
enum status conform_types(struct conform_type **out, size_t *count, const struct target *t, void (*begin)(void *, size_t),
	void (*each)(void *, const struct conform_case *), void *context, struct arena *a, struct error *err);
// Of one type: "8/8", or "5/8 (3 without an answer)"; NULL when the program carries none or the engine is not here.
const char *conform_of_type(const char *model_type, const struct target *t, struct arena *a);

#endif
