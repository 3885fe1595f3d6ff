// SPDX-License-Identifier: Apache-2.0
// What checkpoints of speech encoders call things.
#include "arch/dialect.h"

#define STEM \
	{ "stem.conv", "@feature_extractor.conv_layers.#.conv" }, \
		{ "stem.norm", "@feature_extractor.conv_layers.#.layer_norm" }, { "positions", "@encoder.pos_conv_embed.conv" }, \
	{ \
		"norm", "@encoder.layer_norm" \
	}

#define LAYERS \
	{ "layers.attn.q", "@encoder.layers.#.attention.q_proj" }, { "layers.attn.k", "@encoder.layers.#.attention.k_proj" }, \
		{ "layers.attn.v", "@encoder.layers.#.attention.v_proj" }, \
		{ "layers.attn.o", "@encoder.layers.#.attention.out_proj" }, \
		{ "layers.attn.norm", "@encoder.layers.#.layer_norm" }, \
		{ "layers.ffn.up", "@encoder.layers.#.feed_forward.intermediate_dense" }, \
		{ "layers.ffn.down", "@encoder.layers.#.feed_forward.output_dense" }, \
	{ \
		"layers.ffn.norm", "@encoder.layers.#.final_layer_norm" \
	}

#define FEATURES \
	{ "features.norm", "@feature_projection.layer_norm" }, \
	{ \
		"features.project", "@feature_projection.projection" \
	}

#define ADAPTER \
	{ "adapter.project", "@adapter.proj" }, { "adapter.norm", "@adapter.proj_layer_norm" }, \
	{ \
		"adapter.conv", "@adapter.layers.#.conv" \
	}

#define HEADS \
	{ "head.ctc", "lm_head" }, { "head.layers", "layer_weights" }, { "head.projector", "projector" }, \
		{ "head.classifier", "classifier" }, { "head.tdnn", "tdnn.#.kernel" }, \
	{ \
		"head.embed", "feature_extractor" \
	}

#define CODES \
	{ "head.project_states", "project_hid" }, { "head.project_codes", "project_q" }, \
		{ "head.quantizer", "quantizer.weight_proj" }, \
	{ \
		"head.quantizer.codes", "quantizer.codevectors" \
	}

// What pre-training leaves behind, and the weights of losses.
#define TRAINED \
	"*masked_spec_embed", "quantizer.*", "project_hid.*", "project_q.*", "objective.*", "*num_batches_tracked", \
		"ctc_proj.*", "speaker_proj.*", "label_embeddings_concat", "layer_norm_for_extract.*"

#define SPEECH(NAME, PREFIX, ...) \
	{ \
		.name = NAME, .prefix = PREFIX, .keys = NO_KEYS, \
		.weights = WEIGHTS(STEM, FEATURES, LAYERS, ADAPTER, HEADS __VA_OPT__(, ) __VA_ARGS__), \
		.ignored = IGNORED(TRAINED), .inert = IGNORED("num_feat_extract_layers") \
	}

const struct dialect wav2vec2_names =
	SPEECH("wav2vec2", "wav2vec2.", CODES, { "layers.adapter.norm", "@encoder.layers.#.adapter_layer.norm" },
		{ "layers.adapter.down", "@encoder.layers.#.adapter_layer.linear_1" },
		{ "layers.adapter.up", "@encoder.layers.#.adapter_layer.linear_2" });

const struct dialect hubert_names = SPEECH("hubert", "hubert.", { "positions.norm", "@encoder.pos_conv_embed.batch_norm" });
const struct dialect unispeech_names =
	SPEECH("unispeech", "unispeech.", { "layers.adapter.norm", "@encoder.layers.#.adapter_layer.norm" },
		{ "layers.adapter.down", "@encoder.layers.#.adapter_layer.linear_1" },
		{ "layers.adapter.up", "@encoder.layers.#.adapter_layer.linear_2" });
const struct dialect unispeech_sat_names =
	SPEECH("unispeech-sat", "unispeech_sat.", { "layers.adapter.norm", "@encoder.layers.#.adapter_layer.norm" },
		{ "layers.adapter.down", "@encoder.layers.#.adapter_layer.linear_1" },
		{ "layers.adapter.up", "@encoder.layers.#.adapter_layer.linear_2" });
const struct dialect data2vec_audio_names =
	SPEECH("data2vec-audio", "data2vec_audio.", { "positions.layer", "@encoder.pos_conv_embed.layers.#.conv" });
const struct dialect wavlm_names = SPEECH("wavlm", "wavlm.", { "attn.relative", "@encoder.layers.0.attention.rel_attn_embed" },
	{ "layers.attn.gate", "@encoder.layers.#.attention.gru_rel_pos_linear" },
	{ "layers.attn.gate_constant", "@encoder.layers.#.attention.gru_rel_pos_const" });

