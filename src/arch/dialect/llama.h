// SPDX-License-Identifier: Apache-2.0
// Words that many decoders' dialects share. Private to dialect/.
#ifndef ASSAY_ARCH_DIALECT_LLAMA_H
#define ASSAY_ARCH_DIALECT_LLAMA_H

#define HEADS \
	{ "head.lm.out", "lm_head" }, { "head.score", "score" }, { "head.token", "score" }, \
	{ \
		"head.span", "qa_outputs" \
	}

#define LLAMA_EMBED \
	{ "embed.word", "@embed_tokens" }, \
	{ \
		"norm", "@norm" \
	}

#define LLAMA_QKV \
	{ "layers.attn.q", "@layers.#.self_attn.q_proj" }, { "layers.attn.k", "@layers.#.self_attn.k_proj" }, \
	{ \
		"layers.attn.v", "@layers.#.self_attn.v_proj" \
	}

#define LLAMA_ATTENTION \
	LLAMA_QKV, { "layers.attn.o", "@layers.#.self_attn.o_proj" }, { "layers.attn.q_norm", "@layers.#.self_attn.q_norm" }, \
	{ \
		"layers.attn.k_norm", "@layers.#.self_attn.k_norm" \
	}

#define LLAMA_FFN \
	{ "layers.ffn.gate", "@layers.#.mlp.gate_proj" }, { "layers.ffn.up", "@layers.#.mlp.up_proj" }, \
	{ \
		"layers.ffn.down", "@layers.#.mlp.down_proj" \
	}

#define FUSED_FFN \
	{ "layers.ffn.gate_up", "@layers.#.mlp.gate_up_proj" }, \
	{ \
		"layers.ffn.down", "@layers.#.mlp.down_proj" \
	}

#define TWO_NORMS \
	{ "layers.attn.norm", "@layers.#.input_layernorm" }, \
	{ \
		"layers.ffn.norm", "@layers.#.post_attention_layernorm" \
	}

#define LLAMA_BODY LLAMA_EMBED, LLAMA_ATTENTION, LLAMA_FFN

// Tensors that older files carry and that are not needed.
#define BUFFERS \
	"*rotary_emb.inv_freq", "*.attn.bias", "*.attn.masked_bias", "*.attention.bias", "*.attention.masked_bias", \
		"*attn.attention.bias", "*attn.attention.masked_bias", "*.attn.causal_mask", "*embed_positions.weights"

#endif
