// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Decoding, turning, resizing and settings by themselves; whole processors are held against transformers' by conform.preprocess.
// Hashes are of what Pillow 13.0 (its own codecs, exif_transpose, convert("RGB"), resize) and torchvision 0.24 on AVX2
// (resize of uint8 tensors with antialias=True) gave: FNV-1a of the samples, row by row, channels side by side.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "preprocess/decode.h"
#include "preprocess/inside.h"

#define PICTURES TEST_SOURCE "/tests/fuzz/corpus/picture/"

static uint64_t hash_of(const struct picture *p)
{
	return fnv1a64(p->pixels, (size_t)p->width * (size_t)p->height * (size_t)p->channels);
}

// ---- decoding -------------------------------------------------------------------------------------------------------------

static const struct {
	const char *file;
	int width, height;
	uint64_t hash;
} files[] = {
	{ "420.jpg", 19, 13, 0xafa3967d06f970f2u },
	{ "444.jpg", 19, 13, 0x5a7a907fd273f55fu },
	{ "alpha.webp", 19, 13, 0xb88a986a1d4c22d7u },
	{ "animated.gif", 9, 7, 0x8d596f1c0b9a8e74u },
	{ "animated.webp", 9, 7, 0x444ae63a0ee5d2c9u },
	{ "bilevel.png", 19, 13, 0x7301079d6027c467u },
	{ "cmyk.jpg", 19, 13, 0x2e7eeb7e63371d21u },
	{ "grey.jpg", 19, 13, 0x17ecd42c2a671965u },
	{ "grey.png", 19, 13, 0x0fdc4025bbe570dau },
	{ "grey16.png", 11, 7, 0x02a090f101fff9d0u },
	{ "grey2.png", 17, 9, 0xdc1f6902cef20c08u },
	{ "grey4.png", 17, 9, 0x5707a3e5dd5bed2bu },
	{ "interlaced.gif", 9, 11, 0xab3468905a090cb2u },
	{ "interlaced.png", 8, 8, 0x1ee0ad77b36ece71u },
	{ "la16.png", 5, 4, 0xf4756c8fc73a1891u },
	{ "larger.gif", 14, 10, 0xdfd0c16dd3189b91u },
	{ "larger_transparent.gif", 14, 10, 0xa866a8aa8f194f8au },
	{ "lossless.webp", 9, 7, 0x444ae63a0ee5d2c9u },
	{ "lossy.webp", 19, 13, 0x42744267d9c2ce58u },
	{ "orientation2.jpg", 19, 13, 0xb5af28df8e56a5b1u },
	{ "orientation3.jpg", 19, 13, 0xece90a2251a78965u },
	{ "orientation4.jpg", 19, 13, 0x0a34b54e2c33a735u },
	{ "orientation5.jpg", 13, 19, 0x5f4237837fea4eb9u },
	{ "orientation6.jpg", 13, 19, 0xd9f408736c9d0fb5u },
	{ "orientation7.jpg", 13, 19, 0x8992c6d819a7c555u },
	{ "orientation8.jpg", 13, 19, 0x281ca8d80d407ca1u },
	{ "palette.png", 19, 13, 0xb60f2a3384ae71ebu },
	{ "plain.gif", 9, 7, 0x8d596f1c0b9a8e74u },
	{ "progressive.jpg", 19, 13, 0x3255a19f4013404au },
	{ "rgb.png", 9, 7, 0x3693ad05dadd3b34u },
	{ "rgb16.png", 7, 5, 0xad1d5d3fa2ccf8fbu },
	{ "rgba.png", 7, 9, 0xb7704855b0f6e565u },
	{ "rgba16.png", 5, 4, 0x320f48a7e3390727u },
	{ "smaller.gif", 9, 7, 0x8d596f1c0b9a8e74u },
	{ "transparent.gif", 9, 7, 0x8d596f1c0b9a8e74u },
	{ "turned.webp", 7, 9, 0xd4e5c9d3a2b3fbf8u },
};

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct arena a = { 0 };
		struct error e = { 0 };
		struct picture p;
		if (picture_open(&p, &a, arena_printf(&a, PICTURES "%s", files[i].file), &e))
			fail_msg("%s", e.text);
		if (p.width != files[i].width || p.height != files[i].height || p.channels != 3 || hash_of(&p) != files[i].hash)
			fail_msg("%s: %d x %d, %016llx", files[i].file, p.width, p.height, (unsigned long long)hash_of(&p));
		arena_done(&a);
	}
}

