// SPDX-License-Identifier: Apache-2.0
// What a database may bring along. DuckDB keeps macros, defaults, generated columns and checks in the file and computes them in
// the program that opens it, and a macro called `round` stands in for the function in every statement. assay's own files have
// tables with plain columns and views, and so has every file that it works with: what bears a name of assay's is what assay
// makes, and there are no macros.
#ifndef ASSAY_STORE_GUARD_H
#define ASSAY_STORE_GUARD_H

#include "store/db.h"

// Of all databases that are open in `d`, before any other statement. BAD_INPUT: the sentence says what is in the file, and how it
// goes away.
enum status guard_look(struct db *d, struct error *err);
// Behind it, of the database that is asked: BAD_INPUT where a table has more rows than are read, a text is longer than assay
// writes, or a number by which rows are joined stands twice.
enum status guard_numbers(struct db *d, struct error *err);
// Of the tables, whose names begin with `prefix`, "" or that of views over a file that is taken in: BAD_INPUT where a time in ms,
// a rate a second, a memory in MiB or a count is not finite, negative, or larger than anything that can be measured, where a
// date is not of the years 1970 to 9999, where an event and its measurement have two verdicts, and where a row says right and its
// own figures say otherwise; the sentence names the row and the column.
enum status guard_values(struct db *d, const char *prefix, struct error *err);
// Of what is taken in, as above: BAD_INPUT where a name is longer than NAME_MOST, a verdict is no word of this assay, or a
// question no JSON object, all of which a report leaves out; the sentence names the row.
enum status guard_words(struct db *d, const char *prefix, struct error *err);
#define GUARD_VERDICT "%s%s has the verdict '%s', which this assay does not know: use a newer one" // "row ", number, word
// It also refuses a file whose texts together have more bytes than that, and so many more for each of its own.
enum { GUARD_TEXT_A_FILE = 32 << 20, GUARD_TEXT_A_BYTE = 32 };
// Before `more` rows go into one of assay's tables: BAD_INPUT where guard_numbers would refuse the file from then on.
enum status guard_room(struct db *d, const char *table, int64_t more, struct error *err);
// The same of `rows` in all.
enum status guard_many(const char *table, int64_t rows, struct error *err);
// Bytes of all texts of a relation, and of its longest. `columns`: a result with all columns of it.
enum status guard_texts(struct db *d, struct arena *a, const char *from, const struct table *columns, int64_t *all,
	int64_t *longest, struct error *err);
// BAD_INPUT where rows of `from` are alike in `columns`, SQL both; `table` and `words` say so to people. Scratch in `a`.
enum status guard_once(struct db *d, struct arena *a, const char *from, const char *columns, const char *table, const char *words,
	struct error *err);

#endif
