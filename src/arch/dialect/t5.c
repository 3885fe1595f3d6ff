// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the T5 family call things. Behind @ lies "encoder." or "decoder." where a half is built.
#include "arch/dialect.h"

// There are no learned positions; what a router does while it is trained.
#define INERT \
	"is_encoder_decoder", "add_cross_attention", "add_router_probs", "router_dtype", "router_ignore_padding_tokens", \
		"router_jitter_noise", "router_type", "batch_prioritized_routing", "n_positions"

#define T5_KEYS \
	{ "hidden_size", "d_model" }, { "num_hidden_layers", "num_layers" }, { "num_attention_heads", "num_heads" }, \
		{ "head_dim", "d_kv" }, \
	{ \
		"intermediate_size", "d_ff" \
	}

#define T5_WEIGHTS \
	{ "embed.shared", "@shared" }, { "embed.word", "@embed_tokens" }, { "layers.attn.norm", "@block.#.layer.0.layer_norm" }, \
		{ "layers.attn.q", "@block.#.layer.0.SelfAttention.q" }, \
		{ "layers.attn.k", "@block.#.layer.0.SelfAttention.k" }, \
		{ "layers.attn.v", "@block.#.layer.0.SelfAttention.v" }, \
		{ "layers.attn.o", "@block.#.layer.0.SelfAttention.o" }, \
		{ "layers.attn.relative", "@block.#.layer.0.SelfAttention.relative_attention_bias" }, \
		{ "layers.cross.norm", "@block.#.layer.1.layer_norm" }, \
		{ "layers.cross.q", "@block.#.layer.1.EncDecAttention.q" }, \
		{ "layers.cross.k", "@block.#.layer.1.EncDecAttention.k" }, \
		{ "layers.cross.v", "@block.#.layer.1.EncDecAttention.v" }, \
		{ "layers.cross.o", "@block.#.layer.1.EncDecAttention.o" }, \
		{ "layers.ffn.norm", "@block.#.layer.1.layer_norm" }, { "layers.last.norm", "@block.#.layer.2.layer_norm" }, \
		{ "norm", "@final_layer_norm" }, { "head.lm.out", "lm_head" }, \
		{ "head.sequence.dense", "classification_head.dense" }, { "head.sequence.out", "classification_head.out_proj" }, \
		{ "head.token", "classifier" }, \
	{ \
		"head.span", "qa_outputs" \
	}

#define T5_FFN \
	{ "layers.ffn.up_alone", "@block.#.layer.1.DenseReluDense.wi" }, \
		{ "layers.ffn.gate", "@block.#.layer.1.DenseReluDense.wi_0" }, \
		{ "layers.ffn.up", "@block.#.layer.1.DenseReluDense.wi_1" }, \
		{ "layers.ffn.down", "@block.#.layer.1.DenseReluDense.wo" }, \
		{ "layers.last.up_alone", "@block.#.layer.2.DenseReluDense.wi" }, \
		{ "layers.last.gate", "@block.#.layer.2.DenseReluDense.wi_0" }, \
		{ "layers.last.up", "@block.#.layer.2.DenseReluDense.wi_1" }, \
	{ \
		"layers.last.down", "@block.#.layer.2.DenseReluDense.wo" \
	}

const struct dialect t5_names = {
	.name = "t5",
	.prefix = "transformer.",
	.keys = KEYS(T5_KEYS),
	.weights = WEIGHTS(T5_WEIGHTS, T5_FFN),
	// Older files keep every copy of the one token table, and a bias of cross attention that the class never had.
	.ignored = IGNORED(
		"*EncDecAttention.relative_attention_bias.weight", "*shared.weight", "*embed_tokens.weight", "mel_conditioner.*"),
	.inert = IGNORED(INERT, "composer_vocab_size"),
};

const struct dialect switch_names = {
	.name = "switch",
	.prefix = "transformer.",
	.keys = KEYS(T5_KEYS),
	.weights = WEIGHTS(T5_WEIGHTS, { "layers.ffn.up_alone", "@block.#.layer.1.mlp.wi" },
		{ "layers.ffn.down", "@block.#.layer.1.mlp.wo" },
		{ "layers.ffn.router", "@block.#.layer.1.mlp.router.classifier" },
		{ "layers.ffn.expert.up", "@block.#.layer.1.mlp.experts.expert_#.wi" },
		{ "layers.ffn.expert.down", "@block.#.layer.1.mlp.experts.expert_#.wo" },
		{ "layers.last.up_alone", "@block.#.layer.2.mlp.wi" }, { "layers.last.down", "@block.#.layer.2.mlp.wo" },
		{ "layers.last.router", "@block.#.layer.2.mlp.router.classifier" },
		{ "layers.last.expert.up", "@block.#.layer.2.mlp.experts.expert_#.wi" },
		{ "layers.last.expert.down", "@block.#.layer.2.mlp.experts.expert_#.wo" }),
	.ignored = IGNORED("*EncDecAttention.relative_attention_bias.weight", "*shared.weight", "*embed_tokens.weight"),
	.inert = IGNORED(INERT),
};

