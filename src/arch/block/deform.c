// SPDX-License-Identifier: Apache-2.0
// Attention to a few places of several maps (deform.h).
#include "arch/block/deform.h"
#include "arch/block/detect.h"

#include <float.h>
#include <math.h>

struct deform_levels deform_levels(struct build *b, const graph_value *maps, int64_t count)
{
	struct graph *g = b->g;
	struct deform_levels l = { .count = count };
	graph_value tokens[DEFORM_LEVELS_MOST];
	if (count < 1 || count > DEFORM_LEVELS_MOST)
		graph_fail(g, STATUS_UNSUPPORTED, "%s: %lld maps, of 1 to %d", b->c->path, (long long)count, DEFORM_LEVELS_MOST);
	if (graph_failed(g))
		return l;
	l.begin[0] = graph_i64s(g, 1, (int64_t[]){ 0 });
	for (int64_t i = 0; i < count; i++) {
		l.height[i] = op_dim(g, maps[i], 2);
		l.width[i] = op_dim(g, maps[i], 3);
		l.begin[i + 1] = op_add(g, l.begin[i], op_mul(g, l.height[i], l.width[i]));
		tokens[i] = tokens_of(b, maps[i]);
	}
	l.memory = op_concat(g, (int)count, tokens, 1);
	return l;
}

graph_value deform_level(struct build *b, const struct deform_levels *l, graph_value memory, int64_t level)
{
	return map_of_grid(
		b, op_slice_to(b->g, memory, 1, l->begin[level], l->begin[level + 1]), l->height[level], l->width[level]);
}

// 0.5 / n, 1.5 / n, ..: [n]
static graph_value middles(struct graph *g, graph_value n)
{
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, n, 0), graph_i64(g, 1));
	return op_div(g, op_add(g, op_cast(g, at, DTYPE_F32), graph_f32(g, 0.5f)), op_cast(g, n, DTYPE_F32));
}

graph_value deform_centres(struct build *b, graph_value height, graph_value width)
{
	struct graph *g = b->g;
	graph_value shape = op_concat(g, 3, (graph_value[]){ height, width, graph_i64s(g, 1, (int64_t[]){ 1 }) }, 0);
	graph_value x = op_expand(g, op_unsqueeze(g, op_unsqueeze(g, middles(g, width), 0), 2), shape),
		    y = op_expand(g, op_unsqueeze(g, op_unsqueeze(g, middles(g, height), 1), 2), shape);
	return op_reshape(g, op_concat(g, 2, (graph_value[]){ x, y }, 2), 2, (int64_t[]){ -1, 2 });
}

// The centres of a map; with ratios [batch, levels, 2] as shares of its level's: [batch, rows*columns, 2]
static graph_value shares(struct build *b, const struct deform_levels *l, int64_t i, graph_value ratios)
{
	graph_value at = deform_centres(b, l->height[i], l->width[i]);
	return ratios.id ? op_div(b->g, op_unsqueeze(b->g, at, 0), op_slice(b->g, ratios, 1, i, i + 1)) : at;
}

graph_value deform_all_centres(struct build *b, const struct deform_levels *l, graph_value ratios)
{
	graph_value all[DEFORM_LEVELS_MOST];
	for (int64_t i = 0; i < l->count; i++)
		all[i] = shares(b, l, i, ratios);
	return op_concat(b->g, (int)l->count, all, -2);
}

// x [batch, queries, heads, ..] -> [batch * heads, queries, ..]
static graph_value by_head(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int rank = value_rank(g, x), perm[6] = { 0, 2, 1, 3, 4, 5 };
	graph_value y = op_transpose(g, x, rank, perm), all = graph_i64s(g, 1, (int64_t[]){ -1 });
	graph_value rest = op_slice(g, op_shape(g, y), 0, 2, INT64_MAX), z;
	z = op_reshape_to(g, y, op_concat(g, 2, (graph_value[]){ all, rest }, 0));
	for (int axis = 1; axis < rank - 1; axis++)
		graph_assume(g, z, axis, value_dim(g, y, axis + 1));
	return z;
}

// The middle of the place of map `level` that `place` [.., 2] is said to lie in: x * size + 1/2 without its fraction (RT-DETRv2,
// https://arxiv.org/abs/2407.17140, section 3.2).
static graph_value nearest(struct build *b, graph_value place, const struct deform_levels *l, int64_t level)
{
	struct graph *g = b->g;
	graph_value each[] = { l->width[level], l->height[level] }, half = graph_f32(g, 0.5f);
	graph_value size = op_cast(g, op_concat(g, 2, each, 0), DTYPE_F32);
	graph_value at = op_floor(g, op_max(g, op_add(g, op_mul(g, place, size), half), graph_f32(g, 0)));
	at = op_min(g, at, op_sub(g, size, graph_f32(g, 1)));
	return op_div(g, op_add(g, at, half), size);
}