const struct dialect sew_names = {
	.name = "sew",
	.prefix = "sew.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(STEM, LAYERS, HEADS, { "features.norm", "@layer_norm" }, { "features.project", "@feature_projection" },
		{ "upsample", "@encoder.upsample.projection" }),
	.ignored = IGNORED(TRAINED),
	.inert = IGNORED("num_feat_extract_layers"),
};

#define SEW_D_LAYER "@encoder.encoder.layer.#."
const struct dialect sew_d_names = {
	.name = "sew-d",
	.prefix = "sew_d.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(STEM, HEADS, { "features.norm", "@layer_norm" }, { "features.project", "@feature_projection" },
		{ "upsample", "@encoder.upsample.projection" }, { "distances", "@encoder.encoder.rel_embeddings" },
		{ "distances.norm", "@encoder.encoder.LayerNorm" }, { "layers.attn.q", SEW_D_LAYER "attention.self.query_proj" },
		{ "layers.attn.k", SEW_D_LAYER "attention.self.key_proj" },
		{ "layers.attn.v", SEW_D_LAYER "attention.self.value_proj" },
		{ "layers.attn.table_k", SEW_D_LAYER "attention.self.pos_key_proj" },
		{ "layers.attn.table_q", SEW_D_LAYER "attention.self.pos_query_proj" },
		{ "layers.attn.o", SEW_D_LAYER "attention.output.dense" },
		{ "layers.attn.norm", SEW_D_LAYER "attention.output.LayerNorm" },
		{ "layers.ffn.up", SEW_D_LAYER "intermediate.dense" }, { "layers.ffn.down", SEW_D_LAYER "output.dense" },
		{ "layers.ffn.norm", SEW_D_LAYER "output.LayerNorm" }, { "conv", "@encoder.encoder.conv.conv" },
		{ "conv.norm", "@encoder.encoder.conv.LayerNorm" }),
	.ignored = IGNORED(TRAINED),
	.inert = IGNORED("num_feat_extract_layers"),
};

#define CONFORMER \
	{ "rope.frequencies", "@encoder.embed_positions.inv_freq" }, \
		{ "layers.ffn1.norm", "@encoder.layers.#.ffn1_layer_norm" }, \
		{ "layers.ffn1.up", "@encoder.layers.#.ffn1.intermediate_dense" }, \
		{ "layers.ffn1.down", "@encoder.layers.#.ffn1.output_dense" }, \
		{ "layers.attn.norm", "@encoder.layers.#.self_attn_layer_norm" }, \
		{ "layers.attn.q", "@encoder.layers.#.self_attn.linear_q" }, \
		{ "layers.attn.k", "@encoder.layers.#.self_attn.linear_k" }, \
		{ "layers.attn.v", "@encoder.layers.#.self_attn.linear_v" }, \
		{ "layers.attn.o", "@encoder.layers.#.self_attn.linear_out" }, \
		{ "layers.attn.positions", "@encoder.layers.#.self_attn.linear_pos" }, \
		{ "layers.attn.u_bias", "@encoder.layers.#.self_attn.pos_bias_u" }, \
		{ "layers.attn.v_bias", "@encoder.layers.#.self_attn.pos_bias_v" }, \
		{ "layers.attn.distance", "@encoder.layers.#.self_attn.distance_embedding" }, \
		{ "layers.conv.norm", "@encoder.layers.#.conv_module.layer_norm" }, \
		{ "layers.conv.in", "@encoder.layers.#.conv_module.pointwise_conv1" }, \
		{ "layers.conv.depth", "@encoder.layers.#.conv_module.depthwise_conv" }, \
		{ "layers.conv.batch_norm", "@encoder.layers.#.conv_module.batch_norm" }, \
		{ "layers.conv.depth_norm", "@encoder.layers.#.conv_module.depthwise_layer_norm" }, \
		{ "layers.conv.out", "@encoder.layers.#.conv_module.pointwise_conv2" }, \
		{ "layers.ffn2.norm", "@encoder.layers.#.ffn2_layer_norm" }, \
		{ "layers.ffn2.up", "@encoder.layers.#.ffn2.intermediate_dense" }, \
		{ "layers.ffn2.down", "@encoder.layers.#.ffn2.output_dense" }, \
	{ \
		"layers.norm", "@encoder.layers.#.final_layer_norm" \
	}

const struct dialect wav2vec2_conformer_names = {
	.name = "wav2vec2-conformer",
	.prefix = "wav2vec2_conformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(STEM, FEATURES, CONFORMER, ADAPTER, HEADS, CODES),
	.ignored = IGNORED(TRAINED, "*pos_conv_embed.*", "*inv_freq"),
	.inert = IGNORED(
		"num_feat_extract_layers", "max_source_positions", "num_conv_pos_embeddings", "num_conv_pos_embedding_groups"),
};

