// SPDX-License-Identifier: Apache-2.0
#include "preprocess/picture.h"

#include <string.h>

enum status picture_check(int64_t width, int64_t height, struct error *err)
{
	if (width < 1 || height < 1)
		return error_set(
			err, STATUS_BAD_INPUT, "a picture of %lld x %lld has no pixels", (long long)width, (long long)height);
	if (width > PICTURE_SIDE_MOST || height > PICTURE_SIDE_MOST || width * height > PICTURE_PIXELS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "a picture of %lld x %lld is too large: at most %d a side and %d pixels",
			(long long)width, (long long)height, PICTURE_SIDE_MOST, PICTURE_PIXELS_MOST);
	return STATUS_OK;
}

enum status picture_new(struct picture *out, struct arena *a, int64_t width, int64_t height, int channels, struct error *err)
{
	enum status s = picture_check(width, height, err);

	if (s)
		return s;
	*out = (struct picture){ (int)width, (int)height, channels, NULL };
	out->pixels = arena_try(a, (size_t)width * (size_t)height * (size_t)channels);
	return out->pixels ? STATUS_OK
			   : error_set(err, STATUS_NO_MEMORY, "no memory for a picture of %d x %d", out->width, out->height);
}

enum status picture_crop(struct picture *out, struct arena *a, const struct picture *in, int left, int top, int width, int height,
	struct error *err)
{
	int first = left > 0 ? left : 0, end = left + width < in->width ? left + width : in->width;
	enum status s = picture_new(out, a, width, height, in->channels, err);

	for (int y = 0; s == STATUS_OK && y < height; y++)
		if (y + top >= 0 && y + top < in->height && end > first)
			memcpy(picture_at(out, first - left, y), picture_at(in, first, y + top),
				(size_t)(end - first) * (size_t)in->channels);
	return s;
}

// One sample of alpha `a` over white: the rounding of Pillow's alpha_composite, with 7 bits more than 8.
static uint8_t over_white(unsigned sample, unsigned a)
{
	unsigned sum = (sample * a + 255 * (255 - a) + 128) << 7;

	return (uint8_t)((((sum >> 8) + sum) >> 8) >> 7);
}

enum status picture_rgb(struct picture *out, struct arena *a, const struct picture *in, struct error *err)
{
	size_t count = (size_t)in->width * (size_t)in->height;
	enum status s;

	if (in->channels == 3) {
		*out = *in;
		return STATUS_OK;
	}
	if ((s = picture_new(out, a, in->width, in->height, 3, err)))
		return s;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < 3; k++)
			out->pixels[i * 3 + k] =
				in->channels == 1 ? in->pixels[i] : over_white(in->pixels[i * 4 + k], in->pixels[i * 4 + 3]);
	return STATUS_OK;
}

enum status picture_orient(struct picture *out, struct arena *a, const struct picture *in, int orientation, struct error *err)
{
	bool across = orientation >= 5; // rows become columns
	int w = across ? in->height : in->width, h = across ? in->width : in->height;
	enum status s;

	if (orientation < 2 || orientation > 8) {
		*out = *in;
		return STATUS_OK;
	}
	if ((s = picture_new(out, a, w, h, in->channels, err)))
		return s;
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			int from_x = across ? y : x, from_y = across ? x : y;
			if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
				from_x = in->width - 1 - from_x;
			if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
				from_y = in->height - 1 - from_y;
			memcpy(picture_at(out, x, y), picture_at(in, from_x, from_y), (size_t)in->channels);
		}
	return STATUS_OK;
}
