// SPDX-License-Identifier: Apache-2.0
// Pipelines: a question in, an answer out. A text, picture or sound becomes a model's inputs as the model's own tokenizer or
// processor makes them, the graphs run on a platform, and what they give becomes the answer that the function of that name in
// transformers gives (`pipeline(task)` of transformers 5; tests/conform/pipeline holds them against it).
//
//   pipeline.c   opening a model's folder, one answer, times
//   part.c       a model in the folder or a folder in it: configuration, tokenizer, graphs that are opened when they first run
//   table.c      the tasks, a row each
//   text.c, scores.c, ...   what tasks share: texts to inputs, logits to scores and labels
//   classify.c, tokens.c, ...   what tasks do, a function each
//   diffuse.c, diffuse_*.c   text-to-image: the folders that diffusers saves, with model_index.json; a file for each class
//
// A new task is a row of table.c and a function `enum status task_NAME(struct call *c, struct pipeline_answer *out, ...)`,
// declared in inside.h: it reads c->input and c->options (call_text, option_integer, ...), makes tensors, runs them
// (part_run), and makes out->json; tensors and pictures that the answer holds go into it by answer_tensor and answer_picture.
// Engines are opened here, so all of it is called in a child process only: `assay cell --pipeline` (child.c) and
// `assay cell --conform`.
#ifndef ASSAY_PIPELINE_PIPELINE_H
#define ASSAY_PIPELINE_PIPELINE_H

#include <jansson.h>
#include <signal.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"
#include "platform/platform.h"
#include "preprocess/picture.h"
#include "question/row.h"

struct pipeline;

// What one input is answered. {"tensor": NAME, "shape": [..]} in the JSON is a tensor of the list, {"png": NAME} a picture.
struct pipeline_answer {
	json_t *json; // owned by who asked (json_decref)
	struct tensor *tensors;
	size_t tensor_count;
	struct pipeline_picture {
		const char *name;
		struct picture picture; // 8 bits: a mask is 0 and 255
	} * pictures;
	size_t picture_count;
	int rate;             // samples a second of the tensor "audio", [samples] in f32; 0: there is none
	size_t prompt_tokens; // of the JSON's token_ids: those before the first that was written
};

// parts.c: a target in a request to a child: {"platform", "device", "options", "parts": [{"part", "platform", "device",
// "options"}]}. Owned by the caller; NULL: a part's name is no UTF-8.
json_t *pipeline_target_json(const struct target *t);
// The same in the child, which points into `o`; the engines are opened, and *devices, which has its arena, is of the first
// platform's. UNAVAILABLE and others as backend_devices has them.
enum status pipeline_target_read(
	struct target *out, struct arena *a, const json_t *o, struct device_list *devices, struct error *err);

// The model in `folder`, for a task, on a platform; in `a`, which closes it. `task` NULL: by the class in config.json.
// UNSUPPORTED names a task that is not there; BAD_INPUT: a class that is of several tasks, or of none.
enum status pipeline_open(
	struct pipeline **out, struct arena *a, const char *folder, const char *task, const struct target *t, struct error *err);
// Before the first answer: nobody reads its times, so its sessions keep where their nodes go (session_open_untimed).
void pipeline_untimed(struct pipeline *p);
// Before the first answer: the graphs are built in a precision ("int4-weights:block=32", onnx/precision.h), whose answers are not
// held against anything. UNSUPPORTED: one that the engine would have to make, or whose ranges would have to be measured.
enum status pipeline_set_precision(struct pipeline *p, const char *precision, struct error *err);
const char *pipeline_task(const struct pipeline *p);
// Called after each of the `count` steps of a long answer.
typedef void pipeline_watch(void *context, size_t done, size_t count);
void pipeline_set_watch(struct pipeline *p, pipeline_watch *watch, void *context);
// One answer. `input` and `options` are objects, `options` may be NULL; names of files in `input` are in the folder `base` and
// may not lead out of it (file_inside); NULL: they are paths. What the answer points to lies in `a`. UNSUPPORTED names an option
// that the task does not know: none is left out silently.
enum status pipeline_answer(struct pipeline *p, const char *base, const json_t *input, const json_t *options, struct arena *a,
	struct pipeline_answer *out, struct error *err);
