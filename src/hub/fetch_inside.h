// SPDX-License-Identifier: Apache-2.0
// Between fetch.c, which decides the order of things, fetch_list.c, which reads what the Hub lists, and fetch_file.c, which
// brings one file.
#ifndef ASSAY_HUB_FETCH_INSIDE_H
#define ASSAY_HUB_FETCH_INSIDE_H

#include "hub/fetch_http.h"

struct fetch_listing {
	const char *commit;
	struct fetch_file *files; // sorted by name, each once
	size_t count;
};

// The answer of /api/models/NAME/revision/REVISION?blobs=true. Every path is checked to stay inside its folder; BAD_INPUT else.
enum status fetch_list_parse(struct fetch_listing *out, struct arena *a, const char *data, size_t nbytes, struct error *err);
const struct fetch_file *fetch_list_find(const struct fetch_listing *l, const char *name); // NULL: none
// The files of model.safetensors.index.json or pytorch_model.bin.index.json: names, sorted, each once, each of them listed.
enum status fetch_index_parse(const struct fetch_file ***out, size_t *count, struct arena *a, const struct fetch_listing *l,
	const char *index, const char *data, size_t nbytes, struct error *err);
// A path of a repository that is one inside its folder too.
bool fetch_path_is_safe(const char *path);
// A name that can be one of a model: "ORG/NAME" or "NAME".
bool fetch_name_is_good(const char *name);
// The configurations and tokenizer files that FETCH_MODEL takes.
bool fetch_is_small_file(const char *name);
// A file of weights, by its name's ending: what is no text.
bool fetch_is_weights(const char *name);
extern const char *const fetch_small_files[]; // those with a fixed name; ends with NULL

struct fetch_inside {
	struct arena *arena;
	struct http *http;
	const struct fetch_watch *watch;
	const char *url;                // of the endpoint, with whatever password HF_ENDPOINT has
	const char *cache, *repository; // .../hub, .../hub/models--ORG--NAME
	bool *chosen;                   // of the listing's files: it is in the plan
	const char *const *absent;      // of fetch_small_files, what the repository does not have
};

const char *fetch_endpoint_url(struct arena *a);

// Is the file of this snapshot here? Fills in here and partial.
void fetch_file_look(const struct fetch *f, struct fetch_file *file);
// HEAD: etag, size and hashes, where the list did not say.
enum status fetch_file_head(struct fetch *f, struct fetch_file *file, struct error *err);
// Also one that is here: its bytes are held against the hash that the Hub lists, and are fetched again where they have another.
enum status fetch_file_bring(struct fetch *f, size_t i, struct error *err);
// mkdir -p below the repository's folder. BAD_INPUT: a folder of that path is a link, which no Hub's cache has: what is fetched
// would be written wherever it leads.
enum status fetch_folder(const struct fetch *f, const char *folder, struct error *err);
// What an answer that is not 2xx means. `file` NULL: the list was asked for.
enum status fetch_refused(
	const struct fetch *f, const struct fetch_file *file, const struct http_answer *answer, struct error *err);

// Seconds that all requests for a model may take together when so many bytes are to come: ASSAY_FETCH_TIMEOUT, else half an hour
// and a second for each 16 KiB. A server above the floor of speed of each request (fetch_http.c) could take weeks for a model.
double fetch_time_s(uint64_t nbytes);

// HF_TOKEN, else the file that huggingface_hub keeps it in; *out NULL when there is none. BAD_INPUT for what cannot be sent.
enum status fetch_token(const char **out, struct arena *a, struct error *err);

#endif
