// SPDX-License-Identifier: Apache-2.0
// OmDet-Turbo: a detector of classes that texts name, where a text says the task too (Zhao et al. 2024,
// https://arxiv.org/abs/2403.06892).
//
//   pixels -> backbone -> hybrid encoder (rt_detr.c) -> maps -> linear, norm -> places
//   ids of classes -> encoder of texts -> the place of the greatest id -> classes; ids of the task -> words
//   places most alike any class -> decoder: queries and words look at each other, queries at the maps -> boxes, likenesses
#include <math.h>

#include "arch/family/rt_detr.h"

enum { CLASSES_USUAL = 4, CLASS_TOKENS_USUAL = 16 };

struct omdet {
	struct rt_detr encoder;
	int64_t task_ffn;
	bool dot, learned; // dot: likenesses are products, not cosines; learned: queries begin with a table
};

static const struct omdet *own(const struct build *b)
{
	return b->s->own;
}

static enum activation activation_or_none(struct config *c, const char *key, enum activation usual)
{
	return config_get(c, key) ? config_activation(c, key, usual) : ACT_NONE;
}

// Do the lists of channels say what the parts have?
static void check_channels(struct config *c, const struct spec *s, const struct spec *backbone, struct arena *a)
{
	const struct rt_detr *o = s->own;
	int64_t in = 0, decoded = 0;
	const int64_t *given = config_sizes(c, "encoder_in_channels", a, 0, &in),
		      *seen = config_sizes(c, "vision_features_channels", a, 0, &decoded);
	bool fits = given && in == o->maps && decoded == o->maps && backbone->out_count == o->maps;
	for (int64_t i = 0; fits && i < decoded; i++)
		fits = seen[i] == o->width;
	for (int64_t i = 0; fits && i < o->attended_count; i++)
		fits = o->attended[i] < o->maps;
	if (!c->error.status && !fits)
		config_fail(c, STATUS_BAD_INPUT,
			"num_feature_levels %lld: encoder_in_channels, vision_features_channels and the backbone's %lld maps do "
			"not go with it",
			(long long)o->maps, (long long)backbone->out_count);
}

