// SPDX-License-Identifier: Apache-2.0
// Vision transformers over video: a patch is a small block of a few frames (ViViT: Arnab et al. 2021,
// https://arxiv.org/abs/2103.15691; VideoMAE: Tong et al. 2022, https://arxiv.org/abs/2203.12602).
//
//   pixels [batch, frames, channels, height, width] -> blocks -> ([class,] blocks) + positions -> layers -> norm -> head
#include <math.h>

#include "arch/block/vit.h"

// spec.own of the family.
struct video {
	int64_t frames, depth, blocks;
	bool mean, sines, no_key_bias;
};

static void resolve_common(struct config *c, struct spec *s, struct arena *a, struct video *v)
{
	(void)a;
	v->frames = config_size(c, "num_frames", 16);
	if (!c->error.status && (v->depth < 1 || v->frames < v->depth || v->frames > 1 << 16))
		config_fail(c, STATUS_BAD_INPUT, "%lld frames in blocks of %lld", (long long)v->frames, (long long)v->depth);
	if (!c->error.status)
		v->blocks = (v->frames / v->depth) * (s->image_size / s->patch_size) * (s->image_width / s->patch_width);
	s->own = v;
}

static void resolve_mae(struct config *c, struct spec *s, struct arena *a)
{
	struct video *v = ARENA_NEW(a, struct video);
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", config_bool(c, "qv_bias", true));
	*v = (struct video){ .depth = config_size(c, "tubelet_size", 2),
		.mean = config_bool(c, "use_mean_pooling", true),
		.sines = true,
		.no_key_bias = true };
	resolve_common(c, s, a, v);
}

// tubelet_size says all three sizes of a block.
static void resolve_vivit(struct config *c, struct spec *s, struct arena *a)
{
	struct video *v = ARENA_NEW(a, struct video);
	*v = (struct video){ 0 };
	int64_t n = 0;
	resolve_transformer(c, s, true);
	const int64_t *block = config_sizes(c, "tubelet_size", a, 0, &n),
		      *size = config_sizes(c, "image_size", a, 2, &(int64_t){ 0 });
	if (!c->error.status && (n != 3 || !size || block[1] < 1 || block[2] < 1 || size[0] < block[1] || size[1] < block[2]))
		config_fail(c, STATUS_BAD_INPUT, "tubelet_size should be a list of frames, height and width");
	if (c->error.status)
		return;
	s->image_size = size[0];
	s->image_width = size[1];
	s->patch_size = block[1];
	s->patch_width = block[2];
	s->channels = config_size(c, "num_channels", 3);
	s->pooler_size = config_size(c, "pooler_output_size", s->hidden_size);
	s->pooler_act = config_activation(c, "pooler_act", ACT_TANH);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	v->depth = block[0];
	resolve_common(c, s, a, v);
}

// sin and cos of position / 10000^(2i / width), side by side: [1, count, width]. The angle of 64 a + b by those of 64 a and of
// b, which are computed in double precision: the tables stay small and the sines of large angles right.
static graph_value sines(struct build *b, int64_t count)
{
	struct graph *g = b->g;
	enum { STEP = 64 };
	int64_t width = b->s->hidden_size, far = (count + STEP - 1) / STEP;
	float *t[4]; // of 64 a: sine, cosine; of b: sine (cosine in odd columns), cosine (minus sine)
	for (int k = 0; k < 4; k++)
		t[k] = GRAPH_TABLE(g, NULL, k < 2 ? far : STEP, width, float);
	if (graph_failed(g))
		return NO_VALUE;
	for (int64_t i = 0; i < (far > STEP ? far : STEP); i++)
		for (int64_t j = 0; j < width; j++) {
			double angle = (double)i / pow(10000, (double)(2 * (j / 2)) / (double)width);
			if (i < far) {
				t[0][i * width + j] = (float)sin(angle * STEP);
				t[1][i * width + j] = (float)cos(angle * STEP);
			}
			if (i < STEP) {
				t[2][i * width + j] = (float)(j % 2 ? cos(angle) : sin(angle));
				t[3][i * width + j] = (float)(j % 2 ? -sin(angle) : cos(angle));
			}
		}
	const int64_t outer[] = { far, 1, width }, inner[] = { 1, STEP, width };
	graph_value a = op_mul(g, graph_constant(g, DTYPE_F32, 3, outer, t[0]), graph_constant(g, DTYPE_F32, 3, inner, t[3]));
	graph_value c = op_mul(g, graph_constant(g, DTYPE_F32, 3, outer, t[1]), graph_constant(g, DTYPE_F32, 3, inner, t[2]));
	graph_value all = op_reshape(g, op_add(g, a, c), 3, (int64_t[]){ 1, far * STEP, width });
	return op_slice(g, all, 1, 0, count);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct video *v = s->own;
	int64_t h = s->hidden_size;
	graph_enter(g, "embed");
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, v->depth, s->patch_size, s->patch_width),
		    bias = WEIGHT(b, "embed.patch", "bias", h);
	const int64_t stride[] = { v->depth, s->patch_size, s->patch_width }, none[6] = { 0 }, one[] = { 1, 1, 1 };
	graph_value x = op_conv(g, op_transpose(g, io->pixels, 5, (int[]){ 0, 2, 1, 3, 4 }), w, bias, stride, none, one, 1);
	x = tokens_of(b, x); // [batch, blocks, hidden]
	if (v->sines)
		x = op_add(g, x, sines(b, v->blocks));
	else {
		x = op_concat(g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), io->pixels), x }, 1);
		x = op_add(g, x, WEIGHT(b, "embed.position", "", 1, 1 + v->blocks, h));
	}
	graph_leave(g);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, NO_VALUE, v->no_key_bias ? VIT_NO_KEY_BIAS : 0);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = v->mean ? x : layer_norm(b, "norm", x, h);
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_output(b->g, "last_hidden_state", io->last);
	if (!weight_named(b, "pooler") || !weight_exists(b, "pooler", "weight"))
		return;
	graph_value x = linear(b, "pooler", first_token(b, io->last), s->hidden_size, s->pooler_size, true);
	graph_output(b->g, "pooler_output", activate(b, s->pooler_act, x));
}

static void build_classes(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	const struct video *v = s->own;
	int64_t h = s->hidden_size;
	graph_value x =
		v->mean ? layer_norm(b, "head.norm", op_reduce_mean(b->g, io->last, 1, false), h) : first_token(b, io->last);
	graph_output(b->g, "logits", linear(b, "head.image", x, h, s->labels, true));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct video *v = s->own;
	int64_t shape[] = { graph_symbol(g, "batch"), v->frames, s->channels, s->image_size, s->image_width };
	struct body io = { .pixels = graph_input(g, "pixel_values", DTYPE_F32, 5, shape) };
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = {
	{ &head_model, build_bare },
	{ &head_video, build_classes },
	{ 0 },
};

const struct family videomae = {
	.name = "video",
	.architecture = "vision",
	.resolve = resolve_mae,
	.build = build,
	.body = body,
	.heads = heads,
};
const struct family vivit = {
	.name = "video",
	.architecture = "vision",
	.resolve = resolve_vivit,
	.build = build,
	.body = body,
	.heads = heads,
};
