// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The parts of a tokenizer by themselves; whole ones are held against the library's answers by conform.tokenizers. Expected
// values of chains are those that the Python library `tokenizers` 0.23.3 gives.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/text.h"
#include "token/inside.h"
#include "token/scan.h"
#include "token/unicode.h"

#define UNIGRAM "\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0.0]]}}"

static struct tokenizer *parse(struct arena *a, const char *json)
{
	struct error e = { 0 };
	struct tokenizer *t = NULL;

	if (tokenizer_parse(&t, a, "t", json, strlen(json), &e))
		fail_msg("%s", e.text);
	return t;
}

static void refused(const char *json, const char *why)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct tokenizer *t = NULL;

	assert_int_equal(tokenizer_parse(&t, &a, "t", json, strlen(json), &e), STATUS_BAD_INPUT);
	if (!strstr(e.text, why) || strncmp(e.text, "t: ", 3) != 0)
		fail_msg("not \"%s\": %s", why, e.text);
	arena_done(&a);
}

// "text@begin-end|.." of what the tokenizer makes.
static void gives(struct tokenizer *t, const char *text, size_t nbytes, const char *expected)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct encoding out;
	struct text got = { 0 };

	if (tokenizer_encode(t, &a, &(struct token_text){ text, nbytes, NULL, 0 }, true, &out, &e))
		text_addf(&got, "refused: %s", e.text);
	for (size_t i = 0; e.status == STATUS_OK && i < out.count; i++) {
		text_add(&got, i ? "|" : "");
		text_add_bytes(&got, out.tokens[i].text, out.tokens[i].nbytes);
		text_addf(&got, "@%u-%u", out.tokens[i].begin, out.tokens[i].end);
	}
	assert_string_equal(text_get(&got), expected);
	text_done(&got);
	arena_done(&a);
}

// A text through a chain; with members of tokenizer.json in front of a model that knows nothing.
static void chain(const char *members, const char *text, const char *expected)
{
	struct arena a = { 0 };
	char *json = arena_printf(&a, "{%s, " UNIGRAM, members);

	gives(parse(&a, json), text, strlen(text), expected);
	arena_done(&a);
}

static void splits(const char *regex, const char *text, const char *expected)
{
	struct arena a = { 0 };
	char *json = arena_printf(&a,
		"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"%s\"}, \"behavior\": \"Isolated\", "
		"\"invert\": false}, " UNIGRAM,
		regex);

	gives(parse(&a, json), text, strlen(text), expected);
	arena_done(&a);
}

// ---- expressions where PCRE2 and Oniguruma differ -------------------------------------------------------------------------

static void test_expressions(void **state)
{
	(void)state;
	splits("\\\\s+",
		"a\x1c"
		"b\xE2\x80\x8B"
		"c\xE1\xA0\x8E"
		"d",
		"a\x1c"
		"b\xE2\x80\x8B"
		"c\xE1\xA0\x8E"
		"d@0-7"); // no white space: U+001C, U+200B, U+180E
	splits("\\\\s+",
		"a\xC2\x85\x0B"
		"b",
		"a@0-1|\xC2\x85\x0B@1-3|b@3-4");
	splits("\\\\w+", "e\xCC\x81_1 \xC2\xB2", "e\xCC\x81_1@0-4| @4-5|\xC2\xB2@5-6"); // marks are of a word
	splits("\\\\bb",
		"a\xCC\x81"
		"b b",
		"a\xCC\x81"
		"b @0-4|b@4-5");
	splits("\\\\h+", "xafz", "x@0-1|af@1-3|z@3-4"); // hexadecimal digits
	splits("\\\\d{1,2}+", "12345", "12345@0-5");    // not possessive: as often as it goes
	splits("\\\\d{,2}", "123", "12@0-2|3@2-3");
	splits("[a-c[x-z]]+", "abxd", "abx@0-3|d@3-4"); // a set within a set
	splits("[a-f&&[^c]]+", "abcd", "ab@0-2|c@2-3|d@3-4");
	splits("[a[b-e&&c-z]x]+", "abcdexaazb", "a@0-1|b@1-2|cdexaa@2-8|zb@8-10"); // .. which is an intersection
	splits("[^\\\\P{Greek}\\\\P{Alpha}]+", "a\xCE\xB1\xCD\xBE", "a@0-1|\xCE\xB1@1-2|\xCD\xBE@2-3");
	splits(" ?[^(\\\\s|[.,])]+", "a, (b", "a@0-1|, (@1-4|b@4-5");
	splits("[\\\\P{L}]+", "a12b", "a@0-1|12@1-3|b@3-4");
	splits("\\\\p{L}+",
		"\xF0\x90\xB5\x90"
		"1",
		"\xF0\x90\xB5\x90@0-1|1@1-2"); // U+10D50: a letter since Unicode 16
	splits("\\\\p{N}",
		"\xF0\x9C\xB3\xB2"
		"a",
		"\xF0\x9C\xB3\xB2@0-1|a@1-2");                 // U+1CCF2
	splits("^b", "a\nb\nb", "a\n@0-2|b@2-3|\n@3-4|b@4-5"); // lines begin behind line feeds
	splits("(?m:a.b)", "a\nb", "a\nb@0-3");
	splits("[[:punct:]]+", "a+\xC2\xA9", "a@0-1|+\xC2\xA9@1-3");
	refused("{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(a\"}, \"behavior\": \"Isolated\", "
		"\"invert\": false}, " UNIGRAM,
		"pre_tokenizer: Split: a regular expression: ");
	refused("{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"[a\"}, \"behavior\": \"Isolated\", "
		"\"invert\": false}, " UNIGRAM,
		"a class without its end");
	refused("{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"\\\\p{Nonesuch}\"}, \"behavior\": "
		"\"Isolated\", \"invert\": false}, " UNIGRAM,
		"a regular expression: ");
}

// What never ends elsewhere is a sentence.
static void test_slow_expression(void **state)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct encoding out;
	struct tokenizer *t = parse(&a,
		"{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(x+x+)+[yz]\"}, \"behavior\": "
		"\"Isolated\", "
		"\"invert\": false}, " UNIGRAM);
	char text[64];

	(void)state;
	memset(text, 'x', sizeof text);
	assert_int_equal(
		tokenizer_encode(t, &a, &(struct token_text){ text, sizeof text, NULL, 0 }, true, &out, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "takes too long"));
	arena_done(&a);
}

