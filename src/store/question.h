// SPDX-License-Identifier: Apache-2.0
// What a cell was asked, whole, as one JSON object: column `question` of the table `cell`. `assay reproduce` asks it again,
// `assay compare` and `assay history` know by it which rows answer one question. Rows of files that are older than the column are
// rebuilt from the other columns, and what those do not have is named.
#ifndef ASSAY_STORE_QUESTION_H
#define ASSAY_STORE_QUESTION_H

#include "store/store.h"

// Where a question was asked: members of struct cell. The rest is struct question.
#define QUESTION_WHERE_LIST(X) \
	X(model) \
	X(path) \
	X(revision) \
	X(platform) \
	X(device) \
	X(options)

// One line; files of the model, of golden outputs and of examples also as absolute paths, `model_file`, `golden_file`,
// `data_file`; `own_options` are those that the platform's row did not bring: its defaults may be others in another version, or
// where something stands in for it.
const char *question_text(struct arena *a, const struct cell *c);

struct store_question {
	struct cell cell;       // what was asked; `requested` and the chain's members too
	const char *model_file; // absolute, where the model was named by a file or folder; may be NULL
	const char *golden_file, *data_file;
	const char *own_options; // of cell.options those that were asked for over the platform's own; NULL: none
	bool is_rebuilt;         // from columns: the row is older than the column
	bool knows_conform;      // whether --no-conform was asked: older records do not say it
	const char *missing;     // of a rebuilt one: names of what is not known; NULL otherwise
};
// Of one row. `text`: its column `question`, NULL for an older row; `t`, `i`: a row of "SELECT * FROM cell".
enum status question_of(struct store_question *out, struct arena *a, const struct table *t, size_t i, struct error *err);
// "openvino:CPU": what --on takes.
const char *question_target(struct arena *a, const struct store_question *q);
// The question as one line for a shell: "assay run ..."; whatever prints a command prints this. `r`: its row, which knows of an
// older question what that does not, and whether conformance cases were left out.
const char *question_command(struct arena *a, const struct store_question *q, const struct row *r);
// BAD_INPUT: there is no such row.
enum status store_question(struct store *s, struct arena *a, int64_t row, struct store_question *out, struct error *err);

#endif
