// SPDX-License-Identifier: Apache-2.0
// DaViT: tokens attend to each other within windows, then channels to channels (Ding et al. 2022,
// https://arxiv.org/abs/2204.03645), as the vision tower of Florence-2.
//
//   pixels -> stages of: conv with a norm before or after it, then blocks
//   block:  x + 3x3 by channel - (norm - attention in windows)+ - x + 3x3 by channel - (norm - up - act - down)+
//           and the same again with attention between the channels of a group
#include "arch/block/image.h"
#include "arch/block/window.h"

#include <math.h>

// Lists have a number for each stage.
struct davit {
	int64_t stages, window;
	const int64_t *depths, *widths, *heads, *groups, *kernels, *strides, *pads;
	const bool *norm_first;
	double mlp_ratio;
	bool qkv_bias;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct davit *d = s->own = ARENA_NEW(a, struct davit);
	int64_t stages = 0;
	if (!config_sizes(c, "embed_dim", a, 0, &stages) || stages < 1 || stages > 16)
		config_fail(c, STATUS_BAD_INPUT, "embed_dim should have a number for each of at most 16 stages");
	const json_t *first = config_get(c, "patch_prenorm");
	bool *norm_first = ARENA_ARRAY(a, (size_t)stages + 1, bool);
	for (int64_t i = 0; i < stages; i++)
		norm_first[i] = json_is_true(json_array_get(first, (size_t)i));
	*d = (struct davit){ .stages = stages,
		.depths = resolve_stages(c, "depths", a, stages, 0),
		.widths = resolve_stages(c, "embed_dim", a, stages, 1),
		.heads = resolve_stages(c, "num_heads", a, stages, 1),
		.groups = resolve_stages(c, "num_groups", a, stages, 1),
		.kernels = resolve_stages(c, "patch_size", a, stages, 1),
		.strides = resolve_stages(c, "patch_stride", a, stages, 1),
		.pads = resolve_stages(c, "patch_padding", a, stages, 0),
		.norm_first = norm_first,
		.window = config_size(c, "window_size", 12),
		.mlp_ratio = config_real(c, "mlp_ratio", 4),
		.qkv_bias = config_bool(c, "qkv_bias", true) };
	resolve_refusals(c, s);
	s->channels = config_size(c, "in_channels", 3);
	s->act = config_activation(c, "activation_function", ACT_GELU);
	s->norm_eps = 1e-5;
	if (!c->error.status && (d->window < 1 || d->window > 1024 || !(d->mlp_ratio > 0 && d->mlp_ratio < 1024)))
		config_fail(c, STATUS_BAD_INPUT, "window_size %lld, mlp_ratio %g", (long long)d->window, d->mlp_ratio);
	for (int64_t i = 0; !c->error.status && i < stages; i++)
		if (d->widths[i] % d->heads[i] || d->widths[i] % d->groups[i] || d->depths[i] > CONFIG_COUNT_MOST)
			config_fail(c, STATUS_BAD_INPUT, "%lld channels in %lld heads and %lld groups, %lld blocks",
				(long long)d->widths[i], (long long)d->heads[i], (long long)d->groups[i],
				(long long)d->depths[i]);
	if (c->error.status)
		return;
	s->layers = s->layers_in_config = stages;
	s->hidden_size = d->widths[stages - 1];
}

static graph_value narrow(struct build *b, graph_value x)
{
	const struct davit *d = b->s->own;
	int64_t i = b->layer;
	if (d->norm_first[i])
		x = map_norm(b, "embed.norm", x, b->s->norm_eps);
	x = conv(b, "embed", x,
		(struct conv){ .out = d->widths[i],
			.kernel = d->kernels[i],
			.stride = d->strides[i],
			.pad = d->pads[i] ? d->pads[i] : PAD_NONE,
			.bias = true });
	return d->norm_first[i] ? x : map_norm(b, "embed.norm", x, b->s->norm_eps);
}

// STEM.qkv of x [.., dim]: query, key and value
static void split(struct build *b, const char *stem, graph_value x, int64_t dim, graph_value out[3])
{
	const struct davit *d = b->s->own;
	x = linear(b, stem, x, dim, 3 * dim, d->qkv_bias);
	for (int i = 0; i < 3; i++)
		out[i] = op_slice(b->g, x, -1, i * dim, (i + 1) * dim);
}

