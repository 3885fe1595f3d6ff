// SPDX-License-Identifier: Apache-2.0
// What checkpoints of BART and its kin call things. Behind @ lies "encoder." or "decoder." where a half is built.
#include "arch/dialect.h"

// Of no effect in the classes as they are; a second spelling of encoder_layers; what a decoder beside another encoder says of
// its own.
#define INERT \
	"add_cross_attention", "encoder_attention_heads", "encoder_ffn_dim", "encoder_layers", "num_hidden_layers", \
		"add_bias_logits", "add_final_layer_norm", "alignment_heads", "do_blenderbot_90_layernorm", "extra_layer_norm", \
		"extra_pos_embeddings", "force_bos_token_to_be_generated", "is_multilingual", "lang_to_id", "layernorm_variant", \
		"max_length_generation", "median_filter_width", "no_timestamps_token_id", "normalize_before", \
		"normalize_embedding", "prompt_length", "prompt_mid_dim", "smoothing", "static_position_embeddings", \
		"task_to_id", "variant"

#define SEQ2SEQ_KEYS \
	{ "hidden_size", "d_model" }, { "num_hidden_layers", "encoder_layers" }, \
	{ \
		"num_decoder_layers", "decoder_layers" \
	}

#define SEQ2SEQ_BODY \
	{ "embed.word", "@embed_tokens" }, { "embed.position", "@embed_positions" }, \
		{ "layers.attn.norm", "@layers.#.self_attn_layer_norm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" }, \
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" }, \
		{ "layers.attn.o", "@layers.#.self_attn.out_proj" }, \
		{ "layers.cross.norm", "@layers.#.encoder_attn_layer_norm" }, \
		{ "layers.cross.q", "@layers.#.encoder_attn.q_proj" }, { "layers.cross.k", "@layers.#.encoder_attn.k_proj" }, \
		{ "layers.cross.v", "@layers.#.encoder_attn.v_proj" }, { "layers.cross.o", "@layers.#.encoder_attn.out_proj" }, \
		{ "layers.ffn.norm", "@layers.#.final_layer_norm" }, { "layers.ffn.up", "@layers.#.fc1" }, \
	{ \
		"layers.ffn.down", "@layers.#.fc2" \
	}

#define SEQ2SEQ_TEXT \
	SEQ2SEQ_BODY, { "embed.shared", "@shared" }, { "head.lm.out", "lm_head" }, \
		{ "head.sequence.dense", "classification_head.dense" }, { "head.sequence.out", "classification_head.out_proj" }, \
	{ \
		"head.span", "qa_outputs" \
	}

#define SEQ2SEQ_BIAS \
	{ \
		"head.lm.bias", "final_logits_bias" \
	}

// Older files keep every copy of one token table, sines that are computed here, and a counter.
#define SEQ2SEQ_IGNORED IGNORED("*shared.weight", "*embed_tokens.weight", "*embed_positions.*", "*version")

const struct dialect bart_names = {
	.name = "bart",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS),
	.ignored = SEQ2SEQ_IGNORED,
	.weights = WEIGHTS(SEQ2SEQ_TEXT, SEQ2SEQ_BIAS, { "embed.norm", "@layernorm_embedding" }, { "norm", "@layer_norm" }),
	.inert = IGNORED(INERT),
};

const struct dialect trocr_names = {
	.name = "trocr",
	.prefix = "model.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_decoder_layers", "decoder_layers" }),
	.weights = WEIGHTS(SEQ2SEQ_BODY, { "embed.norm", "@layernorm_embedding" }, { "head.lm.out", "output_projection" }),
	.ignored = IGNORED("*embed_positions._float_tensor"),
	.inert = IGNORED(INERT, "is_decoder", "is_encoder_decoder"),
};

