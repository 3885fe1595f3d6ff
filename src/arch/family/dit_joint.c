// SPDX-License-Identifier: Apache-2.0
// Diffusion transformers (diffusers) in which text and picture are tokens of one attention: AuraFlow (blocks with weights of
// their own for each, as in Esser et al. 2024, https://arxiv.org/abs/2403.03206, then blocks over both together) and CogVideoX
// (the same weights for both, each with its own scales and shifts: Yang et al. 2024, https://arxiv.org/abs/2408.06072).
//
//   AuraFlow: patches + the middle of a learned grid; registers before the text; a block's feed-forward reads
//             norm(x + gate * attention), but is added to x
//   CogVideoX: patches of each frame + sines of frame, row and column
//
//   in:  hidden_states [batch, channels, height, width], CogVideoX: [batch, frames, channels, height, width];
//        encoder_hidden_states [batch, sequence, width]; timestep f32 [batch], AuraFlow: from 0 to 1
//   out: out_sample, as hidden_states
#include "arch/block/dit.h"

#include <math.h>

struct joint {
	int64_t width, in, out, patch, text, inner;
	struct dit_attention self;
	int64_t joint_layers, table; // AuraFlow: blocks with two sets of weights; learned places
	// CogVideoX:
	int64_t time, shift;
	bool cosine_first, learned_norms, patch_bias;
	enum dit_ffn ffn;
	enum activation time_act;
	double eps, space_scale, frame_scale;
	int64_t size[2];
	int64_t frames;
};

enum { REGISTERS = 8 };

// ---- resolve --------------------------------------------------------------------------------------------------------------

static struct joint *resolve_joint(struct config *c, struct spec *s, struct arena *a)
{
	struct joint *j = s->own = ARENA_NEW(a, struct joint);
	int64_t heads = config_size(c, "num_attention_heads", -1), width = config_size(c, "attention_head_dim", -1);

	*j = (struct joint){ .width = heads * width,
		.in = config_size(c, "in_channels", 4),
		.patch = config_size(c, "patch_size", 2),
		.inner = 4 * heads * width,
		.self = { .stem = "self", .heads = heads, .width = width } };
	j->out = config_size(c, "out_channels", 0);
	j->out = j->out ? j->out : j->in;
	s->hidden_size = j->width;
	if (heads < 1 || width < 1 || heads > CONFIG_COUNT_MOST * 16 || width > CONFIG_COUNT_MOST * 16 || j->in < 1 ||
		j->patch < 1 || j->patch > CONFIG_COUNT_MOST)
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld, %lld channels, patches of %lld", (long long)heads,
			(long long)width, (long long)j->in, (long long)j->patch);
	return j;
}

static void resolve_aura(struct config *c, struct spec *s, struct arena *a)
{
	struct joint *j = resolve_joint(c, s, a);

	j->joint_layers = config_count(c, "num_mmdit_layers", -1);
	s->layers = s->layers_in_config = config_count(c, "num_single_dit_layers", -1);
	j->text = config_size(c, "joint_attention_dim", -1);
	j->table = config_size(c, "pos_embed_max_size", -1);
	j->size[0] = j->size[1] = config_size(c, "sample_size", 64);
	j->self.norm = QUERIES_NORM_HEADS_UNLEARNED;
	j->self.eps = j->eps = 1e-5;
	j->inner = (2 * j->inner / 3 + 255) / 256 * 256;
	if (config_size(c, "caption_projection_dim", -1) != j->width)
		config_fail(
			c, STATUS_BAD_INPUT, "caption_projection_dim should be %lld, as wide as all heads", (long long)j->width);
	if (j->text < 1 || j->table < 1)
		config_fail(c, STATUS_BAD_INPUT, "a text of width %lld, %lld places", (long long)j->text, (long long)j->table);
}

static void refuse(struct config *c, const char *key)
{
	const json_t *v = config_get(c, key);

	if (v && !json_is_false(v) && !(json_is_integer(v) && !json_integer_value(v)))
		config_fail(c, STATUS_UNSUPPORTED, "%s is not supported yet", key);
}

