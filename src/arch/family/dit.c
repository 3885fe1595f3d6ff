// SPDX-License-Identifier: Apache-2.0
// Diffusion transformers over patches (diffusers): by a class (DiT: Peebles and Xie 2022, https://arxiv.org/abs/2212.09748), by a
// text that they attend to (PixArt: Chen et al. 2023, https://arxiv.org/abs/2310.00426; Sana, with linear attention and a
// convolution in the feed-forward: Xie et al. 2024, https://arxiv.org/abs/2410.10629).
//
//   hidden_states - patches (+ sines of rows and columns) - block.. - norm - scale, shift - linear - patches back -> out_sample
//   block: x + gate * attention(norm(x) * (1 + scale) + shift), + attention to the text, + gate * ffn(..) likewise
//   the six: a linear layer of the time (DiT: each block has its own layers of time and class), + a table of the block
//
//   in:  hidden_states [batch, channels, height, width], timestep f32 [batch]; class_labels i64 [batch], or
//        encoder_hidden_states [batch, sequence, width] and encoder_attention_mask [batch, sequence]; PixArt: resolution
//        [batch, 2], aspect_ratio [batch, 1]; Sana: guidance [batch]
//   out: out_sample [batch, channels, height, width]
#include "arch/block/dit.h"

struct dit {
	int64_t width, in, out, patch;
	struct dit_attention self, cross;
	int64_t text_in, text;                     // of encoder_hidden_states; after its projection. text 0: there is none
	int64_t classes;                           // 0: not by class
	double eps, position_base, position_scale; // position_scale 0: no positions
	bool learned_norms[2];                     // before attention, before the feed-forward
	bool projects, norms_text, sizes, guidance, linear_attention, convolves;
	enum dit_ffn ffn;
	int64_t inner; // of the feed-forward
	int64_t size;
};

// What all blocks read.
struct steering {
	graph_value sines; // of the timestep, [batch, 256]
	graph_value labels, time, six, text, mask;
	graph_value map; // the patches
};

enum { TIME_SINES = 256 };

// ---- resolve --------------------------------------------------------------------------------------------------------------

static void only(struct config *c, const char *key, const char *word)
{
	const json_t *v = config_get(c, key);

	if (v && !text_is(json_string_value(v), word))
		config_fail(c, STATUS_UNSUPPORTED, "%s other than %s is not supported yet", key, word);
}

static enum query_norm resolve_query_norm(struct config *c)
{
	if (!config_get(c, "qk_norm"))
		return QUERIES_PLAIN;
	only(c, "qk_norm", "rms_norm_across_heads");
	return QUERIES_RMS_WHOLE;
}

static struct dit *resolve_patches(struct config *c, struct spec *s, struct arena *a)
{
	struct dit *d = s->own = ARENA_NEW(a, struct dit);
	int64_t heads = config_size(c, "num_attention_heads", -1), width = config_size(c, "attention_head_dim", -1);

	*d = (struct dit){ .width = heads * width,
		.in = config_size(c, "in_channels", 4),
		.patch = config_size(c, "patch_size", 2),
		.size = config_size(c, "sample_size", 64),
		.eps = config_real(c, "norm_eps", 1e-6),
		.inner = 4 * heads * width,
		.self = { .stem = "self", .heads = heads, .width = width, .eps = 1e-5, .out_bias = true } };
	d->out = config_size(c, "out_channels", 0);
	d->out = d->out ? d->out : d->in;
	d->self.bias = config_bool(c, "attention_bias", false);
	s->layers = s->layers_in_config = config_count(c, "num_layers", -1);
	s->hidden_size = d->width;
	if (heads < 1 || width < 1 || heads > CONFIG_COUNT_MOST * 16 || width > CONFIG_COUNT_MOST * 16 || d->in < 1 ||
		d->patch < 1 || d->patch > CONFIG_COUNT_MOST || d->size < d->patch)
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld, %lld channels, patches of %lld of %lld", (long long)heads,
			(long long)width, (long long)d->in, (long long)d->patch, (long long)d->size);
	return d;
}

