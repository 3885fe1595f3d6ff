// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the vision transformer family call things.
#include "arch/block/uper.h"
#include "arch/dialect.h"

#define VIT_BODY \
	{ "embed.class", "@embeddings.cls_token" }, { "embed.distillation", "@embeddings.distillation_token" }, \
		{ "embed.registers", "@embeddings.register_tokens" }, \
		{ "embed.patch", "@embeddings.patch_embeddings.projection" }, \
		{ "embed.position", "@embeddings.position_embeddings" }, \
		{ "layers.attn.q", "@encoder.layer.#.attention.attention.query" }, \
		{ "layers.attn.k", "@encoder.layer.#.attention.attention.key" }, \
		{ "layers.attn.v", "@encoder.layer.#.attention.attention.value" }, \
		{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" }, { "norm", "@layernorm" }, \
	{ \
		"head.image", "classifier" \
	}

#define BEFORE_AND_AFTER \
	{ "layers.attn.norm", "@encoder.layer.#.layernorm_before" }, \
	{ \
		"layers.ffn.norm", "@encoder.layer.#.layernorm_after" \
	}

#define NORM_1_AND_2 \
	{ "layers.attn.norm", "@encoder.layer.#.norm1" }, \
	{ \
		"layers.ffn.norm", "@encoder.layer.#.norm2" \
	}

#define DENSE \
	{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" }, \
	{ \
		"layers.ffn.down", "@encoder.layer.#.output.dense" \
	}

#define MLP \
	{ "layers.ffn.up", "@encoder.layer.#.mlp.fc1" }, \
	{ \
		"layers.ffn.down", "@encoder.layer.#.mlp.fc2" \
	}

#define POOLED \
	{ "pooler", "@pooler.dense" }, \
	{ \
		"head.pixels", "decoder.0" \
	}

#define TEACHER \
	{ "head.image.class", "cls_classifier" }, \
	{ \
		"head.image.distillation", "distillation_classifier" \
	}

#define SCALED \
	{ "layers.ffn.gate_up", "@encoder.layer.#.mlp.weights_in" }, \
		{ "layers.ffn.gate_down", "@encoder.layer.#.mlp.weights_out" }, \
		{ "layers.attn.scale", "@encoder.layer.#.layer_scale1.lambda1" }, \
	{ \
		"layers.ffn.scale", "@encoder.layer.#.layer_scale2.lambda1" \
	}

// Of masks while training, and what a learned vector begins with; the names of a backbone's states.
#define MASKS "layerscale_value", "use_mask_token"
#define BACKBONE IGNORED(MASKS, "stage_names")

#define DIALECT(word, start, nothing, ...) \
	const struct dialect word##_names = { .name = #word, \
		.prefix = start, \
		.keys = NO_KEYS, \
		.weights = WEIGHTS(VIT_BODY, __VA_ARGS__), \
		.ignored = IGNORED( \
			"*embeddings.mask_token", "*.relative_position_index", "auxiliary_head.*", "*.num_batches_tracked"), \
		.inert = nothing }

DIALECT(vit, "vit.", BACKBONE, BEFORE_AND_AFTER, DENSE, POOLED);
DIALECT(flava_image, "flava.", IGNORED("vocab_size", "mask_token"), BEFORE_AND_AFTER, DENSE, POOLED);
DIALECT(flava_fusion, "flava.", IGNORED("model_type"), BEFORE_AND_AFTER, DENSE, POOLED, { "fusion.class", "@cls_token" });

// What compares a text with a picture, and the tokens that pictures are told as, are not built.
const struct dialect flava_names = {
	.name = "flava",
	.prefix = "flava.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "picture.projector", "@image_to_mm_projection" }, { "text.projector", "@text_to_mm_projection" }),
	.ignored = IGNORED("*image_projection.*", "*text_projection.*", "*logit_scale", "*_model.pooler.*", "image_codebook.*",
		"*embeddings.mask_token", "*embeddings.position_ids"),
	.inert = IGNORED("image_codebook_config", "projection_dim", "logit_scale_init_value", "hidden_size", "layer_norm_eps",
		"init_codebook", "*_weight", "ce_ignore_index", "global_backprop_contrastive", "return_loss",
		"skip_unmasked_multimodal_encoder", "initializer_factor"),
};

