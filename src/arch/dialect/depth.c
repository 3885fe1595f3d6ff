// SPDX-License-Identifier: Apache-2.0
// What checkpoints of models that tell depth call things.
#include "arch/dialect.h"

#define FUSION "neck.fusion_stage.layers.#."
#define NECK \
	{ "neck.project", "neck.reassemble_stage.layers.#.projection" }, \
		{ "neck.resize", "neck.reassemble_stage.layers.#.resize" }, { "neck.conv", "neck.convs.#" }, \
		{ "neck.first.1", FUSION "residual_layer1.convolution1" }, \
		{ "neck.first.2", FUSION "residual_layer1.convolution2" }, \
		{ "neck.second.1", FUSION "residual_layer2.convolution1" }, \
		{ "neck.second.2", FUSION "residual_layer2.convolution2" }, \
	{ \
		"neck.fused", FUSION "projection" \
	}

// The first residual layer of the first fusion has nothing to add.
#define UNUSED_RESIDUAL "neck.fusion_stage.layers.0.residual_layer1.*"

const struct dialect dpt_names = {
	.name = "dpt",
	.prefix = "dpt.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(NECK, { "neck.first.1.norm", FUSION "residual_layer1.batch_norm1" },
		{ "neck.first.2.norm", FUSION "residual_layer1.batch_norm2" },
		{ "neck.second.1.norm", FUSION "residual_layer2.batch_norm1" },
		{ "neck.second.2.norm", FUSION "residual_layer2.batch_norm2" },
		{ "neck.readout", "neck.reassemble_stage.readout_projects.#.0" }, { "embed.class", "@embeddings.cls_token" },
		{ "embed.patch", "@embeddings.patch_embeddings.projection" }, { "embed.patch", "@embeddings.projection" },
		{ "embed.position", "@embeddings.position_embeddings" },
		{ "layers.attn.norm", "@encoder.layer.#.layernorm_before" },
		{ "layers.attn.q", "@encoder.layer.#.attention.attention.query" },
		{ "layers.attn.k", "@encoder.layer.#.attention.attention.key" },
		{ "layers.attn.v", "@encoder.layer.#.attention.attention.value" },
		{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.layernorm_after" },
		{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" }, { "norm", "@layernorm" }, { "pooler", "@pooler.dense" },
		{ "head.project", "head.projection" }, { "head.depth.1", "head.head.0" }, { "head.depth.2", "head.head.2" },
		{ "head.depth.3", "head.head.4" }, { "head.classes.1", "head.head.0" }, { "head.classes.norm", "head.head.1" },
		{ "head.classes.2", "head.head.4" }),
	// Heads read states before the last norm; of training: the auxiliary head.
	.ignored = IGNORED(
		UNUSED_RESIDUAL, "auxiliary_head.*", "*.num_batches_tracked", "dpt.layernorm.*", "dpt.pooler.*", "layernorm.*"),
	.inert = IGNORED("backbone_featmap_shape", "neck_ignore_stages", "use_auxiliary_head", "auxiliary_loss_weight",
		"semantic_loss_ignore_index", "semantic_classifier_dropout", "use_timm_backbone", "use_pretrained_backbone",
		"backbone_kwargs", "backbone_out_indices", "backbone_config", "stage_names"),
};

const struct dialect zoedepth_names = {
	.name = "zoedepth",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(NECK, { "neck.first.1.norm", FUSION "residual_layer1.batch_norm1" },
		{ "neck.first.2.norm", FUSION "residual_layer1.batch_norm2" },
		{ "neck.second.1.norm", FUSION "residual_layer2.batch_norm1" },
		{ "neck.second.2.norm", FUSION "residual_layer2.batch_norm2" },
		{ "neck.readout", "neck.reassemble_stage.readout_projects.#.0" }, { "head.project", "relative_head.projection" },
		{ "head.depth.1", "relative_head.conv1" }, { "head.depth.2", "relative_head.conv2" },
		{ "head.depth.3", "relative_head.conv3" }, { "metric.conv", "metric_head.conv2" },
		{ "metric.seed.1", "metric_head.seed_bin_regressor.conv1" },
		{ "metric.seed.2", "metric_head.seed_bin_regressor.conv2" },
		{ "metric.seed.embed.1", "metric_head.seed_projector.conv1" },
		{ "metric.seed.embed.2", "metric_head.seed_projector.conv2" },
		{ "metric.embed.1", "metric_head.projectors.#.conv1" }, { "metric.embed.2", "metric_head.projectors.#.conv2" },
		{ "metric.attract.1", "metric_head.attractors.#.conv1" },
		{ "metric.attract.2", "metric_head.attractors.#.conv2" },
		{ "metric.shares.1", "metric_head.conditional_log_binomial.mlp.0" },
		{ "metric.shares.2", "metric_head.conditional_log_binomial.mlp.2" }),
	.ignored = IGNORED(UNUSED_RESIDUAL, "*.num_batches_tracked"),
	// The strengths of attractors are fixed in the class, as are the limits of depth without norms.
	.inert = IGNORED("attractor_alpha", "attractor_gamma", "backbone_hidden_size", "batch_norm_eps", "patch_transformer_*",
		"num_patch_transformer_layers"),
};

#define DEPTH_ANYTHING(word, nothing, ...) \
	const struct dialect word##_names = { \
		.name = #word, \
		.prefix = "", \
		.keys = NO_KEYS, \
		.weights = WEIGHTS(NECK, { "head.depth.1", "head.conv1" }, { "head.depth.2", "head.conv2" }, \
			{ "head.depth.3", "head.conv3" }, __VA_ARGS__), \
		.ignored = IGNORED(UNUSED_RESIDUAL), \
		.inert = nothing, \
	}