static void resolve_sizes(struct config *c, struct spec *s, struct omdet *m, struct arena *a)
{
	struct rt_detr *o = &m->encoder;
	s->hidden_size = config_size(c, "decoder_hidden_dim", 256);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	s->act = config_activation(c, "decoder_activation", ACT_RELU);
	o->detect = (struct detect){ .queries = config_size(c, "num_queries", 900),
		.encoder_layers = config_count(c, "encoder_layers", 1),
		.encoder_heads = config_size(c, "encoder_attention_heads", 8),
		.encoder_ffn = config_size(c, "encoder_dim_feedforward", 2048),
		.decoder_layers = config_count(c, "decoder_num_layers", 6),
		.decoder_heads = config_size(c, "decoder_num_heads", 8),
		.decoder_ffn = config_size(c, "decoder_dim_feedforward", 2048),
		.temperature = config_size(c, "positional_encoding_temperature", 10000) };
	o->norm_eps = config_real(c, "batch_norm_eps", 1e-5);
	o->conv_act = activation_or_none(c, "csp_activation", ACT_SILU);
	o->side_act = activation_or_none(c, "conv_norm_activation", ACT_GELU);
	o->encoder_act = config_activation(c, "encoder_feedforward_activation", ACT_RELU);
	o->width = config_size(c, "d_model", 256);
	o->fused = (int64_t)((double)o->width * config_real(c, "hidden_expansion", 1));
	o->blocks = 3;
	o->attended = config_sizes(c, "encoder_projection_indices", a, 0, &o->attended_count);
	o->maps = o->levels = config_count(c, "num_feature_levels", 3);
	o->placed = !config_get(c, "eval_size");
	o->crossed = true;
	m->task_ffn = config_size(c, "task_encoder_hidden_dim", 1024);
	m->learned = config_bool(c, "learn_initial_query", false);
	const char *kind = config_text(c, "class_distance_type");
	m->dot = text_is(kind, "dot");
	if (kind && !m->dot && !text_is(kind, "cosine"))
		config_fail(c, STATUS_BAD_INPUT, "class_distance_type %s is neither cosine nor dot", kind);
	const struct detect *d = &o->detect;
	s->layers = s->layers_in_config = d->encoder_layers > d->decoder_layers ? d->encoder_layers : d->decoder_layers;
	s->heads = s->kv_heads = d->encoder_heads;
	int64_t h = s->hidden_size;
	if (!c->error.status &&
		(h < 1 || h != o->width || h % 4 || d->encoder_heads < 1 || h % d->encoder_heads || d->decoder_heads < 1 ||
			h % d->decoder_heads || o->fused < 1 || d->queries < 1 || d->decoder_layers < 1 || d->temperature < 1 ||
			o->levels < 1 || o->levels > DEFORM_LEVELS_MOST))
		config_fail(c, STATUS_BAD_INPUT,
			"%lld and %lld heads over d_model %lld and decoder_hidden_dim %lld, %lld levels, %lld queries",
			(long long)d->encoder_heads, (long long)d->decoder_heads, (long long)o->width, (long long)h,
			(long long)o->levels, (long long)d->queries);
	if (config_bool(c, "apply_layernorm_after_vision_backbone", true))
		config_fail(c, STATUS_UNSUPPORTED,
			"apply_layernorm_after_vision_backbone: maps of timm's layout, channels last, are not supported yet");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct omdet *m = ARENA_NEW(a, struct omdet);
	s->own = m;
	resolve_sizes(c, s, m, a);
	if (c->error.status)
		return;
	m->encoder.points = deform_resolve_points(c, a, "decoder_num_points", m->encoder.levels);
	const struct spec *text = resolve_part(
		c, s, a, "text", "text_config", NULL, NULL, (const char *const[]){ "language_backbone.model.", NULL });
	const struct spec *backbone = resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone,
		(const char *const[]){ "vision_backbone.vision_backbone.", NULL });
	if (!text || !backbone || !part_is_usual(c, s, "text"))
		return;
	int64_t width = config_size(c, "class_embed_dim", 512), from = config_size(c, "text_projection_in_dim", 512),
		to = config_size(c, "text_projection_out_dim", 512);
	if (!c->error.status && (text->hidden_size != width || from != width || to != width || width == s->hidden_size))
		config_fail(c, STATUS_BAD_INPUT,
			"class_embed_dim %lld, text_projection_in_dim %lld, text_projection_out_dim %lld of a text of %lld and a "
			"decoder "
			"of %lld: the class cannot run so",
			(long long)width, (long long)from, (long long)to, (long long)text->hidden_size,
			(long long)s->hidden_size);
	s->vocab_size = text->vocab_size;
	s->max_positions = text->max_positions;
	check_channels(c, s, backbone, a);
	resolve_backbone_image(s, backbone);
}

// ---- texts ----------------------------------------------------------------------------------------------------------------

// The text encoder's states, in which a token sees those before it and padding is like any other: [rows, seq, width]
static graph_value read_text(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	struct body io = { .ids = ids, .mask = op_expand(g, graph_i64(g, 1), op_shape(g, ids)) };
	const struct spec *outer = part_enter(b, "text");
	b->s->row->family->body(b, &io);
	part_leave(b, outer);
	return io.last;
}

// The classes of each picture, of which `structure` i64 [batch] says how many there are, zeros behind the last:
// [batch, most, width]
static graph_value read_classes(struct build *b, graph_value ids, graph_value structure)
{
	struct graph *g = b->g;
	int64_t width = part_of(b->s, "text")->hidden_size;
	graph_enter(g, "classes");
	graph_value x = token_at_end(b, ids, read_text(b, ids), -1);
	x = op_linear_in_out(g, x, WEIGHT(b, "text.projection", "", width, width), NO_VALUE); // [all classes, width]
	graph_value begin = op_unsqueeze(g, op_cumsum_from(g, structure, 0, true, false), 1), one = graph_i64(g, 1);
	graph_value at = op_range(g, graph_i64(g, 0), op_reduce_max(g, structure, 0, false), one);
	graph_value there = op_less(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, structure, 1)); // [batch, most]
	graph_value place = op_min(g, op_add(g, begin, at), op_sub(g, op_dim(g, ids, 0), one));
	x = op_where(g, op_unsqueeze(g, there, 2), op_gather(g, x, place, 0), graph_f32(g, 0));
	graph_leave(g);
	return x;
}

