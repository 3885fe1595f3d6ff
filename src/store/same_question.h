// SPDX-License-Identifier: Apache-2.0
// Which rows answer one question on one machine: the latest of them counts in a report and in the named questions.
#ifndef ASSAY_STORE_SAME_QUESTION_H
#define ASSAY_STORE_SAME_QUESTION_H

#include "store/store.h"

// clang-format off
// What is asked besides model, machine, platform, weights and size. The SQL and the comparisons of report/lines.c are made from
// these lists:
// how two of it are compared (same_HOW), the member, its SQL over result r and cell c.
// Numbers first: every question is held against every line. Effort and cycles change how long is measured, not what.
#define SAME_VARIANT_LIST(X)                       /* members of struct variant and of struct row */ \
	X(number, threads, "r.threads") \
	X(number, image_size, "r.image_size") \
	X(real, rate_per_s, "r.rate_per_s") \
	X(real, latency_bound_ms, "r.latency_bound_ms") \
	X(number, streams, "r.streams") \
	X(precision, precision, "nullif(r.precision, 'stored')") \
	X(scenario, scenario, "nullif(r.scenario, 'single-stream')")
// Options over the platform's own, and shapes that were asked to be fixed or open. %s: question_open_sql.
#define SAME_GRAPH_LIST(X)                         /* members of struct store_question */ \
	X(text, own_options, "c.asked_options") \
	X(value, cell.is_static, "c.static_shapes") \
	X(value, cell.is_dynamic, "%s")
// What was fed and what judged: a later answer about other inputs, or by another measure, takes nothing back.
#define SAME_JUDGED_LIST(X)                        /* members of struct store_question */ \
	X(value, cell.seed, "c.seed") \
	X(text, cell.golden, "c.golden") \
	X(text, cell.variant.max_loss, "r.max_loss")

// What tells questions apart, as SQL over the rows of QUESTION_FROM_SQL. Failed cells lack what only a run could tell.
#define QUESTION_SQL_OF(how, member, sql) ", " sql
#define QUESTION_SQL \
	"r.machine, r.model, r.files, r.requested, c.device, c.synthetic, c.layers, c.batch, c.sequence, r.new_tokens, r.source" \
	SAME_GRAPH_LIST(QUESTION_SQL_OF) SAME_JUDGED_LIST(QUESTION_SQL_OF) SAME_VARIANT_LIST(QUESTION_SQL_OF)
// clang-format on
// Of which files a row's model was: two contents of one name are two models. A row that failed before it knew is of those that
// the name had last on its machine.
#define QUESTION_FILES_SQL "COALESCE(model_sha256, arg_max(model_sha256, id) OVER (PARTITION BY machine, model)) AS files"
#define QUESTION_FROM_SQL " FROM (SELECT *, " QUESTION_FILES_SQL " FROM result) r JOIN cell c ON c.id = r.id"

// Was --dynamic asked? SQL over cell c, from the answer to QUESTION_OPEN_ASK: a file of an older assay has no column that says
// it.
#define QUESTION_OPEN_ASK "SELECT count(*) AS n FROM duckdb_columns() WHERE table_name = 'cell' AND column_name = 'question'"
const char *question_open_sql(const struct table *columns);

#endif
