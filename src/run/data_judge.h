// SPDX-License-Identifier: Apache-2.0
// --data: from the scores of a cell and of its reference in float32 to the figures of the row, and to a verdict. Private to run/.
//
//   An example is worse than float32's where its own score is below it: fewer right places, a loss larger by more than 1e-4 a
//   place, a cosine smaller by more than 1e-6, more wrong words; of boxes and masks mAP or mean IoU of the picture by itself, by
//   more than 1e-4. The cell is `wrong` where its metric is worse than float32's and the examples
//   that are worse outnumber those that are better by more than chance allows: an exact sign test below 0.05, which needs at
//   least 6 of them. Of a reduced precision, whose rounding is no fault of the graph, that is `lossy`. Outputs that are not
//   finite are wrong. Examples of which float32's are not, or its loss is infinite, are neither worse nor better,
//   and where the others are not worse the cell is `unjudged`.
#ifndef ASSAY_RUN_DATA_JUDGE_H
#define ASSAY_RUN_DATA_JUDGE_H

#include "question/cell.h"
#include "run/cell.h"
#include "cell/score.h"

// `ref` NULL: `absent` says why there is none, and nothing but finiteness is judged. Changes out->verdict from RIGHT or UNJUDGED
// only.
void data_judge(const struct scores *x, const struct scores *ref, const char *by, const char *absent, bool is_reduced,
	struct arena *a, struct cell_result *out);

// What the child of cell `c` wrote to `path`, judged against float32, which is asked in a child or found in the cache.
enum status data_judge_file(const struct cell *c, const char *path, int64_t form, bool is_reduced, const struct cell_watch *watch,
	struct arena *a, struct cell_result *out, struct error *err);

#endif
