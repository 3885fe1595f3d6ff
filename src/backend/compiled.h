// SPDX-License-Identifier: Apache-2.0
// What a vendor's compiler made of a graph (TensorRT engines, MIGraphX programs, Core ML models, OpenVINO blobs), kept so that
// the next session need not compile: CACHE/compiled/KEY, KEY = SHA-256 over compiler, graph and target (device and options).
// made.json says who made it (driver, versions): another maker, or files that are not as they were left, make it stale.
#ifndef ASSAY_BACKEND_COMPILED_H
#define ASSAY_BACKEND_COMPILED_H

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"

struct compiled {
	const char *folder; // where the compiler keeps its files
	const char *state;  // "found", "new", "stale, made again: driver was 1, is 2"
	const char *what, *graph;
	json_t *target, *makers;
	int lock; // no other process compiles the same
};

// Both objects hold strings only and are taken over. What is stale is removed here. Ends with the arena.
enum status compiled_open(struct compiled *out, struct arena *a, const char *what, const char *graph, json_t *target,
	json_t *makers, struct error *err);
// When the session stands: notes the files that are there now and who made them, lets others in. Bytes of all files.
enum status compiled_keep(struct compiled *c, int64_t *nbytes, struct error *err);

#endif
