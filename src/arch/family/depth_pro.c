// SPDX-License-Identifier: Apache-2.0
// Depth Pro: a picture at several sizes, cut into overlapping squares that one encoder sees, whose features become one pyramid;
// another sees the whole (Bochkovskii et al. 2024, https://arxiv.org/abs/2410.02073). How many squares there are depends on the
// picture, so its size is a number.
//
//   pixels -> sizes -> squares -> encoder -> last states of each size, and some earlier ones -> maps -+
//   pixels -> one square -> encoder -> map, joined to that of the smallest size ----------------------+
//     -> twice as large and more -> 3x3 -> sums, each twice as large as the one before -> depth
//   field of view: a third encoder of the one square + 3x3 of the first map -> convolutions -> a number
#include <math.h>

#include "arch/block/neck.h"

enum { SQUARES_MOST = 1 << 12 };

struct depth_pro {
	struct neck neck; // its residual layers
	int64_t square;   // side
	int64_t sizes, hooks;
	const double *ratios, *overlaps;     // [sizes]
	const int64_t *size_width;           // [sizes], of their maps
	const int64_t *hook_at, *hook_width; // [hooks]
	int64_t overlap;                     // of maps that are joined
	int64_t view_layers;                 // of the field of view's head
	bool views;
};

static const struct depth_pro *own(const struct build *b)
{
	return b->s->own;
}

// A list of as many numbers as `like` has.
static const double *reals(struct config *c, const char *key, struct arena *a, size_t count)
{
	const json_t *given = config_get(c, key);
	double *out = ARENA_ARRAY(a, count + 1, double);
	if (!c->error.status && json_array_size(given) != count)
		config_fail(c, STATUS_BAD_INPUT, "%s should have %zu numbers", key, count);
	for (size_t i = 0; i < count && !c->error.status; i++) {
		out[i] = json_number_value(json_array_get(given, i));
		if (!(out[i] >= 0 && out[i] <= 1))
			config_fail(c, STATUS_BAD_INPUT, "%s: %g is not between 0 and 1", key, out[i]);
	}
	return out;
}

static bool resolve_tower(
	struct config *c, struct spec *s, struct arena *a, const char *part, const char *key, const char *above, const char *root)
{
	const char *const roots[] = { arena_printf(a, "%s%s", above, root), root, NULL };
	struct spec *p = resolve_part(c, s, a, part, key, NULL, NULL, roots);
	if (!p || !part_is_usual(c, s, part))
		return false;
	int64_t side = ((const struct depth_pro *)s->own)->square;
	p->image_size = p->image_width = side; // whatever it says
	if (p->patch_size != p->patch_width || p->patch_size > side)
		config_fail(c, STATUS_BAD_INPUT, "%s: patches of %lld by %lld in squares of %lld", key, (long long)p->patch_size,
			(long long)p->patch_width, (long long)side);
	return !c->error.status;
}

