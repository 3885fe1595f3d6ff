// SPDX-License-Identifier: Apache-2.0
// Vision towers for pictures of any size and number, whose patches lie one after another (Qwen2-VL, Wang et al. 2024,
// https://arxiv.org/abs/2409.12191; Qwen2.5-VL, https://arxiv.org/abs/2502.13923; DeepStack, Meng et al. 2024,
// https://arxiv.org/abs/2406.04334, in Qwen3-VL). image_grid_thw says how many patches each has in time, height and width. A
// patch attends to those of its frame, or of its window; squares of merge * merge patches lie together and become one feature.
//
//   pixels [patches, channels * time * size * size] -> linear (+ positions) -> layers -> norm - squares joined - linear - GELU
//   - linear
//   layer:  x -+- norm - attention, rotated by row and column -(+)-+- norm - feed-forward -(+)-
//              +---------------------------------------------+  +------------------------+
#include <float.h>
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/grid_vision.h"

// ---- from config.json ---------------------------------------------------------------------------------------------------

static void resolve_axial_rope(struct config *c, struct spec *s, bool timed)
{
	const json_t *o = config_get(c, "rope_parameters"), *theta = json_object_get(o, "rope_theta");
	const char *kind = json_string_value(json_object_get(o, "rope_type"));
	s->rope.theta = json_is_number(theta) ? json_number_value(theta) : config_real(c, "rope_theta", 10000);
	if (kind && !text_is(kind, "axial") && !text_is(kind, "default"))
		config_fail(c, STATUS_UNSUPPORTED, "the rotary scaling %s is not supported yet", kind);
	if (!c->error.status && (!(s->rope.theta > 1) || (timed ? s->head_width < 6 : s->head_width % 4)))
		config_fail(c, STATUS_BAD_INPUT, "heads of %lld do not divide into rows and columns", (long long)s->head_width);
}

// Numbers of layers; the list may be empty.
static const int64_t *layers_of(struct config *c, struct arena *a, const char *key, int64_t *count)
{
	const json_t *list = config_get(c, key);
	*count = 0;
	return json_is_array(list) && !json_array_size(list) ? NULL : config_sizes(c, key, a, 1, count);
}

static const bool *marked(struct config *c, struct spec *s, struct arena *a, const char *key)
{
	int64_t count;
	const int64_t *list = layers_of(c, a, key, &count);
	bool *out = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	for (int64_t i = 0; i < count; i++)
		if (list[i] < s->layers)
			out[list[i]] = true;
	return out;
}

// Sizes of a tower whose frames are pooled: squares, a table of positions with a side of each way, the most frames.
static void resolve_pooled_frames(struct config *c, struct spec *s, struct arena *a)
{
	struct grid_vision *v = s->own;
	int64_t square[2] = { 0 };
	s->norm_eps = 1e-5;
	resolve_pair(c, a, "merge_kernel_size", 2, 1, square);
	v->merge = square[0];
	v->side = config_size(c, "pos_emb_height", 64);
	v->places = v->side * config_size(c, "pos_emb_width", 64);
	v->moments = config_size(c, "pos_emb_time", 4);
	if (!c->error.status &&
		(square[0] != square[1] || v->side > 1 << 15 || v->places > 1 << 30 || v->places != v->side * v->side ||
			v->moments < 1 || v->moments > 1 << 15))
		config_fail(c, STATUS_UNSUPPORTED, "merge_kernel_size and the table of positions should be square");
	// Where query, key and value lie in one tensor, pairs to rotate lie side by side.
	s->traits.interleaved_rope = !c->checkpoint->weight_count;
	for (size_t i = 0; i < c->checkpoint->weight_count; i++)
		s->traits.interleaved_rope |= text_ends(c->checkpoint->weights[i].name, ".wqkv.weight");
}

static void resolve_convolutions(struct config *c, struct spec *s, struct arena *a)
{
	struct grid_vision *v = s->own;
	const json_t *words = config_get(c, "layer_types");
	bool *attends = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	for (int64_t i = 0; i < s->layers; i++)
		attends[i] = words ? !text_is(json_string_value(json_array_get(words, (size_t)i)), "conv") : i > 1 && i % 2 == 0;
	v->attends = attends;
	v->kernel = config_size(c, "conv_kernel_size", 3);
	s->act = ACT_SILU;
	if (!c->error.status && (v->kernel % 2 == 0 || v->kernel > 63 || (words && json_array_size(words) != (size_t)s->layers)))
		config_fail(c, STATUS_BAD_INPUT, "layer_types should name %lld layers, and conv_kernel_size be odd",
			(long long)s->layers);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct grid_vision *v = ARENA_NEW(a, struct grid_vision);
	s->own = v;
	resolve_transformer(c, s, true);
	if (c->error.status)
		return;
	const struct grid_vision_traits *t = TRAITS_OF(s, grid_vision);
	if (!config_knows(c, "rms_norm_eps") && !config_knows(c, "layer_norm_eps"))
		s->norm_eps = 1e-6;
	s->channels = config_size(c, "num_channels", 3);
	s->patch_size = s->patch_width = config_size(c, "patch_size", -1);
	if (!s->ffn_size)
		s->ffn_size = (int64_t)((double)s->hidden_size * config_real(c, "mlp_ratio", 4));
	v->flat = t->lined || !config_knows(c, "temporal_patch_size");
	v->frames = v->flat ? 1 : config_size(c, "temporal_patch_size", 2);
	if (t->lined)
		s->kv_heads = s->heads; // num_key_value_heads counts for nothing
	v->merge = t->merge_given || t->pooled_frames ? 1 : config_size(c, "spatial_merge_size", 2);
	if (t->pooled_frames)
		resolve_pooled_frames(c, s, a);
	v->out = t->unmerged ? s->hidden_size : config_size(c, "merged_size", -1);
	if (!t->no_rotary)
		resolve_axial_rope(c, s, t->timed);
	if (t->convolves)
		resolve_convolutions(c, s, a);
	v->qkv_bias = config_bool(c, "attention_bias", true) && !t->convolves;
	v->out_bias = v->qkv_bias && !t->qkv_bias_only;
	v->ffn_bias = v->out_bias || s->traits.plain_ffn;
	if (t->crossed_sizes)
		v->wide = s->ffn_size, s->ffn_size = v->out;
	else if (t->convolved)
		v->wide = config_size(c, "projection_intermediate_size", v->out * s->channels);
	s->gate_limit = config_real(c, "swiglu_limit", 0);
	if (!c->error.status &&
		(v->frames < 1 || v->frames > 64 || v->merge < 1 || v->merge > 64 || s->patch_size < 1 || s->patch_size > 4096 ||
			s->channels < 1 || v->out < 1 || (t->convolved && v->wide < 1)))
		config_fail(c, STATUS_BAD_INPUT, "the patches' sizes do not go together");
	if (c->error.status)
		return;
	const char *mode = t->lined ? config_text(c, "interpolate_mode") : NULL;
	if (mode && !text_is(mode, "bilinear"))
		config_fail(c, STATUS_UNSUPPORTED, "the interpolate_mode %s is not supported yet", mode);
	if (t->windows) {
		v->window = config_size(c, "window_size", 112) / v->merge / s->patch_size;
		v->whole = marked(c, s, a, "fullatt_block_indexes");
		if (v->window < 1)
			config_fail(c, STATUS_BAD_INPUT, "window_size holds no feature");
	}
	if (t->positions && !t->pooled_frames) {
		int64_t side = config_knows(c, "image_size") ? config_size(c, "image_size", -1) / s->patch_size : 0;
		v->places = config_knows(c, "image_size") ? side * side : config_size(c, "num_position_embeddings", -1);
		while ((v->side + 1) * (v->side + 1) <= v->places)
			v->side++;
		v->deep = layers_of(c, a, "deepstack_visual_indexes", &v->deep_count);
		if (!c->error.status && (v->side < 1 || v->side > 1 << 15 || v->deep_count > CONFIG_COUNT_MOST))
			config_fail(c, STATUS_BAD_INPUT, "there should be learned positions");
	}
	// For synthetic pictures: a grid of few features.
	s->image_size = s->image_width = s->patch_size * v->merge * 4;
	s->image_tokens = 16;
}

