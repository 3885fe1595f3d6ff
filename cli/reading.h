// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_CLI_READING_H
#define ASSAY_CLI_READING_H

#include "store/store.h"

// A store for a command that does nothing but work with a database, which may be a stranger's: to be opened. It says what it
// waits for, and ends the program with a sentence and EXIT_USE where DuckDB does not stop at a limit.
struct store cli_reading(void);
// Says so on standard error, and ends the process with EXIT_USE.
void cli_give_up(const char *sentence);

#endif
