// SPDX-License-Identifier: Apache-2.0
// What checkpoints of convolution networks call things.
#include "arch/block/uper.h"
#include "arch/dialect.h"

// What older files say of every part, decoders or not: a convolution network has no use for it.
#define OF_DECODERS "is_encoder_decoder", "is_decoder", "add_cross_attention", "pruned_heads"

#define RESNET_WEIGHTS \
	WEIGHTS({ "stem.conv", "@embedder.embedder.convolution" }, { "stem.norm", "@embedder.embedder.normalization" }, \
		{ "layers.conv", "@encoder.stages.#.layers.#.layer.#.convolution" }, \
		{ "layers.norm", "@encoder.stages.#.layers.#.layer.#.normalization" }, \
		{ "layers.gate.down", "@encoder.stages.#.layers.#.layer.2.attention.0" }, \
		{ "layers.gate.up", "@encoder.stages.#.layers.#.layer.2.attention.2" }, \
		{ "layers.shortcut", "@encoder.stages.#.layers.#.shortcut.convolution" }, \
		{ "layers.shortcut.norm", "@encoder.stages.#.layers.#.shortcut.normalization" }, \
		{ "head.image", "classifier.1" })

const struct dialect resnet_names = { .name = "resnet",
	.prefix = "resnet.",
	.keys = NO_KEYS,
	.weights = RESNET_WEIGHTS,
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", OF_DECODERS) };
const struct dialect regnet_names = { .name = "regnet",
	.prefix = "regnet.",
	.keys = NO_KEYS,
	.weights = RESNET_WEIGHTS,
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", OF_DECODERS) };

const struct dialect rt_detr_resnet_names = {
	.name = "rt_detr_resnet",
	.prefix = "",
	.keys = NO_KEYS,
	.weights =
		WEIGHTS({ "stem.conv", "embedder.embedder.#.convolution" }, { "stem.norm", "embedder.embedder.#.normalization" },
			{ "layers.conv", "encoder.stages.#.layers.#.layer.#.convolution" },
			{ "layers.norm", "encoder.stages.#.layers.#.layer.#.normalization" },
			{ "layers.shortcut", "encoder.stages.#.layers.#.shortcut.convolution" },
			{ "layers.shortcut.norm", "encoder.stages.#.layers.#.shortcut.normalization" },
			{ "layers.shortcut.mean", "encoder.stages.#.layers.#.shortcut.1.convolution" },
			{ "layers.shortcut.mean.norm", "encoder.stages.#.layers.#.shortcut.1.normalization" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", OF_DECODERS),
};

const struct dialect resnet_timm_names = {
	.name = "resnet-timm",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.conv", "conv1" }, { "stem.norm", "bn1" }, { "layers.conv", "layer#.#.conv#" },
		{ "layers.norm", "layer#.#.bn#" }, { "layers.shortcut", "layer#.#.downsample.0" },
		{ "layers.shortcut.norm", "layer#.#.downsample.1" }),
	.ignored = IGNORED("*.num_batches_tracked", "fc.*"),
	.inert = IGNORED("use_pretrained_backbone", "freeze_batch_norm_2d", "stage_names", OF_DECODERS),
};

// A timm model by itself, as published or as transformers saves it.
const struct dialect timm_wrapper_names = {
	.name = "timm-wrapper",
	.prefix = "timm_model.",
	.keys = KEYS({ "backbone", "architecture" }, { "num_labels", "num_classes" }),
	.weights = WEIGHTS({ "stem.conv", "@conv1" }, { "stem.norm", "@bn1" }, { "layers.conv", "@layer#.#.conv#" },
		{ "layers.norm", "@layer#.#.bn#" }, { "layers.shortcut", "@layer#.#.downsample.0" },
		{ "layers.shortcut.norm", "@layer#.#.downsample.1" }, { "head.image", "@fc" }),
	.ignored = IGNORED("*.num_batches_tracked", "*fc.*"),
	.inert = IGNORED("label_names", "label_descriptions", "num_features", "pretrained_cfg", "global_pool", OF_DECODERS),
};

// The lengths and names of other keys, and the size of images, which may be any.
#define OTHER_COUNTS "num_stages", "num_hidden_layers", "image_size", "stage_names", OF_DECODERS

#define CONVNEXT(word, start) \
	const struct dialect word##_names = { \
		.name = #word, \
		.prefix = start, \
		.keys = NO_KEYS, \
		.weights = WEIGHTS({ "stem.conv", "@embeddings.patch_embeddings" }, { "stem.norm", "@embeddings.layernorm" }, \
			{ "down.norm", "@encoder.stages.#.downsampling_layer.0" }, \
			{ "down.conv", "@encoder.stages.#.downsampling_layer.1" }, \
			{ "layers.conv", "@encoder.stages.#.layers.#.dwconv" }, \
			{ "layers.norm", "@encoder.stages.#.layers.#.layernorm" }, \
			{ "layers.up", "@encoder.stages.#.layers.#.pwconv1" }, \
			{ "layers.response", "@encoder.stages.#.layers.#.grn" }, \
			{ "layers.down", "@encoder.stages.#.layers.#.pwconv2" }, \
			{ "layers.scale", "@encoder.stages.#.layers.#.layer_scale_parameter" }, { "norm", "@layernorm" }, \
			{ "features.norm", "hidden_states_norms.stage#" }, { "features.norm.stem", "hidden_states_norms.stem" }, \
			{ "head.image", "classifier" }), \
		.ignored = IGNORED("*.num_batches_tracked"), \
		.inert = IGNORED(OTHER_COUNTS), \
	}
CONVNEXT(convnext, "convnext.");
CONVNEXT(convnextv2, "convnextv2.");

const struct dialect dinov3_convnext_names = {
	.name = "dinov3_convnext",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.conv", "@stages.0.downsample_layers.0" }, { "stem.norm", "@stages.0.downsample_layers.1" },
		{ "down.norm", "@stages.#.downsample_layers.0" }, { "down.conv", "@stages.#.downsample_layers.1" },
		{ "layers.conv", "@stages.#.layers.#.depthwise_conv" }, { "layers.norm", "@stages.#.layers.#.layer_norm" },
		{ "layers.up", "@stages.#.layers.#.pointwise_conv1" }, { "layers.down", "@stages.#.layers.#.pointwise_conv2" },
		{ "layers.scale", "@stages.#.layers.#.gamma" }, { "norm", "layer_norm" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED(OTHER_COUNTS),
};

#define STEP(canonical, file) \
	{ canonical ".conv", file ".convolution" }, \
	{ \
		canonical ".norm", file ".normalization" \
	}

const struct dialect mobilenet_v1_names = {
	.name = "mobilenet_v1",
	.prefix = "mobilenet_v1.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(STEP("stem", "@conv_stem"), STEP("layers", "@layer.#"), { "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "semantic_loss_ignore_index"),
};

const struct dialect mobilenet_v2_names = {
	.name = "mobilenet_v2",
	.prefix = "mobilenet_v2.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(STEP("stem.first", "@conv_stem.first_conv"), STEP("stem.wide", "@conv_stem.expand_1x1"),
		STEP("stem.middle", "@conv_stem.conv_3x3"), STEP("stem.narrow", "@conv_stem.reduce_1x1"),
		STEP("layers.wide", "@layer.#.expand_1x1"), STEP("layers.middle", "@layer.#.conv_3x3"),
		STEP("layers.narrow", "@layer.#.reduce_1x1"), STEP("last", "@conv_1x1"), { "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "semantic_loss_ignore_index"),
};

#define SEGFORMER_BODY \
	{ "patch", "@encoder.patch_embeddings.#.proj" }, { "patch.norm", "@encoder.patch_embeddings.#.layer_norm" }, \
		{ "layers.attn.norm", "@encoder.block.#.#.layer_norm_1" }, \
		{ "layers.attn.q", "@encoder.block.#.#.attention.self.query" }, \
		{ "layers.attn.k", "@encoder.block.#.#.attention.self.key" }, \
		{ "layers.attn.v", "@encoder.block.#.#.attention.self.value" }, \
		{ "layers.attn.o", "@encoder.block.#.#.attention.output.dense" }, \
		{ "layers.reduce", "@encoder.block.#.#.attention.self.sr" }, \
		{ "layers.reduce.norm", "@encoder.block.#.#.attention.self.layer_norm" }, \
		{ "layers.ffn.norm", "@encoder.block.#.#.layer_norm_2" }, { "layers.ffn.up", "@encoder.block.#.#.mlp.dense1" }, \
		{ "layers.ffn.conv", "@encoder.block.#.#.mlp.dwconv.dwconv" }, \
		{ "layers.ffn.down", "@encoder.block.#.#.mlp.dense2" }, \
	{ \
		"norm", "@encoder.layer_norm.#" \
	}

const struct dialect segformer_names = {
	.name = "segformer",
	.prefix = "segformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SEGFORMER_BODY, { "head.each", "decode_head.linear_c.#.proj" },
		{ "head.fuse", "decode_head.linear_fuse" }, { "head.norm", "decode_head.batch_norm" },
		{ "head.classes", "decode_head.classifier" }, { "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "semantic_loss_ignore_index", "layer_norm_eps", "downsampling_rates"),
};

const struct dialect poolformer_names = {
	.name = "poolformer",
	.prefix = "poolformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "patch", "@encoder.patch_embeddings.#.projection" },
		{ "layers.pool.norm", "@encoder.block.#.#.before_norm" },
		{ "layers.pool.scale", "@encoder.block.#.#.layer_scale_1" },
		{ "layers.ffn.norm", "@encoder.block.#.#.after_norm" }, { "layers.ffn.up", "@encoder.block.#.#.output.conv1" },
		{ "layers.ffn.down", "@encoder.block.#.#.output.conv2" },
		{ "layers.ffn.scale", "@encoder.block.#.#.layer_scale_2" }, { "head.norm", "norm" },
		{ "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "patch_size", "stride", "layer_scale_init_value"),
};

#define PVT_LAYER(at, attention) \
	{ "layers.attn.norm", at "layer_norm_1" }, { "layers.attn.q", attention "query" }, { "layers.attn.k", attention "key" }, \
		{ "layers.attn.v", attention "value" }, { "layers.reduce.norm", attention "layer_norm" }, \
		{ "layers.ffn.norm", at "layer_norm_2" }, { "layers.ffn.up", at "mlp.dense1" }, \
	{ \
		"layers.ffn.down", at "mlp.dense2" \
	}

const struct dialect pvt_names = {
	.name = "pvt",
	.prefix = "pvt.",
	.keys = KEYS({ "sr_ratios", "sequence_reduction_ratios" }, { "norm_eps", "layer_norm_eps" }),
	.weights = WEIGHTS(PVT_LAYER("@encoder.block.#.#.", "@encoder.block.#.#.attention.self."),
		{ "patch", "@encoder.patch_embeddings.#.projection" }, { "patch.norm", "@encoder.patch_embeddings.#.layer_norm" },
		{ "patch.position", "@encoder.patch_embeddings.#.position_embeddings" },
		{ "patch.class", "@encoder.patch_embeddings.#.cls_token" },
		{ "layers.attn.o", "@encoder.block.#.#.attention.output.dense" },
		{ "layers.reduce", "@encoder.block.#.#.attention.self.sequence_reduction" }, { "norm", "@encoder.layer_norm" },
		{ "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
};

const struct dialect pvt_v2_names = {
	.name = "pvt_v2",
	.prefix = "pvt_v2.",
	.keys = KEYS({ "norm_eps", "layer_norm_eps" }),
	.weights = WEIGHTS(PVT_LAYER("@encoder.layers.#.blocks.#.", "@encoder.layers.#.blocks.#.attention."),
		{ "patch", "@encoder.layers.#.patch_embedding.proj" },
		{ "patch.norm", "@encoder.layers.#.patch_embedding.layer_norm" },
		{ "layers.attn.o", "@encoder.layers.#.blocks.#.attention.proj" },
		{ "layers.reduce", "@encoder.layers.#.blocks.#.attention.spatial_reduction" },
		{ "layers.ffn.conv", "@encoder.layers.#.blocks.#.mlp.dwconv.dwconv" }, { "norm", "@encoder.layers.#.layer_norm" },
		{ "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", OF_DECODERS),
};

const struct dialect van_names = {
	.name = "van",
	.prefix = "van.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "patch", "@encoder.stages.#.embeddings.convolution" },
		{ "patch.norm", "@encoder.stages.#.embeddings.normalization" },
		{ "layers.attn.norm", "@encoder.stages.#.layers.#.pre_normomalization" }, // so written in every file
		{ "layers.attn.in", "@encoder.stages.#.layers.#.attention.pre_projection.conv" },
		{ "layers.attn.near", "@encoder.stages.#.layers.#.attention.attention_layer.attention.depth_wise" },
		{ "layers.attn.far", "@encoder.stages.#.layers.#.attention.attention_layer.attention.depth_wise_dilated" },
		{ "layers.attn.map", "@encoder.stages.#.layers.#.attention.attention_layer.attention.point_wise" },
		{ "layers.attn.out", "@encoder.stages.#.layers.#.attention.post_projection" },
		{ "layers.attn.scale", "@encoder.stages.#.layers.#.attention_scaling" },
		{ "layers.ffn.norm", "@encoder.stages.#.layers.#.post_normalization" },
		{ "layers.ffn.up", "@encoder.stages.#.layers.#.mlp.in_dense" },
		{ "layers.ffn.conv", "@encoder.stages.#.layers.#.mlp.depth_wise" },
		{ "layers.ffn.down", "@encoder.stages.#.layers.#.mlp.out_dense" },
		{ "layers.ffn.scale", "@encoder.stages.#.layers.#.mlp_scaling" }, { "norm", "@encoder.stages.#.normalization" },
		{ "head.image", "classifier" }),
	.ignored =
		IGNORED("*.num_batches_tracked", "*layernorm.weight", "*layernorm.bias"), // the class has it and does not use it
	.inert = IGNORED("image_size", "layer_scale_init_value"),
};

#define HGNET_STEP(canonical, file) \
	STEP(canonical, file), \
	{ \
		canonical ".affine", file ".lab" \
	}

const struct dialect hgnet_names = {
	.name = "hgnet",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(HGNET_STEP("stem.1", "embedder.stem1"), HGNET_STEP("stem.2a", "embedder.stem2a"),
		HGNET_STEP("stem.2b", "embedder.stem2b"), HGNET_STEP("stem.3", "embedder.stem3"),
		HGNET_STEP("stem.4", "embedder.stem4"), HGNET_STEP("down", "encoder.stages.#.downsample"),
		HGNET_STEP("layers.conv", "encoder.stages.#.blocks.#.layers.#"),
		HGNET_STEP("layers.point", "encoder.stages.#.blocks.#.layers.#.conv1"),
		HGNET_STEP("layers.channel", "encoder.stages.#.blocks.#.layers.#.conv2"),
		HGNET_STEP("layers.squeeze", "encoder.stages.#.blocks.#.aggregation.0"),
		HGNET_STEP("layers.excite", "encoder.stages.#.blocks.#.aggregation.1"), { "head.image", "fc" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", OF_DECODERS, "num_channels", "embedding_size",
		"hidden_sizes"), // other keys say it
};

const struct dialect textnet_names = {
	.name = "textnet",
	.prefix = "textnet.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.conv", "@stem.conv" }, { "stem.norm", "@stem.batch_norm" },
		{ "layers.main", "@encoder.stages.#.stage.#.main_conv" },
		{ "layers.main.norm", "@encoder.stages.#.stage.#.main_batch_norm" },
		{ "layers.vertical", "@encoder.stages.#.stage.#.vertical_conv" },
		{ "layers.vertical.norm", "@encoder.stages.#.stage.#.vertical_batch_norm" },
		{ "layers.horizontal", "@encoder.stages.#.stage.#.horizontal_conv" },
		{ "layers.horizontal.norm", "@encoder.stages.#.stage.#.horizontal_batch_norm" },
		{ "layers.identity.norm", "@encoder.stages.#.stage.#.rbr_identity" }, { "head.image", "fc" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "stage_names", OF_DECODERS, "depths"),
};

const struct dialect bit_names = {
	.name = "bit",
	.prefix = "bit.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.conv", "@embedder.convolution" }, { "stem.norm", "@embedder.norm" },
		{ "layers.conv.1", "@encoder.stages.#.layers.#.conv1" }, { "layers.norm.1", "@encoder.stages.#.layers.#.norm1" },
		{ "layers.conv.2", "@encoder.stages.#.layers.#.conv2" }, { "layers.norm.2", "@encoder.stages.#.layers.#.norm2" },
		{ "layers.conv.3", "@encoder.stages.#.layers.#.conv3" }, { "layers.norm.3", "@encoder.stages.#.layers.#.norm3" },
		{ "layers.shortcut", "@encoder.stages.#.layers.#.downsample.conv" },
		{ "layers.shortcut.norm", "@encoder.stages.#.layers.#.downsample.norm" }, { "norm", "@norm" },
		{ "head.image", "classifier.1" }),
	.ignored = IGNORED("*.num_batches_tracked", "bit.norm.*"), // of a backbone the last norm is not asked
	.inert = IGNORED("image_size", "stage_names", OF_DECODERS),
};

const struct dialect upernet_names = {
	.name = "upernet",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(UPER_NAMES("batch_norm")),
	.ignored = IGNORED("auxiliary_head.*", "*.num_batches_tracked"), // of training
	.inert = IGNORED("use_auxiliary_head", "auxiliary_*", "loss_ignore_index", "use_pretrained_backbone", "use_timm_backbone",
		"backbone_kwargs"),
};

#define FUSE(n) "decoder.stages.#.fusion.convolutional_layer" #n
const struct dialect glpn_names = {
	.name = "glpn",
	.prefix = "glpn.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SEGFORMER_BODY, { "decoder.narrow", "decoder.stages.#.convolution" },
		{ "decoder.fuse.1", FUSE(1) ".0" }, { "decoder.fuse.1.norm", FUSE(1) ".1" }, { "decoder.fuse.2", FUSE(2) ".0" },
		{ "decoder.fuse.2.norm", FUSE(2) ".1" }, { "decoder.fuse.3", FUSE(3) }, { "head.depth.1", "head.head.0" },
		{ "head.depth.2", "head.head.2" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "layer_norm_eps", "downsampling_rates", "max_depth", "head_in_index"),
};

#define SWIFT_CONV(canonical, at) \
	{ canonical "conv", at "depth_wise_conv" }, { canonical "norm", at "norm" }, { canonical "up", at "point_wise_conv1" }, \
		{ canonical "down", at "point_wise_conv2" }, \
	{ \
		canonical "scale", at "layer_scale" \
	}
#define SWIFT_BLOCK "@encoder.network.#.blocks.#."

const struct dialect swiftformer_names = {
	.name = "swiftformer",
	.prefix = "swiftformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.1", "@patch_embed.patch_embedding.0" }, { "stem.1.norm", "@patch_embed.patch_embedding.1" },
		{ "stem.2", "@patch_embed.patch_embedding.3" }, { "stem.2.norm", "@patch_embed.patch_embedding.4" },
		{ "down", "@encoder.network.#.proj" }, { "down.norm", "@encoder.network.#.norm" },
		SWIFT_CONV("layers.", SWIFT_BLOCK), SWIFT_CONV("layers.local.", SWIFT_BLOCK "local_representation."),
		{ "layers.attn.q", SWIFT_BLOCK "attn.to_query" }, { "layers.attn.k", SWIFT_BLOCK "attn.to_key" },
		{ "layers.attn.proj", SWIFT_BLOCK "attn.proj" }, { "layers.attn.final", SWIFT_BLOCK "attn.final" },
		{ "layers.attn.scale", SWIFT_BLOCK "layer_scale_1" }, { "layers.ffn.norm", SWIFT_BLOCK "linear.norm1" },
		{ "layers.ffn.up", SWIFT_BLOCK "linear.fc1" }, { "layers.ffn.down", SWIFT_BLOCK "linear.fc2" },
		{ "layers.ffn.scale", SWIFT_BLOCK "layer_scale_2" }, { "head.norm", "norm" }, { "head.image", "head" },
		{ "head.image.distillation", "dist_head" }),
	.ignored = IGNORED("*.num_batches_tracked", "*.attn.w_g"), // weighs queries by a softmax over one number
	.inert = IGNORED("image_size", "layer_scale_init_value", "drop_*"),
};

#define EFFICIENTNET_BLOCKS \
	{ "stem.conv", "@embeddings.convolution" }, { "stem.norm", "@embeddings.batchnorm" }, \
		{ "layers.wide", "@encoder.blocks.#.expansion.expand_conv" }, \
		{ "layers.wide.norm", "@encoder.blocks.#.expansion.expand_bn" }, \
		{ "layers.middle", "@encoder.blocks.#.depthwise_conv.depthwise_conv" }, \
		{ "layers.middle.norm", "@encoder.blocks.#.depthwise_conv.depthwise_norm" }, \
		{ "layers.gate.down", "@encoder.blocks.#.squeeze_excite.reduce" }, \
		{ "layers.gate.up", "@encoder.blocks.#.squeeze_excite.expand" }, \
		{ "layers.narrow", "@encoder.blocks.#.projection.project_conv" }, \
	{ \
		"layers.narrow.norm", "@encoder.blocks.#.projection.project_bn" \
	}

const struct dialect align_vision_names = {
	.name = "align-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(EFFICIENTNET_BLOCKS),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("is_encoder_decoder", "image_size", "num_hidden_layers", "batch_norm_momentum", "drop_connect_rate"),
};

const struct dialect efficientnet_names = {
	.name = "efficientnet",
	.prefix = "efficientnet.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(EFFICIENTNET_BLOCKS, { "last", "@encoder.top_conv" }, { "last.norm", "@encoder.top_bn" },
		{ "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "num_hidden_layers", "batch_norm_momentum", "drop_connect_rate"),
};

#define CVT_LAYER "@encoder.stages.#.layers.#."
#define CVT_PROJECTION(which, word) \
	{ "layers.attn." which, CVT_LAYER "attention.attention.projection_" word }, \
		{ "layers.attn." which ".conv", \
			CVT_LAYER "attention.attention.convolution_projection_" word ".convolution_projection.convolution" }, \
	{ \
		"layers.attn." which ".norm", \
			CVT_LAYER "attention.attention.convolution_projection_" word ".convolution_projection.normalization" \
	}

const struct dialect cvt_names = {
	.name = "cvt",
	.prefix = "cvt.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "patch", "@encoder.stages.#.embedding.convolution_embeddings.projection" },
		{ "patch.norm", "@encoder.stages.#.embedding.convolution_embeddings.normalization" },
		{ "patch.class", "@encoder.stages.#.cls_token" }, { "layers.attn.norm", CVT_LAYER "layernorm_before" },
		CVT_PROJECTION("q", "query"), CVT_PROJECTION("k", "key"), CVT_PROJECTION("v", "value"),
		{ "layers.attn.o", CVT_LAYER "attention.output.dense" }, { "layers.ffn.norm", CVT_LAYER "layernorm_after" },
		{ "layers.ffn.up", CVT_LAYER "intermediate.dense" }, { "layers.ffn.down", CVT_LAYER "output.dense" },
		{ "head.norm", "layernorm" }, { "head.image", "classifier" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "layer_norm_eps", "*drop_rate"),
};

#define FOCAL_LAYER "@encoder.stages.#.layers.#."

const struct dialect focalnet_names = {
	.name = "focalnet",
	.prefix = "focalnet.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "patch", "@embeddings.patch_embeddings.projection" }, { "patch.norm", "@embeddings.norm" },
		{ "down", "@encoder.stages.#.downsample.projection" }, { "down.norm", "@encoder.stages.#.downsample.norm" },
		{ "layers.norm.1", FOCAL_LAYER "norm1" }, { "layers.norm.2", FOCAL_LAYER "norm2" },
		{ "layers.scale.1", FOCAL_LAYER "gamma_1" }, { "layers.scale.2", FOCAL_LAYER "gamma_2" },
		{ "layers.in", FOCAL_LAYER "modulation.projection_in" },
		{ "layers.focal", FOCAL_LAYER "modulation.focal_layers.#.0" },
		{ "layers.context", FOCAL_LAYER "modulation.projection_context" },
		{ "layers.modulated.norm", FOCAL_LAYER "modulation.layernorm" },
		{ "layers.out", FOCAL_LAYER "modulation.projection_out" }, { "layers.ffn.up", FOCAL_LAYER "mlp.fc1" },
		{ "layers.ffn.down", FOCAL_LAYER "mlp.fc2" }, { "norm", "@layernorm" }, { "head.image", "classifier" }),
	.ignored = IGNORED("*embeddings.mask_token"),
	.inert = IGNORED("hidden_sizes", "encoder_stride", "layerscale_value", "stage_names", OF_DECODERS),
};

#define LEVIT_LAYER "@encoder.stages.#.layers.#."
#define LEVIT_NORMED(canonical, file) \
	{ canonical ".linear", file ".linear" }, \
	{ \
		canonical ".norm", file ".batch_norm" \
	}

const struct dialect levit_names = {
	.name = "levit",
	.prefix = "levit.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem", "@patch_embeddings.embedding_layer_#.convolution" },
		{ "stem.norm", "@patch_embeddings.embedding_layer_#.batch_norm" },
		LEVIT_NORMED("layers.attn.qkv", LEVIT_LAYER "module.queries_keys_values"),
		LEVIT_NORMED("layers.attn.o", LEVIT_LAYER "module.projection"),
		{ "layers.attn.bias", LEVIT_LAYER "module.attention_biases" },
		LEVIT_NORMED("layers.attn.kv", LEVIT_LAYER "keys_values"), LEVIT_NORMED("layers.attn.q", LEVIT_LAYER "queries"),
		LEVIT_NORMED("layers.attn.o", LEVIT_LAYER "projection"), { "layers.attn.bias", LEVIT_LAYER "attention_biases" },
		LEVIT_NORMED("layers.ffn.up", LEVIT_LAYER "module.linear_up"),
		LEVIT_NORMED("layers.ffn.down", LEVIT_LAYER "module.linear_down"), { "head.norm", "classifier.batch_norm" },
		{ "head.image", "classifier.linear" }, { "head.norm.distillation", "classifier_distill.batch_norm" },
		{ "head.image.distillation", "classifier_distill.linear" }),
	.ignored = IGNORED("*.num_batches_tracked", "*.attention_bias_idxs"),
};

#define MOBILE_STAGE "@encoder.layer.#."
#define MOBILE_LAYER "@encoder.layer.#.transformer.layer.#."
#define MOBILE_PYRAMID "segmentation_head.aspp."
#define MOBILEVIT_BODY \
	STEP("stem", "@conv_stem"), STEP("layers.wide", MOBILE_STAGE "layer.#.expand_1x1"), \
		STEP("layers.middle", MOBILE_STAGE "layer.#.conv_3x3"), \
		STEP("layers.narrow", MOBILE_STAGE "layer.#.reduce_1x1"), \
		STEP("down.wide", MOBILE_STAGE "downsampling_layer.expand_1x1"), \
		STEP("down.middle", MOBILE_STAGE "downsampling_layer.conv_3x3"), \
		STEP("down.narrow", MOBILE_STAGE "downsampling_layer.reduce_1x1"), STEP("near", MOBILE_STAGE "conv_kxk"), \
		{ "in", MOBILE_STAGE "conv_1x1.convolution" }, { "norm", MOBILE_STAGE "layernorm" }, \
		{ "layers.attn.norm", MOBILE_LAYER "layernorm_before" }, { "layers.ffn.norm", MOBILE_LAYER "layernorm_after" }, \
		STEP("out", MOBILE_STAGE "conv_projection"), STEP("pyramid", MOBILE_PYRAMID "convs.#"), \
		STEP("pyramid.mean", MOBILE_PYRAMID "convs.4.conv_1x1"), STEP("pyramid.joined", MOBILE_PYRAMID "project"), \
		{ "head.classes", "segmentation_head.classifier.convolution" }, \
	{ \
		"head.image", "classifier" \
	}

const struct dialect mobilevit_names = {
	.name = "mobilevit",
	.prefix = "mobilevit.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(MOBILEVIT_BODY, { "layers.attn.q", MOBILE_LAYER "attention.attention.query" },
		{ "layers.attn.k", MOBILE_LAYER "attention.attention.key" },
		{ "layers.attn.v", MOBILE_LAYER "attention.attention.value" },
		{ "layers.attn.o", MOBILE_LAYER "attention.output.dense" },
		{ "layers.ffn.up", MOBILE_LAYER "intermediate.dense" }, { "layers.ffn.down", MOBILE_LAYER "output.dense" },
		STEP("fused", MOBILE_STAGE "fusion"), STEP("last", "@conv_1x1_exp")),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "semantic_loss_ignore_index"),
};

