// SPDX-License-Identifier: Apache-2.0
// RF-DETR: a detector of one map, whose best places move learned boxes (https://arxiv.org/abs/2511.09554; the decoder is that of
// LW-DETR, https://arxiv.org/abs/2406.03459). Pictures of a batch are of one size, without padding.
//
//   pixels -> backbone -> concat - 1x1 -+- half ----------------------------------+- concat - 1x1 - norm -> memory
//                                       +- half -+- 3x3 3x3 -+- 3x3 3x3 -+- .. ---+
//   memory -> score of each place -> the best: boxes, from which learned boxes are counted -> layers -> boxes from those
#include <float.h>
#include <math.h>

#include "arch/block/deform.h"
#include "arch/block/detect.h"

struct rf_detr {
	struct detect detect; // decoder_heads: of self-attention
	int64_t groups, cross_heads, inner, blocks;
	double eps; // of the projector's norms but the last
	enum activation act;
	bool bias; // of self-attention
	int64_t points[1];
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct rf_detr *o = ARENA_NEW(a, struct rf_detr);
	s->own = o;
	int64_t h = s->hidden_size = config_size(c, "d_model", 256);
	s->norm_eps = 1e-5;
	s->act = config_activation(c, "decoder_activation_function", ACT_RELU);
	o->detect = (struct detect){ .queries = config_size(c, "num_queries", 300),
		.decoder_layers = config_count(c, "decoder_layers", 3),
		.decoder_heads = config_size(c, "decoder_self_attention_heads", 8),
		.decoder_ffn = config_size(c, "decoder_ffn_dim", 2048) };
	o->cross_heads = config_size(c, "decoder_cross_attention_heads", 16);
	o->groups = config_count(c, "group_detr", 13);
	o->points[0] = config_size(c, "decoder_n_points", 4);
	o->eps = config_real(c, "layer_norm_eps", 1e-5);
	o->act = config_activation(c, "activation_function", ACT_SILU);
	o->bias = config_bool(c, "attention_bias", true);
	o->inner = (int64_t)((double)h * config_real(c, "hidden_expansion", 0.5));
	o->blocks = config_count(c, "c2f_num_blocks", 3);
	s->layers = s->layers_in_config = o->detect.decoder_layers;
	s->heads = s->kv_heads = o->detect.decoder_heads;
	if (config_size(c, "num_feature_levels", 1) != 1)
		config_fail(c, STATUS_UNSUPPORTED, "num_feature_levels other than 1: the class has one map only");
	bool bad = h < 4 || h % 4 || s->heads < 1 || h % s->heads || o->cross_heads < 1 || h % o->cross_heads || o->inner < 1 ||
		o->groups < 1 || o->points[0] < 1 || o->points[0] > 1 << 10 || o->detect.queries < 1 || s->layers < 1;
	if (!c->error.status && bad)
		config_fail(c, STATUS_BAD_INPUT, "d_model %lld with %lld and %lld heads, %lld queries of %lld points",
			(long long)h, (long long)s->heads, (long long)o->cross_heads, (long long)o->detect.queries,
			(long long)o->points[0]);
	if (c->error.status)
		return;
	const char *const roots[] = { "backbone.0.encoder.encoder.", NULL };
	struct spec *backbone = resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
	if (backbone)
		resolve_backbone_image(s, backbone);
}

static const struct rf_detr *own(const struct build *b)
{
	return b->s->own;
}

static graph_value normed_conv(struct build *b, const char *stem, graph_value x, int64_t out, int64_t kernel)
{
	x = conv(b, stem, x, (struct conv){ .out = out, .kernel = kernel });
	x = map_norm(b, arena_printf(graph_arena(b->g), "%s.norm", stem), x, own(b)->eps);
	return activate(b, own(b)->act, x);
}

// The backbone's maps, which are of one size, become one: [batch, hidden, rows, columns]
static graph_value project(struct build *b, const graph_value *maps, int64_t count)
{
	struct graph *g = b->g;
	const struct rf_detr *o = own(b);
	graph_value *all = GRAPH_TABLE(g, NULL, o->blocks + 1, 1, graph_value);
	if (!all || graph_failed(g))
		return NO_VALUE;
	graph_enter(g, "project");
	all[0] = normed_conv(b, "project.in", op_concat(g, (int)count, maps, 1), 2 * o->inner, 1);
	graph_value x = op_slice(g, all[0], 1, o->inner, 2 * o->inner);
	for (b->layer = 0; b->layer < o->blocks && !graph_failed(g); b->layer++) {
		x = normed_conv(b, "project.1", x, o->inner, 3);
		x = all[b->layer + 1] = normed_conv(b, "project.2", x, o->inner, 3);
	}
	x = normed_conv(b, "project.out", op_concat(g, (int)o->blocks + 1, all, 1), b->s->hidden_size, 1);
	x = map_norm(b, "project.norm", x, 1e-6);
	graph_leave(g);
	return x;
}

// Boxes [.., 4] moved by delta: the middle in parts of the box, sizes by a power of e.
static graph_value moved(struct build *b, graph_value box, graph_value delta)
{
	struct graph *g = b->g;
	graph_value size = op_slice(g, box, 2, 2, 4);
	graph_value middle = op_add(g, op_mul(g, op_slice(g, delta, 2, 0, 2), size), op_slice(g, box, 2, 0, 2));
	size = op_mul(g, op_exp(g, op_slice(g, delta, 2, 2, 4)), size);
	return op_concat(g, 2, (graph_value[]){ middle, size }, 2);
}

