// SPDX-License-Identifier: Apache-2.0
// JPEG, PNG, WebP and GIF files to RGB, as transformers' load_image has them: Pillow's decoding, EXIF's orientation applied, then
// convert("RGB"), which drops alpha, expands palettes and cuts 16-bit grey at 255. Sizes are read first and held against the
// bounds of picture.h before a decoder allocates anything. Of an animation it is the first frame.
#ifndef ASSAY_PREPROCESS_DECODE_H
#define ASSAY_PREPROCESS_DECODE_H

#include <stddef.h>

#include "preprocess/picture.h"

// `name` is used in errors; `most`: pixels, at most PICTURE_PIXELS_MOST. BAD_INPUT: no such file, a damaged or a truncated one,
// or sizes beyond the bounds, or that a file of so few bytes cannot have.
enum status picture_decode(struct picture *out, struct arena *a, const char *name, const uint8_t *data, size_t nbytes,
	int64_t most, struct error *err);
enum status picture_open(struct picture *out, struct arena *a, const char *path, struct error *err);

// The orientation in a block of EXIF, with or without "Exif\0\0" in front: 1 .. 8; 0: it says none.
int exif_orientation(const uint8_t *data, size_t nbytes);

// Pixels that memory is taken for before a PNG or GIF file is known to have them all: 84 MiB. One of more is gone through twice,
// and is of so many bytes as pixels that are not alike take.
enum { DECODE_UNSEEN_MOST = 28 << 20 };

// decode_*.c: one format each. `orientation` is 0 at first, and stays so where the file has none.
struct decode_in {
	const uint8_t *data;
	size_t nbytes;
	int64_t most; // pixels
};
// BAD_INPUT: so few bytes cannot stand for so many pixels. `a_byte`: the most that one can.
enum status decode_proportion(const struct decode_in *in, int64_t width, int64_t height, int64_t a_byte, struct error *err);
// picture_new in RGB for what a header says. `a_byte`: the most pixels that a byte of such a file can stand for; 0: any number.
// BAD_INPUT also where pixels beyond DECODE_UNSEEN_MOST are too many for the bytes of any picture that is not of one colour.
enum status decode_begin(struct picture *out, struct arena *a, const struct decode_in *in, int64_t width, int64_t height,
	int64_t a_byte, struct error *err);
enum status decode_jpeg(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err);
enum status decode_png(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err);
enum status decode_webp(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err);
enum status decode_gif(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err);

#endif
