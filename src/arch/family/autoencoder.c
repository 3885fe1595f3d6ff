// SPDX-License-Identifier: Apache-2.0
// Autoencoders of pictures (diffusers): a picture to latents an eighth as high and wide, and back (Rombach et al. 2022,
// https://arxiv.org/abs/2112.10752, section 3.1).
//
//   sample - 3x3 - (residual.. - half)..- residual - attention - residual - norm - 3x3 - 1x1 -> parameters: mean, logvar
//   latent - 1x1 - 3x3 - residual - attention - residual - (residual.. - twice).. - norm - 3x3 -> sample
//
// Tiny ones (https://github.com/madebyollin/taesd) have three convolutions a block and no norms.
//
// The graphs; the whole is one after the other, from the mean. Latents are as the model has them: scaling_factor and shift_factor
// are the pipeline's.
//
//   model.onnx         sample [batch, channels, height, width]  ->  mean, logvar, parameters; tiny: latents; and out_sample
//   vae_encoder.onnx   sample  ->  mean, logvar, parameters; tiny: latents
//   vae_decoder.onnx   latent [batch, latent channels, height, width]  ->  sample
#include "arch/block/diffusion.h"

struct autoencoder {
	struct residual how;
	int64_t in, out, latent, stages, layers;
	const int64_t *width, *decoder_width; // [stages], of the encoder's first to last; tiny: the decoder's, its first to last
	bool attends, mixes, unmixes;         // attention in the middle; 1x1 convolutions around the latents
	const int64_t *blocks, *decoder_blocks;
	int64_t decoder_stages, factor; // tiny
	int64_t size[2];                // height and width of pictures that it was trained on
};

static const struct arch_graph encoder_graph = { .file = "vae_encoder.onnx" }, decoder_graph = { .file = "vae_decoder.onnx" };
static const struct arch_graph *const graphs[] = { &encoder_graph, &decoder_graph, NULL };

static struct autoencoder *resolve_ends(struct config *c, struct spec *s, struct arena *a)
{
	struct autoencoder *o = s->own = ARENA_NEW(a, struct autoencoder);

	*o = (struct autoencoder){ .in = config_size(c, "in_channels", 3),
		.out = config_size(c, "out_channels", 3),
		.latent = config_size(c, "latent_channels", 4),
		.how = { .act = config_activation(c, "act_fn", ACT_SILU), .eps = 1e-6 } };
	s->channels = o->in;
	resolve_sample_size(c, a, o->size, 512);
	if (o->in < 1 || o->out < 1 || o->latent < 1)
		config_fail(c, STATUS_BAD_INPUT, "pictures of %lld and %lld channels, latents of %lld", (long long)o->in,
			(long long)o->out, (long long)o->latent);
	return o;
}

// Every block of the list is of this kind, and there is one for each stage.
static void blocks_are(struct config *c, const char *key, const char *kind, int64_t stages)
{
	const json_t *list = config_get(c, key);

	if (json_array_size(list) != (size_t)stages)
		config_fail(c, STATUS_BAD_INPUT, "%s should name %lld blocks", key, (long long)stages);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!text_is(json_string_value(json_array_get(list, i)), kind))
			config_fail(c, STATUS_UNSUPPORTED, "%s: only %s is supported yet", key, kind);
}

static void resolve_kl(struct config *c, struct spec *s, struct arena *a)
{
	struct autoencoder *o = resolve_ends(c, s, a);

	o->width = config_sizes(c, "block_out_channels", a, 0, &o->stages);
	o->layers = config_count(c, "layers_per_block", 1);
	o->how.groups = config_size(c, "norm_num_groups", 32);
	o->attends = config_bool(c, "mid_block_add_attention", true);
	o->mixes = config_bool(c, "use_quant_conv", true);
	o->unmixes = config_bool(c, "use_post_quant_conv", true);
	blocks_are(c, "down_block_types", "DownEncoderBlock2D", o->stages);
	blocks_are(c, "up_block_types", "UpDecoderBlock2D", o->stages);
	if (!c->error.status && (o->stages < 1 || o->stages > CONFIG_COUNT_MOST || o->layers < 1))
		config_fail(c, STATUS_BAD_INPUT, "block_out_channels should have a number for each block, and a block a layer");
}

