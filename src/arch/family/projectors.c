// SPDX-License-Identifier: Apache-2.0
// Vision-language models that differ from LLaVA in what joins the vision tower to the text.
//
//   aligned:   the tower's last result - linear - GELU - linear                      (DeepSeek-VL,
//              https://arxiv.org/abs/2403.05525)
//              (Janus, https://arxiv.org/abs/2410.13848: as many linear layers as its configuration says)
//   linear:    the tower's last result - linear          (PaliGemma, https://arxiv.org/abs/2407.07726; every token looks back
//              only, as the class does without token_type_ids)
//   shuffled:  squares of features become one, wide - (norm) - linear - x * silu(gate) - linear
//                                                    (Aya Vision, https://arxiv.org/abs/2505.08751; Command A Vision)
//   squared:   squares of features become one, norm - linear - act - linear         (InternVL3, https://arxiv.org/abs/2504.10479)
//   pooled:    the tower's last result, the mean of squares, norm - linear; the tokens of a picture see each other
//                                                                                   (Gemma 3, https://arxiv.org/abs/2503.19786)
//   asked:     learned queries attend to the tower's state, norm - two linear layers (Aria, https://arxiv.org/abs/2410.05993)
//   tokened:   squares joined - linear - norm - softmax - a table of visual words    (Ovis, https://arxiv.org/abs/2405.20797)
//   convolved: the tower's map - two convolutions that halve it - linear (GOT-OCR 2.0, https://arxiv.org/abs/2409.01704)
//   connected: rows of pictures, as many as the row with most has; squares of features become one - linear
//                                                                                   (Idefics3, https://arxiv.org/abs/2408.12637)
#include "arch/block/image.h"
#include "arch/family/rotary.h"
#include "arch/family/vlm.h"

// ---- aligned ------------------------------------------------------------------------------------------------------------

static void resolve_aligned(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve_below(c, s, a, "vision_model."))
		return;
	struct vlm *v = s->own;
	v->looks_last = v->bias = true;
	s->act = ACT_GELU;
	const json_t *depth = json_object_get(config_get(c, "vision_config"), "depth"); // Janus has so many linear layers
	v->joints = json_is_integer(depth) ? json_integer_value(depth) : 2;
	if (!c->error.status && (v->joints < 1 || v->joints > CONFIG_COUNT_MOST))
		config_fail(c, STATUS_BAD_INPUT, "vision_config.depth should be from 1 to %d", CONFIG_COUNT_MOST);
}

static graph_value align(struct build *b, graph_value x)
{
	int64_t in = vlm_vision_width(b->s), out = part_of(b->s, "text")->hidden_size;
	if (!weight_named(b, "projector.more"))
		return vlm_project(b, x, in);
	graph_enter(b->g, "projector");
	x = linear(b, "projector.1", x, in, out, true);
	for (b->layer = 0; b->layer < vlm_of(b->s)->joints - 1 && !graph_failed(b->g); b->layer++)
		x = linear(b, "projector.more", activate(b, part_of(b->s, "vision")->act, x), out, out, true);
	graph_leave(b->g);
	return x;
}

static graph_value see_aligned(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see(b, ids, align);
}

static void build_aligned(struct build *b)
{
	vlm_build(b, see_aligned);
}

const struct family vlm_aligned = {
	.name = "vision-language-aligned",
	.architecture = "multimodal",
	.resolve = resolve_aligned,
	.build = build_aligned,
	.graphs = vlm_graphs,
	.hints = vlm_hints,
	.heads = vlm_heads,
};

// ---- linear -------------------------------------------------------------------------------------------------------------

static void resolve_linear(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, true))
		return;
	struct vlm *v = s->own;
	v->looks_last = true;
}

static graph_value join_linear(struct build *b, graph_value x)
{
	return linear(b, "projector", x, vlm_vision_width(b->s), part_of(b->s, "text")->hidden_size, true);
}