const struct dialect speech_to_text_2_names = {
	.name = "speech-to-text-2",
	.prefix = "model.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_decoder_layers", "decoder_layers" },
		{ "max_position_embeddings", "max_target_positions" }),
	.weights = WEIGHTS(SEQ2SEQ_BODY, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embed_positions.*", "lm_head.weight"),
	.inert = IGNORED(INERT, "is_decoder", "is_encoder_decoder", "add_cross_attention"),
};

const struct dialect two_models_names = {
	.name = "two-models",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "project", "enc_to_dec_proj" }),
	.inert = IGNORED("is_encoder_decoder", "vocab_size"), // each half says its own
};

// Nothing of its own; what retrieves, and how a loss is computed, has no part in the graph.
const struct dialect rag_names = {
	.name = "rag",
	.prefix = "rag.",
	.keys = NO_KEYS,
	.weights = NO_WEIGHTS,
	.inert = IGNORED("is_encoder_decoder", "vocab_size", "question_encoder", "dataset*", "doc_sep", "title_sep", "index_*",
		"passages_path", "do_deduplication", "do_marginalize", "exclude_bos_score", "label_smoothing",
		"max_combined_length", "output_retrieved", "reduce_loss", "retrieval_*", "use_dummy_dataset"),
};

// The codec is a model of its own, and no graph's.
const struct dialect musicgen_names = {
	.name = "musicgen",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.codes", "@embed_tokens.#" }, SEQ2SEQ_BODY, { "norm", "@layer_norm" },
		{ "project.text", "enc_to_dec_proj" }, { "project.sound", "audio_enc_to_dec_proj" },
		{ "head.lm.codes", "decoder.lm_heads.#" }),
	.ignored = IGNORED("*embed_positions.*"),
	.inert = IGNORED("audio_encoder", "audio_channels", "scale_embedding", "is_decoder", "add_cross_attention",
		"is_encoder_decoder", "max_position_embeddings", "layerdrop", "model_type", "initializer_factor", "pad_token_id",
		"tie_word_embeddings"),
};

#define DIA_ATTENTION(STEM, NAME) \
	{ STEM ".q", "@layers.#." NAME ".q_proj" }, { STEM ".k", "@layers.#." NAME ".k_proj" }, \
		{ STEM ".v", "@layers.#." NAME ".v_proj" }, \
	{ \
		STEM ".o", "@layers.#." NAME ".o_proj" \
	}

const struct dialect dia_names = {
	.name = "dia",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embedding" }, { "embed.codes", "@embeddings.embed" },
		DIA_ATTENTION("layers.attn", "self_attention"), DIA_ATTENTION("layers.cross", "cross_attention"),
		{ "layers.attn.norm", "@layers.#.pre_sa_norm" }, { "layers.cross.norm", "@layers.#.pre_ca_norm" },
		{ "layers.last.norm", "@layers.#.pre_mlp_norm" }, { "layers.ffn.norm", "@layers.#.post_sa_norm" },
		{ "layers.ffn.gate_up", "@layers.#.mlp.gate_up_proj" }, { "layers.ffn.down", "@layers.#.mlp.down_proj" },
		{ "norm", "@norm" }, { "head.lm.codes", "logits_dense" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("delay_pattern", "norm_eps", "is_encoder_decoder", "model_type", "pad_token_id", "tie_word_embeddings"),
};

const struct dialect m2m_names = {
	.name = "m2m",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS),
	.ignored = SEQ2SEQ_IGNORED,
	.weights = WEIGHTS(SEQ2SEQ_TEXT, { "norm", "@layer_norm" }),
	.inert = IGNORED(INERT),
};

const struct dialect fsmt_names = {
	.name = "fsmt",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS, { "vocab_size", "src_vocab_size" }, { "decoder_vocab_size", "tgt_vocab_size" }),
	.weights = WEIGHTS(SEQ2SEQ_BODY, { "head.lm.out", "@decoder.output_projection" }),
	.ignored = SEQ2SEQ_IGNORED,
	.inert = IGNORED(INERT, "langs", "decoder"),
};

