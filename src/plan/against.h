// SPDX-License-Identifier: Apache-2.0
// What a reduced precision brings against float32: the ratio to the last row in float32, and whether it may be called a
// difference.
#ifndef ASSAY_PLAN_AGAINST_H
#define ASSAY_PLAN_AGAINST_H

#include "question/cell.h"
#include "store/store.h"

// Fills against_float32, against_float32_row, and, where there is such a row, against_float32_claim and against_float32_why of
// out->row, which is started and not yet finished. Its own runs are one process; the others are earlier rows (store_processes).
// The claim needs what stats/compare.h needs, COMPARE_LEAST processes a side among it; words in `a`.
enum status against_float32(struct cell_result *out, struct store *store, struct arena *a, struct error *err);

#endif
