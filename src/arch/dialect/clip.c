// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the dual towers and their kin call things. A tower by itself may or may not have its place in the whole
// model ("text_model.") before its names.
#include "arch/dialect.h"

#define TOWER_LAYERS LAYERS_BELOW("@encoder.layers.#.")
#define LAYERS_BELOW(at) \
	{ "layers.attn.norm", at "layer_norm1" }, { "layers.attn.q", at "self_attn.q_proj" }, \
		{ "layers.attn.k", at "self_attn.k_proj" }, { "layers.attn.v", at "self_attn.v_proj" }, \
		{ "layers.attn.o", at "self_attn.out_proj" }, { "layers.ffn.norm", at "layer_norm2" }, \
		{ "layers.ffn.up", at "mlp.fc1" }, \
	{ \
		"layers.ffn.down", at "mlp.fc2" \
	}

#define TEXT_TOWER \
	TOWER_LAYERS, { "embed.word", "@embeddings.token_embedding" }, { "embed.position", "@embeddings.position_embedding" }, \
	{ \
		"norm", "@final_layer_norm" \
	}

#define VISION_TOWER \
	TOWER_LAYERS, { "embed.patch", "@embeddings.patch_embedding" }, { "embed.position", "@embeddings.position_embedding" }, \
	{ \
		"norm", "@post_layernorm" \
	}

