// SPDX-License-Identifier: Apache-2.0
// Pictures as grids of patches that lie one after another: the tower (grid_vision.c), and where each patch or feature is.
#ifndef ASSAY_ARCH_FAMILY_GRID_VISION_H
#define ASSAY_ARCH_FAMILY_GRID_VISION_H

#include "arch/block/block.h"

#define GRID_VISION_TRAITS(X, T) \
	X(T, FLAG, windows, "layers attend within windows, but for those of fullatt_block_indexes") \
	X(T, FLAG, learned_positions, "learned positions besides; the patch embedding has a bias; features of layers on the way")
FAMILY_TRAITS(grid_vision, GRID_VISION_TRAITS);

// spec.own of the family.
struct grid_vision {
	int64_t frames, merge, out; // pictures of a patch in time; squares of merge * merge become one feature of width out
	int64_t window;             // features that a window is high and wide
	const bool *whole;          // [layers]: without windows
	int64_t side, places;       // learned positions: side * side of the places are used
	const int64_t *deep;        // [deep_count] layers whose results are features too
	int64_t deep_count;
};

// Of patches, or of features for merge > 1, with this number among those of all pictures; i64 [..], as number has.
struct grid_places {
	graph_value picture, frame, within; // within: number in its frame
	graph_value rows, columns;          // of its picture
	graph_value row, column;            // its own
};
// All but row and column. grid i64 [pictures, 3]: time, height, width in patches.
struct grid_places grid_places(struct build *b, graph_value grid, graph_value number, int64_t merge);

// Of image_sizes i64 [pictures, 2], in pixels: a grid.
graph_value grid_of_sizes(struct build *b, graph_value sizes, int64_t patch);
// 0, 1, .. for each patch, or feature, of all pictures.
graph_value grid_numbers(struct build *b, graph_value grid, int64_t merge);
// pixel_values and image_sizes, as b->s has them.
void packed_inputs(struct build *b, struct body *io);

#endif
