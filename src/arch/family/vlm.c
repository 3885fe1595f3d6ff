// SPDX-License-Identifier: Apache-2.0
// Vision-language models: a picture's features stand in the text where its tokens are (LLaVA, Liu et al. 2023,
// https://arxiv.org/abs/2304.08485; https://arxiv.org/abs/2310.03744; ViP-LLaVA, https://arxiv.org/abs/2312.00784).
//
//   pixels -> vision tower -> one or more of its states, without the class token -(norm)- linear - act - linear -+
//                                                                                                                |
//   ids -> token embedding -------------------------------------------> where a token is the image token: <------+-> text -> head
#include "arch/family/vlm.h"
#include "arch/family/decoder.h"

// ---- from config.json ---------------------------------------------------------------------------------------------------

bool vlm_resolve_text(struct config *c, struct spec *s, struct arena *a, bool or_text, const char *const *text_roots)
{
	const struct head *head = head_how(s) & VLM_GENERATES ? &head_causal_lm
		: head_how(s) & VLM_FILLS                     ? &head_masked_lm
		: head_how(s) & VLM_TAGS                      ? &head_token
		: head_how(s) & VLM_SORTS                     ? &head_sequence
							      : NULL;
	struct vlm *v = ARENA_NEW(a, struct vlm);
	s->own = v;
	struct spec *text = resolve_part(c, s, a, "text", "text_config", NULL, head, text_roots);
	const json_t *token = config_get(c, "image_token");
	v->image_token_id = json_integer_value(token);
	if (!json_is_integer(token))
		config_fail(c, STATUS_BAD_INPUT, "the token that parts of an image or sound replace should be a number");
	if (c->error.status)
		return false;
	// The head is this class's own: a plain linear layer, whatever the text type's has.
	text->tied = config_bool(c, "tie_word_embeddings", false) || (or_text && text->tied);
	text->traits.lm_bias = false;
	text->logit_scale = text->logit_softcap = 0;
	return true;
}

bool vlm_resolve_parts(struct config *c, struct spec *s, struct arena *a, bool or_text, const char *const *text_roots,
	const char *const *vision_roots)
{
	if (!vlm_resolve_text(c, s, a, or_text, text_roots))
		return false;
	struct spec *tower = resolve_part(c, s, a, "vision", "vision_config", NULL, NULL, vision_roots);
	if (tower && (tower->patch_size < 1 || tower->channels < 1 || tower->hidden_size < 1))
		config_fail(c, STATUS_UNSUPPORTED,
			"vision_config: a tower of type %s, which gives no patches, is not supported yet",
			tower->row->model_type);
	return !c->error.status;
}

bool vlm_resolve(struct config *c, struct spec *s, struct arena *a, bool or_text)
{
	if (!c->checkpoint->weight_count)
		s->prefix = ""; // a new file has each part's place first
	return vlm_resolve_parts(c, s, a, or_text, (const char *const[]){ "language_model.", "model.language_model.", NULL },
		(const char *const[]){ "vision_tower.", "model.vision_tower.", "vision_model.", "model.vision_model.", NULL });
}

bool vlm_resolve_below(struct config *c, struct spec *s, struct arena *a, const char *vision_root)
{
	const char *vision[] = { arena_printf(a, "model.%s", vision_root), vision_root, NULL };
	return vlm_resolve_parts(
		c, s, a, false, (const char *const[]){ "model.language_model.", "language_model.", NULL }, vision);
}

