// SPDX-License-Identifier: Apache-2.0
// What the files of the encoder family share: what only this family knows of a model, and the inputs that only some types have.
#ifndef ASSAY_ARCH_FAMILY_ENCODER_H
#define ASSAY_ARCH_FAMILY_ENCODER_H

#include "arch/block/block.h"

// What rows may set: traits.h.
#define ENCODER_TRAITS(X, T) \
	X(T, FLAG, always_projected, "from embedding_size to hidden_size even where they are equal") \
	X(T, FLAG, padding_zeroed, "the embedding of padding is zero") \
	X(T, FLAG, pad_is_zero, "the padding token's embedding is zero, whatever the file has") \
	X(T, FLAG, rows_beyond, "the rows before the first position are beyond max_position_embeddings") \
	X(T, FLAG, states_zeroed, "the states of padding are zero, the embedding and after every layer") \
	X(T, FLAG, shared_layers, "all layers of a group use the same weights") \
	X(T, FLAG, relative_buckets, "a learned bias by bucket of distance, shared by the layers") \
	X(T, FLAG, fourier, "tokens are mixed by a Fourier transform instead of attention")
FAMILY_TRAITS(encoder, ENCODER_TRAITS);

enum summary { SUMMARY_FIRST, SUMMARY_LAST, SUMMARY_MEAN };

struct encoder {
	bool causal;       // every token sees those before it only
	bool sees_padding; // then padding too, whose states are zero (XLM)
	bool norm_first;   // norms before each branch and after the last layer
	bool qkv_bias;
	int64_t inner;        // layers in a group that shares its weights
	enum summary summary; // how a text becomes one vector where alternatives are compared and there is no pooler
	bool summary_projected;
	enum activation summary_act;
	int64_t out_size;    // what a last linear layer makes of the states; 0: there is none
	int64_t near_blocks; // pairs of blocks whose tokens are compared one by one; 0: there are no blocks (MRA)
	bool near_only;      // other pairs have no part; else their blocks' means have
	int64_t first_blocks, diagonal_blocks; // of each text and along the diagonal, chosen before others
	int64_t longest;                       // longer texts would be read in another way; 0: no limit
	// embedding
	bool positions; // a learned table is added
	bool normed;
	bool rotary, rotary_value;
	bool mask_ratio; // masked tokens are zeros, the others grow as if dropped out (ESM)
	int64_t mask_token;
	int64_t languages;    // rows of the table of languages; 0: none (XLM)
	int64_t task_types;   // rows of the table of tasks; 0: none (ERNIE)
	int64_t boxes;        // rows of the tables of places on the page; 0: none (LayoutLM)
	const int64_t *types; // rows of each of several tables of types, [type_count] (TAPAS)
	int64_t type_count;
	bool cell_positions;  // positions begin anew in every cell of a table
	int64_t aggregations; // what may be made of the cells that are an answer; 0: nothing
	double cell_temperature;
	int64_t table_rows, table_columns; // rows and columns from there on are one; 0: it has no cells
	bool empty_column;                 // it may be that no column is selected
	int64_t shapes, shape_width, sounds,
		sound_width; // rows and widths of what a character looks and sounds like; 0: none (RoCBert)
	bool joined;         // those are joined to the word and mapped; else added and averaged
	int64_t depth, tags, numbers,
		unit;      // of a token's place in a tree: levels, rows of both tables, their width; 0: none (MarkupLM)
	int64_t seen_size; // width of what a picture's regions look like; 0: no picture (VisualBERT)
	// layers
	int64_t adapter; // width of a language's adapter; 0: none (X-MOD)
	const char *language;
	bool adapter_norm, adapter_reuses_norm, norm_before_adapter;
	int64_t groups[6];              // of the convolutions q, k, v, o, up, down; 0: linear layers (SqueezeBERT)
	int64_t kernel;                 // of the convolution beside attention; 0: there is none (ConvBERT)
	int64_t value_kernel;           // of the convolution over the values of each head; 0: there is none (Nystromformer)
	int64_t hash_bits;              // of hashes by which tokens meet; 0: they meet by scores (YOSO)
	int64_t farthest;               // distances, as vectors, beyond which they are all the same; 0: none (NEZHA)
	int64_t matrix_groups;          // feed-forward layers with a matrix for each group of channels; 1: plain
	int64_t shrink;                 // how much narrower the stream of places on the page is; 0: there is none (LiLT)
	bool by_distance;               // scores by content, distance and segment (XLNet)
	int64_t clamp;                  // farther distances are all the same; 0: none is
	const int64_t *windows;         // of each layer, around a token; NULL: none (Longformer)
	int64_t separator;              // the token that ends a question
	int64_t side_width, size_width; // of the parts that say where a token is and how large; 0: there are none (LayoutLMv3)
	int64_t text_buckets, text_farthest, page_buckets, page_farthest; // of biases by distance; 0: none
	bool picture;                                                     // the page's picture follows the words
	int64_t rows, cols;                                               // of its patches or cells
	const struct pyramid *pyramid;                                    // that it is made of; NULL: patches
	bool joint;    // queries, keys and values of one matrix, two of them with a bias
	bool segment;  // the picture's tokens have a vector of their own
	int64_t sides; // numbers of a box that a pair of tokens is compared by; 0: none (BROS)
	double box_scale;
	int64_t entities, entity_width; // rows and width of their table; 0: there are none (LUKE)
	bool entities_tied, aware;      // aware: queries know whether a word or an entity is looked at
	int64_t retrieved;              // width of a text as REALM retrieves it
	int64_t question_token;         // where it stands a span is asked for; -1: no such thing (Splinter)
};

