// SPDX-License-Identifier: Apache-2.0
// What is asked of a model on a platform. One list makes struct question, the request to the child, columns of the row, the part
// that the question has in a cell's key, what tells the questions of rows apart, what `reproduce` asks again, and the options of
// `run` and `matrix` with their help and limits. A new option is one line of it, and code where it acts.
#ifndef ASSAY_QUESTION_QUESTION_H
#define ASSAY_QUESTION_QUESTION_H

#include <jansson.h>

#include "base/hash.h"
#include "question/member.h"

// kind, name: of the member (question/member.h). Zero and NULL are the default of each.
// use:
//   KEY      part of a cell's key: --resume measures a cell with another value again
//   AXIS     the same, and `run` and `matrix` take several values, which make a sweep; of two axes the one that stands first in
//            the list changes faster
//   EACH     KEY, and its option may be given several times: one value for each input, or several in one text with ";" between
//   NO_KEY   how long a cell may take, and when; or the key has it in another form: the contents of a file, weights
// place: where rows have it, and whether two rows with unlike values answer different questions
//   ROW      a column of the row, as asked; it tells questions apart, and times of two such questions are not compared
//   TUNED    the same, but they are: what one changes in order to be faster
//   JUDGED   the same, but it decides the verdict only: times of two such questions may be compared
//   NOTED    a column of the row that does not: how long it was measured
//   ASKED    only in the record of what was asked; it tells questions apart
//   SIZE     the same in SQL; but what ran decides, which the row has in a column of its own
//   NONE     neither
// where: SQL over a row's result r and its cell c, of what tells questions apart; "%1$s" is the record of what was asked as a
//   text: question_apart_sql of same_question.h puts it there
// words: how a report says it of a ROW beside a model's batch and length, a format of printf for the member's kind; one that
//   begins with a space goes on with the words before it; "": not said there
// standard: another word for the default; "": there is none
// option, argument, least, most, help: of the command line; option NULL: a command sets it
// clang-format off
#define QUESTION_LIST_WITH(M, X) \
	M(X, INTEGER, batch, AXIS, SIZE, "c.batch", "", "", "batch", "N,...", 1, 65536, "batch sizes, one cell each; default 1") \
	M(X, INTEGER, sequence, AXIS, SIZE, "c.sequence", "", "", "seq", "N,...", 1, 1 << 20, \
		"tokens in a sequence; default 128, or what the model takes if less") \
	M(X, INTEGER, image_size, AXIS, ROW, "r.image_size", "image size %lld", "", "image-size", "N,...", 1, 65536, \
		"height and width of images in pixels, of a network of diffusion of its latents; default: what the model says") \
	M(X, INTEGER, threads, AXIS, TUNED, "r.threads", "", "", "threads", "N,...", 1, 4096, \
		"threads of the engine, confirmed by it; default: the CPUs this process may use") \
	M(X, TEXT, task, KEY, NOTED, "", "", "forward", "task", "TASK", 0, 0, \
		"forward: one pass over the inputs; generate: greedy, with a cache; default forward") \
	M(X, INTEGER, prompt_tokens, KEY, NONE, "", "", "", "prompt-tokens", "N", 1, 1 << 20, \
		"of generate: tokens that go in, at random; default 32") \
	M(X, INTEGER, new_tokens, KEY, SIZE, "r.new_tokens", "", "", "new-tokens", "N", 2, 1 << 20, \
		"of generate: tokens that come out; default 32") \
	M(X, TEXT, precision, AXIS, TUNED, "nullif(r.precision, 'stored')", "", "stored", "precision", "P,...", 0, 0, \
		"float32, float16, bfloat16, int8-dynamic, int8-static, int8-weights, int4-weights[:head=float32]; fp16, bf16, " \
		"int8 (dynamic), int4, w4a16 are the same; default as stored") \
	M(X, TEXT, max_loss, KEY, JUDGED, "r.max_loss", "", "", "max-loss", "WORD=LIMIT,...", 0, 0, \
		"what the outputs may lose against float32, or what else judges them: cosine=0.001 (1 - cosine), top1=2%, " \
		"perplexity=5%, nmse=1e-3; more is `lossy`; default: the loss is reported and decides nothing") \
	M(X, FLAG, as_shipped, KEY, TUNED, "r.as_shipped", "as shipped", "", "as-shipped", NULL, 0, 0, \
		"threads, precision and hints as the engine has them by itself, instead of float32 and all CPUs; the row says " \
		"what they were") \
	M(X, INTEGER, runs, KEY, NONE, "", "", "", "runs", "N", 1, 1e6, "exactly so many timed runs; default: as --effort says") \
	M(X, TEXT, effort, KEY, NOTED, "", "", "", "effort", "WORD", 0, 0, \
		"rapid: 3 to 11 timed runs in about 1 s, a median; quick: 11 to 64 in 2 s, a 90th percentile; normal: 11 to " \
		"662 in 3 s, a 99th where 662 fit; default normal") \
	M(X, REAL, delay_s, KEY, ROW, "r.delay_s", "after %g s of rest", "", "delay", "SECONDS", 0, 3600, \
		"wait so long between the warm-up and the first timed run; default 0") \
	M(X, TEXT, scenario, KEY, ROW, "r.scenario", "%s", "", "scenario", "WORD", 0, 0, \
		"who asks, as MLPerf names it: single-stream, multi-stream, offline, server; default: timed runs without a " \
		"claim") \
	M(X, INTEGER, streams, KEY, ROW, "r.streams", " of %lld", "", "streams", "N", 1, 65536, \
		"of multi-stream: samples in a query, a multiple of --batch; default 8") \
	M(X, REAL, rate_per_s, KEY, ROW, "r.rate_per_s", " at %g queries/s", "", "rate", "R", 0.001, 1e6, \
		"of server: arrival rate, queries/s") \
	M(X, REAL, latency_bound_ms, KEY, ROW, "r.latency_bound_ms", " within %g ms", "", "latency-bound", "MS", 0.001, 1e7, \
		"of server, and of multi-stream if wished: 99th percentile bound") \
	M(X, TEXT, together, KEY, ROW, "r.together", "together with %s", "", NULL, NULL, 0, 0, \
		"the other models that ran at the same time (--together), each with its platform") \
	M(X, TEXT, switched_from, KEY, ROW, "r.switched_from", "switched from %s", "", NULL, NULL, 0, 0, \
		"the platform that the same process had the model open on before (--switch)") \
	M(X, TEXT, pipeline, KEY, ROW, "r.pipeline", "pipeline %s", "", NULL, NULL, 0, 0, \
		"the task of a whole pipeline (`assay pipeline`), from its inputs to its answer; null: a pass over a model's " \
		"graphs, or a generation") \
	M(X, TEXT, pipeline_parts, KEY, ROW, "r.pipeline_parts", " with %s", "", NULL, NULL, 0, 0, \
		"of a pipeline: PART=PLATFORM of each part that was asked for on a platform of its own") \
	M(X, TEXT, pipeline_asked, KEY, ROW, "r.pipeline_asked", "", "", NULL, NULL, 0, 0, \
		"of a pipeline: JSON, the words that it was given, and the options of the task") \
	M(X, INTEGER, cycles, KEY, NOTED, "", "", "", "cycles", "N", 5, 10000, \
		"open, run and close so often at the end: does memory stay behind?") \
	M(X, REAL, timeout_s, NO_KEY, NONE, "", "", "", "timeout", "S", 0.1, 1e7, "seconds for a whole cell; default 600") \
	M(X, REAL, quiet_wait_s, NO_KEY, NONE, "", "", "", "quiet-wait", "S", 0.1, 1e6, \
		"before each cell, wait up to S seconds for a calm machine") \
	M(X, GIB, memory_bytes, KEY, NONE, "", "", "", "memory", "GIB", 0.01, 1e6, \
		"limit of a cell's memory; default what is available, less a reserve") \
	M(X, FLAG, force, KEY, NONE, "", "", "", "force", NULL, 0, 0, \
		"try what is predicted not to fit into memory; default: such a cell is no_memory") \
	M(X, FLAG, fit, KEY, NONE, "", "", "", "fit", NULL, 0, 0, \
		"where it is predicted not to fit into memory: take the first that does, fewer bits before fewer layers; the " \
		"row says so") \
	M(X, FLAG, synthetic, NO_KEY, SIZE, "c.synthetic", "", "", "synthetic", NULL, 0, 0, \
		"seeded random weights where a model has none here") \
	M(X, INTEGER, layers, KEY, SIZE, "c.layers", "", "", "layers", "N", 1, 100000, \
		"only the first N layers; rows say shortened") \
	M(X, INTEGER, seed, KEY, ASKED, "c.seed", "", "", "seed", "N", 0, 9e15, "of inputs and synthetic weights; default 0") \
	M(X, FLAG, is_static, KEY, ASKED, "c.static_shapes", "", "", "static", NULL, 0, 0, \
		"fixed shapes in the graph; default: as the platform takes them") \
	M(X, FLAG, is_dynamic, KEY, ASKED, "contains(%1$s, '\"is_dynamic\":true')", "", "", "dynamic", NULL, 0, 0, \
		"batch and sequence open in the graph, also where the platform's first form has them fixed") \
	M(X, FLAG, no_fallback, KEY, NONE, "", "", "", "no-fallback", NULL, 0, 0, \
		"a node that would run elsewhere makes the cell unsupported; says which") \
	M(X, FLAG, allow_fallback, KEY, NONE, "", "", "", "allow-fallback", NULL, 0, 0, \
		"the platform may take no node at all; default: such a cell is fell_back") \
	M(X, TEXT, golden, NO_KEY, ASKED, "c.golden", "", "", "golden", "FILE", 0, 0, \
		"safetensors: its in.NAME are the inputs, its out.NAME judge; without an out.NAME another engine judges") \
	M(X, TEXT, data, NO_KEY, JUDGED, "r.data_sha256", "", "", "data", "PATH", 0, 0, \
		"a folder of .safetensors examples, a folder with a folder of files for each class, or a .jsonl file of " \
		"examples: the metric of the task over them, beside float32's; worse than chance allows is wrong, of a reduced " \
		"precision lossy") \
	M(X, TEXT, shapes, EACH, ROW, "r.shapes", "", "", "shape", "INPUT:N,N,...", 0, 0, \
		"of an .onnx file: the shape of an input, once for each; default: guessed by names, ranks and what is fixed") \
	M(X, TEXT, dims, EACH, ROW, "r.dims", "", "", "dim", "NAME=N,...", 0, 0, \
		"of an .onnx file: the number of an open dimension by its name, in every input that has it") \
	M(X, TEXT, inputs, EACH, ROW, "r.inputs", "", "", "input", "WHAT", 0, 0, \
		"a picture, a recording or a text file, or a text (text:TEXT where it looks like a file): inputs by the " \
		"model's own processor or tokenizer, of generate the prompt as `assay pipeline` makes it; once for each. Of " \
		"an .onnx file also INPUT=FILE.npy, =FILE.safetensors (its in.INPUT or INPUT), =random:LOW,HIGH, =ones or " \
		"=zeros. Default: random numbers by name and type") \
	M(X, FLAG, no_conform, NO_KEY, NONE, "", "", "", "no-conform", NULL, 0, 0, \
		"leave the type's conformance cases out; type_conformance is null") \
	M(X, FLAG, no_explain, KEY, NONE, "", "", "", NULL, NULL, 0, 0, "where its nodes ran is known from a cell before") \
	M(X, FLAG, profile, KEY, ASKED, "contains(%1$s, '\"profile\":true')", "", "", NULL, NULL, 0, 0, \
		"also how long each node takes, in a session of its own")