static void resolve_lists(struct config *c, struct depth_pro *o, struct arena *a)
{
	int64_t widths = 0;
	o->size_width = config_sizes(c, "scaled_images_feature_dims", a, 0, &o->sizes);
	o->hook_at = config_sizes(c, "intermediate_hook_ids", a, 0, &o->hooks);
	o->hook_width = config_sizes(c, "intermediate_feature_dims", a, 0, &widths);
	o->ratios = reals(c, "scaled_images_ratios", a, (size_t)o->sizes);
	o->overlaps = reals(c, "scaled_images_overlap_ratios", a, (size_t)o->sizes);
	if (!c->error.status && (o->sizes < 1 || o->sizes > 16 || o->hooks > 16 || widths != o->hooks))
		config_fail(c, STATUS_BAD_INPUT, "scaled_images_feature_dims and the intermediate lists do not fit");
	for (int64_t i = 0; i < o->sizes && !c->error.status; i++)
		if (o->size_width[i] < 1 || o->size_width[i] > 1 << 20 || o->ratios[i] < 1.0 / 1024 || o->overlaps[i] > 0.99)
			config_fail(c, STATUS_BAD_INPUT, "the lists of scaled_images have a number that cannot be");
	for (int64_t i = 0; i < o->hooks && !c->error.status; i++)
		if (o->hook_width[i] < 1 || o->hook_width[i] > 1 << 20)
			config_fail(c, STATUS_BAD_INPUT, "intermediate_feature_dims has a number that cannot be");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct depth_pro *o = s->own = ARENA_NEW(a, struct depth_pro);
	resolve_refusals(c, s);
	o->square = config_size(c, "patch_size", 384);
	o->overlap = config_size(c, "merge_padding_value", 3);
	o->neck.width = config_size(c, "fusion_hidden_size", 256);
	o->neck.batch_norm = config_bool(c, "use_batch_norm_in_fusion_residual", false);
	o->neck.bias = config_bool(c, "use_bias_in_fusion_residual", !o->neck.batch_norm);
	o->views = config_bool(c, "use_fov_model", false) && !s->head->bare;
	o->view_layers = config_count(c, "num_fov_head_layers", 2);
	resolve_lists(c, o, a);
	if (!c->error.status &&
		(o->square < 1 || o->square > 1 << 14 || o->neck.width < 2 || o->overlap > 1 << 14 || o->view_layers > 16 ||
			o->neck.width >> o->view_layers < 1))
		config_fail(c, STATUS_BAD_INPUT, "squares of %lld, fusion_hidden_size %lld, num_fov_head_layers %lld",
			(long long)o->square, (long long)o->neck.width, (long long)o->view_layers);
	const json_t *seen = config_get(c, "fov_model_config"); // of use where there is such a model only
	if (o->views && !seen)
		config_fail(c, STATUS_BAD_INPUT, "fov_model_config is missing");
	if (c->error.status ||
		!resolve_tower(c, s, a, "image", "image_model_config", s->prefix, "encoder.image_encoder.model.") ||
		!resolve_tower(c, s, a, "patches", "patch_model_config", s->prefix, "encoder.patch_encoder.model.") ||
		(o->views && !resolve_tower(c, s, a, "view", "fov_model_config", "", "fov_model.fov_encoder.model.")))
		return;
	const struct spec *patches = part_of(s, "patches"), *image = part_of(s, "image");
	for (int64_t i = 0; i < o->hooks; i++)
		if (o->hook_at[i] >= patches->layers)
			config_fail(c, STATUS_BAD_INPUT, "intermediate_hook_ids: %lld of %lld layers", (long long)o->hook_at[i],
				(long long)patches->layers);
	s->channels = image->channels;
	s->hidden_size = image->hidden_size;
	s->layers = s->layers_in_config = patches->layers;
	s->image_size = s->image_width = (int64_t)ceil((double)o->square / o->ratios[0]);
}

static graph_value sized(struct build *b, graph_value x, int64_t height, int64_t width)
{
	if (value_dim(b->g, x, 2) == height && value_dim(b->g, x, 3) == width)
		return x;
	graph_value to[] = { op_dim(b->g, x, 0), op_dim(b->g, x, 1), graph_i64s(b->g, 2, (int64_t[]){ height, width }) };
	return op_resize(b->g, x, op_concat(b->g, 3, to, 0), "linear");
}

// The picture at that size, cut, row by row, to out[*count ..]: [batch, channels, square, square] each.
static int64_t cut(struct build *b, graph_value pixels, int64_t size, graph_value *out, int64_t room)
{
	struct graph *g = b->g;
	const struct depth_pro *o = own(b);
	double high = (double)value_dim(g, pixels, 2) * o->ratios[size], wide = (double)value_dim(g, pixels, 3) * o->ratios[size];
	int64_t n = 0, rows = (int64_t)high, cols = (int64_t)wide, side = o->square;
	int64_t step = (int64_t)((double)side * (1 - o->overlaps[size]));
	if ((double)rows != high || (double)cols != wide || rows < side || cols < side || step < 1) {
		graph_fail(g, STATUS_UNSUPPORTED, "a picture of %g by %g, at %g of its size, in squares of %lld", high, wide,
			o->ratios[size], (long long)side);
		return 0;
	}
	pixels = sized(b, pixels, rows, cols);
	for (int64_t y = 0; y + side <= rows; y += step)
		for (int64_t x = 0; x + side <= cols && !graph_failed(g); x += step) {
			if (n == room) {
				graph_fail(g, STATUS_UNSUPPORTED, "more than %d squares", SQUARES_MOST);
				return 0;
			}
			out[n++] = op_slice(g, op_slice(g, pixels, 2, y, y + side), 3, x, x + side);
		}
	return n;
}

