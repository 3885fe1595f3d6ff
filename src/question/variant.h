// SPDX-License-Identifier: Apache-2.0
// What a question may vary beside model, platform and shape, and how it is to be measured. One list gives the members of struct
// question, struct cell and the request to the child, their part of a cell's key, and columns of the row. Zero and NULL mean the
// default.
#ifndef ASSAY_QUESTION_VARIANT_H
#define ASSAY_QUESTION_VARIANT_H

#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/hash.h"

// kind, name, meaning. TEXT, INTEGER or REAL.
#define VARIANT_LIST(X) \
	X(TEXT, precision, \
		"precision that was asked for: a word of PRECISION_LIST; null: weights as they are stored, arithmetic in " \
		"float32") \
	X(TEXT, max_loss, \
		"what the outputs may lose against float32, or what else judges them: cosine, top1, perplexity, nmse, each " \
		"with its limit; null: whatever it loses, the row says it") \
	X(INTEGER, threads, "threads asked of the engine; null: its default") \
	X(INTEGER, image_size, "height and width of images in pixels; null: what the configuration says, or there are none") \
	X(TEXT, effort, "how long it may be measured: rapid, quick or normal; null: as --runs says, or normal") \
	X(TEXT, scenario, "who asks: single-stream (null), multi-stream, offline, server; as MLPerf names them") \
	X(REAL, rate_per_s, "of server: queries a second, as they arrive (Poisson)") \
	X(REAL, latency_bound_ms, "of server and multi-stream: what the percentile of the scenario must stay below") \
	X(INTEGER, streams, "of multi-stream: samples in a query") \
	X(INTEGER, cycles, "how often the model was opened, run and closed again for the leak slope; null: not")

struct variant {
#define VARIANT_TEXT const char *
#define VARIANT_INTEGER int64_t
#define VARIANT_REAL double
#define X(kind, name, meaning) VARIANT_##kind name;
	VARIANT_LIST(X)
#undef X
};

// Adds what is not the default, each with its name: a key made before a member existed stays what it was.
void variant_hash(struct hash *h, const struct variant *v);
// Sets every member as a key of `object`.
void variant_put(json_t *object, const struct variant *v);
// The other way; keys that are not there give the default. Text is copied into `a`.
void variant_take(struct variant *v, struct arena *a, const json_t *object);

#endif