static graph_value see_linear(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see(b, ids, join_linear);
}

static void build_linear(struct build *b)
{
	vlm_build(b, see_linear);
}

static void body_linear(struct build *b, struct body *io)
{
	vlm_states(b, io, see_linear);
}

const struct family vlm_linear = {
	.name = "vision-language-linear",
	.architecture = "multimodal",
	.resolve = resolve_linear,
	.build = build_linear,
	.body = body_linear,
	.graphs = vlm_graphs,
	.hints = vlm_hints,
	.heads = vlm_heads,
};

// ---- shuffled -----------------------------------------------------------------------------------------------------------

static void resolve_shuffled(struct config *c, struct spec *s, struct arena *a)
{
	bool has_norm = TRAITS_OF(s, vlm_shuffled)->projector_norm;
	if (!(has_norm ? vlm_resolve(c, s, a, true) : vlm_resolve_below(c, s, a, "vision_tower.")))
		return;
	struct vlm *v = s->own;
	if (has_norm)
		vlm_resolve_layers(c, s, a, false);
	v->norm = v->by_picture = has_norm;
	v->looks_last = !has_norm;
	v->downsample = config_size(c, "downsample_factor", -1);
	v->wide = config_size(c, "alignment_intermediate_size", part_of(s, "text")->hidden_size);
	s->norm_eps = config_real(c, "adapter_layer_norm_eps", 1e-6);
	const struct spec *tower = part_of(s, "vision");
	int64_t side = tower->image_size / tower->patch_size;
	if (!c->error.status && (v->downsample < 1 || side % v->downsample || vlm_picture_tokens(s) != side * side))
		config_fail(c, STATUS_BAD_INPUT, "downsample_factor %lld: %lld features are not %lld lines that divide by it",
			(long long)v->downsample, (long long)vlm_picture_tokens(s), (long long)side);
	if (!c->error.status && (v->wide < 2 || v->wide % 2))
		config_fail(c, STATUS_BAD_INPUT, "alignment_intermediate_size should be even");
}

// x [pictures, side * side, width] -> [pictures, (side / f)^2, width * f * f]
static graph_value join_shuffled(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct vlm *v = vlm_of(s);
	int64_t f = v->downsample, wide = vlm_vision_width(s);
	x = vlm_shuffle(b, x, vlm_side(s), f, wide);
	graph_enter(g, "projector");
	if (v->norm)
		x = layer_norm(b, "projector.norm", x, wide * f * f);
	x = linear(b, "projector.1", x, wide * f * f, v->wide, true);
	x = op_mul(g, op_silu(g, op_slice(g, x, 2, v->wide / 2, v->wide)), op_slice(g, x, 2, 0, v->wide / 2));
	x = linear(b, "projector.2", x, v->wide / 2, part_of(s, "text")->hidden_size, true);
	graph_leave(g);
	return x;
}

static graph_value see_shuffled(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see(b, ids, join_shuffled);
}

static void build_shuffled(struct build *b)
{
	vlm_build(b, see_shuffled);
}

const struct family vlm_shuffled = {
	.name = "vision-language-shuffled",
	.architecture = "multimodal",
	.resolve = resolve_shuffled,
	.build = build_shuffled,
	.graphs = vlm_graphs,
	.hints = vlm_hints,
	.heads = vlm_heads,
	.traits = FAMILY_TRAIT_LIST(vlm_shuffled, VLM_SHUFFLED_TRAITS),
};

// ---- squared ------------------------------------------------------------------------------------------------------------

