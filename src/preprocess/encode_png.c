// SPDX-License-Identifier: Apache-2.0
#include "preprocess/encode.h"

#include <png.h>

#include "base/file.h"

static int format_of(const struct picture *p)
{
	return p->channels == 1 ? PNG_FORMAT_GRAY : p->channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
}

enum status picture_save(const struct picture *p, const char *path, struct error *err)
{
	png_image image = { .version = PNG_IMAGE_VERSION,
		.width = (png_uint_32)p->width,
		.height = (png_uint_32)p->height,
		.format = (png_uint_32)format_of(p) };
	struct arena a = { 0 };
	png_alloc_size_t nbytes = PNG_IMAGE_PNG_SIZE_MAX(image);
	void *file = arena_try(&a, nbytes);
	enum status st;

	if (!file)
		st = error_set(err, STATUS_NO_MEMORY, "%s: no memory for a picture of %d x %d", path, p->width, p->height);
	else if (!png_image_write_to_memory(&image, file, &nbytes, 0, p->pixels, 0, NULL))
		st = error_set(err, STATUS_FAILED, "%s: %s", path, image.message);
	else
		st = file_write_user(path, file, nbytes, err);
	png_image_free(&image);
	arena_done(&a);
	return st;
}
