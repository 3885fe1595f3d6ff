// SPDX-License-Identifier: Apache-2.0
// Rotary positions (Su et al. 2021, https://arxiv.org/abs/2104.09864) and the scalings that published models use, after
// transformers' modeling_rope_utils.py: linear, dynamic NTK, llama3, YaRN (Peng et al. 2023, https://arxiv.org/abs/2309.00071),
// LongRoPE (Ding et al. 2024, https://arxiv.org/abs/2402.13753), and turning only a part of each head.
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

static double longrope_scale(const struct rope *r)
{
	double n = (double)r->original_max_positions;
	return !isnan(r->attention_factor) ? r->attention_factor : r->factor <= 1 ? 1 : sqrt(1 + log(r->factor) / log(n));
}

// Inverse frequencies [dim / 2]; returns what cos and sin are multiplied by.
static double frequencies(const struct rope *r, int64_t dim, float *out)
{
	double scale = r->kind == ROPE_LONGROPE ? longrope_scale(r) : 1;
	double low = 0, high = 0, steps = (double)(r->steps ? r->steps : dim);
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
		scale = !isnan(r->attention_factor) ? r->attention_factor
			: r->mscale > 0 && r->mscale_all_dim > 0
			? yarn_mscale(r->factor, r->mscale) / yarn_mscale(r->factor, r->mscale_all_dim)
			: yarn_mscale(r->factor, 1);
	}
	for (int64_t i = 0; i < dim / 2; i++) {
		float f = (float)(1 / pow(r->theta, (double)(2 * i) / steps));
		if (r->kind == ROPE_LINEAR)
			f = (float)(f / r->factor);
		if (r->kind == ROPE_PROPORTIONAL)
			f = i < (int64_t)(r->partial * (double)dim / 2) ? (float)(f / r->factor) : 0;
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

// Theta grows with the length beyond max_position_embeddings: theta * r^(dim/(dim-2)), r = factor*n/max - (factor-1), so each
// inverse frequency is multiplied by r^(-2i/(dim-2)); r is 1 up to max_position_embeddings. length: f32 [1].
static graph_value dynamic_frequencies(
	struct build *b, const struct rope *rope, int64_t dim, graph_value inverse, graph_value length)
{
	struct graph *g = b->g;
	double max = (double)b->s->max_positions;
	float *power = GRAPH_TABLE(g, NULL, dim, 1, float);
	if (!power)
		return NO_VALUE;
	for (int64_t i = 0; i < dim / 2; i++)
		power[i] = (float)(-2.0 * (double)i / (double)(dim - 2));
	length = op_max(g, length, graph_f32(g, (float)max));
	graph_value r =
		op_sub(g, op_mul(g, length, graph_f32(g, (float)(rope->factor / max))), graph_f32(g, (float)(rope->factor - 1)));
	return op_mul(g, inverse, op_pow(g, r, graph_constant(g, DTYPE_F32, 1, (int64_t[]){ dim / 2 }, power)));
}

// The short factors up to original_max_position_embeddings, the long ones for every position of a longer text.
static graph_value longrope_frequencies(struct build *b, const struct rope *rope, int64_t dim, const float *f, graph_value length)
{
	struct graph *g = b->g;
	float *table = GRAPH_TABLE(g, NULL, dim, 1, float);
	if (!table)
		return NO_VALUE;
	for (int64_t i = 0; i < dim / 2; i++) {
		table[i] = (float)(f[i] / (float)rope->short_factors[i]);
		table[dim / 2 + i] = (float)(f[i] / (float)rope->long_factors[i]);
	}
	graph_value is_long = op_greater(g, length, graph_f32(g, (float)rope->original_max_positions)); // [1]
	graph_value rows = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ 2, dim / 2 }, table);
	return op_where(g, is_long, op_gather(g, rows, graph_i64(g, 1), 0), op_gather(g, rows, graph_i64(g, 0), 0));
}

graph_value places_of(struct graph *g, graph_value x)
{
	return op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, x, 1), 0), graph_i64(g, 1));
}

enum { NEAR = 64 };