DIALECT(tvlt, "tvlt.", IGNORED("*_mask_ratio", "audio_mask_type", "decoder_*", "task_*", "loss_type"), BEFORE_AND_AFTER, DENSE,
	{ "tokens.class", "@cls_embedding" }, { "film", "@pixel_embeddings.patch_embeddings.projection" },
	{ "film.place", "@pixel_embeddings.pos_embed_v" }, { "film.group", "@pixel_embeddings.temporal_embed" },
	{ "film.kind", "@pixel_embeddings.type_embed_v" }, { "sound", "@audio_embeddings.patch_embeddings.projection" },
	{ "sound.place", "@audio_embeddings.freq_embed" }, { "sound.group", "@audio_embeddings.pos_embed_a" },
	{ "sound.kind", "@audio_embeddings.type_embed_a" }, { "head.1", "classifier.0" }, { "head.norm", "classifier.1" },
	{ "head.2", "classifier.3" });
DIALECT(vit_msn, "vit.", BACKBONE, BEFORE_AND_AFTER, DENSE);
DIALECT(deit, "deit.", BACKBONE, BEFORE_AND_AFTER, DENSE, POOLED, TEACHER);
DIALECT(ijepa, "ijepa.", BACKBONE, BEFORE_AND_AFTER, DENSE);
DIALECT(dinov2, "dinov2.", BACKBONE, NORM_1_AND_2, MLP, SCALED);
DIALECT(dinov2_with_registers, "dinov2_with_registers.", BACKBONE, NORM_1_AND_2, MLP, SCALED);
DIALECT(pixio, "pixio.", BACKBONE, NORM_1_AND_2, DENSE);
DIALECT(vitpose_backbone, "backbone.", IGNORED(MASKS, "stage_names", "part_features"), BEFORE_AND_AFTER, MLP);
DIALECT(yolos, "vit.",
	IGNORED("auxiliary_loss", "class_cost", "bbox_cost", "giou_cost", "bbox_loss_coefficient", "giou_loss_coefficient",
		"eos_coefficient"),
	BEFORE_AND_AFTER, DENSE, { "pooler", "@pooler.dense" }, { "embed.detection", "@embeddings.detection_tokens" },
	{ "layers.position", "@encoder.mid_position_embeddings" }, { "head.classes", "class_labels_classifier.layers.#" },
	{ "head.boxes", "bbox_predictor.layers.#" });

#define BEIT \
	{ "layers.attn.scale", "@encoder.layer.#.lambda_1" }, { "layers.ffn.scale", "@encoder.layer.#.lambda_2" }, \
		{ "layers.relative", \
			"@encoder.layer.#.attention.attention.relative_position_bias.relative_position_bias_table" }, \
		{ "relative", "@encoder.relative_position_bias.relative_position_bias_table" }, UPER_NAMES("bn"), \
		UPER_NEW_NAMES, { "fpn.1", "fpn1.0" }, { "fpn.1.norm", "fpn1.1" }, { "fpn.1.second", "fpn1.3" }, \
		{ "fpn.2", "fpn2.0" }, \
	{ \
		"pooler.norm", "@pooler.layernorm" \
	}

DIALECT(beit, "beit.",
	IGNORED("out_indices", "out_features", "stage_names", "reshape_hidden_states", "add_fpn", "pool_scales",
		"use_auxiliary_head", "auxiliary_loss_weight", "auxiliary_channels", "auxiliary_num_convs",
		"auxiliary_concat_input", "semantic_loss_ignore_index", "use_mask_token"),
	BEFORE_AND_AFTER, DENSE, BEIT);
DIALECT(data2vec_vision, "data2vec_vision.",
	IGNORED("out_indices", "out_features", "stage_names", "reshape_hidden_states", "add_fpn", "pool_scales",
		"use_auxiliary_head", "auxiliary_loss_weight", "auxiliary_channels", "auxiliary_num_convs",
		"auxiliary_concat_input", "semantic_loss_ignore_index", "use_mask_token"),
	BEFORE_AND_AFTER, DENSE, BEIT);
DIALECT(vivit, "vivit.", IGNORED(MASKS), BEFORE_AND_AFTER, DENSE, POOLED);
DIALECT(videomae, "videomae.",
	IGNORED(MASKS, "decoder_hidden_size", "decoder_intermediate_size", "decoder_num_attention_heads",
		"decoder_num_hidden_layers", "norm_pix_loss"),
	BEFORE_AND_AFTER, DENSE, { "head.norm", "fc_norm" },
	{ "layers.attn.q.loose", "@encoder.layer.#.attention.attention.q_bias" },
	{ "layers.attn.v.loose", "@encoder.layer.#.attention.attention.v_bias" });

