// SPDX-License-Identifier: Apache-2.0
// Tables out of the database as Parquet, CSV and JSON lines, and results of other tools into it. What comes in gets new numbers
// and keeps where it came from (run.import, cell.origin_id; `source` of a row); what is there already is not added again.
#ifndef ASSAY_STORE_TRANSFER_H
#define ASSAY_STORE_TRANSFER_H

#include "store/store.h"

// "parquet", "csv" or "json" (one object a line). One table or view into the file `path`; the name is looked up, never pasted.
// CSV: cells that a spreadsheet would take for a formula have a ' before them (base/csv.h), unless `raw`.
enum status store_export(
	struct store *s, const char *table, const char *format, bool raw, const char *path, int64_t *rows, struct error *err);
// The same of all of assay's tables into one file, which store_absorb takes: a row of a table is a row there, `assay_table` says
// of which, and columns that it does not have are null. *rows: of all of them.
enum status store_export_all(struct store *s, const char *format, bool raw, const char *path, int64_t *rows, struct error *err);
// The format that the ending of a file's name means; NULL: none.
const char *store_format_of(const char *path);
// Does store_absorb read this as one file with all tables: .parquet, or a .csv, .json, .jsonl or .ndjson that begins as those of
// store_export_all do?
bool store_is_one_file(const char *path);
// Names of assay's tables (not the views, nor what the file has besides: it may have any number, and names that are paths), in
// the order in which they were made; in the store's arena.
enum status store_tables(struct store *s, struct table *out, struct error *err);

// absorb.c. Rows of another database of assay: its file, one file of all its tables (store_export_all), or a folder of them as
// store_export wrote them. Runs and cells
// that are here already are not added again; what they gained since is. BAD_INPUT with DuckDB's words for what is no such thing;
// then nothing is added. `most`: rows of all its tables together, counted before anything is copied.
struct store_absorbed {
	int64_t cells, new_cells, new_runs;
	int64_t without_samples; // new ones that name a count of timed runs, and came without their single times
	// Cells of which the file has another verdict, other figures or one more verdict, that are not taken: its runs are this
	// file's own, or were told before. The same of machines.
	int64_t left_out, machines;
};
enum status store_absorb(struct store *s, const char *path, int64_t most, struct store_absorbed *out, struct error *err);

enum { FOREIGN_FILE_LIMIT = 32 << 20 }; // bytes of a file of another tool

// A result of another tool.
struct foreign_result {
	struct arena arena;
	const char *tool, *version; // "llama-bench", "5163"; version NULL: the file does not say it
	const char *machine_cpu;    // as the file says; NULL
	struct foreign_row {
		struct cell cell;
		struct cell_result result;
	} * rows;
	size_t count;
};
// Which tool a file is from is seen in what it holds; BAD_INPUT with a sentence for everything else. The caller releases with
// foreign_done.
enum status foreign_read(struct foreign_result *out, const char *path, struct error *err);
void foreign_done(struct foreign_result *r);

struct store_import {
	bool known;
	int64_t cells;
}; // known: these very bytes were imported before, nothing was added
enum status store_import_foreign(
	struct store *s, const char *path, const struct foreign_result *r, struct store_import *out, struct error *err);

#endif
