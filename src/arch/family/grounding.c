// SPDX-License-Identifier: Apache-2.0
// Grounding DINO: a detector of what a text says, whose phrases and picture look at each other before queries are chosen and
// after (Liu et al. 2023, https://arxiv.org/abs/2303.05499; MM Grounding DINO, https://arxiv.org/abs/2401.02361).
//
//   pixels -> backbone -> maps ----------- +-> layers: fusion - deformable attention -> memory
//   ids -> encoder of phrases -> linear ---+-> layers: fusion - attention in phrases -> words
//   places of memory most alike any word -> boxes -> decoder, which looks at queries, words and memory -> boxes, logits by word
#include <float.h>
#include <math.h>

#include "arch/block/deform.h"
#include "arch/block/detect.h"

struct grounding {
	struct detect detect;
	int64_t levels, text_most;
	bool shared_boxes, shared_offsets;              // all layers have the head of the first
	bool mask_added;                                // phrases are not kept apart in the text's encoder, only preferred
	const int64_t *encoder_points, *decoder_points; // [levels]
};

static const struct grounding *own(const struct build *b)
{
	return b->s->own;
}

// transformers 5 hands the text's encoder a mask of truth values, which eager attention adds to the scores as 1 and 0; its
// default attention, and both kinds in transformers 4, keep phrases apart by it. A file goes by the version that wrote it.
static bool adds_mask(struct config *c)
{
	const char *version = config_text(c, "transformers_version");
	return !version || !text_starts(version, "4.");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct grounding *o = ARENA_NEW(a, struct grounding);
	o->detect.described = true;
	resolve_detector(c, s, a, &o->detect);
	s->own = o;
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	o->detect.queries = config_size(c, "num_queries", 900);
	o->detect.temperature = config_size(c, "positional_embedding_temperature", 20);
	o->levels = config_count(c, "num_feature_levels", 4);
	o->text_most = config_size(c, "max_text_len", 256);
	o->shared_boxes = config_bool(c, "decoder_bbox_embed_share", true);
	o->shared_offsets = config_bool(c, "decoder_cls_embed_share", true);
	o->mask_added = adds_mask(c);
	struct spec *text = resolve_part(c, s, a, "text", "text_config", NULL, &head_token,
		(const char *const[]){ s->head->bare ? "text_backbone." : "model.text_backbone.", "model.text_backbone.",
			"text_backbone.", NULL });
	if (!text || !part_is_usual(c, s, "text"))
		return;
	const struct detect *d = &o->detect;
	if (o->levels < 1 || o->levels > DEFORM_LEVELS_MOST || s->hidden_size % 32 || d->decoder_layers < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld num_feature_levels of %lld channels, which are normed in 32 groups",
			(long long)o->levels, (long long)s->hidden_size);
	int64_t heads = d->encoder_heads / 2;
	if (heads < 1 || s->hidden_size % heads || d->encoder_ffn / 2 < heads || d->encoder_ffn / 2 % heads)
		config_fail(c, STATUS_BAD_INPUT, "half of %lld heads do not divide half of %lld or %lld channels",
			(long long)d->encoder_heads, (long long)d->encoder_ffn, (long long)s->hidden_size);
	bool chosen = config_bool(c, "two_stage", true), learned = config_bool(c, "embedding_init_target", true);
	if (config_size(c, "query_dim", 4) != 4 || !chosen || !learned)
		config_fail(c, STATUS_BAD_INPUT,
			"query_dim other than 4, two_stage: false or embedding_init_target: false: the class cannot run so");
	if (text->traits.positions_from_pad)
		config_fail(c, STATUS_UNSUPPORTED,
			"text_config: a text whose positions are counted from padding is not supported yet");
	if (o->text_most < 1 || d->temperature < 1)
		config_fail(c, STATUS_BAD_INPUT, "max_text_len %lld, positional_embedding_temperature %lld",
			(long long)o->text_most, (long long)d->temperature);
	if (c->error.status)
		return;
	o->encoder_points = deform_resolve_points(c, a, "encoder_n_points", o->levels);
	o->decoder_points = deform_resolve_points(c, a, "decoder_n_points", o->levels);
	const struct spec *backbone = part_of(s, "backbone");
	if (backbone->out_count < 1 || backbone->out_count > o->levels)
		config_fail(c, STATUS_BAD_INPUT, "a backbone of %lld maps for %lld num_feature_levels",
			(long long)backbone->out_count, (long long)o->levels);
	resolve_backbone_image(s, backbone);
}

// What both kinds of tokens are while they are encoded.
struct tokens {
	graph_value vision, words;            // [batch, places, hidden], [batch, seq, hidden]
	graph_value is_word;                  // bool [batch, 1, seq]
	graph_value vision_bias, words_bias;  // [batch, 1, 1, places], [batch, 1, 1, seq]
	graph_value phrase_bias, phrase_sine; // [batch, 1, seq, seq]; [batch, seq, hidden], of the place within the phrase
};