const struct dialect internvl_vision_names = {
	.name = "internvl_vision",
	.prefix = "",
	.keys = KEYS({ "qkv_bias", "attention_bias" }),
	.weights = WEIGHTS({ "embed.class", "@embeddings.cls_token" }, { "embed.position", "@embeddings.position_embeddings" },
		{ "embed.patch", "@embeddings.patch_embeddings.projection" }, BEFORE_AND_AFTER, MLP,
		{ "layers.attn.q", "@encoder.layer.#.attention.q_proj" },
		{ "layers.attn.k", "@encoder.layer.#.attention.k_proj" },
		{ "layers.attn.v", "@encoder.layer.#.attention.v_proj" },
		{ "layers.attn.o", "@encoder.layer.#.attention.projection_layer" },
		{ "layers.attn.q_norm", "@encoder.layer.#.attention.q_norm" },
		{ "layers.attn.k_norm", "@encoder.layer.#.attention.k_norm" },
		{ "layers.attn.scale", "@encoder.layer.#.lambda_1" }, { "layers.ffn.scale", "@encoder.layer.#.lambda_2" },
		{ "norm", "@layernorm" }),
	.ignored = IGNORED("*embeddings.mask_token"),
	.inert = IGNORED("layer_scale_init_value", "use_mask_token"),
};

const struct dialect tipsv2_vision_names = {
	.name = "tipsv2-vision",
	.prefix = "vision_encoder.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.class", "@cls_token" }, { "embed.position", "@pos_embed" },
		{ "embed.patch", "@patch_embed.proj" }, { "embed.registers", "@register_tokens" },
		{ "layers.attn.norm", "@blocks.#.norm1" }, { "layers.attn.qkv", "@blocks.#.attn.qkv" },
		{ "layers.attn.o", "@blocks.#.attn.proj" }, { "layers.ffn.norm", "@blocks.#.norm2" },
		{ "layers.ffn.up", "@blocks.#.mlp.c_fc" }, { "layers.ffn.down", "@blocks.#.mlp.c_proj" },
		{ "layers.ffn.gate_up", "@blocks.#.mlp.w12" }, { "layers.ffn.gate_down", "@blocks.#.mlp.w3" },
		{ "layers.attn.scale", "@blocks.#.ls1.gamma" }, { "layers.ffn.scale", "@blocks.#.ls2.gamma" },
		{ "norm", "@norm" }),
	.ignored = IGNORED("*mask_token"),
	.inert = IGNORED("layerscale_value", "drop_path_rate", "stage_names"),
};

const struct dialect qianfan_ocr_vision_names = {
	.name = "qianfan-ocr-vision",
	.prefix = "",
	.keys = KEYS({ "qkv_bias", "attention_bias" }),
	.weights = WEIGHTS({ "embed.class", "@embeddings.class_embedding" },
		{ "embed.position", "@embeddings.position_embedding" }, { "embed.patch", "@embeddings.patch_embedding" },
		{ "layers.attn.norm", "@encoder.layers.#.norm1" }, { "layers.attn.qkv", "@encoder.layers.#.attn.qkv" },
		{ "layers.attn.o", "@encoder.layers.#.attn.proj" }, { "layers.attn.q_norm", "@encoder.layers.#.attn.q_norm" },
		{ "layers.attn.k_norm", "@encoder.layers.#.attn.k_norm" }, { "layers.ffn.norm", "@encoder.layers.#.norm2" },
		{ "layers.ffn.up", "@encoder.layers.#.mlp.fc1" }, { "layers.ffn.down", "@encoder.layers.#.mlp.fc2" },
		{ "layers.attn.scale", "@encoder.layers.#.ls1" }, { "layers.ffn.scale", "@encoder.layers.#.ls2" },
		// as transformers writes the tower alone
		{ "embed.class", "@embeddings.cls_token" }, { "embed.position", "@embeddings.position_embeddings" },
		{ "embed.patch", "@embeddings.patch_embeddings.projection" },
		{ "layers.attn.norm", "@layers.#.layernorm_before" }, { "layers.attn.q", "@layers.#.attention.q_proj" },
		{ "layers.attn.k", "@layers.#.attention.k_proj" }, { "layers.attn.v", "@layers.#.attention.v_proj" },
		{ "layers.attn.o", "@layers.#.attention.projection_layer" },
		{ "layers.attn.q_norm", "@layers.#.attention.q_norm" }, { "layers.attn.k_norm", "@layers.#.attention.k_norm" },
		{ "layers.ffn.norm", "@layers.#.layernorm_after" }, { "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }, { "layers.attn.scale", "@layers.#.lambda_1" },
		{ "layers.ffn.scale", "@layers.#.lambda_2" }, { "norm", "@layernorm" }),
	.ignored = IGNORED("*embeddings.mask_token"),
	.inert = IGNORED("layer_scale_init_value", "use_mask_token", "drop_path_rate"),
};

const struct dialect dinov3_vit_names = {
	.name = "dinov3_vit",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.class", "embeddings.cls_token" }, { "embed.registers", "embeddings.register_tokens" },
		{ "embed.patch", "embeddings.patch_embeddings" }, { "layers.attn.norm", "@layer.#.norm1" },
		{ "layers.attn.q", "@layer.#.attention.q_proj" }, { "layers.attn.k", "@layer.#.attention.k_proj" },
		{ "layers.attn.v", "@layer.#.attention.v_proj" }, { "layers.attn.o", "@layer.#.attention.o_proj" },
		{ "layers.attn.scale", "@layer.#.layer_scale1.lambda1" }, { "layers.ffn.norm", "@layer.#.norm2" },
		{ "layers.ffn.gate", "@layer.#.mlp.gate_proj" }, { "layers.ffn.up", "@layer.#.mlp.up_proj" },
		{ "layers.ffn.down", "@layer.#.mlp.down_proj" }, { "layers.ffn.scale", "@layer.#.layer_scale2.lambda1" },
		{ "norm", "norm" }),
	.ignored = IGNORED("embeddings.mask_token", "embeddings.register_tokens"),
	.inert = IGNORED("pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale", "layerscale_value", "stage_names"),
};

