// SPDX-License-Identifier: Apache-2.0
// Model types, sorted. A type is a family, a dialect and what differs from the family's common case; nothing else in the
// program knows a model type by name. The class's default configuration is a line of defaults.jsonl.
#include "arch/dialect.h"
#include "arch/spec.h"

#include <stdlib.h>
#include <string.h>

const struct arch arch_rows[] = {
	{ "albert", &encoder, &albert_names, .traits = { .embed.always_projected = true, .layer.shared = true, .head.act = ACT_TANH } },
	{ "bert", &encoder, &bert_names, .traits.head.act = ACT_TANH },
	{ "camembert", &encoder, &roberta_names, .traits = { .pos.from_pad = true, .head.act = ACT_TANH } },
	{ "deit", &vit, &deit_names, .traits.embed.distillation = true },
	{ "dinov2", &vit, &dinov2_names, .traits = { .layer.layer_scale = true, .head = { .pool_is_norm = true, .mean_patches = true } } },
	{ "distilbert", &encoder, &distilbert_names, .traits = { .embed.no_types = true, .head = { .no_pooler = true, .act = ACT_RELU } } },
	{ "electra", &encoder, &electra_names, .traits.head.no_pooler = true },
	{ "gemma", &decoder, &llama_names, .traits = { .norm.plus_one = true, .embed.scaled = true } },
	{ "gemma2", &decoder, &gemma2_names, .traits = { .attn.alternate_window = true, .norm = { .plus_one = true, .sandwich = true }, .embed.scaled = true } },
	{ "llama", &decoder, &llama_names },
	{ "mistral", &decoder, &llama_names },
	{ "mpnet", &encoder, &mpnet_names, .traits = { .attn.relative_buckets = true, .pos.from_pad = true, .embed.no_types = true, .head.act = ACT_TANH } },
	{ "qwen2", &decoder, &llama_names, .traits.attn.qkv_bias = true },
	{ "qwen3", &decoder, &llama_names, .traits.attn.qk_norm = true },
	{ "roberta", &encoder, &roberta_names, .traits = { .pos.from_pad = true, .head.act = ACT_TANH } },
	{ "vit", &vit, &vit_names },
	{ "xlm-roberta", &encoder, &roberta_names, .traits = { .pos.from_pad = true, .head.act = ACT_TANH } },
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
