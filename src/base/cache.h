// SPDX-License-Identifier: Apache-2.0
// assay's own cache: where it is, and whether it is used. What lies there is believed: outputs that decide verdicts, weights,
// programs that a vendor's compiler made. So it is used only where no user but this one and root can have put something there:
//
//   - the folder is one that base/owned.h takes;
//   - so is each part that is used (CACHE/run, CACHE/reference, ...), which is made with mode 0700 and is no link.
//
// Every path into the cache is got here.
#ifndef ASSAY_BASE_CACHE_H
#define ASSAY_BASE_CACHE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

// The folder: ASSAY_CACHE, else XDG_CACHE_HOME/assay, else HOME/.cache/assay, else /var/tmp/assay-UID. Neither made nor looked
// at: for telling.
char *cache_dir(struct arena *a);

// Are the folder and all of its parts to be used? What is not there yet is. FAILED: why not, and what to do, in a sentence.
enum status cache_check(struct error *err);

// What a cache that is not to be used, or not to be written, keeps from being asked has no answer: FAILED becomes NOT_ASKED, in
// `err`, too, which may be NULL. Any other status stays.
enum status cache_unusable(enum status s, struct error *err);

// CACHE/PART, made where it is not there. NOT_ASKED: it is not to be used or cannot be made; else as errno says. `part` is one of
// the list in cache.c.
enum status cache_part(const char **out, struct arena *a, const char *part, struct error *err);

// The same of what is there. NULL: it is not, or is not to be used.
const char *cache_find(struct arena *a, const char *part);

// Was what lies there, of which `path` is below a part, written by this user or root, and may nobody else write it? No link is;
// of a folder all that is in it counts. A part that others could write into once may hold theirs. False: as if it were not there.
bool cache_is_own(const char *path);

#endif