static void resolve_cog(struct config *c, struct spec *s, struct arena *a)
{
	struct joint *j = resolve_joint(c, s, a);
	int64_t ratio = config_size(c, "temporal_compression_ratio", 4);

	s->layers = s->layers_in_config = config_count(c, "num_layers", -1);
	j->text = config_size(c, "text_embed_dim", -1);
	j->time = config_size(c, "time_embed_dim", -1);
	j->shift = config_size(c, "freq_shift", 0);
	j->cosine_first = config_bool(c, "flip_sin_to_cos", true);
	j->time_act = config_activation(c, "timestep_activation_fn", ACT_SILU);
	j->ffn = resolve_dit_ffn(c, "activation_fn");
	j->eps = config_real(c, "norm_eps", 1e-5);
	j->learned_norms = config_bool(c, "norm_elementwise_affine", true);
	j->patch_bias = config_bool(c, "patch_bias", true);
	j->space_scale = config_real(c, "spatial_interpolation_scale", 1.875);
	j->frame_scale = config_real(c, "temporal_interpolation_scale", 1);
	j->size[0] = config_size(c, "sample_height", 60);
	j->size[1] = config_size(c, "sample_width", 90);
	j->frames = (config_size(c, "sample_frames", 49) - 1) / (ratio ? ratio : 1) + 1;
	j->self.bias = config_bool(c, "attention_bias", false);
	j->self.out_bias = true;
	j->self.norm = QUERIES_NORM_HEADS;
	j->self.eps = 1e-6;
	refuse(c, "patch_size_t");
	refuse(c, "ofs_embed_dim");
	refuse(c, "use_rotary_positional_embeddings");
	refuse(c, "use_learned_positional_embeddings");
	if (j->text < 1 || j->time < 1 || !(j->space_scale > 0) || !(j->frame_scale > 0) || j->width % 16)
		config_fail(c, STATUS_BAD_INPUT, "a text of width %lld, times of %lld, positions of %lld", (long long)j->text,
			(long long)j->time, (long long)j->width);
}

// ---- AuraFlow -------------------------------------------------------------------------------------------------------------

// One kind of tokens in a block: the first part of its stems.
struct stream {
	const char *name;
	graph_value x, part[6];
};

static const char *within(struct build *b, const struct stream *s, const char *what)
{
	return arena_printf(graph_arena(b->g), "%s.%s", s->name, what);
}

// What attention reads of the stream: scaled, shifted queries, keys and values, [3].
static void open_stream(struct build *b, struct stream *s, graph_value time, graph_value *qkv)
{
	const struct joint *j = b->s->own;
	struct dit_attention how = j->self;
	const char *names[] = { "q", "k", "v" };
	int64_t w = j->width;

	modulation_parts(b, linear(b, within(b, s, "modulate"), time, w, 6 * w, false), 6, w, s->part);
	graph_value y = modulated(b, norm_unlearned(b, s->x, j->eps), s->part[1], s->part[0]);
	how.stem = s->name;
	for (int i = 0; i < 3; i++) {
		qkv[i] = linear(b, within(b, s, names[i]), y, w, w, false);
		if (i < 2)
			qkv[i] = query_normed(b, &how, names[i], qkv[i]);
	}
}

static graph_value attended(struct build *b, const graph_value *qkv)
{
	const struct joint *j = b->s->own;

	return op_attention(b->g,
		&(struct attention){
			qkv[0], qkv[1], qkv[2], .heads = j->self.heads, .scale = (float)(1 / sqrt((double)j->self.width)) });
}

static graph_value close_stream(struct build *b, const struct stream *s, graph_value attention)
{
	struct graph *g = b->g;
	const struct joint *j = b->s->own;
	int64_t w = j->width;
	graph_value y = op_add(g, s->x, op_mul(g, s->part[2], linear(b, within(b, s, "o"), attention, w, w, false)));

	y = modulated(b, norm_unlearned(b, y, j->eps), s->part[4], s->part[3]);
	y = op_mul(g, op_silu(g, linear(b, within(b, s, "gate"), y, w, j->inner, false)),
		linear(b, within(b, s, "up"), y, w, j->inner, false));
	return op_add(g, s->x, op_mul(g, s->part[5], linear(b, within(b, s, "down"), y, j->inner, w, false)));
}

static void joint_block(struct build *b, graph_value *text, graph_value *x, graph_value time)
{
	struct graph *g = b->g;
	struct stream context = { .name = "context", .x = *text }, own = { .name = "joint", .x = *x };
	graph_value c[3], y[3];

	open_stream(b, &context, time, c);
	open_stream(b, &own, time, y);
	for (int i = 0; i < 3; i++)
		y[i] = op_concat(g, 2, (graph_value[]){ c[i], y[i] }, 1);
	graph_value all = attended(b, y), n = op_dim(g, *text, 1), end = op_add(g, n, op_dim(g, *x, 1));
	*text = close_stream(b, &context, op_slice_to(g, all, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), n));
	*x = close_stream(b, &own, op_slice_to(g, all, 1, n, end));
}