// Rows [count, dim/2] of cos and sin at 0, step, 2 step ...
static void angles_of(
	struct graph *g, const float *f, int64_t half, int64_t count, int64_t step, graph_value *cos_rows, graph_value *sin_rows)
{
	float *c = GRAPH_TABLE(g, NULL, count, half, float), *s = GRAPH_TABLE(g, NULL, count, half, float);
	*cos_rows = *sin_rows = NO_VALUE;
	if (!c || !s)
		return;
	for (int64_t i = 0; i < count; i++)
		for (int64_t k = 0; k < half; k++) {
			double angle = (double)(i * step) * (double)f[k];
			c[i * half + k] = (float)cos(angle);
			s[i * half + k] = (float)sin(angle);
		}
	*cos_rows = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ count, half }, c);
	*sin_rows = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ count, half }, s);
}

// graph_form.sine_tables. A position is NEAR * far + near; the angles of both parts are looked up and added by the addition
// theorems, so that the tables have max / NEAR + NEAR rows. at: f32 [batch or 1, seq, 1]; cos, sin: [batch or 1, seq, 1, dim/2].
static void looked_up(struct build *b, const float *f, int64_t half, graph_value at, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t reach = value_dim(g, at, 1), most = b->s->max_positions > reach ? b->s->max_positions : reach;
	graph_value far = op_floor(g, op_scale(g, at, 1.0f / NEAR)), near = op_sub(g, at, op_scale(g, far, NEAR));
	graph_value part[2] = { far, near }, c[2], s[2];
	for (int i = 0; i < 2; i++) {
		graph_value rows = op_cast(g, part[i], DTYPE_I64); // [batch or 1, seq, 1]
		angles_of(g, f, half, i ? NEAR : most / NEAR + 1, i ? 1 : NEAR, &c[i], &s[i]);
		c[i] = op_gather(g, c[i], rows, 0), s[i] = op_gather(g, s[i], rows, 0); // [batch or 1, seq, 1, dim/2]
	}
	*cos = op_sub(g, op_mul(g, c[0], c[1]), op_mul(g, s[0], s[1]));
	*sin = op_add(g, op_mul(g, s[0], c[1]), op_mul(g, c[0], s[1]));
}

static void longrope_looked_up(struct build *b, const struct rope *rope, int64_t dim, const float *f, graph_value at,
	graph_value length, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	graph_value is_long = op_greater(g, length, graph_f32(g, (float)rope->original_max_positions)), c[2], s[2]; // [1]
	float *own = GRAPH_TABLE(g, NULL, dim, 1, float);
	*cos = *sin = NO_VALUE;
	if (!own)
		return;
	for (int i = 0; i < 2; i++) {
		for (int64_t k = 0; k < dim / 2; k++)
			own[k] = (float)(f[k] / (float)(i ? rope->long_factors[k] : rope->short_factors[k]));
		looked_up(b, own, dim / 2, at, &c[i], &s[i]);
	}
	*cos = op_where(g, is_long, c[1], c[0]);
	*sin = op_where(g, is_long, s[1], s[0]);
}

