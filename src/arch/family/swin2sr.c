// SPDX-License-Identifier: Apache-2.0
// Swin2SR (Conde et al. 2022, https://arxiv.org/abs/2209.11345): a larger picture by stages of version 2's windows on one grid,
// each stage with a convolution and what it began with added.
//
//   pixels - mean -> conv -+- patches - norm -> stages -> norm -> conv -(+)-> upsampler + mean -> reconstruction
//                          +---------------------------------------------+
//   stage:  x -+- layers of windows - conv - patches -(+)-
//              +----------------------------------------+
#include "arch/block/image.h"
#include "arch/block/window.h"

enum upsampler { UP_NONE, UP_SHUFFLE, UP_AUXILIARY, UP_DIRECT, UP_NEAREST };
enum { FEATURES = 64 }; // of the upsamplers

// spec.own of the family.
struct swin2sr {
	struct windows windows;
	int64_t upscale, out_channels;
	enum upsampler upsampler;
	bool three_convs; // at the end of a stage
	bool centred;     // the mean of natural pictures is taken away and added again
	double range;
};

static const float mean_of_pictures[] = { 0.4488f, 0.4371f, 0.4040f };

static void resolve_upsampler(struct config *c, struct swin2sr *o)
{
	static const char *const words[] = { "pixelshuffle", "pixelshuffle_aux", "pixelshuffledirect", "nearest+conv" };
	const char *word = config_text(c, "upsampler"), *residual = config_text(c, "resi_connection");
	for (int i = 0; word && i < 4; i++)
		if (text_is(word, words[i]))
			o->upsampler = (enum upsampler)(i + 1);
	o->three_convs = residual && text_is(residual, "3conv");
	bool doubles = (o->upscale & (o->upscale - 1)) == 0;
	if (c->error.status)
		return;
	if (!o->three_convs && (!residual || !text_is(residual, "1conv")))
		config_fail(c, STATUS_BAD_INPUT, "resi_connection should be 1conv or 3conv");
	else if (o->upscale < 1 || o->upscale > 64 || (o->upsampler == UP_NEAREST && o->upscale != 4) ||
		((o->upsampler == UP_SHUFFLE || o->upsampler == UP_AUXILIARY) && !doubles && o->upscale != 3))
		config_fail(c, STATUS_UNSUPPORTED, "upscale %lld is not one of this upsampler's", (long long)o->upscale);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct swin2sr *o = ARENA_NEW(a, struct swin2sr);
	o->windows = *resolve_windows(c, a, "num_heads", "embed_dim");
	s->own = o;
	if (c->error.status)
		return;
	struct windows *w = &o->windows;
	s->hidden_size = w->embed;
	s->heads = s->kv_heads = w->heads[0];
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	resolve_image(c, s);
	o->upscale = config_size(c, "upscale", 2);
	o->range = config_real(c, "img_range", 1);
	o->out_channels = config_size(c, "num_channels_out", s->channels);
	o->centred = s->channels == 3 && o->out_channels == 3;
	resolve_upsampler(c, o);
	if (config_bool(c, "use_absolute_embeddings", false))
		config_fail(c, STATUS_UNSUPPORTED, "use_absolute_embeddings: there is a position more than patches");
	for (int64_t i = 0; i < w->stages && !c->error.status; i++)
		if (w->embed % w->heads[i])
			config_fail(c, STATUS_BAD_INPUT, "num_heads %lld over embed_dim %lld", (long long)w->heads[i],
				(long long)w->embed);
	if (!c->error.status && (s->patch_size != 1 || s->patch_width != 1))
		config_fail(c, STATUS_UNSUPPORTED, "patch_size %lld: a stage's states are put on the grid of pixels",
			(long long)s->patch_size);
	if (!c->error.status &&
		(o->out_channels < 1 || !(o->range > 0) || (o->upsampler == UP_AUXILIARY && s->channels != 3) ||
			(o->upsampler == UP_NONE && s->channels != o->out_channels && s->channels != 1 && o->out_channels != 1)))
		config_fail(c, STATUS_BAD_INPUT, "num_channels %lld and num_channels_out %lld, or img_range %g",
			(long long)s->channels, (long long)o->out_channels, o->range);
	w->second = w->level = true;
	w->grid[0] = s->image_size, w->grid[1] = s->image_width;
}

static graph_value conv3(struct build *b, const char *stem, graph_value x, int64_t out)
{
	return conv(b, stem, x, (struct conv){ .out = out, .kernel = 3, .bias = true });
}

// The mean of pictures as a map of one place; sign: added or taken away.
static graph_value with_mean(struct build *b, graph_value x, float sign)
{
	const struct swin2sr *o = b->s->own;
	float mean[3];
	for (int i = 0; i < 3; i++)
		mean[i] = sign * mean_of_pictures[i];
	return o->centred ? op_add(b->g, x, graph_constant(b->g, DTYPE_F32, 4, (int64_t[]){ 1, 3, 1, 1 }, mean)) : x;
}

