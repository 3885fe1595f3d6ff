// SPDX-License-Identifier: Apache-2.0
// Bringing models from the Hub into its own cache, in its layout and under its locks, so that Python's huggingface_hub finds
// what is here and the other way round:
//     models--ORG--NAME/refs/REVISION           a file that holds a commit
//     models--ORG--NAME/blobs/ETAG              the bytes; ETAG.incomplete while they come, taken up again after a break
//     models--ORG--NAME/snapshots/COMMIT/FILE   -> ../../blobs/ETAG
//     models--ORG--NAME/.no_exist/COMMIT/FILE   empty: the Hub has no such file at that commit
//     .locks/models--ORG--NAME/ETAG.lock        flock'ed while a blob is written
// First fetch_plan asks what there is and chooses; nothing is written. Then fetch_run brings it.
//
//   HF_ENDPOINT      another Hub        HF_TOKEN, HF_TOKEN_PATH, HF_HOME/token      who asks
//   HF_HUB_OFFLINE   do not ask         HF_HUB_CACHE, HF_HOME                       where the cache is
//   ASSAY_FETCH_TIMEOUT                 seconds that the whole of a model may take
#ifndef ASSAY_HUB_FETCH_H
#define ASSAY_HUB_FETCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum { FETCH_FILES_MOST = 10000 };

enum fetch_want {
	FETCH_CONFIG,   // config.json alone
	FETCH_MODEL,    // what transformers and assay need: configurations, tokenizer, one form of the weights
	FETCH_ALL,      // every file
	FETCH_MATCHING, // the files whose path matches one of `include`
};

struct fetch_options {
	enum fetch_want want;
	const char *const *include; // patterns of fnmatch; "*" matches "/" too, as in huggingface_hub
	size_t include_count;
};

struct fetch_file {
	const char *name;         // path inside the repository
	int64_t size;             // bytes; -1 while not known
	const char *sha256, *git; // what the Hub says it hashes to; NULL: not said
	const char *etag;         // name of its blob; NULL till it was asked for
	const char *version;      // ETag of the server that has the bytes; NULL: not told yet
	uint64_t partial;         // bytes of an earlier try
	bool here;                // nothing is to be fetched, or it was
	const char *checked;      // after fetch_run, of what was fetched: "sha256", "git-sha1", "size" or "nothing"
};

struct fetch {
	const char *model;    // "ORG/NAME"
	const char *revision; // as asked; "main" otherwise
	const char *commit;
	const char *endpoint;
	const char *folder;       // the snapshot
	struct fetch_file *files; // the chosen ones
	size_t count;
	size_t listed;                                   // files of the repository
	uint64_t total_bytes, here_bytes, partial_bytes; // of the chosen; what is left is total - here - partial
	uint64_t fetched_bytes;                          // that came over the network, by fetch_run
	struct fetch_inside *inside;
};

struct fetch_watch { // any member may be NULL
	void *context;
	void (*note)(void *context, const char *sentence); // waiting, trying again
	void (*bytes)(
		void *context, const struct fetch *f, size_t file, uint64_t done); // of this file; also at its start and end
	const volatile sig_atomic_t *stop;                                         // not 0: end with INTERRUPTED
};

// HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is 1, ON, YES or TRUE.
bool fetch_is_offline(void);
// HF_ENDPOINT without a "/" at its end, and without a name and a password in it, else the public Hub: for people.
const char *fetch_endpoint(struct arena *a);

// Memory in `a`; watch lives as long. UNAVAILABLE: the Hub cannot be reached. BAD_INPUT: it has no such model, revision or file.
// FAILED: it refuses (gated, a token it does not take) or answers nonsense. The sentence says what to do. At most
// FETCH_FILES_MOST files are chosen, more are BAD_INPUT; all requests together have a limit of time, as have those of fetch_run.
enum status fetch_plan(struct fetch **out, struct arena *a, const char *model, const char *revision,
	const struct fetch_options *options, const struct fetch_watch *watch, struct error *err);
// NO_SPACE before anything is fetched when the disk does not hold what is left. INTERRUPTED leaves what came for the next time.
enum status fetch_run(struct fetch *f, struct error *err);

#endif
