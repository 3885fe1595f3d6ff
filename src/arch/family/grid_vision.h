// SPDX-License-Identifier: Apache-2.0
// Pictures as grids of patches that lie one after another: the tower (grid_vision.c), and where each patch or feature is.
#ifndef ASSAY_ARCH_FAMILY_GRID_VISION_H
#define ASSAY_ARCH_FAMILY_GRID_VISION_H

#include "arch/block/block.h"

// Learned positions on a grid of another size. GRID_CORNERS: the corners stay where they are.
enum grid_positions { GRID_NONE, GRID_CORNERS, GRID_LINEAR, GRID_CUBIC, GRID_SMOOTH };

#define GRID_VISION_TRAITS(X, T) \
	X(T, FLAG, windows, "layers attend within windows, but for those of fullatt_block_indexes") \
	X(T, COUNT, positions, \
		"learned positions besides: 1 bilinear with the corners in place, 2 bilinear, 3 bicubic, 4 bilinear with " \
		"antialias" \
		"middles") \
	X(T, FLAG, patch_bias, "the patch embedding has a bias") \
	X(T, FLAG, no_rotary, "queries and keys are not rotated") \
	X(T, FLAG, timed, "a third of each head is rotated by time, too; a patch attends to all frames of its picture") \
	X(T, FLAG, unmerged, "patches are the features; a whole model joins them after it") \
	X(T, FLAG, raster, "patches come as small pictures, line by line; else as rows, square by square") \
	X(T, FLAG, merge_given, "how wide a feature's square is comes in for each picture; a feature is the mean of its middle") \
	X(T, FLAG, linear_patches, "the patch embedding is a linear layer") \
	X(T, FLAG, convolved, \
		"squares become one by a convolution; a gated feed-forward follows, projection_intermediate_size or " \
		"out_hidden_size * channels wide") \
	X(T, FLAG, crossed_sizes, "intermediate_size is of what follows the layers; theirs is out_hidden_size") \
	X(T, FLAG, pooled_frames, \
		"patches come line by line and stay so, attend to all frames of their picture, with a sine of the frame's " \
		"number " \
		"where there are several, and are rotated by column and row in turn; features are the means over the frames, " \
		"square by square") \
	X(T, FLAG, convolves, \
		"layers that layer_types does not say attend are gated convolutions over a frame's patches; nothing has a bias") \
	X(T, FLAG, lined, \
		"rows of patches come line by line; features are squares of them by two convolutions, with a learned one after " \
		"each " \
		"line, before a picture and after it; the table of positions has a row before those of the patches") \
	X(T, FLAG, qkv_bias_only, "attention_bias is of query, key and value alone, and nothing else in a layer has one")
FAMILY_TRAITS(grid_vision, GRID_VISION_TRAITS);

// spec.own of the family.
struct grid_vision {
	bool flat;                  // a patch is of one picture, without a dimension of time
	int64_t frames, merge, out; // pictures of a patch in time; squares of merge * merge become one feature of width out
	int64_t window;             // features that a window is high and wide
	const bool *whole;          // [layers]: without windows
	int64_t side, places;       // learned positions: side * side of the places are used
	const bool *attends;        // [layers]: the others convolve; NULL: all attend
	int64_t kernel;             // of those
	int64_t moments;            // pooled_frames: a picture has at most so many frames
	const int64_t *deep;        // [deep_count] layers whose results are features too
	int64_t deep_count;
	int64_t wide;                      // of the gated feed-forward after the layers
	bool qkv_bias, out_bias, ffn_bias; // of a layer
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
// The places of each feature's patches, which begin at `begin` [pictures] and lie line by line: i64 [features, merge * merge].
// The grid is in patches.
graph_value grid_squares(struct build *b, graph_value grid, graph_value begin, int64_t merge);
// pixel_values [patches, ..] and the grids of the pictures.
// prefix: "image_" in a whole model, "" alone. padded: rows of patches with zeros behind them, one a picture.
void grid_inputs(struct build *b, struct body *io, const char *prefix, bool padded);
// x [1, patches, width], square by square -> [patches / merge^2, out]: STEM.norm before or after squares are joined, two linear
// layers with an activation between.
struct grid_merger {
	const char *stem;
	int64_t merge, width, wide, out;
	bool joined_first;
	double eps;
	enum activation act; // between; 0: GELU
	bool no_bias;
};
graph_value grid_merge(struct build *b, graph_value x, const struct grid_merger *m);
void grid_hints(const struct spec *tower, struct input_hints *out);
// pixel_values and image_sizes, as b->s has them.
void packed_inputs(struct build *b, struct body *io);

#endif
