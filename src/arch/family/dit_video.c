// SPDX-License-Identifier: Apache-2.0
// A diffusion transformer over patches of a film by a text (diffusers: Wan, https://arxiv.org/abs/2503.20314): queries and keys
// are rotated by frame, row and column, each its share of a head.
//
//   hidden_states - patches - block.. - norm - scale, shift - linear - patches back -> out_sample
//   block: x + gate * attention(norm(x) * (1 + scale) + shift), + attention to the text, + gate * ffn(..) likewise
//   the six: a linear layer of the time + a table of the block
//
//   in:  hidden_states [batch, channels, frames, height, width], timestep i64 [batch],
//        encoder_hidden_states [batch, sequence, width]
//   out: out_sample [batch, channels, frames, height, width]
#include "arch/block/dit.h"

#include <math.h>

struct film {
	int64_t width, in, out, text, sines, inner;
	const int64_t *patch; // of frames, rows, columns
	struct dit_attention self, cross;
	double eps;
	bool norms_cross;
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
	graph_value time = timestep_embedding(b, graph_input(g, "timestep", DTYPE_I64, 1, &batch), f->sines, true, 0);
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
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++)
		x = film_block(b, x, text, all, &self);
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

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family wan = {
	.name = "wan",
	.architecture = "diffusion",
	.resolve = resolve_wan,
	.build = build_wan,
	.heads = heads,
	.hints = hints,
};
