// SPDX-License-Identifier: Apache-2.0
// Pages of mapped files that a disk does not give back any more: the kernel says so by SIGBUS alone, which ends the program. Who
// has rows to write has them read as zeros instead, and asks afterwards whether any was.
#ifndef ASSAY_BASE_PAGES_H
#define ASSAY_BASE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

// From now on, in every thread.
void pages_keep(void);
// How many pages this thread has read as zeros since it began: what was read between two equal answers was the files'.
unsigned pages_lost(void);
// "PATH: a part of it cannot be read: ...", of the last; valid until the thread ends.
const char *pages_lost_words(void);

// For the handler of SIGBUS, and safe there. False: they are not kept, or the page cannot be replaced.
bool pages_lose(uintptr_t address, const char *path);
#define PAGES_LOST_WORDS ": a part of it cannot be read: its disk fails, or it became shorter while it was read"

#endif