const struct dialect bigbird_pegasus_names = {
	.name = "bigbird-pegasus",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS),
	.ignored = SEQ2SEQ_IGNORED,
	.weights = WEIGHTS(SEQ2SEQ_TEXT, SEQ2SEQ_BIAS, { "norm", "@layernorm_embedding" },
		{ "layers.source.norm", "@layers.#.self_attn_layer_norm" },
		{ "layers.source.q", "@layers.#.self_attn.self.query" }, { "layers.source.k", "@layers.#.self_attn.self.key" },
		{ "layers.source.v", "@layers.#.self_attn.self.value" }, { "layers.source.o", "@layers.#.self_attn.output" }),
	.inert = IGNORED(INERT),
};

const struct dialect led_names = {
	.name = "led",
	.prefix = "led.",
	.keys = KEYS(SEQ2SEQ_KEYS, { "max_position_embeddings", "max_encoder_position_embeddings" },
		{ "max_decoder_positions", "max_decoder_position_embeddings" }),
	.ignored = SEQ2SEQ_IGNORED,
	.weights = WEIGHTS(SEQ2SEQ_TEXT, SEQ2SEQ_BIAS, { "embed.norm", "@layernorm_embedding" },
		{ "layers.source.norm", "@layers.#.self_attn_layer_norm" },
		{ "layers.source.q", "@layers.#.self_attn.longformer_self_attn.query" },
		{ "layers.source.k", "@layers.#.self_attn.longformer_self_attn.key" },
		{ "layers.source.v", "@layers.#.self_attn.longformer_self_attn.value" },
		{ "layers.source.q_global", "@layers.#.self_attn.longformer_self_attn.query_global" },
		{ "layers.source.k_global", "@layers.#.self_attn.longformer_self_attn.key_global" },
		{ "layers.source.v_global", "@layers.#.self_attn.longformer_self_attn.value_global" },
		{ "layers.source.o", "@layers.#.self_attn.output" }),
	.inert = IGNORED(INERT),
};

const struct dialect pegasus_x_names = {
	.name = "pegasus-x",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS, { "token_block", "block_size" }),
	.ignored = SEQ2SEQ_IGNORED,
	.weights = WEIGHTS(SEQ2SEQ_TEXT, { "norm", "@layer_norm" }, { "embed.global", "@embed_global" },
		{ "layers.attn.norm_global", "@layers.#.global_self_attn_layer_norm" }),
	.inert = IGNORED(INERT),
};

