// SPDX-License-Identifier: Apache-2.0
#include "arch/block/modulation.h"

#include <math.h>

graph_value modulation_row(struct build *b, graph_value rows, int64_t row, int64_t width)
{
	return op_unsqueeze(b->g, op_slice(b->g, rows, 1, row * width, (row + 1) * width), 1);
}

struct modulation modulation_of(struct build *b, graph_value rows, int64_t first, int64_t width)
{
	return (struct modulation){ .shift = modulation_row(b, rows, first, width),
		.scale = modulation_row(b, rows, first + 1, width),
		.gate = modulation_row(b, rows, first + 2, width) };
}

graph_value norm_unlearned(struct build *b, graph_value x, double epsilon)
{
	if (graph_failed(b->g))
		return NO_VALUE;
	return op_layer_norm(b->g, x, ones_of(b, value_dim(b->g, x, -1)), NO_VALUE, (float)epsilon);
}

graph_value modulated(struct build *b, graph_value x, graph_value scale, graph_value shift)
{
	x = op_mul(b->g, x, op_add(b->g, scale, graph_f32(b->g, 1)));
	return shift.id ? op_add(b->g, x, shift) : x;
}

graph_value modulate(struct build *b, graph_value x, struct modulation m)
{
	return modulated(b, x, m.scale, m.shift);
}

graph_value gated(struct build *b, graph_value x, graph_value gate, graph_value branch)
{
	return op_add(b->g, x, op_mul(b->g, gate, branch));
}

graph_value heads_normed(struct build *b, const char *stem, graph_value x, int64_t heads, double epsilon)
{
	struct graph *g = b->g;

	if (graph_failed(g))
		return NO_VALUE;
	int64_t all = value_dim(g, x, -1), width = all / heads;
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width });
	x = op_rms_norm(g, x, WEIGHT(b, stem, "weight", width), (float)epsilon);
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, all });
}

void resolve_axes(struct config *c, const char *key, struct arena *a, int64_t count, int64_t head_width, struct axes *out)
{
	int64_t sum = 0;
	const int64_t *width = config_sizes(c, key, a, 0, &out->count);

	if (c->error.status)
		return;
	if (!width || out->count > AXES_MOST || (count && out->count != count)) {
		config_fail(c, STATUS_BAD_INPUT, "%s should have a number for each axis, %d at most", key,
			count ? (int)count : AXES_MOST);
		return;
	}
	for (int64_t i = 0; i < out->count; i++) {
		sum += out->width[i] = width[i];
		if (width[i] % 2 || !width[i])
			config_fail(c, STATUS_BAD_INPUT, "%s has %lld, which is no even number", key, (long long)width[i]);
	}
	if (sum != head_width)
		config_fail(c, STATUS_BAD_INPUT, "%s: %lld elements in all, a head has %lld", key, (long long)sum,
			(long long)head_width);
}

void axes_tables(struct build *b, const struct axes *axes, graph_value ids, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	graph_value angle[AXES_MOST];

	*cos = *sin = NO_VALUE;
	for (int64_t i = 0; i < axes->count; i++) {
		int64_t half = axes->width[i] / 2;
		float *rate = GRAPH_TABLE(g, NULL, half, 1, float);

		for (int64_t k = 0; rate && k < half; k++)
			rate[k] = (float)pow(10000, -2.0 * (double)k / (double)axes->width[i]);
		angle[i] = op_mul(
			g, op_slice(g, ids, 2, i, i + 1), graph_constant(g, DTYPE_F32, 3, (int64_t[]){ 1, 1, half }, rate));
	}
	graph_value all = axes->count > 1 ? op_concat(g, (int)axes->count, angle, 2) : angle[0];
	*cos = op_unsqueeze(g, op_cos(g, all), 2);
	*sin = op_unsqueeze(g, op_sin(g, all), 2);
}
