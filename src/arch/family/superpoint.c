// SPDX-License-Identifier: Apache-2.0
// SuperPoint (DeTone et al. 2017, https://arxiv.org/abs/1712.07629): points of a picture that would be found again in another,
// each with a descriptor of unit length. How many there are depends on the picture: the batch has places for the most.
//
//   pixels, first channel -> blocks of two convs, halved between them -+- convs - softmax over 8 by 8 pixels and none -> scores
//                                                                      +- convs - / length -> map of descriptors
//   scores -> local maxima above the threshold -> keypoints -> descriptors, bilinear at the keypoints - / length
#include "arch/block/image.h"
#include "arch/family/superpoint.h"

enum { CELL = 8 }; // pixels of a cell along each side

struct superpoint {
	int64_t blocks, inner, width, radius, border, most; // most: keypoints of a picture; -1: any number
	const int64_t *widths;
	double threshold;
};

int64_t superpoint_width(const struct spec *s)
{
	return ((const struct superpoint *)s->own)->width;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct superpoint *o = ARENA_NEW(a, struct superpoint);
	s->own = o;
	o->widths = config_sizes(c, "encoder_hidden_sizes", a, 0, &o->blocks);
	o->inner = config_size(c, "decoder_hidden_size", 256);
	o->width = config_size(c, "descriptor_decoder_dim", 256);
	o->radius = config_size(c, "nms_radius", 4);
	o->border = config_size(c, "border_removal_distance", 4);
	o->threshold = config_real(c, "keypoint_threshold", 0.005);
	int64_t classes = config_size(c, "keypoint_decoder_dim", CELL * CELL + 1);
	const json_t *most = config_get(c, "max_keypoints");
	o->most = json_is_integer(most) && json_integer_value(most) >= 0 ? json_integer_value(most) : -1;
	if (c->error.status)
		return;
	if (classes != CELL * CELL + 1)
		config_fail(c, STATUS_UNSUPPORTED, "keypoint_decoder_dim %lld: a cell is %d by %d pixels or none",
			(long long)classes, CELL, CELL);
	else if (!o->most || o->most > 1 << 20)
		config_fail(c, STATUS_UNSUPPORTED, "max_keypoints %lld", (long long)o->most);
	else if (!(o->threshold >= 0))
		config_fail(c, STATUS_UNSUPPORTED, "keypoint_threshold %g: places that are no maxima would be keypoints",
			o->threshold);
	else if (o->blocks < 2 || o->blocks > 16 || o->inner < 1 || o->width < 1 || o->radius > 64)
		config_fail(c, STATUS_BAD_INPUT, "encoder_hidden_sizes, descriptor_decoder_dim %lld or nms_radius %lld",
			(long long)o->width, (long long)o->radius);
	else {
		o->widths = resolve_stages(c, "encoder_hidden_sizes", a, o->blocks, 1);
		s->hidden_size = o->widths[o->blocks - 1];
		s->layers = s->layers_in_config = o->blocks;
		s->channels = 3;
	}
}

// Two convs: stem.0 with a kernel of 3 and stem.1
static graph_value two_convs(
	struct build *b, const char *first, const char *second, graph_value x, int64_t inner, int64_t out, int64_t kernel)
{
	x = op_relu(b->g, conv(b, first, x, (struct conv){ .out = inner, .kernel = 3, .bias = true }));
	return conv(b, second, x, (struct conv){ .out = out, .kernel = kernel, .bias = true });
}

static graph_value encode(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct superpoint *o = b->s->own;
	graph_value x = op_slice(g, pixels, 1, 0, 1);
	const int64_t two[] = { 2, 2 }, none[4] = { 0 };
	for (b->layer = 0; b->layer < o->blocks && !graph_failed(g); b->layer++) {
		int64_t w = o->widths[b->layer];
		x = op_relu(g, two_convs(b, "layers.0", "layers.1", x, w, w, 3));
		if (b->layer < o->blocks - 1)
			x = op_max_pool(g, x, 2, two, two, none, false);
	}
	return x;
}

