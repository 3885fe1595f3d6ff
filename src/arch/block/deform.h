// SPDX-License-Identifier: Apache-2.0
// Attention that looks at a few places of several maps instead of at all (Zhu et al. 2020, https://arxiv.org/abs/2010.04159):
// each query says by a linear layer where, around a reference, and by another how much each place counts.
#ifndef ASSAY_ARCH_BLOCK_DEFORM_H
#define ASSAY_ARCH_BLOCK_DEFORM_H

#include "arch/block/image.h"

enum { DEFORM_LEVELS_MOST = 16 };

// Maps whose places follow one another in `memory` [batch, all places, width], the first map's first.
struct deform_levels {
	int64_t count;
	graph_value height[DEFORM_LEVELS_MOST], width[DEFORM_LEVELS_MOST]; // i64 [1]
	graph_value begin[DEFORM_LEVELS_MOST + 1];                         // i64 [1]: where each begins, and where the last ends
	graph_value memory;
};
// maps [count], each [batch, width, rows, columns]
struct deform_levels deform_levels(struct build *b, const graph_value *maps, int64_t count);
graph_value deform_level(struct build *b, const struct deform_levels *l, graph_value memory, int64_t level); // back to a map
// The middle of each place of a map, x and y between 0 and 1: [rows*columns, 2].
graph_value deform_centres(struct build *b, graph_value height, graph_value width);
// Of all maps one after the other, as shares of what ratios say is not padding: [batch, places, 2].
graph_value deform_all_centres(struct build *b, const struct deform_levels *l, graph_value ratios);

// The levels of s->hidden_size channels from a backbone's maps [count], by "source" and "source.norm": a 1x1 convolution of each,
// then of the last one, and of each made so, one that halves it.
void deform_sources(struct build *b, const graph_value *found, int64_t count, graph_value *maps, int64_t levels);

// What the mask of a picture i64 [batch, height, width] comes to on the levels.
struct deform_masks {
	graph_value each[DEFORM_LEVELS_MOST]; // f32 [batch, rows, columns]
	graph_value all, ratios;              // those of struct deform
};
struct deform_masks deform_masks(struct build *b, graph_value mask, const graph_value *maps, int64_t count);

// A box around each place, larger in coarser maps, before the sigmoid: [places, 4]; *valid [places, 1]: does it lie within the
// picture. Elsewhere it is the largest float32. With ratios, which are those of struct deform, [batch, places, 4] and [.., 1].
graph_value deform_anchors(struct build *b, const struct deform_levels *l, graph_value ratios, graph_value *valid);

struct deform {
	int64_t heads;
	const int64_t *points; // [levels]
	double offset_scale;   // of boxes: offsets are such a part of them
	graph_value memory;    // [batch, places, width]
	graph_value reference; // [batch or 1, queries, 2] or boxes [.., 4], the same for all levels
	graph_value ratios;    // [batch, levels, 2]: how much of each map, in width and height, is not padding; NO_VALUE: all
	graph_value mask;      // f32 [batch, places, 1]: 0 at padding; NO_VALUE: there is none
	bool discrete;         // what is looked at is the nearest place, not a mean of four
};
// STEM.offsets, STEM.weights, STEM.v, STEM.o, and where the dialect has a word for it STEM.scale [all points], what offsets are
// multiplied with instead of 1 over the points of the level. Without a word for STEM.v there is no STEM.o either.
// query [batch, queries, width], with positions added.
graph_value deform_attention(
	struct build *b, const char *stem, graph_value query, const struct deform_levels *l, const struct deform *d);

// A layer of an encoder: x [batch, places, width] looks at itself by "encoder.attn", then "encoder.ffn" of so many within; norms
// come after the sums. d: without memory.
graph_value deform_encoder_layer(struct build *b, graph_value x, graph_value positions, const struct deform_levels *l,
	const struct deform *d, int64_t ffn);
// What each place of an encoder's states is as a query, by "choice" and "choice.norm": [batch, places, width]; of places outside
// the picture what zeros are. *anchor: deform_anchors.
graph_value deform_proposals(
	struct build *b, const struct deform_levels *l, const struct deform_masks *m, graph_value memory, graph_value *anchor);
// How many places of each level a query looks at: the number under `key`, 4 where it says nothing, as [levels].
const int64_t *deform_resolve_points(struct config *c, struct arena *a, const char *key, int64_t levels);

graph_value inverse_sigmoid(struct graph *g, graph_value x); // as torch's detectors do: log(max(x, e) / max(1 - x, e))
// Rows of x [batch, rows, width] by indices i64 [batch, n]: [batch, n, width]
graph_value rows_at(struct graph *g, graph_value x, graph_value indices);

#endif
