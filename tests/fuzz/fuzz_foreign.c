// SPDX-License-Identifier: Apache-2.0
// Any text as a result of another tool: JSON, JSON lines, a report of sections, or what was printed. Refused with a sentence that
// names the file, or rows that are unjudged and say whose they are. Tables (CSV) are fuzz_foreign_csv.c's: those are read by
// DuckDB, which is slow.
#include "fuzz_foreign.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!fuzz_foreign_is_table(data, size))
		fuzz_foreign(data, size, 32 << 10, 320);
	return 0;
}
