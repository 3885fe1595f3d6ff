// SPDX-License-Identifier: Apache-2.0
// The sizes that pictures are resized to. Every formula is the class's own in transformers, in float64 as Python has it: rint is
// Python's round (half to even), a cast is its int.
#include <math.h>

#include "preprocess/inside.h"

static enum status no_size(const char *wanted, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "size: this class wants %s", wanted);
}

static enum status give(struct extent *out, double height, double width, struct error *err)
{
	double h = height, w = width;

	if (!(h >= 1 && w >= 1 && h <= PICTURE_SIDE_MOST && w <= PICTURE_SIDE_MOST))
		return error_set(err, STATUS_BAD_INPUT, "the picture would be resized to %.0f x %.0f; a side is 1 to %d", w, h,
			PICTURE_SIDE_MOST);
	*out = (struct extent){ (int64_t)height, (int64_t)width };
	return STATUS_OK;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

// get_resize_output_image_size: the shortest edge is `shortest`, the aspect ratio stays.
static enum status by_shortest(struct extent *out, int shortest, int h, int w, struct error *err)
{
	double other = trunc((double)shortest * larger(h, w) / smaller(h, w));

	return w <= h ? give(out, other, shortest, err) : give(out, shortest, other, err);
}

// get_size_with_aspect_ratio: a picture whose shortest edge is right already stays as it is.
static enum status by_both(struct extent *out, const struct edges *e, int h, int w, struct error *err)
{
	double size = e->shortest, raw = 0, low = smaller(h, w), high = larger(h, w);
	bool limited = high / low * size > e->longest;

