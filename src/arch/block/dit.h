// SPDX-License-Identifier: Apache-2.0
// What diffusion transformers are made of (Peebles and Xie 2022, https://arxiv.org/abs/2212.09748): patches of a map or of frames
// as tokens [batch, places, width], attention with normed and rotated queries and keys, norms that a step scales and shifts.
#ifndef ASSAY_ARCH_BLOCK_DIT_H
#define ASSAY_ARCH_BLOCK_DIT_H

#include "arch/block/diffusion.h"
#include "arch/block/modulation.h"

// How queries and keys are normed before they are rotated.
enum query_norm { QUERIES_PLAIN, QUERIES_RMS_WHOLE, QUERIES_NORM_HEADS, QUERIES_NORM_HEADS_UNLEARNED };

struct dit_attention {
	const char *stem;     // STEM.q, .k, .v, .o, .q_norm, .k_norm
	int64_t heads, width; // width of a head
	bool bias, out_bias;
	enum query_norm norm;
	double eps;
	graph_value mask;     // added to the scores; NO_VALUE: none
	graph_value cos, sin; // of pairs side by side, [batch or 1, places, 1, pairs]; NO_VALUE: nothing is rotated
	int64_t turns;        // so many equal parts are rotated each by these: `heads`, or 1
};
// x [batch, places, w] to `to` [batch, n, in], both x where it is NO_VALUE: [batch, places, w].
graph_value dit_attention(struct build *b, const struct dit_attention *how, graph_value x, graph_value to);
// STEM.NAME normed as `how` says; x [batch, n, heads * width].
graph_value query_normed(struct build *b, const struct dit_attention *how, const char *name, graph_value x);

// all [batch, count * width] or [batch, count, width], cut into [batch, 1, width] each.
void modulation_parts(struct build *b, graph_value all, int count, int64_t width, graph_value *part);

// The feed-forward that diffusers' activation_fn names: STEM.up, STEM.down from x's width to `inner` and back.
enum dit_ffn { FFN_GELU_TANH, FFN_GELU, FFN_GEGLU };
enum dit_ffn resolve_dit_ffn(struct config *c, const char *key);
graph_value dit_ffn(struct build *b, enum dit_ffn kind, const char *stem, graph_value x, int64_t inner);
// 1x1 - act - 3x3, each channel by itself - halves of `inner` channels, one gates the other - 1x1, on a map. Stems "ffn.*".
graph_value gated_convolution(struct build *b, graph_value map, int64_t inner);
// STEM.1 and STEM.2 with a tanh-approximated GELU between: a text [batch, n, in] -> [batch, n, out].
graph_value text_projection(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out);
// 0 where mask f32 [batch, n] is 1, -10000 where it is 0: [batch, 1, places of x, n].
graph_value text_mask(struct build *b, graph_value mask, graph_value x);

// Sines, then cosines, of row and column of each place of a map [.., height, width]: [1, height * width, width]. A place i of n
// counts i * base / n; base 0: i / scale.
graph_value grid_sines(struct build *b, graph_value map, int64_t width, double base, double scale);
// A table a [n, 1, .., w] by rows and one by columns [m, w], beside each other: [n, m, both widths]
graph_value table_of_grid(struct build *b, graph_value by_row, graph_value by_column, bool column_first);
graph_value places_along(struct build *b, graph_value x, int axis); // f32 [n]: 0, 1, ..
// tokens [batch, rows * columns, patch * patch * channels], channels last, as a map as high and wide as `grid`, times patch.
graph_value map_of_patches(struct build *b, graph_value tokens, graph_value grid, int64_t patch, int64_t channels);

#endif
