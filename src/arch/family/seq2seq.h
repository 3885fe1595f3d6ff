// SPDX-License-Identifier: Apache-2.0
// What rows of BART and its kin may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_SEQ2SEQ_H
#define ASSAY_ARCH_FAMILY_SEQ2SEQ_H

#include "arch/block/seq2seq.h"

#define SEQ2SEQ_TRAITS(X, T) \
	X(T, COUNT, sine_positions, \
		"positions are sines, not a table; the slowest takes 2 pi 10000 tokens (2), or would be one further") \
	X(T, FLAG, head_in_body, "the bare model has the language model's head: its last states are logits") \
	X(T, FLAG, tokens_normed, "the decoder's embedding norm stands before the positions are added") \
	X(T, FLAG, decoder_alone, "the class is a decoder by itself that looks at given states") \
	X(T, FLAG, source_masked, "a decoder by itself looks at those of the given states only that a mask names") \
	X(T, FLAG, start_wraps, "a text read by both halves is shifted round, its last token to the front")
FAMILY_TRAITS(seq2seq, SEQ2SEQ_TRAITS);

// b->s as both halves of a model of this family.
struct seq2seq seq2seq_halves(const struct build *b);

#endif
