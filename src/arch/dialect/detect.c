// SPDX-License-Identifier: Apache-2.0
// What checkpoints of detection transformers call things.
#include "arch/dialect.h"

// Costs and losses of training, what a backbone begins with; counts that the class has under other names.
#define OF_TRAINING \
	"use_pretrained_backbone", "num_hidden_layers", "max_position_embeddings", "scale_embedding", "normalize_before", \
		"is_encoder_decoder", "init_xavier_std", "class_cost", "bbox_cost", "giou_cost", "mask_loss_coefficient", \
		"dice_loss_coefficient", "bbox_loss_coefficient", "giou_loss_coefficient", "cls_loss_coefficient", \
		"eos_coefficient", "focal_alpha"

#define ATTENTION(canonical, file) \
	{ canonical ".q", file ".q_proj" }, { canonical ".k", file ".k_proj" }, { canonical ".v", file ".v_proj" }, \
	{ \
		canonical ".o", file ".out_proj" \
	}

#define DETR_BODY \
	{ "project", "@input_projection" }, { "queries", "@query_position_embeddings" }, \
		{ "positions.row", "@position_embedding.row_embeddings" }, \
		{ "positions.column", "@position_embedding.column_embeddings" }, \
		{ "positions.row.old", "@backbone.position_embedding.row_embeddings" }, \
		{ "positions.column.old", "@backbone.position_embedding.column_embeddings" }, \
		ATTENTION("encoder.attn", "@encoder.layers.#.self_attn"), \
		{ "encoder.attn.norm", "@encoder.layers.#.self_attn_layer_norm" }, \
		{ "encoder.ffn.up", "@encoder.layers.#.fc1" }, { "encoder.ffn.down", "@encoder.layers.#.fc2" }, \
		{ "encoder.ffn.norm", "@encoder.layers.#.final_layer_norm" }, { "encoder.norm", "@encoder.layernorm" }, \
		{ "decoder.attn.norm", "@decoder.layers.#.self_attn_layer_norm" }, \
		{ "decoder.cross.norm", "@decoder.layers.#.encoder_attn_layer_norm" }, \
		{ "decoder.ffn.up", "@decoder.layers.#.fc1" }, { "decoder.ffn.down", "@decoder.layers.#.fc2" }, \
		{ "decoder.ffn.norm", "@decoder.layers.#.final_layer_norm" }, { "decoder.norm", "@decoder.layernorm" }, \
		{ "head.classes", "class_labels_classifier" }, { "head.boxes", "bbox_predictor.layers.#" }, \
		{ "masks.q", "bbox_attention.q_linear" }, { "masks.k", "bbox_attention.k_linear" }, \
		{ "masks.conv", "mask_head.lay#" }, { "masks.norm", "mask_head.gn#" }, \
		{ "masks.adapter", "mask_head.adapter#" }, \
	{ \
		"masks.out", "mask_head.out_lay" \
	}

const struct dialect detr_names = {
	.name = "detr",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(DETR_BODY, ATTENTION("decoder.attn", "@decoder.layers.#.self_attn"),
		ATTENTION("decoder.cross", "@decoder.layers.#.encoder_attn")),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED(OF_TRAINING),
};

const struct dialect conditional_detr_names = {
	.name = "conditional-detr",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(DETR_BODY, { "decoder.reference", "@decoder.ref_point_head.layers.#" },
		{ "decoder.scale", "@decoder.query_scale.layers.#" }, { "decoder.attn.q", "@decoder.layers.#.sa_qcontent_proj" },
		{ "decoder.attn.q.position", "@decoder.layers.#.sa_qpos_proj" },
		{ "decoder.attn.k", "@decoder.layers.#.sa_kcontent_proj" },
		{ "decoder.attn.k.position", "@decoder.layers.#.sa_kpos_proj" },
		{ "decoder.attn.v", "@decoder.layers.#.sa_v_proj" }, { "decoder.attn.o", "@decoder.layers.#.self_attn.out_proj" },
		{ "decoder.cross.q", "@decoder.layers.#.ca_qcontent_proj" },
		{ "decoder.cross.q.position", "@decoder.layers.#.ca_qpos_proj" },
		{ "decoder.cross.q.sines", "@decoder.layers.#.ca_qpos_sine_proj" },
		{ "decoder.cross.k", "@decoder.layers.#.ca_kcontent_proj" },
		{ "decoder.cross.k.position", "@decoder.layers.#.ca_kpos_proj" },
		{ "decoder.cross.v", "@decoder.layers.#.ca_v_proj" },
		{ "decoder.cross.o", "@decoder.layers.#.encoder_attn.out_proj" }),
	.ignored = IGNORED("*.num_batches_tracked", "*decoder.layers.*.ca_qpos_proj.*"),
	.inert = IGNORED(OF_TRAINING),
};

#define DAB_LAYER "@decoder.layers.#."
#define DAB_SELF DAB_LAYER "self_attn.self_attn"
#define DAB_CROSS DAB_LAYER "cross_attn.cross_attn"

