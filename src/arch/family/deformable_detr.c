// SPDX-License-Identifier: Apache-2.0
// Deformable DETR: DETR whose attention looks at a few places of several maps (Zhu et al. 2020,
// https://arxiv.org/abs/2010.04159); also with boxes that move after each layer, and with queries that are the best places. DETA
// (Ouyang-Zhang et al. 2022, https://arxiv.org/abs/2212.06137) is the same with another way to choose these.
//
//   pixels -> backbone -> 1x1 - norm (and 3x3 of the last) -> maps -> encoder -> memory
//   queries -> reference -> decoder -> classes, boxes around the reference
#include <math.h>

#include "arch/block/detect.h"
#include "arch/family/deformable_detr.h"

struct deformable_detr {
	struct detect detect;
	int64_t levels, proposals;                      // proposals 0: queries are learned
	bool refines, suppresses;                       // suppresses: proposals are what deta_places says
	const int64_t *encoder_points, *decoder_points; // [levels]
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct deformable_detr *o = ARENA_NEW(a, struct deformable_detr);
	o->levels = config_count(c, "num_feature_levels", 4);
	o->detect.maps = o->levels > 1 ? 3 : 1;
	o->detect.described = TRAITS_OF(s, deformable_detr)->assigns;
	resolve_detector(c, s, a, &o->detect);
	s->own = o;
	o->refines = config_bool(c, "with_box_refine", false);
	int64_t proposals = config_size(c, "two_stage_num_proposals", 300);
	o->proposals = config_bool(c, "two_stage", false) ? proposals : 0;
	if (TRAITS_OF(s, deformable_detr)->assigns)
		o->suppresses = config_bool(c, "assign_first_stage", true) && o->proposals > 0;
	if (c->error.status)
		return;
	if (o->levels < 1 || o->levels > DEFORM_LEVELS_MOST || s->hidden_size % 32 || o->detect.decoder_layers < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld num_feature_levels of %lld channels, which are normed in 32 groups",
			(long long)o->levels, (long long)s->hidden_size);
	if (o->proposals && (!o->refines || (s->head && s->head->bare)))
		config_fail(c, STATUS_UNSUPPORTED,
			"two_stage without with_box_refine, or in the bare class: it cannot run so itself");
	if (o->suppresses && o->proposals > deta_places_most(o->levels))
		config_fail(c, STATUS_UNSUPPORTED,
			"two_stage_num_proposals %lld with assign_first_stage, which looks at 1000 of each level",
			(long long)o->proposals);
	if (c->error.status)
		return;
	o->encoder_points = deform_resolve_points(c, a, "encoder_n_points", o->levels);
	o->decoder_points = deform_resolve_points(c, a, "decoder_n_points", o->levels);
	const struct spec *backbone = part_of(s, "backbone");
	if (backbone && (backbone->out_count < 1 || backbone->out_count > o->levels))
		config_fail(c, STATUS_BAD_INPUT, "a backbone of %lld maps for %lld num_feature_levels",
			(long long)backbone->out_count, (long long)o->levels);
}

static const struct deformable_detr *own(const struct build *b)
{
	return b->s->own;
}

// Sines of the middles of what the mask leaves, from 0 to 2 pi: [batch, rows, columns, half]
static graph_value along(struct build *b, graph_value mask, int axis, int64_t half)
{
	struct graph *g = b->g;
	graph_value count = op_cumsum(g, mask, axis);
	graph_value all = op_add(g, op_slice(g, count, axis, -1, INT64_MAX), graph_f32(g, 1e-6f));
	count = op_div(g, op_sub(g, count, graph_f32(g, 0.5f)), all);
	return detect_sines(
		b, op_unsqueeze(g, op_scale(g, count, (float)(2 * M_PI)), 3), half, (double)own(b)->detect.temperature);
}

