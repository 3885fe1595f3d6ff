// SPDX-License-Identifier: Apache-2.0
// What checkpoints of models of time series call things.
#include "arch/dialect.h"

const struct dialect trajectory_names = {
	.name = "trajectory",
	.prefix = "",
	.keys = KEYS({ "hidden_size", "n_embd" }, { "num_hidden_layers", "n_layer" }, { "num_attention_heads", "n_head" }),
	.weights = WEIGHTS({ "embed.word", "@tok_emb" }, { "embed.position", "@pos_emb" }, { "norm", "@ln_f" },
		{ "head.out", "head" }, { "layers.attn.norm", "@blocks.#.ln1" }, { "layers.attn.q", "@blocks.#.attn.query" },
		{ "layers.attn.k", "@blocks.#.attn.key" }, { "layers.attn.v", "@blocks.#.attn.value" },
		{ "layers.attn.o", "@blocks.#.attn.proj" }, { "layers.ffn.norm", "@blocks.#.ln2" },
		{ "layers.ffn.up", "@blocks.#.l1" }, { "layers.ffn.down", "@blocks.#.l2" }),
	.ignored = IGNORED("*.attn.mask"),
	.inert = IGNORED("action_weight", "reward_weight", "value_weight", "kaiming_initializer_range", "learning_rate",
		"layer_norm_eps", "max_position_embeddings"),
};

#define SERIES_INERT \
	"distribution_output", "num_parallel_samples", "mask_type", "mask_value", "random_mask_ratio", \
		"num_forecast_mask_patches", "channel_consistent_masking", "unmasked_channel_indices", "init_std", \
		"positional_encoding_type", "head_dropout"

