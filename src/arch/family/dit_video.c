// SPDX-License-Identifier: Apache-2.0
// Diffusion transformers over patches of a film by a text (diffusers: Wan, https://arxiv.org/abs/2503.20314; LTX-Video,
// https://arxiv.org/abs/2501.00103): queries and keys are rotated by frame, row and column. Wan counts them, each has its share
// of a head; LTX is given them, and rotates all heads as one.
//
//   hidden_states - patches - block.. - norm - scale, shift - linear - patches back -> out_sample
//   block: x + gate * attention(norm(x) * (1 + scale) + shift), + attention to the text, + gate * ffn(..) likewise
//   the six: a linear layer of the time + a table of the block
//
//   in:  hidden_states [batch, channels, frames, height, width], timestep f32 [batch],
//        encoder_hidden_states [batch, sequence, width]
//   out: out_sample [batch, channels, frames, height, width]
//   LTX: hidden_states [batch, places, channels], encoder_attention_mask f32 [batch, sequence], video_coords f32
//        [batch, 3, places] (time, row and column; 20, 2048 and 2048 count as 1) -> out_sample as hidden_states
#include "arch/block/dit.h"

#include <math.h>
#include <string.h>

struct film {
	int64_t width, in, out, text, sines, inner;
	const int64_t *patch; // of frames, rows, columns
	struct dit_attention self, cross;
	double eps;
	bool norms_cross, learned_norms;
	enum dit_ffn ffn;
};

static void refuse(struct config *c, const char *key)
{
	if (config_get(c, key))
		config_fail(c, STATUS_UNSUPPORTED, "%s is not supported yet", key);
}

static void resolve_wan(struct config *c, struct spec *s, struct arena *a)
{
	struct film *f = s->own = ARENA_NEW(a, struct film);
	int64_t heads = config_size(c, "num_attention_heads", -1), width = config_size(c, "attention_head_dim", -1), count = 0;
	const char *norm = config_text(c, "qk_norm");

	*f = (struct film){ .width = heads * width,
		.in = config_size(c, "in_channels", 16),
		.text = config_size(c, "text_dim", -1),
		.sines = config_size(c, "freq_dim", 256),
		.inner = config_size(c, "ffn_dim", -1),
		.eps = config_real(c, "eps", 1e-6),
		.norms_cross = config_bool(c, "cross_attn_norm", true),
		.patch = config_sizes(c, "patch_size", a, 3, &count) };
	f->out = config_size(c, "out_channels", 0);
	f->out = f->out ? f->out : f->in;
	f->self = (struct dit_attention){ "self", heads, width, .bias = true, .out_bias = true, .norm = QUERIES_RMS_WHOLE,
		.eps = f->eps, .turns = heads };
	f->cross = f->self;
	f->cross.stem = "cross";
	s->layers = s->layers_in_config = config_count(c, "num_layers", -1);
	s->hidden_size = f->width;
	if (norm && !text_is(norm, "rms_norm_across_heads"))
		config_fail(c, STATUS_UNSUPPORTED, "qk_norm %.64s is not supported yet", norm);
	refuse(c, "image_dim");
	refuse(c, "added_kv_proj_dim");
	refuse(c, "pos_embed_seq_len");
	if (c->error.status)
		return;
	bool has_patch = f->patch && count == 3;
	for (int i = 0; has_patch && i < 3; i++)
		has_patch = f->patch[i] > 0 && f->patch[i] <= 64;
	if (!has_patch || heads < 1 || width < 6 || width % 2 || f->sines < 2 || f->inner < 1 || f->text < 1 || f->in < 1 ||
		heads > CONFIG_COUNT_MOST * 16 || width > CONFIG_COUNT_MOST * 16)
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld, patch_size of %lld numbers, a text of width %lld",
			(long long)heads, (long long)width, (long long)count, (long long)f->text);
}

// ---- build ----------------------------------------------------------------------------------------------------------------

