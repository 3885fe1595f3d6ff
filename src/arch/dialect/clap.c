// SPDX-License-Identifier: Apache-2.0
// What checkpoints of CLAP call things. A tower by itself may or may not have its place in the whole model before its names.
#include "arch/dialect.h"

const struct dialect clap_audio_names = {
	.name = "clap-audio",
	.keeps_buffers = true,
	.prefix = "audio_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "bins.norm", "@audio_encoder.batch_norm" }, { "embed.patch", "@audio_encoder.patch_embed.proj" },
		{ "embed.norm", "@audio_encoder.patch_embed.norm" }, { "fusion.patch", "@audio_encoder.patch_embed.mel_conv2d" },
		{ "fusion.local.0", "@audio_encoder.patch_embed.fusion_model.local_att.0" },
		{ "fusion.local.1", "@audio_encoder.patch_embed.fusion_model.local_att.1" },
		{ "fusion.local.3", "@audio_encoder.patch_embed.fusion_model.local_att.3" },
		{ "fusion.local.4", "@audio_encoder.patch_embed.fusion_model.local_att.4" },
		{ "fusion.global.1", "@audio_encoder.patch_embed.fusion_model.global_att.1" },
		{ "fusion.global.2", "@audio_encoder.patch_embed.fusion_model.global_att.2" },
		{ "fusion.global.4", "@audio_encoder.patch_embed.fusion_model.global_att.4" },
		{ "fusion.global.5", "@audio_encoder.patch_embed.fusion_model.global_att.5" },
		{ "windows.attn.norm", "@audio_encoder.layers.#.blocks.#.layernorm_before" },
		{ "windows.attn.q", "@audio_encoder.layers.#.blocks.#.attention.self.query" },
		{ "windows.attn.k", "@audio_encoder.layers.#.blocks.#.attention.self.key" },
		{ "windows.attn.v", "@audio_encoder.layers.#.blocks.#.attention.self.value" },
		{ "windows.attn.o", "@audio_encoder.layers.#.blocks.#.attention.output.dense" },
		{ "windows.attn.table", "@audio_encoder.layers.#.blocks.#.attention.self.relative_position_bias_table" },
		{ "windows.ffn.norm", "@audio_encoder.layers.#.blocks.#.layernorm_after" },
		{ "windows.ffn.up", "@audio_encoder.layers.#.blocks.#.intermediate.dense" },
		{ "windows.ffn.down", "@audio_encoder.layers.#.blocks.#.output.dense" },
		{ "windows.merge", "@audio_encoder.layers.#.downsample.reduction" },
		{ "windows.merge.norm", "@audio_encoder.layers.#.downsample.norm" }, { "norm", "@audio_encoder.norm" },
		{ "head.linear1", "audio_projection.linear1" }, { "head.linear2", "audio_projection.linear2" }),
	.ignored = IGNORED("*relative_position_index", "*num_batches_tracked"),
	.inert = IGNORED("num_layers", "num_hidden_layers", "num_classes"),
};

const struct dialect clap_text_names = {
	.name = "clap-text",
	.keeps_buffers = true,
	.prefix = "text_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" }, { "embed.type", "@embeddings.token_type_embeddings" },
		{ "embed.norm", "@embeddings.LayerNorm" }, { "layers.attn.q", "@encoder.layer.#.attention.self.query" },
		{ "layers.attn.k", "@encoder.layer.#.attention.self.key" },
		{ "layers.attn.v", "@encoder.layer.#.attention.self.value" },
		{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" },
		{ "layers.attn.norm", "@encoder.layer.#.attention.output.LayerNorm" },
		{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.output.LayerNorm" }, { "pooler", "@pooler.dense" },
		{ "head.linear1", "text_projection.linear1" }, { "head.linear2", "text_projection.linear2" }),
	.ignored = IGNORED("*embeddings.position_ids", "*embeddings.token_type_ids"),
};

const struct dialect clap_names = {
	.name = "clap",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.scale_audio", "logit_scale_a" }, { "head.scale_text", "logit_scale_t" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED("logit_scale_init_value", "hidden_size", "num_hidden_layers"),
};