#define ATTENDING_ADAPTER \
	{ "adapter.before.up", "@intermediate_ffn.intermediate_dense" }, \
		{ "adapter.before.down", "@intermediate_ffn.output_dense" }, \
		{ "adapter.residual_norm", "@adapter.layers.#.residual_layer_norm" }, \
		{ "adapter.residual_conv", "@adapter.layers.#.residual_conv" }, \
		{ "adapter.attn.norm", "@adapter.layers.#.self_attn_layer_norm" }, \
		{ "adapter.attn.conv", "@adapter.layers.#.self_attn_conv" }, \
		{ "adapter.attn.q", "@adapter.layers.#.self_attn.linear_q" }, \
		{ "adapter.attn.k", "@adapter.layers.#.self_attn.linear_k" }, \
		{ "adapter.attn.v", "@adapter.layers.#.self_attn.linear_v" }, \
		{ "adapter.attn.o", "@adapter.layers.#.self_attn.linear_out" }, \
		{ "adapter.ffn.norm", "@adapter.layers.#.ffn_layer_norm" }, \
		{ "adapter.ffn.up", "@adapter.layers.#.ffn.intermediate_dense" }, \
	{ \
		"adapter.ffn.down", "@adapter.layers.#.ffn.output_dense" \
	}

const struct dialect wav2vec2_bert_names = {
	.name = "wav2vec2-bert",
	.prefix = "wav2vec2_bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(FEATURES, CONFORMER, HEADS, ATTENDING_ADAPTER, { "adapter.project", "@adapter.proj" },
		{ "adapter.norm", "@adapter.proj_layer_norm" }),
	.ignored = IGNORED(TRAINED),
	.inert = IGNORED(
		"num_feat_extract_layers", "max_source_positions", "num_conv_pos_embeddings", "num_conv_pos_embedding_groups"),
};

// Of one half of seamless_names' models.
const struct dialect seamless_speech_names = {
	.name = "seamless-speech",
	.prefix = "speech_encoder.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(
		FEATURES, CONFORMER, { "norm", "@encoder.layer_norm" }, ATTENDING_ADAPTER, { "after", "@inner_layer_norm" }),
	.ignored = IGNORED("*num_batches_tracked"),
};

const struct dialect spectrogram_names = {
	.name = "spectrogram",
	.prefix = "audio_spectrogram_transformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.class", "@embeddings.cls_token" }, { "embed.distillation", "@embeddings.distillation_token" },
		{ "embed.patch", "@embeddings.patch_embeddings.projection" },
		{ "embed.position", "@embeddings.position_embeddings" },
		{ "layers.attn.norm", "@encoder.layer.#.layernorm_before" },
		{ "layers.attn.q", "@encoder.layer.#.attention.attention.query" },
		{ "layers.attn.k", "@encoder.layer.#.attention.attention.key" },
		{ "layers.attn.v", "@encoder.layer.#.attention.attention.value" },
		{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.layernorm_after" },
		{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" }, { "norm", "@layernorm" },
		{ "head.audio.norm", "classifier.layernorm" }, { "head.audio", "classifier.dense" }),
	.ignored = IGNORED("*position_ids"),
};

#define SHORT_CONFORMER \
	{ "layers.ffn1.norm", "@layers.#.norm_feed_forward1" }, { "layers.ffn1.up", "@layers.#.feed_forward1.linear1" }, \
		{ "layers.ffn1.down", "@layers.#.feed_forward1.linear2" }, { "layers.attn.norm", "@layers.#.norm_self_att" }, \
		{ "layers.attn.q", "@layers.#.self_attn.q_proj" }, { "layers.attn.k", "@layers.#.self_attn.k_proj" }, \
		{ "layers.attn.v", "@layers.#.self_attn.v_proj" }, { "layers.attn.o", "@layers.#.self_attn.o_proj" }, \
		{ "layers.conv.norm", "@layers.#.norm_conv" }, { "layers.conv.in", "@layers.#.conv.pointwise_conv1" }, \
		{ "layers.conv.depth", "@layers.#.conv.depthwise_conv" }, { "layers.conv.batch_norm", "@layers.#.conv.norm" }, \
		{ "layers.conv.out", "@layers.#.conv.pointwise_conv2" }, { "layers.ffn2.norm", "@layers.#.norm_feed_forward2" }, \
		{ "layers.ffn2.up", "@layers.#.feed_forward2.linear1" }, \
		{ "layers.ffn2.down", "@layers.#.feed_forward2.linear2" }, \
	{ \
		"layers.norm", "@layers.#.norm_out" \
	}

