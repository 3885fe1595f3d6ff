// SPDX-License-Identifier: Apache-2.0
// The words of the two vocabularies, made from the lists in status.h and from nothing else.
#include "base/status.h"

#include <string.h>

static const char *const status_words[] = {
#define X(code, word, sentence) word,
	STATUS_LIST(X)
#undef X
};

static const struct {
	const char *word, *sentence;
	int exit_code;
} verdicts[VERDICT_COUNT] = {
#define X(code, word, exit, sentence) { word, sentence, exit },
	VERDICT_LIST(X)
#undef X
};

const char *status_word(enum status s)
{
	size_t i = (size_t)s;
	return i < sizeof status_words / sizeof *status_words ? status_words[i] : "unknown";
}

const char *verdict_word(enum verdict v)
{
	return (size_t)v < VERDICT_COUNT ? verdicts[v].word : "unknown";
}

const char *verdict_sentence(enum verdict v)
{
	return (size_t)v < VERDICT_COUNT ? verdicts[v].sentence : "unknown";
}

int verdict_exit_code(enum verdict v)
{
	return (size_t)v < VERDICT_COUNT ? verdicts[v].exit_code : 1;
}

bool verdict_answers(enum verdict v)
{
	return v != VERDICT_INTERRUPTED && v != VERDICT_NOT_ASKED;
}

bool verdict_ran(enum verdict v)
{
	return v == VERDICT_RIGHT || v == VERDICT_WRONG || v == VERDICT_LOSSY || v == VERDICT_UNJUDGED || v == VERDICT_FELL_BACK;
}

enum verdict verdict_find(const char *word)
{
	if (!word)
		return VERDICT_COUNT;
	for (int i = 0; i < VERDICT_COUNT; i++)
		if (!strcmp(verdicts[i].word, word))
			return (enum verdict)i;
	return VERDICT_COUNT;
}

enum verdict verdict_of_status(enum status s)
{
	switch (s) {
	case STATUS_OK:
		return VERDICT_UNJUDGED;
	case STATUS_UNSUPPORTED:
		return VERDICT_UNSUPPORTED;
	case STATUS_UNAVAILABLE:
		return VERDICT_UNAVAILABLE;
	case STATUS_NO_MEMORY:
		return VERDICT_NO_MEMORY;
	case STATUS_TIMEOUT:
		return VERDICT_TIMEOUT;
	case STATUS_NOT_ASKED:
	case STATUS_NO_SPACE: // where there is room it has an answer
		return VERDICT_NOT_ASKED;
	case STATUS_INTERRUPTED:
		return VERDICT_INTERRUPTED;
	case STATUS_BAD_INPUT:
	case STATUS_FAILED:
		return VERDICT_FAILED;
	}
	return VERDICT_FAILED;
}
