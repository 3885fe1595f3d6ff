// SPDX-License-Identifier: Apache-2.0
// Model types, sorted. A type is a family, a dialect and what differs from the family's common case; nothing else in the
// program knows a model type by name. The class's default configuration is a line of defaults.jsonl. A row is one line.
#include "arch/dialect.h"
#include "arch/family/block_conformer.h"
#include "arch/family/bridgetower.h"
#include "arch/family/clip.h"
#include "arch/family/codec.h"
#include "arch/family/convnext.h"
#include "arch/family/dac.h"
#include "arch/family/deberta.h"
#include "arch/family/decoder.h"
#include "arch/family/deformable_detr.h"
#include "arch/family/depth_anything.h"
#include "arch/family/dual.h"
#include "arch/family/encoder.h"
#include "arch/family/eomt.h"
#include "arch/family/mamba.h"
#include "arch/family/mobilevit.h"
#include "arch/family/flava.h"
#include "arch/family/grid_vision.h"
#include "arch/family/qformer.h"
#include "arch/family/reformer.h"
#include "arch/family/resnet.h"
#include "arch/family/retrieval.h"
#include "arch/family/rotary.h"
#include "arch/family/rt_detr.h"
#include "arch/family/sam.h"
#include "arch/family/seamless.h"
#include "arch/family/segformer.h"
#include "arch/family/seq2seq.h"
#include "arch/family/speech.h"
#include "arch/family/swin.h"
#include "arch/family/t5.h"
#include "arch/family/tvlt.h"
#include "arch/family/two_models.h"
#include "arch/family/vit.h"
#include "arch/family/vitdet.h"
#include "arch/family/vlm.h"
#include "arch/family/whisper.h"
#include "arch/family/windowed_vit.h"

#include <stdlib.h>
#include <string.h>

// clang-format off
// Family, dialect and the traits that differ: the shared ones and the family's own (traits.h).
#define OF(family, dialect, ...) &family, &dialect, &(const struct family##_row){ __VA_ARGS__ }

// Traits that several rows have together, or that belong together.
#define LN_MLP .layer_norm = true, .plain_ffn = true
#define LN_NO_BIAS .layer_norm = true, .norm_no_bias = true
#define POST_LN .layer_norm = true, .post_norm = true
#define ATTENTION_BIAS .qkv_bias = true, .out_bias = true
#define GPT LN_MLP, ATTENTION_BIAS, .ffn_bias = true
#define GPT_NO_LN .plain_ffn = true, ATTENTION_BIAS, .ffn_bias = true
#define CTRL .lm_bias = true, .sinusoids = 2, .scaled_embedding = true
#define KOSMOS GPT, .inner_norm = true, .sinusoids = 1, .positions_from_pad = true
#define GPT_QKV GPT, .qkv_layout = QKV_BY_HEAD
#define GPT1_NORMS .post_norm = true, .no_last_norm = true
#define GPTJ LN_MLP, .parallel = true, .interleaved_rope = true, .ffn_bias = true, .lm_bias = true
#define COHERE LN_NO_BIAS, .parallel = true, .interleaved_rope = true
#define GEMMA .norm_plus_one = true, .scaled_embedding = true
#define GEMMA2 GEMMA, .sandwich_norm = true
#define GEMMA3_ATTENTION .qk_norm = true, .may_be_bidirectional = true, .uncapped_scores = true
#define GEMMA3N .scaled_embedding = true, .qk_norm = true, .value_norm = true, .unscaled_attention = true
#define GEMMA4 \
	GEMMA3N, .sandwich_norm = true, .may_be_bidirectional = true, .window_pattern = 6, .last_unwindowed = true, \
	.two_heads = true, .window_inclusive = true
#define EXAONE .qk_norm = true, .window_rope = true
#define GRANITE_SWA .attention_sinks = true, .window_pattern = -4
#define HUNYUAN .qk_norm = true, .qk_norm_late = true
#define NANOCHAT_NORMS .norm_no_weight = true, .qk_norm = true, .embedding_norm = true
#define SIGMOID_MOE .sigmoid_router = true, .normalised_experts = true
#define SIGMOID_BY_LOGITS .sigmoid_router = true, .choice_of_logits = true
#define GPT_OSS_MOE \
	.router_linear_bias = true, .experts_in_out = true, .clamped_swiglu = true, .normalised_experts = true
#define MINIMAX_M3 \
	.norm_plus_one = true, .qk_norm = true, SIGMOID_MOE, .clamped_swiglu = true, .swiglu_halves = true, .clamped_ffn = true
#define PRIVACY_FILTER \
	GPT_OSS_MOE, .swiglu_halves = true, .attention_sinks = true, .interleaved_rope = true, .sees_ahead = true
#define MUSE \
	.norm_plus_one = true, .last_norm_plain = true, .sandwich_norm = true, .embedding_norm = true, .qk_norm = true, \
	.attention_gate = GATE_SIGMOID, .window_pattern = 4, .window_from_last = true
#define MUSE_SPARK .result_norm = true, .scales_first = true, .gated_residuals = true
#define EMBEDDING_GEMMA2 \
	GEMMA3N, .sandwich_norm = true, .sees_ahead = true, .last_unwindowed = true, .two_heads = true
#define BEAM \
	.qk_norm = true, .sandwich_norm = true, .depth_scaled = true, .attention_gate = GATE_SIGMOID, .scaled_nope = true, \
	.sigmoid_router = true, .last_unwindowed_usually = true, .window_pattern = 6
#define FLINT \
	.qk_norm = true, .attention_sinks = true, .window_rope = true, .sigmoid_router = true, .window_edges = 1
#define LFM2 .qk_norm = true, .usual_act = ACT_SILU, .mixer = MIX_CONVOLUTION
#define QWEN3_NEXT \
	.qk_norm = true, .norm_plus_one = true, .attention_gate = GATE_BESIDE_QUERY, .mixer = MIX_DELTA, .attention_every = 4
#define KIMI_LINEAR \
	.mixer = MIX_DELTA, .attention_every = -4, .decay_each = true, .no_rotary = true, .sigmoid_router = true, \
	.never_tied = true
#define GLM5_NEXT \
	.mixer = MIX_DELTA, .attention_every = 4, .decay_each = true, .no_rotary = true, .sigmoid_router = true, \
	.latent_eps = true, .clamped_gates = true, .silu_experts = true
#define BAILING_HYBRID \
	.mixer = MIX_DELTA, .decay_each = true, \
	.attention_gate = GATE_HEADS_SIGMOID, .interleaved_rope = true, \
	.sigmoid_router = true, .never_tied = true
#define LFM3 \
	.qk_norm = true, .usual_act = ACT_SILU, .mixer = MIX_CONVOLUTION, .attention_every = -2, .window_every = 4, \
	.sandwich_norm = true, .attention_gate = GATE_HEADS_SIGMOID
#define RECURRENT_GEMMA \
	GEMMA, .mixer = MIX_RGLRU, .out_bias_always = true, .half_ffn = true, .bfloat16_scale = true, .ffn_bias = true
#define MODERNBERT_DECODER \
	LN_NO_BIAS, .embedding_norm = true, .first_unnormed = true, .window_pattern = -3, .half_window = true
#define ZAMBA2 .mixer = MIX_MAMBA2, .shared_block = true, .mixer_eps = true, .least_step = true
#define GLM_MOE_DSA .sigmoid_router = true, .interleaved_rope = true, .indexer_interleaved = true
#define AXK2 \
	.sigmoid_router = true, .interleaved_rope = true, .attention_gate = GATE_BESIDE_QUERY, .doubled_latent = true
#define MISTRAL_LARGE4 \
	.normalised_experts = true, .interleaved_rope = true, .indexer_interleaved = true, .latent_eps = true, .joined_nope = true
#define DOTS3_NOTE \
	.sigmoid_router = true, .interleaved_rope = true, .indexer_interleaved = true, .latent_eps = true, \
	.scaled_latents = true, .attention_gate = GATE_HEADS_SIGMOID, .window_edges = 2
#define DEEPSEEK_V4 \
	.interleaved_rope = true, .indexer_interleaved = true, .indexer_rope_last = true, .normalised_experts = true, \
	.clamped_gates = true
#define HY_V4 \
	.sigmoid_router = true, .attention_gate = GATE_SIGMOID, .indexer_rope_last = true, .clamped_silu = true
#define LLAMA4_ATTENTION .interleaved_rope = true, .qk_norm_rotary = true
#define LLAMA4_MOE \
	.sigmoid_router = true, .weighed_inputs = true, .experts_in_out = true, .one_shared_expert = 1
#define MIMO_V2_ATTENTION \
	.attention_sinks = true, .window_sinks = true, .window_pattern = 6, .first_unwindowed = true, .window_keys_doubled = true
#define NEMOTRON_H \
	.mixer = MIX_MAMBA2, .one_branch = true, .no_rotary = true, .plain_ffn = true, .sigmoid_router = true, .never_tied = true
#define OLMO_HYBRID \
	.mixer = MIX_DELTA, .attention_every = 4, .mixer_eps = true, .reordered_norm = true, \
	.qk_norm_whole = true
#define ERNIE_BIASES .lm_bias_too = true, .choice_bias_row = true
#define BRANCH_BIAS_LN LN_NO_BIAS, .branch_norm_bias = true
#define BART .embedding_norm = true, .position_offset = 2
#define TANH_HEAD .head_act = ACT_TANH
#define GELU_TANH_HEADS .lm_gelu = true, TANH_HEAD
#define ROBERTA .positions_from_pad = true, GELU_TANH_HEADS
#define MASKED_SOUND .frames_mask = SOUND_FEATURES_MASK
#define QWEN2_AUDIO .frames_mask = SOUND_ATTENTION_MASK
#define GLMASR \
	MASKED_SOUND, .grouped_states = true, .wide_projector = true, .may_tie = true