const struct dialect dab_detr_names = {
	.name = "dab-detr",
	.prefix = "model.",
	.keys = KEYS({ "d_model", "hidden_size" }),
	.weights = WEIGHTS({ "project", "@input_projection" }, { "queries", "@query_refpoint_embeddings" },
		{ "patterns", "@patterns" }, ATTENTION("encoder.attn", "@encoder.layers.#.self_attn"),
		{ "encoder.attn.norm", "@encoder.layers.#.self_attn_layer_norm" }, { "encoder.ffn.up", "@encoder.layers.#.fc1" },
		{ "encoder.ffn.down", "@encoder.layers.#.fc2" }, { "encoder.ffn.slope", "@encoder.layers.#.activation_fn" },
		{ "encoder.ffn.norm", "@encoder.layers.#.final_layer_norm" }, { "encoder.norm", "@encoder.norm" },
		{ "encoder.scale", "@encoder.query_scale.layers.#" }, { "decoder.reference", "@decoder.ref_point_head.layers.#" },
		{ "decoder.scale", "@decoder.query_scale.layers.#" }, { "decoder.size", "@decoder.ref_anchor_head.layers.#" },
		{ "decoder.attn.q", DAB_SELF "_query_content_proj" }, { "decoder.attn.q.position", DAB_SELF "_query_pos_proj" },
		{ "decoder.attn.k", DAB_SELF "_key_content_proj" }, { "decoder.attn.k.position", DAB_SELF "_key_pos_proj" },
		{ "decoder.attn.v", DAB_SELF "_value_proj" }, { "decoder.attn.o", DAB_SELF ".output_proj" },
		{ "decoder.attn.norm", DAB_SELF "_layer_norm" }, { "decoder.cross.q", DAB_CROSS "_query_content_proj" },
		{ "decoder.cross.q.position", DAB_CROSS "_query_pos_proj" },
		{ "decoder.cross.q.sines", DAB_CROSS "_query_pos_sine_proj" },
		{ "decoder.cross.k", DAB_CROSS "_key_content_proj" }, { "decoder.cross.k.position", DAB_CROSS "_key_pos_proj" },
		{ "decoder.cross.v", DAB_CROSS "_value_proj" }, { "decoder.cross.o", DAB_CROSS ".output_proj" },
		{ "decoder.cross.norm", DAB_CROSS "_layer_norm" }, { "decoder.ffn.up", DAB_LAYER "mlp.fc1" },
		{ "decoder.ffn.down", DAB_LAYER "mlp.fc2" }, { "decoder.ffn.slope", DAB_LAYER "mlp.activation_fn" },
		{ "decoder.ffn.norm", DAB_LAYER "mlp.final_layer_norm" }, { "decoder.norm", "@decoder.layernorm" },
		{ "head.classes", "class_embed" }, { "head.boxes", "bbox_predictor.layers.#" }),
	.ignored = IGNORED("*.num_batches_tracked", "*decoder.bbox_embed.*"),
	.inert = IGNORED(OF_TRAINING, "random_refpoints_xy", "initializer_bias_prior_prob", "init_std"),
};

#define DEFORM(canonical, file) \
	{ canonical ".offsets", file ".sampling_offsets" }, { canonical ".weights", file ".attention_weights" }, \
		{ canonical ".v", file ".value_proj" }, \
	{ \
		canonical ".o", file ".output_proj" \
	}
#define CONV_NORM(canonical, file) \
	{ canonical, file ".conv" }, \
	{ \
		canonical ".norm", file ".norm" \
	}
#define FUSION(canonical, file) \
	CONV_NORM(canonical ".1", file ".conv1"), CONV_NORM(canonical ".2", file ".conv2"), \
		CONV_NORM(canonical ".3", file ".conv3"), CONV_NORM(canonical ".block.1", file ".bottlenecks.#.conv1"), \
		CONV_NORM(canonical ".block.2", file ".bottlenecks.#.conv2")
#define RT_DETR_BODY DEFORM("decoder.cross", "@decoder.layers.#.encoder_attn"), RT_DETR_COMMON
#define RT_DETR_COMMON \
	{ "input", "@encoder_input_proj.#.0" }, { "input.norm", "@encoder_input_proj.#.1" }, \
		ATTENTION("encoder.attn", "@encoder.encoder.#.layers.#.self_attn"), \
		{ "encoder.attn.norm", "@encoder.encoder.#.layers.#.self_attn_layer_norm" }, \
		{ "encoder.ffn.up", "@encoder.encoder.#.layers.#.fc1" }, \
		{ "encoder.ffn.down", "@encoder.encoder.#.layers.#.fc2" }, \
		{ "encoder.ffn.norm", "@encoder.encoder.#.layers.#.final_layer_norm" }, \
		CONV_NORM("lateral", "@encoder.lateral_convs.#"), CONV_NORM("smaller", "@encoder.downsample_convs.#"), \
		FUSION("down", "@encoder.fpn_blocks.#"), FUSION("up", "@encoder.pan_blocks.#"), \
		{ "source", "@decoder_input_proj.#.0" }, { "source.norm", "@decoder_input_proj.#.1" }, \
		{ "choice", "@enc_output.0" }, { "choice.norm", "@enc_output.1" }, { "choice.score", "@enc_score_head" }, \
		{ "choice.box", "@enc_bbox_head.layers.#" }, { "decoder.position", "@decoder.query_pos_head.layers.#" }, \
		ATTENTION("decoder.attn", "@decoder.layers.#.self_attn"), \
		{ "decoder.attn.norm", "@decoder.layers.#.self_attn_layer_norm" }, \
		{ "decoder.cross.norm", "@decoder.layers.#.encoder_attn_layer_norm" }, \
		{ "decoder.ffn.up", "@decoder.layers.#.fc1" }, { "decoder.ffn.down", "@decoder.layers.#.fc2" }, \
		{ "decoder.ffn.norm", "@decoder.layers.#.final_layer_norm" }, { "head.classes", "@decoder.class_embed.#" }, \
	{ \
		"head.boxes", "@decoder.bbox_embed.#.layers.#" \
	}
// What lies in files for training, and the heads of layers before the last.
#define RT_DETR_IGNORED \
	"*.num_batches_tracked", "*denoising_class_embed.*", "class_embed.*", "bbox_embed.*", "*decoder.class_embed.*"
#define RT_DETR_INERT \
	"use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs", "freeze_backbone_batch_norms", "is_encoder_decoder", \
		"box_noise_scale", "label_noise_ratio", "num_denoising", "matcher_*", "weight_loss_*", "use_focal_loss", \
		"focal_loss_*", "eos_coefficient", "auxiliary_loss", "with_box_refine", "feat_strides", \
		"disable_custom_kernels", "initializer_bias_prior_prob", "encoder_in_channels"

const struct dialect rt_detr_names = {
	.name = "rt-detr",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(RT_DETR_BODY),
	.ignored = IGNORED(RT_DETR_IGNORED),
	.inert = IGNORED(RT_DETR_INERT),
};

