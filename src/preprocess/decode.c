// SPDX-License-Identifier: Apache-2.0
#include "preprocess/decode.h"

#include <string.h>

#include "base/file.h"

// ---- EXIF -----------------------------------------------------------------------------------------------------------------

struct tiff {
	const uint8_t *data;
	size_t nbytes;
	bool big_endian;
};

static uint32_t number(const struct tiff *t, size_t at, int nbytes)
{
	uint32_t v = 0;

	for (int i = 0; i < nbytes; i++)
		v |= (uint32_t)t->data[at + (size_t)i] << 8 * (t->big_endian ? nbytes - 1 - i : i);
	return v;
}

// TIFF 6.0: "II*\0" or "MM\0*", the offset of the first directory; a directory is a count and entries of 12 bytes: tag, type,
// count, value.
int exif_orientation(const uint8_t *data, size_t nbytes)
{
	enum { ORIENTATION = 0x0112, SHORT = 3, ENTRY = 12 };
	struct tiff t = { data, nbytes, false };
	uint32_t first, count;

	if (nbytes >= 6 && memcmp(data, "Exif\0\0", 6) == 0) {
		t.data += 6;
		t.nbytes -= 6;
	}
	if (t.nbytes < 8 || (memcmp(t.data, "II*\0", 4) != 0 && memcmp(t.data, "MM\0*", 4) != 0))
		return 0;
	t.big_endian = t.data[0] == 'M';
	first = number(&t, 4, 4);
	if (first > t.nbytes - 2 || t.nbytes < 2)
		return 0;
	count = number(&t, first, 2);
	for (uint32_t i = 0; i < count && (t.nbytes - first - 2) / ENTRY > i; i++) {
		size_t at = first + 2 + (size_t)i * ENTRY;
		if (number(&t, at, 2) == ORIENTATION && number(&t, at + 2, 2) == SHORT) {
			uint32_t v = number(&t, at + 8, 2);
			return v >= 1 && v <= 8 ? (int)v : 0;
		}
	}
	return 0;
}

// ---- formats --------------------------------------------------------------------------------------------------------------

static bool begins(const struct decode_in *in, size_t at, const char *with, size_t nbytes)
{
	return in->nbytes >= at + nbytes && memcmp(in->data + at, with, nbytes) == 0;
}

static bool is_jpeg(const struct decode_in *in)
{
	return begins(in, 0, "\xFF\xD8\xFF", 3);
}

static bool is_png(const struct decode_in *in)
{
	return begins(in, 0, "\x89PNG\r\n\x1A\n", 8);
}

static bool is_webp(const struct decode_in *in)
{
	return begins(in, 0, "RIFF", 4) && begins(in, 8, "WEBP", 4);
}

static bool is_gif(const struct decode_in *in)
{
	return begins(in, 0, "GIF87a", 6) || begins(in, 0, "GIF89a", 6);
}

static const struct format {
	const char *name;
	bool (*is)(const struct decode_in *in);
	enum status (*decode)(
		struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err);
} formats[] = {
	{ "JPEG", is_jpeg, decode_jpeg },
	{ "PNG", is_png, decode_png },
	{ "WebP", is_webp, decode_webp },
	{ "GIF", is_gif, decode_gif },
};

enum status decode_proportion(const struct decode_in *in, int64_t width, int64_t height, int64_t a_byte, struct error *err)
{
	if (width * height / a_byte <= (int64_t)in->nbytes)
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT, "a picture of %lld x %lld in %zu bytes: the file is damaged or truncated",
		(long long)width, (long long)height, in->nbytes);
}

// One colour alone compresses a thousandfold: 630 KB were pixels for 12 s and 500 MB. A photograph has a byte for ten at most, a
// drawing for some hundreds.
enum { ALIKE_A_BYTE = 32 };

enum status decode_begin(struct picture *out, struct arena *a, const struct decode_in *in, int64_t width, int64_t height,
	int64_t a_byte, struct error *err)
{
	enum status s = picture_check(width, height, err);

	if (s)
		return s;
	if (width * height > in->most)
		return error_set(err, STATUS_BAD_INPUT, "a picture of %lld x %lld is too large: at most %lld pixels",
			(long long)width, (long long)height, (long long)in->most);
	if (a_byte && (s = decode_proportion(in, width, height, a_byte, err)))
		return s;
	if (width * height > DECODE_UNSEEN_MOST + ALIKE_A_BYTE * (int64_t)in->nbytes)
		return error_set(err, STATUS_BAD_INPUT,
			"a picture of %lld x %lld in %zu bytes: its pixels are alike, as those of no photograph are; at most %d "
			"of "
			"such are read",
			(long long)width, (long long)height, in->nbytes, DECODE_UNSEEN_MOST);
	return picture_new(out, a, width, height, 3, err);
}

enum status picture_decode(struct picture *out, struct arena *a, const char *name, const uint8_t *data, size_t nbytes,
	int64_t most, struct error *err)
{
	const struct decode_in in = { data, nbytes, most };
	struct arena own = { 0 };
	struct picture as_stored;
	int orientation = 0;
	enum status s = STATUS_BAD_INPUT;

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (formats[i].is(&in)) {
			s = formats[i].decode(&as_stored, &orientation, &own, &in, err);
			if (s) {
				error_prefix(err, "%s: %s", name, formats[i].name);
			} else {
				s = picture_orient(out, a, &as_stored, orientation, err);
				if (s == STATUS_OK && out->pixels == as_stored.pixels)
					arena_take(a, &own);
			}
			arena_done(&own);
			return s;
		}
	return error_set(err, STATUS_BAD_INPUT, "%s: no picture that is read here: JPEG, PNG, WebP or GIF", name);
}

enum status picture_open(struct picture *out, struct arena *a, const char *path, struct error *err)
{
	struct arena own = { 0 };
	const uint8_t *data;
	size_t nbytes;
	enum status s = file_map(&own, path, &data, &nbytes, err); // of what is no picture, only its beginning is looked at

	if (s == STATUS_OK && nbytes > PICTURE_FILE_MOST)
		s = error_set(err, STATUS_BAD_INPUT, "%s: %zu bytes; at most %d are read", path, nbytes, PICTURE_FILE_MOST);
	if (s == STATUS_OK)
		s = picture_decode(out, a, path, data, nbytes, PICTURE_PIXELS_MOST, err);
	arena_done(&own);
	return s;
}