const struct dialect lw_detr_vit_names = {
	.name = "lw-detr-vit",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "embeddings.projection" }, { "embed.position", "embeddings.position_embeddings" },
		{ "layers.attn.norm", "encoder.layer.#.layernorm_before" },
		{ "layers.attn.q", "encoder.layer.#.attention.q_proj" }, { "layers.attn.k", "encoder.layer.#.attention.k_proj" },
		{ "layers.attn.v", "encoder.layer.#.attention.v_proj" }, { "layers.attn.o", "encoder.layer.#.attention.o_proj" },
		{ "layers.attn.scale", "encoder.layer.#.gamma_1" }, { "layers.ffn.norm", "encoder.layer.#.layernorm_after" },
		{ "layers.ffn.up", "encoder.layer.#.intermediate.fc1" },
		{ "layers.ffn.down", "encoder.layer.#.intermediate.fc2" }, { "layers.ffn.scale", "encoder.layer.#.gamma_2" }),
	.inert = IGNORED("is_encoder_decoder", "cae_init_values", "dropout_prob", "stage_names"),
};

const struct dialect rf_detr_dinov2_names = {
	.name = "rf-detr-dinov2",
	.prefix = "",
	.keys = KEYS({ "window_block_indices", "window_block_indexes" }),
	.weights = WEIGHTS({ "embed.patch", "embeddings.patch_embeddings.projection" },
		{ "embed.position", "embeddings.position_embeddings" }, { "embed.class", "embeddings.cls_token" },
		{ "layers.attn.norm", "encoder.layer.#.norm1" }, { "layers.attn.q", "encoder.layer.#.attention.q_proj" },
		{ "layers.attn.k", "encoder.layer.#.attention.k_proj" }, { "layers.attn.v", "encoder.layer.#.attention.v_proj" },
		{ "layers.attn.o", "encoder.layer.#.attention.o_proj" },
		{ "layers.attn.q", "encoder.layer.#.attention.attention.query" },
		{ "layers.attn.k", "encoder.layer.#.attention.attention.key" },
		{ "layers.attn.v", "encoder.layer.#.attention.attention.value" },
		{ "layers.attn.o", "encoder.layer.#.attention.output.dense" },
		{ "layers.attn.scale", "encoder.layer.#.layer_scale1.lambda1" }, { "layers.ffn.norm", "encoder.layer.#.norm2" },
		{ "layers.ffn.gate", "encoder.layer.#.mlp.gate_proj" }, { "layers.ffn.up", "encoder.layer.#.mlp.fc1" },
		{ "layers.ffn.up", "encoder.layer.#.mlp.up_proj" }, { "layers.ffn.down", "encoder.layer.#.mlp.fc2" },
		{ "layers.ffn.down", "encoder.layer.#.mlp.down_proj" },
		{ "layers.ffn.scale", "encoder.layer.#.layer_scale2.lambda1" }, { "norm", "layernorm" }),
	.ignored = IGNORED("embeddings.mask_token", "layernorm.*"),
	.inert = IGNORED("is_encoder_decoder", "layerscale_value", "use_mask_token", "stage_names", "num_register_tokens"),
};