const struct dialect rt_detr_v2_names = {
	.name = "rt-detr-v2",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(RT_DETR_BODY, { "decoder.cross.scale", "@decoder.layers.#.encoder_attn.n_points_scale" }),
	.ignored = IGNORED(RT_DETR_IGNORED),
	.inert = IGNORED(RT_DETR_INERT),
};

#define OMDET_ATTENTION(canonical, file) \
	{ canonical ".q", file ".query" }, { canonical ".k", file ".key" }, { canonical ".v", file ".value" }, \
	{ \
		canonical ".o", file ".out_proj" \
	}
#define OMDET_ENCODER "encoder.encoder.#.layers.#."
#define OMDET_DECODER "decoder.layers.#."

const struct dialect omdet_names = {
	.name = "omdet-turbo",
	.prefix = "",
	.keys = KEYS({ "d_model", "d_model" }, { "d_model", "encoder_hidden_dim" },
		{ "encoder_attention_heads", "encoder_attention_heads" }, { "encoder_attention_heads", "num_attention_heads" }),
	.weights = WEIGHTS({ "text.projection", "language_backbone.text_projection" },
		{ "input", "encoder.channel_projection_layers.#.0" }, { "input.norm", "encoder.channel_projection_layers.#.1" },
		OMDET_ATTENTION("encoder.attn", OMDET_ENCODER "self_attn"),
		{ "encoder.attn.norm", OMDET_ENCODER "self_attn_layer_norm" }, { "encoder.ffn.up", OMDET_ENCODER "fc1" },
		{ "encoder.ffn.down", OMDET_ENCODER "fc2" }, { "encoder.ffn.norm", OMDET_ENCODER "final_layer_norm" },
		CONV_NORM("lateral", "encoder.lateral_convs.#"), CONV_NORM("smaller", "encoder.downsample_convs.#"),
		FUSION("down", "encoder.fpn_blocks.#"), FUSION("up", "encoder.pan_blocks.#"),
		{ "source", "decoder.channel_projection_layers.#.0" }, { "source.norm", "decoder.channel_projection_layers.#.1" },
		{ "task.up", "decoder.task_encoder.mlp.linear1" }, { "task.down", "decoder.task_encoder.mlp.linear2" },
		{ "task.norm", "decoder.task_encoder.res1.norm1" }, { "task.project", "decoder.task_project" },
		{ "choice", "decoder.encoder_vision_features.0" }, { "choice.norm", "decoder.encoder_vision_features.1" },
		{ "choice.class", "decoder.encoder_class_head" }, { "choice.box", "decoder.encoder_bbox_head.layers.#" },
		{ "queries", "decoder.tgt_embed" }, { "decoder.position", "decoder.query_position_head.layers.#" },
		OMDET_ATTENTION("decoder.attn", OMDET_DECODER "self_attn"), { "decoder.attn.norm", OMDET_DECODER "norm1" },
		DEFORM("decoder.cross", OMDET_DECODER "cross_attn"), { "decoder.cross.norm", OMDET_DECODER "norm2" },
		{ "decoder.ffn.up", OMDET_DECODER "linear1" }, { "decoder.ffn.down", OMDET_DECODER "linear2" },
		{ "decoder.ffn.norm", OMDET_DECODER "norm3" }, { "head.class", "decoder.decoder_class_head.#" },
		{ "head.boxes", "decoder.decoder_bbox_head.#.layers.#" }),
	// Norms of maps whose channels are last; classes are told by the last layer alone.
	.ignored = IGNORED("*.num_batches_tracked", "*relative_position_index", "*vision_backbone.swin.layernorm.*",
		"*vision_backbone.layernorm.*", "vision_backbone.layer_norms.*", "decoder.decoder_class_head.*"),
	.inert = IGNORED("image_size", "cache_size", "disable_custom_kernels", "init_std", "*dropout*", "is_encoder_decoder",
		"use_timm_backbone", "use_pretrained_backbone", "backbone_kwargs"),
};

#define D_FINE_FUSION(canonical, file) \
	CONV_NORM(canonical ".whole", file ".conv1"), FUSION(canonical ".first", file ".csp_rep1"), \
		CONV_NORM(canonical ".first.out", file ".conv2"), FUSION(canonical ".second", file ".csp_rep2"), \
		CONV_NORM(canonical ".second.out", file ".conv3"), CONV_NORM(canonical ".out", file ".conv4")

const struct dialect d_fine_names = {
	.name = "d-fine",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(RT_DETR_COMMON, { "decoder.cross.offsets", "@decoder.layers.#.encoder_attn.sampling_offsets" },
		{ "decoder.cross.weights", "@decoder.layers.#.encoder_attn.attention_weights" },
		{ "decoder.cross.scale", "@decoder.layers.#.encoder_attn.num_points_scale" },
		D_FINE_FUSION("down", "@encoder.fpn_blocks.#"), D_FINE_FUSION("up", "@encoder.pan_blocks.#"),
		CONV_NORM("smaller.point", "@encoder.downsample_convs.#.conv1"),
		CONV_NORM("smaller.channel", "@encoder.downsample_convs.#.conv2"),
		{ "decoder.gate", "@decoder.layers.#.gateway.gate" }, { "decoder.gate.norm", "@decoder.layers.#.gateway.norm" },
		{ "decoder.box", "@decoder.pre_bbox_head.layers.#" }, { "decoder.reach", "@decoder.up" },
		{ "decoder.curve", "@decoder.reg_scale" }, { "decoder.quality", "@decoder.lqe_layers.#.reg_conf.layers.#" }),
	.ignored = IGNORED(RT_DETR_IGNORED, "*decoder.lqe_layers.*"),
	.inert = IGNORED(RT_DETR_INERT, "layer_scale", "head_dim", "reg_scale", "up"),
};

#define DEIM_BRANCH(canonical, file) \
	CONV_NORM(canonical ".1", file ".conv1"), CONV_NORM(canonical ".block.1", file ".bottlenecks.#.conv1"), \
		CONV_NORM(canonical ".block.2", file ".bottlenecks.#.conv2"), CONV_NORM(canonical ".out", file ".conv2")
