// SPDX-License-Identifier: Apache-2.0
// From what a person types to a folder: a local folder, an .onnx file, a name in the Hub's cache
// (HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub: models--ORG--NAME/{refs,snapshots,blobs}), or a key model
// whose published config.json the program carries. Looks only at names and folders; reads no weights, uses no network.
#ifndef ASSAY_HUB_HUB_H
#define ASSAY_HUB_HUB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

// Of an index of weights: its bytes, and the files that it names. What is fetched, found whole and opened is held to the same.
enum { HUB_INDEX_LIMIT = 32 << 20, HUB_SHARDS_MOST = 2000 };

enum hub_kind { HUB_FOLDER, HUB_ONNX_FILE, HUB_CACHED, HUB_PUBLISHED };

struct hub_model {
	enum hub_kind kind;
	const char *asked;    // as typed
	const char *name;     // "google-bert/bert-base-uncased" for hub and published models, the path as typed otherwise
	const char *path;     // folder with config.json, or the .onnx or .gguf file; NULL for HUB_PUBLISHED
	const char *revision; // commit of a cached snapshot, else NULL
	const char *config;   // HUB_PUBLISHED: the text of config.json; else NULL
	size_t config_size;
	bool has_weights; // the folder holds *.safetensors, pytorch_model.bin or an index of them
};

// Order: an existing path, the cache (an exact name, then a known short name), a published name or short name.
// NAME@REVISION asks for a branch, tag or commit of the cache ("main" otherwise). A short name is the part after the "/".
// BAD_INPUT with the nearest known names when there is no such model.
enum status hub_find(struct hub_model *out, struct arena *a, const char *asked, struct error *err);
// The folder of a model or of a pipeline of several models: as it is typed, whatever it holds, else what the cache has under the
// name. `what`: what it is looked for in it, "a tokenizer". BAD_INPUT: it is not here.
enum status hub_folder(const char **folder, struct arena *a, const char *asked, const char *what, struct error *err);

// What the Hub would be asked for: "bert-base-uncased@v1" -> "google-bert/bert-base-uncased", "v1" (NULL: main). False for a path
// and for what cannot be the name of a model.
bool hub_remote_name(const char **name, const char **revision, struct arena *a, const char *asked);
// "bert-base-uncased" -> "google-bert/bert-base-uncased" where the program carries its configuration; else what was given. For
// telling whether two rows are of one model: it looks at nothing outside.
const char *hub_full_name(const char *asked);
// Whether a snapshot has its weights, all shards of an index among them; a download that was broken off leaves less.
bool hub_weights_are_whole(const char *folder);

// The one .gguf file of a folder that has no other weights; NULL: it has none, or several.
const char *hub_gguf(struct arena *a, const char *folder);

// Did somebody else put this folder together: a snapshot of the Hub's cache, a folder that the Hub's client downloaded into, a
// clone?
bool hub_is_download(const char *folder);

// The Hub's cache: HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub.
char *hub_cache_dir(struct arena *a);

// The models whose configuration the program carries: the key set, then the others.
struct hub_published {
	const char *name, *config;
	size_t config_size;
};
size_t hub_published_count(void);
size_t hub_key_count(void); // how many of them, the first ones, are the key set
const struct hub_published *hub_published_get(size_t i);
// What src/hub/published/MODELS says of one: the licence that its card names, and where its configuration is from. In `a`.
struct hub_provenance {
	const char *licence;
	const char *source; // "file": its config.json; "sizes": published sizes and choices, else the class's defaults
};
struct hub_provenance hub_provenance(struct arena *a, const char *name);

#endif
