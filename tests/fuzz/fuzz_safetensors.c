// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file: refused with a sentence that names the file, or read within their bounds.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct shard shard = { .path = "input", .map = data, .nbytes = size };
	struct weight *w = NULL;
	size_t count = 0;
	uint64_t total = 0;
	fuzz_memory_begin();
	enum status s = safetensors_parse(&a, &shard, &w, &count, &e);
	fuzz_memory_end(size, 16 << 10, 256);
	if (s)
		fuzz_refused(s, &e, "input: ");
	if (s && (w || count))
		abort();
	for (size_t i = 0; i < count; i++) {
		if (w[i].offset > size || w[i].nbytes > size - w[i].offset || w[i].data != data + w[i].offset ||
			w[i].shard != &shard)
			abort();
		if (i && strcmp(w[i - 1].name, w[i].name) >= 0)
			abort();
		fuzz_touch(w[i].data, w[i].nbytes);
		total += w[i].nbytes;
	}
	if (total > size)
		abort();
	arena_done(&a);
	return 0;
}
