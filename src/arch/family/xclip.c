// SPDX-License-Identifier: Apache-2.0
// X-CLIP: CLIP for videos (Ni et al. 2022, https://arxiv.org/abs/2208.02816). In each layer of the vision tower the frames
// tell each other a message; a small transformer makes one vector of the frames; the texts are changed by what is seen.
//
//   vision layer:  class token of each frame -> linear -> (+ attention among the frames) -> message
//                  [tokens, message] -> norm -> attention -> (+) -> drop the message -> (+ feed-forward)
//   frames' class tokens -> projection + positions -> layers -> (+) -> mean -> video
//   text -> projection -> layers of (cross attention to the mean of the frames' patches, feed-forward) * alpha -> (+) text
#include <math.h>

#include "arch/block/block.h"

struct frames {
	int64_t count;
}; // of the vision part: num_frames

static int64_t frame_count(const struct spec *s)
{
	return ((const struct frames *)s->own)->count;
}

// ---- vision -------------------------------------------------------------------------------------------------------------

static void resolve_vision(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	if (!c->error.status && (s->image_size != s->image_width || s->patch_size != s->patch_width))
		config_fail(c, STATUS_UNSUPPORTED, "pictures and patches should be square");
	struct frames *f = ARENA_NEW(a, struct frames);
	f->count = config_size(c, "num_frames", -1);
	s->own = f;
	if (!c->error.status && f->count < 1)
		config_fail(c, STATUS_BAD_INPUT, "num_frames should be at least 1");
	// The transformer over the frames has sizes of its own and shares the rest: it is a part with the same words.
	struct spec *mit = ARENA_NEW(a, struct spec);
	*mit = *s;
	mit->prefix = "mit.";
	mit->hidden_size = config_size(c, "mit_hidden_size", -1);
	mit->ffn_size = config_size(c, "mit_intermediate_size", -1);
	mit->layers = mit->layers_in_config = config_count(c, "mit_num_hidden_layers", -1);
	mit->heads = mit->kv_heads = config_size(c, "mit_num_attention_heads", -1);
	if (c->error.status)
		return;
	if (mit->heads < 1 || mit->hidden_size < 1 || mit->hidden_size % mit->heads) {
		config_fail(c, STATUS_BAD_INPUT, "mit_hidden_size %lld does not divide into %lld heads",
			(long long)mit->hidden_size, (long long)mit->heads);
		return;
	}
	mit->head_width = mit->hidden_size / mit->heads;
	mit->attention_scale = 1 / sqrt((double)mit->head_width);
	part_set(s, "encoder", mit);
}

// [batch * frames, tokens, hidden] -> the same with one message after each frame's tokens
static graph_value with_message(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "message");
	graph_value m = linear(b, "layers.message", first_token(b, x), h, h, true); // [batch * frames, hidden]
	m = op_reshape(g, m, 3, (int64_t[]){ -1, frame_count(s), h });
	graph_value y = layer_norm(b, "layers.message.norm", m, h);
	graph_value q = linear(b, "layers.message.q", y, h, h, true), k = linear(b, "layers.message.k", y, h, h, true),
		    v = linear(b, "layers.message.v", y, h, h, true);
	y = op_attention(g, &(struct attention){ q, k, v, .heads = s->heads, .scale = (float)s->attention_scale });
	m = op_add(g, m, linear(b, "layers.message.o", y, h, h, true)); // [batch, frames, hidden]
	graph_leave(g);
	return op_concat(g, 2, (graph_value[]){ x, op_reshape(g, m, 3, (int64_t[]){ -1, 1, h }) }, 1);
}

static graph_value vision_layer(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t tokens = value_dim(g, x, 1);
	graph_value y = with_message(b, x);
	graph_enter(g, "attn");
	y = layer_norm(b, "layers.attn.norm", y, s->hidden_size);
	y = self_attention(b, y, NO_VALUE, NO_VALUE, NO_VALUE, true, true, NULL);
	x = op_add(g, x, op_slice(g, y, 1, 0, tokens));
	graph_leave(g);
	graph_enter(g, "ffn");
	y = prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, s->hidden_size));
	x = op_add(g, x, y);
	graph_leave(g);
	return x;
}

// pixels [batch * frames, channels, size, size]
static void body_vision(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x = layer_norm(b, "embed.norm", clip_patches(b, io->pixels), s->hidden_size);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = vision_layer(b, x);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
	io->pooled = layer_norm(b, "norm", first_token(b, x), s->hidden_size);
}

static void build_vision(struct build *b)
{
	struct body io = { 0 };
	vision_tower_inputs(b, &io, "batch");
	body_vision(b, &io);
	head_build(b, &io);
}

static const struct family_head vision_heads[] = { { &head_model }, { 0 } };

const struct family xclip_vision = {
	.name = "video-tower",
	.architecture = "vision",
	.resolve = resolve_vision,
	.build = build_vision,
	.body = body_vision,
	.heads = vision_heads,
};

