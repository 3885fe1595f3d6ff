// SPDX-License-Identifier: Apache-2.0
// Graphs from a configuration alone, with weights that are pretended. Included after cmocka.h.
#ifndef ASSAY_TESTS_PRETENDED_H
#define ASSAY_TESTS_PRETENDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/spec.h"

static struct shard pretended = {
	.path = "model.safetensors", .real_path = "model.safetensors", .location = "model.safetensors"
};

// As many experts as the choice among them needs: the others are built like them.
static inline void leave_experts_out(struct spec *s)
{
	for (int i = 0; i < PARTS_MOST; i++)
		if (s->parts[i].spec)
			leave_experts_out(s->parts[i].spec);
	if (!s->moe)
		return;
	struct moe *m = (struct moe *)(uintptr_t)s->moe; // the spec is the test's own
	int64_t groups = m->groups > 1 ? m->groups : 1, few = 2 * groups;
	while (few < m->top_k)
		few += groups;
	if (few < m->experts)
		m->experts = few;
}

enum { ALL_LAYERS, FEW_LAYERS = 8 };

// Its first `layers` layers where it has more, with few experts; ALL_LAYERS: all, with all experts.
static inline struct spec *resolve_first(struct checkpoint *c, int64_t layers)
{
	struct error err = { 0 };
	struct spec *s;
	if (arch_resolve(&s, &c->arena, c, &err))
		fail_msg("%s", err.text);
	if (layers != ALL_LAYERS) {
		arch_shorten(s, layers);
		leave_experts_out(s);
	}
	return s;
}

// A checkpoint that has exactly the weights its configuration wants; not whole: those of its first layers, with few experts. All
// layers where the results of late ones are asked for.
static inline struct spec *open_full(struct checkpoint *c, const char *name, const char *config, bool whole)
{
	struct error err = { 0 };
	int64_t layers = whole ? ALL_LAYERS : FEW_LAYERS;
	if (checkpoint_open_config(c, name, config, strlen(config), &err))
		fail_msg("%s", err.text);
	enum status st = arch_plan_weights(resolve_first(c, layers), &c->arena, DTYPE_F32, &c->weights, &c->weight_count, &err);
	if (st && !whole) {
		layers = CONFIG_COUNT_MOST;
		err = (struct error){ 0 };
		st = arch_plan_weights(resolve_first(c, layers), &c->arena, DTYPE_F32, &c->weights, &c->weight_count, &err);
	}
	if (st)
		fail_msg("%s", err.text);
	uint64_t offset = 4096;
	for (size_t i = 0; i < c->weight_count; i++) {
		c->weights[i].shard = &pretended;
		c->weights[i].offset = offset;
		offset += c->weights[i].nbytes;
	}
	return resolve_first(c, layers);
}

static inline struct graph *build_whole(const struct spec *s, const struct checkpoint *c, const struct graph_form *form)
{
	struct error err = { 0 };
	struct graph *g = graph_new(form);
	if (arch_build(s, c, &arch_whole, g, &err))
		fail_msg("%s", err.text);
	return g;
}

// A configuration that says nothing but the type, what its class has no default for, and what does not fit together in its
// defaults.
static inline void type_config(char *out, size_t size, const char *type)
{
	static const char *const needed[][2] = {
		{ "aria", "\"vision_config\": {\"image_size\": 980, \"patch_size\": 14}" },
		{ "autoformer", "\"prediction_length\": 24, \"d_model\": 256" }, // the class has no usual length
		{ "blip-2", "\"image_token_index\": 5" },
		{ "colmodernvbert", "\"vlm_config\": {\"pixel_shuffle_factor\": 7}" },
		{ "colqwen2", "\"vlm_config\": {\"vision_config\": {\"hidden_size\": 8192}}" },
		{ "cosmos3_omni", "\"vision_config\": {\"out_hidden_size\": 4096}" },
		{ "deta", "\"two_stage\": false" }, // without a class named it is the bare one, which has no proposals
		{ "esm", "\"vocab_size\": 33, \"pad_token_id\": 1" },
		{ "exaone4_5", "\"vision_config\": {\"out_hidden_size\": 4096}" },
		{ "gemma3", "\"mm_tokens_per_image\": 49" }, // 14 by 14 patches are not 256 tokens
		{ "glm4v_moe", "\"text_config\": {\"head_dim\": 128}" },
		{ "glm5_next", "\"vision_config\": {\"out_hidden_size\": 4096}" },
		{ "glm_ocr", "\"vision_config\": {\"out_hidden_size\": 1024}" },
		{ "idefics3", "\"scale_factor\": 7" }, // 7 by 7
		{ "informer", "\"prediction_length\": 24, \"d_model\": 256" },
		{ "instructblip", "\"image_token_index\": 5" },
		{ "instructblipvideo", "\"video_token_index\": 5" },
		{ "lightglue", "\"depth_confidence\": -1, \"width_confidence\": -1" },
		{ "llama4", "\"vision_config\": {\"hidden_size\": 1408, \"vision_output_dim\": 4096}" },
		{ "llama4_vision_model", "\"hidden_size\": 1408, \"vision_output_dim\": 4096" },
		{ "modernvbert", "\"pixel_shuffle_factor\": 7" },
		{ "nllb-moe", "\"encoder_sparse_step\": 0, \"decoder_sparse_step\": 0" }, // its dense layers are what is built
		{ "omdet-turbo",
			"\"apply_layernorm_after_vision_backbone\": false, \"backbone_config\": {\"model_type\": \"swin\", "
			"\"out_indices\": [2, 3, 4]}" },
		{ "patchtsmixer", "\"d_model\": 512" }, // 8 by default: some kB of weights
		{ "qwen2_5_vl", "\"vision_config\": {\"out_hidden_size\": 8192}" },
		{ "qwen2_vl", "\"vision_config\": {\"hidden_size\": 8192}" },
		{ "qwen3_5", "\"vision_config\": {\"out_hidden_size\": 4096}" },
		{ "qwen3_5_moe", "\"vision_config\": {\"out_hidden_size\": 2048}" },
		{ "qwen3_omni_moe_text", "\"head_dim\": 128" },
		{ "qwen3_omni_moe_thinker",
			"\"text_config\": {\"head_dim\": 128}, \"vision_config\": {\"out_hidden_size\": 2048}" },
		{ "qwen3_vl", "\"vision_config\": {\"out_hidden_size\": 4096}" },
		{ "qwen3_vl_moe", "\"vision_config\": {\"out_hidden_size\": 2048}" },
		{ "qwen4_exp_text",
			"\"indexer_n_heads\": 4, \"indexer_kv_heads\": 1, \"indexer_head_dim\": 256, \"indexer_budget\": 2048, "
			"\"indexer_compress_ratio\": 16" },
		{ "smolvlm", "\"scale_factor\": 7" },
		{ "time_series_transformer", "\"prediction_length\": 24, \"d_model\": 256" },
		{ "timm_backbone", "\"backbone\": \"resnet50\"" },
		{ "ultravbert", "\"pixel_shuffle_factor\": 7" },
		{ "voxtral", "\"audio_token_id\": 24" },
	};
	const char *more = NULL;

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!strcmp(type, needed[i][0]))
			more = needed[i][1];
	snprintf(out, size, "{\"model_type\": \"%s\"%s%s}", type, more ? ", " : "", more ? more : "");
}

#endif