// ---- steps ----------------------------------------------------------------------------------------------------------------

static void test_normalizers(void **state)
{
	(void)state;
	chain("\"normalizer\": {\"type\": \"NFD\"}",
		"\xC3\xA9"
		"a",
		"e\xCC\x81"
		"a@0-2");
	chain("\"normalizer\": {\"type\": \"NFC\"}", "e\xCC\xA3\xCC\x82", "\xE1\xBB\x87@0-1");
	chain("\"normalizer\": {\"type\": \"NFC\"}", "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81@0-1");
	chain("\"normalizer\": {\"type\": \"NFKC\"}", "\xEF\xAC\x81\xE2\x91\xA0", "fi1@0-2");
	chain("\"normalizer\": {\"type\": \"Lowercase\"}", "\xC4\xB0\xCE\xA3", "i\xCC\x87\xCF\x83@0-2"); // no final sigma
	chain("\"normalizer\": {\"type\": \"StripAccents\"}",
		"a\xCC\x81"
		"b",
		"ab@0-3");
	chain("\"normalizer\": {\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}",
		" \xE3\x80\x80"
		"a ",
		"a@2-3");
	chain("\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"_\"}", "ab", "_ab@0-2");
	chain("\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \"ab\"}, \"content\": \"x\"}", "cabab",
		"cxx@0-5");
	chain("\"normalizer\": {\"type\": \"Nmt\"}", "a\x01\tb\xE2\x80\x8B", "a b @0-5");
	chain("\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, \"handle_chinese_chars\": true, "
	      "\"strip_accents\": null, "
	      "\"lowercase\": true}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}",
		"\xC3\x89\xE6\x97\xA5"
		"a.\x01",
		"e@0-1|\xE6\x97\xA5@1-2|a@2-3|.@3-4");
}

