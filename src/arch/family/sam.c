// SPDX-License-Identifier: Apache-2.0
// Segment Anything: masks of what points in a picture mean (Kirillov et al. 2023, https://arxiv.org/abs/2304.02643; HQ-SAM, Ke et
// al. 2023, https://arxiv.org/abs/2306.01567; version 2, Ravi et al. 2024, https://arxiv.org/abs/2408.00714). Boxes and masks as
// prompts are not read.
//
//   pixels -> vision tower -> map --------------------------------------------------+
//   points, labels -> sines of their places + what a label means -> [tokens, points] +-> two-way transformer -> tokens, map
//   map -> twice as large, twice -> times what an MLP makes of each mask's token -> masks; an MLP of one token -> their scores
//
// Of each of `prompts` in a picture, which are rows [batch * prompts, ..] in between. Labels: 1 what is meant, 0 what is not, -1
// no point, -10 padding.
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/sam.h"
#include "arch/family/vitdet.h"

struct sam {
	int64_t inner, last_inner; // of attention to and from the picture, and of the last one
	int64_t ffn, ffn_layers;   // the feed-forward, whose layers are two or more
	int64_t masks;             // tokens
	int64_t score_width, score_layers;
	int64_t labels;      // that have a vector of their own
	int64_t side, image; // of the map; of the picture, in which points are counted
	int64_t fine_state;  // of the vision tower, whose map is mixed into the finer one; -1: none is
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	const struct sam_traits *t = TRAITS_OF(s, sam);
	struct sam *o = ARENA_NEW(a, struct sam);
	struct config sub;
	s->own = o;
	*o = (struct sam){ .ffn_layers = 2, .fine_state = -1 };
	const struct spec *tower = resolve_part(c, s, a, "vision", "vision_config", NULL, NULL,
		(const char *const[]){ t->second ? "vision_encoder." : "", NULL }); // the first's dialect has it in its prefix
	if (!tower || !part_is_usual(c, s, "vision"))
		return;
	config_open_within(&sub, c, "mask_decoder_config", a);
	s->hidden_size = config_size(&sub, "hidden_size", 256);
	s->layers = s->layers_in_config = config_count(&sub, "num_hidden_layers", 2);
	s->heads = s->kv_heads = config_size(&sub, "num_attention_heads", 8);
	s->act = t->second ? ACT_RELU : config_activation(&sub, "hidden_act", ACT_RELU);
	s->norm_eps = t->second ? 1e-5 : config_real(&sub, "layer_norm_eps", 1e-6);
	int64_t rate = config_size(&sub, "attention_downsample_rate", 2), fine = config_size(&sub, "vit_dim", tower->hidden_size);
	o->ffn = config_size(&sub, "mlp_dim", 2048);
	o->ffn_layers = t->second ? s->layers : 2;
	o->masks = config_count(&sub, "num_multimask_outputs", 3) + 1;
	o->score_layers = config_count(&sub, "iou_head_depth", 3);
	o->score_width = config_size(&sub, "iou_head_hidden_dim", 256);
	config_close_within(&sub, c);
	config_open_within(&sub, c, "prompt_encoder_config", a);
	int64_t prompt = config_size(&sub, "hidden_size", 256), patch = config_size(&sub, "patch_size", 16);
	o->image = config_size(&sub, "image_size", 1024);
	o->side = patch > 0 ? o->image / patch : 0;
	o->side = config_size(&sub, "image_embedding_size", o->side);
	o->labels = t->second ? config_count(&sub, "num_point_embeddings", 4) : 2;
	config_close_within(&sub, c);
	if (c->error.status)
		return;
	int64_t h = s->hidden_size;
	o->last_inner = rate > 0 ? h / rate : 0;
	o->inner = t->second ? o->last_inner : h / 2; // the first's layers do not ask
	if (h < 8 || h % 8 || prompt != h || s->heads < 1 || h % s->heads || o->inner < 1 || o->last_inner < 1 ||
		o->inner % s->heads || o->last_inner % s->heads || o->ffn < 1 || o->ffn_layers < 2 || o->score_layers < 2 ||
		o->score_width < 1 || o->side < 1 || o->masks < 2 || o->image < 1) {
		config_fail(c, STATUS_BAD_INPUT,
			"%lld heads over %lld and %lld, prompts of %lld, heads of %lld and %lld layers, a map of %lld",
			(long long)s->heads, (long long)h, (long long)o->inner, (long long)prompt, (long long)o->ffn_layers,
			(long long)o->score_layers, (long long)o->side);
		return;
	}
	if (!t->fine_token)
		return;
	static const char *const unused[] = { "mask_decoder.compress_vit_*", NULL };
	int64_t global = vitdet_first_global(tower);
	o->fine_state = global < 0 ? -1 : global + 1;
	s->unused = global < 0 ? unused : NULL;
	if (fine != tower->hidden_size)
		config_fail(
			c, STATUS_BAD_INPUT, "vit_dim %lld, for a tower of %lld", (long long)fine, (long long)tower->hidden_size);
}

