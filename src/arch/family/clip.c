// SPDX-License-Identifier: Apache-2.0
// The towers of models that compare pictures with texts: CLIP (Radford et al. 2021, https://arxiv.org/abs/2103.00020) and
// SigLIP (Zhai et al. 2023, https://arxiv.org/abs/2303.15343). Each is a model of its own, and a part of others: dual.c, vlm.c.
//
//   text:   ids -> tokens + positions -> layers -> norm -> the token that ends the text
//   vision: pixels -> [class, patches] + positions -> norm -> layers -> class token -> norm
//   SigLIP: attention both ways, the last token through a linear layer; patches without class token, pooled by attention
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/clip.h"
#include "arch/family/encoder.h"

struct tower {
	int64_t projection_size; // 0: config.json names none
	int64_t eos_token_id;    // -1: the greatest id ends a text
	bool has_head;           // SigLIP's vision tower may lack the pooling
};

static const struct tower *own(const struct spec *s)
{
	return s->own;
}

// ---- text ---------------------------------------------------------------------------------------------------------------

static void resolve_text(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, false);
	struct tower *t = ARENA_NEW(a, struct tower);
	s->own = t;
	const json_t *eos = config_get(c, "eos_token_id");
	if (TRAITS_OF(s, clip_text)->last_token)
		t->projection_size = config_size(c, "projection_size", s->hidden_size);
	else {
		t->projection_size = config_size(c, "projection_dim", 0);
		t->eos_token_id = json_integer_value(eos);
		if (!json_is_integer(eos) && !TRAITS_OF(s, clip_text)->ends_highest)
			config_fail(c, STATUS_UNSUPPORTED, "eos_token_id should be one number: the text is pooled there");
		if ((t->eos_token_id == 2 && !TRAITS_OF(s, clip_text)->eos_as_said) ||
			TRAITS_OF(s, clip_text)->ends_highest) // 2 was written by mistake in old files
			t->eos_token_id = -1;
	}
}

// The first place of the end token or of the greatest id: [batch, width]. A later place counts less, so there is no tie.
graph_value token_at_end(struct build *b, graph_value ids, graph_value hidden, int64_t eos)
{
	struct graph *g = b->g;
	graph_value seq = op_squeeze(g, op_dim(g, ids, 1), 0);
	graph_value later = op_range(g, graph_i64(g, 0), seq, graph_i64(g, 1)); // [seq]
	graph_value rank = eos < 0 ? ids : op_cast(g, op_equal(g, ids, graph_i64(g, eos)), DTYPE_I64);
	graph_value place = op_argmax(g, op_sub(g, op_mul(g, rank, seq), later), 1, true); // [batch, 1]
	return op_gather_nd(g, hidden, place, 1);
}

static void body_text(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "embed");
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, h); // [batch, seq, hidden]
	graph_value table = WEIGHT(b, "embed.position", "weight", s->max_positions, h);
	x = op_add(g, x, op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, io->ids, 1)));
	graph_leave(g);
	prenorm_layers(
		b, io, x, TRAITS_OF(s, clip_text)->last_token ? mask_bidirectional(b, io->mask) : mask_causal(b, io->mask, x, 0));
	io->last = layer_norm(b, "norm", io->last, h);
	graph_enter(g, "pool");
	if (TRAITS_OF(s, clip_text)->last_token)
		io->pooled = linear(
			b, "pooler", op_squeeze(g, op_slice(g, io->last, 1, -1, INT64_MAX), 1), h, own(s)->projection_size, true);
	else
		io->pooled = token_at_end(b, io->ids, io->last, own(s)->eos_token_id);
	graph_leave(g);
}

void text_tower_inputs(struct build *b, struct body *io)
{
	int64_t shape[] = { graph_symbol(b->g, "batch"), graph_symbol(b->g, "sequence") };
	io->ids = b->ids = graph_input(b->g, "input_ids", DTYPE_I64, 2, shape);
	io->mask = graph_input(b->g, "attention_mask", DTYPE_I64, 2, shape);
	io->types = b->s->type_vocab_size > 1 ? graph_input(b->g, "token_type_ids", DTYPE_I64, 2, shape) : NO_VALUE;
}

static void project(struct build *b, const char *name, const struct body *io)
{
	const struct spec *s = b->s;
	graph_output(b->g, name, linear(b, "head.projection", io->pooled, s->hidden_size, own(s)->projection_size, false));
	graph_output(b->g, "last_hidden_state", io->last);
}

