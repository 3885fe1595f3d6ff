// SPDX-License-Identifier: Apache-2.0
// Efficient LoFTR (Wang et al. 2024, https://arxiv.org/abs/2403.04765): which places of two pictures are the same. Cells of both
// are matched by coarse states that look at each other, and a window of fine states around each says where in the cell.
// What transformers' class computes is built, also where it differs from the paper (below: "the class").
//
//   pixels [batch, 2, channels, height, width], first channel -> stages of RepVGG blocks -> coarse map, finer maps
//   coarse map -> layers: attention over pooled cells, own and the other picture's -> likenesses of cells -> matches, scores
//   coarse map - finer maps -> fine map -> windows of both matched cells -> expectation of where -> keypoints
#include <math.h>

#include "arch/family/matching.h"

struct loftr {
	int64_t stages;
	const int64_t *blocks, *strides, *widths;                   // [stages]
	int64_t query_kernel, query_stride, key_kernel, key_stride; // of what pools cells
	enum activation fine_act;                                   // of feed-forward layers and of the fine map
	bool biased, logits;                                        // logits: likenesses are taken without softmax
	double conv_eps, threshold, temperature, fine_temperature, theta;
	int64_t border, window, slice; // window: its side; slice: channels that say where in it
};

static const struct loftr *own(const struct build *b)
{
	return b->s->own;
}

// What the class makes of the keys above unless config.json says otherwise.
static void check_derived(struct config *c, const struct loftr *o)
{
	static const char *const keys[] = { "stage_block_in_channels", "stage_block_out_channels", "stage_block_stride" };
	const json_t *fusion = config_given(c, "fine_fusion_dims");
	bool same = !fusion || json_array_size(fusion) == (size_t)o->stages - 1;
	for (int64_t i = 0; same && fusion && i < o->stages - 1; i++)
		same = json_integer_value(json_array_get(fusion, (size_t)i)) == o->widths[o->stages - 1 - i];
	for (int k = 0; k < 3; k++) {
		const json_t *stages = config_given(c, keys[k]);
		for (int64_t i = 0; stages && i < o->stages; i++)
			for (int64_t j = 0; same && j < o->blocks[i]; j++) {
				int64_t before = i ? o->widths[i - 1] : 1, wide = o->widths[i];
				int64_t usual[] = { j ? wide : before, wide, j ? 1 : o->strides[i] };
				const json_t *given = json_array_get(json_array_get(stages, (size_t)i), (size_t)j);
				same = json_integer_value(given) == usual[k];
			}
	}
	if (!same)
		config_fail(c, STATUS_UNSUPPORTED,
			"stage_block_* or fine_fusion_dims other than what stage_stride, stage_num_blocks and out_features come "
			"to");
}

static void resolve_backbone(struct config *c, struct loftr *o, struct arena *a)
{
	o->strides = config_sizes(c, "stage_stride", a, 0, &o->stages);
	o->blocks = resolve_stages(c, "stage_num_blocks", a, o->stages, 1);
	o->widths = resolve_stages(c, "out_features", a, o->stages, 1);
	o->conv_eps = config_real(c, "batch_norm_eps", 1e-5);
	if (!c->error.status && (o->stages < 2 || o->stages > 8))
		config_fail(c, STATUS_BAD_INPUT, "stage_stride lists %lld stages, of 2 to 8", (long long)o->stages);
	for (int64_t i = 0; !c->error.status && i < o->stages; i++)
		if (o->blocks[i] > CONFIG_COUNT_MOST || o->strides[i] < 1 || o->strides[i] > 1 << 10)
			config_fail(c, STATUS_UNSUPPORTED, "%lld blocks in a stage, halved by %lld", (long long)o->blocks[i],
				(long long)o->strides[i]);
	if (!c->error.status)
		check_derived(c, o);
}

