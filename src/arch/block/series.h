// SPDX-License-Identifier: Apache-2.0
// Time series of several channels, scaled and cut into patches: what PatchTST and its kin begin and end with.
#ifndef ASSAY_ARCH_BLOCK_SERIES_H
#define ASSAY_ARCH_BLOCK_SERIES_H

#include "arch/block/block.h"

enum series_scaling { SCALING_NONE, SCALING_MEAN, SCALING_DEVIATION };

// What spec.own of such a family begins with.
struct series {
	int64_t length, channels, patch, stride, patches, prediction;
	enum series_scaling scaling;
	graph_value level, scale; // while building: [batch, 1, channels]; NO_VALUE: values are as they were given
};

enum series_scaling series_scaling_of(struct config *c); // "scaling"
void series_resolve(struct config *c, struct series *o);
// The input past_values f32 [batch, length, channels], all of it observed -> scaled patches [batch, channels, patches, patch]
graph_value series_patches(struct build *b, struct series *o);
graph_value series_unscaled(struct build *b, const struct series *o, graph_value x); // x [batch, steps, channels]
// Layer norm over the last axis of x [.., tokens, width], or batch norm by stored statistics of each of its elements.
graph_value series_norm(struct build *b, const char *stem, graph_value x, int64_t width, bool batch);

#endif