// What the task's words are to queries: [batch, seq, hidden]; *valid i64 [batch, seq]. The class cuts them after as many columns
// as the longest task has tokens, wherever these stand.
static graph_value read_task(struct build *b, graph_value ids, graph_value mask, graph_value *valid)
{
	struct graph *g = b->g;
	int64_t width = part_of(b->s, "text")->hidden_size, inner = own(b)->task_ffn;
	graph_enter(g, "task");
	graph_value is = op_not(g, op_equal(g, mask, graph_i64(g, 0)));
	graph_value count = op_reduce_sum(g, op_cast(g, is, DTYPE_I64), 1, false), most = op_reduce_max(g, count, 0, false);
	*valid = op_cast(g, op_and(g, is, op_less(g, op_unsqueeze(g, places_of(g, ids), 0), most)), DTYPE_I64);
	graph_value x = read_text(b, ids), y = activate(b, b->s->act, linear(b, "task.up", x, width, inner, true));
	x = layer_norm(b, "task.norm", op_add(g, x, linear(b, "task.down", y, inner, width, true)), width);
	x = linear(b, "task.project", x, width, b->s->hidden_size, true);
	graph_leave(g);
	return x;
}

// ---- queries --------------------------------------------------------------------------------------------------------------

static graph_value unit(struct graph *g, graph_value x)
{
	return op_div(g, x, op_max(g, op_reduce_l2(g, x, 2, true), graph_f32(g, 1e-12f)));
}

// How alike x [batch, n, hidden] and classes [batch, classes, width] are, by STEM: [batch, n, classes]
static graph_value likeness(struct build *b, const char *stem, graph_value x, graph_value classes)
{
	struct graph *g = b->g;
	graph_value y = linear(b, stem, classes, value_dim(g, classes, -1), b->s->hidden_size, true);
	if (own(b)->dot)
		return op_matmul(g, x, op_transpose(g, y, 3, (int[]){ 0, 2, 1 }));
	y = op_matmul(g, unit(g, x), op_transpose(g, unit(g, y), 3, (int[]){ 0, 2, 1 }));
	return op_scale(g, y, (float)(1 / 0.07));
}

// The places most alike any class: their states [batch, queries, hidden], or a table's, and *box [batch, queries, 4].
static graph_value choose(struct build *b, const struct deform_levels *l, graph_value classes, graph_value *box)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, n = own(b)->encoder.detect.queries;
	graph_enter(g, "queries");
	graph_value valid, best, anchor = deform_anchors(b, l, NO_VALUE, &valid);
	graph_value x = op_mul(g, l->memory, op_cast(g, valid, DTYPE_F32));
	x = layer_norm(b, "choice.norm", linear(b, "choice", x, h, h, true), h);
	op_topk_indices(g, op_reduce_max(g, likeness(b, "choice.class", x, classes), 2, false), n, 1, false, &best);
	x = rows_at(g, x, best);
	*box = op_sigmoid(g, op_add(g, detect_mlp(b, "choice.box", x, 3, h, 4), op_gather(g, anchor, best, 0)));
	if (own(b)->learned)
		x = op_add(g, detect_queries(b, "queries", n, h), detect_zeros(b, x, n, h));
	graph_leave(g);
	return x;
}

static graph_value joined(struct graph *g, graph_value x, graph_value y)
{
	return op_concat(g, 2, (graph_value[]){ x, y }, 1);
}

