// SPDX-License-Identifier: Apache-2.0
// From a question as a person asks it ("bert-base-uncased on openvino") to a judged row. `assay run`, `assay matrix` and
// the public API all go through here, so that there is one way to resolve a model, one to refuse it, one to store it.
//
//   plan_model     name -> folder, or a refusal: what is not supported, which weights are missing
//   plan_memory    what it will need, and whether that is here; before any weights are made
//   plan_weights   makes synthetic weights in the cache where they were asked for
//   plan_cell      one model on one platform -> struct cell
//   plan_run       started in the store -> child, judged -> conformance of the type -> finished in the store
//
// A refusal (unsupported model, platform that is not here) is a verdict and becomes a row like any other.
#ifndef ASSAY_PLAN_PLAN_H
#define ASSAY_PLAN_PLAN_H

#include <signal.h>

#include "checkpoint/checkpoint.h"
#include "hub/hub.h"
#include "question/cell.h"
#include "run/cell.h"
#include "store/store.h"

struct plan_model {
	struct hub_model hub;
	const char *model;        // as asked
	const char *path;         // folder or .onnx file; NULL until plan_weights, and for a refused model
	bool synthetic;           // the weights are, as their file says, or will be
	bool makes_weights;       // plan_weights makes them in the cache
	bool unwritten;           // of them those alone that the graphs of the question's precision read as they lie
	uint64_t synthetic_bytes; // their size; 0: none or unknown
	uint64_t weight_bytes;    // of real weights
	int64_t layers;           // of the question
	bool shortened;           // those are fewer than the configuration says
	const char *identity;     // of real weights and of an .onnx file: model_identity; NULL until plan_identify
	const char *fingerprint;  // of its files then
	const char *config_hash;  // of the configuration; NULL for an .onnx file and for a damaged one
	const char *model_type, *architecture, *head; // NULL where unknown
	bool takes_images, takes_tokens; // what a size or a length means something to; of an .onnx file that is not known: both
	const char *given, *given_files; // of --input FILE and TEXT (given.h); NULL: not asked
	int64_t given_tokens;            // of a prompt
	enum status refused;             // STATUS_OK: the cells can run
	const char *cause;               // of the refusal
};

// Opens what hub_find found, a folder or a published configuration. BAD_INPUT for an .onnx file, which is no checkpoint.
enum status plan_checkpoint(struct checkpoint *out, const struct hub_model *hub, struct error *err);

// What rows call it: a folder or file has one name, however it is spelled: ".//bert/" is "bert". In `a`.
const char *plan_model_name(struct arena *a, const char *model);
// BAD_INPUT: no such model, or no weights and question.synthetic is not set (the sentence offers it, with the size). An
// unsupported or damaged model is a refusal in *out, not an error. Memory in `a`.
enum status plan_model(struct plan_model *out, struct arena *a, const char *model, const struct question *q, struct error *err);

// Of a model that was found at `path` and is not there any more: *why becomes NOT_ASKED and says so.
void plan_say_gone(struct error *why, const char *path);

// What the model is, by the contents of its files: reads those that were not read since they changed; asked again, only what
// has changed since then. Nothing to do where weights are still to be made: what they are made from says it. A refused model has
// what the file system says of its files. `progress` and `context` as in struct digest_watch; INTERRUPTED when it stops. On
// failure its identity is not known, and no key of its cells equals another.
enum status plan_identify(struct plan_model *m, struct arena *a, int (*progress)(void *context, uint64_t done, uint64_t total),
	void *context, struct error *err);

// The same, but what goes wrong with one model is a refusal in *m, and a row of each of its cells. INTERRUPTED only.
enum status plan_identify_or_refuse(struct plan_model *m, struct arena *a,
	int (*progress)(void *context, uint64_t done, uint64_t total), void *context, struct error *err);

// A way to ask less of a cell: one of the two.
struct plan_less {
	const char *precision; // NULL: as asked
	int64_t layers;        // 0: as asked
	uint64_t needed_bytes; // what must be free, or what --memory counts
	uint64_t resident_bytes, anonymous_bytes;
	uint64_t stored_bytes; // of its weights in files: what making up synthetic ones writes
};
enum { PLAN_LESS_MOST = 4 };

struct plan_memory {
	uint64_t predicted_bytes; // the largest resident set; 0 where nothing is known: an .onnx file, the null engine
	uint64_t anonymous_bytes; // of it
	const char *refused;      // NULL, or why it is not tried and what would fit; in the arena given
	enum verdict refused_as;
	// Of no_memory: what is predicted to fit, the whole model in fewer bits before fewer of its layers.
	struct plan_less less[PLAN_LESS_MOST];
	size_t less_count;
	const char *fitted;          // of plan_fit: what was asked and what was taken
	const char *asked_precision; // likewise: the row's fit_asked_precision and fit_asked_layers
	int64_t asked_layers;
	double took_ms; // of the cell's timeout
};
// Within the question's timeout; building one graph, which takes some seconds at most, is not interrupted. host: the memory that
// the cell will find; NULL: what this process finds, which a child within a limit of its own must not ask.
void plan_memory(struct plan_memory *out, struct arena *a, const struct plan_model *m, const struct target *t,
	const struct question *q, const struct machine *host);

// apart.c: both, asked of a child, which may crash, take too much memory or never end: then the model is refused, and the
// cell not tried, and `cause` and `refused` say how the child ended. An error of plan_model_apart is one that plan_model
// returns, or that the program, which children are started from, is not there. *stop ends the child; it may be NULL.
enum status plan_model_apart(struct plan_model *out, struct arena *a, const char *model, const struct question *q,
	volatile sig_atomic_t *stop, struct error *err);
void plan_memory_apart(struct plan_memory *out, struct arena *a, const struct plan_model *m, const struct target *t,
	const struct question *q, volatile sig_atomic_t *stop);
