// SPDX-License-Identifier: Apache-2.0
// RT-DETR: a detector without a list of queries, whose best places are the queries (Zhao et al. 2023,
// https://arxiv.org/abs/2304.08069; version 2, https://arxiv.org/abs/2407.17140). Pictures of a batch are of one size.
//
//   pixels -> backbone -> 1x1 -> attention over the coarsest map -> down the pyramid -> up the pyramid -> 1x1 -> memory
//   memory -> score of each place -> the best are queries, with a box -> layers, after each of which the box moves
#include <math.h>

#include "arch/family/rt_detr.h"

// Of each level; one number for all of them, or a list.
static const int64_t *points_of(struct config *c, struct arena *a, int64_t levels)
{
	int64_t count = 0;
	const int64_t *each = config_sizes(c, "decoder_n_points", a, levels, &count);
	bool fits = each && count == levels;
	for (int64_t i = 0; fits && i < levels; i++)
		fits = each[i] > 0 && each[i] <= 1 << 10;
	if (!c->error.status && !fits)
		config_fail(c, STATUS_BAD_INPUT, "decoder_n_points should be from 1 to 1024 for each of %lld levels",
			(long long)levels);
	return each;
}

// Keys that are read nowhere else, and what of them is not built.
static void refuse(struct config *c, struct rt_detr *o, bool scaled, bool fine)
{
	const char *method = scaled ? config_text(c, "decoder_method") : NULL;
	o->discrete = text_is(method, "discrete");
	if (method && !o->discrete && !text_is(method, "default"))
		config_fail(c, STATUS_BAD_INPUT, "decoder_method should be default or discrete");
	if (scaled && !fine && config_size(c, "decoder_n_levels", 3) != o->levels)
		config_fail(c, STATUS_BAD_INPUT, "decoder_n_levels is not num_feature_levels");
	if (config_get(c, "anchor_image_size"))
		config_fail(c, STATUS_UNSUPPORTED, "anchor_image_size: anchors of one size are not supported yet");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct rt_detr *o = ARENA_NEW(a, struct rt_detr);
	struct detect *d = &o->detect;
	s->own = o;
	s->hidden_size = config_size(c, "d_model", 256);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	s->traits.norm_first = config_bool(c, "normalize_before", false);
	*d = (struct detect){ .queries = config_size(c, "num_queries", 300),
		.encoder_layers = config_count(c, "encoder_layers", 1),
		.encoder_heads = config_size(c, "encoder_attention_heads", 8),
		.encoder_ffn = config_size(c, "encoder_ffn_dim", 1024),
		.decoder_layers = config_count(c, "decoder_layers", 6),
		.decoder_heads = config_size(c, "decoder_attention_heads", 8),
		.decoder_ffn = config_size(c, "decoder_ffn_dim", 1024),
		.temperature = config_size(c, "positional_encoding_temperature", 10000) };
	o->norm_eps = config_real(c, "batch_norm_eps", 1e-5);
	o->conv_act = config_get(c, "activation_function") ? config_activation(c, "activation_function", ACT_SILU) : ACT_NONE;
	o->encoder_act = config_activation(c, "encoder_activation_function", ACT_GELU);
	o->decoder_act = config_activation(c, "decoder_activation_function", ACT_RELU);
	o->width = config_size(c, "encoder_hidden_dim", 256);
	bool fine = o->fine = TRAITS_OF(s, rt_detr)->distributed;
	double expansion = config_real(c, "hidden_expansion", 1);
	o->fused = (int64_t)((double)o->width * (fine ? expansion / 2 : expansion));
	o->blocks = 3;
	o->attended = config_sizes(c, "encode_proj_layers", a, 0, &o->attended_count);
	o->levels = config_count(c, "num_feature_levels", 3);
	o->placed = !config_get(c, "eval_size");
	if (config_bool(c, "learn_initial_query", false))
		config_fail(c, STATUS_UNSUPPORTED, "learn_initial_query: true: the class itself cannot run so");
	int64_t given = 0, heads = d->decoder_heads, h = s->hidden_size;
	bool scaled = TRAITS_OF(s, rt_detr)->scaled_offsets;
	o->offset_scale = scaled ? config_real(c, "decoder_offset_scale", 0.5) : 0.5;
	if (fine)
		d_fine_resolve(c, s, o);
	o->lean = TRAITS_OF(s, rt_detr)->lean;
	if (o->lean)
		deim_resolve(c, s, o);
	o->side_act = o->conv_act;
	refuse(c, o, scaled, fine);
	const int64_t *in = config_sizes(c, "decoder_in_channels", a, 0, &given);
	bool fits = in && given > 0 && given <= o->levels && o->levels <= DEFORM_LEVELS_MOST;
	for (int64_t i = 0; fits && i < given; i++)
		fits = in[i] == o->width;
	for (int64_t i = 0; fits && i < o->attended_count && !o->lite; i++)
		fits = o->attended[i] < given;
	s->layers = s->layers_in_config = d->encoder_layers > d->decoder_layers ? d->encoder_layers : d->decoder_layers;
	s->heads = s->kv_heads = d->encoder_heads;
	if (!c->error.status &&
		(!fits || h < 1 || heads < 1 || h % heads || o->width < 4 || o->width % 4 || d->encoder_heads < 1 ||
			o->width % d->encoder_heads || o->fused < 1 || d->queries < 1 || d->decoder_layers < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld and %lld heads over %lld and %lld, %lld levels", (long long)heads,
			(long long)d->encoder_heads, (long long)h, (long long)o->width, (long long)o->levels);
	if (config_text(c, "backbone"))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	if (c->error.status)
		return;
	o->maps = given;
	o->points = points_of(c, a, o->levels);
	if (c->error.status)
		return;
	bool bare = s->head && s->head->bare;
	const char *const roots[] = { bare ? "backbone.model." : "model.backbone.model.", "model.backbone.model.",
		"backbone.model.", NULL };
	static const char *const lean_roots[] = { "model.conv_encoder.model.", "conv_encoder.model.",
		"model.conv_encoder.backbone.", "conv_encoder.backbone.", NULL };
	bool lean = o->lean;
	struct spec *backbone =
		resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, lean ? lean_roots : roots);
	if (!backbone)
		return;
	o->patches = lean && backbone->patch_size > 0;
	if (lean && !c->checkpoint->weight_count)
		backbone->root = lean_roots[2 * o->patches + bare];
	s->channels = backbone->channels;
	resolve_backbone_image(s, backbone);
	int64_t made = o->lite ? backbone->out_count + 1 : backbone->out_count;
	if (o->patches && (backbone->out_count != 3 || o->lite))
		config_fail(c, STATUS_BAD_INPUT, "a backbone of patches should give three maps to a hybrid encoder");
	else if (o->lite ? o->maps != 2 || made < 2 : made != o->maps)
		config_fail(c, STATUS_BAD_INPUT, "a backbone of %lld maps for %lld of decoder_in_channels",
			(long long)backbone->out_count, (long long)o->maps);
}

