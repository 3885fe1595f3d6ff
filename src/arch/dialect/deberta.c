// SPDX-License-Identifier: Apache-2.0
// What checkpoints of DeBERTa call things.
#include "arch/dialect.h"

#define DEBERTA_COMMON \
	{ "embed.word", "@embeddings.word_embeddings" }, { "embed.position", "@embeddings.position_embeddings" }, \
		{ "embed.type", "@embeddings.token_type_embeddings" }, { "embed.project", "@embeddings.embed_proj" }, \
		{ "embed.norm", "@embeddings.LayerNorm" }, { "distances", "@encoder.rel_embeddings" }, \
		{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" }, \
		{ "layers.attn.norm", "@encoder.layer.#.attention.output.LayerNorm" }, \
		{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" }, \
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" }, \
		{ "layers.ffn.norm", "@encoder.layer.#.output.LayerNorm" }, \
		{ "head.lm.dense", "cls.predictions.transform.dense" }, \
		{ "head.lm.norm", "cls.predictions.transform.LayerNorm" }, { "head.lm.out", "cls.predictions.decoder" }, \
		{ "head.lm.loose", "cls.predictions" }, { "head.newer", "lm_predictions.lm_head" }, \
		{ "head.newer.dense", "lm_predictions.lm_head.dense" }, \
		{ "head.newer.norm", "lm_predictions.lm_head.LayerNorm" }, { "head.pooler", "pooler.dense" }, \
		{ "head.token", "classifier" }, \
	{ \
		"head.span", "qa_outputs" \
	}

const struct dialect deberta_names = {
	.name = "deberta",
	.prefix = "deberta.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(DEBERTA_COMMON, { "layers.attn.qkv", "@encoder.layer.#.attention.self.in_proj" },
		{ "layers.attn.q_bias", "@encoder.layer.#.attention.self.q_bias" },
		{ "layers.attn.v_bias", "@encoder.layer.#.attention.self.v_bias" },
		{ "layers.attn.table_k", "@encoder.layer.#.attention.self.pos_proj" },
		{ "layers.attn.table_q", "@encoder.layer.#.attention.self.pos_q_proj" }),
	.ignored = IGNORED("*embeddings.position_ids", "mask_predictions.*"),
};

const struct dialect deberta_v2_names = {
	.name = "deberta-v2",
	.prefix = "deberta.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(DEBERTA_COMMON, { "distances.norm", "@encoder.LayerNorm" },
		{ "layers.attn.q", "@encoder.layer.#.attention.self.query_proj" },
		{ "layers.attn.k", "@encoder.layer.#.attention.self.key_proj" },
		{ "layers.attn.v", "@encoder.layer.#.attention.self.value_proj" },
		{ "layers.attn.table_k", "@encoder.layer.#.attention.self.pos_key_proj" },
		{ "layers.attn.table_q", "@encoder.layer.#.attention.self.pos_query_proj" }, { "conv", "@encoder.conv.conv" },
		{ "conv.norm", "@encoder.conv.LayerNorm" }),
	.ignored = IGNORED("*embeddings.position_ids", "mask_predictions.*"),
};