#define DEIM_FUSION(canonical, file) \
	CONV_NORM(canonical ".whole", file ".conv1"), DEIM_BRANCH(canonical ".first", file ".csp_rep1"), \
		DEIM_BRANCH(canonical ".second", file ".csp_rep2"), CONV_NORM(canonical ".out", file ".conv2")
#define DEIM_ATTENTION(canonical, file) \
	{ canonical ".q", file ".q_proj" }, { canonical ".k", file ".k_proj" }, { canonical ".v", file ".v_proj" }, \
	{ \
		canonical ".o", file ".o_proj" \
	}
#define DEIM_ENCODER "@encoder.aifi.#.layers.#."
#define DEIM_DECODER "@decoder.layers.#."
#define DEIM_DETAILS "@conv_encoder.spatial_tuning_adapter."

const struct dialect deimv2_names = {
	.name = "deimv2",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(CONV_NORM("input", "@conv_encoder.encoder_input_proj.#"),
		CONV_NORM("details.stem", DEIM_DETAILS "stem_conv"), CONV_NORM("details.conv", DEIM_DETAILS "conv#"),
		CONV_NORM("details.out", "@conv_encoder.fusion_proj.#"), CONV_NORM("lite.input", "@encoder.input_proj.#"),
		CONV_NORM("lite.smaller", "@encoder.down_conv#"), CONV_NORM("lite.mixed", "@encoder.bi_fusion_conv"),
		DEIM_FUSION("lite.down", "@encoder.fpn_block"), DEIM_FUSION("lite.up", "@encoder.pan_block"),
		DEIM_ATTENTION("encoder.attn", DEIM_ENCODER "self_attn"),
		{ "encoder.attn.norm", DEIM_ENCODER "self_attn_layer_norm" }, { "encoder.ffn.up", DEIM_ENCODER "mlp.layers.0" },
		{ "encoder.ffn.down", DEIM_ENCODER "mlp.layers.1" }, { "encoder.ffn.norm", DEIM_ENCODER "final_layer_norm" },
		CONV_NORM("lateral", "@encoder.lateral_convs.#"), CONV_NORM("smaller.point", "@encoder.downsample_convs.#.conv1"),
		CONV_NORM("smaller.channel", "@encoder.downsample_convs.#.conv2"), DEIM_FUSION("down", "@encoder.fpn_blocks.#"),
		DEIM_FUSION("up", "@encoder.pan_blocks.#"), CONV_NORM("source", "@decoder_input_proj.#"),
		{ "choice", "@enc_output.0" }, { "choice.norm", "@enc_output.1" }, { "choice.score", "@enc_score_head" },
		{ "choice.box", "@enc_bbox_head.layers.#" }, { "decoder.position", "@decoder.query_pos_head.layers.#" },
		DEIM_ATTENTION("decoder.attn", DEIM_DECODER "self_attn"),
		{ "decoder.attn.norm", DEIM_DECODER "self_attn_layer_norm" },
		{ "decoder.cross.offsets", DEIM_DECODER "encoder_attn.sampling_offsets" },
		{ "decoder.cross.weights", DEIM_DECODER "encoder_attn.attention_weights" },
		{ "decoder.cross.scale", DEIM_DECODER "encoder_attn.num_points_scale" },
		{ "decoder.cross.norm", DEIM_DECODER "encoder_attn_layer_norm" }, { "decoder.gate", DEIM_DECODER "gateway.gate" },
		{ "decoder.gate.norm", DEIM_DECODER "gateway.norm" }, { "decoder.ffn.gate", DEIM_DECODER "mlp.gate_proj" },
		{ "decoder.ffn.up", DEIM_DECODER "mlp.up_proj" }, { "decoder.ffn.down", DEIM_DECODER "mlp.down_proj" },
		{ "decoder.ffn.norm", DEIM_DECODER "final_layer_norm" }, { "decoder.box", "@decoder.pre_bbox_head.layers.#" },
		{ "decoder.reach", "@decoder.up" }, { "decoder.curve", "@decoder.reg_scale" },
		{ "decoder.quality", "@decoder.lqe_layers.#.reg_conf.layers.#" }, { "head.classes", "@decoder.class_embed.#" },
		{ "head.classes", "class_embed.#" }, { "head.boxes", "@decoder.bbox_embed.#.layers.#" },
		{ "head.boxes", "bbox_embed.#.layers.#" }),
	.ignored = IGNORED(RT_DETR_IGNORED, "*decoder.lqe_layers.*", "*decoder.bbox_embed.*"),
	.inert = IGNORED(RT_DETR_INERT, "layer_scale", "head_dim", "reg_scale", "up", "use_dense_one_to_one", "mal_alpha"),
};

#define DEFORMABLE_BODY \
	{ "source", "@input_proj.#.0" }, { "source.norm", "@input_proj.#.1" }, { "levels", "@level_embed" }, \
		{ "positions.row", "@position_embedding.row_embeddings" }, \
		{ "positions.column", "@position_embedding.column_embeddings" }, \
		{ "positions.row.old", "@backbone.position_embedding.row_embeddings" }, \
		{ "positions.column.old", "@backbone.position_embedding.column_embeddings" }, \
		{ "queries", "@query_position_embeddings" }, { "reference", "@reference_points" }, { "choice", "@enc_output" }, \
		{ "choice.norm", "@enc_output_norm" }, { "choice.query", "@pos_trans" }, \
		{ "choice.query.norm", "@pos_trans_norm" }, DEFORM("encoder.attn", "@encoder.layers.#.self_attn"), \
		{ "encoder.attn.norm", "@encoder.layers.#.self_attn_layer_norm" }, \
		{ "encoder.ffn.up", "@encoder.layers.#.fc1" }, { "encoder.ffn.down", "@encoder.layers.#.fc2" }, \
		{ "encoder.ffn.norm", "@encoder.layers.#.final_layer_norm" }, \
		ATTENTION("decoder.attn", "@decoder.layers.#.self_attn"), \
		{ "decoder.attn.norm", "@decoder.layers.#.self_attn_layer_norm" }, \
		DEFORM("decoder.cross", "@decoder.layers.#.encoder_attn"), \
		{ "decoder.cross.norm", "@decoder.layers.#.encoder_attn_layer_norm" }, \
		{ "decoder.ffn.up", "@decoder.layers.#.fc1" }, { "decoder.ffn.down", "@decoder.layers.#.fc2" }, \
		{ "decoder.ffn.norm", "@decoder.layers.#.final_layer_norm" }, { "head.classes", "class_embed.#" }, \
		{ "head.classes", "@decoder.class_embed.#" }, { "head.boxes", "bbox_embed.#.layers.#" }, \
	{ \
		"head.boxes", "@decoder.bbox_embed.#.layers.#" \
	}