// Which tokens are of one phrase, bool [batch, seq, seq]; a phrase ends with one of BERT's [CLS], [SEP], "." and "?", and what
// ends with the text's last token, or is not ended, is none: its tokens stand alone. *place: i64 [batch, seq], from 0 in each.
static graph_value phrases(struct build *b, graph_value ids, graph_value *place)
{
	struct graph *g = b->g;
	static const int64_t ends[] = { 101, 102, 1012, 1029 };
	graph_value is_end = NO_VALUE, at = places_of(g, ids);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		graph_value is = op_equal(g, ids, graph_i64(g, ends[i]));
		is_end = i ? op_or(g, is_end, is) : is;
	}
	graph_value ended = op_cumsum_from(g, op_cast(g, is_end, DTYPE_I64), 1, true, false); // before each
	graph_value number = op_cast(g, ended, DTYPE_F32);
	graph_value valid = op_less(g, number, op_slice(g, number, 1, -1, INT64_MAX));
	graph_value first = op_and(g, is_end, op_equal(g, at, graph_i64(g, 0)));
	valid = op_and(g, valid, op_not(g, first));
	graph_value same = op_equal(g, op_unsqueeze(g, ended, 2), op_unsqueeze(g, ended, 1));
	same = op_and(g, same, op_unsqueeze(g, valid, 1));
	graph_value row = op_unsqueeze(g, at, 1), column = op_unsqueeze(g, at, 0);
	graph_value before = op_and(g, same, op_less(g, column, row));
	*place = op_reduce_sum(g, op_cast(g, before, DTYPE_I64), 2, false);
	return op_or(g, same, op_equal(g, row, column));
}

static void read_text(struct build *b, struct tokens *t, graph_value ids, graph_value mask, graph_value types)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *text = part_of(s, "text");
	struct body io = { .ids = ids, .mask = mask, .types = types };
	graph_enter(g, "text");
	graph_value together = op_unsqueeze(g, phrases(b, ids, &io.positions), 1); // [batch, 1, seq, seq]
	graph_value zero = graph_f32(g, 0);
	t->phrase_bias = op_where(g, together, zero, graph_f32(g, -FLT_MAX));
	io.bias = own(b)->mask_added ? op_cast(g, together, DTYPE_F32) : t->phrase_bias;
	graph_value at = op_unsqueeze(g, op_cast(g, io.positions, DTYPE_F32), 2);
	t->phrase_sine = detect_sines(b, op_scale(g, at, (float)(2 * M_PI)), s->hidden_size, 10000);
	const struct spec *outer = part_enter(b, "text");
	text->row->family->body(b, &io);
	part_leave(b, outer);
	t->words = linear(b, "text", io.last, text->hidden_size, s->hidden_size, true);
	t->is_word = op_unsqueeze(g, op_cast(g, mask, DTYPE_BOOL), 1);
	t->words_bias = mask_bidirectional(b, mask);
	graph_leave(g);
}

// Picture and words look at each other; each gets, scaled by channel, what it found.
static void fuse(struct build *b, struct tokens *t)
{
	struct graph *g = b->g;
	const struct detect *d = b->s->own;
	int64_t h = b->s->hidden_size, inner = d->encoder_ffn / 2, heads = d->encoder_heads / 2;
	float scale = (float)(1 / sqrt((double)inner / (double)heads));
	graph_value x = layer_norm(b, "fusion.norm.vision", t->vision, h), y = layer_norm(b, "fusion.norm.text", t->words, h);
	graph_value at_x = linear(b, "fusion.vision", x, h, inner, true), at_y = linear(b, "fusion.text", y, h, inner, true);
	struct attention to_words = { .q = at_x,
		.k = at_y,
		.v = linear(b, "fusion.text.v", y, h, inner, true),
		.bias = t->words_bias,
		.heads = heads,
		.scale = scale };
	struct attention to_vision = { .q = at_y,
		.k = at_x,
		.v = linear(b, "fusion.vision.v", x, h, inner, true),
		.bias = t->vision_bias,
		.heads = heads,
		.scale = scale };
	graph_value more_x = linear(b, "fusion.vision.o", op_attention(g, &to_words), inner, h, true),
		    more_y = linear(b, "fusion.text.o", op_attention(g, &to_vision), inner, h, true);
	t->vision = op_add(g, x, op_mul(g, WEIGHT(b, "fusion.vision.scale", "", h), more_x));
	t->words = op_add(g, y, op_mul(g, WEIGHT(b, "fusion.text.scale", "", h), more_y));
}

