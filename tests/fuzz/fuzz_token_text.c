// SPDX-License-Identifier: Apache-2.0
// Any bytes as a text, through tokenizers with every normalizer and pre-tokenizer: what is no UTF-8 is refused; else offsets
// lie within the text, in order where nothing was put in front, and a byte-level tokenizer's ids decode to the very text.
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/visible.h"
#include "fuzz.h"
#include "token/token.h"

#define MODEL "\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0.0], [\"a\", -1.0], [\"th\", -2.0]]}}"

static const char *const chains[] = {
	"{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFKC\"}, {\"type\": \"Lowercase\"}, {\"type\": "
	"\"Nmt\"}, "
	"{\"type\": \"Replace\", \"pattern\": {\"Regex\": \" {2,}\"}, \"content\": \" \"}]}, \"pre_tokenizer\": {\"type\": "
	"\"Metaspace\", "
	"\"replacement\": \"\xE2\x96\x81\", \"prepend_scheme\": \"first\"}, " MODEL,
	"{\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, \"handle_chinese_chars\": true, "
	"\"strip_accents\": null, "
	"\"lowercase\": true}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, " MODEL,
	"{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFD\"}, {\"type\": \"StripAccents\"}, "
	"{\"type\": \"Strip\", "
	"\"strip_left\": true, \"strip_right\": true}, {\"type\": \"NFC\"}, {\"type\": \"Prepend\", \"prepend\": \"_\"}]}, "
	"\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"UnicodeScripts\"}, {\"type\": "
	"\"Whitespace\"}, {\"type\": "
	"\"Digits\", \"individual_digits\": false}, {\"type\": \"Punctuation\", \"behavior\": \"MergedWithNext\"}, {\"type\": "
	"\"FixedLength\", "
	"\"length\": 3}]}, " MODEL,
	"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": "
	"\"(?i:'s|'t)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| "
	"?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}, \"behavior\": \"Isolated\", "
	"\"invert\": false}, "
	"\"added_tokens\": [{\"content\": \"th\", \"lstrip\": true, \"rstrip\": true, \"single_word\": true, \"normalized\": "
	"false, "
	"\"special\": true}], " MODEL,
};

// A vocabulary of the 256 bytes: every text comes back.
static char *byte_level(void)
{
	struct text t = { 0 };

	text_add(&t,
		"{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true}, "
		"\"decoder\": {\"type\": "
		"\"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true}, \"model\": {\"type\": \"BPE\", \"merges\": "
		"[\"a b\", "
		"\"t h\", \"th e\"], \"vocab\": {\"ab\": 256, \"th\": 257, \"the\": 258");
	for (unsigned b = 0, next = 0x100; b < 256; b++) {
		bool visible = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
		text_addf(&t, ", \"\\u%04x\": %u", visible ? b : next, b);
		next += !visible;
	}
	text_add(&t, "}}}");
	return t.data;
}

enum { COUNT = sizeof chains / sizeof *chains };
static struct tokenizer *all[COUNT + 1];
static struct arena kept;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct token_text in = { (const char *)data, size, NULL, 0 };
	size_t characters = 0;
	bool good = visible_not_utf8(data, size) == size;

	for (size_t i = 0; i < size; i++)
		characters += (data[i] & 0xC0) != 0x80;
	for (size_t k = 0; k <= COUNT; k++) {
		struct arena a = { 0 };
		struct error e = { 0 };
		struct encoding out;
		char *text = all[k] ? NULL : k < COUNT ? strdup(chains[k]) : byte_level();
		if (text && tokenizer_parse(&all[k], &kept, "chain", text, strlen(text), &e))
			abort();
		free(text);
		enum status s = tokenizer_encode(all[k], &a, &in, true, &out, &e);
		if (s != STATUS_OK)
			fuzz_refused(s, &e, NULL);
		if ((s == STATUS_OK) != good)
			abort();
		for (size_t i = 0; good && i < out.count; i++) {
			fuzz_touch(out.tokens[i].text, out.tokens[i].nbytes);
			if (out.tokens[i].begin > out.tokens[i].end || out.tokens[i].end > characters)
				abort();
		}
		if (good && k == COUNT) {
			uint32_t *ids = ARENA_ARRAY(&a, out.count + 1, uint32_t);
			char *decoded;
			size_t nbytes;
			for (size_t i = 0; i < out.count; i++)
				ids[i] = out.tokens[i].id;
			if (tokenizer_decode(all[k], &a, ids, out.count, true, &decoded, &nbytes, &e) || nbytes != size ||
				(size && memcmp(decoded, data, size) != 0))
				abort();
		}
		arena_done(&a);
	}
	return 0;
}
