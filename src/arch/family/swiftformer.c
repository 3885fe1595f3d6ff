// SPDX-License-Identifier: Apache-2.0
// SwiftFormer: convolutions and, last in each stage, additive attention whose cost grows with the places only (Shaker et al.
// 2023, https://arxiv.org/abs/2303.15446).
//
//   pixels -> two 3x3 convs /2 -> stages, a k x k conv between them -> norm -> mean over places -> two heads' mean
//   conv layer:       x + scale * 1x1(gelu(1x1(norm(3x3 by channel(x)))))
//   attention layer:  the same without widening, then x + scale * attention(x), x + scale * 1x1(act(1x1(norm(x))))
//   attention:        final(proj(sum of all queries * key) + query), queries and keys of length 1
#include "arch/block/image.h"

// spec.own of the family. Lists have a number for each stage.
struct swiftformer {
	const int64_t *depths, *widths;
	const bool *smaller; // a step of its own even where the width stays
	int64_t ratio, patch, stride, pad;
	bool scaled;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct swiftformer *n = ARENA_NEW(a, struct swiftformer);
	int64_t stages = 0;
	if (!config_sizes(c, "depths", a, 0, &stages) || stages > CONFIG_COUNT_MOST)
		config_fail(c, STATUS_BAD_INPUT, "depths should have a number for each stage");
	const json_t *smaller = config_get(c, "downsamples");
	bool *steps = ARENA_ARRAY(a, (size_t)stages + 1, bool);
	for (int64_t i = 0; i < stages; i++)
		steps[i] = !smaller || json_is_true(json_array_get(smaller, (size_t)i));
	*n = (struct swiftformer){ .depths = resolve_stages(c, "depths", a, stages, 1),
		.widths = resolve_stages(c, "embed_dims", a, stages, 2),
		.smaller = steps,
		.ratio = config_size(c, "mlp_ratio", 4),
		.patch = config_size(c, "down_patch_size", 3),
		.stride = config_size(c, "down_stride", 2),
		.pad = config_size(c, "down_pad", 1),
		.scaled = config_bool(c, "use_layer_scale", true) };
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	s->norm_eps = config_real(c, "batch_norm_eps", 1e-5);
	if (!c->error.status && (n->ratio < 1 || n->patch < 1 || n->stride < 1 || n->pad >= n->patch))
		config_fail(c, STATUS_BAD_INPUT, "mlp_ratio %lld, patches of %lld by steps of %lld, padded by %lld",
			(long long)n->ratio, (long long)n->patch, (long long)n->stride, (long long)n->pad);
	if (c->error.status)
		return;
	s->layers = s->layers_in_config = stages;
	s->hidden_size = n->widths[stages - 1];
	s->own = n;
}

static graph_value scaled(struct build *b, const char *stem, graph_value y, int64_t w)
{
	return op_mul(b->g, WEIGHT(b, stem, "", w, 1, 1), y);
}

// The stems of an attention layer's first part are "layers.local.*", of a conv layer "layers.*": the files differ.
static graph_value local(struct build *b, bool attends, graph_value x, int64_t w, int64_t inner)
{
	graph_value y = conv(b, attends ? "layers.local.conv" : "layers.conv", x,
		(struct conv){ .out = w, .kernel = 3, .group = w, .bias = true });
	y = batch_norm(b, attends ? "layers.local.norm" : "layers.norm", y, b->s->norm_eps);
	y = op_gelu(b->g,
		conv(b, attends ? "layers.local.up" : "layers.up", y, (struct conv){ .out = inner, .kernel = 1, .bias = true }));
	y = conv(b, attends ? "layers.local.down" : "layers.down", y, (struct conv){ .out = w, .kernel = 1, .bias = true });
	return op_add(b->g, x, scaled(b, attends ? "layers.local.scale" : "layers.scale", y, w));
}

// tokens [batch, places, w]. A softmax over one number a place makes every query count alike.
static graph_value attention(struct build *b, graph_value x, int64_t w)
{
	struct graph *g = b->g;
	graph_value q = unit_length(b, linear(b, "layers.attn.q", x, w, w, true)),
		    k = unit_length(b, linear(b, "layers.attn.k", x, w, w, true));
	graph_value all = op_reduce_sum(g, q, 1, true); // [batch, 1, w]
	graph_value y = op_add(g, linear(b, "layers.attn.proj", op_mul(g, all, k), w, w, true), q);
	return linear(b, "layers.attn.final", y, w, w, true);
}

static graph_value attention_layer(struct build *b, graph_value x, int64_t w)
{
	struct graph *g = b->g;
	const struct swiftformer *n = b->s->own;
	int64_t inner = w * n->ratio;
	x = local(b, true, x, w, w);
	graph_value y = map_of(b, attention(b, tokens_of(b, x), w), x);
	x = op_add(g, x, n->scaled ? scaled(b, "layers.attn.scale", y, w) : y);
	y = batch_norm(b, "layers.ffn.norm", x, b->s->norm_eps);
	y = activate(b, b->s->act, conv(b, "layers.ffn.up", y, (struct conv){ .out = inner, .kernel = 1, .bias = true }));
	y = conv(b, "layers.ffn.down", y, (struct conv){ .out = w, .kernel = 1, .bias = true });
	return op_add(g, x, n->scaled ? scaled(b, "layers.ffn.scale", y, w) : y);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct swiftformer *n = b->s->own;
	double eps = b->s->norm_eps;
	int64_t w = n->widths[0];
	graph_value x = conv_norm(b, "stem.1", "stem.1.norm", io->pixels,
		(struct conv){ .out = w / 2, .kernel = 3, .stride = 2, .bias = true }, eps, ACT_RELU);
	x = conv_norm(
		b, "stem.2", "stem.2.norm", x, (struct conv){ .out = w, .kernel = 3, .stride = 2, .bias = true }, eps, ACT_RELU);
	b->stage = 0; // counts stages and the steps between them
	for (int64_t i = 0; i < b->s->layers && !graph_failed(g); i++) {
		w = n->widths[i];
		graph_enter(g, "stages.%lld", (long long)i);
		for (b->layer = 0; b->layer < n->depths[i] && !graph_failed(g); b->layer++)
			x = b->layer == n->depths[i] - 1 ? attention_layer(b, x, w) : local(b, false, x, w, w * n->ratio);
		graph_leave(g);
		b->stage++;
		if (i == b->s->layers - 1 || !(n->smaller[i] || w != n->widths[i + 1]))
			continue;
		b->layer = b->stage++;
		struct conv c = { .out = n->widths[i + 1], .kernel = n->patch, .stride = n->stride, .bias = true };
		c.pad = n->pad ? n->pad : PAD_NONE;
		x = conv_norm(b, "down", "down.norm", x, c, eps, ACT_NONE);
	}
	io->last = x;
}

static void build_classes(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t w = s->hidden_size;
	graph_value x = op_global_average_pool(g, batch_norm(b, "head.norm", io->last, s->norm_eps));
	x = op_reshape(g, x, 2, (int64_t[]){ 0, w });
	graph_value first = linear(b, "head.image", x, w, s->labels, true),
		    second = linear(b, "head.image.distillation", x, w, s->labels, true);
	graph_output(g, "logits", op_scale(g, op_add(g, first, second), 0.5f));
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, 0, 0) };
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_image, build_classes },
	{ 0 },
};

const struct family swiftformer = {
	.name = "swiftformer",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = map_hints,
	.heads = heads,
};
