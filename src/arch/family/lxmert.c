// SPDX-License-Identifier: Apache-2.0
// LXMERT (Tan and Bansal 2019, https://arxiv.org/abs/1908.07490): a text and regions of a picture, which a detector has found, in
// encoders of their own, and then in layers where each looks at the other. Layers norm after each residual sum.
//
//   ids -> tokens + positions + types - norm - layers -----------+- cross layers -> language_output -> first token, dense, tanh
//   features - linear - norm -+ mean - layers -------------------+               -> vision_output
//   boxes    - linear - norm -+
//   cross layer:  both look at the other, by the same weights; then each at itself, then a feed-forward each
#include "arch/block/image.h"
#include "arch/block/seq2seq.h"

static const double eps = 1e-12;

// spec.own of the family.
struct lxmert {
	int64_t regions_layers, cross_layers, feature_size, box_size;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct lxmert *o = ARENA_NEW(a, struct lxmert);
	s->own = o;
	resolve_transformer(c, s, false);
	o->regions_layers = config_count(c, "r_layers", 5);
	o->cross_layers = config_count(c, "x_layers", 5);
	o->feature_size = config_size(c, "visual_feat_dim", 2048);
	o->box_size = config_size(c, "visual_pos_dim", 4);
	if (!c->error.status && (o->feature_size < 1 || o->box_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "regions should have features and boxes");
}

static graph_value post_norm(struct build *b, const char *stem, graph_value x, graph_value y)
{
	return layer_norm_eps(b, stem, op_add(b->g, y, x), eps);
}

// x + attention to `from`, normed; weights of STEM and STEM.norm.
static graph_value attended(struct build *b, const char *stem, graph_value x, graph_value from, graph_value bias)
{
	graph_value y = attend(b, stem, x, from, bias, NULL, BIAS_ALL);
	return post_norm(b, arena_printf(graph_arena(b->g), "%s.norm", stem), x, y);
}

static graph_value fed_forward(struct build *b, const char *stem, graph_value x)
{
	struct arena *a = graph_arena(b->g);
	graph_value y = prenorm_ffn(b, arena_printf(a, "%s.up", stem), arena_printf(a, "%s.down", stem), x);
	return post_norm(b, arena_printf(a, "%s.norm", stem), x, y);
}

// Layers of one encoder, whose names have `word`.
static graph_value encode(struct build *b, const char *word, graph_value x, graph_value bias, int64_t count)
{
	b->item_name = word;
	for (b->layer = 0; b->layer < count && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "%s.%lld", word, (long long)b->layer);
		x = fed_forward(b, "layers.ffn", attended(b, "layers.attn", x, x, bias));
		graph_leave(b->g);
	}
	return x;
}

static graph_value cross_half(struct build *b, const char *word, graph_value x, graph_value bias)
{
	b->item_name = word;
	return fed_forward(b, "cross.ffn", attended(b, "cross.self", x, x, bias));
}

static graph_value embed_text(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, h);
	graph_value table = WEIGHT(b, "embed.position", "weight", s->max_positions, h);
	x = op_add(g, x, op_gather(g, table, places_of(g, io->ids), 0));
	x = op_add(g, x, embedding(b, "embed.type", io->types, s->type_vocab_size, h));
	return layer_norm_eps(b, "embed.norm", x, eps);
}

static graph_value embed_regions(struct build *b, graph_value features, graph_value boxes)
{
	const struct lxmert *o = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_value x = linear(b, "regions.features", features, o->feature_size, h, true);
	graph_value y = linear(b, "regions.boxes", boxes, o->box_size, h, true);
	x = layer_norm_eps(b, "regions.features.norm", x, eps);
	y = layer_norm_eps(b, "regions.boxes.norm", y, eps);
	return op_scale(b->g, op_add(b->g, x, y), 0.5f);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct lxmert *o = s->own;
	int64_t batch = graph_symbol(g, "batch"), text[] = { batch, graph_symbol(g, "sequence") };
	int64_t features[] = { batch, graph_symbol(g, "regions"), o->feature_size },
		boxes[] = { batch, features[1], o->box_size };
	struct body io = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, text) };
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, text);
	io.types = graph_input(g, "token_type_ids", DTYPE_I64, 2, text);
	b->ids = io.ids;
	graph_value x = embed_text(b, &io), bias = mask_bidirectional(b, io.mask);
	graph_value seen = graph_input(g, "visual_feats", DTYPE_F32, 3, features);
	graph_value y = embed_regions(b, seen, graph_input(g, "visual_pos", DTYPE_F32, 3, boxes));
	x = encode(b, "layer", x, bias, s->layers);
	y = encode(b, "r_layers", y, NO_VALUE, o->regions_layers);
	for (b->layer = 0; b->layer < o->cross_layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "cross.%lld", (long long)b->layer);
		graph_value to_text = attended(b, "cross.attn", x, y, NO_VALUE);
		y = cross_half(b, "visn", attended(b, "cross.attn", y, x, bias), NO_VALUE);
		x = cross_half(b, "lang", to_text, bias);
		graph_leave(g);
	}
	graph_output(g, "language_output", x);
	graph_output(g, "vision_output", y);
	graph_output(
		g, "pooled_output", op_tanh(g, linear(b, "pooler", first_token(b, x), s->hidden_size, s->hidden_size, true)));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	input_hint(out, "regions", 5);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family lxmert = {
	.name = "lxmert",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
