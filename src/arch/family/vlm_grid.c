// SPDX-License-Identifier: Apache-2.0
// Vision-language models whose pictures are grids of any size and whose tokens have three positions: time, row and column
// (M-RoPE: Qwen2-VL, https://arxiv.org/abs/2409.12191). A text's tokens have one number for all three. A picture's tokens count
// on from the text before it; the text after it goes on after the picture's longer side.
//
//   tokens    a b [p p p p p p] c d      of a picture of 1 x 2 x 3 features
//   time      0 1  2 2 2 2 2 2  5 6
//   row       0 1  2 2 2 3 3 3  5 6
//   column    0 1  2 3 4 2 3 4  5 6
#include "arch/family/clip.h"
#include "arch/family/grid_vision.h"
#include "arch/family/vlm.h"

// ---- from config.json ---------------------------------------------------------------------------------------------------

// Older files have the text's keys beside the others: an object of them, as text_config would be.
static json_t *flat_text(struct config *c)
{
	json_t *text = json_object(), *value;
	const char *key;
	json_object_foreach((json_t *)c->given, key, value)
	{
		bool own = json_object_get(c->defaults, key) || text_starts(key, "vision_") || text_is(key, "architectures") ||
			text_is(key, "model_type");
		if (own)
			continue;
		json_object_set(text, key, value);
		json_object_set_new(c->read, key, json_true());
	}
	json_t *whole = json_copy((json_t *)c->given);
	json_object_set_new(whole, "text_config", text);
	return whole;
}

static void resolve_sections(struct config *c, struct spec *text, bool interleaved)
{
	int64_t dim = text->rope.dim ? text->rope.dim : text->head_width;
	text->rope.interleaved_sections = interleaved;
	if (!text->rope.section[0] && !text->rope.section[1] && !text->rope.section[2])
		for (int i = 0; i < 3; i++)
			text->rope.section[i] = interleaved ? (i ? 20 : 24) : dim / 2 * (i ? 3 : 2) / 8;
	int64_t sum = text->rope.section[0] + text->rope.section[1] + text->rope.section[2];
	if (!interleaved && sum != dim / 2)
		config_fail(c, STATUS_BAD_INPUT, "mrope_section: %lld angles, not %lld", (long long)sum, (long long)dim / 2);
}

// A file may have the text's layers as blocks, whatever its type calls them, as transformers 5 saves Kimi K2.5.
static void respell_layers(const struct config *c, struct spec *text, struct arena *a)
{
	static const char layers[] = "@layers.";
	const char *start = arena_printf(a, "%s%sblocks.", text->root, text->prefix);
	size_t i = 0, count = 0;
	while (i < c->checkpoint->weight_count && !text_starts(c->checkpoint->weights[i].name, start))
		i++;
	if (!text->root[0] || i == c->checkpoint->weight_count)
		return;
	const struct weight_name *names = text->row->dialect->weights;
	while (names[count].canonical)
		count++;
	struct weight_name *others = ARENA_ARRAY(a, count + 1, struct weight_name);
	for (i = 0; i < count; i++) {
		bool is_layer = text_starts(names[i].file, layers);
		others[i] = (struct weight_name){ names[i].canonical,
			is_layer ? arena_printf(a, "@blocks.%s", names[i].file + sizeof layers - 1) : names[i].file };
	}
	struct dialect *dialect = ARENA_NEW(a, struct dialect);
	struct arch *row = ARENA_NEW(a, struct arch);
	*dialect = *text->row->dialect;
	dialect->weights = others;
	*row = *text->row;
	row->dialect = dialect;
	text->row = row;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	const struct vlm_grid_traits *t = TRAITS_OF(s, vlm_grid);
	const json_t *given = c->given;
	json_t *whole = config_given(c, "text_config") ? NULL : flat_text(c);
	c->given = whole ? whole : given;
	bool good =
		vlm_resolve_parts(c, s, a, false, (const char *const[]){ "model.language_model.", "language_model.", "", NULL },
			(const char *const[]){ "model.visual.", "visual.", "model.vision_model.", "model.vision_tower.",
				"vision_tower.", "", NULL });
	const json_t *tied = json_object_get(json_object_get(c->given, "text_config"), "tie_word_embeddings");
	bool text_ties = t->text_ties && json_is_true(tied);
	c->given = given;
	json_decref(whole);
	if (!good || !part_is_usual(c, s, "vision"))
		return;
	struct vlm *v = s->own;
	const struct grid_vision *tower = part_of(s, "vision")->own;
	struct spec *text = part_of(s, "text");
	respell_layers(c, text, a);
	v->looks_last = true;
	v->downsample = tower->merge;
	v->deep_count = tower->deep_count;
	v->joins = TRAITS_OF(part_of(s, "vision"), grid_vision)->unmerged && !t->read_out && !t->read_twice;
	// What the whole joins its patches by: the class says the norm's epsilon in its code only.
	v->wide = config_size(c, "projector_hidden_size", vlm_vision_width(s) * v->downsample * v->downsample);
	v->bias = !config_knows(c, "projector_bias") || config_bool(c, "projector_bias", true);
	if (config_knows(c, "projector_hidden_act"))
		s->act = config_activation(c, "projector_hidden_act", ACT_GELU);
	s->norm_eps = config_real(c, "projector_norm_eps", config_knows(c, "projector_hidden_size") ? 1e-6 : 1e-5);
	text->tied |= text_ties;
	if (t->one_position)
		for (int i = 0; i < 3; i++)
			text->rope.section[i] = 0;
	else
		resolve_sections(c, text, t->interleaved_sections);
	if (!v->joins && !t->projected && !t->read_out && !t->read_twice && tower->out != text->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "the vision tower's features are %lld wide, the text's %lld",
			(long long)tower->out, (long long)text->hidden_size);
}

