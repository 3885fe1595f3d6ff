// SPDX-License-Identifier: Apache-2.0
// Any bytes as spiece.model in a folder, of sentencepiece or of tiktoken: refused with a sentence, or a tokenizer that takes a
// text and decodes what it gave.
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "fuzz.h"
#include "token/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct tokenizer *t;
	struct encoding out;
	static const char text[] = "Hello w\xC3\xB6rld \xEF\xBC\xA1\xE3\x82\xAB\xE3\x82\x99  <s> 1";
	struct token_text in = { text, sizeof text - 1, NULL, 0 };
	char *decoded;
	size_t nbytes;

	fuzz_put("spiece.model", data, size);
	fuzz_memory_begin();
	enum status s = tokenizer_open(&t, &a, fuzz_folder(), &e);
	fuzz_memory_end(size, 24 << 20, 1024);
	if (s != STATUS_OK) {
		fuzz_refused(s, &e, NULL);
	} else if (tokenizer_encode(t, &a, &in, true, &out, &e) == STATUS_OK) {
		uint32_t *ids = ARENA_ARRAY(&a, out.count + 1, uint32_t);
		for (size_t i = 0; i < out.count; i++) {
			ids[i] = out.tokens[i].id;
			fuzz_touch(out.tokens[i].text, out.tokens[i].nbytes);
		}
		if (tokenizer_decode(t, &a, ids, out.count, false, &decoded, &nbytes, &e) == STATUS_OK &&
			visible_not_utf8(decoded, nbytes) != nbytes)
			abort();
	}
	arena_done(&a);
	return 0;
}
