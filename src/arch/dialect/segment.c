// SPDX-License-Identifier: Apache-2.0
// What checkpoints of models that segment what is pointed at call things.
#include "arch/dialect.h"

#define SAM_ATTENTION(stem, file, o) \
	{ stem ".q", file ".q_proj" }, { stem ".k", file ".k_proj" }, { stem ".v", file ".v_proj" }, \
	{ \
		stem ".o", file "." o \
	}
#define SAM_FEED(stem, file) \
	{ stem ".in", file ".proj_in" }, { stem ".layer", file ".layers.#" }, \
	{ \
		stem ".out", file ".proj_out" \
	}
#define SAM_UP(stem, file, norm) \
	{ stem ".1", file "1" }, { stem ".norm", norm }, \
	{ \
		stem ".2", file "2" \
	}
#define SAM_LAYER "mask_decoder.transformer.layers.#."
#define SAM_DECODER(o) \
	{ "places.map", "shared_image_embedding.positional_embedding" }, { "prompt.none", "prompt_encoder.not_a_point_embed" }, \
		{ "prompt.no_mask", "prompt_encoder.no_mask_embed" }, { "tokens.score", "mask_decoder.iou_token" }, \
		{ "tokens.masks", "mask_decoder.mask_tokens" }, SAM_ATTENTION("layers.self", SAM_LAYER "self_attn", o), \
		{ "layers.self.norm", SAM_LAYER "layer_norm1" }, \
		SAM_ATTENTION("layers.to_map", SAM_LAYER "cross_attn_token_to_image", o), \
		{ "layers.to_map.norm", SAM_LAYER "layer_norm2" }, { "layers.ffn.norm", SAM_LAYER "layer_norm3" }, \
		SAM_ATTENTION("layers.from_map", SAM_LAYER "cross_attn_image_to_token", o), \
		{ "layers.from_map.norm", SAM_LAYER "layer_norm4" }, \
		SAM_ATTENTION("final", "mask_decoder.transformer.final_attn_token_to_image", o), \
		{ "final.norm", "mask_decoder.transformer.layer_norm_final_attn" }, \
		SAM_UP("upscale", "mask_decoder.upscale_conv", "mask_decoder.upscale_layer_norm"), \
		SAM_FEED("hyper", "mask_decoder.output_hypernetworks_mlps.#"), \
		SAM_FEED("scores", "mask_decoder.iou_prediction_head")
#define SAM_FIRST \
	SAM_DECODER("out_proj"), { "prompt.label", "prompt_encoder.point_embed.#" }, \
		{ "places.points", "shared_image_embedding.positional_embedding" }, { "layers.ffn.in", SAM_LAYER "mlp.lin1" }, \
	{ \
		"layers.ffn.out", SAM_LAYER "mlp.lin2" \
	}
#define SAM_IGNORED \
	"prompt_encoder.mask_embed.*", "prompt_encoder.point_embed.*", "prompt_encoder.shared_embedding.positional_embedding"
#define SAM_INERT "is_encoder_decoder", "mask_input_channels", "num_point_embeddings", "hidden_act", "layer_norm_eps"

const struct dialect sam_names = {
	.name = "sam",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SAM_FIRST),
	.ignored = IGNORED(SAM_IGNORED),
	.inert = IGNORED(SAM_INERT),
};

const struct dialect sam_hq_names = {
	.name = "sam-hq",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SAM_FIRST, { "tokens.fine", "mask_decoder.hq_token" },
		SAM_UP("fine.map", "mask_decoder.encoder_conv", "mask_decoder.encoder_norm"),
		SAM_UP("fine.state", "mask_decoder.compress_vit_conv", "mask_decoder.compress_vit_norm"),
		{ "fine.1", "mask_decoder.mask_conv1" }, { "fine.1.norm", "mask_decoder.mask_norm" },
		{ "fine.2", "mask_decoder.mask_conv2" }, SAM_FEED("hyper.fine", "mask_decoder.hq_mask_mlp")),
	.ignored = IGNORED(SAM_IGNORED),
	.inert = IGNORED(SAM_INERT),
};

