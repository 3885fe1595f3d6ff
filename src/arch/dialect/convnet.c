// SPDX-License-Identifier: Apache-2.0
// What checkpoints of convolution networks call things.
#include "arch/dialect.h"

#define RESNET_WEIGHTS WEIGHTS(                                                          \
	{ "stem.conv", "@embedder.embedder.convolution" },                               \
	{ "stem.norm", "@embedder.embedder.normalization" },                             \
	{ "layers.conv", "@encoder.stages.#.layers.#.layer.#.convolution" },             \
	{ "layers.norm", "@encoder.stages.#.layers.#.layer.#.normalization" },           \
	{ "layers.gate.down", "@encoder.stages.#.layers.#.layer.2.attention.0" },        \
	{ "layers.gate.up", "@encoder.stages.#.layers.#.layer.2.attention.2" },          \
	{ "layers.shortcut", "@encoder.stages.#.layers.#.shortcut.convolution" },        \
	{ "layers.shortcut.norm", "@encoder.stages.#.layers.#.shortcut.normalization" }, \
	{ "head.image", "classifier.1" })

const struct dialect resnet_names = { .name = "resnet", .prefix = "resnet.", .keys = NO_KEYS, .weights = RESNET_WEIGHTS, .ignored = IGNORED("*.num_batches_tracked") };
const struct dialect regnet_names = { .name = "regnet", .prefix = "regnet.", .keys = NO_KEYS, .weights = RESNET_WEIGHTS, .ignored = IGNORED("*.num_batches_tracked") };

const struct dialect resnet_timm_names = {
	.name = "resnet-timm", .prefix = "", .keys = NO_KEYS,
	.weights = WEIGHTS(
		{ "stem.conv", "conv1" },
		{ "stem.norm", "bn1" },
		{ "layers.conv", "layer#.#.conv#" },
		{ "layers.norm", "layer#.#.bn#" },
		{ "layers.shortcut", "layer#.#.downsample.0" },
		{ "layers.shortcut.norm", "layer#.#.downsample.1" }),
	.ignored = IGNORED("*.num_batches_tracked", "fc.*"),
};

#define CONVNEXT(word, start)                                                                                  \
	const struct dialect word##_names = {                                                                  \
		.name = #word, .prefix = start, .keys = NO_KEYS,                                               \
		.weights = WEIGHTS(                                                                            \
			{ "stem.conv", "@embeddings.patch_embeddings" },                                       \
			{ "stem.norm", "@embeddings.layernorm" },                                              \
			{ "down.norm", "@encoder.stages.#.downsampling_layer.0" },                             \
			{ "down.conv", "@encoder.stages.#.downsampling_layer.1" },                             \
			{ "layers.conv", "@encoder.stages.#.layers.#.dwconv" },                                \
			{ "layers.norm", "@encoder.stages.#.layers.#.layernorm" },                             \
			{ "layers.up", "@encoder.stages.#.layers.#.pwconv1" },                                 \
			{ "layers.response", "@encoder.stages.#.layers.#.grn" },                               \
			{ "layers.down", "@encoder.stages.#.layers.#.pwconv2" },                               \
			{ "layers.scale", "@encoder.stages.#.layers.#.layer_scale_parameter" },                \
			{ "norm", "@layernorm" },                                                              \
			{ "features.norm", "hidden_states_norms.stage#" },                                     \
			{ "features.norm.stem", "hidden_states_norms.stem" },                                  \
			{ "head.image", "classifier" }),                                                       \
		.ignored = IGNORED("*.num_batches_tracked"),                                                   \
	}
CONVNEXT(convnext, "convnext.");
CONVNEXT(convnextv2, "convnextv2.");

const struct dialect dinov3_convnext_names = {
	.name = "dinov3_convnext", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(
		{ "stem.conv", "@stages.0.downsample_layers.0" },
		{ "stem.norm", "@stages.0.downsample_layers.1" },
		{ "down.norm", "@stages.#.downsample_layers.0" },
		{ "down.conv", "@stages.#.downsample_layers.1" },
		{ "layers.conv", "@stages.#.layers.#.depthwise_conv" },
		{ "layers.norm", "@stages.#.layers.#.layer_norm" },
		{ "layers.up", "@stages.#.layers.#.pointwise_conv1" },
		{ "layers.down", "@stages.#.layers.#.pointwise_conv2" },
		{ "layers.scale", "@stages.#.layers.#.gamma" },
		{ "norm", "layer_norm" }),
	.ignored = IGNORED("*.num_batches_tracked"),
};

#define STEP(canonical, file) { canonical ".conv", file ".convolution" }, { canonical ".norm", file ".normalization" }

const struct dialect mobilenet_v1_names = {
	.name = "mobilenet_v1", .prefix = "mobilenet_v1.", .keys = NO_KEYS,
	.weights = WEIGHTS(STEP("stem", "@conv_stem"), STEP("layers", "@layer.#"), { "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
};

const struct dialect mobilenet_v2_names = {
	.name = "mobilenet_v2", .prefix = "mobilenet_v2.", .keys = NO_KEYS,
	.weights = WEIGHTS(STEP("stem.first", "@conv_stem.first_conv"), STEP("stem.wide", "@conv_stem.expand_1x1"), STEP("stem.middle", "@conv_stem.conv_3x3"),
		STEP("stem.narrow", "@conv_stem.reduce_1x1"), STEP("layers.wide", "@layer.#.expand_1x1"), STEP("layers.middle", "@layer.#.conv_3x3"),
		STEP("layers.narrow", "@layer.#.reduce_1x1"), STEP("last", "@conv_1x1"), { "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
};
