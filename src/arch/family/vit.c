// SPDX-License-Identifier: Apache-2.0
// The vision transformer (Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929; DeiT, https://arxiv.org/abs/2012.12877;
// DINOv2, https://arxiv.org/abs/2304.07193; registers, https://arxiv.org/abs/2309.16588; I-JEPA,
// https://arxiv.org/abs/2301.08243): patches become tokens, normalised before each branch.
//
//   pixels -> patches -> [class, (distillation,) patches] + positions (, registers) -> layers -> norm -> head
//   layer:  x -+- norm - attention -(* scale)-(+)-+- norm - up - act - down -(* scale)-(+)-
//              +-------------------------------+  +------------------------------------+
#include <math.h>

#include "arch/block/vit.h"
#include "arch/family/vit.h"

int64_t vit_special(const struct build *b)
{
	return vit_of(b)->classes + TRAITS_OF(b->s, vit)->distillation_token + vit_of(b)->registers;
}

graph_value vit_patches(struct build *b, graph_value tokens)
{
	return op_slice(b->g, tokens, 1, vit_special(b), INT64_MAX);
}

// Positions were learned for the configuration's image. For another one (of a type that takes any, or because the symbols
// "height" and "width" are bound) they are resized as transformers does, which takes the learned grid for a square.
static graph_value positions(struct build *b, graph_value pixels, int64_t special)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	int64_t height = value_dim(g, pixels, 2), width = value_dim(g, pixels, 3);
	int64_t count = (s->image_size / s->patch_size) * (s->image_width / s->patch_width), side = (int64_t)sqrt((double)count);
	graph_value table = WEIGHT(b, "embed.position", "", 1, special + count, s->hidden_size);
	if (height == s->image_size && width == s->image_width)
		return table;
	graph_value rows = op_div(g, op_dim(g, pixels, 2), graph_i64s(g, 1, &s->patch_size)),
		    cols = op_div(g, op_dim(g, pixels, 3), graph_i64s(g, 1, &s->patch_width));
	return grid_positions(
		b, table, special, side, side, rows, cols, TRAITS_OF(s, vit)->smooth_positions ? "smooth" : "cubic");
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vit *v = vit_of(b);
	int64_t h = s->hidden_size, count = 0, placed = v->classes + TRAITS_OF(s, vit)->distillation_token;
	if (graph_failed(g))
		return NO_VALUE;
	graph_enter(g, "embed");
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, s->patch_size, s->patch_width);
	int64_t edge = TRAITS_OF(s, vit)->class_position ? 2 : 0; // of zeros: such models were trained so
	const int64_t stride[] = { s->patch_size, s->patch_width }, pad[] = { edge, edge, edge, edge }, one[] = { 1, 1 };
	graph_value x = tokens_of(
		b, op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), stride, pad, one, 1)); // [batch, patches, hidden]
	graph_value tokens[3];
	if (v->classes)
		tokens[count++] =
			each_image(b, WEIGHT(b, "embed.class", "", 1, v->classes, h), pixels); // [batch, classes, hidden]
	if (TRAITS_OF(s, vit)->distillation_token)
		tokens[count++] = each_image(b, WEIGHT(b, "embed.distillation", "", 1, 1, h), pixels);
	tokens[count++] = x;
	x = op_concat(g, (int)count, tokens, 1); // [batch, special + patches, hidden]
	if (TRAITS_OF(s, vit)->class_position) { // of a class token that is not there
		graph_value table = positions(b, pixels, 1);
		x = op_add(g, op_add(g, x, op_slice(g, table, 1, 1, INT64_MAX)), op_slice(g, table, 1, 0, 1));
	} else if (!v->no_positions)
		x = op_add(g, x, positions(b, pixels, placed));
	if (v->registers) {
		graph_value registers = each_image(b, WEIGHT(b, "embed.registers", "", 1, v->registers, h), pixels);
		x = op_concat(g, 3,
			(graph_value[]){ op_slice(g, x, 1, 0, placed), registers, op_slice(g, x, 1, placed, INT64_MAX) }, 1);
	}
	graph_leave(g);
	return x;
}

static graph_value scaled(struct build *b, const char *stem, graph_value y, unsigned how)
{
	return how & VIT_LAYER_SCALE ? op_mul(b->g, y, WEIGHT(b, stem, "", b->s->hidden_size)) : y;
}

static graph_value ffn(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	if (!s->swiglu)
		return prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x);
	int64_t width = (s->ffn_size * 2 / 3 + 7) / 8 * 8;
	bool joined = weight_named(b, "layers.ffn.gate_up");
	graph_value both = joined ? linear(b, "layers.ffn.gate_up", x, s->hidden_size, 2 * width, true) : NO_VALUE;
	graph_value gate = joined ? op_slice(g, both, 2, 0, width) : linear(b, "layers.ffn.gate", x, s->hidden_size, width, true);
	graph_value up =
		joined ? op_slice(g, both, 2, width, 2 * width) : linear(b, "layers.ffn.up", x, s->hidden_size, width, true);
	return linear(b, joined ? "layers.ffn.gate_down" : "layers.ffn.down", op_mul(g, op_silu(g, gate), up), width,
		s->hidden_size, true);
}

