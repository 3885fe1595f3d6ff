// SPDX-License-Identifier: Apache-2.0
// What makes one fine map of a backbone's states of several depths (Ranftl et al. 2021, https://arxiv.org/abs/2103.13413):
// states become maps of several sizes, and from the coarsest on each is added to what the ones before it came to.
#ifndef ASSAY_ARCH_BLOCK_NECK_H
#define ASSAY_ARCH_BLOCK_NECK_H

#include "arch/block/image.h"

// The beginning of spec.own of the families that have this. Lists have a number for each state.
struct neck {
	int64_t states;
	const int64_t *channels;
	const double *factors; // how much larger than the grid of patches a state's map is
	int64_t width;         // of all maps when they are added
	int64_t chosen;        // which of the sums the head reads, from the first; -1: the last
	bool batch_norm, bias; // in the residual layers
	bool to_next;          // a sum gets the size of the next map, not twice its own
};

// From fusion_hidden_size, head_in_index, reassemble_factors and the list under `channels_key`.
void resolve_neck(struct config *c, struct arena *a, struct neck *n, const char *channels_key);
// A factor of 1 leaves a map as it is. map [batch, hidden, rows, cols]; b->layer is the state's number.
graph_value neck_reassemble(struct build *b, const struct neck *n, graph_value map);
// maps [n->states] -> the chosen sum [batch, width, height, width]. prompt [batch, 1, ..] is added at every size; NO_VALUE: none.
graph_value neck_fuse(struct build *b, const struct neck *n, const graph_value *maps, graph_value prompt);
// The same; every sum, the coarsest first, into sums [n->states], and the coarsest map before its sum into *coarsest.
graph_value neck_fuse_all(struct build *b, const struct neck *n, const graph_value *maps, graph_value prompt, graph_value *sums,
	graph_value *coarsest);
// x through the first residual layer of a sum or its second, by "neck.first.1", "neck.first.2" and so on.
graph_value neck_residual(struct build *b, const struct neck *n, graph_value x, bool second);
graph_value neck_resize(struct build *b, graph_value x, graph_value height, graph_value width); // i64 [1] each; corners meet
graph_value neck_doubled(struct build *b, graph_value x);

#endif
