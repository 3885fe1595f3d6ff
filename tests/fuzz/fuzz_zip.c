// SPDX-License-Identifier: Apache-2.0
// Any bytes as a zip file: refused with a sentence, or entries inside of it, sorted, each name once and found by it.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/zip.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	const struct zip_entry *entries = NULL;
	size_t count = 0;
	fuzz_memory_begin();
	enum status s = zip_read(&entries, &count, &a, data, size, &e);
	fuzz_memory_end(size, 4096, 2);
	if (s)
		fuzz_refused(s, &e, NULL);
	for (size_t i = 0; i < count; i++) {
		const struct zip_entry *x = &entries[i];
		if (x->offset > size || x->nbytes > size - x->offset || zip_find(entries, count, x->name, x->name_nbytes) != x)
			abort();
		fuzz_touch(x->name, x->name_nbytes);
	}
	if (s ? count > 0 : zip_find(entries, count, "no such name", 12) && !memmem(data, size, "no such name", 12))
		abort();
	arena_done(&a);
	return 0;
}
