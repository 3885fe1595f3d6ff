// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the decoder family call things. A word for layers.attn.qkv or layers.ffn.gate_up says that the file has
// those weights in one tensor; one for embed.position, that positions are learned.
#include "arch/dialect.h"

// Of a head that no class here has.
#define SUMMARIES "summary_*"
#include "arch/dialect/llama.h"

const struct dialect llama_names = {
	.name = "llama",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights =
		WEIGHTS(LLAMA_BODY, TWO_NORMS, LLAMA_BELOW_ENCODER, HEADS, { "layers.attn.sinks", "@layers.#.self_attn.sinks" },
			{ "layers.attn.inner", "@layers.#.self_attn.attn_sub_norm" },
			{ "layers.ffn.inner", "@layers.#.mlp.ffn_sub_norm" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("hidden_activation"),
};

// LLaMA in the words of GPT-2; transformers reads its own words, too.
const struct dialect exaone_names = {
	.name = "exaone",
	.prefix = "transformer.",
	.keys = KEYS({ "num_hidden_layers", "num_layers" }, { "num_hidden_layers", "num_hidden_layers" },
		{ "rms_norm_eps", "layer_norm_epsilon" }, { "rms_norm_eps", "rms_norm_eps" },
		{ "hidden_act", "activation_function" }, { "hidden_act", "hidden_act" }),
	.weights = WEIGHTS({ "embed.word", "@wte" }, { "norm", "@ln_f" }, { "layers.attn.norm", "@h.#.ln_1" },
		{ "layers.ffn.norm", "@h.#.ln_2" }, { "layers.attn.q", "@h.#.attn.attention.q_proj" },
		{ "layers.attn.k", "@h.#.attn.attention.k_proj" }, { "layers.attn.v", "@h.#.attn.attention.v_proj" },
		{ "layers.attn.o", "@h.#.attn.attention.out_proj" }, { "layers.ffn.gate", "@h.#.mlp.c_fc_0" },
		{ "layers.ffn.up", "@h.#.mlp.c_fc_1" }, { "layers.ffn.down", "@h.#.mlp.c_proj" }, LLAMA_BODY, TWO_NORMS, HEADS),
	.ignored = IGNORED(BUFFERS),
	.other_prefixes = IGNORED("model."),
};

// Layers that look at pictures have other words for their attention.
const struct dialect mllama_text_names = {
	.name = "mllama-text",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, { "layers.crossing.q", "@layers.#.cross_attn.q_proj" },
		{ "layers.crossing.k", "@layers.#.cross_attn.k_proj" }, { "layers.crossing.v", "@layers.#.cross_attn.v_proj" },
		{ "layers.crossing.o", "@layers.#.cross_attn.o_proj" },
		{ "layers.crossing.q_norm", "@layers.#.cross_attn.q_norm" },
		{ "layers.crossing.k_norm", "@layers.#.cross_attn.k_norm" },
		{ "layers.crossing.attn_gate", "@layers.#.cross_attn_attn_gate" },
		{ "layers.crossing.ffn_gate", "@layers.#.cross_attn_mlp_gate" }),
	.ignored = IGNORED(BUFFERS),
	.other_prefixes = IGNORED("language_model.model.", "language_model."),
};

// What makes words of pictures (vqmodel) is not built: the graph reads the words.
const struct dialect chameleon_names = {
	.name = "chameleon",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, { "layers.attn.after", "@layers.#.input_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_attention_layernorm" }),
	.ignored = IGNORED(BUFFERS, "*vqmodel.*"),
	.inert = IGNORED("vq_config", "image_token_id", "model_parallel_size"),
};

