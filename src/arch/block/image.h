// SPDX-License-Identifier: Apache-2.0
// What models that look at images are made of: the input, convolutions with their norms, tokens and maps, positions on a grid.
// Maps are [batch, channels, height, width], tokens [batch, height*width, channels].
#ifndef ASSAY_ARCH_BLOCK_IMAGE_H
#define ASSAY_ARCH_BLOCK_IMAGE_H

#include "arch/block/block.h"

// pixel_values [batch, channels, height, width]. The symbols "height" and "width" come first where they are bound to numbers;
// else the size is as given, and open where that is 0.
value pixel_input(struct build *b, int64_t channels, int64_t height, int64_t width);

// For a family that takes images of any size: the size of synthetic ones.
void image_hints(struct input_hints *out, int64_t height, int64_t width);

// STEM.weight [out, in / group, kernel, kernel]; in is what x has. ZERO MEANS THE COMMON CASE.
struct conv {
	int64_t out, kernel;
	int64_t stride;          // 0: 1
	int64_t pad;             // 0: keeps the size at stride 1; PAD_NONE, PAD_SAME as TensorFlow does, or a number
	int64_t dilation, group; // 0: 1
	bool bias;
};
enum { PAD_NONE = -1, PAD_SAME = -2 };
value conv(struct build *b, const char *stem, value x, struct conv c);
value batch_norm(struct build *b, const char *stem, value x, double epsilon);
value conv_norm(struct build *b, const char *conv_stem, const char *norm_stem, value x, struct conv c, double epsilon,
	enum activation act);
value map_norm(struct build *b, const char *stem, value x, double epsilon);       // layer norm over a map's channels
value layer_norm_eps(struct build *b, const char *stem, value x, double epsilon); // over the last axis

value tokens_of(struct build *b, value map);             // [batch, height*width, channels]
value map_of(struct build *b, value tokens, value like); // back to the height and width of `like`
value map_of_size(struct build *b, value tokens, int64_t height, int64_t width);
value map_of_grid(struct build *b, value tokens, value height, value width); // i64 [1] each
// x resized to height and width of `like`; mode as op_resize.
value resized_like(struct build *b, value x, value like, const char *mode);

// Learned positions [1, special + rows*cols, width], on a grid of another size when the image has it; to_rows, to_cols: i64 [1].
// mode: as op_resize, or "smooth" for torch's bicubic with antialias.
value grid_positions(struct build *b, value table, int64_t special, int64_t rows, int64_t cols, value to_rows, value to_cols,
	const char *mode);
// A learned vector [1, n, width] for each image: [batch, n, width].
value each_image(struct build *b, value vector, value pixels);

#endif
