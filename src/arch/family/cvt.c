// SPDX-License-Identifier: Apache-2.0
// CvT: a transformer in stages whose queries, keys and values come from convolutions (Wu et al. 2021,
// https://arxiv.org/abs/2103.15808).
//
//   pixels -> stages: patch conv - norm (class token) -> layers -> norm of the class token or of the places -> mean -> classes
//   layer:  x -+- norm - attention -(+)-+- norm - up - gelu - down -(+)-
//              +--------------------+  +---------------------------+
//   query, key, value: linear(class token, norm(k x k by channel of the map))
#include <math.h>

#include "arch/block/image.h"

// spec.own of the family. Lists have a number for each stage.
struct cvt {
	const int64_t *depths, *widths, *heads, *patches, *strides, *pads, *ratios, *kernels, *query_stride, *query_pad,
		*key_stride, *key_pad;
	const bool *has_class, *has_bias;
};

static const bool *flags(struct config *c, const char *key, struct arena *a, int64_t stages)
{
	const json_t *v = config_get(c, key);
	bool *out = ARENA_ARRAY(a, (size_t)stages + 1, bool);
	if ((int64_t)json_array_size(v) < stages)
		config_fail(c, STATUS_BAD_INPUT, "%s should say true or false for each of %lld stages", key, (long long)stages);
	for (int64_t i = 0; i < stages; i++)
		out[i] = json_is_true(json_array_get(v, (size_t)i));
	return out;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct cvt *n = ARENA_NEW(a, struct cvt);
	int64_t stages = 0;
	if (!config_sizes(c, "depth", a, 0, &stages) || stages > CONFIG_COUNT_MOST)
		config_fail(c, STATUS_BAD_INPUT, "depth should have a number for each stage");
	*n = (struct cvt){ .depths = resolve_stages(c, "depth", a, stages, 1),
		.widths = resolve_stages(c, "embed_dim", a, stages, 1),
		.heads = resolve_stages(c, "num_heads", a, stages, 1),
		.patches = resolve_stages(c, "patch_sizes", a, stages, 1),
		.strides = resolve_stages(c, "patch_stride", a, stages, 1),
		.pads = resolve_stages(c, "patch_padding", a, stages, 0),
		.ratios = resolve_stages(c, "mlp_ratio", a, stages, 1),
		.kernels = resolve_stages(c, "kernel_qkv", a, stages, 1),
		.query_stride = resolve_stages(c, "stride_q", a, stages, 1),
		.query_pad = resolve_stages(c, "padding_q", a, stages, 0),
		.key_stride = resolve_stages(c, "stride_kv", a, stages, 1),
		.key_pad = resolve_stages(c, "padding_kv", a, stages, 0),
		.has_class = flags(c, "cls_token", a, stages),
		.has_bias = flags(c, "qkv_bias", a, stages) };
	s->channels = config_size(c, "num_channels", 3);
	const json_t *ways = config_get(c, "qkv_projection_method");
	for (size_t i = 0; i < json_array_size(ways); i++)
		if (!text_is(json_string_value(json_array_get(ways, i)), "dw_bn"))
			config_fail(c, STATUS_UNSUPPORTED, "a qkv_projection_method other than dw_bn is not supported");
	for (int64_t i = 0; i < stages && !c->error.status; i++)
		if (n->widths[i] % n->heads[i])
			config_fail(c, STATUS_BAD_INPUT, "%lld channels do not divide into %lld heads", (long long)n->widths[i],
				(long long)n->heads[i]);
	if (c->error.status)
		return;
	s->layers = s->layers_in_config = stages;
	s->hidden_size = n->widths[stages - 1];
	s->own = n;
}

// The class token as it is, the places through a convolution; then the linear layer: [batch, tokens, w]
static graph_value project(struct build *b, const char *which, graph_value map, graph_value first, int64_t stride, int64_t pad)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	const struct cvt *n = b->s->own;
	int64_t w = n->widths[b->stage];
	graph_value x = conv_norm(b, arena_printf(a, "layers.attn.%s.conv", which), arena_printf(a, "layers.attn.%s.norm", which),
		map,
		(struct conv){
			.out = w, .kernel = n->kernels[b->stage], .stride = stride, .pad = pad ? pad : PAD_NONE, .group = w },
		1e-5, ACT_NONE);
	x = tokens_of(b, x);
	if (first.id)
		x = op_concat(g, 2, (graph_value[]){ first, x }, 1);
	return linear(b, arena_printf(a, "layers.attn.%s", which), x, w, w, n->has_bias[b->stage]);
}

static graph_value attention(struct build *b, graph_value x, graph_value like)
{
	struct graph *g = b->g;
	const struct cvt *n = b->s->own;
	int64_t i = b->stage, w = n->widths[i];
	graph_value first = n->has_class[i] ? op_slice(g, x, 1, 0, 1) : NO_VALUE;
	graph_value map = map_of(b, first.id ? op_slice(g, x, 1, 1, INT64_MAX) : x, like);
	graph_value q = project(b, "q", map, first, n->query_stride[i], n->query_pad[i]),
		    k = project(b, "k", map, first, n->key_stride[i], n->key_pad[i]),
		    v = project(b, "v", map, first, n->key_stride[i], n->key_pad[i]);
	graph_value y =
		op_attention(g, &(struct attention){ q, k, v, .heads = n->heads[i], .scale = (float)(1 / sqrt((double)w)) });
	return linear(b, "layers.attn.o", y, w, w, true);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct cvt *n = b->s->own;
	graph_value map = io->pixels;
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(g); b->stage++) {
		int64_t i = b->stage, w = n->widths[i], inner = w * n->ratios[i];
		graph_enter(g, "stages.%lld", (long long)i);
		b->layer = i;
		struct conv c = { .out = w, .kernel = n->patches[i], .stride = n->strides[i], .bias = true };
		c.pad = n->pads[i] ? n->pads[i] : PAD_NONE;
		map = conv(b, "patch", map, c);
		graph_value x = layer_norm_eps(b, "patch.norm", tokens_of(b, map), 1e-5);
		if (n->has_class[i])
			x = op_concat(g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "patch.class", "", 1, 1, w), x), x }, 1);
		for (b->layer = 0; b->layer < n->depths[i] && !graph_failed(g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = op_add(g, x, attention(b, layer_norm_eps(b, "layers.attn.norm", x, 1e-5), map));
			graph_value y = layer_norm_eps(b, "layers.ffn.norm", x, 1e-5);
			y = op_gelu(g, linear(b, "layers.ffn.up", y, w, inner, true));
			x = op_add(g, x, linear(b, "layers.ffn.down", y, inner, w, true));
			graph_leave(g);
		}
		io->pooled = n->has_class[i] ? op_slice(g, x, 1, 0, 1) : NO_VALUE; // [batch, 1, w]
		map = map_of(b, n->has_class[i] ? op_slice(g, x, 1, 1, INT64_MAX) : x, map);
		graph_leave(g);
	}
	io->last = map;
}

static void build_bare(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	if (io->pooled.id)
		graph_output(b->g, "cls_token_value", io->pooled);
}

static void build_classes(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value x = layer_norm_eps(b, "head.norm", io->pooled.id ? io->pooled : tokens_of(b, io->last), 1e-5);
	x = op_reduce_mean(b->g, x, 1, false);
	graph_output(b->g, "logits", linear(b, "head.image", x, s->hidden_size, s->labels, true));
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, 0, 0) };
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = {
	{ &head_model, build_bare },
	{ &head_image, build_classes },
	{ 0 },
};

const struct family cvt = {
	.name = "cvt",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = map_hints,
	.heads = heads,
};
