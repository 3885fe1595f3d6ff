// SPDX-License-Identifier: Apache-2.0
// What families are made of. A stem names a weight in the family's own words ("layers.attn.q"); the dialect says what the
// file calls it. Everything is built in float32: a weight stored in 16 bits is cast where it is read.
#ifndef ASSAY_ARCH_BLOCK_BLOCK_H
#define ASSAY_ARCH_BLOCK_BLOCK_H

#include "arch/spec.h"
#include "onnx/op.h"

struct build {
	struct graph *g;
	const struct spec *s; // of the part that is built now
	const struct checkpoint *c;
	const struct arch_graph *which;
	graph_value ids;            // input_ids [batch, seq], for heads that look at them; NO_VALUE for images
	int64_t layer, stage, item; // what # in a dialect's name stands for: one # layer; two: stage, layer; three: with item
	const char *item_name;      // what $ in a dialect's name stands for
	bool *read;                 // [c->weight_count]
	double gain;                // in a plan: of the seeded weights read now (struct weight); 0: as usual
	struct plan *plan;          // not NULL: the checkpoint has no weights; record which would be needed
};

// What a body reads and what it gives. A member that does not apply is NO_VALUE.
struct body {
	// in: one of ids, embeds, pixels, features
	graph_value ids;       // i64 [batch, seq]
	graph_value embeds;    // [batch, seq, hidden] instead of ids, for models that put images among the tokens
	graph_value types;     // i64 [batch, seq]
	graph_value blocks;    // i64 [batch, keys]: tokens of the same block see each other; 0: of none; NO_VALUE: none is
	graph_value pixels;    // [batch, channels, height, width]
	graph_value features;  // of sound, as the family says
	graph_value mask;      // i64 [batch, keys], 1 where there is a token
	graph_value bias;      // [batch, 1, seq, keys] of an encoder, added to its scores in the place of what `mask` says
	graph_value positions; // i64 [batch, seq]; NO_VALUE: counted from 0
	graph_value axes;      // i64 [3, batch, seq] instead: by time, row and column
	graph_value grid;      // i64 [pictures, 3] of pixels that are patches: how many in time, height and width
	graph_value merge;     // i64 [pictures]: so many patches each way become one feature
	graph_value memory, memory_mask; // a decoder's encoder states [batch, source, hidden] and their mask
	graph_value memory_bias,
		memory_rows;            // of layers that look at it: [batch, 1, seq, source]; f32 [batch, seq, 1], whose sees any
	struct cache *cache;            // NULL: none
	struct cache *cross;            // of the keys and values of `memory`; NULL: none
	struct recurrent *states_after; // recurrent states, which come in and go out; NULL: they begin as zeros and are not given
	// out
	graph_value last;    // [batch, seq, hidden], after the last norm
	graph_value pooled;  // [batch, hidden] where the body itself pools
	graph_value streams; // [batch, n, seq, hidden] where it predicts n tokens at a place (ProphetNet)
	graph_value *states; // transformers' hidden_states: after the embedding and after each layer, [state_count] of them
	int64_t state_count;
	// out of a vision tower, into a decoder: [batch, seq, hidden], added after each of the first layers
	graph_value *deep;
	int64_t deep_count;
	const void *own; // what only the family's own heads know of
};

// Builds another part of the model: b->s is that part in between.
//	const struct spec *outer = part_enter(b, "vision");  ...  part_leave(b, outer);
const struct spec *part_enter(struct build *b, const char *part);
void part_leave(struct build *b, const struct spec *outer);

// For the loop over b->s->layers: io->states gets what each layer begins with, then what the last one gives.
void states_begin(struct build *b, struct body *io, graph_value x);
void states_add(struct body *io, graph_value x);

// The inputs of a decoder by itself: input_ids, attention_mask; for a causal language model position_ids and a cache too.
void decoder_inputs(struct build *b, struct body *io);
// The whole of one: inputs, `states` further states beside its cache, the body, the head, outputs.
void decoder_whole(struct build *b, int64_t states, void (*body)(struct build *b, struct body *io));

