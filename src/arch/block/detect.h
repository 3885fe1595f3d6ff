// SPDX-License-Identifier: Apache-2.0
// What detection transformers have in common: the configuration, the backbone as a part, positions of a padded map, attention
// whose queries and keys have positions added, and the small networks that tell boxes.
#ifndef ASSAY_ARCH_BLOCK_DETECT_H
#define ASSAY_ARCH_BLOCK_DETECT_H

#include "arch/block/image.h"

// The beginning of spec.own of the families that have this.
struct detect {
	int64_t queries;
	int64_t encoder_layers, encoder_heads, encoder_ffn;
	int64_t decoder_layers, decoder_heads, decoder_ffn;
	bool learned_positions;
	bool auxiliary;             // auxiliary_loss: the last norm stands after every decoder layer
	int64_t temperature;        // of sine positions
	int64_t temperature_across; // of columns; 0: the same
	double turn;                // what positions are counted up to; 0: 2 pi
	bool wrapped;               // the names of timm\'s backbone begin with "_backbone."
	bool described;             // without backbone_config the backbone is the class's own configuration of one
	int64_t maps;               // of the last stages of a backbone that config.json does not describe; 0: of all four
};

// The activation prelu is taken where the dialect has a word for "decoder.ffn.slope", and is ACT_NONE then.
// From config.json, both spellings of the backbone; s->hidden_size is the width of the transformer.
void resolve_detector(struct config *c, struct spec *s, struct arena *a, struct detect *d);
// The second way to call d's layers: those that are built when the model is shortened.
int64_t detect_layers(const struct spec *s, int64_t layers);

// What the heads of detectors read beside io->last, as io->own.
struct detected {
	graph_value memory, mask, map, point; // point: where a query looks [batch, queries, 2]; NO_VALUE in DETR
	const graph_value *maps, *states;     // the backbone's maps [map_count], the decoder's states [state_count]
	int64_t map_count;
	int state_count;
};
enum { DETECT_WITHIN = 1 }; // a head's flag: in that class the detector is a part, with all its names

struct detect_inputs {
	graph_value pixels, mask;
}; // mask i64 [batch, height, width], 1 where there is an image
struct detect_inputs detect_inputs(struct build *b);
graph_value detect_mask(
	struct build *b, graph_value mask, graph_value map);     // the mask on the map's grid: f32 [batch, height, width]
graph_value detect_mask_bias(struct build *b, graph_value mask); // -> [batch, 1, 1, height*width], for op_attention
graph_value detect_positions(struct build *b, graph_value mask, graph_value map); // [batch, height*width, hidden]
// Sines of x [.., 1] times 2 pi (when not yet) in `width` wave lengths: [.., width], sine and cosine side by side.
graph_value detect_sines(struct build *b, graph_value x, int64_t width, double temperature);

// Sines of rows, then of columns, counted from 1 and up to 2 pi; i64 [1] each: [1, rows*columns, w]
graph_value detect_places(struct build *b, graph_value height, graph_value width, int64_t w);

// STEM.q, .k, .v, .o; hidden x hidden each.
graph_value detect_attention(
	struct build *b, const char *stem, graph_value q, graph_value k, graph_value v, graph_value bias, int64_t heads);
graph_value detect_ffn(struct build *b, const char *stem, graph_value x, int64_t inner); // STEM.up, .down; .slope of prelu [1]
// x + y, normed as the model does: after (STEM.norm over the sum) or, where norms come first, not at all.
// Where the dialect has a word for "encoder.scale.#", positions are scaled by what two linear layers make of the states.
graph_value detect_encoder(struct build *b, graph_value x, graph_value positions, graph_value bias);
// STEM with # for the number of each of `layers` linear layers, relu between them.
graph_value detect_mlp(struct build *b, const char *stem, graph_value x, int64_t layers, int64_t inner, int64_t out);
graph_value detect_queries(struct build *b, const char *stem, int64_t count, int64_t width);     // a table as [1, count, width]
graph_value detect_zeros(struct build *b, graph_value like_batch, int64_t count, int64_t width); // [batch, count, width] of 0

// mask_head.c: masks [batch, queries, height, width] of the queries' states.
graph_value detect_segments(struct build *b, graph_value states, graph_value memory, graph_value mask, graph_value projected,
	const graph_value *maps, int64_t map_count);

#endif