// Angles of rows and columns, as many each as a quarter of the states is wide.
static void resolve_angles(struct config *c, struct spec *s, struct loftr *o)
{
	const json_t *rope = config_given(c, "rope_parameters"), *scaling = config_given(c, "rope_scaling");
	rope = rope ? rope : scaling;
	const json_t *theta = json_object_get(rope, "rope_theta"), *part = json_object_get(rope, "partial_rotary_factor");
	const char *kind = json_string_value(json_object_get(rope, "rope_type"));
	o->theta = config_real(c, "rope_theta", 10000);
	o->theta = json_is_number(theta) ? json_number_value(theta) : o->theta;
	double share = config_real(c, "partial_rotary_factor", 4);
	share = json_is_number(part) ? json_number_value(part) : share;
	if (kind && !text_is(kind, "default"))
		config_fail(c, STATUS_UNSUPPORTED, "rope_type %s is not supported here yet", kind);
	int64_t width = s->hidden_size / s->heads, angles = share > 0 && share <= 1 << 20 ? (int64_t)((double)width * share) : 0;
	if (!c->error.status && (s->hidden_size % 4 || 2 * angles != s->hidden_size || !(o->theta > 0)))
		config_fail(c, STATUS_BAD_INPUT,
			"partial_rotary_factor %g of heads of %lld is not half of hidden_size %lld: the class cannot run so",
			share, (long long)width, (long long)s->hidden_size);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct loftr *o = ARENA_NEW(a, struct loftr);
	s->own = o;
	s->channels = 3;
	s->norm_eps = 1e-5;
	s->hidden_size = config_size(c, "hidden_size", 256);
	s->heads = config_size(c, "num_attention_heads", 8);
	s->kv_heads = config_size(c, "num_key_value_heads", s->heads);
	s->ffn_size = config_size(c, "intermediate_size", 2 * s->hidden_size);
	s->layers = s->layers_in_config = config_count(c, "num_attention_layers", 4);
	s->act = config_activation(c, "activation_function", ACT_RELU);
	o->fine_act = config_activation(c, "mlp_activation_function", ACT_LEAKY_RELU);
	o->biased = config_bool(c, "attention_bias", false);
	o->query_kernel = config_size(c, "q_aggregation_kernel_size", 4);
	o->query_stride = config_size(c, "q_aggregation_stride", 4);
	o->key_kernel = config_size(c, "kv_aggregation_kernel_size", 4);
	o->key_stride = config_size(c, "kv_aggregation_stride", 4);
	o->logits = config_bool(c, "coarse_matching_skip_softmax", false);
	o->threshold = config_real(c, "coarse_matching_threshold", 0.2);
	o->temperature = config_real(c, "coarse_matching_temperature", 0.1);
	o->border = config_size(c, "coarse_matching_border_removal", 2);
	o->window = config_size(c, "fine_kernel_size", 8);
	o->slice = config_size(c, "fine_matching_slice_dim", 8);
	o->fine_temperature = config_real(c, "fine_matching_regress_temperature", 10);
	resolve_backbone(c, o, a);
	if (c->error.status)
		return;
	int64_t cell = (int64_t)1 << (o->stages - 1),
		sides[] = { o->query_kernel, o->query_stride, o->key_kernel, o->key_stride };
	for (int i = 0; i < 4; i++)
		if (sides[i] < 1 || sides[i] > 1 << 10)
			config_fail(c, STATUS_BAD_INPUT, "cells are pooled by %lld", (long long)sides[i]);
	if (s->heads < 1 || s->kv_heads != s->heads || s->hidden_size % s->heads || s->ffn_size < 1 ||
		s->hidden_size != o->widths[o->stages - 1])
		config_fail(c, STATUS_BAD_INPUT, "%lld heads, %lld of keys, over %lld, which should be the last of out_features",
			(long long)s->heads, (long long)s->kv_heads, (long long)s->hidden_size);
	else
		resolve_angles(c, s, o);
	if (o->window < 1 || o->window > cell)
		config_fail(c, STATUS_UNSUPPORTED,
			"fine_kernel_size %lld in cells of %lld fine places: windows must fit into cells", (long long)o->window,
			(long long)cell);
	if (o->slice < 1 || o->slice >= o->widths[1])
		config_fail(c, STATUS_BAD_INPUT, "fine_matching_slice_dim %lld of %lld channels", (long long)o->slice,
			(long long)o->widths[1]);
}