static graph_value widest(struct build *b, graph_value x)
{
	int64_t r = ((const struct superpoint *)b->s->own)->radius, k = 2 * r + 1;
	return op_max_pool(b->g, x, 2, (int64_t[]){ k, k }, (int64_t[]){ 1, 1 }, (int64_t[]){ r, r, r, r }, false);
}

// Scores [batch, 1, height, width] where they are the greatest around, or the greatest of those that no such place is around;
// elsewhere 0.
static graph_value local_maxima(struct build *b, graph_value scores)
{
	struct graph *g = b->g;
	graph_value zero = graph_f32(g, 0), is = op_equal(g, scores, widest(b, scores));
	for (int i = 0; i < 2; i++) {
		graph_value near = op_greater(g, widest(b, op_cast(g, is, DTYPE_F32)), zero);
		graph_value rest = op_where(g, near, zero, scores);
		is = op_or(g, is, op_and(g, op_equal(g, rest, widest(b, rest)), op_not(g, near)));
	}
	return op_where(g, is, scores, zero);
}

// x is before the end of a side as the original has it, whose sides are those of the picture times the cell: bool [size]
static graph_value inside(struct build *b, graph_value size)
{
	struct graph *g = b->g;
	int64_t border = ((const struct superpoint *)b->s->own)->border;
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, size, 0), graph_i64(g, 1));
	graph_value end = op_sub(g, op_mul(g, size, graph_i64(g, CELL)), graph_i64(g, border));
	return op_and(g, op_less_or_equal(g, graph_i64(g, border), at), op_less(g, at, end));
}

// Which places of the map are keypoints: scores [batch, 1, height, width] -> bool [batch, height * width]
static graph_value found(struct build *b, graph_value scores)
{
	struct graph *g = b->g;
	const struct superpoint *o = b->s->own;
	graph_value rows = op_unsqueeze(g, inside(b, op_dim(g, scores, 2)), 1), cols = inside(b, op_dim(g, scores, 3));
	graph_value is = op_greater(g, scores, graph_f32(g, (float)o->threshold));
	return op_reshape(g, op_and(g, is, op_and(g, rows, cols)), 2, (int64_t[]){ 0, -1 });
}

// Where the keypoints of each picture are, in the order of the map or, where they are too many, by score: i64 [batch, points];
// *there bool [batch, points]. is bool [batch, places], scores [batch, places]
static graph_value listed(struct build *b, graph_value is, graph_value scores, graph_value *there)
{
	struct graph *g = b->g;
	const struct superpoint *o = b->s->own;
	graph_value number = op_cast(g, is, DTYPE_I64), one = graph_i64(g, 1);
	graph_value slot = op_sub(g, op_cumsum(g, number, 1), one), count = op_reduce_sum(g, number, 1, true); // [batch, 1]
	graph_value kept = is, limit = graph_i64(g, o->most), all = count;
	if (o->most > 0) {
		kept = op_and(g, is, op_less(g, slot, limit));
		all = op_min(g, count, limit);
	}
	graph_value points = op_reshape(g, op_reduce_max(g, all, 0, false), 1, (int64_t[]){ 1 });
	graph_value from = op_transpose(g, op_nonzero(g, kept), 2, (int[]){ 1, 0 }); // [found, 2]: picture, place
	graph_value to = op_unsqueeze(g, op_gather_nd(g, slot, from, 0), 1);
	to = op_concat(g, 2, (graph_value[]){ op_slice(g, from, 1, 0, 1), to }, 1);
	graph_value sizes = op_concat(g, 2, (graph_value[]){ op_dim(g, is, 0), points }, 0);
	graph_value place = op_expand(g, graph_i64(g, 0), sizes);
	place = op_scatter_nd(g, place, to, op_squeeze(g, op_slice(g, from, 1, 1, 2), 1), SCATTER_REPLACE);
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, points, 0), one);
	*there = op_less(g, op_unsqueeze(g, at, 0), all);
	if (o->most < 1)
		return place;
	graph_value best, weighed = op_where(g, is, scores, graph_f32(g, -1));
	weighed = op_pad(g, weighed, 1, 0, o->most); // the map may have fewer places; zeros are no keypoints
	op_topk_indices(g, weighed, o->most, 1, false, &best);
	best = op_slice_to(g, best, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), points);
	return op_where(g, op_greater(g, count, limit), best, place);
}