const struct dialect parakeet_names = {
	.name = "parakeet",
	.prefix = "encoder.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SHORT_CONFORMER, { "short.layer", "@subsampling.layers.#" }, { "short.out", "@subsampling.linear" },
		{ "layers.attn.positions", "@layers.#.self_attn.relative_k_proj" },
		{ "layers.attn.u_bias", "@layers.#.self_attn.bias_u" }, { "layers.attn.v_bias", "@layers.#.self_attn.bias_v" },
		// within Cohere's
		{ "short.layer", "@pre_encode.conv.#" }, { "short.out", "@pre_encode.out" },
		{ "layers.attn.q", "@layers.#.self_attn.linear_q" }, { "layers.attn.k", "@layers.#.self_attn.linear_k" },
		{ "layers.attn.v", "@layers.#.self_attn.linear_v" }, { "layers.attn.o", "@layers.#.self_attn.linear_out" },
		{ "layers.attn.positions", "@layers.#.self_attn.linear_pos" },
		{ "layers.attn.u_bias", "@layers.#.self_attn.pos_bias_u" },
		{ "layers.attn.v_bias", "@layers.#.self_attn.pos_bias_v" },
		{ "layers.conv.batch_norm", "@layers.#.conv.batch_norm" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED("batch_norm_momentum"),
};

const struct dialect granite_speech5_encoder_names = {
	.name = "granite-speech5-encoder",
	.prefix = "encoder.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SHORT_CONFORMER, { "embed.frame", "@input_linear" },
		{ "layers.attn.distance", "@layers.#.self_attn.rel_pos_emb" },
		{ "layers.conv.in", "@layers.#.conv.pointwise_lin1" }, { "layers.conv.out", "@layers.#.conv.pointwise_lin2" },
		{ "said", "@out" }, { "said.back", "@out_mid" }),
	.ignored = IGNORED("*num_batches_tracked", "encoder.out.*", "encoder.out_mid.*", "out.*", "out_mid.*"),
	.inert = IGNORED("num_key_value_heads"),
};

const struct dialect granite_speech5_ctc_names = {
	.name = "granite-speech5-ctc",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.ctc", "ctc_head" }),
	.ignored = IGNORED("*num_batches_tracked", "encoder.out.*", "encoder.out_mid.*", "out.*", "out_mid.*"),
};

#define LUCID(STEM, NAME) \
	{ "layers." STEM ".norm", "@layers.#." NAME ".pre_norm" }, { "layers." STEM ".up", "@layers.#." NAME ".up_proj" }, \
	{ \
		"layers." STEM ".down", "@layers.#." NAME ".down_proj" \
	}

const struct dialect granite_speech_encoder_names = {
	.name = "granite-speech-encoder",
	.prefix = "",
	.keys = KEYS({ "hidden_size", "hidden_dim" }, { "num_hidden_layers", "num_layers" },
		{ "num_attention_heads", "num_heads" }, { "head_dim", "dim_head" }, { "max_position_embeddings", "max_pos_emb" },
		{ "num_mel_bins", "input_dim" }, { "vocab_size", "output_dim" }),
	.weights = WEIGHTS({ "embed.frame", "@input_linear" }, LUCID("ffn1", "ff1"), LUCID("ffn2", "ff2"),
		{ "layers.attn.norm", "@layers.#.attn.pre_norm" }, { "layers.attn.q", "@layers.#.attn.to_q" },
		{ "layers.attn.kv", "@layers.#.attn.to_kv" }, { "layers.attn.o", "@layers.#.attn.to_out" },
		{ "layers.attn.distance", "@layers.#.attn.rel_pos_emb" }, { "layers.conv.norm", "@layers.#.conv.norm" },
		{ "layers.conv.in", "@layers.#.conv.up_conv" }, { "layers.conv.depth", "@layers.#.conv.depth_conv.conv" },
		{ "layers.conv.batch_norm", "@layers.#.conv.batch_norm" }, { "layers.conv.out", "@layers.#.conv.down_conv" },
		{ "layers.norm", "@layers.#.post_norm" }, { "said", "@out" }, { "said.back", "@out_mid" }),
	.ignored = IGNORED("*num_batches_tracked"),
};

const struct dialect lasr_names = {
	.name = "lasr",
	.prefix = "encoder.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SHORT_CONFORMER, { "short.in", "@subsampler.dense_0" }, { "short.layer", "@subsampler.conv_#" },
		{ "short.out", "@subsampler.dense_1" }, { "norm", "@out_norm" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED("batch_norm_momentum"),
};

const struct dialect ctc_names = {
	.name = "ctc",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.ctc", "ctc_head" }),
	.ignored = IGNORED("*num_batches_tracked"),
};

const struct dialect transducer_names = {
	.name = "transducer",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "encoder.out", "encoder_projector" }, { "predict.embed", "decoder.embedding" },
		{ "predict.input", "decoder.lstm.weight_ih_l#" }, { "predict.hidden", "decoder.lstm.weight_hh_l#" },
		{ "predict.input.bias", "decoder.lstm.bias_ih_l#" }, { "predict.hidden.bias", "decoder.lstm.bias_hh_l#" },
		{ "predict.out", "decoder.decoder_projector" }, { "head.joint", "joint.head" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED("is_encoder_decoder"),
};

const struct dialect hifigan_names = {
	.name = "hifigan",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "mean", "mean" }, { "scale", "scale" }, { "first", "conv_pre" }, { "longer", "upsampler.#" },
		{ "stacks.dilated", "resblocks.#.convs1.#" }, { "stacks.plain", "resblocks.#.convs2.#" },
		{ "last", "conv_post" }),
	.ignored = IGNORED("mean", "scale"),
	.inert = IGNORED("sampling_rate"),
};

