// SPDX-License-Identifier: Apache-2.0
// What checkpoints of decoders call things in which a recurrence or a convolution takes the place of some layers' attention.
#include "arch/dialect.h"
#include "arch/dialect/llama.h"

// Ways of computing the same.
#define KERNELS "mamba_chunk_size", "use_mamba_kernels", "use_mambapy", "use_associative_scan", "num_logits_to_keep"

#define MAMBA_KEYS \
	{ "state_size", "mamba_d_state" }, { "conv_kernel", "mamba_d_conv" }, { "expand", "mamba_expand" }, \
		{ "use_conv_bias", "mamba_conv_bias" }, \
	{ \
		"mixer_bias", "mamba_proj_bias" \
	}

#define MAMBA2_KEYS \
	MAMBA_KEYS, { "mixer_heads", "mamba_n_heads" }, { "mixer_head_dim", "mamba_d_head" }, \
	{ \
		"n_groups", "mamba_n_groups" \
	}

#define RECURRENCE_AT(at) \
	{ "layers.in", at ".in_proj" }, { "layers.conv", at ".conv1d" }, { "layers.decay", at ".A_log" }, \
		{ "layers.skip", at ".D" }, \
	{ \
		"layers.out", at ".out_proj" \
	}

#define MAMBA2_AT(at) \
	RECURRENCE_AT(at), { "layers.time", at ".dt_bias" }, \
	{ \
		"layers.gated_norm", at ".norm" \
	}

// Norms and feed-forward of Jamba, Bamba and Falcon-H1.
#define JAMBA_LAYERS \
	{ "embed.word", "@embed_tokens" }, { "norm", "@final_layernorm" }, { "layers.attn.norm", "@layers.#.input_layernorm" }, \
		{ "layers.ffn.norm", "@layers.#.pre_ff_layernorm" }, FFN_AT("ffn", "@layers.#.feed_forward")

#define LFM2_BODY \
	LLAMA_QKV, { "embed.word", "@embed_tokens" }, { "norm", "@embedding_norm" }, \
		{ "layers.attn.norm", "@layers.#.operator_norm" }, { "layers.attn.o", "@layers.#.self_attn.out_proj" }, \
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_layernorm" }, \
		{ "layers.attn.k_norm", "@layers.#.self_attn.k_layernorm" }, { "layers.ffn.norm", "@layers.#.ffn_norm" }, \
		{ "layers.ffn.gate", "@layers.#.feed_forward.w1" }, { "layers.ffn.up", "@layers.#.feed_forward.w3" }, \
		{ "layers.ffn.down", "@layers.#.feed_forward.w2" }, { "layers.in", "@layers.#.conv.in_proj" }, \
		{ "layers.conv", "@layers.#.conv.conv" }, \
	{ \
		"layers.out", "@layers.#.conv.out_proj" \
	}

// Words of the original implementation, which transformers keeps and does not read.
#define LFM2_INERT \
	"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale", "block_use_swiglu", \
		"block_use_xavier_init", "conv_dim", "conv_dim_out", "conv_use_xavier_init", "num_heads", "use_pos_enc", "theta"

#define LFM2_KEYS \
	{ "rms_norm_eps", "norm_eps" }, { "conv_kernel", "conv_L_cache" }, { "use_conv_bias", "conv_bias" }, \
		{ "mixer_bias", "conv_bias" }, { "tie_word_embeddings", "tie_embedding" }, \
	{ \
		"tie_word_embeddings", "tie_word_embeddings" \
	}

const struct dialect lfm2_names = {
	.name = "lfm2",
	.prefix = "model.",
	.keys = KEYS(LFM2_KEYS, { "attn_layer_indices", "full_attn_idxs" }, { "intermediate_size", "block_ff_dim" },
		{ "intermediate_size", "intermediate_size" }),
	.weights = WEIGHTS(LFM2_BODY, HEADS),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(LFM2_INERT),
};