// Inputs of a text; a member that does not apply is NO_VALUE.
struct text_inputs {
	graph_value language, task, boxes, shapes, sounds, tags, numbers, seen, seen_types;
	graph_value pixels;
	graph_value entities, entity_types, entity_places; // i64 [batch, entities], places [batch, entities, words]
};

// Heads whose class reads entities beside words, and so on.
enum {
	HAS_ENTITIES = 1,
	WORDS_ONLY = 2, // and gives nothing of the picture after the words
	FIRST_SEES_ALL = 4,
	QUESTION_SEES_ALL = 8,
	CELLS_APART = 16, // words only, too, where the picture is of a pyramid's cells
	SELECTS_COLUMN = 32
};

void encoder_resolve_embedding(struct config *c, struct spec *s, struct encoder *e, struct arena *a);
// encoder_head.c. io->own: the value input_ids as it came in, [batch, seq] or [batch, choices, seq]
extern const struct family_head encoder_heads[];
void encoder_build_cells(struct build *b, const struct body *io); // encoder_cells.c
// encoder_attention.c
graph_value encoder_span_attention(struct build *b, graph_value x, graph_value bias);
graph_value encoder_distance_attention(struct build *b, graph_value x, graph_value bias);
graph_value encoder_convolved_attention(struct build *b, graph_value x, graph_value bias);
graph_value encoder_hashed_attention(struct build *b, graph_value x, graph_value mask); // mask i64 [batch, seq]
graph_value encoder_block_attention(struct build *b, graph_value x);                    // encoder_blocks.c
void encoder_resolve_blocks(struct config *c, struct spec *s, struct encoder *e);
graph_value encoder_grouped_linear(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int64_t groups);
// q [batch, heads, seq, head_width] and between [batch, query, key, head_width]: what is added to the scores
graph_value encoder_pair_attention(struct build *b, graph_value x, graph_value bias, graph_value between);
graph_value encoder_box_pairs(struct build *b, graph_value boxes); // [batch, query, key, head_width]
graph_value encoder_entity_attention(struct build *b, graph_value x, graph_value bias, graph_value words);
graph_value encoder_embed_entities(struct build *b, const struct text_inputs *in);
// encoder_distance.c
void encoder_resolve_distance(struct config *c, struct spec *s, struct encoder *e);
graph_value encoder_distance_mask(struct build *b, graph_value mask, graph_value ids);
graph_value encoder_by_distance(struct build *b, graph_value x, graph_value bias, graph_value types);
// encoder_page.c
void encoder_resolve_page(struct config *c, struct spec *s, struct encoder *e, struct arena *a);
int64_t encoder_page_tokens(const struct encoder *e);      // that the picture is
graph_value encoder_page_side(struct build *b, int which); // i64 [1, tokens of the picture]
graph_value encoder_page_places(struct build *b, graph_value boxes);
graph_value encoder_page_picture(struct build *b, graph_value pixels);
graph_value encoder_page_bias(struct build *b, graph_value ids, graph_value boxes, graph_value mask);
// encoder_pyramid.c. image [batch, 3, height, width] -> [batch, cells, hidden]
void encoder_resolve_pyramid(struct config *c, struct spec *s, struct encoder *e, struct arena *a);
graph_value encoder_pyramid_embed(struct build *b, graph_value image);
graph_value encoder_joint_attention(struct build *b, graph_value x, graph_value bias);
// encoder_layout.c
graph_value encoder_layout_embed(struct build *b, const struct body *io, graph_value boxes);
graph_value encoder_layout_layer(struct build *b, graph_value x, graph_value *layout, graph_value bias);
graph_value encoder_embed(struct build *b, const struct body *io, const struct text_inputs *in);

#endif
