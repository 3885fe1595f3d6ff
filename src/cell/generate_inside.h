// SPDX-License-Identifier: Apache-2.0
// What the loops of generate.c and transduce.c share.
#ifndef ASSAY_CELL_GENERATE_INSIDE_H
#define ASSAY_CELL_GENERATE_INSIDE_H

#include "cell/generate.h"

// FAILED where a choice from x [count] means nothing: one is NaN or inf, or all are -inf (some are, where a model rules words
// out). `n`: how many tokens were chosen before.
enum status generate_check_scores(const float *x, int64_t count, int64_t n, struct error *err);
// Of x [count]: places and values of the greatest and the next. A NaN is taken for the greatest, and then seen.
void generate_best_two(const float *x, int64_t count, int64_t id[2], float logit[2]);

// transduce.c: with g->transduction, from what the encoder gave; memory of g's results is the caller's.
enum status transduce_greedy(struct generation *g, const struct prompt *p, const struct tensor *heard,
	const volatile sig_atomic_t *stop, struct arena *a, struct error *err);
// Each step anew over the whole text before it, from states of zero; g->ids are taken, whatever it would choose. As
// generate_check, or with `answer` as generate_ask.
enum status transduce_check(const struct generation *g, const struct prompt *p, const struct tensor *heard, int64_t *differing,
	double *max_error, const struct generate_answer *answer, struct arena *a, struct error *err);

#endif