void rope_tables_of(struct build *b, const struct rope *rope, int64_t dim, graph_value x, graph_value positions, graph_value *cos,
	graph_value *sin)
{
	struct graph *g = b->g;
	float *f = GRAPH_TABLE(g, NULL, dim, 1, float);
	*cos = *sin = NO_VALUE;
	if (!f)
		return;
	graph_enter(g, "rope");
	float scale = (float)frequencies(rope, dim, f);
	if (!positions.id)
		positions = op_unsqueeze(g, places_of(g, x), 0);
	graph_value at = op_unsqueeze(g, op_cast(g, positions, DTYPE_F32), 2); // [batch or 1, seq, 1]
	graph_value inverse = graph_constant(g, DTYPE_F32, 1, (int64_t[]){ dim / 2 }, f);
	bool learned = weight_named(b, "rope.alpha"); // frequencies times exp(alpha)
	if (learned)
		inverse = op_mul(g, inverse, op_exp(g, WEIGHT(b, "rope.alpha", "", dim / 2)));
	// Dynamic frequencies follow the length: no table holds them. Above a million positions tables would outgrow the graph.
	bool tables = graph_get_form(g)->sine_tables && !learned && rope->kind != ROPE_DYNAMIC && b->s->max_positions <= 1 << 20;
	if (rope->kind == ROPE_DYNAMIC || rope->kind == ROPE_LONGROPE) {
		graph_value last =
			op_reduce_max(g, op_reshape(g, op_cast(g, positions, DTYPE_F32), 1, (int64_t[]){ -1 }), 0, true); // [1]
		graph_value length = op_add(g, last, graph_f32(g, 1));
		if (tables)
			longrope_looked_up(b, rope, dim, f, at, length, cos, sin);
		else
			inverse = rope->kind == ROPE_DYNAMIC ? dynamic_frequencies(b, rope, dim, inverse, length)
							     : longrope_frequencies(b, rope, dim, f, length);
	} else if (tables) {
		looked_up(b, f, dim / 2, at, cos, sin);
	}
	if (tables)
		inverse = NO_VALUE;
	if (inverse.id) {
		graph_value angle = op_unsqueeze(g, op_mul(g, at, inverse), 2); // [batch or 1, seq, 1, dim/2]
		*cos = op_cos(g, angle), *sin = op_sin(g, angle);
	}
	*cos = op_scale(g, *cos, scale);
	*sin = op_scale(g, *sin, b->s->traits.reversed_rope ? -scale : scale);
	graph_leave(g);
}

// Which of the three positions angle i goes by: section after section, or in turns while a section lasts.
static int axis_of(const struct rope *r, int64_t i)
{
	if (r->interleaved_sections)
		return i % 3 && i < 3 * r->section[i % 3] ? (int)(i % 3) : 0;
	return i < r->section[0] ? 0 : i < r->section[0] + r->section[1] ? 1 : 2;
}

void rope_tables_by_section(
	struct build *b, const struct rope *r, int64_t dim, graph_value x, graph_value axes, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t half = dim / 2;
	for (int axis = 0; axis < 3; axis++) {
		graph_value c, s, at = op_squeeze(g, op_slice(g, axes, 0, axis, axis + 1), 0); // [batch, seq]
		rope_tables_of(b, r, dim, x, at, &c, &s);                                      // [batch, seq, 1, dim/2]
		float *share = GRAPH_TABLE(g, NULL, half, 1, float);
		for (int64_t i = 0; share && i < half; i++)
			share[i] = axis_of(r, i) == axis;
		graph_value mine = graph_constant(g, DTYPE_F32, 1, &half, share);
		c = op_mul(g, c, mine), s = op_mul(g, s, mine);
		*cos = axis ? op_add(g, *cos, c) : c;
		*sin = axis ? op_add(g, *sin, s) : s;
	}
}

void rope_tables(struct build *b, graph_value x, graph_value positions, graph_value *cos, graph_value *sin)
{
	const struct rope *r = &b->s->rope;
	rope_tables_of(b, r, r->dim ? r->dim : b->s->head_width, x, positions, cos, sin);
}

// 1 + beta * log(1 + floor(position / original_max_positions)): [batch or 1, seq, 1]
graph_value rope_query_scale(struct build *b, const struct rope *r, graph_value x, graph_value positions)
{
	struct graph *g = b->g;
	graph_enter(g, "rope");
	if (!positions.id)
		positions = op_unsqueeze(g, places_of(g, x), 0);
	graph_value times = op_cast(g, op_div(g, positions, graph_i64(g, r->original_max_positions)), DTYPE_F32);
	graph_value log = op_log(g, op_add(g, times, graph_f32(g, 1)));
	graph_value scale = op_add(g, op_mul(g, log, graph_f32(g, (float)r->position_beta)), graph_f32(g, 1));
	graph_leave(g);
	return op_unsqueeze(g, scale, 2);
}

//   x [batch, seq, heads, dim] = (a, b), halves of the last axis      ->      (a cos - b sin, b cos + a sin)
//   interleaved: a and b are the even and the odd elements. What lies after dim of a head stays as it is.
graph_value rope_turn(struct build *b, graph_value x, graph_value cos, graph_value sin, int64_t heads)
{
	return rope_turn_by(b, x, cos, sin, heads, b->s->traits.interleaved_rope);
}

