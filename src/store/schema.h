// SPDX-License-Identifier: Apache-2.0
// The tables and views, and how an older file becomes a newer one. Columns of `measurement` and `result` come from
// ROW_LIST, so a field added there is added to every file at its next opening.
#ifndef ASSAY_STORE_SCHEMA_H
#define ASSAY_STORE_SCHEMA_H

#include "base/text.h"
#include "store/db.h"

#define SCHEMA_NO_VERSION "its table schema_version holds no version: the file is not one of assay's, or is damaged"

// Steps in ascending order; each raises the file to `version`.
struct migration {
	int version;
	const char *what; // for the schema_version table
	const char *sql;
};
extern const struct migration schema_migrations[];
extern const size_t schema_migration_count;

enum schema_state { SCHEMA_EMPTY, SCHEMA_OLD, SCHEMA_CURRENT, SCHEMA_NEWER };
// Reads only. A file made by a newer assay is SCHEMA_NEWER, with *version.
enum status schema_look(
	struct db *d, const struct migration *steps, size_t count, enum schema_state *out, int *version, struct error *err);
// Temporary views in the place of those of a file that is only read and is not CURRENT, over the columns that it has: SQL in `a`.
// Whose text is not assay's own is not CURRENT; NULL: the file's are that.
enum status schema_views(struct db *d, struct arena *a, enum schema_state state, const char **sql, struct error *err);
// Is this a name of one of assay's, as DuckDB compares names?
bool schema_has_table(const char *name);
bool schema_has_view(const char *name);
// In one transaction: the steps that the file lacks, the columns that `measurement` lacks, the views anew.
enum status schema_migrate(struct db *d, const struct migration *steps, size_t count, struct error *err);
// What stands after FROM for `table`, a `measurement` with the columns that the column `name` of `have` holds: those that it
// lacks are NULL, as schema_migrate makes them. In `a`.
const char *schema_whole_rows(struct arena *a, const char *table, const struct table *have);
// COMMENT ON for every table and column.
void schema_comments(struct text *sql);

#endif
