// SPDX-License-Identifier: Apache-2.0
// The deep-compression autoencoder (Chen et al. 2024, https://arxiv.org/abs/2410.10733): each stage halves the picture by moving
// 2 by 2 places into channels, beside a mean of the same that has no weights; blocks are residual convolutions, or linear
// attention at several scales with a gated convolution (EfficientViT: Cai et al. 2022, https://arxiv.org/abs/2205.14756).
//
//   sample - 3x3 - (block.. - half).. - 3x3 (+ channels' means) -> latents
//   latent - 3x3 (+ channels repeated) - (twice - block..).. - norm - act - 3x3 -> sample
//
// The graphs; the whole is one after the other:
//
//   model.onnx         sample [batch, channels, height, width]  ->  latents, out_sample
//   vae_encoder.onnx   sample  ->  latents
//   vae_decoder.onnx   latent [batch, latent channels, height, width]  ->  sample
#include "arch/block/dit.h"

struct stage {
	int64_t width, layers;
	bool attends, batch_normed;
	enum activation act;
	const int64_t *kernels; // of the scales of attention, [scales]
	int64_t scales;
};

struct half {
	const char *name;
	struct stage *stage; // [stages], from the largest map to the smallest
	int64_t stages;
	bool shortcut; // beside the convolution at the latents
};

struct compression {
	struct half encoder, decoder;
	int64_t channels, latent, head_width;
	bool strides, interpolates; // halves by a stride, doubles by nearest places; else through channels
	enum activation last_act;
};

static const struct arch_graph encoder_graph = { .file = "vae_encoder.onnx" }, decoder_graph = { .file = "vae_decoder.onnx" };
static const struct arch_graph *const graphs[] = { &encoder_graph, &decoder_graph, NULL };

// ---- resolve --------------------------------------------------------------------------------------------------------------

// Does this key say `yes`, and not `no`? Another word is refused. One word stands for all stages.
static bool word_is(struct config *c, const char *key, int64_t i, const char *yes, const char *no)
{
	const json_t *v = config_get(c, key);
	const char *word = json_string_value(json_is_array(v) ? json_array_get(v, (size_t)i) : v);

	if (!v || text_is(word, no))
		return false;
	if (!text_is(word, yes))
		config_fail(c, STATUS_UNSUPPORTED, "%s: %.64s is not supported yet", key, word ? word : "?");
	return true;
}

static void resolve_scales(struct config *c, const char *key, struct stage *s, int64_t i, struct arena *a)
{
	const json_t *list = json_array_get(config_get(c, key), (size_t)i);
	int64_t *kernel = ARENA_ARRAY(a, json_array_size(list) + 1, int64_t);

	s->scales = (int64_t)json_array_size(list);
	for (size_t k = 0; k < json_array_size(list); k++) {
		kernel[k] = json_integer_value(json_array_get(list, k));
		if (kernel[k] < 1 || kernel[k] > CONFIG_COUNT_MOST || kernel[k] % 2 == 0 || k >= 64)
			config_fail(c, STATUS_BAD_INPUT, "%s should have odd kernels", key);
	}
	s->kernels = kernel;
}

static void resolve_half(struct config *c, struct half *h, const char *name, struct arena *a)
{
	const char *widths = arena_printf(a, "%s_block_out_channels", name),
		   *depths = arena_printf(a, "%s_layers_per_block", name);
	const char *kinds = arena_printf(a, "%s_block_types", name), *scales = arena_printf(a, "%s_qkv_multiscales", name);
	int64_t count = 0;
	const int64_t *width = config_sizes(c, widths, a, 0, &h->stages), *layers = config_sizes(c, depths, a, 0, &count);

	h->name = name;
	if (c->error.status)
		return;
	if (!width || !layers || count != h->stages || h->stages < 2 || h->stages > 32) {
		config_fail(c, STATUS_BAD_INPUT, "%s and %s should have a number for each of 2 to 32 stages", widths, depths);
		return;
	}
	h->stage = ARENA_ARRAY(a, (size_t)h->stages, struct stage);
	for (int64_t i = 0; i < h->stages && !c->error.status; i++) {
		struct stage *s = &h->stage[i];
		*s = (struct stage){ .width = width[i], .layers = layers[i], .act = ACT_SILU };
		s->attends = word_is(c, kinds, i, "EfficientViTBlock", "ResBlock");
		resolve_scales(c, scales, s, i, a);
		// The outermost stage may be without blocks: the map is halved at once.
		if (width[i] < 1 || layers[i] > CONFIG_COUNT_MOST || (i && !layers[i]) || (i && width[i] * 4 % width[i - 1]) ||
			(i && width[i - 1] * 4 % width[i]))
			config_fail(c, STATUS_BAD_INPUT, "%s: stage %lld has %lld layers of %lld channels", name, (long long)i,
				(long long)layers[i], (long long)width[i]);
	}
}

