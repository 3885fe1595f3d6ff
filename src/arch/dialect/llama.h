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

// As diffusers calls them.
#define COSMOS_ATTENTION \
	{ "layers.attn.q", "@layers.#.self_attn.to_q" }, { "layers.attn.k", "@layers.#.self_attn.to_k" }, \
		{ "layers.attn.v", "@layers.#.self_attn.to_v" }, { "layers.attn.o", "@layers.#.self_attn.to_out" }, \
		{ "layers.attn.q_norm", "@layers.#.self_attn.norm_q" }, \
	{ \
		"layers.attn.k_norm", "@layers.#.self_attn.norm_k" \
	}

// transformers 5 writes the text of some models made of models so: the tower's word is turned back there, too.
#define LLAMA_BELOW_ENCODER \
	{ "layers.attn.q", "@encoder.layers.#.self_attn.q_proj" }, { "layers.attn.k", "@encoder.layers.#.self_attn.k_proj" }, \
		{ "layers.attn.v", "@encoder.layers.#.self_attn.v_proj" }, \
		{ "layers.attn.o", "@encoder.layers.#.self_attn.o_proj" }, \
		{ "layers.attn.q_norm", "@encoder.layers.#.self_attn.q_norm" }, \
		{ "layers.attn.k_norm", "@encoder.layers.#.self_attn.k_norm" }, \
		{ "layers.ffn.gate", "@encoder.layers.#.mlp.gate_proj" }, { "layers.ffn.up", "@encoder.layers.#.mlp.up_proj" }, \
		{ "layers.ffn.down", "@encoder.layers.#.mlp.down_proj" }, \
		{ "layers.attn.norm", "@encoder.layers.#.input_layernorm" }, \
	{ \
		"layers.ffn.norm", "@encoder.layers.#.post_attention_layernorm" \
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

// One tensor an expert: STEM.gate_proj, STEM.up_proj, STEM.down_proj.
#define FFN_AT(word, stem) \
	{ "layers." word ".gate", stem ".gate_proj" }, { "layers." word ".up", stem ".up_proj" }, \
	{ \
		"layers." word ".down", stem ".down_proj" \
	}

#define EXPERTS FFN_AT("moe.expert", "@layers.#.mlp.experts.*")

#define LATENT_ATTENTION \
	{ "layers.attn.q", "@layers.#.self_attn.q_proj" }, { "layers.attn.q_a", "@layers.#.self_attn.q_a_proj" }, \
		{ "layers.attn.q_a_norm", "@layers.#.self_attn.q_a_layernorm" }, \
		{ "layers.attn.q_b", "@layers.#.self_attn.q_b_proj" }, \
		{ "layers.attn.kv_a", "@layers.#.self_attn.kv_a_proj_with_mqa" }, \
		{ "layers.attn.kv_a_norm", "@layers.#.self_attn.kv_a_layernorm" }, \
		{ "layers.attn.kv_b", "@layers.#.self_attn.kv_b_proj" }, \
	{ \
		"layers.attn.o", "@layers.#.self_attn.o_proj" \
	}

#define GRANITE_SHARED \
	{ "layers.moe.shared.gate_up", "@layers.#.shared_mlp.input_linear" }, \
	{ \
		"layers.moe.shared.down", "@layers.#.shared_mlp.output_linear" \
	}

#define HYPER(word, stem) \
	{ word ".fn", stem "_fn" }, { word ".base", stem "_base" }, \
	{ \
		word ".scale", stem "_scale" \
	}

// Further predictions that the class does not make, the training of experts, and words for what only one way is built.
#define MOE_INERT \
	"num_nextn_predict_layers", "mtp_layer_types", "mtp_mlp_layer_types", "enable_moe_fp32_combine", "scoring_func", \
		"seq_aux", "aux_loss_alpha", "ep_size", "moe_dropout_prob", "score_func", "num_expert_groups", \
		"num_limited_groups", "load_balance_coeff", "experts_implementation", "moe_capacity", "moe_use_aux_free"

#define MIXTRAL_EXPERTS \
	{ "layers.moe.router", "@layers.#.block_sparse_moe.gate" }, \
		{ "layers.moe.expert.gate", "@layers.#.block_sparse_moe.experts.*.w1" }, \
		{ "layers.moe.expert.up", "@layers.#.block_sparse_moe.experts.*.w3" }, \
	{ \
		"layers.moe.expert.down", "@layers.#.block_sparse_moe.experts.*.w2" \
	}

#endif
