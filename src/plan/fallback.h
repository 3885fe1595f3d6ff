// SPDX-License-Identifier: Apache-2.0
// A chain of tries at one cell: what was asked for, then, where that gave nothing, the platforms of its row's fallback chain, one
// after the other, each try a cell and a row of its own with `requested` as it was asked and `actual` as it ran.
//
//   unavailable unsupported no_memory timeout crashed failed not_asked     -> the next try; no_memory with a batch above 1: half
//   of it first
//   fell_back: no node of it on the platform of the try          -> the next try: what ran there was not asked for
//   right unjudged compiles wrong interrupted                    -> the end
//
// What assay itself refuses (a model that it cannot build, a batch that it cannot shape) has the same answer everywhere: the end
// too. Each platform begins with the batch that was asked for. Nothing is run here.
#ifndef ASSAY_PLAN_FALLBACK_H
#define ASSAY_PLAN_FALLBACK_H

#include "plan/plan.h"

struct fallback {
	struct arena *arena;
	const struct plan_model *model;
	const struct target *asked;
	const struct question *question;
	const json_t *platforms; // of detect_platforms; NULL: not looked at
	// The try at hand.
	struct target target;
	struct question now;     // `question` with the batch of this try
	struct plan_try attempt; // number, key, first row, reason
	size_t next;             // of asked->platform->fallback
};

// The first try. Everything pointed to must outlive the chain.
void fallback_begin(struct fallback *f, struct arena *a, const struct plan_model *m, const struct target *t,
	const struct question *q, const json_t *platforms);
// After a try ended with `v` and `r`: is there another one? Then it stands in *f.
enum status fallback_next(struct fallback *f, enum verdict v, const struct row *r, bool *more, struct error *err);
// "cuda: unavailable: libcuda.so.1 is missing", "openvino instead of cuda: right, 12.3 ms, 1.40x the time of cuda's row 17 (one
// process each: no claim)".
const char *fallback_line(struct arena *a, const char *platform, enum verdict v, const struct row *r);

#endif