// tokens [count * batch, special + side*side, width] of squares that follow one another by their places: the first n*n of them,
// n*n <= count, as one map, without `overlap` along the seams: [batch, width, ..]
static graph_value joined(struct build *b, graph_value tokens, int64_t count, int64_t overlap)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t all = value_dim(g, tokens, 1), width = value_dim(g, tokens, 2), side = (int64_t)sqrt((double)all),
		n = (int64_t)sqrt((double)count);
	graph_value x =
		op_reshape(g, op_slice(g, tokens, 1, all - side * side, INT64_MAX), 4, (int64_t[]){ -1, side, side, width });
	x = op_reshape(g, op_transpose(g, x, 4, (int[]){ 0, 3, 1, 2 }), 5, (int64_t[]){ count, -1, width, side, side });
	overlap = count < 4 ? 0 : overlap < side / 4 ? overlap : side / 4;
	graph_value *row = GRAPH_TABLE(g, NULL, n, 1, graph_value), *rows = GRAPH_TABLE(g, NULL, n, 1, graph_value);
	for (int64_t i = 0; row && rows && i < n && !graph_failed(g); i++) {
		for (int64_t k = 0; k < n; k++) {
			int64_t at = i * n + k;
			graph_value one = op_squeeze(g, op_slice(g, x, 0, at, at + 1), 0);
			one = op_slice(g, one, 2, i ? overlap : 0, i < n - 1 ? side - overlap : side);
			row[k] = op_slice(g, one, 3, k ? overlap : 0, k < n - 1 ? side - overlap : side);
		}
		rows[i] = n > 1 ? op_concat(g, (int)n, row, 3) : row[0];
	}
	return !row || !rows || graph_failed(g) ? NO_VALUE : n > 1 ? op_concat(g, (int)n, rows, 2) : rows[0];
}

static void see(struct build *b, const char *part, graph_value pixels, struct body *io)
{
	const struct spec *outer = part_enter(b, part);
	*io = (struct body){ .pixels = pixels };
	graph_enter(b->g, part);
	b->s->row->family->body(b, io);
	graph_leave(b->g);
	part_leave(b, outer);
}

static graph_value doubled(struct build *b, const char *stem, graph_value x, int64_t out, bool bias)
{
	struct graph *g = b->g;
	graph_value w = WEIGHT(b, stem, "weight", value_dim(g, x, 1), out, 2, 2);
	return op_conv_transpose(
		g, x, w, bias ? WEIGHT(b, stem, "bias", out) : NO_VALUE, 2, (int64_t[]){ 2, 2 }, (int64_t[]){ 0, 0, 0, 0 }, 1);
}

// 1x1, then so often twice as large.
static graph_value enlarged(struct build *b, const char *stem, graph_value x, int64_t mid, int64_t out, int64_t times)
{
	b->layer = 0;
	x = conv(b, stem, x, (struct conv){ .out = mid, .kernel = 1 });
	for (b->layer = 1; b->layer <= times && !graph_failed(b->g); b->layer++)
		x = doubled(b, stem, x, out, false);
	return x;
}

// How large the smallest maps are: the picture halved while it is at least as wide as a square has patches.
static void base_size(struct build *b, graph_value pixels, int64_t *height, int64_t *width)
{
	const struct spec *image = part_of(b->s, "image");
	int64_t h = value_dim(b->g, pixels, 2), w = value_dim(b->g, pixels, 3), patches = image->image_size / image->patch_size;
	int times = (int)log2((double)w / (double)patches);
	*height = h >> times, *width = w >> times;
}