static graph_value words_layer(struct build *b, const struct tokens *t)
{
	struct graph *g = b->g;
	const struct detect *d = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_value x = t->words, placed = op_add(g, x, t->phrase_sine);
	x = op_add(g, x, detect_attention(b, "words.attn", placed, placed, x, t->phrase_bias, d->encoder_heads / 2));
	x = layer_norm(b, "words.attn.norm", x, h);
	return layer_norm(b, "words.ffn.norm", op_add(g, x, detect_ffn(b, "words.ffn", x, d->encoder_ffn / 2)), h);
}

static void encode(
	struct build *b, const struct deform_levels *l, const struct deform_masks *m, const graph_value *maps, struct tokens *t)
{
	struct graph *g = b->g;
	const struct grounding *o = own(b);
	graph_value table = WEIGHT(b, "levels", "", o->levels, b->s->hidden_size), all[DEFORM_LEVELS_MOST];
	for (int64_t i = 0; i < o->levels && !graph_failed(b->g); i++)
		all[i] = op_add(g, detect_positions(b, m->each[i], maps[i]), op_slice(g, table, 0, i, i + 1));
	if (graph_failed(g))
		return;
	graph_value positions = op_concat(g, (int)o->levels, all, 1);
	struct deform d = { .heads = o->detect.encoder_heads,
		.points = o->encoder_points,
		.offset_scale = 0.5,
		.reference = deform_all_centres(b, l, m->ratios),
		.ratios = m->ratios,
		.mask = m->all };
	t->vision = l->memory;
	t->vision_bias = mask_bidirectional(b, op_cast(g, op_squeeze(g, m->all, 2), DTYPE_I64));
	for (b->layer = 0; b->layer < detect_layers(b->s, o->detect.encoder_layers) && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "encoder.%lld", (long long)b->layer);
		fuse(b, t);
		t->words = words_layer(b, t);
		t->vision = deform_encoder_layer(b, t->vision, positions, l, &d, o->detect.encoder_ffn);
		graph_leave(g);
	}
}

// How alike each of x [batch, n, hidden] and each word is: [batch, n, seq], the least number where there is no word. MM Grounding
// DINO divides by the root of the width, and adds a number of the stem's.
static graph_value likeness(struct build *b, const char *stem, graph_value x, const struct tokens *t)
{
	struct graph *g = b->g;
	graph_value y = op_matmul(g, x, op_transpose(g, t->words, 3, (int[]){ 0, 2, 1 }));
	if (weight_named(b, stem))
		y = op_add(g, op_scale(g, y, (float)(1 / sqrt((double)b->s->hidden_size))), weight(b, stem, "bias", 0, NULL));
	return op_where(g, t->is_word, y, graph_f32(g, -FLT_MAX));
}

static graph_value boxes(struct build *b, graph_value x, int64_t layer)
{
	b->stage = own(b)->shared_boxes ? 0 : layer;
	return detect_mlp(b, "head.boxes", x, 3, b->s->hidden_size, 4);
}

// The boxes of the places most alike any word, where queries begin: [batch, queries, 4]
static graph_value begin(struct build *b, const struct deform_levels *l, const struct deform_masks *m, const struct tokens *t)
{
	struct graph *g = b->g;
	const struct grounding *o = own(b);
	int64_t n = o->detect.queries;
	graph_enter(g, "queries");
	graph_value anchor, best, x = deform_proposals(b, l, m, t->vision, &anchor);
	graph_value score = op_reduce_max(g, likeness(b, "choice.offset", x, t), 2, false);
	op_topk_indices(g, score, n, 1, false, &best);
	graph_value box = detect_mlp(b, "choice.box", rows_at(g, x, best), 3, b->s->hidden_size, 4);
	box = op_sigmoid(g, op_add(g, box, rows_at(g, anchor, best)));
	graph_leave(g);
	return box;
}

// Before its sigmoid, kept 1e-5 away from 0 and 1.
static graph_value logit(struct graph *g, graph_value x)
{
	const float least = 1e-5f;
	return inverse_sigmoid(g, op_min(g, op_max(g, x, graph_f32(g, least)), graph_f32(g, 1 - least)));
}

// Sines of the row, the column, the width and the height of a box, as shares of the first level, through two linear layers.
static graph_value query_positions(struct build *b, graph_value reference, const struct deform_masks *m)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	static const int order[] = { 1, 0, 2, 3 };
	graph_value ratio = op_slice(g, m->ratios, 1, 0, 1), sines[4]; // [batch, 1, 2]
	graph_value x = op_mul(g, reference, op_concat(g, 2, (graph_value[]){ ratio, ratio }, 2));
	x = op_scale(g, x, (float)(2 * M_PI));
	for (int i = 0; i < 4; i++)
		sines[i] = detect_sines(b, op_slice(g, x, 2, order[i], order[i] + 1), h / 2, 10000);
	return detect_mlp(b, "decoder.position", op_concat(g, 4, sines, 2), 2, h, h);
}

