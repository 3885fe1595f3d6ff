// SPDX-License-Identifier: Apache-2.0
// Which keypoints of two pictures are the same (SuperGlue, Sarlin et al. 2019, https://arxiv.org/abs/1911.11763; LightGlue,
// Lindenberger et al. 2023, https://arxiv.org/abs/2306.13643): descriptors attend to those of their own picture and of the other.
// A pair of pictures is two rows; points behind a picture's last are masked.
//
//   pixels [batch, 2, 3, height, width] -> keypoints (superpoint.c) -> layers of attention -> scores of all pairs of points
//   -> each point's best, where both are each other's -> matches
#include <float.h>
#include <math.h>

#include "arch/family/matching.h"
#include "arch/family/superpoint.h"

// spec.own of both families.
struct matching {
	double threshold;
	// SuperGlue
	const int64_t *widths; // [steps]: of what encodes places
	int64_t steps, iterations;
	const bool *crosses; // [layers]: does it attend to the other picture
	// LightGlue
	int64_t from; // width of the detector's descriptors
	bool biased;
};

// A pair of pictures on its way.
struct pairs {
	graph_value places, at, scores, descriptors; // at: f32 [2 * batch, points, 2], normalised
	graph_value there;                           // bool [2 * batch, points]
	graph_value bias, other_bias;                // of the own points and of the other picture's
};

static const struct spec *resolve_detector_part(struct config *c, struct spec *s, struct arena *a)
{
	const struct spec *detector = resolve_part(
		c, s, a, "detector", "keypoint_detector_config", NULL, NULL, (const char *const[]){ "keypoint_detector.", NULL });
	if (!detector || !part_is_usual(c, s, "detector"))
		return NULL;
	s->channels = detector->channels;
	return detector;
}

static void check_heads(struct config *c, struct spec *s)
{
	if (!c->error.status &&
		(s->hidden_size < 1 || s->heads < 1 || s->hidden_size % s->heads || s->kv_heads < 1 || s->heads % s->kv_heads))
		config_fail(c, STATUS_BAD_INPUT, "%lld heads over %lld", (long long)s->heads, (long long)s->hidden_size);
	else if (!c->error.status)
		s->head_width = s->hidden_size / s->heads;
}

// ---- both -----------------------------------------------------------------------------------------------------------------

graph_value pair_input(struct build *b, int64_t channels)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), 2, channels, graph_symbol(g, "height"), graph_symbol(g, "width") };
	return graph_input(g, "pixel_values", DTYPE_F32, 5, shape);
}

graph_value pair_rows(struct graph *g, graph_value pairs)
{
	graph_value sizes[] = { graph_i64s(g, 2, (int64_t[]){ -1, value_dim(g, pairs, 2) }), op_dim(g, pairs, 3),
		op_dim(g, pairs, 4) };
	return op_reshape_to(g, pairs, op_concat(g, 3, sizes, 0));
}

graph_value paired(struct graph *g, graph_value x)
{
	graph_value rest = op_slice(g, op_shape(g, x), 0, 1, INT64_MAX);
	graph_value y = op_reshape_to(g, x, op_concat(g, 2, (graph_value[]){ graph_i64s(g, 2, (int64_t[]){ -1, 2 }), rest }, 0));
	for (int axis = 1; axis < value_rank(g, x); axis++)
		graph_assume(g, y, axis + 1, value_dim(g, x, axis));
	return y;
}

graph_value of_pair(struct graph *g, graph_value x, int64_t which)
{
	return op_squeeze(g, op_slice(g, paired(g, x), 1, which, which + 1), 1);
}

// The rows of each pair change places.
static graph_value swapped(struct graph *g, graph_value x)
{
	graph_value both = paired(g, x), turned[] = { op_slice(g, both, 1, 1, 2), op_slice(g, both, 1, 0, 1) };
	return op_reshape_to(g, op_concat(g, 2, turned, 1), op_shape(g, x));
}