static void resolve_decoder(struct config *c, struct compression *o)
{
	const json_t *acts = config_get(c, "decoder_act_fns");

	for (int64_t i = 0; i < o->decoder.stages && !c->error.status; i++) {
		const json_t *act = json_is_array(acts) ? json_array_get(acts, (size_t)i) : acts;
		struct stage *s = &o->decoder.stage[i];
		s->batch_normed = word_is(c, "decoder_norm_types", i, "batch_norm", "rms_norm");
		if (acts && !json_is_string(act))
			config_fail(c, STATUS_BAD_INPUT, "decoder_act_fns should have a word for each stage");
		else if (acts)
			s->act = config_activation_word(c, "decoder_act_fns", json_string_value(act));
	}
	o->decoder.shortcut = config_bool(c, "decoder_in_shortcut", true);
	o->last_act = config_activation(c, "decoder_conv_act_fn", ACT_RELU);
}

static void resolve_compression(struct config *c, struct spec *s, struct arena *a)
{
	struct compression *o = s->own = ARENA_NEW(a, struct compression);

	*o = (struct compression){ .channels = config_size(c, "in_channels", 3),
		.latent = config_size(c, "latent_channels", 32),
		.head_width = config_size(c, "attention_head_dim", 32) };
	s->channels = o->channels;
	resolve_half(c, &o->encoder, "encoder", a);
	resolve_half(c, &o->decoder, "decoder", a);
	resolve_decoder(c, o);
	o->encoder.shortcut = config_bool(c, "encoder_out_shortcut", true);
	o->strides = word_is(c, "downsample_block_type", 0, "conv", "pixel_unshuffle");
	o->interpolates = word_is(c, "upsample_block_type", 0, "interpolate", "pixel_shuffle");
	if (c->error.status)
		return;
	if (o->channels < 1 || o->latent < 1 || o->head_width < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld channels, latents of %lld, heads of %lld", (long long)o->channels,
			(long long)o->latent, (long long)o->head_width);
	else if (o->encoder.stage[o->encoder.stages - 1].width % o->latent ||
		o->decoder.stage[o->decoder.stages - 1].width % o->latent)
		config_fail(c, STATUS_BAD_INPUT, "the last stage should have a multiple of %lld channels", (long long)o->latent);
}

// ---- build ----------------------------------------------------------------------------------------------------------------

// 2 by 2 places as channels: 4 * c + 2 * row + column.
static graph_value folded(struct build *b, graph_value x)
{
	struct graph *g = b->g;

	if (graph_failed(g))
		return NO_VALUE;
	int64_t n = value_dim(g, x, 1), count = 4 * n, *at = GRAPH_TABLE(g, NULL, count, 1, int64_t);
	for (int64_t i = 0; at && i < count; i++)
		at[i] = i % 4 * n + i / 4;
	return op_gather(g, op_space_to_depth(g, x, 2), graph_constant(g, DTYPE_I64, 1, &count, at), 1);
}

// The means of as many channels beside each other as to leave `out`.
static graph_value means(struct build *b, graph_value x, int64_t out)
{
	struct graph *g = b->g;

	if (graph_failed(g))
		return NO_VALUE;
	graph_value shape[] = { op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ out, value_dim(g, x, 1) / out }), op_dim(g, x, 2),
		op_dim(g, x, 3) };
	return op_reduce_mean(g, op_reshape_to(g, x, op_concat(g, 4, shape, 0)), 2, false);
}

// Each channel so often, one after the other, as to make `out`.
static graph_value repeated(struct build *b, graph_value x, int64_t out)
{
	struct graph *g = b->g;

	if (graph_failed(g))
		return NO_VALUE;
	int64_t each = out / value_dim(g, x, 1), *at = GRAPH_TABLE(g, NULL, out, 1, int64_t);
	for (int64_t i = 0; at && i < out; i++)
		at[i] = i / each;
	return op_gather(g, x, graph_constant(g, DTYPE_I64, 1, &out, at), 1);
}

