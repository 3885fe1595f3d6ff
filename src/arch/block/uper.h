// SPDX-License-Identifier: Apache-2.0
// Classes of every place from maps of several sizes: a pyramid of means of the coarsest, and each map with all coarser ones
// (Xiao et al. 2018, https://arxiv.org/abs/1807.10221).
#ifndef ASSAY_ARCH_BLOCK_UPER_H
#define ASSAY_ARCH_BLOCK_UPER_H

#include "arch/block/image.h"

// Names, for a dialect: `norm` is what the norm after a convolution is called.
#define UPER_STEP(canonical, file, norm) \
	{ canonical ".conv", file ".conv" }, \
	{ \
		canonical ".norm", file "." norm \
	}
#define UPER_NAMES(norm) \
	UPER_STEP("uper.pool", "decode_head.psp_modules.#.1", norm), UPER_STEP("uper.pooled", "decode_head.bottleneck", norm), \
		UPER_STEP("uper.lateral", "decode_head.lateral_convs.#", norm), \
		UPER_STEP("uper.fpn", "decode_head.fpn_convs.#", norm), \
		UPER_STEP("uper.fused", "decode_head.fpn_bottleneck", norm), \
	{ \
		"uper.classes", "decode_head.classifier" \
	}
// The same as transformers 5 writes them.
#define UPER_NEW_STEP(canonical, file) \
	{ canonical ".conv", file ".convolution" }, \
	{ \
		canonical ".norm", file ".normalization" \
	}
#define UPER_NEW_NAMES \
	UPER_NEW_STEP("uper.pool", "decode_head.psp_modules.blocks.#.conv"), \
		UPER_NEW_STEP("uper.pooled", "decode_head.psp_bottleneck"), \
		UPER_NEW_STEP("uper.lateral", "decode_head.lateral_convs.#"), \
		UPER_NEW_STEP("uper.fpn", "decode_head.fpn_convs.#"), UPER_NEW_STEP("uper.fused", "decode_head.fpn_bottleneck")

struct uper {
	int64_t width;         // of all maps within the head
	const int64_t *scales; // [count]: cells a side of each level of the pyramid
	int64_t count;
};
void resolve_uper(struct config *c, struct arena *a, struct uper *u, int64_t width); // pool_scales
// maps [map_count] from the finest on -> [batch, labels, height, width] of the finest
graph_value uper_classes(struct build *b, const struct uper *u, const graph_value *maps, int64_t map_count);

#endif
