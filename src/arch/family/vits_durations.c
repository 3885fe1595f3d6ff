// SPDX-License-Identifier: Apache-2.0
// How long VITS speaks each token (Kim et al. 2021, https://arxiv.org/abs/2106.06103, section 2.2.2 and appendix B): two numbers
// of noise a token go backwards through flows, each a monotone spline (Durkan et al. 2019, https://arxiv.org/abs/1906.04032) of
// one of them by what dilated separable convolutions make of the other and the text. Or, without noise, by two convolutions.
//
//   text - conv - separable - conv -> told
//   noise [a, b] - (swapped; b = spline^-1(b) by separable(conv(a) + told)).. - swapped - affine^-1 -> log durations, a
#include <math.h>

#include "arch/family/vits.h"

static graph_value normed(struct build *b, const char *stem, graph_value x, int64_t width, double epsilon)
{
	return sound_transposed(b->g, sound_norm(b, stem, sound_transposed(b->g, x), width, epsilon));
}

// Layers of b->item_name: x + gelu(norm(pointwise(gelu(norm(depthwise(x))))))
static graph_value separable(struct build *b, graph_value x, graph_value mask)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, dilation = 1;
	for (b->layer = 0; b->layer < v->separable_layers && !graph_failed(g); b->layer++, dilation *= v->kernel) {
		graph_value y = sound_conv(
			b, "durations.depth", op_mul(g, x, mask), &(struct sound_kernel){ h, h, v->kernel, dilation, h });
		y = op_gelu(g, normed(b, "durations.depth_norm", y, h, 1e-5));
		y = vits_conv(b, "durations.point", y, h, h);
		x = op_add(g, x, op_gelu(g, normed(b, "durations.point_norm", y, h, 1e-5)));
	}
	return op_mul(g, x, mask);
}

// Ends of bins between -bound and bound, whose widths are a softmax of x [.., bins] and no less than a thousandth: [.., bins + 1]
static graph_value knots(struct build *b, graph_value x)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	double least = 1e-3;
	graph_value share = op_scale(g, op_softmax(g, x, 2), (float)(1 - least * (double)v->bins));
	graph_value sums = op_cumsum(g, op_add(g, share, graph_f32(g, (float)least)), 2);
	sums = op_slice(g, sums, 2, 0, v->bins - 1);
	sums = op_add(g, op_scale(g, sums, (float)(2 * v->bound)), graph_f32(g, (float)-v->bound));
	graph_value edge = op_scale(g, op_slice(g, x, 2, 0, 1), 0); // [.., 1] of zeros
	graph_value low = op_add(g, edge, graph_f32(g, (float)-v->bound)), high = op_add(g, edge, graph_f32(g, (float)v->bound));
	return op_concat(g, 3, (graph_value[]){ low, sums, high }, 2);
}

static graph_value steps_of(struct graph *g, graph_value knot, int64_t bins)
{
	return op_sub(g, op_slice(g, knot, 2, 1, bins + 1), op_slice(g, knot, 2, 0, bins));
}

// What stands in the chosen bin: x [.., bins or more], which [.., 1]
static graph_value chosen(struct graph *g, graph_value x, graph_value which)
{
	return op_gather_elements(g, x, which, 2);
}

// The spline backwards: y [batch, seq, 1] between -bound and bound, its parameters [batch, seq, 3 * bins - 1]. Within a bin it is
// a quotient of two quadratics, so the way back is a root of a quadratic (equations 6 to 8).
static graph_value inverse(struct build *b, graph_value y, graph_value p)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	int64_t n = v->bins;
	float narrow = (float)(1 / sqrt((double)b->s->hidden_size));
	graph_value one = graph_f32(g, 1), across = knots(b, op_scale(g, op_slice(g, p, 2, 0, n), narrow)),
		    up = knots(b, op_scale(g, op_slice(g, p, 2, n, 2 * n), narrow));
	graph_value width = steps_of(g, across, n), height = steps_of(g, up, n);
	// Slopes at the knots; outside of the first and the last the spline is a line of slope 1.
	graph_value slope = op_add(g, op_softplus(g, op_slice(g, p, 2, 2 * n, 3 * n - 1)), graph_f32(g, 1e-3f));
	graph_value end = op_add(g, op_scale(g, op_slice(g, p, 2, 0, 1), 0), one);
	slope = op_concat(g, 3, (graph_value[]){ end, slope, end }, 2);
	graph_value before = op_cast(g, op_less_or_equal(g, op_slice(g, up, 2, 1, n), y), DTYPE_I64); // inner knots
	graph_value which = op_reduce_sum(g, before, 2, true);

	graph_value h = chosen(g, height, which), delta = chosen(g, op_div(g, height, width), which);
	graph_value d = chosen(g, slope, which), next = chosen(g, slope, op_add(g, which, graph_i64(g, 1)));
	graph_value over = op_sub(g, y, chosen(g, up, which));
	graph_value bend = op_mul(g, over, op_sub(g, op_add(g, d, next), op_scale(g, delta, 2)));
	graph_value qa = op_add(g, op_mul(g, h, op_sub(g, delta, d)), bend), qb = op_sub(g, op_mul(g, h, d), bend),
		    qc = op_neg(g, op_mul(g, delta, over));
	graph_value root = op_sub(g, op_mul(g, qb, qb), op_scale(g, op_mul(g, qa, qc), 4));
	root = op_sqrt(g, op_max(g, root, graph_f32(g, 0)));
	graph_value at = op_div(g, op_scale(g, qc, 2), op_neg(g, op_add(g, qb, root)));
	return op_add(g, op_mul(g, at, chosen(g, width, which)), chosen(g, across, which));
}

