// SPDX-License-Identifier: Apache-2.0
// LLaVA-NeXT: a picture of any size is brought to one of a few resolutions, cut into tiles, and looked at tile by tile and
// once as a whole (Liu et al. 2024, https://llava-vl.github.io/blog/2024-01-30-llava-next/). What the padding became is cut
// away again, a learned vector ends each line.
//
//   pixels [pictures, tiles, ..] -> vision tower -> projector -> rows [pictures * tiles * features, text], newline after
//
//   tokens of one picture:  the first tile, whole | line 0: x0 x1 .. newline | line 1: ..
//                                                   of the grid of the other tiles, rows * columns of side * side features each
//
// LLaVA-OneVision (https://arxiv.org/abs/2408.03326) shrinks a grid of too many features, bilinear.
//
// How many tokens that is depends on image_sizes at run time. Nothing is cut or looped over: each image token works out, from
// its number and the sizes, which row of the features it stands for.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/family/vlm.h"

// ---- from config.json ---------------------------------------------------------------------------------------------------

struct resolution {
	int64_t height, width, place;
};

// By area; of equals the first in the list first.
static int by_area(const void *a, const void *b)
{
	const struct resolution *x = a, *y = b;
	int64_t p = x->height * x->width, q = y->height * y->width;
	return p != q ? (p > q) - (p < q) : (x->place > y->place) - (x->place < y->place);
}

static void resolve_resolutions(struct config *c, struct spec *s, struct arena *a)
{
	struct vlm *v = s->own;
	const json_t *list = config_get(c, "image_grid_pinpoints");
	list = list ? list : json_object_get(c->defaults, "image_grid_pinpoints");
	size_t n = json_array_size(list);
	int64_t tile = part_of(s, "vision")->image_size;
	struct resolution *r = ARENA_ARRAY(a, n + 1, struct resolution);
	int64_t *heights = ARENA_ARRAY(a, n + 1, int64_t), *widths = ARENA_ARRAY(a, n + 1, int64_t);
	bool good = n > 0 && n <= 4096;
	for (size_t i = 0; good && i < n; i++) {
		const json_t *pair = json_array_get(list, i), *h = json_array_get(pair, 0), *w = json_array_get(pair, 1);
		r[i] = (struct resolution){ json_integer_value(h), json_integer_value(w), (int64_t)i };
		good = json_is_integer(h) && json_is_integer(w) && r[i].height >= tile && r[i].width >= tile &&
			r[i].height <= 1 << 15 && r[i].width <= 1 << 15;
	}
	if (!good) {
		config_fail(c, STATUS_BAD_INPUT, "image_grid_pinpoints should list pairs of height and width, each from %lld on",
			(long long)tile);
		return;
	}
	qsort(r, n, sizeof *r, by_area);
	for (size_t i = 0; i < n; i++)
		heights[i] = r[i].height, widths[i] = r[i].width;
	v->heights = heights;
	v->widths = widths;
	v->resolution_count = (int64_t)n;
}

static int64_t side_of(const struct spec *tower)
{
	return tower->image_size / tower->patch_size;
}

// "anyres_max_9": the features of so many tiles are kept.
static void resolve_most(struct config *c, struct spec *s)
{
	static const char start[] = "anyres_max_";
	const char *word = config_text(c, "vision_aspect_ratio");
	struct vlm *v = s->own;
	word = word ? word : "anyres_max_9";
	if (!text_starts(word, start) || !text_to_int(word + strlen(start), 1, 4096, &v->most_tiles))
		config_fail(c, STATUS_UNSUPPORTED, "the vision_aspect_ratio %s is not supported yet", word);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	bool shrinks = TRAITS_OF(s, vlm_tiles)->shrinks;
	if (!vlm_resolve(c, s, a, shrinks))
		return;
	vlm_resolve_layers(c, s, a, false);
	struct vlm *v = s->own;
	if (shrinks)
		resolve_most(c, s);
	v->bias = config_bool(c, "multimodal_projector_bias", true);
	s->act = config_activation(c, "projector_hidden_act", ACT_GELU);
	resolve_resolutions(c, s, a);
	int64_t side = side_of(part_of(s, "vision"));
	if (!c->error.status && vlm_picture_tokens(s) != side * side)
		config_fail(c, STATUS_BAD_INPUT,
			"with this vision_feature_select_strategy a tile has %lld features, not %lld lines of %lld",
			(long long)vlm_picture_tokens(s), (long long)side, (long long)side);
}

// ---- which feature is which token ---------------------------------------------------------------------------------------

