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
