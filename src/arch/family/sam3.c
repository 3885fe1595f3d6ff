// SPDX-License-Identifier: Apache-2.0
// Segment Anything 3: boxes and masks of everything in a picture that a text names (Carion et al. 2025,
// https://arxiv.org/abs/2511.16719). Boxes as prompts are not read.
//
//   text -> text tower -> linear -> prompt;  pixels -> vision tower -> maps, the coarsest but one -> tokens
//   tokens -> encoder, whose layers look at the prompt -> memory
//   [presence, queries] -> decoder, whose layers look at the prompt and, from their boxes, at the memory; boxes move in each
//   presence -> is there any;  queries * prompt's mean -> scores;  memory + prompt -> (finer maps added) * queries -> masks
#include <float.h>
#include <math.h>

#include "arch/block/detect.h"
#include "arch/family/sam3_vision.h"

struct stack {
	int64_t layers, heads, ffn;
	enum activation act;
};

struct sam3 {
	struct stack encoder, decoder;
	int64_t queries, mask_heads;
};

static const struct sam3 *own(const struct build *b)
{
	return b->s->own;
}

// ---- from config.json ---------------------------------------------------------------------------------------------------

// Gives its width.
static int64_t resolve_stack(struct config *sub, struct stack *o)
{
	o->layers = config_count(sub, "num_layers", 6);
	o->heads = config_size(sub, "num_attention_heads", 8);
	o->ffn = config_size(sub, "intermediate_size", 2048);
	o->act = config_activation(sub, "hidden_act", ACT_RELU);
	int64_t width = config_size(sub, "hidden_size", 256);
	if (o->layers < 1 || o->heads < 1 || o->ffn < 1 || width < 8 || width % 8 || width % o->heads)
		config_fail(sub, STATUS_BAD_INPUT, "%lld layers of %lld heads over %lld", (long long)o->layers,
			(long long)o->heads, (long long)width);
	return width;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct sam3 *o = ARENA_NEW(a, struct sam3);
	struct config sub;
	s->own = o;
	const struct spec *vision = resolve_part(c, s, a, "vision", "vision_config", NULL, NULL,
		(const char *const[]){ "vision_encoder.", "detector_model.vision_encoder.", NULL });
	const struct spec *text = resolve_part(c, s, a, "text", "text_config", NULL, NULL,
		(const char *const[]){ "text_encoder.", "detector_model.text_encoder.", NULL });
	if (!vision || !text || !part_is_usual(c, s, "vision") || !part_is_usual(c, s, "text"))
		return;
	config_open_within(&sub, c, "detr_encoder_config", a);
	s->hidden_size = resolve_stack(&sub, &o->encoder);
	config_close_within(&sub, c);
	config_open_within(&sub, c, "detr_decoder_config", a);
	int64_t decoder = resolve_stack(&sub, &o->decoder);
	o->queries = config_size(&sub, "num_queries", 200);
	config_close_within(&sub, c);
	config_open_within(&sub, c, "mask_decoder_config", a);
	int64_t masks = config_size(&sub, "hidden_size", 256), stages = config_count(&sub, "num_upsampling_stages", 3);
	o->mask_heads = config_size(&sub, "num_attention_heads", 8);
	config_close_within(&sub, c);
	s->layers = o->encoder.layers > o->decoder.layers ? o->encoder.layers : o->decoder.layers;
	s->layers_in_config = s->layers;
	s->norm_eps = 1e-5;
	s->vocab_size = text->vocab_size, s->max_positions = text->max_positions, s->pad_token_id = text->pad_token_id;
	s->channels = vision->channels;
	s->image_size = vision->image_size, s->image_width = vision->image_width;
	if (c->error.status)
		return;
	int64_t h = s->hidden_size, levels = sam3_vision_levels(vision) - 1; // the coarsest map is left out
	if (h != decoder || h != masks || h != sam3_vision_width(vision) || o->mask_heads < 1 || h % o->mask_heads)
		config_fail(c, STATUS_BAD_INPUT, "hidden sizes %lld, %lld and %lld should be those of the maps, %lld",
			(long long)h, (long long)decoder, (long long)masks, (long long)sam3_vision_width(vision));
	else if (levels < 1 || stages < levels - 1 || o->queries < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld queries, %lld maps for num_upsampling_stages %lld", (long long)o->queries,
			(long long)levels, (long long)stages);
}