const struct dialect prophetnet_names = {
	.name = "prophetnet",
	.prefix = "prophetnet.",
	.keys = KEYS({ "num_hidden_layers", "num_encoder_layers" }, { "encoder_attention_heads", "num_encoder_attention_heads" },
		{ "decoder_attention_heads", "num_decoder_attention_heads" }),
	.weights = WEIGHTS({ "embed.shared", "@word_embeddings" }, { "embed.word", "@word_embeddings" },
		{ "embed.position", "@position_embeddings" }, { "embed.norm", "@embeddings_layer_norm" },
		{ "embed.streams", "@ngram_embeddings" }, { "layers.attn.norm", "@layers.#.self_attn_layer_norm" },
		{ "layers.attn.q", "@layers.#.self_attn.query_proj" }, { "layers.attn.k", "@layers.#.self_attn.key_proj" },
		{ "layers.attn.v", "@layers.#.self_attn.value_proj" }, { "layers.attn.o", "@layers.#.self_attn.out_proj" },
		{ "layers.attn.relative", "@layers.#.self_attn.relative_pos_embeddings" },
		{ "layers.cross.norm", "@layers.#.cross_attn_layer_norm" },
		{ "layers.cross.q", "@layers.#.cross_attn.query_proj" }, { "layers.cross.k", "@layers.#.cross_attn.key_proj" },
		{ "layers.cross.v", "@layers.#.cross_attn.value_proj" }, { "layers.cross.o", "@layers.#.cross_attn.out_proj" },
		{ "layers.ffn.norm", "@layers.#.feed_forward_layer_norm" },
		{ "layers.ffn.up", "@layers.#.feed_forward.intermediate" },
		{ "layers.ffn.down", "@layers.#.feed_forward.output" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*word_embeddings.weight", "lm_head.weight"),
	.inert = IGNORED("disable_ngram_loss", "eps", "init_std", "decoder_start_token_id", "eos_token_id", "is_encoder_decoder"),
};

#define FORECAST_BODY \
	SEQ2SEQ_BODY, { "embed.value", "@value_embedding.value_projection" }, { "embed.norm", "@layernorm_embedding" }, \
		{ "embed.category", "@embedder.embedders.#" }, \
	{ \
		"head.parameters", "parameter_projection.proj.#" \
	}

const struct dialect forecast_names = {
	.name = "forecast",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS),
	.weights = WEIGHTS(FORECAST_BODY, { "distil.conv", "@conv_layers.#.downConv" }, { "distil.norm", "@conv_layers.#.norm" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED(INERT, "num_parallel_samples"),
};

const struct dialect autoformer_names = {
	.name = "autoformer",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS),
	.weights = WEIGHTS({ "layers.ffn.norm", "@layers.#.final_layer_norm.layernorm" }, FORECAST_BODY,
		{ "layers.trend", "@layers.#.trend_projection" }, { "seasonality", "@seasonality_projection" }),
	.inert = IGNORED(INERT, "num_parallel_samples"),
};

// Dense layers only.
const struct dialect nllb_moe_names = {
	.name = "nllb-moe",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS),
	.ignored = SEQ2SEQ_IGNORED,
	.weights = WEIGHTS({ "layers.ffn.norm", "@layers.#.ff_layer_norm" }, { "layers.ffn.up", "@layers.#.ffn.fc1" },
		{ "layers.ffn.down", "@layers.#.ffn.fc2" }, { "layers.cross.norm", "@layers.#.cross_attention_layer_norm" },
		{ "layers.cross.q", "@layers.#.cross_attention.q_proj" },
		{ "layers.cross.k", "@layers.#.cross_attention.k_proj" },
		{ "layers.cross.v", "@layers.#.cross_attention.v_proj" },
		{ "layers.cross.o", "@layers.#.cross_attention.out_proj" }, SEQ2SEQ_TEXT, { "norm", "@layer_norm" }),
	.inert = IGNORED(INERT, "batch_prioritized_routing", "expert_capacity", "moe_*", "normalize_router_prob_before_dropping",
		"num_experts", "router_*", "second_expert_policy"),
};

const struct dialect speech_to_text_names = {
	.name = "speech-to-text",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS),
	.ignored = IGNORED("*embed_positions.*"),
	.weights = WEIGHTS(
		SEQ2SEQ_BODY, { "stem.conv", "@conv.conv_layers.#" }, { "norm", "@layer_norm" }, { "head.lm.out", "lm_head" }),
	.inert = IGNORED(INERT, "max_source_positions"),
};

const struct dialect whisper_names = {
	.name = "whisper",
	.prefix = "model.",
	.keys = KEYS(SEQ2SEQ_KEYS),
	.ignored = IGNORED("*.pos_emb_dummy"),
	.weights = WEIGHTS(SEQ2SEQ_BODY, { "stem.first", "@conv1" }, { "stem.second", "@conv2" }, { "norm", "@layer_norm" },
		{ "head.lm.out", "proj_out" }, { "head.audio.weights", "layer_weights" }, { "head.audio.project", "projector" },
		{ "head.audio.out", "classifier" }),
	.inert = IGNORED(INERT, "scale_embedding"),
};

