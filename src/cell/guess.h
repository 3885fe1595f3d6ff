// SPDX-License-Identifier: Apache-2.0
// Sizes for the open dimensions of a graph that assay did not build, where nothing says them: by names, ranks and what is fixed
// beside them. A guess may be refused by the engine, and another one be taken: guesses are numbered from 0 in the order in which
// they are tried.
#ifndef ASSAY_CELL_GUESS_H
#define ASSAY_CELL_GUESS_H

#include "base/arena.h"
#include "base/tensor.h"

enum { GUESS_RATE = 16000 };

// Numbers that a run hands to the next one: h, c, h0, cn, state, ... They begin as zeros.
bool guess_is_state(const struct tensor_type *t);
// One integer that says how many samples a second has.
bool guess_is_rate(const struct tensor_type *t);
// scale_factor of detectors: how much an image was scaled.
bool guess_is_scale(const struct tensor_type *t);

struct guess {
	size_t number;    // which is wanted, from 0
	int64_t batch;    // as asked, else 1
	size_t count;     // how many there are for these inputs, at least 1
	int64_t sequence; // tokens of a text that this one takes; 0: the usual number
	// "images: 3 channels, 224 x 224, the usual size", or NULL: nothing had to be guessed. In the arena.
	const char *words;
};
// Fills open dimensions of `types` where a guess is better than what inputs_synthetic does by itself (a batch first, then the
// length of a text); the others stay -1. `outputs`: as the file declares them. `keeps_length`: a length was asked for, and
// decides. Sets count and words.
void guess_dims(struct guess *g, struct arena *a, struct tensor_type *types, size_t count, const struct tensor_type *outputs,
	size_t output_count, bool keeps_length);

#endif