// Query and value with a bias, which may have a name of its own in the file; the key without.
static graph_value attention_no_key_bias(struct build *b, graph_value x, graph_value bias)
{
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, width = s->heads * s->head_width;
	bool loose = weight_named(b, "layers.attn.q.loose"), has = s->traits.qkv_bias;
	graph_value qb = !has ? NO_VALUE
		: loose       ? WEIGHT(b, "layers.attn.q.loose", "", width)
			      : WEIGHT(b, "layers.attn.q", "bias", width);
	graph_value vb = !has ? NO_VALUE
		: loose       ? WEIGHT(b, "layers.attn.v.loose", "", width)
			      : WEIGHT(b, "layers.attn.v", "bias", width);
	graph_value q = op_linear(b->g, x, WEIGHT(b, "layers.attn.q", "weight", width, h), qb),
		    v = op_linear(b->g, x, WEIGHT(b, "layers.attn.v", "weight", width, h), vb);
	graph_value k = linear(b, "layers.attn.k", x, h, width, false);
	graph_value y = op_attention(
		b->g, &(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, width, h, true);
}

static graph_value branch_norm(struct build *b, const char *stem, graph_value x)
{
	int64_t h = b->s->hidden_size;
	return b->s->rms_branches ? rms_norm(b, stem, x, h) : layer_norm(b, stem, x, h);
}

graph_value vit_layer(struct build *b, graph_value x, graph_value bias, unsigned how)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	graph_value y = branch_norm(b, "layers.attn.norm", x);
	y = how & VIT_NO_KEY_BIAS ? attention_no_key_bias(b, y, bias)
				  : self_attention(b, y, bias, NO_VALUE, NO_VALUE, s->traits.qkv_bias, true, NULL);
	x = op_add(g, scaled(b, "layers.attn.scale", y, how), x);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = ffn(b, branch_norm(b, "layers.ffn.norm", x));
	x = op_add(g, scaled(b, "layers.ffn.scale", y, how), x);
	graph_leave(g);
	return x;
}

// Norms of the branches, and of query and key, where the class has a choice.
static void resolve_branches(struct config *c, struct spec *s)
{
	const char *kind = config_knows(c, "norm_type") ? config_text(c, "norm_type") : NULL;
	s->rms_branches = text_is(kind, "rms_norm");
	if (kind && !s->rms_branches && !text_is(kind, "layer_norm"))
		config_fail(c, STATUS_UNSUPPORTED, "the norm_type %s is not known", kind);
	if (config_knows(c, "use_qk_norm"))
		s->traits.qk_norm_whole |= config_bool(c, "use_qk_norm", false);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct vit *v = ARENA_NEW(a, struct vit);
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->image_tokens += TRAITS_OF(s, vit)->distillation_token;
	resolve_outputs(c, s, a, s->layers);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	bool none = TRAITS_OF(s, vit)->no_class_token || TRAITS_OF(s, vit)->class_position;
	*v = (struct vit){ .classes = none ? 0 : config_size(c, "n_cls_tokens", 1),
		.registers = config_size(c, "num_register_tokens", 0),
		.encoder_stride = config_size(c, "encoder_stride", 16),
		.norm_outputs = config_bool(c, "apply_layernorm", true),
		.map_outputs = config_bool(c, "reshape_hidden_states", false) };
	s->own = v;
	v->no_norm = config_bool(c, "use_mean_pooling", false) && TRAITS_OF(s, vit)->norm_unless_mean;
	v->no_positions = !config_bool(c, "use_absolute_position_embeddings", true) && TRAITS_OF(s, vit)->norm_unless_mean;
	resolve_branches(c, s);
	static const char *const norm[] = { "*layernorm.weight", "*layernorm.bias", NULL };
	if (!v->norm_outputs && s->head && s->head->gives_states)
		s->unused = norm;
	if (config_size(c, "num_experts", 1) > 1)
		config_fail(c, STATUS_UNSUPPORTED, "num_experts above 1 is not supported yet");
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	unsigned how = TRAITS_OF(b->s, vit)->layer_scale ? VIT_LAYER_SCALE : 0;
	graph_value x = embed(b, io->pixels);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, NO_VALUE, how);
		graph_leave(g);
		states_add(io, x);
	}
	bool bare = vit_of(b)->no_norm || (b->s->head && b->s->head->gives_states);
	io->last = bare ? x : layer_norm(b, "norm", x, b->s->hidden_size);
}

static void build(struct build *b)
{
	const struct spec *s = b->s;
	bool any = TRAITS_OF(s, vit)->any_size;
	struct body io = { .pixels = pixel_input(b, s->channels, any ? 0 : s->image_size, any ? 0 : s->image_width) };
	body(b, &io);
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	if (TRAITS_OF(s, vit)->any_size)
		image_hints(out, s->image_size, s->image_width);
}

const struct family vit = {
	.name = "vit",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.feature = vit_feature,
	.hints = hints,
	.heads = vit_heads,
	.traits = FAMILY_TRAIT_LIST(vit, VIT_TRAITS),
};