#define EOMT_REST \
	{ "queries", "query" }, { "masks.1", "mask_head.fc1" }, { "masks.2", "mask_head.fc2" }, { "masks.3", "mask_head.fc3" }, \
		{ "masks.share", "attn_mask_probs" }, { "scale", "upscale_block.block.#.conv1" }, \
		{ "scale.depth", "upscale_block.block.#.conv2" }, { "scale.norm", "upscale_block.block.#.layernorm2d" }, \
		{ "head.classes", "class_predictor" }, { "embed.class", "embeddings.cls_token" }, \
		{ "embed.registers", "embeddings.register_tokens" }, { "layers.attn.norm", "layers.#.norm1" }, \
		{ "layers.attn.q", "layers.#.attention.q_proj" }, { "layers.attn.k", "layers.#.attention.k_proj" }, \
		{ "layers.attn.v", "layers.#.attention.v_proj" }, { "layers.attn.scale", "layers.#.layer_scale1.lambda1" }, \
		{ "layers.ffn.norm", "layers.#.norm2" }, { "layers.ffn.scale", "layers.#.layer_scale2.lambda1" }, \
	{ \
		"norm", "layernorm" \
	}
#define EOMT_INERT \
	"is_encoder_decoder", "no_object_weight", "class_weight", "mask_weight", "dice_weight", "train_num_points", \
		"oversample_ratio", "importance_sample_ratio", "layerscale_value"

const struct dialect eomt_names = {
	.name = "eomt",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(EOMT_REST, { "embed.patch", "embeddings.patch_embeddings.projection" },
		{ "embed.position", "embeddings.position_embeddings" }, { "layers.attn.o", "layers.#.attention.out_proj" },
		{ "layers.ffn.gate", "layers.#.mlp.gate_proj" }, { "layers.ffn.up", "layers.#.mlp.fc1" },
		{ "layers.ffn.up", "layers.#.mlp.up_proj" }, { "layers.ffn.down", "layers.#.mlp.fc2" },
		{ "layers.ffn.down", "layers.#.mlp.down_proj" }),
	.ignored = IGNORED("criterion.*", "embeddings.register_tokens"),
	.inert = IGNORED(EOMT_INERT),
};

const struct dialect videomt_names = {
	.name = "videomt",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(EOMT_REST, { "queries.next", "query_updater" },
		{ "embed.patch", "embeddings.patch_embeddings.projection" },
		{ "embed.position", "embeddings.position_embeddings" }, { "layers.attn.o", "layers.#.attention.out_proj" },
		{ "layers.ffn.gate", "layers.#.mlp.gate_proj" }, { "layers.ffn.up", "layers.#.mlp.fc1" },
		{ "layers.ffn.up", "layers.#.mlp.up_proj" }, { "layers.ffn.down", "layers.#.mlp.fc2" },
		{ "layers.ffn.down", "layers.#.mlp.down_proj" }),
	.ignored = IGNORED("criterion.*", "embeddings.register_tokens", "embeddings.mask_token", "attn_mask_probs"),
	.inert = IGNORED(EOMT_INERT),
};

const struct dialect eomt_dinov3_names = {
	.name = "eomt-dinov3",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(EOMT_REST, { "embed.patch", "embeddings.patch_embeddings" },
		{ "layers.attn.o", "layers.#.attention.o_proj" }, { "layers.ffn.gate", "layers.#.mlp.gate_proj" },
		{ "layers.ffn.up", "layers.#.mlp.up_proj" }, { "layers.ffn.down", "layers.#.mlp.down_proj" }),
	.ignored = IGNORED("criterion.*", "embeddings.mask_token", "embeddings.register_tokens"),
	.inert = IGNORED(EOMT_INERT, "pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale"),
};

DIALECT(timesformer, "timesformer.", IGNORED(MASKS), BEFORE_AND_AFTER, DENSE, { "embed.time", "@embeddings.time_embeddings" },
	{ "layers.attn.qkv", "@encoder.layer.#.attention.attention.qkv" },
	{ "layers.time.norm", "@encoder.layer.#.temporal_layernorm" },
	{ "layers.time.qkv", "@encoder.layer.#.temporal_attention.attention.qkv" },
	{ "layers.time.o", "@encoder.layer.#.temporal_attention.output.dense" },
	{ "layers.time.dense", "@encoder.layer.#.temporal_dense" });