static void resolve_squared(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, false))
		return;
	vlm_resolve_layers(c, s, a, false);
	struct vlm *v = s->own;
	const json_t *layer = config_get(c, "vision_feature_layer");
	v->looks_last = json_is_integer(layer) && json_integer_value(layer) == -1;
	v->bias = v->norm = v->by_picture = true;
	s->act = config_activation(c, "projector_hidden_act", ACT_GELU);
	s->norm_eps = 1e-5;
	double ratio = config_real(c, "downsample_ratio", 0.5);
	v->downsample = ratio > 0 && ratio <= 1 ? (int64_t)(1 / ratio) : 0;
	int64_t side = vlm_side(s);
	bool bad = v->downsample < 1 || (double)v->downsample * ratio != 1 || side % v->downsample ||
		vlm_picture_tokens(s) != side * side;
	if (!c->error.status && bad)
		config_fail(c, STATUS_BAD_INPUT, "downsample_ratio %g: %lld features are no %lld lines that it divides", ratio,
			(long long)vlm_picture_tokens(s), (long long)side);
	if (!c->error.status && json_is_array(layer))
		config_fail(c, STATUS_BAD_INPUT, "vision_feature_layer should be a number");
}

static graph_value join_squared(struct build *b, graph_value x)
{
	const struct vlm *v = vlm_of(b->s);
	int64_t wide = part_of(b->s, "vision")->hidden_size;
	if (v->looks_last && v->drops_first)
		x = op_slice(b->g, x, 1, 1, INT64_MAX); // the class token
	x = vlm_shuffle(b, x, vlm_side(b->s), v->downsample, wide);
	return vlm_project(b, x, wide * v->downsample * v->downsample); // [pictures, tokens, text]
}

static graph_value see_squared(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see(b, ids, join_squared);
}

static void build_squared(struct build *b)
{
	vlm_build(b, see_squared);
}

const struct family vlm_squared = {
	.name = "vision-language-squared",
	.architecture = "multimodal",
	.resolve = resolve_squared,
	.build = build_squared,
	.graphs = vlm_graphs,
	.hints = vlm_hints,
	.heads = vlm_heads,
};

// ---- pooled -------------------------------------------------------------------------------------------------------------

static void resolve_pooled(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, false))
		return;
	struct vlm *v = s->own;
	v->looks_last = v->by_picture = v->blocks = true;
	int64_t side = vlm_side(s), tokens = config_size(c, "mm_tokens_per_image", 256), few = 0;
	while ((few + 1) * (few + 1) <= tokens)
		few++;
	v->downsample = few ? side / few : 0;
	s->norm_eps = part_of(s, "vision")->norm_eps;
	if (!c->error.status && (v->downsample < 1 || side / v->downsample != few))
		config_fail(c, STATUS_BAD_INPUT,
			"mm_tokens_per_image %lld: a grid of %lld by %lld features is no so many squares", (long long)tokens,
			(long long)side, (long long)side);
}

// x [pictures, side * side, width] -> [pictures, tokens, text]
static graph_value join_pooled(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t k = vlm_of(b->s)->downsample, side = vlm_side(b->s), wide = vlm_vision_width(b->s);
	graph_enter(g, "projector");
	graph_value map = map_of_size(b, x, side, side); // [pictures, width, side, side]
	map = op_average_pool(g, map, 2, (int64_t[]){ k, k }, (int64_t[]){ k, k }, (int64_t[]){ 0, 0, 0, 0 }, false, true);
	graph_value w = WEIGHT(b, "projector", "", wide, part_of(b->s, "text")->hidden_size);
	x = op_linear_in_out(g, rms_norm(b, "projector.norm", tokens_of(b, map), wide), w, NO_VALUE);
	graph_leave(g);
	return x;
}

static graph_value see_pooled(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see(b, ids, join_pooled);
}

static void build_pooled(struct build *b)
{
	vlm_build(b, see_pooled);
}

const struct family vlm_pooled = {
	.name = "vision-language-pooled",
	.architecture = "multimodal",
	.resolve = resolve_pooled,
	.build = build_pooled,
	.graphs = vlm_graphs,
	.hints = vlm_hints,
	.heads = vlm_heads,
};

// ---- connected ----------------------------------------------------------------------------------------------------------