// Boxes of the best places, the learned ones counted from them: [batch, queries, 4]
static graph_value choose(struct build *b, const struct deform_levels *l)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, n = own(b)->detect.queries, all = n * own(b)->groups;
	graph_enter(g, "queries");
	b->layer = b->stage = 0; // the first group
	graph_value centre = deform_centres(b, l->height[0], l->width[0]), best;
	graph_value anchor =
		op_concat(g, 2, (graph_value[]){ centre, op_add(g, op_scale(g, centre, 0), graph_f32(g, 0.05f)) }, 1);
	graph_value valid = op_and(g, op_greater(g, op_reduce_min(g, anchor, -1, true), graph_f32(g, 0.01f)),
		op_less(g, op_reduce_max(g, anchor, -1, true), graph_f32(g, 0.99f))); // [places, 1]
	graph_value share = op_cast(g, valid, DTYPE_F32);
	graph_value memory = linear(b, "choice", op_mul(g, l->memory, share), h, h, true);
	memory = layer_norm(b, "choice.norm", memory, h);
	graph_value score = linear(b, "choice.score", memory, h, b->s->labels, true);
	score = op_where(g, valid, score, graph_f32(g, -FLT_MAX));
	op_topk_indices(g, op_reduce_max(g, score, 2, false), n, 1, false, &best);
	graph_value delta = detect_mlp(b, "choice.box", rows_at(g, memory, best), 3, h, 4);
	graph_value box = moved(b, op_gather(g, op_mul(g, anchor, share), best, 0), delta);
	graph_value learned = op_slice(g, WEIGHT(b, "queries.box", "weight", all, 4), 0, 0, n);
	box = moved(b, box, op_unsqueeze(g, learned, 0));
	graph_leave(g);
	return box;
}

// Part `part` of query, key and value, which lie in the file as one.
static graph_value projected(struct build *b, int64_t part, graph_value x)
{
	int64_t h = b->s->hidden_size;
	b->item = part;
	graph_value w = weight_item_of(b, "decoder.attn.in", 3, (int64_t[]){ 3, h, h }, true), bias = NO_VALUE;
	if (own(b)->bias)
		bias = weight_item_of(b, "decoder.attn.in_bias", 2, (int64_t[]){ 3, h }, true);
	return op_linear(b->g, x, w, bias);
}

static graph_value attention(struct build *b, graph_value x, graph_value position)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, heads = b->s->heads;
	graph_value placed = op_add(g, x, position), q = projected(b, 0, placed), k = projected(b, 1, placed);
	float scale = (float)(1 / sqrt((double)(h / heads)));
	graph_value y = op_attention(g, &(struct attention){ q, k, projected(b, 2, x), .heads = heads, .scale = scale });
	return linear(b, "decoder.attn.o", y, h, h, own(b)->bias);
}

static graph_value decode(struct build *b, const struct deform_levels *l, graph_value x, graph_value box)
{
	struct graph *g = b->g;
	const struct rf_detr *o = own(b);
	int64_t h = b->s->hidden_size;
	graph_value sines[4], angle = op_scale(g, box, (float)(2 * M_PI));
	const int order[] = { 1, 0, 2, 3 }; // y before x
	for (int i = 0; i < 4; i++)
		sines[i] = detect_sines(b, op_slice(g, angle, 2, order[i], order[i] + 1), h / 2, 10000);
	graph_value position = detect_mlp(b, "decoder.position", op_concat(g, 4, sines, 2), 2, h, h);
	struct deform d = {
		.heads = o->cross_heads, .points = o->points, .offset_scale = 0.5, .memory = l->memory, .reference = box
	};
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "decoder.%lld", (long long)b->layer);
		x = layer_norm(b, "decoder.attn.norm", op_add(g, x, attention(b, x, position)), h);
		x = op_add(g, x, deform_attention(b, "decoder.cross", op_add(g, x, position), l, &d));
		x = layer_norm(b, "decoder.cross.norm", x, h);
		x = layer_norm(b, "decoder.ffn.norm", op_add(g, x, detect_ffn(b, "decoder.ffn", x, o->detect.decoder_ffn)), h);
		graph_leave(g);
	}
	return layer_norm(b, "decoder.norm", x, h);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct rf_detr *o = own(b);
	int64_t h = s->hidden_size, n = o->detect.queries, count;
	graph_value pixels = pixel_input(b, s->channels, s->image_size, s->image_width);
	const graph_value *maps = backbone_features(b, "backbone", pixels, &count);
	if (graph_failed(g))
		return;
	graph_value memory = project(b, maps, count);
	struct deform_levels l = deform_levels(b, &memory, 1);
	graph_value box = choose(b, &l);
	graph_value query = op_unsqueeze(g, op_slice(g, WEIGHT(b, "queries", "weight", n * o->groups, h), 0, 0, n), 0);
	graph_value x = decode(b, &l, op_add(g, query, detect_zeros(b, pixels, n, h)), box);
	if (s->head->bare) {
		graph_output(g, "last_hidden_state", x);
		return;
	}
	graph_output(g, "logits", linear(b, "head.classes", x, h, s->labels, true)); // [batch, queries, labels]
	graph_output(g, "pred_boxes", moved(b, box, detect_mlp(b, "head.boxes", x, 3, h, 4)));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct spec *backbone = part_of(s, "backbone");
	if (backbone->row->family->hints)
		backbone->row->family->hints(backbone, out);
}

static const struct family_head heads[] = { { &head_objects }, { &head_model }, { 0 } };

const struct family rf_detr = {
	.name = "rf-detr",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
