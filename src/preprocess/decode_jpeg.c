// SPDX-License-Identifier: Apache-2.0
// By libjpeg-turbo, with its defaults, which are Pillow's: the accurate integer DCT and smooth upsampling of chroma.
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "preprocess/decode.h"

struct failure {
	struct jpeg_error_mgr base; // first: the library knows this part
	jmp_buf back;
	const char *why; // of assay's own refusals
	bool is_held;    // all coefficients are in memory, and they are many
	bool has_exif;
	int orientation; // of the first block of EXIF
};

static void fail(j_common_ptr info)
{
	longjmp(((struct failure *)info->err)->back, 1);
}

static void refuse(j_common_ptr info, const char *why)
{
	((struct failure *)info->err)->why = why;
	fail(info);
}

// libjpeg would go on with zeros. So does Pillow where a scan ends early, but not where the file does.
static void note(j_common_ptr info, int level)
{
	const struct failure *f = (const struct failure *)info->err;

	(void)level;
	if (info->err->msg_code == JWRN_JPEG_EOF)
		refuse(info, "the file is truncated");
	if (f->is_held && info->err->msg_code == JWRN_HIT_MARKER)
		refuse(info, "a scan ends early: the file is damaged or truncated");
}

static void say_nothing(j_common_ptr info)
{
	(void)info;
}

// Of a file of several scans all coefficients are kept, two bytes each: 3 to 8 bytes a pixel. A block of 64 takes a bit at least
// of the file.
static enum status allow_memory(struct jpeg_decompress_struct *d, struct failure *f, size_t nbytes, struct error *err)
{
	enum { COEFFICIENTS_MOST = 512 << 20, ALWAYS = 64 << 20, A_BYTE = 8 * (int)sizeof(JBLOCK) };
	int64_t needed = 0, kept = 0;

	d->mem->max_memory_to_use = ALWAYS;
	for (int i = 0; jpeg_has_multiple_scans(d) && i < d->num_components; i++) {
		const jpeg_component_info *c = &d->comp_info[i];
		kept += (int64_t)sizeof(JBLOCK) * c->width_in_blocks * c->height_in_blocks;
		needed += (int64_t)sizeof(JBLOCK) * ((int64_t)c->width_in_blocks + c->h_samp_factor) *
			((int64_t)c->height_in_blocks + c->v_samp_factor);
	}
	f->is_held = needed > ALWAYS;
	if (needed > COEFFICIENTS_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"a picture of %u x %u in several scans (progressive) takes %lld MiB to decode; at most %d are taken",
			d->image_width, d->image_height, (long long)(needed >> 20), COEFFICIENTS_MOST >> 20);
	if (f->is_held && kept / A_BYTE > (int64_t)nbytes)
		return error_set(err, STATUS_BAD_INPUT, "a picture of %u x %u in %zu bytes: the file is damaged or truncated",
			d->image_width, d->image_height, nbytes);
	d->mem->max_memory_to_use += (long)needed;
	return STATUS_OK;
}

// ---- markers --------------------------------------------------------------------------------------------------------------

enum { SOI = 0xD8, EOI = 0xD9, SOS = 0xDA, TEM = 0x01, RESTART = 0xD0, RESTART_LAST = 0xD7, SOF = 0xC0 };

// Where the next marker's code is, as libjpeg finds it; `end` where there is none. In a scan's data restarts, and what is no
// marker, are part of it.
static const uint8_t *next_marker(const uint8_t *at, const uint8_t *end, bool in_scan)
{
	while (at < end && (at = memchr(at, 0xFF, (size_t)(end - at)))) {
		while (at < end && *at == 0xFF)
			at++;
		if (at == end)
			break;
		if (*at != 0 && !(in_scan && (*at < SOF || (*at >= RESTART && *at <= RESTART_LAST))))
			return at;
	}
	return end;
}

// What a scan goes over; 0: what is wrong with its header libjpeg says. `head`: behind its length.
static int64_t blocks_of(const struct jpeg_decompress_struct *d, const uint8_t *head, size_t nbytes)
{
	int64_t nblocks = 0;

	for (int i = 0; nbytes >= 4 && nbytes >= 4 + 2 * (size_t)head[0] && i < d->num_components; i++)
		for (int k = 0; k < head[0]; k++)
			if (head[1 + 2 * k] == d->comp_info[i].component_id)
				nblocks += (int64_t)d->comp_info[i].width_in_blocks * d->comp_info[i].height_in_blocks;
	return nblocks;
}