// tokens [batch, rows*cols, dim] within windows; what a window lacks at the end of the grid is zeros, which are seen.
static graph_value attend_places(struct build *b, graph_value x, graph_value rows, graph_value cols, int64_t dim)
{
	struct graph *g = b->g;
	const struct davit *d = b->s->own;
	int64_t n = d->window, heads = d->heads[b->stage];
	graph_value shape[] = { op_dim(g, x, 0), rows, cols, graph_i64s(g, 1, &dim) }, part[3], y;
	y = op_reshape_to(g, x, op_concat(g, 4, shape, 0));
	struct window_grid grid = window_grid(g, y, n);
	split(b, "spatial.qkv", window_cut(g, y, &grid, dim), dim, part);
	y = op_attention(g,
		&(struct attention){
			part[0], part[1], part[2], .heads = heads, .scale = (float)(1 / sqrt((double)dim / (double)heads)) });
	y = window_join(g, linear(b, "spatial.o", y, dim, dim, true), &grid, dim);
	return op_reshape_to(g, y, op_shape(g, x));
}

// tokens [batch, places, dim]: the channels of a group attend to each other by their places.
static graph_value attend_channels(struct build *b, graph_value x, int64_t dim)
{
	struct graph *g = b->g;
	const struct davit *d = b->s->own;
	int64_t groups = d->groups[b->stage];
	graph_value part[3];
	split(b, "channel.qkv", x, dim, part);
	for (int i = 0; i < 3; i++) {
		part[i] = op_reshape(g, part[i], 4, (int64_t[]){ 0, 0, groups, dim / groups });
		part[i] = op_transpose(g, part[i], 4, i == 1 ? (int[]){ 0, 2, 1, 3 } : (int[]){ 0, 2, 3, 1 });
	}
	graph_value root = op_sqrt(g, op_cast(g, op_dim(g, x, 1), DTYPE_F32));
	graph_value p = op_softmax(g, op_div(g, op_matmul(g, part[0], part[1]), root), -1); // [batch, groups, width, width]
	x = op_transpose(g, op_matmul(g, p, part[2]), 4, (int[]){ 0, 3, 1, 2 });
	return linear(b, "channel.o", op_reshape(g, x, 3, (int64_t[]){ 0, 0, dim }), dim, dim, true);
}

static graph_value stem(struct build *b, const char *half, const char *word, graph_value map, int64_t dim)
{
	const char *name = arena_printf(graph_arena(b->g), "%s.%s", half, word);
	return op_add(b->g, conv(b, name, map, (struct conv){ .out = dim, .kernel = 3, .group = dim, .bias = true }), map);
}

// "spatial" or "channel": a map -> the same
static graph_value half(struct build *b, const char *name, graph_value map, int64_t dim)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	int64_t inner = (int64_t)((double)dim * ((const struct davit *)b->s->own)->mlp_ratio);
	graph_value rows = op_dim(g, map, 2), cols = op_dim(g, map, 3);
	graph_enter(g, name);
	map = stem(b, name, "conv.1", map, dim);
	graph_value x = tokens_of(b, map), y = layer_norm(b, arena_printf(a, "%s.norm.1", name), x, dim);
	y = text_is(name, "spatial") ? attend_places(b, y, rows, cols, dim) : attend_channels(b, y, dim);
	map = stem(b, name, "conv.2", map_of(b, op_add(g, x, y), map), dim);
	x = tokens_of(b, map);
	y = layer_norm(b, arena_printf(a, "%s.norm.2", name), x, dim);
	y = activate(b, b->s->act, linear(b, arena_printf(a, "%s.ffn.up", name), y, dim, inner, true));
	y = linear(b, arena_printf(a, "%s.ffn.down", name), y, inner, dim, true);
	graph_leave(g);
	return map_of(b, op_add(g, x, y), map);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct davit *d = b->s->own;
	graph_value x = io->pixels;
	for (int64_t i = 0; i < d->stages && !graph_failed(g); i++) {
		graph_enter(g, "stages.%lld", (long long)i);
		b->layer = b->stage = i;
		x = narrow(b, x);
		for (b->layer = 0; b->layer < d->depths[i] && !graph_failed(b->g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = half(b, "channel", half(b, "spatial", x, d->widths[i]), d->widths[i]);
			graph_leave(g);
		}
		graph_leave(g);
	}
	io->last = x; // [batch, hidden, rows, cols]
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 768, 768);
}

static const struct family_head heads[] = { { &head_model, head_give_last }, { &head_backbone, head_give_last }, { 0 } };

const struct family davit = {
	.name = "davit",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = hints,
	.heads = heads,
};
