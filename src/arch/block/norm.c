// SPDX-License-Identifier: Apache-2.0
// The norm that a row's traits name: RMS norm or layer norm, with a weight, 1 + weight, no bias, or nothing learned at all.
#include "arch/block/block.h"

graph_value ones_of(struct build *b, int64_t width)
{
	struct graph *g = b->g;
	struct arena passing = { 0 }; // every layer asks for it again
	float *ones = GRAPH_TABLE(g, &passing, width, 1, float);
	for (int64_t i = 0; ones && i < width; i++)
		ones[i] = 1;
	graph_value all = graph_constant(g, DTYPE_F32, 1, &width, ones);
	arena_done(&passing);
	return all;
}

graph_value norm(struct build *b, const char *stem, graph_value x, int64_t width)
{
	struct graph *g = b->g;
	const struct traits *t = &b->s->traits;
	graph_value w;
	if (t->norm_no_weight) {
		w = ones_of(b, width);
	} else {
		w = WEIGHT(b, stem, "weight", width);
		w = t->norm_plus_one ? op_add(g, w, graph_f32(g, 1)) : w;
	}
	if (!t->layer_norm)
		return op_rms_norm(g, x, w, (float)b->s->norm_eps);
	graph_value bias = t->norm_no_weight || t->norm_no_bias ? NO_VALUE : WEIGHT(b, stem, "bias", width);
	return op_layer_norm(g, x, w, bias, (float)b->s->norm_eps);
}

graph_value norm_scaled_first(struct build *b, const char *stem, graph_value x, int64_t width)
{
	struct graph *g = b->g;
	if (weight_named(b, stem))
		x = op_mul(g, x, op_add(g, WEIGHT(b, stem, "weight", width), graph_f32(g, 1)));
	return op_rms_norm(g, x, ones_of(b, width), (float)b->s->after_eps);
}
