// SPDX-License-Identifier: Apache-2.0
// Any bytes as a TensorProto: refused with a sentence, or a tensor of as many bytes as its shape says, in memory that the file's
// size bounds.
#include <stdlib.h>

#include "fuzz.h"
#include "onnx/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct tensor t = { 0 };
	struct error e = { 0 };
	size_t count;

	fuzz_memory_begin();
	enum status s = tensor_file_parse(&t, &a, data, size, &e);
	fuzz_memory_end(size, 64 << 10, 256);
	if (s) {
		fuzz_refused(s, &e, NULL);
		if (t.data)
			abort();
	} else {
		if (t.rank < 0 || t.rank > TENSOR_MAX_RANK || !tensor_count(t.rank, t.dim, &count) ||
			count * dtype_size(t.dtype) != t.nbytes || !t.name)
			abort();
		fuzz_touch(t.data, t.nbytes);
	}
	arena_done(&a);
	return 0;
}
