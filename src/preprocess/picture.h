// SPDX-License-Identifier: Apache-2.0
// A picture in memory: 8 bits a sample, row by row, channels side by side. The sizes of every picture are held against the two
// bounds below before anything is allocated for it, whether they came from a file or from a processor's settings.
#ifndef ASSAY_PREPROCESS_PICTURE_H
#define ASSAY_PREPROCESS_PICTURE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum {
	PICTURE_SIDE_MOST = 65535,       // what a JPEG file can say
	PICTURE_PIXELS_MOST = 178956970, // Pillow's bound against decompression bombs: twice 1 GiB / 4 / 3
	PICTURE_MADE_MOST = 1 << 25,     // pixels of what a resize makes: no published processor asks for more than 2^24
	PICTURE_FILE_MOST = 512 << 20    // bytes of a file
};

struct picture {
	int width, height, channels; // channels: 1 grey, 3 RGB, 4 RGBA (not premultiplied)
	uint8_t *pixels;             // [height, width, channels], in the arena that the function was given
};

// Zeroed pixels in `a`. BAD_INPUT: a side is not in 1 .. PICTURE_SIDE_MOST, or there are too many pixels; the sentence has the
// sizes. NO_MEMORY: the system has none.
enum status picture_new(struct picture *out, struct arena *a, int64_t width, int64_t height, int channels, struct error *err);
// The bounds alone.
enum status picture_check(int64_t width, int64_t height, struct error *err);

static inline uint8_t *picture_at(const struct picture *p, int x, int y)
{
	return p->pixels + ((size_t)y * (size_t)p->width + (size_t)x) * (size_t)p->channels;
}

// The part at (left, top); what lies outside of `in` is 0 (black).
enum status picture_crop(struct picture *out, struct arena *a, const struct picture *in, int left, int top, int width, int height,
	struct error *err);
// Grey three times, RGBA over white as Pillow's alpha_composite has it (as transformers' convert_to_rgb); RGB is `in` itself.
enum status picture_rgb(struct picture *out, struct arena *a, const struct picture *in, struct error *err);
// Turned as EXIF's orientation 1 .. 8 says (Exif 2.3, tag 0x0112): 1 and what is no orientation leave it as it is.
enum status picture_orient(struct picture *out, struct arena *a, const struct picture *in, int orientation, struct error *err);

#endif
