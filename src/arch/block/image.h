// SPDX-License-Identifier: Apache-2.0
// What models that look at images are made of: the input, convolutions with their norms, tokens and maps, positions on a grid.
// Maps are [batch, channels, height, width], tokens [batch, height*width, channels].
#ifndef ASSAY_ARCH_BLOCK_IMAGE_H
#define ASSAY_ARCH_BLOCK_IMAGE_H

#include "arch/block/block.h"

// pixel_values [batch, channels, height, width]. The symbols "height" and "width" come first where they are bound to numbers;
// else the size is as given, and open where that is 0.
graph_value pixel_input(struct build *b, int64_t channels, int64_t height, int64_t width);
graph_value picture_input(struct build *b, const char *name, int64_t channels, int64_t height, int64_t width); // of another name

// For a family that takes images of any size: the size of synthetic ones.
void image_hints(struct input_hints *out, int64_t height, int64_t width);
void input_hint(struct input_hints *out, const char *name, int64_t number); // of the family's own symbol

// STEM.weight [out, in / group, kernel, kernel]; in is what x has. ZERO MEANS THE COMMON CASE.
struct conv {
	int64_t out, kernel;
	int64_t stride;          // 0: 1
	int64_t pad;             // 0: keeps the size at stride 1; PAD_NONE, PAD_SAME as TensorFlow does, or a number
	int64_t dilation, group; // 0: 1
	bool bias;
};
enum { PAD_NONE = -1, PAD_SAME = -2 };
graph_value conv(struct build *b, const char *stem, graph_value x, struct conv c);
graph_value batch_norm(struct build *b, const char *stem, graph_value x, double epsilon);
graph_value last_batch_norm(struct build *b, const char *stem, graph_value x, int64_t width); // over the last axis, epsilon 1e-5
graph_value conv_norm(struct build *b, const char *conv_stem, const char *norm_stem, graph_value x, struct conv c, double epsilon,
	enum activation act);
graph_value map_norm(struct build *b, const char *stem, graph_value x, double epsilon);       // layer norm over a map's channels
graph_value layer_norm_eps(struct build *b, const char *stem, graph_value x, double epsilon); // over the last axis

graph_value tokens_of(struct build *b, graph_value map);                   // [batch, height*width, channels]
graph_value map_of(struct build *b, graph_value tokens, graph_value like); // back to the height and width of `like`
graph_value map_of_size(struct build *b, graph_value tokens, int64_t height, int64_t width);
graph_value map_of_grid(struct build *b, graph_value tokens, graph_value height, graph_value width); // i64 [1] each
// x resized to height and width of `like`; mode as op_resize.
graph_value resized_like(struct build *b, graph_value x, graph_value like, const char *mode);

graph_value resized_by(struct build *b, graph_value x, int64_t factor);                      // linear, corners apart
graph_value resized_by_as(struct build *b, graph_value x, int64_t factor, const char *mode); // mode: as op_resize
// The mean of each cell of a grid of rows by cols that covers the map, as torch's adaptive_avg_pool2d cuts it:
// [batch, channels, rows, cols].
graph_value adaptive_pool(struct build *b, graph_value x, int64_t rows, int64_t cols);

// Learned positions [1, special + rows*cols, width], on a grid of another size when the image has it; to_rows, to_cols: i64 [1].
// mode: as op_resize, or "smooth" for torch's bicubic with antialias.
graph_value grid_positions(struct build *b, graph_value table, int64_t special, int64_t rows, int64_t cols, graph_value to_rows,
	graph_value to_cols, const char *mode);
// Shares of `side` places for the place `index` of `size`, bilinear with antialias as torch's; i64 [..] each: f32 [.., side]
graph_value smooth_shares(struct build *b, graph_value index, graph_value size, int64_t side);
// The part that is a backbone: its results for a picture, [*count], maps or tokens as its configuration says.
const graph_value *backbone_features(struct build *b, const char *part, graph_value pixels, int64_t *count);
// A learned vector [1, n, width] for each image: [batch, n, width].
graph_value each_image(struct build *b, graph_value vector, graph_value pixels);

// The whole graph of a family whose body takes pictures of any size, and the size of made-up ones: 224 by 224.
void map_build(struct build *b);
void picture_build(struct build *b); // .build of a family with a body that sees pictures of the configuration's size
void map_hints(const struct spec *s, struct input_hints *out);

#endif