graph_value deform_attention(
	struct build *b, const char *stem, graph_value query, const struct deform_levels *l, const struct deform *d)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	if (graph_failed(g))
		return NO_VALUE;
	int64_t h = value_dim(g, query, -1), heads = d->heads, width = h / heads, all = 0, at = 0;
	bool boxes = value_dim(g, d->reference, -1) == 4;
	for (int64_t i = 0; i < l->count; i++)
		all += d->points[i];
	graph_value offsets = linear(b, arena_printf(a, "%s.offsets", stem), query, h, heads * all * 2, true);
	offsets = op_reshape(g, offsets, 5, (int64_t[]){ 0, 0, heads, all, 2 });
	graph_value share = linear(b, arena_printf(a, "%s.weights", stem), query, h, heads * all, true);
	share = op_softmax(g, op_reshape(g, share, 4, (int64_t[]){ 0, 0, heads, all }), -1);
	const char *projection = arena_printf(a, "%s.v", stem);
	bool projects = weight_named(b, projection);
	graph_value value = projects ? linear(b, projection, d->memory, h, h, true) : d->memory, sum = NO_VALUE;
	if (d->mask.id)
		value = op_mul(g, value, d->mask);
	graph_value everywhere = op_unsqueeze(g, op_unsqueeze(g, d->reference, 2), 2); // [batch, queries, 1, 1, 2 or 4]
	const char *scale = arena_printf(a, "%s.scale", stem);
	if (boxes && weight_named(b, scale)) {
		graph_value by = op_reshape(g, WEIGHT(b, scale, "", all), 2, (int64_t[]){ all, 1 });
		offsets = op_mul(g, offsets, by);
	}
	for (int64_t i = 0; i < l->count && !graph_failed(g); at += d->points[i++]) {
		graph_value step = op_slice(g, offsets, 3, at, at + d->points[i]),
			    weight = op_slice(g, share, 3, at, at + d->points[i]);
		graph_value where = everywhere;
		if (d->ratios.id) {
			graph_value ratio = op_slice(g, d->ratios, 1, i, i + 1); // [batch, 1, 2]
			ratio = boxes ? op_concat(g, 2, (graph_value[]){ ratio, ratio }, 2) : ratio;
			where = op_mul(g, where, op_unsqueeze(g, op_unsqueeze(g, ratio, 1), 1));
		}
		if (boxes) {
			double by = d->offset_scale / (weight_named(b, scale) ? 1 : (double)d->points[i]);
			step = op_mul(g, step, op_scale(g, op_slice(g, where, 4, 2, 4), (float)by));
		} else {
			graph_value size = op_concat(g, 2, (graph_value[]){ l->width[i], l->height[i] }, 0);
			step = op_div(g, step, op_cast(g, size, DTYPE_F32));
		}
		graph_value place = op_add(g, op_slice(g, where, 4, 0, 2), step);
		place = d->discrete ? nearest(b, place, l, i) : place;
		place = by_head(b, op_sub(g, op_scale(g, place, 2), graph_f32(g, 1))); // [batch*heads, queries, points, 2]
		graph_value map = op_slice_to(g, value, 1, l->begin[i], l->begin[i + 1]);
		map = op_transpose(g, map, 3, (int[]){ 0, 2, 1 });
		graph_value shape[] = { graph_i64s(g, 2, (int64_t[]){ -1, width }), l->height[i], l->width[i] };
		map = op_reshape_to(g, map, op_concat(g, 3, shape, 0)); // [batch*heads, width, rows, columns]
		graph_value found = op_grid_sample(g, map, place, "bilinear", "zeros", false);
		found = op_mul(g, found, op_unsqueeze(g, by_head(b, weight), 1)); // [batch*heads, width, queries, points]
		found = op_reduce_sum(g, found, -1, false);
		sum = i ? op_add(g, sum, found) : found;
	}
	if (graph_failed(g))
		return NO_VALUE;
	graph_value shape[] = { graph_i64s(g, 2, (int64_t[]){ -1, h }), op_dim(g, query, 1) };
	sum = op_reshape_to(g, sum, op_concat(g, 2, shape, 0)); // [batch, h, queries]
	graph_assume(g, sum, 0, value_dim(g, query, 0));
	graph_assume(g, sum, 2, value_dim(g, query, 1));
	sum = op_transpose(g, sum, 3, (int[]){ 0, 2, 1 });
	return projects ? linear(b, arena_printf(a, "%s.o", stem), sum, h, h, true) : sum;
}