static const struct rt_detr *own(const struct build *b)
{
	return b->s->own;
}

static bool is_fine(const struct build *b)
{
	return own(b)->fine;
}

static bool is_lean(const struct build *b)
{
	return own(b)->lean;
}

// ---- the encoder --------------------------------------------------------------------------------------------------------

graph_value rt_detr_conv(
	struct build *b, const char *stem, graph_value x, int64_t out, int64_t kernel, int64_t stride, enum activation act)
{
	struct arena *a = graph_arena(b->g);
	return conv_norm(b, stem, arena_printf(a, "%s.norm", stem), x,
		(struct conv){ .out = out, .kernel = kernel, .stride = stride, .pad = kernel > 1 ? kernel / 2 : PAD_NONE },
		own(b)->norm_eps, act);
}

// Sines and cosines of the row, then of the column: [1, rows*columns, width]
static graph_value places(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	int64_t w = own(b)->width, quarter = w / 4, outer = own(b)->crossed ? 3 : 2, inner = 5 - outer;
	float *wave = GRAPH_TABLE(g, NULL, quarter, 1, float);
	for (int64_t i = 0; wave && i < quarter; i++)
		wave[i] = (float)pow((double)own(b)->detect.temperature, -(double)i / (double)quarter);
	graph_value each = graph_constant(g, DTYPE_F32, 1, &quarter, wave), half[2];
	graph_value shape = op_concat(g, 3,
		(graph_value[]){ op_dim(g, map, (int)outer), op_dim(g, map, (int)inner), graph_i64s(g, 1, (int64_t[]){ w / 2 }) },
		0);
	for (int i = 0; i < 2; i++) {
		graph_value n = op_squeeze(g, op_dim(g, map, (int)(i ? inner : outer)), 0);
		graph_value at = op_cast(g, op_range(g, graph_i64(g, 0), n, graph_i64(g, 1)), DTYPE_F32);
		graph_value angle = op_mul(g, op_unsqueeze(g, at, 1), each);
		graph_value both = op_concat(g, 2, (graph_value[]){ op_sin(g, angle), op_cos(g, angle) }, 1); // [n, width / 2]
		half[i] = op_expand(g, op_unsqueeze(g, both, i ? 0 : 1), shape);
	}
	return op_reshape(g, op_concat(g, 2, half, 2), 3, (int64_t[]){ 1, -1, w });
}