void vlm_resolve_layers(struct config *c, struct spec *s, struct arena *a, bool drops_first)
{
	struct vlm *v = s->own;
	int64_t states = part_of(s, "vision")->layers + 1;
	const json_t *older = config_given(c, "vision_feature_layers"), *given = config_get(c, "vision_feature_layer");
	given = older && !config_given(c, "vision_feature_layer") ? older : given;
	size_t n = json_is_array(given) ? json_array_size(given) : 1;
	int64_t *layers = ARENA_ARRAY(a, n + 1, int64_t);
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_is_array(given) ? json_array_get(given, i) : given;
		int64_t at = json_integer_value(item);
		layers[i] = at < 0 ? at + states : at;
		if (!json_is_integer(item) || layers[i] < 0 || layers[i] >= states)
			config_fail(c, STATUS_BAD_INPUT, "vision_feature_layer should be from %lld to %lld", (long long)-states,
				(long long)states - 1);
	}
	if (!n)
		config_fail(c, STATUS_BAD_INPUT, "vision_feature_layer names no layer");
	v->layers = layers;
	v->layer_count = (int64_t)n;
	v->drops_first = drops_first;
	if (drops_first)
		return;
	const char *strategy = config_text(c, "vision_feature_select_strategy");
	if (strategy && !text_is(strategy, "default") && !text_is(strategy, "full"))
		config_fail(c, STATUS_UNSUPPORTED, "the vision_feature_select_strategy %s is not known", strategy);
	v->drops_first = !strategy || text_is(strategy, "default");
}

// Video-LLaVA (https://arxiv.org/abs/2311.10122): two towers of one configuration.
static bool resolve_films(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const texts[] = { "language_model.", "model.language_model.", NULL };
	static const char *const images[] = { "image_tower.", "model.image_tower.", NULL };
	static const char *const films[] = { "video_tower.", "model.video_tower.", NULL };
	if (!c->checkpoint->weight_count)
		s->prefix = "";
	if (!vlm_resolve_parts(c, s, a, true, texts, images) ||
		!resolve_part(c, s, a, "film", "vision_config", NULL, NULL, films))
		return false;
	((struct vlm *)s->own)->film_token_id = config_size(c, "video_token", 32001);
	return true;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	bool norm = TRAITS_OF(s, vlm)->projector_norm;
	if (!(TRAITS_OF(s, vlm)->films ? resolve_films(c, s, a) : vlm_resolve(c, s, a, !norm)))
		return;
	vlm_resolve_layers(c, s, a, norm);
	struct vlm *v = s->own;
	v->norm = v->by_picture = norm;
	v->bias = norm || config_bool(c, "multimodal_projector_bias", true);
	s->act = config_activation(c, "projector_hidden_act", ACT_GELU);
	s->norm_eps = config_real(c, "projector_layernorm_eps", 1e-5);
}

// ---- building ------------------------------------------------------------------------------------------------------------

int64_t vlm_vision_width(const struct spec *s)
{
	return part_of(s, "vision")->hidden_size * (vlm_of(s)->looks_last ? 1 : vlm_of(s)->layer_count);
}

int64_t vlm_picture_tokens(const struct spec *s)
{
	return part_of(s, "vision")->image_tokens - vlm_of(s)->drops_first;
}

int64_t vlm_side(const struct spec *s)
{
	return part_of(s, "vision")->image_size / part_of(s, "vision")->patch_size;
}

graph_value vlm_shuffle(struct build *b, graph_value x, int64_t side, int64_t f, int64_t width)
{
	struct graph *g = b->g;
	int64_t few = side / f;
	x = op_reshape(g, x, 4, (int64_t[]){ -1, side, few, width * f });
	x = op_reshape(g, op_transpose(g, x, 4, (int[]){ 0, 2, 1, 3 }), 4, (int64_t[]){ -1, few, few, width * f * f });
	return op_reshape(g, op_transpose(g, x, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ -1, few * few, width * f * f });
}