static void test_pretokenizers(void **state)
{
	static const struct {
		const char *behaviour, *expected;
	} splits_of[] = { { "Removed", "the@0-3|final@4-9|countdown@11-20" },
		{ "Isolated", "the@0-3|-@3-4|final@4-9|-@9-10|-@10-11|countdown@11-20" },
		{ "MergedWithPrevious", "the-@0-4|final-@4-10|-@10-11|countdown@11-20" },
		{ "MergedWithNext", "the@0-3|-final@3-9|-@9-10|-countdown@10-20" },
		{ "Contiguous", "the@0-3|-@3-4|final@4-9|--@9-11|countdown@11-20" } };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof splits_of / sizeof *splits_of; i++)
		chain(arena_printf(
			      &a, "\"pre_tokenizer\": {\"type\": \"Punctuation\", \"behavior\": \"%s\"}", splits_of[i].behaviour),
			"the-final--countdown", splits_of[i].expected);
	chain("\"pre_tokenizer\": {\"type\": \"Whitespace\"}", "a\xCC\x81-- \xE2\x82\xAC",
		"a\xCC\x81@0-2|--@2-4|\xE2\x82\xAC@5-6");
	chain("\"pre_tokenizer\": {\"type\": \"Digits\", \"individual_digits\": true}", "a12\xC2\xBD",
		"a@0-1|1@1-2|2@2-3|\xC2\xBD@3-4");
	chain("\"pre_tokenizer\": {\"type\": \"CharDelimiterSplit\", \"delimiter\": \"x\"}", "axxb", "a@0-1|b@3-4");
	chain("\"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 2}", "abcde", "ab@0-2|cd@2-4|e@4-5");
	chain("\"pre_tokenizer\": {\"type\": \"UnicodeScripts\"}", "ab \xE6\x97\xA5\xE3\x82\xAB",
		"ab @0-3|\xE6\x97\xA5\xE3\x82\xAB@3-5");
	chain("\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\", \"add_prefix_space\": false}", "a b",
		"a@0-1|_b@1-3");
	chain("\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\", \"prepend_scheme\": \"always\", \"split\": "
	      "false}",
		"a b", "_a_b@0-3");
	chain("\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true}", "h\xC3\xA9 b",
		"\xC4\xA0h\xC3\x83\xC2\xA9@0-2|\xC4\xA0"
		"b@2-4");
	refused("{\"pre_tokenizer\": {\"type\": \"Nonesuch\"}, " UNIGRAM,
		"pre_tokenizer: a step of the type \"Nonesuch\" is not known");
	refused("{\"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 0}, " UNIGRAM, "a length of 0");
	arena_done(&a);
}

static void test_added_tokens(void **state)
{
#define ADDED(members) "\"added_tokens\": [{\"content\": \"tok\", \"normalized\": false, \"special\": false" members "}]"
	(void)state;
	chain(ADDED(""), "a tok btok", "a @0-2|tok@2-5| b@5-7|tok@7-10");
	chain(ADDED(", \"lstrip\": true, \"rstrip\": true"), "a  tok b", "a@0-1|  tok @1-7|b@7-8");
	chain(ADDED(", \"single_word\": true"), "tok btok tok1 \xE6\x97\xA5tok tok",
		"tok@0-3| btok tok1 \xE6\x97\xA5tok @3-19|tok@19-22");
	chain("\"normalizer\": {\"type\": \"Lowercase\"}, \"added_tokens\": [{\"content\": \"ToK\", \"normalized\": true, "
	      "\"special\": false}]",
		"a TOK b", "a @0-2|tok@2-5| b@5-7");
	// The longest of those that begin leftmost.
	chain("\"added_tokens\": [{\"content\": \"ab\"}, {\"content\": \"abc\"}, {\"content\": \"bcd\"}]", "abcd ab",
		"abc@0-3|d @3-5|ab@5-7");
	// Of one that goes on for long what it begins with, and what it ends with by itself.
	chain("\"added_tokens\": [{\"content\": \"a\"}, {\"content\": \"ba\"}, {\"content\": \"abab\"}, {\"content\": \"aaac\"}]",
		"ababab aacaaacba", "abab@0-4|a@4-5|b @5-7|a@7-8|a@8-9|c@9-10|aaac@10-14|ba@14-16");
	// Blanks that a token takes which is a blank itself: all that follow, and none that one before it has.
	chain("\"added_tokens\": [{\"content\": \" \", \"lstrip\": true, \"rstrip\": true}]", "a   b  ",
		"a@0-1|   @1-4|b@4-5|  @5-7");
	chain("\"added_tokens\": [{\"content\": \" \", \"rstrip\": true}]", "a   b", "a@0-1|   @1-4|  @2-4| @3-4|b@4-5");
}