// ---- building -----------------------------------------------------------------------------------------------------------

struct prompt {
	graph_value states, mask, bias; // [batch, seq, hidden], i64 [batch, seq], [batch, 1, 1, seq]
};

static struct prompt read_text(struct build *b)
{
	int64_t from = part_of(b->s, "text")->hidden_size;
	struct body io = { 0 };
	const struct spec *outer = part_enter(b, "text");
	graph_enter(b->g, "text");
	text_tower_inputs(b, &io);
	b->s->row->family->body(b, &io);
	graph_leave(b->g);
	part_leave(b, outer);
	return (struct prompt){ linear(b, "prompt", io.last, from, b->s->hidden_size, true), io.mask,
		mask_bidirectional(b, io.mask) };
}

// STEM's linear layers, counted from 1, relu between them.
static graph_value mlp(struct build *b, const char *stem, graph_value x, int64_t layers, int64_t inner, int64_t out)
{
	int64_t layer = b->layer;
	for (b->layer = 1; b->layer <= layers && !graph_failed(b->g); b->layer++) {
		x = linear(b, stem, x, value_dim(b->g, x, -1), b->layer == layers ? out : inner, true);
		x = b->layer == layers ? x : op_relu(b->g, x);
	}
	b->layer = layer;
	return x;
}

static graph_value feed(struct build *b, const char *up, const char *down, graph_value x, const struct stack *o)
{
	int64_t h = b->s->hidden_size;
	return linear(b, down, activate(b, o->act, linear(b, up, x, h, o->ffn, true)), o->ffn, h, true);
}

// x, at [batch or 1, places, hidden]: a map's tokens and their positions
static graph_value encode(struct build *b, graph_value x, graph_value at, const struct prompt *p)
{
	struct graph *g = b->g;
	const struct stack *o = &own(b)->encoder;
	int64_t h = b->s->hidden_size;
	for (b->layer = 0; b->layer < detect_layers(b->s, o->layers) && !graph_failed(g); b->layer++) {
		graph_enter(g, "encoder.%lld", (long long)b->layer);
		graph_value y = layer_norm(b, "encoder.attn.norm", x, h), placed = op_add(g, y, at);
		x = op_add(g, x, detect_attention(b, "encoder.attn", placed, placed, y, NO_VALUE, o->heads));
		y = layer_norm(b, "encoder.cross.norm", x, h);
		x = op_add(g, x, detect_attention(b, "encoder.cross", y, p->states, p->states, p->bias, o->heads));
		y = layer_norm(b, "encoder.ffn.norm", x, h);
		x = op_add(g, x, feed(b, "encoder.ffn.up", "encoder.ffn.down", y, o));
		graph_leave(g);
	}
	return x;
}

// Side `axis` of boxes [.., queries, 4] of centre and size: [.., queries, 2], where they begin and end.
static graph_value ends(struct graph *g, graph_value boxes, int64_t axis)
{
	graph_value middle = op_slice(g, boxes, 2, axis, axis + 1);
	graph_value half = op_scale(g, op_slice(g, boxes, 2, axis + 2, axis + 3), 0.5f);
	return op_concat(g, 2, (graph_value[]){ op_sub(g, middle, half), op_add(g, middle, half) }, 2);
}

// What each head adds for how far `count` places, i64 [1], are from both ends of each box, on a logarithmic scale:
// [.., queries, count, heads]
static graph_value distances(struct build *b, const char *stem, graph_value ends, graph_value count)
{
	struct graph *g = b->g;
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, count, 0), graph_i64(g, 1));
	at = op_unsqueeze(g, op_div(g, op_cast(g, at, DTYPE_F32), op_cast(g, count, DTYPE_F32)), 1);
	graph_value d = op_scale(g, op_sub(g, at, op_unsqueeze(g, ends, 2)), 8); // [.., queries, count, 2]
	graph_value size = op_scale(g, op_log(g, op_add(g, op_abs(g, d), graph_f32(g, 1))), (float)(1 / log(8)));
	d = op_where(g, op_less(g, d, graph_f32(g, 0)), op_neg(g, size), size);
	return mlp(b, stem, d, 2, b->s->hidden_size, own(b)->decoder.heads);
}

