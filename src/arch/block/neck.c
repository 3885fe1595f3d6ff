// SPDX-License-Identifier: Apache-2.0
// The neck of dense prediction transformers (neck.h).
//
//   state -> map - 1x1 - resize -> 3x3 -> f_i
//   sum_i = 1x1(twice the size of (residual(sum_i+1 + residual(f_i)))), the coarsest first
//   residual:  x -+- relu - 3x3 (- norm) - relu - 3x3 (- norm) -(+)-
//                 +---------------------------------------------+
#include "arch/block/neck.h"

#include <math.h>

void resolve_neck(struct config *c, struct arena *a, struct neck *n, const char *channels_key)
{
	n->channels = config_sizes(c, channels_key, a, 0, &n->states);
	const json_t *factors = config_get(c, "reassemble_factors"), *chosen = config_get(c, "head_in_index");
	if (!c->error.status && (!n->channels || n->states > CONFIG_COUNT_MOST || (int64_t)json_array_size(factors) < n->states))
		config_fail(c, STATUS_BAD_INPUT, "%s and reassemble_factors should have a number for each state", channels_key);
	double *f = ARENA_ARRAY(a, (size_t)n->states + 1, double);
	for (int64_t i = 0; i < n->states && !c->error.status; i++) {
		f[i] = json_number_value(json_array_get(factors, (size_t)i));
		if (!(f[i] >= 1.0 / 64 && f[i] <= 64) || (f[i] > 1 && f[i] != floor(f[i])) || n->channels[i] < 1)
			config_fail(c, STATUS_BAD_INPUT, "%s or reassemble_factors has a number that cannot be", channels_key);
	}
	n->factors = f;
	n->width = config_size(c, "fusion_hidden_size", 256);
	n->chosen = json_is_integer(chosen) ? json_integer_value(chosen) : -1;
	n->chosen += n->chosen < 0 ? n->states : 0;
	if (!c->error.status && (n->width < 2 || n->chosen < 0 || n->chosen >= n->states))
		config_fail(c, STATUS_BAD_INPUT, "fusion_hidden_size %lld, head_in_index %lld of %lld", (long long)n->width,
			(long long)n->chosen, (long long)n->states);
	n->bias = true;
}

graph_value neck_reassemble(struct build *b, const struct neck *n, graph_value map)
{
	int64_t w = n->channels[b->layer];
	double factor = n->factors[b->layer];
	graph_value x = conv(b, "neck.project", map, (struct conv){ .out = w, .kernel = 1, .bias = true });
	if (factor > 1) {
		int64_t k = (int64_t)factor;
		graph_value kernel = WEIGHT(b, "neck.resize", "weight", w, w, k, k);
		return op_conv_transpose(b->g, x, kernel, WEIGHT(b, "neck.resize", "bias", w), 2, (int64_t[]){ k, k },
			(int64_t[]){ 0, 0, 0, 0 }, 1);
	}
	if (factor < 1)
		return conv(b, "neck.resize", x,
			(struct conv){ .out = w, .kernel = 3, .stride = (int64_t)(1 / factor), .bias = true });
	return x;
}

graph_value neck_resize(struct build *b, graph_value x, graph_value height, graph_value width)
{
	struct graph *g = b->g;
	graph_value sizes[] = { op_dim(g, x, 0), op_dim(g, x, 1), height, width };
	return op_resize_corners(g, x, op_concat(g, 4, sizes, 0), "linear");
}

graph_value neck_doubled(struct build *b, graph_value x)
{
	graph_value two = graph_i64s(b->g, 1, (int64_t[]){ 2 });
	return neck_resize(b, x, op_mul(b->g, op_dim(b->g, x, 2), two), op_mul(b->g, op_dim(b->g, x, 3), two));
}

graph_value neck_residual(struct build *b, const struct neck *n, graph_value x, bool second)
{
	const struct conv c = { .out = n->width, .kernel = 3, .bias = n->bias };
	graph_value y = conv(b, second ? "neck.second.1" : "neck.first.1", op_relu(b->g, x), c);
	if (n->batch_norm)
		y = batch_norm(b, second ? "neck.second.1.norm" : "neck.first.1.norm", y, 1e-5);
	y = conv(b, second ? "neck.second.2" : "neck.first.2", op_relu(b->g, y), c);
	if (n->batch_norm)
		y = batch_norm(b, second ? "neck.second.2.norm" : "neck.first.2.norm", y, 1e-5);
	return op_add(b->g, y, x);
}

// Resized to the sum's size, through three convolutions: [batch, width, height, width]
static graph_value prompted(struct build *b, const struct neck *n, graph_value prompt, graph_value like)
{
	const struct conv c = { .out = n->width, .kernel = 3, .bias = true };
	graph_value y = op_relu(b->g, conv(b, "neck.prompt.1", resized_like(b, prompt, like, "linear"), c));
	return conv(b, "neck.prompt.3", op_relu(b->g, conv(b, "neck.prompt.2", y, c)), c);
}

graph_value neck_fuse_all(struct build *b, const struct neck *n, const graph_value *maps, graph_value prompt, graph_value *sums,
	graph_value *coarsest)
{
	struct graph *g = b->g;
	graph_value *f = GRAPH_TABLE(g, NULL, n->states, 1, graph_value), x = NO_VALUE;
	for (b->layer = 0; f && b->layer < n->states && !graph_failed(g); b->layer++)
		f[b->layer] = conv(b, "neck.conv", maps[b->layer], (struct conv){ .out = n->width, .kernel = 3 });
	if (!f || graph_failed(g))
		return NO_VALUE;
	*coarsest = f[n->states - 1];
	for (b->layer = 0; b->layer < n->states && !graph_failed(g); b->layer++) { // all weights are there

		int64_t at = n->states - 1 - b->layer;
		graph_enter(g, "fuse.%lld", (long long)b->layer);
		x = b->layer ? op_add(g, x, neck_residual(b, n, resized_like(b, f[at], x, "linear"), false)) : f[at];
		x = neck_residual(b, n, x, true);
		if (prompt.id)
			x = op_add(g, x, prompted(b, n, prompt, x));
		x = n->to_next && at ? neck_resize(b, x, op_dim(g, f[at - 1], 2), op_dim(g, f[at - 1], 3)) : neck_doubled(b, x);
		x = conv(b, "neck.fused", x, (struct conv){ .out = n->width, .kernel = 1, .bias = true });
		sums[b->layer] = x;
		graph_leave(g);
	}
	return sums[n->chosen];
}

graph_value neck_fuse(struct build *b, const struct neck *n, const graph_value *maps, graph_value prompt)
{
	graph_value coarsest, *sums = ARENA_ARRAY(graph_arena(b->g), (size_t)n->states, graph_value);
	return neck_fuse_all(b, n, maps, prompt, sums, &coarsest);
}
