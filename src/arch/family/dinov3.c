// SPDX-License-Identifier: Apache-2.0
// DINOv3's vision transformer: a rotary embedding of where patches lie, so images may have any size (Siméoni et al. 2025,
// https://arxiv.org/abs/2508.10104).
//
//   pixels -> [class, registers, patches] -> layers -> norm -> head
//   layer:  x -+- norm - attention * scale -(+)-+- norm - feed-forward * scale -(+)-
//              +----------------------------+  +-------------------------------+
//   query and key of a patch: the first half of the angles by its row, the second by its column, both from -1 to 1
#include <math.h>

#include "arch/family/dinov3.h"

void dino_resolve(struct config *c, struct spec *s, struct arena *a, struct dino *d)
{
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	resolve_outputs(c, s, a, s->layers);
	const json_t *rope = config_given(c, "rope_parameters"), *theta = json_object_get(rope, "rope_theta");
	*d = (struct dino){ .vit = { .classes = 1,
				    .registers = config_size(c, "num_register_tokens", 0),
				    .norm_outputs = config_bool(c, "apply_layernorm", true),
				    .map_outputs = config_bool(c, "reshape_hidden_states", true) },
		.theta = config_real(c, "rope_theta", 100),
		.query_bias = config_bool(c, "query_bias", true),
		.key_bias = config_bool(c, "key_bias", false),
		.value_bias = config_bool(c, "value_bias", true),
		.out_bias = config_bool(c, "proj_bias", true),
		.ffn_bias = config_bool(c, "mlp_bias", true),
		.gated = config_bool(c, "use_gated_mlp", false) };
	d->theta = json_is_number(theta) ? json_number_value(theta) : d->theta;
	if (config_bool(c, "return_class_token", false) != (s->head == &head_backbone_classed))
		config_fail(c, STATUS_UNSUPPORTED, "return_class_token is for models that read it, and for these alone");
	if (!c->error.status && (s->head_width % 4 || !(d->theta > 0) || s->heads * s->head_width != s->hidden_size))
		config_fail(c, STATUS_BAD_INPUT, "heads of %lld do not divide into rows and columns", (long long)s->head_width);
	s->own = d;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	dino_resolve(c, s, a, ARENA_NEW(a, struct dino));
}

// Centres of n patches between -1 and 1, times 2 pi and each wave's frequency: [n, head_width / 4]
static graph_value angles(struct build *b, graph_value n)
{
	struct graph *g = b->g;
	int64_t count = b->s->head_width / 4;
	float *wave = GRAPH_TABLE(g, NULL, count, 1, float);
	for (int64_t i = 0; wave && i < count; i++)
		wave[i] = (float)(1 / pow(((const struct dino *)b->s->own)->theta, (double)i * 4 / (double)b->s->head_width));
	graph_value number = op_squeeze(g, n, 0),
		    at = op_cast(g, op_range(g, graph_i64(g, 0), number, graph_i64(g, 1)), DTYPE_F32);
	at = op_div(g, op_add(g, at, graph_f32(g, 0.5f)), op_cast(g, number, DTYPE_F32));
	at = op_mul(g, op_sub(g, op_mul(g, at, graph_f32(g, 2)), graph_f32(g, 1)), graph_f32(g, (float)(2 * M_PI)));
	return op_mul(g, op_unsqueeze(g, at, 1), graph_constant(g, DTYPE_F32, 1, &count, wave));
}

void dino_tables(struct build *b, graph_value map, int64_t before, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t quarter = b->s->head_width / 4, special = before + vit_special(b);
	graph_enter(g, "rope");
	graph_value rows = op_dim(g, map, 2), cols = op_dim(g, map, 3), each[] = { rows, cols, graph_i64s(g, 1, &quarter) };
	graph_value shape = op_concat(g, 3, each, 0);
	graph_value down = op_expand(g, op_unsqueeze(g, angles(b, rows), 1), shape),
		    right = op_expand(g, op_unsqueeze(g, angles(b, cols), 0), shape);
	graph_value all =
		op_reshape(g, op_concat(g, 2, (graph_value[]){ down, right }, 2), 4, (int64_t[]){ 1, -1, 1, 2 * quarter });
	float *zero = GRAPH_TABLE(g, NULL, special, 2 * quarter, float);
	all = op_concat(g, 2,
		(graph_value[]){ graph_constant(g, DTYPE_F32, 4, (int64_t[]){ 1, special, 1, 2 * quarter }, zero), all }, 1);
	*cos = op_cos(g, all);
	*sin = op_sin(g, all);
	graph_leave(g);
}

