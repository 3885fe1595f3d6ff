// SPDX-License-Identifier: Apache-2.0
// Any bytes as config.json: refused with a sentence that names the file, or an object that survives being written and read.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checkpoint c = { 0 }, again = { 0 };
	struct error e = { 0 };
	fuzz_memory_begin();
	enum status s = checkpoint_open_config(&c, "folder/config.json", (const char *)data, size, &e);
	fuzz_memory_end(size, 16 << 10, 256);
	if (s) {
		fuzz_refused(s, &e, "folder/config.json: ");
		if (c.config)
			abort();
		return 0;
	}
	char *text = json_dumps(c.config, JSON_SORT_KEYS);
	if (!json_is_object(c.config) || !text || checkpoint_open_config(&again, "again", text, strlen(text), &e))
		abort();
	free(text);
	checkpoint_close(&again);
	checkpoint_close(&c);
	return 0;
}