static graph_value attention(struct build *b, const char *stem, graph_value x, graph_value placed, int64_t heads)
{
	int64_t h = value_dim(b->g, x, -1);
	struct arena *a = graph_arena(b->g);
	graph_value q = linear(b, arena_printf(a, "%s.q", stem), placed, h, h, true),
		    k = linear(b, arena_printf(a, "%s.k", stem), placed, h, h, true),
		    v = linear(b, arena_printf(a, "%s.v", stem), x, h, h, true);
	float scale = (float)(1 / sqrt((double)(h / heads)));
	graph_value y = op_attention(b->g, &(struct attention){ q, k, v, .heads = heads, .scale = scale });
	return linear(b, arena_printf(a, "%s.o", stem), y, h, h, true);
}

static graph_value feed(struct build *b, const char *stem, graph_value x, int64_t inner, enum activation act)
{
	struct arena *a = graph_arena(b->g);
	int64_t h = value_dim(b->g, x, -1);
	x = activate(b, act, linear(b, arena_printf(a, "%s.up", stem), x, h, inner, true));
	return linear(b, arena_printf(a, "%s.down", stem), x, inner, h, true);
}

static graph_value attended(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct rt_detr *o = own(b);
	bool first = s->traits.norm_first;
	int64_t w = o->width;
	graph_value x = tokens_of(b, map), at = o->placed ? places(b, map) : NO_VALUE;
	for (b->layer = 0; b->layer < detect_layers(s, o->detect.encoder_layers) && !graph_failed(g); b->layer++) {
		graph_enter(g, "encoder.%lld", (long long)b->layer);
		graph_value y = first ? layer_norm(b, "encoder.attn.norm", x, w) : x;
		y = attention(b, "encoder.attn", y, at.id ? op_add(g, y, at) : y, o->detect.encoder_heads);
		x = op_add(g, x, y);
		// With norms first the second residual begins after the norm.
		x = layer_norm(b, first ? "encoder.ffn.norm" : "encoder.attn.norm", x, w);
		x = op_add(g, x, feed(b, "encoder.ffn", x, o->detect.encoder_ffn, o->encoder_act));
		x = first ? x : layer_norm(b, "encoder.ffn.norm", x, w);
		graph_leave(g);
	}
	return map_of(b, x, map);
}

graph_value rt_detr_bottlenecks(struct build *b, const char *stem, graph_value x, int64_t number)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	const struct rt_detr *o = own(b);
	for (int64_t i = 0; i < o->blocks && !graph_failed(g); i++) {
		b->stage = number, b->layer = i;
		graph_value wide = rt_detr_conv(b, arena_printf(a, "%s.block.1", stem), x, o->fused, 3, 1, ACT_NONE);
		x = op_add(g, wide, rt_detr_conv(b, arena_printf(a, "%s.block.2", stem), x, o->fused, 1, 1, ACT_NONE));
		x = activate(b, o->conv_act, x);
	}
	b->layer = number;
	return x;
}

graph_value rt_detr_branches(struct build *b, const char *stem, graph_value x, int64_t number)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	const struct rt_detr *o = own(b);
	b->layer = number;
	graph_value one = rt_detr_conv(b, arena_printf(a, "%s.1", stem), x, o->fused, 1, 1, o->conv_act);
	graph_value two = rt_detr_conv(b, arena_printf(a, "%s.2", stem), x, o->fused, 1, 1, o->conv_act);
	return op_add(g, rt_detr_bottlenecks(b, stem, one, number), two);
}