// The maps as one encoder after the other gives them: that of the whole, of each size, of each hook.
static void look(struct build *b, graph_value pixels, graph_value *maps, struct body *whole)
{
	struct graph *g = b->g;
	const struct depth_pro *o = own(b);
	int64_t height, width, counts[16], total = 0;
	base_size(b, pixels, &height, &width);
	graph_value *squares = ARENA_ARRAY(graph_arena(g), SQUARES_MOST, graph_value);
	for (int64_t i = o->sizes - 1; i >= 0 && !graph_failed(g); i--) { // the largest first
		counts[i] = cut(b, pixels, i, squares + total, SQUARES_MOST - total);
		total += counts[i];
	}
	if (graph_failed(g))
		return;
	struct body io;
	see(b, "patches", total > 1 ? op_concat(g, (int)total, squares, 0) : squares[0], &io);
	graph_value batch = op_dim(g, pixels, 0), end = graph_i64s(g, 1, (int64_t[]){ 0 });
	for (int64_t i = o->sizes - 1; i >= 0 && !graph_failed(g); i--) {
		graph_value begin = end;
		end = op_add(g, begin, op_mul(g, batch, graph_i64s(g, 1, &counts[i])));
		graph_value x = op_slice_to(g, io.last, 0, begin, end);
		x = joined(b, x, counts[i], (int64_t)((double)o->overlap * (1 / o->ratios[i])));
		maps[1 + i] = sized(b, x, height << i, width << i);
	}
	for (int64_t i = 0; i < o->hooks && !graph_failed(g); i++) {
		int64_t last = o->sizes - 1, overlap = (int64_t)((double)o->overlap * (1 / o->ratios[last]));
		graph_value x = joined(b, io.states[o->hook_at[i] + 1], total, overlap);
		maps[1 + o->sizes + i] = sized(b, x, height << last, width << last);
	}
	see(b, "image", sized(b, pixels, o->square, o->square), whole);
	maps[0] = sized(b, joined(b, whole->last, 1, 0), height, width);
}

// All maps at their places in the pyramid, of the same width, [sizes + hooks].
static void pyramid(struct build *b, const graph_value *maps, graph_value *out)
{
	struct graph *g = b->g;
	const struct depth_pro *o = own(b);
	int64_t n = o->sizes + o->hooks, w = o->neck.width;
	graph_enter(g, "neck");
	graph_value whole = doubled(b, "whole", maps[0], o->size_width[0], true);
	for (int64_t i = 0; i < n && !graph_failed(g); i++) {
		bool hook = i >= o->sizes;
		int64_t at = hook ? i - o->sizes : i, to = hook ? o->hook_width[at] : o->size_width[at];
		b->stage = at;
		graph_value x = enlarged(b, hook ? "hook" : "size", maps[1 + i], hook && !at ? w : to, to, hook ? 2 + at : 1);
		if (!i)
			x = conv(b, "joined", op_concat(g, 2, (graph_value[]){ x, whole }, 1),
				(struct conv){ .out = to, .kernel = 1, .bias = true });
		b->layer = i;
		out[i] = i == n - 1 && to == w ? x : conv(b, "neck.conv", x, (struct conv){ .out = w, .kernel = 3 });
	}
	graph_leave(g);
}

static graph_value fuse(struct build *b, const graph_value *maps)
{
	struct graph *g = b->g;
	const struct depth_pro *o = own(b);
	int64_t n = o->sizes + o->hooks, w = o->neck.width;
	graph_value x = NO_VALUE;
	for (int64_t i = 0; i < n && !graph_failed(g); i++) {
		bool last = i == n - 1;
		b->item_name = last ? "final" : arena_printf(graph_arena(g), "intermediate.%lld", (long long)i);
		graph_enter(g, "fuse.%lld", (long long)i);
		x = i ? op_add(g, x, neck_residual(b, &o->neck, maps[i], false)) : maps[i];
		x = neck_residual(b, &o->neck, x, true);
		x = last ? x : doubled(b, "neck.doubled", x, w, false);
		x = conv(b, "neck.fused", x, (struct conv){ .out = w, .kernel = 1, .bias = true });
		graph_leave(g);
	}
	return x;
}