// x [batch, queries, hidden] and *words [batch, seq, hidden] look at each other, then x at the maps around its boxes.
static graph_value layer(
	struct build *b, graph_value x, graph_value *words, graph_value box, const struct deform_levels *l, graph_value bias)
{
	struct graph *g = b->g;
	const struct detect *d = b->s->own;
	int64_t h = b->s->hidden_size, n = d->queries;
	graph_value position = detect_mlp(b, "decoder.position", box, 2, 2 * h, h);
	graph_value at = joined(g, op_add(g, x, position), *words), all = joined(g, x, *words);
	all = op_add(g, all, detect_attention(b, "decoder.attn", at, at, all, bias, d->decoder_heads));
	all = layer_norm(b, "decoder.attn.norm", all, h);
	*words = op_slice(g, all, 1, n, INT64_MAX);
	x = op_slice(g, all, 1, 0, n);
	struct deform how = { .heads = d->decoder_heads,
		.points = own(b)->encoder.points,
		.offset_scale = 0.5,
		.memory = l->memory,
		.reference = box };
	x = op_add(g, x, deform_attention(b, "decoder.cross", op_add(g, x, position), l, &how));
	x = layer_norm(b, "decoder.cross.norm", x, h);
	return layer_norm(b, "decoder.ffn.norm", op_add(g, x, detect_ffn(b, "decoder.ffn", x, d->decoder_ffn)), h);
}

static void decode(struct build *b, const struct deform_levels *l, graph_value classes, graph_value words, graph_value valid)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, last = detect_layers(b->s, own(b)->encoder.detect.decoder_layers);
	graph_value box, x = choose(b, l, classes, &box);
	graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), op_dim(g, x, 1) }, 0);
	graph_value bias = mask_bidirectional(b, joined(g, op_expand(g, graph_i64(g, 1), shape), valid));
	for (int64_t i = 0; i < last && !graph_failed(g); i++) {
		graph_enter(g, "decoder.%lld", (long long)i);
		b->layer = b->stage = i;
		x = layer(b, x, &words, box, l, bias);
		box = op_sigmoid(g, op_add(g, detect_mlp(b, "head.boxes", x, 3, h, 4), inverse_sigmoid(g, box)));
		graph_leave(g);
	}
	graph_output(g, "decoder_coord_logits", box);                                   // [batch, queries, 4]
	graph_output(g, "decoder_class_logits", likeness(b, "head.class", x, classes)); // [batch, queries, classes]
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t count, batch = graph_symbol(g, "batch");
	int64_t named[] = { graph_symbol(g, "classes"), graph_symbol(g, "class_sequence") },
		asked[] = { batch, graph_symbol(g, "sequence") };
	graph_value pixels = pixel_input(b, s->channels, s->image_size, s->image_width), valid, maps[DEFORM_LEVELS_MOST];
	graph_value names = graph_input(g, "classes_input_ids", DTYPE_I64, 2, named),
		    structure = graph_input(g, "classes_structure", DTYPE_I64, 1, &batch);
	graph_value task = graph_input(g, "tasks_input_ids", DTYPE_I64, 2, asked),
		    mask = graph_input(g, "tasks_attention_mask", DTYPE_I64, 2, asked);
	const graph_value *found = backbone_features(b, "backbone", pixels, &count);
	if (graph_failed(g))
		return;
	for (int64_t i = 0; i < count; i++)
		maps[i] = found[i];
	rt_detr_encode(b, maps);
	for (int64_t i = 0; i < count && !graph_failed(g); i++) {
		b->layer = i;
		maps[i] = conv_norm(
			b, "source", "source.norm", maps[i], (struct conv){ .out = s->hidden_size, .kernel = 1 }, 1e-5, ACT_NONE);
	}
	if (graph_failed(g))
		return;
	struct deform_levels l = deform_levels(b, maps, count);
	graph_value words = read_task(b, task, mask, &valid);
	decode(b, &l, read_classes(b, names, structure), words, valid);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	int64_t most = s->max_positions;
	if (most > 0 && (!out->max_sequence || most < out->max_sequence))
		out->max_sequence = most;
	input_hint(out, "classes", CLASSES_USUAL);
	input_hint(out, "class_sequence", most > 0 && most < CLASS_TOKENS_USUAL ? most : CLASS_TOKENS_USUAL);
	if (!s->image_size)
		image_hints(out, 640, 640);
}

static const struct family_head heads[] = { { &head_objects }, { 0 } };

const struct family omdet = {
	.name = "omdet-turbo",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
