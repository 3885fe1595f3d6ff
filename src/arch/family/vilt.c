// SPDX-License-Identifier: Apache-2.0
// ViLT (Kim et al. 2021, https://arxiv.org/abs/2102.03334): a text's tokens and a picture's patches in one encoder. Patches of a
// picture that is smaller than its neighbours in the batch are masked, and the learned grid of positions is brought to the size
// of each picture, bilinear between its corners. transformers shuffles the patches; nothing that is built here depends on their
// order.
//
//   ids    -> tokens + positions + types - norm + kind -+
//                                                       +- layers - norm -> heads over the first token, or over the text
//   pixels -> class token, patches + positions + kind --+
#include "arch/block/image.h"

// spec.own of the family.
struct vilt {
	int64_t kinds, pictures; // kinds: text, first picture, second, ..; pictures a row
};

enum { VILT_SEVERAL = 1, VILT_UNPOOLED = 2 }; // flags of heads: several pictures a row; there is no pooler

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct vilt *o = ARENA_NEW(a, struct vilt);
	s->own = o;
	resolve_transformer(c, s, false);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	o->kinds = config_size(c, "modality_type_vocab_size", 2);
	o->pictures = head_how(s) & VILT_SEVERAL ? config_count(c, "num_images", -1) : 1;
	const json_t *most = config_get(c, "max_image_length");
	if (c->error.status)
		return;
	if (json_is_integer(most) && json_integer_value(most) >= 0)
		config_fail(c, STATUS_UNSUPPORTED,
			"max_image_length %lld: which patches of a larger picture are kept is drawn at random",
			(long long)json_integer_value(most));
	else if (s->image_size != s->image_width || s->patch_size != s->patch_width)
		config_fail(c, STATUS_UNSUPPORTED, "image_size and patch_size should be square");
	else if (o->pictures < 1 || o->kinds <= o->pictures)
		config_fail(c, STATUS_BAD_INPUT, "num_images %lld with modality_type_vocab_size %lld", (long long)o->pictures,
			(long long)o->kinds);
}

static graph_value kind(struct build *b, graph_value x, int64_t number)
{
	const struct vilt *o = b->s->own;
	graph_value all = WEIGHT(b, "embed.kind", "weight", o->kinds, b->s->hidden_size);
	return op_add(b->g, x, op_slice(b->g, all, 0, number, number + 1));
}

// ids, types i64 [batch, seq] -> [batch, seq, hidden]
static graph_value embed_text(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, h);
	if (s->type_vocab_size > 0)
		x = op_add(g, x,
			io->types.id ? embedding(b, "embed.type", io->types, s->type_vocab_size, h)
				     : op_slice(g, WEIGHT(b, "embed.type", "weight", s->type_vocab_size, h), 0, 0, 1));
	graph_value table = WEIGHT(b, "embed.position", "weight", s->max_positions, h);
	x = op_add(g, x, op_gather(g, table, places_of(g, io->ids), 0));
	return kind(b, layer_norm(b, "embed.norm", x, h), 0);
}

// Of each of `count` places along a side of which `valid` [batch, 1] are the picture's, its shares of the `side` learned ones:
// [batch, count, side], as torch's bilinear interpolation with corners on corners.
static graph_value shares(struct build *b, graph_value count, graph_value valid, int64_t side)
{
	struct graph *g = b->g;
	float *number = GRAPH_TABLE(g, NULL, side, 1, float);
	for (int64_t i = 0; number && i < side; i++)
		number[i] = (float)i;
	graph_value learned = graph_constant(g, DTYPE_F32, 1, &side, number);
	graph_value at = op_cast(g, op_range(g, graph_i64(g, 0), op_squeeze(g, count, 0), graph_i64(g, 1)), DTYPE_F32);
	graph_value steps = op_max(g, op_sub(g, valid, graph_f32(g, 1)), graph_f32(g, 1));
	at = op_mul(g, at, op_div(g, graph_f32(g, (float)(side - 1)), steps)); // [batch, count]
	return op_relu(g, op_sub(g, graph_f32(g, 1), op_abs(g, op_sub(g, op_unsqueeze(g, at, 2), learned))));
}

// mask f32 [batch, rows, cols] -> [batch, rows * cols, hidden]
static graph_value positions(struct build *b, graph_value table, graph_value mask)
{
	struct graph *g = b->g;
	int64_t side = b->s->image_size / b->s->patch_size;
	graph_value high = op_reduce_sum(g, op_squeeze(g, op_slice(g, mask, 2, 0, 1), 2), 1, true),
		    wide = op_reduce_sum(g, op_squeeze(g, op_slice(g, mask, 1, 0, 1), 1), 1, true); // [batch, 1]
	graph_value row = op_unsqueeze(g, op_unsqueeze(g, shares(b, op_dim(g, mask, 1), high, side), 2), 4),
		    col = op_unsqueeze(g, op_unsqueeze(g, shares(b, op_dim(g, mask, 2), wide, side), 1), 3);
	graph_value share = op_mul(g, row, col); // [batch, rows, cols, side, side]
	share = op_reshape_to(g, share,
		op_concat(g, 2, (graph_value[]){ op_dim(g, mask, 0), graph_i64s(g, 2, (int64_t[]){ -1, side * side }) }, 0));
	return op_matmul(g, share, op_squeeze(g, op_slice(g, table, 1, 1, INT64_MAX), 0));
}