// ---- the whole ----------------------------------------------------------------------------------------------------------

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	dual_resolve_towers(c, s, a);
	if (c->error.status)
		return;
	const struct spec *text = part_of(s, "text"), *mit = part_of(part_of(s, "vision"), "encoder");
	s->hidden_size = config_size(c, "projection_dim", -1);
	s->layers = s->layers_in_config = config_count(c, "prompt_layers", -1);
	s->heads = s->kv_heads = config_size(c, "prompt_num_attention_heads", -1);
	s->act = config_activation(c, "prompt_hidden_act", ACT_QUICK_GELU);
	s->ffn_size = 4 * s->hidden_size;
	s->norm_eps = text->norm_eps; // the prompt layers'
	if (c->error.status)
		return;
	if (s->heads < 1 || s->hidden_size < 1 || s->hidden_size % s->heads || s->hidden_size != mit->hidden_size) {
		config_fail(c, STATUS_BAD_INPUT, "projection_dim %lld should divide into %lld heads and be mit_hidden_size, %lld",
			(long long)s->hidden_size, (long long)s->heads, (long long)mit->hidden_size);
		return;
	}
	s->head_width = s->hidden_size / s->heads;
	s->attention_scale = 1 / sqrt((double)s->head_width);
}

// What the frames are together: frames [batch, frames, projection] -> [batch, projection]
static graph_value integrate(struct build *b, graph_value frames)
{
	struct graph *g = b->g;
	const struct spec *outer = part_enter(b, "vision"), *vision = part_enter(b, "encoder"), *mit = b->s;
	struct body io = { 0 };
	graph_enter(g, "mit");
	graph_value x = op_add(g, frames, WEIGHT(b, "mit.position", "", 1, frame_count(mit), mit->hidden_size));
	prenorm_layers(b, &io, x, NO_VALUE);
	x = op_reduce_mean(g, op_add(g, io.last, frames), 1, false);
	graph_leave(g);
	part_leave(b, vision);
	part_leave(b, outer);
	return x;
}

// text [batch, texts, width], seen [batch, patches, width] -> [batch, texts, width]
static graph_value prompt(struct build *b, graph_value text, graph_value seen)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value x = text;
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "prompt.%lld", (long long)b->layer);
		graph_value q = linear(b, "layers.attn.q", layer_norm(b, "layers.attn.norm", x, h), h, h, false);
		graph_value k = linear(b, "layers.attn.k", seen, h, h, false), v = linear(b, "layers.attn.v", seen, h, h, false);
		graph_value y =
			op_attention(g, &(struct attention){ q, k, v, .heads = s->heads, .scale = (float)s->attention_scale });
		x = op_add(g, x, linear(b, "layers.attn.o", y, h, h, true));
		x = op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h)));
		graph_leave(g);
	}
	return op_add(g, text, op_mul(g, x, WEIGHT(b, "prompt.scale", "", h)));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	int64_t frames = frame_count(tower), h = s->hidden_size, wide = tower->hidden_size, size = tower->image_size;
	struct body text = { 0 }, vision = { 0 };
	text_tower_inputs(b, &text);
	graph_value pixels = graph_input(g, "pixel_values", DTYPE_F32, 5,
		(int64_t[]){ graph_symbol(g, "image_batch"), frames, tower->channels, size, size });
	vision.pixels = op_reshape(g, pixels, 4, (int64_t[]){ -1, tower->channels, size, size });
	graph_enter(g, "vision");
	const struct spec *outer = part_enter(b, "vision");
	tower->row->family->body(b, &vision); // [batch * frames, tokens, wide]
	part_leave(b, outer);
	graph_leave(g);
	graph_enter(g, "text");
	outer = part_enter(b, "text");
	b->s->row->family->body(b, &text); // [texts, seq, hidden]
	part_leave(b, outer);
	graph_leave(g);

	graph_enter(g, "head");
	graph_value video =
		op_reshape(g, linear(b, "head.vision", vision.pooled, wide, h, false), 3, (int64_t[]){ -1, frames, h });
	video = integrate(b, video); // [batch, width]
	graph_value seen =
		op_layer_norm(g, op_slice(g, vision.last, 1, 1, INT64_MAX), WEIGHT(b, "prompt.visual.norm", "weight", wide),
			WEIGHT(b, "prompt.visual.norm", "bias", wide), (float)tower->norm_eps);
	seen = op_matmul(g, seen, WEIGHT(b, "prompt.visual", "", wide, h)); // [batch * frames, patches, width]
	seen = op_reduce_mean(g, op_reshape(g, seen, 4, (int64_t[]){ -1, frames, value_dim(g, seen, 1), h }), 1, false);
	seen = op_layer_norm(
		g, seen, WEIGHT(b, "prompt.norm", "weight", h), WEIGHT(b, "prompt.norm", "bias", h), (float)tower->norm_eps);
	graph_value texts = op_unsqueeze(
		g, linear(b, "head.text", text.pooled, part_of(s, "text")->hidden_size, h, false), 0); // [1, texts, width]
	graph_value shape = op_concat(
		g, 3, (graph_value[]){ op_dim(g, pixels, 0), op_dim(g, text.ids, 0), graph_i64s(g, 1, (int64_t[]){ h }) }, 0);
	texts = prompt(b, op_expand(g, texts, shape), seen); // [batch, texts, width]
	video = unit_length(b, video);
	texts = unit_length(b, texts);
	graph_value scale = op_exp(g, weight(b, "head.logit_scale", "", 0, (int64_t[]){ 0 }));
	graph_value logits = op_squeeze(g, op_matmul(g, op_mul(g, texts, scale), op_unsqueeze(g, video, 2)), 2); // [batch, texts]
	graph_leave(g);
	graph_output(g, "logits_per_video", logits);
	graph_output(g, "logits_per_text", op_transpose(g, logits, 2, (int[]){ 1, 0 }));
	graph_output(g, "text_embeds", texts);
	graph_output(g, "video_embeds", video);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family xclip = {
	.name = "dual-video",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
