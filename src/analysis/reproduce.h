// SPDX-License-Identifier: Apache-2.0
// A row's question asked again, exactly, and whether the answer holds: verdict, error of the outputs, latency. What the row was
// asked is its column `question`; of a row that is older than it, what is not known is named. What is another than then (machine,
// versions, weights, place of the model) is named too, and decides how much of the answer can be held against the old one.
#ifndef ASSAY_ANALYSIS_REPRODUCE_H
#define ASSAY_ANALYSIS_REPRODUCE_H

#include "plan/plan.h"
#include "store/side.h"

struct reproduce {
	struct side_row old;
	struct question question; // what plan_run takes
	const char *model;        // as it is found now
	const char *on, *options; // the target's words: "openvino:CPU"; options over the platform's own, NULL: none
	const char *moved;        // the model or the golden outputs lie elsewhere; NULL: as then
};

// BAD_INPUT: no such row, a row without a verdict, one that another tool measured, a platform that is no longer known.
enum status reproduce_read(struct store *s, struct arena *a, int64_t row, struct reproduce *out, struct error *err);
// May it be asked again without being looked at? A row may be a stranger's: BAD_INPUT where its options open a port or write a
// file, its question is not of the platform that it says, or its numbers are none that an option takes; and of a whole pipeline,
// which its command asks again.
enum status reproduce_check(const struct reproduce *r, struct error *err);
// One line that asks it: "assay run ...".
const char *reproduce_command(struct arena *a, const struct reproduce *r);

struct reproduce_check {
	const char *what;  // "verdict", "model", "taken to fit", "output error", "latency"
	int holds;         // 1, 0, -1: cannot be told
	const char *words; // "right then and now"
};
struct reproduce_answer {
	struct reproduce_check check[6];
	size_t count;
	const char *differs; // what is another than then; NULL: nothing
	bool holds;          // no check says otherwise
	bool unasked;        // it could not be asked or judged now, and nothing that is told is against it
};
// `now` may have no number of its own.
void reproduce_judge(const struct reproduce *r, const struct cell_result *now, const struct machine *machine, struct arena *a,
	struct reproduce_answer *out);
json_t *reproduce_json(const struct reproduce *r, const struct cell_result *now, const struct reproduce_answer *answer);

#endif
