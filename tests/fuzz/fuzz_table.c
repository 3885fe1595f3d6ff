// SPDX-License-Identifier: Apache-2.0
// Any configuration through the architecture table: resolved, its weights planned, its graph built from a checkpoint that has
// exactly those, and written. Every refusal is a sentence. Layer counts are bounded here: time, not memory, is what they cost.
#include <stdlib.h>
#include <string.h>

#include "arch/spec.h"
#include "fuzz.h"
#include "onnx/graph.h"

enum { MOST_LAYERS = 16 };

static void build(const struct spec *spec, struct checkpoint *c)
{
	struct error e = { 0 };
	struct graph_form form = { 0 };
	struct shard shard = { .path = "folder/model.safetensors",
		.real_path = "/folder/model.safetensors",
		.location = "model.safetensors",
		.identity = "1" };
	const void *bytes = NULL;
	size_t nbytes = 0;
	enum status s = arch_plan_weights(spec, &c->arena, DTYPE_F32, &c->weights, &c->weight_count, &e);
	if (s) {
		fuzz_refused(s, &e, NULL);
		return;
	}
	uint64_t at = 64;
	for (size_t i = 0; i < c->weight_count; i++) {
		c->weights[i].shard = &shard;
		c->weights[i].offset = at;
		at += c->weights[i].nbytes;
	}
	c->shards = &shard;
	c->shard_count = 1;
	// Which tensors exist is a part of what is resolved.
	struct spec *full;
	struct graph *g = graph_new(&form);
	if ((s = arch_resolve(&full, &c->arena, c, &e)) || (s = arch_build(full, c, &arch_whole, g, &e)) ||
		(s = graph_finish(g, &e)) || (s = graph_write(g, &bytes, &nbytes, &e)))
		fuzz_refused(s, &e, NULL);
	else if (!nbytes)
		abort();
	graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	struct spec *spec;
	if (checkpoint_open_config(&c, "folder", (const char *)data, size, &e))
		return 0;
	enum status s = arch_resolve(&spec, &c.arena, &c, &e);
	if (s)
		fuzz_refused(s, &e, NULL);
	else if (spec->layers <= MOST_LAYERS) {
		struct text t = { 0 };
		arch_print(spec, &t);
		text_done(&t);
		build(spec, &c);
	}
	checkpoint_close(&c);
	return 0;
}