DIALECT(vit_hybrid, "vit.", IGNORED("use_pretrained_backbone", "backbone_kwargs"), BEFORE_AND_AFTER, DENSE, POOLED);
DIALECT(vit_mae, "vit.", IGNORED("norm_pix_loss"), BEFORE_AND_AFTER, DENSE, { "decoder.embed", "decoder.decoder_embed" },
	{ "decoder.mask", "decoder.mask_token" }, { "decoder.position", "decoder.decoder_pos_embed" },
	{ "decoder.norm", "decoder.decoder_norm" }, { "decoder.pixels", "decoder.decoder_pred" });

const struct dialect radio_names = {
	.name = "radio",
	.prefix = "radio_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.mean", "@input_conditioner.norm_mean" }, { "embed.deviation", "@input_conditioner.norm_std" },
		{ "embed.patch", "@model.patch_generator.embedder" }, { "embed.position", "@model.patch_generator.pos_embed" },
		{ "embed.special", "@model.patch_generator.cls_token.token" }, { "layers.attn.norm", "@model.blocks.#.norm1" },
		{ "layers.attn.qkv", "@model.blocks.#.attn.qkv" }, { "layers.attn.o", "@model.blocks.#.attn.proj" },
		{ "layers.attn.scale", "@model.blocks.#.layer_scale1.lambda1" }, { "layers.ffn.norm", "@model.blocks.#.norm2" },
		{ "layers.ffn.up", "@model.blocks.#.mlp.fc1" }, { "layers.ffn.down", "@model.blocks.#.mlp.fc2" },
		{ "layers.ffn.gate", "@model.blocks.#.mlp.gate_proj" }, { "layers.ffn.up", "@model.blocks.#.mlp.up_proj" },
		{ "layers.ffn.down", "@model.blocks.#.mlp.down_proj" },
		{ "layers.ffn.scale", "@model.blocks.#.layer_scale2.lambda1" }),
	.ignored = IGNORED("*summary_idxs", "*patch_generator.video_embedder.*"),
	// The numbers that pixels are normed by lie among the weights; of videos.
	.inert =
		IGNORED("norm_mean", "norm_std", "layerscale_value", "patch_dim", "video_patch_dim", "video_temporal_patch_size"),
};