// What its graphs were computed in so far, as the engine says: F16 or BF16 where one of them was, else F32.
enum dtype pipeline_computes(const struct pipeline *p);
// Has it answered with weights of seeded random numbers (`assay synth`), all or some? Such an answer means nothing.
bool pipeline_is_synthetic(const struct pipeline *p);
// Milliseconds of the answers so far, {"preprocess_ms", "graphs": [{"graph", "open_ms", "runs", "run_ms", "form"}], "between_ms",
// "postprocess_ms"}: before the first run of a graph, between two, and behind the last. Owned by the caller.
json_t *pipeline_times(const struct pipeline *p);
// Where the nodes of all graphs that ran were: on the platform that their graph was asked for, or elsewhere. Each number is -1
// where it is not known of one of them.
struct pipeline_placement {
	int64_t nodes, on_platform, elsewhere, fused;
	const char *note;      // how it was learned; of several graphs of each, named, to a length; NULL
	const char *took_none; // a platform that took no node of one of its graphs; NULL: there is none
	// [{"graph", "platform", "device", "emulated", "nodes", "on_platform", "elsewhere", "note"}]; dies with the arena
	json_t *graphs;
};
void pipeline_placed(struct pipeline *p, struct arena *a, struct pipeline_placement *out);
// The columns of a row (question/row.h) that tell of its answers: answer_parts, answer_first_token_ms, answer_token_ms,
// answer_steps_per_s. Owned by the caller.
json_t *pipeline_columns(const struct pipeline *p, const struct pipeline_placement *placed);

// prompt.c: what the loop of a model that writes a text begins with for the words of one input (pipeline_words), as its pipeline
// makes it: up to the loop's first run, and without any. Tensors by the graphs' names, in `a`:
//   input_ids            the first tokens; of an encoder and decoder those of a source that is a text
//   decoder_input_ids    of an encoder and decoder: the decoder's first tokens; -1 where the model is to hear the language
//   languages            int64 [n], where there is a -1: what it is one of
//   generation_config    uint8 [n]: decoding_json as JSON text
//   all others           as the model's processor makes them: pixel_values, input_features, an encoder's attention_mask, ..
// UNSUPPORTED: a task that does not write, or that runs the model before it does; else as pipeline_open and pipeline_answer.
struct pipeline_prompt {
	struct tensor *tensors;
	size_t count;
};
enum { PIPELINE_LANGUAGE = -1 };
enum status pipeline_prompt(
	struct pipeline_prompt *out, struct arena *a, const char *folder, const json_t *words, struct error *err);

// table.c: the tasks, for who asks on a command line.
enum pipeline_kind {
	PIPELINE_TEXT,
	PIPELINE_TEXTS,
	PIPELINE_LABELS, // texts, or one text with commas between them
	PIPELINE_PICTURE,
	PIPELINE_PICTURES,
	PIPELINE_SOUND,
	PIPELINE_JSON,
	PIPELINE_TENSOR // a safetensors file, which an input in a JSON file names
};
enum { PIPELINE_INPUTS = 5 };
struct pipeline_input {
	const char *key; // in an input's object; NULL: no more
	enum pipeline_kind kind;
	bool optional;
	const char *beside; // the input that it is of no use without; NULL: none
};
size_t pipeline_task_count(void);
bool pipeline_task_known(const char *name);
const char *pipeline_task_name(size_t i, const void *unused); // NULL after the last: the form that text_nearest asks for
const struct pipeline_input *pipeline_task_inputs(size_t i);  // [PIPELINE_INPUTS]
const char *pipeline_task_options(size_t i);                  // names of options, a space between
const char *pipeline_generate_options(void);                  // those that begin it where a task writes a text

