// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the windowed families call things.
#include "arch/dialect.h"

#define SWIN_BODY \
	{ "embed.patch", "@embeddings.patch_embeddings.projection" }, { "embed.norm", "@embeddings.norm" }, \
		{ "embed.position", "@embeddings.position_embeddings" }, \
		{ "windows.attn.norm", "@encoder.layers.#.blocks.#.layernorm_before" }, \
		{ "windows.attn.q", "@encoder.layers.#.blocks.#.attention.self.query" }, \
		{ "windows.attn.k", "@encoder.layers.#.blocks.#.attention.self.key" }, \
		{ "windows.attn.v", "@encoder.layers.#.blocks.#.attention.self.value" }, \
		{ "windows.attn.o", "@encoder.layers.#.blocks.#.attention.output.dense" }, \
		{ "windows.attn.table", "@encoder.layers.#.blocks.#.attention.self.relative_position_bias_table" }, \
		{ "windows.ffn.norm", "@encoder.layers.#.blocks.#.layernorm_after" }, \
		{ "windows.ffn.up", "@encoder.layers.#.blocks.#.intermediate.dense" }, \
		{ "windows.ffn.down", "@encoder.layers.#.blocks.#.output.dense" }, \
		{ "windows.merge", "@encoder.layers.#.downsample.reduction" }, \
		{ "windows.merge.norm", "@encoder.layers.#.downsample.norm" }, { "norm", "@layernorm" }, \
	{ \
		"head.image", "classifier" \
	}

#define SWIN_LEFT "*relative_position_index", "*relative_coords_table", "*embeddings.mask_token", "decoder.*"

const struct dialect swin_names = {
	.name = "swin",
	.prefix = "swin.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SWIN_BODY, { "head.pixels", "decoder.0" }, { "windows.out_stem", "hidden_states_norms.stem" },
		{ "windows.out", "hidden_states_norms.stage#" }),
	.ignored = IGNORED(SWIN_LEFT, "hidden_states_norms.*", "*layernorm.*"),
	.inert = IGNORED("num_layers", "hidden_size", "stage_names"),
};

const struct dialect donut_swin_names = {
	.name = "donut-swin",
	.keeps_buffers = true,
	.prefix = "donut.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SWIN_BODY),
	.ignored = IGNORED(SWIN_LEFT),
	.inert = IGNORED("num_layers", "hidden_size", "stage_names"),
};

const struct dialect maskformer_swin_names = {
	.name = "maskformer-swin",
	.keeps_buffers = true,
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SWIN_BODY, { "windows.out", "hidden_states_norms.#" }),
	.ignored = IGNORED(SWIN_LEFT, "hidden_states_norms.*", "*layernorm.*"),
	.inert = IGNORED("num_layers", "hidden_size", "stage_names"),
};

const struct dialect swinv2_names = {
	.name = "swinv2",
	.prefix = "swinv2.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SWIN_BODY, { "head.pixels", "decoder.0" },
		{ "windows.attn.scale", "@encoder.layers.#.blocks.#.attention.self.logit_scale" },
		{ "windows.attn.mlp.0", "@encoder.layers.#.blocks.#.attention.self.continuous_position_bias_mlp.0" },
		{ "windows.attn.mlp.2", "@encoder.layers.#.blocks.#.attention.self.continuous_position_bias_mlp.2" }),
	.ignored = IGNORED(SWIN_LEFT),
	.inert = IGNORED("num_layers", "hidden_size", "stage_names"),
};

const struct dialect hiera_names = {
	.name = "hiera",
	.prefix = "hiera.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "@embeddings.patch_embeddings.projection" },
		{ "embed.position", "@embeddings.position_embeddings" },
		{ "layers.attn.norm", "@encoder.stages.#.layers.#.layernorm_before" },
		{ "layers.attn.qkv", "@encoder.stages.#.layers.#.attn.qkv" },
		{ "layers.attn.o", "@encoder.stages.#.layers.#.attn.proj" },
		{ "layers.project", "@encoder.stages.#.layers.#.proj" },
		{ "layers.ffn.norm", "@encoder.stages.#.layers.#.layernorm_after" },
		{ "layers.ffn.up", "@encoder.stages.#.layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@encoder.stages.#.layers.#.mlp.fc2" }, { "norm", "@pooler.layernorm" },
		{ "out.stem", "hidden_states_norms.stem" }, { "out.stage", "hidden_states_norms.stage#" },
		{ "head.image", "classifier" }),
	.ignored = IGNORED("*pooler.layernorm.*", "hidden_states_norms.*"),
	.inert = IGNORED("is_encoder_decoder", "hidden_size", "stage_names", "num_layers", "layer_norm_init", "mask_ratio",
		"normalize_pixel_loss", "decoder_hidden_size", "decoder_depth", "decoder_num_heads"),
};

