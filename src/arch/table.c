// SPDX-License-Identifier: Apache-2.0
// Model types, sorted. A type is a family, a dialect and what differs from the family's common case; nothing else in the
// program knows a model type by name. The class's default configuration is a line of defaults.jsonl.
#include "arch/dialect.h"
#include "arch/spec.h"

#include <stdlib.h>
#include <string.h>

const struct arch arch_rows[] = {
	{ "albert", &encoder, &albert_names, .traits = { .always_projected = true, .shared_layers = true, .head_act = ACT_TANH } },
	{ "bert", &encoder, &bert_names, .traits.head_act = ACT_TANH },
	{ "camembert", &encoder, &roberta_names, .traits = { .positions_from_pad = true, .head_act = ACT_TANH } },
	{ "clip", &dual, &dual_names, .part_type = { [PART_TEXT] = "clip_text_model", [PART_VISION] = "clip_vision_model" } },
	{ "clip_text_model", &clip_text, &clip_text_names },
	{ "clip_vision_model", &clip_vision, &clip_vision_names },
	{ "data2vec-audio", &speech, &data2vec_audio_names },
	{ "deit", &vit, &deit_names, .traits.distillation_token = true },
	{ "dinov2", &vit, &dinov2_names, .traits = { .layer_scale = true, .pool_is_norm = true, .mean_patches = true } },
	{ "distilbert", &encoder, &distilbert_names, .traits = { .no_types = true, .no_pooler = true, .head_act = ACT_RELU } },
	{ "electra", &encoder, &electra_names, .traits.no_pooler = true },
	{ "gemma", &decoder, &llama_names, .traits = { .norm_plus_one = true, .scaled_embedding = true } },
	{ "gemma2", &decoder, &gemma2_names, .traits = { .window_pattern = 2, .norm_plus_one = true, .sandwich_norm = true, .scaled_embedding = true } },
	{ "hubert", &speech, &hubert_names, .traits.no_features = true },
	{ "llama", &decoder, &llama_names },
	{ "mistral", &decoder, &llama_names },
	{ "mpnet", &encoder, &mpnet_names, .traits = { .relative_buckets = true, .positions_from_pad = true, .no_types = true, .head_act = ACT_TANH } },
	{ "mt5", &t5, &t5_names, .traits.unscaled_head = true },
	{ "qwen2", &decoder, &llama_names, .traits.qkv_bias = true },
	{ "qwen3", &decoder, &llama_names, .traits.qk_norm = true },
	{ "roberta", &encoder, &roberta_names, .traits = { .positions_from_pad = true, .head_act = ACT_TANH } },
	{ "siglip", &dual, &dual_names, .traits.compared_as_pooled = true, .part_type = { [PART_TEXT] = "siglip_text_model", [PART_VISION] = "siglip_vision_model" } },
	{ "siglip_text_model", &clip_text, &siglip_text_names, .traits.last_token = true },
	{ "siglip_vision_model", &clip_vision, &siglip_vision_names, .traits.attention_pool = true },
	{ "sew", &speech, &sew_names, .traits.no_features = true },
	{ "t5", &t5, &t5_names },
	{ "umt5", &t5, &t5_names, .traits.relative_each_layer = true },
	{ "unispeech", &speech, &unispeech_names },
	{ "unispeech-sat", &speech, &unispeech_sat_names },
	{ "vit", &vit, &vit_names },
	{ "xclip", &xclip, &xclip_names, .part_type = { [PART_TEXT] = "xclip_text_model", [PART_VISION] = "xclip_vision_model" } },
	{ "xclip_text_model", &clip_text, &clip_text_names, .traits.ends_highest = true },
	{ "xclip_vision_model", &xclip_vision, &xclip_vision_names },
	{ "wav2vec2", &speech, &wav2vec2_names },
	{ "wav2vec2-bert", &speech, &wav2vec2_bert_names, .traits.causal_convolution = true },
	{ "wav2vec2-conformer", &speech, &wav2vec2_conformer_names },
	{ "wavlm", &speech, &wavlm_names },
	{ "xlm-roberta", &encoder, &roberta_names, .traits = { .positions_from_pad = true, .head_act = ACT_TANH } },
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
