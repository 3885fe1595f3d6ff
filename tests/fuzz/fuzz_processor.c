// SPDX-License-Identifier: Apache-2.0
// Any bytes as preprocessor_config.json: refused with a sentence that names it, or the settings of a class that is known.
#include <stdlib.h>

#include "fuzz.h"
#include "preprocess/preprocess.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct preprocessor *p;

	fuzz_memory_begin();
	enum status s = preprocessor_parse(&p, &a, "x", (const char *)data, size, &e);
	fuzz_memory_end(size, 1 << 20, 80);
	if (s != STATUS_OK)
		fuzz_refused(s, &e, "x: ");
	else if (!preprocessor_class(p))
		abort();
	arena_done(&a);
	return 0;
}
