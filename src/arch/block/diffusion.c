// SPDX-License-Identifier: Apache-2.0
#include "arch/block/diffusion.h"

#include <math.h>

// Frequency i of `count`, rounded where diffusers rounds it: an error of it is multiplied with the step.
static float timestep_rate(int64_t i, int64_t count)
{
	return expf((float)-log(10000) * (float)i / (float)count);
}

graph_value timestep_table(struct build *b, int64_t count, int64_t step, int64_t width)
{
	struct graph *g = b->g;
	int64_t half = width / 2;
	float *all = GRAPH_TABLE(g, NULL, count, width, float);

	for (int64_t n = 0; all && n < count; n++)
		for (int64_t i = 0; i < half; i++) {
			float angle = (float)(n * step) * timestep_rate(i, half);

			all[n * width + i] = (float)cos((double)angle);
			all[n * width + half + i] = (float)sin((double)angle);
		}
	return graph_constant(g, DTYPE_F32, 2, (int64_t[]){ count, width }, all);
}

graph_value map_input(struct build *b, const char *name, int64_t channels, const char *height, const char *width)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), channels, graph_symbol(g, height), graph_symbol(g, width) };
	return graph_input(g, name, DTYPE_F32, 4, shape);
}

graph_value timestep_embedding(struct build *b, graph_value step, int64_t width, bool cosine_first, int64_t shift)
{
	struct graph *g = b->g;
	int64_t half = width / 2;
	float *rate = GRAPH_TABLE(g, NULL, half, 1, float);

	if (!rate || half <= shift) {
		graph_fail(g, STATUS_BAD_INPUT, "a time embedding of width %lld", (long long)width);
		return NO_VALUE;
	}
	for (int64_t i = 0; i < half; i++)
		rate[i] = timestep_rate(i, half - shift);
	graph_value rates = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ 1, half }, rate);
	graph_value angle = op_mul(g, op_unsqueeze(g, op_cast(g, step, DTYPE_F32), 1), rates); // [n, half]
	graph_value sine = op_sin(g, angle), cosine = op_cos(g, angle);
	graph_value both = op_concat(g, 2, (graph_value[]){ cosine_first ? cosine : sine, cosine_first ? sine : cosine }, 1);
	return width % 2 ? op_pad(g, both, 1, 0, 1) : both;
}

graph_value timestep_layers(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, enum activation act)
{
	struct arena *a = graph_arena(b->g);

	x = activate(b, act, linear(b, arena_printf(a, "%s.1", stem), x, in, out, true));
	return linear(b, arena_printf(a, "%s.2", stem), x, out, out, true);
}

void resolve_sample_size(struct config *c, struct arena *a, int64_t size[2], int64_t usual)
{
	int64_t count = 0;
	const int64_t *given = config_sizes(c, "sample_size", a, 2, &count);

	size[0] = size[1] = usual;
	if (given && (count != 2 || given[0] < 1 || given[1] < 1))
		config_fail(c, STATUS_BAD_INPUT, "sample_size should be one number, or height and width");
	else if (given)
		size[0] = given[0], size[1] = given[1];
}

graph_value group_norm(struct build *b, const char *stem, graph_value x, int64_t groups, double epsilon)
{
	if (graph_failed(b->g))
		return NO_VALUE;
	int64_t n = value_dim(b->g, x, 1);
	if (groups < 1 || n % groups) {
		graph_fail(b->g, STATUS_BAD_INPUT, "%lld channels cannot be normed in %lld groups (norm_num_groups)",
			(long long)n, (long long)groups);
		return NO_VALUE;
	}
	return op_group_norm(b->g, x, groups, WEIGHT(b, stem, "weight", n), WEIGHT(b, stem, "bias", n), (float)epsilon);
}

graph_value residual_block(
	struct build *b, const struct residual *how, graph_value x, int64_t out, graph_value time, int64_t width)
{
	struct graph *g = b->g;
	struct conv three = { .out = out, .kernel = 3, .bias = true };
	graph_value scale = NO_VALUE;

	graph_enter(g, "residual");
	graph_value y = activate(b, how->act, group_norm(b, "residual.norm.1", x, how->groups, how->eps));
	y = conv(b, "residual.conv.1", y, three);
	if (time.id) {
		int64_t n = how->scale_shift ? 2 * out : out;
		time = op_unsqueeze(
			g, op_unsqueeze(g, linear(b, "residual.time", time, width, n, true), 2), 3); // [batch, n, 1, 1]
		if (how->scale_shift) {
			scale = op_slice(g, time, 1, 0, out);
			time = op_slice(g, time, 1, out, n);
		} else {
			y = op_add(g, y, time);
		}
	}
	y = group_norm(b, "residual.norm.2", y, how->groups, how->eps);
	if (scale.id)
		y = op_add(g, op_mul(g, y, op_add(g, scale, graph_f32(g, 1))), time);
	y = conv(b, "residual.conv.2", activate(b, how->act, y), three);
	if (!graph_failed(g) && value_dim(g, x, 1) != out)
		x = conv(b, "residual.shortcut", x, (struct conv){ .out = out, .kernel = 1, .bias = true });
	x = op_add(g, x, y);
	graph_leave(g);
	return x;
}

graph_value places_attention(struct build *b, const struct residual *how, graph_value x, int64_t heads)
{
	struct graph *g = b->g;

	if (graph_failed(g))
		return NO_VALUE;
	int64_t w = value_dim(g, x, 1);
	if (heads < 1 || w % heads) {
		graph_fail(g, STATUS_BAD_INPUT, "%lld channels cannot have %lld heads (attention_head_dim)", (long long)w,
			(long long)heads);
		return NO_VALUE;
	}
	graph_enter(g, "attn");
	graph_value y = tokens_of(b, group_norm(b, "places.norm", x, how->groups, how->eps));
	graph_value q = linear(b, "places.q", y, w, w, true), k = linear(b, "places.k", y, w, w, true),
		    v = linear(b, "places.v", y, w, w, true);
	y = op_attention(
		g, &(struct attention){ q, k, v, .heads = heads, .scale = (float)(1 / sqrt((double)w / (double)heads)) });
	y = op_add(g, map_of(b, linear(b, "places.o", y, w, w, true), x), x);
	graph_leave(g);
	return y;
}

graph_value map_halved(struct build *b, graph_value x, bool one_sided)
{
	if (graph_failed(b->g))
		return NO_VALUE;
	int64_t w = value_dim(b->g, x, 1);
	if (one_sided)
		x = op_pad(b->g, op_pad(b->g, x, 2, 0, 1), 3, 0, 1);
	return conv(
		b, "down", x, (struct conv){ .out = w, .kernel = 3, .stride = 2, .pad = one_sided ? PAD_NONE : 1, .bias = true });
}

graph_value map_enlarged(struct build *b, graph_value x, graph_value like)
{
	if (graph_failed(b->g))
		return NO_VALUE;
	struct conv three = { .out = value_dim(b->g, x, 1), .kernel = 3, .bias = true };
	return conv(b, "up", like.id ? resized_like(b, x, like, "nearest") : resized_by_as(b, x, 2, "nearest"), three);
}
