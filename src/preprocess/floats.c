// SPDX-License-Identifier: Apache-2.0
// Classes that resize numbers and not 8-bit samples.
#include <math.h>
#include <string.h>

#include "preprocess/inside.h"

static enum status planes_of(
	struct planes *out, struct arena *a, const struct picture *p, int height, int width, float scale, struct error *err)
{
	enum status s = planes_new(out, a, 3, height, width, err);

	for (int y = 0; s == STATUS_OK && y < p->height; y++)
		for (int x = 0; x < p->width; x++)
			for (int k = 0; k < 3; k++)
				out->data[((size_t)k * (size_t)height + (size_t)y) * (size_t)width + (size_t)x] =
					(float)picture_at(p, x, y)[k] * scale;
	return s;
}

// ---- OWLv2 ----------------------------------------------------------------------------------------------------------------

enum { STEPS_MOST = 1 << 30 }; // of a channel and an axis: a square of 6,144 made 960 takes 870 million

static enum status blur_along(struct planes *p, struct job *j, bool vertical, double sigma, struct error *err)
{
	const double radius_wanted = j->library == LIBRARY_PILLOW ? 4 * sigma + 0.5 : ceil(3 * sigma),
		     steps = (double)p->height * p->width * (2 * radius_wanted + 1);
	struct planes in = *p;

	if (steps > STEPS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%d x %d pixels are blurred %.0f wide: at most %d steps are taken",
			p->width, p->height, 2 * radius_wanted + 1, STEPS_MOST);
	const int radius = (int)radius_wanted;
	return sigma > 0 ? planes_blur(p, j->work, &in, vertical, sigma, radius, err) : STATUS_OK;
}

// The blur before a square of `side` is made smaller: sigma is (factor - 1) / 2. scipy blurs each axis by itself and cuts at 4
// sigma; torchvision's blur is cut at 3 sigma, is not done at all where one axis needs none, and the class gives it the axes in
// the wrong order.
static enum status blur(struct planes *p, struct job *j, int side, struct error *err)
{
	double down = fmax(0, ((double)side / j->s->size.height - 1) / 2),
	       across = fmax(0, ((double)side / j->s->size.width - 1) / 2);
	bool torch = j->library == LIBRARY_TORCHVISION;
	enum status s;

	if (torch && (down == 0 || across == 0))
		return STATUS_OK;
	if ((s = blur_along(p, j, false, torch ? down : across, err)))
		return s;
	return blur_along(p, j, true, torch ? across : down, err);
}

// Padded with black to a square, blurred, and resized between the two nearest pixels.
enum status whole_owlv2(struct job *j, struct error *err)
{
	enum { SIDE_MOST = 6144 }; // its square takes half a minute
	int high = j->s->size.height, wide = j->s->size.width;
	struct tensor *t;
	enum status s;

	if (!high || !wide)
		return error_set(err, STATUS_BAD_INPUT, "size: this class wants height and width");
	if (!(j->s->on & DO_PAD) || !(j->s->on & DO_RESIZE) || !(j->s->on & DO_RESCALE))
		return error_set(
			err, STATUS_UNSUPPORTED, "an Owlv2 processor without do_pad, do_resize or do_rescale is not done here");
	if ((s = job_tensor(&t, j, "pixel_values", DTYPE_F32, 4, (int64_t[]){ (int64_t)j->in_count, 3, high, wide }, err)))
		return s;
	for (size_t i = 0; i < j->in_count; i++) {
		const struct picture *in = &j->in[i];
		int side = in->width > in->height ? in->width : in->height;
		struct planes p, resized;
		if (side > SIDE_MOST)
			return error_set(err, STATUS_BAD_INPUT,
				"picture %zu, of %d x %d, would be padded to a square: at most %d a side are taken", i + 1,
				in->width, in->height, SIDE_MOST);
		if ((s = planes_of(
			     &p, j->work, in, side, side, (float)(j->s->on & DO_RESCALE ? j->s->rescale_factor : 1), err)) ||
			(s = blur(&p, j, side, err)) ||
			(s = planes_between(&resized, j->work, &p, high, wide, j->library == LIBRARY_PILLOW, err)))
			return s;
		size_t plane = (size_t)high * (size_t)wide;
		float *out = (float *)t->data + i * 3 * plane;
		for (size_t k = 0; k < 3; k++)
			for (size_t x = 0; x < plane; x++)
				out[k * plane + x] = j->s->on & DO_NORMALIZE
					? (resized.data[k * plane + x] - (float)j->s->mean[k]) / (float)j->s->std[k]
					: resized.data[k * plane + x];
		arena_done(j->work);
	}
	return STATUS_OK;
}

// ---- DINOv3 ---------------------------------------------------------------------------------------------------------------

// Rescaled before it is resized; there is no implementation with Pillow.
enum status whole_dinov3(struct job *j, struct error *err)
{
	struct tensor *t;
	struct extent to;
	enum status s;

