// SPDX-License-Identifier: Apache-2.0
// Model types, sorted. A type is a family, a dialect and what differs from the family's common case; nothing else in the
// program knows a model type by name. The class's default configuration is a line of defaults.jsonl.
#include "arch/dialect.h"
#include "arch/spec.h"

#include <stdlib.h>
#include <string.h>

const struct arch arch_rows[] = {
	{ "afmoe", &decoder, &afmoe_names, .traits = { .sandwich_norm = true, .qk_norm = true, .window_rope = true, .attention_gate = true, .sigmoid_router = true, .normalised_experts = true } },
	{ "albert", &encoder, &albert_names, .traits = { .always_projected = true, .shared_layers = true, .head_act = ACT_TANH } },
	{ "apertus", &decoder, &apertus_names, .traits = { .plain_ffn = true, .qk_norm = true } },
	{ "arcee", &decoder, &llama_names, .traits.plain_ffn = true },
	{ "aria_text", &decoder, &aria_names, .traits = { .experts_in_out = true, .normalised_experts = true } },
	{ "audio-spectrogram-transformer", &spectrogram, &spectrogram_names },
	{ "axk1", &decoder, &axk1_names, .traits.sigmoid_router = true },
	{ "bart", &seq2seq, &bart_names, .traits = { .embedding_norm = true, .position_offset = 2 } },
	{ "beit", &beit, &beit_names, .traits.no_key_bias = true },
	{ "bert", &encoder, &bert_names, .traits.head_act = ACT_TANH },
	{ "bigbird_pegasus", &seq2seq, &bigbird_pegasus_names, .traits.norm_first = true },
	{ "biogpt", &decoder, &biogpt_names, .traits = { .layer_norm = true, .plain_ffn = true, .qkv_bias = true, .out_bias = true, .ffn_bias = true, .position_offset = 2 } },
	{ "bitnet", &decoder, &llama_names, .traits.inner_norm = true },
	{ "blenderbot", &seq2seq, &bart_names, .traits.norm_first = true },
	{ "blenderbot-small", &seq2seq, &bart_names, .traits = { .embedding_norm = true, .tokens_normed = true } },
	{ "bloom", &decoder, &bloom_names, .traits = { .layer_norm = true, .plain_ffn = true, .qkv_bias = true, .out_bias = true, .ffn_bias = true, .qkv_layout = QKV_BY_HEAD, .alibi = ALIBI_TOKENS, .embedding_norm = true, .usual_act = ACT_GELU_TANH } },
	{ "camembert", &encoder, &roberta_names, .traits = { .positions_from_pad = true, .lm_gelu = true, .head_act = ACT_TANH } },
	{ "clap", &clap, &clap_names, .part_type = { [PART_TEXT] = "clap_text_model", [PART_AUDIO] = "clap_audio_model" } },
	{ "clap_audio_model", &clap_audio, &clap_audio_names },
	{ "clap_text_model", &clap_text, &clap_text_names, .traits.positions_from_pad = true },
	{ "clip", &dual, &dual_names, .part_type = { [PART_TEXT] = "clip_text_model", [PART_VISION] = "clip_vision_model" } },
	{ "clip_text_model", &clip_text, &clip_text_names },
	{ "clip_vision_model", &clip_vision, &clip_vision_names },
	{ "codegen", &decoder, &codegen_names, .traits = { .layer_norm = true, .plain_ffn = true, .parallel = true, .interleaved_rope = true, .ffn_bias = true, .lm_bias = true, .qkv_layout = QKV_FOUR_PARTS } },
	{ "cohere", &decoder, &llama_names, .traits = { .layer_norm = true, .norm_no_bias = true, .parallel = true, .interleaved_rope = true } },
	{ "cohere2", &decoder, &llama_names, .traits = { .layer_norm = true, .norm_no_bias = true, .parallel = true, .interleaved_rope = true, .window_rope = true, .window_pattern = 4 } },
	{ "cohere2_moe", &decoder, &cohere2_moe_names, .traits = { .layer_norm = true, .norm_no_bias = true, .parallel = true, .interleaved_rope = true, .window_rope = true } },
	{ "conditional_detr", &conditional_detr, &conditional_detr_names, .part_type = { [PART_BACKBONE] = "timm_backbone", [PART_VISION] = "resnet" } },
	{ "convnext", &convnext, &convnext_names },
	{ "convnextv2", &convnext, &convnextv2_names, .traits.response_norm = true },
	{ "cosmos3_edge_text", &decoder, &cosmos_names, .traits.plain_ffn = true },
	{ "cwm", &decoder, &llama_names, .traits.window_pattern = -4 },
	{ "data2vec-audio", &speech, &data2vec_audio_names },
	{ "data2vec-vision", &beit, &data2vec_vision_names, .traits.no_key_bias = true },
	{ "deepseek_v2", &decoder, &deepseek_v2_names, .traits = { .interleaved_rope = true, .group_of_one = true } },
	{ "deepseek_v3", &decoder, &deepseek_v3_names, .traits.sigmoid_router = true },
	{ "deit", &vit, &deit_names, .traits.distillation_token = true },
	{ "detr", &detr, &detr_names, .part_type = { [PART_BACKBONE] = "timm_backbone", [PART_VISION] = "resnet" } },
	{ "dinov2", &vit, &dinov2_names, .traits = { .any_size = true, .layer_scale = true, .pool_is_norm = true, .mean_patches = true } },
	{ "dinov2_with_registers", &vit, &dinov2_with_registers_names, .traits = { .any_size = true, .smooth_positions = true, .layer_scale = true, .pool_is_norm = true, .mean_patches = true } },
	{ "dinov3_convnext", &convnext_dino, &dinov3_convnext_names },
	{ "distilbert", &encoder, &distilbert_names, .traits = { .no_types = true, .head_act = ACT_RELU } },
	{ "donut-swin", &swin, &donut_swin_names, .traits.no_final_norm = true },
	{ "dots1", &decoder, &dots1_names, .traits = { .qk_norm = true, .sigmoid_router = true } },
	{ "electra", &encoder, &electra_names, .traits.lm_gelu = true },
	{ "emu3_text_model", &decoder, &llama_names },
	{ "ernie4_5", &decoder, &llama_names, .traits.interleaved_rope = true },
	{ "ernie4_5_moe", &decoder, &ernie4_5_moe_names, .traits = { .interleaved_rope = true, .lm_bias_too = true, .choice_bias_row = true, .normalised_experts = true } },
	{ "exaone4", &decoder, &olmo2_names, .traits = { .post_norm = true, .qk_norm = true, .window_rope = true } },
	{ "exaone_moe", &decoder, &exaone_moe_names, .traits = { .qk_norm = true, .window_rope = true, .sigmoid_router = true } },
	{ "falcon", &decoder, &falcon_names, .traits = { .layer_norm = true, .plain_ffn = true, .qkv_layout = QKV_BY_HEAD } },
	{ "flex_olmo", &decoder, &flex_olmo_names, .traits = { .post_norm = true, .qk_norm_whole = true } },
	{ "gemma", &decoder, &llama_names, .traits = { .norm_plus_one = true, .scaled_embedding = true } },
	{ "gemma2", &decoder, &gemma2_names, .traits = { .window_pattern = 2, .norm_plus_one = true, .sandwich_norm = true, .scaled_embedding = true } },
	{ "gemma3_text", &decoder, &gemma2_names, .traits = { .window_pattern = 6, .norm_plus_one = true, .sandwich_norm = true, .scaled_embedding = true, .qk_norm = true, .may_look_ahead = true, .uncapped_scores = true } },
	{ "glm", &decoder, &glm_names, .traits = { .interleaved_rope = true, .qkv_bias_only = true } },
	{ "glm4", &decoder, &glm_names, .traits = { .interleaved_rope = true, .qkv_bias_only = true, .sandwich_norm = true } },
	{ "glm4_moe", &decoder, &dots1_names, .traits = { .qkv_bias_only = true, .sigmoid_router = true } },
	{ "glm4_moe_lite", &decoder, &deepseek_v3_names, .traits.sigmoid_router = true },
	{ "glm4v_text", &decoder, &glm_names, .traits = { .interleaved_rope = true, .qkv_bias = true, .sandwich_norm = true } },
	{ "glm_ocr_text", &decoder, &glm_names, .traits = { .interleaved_rope = true, .sandwich_norm = true } },
	{ "gpt2", &decoder, &gpt2_names, .traits = { .layer_norm = true, .plain_ffn = true, .qkv_bias = true, .out_bias = true, .ffn_bias = true, .transposed_weights = true } },
	{ "gpt_bigcode", &decoder, &gpt2_names, .traits = { .layer_norm = true, .plain_ffn = true, .qkv_bias = true, .out_bias = true, .ffn_bias = true, .qkv_layout = QKV_BY_HEAD } },
	{ "gpt_neo", &decoder, &gpt_neo_names, .traits = { .layer_norm = true, .plain_ffn = true, .out_bias = true, .ffn_bias = true, .unscaled_attention = true } },
	{ "gpt_neox", &decoder, &gpt_neox_names, .traits = { .layer_norm = true, .plain_ffn = true, .parallel_norms = true, .ffn_bias = true, .qkv_layout = QKV_BY_HEAD } },
	{ "gpt_neox_japanese", &decoder, &gpt_neox_japanese_names, .traits = { .layer_norm = true, .plain_ffn = true, .qkv_layout = QKV_BY_HEAD, .last_out_bias = true } },
	{ "gpt_oss", &decoder, &gpt_oss_names, .traits = { .window_pattern = 2, .attention_sinks = true, .router_linear_bias = true, .experts_in_out = true, .clamped_swiglu = true, .normalised_experts = true } },
	{ "gptj", &decoder, &gptj_names, .traits = { .layer_norm = true, .plain_ffn = true, .parallel = true, .interleaved_rope = true, .ffn_bias = true, .lm_bias = true } },
	{ "granite", &decoder, &llama_names },
	{ "granite_docling_text", &decoder, &llama_names },
	{ "granite_swa", &decoder, &llama_names, .traits.attention_sinks = true },
	{ "granitemoe", &decoder, &granitemoe_names, .traits.normalised_experts = true },
	{ "granitemoe_swa", &decoder, &granitemoe_swa_names, .traits = { .attention_sinks = true, .normalised_experts = true } },
	{ "granitemoeshared", &decoder, &granitemoe_names, .traits.normalised_experts = true },
	{ "helium", &decoder, &llama_names, .traits = { .interleaved_rope = true, .qkv_bias_only = true } },
	{ "hubert", &speech, &hubert_names },
	{ "hunyuan_v1_dense", &decoder, &hunyuan_names, .traits = { .qk_norm = true, .qk_norm_late = true } },
	{ "hunyuan_v1_moe", &decoder, &hunyuan_moe_names, .traits = { .qk_norm = true, .qk_norm_late = true, .normalised_experts = true, .one_shared_expert = 1 } },
	{ "hunyuan_vl_text", &decoder, &hunyuan_names, .traits = { .qk_norm = true, .qk_norm_late = true } },
	{ "hy_v3", &decoder, &hy_v3_names, .traits = { .qk_norm = true, .sigmoid_router = true, .normalised_experts = true } },
	{ "hyperclovax", &decoder, &hyperclovax_names },
	{ "ijepa", &vit, &ijepa_names, .traits.no_class_token = true },
	{ "internlm3", &decoder, &llama_names },
	{ "iquestcoder", &decoder, &llama_names },
	{ "jais2", &decoder, &llama_names, .traits = { .layer_norm = true, .plain_ffn = true } },
	{ "lasr_ctc", &conformer_ctc, &ctc_names, .part_type[PART_ENCODER] = "lasr_encoder" },
	{ "lasr_encoder", &conformer, &lasr_names, .traits = { .layer_norm = true, .norm_no_bias = true } },
	{ "llama", &decoder, &llama_names },
	{ "llava", &vlm, &llava_names, .part_type = { [PART_TEXT] = "llama", [PART_VISION] = "clip_vision_model" } },
	{ "llava_next", &vlm_tiles, &llava_names, .part_type = { [PART_TEXT] = "llama", [PART_VISION] = "clip_vision_model" } },
	{ "m2m_100", &seq2seq, &m2m_names, .traits = { .norm_first = true, .positions_from_pad = true } },
	{ "marian", &seq2seq, &bart_names, .traits.sine_positions = true },
	{ "maskformer-swin", &swin, &maskformer_swin_names, .traits.windows_always = true },
	{ "mbart", &seq2seq, &bart_names, .traits = { .norm_first = true, .embedding_norm = true, .start_wraps = true, .position_offset = 2 } },
	{ "mellum", &decoder, &qwen_moe_names, .traits.qk_norm = true },
	{ "minicpm3", &decoder, &minicpm3_names },
	{ "minimax_m2", &decoder, &minimax_m2_names, .traits = { .qk_norm_whole = true, .sigmoid_router = true, .normalised_experts = true } },
	{ "ministral", &decoder, &llama_names },
	{ "ministral3", &decoder, &llama_names },
	{ "mistral", &decoder, &llama_names },
	{ "mistral4", &decoder, &mistral4_names },
	{ "mixtral", &decoder, &mixtral_names, .traits.normalised_experts = true },
	{ "mobilenet_v1", &mobilenet_v1, &mobilenet_v1_names },
	{ "mobilenet_v2", &mobilenet_v2, &mobilenet_v2_names },
	{ "moonshine", &moonshine, &moonshine_names },
	{ "mpnet", &encoder, &mpnet_names, .traits = { .relative_buckets = true, .positions_from_pad = true, .no_types = true, .lm_gelu = true, .head_act = ACT_TANH } },
	{ "mpt", &decoder, &mpt_names, .traits = { .layer_norm = true, .norm_no_bias = true, .plain_ffn = true, .alibi = ALIBI_COLUMNS } },
	{ "mt5", &t5, &t5_names, .traits.unscaled_head = true },
	{ "nanochat", &decoder, &nanochat_names, .traits = { .norm_no_weight = true, .plain_ffn = true, .qk_norm = true, .embedding_norm = true, .reversed_rope = true } },
	{ "nemotron", &decoder, &nemotron_names, .traits = { .layer_norm = true, .norm_plus_one = true, .plain_ffn = true } },
	{ "olmo", &decoder, &llama_names, .traits = { .layer_norm = true, .norm_no_weight = true } },
	{ "olmo2", &decoder, &olmo2_names, .traits = { .post_norm = true, .qk_norm_whole = true } },
	{ "olmo3", &decoder, &olmo2_names, .traits = { .post_norm = true, .qk_norm_whole = true, .window_pattern = 4 } },
	{ "olmoe", &decoder, &qwen_moe_names, .traits.qk_norm_whole = true },
	{ "openai-gpt", &decoder, &openai_gpt_names, .traits = { .norm_behind = true, .no_last_norm = true, .layer_norm = true, .plain_ffn = true, .qkv_bias = true, .out_bias = true, .ffn_bias = true, .transposed_weights = true, .gelu_by_tanh = true } },
	{ "opt", &decoder, &opt_names, .traits = { .layer_norm = true, .plain_ffn = true, .positions_of_mask = true, .position_offset = 2 } },
	{ "paddleocr_vl_text", &decoder, &llama_names },
	{ "parakeet_ctc", &conformer_ctc, &ctc_names, .part_type[PART_ENCODER] = "parakeet_encoder" },
	{ "parakeet_encoder", &conformer, &parakeet_names, .traits.layer_norm = true },
	{ "pegasus", &seq2seq, &bart_names, .traits.norm_first = true },
	{ "persimmon", &decoder, &persimmon_names, .traits = { .layer_norm = true, .plain_ffn = true, .qkv_bias = true, .out_bias = true, .ffn_bias = true, .qkv_layout = QKV_BY_HEAD } },
	{ "phi", &decoder, &phi_names, .traits = { .layer_norm = true, .parallel = true, .plain_ffn = true, .qkv_bias = true, .out_bias = true, .ffn_bias = true, .lm_bias = true } },
	{ "phi3", &decoder, &phi3_names },
	{ "phimoe", &decoder, &mixtral_names, .traits = { .layer_norm = true, .sparse_mixer = true } },
	{ "pixio", &vit, &pixio_names, .traits = { .any_size = true, .pool_is_norm = true } },
	{ "plbart", &seq2seq, &bart_names, .traits = { .embedding_norm = true, .start_wraps = true, .position_offset = 2 } },
	{ "poolformer", &poolformer, &poolformer_names },
	{ "pop2piano", &t5, &t5_names },
	{ "qwen2", &decoder, &llama_names, .traits.qkv_bias = true },
	{ "qwen2_5_vl_text", &decoder, &llama_names, .traits.qkv_bias = true },
	{ "qwen2_moe", &decoder, &qwen_moe_names },
	{ "qwen2_vl_text", &decoder, &llama_names, .traits.qkv_bias = true },
	{ "qwen3", &decoder, &llama_names, .traits.qk_norm = true },
	{ "qwen3_moe", &decoder, &qwen_moe_names, .traits.qk_norm = true },
	{ "qwen3_vl_text", &decoder, &llama_names, .traits.qk_norm = true },
	{ "regnet", &resnet, &regnet_names },
	{ "resnet", &resnet, &resnet_names },
	{ "roberta", &encoder, &roberta_names, .traits = { .positions_from_pad = true, .lm_gelu = true, .head_act = ACT_TANH } },
	{ "seed_oss", &decoder, &llama_names, .traits.qkv_bias_only = true },
	{ "segformer", &segformer, &segformer_names },
	{ "sew", &speech, &sew_names },
	{ "siglip", &dual, &dual_names, .traits.compared_as_pooled = true, .part_type = { [PART_TEXT] = "siglip_text_model", [PART_VISION] = "siglip_vision_model" } },
	{ "siglip_text_model", &clip_text, &siglip_text_names, .traits.last_token = true },
	{ "siglip_vision_model", &clip_vision, &siglip_vision_names, .traits.attention_pool = true },
	{ "smollm3", &decoder, &llama_names },
	{ "solar_open", &decoder, &dots1_names, .traits.sigmoid_router = true },
	{ "speech_to_text", &speech_to_text, &speech_to_text_names },
	{ "stablelm", &decoder, &stablelm_names, .traits.layer_norm = true },
	{ "starcoder2", &decoder, &starcoder2_names, .traits = { .layer_norm = true, .plain_ffn = true } },
	{ "swin", &swin, &swin_names },
	{ "swinv2", &swin, &swinv2_names, .traits.cosine_windows = true },
	{ "switch_transformers", &t5, &switch_names },
	{ "t5", &t5, &t5_names },
	{ "table-transformer", &detr, &detr_names, .traits.norm_first = true, .part_type = { [PART_BACKBONE] = "timm_backbone", [PART_VISION] = "resnet" } },
	{ "timm_backbone", &resnet_timm, &resnet_timm_names },
	{ "trocr", &seq2seq, &trocr_names, .traits = { .decoder_alone = true, .position_offset = 2 } },
	{ "umt5", &t5, &t5_names, .traits.relative_each_layer = true },
	{ "unispeech", &speech, &unispeech_names },
	{ "unispeech-sat", &speech, &unispeech_sat_names },
	{ "vaultgemma", &decoder, &gemma2_names, .traits = { .window_pattern = 2, .norm_plus_one = true, .scaled_embedding = true } },
	{ "videomae", &videomae, &videomae_names, .traits.no_key_bias = true },
	{ "vipllava", &vlm, &llava_names, .traits.projector_norm = true, .part_type = { [PART_TEXT] = "llama", [PART_VISION] = "clip_vision_model" } },
	{ "vit", &vit, &vit_names },
	{ "vit_msn", &vit, &vit_msn_names },
	{ "vitpose_backbone", &vit, &vitpose_backbone_names, .traits.class_position = true },
	{ "vivit", &vivit, &vivit_names },
	{ "wav2vec2", &speech, &wav2vec2_names },
	{ "wav2vec2-bert", &speech, &wav2vec2_bert_names, .traits.causal_convolution = true },
	{ "wav2vec2-conformer", &speech, &wav2vec2_conformer_names },
	{ "wavlm", &speech, &wavlm_names },
	{ "whisper", &whisper, &whisper_names },
	{ "xclip", &xclip, &xclip_names, .part_type = { [PART_TEXT] = "xclip_text_model", [PART_VISION] = "xclip_vision_model" } },
	{ "xclip_text_model", &clip_text, &clip_text_names, .traits.ends_highest = true },
	{ "xclip_vision_model", &xclip_vision, &xclip_vision_names },
	{ "xglm", &decoder, &xglm_names, .traits = { .layer_norm = true, .plain_ffn = true, .qkv_bias = true, .out_bias = true, .ffn_bias = true, .sinusoids = true, .position_offset = 2 } },
	{ "xlm-roberta", &encoder, &roberta_names, .traits = { .positions_from_pad = true, .lm_gelu = true, .head_act = ACT_TANH } },
	{ "yolos", &yolos, &yolos_names },
	{ "youtu", &decoder, &deepseek_v2_names },
};
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