// Sines for patches of the size that it was trained on; others are stretched to that.
static void resolve_positions(struct config *c, struct dit *d, double scale)
{
	d->position_base = (double)(d->size / (d->patch ? d->patch : 1));
	d->position_scale = scale;
	if (scale <= 0)
		config_fail(c, STATUS_BAD_INPUT, "interpolation_scale should be more than 0");
	if (d->width % 4)
		config_fail(c, STATUS_BAD_INPUT, "positions of width %lld should have quarters", (long long)d->width);
}

static void resolve_dit(struct config *c, struct spec *s, struct arena *a)
{
	struct dit *d = resolve_patches(c, s, a);

	only(c, "norm_type", "ada_norm_zero");
	d->ffn = resolve_dit_ffn(c, "activation_fn");
	d->classes = config_size(c, "num_embeds_ada_norm", -1);
	d->learned_norms[1] = config_bool(c, "norm_elementwise_affine", false);
	resolve_positions(c, d, 1);
}

static void resolve_text(struct config *c, struct dit *d)
{
	d->text = config_size(c, "cross_attention_dim", -1);
	d->text_in = config_size(c, "caption_channels", 0);
	d->projects = d->text_in > 0;
	d->text_in = d->projects ? d->text_in : d->text;
	if (d->projects && d->text != d->width)
		config_fail(
			c, STATUS_BAD_INPUT, "a projected text has the width %lld, not cross_attention_dim", (long long)d->width);
	d->learned_norms[1] = config_bool(c, "norm_elementwise_affine", false);
}

static void resolve_pixart(struct config *c, struct spec *s, struct arena *a)
{
	struct dit *d = resolve_patches(c, s, a);

	only(c, "norm_type", "ada_norm_single");
	only(c, "attention_type", "default");
	d->ffn = resolve_dit_ffn(c, "activation_fn");
	resolve_text(c, d);
	d->learned_norms[0] = d->learned_norms[1];
	d->cross = d->self;
	d->cross.stem = "cross";
	d->sizes = config_bool(c, "use_additional_conditions", d->size == 128);
	resolve_positions(c, d, config_real(c, "interpolation_scale", d->size >= 128 ? (double)(d->size / 64) : 1));
	if (d->sizes && d->width % 3)
		config_fail(c, STATUS_BAD_INPUT, "use_additional_conditions wants thirds of the width %lld", (long long)d->width);
}

static void resolve_sana(struct config *c, struct spec *s, struct arena *a)
{
	struct dit *d = resolve_patches(c, s, a);

	resolve_text(c, d);
	d->norms_text = d->linear_attention = d->convolves = true;
	d->self.norm = resolve_query_norm(c);
	d->cross = d->self;
	d->cross.stem = "cross";
	d->cross.bias = true;
	d->cross.heads = config_size(c, "num_cross_attention_heads", -1);
	d->cross.width = config_size(c, "cross_attention_head_dim", -1);
	d->guidance = config_bool(c, "guidance_embeds", false);
	double ratio = config_real(c, "mlp_ratio", 2.5);
	if (config_get(c, "interpolation_scale"))
		resolve_positions(c, d, config_real(c, "interpolation_scale", 1));
	if (!(ratio > 0 && ratio < 1024) || d->cross.heads < 1 || d->cross.width < 1 || !d->projects) {
		config_fail(c, STATUS_BAD_INPUT, "mlp_ratio %g, %lld heads of %lld look at the text", ratio,
			(long long)d->cross.heads, (long long)d->cross.width);
		return;
	}
	d->inner = (int64_t)(ratio * (double)d->width);
}

// ---- build ----------------------------------------------------------------------------------------------------------------

static graph_value normed(struct build *b, const char *stem, graph_value x, bool learned)
{
	const struct dit *d = b->s->own;
	return learned ? layer_norm_eps(b, stem, x, d->eps) : norm_unlearned(b, x, d->eps);
}

