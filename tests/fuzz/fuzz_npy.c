// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .npy file: refused with a sentence, or an array that lies within them, of as many bytes as its shape says.
// Nothing is allocated.
#include <stdlib.h>

#include "checkpoint/npy.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct weight w = { 0 };
	struct error e = { 0 };
	size_t count;

	fuzz_memory_begin();
	enum status s = npy_parse(&w, data, size, &e);
	fuzz_memory_end(size, 1 << 10, 0);
	if (s) {
		fuzz_refused(s, &e, NULL);
		if (w.data || w.nbytes)
			abort();
		return 0;
	}
	if (w.rank < 0 || w.rank > TENSOR_MAX_RANK || !tensor_count(w.rank, w.dim, &count) ||
		count * dtype_size(w.dtype) != w.nbytes || w.offset > size || w.nbytes != size - w.offset ||
		w.data != data + w.offset)
		abort();
	fuzz_touch(w.data, w.nbytes);
	return 0;
}