// ---- where a patch is ---------------------------------------------------------------------------------------------------

// a / b and a % b of whole numbers that are not negative
static graph_value rest(struct graph *g, graph_value a, graph_value b)
{
	return op_sub(g, a, op_mul(g, op_div(g, a, b), b));
}

struct grid_places grid_places(struct build *b, graph_value grid, graph_value number, int64_t merge)
{
	struct graph *g = b->g;
	graph_value t = op_gather(g, grid, graph_i64(g, 0), 1), h = op_gather(g, grid, graph_i64(g, 1), 1),
		    w = op_gather(g, grid, graph_i64(g, 2), 1); // [pictures]
	if (merge > 1)
		h = op_div(g, h, graph_i64(g, merge)), w = op_div(g, w, graph_i64(g, merge));
	graph_value count = op_mul(g, t, op_mul(g, h, w)), end = op_cumsum(g, count, 0);
	graph_value behind = op_less_or_equal(g, end, op_unsqueeze(g, number, -1)); // [.., pictures]
	graph_value picture = op_reduce_sum(g, op_cast(g, behind, DTYPE_I64), -1, false);
	graph_value last = op_squeeze(g, op_sub(g, op_dim(g, grid, 0), graph_i64(g, 1)), 0);
	picture = op_min(g, picture, last);
	graph_value at = op_sub(g, number, op_gather(g, op_sub(g, end, count), picture, 0));
	graph_value wide = op_gather(g, w, picture, 0), tall = op_gather(g, h, picture, 0), area = op_mul(g, tall, wide);
	struct grid_places p = { .picture = picture, .frame = op_div(g, at, area), .rows = tall, .columns = wide };
	p.within = rest(g, at, area);
	return p;
}

// Squares of merge * merge patches lie together, in rows of squares. merge: i64, or NO_VALUE for `usual` in all pictures.
static void rows_and_columns(struct build *b, struct grid_places *p, graph_value merge, int64_t usual)
{
	struct graph *g = b->g;
	graph_value m = merge.id ? op_gather(g, merge, p->picture, 0) : graph_i64(g, usual), squares = op_div(g, p->columns, m);
	graph_value area = merge.id ? op_mul(g, m, m) : graph_i64(g, usual * usual);
	graph_value square = op_div(g, p->within, area), inside = rest(g, p->within, area);
	p->row = op_add(g, op_mul(g, op_div(g, square, squares), m), op_div(g, inside, m));
	p->column = op_add(g, op_mul(g, rest(g, square, squares), m), rest(g, inside, m));
}

// Pairs of patches that are in `same` (NO_VALUE: all) and have the same key, i64 [patches]: bool [patches, patches]
static graph_value alike(struct build *b, graph_value same, graph_value key)
{
	struct graph *g = b->g;
	graph_value equal = op_equal(g, op_unsqueeze(g, key, 1), op_unsqueeze(g, key, 0));
	return same.id ? op_and(g, same, equal) : equal;
}

// What is added to scores: [1, 1, patches, patches]
static graph_value bias_of(struct build *b, graph_value same)
{
	struct graph *g = b->g;
	graph_value bias = op_where(g, same, graph_f32(g, 0), graph_f32(g, -FLT_MAX));
	return op_unsqueeze(g, op_unsqueeze(g, bias, 0), 0);
}

// cos and sin [1, patches, 1, angles]: a third of them by time, by row and by column; what is left of a head is not rotated
static void timed_tables(struct build *b, const struct grid_places *p, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t few = b->s->head_width / 3 / 2;
	float *f = GRAPH_TABLE(g, NULL, few, 1, float);
	for (int64_t k = 0; f && k < few; k++)
		f[k] = (float)(1 / pow(b->s->rope.theta, (double)k / (double)few));
	graph_value inverse = graph_constant(g, DTYPE_F32, 1, &few, f), at[] = { p->frame, p->row, p->column }, angle[3];
	for (int i = 0; i < 3; i++)
		angle[i] = op_mul(g, op_unsqueeze(g, op_cast(g, at[i], DTYPE_F32), 1), inverse);
	graph_value all = op_unsqueeze(g, op_unsqueeze(g, op_concat(g, 3, angle, 1), 0), 2);
	*cos = op_cos(g, all), *sin = op_sin(g, all);
}

