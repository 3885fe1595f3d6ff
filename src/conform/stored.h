// SPDX-License-Identifier: Apache-2.0
// The tensors of a golden file, of any type.
#ifndef ASSAY_CONFORM_STORED_H
#define ASSAY_CONFORM_STORED_H

#include "checkpoint/checkpoint.h"

struct stored {
	struct shard shard;
	struct weight *tensors;
	size_t count;
};

// The file is mapped as long as `a` lives.
enum status stored_open(struct stored *out, struct arena *a, const char *path, struct error *err);
const struct weight *stored_find(const struct stored *s, const char *name); // NULL: there is none
size_t stored_count(const struct weight *w);                                // of its elements
double stored_at(const struct weight *w, size_t i);

#endif