	if (j->library == LIBRARY_PILLOW)
		return error_set(err, STATUS_UNSUPPORTED, "a DINOv3ViT processor has no implementation with Pillow");
	if (j->s->on != (DO_RESIZE | DO_RESCALE | DO_NORMALIZE) || j->s->resample == FILTER_NEAREST)
		return error_set(
			err, STATUS_UNSUPPORTED, "a DINOv3ViT processor with other steps than its usual ones is not done here");
	for (size_t i = 0; i < j->in_count; i++) {
		const struct picture *in = &j->in[i];
		struct planes p, resized;
		struct extent first = i ? to : (struct extent){ 0 };
		if ((s = size_usual(&to, j->s, in->height, in->width, err)))
			return s;
		if (i == 0 &&
			(s = job_tensor(&t, j, "pixel_values", DTYPE_F32, 4,
				 (int64_t[]){ (int64_t)j->in_count, 3, to.height, to.width }, err)))
			return s;
		if (i > 0 && (to.height != first.height || to.width != first.width))
			return error_set(err, STATUS_BAD_INPUT, "picture %zu becomes another size than those before it", i + 1);
		if ((s = planes_of(&p, j->work, in, in->height, in->width, (float)j->s->rescale_factor, err)) ||
			(s = planes_resize(&resized, j->work, &p, (int)to.height, (int)to.width, j->s->resample, err)))
			return s;
		size_t plane = (size_t)to.height * (size_t)to.width;
		for (size_t x = 0; x < 3 * plane; x++)
			((float *)t->data)[i * 3 * plane + x] =
				(resized.data[x] - (float)j->s->mean[x / plane]) / (float)j->s->std[x / plane];
		arena_done(j->work);
	}
	return STATUS_OK;
}

// ---- Pix2Struct -----------------------------------------------------------------------------------------------------------

// By the mean and deviation of the picture's own samples, the deviation at least 1 / sqrt(count); torch divides by count - 1.
static void standardise(struct planes *p, enum library library)
{
	size_t count = (size_t)p->channels * (size_t)p->height * (size_t)p->width;
	double sum = 0, squares = 0, mean, deviation;

	for (size_t i = 0; i < count; i++)
		sum += p->data[i];
	mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (p->data[i] - mean) * (p->data[i] - mean);
	deviation = sqrt(squares / (double)(library == LIBRARY_PILLOW || count < 2 ? count : count - 1));
	deviation = fmax(deviation, 1 / sqrt((double)count));
	for (size_t i = 0; i < count; i++)
		p->data[i] = (p->data[i] - (float)mean) / (float)deviation;
}

// As many whole patches as there may be, with the picture's aspect ratio: rows and columns.
static void feasible(const struct settings *s, const struct picture *in, int *rows, int *columns)
{
	double ph = s->patch.height, pw = s->patch.width, scale = sqrt(s->patches_most * (ph / in->height) * (pw / in->width));

	*rows = (int)fmax(fmin(trunc(scale * in->height / ph), s->patches_most), 1);
	*columns = (int)fmax(fmin(trunc(scale * in->width / pw), s->patches_most), 1);
}

// A row: its row and column from 1 on, then [patch height, patch width, 3].
static void put_patch(float *out, const struct planes *p, int row, int column, const struct edges *patch)
{
	*out++ = (float)(row + 1);
	*out++ = (float)(column + 1);
	for (int y = row * patch->height; y < (row + 1) * patch->height; y++)
		for (int x = column * patch->width; x < (column + 1) * patch->width; x++)
			for (int k = 0; k < 3; k++)
				*out++ = p->data[((size_t)k * (size_t)p->height + (size_t)y) * (size_t)p->width + (size_t)x];
}

enum status whole_pix2struct(struct job *j, struct error *err)
{
	const struct edges *patch = &j->s->patch;
	int64_t n = (int64_t)j->in_count, most = j->s->patches_most, width = 2 + (int64_t)3 * patch->height * patch->width;
	struct tensor *t, *mask;
	enum status s;

	if ((s = job_tensor(&t, j, "flattened_patches", DTYPE_F32, 3, (int64_t[]){ n, most, width }, err)) ||
		(s = job_tensor(&mask, j, "attention_mask", DTYPE_F32, 2, (int64_t[]){ n, most }, err)))
		return s;
	for (size_t i = 0; i < j->in_count; i++) {
		int rows, columns;
		struct planes p, resized;
		if ((s = planes_of(&p, j->work, &j->in[i], j->in[i].height, j->in[i].width, 1, err)))
			return s;
		if (j->s->on & DO_NORMALIZE)
			standardise(&p, j->library);
		feasible(j->s, &j->in[i], &rows, &columns);
		if ((s = planes_resize(
			     &resized, j->work, &p, rows * patch->height, columns * patch->width, FILTER_BILINEAR, err)))
			return s;
		for (int k = 0; k < rows * columns && k < most; k++) {
			size_t at = i * (size_t)most + (size_t)k;
			put_patch((float *)t->data + at * (size_t)width, &resized, k / columns, k % columns, patch);
			((float *)mask->data)[at] = 1;
		}
		arena_done(j->work);
	}
	return STATUS_OK;
}