// Texts that begin in one place of a table whose hash has no secret (FNV-1a, as that of vocabularies once was): they are spread.
static void test_vocabulary_of_one_place(void **state)
{
	enum { WORDS = 60000, SLOTS = 1 << 17, PLACES = SLOTS / 16 };
	struct vocab v = { 0 };
	struct error e = { 0 };
	char word[8];
	size_t run = 0, longest = 0;

	(void)state;
	for (uint64_t i = 0; v.count < WORDS; i++) {
		uint64_t rest = i, h = 0x9E3779B97F4A7C15u;
		size_t n = 0;
		for (; rest || n < 4; rest >>= 5) {
			word[n] = "abcdefghijklmnopqrstuvwxyzABCDEF"[rest & 31];
			h = (h ^ (unsigned char)word[n++]) * 0x100000001B3u;
		}
		h = (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
		if (((h ^ h >> 32) & (SLOTS - 1)) < PLACES)
			assert_int_equal(vocab_add(&v, word, n, (uint32_t)v.count, &e), STATUS_OK);
	}
	assert_int_equal(vocab_index(&v, &e), STATUS_OK);
	assert_int_equal(v.slot_mask, SLOTS - 1);
	for (size_t i = 0; i < SLOTS; i++) {
		run = v.slots[i] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	assert_true(longest < 1000); // of 60,000; 60 to 100 where they are spread
	vocab_done(&v);
}

// A text is cut at every place, without going over it again for each.
static void test_cuts(void **state)
{
	static const char *const words[] = { "a", "\xC3\xA9", "a\xC3\xA9", "\xC3\xA9x", "x", "a\xC3\xA9x", "\xC3" };
	struct vocab v = { 0 };
	struct vocab_cut *cuts = NULL;
	struct error e = { 0 };
	size_t room = 0;

	(void)state;
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(vocab_add(&v, words[i], strlen(words[i]), i, &e), STATUS_OK);
	assert_int_equal(vocab_index(&v, &e), STATUS_OK);
	assert_int_equal(vocab_cuts(&v, 5, &cuts, &room), 2);
	assert_true(cuts[0].nbytes == 1 && cuts[0].left == 0 && cuts[0].right == 3);
	assert_true(cuts[1].nbytes == 3 && cuts[1].left == 2 && cuts[1].right == 4);
	assert_int_equal(vocab_cuts(&v, 0, &cuts, &room), 0);
	assert_int_equal(vocab_cuts(&v, 1, &cuts, &room), 0);
	free(cuts);
	vocab_done(&v);
}

// Special tokens that are named later: one that is there stays, one of the vocabulary has its id, a new one comes behind all.
static void test_more_special(void **state)
{
	static const char *const names[] = { "tok", "!", "<new>" };
	struct arena a = { 0 };
	struct error e = { 0 };
	struct encoding out;
	struct tokenizer *t = parse(&a,
		"{\"added_tokens\": [{\"content\": \"tok\", \"rstrip\": true}], \"model\": {\"type\": \"Unigram\", \"unk_id\": "
		"0, \"vocab\": [[\"<unk>\", 0.0], [\"!\", 0.0], [\"x\", 0.0]]}}");

	(void)state;
	gives(t, "x!tok x", 7, "x@0-1|!@1-2|tok @2-6|x@6-7");
	assert_int_equal(tokenizer_add_special(t, names, 3, &e), STATUS_OK);
	assert_int_equal(tokenizer_add_special(t, names, 3, &e), STATUS_OK);
	gives(t, "x!tok <new>x", 12, "x@0-1|!@1-2|tok @2-6|<new>@6-11|x@11-12");
	assert_int_equal(tokenizer_encode(t, &a, &(struct token_text){ "!tok<new>", 9, NULL, 0 }, true, &out, &e), STATUS_OK);
	assert_true(out.count == 3 && out.tokens[0].id == 1 && out.tokens[1].id == 3 && out.tokens[2].id == 4);
	char *text;
	size_t nbytes;
	assert_int_equal(tokenizer_decode(t, &a, (uint32_t[]){ 2, 1, 4 }, 3, true, &text, &nbytes, &e), STATUS_OK);
	assert_string_equal(text, "x");
	arena_done(&a);
}

// ---- models ---------------------------------------------------------------------------------------------------------------

// Short words and long ones are merged in two ways, and seen ones are remembered: all agree.
static void test_bpe_ways(void **state)
{
	enum { LONG = 60 };
	struct arena a = { 0 };
	struct error e = { 0 };
	struct text json = { 0 };
	char word[LONG + 1] = "";

	(void)state;
	text_add(&json,
		"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"aa\": 3, \"ab\": 4, \"bc\": 5, "
		"\"aaa\": 6, "
		"\"abc\": 7, \"ca\": 8, \"aab\": 9}, \"merges\": [\"a b\", \"a a\", \"c a\", \"aa a\", \"b c\", \"ab c\", \"a "
		"ab\"]}}");
	struct tokenizer *t = parse(&a, text_get(&json));
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct encoding whole = { 0 }, again = { 0 };
		size_t n = 1 + splitmix64(seed, 0) % LONG, at = 0;
		for (size_t i = 0; i < n; i++)
			word[i] = "abc"[splitmix64(seed, i + 1) % 3];
		word[n] = 0;
		assert_int_equal(tokenizer_encode(t, &a, &(struct token_text){ word, n, NULL, 0 }, true, &whole, &e), STATUS_OK);
		assert_int_equal(tokenizer_encode(t, &a, &(struct token_text){ word, n, NULL, 0 }, true, &again, &e), STATUS_OK);
		assert_int_equal(whole.count, again.count);
		for (size_t i = 0; i < whole.count; i++) {
			assert_int_equal(whole.tokens[i].id, again.tokens[i].id);
			assert_int_equal(whole.tokens[i].begin, at);
			assert_memory_equal(whole.tokens[i].text, word + at, whole.tokens[i].nbytes);
			at = whole.tokens[i].end;
		}
		assert_int_equal(at, n);
		// By the book: of all neighbours the merge of the lowest rank, the leftmost of these.
		static const char *const merges[][2] = { { "a", "b" }, { "a", "a" }, { "c", "a" }, { "aa", "a" }, { "b", "c" },
			{ "ab", "c" }, { "a", "ab" } };
		char parts[LONG][8];
		size_t count = n;
		for (size_t i = 0; i < n; i++)
			snprintf(parts[i], sizeof parts[i], "%c", word[i]);
		for (size_t m = 0; m < 7;) {
			size_t i = 0;
			while (i + 1 < count && (strcmp(parts[i], merges[m][0]) != 0 || strcmp(parts[i + 1], merges[m][1]) != 0))
				i++;
			if (i + 1 >= count) {
				m++;
				continue;
			}
			size_t length = strlen(parts[i]);
			memmove(parts[i] + length, parts[i + 1], strlen(parts[i + 1]) + 1);
			memmove(parts + i + 1, parts + i + 2, (count - i - 2) * sizeof *parts);
			count--;
			m = 0;
		}
		assert_int_equal(whole.count, count);
		for (size_t i = 0; i < count; i++)
			assert_memory_equal(whole.tokens[i].text, parts[i], strlen(parts[i]));
	}
	text_done(&json);
	arena_done(&a);
}

// Every byte of a prefix is a token again where it is not in the vocabulary, and there are more of them than a word has letters.
static void test_byte_fallback(void **state)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct encoding out;
	struct text json = { 0 };

	(void)state;
	for (int prefix = AFFIX_MOST; prefix <= AFFIX_MOST + 1; prefix++) {
		json.length = 0;
		text_addf(&json,
			"{\"model\": {\"type\": \"BPE\", \"merges\": [], \"byte_fallback\": true, "
			"\"continuing_subword_prefix\": \"%0*d\", \"vocab\": {",
			prefix, 0);
		for (int i = 0; i < 256; i++)
			text_addf(&json, "%s\"<0x%02X>\": %d", i ? ", " : "", i, i);
		text_add(&json, "}}}");
		if (prefix > AFFIX_MOST) {
			refused(text_get(&json), "\"continuing_subword_prefix\" of 17 bytes");
			continue;
		}
		struct tokenizer *t = parse(&a, text_get(&json));
		// Twice: of the model, and of the words that were seen.
		for (int i = 0; i < 2; i++) {
			assert_int_equal(tokenizer_encode(t, &a, &(struct token_text){ "abcd", 4, NULL, 0 }, true, &out, &e), 0);
			assert_int_equal(out.count, 4 + 3 * AFFIX_MOST);
			assert_int_equal(out.tokens[0].id, 'a');
			assert_int_equal(out.tokens[1].id, '0');
			assert_int_equal(out.tokens[1 + AFFIX_MOST].id, 'b');
		}
	}
	text_done(&json);
	arena_done(&a);
}

