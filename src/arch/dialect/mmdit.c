// SPDX-License-Identifier: Apache-2.0
// Names of diffusers' transformers of pictures beside texts; $ is a list of layers.
#include "arch/dialect.h"

#define IN_BLOCK "transformer_blocks.#."
#define ATTENTION \
	{ "picture.q", IN_BLOCK "attn.to_q" }, { "picture.k", IN_BLOCK "attn.to_k" }, { "picture.v", IN_BLOCK "attn.to_v" }, \
		{ "picture.o", IN_BLOCK "attn.to_out.0" }, { "picture.q.norm", IN_BLOCK "attn.norm_q" }, \
		{ "picture.k.norm", IN_BLOCK "attn.norm_k" }, { "text.q", IN_BLOCK "attn.add_q_proj" }, \
		{ "text.k", IN_BLOCK "attn.add_k_proj" }, { "text.v", IN_BLOCK "attn.add_v_proj" }, \
		{ "text.o", IN_BLOCK "attn.to_add_out" }, { "text.q.norm", IN_BLOCK "attn.norm_added_q" }, \
	{ \
		"text.k.norm", IN_BLOCK "attn.norm_added_k" \
	}
#define FEED_FORWARD \
	{ "picture.up", IN_BLOCK "ff.net.0.proj" }, { "picture.down", IN_BLOCK "ff.net.2" }, \
		{ "text.up", IN_BLOCK "ff_context.net.0.proj" }, \
	{ \
		"text.down", IN_BLOCK "ff_context.net.2" \
	}
#define MODULATION \
	{ "picture.modulation", IN_BLOCK "norm1.linear" }, \
	{ \
		"text.modulation", IN_BLOCK "norm1_context.linear" \
	}
#define TIME \
	{ "time.1", "time_text_embed.timestep_embedder.linear_1" }, { "time.2", "time_text_embed.timestep_embedder.linear_2" }, \
		{ "out.modulation", "norm_out.linear" }, \
	{ \
		"out", "proj_out" \
	}
#define POOLED \
	{ "pooled.1", "time_text_embed.text_embedder.linear_1" }, \
	{ \
		"pooled.2", "time_text_embed.text_embedder.linear_2" \
	}
#define IN_SINGLE "single_transformer_blocks.#."
#define SINGLE \
	{ "single.q", IN_SINGLE "attn.to_q" }, { "single.k", IN_SINGLE "attn.to_k" }, { "single.v", IN_SINGLE "attn.to_v" }, \
		{ "single.q.norm", IN_SINGLE "attn.norm_q" }, { "single.k.norm", IN_SINGLE "attn.norm_k" }, \
		{ "single.modulation", IN_SINGLE "norm.linear" }, { "single.up", IN_SINGLE "proj_mlp" }, \
	{ \
		"single.out", IN_SINGLE "proj_out" \
	}

const struct dialect sd3_names = {
	.name = "sd3",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION, FEED_FORWARD, MODULATION, TIME, POOLED, { "picture.in", "pos_embed.proj" },
		{ "positions", "pos_embed.pos_embed" }, { "text.in", "context_embedder" }, { "alone.q", IN_BLOCK "attn2.to_q" },
		{ "alone.k", IN_BLOCK "attn2.to_k" }, { "alone.v", IN_BLOCK "attn2.to_v" },
		{ "alone.o", IN_BLOCK "attn2.to_out.0" }, { "alone.q.norm", IN_BLOCK "attn2.norm_q" },
		{ "alone.k.norm", IN_BLOCK "attn2.norm_k" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED(NULL),
};

const struct dialect flux_names = {
	.name = "flux",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION, FEED_FORWARD, MODULATION, TIME, POOLED, SINGLE, { "picture.in", "x_embedder" },
		{ "text.in", "context_embedder" }, { "guidance.1", "time_text_embed.guidance_embedder.linear_1" },
		{ "guidance.2", "time_text_embed.guidance_embedder.linear_2" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED(NULL),
};

const struct dialect chroma_names = {
	.name = "chroma",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION, FEED_FORWARD, SINGLE, { "picture.in", "x_embedder" }, { "text.in", "context_embedder" },
		{ "distilled.in", "distilled_guidance_layer.in_proj" }, { "distilled.out", "distilled_guidance_layer.out_proj" },
		{ "distilled.norm", "distilled_guidance_layer.norms.#" },
		{ "distilled.1", "distilled_guidance_layer.layers.#.linear_1" },
		{ "distilled.2", "distilled_guidance_layer.layers.#.linear_2" }, { "out", "proj_out" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED(NULL),
};

const struct dialect qwen_image_names = {
	.name = "qwen_image",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION, TIME, { "picture.in", "img_in" }, { "text.in", "txt_in" }, { "text.norm", "txt_norm" },
		{ "picture.modulation", IN_BLOCK "img_mod.1" }, { "text.modulation", IN_BLOCK "txt_mod.1" },
		{ "picture.up", IN_BLOCK "img_mlp.net.0.proj" }, { "picture.down", IN_BLOCK "img_mlp.net.2" },
		{ "text.up", IN_BLOCK "txt_mlp.net.0.proj" }, { "text.down", IN_BLOCK "txt_mlp.net.2" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED(
		"guidance_embeds", "pooled_projection_dim"), // the second is in published files, the class has no such key
};

const struct dialect lumina_names = {
	.name = "lumina",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "time.1", "time_caption_embed.timestep_embedder.linear_1" },
		{ "time.2", "time_caption_embed.timestep_embedder.linear_2" },
		{ "text.norm", "time_caption_embed.caption_embedder.0" }, { "text.in", "time_caption_embed.caption_embedder.1" },
		{ "patches.in", "x_embedder" }, { "q", "$.#.attn.to_q" }, { "k", "$.#.attn.to_k" }, { "v", "$.#.attn.to_v" },
		{ "o", "$.#.attn.to_out.0" }, { "q.norm", "$.#.attn.norm_q" }, { "k.norm", "$.#.attn.norm_k" },
		{ "ffn.gate", "$.#.feed_forward.linear_1" }, { "ffn.down", "$.#.feed_forward.linear_2" },
		{ "ffn.up", "$.#.feed_forward.linear_3" }, { "norm.1", "$.#.norm1" }, { "norm.1.modulated", "$.#.norm1.norm" },
		{ "modulation", "$.#.norm1.linear" }, { "norm.2", "$.#.norm2" }, { "ffn.norm.1", "$.#.ffn_norm1" },
		{ "ffn.norm.2", "$.#.ffn_norm2" }, { "out.modulation", "norm_out.linear_1" }, { "out", "norm_out.linear_2" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("scaling_factor", "axes_lens"), // how long the class makes tables of angles
};
