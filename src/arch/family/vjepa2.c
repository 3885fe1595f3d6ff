// SPDX-License-Identifier: Apache-2.0
// V-JEPA 2 (Assran et al. 2025, https://arxiv.org/abs/2506.09985): a vision transformer over blocks of a few frames of a video,
// whose queries and keys are rotated by frame, row and column, a third of the head each; classes by a learned query that attends
// to what some more layers make of the states. What predicts masked states is not built: it gives no result of the classes here.
//
//   pixels [batch, frames, channels, height, width] -> blocks -> layers -> norm -> (layers -> a query's attention -> classes)
#include <math.h>

#include "arch/block/image.h"

// spec.own of the family.
struct vjepa2 {
	int64_t frames, depth, steps; // steps: blocks in time
	int64_t pooler_layers;
	bool qkv_bias;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct vjepa2 *v = ARENA_NEW(a, struct vjepa2);
	s->own = v;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	v->frames = config_size(c, "frames_per_clip", 64);
	v->depth = config_size(c, "tubelet_size", 2);
	v->qkv_bias = config_bool(c, "qkv_bias", true);
	if (s->head == &head_video)
		v->pooler_layers = config_count(c, "num_pooler_layers", 3);
	if (c->error.status)
		return;
	if (v->depth < 1 || v->depth > 256 || v->frames < 1 || v->frames > 1 << 12 || s->ffn_size < 1 ||
		s->image_size != s->image_width || s->patch_size != s->patch_width)
		config_fail(c, STATUS_BAD_INPUT, "%lld frames in blocks of %lld, crop_size or patch_size", (long long)v->frames,
			(long long)v->depth);
	else
		v->steps = v->frames < v->depth ? v->frames : v->frames / v->depth;
}

// Cosines, or sines, of a block's frame, row and column: [tokens, 1, 3 * part]. Numbers j and part / 2 + j of a part have the
// same wave length, though the pairs that are rotated are neighbours: so the model was trained.
static graph_value angles(struct build *b, int64_t part, bool sine)
{
	struct graph *g = b->g;
	const struct vjepa2 *v = b->s->own;
	int64_t side = b->s->image_size / b->s->patch_size, tokens = v->steps * side * side, half = part / 2;
	struct arena passing = { 0 }; // every layer asks for it again
	float *t = GRAPH_TABLE(g, &passing, tokens, 3 * part, float);
	for (int64_t i = 0; t && i < tokens; i++)
		for (int64_t k = 0; k < 3 * part; k++) {
			int64_t axis = k / part, j = k % part % half;
			int64_t at = axis == 0 ? i / (side * side) : axis == 1 ? i / side % side : i % side;
			double angle = (double)at / pow(10000, (double)j / (double)half);
			t[i * 3 * part + k] = (float)(sine ? sin(angle) : cos(angle));
		}
	graph_value all = graph_constant(g, DTYPE_F32, 3, (int64_t[]){ tokens, 1, 3 * part }, t);
	arena_done(&passing);
	return all;
}

// x [batch, tokens, hidden], each head's first 3 * part numbers rotated
static graph_value rotated(struct build *b, graph_value x, int64_t part)
{
	struct graph *g = b->g;
	int64_t heads = b->s->heads, width = b->s->head_width, turned = 3 * part;
	if (!part)
		return x;
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width });
	graph_value first = op_slice(g, x, 3, 0, turned);
	graph_value pairs = op_reshape(g, first, 5, (int64_t[]){ 0, 0, heads, turned / 2, 2 });
	graph_value crossed[] = { op_neg(g, op_slice(g, pairs, 4, 1, 2)), op_slice(g, pairs, 4, 0, 1) };
	graph_value other = op_reshape(g, op_concat(g, 2, crossed, 4), 4, (int64_t[]){ 0, 0, heads, turned });
	first = op_add(g, op_mul(g, first, angles(b, part, false)), op_mul(g, other, angles(b, part, true)));
	if (turned < width)
		first = op_concat(g, 2, (graph_value[]){ first, op_slice(g, x, 3, turned, width) }, 3);
	return op_reshape(g, first, 3, (int64_t[]){ 0, 0, heads * width });
}

static graph_value attend(struct build *b, graph_value q, graph_value k, graph_value v)
{
	return op_attention(
		b->g, &(struct attention){ q, k, v, .heads = b->s->heads, .scale = (float)(1 / sqrt((double)b->s->head_width)) });
}

