// SPDX-License-Identifier: Apache-2.0
// HiFi-GAN's generator (Kong et al. 2020, https://arxiv.org/abs/2010.05646), by itself and at the end of models that speak. Its
// stems: "first", "longer" by step, "stacks.dilated" and "stacks.plain" by step and layer, "last".
#ifndef ASSAY_ARCH_FAMILY_VOCODER_H
#define ASSAY_ARCH_FAMILY_VOCODER_H

#include "arch/block/sound.h"

struct vocoder {
	int64_t bins, width, steps, stacks;
	const int64_t *rates, *kernels;             // [steps]
	const int64_t *stack_kernels;               // [stacks]
	const int64_t **dilations, *dilation_count; // [stacks], each [dilation_count[i]]
	double slope;
	bool plain_last; // the last convolution has no bias
};

// All but bins and plain_last, which are the caller's and are there before.
void vocoder_resolve(struct config *c, struct vocoder *v, struct arena *a);
int64_t vocoder_rate(const struct vocoder *v); // samples of a frame
// [batch, bins, frames] -> [batch, samples]; `told` is added behind the first convolution, [1, width, 1], or NO_VALUE.
graph_value vocoder_sing(struct build *b, const struct vocoder *v, graph_value x, graph_value told);

#endif
