// SPDX-License-Identifier: Apache-2.0
// What checkpoints of decoders with experts or latent attention call things.
#include "arch/dialect.h"

#include "arch/dialect/llama.h"

const struct dialect qwen_moe_names = {
	.name = "qwen-moe",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_expert"),
		{ "layers.moe.router", "@layers.#.mlp.gate" }, { "layers.moe.shared_gate", "@layers.#.mlp.shared_expert_gate" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect beam_names = {
	.name = "beam",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, HEADS, EXPERTS, { "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" },
		{ "layers.attn.gate", "@layers.#.self_attn.gate_proj" },
		{ "layers.attn.gate_bias", "@layers.#.self_attn.gate_bias" }, { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect flint_names = {
	.name = "flint",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_expert"),
		{ "layers.moe.router", "@layers.#.mlp.gate" }, { "layers.attn.sinks", "@layers.#.self_attn.softmax_offset" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect flex_olmo_names = {
	.name = "flex-olmo",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, HEADS, EXPERTS, { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

// With the bias that decides the choice only; the layers after the last are for predicting several tokens.
const struct dialect dots1_names = {
	.name = "dots1",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect exaone_moe_names = {
	.name = "exaone-moe",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS, "mtp.*"),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect ernie4_5_moe_names = {
	.name = "ernie4-5-moe",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.moe_statics.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect mixtral_names = {
	.name = "mixtral",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, MIXTRAL_EXPERTS),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "input_jitter_noise"),
};

#define STACKED_EXPERTS \
	{ "layers.moe.router", "@layers.#.mlp.gate" }, { "layers.moe.experts.gate_up", "@layers.#.mlp.experts.gate_up_proj" }, \
	{ \
		"layers.moe.experts.down", "@layers.#.mlp.experts.down_proj" \
	}

const struct dialect minimax_names = {
	.name = "minimax",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, MIXTRAL_EXPERTS,
		{ "layers.in", "@layers.#.self_attn.qkv_proj" }, { "layers.out", "@layers.#.self_attn.out_proj" },
		{ "layers.gate", "@layers.#.self_attn.output_gate" }, { "layers.gated_norm", "@layers.#.self_attn.norm" },
		{ "layers.slope", "@layers.#.self_attn.slope_rate" }, { "layers.query_decay", "@layers.#.self_attn.query_decay" },
		{ "layers.key_decay", "@layers.#.self_attn.key_decay" },
		{ "layers.diagonal_decay", "@layers.#.self_attn.diagonal_decay" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "router_jitter_noise"),
};

// Published files have experts and gates apart. Neither hidden_act nor rotary_dim means anything here.
const struct dialect minimax_m3_names = {
	.name = "minimax-m3",
	.prefix = "model.",
	.keys = KEYS({ "moe_intermediate_size", "intermediate_size" }, { "intermediate_size", "dense_intermediate_size" },
		{ "hidden_act", "no_hidden_act" }, { "rotary_dim", "no_rotary_dim" }),
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, FUSED_FFN, TWO_NORMS, HEADS, STACKED_EXPERTS,
		{ "layers.moe.shared.gate_up", "@layers.#.mlp.shared_experts.gate_up_proj" },
		{ "layers.moe.shared.down", "@layers.#.mlp.shared_experts.down_proj" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }, MIXTRAL_EXPERTS,
		FFN_AT("moe.shared", "@layers.#.block_sparse_moe.shared_experts"), FFN_AT("ffn", "@layers.#.mlp"),
		{ "layers.moe.choice_bias", "@layers.#.block_sparse_moe.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS, "*mtp.*"),
	.inert = IGNORED(MOE_INERT, "hidden_act", "rotary_dim", "index_*", "router_jitter_noise"),
};

const struct dialect minimax_m2_names = {
	.name = "minimax-m2",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, MIXTRAL_EXPERTS,
		{ "layers.moe.choice_bias", "@layers.#.block_sparse_moe.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect gpt_oss_names = {
	.name = "gpt-oss",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, { "layers.attn.sinks", "@layers.#.self_attn.sinks" },
		{ "layers.moe.router", "@layers.#.mlp.router" },
		{ "layers.moe.experts.gate_up", "@layers.#.mlp.experts.gate_up_proj" },
		{ "layers.moe.experts.gate_up_bias", "@layers.#.mlp.experts.gate_up_proj_bias" },
		{ "layers.moe.experts.down", "@layers.#.mlp.experts.down_proj" },
		{ "layers.moe.experts.down_bias", "@layers.#.mlp.experts.down_proj_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect granitemoe_names = {
	.name = "granitemoe",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, GRANITE_SHARED,
		{ "layers.moe.router", "@layers.#.block_sparse_moe.router.layer" },
		{ "layers.moe.experts.gate_up", "@layers.#.block_sparse_moe.input_linear.weight" },
		{ "layers.moe.experts.down", "@layers.#.block_sparse_moe.output_linear.weight" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect granitemoe_swa_names = {
	.name = "granitemoe-swa",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, GRANITE_SHARED,
		{ "layers.attn.sinks", "@layers.#.self_attn.sinks" },
		{ "layers.moe.router", "@layers.#.block_sparse_moe.router" },
		{ "layers.moe.experts.gate_up", "@layers.#.block_sparse_moe.experts.gate_up_proj" },
		{ "layers.moe.experts.down", "@layers.#.block_sparse_moe.experts.down_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect hunyuan_moe_names = {
	.name = "hunyuan-moe",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_QKV, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_mlp"),
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.query_layernorm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.key_layernorm" }, { "layers.moe.router", "@layers.#.mlp.gate.wg" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect hy_v3_names = {
	.name = "hy-v3",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_mlp"),
		{ "layers.moe.router", "@layers.#.mlp.router.gate" }, { "layers.moe.choice_bias", "@layers.#.mlp.expert_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect afmoe_names = {
	.name = "afmoe",
	.prefix = "model.",
	.keys = KEYS({ "sliding_window_pattern", "global_attn_every_n_layers" }),
	.weights = WEIGHTS(LLAMA_BODY, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.attn.gate", "@layers.#.self_attn.gate_proj" }, { "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.pre_mlp_layernorm" }, { "layers.ffn.after", "@layers.#.post_mlp_layernorm" },
		{ "layers.moe.router", "@layers.#.mlp.router.gate" }, { "layers.moe.choice_bias", "@layers.#.mlp.expert_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect aria_names = {
	.name = "aria",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.moe.router", "@layers.#.mlp.router" },
		{ "layers.moe.experts.gate_up", "@layers.#.mlp.experts.fc1.weight" },
		{ "layers.moe.experts.down", "@layers.#.mlp.experts.fc2.weight" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect minicpm3_names = {
	.name = "minicpm3",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, LLAMA_FFN, TWO_NORMS, HEADS),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim"),
};

const struct dialect deepseek_v2_names = {
	.name = "deepseek-v2",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, LLAMA_FFN, TWO_NORMS, HEADS, EXPERTS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"), { "layers.moe.router", "@layers.#.mlp.gate" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim"),
};

const struct dialect deepseek_v3_names = {
	.name = "deepseek-v3",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, LLAMA_FFN, TWO_NORMS, HEADS, EXPERTS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"), { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim"),
};

#define INDEXER \
	{ "layers.index.q", "@layers.#.self_attn.indexer.wq_b" }, { "layers.index.k", "@layers.#.self_attn.indexer.wk" }, \
		{ "layers.index.k_norm", "@layers.#.self_attn.indexer.k_norm" }, \
	{ \
		"layers.index.weights", "@layers.#.self_attn.indexer.weights_proj" \
	}

const struct dialect deepseek_v32_names = {
	.name = "deepseek-v32",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, INDEXER, LLAMA_FFN, TWO_NORMS, HEADS, EXPERTS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"), { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim", "rope_interleave"),
};

const struct dialect axk2_names = {
	.name = "axk2",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, INDEXER, LLAMA_FFN, HEADS, EXPERTS,
		{ "layers.attn.norm", "@layers.#.input_layernorm.norm" },
		{ "layers.attn.norm.down", "@layers.#.input_layernorm.W_down" },
		{ "layers.attn.norm.up", "@layers.#.input_layernorm.W_up" },
		{ "layers.ffn.norm", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.gated_norm", "@layers.#.post_attention_layernorm.norm" },
		{ "layers.ffn.gated_norm.down", "@layers.#.post_attention_layernorm.W_down" },
		{ "layers.ffn.gated_norm.up", "@layers.#.post_attention_layernorm.W_up" },
		FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"), { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim"),
};

const struct dialect mistral_large4_names = {
	.name = "mistral-large4",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, HEADS, { "rope.alpha", "@rotary_emb.alpha" },
		{ "layers.attn.norm", "@layers.#.attention_norm" }, { "layers.ffn.norm", "@layers.#.ffn_norm" },
		{ "layers.attn.q", "@layers.#.attention.wq" }, { "layers.attn.kv_a", "@layers.#.attention.wkv_a_with_mqa" },
		{ "layers.attn.kv_a_norm", "@layers.#.attention.kv_a_norm" }, { "layers.attn.kv_b", "@layers.#.attention.wkv_b" },
		{ "layers.attn.o", "@layers.#.attention.o_proj" },
		{ "layers.attn.log_scale", "@layers.#.attention.ssmax_scaling" },
		{ "layers.index.q_norm", "@layers.#.attention.indexer.q_input_norm" },
		{ "layers.index.q", "@layers.#.attention.indexer.wq_b" }, { "layers.index.k", "@layers.#.attention.indexer.wk" },
		{ "layers.index.k_norm", "@layers.#.attention.indexer.k_norm" },
		{ "layers.index.weights", "@layers.#.attention.indexer.weights_proj" },
		{ "layers.index.log_scale", "@layers.#.attention.indexer.ssmax_scaling" },
		FFN_AT("ffn", "@layers.#.feed_forward"), FFN_AT("moe.shared", "@layers.#.shared_experts"),
		{ "layers.moe.router", "@layers.#.gate" }, { "layers.moe.expert.gate", "@layers.#.experts.*.w1" },
		{ "layers.moe.expert.up", "@layers.#.experts.*.w3" }, { "layers.moe.expert.down", "@layers.#.experts.*.w2" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim"),
};

const struct dialect dots3_note_names = {
	.name = "dots3-note",
	.prefix = "model.",
	.keys = KEYS({ "shared_width", "moe_shared_expert_intermediate_size" },
		{ "shared_width", "shared_experts_intermediate_size" }, { "sliding_window", "sliding_window_size" },
		{ "sliding_window", "sliding_window" }),
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, INDEXER, LLAMA_FFN, TWO_NORMS, HEADS, EXPERTS,
		{ "layers.attn.k_rope_norm", "@layers.#.self_attn.k_rope_only_layernorm" },
		{ "layers.attn.gate", "@layers.#.self_attn.g_proj" }, FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim", "mlp_bias"),
};

const struct dialect hy_v4_names = {
	.name = "hy-v4",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, INDEXER, TWO_NORMS, HEADS, STACKED_EXPERTS,
		HYPER("hyper", "@hc_pre.hc_head.hc_head"), HYPER("layers.attn.hyper", "@layers.#.hc_pre.hc_attn_layer.hc"),
		HYPER("layers.ffn.hyper", "@layers.#.hc_pre.hc_mlp_layer.hc"),
		{ "layers.attn.sinks", "@layers.#.self_attn.learnable_sink_param" },
		{ "layers.attn.gate", "@layers.#.self_attn.linear_gate" }, { "layers.ffn.gate", "@layers.#.mlp.linear_gate" },
		{ "layers.ffn.up", "@layers.#.mlp.up_proj" }, { "layers.ffn.down", "@layers.#.mlp.down_proj" },
		{ "layers.moe.shared.gate", "@layers.#.mlp.shared_experts.linear_gate" },
		{ "layers.moe.shared.up", "@layers.#.mlp.shared_experts.up_proj" },
		{ "layers.moe.shared.down", "@layers.#.mlp.shared_experts.down_proj" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim", "learnable_sink_init"),
};

// Shared experts, and no bias of the choice.
const struct dialect cohere2_moe_names = {
	.name = "cohere2-moe",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.moe.router", "@layers.#.mlp.gate" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "prefix_dense_sliding_window_pattern"),
};

const struct dialect axk1_names = {
	.name = "axk1",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, LLAMA_FFN, TWO_NORMS, HEADS, EXPERTS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"), { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" },
		{ "layers.moe.norm", "@layers.#.post_mlp_layernorm" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim"),
};

const struct dialect mistral4_names = {
	.name = "mistral4",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, LLAMA_FFN, TWO_NORMS, HEADS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"), { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.experts.gate_up", "@layers.#.mlp.experts.gate_up_proj" },
		{ "layers.moe.experts.down", "@layers.#.mlp.experts.down_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim"),
};

const struct dialect qwen3_vl_moe_names = {
	.name = "qwen3-vl-moe",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, STACKED_EXPERTS),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect glm4v_moe_names = {
	.name = "glm4v-moe",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, STACKED_EXPERTS, EXPERTS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect kolibri1_names = {
	.name = "kolibri1",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.attn.after", "@layers.#.post_attn_norm" }, { "layers.ffn.after", "@layers.#.post_ffn_norm" },
		{ "layers.moe.router", "@layers.#.mlp.gate" }, { "layers.moe.choice_bias", "@layers.#.moe.router.expert_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

// Words of the multi-token prediction that the class does not make are ignored.
const struct dialect mimo_v2_names = {
	.name = "mimo-v2",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" },
		{ "layers.attn.sinks", "@layers.#.self_attn.attention_sink_bias" },
		{ "layers.attn.sinks", "@layers.#.self_attn.sinks" }),
	.ignored = IGNORED(BUFFERS, "*mtp.*"),
	.inert = IGNORED(MOE_INERT),
};

// Experts that give back what they get have weights in files, which nobody reads.
const struct dialect longcat_flash_names = {
	.name = "longcat-flash",
	.prefix = "model.",
	.keys = KEYS({ "num_hidden_layers", "num_layers" }, { "intermediate_size", "ffn_hidden_size" },
		{ "moe_intermediate_size", "expert_ffn_hidden_size" }),
	.weights = WEIGHTS(LLAMA_EMBED, HEADS, { "layers.attn.norm", "@layers.$.input_layernorm.*" },
		{ "layers.ffn.norm", "@layers.$.post_attention_layernorm.*" },
		{ "layers.attn.q_a", "@layers.$.self_attn.*.q_a_proj" },
		{ "layers.attn.q_a_norm", "@layers.$.self_attn.*.q_a_layernorm" },
		{ "layers.attn.q_b", "@layers.$.self_attn.*.q_b_proj" },
		{ "layers.attn.kv_a", "@layers.$.self_attn.*.kv_a_proj_with_mqa" },
		{ "layers.attn.kv_a_norm", "@layers.$.self_attn.*.kv_a_layernorm" },
		{ "layers.attn.kv_b", "@layers.$.self_attn.*.kv_b_proj" }, { "layers.attn.o", "@layers.$.self_attn.*.o_proj" },
		FFN_AT("ffn", "@layers.$.mlps.*"), FFN_AT("moe.expert", "@layers.$.mlp.experts.*"),
		{ "layers.moe.router", "@layers.$.mlp.router.classifier" },
		{ "layers.moe.choice_bias", "@layers.$.mlp.router.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS, "*mtp.*", "*.mlp.experts.*.gate_proj.weight", "*.mlp.experts.*.up_proj.weight"),
	.inert = IGNORED(MOE_INERT, "qk_head_dim", "attention_method", "mla_scale_*", "zero_expert_type"),
};

// As many heads as keys has each expert: num_attention_heads says nothing.
const struct dialect jetmoe_names = {
	.name = "jetmoe",
	.prefix = "model.",
	.keys = KEYS({ "num_attention_heads", "num_key_value_heads" }, { "head_dim", "kv_channels" },
		{ "hidden_act", "activation_function" }),
	.weights = WEIGHTS(LLAMA_EMBED, TWO_NORMS, HEADS, { "layers.attn.kv", "@layers.#.self_attention.kv_proj" },
		{ "layers.attn.experts.router", "@layers.#.self_attention.experts.router.layer" },
		{ "layers.attn.experts.in", "@layers.#.self_attention.experts.input_linear.weight" },
		{ "layers.attn.experts.out", "@layers.#.self_attention.experts.output_linear.weight" },
		{ "layers.attn.experts.bias", "@layers.#.self_attention.experts.bias" },
		{ "layers.moe.router", "@layers.#.mlp.router.layer" },
		{ "layers.moe.experts.gate_up", "@layers.#.mlp.input_linear.weight" },
		{ "layers.moe.experts.down", "@layers.#.mlp.output_linear.weight" }, { "layers.moe.bias", "@layers.#.mlp.bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "num_attention_heads", "aux_loss_coef", "num_layers", "rotary_percent"),
};

const struct dialect llama4_names = {
	.name = "llama4",
	.prefix = "model.",
	.keys = KEYS({ "moe_intermediate_size", "intermediate_size" }, { "intermediate_size", "intermediate_size_mlp" }),
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_QKV, TWO_NORMS, HEADS, { "layers.attn.o", "@layers.#.self_attn.o_proj" },
		FFN_AT("ffn", "@layers.#.feed_forward"), FFN_AT("moe.shared", "@layers.#.feed_forward.shared_expert"),
		{ "layers.moe.router", "@layers.#.feed_forward.router" },
		{ "layers.moe.experts.gate_up", "@layers.#.feed_forward.experts.gate_up_proj" },
		{ "layers.moe.experts.down", "@layers.#.feed_forward.experts.down_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "router_jitter_noise", "for_llm_compressor"),
};

const struct dialect dbrx_names = {
	.name = "dbrx",
	.prefix = "transformer.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_attention_heads", "n_heads" }, { "num_hidden_layers", "n_layers" },
		{ "max_position_embeddings", "max_seq_len" }),
	.weights = WEIGHTS(HEADS, { "embed.word", "@wte" }, { "norm", "@norm_f" },
		{ "layers.attn.norm", "@blocks.#.norm_attn_norm.norm_1" },
		{ "layers.ffn.norm", "@blocks.#.norm_attn_norm.norm_2" },
		{ "layers.attn.qkv", "@blocks.#.norm_attn_norm.attn.Wqkv" },
		{ "layers.attn.o", "@blocks.#.norm_attn_norm.attn.out_proj" },
		{ "layers.moe.router", "@blocks.#.ffn.router.layer" },
		{ "layers.moe.experts.gate", "@blocks.#.ffn.experts.mlp.w1" },
		{ "layers.moe.experts.up", "@blocks.#.ffn.experts.mlp.v1" },
		{ "layers.moe.experts.down", "@blocks.#.ffn.experts.mlp.w2" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "num_key_value_heads"),
};

const struct dialect laguna_names = {
	.name = "laguna",
	.prefix = "model.",
	.keys = KEYS({ "routed_scaling_factor", "moe_routed_scaling_factor" }),
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_expert"),
		{ "layers.attn.gate", "@layers.#.self_attn.g_proj" }, { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.experts.e_score_correction_bias" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT),
};

const struct dialect gptsan_names = {
	.name = "gptsan",
	.prefix = "model.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_hidden_layers", "num_layers" }, { "num_attention_heads", "num_heads" },
		{ "intermediate_size", "d_ff" }, { "layer_norm_eps", "layer_norm_epsilon" }),
	.weights = WEIGHTS({ "embed.word", "@embed_tokens" }, { "embed.position", "@position_embeddings" },
		{ "embed.more_position", "@extra_position_embeddings" }, { "project", "@last_project" },
		{ "head.lm.out", "lm_head" }, { "head.lm.loose", "final_logits_bias" },
		{ "layers.attn.q", "@blocks.#.self_attn.self_attn.q_proj" },
		{ "layers.attn.k", "@blocks.#.self_attn.self_attn.k_proj" },
		{ "layers.attn.v", "@blocks.#.self_attn.self_attn.v_proj" },
		{ "layers.attn.o", "@blocks.#.self_attn.self_attn.out_proj" }, { "layers.attn.norm", "@blocks.#.self_attn.norm" },
		{ "layers.moe.router", "@blocks.#.feed_forward.mlp.router.classifier" },
		{ "layers.moe.expert.up", "@blocks.#.feed_forward.mlp.experts.expert_*.wi" },
		{ "layers.moe.expert.down", "@blocks.#.feed_forward.mlp.experts.expert_*.wo" },
		{ "layers.bypass", "@blocks.#.feed_forward.soft_bypass_mlp" },
		{ "layers.ffn.norm", "@blocks.#.feed_forward.norm" }, { "layers.ffn.up", "@blocks.#.feed_forward.mlp.wi" },
		{ "layers.ffn.down", "@blocks.#.feed_forward.mlp.wo" }),
	.ignored = IGNORED("*spout.*"),
	.inert = IGNORED(
		"d_spout", "output_router_logits", "router_ignore_padding_tokens", "router_jitter_noise", "separator_token_id"),
};

#define COMPRESSOR(word, at) \
	{ word ".kv", at ".wkv" }, { word ".gate", at ".wgate" }, { word ".place", at ".ape" }, \
	{ \
		word ".norm", at ".norm" \
	}

#define WIDE_FFN(word, at) \
	{ word ".gate", at ".w1" }, { word ".up", at ".w3" }, \
	{ \
		word ".down", at ".w2" \
	}

// Its class heeds neither attention_bias nor the number of shared experts nor norm_topk_prob.
const struct dialect deepseek_v4_names = {
	.name = "deepseek-v4",
	.prefix = "model.",
	.keys = KEYS({ "shared_expert_intermediate_size", "moe_intermediate_size" }),
	.weights = WEIGHTS(LLAMA_EMBED, { "head.lm.out", "head" }, { "layers.attn.norm", "@layers.#.attn_norm" },
		{ "layers.ffn.norm", "@layers.#.ffn_norm" }, { "layers.attn.q_a", "@layers.#.attn.wq_a" },
		{ "layers.attn.q_a_norm", "@layers.#.attn.q_norm" }, { "layers.attn.q_b", "@layers.#.attn.wq_b" },
		{ "layers.attn.kv", "@layers.#.attn.wkv" }, { "layers.attn.kv_norm", "@layers.#.attn.norm" },
		{ "layers.attn.o_a", "@layers.#.attn.wo_a" }, { "layers.attn.o_b", "@layers.#.attn.wo_b" },
		{ "layers.attn.sinks", "@layers.#.attn.attn_sink" }, COMPRESSOR("layers.compress", "@layers.#.attn.compressor"),
		COMPRESSOR("layers.index.compress", "@layers.#.attn.indexer.compressor"),
		{ "layers.index.q", "@layers.#.attn.indexer.wq_b" },
		{ "layers.index.weights", "@layers.#.attn.indexer.weights_proj" }, HYPER("hyper", "@hc_head.hc"),
		HYPER("layers.attn.hyper", "@layers.#.hc_attn"), HYPER("layers.ffn.hyper", "@layers.#.hc_ffn"),
		{ "layers.moe.router", "@layers.#.ffn.gate" }, { "layers.moe.choice_bias", "@layers.#.ffn.gate.bias" },
		{ "layers.moe.hash", "@layers.#.ffn.gate.tid2eid" }, WIDE_FFN("layers.moe.expert", "@layers.#.ffn.experts.*"),
		WIDE_FFN("layers.moe.shared", "@layers.#.ffn.shared_experts")),
	.ignored = IGNORED(BUFFERS, "mtp.*", "*.mtp.*"),
	.inert = IGNORED(
		"num_nextn_predict_layers", "attention_bias", "norm_topk_prob", "n_shared_experts", "num_key_value_heads"),
};
