// SPDX-License-Identifier: Apache-2.0
// Neighbourhood attention (Hassani et al. 2022, https://arxiv.org/abs/2204.07143; dilated, https://arxiv.org/abs/2209.15001):
// each place of a map attends to the kernel by kernel places around it, with `dilation` places from one to the next; at the edge
// of the map the neighbourhood stays within it.
//
//   pixels -> two convs - norm -> stages, a conv that halves the map between them -> norm -> mean -> classes
//   layer:  x -+- norm - attention (* scale) -(+)-+- norm - up - act - down (* scale) -(+)-
//              +--------------------------------+ +----------------------------------+
//   as a backbone: the maps of the stages before they are halved, each with a norm of its own
#include "arch/block/image.h"

#include <math.h>

// spec.own of the family.
struct nat {
	int64_t stages, embed, kernel;
	const int64_t *depths, *heads; // [stages]
	const int64_t **dilations;     // [stages][depths]
	double ratio;
	bool qkv_bias, scaled;
};

static int64_t width_of(const struct nat *n, int64_t stage)
{
	return n->embed << stage;
}

static void resolve_dilations(struct config *c, struct nat *n, struct arena *a)
{
	const json_t *all = config_knows(c, "dilations") ? config_get(c, "dilations") : NULL;
	n->dilations = ARENA_ARRAY(a, (size_t)n->stages + 1, const int64_t *);
	for (int64_t i = 0; i < n->stages && !c->error.status; i++) {
		int64_t *of = ARENA_ARRAY(a, (size_t)n->depths[i] + 1, int64_t);
		const json_t *list = json_array_get(all, (size_t)i);
		for (int64_t k = 0; k < n->depths[i] && !c->error.status; k++) {
			const json_t *x = json_array_get(list, (size_t)k);
			of[k] = all ? json_integer_value(x) : 1;
			if (of[k] < 1 || of[k] > 1 << 10)
				config_fail(c, STATUS_BAD_INPUT, "dilations should have a number for each layer of each stage");
		}
		n->dilations[i] = of;
	}
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct nat *n = ARENA_NEW(a, struct nat);
	s->own = n;
	if (!config_sizes(c, "depths", a, 0, &n->stages) || n->stages < 1 || n->stages > 16)
		config_fail(c, STATUS_BAD_INPUT, "depths should have a number for each of at most 16 stages");
	n->depths = resolve_stages(c, "depths", a, n->stages, 1);
	n->heads = resolve_stages(c, "num_heads", a, n->stages, 1);
	n->embed = config_size(c, "embed_dim", 64);
	n->kernel = config_size(c, "kernel_size", 7);
	n->ratio = config_real(c, "mlp_ratio", 3);
	n->qkv_bias = config_bool(c, "qkv_bias", true);
	n->scaled = config_real(c, "layer_scale_init_value", 0) > 0;
	s->channels = config_size(c, "num_channels", 3);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	int64_t patch = config_size(c, "patch_size", 4);
	resolve_outputs(c, s, a, n->stages);
	if (c->error.status)
		return;
	if (patch != 4)
		config_fail(c, STATUS_UNSUPPORTED, "patch_size %lld: the model knows 4 only", (long long)patch);
	else if (n->embed < 2 || n->embed > 1 << 14 || n->kernel < 1 || n->kernel % 2 == 0 || n->kernel > 63 ||
		!(n->ratio > 0 && n->ratio < 1024))
		config_fail(c, STATUS_BAD_INPUT, "embed_dim %lld, kernel_size %lld or mlp_ratio %g", (long long)n->embed,
			(long long)n->kernel, n->ratio);
	for (int64_t i = 0; i < n->stages && !c->error.status; i++)
		if (n->depths[i] > CONFIG_COUNT_MOST || width_of(n, i) % n->heads[i])
			config_fail(
				c, STATUS_BAD_INPUT, "depths or num_heads do not go with embed_dim %lld", (long long)n->embed);
	if (c->error.status)
		return;
	resolve_dilations(c, n, a);
	s->layers = s->layers_in_config = n->stages;
	s->hidden_size = width_of(n, n->stages - 1);
}

