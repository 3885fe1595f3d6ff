// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the vision transformer family call things.
#include "arch/dialect.h"

#define VIT_BODY                                                                         \
	{ "embed.class", "@embeddings.cls_token" },                                      \
	{ "embed.distillation", "@embeddings.distillation_token" },                      \
	{ "embed.patch", "@embeddings.patch_embeddings.projection" },                    \
	{ "embed.position", "@embeddings.position_embeddings" },                         \
	{ "layers.attn.q", "@encoder.layer.#.attention.attention.query" },               \
	{ "layers.attn.k", "@encoder.layer.#.attention.attention.key" },                 \
	{ "layers.attn.v", "@encoder.layer.#.attention.attention.value" },               \
	{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" },                  \
	{ "norm", "@layernorm" },                                                        \
	{ "pooler", "@pooler.dense" },                                                   \
	{ "head.image", "classifier" },                                                  \
	{ "head.image.class", "cls_classifier" },                                        \
	{ "head.image.distillation", "distillation_classifier" }

#define VIT_WEIGHTS WEIGHTS(VIT_BODY,                                                    \
	{ "layers.attn.norm", "@encoder.layer.#.layernorm_before" },                     \
	{ "layers.ffn.norm", "@encoder.layer.#.layernorm_after" },                       \
	{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },                      \
	{ "layers.ffn.down", "@encoder.layer.#.output.dense" })

const struct dialect vit_names = { .name = "vit", .prefix = "vit.", .keys = NO_KEYS, .weights = VIT_WEIGHTS, .ignored = IGNORED("*embeddings.mask_token") };
const struct dialect deit_names = { .name = "deit", .prefix = "deit.", .keys = NO_KEYS, .weights = VIT_WEIGHTS, .ignored = IGNORED("*embeddings.mask_token") };

const struct dialect dinov2_names = {
	.name = "dinov2", .prefix = "dinov2.", .keys = NO_KEYS,
	.weights = WEIGHTS(VIT_BODY,
		{ "layers.attn.norm", "@encoder.layer.#.norm1" },
		{ "layers.ffn.norm", "@encoder.layer.#.norm2" },
		{ "layers.ffn.up", "@encoder.layer.#.mlp.fc1" },
		{ "layers.ffn.down", "@encoder.layer.#.mlp.fc2" },
		{ "layers.ffn.gate_up", "@encoder.layer.#.mlp.weights_in" },
		{ "layers.ffn.gate_down", "@encoder.layer.#.mlp.weights_out" },
		{ "layers.attn.scale", "@encoder.layer.#.layer_scale1.lambda1" },
		{ "layers.ffn.scale", "@encoder.layer.#.layer_scale2.lambda1" }),
	.ignored = IGNORED("*embeddings.mask_token"),
};
