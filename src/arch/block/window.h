// SPDX-License-Identifier: Apache-2.0
// Stages of transformer layers that attend within windows of a grid, shifted in every second layer, the grid halved between
// stages (Liu et al. 2021, https://arxiv.org/abs/2103.14030; version 2, https://arxiv.org/abs/2111.09883). Sizes are numbers:
// how a grid is cut depends on them.
#ifndef ASSAY_ARCH_BLOCK_WINDOW_H
#define ASSAY_ARCH_BLOCK_WINDOW_H

#include "arch/block/block.h"

struct windows {
	int64_t stages;
	const int64_t *depths, *heads; // [stages]
	int64_t embed, window;         // width of the first stage; each next one has twice that
	double mlp_ratio;
	bool qkv_bias;
	bool level;                // grid and width are the same in all stages
	bool positions;            // a learned vector for each patch
	bool always;               // windows are cut and shifted even where one is as large as the grid
	bool second;               // version 2: cosine attention, a bias by an MLP, norms after the branches
	const int64_t *pretrained; // [stages], version 2: windows that the MLP was trained with; 0: these
	int64_t encoder_stride;    // of masked images: pixels a patch of the last stage stands for
	int64_t grid[2];           // version 2: the grid of the configuration, which decides the windows
};

// depths, the heads (under `heads_key`), embed (under `embed_key`), window_size, mlp_ratio, qkv_bias.
struct windows *resolve_windows(struct config *c, struct arena *a, const char *heads_key, const char *embed_key);
int64_t windows_width(const struct windows *w); // of the last stage

// x [batch, height*width, embed]; *height and *width become those of the result. io->states gets the maps [batch, width, rows,
// cols] of the embedding and of each stage: before the grid is halved if `before`, after that otherwise.
graph_value window_stages(
	struct build *b, const struct windows *w, struct body *io, graph_value x, int64_t *height, int64_t *width, bool before);

// A map [batch, rows, cols, ..] cut into windows of n by n, i64 [1] each: how large it is, and how many windows high and wide,
// the last ones being filled up.
struct window_grid {
	int64_t n;
	graph_value batch, rows, cols, down, right;
};
struct window_grid window_grid(struct graph *g, graph_value x, int64_t n);
// [batch, rows, cols, dim] -> [batch * windows, n*n, dim], zeros where the map has ended; and back
graph_value window_cut(struct graph *g, graph_value x, const struct window_grid *e, int64_t dim);
graph_value window_join(struct graph *g, graph_value x, const struct window_grid *e, int64_t dim);

// A layer of a stage for b->stage, b->layer: x [batch, height*width, dim].
graph_value window_layer(
	struct build *b, const struct windows *w, graph_value x, int64_t height, int64_t width, int64_t dim, int64_t heads);
// The same for a grid of any size that windows divide; rows, cols: i64 [1]. As version 2, or where windows are always cut.
graph_value window_layer_any(
	struct build *b, const struct windows *w, graph_value x, graph_value rows, graph_value cols, int64_t dim, int64_t heads);

#endif