// A text of more tokens than are of use is refused before they are made.
static void test_most(void **state)
{
	enum { N = 1000000 };
	struct arena a = { 0 };
	struct error e = { 0 };
	struct encoding out;
	char *word = malloc(N);
	struct tokenizer *t = parse(&a,
		"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"aa\": 1, \"aaaa\": 2}, \"merges\": [\"a a\", \"aa "
		"aa\"]}}");

	(void)state;
	memset(word, 'a', N);
	struct token_text in = { word, 400, NULL, 0, 100 };
	assert_int_equal(tokenizer_encode(t, &a, &in, true, &out, &e), STATUS_OK);
	assert_int_equal(out.count, 100);
	in.nbytes = 401;
	assert_int_equal(tokenizer_encode(t, &a, &in, true, &out, &e), STATUS_BAD_INPUT);
	assert_string_equal(e.text, "the text has more than 100 tokens, which is what the model takes");
	in.nbytes = N;
	assert_int_equal(tokenizer_encode(t, &a, &in, true, &out, &e), STATUS_BAD_INPUT);
	assert_true(t->model.symbol_room < 2000); // of a million letters
	free(word);
	arena_done(&a);
}

// A word of a million letters takes no time that grows with its square.
static void test_long_words(void **state)
{
	enum { N = 1000000 };
	struct arena a = { 0 };
	struct error e = { 0 };
	struct encoding out;
	char *word = malloc(N);
	struct tokenizer *bpe = parse(&a,
				 "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"aa\": 1, \"aaaa\": 2}, \"merges\": "
				 "[\"a a\", \"aa aa\"]}}"),
			 *unigram = parse(&a,
				 "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"u\", 0], [\"a\", -1], "
				 "[\"aaaa\", -2]]}}"),
			 *nfd = parse(&a, "{\"normalizer\": {\"type\": \"NFD\"}, " UNIGRAM);

	(void)state;
	memset(word, 'a', N);
	assert_int_equal(tokenizer_encode(bpe, &a, &(struct token_text){ word, N, NULL, 0 }, true, &out, &e), STATUS_OK);
	assert_int_equal(out.count, N / 4);
	assert_int_equal(tokenizer_encode(unigram, &a, &(struct token_text){ word, N, NULL, 0 }, true, &out, &e), STATUS_OK);
	assert_int_equal(out.count, N / 4);
	for (size_t i = 0; i < N; i += 4)
		memcpy(word + i, i % 8 ? "\xCC\x81\xCC\xA3" : "\xCC\xB4\xCC\x81", 4); // marks of three classes
	assert_int_equal(tokenizer_encode(nfd, &a, &(struct token_text){ word, N, NULL, 0 }, true, &out, &e), STATUS_OK);
	free(word);
	arena_done(&a);
}

