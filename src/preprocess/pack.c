// SPDX-License-Identifier: Apache-2.0
// Pictures of the right sizes to tensors. Padding is added behind the normalisation: it is 0.
#include <string.h>

#include "preprocess/inside.h"

// The sizes that all of them fit in; `alike`: they must have these.
static enum status extent_of(const struct job *j, struct extent *out, bool alike, struct error *err)
{
	*out = (struct extent){ 0 };
	for (size_t i = 0; i < j->in_count; i++)
		for (size_t k = 0; k < j->groups[i].count; k++) {
			const struct picture *p = &j->groups[i].pictures[k];
			if (alike && out->height && (p->height != out->height || p->width != out->width))
				return error_set(err, STATUS_BAD_INPUT,
					"picture %zu becomes %d x %d, and those before it %lld x %lld: this class does not take "
					"them together",
					i + 1, p->width, p->height, (long long)out->width, (long long)out->height);
			out->height = p->height > out->height ? p->height : out->height;
			out->width = p->width > out->width ? p->width : out->width;
		}
	return STATUS_OK;
}

static size_t count_of(const struct job *j)
{
	size_t count = 0;

	for (size_t i = 0; i < j->in_count; i++)
		count += j->groups[i].count;
	return count;
}

static size_t largest_group(const struct job *j)
{
	size_t most = 0;

	for (size_t i = 0; i < j->in_count; i++)
		most = j->groups[i].count > most ? j->groups[i].count : most;
	return most;
}

// A picture as number `slot` of a tensor [.., 3, height, width].
static void put(const struct job *j, const struct tensor *t, size_t slot, const struct picture *p)
{
	size_t plane = (size_t)t->dim[t->rank - 2] * (size_t)t->dim[t->rank - 1];

	job_write(j, p, (float *)t->data + slot * 3 * plane, plane, (size_t)t->dim[t->rank - 1], 1);
}

// 1 where a picture is, in number `slot` of a tensor [.., height, width].
static void put_mask(const struct tensor *t, size_t slot, const struct picture *p)
{
	size_t width = (size_t)t->dim[t->rank - 1];
	int64_t *at = (int64_t *)t->data + slot * width * (size_t)t->dim[t->rank - 2];

	for (size_t y = 0; y < (size_t)p->height; y++)
		for (size_t x = 0; x < (size_t)p->width; x++)
			at[y * width + x] = 1;
}

// pixel_values [n, 3, height, width] of everything, one behind the other.
static enum status put_all(struct job *j, const struct extent *to, struct error *err)
{
	struct tensor *t;
	size_t slot = 0;
	enum status s = job_tensor(
		&t, j, "pixel_values", DTYPE_F32, 4, (int64_t[]){ (int64_t)count_of(j), 3, to->height, to->width }, err);

	for (size_t i = 0; s == STATUS_OK && i < j->in_count; i++)
		for (size_t k = 0; k < j->groups[i].count; k++)
			put(j, t, slot++, &j->groups[i].pictures[k]);
	return s;
}

// [n, 2] of height and width: as the pictures were given, or of what became of them.
static enum status put_sizes(struct job *j, const char *name, bool given, struct error *err)
{
	struct tensor *t;
	enum status s = job_tensor(&t, j, name, DTYPE_I64, 2, (int64_t[]){ (int64_t)j->in_count, 2 }, err);

	for (size_t i = 0; s == STATUS_OK && i < j->in_count; i++) {
		const struct group *g = &j->groups[i];
		((int64_t *)t->data)[2 * i] = given ? g->height : g->pictures[0].height;
		((int64_t *)t->data)[2 * i + 1] = given ? g->width : g->pictures[0].width;
	}
	return s;
}

enum status pack_stack(struct job *j, struct error *err)
{
	struct extent to;
	enum status s = extent_of(j, &to, true, err);

	return s ? s : put_all(j, &to, err);
}

// Padded to the largest of the batch, or to pad_size, with a mask of where the pictures are.
enum status pack_masked_always(struct job *j, struct error *err)
{
	struct extent to;
	struct tensor *mask;
	enum status s = extent_of(j, &to, false, err);

	if (s == STATUS_OK && j->s->pad.height && j->s->pad.width) {
		if (j->s->pad.height < to.height || j->s->pad.width < to.width)
			return error_set(err, STATUS_BAD_INPUT, "pad_size is smaller than a picture of %lld x %lld",
				(long long)to.width, (long long)to.height);
		to = (struct extent){ j->s->pad.height, j->s->pad.width };
	}
	if (s || (s = put_all(j, &to, err)) ||
		(s = job_tensor(
			 &mask, j, "pixel_mask", DTYPE_I64, 3, (int64_t[]){ (int64_t)count_of(j), to.height, to.width }, err)))
		return s;
	for (size_t i = 0; i < j->in_count; i++)
		put_mask(mask, i, &j->groups[i].pictures[0]);
	return STATUS_OK;
}