// The learned places in the middle of their square, as many as the map has: [1, height * width, w]
static graph_value middle_places(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	const struct joint *j = b->s->own;
	int64_t side = (int64_t)floor(sqrt((double)j->table)), half = side / 2, two = 2;
	graph_value x = WEIGHT(b, "places", "", 1, j->table, j->width);

	x = op_reshape(g, op_slice(g, x, 1, 0, side * side), 4, (int64_t[]){ 1, side, side, j->width });
	for (int axis = 1; axis < 3; axis++) {
		graph_value n = op_dim(g, map, axis + 1);
		graph_value begin = op_sub(g, graph_i64s(g, 1, &half), op_div(g, n, graph_i64s(g, 1, &two)));
		x = op_slice_to(g, x, axis, begin, op_add(g, begin, n));
	}
	return op_reshape(g, x, 3, (int64_t[]){ 1, -1, j->width });
}

static graph_value text_input(struct build *b)
{
	const struct joint *j = b->s->own;
	struct graph *g = b->g;

	return graph_input(g, "encoder_hidden_states", DTYPE_F32, 3,
		(int64_t[]){ graph_symbol(g, "batch"), graph_symbol(g, "sequence"), j->text });
}

static void build_aura(struct build *b)
{
	struct graph *g = b->g;
	const struct joint *j = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), w = j->width, p = j->patch, sines = 256;
	int64_t shape[] = { batch, j->in, graph_symbol(g, "height"), graph_symbol(g, "width") };
	graph_value x = graph_input(g, "hidden_states", DTYPE_F32, 4, shape), text = text_input(b), last[2];
	graph_value time = op_scale(g, graph_input(g, "timestep", DTYPE_F32, 1, &batch), 1000);

	time = timestep_layers(b, "time", timestep_embedding(b, time, sines, true, 0), sines, w, ACT_SILU);
	time = op_silu(g, time);
	// A linear layer of each patch, whose channels come first.
	graph_value kernel = op_reshape(g, WEIGHT(b, "patch", "weight", w, j->in * p * p), 4, (int64_t[]){ w, j->in, p, p });
	graph_value map = op_conv(g, x, kernel, WEIGHT(b, "patch", "bias", w), (int64_t[]){ p, p }, (int64_t[]){ 0, 0, 0, 0 },
		(int64_t[]){ 1, 1 }, 1);
	x = op_add(g, tokens_of(b, map), middle_places(b, map));
	text = linear(b, "text", text, j->text, w, false);
	text = op_concat(g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "registers", "", 1, REGISTERS, w), text), text }, 1);
	for (b->layer = 0; b->layer < j->joint_layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		joint_block(b, &text, &x, time);
		graph_leave(g);
	}
	graph_value before = op_dim(g, text, 1), end = op_add(g, before, op_dim(g, x, 1)), qkv[3];
	struct stream both = { .name = "single", .x = op_concat(g, 2, (graph_value[]){ text, x }, 1) };
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "singles.%lld", (long long)b->layer);
		open_stream(b, &both, time, qkv);
		both.x = close_stream(b, &both, attended(b, qkv));
		graph_leave(g);
	}
	x = b->s->layers ? op_slice_to(g, both.x, 1, before, end) : x;
	modulation_parts(b, linear(b, "out.modulate", time, w, 2 * w, false), 2, w, last);
	x = linear(b, "out", modulated(b, x, last[0], last[1]), w, p * p * j->out, false);
	graph_output(g, "out_sample", map_of_patches(b, x, map, p, j->out));
}

// ---- CogVideoX ------------------------------------------------------------------------------------------------------------

static graph_value normed(struct build *b, const char *stem, graph_value x)
{
	const struct joint *j = b->s->own;
	return j->learned_norms ? layer_norm_eps(b, stem, x, j->eps) : norm_unlearned(b, x, j->eps);
}

// x + gate * branch(norm(x) * (1 + scale) + shift), for text and frames each with its own three.
static void cog_branch(struct build *b, bool attends, graph_value *text, graph_value *x, graph_value time)
{
	struct graph *g = b->g;
	const struct joint *j = b->s->own;
	const char *norm = attends ? "norm.1" : "norm.2";
	graph_value part[6];

	modulation_parts(
		b, linear(b, attends ? "modulate.1" : "modulate.2", time, j->time, 6 * j->width, true), 6, j->width, part);
	graph_value both[] = { modulated(b, normed(b, norm, *text), part[4], part[3]),
		modulated(b, normed(b, norm, *x), part[1], part[0]) };
	graph_value y = op_concat(g, 2, both, 1), n = op_dim(g, *text, 1), end = op_add(g, n, op_dim(g, *x, 1));
	y = attends ? dit_attention(b, &j->self, y, NO_VALUE) : dit_ffn(b, j->ffn, "ffn", y, j->inner);
	graph_value first = op_slice_to(g, y, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), n);
	*text = op_add(g, *text, op_mul(g, part[5], first));
	*x = op_add(g, *x, op_mul(g, part[2], op_slice_to(g, y, 1, n, end)));
}