// Keys are BART's or the usual ones.
const struct dialect whisper_encoder_names = {
	.name = "whisper-encoder",
	.prefix = "",
	.keys = KEYS({ "hidden_size", "d_model" }, { "hidden_size", "hidden_size" }, { "num_hidden_layers", "encoder_layers" },
		{ "num_hidden_layers", "num_hidden_layers" }, { "num_attention_heads", "encoder_attention_heads" },
		{ "num_attention_heads", "num_attention_heads" }, { "intermediate_size", "encoder_ffn_dim" },
		{ "intermediate_size", "intermediate_size" }, { "hidden_act", "activation_function" }),
	.weights = WEIGHTS(SEQ2SEQ_BODY, { "stem.first", "@conv1" }, { "stem.second", "@conv2" }, { "norm", "@layer_norm" }),
	.inert = IGNORED("scale_embedding"),
};

const struct dialect speecht5_names = {
	.name = "speecht5",
	.prefix = "speecht5.",
	.keys = KEYS(SEQ2SEQ_KEYS, { "activation_function", "hidden_act" }, { "hidden_size", "hidden_size" }),
	.weights = WEIGHTS({ "stem.conv", "speecht5.encoder.prenet.feature_encoder.conv_layers.#.conv" },
		{ "stem.norm", "speecht5.encoder.prenet.feature_encoder.conv_layers.#.layer_norm" },
		{ "features.norm", "speecht5.encoder.prenet.feature_projection.layer_norm" },
		{ "features.project", "speecht5.encoder.prenet.feature_projection.projection" },
		{ "positions", "speecht5.encoder.prenet.pos_conv_embed.conv" }, { "norm", "@layer_norm" },
		{ "layers.attn.distance", "@embed_positions.pe_k" }, { "layers.source.q", "@layers.#.attention.q_proj" },
		{ "layers.source.k", "@layers.#.attention.k_proj" }, { "layers.source.v", "@layers.#.attention.v_proj" },
		{ "layers.source.o", "@layers.#.attention.out_proj" }, { "layers.source.norm", "@layers.#.layer_norm" },
		{ "layers.ffn.norm", "@layers.#.final_layer_norm" },
		{ "layers.ffn.up", "@layers.#.feed_forward.intermediate_dense" },
		{ "layers.ffn.down", "@layers.#.feed_forward.output_dense" },
		{ "embed.word", "speecht5.decoder.prenet.embed_tokens" },
		{ "embed.text", "speecht5.encoder.prenet.embed_tokens" },
		{ "embed.alpha", "speecht5.encoder.prenet.encode_positions.alpha" },
		{ "frame.alpha", "speecht5.decoder.prenet.encode_positions.alpha" },
		{ "frame.in", "speecht5.decoder.prenet.layers.#" }, { "frame.out", "speecht5.decoder.prenet.final_layer" },
		{ "frame.voice", "speecht5.decoder.prenet.speaker_embeds_layer" },
		{ "head.speech.mel", "speech_decoder_postnet.feat_out" },
		{ "head.speech.stop", "speech_decoder_postnet.prob_out" },
		{ "post.conv", "speech_decoder_postnet.layers.#.conv" },
		{ "post.norm", "speech_decoder_postnet.layers.#.batch_norm" },
		{ "layers.attn.norm", "@layers.#.self_attn_layer_norm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.out_proj" }, { "layers.cross.norm", "@layers.#.encoder_attn_layer_norm" },
		{ "layers.cross.q", "@layers.#.encoder_attn.q_proj" }, { "layers.cross.k", "@layers.#.encoder_attn.k_proj" },
		{ "layers.cross.v", "@layers.#.encoder_attn.v_proj" }, { "layers.cross.o", "@layers.#.encoder_attn.out_proj" },
		{ "head.lm.out", "text_decoder_postnet.lm_head" }),
	.ignored = IGNORED("*masked_spec_embed", "*pos_sinusoidal_embed.*", "*embed_positions.weights", "*text_decoder_postnet.*",
		"*num_batches_tracked"),
	.inert = IGNORED(INERT, "num_mel_bins", "reduction_factor", "speaker_embedding_dim", "speech_decoder_*", "guided_*",
		"use_guided_attention_loss", "max_speech_positions", "max_text_positions", "num_feat_extract_layers",
		// of the half that the class has not
		"conv_bias", "conv_dim", "conv_kernel", "conv_stride", "feat_extract_activation", "feat_extract_norm",
		"num_conv_pos_*", "scale_embedding"),
};