#define DINOV2 .any_size = true, .layer_scale = true, .pool_is_norm = true, .mean_patches = true

#define INTERNVL_VISION .any_size = true, .layer_scale = true, .norm_unless_mean = true
#define TURNS .interleaved_sections = true
#define DEIMV2 .scaled_offsets = true, .distributed = true, .lean = true
#define PLAIN_TEXT .one_position = true
#define QWEN3_GRID LN_MLP, .positions = GRID_CORNERS, .patch_bias = true
#define LEARNED_GRID LN_MLP, .patch_bias = true, .no_rotary = true
#define PADDLEOCR_GRID .positions = GRID_LINEAR, .patch_bias = true, .raster = true, .unmerged = true
#define LFM3_GRID .convolves = true, .qk_norm = true, .linear_patches = true, .unmerged = true
#define KIMI_K25_GRID \
	LN_MLP, .positions = GRID_CUBIC, .patch_bias = true, .raster = true, .pooled_frames = true, .unmerged = true
#define COSMOS3_GRID .positions = GRID_SMOOTH, .linear_patches = true, .patch_bias = true, .unmerged = true
#define VIDEO_LLAMA_GRID .patch_bias = true, .unmerged = true, .merge_given = true
#define GLM4V_VISION \
	.positions = GRID_CUBIC, .patch_bias = true, .convolved = true, .crossed_sizes = true, .qkv_bias_only = true

// The types of parts whose configuration names none.
#define PARTS(text, vision) .part_types = { { "text", text }, { "vision", vision } }
#define TEXT_VISION(type) PARTS(type "_text", type "_vision")
#define IDEFICS2_PARTS \
	.part_types = { { "text", "mistral" }, { "vision", "idefics2_vision" }, { "resampler", "idefics2_perceiver" } }
#define FLAVA_PARTS \
	.part_types = { { "text", "flava_text_model" }, { "vision", "flava_image_model" }, { "fusion", \
		"flava_multimodal_model" } }
#define VIDEO_LLAVA_PARTS \
	.part_types = { { "text", "llama" }, { "vision", "clip_vision_model" }, { "film", "clip_vision_model" } }
#define VIDEO_LLAMA_3 PARTS("qwen2", "video_llama_3_vision")
#define HYPERCLOVAX_PARTS PARTS("hyperclovax", "qwen2_5_vl_vision")
#define QWEN2_OMNI_PARTS PARTS("qwen2_5_omni_text", "qwen2_5_omni_vision_encoder")
#define QWEN3_OMNI_PARTS PARTS("qwen3_omni_moe_text", "qwen3_omni_moe_vision_encoder")
#define TOWERS(type) PARTS(type "_text_model", type "_vision_model")
#define GRANITE_SPEECH .pointwise_kernels = true, .unmasked = true
#define MOSHI .half_ffn = true, .never_tied = true, .gives_last = true, .uncounted = 1, .unpredicted = 1
#define GRANITE_SPEECH_PARTS \
	.part_types = { { "text", "granite" }, { "audio", "granite_speech_encoder" }, { "qformer", "blip_2_qformer" } }
#define TEXT_AUDIO(text, audio) .part_types = { { "text", text }, { "audio", audio } }
#define QUERIED(text, type) \
	.part_types = { { "text", text }, { "vision", type "_vision_model" }, { "qformer", type "_qformer" } }
#define VLM_PART(type) .part_types = { { "vlm", type } }
#define BACKBONE(backbone, vision) .part_types = { { "backbone", backbone }, { "vision", vision } }
#define BACKBONE_FOR(backbone, replaced) .part_types = { { "backbone", backbone }, { "replaced", replaced } }
#define BACKBONE_PART(type) .part_types = { { "backbone", type } }
#define GROUNDED .part_types = { { "backbone", "swin" }, { "text", "bert" } }
#define TEXT_PART(type) .part_types = { { "text", type } }
#define CODEC_PART(type) .part_types = { { "codec", type } }
#define PROTEIN_PART(type) .part_types = { { "protein", type } }
#define VISION_PART(type) .part_types = { { "vision", type } }
#define ENCODER_PART(encoder) .part_types = { { "encoder", encoder } }
#define DEPTH_PRO_PARTS \
	.part_types = { { "image", "dinov2" }, { "patches", "dinov2" }, { "view", "dinov2" } }
#define HALVES(encoder, decoder) .part_types = { { "encoder", encoder }, { "decoder", decoder } }