// ---- three positions a token ----------------------------------------------------------------------------------------------

// types i64 [batch, seq]: 1 where a token is a picture's; mask i64 [batch, seq]; grid i64 [pictures, 3] -> i64 [3, batch, seq]
static graph_value three_positions(struct build *b, graph_value types, graph_value mask, graph_value grid)
{
	struct graph *g = b->g;
	int64_t merge = vlm_of(b->s)->downsample;
	graph_value zero = graph_i64(g, 0), one = graph_i64(g, 1);
	graph_value is = op_mul(g, op_cast(g, op_equal(g, types, one), DTYPE_I64), mask); // [batch, seq]
	graph_value row = op_reduce_sum(g, is, 1, true);
	graph_value earlier = op_sub(g, op_cumsum(g, row, 0), row); // pictures' tokens of the rows before
	graph_value number = op_max(g, op_sub(g, op_add(g, op_cumsum(g, is, 1), earlier), one), zero);
	struct grid_places p = grid_places(b, grid, number, merge);
	graph_value line = op_div(g, p.within, p.columns);
	graph_value column = op_sub(g, p.within, op_mul(g, line, p.columns));
	graph_value first = op_cast(g, op_equal(g, op_add(g, op_add(g, p.frame, p.within), op_sub(g, one, is)), zero), DTYPE_I64);
	graph_value advance = op_max(g, p.rows, p.columns), passed = op_cumsum(g, op_mul(g, first, advance), 1);
	graph_value text = op_cumsum(g, op_sub(g, mask, is), 1);         // tokens of the text up to here
	graph_value at = op_sub(g, op_add(g, text, passed), one);        // of a token of the text
	graph_value begin = op_sub(g, op_add(g, text, passed), advance); // of a picture
	graph_value offset[3] = { p.frame, line, column }, out[3];
	graph_value is_image = op_cast(g, is, DTYPE_BOOL), is_token = op_cast(g, mask, DTYPE_BOOL);
	for (int i = 0; i < 3; i++)
		out[i] = op_unsqueeze(g, op_where(g, is_token, op_where(g, is_image, op_add(g, begin, offset[i]), at), zero), 0);
	return op_concat(g, 3, out, 0);
}

// ---- building -----------------------------------------------------------------------------------------------------------

// [batch, seq, text] with rows of `features` at the pictures' tokens and zeros elsewhere
static graph_value spread(struct build *b, graph_value features, graph_value is_image, graph_value number)
{
	struct graph *g = b->g;
	return op_where(g, op_unsqueeze(g, is_image, 2), op_gather(g, features, number, 0), graph_f32(g, 0));
}

// Patches [patches, in], square by square -> [features, out]
static graph_value read_twice(struct build *b, graph_value x, int64_t in, int64_t out)
{
	struct graph *g = b->g;
	int64_t wide = vlm_of(b->s)->wide, joined = out * vlm_of(b->s)->downsample * vlm_of(b->s)->downsample;
	x = linear(b, "projector.2", op_gelu(g, linear(b, "projector.1", x, in, wide, true)), wide, out, true);
	x = op_reshape(g, x, 2, (int64_t[]){ -1, joined });
	return linear(b, "merge.2", op_gelu(g, linear(b, "merge.1", x, joined, wide, true)), wide, out, true);
}