// relu(q) (relu(k)' v), divided by relu(q) times the sum of relu(k): without the square of the places.
static graph_value linear_attention(struct build *b, const struct dit_attention *how, graph_value x)
{
	struct graph *g = b->g;
	const char *names[] = { "self.q", "self.k", "self.v" }, *norms[] = { "q_norm", "k_norm" };
	int64_t whole = how->heads * how->width;
	graph_value y[3];

	for (int i = 0; i < 3; i++) {
		y[i] = linear(b, names[i], x, whole, whole, how->bias);
		y[i] = i < 2 ? op_relu(g, query_normed(b, how, norms[i], y[i])) : y[i];
		y[i] = op_reshape(g, y[i], 4, (int64_t[]){ 0, 0, how->heads, how->width });
		y[i] = op_transpose(g, y[i], 4, i == 1 ? (int[]){ 0, 2, 3, 1 } : (int[]){ 0, 2, 1, 3 });
	}
	graph_value sum = op_matmul(g, y[0], op_matmul(g, y[1], y[2])); // [batch, heads, places, width]
	graph_value all = op_matmul(g, y[0], op_reduce_sum(g, y[1], 3, true));
	x = op_div(g, sum, op_add(g, all, graph_f32(g, 1e-15f)));
	x = op_reshape(g, op_transpose(g, x, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, whole });
	return linear(b, "self.o", x, whole, whole, true);
}

// Of the time, and of the class where there is one: [batch, width].
static graph_value class_and_time(struct build *b, const struct steering *by)
{
	const struct dit *d = b->s->own;
	graph_value label =
		op_squeeze(b->g, embedding(b, "class", op_unsqueeze(b->g, by->labels, 1), d->classes + 1, d->width), 1);
	return op_add(b->g, timestep_layers(b, "time", by->sines, TIME_SINES, d->width, ACT_SILU), label);
}

static graph_value six_of(struct build *b, graph_value time)
{
	const struct dit *d = b->s->own;
	return linear(b, "modulate", op_silu(b->g, time), d->width, 6 * d->width, true);
}

static graph_value block(struct build *b, graph_value x, const struct steering *by)
{
	struct graph *g = b->g;
	const struct dit *d = b->s->own;
	int64_t w = d->width;
	graph_value six[6];

	if (d->classes)
		modulation_parts(b, six_of(b, class_and_time(b, by)), 6, w, six);
	else
		modulation_parts(b, op_add(g, by->six, WEIGHT(b, "table", "", 6, w)), 6, w, six);
	// DiT's first norm has an epsilon of its own.
	graph_value y = d->classes ? norm_unlearned(b, x, 1e-6) : normed(b, "norm.1", x, d->learned_norms[0]);
	y = modulated(b, y, six[1], six[0]);
	y = d->linear_attention ? linear_attention(b, &d->self, y) : dit_attention(b, &d->self, y, NO_VALUE);
	x = op_add(g, x, op_mul(g, six[2], y));
	if (d->text) {
		struct dit_attention cross = d->cross;
		cross.mask = by->mask;
		x = op_add(g, x, dit_attention(b, &cross, x, by->text));
	}
	y = modulated(b, normed(b, "norm.2", x, d->learned_norms[1]), six[4], six[3]);
	y = d->convolves ? tokens_of(b, gated_convolution(b, map_of(b, y, by->map), d->inner))
			 : dit_ffn(b, d->ffn, "ffn", y, d->inner);
	return op_add(g, x, op_mul(g, six[5], y));
}

// Two numbers of the picture's size and one of its shape, each by layers of its own: [batch, width].
static graph_value sizes_of(struct build *b)
{
	struct graph *g = b->g;
	int64_t batch = graph_symbol(g, "batch"), out = ((const struct dit *)b->s->own)->width / 3;
	graph_value resolution = graph_input(g, "resolution", DTYPE_F32, 2, (int64_t[]){ batch, 2 });
	graph_value both[] = { resolution, graph_input(g, "aspect_ratio", DTYPE_F32, 2, (int64_t[]){ batch, 1 }) };
	graph_value sines = op_reshape(g, op_concat(g, 2, both, 1), 1, (int64_t[]){ -1 });

	sines = op_reshape(g, timestep_embedding(b, sines, TIME_SINES, true, 0), 3, (int64_t[]){ -1, 3, TIME_SINES });
	both[0] = timestep_layers(b, "resolution", op_slice(g, sines, 1, 0, 2), TIME_SINES, out, ACT_SILU);
	both[1] = timestep_layers(b, "aspect", op_slice(g, sines, 1, 2, 3), TIME_SINES, out, ACT_SILU);
	return op_reshape(g, op_concat(g, 2, both, 1), 2, (int64_t[]){ -1, 3 * out });
}

