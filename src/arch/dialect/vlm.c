// SPDX-License-Identifier: Apache-2.0
// What checkpoints of vision-language models call what lies between their parts. Newer files have everything but the head
// after "model.".
#include "arch/dialect.h"

#define IMAGE_TOKEN KEYS({ "image_token", "image_token_index" }, { "image_token", "image_token_id" })

const struct dialect llava_names = {
	.name = "llava",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "@multi_modal_projector.projector_layernorm" },
		{ "projector.1", "@multi_modal_projector.linear_1" }, { "projector.2", "@multi_modal_projector.linear_2" },
		{ "newline", "@image_newline" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*rotary_emb.inv_freq"),
};

const struct dialect aya_vision_names = {
	.name = "aya-vision",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "@multi_modal_projector.layernorm" },
		{ "projector.1", "@multi_modal_projector.linear_1" }, { "projector.2", "@multi_modal_projector.linear_2" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*vision_tower.*head.*"),
};

const struct dialect deepseek_vl_names = {
	.name = "deepseek-vl",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS(
		{ "projector.1", "@aligner.linear1" }, { "projector.2", "@aligner.linear2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect paligemma_names = {
	.name = "paligemma",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "@multi_modal_projector.linear" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};