const struct dialect clip_text_names = {
	.name = "clip-text",
	.prefix = "text_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(TEXT_TOWER, { "head.projection", "text_projection" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect clip_vision_names = {
	.name = "clip-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, { "embed.class", "@embeddings.class_embedding" },
		{ "embed.norm", "@pre_layrnorm" }, // so written in every file
		{ "head.projection", "visual_projection" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect idefics_vision_names = {
	.name = "idefics-vision",
	.prefix = "vision_model.",
	.keys = KEYS({ "hidden_size", "embed_dim" }, { "hidden_size", "hidden_size" }),
	.weights = WEIGHTS(VISION_TOWER, { "embed.class", "@embeddings.class_embedding" }, { "embed.norm", "@pre_layrnorm" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("vision_model_name", "is_encoder_decoder"),
};

const struct dialect kosmos_vision_names = {
	.name = "kosmos-vision",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, { "embed.class", "@embeddings.class_embedding" }, { "embed.norm", "@pre_layrnorm" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("initializer_factor"),
};

const struct dialect mlcd_vision_names = {
	.name = "mlcd-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, { "embed.class", "@embeddings.class_embedding" }, { "embed.norm", "@pre_layrnorm" },
		{ "rope.class", "@class_pos_emb" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("initializer_factor"),
};

#define AIMV2_TOWER \
	{ "embed.patch", "@embeddings.patch_embedding" }, { "embed.norm", "@embeddings.rms_norm" }, \
		{ "embed.position", "@embeddings.position_embedding" }, { "layers.attn.norm", "@encoder.layers.#.rms_norm1" }, \
		{ "layers.attn.q", "@encoder.layers.#.attention.q_proj" }, \
		{ "layers.attn.k", "@encoder.layers.#.attention.k_proj" }, \
		{ "layers.attn.v", "@encoder.layers.#.attention.v_proj" }, \
		{ "layers.attn.o", "@encoder.layers.#.attention.out_proj" }, \
		{ "layers.ffn.norm", "@encoder.layers.#.rms_norm2" }, { "layers.ffn.gate", "@encoder.layers.#.ffn.gate_proj" }, \
		{ "layers.ffn.up", "@encoder.layers.#.ffn.up_proj" }, { "layers.ffn.down", "@encoder.layers.#.ffn.down_proj" }, \
	{ \
		"norm", "@rms_norm" \
	}

const struct dialect aimv2_vision_names = {
	.name = "aimv2-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "@embeddings.patch_embed" }, AIMV2_TOWER, { "pooler.query", "@head.cls_token" },
		{ "pooler.k", "@head.k_proj" }, { "pooler.v", "@head.v_proj" }, { "pooler.o", "@head.output_proj" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect aimv2_text_names = {
	.name = "aimv2-text",
	.prefix = "text_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.token_embedding" }, AIMV2_TOWER),
	.ignored = IGNORED("*embeddings.position_ids"),
};

// The same; transformers 5 writes "layer" where published files have "layers".
const struct dialect altclip_vision_names = {
	.name = "altclip-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, LAYERS_BELOW("@encoder.layer.#."), { "embed.class", "@embeddings.class_embedding" },
		{ "embed.norm", "@pre_layrnorm" }, { "head.projection", "visual_projection" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

// XLM-RoBERTa with another last norm and a projection of every token
const struct dialect altclip_text_names = {
	.name = "altclip-text",
	.prefix = "text_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@roberta.embeddings.word_embeddings" },
		{ "embed.position", "@roberta.embeddings.position_embeddings" },
		{ "embed.type", "@roberta.embeddings.token_type_embeddings" }, { "embed.norm", "@roberta.embeddings.LayerNorm" },
		{ "layers.attn.q", "@roberta.encoder.layers.#.attention.self.query" },
		{ "layers.attn.k", "@roberta.encoder.layers.#.attention.self.key" },
		{ "layers.attn.v", "@roberta.encoder.layers.#.attention.self.value" },
		{ "layers.attn.o", "@roberta.encoder.layers.#.attention.output.dense" },
		{ "layers.attn.norm", "@roberta.encoder.layers.#.attention.output.LayerNorm" },
		{ "layers.ffn.up", "@roberta.encoder.layers.#.intermediate.dense" },
		{ "layers.ffn.down", "@roberta.encoder.layers.#.output.dense" },
		{ "layers.ffn.norm", "@roberta.encoder.layers.#.output.LayerNorm" },
		{ "layers.attn.q", "@roberta.encoder.layer.#.attention.self.query" },
		{ "layers.attn.k", "@roberta.encoder.layer.#.attention.self.key" },
		{ "layers.attn.v", "@roberta.encoder.layer.#.attention.self.value" },
		{ "layers.attn.o", "@roberta.encoder.layer.#.attention.output.dense" },
		{ "layers.attn.norm", "@roberta.encoder.layer.#.attention.output.LayerNorm" },
		{ "layers.ffn.up", "@roberta.encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@roberta.encoder.layer.#.output.dense" },
		{ "layers.ffn.norm", "@roberta.encoder.layer.#.output.LayerNorm" }, { "norm", "@pre_LN" },
		{ "project", "@transformation" }),
	.ignored = IGNORED("*embeddings.position_ids", "*roberta.pooler.*"),
};

const struct dialect blip_vision_names = {
	.name = "blip-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.class", "@embeddings.class_embedding" }, { "embed.patch", "@embeddings.patch_embedding" },
		{ "embed.position", "@embeddings.position_embedding" }, { "layers.attn.norm", "@encoder.layers.#.layer_norm1" },
		{ "layers.attn.qkv", "@encoder.layers.#.self_attn.qkv" },
		{ "layers.attn.o", "@encoder.layers.#.self_attn.projection" },
		{ "layers.ffn.norm", "@encoder.layers.#.layer_norm2" }, { "layers.ffn.up", "@encoder.layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@encoder.layers.#.mlp.fc2" }, { "norm", "@post_layernorm" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("projection_dim"),
};

const struct dialect tipsv2_text_names = {
	.name = "tipsv2-text",
	.prefix = "text_encoder.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@token_embedding" }, { "layers.attn.norm", "@transformer.resblocks.#.ln_1" },
		{ "layers.attn", "@transformer.resblocks.#.attn" }, { "layers.attn.o", "@transformer.resblocks.#.attn.out_proj" },
		{ "layers.ffn.norm", "@transformer.resblocks.#.ln_2" }, { "layers.ffn.up", "@transformer.resblocks.#.mlp.c_fc" },
		{ "layers.ffn.down", "@transformer.resblocks.#.mlp.c_proj" }, { "norm", "@ln_final" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect siglip_text_names = {
	.name = "siglip-text",
	.prefix = "text_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(TEXT_TOWER, { "pooler", "@head" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect janus_vision_names = {
	.name = "janus-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, { "layers.attn.o", "@encoder.layers.#.self_attn.projection_layer" },
		{ "pooler.probe", "@head.probe" }, { "pooler.attn", "@head.attention" }, // there is none
		{ "pooler.attn.o", "@head.attention.out_proj" }, { "pooler.norm", "@head.layernorm" },
		{ "pooler.up", "@head.mlp.fc1" }, { "pooler.down", "@head.mlp.fc2" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("projection_dim", "depth", "num_image_tokens", "*dropout*"),
};

// AIMv2's with what it has after "transformer."
const struct dialect ovis2_vision_names = {
	.name = "ovis2-vision",
	.prefix = "transformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(AIMV2_TOWER),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("hidden_stride", "num_visual_indicator_tokens", "tokenize_function"),
};

const struct dialect siglip_vision_names = {
	.name = "siglip-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, { "pooler.probe", "@head.probe" }, { "pooler.attn", "@head.attention" },
		{ "pooler.attn.o", "@head.attention.out_proj" }, { "pooler.norm", "@head.layernorm" },
		{ "pooler.up", "@head.mlp.fc1" }, { "pooler.down", "@head.mlp.fc2" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("projection_dim"),
};

// A part of the connector is for pictures that are read more finely, which a graph's are not.
const struct dialect granite_docling_vision_names = {
	.name = "granite-docling-vision",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, { "connector.norm", "@connector.ln_in" },
		{ "connector.1", "@connector.coarse.projection" }, { "connector.middle.norm", "@connector.ln_mid" },
		{ "connector.2", "@connector.mlp_fc2" }, { "connector.last.norm", "@connector.ln_out" },
		{ "deep.norm", "@connector.coarse.deepstack_mergers.#.layer_norm" },
		{ "deep.1", "@connector.coarse.deepstack_mergers.#.linear_1" },
		{ "deep.2", "@connector.coarse.deepstack_mergers.#.linear_2" }),
	.ignored = IGNORED("*embeddings.position_ids", "*connector.fine.*", "*connector.coarse.deepstack_mergers.*"),
	.inert = IGNORED("use_fine_route"),
};

const struct dialect bridgetower_vision_names = {
	.name = "bridgetower-vision",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "@embeddings.patch_embedding" }, { "embed.class", "@embeddings.class_embedding" },
		{ "embed.position", "@embeddings.position_embedding" }, { "embed.norm", "@ln_pre" }, { "norm", "@ln_post" },
		{ "layers.attn", "@transformer.resblocks.#.attn" }, { "layers.attn.o", "@transformer.resblocks.#.attn.out_proj" },
		{ "layers.attn.norm", "@transformer.resblocks.#.ln_1" }, { "layers.ffn.norm", "@transformer.resblocks.#.ln_2" },
		{ "layers.ffn.up", "@transformer.resblocks.#.mlp.c_fc" },
		{ "layers.ffn.down", "@transformer.resblocks.#.mlp.c_proj" }),
	.ignored = IGNORED("*embeddings.position_ids", "*ln_separate.*"),
	.inert = IGNORED("share_layernorm", "stop_gradient", "initializer_factor", "is_encoder_decoder"),
};

// $: text or image.
#define BRIDGED(stem, own) \
	{ stem ".q", "@cross_modal_$_layers.#." own ".self.query" }, { stem ".k", "@cross_modal_$_layers.#." own ".self.key" }, \
		{ stem ".v", "@cross_modal_$_layers.#." own ".self.value" }, \
		{ stem ".o", "@cross_modal_$_layers.#." own ".output.dense" }, \
	{ \
		stem ".norm", "@cross_modal_$_layers.#." own ".output.LayerNorm" \
	}

const struct dialect bridgetower_names = {
	.name = "bridgetower",
	.prefix = "bridgetower.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BRIDGED("layers.attn", "attention"), BRIDGED("layers.cross", "crossattention"),
		{ "layers.ffn.up", "@cross_modal_$_layers.#.intermediate.dense" },
		{ "layers.ffn.down", "@cross_modal_$_layers.#.output.dense" },
		{ "layers.ffn.norm", "@cross_modal_$_layers.#.output.LayerNorm" }, { "transform", "@cross_modal_$_transform" },
		{ "transform.each", "@cross_modal_$_transform.#" }, { "kinds", "@token_type_embeddings" },
		{ "cross.norm", "@cross_modal_$_layernorm" }, { "link.norm", "@cross_modal_$_link_tower.#.LayerNorm" },
		{ "link.scale", "@cross_modal_$_link_tower.#.scaled_factor" },
		{ "link.beta", "@cross_modal_$_link_tower.#.beta" }, { "pooler", "@cross_modal_$_pooler.dense" }),
	.ignored = IGNORED("*embeddings.position_ids", "*text_model.pooler.*"),
	.inert = IGNORED("hidden_act", "num_attention_heads", "init_layernorm_from_vision_encoder", "initializer_factor"),
};

// The two towers together
const struct dialect dual_names = {
	.name = "dual",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.text", "text_projection" }, { "head.vision", "visual_projection" },
		{ "head.logit_scale", "logit_scale" }, { "head.temperature", "temperature" }, { "head.logit_bias", "logit_bias" },
		{ "head.image", "classifier" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert =
		IGNORED("text_config", "vision_config", "logit_scale_init_value", "temperature_init_value", "is_encoder_decoder"),
};

const struct dialect owl_vision_names = {
	.name = "owl-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, { "embed.class", "@embeddings.class_embedding" }, { "embed.norm", "@pre_layernorm" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

#define OWL \
	{ "head.text", "@text_projection" }, { "head.vision", "@visual_projection" }, { "head.logit_scale", "@logit_scale" }, \
		{ "objects.norm", "layer_norm" }, { "objects.class", "class_head.dense0" }, \
		{ "objects.shift", "class_head.logit_shift" }, { "objects.scale", "class_head.logit_scale" }, \
		{ "objects.box.0", "box_head.dense0" }, { "objects.box.1", "box_head.dense1" }, \
	{ \
		"objects.box.2", "box_head.dense2" \
	}
#define OWL_INERT "text_config", "vision_config", "logit_scale_init_value", "is_encoder_decoder"

const struct dialect owlvit_names = {
	.name = "owlvit",
	.prefix = "owlvit.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(OWL),
	.ignored = IGNORED("*embeddings.position_ids", "box_bias"),
	.inert = IGNORED(OWL_INERT),
};

const struct dialect owlv2_names = {
	.name = "owlv2",
	.prefix = "owlv2.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(OWL, { "objects.there.0", "objectness_head.dense0" }, { "objects.there.1", "objectness_head.dense1" },
		{ "objects.there.2", "objectness_head.dense2" }),
	.ignored = IGNORED("*embeddings.position_ids", "box_bias"),
	.inert = IGNORED(OWL_INERT),
};

const struct dialect groupvit_names = {
	.name = "groupvit",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.text", "text_projection.0" }, { "head.text.norm", "text_projection.1" },
		{ "head.text.out", "text_projection.3" }, { "head.vision", "visual_projection.0" },
		{ "head.vision.norm", "visual_projection.1" }, { "head.vision.out", "visual_projection.3" },
		{ "head.logit_scale", "logit_scale" }),
	.ignored = IGNORED("*embeddings.position_ids", "*num_batches_tracked"),
	.inert = IGNORED(OWL_INERT),
};

const struct dialect groupvit_vision_names = {
	.name = "groupvit-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights =
		WEIGHTS(LAYERS_BELOW("@encoder.stages.#.layers.#."), { "embed.patch", "@embeddings.patch_embeddings.projection" },
			{ "embed.position", "@embeddings.position_embeddings" }, { "embed.norm", "@embeddings.layernorm" },
			{ "group.token", "@encoder.stages.#.group_token" },
			{ "group.before.norm", "@encoder.stages.#.group_projector.0" },
			{ "group.before.up", "@encoder.stages.#.group_projector.1.fc1" },
			{ "group.before.down", "@encoder.stages.#.group_projector.1.fc2" },
			{ "group.norm", "@encoder.stages.#.downsample.norm_tokens" },
			{ "group.x.norm", "@encoder.stages.#.downsample.norm_x" },
			{ "group.mix.up", "@encoder.stages.#.downsample.mlp_inter.fc1" },
			{ "group.mix.down", "@encoder.stages.#.downsample.mlp_inter.fc2" },
			{ "group.mix.norm", "@encoder.stages.#.downsample.norm_post_tokens" },
			{ "look.q", "@encoder.stages.#.downsample.pre_assign_attn.attn.q_proj" },
			{ "look.k", "@encoder.stages.#.downsample.pre_assign_attn.attn.k_proj" },
			{ "look.v", "@encoder.stages.#.downsample.pre_assign_attn.attn.v_proj" },
			{ "look.o", "@encoder.stages.#.downsample.pre_assign_attn.attn.out_proj" },
			{ "look.norm", "@encoder.stages.#.downsample.pre_assign_attn.norm2" },
			{ "look.up", "@encoder.stages.#.downsample.pre_assign_attn.mlp.fc1" },
			{ "look.down", "@encoder.stages.#.downsample.pre_assign_attn.mlp.fc2" },
			{ "look.last", "@encoder.stages.#.downsample.pre_assign_attn.norm_post" },
			{ "assign.q", "@encoder.stages.#.downsample.assign.q_proj" },
			{ "assign.k", "@encoder.stages.#.downsample.assign.k_proj" },
			{ "assign.v", "@encoder.stages.#.downsample.assign.v_proj" },
			{ "assign.o", "@encoder.stages.#.downsample.assign.proj" },
			{ "group.new.norm", "@encoder.stages.#.downsample.norm_new_x" },
			{ "group.up", "@encoder.stages.#.downsample.mlp_channels.fc1" },
			{ "group.down", "@encoder.stages.#.downsample.mlp_channels.fc2" }, { "norm", "@layernorm" }),
	.inert = IGNORED("initializer_factor"),
};

const struct dialect xclip_vision_names = {
	.name = "xclip-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(VISION_TOWER, { "embed.class", "@embeddings.class_embedding" }, { "embed.norm", "@pre_layernorm" },
		{ "layers.message", "@encoder.layers.#.message_fc" }, { "layers.message.norm", "@encoder.layers.#.message_ln" },
		{ "layers.message.q", "@encoder.layers.#.message_attn.q_proj" },
		{ "layers.message.k", "@encoder.layers.#.message_attn.k_proj" },
		{ "layers.message.v", "@encoder.layers.#.message_attn.v_proj" },
		{ "layers.message.o", "@encoder.layers.#.message_attn.out_proj" }, { "mit.position", "@position_embedding" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect xclip_names = {
	.name = "xclip",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.text", "text_projection" }, { "head.vision", "visual_projection" },
		{ "head.logit_scale", "logit_scale" }, { "prompt.visual.norm", "prompts_visual_layernorm" },
		{ "prompt.visual", "prompts_visual_projection" }, { "prompt.norm", "prompts_generator.layernorm" },
		{ "prompt.scale", "prompts_generator.alpha" }, { "layers.attn.norm", "prompts_generator.decoder.#.norm1" },
		{ "layers.attn.q", "prompts_generator.decoder.#.cross_attn.q_proj" },
		{ "layers.attn.k", "prompts_generator.decoder.#.cross_attn.k_proj" },
		{ "layers.attn.v", "prompts_generator.decoder.#.cross_attn.v_proj" },
		{ "layers.attn.o", "prompts_generator.decoder.#.cross_attn.proj" },
		{ "layers.ffn.norm", "prompts_generator.decoder.#.norm3" },
		{ "layers.ffn.up", "prompts_generator.decoder.#.mlp.0" },
		{ "layers.ffn.down", "prompts_generator.decoder.#.mlp.3" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("prompt_alpha", "text_config", "vision_config", "logit_scale_init_value", "is_encoder_decoder"),
};

const struct dialect clipseg_names = {
	.name = "clipseg",
	.prefix = "clip.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.text", "@text_projection" }, { "head.vision", "@visual_projection" },
		{ "head.logit_scale", "@logit_scale" }, { "regions.reduce", "decoder.reduces.#" },
		{ "regions.times", "decoder.film_mul" }, { "regions.plus", "decoder.film_add" },
		{ "regions.q", "decoder.layers.#.self_attn.q_proj" }, { "regions.k", "decoder.layers.#.self_attn.k_proj" },
		{ "regions.v", "decoder.layers.#.self_attn.v_proj" }, { "regions.o", "decoder.layers.#.self_attn.out_proj" },
		{ "regions.norm", "decoder.layers.#.layer_norm1" }, { "regions.up", "decoder.layers.#.mlp.fc1" },
		{ "regions.down", "decoder.layers.#.mlp.fc2" }, { "regions.ffn.norm", "decoder.layers.#.layer_norm2" },
		{ "regions.pixels", "decoder.transposed_convolution" }, { "regions.steps", "decoder.transposed_convolution.#" }),
	.ignored = IGNORED("*embeddings.position_ids", "*logit_scale", "*visual_projection.*", "*post_layernorm.*", "decoder.*"),
	.inert = IGNORED("text_config", "vision_config", "logit_scale_init_value", "initializer_factor", "decoder_hidden_act",
		"decoder_attention_dropout", "conditional_layer", "decoder_intermediate_size", "decoder_num_attention_heads",
		"extract_layers", "reduce_dim", "use_complex_transposed_convolution", "is_encoder_decoder"),
};

const struct dialect vilt_names = {
	.name = "vilt",
	.prefix = "vilt.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.text_embeddings.word_embeddings" },
		{ "embed.type", "@embeddings.text_embeddings.token_type_embeddings" },
		{ "embed.position", "@embeddings.text_embeddings.position_embeddings" },
		{ "embed.norm", "@embeddings.text_embeddings.LayerNorm" }, { "embed.class", "@embeddings.cls_token" },
		{ "embed.patch", "@embeddings.patch_embeddings.projection" },
		{ "embed.places", "@embeddings.position_embeddings" }, { "embed.kind", "@embeddings.token_type_embeddings" },
		{ "layers.attn.norm", "@encoder.layer.#.layernorm_before" },
		{ "layers.attn.q", "@encoder.layer.#.attention.attention.query" },
		{ "layers.attn.k", "@encoder.layer.#.attention.attention.key" },
		{ "layers.attn.v", "@encoder.layer.#.attention.attention.value" },
		{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.layernorm_after" },
		{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" }, { "norm", "@layernorm" }, { "pooler", "@pooler.dense" },
		{ "head.answer.dense", "classifier.0" }, { "head.answer.norm", "classifier.1" },
		{ "head.answer.out", "classifier.3" }, { "head.rank", "rank_output" }, { "head.token", "classifier" },
		{ "head.lm.dense", "mlm_score.transform.dense" }, { "head.lm.norm", "mlm_score.transform.LayerNorm" },
		{ "head.lm.out", "mlm_score.decoder" }, { "head.lm.loose", "mlm_score" }),
	.ignored = IGNORED("*position_ids", "*token_type_ids", "*pooler.dense.*"),
	.inert = IGNORED("num_images"),
};
