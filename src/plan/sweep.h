// SPDX-License-Identifier: Apache-2.0
// A sweep: from lists of values to the questions that one model on one platform is asked, in order, and when one over batch sizes
// ends. Pure: nothing is run here and no store is looked at, so that a matrix that is taken up again decides as the first time.
#ifndef ASSAY_PLAN_SWEEP_H
#define ASSAY_PLAN_SWEEP_H

#include "plan/plan.h"

// The values of each axis, questions with one member set, by its place in question_members. As typed; none leaves what the base
// question says. Doubles count once.
struct sweep_axis {
	struct question *values;
	size_t count;
};
struct sweep_axes {
	struct sweep_axis of[QUESTION_COUNT];
};

struct sweep_cell {
	struct question question;
	size_t series;     // cells that differ in nothing but the batch have the same one
	const char *label; // of the axes with several values: "threads 8, batch 4"; "" where there are none
};

// "1,2,4" onto an axis; `words` must outlive it. BAD_INPUT as member_set.
enum status sweep_add(struct sweep_axes *axes, struct arena *a, enum question_at at, const char *words, struct error *err);
// The product: the first axis of QUESTION_LIST, the batch, changes fastest, and from small to large. The others keep the order in
// which they were typed. An axis that means nothing to the model (images to one that takes none) is left out: *left_out names it,
// else NULL.
void sweep_cells(struct sweep_cell **out, size_t *count, const char **left_out, struct arena *a, const struct sweep_axes *axes,
	const struct question *base, const struct plan_model *m);
// How many values the axis with the most has: above 1 it is a sweep.
size_t sweep_most(const struct sweep_axes *axes);
// "threads 1,2, batch 1,4": the axes with several values; "" where there are none.
const char *sweep_words(const struct sweep_axes *axes, struct arena *a);

// A series of batches while it is run, smallest first; all zero before the first.
struct sweep_series {
	int64_t batch;
	double per_s;
	bool is_unstable;
};

// After the cell of `batch` ended so: NULL, or why larger ones are not worth asking:
//   "stopped at batch 8: +2.1 % samples/s by the median"   batch over median time gained less than 5 % over the batch before
//   "stopped at batch 16: no_memory"      and timeout: a larger batch needs more of both
// `tight`: memory was short in any try of the cell's chain. A batch without a time, for another reason, and one whose times did
// not settle, decide nothing.
const char *sweep_take(struct sweep_series *s, struct arena *a, int64_t batch, enum verdict v, bool tight, const struct row *r);

#endif
