// SPDX-License-Identifier: Apache-2.0
// All tables of a database as one Parquet, CSV or JSON file: rows of all of them under one another. The column assay_table, the
// first, says whose row it is; a column that several tables have is one, and what a table does not have is null (in JSON:
// absent). What others refer to stands last, so that a file that was cut off does not belong together any more. Inside src/store.
#ifndef ASSAY_STORE_ONE_FILE_H
#define ASSAY_STORE_ONE_FILE_H

#include "base/text.h"
#include "store/db.h"

// Of a file that is taken in, and the name of one of its columns.
#define ABSORB_COLUMN "its column %.100s is in no table of this assay: a newer one wrote it, or another program"

// ---- writing ----

// Options of COPY for what one_file_add adds. Lines: each row is its JSON text already. Parquet: 300 columns of which few have
// values are held in memory until a group of rows is whole.
#define ONE_FILE_LINES "FORMAT csv, COMPRESSION uncompressed, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'"
#define ONE_FILE_PARQUET "ROW_GROUP_SIZE 8192"
// The rows of these tables as a relation in SQL; `lines`: one text a row, JSON without nulls.
void one_file_add(struct text *sql, const struct table *names, bool lines);

// ---- reading ----

bool absorb_has_table(const char *name, size_t length); // absorb.c: is there a table of this name?

// Before anything is opened: a regular file with bytes in it whose lines have limits (lines.h). BAD_INPUT with a sentence.
enum status one_file_look(const char *path, int64_t most, struct error *err);
// *from: the relation in SQL that reads `path`. BAD_INPUT: it has no column assay_table, or one that no table here has.
enum status one_file_rows(struct db *d, struct arena *a, const char *path, const char **from, struct error *err);
// BAD_INPUT where a row is of no table that is known here.
enum status one_file_look_at_tables(struct db *d, struct arena *a, const char *from, struct error *err);
// Adds "INSERT INTO source_TABLE ..." with its rows of the file; types are those of that table.
enum status one_file_part(struct db *d, struct arena *a, const char *path, const char *from, const char *table, struct text *sql,
	struct error *err);

#endif