// scale: of the longer side, how much is 1 away from the picture's middle
static struct pairs detect(struct build *b, float scale)
{
	struct graph *g = b->g;
	graph_value pixels = pair_input(b, b->s->channels);
	struct pairs p = { 0 };
	struct body io = { .pixels = pair_rows(g, pixels) };
	const struct spec *outer = part_enter(b, "detector");
	graph_enter(g, "detector");
	b->s->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	if (graph_failed(g))
		return p;
	const struct keypoints *k = io.own;
	graph_value sides = op_concat(g, 2, (graph_value[]){ op_dim(g, pixels, 4), op_dim(g, pixels, 3) }, 0);
	sides = op_cast(g, sides, DTYPE_F32);
	p.places = paired(g, k->places);
	p.at = op_sub(g, op_mul(g, k->places, sides), op_scale(g, sides, 0.5f));
	p.at = op_div(g, p.at, op_scale(g, op_reduce_max(g, sides, 0, true), scale));
	p.scores = k->scores, p.descriptors = k->descriptors, p.there = k->there;
	graph_value number = op_cast(g, p.there, DTYPE_I64);
	p.bias = mask_bidirectional(b, number);
	p.other_bias = mask_bidirectional(b, swapped(g, number));
	return p;
}

// Likenesses of all points of both pictures, the lowest number where a point is not there: [batch, points, points]
static graph_value likeness(struct build *b, const struct pairs *p, graph_value x)
{
	struct graph *g = b->g;
	graph_value other = op_transpose(g, of_pair(g, x, 1), 3, (int[]){ 0, 2, 1 });
	graph_value like = op_matmul(g, of_pair(g, x, 0), other);
	graph_value both = op_and(g, op_unsqueeze(g, of_pair(g, p->there, 0), 2), op_unsqueeze(g, of_pair(g, p->there, 1), 1));
	return op_where(g, both, like, graph_f32(g, -FLT_MAX));
}

// For each point of one picture, is it the best of its best: best, of_other i64 [batch, points]
static graph_value mutual(struct graph *g, graph_value best, graph_value of_other)
{
	graph_value at = op_unsqueeze(g, places_of(g, best), 0);
	return op_equal(g, at, op_gather_elements(g, of_other, best, 1));
}

graph_value both_rows(struct graph *g, graph_value first, graph_value second)
{
	return op_concat(g, 2, (graph_value[]){ op_unsqueeze(g, first, 1), op_unsqueeze(g, second, 1) }, 1);
}

// logs [batch, points, points] of how well points go together; weak_zeroed: a score that is not above the threshold is 0.
// *scores [batch, 2, points]; the result i64 likewise: the other picture's point, -1: none.
static graph_value matched(struct build *b, graph_value logs, bool weak_zeroed, graph_value *scores)
{
	struct graph *g = b->g;
	graph_value threshold = graph_f32(g, (float)((const struct matching *)b->s->own)->threshold), zero = graph_f32(g, 0);
	graph_value first = op_argmax(g, logs, 2, false), second = op_argmax(g, logs, 1, false), none = graph_i64(g, -1);
	graph_value is_first = mutual(g, first, second), is_second = mutual(g, second, first);
	graph_value score = op_where(g, is_first, op_exp(g, op_reduce_max(g, logs, 2, false)), zero);
	graph_value valid = op_and(g, is_first, op_greater(g, score, threshold));
	if (weak_zeroed) {
		score = op_where(g, op_greater(g, score, threshold), score, zero);
		valid = op_and(g, is_first, op_greater(g, score, zero));
	}
	graph_value other = op_where(g, is_second, op_gather_elements(g, score, second, 1), zero);
	*scores = both_rows(g, score, other);
	graph_value known = op_gather_elements(g, op_cast(g, valid, DTYPE_I64), second, 1);
	known = op_and(g, is_second, op_greater(g, known, graph_i64(g, 0)));
	return both_rows(g, op_where(g, valid, first, none), op_where(g, known, second, none));
}

void pair_hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 224, 224);
}

// ---- SuperGlue ------------------------------------------------------------------------------------------------------------

static void resolve_crossing(struct config *c, struct spec *s, struct matching *o, struct arena *a)
{
	const json_t *kinds = config_get(c, "gnn_layers_types");
	s->layers = kinds ? (int64_t)json_array_size(kinds) : 18;
	if (s->layers < 1 || s->layers > CONFIG_COUNT_MOST) {
		config_fail(c, STATUS_BAD_INPUT, "gnn_layers_types should list the layers");
		return;
	}
	bool *crosses = ARENA_ARRAY(a, (size_t)s->layers, bool);
	for (int64_t i = 0; i < s->layers; i++) {
		const char *word = kinds ? json_string_value(json_array_get(kinds, (size_t)i)) : i % 2 ? "cross" : "self";
		crosses[i] = word && text_is(word, "cross");
		if (!word || (!crosses[i] && !text_is(word, "self")))
			config_fail(c, STATUS_BAD_INPUT, "gnn_layers_types should be self or cross");
	}
	o->crosses = crosses;
	s->layers_in_config = s->layers;
}

