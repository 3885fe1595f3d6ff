// SPDX-License-Identifier: Apache-2.0
// Rotary positions (Su et al. 2021, https://arxiv.org/abs/2104.09864) and the scalings that published models use, after
// transformers' modeling_rope_utils.py: linear, dynamic NTK, llama3, YaRN (Peng et al. 2023, https://arxiv.org/abs/2309.00071).
#include <math.h>

#include "arch/block/block.h"

static double yarn_turns_to_dim(double turns, double dim, double theta, double max_positions)
{
	return dim * log(max_positions / (turns * 2 * M_PI)) / (2 * log(theta));
}

static double yarn_mscale(double factor, double mscale)
{
	return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

// Inverse frequencies [dim / 2]; returns what cos and sin are multiplied by.
static double frequencies(const struct spec *s, int64_t dim, float *out)
{
	const struct rope *r = &s->rope;
	double scale = 1;
	double low = 0, high = 0;
	if (r->kind == ROPE_YARN) {
		double n = (double)r->original_max_positions;
		low = yarn_turns_to_dim(r->beta_fast, (double)dim, r->theta, n);
		high = yarn_turns_to_dim(r->beta_slow, (double)dim, r->theta, n);
		if (r->truncate)
			low = floor(low), high = ceil(high);
		low = fmax(low, 0);
		high = fmin(high, (double)dim - 1);
		if (low == high)
			high += 0.001;
		scale = !isnan(r->attention_factor)               ? r->attention_factor
			: r->mscale > 0 && r->mscale_all_dim > 0 ? yarn_mscale(r->factor, r->mscale) / yarn_mscale(r->factor, r->mscale_all_dim)
								 : yarn_mscale(r->factor, 1);
	}
	for (int64_t i = 0; i < dim / 2; i++) {
		float f = (float)(1 / pow(r->theta, (double)(2 * i) / (double)dim));
		if (r->kind == ROPE_LINEAR)
			f = (float)(f / r->factor);
		if (r->kind == ROPE_LLAMA3) {
			double n = (double)r->original_max_positions, wave = 2 * M_PI / f;
			if (wave > n / r->low_freq_factor)
				f = (float)(f / r->factor);
			else if (wave >= n / r->high_freq_factor) {
				double smooth = (n / wave - r->low_freq_factor) / (r->high_freq_factor - r->low_freq_factor);
				f = (float)((1 - smooth) * f / r->factor + smooth * f);
			}
		}
		if (r->kind == ROPE_YARN) {
			double ramp = fmin(fmax(((double)i - low) / (high - low), 0), 1);
			f = (float)(f / r->factor * ramp + f * (1 - ramp));
		}
		out[i] = f;
	}
	return scale;
}

void rope_tables(struct build *b, value x, value positions, value *cos, value *sin)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t dim = s->head_width;
	graph_enter(g, "rope");
	float *f = ARENA_ARRAY(graph_arena(g), (size_t)dim, float);
	float scale = (float)frequencies(s, dim, f);
	if (!positions.id)
		positions = op_unsqueeze(g, op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, x, 1), 0), graph_i64(g, 1)), 0);
	value at = op_unsqueeze(g, op_cast(g, positions, DTYPE_F32), 2);             // [batch or 1, seq, 1]
	value inverse = graph_constant(g, DTYPE_F32, 1, (int64_t[]){ dim / 2 }, f);
	if (s->rope.kind == ROPE_DYNAMIC) {
		// theta grows with the length beyond max_position_embeddings: theta * r^(dim/(dim-2)), r = factor*n/max - (factor-1),
		// so each inverse frequency is multiplied by r^(-2i/(dim-2)); r is 1 up to max_position_embeddings.
		for (int64_t i = 0; i < dim / 2; i++)
			f[i] = (float)(-2.0 * (double)i / (double)(dim - 2));
		value last = op_reduce_max(g, op_reshape(g, op_cast(g, positions, DTYPE_F32), 1, (int64_t[]){ -1 }), 0, true);       // [1]
		value length = op_max(g, op_add(g, last, graph_f32(g, 1)), graph_f32(g, (float)s->max_positions));
		value r = op_sub(g, op_mul(g, length, graph_f32(g, (float)(s->rope.factor / (double)s->max_positions))), graph_f32(g, (float)(s->rope.factor - 1)));
		inverse = op_mul(g, inverse, op_pow(g, r, graph_constant(g, DTYPE_F32, 1, (int64_t[]){ dim / 2 }, f)));
	}
	value angle = op_unsqueeze(g, op_mul(g, at, inverse), 2);                    // [batch or 1, seq, 1, dim/2]
	*cos = op_scale(g, op_cos(g, angle), scale);
	*sin = op_scale(g, op_sin(g, angle), scale);
	graph_leave(g);
}

//   x [batch, seq, heads, dim] = (a, b), halves of the last axis      ->      (a cos - b sin, b cos + a sin)
value rope_turn(struct build *b, value x, value cos, value sin, int64_t heads)
{
	struct graph *g = b->g;
	int64_t dim = b->s->head_width;
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, dim });
	value low = op_slice(g, x, 3, 0, dim / 2), high = op_slice(g, x, 3, dim / 2, dim);
	value turned[] = {
		op_sub(g, op_mul(g, low, cos), op_mul(g, high, sin)),
		op_add(g, op_mul(g, high, cos), op_mul(g, low, sin)),
	};
	return op_reshape(g, op_concat(g, 2, turned, 3), 3, (int64_t[]){ 0, 0, heads * dim });
}
