// SPDX-License-Identifier: Apache-2.0
// The limits of one opened database: a thread that looks at the clock and at this process's memory while statements run, and
// stops the statement that is past them. DuckDB knows no limit of time, and its limit of memory does not count results and single
// long values. Between two looks gigabytes can be taken: where the limits say so, the kernel holds them.
#ifndef ASSAY_STORE_DB_WATCH_H
#define ASSAY_STORE_DB_WATCH_H

#include <duckdb.h>

#include "store/store.h"

struct db_watch;

// From here on time and memory count. NULL and the error where no thread can be had.
struct db_watch *db_watch_begin(const struct store_limits *limits, void (*interrupt)(duckdb_connection), struct error *err);
// Whose statements are stopped, once there is one.
void db_watch_connection(struct db_watch *w, duckdb_connection connection);
// OK while within the limits, else the error that says which one was passed. A NULL watch is always OK.
enum status db_watch_look(struct db_watch *w, struct error *err);
// Before the connection is closed. Accepts NULL.
void db_watch_end(struct db_watch *w);

// Around DuckDB's work, which may be nested: with limits that hold memory the kernel gives no more. Both accept NULL.
void db_watch_hold(struct db_watch *w);
// The same, with at most `most` bytes more than there are now.
void db_watch_hold_most(struct db_watch *w, int64_t most);
// While a file without a log is opened: DuckDB reads which tables there are, and takes little for those of assay.
#define DB_OPENING_MEMORY ((int64_t)24 << 20)
void db_watch_release(struct db_watch *w);
// Around the opening of `file`, which nothing interrupts: lists in it that lead to themselves are read without end. More than 3 s
// of a processor for it are given up, and of a log of changes that is taken over one more for each MiB. NULL: it is open. Both
// accept a NULL watch.
void db_watch_opening(struct db_watch *w, const char *file, int64_t log_nbytes);
// DuckDB got no memory: with a limit of memory it is passed, and db_watch_look says so. Accepts NULL.
void db_watch_no_memory(struct db_watch *w);
bool db_watch_is_cramped(const struct db_watch *w); // this process has a limit of its own that is lower
// The same as db_watch_look, for what would grow by so many bytes.
enum status db_watch_room(struct db_watch *w, size_t nbytes, struct error *err);

#endif