#define DEFORMABLE_INERT "disable_custom_kernels", "return_intermediate", "init_std"
#define DEFORMABLE_IGNORED "*.num_batches_tracked", "*class_embed.*", "*bbox_embed.*"

const struct dialect deformable_detr_names = {
	.name = "deformable-detr",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(DEFORMABLE_BODY),
	.ignored = IGNORED(DEFORMABLE_IGNORED),
	.inert = IGNORED(OF_TRAINING, DEFORMABLE_INERT),
};

const struct dialect deta_names = {
	.name = "deta",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(DEFORMABLE_BODY, { "choice.state", "@pix_trans" }, { "choice.state.norm", "@pix_trans_norm" }),
	.ignored = IGNORED(DEFORMABLE_IGNORED),
	.inert = IGNORED(OF_TRAINING, DEFORMABLE_INERT, "assign_second_stage"),
};

#define GROUNDING_ATTENTION(canonical, file) \
	{ canonical ".q", file ".query" }, { canonical ".k", file ".key" }, { canonical ".v", file ".value" }, \
	{ \
		canonical ".o", file ".out_proj" \
	}
#define GROUNDING_ENCODER "@encoder.layers.#."
#define GROUNDING_DECODER "@decoder.layers.#."
#define GROUNDING_BODY \
	{ "source", "@input_proj_vision.#.0" }, { "source.norm", "@input_proj_vision.#.1" }, { "levels", "@level_embed" }, \
		{ "positions.row", "@backbone.position_embedding.row_embeddings" }, \
		{ "positions.column", "@backbone.position_embedding.column_embeddings" }, { "text", "@text_projection" }, \
		{ "queries", "@query_position_embeddings" }, { "choice", "@enc_output" }, { "choice.norm", "@enc_output_norm" }, \
		{ "choice.box", "@encoder_output_bbox_embed.layers.#" }, \
		{ "fusion.norm.vision", GROUNDING_ENCODER "fusion_layer.layer_norm_vision" }, \
		{ "fusion.norm.text", GROUNDING_ENCODER "fusion_layer.layer_norm_text" }, \
		{ "fusion.vision", GROUNDING_ENCODER "fusion_layer.attn.vision_proj" }, \
		{ "fusion.text", GROUNDING_ENCODER "fusion_layer.attn.text_proj" }, \
		{ "fusion.vision.v", GROUNDING_ENCODER "fusion_layer.attn.values_vision_proj" }, \
		{ "fusion.text.v", GROUNDING_ENCODER "fusion_layer.attn.values_text_proj" }, \
		{ "fusion.vision.o", GROUNDING_ENCODER "fusion_layer.attn.out_vision_proj" }, \
		{ "fusion.text.o", GROUNDING_ENCODER "fusion_layer.attn.out_text_proj" }, \
		{ "fusion.vision.scale", GROUNDING_ENCODER "fusion_layer.vision_param" }, \
		{ "fusion.text.scale", GROUNDING_ENCODER "fusion_layer.text_param" }, \
		GROUNDING_ATTENTION("words.attn", GROUNDING_ENCODER "text_enhancer_layer.self_attn"), \
		{ "words.attn.norm", GROUNDING_ENCODER "text_enhancer_layer.layer_norm_before" }, \
		{ "words.ffn.up", GROUNDING_ENCODER "text_enhancer_layer.fc1" }, \
		{ "words.ffn.down", GROUNDING_ENCODER "text_enhancer_layer.fc2" }, \
		{ "words.ffn.norm", GROUNDING_ENCODER "text_enhancer_layer.layer_norm_after" }, \
		DEFORM("encoder.attn", GROUNDING_ENCODER "deformable_layer.self_attn"), \
		{ "encoder.attn.norm", GROUNDING_ENCODER "deformable_layer.self_attn_layer_norm" }, \
		{ "encoder.ffn.up", GROUNDING_ENCODER "deformable_layer.fc1" }, \
		{ "encoder.ffn.down", GROUNDING_ENCODER "deformable_layer.fc2" }, \
		{ "encoder.ffn.norm", GROUNDING_ENCODER "deformable_layer.final_layer_norm" }, \
		{ "decoder.position", "@decoder.reference_points_head.layers.#" }, \
		GROUNDING_ATTENTION("decoder.attn", GROUNDING_DECODER "self_attn"), \
		{ "decoder.attn.norm", GROUNDING_DECODER "self_attn_layer_norm" }, \
		GROUNDING_ATTENTION("decoder.text", GROUNDING_DECODER "encoder_attn_text"), \
		{ "decoder.text.norm", GROUNDING_DECODER "encoder_attn_text_layer_norm" }, \
		DEFORM("decoder.cross", GROUNDING_DECODER "encoder_attn"), \
		{ "decoder.cross.norm", GROUNDING_DECODER "encoder_attn_layer_norm" }, \
		{ "decoder.ffn.up", GROUNDING_DECODER "fc1" }, { "decoder.ffn.down", GROUNDING_DECODER "fc2" }, \
		{ "decoder.ffn.norm", GROUNDING_DECODER "final_layer_norm" }, { "decoder.norm", "@decoder.layer_norm" }, \
		{ "head.boxes", "bbox_embed.#.layers.#" }, \
	{ \
		"head.boxes", "@decoder.bbox_embed.#.layers.#" \
	}