static void resolve_glue(struct config *c, struct spec *s, struct arena *a)
{
	static const int64_t usual[] = { 32, 64, 128, 256 };
	struct matching *o = ARENA_NEW(a, struct matching);
	s->own = o;
	const struct spec *detector = resolve_detector_part(c, s, a);
	s->hidden_size = config_size(c, "hidden_size", 256);
	s->heads = s->kv_heads = config_size(c, "num_attention_heads", 4);
	o->iterations = config_count(c, "sinkhorn_iterations", 100);
	o->threshold = config_real(c, "matching_threshold", 0);
	o->widths = config_sizes(c, "keypoint_encoder_sizes", a, 0, &o->steps);
	if (!o->widths)
		o->widths = usual, o->steps = 4;
	else
		o->widths = resolve_stages(c, "keypoint_encoder_sizes", a, o->steps, 1);
	resolve_crossing(c, s, o, a);
	check_heads(c, s);
	if (detector && !c->error.status && superpoint_width(detector) != s->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "hidden_size %lld is not descriptor_decoder_dim %lld of the detector",
			(long long)s->hidden_size, (long long)superpoint_width(detector));
	if (!c->error.status && (o->steps > 64 || !(o->threshold >= 0)))
		config_fail(c, STATUS_UNSUPPORTED, "keypoint_encoder_sizes of %lld steps, matching_threshold %g",
			(long long)o->steps, o->threshold);
}

// What is added to the descriptors: [2 * batch, points, hidden]
static graph_value encoded_places(struct build *b, const struct pairs *p)
{
	struct graph *g = b->g;
	const struct matching *o = b->s->own;
	graph_value x = op_concat(g, 2, (graph_value[]){ p->at, op_unsqueeze(g, p->scores, 2) }, 2);
	int64_t in = 3;
	for (b->layer = 0; b->layer < o->steps && !graph_failed(g); b->layer++) {
		int64_t w = o->widths[b->layer];
		x = op_relu(g, last_batch_norm(b, "places.step.norm", linear(b, "places.step", x, in, w, true), w));
		in = w;
	}
	return linear(b, "places.last", x, in, b->s->hidden_size, true);
}

static graph_value glue_layer(struct build *b, const struct pairs *p, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	bool crosses = ((const struct matching *)b->s->own)->crosses[b->layer];
	graph_value from = crosses ? swapped(g, x) : x;
	graph_value y = op_attention(g,
		&(struct attention){ linear(b, "layers.attn.q", x, h, h, true), linear(b, "layers.attn.k", from, h, h, true),
			linear(b, "layers.attn.v", from, h, h, true), .bias = crosses ? p->other_bias : p->bias,
			.heads = b->s->heads, .scale = (float)(1 / sqrt((double)b->s->head_width)) });
	y = op_concat(g, 2, (graph_value[]){ x, linear(b, "layers.attn.o", y, h, h, true) }, 2);
	y = op_relu(g, last_batch_norm(b, "layers.ffn.norm", linear(b, "layers.ffn.up", y, 2 * h, 2 * h, true), 2 * h));
	return op_add(g, x, linear(b, "layers.ffn.down", y, 2 * h, h, true));
}

// log(sum(exp(x))) over an axis, which stays
static graph_value log_sum(struct graph *g, graph_value x, int axis)
{
	graph_value most = op_reduce_max(g, x, axis, true);
	return op_add(g, most, op_log(g, op_reduce_sum(g, op_exp(g, op_sub(g, x, most)), axis, true)));
}

