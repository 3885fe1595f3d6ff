// SPDX-License-Identifier: Apache-2.0
// What checkpoints of convolution networks call things.
#include "arch/dialect.h"

#define RESNET_WEIGHTS \
	WEIGHTS({ "stem.conv", "@embedder.embedder.convolution" }, { "stem.norm", "@embedder.embedder.normalization" }, \
		{ "layers.conv", "@encoder.stages.#.layers.#.layer.#.convolution" }, \
		{ "layers.norm", "@encoder.stages.#.layers.#.layer.#.normalization" }, \
		{ "layers.gate.down", "@encoder.stages.#.layers.#.layer.2.attention.0" }, \
		{ "layers.gate.up", "@encoder.stages.#.layers.#.layer.2.attention.2" }, \
		{ "layers.shortcut", "@encoder.stages.#.layers.#.shortcut.convolution" }, \
		{ "layers.shortcut.norm", "@encoder.stages.#.layers.#.shortcut.normalization" }, \
		{ "head.image", "classifier.1" })

const struct dialect resnet_names = { .name = "resnet",
	.prefix = "resnet.",
	.keys = NO_KEYS,
	.weights = RESNET_WEIGHTS,
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", "is_encoder_decoder") };
const struct dialect regnet_names = { .name = "regnet",
	.prefix = "regnet.",
	.keys = NO_KEYS,
	.weights = RESNET_WEIGHTS,
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", "is_encoder_decoder") };

const struct dialect rt_detr_resnet_names = {
	.name = "rt_detr_resnet",
	.prefix = "",
	.keys = NO_KEYS,
	.weights =
		WEIGHTS({ "stem.conv", "embedder.embedder.#.convolution" }, { "stem.norm", "embedder.embedder.#.normalization" },
			{ "layers.conv", "encoder.stages.#.layers.#.layer.#.convolution" },
			{ "layers.norm", "encoder.stages.#.layers.#.layer.#.normalization" },
			{ "layers.shortcut", "encoder.stages.#.layers.#.shortcut.convolution" },
			{ "layers.shortcut.norm", "encoder.stages.#.layers.#.shortcut.normalization" },
			{ "layers.shortcut.mean", "encoder.stages.#.layers.#.shortcut.1.convolution" },
			{ "layers.shortcut.mean.norm", "encoder.stages.#.layers.#.shortcut.1.normalization" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", "is_encoder_decoder"),
};

const struct dialect resnet_timm_names = {
	.name = "resnet-timm",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.conv", "conv1" }, { "stem.norm", "bn1" }, { "layers.conv", "layer#.#.conv#" },
		{ "layers.norm", "layer#.#.bn#" }, { "layers.shortcut", "layer#.#.downsample.0" },
		{ "layers.shortcut.norm", "layer#.#.downsample.1" }),
	.ignored = IGNORED("*.num_batches_tracked", "fc.*"),
	.inert = IGNORED("use_pretrained_backbone", "freeze_batch_norm_2d", "stage_names", "is_encoder_decoder"),
};

// The lengths and names of other keys, and the size of images, which may be any.
#define OTHER_COUNTS "num_stages", "num_hidden_layers", "image_size", "stage_names", "is_encoder_decoder"

#define CONVNEXT(word, start) \
	const struct dialect word##_names = { \
		.name = #word, \
		.prefix = start, \
		.keys = NO_KEYS, \
		.weights = WEIGHTS({ "stem.conv", "@embeddings.patch_embeddings" }, { "stem.norm", "@embeddings.layernorm" }, \
			{ "down.norm", "@encoder.stages.#.downsampling_layer.0" }, \
			{ "down.conv", "@encoder.stages.#.downsampling_layer.1" }, \
			{ "layers.conv", "@encoder.stages.#.layers.#.dwconv" }, \
			{ "layers.norm", "@encoder.stages.#.layers.#.layernorm" }, \
			{ "layers.up", "@encoder.stages.#.layers.#.pwconv1" }, \
			{ "layers.response", "@encoder.stages.#.layers.#.grn" }, \
			{ "layers.down", "@encoder.stages.#.layers.#.pwconv2" }, \
			{ "layers.scale", "@encoder.stages.#.layers.#.layer_scale_parameter" }, { "norm", "@layernorm" }, \
			{ "features.norm", "hidden_states_norms.stage#" }, { "features.norm.stem", "hidden_states_norms.stem" }, \
			{ "head.image", "classifier" }), \
		.ignored = IGNORED("*.num_batches_tracked"), \
		.inert = IGNORED(OTHER_COUNTS), \
	}
CONVNEXT(convnext, "convnext.");
CONVNEXT(convnextv2, "convnextv2.");

const struct dialect dinov3_convnext_names = {
	.name = "dinov3_convnext",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.conv", "@stages.0.downsample_layers.0" }, { "stem.norm", "@stages.0.downsample_layers.1" },
		{ "down.norm", "@stages.#.downsample_layers.0" }, { "down.conv", "@stages.#.downsample_layers.1" },
		{ "layers.conv", "@stages.#.layers.#.depthwise_conv" }, { "layers.norm", "@stages.#.layers.#.layer_norm" },
		{ "layers.up", "@stages.#.layers.#.pointwise_conv1" }, { "layers.down", "@stages.#.layers.#.pointwise_conv2" },
		{ "layers.scale", "@stages.#.layers.#.gamma" }, { "norm", "layer_norm" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED(OTHER_COUNTS),
};

#define STEP(canonical, file) \
	{ canonical ".conv", file ".convolution" }, \
	{ \
		canonical ".norm", file ".normalization" \
	}

const struct dialect mobilenet_v1_names = {
	.name = "mobilenet_v1",
	.prefix = "mobilenet_v1.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(STEP("stem", "@conv_stem"), STEP("layers", "@layer.#"), { "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "semantic_loss_ignore_index"),
};

const struct dialect mobilenet_v2_names = {
	.name = "mobilenet_v2",
	.prefix = "mobilenet_v2.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(STEP("stem.first", "@conv_stem.first_conv"), STEP("stem.wide", "@conv_stem.expand_1x1"),
		STEP("stem.middle", "@conv_stem.conv_3x3"), STEP("stem.narrow", "@conv_stem.reduce_1x1"),
		STEP("layers.wide", "@layer.#.expand_1x1"), STEP("layers.middle", "@layer.#.conv_3x3"),
		STEP("layers.narrow", "@layer.#.reduce_1x1"), STEP("last", "@conv_1x1"), { "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "semantic_loss_ignore_index"),
};

const struct dialect segformer_names = {
	.name = "segformer",
	.prefix = "segformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "patch", "@encoder.patch_embeddings.#.proj" },
		{ "patch.norm", "@encoder.patch_embeddings.#.layer_norm" },
		{ "layers.attn.norm", "@encoder.block.#.#.layer_norm_1" },
		{ "layers.attn.q", "@encoder.block.#.#.attention.self.query" },
		{ "layers.attn.k", "@encoder.block.#.#.attention.self.key" },
		{ "layers.attn.v", "@encoder.block.#.#.attention.self.value" },
		{ "layers.attn.o", "@encoder.block.#.#.attention.output.dense" },
		{ "layers.reduce", "@encoder.block.#.#.attention.self.sr" },
		{ "layers.reduce.norm", "@encoder.block.#.#.attention.self.layer_norm" },
		{ "layers.ffn.norm", "@encoder.block.#.#.layer_norm_2" }, { "layers.ffn.up", "@encoder.block.#.#.mlp.dense1" },
		{ "layers.ffn.conv", "@encoder.block.#.#.mlp.dwconv.dwconv" },
		{ "layers.ffn.down", "@encoder.block.#.#.mlp.dense2" }, { "norm", "@encoder.layer_norm.#" },
		{ "head.each", "decode_head.linear_c.#.proj" }, { "head.fuse", "decode_head.linear_fuse" },
		{ "head.norm", "decode_head.batch_norm" }, { "head.classes", "decode_head.classifier" },
		{ "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "semantic_loss_ignore_index", "layer_norm_eps", "downsampling_rates"),
};

const struct dialect poolformer_names = {
	.name = "poolformer",
	.prefix = "poolformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "patch", "@encoder.patch_embeddings.#.projection" },
		{ "layers.pool.norm", "@encoder.block.#.#.before_norm" },
		{ "layers.pool.scale", "@encoder.block.#.#.layer_scale_1" },
		{ "layers.ffn.norm", "@encoder.block.#.#.after_norm" }, { "layers.ffn.up", "@encoder.block.#.#.output.conv1" },
		{ "layers.ffn.down", "@encoder.block.#.#.output.conv2" },
		{ "layers.ffn.scale", "@encoder.block.#.#.layer_scale_2" }, { "head.norm", "norm" },
		{ "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "patch_size", "stride", "layer_scale_init_value"),
};
