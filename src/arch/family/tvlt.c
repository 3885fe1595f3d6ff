// SPDX-License-Identifier: Apache-2.0
// TVLT (Tang et al. 2022, https://arxiv.org/abs/2209.14156): patches of a film's frames and of a spectrogram in one vision
// transformer.
//
//   film  -> patches + positions + frame + kind -+
//                                                +- [class token, film, sound] -> layers -> norm -> class token - linear -
//   sound -> patches + time + frequency + kind --+                                                 norm - GELU - linear
#include "arch/family/tvlt.h"

#include "arch/block/vit.h"

// spec.own of the family.
struct tvlt {
	int64_t patch[2], sound_patch[2]; // height and width; time and frequency
	int64_t length, bins;             // of a spectrogram
	int64_t frames, sound_channels;
	bool no_norm;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct tvlt *o = ARENA_NEW(a, struct tvlt);
	int64_t size[2];
	s->own = o;
	resolve_transformer(c, s, true);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	resolve_pair(c, a, "image_size", 224, 1, size);
	resolve_pair(c, a, "image_patch_size", 16, 1, o->patch);
	resolve_pair(c, a, "audio_patch_size", 16, 1, o->sound_patch);
	s->image_size = size[0], s->image_width = size[1];
	s->channels = config_size(c, "num_image_channels", 3);
	o->length = config_size(c, "spectrogram_length", 2048);
	o->bins = config_size(c, "frequency_length", 128);
	o->frames = config_size(c, "num_frames", 8);
	o->sound_channels = config_size(c, "num_audio_channels", 1);
	o->no_norm = config_bool(c, "use_mean_pooling", false);
	if (!c->error.status &&
		(size[0] < o->patch[0] || size[1] < o->patch[1] || o->length < o->sound_patch[0] || o->bins < o->sound_patch[1] ||
			o->frames < 1 || s->channels < 1 || o->sound_channels < 1))
		config_fail(c, STATUS_BAD_INPUT, "pictures and spectrograms should have patches");
}

// x [batch, maps, rows, columns] -> [batch, patches, hidden]
static graph_value patches(struct build *b, const char *stem, graph_value x, int64_t channels, const int64_t *patch)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, stem, "weight", h, channels, patch[0], patch[1]), bias = WEIGHT(b, stem, "bias", h);
	return tokens_of(b, op_conv(g, x, w, bias, patch, (int64_t[4]){ 0 }, one, 1));
}

// x [.., hidden], which are `groups` (i64 [1]) of `each` a row; a vector for each place in a group, one for each group, one
// for all: [batch, all, hidden]
static graph_value placed(struct build *b, const char *stem, graph_value x, graph_value groups, int64_t each, int64_t most)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	int64_t h = b->s->hidden_size;
	graph_value of_each = WEIGHT(b, arena_printf(a, "%s.place", stem), "", 1, each, h);
	graph_value of_group = WEIGHT(b, arena_printf(a, "%s.group", stem), "", 1, most, h);
	graph_value zero = graph_i64s(g, 1, (int64_t[]){ 0 });
	of_group = op_unsqueeze(g, op_slice_to(g, of_group, 1, zero, groups), 2); // [1, groups, 1, hidden]
	graph_value sizes[] = { graph_i64s(g, 1, (int64_t[]){ -1 }), groups, graph_i64s(g, 2, (int64_t[]){ each, h }) };
	x = op_reshape_to(g, x, op_concat(g, 3, sizes, 0));
	x = op_add(g, op_add(g, x, op_unsqueeze(g, of_each, 1)), of_group);
	x = op_reshape(g, x, 3, (int64_t[]){ 0, -1, h });
	return op_add(g, x, WEIGHT(b, arena_printf(a, "%s.kind", stem), "", 1, 1, h));
}

static graph_value embed_film(struct build *b, graph_value film)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct tvlt *o = s->own;
	int64_t each = (s->image_size / o->patch[0]) * (s->image_width / o->patch[1]);
	graph_value frames = op_reshape(g, film, 4, (int64_t[]){ -1, s->channels, s->image_size, s->image_width });
	return placed(b, "film", patches(b, "film", frames, s->channels, o->patch), op_dim(g, film, 1), each, o->frames);
}

static graph_value embed_sound(struct build *b, graph_value sound)
{
	struct graph *g = b->g;
	const struct tvlt *o = b->s->own;
	int64_t each = o->bins / o->sound_patch[1];
	graph_value times = op_div(g, op_dim(g, sound, 2), graph_i64s(g, 1, &o->sound_patch[0]));
	graph_value x = patches(b, "sound", sound, o->sound_channels, o->sound_patch);
	return placed(b, "sound", x, times, each, o->length / o->sound_patch[0]);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct tvlt *o = s->own;
	int64_t batch = graph_symbol(g, "batch"), h = s->hidden_size;
	int64_t of_film[] = { batch, graph_symbol(g, "frames"), s->channels, s->image_size, s->image_width };
	int64_t of_sound[] = { batch, o->sound_channels, graph_symbol(g, "length"), o->bins };
	graph_value film = graph_input(g, "pixel_values", DTYPE_F32, 5, of_film),
		    sound = graph_input(g, "audio_values", DTYPE_F32, 4, of_sound);
	graph_value seen = graph_input(g, "pixel_mask", DTYPE_I64, 2, (int64_t[]){ batch, graph_symbol(g, "patches") }),
		    heard = graph_input(g, "audio_mask", DTYPE_I64, 2, (int64_t[]){ batch, graph_symbol(g, "audio_patches") });
	graph_value x[] = { each_image(b, WEIGHT(b, "tokens.class", "", 1, 1, h), film), embed_film(b, film),
		embed_sound(b, sound) };
	graph_value mask[] = { op_slice(g, seen, 1, 0, 1), seen, heard }, y = op_concat(g, 3, x, 1);
	graph_value bias = mask_bidirectional(b, op_concat(g, 3, mask, 1));
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		y = vit_layer(b, y, bias, 0);
		graph_leave(g);
	}
	struct body io = { .last = o->no_norm ? y : layer_norm(b, "norm", y, h) };
	head_build(b, &io);
}

static void classify(struct build *b, const struct body *io)
{
	int64_t h = b->s->hidden_size;
	graph_value x = linear(b, "head.1", first_token(b, io->last), h, 2 * h, true);
	x = op_gelu(b->g, layer_norm(b, "head.norm", x, 2 * h));
	graph_output(b->g, "logits", linear(b, "head.2", x, 2 * h, b->s->labels, true));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct tvlt *o = s->own;
	int64_t each = (s->image_size / o->patch[0]) * (s->image_width / o->patch[1]);
	input_hint(out, "frames", o->frames);
	input_hint(out, "length", o->sound_patch[0]);
	input_hint(out, "patches", o->frames * each);
	input_hint(out, "audio_patches", o->bins / o->sound_patch[1]);
}

static const struct family_head heads[] = { { &head_model, head_give_last }, { &head_video, classify }, { 0 } };

const struct family tvlt = {
	.name = "tvlt",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