// Sinkhorn's iterations over the likenesses with one more row and column, for points that match none: the logarithms of what is
// carried from each point to each [batch, points, points].
static graph_value transported(struct build *b, graph_value like)
{
	struct graph *g = b->g;
	const struct matching *o = b->s->own;
	graph_value bin = weight(b, "bin", "", 0, NULL), one = graph_i64s(g, 1, (int64_t[]){ 1 });
	graph_value batch = op_dim(g, like, 0), points = op_dim(g, like, 1), more = op_add(g, points, one);
	graph_value right = op_expand(g, bin, op_concat(g, 3, (graph_value[]){ batch, points, one }, 0));
	graph_value below = op_expand(g, bin, op_concat(g, 3, (graph_value[]){ batch, one, more }, 0));
	graph_value cost = op_concat(g, 2, (graph_value[]){ like, right }, 2);
	cost = op_concat(g, 2, (graph_value[]){ cost, below }, 1);
	graph_value count = op_cast(g, points, DTYPE_F32), norm = op_neg(g, op_log(g, op_scale(g, count, 2))); // [1]
	graph_value share = op_concat(g, 2, (graph_value[]){ op_expand(g, norm, points), op_add(g, op_log(g, count), norm) }, 0);
	graph_value rows = op_unsqueeze(g, share, 1), cols = op_unsqueeze(g, share, 0); // of each point, and of the one more
	graph_value u = graph_f32(g, 0), v = graph_f32(g, 0);
	for (int64_t i = 0; i < o->iterations && !graph_failed(g); i++) {
		u = op_sub(g, rows, log_sum(g, op_add(g, cost, v), 2)); // [batch, points + 1, 1]
		v = op_sub(g, cols, log_sum(g, op_add(g, cost, u), 1)); // [batch, 1, points + 1]
	}
	cost = op_sub(g, op_add(g, op_add(g, cost, u), v), norm);
	return op_slice(g, op_slice(g, cost, 1, 0, -1), 2, 0, -1);
}

static void build_glue(struct build *b)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	struct pairs p = detect(b, 0.7f);
	if (graph_failed(g))
		return;
	graph_value x = op_add(g, p.descriptors, encoded_places(b, &p)), scores;
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = glue_layer(b, &p, x);
		graph_leave(g);
	}
	x = linear(b, "project", x, h, h, true);
	graph_value one = graph_f32(g, (float)(1 / sqrt((double)h)));
	graph_value like = likeness(b, &p, x), scaled = op_mul(g, like, one);
	like = op_where(g, op_less_or_equal(g, like, graph_f32(g, -FLT_MAX)), like, scaled); // the lowest number stays it
	graph_value matches = matched(b, transported(b, like), true, &scores);
	graph_output(g, "matches", matches); // i64 [batch, 2, points]
	graph_output(g, "matching_scores", scores);
	graph_output(g, "keypoints", p.places); // [batch, 2, points, 2]
	graph_output(g, "mask", op_cast(g, paired(g, p.there), DTYPE_I32));
}

static const struct family_head heads[] = { { &head_matches }, { 0 } };

const struct family superglue = {
	.name = "superglue",
	.architecture = "vision",
	.resolve = resolve_glue,
	.build = build_glue,
	.hints = pair_hints,
	.heads = heads,
};

// ---- LightGlue ------------------------------------------------------------------------------------------------------------

static void resolve_light(struct config *c, struct spec *s, struct arena *a)
{
	struct matching *o = ARENA_NEW(a, struct matching);
	s->own = o;
	const struct spec *detector = resolve_detector_part(c, s, a);
	s->hidden_size = config_size(c, "hidden_size", 256);
	s->layers = s->layers_in_config = config_count(c, "num_hidden_layers", 9);
	s->heads = config_size(c, "num_attention_heads", 4);
	s->kv_heads = config_size(c, "num_key_value_heads", s->heads);
	s->norm_eps = 1e-5;
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	o->threshold = config_real(c, "filter_threshold", 0.1);
	o->biased = config_bool(c, "attention_bias", true);
	if (config_real(c, "depth_confidence", 0.95) > 0)
		config_fail(c, STATUS_UNSUPPORTED, "depth_confidence above 0: pairs leave the batch when they are sure");
	if (config_real(c, "width_confidence", 0.99) > 0)
		config_fail(c, STATUS_UNSUPPORTED, "width_confidence above 0: points are left out when they are sure");
	check_heads(c, s);
	if (!c->error.status && (s->layers < 1 || s->head_width % 2))
		config_fail(c, STATUS_BAD_INPUT, "%lld layers, heads of %lld", (long long)s->layers, (long long)s->head_width);
	if (detector)
		o->from = superpoint_width(detector);
}

