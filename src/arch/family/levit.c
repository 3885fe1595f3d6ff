// SPDX-License-Identifier: Apache-2.0
// LeViT: a vision transformer for fast inference, batch norms after every linear layer (Graham et al. 2021,
// https://arxiv.org/abs/2104.01136). "normed" below: a linear layer without bias, then a batch norm.
//
//   pixels -> four 3x3 convs /2 -> stages -> mean over places -> norm - linear -> classes
//   layer:      x + normed(hardswish(attention(x))), x + normed(hardswish(normed(x)))
//   attention:  a learned bias for each distance of two places, by rows and columns
//   between stages: queries of every second place of every second row attend to all places, then a feed-forward
#include <math.h>

#include "arch/block/image.h"

// What comes after a stage; heads 0: nothing.
struct shrink {
	int64_t key_width, heads, value_ratio, ffn_ratio, step;
};

// spec.own of the family. Lists have a number for each stage.
struct levit {
	const int64_t *depths, *widths, *heads, *key_widths, *value_ratios, *ffn_ratios;
	const struct shrink *shrinks;
	int64_t kernel, stride, pad;
};

// ["Subsample", key width, heads, value ratio, feed-forward ratio, step] of each stage but the last.
static const struct shrink *shrinks(struct config *c, const struct levit *n, struct arena *a, int64_t stages)
{
	const json_t *given = config_given(c, "down_ops");
	struct shrink *out = ARENA_ARRAY(a, (size_t)stages + 1, struct shrink);
	for (int64_t i = 0; i < stages && !c->error.status; i++) {
		const json_t *op = json_array_get(given, (size_t)i);
		int64_t v[6] = { 0, n->key_widths[0], n->widths[i] / n->key_widths[0], 4, 2, 2 };
		bool none = given ? !text_is(json_string_value(json_array_get(op, 0)), "Subsample") : i >= 2;
		for (size_t k = 1; k < 6 && given; k++)
			v[k] = json_integer_value(json_array_get(op, k));
		if (none)
			continue;
		bool bad = i == stages - 1 || v[4] < 0 || v[4] > 4096;
		for (size_t k = 1; k < 6; k++)
			bad |= (v[k] < 1 && k != 4) || v[k] > 1 << 16;
		if (bad)
			config_fail(c, STATUS_BAD_INPUT, "down_ops has a step after stage %lld that cannot be", (long long)i);
		out[i] = (struct shrink){ v[1], v[2], v[3], v[4], v[5] };
	}
	return out;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct levit *n = ARENA_NEW(a, struct levit);
	int64_t stages = 0;
	if (!config_sizes(c, "depths", a, 0, &stages) || stages > CONFIG_COUNT_MOST)
		config_fail(c, STATUS_BAD_INPUT, "depths should have a number for each stage");
	*n = (struct levit){ .depths = resolve_stages(c, "depths", a, stages, 0),
		.widths = resolve_stages(c, "hidden_sizes", a, stages, 8),
		.heads = resolve_stages(c, "num_attention_heads", a, stages, 1),
		.key_widths = resolve_stages(c, "key_dim", a, stages, 1),
		.value_ratios = resolve_stages(c, "attention_ratio", a, stages, 1),
		.ffn_ratios = resolve_stages(c, "mlp_ratio", a, stages, 0),
		.kernel = config_size(c, "kernel_size", 3),
		.stride = config_size(c, "stride", 2),
		.pad = config_size(c, "padding", 1) };
	s->channels = config_size(c, "num_channels", 3);
	s->image_size = config_size(c, "image_size", 224);
	s->patch_size = config_size(c, "patch_size", 16);
	if (!c->error.status &&
		(n->kernel < 1 || n->stride < 1 || s->patch_size < 1 || s->image_size < s->patch_size || s->image_size > 1 << 14))
		config_fail(c, STATUS_BAD_INPUT, "images of %lld in patches of %lld, kernel_size %lld, stride %lld",
			(long long)s->image_size, (long long)s->patch_size, (long long)n->kernel, (long long)n->stride);
	if (c->error.status)
		return;
	n->shrinks = shrinks(c, n, a, stages);
	s->image_width = s->image_size;
	s->layers = s->layers_in_config = stages;
	s->hidden_size = n->widths[stages - 1];
	s->own = n;
}

static graph_value normed(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	struct arena *a = graph_arena(b->g);
	graph_value y = linear(b, arena_printf(a, "%s.linear", stem), x, in, out, false);
	return last_batch_norm(b, arena_printf(a, "%s.norm", stem), y, out);
}

// q [batch, queries, heads*d], k likewise of keys, v [batch, keys, heads*value]
static graph_value attend(
	struct build *b, graph_value q, graph_value k, graph_value v, graph_value bias, int64_t heads, int64_t d, int64_t out)
{
	graph_value y = op_attention(
		b->g, &(struct attention){ q, k, v, .bias = bias, .heads = heads, .scale = (float)(1 / sqrt((double)d)) });
	int64_t in = value_dim(b->g, y, 2);
	return normed(b, "layers.attn.o", activate(b, ACT_HARD_SWISH, y), in, out);
}

