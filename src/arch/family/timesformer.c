// SPDX-License-Identifier: Apache-2.0
// TimeSformer: a vision transformer over video that attends along time and over a frame by turns (Bertasius et al. 2021,
// https://arxiv.org/abs/2102.05095). Tokens are [class, places with their frames side by side].
//
//   layer:  x -+- norm - attention over a place's frames - linear -(+)-+- norm - attention over a frame and the class token -(+)-
//              +---------------------------------------------------+  +--------- (the class token's: mean of frames) ---------+
//           -+- norm - up - act - down -(+)-
//            +--------------------------+
#include "arch/block/vit.h"

// spec.own of the family.
struct timesformer {
	int64_t frames, places;
	bool divided;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct timesformer *t = ARENA_NEW(a, struct timesformer);
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	const char *kind = config_text(c, "attention_type");
	*t = (struct timesformer){ .frames = config_size(c, "num_frames", 8),
		.divided = !kind || text_is(kind, "divided_space_time") };
	if (!t->divided && !text_is(kind, "joint_space_time"))
		config_fail(c, STATUS_UNSUPPORTED, "attention_type %s is not supported yet", kind);
	if (!c->error.status && (t->frames < 1 || t->frames > 1 << 16))
		config_fail(c, STATUS_BAD_INPUT, "%lld frames", (long long)t->frames);
	if (!c->error.status)
		t->places = (s->image_size / s->patch_size) * (s->image_width / s->patch_width);
	s->own = t;
}

static graph_value attention(struct build *b, const char *qkv, const char *out, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value all = linear(b, qkv, x, h, 3 * h, s->traits.qkv_bias);
	graph_value q = op_slice(g, all, 2, 0, h), k = op_slice(g, all, 2, h, 2 * h), v = op_slice(g, all, 2, 2 * h, 3 * h);
	return linear(b, out,
		op_attention(g, &(struct attention){ q, k, v, .heads = s->heads, .scale = (float)s->attention_scale }), h, h,
		true);
}

// [.., first*second, hidden] with first and second changed: [.., second*first, hidden], and leading dimensions as they go with
// it.
static graph_value transposed(struct build *b, graph_value x, int64_t first, int64_t second, int64_t tokens)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value y = op_transpose(g, op_reshape(g, x, 4, (int64_t[]){ -1, first, second, h }), 4, (int[]){ 0, 2, 1, 3 });
	return op_reshape(g, y, 3, (int64_t[]){ -1, tokens, h });
}

static graph_value layer(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct timesformer *t = s->own;
	int64_t h = s->hidden_size, f = t->frames, p = t->places;
	if (t->divided) {
		graph_value token = op_slice(g, x, 1, 0, 1),
			    rest = op_slice(g, x, 1, 1, INT64_MAX); // [batch, places*frames, hidden]
		graph_value y = layer_norm(b, "layers.time.norm", op_reshape(g, rest, 3, (int64_t[]){ -1, f, h }), h);
		y = op_reshape(g, attention(b, "layers.time.qkv", "layers.time.o", y), 3, (int64_t[]){ -1, p * f, h });
		rest = op_add(g, rest, linear(b, "layers.time.dense", y, h, h, true));
		graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ f, h }) }, 0);
		graph_value tokens =
			op_reshape(g, op_expand(g, token, shape), 3, (int64_t[]){ -1, 1, h }); // [batch*frames, 1, hidden]
		y = op_concat(
			g, 2, (graph_value[]){ tokens, transposed(b, rest, p, f, p) }, 1); // [batch*frames, 1 + places, hidden]
		y = attention(b, "layers.attn.qkv", "layers.attn.o", layer_norm(b, "layers.attn.norm", y, h));
		graph_value mean = op_reduce_mean(g, op_reshape(g, op_slice(g, y, 1, 0, 1), 3, (int64_t[]){ -1, f, h }), 1, true);
		y = op_concat(g, 2, (graph_value[]){ mean, transposed(b, op_slice(g, y, 1, 1, INT64_MAX), f, p, p * f) }, 1);
		x = op_add(g, op_concat(g, 2, (graph_value[]){ token, rest }, 1), y);
	} else
		x = op_add(g, x, attention(b, "layers.attn.qkv", "layers.attn.o", layer_norm(b, "layers.attn.norm", x, h)));
	graph_value y =
		activate(b, s->act, linear(b, "layers.ffn.up", layer_norm(b, "layers.ffn.norm", x, h), h, s->ffn_size, true));
	return op_add(g, x, linear(b, "layers.ffn.down", y, s->ffn_size, h, true));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct timesformer *t = s->own;
	int64_t h = s->hidden_size, shape[] = { graph_symbol(g, "batch"), t->frames, s->channels, s->image_size, s->image_width };
	graph_value pixels = graph_input(g, "pixel_values", DTYPE_F32, 5, shape);
	graph_enter(g, "embed");
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, s->patch_size, s->patch_width);
	const int64_t stride[] = { s->patch_size, s->patch_width }, none[4] = { 0 }, one[] = { 1, 1 };
	graph_value frames = op_reshape(g, pixels, 4, (int64_t[]){ -1, s->channels, s->image_size, s->image_width });
	graph_value x = tokens_of(b,
		op_conv(g, frames, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one,
			1)); // [batch*frames, places, hidden]
	graph_value positions = WEIGHT(b, "embed.position", "", 1, 1 + t->places, h);
	x = transposed(b, op_add(g, x, op_slice(g, positions, 1, 1, INT64_MAX)), t->frames, t->places,
		t->frames); // [batch*places, frames, hidden]
	x = op_reshape(
		g, op_add(g, x, WEIGHT(b, "embed.time", "", 1, t->frames, h)), 3, (int64_t[]){ -1, t->places * t->frames, h });
	graph_value token = op_add(g, WEIGHT(b, "embed.class", "", 1, 1, h), op_slice(g, positions, 1, 0, 1));
	x = op_concat(g, 2, (graph_value[]){ each_image(b, token, pixels), x }, 1);
	graph_leave(g);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x);
		graph_leave(g);
	}
	x = layer_norm(b, "norm", x, h);
	graph_assume(g, x, 0, value_dim(g, pixels, 0));
	head_build(b, &(struct body){ .last = x });
}

static void build_classes(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_output(b->g, "logits", linear(b, "head.image", first_token(b, io->last), s->hidden_size, s->labels, true));
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_video, build_classes },
	{ 0 },
};

const struct family timesformer = {
	.name = "timesformer",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