const struct arch arch_rows[] = {
	{ "afmoe", OF(decoder, afmoe_names, EXAONE, SIGMOID_MOE, .sandwich_norm = true, .attention_gate = GATE_SIGMOID) },
	{ "aimv2", OF(dual, dual_names, .bounded_scale = true), TOWERS("aimv2") },
	{ "aimv2_text_model", &aimv2_text, &aimv2_text_names },
	{ "aimv2_vision_model", &aimv2, &aimv2_vision_names },
	{ "albert", OF(encoder, albert_names, TANH_HEAD, .always_projected = true, .shared_layers = true) },
	{ "align", OF(dual, dual_names, .text_projected = true, .divided = true), TOWERS("align") },
	{ "align_text_model", &encoder, &chinese_clip_text_names },
	{ "align_vision_model", &efficientnet, &align_vision_names },
	{ "altclip", &dual, &dual_names, TOWERS("altclip") },
	{ "altclip_text_model", OF(alt_text, altclip_text_names, .positions_from_pad = true) },
	{ "altclip_vision_model", &clip_vision, &altclip_vision_names },
	{ "apertus", OF(decoder, apertus_names, .plain_ffn = true, .qk_norm = true) },
	{ "arcee", OF(decoder, llama_names, .plain_ffn = true) },
	{ "aria", &vlm_asked, &aria_vlm_names, PARTS("aria_text", "idefics3_vision") },
	{ "aria_text", OF(decoder, aria_names, .experts_in_out = true, .silu_experts = true, .normalised_experts = true) },
	{ "audio-spectrogram-transformer", &spectrogram, &spectrogram_names },
	{ "audioflamingo3", OF(vlm_sound, voxtral_names, MASKED_SOUND), TEXT_AUDIO("qwen2", "audioflamingo3_encoder") },
	{ "audioflamingo3_encoder", OF(whisper_encoder, whisper_encoder_names, .paired_states = true, .masked = true) },
	{ "autoformer", &autoformer, &autoformer_names },
	{ "axk1", OF(decoder, axk1_names, .sigmoid_router = true) },
	{ "axk2", OF(decoder, axk2_names, AXK2) },
	{ "aya_vision", OF(vlm_shuffled, aya_vision_names, .projector_norm = true), PARTS("cohere2", "siglip_vision_model") },
	{ "bailing_hybrid", OF(decoder, bailing_hybrid_names, BAILING_HYBRID) },
	{ "bamba", OF(decoder, bamba_names, .mixer = MIX_MAMBA2) },
	{ "bark", &bark, &bark_names, .part_types = { { "codec", "encodec" } } },
	{ "bart", OF(seq2seq, bart_names, BART) },
	{ "beam", OF(decoder, beam_names, BEAM) },
	{ "beit", &beit, &beit_names },
	{ "bert", OF(encoder, bert_names, TANH_HEAD) },
	{ "bert-generation", &encoder, &bert_generation_names },
	{ "big_bird", OF(encoder, big_bird_names, .head_hidden_act = true) },
	{ "bigbird_pegasus", OF(seq2seq, bigbird_pegasus_names, .norm_first = true) },
	{ "biogpt", OF(decoder, biogpt_names, GPT, .position_offset = 2) },
	{ "bit", &bit, &bit_names },
	{ "bitnet", OF(decoder, llama_names, .inner_norm = true) },
	{ "blenderbot", OF(seq2seq, bart_names, .norm_first = true) },
	{ "blenderbot-small", OF(seq2seq, bart_names, .embedding_norm = true, .tokens_normed = true) },
	{ "blip", &blip, &blip_names, TOWERS("blip") },
	{ "blip-2", &vlm_queried, &blip_2_names, QUERIED("opt", "blip_2") },
	{ "blip_2_qformer", &qformer, &qformer_names },
	{ "blip_2_vision_model", OF(clip_vision, blip_vision_names, .own_rows = true) },
	{ "blip_text_model", &blip_text, &blip_text_names },
	{ "blip_vision_model", OF(clip_vision, blip_vision_names, .own_rows = true) },
	{ "bloom", OF(decoder, bloom_names, GPT_QKV, .alibi = ALIBI_TOKENS, .embedding_norm = true, .usual_act = ACT_GELU_TANH) },
	{ "bridgetower", &bridgetower, &bridgetower_names, TOWERS("bridgetower") },
	{ "bridgetower_text_model", OF(encoder, roberta_names, .positions_from_pad = true) },
	{ "bridgetower_vision_model", &bridgetower_vision, &bridgetower_vision_names },
	{ "bros", &encoder, &bros_names },
	{ "camembert", OF(encoder, roberta_names, ROBERTA) },
	{ "canary", &conformer_seq2seq, &canary_names, ENCODER_PART("parakeet_encoder") },
	{ "canine", &canine, &canine_names },
	{ "chameleon", OF(decoder, chameleon_names, .qk_norm_apart = true) },
	{ "chinese_clip", OF(dual, dual_names, .compares_first = true), TOWERS("chinese_clip") },
	{ "chinese_clip_text_model", OF(encoder, chinese_clip_text_names, .pad_is_zero = true) },
	{ "chinese_clip_vision_model", &clip_vision, &clip_vision_names },
	{ "chmv2", &chmv2, &chmv2_names, BACKBONE_PART("dinov3_vit") },
	{ "clap", &clap, &clap_names, TEXT_AUDIO("clap_text_model", "clap_audio_model") },
	{ "clap_audio_model", &clap_audio, &clap_audio_names },
	{ "clap_text_model", OF(clap_text, clap_text_names, .positions_from_pad = true) },
	{ "clip", &dual, &dual_names, TOWERS("clip") },
	{ "clip_text_model", &clip_text, &clip_text_names },
	{ "clip_vision_model", &clip_vision, &clip_vision_names },
	{ "clipseg", OF(dual, clipseg_names, .segments = true), TOWERS("clipseg") },
	{ "clipseg_text_model", &clip_text, &clip_text_names },
	{ "clipseg_vision_model", OF(clip_vision, clip_vision_names, .resized_positions = true) },
	{ "clvp", &clvp, &clvp_names },
	{ "codegen", OF(decoder, codegen_names, GPTJ, .qkv_layout = QKV_FOUR_PARTS) },
	{ "cohere", OF(decoder, llama_names, COHERE) },
	{ "cohere2", OF(decoder, llama_names, COHERE, .window_rope = true, .window_pattern = 4) },
	{ "cohere2_moe", OF(decoder, cohere2_moe_names, COHERE, .window_rope = true) },
	{ "cohere2_vision", &vlm_shuffled, &aya_vision_names, PARTS("cohere2", "siglip_vision_model") },
	{ "cohere_asr", &conformer_seq2seq, &cohere_asr_names, ENCODER_PART("parakeet_encoder") },
	{ "colmodernvbert", &retrieval, &retrieval_names, VLM_PART("modernvbert") },
	{ "colpali", &retrieval, &retrieval_names, VLM_PART("paligemma") },
	{ "colqwen2", OF(retrieval, retrieval_names, .padded = true), VLM_PART("qwen2_vl") },
	{ "conditional_detr", &conditional_detr, &conditional_detr_names, BACKBONE("timm_backbone", "resnet") },
	{ "convbert", OF(encoder, convbert_names, .lm_gelu = true, .head_hidden_act = true) },
	{ "convnext", &convnext, &convnext_names },
	{ "convnextv2", OF(convnext, convnextv2_names, .response_norm = true) },
	{ "cosmos3_edge", OF(vlm_grid, cosmos3_edge_names, .layer_norm = true, TURNS), TEXT_VISION("cosmos3_edge") },
	{ "cosmos3_edge_text", OF(decoder, cosmos_names, .plain_ffn = true) },
	{ "cosmos3_edge_vision", OF(grid_vision, cosmos3_edge_vision_names, LN_MLP, .no_rotary = true, COSMOS3_GRID) },
	{ "cosmos3_omni", OF(vlm_grid, grid_names, .interleaved_sections = true), TEXT_VISION("qwen3_vl") },
	{ "cpmant", &cpmant, &cpmant_names },
	{ "csm", OF(decoder, csm_names, .never_tied = true) },
	{ "ctrl", OF(decoder, ctrl_names, GPT, CTRL, .usual_act = ACT_RELU) },
	{ "cvt", &cvt, &cvt_names },
	{ "cwm", OF(decoder, llama_names, .window_pattern = -4) },
	{ "d_fine", OF(rt_detr, d_fine_names, .scaled_offsets = true, .distributed = true), BACKBONE_PART("hgnet_v2") },
	{ "dab-detr", &dab_detr, &dab_detr_names, BACKBONE("timm_backbone", "resnet") },
	{ "dac", &dac, &dac_names },
	{ "data2vec-audio", &speech, &data2vec_audio_names },
	{ "data2vec-text", OF(encoder, data2vec_text_names, ROBERTA) },
	{ "data2vec-vision", &beit, &data2vec_vision_names },
	{ "dbrx", OF(decoder, dbrx_names, LN_NO_BIAS) },
	{ "deberta", OF(deberta, deberta_names, .joined_by_head = true) },
	{ "deberta-v2", &deberta, &deberta_v2_names },
	{ "decision_transformer", &decision, &decision_names },
	{ "deepseek_v2", OF(decoder, deepseek_v2_names, .interleaved_rope = true, .group_of_one = true) },
	{ "deepseek_v3", OF(decoder, deepseek_v3_names, .sigmoid_router = true) },
	{ "deepseek_v32", OF(decoder, deepseek_v32_names, .sigmoid_router = true, .interleaved_rope = true) },
	{ "deepseek_v4", OF(decoder, deepseek_v4_names, DEEPSEEK_V4) },
	{ "deepseek_vl", &vlm_aligned, &deepseek_vl_names, PARTS("llama", "siglip_vision_model") },
	{ "deformable_detr", &deformable_detr, &deformable_detr_names, BACKBONE("timm_backbone", "resnet") },
	{ "deimv2", OF(rt_detr, deimv2_names, DEIMV2), BACKBONE_PART("hgnet_v2") },
	{ "deit", OF(vit, deit_names, .distillation_token = true) },
	{ "depth_anything", &depth_anything, &depth_anything_names, BACKBONE_PART("dinov2") },
	{ "depth_pro", &depth_pro, &depth_pro_names, DEPTH_PRO_PARTS },
	{ "deta", OF(deformable_detr, deta_names, .assigns = true), BACKBONE_PART("resnet") },
	{ "detr", &detr, &detr_names, BACKBONE("timm_backbone", "resnet") },
	{ "dia", &dia, &dia_names },
	{ "diffllama", OF(decoder, diffllama_names, .differential = true) },
	{ "diffusers:AuraFlowTransformer2DModel", &aura_flow, &aura_flow_names },
	{ "diffusers:AutoencoderDC", &autoencoder_dc, &autoencoder_dc_names },
	{ "diffusers:AutoencoderKL", &autoencoder_kl, &autoencoder_kl_names },
	{ "diffusers:AutoencoderTiny", &autoencoder_tiny, &autoencoder_tiny_names },
	{ "diffusers:ChromaTransformer2DModel", &chroma, &chroma_names },
	{ "diffusers:CogVideoXTransformer3DModel", &cog_video, &cog_video_names },
	{ "diffusers:ControlNetModel", &controlnet, &controlnet_names },
	{ "diffusers:DiTTransformer2DModel", &dit, &dit_names },
	{ "diffusers:FluxTransformer2DModel", &flux, &flux_names },
	{ "diffusers:LTXVideoTransformer3DModel", &ltx_video, &ltx_video_names },
	{ "diffusers:Lumina2Transformer2DModel", &lumina, &lumina_names },
	{ "diffusers:PixArtTransformer2DModel", &pixart, &pixart_names },
	{ "diffusers:QwenImageTransformer2DModel", &qwen_image, &qwen_image_names },
	{ "diffusers:SD3Transformer2DModel", &mmdit, &sd3_names },
	{ "diffusers:SanaTransformer2DModel", &sana, &sana_names },
	{ "diffusers:UNet2DConditionModel", &unet, &unet_names },
	{ "diffusers:UNet2DModel", &unet_plain, &unet_plain_names },
	{ "diffusers:WanTransformer3DModel", &wan, &wan_names },
	{ "dinat", &nat, &dinat_names },
	{ "dinov2", OF(vit, dinov2_names, DINOV2) },
	{ "dinov2_with_registers", OF(vit, dinov2_with_registers_names, DINOV2, .smooth_positions = true) },
	{ "dinov3_convnext", &convnext_dino, &dinov3_convnext_names },
	{ "dinov3_vit", &dinov3, &dinov3_vit_names },
	{ "distilbert", OF(encoder, distilbert_names, .head_act = ACT_RELU) },
	{ "doge", OF(decoder, doge_names, .qk_norm = true) },
	{ "donut-swin", OF(swin, donut_swin_names, .no_final_norm = true) },
	{ "dots1", OF(decoder, dots1_names, .qk_norm = true, .sigmoid_router = true) },
	{ "dots3_note_text", OF(decoder, dots3_note_names, DOTS3_NOTE) },
	{ "dpr", &encoder, &dpr_names },
	{ "dpt", &dpt, &dpt_names, BACKBONE_PART("bit") },
	{ "efficientformer", &efficientformer, &efficientformer_names },
	{ "efficientloftr", &efficient_loftr, &efficient_loftr_names },
	{ "efficientnet", &efficientnet, &efficientnet_names },
	{ "electra", OF(encoder, electra_names, .lm_gelu = true) },
	{ "embedding_gemma2_text", OF(decoder, embedding_gemma2_names, EMBEDDING_GEMMA2) },
	{ "emu3_text_model", &decoder, &llama_names },
	{ "encodec", &codec, &encodec_names },
	{ "encoder-decoder", &two_models, &two_models_names, HALVES("bert", "bert") },
	{ "eomt", &eomt, &eomt_names },
	{ "eomt_dinov3", OF(eomt, eomt_dinov3_names, .rotary = true) },
	{ "ernie", OF(encoder, ernie_names, TANH_HEAD) },
	{ "ernie4_5", OF(decoder, llama_names, .interleaved_rope = true) },
	{ "ernie4_5_moe", OF(decoder, ernie4_5_moe_names, ERNIE_BIASES, .interleaved_rope = true, .normalised_experts = true) },
	{ "ernie_m", OF(encoder, ernie_m_names, TANH_HEAD, .position_offset = 2) },
	{ "esm", OF(encoder, esm_names, TANH_HEAD, .norm_first = true, .positions_from_pad = true, .padding_zeroed = true) },
	{ "esmc", OF(rotary_encoder, esmc_names, BRANCH_BIAS_LN, GELU_TANH_HEADS, .qk_norm_whole = true, .depth_scaled = true) },
	{ "eurobert", &rotary_encoder, &eurobert_names },
	{ "evolla", &evolla, &evolla_names, PROTEIN_PART("esm") },
	{ "exaone", &decoder, &exaone_names },
	{ "exaone4", OF(decoder, olmo2_names, EXAONE, .reordered_norm = true) },
	{ "exaone4_5", OF(vlm_grid, grid_names, .one_position = true), PARTS("exaone4", "exaone4_5_vision") },
	{ "exaone4_5_vision", OF(grid_vision, qwen2_5_vl_vision_names, .windows = true) },
	{ "exaone_moe", OF(decoder, exaone_moe_names, EXAONE, .sigmoid_router = true) },
	{ "falcon", OF(decoder, falcon_names, LN_MLP, .qkv_layout = QKV_BY_HEAD) },
	{ "falcon_h1", OF(decoder, falcon_h1_names, .mixer = MIX_MAMBA2, .mixer_beside = true) },
	{ "falcon_mamba", OF(mamba, mamba_names, .normed_selection = true) },
	{ "fastspeech2_conformer", &fastspeech, &fastspeech_names },
	{ "fastspeech2_conformer_hifigan", &vocoder, &hifigan_names },
	{ "flaubert", OF(encoder, xlm_names, .states_zeroed = true) },
	{ "flava", &flava, &flava_names, FLAVA_PARTS },
	{ "flava_image_model", &vit, &flava_image_names },
	{ "flava_multimodal_model", &flava_fusion, &flava_fusion_names },
	{ "flava_text_model", OF(encoder, flava_text_names, .norm_first = true) },
	{ "flex_olmo", OF(decoder, flex_olmo_names, .reordered_norm = true, .qk_norm_whole = true) },
	{ "flint", OF(decoder, flint_names, FLINT) },
	{ "florence2", &florence, &florence_names, PARTS("bart", "florence_vision") },
	{ "florence_vision", &davit, &davit_names },
	{ "fnet", OF(encoder, fnet_names, TANH_HEAD, .fourier = true, .always_projected = true) },
	{ "focalnet", &focalnet, &focalnet_names },
	{ "fsmt", OF(seq2seq, fsmt_names, .positions_from_pad = true, .head_in_body = true) },
	{ "funnel", OF(funnel, funnel_names, TANH_HEAD) },
	{ "fuyu", &vlm_patches, &fuyu_names, TEXT_PART("persimmon") },
	{ "gemma", OF(decoder, llama_names, GEMMA) },
	{ "gemma2", OF(decoder, gemma2_names, GEMMA2, .window_pattern = 2) },
	{ "gemma3", OF(vlm_pooled, gemma3_names, .norm_plus_one = true), PARTS("gemma3_text", "siglip_vision_model") },
	{ "gemma3_text", OF(decoder, gemma2_names, GEMMA2, GEMMA3_ATTENTION, .window_pattern = 6) },
	{ "gemma3n_text", OF(decoder, gemma3n_names, GEMMA3N, .window_pattern = 5) },
	{ "gemma4", &vlm_placed, &gemma4_vlm_names, TEXT_VISION("gemma4") },
	{ "gemma4_text", OF(decoder, gemma4_names, GEMMA4, .moe_beside = true, .normalised_experts = true) },
	{ "gemma4_unified_text", OF(decoder, gemma4_unified_names, GEMMA4) },
	{ "gemma4_vision", &placed_vision, &gemma4_vision_names },
	{ "git", &git, &git_names, .part_types = { { "vision", "git_vision_model" } } },
	{ "git_vision_model", &clip_vision, &clip_vision_names },
	{ "glm", OF(decoder, glm_names, .interleaved_rope = true, .qkv_bias_only = true) },
	{ "glm4", OF(decoder, glm_names, .interleaved_rope = true, .qkv_bias_only = true, .sandwich_norm = true) },
	{ "glm46v", &vlm_grid, &grid_names, TEXT_VISION("glm4v") },
	{ "glm4_moe", OF(decoder, dots1_names, .qkv_bias_only = true, .sigmoid_router = true) },
	{ "glm4_moe_lite", OF(decoder, deepseek_v3_names, .sigmoid_router = true) },
	{ "glm4v", OF(vlm_grid, grid_names, .text_ties = true), TEXT_VISION("glm4v") },
	{ "glm4v_moe", OF(vlm_grid, grid_names, .text_ties = true), TEXT_VISION("glm4v_moe") },
	{ "glm4v_moe_text", OF(decoder, glm4v_moe_names, .qkv_bias_only = true, .sigmoid_router = true) },
	{ "glm4v_moe_vision", OF(grid_vision, glm4v_vision_names, GLM4V_VISION) },
	{ "glm4v_text", OF(decoder, glm_names, .interleaved_rope = true, .qkv_bias = true, .sandwich_norm = true) },
	{ "glm4v_vision", OF(grid_vision, glm4v_vision_names, GLM4V_VISION) },
	{ "glm5_next", OF(vlm_grid, grid_names, .one_position = true), TEXT_VISION("glm5_next") },
	{ "glm5_next_text", OF(decoder, glm5_next_names, GLM5_NEXT) },
	{ "glm5_next_vision", OF(grid_vision, glm_ocr_vision_names, .patch_bias = true, .convolved = true, .qk_norm = true) },
	{ "glm_image_text", OF(decoder, glm_names, .qkv_bias_only = true, .sandwich_norm = true) },
	{ "glm_image_vision", OF(grid_vision, glm_image_vision_names, LEARNED_GRID, .positions = GRID_LINEAR, .unmerged = true) },
	{ "glm_moe_dsa", OF(decoder, deepseek_v32_names, GLM_MOE_DSA) },
	{ "glm_ocr", OF(vlm_grid, grid_names, .text_ties = true), TEXT_VISION("glm_ocr") },
	{ "glm_ocr_text", OF(decoder, glm_names, .interleaved_rope = true, .sandwich_norm = true) },
	{ "glm_ocr_vision", OF(grid_vision, glm_ocr_vision_names, .patch_bias = true, .convolved = true, .qk_norm = true) },
	{ "glmasr", OF(vlm_sound, voxtral_names, GLMASR), TEXT_AUDIO("llama", "glmasr_encoder") },
	{ "glmasr_encoder", &whisper_rotary, &glmasr_encoder_names },
	{ "glmga", &vlm_grid, &grid_names, TEXT_VISION("glm4v") },
	{ "glpn", &segformer, &glpn_names },
	{ "got_ocr2", &vlm_convolved, &got_ocr2_names, PARTS("qwen2", "got_ocr2_vision") },
	{ "got_ocr2_vision", OF(vitdet, sam_vision_names, .neck = true) },
	{ "gpt2", OF(decoder, gpt2_names, GPT, .transposed_weights = true) },
	{ "gpt_bigcode", OF(decoder, gpt2_names, GPT_QKV) },
	{ "gpt_neo", OF(decoder, gpt_neo_names, LN_MLP, .out_bias = true, .ffn_bias = true, .unscaled_attention = true) },
	{ "gpt_neox", OF(decoder, gpt_neox_names, LN_MLP, .parallel_norms = true, .ffn_bias = true, .qkv_layout = QKV_BY_HEAD) },
	{ "gpt_neox_japanese", OF(decoder, gpt_neox_japanese_names, LN_MLP, .qkv_layout = QKV_BY_HEAD, .last_out_bias = true) },
	{ "gpt_oss", OF(decoder, gpt_oss_names, GPT_OSS_MOE, .window_pattern = 2, .attention_sinks = true) },
	{ "gptj", OF(decoder, gptj_names, GPTJ) },
	{ "gptsan-japanese", OF(gptsan, gptsan_names, .plain_ffn = true) },
	{ "granite", &decoder, &llama_names },
	{ "granite_docling_text", &decoder, &llama_names },
	{ "granite_docling_vision", &connected_vision, &granite_docling_vision_names },
	{ "granite_speech", &vlm_windows_heard, &granite_speech_names, GRANITE_SPEECH_PARTS },
	{ "granite_speech5_ctc", &block_conformer_ctc, &granite_speech5_ctc_names, ENCODER_PART("granite_speech5_encoder") },
	{ "granite_speech5_encoder", OF(block_conformer, granite_speech5_encoder_names, .stacked = 4) },
	{ "granite_speech_encoder", OF(block_conformer, granite_speech_encoder_names, GRANITE_SPEECH) },
	{ "granite_speech_plus", OF(vlm_unheard, unheard_names, .may_tie = true), TEXT_PART("granite") },
	{ "granite_swa", OF(decoder, llama_names, GRANITE_SWA) },
	{ "granitemoe", OF(decoder, granitemoe_names, .normalised_experts = true) },
	{ "granitemoe_swa", OF(decoder, granitemoe_swa_names, GRANITE_SWA, .normalised_experts = true) },
	{ "granitemoehybrid", OF(decoder, granitemoehybrid_names, .mixer = MIX_MAMBA2, .normalised_experts = true) },
	{ "granitemoeshared", OF(decoder, granitemoe_names, .normalised_experts = true) },
	{ "graphormer", &graphormer, &graphormer_names },
	{ "grounding-dino", &grounding, &grounding_names, GROUNDED },
	{ "groupvit", &dual, &groupvit_names, TOWERS("groupvit") },
	{ "groupvit_text_model", &clip_text, &clip_text_names },
	{ "groupvit_vision_model", &groupvit, &groupvit_vision_names },
	{ "gte", OF(rotary_encoder, gte_names, POST_LN, ATTENTION_BIAS, GELU_TANH_HEADS, .down_bias = true, .up_first = true) },
	{ "helium", OF(decoder, llama_names, .interleaved_rope = true, .qkv_bias_only = true) },
	{ "hgnet_v2", &hgnet, &hgnet_names },
	{ "hiera", &hiera, &hiera_names },
	{ "hrm_text", OF(decoder, hrm_names, .norm_no_weight = true, .qkv_layout = QKV_AFTER_GATE) },
	{ "hubert", &speech, &hubert_names },
	{ "hunyuan_v1_dense", OF(decoder, hunyuan_names, HUNYUAN) },
	{ "hunyuan_v1_moe", OF(decoder, hunyuan_moe_names, HUNYUAN, .normalised_experts = true, .one_shared_expert = 1) },
	{ "hunyuan_vl_text", OF(decoder, hunyuan_names, HUNYUAN) },
	{ "hunyuan_vl_vision", OF(grid_vision, hunyuan_vl_vision_names, LEARNED_GRID, .positions = GRID_LINEAR, .lined = true) },
	{ "hy_v3", OF(decoder, hy_v3_names, SIGMOID_MOE, .qk_norm = true) },
	{ "hy_v4", OF(decoder, hy_v4_names, HY_V4) },
	{ "hyperclovax", &decoder, &hyperclovax_names },
	{ "hyperclovax_vision_v2", OF(vlm_grid, hyperclovax_vision_names, PLAIN_TEXT, .projected = true), HYPERCLOVAX_PARTS },
	{ "ibert", OF(encoder, ibert_names, TANH_HEAD, .positions_from_pad = true) },
	{ "idefics", &idefics, &idefics_names, VISION_PART("idefics_vision") },
	{ "idefics2", &vlm_perceived, &idefics2_names, IDEFICS2_PARTS },
	{ "idefics2_perceiver", &resampler, &resampler_names },
	{ "idefics2_vision", OF(clip_vision, siglip_vision_names, .any_size = true) },
	{ "idefics3", &vlm_connected, &idefics3_names, PARTS("llama", "idefics3_vision") },
	{ "idefics3_vision", OF(clip_vision, siglip_vision_names, .any_size = true) },
	{ "idefics_vision", &clip_vision, &idefics_vision_names },
	{ "ijepa", OF(vit, ijepa_names, .no_class_token = true) },
	{ "imagegpt", OF(decoder, imagegpt_names, GPT_NO_LN, .transposed_weights = true, .unpredicted = 1) },
	{ "informer", &forecast, &forecast_names },
	{ "inkling2_text", &inkling2, &inkling2_names },
	{ "inkling_text", &inkling, &inkling_names },
	{ "instructblip", &vlm_queried, &blip_2_names, QUERIED("opt", "instructblip") },
	{ "instructblip_qformer", OF(qformer, instruct_qformer_names, .reads = true) },
	{ "instructblip_vision_model", OF(clip_vision, blip_vision_names, .own_rows = true) },
	{ "instructblipvideo", OF(vlm_queried, instruct_video_names, .frames = true), QUERIED("opt", "instructblipvideo") },
	{ "instructblipvideo_qformer", OF(qformer, instruct_qformer_names, .reads = true) },
	{ "instructblipvideo_vision_model", OF(clip_vision, blip_vision_names, .own_rows = true) },
	{ "internlm3", &decoder, &llama_names },
	{ "internvl", &vlm_squared, &internvl_names, PARTS("qwen2", "internvl_vision") },
	{ "internvl_vision", OF(vit, internvl_vision_names, INTERNVL_VISION) },
	{ "iquestcoder", &decoder, &llama_names },
	{ "jais2", OF(decoder, llama_names, LN_MLP) },
	{ "jamba", OF(decoder, jamba_names, .mixer = MIX_MAMBA, .no_rotary = true) },
	{ "janus", &vlm_aligned, &janus_names, PARTS("llama", "janus_vision_model") },
	{ "janus_vision_model", OF(clip_vision, janus_vision_names, .attention_pool = true) },
	{ "jetmoe", OF(decoder, jetmoe_names, .normalised_experts = true) },
	{ "jina_embeddings_v3", OF(rotary_encoder, jina_v3_names, GPT, GELU_TANH_HEADS, .post_norm = true) },
	{ "jukebox_vqvae", &jukebox, &jukebox_names },
	{ "kimi_k25", OF(vlm_grid, kimi_k25_names, .layer_norm = true, PLAIN_TEXT), PARTS("deepseek_v3", "kimi_k25_vision") },
	{ "kimi_k25_vision", OF(grid_vision, kimi_k25_vision_names, KIMI_K25_GRID) },
	{ "kimi_linear", OF(decoder, kimi_linear_names, KIMI_LINEAR) },
	{ "kolibri1", OF(decoder, kolibri1_names, EXAONE, SIGMOID_BY_LOGITS, .window_pattern = 5, .sandwich_norm = true) },
	{ "kosmos-2", &vlm_grounded, &kosmos_names, PARTS("kosmos_2_text_model", "kosmos_2_vision_model") },
	{ "kosmos-2.5", &vlm_unseen, &kosmos_2_5_names, TEXT_PART("kosmos_2_5_text_model") },
	{ "kosmos_2_5_text_model", OF(decoder, kosmos_2_5_text_names, KOSMOS) },
	{ "kosmos_2_text_model", OF(decoder, kosmos_text_names, KOSMOS) },
	{ "kosmos_2_vision_model", &clip_vision, &kosmos_vision_names },
	{ "laguna", OF(decoder, laguna_names, SIGMOID_MOE, .window_pattern = 1, .qk_norm = true, .attention_gate = GATE_HEADS) },
	{ "lasr_ctc", &conformer_ctc, &ctc_names, ENCODER_PART("lasr_encoder") },
	{ "lasr_encoder", OF(conformer, lasr_names, LN_NO_BIAS) },
	{ "layoutlm", OF(encoder, layoutlm_names, TANH_HEAD) },
	{ "layoutlmv2", &encoder, &layoutlmv2_names },
	{ "layoutlmv3", OF(encoder, layoutlmv3_names, TANH_HEAD, .positions_from_pad = true) },
	{ "led", OF(seq2seq, led_names, .embedding_norm = true) },
	{ "levit", &levit, &levit_names },
	{ "lfm2", OF(decoder, lfm2_names, LFM2, .attention_every = 1) },
	{ "lfm2_moe", OF(decoder, lfm2_moe_names, LFM2, .sigmoid_router = true) },
	{ "lfm2_vl", &vlm_listed, &lfm2_vl_names, PARTS("lfm2", "siglip2_vision_model") },
	{ "lfm3", OF(decoder, lfm3_names, LFM3) },
	{ "lfm3_vl", OF(vlm_grid, lfm3_vl_names, .layer_norm = true, PLAIN_TEXT), PARTS("lfm3", "lfm3_vl_vision") },
	{ "lfm3_vl_vision", OF(grid_vision, lfm3_vl_vision_names, LFM3_GRID) },
	{ "lightglue", &lightglue, &lightglue_names, .part_types = { { "detector", "superpoint" } } },
	{ "lighton_ocr", &vlm_packed, &lighton_ocr_names, PARTS("qwen3", "pixtral") },
	{ "lilt", OF(encoder, lilt_names, TANH_HEAD, .positions_from_pad = true) },
	{ "llama", &decoder, &llama_names },
	{ "llama4", &vlm_adapted, &llama4_vlm_names, PARTS("llama4_text", "llama4_vision_model") },
	{ "llama4_text", OF(decoder, llama4_names, LLAMA4_ATTENTION, LLAMA4_MOE) },
	{ "llama4_vision_model", OF(llama4_vision, llama4_vision_names, .interleaved_rope = true) },
	{ "llava", &vlm, &llava_names, PARTS("llama", "clip_vision_model") },
	{ "llava_next", &vlm_tiles, &llava_names, PARTS("llama", "clip_vision_model") },
	{ "llava_next_video", &vlm_tiles, &llava_names, PARTS("llama", "clip_vision_model") },
	{ "llava_onevision", OF(vlm_tiles, llava_names, .shrinks = true), PARTS("qwen2", "siglip_vision_model") },
	{ "longcat_flash", OF(decoder, longcat_flash_names, .paired = true, .scaled_latents = true, .interleaved_rope = true) },
	{ "longformer", OF(encoder, longformer_names, ROBERTA) },
	{ "longt5", &t5, &longt5_names },
	{ "luke", OF(encoder, luke_names, ROBERTA) },
	{ "lw_detr_vit", &windowed_vit, &lw_detr_vit_names },
	{ "lxmert", &lxmert, &lxmert_names },
	{ "m2m_100", OF(seq2seq, m2m_names, .norm_first = true, .positions_from_pad = true) },
	{ "mamba", &mamba, &mamba_names },
	{ "mamba2", &mamba2, &mamba2_names },
	{ "marian", OF(seq2seq, bart_names, .sine_positions = 1) },
	{ "markuplm", OF(encoder, markuplm_names, TANH_HEAD, .positions_from_pad = true) },
	{ "mask2former", &mask2former, &mask2former_names, BACKBONE_PART("swin") },
	{ "maskformer", &maskformer, &maskformer_names, BACKBONE_FOR("maskformer-swin", "swin") },
	{ "maskformer-swin", OF(swin, maskformer_swin_names, .windows_always = true) },
	{ "mbart", OF(seq2seq, bart_names, BART, .norm_first = true, .start_wraps = true) },
	{ "mctct", OF(mctct, mctct_names) },
	{ "mega", OF(mega, mega_names, TANH_HEAD) },
	{ "megatron-bert", OF(encoder, megatron_bert_names, TANH_HEAD, .norm_first = true) },
	{ "mellum", OF(decoder, qwen_moe_names, .qk_norm = true, .window_pattern = 1) },
	{ "metaclip_2", &dual, &dual_names, TOWERS("metaclip_2") },
	{ "metaclip_2_text_model", OF(clip_text, clip_text_names, .eos_as_said = true) },
	{ "metaclip_2_vision_model", &clip_vision, &clip_vision_names },
	{ "mgp-str", &mgp_str, &mgp_str_names },
	{ "mimi", OF(codec, mimi_names, .transformer = true) },
	{ "mimi_encoder", OF(codec, mimi_names, .transformer = true) },
	{ "mimo_v2_flash", OF(decoder, mimo_v2_names, MIMO_V2_ATTENTION, .qkv_bias_only = true, .sigmoid_router = true) },
	{ "minicpm3", &decoder, &minicpm3_names },
	{ "minimax", OF(decoder, minimax_names, .mixer = MIX_LIGHTNING, .normalised_experts = true) },
	{ "minimax_m2", OF(decoder, minimax_m2_names, SIGMOID_MOE, .qk_norm_whole = true) },
	{ "minimax_m3_vl", OF(vlm_grid, minimax_m3_vl_names, PLAIN_TEXT, .read_twice = true), TEXT_VISION("minimax_m3_vl") },
	{ "minimax_m3_vl_text", OF(decoder, minimax_m3_names, MINIMAX_M3) },
	{ "minimax_m3_vl_vision", OF(grid_vision, minimax_m3_vision_names, LN_MLP, .unmerged = true, .timed = true) },
	{ "ministral", &decoder, &llama_names },
	{ "ministral3", &decoder, &llama_names },
	{ "mistral", &decoder, &llama_names },
	{ "mistral3", &vlm_packed, &mistral3_names, PARTS("mistral", "pixtral") },
	{ "mistral4", &decoder, &mistral4_names },
	{ "mistral_large4_text", OF(decoder, mistral_large4_names, MISTRAL_LARGE4) },
	{ "mixtral", OF(decoder, mixtral_names, .normalised_experts = true) },
	{ "mlcd_vision_model", OF(clip_vision, mlcd_vision_names, .grid_rope = true) },
	{ "mllama", &vlm_crossed, &mllama_names, PARTS("mllama_text_model", "mllama_vision_model") },
	{ "mllama_text_model", OF(decoder, mllama_text_names, .uncounted = 8, .unpredicted = 8, .never_tied = true) },
	{ "mllama_vision_model", &tiled_vision, &mllama_vision_names },
	{ "mm-grounding-dino", &grounding, &mm_grounding_names, GROUNDED },
	{ "mobilebert", &mobilebert, &mobilebert_names },
	{ "mobilenet_v1", &mobilenet_v1, &mobilenet_v1_names },
	{ "mobilenet_v2", &mobilenet_v2, &mobilenet_v2_names },
	{ "mobilevit", &mobilevit, &mobilevit_names },
	{ "mobilevitv2", OF(mobilevit, mobilevitv2_names, .separable = true) },
	{ "modernbert", OF(rotary_encoder, modernbert_names, .layer_norm = true, .first_unnormed = true, .window_pattern = -3) },
	{ "modernbert-decoder", OF(decoder, modernbert_decoder_names, MODERNBERT_DECODER) },
	{ "modernvbert", &vlm_connected, &modernvbert_names, PARTS("modernbert", "siglip_vision_model") },
	{ "molmo2_text", OF(decoder, molmo2_names, .qkv_bias_only = true, .up_first = true) },
	{ "moonshine", &moonshine, &moonshine_names },
	{ "moshi", OF(decoder, moshi_names, MOSHI) },
	{ "moss_transcribe_diarize", OF(vlm_unheard, unheard_names, .may_tie = true), TEXT_PART("qwen3") },
	{ "moss_transcribe_diarize_audio", &whisper_encoder, &whisper_encoder_names },
	{ "mpnet", OF(encoder, mpnet_names, ROBERTA, .relative_buckets = true) },
	{ "mpt", OF(decoder, mpt_names, LN_NO_BIAS, .plain_ffn = true, .alibi = ALIBI_COLUMNS) },
	{ "mra", OF(encoder, mra_names, .position_offset = 2, .rows_beyond = true, .head_hidden_act = true) },
	{ "mt5", OF(t5, t5_names, .unscaled_head = true) },
	{ "muse_glimmer_text", OF(decoder, muse_glimmer_names, MUSE) },
	{ "muse_spark_text", OF(decoder, muse_spark_names, MUSE, SIGMOID_MOE, MUSE_SPARK) },
	{ "musicflamingo", &vlm_unheard, &unheard_names, TEXT_PART("qwen2") },
	{ "musicgen", &musicgen, &musicgen_names, .part_types = { { "encoder", "t5" } } },
	{ "musicgen_melody", &musicgen, &musicgen_names, .part_types = { { "encoder", "t5" } } },
	{ "mvp", OF(seq2seq, bart_names, BART) },
	{ "nanochat", OF(decoder, nanochat_names, NANOCHAT_NORMS, .plain_ffn = true, .reversed_rope = true) },
	{ "nat", &nat, &nat_names },
	{ "nemotron", OF(decoder, nemotron_names, LN_MLP, .norm_plus_one = true) },
	{ "nemotron3_5_transcribe_asr_audio", OF(stacked_sound, stacked_sound_names, .layer_norm = true, .qk_norm = true) },
	{ "nemotron3_diarization_audio", OF(stacked_sound, stacked_sound_names, .layer_norm = true) },
	{ "nemotron_h", OF(decoder, nemotron_h_names, NEMOTRON_H) },
	{ "nezha", OF(encoder, nezha_names, TANH_HEAD) },
	{ "nllb-moe", OF(seq2seq, nllb_moe_names, .norm_first = true, .positions_from_pad = true) },
	{ "nomic_bert", OF(rotary_encoder, nomic_bert_names, POST_LN, TANH_HEAD) },
	{ "nystromformer", OF(encoder, nystromformer_names, .position_offset = 2, .rows_beyond = true, .head_hidden_act = true) },
	{ "olmo", OF(decoder, llama_names, .layer_norm = true, .norm_no_weight = true) },
	{ "olmo2", OF(decoder, olmo2_names, .reordered_norm = true, .qk_norm_whole = true) },
	{ "olmo3", OF(decoder, olmo2_names, .reordered_norm = true, .qk_norm_whole = true, .window_pattern = 4) },
	{ "olmo_hybrid", OF(decoder, olmo_hybrid_names, OLMO_HYBRID) },
	{ "olmoe", OF(decoder, qwen_moe_names, .qk_norm_whole = true) },
	{ "omdet-turbo", &omdet, &omdet_names, .part_types = { { "backbone", "timm_backbone" }, { "text", "clip_text_model" } } },
	{ "oneformer", &mask2former, &oneformer_names, BACKBONE_PART("swin") },
	{ "open-llama", &decoder, &open_llama_names },
	{ "openai-gpt", OF(decoder, openai_gpt_names, GPT, GPT1_NORMS, .transposed_weights = true, .gelu_by_tanh = true) },
	{ "openai_privacy_filter", OF(decoder, gpt_oss_names, PRIVACY_FILTER) },
	{ "opt", OF(decoder, opt_names, LN_MLP, .positions_of_mask = true, .position_offset = 2) },
	{ "ovis2", &vlm_tokened, &ovis2_names, PARTS("qwen2", "ovis2_vision") },
	{ "ovis2_vision", &aimv2, &ovis2_vision_names },
	{ "owlv2", OF(dual, owlv2_names, .finds_objects = true), TOWERS("owlv2") },
	{ "owlv2_text_model", OF(clip_text, clip_text_names, .ends_highest = true) },
	{ "owlv2_vision_model", &clip_vision, &owl_vision_names },
	{ "owlvit", OF(dual, owlvit_names, .finds_objects = true), TOWERS("owlvit") },
	{ "owlvit_text_model", OF(clip_text, clip_text_names, .ends_highest = true) },
	{ "owlvit_vision_model", &clip_vision, &owl_vision_names },
	{ "paddleocr_vl", OF(vlm_grid, paddleocr_vl_names, .layer_norm = true), TEXT_VISION("paddleocr_vl") },
	{ "paddleocr_vl_text", &decoder, &llama_names },
	{ "paddleocr_vl_vision", OF(grid_vision, paddleocr_vision_names, LN_MLP, PADDLEOCR_GRID) },
	{ "paligemma", &vlm_linear, &paligemma_names, PARTS("gemma", "siglip_vision_model") },
	{ "parakeet_ctc", &conformer_ctc, &ctc_names, ENCODER_PART("parakeet_encoder") },
	{ "parakeet_encoder", OF(conformer, parakeet_names, .layer_norm = true) },
	{ "parakeet_rnnt", &transducer, &transducer_names, ENCODER_PART("parakeet_encoder") },
	{ "parakeet_tdt", &transducer, &transducer_names, ENCODER_PART("parakeet_encoder") },
	{ "patchtsmixer", &patchtsmixer, &patchtsmixer_names },
	{ "patchtst", &patchtst, &patchtst_names },
	{ "pe_audio_encoder", OF(pe_audio, pe_audio_names, .interleaved_rope = true, .qk_norm = true), CODEC_PART("dac") },
	{ "pegasus", OF(seq2seq, bart_names, .norm_first = true) },
	{ "pegasus_x", OF(seq2seq, pegasus_x_names, .norm_first = true, .sine_positions = 2) },
	{ "perceiver", &perceiver_text, &perceiver_text_names },
	{ "persimmon", OF(decoder, persimmon_names, GPT_QKV) },
	{ "phi", OF(decoder, phi_names, GPT, .parallel = true, .lm_bias = true) },
	{ "phi3", &decoder, &phi3_names },
	{ "phi4_multimodal", &decoder, &phi4_multimodal_names },
	{ "phimoe", OF(decoder, mixtral_names, .layer_norm = true, .sparse_mixer = true) },
	{ "pix2struct", &pix2struct, &pix2struct_names },
	{ "pixio", OF(vit, pixio_names, .any_size = true, .pool_is_norm = true) },
	{ "pixtral", &packed_vision, &pixtral_names },
	{ "plbart", OF(seq2seq, bart_names, BART, .start_wraps = true) },
	{ "poolformer", &poolformer, &poolformer_names },
	{ "pop2piano", &t5, &t5_names },
	{ "pp_chart2table", &vlm_convolved, &got_ocr2_names, PARTS("qwen2", "pp_chart2table_vision") },
	{ "pp_chart2table_vision", OF(vitdet, sam_vision_names, .neck = true) },
	{ "prompt_depth_anything", OF(depth_anything, prompt_depth_anything_names, .prompted = true), BACKBONE_PART("dinov2") },
	{ "prophetnet", &prophetnet, &prophetnet_names },
	{ "pvt", OF(segformer, pvt_names, .disjoint_patches = true) },
	{ "pvt_v2", &segformer, &pvt_v2_names },
	{ "qianfan_ocr", &vlm_squared, &qianfan_ocr_names, PARTS("qwen3", "qianfan_ocr_vision") },
	{ "qianfan_ocr_vision", OF(vit, qianfan_ocr_vision_names, .layer_scale = true, .norm_unless_mean = true) },
	{ "qwen2", OF(decoder, llama_names, .qkv_bias = true) },
	{ "qwen2_5_omni_text", OF(decoder, llama_names, .qkv_bias = true) },
	{ "qwen2_5_omni_thinker", OF(vlm_grid, omni_names, .told_by_id = true), QWEN2_OMNI_PARTS },
	{ "qwen2_5_omni_vision_encoder", OF(grid_vision, qwen2_5_omni_vision_names, .windows = true) },
	{ "qwen2_5_vl", OF(vlm_grid, grid_names, .text_ties = true), TEXT_VISION("qwen2_5_vl") },
	{ "qwen2_5_vl_text", OF(decoder, llama_names, .qkv_bias = true) },
	{ "qwen2_5_vl_vision", OF(grid_vision, qwen2_5_vl_vision_names, .windows = true) },
	{ "qwen2_audio", OF(vlm_sound, qwen2_audio_names, QWEN2_AUDIO), TEXT_AUDIO("qwen2", "qwen2_audio_encoder") },
	{ "qwen2_audio_encoder", OF(whisper_encoder, whisper_encoder_names, .paired_states = true) },
	{ "qwen2_moe", OF(decoder, qwen_moe_names, .window_pattern = 2, .window_until = true) },
	{ "qwen2_vl", OF(vlm_grid, grid_names, .text_ties = true), TEXT_VISION("qwen2_vl") },
	{ "qwen2_vl_text", OF(decoder, llama_names, .qkv_bias = true) },
	{ "qwen2_vl_vision", OF(grid_vision, qwen2_vl_vision_names, LN_MLP) },
	{ "qwen3", OF(decoder, llama_names, .qk_norm = true) },
	{ "qwen3_5", OF(vlm_grid, grid_names, .interleaved_sections = true), TEXT_VISION("qwen3_5") },
	{ "qwen3_5_moe", OF(vlm_grid, grid_names, .interleaved_sections = true), TEXT_VISION("qwen3_5_moe") },
	{ "qwen3_5_moe_text", OF(decoder, qwen3_5_moe_names, QWEN3_NEXT, .normalised_experts = true) },
	{ "qwen3_5_moe_vision", OF(grid_vision, qwen3_vl_vision_names, LN_MLP, .positions = GRID_CORNERS, .patch_bias = true) },
	{ "qwen3_5_text", OF(decoder, qwen3_5_names, QWEN3_NEXT) },
	{ "qwen3_5_vision", OF(grid_vision, qwen3_vl_vision_names, LN_MLP, .positions = GRID_CORNERS, .patch_bias = true) },
	{ "qwen3_moe", OF(decoder, qwen_moe_names, .qk_norm = true) },
	{ "qwen3_next", OF(decoder, qwen3_next_names, QWEN3_NEXT) },
	{ "qwen3_omni_moe_text", OF(decoder, qwen_moe_names, .qk_norm = true) },
	{ "qwen3_omni_moe_thinker", OF(vlm_grid, omni_names, .told_by_id = true, TURNS), QWEN3_OMNI_PARTS },
	{ "qwen3_omni_moe_vision_encoder", OF(grid_vision, qwen3_omni_vision_names, QWEN3_GRID) },
	{ "qwen3_vl", OF(vlm_grid, grid_names, .interleaved_sections = true), TEXT_VISION("qwen3_vl") },
	{ "qwen3_vl_moe", OF(vlm_grid, grid_names, .interleaved_sections = true), TEXT_VISION("qwen3_vl_moe") },
	{ "qwen3_vl_moe_text", OF(decoder, qwen3_vl_moe_names, .qk_norm = true, .normalised_experts = true) },
	{ "qwen3_vl_moe_vision", OF(grid_vision, qwen3_vl_vision_names, LN_MLP, .positions = GRID_CORNERS, .patch_bias = true) },
	{ "qwen3_vl_text", OF(decoder, qwen3_vl_text_names, .qk_norm = true) },
	{ "qwen3_vl_vision", OF(grid_vision, qwen3_vl_vision_names, LN_MLP, .positions = GRID_CORNERS, .patch_bias = true) },
	{ "qwen4_exp_text", OF(decoder, qwen4_exp_names, QWEN3_NEXT, .no_last_norm = true) },
	{ "radio", &radio, &radio_names },
	{ "rag", &rag, &rag_names, .part_types = { { "generator", "bart" } } },
	{ "realm", &encoder, &realm_names },
	{ "recurrent_gemma", OF(decoder, recurrent_gemma_names, RECURRENT_GEMMA) },
	{ "reformer", &reformer, &reformer_names },
	{ "regnet", &resnet, &regnet_names },
	{ "rembert", OF(encoder, rembert_names, TANH_HEAD, .always_projected = true) },
	{ "resnet", &resnet, &resnet_names },
	{ "retribert", &retribert, &retribert_names },
	{ "rf_detr", &rf_detr, &rf_detr_names, BACKBONE_PART("rf_detr_dinov2") },
	{ "rf_detr_dinov2", OF(windowed_vit, rf_detr_dinov2_names, .class_tokens = true) },
	{ "roberta", OF(encoder, roberta_names, ROBERTA) },
	{ "roberta-prelayernorm", OF(encoder, roberta_prelayernorm_names, ROBERTA, .norm_first = true) },
	{ "roc_bert", OF(encoder, roc_bert_names, TANH_HEAD) },
	{ "roformer", OF(encoder, roformer_names, .interleaved_rope = true, .head_hidden_act = true) },
	{ "rt_detr", &rt_detr, &rt_detr_names, BACKBONE_PART("rt_detr_resnet") },
	{ "rt_detr_resnet", OF(resnet, rt_detr_resnet_names, .deep_stem = true) },
	{ "rt_detr_v2", OF(rt_detr, rt_detr_v2_names, .scaled_offsets = true), BACKBONE_PART("rt_detr_resnet") },
	{ "rwkv", &rwkv, &rwkv_names },
	{ "sam", &sam, &sam_names, VISION_PART("sam_vision_model") },
	{ "sam2", OF(sam, sam2_names, .second = true), VISION_PART("sam2_vision_model") },
	{ "sam2_hiera_det_model", &hiera_det, &sam2_hiera_names },
	{ "sam2_vision_model", &hiera_pyramid, &sam2_vision_names, BACKBONE_PART("sam2_hiera_det_model") },
	{ "sam3", &sam3, &sam3_names, PARTS("clip_text_model", "sam3_vision_model") },
	{ "sam3_vision_model", &sam3_pyramid, &sam3_vision_names, BACKBONE_PART("sam3_vit_model") },
	{ "sam3_vit_model", &sam3_vit, &sam3_vit_names },
	{ "sam_hq", OF(sam, sam_hq_names, .fine_token = true), VISION_PART("sam_hq_vision_model") },
	{ "sam_hq_vision_model", OF(vitdet, sam_vision_names, .neck = true) },
	{ "sam_vision_model", OF(vitdet, sam_vision_names, .neck = true) },
	{ "seamless_m4t", &seamless, &seamless_names },
	{ "seamless_m4t_v2", OF(seamless, seamless_names, .causal_convolution = true) },
	{ "seed_oss", OF(decoder, llama_names, .qkv_bias_only = true) },
	{ "segformer", &segformer, &segformer_names },
	{ "seggpt", &seggpt, &seggpt_names },
	{ "sew", &speech, &sew_names },
	{ "sew-d", &speech, &sew_d_names },
	{ "siglip", OF(dual, dual_names, .compared_as_pooled = true), TOWERS("siglip") },
	{ "siglip2", OF(dual, dual_names, .compared_as_pooled = true), TOWERS("siglip2") },
	{ "siglip2_text_model", OF(clip_text, siglip_text_names, .last_token = true) },
	{ "siglip2_vision_model", OF(clip_vision, siglip_vision_names, .attention_pool = true, .listed = true) },
	{ "siglip_text_model", OF(clip_text, siglip_text_names, .last_token = true) },
	{ "siglip_vision_model", OF(clip_vision, siglip_vision_names, .attention_pool = true) },
	{ "slanext", &slanext, &slanext_names, VISION_PART("slanext_vision") },
	{ "slanext_vision", OF(vitdet, sam_vision_names, .neck = true) },
	{ "smollm3", &decoder, &llama_names },
	{ "smolvlm", &vlm_connected, &idefics3_names, PARTS("llama", "smolvlm_vision") },
	{ "smolvlm_vision", OF(clip_vision, siglip_vision_names, .any_size = true) },
	{ "solar_open", OF(decoder, dots1_names, .sigmoid_router = true) },
	{ "speech-encoder-decoder", OF(two_models, two_models_names, .source = SOURCE_SOUND), HALVES("wav2vec2", "bert") },
	{ "speech_to_text", &speech_to_text, &speech_to_text_names },
	{ "speech_to_text_2", OF(seq2seq, speech_to_text_2_names, .decoder_alone = true, .source_masked = true) },
	{ "speecht5", &speecht5, &speecht5_names },
	{ "speecht5_hifigan", &vocoder, &hifigan_names },
	{ "splinter", &encoder, &splinter_names },
	{ "squeezebert", OF(encoder, squeezebert_names, TANH_HEAD) },
	{ "stablelm", OF(decoder, stablelm_names, .layer_norm = true) },
	{ "starcoder2", OF(decoder, starcoder2_names, LN_MLP) },
	{ "superglue", &superglue, &superglue_names, .part_types = { { "detector", "superpoint" } } },
	{ "superpoint", &superpoint, &superpoint_names },
	{ "swiftformer", &swiftformer, &swiftformer_names },
	{ "swin", &swin, &swin_names },
	{ "swin2sr", &swin2sr, &swin2sr_names },
	{ "swinv2", OF(swin, swinv2_names, .cosine_windows = true) },
	{ "switch_transformers", &t5, &switch_names },
	{ "t5", &t5, &t5_names },
	{ "t5_gemma_module", OF(decoder, t5gemma_half_names, GEMMA2, .window_pattern = 2, .may_encode = true) },
	{ "t5gemma", OF(two_models, two_models_names, .below_model = true), HALVES("t5_gemma_module", "t5_gemma_module") },
	{ "table-transformer", OF(detr, detr_names, .norm_first = true), BACKBONE("timm_backbone", "resnet") },
	{ "tapas", OF(encoder, tapas_names, TANH_HEAD) },
	{ "textnet", &textnet, &textnet_names },
	{ "time_series_transformer", &forecast, &forecast_names },
	{ "timesfm", &timesfm, &timesfm_names },
	{ "timesfm2_5", &timesfm2_5, &timesfm2_5_names },
	{ "timesformer", &timesformer, &timesformer_names },
	{ "timm_backbone", &resnet_timm, &resnet_timm_names },
	{ "timm_wrapper", &resnet_timm, &timm_wrapper_names },
	{ "tipsv2", OF(dual, dual_names, .compared_as_pooled = true, .divided = true, .first_pooled = true), TOWERS("tipsv2") },
	{ "tipsv2_dpt", &tipsv2_dpt, &tipsv2_dpt_names, BACKBONE_PART("tipsv2_vision_model") },
	{ "tipsv2_text_model", &sine_text, &tipsv2_text_names },
	{ "tipsv2_vision_model", OF(vit, tipsv2_vision_names, .layer_scale = true, .pool_is_norm = true) },
	{ "trajectory_transformer", &trajectory, &trajectory_names },
	{ "transfo-xl", &transfo_xl, &transfo_xl_names },
	{ "trocr", OF(seq2seq, trocr_names, .decoder_alone = true, .position_offset = 2) },
	{ "tvlt", &tvlt, &tvlt_names },
	{ "tvp", &tvp, &tvp_names, BACKBONE_PART("resnet") },
	{ "udop", &t5, &udop_names },
	{ "ultrabert", OF(rotary_encoder, ultrabert_names, .window_pattern = 3) },
	{ "ultravbert", OF(vlm_connected, ultravbert_names, .normed = true), PARTS("ultrabert", "siglip_vision_model") },
	{ "umt5", OF(t5, t5_names, .relative_each_layer = true) },
	{ "unispeech", &speech, &unispeech_names },
	{ "unispeech-sat", &speech, &unispeech_sat_names },
	{ "univnet", &univnet, &univnet_names },
	{ "upernet", &upernet, &upernet_names, BACKBONE_PART("resnet") },
	{ "van", &van, &van_names },
	{ "vaultgemma", OF(decoder, gemma2_names, GEMMA, .window_pattern = 2) },
	{ "vibevoice", OF(vlm_unheard, unheard_names, .text_ties = true, .gives_last = true), TEXT_PART("qwen2") },
	{ "vibevoice_asr", &vlm_unheard, &unheard_names, TEXT_PART("qwen2") },
	{ "video_llama_3", OF(vlm_grid, video_llama_3_names, PLAIN_TEXT, .read_out = true, .text_ties = true), VIDEO_LLAMA_3 },
	{ "video_llama_3_vision", OF(grid_vision, paddleocr_vision_names, LN_MLP, VIDEO_LLAMA_GRID) },
	{ "video_llava", OF(vlm, video_llava_names, .films = true), VIDEO_LLAVA_PARTS },
	{ "videomae", &videomae, &videomae_names },
	{ "videomt", OF(eomt, videomt_names, .films = true) },
	{ "vilt", &vilt, &vilt_names },
	{ "vipllava", OF(vlm, llava_names, .projector_norm = true), PARTS("llama", "clip_vision_model") },
	{ "vision-encoder-decoder", OF(two_models, two_models_names, .source = SOURCE_PICTURE), HALVES("vit", "bert") },
	{ "vision-text-dual-encoder", OF(dual, dual_names, .rooted_towers = true), PARTS("bert", "vit") },
	{ "visual_bert", &encoder, &visual_bert_names },
	{ "vit", &vit, &vit_names },
	{ "vit-hybrid", &vit_hybrid, &vit_hybrid_names, BACKBONE_PART("bit") },
	{ "vit_mae", &vit_mae, &vit_mae_names },
	{ "vit_msn", &vit, &vit_msn_names },
	{ "vitdet", &vitdet, &vitdet_names },
	{ "vitmatte", &vitmatte, &vitmatte_names, BACKBONE_PART("vitdet") },
	{ "vitpose", &vitpose, &vitpose_names, BACKBONE_PART("vitpose_backbone") },
	{ "vitpose_backbone", OF(vit, vitpose_backbone_names, .class_position = true) },
	{ "vits", &vits, &vits_names },
	{ "vivit", &vivit, &vivit_names },
	{ "vjepa2", &vjepa2, &vjepa2_names },
	{ "voxtral", OF(vlm_sound, voxtral_names, .grouped_states = true), TEXT_AUDIO("llama", "voxtral_encoder") },
	{ "voxtral_encoder", &whisper_encoder, &whisper_encoder_names },
	{ "voxtral_realtime_encoder", &whisper_causal, &voxtral_realtime_encoder_names },
	{ "wav2vec2", &speech, &wav2vec2_names },
	{ "wav2vec2-bert", OF(speech, wav2vec2_bert_names, .causal_convolution = true) },
	{ "wav2vec2-conformer", &speech, &wav2vec2_conformer_names },
	{ "wavlm", &speech, &wavlm_names },
	{ "whisper", &whisper, &whisper_names },
	{ "xclip", &xclip, &xclip_names, TOWERS("xclip") },
	{ "xclip_text_model", OF(clip_text, clip_text_names, .ends_highest = true) },
	{ "xclip_vision_model", &xclip_vision, &xclip_vision_names },
	{ "xglm", OF(decoder, xglm_names, GPT, .sinusoids = 1, .position_offset = 2) },
	{ "xlm", OF(encoder, xlm_names, .states_zeroed = true) },
	{ "xlm-prophetnet", &prophetnet, &prophetnet_names },
	{ "xlm-roberta", OF(encoder, roberta_names, ROBERTA) },
	{ "xlm-roberta-xl", OF(encoder, xlm_roberta_xl_names, ROBERTA, .norm_first = true) },
	{ "xlnet", &encoder, &xlnet_names },
	{ "xlstm", &xlstm, &xlstm_names },
	{ "xmod", OF(encoder, xmod_names, ROBERTA) },
	{ "yolos", &yolos, &yolos_names },
	{ "yoso", OF(encoder, yoso_names, .position_offset = 2, .rows_beyond = true, .head_hidden_act = true) },
	{ "youtu", &decoder, &deepseek_v2_names },
	{ "zamba", OF(decoder, zamba_names, .mixer = MIX_MAMBA, .shared_block = true, .no_rotary = true) },
	{ "zamba2", OF(decoder, zamba2_names, ZAMBA2) },
	{ "zaya", &zaya, &zaya_names },
	{ "zoedepth", &zoedepth, &zoedepth_names, BACKBONE_PART("beit") },
};
// clang-format on
const size_t arch_row_count = sizeof arch_rows / sizeof arch_rows[0];

static int by_type(const void *key, const void *row)
{
	return strcmp(key, ((const struct arch *)row)->model_type);
}

const struct arch *arch_find(const char *model_type)
{
	return model_type ? bsearch(model_type, arch_rows, arch_row_count, sizeof arch_rows[0], by_type) : NULL;
}

size_t arch_type_count(void)
{
	return arch_row_count;
}

const char *arch_type_name(size_t i)
{
	return arch_rows[i].model_type;
}

const char *arch_type_family(size_t i)
{
	return arch_rows[i].family->name;
}

const char *arch_type_dialect(size_t i)
{
	return arch_rows[i].dialect->name;
}

const char *arch_type_architecture(size_t i)
{
	return arch_rows[i].family->architecture;
}
