// SPDX-License-Identifier: Apache-2.0
// Names of diffusers' models; $ is a block as the family names it.
#include "arch/dialect.h"

#define RESIDUAL \
	{ "residual.norm.1", "$.resnets.#.norm1" }, { "residual.conv.1", "$.resnets.#.conv1" }, \
		{ "residual.time", "$.resnets.#.time_emb_proj" }, { "residual.norm.2", "$.resnets.#.norm2" }, \
		{ "residual.conv.2", "$.resnets.#.conv2" }, { "residual.shortcut", "$.resnets.#.conv_shortcut" }, \
		{ "down", "$.downsamplers.0.conv" }, \
	{ \
		"up", "$.upsamplers.0.conv" \
	}
// Older files call queries, keys and values so.
#define PLACES \
	{ "places.norm", "$.attentions.#.group_norm" }, { "places.q", "$.attentions.#.to_q" }, \
		{ "places.k", "$.attentions.#.to_k" }, { "places.v", "$.attentions.#.to_v" }, \
		{ "places.o", "$.attentions.#.to_out.0" }, { "places.q", "$.attentions.#.query" }, \
		{ "places.k", "$.attentions.#.key" }, { "places.v", "$.attentions.#.value" }, \
	{ \
		"places.o", "$.attentions.#.proj_attn" \
	}

// Latents are scaled by the pipeline, not by the model.
#define OF_PIPELINES "scaling_factor", "shift_factor", "latents_mean", "latents_std", "force_upcast"

const struct dialect autoencoder_kl_names = {
	.name = "autoencoder_kl",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(RESIDUAL, PLACES, { "in", "$.conv_in" }, { "out.norm", "$.conv_norm_out" }, { "out", "$.conv_out" },
		{ "quant", "quant_conv" }, { "post_quant", "post_quant_conv" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED(OF_PIPELINES),
};

const struct dialect autoencoder_tiny_names = {
	.name = "autoencoder_tiny",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "tiny.conv", "$.layers.#" }, { "tiny.1", "$.layers.#.conv.0" }, { "tiny.2", "$.layers.#.conv.2" },
		{ "tiny.3", "$.layers.#.conv.4" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED(OF_PIPELINES, "block_out_channels", "latent_magnitude", "latent_shift"),
};

const struct dialect autoencoder_dc_names = {
	.name = "autoencoder_dc",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "in", "$.conv_in" }, { "in.half", "$.conv_in.conv" }, { "resize", "$.#.conv" },
		{ "convolve.1", "$.#.conv1" }, { "convolve.2", "$.#.conv2" }, { "convolve.norm", "$.#.norm" },
		{ "attention.q", "$.#.attn.to_q" }, { "attention.k", "$.#.attn.to_k" }, { "attention.v", "$.#.attn.to_v" },
		{ "attention.in", "$.#.attn.to_qkv_multiscale.*.proj_in" },
		{ "attention.out", "$.#.attn.to_qkv_multiscale.*.proj_out" }, { "attention.o", "$.#.attn.to_out" },
		{ "attention.norm", "$.#.attn.norm_out" }, { "ffn.up", "$.#.conv_out.conv_inverted" },
		{ "ffn.depth", "$.#.conv_out.conv_depth" }, { "ffn.down", "$.#.conv_out.conv_point" },
		{ "ffn.norm", "$.#.conv_out.norm" }, { "out.norm", "$.norm_out" }, { "out", "$.conv_out" },
		{ "out.double", "$.conv_out.conv" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED(OF_PIPELINES),
};

// Of both kinds of network over a map, and of what steers one.
#define UNET \
	RESIDUAL, { "in", "conv_in" }, { "time.1", "time_embedding.linear_1" }, { "time.2", "time_embedding.linear_2" }, \
		{ "out.norm", "conv_norm_out" }, \
	{ \
		"out", "conv_out" \
	}
#define TEXT \
	{ "text.norm", "$.attentions.#.norm" }, { "text.in", "$.attentions.#.proj_in" }, \
		{ "text.out", "$.attentions.#.proj_out" }, { "text.norm.1", TEXT_BLOCK "norm1" }, \
		{ "text.norm.2", TEXT_BLOCK "norm2" }, { "text.norm.3", TEXT_BLOCK "norm3" }, \
		{ "text.self.q", TEXT_BLOCK "attn1.to_q" }, { "text.self.k", TEXT_BLOCK "attn1.to_k" }, \
		{ "text.self.v", TEXT_BLOCK "attn1.to_v" }, { "text.self.o", TEXT_BLOCK "attn1.to_out.0" }, \
		{ "text.cross.q", TEXT_BLOCK "attn2.to_q" }, { "text.cross.k", TEXT_BLOCK "attn2.to_k" }, \
		{ "text.cross.v", TEXT_BLOCK "attn2.to_v" }, { "text.cross.o", TEXT_BLOCK "attn2.to_out.0" }, \
		{ "text.ffn.up", TEXT_BLOCK "ff.net.0.proj" }, \
	{ \
		"text.ffn.down", TEXT_BLOCK "ff.net.2" \
	}
#define TEXT_BLOCK "$.attentions.#.transformer_blocks.*."
#define ADDED \
	{ "added.1", "add_embedding.linear_1" }, \
	{ \
		"added.2", "add_embedding.linear_2" \
	}

const struct dialect unet_names = {
	.name = "unet",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(UNET, TEXT, ADDED, { "time.condition", "time_embedding.cond_proj" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("upcast_attention", "addition_embed_type_num_heads"),
};

const struct dialect controlnet_names = {
	.name = "controlnet",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(UNET, TEXT, ADDED, { "condition.in", "controlnet_cond_embedding.conv_in" },
		{ "condition.block", "controlnet_cond_embedding.blocks.#" },
		{ "condition.out", "controlnet_cond_embedding.conv_out" }, { "control", "controlnet_down_blocks.#" },
		{ "control.middle", "controlnet_mid_block" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("upcast_attention", "addition_embed_type_num_heads"),
};

const struct dialect unet_plain_names = {
	.name = "unet_plain",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(UNET, PLACES),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("num_train_timesteps"),
};