// By the tower that is this part; drops: without the first token of each picture.
static graph_value look_by(struct build *b, const char *tower, graph_value pixels, bool drops)
{
	struct graph *g = b->g;
	const struct vlm *v = vlm_of(b->s);
	struct body io = { .pixels = pixels };
	graph_value x[64];
	const struct spec *outer = part_enter(b, tower);
	graph_enter(g, tower);
	b->s->row->family->body(b, &io);
	for (int64_t i = 0; i < v->layer_count; i++) {
		if (i == 64 || v->layers[i] >= io.state_count) {
			graph_fail(g, STATUS_UNSUPPORTED,
				"vision_feature_layer: %lld states of the %lld that the vision tower has",
				(long long)v->layer_count, (long long)io.state_count);
			break;
		}
		x[i] = drops ? op_slice(g, io.states[v->layers[i]], 1, 1, INT64_MAX) : io.states[v->layers[i]];
	}
	graph_value y = graph_failed(g) ? NO_VALUE : v->looks_last ? io.last : op_concat(g, (int)v->layer_count, x, 2);
	graph_leave(g);
	part_leave(b, outer);
	return y;
}

graph_value vlm_look(struct build *b, graph_value pixels)
{
	return look_by(b, "vision", pixels, vlm_of(b->s)->drops_first);
}

graph_value vlm_project(struct build *b, graph_value x, int64_t in)
{
	const struct spec *s = b->s;
	int64_t out = part_of(s, "text")->hidden_size, wide = vlm_of(s)->wide ? vlm_of(s)->wide : out;
	bool bias = vlm_of(s)->bias;
	graph_enter(b->g, "projector");
	if (vlm_of(s)->norm)
		x = layer_norm(b, "projector.norm", x, in);
	x = linear(b, "projector.2", activate(b, s->act, linear(b, "projector.1", x, in, wide, bias)), wide, out, bias);
	graph_leave(b->g);
	return x;
}

void vlm_places(struct build *b, graph_value ids, graph_value *is_image, graph_value *number)
{
	vlm_places_of(b, ids, vlm_of(b->s)->image_token_id, is_image, number);
}

void vlm_places_of(struct build *b, graph_value ids, int64_t token, graph_value *is_it, graph_value *number)
{
	struct graph *g = b->g;
	*is_it = op_equal(g, ids, graph_i64(g, token));
	graph_value one = op_cast(g, *is_it, DTYPE_I64);           // [batch, seq]
	graph_value row = op_reduce_sum(g, one, 1, true);          // [batch, 1]: how many this text has
	graph_value before = op_sub(g, op_cumsum(g, row, 0), row); // and those before it
	graph_value at = op_sub(g, op_add(g, op_cumsum(g, one, 1), before), graph_i64(g, 1));
	*number = op_max(g, at, graph_i64(g, 0)); // a token before the first picture: any place will do
}

graph_value vlm_embed(struct build *b, graph_value ids)
{
	const struct spec *outer = part_enter(b, "text"), *s = b->s;
	graph_value x = embedding(b, "embed.word", ids, s->vocab_size, s->hidden_size);
	if (TRAITS_OF(s, decoder)->scaled_embedding)
		x = op_scale(b->g, x, (float)s->embedding_scale);
	part_leave(b, outer);
	return x; // [batch, seq, text]
}

graph_value vlm_merge(struct build *b, graph_value ids, graph_value is_image, graph_value row, graph_value features)
{
	return vlm_merge_each(b, ids, is_image, op_gather(b->g, features, row, 0));
}

graph_value vlm_merge_each(struct build *b, graph_value ids, graph_value is_image, graph_value each)
{
	struct graph *g = b->g;
	if (vlm_of(b->s)->image_token_id >= part_of(b->s, "text")->vocab_size) // the table has no such row
		ids = op_where(g, is_image, graph_i64(g, 0), ids);
	graph_value tokens = vlm_embed(b, ids);
	return op_where(g, op_unsqueeze(g, is_image, 2), each, tokens);
}

static void text_states(struct build *b, struct body *io)
{
	graph_enter(b->g, "text");
	b->s->row->family->body(b, io);
	graph_leave(b->g);
}

