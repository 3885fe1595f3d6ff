// SPDX-License-Identifier: Apache-2.0
// Llama 3.2 Vision (https://arxiv.org/abs/2407.21783, section 7): a picture comes as tiles of one size, whose arrangement has a
// number. All tokens of a picture see each other, and the text looks at them in layers of its own (block/crossing.c).
//
//   tiles - patches + tile's place - [class, patches] + positions - norm - layers -+- norm + tile's place - layers with gates -+
//                                                                      some states +-------------------------------------------+
//   both - linear -> what layers of the text look at
#include <float.h>

#include "arch/block/image.h"
#include "arch/family/vlm.h"

struct tiled {
	int64_t tiles, ratios; // of a picture, at most; arrangements, and 0 for none
	int64_t global_layers;
	const int64_t *taken; // [taken_count]: after which layers states are taken
	int64_t taken_count;
};

static const struct tiled *own(const struct spec *s)
{
	return s->own;
}

// ---- from config.json ---------------------------------------------------------------------------------------------------

static void resolve_vision(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	struct tiled *t = ARENA_NEW(a, struct tiled);
	s->own = t;
	const json_t *ratios = config_get(c, "supported_aspect_ratios");
	t->ratios = (json_is_array(ratios) ? (int64_t)json_array_size(ratios) : 8) + 1;
	t->tiles = config_count(c, "max_num_tiles", 4);
	t->global_layers = config_count(c, "num_global_layers", 8);
	t->taken = config_sizes(c, "intermediate_layers_indices", a, 0, &t->taken_count);
	if (!t->taken) {
		static const int64_t usual[] = { 3, 7, 15, 23, 30 };
		t->taken = usual;
		t->taken_count = 5;
	}
	if (c->error.status)
		return;
	for (int64_t i = 0; i < t->taken_count; i++)
		if (t->taken[i] >= s->layers)
			config_fail(c, STATUS_BAD_INPUT, "intermediate_layers_indices: there is no layer %lld",
				(long long)t->taken[i]);
	int64_t wide = config_size(c, "vision_output_dim", -1), made = s->hidden_size * (t->taken_count + 1);
	if (wide != made && s->key)
		config_fail(c, STATUS_BAD_INPUT, "vision_output_dim %lld, though what comes out is %lld wide", (long long)wide,
			(long long)made);
	if (t->tiles < 1 || s->image_size != s->image_width || s->patch_size != s->patch_width)
		config_fail(c, STATUS_UNSUPPORTED, "tiles that are no squares, or none, are not supported yet");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const text_roots[] = { "language_model.", "model.language_model.", NULL },
				 *const vision_roots[] = { "vision_model.", "model.vision_model.", NULL };
	if (!c->checkpoint->weight_count)
		s->prefix = ""; // a new file has each part's place first
	if (!vlm_resolve_parts(c, s, a, false, text_roots, vision_roots) || !part_is_usual(c, s, "text") ||
		!part_is_usual(c, s, "vision"))
		return;
	part_of(s, "text")->tied = false;
	if (!part_of(s, "text")->crossing)
		config_fail(c, STATUS_UNSUPPORTED, "text_config: a text that looks at no pictures is not supported here yet");
}

// ---- building -----------------------------------------------------------------------------------------------------------

static graph_value through_gate(struct build *b, const char *stem, graph_value x)
{
	return op_mul(b->g, x, op_tanh(b->g, WEIGHT(b, stem, "", 1)));
}

// Rows of a table by the pictures' arrangements, i64 [pictures]: [pictures, tiles, tokens, hidden]
static graph_value of_tiles(struct build *b, const char *stem, graph_value ratio, int64_t tokens)
{
	const struct tiled *t = own(b->s);
	int64_t h = b->s->hidden_size;
	graph_value rows = op_gather(b->g, WEIGHT(b, stem, "weight", t->ratios, t->tiles * tokens * h), ratio, 0);
	return op_reshape(b->g, rows, 4, (int64_t[]){ -1, t->tiles, tokens, h });
}

static graph_value layer(struct build *b, graph_value x, graph_value bias, bool gates)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value y = self_attention(b, layer_norm(b, "layers.attn.norm", x, h), bias, NO_VALUE, NO_VALUE, false, false, NULL);
	x = op_add(g, x, gates ? through_gate(b, "layers.attn.gate", y) : y);
	y = prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h));
	return op_add(g, x, gates ? through_gate(b, "layers.ffn.gate", y) : y);
}

// Two stacks; states [layers]: what each layer of it gave.
static graph_value stack(struct build *b, const char *name, graph_value x, graph_value bias, int64_t layers, graph_value *states)
{
	b->item_name = name;
	for (b->layer = 0; b->layer < layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "%s.%lld", name, (long long)b->layer);
		x = layer(b, x, bias, states == NULL);
		graph_leave(b->g);
		if (states)
			states[b->layer] = x;
	}
	return x;
}