static void project_text(struct build *b, const struct body *io)
{
	project(b, "text_embeds", io);
}

static void project_image(struct build *b, const struct body *io)
{
	if (io->pooled.id)
		project(b, "image_embeds", io);
	else
		head_unsupported(b);
}

static const struct family_head text_heads[] = { { &head_model }, { &head_projection, project_text }, { 0 } };
static const struct family_head vision_heads[] = { { &head_model }, { &head_projection, project_image }, { 0 } };

// What pipelines that make pictures condition on (Podell et al. 2023, https://arxiv.org/abs/2307.01952, section 2.1).
static bool has_penultimate(const struct spec *s)
{
	return !TRAITS_OF(s, clip_text)->last_token && s->layers > 0;
}

static const struct arch_graph encoder_graph = { .file = "text_encoder.onnx", .there = has_penultimate };
static const struct arch_graph *const text_graphs[] = { &encoder_graph, NULL };

// text_encoder.onnx: what model.onnx gives, and penultimate_hidden_state [batch, sequence, hidden]: what the last layer reads,
// without the last norm.
static void build_text(struct build *b)
{
	struct body io = { 0 };
	text_tower_inputs(b, &io);
	body_text(b, &io);
	head_build(b, &io);
	if (b->which == &encoder_graph && !graph_failed(b->g))
		graph_output(b->g, "penultimate_hidden_state", io.states[io.state_count - 2]);
}

// ---- AltCLIP's text tower -------------------------------------------------------------------------------------------------

static void resolve_alt(struct config *c, struct spec *s, struct arena *a)
{
	encoder.resolve(c, s, a);
	s->pooler_size = config_size(c, "project_dim", -1);
}

// RoBERTa, then a norm and a projection of every token (Chen et al. 2022, https://arxiv.org/abs/2211.06679).
static void body_alt(struct build *b, struct body *io)
{
	const struct spec *s = b->s;
	encoder.body(b, io);
	io->last = linear(b, "project", layer_norm(b, "norm", io->last, s->hidden_size), s->hidden_size, s->pooler_size, true);
	io->pooled = first_token(b, io->last);
}

static void build_alt(struct build *b)
{
	struct body io = { 0 };
	text_tower_inputs(b, &io);
	body_alt(b, &io);
	head_build(b, &io);
}

static const struct family_head alt_heads[] = { { &head_model }, { 0 } };

const struct family alt_text = {
	.name = "text-tower-projected",
	.architecture = "encoder-only",
	.resolve = resolve_alt,
	.build = build_alt,
	.body = body_alt,
	.heads = alt_heads,
};

static void hints_text(const struct spec *s, struct input_hints *out)
{
	int64_t eos = own(s)->eos_token_id;
	out->ends_with_eos = !TRAITS_OF(s, clip_text)->last_token && s->vocab_size > 1;
	out->eos_token_id = eos < 0 ? s->vocab_size - 1 : eos;
}

// ---- vision -------------------------------------------------------------------------------------------------------------

static void resolve_grid_rope(struct config *c, struct spec *s)
{
	const json_t *rope = config_get(c, "rope_parameters"), *theta = json_object_get(rope, "rope_theta");
	const char *kind = json_string_value(json_object_get(rope, "rope_type"));
	s->rope.theta = json_is_number(theta) ? json_number_value(theta) : config_real(c, "rope_theta", 10000);
	if (kind && !text_is(kind, "axial"))
		config_fail(c, STATUS_UNSUPPORTED, "rope_type %s is not axial", kind);
	if (config_size(c, "num_key_value_groups", 1) != 1)
		config_fail(c, STATUS_BAD_INPUT, "num_key_value_groups should be 1: there are as many keys as queries");
	if (!c->error.status && (!(s->rope.theta > 0) || s->head_width % 4))
		config_fail(c, STATUS_BAD_INPUT, "heads of %lld do not divide into angles of rows and columns",
			(long long)s->head_width);
}

// A square of num_patches learned positions; made-up pictures are of its size.
static void resolve_listed(struct config *c, struct spec *s)
{
	int64_t patches = config_size(c, "num_patches", -1), side = 0;
	s->channels = config_size(c, "num_channels", 3);
	s->patch_size = s->patch_width = config_size(c, "patch_size", -1);
	while ((side + 1) * (side + 1) <= patches && side < 1 << 12)
		side++;
	if (!c->error.status &&
		(side * side != patches || side < 1 || s->patch_size < 1 || s->patch_size > 4096 || s->channels < 1))
		config_fail(c, STATUS_BAD_INPUT, "num_patches %lld is no square, or patches have no size", (long long)patches);
	s->image_size = s->image_width = side * s->patch_size;
	s->image_tokens = patches + 1;
}