// [batch or 1, heads, 1 + queries, places]; the presence token sees all places alike.
static graph_value from_boxes(struct build *b, graph_value boxes, graph_value map)
{
	struct graph *g = b->g;
	graph_value rows = distances(b, "decoder.rows", ends(g, boxes, 1), op_dim(g, map, 2));
	graph_value columns = distances(b, "decoder.columns", ends(g, boxes, 0), op_dim(g, map, 3));
	graph_value x = op_add(g, op_unsqueeze(g, rows, 3), op_unsqueeze(g, columns, 2));
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, -1, own(b)->decoder.heads });
	return op_pad(g, op_transpose(g, x, 4, (int[]){ 0, 3, 1, 2 }), 2, 1, 0);
}

// [batch or 1, 1 + queries, hidden]; the presence token stands nowhere.
static graph_value place_boxes(struct build *b, graph_value boxes)
{
	struct graph *g = b->g;
	static const int order[] = { 1, 0, 2, 3 };
	graph_value angle = op_scale(g, boxes, (float)(2 * M_PI)), each[4];
	int64_t h = b->s->hidden_size;
	for (int i = 0; i < 4; i++)
		each[i] = detect_sines(b, op_slice(g, angle, 2, order[i], order[i] + 1), h / 2, 10000);
	return op_pad(g, mlp(b, "decoder.place", op_concat(g, 4, each, 2), 2, h, h), 1, 1, 0);
}

struct decoded {
	graph_value states, boxes, presence; // [batch, queries, hidden], of centre and size [batch, queries, 4], [batch, 1]
};

static graph_value decoder_layer(struct build *b, graph_value x, graph_value at, graph_value memory, graph_value placed,
	graph_value seen, const struct prompt *p)
{
	struct graph *g = b->g;
	const struct stack *o = &own(b)->decoder;
	int64_t h = b->s->hidden_size;
	graph_value y = op_add(g, x, at);
	x = op_add(g, x, detect_attention(b, "decoder.attn", y, y, x, NO_VALUE, o->heads));
	x = layer_norm(b, "decoder.attn.norm", x, h);
	y = detect_attention(b, "decoder.text", op_add(g, x, at), p->states, p->states, p->bias, o->heads);
	x = layer_norm(b, "decoder.text.norm", op_add(g, x, y), h);
	y = detect_attention(b, "decoder.cross", op_add(g, x, at), placed, memory, seen, o->heads);
	x = layer_norm(b, "decoder.cross.norm", op_add(g, x, y), h);
	return layer_norm(b, "decoder.ffn.norm", op_add(g, x, feed(b, "decoder.ffn.up", "decoder.ffn.down", x, o)), h);
}

// log(x / (1 - x)), of at least 0.001 each
static graph_value logit(struct graph *g, graph_value x)
{
	graph_value least = graph_f32(g, 1e-3f);
	return op_log(g, op_div(g, op_max(g, x, least), op_max(g, op_sub(g, graph_f32(g, 1), x), least)));
}

static graph_value within(struct graph *g, graph_value x, float most)
{
	return op_max(g, op_min(g, x, graph_f32(g, most)), graph_f32(g, -most));
}

static struct decoded decode(struct build *b, graph_value memory, graph_value at, graph_value map, const struct prompt *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, n = own(b)->queries;
	graph_value first[] = { detect_queries(b, "decoder.presence", 1, h), detect_queries(b, "decoder.queries", n, h) };
	graph_value x = op_add(g, op_concat(g, 2, first, 1), detect_zeros(b, memory, n + 1, h)), placed = op_add(g, memory, at);
	struct decoded out = { .boxes = op_sigmoid(g, detect_queries(b, "decoder.boxes", n, 4)) };
	for (b->layer = 0; b->layer < detect_layers(s, own(b)->decoder.layers) && !graph_failed(g); b->layer++) {
		graph_enter(g, "decoder.%lld", (long long)b->layer);
		graph_value seen = from_boxes(b, out.boxes, map);
		x = decoder_layer(b, x, place_boxes(b, out.boxes), memory, placed, seen, p);
		out.states = layer_norm(b, "decoder.norm", op_slice(g, x, 1, 1, INT64_MAX), h);
		graph_value move = mlp(b, "decoder.move", out.states, 3, h, 4);
		out.boxes = op_sigmoid(g, op_add(g, move, logit(g, out.boxes)));
		graph_leave(g);
	}
	out.presence = layer_norm(b, "presence.norm", op_slice(g, x, 1, 0, 1), h);
	out.presence = within(g, op_squeeze(g, mlp(b, "presence", out.presence, 3, h, 1), 2), 10);
	return out;
}