// [batch, all places, hidden]: of each place in its map, and of the map.
static graph_value positions(struct build *b, const struct deform_masks *m, const graph_value *maps)
{
	struct graph *g = b->g;
	const struct deformable_detr *o = own(b);
	int64_t h = b->s->hidden_size;
	graph_value table = WEIGHT(b, "levels", "", o->levels, h), all[DEFORM_LEVELS_MOST];
	for (int64_t i = 0; i < o->levels && !graph_failed(g); i++) {
		if (o->detect.learned_positions)
			all[i] = detect_positions(b, NO_VALUE, maps[i]);
		else {
			graph_value both[] = { along(b, m->each[i], 1, h / 2), along(b, m->each[i], 2, h / 2) };
			all[i] = op_reshape(g, op_concat(g, 2, both, 3), 3, (int64_t[]){ 0, -1, h });
		}
		all[i] = op_add(g, all[i], op_slice(g, table, 0, i, i + 1));
	}
	return graph_failed(g) ? NO_VALUE : op_concat(g, (int)o->levels, all, 1);
}

static graph_value encode(struct build *b, const struct deform_levels *l, const struct deform_masks *m, graph_value positions)
{
	struct graph *g = b->g;
	const struct deformable_detr *o = own(b);
	graph_value x = l->memory, centres = deform_all_centres(b, l, m->ratios);
	for (b->layer = 0; b->layer < detect_layers(b->s, o->detect.encoder_layers) && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "encoder.%lld", (long long)b->layer);
		struct deform d = { .heads = o->detect.encoder_heads,
			.points = o->encoder_points,
			.offset_scale = 0.5,
			.reference = centres,
			.ratios = m->ratios,
			.mask = m->all };
		x = deform_encoder_layer(b, x, positions, l, &d, o->detect.encoder_ffn);
		graph_leave(g);
	}
	return x;
}

// Heads of layers may be one head, which then lies in the file as the first.
static graph_value boxes(struct build *b, graph_value x, int64_t layer)
{
	b->stage = layer, b->layer = 0;
	b->stage = weight_exists(b, "head.boxes", "weight") ? layer : 0;
	x = detect_mlp(b, "head.boxes", x, 3, b->s->hidden_size, 4);
	b->layer = layer;
	return x;
}

static graph_value classes(struct build *b, graph_value x, int64_t layer)
{
	b->layer = layer;
	b->layer = weight_exists(b, "head.classes", "weight") ? layer : 0;
	x = linear(b, "head.classes", x, b->s->hidden_size, b->s->labels, true);
	b->layer = layer;
	return x;
}

// The best places are queries: *reference their boxes, *query and *x what follows from the boxes.
static void choose(struct build *b, const struct deform_levels *l, const struct deform_masks *m, graph_value memory,
	graph_value *reference, graph_value *query, graph_value *x)
{
	struct graph *g = b->g;
	const struct deformable_detr *o = own(b);
	int64_t h = b->s->hidden_size, last = o->detect.decoder_layers;
	graph_enter(g, "queries");
	graph_value best, sines[4], anchor;
	memory = deform_proposals(b, l, m, memory, &anchor);
	graph_value score = op_squeeze(g, op_slice(g, classes(b, memory, last), 2, 0, 1), 2);
	graph_value box, found;
	if (o->suppresses) {
		box = op_add(g, boxes(b, memory, last), anchor);
		best = deta_places(b, l, score, box, o->proposals);
		box = rows_at(g, box, best);
		found = rows_at(g, memory, best);
	} else {
		op_topk_indices(g, score, o->proposals, 1, false, &best);
		found = rows_at(g, memory, best);
		box = op_add(g, boxes(b, found, last), rows_at(g, anchor, best));
	}
	*reference = op_sigmoid(g, box);
	graph_value angle = op_scale(g, *reference, (float)(2 * M_PI));
	for (int i = 0; i < 4; i++)
		sines[i] = detect_sines(b, op_slice(g, angle, 2, i, i + 1), h / 2, 10000);
	graph_value both = linear(b, "choice.query", op_concat(g, 4, sines, 2), 2 * h, 2 * h, true);
	both = layer_norm(b, "choice.query.norm", both, 2 * h);
	*query = op_slice(g, both, 2, 0, h);
	*x = op_slice(g, both, 2, h, 2 * h);
	if (TRAITS_OF(b->s, deformable_detr)->assigns)
		*x = op_add(g, *x, layer_norm(b, "choice.state.norm", linear(b, "choice.state", found, h, h, true), h));
	graph_leave(g);
}