// Two maps of `width` channels become one.
static graph_value fusion(struct build *b, const char *stem, graph_value x, graph_value y, int64_t number)
{
	const struct rt_detr *o = own(b);
	if (is_lean(b))
		return deim_fusion(b, stem, op_add(b->g, x, y), number);
	x = op_concat(b->g, 2, (graph_value[]){ x, y }, 1);
	if (is_fine(b))
		return d_fine_fusion(b, stem, x, number);
	x = rt_detr_branches(b, stem, x, number);
	const char *last = arena_printf(graph_arena(b->g), "%s.3", stem);
	return o->fused == o->width ? x : rt_detr_conv(b, last, x, o->width, 1, 1, o->conv_act);
}

void rt_detr_encode(struct build *b, graph_value *maps)
{
	struct graph *g = b->g;
	const struct rt_detr *o = own(b);
	int64_t n = o->maps;
	double epsilon = is_lean(b) ? o->norm_eps : 1e-5;
	for (int64_t i = 0; i < n && !o->patches; i++) {
		b->layer = i;
		maps[i] = conv_norm(
			b, "input", "input.norm", maps[i], (struct conv){ .out = o->width, .kernel = 1 }, epsilon, ACT_NONE);
	}
	for (int64_t i = 0; i < o->attended_count && o->detect.encoder_layers && !graph_failed(g); i++) {
		b->stage = i;
		maps[o->attended[i]] = attended(b, maps[o->attended[i]]);
	}
	for (int64_t i = n - 1; i > 0 && !graph_failed(g); i--) {
		b->layer = n - 1 - i;
		graph_enter(g, "down.%lld", (long long)b->layer);
		maps[i] = rt_detr_conv(b, "lateral", maps[i], o->width, 1, 1, is_fine(b) ? ACT_NONE : o->side_act);
		maps[i - 1] = fusion(b, "down", resized_like(b, maps[i], maps[i - 1], "nearest"), maps[i - 1], n - 1 - i);
		graph_leave(g);
	}
	for (int64_t i = 1; i < n && !graph_failed(g); i++) {
		b->layer = i - 1;
		graph_enter(g, "up.%lld", (long long)b->layer);
		graph_value less = is_fine(b) ? d_fine_smaller(b, maps[i - 1])
					      : rt_detr_conv(b, "smaller", maps[i - 1], o->width, 3, 2, o->side_act);
		maps[i] = fusion(b, "up", less, maps[i], i - 1);
		graph_leave(g);
	}
}

// ---- the decoder --------------------------------------------------------------------------------------------------------

static graph_value layer(struct build *b, graph_value x, graph_value position, graph_value box, const struct deform_levels *l)
{
	struct graph *g = b->g;
	const struct rt_detr *o = own(b);
	int64_t h = b->s->hidden_size;
	struct deform d = { .heads = o->detect.decoder_heads,
		.points = o->points,
		.offset_scale = o->offset_scale,
		.memory = l->memory,
		.reference = box,
		.discrete = o->discrete };
	bool lean = is_lean(b);
	x = op_add(g, x, attention(b, "decoder.attn", x, op_add(g, x, position), o->detect.decoder_heads));
	x = lean ? deim_norm(b, "decoder.attn.norm", x) : layer_norm(b, "decoder.attn.norm", x, h);
	graph_value seen = deform_attention(b, "decoder.cross", op_add(g, x, position), l, &d);
	if (lean) {
		x = o->gated ? d_fine_gate(b, x, seen) : deim_norm(b, "decoder.cross.norm", op_add(g, x, seen));
		return deim_norm(b, "decoder.ffn.norm", op_add(g, x, deim_feed(b, "decoder.ffn", x)));
	}
	x = is_fine(b) ? d_fine_gate(b, x, seen) : layer_norm(b, "decoder.cross.norm", op_add(g, x, seen), h);
	x = op_add(g, x, feed(b, "decoder.ffn", x, o->detect.decoder_ffn, o->decoder_act));
	x = is_fine(b) ? d_fine_clamp(b, x, 65504) : x;
	return layer_norm(b, "decoder.ffn.norm", x, h);
}

