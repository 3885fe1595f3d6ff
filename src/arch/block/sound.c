// SPDX-License-Identifier: Apache-2.0
// The convolutional stem of speech encoders (Baevski et al. 2020, https://arxiv.org/abs/2006.11477), the frames that a mask of
// samples leaves, positions by convolution, and WavLM's gated bias (Chen et al. 2021, https://arxiv.org/abs/2110.13900).
#include "arch/block/sound.h"

#include <math.h>

graph_value sound_norm(struct build *b, const char *stem, graph_value x, int64_t width, double epsilon)
{
	struct graph *g = b->g;
	if (stem) {
		graph_value w = WEIGHT(b, stem, "weight", width);
		return op_layer_norm(g, x, w, WEIGHT(b, stem, "bias", width), (float)epsilon);
	}
	return op_layer_norm(g, x, ones_of(b, width), NO_VALUE, (float)epsilon);
}

graph_value sound_glu(struct graph *g, graph_value x, int axis, int64_t width)
{
	return op_mul(g, op_slice(g, x, axis, 0, width), op_sigmoid(g, op_slice(g, x, axis, width, 2 * width)));
}

graph_value sound_transposed(struct graph *g, graph_value x)
{
	return op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
}

graph_value sound_conv_by(struct build *b, const char *stem, graph_value w, graph_value x, const struct sound_kernel *k)
{
	int64_t one = 1, dilation = k->dilation ? k->dilation : 1, all = dilation * (k->kernel - 1);
	graph_value y = op_conv(b->g, x, w, k->no_bias ? NO_VALUE : WEIGHT(b, stem, "bias", k->out), &one,
		(int64_t[]){ all / 2, all - all / 2 }, &dilation, k->groups ? k->groups : 1);
	graph_assume(b->g, y, 2, value_dim(b->g, x, 2));
	return y;
}

graph_value sound_conv(struct build *b, const char *stem, graph_value x, const struct sound_kernel *k)
{
	int64_t groups = k->groups ? k->groups : 1;
	return sound_conv_by(b, stem, WEIGHT(b, stem, "weight", k->out, k->in / groups, k->kernel), x, k);
}

graph_value sound_batch_norm(struct build *b, const char *stem, graph_value x, int64_t width)
{
	graph_value w = WEIGHT(b, stem, "weight", width), bias = WEIGHT(b, stem, "bias", width);
	graph_value mean = WEIGHT(b, stem, "running_mean", width);
	return op_batch_norm(b->g, x, w, bias, mean, WEIGHT(b, stem, "running_var", width), 1e-5f);
}

graph_value sound_after(struct build *b, graph_value mel, const struct sound_postnet *p)
{
	struct graph *g = b->g;
	graph_value y = sound_transposed(g, mel);
	for (b->layer = 0; b->layer < p->layers && !graph_failed(g); b->layer++) {
		bool last = b->layer == p->layers - 1;
		struct sound_kernel k = { b->layer ? p->width : p->bins, last ? p->bins : p->width, p->kernel, .no_bias = true };
		y = sound_batch_norm(b, "post.norm", sound_conv(b, "post.conv", y, &k), k.out);
		y = last ? y : op_tanh(g, y);
	}
	return op_add(g, mel, sound_transposed(g, y));
}

graph_value sound_repeats(struct build *b, graph_value durations, graph_value *lengths)
{
	struct graph *g = b->g;
	graph_value end = op_cumsum(g, durations, 1), begin = op_sub(g, end, durations);
	*lengths = op_max(g, op_reduce_sum(g, durations, 1, false), graph_f32(g, 1));
	graph_value count = op_cast(g, op_reduce_max(g, *lengths, 0, false), DTYPE_I64);
	graph_value at = op_cast(g, op_range(g, graph_i64(g, 0), count, graph_i64(g, 1)), DTYPE_F32);
	graph_value begun = op_less_or_equal(g, op_unsqueeze(g, begin, 2), at);
	return op_cast(g, op_and(g, begun, op_less(g, at, op_unsqueeze(g, end, 2))), DTYPE_F32);
}

const int64_t **sound_dilations(struct config *c, struct arena *a, int64_t lists_wanted, const int64_t **counts)
{
	const json_t *lists = config_get(c, "resblock_dilation_sizes");
	int64_t *count = ARENA_ARRAY(a, (size_t)lists_wanted + 1, int64_t);
	const int64_t **all = ARENA_ARRAY(a, (size_t)lists_wanted + 1, const int64_t *);
	for (int64_t i = 0; i < lists_wanted; i++) {
		const json_t *list = json_array_get(lists, (size_t)i);
		size_t n = json_array_size(list);
		int64_t *d = ARENA_ARRAY(a, n + 1, int64_t);
		for (size_t k = 0; k < n; k++) {
			d[k] = json_integer_value(json_array_get(list, k));
			if (d[k] < 1 || d[k] > 1 << 16)
				config_fail(
					c, STATUS_BAD_INPUT, "resblock_dilation_sizes should be lists of whole numbers above 0");
		}
		if (!n)
			config_fail(c, STATUS_BAD_INPUT, "resblock_dilation_sizes should have a list for each of %lld kernels",
				(long long)lists_wanted);
		all[i] = d;
		count[i] = (int64_t)n;
	}
	*counts = count;
	return all;
}