// The tower's features as the text has them: [features, text]
static graph_value joined(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	const struct vlm *v = vlm_of(s);
	const struct grid_vision *tower = part_of(s, "vision")->own;
	int64_t out = part_of(s, "text")->hidden_size;
	graph_enter(b->g, "projector");
	if (v->joins)
		x = grid_merge(b, x,
			&(struct grid_merger){ "projector", v->downsample, vlm_vision_width(s), v->wide, out, false, s->norm_eps,
				s->act, !v->bias });
	else if (TRAITS_OF(s, vlm_grid)->read_out) {
		x = op_gelu(b->g,
			linear(b, "projector.1", op_reshape(b->g, x, 2, (int64_t[]){ -1, tower->out }), tower->out, out, true));
		x = linear(b, "projector.2", x, out, out, true);
	} else if (TRAITS_OF(s, vlm_grid)->read_twice)
		x = read_twice(b, op_reshape(b->g, x, 2, (int64_t[]){ -1, tower->out }), tower->out, out);
	else if (TRAITS_OF(s, vlm_grid)->projected)
		x = linear(b, "projector", x, tower->out, out, true);
	graph_leave(b->g);
	return x;
}

static graph_value see(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	const struct vlm_grid_traits *t = TRAITS_OF(s, vlm_grid);
	struct body io = { 0 };
	const struct spec *outer = part_enter(b, "vision");
	grid_inputs(b, &io, "image_", vlm_of(s)->padded);
	graph_enter(g, "vision");
	tower->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_value x = joined(b, io.pooled);
	if (!ids.id)
		return x;
	graph_value is_image, number;
	vlm_places(b, ids, &is_image, &number);
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	if (!t->one_position) {
		graph_value types = t->told_by_id ? op_cast(g, is_image, DTYPE_I64)
						  : graph_input(g, "mm_token_type_ids", DTYPE_I64, 2, shape);
		graph_enter(g, "positions");
		text->axes = three_positions(b, types, text->mask, io.grid);
		graph_leave(g);
	}
	text->deep_count = io.deep_count;
	text->deep = io.deep;
	for (int64_t i = 0; i < io.deep_count; i++)
		io.deep[i] = spread(b, io.deep[i], is_image, number);
	return vlm_merge(b, ids, is_image, number, x);
}

static void build(struct build *b)
{
	vlm_build(b, see);
}

static void body(struct build *b, struct body *io)
{
	vlm_states(b, io, see);
}

void vlm_grid_padded(struct spec *s)
{
	struct spec *text = (struct spec *)(uintptr_t)part_of(s, "text");
	((struct vlm *)s->own)->padded = true;
	TRAITS_OF(s, vlm_grid)->one_position = true;
	for (int i = 0; i < 3; i++)
		text->rope.section[i] = 0;
}

static void hints(const struct spec *s, struct input_hints *out)
{
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = part_of(s, "vision")->image_tokens;
	grid_hints(part_of(s, "vision"), out);
}

const struct family vlm_grid = {
	.name = "vision-language-grid",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.body = body,
	.graphs = vlm_graphs,
	.hints = hints,
	.heads = vlm_heads,
	.traits = FAMILY_TRAIT_LIST(vlm_grid, VLM_GRID_TRAITS),
};

// ---- packed ---------------------------------------------------------------------------------------------------------------
//
// Mistral Small 3.1 (https://mistral.ai/news/mistral-small-3-1): pictures of any size, packed; the text has one position a token.
//
//   patches of the tower -> norm -> squares joined, channel by channel - linear -> linear - act - linear

static void resolve_packed(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve_parts(c, s, a, false, (const char *const[]){ "language_model.", "model.language_model.", NULL },
		    (const char *const[]){
			    "vision_tower.", "model.vision_tower.", "model.vision_encoder.", "vision_encoder.", NULL }) ||
		!part_is_usual(c, s, "vision"))
		return;
	struct vlm *v = s->own;
	v->looks_last = !config_knows(c, "vision_feature_layer");
	if (!v->looks_last)
		vlm_resolve_layers(c, s, a, true);
	v->bias = config_bool(c, "multimodal_projector_bias", false);
	v->downsample = config_size(c, "spatial_merge_size", 2);
	s->act = config_activation(c, "projector_hidden_act", ACT_GELU);
	s->norm_eps = part_of(s, "text")->norm_eps;
	if (!c->error.status && ((v->layer_count != 1 && !v->looks_last) || v->downsample < 1 || v->downsample > 64))
		config_fail(
			c, STATUS_UNSUPPORTED, "one vision_feature_layer and a spatial_merge_size from 1 to 64 are supported");
}

// x [patches, width], the grid in patches -> [features, width * merge * merge], each channel's square together
static graph_value squares(struct build *b, graph_value x, graph_value grid, int64_t width)
{
	struct graph *g = b->g;
	int64_t m = vlm_of(b->s)->downsample;
	graph_value count = op_mul(g, op_gather(g, grid, graph_i64(g, 1), 1), op_gather(g, grid, graph_i64(g, 2), 1));
	graph_value place = grid_squares(b, grid, op_sub(g, op_cumsum(g, count, 0), count), m);
	graph_value all = op_transpose(g, op_gather(g, x, place, 0), 3, (int[]){ 0, 2, 1 }); // [features, width, m * m]
	return op_reshape(g, all, 2, (int64_t[]){ -1, width * m * m });
}

