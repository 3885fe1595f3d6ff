// SPDX-License-Identifier: Apache-2.0
// What tasks are made of. Private to pipeline/.
#ifndef ASSAY_PIPELINE_INSIDE_H
#define ASSAY_PIPELINE_INSIDE_H

#include "answer/scores.h"
#include "arch/arch.h"
#include "backend/backend.h"
#include "cell/form.h"
#include "checkpoint/checkpoint.h"
#include "pipeline/pipeline.h"
#include "token/token.h"

enum {
	PIPELINE_JSON_MOST = 4 << 20, // bytes of a JSON file of a model's folder
	TOKENIZER_JSON_MOST = 64 << 20,
	PIPELINE_PARTS_MOST = 8,   // models of one pipeline
	PIPELINE_GRAPHS_MOST = 6,  // graphs of one model
	PIPELINE_LIST_MOST = 4096, // texts, labels, documents, words of one input
};

// ---- part.c: a model of the pipeline ------------------------------------------------------------------------------------

struct part_graph {
	const struct arch_graph *which;
	struct graph *graph;
	struct artifact artifact;
	struct session session;
	int64_t size[2];                       // of pictures that it was built for; 0: as the model says
	const char *form;                      // in words
	double open_ms, run_ms, anonymous_mib; // the last: what opening and first run added; NaN: not known
	int64_t runs;
	bool is_open, is_static;     // is_static: for the shapes of artifact.inputs alone
	const struct target *target; // where it runs
};

struct part {
	struct pipeline *p;
	const char *name;   // "." or the folder in the pipeline's folder
	const char *folder; // path
	const char *words;  // path of the tokenizer's folder (part_words); NULL: `folder`
	struct checkpoint checkpoint;
	struct spec *spec; // NULL: it has no graph (part_files)
	struct input_hints hints;
	const json_t *config;        // config.json
	struct tokenizer *tokenizer; // NULL until part_tokenizer
	const json_t *token_config;  // tokenizer_config.json over special_tokens_map.json; of `words`
	struct part_graph graphs[PIPELINE_GRAPHS_MOST];
	size_t graph_count;
	bool logits_chosen; // generates with one graph, which is asked for the logits of the last token only
	bool is_fixed;      // its graphs have fixed shapes on every platform: one of them goes by the shapes that another has
};

// The model in a folder within the pipeline's ("." is itself), resolved; opened once.
enum status part_open(struct pipeline *p, const char *name, struct part **out, struct error *err);
// Is the name, of a file or folder, among those that a row of a pipeline knows (model_tree)?
bool part_is_within(const char *name);
// Its tokenizer is in another folder within the pipeline's; to be said before the tokenizer is asked for.
enum status part_words(struct part *m, const char *name, struct error *err);
// tokenizer_class.c: the tokenizer as this class of transformers 5 makes it, where that is not as tokenizer.json says.
enum status part_tokenizer_class(struct part *m, const char *class_name, struct error *err);
// Opened once. Special tokens that tokenizer_config.json names and tokenizer.json does not list are added, as transformers does.
enum status part_tokenizer(struct part *m, struct tokenizer **out, struct error *err);
enum status part_add_specials(struct part *m, struct tokenizer *t, struct error *err); // of a tokenizer that was opened otherwise
// A JSON object of the part's folder; an empty one where there is no such file. Dies with the pipeline.
enum status part_json(struct part *m, const char *file, const json_t **out, struct error *err);
// "mask_token", ...: its text, by tokenizer_config.json, else special_tokens_map.json; NULL: it has none. And its id; -1: none.
const char *part_special(const struct part *m, const char *name);
int64_t part_special_id(struct part *m, const char *name);
// model_max_length of tokenizer_config.json, where it is a length; 0: none.
size_t part_max_length(const struct part *m);
bool part_cleans_up(const struct part *m); // clean_up_tokenization_spaces of tokenizer_config.json
// One of its graphs, opened when it is first asked for, in the first form that the platform takes. `in`: what it will be given,
// for its pictures may have another size than the configuration says; NULL: that does not matter. Its session's outputs
// stay valid through the next run.
enum status part_graph(struct part *m, const struct arch_graph *which, const struct tensor *in, size_t in_count,
	struct part_graph **out, struct error *err);
// Runs a graph (arch_whole, ..). `in` are inputs by their names: those that the graph does not declare are left out; a declared
// one that is absent gets its neutral value where it has one (masks 1, token types 0, positions counted, an empty past), else
// is UNSUPPORTED. *out: all outputs by their names, copied into `a`.
enum status part_run(struct part *m, const struct arch_graph *which, const struct tensor *in, size_t in_count, struct arena *a,
	struct tensor **out, size_t *out_count, struct error *err);
bool all_finite(const struct tensor *t); // of float32
// The output of this name as float32 of this rank; NULL and *err: there is none, or it holds what is no number.
const struct tensor *part_output(const struct tensor *out, size_t count, const char *name, int rank, struct error *err);
const struct arch_graph *part_graph_named(const struct part *m, const char *file); // NULL: the model has none of this name
// Does the platform of this graph take graphs with fixed shapes only?
bool part_is_static(const struct part *m, const struct arch_graph *which);
bool part_takes(const struct part_graph *g, const char *input);
void part_close(struct part *m);