// clang-format on

#define QUESTION_ITEM(X, ...) X(__VA_ARGS__)
#define QUESTION_LIST(X) QUESTION_LIST_WITH(QUESTION_ITEM, X)

// X(kind, name, meaning) of the members that are columns of the row, for ROW_LIST.
#define QUESTION_KIND_TEXT TEXT
#define QUESTION_KIND_INTEGER INTEGER
#define QUESTION_KIND_REAL REAL
#define QUESTION_KIND_FLAG BOOLEAN
#define QUESTION_COLUMN_ROW(X, kind, name, help) QUESTION_ITEM(X, QUESTION_KIND_##kind, name, "as asked: " help)
#define QUESTION_COLUMN_TUNED QUESTION_COLUMN_ROW
#define QUESTION_COLUMN_JUDGED QUESTION_COLUMN_ROW
#define QUESTION_COLUMN_NOTED QUESTION_COLUMN_ROW
#define QUESTION_COLUMN_ASKED(X, kind, name, help)
#define QUESTION_COLUMN_SIZE QUESTION_COLUMN_ASKED
#define QUESTION_COLUMN_NONE QUESTION_COLUMN_ASKED
#define QUESTION_COLUMN(X, kind, name, use, place, where, words, standard, option, argument, least, most, help) \
	QUESTION_COLUMN_##place(X, kind, name, help)
