// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Parquet file: looked through without memory of its own, and refused in a sentence.
#include "fuzz.h"
#include "store/parquet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };

	fuzz_memory_begin();
	enum status status = parquet_check(data, size, &err);
	fuzz_memory_end(size, 1024, 0);
	if (status)
		fuzz_refused(status, &err, "it");
	return 0;
}
