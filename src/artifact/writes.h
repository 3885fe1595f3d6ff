// SPDX-License-Identifier: Apache-2.0
// Were the files of a model written to, or exchanged for others, while they were read again and again? Who puts back what was
// there, times too, leaves nothing that tells of it afterwards.
#ifndef ASSAY_ARTIFACT_WRITES_H
#define ASSAY_ARTIFACT_WRITES_H

#include <stdbool.h>

#include "base/arena.h"

// The kernel tells of writes to the model's files (model_files), and of folders and links on the way to them that are moved or
// removed, from now on until `a` ends. -1: it does not: it has no watches left, or none at all. Not told: stores through a map
// that was there before, and what another machine writes to a network's file system.
int writes_watch(struct arena *a, const char *model);
// And to this file or folder, as long as all could be watched: false is no error.
bool writes_add(int watch, const char *path);
// And to all files of a folder, and of those in it, that a pipeline may read: tokenizers and settings decide its answer, too.
bool writes_add_folder(int watch, const char *folder);
// Of -1 nothing is known: false.
bool writes_seen(int watch);

#endif