static void resolve_vision(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, true);
	if (TRAITS_OF(s, clip_vision)->listed)
		resolve_listed(c, s);
	else
		resolve_image(c, s);
	const struct clip_vision_traits *traits = TRAITS_OF(s, clip_vision);
	if (!s->ffn_size && config_knows(c, "mlp_ratio"))
		s->ffn_size = (int64_t)((double)s->hidden_size * config_real(c, "mlp_ratio", 4));
	if ((config_knows(c, "attention_bias") && !config_bool(c, "attention_bias", true)) ||
		(config_knows(c, "qkv_bias") && !config_bool(c, "qkv_bias", true)) ||
		(config_knows(c, "use_qk_norm") && config_bool(c, "use_qk_norm", false)))
		config_fail(c, STATUS_UNSUPPORTED,
			"attention without biases, or with norms of query and key, is not supported here yet");
	if (!c->error.status && (s->image_size != s->image_width || s->patch_size != s->patch_width))
		config_fail(c, STATUS_UNSUPPORTED, "pictures and patches should be square");
	struct tower *t = ARENA_NEW(a, struct tower);
	s->own = t;
	if (traits->attention_pool || traits->any_size) {
		t->has_head = traits->attention_pool && config_bool(c, "vision_use_head", true);
		s->image_tokens--; // no class token
	} else
		t->projection_size = config_size(c, "projection_dim", 0);
	if (TRAITS_OF(s, clip_vision)->grid_rope)
		resolve_grid_rope(c, s);
}

static bool has_class(const struct spec *s)
{
	return !TRAITS_OF(s, clip_vision)->attention_pool && !TRAITS_OF(s, clip_vision)->any_size;
}

// Of `count` patches, i64 [1], the place of each on a side of `side` learned positions: i64 [count]. Patch i has the position
// below whose end i / count lies, in the original's arithmetic (Patch n' Pack, https://arxiv.org/abs/2307.06304).
static graph_value shares(struct build *b, graph_value count, int64_t side)
{
	struct graph *g = b->g;
	float *end = GRAPH_TABLE(g, NULL, side, 1, float);
	if (!end || side < 2)
		return op_range(g, graph_i64(g, 0), op_squeeze(g, count, 0), graph_i64(g, 1));
	for (int64_t i = 0; i < side - 1; i++)
		end[i] = (float)(1.0 / (double)side + (double)i * (1.0 / (double)side));
	graph_value ends = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ 1, side - 1 }, end);
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, count, 0), graph_i64(g, 1));
	graph_value step = op_div(g, graph_f32(g, 1), op_cast(g, count, DTYPE_F32));
	graph_value share = op_unsqueeze(g, op_mul(g, op_cast(g, at, DTYPE_F32), step), 1); // [count, 1]
	return op_reduce_sum(g, op_cast(g, op_less_or_equal(g, ends, share), DTYPE_I64), 1, false);
}

// Positions of the patches of images of this size: [1, rows * columns, hidden]
static graph_value shared_positions(struct build *b, graph_value map, graph_value table, int64_t side)
{
	struct graph *g = b->g;
	graph_value row = shares(b, op_dim(g, map, 2), side), column = shares(b, op_dim(g, map, 3), side);
	row = op_mul(g, op_unsqueeze(g, row, 1), graph_i64(g, side)); // [rows, 1]
	graph_value place = op_reshape(g, op_add(g, row, column), 2, (int64_t[]){ 1, -1 });
	return op_gather(g, table, place, 0);
}

