// SPDX-License-Identifier: Apache-2.0
// Any bytes as tokenizer.json: refused with a sentence that names the file, or a tokenizer that takes every text: its tokens
// lie within the text, and their ids are decoded to UTF-8.
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "fuzz.h"
#include "token/token.h"

static void encode(struct tokenizer *t, const char *text, size_t characters)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct token_text in = { text, strlen(text), "b \xC3\xA9", 4 };
	struct encoding out;
	char *decoded;
	size_t nbytes;
	enum status s = tokenizer_encode(t, &a, &in, true, &out, &e);

	if (s != STATUS_OK) {
		fuzz_refused(s, &e, NULL);
		arena_done(&a);
		return;
	}
	uint32_t *ids = ARENA_ARRAY(&a, out.count + 1, uint32_t);
	for (size_t i = 0; i < out.count; i++) {
		ids[i] = out.tokens[i].id;
		fuzz_touch(out.tokens[i].text, out.tokens[i].nbytes);
		// What begins behind a text is in bytes, as in the library.
		if (out.tokens[i].end > characters * 4 + 8)
			abort();
	}
	if (tokenizer_decode(t, &a, ids, out.count, false, &decoded, &nbytes, &e) == STATUS_OK &&
		visible_not_utf8(decoded, nbytes) != nbytes)
		abort();
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct tokenizer *t;

	// A BPE model has 1 MiB for the words that it has seen, and tables of a fixed size; an expression what PCRE2 makes of it.
	fuzz_memory_begin();
	enum status s = tokenizer_parse(&t, &a, "folder/tokenizer.json", (const char *)data, size, &e);
	fuzz_memory_end(size, 24 << 20, 1024);
	if (s != STATUS_OK) {
		fuzz_refused(s, &e, "folder/tokenizer.json: ");
	} else {
		encode(t, "Hello, w\xC3\xB6rld's 12  \xE6\x97\xA5\xE6\x9C\xAC\n\xF0\x9F\x98\x80 <s>", 30);
		encode(t, "", 0);
		encode(t, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 64);
	}
	arena_done(&a);
	return 0;
}