const struct dialect longt5_names = {
	.name = "longt5",
	.prefix = "transformer.",
	.keys = KEYS(T5_KEYS),
	.weights = WEIGHTS(T5_WEIGHTS, T5_FFN, { "layers.source.q", "@block.#.layer.0.LocalSelfAttention.q" },
		{ "layers.source.k", "@block.#.layer.0.LocalSelfAttention.k" },
		{ "layers.source.v", "@block.#.layer.0.LocalSelfAttention.v" },
		{ "layers.source.o", "@block.#.layer.0.LocalSelfAttention.o" },
		{ "layers.source.relative", "@block.#.layer.0.LocalSelfAttention.relative_attention_bias" }),
	.ignored = IGNORED("*EncDecAttention.relative_attention_bias.weight", "*shared.weight", "*embed_tokens.weight"),
	.inert = IGNORED(INERT, "global_block_size"),
};

// The table of the first bias is the first layer's, but in files of the model without a head.
const struct dialect udop_names = {
	.name = "udop",
	.prefix = "transformer.",
	.keys = KEYS(T5_KEYS),
	.weights = WEIGHTS(T5_WEIGHTS, T5_FFN, { "embed.patch", "patch_embed.proj" },
		{ "embed.copy", "encoder.embed_patches.proj" }, { "embed.x", "@cell_2d_embedding.x_position_embeddings" },
		{ "embed.y", "@cell_2d_embedding.y_position_embeddings" },
		{ "page.relative", "@relative_bias.biases.#.relative_attention_bias" }),
	.ignored = IGNORED("*shared.weight", "*embed_tokens.weight", "*embed_patches.proj.*", "*relative_bias.biases.0.*",
		"*encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "*decoder.relative_bias.*"),
	.inert = IGNORED(INERT),
};

const struct dialect pix2struct_names = {
	.name = "pix2struct",
	.prefix = "",
	.keys = KEYS({ "num_hidden_layers", "num_layers" }, { "num_hidden_layers", "num_hidden_layers" },
		{ "num_attention_heads", "num_heads" }, { "num_attention_heads", "num_attention_heads" }, { "head_dim", "d_kv" },
		{ "intermediate_size", "d_ff" }, { "layer_norm_eps", "layer_norm_eps" },
		{ "layer_norm_eps", "layer_norm_epsilon" }),
	.weights = WEIGHTS({ "patches", "@embeddings.patch_projection" }, { "patches.row", "@embeddings.row_embedder" },
		{ "patches.column", "@embeddings.column_embedder" },
		{ "source.attn.norm", "@encoder.layer.#.pre_attention_layer_norm" },
		{ "source.attn.q", "@encoder.layer.#.attention.query" }, { "source.attn.k", "@encoder.layer.#.attention.key" },
		{ "source.attn.v", "@encoder.layer.#.attention.value" }, { "source.attn.o", "@encoder.layer.#.attention.output" },
		{ "source.ffn.norm", "@encoder.layer.#.pre_mlp_layer_norm" }, { "source.ffn.gate", "@encoder.layer.#.mlp.wi_0" },
		{ "source.ffn.up", "@encoder.layer.#.mlp.wi_1" }, { "source.ffn.down", "@encoder.layer.#.mlp.wo" },
		{ "source.norm", "@layernorm" }, { "embed.word", "@embed_tokens" },
		{ "layers.attn.norm", "@layer.#.self_attention.layer_norm" },
		{ "layers.attn.q", "@layer.#.self_attention.attention.query" },
		{ "layers.attn.k", "@layer.#.self_attention.attention.key" },
		{ "layers.attn.v", "@layer.#.self_attention.attention.value" },
		{ "layers.attn.o", "@layer.#.self_attention.attention.output" },
		{ "layers.attn.relative", "@layer.#.self_attention.attention.relative_attention_bias" },
		{ "layers.cross.norm", "@layer.#.encoder_decoder_attention.layer_norm" },
		{ "layers.cross.q", "@layer.#.encoder_decoder_attention.attention.query" },
		{ "layers.cross.k", "@layer.#.encoder_decoder_attention.attention.key" },
		{ "layers.cross.v", "@layer.#.encoder_decoder_attention.attention.value" },
		{ "layers.cross.o", "@layer.#.encoder_decoder_attention.attention.output" },
		{ "layers.last.norm", "@layer.#.mlp.layer_norm" }, { "layers.last.gate", "@layer.#.mlp.DenseReluDense.wi_0" },
		{ "layers.last.up", "@layer.#.mlp.DenseReluDense.wi_1" },
		{ "layers.last.down", "@layer.#.mlp.DenseReluDense.wo" }, { "norm", "@final_layer_norm" },
		{ "head.lm.out", "decoder.lm_head" }),
	.inert = IGNORED("is_encoder_decoder", "add_cross_attention", "is_vqa", "relative_attention_*", "attention_dropout",
		"image_size", "patch_size", "num_channels", "projection_dim", "layer_norm_bias", "hidden_act", "pad_token_id",
		"tie_word_embeddings"),
};