int plan_child(const char *what); // `assay cell --plan model|memory`: the child's side

// Where the question has --fit, does not fit, and something does: *q and *m become the first that does, *memory its prediction.
// Synthetic weights will then be made in that precision alone, where the graph makes it.
enum status plan_fit(struct plan_model *m, struct question *q, struct plan_memory *memory, struct arena *a,
	const struct target *t, struct error *err);

// What was asked of a row that has `fitted`: *q's precision and layers. False: it ran as asked, or is of an assay before those
// columns.
bool plan_fit_asked(struct question *q, const struct row *r);

// Makes nothing for real weights. A full disk or a stop is a refusal in *m. What was used least recently in the cache goes, down
// to the limit; these weights are safe from everybody's trimming until `a` ends. `progress` as in struct synth_options.
// `t`: for whose graphs they are made.
enum status plan_weights(struct plan_model *m, struct arena *a, const struct target *t, const struct question *q,
	uint64_t cache_limit, int (*progress)(void *context, uint64_t done, uint64_t total), void *context, struct error *err);

void plan_cell(struct cell *out, const struct plan_model *m, const struct target *t, const struct question *q);
// The key for --resume. It does not depend on whether synthetic weights lie in the cache at the moment; real ones count by their
// contents, so that it reads them where plan_identify has not.
const char *plan_key(const struct plan_model *m, const struct cell *c, struct arena *a);

// A try in a chain of fallbacks. The first has the key of its cell; a further one its own, which knows what was asked first.
struct plan_try {
	const char *requested; // the platform that was asked for
	int64_t number;        // 1: the first
	int64_t fallback_of;   // the first one's row; ROW_NONE
	const char *reason;    // why it is made; NULL: the first
	const char *key, *first_key;
};
void plan_try_cell(struct cell *c, const struct plan_try *t);
const char *plan_try_key(const struct plan_model *m, const struct cell *c, const struct plan_try *t, struct arena *a);

// What a cell is made of, kept by their addresses.
struct plan_asked {
	const struct plan_model *model;
	const struct target *target;
	const struct question *question;
	const struct plan_memory *memory; // NULL: nothing was predicted
	const struct plan_try *try;       // NULL: the first
	bool resumes;                     // plan_begin begins nothing that has its answer or that another run is at
};
// One cell to the end. `store` may be NULL. An error is assay's own (the store, a lost program), not the cell's.
enum status plan_run(const struct plan_asked *asked, struct store *store, const struct cell_watch *watch, struct arena *a,
	struct cell_result *out, struct error *err);

// The same in three steps, for callers that run cells side by side: the first and the last write to the store, the one between
// does not know it and may run in a thread of its own.
struct plan_task {
	struct plan_asked asked;
	struct cell cell;
	const char *key;
	int64_t row;
	enum store_cell_state found; // not STORE_NEVER: with .resumes; nothing was begun, and `row` is what was found
};
enum status plan_begin(
	struct plan_task *task, const struct plan_asked *asked, struct store *store, struct arena *a, struct error *err);
enum status plan_measure(const struct plan_task *task, const struct cell_watch *watch, struct arena *a, struct cell_result *out,
	struct error *err);
enum status plan_finish(
	const struct plan_task *task, struct store *store, struct arena *a, struct cell_result *out, struct error *err);

// "cpu,openvino" as parsed words -> targets; none: {"cpu"}; "all": the eight. `options`: the user's, over each platform's; may be
// NULL.
enum status plan_targets(struct target **out, size_t *count, struct arena *a, const char *const *words, size_t word_count,
	const char *options, struct error *err);

// What --on has of a whole pipeline, a platform and PART=PLATFORM for parts that run on another, with commas between them:
// "openvino,unet=cpu:threads=2,spinning=on". NAME=VALUE is an option of the platform before it where that has one of this name.
// NULL, or no platform before the first part: cpu. BAD_INPUT: two platforms, a part twice, a platform that there is not. Whether
// the pipeline has the parts is known when it is open (parts_known).
enum status plan_pipeline_target(struct target *out, struct arena *a, const char *on, struct error *err);

// For targets whose text names no device: the first route of their platform that has one here, from what detect_platforms found;
// where none has, target.absent says why.
void plan_choose(struct target *targets, size_t count, const json_t *platforms, struct arena *a);

// What `run --json` prints of a cell: every key of the row, `samples_ms` and `checks`. Owned by the caller.
json_t *plan_json(const struct cell_result *r);

// detect.c: {"machine": {...}, "platforms": [...]} of `detect --json`, and its second half alone. One probe child an engine,
// all at once; no engine is loaded here.
// `l`: of each probe (run/cell.h); NULL: a minute.
struct probe_limits;
json_t *detect_all(void);
json_t *detect_some(const char *const *names, size_t count); // of platforms by name, each in the table; 0: all
// Without the facts of single devices. With targets only what they need is asked: their platforms, with `fallback` those of their
// chains too, each route only until one has a device; without, everything.
json_t *detect_platforms(const struct target *targets, size_t count, bool fallback, const struct probe_limits *l);
// How fast memory is, measured now, for about three seconds, with every CPU that this process may use.
// Why a platform is not here, and before it what the hardware and the kernel say of it: "no NVIDIA card: ...; ort: ...". In `a`.
const char *detect_with_cause(struct arena *a, const struct platform *p, const char *why);
enum status detect_bandwidth(json_t **out, struct error *err);

double plan_timeout_s(const struct question *q); // what was asked for, or 600

// $ASSAY_CACHE_LIMIT in GiB, else 20 GiB. BAD_INPUT: it is no such number.
enum status plan_check_cache_limit(struct error *err);
uint64_t plan_cache_limit(void);

#endif
