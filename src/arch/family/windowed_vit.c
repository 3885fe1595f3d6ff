// SPDX-License-Identifier: Apache-2.0
// Vision transformers for detectors whose patches stay in windows from the first layer to the last; some layers attend over
// several windows (LW-DETR, Chen et al. 2024, https://arxiv.org/abs/2406.03459; RF-DETR, https://arxiv.org/abs/2511.09554). Only
// backbones: the states become maps.
//
//   pixels -> patches + positions -> windows [batch * side * side, (class token,) patches of one, hidden] -> layers -> maps
#include "arch/block/vit.h"
#include "arch/family/windowed_vit.h"

struct windowed_vit {
	struct vit vit;
	int64_t side, joined; // windows along each side; how many a layer without windows attends over
	int64_t trained;      // rows, and columns, of the learned positions; 0: there are none
	const bool *windowed; // [layers]
};

// Those that the key names; where the class derives them, those below the last feature that are none themselves.
static const bool *windowed(struct config *c, const struct spec *s, struct arena *a)
{
	int64_t count = 0;
	bool given = config_get(c, "window_block_indices") != NULL, *out = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	const int64_t *at = json_array_size(config_get(c, "window_block_indices"))
		? config_sizes(c, "window_block_indices", a, 0, &count)
		: NULL;
	for (int64_t i = 0; i < count; i++)
		if (at[i] < s->layers)
			out[at[i]] = true;
	for (int64_t i = 0; !given && s->out_count && i <= s->out_indices[s->out_count - 1] && i < s->layers; i++)
		out[i] = true;
	for (int64_t i = 0; !given && i < s->out_count; i++)
		if (s->out_indices[i] < s->layers)
			out[s->out_indices[i]] = false;
	return out;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct windowed_vit *o = ARENA_NEW(a, struct windowed_vit);
	bool tokens = TRAITS_OF(s, windowed_vit)->class_tokens;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	resolve_outputs(c, s, a, s->layers);
	s->own = o;
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	o->vit = (struct vit){
		.classes = tokens, .norm_outputs = tokens && config_bool(c, "apply_layernorm", true), .map_outputs = true
	};
	o->side = config_size(c, "num_windows", 4);
	o->joined = o->side * o->side;
	if (!tokens) {
		o->joined = o->side;
		o->side = config_size(c, "num_windows_side", 4);
	}
	int64_t trained = config_size(c, "pretrain_image_size", s->image_size);
	bool placed = config_bool(c, "use_absolute_position_embeddings", true);
	if (c->error.status)
		return;
	o->windowed = windowed(c, s, a);
	int64_t rows = s->image_size / s->patch_size, cols = s->image_width / s->patch_width;
	o->trained = placed ? trained / s->patch_size : 0;
	bool fits = o->side > 0 && (tokens || (rows % o->side == 0 && cols % o->side == 0));
	if (!fits || o->side > 1 << 10 || o->joined < 1 || (o->side * o->side) % o->joined) {
		config_fail(c, STATUS_BAD_INPUT, "%lld by %lld patches in %lld windows each way, %lld of them joined",
			(long long)rows, (long long)cols, (long long)o->side, (long long)o->joined);
		return;
	}
	if (s->patch_size != s->patch_width || (tokens && s->image_size != s->image_width) ||
		(tokens && !config_bool(c, "reshape_hidden_states", true)))
		config_fail(c, STATUS_UNSUPPORTED, "patches or pictures that are not square, or states that are no maps");
}

static const struct windowed_vit *own(const struct build *b)
{
	return b->s->own;
}

// How many patches a window has along an axis of the picture, whose size is a multiple of a patch and of the windows: i64 [1]
static graph_value window(struct build *b, graph_value pixels, int axis)
{
	struct graph *g = b->g;
	int64_t unit = b->s->patch_size * own(b)->side;
	return op_div(g, op_dim(g, pixels, axis), graph_i64s(g, 1, &unit));
}

// [batch, rows * cols, hidden] -> [batch * windows, patches of one, hidden]. With class tokens rows and columns of a window
// change places, as the class does it: another order in pictures that are not square.
static graph_value to_windows(struct build *b, graph_value x, graph_value pixels)
{
	struct graph *g = b->g;
	bool turned = own(b)->vit.classes > 0;
	int64_t n = own(b)->side, h = b->s->hidden_size;
	graph_value down = window(b, pixels, turned ? 3 : 2), right = window(b, pixels, turned ? 2 : 3);
	graph_value shape[] = { graph_i64s(g, 2, (int64_t[]){ -1, n }), down, graph_i64s(g, 1, &n), right, graph_i64s(g, 1, &h) };
	x = op_transpose(g, op_reshape_to(g, x, op_concat(g, 5, shape, 0)), 6, (int[]){ 0, 1, 3, 2, 4, 5 });
	graph_value less[] = { graph_i64s(g, 1, (int64_t[]){ -1 }), op_mul(g, down, right), graph_i64s(g, 1, &h) };
	return op_reshape_to(g, x, op_concat(g, 3, less, 0));
}