static graph_value attention(struct build *b, graph_value x, int64_t side)
{
	const struct levit *n = b->s->own;
	int64_t i = b->stage, w = n->widths[i], heads = n->heads[i], d = n->key_widths[i], value = n->value_ratios[i] * d,
		all = 2 * d + value;
	graph_value qkv = normed(b, "layers.attn.qkv", x, w, heads * all);
	return attend(b, heads_part(b->g, qkv, heads, all, 0, d), heads_part(b->g, qkv, heads, all, d, 2 * d),
		heads_part(b->g, qkv, heads, all, 2 * d, all), offset_bias(b, "layers.attn.bias", heads, side, side, 1), heads, d,
		w);
}

// Every second place of every second row asks: [batch, to*to, width of the next stage]
static graph_value shrink(struct build *b, graph_value x, int64_t from, int64_t to)
{
	struct graph *g = b->g;
	const struct levit *n = b->s->own;
	const struct shrink *r = &n->shrinks[b->stage];
	int64_t w = n->widths[b->stage], d = r->key_width, heads = r->heads, all = (1 + r->value_ratio) * d;
	int64_t *kept = GRAPH_TABLE(g, NULL, to, to, int64_t);
	for (int64_t i = 0; kept && i < to * to; i++)
		kept[i] = i / to * r->step * from + i % to * r->step;
	graph_value kv = normed(b, "layers.attn.kv", x, w, heads * all);
	graph_value asking = op_gather(g, x, graph_constant(g, DTYPE_I64, 1, (int64_t[]){ to * to }, kept), 1);
	graph_value q = normed(b, "layers.attn.q", asking, w, heads * d);
	return attend(b, q, heads_part(b->g, kv, heads, all, 0, d), heads_part(b->g, kv, heads, all, d, all),
		offset_bias(b, "layers.attn.bias", heads, from, to, r->step), heads, d, n->widths[b->stage + 1]);
}

static graph_value ffn(struct build *b, graph_value x, int64_t w, int64_t ratio)
{
	graph_value y = activate(b, ACT_HARD_SWISH, normed(b, "layers.ffn.up", x, w, w * ratio));
	return op_add(b->g, x, normed(b, "layers.ffn.down", y, w * ratio, w));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct levit *n = s->own;
	graph_value x = io->pixels;
	for (b->layer = 1; b->layer <= 4 && !graph_failed(g); b->layer++) {
		struct conv c = { .out = n->widths[0] >> (4 - b->layer), .kernel = n->kernel, .stride = n->stride };
		c.pad = n->pad ? n->pad : PAD_NONE;
		x = conv_norm(b, "stem", "stem.norm", x, c, 1e-5, b->layer < 4 ? ACT_HARD_SWISH : ACT_NONE);
	}
	x = tokens_of(b, x);
	int64_t side = s->image_size / s->patch_size;
	for (b->stage = 0; b->stage < s->layers && !graph_failed(g); b->stage++) {
		int64_t i = b->stage;
		b->layer = 0; // counts attention and feed-forward layers alike
		graph_enter(g, "stages.%lld", (long long)i);
		for (int64_t j = 0; j < n->depths[i] && !graph_failed(g); j++) {
			x = op_add(g, x, attention(b, x, side));
			b->layer++;
			if (n->ffn_ratios[i]) {
				x = ffn(b, x, n->widths[i], n->ffn_ratios[i]);
				b->layer++;
			}
		}
		if (n->shrinks[i].heads) {
			int64_t to = (side - 1) / n->shrinks[i].step + 1;
			x = shrink(b, x, side, to);
			b->layer++;
			if (n->shrinks[i].ffn_ratio)
				x = ffn(b, x, n->widths[i + 1], n->shrinks[i].ffn_ratio);
			side = to;
		}
		graph_leave(g);
	}
	io->last = x;
	io->pooled = op_reduce_mean(g, x, 1, false);
}

static graph_value classes(struct build *b, const char *norm, const char *stem, graph_value x)
{
	return linear(b, stem, last_batch_norm(b, norm, x, b->s->hidden_size), b->s->hidden_size, b->s->labels, true);
}

static void build_classes(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", classes(b, "head.norm", "head.image", io->pooled));
}

static void build_teacher(struct build *b, const struct body *io)
{
	head_give_taught(b, classes(b, "head.norm", "head.image", io->pooled),
		classes(b, "head.norm.distillation", "head.image.distillation", io->pooled));
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width) };
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_image, build_classes },
	{ &head_image_teacher, build_teacher },
	{ 0 },
};

const struct family levit = {
	.name = "levit",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
