// SPDX-License-Identifier: Apache-2.0
// Makes the weights that graphs ask for in another form (graph_derived): read from the mapped checkpoint, a few rows at a time,
// into one safetensors file in the cache, CACHE/converted/KEY/. KEY is over the identities of the sources and what is made of
// them, so that every run, platform and form that needs the same shares one file. The graphs then point into it. What it does not
// do: decide what is converted (onnx/reduced.c).
#ifndef ASSAY_ARTIFACT_CONVERT_H
#define ASSAY_ARTIFACT_CONVERT_H

#include "base/arena.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "onnx/graph.h"

struct conversion {
	uint64_t nbytes;  // of what was converted; 0: nothing was asked for
	double ms;        // NaN: it lay in the cache
	const char *path; // the file
};

// Finished graphs of one model. The file becomes one more shard of `c`; `a` keeps it from being trimmed. NO_SPACE names what is
// needed and what is free.
enum status convert_weights(struct conversion *out, struct arena *a, struct checkpoint *c, struct graph *const *graphs,
	size_t count, struct error *err);

#endif