// cache.c: keys and values of earlier tokens: past_key_values.N.KINDkey [batch, kv_heads, past, width] -> present.N.KINDkey.
// KIND is "" in a decoder alone, "decoder." or "encoder." beside an encoder. Where the symbol past_sequence_length is bound to
// 0 there are no past inputs.
struct cache {
	const char *kind;
	graph_value *key, *value;           // [count]: what present.N will be
	graph_value *past_key, *past_value; // [count]: the inputs declared so far
	graph_value *index;                 // [count]: likewise present.N.index, of an indexer's keys; NO_VALUE: none
	// CACHE_SHARED: the inputs are buffers with room for all tokens. From the mask, whose rows must not begin with padding:
	// the place of each row's last token, i32 [batch], and how many columns there are, i32. NO_VALUE: the plain form.
	graph_value row_last, row_most;
	struct {
		graph_value cos; // of rope_tables
		struct rotation as;
	} rotary[2]; // CACHE_SHARED: tables as op_rotary takes them, made once: layers with a window may have others
	int64_t count;
};
struct cache *cache_new(struct build *b, int64_t layers, const char *kind);
// The input past_key_values.LAYER.KIND+word [batch, heads, LENGTH, width], declared when it is first asked for; word is "key" or
// "value", LENGTH a symbol's name.
graph_value cache_past(
	struct build *b, const struct cache *cache, const char *word, int64_t heads, int64_t width, const char *length);
int64_t cache_total(struct build *b); // past and new tokens together: a symbol, or a number where both are bound
// k and v of the new tokens [batch, seq, kv_heads * width] become those of all, [batch, kv_heads, total_sequence_length, width].
void cache_extend(struct build *b, struct cache *cache, graph_value *k, graph_value *v, int64_t kv_heads, int64_t width,
	int64_t value_width);
void cache_extend_index(struct build *b, struct cache *cache, graph_value *k, int64_t width); // k [batch, seq, width]
// Attention over a cache in its shared form, with everything that was added to the scores said in other words (arch_unshared).
graph_value cache_attend(
	struct build *b, struct cache *cache, graph_value q, graph_value k, graph_value v, graph_value sink, float scale);
void cache_outputs(struct build *b, const struct cache *cache); // declares present.*, after the model's own outputs

// recurrent.c: states of fixed size that one run of a language model hands to the next, and what state spaces share.
// input_ids [batch, seq], attention_mask [batch, total]; io->states_after where the head predicts the next token.
void recurrent_inputs(struct build *b, struct body *io);
// From here on states come in and go out: at most two kinds in each of so many layers. The graph calls state_outputs at its end.
void state_begin(struct build *b, struct body *io, int64_t layers);
// past_KIND.LAYER [batch, dim..] of f32, or zeros for each row of x [batch, ..] where there is no past. KIND is one of flow.c.
graph_value state_before(struct build *b, const struct body *io, const char *kind, graph_value x, int rank, const int64_t *dim);
void state_after(struct build *b, struct body *io, const char *kind, graph_value state);
void state_outputs(struct build *b, const struct body *io); // declares present_KIND.LAYER, after the model's own outputs
// Of the new tokens, which are the last of the mask's columns, as a factor: f32 [batch, seq, 1]. x [batch, seq, ..]
graph_value mask_of_new(struct build *b, const struct body *io, graph_value x);
// Each channel by itself over the last `kernel` tokens, then `act`: x [batch, seq, channels] -> the same. Its state "conv":
// the last kernel - 1 inputs, [batch, channels, kernel - 1].
graph_value causal_convolution(struct build *b, struct body *io, const char *stem, graph_value x, int64_t channels,
	int64_t kernel, bool bias, enum activation act);

graph_value causal_convolution_of(struct build *b, struct body *io, graph_value w, graph_value offset, graph_value x,
	enum activation act); // w [channels, 1, kernel]

