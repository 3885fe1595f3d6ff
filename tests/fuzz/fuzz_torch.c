// SPDX-License-Identifier: Apache-2.0
// Any bytes as the pytorch_model.bin of a folder: refused with a sentence that names it, or weights that can be read to their
// last byte, also those that had to be copied because they do not lie row-major.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	static const char *path;
	if (!path)
		fuzz_put("config.json", "{}", 2);
	path = fuzz_put("pytorch_model.bin", data, size);
	fuzz_memory_begin();
	enum status s = checkpoint_open(&c, fuzz_folder(), &e);
	fuzz_memory_end(size, 16 << 10, 160);
	if (s) {
		fuzz_refused(s, &e, fuzz_folder());
		return 0;
	}
	if (c.shard_count < 1 || c.shard_count > 3 || strcmp(c.shards[0].path, path) || c.copied_nbytes > size)
		abort();
	for (size_t i = 0; i < c.weight_count; i++) {
		const struct weight *w = &c.weights[i];
		if (w->computed && !w->data) // f8: fuzz_computed reads such numbers
			continue;
		if (w->offset > w->shard->nbytes || w->nbytes > w->shard->nbytes - w->offset ||
			(const uint8_t *)w->data != w->shard->map + w->offset)
			abort();
		if (i && strcmp(c.weights[i - 1].name, w->name) >= 0)
			abort();
		fuzz_touch(w->data, w->nbytes);
	}
	checkpoint_close(&c);
	return 0;
}