// Angles of the places along one axis of the patches [batch, w, frames, rows, columns]: [n, pairs].
static graph_value angles_along(struct build *b, graph_value map, int axis, int64_t pairs)
{
	struct graph *g = b->g;
	float *rate = GRAPH_TABLE(g, NULL, pairs, 1, float);

	for (int64_t i = 0; rate && i < pairs; i++)
		rate[i] = (float)pow(10000, -(double)i / (double)pairs);
	graph_value rates = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ 1, pairs }, rate);
	return op_mul(g, op_unsqueeze(g, places_along(b, map, axis), 1), rates);
}

// cos and sin [1, places, 1, width / 2]: rows and columns have a third each, frames the rest.
static void film_tables(struct build *b, graph_value map, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	const struct film *f = b->s->own;
	int64_t side = f->self.width / 6, pairs = f->self.width / 2;
	graph_value place = table_of_grid(b, angles_along(b, map, 3, side), angles_along(b, map, 4, side), false);

	place = op_reshape(g, place, 2, (int64_t[]){ -1, 2 * side });
	place = table_of_grid(b, angles_along(b, map, 2, pairs - 2 * side), place, false);
	place = op_reshape(g, place, 4, (int64_t[]){ 1, -1, 1, pairs });
	*cos = op_cos(g, place);
	*sin = op_sin(g, place);
}

static graph_value film_block(struct build *b, graph_value x, graph_value text, graph_value all, const struct dit_attention *self)
{
	struct graph *g = b->g;
	const struct film *f = b->s->own;
	int64_t w = f->width;
	graph_value six[6];

	modulation_parts(b, op_add(g, all, WEIGHT(b, "table", "", 1, 6, w)), 6, w, six);
	graph_value y = modulated(b, norm_unlearned(b, x, f->eps), six[1], six[0]);
	x = op_add(g, x, op_mul(g, six[2], dit_attention(b, self, y, NO_VALUE)));
	y = f->norms_cross ? layer_norm_eps(b, "cross.norm", x, f->eps) : x;
	x = op_add(g, x, dit_attention(b, &f->cross, y, text));
	y = modulated(b, norm_unlearned(b, x, f->eps), six[4], six[3]);
	return op_add(g, x, op_mul(g, six[5], dit_ffn(b, FFN_GELU_TANH, "ffn", y, f->inner)));
}

// tokens [batch, places, patch * channels], channels last -> [batch, channels, frames, height, width]
static graph_value film_of_patches(struct build *b, graph_value x, graph_value map)
{
	struct graph *g = b->g;
	const struct film *f = b->s->own;
	graph_value out = graph_i64s(g, 1, &f->out), size[3];
	graph_value cut[] = { op_dim(g, map, 0), op_dim(g, map, 2), op_dim(g, map, 3), op_dim(g, map, 4),
		graph_i64s(g, 3, f->patch), out };

	for (int i = 0; i < 3; i++)
		size[i] = op_mul(g, cut[1 + i], graph_i64s(g, 1, &f->patch[i]));
	x = op_reshape_to(g, x, op_concat(g, 6, cut, 0));
	x = op_transpose(g, x, 8, (int[]){ 0, 7, 1, 4, 2, 5, 3, 6 });
	graph_value whole[] = { cut[0], out, size[0], size[1], size[2] };
	return op_reshape_to(g, x, op_concat(g, 5, whole, 0));
}

