// SPDX-License-Identifier: Apache-2.0
// The rollback journal of a checkpoint. DuckDB writes new metadata beside old that is in use, into the same block: a kill, or a
// loss of power, in the middle of that write leaves a block whose checksum is wrong, and DuckDB does not open the file any more.
// What the blocks held is therefore put into a file first, and who opens the database next puts it back:
//   DATABASE.journal    the first pages of the database, which say which state it was in, and the blocks; from before a
//                       checkpoint to its end
// Nothing that was committed is lost by that: it is in the log (DATABASE.wal) until the checkpoint is done.
#ifndef ASSAY_STORE_JOURNAL_H
#define ASSAY_STORE_JOURNAL_H

#include "store/db.h"

// Of a database that is open for writing, with a connection that has no transaction. *file is a descriptor of the database or
// -1, on errors too: it is closed behind DuckDB's own, whose locks end where this process closes any. NO_SPACE, FAILED: no
// checkpoint may be made.
enum status journal_begin(struct db *d, const char *database, int *file, struct error *err);
// The checkpoint is done, and the database still open.
void journal_end(const char *database);
// Before a database is opened. With no journal, or one that a living program or another state of the database has: nothing.
// *stays: there is one that this process cannot take away, or need not while others read. BAD_INPUT: it is needed, and this
// process may not write the database, or others have it open for reading.
enum status journal_roll_back(const char *database, bool *stays, struct error *err);
// Once it is open, which no writer has then: one was killed since it was asked for above.
bool journal_is_there(const char *database);

#endif