// cos and sin [batch or 1, seq, 1, dim / 2] in rows, and which row is whose.
static struct rotation rows_of_tables(struct graph *g, graph_value cos, graph_value sin)
{
	const int64_t rows[] = { -1, value_dim(g, cos, -1) }, first = 0;
	struct rotation r = { .cos = op_reshape(g, cos, 2, rows), .sin = op_reshape(g, sin, 2, rows) };

	if (graph_failed(g))
		return r;
	if (value_dim(g, cos, 0) == 1) { // of every row of the batch
		r.places = graph_i64s(g, 1, &first);
		return r;
	}
	graph_value count = op_squeeze(g, op_dim(g, r.cos, 0), 0),
		    shape = op_concat(g, 2, (graph_value[]){ op_dim(g, cos, 0), op_dim(g, cos, 1) }, 0);
	r.places = op_reshape_to(g, op_range(g, graph_i64(g, 0), count, graph_i64(g, 1)), shape);
	return r;
}

graph_value rope_turn_fused(struct build *b, struct cache *cache, graph_value x, graph_value cos, graph_value sin, int64_t heads)
{
	int at = !cache->rotary[0].cos.id || cache->rotary[0].cos.id == cos.id ? 0 : 1;

	if (cache->rotary[at].cos.id != cos.id) {
		cache->rotary[at].cos = cos;
		cache->rotary[at].as = rows_of_tables(b->g, cos, sin);
		cache->rotary[at].as.interleaved = b->s->traits.interleaved_rope;
	}
	cache->rotary[at].as.heads = heads;
	return op_rotary(b->g, x, &cache->rotary[at].as);
}

graph_value rope_turn_by(struct build *b, graph_value x, graph_value cos, graph_value sin, int64_t heads, bool interleaved)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t all = value_dim(g, x, -1), width = all / heads, dim = 2 * value_dim(g, cos, -1);
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width });
	graph_value low, high, rest = NO_VALUE;
	if (dim < width) {
		rest = op_slice(g, x, 3, dim, width);
		x = interleaved ? op_slice(g, x, 3, 0, dim) : x;
	}
	if (interleaved) {
		graph_value pairs = op_reshape(g, x, 5, (int64_t[]){ 0, 0, heads, dim / 2, 2 });
		low = op_slice(g, pairs, 4, 0, 1), high = op_slice(g, pairs, 4, 1, 2); // [batch, seq, heads, dim/2, 1]
		cos = op_unsqueeze(g, cos, 4), sin = op_unsqueeze(g, sin, 4);
	} else
		low = op_slice(g, x, 3, 0, dim / 2), high = op_slice(g, x, 3, dim / 2, dim);
	graph_value rotated[] = {
		op_sub(g, op_mul(g, low, cos), op_mul(g, high, sin)),
		op_add(g, op_mul(g, high, cos), op_mul(g, low, sin)),
		rest,
	};
	if (interleaved) {
		rotated[0] = op_reshape(g, op_concat(g, 2, rotated, 4), 4, (int64_t[]){ 0, 0, heads, dim });
		rotated[1] = rest;
	}
	int parts = (interleaved ? 1 : 2) + (rest.id != 0);
	x = parts > 1 ? op_concat(g, parts, rotated, 3) : rotated[0];
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, all });
}

graph_value rope_turn_end(struct build *b, graph_value x, graph_value cos, graph_value sin, int64_t heads, bool interleaved)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t d = value_dim(g, x, -1) / heads, dim = 2 * value_dim(g, cos, -1), first = d - dim;
	if (first == 0)
		return rope_turn_by(b, x, cos, sin, heads, interleaved);
	graph_value last = rope_turn_by(b, heads_part(g, x, heads, d, first, d), cos, sin, heads, interleaved);
	graph_value parts[] = { op_reshape(g, heads_part(g, x, heads, d, 0, first), 4, (int64_t[]){ 0, 0, heads, first }),
		op_reshape(g, last, 4, (int64_t[]){ 0, 0, heads, dim }) };
	return op_reshape(g, op_concat(g, 2, parts, 3), 3, (int64_t[]){ 0, 0, heads * d });
}
