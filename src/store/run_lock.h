// SPDX-License-Identifier: Apache-2.0
// Is a run still going on? It says so by a lock that is held from store_begin_run to store_close, that the kernel drops when the
// program ends, however it ends, and that is seen from every PID namespace on the same file system. Private to store/.
//
//   DATABASE.lock    "assaylck", whose lock is for makers of a new database; at 8 x RUN eight bytes, under an exclusive lock
//                    (OFD) while the run goes on: a hash of its process number, start time, PID namespace and boot, as the
//                    table run has them
//
// The bytes say which run the lock was for: another database under the same name has other runs. A file without them (an older
// program, a file system without locks, a database that was copied) says nothing, and one that begins otherwise is left as it is:
// there are no locks then.
#ifndef ASSAY_STORE_RUN_LOCK_H
#define ASSAY_STORE_RUN_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/process.h"

// A number of a run above it is not given, and has no lock: its place would make a file of terabytes.
enum { RUN_MOST = 1000000000 };

enum run_life { RUN_UNKNOWN, RUN_LIVES, RUN_OVER };

// The descriptor that holds the lock until it is closed; -1 where there are no locks.
int run_lock_take(const char *database, int64_t run, const struct process *p);
enum run_life run_lock_ask(const char *database, int64_t run, const struct process *p);

// Makers of a new database share the lock at 0. *alone: no other process is making one, so that what lies there was left.
// Waits for a sweeper, 2 s at most. -1 where there are no locks, or is none to be had.
int run_lock_make(const char *database, bool *alone);
// Others may begin to make one.
void run_lock_share(int fd);

#endif