// One half of a layer: x [2 * batch, points, hidden]; `from` is x itself or the other picture's.
static graph_value light_half(
	struct build *b, const char *half, graph_value x, graph_value from, graph_value bias, graph_value cos, graph_value sin)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	const struct spec *s = b->s;
	const struct matching *o = s->own;
	int64_t h = s->hidden_size, keys = s->kv_heads * s->head_width;
	graph_value q = linear(b, arena_printf(a, "%s.q", half), x, h, h, o->biased),
		    k = linear(b, arena_printf(a, "%s.k", half), from, h, keys, o->biased);
	if (cos.id) {
		q = rope_turn_by(b, q, cos, sin, s->heads, true);
		k = rope_turn_by(b, k, cos, sin, s->kv_heads, true);
	}
	graph_value y = op_attention(g,
		&(struct attention){ q, k, linear(b, arena_printf(a, "%s.v", half), from, h, keys, o->biased), .bias = bias,
			.heads = s->heads, .kv_heads = s->kv_heads, .scale = (float)(1 / sqrt((double)s->head_width)) });
	y = op_concat(g, 2, (graph_value[]){ x, linear(b, arena_printf(a, "%s.o", half), y, h, h, o->biased) }, 2);
	y = linear(b, arena_printf(a, "%s.ffn.up", half), y, 2 * h, 2 * h, true);
	y = activate(b, s->act, layer_norm(b, arena_printf(a, "%s.ffn.norm", half), y, 2 * h));
	return op_add(g, x, linear(b, arena_printf(a, "%s.ffn.down", half), y, 2 * h, h, true));
}

// log(sigmoid(x))
static graph_value log_sigmoid(struct graph *g, graph_value x)
{
	return op_neg(g, op_softplus(g, op_neg(g, x)));
}

// log(softmax(x)) over an axis
static graph_value log_shares(struct graph *g, graph_value x, int axis)
{
	x = op_sub(g, x, op_reduce_max(g, x, axis, true)); // first: the lowest numbers would swallow the logarithm
	return op_sub(g, x, op_log(g, op_reduce_sum(g, op_exp(g, x), axis, true)));
}

static void build_light(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct matching *o = s->own;
	int64_t h = s->hidden_size;
	struct pairs p = detect(b, 0.5f);
	if (graph_failed(g))
		return;
	graph_value x = o->from == h ? p.descriptors : linear(b, "in", p.descriptors, o->from, h, true);
	graph_value angle = op_unsqueeze(g, linear(b, "places", p.at, 2, s->head_width / 2, false), 2);
	graph_value cos = op_cos(g, angle), sin = op_sin(g, angle), scores;
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = light_half(b, "self", x, x, p.bias, cos, sin);
		x = light_half(b, "cross", x, swapped(g, x), p.other_bias, NO_VALUE, NO_VALUE);
		graph_leave(g);
	}
	b->layer = s->layers_in_config - 1;
	graph_value y = op_scale(g, linear(b, "project", x, h, h, true), (float)(1 / pow((double)h, 0.25)));
	graph_value sure = log_sigmoid(g, linear(b, "matchable", x, h, 1, true)); // [2 * batch, points, 1]
	graph_value like = likeness(b, &p, y);
	graph_value both = op_add(g, of_pair(g, sure, 0), op_transpose(g, of_pair(g, sure, 1), 3, (int[]){ 0, 2, 1 }));
	like = op_add(g, op_add(g, log_shares(g, like, 2), log_shares(g, like, 1)), both);
	graph_value matches = matched(b, like, false, &scores);
	graph_value flat = op_slice(g, op_shape(g, p.there), 0, 0, INT64_MAX);
	graph_output(g, "matches", op_reshape_to(g, matches, flat)); // i64 [2 * batch, points]
	graph_output(g, "matching_scores", op_reshape_to(g, scores, flat));
	graph_output(g, "keypoints", p.places); // [batch, 2, points, 2]
	graph_output(g, "mask", op_cast(g, paired(g, p.there), DTYPE_I32));
}

const struct family lightglue = {
	.name = "lightglue",
	.architecture = "vision",
	.resolve = resolve_light,
	.build = build_light,
	.hints = pair_hints,
	.heads = heads,
};
