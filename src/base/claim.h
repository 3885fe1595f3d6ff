// SPDX-License-Identifier: Apache-2.0
// Which files in the cache belong to a program that still lives. A process number says nothing: another PID namespace (a
// container) with the same cache has other numbers. A lock does: the kernel drops it when its holder ends, however it ends, and
// every namespace sees it.
//
//   CACHE/claim/TOKEN    flock'ed by the process whose files have TOKEN, 16 random hexadecimal digits, in their names
//
// Where the file system has no locks, or the folder cannot be made, there is no claim, and what bears such a token is never
// removed by others.
#ifndef ASSAY_BASE_CLAIM_H
#define ASSAY_BASE_CLAIM_H

#include <stdbool.h>

#define CLAIM_TOKEN_LENGTH 16

// This process's token; its claim is made at the first call and held until the process ends. Never NULL, valid until then.
const char *claim_token(void);

// Calls `over` for every token whose holder is gone, then removes its claim. While it is called no other process sweeps that
// token.
void claim_sweep(void (*over)(void *context, const char *token), void *context);

// Does another process that uses the cache live, as far as locks tell?
bool claim_others_live(void);

// NULL, or why files that killed programs left in the cache cannot be told from those in use (no locks, or no folder for the
// claims): a sentence for a person. Valid until the cache is another one.
const char *claim_problem(void);

#endif