// ---- parts.c: what --on names ---------------------------------------------------------------------------------------------

// The platform of a graph: its part's, else the pipeline's. A part is a folder within the pipeline's; the graphs of the model in
// the pipeline's own folder are parts by how their files' names begin: encoder, decoder (of both steps), model.
const struct target *part_target(const struct part *m, const struct arch_graph *which);
// Is every part that has a platform of its own one of these, or one of those of a model that is open? BAD_INPUT names the
// first that is not.
enum status parts_known(const struct pipeline *p, const char *const *names, size_t count, struct error *err);
enum status parts_known_of(struct part *const *models, size_t count, struct error *err);

// ---- pipeline.c -----------------------------------------------------------------------------------------------------------

struct pipeline_task;
// A JSON file that was read; the newest first.
struct json_read {
	const char *path;
	const json_t *json;
	const struct json_read *before;
};

struct pipeline {
	struct arena *arena;
	const struct json_read *read;
	const char *folder;
	const char *files; // of its model but for the weights: of an adapter the folder of its base model, else `folder`
	const struct pipeline_task *task;
	const char *named;     // the task as it was asked for; NULL: it was not
	const char *chosen_by; // the model's "class" or "files"; NULL: the task was named
	const struct target *target;
	struct precise precise;
	struct part *parts[PIPELINE_PARTS_MOST];
	size_t part_count;
	// Of the answer at hand, and sums: clock_ms when it began, and when the last graph's run or opening ended (0: none yet).
	double began, ended;
	double preprocess_ms, between_ms, postprocess_ms;
	// Sums over texts that were written: their first tokens, those after; over pictures: steps of their denoiser.
	double first_ms, tokens_ms, steps_ms;
	int64_t firsts, tokens, steps;
	bool is_untimed;    // pipeline_untimed
	bool (*meet)(void); // before the first graph is opened; false: it is not to be. NULL: nobody is asked
	struct pipeline_prompt
		*prompt;       // of pipeline_prompt: nothing is run, and what a text would begin with goes here; else NULL
	pipeline_watch *watch; // NULL
	void *watch_context;
};
bool words_have(const char *words, const char *word); // is it one of words with a space between? NULL: has none, is none
// BAD_INPUT: a person asked for an option that the task does not know. (pipeline_answer calls it UNSUPPORTED.)
enum status pipeline_options_known(const struct pipeline *p, const json_t *options, struct error *err);
// Around what is not a task's own time: a run or an opening of a graph.
void pipeline_pause(struct pipeline *p);
void pipeline_resume(struct pipeline *p);

// ---- one question -----------------------------------------------------------------------------------------------------------

struct call {
	struct pipeline *p;
	struct arena *a; // memory of this answer
	const char *base;
	const json_t *input, *options;
};

struct pipeline_task {
	const char *name;
	struct pipeline_input inputs[PIPELINE_INPUTS];
	const char *options; // names, a space between; what else is asked for is refused
	const char *heads;   // heads of classes (arch_class_head) that mean this task, a space between; NULL: it must be named
	bool of_pictures;    // of a head that others have, too: where the folder has a processor of pictures
	const char *classes; // classes that mean this task whatever their head is, a space between; NULL: none
	const char *maybe;   // heads of classes that may be for this task, among others; NULL: none
	enum status (*run)(struct call *c, struct pipeline_answer *out, struct error *err);
};
extern const struct pipeline_task pipeline_tasks[];
// By its name, or by another that transformers has for it, such as ner or translation_en_to_fr. NULL: there is none.
const struct pipeline_task *pipeline_task_find(const char *name);
// "en" and "fr" of translation_en_to_fr, in `a`; false: the name is no such one.
bool pipeline_task_languages(struct arena *a, const char *name, const char **from, const char **to);

// call.c: members of the input. BAD_INPUT names one that is missing or of another kind.
enum status call_text(const struct call *c, const char *key, const char **out, struct error *err);
enum status call_texts(const struct call *c, const char *key, const char *const **out, size_t *count, struct error *err);
// candidate_labels: a list of texts, or one text, which is parted at its commas, blanks around the parts left out.
enum status call_labels(const struct call *c, const char *const **out, size_t *count, struct error *err);
bool call_has(const struct call *c, const char *key);
enum status call_picture(const struct call *c, const char *key, struct picture *out, struct error *err); // a file, decoded
enum status call_file(const struct call *c, const char *key, const char **path, struct error *err);
// Options, each with what it is where it is not given. BAD_INPUT: of another kind, or out of bounds; null is as not given, but
// for option_is_null.
enum status option_integer(
	const struct call *c, const char *key, int64_t least, int64_t most, int64_t otherwise, int64_t *out, struct error *err);