graph_value dino_layer(struct build *b, graph_value x, graph_value bias, graph_value cos, graph_value sin)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct dino *d = s->own;
	int64_t h = s->hidden_size, f = s->ffn_size;
	graph_value y = layer_norm(b, "layers.attn.norm", x, h);
	graph_value q = rope_turn(b, linear(b, "layers.attn.q", y, h, h, d->query_bias), cos, sin, s->heads);
	graph_value k = rope_turn(b, linear(b, "layers.attn.k", y, h, h, d->key_bias), cos, sin, s->heads);
	y = op_attention(g,
		&(struct attention){ q, k, linear(b, "layers.attn.v", y, h, h, d->value_bias), .bias = bias, .heads = s->heads,
			.scale = (float)s->attention_scale });
	y = linear(b, "layers.attn.o", y, h, h, d->out_bias);
	x = op_add(g, x, op_mul(g, y, WEIGHT(b, "layers.attn.scale", "", h)));
	y = layer_norm(b, "layers.ffn.norm", x, h);
	graph_value up = linear(b, "layers.ffn.up", y, h, f, d->ffn_bias);
	up = d->gated ? op_mul(g, activate(b, s->act, linear(b, "layers.ffn.gate", y, h, f, d->ffn_bias)), up)
		      : activate(b, s->act, up);
	y = linear(b, "layers.ffn.down", up, f, h, d->ffn_bias);
	return op_add(g, x, op_mul(g, y, WEIGHT(b, "layers.ffn.scale", "", h)));
}

graph_value dino_embed(struct build *b, graph_value pixels, graph_value *map)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, registers = vit_of(b)->registers;
	graph_enter(g, "embed");
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, s->patch_size, s->patch_width), tokens[3];
	const int64_t stride[] = { s->patch_size, s->patch_width }, none[4] = { 0 }, one[] = { 1, 1 };
	int count = 0;
	*map = op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1);
	tokens[count++] = each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), pixels);
	if (registers)
		tokens[count++] = each_image(b, WEIGHT(b, "embed.registers", "", 1, registers, h), pixels);
	tokens[count++] = tokens_of(b, *map);
	graph_value x = op_concat(g, count, tokens, 1);
	graph_leave(g);
	return x;
}

static void body(struct build *b, struct body *io)
{
	const struct spec *s = b->s;
	graph_value map, cos, sin, x = dino_embed(b, io->pixels, &map);
	dino_tables(b, map, 0, &cos, &sin);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = dino_layer(b, x, NO_VALUE, cos, sin);
		graph_leave(b->g);
		states_add(io, x);
	}
	io->last = layer_norm(b, "norm", x, s->hidden_size);
}

// Every state a backbone gives is patches only, and the last one is always normed.
static graph_value feature(struct build *b, const struct body *io, int64_t index)
{
	graph_value state = index >= b->s->layers ? io->last : vit_state(b, io, index), x = vit_patches(b, state);
	if (b->s->head == &head_backbone_classed) // [batch, 1 + patches, hidden]
		return op_concat(b->g, 2, (graph_value[]){ op_slice(b->g, state, 1, 0, 1), x }, 1);
	return vit_of(b)->map_outputs ? vit_map(b, io, x) : x;
}

static void build_bare(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	graph_output(b->g, "pooler_output", first_token(b, io->last));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	image_hints(out, s->image_size, s->image_width);
}

static const struct family_head heads[] = {
	{ &head_model, build_bare },
	{ &head_backbone, map_features },
	{ &head_backbone_classed },
	{ 0 },
};

const struct family dinov3 = {
	.name = "dinov3",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.feature = feature,
	.hints = hints,
	.heads = heads,
};