const struct dialect fastspeech_names = {
	.name = "fastspeech",
	.prefix = "",
	.keys = NO_KEYS,
	.weights =
		WEIGHTS({ "embed.word", "encoder.embed" }, { "layers.ffn1.norm", "$.conformer_layers.#.ff_macaron_layer_norm" },
			{ "layers.ffn1.up", "$.conformer_layers.#.feed_forward_macaron.conv1" },
			{ "layers.ffn1.down", "$.conformer_layers.#.feed_forward_macaron.conv2" },
			{ "layers.attn.norm", "$.conformer_layers.#.self_attn_layer_norm" },
			{ "layers.attn.q", "$.conformer_layers.#.self_attn.linear_q" },
			{ "layers.attn.k", "$.conformer_layers.#.self_attn.linear_k" },
			{ "layers.attn.v", "$.conformer_layers.#.self_attn.linear_v" },
			{ "layers.attn.o", "$.conformer_layers.#.self_attn.linear_out" },
			{ "layers.attn.concat", "$.conformer_layers.#.concat_linear" },
			{ "layers.attn.positions", "$.conformer_layers.#.self_attn.linear_pos" },
			{ "layers.attn.u_bias", "$.conformer_layers.#.self_attn.pos_bias_u" },
			{ "layers.attn.v_bias", "$.conformer_layers.#.self_attn.pos_bias_v" },
			{ "layers.conv.norm", "$.conformer_layers.#.conv_layer_norm" },
			{ "layers.conv.in", "$.conformer_layers.#.conv_module.pointwise_conv1" },
			{ "layers.conv.depth", "$.conformer_layers.#.conv_module.depthwise_conv" },
			{ "layers.conv.batch_norm", "$.conformer_layers.#.conv_module.norm" },
			{ "layers.conv.out", "$.conformer_layers.#.conv_module.pointwise_conv2" },
			{ "layers.ffn2.norm", "$.conformer_layers.#.ff_layer_norm" },
			{ "layers.ffn2.up", "$.conformer_layers.#.feed_forward.conv1" },
			{ "layers.ffn2.down", "$.conformer_layers.#.feed_forward.conv2" },
			{ "layers.norm", "$.conformer_layers.#.final_layer_norm" }, { "told.speaker", "speaker_id_embedding" },
			{ "told.language", "language_id_embedding" }, { "told.voice", "projection" },
			{ "predictor.conv", "$_predictor.conv_layers.#.conv" },
			{ "predictor.norm", "$_predictor.conv_layers.#.layer_norm" }, { "predictor.out", "$_predictor.linear" },
			{ "predictor.embed", "$_embed.conv" }, { "mel", "speech_decoder_postnet.feat_out" },
			{ "post.conv", "speech_decoder_postnet.layers.#.conv" },
			{ "post.norm", "speech_decoder_postnet.layers.#.batch_norm" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED("use_masking", "use_weighted_masking", "stop_gradient_*", "max_source_positions", "is_encoder_decoder"),
};

const struct dialect univnet_names = {
	.name = "univnet",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "first", "conv_pre" }, { "longer", "resblocks.#.convt_pre" },
		{ "told.first", "resblocks.#.kernel_predictor.input_conv" },
		{ "told.block_first", "resblocks.#.kernel_predictor.resblocks.#.conv1" },
		{ "told.block_second", "resblocks.#.kernel_predictor.resblocks.#.conv2" },
		{ "told.kernels", "resblocks.#.kernel_predictor.kernel_conv" },
		{ "told.biases", "resblocks.#.kernel_predictor.bias_conv" }, { "dilated", "resblocks.#.resblocks.#.conv" },
		{ "last", "conv_post" }),
	.ignored = IGNORED(NULL),
};

