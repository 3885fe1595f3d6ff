// SPDX-License-Identifier: Apache-2.0
// Two vocabularies: `enum status` is what a function returns, `enum verdict` is what a row says. Each is one X-macro
// list of code, word (in the database and in JSON) and sentence, so that nothing can go out of step.
#ifndef ASSAY_BASE_STATUS_H
#define ASSAY_BASE_STATUS_H

#include <stdbool.h>

#define STATUS_LIST(X) \
	X(OK, "ok", "no error") \
	X(BAD_INPUT, "bad_input", "the input is not what it should be") \
	X(UNSUPPORTED, "unsupported", "not supported") \
	X(UNAVAILABLE, "unavailable", "not on this machine") \
	X(NO_MEMORY, "no_memory", "not enough memory") \
	X(NO_SPACE, "no_space", "not enough disk space") \
	X(TIMEOUT, "timeout", "took longer than its limit") \
	X(NOT_ASKED, "not_asked", "this process or machine has a limit in the way") \
	X(INTERRUPTED, "interrupted", "stopped from outside") \
	X(FAILED, "failed", "failed")

enum status {
#define X(code, word, sentence) STATUS_##code,
	STATUS_LIST(X)
#undef X
};

// code, word, exit code of the program (0 good, 2 bad, 3 wrong; the largest of all asked cells wins), sentence
#define VERDICT_LIST(X) \
	X(RIGHT, "right", 0, "ran, and the outputs agree with the reference") \
	X(WRONG, "wrong", 3, "ran, and the outputs do not agree with the reference") \
	X(LOSSY, "lossy", 2, "computed as asked, and loses more against float32 than was allowed") \
	X(UNJUDGED, "unjudged", 0, "ran; whether its outputs are right is not known") \
	X(FELL_BACK, "fell_back", 2, "ran, but no node of it on the platform that was asked for") \
	X(COMPILES, "compiles", 0, "was compiled for a device that is not here; nothing ran") \
	X(UNAVAILABLE, "unavailable", 2, "the platform, its library or its device is not on this machine") \
	X(UNSUPPORTED, "unsupported", 2, "assay or the engine does not support this model in this form") \
	X(NO_MEMORY, "no_memory", 2, "needs more memory than is allowed or free") \
	X(TIMEOUT, "timeout", 2, "did not finish within its time limit") \
	X(CRASHED, "crashed", 2, "the engine's process died") \
	X(FAILED, "failed", 2, "the engine, or what it was given, failed with an error") \
	X(NOT_ASKED, "not_asked", 2, "could not be asked: this process, the machine or a file was in the way") \
	X(INTERRUPTED, "interrupted", 2, "was stopped before it finished")

enum verdict {
#define X(code, word, exit, sentence) VERDICT_##code,
	VERDICT_LIST(X)
#undef X
		VERDICT_COUNT
};

const char *status_word(enum status s);
const char *verdict_word(enum verdict v);
const char *verdict_sentence(enum verdict v);
int verdict_exit_code(enum verdict v);
bool verdict_answers(enum verdict v); // the question has an answer, whatever it is: it need not be asked again
// Those that answer nothing, for SQL: "verdict NOT IN " VERDICT_NO_ANSWER_SQL.
#define VERDICT_NO_ANSWER_SQL "('interrupted', 'not_asked')"
bool verdict_ran(enum verdict v); // it ran to its end and gave outputs, whatever they are worth and wherever they were computed
// The verdict called `word`; VERDICT_COUNT if there is none.
enum verdict verdict_find(const char *word);
// How a failed function reads as the outcome of a cell.
enum verdict verdict_of_status(enum status s);

#endif
