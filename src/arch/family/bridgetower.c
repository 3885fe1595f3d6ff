// SPDX-License-Identifier: Apache-2.0
// BridgeTower (Xu et al. 2022, https://arxiv.org/abs/2206.08657): a text and a picture in encoders of their own, whose last
// layers are bridges into layers where each looks at the other.
//
//   ids    -> layers -> state - linear + kind -+- (+ text so far) - norm -> cross layer -> text_features   -+
//                                              |                                                           +- dense, tanh
//   pixels -> layers -> state - norm - linear -+- (+ image so far) - norm -> cross layer -> image_features -+
//   cross layer:  self-attention, attention to the other, feed-forward; each with a norm after its residual sum
#include "arch/family/bridgetower.h"

#include <math.h>

#include "arch/block/image.h"
#include "arch/block/seq2seq.h"

// ---- the picture's encoder: CLIP's, with the names of its first release -------------------------------------------------

static void resolve_vision(struct config *c, struct spec *s, struct arena *a)
{
	(void)a;
	s->hidden_size = config_size(c, "hidden_size", 768);
	s->layers = config_count(c, "num_hidden_layers", 12) - config_bool(c, "remove_last_layer", false);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	resolve_image(c, s);
	s->heads = s->kv_heads = s->hidden_size / 64;
	s->ffn_size = 4 * s->hidden_size;
	s->act = ACT_QUICK_GELU;
	if (!c->error.status && (s->heads < 1 || s->hidden_size % s->heads || s->layers < 1 || s->image_size != s->image_width))
		config_fail(c, STATUS_BAD_INPUT,
			"hidden_size %lld does not divide into heads of about 64, or there are no layers",
			(long long)s->hidden_size);
	if (c->error.status)
		return;
	s->layers_in_config = s->layers;
	s->head_width = s->hidden_size / s->heads;
	s->attention_scale = 1 / sqrt((double)s->head_width);
}

static graph_value vision_layer(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value w = WEIGHT(b, "layers.attn", "in_proj_weight", 3 * h, h),
		    bias = WEIGHT(b, "layers.attn", "in_proj_bias", 3 * h);
	graph_value all = op_linear(g, layer_norm(b, "layers.attn.norm", x, h), w, bias);
	graph_value y = op_attention(g,
		&(struct attention){ op_slice(g, all, 2, 0, h), op_slice(g, all, 2, h, 2 * h), op_slice(g, all, 2, 2 * h, 3 * h),
			.heads = s->heads, .scale = (float)s->attention_scale });
	x = op_add(g, x, linear(b, "layers.attn.o", y, h, h, true));
	return op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h)));
}

