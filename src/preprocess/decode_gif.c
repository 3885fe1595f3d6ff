// SPDX-License-Identifier: Apache-2.0
// By giflib: the first frame on its canvas, which grows where the frame is larger. What the frame does not cover has the
// transparent colour, else colour 0, as Pillow has it.
#include <string.h>

#include <gif_lib.h>

#include "preprocess/decode.h"

struct source {
	const struct decode_in *in;
	size_t at;
	GifFileType *gif;
	int transparent; // a colour; -1: none
};

static int take(GifFileType *gif, GifByteType *out, int nbytes)
{
	struct source *f = gif->UserData;
	size_t left = f->in->nbytes - f->at, n = (size_t)nbytes < left ? (size_t)nbytes : left;

	memcpy(out, f->in->data + f->at, n);
	f->at += n;
	return (int)n;
}

static enum status failed(const struct source *f, struct error *err)
{
	const char *why = GifErrorString(f->gif->Error);

	return error_set(err, STATUS_BAD_INPUT, "%s", why ? why : "the file is damaged or truncated");
}

// Up to the first image; on the way its transparent colour.
static enum status find_image(struct source *f, struct error *err)
{
	GifRecordType kind;
	GifByteType *block;
	GraphicsControlBlock control;
	int code;

	for (;;) {
		if (DGifGetRecordType(f->gif, &kind) != GIF_OK)
			return failed(f, err);
		if (kind == IMAGE_DESC_RECORD_TYPE)
			return DGifGetImageDesc(f->gif) == GIF_OK ? STATUS_OK : failed(f, err);
		if (kind != EXTENSION_RECORD_TYPE)
			return error_set(err, STATUS_BAD_INPUT, "there is no image in it");
		if (DGifGetExtension(f->gif, &code, &block) != GIF_OK)
			return failed(f, err);
		if (code == GRAPHICS_EXT_FUNC_CODE && block && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
			f->transparent = control.TransparentColor;
		while (block)
			if (DGifGetExtensionNext(f->gif, &block) != GIF_OK)
				return failed(f, err);
	}
}

static void put_row(struct picture *out, const GifImageDesc *at, const ColorMapObject *map, const GifByteType *row, int y)
{
	y += at->Top;
	for (int x = 0; x < at->Width && y < out->height; x++)
		if (x + at->Left < out->width) {
			GifColorType c = row[x] < map->ColorCount ? map->Colors[row[x]] : (GifColorType){ 0, 0, 0 };
			memcpy(picture_at(out, x + at->Left, y), (uint8_t[]){ c.Red, c.Green, c.Blue }, 3);
		}
}

// Canvas that the frame leaves free.
static void fill_around(struct picture *out, const GifImageDesc *at, const ColorMapObject *map, int transparent)
{
	const int outside = transparent > 0 ? transparent : 0;

	if (outside >= map->ColorCount)
		return;
	const GifColorType c = map->Colors[outside];
	for (int y = 0; y < out->height; y++) {
		const bool beside = y >= at->Top && y - at->Top < at->Height;
		for (int x = 0; x < out->width; x++) {
			if (beside && x == at->Left)
				x += at->Width;
			if (x < out->width)
				memcpy(picture_at(out, x, y), (uint8_t[]){ c.Red, c.Green, c.Blue }, 3);
		}
	}
}

static enum status read_image(struct source *f, struct picture *out, struct arena *a, struct error *err)
{
	static const struct {
		int first, step;
	} interlaced[] = { { 0, 8 }, { 4, 8 }, { 2, 4 }, { 1, 2 } };
	const GifImageDesc *at = &f->gif->Image;
	const ColorMapObject *map = at->ColorMap ? at->ColorMap : f->gif->SColorMap;

	if (!map)
		return error_set(err, STATUS_BAD_INPUT, "there is no palette in it");
	GifByteType *row = arena_alloc(a, (size_t)at->Width);
	for (int pass = 0; pass < (at->Interlace ? 4 : 1); pass++)
		for (int y = at->Interlace ? interlaced[pass].first : 0; y < at->Height;
			y += at->Interlace ? interlaced[pass].step : 1) {
			if (DGifGetLine(f->gif, row, at->Width) != GIF_OK)
				return failed(f, err);
			put_row(out, at, map, row, y);
		}
	fill_around(out, at, map, f->transparent);
	return STATUS_OK;
}

// The longest run of LZW is a code of 12 bits for each of 4096 entries: 2731 pixels a byte.
static enum status begin(struct source *f, struct picture *out, struct arena *a, struct error *err)
{
	enum { A_BYTE = 2731 };
	const GifImageDesc *at = &f->gif->Image;
	const int right = at->Left + at->Width, below = at->Top + at->Height;
	enum status s = picture_check(at->Width, at->Height, err);

	if (s == STATUS_OK)
		s = decode_begin(out, a, f->in, right > f->gif->SWidth ? right : f->gif->SWidth,
			below > f->gif->SHeight ? below : f->gif->SHeight, 0, err);
	return s ? s : decode_proportion(f->in, at->Width, at->Height, A_BYTE, err);
}

// The pixels that the codes of an image stand for, before memory is taken for them: a code of LZW has one more than the code
// before that which it was made after. The blocks that hold them must end, too.
static enum status count_pixels(struct source *f, struct error *err)
{
	enum { CODES = 4096, CODE_BITS_MOST = 11 };
	const int bits = f->in->data[f->at - 1]; // giflib has read so far
	const int64_t needed = (int64_t)f->gif->Image.Width * f->gif->Image.Height;
	int length[CODES], before = -1, code = 0;
	int64_t found = 0;
	GifByteType *block = NULL;

	if (bits > CODE_BITS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "codes of %d bits", bits);
	const int clear = 1 << bits;
	int used = clear + 2;
	while (found < needed) {
		if (DGifGetLZCodes(f->gif, &code) != GIF_OK)
			return failed(f, err);
		if (code < 0 || (before < 0 && code > clear))
			return error_set(err, STATUS_BAD_INPUT, "the image ends early: the file is damaged or truncated");
		if (code == clear) {
			used = clear + 2;
			before = -1;
			continue;
		}
		const int n = code < clear ? 1 : code < used ? length[code] : length[before] + 1;
		length[code] = n;
		if (before >= 0 && used < CODES)
			length[used++] = length[before] + 1;
		before = code;
		found += n;
	}
	do {
		if (DGifGetCodeNext(f->gif, &block) != GIF_OK)
			return failed(f, err);
	} while (block);
	return STATUS_OK;
}

// Up to its first image, which is read, or only counted.
static enum status pass(struct picture *out, struct arena *a, const struct decode_in *in, bool counts, struct error *err)
{
	struct source f = { .in = in, .transparent = -1 };
	int code = 0;
	enum status s;

	f.gif = DGifOpen(&f, take, &code);
	if (!f.gif)
		return error_set(
			err, STATUS_BAD_INPUT, "%s", GifErrorString(code) ? GifErrorString(code) : "the file is damaged");
	if ((s = find_image(&f, err)) == STATUS_OK)
		s = begin(&f, out, a, err);
	if (s == STATUS_OK && !counts)
		s = read_image(&f, out, a, err);
	if (s == STATUS_OK && counts && (int64_t)f.gif->Image.Width * f.gif->Image.Height > DECODE_UNSEEN_MOST)
		s = count_pixels(&f, err);
	DGifCloseFile(f.gif, &code);
	return s;
}

enum status decode_gif(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err)
{
	struct arena once = { 0 };
	enum status s = pass(out, &once, in, true, err);

	arena_done(&once);
	*orientation = 0;
	return s ? s : pass(out, a, in, false, err);
}