// x [batch, seq, hidden], normed, and mask_of_new -> [batch, seq, hidden]
typedef graph_value recurrent_mixer(struct build *b, struct body *io, graph_value x, graph_value mask);
void recurrent_layers(struct build *b, struct body *io, recurrent_mixer *mixer); // x + mixer(norm(x)), and the last norm
void recurrent_build(struct build *b); // the whole graph of a family whose body is made of such layers
extern const struct family_head recurrent_heads[];

// weight.c
// STEM.SUFFIX of this shape, as float32; suffix "" for a tensor that has none. Fails when absent or of another shape.
graph_value weight(struct build *b, const char *stem, const char *suffix, int rank, const int64_t *dim);
graph_value weight_integers(
	struct build *b, const char *stem, int rank, const int64_t *dim); // STEM as i64; a plan makes it up of fractions
#define WEIGHT(b, stem, suffix, ...) \
	weight((b), (stem), (suffix), (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[]){ __VA_ARGS__ })
bool weight_exists(const struct build *b, const char *stem, const char *suffix); // true in a plan
// Both weights are in the file, as other bytes; false where one is computed, and in a plan.
bool weights_differ(const struct build *b, const char *stem, const char *other, const char *suffix);
bool weight_named(const struct build *b, const char *stem); // does the dialect have a word for it?
// One row a head, each a tensor of its own (STEM.ITEM.weight [width]), as [heads, width].
graph_value weights_of_heads(struct build *b, const char *stem, int64_t heads, int64_t width);
// Part b->item of a tensor [items, ..] that lies in the file as one: [..], read from its place, nothing is copied.
graph_value weight_item(struct build *b, const char *stem, int rank, const int64_t *dim);
// flat: the file's tensor is [items * dim[1], dim[2]].
graph_value weight_item_of(struct build *b, const char *stem, int rank, const int64_t *dim, bool flat);
// The first dimension of STEM.SUFFIX as the file has it; `usual` where there is no file.
int64_t weight_rows(const struct build *b, const char *stem, const char *suffix, int64_t usual);
// Rows of a table [rows, width] by ids [batch, seq]: [batch, seq, width].
graph_value embedding(struct build *b, const char *stem, graph_value ids, int64_t rows, int64_t width);

// STEM.adapter_a and STEM.adapter_b: x [.., in] -> adapter_rank -> [.., out]
graph_value adapter_of(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out);

// x [.., in] -> [.., out]
graph_value linear(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, bool bias);
graph_value layer_norm(struct build *b, const char *stem, graph_value x, int64_t width);
graph_value rms_norm(struct build *b, const char *stem, graph_value x, int64_t width);
graph_value activate(struct build *b, enum activation act, graph_value x);
graph_value leaky_relu(struct graph *g, graph_value x, double slope); // slope is at most 1
graph_value elu(struct graph *g, graph_value x);                      // x, or exp(x) - 1 below 0

// attention.c
// What is added to the scores [batch, heads, query, key]: 0 where attending is allowed, the lowest float32 elsewhere (as
// transformers does: a row with nothing allowed then attends to everything equally).
graph_value mask_bidirectional(struct build *b, graph_value attention_mask); // [batch, seq] -> [batch, 1, 1, seq]
// For the last `seq` of the mask's columns: [batch, keys] -> [batch, 1, seq, keys]; window 0: none. x [batch, seq, ..]: the
// queries.
graph_value mask_causal(struct build *b, graph_value attention_mask, graph_value x, int64_t window);
// Within chunks of so many tokens, counted from each row's first one.
graph_value mask_chunks(struct build *b, graph_value attention_mask, graph_value x, int64_t chunk);
// The same, but tokens of one block [batch, keys] see each other, within the window too.
graph_value mask_causal_blocks(struct build *b, graph_value attention_mask, graph_value x, int64_t window, graph_value blocks);
graph_value mask_relative(
	struct build *b, graph_value mask, graph_value ids); // + learned bias by distance: [batch, heads, seq, seq]
