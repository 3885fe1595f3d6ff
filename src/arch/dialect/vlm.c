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
	.inert = IGNORED("is_encoder_decoder", "image_seq_length", "ignore_index", "use_image_newline_parameter",
		"spatial_pool_mode", "spatial_pool_stride", "video_token_index", "video_token_id", "video_seq_length"),
};

const struct dialect aya_vision_names = {
	.name = "aya-vision",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "@multi_modal_projector.layernorm" },
		{ "projector.1", "@multi_modal_projector.linear_1" }, { "projector.2", "@multi_modal_projector.linear_2" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*vision_tower.*head.*"),
	.inert = IGNORED("is_encoder_decoder", "image_seq_length", "ignore_index"),
};

const struct dialect deepseek_vl_names = {
	.name = "deepseek-vl",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS(
		{ "projector.1", "@aligner.linear1" }, { "projector.2", "@aligner.linear2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("is_encoder_decoder", "image_seq_length", "ignore_index"),
};

const struct dialect paligemma_names = {
	.name = "paligemma",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "@multi_modal_projector.linear" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("is_encoder_decoder", "image_seq_length", "ignore_index", "hidden_size", "vocab_size", "projection_dim",
		"num_hidden_layers"),
};

const struct dialect gemma3_names = {
	.name = "gemma3",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "@multi_modal_projector.mm_input_projection_weight" },
		{ "projector.norm", "@multi_modal_projector.mm_soft_emb_norm" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*vision_tower.*head.*"),
	.inert = IGNORED("is_encoder_decoder", "boi_token_index", "eoi_token_index", "boi_token_id", "eoi_token_id"),
};

const struct dialect idefics3_names = {
	.name = "idefics3",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "@connector.modality_projection.proj" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("is_encoder_decoder", "pad_token_id"),
};

const struct dialect internvl_names = {
	.name = "internvl",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "@multi_modal_projector.layer_norm" },
		{ "projector.1", "@multi_modal_projector.linear_1" }, { "projector.2", "@multi_modal_projector.linear_2" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.mask_token"),
	.inert = IGNORED("is_encoder_decoder", "image_seq_length"),
};
