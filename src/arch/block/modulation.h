// SPDX-License-Identifier: Apache-2.0
// What transformers that denoise are made of: norms without weights, whose result a vector of the time shifts and scales, and
// branches that it gates (adaLN-Zero: Peebles and Xie 2022, https://arxiv.org/abs/2212.09748, section 3.2). Tokens are [batch,
// sequence, width].
#ifndef ASSAY_ARCH_BLOCK_MODULATION_H
#define ASSAY_ARCH_BLOCK_MODULATION_H

#include "arch/block/block.h"

struct modulation {
	graph_value shift, scale, gate; // [batch, 1, width] each; NO_VALUE: not there
};

// Row `row` of rows [batch, n * width]: [batch, 1, width].
graph_value modulation_row(struct build *b, graph_value rows, int64_t row, int64_t width);
// Three rows from `first` on: shift, scale, gate.
struct modulation modulation_of(struct build *b, graph_value rows, int64_t first, int64_t width);
graph_value norm_unlearned(struct build *b, graph_value x, double epsilon); // layer norm without weights, over the last axis
// x * (1 + scale) + shift; shift may be NO_VALUE.
graph_value modulated(struct build *b, graph_value x, graph_value scale, graph_value shift);
graph_value modulate(struct build *b, graph_value x, struct modulation m);
graph_value gated(struct build *b, graph_value x, graph_value gate, graph_value branch); // x + gate * branch

// STEM.weight [width of a head]: RMS norm of each head of x [batch, sequence, heads * width].
graph_value heads_normed(struct build *b, const char *stem, graph_value x, int64_t heads, double epsilon);

// Rotary embedding by several coordinates: the first pairs of a head's elements are turned by the first one, those after
// them by the second and so on (Su et al. 2021, https://arxiv.org/abs/2104.09864, for each axis).
enum { AXES_MOST = 8 };
struct axes {
	int64_t width[AXES_MOST]; // elements of a head, an even number for each axis
	int64_t count;
};
// A list of even numbers that fill a head, `count` of them or, where that is 0, at most AXES_MOST.
void resolve_axes(struct config *c, const char *key, struct arena *a, int64_t count, int64_t head_width, struct axes *out);
// ids f32 [batch or 1, sequence, axes]: cos and sin [batch or 1, sequence, 1, head / 2], as rope_turn_by takes them; base 10000.
void axes_tables(struct build *b, const struct axes *axes, graph_value ids, graph_value *cos, graph_value *sin);

#endif