static graph_value normed(struct build *b, const char *stem, graph_value x, bool batch_normed)
{
	struct graph *g = b->g;

	if (graph_failed(g) || batch_normed)
		return batch_norm(b, stem, x, 1e-5);
	int64_t n = value_dim(g, x, 1);
	x = op_rms_norm(g, op_transpose(g, x, 4, (int[]){ 0, 2, 3, 1 }), WEIGHT(b, stem, "weight", n), 1e-5f);
	return op_transpose(g, op_add(g, x, WEIGHT(b, stem, "bias", n)), 4, (int[]){ 0, 3, 1, 2 });
}

static graph_value halved(struct build *b, const char *stem, graph_value x, int64_t out, bool shortcut)
{
	const struct compression *o = b->s->own;
	graph_value y = conv(b, stem, x,
		(struct conv){
			.out = o->strides ? out : out / 4, .kernel = 3, .stride = o->strides ? 2 : 1, .pad = 1, .bias = true });

	y = o->strides ? y : folded(b, y);
	return shortcut ? op_add(b->g, y, means(b, folded(b, x), out)) : y;
}

static graph_value doubled(struct build *b, const char *stem, graph_value x, int64_t out, bool shortcut)
{
	struct graph *g = b->g;
	const struct compression *o = b->s->own;
	graph_value y = conv(b, stem, o->interpolates ? resized_by_as(b, x, 2, "nearest") : x,
		(struct conv){ .out = o->interpolates ? out : 4 * out, .kernel = 3, .bias = true });

	y = o->interpolates ? y : op_depth_to_space(g, y, 2, true);
	return shortcut ? op_add(g, y, op_depth_to_space(g, repeated(b, x, 4 * out), 2, true)) : y;
}

static graph_value residual(struct build *b, const struct stage *s, graph_value x)
{
	struct conv three = { .out = s->width, .kernel = 3, .bias = true };
	graph_value y = activate(b, s->act, conv(b, "convolve.1", x, three));

	three.bias = false;
	return op_add(b->g, normed(b, "convolve.norm", conv(b, "convolve.2", y, three), s->batch_normed), x);
}

// relu(q), relu(k), v of each group of channels; v k' q, divided by the sum of k times q.
static graph_value attend(struct build *b, graph_value x, graph_value map, int64_t groups, int64_t width)
{
	struct graph *g = b->g;

	x = op_reshape(g, x, 4, (int64_t[]){ 0, groups, 3 * width, -1 });
	graph_value q = op_relu(g, op_slice(g, x, 2, 0, width)), k = op_relu(g, op_slice(g, x, 2, width, 2 * width));
	graph_value v = op_slice(g, x, 2, 2 * width, 3 * width);
	k = op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }); // [batch, groups, places, width]
	graph_value sum = op_matmul(g, op_matmul(g, v, k), q), all = op_matmul(g, op_reduce_sum(g, k, 2, true), q);
	x = op_div(g, sum, op_add(g, all, graph_f32(g, 1e-15f)));
	graph_value shape[] = { op_dim(g, map, 0), graph_i64s(g, 1, (int64_t[]){ groups * width }), op_dim(g, map, 2),
		op_dim(g, map, 3) };
	return op_reshape_to(g, x, op_concat(g, 4, shape, 0));
}