graph_value clip_patches(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t p = s->patch_size, side = s->image_size / p, h = s->hidden_size;
	bool first = has_class(s);
	graph_enter(g, "embed");
	bool own_rows = TRAITS_OF(s, clip_vision)->own_rows;
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, p, p),
		    bias = first && !own_rows ? NO_VALUE : WEIGHT(b, "embed.patch", "bias", h);
	graph_value map = op_conv(g, pixels, w, bias, (int64_t[]){ p, p }, (int64_t[]){ 0, 0, 0, 0 }, (int64_t[]){ 1, 1 }, 1);
	graph_value x = tokens_of(b, map); // [batch, patches, hidden]
	if (first) {
		graph_value shape =
			op_concat(g, 2, (graph_value[]){ op_dim(g, pixels, 0), graph_i64s(g, 2, (int64_t[]){ 1, h }) }, 0);
		graph_value row = own_rows ? WEIGHT(b, "embed.class", "", 1, 1, h) : WEIGHT(b, "embed.class", "", h);
		x = op_concat(g, 2, (graph_value[]){ op_expand(g, row, shape), x }, 1);
	}
	if (own_rows) {
		graph_leave(g);
		return op_add(g, x, WEIGHT(b, "embed.position", "", 1, side * side + 1, h));
	}
	if (!TRAITS_OF(s, clip_vision)->grid_rope) {
		graph_value table = WEIGHT(b, "embed.position", "weight", side * side + first, h);
		if (TRAITS_OF(s, clip_vision)->resized_positions)
			table = grid_positions(
				b, op_unsqueeze(g, table, 0), first, side, side, op_dim(g, map, 2), op_dim(g, map, 3), "cubic");
		x = op_add(g, x, TRAITS_OF(s, clip_vision)->any_size ? shared_positions(b, map, table, side) : table);
	}
	graph_leave(g);
	return x; // [batch, tokens, hidden]
}

// Rows of patches, each of its grid [batch, 2] with the learned positions brought to that size; what is behind the last patch
// has the first one's. pixels [batch, rows, channels * patch * patch] -> [batch, rows, hidden]
static graph_value listed_patches(struct build *b, graph_value pixels, graph_value grid)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, p = s->patch_size, side = s->image_size / p;
	graph_enter(g, "embed");
	graph_value x = linear(b, "embed.patch", pixels, s->channels * p * p, h, true);
	graph_value high = op_slice(g, grid, 1, 0, 1), wide = op_slice(g, grid, 1, 1, 2); // [batch, 1]
	graph_value at = op_unsqueeze(g, places_of(g, pixels), 0);                        // [1, rows]
	at = op_where(g, op_less(g, at, op_mul(g, high, wide)), at, graph_i64(g, 0));
	graph_value row = op_div(g, at, wide), column = op_sub(g, at, op_mul(g, row, wide));
	row = op_unsqueeze(g, smooth_shares(b, row, high, side), 3);
	column = op_unsqueeze(g, smooth_shares(b, column, wide, side), 2);
	graph_value share = op_reshape(g, op_mul(g, row, column), 3, (int64_t[]){ 0, 0, side * side });
	x = op_add(g, x, op_matmul(g, share, WEIGHT(b, "embed.position", "weight", side * side, h)));
	graph_leave(g);
	return x;
}

// Cosines and sines [1, tokens, 1, head_width / 2]: half of the angles by a patch's row, half by its column.
static void grid_rope(struct build *b, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t side = s->image_size / s->patch_size, half = s->head_width / 2, waves = half / 2;
	float *angle = GRAPH_TABLE(g, NULL, side * side, half, float);
	for (int64_t i = 0; angle && i < side * side; i++)
		for (int64_t k = 0; k < half; k++)
			angle[i * half + k] = (float)(k < waves ? i / side : i % side) *
				(float)pow(s->rope.theta, -(double)(k % waves) / (double)waves);
	graph_value patches = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ side * side, half }, angle);
	graph_value all = op_concat(g, 2, (graph_value[]){ WEIGHT(b, "rope.class", "", 1, half), patches }, 0);
	all = op_reshape(g, all, 4, (int64_t[]){ 1, side * side + 1, 1, half });
	*cos = op_cos(g, all);
	*sin = op_sin(g, all);
}

// A learned query attends to all patches; after it a feed-forward with its residual: [batch, hidden].
static graph_value pool_by_attention(struct build *b, graph_value x, graph_value bias_of_patches)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value w = WEIGHT(b, "pooler.attn", "in_proj_weight", 3 * h, h),
		    bias = WEIGHT(b, "pooler.attn", "in_proj_bias", 3 * h), y[3];
	graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ 1, h }) }, 0);
	graph_value probe = op_expand(g, WEIGHT(b, "pooler.probe", "", 1, 1, h), shape); // [batch, 1, hidden]
	for (int i = 0; i < 3; i++)                                                      // query, key, value lie in one tensor
		y[i] = op_linear(
			g, i ? x : probe, op_slice(g, w, 0, i * h, (i + 1) * h), op_slice(g, bias, 0, i * h, (i + 1) * h));
	graph_value z = op_attention(g,
		&(struct attention){
			y[0], y[1], y[2], .bias = bias_of_patches, .heads = s->heads, .scale = (float)s->attention_scale });
	z = linear(b, "pooler.attn.o", z, h, h, true);
	z = op_add(g, z, prenorm_ffn(b, "pooler.up", "pooler.down", layer_norm(b, "pooler.norm", z, h)));
	return op_squeeze(g, z, 1);
}