const struct dialect seamless_names = {
	.name = "seamless",
	.prefix = "",
	.keys = KEYS({ "num_hidden_layers", "encoder_layers" }, { "num_decoder_layers", "decoder_layers" }),
	.weights = WEIGHTS({ "embed.word", "@embed_tokens" }, { "embed.shared", "shared" },
		{ "layers.attn.norm", "@layers.#.self_attn_layer_norm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.out_proj" },
		{ "layers.cross.norm", "@layers.#.cross_attention_layer_norm" },
		{ "layers.cross.q", "@layers.#.cross_attention.q_proj" },
		{ "layers.cross.k", "@layers.#.cross_attention.k_proj" },
		{ "layers.cross.v", "@layers.#.cross_attention.v_proj" },
		{ "layers.cross.o", "@layers.#.cross_attention.out_proj" }, { "layers.ffn.norm", "@layers.#.ffn_layer_norm" },
		{ "layers.ffn.up", "@layers.#.ffn.fc1" }, { "layers.ffn.down", "@layers.#.ffn.fc2" }, { "norm", "@layer_norm" },
		{ "head.lm.out", "lm_head" }),
	// Of what is said aloud; copies of the one table, and sines.
	.ignored = IGNORED("t2u_model.*", "vocoder.*", "shared.weight", "*embed_tokens.weight", "*embed_positions.weights"),
	.inert = IGNORED("t2u_*", "unit_*", "vocoder_*", "upsample_*", "resblock_*", "lang_embed_dim", "spkr_embed_dim",
		"leaky_relu_slope", "sampling_rate", "var*_pred*", "variance_predictor_*", "char_vocab_size", "num_conv_pos_*",
		"max_source_positions", "max_position_embeddings"),
};

