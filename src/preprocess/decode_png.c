// SPDX-License-Identifier: Apache-2.0
// By libpng. 16 bits of colour become their high byte, 16 bits of grey are cut at 255, palettes and 1, 2 and 4 bits are expanded,
// alpha and transparent colours are dropped: what Pillow's convert("RGB") leaves. Gamma and colour profiles are not applied.
#include <setjmp.h>
#include <string.h>

#include <png.h>

#include "preprocess/decode.h"

enum {
	CHUNK_MOST = 8 << 20, // bytes that libpng may take for one chunk beside the image's
	AT_ONCE = 8 << 10     // that it takes of the image's
};

struct source {
	const struct decode_in *in;
	size_t at;
	size_t left;    // bytes that may still be taken
	char what[200]; // why it failed
	png_structp png;
	png_infop info;
	png_bytep *rows;
};

static void fail(png_structp png, png_const_charp what)
{
	struct source *f = png_get_error_ptr(png);

	snprintf(f->what, sizeof f->what, "%s", what);
	longjmp(png_jmpbuf(png), 1);
}

static void say_nothing(png_structp png, png_const_charp what)
{
	(void)png;
	(void)what;
}

static void take(png_structp png, png_bytep out, size_t nbytes)
{
	struct source *f = png_get_io_ptr(png);

	if (nbytes > f->in->nbytes - f->at)
		png_error(png, "the file is truncated");
	if (nbytes > f->left)
		png_error(png, "more compressed data than its rows have");
	f->left -= nbytes;
	memcpy(out, f->in->data + f->at, nbytes);
	f->at += nbytes;
}

// Texts and profiles are passed over: each would be decompressed to CHUNK_MOST, a thousand times its size, and nobody reads them.
static void ignore_words(png_structp png)
{
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1); // all but IHDR, PLTE, tRNS, IDAT and IEND
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "eXIf", 1);
}

// Every chunk up to IEND lies in the file: libpng allocates what eXIf says before it reads. Length, type, data, checksum.
static enum status check_chunks(const struct decode_in *in, struct error *err)
{
	enum { SIGNATURE = 8, AROUND = 12 };

	for (size_t at = SIGNATURE; in->nbytes - at >= AROUND;) {
		const uint8_t *head = in->data + at;
		uint32_t nbytes = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
		if (nbytes > in->nbytes - at - AROUND)
			break;
		if (memcmp(head + 4, "IEND", 4) == 0)
			return STATUS_OK;
		at += AROUND + nbytes;
	}
	return error_set(err, STATUS_BAD_INPUT, "the file is truncated");
}

// Grey of 16 bits, two bytes a pixel, high one first, in place of three bytes a pixel: from the row's own buffer.
static void rgb_of_grey16(uint8_t *out, const uint8_t *in, int width)
{
	for (int x = 0; x < width; x++)
		memset(out + 3 * x, in[2 * x] ? 255 : in[2 * x + 1], 3);
}

static enum status read_header(
	struct source *f, struct picture *out, bool *grey16, struct arena *a, bool looks, struct error *err)
{
	png_read_info(f->png, f->info);
	png_byte kind = png_get_color_type(f->png, f->info), depth = png_get_bit_depth(f->png, f->info);
	// Deflate makes at most 1032 bytes of one, and a pixel may be a bit of them.
	enum status s = decode_begin(out, a, f->in, png_get_image_width(f->png, f->info), png_get_image_height(f->png, f->info),
		1032 * 8 / (depth * png_get_channels(f->png, f->info)) + 1, err);

	*grey16 = kind == PNG_COLOR_TYPE_GRAY && depth == 16;
	if (s || *grey16 || looks)
		return s;
	png_set_strip_16(f->png);
	png_set_strip_alpha(f->png);
	if (kind == PNG_COLOR_TYPE_PALETTE)
		png_set_palette_to_rgb(f->png);
	if (kind == PNG_COLOR_TYPE_GRAY)
		png_set_expand_gray_1_2_4_to_8(f->png);
	if (kind == PNG_COLOR_TYPE_GRAY || kind == PNG_COLOR_TYPE_GRAY_ALPHA)
		png_set_gray_to_rgb(f->png);
	return STATUS_OK;
}