const struct dialect open_llama_names = {
	.name = "open-llama",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, { "embed.norm", "@embed_layer_norm" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("use_memory_efficient_attention", "use_memorry_efficient_attention"),
};

const struct dialect doge_names = {
	.name = "doge",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, { "layers.attn.step", "@layers.#.self_attn.dt_proj" },
		{ "layers.attn.decay", "@layers.#.self_attn.A" }, { "layers.attn.residual", "@layers.#.input_residual" },
		{ "layers.ffn.residual", "@layers.#.post_attention_residual" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("num_experts*", "norm_topk_prob"),
};

// Two stacks, whose layers' place $ is.
const struct dialect hrm_names = {
	.name = "hrm",
	.prefix = "model.",
	.keys = KEYS({ "embedding_multiplier", "embedding_scale" }),
	.weights = WEIGHTS({ "embed.word", "@embed_tokens" }, { "state.low", "@z_L_init" }, HEADS,
		{ "layers.attn.qkv", "@$.attn.gqkv_proj" }, { "layers.attn.o", "@$.attn.o_proj" },
		{ "layers.ffn.gate_up", "@$.mlp.gate_up_proj" }, { "layers.ffn.down", "@$.mlp.down_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("L_bp_cycles", "prefix_lm"),
};

// The text alone: what makes sounds of its states (depth_decoder, audio_encoder) is not built. No layer has the window.
const struct dialect moshi_names = {
	.name = "moshi",
	.prefix = "model.",
	.keys = KEYS({ "intermediate_size", "ffn_dim" }, { "sliding_window", "unused_window" }),
	.weights = WEIGHTS(LLAMA_EMBED, TWO_NORMS, HEADS, { "layers.attn.q", "@layers.#.self_attn.q_proj.linear" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj.linear" },
		{ "layers.attn.v", "@layers.#.self_attn.v_proj.linear" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj.linear" }, { "layers.ffn.gate_up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("sliding_window", "num_codebooks", "audio_vocab_size", "audio_encoder_config", "depth_decoder_config"),
};

// What stands for a frame's first word is built; what adds the others (depth_decoder), sounds and text is not. The table of the
// codebooks lies in either place, where both have the same.
const struct dialect csm_names = {
	.name = "csm",
	.prefix = "backbone_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.codes", "@embed_tokens.embed_audio_tokens" },
		{ "embed.codes", "depth_decoder.model.embed_tokens" }, { "norm", "@norm" }, LLAMA_ATTENTION, LLAMA_FFN, TWO_NORMS,
		HEADS),
	.ignored = IGNORED(BUFFERS, "depth_decoder.*", "codec_model.*", "embed_text_tokens.*"),
	.inert = IGNORED("codec_config", "depth_decoder_config", "audio_*", "codebook_*", "text_vocab_size", "tie_*"),
};

// Words of the vocabulary that were added later lie in a tensor of their own.
const struct dialect molmo2_names = {
	.name = "molmo2",
	.prefix = "model.",
	.keys = KEYS({ "rms_norm_eps", "layer_norm_eps" }, { "rms_norm_eps", "rms_norm_eps" }),
	.weights = WEIGHTS({ "embed.words", "@wte.embedding" }, { "embed.further", "@wte.new_embedding" }, { "norm", "@norm" },
		{ "layers.attn.norm", "@layers.#.attn_norm" }, { "layers.attn.after", "@layers.#.attn_norm" },
		{ "layers.attn.qkv", "@layers.#.self_attn.att_proj" }, { "layers.attn.o", "@layers.#.self_attn.attn_out" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_norm" }, { "layers.attn.k_norm", "@layers.#.self_attn.k_norm" },
		{ "layers.ffn.norm", "@layers.#.ff_norm" }, { "layers.ffn.after", "@layers.#.ff_norm" },
		{ "layers.ffn.gate_up", "@layers.#.mlp.ff_proj" }, { "layers.ffn.down", "@layers.#.mlp.ff_out" }),
	.ignored = IGNORED(BUFFERS),
};

// Logits are multiplied by logits_scaling, which Granite divides by.
const struct dialect hyperclovax_names = {
	.name = "hyperclovax",
	.prefix = "model.",
	.keys = KEYS({ "logit_scale", "logits_scaling" }, { "logits_scaling", "logits_divisor" }),
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, { "layers.attn.after", "@layers.#.post_norm1" },
		{ "layers.ffn.after", "@layers.#.post_norm2" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect gemma2_names = {
	.name = "gemma2",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }),
	.weights = WEIGHTS(LLAMA_BODY, HEADS, { "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect t5gemma_half_names = {
	.name = "t5gemma-half",
	.prefix = "",
	.keys = KEYS({ "hidden_act", "hidden_activation" }),
	.weights = WEIGHTS(LLAMA_BODY, HEADS, { "layers.attn.norm", "@layers.#.pre_self_attn_layernorm" },
		{ "layers.attn.after", "@layers.#.post_self_attn_layernorm" },
		{ "layers.cross.norm", "@layers.#.pre_cross_attn_layernorm" },
		{ "layers.cross.after", "@layers.#.post_cross_attn_layernorm" },
		{ "layers.cross.q", "@layers.#.cross_attn.q_proj" }, { "layers.cross.k", "@layers.#.cross_attn.k_proj" },
		{ "layers.cross.v", "@layers.#.cross_attn.v_proj" }, { "layers.cross.o", "@layers.#.cross_attn.o_proj" },
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

#define GEMMA_BODY \
	LLAMA_BODY, HEADS, { "layers.attn.norm", "@layers.#.input_layernorm" }, \
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" }, \
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" }, \
	{ \
		"layers.ffn.after", "@layers.#.post_feedforward_layernorm" \
	}

// An embedding of each token for each layer.
#define GEMMA_TOKENS \
	{ "token.embed", "@embed_tokens_per_layer" }, { "token.project", "@per_layer_model_projection" }, \
		{ "token.norm", "@per_layer_projection_norm" }, { "layers.token.gate", "@layers.#.per_layer_input_gate" }, \
		{ "layers.token.out", "@layers.#.per_layer_projection" }, \
	{ \
		"layers.token.norm", "@layers.#.post_per_layer_input_norm" \
	}

// Of layers that take the keys and values of others.
#define UNUSED_KEYS "*.self_attn.[kv]_proj.*", "*.self_attn.k_norm.weight"

// intermediate_size is a list.
const struct dialect gemma3n_names = {
	.name = "gemma3n",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }, { "ffn_sizes", "intermediate_size" },
		{ "intermediate_size", "intermediate_size_of_all" }),
	.weights = WEIGHTS(GEMMA_BODY, GEMMA_TOKENS, { "altup.in", "@altup_projections.*" },
		{ "altup.out", "@altup_unembed_projections.*" }, { "layers.altup.norm", "@layers.#.altup.router_norm" },
		{ "layers.altup.router", "@layers.#.altup.modality_router" },
		{ "layers.altup.predict", "@layers.#.altup.prediction_coefs" },
		{ "layers.altup.correct", "@layers.#.altup.correction_coefs" },
		{ "layers.altup.scale", "@layers.#.altup.correct_output_scale" },
		{ "layers.laurel.left", "@layers.#.laurel.linear_left" },
		{ "layers.laurel.right", "@layers.#.laurel.linear_right" },
		{ "layers.laurel.norm", "@layers.#.laurel.post_laurel_norm" }),
	.ignored = IGNORED(BUFFERS, UNUSED_KEYS, "*.altup.correct_output_scale"),
	.inert = IGNORED("altup_coef_clip"),
};

#define GEMMA4_BODY \
	GEMMA_BODY, \
	{ \
		"layers.scale", "@layers.#.layer_scalar" \
	}

const struct dialect gemma4_names = {
	.name = "gemma4",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }, { "num_experts_per_tok", "top_k_experts" }),
	.weights = WEIGHTS(GEMMA4_BODY, GEMMA_TOKENS, { "layers.moe.router", "@layers.#.router.proj" },
		{ "layers.moe.router_scale", "@layers.#.router.scale" },
		{ "layers.moe.expert_scale", "@layers.#.router.per_expert_scale" },
		{ "layers.moe.experts.gate_up", "@layers.#.experts.gate_up_proj" },
		{ "layers.moe.experts.down", "@layers.#.experts.down_proj" },
		{ "layers.ffn.beside", "@layers.#.post_feedforward_layernorm_1" },
		{ "layers.moe.before", "@layers.#.pre_feedforward_layernorm_2" },
		{ "layers.moe.after", "@layers.#.post_feedforward_layernorm_2" }),
	.ignored = IGNORED(BUFFERS, UNUSED_KEYS),
};

const struct dialect gemma4_unified_names = {
	.name = "gemma4-unified",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }),
	.weights = WEIGHTS(GEMMA4_BODY),
	.ignored = IGNORED(BUFFERS, UNUSED_KEYS),
};

const struct dialect muse_glimmer_names = {
	.name = "muse-glimmer",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }, { "logit_scale", "output_multiplier" }),
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_QKV, LLAMA_FFN, { "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.attn.gate", "@layers.#.self_attn.gate_proj" }, { "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect muse_spark_names = {
	.name = "muse-spark",
	.prefix = "model.",
	.keys = KEYS({ "moe_latent_size", "moe_hidden_size" }, { "router_multiplier", "output_multiplier" }),
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_QKV, LLAMA_FFN, { "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.attn.gate", "@layers.#.self_attn.gate_proj" }, { "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.residual", "@layers.#.post_attention_residual_gate.gate" },
		{ "layers.ffn.norm", "@layers.#.pre_feedforward_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" },
		{ "layers.ffn.residual", "@layers.#.post_feedforward_residual_gate.gate" },
		{ "layers.moe.router", "@layers.#.mlp.gate" },
		{ "layers.moe.choice_bias", "@layers.#.mlp.gate.e_score_correction_bias" },
		{ "layers.moe.latent_in", "@layers.#.mlp.pre_expert_proj" },
		{ "layers.moe.latent_norm", "@layers.#.mlp.pre_expert_norm" },
		{ "layers.moe.latent_out", "@layers.#.mlp.post_expert_proj" },
		{ "layers.moe.expert_norm", "@layers.#.mlp.experts.post_expert_norm" },
		{ "layers.moe.experts.gate_up", "@layers.#.mlp.experts.gate_up_proj" },
		{ "layers.moe.experts.down", "@layers.#.mlp.experts.down_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("router_aux_loss_coef"),
};

const struct dialect embedding_gemma2_names = {
	.name = "embedding-gemma2",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }),
	.weights = WEIGHTS(GEMMA4_BODY, { "token.project", "@ple.per_layer_model_projection" },
		{ "token.norm", "@ple.per_layer_projection_norm" },
		{ "layers.token.gate", "@layers.#.ple_block.per_layer_input_gate" },
		{ "layers.token.out", "@layers.#.ple_block.per_layer_projection" },
		{ "layers.token.norm", "@layers.#.ple_block.post_per_layer_input_norm" },
		{ "project.last", "@embedding_projection" }),
	.ignored = IGNORED(BUFFERS),
};

// Norms after attention and feed-forward only.
const struct dialect olmo2_names = {
	.name = "olmo2",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, HEADS, { "layers.attn.after", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect phi3_names = {
	.name = "phi3",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, TWO_NORMS, FUSED_FFN, HEADS, { "layers.attn.qkv", "@layers.#.self_attn.qkv_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }),
	.ignored = IGNORED(BUFFERS),
};

// Pictures and sounds are not built: of such a model what reads texts.
const struct dialect phi4_multimodal_names = {
	.name = "phi4-multimodal",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, TWO_NORMS, FUSED_FFN, HEADS, { "layers.attn.qkv", "@layers.#.self_attn.qkv_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }),
	.ignored = IGNORED(BUFFERS, "*embed_tokens_extend.*"),
	.inert = IGNORED("vision_config", "audio_config"),
};

const struct dialect glm_names = {
	.name = "glm",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, FUSED_FFN, TWO_NORMS, HEADS,
		{ "layers.attn.after", "@layers.#.post_self_attn_layernorm" },
		{ "layers.ffn.after", "@layers.#.post_mlp_layernorm" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("vision_vocab_size", "first_k_dense_replace", "n_group", "topk_group"),
};

const struct dialect apertus_names = {
	.name = "apertus",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, HEADS, { "layers.attn.norm", "@layers.#.attention_layernorm" },
		{ "layers.ffn.norm", "@layers.#.feedforward_layernorm" }, { "layers.ffn.act", "@layers.#.mlp.act_fn" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect phi_names = {
	.name = "phi",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_QKV, HEADS, { "embed.word", "@embed_tokens" },
		{ "layers.attn.norm", "@layers.#.input_layernorm" }, { "layers.attn.o", "@layers.#.self_attn.dense" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_layernorm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.k_layernorm" }, { "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }, { "norm", "@final_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect stablelm_names = {
	.name = "stablelm",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_QKV, LLAMA_FFN, TWO_NORMS, HEADS, { "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.attn.q_norms", "@layers.#.self_attn.q_layernorm.norms.*" },
		{ "layers.attn.k_norms", "@layers.#.self_attn.k_layernorm.norms.*" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect starcoder2_names = {
	.name = "starcoder2",
	.prefix = "model.",
	.keys = KEYS({ "layer_norm_eps", "norm_epsilon" }),
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, TWO_NORMS, HEADS, { "layers.ffn.up", "@layers.#.mlp.c_fc" },
		{ "layers.ffn.down", "@layers.#.mlp.c_proj" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect nemotron_names = {
	.name = "nemotron",
	.prefix = "model.",
	.keys = KEYS({ "layer_norm_eps", "norm_eps" }),
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect hunyuan_names = {
	.name = "hunyuan",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_QKV, LLAMA_FFN, TWO_NORMS, HEADS, { "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.query_layernorm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.key_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect nanochat_names = {
	.name = "nanochat",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, HEADS, { "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }),
	.ignored = IGNORED(BUFFERS),
};

#define GPT_HEADS \
	{ "head.lm.out", "lm_head" }, { "head.score", "score" }, { "head.token", "classifier" }, \
	{ \
		"head.span", "qa_outputs" \
	}

#define GPT2_KEYS \
	{ "hidden_size", "n_embd" }, { "num_hidden_layers", "n_layer" }, { "num_attention_heads", "n_head" }, \
		{ "max_position_embeddings", "n_positions" }, { "intermediate_size", "n_inner" }, \
		{ "hidden_act", "activation_function" }, \
	{ \
		"layer_norm_eps", "layer_norm_epsilon" \
	}

#define GPT2_NORMS \
	{ "layers.attn.norm", "@h.#.ln_1" }, { "layers.ffn.norm", "@h.#.ln_2" }, \
	{ \
		"norm", "@ln_f" \
	}

const struct dialect cosmos_names = {
	.name = "cosmos",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_EMBED, LLAMA_ATTENTION, COSMOS_ATTENTION, TWO_NORMS, HEADS,
		{ "layers.ffn.up", "@layers.#.mlp.fc1" }, { "layers.ffn.down", "@layers.#.mlp.fc2" },
		{ "layers.ffn.up", "@layers.#.mlp.up_proj" }, { "layers.ffn.down", "@layers.#.mlp.down_proj" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect qwen3_vl_text_names = {
	.name = "qwen3-vl-text",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, COSMOS_ATTENTION, TWO_NORMS, HEADS),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("hidden_activation"),
};

const struct dialect gpt2_names = {
	.name = "gpt2",
	.prefix = "transformer.",
	.keys = KEYS(GPT2_KEYS),
	.weights = WEIGHTS(GPT2_NORMS, GPT_HEADS, { "embed.word", "@wte" }, { "embed.position", "@wpe" },
		{ "layers.attn.qkv", "@h.#.attn.c_attn" }, { "layers.attn.o", "@h.#.attn.c_proj" },
		{ "layers.cross.norm", "@h.#.ln_cross_attn" }, { "layers.cross.q", "@h.#.crossattention.q_attn" },
		{ "layers.cross.kv", "@h.#.crossattention.c_attn" }, { "layers.cross.o", "@h.#.crossattention.c_proj" },
		{ "layers.ffn.up", "@h.#.mlp.c_fc" }, { "layers.ffn.down", "@h.#.mlp.c_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(SUMMARIES),
};

const struct dialect openai_gpt_names = {
	.name = "openai-gpt",
	.prefix = "transformer.",
	.keys = KEYS({ "hidden_size", "n_embd" }, { "num_hidden_layers", "n_layer" }, { "num_attention_heads", "n_head" },
		{ "max_position_embeddings", "n_positions" }, { "hidden_act", "afn" },
		{ "layer_norm_eps", "layer_norm_epsilon" }),
	.weights = WEIGHTS(GPT2_NORMS, GPT_HEADS, { "embed.word", "@tokens_embed" }, { "embed.position", "@positions_embed" },
		{ "layers.attn.qkv", "@h.#.attn.c_attn" }, { "layers.attn.o", "@h.#.attn.c_proj" },
		{ "layers.ffn.up", "@h.#.mlp.c_fc" }, { "layers.ffn.down", "@h.#.mlp.c_proj" }),
	.ignored = IGNORED(BUFFERS, "*position_ids"),
	.inert = IGNORED(SUMMARIES),
};

// Norms have no bias; the head lies apart.
const struct dialect imagegpt_names = {
	.name = "imagegpt",
	.prefix = "transformer.",
	.keys = KEYS(GPT2_KEYS),
	.weights = WEIGHTS(GPT2_NORMS, GPT_HEADS, { "embed.word", "@wte" }, { "embed.position", "@wpe" },
		{ "layers.attn.qkv", "@h.#.attn.c_attn" }, { "layers.attn.o", "@h.#.attn.c_proj" },
		{ "layers.ffn.up", "@h.#.mlp.c_fc" }, { "layers.ffn.down", "@h.#.mlp.c_proj" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect ctrl_names = {
	.name = "ctrl",
	.prefix = "transformer.",
	.keys = KEYS({ "hidden_size", "n_embd" }, { "num_hidden_layers", "n_layer" }, { "num_attention_heads", "n_head" },
		{ "max_position_embeddings", "n_positions" }, { "intermediate_size", "dff" },
		{ "last_norm_eps", "layer_norm_epsilon" }),
	.weights = WEIGHTS({ "embed.word", "@w" }, { "layers.attn.norm", "@h.#.layernorm1" },
		{ "layers.attn.q", "@h.#.multi_head_attention.Wq" }, { "layers.attn.k", "@h.#.multi_head_attention.Wk" },
		{ "layers.attn.v", "@h.#.multi_head_attention.Wv" }, { "layers.attn.o", "@h.#.multi_head_attention.dense" },
		{ "layers.ffn.norm", "@h.#.layernorm2" }, { "layers.ffn.up", "@h.#.ffn.0" }, { "layers.ffn.down", "@h.#.ffn.2" },
		{ "norm", "@layernorm" }, { "head.lm.out", "lm_head" }, { "head.score", "classifier" }),
	.ignored = IGNORED(BUFFERS, "*pos_encoding"),
	.inert = IGNORED(SUMMARIES),
};

const struct dialect gpt_neo_names = {
	.name = "gpt-neo",
	.prefix = "transformer.",
	.keys = KEYS({ "num_hidden_layers", "num_layers" }, { "num_attention_heads", "num_heads" },
		{ "hidden_act", "activation_function" }, { "layer_norm_eps", "layer_norm_epsilon" },
		{ "sliding_window", "window_size" }),
	.weights = WEIGHTS(GPT2_NORMS, GPT_HEADS, { "embed.word", "@wte" }, { "embed.position", "@wpe" },
		{ "layers.attn.q", "@h.#.attn.attention.q_proj" }, { "layers.attn.k", "@h.#.attn.attention.k_proj" },
		{ "layers.attn.v", "@h.#.attn.attention.v_proj" }, { "layers.attn.o", "@h.#.attn.attention.out_proj" },
		{ "layers.ffn.up", "@h.#.mlp.c_fc" }, { "layers.ffn.down", "@h.#.mlp.c_proj" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(SUMMARIES),
};

const struct dialect gptj_names = {
	.name = "gptj",
	.prefix = "transformer.",
	.keys = KEYS(GPT2_KEYS),
	.weights = WEIGHTS(GPT2_NORMS, GPT_HEADS, { "embed.word", "@wte" }, { "layers.attn.q", "@h.#.attn.q_proj" },
		{ "layers.attn.k", "@h.#.attn.k_proj" }, { "layers.attn.v", "@h.#.attn.v_proj" },
		{ "layers.attn.o", "@h.#.attn.out_proj" }, { "layers.ffn.up", "@h.#.mlp.fc_in" },
		{ "layers.ffn.down", "@h.#.mlp.fc_out" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(SUMMARIES),
};

const struct dialect codegen_names = {
	.name = "codegen",
	.prefix = "transformer.",
	.keys = KEYS(GPT2_KEYS),
	.weights = WEIGHTS(GPT2_NORMS, GPT_HEADS, { "embed.word", "@wte" }, { "layers.attn.qkv", "@h.#.attn.qkv_proj" },
		{ "layers.attn.o", "@h.#.attn.out_proj" }, { "layers.ffn.up", "@h.#.mlp.fc_in" },
		{ "layers.ffn.down", "@h.#.mlp.fc_out" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED(SUMMARIES),
};

const struct dialect modernbert_decoder_names = {
	.name = "modernbert-decoder",
	.prefix = "model.",
	.keys = KEYS({ "hidden_act", "hidden_activation" }, { "layer_norm_eps", "norm_eps" },
		{ "sliding_window", "sliding_window" }, { "sliding_window", "local_attention" },
		{ "rope_theta", "global_rope_theta" }, { "rope_local_base_freq", "local_rope_theta" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings.tok_embeddings" }, { "embed.norm", "@embeddings.norm" },
		{ "norm", "@final_norm" }, { "layers.attn.norm", "@layers.#.attn_norm" },
		{ "layers.attn.q", "@layers.#.attn.q_proj" }, { "layers.attn.k", "@layers.#.attn.k_proj" },
		{ "layers.attn.v", "@layers.#.attn.v_proj" }, { "layers.attn.o", "@layers.#.attn.Wo" },
		{ "layers.ffn.norm", "@layers.#.mlp_norm" }, { "layers.ffn.gate_up", "@layers.#.mlp.Wi" },
		{ "layers.ffn.down", "@layers.#.mlp.Wo" }, { "head.lm.dense", "lm_head.dense" },
		{ "head.lm.norm", "lm_head.norm" }, { "head.lm.out", "decoder" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("initializer_cutoff_factor", "classifier_pooling", "sparse_*"),
};

const struct dialect diffllama_names = {
	.name = "diffllama",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(LLAMA_BODY, TWO_NORMS, HEADS, { "layers.attn.lambda_q1", "@layers.#.self_attn.lambda_q1" },
		{ "layers.attn.lambda_k1", "@layers.#.self_attn.lambda_k1" },
		{ "layers.attn.lambda_q2", "@layers.#.self_attn.lambda_q2" },
		{ "layers.attn.lambda_k2", "@layers.#.self_attn.lambda_k2" }),
	.ignored = IGNORED(BUFFERS),
};

#define NEOX_FFN \
	{ "layers.ffn.up", "@layers.#.mlp.dense_h_to_4h" }, \
	{ \
		"layers.ffn.down", "@layers.#.mlp.dense_4h_to_h" \
	}

const struct dialect gpt_neox_names = {
	.name = "gpt-neox",
	.prefix = "gpt_neox.",
	.keys = KEYS({ "partial_rotary_factor", "rotary_pct" }, { "rope_theta", "rotary_emb_base" }),
	.weights = WEIGHTS(TWO_NORMS, NEOX_FFN, { "embed.word", "@embed_in" },
		{ "layers.attn.qkv", "@layers.#.attention.query_key_value" }, { "layers.attn.o", "@layers.#.attention.dense" },
		{ "norm", "@final_layer_norm" }, { "head.lm.out", "embed_out" }, { "head.score", "score" },
		{ "head.token", "classifier" }, { "head.span", "qa_outputs" }),
	.ignored = IGNORED(BUFFERS, "*rotary_emb.*"),
};

const struct dialect gpt_neox_japanese_names = {
	.name = "gpt-neox-japanese",
	.prefix = "gpt_neox_japanese.",
	.keys = KEYS({ "partial_rotary_factor", "rotary_pct" }, { "rope_theta", "rotary_emb_base" },
		{ "ffn_multiple", "intermediate_multiple_size" }),
	.weights = WEIGHTS(TWO_NORMS, NEOX_FFN, HEADS, { "embed.word", "@embed_in" },
		{ "layers.attn.qkv", "@layers.#.attention.query_key_value" }, { "layers.attn.o", "@layers.#.attention.dense" },
		{ "layers.attn.o_last", "@layers.#.attention.dense_bias" }, { "norm", "@final_layer_norm" }),
	.ignored = IGNORED(BUFFERS, "*rotary_emb.*"),
};

const struct dialect persimmon_names = {
	.name = "persimmon",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(TWO_NORMS, NEOX_FFN, HEADS, { "embed.word", "@embed_tokens" },
		{ "layers.attn.qkv", "@layers.#.self_attn.query_key_value" }, { "layers.attn.o", "@layers.#.self_attn.dense" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_layernorm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.k_layernorm" }, { "norm", "@final_layernorm" }),
	.ignored = IGNORED(BUFFERS),
};

#define BLOOM_BODY \
	{ "embed.word", "@word_embeddings" }, { "embed.norm", "@word_embeddings_layernorm" }, \
		{ "layers.attn.norm", "@h.#.input_layernorm" }, { "layers.attn.qkv", "@h.#.self_attention.query_key_value" }, \
		{ "layers.attn.o", "@h.#.self_attention.dense" }, { "layers.ffn.norm", "@h.#.post_attention_layernorm" }, \
		{ "layers.ffn.up", "@h.#.mlp.dense_h_to_4h" }, { "layers.ffn.down", "@h.#.mlp.dense_4h_to_h" }, \
	{ \
		"norm", "@ln_f" \
	}

const struct dialect bloom_names = {
	.name = "bloom",
	.prefix = "transformer.",
	.keys = KEYS({ "num_hidden_layers", "n_layer" }, { "num_attention_heads", "n_head" },
		{ "layer_norm_eps", "layer_norm_epsilon" }),
	.weights = WEIGHTS(BLOOM_BODY, GPT_HEADS),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("seq_length", "n_embed"),
};

const struct dialect falcon_names = {
	.name = "falcon",
	.prefix = "transformer.",
	.keys = KEYS({ "layer_norm_eps", "layer_norm_epsilon" }, { "intermediate_size", "ffn_hidden_size" },
		{ "hidden_act", "activation" }, { "use_bias", "bias" }),
	.weights = WEIGHTS(
		BLOOM_BODY, GPT_HEADS, { "layers.attn.norm_apart", "@h.#.ln_attn" }, { "layers.ffn.norm_apart", "@h.#.ln_mlp" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("seq_length", "n_embed"),
};

const struct dialect mpt_names = {
	.name = "mpt",
	.prefix = "transformer.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_hidden_layers", "n_layers" }, { "num_attention_heads", "n_heads" },
		{ "max_position_embeddings", "max_seq_len" }, { "layer_norm_eps", "layer_norm_epsilon" }),
	.weights = WEIGHTS(GPT_HEADS, { "embed.word", "@wte" }, { "layers.attn.norm", "@blocks.#.norm_1" },
		{ "layers.attn.qkv", "@blocks.#.attn.Wqkv" }, { "layers.attn.o", "@blocks.#.attn.out_proj" },
		{ "layers.ffn.norm", "@blocks.#.norm_2" }, { "layers.ffn.up", "@blocks.#.ffn.up_proj" },
		{ "layers.ffn.down", "@blocks.#.ffn.down_proj" }, { "norm", "@norm_f" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("expansion_ratio", "no_bias", "learned_pos_emb", "norm_type", "embedding_fraction", "seq_length",
		"n_embed", "embed_dropout", "resid_dropout", "num_key_value_heads", "use_alibi", "hidden_activation"),
};

#define FAIRSEQ_LAYERS \
	LLAMA_QKV, { "layers.attn.o", "@layers.#.self_attn.out_proj" }, \
		{ "layers.attn.norm", "@layers.#.self_attn_layer_norm" }, { "layers.ffn.up", "@layers.#.fc1" }, \
		{ "layers.ffn.down", "@layers.#.fc2" }, \
	{ \
		"layers.ffn.norm", "@layers.#.final_layer_norm" \
	}

const struct dialect opt_names = {
	.name = "opt",
	.prefix = "model.decoder.",
	.other_prefixes = (const char *const[]){ "decoder.", NULL },
	.keys = KEYS({ "intermediate_size", "ffn_dim" }, { "hidden_act", "activation_function" },
		{ "embedding_size", "word_embed_proj_dim" }, { "use_bias", "enable_bias" }),
	.weights = WEIGHTS(FAIRSEQ_LAYERS, HEADS, { "embed.word", "@embed_tokens" }, { "embed.position", "@embed_positions" },
		{ "embed.project", "@project_in" }, { "project", "@project_out" }, { "norm", "@final_layer_norm" }),
	.ignored = IGNORED(BUFFERS, "*decoder.version"),
};

const struct dialect biogpt_names = {
	.name = "biogpt",
	.prefix = "biogpt.",
	.keys = KEYS({ "layer_norm_eps", "layer_norm_epsilon" }),
	.weights = WEIGHTS(FAIRSEQ_LAYERS, { "embed.word", "@embed_tokens" }, { "embed.position", "@embed_positions" },
		{ "norm", "@layer_norm" }, { "head.lm.out", "output_projection" }, { "head.score", "score" },
		{ "head.token", "classifier" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("layer_norm_eps"),
};

const struct dialect xglm_names = {
	.name = "xglm",
	.prefix = "model.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_hidden_layers", "num_layers" },
		{ "num_attention_heads", "attention_heads" }, { "intermediate_size", "ffn_dim" },
		{ "hidden_act", "activation_function" }),
	.weights = WEIGHTS(FAIRSEQ_LAYERS, HEADS, { "embed.word", "@embed_tokens" }, { "norm", "@layer_norm" }),
	.ignored = IGNORED(BUFFERS),
};

#define KOSMOS_LAYERS \
	LLAMA_QKV, HEADS, { "embed.word", "@embed_tokens" }, { "norm", "@layer_norm" }, \
		{ "layers.attn.o", "@layers.#.self_attn.out_proj" }, { "layers.attn.norm", "@layers.#.self_attn_layer_norm" }, \
		{ "layers.ffn.up", "@layers.#.ffn.fc1" }, { "layers.ffn.inner", "@layers.#.ffn.ffn_layernorm" }, \
		{ "layers.ffn.down", "@layers.#.ffn.fc2" }, \
	{ \
		"layers.ffn.norm", "@layers.#.final_layer_norm" \
	}

#define KOSMOS_KEYS \
	KEYS({ "hidden_size", "embed_dim" }, { "num_hidden_layers", "layers" }, { "num_attention_heads", "attention_heads" }, \
		{ "intermediate_size", "ffn_dim" }, { "hidden_act", "activation_function" })

const struct dialect kosmos_text_names = {
	.name = "kosmos-text",
	.prefix = "model.",
	.keys = KOSMOS_KEYS,
	.weights = WEIGHTS(KOSMOS_LAYERS, { "layers.attn.inner", "@layers.#.self_attn.inner_attn_ln" }),
	.ignored = IGNORED("*embed_positions.weights"),
};

const struct dialect kosmos_2_5_text_names = {
	.name = "kosmos-2.5-text",
	.prefix = "model.",
	.keys = KOSMOS_KEYS,
	.weights = WEIGHTS(KOSMOS_LAYERS, { "embed.segment", "@segment_emb" }),
	.ignored = IGNORED("*embed_positions.weights"),
};