static void body_vision(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, p = s->patch_size, side = s->image_size / p, row[] = { 1, 1, h };
	graph_enter(g, "embed");
	graph_value x = tokens_of(
		b, conv(b, "embed.patch", io->pixels, (struct conv){ .out = h, .kernel = p, .stride = p, .pad = PAD_NONE }));
	graph_value first = op_reshape(g, WEIGHT(b, "embed.class", "", h), 3, row);
	x = op_concat(g, 2, (graph_value[]){ each_image(b, first, io->pixels), x }, 1);
	x = op_add(g, x, WEIGHT(b, "embed.position", "weight", side * side + 1, h));
	x = layer_norm(b, "embed.norm", x, h);
	graph_leave(g);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = vision_layer(b, x);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

// The class gives all layers' states, normed, as one tensor: [layers, batch, tokens, hidden].
static void give_layers(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	graph_value *all = ARENA_ARRAY(graph_arena(g), (size_t)io->state_count + 1, graph_value);
	for (int64_t i = 1; i < io->state_count; i++)
		all[i - 1] = op_unsqueeze(g, layer_norm(b, "norm", io->states[i], b->s->hidden_size), 0);
	graph_output(g, "hidden_states", op_concat(g, (int)io->state_count - 1, all, 0));
}

static const struct family_head vision_heads[] = { { &head_model, give_layers }, { 0 } };

const struct family bridgetower_vision = {
	.name = "bridgetower-vision",
	.architecture = "vision",
	.resolve = resolve_vision,
	.build = picture_build,
	.body = body_vision,
	.heads = vision_heads,
};

// ---- both ---------------------------------------------------------------------------------------------------------------

enum link { LINK_ADD, LINK_SCALED, LINK_BETWEEN };

struct bridgetower {
	enum link link;
	bool one_transform; // the same linear layer into all cross layers
	double eps;         // of the norms of what goes into them
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const of_text[] = { "text_model.", "bridgetower.text_model.", NULL };
	static const char *const of_vision[] = { "vision_model.visual.", "bridgetower.vision_model.visual.", NULL };
	static const char *const links[] = { "add", "scaled_add", "interpolate" };
	struct bridgetower *o = ARENA_NEW(a, struct bridgetower);
	s->own = o;
	resolve_part_sees_all(c, "text_config");
	const struct spec *text = resolve_part(c, s, a, "text", "text_config", NULL, NULL, of_text);
	const struct spec *vision = resolve_part(c, s, a, "vision", "vision_config", NULL, NULL, of_vision);
	s->hidden_size = config_size(c, "hidden_size", 768);
	s->layers = s->layers_in_config = config_count(c, "num_hidden_layers", 6);
	o->eps = config_real(c, "layer_norm_eps", 1e-5);
	o->one_transform = config_bool(c, "share_cross_modal_transformer_layers", true);
	const char *link = config_text(c, "link_tower_type");
	while (link && o->link <= LINK_BETWEEN && !text_is(link, links[o->link]))
		o->link++;
	if (o->link > LINK_BETWEEN || config_bool(c, "share_link_tower_layers", false))
		config_fail(
			c, STATUS_UNSUPPORTED, "link_tower_type %s, or shared link towers, are not supported", link ? link : "");
	if (!text || !vision || !part_is_usual(c, s, "text") || !part_is_usual(c, s, "vision"))
		return;
	s->vocab_size = text->vocab_size;
	s->max_positions = text->max_positions;
	s->pad_token_id = text->pad_token_id;
	s->heads = s->kv_heads = text->heads; // cross layers are as the text's
	s->head_width = text->head_width;
	s->attention_scale = text->attention_scale;
	s->ffn_size = text->ffn_size;
	s->act = text->act;
	s->norm_eps = text->norm_eps;
	resolve_backbone_image(s, vision);
	if (s->layers < 1 || s->layers > text->layers + 1 || vision->layers < text->layers || s->hidden_size != text->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "%lld cross layers over %lld layers of the text and %lld of the picture",
			(long long)s->layers, (long long)text->layers, (long long)vision->layers);
}

static graph_value run(struct build *b, const char *part, struct body *io, int64_t state)
{
	const struct spec *outer = part_enter(b, part);
	if (!io->last.id) {
		graph_enter(b->g, part);
		b->s->row->family->body(b, io);
		graph_leave(b->g);
	}
	int64_t at = state < io->state_count ? state : io->state_count - 1; // a part that was cut short ends earlier
	graph_value x = graph_failed(b->g) ? NO_VALUE : io->states[at];
	if (io->pixels.id)
		x = layer_norm(b, "norm", x, b->s->hidden_size);
	part_leave(b, outer);
	return x;
}

// A state of an encoder as cross layer b->layer takes it; so_far: what the one before gave, or NO_VALUE.
static graph_value bridge(struct build *b, const char *word, graph_value x, int64_t kind, graph_value so_far)
{
	struct graph *g = b->g;
	const struct bridgetower *o = b->s->own;
	int64_t h = b->s->hidden_size;
	b->item_name = word;
	x = linear(b, o->one_transform ? "transform" : "transform.each", x, value_dim(g, x, 2), h, true);
	x = op_add(g, x, op_slice(g, WEIGHT(b, "kinds", "weight", 2, h), 0, kind, kind + 1));
	if (!so_far.id)
		return layer_norm_eps(b, "cross.norm", x, o->eps);
	b->layer--; // bridges are numbered from the second cross layer
	if (o->link == LINK_SCALED)
		x = op_mul(g, x, weight(b, "link.scale", "", 0, NULL));
	if (o->link == LINK_BETWEEN) {
		graph_value beta = weight(b, "link.beta", "", 0, NULL);
		x = op_mul(g, x, op_sub(g, graph_f32(g, 1), beta));
		so_far = op_mul(g, so_far, beta);
	}
	x = layer_norm_eps(b, "link.norm", op_add(g, x, so_far), o->eps);
	b->layer++;
	return x;
}

static graph_value cross_layer(
	struct build *b, const char *word, graph_value x, graph_value other, graph_value bias, graph_value other_bias)
{
	int64_t h = b->s->hidden_size;
	b->item_name = word;
	x = layer_norm(b, "layers.attn.norm", op_add(b->g, attend(b, "layers.attn", x, x, bias, NULL, BIAS_ALL), x), h);
	x = layer_norm(
		b, "layers.cross.norm", op_add(b->g, attend(b, "layers.cross", x, other, other_bias, NULL, BIAS_ALL), x), h);
	return layer_norm(b, "layers.ffn.norm", op_add(b->g, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x), x), h);
}

static graph_value pooled(struct build *b, const char *word, graph_value x)
{
	b->item_name = word;
	return op_tanh(b->g, linear(b, "pooler", first_token(b, x), b->s->hidden_size, b->s->hidden_size, true));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	int64_t before = part_of(s, "text")->layers_in_config - s->layers_in_config + 1;
	struct body text = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) }, vision = { 0 };
	text.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	text.types = op_mul(g, text.ids, graph_i64(g, 0));
	vision.pixels = pixel_input(b, s->channels, s->image_size, s->image_width);
	b->ids = text.ids;
	graph_value bias = mask_bidirectional(b, text.mask), x = NO_VALUE, y = NO_VALUE;
	for (int64_t i = 0; i < s->layers && !graph_failed(g); i++) {
		graph_value from_text = run(b, "text", &text, before + i), from_vision = run(b, "vision", &vision, before + i);
		b->layer = i;
		if (graph_failed(g))
			return;
		graph_enter(g, "cross.%lld", (long long)i);
		x = bridge(b, "text", from_text, 0, x);
		y = bridge(b, "image", from_vision, 1, y);
		graph_value next = cross_layer(b, "text", x, y, bias, NO_VALUE);
		y = cross_layer(b, "image", y, x, NO_VALUE, bias);
		x = next;
		graph_leave(g);
	}
	graph_output(g, "text_features", x);
	graph_output(g, "image_features", y);
	graph_value both[] = { pooled(b, "text", x), pooled(b, "image", y) };
	graph_output(g, "pooler_output", op_concat(g, 2, both, 1));
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family bridgetower = {
	.name = "bridgetower",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