static void steer_by_text(struct build *b, struct steering *by, graph_value tokens)
{
	struct graph *g = b->g;
	const struct dit *d = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), n = graph_symbol(g, "sequence");
	graph_value text = graph_input(g, "encoder_hidden_states", DTYPE_F32, 3, (int64_t[]){ batch, n, d->text_in });
	graph_value mask = graph_input(g, "encoder_attention_mask", DTYPE_F32, 2, (int64_t[]){ batch, n });

	by->time = timestep_layers(b, "time", by->sines, TIME_SINES, d->width, ACT_SILU);
	if (d->sizes)
		by->time = op_add(g, by->time, sizes_of(b));
	if (d->guidance) {
		graph_value sines = timestep_embedding(b, graph_input(g, "guidance", DTYPE_F32, 1, &batch), TIME_SINES, true, 0);
		by->time = op_add(g, by->time, timestep_layers(b, "guidance", sines, TIME_SINES, d->width, ACT_SILU));
	}
	by->six = op_reshape(g, six_of(b, by->time), 3, (int64_t[]){ -1, 6, d->width });
	by->text = d->projects ? text_projection(b, "text", text, d->text_in, d->width) : text;
	if (d->norms_text)
		by->text = op_rms_norm(g, by->text, WEIGHT(b, "text.norm", "weight", d->width), 1e-5f);
	by->mask = text_mask(b, mask, tokens);
}

static void build_dit(struct build *b)
{
	struct graph *g = b->g;
	const struct dit *d = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), w = d->width;
	int64_t shape[] = { batch, d->in, graph_symbol(g, "height"), graph_symbol(g, "width") };
	graph_value x = graph_input(g, "hidden_states", DTYPE_F32, 4, shape), last[2];
	struct steering by = { .sines = timestep_embedding(b, graph_input(g, "timestep", DTYPE_F32, 1, &batch), TIME_SINES, true,
				       d->classes ? 1 : 0) };

	by.map = conv(
		b, "patch", x, (struct conv){ .out = w, .kernel = d->patch, .stride = d->patch, .pad = PAD_NONE, .bias = true });
	x = tokens_of(b, by.map);
	if (d->position_scale > 0)
		x = op_add(g, x, grid_sines(b, by.map, w, d->position_base, d->position_scale));
	if (d->text)
		steer_by_text(b, &by, x);
	else
		by.labels = graph_input(g, "class_labels", DTYPE_I64, 1, &batch);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = block(b, x, &by);
		graph_leave(g);
	}
	b->layer = 0;
	if (d->classes)
		modulation_parts(b, linear(b, "out.modulate", op_silu(g, class_and_time(b, &by)), w, 2 * w, true), 2, w, last);
	else
		modulation_parts(b, op_add(g, op_unsqueeze(g, by.time, 1), WEIGHT(b, "out.table", "", 2, w)), 2, w, last);
	x = modulated(b, norm_unlearned(b, x, 1e-6), last[1], last[0]);
	x = linear(b, "out", x, w, d->patch * d->patch * d->out, true);
	graph_output(g, "out_sample", map_of_patches(b, x, by.map, d->patch, d->out));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct dit *d = s->own;

	image_hints(out, d->size, d->size);
}

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family dit = {
	.name = "dit",
	.architecture = "diffusion",
	.resolve = resolve_dit,
	.build = build_dit,
	.heads = heads,
	.hints = hints,
};

const struct family pixart = {
	.name = "pixart",
	.architecture = "diffusion",
	.resolve = resolve_pixart,
	.build = build_dit,
	.heads = heads,
	.hints = hints,
};

const struct family sana = {
	.name = "sana",
	.architecture = "diffusion",
	.resolve = resolve_sana,
	.build = build_dit,
	.heads = heads,
	.hints = hints,
};