// ---- states ---------------------------------------------------------------------------------------------------------------

// A RepVGG block (Ding et al. 2021, https://arxiv.org/abs/2101.03697): 3 by 3, 1 by 1 and, where nothing changes, x itself.
static graph_value block(struct build *b, graph_value x, int64_t out, int64_t stride)
{
	struct graph *g = b->g;
	double eps = own(b)->conv_eps;
	graph_value y = conv_norm(
		b, "block.wide", "block.wide.norm", x, (struct conv){ .out = out, .kernel = 3, .stride = stride }, eps, ACT_NONE);
	y = op_add(g, y,
		conv_norm(b, "block.point", "block.point.norm", x,
			(struct conv){ .out = out, .kernel = 1, .stride = stride, .pad = PAD_NONE }, eps, ACT_NONE));
	if (value_dim(g, x, 1) == out && stride == 1)
		y = op_add(g, y, batch_norm(b, "block.same", x, 1e-5));
	return activate(b, b->s->act, y);
}

// The maps of all stages, [stages] of [2 * batch, ..]; the last is the coarse one.
static void backbone(struct build *b, graph_value x, graph_value *maps)
{
	struct graph *g = b->g;
	const struct loftr *o = own(b);
	for (b->stage = 0; b->stage < o->stages && !graph_failed(g); b->stage++) {
		graph_enter(g, "stages.%lld", (long long)b->stage);
		for (b->layer = 0; b->layer < o->blocks[b->stage] && !graph_failed(g); b->layer++)
			x = block(b, x, o->widths[b->stage], b->layer ? 1 : o->strides[b->stage]);
		maps[b->stage] = x;
		graph_leave(g);
	}
}

// Angles of rows and columns, side by side, counted from 1, times falling frequencies: [1, rows * cols, 1, hidden / 2]
static graph_value angles(struct build *b, graph_value rows, graph_value cols)
{
	struct graph *g = b->g;
	int64_t n = b->s->hidden_size / 4, width = 2 * n;
	float *each = GRAPH_TABLE(g, NULL, n, 1, float);
	if (!each)
		return NO_VALUE;
	for (int64_t i = 0; i < n; i++)
		each[i] = 1 / powf((float)own(b)->theta, (float)(2 * i) / (float)width);
	graph_value frequency = graph_constant(g, DTYPE_F32, 1, &n, each), one = graph_i64(g, 1), at[2];
	graph_value shape = op_concat(g, 3, (graph_value[]){ rows, cols, graph_i64s(g, 1, &n) }, 0);
	for (int i = 0; i < 2; i++) {
		graph_value end = op_add(g, op_squeeze(g, i ? cols : rows, 0), one);
		graph_value place = op_unsqueeze(g, op_cast(g, op_range(g, one, end, one), DTYPE_F32), 1);
		place = op_mul(g, place, frequency);
		at[i] = op_unsqueeze(g, op_expand(g, op_unsqueeze(g, place, i ? 0 : 1), shape), 3);
	}
	return op_reshape(g, op_concat(g, 2, at, 3), 4, (int64_t[]){ 1, -1, 1, width });
}

// The stems of one half of a layer.
struct half {
	const char *pool, *norm, *q, *k, *v, *o, *up, *down, *after;
};
#define HALF(name) \
	{ \
		name ".pool", name ".norm", name ".q", name ".k", name ".v", name ".o", name ".ffn.up", name ".ffn.down", \
			name ".ffn.norm" \
	}
static const struct half self = HALF("self"), cross = HALF("cross");

