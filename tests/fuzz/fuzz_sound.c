// SPDX-License-Identifier: Apache-2.0
// Any bytes as a sound file: refused with a sentence that names it, or samples, all there, of a rate that can be, in memory
// that the file's size bounds.
#include <stdlib.h>

#include "fuzz.h"
#include "preprocess/sound.h"

// libsndfile leaves what libvorbis has begun (6 KB) where a later header of the stream is none.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libvorbis";
}

static void parse(const uint8_t *data, size_t size, int channels)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct sound s = { 0 };

	// 2048 values for a byte, twice: they grow by doubling, and become channels. Besides them libFLAC takes what the
	// 24 bits of a block of metadata say, before it reads it.
	fuzz_memory_begin();
	enum status status = sound_parse(&a, "folder/a.wav", data, size, &(struct sound_wanted){ channels, 0 }, &s, &e);
	fuzz_memory_end(size, 24 << 20, 2048 * sizeof(float) * 2);
	if (status == STATUS_UNAVAILABLE)
		exit(0); // no libsndfile on this machine
	if (status)
		fuzz_refused(status, &e, "folder/a.wav: ");
	else if (!s.length || s.length > SOUND_MOST || s.channels < 1 || (channels == 1 && s.channels != 1) || s.rate < 100 ||
		s.rate > 1000000)
		abort();
	else
		fuzz_touch(s.samples, s.length * (size_t)s.channels * sizeof *s.samples);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	parse(data, size, 1);
	parse(data, size, 2);
	return 0;
}
