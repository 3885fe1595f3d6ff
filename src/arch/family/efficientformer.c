// SPDX-License-Identifier: Apache-2.0
// EfficientFormer (Li et al. 2022, https://arxiv.org/abs/2206.01191): stages of pooling and convolutions over a map, and at the
// end layers of attention over its places, with a learned bias for each distance.
//
//   pixels -> two convs -> stages, each after a conv that halves the map -> tokens -> layers -> norm -> mean -> classes
//   pooled layer:  x -+- mean of neighbours - itself (* scale) -(+)-+- 1x1 - norm - act - 1x1 - norm (* scale) -(+)-
//                     +-------------------------------------------+ +------------------------------------------+
//   layer of tokens: norm - attention (* scale), norm - up - act - down (* scale), each added
#include "arch/block/image.h"

#include <math.h>

// spec.own of the family.
struct efficientformer {
	int64_t stages, attentions; // attentions: layers of tokens, the last of the last stage
	const int64_t *depths, *widths;
	bool *shrinks; // [stages - 1]: is there a conv behind this stage
	int64_t kernel, step, pad;
	int64_t pool, key_width, value_width, side;
	double ratio;
	bool scaled;
};

static void resolve_shrinks(struct config *c, struct efficientformer *n, struct arena *a)
{
	const json_t *list = config_get(c, "downsamples");
	n->shrinks = ARENA_ARRAY(a, (size_t)n->stages, bool);
	if (!c->error.status && (int64_t)json_array_size(list) < n->stages - 1)
		config_fail(c, STATUS_BAD_INPUT, "downsamples should have a value for each stage");
	for (int64_t i = 0; i + 1 < n->stages && !c->error.status; i++)
		n->shrinks[i] = json_is_true(json_array_get(list, (size_t)i)) || n->widths[i] != n->widths[i + 1];
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct efficientformer *n = ARENA_NEW(a, struct efficientformer);
	s->own = n;
	if (!config_sizes(c, "depths", a, 0, &n->stages) || n->stages < 1 || n->stages > 16)
		config_fail(c, STATUS_BAD_INPUT, "depths should have a number for each of at most 16 stages");
	n->depths = resolve_stages(c, "depths", a, n->stages, 0);
	n->widths = resolve_stages(c, "hidden_sizes", a, n->stages, 1);
	n->attentions = config_count(c, "num_meta3d_blocks", 1);
	n->kernel = config_size(c, "downsample_patch_size", 3);
	n->step = config_size(c, "downsample_stride", 2);
	n->pad = config_size(c, "downsample_pad", 1);
	n->pool = config_size(c, "pool_size", 3);
	n->key_width = config_size(c, "key_dim", 32);
	n->value_width = (int64_t)(config_real(c, "attention_ratio", 4) * (double)n->key_width);
	n->side = config_size(c, "resolution", 7);
	n->ratio = config_real(c, "mlp_expansion_ratio", 4);
	n->scaled = config_bool(c, "use_layer_scale", true);
	int64_t width = config_size(c, "dim", 448);
	s->heads = s->kv_heads = config_size(c, "num_attention_heads", 8);
	s->channels = config_size(c, "num_channels", 3);
	s->image_size = s->image_width = config_size(c, "image_size", 224);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-12);
	s->last_eps = config_real(c, "batch_norm_eps", 1e-5);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	if (c->error.status)
		return;
	s->hidden_size = n->widths[n->stages - 1];
	s->layers = s->layers_in_config = n->stages;
	if (width != s->hidden_size && n->attentions)
		config_fail(c, STATUS_BAD_INPUT, "dim %lld is not the width of the last stage, %lld", (long long)width,
			(long long)s->hidden_size);
	else if (n->kernel < 1 || n->step < 1 || n->pool < 1 || n->pool % 2 == 0 || n->key_width < 1 || n->value_width < 1 ||
		n->side < 1 || n->side > 128 || s->heads < 1 || !(n->ratio > 0 && n->ratio < 1e4) || s->image_size > 1 << 14)
		config_fail(c, STATUS_BAD_INPUT, "pool_size %lld, key_dim %lld or resolution %lld", (long long)n->pool,
			(long long)n->key_width, (long long)n->side);
	else
		resolve_shrinks(c, n, a);
}

static graph_value scaled(struct build *b, const char *stem, graph_value y, int64_t width, bool map)
{
	const struct efficientformer *n = b->s->own;
	if (!n->scaled)
		return y;
	graph_value by = WEIGHT(b, stem, "", width);
	return op_mul(b->g, y, map ? op_reshape(b->g, by, 3, (int64_t[]){ width, 1, 1 }) : by);
}

static graph_value step(struct build *b, const char *stem, graph_value x, struct conv c, enum activation act)
{
	const char *norm = arena_printf(graph_arena(b->g), "%s.norm", stem);
	c.bias = true;
	return conv_norm(b, stem, norm, x, c, b->s->last_eps, act);
}