// Behind the last row libpng decompresses what is left, to see it end: a byte of that can be 1032, so that 10 MB take 19 s.
// `enough` is what a row that does not compress needs, and what libpng takes at once.
static void read_rows(struct source *f, int height, int passes)
{
	const size_t row = png_get_rowbytes(f->png, f->info), enough = row + row / 4 + AT_ONCE;

	for (int i = 1; i < passes; i++)
		png_read_rows(f->png, f->rows, NULL, (png_uint_32)height);
	png_read_rows(f->png, f->rows, NULL, (png_uint_32)height - 1);
	f->left = enough;
	png_read_rows(f->png, f->rows + height - 1, NULL, 1);
	f->left = SIZE_MAX;
}

// All rows as they lie in the file, one over the other: whether all are there, before memory is taken for a large picture.
static void skip_rows(struct source *f, struct arena *a)
{
	enum { PASSES = 7 };
	const png_uint_32 height = png_get_image_height(f->png, f->info);
	const bool interlaced = png_get_interlace_type(f->png, f->info) == PNG_INTERLACE_ADAM7;

	png_read_update_info(f->png, f->info);
	const size_t nbytes = png_get_rowbytes(f->png, f->info);
	png_bytep row = arena_alloc(a, nbytes);
	for (int pass = 0; pass < (interlaced ? PASSES : 1); pass++) {
		const png_uint_32 rows = interlaced ? PNG_PASS_ROWS(height, pass) : height;
		for (png_uint_32 y = 0; y < rows; y++) {
			if (y + 1 == rows && pass == (interlaced ? PASSES - 1 : 0))
				f->left = nbytes + nbytes / 4 + AT_ONCE;
			png_read_row(f->png, row, NULL);
		}
	}
}

static enum status read_image(struct source *f, struct picture *out, bool grey16, struct arena *a, struct error *err)
{
	int passes = png_set_interlace_handling(f->png);

	png_read_update_info(f->png, f->info);
	if (png_get_rowbytes(f->png, f->info) != (size_t)out->width * (grey16 ? 2 : 3))
		return error_set(err, STATUS_BAD_INPUT, "rows of %zu bytes", png_get_rowbytes(f->png, f->info));
	// Rows of grey lie at the end of theirs, so that they can be spread to the front.
	f->rows = ARENA_ARRAY(a, (size_t)out->height, png_bytep);
	for (int y = 0; y < out->height; y++)
		f->rows[y] = picture_at(out, 0, y) + (grey16 ? out->width : 0);
	read_rows(f, out->height, passes);
	for (int y = 0; grey16 && y < out->height; y++)
		rgb_of_grey16(picture_at(out, 0, y), f->rows[y], out->width);
	png_read_end(f->png, f->info);
	return STATUS_OK;
}

// EXIF may stand behind the image.
static int orientation_of(struct source *f)
{
	png_bytep exif = NULL;
	png_uint_32 nbytes = 0;

	return png_get_eXIf_1(f->png, f->info, &nbytes, &exif) ? exif_orientation(exif, nbytes) : 0;
}

// `looks`: no more than to look at all rows, of a large picture.
static enum status decode(struct source *f, struct picture *out, int *orientation, struct arena *a, bool looks, struct error *err)
{
	bool grey16;
	enum status s;

	if (setjmp(png_jmpbuf(f->png)))
		return error_set(err, STATUS_BAD_INPUT, "%s", f->what);
	png_set_user_limits(f->png, PICTURE_SIDE_MOST, PICTURE_SIDE_MOST);
	png_set_chunk_malloc_max(f->png, CHUNK_MOST);
	ignore_words(f->png);
	png_set_read_fn(f->png, f, take);
	if ((s = read_header(f, out, &grey16, a, looks, err)))
		return s;
	if (looks) {
		if ((int64_t)out->width * out->height > DECODE_UNSEEN_MOST)
			skip_rows(f, a);
		return STATUS_OK;
	}
	if ((s = read_image(f, out, grey16, a, err)))
		return s;
	*orientation = orientation_of(f);
	return STATUS_OK;
}

static enum status pass(
	struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, bool looks, struct error *err)
{
	struct source f = { .in = in, .left = SIZE_MAX };
	enum status s;

	f.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &f, fail, say_nothing);
	f.info = f.png ? png_create_info_struct(f.png) : NULL;
	s = f.info ? decode(&f, out, orientation, a, looks, err) : error_set(err, STATUS_NO_MEMORY, "libpng has no memory");
	png_destroy_read_struct(&f.png, &f.info, NULL);
	return s;
}

enum status decode_png(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err)
{
	struct arena once = { 0 };
	enum status s = check_chunks(in, err);

	if (s == STATUS_OK)
		s = pass(out, orientation, &once, in, true, err);
	arena_done(&once);
	return s ? s : pass(out, orientation, a, in, false, err);
}
