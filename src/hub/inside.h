// SPDX-License-Identifier: Apache-2.0
// Between hub.c, which decides, and cache.c, which knows the layout of the Hub's cache.
#ifndef ASSAY_HUB_INSIDE_H
#define ASSAY_HUB_INSIDE_H

#include "hub/hub.h"

struct hub_names {
	const char **at;
	size_t count;
};

// "ORG/NAME" of every model in the cache, sorted; none when there is no cache.
void hub_cache_names(struct hub_names *out, struct arena *a);
// The snapshot of a model at a revision (NULL: main). OK with *folder NULL when the cache does not have it; UNAVAILABLE when
// it has the model and not the revision, or none of config.json, adapter_config.json and model_index.json, with the reason.
enum status hub_cache_snapshot(
	const char **folder, const char **commit, struct arena *a, const char *name, const char *revision, struct error *err);
// The folder of a model in the cache, there or not: ".../models--ORG--NAME".
const char *hub_cache_folder(struct arena *a, const char *name);
// Whether the folder is one model's, or an adapter's: it has config.json or adapter_config.json.
bool hub_is_model(const char *folder);
// Whether the folder holds files of weights.
bool hub_has_weights(const char *folder);

#endif
