// SPDX-License-Identifier: Apache-2.0
// Any bytes as a GGUF file: refused with a sentence that names it, or a checkpoint whose configuration is an object and of which
// every number of every weight can be read; and so its tokenizer, which then takes a text.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/computed.h"
#include "token/token.h"
#include "fuzz.h"

static void read_all(const struct weight *w)
{
	float x[256];
	const uint64_t n = w->nbytes / dtype_size(w->dtype);

	if (w->computed ? w->data != NULL : w->offset > w->shard->nbytes || w->nbytes > w->shard->nbytes - w->offset)
		abort();
	for (uint64_t at = 0, part; at < n; at += part) {
		part = n - at < 256 ? n - at : 256;
		weight_numbers(w, at, (size_t)part, x);
		fuzz_touch(x, (size_t)part * sizeof *x);
	}
}

// Its tokenizer, by itself.
static void open_tokenizer(const char *file)
{
	struct arena a = { 0 };
	struct tokenizer *t;
	struct encoding out;
	struct error e = { 0 };
	enum status s = tokenizer_open(&t, &a, file, &e);

	if (s)
		fuzz_refused(s, &e, file);
	else if (!tokenizer_encode(t, &a, &(struct token_text){ "The two 12 dogs", 15, NULL, 0 }, true, &out, &e))
		fuzz_touch(out.tokens, out.count * sizeof *out.tokens);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	const char *file = fuzz_put("model.gguf", data, size);

	open_tokenizer(file);
	fuzz_memory_begin();
	enum status s = checkpoint_open(&c, file, &e);
	fuzz_memory_end(size, 128 << 10, 320);
	if (s) {
		fuzz_refused(s, &e, file);
		return 0;
	}
	if (!json_is_object(c.config))
		abort();
	for (size_t i = 0; i < c.weight_count; i++) {
		if (i && strcmp(c.weights[i - 1].name, c.weights[i].name) >= 0)
			abort();
		read_all(&c.weights[i]);
	}
	checkpoint_close(&c);
	return 0;
}
