// SPDX-License-Identifier: Apache-2.0
// How a text is generated: what generation_config.json and the options of generate() in transformers say (cell/decoding.h),
// greedy search and beam search. Private to pipeline/.
#ifndef ASSAY_PIPELINE_CHOOSE_H
#define ASSAY_PIPELINE_CHOOSE_H

#include "cell/generate.h"
#include "pipeline/inside.h"

// Names of options, for rows of the table and for options_known.
#define GENERATE_OPTIONS \
	"do_sample seed temperature top_k top_p min_p typical_p epsilon_cutoff eta_cutoff max_new_tokens max_length " \
	"min_new_tokens min_length num_beams length_penalty early_stopping " \
	"repetition_penalty no_repeat_ngram_size forced_bos_token_id forced_eos_token_id suppress_tokens begin_suppress_tokens " \
	"eos_token_id decoder_start_token_id"
#define DICTATION_OPTIONS GENERATE_OPTIONS " language task" // of speech that a model writes down

// What is said of a text whose decoder begins with `prompt_length` tokens: options over generation_config.json, over config.json
// where that file is not there. `usual`: how many new tokens where nobody says so. UNSUPPORTED names what is asked for and is not
// there. Texts are sampled where the options say do_sample, with what file and options say of it; that only the file asks for
// it changes nothing: the answer is the likeliest text then. BAD_INPUT: an option of sampling without do_sample.
enum status decoding_read(struct part *m, struct arena *a, const json_t *options, int64_t prompt_length, int64_t usual,
	struct decoding *out, struct error *err);
// The options of a generation: those of `words` that the task was asked for by their own names, and those of generate_kwargs
// over them. Dies with c->a. BAD_INPUT: generate_kwargs is no object; UNSUPPORTED names a key of it that is none of the words.
enum status decoding_asked(const struct call *c, const char *words, const json_t **out, struct error *err);
// UNSUPPORTED names the first option that is none of the words, and the one that was perhaps meant.
enum status options_known(const char *words, const json_t *options, const char *whose, struct error *err);

// Generates after `ids` [prompt_length], the decoder's. `inputs`: all others, by the graphs' names, their first axis 1: an
// encoder's ids and mask, pixel_values. *out: prompt and new ids, in `a`.
enum status generate_text(struct part *m, struct arena *a, const struct decoding *d, const int64_t *ids,
	const struct tensor *inputs, size_t input_count, int64_t **out, size_t *count, struct error *err);

// prompt.c: the same in the place of a run where p->prompt is wanted. INTERRUPTED: it is made.
enum status prompt_take(struct part *m, struct arena *a, const struct decoding *d, const int64_t *ids,
	const struct tensor *inputs, size_t input_count, struct error *err);
// The language of a sound is to be heard, one of `ids`, which live as long as the answer.
void prompt_languages(struct pipeline *p, const int64_t *ids, size_t count);

// write.c: as an answer has them: the ids; their text without special tokens.
json_t *generated_ids(const int64_t *ids, size_t count);
enum status generated_decode(struct part *m, struct arena *a, const int64_t *ids, size_t count, char **out, struct error *err);
// What was asked, and the answer: a text after the text, a message after the input's "messages". Owned by the caller.
json_t *full_text(struct call *c, bool is_chat, const char *asked, const char *text);

// Scores behind decoding_process: divided by the temperature, and -INFINITY for tokens that are not to be chosen from.
void sampling_process(const struct sampling *s, double *scores, int64_t vocab);
// The token: with u the number `place` (of tokens made so far) of the seed's sequence, splitmix64's upper 53 bits as a share of
// 1, the first one in the order of ids up to which the probabilities (softmax, in double precision) sum to more than u. It
// depends on seed, place and scores alone; PyTorch's generators draw others.
int64_t sampling_draw(const struct sampling *s, int64_t place, const double *scores, int64_t vocab);

#endif