static void test_models(void **state)
{
	struct arena a = { 0 };

	(void)state;
	gives(parse(&a,
		      "{\"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", \"fuse_unk\": true, \"byte_fallback\": true, "
		      "\"vocab\": {\"?\": 0, \"a\": 1, "
		      "\"<0xC3>\": 2, \"<0xA9>\": 3}, \"merges\": []}}"),
		"a\xC3\xA9xx\xC3\xA9", 7, "a@0-1|<0xC3>@1-2|<0xA9>@1-2|<0xC3>@2-3|<0xA9>@3-4|?@4-5");
	gives(parse(&a,
		      "{\"model\": {\"type\": \"BPE\", \"end_of_word_suffix\": \"</w>\", \"vocab\": {\"a\": 0, \"b</w>\": 1, "
		      "\"ab</w>\": 2}, \"merges\": "
		      "[[\"a\", \"b</w>\"]]}}"),
		"ab", 2, "ab</w>@0-2");
	gives(parse(&a,
		      "{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"?\", \"continuing_subword_prefix\": \"##\", "
		      "\"max_input_chars_per_word\": 4, "
		      "\"vocab\": {\"?\": 0, \"ab\": 1, \"##c\": 2, \"##cd\": 3}}}"),
		"abcd", 4, "ab@0-2|##cd@2-4");
	gives(parse(&a, "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\\u0000b\": 1}}}"),
		"a\0b", 3,
		"a\0b@0-3"); // NUL is a character; the comparison ends there
	gives(parse(&a, "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"a\": 0}}}"), "b", 1,
		"refused: the unknown token \"?\" is not in the vocabulary");
	gives(parse(&a, "{" UNIGRAM), "a\xFF", 2, "refused: the text is no UTF-8 from byte 1 on");
	gives(parse(&a, "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}}"), "xy", 2,
		""); // dropped, as there
	refused("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}}",
		"a merge needs the token \"b\"");
	refused("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a a a\"]}}", "merge 0 is no pair");
	refused("{\"model\": {\"type\": \"BPE\", \"dropout\": 0.1, \"vocab\": {}, \"merges\": []}}", "a dropout of 0.1");
	refused("{\"model\": {\"type\": \"Unigram\", \"unk_id\": 7, \"vocab\": [[\"a\", 0]]}}", "\"unk_id\" 7");
	refused("{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 4294967295}}}",
		"an id of 4294967295");
	refused("{\"model\": {\"type\": \"Other\", \"vocab\": {}}}", "a model of a type that is not known");
	refused("{\"version\": \"2.0\", " UNIGRAM, "version 2.0");
	refused("{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0.0]]}, " UNIGRAM,
		"duplicate key \"model\"");
	refused("{" UNIGRAM "x", "end of file expected");
	refused("[]", "not valid JSON");
	refused("", "not valid JSON");
	arena_done(&a);
}