const struct dialect mobilevitv2_names = {
	.name = "mobilevitv2",
	.prefix = "mobilevitv2.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(MOBILEVIT_BODY, { "layers.attn.qkv", MOBILE_LAYER "attention.qkv_proj.convolution" },
		{ "layers.attn.o", MOBILE_LAYER "attention.out_proj.convolution" },
		{ "layers.ffn.up", MOBILE_LAYER "ffn.conv1.convolution" },
		{ "layers.ffn.down", MOBILE_LAYER "ffn.conv2.convolution" }),
	.ignored = IGNORED("*.num_batches_tracked"),
	.inert = IGNORED("image_size", "semantic_loss_ignore_index"),
};

#define EFFICIENTFORMER_POOLED(stem, file) \
	{ stem ".scale", file "layer_scale_1" }, { stem ".ffn.scale", file "layer_scale_2" }, \
		{ stem ".ffn.up", file "mlp.convolution1" }, { stem ".ffn.up.norm", file "mlp.batchnorm_before" }, \
		{ stem ".ffn.down", file "mlp.convolution2" }, \
	{ \
		stem ".ffn.down.norm", file "mlp.batchnorm_after" \
	}
#define EFFICIENTFORMER_LAST "@encoder.last_stage.meta3D_layers.blocks.#."