static int64_t halved(int64_t n, int64_t times)
{
	return (n + (1LL << times) - 1) >> times;
}

// An angle in degrees for each picture: [batch]
static graph_value view(struct build *b, graph_value pixels, graph_value first)
{
	struct graph *g = b->g;
	const struct depth_pro *o = own(b);
	const struct spec *image = part_of(b->s, "image");
	int64_t height, width, w = o->neck.width, side = image->image_size / image->patch_size, last = side - 1;
	struct body io;
	base_size(b, pixels, &height, &width);
	see(b, "view", sized(b, pixels, o->square, o->square), &io);
	graph_value x = linear(b, "view.in", io.last, part_of(b->s, "view")->hidden_size, w / 2, true);
	x = sized(b, joined(b, x, 1, 0), height, width);
	graph_value y =
		conv(b, "view.first", first, (struct conv){ .out = w / 2, .kernel = 3, .stride = 2, .pad = 1, .bias = true });
	x = sized(b, op_add(g, x, op_relu(g, y)), side, side);
	for (int64_t i = 0; i < o->view_layers && !graph_failed(g); i++) {
		b->layer = 2 * i;
		struct conv how = { .out = halved(w, i + 2), .kernel = 3, .stride = 2, .pad = 1, .bias = true };
		x = op_relu(g, conv(b, "view.head", x, how));
	}
	b->layer = 2 * o->view_layers;
	int64_t kernel = (int64_t)((double)last / (double)(1LL << o->view_layers) + 1);
	x = conv(b, "view.head", x, (struct conv){ .out = 1, .kernel = kernel, .pad = PAD_NONE, .bias = true });
	return op_reshape(g, x, 1, (int64_t[]){ -1 });
}

static void build_depth(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct depth_pro *o = own(b);
	int64_t half = o->neck.width / 2;
	graph_value x = fuse(b, io->states);
	x = conv(b, "head.1", x, (struct conv){ .out = half, .kernel = 3, .bias = true });
	x = doubled(b, "head.2", x, half, true);
	x = op_relu(g, conv(b, "head.3", x, (struct conv){ .out = 32, .kernel = 3, .bias = true }));
	x = op_relu(g, conv(b, "head.4", x, (struct conv){ .out = 1, .kernel = 1, .bias = true }));
	graph_output(g, "predicted_depth", op_squeeze(g, x, 1)); // [batch, height, width]
	if (o->views)
		graph_output(g, "field_of_view", view(b, io->pixels, io->states[0]));
}

static void build_model(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	for (int64_t i = 0; i < io->state_count && !graph_failed(b->g); i++)
		graph_output(b->g, arena_printf(graph_arena(b->g), "features.%lld", (long long)i), io->states[i]);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct depth_pro *o = own(b);
	graph_value pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width);
	graph_value maps[33], levels[32];
	struct body whole = { 0 };
	if (value_dim(g, pixels, 2) < 1 || value_dim(g, pixels, 3) < 1)
		graph_fail(g, STATUS_UNSUPPORTED, "squares are cut of pictures of a known size");
	if (graph_failed(g))
		return;
	look(b, pixels, maps, &whole);
	if (graph_failed(g))
		return;
	pyramid(b, maps, levels);
	struct body io = { .pixels = pixels, .last = whole.last, .states = levels, .state_count = o->sizes + o->hooks };
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	image_hints(out, s->image_size, s->image_width);
}

static const struct family_head heads[] = { { &head_depth, build_depth }, { &head_model, build_model }, { 0 } };

const struct family depth_pro = {
	.name = "depth-pro",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