struct grid {                    // of each picture: i64 [pictures]
	graph_value columns;     // tiles beside each other
	graph_value top, left;   // features that are padding, and as many below and on the right
	graph_value tall, wide;  // features that are no padding
	graph_value lines, line; // lines that are kept, and features kept in each with the newline
	graph_value end;         // tokens of this picture and all before it
	graph_value count;       // tokens of this picture
};

// a / b of whole numbers, rounded down. An engine that divides them as 32-bit floats is one off where the quotient is nearly
// whole (OpenVINO 2026.4, from 2^24 on); the remainder tells.
static graph_value whole_quotient(struct graph *g, graph_value a, graph_value b)
{
	graph_value q = op_div(g, a, b), rest = op_sub(g, a, op_mul(g, q, b)), one = graph_i64(g, 1);
	graph_value up = op_where(g, op_less_or_equal(g, b, rest), op_add(g, q, one), q);
	return op_where(g, op_less(g, rest, graph_i64(g, 0)), op_sub(g, q, one), up);
}

static graph_value ints(struct build *b, const int64_t *x, int64_t n, int64_t divisor)
{
	int64_t *y = ARENA_ARRAY(graph_arena(b->g), (size_t)n + 1, int64_t);
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] / divisor;
	return graph_i64s(b->g, (int)n, y);
}

// The resolution that shows most of a picture of this size; of those that show as much the smallest: its place, [pictures]
static graph_value best_resolution(struct build *b, graph_value height, graph_value width)
{
	struct graph *g = b->g;
	const struct vlm *v = vlm_of(b->s);
	int64_t n = v->resolution_count, *earlier = ARENA_ARRAY(graph_arena(g), (size_t)n + 1, int64_t);
	graph_value h = op_unsqueeze(g, height, 1), w = op_unsqueeze(g, width, 1);     // [pictures, 1]
	graph_value to_h = ints(b, v->heights, n, 1), to_w = ints(b, v->widths, n, 1); // [resolutions]
	graph_value h_to_w = op_mul(g, h, to_w), w_to_h = op_mul(g, w, to_h);
	graph_value width_limits = op_less_or_equal(g, h_to_w, w_to_h);
	graph_value shown_w = op_where(g, width_limits, to_w, whole_quotient(g, w_to_h, h));
	graph_value shown_h = op_where(g, width_limits, whole_quotient(g, h_to_w, w), to_h);
	graph_value shown = op_min(g, op_mul(g, shown_w, shown_h), op_mul(g, w, h)); // [pictures, resolutions]
	graph_value is_best = op_equal(g, shown, op_reduce_max(g, shown, 1, true));
	for (int64_t i = 0; i < n; i++)
		earlier[i] = n - i;
	return op_argmax(g, op_mul(g, op_cast(g, is_best, DTYPE_I64), graph_i64s(g, (int)n, earlier)), 1, false);
}

// a // b of Python: of the exact quotient, the whole part
static double floor_quotient(double a, double b)
{
	double q = (a - fmod(a, b)) / b, whole = floor(q);
	return q - whole > 0.5 ? whole + 1 : whole;
}

// The height, or width, that a grid of tall * wide features is shrunk to, from a table of all such grids: i64 [pictures]
static graph_value kept(struct build *b, graph_value tall, graph_value wide, bool of_height)
{
	struct graph *g = b->g;
	const struct vlm *v = vlm_of(b->s);
	int64_t side = side_of(part_of(b->s, "vision")), size = part_of(b->s, "vision")->image_size, rows = 1, columns = 1;
	for (int64_t i = 0; i < v->resolution_count; i++) {
		rows = v->heights[i] / size * side + 1 > rows ? v->heights[i] / size * side + 1 : rows;
		columns = v->widths[i] / size * side + 1 > columns ? v->widths[i] / size * side + 1 : columns;
	}
	int64_t *to = GRAPH_TABLE(g, NULL, rows, columns, int64_t);
	for (int64_t y = 0; to && y < rows; y++)
		for (int64_t x = 0; x < columns; x++) {
			double ratio = sqrt((double)(y * x) / (double)(v->most_tiles * side * side));
			int64_t n = of_height ? y : x;
			to[y * columns + x] = ratio > 1.1 ? (int64_t)floor_quotient((double)n, ratio) : n;
		}
	graph_value table = graph_constant(g, DTYPE_I64, 1, (int64_t[]){ rows * columns }, to);
	return op_gather(g, table, op_add(g, op_mul(g, tall, graph_i64(g, columns)), wide), 0);
}