// How a text is pooled is said beside text_config.
static void resolve_classes(struct config *c, struct spec *s)
{
	if (!TRAITS_OF(s, vlm_connected)->normed) // its classes have a head of their own
		head_refused(c, s);
	else if (part_is_usual(c, s, "text"))
		rotary_pools_as(c, part_of(s, "text"));
}

static void resolve_connected(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve_parts(c, s, a, false, (const char *const[]){ "model.text_model.", "text_model.", NULL },
		    (const char *const[]){ "model.vision_model.", "vision_model.", NULL }))
		return;
	struct vlm *v = s->own;
	v->looks_last = true;
	v->downsample = config_size(c, "scale_factor", 2);
	part_of(s, "text")->labels = s->labels;
	if (head_how(s) & (VLM_TAGS | VLM_SORTS))
		resolve_classes(c, s);
	if (!c->error.status && (v->downsample < 1 || vlm_side(s) % v->downsample))
		config_fail(c, STATUS_BAD_INPUT, "scale_factor %lld does not divide %lld lines of features",
			(long long)v->downsample, (long long)vlm_side(s));
}

// Pictures that are all zero fill up rows and count for nothing. pixels [all, channels, size, size] -> i64 [all]: the places of
// those that are not, in their order; what is after them repeats the first. count i64 [1]: how many are not.
static graph_value real_pictures(struct build *b, graph_value pixels, graph_value *count)
{
	struct graph *g = b->g;
	graph_value flat = op_reshape(g, op_abs(g, pixels), 2, (int64_t[]){ 0, -1 });
	graph_value real = op_cast(g, op_greater(g, op_reduce_max(g, flat, 1, false), graph_f32(g, 0)), DTYPE_I64); // [all]
	graph_value rank = op_mul(g, op_cumsum(g, real, 0), real);                                                  // from 1
	*count = op_reduce_sum(g, real, 0, true);
	graph_value all = op_squeeze(g, op_dim(g, pixels, 0), 0), one = graph_i64(g, 1);
	graph_value wanted = op_unsqueeze(g, op_range(g, one, op_add(g, all, one), one), 1); // [all, 1]
	return op_argmax(g, op_cast(g, op_equal(g, wanted, rank), DTYPE_I64), 1, false);
}

graph_value vlm_see_rows(
	struct build *b, graph_value ids, bool any_size, int64_t tokens, graph_value (*join)(struct build *b, graph_value x))
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	int64_t shape[] = { graph_symbol(g, "image_batch"), graph_symbol(g, "images"), tower->channels,
		any_size ? graph_symbol(g, "height") : tower->image_size,
		any_size ? graph_symbol(g, "width") : tower->image_width };
	graph_value pixels = graph_input(g, "pixel_values", DTYPE_F32, 5, shape);
	graph_value size[] = { op_mul(g, op_dim(g, pixels, 0), op_dim(g, pixels, 1)), op_slice(g, op_shape(g, pixels), 0, 2, 5) };
	pixels = op_reshape_to(g, pixels, op_concat(g, 2, size, 0)); // [all, channels, height, width]
	graph_value count, order = real_pictures(b, pixels, &count), x = op_gather(g, join(b, vlm_look(b, pixels)), order, 0);
	if (!ids.id)
		return x;
	graph_value is_image, number, rows = op_reshape(g, x, 2, (int64_t[]){ -1, part_of(s, "text")->hidden_size });
	vlm_places(b, ids, &is_image, &number);
	if (head_how(s) & VLM_GIVES_FEATURES) {
		graph_value all = op_mul(g, count, graph_i64(g, tokens)); // [1]
		graph_output(g, "image_hidden_states", op_slice_to(g, rows, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), all));
	}
	return vlm_merge(b, ids, is_image, number, rows);
}