// x / |x| along an axis
static graph_value unit(struct graph *g, graph_value x, int axis)
{
	graph_value length = op_reduce_l2(g, x, axis, true);
	return op_div(g, x, op_max(g, length, graph_f32(g, 1e-12f)));
}

// Descriptors [batch, points, width] of a map at places in pixels [batch, points, 2]
static graph_value described(struct build *b, graph_value map, graph_value at)
{
	struct graph *g = b->g;
	graph_value sides = op_concat(g, 2, (graph_value[]){ op_dim(g, map, 3), op_dim(g, map, 2) }, 0); // [2]
	graph_value end = op_sub(g, op_scale(g, op_cast(g, sides, DTYPE_F32), CELL), graph_f32(g, CELL / 2.0f + 0.5f));
	at = op_div(g, op_sub(g, at, graph_f32(g, CELL / 2.0f - 0.5f)), end);
	at = op_unsqueeze(g, op_sub(g, op_scale(g, at, 2), graph_f32(g, 1)), 1); // [batch, 1, points, 2]
	graph_value x = op_squeeze(g, op_grid_sample(g, map, at, "bilinear", "zeros", true), 2);
	return op_transpose(g, unit(g, x, 1), 3, (int[]){ 0, 2, 1 });
}

static graph_value zeroed(struct graph *g, graph_value x, graph_value there, int rank)
{
	return op_where(g, rank == 3 ? op_unsqueeze(g, there, 2) : there, x, graph_f32(g, 0));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct superpoint *o = b->s->own;
	struct keypoints *k = ARENA_NEW(graph_arena(g), struct keypoints);
	graph_value x = encode(b, io->pixels), y = two_convs(b, "scores.0", "scores.1", x, o->inner, CELL * CELL + 1, 1);
	y = op_depth_to_space(g, op_slice(g, op_softmax(g, y, 1), 1, 0, CELL * CELL), CELL, false);
	y = local_maxima(b, y);
	graph_value map = unit(g, two_convs(b, "descriptors.0", "descriptors.1", x, o->inner, o->width, 1), 1);
	graph_value scores = op_reshape(g, y, 2, (int64_t[]){ 0, -1 }), wide = op_dim(g, y, 3);
	graph_value place = listed(b, found(b, y), scores, &k->there);
	graph_value row = op_div(g, place, wide), column = op_sub(g, place, op_mul(g, row, wide));
	graph_value at =
		op_cast(g, op_concat(g, 2, (graph_value[]){ op_unsqueeze(g, column, 2), op_unsqueeze(g, row, 2) }, 2), DTYPE_F32);
	graph_value sides = op_concat(g, 2, (graph_value[]){ op_dim(g, io->pixels, 3), op_dim(g, io->pixels, 2) }, 0);
	k->scores = zeroed(g, op_gather_elements(g, scores, place, 1), k->there, 2);
	k->descriptors = zeroed(g, described(b, map, at), k->there, 3);
	k->places = zeroed(g, op_div(g, at, op_cast(g, sides, DTYPE_F32)), k->there, 3);
	io->own = k;
	io->last = x;
}

static void build_keypoints(struct build *b, const struct body *io)
{
	const struct keypoints *k = io->own;
	graph_output(b->g, "keypoints", k->places);
	graph_output(b->g, "scores", k->scores);
	graph_output(b->g, "descriptors", k->descriptors);
	graph_output(b->g, "mask", op_cast(b->g, k->there, DTYPE_I32));
}

static const struct family_head heads[] = { { &head_keypoints, build_keypoints }, { 0 } };

const struct family superpoint = {
	.name = "superpoint",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = map_hints,
	.heads = heads,
};