enum { CORNER_LABELS = 4 }; // points that are not and are of the thing, corners of a box

static bool first_only(const struct spec *s)
{
	return !TRAITS_OF(s, sam)->second;
}

// ---- prompts ------------------------------------------------------------------------------------------------------------

// Sines, then cosines, of places [.., 2] (x, y), between 0 and 1, by a matrix: [.., hidden]
static graph_value sines_of(struct build *b, const char *stem, graph_value places)
{
	struct graph *g = b->g;
	graph_value x = op_sub(g, op_scale(g, places, 2), graph_f32(g, 1));
	x = op_matmul(g, x, WEIGHT(b, stem, "", 2, b->s->hidden_size / 2));
	x = op_scale(g, x, (float)(2 * M_PI));
	return op_concat(g, 2, (graph_value[]){ op_sin(g, x), op_cos(g, x) }, -1);
}

// Of the map's squares: [1, side*side, hidden]
static graph_value places_of_map(struct build *b)
{
	struct graph *g = b->g;
	int64_t n = ((const struct sam *)b->s->own)->side;
	float *at = GRAPH_TABLE(g, NULL, n * n, 2, float);
	for (int64_t i = 0; at && i < n * n; i++) {
		at[2 * i] = ((float)(i % n) + 0.5f) / (float)n;
		at[2 * i + 1] = ((float)(i / n) + 0.5f) / (float)n;
	}
	return sines_of(b, "places.map", graph_constant(g, DTYPE_F32, 3, (int64_t[]){ 1, n * n, 2 }, at));
}

// The first model ends prompts of points with a point that is none, prompts with a box (two points, labelled 2 and 3) with
// nothing: model.onnx adds that point, this one does not. The second adds it to both.
static const struct arch_graph unpadded_graph = { .file = "model_of_boxes.onnx", .there = first_only };
static const struct arch_graph *const graphs[] = { &unpadded_graph, NULL };

// points [rows, points, 2], labels [rows, points] -> [rows, points + 1, hidden]; of unpadded_graph [rows, points, hidden]
static graph_value prompts(struct build *b, graph_value points, graph_value labels)
{
	struct graph *g = b->g;
	const struct sam *o = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_value no_point = op_reshape(g, WEIGHT(b, "prompt.none", "weight", 1, h), 3, (int64_t[]){ 1, 1, h });
	graph_value x = op_scale(g, op_add(g, points, graph_f32(g, 0.5f)), (float)(1 / (double)o->image));
	x = sines_of(b, "places.points", x);
	labels = op_unsqueeze(g, labels, 2);
	x = op_where(g, op_equal(g, labels, graph_i64(g, -1)), no_point, x);
	x = op_where(g, op_equal(g, labels, graph_i64(g, -10)), graph_f32(g, 0), x);
	graph_value table = weight_named(b, "prompt.labels") ? WEIGHT(b, "prompt.labels", "weight", o->labels, h) : NO_VALUE;
	int64_t meanings = b->which == &unpadded_graph ? CORNER_LABELS : o->labels;
	for (int64_t i = 0; i < meanings && !graph_failed(g); i++) {
		b->layer = i;
		graph_value is = op_cast(g, op_equal(g, labels, graph_i64(g, i)), DTYPE_F32);
		graph_value row = table.id ? op_slice(g, table, 0, i, i + 1) : WEIGHT(b, "prompt.label", "weight", 1, h);
		x = op_add(g, x, op_mul(g, is, row));
	}
	return b->which == &unpadded_graph ? x : op_concat(g, 2, (graph_value[]){ x, each_image(b, no_point, x) }, 1);
}

// ---- the two-way transformer --------------------------------------------------------------------------------------------