// cos and sin [1, patches, 1, head / 2]: the first half of the angles by row, the second by column, with
// the same frequencies or with those between them
static void axial_tables(struct build *b, const struct grid_places *p, bool lie_between, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t half = s->head_width / 2, few = half / 2;
	graph_value angle[2];
	for (int i = 0; i < 2; i++) {
		float *f = GRAPH_TABLE(g, NULL, few, 1, float);
		for (int64_t k = 0; f && k < few; k++)
			f[k] = (float)(1 / pow(s->rope.theta, (double)(2 * k + (lie_between ? i : 0)) / (double)half));
		graph_value inverse = graph_constant(g, DTYPE_F32, 1, &few, f);
		angle[i] = op_mul(g, op_unsqueeze(g, op_cast(g, i ? p->column : p->row, DTYPE_F32), 1), inverse);
	}
	graph_value both = op_unsqueeze(g, op_unsqueeze(g, op_concat(g, 2, angle, 1), 0), 2);
	*cos = op_cos(g, both), *sin = op_sin(g, both);
}

// The same with angles by column and by row in turn, of one frequency each
static void alternating_tables(struct build *b, const struct grid_places *p, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t half = b->s->head_width / 2, few = half / 2;
	graph_value angle[2];
	float *f = GRAPH_TABLE(g, NULL, few, 1, float);
	for (int64_t k = 0; f && k < few; k++)
		f[k] = (float)(1 / pow(b->s->rope.theta, (double)(2 * k) / (double)half));
	graph_value inverse = graph_constant(g, DTYPE_F32, 1, &few, f);
	for (int i = 0; i < 2; i++) {
		graph_value at = op_cast(g, i ? p->row : p->column, DTYPE_F32);
		angle[i] = op_unsqueeze(g, op_mul(g, op_unsqueeze(g, at, 1), inverse), 2); // [patches, few, 1]
	}
	graph_value both = op_reshape(g, op_concat(g, 2, angle, 2), 4, (int64_t[]){ 1, -1, 1, half });
	*cos = op_cos(g, both), *sin = op_sin(g, both);
}

// What is added to the patches of a frame: sines and then cosines of its number; zeros where a picture has one frame.
// grid i64 [pictures, 3] -> [patches, hidden]
static graph_value moments(struct build *b, const struct grid_places *p, graph_value grid)
{
	struct graph *g = b->g;
	const struct grid_vision *v = b->s->own;
	int64_t h = b->s->hidden_size, half = h / 2, rows = v->moments + 1;
	float *table = GRAPH_TABLE(g, NULL, rows, h, float);
	for (int64_t i = 0; table && i < v->moments; i++)
		for (int64_t k = 0; k < half; k++) {
			float angle = (float)i * (float)(1 / pow(10000, (double)(2 * k) / (double)h));
			table[(i + 1) * h + k] = sinf(angle);
			table[(i + 1) * h + half + k] = cosf(angle);
		}
	graph_value frames = op_gather(g, op_gather(g, grid, graph_i64(g, 0), 1), p->picture, 0), one = graph_i64(g, 1);
	graph_value row = op_where(g, op_equal(g, frames, one), graph_i64(g, 0), op_add(g, p->frame, one));
	return op_gather(g, graph_constant(g, DTYPE_F32, 2, (int64_t[]){ rows, h }, table), row, 0);
}

// x [1, patches, hidden], line by line -> [patches of one frame, hidden], square by square: the mean over a picture's frames
static graph_value frames_pooled(struct build *b, graph_value x, const struct grid_places *p, graph_value grid)
{
	struct graph *g = b->g;
	const struct grid_vision *v = b->s->own;
	graph_value frames = op_slice(g, grid, 1, 0, 1), one = op_add(g, op_sub(g, frames, frames), graph_i64(g, 1));
	graph_value still = op_concat(g, 2, (graph_value[]){ one, op_slice(g, grid, 1, 1, 3) }, 1);
	struct grid_places to = grid_places(b, still, grid_numbers(b, still, 1), 1);
	rows_and_columns(b, &to, NO_VALUE, v->merge);
	graph_value within = op_add(g, op_mul(g, to.row, to.columns), to.column);
	graph_value same = op_and(g, op_equal(g, op_unsqueeze(g, to.picture, 1), op_unsqueeze(g, p->picture, 0)),
		op_equal(g, op_unsqueeze(g, within, 1), op_unsqueeze(g, p->within, 0))); // [slots, patches]
	graph_value count = op_cast(g, op_gather(g, op_squeeze(g, frames, 1), to.picture, 0), DTYPE_F32);
	graph_value share = op_div(g, op_cast(g, same, DTYPE_F32), op_unsqueeze(g, count, 1));
	return op_matmul(g, share, op_squeeze(g, x, 0));
}

// The places on a side of learned positions that a patch's is a sum of, and the share of each: i64 and f32 [patches].
struct taps {
	int count;
	graph_value place[4], share[4];
};

// The cubic kernel (Keys 1981, a = -0.75) at 1 + x and at x, for x from 0 to 1.
static graph_value cubic_far(struct graph *g, graph_value x)
{
	graph_value y = op_sub(g, graph_f32(g, 1), x); // a x (1 - x)^2
	return op_scale(g, op_mul(g, x, op_mul(g, y, y)), -0.75f);
}

static graph_value cubic_near(struct graph *g, graph_value x)
{
	graph_value square = op_mul(g, x, x); // 1 + x^2 ((a + 2) x - (a + 3))
	return op_add(g, graph_f32(g, 1), op_mul(g, square, op_sub(g, op_scale(g, x, 1.25f), graph_f32(g, 2.25f))));
}