const struct dialect sam2_names = {
	.name = "sam2",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SAM_DECODER("o_proj"), { "prompt.labels", "prompt_encoder.point_embed" },
		{ "places.points", "prompt_encoder.shared_embedding.positional_embedding" },
		SAM_FEED("layers.ffn", SAM_LAYER "mlp"), { "tokens.there", "mask_decoder.obj_score_token" },
		{ "no_memory", "no_memory_embedding" }, { "finer.0", "mask_decoder.conv_s0" },
		{ "finer.1", "mask_decoder.conv_s1" }, SAM_FEED("there", "mask_decoder.pred_obj_score_head")),
	// The rest of a video's model.
	.ignored = IGNORED("prompt_encoder.mask_embed.*", "memory_*", "mask_downsample*", "object_pointer_proj*",
		"temporal_positional_encoding_projection_layer*", "no_memory_positional_encoding", "no_object_pointer",
		"occlusion_spatial_embedding_parameter"),
	.inert = IGNORED(
		"is_encoder_decoder", "mask_input_channels", "hidden_act", "layer_norm_eps", "scale", "dynamic_multimask_*"),
};

const struct dialect sam2_hiera_names = {
	.name = "sam2-hiera",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "@patch_embed.projection" }, { "embed.position", "@pos_embed" },
		{ "embed.window", "@pos_embed_window" }, { "layers.attn.norm", "@blocks.#.layer_norm1" },
		{ "layers.attn.qkv", "@blocks.#.attn.qkv" }, { "layers.attn.o", "@blocks.#.attn.proj" },
		{ "layers.project", "@blocks.#.proj" }, { "layers.ffn.norm", "@blocks.#.layer_norm2" },
		{ "layers.ffn.up", "@blocks.#.mlp.proj_in" }, { "layers.ffn.down", "@blocks.#.mlp.proj_out" }),
	.inert = IGNORED("is_encoder_decoder", "num_attention_heads"),
};

const struct dialect sam3_vit_names = {
	.name = "sam3-vit",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "@embeddings.patch_embeddings.projection" },
		{ "embed.position", "@embeddings.position_embeddings" }, { "embed.norm", "@layer_norm" },
		{ "layers.attn.norm", "@layers.#.layer_norm1" }, { "layers.attn.q", "@layers.#.attention.q_proj" },
		{ "layers.attn.k", "@layers.#.attention.k_proj" }, { "layers.attn.v", "@layers.#.attention.v_proj" },
		{ "layers.attn.o", "@layers.#.attention.o_proj" }, { "layers.ffn.norm", "@layers.#.layer_norm2" },
		{ "layers.ffn.up", "@layers.#.mlp.fc1" }, { "layers.ffn.down", "@layers.#.mlp.fc2" }),
	.ignored = IGNORED("*rotary_emb.*"),
	.inert = IGNORED("is_encoder_decoder", "layer_scale_init_value"),
};

const struct dialect sam3_vision_names = {
	.name = "sam3-vision",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "neck.up.1", "@neck.fpn_layers.#.scale_layers.0" },
		{ "neck.up.2", "@neck.fpn_layers.#.scale_layers.2" }, { "neck.1", "@neck.fpn_layers.#.proj1" },
		{ "neck.2", "@neck.fpn_layers.#.proj2" }),
	.ignored = IGNORED("*rotary_emb.*"),
	.inert = IGNORED("is_encoder_decoder", "hidden_act", "layer_norm_eps", "backbone_feature_sizes"),
};

