// SPDX-License-Identifier: Apache-2.0
// Any bytes as a quantised model: a quantization_config, a zero byte, and its model.safetensors. Refused with a sentence that
// names the folder, or every number of every weight can be read.
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "checkpoint/computed.h"
#include "fuzz.h"

static void read_all(const struct weight *w)
{
	float x[256];
	uint64_t n = w->computed ? w->nbytes / dtype_size(w->dtype) : 0;

	if (w->computed && w->data)
		abort();
	for (uint64_t at = 0, part; at < n; at += part) {
		part = n - at < 256 ? n - at : 256;
		weight_numbers(w, at, (size_t)part, x);
		fuzz_touch(x, (size_t)part * sizeof *x);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	struct text config = { 0 };
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;

	if (!end)
		return 0;
	text_add(&config, "{\"dtype\": \"bfloat16\", \"quantization_config\": ");
	text_add_bytes(&config, (const char *)data, (size_t)(end - data));
	text_add(&config, "}");
	fuzz_put("config.json", text_get(&config), config.length);
	fuzz_put("model.safetensors", end + 1, size - (size_t)(end + 1 - data));
	text_done(&config);
	fuzz_memory_begin();
	enum status s = checkpoint_open(&c, fuzz_folder(), &e);
	fuzz_memory_end(size, 128 << 10, 320);
	if (s) {
		fuzz_refused(s, &e, fuzz_folder());
		return 0;
	}
	for (size_t i = 0; i < c.weight_count; i++) {
		if (i && strcmp(c.weights[i - 1].name, c.weights[i].name) >= 0)
			abort();
		read_all(&c.weights[i]);
	}
	checkpoint_close(&c);
	return 0;
}
