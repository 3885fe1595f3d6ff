// SPDX-License-Identifier: Apache-2.0
// The database: one DuckDB file of honest rows. Append-only: "started" and the verdict are two events of a cell, never an
// update. The file is open only while a transaction lasts (keeps_open: several), because DuckDB's lock shuts out readers
// too; a held lock is retried with back-off (up to 60 s) and `notice` says so once. libduckdb is opened with dlopen when it
// is needed. Only parents write. docs/SCHEMA.md describes the tables.
#ifndef ASSAY_STORE_STORE_H
#define ASSAY_STORE_STORE_H

#include <signal.h>

#include "question/cell.h"
#include "stats/compare.h"
#include "platform/platform.h"

// Of one look at the file, or one transaction. All zero: 10 minutes, and of memory only what DuckDB itself counts.
struct store_limits {
	double seconds;
	int64_t memory_bytes; // that this process may grow by meanwhile, by any of its threads
	// While DuckDB works nothing in this process gets memory beyond that: for one whose other threads want none then.
	bool holds_memory;
	const char *option, *memory_option; // that give more seconds, more memory, for the sentence; may be NULL
	// From another thread, where the database does not stop at a limit; may end the process. NULL: it is waited for.
	void (*give_up)(const char *sentence);
	const volatile sig_atomic_t *stop; // a signal has set it: statements end, as at a limit; may be NULL
};

// In the current folder, where no database is named. One of another user, in a folder that is not that user's, is not opened.
#define STORE_DEFAULT "assay.duckdb"

struct store { // all zero but for `notice`, `context`, `limits` and `lock_wait_s` before store_open
	struct arena arena;
	const char *path;
	struct store_limits limits;
	void (*notice)(void *context, const char *sentence); // may be NULL
	void *context;                                       // of notice
	int64_t run;                                         // id after store_begin_run, else 0
	int64_t run_started_us;                              // as it was written, by which it is known again
	const char *machine; // after store_open: whose rows store_cell_state finds; NULL: every machine's
	const void *duckdb;  // table of functions
	bool read_only;
	double lock_wait_s; // how long a held lock is waited for; 0: ASSAY_DB_WAIT, else 60 s
	void *reading;      // between store_read_begin and _end: the open file
	// May be set after store_open: the file stays open from the next transaction until store_let_go or store_close, and
	// others wait that long. For what is read and written one after the other while nothing is timed: opening and closing
	// are most of the time that a row takes.
	bool keeps_open;
	void *kept;
	void *looked_at; // what store_open looked at, open still: the next transaction that only reads takes it over
	// SQL that puts assay's views in the place of the file's; NULL: the file's are those.
	const char *views;
	int lock; // of run_lock.h since store_begin_run; 0 or below: none
};

// Loads the library, makes or migrates the schema, and turns "started" cells of runs that are over (run_lock.h, else pid, start
// time, boot id) into interrupted ones; where none of that is needed nothing is written. read_only: an absent file is an error
// and nothing is written. A process opens one file once at a time: DuckDB's lock does not keep a process from itself. close ends
// the run that store_begin_run began: its cells without a verdict are interrupted ones. It accepts a zeroed store.
enum status store_open(struct store *s, const char *path, bool read_only, struct error *err);
// For reading, after migrating and settling dead runs where the file can be written; where it cannot, it is read as it is.
enum status store_open_settled(struct store *s, const char *path, struct error *err);
void store_close(struct store *s);
// Closes the file that `keeps_open` keeps open; the next transaction opens it again. Nothing where it is not open.
void store_let_go(struct store *s);

// One run of the program: command line, version, pid, start time, boot id, machine.
enum status store_begin_run(struct store *s, const struct machine *m, const char *command, struct error *err);
enum status store_end_run(struct store *s, struct error *err);
// Detection rows, once a run: the array of `detect --json`'s platforms.
enum status store_detection(struct store *s, const json_t *platforms, struct error *err);