enum status option_real(const struct call *c, const char *key, double otherwise, double *out, struct error *err);
enum status option_bool(const struct call *c, const char *key, bool otherwise, bool *out, struct error *err);
enum status option_text(const struct call *c, const char *key, const char *otherwise, const char **out, struct error *err);
bool call_asked(const struct call *c, const char *key); // an option, and not null
bool option_is_null(const struct call *c, const char *key);
// In the answer; both take a copy of nothing: data must live as long as c->a. The JSON that stands for it is returned.
json_t *answer_tensor(struct call *c, struct pipeline_answer *out, const char *name, const struct tensor *t);
json_t *answer_picture(struct call *c, struct pipeline_answer *out, const char *name, const struct picture *picture);

// save.c: {NAME: {"width", "height", "share"}} of an answer's pictures; share: of the pixels of a mask, null of another picture.
json_t *answer_pictures(const struct pipeline_answer *answer);
// What answer_save with `folder` and `before`, and -o with `output`, wrote, either NULL: [{"of": name in the answer, "file"}].
json_t *answer_files(const struct pipeline_answer *answer, const char *folder, const char *before, const char *output);
// The sound of an answer that has one as a WAV file.
enum status answer_save_sound(const struct pipeline_answer *answer, const char *path, struct error *err);
// Pictures as PNG files under their names, tensors in answer.safetensors and a sound in audio.wav, in a folder that is made where
// it is not there; `before` is put before every name.
enum status answer_save(const struct pipeline_answer *answer, const char *folder, const char *before, struct error *err);

// ---- text.c: texts to inputs ----------------------------------------------------------------------------------------------

size_t text_most(const struct part *m); // tokens that it takes; 0: any number
// Text and pair (NULL: none), with special tokens; `cut` NULL: nothing is cut off, and more tokens than text_most are BAD_INPUT.
enum status text_encode(struct part *m, struct arena *a, const char *text, const char *pair, const struct truncation *cut,
	struct encoding *out, struct error *err);
// input_ids, attention_mask and token_type_ids of one text, [1, tokens]; *count is 3. BAD_INPUT: an empty one.
enum status text_tensors(
	const struct part *m, struct arena *a, const struct encoding *e, struct tensor **out, size_t *count, struct error *err);
struct tensor text_ids(const char *name, struct arena *a, const uint32_t *ids, size_t count); // int64 [1, count]
// The whole model over one text: what it gives.
enum status text_run(
	struct part *m, struct arena *a, const struct encoding *e, struct tensor **out, size_t *count, struct error *err);
enum status text_decode(
	struct part *m, struct arena *a, const uint32_t *ids, size_t count, bool skip_special, char **out, struct error *err);

// The text of tokens as the vocabulary has them (tokenizer_join).
enum status text_of_tokens(
	struct part *m, struct arena *a, const char *const *tokens, size_t count, char **out, struct error *err);
// Code points [begin, end) of UTF-8; what lies behind the text's end is left out.
char *text_slice(struct arena *a, const char *text, size_t begin, size_t end);
size_t text_length(const char *text); // in code points
// The tokenizer's limit as a truncation; false: it has none.
bool text_cut(struct part *m, enum truncation_strategy strategy, struct truncation *out);
// Of a pair: which tokens are the second text's. In `a`, [e->count].
enum status text_second(
	struct part *m, struct arena *a, const char *first, const struct encoding *e, bool **out, struct error *err);

// ---- scores.c: logits to scores and labels ----------------------------------------------------------------------------------

double *elements_of(struct arena *a, const struct tensor *t, size_t first, size_t count); // elements as doubles
// id2label of a configuration, of timm's label_names; LABEL_i where it has none.
const char *label_of(const struct part *m, struct arena *a, size_t i);
// What turns a classifier's logits into scores, in place: the option function_to_apply, else by problem_type: regression none,
// multi_label_classification sigmoid, else softmax, but the sigmoid of one label where `one_is_sigmoid`. BAD_INPUT: another word.
enum status scores_apply(
	const struct call *c, const struct part *m, bool one_is_sigmoid, double *x, size_t count, struct error *err);
// [{"label", "score"}, ..] of the best `top` by falling score.
json_t *labels_ranked(const struct part *m, struct arena *a, const double *scores, size_t count, size_t top);

// ---- tasks ------------------------------------------------------------------------------------------------------------------

#define TASK(name) enum status task_##name(struct call *c, struct pipeline_answer *out, struct error *err)
TASK(text_classification);
TASK(zero_shot_classification);
TASK(text_ranking);
TASK(feature_extraction);
TASK(fill_mask);
TASK(token_classification);
TASK(question_answering);
TASK(document_question_answering);
TASK(table_question_answering);
TASK(sentence_similarity);
TASK(retrieval_augmented_generation);
TASK(text_generation);
TASK(translation);
TASK(summarization);

TASK(image_classification);
TASK(image_feature_extraction);
TASK(zero_shot_image_classification);
TASK(object_detection);
TASK(zero_shot_object_detection);
TASK(image_segmentation);
TASK(depth_estimation);
TASK(image_to_image);
TASK(visual_question_answering);
TASK(video_classification);
TASK(audio_classification);
TASK(zero_shot_audio_classification);
TASK(automatic_speech_recognition);
TASK(image_captioning);
TASK(image_text_to_text);
TASK(promptable_segmentation);

TASK(text_to_image);
TASK(text_to_audio);

#endif