const struct dialect vits_names = {
	.name = "vits",
	.prefix = "",
	.keys = KEYS({ "intermediate_size", "ffn_dim" }),
	.weights = WEIGHTS({ "embed.word", "text_encoder.embed_tokens" }, { "embed.voice", "embed_speaker" },
		{ "layers.attn.q", "text_encoder.encoder.layers.#.attention.q_proj" },
		{ "layers.attn.k", "text_encoder.encoder.layers.#.attention.k_proj" },
		{ "layers.attn.v", "text_encoder.encoder.layers.#.attention.v_proj" },
		{ "layers.attn.o", "text_encoder.encoder.layers.#.attention.out_proj" },
		{ "layers.attn.near_key", "text_encoder.encoder.layers.#.attention.emb_rel_k" },
		{ "layers.attn.near_value", "text_encoder.encoder.layers.#.attention.emb_rel_v" },
		{ "layers.attn.norm", "text_encoder.encoder.layers.#.layer_norm" },
		{ "layers.ffn.up", "text_encoder.encoder.layers.#.feed_forward.conv_1" },
		{ "layers.ffn.down", "text_encoder.encoder.layers.#.feed_forward.conv_2" },
		{ "layers.ffn.norm", "text_encoder.encoder.layers.#.final_layer_norm" }, { "prior", "text_encoder.project" },
		{ "durations.pre", "duration_predictor.$conv_pre" }, { "durations.post", "duration_predictor.$conv_proj" },
		{ "durations.voice", "duration_predictor.cond" },
		{ "durations.depth", "duration_predictor.$conv_dds.convs_dilated.#" },
		{ "durations.depth_norm", "duration_predictor.$conv_dds.norms_1.#" },
		{ "durations.point", "duration_predictor.$conv_dds.convs_pointwise.#" },
		{ "durations.point_norm", "duration_predictor.$conv_dds.norms_2.#" },
		{ "durations.moved", "duration_predictor.flows.0.translate" },
		{ "durations.scale", "duration_predictor.flows.0.log_scale" }, { "durations.conv", "duration_predictor.conv_#" },
		{ "durations.norm", "duration_predictor.norm_#" }, { "durations.proj", "duration_predictor.proj" },
		{ "flow.pre", "flow.flows.#.conv_pre" }, { "flow.post", "flow.flows.#.conv_post" },
		{ "flow.wide", "flow.flows.#.wavenet.in_layers.#" }, { "flow.out", "flow.flows.#.wavenet.res_skip_layers.#" },
		{ "flow.voice", "flow.flows.*.wavenet.cond_layer" }, { "voice", "decoder.cond" }, { "first", "decoder.conv_pre" },
		{ "longer", "decoder.upsampler.#" }, { "stacks.dilated", "decoder.resblocks.#.convs1.#" },
		{ "stacks.plain", "decoder.resblocks.#.convs2.#" }, { "last", "decoder.conv_post" }),
	// Of training, as the first flow of durations; and of voices where there is one.
	.ignored = IGNORED("posterior_encoder.*", "duration_predictor.post_*", "duration_predictor.flows.1.*",
		"*.wavenet.cond_layer.*", "*.cond.*", "embed_speaker.*"),
	.inert = IGNORED("spectrogram_bins", "posterior_encoder_num_wavenet_layers", "sampling_rate"),
};