static graph_value attention(struct build *b, const char *stem, graph_value q, graph_value k, graph_value v, int64_t inner)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, heads = b->s->heads;
	struct arena *a = graph_arena(g);
	q = linear(b, arena_printf(a, "%s.q", stem), q, h, inner, true);
	k = linear(b, arena_printf(a, "%s.k", stem), k, h, inner, true);
	v = linear(b, arena_printf(a, "%s.v", stem), v, h, inner, true);
	float scale = (float)(1 / sqrt((double)(inner / heads)));
	graph_value y = op_attention(g, &(struct attention){ q, k, v, .heads = heads, .scale = scale });
	return linear(b, arena_printf(a, "%s.o", stem), y, inner, h, true);
}

// STEM.in, STEM.layer, .., STEM.out with an activation between: `layers` of them. The stem's own number is `index`.
static graph_value feed(struct build *b, const char *stem, graph_value x, int64_t index, int64_t layers, int64_t in,
	int64_t inner, int64_t out, enum activation act)
{
	struct arena *a = graph_arena(b->g);
	b->layer = index;
	x = activate(b, act, linear(b, arena_printf(a, "%s.in", stem), x, in, inner, true));
	for (int64_t i = 0; i < layers - 2; i++) {
		b->stage = index, b->layer = i;
		x = activate(b, act, linear(b, arena_printf(a, "%s.layer", stem), x, inner, inner, true));
	}
	b->layer = index;
	return linear(b, arena_printf(a, "%s.out", stem), x, inner, out, true);
}

static void two_way(struct build *b, graph_value *tokens, graph_value *map, graph_value places)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct sam *o = s->own;
	int64_t h = s->hidden_size;
	graph_value first = *tokens, x = first, m = *map, y, k;
	for (int64_t i = 0; i < s->layers && !graph_failed(g); i++) {
		graph_enter(g, "layers.%lld", (long long)i);
		b->layer = i;
		k = i ? op_add(g, x, first) : x;
		y = attention(b, "layers.self", k, k, x, h);
		x = layer_norm(b, "layers.self.norm", i ? op_add(g, x, y) : y, h);
		k = op_add(g, m, places);
		y = attention(b, "layers.to_map", op_add(g, x, first), k, m, o->inner);
		x = layer_norm(b, "layers.to_map.norm", op_add(g, x, y), h);
		y = feed(b, "layers.ffn", x, i, o->ffn_layers, h, o->ffn, h, s->act);
		x = layer_norm(b, "layers.ffn.norm", op_add(g, x, y), h);
		y = attention(b, "layers.from_map", k, op_add(g, x, first), x, o->inner);
		m = layer_norm(b, "layers.from_map.norm", op_add(g, m, y), h);
		graph_leave(g);
	}
	y = attention(b, "final", op_add(g, x, first), op_add(g, m, places), m, o->last_inner);
	*tokens = layer_norm_eps(b, "final.norm", op_add(g, x, y), 1e-5);
	*map = m;
}

// ---- masks --------------------------------------------------------------------------------------------------------------

// Twice as large: STEM.weight [in, out, 2, 2]
static graph_value larger(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	graph_value w = WEIGHT(b, stem, "weight", in, out, 2, 2);
	return op_conv_transpose(b->g, x, w, WEIGHT(b, stem, "bias", out), 2, (int64_t[]){ 2, 2 }, (int64_t[]){ 0, 0, 0, 0 }, 1);
}

// Twice as large, twice: STEM.1, STEM.norm, STEM.2. Finer maps, or NO_VALUE, are added after each.
static graph_value enlarged(
	struct build *b, const char *stem, graph_value x, int64_t in, int64_t between, int64_t out, const graph_value finer[2])
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	x = larger(b, arena_printf(a, "%s.1", stem), x, in, between);
	x = finer && finer[1].id ? op_add(g, x, finer[1]) : x;
	x = op_gelu(g, map_norm(b, arena_printf(a, "%s.norm", stem), x, 1e-6));
	x = larger(b, arena_printf(a, "%s.2", stem), x, between, out);
	return finer && finer[0].id ? op_add(g, x, finer[0]) : x;
}

// A picture's x [batch, ..] for each of its prompts: [batch * prompts, ..]; points [batch, prompts, ..].
static graph_value each_prompt(struct build *b, graph_value x, graph_value points)
{
	struct graph *g = b->g;
	graph_value shape = op_shape(g, x), rest = op_slice(g, shape, 0, 1, INT64_MAX), y;
	y = op_expand(
		g, op_unsqueeze(g, x, 1), op_concat(g, 3, (graph_value[]){ op_dim(g, x, 0), op_dim(g, points, 1), rest }, 0));
	y = op_reshape_to(g, y, op_concat(g, 2, (graph_value[]){ graph_i64s(g, 1, (int64_t[]){ -1 }), rest }, 0));
	for (int axis = 1; axis < value_rank(g, x); axis++)
		graph_assume(g, y, axis, value_dim(g, x, axis));
	return y;
}

