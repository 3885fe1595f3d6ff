// SPDX-License-Identifier: Apache-2.0
// AIMv2's vision tower: a vision transformer with a language model's norms and feed-forward (Fini et al. 2024,
// https://arxiv.org/abs/2411.14402).
//
//   pixels -> patches - norm + positions -> layers -> norm -> a learned query attends to all -> linear
//   layer:  x -+- norm - attention -(+)-+- norm -+- gate - act -(*)- down -(+)-
//              |                     |  |        +- up ----------+         |
//              +---------------------+  +----------------------------------+
//   native resolution: positions are sines and cosines of column and row, and images may have any size
#include <math.h>

#include "arch/block/image.h"

// spec.own of the family.
struct aimv2 {
	bool native, has_head, ffn_bias;
	int64_t eos_token_id; // of a text, which is pooled there
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct aimv2 *t = ARENA_NEW(a, struct aimv2);
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	*t = (struct aimv2){ .native = config_bool(c, "is_native", false),
		.has_head = config_knows(c, "use_head") && config_bool(c, "use_head", true),
		.ffn_bias = config_bool(c, "mlp_bias", false) };
	s->traits.qkv_bias = config_bool(c, "qkv_bias", false);
	s->image_tokens--; // no class token
	s->own = t;
	if (!c->error.status && (s->image_size != s->image_width || s->patch_size != s->patch_width))
		config_fail(c, STATUS_UNSUPPORTED, "pictures and patches should be square");
	if (!c->error.status && t->native && s->hidden_size % 4)
		config_fail(c, STATUS_BAD_INPUT, "hidden_size %lld does not divide into sines and cosines of rows and columns",
			(long long)s->hidden_size);
}

// Sines, then cosines, of 0, 1, .. n - 1 in hidden/4 wave lengths: [n, hidden/2]
static graph_value sines(struct build *b, graph_value n)
{
	struct graph *g = b->g;
	int64_t count = b->s->hidden_size / 4;
	float *wave = GRAPH_TABLE(g, NULL, count, 1, float);
	for (int64_t i = 0; wave && i < count; i++)
		wave[i] = (float)pow(10000, -(double)i / (double)count);
	graph_value at = op_cast(g, op_range(g, graph_i64(g, 0), op_squeeze(g, n, 0), graph_i64(g, 1)), DTYPE_F32);
	graph_value angle = op_mul(g, op_unsqueeze(g, at, 1), graph_constant(g, DTYPE_F32, 1, &count, wave));
	return op_concat(g, 2, (graph_value[]){ op_sin(g, angle), op_cos(g, angle) }, 1);
}

// Of the column, then of the row: [1, rows*cols, hidden]
static graph_value native_positions(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, half = h / 2;
	graph_value rows = op_dim(g, map, 2), cols = op_dim(g, map, 3),
		    shape = op_concat(g, 3, (graph_value[]){ rows, cols, graph_i64s(g, 1, &half) }, 0);
	graph_value right = op_expand(g, op_unsqueeze(g, sines(b, cols), 0), shape),
		    down = op_expand(g, op_unsqueeze(g, sines(b, rows), 1), shape);
	return op_reshape(g, op_concat(g, 2, (graph_value[]){ right, down }, 2), 3, (int64_t[]){ 1, -1, h });
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t p = s->patch_size, side = s->image_size / p, h = s->hidden_size;
	graph_enter(g, "embed");
	graph_value map = conv(b, "embed.patch", pixels,
		(struct conv){
			.out = h, .kernel = p, .stride = p, .pad = PAD_NONE, .bias = true }); // [batch, hidden, rows, cols]
	graph_value x = rms_norm(b, "embed.norm", tokens_of(b, map), h);
	x = op_add(g, x,
		((const struct aimv2 *)s->own)->native ? native_positions(b, map)
						       : WEIGHT(b, "embed.position", "weight", side * side, h));
	graph_leave(g);
	return x; // [batch, patches, hidden]
}