const struct dialect vitpose_names = {
	.name = "vitpose",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.up.1", "head.deconv1" }, { "head.up.1.norm", "head.batchnorm1" },
		{ "head.up.2", "head.deconv2" }, { "head.up.2.norm", "head.batchnorm2" }, { "head.joints", "head.conv" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs"),
};

const struct dialect vitdet_names = {
	.name = "vitdet",
	.prefix = "",
	.keys = KEYS({ "relative_positions", "use_relative_position_embeddings" },
		{ "learned_positions", "use_absolute_position_embeddings" }),
	.weights = WEIGHTS({ "embed.patch", "embeddings.projection" }, { "embed.position", "embeddings.position_embeddings" },
		{ "layers.attn.norm", "encoder.layer.#.norm1" }, { "layers.attn.qkv", "encoder.layer.#.attention.qkv" },
		{ "layers.attn.o", "encoder.layer.#.attention.proj" }, { "layers.rows", "encoder.layer.#.attention.rel_pos_h" },
		{ "layers.cols", "encoder.layer.#.attention.rel_pos_w" }, { "layers.ffn.norm", "encoder.layer.#.norm2" },
		{ "layers.ffn.up", "encoder.layer.#.mlp.fc1" }, { "layers.ffn.down", "encoder.layer.#.mlp.fc2" },
		{ "layers.block.1", "encoder.layer.#.residual.conv1" },
		{ "layers.block.1.norm", "encoder.layer.#.residual.norm1" },
		{ "layers.block.2", "encoder.layer.#.residual.conv2" },
		{ "layers.block.2.norm", "encoder.layer.#.residual.norm2" },
		{ "layers.block.3", "encoder.layer.#.residual.conv3" },
		{ "layers.block.3.norm", "encoder.layer.#.residual.norm3" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("stage_names", "is_encoder_decoder", "dropout_prob"),
};

const struct dialect sam_vision_names = {
	.name = "sam-vision",
	.prefix = "vision_encoder.",
	.keys = KEYS({ "relative_positions", "use_rel_pos" }, { "learned_positions", "use_abs_pos" },
		{ "intermediate_size", "mlp_dim" }),
	.weights = WEIGHTS({ "embed.patch", "@patch_embed.projection" }, { "embed.position", "@pos_embed" },
		{ "layers.attn.norm", "@layers.#.layer_norm1" }, { "layers.attn.qkv", "@layers.#.attn.qkv" },
		{ "layers.attn.o", "@layers.#.attn.proj" }, { "layers.rows", "@layers.#.attn.rel_pos_h" },
		{ "layers.cols", "@layers.#.attn.rel_pos_w" }, { "layers.ffn.norm", "@layers.#.layer_norm2" },
		{ "layers.ffn.up", "@layers.#.mlp.lin1" }, { "layers.ffn.down", "@layers.#.mlp.lin2" },
		{ "neck.1", "@neck.conv1" }, { "neck.1.norm", "@neck.layer_norm1" }, { "neck.2", "@neck.conv2" },
		{ "neck.2.norm", "@neck.layer_norm2" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("num_pos_feats", "scale", "is_encoder_decoder", "mlp_ratio"),
};

const struct dialect vitmatte_names = {
	.name = "vitmatte",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "detail", "decoder.convstream.convs.#.conv" },
		{ "detail.norm", "decoder.convstream.convs.#.batch_norm" }, { "fused", "decoder.fusion_blocks.#.conv.conv" },
		{ "fused.norm", "decoder.fusion_blocks.#.conv.batch_norm" }, { "head.1", "decoder.matting_head.matting_convs.0" },
		{ "head.1.norm", "decoder.matting_head.matting_convs.1" }, { "head.2", "decoder.matting_head.matting_convs.3" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs"),
};

#define VJEPA2_POOLER(stem, file) \
	{ stem ".norm", file "layer_norm1" }, { stem ".ffn.norm", file "layer_norm2" }, { stem ".ffn.up", file "mlp.fc1" }, \
	{ \
		stem ".ffn.down", file "mlp.fc2" \
	}

const struct dialect vjepa2_names = {
	.name = "vjepa2",
	.prefix = "vjepa2.",
	.keys = KEYS({ "image_size", "crop_size" }, { "num_channels", "in_chans" }),
	.weights = WEIGHTS({ "embed.patch", "@encoder.embeddings.patch_embeddings.proj" },
		{ "layers.attn.norm", "@encoder.layer.#.norm1" }, { "layers.attn.q", "@encoder.layer.#.attention.query" },
		{ "layers.attn.k", "@encoder.layer.#.attention.key" }, { "layers.attn.v", "@encoder.layer.#.attention.value" },
		{ "layers.attn.o", "@encoder.layer.#.attention.proj" }, { "layers.ffn.norm", "@encoder.layer.#.norm2" },
		{ "layers.ffn.up", "@encoder.layer.#.mlp.fc1" }, { "layers.ffn.down", "@encoder.layer.#.mlp.fc2" },
		{ "norm", "@encoder.layernorm" }, { "pooler.query", "pooler.query_tokens" },
		VJEPA2_POOLER("pooler.self", "pooler.self_attention_layers.#."),
		{ "pooler.self.q", "pooler.self_attention_layers.#.self_attn.q_proj" },
		{ "pooler.self.k", "pooler.self_attention_layers.#.self_attn.k_proj" },
		{ "pooler.self.v", "pooler.self_attention_layers.#.self_attn.v_proj" },
		{ "pooler.self.o", "pooler.self_attention_layers.#.self_attn.out_proj" },
		VJEPA2_POOLER("pooler.cross", "pooler.cross_attention_layer."),
		{ "pooler.cross.q", "pooler.cross_attention_layer.cross_attn.q_proj" },
		{ "pooler.cross.k", "pooler.cross_attention_layer.cross_attn.k_proj" },
		{ "pooler.cross.v", "pooler.cross_attention_layer.cross_attn.v_proj" }, { "head.image", "classifier" }),
	.ignored = IGNORED("*predictor.*"),
	.inert = IGNORED("pred_*", "num_pooler_layers"),
};

const struct dialect seggpt_names = {
	.name = "seggpt",
	.prefix = "model.",
	.keys = KEYS({ "intermediate_size", "mlp_dim" }),
	.weights = WEIGHTS({ "embed.patch", "@embeddings.patch_embeddings.projection" },
		{ "embed.position", "@embeddings.position_embeddings" }, { "embed.mask", "@embeddings.mask_token" },
		{ "embed.input", "@embeddings.segment_token_input" }, { "embed.prompt", "@embeddings.segment_token_prompt" },
		{ "embed.kind", "@embeddings.type_token_instance" }, { "layers.attn.norm", "@encoder.layers.#.layernorm_before" },
		{ "layers.attn.qkv", "@encoder.layers.#.attention.qkv" }, { "layers.attn.o", "@encoder.layers.#.attention.proj" },
		{ "layers.rows", "@encoder.layers.#.attention.rel_pos_h" },
		{ "layers.cols", "@encoder.layers.#.attention.rel_pos_w" },
		{ "layers.ffn.norm", "@encoder.layers.#.layernorm_after" }, { "layers.ffn.up", "@encoder.layers.#.mlp.lin1" },
		{ "layers.ffn.down", "@encoder.layers.#.mlp.lin2" }, { "norm", "@encoder.layernorm" },
		{ "head.pixels", "decoder.decoder_embed" }, { "head.conv", "decoder.decoder_pred.conv" },
		{ "head.norm", "decoder.decoder_pred.layernorm" }, { "head.out", "decoder.decoder_pred.head" }),
	.ignored = IGNORED("*type_token_semantic", "*encoder.layernorm.*"),
	.inert = IGNORED("beta", "decoder_hidden_size", "intermediate_hidden_state_indices"),
};

const struct dialect mgp_str_names = {
	.name = "mgp-str",
	.prefix = "mgp_str.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.class", "@embeddings.cls_token" }, { "embed.patch", "@embeddings.proj" },
		{ "embed.position", "@embeddings.pos_embed" }, { "layers.attn.norm", "@encoder.blocks.#.norm1" },
		{ "layers.attn.qkv", "@encoder.blocks.#.attn.qkv" }, { "layers.attn.o", "@encoder.blocks.#.attn.proj" },
		{ "layers.ffn.norm", "@encoder.blocks.#.norm2" }, { "layers.ffn.up", "@encoder.blocks.#.mlp.fc1" },
		{ "layers.ffn.down", "@encoder.blocks.#.mlp.fc2" }, { "choice.norm", "$_a3_module.token_norm" },
		{ "choice.0", "$_a3_module.tokenLearner.0" }, { "choice.1", "$_a3_module.tokenLearner.1" },
		{ "choice.value", "$_a3_module.feat" }, { "choice.out.norm", "$_a3_module.norm" }, { "head.words", "$_head" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("output_a3_attentions", "drop_rate", "attn_drop_rate", "max_token_length", "num_character_labels",
		"num_bpe_labels", "num_wordpiece_labels"),
};

#define TVP_LAYER "@encoder.layer.#."
const struct dialect tvp_names = {
	.name = "tvp",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "frame.up", "@visual_prompter.pad_up" }, { "frame.down", "@visual_prompter.pad_down" },
		{ "frame.left", "@visual_prompter.pad_left" }, { "frame.right", "@visual_prompter.pad_right" },
		{ "grid", "@vision_model.grid_encoder_conv" }, { "grid.rows", "@visual_embeddings.row_position_embeddings" },
		{ "grid.columns", "@visual_embeddings.col_position_embeddings" },
		{ "grid.type", "@visual_embeddings.token_type_embeddings" }, { "grid.norm", "@visual_embeddings.layer_norm" },
		{ "embed.word", "@embeddings.word_embeddings" }, { "embed.position", "@embeddings.position_embeddings" },
		{ "embed.type", "@embeddings.token_type_embeddings" }, { "embed.norm", "@embeddings.layer_norm" },
		{ "prompt", "@text_prompt" }, { "layers.attn.q", TVP_LAYER "attention.query" },
		{ "layers.attn.k", TVP_LAYER "attention.key" }, { "layers.attn.v", TVP_LAYER "attention.value" },
		{ "layers.attn.o", TVP_LAYER "attention.dense" }, { "layers.attn.norm", TVP_LAYER "attention.layer_norm" },
		{ "layers.ffn.up", TVP_LAYER "intermediate.dense" }, { "layers.ffn.down", TVP_LAYER "output.dense" },
		{ "layers.ffn.norm", TVP_LAYER "output.layer_norm" }, { "pooler", "@pooler.dense" },
		{ "head.when.1", "video_grounding_head.layer_0" }, { "head.when.2", "video_grounding_head.layer_1" }),
	// The grid has positions by row and column, and not by place.
	.ignored = IGNORED("*visual_embeddings.position_embeddings.weight", "*visual_prompter.*", "*.num_batches_tracked",
		"*embeddings.position_ids"),
	.inert =
		IGNORED("is_encoder_decoder", "use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs", "*_loss_weight"),
};

const struct dialect slanext_names = {
	.name = "slanext",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "memory", "backbone.post_conv" }, { "look.memory", "head.structure_attention_cell.input_to_hidden" },
		{ "look.state", "head.structure_attention_cell.hidden_to_hidden" },
		{ "look.score", "head.structure_attention_cell.score" }, { "cell", "head.structure_attention_cell.rnn" },
		{ "words.1", "head.structure_generator.fc1" }, { "words.2", "head.structure_generator.fc2" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("is_encoder_decoder"),
};
