// SPDX-License-Identifier: Apache-2.0
// What rows of T5 and its kin may set (traits.h), what its files share, and its halves for families that have one of them.
#ifndef ASSAY_ARCH_FAMILY_T5_H
#define ASSAY_ARCH_FAMILY_T5_H

#include "arch/block/seq2seq.h"

#define T5_TRAITS(X, T) \
	X(T, FLAG, relative_each_layer, "every layer has its own bias by distance, not the first for all") \
	X(T, FLAG, unscaled_head, "a tied head reads the state as it is, not divided by sqrt(hidden)")
FAMILY_TRAITS(t5, T5_TRAITS);

struct body;

// A bias by distance: in the text, or between the middles of two boxes.
struct t5_bias {
	enum { BY_PLACE, BY_COLUMN, BY_ROW } by;
	int64_t buckets, farthest;
	double scale; // of distances on the page
};

// A page's picture among its words (UDOP).
struct t5_page {
	int64_t side;  // patches each way
	int64_t boxes; // rows of the tables of places on the page
	struct t5_bias bias[3];
	int64_t bias_count;
};

// t5_page.c. NULL: the type reads text alone.
const struct t5_page *t5_resolve_page(struct config *c, struct spec *s, struct arena *a, int64_t buckets);
// input_ids, attention_mask, bbox f32 [batch, seq, 4], left, upper, right and lower side within 0 to 1, and pixel_values.
// io->mask is of the words and of the patches that no word lies on, [batch, seq + patches].
struct t5_seen {
	graph_value boxes;   // f32 [batch, seq + patches, 4], zeros where there is no patch
	graph_value on;      // i64 [batch, seq]: the patch that the middle of a word lies on
	graph_value nowhere; // bool [batch, seq]: the word's box is empty or all of the page
	graph_value order;   // i64 [batch, patches]: first those that no word lies on
	graph_value pixels;
};
void t5_page_inputs(struct build *b, struct body *io, const struct t5_page *p, struct t5_seen *seen);
// words [batch, seq, hidden] -> [batch, seq + patches, hidden]
graph_value t5_page_embed(struct build *b, const struct t5_page *p, const struct t5_seen *seen, graph_value words);
// Added to the scores: [batch or 1, heads, seq + patches, seq + patches]
graph_value t5_page_bias(struct build *b, const struct t5_page *p, graph_value boxes);

struct t5 { // spec.own of the whole and of both halves
	int64_t farthest;
	bool gated, scaled_head, is_decoder, relative_each_layer;
	int64_t experts, capacity, sparse_step; // Switch: every sparse_step-th layer has experts; 0: none
	bool router_bias;
	int64_t radius; // LongT5: the encoder looks this far; 0: everywhere
	int64_t eos, start;
	const struct t5_page *page; // UDOP: what is read is a page; NULL: text
};
void t5_stack(
	struct build *b, struct body *io); // the layers of either half, and the last norm: a struct seq2seq's encode or decode

// b->s as both halves of a model of this family.
struct seq2seq t5_halves(const struct build *b);

#endif
