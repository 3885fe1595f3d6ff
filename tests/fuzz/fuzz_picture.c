// SPDX-License-Identifier: Apache-2.0
// Any bytes as a JPEG, PNG, WebP or GIF file: refused with a sentence that names it, or a picture in RGB within the bound of
// pixels that was asked for, every sample of which can be read. Orientations come from the same bytes.
#include <stdlib.h>

#include "fuzz.h"
#include "preprocess/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { MOST = 1 << 16 };
	struct arena a = { 0 };
	struct error e = { 0 };
	struct picture p;
	int orientation = exif_orientation(data, size);

	if (orientation < 0 || orientation > 8)
		abort();
	// The decoders' own tables, and pictures of 3, 4 and, of a progressive JPEG, 6 bytes and more a pixel.
	fuzz_memory_begin();
	enum status s = picture_decode(&p, &a, "x", data, size, MOST, &e);
	fuzz_memory_end(size, 24 << 20, 64);
	if (s != STATUS_OK)
		fuzz_refused(s, &e, "x: ");
	else if (p.width < 1 || p.height < 1 || (int64_t)p.width * p.height > MOST || p.channels != 3)
		abort();
	else
		fuzz_touch(p.pixels, (size_t)p.width * (size_t)p.height * 3);
	arena_done(&a);
	return 0;
}
