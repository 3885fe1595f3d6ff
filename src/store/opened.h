// SPDX-License-Identifier: Apache-2.0
// Which database is open in DuckDB at this moment: for the handler of a signal, since DuckDB trusts what a damaged file says.
#ifndef ASSAY_STORE_OPENED_H
#define ASSAY_STORE_OPENED_H

#include <stdbool.h>

// The file that was opened last, a stranger's before one's own; NULL: none is open. *write: into one of them was written. To be
// called in a signal handler.
const char *store_opened(bool *write);
// The kernel gives it no more memory than assay allows (db_watch_hold). To be called in a signal handler.
bool store_holds_memory(void);
// This process is assay's own, before its first store: a file that will be written is looked at under the limits of reading, too,
// which the kernel holds, and where DuckDB does not stop at one of them `give_up` ends the process. In somebody else's program it
// would hold their threads.
void store_owns_process(void (*give_up)(const char *sentence));

#endif