// Every beginning of every file is refused in a sentence, or was whole before its end already; no byte is read behind it.
static void test_truncated(void **state)
{
	size_t refusals = 0;

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct arena kept = { 0 };
		char *data;
		size_t nbytes;
		assert_int_equal(
			file_read(&kept, arena_printf(&kept, PICTURES "%s", files[i].file), 1 << 20, &data, &nbytes, NULL), 0);
		for (size_t n = 0; n < nbytes; n += 1 + n / 16) {
			struct arena a = { 0 };
			struct error e = { 0 };
			struct picture p;
			uint8_t *part = malloc(n ? n : 1); // of exactly that size: the sanitizer sees what lies behind
			memcpy(part, data, n);
			if (picture_decode(&p, &a, "x", part, n, PICTURE_PIXELS_MOST, &e)) {
				assert_int_equal(strncmp(e.text, "x: ", 3), 0);
				refusals++;
			} else {
				assert_int_equal(hash_of(&p), files[i].hash);
			}
			free(part);
			arena_done(&a);
		}
		arena_done(&kept);
	}
	assert_true(refusals > 500);
}

static void refused(const void *data, size_t nbytes, const char *why)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct picture p;

	assert_int_equal(picture_decode(&p, &a, "x", data, nbytes, PICTURE_PIXELS_MOST, &e), STATUS_BAD_INPUT);
	if (!strstr(e.text, why))
		fail_msg("not \"%s\": %s", why, e.text);
	arena_done(&a);
}

#define IHDR(w, h) "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" w h "\x08\x02\0\0\0"

static void test_sizes(void **state)
{
	static const char jpeg[] = "\xFF\xD8\xFF\xC0\0\x0B\x08\xEA\x60\xEA\x60\1\1\x11\0\xFF\xDA\0\x08\1\1\0\0\x3F\0";
	static const char small[] = "\xFF\xD8\xFF\xC0\0\x0B\x08\x20\0\x20\0\1\1\x11\0\xFF\xDA\0\x08\1\1\0\0\x3F\0";
	static const char gif[] = "GIF89a\x60\xEA\x60\xEA\0\0\0,\0\0\0\0\x60\xEA\x60\xEA\0\2";
	static const char vp8x[] = "RIFF\x16\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF";

	(void)state;
	// 60,000 x 60,000: the header with its checksum, no data, the end.
	refused(IHDR("\0\0\xEA\x60", "\0\0\xEA\x60") "\x0F\xB0\xE2\x15\0\0\0\0IDAT\x35\xAF\x06\x1E\0\0\0\0IEND\xAE\x42\x60\x82",
		57, "60000 x 60000 is too large");
	// EXIF of 2 GiB in a file of 57 bytes.
	refused(IHDR("\0\0\0\1", "\0\0\0\1") "\x90\x77\x53\xDE\x7F\xFF\xFF\xF0"
					     "eXIf\0\0\0\0\0\0\0\0IEND\xAE\x42\x60\x82",
		57, "PNG: the file is truncated");
	refused(jpeg, sizeof jpeg - 1, "60000 x 60000 is too large");
	refused(small, sizeof small - 1, "8192 x 8192 in 25 bytes");
	refused(gif, sizeof gif - 1, "60000 x 60000 is too large");
	refused(vp8x, sizeof vp8x - 1, "WebP: ");
	refused("", 0, "no picture that is read here");
	refused("BM", 2, "no picture that is read here");
}

