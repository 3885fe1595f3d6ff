// SPDX-License-Identifier: Apache-2.0
// What checkpoints of state space models call things.
#include "arch/dialect.h"

const struct dialect mamba_names = {
	.name = "mamba",
	.prefix = "backbone.",
	.keys = KEYS({ "rms_norm_eps", "layer_norm_epsilon" }, { "mixer_bias", "use_bias" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings" }, { "norm", "@norm_f" }, { "head.lm.out", "lm_head" },
		{ "layers.norm", "@layers.#.norm" }, { "layers.in", "@layers.#.mixer.in_proj" },
		{ "layers.conv", "@layers.#.mixer.conv1d" }, { "layers.select", "@layers.#.mixer.x_proj" },
		{ "layers.time", "@layers.#.mixer.dt_proj" }, { "layers.decay", "@layers.#.mixer.A_log" },
		{ "layers.skip", "@layers.#.mixer.D" }, { "layers.out", "@layers.#.mixer.out_proj" }),
	.ignored = IGNORED(NULL),
	// What decides how weights are made, or which of several ways of computing the same is taken; and the words of the
	// original implementation, which transformers keeps and does not read.
	.inert = IGNORED("d_inner", "d_model", "fused_add_norm", "n_layer", "pad_vocab_size_multiple", "rms_norm", "ssm_cfg",
		"rescale_prenorm_residual", "residual_in_fp32", "time_step_floor", "time_step_init_scheme", "time_step_max",
		"time_step_min", "time_step_scale", "use_associative_scan", "use_mambapy"),
};

const struct dialect mamba2_names = {
	.name = "mamba2",
	.prefix = "backbone.",
	.keys = KEYS({ "rms_norm_eps", "layer_norm_epsilon" }, { "num_attention_heads", "num_heads" },
		{ "mixer_heads", "num_heads" }, { "mixer_head_dim", "head_dim" }, { "mixer_bias", "use_bias" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings" }, { "norm", "@norm_f" }, { "head.lm.out", "lm_head" },
		{ "layers.norm", "@layers.#.norm" }, { "layers.in", "@layers.#.mixer.in_proj" },
		{ "layers.conv", "@layers.#.mixer.conv1d" }, { "layers.time", "@layers.#.mixer.dt_bias" },
		{ "layers.decay", "@layers.#.mixer.A_log" }, { "layers.skip", "@layers.#.mixer.D" },
		{ "layers.gated_norm", "@layers.#.mixer.norm" }, { "layers.out", "@layers.#.mixer.out_proj" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("chunk_size", "rescale_prenorm_residual", "residual_in_fp32", "time_step_floor", "time_step_max",
		"time_step_min", "time_step_rank"),
};

const struct dialect rwkv_names = {
	.name = "rwkv",
	.prefix = "rwkv.",
	.keys = KEYS({ "layer_norm_eps", "layer_norm_epsilon" }, { "max_position_embeddings", "context_length" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings" }, { "embed.norm", "@blocks.0.pre_ln" }, { "norm", "@ln_out" },
		{ "head.lm.out", "head" }, { "layers.attn.norm", "@blocks.#.ln1" }, { "layers.ffn.norm", "@blocks.#.ln2" },
		{ "layers.attn.mix_k", "@blocks.#.attention.time_mix_key" },
		{ "layers.attn.mix_v", "@blocks.#.attention.time_mix_value" },
		{ "layers.attn.mix_r", "@blocks.#.attention.time_mix_receptance" },
		{ "layers.attn.k", "@blocks.#.attention.key" }, { "layers.attn.v", "@blocks.#.attention.value" },
		{ "layers.attn.r", "@blocks.#.attention.receptance" }, { "layers.attn.o", "@blocks.#.attention.output" },
		{ "layers.decay", "@blocks.#.attention.time_decay" }, { "layers.first", "@blocks.#.attention.time_first" },
		{ "layers.ffn.mix_k", "@blocks.#.feed_forward.time_mix_key" },
		{ "layers.ffn.mix_r", "@blocks.#.feed_forward.time_mix_receptance" },
		{ "layers.ffn.up", "@blocks.#.feed_forward.key" }, { "layers.ffn.r", "@blocks.#.feed_forward.receptance" },
		{ "layers.ffn.down", "@blocks.#.feed_forward.value" }),
	.ignored = IGNORED(NULL),
};

const struct dialect xlstm_names = {
	.name = "xlstm",
	.prefix = "backbone.",
	.keys = KEYS({ "num_attention_heads", "num_heads" }, { "rms_norm_eps", "norm_eps" },
		{ "num_hidden_layers", "num_hidden_layers" }, { "num_hidden_layers", "num_blocks" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings" }, { "norm", "@out_norm" }, { "head.lm.out", "lm_head" },
		{ "layers.norm", "@blocks.#.norm_mlstm" }, { "layers.q", "@blocks.#.mlstm_layer.q" },
		{ "layers.k", "@blocks.#.mlstm_layer.k" }, { "layers.v", "@blocks.#.mlstm_layer.v" },
		{ "layers.gate", "@blocks.#.mlstm_layer.ogate_preact" }, { "layers.in", "@blocks.#.mlstm_layer.igate_preact" },
		{ "layers.forget", "@blocks.#.mlstm_layer.fgate_preact" }, { "layers.qkvo", "@blocks.#.mlstm_layer.qkv_opreact" },
		{ "layers.gates", "@blocks.#.mlstm_layer.ifgate_preact" },
		{ "layers.head_norm", "@blocks.#.mlstm_layer.multihead_norm" },
		{ "layers.out", "@blocks.#.mlstm_layer.out_proj" }, { "layers.ffn.norm", "@blocks.#.norm_ffn" },
		{ "layers.ffn.gate", "@blocks.#.ffn.proj_up_gate" }, { "layers.ffn.up", "@blocks.#.ffn.proj_up" },
		{ "layers.ffn.gate_up", "@blocks.#.ffn.proj_up_gate_z" }, { "layers.ffn.down", "@blocks.#.ffn.proj_down" }),
	.ignored = IGNORED(NULL),
	// Which of several ways of computing the same is taken, and what the class derives from other keys.
	.inert = IGNORED("add_out_norm", "autocast_kernel_dtype", "chunk_size", "chunkwise_kernel", "embedding_dim",
		"inference_state_dtype", "max_inference_chunksize", "mode", "norm_reduction_force_float32", "return_last_states",
		"sequence_kernel", "step_kernel"),
};

const struct dialect mega_names = {
	.name = "mega",
	.prefix = "mega.",
	.keys = KEYS({ "hidden_act", "activation" }, { "max_position_embeddings", "max_positions" }),
	.weights = WEIGHTS({ "embed.word", "@embedding_layer.word_embeddings" },
		{ "embed.type", "@embedding_layer.token_type_embeddings" },
		{ "layers.attn.norm", "@layers.#.mega_layer.norm.norm" }, { "layers.attn.v", "@layers.#.mega_layer.v_proj" },
		{ "layers.attn.in", "@layers.#.mega_layer.mx_proj" }, { "layers.attn.o", "@layers.#.mega_layer.h_proj" },
		{ "layers.attn.scale", "@layers.#.mega_layer.qk_weight" },
		{ "layers.attn.offset", "@layers.#.mega_layer.qk_bias" },
		{ "layers.attn.rotary", "@layers.#.mega_layer.rel_pos_bias" },
		{ "layers.attn.bias", "@layers.#.mega_layer.rel_pos_bias.rel_pos_bias" },
		{ "layers.ema.alpha", "@layers.#.mega_layer.ema_gate.damping_factor" },
		{ "layers.ema.delta", "@layers.#.mega_layer.ema_gate.decay_factor" },
		{ "layers.ema.beta", "@layers.#.mega_layer.ema_gate.ema_expansion_matrix" },
		{ "layers.ema.gamma", "@layers.#.mega_layer.ema_gate.kernel_projection_matrix" },
		{ "layers.ema.omega", "@layers.#.mega_layer.ema_gate.residual_weight" },
		{ "layers.ffn.norm", "@layers.#.nffn.norm.norm" }, { "layers.ffn.up", "@layers.#.nffn.fc1" },
		{ "layers.ffn.down", "@layers.#.nffn.fc2" }, { "pooler", "@pooler.dense" }, { "head.lm.dense", "dense" },
		{ "head.mlm.out", "mlm_head" }, { "head.lm.out", "lm_head" }, { "head.sequence.dense", "classifier.dense" },
		{ "head.sequence.out", "classifier.out_proj" }, { "head.token", "classifier" }, { "head.span", "qa_outputs" }),
	.ignored = IGNORED("*rel_pos_bias._float_tensor", "*num_batches_tracked", "*pooler.*"),
	.inert = IGNORED("ema_beta_range", "ema_delta_alpha_range", "ema_gamma_omega_range", "use_feature_dropout"),
};