// Tokens that fill a tile's up to a multiple of 8, and those of tiles that are none, see everything but are not seen by others.
// present i64 [pictures, tiles] -> [pictures, 1, tiles * all, tiles * all]. There is always some to fill:
// squares are 0, 1 or 4 beyond multiples of 8.
static graph_value mask_of_tiles(struct build *b, graph_value present, int64_t tokens, int64_t filling)
{
	struct graph *g = b->g;
	int64_t tiles = own(b->s)->tiles, all = tokens + filling;
	float *is = GRAPH_TABLE(g, NULL, all, 1, float);
	for (int64_t i = 0; is && i < all; i++)
		is[i] = i < tokens;
	graph_value token = graph_constant(g, DTYPE_F32, 1, &all, is);
	graph_value seen = op_mul(g, op_unsqueeze(g, op_cast(g, present, DTYPE_F32), 2), token); // [pictures, tiles, all]
	graph_value none = op_sub(g, graph_f32(g, 1), op_reshape(g, seen, 2, (int64_t[]){ -1, tiles * all }));
	graph_value both = op_mul(g, op_unsqueeze(g, none, 2), op_unsqueeze(g, none, 1));
	return op_unsqueeze(g, op_scale(g, both, -FLT_MAX), 1);
}

// [pictures, tiles * all, width] -> [pictures, tiles, tokens, width]
static graph_value without_filling(struct build *b, graph_value x, int64_t tokens, int64_t filling, int64_t width)
{
	x = op_reshape(b->g, x, 4, (int64_t[]){ -1, own(b->s)->tiles, tokens + filling, width });
	return op_slice(b->g, x, 2, 0, tokens);
}

// pixels [batch, images, tiles, channels, height, width], positions: their arrangements, i64 [batch, images], mask: which tiles
// are there, i64 [batch, images, tiles] -> last [batch * images, tiles, tokens, hidden * (1 + taken)]
static void body_vision(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct tiled *t = own(s);
	int64_t h = s->hidden_size, side = s->image_size / s->patch_size, patches = side * side, tokens = patches + 1;
	int64_t filling = 8 - tokens % 8;
	graph_value ratio = op_reshape(g, io->positions, 1, (int64_t[]){ -1 });
	graph_value x = op_reshape(g, io->pixels, 4, (int64_t[]){ -1, s->channels, s->image_size, s->image_size });
	graph_enter(g, "embed");
	x = tokens_of(b, conv(b, "embed.patch", x, (struct conv){ h, s->patch_size, .stride = s->patch_size, .pad = PAD_NONE }));
	x = op_reshape(g, x, 4, (int64_t[]){ -1, t->tiles, patches, h });
	x = op_add(g, x, through_gate(b, "before.gate", of_tiles(b, "before", ratio, 1)));
	graph_value first = op_reshape(g, WEIGHT(b, "embed.class", "", h), 4, (int64_t[]){ 1, 1, 1, h });
	first = op_add(g, op_scale(g, op_slice(g, x, 2, 0, 1), 0), first); // one for each tile
	x = op_concat(g, 2, (graph_value[]){ first, x }, 2);
	graph_value gate = op_sub(g, graph_f32(g, 1), op_tanh(g, WEIGHT(b, "embed.gate", "", 1)));
	x = op_add(g, x, op_mul(g, WEIGHT(b, "embed.position", "", tokens, h), gate));
	x = op_add(g, x, through_gate(b, "embed.gate", of_tiles(b, "embed.tile", ratio, tokens)));
	x = layer_norm_eps(b, "norm.before", x, 1e-5);
	x = op_pad(g, x, 2, 0, filling);
	graph_leave(g);
	graph_value bias = mask_of_tiles(b, op_reshape(g, io->mask, 2, (int64_t[]){ -1, t->tiles }), tokens, filling);
	graph_value *states = ARENA_ARRAY(graph_arena(g), (size_t)s->layers + 1, graph_value);
	int64_t all = t->tiles * (tokens + filling);
	x = op_reshape(g, x, 3, (int64_t[]){ -1, all, h });
	x = layer_norm_eps(b, "norm", stack(b, "transformer", x, bias, s->layers, states), 1e-5);
	x = op_reshape(g, x, 4, (int64_t[]){ -1, t->tiles, tokens + filling, h });
	x = op_add(g, x, through_gate(b, "after.gate", of_tiles(b, "after", ratio, 1)));
	x = op_reshape(g, x, 3, (int64_t[]){ -1, all, h });
	x = without_filling(b, stack(b, "global_transformer", x, bias, t->global_layers, NULL), tokens, filling, h);
	graph_value *taken = ARENA_ARRAY(graph_arena(g), (size_t)t->taken_count + 1, graph_value);
	for (int64_t i = 0; i < t->taken_count && !graph_failed(g); i++) {
		if (t->taken[i] >= s->layers) // of a model that was cut
			graph_fail(g, STATUS_UNSUPPORTED, "intermediate_layers_indices: layer %lld of %lld",
				(long long)t->taken[i], (long long)s->layers);
		else
			taken[i] = op_unsqueeze(g, states[t->taken[i]], 3);
	}
	if (graph_failed(g))
		return;
	if (t->taken_count) { // an element of each state after the other
		int64_t n = t->taken_count;
		graph_value each = op_reshape(g, op_concat(g, (int)n, taken, 3), 3, (int64_t[]){ -1, all, n * h });
		x = op_concat(g, 2, (graph_value[]){ x, without_filling(b, each, tokens, filling, n * h) }, 3);
	}
	io->last = x;
}