// What cells of x [.., hidden, rows, cols], pooled, find among those of `from`, spread out again, is added through two linear
// layers. Of the own picture with rotary positions.
static graph_value look(struct build *b, const struct half *n, graph_value x, graph_value from, bool rotary)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct loftr *o = own(b);
	int64_t h = s->hidden_size, kernel[] = { o->key_kernel, o->key_kernel }, stride[] = { o->key_stride, o->key_stride };
	graph_value pooled = conv(b, n->pool, x,
		(struct conv){ .out = h, .kernel = o->query_kernel, .stride = o->query_stride, .pad = PAD_NONE, .group = h });
	graph_value keys = op_max_pool(g, from, 2, kernel, stride, (int64_t[]){ 0, 0, 0, 0 }, false);
	graph_value rows = op_dim(g, pooled, 2), cols = op_dim(g, pooled, 3);
	graph_value y = layer_norm(b, n->norm, tokens_of(b, pooled), h), z = layer_norm(b, n->norm, tokens_of(b, keys), h);
	graph_value q = linear(b, n->q, y, h, h, o->biased), k = linear(b, n->k, z, h, h, o->biased);
	if (rotary) {
		graph_value turn = angles(b, rows, cols), cos = op_cos(g, turn), sin = op_sin(g, turn);
		q = rope_turn_by(b, q, cos, sin, 1, true);
		k = rope_turn_by(b, k, cos, sin, 1, true);
	}
	graph_value found = op_attention(g,
		&(struct attention){ q, k, linear(b, n->v, z, h, h, o->biased), .heads = s->heads,
			.scale = (float)(1 / sqrt((double)h / (double)s->heads)) });
	found = map_of_grid(b, linear(b, n->o, found, h, h, o->biased), rows, cols);
	found = resized_like(b, found, x, "linear");
	y = tokens_of(b, op_concat(g, 2, (graph_value[]){ x, found }, 1));
	y = activate(b, o->fine_act, linear(b, n->up, y, 2 * h, s->ffn_size, false));
	y = linear(b, n->down, y, s->ffn_size, h, false);
	return op_add(g, x, map_of(b, layer_norm(b, n->after, y, h), x));
}

// x [2 * batch, hidden, rows, cols]. In the class the second picture looks at what the first has already become.
static graph_value transform(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = look(b, &self, x, x, true);
		graph_value first = of_pair(g, x, 0), second = of_pair(g, x, 1);
		first = look(b, &cross, first, second, false);
		second = look(b, &cross, second, first, false);
		x = pair_rows(g, both_rows(g, first, second));
		graph_leave(g);
	}
	return x;
}

// ---- matches of cells -----------------------------------------------------------------------------------------------------

// Which cells are not at the border: bool [rows * cols]
static graph_value inner(struct build *b, graph_value rows, graph_value cols)
{
	struct graph *g = b->g;
	graph_value border = graph_i64(g, own(b)->border), is[2];
	for (int i = 0; i < 2; i++) {
		graph_value end = op_squeeze(g, i ? cols : rows, 0);
		graph_value at = op_range(g, graph_i64(g, 0), end, graph_i64(g, 1));
		is[i] = op_and(g, op_less_or_equal(g, border, at), op_less(g, at, op_sub(g, end, border)));
	}
	graph_value both = op_and(g, op_unsqueeze(g, is[0], 1), op_unsqueeze(g, is[1], 0));
	return op_reshape(g, both, 1, (int64_t[]){ -1 });
}

// How well cells of both pictures go together, 0 where they are no match: [batch, cells of the first, cells of the second]
static graph_value confidence(struct build *b, graph_value coarse)
{
	struct graph *g = b->g;
	const struct loftr *o = own(b);
	graph_value rows = op_dim(g, coarse, 2), cols = op_dim(g, coarse, 3);
	graph_value x = op_scale(g, tokens_of(b, coarse), (float)(1 / sqrt((double)b->s->hidden_size)));
	graph_value like = op_matmul(g, of_pair(g, x, 0), op_transpose(g, of_pair(g, x, 1), 3, (int[]){ 0, 2, 1 }));
	like = op_scale(g, like, (float)(1 / o->temperature));
	if (!o->logits)
		like = op_mul(g, op_softmax(g, like, 1), op_softmax(g, like, 2));
	graph_value is = op_greater(g, like, graph_f32(g, (float)o->threshold));
	is = op_and(g, is, op_equal(g, like, op_reduce_max(g, like, 1, true)));
	is = op_and(g, is, op_equal(g, like, op_reduce_max(g, like, 2, true)));
	if (o->border > 0) {
		graph_value in = inner(b, rows, cols);
		is = op_and(g, is, op_and(g, op_unsqueeze(g, in, 1), op_unsqueeze(g, in, 0)));
	}
	return op_where(g, is, like, graph_f32(g, 0));
}

