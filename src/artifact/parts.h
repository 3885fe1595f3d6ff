// SPDX-License-Identifier: Apache-2.0
// A graph and its weights as files that a browser can fetch: virtual files of at most so many bytes, cut at the borders of
// tensors, each a list of ranges of the checkpoint's maps. Nothing is copied; the graph that names them is a rewritten copy of
// the graph (some kB), the weights are read where they lie.
#ifndef ASSAY_ARTIFACT_PARTS_H
#define ASSAY_ARTIFACT_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct artifact;
struct checkpoint;

#define PART_NBYTES ((uint64_t)256 << 20)

struct part_segment {
	uint64_t at; // from the beginning of the part; between two segments lie zeros, fewer than 16
	const uint8_t *data;
	uint64_t nbytes;
};
struct artifact_part {
	const char *name; // "weights-0.bin": the location in the graph
	uint64_t nbytes;
	struct part_segment *segments; // in order, not overlapping
	size_t segment_count;
};
struct artifact_parts {
	const void *graph; // ONNX bytes that name the parts; its nodes have names of their own (onnx/names.h), in the same order
	size_t graph_nbytes;
	struct artifact_part *items;
	size_t count;
	uint64_t nbytes;         // of all parts
	uint64_t largest_nbytes; // of the largest tensor, which lies in one part whatever its size
	const char *largest;     // its name in the graph; NULL when there are none
};

// `c`: the checkpoint that the artifact was built from, whose maps must outlive the parts; NULL for a user's .onnx file, whose
// external data is looked for beside it. `limit`: bytes of a part (PART_NBYTES); a tensor larger than that is a part by itself.
enum status artifact_cut(struct artifact_parts *out, struct arena *a, const struct artifact *art, const struct checkpoint *c,
	uint64_t limit, struct error *err);
// Bytes [at, at + nbytes) of a part into `out`; what lies after its end is not written. How many were written.
size_t artifact_part_read(const struct artifact_part *p, uint64_t at, void *out, size_t nbytes);

#endif