#define SWIN2SR_LAYER "@encoder.stages.#.layers.#."
const struct dialect swin2sr_names = {
	.name = "swin2sr",
	.prefix = "swin2sr.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.conv", "@first_convolution" }, { "embed.patch", "@embeddings.patch_embeddings.projection" },
		{ "embed.norm", "@embeddings.patch_embeddings.layernorm" },
		{ "windows.attn.norm", SWIN2SR_LAYER "layernorm_before" },
		{ "windows.attn.q", SWIN2SR_LAYER "attention.self.query" },
		{ "windows.attn.k", SWIN2SR_LAYER "attention.self.key" },
		{ "windows.attn.v", SWIN2SR_LAYER "attention.self.value" },
		{ "windows.attn.o", SWIN2SR_LAYER "attention.output.dense" },
		{ "windows.attn.scale", SWIN2SR_LAYER "attention.self.logit_scale" },
		{ "windows.attn.mlp.0", SWIN2SR_LAYER "attention.self.continuous_position_bias_mlp.0" },
		{ "windows.attn.mlp.2", SWIN2SR_LAYER "attention.self.continuous_position_bias_mlp.2" },
		{ "windows.ffn.norm", SWIN2SR_LAYER "layernorm_after" }, { "windows.ffn.up", SWIN2SR_LAYER "intermediate.dense" },
		{ "windows.ffn.down", SWIN2SR_LAYER "output.dense" }, { "stages.conv", "@encoder.stages.#.conv" },
		{ "stages.convs", "@encoder.stages.#.conv.#" }, { "stages.patch", "@encoder.stages.#.patch_embed.projection" },
		{ "norm", "@layernorm" }, { "after", "@conv_after_body" }, { "head.before", "upsample.conv_before_upsample" },
		{ "head.twice", "upsample.upsample.convolution_#" }, { "head.thrice", "upsample.upsample.convolution" },
		{ "head.direct", "upsample.conv" }, { "head.cubic", "upsample.conv_bicubic" },
		{ "head.aux", "upsample.conv_aux" }, { "head.after_aux", "upsample.conv_after_aux.0" },
		{ "head.up", "upsample.conv_up#" }, { "head.fine", "upsample.conv_hr" },
		{ "head.last", "upsample.final_convolution" }, { "head.residual", "final_convolution" }),
	.ignored = IGNORED("*relative_position_index", "*relative_coords_table", "upsample.*", "final_convolution.*", "*.mean"),
	.inert = IGNORED("num_layers", "hidden_size"),
};

#define NAT_LAYER "@encoder.levels.#.layers.#."
#define NAT_BODY \
	{ "embed.0", "@embeddings.patch_embeddings.projection.0" }, { "embed.1", "@embeddings.patch_embeddings.projection.1" }, \
		{ "embed.norm", "@embeddings.norm" }, { "layers.scale", NAT_LAYER "layer_scale_parameters" }, \
		{ "layers.attn.norm", NAT_LAYER "layernorm_before" }, { "layers.attn.q", NAT_LAYER "attention.self.query" }, \
		{ "layers.attn.k", NAT_LAYER "attention.self.key" }, { "layers.attn.v", NAT_LAYER "attention.self.value" }, \
		{ "layers.attn.bias", NAT_LAYER "attention.self.rpb" }, { "layers.attn.o", NAT_LAYER "attention.output.dense" }, \
		{ "layers.ffn.norm", NAT_LAYER "layernorm_after" }, { "layers.ffn.up", NAT_LAYER "intermediate.dense" }, \
		{ "layers.ffn.down", NAT_LAYER "output.dense" }, { "down", "@encoder.levels.#.downsample.reduction" }, \
		{ "down.norm", "@encoder.levels.#.downsample.norm" }, { "norm", "@layernorm" }, \
		{ "out.stem", "hidden_states_norms.stem" }, { "out.stage", "hidden_states_norms.stage#" }, \
	{ \
		"head.image", "classifier" \
	}
#define NAT_INERT "hidden_size", "num_layers", "stage_names"

const struct dialect nat_names = {
	.name = "nat",
	.prefix = "nat.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(NAT_BODY),
	.ignored = IGNORED("hidden_states_norms.*", "*layernorm.*"),
	.inert = IGNORED(NAT_INERT),
};

const struct dialect dinat_names = {
	.name = "dinat",
	.prefix = "dinat.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(NAT_BODY),
	.ignored = IGNORED("hidden_states_norms.*", "*layernorm.*"),
	.inert = IGNORED(NAT_INERT),
};