static void build_text(struct build *b, struct body *io)
{
	const struct spec *outer = part_enter(b, "text");
	text_states(b, io);
	(b->s->head ? head_build : head_give_last)(b, io);
	if (io->cache)
		cache_outputs(b, io->cache);
	part_leave(b, outer);
}

// types i64 [batch, keys], 1 where a token is a picture's -> each run of such tokens numbered from 1, 0 elsewhere
static graph_value blocks_of(struct build *b, graph_value types)
{
	struct graph *g = b->g;
	graph_value is = op_cast(g, op_equal(g, types, graph_i64(g, 1)), DTYPE_I64);
	graph_value none = op_sub(g, op_slice(g, is, 1, 0, 1), op_slice(g, is, 1, 0, 1)); // [batch, 1] zeros
	graph_value before = op_concat(g, 2, (graph_value[]){ none, op_slice(g, is, 1, 0, -1) }, 1);
	graph_value begins = op_max(g, op_sub(g, is, before), graph_i64(g, 0));
	return op_mul(g, op_cumsum(g, begins, 1), is);
}

static void types_input(struct build *b, struct body *io, int64_t length)
{
	if (!vlm_of(b->s)->blocks)
		return;
	int64_t shape[] = { graph_symbol(b->g, "batch"), length };
	io->blocks = blocks_of(b, graph_input(b->g, "token_type_ids", DTYPE_I64, 2, shape));
}

static bool is_merged_only(const struct spec *s)
{
	const struct spec *text = part_of(s, "text");
	return !vlm_of(s)->deep_count && !text->mixers && !text->crossing && !text->token_width &&
		text->row->family->shares_cache; // nor has it states besides a cache
}

static const struct arch_graph vision_graph = { "vision_encoder.onnx" },         // pixels to image features
	embed_graph = { "embed_tokens.onnx" },                                   // input_ids to inputs_embeds
	embeds_graph = { "decoder_model_merged.onnx", .there = is_merged_only }; // inputs_embeds and a cache
static const struct arch_graph audio_graph = { "audio_encoder.onnx" };           // a spectrogram to audio features
const struct arch_graph *const vlm_graphs[] = { &vision_graph, &embed_graph, &embeds_graph, NULL };
const struct arch_graph *const vlm_sound_graphs[] = { &audio_graph, &embed_graph, &embeds_graph, NULL };

static void whole_inputs(
	struct build *b, struct body *io, graph_value (*see)(struct build *b, graph_value ids, struct body *text))
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	io->ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	types_input(b, io, shape[1]);
	io->embeds = see(b, io->ids, io);
}

void vlm_states(struct build *b, struct body *io, graph_value (*see)(struct build *b, graph_value ids, struct body *text))
{
	whole_inputs(b, io, see);
	const struct spec *outer = part_enter(b, "text");
	text_states(b, io);
	part_leave(b, outer);
}

void vlm_build(struct build *b, graph_value (*see)(struct build *b, graph_value ids, struct body *text))
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *text = part_of(s, "text");
	int64_t batch = graph_symbol(g, "batch"), shape[] = { batch, graph_symbol(g, "sequence"), text->hidden_size };
	struct body io = { 0 };
	if (b->which == &vision_graph || b->which == &audio_graph) {
		graph_output(g, b->which == &audio_graph ? "audio_features" : "image_features", see(b, NO_VALUE, NULL));
		return;
	}
	if (b->which == &embed_graph) {
		graph_output(g, "inputs_embeds", vlm_embed(b, graph_input(g, "input_ids", DTYPE_I64, 2, shape)));
		return;
	}
	if (b->which == &embeds_graph) {
		io.embeds = graph_input(g, "inputs_embeds", DTYPE_F32, 3, shape);
		io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, (int64_t[]){ batch, cache_total(b) });
		if (text->rope.section[0])
			io.axes = graph_input(g, "position_ids", DTYPE_I64, 3, (int64_t[]){ 3, batch, shape[1] });
		else
			io.positions = graph_input(g, "position_ids", DTYPE_I64, 2, shape);
		types_input(b, &io, cache_total(b));
		io.cache = cache_new(b, text->layers, "");
	} else
		whole_inputs(b, &io, see);
	build_text(b, &io);
}

