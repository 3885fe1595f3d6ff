// SPDX-License-Identifier: Apache-2.0
// FLAVA (Singh et al. 2021, https://arxiv.org/abs/2112.04482): a text and a picture in encoders of their own, and their states,
// before the last norm, side by side in a third one.
//
//   ids    -> text encoder   -> last state - linear -+
//                                                    +- [class token, picture, text] -> layers -> norm
//   pixels -> vision encoder -> last state - linear -+
#include "arch/family/flava.h"

#include "arch/block/vit.h"

// ---- the third encoder --------------------------------------------------------------------------------------------------

struct fusion {
	bool has_class;
};

static void resolve_fusion(struct config *c, struct spec *s, struct arena *a)
{
	struct fusion *o = ARENA_NEW(a, struct fusion);
	s->own = o;
	resolve_transformer(c, s, true);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	o->has_class = config_bool(c, "use_cls_token", true);
}

// io->embeds [batch, tokens, hidden]; io->mask of them, or NO_VALUE.
static void body_fusion(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct fusion *o = s->own;
	graph_value x = io->embeds, mask = io->mask;
	if (o->has_class) {
		x = op_concat(
			g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "fusion.class", "", 1, 1, s->hidden_size), x), x }, 1);
		if (mask.id) {
			graph_value first = op_slice(g, mask, 1, 0, 1), one = op_add(g, op_sub(g, first, first), graph_i64(g, 1));
			mask = op_concat(g, 2, (graph_value[]){ one, mask }, 1);
		}
	}
	graph_value bias = mask.id ? mask_bidirectional(b, mask) : NO_VALUE;
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, bias, 0);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = layer_norm(b, "norm", x, s->hidden_size);
}

static void build_fusion(struct build *b)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), b->s->hidden_size };
	struct body io = { .embeds = graph_input(g, "hidden_states", DTYPE_F32, 3, shape) };
	body_fusion(b, &io);
	head_build(b, &io);
}

static const struct family_head fusion_heads[] = { { &head_model, head_give_pooled }, { 0 } };

const struct family flava_fusion = {
	.name = "flava-fusion",
	.architecture = "multimodal",
	.resolve = resolve_fusion,
	.build = build_fusion,
	.body = body_fusion,
	.heads = fusion_heads,
};

// ---- the three together -------------------------------------------------------------------------------------------------

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const of_text[] = { "text_model.", "flava.text_model.", NULL };
	static const char *const of_vision[] = { "image_model.", "flava.image_model.", NULL };
	static const char *const of_fusion[] = { "multimodal_model.", "flava.multimodal_model.", NULL };
	const struct spec *text = resolve_part(c, s, a, "text", "text_config", NULL, NULL, of_text);
	const struct spec *vision = resolve_part(c, s, a, "vision", "image_config", NULL, NULL, of_vision);
	const struct spec *fusion = resolve_part(c, s, a, "fusion", "multimodal_config", NULL, NULL, of_fusion);
	if (!text || !vision || !fusion || !part_is_usual(c, s, "text") || !part_is_usual(c, s, "vision") ||
		!part_is_usual(c, s, "fusion"))
		return;
	s->vocab_size = text->vocab_size;
	s->type_vocab_size = text->type_vocab_size;
	s->max_positions = text->max_positions;
	s->hidden_size = fusion->hidden_size;
	resolve_backbone_image(s, vision);
}

// Runs a part; gives its last state before the last norm as the third encoder takes it.
static graph_value encoded(struct build *b, const char *part, struct body *io, const char *stem)
{
	const struct spec *outer = part_enter(b, part);
	int64_t in = b->s->hidden_size;
	graph_enter(b->g, part);
	b->s->row->family->body(b, io);
	graph_leave(b->g);
	part_leave(b, outer);
	return graph_failed(b->g) ? NO_VALUE : linear(b, stem, io->states[io->state_count - 1], in, b->s->hidden_size, true);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body text = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) }, vision = { 0 }, both = { 0 };
	text.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	text.types = graph_input(g, "token_type_ids", DTYPE_I64, 2, shape);
	b->ids = text.ids;
	vision.pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width);
	graph_value x[] = { encoded(b, "vision", &vision, "picture.projector"), encoded(b, "text", &text, "text.projector") };
	if (graph_failed(g))
		return;
	both.embeds = op_concat(g, 2, x, 1);
	graph_value first = op_cast(g, op_squeeze(g, op_slice(g, x[0], 2, 0, 1), 2), DTYPE_I64); // [batch, patches]
	graph_value ones = op_add(g, op_sub(g, first, first), graph_i64(g, 1));
	both.mask = op_concat(g, 2, (graph_value[]){ ones, text.mask }, 1);
	const struct spec *outer = part_enter(b, "fusion");
	graph_enter(g, "fusion");
	body_fusion(b, &both);
	graph_leave(g);
	part_leave(b, outer);
	graph_output(g, "image_embeddings", vision.last);
	graph_output(g, "text_embeddings", text.last);
	graph_output(g, "multimodal_embeddings", both.last);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family flava = {
	.name = "flava",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
