// SPDX-License-Identifier: Apache-2.0
// Resizing with the rounding of the two libraries that real processors call.
//   Pillow      weights of 22 bits, each pass rounded to 8 bits. From Pillow 13 on the vertical pass comes first where it
//               takes away more than twice as many rows as the horizontal one takes columns.
//   torchvision on uint8 tensors with antialias=True (ATen, UpSampleKernelAVXAntialias): weights of at most 16 bits with the
//               precision that the largest allows; the horizontal pass is first.
// Weights of output i over input j: filter((j - centre + 0.5) / scale), centre = (i + 0.5) * in / out, scale = max(1, in / out),
// divided by their sum.
#ifndef ASSAY_PREPROCESS_RESAMPLE_H
#define ASSAY_PREPROCESS_RESAMPLE_H

#include <stdbool.h>

#include "preprocess/picture.h"

enum library { LIBRARY_TORCHVISION, LIBRARY_PILLOW };
// Numbers of PIL.Image.Resampling: what "resample" in a file says.
enum filter { FILTER_NEAREST, FILTER_LANCZOS, FILTER_BILINEAR, FILTER_BICUBIC, FILTER_BOX, FILTER_HAMMING, FILTER_COUNT };

// `in` itself where the size is the same already. BAD_INPUT, besides picture_check's: more than PICTURE_MADE_MOST pixels, of the
// result or, where the picture itself has fewer, between the two passes.
enum status picture_resize(struct picture *out, struct arena *a, const struct picture *in, int height, int width,
	enum filter filter, enum library library, struct error *err);

// Pixels of the picture between its two passes, which is made and freed; 0: there is none.
int64_t picture_resize_between(const struct picture *in, int64_t height, int64_t width, enum filter filter, enum library library);

// Planes of float32, [channels, height, width].
struct planes {
	int channels, height, width;
	float *data;
};
enum status planes_new(struct planes *out, struct arena *a, int channels, int height, int width, struct error *err);
// Antialiased (torch.nn.functional.interpolate with antialias=True); not FILTER_NEAREST.
enum status planes_resize(struct planes *out, struct arena *a, const struct planes *in, int height, int width, enum filter filter,
	struct error *err);
// Bilinear between the two nearest, without antialiasing. Beyond the edge lies the edge (torch), or the picture mirrored about
// its last pixel (scipy.ndimage.zoom with mode="mirror", grid_mode=True).
enum status planes_between(
	struct planes *out, struct arena *a, const struct planes *in, int height, int width, bool mirrored, struct error *err);
// Keys' cubic convolution with a = -3/4 over four neighbours, without antialiasing; beyond the edge lies the edge
// (torch.nn.functional.interpolate with mode="bicubic", align_corners=False).
enum status planes_cubic(struct planes *out, struct arena *a, const struct planes *in, int height, int width, struct error *err);
// Convolution with a Gaussian of 2 * radius + 1 values along one axis, mirrored about the last pixel at the edges.
enum status planes_blur(
	struct planes *out, struct arena *a, const struct planes *in, bool vertical, double sigma, int radius, struct error *err);

#endif