#define GROUNDING_INERT \
	OF_TRAINING, "disable_custom_kernels", "init_std", "text_enhancer_dropout", "fusion_droppath", "fusion_dropout", \
		"two_stage_bbox_embed_share", "auxiliary_loss"

const struct dialect grounding_names = {
	.name = "grounding-dino",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(GROUNDING_BODY),
	.ignored =
		IGNORED("*.num_batches_tracked", "*bbox_embed.*", "*relative_position_index", "*conv_encoder.model.layernorm.*"),
	.inert = IGNORED(GROUNDING_INERT),
};

const struct dialect mm_grounding_names = {
	.name = "mm-grounding-dino",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(GROUNDING_BODY, { "choice.offset", "@encoder_output_class_embed" }, { "head.offset", "class_embed.#" },
		{ "head.offset", "@decoder.class_embed.#" }),
	.ignored = IGNORED("*.num_batches_tracked", "*bbox_embed.*", "*class_embed.*", "*relative_position_index",
		"*conv_encoder.model.layernorm.*"),
	.inert = IGNORED(GROUNDING_INERT),
};

#define RF_DETR_CONV(canonical, file) \
	{ canonical, file ".conv" }, \
	{ \
		canonical ".norm", file ".bn" \
	}
#define RF_DETR_LAYER "transformer.decoder.layers.#."

const struct dialect rf_detr_names = {
	.name = "rf-detr",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(RF_DETR_CONV("project.in", "backbone.0.projector.stages.0.0.cv1"),
		RF_DETR_CONV("project.1", "backbone.0.projector.stages.0.0.m.#.cv1"),
		RF_DETR_CONV("project.2", "backbone.0.projector.stages.0.0.m.#.cv2"),
		RF_DETR_CONV("project.out", "backbone.0.projector.stages.0.0.cv2"),
		{ "project.norm", "backbone.0.projector.stages.0.1" }, { "choice", "transformer.enc_output.#" },
		{ "choice.norm", "transformer.enc_output_norm.#" }, { "choice.score", "transformer.enc_out_class_embed.#" },
		{ "choice.box", "transformer.enc_out_bbox_embed.#.layers.#" }, { "queries", "query_feat" },
		{ "queries.box", "refpoint_embed" }, { "decoder.position", "transformer.decoder.ref_point_head.layers.#" },
		{ "decoder.attn.in", RF_DETR_LAYER "self_attn.in_proj_weight" },
		{ "decoder.attn.in_bias", RF_DETR_LAYER "self_attn.in_proj_bias" },
		{ "decoder.attn.o", RF_DETR_LAYER "self_attn.out_proj" }, { "decoder.attn.norm", RF_DETR_LAYER "norm1" },
		DEFORM("decoder.cross", RF_DETR_LAYER "cross_attn"), { "decoder.cross.norm", RF_DETR_LAYER "norm2" },
		{ "decoder.ffn.up", RF_DETR_LAYER "linear1" }, { "decoder.ffn.down", RF_DETR_LAYER "linear2" },
		{ "decoder.ffn.norm", RF_DETR_LAYER "norm3" }, { "decoder.norm", "transformer.decoder.norm" },
		{ "head.classes", "class_embed" }, { "head.boxes", "bbox_embed.layers.#" }),
	// Groups after the first are for training.
	.ignored = IGNORED("transformer.enc_output.*", "transformer.enc_output_norm.*", "transformer.enc_out_class_embed.*",
		"transformer.enc_out_bbox_embed.*", "class_embed.*", "bbox_embed.*"),
	.inert = IGNORED("*_cost", "*_loss_coefficient", "eos_coefficient", "focal_alpha", "auxiliary_loss", "init_std",
		"disable_custom_kernels", "mask_*", "segmentation_head_activation_function", "intermediate_size"),
};

#define MASK2FORMER_PIXELS "@pixel_level_module.decoder."
#define MASK2FORMER_LAYER "@transformer_module.decoder.layers.#."
// From the backbone's maps on, as far as Mask2Former and OneFormer agree.
#define MASK2FORMER_MAPS \
	{ "pixels.source", MASK2FORMER_PIXELS "input_projections.#.0" }, \
		{ "pixels.source.norm", MASK2FORMER_PIXELS "input_projections.#.1" }, \
		{ "pixels.levels", MASK2FORMER_PIXELS "level_embed" }, \
		DEFORM("pixels.attn", MASK2FORMER_PIXELS "encoder.layers.#.self_attn"), \
		{ "pixels.attn.norm", MASK2FORMER_PIXELS "encoder.layers.#.self_attn_layer_norm" }, \
		{ "pixels.ffn.up", MASK2FORMER_PIXELS "encoder.layers.#.fc1" }, \
		{ "pixels.ffn.down", MASK2FORMER_PIXELS "encoder.layers.#.fc2" }, \
		{ "pixels.ffn.norm", MASK2FORMER_PIXELS "encoder.layers.#.final_layer_norm" }, \
		{ "pixels.adapter", MASK2FORMER_PIXELS "adapter_#.0" }, \
		{ "pixels.adapter.norm", MASK2FORMER_PIXELS "adapter_#.1" }, { "pixels.finer", MASK2FORMER_PIXELS "layer_#.0" }, \
		{ "pixels.finer.norm", MASK2FORMER_PIXELS "layer_#.1" }, { "pixels.out", MASK2FORMER_PIXELS "mask_projection" }, \
		{ "levels", "@transformer_module.level_embed" }, \
	{ \
		"queries.position", "@transformer_module.queries_embedder" \
	}
#define MASK2FORMER_LOSS \
	"ignore_value", "no_object_weight", "class_weight", "mask_weight", "dice_weight", "train_num_points", \
		"oversample_ratio", "importance_sample_ratio", "init_std", "init_xavier_std", "use_auxiliary_loss", \
		"output_auxiliary_logits"