static graph_value decoder_layer(struct build *b, graph_value x, graph_value query, const struct deform_levels *l,
	const struct deform *d, const struct tokens *t)
{
	struct graph *g = b->g;
	const struct detect *o = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_value y = op_add(g, x, query);
	x = op_add(g, x, detect_attention(b, "decoder.attn", y, y, x, NO_VALUE, o->decoder_heads));
	x = layer_norm(b, "decoder.attn.norm", x, h);
	y = op_add(g, x, query);
	x = op_add(g, x, detect_attention(b, "decoder.text", y, t->words, t->words, t->words_bias, o->decoder_heads));
	x = layer_norm(b, "decoder.text.norm", x, h);
	x = op_add(g, x, deform_attention(b, "decoder.cross", op_add(g, x, query), l, d));
	x = layer_norm(b, "decoder.cross.norm", x, h);
	return layer_norm(b, "decoder.ffn.norm", op_add(g, x, detect_ffn(b, "decoder.ffn", x, o->decoder_ffn)), h);
}

// [.., seq] with the least number after it: [.., max_text_len]
static graph_value padded(struct build *b, graph_value logits)
{
	struct graph *g = b->g;
	int64_t most = own(b)->text_most;
	graph_value shape[] = { op_slice(g, op_shape(g, logits), 0, 0, 2), graph_i64s(g, 1, &most) };
	graph_value rest = op_expand(g, graph_f32(g, -FLT_MAX), op_concat(g, 2, shape, 0));
	return op_slice(g, op_concat(g, 2, (graph_value[]){ logits, rest }, 2), 2, 0, most);
}

static void decode(
	struct build *b, const struct deform_levels *l, const struct deform_masks *m, const struct tokens *t, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct grounding *o = own(b);
	int64_t h = s->hidden_size, last = detect_layers(s, o->detect.decoder_layers), n = o->detect.queries;
	graph_value reference = begin(b, l, m, t), before = reference;
	graph_value x = op_add(g, detect_queries(b, "queries", n, h), detect_zeros(b, pixels, n, h));
	for (int64_t i = 0; i < last && !graph_failed(g); i++) {
		graph_enter(g, "decoder.%lld", (long long)i);
		b->layer = i;
		struct deform d = { .heads = o->detect.decoder_heads,
			.points = o->decoder_points,
			.offset_scale = 0.5,
			.memory = t->vision,
			.reference = reference,
			.ratios = m->ratios,
			.mask = m->all };
		x = decoder_layer(b, x, query_positions(b, reference, m), l, &d, t);
		before = reference;
		if (!s->head->bare && i < last - 1)
			reference = op_sigmoid(g, op_add(g, boxes(b, x, i), logit(g, reference)));
		graph_leave(g);
	}
	x = layer_norm(b, "decoder.norm", x, h);
	if (s->head->bare) {
		graph_output(g, "last_hidden_state", x);
		graph_output(g, "encoder_last_hidden_state_vision", t->vision);
		graph_output(g, "encoder_last_hidden_state_text", t->words);
		return;
	}
	b->layer = o->shared_offsets ? 0 : last - 1;
	graph_output(g, "logits", padded(b, likeness(b, "head.offset", x, t))); // [batch, queries, max_text_len]
	graph_output(g, "pred_boxes", op_sigmoid(g, op_add(g, boxes(b, x, last - 1), logit(g, before))));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct grounding *o = own(b);
	struct tokens t = { 0 };
	int64_t count, shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct detect_inputs in = detect_inputs(b);
	graph_value ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape), types = NO_VALUE;
	graph_value mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	if (part_of(b->s, "text")->type_vocab_size > 1)
		types = graph_input(g, "token_type_ids", DTYPE_I64, 2, shape);
	const graph_value *found = backbone_features(b, "backbone", in.pixels, &count);
	if (graph_failed(g))
		return;
	graph_value maps[DEFORM_LEVELS_MOST];
	read_text(b, &t, ids, mask, types);
	deform_sources(b, found, count, maps, o->levels);
	struct deform_levels l = deform_levels(b, maps, o->levels);
	if (graph_failed(g))
		return;
	struct deform_masks m = deform_masks(b, in.mask, maps, o->levels);
	encode(b, &l, &m, maps, &t);
	decode(b, &l, &m, &t, in.pixels);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct grounding *o = s->own;
	if (!out->max_sequence || o->text_most < out->max_sequence)
		out->max_sequence = o->text_most;
	if (!s->image_size)
		image_hints(out, 800, 1066);
}

static const struct family_head heads[] = { { &head_objects }, { &head_model }, { 0 } };

const struct family grounding = {
	.name = "grounding-dino",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