const struct dialect stacked_sound_names = {
	.name = "stacked-sound",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.stack", "@embedder.projection" }, { "embed.norm", "@input_layer_norm" },
		{ "layers.attn.norm", "@layers.#.layer_norm1" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_norm" }, { "layers.attn.k_norm", "@layers.#.self_attn.k_norm" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }, { "layers.ffn.norm", "@layers.#.layer_norm2" },
		{ "layers.ffn.up", "@layers.#.mlp.fc1" }, { "layers.ffn.down", "@layers.#.mlp.fc2" }, { "norm", "@layer_norm" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};

#define CODEC_LAYERS \
	{ "conv", "$.layers.#.conv" }, { "block", "$.layers.#.block.*.conv" }, \
	{ \
		"shortcut", "$.layers.#.shortcut.conv" \
	}

const struct dialect encodec_names = {
	.name = "encodec",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(CODEC_LAYERS, { "conv.norm", "$.layers.#.norm" }, { "block.norm", "$.layers.#.block.*.norm" },
		{ "shortcut.norm", "$.layers.#.shortcut.norm" }, { "lstm.input", "$.layers.#.lstm.weight_ih_l*" },
		{ "lstm.hidden", "$.layers.#.lstm.weight_hh_l*" }, { "lstm.input.bias", "$.layers.#.lstm.bias_ih_l*" },
		{ "lstm.hidden.bias", "$.layers.#.lstm.bias_hh_l*" }, { "codes", "quantizer.layers.#.codebook.embed" }),
	.ignored = IGNORED("quantizer.layers.*"), // of quantizers that the least bandwidth does not use, and of training
	.inert = IGNORED("overlap", "is_encoder_decoder"),
};

const struct dialect mimi_names = {
	.name = "mimi",
	.prefix = "",
	.keys = KEYS({ "layer_norm_eps", "norm_eps" }),
	.weights = WEIGHTS(CODEC_LAYERS, { "layers.attn.norm", "$_transformer.layers.#.input_layernorm" },
		{ "layers.attn.q", "$_transformer.layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "$_transformer.layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "$_transformer.layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "$_transformer.layers.#.self_attn.o_proj" },
		{ "layers.attn.scale", "$_transformer.layers.#.self_attn_layer_scale.scale" },
		{ "layers.ffn.norm", "$_transformer.layers.#.post_attention_layernorm" },
		{ "layers.ffn.up", "$_transformer.layers.#.mlp.fc1" }, { "layers.ffn.down", "$_transformer.layers.#.mlp.fc2" },
		{ "layers.ffn.scale", "$_transformer.layers.#.mlp_layer_scale.scale" }, { "shorter", "downsample.conv" },
		{ "longer", "upsample.conv" }, { "quantizer.in", "quantizer.$_residual_vector_quantizer.input_proj" },
		{ "quantizer.out", "quantizer.$_residual_vector_quantizer.output_proj" },
		{ "codes", "quantizer.$_residual_vector_quantizer.layers.#.codebook.embed_sum" },
		{ "codes.count", "quantizer.$_residual_vector_quantizer.layers.#.codebook.cluster_usage" }),
	.ignored = IGNORED("*.codebook.initialized"),
	.inert = IGNORED("layer_scale_initial_scale", "use_streaming", "tie_word_embeddings"),
};

const struct dialect dac_names = {
	.name = "dac",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "first", "$.conv1" }, { "snake", "$.snake1" }, { "last", "$.conv2" },
		{ "block.snake", "$.block.#.snake1" }, { "shorter", "$.block.#.conv1" }, { "longer", "$.block.#.conv_t1" },
		{ "unit.first", "$.block.#.res_unit*.snake1" }, { "unit.dilated", "$.block.#.res_unit*.conv1" },
		{ "unit.second", "$.block.#.res_unit*.snake2" }, { "unit.plain", "$.block.#.res_unit*.conv2" },
		{ "codes", "quantizer.quantizers.#.codebook" }, { "codes.in", "quantizer.quantizers.#.in_proj" },
		{ "codes.out", "quantizer.quantizers.#.out_proj" }),
	.ignored = IGNORED("*num_batches_tracked"),
	.inert = IGNORED("sampling_rate", "hop_length", "quantizer_dropout", "commitment_loss_weight", "codebook_loss_weight",
		"is_encoder_decoder"),
};

// Published files have the codec in the whole model, below "vqvae.".
const struct dialect jukebox_names = {
	.name = "jukebox",
	.prefix = "vqvae.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "encoder.block", "@encoders.#.level_blocks.#.downsample_block.$" },
		{ "encoder.out", "@encoders.#.level_blocks.#.proj_out" },
		{ "decoder.block", "@decoders.#.level_blocks.#.upsample_block.$" },
		{ "decoder.in", "@decoders.#.level_blocks.#.proj_in" }, { "decoder.out", "@decoders.#.out" },
		{ "codebook", "@bottleneck.level_blocks.#.codebook" }),
	.inert = IGNORED("act_fn", "commit", "hop_fraction", "init_scale", "lmu", "sample_length", "zero_out"),
};

const struct dialect clvp_names = {
	.name = "clvp",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "logit_scale", "logit_scale" }, { "mel.conv", "@mel_conv" }, { "mel.norm", "@group_norms.#" },
		{ "mel.attn.q", "@mel_attn_blocks.#.q_proj" }, { "mel.attn.k", "@mel_attn_blocks.#.k_proj" },
		{ "mel.attn.v", "@mel_attn_blocks.#.v_proj" }, { "mel.attn.o", "@mel_attn_blocks.#.out_proj" },
		{ "text.word", "@text_token_embedding" }, { "text.position", "@text_position_embedding" },
		{ "embed.position", "@model.decoder.position_embeds_layer" },
		{ "decoder.attn.norm", "@model.decoder.layers.#.input_layernorm" },
		{ "decoder.attn.q", "@model.decoder.layers.#.attn.q_proj" },
		{ "decoder.attn.k", "@model.decoder.layers.#.attn.k_proj" },
		{ "decoder.attn.v", "@model.decoder.layers.#.attn.v_proj" },
		{ "decoder.attn.o", "@model.decoder.layers.#.attn.out_proj" },
		{ "decoder.ffn.norm", "@model.decoder.layers.#.post_attention_layernorm" },
		{ "decoder.ffn.up", "@model.decoder.layers.#.mlp.c_fc" },
		{ "decoder.ffn.down", "@model.decoder.layers.#.mlp.c_proj" }, { "decoder.norm", "@model.decoder.layer_norm" },
		{ "decoder.last", "@final_norm" }, { "decoder.out", "@lm_head" }, { "embed.word", "@token_embedding" },
		{ "rope.frequencies", "@rotary_pos_emb.inv_freq" }, { "layers.attn.norm", "@layers.#.input_rmsnorm" },
		{ "layers.attn.q", "@layers.#.self_attn.q_proj" }, { "layers.attn.k", "@layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "@layers.#.self_attn.v_proj" }, { "layers.attn.o", "@layers.#.self_attn.out_proj" },
		{ "layers.ffn.norm", "@layers.#.post_attention_rmsnorm" }, { "layers.ffn.gate_up", "@layers.#.mlp.fc1.proj" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }, { "norm", "@final_layer_norm" }, { "project", "@projection" }),
	// The decoder's own words, which it is not given here, and masks of older files.
	.ignored = IGNORED("*input_embeds_layer.weight", "*attn.bias", "*mel_attn_blocks.[0-9].bias"),
	.inert = IGNORED("projection_dim", "logit_scale_init_value", "initializer_factor", "model_type", "summary_*",
		"embd_pdrop", "resid_pdrop", "add_cross_attention", "pad_token_id", "is_encoder_decoder", "tie_word_embeddings"),
};