// index: a patch's row or column, of `size` in its picture; i64 [patches] each
static struct taps taps_of(struct build *b, graph_value index, graph_value size, int64_t side, enum grid_positions how)
{
	struct graph *g = b->g;
	graph_value one = graph_i64(g, 1), last = graph_i64(g, side - 1), at;
	if (how == GRID_CORNERS) {
		size = op_max(g, op_sub(g, size, one), one);
		at = op_mul(g, op_cast(g, index, DTYPE_F32), graph_f32(g, (float)(side - 1)));
		at = op_div(g, at, op_cast(g, size, DTYPE_F32));
	} else {
		at = op_add(g, op_cast(g, index, DTYPE_F32), graph_f32(g, 0.5f));
		at = op_div(g, op_scale(g, at, (float)side), op_cast(g, size, DTYPE_F32));
		at = op_sub(g, at, graph_f32(g, 0.5f));
	}
	graph_value low = op_floor(g, at), far = op_sub(g, at, low), near = op_sub(g, graph_f32(g, 1), far);
	graph_value place = op_cast(g, low, DTYPE_I64);
	struct taps t = { 2, { place, op_add(g, place, one) }, { near, far } };
	if (how == GRID_CUBIC)
		t = (struct taps){ 4, { op_sub(g, place, one), place, t.place[1], op_add(g, place, graph_i64(g, 2)) },
			{ cubic_far(g, far), cubic_near(g, far), cubic_near(g, near), cubic_far(g, near) } };
	for (int i = 0; i < t.count; i++) {
		t.place[i] = i || how == GRID_CUBIC ? op_min(g, t.place[i], last) : t.place[i];
		t.place[i] = how == GRID_CORNERS ? t.place[i] : op_max(g, t.place[i], graph_i64(g, 0));
	}
	return t;
}

static graph_value smooth_positions(struct build *b, const struct grid_places *p)
{
	struct graph *g = b->g;
	const struct grid_vision *v = b->s->own;
	int64_t side = v->side, all[] = { -1, side * side };
	graph_value row = op_unsqueeze(g, smooth_shares(b, p->row, p->rows, side), 2);
	graph_value column = op_unsqueeze(g, smooth_shares(b, p->column, p->columns, side), 1);
	graph_value table = WEIGHT(b, "embed.position", "weight", v->places, b->s->hidden_size);
	return op_matmul(g, op_reshape(g, op_mul(g, row, column), 2, all), table);
}

// [side * side, hidden]
static graph_value position_table(struct build *b)
{
	const struct grid_vision *v = b->s->own;
	int64_t h = b->s->hidden_size;
	if (TRAITS_OF(b->s, grid_vision)->lined)
		return op_slice(b->g, WEIGHT(b, "embed.position", "weight", v->places + 1, h), 0, 1, INT64_MAX);
	if (!TRAITS_OF(b->s, grid_vision)->pooled_frames)
		return WEIGHT(b, "embed.position", "weight", v->places, h);
	bool bare = !weight_exists(b, "embed.position", "weight"); // a tensor that has no suffix
	graph_value table = WEIGHT(b, bare ? "embed.position.bare" : "embed.position", bare ? "" : "weight", v->side, v->side, h);
	return op_reshape(b->g, table, 2, (int64_t[]){ v->places, h });
}

// Learned positions [side * side, hidden] on the grids of the pictures: [patches, hidden]
static graph_value positions(struct build *b, const struct grid_places *p, enum grid_positions how)
{
	struct graph *g = b->g;
	const struct grid_vision *v = b->s->own;
	if (how == GRID_SMOOTH)
		return smooth_positions(b, p);
	graph_value table = position_table(b), sum = NO_VALUE;
	struct taps row = taps_of(b, p->row, p->rows, v->side, how), column = taps_of(b, p->column, p->columns, v->side, how);
	for (int i = 0; i < row.count * column.count; i++) {
		int r = i / column.count, c = i % column.count;
		graph_value place = op_add(g, op_mul(g, row.place[r], graph_i64(g, v->side)), column.place[c]);
		graph_value part =
			op_mul(g, op_gather(g, table, place, 0), op_unsqueeze(g, op_mul(g, row.share[r], column.share[c]), 1));
		sum = i ? op_add(g, sum, part) : part;
	}
	return sum;
}

// ---- building -----------------------------------------------------------------------------------------------------------

graph_value grid_merge(struct build *b, graph_value x, const struct grid_merger *m)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	int64_t joined = m->width * m->merge * m->merge, shape[] = { -1, joined };
	const char *stem_norm = arena_printf(a, "%s.norm", m->stem);
	if (m->joined_first)
		x = layer_norm_eps(b, stem_norm, op_reshape(g, x, 2, shape), m->eps);
	else if (b->s->traits.layer_norm)
		x = op_reshape(g, layer_norm_eps(b, stem_norm, x, m->eps), 2, shape);
	else
		x = op_reshape(g, norm(b, stem_norm, x, m->width), 2, shape);
	x = activate(b, m->act, linear(b, arena_printf(a, "%s.1", m->stem), x, joined, m->wide, !m->no_bias));
	return linear(b, arena_printf(a, "%s.2", m->stem), x, m->wide, m->out, !m->no_bias);
}

static graph_value merged(struct build *b, const char *stem, graph_value x, bool joined_first)
{
	const struct spec *s = b->s;
	const struct grid_vision *v = s->own;
	int64_t wide = s->hidden_size * v->merge * v->merge;
	return grid_merge(b, x,
		&(struct grid_merger){
			stem, v->merge, s->hidden_size, wide, v->out, joined_first, s->norm_eps, ACT_GELU, false });
}