// `stem`: "layers", or "last" of the last stage
static graph_value pooled_layer(struct build *b, const char *stem, graph_value x, int64_t w)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	const struct efficientformer *n = b->s->own;
	int64_t edge = n->pool / 2, one[] = { 1, 1 }, kernel[] = { n->pool, n->pool }, pad[] = { edge, edge, edge, edge };
	graph_value y = op_sub(g, op_average_pool(g, x, 2, kernel, one, pad, false, false), x);
	x = op_add(g, x, scaled(b, arena_printf(a, "%s.scale", stem), y, w, true));
	y = step(b, arena_printf(a, "%s.ffn.up", stem), x, (struct conv){ .out = (int64_t)((double)w * n->ratio), .kernel = 1 },
		b->s->act);
	y = step(b, arena_printf(a, "%s.ffn.down", stem), y, (struct conv){ .out = w, .kernel = 1 }, ACT_NONE);
	return op_add(g, x, scaled(b, arena_printf(a, "%s.ffn.scale", stem), y, w, true));
}

static graph_value token_layer(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct efficientformer *n = b->s->own;
	int64_t w = b->s->hidden_size, heads = b->s->heads, d = n->key_width, all = 2 * d + n->value_width,
		inner = (int64_t)((double)w * n->ratio);
	graph_value qkv = linear(b, "tokens.attn.qkv", layer_norm(b, "tokens.attn.norm", x, w), w, heads * all, true);
	graph_value y = op_attention(g,
		&(struct attention){ heads_part(g, qkv, heads, all, 0, d), heads_part(g, qkv, heads, all, d, 2 * d),
			heads_part(g, qkv, heads, all, 2 * d, all),
			.bias = offset_bias(b, "tokens.attn.bias", heads, n->side, n->side, 1), .heads = heads,
			.scale = (float)(1 / sqrt((double)d)) });
	y = linear(b, "tokens.attn.o", y, heads * n->value_width, w, true);
	x = op_add(g, x, scaled(b, "tokens.scale", y, w, false));
	y = activate(b, b->s->act, linear(b, "tokens.ffn.up", layer_norm(b, "tokens.ffn.norm", x, w), w, inner, true));
	return op_add(g, x, scaled(b, "tokens.ffn.scale", linear(b, "tokens.ffn.down", y, inner, w, true), w, false));
}

// The stages before the last; files number them and the convs behind them in one row.
static graph_value stages(struct build *b, graph_value x)
{
	const struct efficientformer *n = b->s->own;
	b->stage = 0;
	for (int64_t i = 0; i + 1 < b->s->layers && !graph_failed(b->g); i++, b->stage++) {
		graph_enter(b->g, "stages.%lld", (long long)i);
		for (b->layer = 0; b->layer < n->depths[i] && !graph_failed(b->g); b->layer++)
			x = pooled_layer(b, "layers", x, n->widths[i]);
		if (n->shrinks[i]) {
			b->layer = ++b->stage; // a stem with one number
			x = step(b, "down", x,
				(struct conv){ .out = n->widths[i + 1],
					.kernel = n->kernel,
					.stride = n->step,
					.pad = n->pad ? n->pad : PAD_NONE },
				ACT_NONE);
		}
		graph_leave(b->g);
	}
	return x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct efficientformer *n = b->s->own;
	int64_t w = n->widths[0], last = n->stages - 1;
	graph_value x = step(b, "stem.0", io->pixels, (struct conv){ .out = w / 2, .kernel = 3, .stride = 2 }, ACT_RELU);
	x = step(b, "stem.1", x, (struct conv){ .out = w, .kernel = 3, .stride = 2 }, ACT_RELU);
	x = stages(b, x);
	for (b->layer = 0; b->layer < n->depths[last] - n->attentions && !graph_failed(g); b->layer++)
		x = pooled_layer(b, "last", x, b->s->hidden_size);
	if (graph_failed(g))
		return;
	if (n->attentions && (value_dim(g, x, 2) * value_dim(g, x, 3) != n->side * n->side)) {
		graph_fail(g, STATUS_BAD_INPUT, "%s: resolution %lld, but the last map of such pictures is %lld by %lld",
			b->c->path, (long long)n->side, (long long)value_dim(g, x, 2), (long long)value_dim(g, x, 3));
		return;
	}
	x = tokens_of(b, x);
	for (b->layer = 0; b->layer < n->attentions && !graph_failed(g); b->layer++)
		x = token_layer(b, x);
	io->last = layer_norm(b, "norm", x, b->s->hidden_size);
	io->pooled = op_reduce_mean(g, io->last, 1, false);
}

static void build_teacher(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	head_give_taught(b, linear(b, "head.image", io->pooled, s->hidden_size, s->labels, true),
		linear(b, "head.image.distillation", io->pooled, s->hidden_size, s->labels, true));
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_image, head_classify_pooled },
	{ &head_image_teacher, build_teacher },
	{ 0 },
};

const struct family efficientformer = {
	.name = "efficientformer",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.heads = heads,
};