static graph_value see_packed(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	int64_t m = vlm_of(s)->downsample, h = tower->hidden_size, patch = tower->patch_size;
	int64_t pictures = graph_symbol(g, "image_batch");
	struct body io = { 0 };
	(void)text;
	io.pixels = graph_input(g, "pixel_values", DTYPE_F32, 4,
		(int64_t[]){ pictures, tower->channels, graph_symbol(g, "height"), graph_symbol(g, "width") });
	io.grid = graph_input(g, "image_sizes", DTYPE_I64, 2, (int64_t[]){ pictures, 2 });
	const struct spec *outer = part_enter(b, "vision");
	graph_enter(g, "vision");
	tower->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	if (graph_failed(g))
		return NO_VALUE;
	graph_value x = op_reshape(g, vlm_of(s)->looks_last ? io.last : io.states[vlm_of(s)->layers[0]], 2,
		(int64_t[]){ -1, h }); // [patches, width]
	graph_enter(g, "merger");
	x = squares(b, rms_norm(b, "projector.norm", x, h), grid_of_sizes(b, io.grid, patch), h);
	x = linear(b, "projector.merge", x, h * m * m, h, false);
	graph_leave(g);
	x = vlm_project(b, x, h); // [features, text]
	return ids.id ? vlm_take(b, ids, x, x) : x;
}

static void build_packed(struct build *b)
{
	vlm_build(b, see_packed);
}

static void hints_packed(const struct spec *s, struct input_hints *out)
{
	int64_t side = vlm_side(s) / vlm_of(s)->downsample;
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = side * side;
}

const struct family vlm_packed = {
	.name = "vision-language-packed",
	.architecture = "multimodal",
	.resolve = resolve_packed,
	.build = build_packed,
	.graphs = vlm_graphs,
	.hints = hints_packed,
	.heads = vlm_heads,
};

// ---- listed ---------------------------------------------------------------------------------------------------------------
//
// LFM2-VL (https://arxiv.org/abs/2511.23404): a picture is a row of patches with zeros behind them (clip.c); squares of patches
// become one feature.
//
//   rows of patches of the tower -> squares joined (- norm) - linear - act - linear

static void resolve_listed(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve_below(c, s, a, "vision_tower.") || !part_is_usual(c, s, "vision"))
		return;
	if (!TRAITS_OF(part_of(s, "vision"), clip_vision)->listed)
		config_fail(c, STATUS_UNSUPPORTED, "vision_config: a tower whose patches come as rows is supported here, not %s",
			part_of(s, "vision")->row->model_type);
	struct vlm *v = s->own;
	v->looks_last = true;
	v->bias = config_bool(c, "projector_bias", true);
	v->norm = config_bool(c, "projector_use_layernorm", true);
	v->wide = config_size(c, "projector_hidden_size", -1);
	v->downsample = config_size(c, "downsample_factor", 2);
	s->act = config_activation(c, "projector_hidden_act", ACT_GELU);
	s->norm_eps = 1e-5;
	if (!c->error.status && (v->downsample < 1 || v->downsample > 64 || v->wide < 1))
		config_fail(c, STATUS_BAD_INPUT, "downsample_factor should be from 1 to 64, projector_hidden_size more than 0");
}

static graph_value see_listed(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	int64_t h = tower->hidden_size, m = vlm_of(s)->downsample;
	struct body io = { 0 };
	(void)text;
	const struct spec *outer = part_enter(b, "vision");
	vision_tower_inputs(b, &io, "image_batch");
	graph_enter(g, "vision");
	tower->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_value one = op_add(g, op_mul(g, op_slice(g, io.grid, 1, 0, 1), graph_i64(g, 0)), graph_i64(g, 1)); // [pictures, 1]
	graph_value grid = op_concat(g, 2, (graph_value[]){ one, io.grid }, 1);
	graph_value rows = op_squeeze(g, op_dim(g, io.last, 1), 0), first = op_sub(g, op_cumsum(g, one, 0), graph_i64(g, 1));
	graph_value place = grid_squares(b, grid, op_squeeze(g, op_mul(g, first, rows), 1), m);
	graph_value x = op_gather(g, op_reshape(g, io.last, 2, (int64_t[]){ -1, h }), place, 0); // [features, m * m, width]
	x = vlm_project(b, op_reshape(g, x, 2, (int64_t[]){ -1, h * m * m }), h * m * m);
	return ids.id ? vlm_take(b, ids, x, x) : x;
}

static void build_listed(struct build *b)
{
	vlm_build(b, see_listed);
}

const struct family vlm_listed = {
	.name = "vision-language-listed",
	.architecture = "multimodal",
	.resolve = resolve_listed,
	.build = build_listed,
	.graphs = vlm_graphs,
	.hints = vlm_hints,
	.heads = vlm_heads,
};