static void build_wan(struct build *b)
{
	struct graph *g = b->g;
	const struct film *f = b->s->own;
	const int64_t *p = f->patch, none[6] = { 0 }, ones[] = { 1, 1, 1 };
	int64_t batch = graph_symbol(g, "batch"), w = f->width;
	int64_t shape[] = { batch, f->in, graph_symbol(g, "frames"), graph_symbol(g, "height"), graph_symbol(g, "width") };
	graph_value x = graph_input(g, "hidden_states", DTYPE_F32, 5, shape), last[2];
	graph_value time = timestep_embedding(b, graph_input(g, "timestep", DTYPE_F32, 1, &batch), f->sines, true, 0);
	graph_value text =
		graph_input(g, "encoder_hidden_states", DTYPE_F32, 3, (int64_t[]){ batch, graph_symbol(g, "sequence"), f->text });
	struct dit_attention self = f->self;

	time = timestep_layers(b, "time", time, f->sines, w, ACT_SILU);
	graph_value all = op_reshape(g, linear(b, "modulate", op_silu(g, time), w, 6 * w, true), 3, (int64_t[]){ -1, 6, w });
	text = text_projection(b, "text", text, f->text, w);
	graph_value kernel = WEIGHT(b, "patch", "weight", w, f->in, p[0], p[1], p[2]);
	graph_value map = op_conv(g, x, kernel, WEIGHT(b, "patch", "bias", w), p, none, ones, 1);
	film_tables(b, map, &self.cos, &self.sin);
	x = tokens_of(b, map);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = film_block(b, x, text, all, &self);
		graph_leave(g);
	}
	modulation_parts(b, op_add(g, op_unsqueeze(g, time, 1), WEIGHT(b, "out.table", "", 1, 2, w)), 2, w, last);
	x = modulated(b, norm_unlearned(b, x, f->eps), last[1], last[0]);
	x = linear(b, "out", x, w, p[0] * p[1] * p[2] * f->out, true);
	graph_output(g, "out_sample", film_of_patches(b, x, map));
}

// Latents of the films of 81 frames of 480 by 832 that it was trained on, in a small part of their length.
static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 60, 104);
	input_hint(out, "frames", 5);
}

// ---- LTX ------------------------------------------------------------------------------------------------------------------

static void resolve_ltx(struct config *c, struct spec *s, struct arena *a)
{
	struct film *f = s->own = ARENA_NEW(a, struct film);
	int64_t heads = config_size(c, "num_attention_heads", -1), width = config_size(c, "attention_head_dim", -1);
	const char *norm = config_text(c, "qk_norm");

	*f = (struct film){ .width = heads * width,
		.in = config_size(c, "in_channels", 128),
		.text = config_size(c, "caption_channels", -1),
		.sines = 256,
		.inner = 4 * heads * width,
		.eps = config_real(c, "norm_eps", 1e-6),
		.learned_norms = config_bool(c, "norm_elementwise_affine", false),
		.ffn = resolve_dit_ffn(c, "activation_fn") };
	f->out = config_size(c, "out_channels", 0);
	f->out = f->out ? f->out : f->in;
	f->self = (struct dit_attention){ "self", heads, width, .norm = QUERIES_RMS_WHOLE, .eps = 1e-5, .turns = 1 };
	f->self.bias = config_bool(c, "attention_bias", true);
	f->self.out_bias = config_bool(c, "attention_out_bias", true);
	f->cross = f->self;
	f->cross.stem = "cross";
	s->layers = s->layers_in_config = config_count(c, "num_layers", -1);
	s->hidden_size = f->width;
	if (norm && !text_is(norm, "rms_norm_across_heads"))
		config_fail(c, STATUS_UNSUPPORTED, "qk_norm %.64s is not supported yet", norm);
	if (config_size(c, "cross_attention_dim", -1) != f->width || heads < 1 || width < 1 || f->width % 2 || f->width < 12 ||
		f->in < 1 || f->text < 1 || heads > CONFIG_COUNT_MOST * 16 || width > CONFIG_COUNT_MOST * 16)
		config_fail(c, STATUS_BAD_INPUT,
			"%lld heads of %lld, a text of width %lld, cross_attention_dim not as wide as the heads",
			(long long)heads, (long long)width, (long long)f->text);
}

static const int64_t ltx_unit[3] = { 20, 2048, 2048 }; // frames, height and width that count as 1