static graph_value layer(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct vjepa2 *v = b->s->own;
	int64_t h = b->s->hidden_size, part = 2 * (b->s->head_width / 3 / 2);
	graph_value y = layer_norm(b, "layers.attn.norm", x, h);
	graph_value q = rotated(b, linear(b, "layers.attn.q", y, h, h, v->qkv_bias), part),
		    k = rotated(b, linear(b, "layers.attn.k", y, h, h, v->qkv_bias), part);
	y = attend(b, q, k, linear(b, "layers.attn.v", y, h, h, v->qkv_bias));
	x = op_add(g, x, linear(b, "layers.attn.o", y, h, h, true));
	return op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h)));
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vjepa2 *v = s->own;
	int64_t h = s->hidden_size, p = s->patch_size;
	const int64_t stride[] = { v->depth, p, p }, none[6] = { 0 }, one[] = { 1, 1, 1 };
	graph_value x = pixels;
	for (int64_t i = 1; v->frames < v->depth && i < v->depth; i++) // too few frames: all of them again
		x = op_concat(g, 2, (graph_value[]){ x, pixels }, 1);
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, v->depth, p, p);
	x = op_conv(
		g, op_transpose(g, x, 5, (int[]){ 0, 2, 1, 3, 4 }), w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1);
	return tokens_of(b, x);
}

static void body(struct build *b, struct body *io)
{
	graph_value x = embed(b, io->pixels);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = layer(b, x);
		graph_leave(b->g);
		states_add(io, x);
	}
	io->last = layer_norm(b, "norm", x, b->s->hidden_size);
}

static void build(struct build *b)
{
	const struct spec *s = b->s;
	const struct vjepa2 *v = s->own;
	int64_t shape[] = { graph_symbol(b->g, "batch"), v->frames, s->channels, s->image_size, s->image_size };
	struct body io = { .pixels = graph_input(b->g, "pixel_values_videos", DTYPE_F32, 5, shape) };
	body(b, &io);
	head_build(b, &io);
}

// Without a mask of the context nothing is masked.
static void build_bare(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	graph_output(b->g, "masked_hidden_state", io->last);
}

static graph_value pooler_ffn(struct build *b, const char *stem, graph_value x)
{
	struct arena *a = graph_arena(b->g);
	int64_t h = b->s->hidden_size, inner = 4 * h;
	graph_value y = layer_norm(b, arena_printf(a, "%s.ffn.norm", stem), x, h);
	y = activate(b, b->s->act, linear(b, arena_printf(a, "%s.ffn.up", stem), y, h, inner, true));
	return op_add(b->g, x, linear(b, arena_printf(a, "%s.ffn.down", stem), y, inner, h, true));
}

static void build_classes(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vjepa2 *v = s->own;
	int64_t h = s->hidden_size;
	graph_value x = io->last, y;
	graph_enter(g, "pooler");
	for (b->layer = 0; b->layer < v->pooler_layers && !graph_failed(g); b->layer++) {
		y = layer_norm(b, "pooler.self.norm", x, h);
		y = attend(b, linear(b, "pooler.self.q", y, h, h, true), linear(b, "pooler.self.k", y, h, h, true),
			linear(b, "pooler.self.v", y, h, h, true));
		x = pooler_ffn(b, "pooler.self", op_add(g, x, linear(b, "pooler.self.o", y, h, h, true)));
	}
	graph_value query = each_image(b, WEIGHT(b, "pooler.query", "", 1, 1, h), io->pixels);
	y = layer_norm(b, "pooler.cross.norm", x, h);
	y = attend(b, linear(b, "pooler.cross.q", query, h, h, true), linear(b, "pooler.cross.k", y, h, h, true),
		linear(b, "pooler.cross.v", y, h, h, true));
	x = pooler_ffn(b, "pooler.cross", op_add(g, query, y));
	graph_leave(g);
	graph_output(g, "logits", linear(b, "head.image", op_squeeze(g, x, 1), h, s->labels, true)); // [batch, labels]
}

static const struct family_head heads[] = {
	{ &head_video, build_classes },
	{ &head_model, build_bare },
	{ 0 },
};

const struct family vjepa2 = {
	.name = "vjepa2",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
};