//   samples [batch, 1, n] - conv - norm - act - conv (- norm) - act - .. -> [batch, channels, frames] -> transposed
graph_value sound_stem(struct build *b, graph_value samples)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	graph_value x = op_unsqueeze(g, samples, 1);
	int64_t in = 1, layer = b->layer;
	graph_enter(g, "stem");
	for (b->layer = 0; b->layer < o->conv_count && !graph_failed(b->g); b->layer++) {
		int64_t i = b->layer, out = o->conv_dim[i];
		graph_value w = WEIGHT(b, "stem.conv", "weight", out, in, o->conv_kernel[i]);
		graph_value bias = o->conv_bias ? WEIGHT(b, "stem.conv", "bias", out) : NO_VALUE;
		x = op_conv(g, x, w, bias, &o->conv_stride[i], (int64_t[]){ 0, 0 }, (int64_t[]){ 1 }, 1);
		if (o->conv_first_norm && i == 0) {
			w = WEIGHT(b, "stem.norm", "weight", out);
			x = op_instance_norm(g, x, w, WEIGHT(b, "stem.norm", "bias", out), 1e-5f);
		} else if (!o->conv_first_norm)
			x = sound_transposed(g, sound_norm(b, "stem.norm", sound_transposed(g, x), out, 1e-5));
		x = activate(b, o->conv_act, x);
		in = out;
	}
	b->layer = layer;
	graph_leave(g);
	return sound_transposed(g, x); // [batch, frames, channels]
}

// floor((n - kernel) / stride) + 1. In float32 and half a sample off whole numbers: OpenVINO 2026 computes a chain of integer
// operations in float32 without rounding between them (seen: 7 / 2 * .. as 3.5 * ..).
graph_value sound_conv_length(struct graph *g, graph_value n, int64_t kernel, int64_t stride)
{
	graph_value steps = op_div(g, op_add(g, n, graph_f32(g, 0.5f - (float)kernel)), graph_f32(g, (float)stride));
	return op_add(g, op_floor(g, steps), graph_f32(g, 1));
}

graph_value sound_lengths(struct build *b, graph_value mask)
{
	const struct sound *o = sound_of(b);
	graph_value n = op_cast(b->g, op_reduce_sum(b->g, mask, 1, false), DTYPE_F32);
	for (int64_t i = 0; i < o->conv_count; i++)
		n = sound_conv_length(b->g, n, o->conv_kernel[i], o->conv_stride[i]);
	return n;
}

graph_value sound_adapter_length(struct build *b, graph_value n)
{
	const struct sound *o = sound_of(b);
	if (o->conv_count)
		return sound_conv_length(b->g, n, 1, o->adapter_stride);
	return sound_conv_length(b->g, n, o->adapter_kernel - 2 * (o->adapter_kernel / 2), o->adapter_stride);
}

static graph_value counted(struct build *b, graph_value x, int64_t step) // f32 [1, frames]: 0, step, 2*step, ..
{
	struct graph *g = b->g;
	graph_value at = places_of(g, x);
	graph_assume(g, at, 0, value_dim(g, x, 1));
	return op_unsqueeze(g, op_scale(g, op_cast(g, at, DTYPE_F32), (float)step), 0);
}

graph_value sound_frames(struct build *b, graph_value x, graph_value lengths, int64_t step)
{
	return op_less(b->g, counted(b, x, step), op_unsqueeze(b->g, lengths, 1));
}

graph_value sound_frames_to_last(struct build *b, graph_value x, graph_value lengths)
{
	struct graph *g = b->g;
	graph_value count = op_cast(g, op_dim(g, x, 1), DTYPE_F32); // [1]
	graph_value n = op_where(g, op_greater(g, lengths, graph_f32(g, 0)), lengths, op_add(g, lengths, count));
	return op_less(g, counted(b, x, 1), op_unsqueeze(g, n, 1));
}

graph_value sound_zeroed(struct build *b, graph_value x, graph_value frames)
{
	return frames.id ? op_where(b->g, op_unsqueeze(b->g, frames, 2), x, graph_f32(b->g, 0)) : x;
}

// A kernel of weight norm (Salimans and Kingma 2016, https://arxiv.org/abs/1602.07868) over all but one axis: direction v times
// length g / |v|, which engines fold. Older files say weight_g, weight_v.
static graph_value normed_kernel(struct build *b, const char *stem, const int64_t dim[3], int kept)
{
	struct graph *g = b->g;
	bool newer = weight_exists(b, stem, "parametrizations.weight.original0");
	int64_t lengths[3] = { 1, 1, 1 };
	lengths[kept] = dim[kept];
	graph_value length = weight(b, stem, newer ? "parametrizations.weight.original0" : "weight_g", 3, lengths);
	graph_value v = weight(b, stem, newer ? "parametrizations.weight.original1" : "weight_v", 3, dim);
	graph_value squares = op_mul(g, v, v);
	for (int i = 0; i < 3; i++)
		squares = i == kept ? squares : op_reduce_sum(g, squares, i, true);
	return op_mul(g, v, op_div(g, length, op_sqrt(g, squares)));
}

