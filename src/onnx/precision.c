// SPDX-License-Identifier: Apache-2.0
// The words of precision.h, read and written.
#include "onnx/precision.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const struct {
	const char *word, *what;
} words[] = {
#define X(code, word, what) { word, what },
	PRECISION_LIST(X)
#undef X
};

const char *precision_word(enum precision p)
{
	return words[p].word;
}

const char *precision_what(enum precision p)
{
	return words[p].what;
}

bool precision_is_reduced(enum precision p)
{
	return p != PRECISION_STORED && p != PRECISION_FLOAT32 && p != PRECISION_COUNT;
}

static bool is(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(text, word, n);
}

enum precision precision_find(const char *word)
{
	enum precision p = PRECISION_STORED;

	while (word && p < PRECISION_COUNT && !is(word, strcspn(word, ":"), words[p].word))
		p++;
	return p;
}

const char *precision_typed(struct arena *a, const char *text)
{
	static const struct {
		const char *typed, *word;
	} others[] = { { "fp32", "float32" }, { "f32", "float32" }, { "fp16", "float16" }, { "f16", "float16" },
		{ "half", "float16" }, { "bf16", "bfloat16" }, { "int8", "int8-dynamic" }, { "int4", "int4-weights" },
		{ "w4a16", "int4-weights" }, { "w8a16", "int8-weights" } };
	const size_t n = text ? strcspn(text, ":") : 0;
	const char *word = NULL;

	for (size_t i = 0; text && i < PRECISION_COUNT && !word; i++)
		if (strlen(words[i].word) == n && !strncasecmp(words[i].word, text, n))
			word = words[i].word;
	for (size_t i = 0; text && i < sizeof others / sizeof *others && !word; i++)
		if (strlen(others[i].typed) == n && !strncasecmp(others[i].typed, text, n))
			word = others[i].word;
	return word ? arena_printf(a, "%s%s", word, text + n) : text;
}

// "KEY=VALUE" of the length n.
static bool take(struct precise *p, const char *item, size_t n)
{
	size_t key = 0;

	while (key < n && item[key] != '=')
		key++;
	if (key == n)
		return false;
	const char *text = item + key + 1;
	size_t length = n - key - 1;
	char digits[4] = { 0 };
	int64_t number = -1;

	if (length < sizeof digits) {
		memcpy(digits, text, length);
		text_to_int(digits, 0, 999, &number);
	}

	if (is(item, key, "block") && number >= 16 && number <= 256 && !(number & (number - 1)))
		p->block = (int)number;
	else if (is(item, key, "accuracy") && number >= 0 && number <= 4)
		p->accuracy = (int)number;
	else if (is(item, key, "zero") && (is(text, length, "middle") || is(text, length, "stored")))
		p->asymmetric = is(text, length, "stored");
	else if (is(item, key, "head") && (is(text, length, "float32") || is(text, length, "same")))
		p->float_head = is(text, length, "float32");
	else
		return false;
	return true;
}

static enum status unknown(const char *text, size_t n, struct error *err)
{
	struct text known = { 0 };

	for (int i = 0; i < PRECISION_COUNT; i++)
		text_addf(&known, "%s%s", i ? ", " : "", words[i].word);
	enum status s =
		error_set(err, STATUS_BAD_INPUT, "no precision is called \"%.*s\"; there are %s", (int)n, text, text_get(&known));
	text_done(&known);
	return s;
}

enum status precision_parse(struct precise *out, const char *text, struct error *err)
{
	struct precise p = { .precision = precision_find(text) };
	size_t n = text ? strcspn(text, ":") : 0;

	if (p.precision == PRECISION_COUNT)
		return unknown(text, n, err);
	bool in_blocks = p.precision == PRECISION_INT8_WEIGHTS || p.precision == PRECISION_INT4_WEIGHTS;
	if (in_blocks) {
		p.block = PRECISION_BLOCK;
		p.accuracy = PRECISION_ACCURACY;
	}
	for (const char *at = text ? text + n : ""; *at;) {
		size_t length = strcspn(++at, ":");

		if (!in_blocks || !take(&p, at, length))
			return error_set(err, STATUS_BAD_INPUT,
				in_blocks ? "%s: \"%.*s\" is none of block=16|32|64|128|256, accuracy=0..4, zero=middle|stored, "
					    "head=same|float32"
					  : "%s takes no \":%.*s\"",
				words[p.precision].word, (int)length, at);
		at += length;
	}
	*out = p;
	return STATUS_OK;
}