// words.c: inputs of the pipeline's task from what a person types, texts and names of files: an array, owned by the caller.
// BAD_INPUT: a word that the task has no input for.
enum status pipeline_words(const struct pipeline *p, const json_t *words, struct arena *a, json_t **out, struct error *err);

// dictate.c: automatic-speech-recognition for who asks about many sounds in a cell's child (cell/cell.h).
struct cell_dictation;
extern const struct cell_dictation pipeline_dictation;

// "KEY=VALUE" as a person types it into options: VALUE as JSON where it is some, else a text. BAD_INPUT: it is no such word.
enum status pipeline_option_typed(json_t *options, const char *word, struct error *err);

// ask.c: the same from the parent of a child, which opens the model and answers, and which may crash.
struct pipeline_asked {
	const char *folder, *task;   // task NULL: by the model's class
	const struct target *target; // and those of its parts
	json_t *words, *options;     // an array of texts; an object or NULL
	const char *precision;       // NULL: as stored
	const char *save;            // folder for pictures and tensors of the answers; NULL: they are told of alone
	double timeout_s;            // 0: none
	int64_t memory_bytes;        // as in child_limits
	volatile sig_atomic_t *stop;
	const char *output;    // a file to be: the only picture of the only answer (PNG), or its sound (WAV); NULL
	pipeline_watch *watch; // NULL; called with watch_context
	void *watch_context;
	// Pictures, tensors and sound of answer I as files in the folder KEEP/I (answer_save); NULL: they are not kept.
	const char *keep;
	// The first graph is about to be opened: all that can be told of inputs and options without running a model was
	// understood. The child waits. False: it is not to answer. NULL: it does not wait. Called with begin_context.
	bool (*begin)(void *context, const char *task);
	void *begin_context;
};
struct pipeline_told {
	// An array, {"input", "answer", "tensors": {NAME: nested lists; null: too many numbers}, "pictures": {NAME: {"width",
	// "height", "share": of a mask's pixels, else null}}, "files": [{"of": NAME, "file": written path}], "prompt_tokens":
	// of struct pipeline_answer} each.
	json_t *answers;
	// {"task", "weights": "real" or "synthetic", "times": pipeline_times, "placement": {"nodes", "on_platform", "elsewhere",
	// "note", "graphs"}}, as in struct pipeline_placement
	json_t *facts;
	// What the child knew of the row: engine, device, where its nodes were, times, memory; all else is absent.
	struct row row;
	const char *took_none;  // a platform that took no node of one of its graphs; NULL: there is none
	json_t *task;           // {"task", "by": the model's "class" or "files"; null: it was named, "inputs": how many}; NULL
	const char *file_error; // why a file of an answer was not written, the first one; NULL: none was left out
	enum verdict verdict;   // right: it answered (nothing judged the answer); else how it ended
};
// What was told before an error stays in *told; pipeline_told_done in any case. UNSUPPORTED, BAD_INPUT: as in pipeline_open.
enum status pipeline_ask(const struct pipeline_asked *q, struct pipeline_told *told, struct arena *a, struct error *err);
void pipeline_told_done(struct pipeline_told *told);
// What `assay pipeline --json` prints: {"task", "platform", "precision", "weights", "answers", "times", "placement"}; `on` and
// `precision` as they were asked for. Owned by the caller.
json_t *pipeline_told_json(const struct pipeline_told *told, const char *on, const char *precision);
// child.c: `assay cell --pipeline`. Request {"folder", "task", "on": pipeline_target_json, "words", "task_options", "save",
// "output", "precision", "keep", "waits"}, one event "task", one "answer" an input, "step" {"done", "of"} in between, "file"
// {"error"} where a file of an answer was not written, and one "pipeline" at the end.
int pipeline_child(void);

#endif
