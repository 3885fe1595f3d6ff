// SPDX-License-Identifier: Apache-2.0
// DAB-DETR: Conditional DETR whose queries are boxes that each layer moves (Liu et al. 2022, https://arxiv.org/abs/2201.12329).
//
//   box -> sines of y, x, width, height -> 2 linear layers: the query's position
//   sines of y and x (* from the state, but in the first layer) * (a size from the state / the box's size) -> cross attention
//   state -> 3 linear layers, relative to the box -> sigmoid: the next box
#include <math.h>

#include "arch/block/deform.h"
#include "arch/family/conditional_detr.h"

struct dab_detr {
	struct detect detect;
	int64_t patterns; // each query once with each of these as its state; 0: it begins with zeros
	bool placed;      // positions are added in every layer, not in the first only
	bool last_norm;   // after the encoder
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct dab_detr *o = ARENA_NEW(a, struct dab_detr);
	*o = (struct dab_detr){ .detect = { .wrapped = true } };
	resolve_detector(c, s, a, &o->detect);
	s->own = o;
	o->detect.temperature = config_size(c, "temperature_height", 20);
	o->detect.temperature_across = config_size(c, "temperature_width", 20);
	o->detect.turn = config_real(c, "sine_position_embedding_scale", 2 * M_PI);
	o->patterns = config_size(c, "num_patterns", 0);
	o->placed = config_bool(c, "keep_query_pos", false);
	o->last_norm = config_bool(c, "normalize_before", false);
	bool fits = o->detect.temperature > 0 && o->detect.temperature_across > 0 && o->detect.turn > 0;
	if (!c->error.status && (!fits || o->patterns > 1 << 16))
		config_fail(c, STATUS_BAD_INPUT,
			"temperatures and sine_position_embedding_scale should be more than 0, "
			"num_patterns at most 65536");
	if (!c->error.status && config_size(c, "query_dim", 4) != 4)
		config_fail(c, STATUS_BAD_INPUT, "query_dim should be 4");
}

static const struct dab_detr *own(const struct build *b)
{
	return b->s->own;
}

// What stands for queries before the first layer: states [batch, queries, hidden]; *box before its sigmoid, [batch, queries, 4]
static graph_value queries(struct build *b, graph_value pixels, graph_value *box)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, n = own(b)->detect.queries, p = own(b)->patterns, all = p ? p * n : n;
	graph_value table = detect_queries(b, "queries", n, 4), x = detect_zeros(b, pixels, all, h);
	if (p) {
		table = op_expand(g, table, graph_i64s(g, 3, (int64_t[]){ p, n, 4 }));
		table = op_reshape(g, table, 3, (int64_t[]){ 1, all, 4 });
		graph_value pattern = op_unsqueeze(g, WEIGHT(b, "patterns", "weight", p, h), 1);
		pattern = op_expand(g, pattern, graph_i64s(g, 3, (int64_t[]){ p, n, h }));
		x = op_add(g, x, op_reshape(g, pattern, 3, (int64_t[]){ 1, all, h }));
	}
	*box = op_add(g, table, detect_zeros(b, pixels, all, 4));
	return x;
}

// All four of a box, y before x: [batch, queries, 2 * hidden]
static graph_value sines_of(struct build *b, graph_value box)
{
	struct graph *g = b->g;
	const int order[] = { 1, 0, 2, 3 };
	graph_value each[4], angle = op_scale(g, box, (float)(2 * M_PI));
	for (int i = 0; i < 4; i++)
		each[i] = detect_sines(b, op_slice(g, angle, 2, order[i], order[i] + 1), b->s->hidden_size / 2, 10000);
	return op_concat(g, 4, each, 2);
}

// The sines of the middle as cross attention reads them: wider or narrower as the state says, by the box's sizes.
static graph_value modulated(struct build *b, graph_value x, graph_value sines, graph_value box)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value middle = op_slice(g, sines, 2, 0, h);
	if (b->layer)
		middle = op_mul(g, middle, detect_mlp(b, "decoder.scale", x, 2, h, h));
	graph_value size = op_sigmoid(g, detect_mlp(b, "decoder.size", x, 2, h, 2)); // of x and y
	size = op_div(g, size, op_slice(g, box, 2, 2, 4));
	graph_value y = op_mul(g, op_slice(g, middle, 2, 0, h / 2), op_slice(g, size, 2, 1, 2));
	return op_concat(g, 2, (graph_value[]){ y, op_mul(g, op_slice(g, middle, 2, h / 2, h), op_slice(g, size, 2, 0, 1)) }, 2);
}

static graph_value moved(struct build *b, graph_value x, graph_value box)
{
	struct graph *g = b->g;
	x = detect_mlp(b, "head.boxes", x, 3, b->s->hidden_size, 4);
	return op_sigmoid(g, op_add(g, x, inverse_sigmoid(g, box)));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct dab_detr *o = own(b);
	int64_t h = s->hidden_size, count, last = detect_layers(s, o->detect.decoder_layers);
	struct detect_inputs in = detect_inputs(b);
	const graph_value *maps = backbone_features(b, "backbone", in.pixels, &count);
	if (graph_failed(g))
		return;
	graph_value map = conv(b, "project", maps[count - 1], (struct conv){ .out = h, .kernel = 1, .bias = true });
	graph_value mask = detect_mask(b, in.mask, map), box;
	struct conditional layer = { .positions = detect_positions(b, mask, map), .bias = detect_mask_bias(b, mask) };
	layer.memory = detect_encoder(b, tokens_of(b, map), layer.positions, layer.bias);
	if (o->last_norm)
		layer.memory = layer_norm(b, "encoder.norm", layer.memory, h);
	graph_value x = queries(b, in.pixels, &box);
	box = op_sigmoid(g, box);
	for (b->layer = 0; b->layer < last && !graph_failed(g); b->layer++) {
		graph_enter(g, "decoder.%lld", (long long)b->layer);
		graph_value sines = sines_of(b, box);
		layer.queries = detect_mlp(b, "decoder.reference", sines, 2, h, h);
		layer.sines = modulated(b, x, sines, box);
		layer.placed = o->placed || !b->layer;
		x = conditional_layer(b, x, &layer);
		if (!s->head->bare && b->layer < last - 1)
			box = moved(b, x, box);
		graph_leave(g);
	}
	x = layer_norm(b, "decoder.norm", x, h);
	if (!s->head->bare) {
		graph_output(g, "logits", linear(b, "head.classes", x, h, s->labels, true)); // [batch, queries, labels]
		graph_output(g, "pred_boxes", moved(b, x, box));
	}
	graph_output(g, "last_hidden_state", x);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 800, 1066);
}

static const struct family_head heads[] = { { &head_objects }, { &head_model }, { 0 } };

const struct family dab_detr = {
	.name = "dab-detr",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