// x [1, patches, hidden] -> [1, features, hidden]: of each square of a picture's own width the middle patch, or the mean of the
// four there (bilinear shrinking by a whole number).
static graph_value middles(struct build *b, graph_value x, graph_value grid, graph_value merge)
{
	struct graph *g = b->g;
	graph_value one = graph_i64(g, 1), patches = op_reduce_prod(g, grid, 1, false); // [pictures]
	graph_value area = op_mul(g, merge, merge), count = op_div(g, patches, area), end = op_cumsum(g, count, 0);
	graph_value number = op_range(g, graph_i64(g, 0), op_reduce_sum(g, count, 0, false), one);
	graph_value behind = op_less_or_equal(g, end, op_unsqueeze(g, number, 1));
	graph_value picture = op_reduce_sum(g, op_cast(g, behind, DTYPE_I64), 1, false); // [features]
	graph_value start = op_gather(g, op_sub(g, op_cumsum(g, patches, 0), patches), picture, 0);
	graph_value within = op_sub(g, number, op_gather(g, op_sub(g, end, count), picture, 0));
	graph_value m = op_gather(g, merge, picture, 0), first = op_add(g, start, op_mul(g, within, op_mul(g, m, m))),
		    sum = NO_VALUE;
	graph_value side[] = { op_div(g, op_sub(g, m, one), graph_i64(g, 2)), op_div(g, m, graph_i64(g, 2)) };
	for (int i = 0; i < 4; i++) {
		graph_value at = op_add(g, first, op_add(g, op_mul(g, side[i / 2], m), side[i % 2]));
		graph_value part = op_gather(g, x, at, 1);
		sum = i ? op_add(g, sum, part) : part;
	}
	return op_scale(g, sum, 0.25f);
}

// x [1, patches, hidden] -> [patches / merge^2, out]: a square by one convolution (GLM-4.1V, https://arxiv.org/abs/2507.01006)
static graph_value convolved(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct grid_vision *v = s->own;
	int64_t m = v->merge, h = s->hidden_size;
	graph_value w = WEIGHT(b, "merger.join", "weight", v->out, h, m, m), bias = WEIGHT(b, "merger.join", "bias", v->out);
	x = op_transpose(g, op_reshape(g, x, 4, (int64_t[]){ -1, m, m, h }), 4, (int[]){ 0, 3, 1, 2 });
	x = op_conv(g, x, w, bias, (int64_t[]){ m, m }, (int64_t[]){ 0, 0, 0, 0 }, (int64_t[]){ 1, 1 }, 1);
	return op_reshape(g, x, 2, (int64_t[]){ -1, v->out });
}

// [features, out] -> the same
static graph_value refined(struct build *b, graph_value x)
{
	const struct grid_vision *v = b->s->own;
	x = layer_norm_eps(b, "merger.norm", linear(b, "merger.1", x, v->out, v->out, false), 1e-5);
	return ffn_between(b, "merger", op_gelu(b->g, x), v->out, v->wide, false);
}

// Which patch is `down` and `right` of each in its frame, i64 [patches], and whether there is one, f32 [patches, 1].
static graph_value beside(
	struct build *b, const struct grid_places *p, graph_value first, int64_t down, int64_t right, graph_value *is)
{
	struct graph *g = b->g;
	const struct grid_vision *v = b->s->own;
	graph_value zero = graph_i64(g, 0), one = graph_i64(g, 1), m = graph_i64(g, v->merge);
	graph_value row = op_add(g, p->row, graph_i64(g, down)), column = op_add(g, p->column, graph_i64(g, right));
	graph_value high = op_max(g, op_min(g, row, op_sub(g, p->rows, one)), zero),
		    wide = op_max(g, op_min(g, column, op_sub(g, p->columns, one)), zero);
	*is = op_cast(g, op_and(g, op_equal(g, row, high), op_equal(g, column, wide)), DTYPE_F32);
	*is = op_unsqueeze(g, *is, 1);
	graph_value square = op_add(g, op_mul(g, op_div(g, high, m), op_div(g, p->columns, m)), op_div(g, wide, m));
	graph_value inside = op_add(g, op_mul(g, rest(g, high, m), m), rest(g, wide, m));
	return op_add(g, first, op_add(g, op_mul(g, square, op_mul(g, m, m)), inside));
}

// out(b * conv(a * x)) for a, b, x = in(input), each channel by itself over a frame's patches, with zeros around it.
// x [1, patches, hidden], square by square; number i64 [patches]
static graph_value convolve(struct build *b, graph_value x, const struct grid_places *p, graph_value number)
{
	struct graph *g = b->g;
	const struct grid_vision *v = b->s->own;
	int64_t h = b->s->hidden_size, k = v->kernel;
	graph_value w = op_reshape(g, WEIGHT(b, "layers.conv", "weight", h, 1, k, k), 2, (int64_t[]){ h, k * k });
	graph_value all = linear(b, "layers.in", x, h, 3 * h, false), first = op_sub(g, number, p->within), sum = NO_VALUE;
	graph_value gated = op_mul(g, op_slice(g, all, 2, 0, h), op_slice(g, all, 2, 2 * h, 3 * h));
	for (int64_t i = 0; i < k * k; i++) {
		graph_value is, at = beside(b, p, first, i / k - k / 2, i % k - k / 2, &is);
		graph_value tap = op_reshape(g, op_slice(g, w, 1, i, i + 1), 1, &h);
		graph_value part = op_mul(g, op_mul(g, op_gather(g, gated, at, 1), is), tap);
		sum = i ? op_add(g, sum, part) : part;
	}
	return linear(b, "layers.out", op_mul(g, op_slice(g, all, 2, h, 2 * h), sum), h, h, false);
}

// What a layer takes beside its input.
struct surroundings {
	graph_value bias, cos, sin;
	const struct grid_places *places;
	graph_value number; // i64 [patches]
};

static graph_value layer(struct build *b, graph_value x, const struct surroundings *e)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct grid_vision *v = s->own;
	graph_enter(g, "attn");
	graph_value y = norm(b, "layers.attn.norm", x, s->hidden_size);
	y = v->attends && !v->attends[b->layer] ? convolve(b, y, e->places, e->number)
						: self_attention(b, y, e->bias, e->cos, e->sin, v->qkv_bias, v->out_bias, NULL);
	x = op_add(g, x, y);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = norm(b, "layers.ffn.norm", x, s->hidden_size);
	x = op_add(g, x, ffn_of(b, "layers.ffn", y, s->ffn_size, v->ffn_bias));
	graph_leave(g);
	return x;
}

// What came line by line, square by square: i64 [patches]
static graph_value square_by_square(struct build *b, graph_value number, const struct grid_places *p)
{
	struct graph *g = b->g;
	graph_value line = op_add(g, op_mul(g, p->row, p->columns), p->column);
	return op_add(g, op_sub(g, number, p->within), line); // from where its frame begins
}

