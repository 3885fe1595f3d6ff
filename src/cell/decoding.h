// SPDX-License-Identifier: Apache-2.0
// How a text is generated: settings as generate() of transformers 5 has them, and what they make of the scores before a token is
// chosen.
#ifndef ASSAY_CELL_DECODING_H
#define ASSAY_CELL_DECODING_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"

enum { BEAMS_MOST = 64, NEW_TOKENS_MOST = 1 << 16, NEW_TOKENS_USUAL = 256 }; // USUAL: of text-generation

struct token_list {
	int64_t *ids;
	size_t count;
};
// With do_sample (pipeline/sample.c). What changes nothing: temperature 1, top_k 0, top_p 1, min_p 0, typical_p 1, epsilon 0,
// eta 0.
struct sampling {
	double temperature, top_p, min_p, typical_p, epsilon, eta;
	int64_t top_k, seed;
};
struct decoding {
	bool samples;
	struct sampling sampling;                      // of samples
	int64_t prompt_length, new_tokens, max_length; // max_length: of prompt and new tokens
	int64_t min_length, min_new_tokens, beams, ngram;
	int64_t forced_bos, forced_eos, start; // -1: none
	double repetition_penalty, length_penalty;
	enum { STOP_NEVER, STOP_HEURISTIC, STOP_EARLY } early; // early_stopping: "never", false, true
	struct token_list eos, suppress, begin_suppress;
	struct token_list *bad_words;
	size_t bad_word_count;
};

// `options` over `file`: what was asked for over generation_config.json, or config.json; both may be NULL. `places`: for how many
// tokens the model has positions; 0: no limit is known.
struct decoding_source {
	const json_t *options, *file;
	int64_t places;
};
// After a prompt of so many tokens; `usual`: how many new ones where nobody says so. Lists in `a`. BAD_INPUT names a setting that
// is none, UNSUPPORTED one that would change the text and is not there.
enum status decoding_settle(struct decoding *out, struct arena *a, const struct decoding_source *from, int64_t prompt_length,
	int64_t usual, struct error *err);
// What changes scores and ends a text, as a `file` that settles to it: neither lengths, beams nor sampling. Owned by the caller.
json_t *decoding_json(const struct decoding *d);
// Does it change no score?
bool decoding_is_plain(const struct decoding *d);
// Scores of what comes next after a text of `length` tokens, changed as transformers' logits processors do, in their order.
// `seen` is room to work in, [vocab], zeros before and afterwards.
void decoding_process(const struct decoding *d, const int64_t *text, int64_t length, double *scores, bool *seen, int64_t vocab);
bool decoding_ends(const struct decoding *d, int64_t id); // an end token

#endif
