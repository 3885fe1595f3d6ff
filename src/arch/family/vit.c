// SPDX-License-Identifier: Apache-2.0
// The vision transformer (Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929; DeiT, https://arxiv.org/abs/2012.12877;
// DINOv2, https://arxiv.org/abs/2304.07193): patches become tokens, normalised before each branch.
//
//   pixels -> patches -> [class, (distillation,) patches] + positions -> layers -> norm -> head
//   layer:  x -+- norm - attention -(* scale)-(+)-+- norm - up - act - down -(* scale)-(+)-
//              +-------------------------------+  +------------------------------------+
#include "arch/block/block.h"

static value embed(struct build *b, value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t p = s->patch_size, side = s->image_size / p, special = s->traits.distillation_token ? 2 : 1, h = s->hidden_size;
	graph_enter(g, "embed");
	value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, p, p);
	value x = op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), 2, (int64_t[]){ p, p }, (int64_t[]){ 0, 0, 0, 0 }, (int64_t[]){ 1, 1 }, 1);
	x = op_transpose(g, op_reshape(g, x, 3, (int64_t[]){ 0, h, side * side }), 3, (int[]){ 0, 2, 1 });   // [batch, patches, hidden]
	value shape = op_concat(g, 2, (value[]){ op_dim(g, pixels, 0), graph_i64s(g, 2, (int64_t[]){ 1, h }) }, 0);
	value tokens[3] = { op_expand(g, WEIGHT(b, "embed.class", "", 1, 1, h), shape) };                    // [batch, 1, hidden]
	if (special == 2)
		tokens[1] = op_expand(g, WEIGHT(b, "embed.distillation", "", 1, 1, h), shape);
	tokens[special] = x;
	x = op_concat(g, (int)special + 1, tokens, 1);                                                       // [batch, special + patches, hidden]
	x = op_add(g, x, WEIGHT(b, "embed.position", "", 1, special + side * side, h));
	graph_leave(g);
	return x;
}

static value scaled(struct build *b, const char *stem, value y)
{
	return b->s->traits.layer_scale ? op_mul(b->g, y, WEIGHT(b, stem, "", b->s->hidden_size)) : y;
}

static value ffn(struct build *b, value x)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	if (!s->swiglu) {
		value y = activate(b, s->act, linear(b, "layers.ffn.up", x, s->hidden_size, s->ffn_size, true));
		return linear(b, "layers.ffn.down", y, s->ffn_size, s->hidden_size, true);
	}
	int64_t width = (s->ffn_size * 2 / 3 + 7) / 8 * 8;
	value both = linear(b, "layers.ffn.gate_up", x, s->hidden_size, 2 * width, true);
	value gate = op_silu(g, op_slice(g, both, 2, 0, width));
	return linear(b, "layers.ffn.gate_down", op_mul(g, gate, op_slice(g, both, 2, width, 2 * width)), width, s->hidden_size, true);
}

static value layer(struct build *b, value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	value y = layer_norm(b, "layers.attn.norm", x, s->hidden_size);
	y = self_attention(b, y, NO_VALUE, NO_VALUE, NO_VALUE, s->traits.qkv_bias, true, NULL);
	x = op_add(g, scaled(b, "layers.attn.scale", y), x);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = ffn(b, layer_norm(b, "layers.ffn.norm", x, s->hidden_size));
	x = op_add(g, scaled(b, "layers.ffn.scale", y), x);
	graph_leave(g);
	return x;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	(void)a;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	value x = embed(b, io->pixels);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers; b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = layer_norm(b, "norm", x, b->s->hidden_size);
}

static void draw(struct build *b)
{
	const struct spec *s = b->s;
	int64_t shape[] = { graph_symbol(b->g, "batch"), s->channels, s->image_size, s->image_size };
	struct body io = { .pixels = graph_input(b->g, "pixel_values", DTYPE_F32, 4, shape) };
	body(b, &io);
	s->head->draw(b, io.last);
}

const struct family vit = { "vit", "vision", resolve, draw, body, NULL, NULL };
