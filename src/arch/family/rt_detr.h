// SPDX-License-Identifier: Apache-2.0
// What the real-time detectors share (rt_detr.c, d_fine.c), and what their rows may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_RT_DETR_H
#define ASSAY_ARCH_FAMILY_RT_DETR_H

#include "arch/block/deform.h"
#include "arch/block/detect.h"

#define RT_DETR_TRAITS(X, T) \
	X(T, FLAG, scaled_offsets, "how far places may lie from a box is said by config.json") \
	X(T, FLAG, distributed, "the sides of boxes are distributions, refined from layer to layer (D-FINE)") \
	X(T, FLAG, lean, "maps are added where others are joined, the decoder has RMS norms and gates (DEIMv2)")
FAMILY_TRAITS(rt_detr, RT_DETR_TRAITS);

struct rt_detr {
	struct detect detect;
	int64_t maps, levels; // of the backbone; of the decoder
	int64_t width, fused; // of the encoder; within a fusion
	int64_t attended_count;
	const int64_t *attended; // maps that attention is over
	const int64_t *points;   // [levels]
	double offset_scale, norm_eps;
	bool discrete;   // struct deform's
	bool placed;     // positions are added in the encoder's attention
	bool crossed;    // these are counted down columns of as many places as a row has: right for squares alone (OmDet-Turbo)
	bool fine, lean; // the traits distributed and lean
	int64_t blocks;  // of a fusion's branch
	// D-FINE: steps of a side's distribution; how many of them the quality of a box is told from, by a network of that size
	int64_t bins, best, best_ffn, best_layers;
	enum activation conv_act, encoder_act, decoder_act; // conv_act: of fusions
	enum activation side_act;                           // of what stands between the encoder's maps
	// DEIMv2. details: channels of the first of the convolutions that stand beside a backbone of patches; trailing: a branch
	// ends with a 3x3; gated: what a decoder's layer saw is weighed, not added
	bool lite, gated, shared_boxes, trailing, patches;
	int64_t details;
};

// The hybrid encoder of section 4.2 of https://arxiv.org/abs/2304.08069: maps [maps] of any channels become such of `width`.
// spec.own begins with struct rt_detr.
void rt_detr_encode(struct build *b, graph_value *maps);
// A convolution without bias and its norm. out: channels; kernel 1 or 3.
graph_value rt_detr_conv(
	struct build *b, const char *stem, graph_value x, int64_t out, int64_t kernel, int64_t stride, enum activation act);
// x [batch, .., rows, columns] through two 1x1, one of them and then `blocks` of parallel 3x3 and 1x1; the sum of both branches,
// of `fused` channels. number: of the fusion.
graph_value rt_detr_branches(struct build *b, const char *stem, graph_value x, int64_t number);

// `blocks` of parallel 3x3 and 1x1, one after the other: x [.., fused, rows, columns] -> the same.
graph_value rt_detr_bottlenecks(struct build *b, const char *stem, graph_value x, int64_t number);

// d_fine.c, section 3 of https://arxiv.org/abs/2410.13842
void d_fine_resolve(struct config *c, struct spec *s, struct rt_detr *o);
graph_value d_fine_fusion(struct build *b, const char *stem, graph_value both, int64_t number); // both maps side by side
graph_value d_fine_smaller(struct build *b, graph_value x);                                     // half as many rows and columns
graph_value d_fine_gate(struct build *b, graph_value x, graph_value y);                         // instead of the sum and its norm
graph_value d_fine_clamp(struct build *b, graph_value x, float most);
struct d_fine {
	graph_value first, corners, before; // box of the first layer; logits of all sides; states of the layer before
};
// The box after layer b->stage, whose states are x; before the first layer f is zero. box [batch, queries, 4]: the query's own.
graph_value d_fine_box(struct build *b, struct d_fine *f, graph_value x, graph_value box);
graph_value d_fine_quality(struct build *b, const struct d_fine *f); // [batch, queries, 1], added to the logits

// deimv2.c
void deim_resolve(struct config *c, struct spec *s, struct rt_detr *o);
graph_value deim_norm(struct build *b, const char *stem, graph_value x);
graph_value deim_feed(struct build *b, const char *stem, graph_value x);
graph_value deim_position(struct build *b, graph_value box);
graph_value deim_fusion(struct build *b, const char *stem, graph_value sum, int64_t number);
void deim_lite(struct build *b, graph_value *maps, int64_t count); // two maps of the backbone's [count]
// The backbone's maps [count], all of the size of its patches, at half as many rows and columns each as the one before, the last
// but one at the size of the patches, with the details of the picture.
void deim_detailed(struct build *b, graph_value pixels, graph_value *maps, int64_t count);

#endif