// relative.c: of how far a key is behind its query, any shape, the number of its bucket
graph_value distance_buckets(struct build *b, graph_value behind, int64_t buckets, int64_t farthest, bool both_ways);
// STEM.weight [buckets, heads] by bucket of distance, for places [seq, 1] and [1, keys]: [1, heads, seq, keys].
// Without both_ways keys ahead count as none away.
graph_value distance_bias_of(struct build *b, const char *stem, graph_value query, graph_value key, int64_t rows, int64_t buckets,
	int64_t farthest,
	bool both_ways); // of a table of more rows
graph_value distance_bias(
	struct build *b, const char *stem, graph_value query, graph_value key, int64_t buckets, int64_t farthest, bool both_ways);
// Part `begin` to `end` of each head of x [batch, seq, heads * all]
graph_value heads_part(struct graph *g, graph_value x, int64_t heads, int64_t all, int64_t begin, int64_t end);
graph_value self_attention(struct build *b, graph_value x, graph_value bias, graph_value cos, graph_value sin, bool qkv_bias,
	bool out_bias, struct cache *cache);
// What attention takes beside its input; each may be NO_VALUE.
struct attention_extras {
	graph_value bias;         // added to the scores
	graph_value cos, sin;     // rotary tables
	graph_value query_scale;  // [batch or 1, seq, 1]
	graph_value positions;    // i64 [batch or 1, seq]
	graph_value log_place;    // log(1 + position), likewise: queries of each head grow with it
	graph_value types;        // i64 [batch, seq], where scores go by them
	graph_value mask, global; // i64 [batch, seq], of global_attention; mask [batch, keys] of index_blocks
	graph_value between;      // [batch, query, key, head_width]: what queries meet besides the keys
	graph_value words;        // [1]: how many tokens are words, the others are entities
	bool turn_value;          // values are rotated too
	graph_value *chosen;      // the bias with what an indexer did not choose masked, for layers that share it
	struct kept *kept;        // [layers]: what other layers may take (spec.keys_of); NULL: none does
};
struct kept {
	graph_value key, value; // of latent attention: the latent of both, and the part of the keys that is turned
};
struct heads heads_of(const struct spec *s, int64_t layer);
graph_value self_attention_with(
	struct build *b, graph_value x, const struct attention_extras *e, bool qkv_bias, bool out_bias, struct cache *cache);
// Linear bias by position (ALiBi), a slope for each head, in the way that the trait alibi says: [batch or 1, heads, 1, keys].
graph_value mask_alibi(struct build *b, graph_value attention_mask);
graph_value mask_window_both(struct build *b, graph_value attention_mask, graph_value x,
	int64_t window); // |query - key| < window: [batch, 1, seq, seq]

// STEM [heads, distances]: [1, heads, to*to, from*from], the bias of each pair of two square grids by the distance of rows and of
// columns. Distances are numbered in the order in which pairs show them; a query of side `to` stands at every `step`th place of
// the keys' side `from` (LeViT, https://arxiv.org/abs/2104.01136, section 4.4).
graph_value offset_bias(struct build *b, const char *stem, int64_t heads, int64_t from, int64_t to, int64_t step);

// global.c: mask, global i64 [batch, seq]: tokens, and which of them see all and are seen by all; x [batch, seq, hidden]
graph_value global_attention(
	struct build *b, const char *stem, graph_value x, graph_value mask, graph_value global, int64_t window);
// attention_window, one for each layer; NULL: there is no such key.
const int64_t *resolve_attention_windows(struct config *c, struct spec *s, struct arena *a);

// indexer.c
// e->bias [batch, 1, seq, keys] with what is not chosen masked. x [batch, seq, hidden], query: the query's latent, normed.
graph_value index_tokens(
	struct build *b, graph_value x, graph_value query, const struct attention_extras *e, struct cache *cache);