static graph_value join_connected(struct build *b, graph_value x)
{
	int64_t f = vlm_of(b->s)->downsample, wide = vlm_vision_width(b->s);
	graph_enter(b->g, "projector");
	x = vlm_shuffle(b, x, vlm_side(b->s), f, wide);
	const struct spec *text = part_of(b->s, "text");
	x = linear(b, "projector", x, wide * f * f, text->hidden_size, false);
	if (TRAITS_OF(b->s, vlm_connected)->normed)
		x = op_rms_norm(b->g, x, WEIGHT(b, "projector.norm", "weight", text->hidden_size), (float)text->norm_eps);
	graph_leave(b->g);
	return x; // [all, tokens, text]
}

static graph_value see_connected(struct build *b, graph_value ids, struct body *text)
{
	int64_t few = vlm_side(b->s) / vlm_of(b->s)->downsample;
	(void)text;
	return vlm_see_rows(b, ids, false, few * few, join_connected);
}

static void build_connected(struct build *b)
{
	vlm_build(b, see_connected);
}

static void body_connected(struct build *b, struct body *io)
{
	vlm_states(b, io, see_connected);
}

static void hints_connected(const struct spec *s, struct input_hints *out)
{
	vlm_hints(s, out);
	out->symbols[0] = (struct input_symbol){ "images", 1 };
}

static const struct family_head connected_heads[] = {
	{ &head_model, NULL, VLM_GIVES_FEATURES },
	{ &head_conditional, NULL, VLM_GENERATES },
	{ &head_masked_lm, NULL, VLM_FILLS },
	{ &head_token, NULL, VLM_TAGS },
	{ &head_sequence, NULL, VLM_SORTS },
	{ 0 },
};

const struct family vlm_connected = {
	.name = "vision-language-connected",
	.architecture = "multimodal",
	.resolve = resolve_connected,
	.build = build_connected,
	.body = body_connected,
	.graphs = vlm_graphs,
	.hints = hints_connected,
	.heads = connected_heads,
	.traits = FAMILY_TRAIT_LIST(vlm_connected, VLM_CONNECTED_TRAITS),
};

// ---- convolved ----------------------------------------------------------------------------------------------------------

static void resolve_convolved(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, false) || !part_is_usual(c, s, "vision"))
		return;
	struct vlm *v = s->own;
	v->looks_last = v->by_picture = true;
}

// map [pictures, channels, rows, columns] -> [pictures, tokens, text]
static graph_value join_convolved(struct build *b, graph_value map)
{
	int64_t out = part_of(b->s, "text")->hidden_size, between = 2 * value_dim(b->g, map, 1);
	graph_enter(b->g, "projector");
	map = conv(b, "projector.1", map, (struct conv){ .out = between, .kernel = 3, .stride = 2, .pad = 1 });
	map = conv(b, "projector.2", map, (struct conv){ .out = out, .kernel = 3, .stride = 2, .pad = 1 });
	graph_value x = linear(b, "projector", tokens_of(b, map), out, out, true);
	graph_leave(b->g);
	return x;
}

static graph_value see_convolved(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see(b, ids, join_convolved);
}

static void build_convolved(struct build *b)
{
	vlm_build(b, see_convolved);
}

static void hints_convolved(const struct spec *s, struct input_hints *out)
{
	int64_t side = (vlm_side(s) + 3) / 4; // a stride of two halves it, rounded up
	vlm_hints(s, out);
	out->image_tokens = side * side;
}

const struct family vlm_convolved = {
	.name = "vision-language-convolved",
	.architecture = "multimodal",
	.resolve = resolve_convolved,
	.build = build_convolved,
	.graphs = vlm_graphs,
	.hints = hints_convolved,
	.heads = vlm_heads,
};

// ---- tokened ------------------------------------------------------------------------------------------------------------

