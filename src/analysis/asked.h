// SPDX-License-Identifier: Apache-2.0
// When do two rows answer one question? A row's question as fields with names: two rows whose fields are equal may be compared.
// What only says how long it was measured (runs, effort, cycles, time limits) is no part of it, and neither is the machine.
#ifndef ASSAY_ANALYSIS_ASKED_H
#define ASSAY_ANALYSIS_ASKED_H

#include "store/side.h"

#define ASKED_LIST(X) \
	X(MODEL, "model") \
	X(FILES, "model files") \
	X(WEIGHTS, "weights") \
	X(LAYERS, "layers") \
	X(PROMPT, "prompt tokens") \
	X(NEW, "new tokens") \
	X(PLATFORM, "platform") \
	X(INSTEAD, "in its place") \
	X(DEVICE, "device") \
	X(OPTIONS, "options") \
	X(SHAPES, "shapes") \
	X(SEED, "seed") \
	X(GOLDEN, "golden file") \
	X(BATCH, "batch") \
	X(SEQUENCE, "tokens")

// The members of struct question follow these; those that tell questions apart and are not above have values.
enum asked_field {
#define X(code, name) ASKED_##code,
	ASKED_LIST(X)
#undef X
		ASKED_QUESTION,
	ASKED_COUNT = ASKED_QUESTION + QUESTION_COUNT
};
const char *asked_name(enum asked_field f);

struct asked {
	const char *field[ASKED_COUNT];
}; // NULL: the default, or it has no meaning here

// `sides` hold rows that may know what this one does not: a cell that failed early never learned how long its default sequence
// is.
void asked_of(struct asked *out, struct arena *a, const struct side_row *r, const struct side *const *sides, size_t side_count);
// What is not known of a model's files is no difference. Fields whose bit 1 << field is in `leave` do not count.
bool asked_same(const struct asked *x, const struct asked *y, uint64_t leave);
// Two known, unlike contents of one name?
bool asked_other_files(const struct asked *x, const struct asked *y);
// What y knows of the model's files and x does not.
void asked_learn(struct asked *x, const struct asked *y);
// "bert-base-uncased on cpu, batch 1, 128 tokens, precision int8-dynamic", without the fields of `leave`.
const char *asked_words(struct arena *a, const struct asked *x, uint64_t leave);
// What qualifies these rows (row_qualifiers) beyond what those words say; in `a`, NULL: nothing.
const char *asked_qualifiers(
	struct arena *a, const struct asked *x, uint64_t leave, const struct side_row *const *rows, size_t count);

#endif