// A learned query, one for all images, attends to all patches: [batch, hidden]
static graph_value pool(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	bool bias = s->traits.qkv_bias;
	graph_value query = each_image(b, WEIGHT(b, "pooler.query", "", 1, 1, h), x); // [batch, 1, hidden]
	graph_value k = linear(b, "pooler.k", x, h, h, bias), v = linear(b, "pooler.v", x, h, h, bias);
	graph_value y =
		op_attention(g, &(struct attention){ query, k, v, .heads = s->heads, .scale = (float)s->attention_scale });
	return op_squeeze(g, linear(b, "pooler.o", y, h, h, true), 1);
}

// Into io->states and io->last.
static void layers(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct aimv2 *t = s->own;
	int64_t h = s->hidden_size;
	bool bias = s->traits.qkv_bias;
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = rms_norm(b, "layers.attn.norm", x, h);
		x = op_add(g, x, self_attention(b, y, mask, NO_VALUE, NO_VALUE, bias, bias, NULL));
		y = rms_norm(b, "layers.ffn.norm", x, h);
		x = op_add(g, x, ffn_of(b, "layers.ffn", y, s->ffn_size, t->ffn_bias));
		graph_leave(g);
		states_add(io, x);
	}
	io->last = rms_norm(b, "norm", x, h);
}

static void body(struct build *b, struct body *io)
{
	layers(b, io, embed(b, io->pixels), NO_VALUE);
	if (((const struct aimv2 *)b->s->own)->has_head)
		io->pooled = pool(b, io->last);
}

static void build(struct build *b)
{
	const struct spec *s = b->s;
	int64_t side = ((const struct aimv2 *)s->own)->native ? 0 : s->image_size;
	struct body io = { .pixels = pixel_input(b, s->channels, side, side) };
	body(b, &io);
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	if (((const struct aimv2 *)s->own)->native)
		image_hints(out, s->image_size, s->image_width);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family aimv2 = {
	.name = "aimv2",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.hints = hints,
	.heads = heads,
};

// ---- the text beside it ---------------------------------------------------------------------------------------------------
//
//   ids -> tokens + positions -> the same layers, each token seeing those before it -> norm -> the token that ends the text

static void resolve_text(struct config *c, struct spec *s, struct arena *a)
{
	struct aimv2 *t = ARENA_NEW(a, struct aimv2);
	s->own = t;
	resolve_transformer(c, s, false);
	const json_t *eos = config_get(c, "eos_token_id");
	t->ffn_bias = config_bool(c, "mlp_bias", false);
	t->eos_token_id = json_integer_value(eos);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", false);
	if (!json_is_integer(eos) || t->eos_token_id < 0)
		config_fail(c, STATUS_UNSUPPORTED, "eos_token_id should be one number: the text is pooled there");
}

static void body_text(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "embed");
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, s->hidden_size);
	graph_value table = WEIGHT(b, "embed.position", "weight", s->max_positions, s->hidden_size);
	x = op_add(g, x, op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, io->ids, 1)));
	graph_leave(g);
	layers(b, io, x, mask_causal(b, io->mask, x, 0));
	io->pooled = token_at_end(b, io->ids, io->last, ((const struct aimv2 *)s->own)->eos_token_id);
}

static void build_text(struct build *b)
{
	struct body io = { 0 };
	text_tower_inputs(b, &io);
	body_text(b, &io);
	head_build(b, &io);
}

static void hints_text(const struct spec *s, struct input_hints *out)
{
	out->ends_with_eos = s->vocab_size > 1;
	out->eos_token_id = ((const struct aimv2 *)s->own)->eos_token_id;
}

const struct family aimv2_text = {
	.name = "aimv2-text",
	.architecture = "encoder-only",
	.resolve = resolve_text,
	.build = build_text,
	.body = body_text,
	.hints = hints_text,
	.heads = heads,
};