// Along one side of `size` places, i64 [1]: *place [size, kernel] the neighbours of each; *offset likewise, which of the
// 2 * kernel - 1 distances each is. Places that are a multiple of `dilation` apart are neighbours of each other only.
static void neighbours(
	struct graph *g, graph_value size, int64_t kernel, int64_t dilation, graph_value *place, graph_value *offset)
{
	graph_value d = graph_i64(g, dilation), zero = graph_i64(g, 0), one = graph_i64(g, 1);
	graph_value at = op_range(g, zero, op_squeeze(g, size, 0), one), row = op_div(g, at, d);
	graph_value rest = op_sub(g, at, op_mul(g, row, d));
	graph_value rows = op_div(g, op_add(g, op_sub(g, size, rest), graph_i64(g, dilation - 1)), d);
	graph_value first = op_max(g, op_sub(g, row, graph_i64(g, kernel / 2)), zero);
	first = op_min(g, first, op_sub(g, rows, graph_i64(g, kernel)));
	graph_value all = op_add(g, op_unsqueeze(g, first, 1), op_range(g, zero, graph_i64(g, kernel), one)); // [size, kernel]
	*place = op_add(g, op_mul(g, all, d), op_unsqueeze(g, rest, 1));
	*offset = op_add(g, op_sub(g, all, op_unsqueeze(g, row, 1)), graph_i64(g, kernel - 1));
}

// down * by + right for each place of a map and each of its neighbours: down [rows, kernel], right [cols, kernel]: [.., kernel^2]
static graph_value crossed(struct graph *g, graph_value down, graph_value by, graph_value right, int64_t kernel)
{
	down = op_unsqueeze(g, op_unsqueeze(g, op_mul(g, down, by), 1), 3);
	graph_value x = op_add(g, down, op_unsqueeze(g, op_unsqueeze(g, right, 0), 2)); // [rows, cols, kernel, kernel]
	return op_reshape(g, x, 2, (int64_t[]){ -1, kernel * kernel });
}

// x [batch, height, width, dim] at least kernel * dilation places high and wide -> [batch, places, dim]
static graph_value attention(struct build *b, graph_value x, int64_t dim, int64_t heads, int64_t dilation)
{
	struct graph *g = b->g;
	const struct nat *n = b->s->own;
	int64_t k = n->kernel, area = k * k, d = dim / heads, side = 2 * k - 1;
	graph_value down, right, below, beside;
	neighbours(g, op_dim(g, x, 1), k, dilation, &down, &below);
	neighbours(g, op_dim(g, x, 2), k, dilation, &right, &beside);
	graph_value places = crossed(g, down, op_dim(g, x, 2), right, k);
	graph_value batch = op_dim(g, x, 0);
	x = op_reshape_to(g, x,
		op_concat(
			g, 3, (graph_value[]){ batch, op_mul(g, op_dim(g, x, 1), op_dim(g, x, 2)), graph_i64s(g, 1, &dim) }, 0));
	graph_value q = op_scale(g, linear(b, "layers.attn.q", x, dim, dim, n->qkv_bias), (float)(1 / sqrt((double)d)));
	graph_value keys = op_gather(g, linear(b, "layers.attn.k", x, dim, dim, n->qkv_bias), places, 1); // [batch, n, area, dim]
	graph_value values = op_gather(g, linear(b, "layers.attn.v", x, dim, dim, n->qkv_bias), places, 1);
	keys = op_transpose(g, op_reshape(g, keys, 5, (int64_t[]){ 0, 0, area, heads, d }), 5, (int[]){ 0, 1, 3, 4, 2 });
	values = op_transpose(g, op_reshape(g, values, 5, (int64_t[]){ 0, 0, area, heads, d }), 5, (int[]){ 0, 1, 3, 2, 4 });
	graph_value scores = op_matmul(g, op_reshape(g, q, 5, (int64_t[]){ 0, 0, heads, 1, d }), keys);
	graph_value table = op_reshape(g, WEIGHT(b, "layers.attn.bias", "", heads, side, side), 2, (int64_t[]){ heads, -1 });
	graph_value bias = op_gather(g, table, crossed(g, below, graph_i64(g, side), beside, k), 1); // [heads, n, area]
	scores = op_add(g, scores, op_unsqueeze(g, op_transpose(g, bias, 3, (int[]){ 1, 0, 2 }), 2));
	graph_value y = op_matmul(g, op_softmax(g, scores, -1), values); // [batch, n, heads, 1, d]
	return linear(b, "layers.attn.o", op_reshape(g, y, 3, (int64_t[]){ 0, 0, dim }), dim, dim, true);
}

// x with zeros behind its end along an axis until it is `least` long
static graph_value at_least(struct graph *g, graph_value x, int axis, int64_t least)
{
	graph_value end = op_max(g, op_dim(g, x, axis), graph_i64s(g, 1, &least));
	return op_slice_to(g, op_pad(g, x, axis, 0, least), axis, graph_i64s(g, 1, (int64_t[]){ 0 }), end);
}

