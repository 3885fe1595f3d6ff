// SPDX-License-Identifier: Apache-2.0
// Which rows answer one question on one machine, and which of them has the last word in a report and in the named questions.
#ifndef ASSAY_STORE_SAME_QUESTION_H
#define ASSAY_STORE_SAME_QUESTION_H

#include "store/store.h"

// What tells questions apart, as SQL over the rows of QUESTION_FROM_SQL. A row that was imported is somebody's word, and none
// that answers what was asked here, whatever machine it names. Options are those over the platform's own. Failed cells
// lack what only a run could tell. `columns`: the answer to QUESTION_RECORD_ASK. In `a`.
const char *question_apart_sql(struct arena *a, const struct table *columns);
// Of which files a row's model was: two contents of one name are two models. A row that failed before it knew is of those that
// the name had last on its machine.
#define QUESTION_FILES_SQL \
	"COALESCE(model_sha256, arg_max(model_sha256, id) OVER (PARTITION BY machine, imported, model)) AS files"
#define QUESTION_FROM_SQL " FROM (SELECT *, " QUESTION_FILES_SQL " FROM result) r JOIN cell c ON c.id = r.id"

// Has cell the record of what was asked, and run the number that it came with? A file of an older assay has no such columns: what
// only the first says is the default there, and every run is its own.
// (duckdb_columns() makes a row of each column of all tables first.)
#define QUESTION_RECORD_ASK \
	"SELECT (SELECT count(*) FROM pragma_table_info('main.cell') WHERE name = 'question') AS n, (SELECT count(*) FROM " \
	"pragma_table_info('main.run') WHERE name = 'origin_id') AS origins"
// A SELECT of what detections said of this machine: those of imported runs only where there is no other run.
const char *question_detected_sql(const struct table *columns);
// Is cell c one of `assay profile`? A truth value in SQL.
const char *question_profile_sql(const struct table *columns);

// A SELECT of those rows' numbers, `id`, and of the newest row's that answers, `newest`, whatever it proves. `from`: " FROM ...
// WHERE ..." with r and c as QUESTION_FROM_SQL has them; `also`: "", or ", " and what else tells questions apart; `apart`: of
// question_apart_sql.
//     The newest row that answers. But two verdicts say only that a limit was reached, timeout and no_memory: they prove less
// than a row that was allowed more time or memory and got further, and take nothing back. By default a cell has what memory there
// is, which counts as no limit.
const char *question_word_sql(struct arena *a, const char *from, const char *also, const char *apart);

#endif