graph_value deform_anchors(struct build *b, const struct deform_levels *l, graph_value ratios, graph_value *valid)
{
	struct graph *g = b->g;
	graph_value all[DEFORM_LEVELS_MOST];
	for (int64_t i = 0; i < l->count; i++) {
		graph_value at = shares(b, l, i, ratios);
		graph_value size = op_add(g, op_scale(g, at, 0), graph_f32(g, (float)(0.05 * pow(2, (double)i))));
		all[i] = op_concat(g, 2, (graph_value[]){ at, size }, -1);
	}
	graph_value x = op_concat(g, (int)l->count, all, -2);
	*valid = op_and(g, op_greater(g, op_reduce_min(g, x, -1, true), graph_f32(g, 0.01f)),
		op_less(g, op_reduce_max(g, x, -1, true), graph_f32(g, 0.99f)));
	graph_value y = op_log(g, op_div(g, x, op_sub(g, graph_f32(g, 1), x)));
	return op_where(g, *valid, y, graph_f32(g, FLT_MAX));
}

const int64_t *deform_resolve_points(struct config *c, struct arena *a, const char *key, int64_t levels)
{
	int64_t n = config_size(c, key, 4), *out = ARENA_ARRAY(a, (size_t)levels, int64_t);
	if (!c->error.status && (n < 1 || n > 1 << 10))
		config_fail(c, STATUS_BAD_INPUT, "%s should be from 1 to 1024", key);
	for (int64_t i = 0; i < levels; i++)
		out[i] = n;
	return out;
}

static graph_value source(struct build *b, graph_value map, bool smaller)
{
	int64_t h = b->s->hidden_size;
	map = conv(b, "source", map,
		(struct conv){ .out = h,
			.kernel = smaller ? 3 : 1,
			.stride = smaller ? 2 : 1,
			.pad = smaller ? 1 : PAD_NONE,
			.bias = true });
	return op_group_norm(b->g, map, 32, WEIGHT(b, "source.norm", "weight", h), WEIGHT(b, "source.norm", "bias", h), 1e-5f);
}

void deform_sources(struct build *b, const graph_value *found, int64_t count, graph_value *maps, int64_t levels)
{
	for (b->layer = 0; b->layer < levels; b->layer++) {
		int64_t i = b->layer;
		maps[i] = i < count ? source(b, found[i], false) : source(b, i == count ? found[count - 1] : maps[i - 1], true);
	}
}

struct deform_masks deform_masks(struct build *b, graph_value mask, const graph_value *maps, int64_t count)
{
	struct graph *g = b->g;
	struct deform_masks m;
	graph_value flat[DEFORM_LEVELS_MOST], ratio[DEFORM_LEVELS_MOST];
	for (int64_t i = 0; i < count; i++) {
		graph_value x = m.each[i] = detect_mask(b, mask, maps[i]);
		graph_value across = op_reduce_mean(g, op_squeeze(g, op_slice(g, x, 1, 0, 1), 1), 1, true), // [batch, 1]
			down = op_reduce_mean(g, op_squeeze(g, op_slice(g, x, 2, 0, 1), 2), 1, true);
		ratio[i] = op_unsqueeze(g, op_concat(g, 2, (graph_value[]){ across, down }, 1), 1);
		flat[i] = op_reshape(g, x, 3, (int64_t[]){ 0, -1, 1 });
	}
	m.all = op_concat(g, (int)count, flat, 1);
	m.ratios = op_concat(g, (int)count, ratio, 1);
	return m;
}

graph_value deform_encoder_layer(
	struct build *b, graph_value x, graph_value positions, const struct deform_levels *l, const struct deform *d, int64_t ffn)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	struct deform own = *d;
	own.memory = x;
	x = op_add(g, x, deform_attention(b, "encoder.attn", op_add(g, x, positions), l, &own));
	x = layer_norm(b, "encoder.attn.norm", x, h);
	return layer_norm(b, "encoder.ffn.norm", op_add(g, x, detect_ffn(b, "encoder.ffn", x, ffn)), h);
}

graph_value deform_proposals(
	struct build *b, const struct deform_levels *l, const struct deform_masks *m, graph_value memory, graph_value *anchor)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value valid, there = op_greater(g, m->all, graph_f32(g, 0.5f));
	*anchor = deform_anchors(b, l, m->ratios, &valid);
	valid = op_and(g, valid, there);
	*anchor = op_where(g, there, *anchor, graph_f32(g, FLT_MAX));
	memory = op_mul(g, memory, op_cast(g, valid, DTYPE_F32));
	return layer_norm(b, "choice.norm", linear(b, "choice", memory, h, h, true), h);
}

graph_value inverse_sigmoid(struct graph *g, graph_value x)
{
	graph_value least = graph_f32(g, 1e-5f);
	return op_log(g, op_div(g, op_max(g, x, least), op_max(g, op_sub(g, graph_f32(g, 1), x), least)));
}

graph_value rows_at(struct graph *g, graph_value x, graph_value indices)
{
	return op_gather_nd(g, x, op_unsqueeze(g, indices, 2), 1);
}