const struct dialect efficientformer_names = {
	.name = "efficientformer",
	.prefix = "efficientformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "stem.0", "@patch_embed.convolution1" }, { "stem.0.norm", "@patch_embed.batchnorm_before" },
		{ "stem.1", "@patch_embed.convolution2" }, { "stem.1.norm", "@patch_embed.batchnorm_after" },
		EFFICIENTFORMER_POOLED("layers", "@encoder.intermediate_stages.#.meta4D_layers.blocks.#."),
		EFFICIENTFORMER_POOLED("last", "@encoder.last_stage.meta4D_layers.blocks.#."),
		{ "down", "@encoder.intermediate_stages.#.projection" }, { "down.norm", "@encoder.intermediate_stages.#.norm" },
		{ "tokens.scale", EFFICIENTFORMER_LAST "layer_scale_1" },
		{ "tokens.ffn.scale", EFFICIENTFORMER_LAST "layer_scale_2" },
		{ "tokens.attn.norm", EFFICIENTFORMER_LAST "layernorm1" },
		{ "tokens.attn.qkv", EFFICIENTFORMER_LAST "token_mixer.qkv" },
		{ "tokens.attn.bias", EFFICIENTFORMER_LAST "token_mixer.attention_biases" },
		{ "tokens.attn.o", EFFICIENTFORMER_LAST "token_mixer.projection" },
		{ "tokens.ffn.norm", EFFICIENTFORMER_LAST "layernorm2" },
		{ "tokens.ffn.up", EFFICIENTFORMER_LAST "mlp.linear_in" },
		{ "tokens.ffn.down", EFFICIENTFORMER_LAST "mlp.linear_out" }, { "norm", "@layernorm" },
		{ "head.image", "classifier" }, { "head.image.distillation", "distillation_classifier" }),
	.ignored = IGNORED("*.num_batches_tracked", "*.attention_bias_idxs"),
	.inert = IGNORED("num_hidden_layers", "patch_size", "distillation", "layer_scale_init_value"),
};
