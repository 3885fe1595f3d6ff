// SPDX-License-Identifier: Apache-2.0
// What models that read pictures among the tokens of a text have in common: any vision type, something that joins it to the
// width of the text, any text type. A family says how its pictures come in and what joins; vlm.c does the rest.
#ifndef ASSAY_ARCH_FAMILY_VLM_H
#define ASSAY_ARCH_FAMILY_VLM_H

#include "arch/block/block.h"

// What rows may set: traits.h.
#define VLM_TRAITS(X, T) \
	X(T, FLAG, projector_norm, "a norm before the projector, which always has biases and no class token") \
	X(T, FLAG, films, "films have a token and a tower of their own, whose class tokens count, too")
FAMILY_TRAITS(vlm, VLM_TRAITS);
#define VLM_SHUFFLED_TRAITS(X, T) X(T, FLAG, projector_norm, "a norm before the projector; its states are chosen by layer")
FAMILY_TRAITS(vlm_shuffled, VLM_SHUFFLED_TRAITS);

#define VLM_GRID_TRAITS(X, T) \
	X(T, FLAG, one_position, "a token has one position, and so has a picture's") \
	X(T, FLAG, projected, "a linear layer joins the tower's features to the text") \
	X(T, FLAG, read_out, "two linear layers with GELU between do") \
	X(T, FLAG, read_twice, "two linear layers with GELU between read a patch, two more a square of them") \
	X(T, FLAG, told_by_id, "a picture's tokens are those of its id; else mm_token_type_ids tells them") \
	X(T, FLAG, text_ties, "the head is tied where text_config says so, too") \
	X(T, FLAG, interleaved_sections, "time, row and column take turns among the rotary angles; else they follow one another")
FAMILY_TRAITS(vlm_grid, VLM_GRID_TRAITS);

#define VLM_CONNECTED_TRAITS(X, T) X(T, FLAG, normed, "a norm after the projector, with the text's epsilon")
FAMILY_TRAITS(vlm_connected, VLM_CONNECTED_TRAITS);

#define VLM_TILES_TRAITS(X, T) X(T, FLAG, shrinks, "a grid of more features than vision_aspect_ratio says is shrunk")
FAMILY_TRAITS(vlm_tiles, VLM_TILES_TRAITS);

// Which mask of its frames comes with the sound.
enum sound_mask { SOUND_UNMASKED, SOUND_FEATURES_MASK, SOUND_ATTENTION_MASK };
#define VLM_SOUND_TRAITS(X, T) \
	X(T, COUNT, frames_mask, "the sound's frames have a mask: 1 input_features_mask, 2 feature_attention_mask") \
	X(T, FLAG, grouped_states, "the tower's states side by side, as wide as its feed-forward, become one feature") \
	X(T, FLAG, wide_projector, "twice as wide inside as the text, with biases") \
	X(T, FLAG, may_tie, "tie_word_embeddings counts")
FAMILY_TRAITS(vlm_sound, VLM_SOUND_TRAITS);
#define VLM_UNHEARD_TRAITS(X, T) \
	X(T, FLAG, may_tie, "tie_word_embeddings counts") \
	X(T, FLAG, text_ties, "the head is tied where text_config says so, too") \
	X(T, FLAG, gives_last, "last_hidden_state comes out beside the logits")
FAMILY_TRAITS(vlm_unheard, VLM_UNHEARD_TRAITS);

struct vlm {
	int64_t image_token_id, film_token_id;
	int64_t layer_count;
	const int64_t *layers;    // [layer_count] of the vision tower's states, from the front
	bool drops_first;         // the first token of each picture, its class token, is left out
	bool looks_last;          // the tower's result after its last norm, not a state
	bool blocks;              // token_type_ids says which tokens are a picture's: those of one see each other
	bool by_picture;          // image_hidden_states has a dimension for the pictures
	bool bias, norm;          // of the projector: its linear layers have biases; a norm before it
	int64_t downsample, wide; // squares of so many features each way become one; width between linear layers, 0: the text's
	int64_t joints;           // linear layers of the projector
	const int64_t *marks;     // [mark_count] ids of tokens that stand for learned rows
	int64_t mark_count;
	bool padded;        // vlm_grid: rows of patches, one a picture, with zeros behind them
	int64_t queries;    // that ask a picture
	bool hard;          // a feature is one visual word, not a mean of many
	bool joins;         // the whole joins squares of the tower's patches
	int64_t deep_count; // of the tower's features that are added between the text's layers
	// llava_next: pictures come in tiles; the resolutions that a picture may be brought to, smallest area first
	int64_t resolution_count;
	const int64_t *heights, *widths;
	int64_t most_tiles; // a grid of more features than those of so many tiles is shrunk; 0: none is
};
static inline const struct vlm *vlm_of(const struct spec *s)
{
	return s->own;
}

