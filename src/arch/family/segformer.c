// SPDX-License-Identifier: Apache-2.0
// Transformers in stages whose keys and values see a smaller map: the pyramid vision transformer (Wang et al. 2021,
// https://arxiv.org/abs/2102.12122; PVT v2, https://arxiv.org/abs/2106.13797) and SegFormer (Xie et al. 2021,
// https://arxiv.org/abs/2105.15203).
//
//   pixels -> four stages: overlapping patch conv - norm -> layers -> norm -> map
//   layer:  x -+- norm - attention -(+)-+- norm - up - 3x3 by channel - act - down -(+)-
//              +--------------------+  +------------------------------------------+
//   keys and values: of norm(k x k conv /k) where the stage says k > 1; of act(norm(1x1 conv)) of a mean over 7 x 7 cells where
//   attention is linear
//   PVT: patches do not overlap and have learned positions, a class token in the last stage, no convolution in the feed-forward
//   segmentation: each stage's map - linear - resize to the first's -> concat -> 1x1 - norm - relu - 1x1 -> classes
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/segformer.h"

// spec.own of the family. Lists have a number for each stage.
struct segformer {
	int64_t stages, decoder;
	const int64_t *depths, *widths, *heads, *patches, *strides, *ratios, *reduced;
	int64_t chosen;  // of the decoder's maps, from the coarsest
	double farthest; // depth
	bool last_is_map, linear_attention, qkv_bias;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct segformer *n = ARENA_NEW(a, struct segformer);
	*n = (struct segformer){ .stages = config_count(c, "num_encoder_blocks", 4),
		.decoder = config_size(c, "decoder_hidden_size", 256) };
	n->depths = resolve_stages(c, "depths", a, n->stages, 1);
	n->widths = resolve_stages(c, "hidden_sizes", a, n->stages, 1);
	n->heads = resolve_stages(c, "num_attention_heads", a, n->stages, 1);
	n->patches = resolve_stages(c, "patch_sizes", a, n->stages, 1);
	n->strides = resolve_stages(c, "strides", a, n->stages, 1);
	n->ratios = resolve_stages(c, "mlp_ratios", a, n->stages, 1);
	n->reduced = resolve_stages(c, "sr_ratios", a, n->stages, 1);
	n->linear_attention = config_bool(c, "linear_attention", false);
	n->qkv_bias = config_bool(c, "qkv_bias", true);
	s->norm_eps = config_real(c, "norm_eps", 1e-5); // SegFormer's own says one in vain
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
	if (TRAITS_OF(s, segformer)->disjoint_patches) {
		s->image_size = config_size(c, "image_size", 224);
		if (n->reduced[n->stages - 1] > 1)
			config_fail(c, STATUS_BAD_INPUT, "the last stage has a class token, so its map cannot be reduced");
	}
	if (s->head == &head_depth) {
		const json_t *chosen = config_get(c, "head_in_index");
		n->chosen = json_is_integer(chosen) ? json_integer_value(chosen) : -1;
		n->chosen += n->chosen < 0 ? n->stages : 0;
		n->farthest = config_real(c, "max_depth", 10);
		if (n->chosen < 0 || n->chosen >= n->stages || n->decoder < 2)
			config_fail(c, STATUS_BAD_INPUT, "head_in_index %lld of %lld, decoder_hidden_size %lld",
				(long long)n->chosen, (long long)n->stages, (long long)n->decoder);
	}
	if (config_knows(c, "out_indices"))
		resolve_outputs_from(c, s, a, 1, n->stages);
}

static graph_value attention(struct build *b, graph_value x, graph_value map)
{
	const struct segformer *n = b->s->own;
	int64_t w = n->widths[b->stage], k = n->reduced[b->stage], heads = n->heads[b->stage];
	graph_value seen = x;
	if (n->linear_attention) {
		graph_value cells = adaptive_pool(b, map_of(b, x, map), 7, 7);
		cells = conv(b, "layers.reduce", cells, (struct conv){ .out = w, .kernel = 1, .bias = true });
		seen = op_gelu(b->g, layer_norm_eps(b, "layers.reduce.norm", tokens_of(b, cells), b->s->norm_eps));
	} else if (k > 1) {
		graph_value smaller = conv(b, "layers.reduce", map_of(b, x, map),
			(struct conv){ .out = w, .kernel = k, .stride = k, .pad = PAD_NONE, .bias = true });
		seen = layer_norm_eps(b, "layers.reduce.norm", tokens_of(b, smaller), b->s->norm_eps);
	}
	bool has = n->qkv_bias;
	graph_value q = linear(b, "layers.attn.q", x, w, w, has), key = linear(b, "layers.attn.k", seen, w, w, has),
		    v = linear(b, "layers.attn.v", seen, w, w, has);
	graph_value y = op_attention(
		b->g, &(struct attention){ q, key, v, .heads = heads, .scale = (float)sqrt((double)heads / (double)w) });
	return linear(b, "layers.attn.o", y, w, w, true);
}

static graph_value patches(struct build *b, graph_value map)
{
	const struct segformer *n = b->s->own;
	int64_t p = n->patches[b->stage], step = n->strides[b->stage];
	struct conv c = {
		.out = n->widths[b->stage], .kernel = p, .stride = step, .pad = p / 2 ? p / 2 : PAD_NONE, .bias = true
	};
	if (TRAITS_OF(b->s, segformer)->disjoint_patches) // the two words are exchanged in every file
		c.kernel = step, c.stride = p, c.pad = PAD_NONE;
	return conv(b, "patch", map, c);
}

