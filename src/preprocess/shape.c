// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "preprocess/inside.h"

enum status job_resize(
	struct picture *out, struct job *j, const struct picture *in, int64_t height, int64_t width, struct error *err)
{
	enum status s = STATUS_OK;

	if ((height != in->height || width != in->width) && !(s = picture_check(width, height, err)) &&
		!(s = job_pixels(j, height, width, err)))
		s = job_pixels(j, 1, picture_resize_between(in, height, width, j->s->resample, j->library), err);
	return s ? s : picture_resize(out, j->work, in, (int)height, (int)width, j->s->resample, j->library, err);
}

enum status job_crop(
	struct picture *out, struct job *j, const struct picture *in, int left, int top, int width, int height, struct error *err)
{
	enum status s = picture_check(width, height, err);

	if (s || (s = job_pixels(j, height, width, err)))
		return s;
	return picture_crop(out, j->work, in, left, top, width, height, err);
}

// Where a middle of `wanted` begins in `size`; negative: so much padding is in front. Where padding is odd, torchvision puts the
// larger half behind it, and transformers' own crop for Pillow in front.
static int middle(const struct job *j, int size, int wanted)
{
	if (wanted > size)
		return -(j->library == LIBRARY_PILLOW && !j->s->crop_half_even ? (wanted - size + 1) / 2 : (wanted - size) / 2);
	return j->s->crop_half_even ? (int)rint((size - wanted) / 2.0) : (size - wanted) / 2;
}

static enum status crop(struct picture *out, struct job *j, const struct picture *in, int height, int width, struct error *err)
{
	return job_crop(out, j, in, middle(j, in->width, width), middle(j, in->height, height), width, height, err);
}

enum status shape_plain(struct job *j, const struct picture *in, struct group *out, struct error *err)
{
	struct picture p = *in;
	struct extent to;
	enum status s;

	if (j->row->size && (j->s->on & DO_RESIZE) &&
		((s = j->row->size(&to, j->s, in->height, in->width, err)) ||
			(s = job_resize(&p, j, in, to.height, to.width, err))))
		return s;
	if (j->s->on & DO_CROP) {
		struct picture whole = p;
		int height = j->s->crop.height, width = j->s->crop.width;
		if (!height || !width)
			return error_set(err, STATUS_BAD_INPUT, "crop_size: height and width are missing");
		if ((s = crop(&p, j, &whole, height, width, err)))
			return s;
	}
	return group_add(out, j, &p, err);
}

// Below 384 the shortest edge is shortest / crop_pct and the middle is cut out; else the picture is squeezed into a square.
enum status shape_convnext(struct job *j, const struct picture *in, struct group *out, struct error *err)
{
	enum { SQUEEZED_FROM = 384 };
	struct settings larger = { .size.shortest = (int)(j->s->size.shortest / j->s->crop_pct) };
	int side = j->s->size.shortest;
	struct picture p = *in, whole;
	struct extent to = { side, side };
	enum status s = STATUS_OK;

	if (!(j->s->on & DO_RESIZE))
		return group_add(out, j, in, err);
	if (!side)
		return error_set(err, STATUS_BAD_INPUT, "size: this class wants shortest_edge");
	if (side < SQUEEZED_FROM)
		s = size_usual(&to, &larger, in->height, in->width, err);
	if (s || (s = job_resize(&whole, j, in, to.height, to.width, err)))
		return s;
	p = whole;
	if (side < SQUEEZED_FROM && (s = crop(&p, j, &whole, side, side, err)))
		return s;
	return group_add(out, j, &p, err);
}

// The shortest edge is that of the page; what is then larger than the page is made smaller; the rest is black, half of it in
// front.
enum status shape_donut(struct job *j, const struct picture *in, struct group *out, struct error *err)
{
	int high = j->s->size.height, wide = j->s->size.width;
	struct settings shortest = { .size.shortest = high < wide ? high : wide };
	struct picture p = *in, next;
	struct extent to;
	enum status s;

	if (!high || !wide)
		return error_set(err, STATUS_BAD_INPUT, "size: this class wants height and width");
	if ((j->s->on & DO_ALIGN) && ((wide < high && in->width > in->height) || (wide > high && in->width < in->height)) &&
		(s = picture_orient(&p, j->work, in, 6, err)))
		return s;
	if (j->s->on & DO_RESIZE) {
		next = p;
		if ((s = size_usual(&to, &shortest, p.height, p.width, err)) ||
			(s = job_resize(&p, j, &next, to.height, to.width, err)))
			return s;
	}
	if ((j->s->on & DO_THUMBNAIL) && (p.height > high || p.width > wide)) {
		to = (struct extent){ p.height < high ? p.height : high, p.width < wide ? p.width : wide };
		if (p.height > p.width)
			to.width = p.width * to.height / p.height;
		else if (p.width > p.height)
			to.height = p.height * to.width / p.width;
		next = p;
		if ((s = job_resize(&p, j, &next, to.height, to.width, err)))
			return s;
	}
	next = p;
	if (j->s->on & DO_PAD) {
		// Half of it, rounded down also where it is negative: then the picture is cut.
		double left = floor((wide - next.width) / 2.0), above = floor((high - next.height) / 2.0);
		if (j->library == LIBRARY_PILLOW && (left < 0 || above < 0))
			return error_set(
				err, STATUS_BAD_INPUT, "a picture of %d x %d is larger than its page", next.width, next.height);
		if ((s = job_crop(&p, j, &next, -(int)left, -(int)above, wide, high, err)))
			return s;
	}
	return group_add(out, j, &p, err);
}

// An index behind the end, with the picture mirrored at its edge again and again.
static int mirrored(int i, int count)
{
	i %= 2 * count;
	return i < count ? i : 2 * count - 1 - i;
}

// Padded below and on the right to a multiple of size_divisor, always by something. torchvision takes no padding that is larger
// than the picture.
enum status shape_symmetric(struct job *j, const struct picture *in, struct group *out, struct error *err)
{
	int d = j->s->size_divisor > 0 ? j->s->size_divisor : 1;
	struct picture p = *in;
	enum status s;

	if (j->s->on & DO_PAD) {
		if ((s = picture_new(&p, j->work, (int64_t)(in->width / d + 1) * d, (int64_t)(in->height / d + 1) * d, 3, err)))
			return s;
		if (j->library == LIBRARY_TORCHVISION && (p.width > 2 * in->width || p.height > 2 * in->height))
			return error_set(
				err, STATUS_BAD_INPUT, "a picture of %d x %d is smaller than its padding", in->width, in->height);
		for (int y = 0; y < p.height; y++)
			for (int x = 0; x < p.width; x++)
				memcpy(picture_at(&p, x, y), picture_at(in, mirrored(x, in->width), mirrored(y, in->height)), 3);
	}
	return group_add(out, j, &p, err);
}