// Flow b->item_name backwards: b by a; [batch, 1, seq] each.
static graph_value bent_back(struct build *b, graph_value first, graph_value second, graph_value mask, graph_value told)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value x = op_add(g, vits_conv(b, "durations.pre", first, 1, h), told);
	graph_value p = op_mul(g, vits_conv(b, "durations.post", separable(b, x, mask), h, 3 * v->bins - 1), mask);
	graph_value y = sound_transposed(g, second), bound = graph_f32(g, (float)v->bound);
	graph_value bent = inverse(b, op_max(g, op_min(g, y, bound), op_neg(g, bound)), sound_transposed(g, p));
	y = op_where(g, op_greater(g, op_abs(g, y), bound), y, bent);
	return op_mul(g, sound_transposed(g, y), mask);
}

// Half `which` of the noise [batch, seq, 2], [batch, 1, seq]
static graph_value noise(struct build *b, graph_value drawn, graph_value mask, int64_t which)
{
	double scale = vits_of(b)->duration_noise;
	if (!drawn.id)
		return op_scale(b->g, mask, 0);
	return op_scale(b->g, sound_transposed(b->g, op_slice(b->g, drawn, 2, which, which + 1)), (float)scale);
}

static graph_value stochastic(struct build *b, graph_value x, graph_value mask, const struct vits_voice *voice)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	b->item_name = "";
	graph_value told = vits_conv(b, "durations.pre", x, h, h), by_voice = vits_told(b, "durations.voice", voice, h, false);
	if (by_voice.id)
		told = op_add(g, told, by_voice);
	told = op_mul(g, vits_conv(b, "durations.post", separable(b, told, mask), h, h), mask);
	graph_value drawn = NO_VALUE;
	if (v->duration_noise > 0)
		drawn = graph_input(g, "duration_noise", DTYPE_F32, 3, (int64_t[]){ value_dim(g, x, 0), value_dim(g, x, 2), 2 });
	graph_value half[] = { noise(b, drawn, mask, 0), noise(b, drawn, mask, 1) };
	for (int64_t i = v->duration_flows; i > 1 && !graph_failed(g); i--) { // the first is not gone through
		graph_value first = half[1];
		b->item_name = arena_printf(graph_arena(g), "flows.%lld.", (long long)i);
		graph_enter(g, "flows.%lld", (long long)i);
		half[1] = bent_back(b, first, half[0], mask, told);
		half[0] = op_mul(g, first, mask);
		graph_leave(g);
	}
	graph_value moved = WEIGHT(b, "durations.moved", "", 2, 1), scale = WEIGHT(b, "durations.scale", "", 2, 1);
	x = op_sub(g, half[1], op_slice(g, moved, 0, 0, 1));
	return op_mul(g, op_mul(g, x, op_exp(g, op_neg(g, op_slice(g, scale, 0, 0, 1)))), mask);
}

static graph_value convolved(struct build *b, graph_value x, graph_value mask, const struct vits_voice *voice)
{
	const struct vits *v = vits_of(b);
	struct graph *g = b->g;
	int64_t in = b->s->hidden_size, width = v->channels;
	graph_value by_voice = vits_told(b, "durations.voice", voice, in, false);
	if (by_voice.id)
		x = op_add(g, x, by_voice);
	for (b->layer = 1; b->layer <= 2; b->layer++, in = width) {
		x = sound_conv(b, "durations.conv", op_mul(g, x, mask), &(struct sound_kernel){ in, width, v->kernel });
		x = normed(b, "durations.norm", op_relu(g, x), width, b->s->norm_eps);
	}
	return op_mul(g, vits_conv(b, "durations.proj", op_mul(g, x, mask), width, 1), mask);
}

graph_value vits_durations(struct build *b, graph_value x, graph_value mask, const struct vits_voice *voice)
{
	graph_enter(b->g, "durations");
	graph_value y = (vits_of(b)->stochastic ? stochastic : convolved)(b, x, mask, voice);
	graph_leave(b->g);
	return y;
}