// Which of keys [batch, keys, width], `count` of them (i64 scalar), among those `seen` [batch, 1, seq, keys], are chosen: bool of
// that shape.
graph_value index_entries(struct build *b, graph_value x, graph_value query, graph_value keys, graph_value count,
	graph_value seen, const struct attention_extras *e);
// As index_tokens without a latent, of blocks of tokens, by e->mask and the rotary tables.
graph_value index_blocks(struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache);

// latent.c, moe.c: instead of self-attention and feed-forward
// q [batch, seq, heads, width] times STEM.s * log_place + STEM.b, one each for each head
graph_value scale_by_log(struct build *b, const char *stem, graph_value q, graph_value log_place);
graph_value latent_attention(struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache);
graph_value compressed_attention(
	struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache); // compress.c
graph_value mixture(struct build *b, graph_value x);
// The sum of what all experts make of x, each times its own of weights [batch, seq, experts or more].
graph_value weighed_experts(struct build *b, graph_value x, graph_value weights);
// Of each number along the last axis, whose length is known: is it one of the k greatest? Never more than k, of equals those
// that TopK names, and NaN among them.
graph_value are_greatest(struct graph *g, graph_value x, int64_t k);
graph_value route(struct build *b, const char *stem, graph_value x); // by STEM.router: [batch, seq, experts], 0 where not chosen
graph_value attention_of_experts(struct build *b, graph_value x, const struct attention_extras *e, struct cache *cache);
graph_value mixture_apart(struct build *b, graph_value chooser, graph_value x); // the router looks at something else

// crossing.c: x [batch, seq, hidden], of a decoder's layer that looks at io->memory
graph_value crossing_layer(struct build *b, const struct body *io, graph_value x);

// hyper.c: residual streams, [batch, seq, streams, hidden]
struct hyper_weights {
	graph_value after; // what of a branch's result each stream gets, [batch, seq, streams]
	graph_value mix;   // [batch, seq, streams, streams]; NO_VALUE: streams are not mixed
};
graph_value hyper_begin(struct build *b, graph_value x); // [batch, seq, hidden] -> the streams
// What a branch reads [batch, seq, hidden], and what becomes of its result y, by STEM.fn, STEM.scale and STEM.base;
// of low rank by STEM.norm, STEM.down, STEM.up and STEM.inject.
graph_value hyper_enter(struct build *b, const char *stem, graph_value streams, struct hyper_weights *w);
graph_value hyper_leave(struct build *b, graph_value streams, graph_value y, const struct hyper_weights *w);
graph_value hyper_end(struct build *b, graph_value streams); // the streams -> [batch, seq, hidden]

// altup.c: several states side by side, x [batch, seq, inputs, hidden].
graph_value altup_begin(struct build *b, graph_value x);   // [batch, seq, hidden] -> the states
graph_value altup_active(struct build *b, graph_value x);  // the one that layers work on, [batch, seq, hidden]
graph_value altup_predict(struct build *b, graph_value x); // before a layer
graph_value altup_correct(struct build *b, graph_value predicted, graph_value y); // after it gave y [batch, seq, hidden]
graph_value altup_add(struct build *b, graph_value x, graph_value y);             // y [batch, seq, hidden], to all but the first
graph_value altup_end(struct build *b, graph_value x);                            // the states -> [batch, seq, hidden]
graph_value altup_laurel(struct build *b, graph_value x);

// norm.c: the norm of the row's traits. ffn.c: STEM.gate, STEM.up, STEM.down from hidden to width and back.
graph_value norm(struct build *b, const char *stem, graph_value x, int64_t width);
// RMS norm, by s->after_eps, of x times 1 + weight, or of x where the dialect has no word for the weight.
graph_value norm_scaled_first(struct build *b, const char *stem, graph_value x, int64_t width);
// A constant: what a norm without a weight multiplies by.
graph_value ones_of(struct build *b, int64_t width);
graph_value ffn_of(struct build *b, const char *stem, graph_value x, int64_t width, bool bias);
// (up + 1) * gate * sigmoid(alpha * gate), with gate at most `limit` and up within it both ways (gpt-oss)
graph_value clamped_glu(struct build *b, graph_value gate, graph_value up, double alpha, double limit);
graph_value clamped_silu_glu(struct build *b, graph_value gate, graph_value up, double limit); // silu(gate) * up, likewise
graph_value ffn_between(struct build *b, const char *stem, graph_value x, int64_t outer, int64_t width, bool bias); // of another