// A chain that makes more and more of a text ends with a sentence, not with all memory.
static void test_growth(void **state)
{
	struct arena a = { 0 };
	struct text json = { 0 };

	(void)state;
	text_add(&json, "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [");
	for (int i = 0; i < 40; i++)
		text_addf(&json, "%s{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"aaaaaaaa\"}",
			i ? ", " : "");
	text_add(&json, "]}, " UNIGRAM);
	gives(parse(&a, text_get(&json)), "a", 1, "refused: the normalizer makes more than 64 times its length of a text");
	text_done(&json);
	arena_done(&a);
}

// ---- truncation -----------------------------------------------------------------------------------------------------------

static void cut_to(struct truncation how, const char *expected)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct encoding out = { 0 };
	struct text got = { 0 };
	struct tokenizer *t = parse(&a, "{\"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 1}, " UNIGRAM);

	if (tokenizer_encode_batch(t, &a, &(struct token_text){ "abcdefg", 7, "hij", 3 }, 1, true, &how, NULL, &out, &e))
		text_add(&got, e.text);
	for (size_t k = 0; e.status == STATUS_OK && k <= out.overflow_count; k++) {
		const struct encoding *one = k ? &out.overflow[k - 1] : &out;
		text_add(&got, k ? " " : "");
		for (size_t i = 0; i < one->count; i++)
			text_add_bytes(&got, one->tokens[i].text, one->tokens[i].nbytes);
	}
	assert_string_equal(text_get(&got), expected);
	text_done(&got);
	arena_done(&a);
}

static void test_truncation(void **state)
{
	(void)state;
	cut_to((struct truncation){ 10, 0, LONGEST_FIRST, false }, "abcdefghij");
	cut_to((struct truncation){ 8, 0, LONGEST_FIRST, false }, "abcdehij fghij");
	cut_to((struct truncation){ 4, 0, LONGEST_FIRST, false }, "abhi cdhi cdj efhi efj ghi gj abj");
	cut_to((struct truncation){ 6, 1, ONLY_FIRST, false }, "abchij cdehij efghij");
	cut_to((struct truncation){ 6, 1, ONLY_FIRST, true }, "efghij cdehij abchij");
	cut_to((struct truncation){ 8, 0, ONLY_SECOND, false }, "abcdefgh abcdefgi abcdefgj");
	cut_to((struct truncation){ 7, 0, ONLY_SECOND, false },
		"the text that may be cut is too short for the length that is asked for");
	cut_to((struct truncation){ 4, 2, LONGEST_FIRST, false }, "a stride of 2 is not less than the length of 2 that is left");
}

// A small file may ask for any number of tokens.
static void test_many_tokens(void **state)
{
	static const char few[] = "truncation, padding or a template makes ";
	struct arena a = { 0 };
	struct encoding out[2];
	struct token_text in[2] = { { "ab", 2, NULL, 0 }, { "a", 1, NULL, 0 } };
	struct error e = { 0 };
	struct text json = { 0 };
	char *longer = malloc(1 << 15);

	(void)state;
	struct tokenizer *t = parse(&a, "{\"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 1}, " UNIGRAM);
	assert_int_equal(
		tokenizer_encode_batch(t, &a, in, 2, true, NULL, &(struct padding){ .length = 4096, .token = "" }, out, &e),
		STATUS_OK);
	assert_int_equal(out[1].count, 4096);
	assert_int_equal(tokenizer_encode_batch(
				 t, &a, in, 2, true, NULL, &(struct padding){ .length = (size_t)1 << 31, .token = "" }, out, &e),
		STATUS_BAD_INPUT);
	assert_true(text_starts(e.text, few));
	memset(longer, 'a', 1 << 15);
	in[0] = (struct token_text){ longer, 1 << 15, NULL, 0 };
	assert_int_equal(tokenizer_encode_batch(
				 t, &a, in, 1, true, &(struct truncation){ 1000, 999, LONGEST_FIRST, false }, NULL, out, &e),
		STATUS_BAD_INPUT);
	assert_true(text_starts(e.text, few));
	t = parse(&a,
		"{\"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 1}, \"truncation\": {\"max_length\": "
		"9223372036854775807, \"strategy\": \"LongestFirst\", \"stride\": 0}, " UNIGRAM);
	in[0] = (struct token_text){ "abab", 4, NULL, 0 };
	assert_int_equal(tokenizer_encode_batch(t, &a, in, 1, true, NULL, NULL, out, &e), STATUS_OK);
	assert_int_equal(out[0].count, 4);
	in[0] = (struct token_text){ longer, 1 << 15, NULL, 0 };
	text_add(&json,
		"{\"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 1}, \"post_processor\": {\"type\": "
		"\"TemplateProcessing\", \"special_tokens\": {}, \"pair\": [], \"single\": [");
	for (int i = 0; i < 1000; i++)
		text_addf(&json, "%s{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}", i ? ", " : "");
	text_add(&json, "]}, " UNIGRAM);
	t = parse(&a, text_get(&json));
	assert_int_equal(tokenizer_encode_batch(t, &a, in, 1, true, NULL, NULL, out, &e), STATUS_BAD_INPUT);
	assert_true(text_starts(e.text, few));
	text_done(&json);
	free(longer);
	arena_done(&a);
}

