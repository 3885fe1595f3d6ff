// SPDX-License-Identifier: Apache-2.0
// SegFormer: a transformer in stages whose keys and values see a smaller map (Xie et al. 2021,
// https://arxiv.org/abs/2105.15203).
//
//   pixels -> four stages: overlapping patch conv - norm -> layers -> norm -> map
//   layer:  x -+- norm - attention -(+)-+- norm - up - 3x3 by channel - act - down -(+)-
//              +--------------------+  +------------------------------------------+
//   keys and values: of norm(k x k conv /k) where the stage says k > 1
//   segmentation: each stage's map - linear - resize to the first's -> concat -> 1x1 - norm - relu - 1x1 -> classes
#include <math.h>

#include "arch/block/image.h"

// spec.own of the family. Lists have a number for each stage.
struct segformer {
	int64_t stages, decoder;
	const int64_t *depths, *widths, *heads, *patches, *strides, *ratios, *reduced;
	bool last_is_map;
};

static const int64_t *list(struct config *c, struct arena *a, const char *key, int64_t stages)
{
	int64_t n = 0;
	const int64_t *x = config_sizes(c, key, a, 0, &n);
	if (!c->error.status && n < stages)
		config_fail(c, STATUS_BAD_INPUT, "%s should have a number for each of %lld stages", key, (long long)stages);
	for (int64_t i = 0; !c->error.status && i < stages; i++)
		if (x[i] < 1 || x[i] > 1 << 20)
			config_fail(c, STATUS_BAD_INPUT, "%s has a number that cannot be", key);
	return x;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct segformer *n = ARENA_NEW(a, struct segformer);
	*n = (struct segformer){ .stages = config_count(c, "num_encoder_blocks", 4),
		.decoder = config_size(c, "decoder_hidden_size", 256) };
	n->depths = list(c, a, "depths", n->stages);
	n->widths = list(c, a, "hidden_sizes", n->stages);
	n->heads = list(c, a, "num_attention_heads", n->stages);
	n->patches = list(c, a, "patch_sizes", n->stages);
	n->strides = list(c, a, "strides", n->stages);
	n->ratios = list(c, a, "mlp_ratios", n->stages);
	n->reduced = list(c, a, "sr_ratios", n->stages);
	n->last_is_map = config_bool(c, "reshape_last_stage", true);
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	if (!c->error.status && (n->stages < 1 || n->stages > 64))
		config_fail(c, STATUS_BAD_INPUT, "%lld stages", (long long)n->stages);
	if (c->error.status)
		return;
	for (int64_t i = 0; i < n->stages; i++)
		if (n->widths[i] % n->heads[i])
			config_fail(c, STATUS_BAD_INPUT, "%lld channels do not divide into %lld heads", (long long)n->widths[i],
				(long long)n->heads[i]);
	s->layers = s->layers_in_config = n->stages;
	s->hidden_size = n->widths[n->stages - 1];
	s->own = n;
}

static graph_value attention(struct build *b, graph_value x, graph_value map)
{
	const struct segformer *n = b->s->own;
	int64_t w = n->widths[b->stage], k = n->reduced[b->stage], heads = n->heads[b->stage];
	graph_value seen = x;
	if (k > 1) {
		graph_value smaller = conv(b, "layers.reduce", map_of(b, x, map),
			(struct conv){ .out = w, .kernel = k, .stride = k, .pad = PAD_NONE, .bias = true });
		seen = layer_norm_eps(b, "layers.reduce.norm", tokens_of(b, smaller), 1e-5);
	}
	graph_value q = linear(b, "layers.attn.q", x, w, w, true), key = linear(b, "layers.attn.k", seen, w, w, true),
		    v = linear(b, "layers.attn.v", seen, w, w, true);
	graph_value y = op_attention(b->g, q, key, v, NO_VALUE, heads, heads, (float)sqrt((double)heads / (double)w), 0);
	return linear(b, "layers.attn.o", y, w, w, true);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct segformer *n = b->s->own;
	graph_value map = io->pixels;
	states_begin(b, io, map);
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(g); b->stage++) {
		int64_t w = n->widths[b->stage], inner = w * n->ratios[b->stage], p = n->patches[b->stage];
		graph_enter(g, "stages.%lld", (long long)b->stage);
		b->layer = b->stage;
		map = conv(b, "patch", map,
			(struct conv){ .out = w,
				.kernel = p,
				.stride = n->strides[b->stage],
				.pad = p / 2 ? p / 2 : PAD_NONE,
				.bias = true });
		graph_value x = layer_norm_eps(b, "patch.norm", tokens_of(b, map), 1e-5);
		for (b->layer = 0; b->layer < n->depths[b->stage] && !graph_failed(b->g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = op_add(g, x, attention(b, layer_norm_eps(b, "layers.attn.norm", x, 1e-5), map));
			graph_value y = linear(b, "layers.ffn.up", layer_norm_eps(b, "layers.ffn.norm", x, 1e-5), w, inner, true);
			y = conv(b, "layers.ffn.conv", map_of(b, y, map),
				(struct conv){ .out = inner, .kernel = 3, .group = inner, .bias = true });
			x = op_add(g, x, linear(b, "layers.ffn.down", activate(b, b->s->act, tokens_of(b, y)), inner, w, true));
			graph_leave(g);
		}
		b->layer = b->stage;
		x = layer_norm_eps(b, "norm", x, 1e-5);
		io->last = x; // [batch, height*width, channels]
		map = map_of(b, x, map);
		states_add(io, map);
		graph_leave(g);
	}
}

static void build_segments(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct segformer *n = b->s->own;
	graph_value *parts = ARENA_ARRAY(graph_arena(g), (size_t)n->stages, graph_value), first = io->states[1];
	graph_enter(g, "head");
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_value map = io->states[b->layer + 1],
			    x = linear(b, "head.each", tokens_of(b, map), n->widths[b->layer], n->decoder, true);
		parts[b->s->layers - 1 - b->layer] = resized_like(b, map_of(b, x, map), first, "linear");
	}
	graph_value x =
		conv(b, "head.fuse", op_concat(g, (int)b->s->layers, parts, 1), (struct conv){ .out = n->decoder, .kernel = 1 });
	x = op_relu(g, batch_norm(b, "head.norm", x, 1e-5));
	x = conv(b, "head.classes", x, (struct conv){ .out = b->s->labels, .kernel = 1, .bias = true });
	graph_leave(g);
	graph_output(g, "logits", x); // [batch, labels, height, width]
}

static void build_classes(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value x = op_reduce_mean(b->g, io->last, 1, false);
	graph_output(b->g, "logits", linear(b, "head.image", x, s->hidden_size, s->labels, true));
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct segformer *n = b->s->own;
	graph_output(b->g, "last_hidden_state", n->last_is_map ? io->states[io->state_count - 1] : io->last);
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, 0, 0) };
	body(b, &io);
	if (graph_failed(b->g))
		return;
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 512, 512);
}

static const struct family_head heads[] = {
	{ &head_segments, build_segments },
	{ &head_image, build_classes },
	{ &head_model, build_bare },
	{ 0 },
};

const struct family segformer = {
	.name = "segformer",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.hints = hints,
	.heads = heads,
};