	if (limited) {
		raw = e->longest * low / high;
		size = rint(raw);
	}
	if (low == size)
		return give(out, h, w, err);
	double other = trunc((limited ? raw : size) * high / low);
	return w < h ? give(out, other, size, err) : give(out, size, other, err);
}

enum status size_usual(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	const struct edges *e = &s->size;

	if (e->shortest && e->longest)
		return by_both(out, e, h, w, err);
	if (e->shortest)
		return by_shortest(out, e->shortest, h, w, err);
	if (e->max_height && e->max_width) {
		double scale = smaller((double)e->max_height / h, (double)e->max_width / w);
		return give(out, trunc(h * scale), trunc(w * scale), err);
	}
	if (e->height && e->width)
		return give(out, e->height, e->width, err);
	return no_size("height and width, max_height and max_width, or shortest_edge", err);
}

// Of classes that take no shortest edge without a longest one.
enum status size_limited(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	if (s->size.shortest && !s->size.longest)
		return no_size("longest_edge beside shortest_edge", err);
	return size_usual(out, s, h, w, err);
}

enum status size_levit(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	return s->size.shortest ? by_shortest(out, (int)(256.0 / 224 * s->size.shortest), h, w, err)
				: size_usual(out, s, h, w, err);
}

// Both sides up to multiples of size_divisor, where it is not 0.
enum status size_divided(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	enum status status = size_limited(out, s, h, w, err);

	if (status || s->size_divisor <= 0)
		return status;
	return give(out, ceil((double)out->height / s->size_divisor) * s->size_divisor,
		ceil((double)out->width / s->size_divisor) * s->size_divisor, err);
}

enum status size_yolos(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	enum { MULTIPLE = 16 };
	enum status status = size_limited(out, s, h, w, err);

	if (status || !s->size.shortest)
		return status;
	return give(out, (double)(out->height - out->height % MULTIPLE), (double)(out->width - out->width % MULTIPLE), err);
}

enum status size_vilt(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	double shorter = s->size.shortest, longer = trunc(1333.0 / 800 * shorter), height, width;

	if (!s->size.shortest)
		return no_size("shortest_edge", err);
	height = h < w ? shorter : h * (shorter / w);
	width = h < w ? w * (shorter / h) : shorter;
	if (larger(height, width) > longer) {
		double scale = longer / larger(height, width);
		height *= scale;
		width *= scale;
	}
	height = trunc(height + 0.5);
	width = trunc(width + 0.5);
	if (s->size_divisor > 0) {
		height = floor(height / s->size_divisor) * s->size_divisor;
		width = floor(width / s->size_divisor) * s->size_divisor;
	}
	return give(out, height, width, err);
}

// Both sides down to multiples of size_divisor.
enum status size_floor(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	int d = s->size_divisor > 0 ? s->size_divisor : 1;

	return give(out, h / d * d, w / d * d, err);
}

enum status size_longest(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	double scale = s->size.longest / larger(h, w);

	if (!s->size.longest)
		return no_size("longest_edge", err);
	return give(out, trunc(h * scale + 0.5), trunc(w * scale + 0.5), err);
}

enum status size_dpt(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	double m = s->multiple_of > 0 ? s->multiple_of : 1, sh = (double)s->size.height / h, sw = (double)s->size.width / w;

	if (!s->size.height || !s->size.width)
		return no_size("height and width", err);
	if (s->on & DO_KEEP_ASPECT) {
		if (fabs(1 - sw) < fabs(1 - sh))
			sh = sw;
		else
			sw = sh;
	}
	return give(out, rint(sh * h / m) * m, rint(sw * w / m) * m, err);
}

// Not larger than the longest edge; then both sides up to whole patches.
enum status size_pixtral(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	double high = s->size.longest ? s->size.longest : s->size.height,
	       wide = s->size.longest ? s->size.longest : s->size.width;
	int ph = s->patch.height, pw = s->patch.width;

	if (!(high > 0 && wide > 0))
		return no_size("longest_edge, or height and width", err);
	double ratio = larger(h / high, w / wide);
	if (ratio > 1) {
		h = (int)floor(h / ratio);
		w = (int)floor(w / ratio);
	}
	return give(out, ((h - 1) / ph + 1) * (double)ph, ((w - 1) / pw + 1) * (double)pw, err);
}

// smart_resize of Qwen2-VL: multiples of patch_size * merge_size with "shortest_edge" to "longest_edge" pixels.
enum status size_pixels(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	double factor = (double)s->patch.height * s->merge, high, wide, area = (double)h * w;

	if (!s->size.shortest || !s->size.longest)
		return no_size("shortest_edge and longest_edge, numbers of pixels", err);
	if (larger(h, w) / smaller(h, w) > 200)
		return error_set(err, STATUS_BAD_INPUT,
			"a picture of %d x %d: this class takes no side longer than 200 times the other", w, h);
	high = rint(h / factor) * factor;
	wide = rint(w / factor) * factor;
	if (high * wide > s->size.longest) {
		double beta = sqrt(area / s->size.longest);
		high = larger(factor, floor(h / beta / factor) * factor);
		wide = larger(factor, floor(w / beta / factor) * factor);
	} else if (high * wide < s->size.shortest) {
		double beta = sqrt(s->size.shortest / area);
		high = ceil(h * beta / factor) * factor;
		wide = ceil(w * beta / factor) * factor;
	}
	return give(out, high, wide, err);
}

static double whole_patches(double scale, int side, int patch)
{
	return larger(patch, ceil(side * scale / patch) * patch);
}

// SigLIP 2: the largest scale, found by bisection, with at most patches_most patches.
enum status size_patches(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	double low = 1e-5 / 10, high = 100;
	int p = s->patch.height;

	while (high - low >= 1e-5) {
		double scale = (low + high) / 2;
		if (whole_patches(scale, h, p) / p * (whole_patches(scale, w, p) / p) <= s->patches_most)
			low = scale;
		else
			high = scale;
	}
	return give(out, whole_patches(low, h, p), whole_patches(low, w, p), err);
}

// Idefics 3: the longest edge; the other one even, and nothing above 4096.
enum status size_idefics3(struct extent *out, const struct settings *s, int h, int w, struct error *err)
{
	enum { MOST = 4096 };
	double aspect = (double)w / h, high = s->size.longest, wide = s->size.longest;

	if (!s->size.longest)
		return s->size.height && s->size.width ? give(out, s->size.height, s->size.width, err)
						       : no_size("longest_edge, or height and width", err);
	if (w >= h)
		high = trunc(wide / aspect) + fmod(trunc(wide / aspect), 2);
	else
		wide = trunc(high * aspect) + fmod(trunc(high * aspect), 2);
	high = larger(high, 1);
	wide = larger(wide, 1);
	aspect = wide / high;
	if (wide >= high && wide > MOST) {
		wide = MOST;
		high = trunc(wide / aspect);
	} else if (high > wide && high > MOST) {
		high = MOST;
		wide = trunc(high * aspect);
	}
	return give(out, larger(high, 1), larger(wide, 1), err);
}