graph_value grid_squares(struct build *b, graph_value grid, graph_value begin, int64_t m)
{
	struct graph *g = b->g;
	int64_t *down = GRAPH_TABLE(g, NULL, m, m, int64_t), *right = GRAPH_TABLE(g, NULL, m, m, int64_t);
	for (int64_t i = 0; down && right && i < m * m; i++)
		down[i] = i / m, right[i] = i % m;
	struct grid_places p = grid_places(b, grid, grid_numbers(b, grid, m), m);
	graph_value wide = op_gather(g, grid, graph_i64(g, 2), 1);
	begin = op_gather(g, begin, p.picture, 0);
	graph_value row = op_div(g, p.within, p.columns), column = op_sub(g, p.within, op_mul(g, row, p.columns));
	row = op_add(g, op_unsqueeze(g, op_mul(g, row, graph_i64(g, m)), 1),
		graph_constant(g, DTYPE_I64, 1, (int64_t[]){ m * m }, down));
	column = op_add(g, op_unsqueeze(g, op_mul(g, column, graph_i64(g, m)), 1),
		graph_constant(g, DTYPE_I64, 1, (int64_t[]){ m * m }, right));
	graph_value place = op_add(g, op_mul(g, row, op_unsqueeze(g, op_gather(g, wide, p.picture, 0), 1)), column);
	return op_add(g, place, op_unsqueeze(g, begin, 1)); // [features, m * m]
}

// Where each feature of the pictures' lines is in a table of all features, line by line, and after them what ends a line, begins
// a picture and ends one: i64 [features]
static graph_value lined_places(struct build *b, graph_value grid, graph_value features)
{
	struct graph *g = b->g;
	const struct grid_vision *v = b->s->own;
	graph_value one = graph_i64(g, 1), m = graph_i64(g, v->merge), ones = op_div(g, grid, op_max(g, grid, one)); // 1 each
	graph_value rows = op_div(g, op_slice(g, grid, 1, 1, 2), m), columns = op_div(g, op_slice(g, grid, 1, 2, 3), m);
	graph_value length = op_add(g, op_mul(g, rows, op_add(g, columns, one)), graph_i64(g, 2)); // [pictures, 1]
	ones = op_slice(g, ones, 1, 0, 1);
	graph_value all = op_concat(g, 3, (graph_value[]){ ones, ones, length }, 1);
	struct grid_places p = grid_places(b, all, grid_numbers(b, all, 1), 1);
	graph_value count = op_squeeze(g, op_mul(g, rows, columns), 1);
	graph_value first = op_gather(g, op_sub(g, op_cumsum(g, count, 0), count), p.picture, 0);
	graph_value wide = op_gather(g, op_squeeze(g, columns, 1), p.picture, 0), at = op_sub(g, p.within, one);
	graph_value line = op_div(g, at, op_add(g, wide, one)), column = rest(g, at, op_add(g, wide, one));
	graph_value place = op_add(g, first, op_add(g, op_mul(g, line, wide), column));
	place = op_where(g, op_equal(g, column, wide), features, place);
	place = op_where(g, op_equal(g, p.within, graph_i64(g, 0)), op_add(g, features, one), place);
	graph_value ends = op_equal(g, p.within, op_sub(g, op_gather(g, op_squeeze(g, length, 1), p.picture, 0), one));
	return op_where(g, ends, op_add(g, features, graph_i64(g, 2)), place);
}

// x [1, patches, hidden], line by line -> [features, out] (HunyuanOCR, https://arxiv.org/abs/2511.19575)
static graph_value lined(struct build *b, graph_value x, graph_value grid)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct grid_vision *v = s->own;
	int64_t m = v->merge, h = s->hidden_size, stride[] = { m, m }, one[] = { 1, 1 }, none[4] = { 0 }, wide[] = { 1, 4 * h };
	int64_t row[] = { 1, v->out };
	graph_value count = op_reduce_prod(g, grid, 1, false);
	graph_value place = grid_squares(b, grid, op_sub(g, op_cumsum(g, count, 0), count), m);
	x = op_gather(g, op_squeeze(g, rms_norm(b, "merger.before", x, h), 0), place, 0);
	x = op_transpose(g, op_reshape(g, x, 4, (int64_t[]){ -1, m, m, h }), 4, (int[]){ 0, 3, 1, 2 });
	x = op_conv(g, x, WEIGHT(b, "merger.join", "weight", 2 * h, h, m, m), WEIGHT(b, "merger.join", "bias", 2 * h), stride,
		none, one, 1);
	x = op_conv(g, activate(b, s->act, x), WEIGHT(b, "merger.1", "weight", 4 * h, 2 * h, 1, 1),
		WEIGHT(b, "merger.1", "bias", 4 * h), one, none, one, 1);
	x = op_reshape(g, x, 2, (int64_t[]){ -1, 4 * h }); // [features, 4 * hidden]
	graph_value features = op_squeeze(g, op_dim(g, x, 0), 0),
		    line = op_reshape(g, WEIGHT(b, "merger.line", "", 4 * h), 2, wide);
	x = linear(b, "merger.2", op_concat(g, 2, (graph_value[]){ x, line }, 0), 4 * h, v->out, true);
	graph_value begin = op_reshape(g, WEIGHT(b, "merger.begin", "", v->out), 2, row),
		    end = op_reshape(g, WEIGHT(b, "merger.end", "", v->out), 2, row);
	x = op_gather(g, op_concat(g, 3, (graph_value[]){ x, begin, end }, 0), lined_places(b, grid, features), 0);
	return rms_norm(b, "merger.after", x, v->out);
}

