// SPDX-License-Identifier: Apache-2.0
// Seeded weights that a file names and does not hold: where they would lie it has a hole. The formula says what they are
// (checkpoint.h), so what is made of them (convert.h) needs no file, and 14 GB of float16 need not be written in order to make
// 4 GB of integers. The metadata of the file has the seed, and of each such tensor the gain:
//     "assay.seed": "0", "assay.unwritten": "{\"model.layers.0.mlp.up_proj.weight\": 1.0, ...}"
#include <stdlib.h>
#include <string.h>

#include "artifact/inside.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "onnx/graph.h"

json_t *unwritten_metadata(const struct weight *weights, const bool *left, size_t count, uint64_t seed)
{
	json_t *gains = json_object();
	char number[24];

	for (size_t i = 0; i < count; i++)
		if (left[i])
			json_object_set_new(gains, weights[i].name, json_real(weights[i].gain > 0 ? weights[i].gain : 1));
	char *text = json_dumps(gains, JSON_COMPACT | JSON_REAL_PRECISION(17));
	snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
	json_t *out = json_pack(
		"{s:s, s:s, s:s, s:s}", "format", "pt", "assay", "synthetic", "assay.seed", number, "assay.unwritten", text);
	free(text);
	json_decref(gains);
	return out;
}

enum status unwritten_of(struct unwritten *out, struct arena *a, const struct checkpoint *c, struct error *err)
{
	enum status s = STATUS_OK;
	size_t most = 0;

	*out = (struct unwritten){ 0 };
	for (size_t i = 0; i < c->shard_count; i++)
		most += c->shards[i].synthetic ? c->weight_count : 0;
	out->weights = ARENA_ARRAY(a, most + 1, struct weight);
	for (size_t i = 0; i < c->shard_count && !s; i++) {
		const struct shard *shard = &c->shards[i];
		const struct weight *w;
		json_t *metadata = NULL, *gains = NULL, *gain;
		const char *name;

		if (shard->synthetic && !(s = safetensors_metadata_of(shard, &metadata, err))) {
			const char *names = json_string_value(json_object_get(metadata, "assay.unwritten")),
				   *seed = json_string_value(json_object_get(metadata, "assay.seed"));

			s = names ? json_bytes(shard->path, names, strlen(names), &gains, err) : STATUS_OK;
			if (!s && names && (!json_is_object(gains) || !seed))
				s = error_set(err, STATUS_BAD_INPUT, "%s: its list of tensors without data cannot be read",
					shard->path);
			out->seed = seed ? strtoull(seed, NULL, 10) : out->seed;
		}
		json_object_foreach(gains, name, gain)
		{
			if (s)
				break;
			if (!(w = checkpoint_find(c, name)) || !text_is(w->shard->location, shard->location) ||
				out->count == most) {
				s = error_set(err, STATUS_BAD_INPUT, "%s: names the tensor %s as one without data and has none",
					shard->path, name);
				break;
			}
			out->weights[out->count] = *w;
			out->weights[out->count++].gain = json_number_value(gain);
		}
		json_decref(gains);
		json_decref(metadata);
	}
	return s;
}

const struct weight *unwritten_at(const struct unwritten *u, const char *location, uint64_t offset, uint64_t nbytes)
{
	for (size_t i = 0; i < u->count; i++) {
		const struct weight *w = &u->weights[i];

		if (offset >= w->offset && nbytes <= w->nbytes && offset - w->offset <= w->nbytes - nbytes &&
			text_is(w->shard->location, location))
			return w;
	}
	return NULL;
}

enum status unwritten_check(const struct checkpoint *c, const struct graph *g, struct error *err)
{
	struct unwritten u;
	struct arena a = { 0 };
	enum status s = unwritten_of(&u, &a, c, err);

	for (size_t i = 0; i < u.count && !s; i++)
		if (graph_reads(g, u.weights[i].shard->location, u.weights[i].offset, u.weights[i].nbytes))
			s = error_set(err, STATUS_UNSUPPORTED,
				"%s: these synthetic weights were made for another precision, in which %s is not read as it lies",
				c->path, u.weights[i].name);
	arena_done(&a);
	return s;
}
