// SPDX-License-Identifier: Apache-2.0
// Questions to the database that have a name: a table of SQL texts, asked with a model, a platform and a limit. They read the
// view `result` like anybody's SQL; nothing here is computed that SQL does not say. Writes nothing.
#ifndef ASSAY_STORE_QUESTIONS_H
#define ASSAY_STORE_QUESTIONS_H

#include "store/store.h"

struct store_question {
	const char *name;
	const char *answers; // in a sentence, for `assay query --list`
	const char *sql;     // after the relations of store_question_relations; ends with its ORDER BY
	bool timed_only;     // rows whose time is no hardware's are left out, and are counted in `left_out`
};
extern const struct store_question store_questions[];               // ends with a name of NULL
const struct store_question *store_question_find(const char *name); // NULL: there is none

struct store_asking {
	const char *model, *platform; // NULL: all; a model by its whole name or what is after its last '/'
	int64_t limit;                // rows at most; 0: all
};
// BAD_INPUT: no row is of the model, or no row of the platform, which assay does not know either. For an answer that is empty.
enum status store_asking_check(struct store *s, const struct store_asking *with, struct error *err);
// The answer, in the store's arena. *left_out: a sentence about rows that were not counted, and why; NULL: there were none.
enum status store_ask(struct store *s, const struct store_question *q, const struct store_asking *with, struct table *out,
	const char **left_out, struct error *err);

#endif