// [patches, channels * frames * size * size] -> [1, patches, hidden]
static graph_value patches(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct grid_vision *v = s->own;
	int64_t h = s->hidden_size, size = s->patch_size, one[] = { 1, 1, 1 }, none[6] = { 0 };
	if (TRAITS_OF(s, grid_vision)->linear_patches)
		return op_unsqueeze(g,
			linear(b, "embed.patch", pixels, s->channels * v->frames * size * size, h,
				TRAITS_OF(s, grid_vision)->patch_bias),
			0);
	int64_t shape[] = { h, s->channels, v->frames, size, size }, each[] = { -1, s->channels, v->frames, size, size };
	graph_value bias = TRAITS_OF(s, grid_vision)->patch_bias ? WEIGHT(b, "embed.patch", "bias", h) : NO_VALUE, x;
	if (v->flat)
		x = op_conv(g, op_reshape(g, pixels, 4, (int64_t[]){ -1, s->channels, size, size }),
			WEIGHT(b, "embed.patch", "weight", h, s->channels, size, size), bias, each + 3, none, one, 1);
	else
		x = op_conv(g, op_reshape(g, pixels, 5, each), weight(b, "embed.patch", "weight", 5, shape), bias, each + 2, none,
			one, 1);
	return op_reshape(g, x, 3, (int64_t[]){ 1, -1, h });
}

// pixel_values [patches, channels * frames * size * size], and how many patches each picture has
// pixels [pictures, most, width] -> [patches, width]
static graph_value without_padding(struct build *b, graph_value pixels, graph_value grid, int64_t width)
{
	struct graph *g = b->g;
	struct grid_places p = grid_places(b, grid, grid_numbers(b, grid, 1), 1);
	graph_value most = op_squeeze(g, op_dim(g, pixels, 1), 0), row = op_add(g, op_mul(g, p.picture, most), p.within);
	return op_gather(g, op_reshape(g, pixels, 2, (int64_t[]){ -1, width }), row, 0);
}

void grid_inputs(struct build *b, struct body *io, const char *prefix, bool padded)
{
	struct graph *g = b->g;
	const struct grid_vision *v = b->s->own;
	int64_t size = b->s->patch_size, width = b->s->channels * v->frames * size * size, all = graph_symbol(g, "patches");
	int64_t pictures = graph_symbol(g, "image_batch");
	if (padded)
		io->pixels = graph_input(g, "pixel_values", DTYPE_F32, 3, (int64_t[]){ pictures, all, width });
	else if (TRAITS_OF(b->s, grid_vision)->raster)
		io->pixels = graph_input(g, "pixel_values", DTYPE_F32, 4, (int64_t[]){ all, b->s->channels, size, size });
	else
		io->pixels = graph_input(g, "pixel_values", DTYPE_F32, 2, (int64_t[]){ all, width });
	struct arena *a = graph_arena(g);
	io->grid = graph_input(g, arena_printf(a, "%sgrid_thw", prefix), DTYPE_I64, 2, (int64_t[]){ pictures, 3 });
	if (padded)
		io->pixels = without_padding(b, io->pixels, io->grid, width);
	if (TRAITS_OF(b->s, grid_vision)->merge_given)
		io->merge = graph_input(g, arena_printf(a, "%smerge_sizes", prefix), DTYPE_I64, 1, &pictures);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct grid_vision *v = s->own;
	const struct grid_vision_traits *t = TRAITS_OF(s, grid_vision);
	int64_t h = s->hidden_size;
	graph_enter(g, "embed");
	graph_value all = op_squeeze(g, op_dim(g, io->pixels, 0), 0);
	graph_value number = op_range(g, graph_i64(g, 0), all, graph_i64(g, 1)); // [patches]
	struct grid_places p = grid_places(b, io->grid, number, 1);
	rows_and_columns(b, &p, io->merge, t->pooled_frames || t->lined ? 1 : v->merge);
	if (t->raster && !t->pooled_frames)
		io->pixels = op_gather(g, io->pixels, square_by_square(b, number, &p), 0);
	graph_value x = patches(b, io->pixels); // [1, patches, hidden]
	if (weight_named(b, "embed.norm"))
		x = norm(b, "embed.norm", x, h);
	if (t->positions)
		x = op_add(g, x, op_unsqueeze(g, positions(b, &p, (enum grid_positions)t->positions), 0));
	if (t->pooled_frames)
		x = op_add(g, x, op_unsqueeze(g, moments(b, &p, io->grid), 0));
	graph_value same = alike(b, NO_VALUE, p.picture);
	same = t->timed || t->pooled_frames ? same : alike(b, same, p.frame);
	graph_value frames = bias_of(b, same), windows = frames;
	graph_value cos = NO_VALUE, sin = NO_VALUE;
	if (t->timed)
		timed_tables(b, &p, &cos, &sin);
	else if (t->pooled_frames)
		alternating_tables(b, &p, &cos, &sin);
	else if (!t->no_rotary)
		axial_tables(b, &p, false, &cos, &sin);
	if (t->windows) {
		graph_value wide = graph_i64(g, v->window * v->merge);
		windows = bias_of(b, alike(b, alike(b, same, op_div(g, p.row, wide)), op_div(g, p.column, wide)));
	}
	graph_leave(g);
	io->deep = ARENA_ARRAY(graph_arena(g), (size_t)v->deep_count + 1, graph_value);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value bias = t->windows && !v->whole[b->layer] ? windows : frames;
		x = layer(b, x, &(struct surroundings){ bias, cos, sin, &p, number });
		graph_leave(g);
		int64_t k = 0, at = b->layer;
		while (k < v->deep_count && v->deep[k] != at)
			k++;
		if (k == v->deep_count)
			continue;
		graph_enter(g, "deep.%lld", (long long)k);
		b->layer = k; // the number in the weights' names
		io->deep[io->deep_count++] = merged(b, "deep", x, true);
		b->layer = at;
		graph_leave(g);
	}
	io->last = weight_named(b, "norm") ? norm(b, "norm", x, h) : x;
	graph_enter(g, "merger");
	if (t->convolved)
		io->last = convolved(b, io->last);
	if (t->merge_given)
		io->last = middles(b, io->last, io->grid, io->merge);
	io->pooled = t->lined      ? lined(b, io->last, io->grid)
		: t->convolved     ? refined(b, io->last)
		: t->pooled_frames ? frames_pooled(b, io->last, &p, io->grid)
		: t->unmerged      ? io->last
				   : merged(b, "merger", io->last, false);
	graph_leave(g);
}

