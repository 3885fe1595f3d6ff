// SPDX-License-Identifier: Apache-2.0
// What a cell may lose against float32, or against the golden outputs that judge it (--max-loss), and whether a row loses more.
#ifndef ASSAY_RUN_LOSS_H
#define ASSAY_RUN_LOSS_H

#include "question/row.h"

// WORD=LIMIT[,...], a limit as a number or with %:
//     cosine=0.001        1 - cosine similarity of the outputs, the worst output's
//     top1=2%             share of places whose largest value is another one
//     perplexity=5%       perplexity over that of float32, less 1
//     nmse=1e-3           normalised mean squared error
struct loss_limits {
	double cosine, top1, perplexity, nmse; // NaN: no limit
};

// NULL or "": no limits. BAD_INPUT names the word or number, and what there is.
enum status loss_parse(struct loss_limits *out, const char *text, struct error *err);

// NULL: within every limit. Otherwise a sentence in the arena that names every limit that is exceeded, or is on a figure that
// this row does not have; *known false: none is exceeded.
const char *loss_beyond(const struct loss_limits *l, const struct row *r, struct arena *a, bool *known);

#endif
