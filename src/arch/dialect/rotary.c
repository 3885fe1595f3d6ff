// SPDX-License-Identifier: Apache-2.0
// What checkpoints of encoders with rotary positions call things.
#include "arch/dialect.h"

const struct dialect modernbert_names = {
	.name = "modernbert",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }, { "sliding_window", "local_attention" },
		{ "rope_theta", "global_rope_theta" }, { "rope_local_base_freq", "local_rope_theta" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings.tok_embeddings" }, { "embed.norm", "@embeddings.norm" },
		{ "layers.attn.norm", "@layers.#.attn_norm" }, { "layers.attn.qkv", "@layers.#.attn.Wqkv" },
		{ "layers.attn.o", "@layers.#.attn.Wo" }, { "layers.ffn.norm", "@layers.#.mlp_norm" },
		{ "layers.ffn.gate_up", "@layers.#.mlp.Wi" }, { "layers.ffn.down", "@layers.#.mlp.Wo" },
		{ "norm", "@final_norm" }, { "head.dense", "head.dense" }, { "head.norm", "head.norm" },
		{ "head.lm.out", "decoder" }, { "head.token", "classifier" }, { "head.span", "classifier" },
		// as a part of ModernVBERT
		{ "head.dense", "projection_head.dense" }, { "head.norm", "projection_head.norm" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("sparse_prediction", "sparse_pred_ignore_index", "deterministic_flash_attn", "reference_compile",
		"repad_logits_with_grad"),
};

#define LLAMA_LAYERS \
	{ "embed.word", "@embed_tokens" }, { "layers.attn.norm", "@layers.#.input_layernorm" }, \
		{ "layers.attn.q", "@layers.#.self_attn.q_proj" }, { "layers.attn.k", "@layers.#.self_attn.k_proj" }, \
		{ "layers.attn.v", "@layers.#.self_attn.v_proj" }, { "layers.attn.o", "@layers.#.self_attn.o_proj" }, \
		{ "layers.ffn.norm", "@layers.#.post_attention_layernorm" }, { "layers.ffn.gate", "@layers.#.mlp.gate_proj" }, \
		{ "layers.ffn.up", "@layers.#.mlp.up_proj" }, { "layers.ffn.down", "@layers.#.mlp.down_proj" }, \
	{ \
		"norm", "@norm" \
	}

const struct dialect eurobert_names = {
	.name = "eurobert",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_LAYERS, { "head.lm.out", "lm_head" }, { "head.late", "dense" }, { "head.token", "classifier" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};

const struct dialect ultrabert_names = {
	.name = "ultrabert",
	.prefix = "ultrabert.",
	.other_prefixes = IGNORED("model."),
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_LAYERS, { "head.up", "head.linear1" }, { "head.down", "head.linear2" }, { "head.lm.out", "cls" },
		{ "head.token", "classifier" }, { "head.span", "qa_outputs" }, { "head.up", "projection_head.linear1" },
		{ "head.down", "projection_head.linear2" }, { "head.lm.out", "lm_head" }, { "head.lm.out", "head.decoder" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("sparse_prediction", "sparse_pred_ignore_index", "deterministic_flash_attn", "reference_compile",
		"repad_logits_with_grad"),
};

const struct dialect esmc_names = {
	.name = "esmc",
	.prefix = "esmc.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_LAYERS, { "layers.attn.q_norm", "@layers.#.self_attn.q_norm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.k_norm" }, { "head.lm.dense", "lm_head.dense" },
		{ "head.lm.norm", "lm_head.layer_norm" }, { "head.lm.out", "lm_head.decoder" },
		{ "head.lm.loose", "lm_head.decoder" }, { "head.sequence.dense", "classifier.dense" },
		{ "head.sequence.out", "classifier.out_proj" }, { "head.token", "score" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};

const struct dialect nomic_bert_names = {
	.name = "nomic_bert",
	.prefix = "nomic_bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" }, { "embed.type", "@embeddings.token_type_embeddings" },
		{ "embed.norm", "@emb_ln" }, { "layers.attn.qkv", "@encoder.layers.#.attn.Wqkv" },
		{ "layers.attn.o", "@encoder.layers.#.attn.out_proj" }, { "layers.attn.norm", "@encoder.layers.#.norm1" },
		{ "layers.ffn.up", "@encoder.layers.#.mlp.fc11" }, { "layers.ffn.gate", "@encoder.layers.#.mlp.fc12" },
		{ "layers.ffn.down", "@encoder.layers.#.mlp.fc2" }, { "layers.ffn.norm", "@encoder.layers.#.norm2" },
		{ "pooler", "@pooler.dense" }, { "head.lm.dense", "cls.predictions.transform.dense" },
		{ "head.lm.norm", "cls.predictions.transform.layer_norm" }, { "head.lm.out", "cls.predictions.decoder" },
		{ "head.lm.loose", "cls.predictions" }, { "head.sequence.dense", "@pooler.dense" },
		{ "head.sequence.out", "classifier" }, { "head.token", "classifier" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};

const struct dialect gte_names = {
	.name = "gte",
	.prefix = "gte.",
	.other_prefixes = IGNORED("new."),
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" }, { "embed.type", "@embeddings.token_type_embeddings" },
		{ "embed.norm", "@embeddings.LayerNorm" }, { "layers.attn.qkv", "@encoder.layer.#.attention.qkv_proj" },
		{ "layers.attn.o", "@encoder.layer.#.attention.o_proj" }, { "layers.attn.norm", "@encoder.layer.#.attn_ln" },
		{ "layers.ffn.gate_up", "@encoder.layer.#.mlp.up_gate_proj" },
		{ "layers.ffn.down", "@encoder.layer.#.mlp.down_proj" }, { "layers.ffn.norm", "@encoder.layer.#.mlp_ln" },
		{ "pooler", "@pooler.dense" }, { "head.lm.dense", "lm_head.dense" }, { "head.lm.norm", "lm_head.norm" },
		{ "head.lm.out", "lm_head.decoder" }, { "head.lm.loose", "lm_head.decoder" },
		{ "head.sequence.dense", "@pooler.dense" }, { "head.sequence.out", "classifier" },
		{ "head.token", "classifier" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};

const struct dialect jina_v3_names = {
	.name = "jina_embeddings_v3",
	.prefix = "roberta.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" }, { "embed.type", "@embeddings.token_type_embeddings" },
		{ "embed.norm", "@emb_ln" }, { "layers.attn.qkv", "@encoder.layers.#.mixer.Wqkv" },
		{ "layers.attn.o", "@encoder.layers.#.mixer.out_proj" }, { "layers.attn.norm", "@encoder.layers.#.norm1" },
		{ "layers.ffn.up", "@encoder.layers.#.mlp.fc1" }, { "layers.ffn.down", "@encoder.layers.#.mlp.fc2" },
		{ "layers.ffn.norm", "@encoder.layers.#.norm2" }, { "pooler", "@pooler.dense" },
		{ "head.lm.dense", "lm_head.dense" }, { "head.lm.norm", "lm_head.layer_norm" },
		{ "head.lm.out", "lm_head.decoder" }, { "head.lm.loose", "lm_head" },
		{ "head.sequence.dense", "classifier.dense" }, { "head.sequence.out", "classifier.out_proj" },
		{ "head.token", "classifier" }, { "head.span", "qa_outputs" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};