// delta + the reference before its sigmoid, which may be a point
static graph_value moved(struct build *b, graph_value delta, graph_value reference)
{
	struct graph *g = b->g;
	graph_value at = inverse_sigmoid(g, reference);
	if (value_dim(g, reference, -1) == 4)
		return op_sigmoid(g, op_add(g, delta, at));
	graph_value centre = op_add(g, op_slice(g, delta, 2, 0, 2), at);
	return op_sigmoid(g, op_concat(g, 2, (graph_value[]){ centre, op_slice(g, delta, 2, 2, 4) }, 2));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct deformable_detr *o = own(b);
	int64_t h = s->hidden_size, count, last = detect_layers(s, o->detect.decoder_layers);
	struct detect_inputs in = detect_inputs(b);
	graph_value pixels = in.pixels, maps[DEFORM_LEVELS_MOST];
	const graph_value *found = backbone_features(b, "backbone", pixels, &count);
	if (graph_failed(g))
		return;
	deform_sources(b, found, count, maps, o->levels);
	struct deform_levels l = deform_levels(b, maps, o->levels);
	if (graph_failed(g))
		return;
	struct deform_masks m = deform_masks(b, in.mask, maps, o->levels);
	graph_value memory = encode(b, &l, &m, positions(b, &m, maps)), reference, query, x;
	if (o->proposals)
		choose(b, &l, &m, memory, &reference, &query, &x);
	else {
		int64_t n = o->detect.queries;
		graph_value both = detect_queries(b, "queries", n, 2 * h);
		query = op_slice(g, both, 2, 0, h);
		x = op_add(g, op_slice(g, both, 2, h, 2 * h), detect_zeros(b, pixels, n, h));
		reference = op_sigmoid(g, linear(b, "reference", query, h, 2, true)); // [1, queries, 2]
	}
	graph_value before = reference;
	for (b->layer = 0; b->layer < last && !graph_failed(g); b->layer++) {
		int64_t layer = b->layer;
		struct deform d = { .heads = o->detect.decoder_heads,
			.points = o->decoder_points,
			.offset_scale = 0.5,
			.memory = memory,
			.reference = reference,
			.ratios = m.ratios,
			.mask = m.all };
		graph_enter(g, "decoder.%lld", (long long)layer);
		graph_value y = op_add(g, x, query);
		x = op_add(g, x, detect_attention(b, "decoder.attn", y, y, x, NO_VALUE, o->detect.decoder_heads));
		x = layer_norm(b, "decoder.attn.norm", x, h);
		x = op_add(g, x, deform_attention(b, "decoder.cross", op_add(g, x, query), &l, &d));
		x = layer_norm(b, "decoder.cross.norm", x, h);
		x = layer_norm(b, "decoder.ffn.norm", op_add(g, x, detect_ffn(b, "decoder.ffn", x, o->detect.decoder_ffn)), h);
		before = reference;
		if (o->refines && !s->head->bare)
			reference = moved(b, boxes(b, x, layer), reference);
		graph_leave(g);
		b->layer = layer;
	}
	if (s->head->bare) {
		graph_output(g, "last_hidden_state", x);
		graph_output(g, "encoder_last_hidden_state", memory);
		return;
	}
	graph_output(g, "logits", classes(b, x, last - 1)); // [batch, queries, labels]
	graph_output(g, "pred_boxes", o->refines ? reference : moved(b, boxes(b, x, last - 1), before));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 800, 1066);
}

static const struct family_head heads[] = { { &head_objects }, { &head_model }, { 0 } };

const struct family deformable_detr = {
	.name = "deformable-detr",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(deformable_detr, DEFORMABLE_DETR_TRAITS),
};