DEPTH_ANYTHING(depth_anything, IGNORED("use_pretrained_backbone", "backbone_kwargs"), { NULL, NULL });
DEPTH_ANYTHING(prompt_depth_anything, IGNORED("use_pretrained_backbone", "backbone_kwargs", "max_depth"),
	{ "neck.prompt.1", FUSION "prompt_depth_layer.convolution1" },
	{ "neck.prompt.2", FUSION "prompt_depth_layer.convolution2" },
	{ "neck.prompt.3", FUSION "prompt_depth_layer.convolution3" });

#define CHMV2_FUSION "head.fusion_layers.#."
const struct dialect chmv2_names = {
	.name = "chmv2",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "neck.project", "head.reassemble_stage.layers.#.projection" },
		{ "neck.resize", "head.reassemble_stage.layers.#.resize" },
		{ "neck.readout", "head.reassemble_stage.readout_projects.#.0" }, { "neck.conv", "head.convs.#" },
		{ "neck.first.1", CHMV2_FUSION "residual_layer1.convolution1" },
		{ "neck.first.2", CHMV2_FUSION "residual_layer1.convolution2" },
		{ "neck.second.1", CHMV2_FUSION "residual_layer2.convolution1" },
		{ "neck.second.2", CHMV2_FUSION "residual_layer2.convolution2" }, { "neck.fused", CHMV2_FUSION "projection" },
		{ "head.depth.1", "head.conv_depth.head.0" }, { "head.depth.2", "head.conv_depth.head.2" },
		{ "head.depth.3", "head.conv_depth.head.4" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("backbone_config", "patch_size"),
};

#define TIPSV2_FUSION "$_head.fusion_blocks.#."
const struct dialect tipsv2_dpt_names = {
	.name = "tipsv2-dpt",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "neck.project", "$_head.reassemble.out_projections.#" },
		{ "neck.resize", "$_head.reassemble.resize_layers.#" },
		{ "neck.readout", "$_head.reassemble.readout_projects.#" }, { "neck.conv", "$_head.convs.#" },
		{ "neck.first.1", TIPSV2_FUSION "residual_unit.conv1" }, { "neck.first.2", TIPSV2_FUSION "residual_unit.conv2" },
		{ "neck.second.1", TIPSV2_FUSION "main_unit.conv1" }, { "neck.second.2", TIPSV2_FUSION "main_unit.conv2" },
		{ "neck.fused", TIPSV2_FUSION "out_conv" }, { "head.project", "$_head.project" },
		{ "head.out", "$_head.$_head" }),
	.ignored = IGNORED("*_head.*", "vision_encoder.norm.*"),
	.inert = IGNORED("backbone_config", "semantic_loss_ignore_index", "num_depth_bins", "min_depth", "max_depth",
		"depth_decoder_activation"),
};

#define DEPTH_PRO_FUSION "fusion_stage.$."
#define DEPTH_PRO_NECK "@neck.feature_upsample."
const struct dialect depth_pro_names = {
	.name = "depth-pro",
	.prefix = "depth_pro.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "whole", DEPTH_PRO_NECK "image_block.layers.0" },
		{ "size", DEPTH_PRO_NECK "scaled_images.#.layers.#" }, { "hook", DEPTH_PRO_NECK "intermediate.#.layers.#" },
		{ "joined", "@neck.fuse_image_with_low_res" }, { "neck.conv", "@neck.feature_projection.projections.#" },
		{ "neck.first.1", DEPTH_PRO_FUSION "residual_layer1.convolution1" },
		{ "neck.first.2", DEPTH_PRO_FUSION "residual_layer1.convolution2" },
		{ "neck.second.1", DEPTH_PRO_FUSION "residual_layer2.convolution1" },
		{ "neck.second.2", DEPTH_PRO_FUSION "residual_layer2.convolution2" },
		{ "neck.first.1.norm", DEPTH_PRO_FUSION "residual_layer1.batch_norm1" },
		{ "neck.first.2.norm", DEPTH_PRO_FUSION "residual_layer1.batch_norm2" },
		{ "neck.second.1.norm", DEPTH_PRO_FUSION "residual_layer2.batch_norm1" },
		{ "neck.second.2.norm", DEPTH_PRO_FUSION "residual_layer2.batch_norm2" },
		{ "neck.doubled", DEPTH_PRO_FUSION "deconv" }, { "neck.fused", DEPTH_PRO_FUSION "projection" },
		{ "head.1", "head.layers.0" }, { "head.2", "head.layers.1" }, { "head.3", "head.layers.2" },
		{ "head.4", "head.layers.4" }, { "view.in", "fov_model.fov_encoder.neck" }, { "view.first", "fov_model.conv" },
		{ "view.head", "fov_model.head.layers.#" }),
	// The first sum has nothing to add.
	.ignored = IGNORED("fusion_stage.intermediate.0.residual_layer1.*", "*.num_batches_tracked", "*.mask_token"),
	.inert = NULL,
};
