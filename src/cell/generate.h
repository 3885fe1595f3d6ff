// SPDX-License-Identifier: Apache-2.0
// Greedy generation with one model's sessions, and its check against a run without a cache. Private to cell/.
//
//   causal             first == next: input_ids, attention_mask, position_ids, past_key_values.* -> logits, present.*
//   transducer         encoder once; first == next: a step of transduce.c
//   encoder-decoder    encoder once; `first` takes the decoder's prompt and the encoder's states, `next` every further token
//
// A session without past_key_values.* is run on the whole text at each step; one with fixed shapes (`places`) on the text and
// padding behind it, which tokens before it do not see. What present.* gives goes back in by its pointer:
// nothing is copied here. What the engine copies is counted: it lays the past and the new token's entries one after the other.
// With `shared` (CACHE_SHARED, session_share_cache) the past is a buffer with room for all tokens, and only the new entries are
// written into it.
#ifndef ASSAY_CELL_GENERATE_H
#define ASSAY_CELL_GENERATE_H

#include <signal.h>

#include "arch/arch.h"
#include "backend/backend.h"
#include "cell/decoding.h"

struct prompt {
	int64_t batch, length;
	const int64_t *ids;          // [batch, length]; of the decoder
	const int64_t *mask;         // [batch, length]; NULL: all ones. Padding is on the left; with `shared` on the right
	const int64_t *positions;    // [batch, length]; NULL: running count of the mask less one
	const struct tensor *inputs; // all others, by the graphs' names: the encoder's, pictures
	size_t input_count;
};

// Who chooses tokens. `choose` sees the text of each row up to `length` tokens and the logits of what comes next, [vocab] a row,
// and fills next[batch] with the tokens and from[batch] with the row that each goes on with (at first its own): beams. False:
// those were the last.
struct generate_chooser {
	void *context;
	bool (*choose)(void *context, const int64_t *const *texts, int64_t length, const float *const *logits, int64_t vocab,
		int64_t *next, int64_t *from);
};

struct generation {
	struct session *encoder, *first, *next;  // encoder may be NULL; the others are the same but for an encoder-decoder
	const struct transduction *transduction; // NULL: no transducer
	bool shared;
	// Of sessions with fixed shapes: the decoder runs over so many tokens at each step, without a past, the text first and
	// padding behind it; 0: they have none.
	int64_t places;
	const struct generate_chooser *chooser; // NULL: the best token of each row, new_tokens times
	const struct decoding *how; // what changes scores before the best is chosen, without a chooser; NULL: nothing does
	int64_t new_tokens;         // at most, with a chooser; and how many there were, afterwards
	int64_t cache_ends;         // of struct input_hints: there the whole text is run anew, as transformers does
	// of the run; memory in the caller's arena
	int64_t *ids, *second_ids;     // [batch, new_tokens]: the best, and the next best
	float *best, *second;          // their logits
	double encoder_ms, prefill_ms; // prefill: the decoder's first run, with the choice of its token
	double *step_ms;               // [new_tokens - 1]: from the end of the step before to the end of this one, own_ms in it
	double *own_ms; // [new_tokens - 1]: of that, what the engine did not do: inputs prepared, the token chosen over the
			// vocabulary, the cache kept
	uint64_t cache_bytes, copied_bytes; // after the last step; by the engine in the last step
};

// A graph that takes num_logits_to_keep is asked for the logits of the last token alone, unless a prompt ends with padding.
// INTERRUPTED when *stop becomes non-zero; stop may be NULL. Sessions but the encoder must keep their outputs
// (session.keeps_outputs).
enum status generate_greedy(
	struct generation *g, const struct prompt *p, const volatile sig_atomic_t *stop, struct arena *a, struct error *err);

// One run of `first` over the prompt and the tokens, without a past: at each place the best token must be the one that was
// generated, which is what generating without a cache gives. *differing: how many are not; *max_error: of the best logits.
enum status generate_check(const struct generation *g, const struct prompt *p, int64_t *differing, double *max_error,
	struct arena *a, struct error *err);
// What a session answers about a text that another one generated; each [batch, new_tokens], the caller's memory.
struct generate_answer {
	float *logits;   // of the given token at its place
	int64_t *chosen; // the best token at that place, the given ones before it
};
// The same run over `tokens` [batch, new_tokens]. *agreeing: places where the best token is the given one.
enum status generate_ask(const struct generation *g, const struct prompt *p, const int64_t *tokens, int64_t *agreeing,
	const struct generate_answer *answer, struct arena *a, struct error *err);

#endif