// Sines of the frame, then of row and column: [1, frames * height * width, w]
static graph_value frame_sines(struct build *b, graph_value frames, graph_value map)
{
	struct graph *g = b->g;
	const struct joint *j = b->s->own;
	int64_t w = j->width;
	graph_value at = op_scale(g, places_along(b, frames, 1), (float)(1 / j->frame_scale));
	graph_value time = timestep_embedding(b, at, w / 4, false, 0), place = grid_sines(b, map, 3 * w / 4, 0, j->space_scale);

	return op_reshape(g, table_of_grid(b, time, op_squeeze(g, place, 0), false), 3, (int64_t[]){ 1, -1, w });
}

// tokens [batch, frames * rows * columns, channels * patch * patch] -> [batch, frames, channels, height, width]
static graph_value frames_of_patches(struct build *b, graph_value x, graph_value frames, graph_value map)
{
	struct graph *g = b->g;
	const struct joint *j = b->s->own;
	graph_value p = graph_i64s(g, 1, &j->patch), out = graph_i64s(g, 1, &j->out);
	graph_value high = op_dim(g, map, 2), wide = op_dim(g, map, 3);
	graph_value cut[] = { op_dim(g, map, 0), high, wide, out, p, p };
	graph_value whole[] = { op_dim(g, frames, 0), op_dim(g, frames, 1), out, op_mul(g, high, p), op_mul(g, wide, p) };

	x = op_transpose(g, op_reshape_to(g, x, op_concat(g, 6, cut, 0)), 6, (int[]){ 0, 3, 1, 4, 2, 5 });
	return op_reshape_to(g, x, op_concat(g, 5, whole, 0));
}

static void build_cog(struct build *b)
{
	struct graph *g = b->g;
	const struct joint *j = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), w = j->width, p = j->patch;
	int64_t shape[] = { batch, graph_symbol(g, "frames"), j->in, graph_symbol(g, "height"), graph_symbol(g, "width") };
	graph_value frames = graph_input(g, "hidden_states", DTYPE_F32, 5, shape), last[2];
	graph_value text = linear(b, "text", text_input(b), j->text, w, true);
	graph_value time = timestep_embedding(b, graph_input(g, "timestep", DTYPE_F32, 1, &batch), w, j->cosine_first, j->shift);

	time = op_silu(g, timestep_layers(b, "time", time, w, j->time, j->time_act));
	graph_value one[] = { graph_i64s(g, 2, (int64_t[]){ -1, j->in }), op_dim(g, frames, 3), op_dim(g, frames, 4) };
	graph_value map = conv(b, "patch", op_reshape_to(g, frames, op_concat(g, 3, one, 0)),
		(struct conv){ .out = w, .kernel = p, .stride = p, .pad = PAD_NONE, .bias = j->patch_bias });
	graph_value all[] = { op_dim(g, frames, 0), graph_i64s(g, 2, (int64_t[]){ -1, w }) };
	graph_value x = op_add(g, op_reshape_to(g, tokens_of(b, map), op_concat(g, 2, all, 0)), frame_sines(b, frames, map));
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		cog_branch(b, true, &text, &x, time);
		cog_branch(b, false, &text, &x, time);
		graph_leave(g);
	}
	modulation_parts(b, linear(b, "out.modulate", time, j->time, 2 * w, true), 2, w, last);
	x = modulated(b, normed(b, "out.norm", normed(b, "last.norm", x)), last[1], last[0]);
	x = linear(b, "out", x, w, p * p * j->out, true);
	graph_output(g, "out_sample", frames_of_patches(b, x, frames, map));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct joint *j = s->own;

	image_hints(out, j->size[0], j->size[1]);
	if (j->frames)
		input_hint(out, "frames", j->frames);
}

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family aura_flow = {
	.name = "aura_flow",
	.architecture = "diffusion",
	.resolve = resolve_aura,
	.build = build_aura,
	.heads = heads,
	.hints = hints,
};

const struct family cog_video = {
	.name = "cog_video",
	.architecture = "diffusion",
	.resolve = resolve_cog,
	.build = build_cog,
	.heads = heads,
	.hints = hints,
};
