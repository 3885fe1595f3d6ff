// SPDX-License-Identifier: Apache-2.0
// A whole pipeline's question as a row: asked of a child (pipeline/ask.c), its answer held against that of another platform, and
// stored as a cell is: started in the database before the child answers, then the verdict with everything that is known.
#ifndef ASSAY_PLAN_ANSWER_H
#define ASSAY_PLAN_ANSWER_H

#include "pipeline/pipeline.h"
#include "question/cell.h"

struct answer_asked {
	struct pipeline_asked pipeline;                      // but for keep, begin and begin_context
	const char *model;                                   // as typed
	const json_t *typed;                                 // words as typed, where pipeline.words has others; NULL: the same
	const char *db, *command;                            // db NULL: no row
	bool no_reference;                                   // the answer is held against nothing
	void (*notice)(void *context, const char *sentence); // of the database; may be NULL
	// Bytes of the model's files, which are read to know what it is; not 0: it is to stop. May be NULL.
	int (*reading)(void *context, uint64_t done, uint64_t total);
	// The answer is there, and what judges it is asked next; may be NULL.
	void (*answered)(void *context, const struct pipeline_told *told);
	void (*judging)(void *context, const char *reference); // that platform is asked now; may be NULL
	void *context;                                         // of all of them
};

struct answered {
	struct pipeline_told told; // pipeline_told_done
	struct cell_result result; // row.row is ROW_NONE where none was written
	bool has_result;           // a verdict; else the question could not be asked: a mistake of who asked, and no row
	enum status store;         // OK, or how the database failed, behind the answer: store_error
	struct error store_error;
};
// An error: there is no answer. With `has_result` it is the row's cause.
enum status answer_ask(const struct answer_asked *q, struct answered *out, struct arena *a, struct error *err);
// pipeline_told_json with "row", "verdict", "cause", "reference" and "measures". Owned by the caller.
json_t *answered_json(const struct answered *x, const char *on, const char *precision);

#endif