// What the decoder sees of a level: a map of the encoder's, or one made from the last of them.
static graph_value source(struct build *b, const graph_value *maps, int64_t level)
{
	const struct rt_detr *o = own(b);
	bool there = level < o->maps;
	graph_value map = maps[there ? level : o->maps - 1];
	if (is_fine(b) && o->width == b->s->hidden_size)
		return map;
	struct conv how = {
		.out = b->s->hidden_size, .kernel = there ? 1 : 3, .stride = there ? 1 : 2, .pad = there ? PAD_NONE : 1
	};
	b->layer = level;
	return conv_norm(b, "source", "source.norm", map, how, o->norm_eps, ACT_NONE);
}

// x [batch, queries, hidden] and their boxes, to the outputs
static void decode(struct build *b, graph_value x, graph_value box, const struct deform_levels *l)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, last = detect_layers(b->s, own(b)->detect.decoder_layers);
	bool bare = b->s->head->bare, fine = is_fine(b);
	struct d_fine f = { 0 };
	b->stage = b->layer = 0;
	if (own(b)->shared_boxes &&
		!weight_exists(b, "head.boxes", "weight")) // transformers 5.23 writes it so, and does not read it
		graph_fail(g, STATUS_UNSUPPORTED, "share_bbox_head: the one head lies in the file as another layer's");
	for (int64_t i = 0; i < last && !graph_failed(g); i++) {
		graph_enter(g, "decoder.%lld", (long long)i);
		b->layer = i;
		graph_value position = is_lean(b) ? deim_position(b, box) : detect_mlp(b, "decoder.position", box, 2, 2 * h, h);
		x = layer(b, x, fine ? d_fine_clamp(b, position, 10) : position, box, l);
		b->stage = own(b)->shared_boxes ? 0 : i;
		if (!bare && fine)
			box = d_fine_box(b, &f, x, box);
		else if (!bare)
			box = op_sigmoid(g, op_add(g, detect_mlp(b, "head.boxes", x, 3, h, 4), inverse_sigmoid(g, box)));
		graph_leave(g);
	}
	if (bare) {
		graph_output(g, "last_hidden_state", x);
		return;
	}
	b->layer = b->stage = last - 1;
	graph_value score = linear(b, "head.classes", x, h, b->s->labels, true);
	score = fine ? op_add(g, score, d_fine_quality(b, &f)) : score;
	graph_output(g, "logits", score); // [batch, queries, labels]
	graph_output(g, "pred_boxes", box);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *backbone = part_of(s, "backbone");
	const struct rt_detr *o = own(b);
	int64_t h = s->hidden_size, count;
	graph_value pixels = pixel_input(b, backbone->channels, s->image_size, s->image_width);
	const graph_value *found = backbone_features(b, "backbone", pixels, &count);
	graph_value maps[DEFORM_LEVELS_MOST], sources[DEFORM_LEVELS_MOST];
	if (graph_failed(g))
		return;
	for (int64_t i = 0; i < count; i++)
		maps[i] = found[i];
	if (o->patches)
		deim_detailed(b, pixels, maps, count);
	if (o->lite)
		deim_lite(b, maps, count);
	else
		rt_detr_encode(b, maps);
	for (int64_t i = 0; i < o->levels; i++)
		sources[i] = source(b, maps, i);
	struct deform_levels l = deform_levels(b, sources, o->levels);
	graph_enter(g, "queries");
	graph_value valid, anchor = deform_anchors(b, &l, NO_VALUE, &valid);
	graph_value memory = op_mul(g, l.memory, op_cast(g, valid, DTYPE_F32));
	memory = layer_norm(b, "choice.norm", linear(b, "choice", memory, h, h, true), h);
	graph_value score = linear(b, "choice.score", memory, h, s->labels, true), best;
	op_topk_indices(g, op_reduce_max(g, score, 2, false), o->detect.queries, 1, false, &best);
	graph_value chosen = rows_at(g, memory, best);
	graph_value box = op_add(g, detect_mlp(b, "choice.box", chosen, 3, h, 4), op_gather(g, anchor, best, 0));
	box = op_sigmoid(g, box);
	graph_leave(g);
	decode(b, chosen, box, &l);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 640, 640);
}

static const struct family_head heads[] = { { &head_objects }, { &head_model }, { 0 } };

const struct family rt_detr = {
	.name = "rt-detr",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(rt_detr, RT_DETR_TRAITS),
};