const struct dialect bark_names = {
	.name = "bark",
	.prefix = "",
	.keys = KEYS({ "num_hidden_layers", "num_layers" }, { "num_attention_heads", "num_heads" },
		{ "vocab_size", "input_vocab_size" }, { "max_position_embeddings", "block_size" }),
	.weights = WEIGHTS({ "embed.word", "@input_embeds_layer" }, { "embed.codes", "@input_embeds_layers.#" },
		{ "embed.position", "@position_embeds_layer" }, { "layers.attn.norm", "@layers.#.layernorm_1" },
		{ "layers.attn.qkv", "@layers.#.attn.att_proj" }, { "layers.attn.o", "@layers.#.attn.out_proj" },
		{ "layers.ffn.norm", "@layers.#.layernorm_2" }, { "layers.ffn.up", "@layers.#.mlp.in_proj" },
		{ "layers.ffn.down", "@layers.#.mlp.out_proj" }, { "norm", "@layernorm_final" }, { "lm", "@lm_head" },
		{ "lm.codes", "@lm_heads.#" }),
	.ignored = IGNORED("*.attn.bias"), // which places are seen
	.inert = IGNORED("model_type", "is_encoder_decoder"),
};

const struct dialect mctct_names = {
	.name = "mctct",
	.prefix = "mctct.",
	.keys = KEYS({ "head_dim", "attention_head_dim" }),
	.weights = WEIGHTS({ "stem.scale", "@encoder.layer_norm.singleton_weight" },
		{ "stem.offset", "@encoder.layer_norm.singleton_bias" }, { "stem.conv", "@encoder.conv.conv_layers.#" },
		{ "layers.attn.q", "@encoder.layers.#.attention.self.query" },
		{ "layers.attn.k", "@encoder.layers.#.attention.self.key" },
		{ "layers.attn.v", "@encoder.layers.#.attention.self.value" },
		{ "layers.attn.distance", "@encoder.layers.#.attention.self.distance_embedding" },
		{ "layers.attn.o", "@encoder.layers.#.attention.output.dense" },
		{ "layers.attn.norm", "@encoder.layers.#.attention.output.LayerNorm" },
		{ "layers.ffn.up", "@encoder.layers.#.intermediate.dense" },
		{ "layers.ffn.down", "@encoder.layers.#.output.dense" },
		{ "layers.ffn.norm", "@encoder.layers.#.output.LayerNorm" }, { "head.ctc", "ctc_head" }),
	.ignored = IGNORED("*position_ids", "*token_type_ids"),
	.inert = IGNORED("ctc_loss_reduction", "ctc_zero_infinity", "conv_dropout"),
};

const struct dialect pe_audio_names = {
	.name = "pe-audio-encoder",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.narrow", "embedder.bottleneck" }, { "embed.project", "embedder.data_proj" },
		{ "embed.class", "patch_embedder.class_embedding" },
		{ "block.first.norm", "patch_embedder.resnet_block.block1.groupnorm" },
		{ "block.first.conv", "patch_embedder.resnet_block.block1.project" },
		{ "block.second.norm", "patch_embedder.resnet_block.block2.groupnorm" },
		{ "block.second.conv", "patch_embedder.resnet_block.block2.project" },
		{ "layers.attn.norm", "layers.#.input_layernorm" }, { "layers.attn.q", "layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "layers.#.self_attn.k_proj" }, { "layers.attn.v", "layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "layers.#.self_attn.o_proj" }, { "layers.attn.q_norm", "layers.#.self_attn.q_norm" },
		{ "layers.attn.k_norm", "layers.#.self_attn.k_norm" }, { "layers.ffn.norm", "layers.#.post_attention_layernorm" },
		{ "layers.ffn.gate", "layers.#.mlp.gate_proj" }, { "layers.ffn.up", "layers.#.mlp.up_proj" },
		{ "layers.ffn.down", "layers.#.mlp.down_proj" }, { "norm", "norm" }, { "output", "output" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
};
