// SPDX-License-Identifier: Apache-2.0
// The words of precision.h.
#include "onnx/precision.h"

#include <string.h>

#include "base/text.h"

static const struct { const char *word, *what; } words[] = {
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

enum precision precision_find(const char *word)
{
	enum precision p = PRECISION_STORED;

	size_t n = word ? strcspn(word, ":") : 0;          // what goes with it stands behind a colon

	while (word && p < PRECISION_COUNT && (strncmp(word, words[p].word, n) || words[p].word[n]))
		p++;
	return p;
}

bool precision_is_reduced(enum precision p)
{
	return p != PRECISION_STORED && p != PRECISION_FLOAT32 && p != PRECISION_COUNT;
}