// The part under text_config and the token that what stands among the text's takes the place of. Makes s->own. False after an
// error.
bool vlm_resolve_text(struct config *c, struct spec *s, struct arena *a, bool or_text, const char *const *text_roots);
// The parts under text_config and vision_config, the token that stands for a picture; tied when either configuration says so
// (or_text) or this one does. Makes s->own. False after an error.
bool vlm_resolve(struct config *c, struct spec *s, struct arena *a, bool or_text);
// vlm_resolve for classes that have everything after "model." and the vision part there at `vision_root`, or, for files of
// another time, without "model.".
bool vlm_resolve_below(struct config *c, struct spec *s, struct arena *a, const char *vision_root);
// The same with what names of the parts may begin with.
bool vlm_resolve_parts(struct config *c, struct spec *s, struct arena *a, bool or_text, const char *const *text_roots,
	const char *const *vision_roots);
// vision_feature_layer and, unless it is always so, vision_feature_select_strategy.
void vlm_resolve_layers(struct config *c, struct spec *s, struct arena *a, bool drops_first);

// pixels [pictures, channels, height, width] -> the chosen states side by side [pictures, tokens, width]
graph_value vlm_look(struct build *b, graph_value pixels);
int64_t vlm_vision_width(const struct spec *s);
// Squares of f * f features become one (pixel shuffle): [pictures, side * side, width] -> [.., (side / f)^2, f * f * width]
graph_value vlm_shuffle(struct build *b, graph_value x, int64_t side, int64_t f, int64_t width);
int64_t vlm_side(const struct spec *s);           // of the tower's grid of features
int64_t vlm_picture_tokens(const struct spec *s); // of one picture in vlm_look's result
// two linear layers with an activation between: [.., in] -> [.., text]
graph_value vlm_project(struct build *b, graph_value x, int64_t in);

// ids [batch, seq] -> the text's embeddings [batch, seq, text]
graph_value vlm_embed(struct build *b, graph_value ids);
// Where there is an image token, and its number among all image tokens of the batch: bool and i64 [batch, seq].
void vlm_places(struct build *b, graph_value ids, graph_value *is_image, graph_value *number);
void vlm_places_of(struct build *b, graph_value ids, int64_t token, graph_value *is_it, graph_value *number);
// Rows of `features` [rows, text] in the places of the image tokens, the tokens' own embeddings elsewhere: [batch, seq, text].
graph_value vlm_merge(struct build *b, graph_value ids, graph_value is_image, graph_value row, graph_value features);
// Both for features [rows, text]; `given` is the output image_hidden_states where the class has one.
graph_value vlm_take(struct build *b, graph_value ids, graph_value rows, graph_value given);

// The same with what stands in the place of each token: [batch, seq, text].
graph_value vlm_merge_each(struct build *b, graph_value ids, graph_value is_image, graph_value each);

// The graphs. `see` declares the inputs of the pictures and gives their features; with ids [batch, seq] those of the whole
// model, merged: [batch, seq, text]; with NO_VALUE what vision_encoder.onnx gives. It may give the text part more than that.
void vlm_build(struct build *b, graph_value (*see)(struct build *b, graph_value ids, struct body *text));
extern const struct arch_graph *const vlm_graphs[], *const vlm_sound_graphs[];
// The same without a head, for models that have it as a part: io->last and io->mask.
void vlm_states(struct build *b, struct body *io, graph_value (*see)(struct build *b, graph_value ids, struct body *text));
// flags of heads: the text part has a language model's, or a masked one's; image_hidden_states; classes of tokens, of texts
enum { VLM_GENERATES = 1, VLM_GIVES_FEATURES = 2, VLM_FILLS = 4, VLM_TAGS = 8, VLM_SORTS = 16 };
extern const struct family_head vlm_heads[];
// For one tensor of pixels a picture: pixel_values -> vlm_look -> join, [.., tokens, text].
graph_value vlm_see(struct build *b, graph_value ids, graph_value (*join)(struct build *b, graph_value x));
// For pixels [rows, pictures, ..], where pictures of zeros fill up rows: join gives each `tokens` features.
graph_value vlm_see_rows(
	struct build *b, graph_value ids, bool any_size, int64_t tokens, graph_value (*join)(struct build *b, graph_value x));
// ColQwen2: pictures padded to one length, and one position a token, as the class calls it.
void vlm_grid_padded(struct spec *s);
void vlm_hints(const struct spec *s, struct input_hints *out);

#endif
