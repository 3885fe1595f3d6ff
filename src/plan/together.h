// SPDX-License-Identifier: Apache-2.0
// The second half of --together: the cells of a plan, each of which was measured alone, are asked again, all at the same time.
// Their children meet at a gate behind the first runs and before the warm-up, and none stops before the timed runs of all are
// over, so that every timed run is beside all others (cell/work_together.c). Which share of each loop was, is measured. A row of
// each; where one cannot run, or does not come to its timed runs, the others are not_asked.
#ifndef ASSAY_PLAN_TOGETHER_H
#define ASSAY_PLAN_TOGETHER_H

#include "plan/crew.h"
#include "plan/matrix.h"

// Of m->cells, which have their results. `store` NULL: rows are not stored. An error is assay's own; a stop is none.
enum status together_run(struct matrix *m, struct store *store, struct crew *crew, struct error *err);

// The share of `mine` [from, to] in which all of `others` ran; NaN where it has no length. Pure.
struct together_span {
	int64_t from_ns, to_ns;
};
double together_share(struct together_span mine, const struct together_span *others, size_t count);

#endif
