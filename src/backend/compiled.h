// SPDX-License-Identifier: Apache-2.0
// What a vendor's compiler made of a graph (TensorRT engines, MIGraphX programs, Core ML models, OpenVINO blobs), kept so that
// the next session need not compile: CACHE/compiled/KEY, KEY = SHA-256 over compiler, graph and target (device and options).
// made.json says who made it (driver, versions), what it was made from, and the SHA-256 of each file: another maker, files that
// hold something else, and what is no file make it stale. An engine loads what is found, and computes with it.
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
	int lock;   // no other process compiles the same
	char *note; // made.json as this session wrote it; NULL: not yet
};

// Both objects hold strings only and are taken over. What is stale is removed here. Ends with the arena.
enum status compiled_open(struct compiled *out, struct arena *a, const char *what, const char *graph, json_t *target,
	json_t *makers, struct error *err);
// When the session stands: notes the files that are there now and who made them, lets others in. Bytes of all files.
enum status compiled_keep(struct compiled *c, int64_t *nbytes, struct error *err);
// What was compiled in `lost_ms` could not be written there, and is compiled once more: until this is told with NULL, a time that
// is over is no fact of the graph.
void compiled_again(const struct compiled *c, double lost_ms);
// Nothing is kept: removes what is there, lets others in.
void compiled_drop(struct compiled *c);
// When it is closed: notes what its runs compiled besides, unless another process has made the folder anew.
void compiled_keep_more(struct compiled *c);
// The bytes of all files; nothing is noted and nothing is read.
int64_t compiled_bytes(const struct compiled *c);
// Milliseconds that this process has spent so far on the files' digests and on waiting for others: no part of what an engine
// took to load.
double compiled_aside_ms(void);

#endif