graph_value sound_normed_kernel(struct build *b, const char *stem, int64_t first, int64_t second, int64_t kernel)
{
	return normed_kernel(b, stem, (int64_t[]){ first, second, kernel }, 0);
}

// One grouped convolution over time, as long as its input: an even kernel's last frame is dropped.
static graph_value position_conv(struct build *b, const char *stem, graph_value x, graph_value w)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, k = o->position_kernel, before = k / 2, after = k / 2 - (k % 2 == 0),
		stride = o->squeeze ? o->squeeze : 1;
	graph_value y = op_conv(g, x, w, WEIGHT(b, stem, "bias", h), &stride, (int64_t[]){ before, stride == 1 ? after : before },
		(int64_t[]){ 1 }, o->position_groups);
	if (stride == 1)
		graph_assume(g, y, 2, value_dim(g, x, 2));
	return y;
}

graph_value sound_positions(struct build *b, graph_value x)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, in = h / o->position_groups, layer = b->layer;
	graph_enter(g, "positions");
	x = sound_transposed(g, x); // [batch, hidden, frames]
	for (b->layer = 0; b->layer < o->position_layers && !graph_failed(b->g); b->layer++) {
		x = position_conv(b, "positions.layer", x, WEIGHT(b, "positions.layer", "weight", h, in, o->position_kernel));
		x = activate(b, o->conv_act, sound_transposed(g, sound_norm(b, NULL, sound_transposed(g, x), h, 1e-5)));
	}
	b->layer = layer;
	if (o->position_batch_norm) {
		x = sound_batch_norm(b, "positions.norm", x, h);
		x = activate(b, o->conv_act,
			position_conv(b, "positions", x, WEIGHT(b, "positions", "weight", h, in, o->position_kernel)));
	} else if (!o->position_layers)
		x = activate(b, o->conv_act,
			position_conv(
				b, "positions", x, normed_kernel(b, "positions", (int64_t[]){ h, in, o->position_kernel }, 2)));
	graph_leave(g);
	return sound_transposed(g, x);
}

// Exact below a quarter of the buckets, then by logarithm; the other half is for keys ahead.
static int64_t bucket_of(int64_t distance, int64_t half, int64_t far)
{
	int64_t exact = half / 2;
	if (distance < exact)
		return distance;
	float by_log = logf((float)distance / (float)exact) / (float)log((double)far / (double)exact) * (float)(half - exact);
	int64_t bucket = exact + (int64_t)by_log;
	return bucket < half - 1 ? bucket : half - 1;
}

graph_value sound_bias(struct build *b, graph_value x)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t half = o->buckets / 2, *table = GRAPH_TABLE(g, NULL, o->far + 1, 1, int64_t);
	if (!table)
		return NO_VALUE;
	for (int64_t i = 0; i <= o->far; i++)
		table[i] = bucket_of(i, half, o->far);
	graph_enter(g, "relative");
	graph_value at = places_of(g, x);
	graph_value ahead = op_sub(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, at, 1)); // [frames, frames]
	graph_value bucket =
		op_gather(g, graph_i64s(g, (int)o->far + 1, table), op_min(g, op_abs(g, ahead), graph_i64(g, o->far)), 0);
	bucket = op_add(g, bucket, op_where(g, op_greater(g, ahead, graph_i64(g, 0)), graph_i64(g, half), graph_i64(g, 0)));
	graph_value bias = op_gather(g, WEIGHT(b, "attn.relative", "weight", o->buckets, b->s->heads), bucket, 0);
	bias = op_unsqueeze(g, op_transpose(g, bias, 3, (int[]){ 2, 0, 1 }), 0); // [1, heads, frames, frames]
	graph_leave(g);
	return bias;
}

//   x by heads - linear to 8 - sums of 4 - sigmoid -> a, c      gate = a * (c * constant - 1) + 2      (GRU-like)
graph_value sound_gated(struct build *b, graph_value x, graph_value bias, graph_value mask)
{
	struct graph *g = b->g;
	int64_t heads = b->s->heads, width = b->s->head_width;
	graph_value y = linear(b, "layers.attn.gate", op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width }), width, 8, true);
	y = op_sigmoid(g,
		op_reduce_sum(g, op_reshape(g, y, 5, (int64_t[]){ 0, 0, heads, 2, 4 }), 4, false)); // [batch, frames, heads, 2]
	y = op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 });                                           // [batch, heads, frames, 2]
	graph_value a = op_slice(g, y, 3, 0, 1), c = op_slice(g, y, 3, 1, 2);
	c = op_sub(g, op_mul(g, c, WEIGHT(b, "layers.attn.gate_constant", "", 1, heads, 1, 1)), graph_f32(g, 1));
	graph_value gated = op_mul(g, op_add(g, op_mul(g, a, c), graph_f32(g, 2)), bias);
	return mask.id ? op_add(g, gated, mask) : gated;
}