// What is built is the text part's head, or its last state.
const struct family_head vlm_heads[] = {
	{ &head_model, NULL, VLM_GIVES_FEATURES },
	{ &head_conditional, NULL, VLM_GENERATES },
	{ &head_masked_lm, NULL, VLM_FILLS },
	{ 0 },
};

graph_value vlm_take(struct build *b, graph_value ids, graph_value rows, graph_value given)
{
	graph_value is_image, number;

	vlm_places(b, ids, &is_image, &number);
	if (head_how(b->s) & VLM_GIVES_FEATURES)
		graph_output(b->g, "image_hidden_states", given);
	return vlm_merge(b, ids, is_image, number, rows);
}

static graph_value see_as(
	struct build *b, const char *input, graph_value ids, graph_value (*join)(struct build *b, graph_value x))
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	int64_t shape[] = { graph_symbol(g, "image_batch"), tower->channels, tower->image_size, tower->image_width };
	graph_value pixels = graph_input(g, input, DTYPE_F32, 4, shape);
	graph_value features = join(b, vlm_look(b, pixels)); // [pictures, tokens, text]
	if (!ids.id)
		return features;
	graph_value rows = op_reshape(g, features, 2, (int64_t[]){ -1, part_of(s, "text")->hidden_size });
	return vlm_take(b, ids, rows, vlm_of(s)->by_picture ? features : rows);
}

graph_value vlm_see(struct build *b, graph_value ids, graph_value (*join)(struct build *b, graph_value x))
{
	return see_as(b, "pixel_values", ids, join);
}

static graph_value join(struct build *b, graph_value x)
{
	return vlm_project(b, x, vlm_vision_width(b->s));
}

static graph_value see(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "film");
	(void)text;
	if (!tower)
		return vlm_see(b, ids, join);
	graph_value x = see_as(b, "pixel_values_images", ids, join);
	if (!ids.id)
		return x;
	int64_t shape[] = { graph_symbol(g, "video_batch"), graph_symbol(g, "frames"), tower->channels, tower->image_size,
		tower->image_width };
	graph_value films = graph_input(g, "pixel_values_videos", DTYPE_F32, 5, shape), is_film, number;
	films = look_by(b, "film", op_reshape(g, films, 4, (int64_t[]){ -1, shape[2], shape[3], shape[4] }), false);
	films = op_reshape(g, join(b, films), 2, (int64_t[]){ -1, part_of(s, "text")->hidden_size });
	vlm_places_of(b, ids, vlm_of(s)->film_token_id, &is_film, &number);
	return op_where(g, op_unsqueeze(g, is_film, 2), op_gather(g, films, number, 0), x);
}

static void build(struct build *b)
{
	vlm_build(b, see);
}

void vlm_hints(const struct spec *s, struct input_hints *out)
{
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = vlm_picture_tokens(s);
	if (vlm_of(s)->downsample)
		out->image_tokens /= vlm_of(s)->downsample * vlm_of(s)->downsample;
	if (vlm_of(s)->blocks)
		out->type_vocab_size = 1;
}

static void hints(const struct spec *s, struct input_hints *out)
{
	vlm_hints(s, out);
	if (!TRAITS_OF(s, vlm)->films)
		return;
	out->symbols[0] = (struct input_symbol){ "video_batch", 1, false };
	out->symbols[1] = (struct input_symbol){ "frames", 2, false };
}

const struct family vlm = {
	.name = "vision-language",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.graphs = vlm_graphs,
	.hints = hints,
	.heads = vlm_heads,
	.traits = FAMILY_TRAIT_LIST(vlm, VLM_TRAITS),
};