// 0, 1, .. for each of x [batch, seq, ..]: [seq]
graph_value places_of(struct graph *g, graph_value x);
// rope.c: cos and sin [batch or 1, seq, 1, dim / 2], and x [batch, seq, heads * width] whose heads' first dim elements are
// rotated by them. positions [batch, seq], or NO_VALUE: 0, 1, .. for each of x [batch, seq, ..].
void rope_tables(struct build *b, graph_value x, graph_value positions, graph_value *cos, graph_value *sin); // of b->s->rope
void rope_tables_of(struct build *b, const struct rope *r, int64_t dim, graph_value x, graph_value positions, graph_value *cos,
	graph_value *sin);
// By the three positions of axes i64 [3, batch, seq], each for its sections of the angles.
void rope_tables_by_section(
	struct build *b, const struct rope *r, int64_t dim, graph_value x, graph_value axes, graph_value *cos, graph_value *sin);
graph_value rope_query_scale(
	struct build *b, const struct rope *r, graph_value x, graph_value positions); // by position_beta: [batch or 1, seq, 1]
graph_value rope_turn(struct build *b, graph_value x, graph_value cos, graph_value sin, int64_t heads);
// The same by one operator: of a graph with a shared cache, which is no standard ONNX anyway.
graph_value rope_turn_fused(struct build *b, struct cache *cache, graph_value x, graph_value cos, graph_value sin, int64_t heads);
graph_value rope_turn_by(struct build *b, graph_value x, graph_value cos, graph_value sin, int64_t heads,
	bool interleaved); // whatever the trait says
graph_value rope_turn_end(struct build *b, graph_value x, graph_value cos, graph_value sin, int64_t heads,
	bool interleaved); // the end of each head, not its beginning

// prenorm.c: layers that norm before each branch, without a cache; all biases there. Over all of b->s->layers into io->states and
// io->last.
graph_value prenorm_layer(struct build *b, graph_value x, graph_value bias);
void prenorm_layers(struct build *b, struct body *io, graph_value x, graph_value bias);
void prenorm_layers_rotary(struct build *b, struct body *io, graph_value x, graph_value bias, graph_value cos, graph_value sin);
graph_value prenorm_ffn(struct build *b, const char *up, const char *down, graph_value x); // wherever the norm is: act(up), down
// The inputs of the two towers of dual models: input_ids and attention_mask; pixel_values [BATCH, channels, size, size].
void text_tower_inputs(struct build *b, struct body *io);
void vision_tower_inputs(struct build *b, struct body *io, const char *batch);
// What pools a text: the first place of this token, or of the greatest id (eos -1). hidden [batch, seq, width] -> [batch, width]
graph_value token_at_end(struct build *b, graph_value ids, graph_value hidden, int64_t eos);
graph_value clip_patches(struct build *b, graph_value pixels); // (class token and) patches + positions: [batch, tokens, hidden]
graph_value unit_length(struct build *b, graph_value x);       // x / |x| over the last axis
// What dual models' resolve begins with: both towers and the keys beside them.
void dual_resolve_towers(struct config *c, struct spec *s, struct arena *a);

// Position ids that count tokens which are not padding, from pad_token_id + 1 (roberta and its kin): [batch, seq].
graph_value positions_from_pad(struct build *b, graph_value ids);
graph_value first_token(struct build *b, graph_value hidden); // [batch, seq, width] -> [batch, width]

#endif