const struct dialect mask2former_names = {
	.name = "mask2former",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(MASK2FORMER_MAPS, { "project", "@transformer_module.input_projections.#" },
		{ "queries", "@transformer_module.queries_features" }, { "layers.cross", MASK2FORMER_LAYER "cross_attn" },
		{ "layers.cross.o", MASK2FORMER_LAYER "cross_attn.out_proj" },
		{ "layers.cross.norm", MASK2FORMER_LAYER "cross_attn_layer_norm" },
		ATTENTION("layers.attn", MASK2FORMER_LAYER "self_attn"),
		{ "layers.attn.norm", MASK2FORMER_LAYER "self_attn_layer_norm" }, { "layers.ffn.up", MASK2FORMER_LAYER "fc1" },
		{ "layers.ffn.down", MASK2FORMER_LAYER "fc2" }, { "layers.ffn.norm", MASK2FORMER_LAYER "final_layer_norm" },
		{ "norm", "@transformer_module.decoder.layernorm" },
		{ "masks", "@transformer_module.decoder.mask_predictor.mask_embedder.#.0" },
		{ "head.classes", "class_predictor" }),
	.ignored = IGNORED("*.num_batches_tracked", "criterion.*", "*pixel_level_module.encoder.swin.layernorm.*"),
	.inert = IGNORED(
		"is_encoder_decoder", "use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs", MASK2FORMER_LOSS),
};

#define ONEFORMER_ASKING "@transformer_module.decoder.query_transformer.decoder."
const struct dialect oneformer_names = {
	.name = "oneformer",
	.prefix = "model.",
	.keys = KEYS({ "feature_size", "conv_dim" }, { "mask_feature_size", "mask_dim" }, { "feature_strides", "strides" },
		{ "enforce_input_projection", "enforce_input_proj" }, { "hidden_dim", "hidden_dim" },
		{ "hidden_dim", "hidden_size" }, { "decoder_layers", "decoder_layers" },
		{ "decoder_layers", "num_hidden_layers" }),
	.weights = WEIGHTS(MASK2FORMER_MAPS, { "task", "@task_encoder.task_mlp.layers.#.0" },
		{ "asking.map", "@transformer_module.decoder.query_input_projection" },
		{ "asking.attn", ONEFORMER_ASKING "layers.#.self_attn" },
		{ "asking.attn.o", ONEFORMER_ASKING "layers.#.self_attn.out_proj" },
		{ "asking.attn.norm", ONEFORMER_ASKING "layers.#.norm1" },
		{ "asking.cross", ONEFORMER_ASKING "layers.#.multihead_attn" },
		{ "asking.cross.o", ONEFORMER_ASKING "layers.#.multihead_attn.out_proj" },
		{ "asking.cross.norm", ONEFORMER_ASKING "layers.#.norm2" },
		{ "asking.ffn.up", ONEFORMER_ASKING "layers.#.linear1" },
		{ "asking.ffn.down", ONEFORMER_ASKING "layers.#.linear2" },
		{ "asking.ffn.norm", ONEFORMER_ASKING "layers.#.norm3" }, { "asking.norm", ONEFORMER_ASKING "norm" },
		{ "layers.cross", MASK2FORMER_LAYER "cross_attn.multihead_attn" },
		{ "layers.cross.o", MASK2FORMER_LAYER "cross_attn.multihead_attn.out_proj" },
		{ "layers.cross.norm", MASK2FORMER_LAYER "cross_attn.norm" },
		ATTENTION("layers.attn", MASK2FORMER_LAYER "self_attn.self_attn"),
		{ "layers.attn.norm", MASK2FORMER_LAYER "self_attn.norm" }, { "layers.ffn.up", MASK2FORMER_LAYER "ffn.linear1" },
		{ "layers.ffn.down", MASK2FORMER_LAYER "ffn.linear2" }, { "layers.ffn.norm", MASK2FORMER_LAYER "ffn.norm" },
		{ "norm", "@transformer_module.decoder.decoder_norm" },
		{ "masks", "@transformer_module.decoder.mask_embed.layers.#.0" },
		{ "head.classes", "@transformer_module.decoder.class_embed" }),
	// What describes texts is for training.
	.ignored = IGNORED("*.num_batches_tracked", "criterion.*", "*pixel_level_module.encoder.swin.layernorm.*",
		"*text_mapper.*", "*prompt_ctx.*"),
	.inert = IGNORED("is_encoder_decoder", "use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs", "norm",
		"contrastive_*", "text_encoder_*", "max_seq_len", "feature_size", "mask_feature_size", MASK2FORMER_LOSS),
};

const struct dialect superpoint_names = {
	.name = "superpoint",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "layers.0", "encoder.conv_blocks.#.conv_a" }, { "layers.1", "encoder.conv_blocks.#.conv_b" },
		{ "scores.0", "keypoint_decoder.conv_score_a" }, { "scores.1", "keypoint_decoder.conv_score_b" },
		{ "descriptors.0", "descriptor_decoder.conv_descriptor_a" },
		{ "descriptors.1", "descriptor_decoder.conv_descriptor_b" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("is_encoder_decoder", "attn_implementation"),
};

const struct dialect superglue_names = {
	.name = "superglue",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "places.step", "keypoint_encoder.encoder.#.linear" },
		{ "places.step.norm", "keypoint_encoder.encoder.#.batch_norm" }, { "places.last", "keypoint_encoder.encoder.#" },
		{ "layers.attn.q", "gnn.layers.#.attention.self.query" }, { "layers.attn.k", "gnn.layers.#.attention.self.key" },
		{ "layers.attn.v", "gnn.layers.#.attention.self.value" },
		{ "layers.attn.o", "gnn.layers.#.attention.output.dense" }, { "layers.ffn.up", "gnn.layers.#.mlp.0.linear" },
		{ "layers.ffn.norm", "gnn.layers.#.mlp.0.batch_norm" }, { "layers.ffn.down", "gnn.layers.#.mlp.1" },
		{ "project", "final_projection.final_proj" }, { "bin", "bin_score" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("is_decoder", "keypoint_detector_config"),
};