static void build(struct build *b)
{
	struct body io = { 0 };
	grid_inputs(b, &io, "", false);
	body(b, &io);
	head_build(b, &io);
}

// A tower of windows has its patches in another order on the way: it gives features only.
static void give(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	const struct grid_vision *v = s->own;
	const struct grid_vision_traits *t = TRAITS_OF(s, grid_vision);
	if (t->lined) { // as rows of one text
		graph_output(b->g, "last_hidden_state", io->last);
		graph_output(b->g, "pooler_output", op_unsqueeze(b->g, io->pooled, 0));
		return;
	}
	if (t->timed) { // as rows of one text; its first stands for all
		graph_output(b->g, "last_hidden_state", io->last);
		graph_output(b->g, "pooler_output", first_token(b, io->last));
		return;
	}
	if (!t->windows)
		graph_output(b->g, "last_hidden_state",
			op_reshape(b->g, io->last, 2, (int64_t[]){ -1, t->convolved ? v->out : s->hidden_size }));
	if (t->pooled_frames)
		graph_output(
			b->g, "pooler_output", op_reshape(b->g, io->pooled, 3, (int64_t[]){ -1, v->merge * v->merge, v->out }));
	else if (!t->merge_given && !t->convolves)
		graph_output(b->g, "pooler_output", op_reshape(b->g, io->pooled, 2, (int64_t[]){ -1, v->out }));
}

void grid_hints(const struct spec *tower, struct input_hints *out)
{
	const struct grid_vision *v = tower->own;
	out->image_grid[0] = 1; // squares one patch wide, where that comes in
	out->image_grid[1] = out->image_grid[2] = 4 * v->merge;
	out->symbols[0] = (struct input_symbol){ "patches", 16 * v->merge * v->merge, true };
}

static const struct family_head grid_heads[] = { { &head_model, give }, { 0 } };

const struct family grid_vision = {
	.name = "grid-vision",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.hints = grid_hints,
	.heads = grid_heads,
	.traits = FAMILY_TRAIT_LIST(grid_vision, GRID_VISION_TRAITS),
};

// ---- pictures of any size beside each other -----------------------------------------------------------------------------
//
// Pixtral (https://arxiv.org/abs/2410.07073): pictures come padded to one size, image_sizes says how much of each is one. Their
// patches are packed one after another.
//
//   pixels [pictures, channels, height, width] -> patches -> norm -> layers

static void resolve_packed(struct config *c, struct spec *s, struct arena *a)
{
	s->own = ARENA_NEW(a, struct grid_vision); // zero: no biases
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	if (c->error.status)
		return;
	s->head_width = s->hidden_size / s->heads; // head_dim counts for nothing
	s->attention_scale = 1 / sqrt((double)s->head_width);
	s->norm_eps = 1e-5;
	if (s->patch_size != s->patch_width)
		config_fail(c, STATUS_UNSUPPORTED, "patches should be square");
	resolve_axial_rope(c, s, false);
	s->image_tokens--; // no class token
}

graph_value grid_of_sizes(struct build *b, graph_value sizes, int64_t patch)
{
	struct graph *g = b->g;
	graph_value one = op_add(g, op_mul(g, op_slice(g, sizes, 1, 0, 1), graph_i64(g, 0)), graph_i64(g, 1)); // [pictures, 1]
	return op_concat(g, 2, (graph_value[]){ one, op_div(g, sizes, graph_i64(g, patch)) }, 1);
}

graph_value grid_numbers(struct build *b, graph_value grid, int64_t merge)
{
	struct graph *g = b->g;
	graph_value side[2], all = NO_VALUE;
	for (int i = 0; i < 2; i++)
		side[i] = op_div(g, op_gather(g, grid, graph_i64(g, i + 1), 1), graph_i64(g, merge));
	all = op_mul(g, op_gather(g, grid, graph_i64(g, 0), 1), op_mul(g, side[0], side[1])); // [pictures]
	return op_range(g, graph_i64(g, 0), op_reduce_sum(g, all, 0, false), graph_i64(g, 1));
}

static void body_packed(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "embed");
	graph_value map = conv(b, "embed.patch", io->pixels,
		(struct conv){ .out = h, .kernel = s->patch_size, .stride = s->patch_size, .pad = PAD_NONE });
	graph_value grid = grid_of_sizes(b, io->grid, s->patch_size), high = op_dim(g, map, 2), wide = op_dim(g, map, 3);
	struct grid_places p = grid_places(b, grid, grid_numbers(b, grid, 1), 1);
	p.row = op_div(g, p.within, p.columns);
	p.column = rest(g, p.within, p.columns);
	graph_value line = op_add(g, op_mul(g, p.picture, high), p.row), place = op_add(g, op_mul(g, line, wide), p.column);
	graph_value all = op_reshape(g, tokens_of(b, map), 2, (int64_t[]){ -1, h });
	graph_value x = norm(b, "embed.norm", op_unsqueeze(g, op_gather(g, all, place, 0), 0), h); // [1, patches, hidden]
	graph_value cos, sin, bias = bias_of(b, alike(b, NO_VALUE, p.picture));
	axial_tables(b, &p, true, &cos, &sin);
	graph_leave(g);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &(struct surroundings){ .bias = bias, .cos = cos, .sin = sin });
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

void packed_inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	io->pixels = pixel_input(b, b->s->channels, 0, 0);
	io->grid = graph_input(g, "image_sizes", DTYPE_I64, 2, (int64_t[]){ graph_symbol(g, "batch"), 2 });
}

static void build_packed(struct build *b)
{
	struct body io = { 0 };
	packed_inputs(b, &io);
	body_packed(b, &io);
	head_build(b, &io);
}

static void hints_packed(const struct spec *s, struct input_hints *out)
{
	image_hints(out, s->image_size, s->image_width);
	out->image_size[0] = s->image_size;
	out->image_size[1] = s->image_width;
}

static const struct family_head packed_heads[] = { { &head_model, head_give_last }, { 0 } };

const struct family packed_vision = {
	.name = "packed-vision",
	.architecture = "vision",
	.resolve = resolve_packed,
	.build = build_packed,
	.body = body_packed,
	.hints = hints_packed,
	.heads = packed_heads,
};