// coords f32 [batch, 3, places]: cos and sin [batch, places, 1, width / 2]. The pairs of each frequency lie beside each other,
// one of each axis; what is left of the width comes first and is not rotated.
static void ltx_tables(struct build *b, graph_value coords, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t w = ((const struct film *)b->s->own)->width, n = w / 6, rest = (w % 6) / 2;
	float *rate = GRAPH_TABLE(g, NULL, n, 1, float);
	const float unit[] = { (float)ltx_unit[0], (float)ltx_unit[1], (float)ltx_unit[2] };

	for (int64_t i = 0; rate && i < n; i++)
		rate[i] = (float)pow(10000, n > 1 ? (float)i / (float)(n - 1) : 0) * 3.14159274f / 2; // rounded as the class does
	graph_value at = op_div(g, coords, graph_constant(g, DTYPE_F32, 3, (int64_t[]){ 1, 3, 1 }, unit));
	at = op_transpose(g, op_sub(g, op_scale(g, at, 2), graph_f32(g, 1)), 3, (int[]){ 0, 2, 1 });
	graph_value angle = op_mul(g, op_unsqueeze(g, at, 2), graph_constant(g, DTYPE_F32, 4, (int64_t[]){ 1, 1, n, 1 }, rate));
	angle = op_unsqueeze(g, op_reshape(g, angle, 3, (int64_t[]){ 0, 0, 3 * n }), 2);
	if (rest)
		angle = op_pad(g, angle, 3, rest, 0);
	*cos = op_cos(g, angle);
	*sin = op_sin(g, angle);
}

static graph_value ltx_norm(struct build *b, const char *stem, graph_value x)
{
	const struct film *f = b->s->own;
	return op_rms_norm(b->g, x, f->learned_norms ? WEIGHT(b, stem, "weight", f->width) : ones_of(b, f->width), (float)f->eps);
}

static void build_ltx(struct build *b)
{
	struct graph *g = b->g;
	const struct film *f = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), n = graph_symbol(g, "sequence"), places = graph_symbol(g, "places"),
		w = f->width;
	graph_value x = graph_input(g, "hidden_states", DTYPE_F32, 3, (int64_t[]){ batch, places, f->in }), part[6];
	graph_value text = graph_input(g, "encoder_hidden_states", DTYPE_F32, 3, (int64_t[]){ batch, n, f->text });
	graph_value time = timestep_embedding(b, graph_input(g, "timestep", DTYPE_F32, 1, &batch), f->sines, true, 0);
	graph_value mask = graph_input(g, "encoder_attention_mask", DTYPE_F32, 2, (int64_t[]){ batch, n });
	graph_value coords = graph_input(g, "video_coords", DTYPE_F32, 3, (int64_t[]){ batch, 3, places });
	struct dit_attention self = f->self, cross = f->cross;

	ltx_tables(b, coords, &self.cos, &self.sin);
	x = linear(b, "patch", x, f->in, w, true);
	cross.mask = text_mask(b, mask, x);
	time = timestep_layers(b, "time", time, f->sines, w, ACT_SILU);
	graph_value all = op_reshape(g, linear(b, "modulate", op_silu(g, time), w, 6 * w, true), 3, (int64_t[]){ -1, 6, w });
	text = text_projection(b, "text", text, f->text, w);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		modulation_parts(b, op_add(g, all, WEIGHT(b, "table", "", 6, w)), 6, w, part);
		graph_value y = dit_attention(b, &self, modulated(b, ltx_norm(b, "norm.1", x), part[1], part[0]), NO_VALUE);
		x = op_add(g, x, op_mul(g, part[2], y));
		x = op_add(g, x, dit_attention(b, &cross, x, text));
		y = dit_ffn(b, f->ffn, "ffn", modulated(b, ltx_norm(b, "norm.2", x), part[4], part[3]), f->inner);
		x = op_add(g, x, op_mul(g, part[5], y));
		graph_leave(g);
	}
	modulation_parts(b, op_add(g, op_unsqueeze(g, time, 1), WEIGHT(b, "out.table", "", 2, w)), 2, w, part);
	x = modulated(b, norm_unlearned(b, x, 1e-6), part[1], part[0]);
	graph_output(g, "out_sample", linear(b, "out", x, w, f->out, true));
}

static void ltx_hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	input_hint(out, "places", 384); // a picture of 512 by 768
	memcpy(out->place_unit, ltx_unit, sizeof ltx_unit);
}

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family wan = {
	.name = "wan",
	.architecture = "diffusion",
	.resolve = resolve_wan,
	.build = build_wan,
	.heads = heads,
	.hints = hints,
};

const struct family ltx_video = {
	.name = "ltx_video",
	.architecture = "diffusion",
	.resolve = resolve_ltx,
	.build = build_ltx,
	.heads = heads,
	.hints = ltx_hints,
};