// What the masks' tokens [rows, masks, hidden] become.
static graph_value token_weights(struct build *b, const char *stem, graph_value tokens, int64_t first, int64_t count)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value all[CONFIG_COUNT_MOST + 1];
	for (int64_t i = 0; i < count; i++)
		all[i] = feed(
			b, stem, op_slice(g, tokens, 1, first + i, first + i + 1), i, 3, h, h, h / 8, ACT_RELU); // [rows, 1, h/8]
	return op_concat(g, (int)count, all, 1);
}

// HQ-SAM: the finer map, of the last map and a state of the tower: [batch, hidden/8, 4*side, 4*side]
static graph_value fine_map(struct build *b, graph_value map, const struct body *tower)
{
	struct graph *g = b->g;
	const struct sam *o = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_value x = enlarged(b, "fine.map", map, h, h / 4, h / 8, NULL);
	if (o->fine_state < 0 || o->fine_state >= tower->state_count)
		return x;
	return op_add(g, x,
		enlarged(b, "fine.state", tower->states[o->fine_state], part_of(b->s, "vision")->hidden_size, h, h / 8, NULL));
}

static void give(struct build *b, const char *name, graph_value x, graph_value points, int count, const int64_t *rest)
{
	struct graph *g = b->g;
	graph_value shape[] = { op_dim(g, points, 0), op_dim(g, points, 1), graph_i64s(g, count, rest) };
	graph_output(g, name, op_reshape_to(g, x, op_concat(g, 3, shape, 0)));
}

static graph_value token(struct build *b, const char *stem, int64_t count)
{
	int64_t h = b->s->hidden_size;
	return op_reshape(b->g, WEIGHT(b, stem, "weight", count, h), 3, (int64_t[]){ 1, count, h });
}

// The map of the pictures, [batch, hidden, side, side], of the vision tower; io has its states.
static graph_value picture_map(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct sam *o = s->own;
	bool second = TRAITS_OF(s, sam)->second;

	part_enter(b, "vision");
	graph_enter(g, "vision");
	b->s->row->family->body(b, io);
	graph_leave(g);
	part_leave(b, s);
	if (graph_failed(g))
		return NO_VALUE;
	graph_value map = second ? io->states[io->state_count - 1] : io->last;
	if (value_dim(g, map, 1) != s->hidden_size || value_dim(g, map, 2) != o->side || value_dim(g, map, 3) != o->side ||
		(second && io->state_count != 3))
		graph_fail(g, STATUS_BAD_INPUT, "%s: a vision tower whose map is not the %lld by %lld that prompts are for",
			b->c->path, (long long)o->side, (long long)o->side);
	return map;
}