// How well each query's state agrees with the mean of the prompt: [batch, queries]
static graph_value scores(struct build *b, graph_value states, const struct prompt *p)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value x = op_add(g, mlp(b, "scores.text", p->states, 2, own(b)->decoder.ffn, h), p->states);
	x = layer_norm(b, "scores.text.norm", x, h);
	graph_value one = op_unsqueeze(g, op_cast(g, p->mask, DTYPE_F32), 2); // [batch, seq, 1]
	graph_value count = op_max(g, op_reduce_sum(g, one, 1, true), graph_f32(g, 1));
	x = op_div(g, op_reduce_sum(g, op_mul(g, x, one), 1, true), count); // [batch, 1, hidden]
	x = op_transpose(g, linear(b, "scores.text.out", x, h, h, true), 3, (int[]){ 0, 2, 1 });
	graph_value y = op_matmul(g, linear(b, "scores.queries", states, h, h, true), x);
	return within(g, op_squeeze(g, op_scale(g, y, (float)(1 / sqrt((double)h))), 2), 12);
}

// maps [count], the finest first, of which memory takes the place of the last -> [batch, hidden, height, width] of the first
static graph_value pixels_of(struct build *b, const graph_value *maps, int64_t count, graph_value memory, const struct prompt *p)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, heads = own(b)->mask_heads;
	graph_value y = layer_norm(b, "masks.cross.norm", memory, h);
	y = op_add(g, memory, detect_attention(b, "masks.cross", y, p->states, p->states, p->bias, heads));
	graph_value x = map_of(b, y, maps[count - 1]);
	for (b->layer = 0; b->layer < count - 1 && !graph_failed(g); b->layer++) {
		graph_value finer = maps[count - 2 - b->layer];
		x = op_add(g, resized_like(b, x, finer, "nearest"), finer);
		x = conv(b, "masks.conv", x, (struct conv){ .out = h, .kernel = 3, .bias = true });
		graph_value w = WEIGHT(b, "masks.norm", "weight", h), offset = WEIGHT(b, "masks.norm", "bias", h);
		x = op_relu(g, op_group_norm(g, x, 8, w, offset, 1e-5f));
	}
	return x;
}

static void give_masks(struct build *b, graph_value states, graph_value pixels)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value map = conv(b, "masks.map", pixels, (struct conv){ .out = h, .kernel = 1, .bias = true });
	graph_value flat = op_reshape(g, map, 3, (int64_t[]){ 0, 0, -1 });
	graph_value y = op_matmul(g, detect_mlp(b, "masks.queries", states, 3, h, h), flat); // [batch, queries, places]
	graph_output(g, "pred_masks", map_of(b, op_transpose(g, y, 3, (int[]){ 0, 2, 1 }), map));
	graph_output(g, "semantic_seg", conv(b, "masks.semantic", pixels, (struct conv){ .out = 1, .kernel = 1, .bias = true }));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct body vision = { .pixels = pixel_input(b, s->channels, s->image_size, s->image_width) };
	const struct spec *outer = part_enter(b, "vision");
	graph_enter(g, "vision");
	b->s->row->family->body(b, &vision);
	graph_leave(g);
	part_leave(b, outer);
	struct prompt p = read_text(b);
	if (graph_failed(g))
		return;
	int64_t count = vision.state_count - 1;
	graph_value map = vision.states[count - 1], at = detect_places(b, op_dim(g, map, 2), op_dim(g, map, 3), s->hidden_size);
	graph_value memory = encode(b, tokens_of(b, map), at, &p);
	struct decoded out = decode(b, memory, at, map, &p);
	graph_value x = ends(g, out.boxes, 0), y = ends(g, out.boxes, 1);
	graph_value corners[] = { op_slice(g, x, 2, 0, 1), op_slice(g, y, 2, 0, 1), op_slice(g, x, 2, 1, 2),
		op_slice(g, y, 2, 1, 2) };
	graph_output(g, "pred_logits", scores(b, out.states, &p));
	graph_output(g, "pred_boxes", op_concat(g, 4, corners, 2));
	graph_output(g, "presence_logits", out.presence);
	give_masks(b, out.states, pixels_of(b, vision.states, count, memory, &p));
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family sam3 = {
	.name = "sam3",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
