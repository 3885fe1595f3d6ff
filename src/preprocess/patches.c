// SPDX-License-Identifier: Apache-2.0
// Pictures as rows of patches.
#include <string.h>

#include "preprocess/inside.h"

// ---- Qwen2-VL -------------------------------------------------------------------------------------------------------------

// One picture's patches from `out` on: [rows / merge, columns / merge, merge, merge] of [3, temporal, side, side].
static void put_grid(const struct job *j, const struct picture *p, float *out)
{
	int side = j->s->patch.height, merge = j->s->merge, temporal = j->s->temporal;
	size_t area = (size_t)side * (size_t)side, width = area * (size_t)temporal * 3;
	int rows = p->height / side, columns = p->width / side;

	for (int y = 0; y < rows; y += merge)
		for (int x = 0; x < columns; x += merge)
			for (int i = 0; i < merge * merge; i++, out += width)
				for (int t = 0; t < temporal; t++) {
					struct picture patch = { side, side, 3, NULL };
					for (int row = 0; row < side; row++) {
						patch.height = 1;
						patch.pixels =
							picture_at(p, (x + i % merge) * side, (y + i / merge) * side + row);
						job_write(j, &patch, out + (size_t)t * area + (size_t)row * (size_t)side,
							area * (size_t)temporal, (size_t)side, 1);
					}
				}
}

// pixel_values [patches of all pictures, 3 * temporal * side * side], image_grid_thw [n, 3]: 1, rows, columns.
enum status pack_grid(struct job *j, struct error *err)
{
	int side = j->s->patch.height, unit = side * j->s->merge;
	int64_t width = (int64_t)3 * j->s->temporal * side * side, total = 0;
	struct tensor *values, *grid;
	float *at;
	enum status s;

	for (size_t i = 0; i < j->in_count; i++) {
		const struct picture *p = &j->groups[i].pictures[0];
		if (p->height % unit || p->width % unit)
			return error_set(err, STATUS_BAD_INPUT, "a picture of %d x %d is not made of whole patches of %d",
				p->width, p->height, unit);
		total += (int64_t)(p->height / side) * (p->width / side);
	}
	if ((s = job_tensor(&values, j, "pixel_values", DTYPE_F32, 2, (int64_t[]){ total, width }, err)) ||
		(s = job_tensor(&grid, j, "image_grid_thw", DTYPE_I64, 2, (int64_t[]){ (int64_t)j->in_count, 3 }, err)))
		return s;
	at = values->data;
	for (size_t i = 0; i < j->in_count; i++) {
		const struct picture *p = &j->groups[i].pictures[0];
		int64_t *of = (int64_t *)grid->data + 3 * i;
		of[0] = 1;
		of[1] = p->height / side;
		of[2] = p->width / side;
		put_grid(j, p, at);
		at += of[1] * of[2] * width;
	}
	return STATUS_OK;
}

// ---- SigLIP 2 -------------------------------------------------------------------------------------------------------------

// pixel_values [n, patches_most, side * side * 3], each patch row by row with its channels side by side; pixel_attention_mask
// [n, patches_most]; spatial_shapes [n, 2]: rows, columns.
enum status pack_patches(struct job *j, struct error *err)
{
	int side = j->s->patch.height;
	int64_t n = (int64_t)j->in_count, most = j->s->patches_most;
	size_t width = (size_t)side * (size_t)side * 3;
	struct tensor *values, *mask, *shapes;
	enum status s;

	if ((s = job_tensor(&values, j, "pixel_values", DTYPE_F32, 3, (int64_t[]){ n, most, (int64_t)width }, err)) ||
		(s = job_tensor(&mask, j, "pixel_attention_mask", DTYPE_I64, 2, (int64_t[]){ n, most }, err)) ||
		(s = job_tensor(&shapes, j, "spatial_shapes", DTYPE_I64, 2, (int64_t[]){ n, 2 }, err)))
		return s;
	for (size_t i = 0; i < j->in_count; i++) {
		const struct picture *p = &j->groups[i].pictures[0];
		int rows = p->height / side, columns = p->width / side;
		float *out = (float *)values->data + i * (size_t)most * width;
		if ((int64_t)rows * columns > most)
			return error_set(err, STATUS_BAD_INPUT, "a picture of %d x %d has more than %lld patches", p->width,
				p->height, (long long)most);
		for (int k = 0; k < rows * columns; k++) {
			((int64_t *)mask->data)[i * (size_t)most + (size_t)k] = 1;
			for (int row = 0; row < side; row++, out += (size_t)side * 3) {
				struct picture part = { side, 1, 3, picture_at(p, k % columns * side, k / columns * side + row) };
				job_write(j, &part, out, 1, 0, 3);
			}
		}
		((int64_t *)shapes->data)[2 * i] = rows;
		((int64_t *)shapes->data)[2 * i + 1] = columns;
	}
	return STATUS_OK;
}