const struct dialect lfm2_moe_names = {
	.name = "lfm2-moe",
	.prefix = "model.",
	.keys = KEYS(LFM2_KEYS),
	.weights = WEIGHTS(LFM2_BODY, HEADS, { "layers.moe.router", "@layers.#.feed_forward.gate" },
		{ "layers.moe.choice_bias", "@layers.#.feed_forward.expert_bias" },
		{ "layers.moe.expert.gate", "@layers.#.feed_forward.experts.*.w1" },
		{ "layers.moe.expert.up", "@layers.#.feed_forward.experts.*.w3" },
		{ "layers.moe.expert.down", "@layers.#.feed_forward.experts.*.w2" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(LFM2_INERT, MOE_INERT),
};

const struct dialect lfm3_names = {
	.name = "lfm3",
	.prefix = "model.",
	.keys = KEYS(LFM2_KEYS),
	.weights = WEIGHTS(LLAMA_ATTENTION, HEADS, { "embed.word", "@embed_tokens" }, { "norm", "@embedding_norm" },
		{ "layers.attn.norm", "@layers.#.operator_norm" }, { "layers.attn.after", "@layers.#.post_operator_norm" },
		{ "layers.attn.gate", "@layers.#.self_attn.gate_proj" }, { "layers.attn.gate", "@layers.#.self_attn.g_proj" },
		{ "layers.ffn.norm", "@layers.#.ffn_norm" }, { "layers.ffn.after", "@layers.#.post_ffn_norm" },
		{ "layers.ffn.gate", "@layers.#.feed_forward.w1" }, { "layers.ffn.up", "@layers.#.feed_forward.w3" },
		{ "layers.ffn.down", "@layers.#.feed_forward.w2" }, { "layers.in", "@layers.#.conv.in_proj" },
		{ "layers.conv", "@layers.#.conv.conv" }, { "layers.out", "@layers.#.conv.out_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(LFM2_INERT),
};

const struct dialect recurrent_gemma_names = {
	.name = "recurrent-gemma",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }, { "sliding_window", "attention_window_size" },
		{ "conv_kernel", "conv1d_width" }, { "final_logit_softcapping", "logits_soft_cap" }),
	.weights = WEIGHTS({ "embed.word", "@embed_tokens" }, { "norm", "@final_norm" }, HEADS,
		{ "layers.attn.norm", "@layers.#.temporal_pre_norm" }, { "layers.ffn.norm", "@layers.#.channel_pre_norm" },
		FFN_AT("ffn", "@layers.#.mlp_block"), { "layers.attn.q", "@layers.#.temporal_block.q_proj" },
		{ "layers.attn.k", "@layers.#.temporal_block.k_proj" }, { "layers.attn.v", "@layers.#.temporal_block.v_proj" },
		{ "layers.attn.o", "@layers.#.temporal_block.o_proj" }, { "layers.in", "@layers.#.temporal_block.linear_x" },
		{ "layers.gate", "@layers.#.temporal_block.linear_y" }, { "layers.conv", "@layers.#.temporal_block.conv_1d" },
		{ "layers.out", "@layers.#.temporal_block.linear_out" },
		{ "layers.decay", "@layers.#.temporal_block.rg_lru.recurrent_param" },
		{ "layers.input_gate.weight", "@layers.#.temporal_block.rg_lru.input_gate_weight" },
		{ "layers.input_gate.bias", "@layers.#.temporal_block.rg_lru.input_gate_bias" },
		{ "layers.recurrent_gate.weight", "@layers.#.temporal_block.rg_lru.recurrent_gate_weight" },
		{ "layers.recurrent_gate.bias", "@layers.#.temporal_block.rg_lru.recurrent_gate_bias" }),
	.ignored = IGNORED(BUFFERS, "*normalizer"),
	.inert = IGNORED("*w_init_variance_scale", "head_dim"),
};

const struct dialect jamba_names = {
	.name = "jamba",
	.prefix = "model.",
	.keys = KEYS(MAMBA_KEYS, { "time_step_rank", "mamba_dt_rank" }),
	.weights = WEIGHTS(JAMBA_LAYERS, LLAMA_QKV, HEADS, RECURRENCE_AT("@layers.#.mamba"),
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }, { "layers.select", "@layers.#.mamba.x_proj" },
		{ "layers.time", "@layers.#.mamba.dt_proj" }, { "layers.time_norm", "@layers.#.mamba.dt_layernorm" },
		{ "layers.b_norm", "@layers.#.mamba.b_layernorm" }, { "layers.c_norm", "@layers.#.mamba.c_layernorm" },
		{ "layers.moe.router", "@layers.#.feed_forward.router" },
		FFN_AT("moe.expert", "@layers.#.feed_forward.experts.*")),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(KERNELS, MOE_INERT, "calc_logits_for_entire_prompt", "mamba_inner_layernorms"),
};

#define ZAMBA_BLOCK(block) \
	{ "embed.word", "@embed_tokens" }, { "norm", "@final_layernorm" }, { "layers.block.norm", block ".input_layernorm" }, \
		{ "layers.block.out", "@layers.#.linear" }, { "layers.attn.q", block ".self_attn.q_proj" }, \
		{ "layers.attn.k", block ".self_attn.k_proj" }, { "layers.attn.v", block ".self_attn.v_proj" }, \
		{ "layers.attn.o", block ".self_attn.o_proj" }, { "layers.ffn.norm", block ".pre_ff_layernorm" }, \
		{ "layers.norm", "@layers.#.input_layernorm" }, \
	{ \
		"layers.norm", "@layers.#.mamba_decoder.input_layernorm" \
	}

#define ZAMBA_MAMBA(at) \
	RECURRENCE_AT(at), { "layers.select", at ".x_proj_weight" }, { "layers.time.weight", at ".dt_proj_weight" }, \
	{ \
		"layers.time.bias", at ".dt_proj_bias" \
	}

#define ZAMBA_INERT "time_step_floor", "time_step_max", "hybrid_layer_ids", "kv_channels", "num_query_groups"

const struct dialect zamba_names = {
	.name = "zamba",
	.prefix = "model.",
	.keys = KEYS(MAMBA_KEYS, { "time_step_rank", "mamba_dt_rank" }, { "head_dim", "attention_head_dim" },
		{ "layer_types", "layers_block_type" }, { "selecting_heads", "n_mamba_heads" },
		{ "mixer_act", "hidden_mamba_act" }, { "block_period", "attn_layer_period" },
		{ "block_offset", "attn_layer_offset" }, { "attn_layer_period", "attention_layer_period" },
		{ "attn_layer_offset", "attention_layer_offset" }),
	.weights = WEIGHTS(ZAMBA_BLOCK("@layers.$.shared_transf"), HEADS, ZAMBA_MAMBA("@layers.#.mamba"),
		ZAMBA_MAMBA("@layers.#.mamba_decoder.mamba"), FFN_AT("ffn", "@layers.$.shared_transf.feed_forward")),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(KERNELS, ZAMBA_INERT, "time_step_min"),
};

// A convolution always has a bias.
const struct dialect zamba2_names = {
	.name = "zamba2",
	.prefix = "model.",
	.keys = KEYS({ "state_size", "mamba_d_state" }, { "conv_kernel", "mamba_d_conv" }, { "expand", "mamba_expand" },
		{ "mixer_bias", "add_bias_linear" }, { "mixer_heads", "n_mamba_heads" }, { "mixer_head_dim", "mamba_headdim" },
		{ "n_groups", "mamba_ngroups" }, { "head_dim", "attention_head_dim" }, { "layer_types", "layers_block_type" },
		{ "use_conv_bias", "convolution_bias" }),
	.weights = WEIGHTS(ZAMBA_BLOCK("@layers.$.shared_transformer"), HEADS, MAMBA2_AT("@layers.#.mamba"),
		MAMBA2_AT("@layers.#.mamba_decoder.mamba"),
		{ "layers.attn.q.adapter_a", "@layers.$.shared_transformer.self_attn.linear_q_adapter_list.*.0" },
		{ "layers.attn.q.adapter_b", "@layers.$.shared_transformer.self_attn.linear_q_adapter_list.*.1" },
		{ "layers.attn.k.adapter_a", "@layers.$.shared_transformer.self_attn.linear_k_adapter_list.*.0" },
		{ "layers.attn.k.adapter_b", "@layers.$.shared_transformer.self_attn.linear_k_adapter_list.*.1" },
		{ "layers.attn.v.adapter_a", "@layers.$.shared_transformer.self_attn.linear_v_adapter_list.*.0" },
		{ "layers.attn.v.adapter_b", "@layers.$.shared_transformer.self_attn.linear_v_adapter_list.*.1" },
		{ "layers.ffn.gate_up", "@layers.$.shared_transformer.feed_forward.gate_up_proj" },
		{ "layers.ffn.down", "@layers.$.shared_transformer.feed_forward.down_proj" },
		{ "layers.ffn.gate_up.adapter_a", "@layers.$.shared_transformer.feed_forward.gate_up_proj_adapter_list.*.0" },
		{ "layers.ffn.gate_up.adapter_b", "@layers.$.shared_transformer.feed_forward.gate_up_proj_adapter_list.*.1" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(KERNELS, ZAMBA_INERT, "chunk_size", "use_mem_eff_path", "use_conv_bias", "use_long_context"),
};

const struct dialect bamba_names = {
	.name = "bamba",
	.prefix = "model.",
	.keys = KEYS(MAMBA2_KEYS),
	.weights = WEIGHTS(JAMBA_LAYERS, LLAMA_ATTENTION, HEADS, MAMBA2_AT("@layers.#.mamba")),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(KERNELS, "attn_rotary_emb", "z_loss_coefficient"),
};

const struct dialect falcon_h1_names = {
	.name = "falcon-h1",
	.prefix = "model.",
	.keys = KEYS(MAMBA2_KEYS, { "mixer_width", "mamba_d_ssm" }, { "mixer_out_bias", "projectors_bias" },
		{ "logit_scale", "lm_head_multiplier" }),
	.weights = WEIGHTS(JAMBA_LAYERS, LLAMA_ATTENTION, HEADS, MAMBA2_AT("@layers.#.mamba")),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(KERNELS, "attn_layer_indices", "mamba_use_mlp", "mlp_expansion_factor"),
};

const struct dialect granitemoehybrid_names = {
	.name = "granitemoehybrid",
	.prefix = "model.",
	.keys = KEYS(MAMBA2_KEYS, { "layer_types", "layer_types" }, { "layer_types", "layers_block_type" }),
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, GRANITE_SHARED, MAMBA2_AT("@layers.#.mamba"),
		{ "layers.ffn.gate_up", "@layers.#.shared_mlp.input_linear" },
		{ "layers.ffn.down", "@layers.#.shared_mlp.output_linear" },
		{ "layers.moe.router", "@layers.#.block_sparse_moe.router.layer" },
		{ "layers.moe.experts.gate_up", "@layers.#.block_sparse_moe.input_linear.weight" },
		{ "layers.moe.experts.down", "@layers.#.block_sparse_moe.output_linear.weight" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(KERNELS, MOE_INERT, "init_method", "normalization_function"),
};

#define DELTA_KEYS \
	{ "state_size", "linear_key_head_dim" }, { "conv_kernel", "linear_conv_kernel_dim" }, \
		{ "mixer_heads", "linear_num_value_heads" }, { "mixer_head_dim", "linear_value_head_dim" }, \
	{ \
		"n_groups", "linear_num_key_heads" \
	}

#define DELTA_AT(at) \
	{ "layers.conv", at ".conv1d" }, { "layers.decay", at ".A_log" }, { "layers.time", at ".dt_bias" }, \
		{ "layers.gated_norm", at ".norm" }, \
	{ \
		"layers.out", at ".out_proj" \
	}

// Query, key and value, gate, beta and step each in a tensor.
#define QWEN3_5_DELTA \
	DELTA_AT("@layers.#.linear_attn"), { "layers.in", "@layers.#.linear_attn.in_proj_qkv" }, \
		{ "layers.gate", "@layers.#.linear_attn.in_proj_z" }, { "layers.beta", "@layers.#.linear_attn.in_proj_b" }, \
	{ \
		"layers.step", "@layers.#.linear_attn.in_proj_a" \
	}

const struct dialect qwen3_5_names = {
	.name = "qwen3-5",
	.prefix = "model.",
	.keys = KEYS(DELTA_KEYS),
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, QWEN3_5_DELTA),
	.ignored = IGNORED(BUFFERS, "mtp.*"),
	.inert = IGNORED(MOE_INERT, "mtp_*", "mamba_ssm_dtype"),
};

const struct dialect qwen3_5_moe_names = {
	.name = "qwen3-5-moe",
	.prefix = "model.",
	.keys = KEYS(DELTA_KEYS),
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, QWEN3_5_DELTA, EXPERTS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_expert"), { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.shared_gate", "@layers.#.mlp.shared_expert_gate" }),
	.ignored = IGNORED(BUFFERS, "mtp.*"),
	.inert = IGNORED(MOE_INERT, "mtp_*", "mamba_ssm_dtype"),
};

#define DELTA_PARTS(at) \
	{ "layers.query", at ".q_proj" }, { "layers.key", at ".k_proj" }, { "layers.value", at ".v_proj" }, \
		{ "layers.conv_query", at ".q_conv1d" }, { "layers.conv_key", at ".k_conv1d" }, \
		{ "layers.conv_value", at ".v_conv1d" }, { "layers.beta", at ".b_proj" }, { "layers.decay", at ".A_log" }, \
		{ "layers.time", at ".dt_bias" }, { "layers.gated_norm", at ".o_norm" }, \
	{ \
		"layers.out", at ".o_proj" \
	}

// Layers with attention have their norms after it.
const struct dialect olmo_hybrid_names = {
	.name = "olmo-hybrid",
	.prefix = "model.",
	.keys = KEYS(DELTA_KEYS),
	.weights = WEIGHTS(LLAMA_BODY, HEADS, DELTA_PARTS("@layers.#.linear_attn"),
		{ "layers.gate", "@layers.#.linear_attn.g_proj" }, { "layers.step", "@layers.#.linear_attn.a_proj" },
		{ "layers.attn.norm", "@layers.#.attention_layer_norm" }, { "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.ffn.norm", "@layers.#.feedforward_layer_norm" },
		{ "layers.ffn.norm", "@layers.#.post_attention_layernorm" },
		{ "layers.attn.after", "@layers.#.feedforward_layer_norm" },
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("linear_a_log_*", "linear_dt_*"),
};

const struct dialect kimi_linear_names = {
	.name = "kimi-linear",
	.prefix = "model.",
	.keys = KEYS({ "max_position_embeddings", "model_max_length" }, { "norm_topk_prob", "moe_renormalize" },
		{ "n_group", "num_expert_group" }, { "state_size", "linear_head_dim" }, { "mixer_head_dim", "linear_head_dim" },
		{ "mixer_heads", "linear_num_heads" }, { "n_groups", "linear_num_heads" },
		{ "conv_kernel", "linear_conv_kernel_dim" }),
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, TWO_NORMS, HEADS, DELTA_PARTS("@layers.#.self_attn"),
		FFN_AT("ffn", "@layers.#.block_sparse_moe"), LLAMA_FFN, MIXTRAL_EXPERTS,
		FFN_AT("moe.shared", "@layers.#.block_sparse_moe.shared_experts"),
		{ "layers.moe.choice_bias", "@layers.#.block_sparse_moe.gate.e_score_correction_bias" },
		{ "layers.gate_a", "@layers.#.self_attn.g_a_proj" }, { "layers.gate_b", "@layers.#.self_attn.g_b_proj" },
		{ "layers.step_a", "@layers.#.self_attn.f_a_proj" }, { "layers.step_b", "@layers.#.self_attn.f_b_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim", "mla_use_nope", "moe_router_activation_func", "use_grouped_topk", "rope_*"),
};

const struct dialect glm5_next_names = {
	.name = "glm5-next",
	.prefix = "model.",
	.keys = KEYS({ "state_size", "linear_head_dim" }, { "mixer_head_dim", "linear_head_dim" },
		{ "mixer_heads", "linear_num_heads" }, { "n_groups", "linear_num_heads" },
		{ "conv_kernel", "linear_conv_kernel_dim" }, { "kda_lower_bound", "linear_lower_bound" },
		{ "head_dim", "qk_nope_head_dim" }),
	.weights = WEIGHTS(LLAMA_EMBED, LATENT_ATTENTION, TWO_NORMS, HEADS, LLAMA_FFN, EXPERTS,
		DELTA_PARTS("@layers.#.self_attn"), { "layers.gate_a", "@layers.#.self_attn.g_a_proj" },
		{ "layers.gate_b", "@layers.#.self_attn.g_b_proj" }, { "layers.step_a", "@layers.#.self_attn.f_a_proj" },
		{ "layers.step_b", "@layers.#.self_attn.f_b_proj" }, HYPER("layers.attn.hyper", "@layers.#.hc_attn"),
		HYPER("layers.ffn.hyper", "@layers.#.hc_ffn"), FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"),
		{ "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" },
		{ "layers.index.q", "@layers.#.self_attn.indexer.wq_b" }, { "layers.index.k", "@layers.#.self_attn.indexer.wk" },
		{ "layers.index.k_norm", "@layers.#.self_attn.indexer.k_norm" },
		{ "layers.index.weights", "@layers.#.self_attn.indexer.weights_proj" },
		{ "layers.index.pool", "@layers.#.self_attn.indexer.index_kpool_compress_gate" },
		{ "layers.index.place", "@layers.#.self_attn.indexer.index_kpool_compress_ape" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "head_dim", "qk_head_dim"),
};

// Its attention has no biases, its recurrence only those of use_bias; heads alone say how many channels a recurrence has.
const struct dialect nemotron_h_names = {
	.name = "nemotron-h",
	.prefix = "backbone.",
	.other_prefixes = (const char *const[]){ "model.", NULL },
	.keys = KEYS({ "rms_norm_eps", "layer_norm_epsilon" }, { "listed_layers", "layers_block_type" },
		{ "layer_letters", "hybrid_override_pattern" }, { "hidden_act", "mlp_hidden_act" },
		{ "mixer_act", "mamba_hidden_act" }, { "state_size", "ssm_state_size" }, { "mixer_heads", "mamba_num_heads" },
		{ "mixer_by_heads", "mamba_num_heads" }, { "mixer_head_dim", "mamba_head_dim" }, { "mixer_bias", "use_bias" },
		{ "use_bias", "use_bias_everywhere" }, { "attention_bias", "attention_has_bias" }, { "n_groups", "n_groups" },
		{ "n_groups", "mamba_n_groups" }, { "conv_kernel", "conv_kernel" }, { "conv_kernel", "mamba_d_conv" },
		{ "use_conv_bias", "use_conv_bias" }, { "use_conv_bias", "mamba_conv_bias" },
		{ "time_step_limit", "time_step_limit" }, { "time_step_limit", "mamba_dt_limit" },
		{ "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings" }, { "embed.word", "@embed_tokens" }, { "norm", "@norm_f" }, HEADS,
		{ "layers.norm", "@layers.#.norm" }, MAMBA2_AT("@layers.#.mixer"), { "layers.attn.q", "@layers.#.mixer.q_proj" },
		{ "layers.attn.k", "@layers.#.mixer.k_proj" }, { "layers.attn.v", "@layers.#.mixer.v_proj" },
		{ "layers.attn.o", "@layers.#.mixer.o_proj" }, { "layers.ffn.up", "@layers.#.mixer.up_proj" },
		{ "layers.ffn.down", "@layers.#.mixer.down_proj" }, { "layers.moe.router", "@layers.#.mixer.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mixer.gate.e_score_correction_bias" },
		{ "layers.moe.latent_in", "@layers.#.mixer.fc1_latent_proj" },
		{ "layers.moe.latent_out", "@layers.#.mixer.fc2_latent_proj" }, FFN_AT("moe.expert", "@layers.#.mixer.experts.*"),
		FFN_AT("moe.shared", "@layers.#.mixer.shared_experts")),
	.ignored = IGNORED(BUFFERS, "mtp.*"),
	.inert = IGNORED(KERNELS, MOE_INERT, "attention_bias", "rms_norm_eps", "norm_eps", "time_step_rank", "chunk_size",
		"expand", "mamba_expand", "mamba_proj_bias", "mamba_ssm_cache_dtype", "moe_shared_expert_overlap", "mtp_*",
		"num_hidden_layers", "rescale_prenorm_residual", "residual_in_fp32", "sliding_window", "time_step_floor",
		"time_step_max", "time_step_min", "mamba_dt_*"),
};

const struct dialect qwen3_next_names = {
	.name = "qwen3-next",
	.prefix = "model.",
	.keys = KEYS(DELTA_KEYS),
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, EXPERTS, FFN_AT("moe.shared", "@layers.#.mlp.shared_expert"),
		DELTA_AT("@layers.#.linear_attn"), { "layers.in", "@layers.#.linear_attn.in_proj_qkvz" },
		{ "layers.beta_step", "@layers.#.linear_attn.in_proj_ba" }, { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.shared_gate", "@layers.#.mlp.shared_expert_gate" }),
	.ignored = IGNORED(BUFFERS, "mtp.*"),
	.inert = IGNORED(MOE_INERT),
};

#define HYPER_BY_RANK(word, stem) \
	{ word ".norm", stem ".hc_norm" }, { word ".down", stem ".input_mix_weight_down" }, \
	{ \
		word ".up", stem ".input_mix_weight_up" \
	}

const struct dialect qwen4_exp_names = {
	.name = "qwen4-exp",
	.prefix = "model.",
	.keys = KEYS(DELTA_KEYS, { "hc_mult", "hc_count" }, { "index_n_heads", "indexer_n_heads" },
		{ "index_head_dim", "indexer_head_dim" }, { "index_topk", "indexer_budget" }),
	.weights = WEIGHTS({ "embed.word", "@embed_tokens" }, LLAMA_ATTENTION, HEADS, QWEN3_5_DELTA, EXPERTS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_expert"), { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.shared_gate", "@layers.#.mlp.shared_expert_gate" },
		HYPER_BY_RANK("layers.attn.hyper", "@layers.#.attn_hyper_connection"),
		{ "layers.attn.hyper.inject", "@layers.#.attn_hyper_connection.block_inject_weight" },
		HYPER_BY_RANK("layers.ffn.hyper", "@layers.#.mlp_hyper_connection"),
		{ "layers.ffn.hyper.inject", "@layers.#.mlp_hyper_connection.block_inject_weight" },
		HYPER_BY_RANK("hyper", "@hyper_connection_mixer"),
		{ "layers.index.qk", "@layers.#.self_attn.indexer.index_qk_proj" },
		{ "layers.index.q_norm", "@layers.#.self_attn.indexer.q_layernorm" },
		{ "layers.index.k_norm", "@layers.#.self_attn.indexer.k_layernorm" }),
	.ignored = IGNORED(BUFFERS, "mtp.*"),
	.inert = IGNORED(MOE_INERT, "mtp_*", "mamba_ssm_dtype", "number_of_conv_states", "ple_embed_dim", "ple_conv_kernel_size",
		"ngram_size", "heads_per_ngram", "ngram_vocab_size_base", "make_ngram_vocab_size_divisible_by", "seed",
		"split_ngram_parts"),
};

const struct dialect bailing_hybrid_names = {
	.name = "bailing-hybrid",
	.prefix = "model.",
	.keys = KEYS({ "max_position_embeddings", "model_max_length" }, { "norm_topk_prob", "moe_renormalize" },
		{ "n_group", "num_expert_group" }, { "state_size", "linear_head_dim" }, { "state_size", "head_dim" },
		{ "mixer_head_dim", "linear_head_dim" }, { "mixer_head_dim", "head_dim" }, { "mixer_heads", "linear_num_heads" },
		{ "mixer_heads", "num_attention_heads" }, { "n_groups", "linear_num_heads" },
		{ "n_groups", "num_attention_heads" }, { "conv_kernel", "linear_conv_kernel_dim" },
		{ "conv_kernel", "short_conv_kernel_size" }, { "full_attention_interval", "layer_group_size" }),
	.weights = WEIGHTS({ "embed.word", "@word_embeddings" }, { "norm", "@norm" }, TWO_NORMS, HEADS, LLAMA_FFN, EXPERTS,
		FFN_AT("moe.shared", "@layers.#.mlp.shared_experts"), { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.expert_bias" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" },
		{ "layers.attn.q", "@layers.#.attention.q_proj" },
		{ "layers.attn.kv_a", "@layers.#.attention.kv_a_proj_with_mqa" },
		{ "layers.attn.kv_a_norm", "@layers.#.attention.kv_a_layernorm" },
		{ "layers.attn.kv_b", "@layers.#.attention.kv_b_proj" }, { "layers.attn.gate", "@layers.#.attention.g_proj" },
		{ "layers.attn.o", "@layers.#.attention.dense" }, DELTA_PARTS("@layers.#.attention"),
		{ "layers.out", "@layers.#.attention.dense" }, { "layers.gate", "@layers.#.attention.g_proj" },
		{ "layers.step", "@layers.#.attention.f_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(MOE_INERT, "qk_head_dim", "mtp_*", "num_mtp_layers"),
};

const struct dialect inkling_names = {
	.name = "inkling",
	.prefix = "model.",
	.keys = KEYS({ "sliding_window", "sliding_window_size" }, { "conv_kernel", "conv_kernel_size" },
		{ "conv_kernel", "sconv_kernel_size" }, { "max_position_embeddings", "max_position_embeddings" },
		{ "max_position_embeddings", "model_max_length" }),
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, { "head.lm.out", "lm_head" }, { "embed.norm", "@embed_tokens.embed_norm" },
		{ "layers.attn.relative", "@layers.#.self_attn.r_proj" },
		{ "layers.attn.profiles", "@layers.#.self_attn.rel_logits_proj.proj" },
		{ "layers.attn.k_conv", "@layers.#.self_attn.k_sconv.conv1d" },
		{ "layers.attn.v_conv", "@layers.#.self_attn.v_sconv.conv1d" },
		{ "layers.attn.conv", "@layers.#.attn_sconv.conv1d" }, { "layers.ffn.conv", "@layers.#.mlp_sconv.conv1d" },
		{ "layers.ffn.scale", "@layers.#.mlp.global_scale" }, { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" },
		{ "layers.moe.scale", "@layers.#.mlp.gate.global_scale" },
		{ "layers.moe.experts.gate_up", "@layers.#.mlp.experts.gate_up_proj" },
		{ "layers.moe.experts.down", "@layers.#.mlp.experts.down_proj" },
		{ "layers.moe.shared.gate", "@layers.#.mlp.shared_experts.gate_proj" },
		{ "layers.moe.shared.up", "@layers.#.mlp.shared_experts.up_proj" },
		{ "layers.moe.shared.down", "@layers.#.mlp.shared_experts.down_proj" }),
	.ignored = IGNORED(BUFFERS, "*mtp.*"),
	.inert = IGNORED("chain_hidden_post_norm", "mtp_*", "num_mtp_layers", "number_of_conv_states", "rms_norm_eps_moe_gate",
		"tie_word_embeddings"),
};

// The queries of what looks back at earlier blocks lie apart, and a layer's own begin with the second layer.
const struct dialect inkling2_names = {
	.name = "inkling2",
	.prefix = "model.llm.",
	.keys = KEYS({ "sliding_window", "sliding_window_size" }, { "conv_kernel", "conv_kernel_size" },
		{ "conv_kernel", "sconv_kernel_size" }, { "max_position_embeddings", "max_position_embeddings" },
		{ "max_position_embeddings", "model_max_length" }, { "intermediate_size", "moe_intermediate_size" },
		{ "intermediate_size", "intermediate_size" }, { "n_routed_experts", "n_routed_experts" },
		{ "n_routed_experts", "num_local_experts" }, { "route_scale", "route_scale" },
		{ "route_scale", "routed_scaling_factor" }),
	.weights = WEIGHTS({ "embed.word", "@embed" }, { "embed.norm", "@embed_norm" }, { "norm", "@norm" },
		{ "head.lm.out", "@unembed" }, { "residual.attn", "@attn_res.attn_queries.#" },
		{ "residual.ffn", "@attn_res.mlp_queries.#" }, { "residual.out", "@attn_res.output_query" },
		{ "layers.attn.norm", "@layers.#.attn_norm" }, { "layers.attn.norm_of_q", "@layers.#.q_input_norm" },
		{ "layers.attn.norm_of_k", "@layers.#.k_input_norm" }, { "layers.attn.norm_of_v", "@layers.#.v_input_norm" },
		{ "layers.attn.q", "@layers.#.attn.wq_du" }, { "layers.attn.k", "@layers.#.attn.wk_dv" },
		{ "layers.attn.v", "@layers.#.attn.wv_dv" }, { "layers.attn.o", "@layers.#.attn.wo_ud" },
		{ "layers.attn.gate", "@layers.#.attn.gate_attn" }, { "layers.attn.sink", "@layers.#.attn.attn_sink_proj" },
		{ "layers.attn.q_clip", "@layers.#.attn.q_l2_clip.scale" }, { "layers.attn.relative", "@layers.#.attn.wr_du" },
		{ "layers.attn.relative_clip", "@layers.#.attn.rel_l2_clip.scale" },
		{ "layers.attn.profiles", "@layers.#.attn.rel_logits_proj.proj" },
		{ "layers.attn.k_conv", "@layers.#.attn.k_sconv" }, { "layers.attn.v_conv", "@layers.#.attn.v_sconv" },
		{ "layers.attn.k_conv.fixed", "@layers.#.attn.k_sconv.static_w" },
		{ "layers.attn.k_conv.made", "@layers.#.attn.k_sconv.weight_proj" },
		{ "layers.attn.v_conv.fixed", "@layers.#.attn.v_sconv.static_w" },
		{ "layers.attn.v_conv.made", "@layers.#.attn.v_sconv.weight_proj" },
		{ "layers.attn.conv", "@layers.#.attn_sconv" }, { "layers.ffn.norm", "@layers.#.mlp_norm" },
		{ "layers.ffn.conv", "@layers.#.mlp_sconv" }, { "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.bias" },
		{ "layers.moe.experts.gate_up", "@layers.#.mlp.experts.w13_weight" },
		{ "layers.moe.experts.down", "@layers.#.mlp.experts.w2_weight" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("number_of_conv_states", "tie_word_embeddings"),
};

const struct dialect zaya_names = {
	.name = "zaya",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, TWO_NORMS, { "head.lm.out", "lm_head" }, { "embed.bias", "@input_hidden_states_bias" },
		{ "embed.scale", "@input_hidden_states_scale" }, { "layers.attn.sum", "@layers.#.post_attention_residual_scale" },
		{ "layers.ffn.sum", "@layers.#.post_mlp_residual_scale" },
		{ "layers.attn.q", "@layers.#.self_attn.qkv_proj.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.qkv_proj.k_proj" },
		{ "layers.attn.v", "@layers.#.self_attn.qkv_proj.v_proj_current" },
		{ "layers.attn.v_before", "@layers.#.self_attn.qkv_proj.v_proj_delayed" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.attn.each", "@layers.#.self_attn.qkv_proj.conv_qk_depthwise" },
		{ "layers.attn.heads", "@layers.#.self_attn.qkv_proj.conv_qk_grouped" },
		{ "layers.attn.key_scale", "@layers.#.self_attn.qk_norm.temp" },
		{ "layers.moe.experts.gate_up", "@layers.#.mlp.experts.gate_up_proj" },
		{ "layers.moe.experts.down", "@layers.#.mlp.experts.down_proj" },
		{ "layers.moe.in", "@layers.#.mlp.gate.down_proj" },
		{ "layers.moe.before_scale", "@layers.#.mlp.gate.router_states_scale" },
		{ "layers.moe.norm_in", "@layers.#.mlp.gate.router_mlp.norm" },
		{ "layers.moe.first", "@layers.#.mlp.gate.router_mlp.fc1" },
		{ "layers.moe.second", "@layers.#.mlp.gate.router_mlp.fc2" },
		{ "layers.moe.router", "@layers.#.mlp.gate.router_mlp.out_proj" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.balancing_biases" }),
	.ignored = IGNORED(BUFFERS),
};