// Files of the model for films have this one's names after a prefix, and a tracker beside them.
const struct dialect sam3_names = {
	.name = "sam3",
	.prefix = "detector_model.",
	.keys = KEYS({ "num_layers", "num_layers" }, { "num_layers", "num_hidden_layers" }),
	.weights = WEIGHTS({ "prompt", "@text_projection" },
		SAM_ATTENTION("encoder.attn", "@detr_encoder.layers.#.self_attn", "o_proj"),
		{ "encoder.attn.norm", "@detr_encoder.layers.#.layer_norm1" },
		SAM_ATTENTION("encoder.cross", "@detr_encoder.layers.#.cross_attn", "o_proj"),
		{ "encoder.cross.norm", "@detr_encoder.layers.#.layer_norm2" },
		{ "encoder.ffn.up", "@detr_encoder.layers.#.mlp.fc1" }, { "encoder.ffn.down", "@detr_encoder.layers.#.mlp.fc2" },
		{ "encoder.ffn.norm", "@detr_encoder.layers.#.layer_norm3" },
		SAM_ATTENTION("decoder.attn", "@detr_decoder.layers.#.self_attn", "o_proj"),
		{ "decoder.attn.norm", "@detr_decoder.layers.#.self_attn_layer_norm" },
		SAM_ATTENTION("decoder.text", "@detr_decoder.layers.#.text_cross_attn", "o_proj"),
		{ "decoder.text.norm", "@detr_decoder.layers.#.text_cross_attn_layer_norm" },
		SAM_ATTENTION("decoder.cross", "@detr_decoder.layers.#.vision_cross_attn", "o_proj"),
		{ "decoder.cross.norm", "@detr_decoder.layers.#.vision_cross_attn_layer_norm" },
		{ "decoder.ffn.up", "@detr_decoder.layers.#.mlp.fc1" }, { "decoder.ffn.down", "@detr_decoder.layers.#.mlp.fc2" },
		{ "decoder.ffn.norm", "@detr_decoder.layers.#.mlp_layer_norm" },
		{ "decoder.norm", "@detr_decoder.output_layer_norm" }, { "decoder.presence", "@detr_decoder.presence_token" },
		{ "decoder.queries", "@detr_decoder.query_embed" }, { "decoder.boxes", "@detr_decoder.reference_points" },
		{ "decoder.place", "@detr_decoder.ref_point_head.layer#" }, { "decoder.move", "@detr_decoder.box_head.layer#" },
		{ "decoder.rows", "@detr_decoder.box_rpb_embed_y.layer#" },
		{ "decoder.columns", "@detr_decoder.box_rpb_embed_x.layer#" },
		{ "presence", "@detr_decoder.presence_head.layer#" }, { "presence.norm", "@detr_decoder.presence_layer_norm" },
		{ "scores.text", "@dot_product_scoring.text_mlp.layer#" },
		{ "scores.text.norm", "@dot_product_scoring.text_mlp_out_norm" },
		{ "scores.text.out", "@dot_product_scoring.text_proj" }, { "scores.queries", "@dot_product_scoring.query_proj" },
		SAM_ATTENTION("masks.cross", "@mask_decoder.prompt_cross_attn", "o_proj"),
		{ "masks.cross.norm", "@mask_decoder.prompt_cross_attn_norm" },
		{ "masks.conv", "@mask_decoder.pixel_decoder.conv_layers.#" },
		{ "masks.norm", "@mask_decoder.pixel_decoder.norms.#" }, { "masks.map", "@mask_decoder.instance_projection" },
		{ "masks.queries", "@mask_decoder.mask_embedder.layers.#" },
		{ "masks.semantic", "@mask_decoder.semantic_projection" }),
	.ignored = IGNORED("*geometry_encoder.*", "*text_encoder.text_projection.weight", "*rotary_emb.*",
		"*mask_decoder.pixel_decoder.conv_layers.*", "*mask_decoder.pixel_decoder.norms.*", "tracker_model.*",
		"tracker_neck.*", "*position_ids"),
	.inert = IGNORED("is_encoder_decoder", "geometry_encoder_config", "layer_norm_eps"),
};

const struct dialect sam2_vision_names = {
	.name = "sam2-vision",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "neck", "@neck.convs.#" }),
	.inert = IGNORED("is_encoder_decoder", "hidden_act", "layer_norm_eps", "backbone_feature_sizes"),
};