// The other picture's cell for each cell, i64 [batch, 2, cells], -1: none; *scores f32 likewise. First come the second picture's
// cells. The class lays the cells of all pairs one behind the other and cuts them anew, so that from the second pair on they
// are another row's.
static graph_value matches(struct build *b, graph_value coarse, graph_value *scores)
{
	struct graph *g = b->g;
	graph_value like = confidence(b, coarse);
	*scores = both_rows(g, op_reduce_max(g, like, 1, false), op_reduce_max(g, like, 2, false));
	graph_value all = op_concat(g, 2, (graph_value[]){ op_argmax(g, like, 1, false), op_argmax(g, like, 2, false) }, 0);
	all = op_reshape_to(g, all, op_shape(g, *scores));
	return op_where(g, op_greater(g, *scores, graph_f32(g, 0)), all, graph_i64(g, -1));
}

// Where cells of that number begin, in pixels of which a cell has `scale` on each side: f32 [.., 2], x and y. That of -1 lies
// before the first row, in the last column.
static graph_value corners(struct build *b, graph_value cell, graph_value coarse, graph_value scale)
{
	struct graph *g = b->g;
	graph_value cols = op_dim(g, coarse, 3), x = op_mod(g, cell, cols), y = op_div(g, op_sub(g, cell, x), cols);
	graph_value at = op_concat(g, 2, (graph_value[]){ op_unsqueeze(g, x, 3), op_unsqueeze(g, y, 3) }, 3);
	return op_mul(g, op_cast(g, at, DTYPE_F32), scale);
}

// ---- within cells ---------------------------------------------------------------------------------------------------------

// The fine map of both pictures, 2^(stages - 1) places a side for each cell: [2 * batch, widths[1], ..]
static graph_value fine_map(struct build *b, graph_value coarse, const graph_value *maps)
{
	struct graph *g = b->g;
	const struct loftr *o = own(b);
	int64_t h = b->s->hidden_size;
	graph_value x = op_scale(g, coarse, (float)(1 / sqrt((double)h)));
	x = conv(b, "fine.in", x, (struct conv){ .out = h, .kernel = 1 });
	for (int64_t i = o->stages - 2; i >= 1 && !graph_failed(g); i--) {
		b->layer = o->stages - 2 - i;
		x = resized_like(b, x, maps[i], "linear");
		graph_value y = conv(b, "fine.side", maps[i], (struct conv){ .out = o->widths[i + 1], .kernel = 1 });
		y = conv(b, "fine.wide", op_add(g, y, x), (struct conv){ .out = o->widths[i + 1], .kernel = 3 });
		y = activate(b, o->fine_act, batch_norm(b, "fine.norm", y, 1e-5));
		x = conv(b, "fine.out", y, (struct conv){ .out = o->widths[i], .kernel = 3 });
	}
	return resized_by(b, x, 2);
}