enum status pack_masked(struct job *j, struct error *err)
{
	return j->s->on & DO_PAD ? pack_masked_always(j, err) : pack_stack(j, err);
}

enum status pack_sam(struct job *j, struct error *err)
{
	struct extent to;
	bool pad = j->s->on & DO_PAD;
	enum status s = extent_of(j, &to, !pad, err);

	if (s)
		return s;
	if (pad) {
		if (j->s->pad.height < to.height || j->s->pad.width < to.width)
			return error_set(err, STATUS_BAD_INPUT, "pad_size is smaller than a picture of %lld x %lld",
				(long long)to.width, (long long)to.height);
		to = (struct extent){ j->s->pad.height, j->s->pad.width };
	}
	if ((s = put_all(j, &to, err)) || (s = put_sizes(j, "original_sizes", true, err)))
		return s;
	return put_sizes(j, "reshaped_input_sizes", false, err);
}

enum status pack_pixtral(struct job *j, struct error *err)
{
	struct extent to;
	enum status s = extent_of(j, &to, !(j->s->on & DO_PAD), err);

	if (s || (s = put_all(j, &to, err)))
		return s;
	return put_sizes(j, "image_sizes", false, err);
}

// The pictures are the frames of one video: pixel_values [1, frames, 3, height, width].
enum status pack_video(struct job *j, struct error *err)
{
	enum status s = pack_stack(j, err);

	if (s == STATUS_OK) {
		struct tensor *t = &j->out->tensors[0];
		memmove(t->dim + 1, t->dim, 4 * sizeof *t->dim);
		t->dim[0] = 1;
		t->rank = 5;
	}
	return s;
}

// pixel_values [n, tiles, 3, side, side]: those with fewer tiles have zeros behind them.
enum status pack_pinpoints(struct job *j, struct error *err)
{
	size_t most = largest_group(j);
	struct extent to;
	struct tensor *t;
	enum status s = extent_of(j, &to, true, err);

	if (s ||
		(s = job_tensor(&t, j, "pixel_values", DTYPE_F32, 5,
			 (int64_t[]){ (int64_t)j->in_count, (int64_t)most, 3, to.height, to.width }, err)))
		return s;
	for (size_t i = 0; i < j->in_count; i++)
		for (size_t k = 0; k < j->groups[i].count; k++)
			put(j, t, i * most + k, &j->groups[i].pictures[k]);
	return put_sizes(j, "image_sizes", true, err);
}

// All tiles of all pictures are one text's: pixel_values [1, tiles, 3, height, width], pixel_attention_mask.
enum status pack_split(struct job *j, struct error *err)
{
	int64_t count = (int64_t)count_of(j);
	struct extent to;
	struct tensor *t, *mask;
	struct picture_tiles *tiles = ARENA_ARRAY(j->a, j->in_count + 1, struct picture_tiles);
	size_t slot = 0;
	enum status s = extent_of(j, &to, !(j->s->on & DO_PAD), err);

	for (size_t i = 0; i < j->in_count; i++)
		tiles[i] = j->groups[i].tiles;
	j->out->tiles = tiles;
	if (s || (s = job_tensor(&t, j, "pixel_values", DTYPE_F32, 5, (int64_t[]){ 1, count, 3, to.height, to.width }, err)))
		return s;
	for (size_t i = 0; i < j->in_count; i++)
		for (size_t k = 0; k < j->groups[i].count; k++)
			put(j, t, slot++, &j->groups[i].pictures[k]);
	if (!(j->s->on & DO_PAD))
		return STATUS_OK;
	if ((s = job_tensor(&mask, j, "pixel_attention_mask", DTYPE_I64, 4, (int64_t[]){ 1, count, to.height, to.width }, err)))
		return s;
	slot = 0;
	for (size_t i = 0; i < j->in_count; i++)
		for (size_t k = 0; k < j->groups[i].count; k++)
			put_mask(mask, slot++, &j->groups[i].pictures[k]);
	return STATUS_OK;
}

// Each picture and its crops; num_crops [n].
enum status pack_scan(struct job *j, struct error *err)
{
	struct tensor *t;
	enum status s = pack_stack(j, err);

	if (s || (s = job_tensor(&t, j, "num_crops", DTYPE_I64, 1, (int64_t[]){ (int64_t)j->in_count }, err)))
		return s;
	for (size_t i = 0; i < j->in_count; i++)
		((int64_t *)t->data)[i] = (int64_t)j->groups[i].count - 1;
	return STATUS_OK;
}