static void resolve_tiny(struct config *c, struct spec *s, struct arena *a)
{
	struct autoencoder *o = resolve_ends(c, s, a);
	int64_t blocks = 0, decoder_blocks = 0;

	o->width = config_sizes(c, "encoder_block_out_channels", a, 0, &o->stages);
	o->decoder_width = config_sizes(c, "decoder_block_out_channels", a, 0, &o->decoder_stages);
	o->blocks = config_sizes(c, "num_encoder_blocks", a, 0, &blocks);
	o->decoder_blocks = config_sizes(c, "num_decoder_blocks", a, 0, &decoder_blocks);
	o->factor = config_size(c, "upsampling_scaling_factor", 2);
	const char *mode = config_text(c, "upsample_fn");
	if (mode && !text_is(mode, "nearest"))
		config_fail(c, STATUS_UNSUPPORTED, "upsample_fn %s is not supported yet", mode);
	if (c->error.status)
		return;
	if (!blocks || !decoder_blocks || blocks != o->stages || decoder_blocks != o->decoder_stages ||
		blocks > CONFIG_COUNT_MOST || decoder_blocks > CONFIG_COUNT_MOST || o->factor < 1 || o->factor > 64)
		config_fail(c, STATUS_BAD_INPUT, "encoder and decoder should each have a width and a number of blocks by stage");
	for (int64_t i = 0; !c->error.status && i < blocks + decoder_blocks; i++)
		if ((i < blocks ? o->blocks[i] : o->decoder_blocks[i - blocks]) > CONFIG_COUNT_MOST)
			config_fail(c, STATUS_BAD_INPUT, "more than %d blocks in a stage", CONFIG_COUNT_MOST);
}

static void name_block(struct build *b, const char *half, const char *kind, int64_t i)
{
	b->item_name = arena_printf(graph_arena(b->g), "%s.%s.%lld", half, kind, (long long)i);
	b->layer = 0;
}

// The residual blocks of one block of the network.
static graph_value residuals(struct build *b, graph_value x, int64_t count, int64_t width)
{
	const struct autoencoder *o = b->s->own;

	graph_enter(b->g, "%s", b->item_name);
	for (b->layer = 0; b->layer < count && !graph_failed(b->g); b->layer++)
		x = residual_block(b, &o->how, x, width, NO_VALUE, 0);
	graph_leave(b->g);
	return x;
}

static graph_value middle(struct build *b, const char *half, graph_value x, int64_t width)
{
	const struct autoencoder *o = b->s->own;

	b->item_name = arena_printf(graph_arena(b->g), "%s.mid_block", half);
	b->layer = 0;
	graph_enter(b->g, "%s", b->item_name);
	x = residual_block(b, &o->how, x, width, NO_VALUE, 0);
	if (o->attends)
		x = places_attention(b, &o->how, x, 1);
	b->layer = 1;
	x = residual_block(b, &o->how, x, width, NO_VALUE, 0);
	graph_leave(b->g);
	return x;
}

static graph_value end(struct build *b, const char *half, graph_value x, int64_t out)
{
	const struct autoencoder *o = b->s->own;

	b->item_name = half;
	x = activate(b, o->how.act, group_norm(b, "out.norm", x, o->how.groups, o->how.eps));
	return conv(b, "out", x, (struct conv){ .out = out, .kernel = 3, .bias = true });
}

// [batch, 2 * latent, ..]: mean and logarithm of the variance
static graph_value encode_kl(struct build *b, graph_value sample)
{
	const struct autoencoder *o = b->s->own;
	b->item_name = "encoder";
	graph_value x = conv(b, "in", sample, (struct conv){ .out = o->width[0], .kernel = 3, .bias = true });

	for (int64_t i = 0; i < o->stages && !graph_failed(b->g); i++) {
		name_block(b, "encoder", "down_blocks", i);
		x = residuals(b, x, o->layers, o->width[i]);
		if (i + 1 < o->stages)
			x = map_halved(b, x, true);
	}
	x = middle(b, "encoder", x, o->width[o->stages - 1]);
	x = end(b, "encoder", x, 2 * o->latent);
	return o->mixes ? conv(b, "quant", x, (struct conv){ .out = 2 * o->latent, .kernel = 1, .bias = true }) : x;
}

static graph_value decode_kl(struct build *b, graph_value latent)
{
	const struct autoencoder *o = b->s->own;
	int64_t widest = o->width[o->stages - 1];
	if (o->unmixes)
		latent = conv(b, "post_quant", latent, (struct conv){ .out = o->latent, .kernel = 1, .bias = true });
	b->item_name = "decoder";
	graph_value x = conv(b, "in", latent, (struct conv){ .out = widest, .kernel = 3, .bias = true });

	x = middle(b, "decoder", x, widest);
	for (int64_t i = 0; i < o->stages && !graph_failed(b->g); i++) {
		name_block(b, "decoder", "up_blocks", i);
		x = residuals(b, x, o->layers + 1, o->width[o->stages - 1 - i]);
		if (i + 1 < o->stages)
			x = map_enlarged(b, x, NO_VALUE);
	}
	return end(b, "decoder", x, o->out);
}