// Patches of picture `number`, from 1, behind its class token: [batch, 1 + patches, hidden]; *mask i64 [batch, 1 + patches]
static graph_value embed_picture(struct build *b, graph_value pixels, graph_value pixel_mask, int64_t number, graph_value *mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, p = s->patch_size, side = s->image_size / p;
	graph_value map = conv(
		b, "embed.patch", pixels, (struct conv){ .out = h, .kernel = p, .stride = p, .pad = PAD_NONE, .bias = true });
	graph_value x = op_unsqueeze(g, op_cast(g, pixel_mask, DTYPE_F32), 0);
	graph_value sizes[] = { graph_i64s(g, 1, (int64_t[]){ 1 }), op_dim(g, pixel_mask, 0), op_dim(g, map, 2),
		op_dim(g, map, 3) };
	graph_value real = op_squeeze(g, op_resize(g, x, op_concat(g, 4, sizes, 0), "nearest"), 0); // [batch, rows, cols]
	graph_value table = WEIGHT(b, "embed.places", "", 1, side * side + 1, h);
	x = op_add(g, tokens_of(b, map), positions(b, table, real));
	graph_value first = op_add(g, WEIGHT(b, "embed.class", "", 1, 1, h), op_slice(g, table, 1, 0, 1));
	x = op_concat(g, 2, (graph_value[]){ each_image(b, first, pixels), x }, 1);
	real = op_cast(g, op_reshape(g, real, 2, (int64_t[]){ 0, -1 }), DTYPE_I64);
	graph_value one = op_add(g, op_mul(g, op_slice(g, real, 1, 0, 1), graph_i64(g, 0)), graph_i64(g, 1));
	*mask = op_concat(g, 2, (graph_value[]){ one, real }, 1);
	return kind(b, x, number);
}

static graph_value layer(struct build *b, graph_value x, graph_value bias)
{
	int64_t h = b->s->hidden_size;
	graph_value y = layer_norm(b, "layers.attn.norm", x, h);
	x = op_add(b->g, x, self_attention(b, y, bias, NO_VALUE, NO_VALUE, b->s->traits.qkv_bias, true, NULL));
	y = prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h));
	return op_add(b->g, x, y);
}

// The text with picture `number`: io->last, io->pooled.
static void body(struct build *b, struct body *io, graph_value pixel_mask, int64_t number)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value mask, picture = embed_picture(b, io->pixels, pixel_mask, number, &mask);
	graph_value x = op_concat(g, 2, (graph_value[]){ embed_text(b, io), picture }, 1);
	graph_value bias = mask_bidirectional(b, op_concat(g, 2, (graph_value[]){ io->mask, mask }, 1));
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, bias);
		graph_leave(g);
	}
	io->last = layer_norm(b, "norm", x, h);
	if (!(head_how(b->s) & VILT_UNPOOLED))
		io->pooled = op_tanh(g, linear(b, "pooler", first_token(b, io->last), h, h, true));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vilt *o = s->own;
	bool several = head_how(s) & VILT_SEVERAL;
	struct body io = { 0 };
	text_tower_inputs(b, &io);
	int64_t batch = graph_symbol(g, "batch"), high = graph_symbol(g, "height"), wide = graph_symbol(g, "width");
	graph_value pixels = several
		? graph_input(g, "pixel_values", DTYPE_F32, 5, (int64_t[]){ batch, o->pictures, s->channels, high, wide })
		: pixel_input(b, s->channels, 0, 0);
	graph_value mask = several ? graph_input(g, "pixel_mask", DTYPE_I64, 4, (int64_t[]){ batch, o->pictures, high, wide })
				   : graph_input(g, "pixel_mask", DTYPE_I64, 3, (int64_t[]){ batch, high, wide });
	graph_value *pooled = GRAPH_TABLE(g, NULL, o->pictures, 1, graph_value);
	for (int64_t i = 0; pooled && i < o->pictures && !graph_failed(g); i++) {
		graph_enter(g, "pictures.%lld", (long long)i);
		io.pixels = several ? op_squeeze(g, op_slice(g, pixels, 1, i, i + 1), 1) : pixels;
		body(b, &io, several ? op_squeeze(g, op_slice(g, mask, 1, i, i + 1), 1) : mask, i + 1);
		graph_leave(g);
		pooled[i] = io.pooled;
	}
	if (several && !graph_failed(g))
		io.pooled = op_concat(g, (int)o->pictures, pooled, 1);
	head_build(b, &io);
}

static void answer(struct build *b, const struct body *io, int64_t in, int64_t inner)
{
	graph_value x = layer_norm_eps(b, "head.answer.norm", linear(b, "head.answer.dense", io->pooled, in, inner, true), 1e-5);
	graph_output(b->g, "logits", linear(b, "head.answer.out", op_gelu(b->g, x), inner, b->s->labels, true));
}

static void build_answers(struct build *b, const struct body *io)
{
	answer(b, io, b->s->hidden_size, 2 * b->s->hidden_size);
}

static void build_several(struct build *b, const struct body *io)
{
	const struct vilt *o = b->s->own;
	answer(b, io, b->s->hidden_size * o->pictures, b->s->hidden_size * o->pictures);
}

static void build_rank(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", linear(b, "head.rank", io->pooled, b->s->hidden_size, 1, true));
}

// The usual way over the tokens of the text.
static void build_of_text(struct build *b, const struct body *io)
{
	struct body text = *io;
	text.last = op_slice_to(b->g, io->last, 1, graph_i64s(b->g, 1, (int64_t[]){ 0 }), op_dim(b->g, io->ids, 1));
	b->s->head->build(b, &text);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	image_hints(out, s->image_size, s->image_width);
}

static const struct family_head heads[] = {
	{ &head_span, build_answers },
	{ &head_retrieval, build_rank },
	{ &head_images_text, build_several, VILT_SEVERAL },
	{ &head_masked_lm, build_of_text },
	{ &head_token, build_of_text, VILT_UNPOOLED },
	{ 0 },
};

const struct family vilt = {
	.name = "vilt",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
