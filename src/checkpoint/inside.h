// SPDX-License-Identifier: Apache-2.0
// Between the files of this folder: what every file of weights has in common, and copies of views.
#ifndef ASSAY_CHECKPOINT_INSIDE_H
#define ASSAY_CHECKPOINT_INSIDE_H

#include "checkpoint/checkpoint.h"

// Room behind the files: copies of views, an adapter, weights that are computed.
enum { SHARDS_MORE = 3 };

// Of a file, and of all files of a checkpoint: what they take in memory stays below 100 MB whatever they are.
enum { TENSORS_MOST = 1 << 18, HEADERS_MOST = 48 << 20 };

// shard.c. Maps the file and fills what does not depend on its format.
enum status shard_open(struct shard *out, struct arena *a, const char *path, struct error *err);
// BAD_INPUT for the few bytes that Git LFS leaves where a large file should be.
enum status shard_check_pointer(const struct shard *shard, struct error *err);

// views.c. Copies the weights that have strides into a shard of their own, which must fit after the others.
enum status views_copy(struct checkpoint *c, struct error *err);

#endif