// x -3x3-(act)-3x3-(act)-3x3-(+)-relu; layer b->layer of the half b->item_name
static graph_value tiny_block(struct build *b, graph_value x, int64_t width)
{
	const struct autoencoder *o = b->s->own;
	struct conv three = { .out = width, .kernel = 3, .bias = true };
	graph_value y = activate(b, o->how.act, conv(b, "tiny.1", x, three));

	y = conv(b, "tiny.3", activate(b, o->how.act, conv(b, "tiny.2", y, three)), three);
	if (!graph_failed(b->g) && value_dim(b->g, x, 1) != width)
		graph_fail(b->g, STATUS_UNSUPPORTED, "stages of different widths are not supported yet");
	return op_relu(b->g, op_add(b->g, y, x));
}

static graph_value encode_tiny(struct build *b, graph_value sample)
{
	struct graph *g = b->g;
	const struct autoencoder *o = b->s->own;
	graph_value x = op_scale(g, op_add(g, sample, graph_f32(g, 1)), 0.5f); // -1 .. 1 is 0 .. 1

	b->item_name = "encoder";
	b->layer = 0;
	for (int64_t i = 0; i < o->stages && !graph_failed(g); i++) {
		x = conv(b, "tiny.conv", x,
			(struct conv){ .out = o->width[i], .kernel = 3, .stride = i ? 2 : 1, .pad = 1, .bias = !i });
		b->layer++;
		for (int64_t k = 0; k < o->blocks[i] && !graph_failed(g); k++, b->layer++)
			x = tiny_block(b, x, o->width[i]);
	}
	return conv(b, "tiny.conv", x, (struct conv){ .out = o->latent, .kernel = 3, .bias = true });
}

static graph_value decode_tiny(struct build *b, graph_value latent)
{
	struct graph *g = b->g;
	const struct autoencoder *o = b->s->own;
	graph_value x = op_scale(g, op_tanh(g, op_scale(g, latent, 1.0f / 3)), 3);

	b->item_name = "decoder";
	b->layer = 0;
	x = conv(b, "tiny.conv", x, (struct conv){ .out = o->decoder_width[0], .kernel = 3, .bias = true });
	x = activate(b, o->how.act, x);
	b->layer = 2; // an activation is a layer too
	for (int64_t i = 0; i < o->decoder_stages && !graph_failed(g); i++) {
		bool last = i + 1 == o->decoder_stages;
		for (int64_t k = 0; k < o->decoder_blocks[i] && !graph_failed(g); k++, b->layer++)
			x = tiny_block(b, x, o->decoder_width[i]);
		if (!last) {
			x = resized_by_as(b, x, o->factor, "nearest");
			b->layer++;
		}
		x = conv(b, "tiny.conv", x,
			(struct conv){ .out = last ? o->out : o->decoder_width[i], .kernel = 3, .bias = last });
		b->layer++;
	}
	return op_sub(g, op_scale(g, x, 2), graph_f32(g, 1));
}

static void build_kl(struct build *b)
{
	struct graph *g = b->g;
	const struct autoencoder *o = b->s->own;
	graph_value latent = b->which == &decoder_graph ? map_input(b, "latent", o->latent, "height", "width") : NO_VALUE;

	if (b->which != &decoder_graph) {
		graph_value x = encode_kl(b, map_input(b, "sample", o->in, "height", "width"));
		latent = op_slice(g, x, 1, 0, o->latent);
		graph_value spread = op_slice(g, x, 1, o->latent, 2 * o->latent);
		graph_output(g, "mean", latent);
		graph_output(g, "logvar", op_max(g, op_min(g, spread, graph_f32(g, 20)), graph_f32(g, -30)));
		graph_output(g, "parameters", x);
	}
	if (b->which != &encoder_graph)
		graph_output(g, b->which == &decoder_graph ? "sample" : "out_sample", decode_kl(b, latent));
}

static void build_tiny(struct build *b)
{
	const struct autoencoder *o = b->s->own;
	graph_value latent;

	if (b->which == &decoder_graph)
		latent = map_input(b, "latent", o->latent, "height", "width");
	else
		graph_output(b->g, "latents", latent = encode_tiny(b, map_input(b, "sample", o->in, "height", "width")));
	if (b->which != &encoder_graph)
		graph_output(b->g, b->which == &decoder_graph ? "sample" : "out_sample", decode_tiny(b, latent));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct autoencoder *o = s->own;

	image_hints(out, o->size[0], o->size[1]);
}

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family autoencoder_kl = {
	.name = "autoencoder_kl",
	.architecture = "diffusion",
	.resolve = resolve_kl,
	.build = build_kl,
	.heads = heads,
	.graphs = graphs,
	.hints = hints,
};

const struct family autoencoder_tiny = {
	.name = "autoencoder_tiny",
	.architecture = "diffusion",
	.resolve = resolve_tiny,
	.build = build_tiny,
	.heads = heads,
	.graphs = graphs,
	.hints = hints,
};