static struct grid grid_of(struct build *b, graph_value sizes)
{
	struct graph *g = b->g;
	const struct vlm *v = vlm_of(b->s);
	const struct spec *tower = part_of(b->s, "vision");
	int64_t n = v->resolution_count, side = side_of(tower), tile = tower->image_size;
	graph_value height = op_gather(g, sizes, graph_i64(g, 0), 1), width = op_gather(g, sizes, graph_i64(g, 1), 1);
	graph_value best = best_resolution(b, height, width), one = graph_i64(g, 1), two = graph_i64(g, 2),
		    zero = graph_i64(g, 0);
	graph_value columns = op_gather(g, ints(b, v->widths, n, tile), best, 0);
	graph_value tall =
		op_mul(g, op_gather(g, ints(b, v->heights, n, tile), best, 0), graph_i64(g, side)); // features of the grid
	graph_value wide = op_mul(g, columns, graph_i64(g, side));
	graph_value h_wide = op_mul(g, height, wide), w_tall = op_mul(g, width, tall);
	graph_value padded_above = op_less(g, h_wide, w_tall); // the picture is wider than the grid
	graph_value top = op_where(g, padded_above, op_div(g, op_sub(g, tall, whole_quotient(g, h_wide, width)), two), zero);
	graph_value left = op_where(g, padded_above, zero, op_div(g, op_sub(g, wide, whole_quotient(g, w_tall, height)), two));
	tall = op_sub(g, tall, op_mul(g, top, two)), wide = op_sub(g, wide, op_mul(g, left, two));
	graph_value lines = v->most_tiles ? kept(b, tall, wide, true) : tall;
	graph_value line = op_add(g, v->most_tiles ? kept(b, tall, wide, false) : wide, one);
	graph_value count = op_add(g, op_mul(g, lines, line), graph_i64(g, side * side));
	return (struct grid){ columns, top, left, tall, wide, lines, line, op_cumsum(g, count, 0), count };
}

// Of place i of n that a line of m features is shrunk to: the features on both sides, i64, and how near it is to the second.
static void between(
	struct graph *g, graph_value i, graph_value n, graph_value m, graph_value *low, graph_value *high, graph_value *share)
{
	graph_value half = graph_f32(g, 0.5f), scale = op_div(g, op_cast(g, m, DTYPE_F32), op_cast(g, n, DTYPE_F32));
	graph_value at = op_sub(g, op_mul(g, scale, op_add(g, op_cast(g, i, DTYPE_F32), half)), half);
	at = op_max(g, at, graph_f32(g, 0));
	*low = op_cast(g, op_floor(g, at), DTYPE_I64);
	*high = op_min(g, op_add(g, *low, graph_i64(g, 1)), op_sub(g, m, graph_i64(g, 1)));
	*share = op_sub(g, at, op_floor(g, at));
}

// number: i64, of image tokens over all pictures -> the feature that each stands for [.., text]; features [rows + 1, text]
static graph_value feature_of(
	struct build *b, const struct grid *grid, graph_value number, graph_value tiles, graph_value features)
{
	struct graph *g = b->g;
	int64_t side = side_of(part_of(b->s, "vision")), area = side * side;
	graph_value one = graph_i64(g, 1), a_side = graph_i64(g, side), an_area = graph_i64(g, area);
	graph_value behind = op_less_or_equal(g, grid->end, op_unsqueeze(g, number, -1)); // [.., pictures]
	graph_value picture = op_reduce_sum(g, op_cast(g, behind, DTYPE_I64), -1, false);
	graph_value first = op_gather(g, op_sub(g, grid->end, grid->count), picture, 0);
	graph_value at = op_sub(g, number, first);                        // within its picture
	graph_value base = op_mul(g, op_mul(g, picture, tiles), an_area); // where its first tile begins
	graph_value rest = op_max(g, op_sub(g, at, an_area), graph_i64(g, 0)), line = op_gather(g, grid->line, picture, 0);
	graph_value y = op_div(g, rest, line), x = op_sub(g, rest, op_mul(g, y, line));
	graph_value is_newline = op_and(g, op_equal(g, x, op_sub(g, line, one)), op_less_or_equal(g, an_area, at));
	graph_value newline = op_mul(g, op_mul(g, op_dim(g, grid->end, 0), tiles), an_area); // after all features
	graph_value ys[2] = { y }, xs[2] = { x }, down, right, out = NO_VALUE;
	int taps = vlm_of(b->s)->most_tiles ? 2 : 1;
	if (taps > 1) {
		x = op_min(g, x, op_sub(g, line, graph_i64(g, 2))); // of a newline: any place will do
		between(g, y, op_gather(g, grid->lines, picture, 0), op_gather(g, grid->tall, picture, 0), &ys[0], &ys[1], &down);
		between(g, x, op_sub(g, line, one), op_gather(g, grid->wide, picture, 0), &xs[0], &xs[1], &right);
	}
	for (int tap = 0; tap < taps * taps; tap++) {
		y = op_add(g, ys[tap / 2], op_gather(g, grid->top, picture, 0));
		x = op_add(g, xs[tap % 2], op_gather(g, grid->left, picture, 0));
		graph_value tile_y = op_div(g, y, a_side), tile_x = op_div(g, x, a_side);
		graph_value tile = op_add(g, op_add(g, op_mul(g, tile_y, op_gather(g, grid->columns, picture, 0)), tile_x), one);
		graph_value inside_y = op_sub(g, y, op_mul(g, tile_y, a_side)),
			    inside_x = op_sub(g, x, op_mul(g, tile_x, a_side));
		graph_value in_grid = op_add(g, op_mul(g, tile, an_area), op_add(g, op_mul(g, inside_y, a_side), inside_x));
		graph_value row = op_add(g, base, op_where(g, op_less(g, at, an_area), at, in_grid));
		graph_value part = op_gather(g, features, op_where(g, is_newline, newline, row), 0);
		if (taps > 1) {
			graph_value near_y = tap / 2 ? down : op_sub(g, graph_f32(g, 1), down),
				    near_x = tap % 2 ? right : op_sub(g, graph_f32(g, 1), right);
			part = op_mul(g, part, op_unsqueeze(g, op_mul(g, near_y, near_x), -1));
		}
		out = tap ? op_add(g, out, part) : part;
	}
	return out;
}