// The window of each cell named, of `side` places along each side, which begins `before` places before the cell: fine [batch,
// channels, height, width], cell i64 [batch, n]: [batch, n, side * side, channels]
static graph_value windows(struct build *b, graph_value fine, graph_value cell, graph_value coarse, int64_t side, int64_t before)
{
	struct graph *g = b->g;
	int64_t count = side * side, step = (int64_t)1 << (own(b)->stages - 1), channels = own(b)->widths[1];
	int64_t *down = GRAPH_TABLE(g, NULL, count, 1, int64_t), *across = GRAPH_TABLE(g, NULL, count, 1, int64_t);
	if (!down || !across || graph_failed(g))
		return NO_VALUE;
	for (int64_t i = 0; i < count; i++)
		down[i] = i / side, across[i] = i % side;
	if (before)
		fine = op_pad(g, op_pad(g, fine, 2, before, before), 3, before, before);
	graph_value wide = op_dim(g, fine, 3), cols = op_dim(g, coarse, 3), cells = op_mul(g, op_dim(g, coarse, 2), cols);
	graph_value last = op_sub(g, cells, graph_i64(g, 1)), by = graph_i64(g, step); // none is the last, as an index of torch
	cell = op_where(g, op_less(g, cell, graph_i64(g, 0)), last, cell);
	graph_value col = op_mod(g, cell, cols), row = op_div(g, op_sub(g, cell, col), cols);
	graph_value begin = op_add(g, op_mul(g, op_mul(g, row, by), wide), op_mul(g, col, by));
	graph_value within = op_mul(g, graph_constant(g, DTYPE_I64, 1, &count, down), wide);
	within = op_add(g, within, graph_constant(g, DTYPE_I64, 1, &count, across));
	graph_value at = op_reshape(g, op_add(g, op_unsqueeze(g, begin, 2), within), 2, (int64_t[]){ 0, -1 });
	graph_value x = op_gather_nd(g, tokens_of(b, fine), op_unsqueeze(g, at, 2), 1);
	x = op_reshape(g, x, 4, (int64_t[]){ 0, -1, count, channels });
	graph_assume(g, x, 1, value_dim(g, cell, 1));
	return x;
}

// Likenesses of the windows' places by channels from `begin` to `end`: [batch, n, window^2, (window + 2)^2]
static graph_value likeness(struct graph *g, graph_value x, graph_value y, int64_t begin, int64_t end, double divisor)
{
	x = op_slice(g, x, 3, begin, end), y = op_slice(g, y, 3, begin, end);
	return op_scale(g, op_matmul(g, x, op_transpose(g, y, 4, (int[]){ 0, 1, 3, 2 })), (float)(1 / divisor));
}

// Of each pair of windows, which place of the first and which of the second, without its border, go best together, as one number:
// i64 [batch, n, 1]. The class takes the softmax over matches and over the first window.
static graph_value best_places(struct build *b, graph_value x, graph_value y)
{
	struct graph *g = b->g;
	int64_t k = own(b)->window, count = k * k, end = own(b)->widths[1] - own(b)->slice;
	graph_value like = likeness(g, x, y, 0, end, (double)end);
	like = op_mul(g, op_softmax(g, like, 1), op_softmax(g, like, 2));
	graph_value n = op_dim(g, like, 1), sides = graph_i64s(g, 3, (int64_t[]){ count, k + 2, k + 2 });
	like = op_reshape_to(g, like, op_concat(g, 3, (graph_value[]){ op_dim(g, like, 0), n, sides }, 0));
	like = op_slice(g, op_slice(g, like, 3, 1, k + 1), 4, 1, k + 1);
	graph_value flat[] = { op_dim(g, like, 0), n, graph_i64s(g, 1, (int64_t[]){ count * count }) };
	return op_argmax(g, op_reshape_to(g, like, op_concat(g, 3, flat, 0)), 2, true);
}