// The model's own tokens before those of each prompt, x: [rows, tokens, hidden] of both.
static graph_value with_own_tokens(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct sam *o = b->s->own;
	const struct sam_traits *t = TRAITS_OF(b->s, sam);
	graph_value own[4];
	int count = 0;

	if (t->second)
		own[count++] = token(b, "tokens.there", 1);
	own[count++] = token(b, "tokens.score", 1);
	own[count++] = token(b, "tokens.masks", o->masks);
	if (t->fine_token)
		own[count++] = token(b, "tokens.fine", 1);
	graph_value tokens = each_image(b, op_concat(g, count, own, 1), x);
	return op_concat(g, 2, (graph_value[]){ tokens, x }, 1);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	const struct sam *o = s->own;
	const struct sam_traits *t = TRAITS_OF(s, sam);
	int64_t h = s->hidden_size, big = 4 * o->side, masks = o->masks, batch = graph_symbol(g, "batch");
	int64_t shape[] = { batch, graph_symbol(g, "prompts"), graph_symbol(g, "points"), 2 };
	struct body io = { .pixels = pixel_input(b, tower->channels, tower->image_size, tower->image_width) };
	graph_value points = graph_input(g, "input_points", DTYPE_F32, 4, shape);
	graph_value labels = graph_input(g, "input_labels", DTYPE_I64, 3, shape);
	graph_value map = picture_map(b, &io), finer[2] = { NO_VALUE, NO_VALUE };
	if (graph_failed(g))
		return;
	graph_value all = graph_i64s(g, 1, (int64_t[]){ -1 });
	graph_value at = op_reshape_to(
		g, points, op_concat(g, 3, (graph_value[]){ all, op_dim(g, points, 2), graph_i64s(g, 1, (int64_t[]){ 2 }) }, 0));
	graph_value meant = op_reshape_to(g, labels, op_concat(g, 2, (graph_value[]){ all, op_dim(g, points, 2) }, 0));
	graph_enter(g, "prompts");
	graph_value x, tokens = with_own_tokens(b, prompts(b, at, meant)); // [rows, tokens, hidden]
	graph_leave(g);
	graph_value fine = t->fine_token ? fine_map(b, map, &io) : NO_VALUE;
	if (t->second) {
		map = op_add(g, map, op_reshape(g, WEIGHT(b, "no_memory", "", 1, 1, h), 4, (int64_t[]){ 1, h, 1, 1 }));
		finer[0] = conv(b, "finer.0", io.states[0], (struct conv){ .out = h / 8, .kernel = 1, .bias = true });
		finer[1] = conv(b, "finer.1", io.states[1], (struct conv){ .out = h / 4, .kernel = 1, .bias = true });
		finer[0] = each_prompt(b, finer[0], points);
		finer[1] = each_prompt(b, finer[1], points);
	}
	graph_value keys = op_add(g, tokens_of(b, map), token(b, "prompt.no_mask", 1));
	keys = each_prompt(b, keys, points); // [rows, side*side, hidden]
	graph_value before = keys;
	two_way(b, &tokens, &keys, places_of_map(b));
	graph_enter(g, "masks");
	int64_t first = t->second; // of the tokens: where the scores' is
	x = map_of_size(b, t->fine_token ? before : keys, o->side, o->side);
	if (t->fine_token) // transformers' class does not take the map from the two-way transformer, and swaps rows and columns
		x = op_transpose(g, x, 4, (int[]){ 0, 1, 3, 2 });
	x = op_gelu(g, enlarged(b, "upscale", x, h, h / 4, h / 8, finer));
	graph_value y = op_matmul(g, token_weights(b, "hyper", tokens, first + 1, masks),
		op_reshape(g, x, 3, (int64_t[]){ 0, h / 8, big * big })); // [rows, masks, big*big]
	graph_value scores = feed(
		b, "scores", op_slice(g, tokens, 1, first, first + 1), 0, o->score_layers, h, o->score_width, masks, ACT_RELU);
	scores = op_squeeze(g, t->second ? op_sigmoid(g, scores) : scores, 1); // [rows, masks]
	// The first mask is for those who want one only.
	scores = op_slice(g, scores, 1, 1, masks);
	y = op_slice(g, y, 1, 1, masks);
	if (t->fine_token) {
		graph_value order, w = token_weights(b, "hyper.fine", tokens, 1 + masks, 1);
		scores = op_topk_indices(g, scores, masks - 1, 1, false, &order);
		y = op_gather_nd(g, y, op_unsqueeze(g, order, 2), 1);
		x = op_gelu(g,
			map_norm(b, "fine.1.norm", conv(b, "fine.1", x, (struct conv){ .out = h / 4, .kernel = 3, .bias = true }),
				1e-6));
		x = conv(b, "fine.2", x, (struct conv){ .out = h / 8, .kernel = 3, .bias = true });
		x = op_add(g, x, each_prompt(b, fine, points));
		y = op_add(g, y, op_matmul(g, w, op_reshape(g, x, 3, (int64_t[]){ 0, h / 8, big * big })));
	}
	graph_leave(g);
	give(b, "pred_masks", y, points, 3, (int64_t[]){ masks - 1, big, big });
	give(b, "iou_scores", scores, points, 1, (int64_t[]){ masks - 1 });
	if (t->second)
		give(b, "object_score_logits", feed(b, "there", op_slice(g, tokens, 1, 0, 1), 0, 3, h, h, 1, ACT_RELU), points, 1,
			(int64_t[]){ 1 });
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	out->symbols[0] = (struct input_symbol){ "prompts", 1 };
	out->symbols[1] = (struct input_symbol){ "points", 2 };
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family sam = {
	.name = "segment-anything",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
	.graphs = graphs,
	.traits = FAMILY_TRAIT_LIST(sam, SAM_TRAITS),
};