static graph_value feature(struct build *b, const struct body *io, int64_t index)
{
	struct graph *g = b->g;
	const struct windowed_vit *o = own(b);
	int64_t n = o->side, h = b->s->hidden_size;
	graph_value x = op_slice(g, vit_state(b, io, index), 1, o->vit.classes, INT64_MAX);
	graph_value down = window(b, io->pixels, 2), right = window(b, io->pixels, 3), side = graph_i64s(g, 1, &n);
	graph_value shape[] = { graph_i64s(g, 3, (int64_t[]){ -1, n, n }), down, right, graph_i64s(g, 1, &h) };
	x = op_transpose(g, op_reshape_to(g, x, op_concat(g, 4, shape, 0)), 6, (int[]){ 0, 5, 1, 3, 2, 4 });
	graph_value map[] = { graph_i64s(g, 2, (int64_t[]){ -1, h }), op_mul(g, side, down), op_mul(g, side, right) };
	x = op_reshape_to(g, x, op_concat(g, 3, map, 0));
	graph_assume(g, x, 0, value_dim(g, io->pixels, 0));
	graph_assume(g, x, 1, h);
	return x;
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct windowed_vit *o = own(b);
	int64_t h = s->hidden_size, p = s->patch_size, n = o->trained;
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, p, p), table = NO_VALUE;
	graph_value x = op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), (int64_t[]){ p, p }, (int64_t[]){ 0, 0, 0, 0 },
		(int64_t[]){ 1, 1 }, 1);
	graph_value rows = op_dim(g, x, 2), cols = op_dim(g, x, 3);
	x = tokens_of(b, x);
	if (n) { // the first is a class token's
		table = WEIGHT(b, "embed.position", "", 1, 1 + n * n, h);
		table = grid_positions(b, table, 1, n, n, rows, cols, o->vit.classes ? "smooth" : "cubic");
		x = op_add(g, x, op_slice(g, table, 1, 1, INT64_MAX));
	}
	x = to_windows(b, x, pixels);
	if (!o->vit.classes)
		return x;
	graph_value token = WEIGHT(b, "embed.class", "", 1, 1, h);
	token = n ? op_add(g, token, op_slice(g, table, 1, 0, 1)) : token;
	return op_concat(g, 2, (graph_value[]){ each_image(b, token, x), x }, 1);
}

// [batch, length, hidden] -> so many rows of a batch as one, or one apart into so many
static graph_value regrouped(struct build *b, graph_value x, int64_t factor, bool apart)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value by = graph_i64s(g, 1, &factor), length = op_dim(g, x, 1);
	length = apart ? op_div(g, length, by) : op_mul(g, length, by);
	graph_value shape[] = { graph_i64s(g, 1, (int64_t[]){ -1 }), length, graph_i64s(g, 1, &h) };
	return op_reshape_to(g, x, op_concat(g, 3, shape, 0));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct windowed_vit *o = own(b);
	unsigned how = VIT_LAYER_SCALE | (o->vit.classes ? 0 : VIT_NO_KEY_BIAS);
	graph_value x = embed(b, io->pixels);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		bool joins = !o->windowed[b->layer] && o->joined > 1;
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = joins ? regrouped(b, x, o->joined, false) : x;
		x = vit_layer(b, x, NO_VALUE, how);
		x = joins ? regrouped(b, x, o->joined, true) : x;
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

// The size that the model is for, or the next that has whole windows.
static void hints(const struct spec *s, struct input_hints *out)
{
	int64_t unit = s->patch_size * ((const struct windowed_vit *)s->own)->side;
	image_hints(out, (s->image_size + unit - 1) / unit * unit, (s->image_width + unit - 1) / unit * unit);
}

static const struct family_head heads[] = { { &head_backbone, map_features }, { 0 } };

const struct family windowed_vit = {
	.name = "windowed-vit",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = hints,
	.feature = feature,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(windowed_vit, WINDOWED_VIT_TRAITS),
};
