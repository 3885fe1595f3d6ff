// SPDX-License-Identifier: Apache-2.0
// What families are made of. A stem names a weight in the family's own words ("layers.attn.q"); the dialect says what the
// file calls it. Everything is drawn in float32: a weight stored in 16 bits is cast where it is read.
#ifndef ASSAY_ARCH_BLOCK_BLOCK_H
#define ASSAY_ARCH_BLOCK_BLOCK_H

#include "arch/spec.h"
#include "onnx/op.h"

struct build {
	struct graph *g;
	const struct spec *s;        // of the part that is drawn now
	const struct checkpoint *c;
	enum arch_graph which;
	value ids;                   // input_ids [batch, seq], for heads that look at them; NO_VALUE for images
	int64_t layer, stage, item;  // what # in a dialect's name stands for: one # layer; two: stage, layer; three: with item
	bool *read;                  // [c->weight_count]
	struct plan *plan;           // not NULL: the checkpoint has no weights; record which would be needed
};

// What a body reads and what it gives. A member that does not apply is NO_VALUE.
struct body {
	// in: one of ids, embeds, pixels, features
	value ids;                   // i64 [batch, seq]
	value embeds;                // [batch, seq, hidden] instead of ids, for models that put images among the tokens
	value types;                 // i64 [batch, seq]
	value pixels;                // [batch, channels, height, width]
	value features;              // of sound, as the family says
	value mask;                  // i64 [batch, keys], 1 where there is a token
	value positions;             // i64 [batch, seq]; NO_VALUE: counted from 0
	value memory, memory_mask;   // a decoder's encoder states [batch, source, hidden] and their mask
	struct cache *cache;         // NULL: none
	// out
	value last;                  // [batch, seq, hidden], behind the last norm
	value pooled;                // [batch, hidden] where the body itself pools
	value *states;               // transformers' hidden_states: after the embedding and after each layer, [state_count] of them
	int64_t state_count;
};

// Draws another part of the model: b->s is that part in between.
//	const struct spec *outer = part_enter(b, PART_VISION);  ...  part_leave(b, outer);
const struct spec *part_enter(struct build *b, enum part part);
void part_leave(struct build *b, const struct spec *outer);

// For the loop over b->s->layers: io->states gets what each layer begins with, then what the last one gives.
void states_begin(struct build *b, struct body *io, value x);
void states_add(struct body *io, value x);

// The inputs of a decoder by itself: input_ids, attention_mask; for a causal language model position_ids and a cache too.
void decoder_inputs(struct build *b, struct body *io);

// cache.c: keys and values of earlier tokens: past_key_values.N.KINDkey [batch, kv_heads, past, width] -> present.N.KINDkey.
// KIND is "" in a decoder alone, "decoder." or "encoder." beside an encoder. Where the symbol past_sequence_length is bound to
// 0 there are no past inputs.
struct cache {
	const char *kind;
	value *key, *value;          // [count]: what present.N will be
	int64_t count;
};
struct cache *cache_new(struct build *b, int64_t layers, const char *kind);
// The input past_key_values.LAYER.KIND+word [batch, heads, LENGTH, width]; word is "key" or "value", LENGTH a symbol's name.
value cache_past(struct build *b, const struct cache *cache, const char *word, int64_t heads, int64_t width, const char *length);
int64_t cache_total(struct build *b);                // past and new tokens together: a symbol, or a number where both are bound
// k and v of the new tokens [batch, seq, kv_heads * width] become those of all, [batch, kv_heads, total_sequence_length, width].
void cache_extend(struct build *b, struct cache *cache, value *k, value *v, int64_t kv_heads, int64_t width, int64_t value_width);
void cache_outputs(struct build *b, const struct cache *cache);      // declares present.*, behind the model's own outputs

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
// For the last `seq` of the mask's columns: [batch, keys] -> [batch, 1, seq, keys]; window 0: none. x [batch, seq, ..]: the queries.
value mask_causal(struct build *b, value attention_mask, value x, int64_t window);
value mask_relative(struct build *b, value mask, value ids);                         // + learned bias by distance: [batch, heads, seq, seq]
value self_attention(struct build *b, value x, value bias, value cos, value sin, bool qkv_bias, bool out_bias, struct cache *cache);

// rope.c: cos and sin [batch or 1, seq, 1, head_width / 2], and x [batch, seq, heads * head_width] turned by them.
// positions [batch, seq], or NO_VALUE: 0, 1, .. for each of x [batch, seq, ..].
void rope_tables(struct build *b, value x, value positions, value *cos, value *sin);
value rope_turn(struct build *b, value x, value cos, value sin, int64_t heads);

// Position ids that count tokens which are not padding, from pad_token_id + 1 (roberta and its kin): [batch, seq].
value positions_from_pad(struct build *b, value ids);
value first_token(struct build *b, value hidden);                                    // [batch, seq, width] -> [batch, width]

#endif