// What is added to a stage's beginning: map [batch, embed, height, width]
static graph_value stage_end(struct build *b, graph_value map)
{
	const struct swin2sr *o = b->s->own;
	int64_t width = o->windows.embed, inner = width / 4;
	b->layer = b->stage; // a stem with one number
	if (!o->three_convs)
		map = conv3(b, "stages.conv", map, width);
	for (int64_t i = 0; i < 3 && o->three_convs; i++) {
		b->layer = 2 * i;
		map = conv(b, "stages.convs", map,
			(struct conv){ .out = i < 2 ? inner : width, .kernel = i == 1 ? 1 : 3, .bias = true });
		map = i < 2 ? leaky_relu(b->g, map, 0.2f) : map;
	}
	b->layer = b->stage;
	return conv(b, "stages.patch", map, (struct conv){ .out = width, .kernel = 1, .bias = true });
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct swin2sr *o = b->s->own;
	const struct windows *w = &o->windows;
	if (graph_failed(g))
		return;
	graph_value height = op_dim(g, io->pixels, 2), width = op_dim(g, io->pixels, 3);
	graph_value first = conv3(b, "embed.conv", op_scale(g, with_mean(b, io->pixels, -1), (float)o->range), w->embed);
	graph_value x = conv(b, "embed.patch", first, (struct conv){ .out = w->embed, .kernel = 1, .bias = true });
	x = layer_norm_eps(b, "embed.norm", tokens_of(b, x), 1e-5);
	for (b->stage = 0; b->stage < w->stages && !graph_failed(g); b->stage++) {
		graph_enter(g, "stages.%lld", (long long)b->stage);
		graph_value y = x;
		for (b->layer = 0; b->layer < w->depths[b->stage] && !graph_failed(g); b->layer++)
			y = window_layer_any(b, w, y, height, width, w->embed, w->heads[b->stage]);
		x = op_add(g, x, tokens_of(b, stage_end(b, map_of(b, y, io->pixels))));
		graph_leave(g);
	}
	x = map_of(b, layer_norm(b, "norm", x, w->embed), io->pixels);
	io->last = op_add(g, conv3(b, "after", x, w->embed), first);
}

static graph_value shuffled(struct build *b, graph_value x)
{
	const struct swin2sr *o = b->s->own;
	struct graph *g = b->g;
	if (o->upscale == 3)
		return op_depth_to_space(g, conv3(b, "head.thrice", x, 9 * FEATURES), 3, true);
	b->layer = 0;
	for (int64_t n = o->upscale; n > 1; n /= 2, b->layer++)
		x = op_depth_to_space(g, conv3(b, "head.twice", x, 4 * FEATURES), 2, true);
	return x;
}

// [batch, FEATURES, height, width] -> as many times larger as upscale says
static graph_value nearest(struct build *b, graph_value x)
{
	for (b->layer = 1; b->layer <= 2; b->layer++)
		x = leaky_relu(b->g, conv3(b, "head.up", resized_by_as(b, x, 2, "nearest"), FEATURES), 0.2f);
	return leaky_relu(b->g, conv3(b, "head.fine", x, FEATURES), 0.2f);
}

static graph_value with_auxiliary(struct build *b, graph_value x, graph_value pixels)
{
	const struct swin2sr *o = b->s->own;
	struct graph *g = b->g;
	graph_value cubic = conv3(b, "head.cubic", resized_by_as(b, pixels, o->upscale, "cubic"), FEATURES);
	x = leaky_relu(b->g, conv3(b, "head.after_aux", conv3(b, "head.aux", x, b->s->channels), FEATURES), 0.01f);
	return op_add(g, shuffled(b, x), cubic);
}

static void build_picture(struct build *b, const struct body *io)
{
	const struct swin2sr *o = b->s->own;
	struct graph *g = b->g;
	graph_value x = io->last;
	graph_enter(g, "head");
	if (o->upsampler == UP_DIRECT)
		x = op_depth_to_space(g, conv3(b, "head.direct", x, o->upscale * o->upscale * o->out_channels), o->upscale, true);
	else if (o->upsampler == UP_NONE)
		x = op_add(g, io->pixels, conv3(b, "head.residual", x, o->out_channels));
	else {
		x = leaky_relu(b->g, conv3(b, "head.before", x, FEATURES), 0.01f);
		x = o->upsampler == UP_SHUFFLE       ? shuffled(b, x)
			: o->upsampler == UP_NEAREST ? nearest(b, x)
						     : with_auxiliary(b, x, io->pixels);
		x = conv3(b, "head.last", x, o->out_channels);
	}
	x = with_mean(b, op_div(g, x, graph_f32(g, (float)o->range)), 1);
	graph_leave(g);
	graph_output(g, "reconstruction", x); // [batch, channels, height * upscale, width * upscale]
}

static void hints(const struct spec *s, struct input_hints *out)
{
	image_hints(out, s->image_size, s->image_width);
}

// Not layers: a model of fewer stages would be another model.
static void sizes(const struct spec *s, json_t *out)
{
	const struct swin2sr *o = s->own;
	json_object_set_new(out, "stages", json_integer(o->windows.stages));
	json_object_set_new(out, "window", json_integer(o->windows.window));
}

static const struct family_head heads[] = {
	{ &head_super_resolution, build_picture },
	{ &head_model, head_give_last },
	{ 0 },
};

const struct family swin2sr = {
	.name = "swin2sr",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = hints,
	.sizes = sizes,
	.heads = heads,
};