// Of vision_config, which the tower does not read.
static int64_t vision_size(struct config *c, const char *key, int64_t usual)
{
	const json_t *n = json_object_get(config_get(c, "vision_config"), key);
	int64_t size = json_is_integer(n) ? json_integer_value(n) : usual;
	if (n && (!json_is_integer(n) || size < 0 || size > 1 << 16))
		config_fail(c, STATUS_BAD_INPUT, "vision_config.%s should be from 0 to 65536", key);
	return size;
}

static void resolve_tokened(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, false) || !part_is_usual(c, s, "vision"))
		return;
	struct vlm *v = s->own;
	const struct spec *tower = part_of(s, "vision");
	v->looks_last = true;
	v->downsample = vision_size(c, "hidden_stride", 1);
	int64_t marks = vision_size(c, "num_visual_indicator_tokens", 5);
	const char *how = json_string_value(json_object_get(config_get(c, "vision_config"), "tokenize_function"));
	v->hard = how && text_is(how, "st_argmax");
	if (how && !v->hard && !text_is(how, "softmax"))
		config_fail(c, STATUS_UNSUPPORTED, "the tokenize_function %s is not supported yet", how);
	v->marks = config_sizes(c, "visual_indicator_token_ids", a, 1, &v->mark_count);
	v->wide = tower->vocab_size - marks;
	if (!c->error.status && (v->wide < 1 || v->mark_count > marks || v->downsample < 1 || v->downsample > vlm_side(s)))
		config_fail(c, STATUS_BAD_INPUT,
			"%lld visual words, %lld of them for %lld visual_indicator_token_ids; hidden_stride %lld",
			(long long)tower->vocab_size, (long long)marks, (long long)v->mark_count, (long long)v->downsample);
}

static graph_value visual_words(struct build *b)
{
	const struct spec *s = b->s;
	return WEIGHT(b, "tokens.table", "weight", part_of(s, "vision")->vocab_size, part_of(s, "text")->hidden_size);
}

// x [pictures, side * side, width] -> [pictures, tokens, text]; zeros fill up squares.
static graph_value join_tokened(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct vlm *v = vlm_of(b->s);
	int64_t f = v->downsample, side = vlm_side(b->s), wide = vlm_vision_width(b->s), more = (f - side % f) % f;
	graph_enter(g, "projector");
	if (more) {
		x = op_reshape(g, x, 4, (int64_t[]){ -1, side, side, wide });
		x = op_reshape(g, op_pad(g, op_pad(g, x, 1, 0, more), 2, 0, more), 3,
			(int64_t[]){ -1, (side + more) * (side + more), wide });
	}
	if (f > 1)
		x = vlm_shuffle(b, x, side + more, f, wide);
	x = linear(b, "tokens.logits", x, wide * f * f, v->wide, false);
	x = layer_norm_eps(b, "tokens.norm", x, 1e-5);
	graph_value words = op_slice(g, visual_words(b), 0, 0, v->wide);
	x = v->hard ? op_gather(g, words, op_argmax(g, x, 2, false), 0) : op_matmul(g, op_softmax(g, x, 2), words);
	graph_leave(g);
	return x;
}

// The last visual words stand where the marks are.
static graph_value see_tokened(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct vlm *v = vlm_of(b->s);
	graph_value x = vlm_see(b, ids, join_tokened);
	(void)text;
	for (int64_t i = 0; ids.id && i < v->mark_count && !graph_failed(g); i++) {
		if (v->marks[i] >= part_of(b->s, "text")->vocab_size)
			continue; // no text has it
		graph_value is = op_unsqueeze(g, op_equal(g, ids, graph_i64(g, v->marks[i])), 2);
		x = op_where(g, is, op_slice(g, visual_words(b), 0, v->wide + i, v->wide + i + 1), x);
	}
	return x;
}

static void build_tokened(struct build *b)
{
	vlm_build(b, see_tokened);
}

static void hints_tokened(const struct spec *s, struct input_hints *out)
{
	int64_t f = vlm_of(s)->downsample, side = (vlm_side(s) + f - 1) / f;
	vlm_hints(s, out);
	out->image_tokens = side * side;
}