// Learned positions of a stage and, in the last one, a class token before the patches: [batch, tokens, channels].
static graph_value placed(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct segformer *n = b->s->own;
	bool last = b->stage == n->stages - 1;
	int64_t side = (b->stage ? b->s->image_size >> (b->stage + 1) : b->s->image_size) / n->patches[b->stage],
		w = n->widths[b->stage];
	if (last)
		x = op_concat(g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "patch.class", "", 1, 1, w), x), x }, 1);
	return op_add(g, x, WEIGHT(b, "patch.position", "", 1, side * side + last, w));
}

static graph_value ffn(struct build *b, graph_value x, graph_value map)
{
	const struct segformer *n = b->s->own;
	int64_t w = n->widths[b->stage], inner = w * n->ratios[b->stage];
	graph_value y = linear(b, "layers.ffn.up", x, w, inner, true); // [batch, tokens, inner]
	if (n->linear_attention)
		y = op_relu(b->g, y);
	if (!TRAITS_OF(b->s, segformer)->disjoint_patches) {
		y = conv(b, "layers.ffn.conv", map_of(b, y, map),
			(struct conv){ .out = inner, .kernel = 3, .group = inner, .bias = true });
		y = tokens_of(b, y);
	}
	return linear(b, "layers.ffn.down", activate(b, b->s->act, y), inner, w, true);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct segformer *n = b->s->own;
	bool disjoint = TRAITS_OF(b->s, segformer)->disjoint_patches;
	double eps = b->s->norm_eps;
	graph_value map = io->pixels;
	states_begin(b, io, map);
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(g); b->stage++) {
		bool normed = !disjoint || b->stage == n->stages - 1;
		graph_enter(g, "stages.%lld", (long long)b->stage);
		b->layer = b->stage;
		map = patches(b, map);
		graph_value x = layer_norm_eps(b, "patch.norm", tokens_of(b, map), eps);
		if (disjoint)
			x = placed(b, x);
		for (b->layer = 0; b->layer < n->depths[b->stage] && !graph_failed(b->g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = op_add(g, x, attention(b, layer_norm_eps(b, "layers.attn.norm", x, eps), map));
			x = op_add(g, x, ffn(b, layer_norm_eps(b, "layers.ffn.norm", x, eps), map));
			graph_leave(g);
		}
		b->layer = b->stage;
		x = normed ? layer_norm_eps(b, "norm", x, eps) : x;
		io->last = x; // [batch, height*width, channels]; with a class token before them where there is one
		map = disjoint && normed ? x : map_of(b, x, map);
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
	bool has_class = TRAITS_OF(s, segformer)->disjoint_patches;
	graph_value x = has_class ? first_token(b, io->last) : op_reduce_mean(b->g, io->last, 1, false);
	graph_output(b->g, "logits", linear(b, "head.image", x, s->hidden_size, s->labels, true));
}

// Two maps by how much each place of either counts: [batch, width, height, width]
static graph_value fuse(struct build *b, graph_value local, graph_value whole, int64_t w)
{
	struct graph *g = b->g;
	const struct conv first = { .out = w, .kernel = 3, .bias = true }, second = { .out = w / 2, .kernel = 3, .bias = true };
	graph_value x = op_concat(g, 2, (graph_value[]){ local, whole }, 1);
	x = conv_norm(b, "decoder.fuse.1", "decoder.fuse.1.norm", x, first, 1e-5, ACT_RELU);
	x = conv_norm(b, "decoder.fuse.2", "decoder.fuse.2.norm", x, second, 1e-5, ACT_RELU);
	x = op_sigmoid(g, conv(b, "decoder.fuse.3", x, (struct conv){ .out = 2, .kernel = 3, .bias = true }));
	return op_add(g, op_mul(g, local, op_slice(g, x, 1, 0, 1)), op_mul(g, whole, op_slice(g, x, 1, 1, 2)));
}

// Global and local paths (Kim et al. 2022, https://arxiv.org/abs/2201.07436): from the coarsest map on, each fused with what has
// come before and resized to twice its size.
static void build_depth(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct segformer *n = b->s->own;
	int64_t w = n->decoder, stages = b->s->layers;
	graph_value x = NO_VALUE, chosen = NO_VALUE;
	graph_enter(g, "head");
	for (b->layer = 0; b->layer < stages && !graph_failed(g); b->layer++) {
		graph_value own = io->states[stages - b->layer];
		if (n->widths[stages - 1 - b->layer] != w)
			own = conv(b, "decoder.narrow", own, (struct conv){ .out = w, .kernel = 1, .bias = true });
		x = resized_by(b, b->layer ? fuse(b, own, x, w) : own, 2);
		chosen = b->layer == n->chosen ? x : chosen;
	}
	x = n->chosen == stages - 1 ? resized_by(b, chosen, 2) : chosen;
	x = op_relu(g, conv(b, "head.depth.1", x, (struct conv){ .out = w, .kernel = 3, .bias = true }));
	x = conv(b, "head.depth.2", x, (struct conv){ .out = 1, .kernel = 3, .bias = true });
	graph_leave(g);
	graph_output(g, "predicted_depth", op_squeeze(g, op_scale(g, op_sigmoid(g, x), (float)n->farthest), 1));
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct segformer *n = b->s->own;
	graph_output(b->g, "last_hidden_state", n->last_is_map ? io->states[io->state_count - 1] : io->last);
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_size) };
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
	{ &head_depth, build_depth },
	{ &head_model, build_bare },
	{ &head_backbone, map_features },
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
	.traits = FAMILY_TRAIT_LIST(segformer, SEGFORMER_TRAITS),
};