// From marker to marker, before memory is taken: a file that ends without EOI, or of which all coefficients are kept and a scan
// is too short, would else be refused with all of its pixels there: a scan that has the first coefficient of its blocks takes a
// bit for each at least. And each scan goes over its components again: a file of many empty ones would take hours. A usual one
// has ten, over 14 times its pixels at most.
static enum status check_markers(
	const struct jpeg_decompress_struct *d, const struct failure *f, const struct decode_in *in, struct error *err)
{
	enum { SCANS_MOST = 500 };
	const int64_t samples_most = (int64_t)1 << 31; // of all scans together
	const uint8_t *at = in->data + 2, *const end = in->data + in->nbytes;
	int64_t nsamples = 0;
	int scans = 0;
	bool in_scan = false;

	while ((at = next_marker(at, end, in_scan)) < end && *at != EOI) {
		const uint8_t code = *at++, *head = at + 2;
		const size_t left = (size_t)(end - at), nbytes = left < 2 ? 0 : (size_t)at[0] << 8 | at[1];

		in_scan = code == SOS;
		if (code == TEM || (code >= RESTART && code <= SOI))
			continue;
		if (nbytes < 2 || nbytes > left)
			return error_set(err, STATUS_BAD_INPUT, "the file is truncated");
		at += nbytes;
		if (!in_scan)
			continue;
		const int64_t nblocks = blocks_of(d, head, nbytes - 2), scan = next_marker(at, end, true) - at;
		nsamples += nblocks * DCTSIZE2;
		if (++scans > SCANS_MOST || nsamples > samples_most)
			return error_set(err, STATUS_BAD_INPUT, "too many scans for a picture of this size");
		if (f->is_held && !d->arith_code && nblocks && head[1 + 2 * head[0]] == 0 && scan < nblocks / 8)
			return error_set(err, STATUS_BAD_INPUT, "a scan ends early: the file is damaged or truncated");
	}
	return at < end ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "the file is truncated");
}

// APP1: a length of two bytes, which counts itself, and that much. The first block of EXIF is looked at where it lies: libjpeg
// would keep a copy of each, and of everything else that has this marker.
static boolean take_app1(j_decompress_ptr d)
{
	struct failure *f = (struct failure *)d->err;
	const uint8_t *at = d->src->next_input_byte;
	size_t left = d->src->bytes_in_buffer, nbytes = left < 2 ? 0 : (size_t)at[0] << 8 | at[1];

	if (nbytes < 2)
		ERREXIT(d, JERR_BAD_LENGTH);
	if (!f->has_exif && nbytes >= 8 && nbytes <= left && memcmp(at + 2, "Exif\0\0", 6) == 0) {
		f->has_exif = true;
		f->orientation = exif_orientation(at + 2, nbytes - 2);
	}
	d->src->skip_input_data(d, (long)nbytes);
	return TRUE;
}

// Four channels are inverted, as Adobe's programs write them and Pillow takes all of them; then Pillow's CMYK to RGB.
static void rgb_of_cmyk(uint8_t *out, const uint8_t *in, int width)
{
	for (int x = 0; x < width; x++, in += 4, out += 3)
		for (int k = 0; k < 3; k++) {
			unsigned product = (255u - in[k]) * (255u - (255u - in[3])) + 128;
			int v = in[3] - (int)(((product >> 8) + product) >> 8);
			out[k] = (uint8_t)(v < 0 ? 0 : v);
		}
}

static void read_rows(struct jpeg_decompress_struct *d, struct picture *out, uint8_t *row)
{
	while (d->output_scanline < d->output_height) {
		int y = (int)d->output_scanline;
		uint8_t *at = picture_at(out, 0, y), *to = d->output_components == 3 ? at : row;
		if (jpeg_read_scanlines(d, &to, 1) != 1)
			break;
		if (d->output_components == 4)
			rgb_of_cmyk(at, row, out->width);
		for (int x = 0; d->output_components == 1 && x < out->width; x++)
			memset(at + 3 * x, row[x], 3);
	}
}

// Behind the setjmp of decode_jpeg: every variable is the caller's.
static enum status decode(struct jpeg_decompress_struct *d, struct failure *f, struct picture *out, int *orientation,
	struct arena *a, const struct decode_in *in, struct error *err)
{
	enum status s;

	jpeg_create_decompress(d);
	jpeg_mem_src(d, in->data, in->nbytes);
	jpeg_set_marker_processor(d, JPEG_APP0 + 1, take_app1);
	jpeg_read_header(d, TRUE);
	// A block of 64 pixels takes a bit at least, but not with arithmetic coding.
	if ((s = decode_begin(out, a, in, d->image_width, d->image_height, d->arith_code ? 0 : 64 * 8, err)))
		return s;
	if ((s = allow_memory(d, f, in->nbytes, err)) || (s = check_markers(d, f, in, err)))
		return s;
	if (d->num_components != 1 && d->num_components != 3 && d->num_components != 4)
		return error_set(err, STATUS_BAD_INPUT, "%d channels", d->num_components);
	d->out_color_space = d->num_components == 1 ? JCS_GRAYSCALE : d->num_components == 3 ? JCS_RGB : JCS_CMYK;
	*orientation = f->orientation;
	jpeg_start_decompress(d);
	read_rows(d, out, arena_alloc(a, (size_t)out->width * 4));
	jpeg_finish_decompress(d);
	return STATUS_OK;
}

enum status decode_jpeg(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err)
{
	struct jpeg_decompress_struct d = { 0 };
	struct failure f = { 0 };
	enum status s;

	d.err = jpeg_std_error(&f.base);
	f.base.error_exit = fail;
	f.base.emit_message = note;
	f.base.output_message = say_nothing;
	if (setjmp(f.back)) {
		char text[JMSG_LENGTH_MAX];
		f.base.format_message((j_common_ptr)&d, text);
		s = error_set(err, STATUS_BAD_INPUT, "%s", f.why ? f.why : text);
	} else {
		s = decode(&d, &f, out, orientation, a, in, err);
	}
	jpeg_destroy_decompress(&d);
	return s;
}