#define QUESTION_COLUMN_LIST(X) QUESTION_LIST_WITH(QUESTION_COLUMN, X)

// ", r.threads, nullif(...), ...": what tells questions apart, but model, files, machine, platform and device.
#define QUESTION_TELLS_ROW(where) ", " where
#define QUESTION_TELLS_TUNED QUESTION_TELLS_ROW
#define QUESTION_TELLS_JUDGED QUESTION_TELLS_ROW
#define QUESTION_TELLS_ASKED QUESTION_TELLS_ROW
#define QUESTION_TELLS_SIZE QUESTION_TELLS_ROW
#define QUESTION_TELLS_NOTED(where)
#define QUESTION_TELLS_NONE(where)
#define QUESTION_TELLS(kind, name, use, place, where, ...) QUESTION_TELLS_##place(where)
#define QUESTION_TELLS_APART_SQL QUESTION_LIST(QUESTION_TELLS)

// Of two rows a and b whose times are to be compared: the names of columns, ", image_size, ..", and " AND a.image_size IS NOT
// DISTINCT FROM b.image_size ..".
#define QUESTION_IF_ROW(sql) sql
#define QUESTION_IF_TUNED(sql)
#define QUESTION_IF_JUDGED(sql)
#define QUESTION_IF_NOTED(sql)
#define QUESTION_IF_ASKED(sql)
#define QUESTION_IF_SIZE(sql)
#define QUESTION_IF_NONE(sql)
#define QUESTION_LINE(kind, name, use, place, ...) QUESTION_IF_##place(", " #name)
#define QUESTION_LINE_SQL QUESTION_LIST(QUESTION_LINE)
#define QUESTION_ALIKE(kind, name, use, place, ...) QUESTION_IF_##place(" AND a." #name " IS NOT DISTINCT FROM b." #name)
#define QUESTION_ALIKE_SQL QUESTION_LIST(QUESTION_ALIKE)