static void body_vision(struct build *b, struct body *io)
{
	const struct spec *s = b->s;
	bool listed = TRAITS_OF(s, clip_vision)->listed;
	graph_value x = listed ? listed_patches(b, io->pixels, io->grid) : clip_patches(b, io->pixels);
	if (!has_class(s)) {
		graph_value bias = listed ? mask_bidirectional(b, io->mask) : NO_VALUE;
		prenorm_layers(b, io, x, bias);
		io->last = layer_norm(b, "norm", io->last, s->hidden_size);
		graph_enter(b->g, "pool");
		bool is_there =
			own(s)->has_head && (s->head || weight_exists(b, "pooler.probe", "")); // a part's file may lack it
		io->pooled = is_there ? pool_by_attention(b, io->last, bias) : NO_VALUE;
		graph_leave(b->g);
		return;
	}
	if (TRAITS_OF(s, clip_vision)->own_rows) {
		prenorm_layers(b, io, x, NO_VALUE);
		io->last = layer_norm(b, "norm", io->last, s->hidden_size);
		io->pooled = layer_norm(b, "norm", first_token(b, io->last), s->hidden_size);
		return;
	}
	graph_value cos = NO_VALUE, sin = NO_VALUE;
	if (TRAITS_OF(s, clip_vision)->grid_rope)
		grid_rope(b, &cos, &sin);
	prenorm_layers_rotary(b, io, layer_norm(b, "embed.norm", x, s->hidden_size), NO_VALUE, cos, sin);
	io->pooled = layer_norm(b, "norm", first_token(b, io->last), s->hidden_size);
}

void vision_tower_inputs(struct build *b, struct body *io, const char *batch)
{
	const struct spec *s = b->s;
	if (TRAITS_OF(s, clip_vision)->listed) {
		struct graph *g = b->g;
		int64_t all = graph_symbol(g, batch), rows = graph_symbol(g, "patches"), size = s->patch_size;
		io->pixels = graph_input(g, "pixel_values", DTYPE_F32, 3, (int64_t[]){ all, rows, s->channels * size * size });
		io->mask = graph_input(g, "pixel_attention_mask", DTYPE_I64, 2, (int64_t[]){ all, rows });
		io->grid = graph_input(g, "spatial_shapes", DTYPE_I64, 2, (int64_t[]){ all, 2 });
		return;
	}
	if (TRAITS_OF(s, clip_vision)->any_size) {
		io->pixels = pixel_input(b, s->channels, 0, 0);
		return;
	}
	int64_t shape[] = { graph_symbol(b->g, batch), s->channels, s->image_size, s->image_size };
	if (!s->image_size || TRAITS_OF(s, clip_vision)->resized_positions)
		shape[2] = graph_symbol(b->g, "height"), shape[3] = graph_symbol(b->g, "width");
	io->pixels = graph_input(b->g, "pixel_values", DTYPE_F32, 4, shape);
}

static void build_vision(struct build *b)
{
	struct body io = { 0 };
	vision_tower_inputs(b, &io, "batch");
	body_vision(b, &io);
	head_build(b, &io);
}

static void hints_vision(const struct spec *s, struct input_hints *out)
{
	if (TRAITS_OF(s, clip_vision)->any_size || TRAITS_OF(s, clip_vision)->resized_positions)
		image_hints(out, s->image_size, s->image_width);
	if (!TRAITS_OF(s, clip_vision)->listed)
		return;
	int64_t side = s->image_size / s->patch_size;
	out->image_size[0] = out->image_size[1] = side;
	out->symbols[0] = (struct input_symbol){ "patches", side * side };
}

const struct family clip_text = {
	.name = "text-tower",
	.architecture = "encoder-only",
	.resolve = resolve_text,
	.build = build_text,
	.body = body_text,
	.hints = hints_text,
	.heads = text_heads,
	.graphs = text_graphs,
	.traits = FAMILY_TRAIT_LIST(clip_text, CLIP_TEXT_TRAITS),
};
const struct family clip_vision = {
	.name = "vision-tower",
	.architecture = "vision",
	.resolve = resolve_vision,
	.build = build_vision,
	.body = body_vision,
	.hints = hints_vision,
	.heads = vision_heads,
	.traits = FAMILY_TRAIT_LIST(clip_vision, CLIP_VISION_TRAITS),
};
