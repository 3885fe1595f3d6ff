// SPDX-License-Identifier: Apache-2.0
// By libwebp's decoder of animations, which takes single pictures too: the way that Pillow goes.
#include <string.h>

#include <webp/demux.h>

#include "preprocess/decode.h"

static int orientation_of(const WebPAnimDecoder *d)
{
	WebPChunkIterator chunk;
	int found = 0;

	if (WebPDemuxGetChunk(WebPAnimDecoderGetDemuxer(d), "EXIF", 1, &chunk)) {
		found = exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
		WebPDemuxReleaseChunkIterator(&chunk);
	}
	return found;
}

static enum status first_frame(WebPAnimDecoder *d, struct picture *out, struct error *err)
{
	size_t count = (size_t)out->width * (size_t)out->height;
	uint8_t *rgba;
	int at_ms;

	if (!WebPAnimDecoderGetNext(d, &rgba, &at_ms))
		return error_set(err, STATUS_BAD_INPUT, "the image is damaged or truncated");
	for (size_t i = 0; i < count; i++)
		memcpy(out->pixels + 3 * i, rgba + 4 * i, 3);
	return STATUS_OK;
}

enum status decode_webp(struct picture *out, int *orientation, struct arena *a, const struct decode_in *in, struct error *err)
{
	const WebPData data = { in->data, in->nbytes };
	WebPDemuxer *header = WebPDemux(&data);
	WebPAnimDecoder *d;
	int64_t width = 0, height = 0;
	enum status s;

	if (!header)
		return error_set(err, STATUS_BAD_INPUT, "the file is damaged or truncated");
	width = WebPDemuxGetI(header, WEBP_FF_CANVAS_WIDTH);
	height = WebPDemuxGetI(header, WEBP_FF_CANVAS_HEIGHT);
	WebPDemuxDelete(header);
	if ((s = decode_begin(out, a, in, width, height, 0, err)))
		return s;
	d = WebPAnimDecoderNew(&data, NULL);
	if (!d)
		return error_set(err, STATUS_BAD_INPUT, "libwebp does not take the file");
	s = first_frame(d, out, err);
	*orientation = orientation_of(d);
	WebPAnimDecoderDelete(d);
	return s;
}