// ---- tables ---------------------------------------------------------------------------------------------------------------

static void test_unicode(void **state)
{
	uint32_t out[UNICODE_MOST];
	char s[4];
	size_t length;

	(void)state;
	for (uint32_t c = 0; c < UNICODE_END; c++) {
		if (c >= 0xD800 && c < 0xE000)
			continue;
		size_t n = utf8_put(s, c);
		assert_int_equal(utf8_next(s, &length), c);
		assert_int_equal(length, n);
		assert_int_equal(utf8_last(s, s + n, &length), c);
		// What a decomposition composes to has the same decomposition.
		n = unicode_decompose(c, false, out);
		assert_true(n >= 1 && n <= UNICODE_MOST);
		uint32_t joined = n == 2 ? unicode_compose(out[0], out[1]) : 0;
		if (joined) {
			uint32_t again[UNICODE_MOST];
			assert_int_equal(unicode_decompose(joined, false, again), 2);
			assert_memory_equal(again, out, 2 * sizeof *out);
		}
		assert_true(unicode_decompose(c, true, out) <= UNICODE_MOST);
		assert_true(unicode_to_lower(c, out) <= 3);
	}
	for (unsigned b = 0; b < 256; b++)
		assert_int_equal(character_to_byte(byte_to_character((unsigned char)b)), b);
	assert_int_equal(unicode_decompose(0xFDFA, true, out), 18);
	static const char *const clusters[] = { "e\xCC\x81", "\r\n", "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA",
		"\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9", "\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\xB7",
		"\xE1\x84\x80\xE1\x85\xA1", "a" };
	for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
		char text[64];
		snprintf(text, sizeof text, "%sx", clusters[i]);
		assert_int_equal(unicode_grapheme(text, strlen(text)), strlen(clusters[i]));
	}
}

static void test_scan(void **state)
{
	static const struct {
		const char *text;
		double value;
	} numbers[] = { { "0", 0 }, { "-1.5", -1.5 }, { "1e3", 1000 }, { "-12.25E-2", -0.1225 },
		{ "123456789012345678901234", 123456789012345678901234.0 }, { "1e-400", 0 }, { "0.1", 0.1 } };
	const char *text;
	size_t n;
	double v;

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct scan s = { numbers[i].text, numbers[i].text, numbers[i].text + strlen(numbers[i].text), NULL, { { 0 } },
			0 };
		assert_true(scan_number(&s, &v));
		assert_true(v == numbers[i].value || (v - numbers[i].value) / numbers[i].value < 1e-15);
	}
	static const char good[] = "\"a\\u00e9\\ud83d\\ude00\\n\\u0000\"";
	struct scan s = { good, good, good + sizeof good - 1, NULL, { { 0 } }, 0 };
	assert_true(scan_string(&s, &text, &n));
	assert_int_equal(n, 9);
	assert_memory_equal(text, "a\xC3\xA9\xF0\x9F\x98\x80\n", 9);
	scan_done(&s);
	static const char *const bad[] = { "\"a", "\"\\q\"", "\"\\ud83d\"", "\"\\ude00\"", "\"\x01\"", "\"\\u12\"", "\"\xFF\"",
		"a", "" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct scan b = { bad[i], bad[i], bad[i] + strlen(bad[i]), NULL, { { 0 } }, 0 };
		assert_false(scan_string(&b, &text, &n));
		assert_non_null(b.error);
		scan_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_expressions), cmocka_unit_test(test_slow_expression),
		cmocka_unit_test(test_normalizers), cmocka_unit_test(test_pretokenizers), cmocka_unit_test(test_added_tokens),
		cmocka_unit_test(test_vocabulary_of_one_place), cmocka_unit_test(test_cuts), cmocka_unit_test(test_more_special),
		cmocka_unit_test(test_bpe_ways), cmocka_unit_test(test_long_words), cmocka_unit_test(test_byte_fallback),
		cmocka_unit_test(test_most), cmocka_unit_test(test_models), cmocka_unit_test(test_growth),
		cmocka_unit_test(test_truncation), cmocka_unit_test(test_many_tokens), cmocka_unit_test(test_unicode),
		cmocka_unit_test(test_scan) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
