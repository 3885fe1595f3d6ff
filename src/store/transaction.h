// SPDX-License-Identifier: Apache-2.0
// The file, open for the length of one transaction. Between store.c and record.c; nothing else writes.
#ifndef ASSAY_STORE_TRANSACTION_H
#define ASSAY_STORE_TRANSACTION_H

#include "store/db.h"

// Opens the file, waiting for a held lock. Writing begins a transaction; reading sees one moment of the file, and `result` and
// its like are assay's views, whatever the file has under these names.
enum status transaction_begin(struct store *s, bool write, struct db *d, struct error *err);
// The same, with another database or other files at hand: `how` says which; path, write and limits are filled in.
enum status transaction_begin_with(struct store *s, bool write, struct db_opening how, struct db *d, struct error *err);
// Commits when `status` is OK, else rolls back; closes the file; the result of both.
enum status transaction_end(struct store *s, struct db *d, enum status status, struct error *err);

// 9999-12-31 in microseconds since 1970: the end of the years that are read again (guard_values).
#define TRANSACTION_LAST_US INT64_C(253402214400000000)
// Now, in microseconds since 1970; of a clock that jumps out of those years while a run goes on, their end or beginning.
int64_t transaction_now_us(void);

// One more than the largest number of table.id: safe because a writing transaction has the file for itself.
enum status transaction_next_id(struct db *d, const char *table, int64_t *out, struct error *err);

// BAD_INPUT: so many cells have neither a verdict nor an end that no program would open the file again.
enum status transaction_check_open_cells(struct db *d, struct error *err);

// store_cell_state within a transaction.
enum status transaction_cell_state(struct store *s, struct db *d, const char *cell_key, double timeout_s,
	enum store_cell_state *out, int64_t *row, struct error *err);

#endif
