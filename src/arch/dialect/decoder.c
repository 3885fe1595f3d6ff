// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the decoder family call things. A word for layers.attn.qkv or layers.ffn.gate_up says that the file has
// those weights in one tensor; one for embed.position, that positions are learned.
#include "arch/dialect.h"

#define HEADS                                                                            \
	{ "head.lm.out", "lm_head" },                                                    \
	{ "head.score", "score" },                                                       \
	{ "head.token", "score" },                                                       \
	{ "head.span", "qa_outputs" }

#define LLAMA_EMBED                                                                      \
	{ "embed.word", "@embed_tokens" },                                               \
	{ "norm", "@norm" }

#define LLAMA_QKV                                                                        \
	{ "layers.attn.q", "@layers.#.self_attn.q_proj" },                               \
	{ "layers.attn.k", "@layers.#.self_attn.k_proj" },                               \
	{ "layers.attn.v", "@layers.#.self_attn.v_proj" }

#define LLAMA_ATTENTION                                                                  \
	LLAMA_QKV,                                                                       \
	{ "layers.attn.o", "@layers.#.self_attn.o_proj" },                               \
	{ "layers.attn.q_norm", "@layers.#.self_attn.q_norm" },                          \
	{ "layers.attn.k_norm", "@layers.#.self_attn.k_norm" }

#define LLAMA_FFN                                                                        \
	{ "layers.ffn.gate", "@layers.#.mlp.gate_proj" },                                \
	{ "layers.ffn.up", "@layers.#.mlp.up_proj" },                                    \
	{ "layers.ffn.down", "@layers.#.mlp.down_proj" }

#define FUSED_FFN                                                                        \
	{ "layers.ffn.gate_up", "@layers.#.mlp.gate_up_proj" },                          \
	{ "layers.ffn.down", "@layers.#.mlp.down_proj" }

#define TWO_NORMS                                                                        \
	{ "layers.attn.norm", "@layers.#.input_layernorm" },                             \
	{ "layers.ffn.norm", "@layers.#.post_attention_layernorm" }

#define LLAMA_BODY LLAMA_EMBED, LLAMA_ATTENTION, LLAMA_FFN

// Tensors that older files carry and nobody needs.
#define BUFFERS "*rotary_emb.inv_freq", "*.attn.bias", "*.attn.masked_bias", "*.attention.bias", "*.attention.masked_bias", "*attn.attention.bias", \
	"*attn.attention.masked_bias", "*.attn.causal_mask", "*embed_positions.weights"

const struct dialect llama_names = {
	.name = "llama", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS,
		{ "layers.attn.inner", "@layers.#.self_attn.attn_sub_norm" },
		{ "layers.ffn.inner", "@layers.#.mlp.ffn_sub_norm" },
		{ "layers.attn.after", "@layers.#.post_norm1" },
		{ "layers.ffn.after", "@layers.#.post_norm2" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect gemma2_names = {
	.name = "gemma2", .prefix = "model.", .keys = KEYS({ "hidden_act", "hidden_activation" }),
	.weights = WEIGHTS(LLAMA_BODY, HEADS,
		{ "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

// Norms behind attention and feed-forward only.
const struct dialect olmo2_names = {
	.name = "olmo2", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, HEADS,
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect phi3_names = {
	.name = "phi3", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, TWO_NORMS, FUSED_FFN, HEADS,
		{ "layers.attn.qkv", "@layers.#.self_attn.qkv_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect glm_names = {
	.name = "glm", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, FUSED_FFN, TWO_NORMS, HEADS,
		{ "layers.attn.after", "@layers.#.post_self_attn_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_mlp_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect apertus_names = {
	.name = "apertus", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, HEADS,
		{ "layers.attn.norm", "@layers.#.attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.feedforward_layernorm" },
		{ "layers.ffn.act", "@layers.#.mlp.act_fn" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect phi_names = {
	.name = "phi", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_QKV, HEADS,
		{ "embed.word", "@embed_tokens" },
		{ "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.o", "@layers.#.self_attn.dense" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_layernorm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.k_layernorm" },
		{ "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" },
		{ "norm", "@final_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect stablelm_names = {
	.name = "stablelm", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_QKV, LLAMA_FFN, TWO_NORMS, HEADS,
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.attn.q_norms", "@layers.#.self_attn.q_layernorm.norms.*" },
		{ "layers.attn.k_norms", "@layers.#.self_attn.k_layernorm.norms.*" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect starcoder2_names = {
	.name = "starcoder2", .prefix = "model.", .keys = KEYS({ "layer_norm_eps", "norm_epsilon" }),
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS,
		{ "layers.ffn.up", "@layers.#.mlp.c_fc" },
		{ "layers.ffn.down", "@layers.#.mlp.c_proj" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect nemotron_names = {
	.name = "nemotron", .prefix = "model.", .keys = KEYS({ "layer_norm_eps", "norm_eps" }),
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect hunyuan_names = {
	.name = "hunyuan", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_QKV, LLAMA_FFN, TWO_NORMS, HEADS,
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.query_layernorm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.key_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect nanochat_names = {
	.name = "nanochat", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, HEADS,
		{ "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }),
	.ignored = IGNORED(BUFFERS),
};