const struct dialect canary_names = {
	.name = "canary",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@decoder.embed_tokens" }, { "embed.norm", "@decoder.embedding_layernorm" },
		{ "layers.attn.norm", "@decoder.layers.#.input_layernorm" },
		{ "layers.attn.q", "@decoder.layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@decoder.layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "@decoder.layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@decoder.layers.#.self_attn.o_proj" },
		{ "layers.cross.norm", "@decoder.layers.#.post_attention_layernorm" },
		{ "layers.cross.q", "@decoder.layers.#.encoder_attn.q_proj" },
		{ "layers.cross.k", "@decoder.layers.#.encoder_attn.k_proj" },
		{ "layers.cross.v", "@decoder.layers.#.encoder_attn.v_proj" },
		{ "layers.cross.o", "@decoder.layers.#.encoder_attn.o_proj" },
		{ "layers.ffn.norm", "@decoder.layers.#.final_layernorm" }, { "layers.ffn.up", "@decoder.layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@decoder.layers.#.mlp.fc2" }, { "norm", "@decoder.norm" }, { "head.lm.out", "proj_out" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED("is_encoder_decoder", "pad_token_id", "tie_word_embeddings"),
};

#define COHERE_ASR_LAYER "@transf_decoder._decoder.layers.#."
const struct dialect cohere_asr_names = {
	.name = "cohere-asr",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@transf_decoder._embedding.token_embedding" },
		{ "embed.position", "@transf_decoder._embedding.position_embedding.pos_enc" },
		{ "embed.norm", "@transf_decoder._embedding.layer_norm" }, { "memory", "@encoder_decoder_proj" },
		{ "layers.attn.norm", COHERE_ASR_LAYER "layer_norm_1" },
		{ "layers.attn.q", COHERE_ASR_LAYER "first_sub_layer.query_net" },
		{ "layers.attn.k", COHERE_ASR_LAYER "first_sub_layer.key_net" },
		{ "layers.attn.v", COHERE_ASR_LAYER "first_sub_layer.value_net" },
		{ "layers.attn.o", COHERE_ASR_LAYER "first_sub_layer.out_projection" },
		{ "layers.cross.norm", COHERE_ASR_LAYER "layer_norm_2" },
		{ "layers.cross.q", COHERE_ASR_LAYER "second_sub_layer.query_net" },
		{ "layers.cross.k", COHERE_ASR_LAYER "second_sub_layer.key_net" },
		{ "layers.cross.v", COHERE_ASR_LAYER "second_sub_layer.value_net" },
		{ "layers.cross.o", COHERE_ASR_LAYER "second_sub_layer.out_projection" },
		{ "layers.ffn.norm", COHERE_ASR_LAYER "layer_norm_3" },
		{ "layers.ffn.up", COHERE_ASR_LAYER "third_sub_layer.dense_in" },
		{ "layers.ffn.down", COHERE_ASR_LAYER "third_sub_layer.dense_out" },
		{ "norm", "@transf_decoder._decoder.final_layer_norm" }, { "head.lm.out", "log_softmax.mlp.layer0" }),
	.ignored = IGNORED("*num_batches_tracked", "preprocessor.featurizer.*"),
	.inert = IGNORED("is_encoder_decoder"),
};

const struct dialect glmasr_encoder_names = {
	.name = "glmasr-encoder",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.first", "@conv1" }, { "stem.second", "@conv2" },
		{ "layers.attn.norm", "@layers.#.input_layernorm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }, { "layers.ffn.norm", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.up", "@layers.#.mlp.fc1" }, { "layers.ffn.down", "@layers.#.mlp.fc2" }, { "norm", "@norm" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};

const struct dialect voxtral_realtime_encoder_names = {
	.name = "voxtral-realtime-encoder",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.first", "@embedder.conv1" }, { "stem.second", "@embedder.conv2" },
		{ "layers.attn.norm", "@layers.#.self_attn_layer_norm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }, { "layers.ffn.norm", "@layers.#.final_layer_norm" },
		{ "layers.ffn.gate", "@layers.#.mlp.gate_proj" }, { "layers.ffn.up", "@layers.#.mlp.up_proj" },
		{ "layers.ffn.down", "@layers.#.mlp.down_proj" }, { "norm", "@norm" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("activation_function", "vocab_size"),
};

// The second norm of a layer stands before the feed-forward in the encoder, before the attention to the encoder in the decoder.
const struct dialect moonshine_names = {
	.name = "moonshine",
	.prefix = "model.",
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.keys = KEYS({ "num_hidden_layers", "encoder_num_hidden_layers" }, { "num_decoder_layers", "decoder_num_hidden_layers" }),
	.weights = WEIGHTS({ "embed.word", "@embed_tokens" }, { "stem.first", "@conv1" }, { "stem.norm", "@groupnorm" },
		{ "stem.second", "@conv2" }, { "stem.third", "@conv3" }, { "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.q", "@layers.#.self_attn.q_proj" }, { "layers.attn.k", "@layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "@layers.#.self_attn.v_proj" }, { "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.cross.norm", "@layers.#.post_attention_layernorm" },
		{ "layers.cross.q", "@layers.#.encoder_attn.q_proj" }, { "layers.cross.k", "@layers.#.encoder_attn.k_proj" },
		{ "layers.cross.v", "@layers.#.encoder_attn.v_proj" }, { "layers.cross.o", "@layers.#.encoder_attn.o_proj" },
		{ "layers.last.norm", "@layers.#.final_layernorm" }, { "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }, { "norm", "@norm" }, { "norm.encoder", "@layer_norm" },
		{ "head.lm.out", "proj_out" }),
	.inert = IGNORED("pad_head_dim_to_multiple_of", "is_encoder_decoder"),
};