#define LIGHTGLUE_HALF(half) \
	{ half ".q", "transformer_layers.#." half "_attention.q_proj" }, \
		{ half ".k", "transformer_layers.#." half "_attention.k_proj" }, \
		{ half ".v", "transformer_layers.#." half "_attention.v_proj" }, \
		{ half ".o", "transformer_layers.#." half "_attention.o_proj" }, \
		{ half ".ffn.up", "transformer_layers.#." half "_mlp.fc1" }, \
		{ half ".ffn.norm", "transformer_layers.#." half "_mlp.layer_norm" }, \
	{ \
		half ".ffn.down", "transformer_layers.#." half "_mlp.fc2" \
	}

const struct dialect lightglue_names = {
	.name = "lightglue",
	.prefix = "",
	.keys = KEYS({ "hidden_size", "descriptor_dim" }),
	.weights = WEIGHTS({ "in", "input_projection" }, { "places", "positional_encoder.projector" }, LIGHTGLUE_HALF("self"),
		LIGHTGLUE_HALF("cross"), { "project", "match_assignment_layers.#.final_projection" },
		{ "matchable", "match_assignment_layers.#.matchability" }),
	.ignored = IGNORED("token_confidence.*", "match_assignment_layers.*"),
	.inert = IGNORED("keypoint_detector_config", "intermediate_size", "hidden_size", "head_dim"),
};

#define LOFTR_HALF(half) \
	{ half ".pool", "@local_feature_transformer.layers.#." half "_attention.aggregation.q_aggregation" }, \
		{ half ".norm", "@local_feature_transformer.layers.#." half "_attention.aggregation.norm" }, \
		{ half ".q", "@local_feature_transformer.layers.#." half "_attention.attention.q_proj" }, \
		{ half ".k", "@local_feature_transformer.layers.#." half "_attention.attention.k_proj" }, \
		{ half ".v", "@local_feature_transformer.layers.#." half "_attention.attention.v_proj" }, \
		{ half ".o", "@local_feature_transformer.layers.#." half "_attention.attention.o_proj" }, \
		{ half ".ffn.up", "@local_feature_transformer.layers.#." half "_attention.mlp.fc1" }, \
		{ half ".ffn.down", "@local_feature_transformer.layers.#." half "_attention.mlp.fc2" }, \
	{ \
		half ".ffn.norm", "@local_feature_transformer.layers.#." half "_attention.mlp.layer_norm" \
	}

const struct dialect efficient_loftr_names = {
	.name = "efficient-loftr",
	.prefix = "efficientloftr.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(CONV_NORM("block.wide", "@backbone.stages.#.blocks.#.conv1"),
		CONV_NORM("block.point", "@backbone.stages.#.blocks.#.conv2"),
		{ "block.same", "@backbone.stages.#.blocks.#.identity" }, LOFTR_HALF("self"), LOFTR_HALF("cross"),
		{ "fine.in", "refinement_layer.out_conv" }, { "fine.side", "refinement_layer.out_conv_layers.#.out_conv1" },
		{ "fine.wide", "refinement_layer.out_conv_layers.#.out_conv2" },
		{ "fine.norm", "refinement_layer.out_conv_layers.#.batch_norm" },
		{ "fine.out", "refinement_layer.out_conv_layers.#.out_conv3" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("stage_in_channels"),
};

#define MASKFORMER_PIXELS "@pixel_level_module.decoder."
#define MASKFORMER_LAYER "@transformer_module.decoder.layers.#."
#define MASKFORMER_ATTENTION(stem, file) \
	{ stem ".q", MASKFORMER_LAYER file ".q_proj" }, { stem ".k", MASKFORMER_LAYER file ".k_proj" }, \
		{ stem ".v", MASKFORMER_LAYER file ".v_proj" }, { stem ".o", MASKFORMER_LAYER file ".out_proj" }, \
	{ \
		stem ".norm", MASKFORMER_LAYER file "_layer_norm" \
	}

const struct dialect maskformer_names = {
	.name = "maskformer",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "fpn.stem", MASKFORMER_PIXELS "fpn.stem.0" }, { "fpn.stem.norm", MASKFORMER_PIXELS "fpn.stem.1" },
		{ "fpn.left", MASKFORMER_PIXELS "fpn.layers.#.proj.0" },
		{ "fpn.left.norm", MASKFORMER_PIXELS "fpn.layers.#.proj.1" },
		{ "fpn.block", MASKFORMER_PIXELS "fpn.layers.#.block.0" },
		{ "fpn.block.norm", MASKFORMER_PIXELS "fpn.layers.#.block.1" },
		{ "fpn.out", MASKFORMER_PIXELS "mask_projection" }, { "project", "@transformer_module.input_projection" },
		{ "queries", "@transformer_module.queries_embedder" }, MASKFORMER_ATTENTION("layers.attn", "self_attn"),
		MASKFORMER_ATTENTION("layers.cross", "encoder_attn"), { "layers.ffn.norm", MASKFORMER_LAYER "final_layer_norm" },
		{ "layers.ffn.up", MASKFORMER_LAYER "fc1" }, { "layers.ffn.down", MASKFORMER_LAYER "fc2" },
		{ "norm", "@transformer_module.decoder.layernorm" }, { "head.classes", "class_predictor" },
		{ "masks", "mask_embedder.#.0" }),
	.ignored = IGNORED("criterion.*", "*encoder.model.layernorm.*", "*.hidden_states_norms.*"),
	.inert = IGNORED("num_attention_heads", "num_hidden_layers", "output_auxiliary_logits", "*_weight", "init_std",
		"init_xavier_std", "backbone", "backbone_config", "is_encoder_decoder", "no_object_weight", "encoder_*", "*_cost",
		"*_coefficient", "*dropout*", "*layerdrop", "dilation", "position_embedding_type", "num_channels",
		"use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs", "decoder_start_token_id", "scale_embedding",
		"model_type", "hidden_size", "max_position_embeddings"),
};