static graph_value scaled(struct build *b, graph_value y, int64_t which, int64_t dim)
{
	const struct nat *n = b->s->own;
	if (!n->scaled)
		return y;
	return op_mul(b->g, y, op_slice(b->g, WEIGHT(b, "layers.scale", "", 2, dim), 0, which, which + 1));
}

// x [batch, height, width, dim]
static graph_value layer(struct build *b, graph_value x, int64_t dim, int64_t heads, int64_t dilation)
{
	struct graph *g = b->g;
	const struct nat *n = b->s->own;
	int64_t inner = (int64_t)(n->ratio * (double)dim);
	graph_value none = graph_i64s(g, 1, (int64_t[]){ 0 }), y = layer_norm(b, "layers.attn.norm", x, dim);
	graph_enter(g, "attn");
	y = at_least(g, at_least(g, y, 1, n->kernel * dilation), 2, n->kernel * dilation);
	graph_value sizes[] = { op_dim(g, y, 0), op_dim(g, y, 1), op_dim(g, y, 2), graph_i64s(g, 1, &dim) };
	y = op_reshape_to(g, attention(b, y, dim, heads, dilation), op_concat(g, 4, sizes, 0));
	y = op_slice_to(g, op_slice_to(g, y, 1, none, op_dim(g, x, 1)), 2, none, op_dim(g, x, 2));
	y = op_reshape_to(g, y, op_shape(g, x));
	graph_leave(g);
	x = op_add(g, x, scaled(b, y, 0, dim));
	y = linear(b, "layers.ffn.up", layer_norm(b, "layers.ffn.norm", x, dim), dim, inner, true);
	y = linear(b, "layers.ffn.down", activate(b, b->s->act, y), inner, dim, true);
	return op_add(g, x, scaled(b, y, 1, dim));
}

static graph_value channels_last(struct graph *g, graph_value map)
{
	return op_transpose(g, map, 4, (int[]){ 0, 2, 3, 1 });
}

static graph_value channels_first(struct graph *g, graph_value x)
{
	return op_transpose(g, x, 4, (int[]){ 0, 3, 1, 2 });
}

static graph_value halved(struct build *b, graph_value x, int64_t dim)
{
	x = conv(b, "down", channels_first(b->g, x), (struct conv){ .out = 2 * dim, .kernel = 3, .stride = 2 });
	return layer_norm_eps(b, "down.norm", channels_last(b->g, x), 1e-5);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct nat *n = b->s->own;
	graph_value x =
		conv(b, "embed.0", io->pixels, (struct conv){ .out = n->embed / 2, .kernel = 3, .stride = 2, .bias = true });
	x = conv(b, "embed.1", x, (struct conv){ .out = n->embed, .kernel = 3, .stride = 2, .bias = true });
	x = layer_norm_eps(b, "embed.norm", channels_last(g, x), 1e-5);
	io->states = ARENA_ARRAY(graph_arena(g), (size_t)n->stages + 1, graph_value);
	io->state_count = 0;
	states_add(io, x);
	for (b->stage = 0; b->stage < n->stages && !graph_failed(g); b->stage++) {
		int64_t dim = width_of(n, b->stage);
		graph_enter(g, "stages.%lld", (long long)b->stage);
		for (b->layer = 0; b->layer < n->depths[b->stage] && !graph_failed(g); b->layer++)
			x = layer(b, x, dim, n->heads[b->stage], n->dilations[b->stage][b->layer]);
		states_add(io, x);
		b->layer = b->stage; // a stem with one number
		if (b->stage < n->stages - 1)
			x = halved(b, x, dim);
		graph_leave(g);
	}
	io->last = x;
	if (b->s->head && b->s->head->gives_states)
		return;
	io->last = layer_norm(b, "norm", x, b->s->hidden_size);
	io->pooled = op_reduce_mean(g, op_reduce_mean(g, io->last, 1, false), 1, false);
}

static graph_value feature(struct build *b, const struct body *io, int64_t index)
{
	b->layer = index;
	return channels_first(b->g, layer_norm_eps(b, index ? "out.stage" : "out.stem", io->states[index], 1e-5));
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_image, head_classify_pooled },
	{ &head_backbone, map_features },
	{ 0 },
};

const struct family nat = {
	.name = "nat",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.feature = feature,
	.hints = map_hints,
	.heads = heads,
};
