// SPDX-License-Identifier: Apache-2.0
// What denoising networks and autoencoders of pictures are made of (Ho et al. 2020, https://arxiv.org/abs/2006.11239; Rombach et
// al. 2022, https://arxiv.org/abs/2112.10752). Maps are [batch, channels, height, width]. In a dialect's names $ is the block
// ("down_blocks.0"), # the layer in it, * the item in the layer.
#ifndef ASSAY_ARCH_BLOCK_DIFFUSION_H
#define ASSAY_ARCH_BLOCK_DIFFUSION_H

#include "arch/block/image.h"

// How residual blocks and attention over a map are normed and activated.
struct residual {
	int64_t groups; // of the group norms
	double eps;
	enum activation act;
	bool scale_shift; // the time scales and shifts what was normed; else it is added before the norm
};

// NAME f32 [batch, channels, HEIGHT, WIDTH]; height and width are symbols' names.
graph_value map_input(struct build *b, const char *name, int64_t channels, const char *height, const char *width);
// Steps, any numeric type [n], as sines and cosines of geometric frequencies: [n, width]. diffusers' get_timestep_embedding:
// frequency i is 10000^(-i / (width / 2 - shift)).
graph_value timestep_embedding(struct build *b, graph_value step, int64_t width, bool cosine_first, int64_t shift);
// A constant: the same of 0, step, 2 * step, .., cosines first: [count, width], width even.
graph_value timestep_table(struct build *b, int64_t count, int64_t step, int64_t width);
// STEM.1 and STEM.2 with an activation between: [n, in] -> [n, out].
graph_value timestep_layers(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, enum activation act);

// sample_size: one number, or height and width; `usual` where there is none.
void resolve_sample_size(struct config *c, struct arena *a, int64_t size[2], int64_t usual);

graph_value group_norm(struct build *b, const char *stem, graph_value x, int64_t groups, double epsilon);
// x -(norm)-(act)- 3x3 -(+ time)-(norm)-(act)- 3x3 -(+)-   with a 1x1 convolution beside it where the width changes; time [batch,
// width], activated, or NO_VALUE. Stems "residual.*".
graph_value residual_block(
	struct build *b, const struct residual *how, graph_value x, int64_t out, graph_value time, int64_t width);
// x + attention among all places, with `heads` heads. Stems "places.*".
graph_value places_attention(struct build *b, const struct residual *how, graph_value x, int64_t heads);
// Half as high and wide, by a 3x3 convolution "down" that pads all sides, or only below and to the right.
graph_value map_halved(struct build *b, graph_value x, bool one_sided);
// Nearest, to the size of `like` (NO_VALUE: twice its own), then a 3x3 convolution "up".
graph_value map_enlarged(struct build *b, graph_value x, graph_value like);

#endif