const struct family vlm_tokened = {
	.name = "vision-language-tokened",
	.architecture = "multimodal",
	.resolve = resolve_tokened,
	.build = build_tokened,
	.graphs = vlm_graphs,
	.hints = hints_tokened,
	.heads = vlm_heads,
};

// ---- asked ---------------------------------------------------------------------------------------------------------------

// Of how many patches come how many tokens: {"1225": 128, "4900": 256}.
static void resolve_asked(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, false))
		return;
	vlm_resolve_layers(c, s, a, true);
	struct vlm *v = s->own;
	v->drops_first = false;
	int64_t patches = vlm_picture_tokens(s);
	const json_t *table = config_get(c, "projector_patch_to_query_dict");
	table = table ? table : json_object_get(c->defaults, "projector_patch_to_query_dict");
	const json_t *queries = json_object_get(table, arena_printf(a, "%lld", (long long)patches));
	int64_t most = config_size(c, "max_value_projector_patch_to_query_dict", 0);
	v->queries = json_integer_value(queries);
	v->wide = most ? most : v->queries;
	if (!c->error.status && (!json_is_integer(queries) || v->queries < 1 || v->queries > v->wide || v->layer_count != 1))
		config_fail(c, STATUS_BAD_INPUT, "projector_patch_to_query_dict says nothing good of %lld patches",
			(long long)patches);
}

// x [pictures, patches, width] -> [pictures, queries, text]
static graph_value join_asked(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct vlm *v = vlm_of(b->s);
	const struct spec *tower = part_of(b->s, "vision");
	int64_t h = tower->hidden_size, out = part_of(b->s, "text")->hidden_size;
	graph_enter(g, "projector");
	graph_value queries = op_slice(g, WEIGHT(b, "projector.query", "", v->wide, h), 0, 0, v->queries);
	graph_value w = WEIGHT(b, "projector.attn", "in_proj_weight", 3 * h, h),
		    bias = WEIGHT(b, "projector.attn", "in_proj_bias", 3 * h), y[3];
	graph_value asks = layer_norm_eps(b, "projector.query.norm", each_image(b, op_unsqueeze(g, queries, 0), x), 1e-5);
	x = layer_norm_eps(b, "projector.norm", x, 1e-5);
	y[0] = linear(b, "projector.q", asks, h, h, false);
	y[1] = linear(b, "projector.k", x, h, h, false);
	y[2] = linear(b, "projector.v", x, h, h, false);
	for (int i = 0; i < 3; i++)
		y[i] = op_linear(g, y[i], op_slice(g, w, 0, i * h, (i + 1) * h), op_slice(g, bias, 0, i * h, (i + 1) * h));
	x = op_attention(
		g, &(struct attention){ y[0], y[1], y[2], .heads = tower->heads, .scale = (float)tower->attention_scale });
	x = linear(b, "projector.after", linear(b, "projector.attn.o", x, h, h, true), h, h, true);
	x = op_gelu_tanh(g, linear(b, "projector.1", layer_norm_eps(b, "projector.last.norm", x, 1e-5), h, out, false));
	x = linear(b, "projector.2", x, out, out, false);
	graph_leave(g);
	return x;
}

static graph_value see_asked(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_see(b, ids, join_asked);
}

static void build_asked(struct build *b)
{
	vlm_build(b, see_asked);
}

static void hints_asked(const struct spec *s, struct input_hints *out)
{
	vlm_hints(s, out);
	out->image_tokens = vlm_of(s)->queries;
}

const struct family vlm_asked = {
	.name = "vision-language-asked",
	.architecture = "multimodal",
	.resolve = resolve_asked,
	.build = build_asked,
	.graphs = vlm_graphs,
	.hints = hints_asked,
	.heads = vlm_heads,
};