const struct dialect patchtst_names = {
	.name = "patchtst",
	.prefix = "model.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "intermediate_size", "ffn_dim" }, { "hidden_act", "activation_function" },
		{ "layer_norm_eps", "norm_eps" }),
	.weights = WEIGHTS({ "embed.patch", "@encoder.embedder.input_embedding" },
		{ "embed.channel", "@encoder.embedder.input_embedding.#" },
		{ "embed.position", "@encoder.positional_encoder.position_enc" },
		{ "embed.class", "@encoder.positional_encoder.cls_token" },
		{ "layers.attn.norm", "@encoder.layers.#.norm_sublayer1" },
		{ "layers.attn.q", "@encoder.layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@encoder.layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "@encoder.layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@encoder.layers.#.self_attn.out_proj" },
		{ "layers.channels.norm", "@encoder.layers.#.norm_sublayer2" },
		{ "layers.ffn.norm", "@encoder.layers.#.norm_sublayer3" }, { "layers.ffn.up", "@encoder.layers.#.ff.0" },
		{ "layers.ffn.down", "@encoder.layers.#.ff.3" }, { "head.forecast", "head.projection" },
		{ "head.classes", "head.linear" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED(SERIES_INERT, "is_encoder_decoder", "path_dropout", "ff_dropout", "positional_dropout"),
};

#define MIXER(STEM, NAME) \
	{ STEM ".norm", "@encoder.mlp_mixer_encoder.mixers.#." NAME ".norm.norm" }, \
		{ STEM ".up", "@encoder.mlp_mixer_encoder.mixers.#." NAME ".mlp.fc1" }, \
		{ STEM ".down", "@encoder.mlp_mixer_encoder.mixers.#." NAME ".mlp.fc2" }, \
	{ \
		STEM ".gate", "@encoder.mlp_mixer_encoder.mixers.#." NAME ".gating_block.attn_layer" \
	}

const struct dialect patchtsmixer_names = {
	.name = "patchtsmixer",
	.prefix = "model.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_hidden_layers", "num_layers" },
		{ "num_attention_heads", "self_attn_heads" }, { "layer_norm_eps", "norm_eps" }),
	.weights =
		WEIGHTS({ "embed.patch", "@encoder.patcher" }, { "embed.position", "@encoder.positional_encoder.position_enc" },
			MIXER("layers.channels", "channel_feature_mixer"), MIXER("layers.patches", "patch_mixer"),
			MIXER("layers.features", "feature_mixer"),
			{ "layers.attn.norm", "@encoder.mlp_mixer_encoder.mixers.#.patch_mixer.norm_attn.norm" },
			{ "layers.attn.q", "@encoder.mlp_mixer_encoder.mixers.#.patch_mixer.self_attn_layer.q_proj" },
			{ "layers.attn.k", "@encoder.mlp_mixer_encoder.mixers.#.patch_mixer.self_attn_layer.k_proj" },
			{ "layers.attn.v", "@encoder.mlp_mixer_encoder.mixers.#.patch_mixer.self_attn_layer.v_proj" },
			{ "layers.attn.o", "@encoder.mlp_mixer_encoder.mixers.#.patch_mixer.self_attn_layer.out_proj" },
			{ "head.forecast", "head.base_forecast_block" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED(
		SERIES_INERT, "masked_loss", "num_patches", "patch_last", "head_aggregation", "num_targets", "output_range"),
};

const struct dialect decision_names = {
	.name = "decision",
	.prefix = "",
	.keys = KEYS({ "num_hidden_layers", "n_layer" }, { "num_attention_heads", "n_head" },
		{ "max_position_embeddings", "n_positions" }, { "intermediate_size", "n_inner" },
		{ "hidden_act", "activation_function" }, { "layer_norm_eps", "layer_norm_epsilon" }),
	.weights = WEIGHTS({ "embed.time", "embed_timestep" }, { "embed.state", "embed_state" },
		{ "embed.action", "embed_action" }, { "embed.return", "embed_return" }, { "embed.norm", "embed_ln" },
		{ "embed.position", "encoder.wpe" }, { "layers.attn.norm", "encoder.h.#.ln_1" },
		{ "layers.attn.qkv", "encoder.h.#.attn.c_attn" }, { "layers.attn.o", "encoder.h.#.attn.c_proj" },
		{ "layers.ffn.norm", "encoder.h.#.ln_2" }, { "layers.ffn.up", "encoder.h.#.mlp.c_fc" },
		{ "layers.ffn.down", "encoder.h.#.mlp.c_proj" }, { "norm", "encoder.ln_f" }, { "head.state", "predict_state" },
		{ "head.action", "predict_action.0" }, { "head.return", "predict_return" }),
	.ignored = IGNORED("encoder.wte.weight", "*.attn.bias", "*.attn.masked_bias"), // tokens, and tables of older files
	.inert = IGNORED("reorder_and_upcast_attn"),
};

#define FORECAST_BLOCK(STEM, NAME) \
	{ STEM ".in", NAME ".input_layer" }, { STEM ".out", NAME ".output_layer" }, \
	{ \
		STEM ".past", NAME ".residual_layer" \
	}

#define FORECAST_ATTENTION \
	{ "layers.attn.norm", "@layers.#.input_layernorm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" }, \
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" }, \
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }, \
	{ \
		"layers.attn.scale", "@layers.#.self_attn.scaling" \
	}

const struct dialect timesfm_names = {
	.name = "timesfm",
	.prefix = "decoder.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(FORECAST_BLOCK("embed", "@input_ff_layer"), { "embed.frequency", "@freq_emb" },
		{ "positions.frequencies", "@position_emb.inv_timescales" }, FORECAST_ATTENTION,
		{ "layers.ffn.norm", "@layers.#.mlp.layer_norm" }, { "layers.ffn.up", "@layers.#.mlp.gate_proj" },
		{ "layers.ffn.down", "@layers.#.mlp.down_proj" }, FORECAST_BLOCK("horizon", "horizon_ff_layer")),
	.ignored = IGNORED("*position_emb.*"),
	.inert = IGNORED("is_encoder_decoder"),
};

const struct dialect timesfm2_5_names = {
	.name = "timesfm-2.5",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(FORECAST_BLOCK("embed", "@input_ff_layer"), FORECAST_ATTENTION,
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_norm" }, { "layers.attn.k_norm", "@layers.#.self_attn.k_norm" },
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" }, { "layers.ffn.up", "@layers.#.mlp.ff0" },
		{ "layers.ffn.down", "@layers.#.mlp.ff1" }, { "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }, { "layers.ffn.after", "@layers.#.post_feedforward_layernorm" },
		FORECAST_BLOCK("horizon", "output_projection_point"), FORECAST_BLOCK("quantiles", "output_projection_quantiles")),
	.ignored = IGNORED("*rotary_emb.inv_freq", "output_projection_quantiles.*"),
	.inert = IGNORED("is_encoder_decoder"),
};
