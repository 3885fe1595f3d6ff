// SPDX-License-Identifier: Apache-2.0
// By libwebp: the first frame on its canvas. Pillow uses libwebp's own decoder of animations, which makes the same of it, with
// two more canvases of four bytes a pixel.
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "preprocess/decode.h"

static int orientation_of(const WebPDemuxer *file)
{
	WebPChunkIterator chunk;
	int found = 0;

	if (WebPDemuxGetChunk(file, "EXIF", 1, &chunk)) {
		found = exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
		WebPDemuxReleaseChunkIterator(&chunk);
	}
	return found;
}

// libwebp makes an entry of each frame and chunk, of which only the first frame is looked at. RIFF: a tag, a length, that much,
// made even.
static enum status check_frames(const struct decode_in *in, struct error *err)
{
	enum { HEADER = 12, TAG = 8, FRAMES_MOST = 1 << 17, OTHERS_MOST = 1 << 16 };
	size_t count = 0, others = 0;

	for (size_t at = HEADER; in->nbytes > at && in->nbytes - at >= TAG;) {
		const uint8_t *chunk = in->data + at;
		size_t nbytes = chunk[4] | (size_t)chunk[5] << 8 | (size_t)chunk[6] << 16 | (size_t)chunk[7] << 24;

		if (!memcmp(chunk, "ANMF", 4))
			count++;
		else if (++others > OTHERS_MOST)
			return error_set(err, STATUS_BAD_INPUT, "more than %d chunks besides frames", OTHERS_MOST);
		at += TAG + nbytes + nbytes % 2;
	}
	return count > FRAMES_MOST
		? error_set(err, STATUS_BAD_INPUT, "an animation of %zu frames: at most %d", count, FRAMES_MOST)
		: STATUS_OK;
}

// What the frame does not cover stays as it is: transparent, black.
static enum status first_frame(const WebPDemuxer *file, struct picture *out, struct error *err)
{
	size_t stride = 3 * (size_t)out->width, nbytes = stride * (size_t)out->height;
	bool decoded = false;
	WebPIterator f;

	if (!WebPDemuxGetFrame(file, 1, &f))
		return error_set(err, STATUS_BAD_INPUT, "there is no image in it");
	if (f.complete && f.x_offset >= 0 && f.y_offset >= 0 && f.width <= out->width - f.x_offset &&
		f.height <= out->height - f.y_offset) {
		uint8_t *at = picture_at(out, f.x_offset, f.y_offset);

		decoded = WebPDecodeRGBInto(
			f.fragment.bytes, f.fragment.size, at, nbytes - (size_t)(at - out->pixels), (int)stride);
	}
	WebPDemuxReleaseIterator(&f);
	return decoded ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "the image is damaged or truncated");
}

enum status decode_webp(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err)
{
	const WebPData data = { in->data, in->nbytes };
	WebPDemuxer *file;
	enum status s = check_frames(in, err);

	if (s)
		return s;
	file = WebPDemux(&data);
	if (!file)
		return error_set(err, STATUS_BAD_INPUT, "the file is damaged or truncated");
	const int64_t width = WebPDemuxGetI(file, WEBP_FF_CANVAS_WIDTH), height = WebPDemuxGetI(file, WEBP_FF_CANVAS_HEIGHT);
	s = decode_begin(out, a, in, width, height, 0, err);
	if (s == STATUS_OK)
		s = first_frame(file, out, err);
	if (s == STATUS_OK)
		*orientation = orientation_of(file);
	WebPDemuxDelete(file);
	return s;
}