static graph_value attention(struct build *b, const struct stage *s, graph_value x)
{
	struct graph *g = b->g;
	const struct compression *o = b->s->own;
	int64_t heads = s->width / o->head_width, inner = heads * o->head_width, all = 3 * inner;
	graph_value scale[65], part[3], tokens = tokens_of(b, x);
	const char *names[] = { "attention.q", "attention.k", "attention.v" };

	if (heads < 1) {
		graph_fail(
			g, STATUS_BAD_INPUT, "%lld channels have no head of %lld", (long long)s->width, (long long)o->head_width);
		return NO_VALUE;
	}
	for (int i = 0; i < 3; i++)
		part[i] = linear(b, names[i], tokens, s->width, inner, false);
	scale[0] = map_of(b, op_concat(g, 3, part, 2), x);
	for (b->item = 0; b->item < s->scales; b->item++) {
		graph_value y = conv(
			b, "attention.in", scale[0], (struct conv){ .out = all, .kernel = s->kernels[b->item], .group = all });
		scale[b->item + 1] = conv(b, "attention.out", y, (struct conv){ .out = all, .kernel = 1, .group = 3 * heads });
	}
	graph_value y = s->scales ? op_concat(g, (int)s->scales + 1, scale, 1) : scale[0];
	y = attend(b, y, x, heads * (1 + s->scales), o->head_width);
	y = linear(b, "attention.o", tokens_of(b, y), inner * (1 + s->scales), s->width, false);
	x = op_add(g, x, normed(b, "attention.norm", map_of(b, y, x), s->batch_normed));
	return op_add(g, x, normed(b, "ffn.norm", gated_convolution(b, x, 4 * s->width), false));
}

static graph_value blocks(struct build *b, const struct stage *s, graph_value x)
{
	graph_enter(b->g, "%s", b->item_name);
	for (int64_t i = 0; i < s->layers && !graph_failed(b->g); i++, b->layer++)
		x = s->attends ? attention(b, s, x) : residual(b, s, x);
	graph_leave(b->g);
	return x;
}

static void name_stage(struct build *b, const char *half, const char *kind, int64_t i)
{
	b->item_name = arena_printf(graph_arena(b->g), "%s.%s.%lld", half, kind, (long long)i);
	b->layer = 0;
}

static graph_value encode(struct build *b, graph_value x)
{
	const struct compression *o = b->s->own;
	const struct half *h = &o->encoder;
	int64_t first = h->stage[0].layers ? 0 : 1, last = h->stages - 1;

	b->item_name = h->name;
	x = first ? halved(b, "in.half", x, h->stage[1].width, false)
		  : conv(b, "in", x, (struct conv){ .out = h->stage[0].width, .kernel = 3, .bias = true });
	for (int64_t i = first; i <= last && !graph_failed(b->g); i++) {
		name_stage(b, h->name, "down_blocks", i);
		x = blocks(b, &h->stage[i], x);
		if (i < last)
			x = halved(b, "resize", x, h->stage[i + 1].width, true);
	}
	b->item_name = h->name;
	graph_value y = conv(b, "out", x, (struct conv){ .out = o->latent, .kernel = 3, .bias = true });
	return h->shortcut ? op_add(b->g, y, means(b, x, o->latent)) : y;
}

static graph_value decode(struct build *b, graph_value latent)
{
	const struct compression *o = b->s->own;
	const struct half *h = &o->decoder;
	int64_t first = h->stage[0].layers ? 0 : 1, last = h->stages - 1;

	b->item_name = h->name;
	graph_value x = conv(b, "in", latent, (struct conv){ .out = h->stage[last].width, .kernel = 3, .bias = true });
	if (h->shortcut)
		x = op_add(b->g, x, repeated(b, latent, h->stage[last].width));
	for (int64_t i = last; i >= first && !graph_failed(b->g); i--) {
		name_stage(b, h->name, "up_blocks", i);
		if (i < last) {
			x = doubled(b, "resize", x, h->stage[i].width, true);
			b->layer++;
		}
		x = blocks(b, &h->stage[i], x);
	}
	b->item_name = h->name;
	x = activate(b, o->last_act, normed(b, "out.norm", x, false));
	return first ? doubled(b, "out.double", x, o->channels, false)
		     : conv(b, "out", x, (struct conv){ .out = o->channels, .kernel = 3, .bias = true });
}

static void build_compression(struct build *b)
{
	const struct compression *o = b->s->own;
	graph_value latent;

	if (b->which == &decoder_graph)
		latent = map_input(b, "latent", o->latent, "height", "width");
	else
		graph_output(b->g, "latents", latent = encode(b, map_input(b, "sample", o->channels, "height", "width")));
	if (b->which != &encoder_graph)
		graph_output(b->g, b->which == &decoder_graph ? "sample" : "out_sample", decode(b, latent));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 512, 512);
}

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family autoencoder_dc = {
	.name = "autoencoder_dc",
	.architecture = "diffusion",
	.resolve = resolve_compression,
	.build = build_compression,
	.heads = heads,
	.graphs = graphs,
	.hints = hints,
};
