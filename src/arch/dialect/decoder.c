// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the decoder family call things.
#include "arch/dialect.h"

#define LLAMA_BODY                                                                       \
	{ "embed.word", "@embed_tokens" },                                               \
	{ "layers.attn.norm", "@layers.#.input_layernorm" },                             \
	{ "layers.attn.q", "@layers.#.self_attn.q_proj" },                               \
	{ "layers.attn.k", "@layers.#.self_attn.k_proj" },                               \
	{ "layers.attn.v", "@layers.#.self_attn.v_proj" },                               \
	{ "layers.attn.o", "@layers.#.self_attn.o_proj" },                               \
	{ "layers.attn.q_norm", "@layers.#.self_attn.q_norm" },                          \
	{ "layers.attn.k_norm", "@layers.#.self_attn.k_norm" },                          \
	{ "layers.ffn.gate", "@layers.#.mlp.gate_proj" },                                \
	{ "layers.ffn.up", "@layers.#.mlp.up_proj" },                                    \
	{ "layers.ffn.down", "@layers.#.mlp.down_proj" },                                \
	{ "norm", "@norm" },                                                             \
	{ "head.lm.out", "lm_head" },                                                    \
	{ "head.score", "score" },                                                       \
	{ "head.token", "score" },                                                       \
	{ "head.span", "qa_outputs" }

const struct dialect llama_names = {
	.name = "llama", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, { "layers.ffn.norm", "@layers.#.post_attention_layernorm" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};

const struct dialect gemma2_names = {
	.name = "gemma2", .prefix = "model.", .keys = KEYS({ "hidden_act", "hidden_activation" }),
	.weights = WEIGHTS(LLAMA_BODY,
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};