static void test_exif(void **state)
{
	static const char little[] = "Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0",
			  big[] = "MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\7\0\0";

	(void)state;
	assert_int_equal(exif_orientation((const uint8_t *)little, sizeof little - 1), 6);
	assert_int_equal(exif_orientation((const uint8_t *)big, sizeof big - 1), 7);
	for (size_t n = 0; n < sizeof big - 1; n++) {
		uint8_t *part = malloc(n ? n : 1);
		memcpy(part, big, n);
		assert_int_equal(exif_orientation(part, n), 0);
		free(part);
	}
	// A directory that begins behind the end, or at its last byte.
	assert_int_equal(exif_orientation((const uint8_t *)"II*\0\xFF\xFF\xFF\xFF", 8), 0);
	assert_int_equal(exif_orientation((const uint8_t *)"II*\0\7\0\0\0", 8), 0);
}

// ---- resizing -------------------------------------------------------------------------------------------------------------

static const struct {
	enum filter filter;
	enum library library;
	int width, height, to_width, to_height;
	uint64_t hash;
} sizes[] = {
	{ FILTER_NEAREST, LIBRARY_PILLOW, 23, 17, 9, 31, 0xbbb2c29843a0f357u },
	{ FILTER_LANCZOS, LIBRARY_PILLOW, 23, 17, 9, 31, 0x2c10855c831c249eu },
	{ FILTER_BILINEAR, LIBRARY_PILLOW, 23, 17, 9, 31, 0x1b17a6033aa440b0u },
	{ FILTER_BICUBIC, LIBRARY_PILLOW, 23, 17, 9, 31, 0xc498d6648e418c51u },
	{ FILTER_BOX, LIBRARY_PILLOW, 23, 17, 9, 31, 0x8fe59ef2b39d6440u },
	{ FILTER_HAMMING, LIBRARY_PILLOW, 23, 17, 9, 31, 0x5781282431c8395bu },
	{ FILTER_NEAREST, LIBRARY_TORCHVISION, 23, 17, 9, 31, 0xbbb2c29843a0f357u },
	{ FILTER_BILINEAR, LIBRARY_TORCHVISION, 23, 17, 9, 31, 0x742ec2a9f4e447cdu },
	{ FILTER_BICUBIC, LIBRARY_TORCHVISION, 23, 17, 9, 31, 0x2c2bbeaa26b50464u },
	{ FILTER_NEAREST, LIBRARY_PILLOW, 40, 30, 11, 13, 0x631368f2e4c1cd57u },
	{ FILTER_LANCZOS, LIBRARY_PILLOW, 40, 30, 11, 13, 0xd0f7e47b5aafd650u },
	{ FILTER_BILINEAR, LIBRARY_PILLOW, 40, 30, 11, 13, 0x2171f30f2547cfdcu },
	{ FILTER_BICUBIC, LIBRARY_PILLOW, 40, 30, 11, 13, 0xa8d5855d4c435df8u },
	{ FILTER_BOX, LIBRARY_PILLOW, 40, 30, 11, 13, 0xd5aae0e6e35d27eau },
	{ FILTER_HAMMING, LIBRARY_PILLOW, 40, 30, 11, 13, 0x631232cf95f9f673u },
	{ FILTER_NEAREST, LIBRARY_TORCHVISION, 40, 30, 11, 13, 0x453e16e42b601b45u },
	{ FILTER_BILINEAR, LIBRARY_TORCHVISION, 40, 30, 11, 13, 0x2171f30f2547cfdcu },
	{ FILTER_BICUBIC, LIBRARY_TORCHVISION, 40, 30, 11, 13, 0x83dee470f2946b34u },
	{ FILTER_NEAREST, LIBRARY_PILLOW, 17, 50, 16, 20, 0x4ab8c757f0d57ed6u },
	{ FILTER_LANCZOS, LIBRARY_PILLOW, 17, 50, 16, 20, 0x4962111fa3b96de9u },
	{ FILTER_BILINEAR, LIBRARY_PILLOW, 17, 50, 16, 20, 0x41cbd03a8cc05f64u },
	{ FILTER_BICUBIC, LIBRARY_PILLOW, 17, 50, 16, 20, 0x224a2343950bbb5du },
	{ FILTER_BOX, LIBRARY_PILLOW, 17, 50, 16, 20, 0x63a8af5836b1ec7fu },
	{ FILTER_HAMMING, LIBRARY_PILLOW, 17, 50, 16, 20, 0x3a9370ac4b604900u },
	{ FILTER_NEAREST, LIBRARY_TORCHVISION, 17, 50, 16, 20, 0x4ab8c757f0d57ed6u },
	{ FILTER_BILINEAR, LIBRARY_TORCHVISION, 17, 50, 16, 20, 0x647dc5b5129e6c7au },
	{ FILTER_BICUBIC, LIBRARY_TORCHVISION, 17, 50, 16, 20, 0xec01ea928f79387au },
	{ FILTER_NEAREST, LIBRARY_PILLOW, 5, 4, 64, 3, 0x36748a4aa04f21bdu },
	{ FILTER_LANCZOS, LIBRARY_PILLOW, 5, 4, 64, 3, 0x84ca13a9b6d2e8a8u },
	{ FILTER_BILINEAR, LIBRARY_PILLOW, 5, 4, 64, 3, 0xb202511dd39caed8u },
	{ FILTER_BICUBIC, LIBRARY_PILLOW, 5, 4, 64, 3, 0x70b47c372c81a63du },
	{ FILTER_BOX, LIBRARY_PILLOW, 5, 4, 64, 3, 0x96d7bf04b08a0f02u },
	{ FILTER_HAMMING, LIBRARY_PILLOW, 5, 4, 64, 3, 0x253b26ec1eeb6203u },
	{ FILTER_NEAREST, LIBRARY_TORCHVISION, 5, 4, 64, 3, 0x36748a4aa04f21bdu },
	{ FILTER_BILINEAR, LIBRARY_TORCHVISION, 5, 4, 64, 3, 0x1047c17395d286a6u },
	{ FILTER_BICUBIC, LIBRARY_TORCHVISION, 5, 4, 64, 3, 0x7bb8d152dbc4052bu },
	{ FILTER_NEAREST, LIBRARY_PILLOW, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
	{ FILTER_LANCZOS, LIBRARY_PILLOW, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
	{ FILTER_BILINEAR, LIBRARY_PILLOW, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
	{ FILTER_BICUBIC, LIBRARY_PILLOW, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
	{ FILTER_BOX, LIBRARY_PILLOW, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
	{ FILTER_HAMMING, LIBRARY_PILLOW, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
	{ FILTER_NEAREST, LIBRARY_TORCHVISION, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
	{ FILTER_BILINEAR, LIBRARY_TORCHVISION, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
	{ FILTER_BICUBIC, LIBRARY_TORCHVISION, 1, 1, 3, 2, 0xbdde89ece32f9aa3u },
};

static struct picture noise(struct arena *a, int width, int height)
{
	struct picture p;

	assert_int_equal(picture_new(&p, a, width, height, 3, NULL), STATUS_OK);
	for (size_t i = 0; i < (size_t)width * (size_t)height * 3; i++)
		p.pixels[i] = (uint8_t)(splitmix64(7, i) >> 56);
	return p;
}

static void test_resize(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct arena a = { 0 };
		struct picture in = noise(&a, sizes[i].width, sizes[i].height), out;
		assert_int_equal(picture_resize(&out, &a, &in, sizes[i].to_height, sizes[i].to_width, sizes[i].filter,
					 sizes[i].library, NULL),
			STATUS_OK);
		if (hash_of(&out) != sizes[i].hash)
			fail_msg("row %zu: filter %d, library %d: %016llx", i, sizes[i].filter, sizes[i].library,
				(unsigned long long)hash_of(&out));
		arena_done(&a);
	}
	// What nobody's processor makes is refused before it is made: a side of 8000 takes seconds and a gigabyte.
	struct arena a = { 0 };
	struct picture in = noise(&a, 16, 16), out;
	struct error err = { 0 };
	assert_int_equal(picture_resize(&out, &a, &in, 8000, 8000, FILTER_BICUBIC, LIBRARY_TORCHVISION, &err), STATUS_BAD_INPUT);
	assert_string_equal(err.text, "it would be resized to 8000 x 8000: at most 33554432 pixels are made");
	// Nor what lies between the passes: of pixels one above the other and a side of 65535 it was 178 million.
	in = noise(&a, 1, 2730);
	assert_int_equal(picture_resize(&out, &a, &in, 1, 65535, FILTER_BICUBIC, LIBRARY_TORCHVISION, &err), STATUS_BAD_INPUT);
	assert_string_equal(
		err.text, "it would be resized to 65535 x 1, with 178910550 pixels on the way: at most 33554432 are made");
	arena_done(&a);
}

// The two libraries round differently: what is right for one must not pass for the other.
static void test_libraries_differ(void **state)
{
	struct arena a = { 0 };
	struct picture in = noise(&a, 40, 30), pil, torch;

	(void)state;
	assert_int_equal(picture_resize(&pil, &a, &in, 13, 11, FILTER_BICUBIC, LIBRARY_PILLOW, NULL), STATUS_OK);
	assert_int_equal(picture_resize(&torch, &a, &in, 13, 11, FILTER_BICUBIC, LIBRARY_TORCHVISION, NULL), STATUS_OK);
	assert_int_not_equal(hash_of(&pil), hash_of(&torch));
	arena_done(&a);
}

static void test_crop(void **state)
{
	struct arena a = { 0 };
	struct picture in = noise(&a, 3, 2), out;

	(void)state;
	assert_int_equal(picture_crop(&out, &a, &in, -2, -1, 7, 5, NULL), STATUS_OK);
	for (int y = 0; y < 5; y++)
		for (int x = 0; x < 7; x++) {
			bool inside = x >= 2 && x < 5 && y >= 1 && y < 3;
			for (int k = 0; k < 3; k++)
				assert_int_equal(picture_at(&out, x, y)[k], inside ? picture_at(&in, x - 2, y - 1)[k] : 0);
		}
	// Beside it altogether.
	assert_int_equal(picture_crop(&out, &a, &in, 5, 5, 2, 2, NULL), STATUS_OK);
	assert_int_equal(hash_of(&out), fnv1a64((uint8_t[12]){ 0 }, 12));
	assert_int_equal(picture_crop(&out, &a, &in, 0, 0, 0, 2, NULL), STATUS_BAD_INPUT);
	arena_done(&a);
}

// ---- settings -------------------------------------------------------------------------------------------------------------

static enum status parse(struct preprocessor **p, struct arena *a, const char *json, struct error *e)
{
	return preprocessor_parse(p, a, "s", json, strlen(json), e);
}

static void refuses(const char *json, enum status status, const char *why)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct preprocessor *p;

	assert_int_equal(parse(&p, &a, json, &e), status);
	if (!strstr(e.text, why) || strncmp(e.text, "s: ", 3) != 0)
		fail_msg("not \"%s\": %s", why, e.text);
	arena_done(&a);
}

#define VIT "{\"image_processor_type\": \"ViTImageProcessor\", "

static void test_settings(void **state)
{
	(void)state;
	refuses("{}", STATUS_BAD_INPUT, "neither image_processor_type nor feature_extractor_type");
	refuses("{\"image_processor_type\": \"NoneImageProcessor\"}", STATUS_UNSUPPORTED, "NoneImageProcessor is no processor");
	refuses("{\"image_processor_type\": \"ViTImageProcessorX\"}", STATUS_UNSUPPORTED, "ViTImageProcessorX is no processor");
	refuses("{\"image_processor_type\": \"LayoutLMv3ImageProcessor\"}", STATUS_UNSUPPORTED, "apply_ocr of a LayoutLMv3");
	refuses(VIT "\"size\": -1}", STATUS_BAD_INPUT, "size: a whole number from 1 to 65535");
	refuses(VIT "\"size\": 1e300}", STATUS_BAD_INPUT, "size: a whole number");
	refuses(VIT "\"size\": [1]}", STATUS_BAD_INPUT, "size: a list of two numbers");
	refuses(VIT "\"size\": {\"height\": \"x\"}}", STATUS_BAD_INPUT, "size: a whole number");
	refuses(VIT "\"do_resize\": 1}", STATUS_BAD_INPUT, "do_resize: true or false");
	refuses(VIT "\"resample\": 6}", STATUS_BAD_INPUT, "resample: a whole number from 0 to 5");
	refuses(VIT "\"image_std\": [0, 1, 1]}", STATUS_BAD_INPUT, "image_std: a number from");
	refuses(VIT "\"image_mean\": [0, 1]}", STATUS_BAD_INPUT, "image_mean: a list of three");
	refuses("{\"image_processor_type\": \"LlavaNextImageProcessor\", \"image_grid_pinpoints\": [[1]]}", STATUS_BAD_INPUT,
		"image_grid_pinpoints: a list of pairs");
}

// What transformers 5.24 makes of keys that a class does not have, and of null.
static void test_switches(void **state)
{
	static const struct {
		const char *class_name, *json;
		unsigned on;
		int shortest;
	} rows[] = {
		{ "ViT", "{\"rescale_offset\": true, \"include_top\": true, \"do_flip_channel_order\": true}",
			DO_RESIZE | DO_RESCALE | DO_NORMALIZE, 0 },
		{ "EfficientNet", "{\"rescale_offset\": true, \"include_top\": false}",
			DO_RESIZE | DO_RESCALE | DO_NORMALIZE | DO_OFFSET, 0 },
		{ "MobileViT", "{\"do_center_crop\": false}", DO_RESIZE | DO_RESCALE | DO_FLIP, 224 },
		{ "Detr", "{\"do_center_crop\": true, \"crop_size\": 8}", DO_RESIZE | DO_RESCALE | DO_NORMALIZE | DO_PAD, 800 },
		{ "ViT", "{\"do_rescale\": null, \"do_normalize\": null}", DO_RESIZE, 0 },
		{ "ViT", "{\"default_to_square\": false, \"size\": 32}", DO_RESIZE | DO_RESCALE | DO_NORMALIZE, 32 },
		{ "CLIP", "{\"default_to_square\": true, \"size\": 32, \"do_center_crop\": false}",
			DO_RESIZE | DO_RESCALE | DO_NORMALIZE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *o = json_loads(rows[i].json, 0, NULL);
		struct settings got;
		struct error e = { 0 };

		if (settings_read(&got, o, processor_class_find(rows[i].class_name), &e) || got.on != rows[i].on ||
			got.size.shortest != rows[i].shortest)
			fail_msg("%s %s: %x, shortest edge %d %s", rows[i].class_name, rows[i].json, got.on, got.size.shortest,
				e.text);
		json_decref(o);
	}
	assert_int_equal(processor_class_find("Pvt")->with.resample, FILTER_BICUBIC);
}

static void run_fails(const char *json, int width, int height, size_t count, const char *why)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct preprocessor *p;
	struct preprocessed out;
	struct picture in[2] = { noise(&a, width, height), noise(&a, 8, 8) };

	if (parse(&p, &a, json, &e))
		fail_msg("%s", e.text);
	assert_int_not_equal(preprocessor_run(p, PREPROCESS_TORCHVISION, in, count, &a, &out, &e), STATUS_OK);
	if (!strstr(e.text, why))
		fail_msg("not \"%s\": %s", why, e.text);
	arena_done(&a);
}

static void test_sizes_that_do_not_go(void **state)
{
	(void)state;
	run_fails(VIT "\"size\": 65535}", 3, 3, 1, "65535 x 65535 is too large");
	run_fails(VIT "\"do_resize\": false}", 3, 3, 2, "picture 2 becomes 8 x 8, and those before it 3 x 3");
	run_fails(VIT "\"do_resize\": false}", 3, 3, 0, "no pictures");
	run_fails(VIT "\"size\": {\"longest_edge\": 5}}", 3, 3, 1, "size: this class wants");
	run_fails("{\"image_processor_type\": \"GLPNImageProcessor\"}", 3, 3, 1, "would be resized to 0 x 0");
	run_fails("{\"image_processor_type\": \"Qwen2VLImageProcessor\"}", 1, 201, 1, "no side longer than 200 times");
	run_fails("{\"image_processor_type\": \"DetrImageProcessor\", \"pad_size\": {\"height\": 5, \"width\": 5}}", 3, 3, 1,
		"pad_size is smaller");
	run_fails("{\"image_processor_type\": \"SamImageProcessor\", \"pad_size\": 5}", 3, 3, 1, "pad_size is smaller");
	run_fails("{\"image_processor_type\": \"Siglip2ImageProcessor\", \"max_num_patches\": 1048576, \"patch_size\": 65535}", 3,
		3, 1, "too large");
	run_fails("{\"image_processor_type\": \"Pix2StructImageProcessor\", \"max_patches\": 1048576, \"patch_size\": 1000}", 3,
		3, 1, "would take more than");
}

// A patch without a height or a width: Pixtral's class divided by it.
static void test_no_patch(void **state)
{
	static const char *const classes[] = { "Pixtral", "Qwen2VL", "Siglip2", "Pix2Struct" };
	static const char *const values[] = { "{}", "{\"shortest_edge\": 8}", "{\"height\": 8}", "{\"width\": 8}" };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 4; k++) {
			char json[128];

			snprintf(json, sizeof json, "{\"image_processor_type\": \"%sImageProcessor\", \"patch_size\": %s}",
				classes[i], values[k]);
			refuses(json, STATUS_BAD_INPUT, "patch_size: height and width");
		}
}

// What transformers 5.23 gave: resized in float32 and not in samples of 8 bits.
static void test_dinov3(void **state)
{
	static const size_t places[] = { 0, 100, 400, 836 };
	static const struct {
		const char *settings;
		double at[4], sum;
	} of[] = {
		{ "{\"image_processor_type\": \"DINOv3ViTImageProcessorFast\", \"size\": {\"height\": 31, \"width\": 9}}",
			{ 0.00820019376, 0.910939336, 0.245751143, 0.516989648 }, 145.41976981429616 },
		{ "{\"image_processor_type\": \"DINOv3ViTImageProcessor\", \"resample\": 3, \"size\": [31, 9]}",
			{ -0.175009906, 1.04957402, 0.30216828, 0.599840105 }, 144.77008397701138 },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct arena a = { 0 };
		struct error e = { 0 };
		struct preprocessor *p;
		struct preprocessed out;
		struct picture in = noise(&a, 23, 17);
		double sum = 0;
		if (parse(&p, &a, of[i].settings, &e) || preprocessor_run(p, PREPROCESS_TORCHVISION, &in, 1, &a, &out, &e))
			fail_msg("%s", e.text);
		assert_int_equal(out.tensors[0].nbytes, 837 * sizeof(float));
		for (size_t k = 0; k < 4; k++)
			assert_true(fabs(tensor_get(&out.tensors[0], places[k]) - of[i].at[k]) < 2e-6);
		for (size_t k = 0; k < 837; k++)
			sum += tensor_get(&out.tensors[0], k);
		assert_true(fabs(sum - of[i].sum) < 1e-4);
		assert_int_equal(preprocessor_run(p, PREPROCESS_PIL, &in, 1, &a, &out, &e), STATUS_UNSUPPORTED);
		arena_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_exif),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_libraries_differ),
		cmocka_unit_test(test_crop),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_sizes_that_do_not_go),
		cmocka_unit_test(test_no_patch),
		cmocka_unit_test(test_dinov3),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
