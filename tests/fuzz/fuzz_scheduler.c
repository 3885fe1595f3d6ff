// SPDX-License-Identifier: Apache-2.0
// Any JSON as scheduler_config.json: refused with a sentence, or a scheduler that was made within its bounds.
#include <stdlib.h>

#include "base/json.h"
#include "denoise/scheduler.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct scheduler *s = NULL;
	char *text = arena_strndup(&a, (const char *)data, size);
	json_t *config = json_parse(text);

	if (json_is_object(config)) {
		fuzz_memory_begin();
		enum status status = scheduler_open(&s, &a, config, &(struct scheduler_asked){ .steps = 20 }, &e);
		fuzz_memory_end(size, 32 << 20, 80);
		if (status != STATUS_OK)
			fuzz_refused(status, &e, "");
		else if (!s)
			abort();
	}
	json_decref(config);
	arena_done(&a);
	return 0;
}
