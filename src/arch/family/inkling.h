// SPDX-License-Identifier: Apache-2.0
// What Inkling's two generations share.
#ifndef ASSAY_ARCH_FAMILY_INKLING_H
#define ASSAY_ARCH_FAMILY_INKLING_H

#include "arch/block/block.h"

enum { K_CONV, V_CONV, ATTENTION_CONV, FFN_CONV, CONVS }; // a layer's convolutions, whose states are CONVS * layer + which

struct inkling {
	int64_t relative, extent; // width of what mixes profiles; how far those reach in layers without a window
	int64_t floor;            // queries grow from this position on, in such layers; 0: they do not
	double growth;
	int64_t kernel, shared, words;   // words: that the head gives
	double query_most, profile_most; // Inkling 2: lengths that heads are cut to
	int64_t block;                   // likewise, layers whose results are summed before others may look back at them
};

// What all layers share: of layers without a window [0] and with one [1].
struct inkling_shared {
	graph_value bias[2];  // [batch, 1, seq, keys]
	graph_value distance; // i64 [seq, keys]
	graph_value growth;   // [1, seq, 1]; NO_VALUE: none
	graph_value tokens;   // mask_of_new
};

// Which layers have a window and which have experts; sizes that both have.
void inkling_resolve(struct config *c, struct spec *s, struct arena *a);
struct inkling_shared inkling_share(struct build *b, const struct body *io, graph_value x);
// The convolution of x along the text, which reads padding as zeros: [batch, seq, width]
graph_value inkling_convolve(
	struct build *b, struct body *io, const char *stem, graph_value x, int which, const struct inkling_shared *p);
// What is added to the scores for how far back a key is: r [batch, seq, heads, relative] -> [batch, heads, seq, keys]
graph_value inkling_bias(struct build *b, graph_value r, const struct inkling_shared *p);
extern const struct family_head inkling_heads[];

#endif