static void vision_inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "images"), own(s)->tiles, s->channels, s->image_size,
		s->image_size };
	io->pixels = graph_input(g, "pixel_values", DTYPE_F32, 6, shape);
	io->positions = graph_input(g, "aspect_ratio_ids", DTYPE_I64, 2, shape);
	io->mask = graph_input(g, "aspect_ratio_mask", DTYPE_I64, 3, shape);
}

static int64_t tokens_of_tile(const struct spec *s)
{
	int64_t side = s->image_size / s->patch_size;
	return side * side + 1;
}

static void build_vision(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct body io = { 0 };
	vision_inputs(b, &io);
	body_vision(b, &io);
	const int64_t tail[] = { own(s)->tiles, tokens_of_tile(s), s->hidden_size * (1 + own(s)->taken_count) };
	graph_value lead[] = { op_dim(g, io.pixels, 0), op_dim(g, io.pixels, 1), graph_i64s(g, 3, tail) };
	io.last = op_reshape_to(g, io.last, op_concat(g, 3, lead, 0));
	head_build(b, &io);
}

// Which tokens of pictures a text's token sees: [batch, seq, images, tiles] of 1 and 0 -> text->memory_bias, memory_rows. Who
// sees none sees all, and has no feed-forward there.
static void look_where(struct build *b, graph_value mask, int64_t tokens, struct body *text)
{
	struct graph *g = b->g;
	graph_value one[] = { op_dim(g, mask, 0), op_dim(g, mask, 1), graph_i64s(g, 1, (int64_t[]){ -1 }) };
	graph_value tile = op_cast(g, op_reshape_to(g, mask, op_concat(g, 3, one, 0)), DTYPE_F32); // [batch, seq, images * tiles]
	graph_value rows = op_min(g, op_reduce_sum(g, tile, 2, true), graph_f32(g, 1));            // [batch, seq, 1]
	graph_value hidden = op_mul(g, op_sub(g, graph_f32(g, 1), tile), rows);
	graph_value *each = GRAPH_TABLE(g, NULL, tokens, 1, graph_value);
	for (int64_t i = 0; each && i < tokens; i++)
		each[i] = op_unsqueeze(g, hidden, 3);
	hidden = each ? op_concat(g, (int)tokens, each, 3) : NO_VALUE; // [batch, seq, images * tiles, tokens]
	graph_value flat = op_reshape_to(g, hidden, op_concat(g, 3, one, 0));
	text->memory_bias = op_unsqueeze(g, op_scale(g, flat, -FLT_MAX), 1);
	text->memory_rows = rows;
}

static graph_value see(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision"), *outer = part_enter(b, "vision");
	int64_t wide = tower->hidden_size * (1 + own(tower)->taken_count), h = part_of(s, "text")->hidden_size;
	struct body io = { 0 };
	graph_enter(g, "vision");
	vision_inputs(b, &io);
	body_vision(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_value memory = linear(b, "projector", io.last, wide, h, true); // [pictures, tiles, tokens, text]
	graph_value shape[] = { op_dim(g, io.pixels, 0), graph_i64s(g, 2, (int64_t[]){ -1, h }) };
	memory = op_reshape_to(g, memory, op_concat(g, 2, shape, 0)); // [batch, images * tiles * tokens, text]
	if (!ids.id)
		return memory;
	int64_t dim[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), graph_symbol(g, "images"), own(tower)->tiles };
	text->memory = memory;
	look_where(b, graph_input(g, "cross_attention_mask", DTYPE_I64, 4, dim), tokens_of_tile(tower), text);
	return vlm_embed(b, ids);
}

static void build(struct build *b)
{
	vlm_build(b, see);
}

static void hints_vision(const struct spec *s, struct input_hints *out)
{
	(void)s;
	out->symbols[0] = (struct input_symbol){ "images", 1, false };
}

static const struct family_head vision_heads[] = { { &head_model, head_give_last }, { 0 } };

const struct family tiled_vision = {
	.name = "vision-tiles",
	.architecture = "vision",
	.resolve = resolve_vision,
	.build = build_vision,
	.body = body_vision,
	.heads = vision_heads,
	.hints = hints_vision,
};

static const struct family_head heads[] = { { &head_model }, { &head_conditional, NULL, VLM_GENERATES }, { 0 } };

const struct family vlm_crossed = {
	.name = "vision-language-crossed",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.graphs = vlm_graphs,
	.hints = hints_vision,
	.heads = heads,
};
