// SPDX-License-Identifier: Apache-2.0
// What families are made of. A stem names a weight in the family's own words ("layers.attn.q"); the dialect says what the
// file calls it. Everything is drawn in float32: a weight stored in 16 bits is cast where it is read.
#ifndef ASSAY_ARCH_BLOCK_BLOCK_H
#define ASSAY_ARCH_BLOCK_BLOCK_H

#include "arch/spec.h"
#include "onnx/op.h"

struct build {
	struct graph *g;
	const struct spec *s;
	const struct checkpoint *c;
	value ids;                   // input_ids [batch, seq], for heads that look at them; NO_VALUE for images
	int64_t layer;               // what # in a dialect's name stands for
	bool *read;                  // [c->weight_count]
	struct plan *plan;           // not NULL: the checkpoint has no weights; record which would be needed
};

// weight.c
// STEM.SUFFIX of this shape, as float32; suffix "" for a tensor that has none. Fails when absent or of another shape.
value weight(struct build *b, const char *stem, const char *suffix, int rank, const int64_t *dim);
#define WEIGHT(b, stem, suffix, ...) \
	weight((b), (stem), (suffix), (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[]){ __VA_ARGS__ })
bool weight_exists(const struct build *b, const char *stem, const char *suffix);     // true in a plan
// Rows of a table [rows, width] by ids [batch, seq]: [batch, seq, width].
value embedding(struct build *b, const char *stem, value ids, int64_t rows, int64_t width);

// x [.., in] -> [.., out]
value linear(struct build *b, const char *stem, value x, int64_t in, int64_t out, bool bias);
value layer_norm(struct build *b, const char *stem, value x, int64_t width);
value rms_norm(struct build *b, const char *stem, value x, int64_t width);
value activate(struct build *b, enum activation act, value x);

// attention.c
// What is added to the scores [batch, heads, query, key]: 0 where attending is allowed, the lowest float32 elsewhere (as
// transformers does: a row with nothing allowed then attends to everything equally).
value mask_bidirectional(struct build *b, value attention_mask);                     // [batch, seq] -> [batch, 1, 1, seq]
value mask_causal(struct build *b, value attention_mask, int64_t window);            // [batch, 1, seq, seq]; window 0: none
value mask_relative(struct build *b, value mask, value ids);                         // + learned bias by distance: [batch, heads, seq, seq]
value self_attention(struct build *b, value x, value bias, value cos, value sin, bool qkv_bias, bool out_bias);

// rope.c: cos and sin [1, seq, 1, head_width / 2], and x [batch, seq, heads * head_width] turned by them.
void rope_tables(struct build *b, value ids, value *cos, value *sin);
value rope_turn(struct build *b, value x, value cos, value sin, int64_t heads);

// Position ids that count tokens which are not padding, from pad_token_id + 1 (roberta and its kin): [batch, seq].
value positions_from_pad(struct build *b, value ids);
value first_token(struct build *b, value hidden);                                    // [batch, seq, width] -> [batch, width]

#endif