// ---- building ------------------------------------------------------------------------------------------------------------

static graph_value see(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	int64_t pictures = graph_symbol(g, "image_batch"), size = tower->image_size, wide = part_of(s, "text")->hidden_size;
	graph_value pixels = graph_input(
		g, "pixel_values", DTYPE_F32, 5, (int64_t[]){ pictures, graph_symbol(g, "tiles"), tower->channels, size, size });
	graph_value sizes = graph_input(g, "image_sizes", DTYPE_I64, 2, (int64_t[]){ pictures, 2 }); // height, width
	graph_value features = vlm_look(b, op_reshape(g, pixels, 4, (int64_t[]){ -1, tower->channels, size, size }));
	features = op_reshape(g, vlm_project(b, features, vlm_vision_width(s)), 2, (int64_t[]){ -1, wide });
	graph_value newline = op_reshape(g, WEIGHT(b, "newline", "", wide), 2, (int64_t[]){ 1, wide });
	features = op_concat(g, 2, (graph_value[]){ features, newline }, 0); // [rows + 1, text]
	graph_enter(g, "tiles");
	struct grid grid = grid_of(b, sizes);
	graph_value is_image, number, tiles = op_dim(g, pixels, 1), out = NO_VALUE;
	if (!ids.id || head_how(s) & VLM_GIVES_FEATURES) {
		graph_value all = op_squeeze(g, op_slice(g, grid.end, 0, -1, INT64_MAX), 0);
		number = op_range(g, graph_i64(g, 0), all, graph_i64(g, 1));
		out = feature_of(b, &grid, number, tiles, features); // [tokens, text]
		if (ids.id)
			graph_output(g, "image_hidden_states", out);
	}
	if (ids.id) {
		vlm_places(b, ids, &is_image, &number);
		out = vlm_merge_each(b, ids, is_image, feature_of(b, &grid, number, tiles, features));
	}
	graph_leave(g);
	return out;
}

static void build(struct build *b)
{
	vlm_build(b, see);
}

// A picture of one tile's size: what grid_of makes of it.
static void hints(const struct spec *s, struct input_hints *out)
{
	const struct vlm *v = vlm_of(s);
	const struct spec *tower = part_of(s, "vision");
	int64_t size = tower->image_size, side = side_of(tower), tall = v->heights[0] / size * side,
		wide = v->widths[0] / size * side;
	int64_t top = tall > wide ? (tall - wide) / 2 : 0,
		left = wide > tall ? (wide - tall) / 2 : 0; // the smallest resolution shows all of it
	out->image_token_id = v->image_token_id;
	out->image_tokens = side * side + (tall - 2 * top) * (wide - 2 * left + 1);
	out->image_size[0] = out->image_size[1] = size;
	out->symbols[0] = (struct input_symbol){ "tiles", 1 + v->heights[0] / size * (v->widths[0] / size) };
}

const struct family vlm_tiles = {
	.name = "vision-language-tiles",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.graphs = vlm_graphs,
	.hints = hints,
	.heads = vlm_heads,
	.traits = FAMILY_TRAIT_LIST(vlm_tiles, VLM_TILES_TRAITS),
};