// Before the child runs: *row is the number of the new row.
enum status store_started(struct store *s, const struct cell *c, const char *cell_key, int64_t *row, struct error *err);
// The verdict with everything measured (r->row.row is the number), in one transaction.
enum status store_finished(struct store *s, const struct cell_result *r, struct error *err);

// For --resume: is there a finished row with this key (*row, verdict)? Rows that were imported are none. A live run's started
// cell counts as taken. A row that ran into less time than `timeout_s` is no answer; 0: it is one.
enum store_cell_state { STORE_NEVER, STORE_FINISHED, STORE_TAKEN };
enum status store_cell_state(
	struct store *s, const char *cell_key, double timeout_s, enum store_cell_state *out, int64_t *row, struct error *err);
// store_started where store_cell_state says STORE_NEVER, both in one transaction: of two programs that ask at once, one gets the
// cell. Else nothing is written, and *row is the row that was found.
enum status store_claim(
	struct store *s, const struct cell *c, const char *cell_key, enum store_cell_state *out, int64_t *row, struct error *err);

// A result as text, in the store's arena.
struct table {
	size_t column_count, row_count;
	const char **columns;
	const char **types; // DuckDB's names: "VARCHAR", "DOUBLE", ...
	const char **cells; // row-major; NULL is SQL's NULL
};
const char *table_get(const struct table *t, size_t row, const char *column); // NULL for NULL or no such column
int64_t table_integer(const struct table *t, size_t row, const char *column); // ROW_NONE for NULL or no integer
double table_real(const struct table *t, size_t row, const char *column);     // NaN
int table_boolean(const struct table *t, size_t row, const char *column);     // -1
void table_row(const struct table *t, size_t row, struct row *out);           // of "SELECT * FROM result"
// One statement or several of the program's own; the last one's result. The file is opened read-only for it: nothing can be
// changed this way. The error has DuckDB's own words.
enum status store_query(struct store *s, const char *sql, struct table *out, struct error *err);
// What a person typed: one SELECT of at most `most` rows, else BAD_INPUT. It reads the database and no file.
enum status store_select(struct store *s, const char *sql, int64_t most, struct table *out, struct error *err);

// Several queries that see one moment of the file: it is opened once, which is most of the time of a small query. Nothing may be
// written between the two. end accepts a store that is not reading.
enum status store_read_begin(struct store *s, struct error *err);
void store_read_end(struct store *s);

// One row by its number, as its last word stands; texts in `a`. BAD_INPUT: there is none.
enum status store_row(struct store *s, struct arena *a, int64_t row, struct row *out, struct error *err);
// The engine's nodes of a profile in the order in which they ran, as cell_result has them; an empty array where it was not
// profiled. Owned by the caller.
enum status store_profile(struct store *s, int64_t row, json_t **out, struct error *err);
// The last row, before like->row (which must be started), whose platform is the one that `like` asked for, that ran there, and
// that answers the same question on the same machine: model, weights, layers, batch, lengths, types. row is ROW_NONE where there
// is none.
struct store_measured {
	int64_t row;
	double latency_ms;
	const char *day;
};
enum status store_last_measured(
	struct store *s, struct arena *a, const struct row *like, struct store_measured *out, struct error *err);
// The same for arithmetic in float32 on the device and with the options that `like` was asked with: what its precision is held
// against.
enum status store_last_float32(
	struct store *s, struct arena *a, const struct row *like, struct store_measured *out, struct error *err);
// The timed runs of the newest rows, before like->row (which must be started), that asked the question of `like` of the same
// version of the engine: in its own precision, or in float32 as store_last_float32 has it. One process a row, in `a`; *count at
// most STORE_PROCESSES_MOST.
enum { STORE_PROCESSES_MOST = 12 };
enum status store_processes(struct store *s, struct arena *a, const struct row *like, bool in_float32,
	struct compare_process **out, size_t *count, struct error *err);

#endif