// Where around the second window's place the first one's is expected, in places to the right and down, between -1 and 1: f32
// [1, n, 2]. The class counts the nine places around from one to the left and above, beyond the beginning from the end, and has
// what the first pair of pictures gives for all.
static graph_value expected(struct build *b, graph_value x, graph_value y, graph_value best)
{
	struct graph *g = b->g;
	const struct loftr *o = own(b);
	int64_t k = o->window, count = k * k, all = (k + 2) * (k + 2), from = o->widths[1] - o->slice;
	int64_t to = 2 * from < o->widths[1] ? 2 * from : o->widths[1], nine = 9;
	int64_t down[9], across[9];
	float ways[18];
	for (int i = 0; i < 9; i++) {
		down[i] = i / 3 - 1, across[i] = i % 3 - 1;
		ways[2 * i] = (float)across[i], ways[2 * i + 1] = (float)down[i];
	}
	graph_value like = likeness(g, x, y, from, to, sqrt((double)o->slice));
	graph_value flat[] = { op_slice(g, op_shape(g, like), 0, 0, 2), graph_i64s(g, 1, (int64_t[]){ count * all }) };
	like = op_reshape_to(g, like, op_concat(g, 2, flat, 0));
	graph_value number = graph_i64(g, count), side = graph_i64(g, k), round = graph_i64(g, k + 2);
	graph_value first = op_div(g, best, number), second = op_mod(g, best, number);
	graph_value row = op_add(g, op_div(g, second, side), graph_constant(g, DTYPE_I64, 1, &nine, down));
	graph_value col = op_add(g, op_mod(g, second, side), graph_constant(g, DTYPE_I64, 1, &nine, across)); // [batch, n, 9]
	graph_value at = op_add(g, op_mul(g, op_mod(g, row, round), round), op_mod(g, col, round));
	at = op_add(g, at, op_mul(g, first, graph_i64(g, all)));
	graph_value share = op_scale(g, op_gather_elements(g, like, at, 2), (float)(1 / o->fine_temperature));
	share = op_slice(g, op_softmax(g, share, 2), 0, 0, 1);
	return op_matmul(g, share, graph_constant(g, DTYPE_F32, 2, (int64_t[]){ 9, 2 }, ways));
}

// cell i64 [batch, 2, n]: keypoints f32 [batch, 2, n, 2] as shares of the picture's width and height. The class puts every place
// of the first stage at its window's beginning.
static graph_value keypoints(struct build *b, graph_value cell, graph_value coarse, graph_value fine, graph_value pixels)
{
	struct graph *g = b->g;
	int64_t k = own(b)->window;
	graph_value height = op_cast(g, op_dim(g, pixels, 3), DTYPE_F32), width = op_cast(g, op_dim(g, pixels, 4), DTYPE_F32);
	graph_value scale = op_div(g, height, op_cast(g, op_dim(g, coarse, 2), DTYPE_F32)), one[2], at[2];
	for (int i = 0; i < 2; i++)
		one[i] = op_squeeze(g, op_slice(g, cell, 1, i, i + 1), 1);
	graph_value x = windows(b, of_pair(g, fine, 0), one[0], coarse, k, 0),
		    y = windows(b, of_pair(g, fine, 1), one[1], coarse, k + 2, 1);
	graph_value place = op_add(g, corners(b, cell, coarse, scale), graph_f32(g, 0.5f - (float)(k / 2)));
	graph_value moved = expected(b, x, y, best_places(b, x, y));
	for (int i = 0; i < 2; i++)
		at[i] = op_squeeze(g, op_slice(g, place, 1, i, i + 1), 1);
	place = both_rows(g, at[0], op_add(g, at[1], moved));
	return op_div(g, place, op_concat(g, 2, (graph_value[]){ width, height }, 0));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct loftr *o = own(b);
	graph_value pixels = pair_input(b, b->s->channels), maps[8], scores;
	backbone(b, op_slice(g, pair_rows(g, pixels), 1, 0, 1), maps);
	if (graph_failed(g))
		return;
	graph_value coarse = transform(b, maps[o->stages - 1]);
	if (b->s->head->bare) {
		graph_output(g, "feature_maps.0", paired(g, coarse));
		for (int64_t i = 1; i < o->stages - 1; i++)
			graph_output(g, arena_printf(graph_arena(g), "feature_maps.%lld", (long long)i), maps[i]);
		return;
	}
	graph_value cell = matches(b, coarse, &scores);
	graph_output(g, "matches", cell); // i64 [batch, 2, cells]
	graph_output(g, "matching_scores", scores);
	graph_output(g, "keypoints", keypoints(b, cell, coarse, fine_map(b, coarse, maps), pixels)); // [batch, 2, cells, 2]
}

static const struct family_head heads[] = { { &head_matches }, { &head_model }, { 0 } };

const struct family efficient_loftr = {
	.name = "efficient-loftr",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = pair_hints,
	.heads = heads,
};