#define QUESTION_MEMBER(kind, name, ...) MEMBER_TYPE_##kind name;
struct question {
	QUESTION_LIST(QUESTION_MEMBER)
};
// Inside of another struct: its members by their own names, and all of them as `question`.
#define QUESTION_INSIDE \
	union { \
		struct question question; \
		struct { \
			QUESTION_LIST(QUESTION_MEMBER) \
		}; \
	}

enum question_at {
#define X(kind, name, ...) QUESTION_AT_##name,
	QUESTION_LIST(X)
#undef X
		QUESTION_COUNT
};
enum question_use { QUESTION_KEY, QUESTION_AXIS, QUESTION_EACH, QUESTION_NO_KEY };
enum question_place {
	QUESTION_ROW,
	QUESTION_TUNED,
	QUESTION_JUDGED,
	QUESTION_NOTED,
	QUESTION_ASKED,
	QUESTION_SIZE,
	QUESTION_NONE
};

extern const struct member question_members[QUESTION_COUNT];
enum question_use question_use(enum question_at at);
enum question_place question_place(enum question_at at);
bool question_tells(enum question_at at); // a column of the row that tells questions apart: ROW, TUNED, JUDGED

// Do two questions agree in every member of `place`?
bool question_agrees(const struct question *x, const struct question *y, enum question_place place);
uint64_t question_digest(const struct question *q, enum question_place place); // equal where they agree
bool question_same(const struct question *x, const struct question *y);        // in every column that tells questions apart
// Is every member of `place` the default?
bool question_is_usual(const struct question *q, enum question_place place);
// The members of place ROW that are not the default, in their words: "image size 64, server at 20 queries/s"; "": none.
// In `a`.
const char *question_words(struct arena *a, const struct question *q);
// Adds what is part of a key and not the default, each with its name: a key made before a member existed stays what it was.
void question_hash(struct hash *h, const struct question *q);
// Sets every member as a key of `object`, and the other way; what is not there is the default. Text that is not UTF-8, which a
// path may be, is an object with its bytes as code points. Text is copied into `a`.
void question_put(json_t *object, const struct question *q);
void question_take(struct question *q, struct arena *a, const json_t *object);
json_t *question_text_put(const char *text); // of one text; NULL: null
const char *question_text_take(struct arena *a, const json_t *given);

#endif
