// SPDX-License-Identifier: Apache-2.0
// Any text as a table of another tool's results: llama-bench's CSV, or lines of onnxruntime_perf_test, which DuckDB reads.
// Refused with a sentence that names the file, or rows that are unjudged and say whose they are.
#include "fuzz_foreign.h"

#include <stdlib.h>

#include "store/db.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct db_api *api;

	if (db_load(&api, NULL)) // without the library every table would be refused, which shows nothing
		abort();
	if (fuzz_foreign_is_table(data, size))
		fuzz_foreign(data, size, 64 << 20, 1024);
	return 0;
}
