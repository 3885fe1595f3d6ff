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

const struct dialect video_llava_names = {
	.name = "video-llava",
	.prefix = "model.",
	.keys = KEYS({ "image_token", "image_token_index" }, { "image_token", "image_token_id" },
		{ "video_token", "video_token_index" }, { "video_token", "video_token_id" }),
	.weights = WEIGHTS({ "projector.1", "@multi_modal_projector.linear_1" },
		{ "projector.2", "@multi_modal_projector.linear_2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*rotary_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder", "image_seq_length", "video_seq_length", "ignore_index"),
};

#define AUDIO_TOKEN KEYS({ "image_token", "audio_token_id" }, { "image_token", "audio_token_index" })

const struct dialect qwen2_audio_names = {
	.name = "qwen2-audio",
	.prefix = "model.",
	.keys = AUDIO_TOKEN,
	.weights = WEIGHTS({ "projector", "@multi_modal_projector.linear" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder", "ignore_index"),
};

// What hears and what speaks is not built: the graph reads text.
const struct dialect unheard_names = {
	.name = "unheard",
	.prefix = "model.",
	.keys = AUDIO_TOKEN,
	.weights = WEIGHTS({ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*audio_tower.*", "*multi_modal_projector.*", "*acoustic_*", "*semantic_*",
		"*diffusion_head.*", "*latent_*_factor", "*encoder.*", "*projector.*"),
	.inert = IGNORED("audio_config", "projector_*", "audio_*", "rope_parameters", "acoustic_*", "semantic_*", "diffusion_*",
		"encoder_config", "has_lora_adapter", "downsample_rate", "window_size", "max_position_embeddings", "head_dim",
		"vocab_size"),
};
const struct dialect granite_speech_names = {
	.name = "granite-speech",
	.prefix = "model.",
	.keys = AUDIO_TOKEN,
	.weights = WEIGHTS({ "query", "@projector.query" }, { "projector", "@projector.linear" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*num_batches_tracked"),
	.inert = IGNORED("has_lora_adapter"),
};
const struct dialect voxtral_names = {
	.name = "voxtral",
	.prefix = "model.",
	.keys = AUDIO_TOKEN,
	.weights = WEIGHTS({ "projector.1", "@multi_modal_projector.linear_1" },
		{ "projector.2", "@multi_modal_projector.linear_2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder", "hidden_size", "vocab_size"),
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

// What makes pictures is not built.
const struct dialect janus_names = {
	.name = "janus",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.1", "@aligner.fc1" }, { "projector.more", "@aligner.hidden_layers.#" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*vqmodel.*", "*generation_embeddings.*", "*generation_aligner.*",
		"*generation_head.*"),
	.inert = IGNORED("is_encoder_decoder", "vq_config"),
};

const struct dialect ovis2_names = {
	.name = "ovis2",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "tokens.logits", "@vision_tower.head_linear" }, { "tokens.norm", "@vision_tower.head_norm" },
		{ "tokens.table", "@visual_embeddings_table" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("is_encoder_decoder", "hidden_size", "vocab_size"),
};

const struct dialect qianfan_ocr_names = {
	.name = "qianfan-ocr",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "@mlp1.0" }, { "projector.1", "@mlp1.1" }, { "projector.2", "@mlp1.3" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.mask_token"),
	.inert = IGNORED("is_encoder_decoder", "image_seq_length"),
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

// Qwen's: older files have the text at "model." and the tower at "visual."
#define GRID_TOWER \
	{ "embed.patch", "@patch_embed.proj" }, { "layers.attn.norm", "@blocks.#.norm1" }, \
		{ "layers.attn.qkv", "@blocks.#.attn.qkv" }, { "layers.attn.o", "@blocks.#.attn.proj" }, \
	{ \
		"layers.ffn.norm", "@blocks.#.norm2" \
	}
#define GRID_KEYS \
	{ "num_hidden_layers", "depth" }, { "num_attention_heads", "num_heads" }, \
	{ \
		"num_channels", "in_channels" \
	}
#define GRID_WORDS "is_encoder_decoder", "video_*token_id", "vision_*token_id"
#define GRID_INERT "in_chans", "spatial_patch_size", "tokens_per_second", "model_type"

const struct dialect grid_names = {
	.name = "grid",
	.prefix = "",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED(GRID_WORDS, "image_start_token_id", "image_end_token_id", "vocab_size"),
};

const struct dialect hyperclovax_vision_names = {
	.name = "hyperclovax-vision",
	.prefix = "",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "model.vision_projector" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED(GRID_WORDS),
};

const struct dialect paddleocr_vl_names = {
	.name = "paddleocr-vl",
	.prefix = "",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "mlp_AR.pre_norm" }, { "projector.1", "mlp_AR.linear_1" },
		{ "projector.2", "mlp_AR.linear_2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq", "*packing_position_embedding*",
		"*vision_model.head.*", "*embeddings.position_ids"),
	.inert = IGNORED(GRID_WORDS),
};

const struct dialect cosmos3_edge_names = {
	.name = "cosmos3-edge",
	.prefix = "",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "model.projector.norm" }, { "projector.1", "model.projector.linear_fc1" },
		{ "projector.2", "model.projector.linear_fc2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED(GRID_WORDS),
};

// Sound is not built: of such a model what reads pictures and texts.
const struct dialect omni_names = {
	.name = "omni",
	.prefix = "",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq", "audio_tower.*"),
	.inert = IGNORED(
		GRID_WORDS, "audio_*", "video_token_index", "user_token_id", "position_id_per_seconds", "seconds_per_chunk"),
};

#define SIGLIP_LAYERS \
	{ "layers.attn.norm", "@encoder.layers.#.layer_norm1" }, { "layers.ffn.norm", "@encoder.layers.#.layer_norm2" }, \
		{ "layers.attn.o", "@encoder.layers.#.self_attn.out_proj" }, { "norm", "@post_layernorm" }, \
		{ "embed.patch", "@embeddings.patch_embedding" }, \
	{ \
		"embed.position", "@embeddings.position_embedding" \
	}

#define SIGLIP_BRANCHES \
	{ "layers.attn.q", "@encoder.layers.#.self_attn.q_proj" }, { "layers.attn.k", "@encoder.layers.#.self_attn.k_proj" }, \
		{ "layers.attn.v", "@encoder.layers.#.self_attn.v_proj" }, { "layers.ffn.up", "@encoder.layers.#.mlp.fc1" }, \
	{ \
		"layers.ffn.down", "@encoder.layers.#.mlp.fc2" \
	}

const struct dialect paddleocr_vision_names = {
	.name = "paddleocr-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SIGLIP_LAYERS, SIGLIP_BRANCHES),
	.ignored = IGNORED("*rotary_pos_emb.inv_freq", "*embeddings.position_ids"),
	.inert = IGNORED("temporal_patch_size", "tokens_per_second"),
};

const struct dialect cosmos3_edge_vision_names = {
	.name = "cosmos3-edge-vision",
	.prefix = "",
	.keys = KEYS({ "num_position_embeddings", "num_patches" }),
	.weights = WEIGHTS(SIGLIP_LAYERS, SIGLIP_BRANCHES, { "layers.attn.q", "@encoder.layers.#.self_attn.to_q" },
		{ "layers.attn.k", "@encoder.layers.#.self_attn.to_k" }, { "layers.attn.v", "@encoder.layers.#.self_attn.to_v" },
		{ "layers.ffn.up", "@encoder.layers.#.mlp.up_proj" }, { "layers.ffn.down", "@encoder.layers.#.mlp.down_proj" }),
};

const struct dialect qwen2_5_omni_vision_names = {
	.name = "qwen2.5-omni-vision",
	.prefix = "",
	.keys = KEYS(GRID_KEYS, { "merged_size", "out_hidden_size" }),
	.weights = WEIGHTS({ "embed.patch", "@patch_embed.proj" }, { "layers.attn.norm", "@blocks.#.norm1" },
		{ "layers.attn.q", "@blocks.#.attn.q" }, { "layers.attn.k", "@blocks.#.attn.k" },
		{ "layers.attn.v", "@blocks.#.attn.v" }, { "layers.attn.o", "@blocks.#.attn.proj" },
		{ "layers.ffn.norm", "@blocks.#.norm2" }, { "layers.ffn.gate", "@blocks.#.mlp.gate_proj" },
		{ "layers.ffn.up", "@blocks.#.mlp.up_proj" }, { "layers.ffn.down", "@blocks.#.mlp.down_proj" },
		{ "merger.norm", "@merger.ln_q" }, { "merger.1", "@merger.mlp.0" }, { "merger.2", "@merger.mlp.2" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED(GRID_INERT),
};

const struct dialect qwen3_omni_vision_names = {
	.name = "qwen3-omni-vision",
	.prefix = "",
	.keys = KEYS(GRID_KEYS, { "merged_size", "out_hidden_size" }),
	.weights = WEIGHTS(GRID_TOWER, { "embed.position", "@pos_embed" }, { "layers.ffn.up", "@blocks.#.mlp.linear_fc1" },
		{ "layers.ffn.down", "@blocks.#.mlp.linear_fc2" }, { "merger.norm", "@merger.ln_q" },
		{ "merger.1", "@merger.mlp.0" }, { "merger.2", "@merger.mlp.2" }, { "deep.norm", "@merger_list.#.ln_q" },
		{ "deep.1", "@merger_list.#.mlp.0" }, { "deep.2", "@merger_list.#.mlp.2" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq", "*merger_list.*"),
	.inert = IGNORED(GRID_INERT, "window_size", "fullatt_block_indexes", "image_size", "tokens_per_second"),
};

const struct dialect qwen2_vl_vision_names = {
	.name = "qwen2-vl-vision",
	.prefix = "",
	.keys = KEYS(GRID_KEYS, { "hidden_size", "embed_dim" }, { "merged_size", "hidden_size" }),
	.weights = WEIGHTS(GRID_TOWER, { "layers.ffn.up", "@blocks.#.mlp.fc1" }, { "layers.ffn.down", "@blocks.#.mlp.fc2" },
		{ "merger.norm", "@merger.ln_q" }, { "merger.1", "@merger.mlp.0" }, { "merger.2", "@merger.mlp.2" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED(GRID_INERT),
};

const struct dialect qwen2_5_vl_vision_names = {
	.name = "qwen2.5-vl-vision",
	.prefix = "",
	.keys = KEYS(GRID_KEYS, { "merged_size", "out_hidden_size" }),
	.weights = WEIGHTS(GRID_TOWER, { "layers.ffn.gate", "@blocks.#.mlp.gate_proj" },
		{ "layers.ffn.up", "@blocks.#.mlp.up_proj" }, { "layers.ffn.down", "@blocks.#.mlp.down_proj" },
		{ "merger.norm", "@merger.ln_q" }, { "merger.1", "@merger.mlp.0" }, { "merger.2", "@merger.mlp.2" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED(GRID_INERT),
};

const struct dialect qwen3_vl_vision_names = {
	.name = "qwen3-vl-vision",
	.prefix = "",
	.keys = KEYS(GRID_KEYS, { "merged_size", "out_hidden_size" }),
	.weights = WEIGHTS(GRID_TOWER, { "embed.position", "@pos_embed" }, { "layers.ffn.up", "@blocks.#.mlp.linear_fc1" },
		{ "layers.ffn.down", "@blocks.#.mlp.linear_fc2" }, { "merger.norm", "@merger.norm" },
		{ "merger.1", "@merger.linear_fc1" }, { "merger.2", "@merger.linear_fc2" },
		{ "deep.norm", "@deepstack_merger_list.#.norm" }, { "deep.1", "@deepstack_merger_list.#.linear_fc1" },
		{ "deep.2", "@deepstack_merger_list.#.linear_fc2" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq",
		"*deepstack_merger_list.*"), // a shorter tower never comes to them
	.inert = IGNORED(GRID_INERT),
};

#define GLM_TOWER \
	GRID_TOWER, { "layers.ffn.gate", "@blocks.#.mlp.gate_proj" }, { "layers.ffn.up", "@blocks.#.mlp.up_proj" }, \
		{ "layers.ffn.down", "@blocks.#.mlp.down_proj" }, { "norm", "@post_layernorm" }, \
		{ "merger.join", "@downsample" }, { "merger.1", "@merger.proj" }, \
		{ "merger.norm", "@merger.post_projection_norm" }, { "merger.gate", "@merger.gate_proj" }, \
		{ "merger.up", "@merger.up_proj" }, \
	{ \
		"merger.down", "@merger.down_proj" \
	}

const struct dialect glm4v_vision_names = {
	.name = "glm4v-vision",
	.prefix = "",
	.keys = KEYS(GRID_KEYS, { "merged_size", "out_hidden_size" }),
	.weights = WEIGHTS(
		GLM_TOWER, { "embed.norm", "@post_conv_layernorm" }, { "embed.position", "@embeddings.position_embedding" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq", "*embeddings.position_ids"),
	.inert = IGNORED(GRID_INERT),
};

const struct dialect glm_ocr_vision_names = {
	.name = "glm-ocr-vision",
	.prefix = "",
	.keys = KEYS(GRID_KEYS, { "merged_size", "out_hidden_size" }),
	.weights = WEIGHTS(
		GLM_TOWER, { "layers.attn.q_norm", "@blocks.#.attn.q_norm" }, { "layers.attn.k_norm", "@blocks.#.attn.k_norm" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED(GRID_INERT, "image_size"),
};

const struct dialect glm_image_vision_names = {
	.name = "glm-image-vision",
	.prefix = "",
	.keys = KEYS(GRID_KEYS),
	.weights = WEIGHTS(GRID_TOWER, { "layers.ffn.up", "@blocks.#.mlp.fc1" }, { "layers.ffn.down", "@blocks.#.mlp.fc2" },
		{ "embed.position", "@embeddings.position_embedding" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED(GRID_INERT),
};

// As published, query, key and value are one tensor, and layers are numbered from 0; saved by itself the tower has others.
const struct dialect kimi_k25_vision_names = {
	.name = "kimi-k25-vision",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "@patch_embed.proj" }, { "embed.patch", "@encoder.patch_embed.proj" },
		{ "embed.position", "@patch_embed.pos_emb" },
		{ "embed.position.bare", "@patch_embed.pos_emb.position_embeddings" }, { "norm", "@encoder.final_layernorm" },
		{ "norm", "@final_layernorm" }, { "layers.attn.norm", "@encoder.blocks.#.norm0" },
		{ "layers.attn.norm", "@layers.#.norm1" }, { "layers.attn.qkv", "@encoder.blocks.#.wqkv" },
		{ "layers.attn.q", "@layers.#.attn.q_proj" }, { "layers.attn.k", "@layers.#.attn.k_proj" },
		{ "layers.attn.v", "@layers.#.attn.v_proj" }, { "layers.attn.o", "@encoder.blocks.#.wo" },
		{ "layers.attn.o", "@layers.#.attn.proj" }, { "layers.ffn.norm", "@encoder.blocks.#.norm1" },
		{ "layers.ffn.norm", "@layers.#.norm2" }, { "layers.ffn.up", "@encoder.blocks.#.mlp.fc0" },
		{ "layers.ffn.up", "@layers.#.mlp.fc1" }, { "layers.ffn.down", "@encoder.blocks.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*time_position_embeddings"),
};

const struct dialect kimi_k25_names = {
	.name = "kimi-k25",
	.prefix = "",
	.keys = KEYS({ "image_token", "image_token_id" }, { "projector_norm_eps", "projection_layer_norm_eps" }),
	.weights = WEIGHTS({ "projector.norm", "mm_projector.pre_norm" }, { "projector.norm", "model.mm_projector.pre_norm" },
		{ "projector.1", "mm_projector.proj.0" }, { "projector.1", "model.mm_projector.in_proj" },
		{ "projector.2", "mm_projector.proj.2" }, { "projector.2", "model.mm_projector.out_proj" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED(GRID_WORDS, "projection_hidden_size"),
};

const struct dialect lfm3_vl_vision_names = {
	.name = "lfm3-vl-vision",
	.prefix = "",
	.keys = KEYS({ "num_channels", "in_channels" }, { "rms_norm_eps", "norm_eps" }),
	.weights = WEIGHTS({ "embed.patch", "@patchifier" }, { "embed.patch", "@patch_embed" },
		{ "embed.norm", "@embedding_norm" }, { "layers.attn.norm", "@layers.#.operator_norm" },
		{ "layers.attn.q", "@layers.#.self_attn.q_proj" }, { "layers.attn.k", "@layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "@layers.#.self_attn.v_proj" }, { "layers.attn.o", "@layers.#.self_attn.out_proj" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_layernorm" },
		{ "layers.attn.q_norm", "@layers.#.self_attn.q_norm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.k_layernorm" },
		{ "layers.attn.k_norm", "@layers.#.self_attn.k_norm" }, { "layers.in", "@layers.#.conv.in_proj" },
		{ "layers.conv", "@layers.#.conv.spatial_conv" }, { "layers.out", "@layers.#.conv.out_proj" },
		{ "layers.ffn.norm", "@layers.#.ffn_norm" }, { "layers.ffn.gate", "@layers.#.feed_forward.w1" },
		{ "layers.ffn.up", "@layers.#.feed_forward.w3" }, { "layers.ffn.down", "@layers.#.feed_forward.w2" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
};

const struct dialect lfm3_vl_names = {
	.name = "lfm3-vl",
	.prefix = "",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "model.multi_modal_projector.layer_norm" },
		{ "projector.1", "model.multi_modal_projector.linear_1" },
		{ "projector.2", "model.multi_modal_projector.linear_2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED(GRID_WORDS),
};

const struct dialect hunyuan_vl_vision_names = {
	.name = "hunyuan-vl-vision",
	.prefix = "",
	.keys = KEYS({ "merged_size", "text_hidden_size" }, { "image_size", "max_image_size" }),
	.weights = WEIGHTS({ "embed.patch", "@embeddings.patch_embedding" },
		{ "embed.position", "@embeddings.position_embedding" }, { "layers.attn.norm", "@layers.#.layer_norm1" },
		{ "layers.attn.norm", "@layers.#.input_layernorm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }, { "layers.ffn.norm", "@layers.#.layer_norm2" },
		{ "layers.ffn.norm", "@layers.#.post_attention_layernorm" }, { "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.up", "@layers.#.mlp.dense_h_to_4h" }, { "layers.ffn.down", "@layers.#.mlp.fc2" },
		{ "layers.ffn.down", "@layers.#.mlp.dense_4h_to_h" }, { "merger.before", "@patch_merger.before_rms" },
		{ "merger.after", "@patch_merger.after_rms" }, { "merger.join", "@patch_merger.proj_conv" },
		{ "merger.1", "@patch_merger.proj_out" }, { "merger.2", "@patch_merger.mlp" },
		{ "merger.line", "@patch_merger.image_newline" }, { "merger.begin", "@patch_merger.image_begin" },
		{ "merger.end", "@patch_merger.image_end" }),
	.ignored = IGNORED("*patch_merger.image_sep"),
	.inert = IGNORED("out_hidden_size", "img_max_token_num", "min_image_size", "max_vit_seq_len", "num_key_value_heads",
		"temporal_patch_size"),
};

const struct dialect mistral3_names = {
	.name = "mistral3",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "@multi_modal_projector.norm" },
		{ "projector.merge", "@multi_modal_projector.patch_merger.merging_layer" },
		{ "projector.1", "@multi_modal_projector.linear_1" }, { "projector.2", "@multi_modal_projector.linear_2" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder"),
};

const struct dialect pixtral_names = {
	.name = "pixtral",
	.prefix = "vision_encoder.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "@patch_conv" }, { "embed.norm", "@ln_pre" },
		{ "layers.attn.norm", "@transformer.layers.#.attention_norm" },
		{ "layers.attn.q", "@transformer.layers.#.attention.q_proj" },
		{ "layers.attn.k", "@transformer.layers.#.attention.k_proj" },
		{ "layers.attn.v", "@transformer.layers.#.attention.v_proj" },
		{ "layers.attn.o", "@transformer.layers.#.attention.o_proj" },
		{ "layers.ffn.norm", "@transformer.layers.#.ffn_norm" },
		{ "layers.ffn.gate", "@transformer.layers.#.feed_forward.gate_proj" },
		{ "layers.ffn.up", "@transformer.layers.#.feed_forward.up_proj" },
		{ "layers.ffn.down", "@transformer.layers.#.feed_forward.down_proj" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED("vocab_size", "head_dim"),
};

const struct dialect lighton_ocr_names = {
	.name = "lighton-ocr",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.norm", "@vision_projection.norm" },
		{ "projector.merge", "@vision_projection.patch_merger.merging_layer" },
		{ "projector.1", "@vision_projection.linear_1" }, { "projector.2", "@vision_projection.linear_2" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder"),
};

const struct dialect idefics2_names = {
	.name = "idefics2",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.gate", "@connector.modality_projection.gate_proj" },
		{ "projector.up", "@connector.modality_projection.up_proj" },
		{ "projector.down", "@connector.modality_projection.down_proj" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("is_encoder_decoder"),
};

const struct dialect resampler_names = {
	.name = "resampler",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "latents", "@latents" }, { "norm", "@norm" }, { "layers.attn.norm", "@layers.#.input_latents_norm" },
		{ "layers.attn.context", "@layers.#.input_context_norm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }, { "layers.ffn.norm", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.gate", "@layers.#.mlp.gate_proj" }, { "layers.ffn.up", "@layers.#.mlp.up_proj" },
		{ "layers.ffn.down", "@layers.#.mlp.down_proj" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
};

const struct dialect got_ocr2_names = {
	.name = "got-ocr2",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.1", "@multi_modal_projector.conv_upsampler1" },
		{ "projector.2", "@multi_modal_projector.conv_upsampler2" },
		{ "projector", "@multi_modal_projector.multimodal_projector" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder", "image_seq_length"),
};

const struct dialect lfm2_vl_names = {
	.name = "lfm2-vl",
	.prefix = "model.",
	.keys = KEYS({ "image_token", "image_token_id" }, { "image_token", "image_token_index" },
		{ "tie_word_embeddings", "tie_embedding" }, { "tie_word_embeddings", "tie_word_embeddings" }),
	.weights = WEIGHTS({ "projector.norm", "@multi_modal_projector.layer_norm" },
		{ "projector.1", "@multi_modal_projector.linear_1" }, { "projector.2", "@multi_modal_projector.linear_2" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*embeddings.position_ids", "*vision_tower.*head.*"),
	.inert = IGNORED("is_encoder_decoder", "use_image_special_tokens", "do_image_splitting", "*_tiles", "tile_size",
		"use_thumbnail", "*_image_tokens", "encoder_patch_size", "max_pixels_tolerance", "max_num_patches"),
};

const struct dialect video_llama_3_names = {
	.name = "video-llama-3",
	.prefix = "",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.1", "model.projector.readout.0" }, { "projector.2", "model.projector.readout.2" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_pos_emb.inv_freq"),
	.inert = IGNORED(GRID_WORDS),
};

const struct dialect modernvbert_names = {
	.name = "modernvbert",
	.prefix = "model.",
	.keys = KEYS({ "image_token", "image_token_id" }, { "scale_factor", "pixel_shuffle_factor" }),
	.weights = WEIGHTS({ "projector", "@connector.modality_projection" }),
	.ignored = IGNORED("*embeddings.position_ids", "*vision_model.head.*"),
	.inert = IGNORED("classifier_*", "initializer_cutoff_factor", "vocab_size"),
};

const struct dialect ultravbert_names = {
	.name = "ultravbert",
	.prefix = "model.",
	.keys = KEYS({ "image_token", "image_token_id" }, { "scale_factor", "pixel_shuffle_factor" }),
	.weights = WEIGHTS({ "projector", "@connector.modality_projection" }, { "projector.norm", "@connector.norm" }),
	.ignored = IGNORED("*embeddings.position_ids", "*vision_model.head.*"),
	.inert = IGNORED("classifier_*", "initializer_cutoff_factor", "vocab_size"),
};

const struct dialect retrieval_names = {
	.name = "retrieval",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.embedding", "embedding_proj_layer" }),
	.ignored = IGNORED("*embeddings.position_ids", "*lm_head.weight"),
};

#define BLIP_LAYERS(own, cross) \
	{ "layers.attn.q", own ".query" }, { "layers.attn.k", own ".key" }, { "layers.attn.v", own ".value" }, \
		{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" }, \
		{ "layers.attn.norm", "@encoder.layer.#.attention.output.LayerNorm" }, { "layers.cross.q", cross ".query" }, \
		{ "layers.cross.k", cross ".key" }, { "layers.cross.v", cross ".value" }, \
		{ "layers.cross.o", "@encoder.layer.#.crossattention.output.dense" }, \
	{ \
		"layers.cross.norm", "@encoder.layer.#.crossattention.output.LayerNorm" \
	}

const struct dialect blip_text_names = {
	.name = "blip-text",
	.prefix = "bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BLIP_LAYERS("@encoder.layer.#.attention.self", "@encoder.layer.#.crossattention.self"),
		{ "embed.word", "@embeddings.word_embeddings" }, { "embed.position", "@embeddings.position_embeddings" },
		{ "embed.norm", "@embeddings.LayerNorm" }, { "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.output.LayerNorm" }, { "pooler", "@pooler.dense" },
		{ "head.lm.dense", "cls.predictions.transform.dense" }, { "head.lm.norm", "cls.predictions.transform.LayerNorm" },
		{ "head.lm.out", "cls.predictions.decoder" }, { "head.lm.loose", "cls.predictions" }),
	.ignored = IGNORED("*embeddings.position_ids", "*pooler.*"),
	.inert = IGNORED("projection_dim", "sep_token_id", "label_smoothing"),
};

const struct dialect blip_names = {
	.name = "blip",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = (const struct weight_name[]){ { NULL, NULL } },
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED(
		"projection_dim", "logit_scale_init_value", "image_text_hidden_size", "label_smoothing", "initializer_factor"),
};

const struct dialect qformer_names = {
	.name = "qformer",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BLIP_LAYERS("@encoder.layer.#.attention.attention", "@encoder.layer.#.crossattention.attention"),
		{ "embed.norm", "@layernorm" }, { "layers.ffn.up", "@encoder.layer.#.intermediate_query.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output_query.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.output_query.LayerNorm" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect instruct_qformer_names = {
	.name = "instruct-qformer",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BLIP_LAYERS("@encoder.layer.#.attention.attention", "@encoder.layer.#.crossattention.attention"),
		{ "embed.norm", "@embeddings.layernorm" }, { "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" },
		{ "layers.ffn.up", "@encoder.layer.#.intermediate_query.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output_query.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.output_query.LayerNorm" },
		{ "layers.text.up", "@encoder.layer.#.intermediate.dense" },
		{ "layers.text.down", "@encoder.layer.#.output.dense" },
		{ "layers.text.norm", "@encoder.layer.#.output.LayerNorm" }),
	.ignored = IGNORED("*embeddings.position_ids", "*qformer.cls.*"),
};

const struct dialect blip_2_names = {
	.name = "blip-2",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "query", "@query_tokens" }, { "projector", "@language_projection" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*rotary_emb.inv_freq"),
	.inert = IGNORED("image_text_hidden_size", "initializer_factor"),
};

const struct dialect instruct_video_names = {
	.name = "instructblipvideo",
	.prefix = "model.",
	.keys = KEYS({ "image_token", "video_token_index" }),
	.weights = WEIGHTS({ "query", "@query_tokens" }, { "projector", "@language_projection" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*rotary_emb.inv_freq"),
	.inert = IGNORED("image_text_hidden_size", "initializer_factor", "image_token_index", "image_token_id"),
};

const struct dialect aria_vlm_names = {
	.name = "aria-vlm",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.query", "@multi_modal_projector.query" },
		{ "projector.query.norm", "@multi_modal_projector.cross_attn.layer_norm" },
		{ "projector.norm", "@multi_modal_projector.cross_attn.layer_norm_kv" },
		{ "projector.q", "@multi_modal_projector.cross_attn.q_proj" },
		{ "projector.k", "@multi_modal_projector.cross_attn.k_proj" },
		{ "projector.v", "@multi_modal_projector.cross_attn.v_proj" },
		{ "projector.attn", "@multi_modal_projector.cross_attn.multihead_attn" },
		{ "projector.attn.o", "@multi_modal_projector.cross_attn.multihead_attn.out_proj" },
		{ "projector.after", "@multi_modal_projector.cross_attn.linear" },
		{ "projector.last.norm", "@multi_modal_projector.layer_norm" },
		{ "projector.1", "@multi_modal_projector.feed_forward.linear_in" },
		{ "projector.2", "@multi_modal_projector.feed_forward.linear_out" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*rotary_emb.inv_freq", "*vision_tower.post_layernorm.*"),
	.inert = IGNORED("is_encoder_decoder"),
};

const struct dialect gemma4_vision_names = {
	.name = "gemma4-vision",
	.prefix = "",
	.keys = KEYS({ "hidden_act", "hidden_activation" }),
	.weights = WEIGHTS({ "embed.patch", "@patch_embedder.input_proj" },
		{ "embed.position", "@patch_embedder.position_embedding_table" }, { "standard.bias", "@std_bias" },
		{ "standard.scale", "@std_scale" }, { "layers.attn.norm", "@encoder.layers.#.input_layernorm" },
		{ "layers.attn.q", "@encoder.layers.#.self_attn.q_proj.linear" },
		{ "layers.attn.k", "@encoder.layers.#.self_attn.k_proj.linear" },
		{ "layers.attn.v", "@encoder.layers.#.self_attn.v_proj.linear" },
		{ "layers.attn.o", "@encoder.layers.#.self_attn.o_proj.linear" },
		{ "layers.attn.q_norm", "@encoder.layers.#.self_attn.q_norm" },
		{ "layers.attn.k_norm", "@encoder.layers.#.self_attn.k_norm" },
		{ "layers.attn.after", "@encoder.layers.#.post_attention_layernorm" },
		{ "layers.ffn.norm", "@encoder.layers.#.pre_feedforward_layernorm" },
		{ "layers.ffn.gate", "@encoder.layers.#.mlp.gate_proj.linear" },
		{ "layers.ffn.up", "@encoder.layers.#.mlp.up_proj.linear" },
		{ "layers.ffn.down", "@encoder.layers.#.mlp.down_proj.linear" },
		{ "layers.ffn.after", "@encoder.layers.#.post_feedforward_layernorm" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("attention_bias", "max_position_embeddings", "default_output_length"),
};

const struct dialect gemma4_vlm_names = {
	.name = "gemma4-vlm",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "@embed_vision.embedding_projection" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder", "bo*_token_id", "eo*_token_id", "eoa_token_index", "audio_token_id",
		"video_token_id", "vision_soft_tokens_per_image"),
};

const struct dialect git_names = {
	.name = "git",
	.prefix = "git.",
	.keys = NO_KEYS,
	.weights =
		WEIGHTS({ "embed.word", "@embeddings.word_embeddings" }, { "embed.position", "@embeddings.position_embeddings" },
			{ "embed.norm", "@embeddings.LayerNorm" }, { "layers.attn.q", "@encoder.layer.#.attention.self.query" },
			{ "layers.attn.k", "@encoder.layer.#.attention.self.key" },
			{ "layers.attn.v", "@encoder.layer.#.attention.self.value" },
			{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" },
			{ "layers.attn.norm", "@encoder.layer.#.attention.output.LayerNorm" },
			{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },
			{ "layers.ffn.down", "@encoder.layer.#.output.dense" },
			{ "layers.ffn.norm", "@encoder.layer.#.output.LayerNorm" },
			{ "projector", "@visual_projection.visual_projection.0" },
			{ "projector.norm", "@visual_projection.visual_projection.1" }, { "frames", "@img_temporal_embedding.#" },
			{ "head.lm.out", "output" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect llama4_vlm_names = {
	.name = "llama4-vlm",
	.prefix = "",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "multi_modal_projector.linear_1" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder", "boi_token_index", "eoi_token_index"),
};

const struct dialect llama4_vision_names = {
	.name = "llama4-vision",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.patch", "@patch_embedding.linear" }, { "embed.class", "@class_embedding" },
		{ "embed.position", "@positional_embedding_vlm" }, { "embed.norm", "@layernorm_pre" },
		{ "norm", "@layernorm_post" }, { "layers.attn.norm", "@model.layers.#.input_layernorm" },
		{ "layers.attn.q", "@model.layers.#.self_attn.q_proj" }, { "layers.attn.k", "@model.layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "@model.layers.#.self_attn.v_proj" }, { "layers.attn.o", "@model.layers.#.self_attn.o_proj" },
		{ "layers.ffn.norm", "@model.layers.#.post_attention_layernorm" }, { "layers.ffn.up", "@model.layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@model.layers.#.mlp.fc2" }, { "adapter.1", "@vision_adapter.mlp.fc1" },
		{ "adapter.2", "@vision_adapter.mlp.fc2" }),
	.ignored = IGNORED("*rotary_embedding*"),
	.inert = IGNORED("norm_eps", "vision_feature_select_strategy", "multi_modal_projector_bias", "projector_dropout"),
};

#define IDEFICS_LOOKS "@gated_cross_attn_layers.#."
#define IDEFICS_LATENTS "@perceiver_resampler.blocks.#."
const struct dialect idefics_names = {
	.name = "idefics",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embed_tokens" }, { "embed.further", "@embed_tokens.additional_embedding" },
		{ "layers.attn.norm", "@layers.#.input_layernorm" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.o_proj" }, { "layers.ffn.norm", "@layers.#.post_attention_layernorm" },
		{ "layers.ffn.gate", "@layers.#.mlp.gate_proj" }, { "layers.ffn.up", "@layers.#.mlp.up_proj" },
		{ "layers.ffn.down", "@layers.#.mlp.down_proj" }, { "norm", "@norm" },
		{ "looks.attn.norm", IDEFICS_LOOKS "input_layernorm" }, { "looks.attn.q", IDEFICS_LOOKS "cross_attn.q_proj" },
		{ "looks.attn.k", IDEFICS_LOOKS "cross_attn.k_proj" }, { "looks.attn.v", IDEFICS_LOOKS "cross_attn.v_proj" },
		{ "looks.attn.o", IDEFICS_LOOKS "cross_attn.o_proj" },
		{ "looks.attn.q_norm", IDEFICS_LOOKS "cross_attn.q_layer_norm" },
		{ "looks.attn.k_norm", IDEFICS_LOOKS "cross_attn.k_layer_norm" },
		{ "looks.attn.gate", IDEFICS_LOOKS "alpha_cross_attn" },
		{ "looks.ffn.norm", IDEFICS_LOOKS "post_attention_layernorm" },
		{ "looks.ffn.gate", IDEFICS_LOOKS "mlp.gate_proj" }, { "looks.ffn.up", IDEFICS_LOOKS "mlp.up_proj" },
		{ "looks.ffn.down", IDEFICS_LOOKS "mlp.down_proj" }, { "looks.ffn.scale", IDEFICS_LOOKS "alpha_dense" },
		{ "latents", "@perceiver_resampler.latents" }, { "latents.norm", "@perceiver_resampler.layer_norm" },
		{ "latents.attn.source", IDEFICS_LATENTS "0.context_layer_norm" },
		{ "latents.attn.norm", IDEFICS_LATENTS "0.latents_layer_norm" }, { "latents.attn.q", IDEFICS_LATENTS "0.q_proj" },
		{ "latents.attn.k", IDEFICS_LATENTS "0.k_proj" }, { "latents.attn.v", IDEFICS_LATENTS "0.v_proj" },
		{ "latents.attn.o", IDEFICS_LATENTS "0.output_proj" },
		{ "latents.attn.q_norm", IDEFICS_LATENTS "0.q_layer_norm" },
		{ "latents.attn.k_norm", IDEFICS_LATENTS "0.k_layer_norm" }, { "latents.ffn.norm", IDEFICS_LATENTS "1.ln" },
		{ "latents.ffn.up", IDEFICS_LATENTS "1.fc" }, { "latents.ffn.down", IDEFICS_LATENTS "1.c_proj" },
		{ "head.lm.out", "lm_head" }, { "head.lm.further", "lm_head.additional_fc" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder", "freeze_*", "alpha_initializer", "alphas_initializer_range", "use_resampler",
		"cross_layer_activation_function", "max_new_tokens", "max_sequence_length", "word_embed_proj_dim", "dropout"),
};

#define EVOLLA_LATENTS "@protein_encoder.sequence_compressor_resampler."
#define EVOLLA_LOOKS "@layers.#.adapter."
const struct dialect evolla_names = {
	.name = "evolla",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embed_tokens" }, { "layers.attn.norm", "@layers.#.input_layernorm" },
		{ "layers.attn.q", "@layers.#.self_attn.q_proj" }, { "layers.attn.k", "@layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "@layers.#.self_attn.v_proj" }, { "layers.attn.o", "@layers.#.self_attn.o_proj" },
		{ "layers.ffn.norm", "@layers.#.post_attention_layernorm" }, { "layers.ffn.gate", "@layers.#.mlp.gate_proj" },
		{ "layers.ffn.up", "@layers.#.mlp.up_proj" }, { "layers.ffn.down", "@layers.#.mlp.down_proj" },
		{ "norm", "@norm" }, { "looks.attn.norm", EVOLLA_LOOKS "attention_norm" },
		{ "looks.attn.q", EVOLLA_LOOKS "query" }, { "looks.attn.k", EVOLLA_LOOKS "key_protein" },
		{ "looks.attn.v", EVOLLA_LOOKS "value_protein" }, { "looks.attn.o", EVOLLA_LOOKS "out_proj" },
		{ "looks.attn.gate", EVOLLA_LOOKS "gate_attention" }, { "looks.ffn.gate", EVOLLA_LOOKS "gate_ffw" },
		{ "looks.ffn.norm", EVOLLA_LOOKS "ff.norm" }, { "looks.ffn.up", EVOLLA_LOOKS "ff.fc1" },
		{ "looks.ffn.down", EVOLLA_LOOKS "ff.fc2" }, { "latents", EVOLLA_LATENTS "latents" },
		{ "latents.project", EVOLLA_LATENTS "protein_projector" }, { "latents.norm", EVOLLA_LATENTS "norm" },
		{ "latents.attn.source", EVOLLA_LATENTS "layers.#.0.norm_media" },
		{ "latents.attn.norm", EVOLLA_LATENTS "layers.#.0.norm_latents" },
		{ "latents.attn.q", EVOLLA_LATENTS "layers.#.0.to_q" }, { "latents.attn.kv", EVOLLA_LATENTS "layers.#.0.to_kv" },
		{ "latents.attn.o", EVOLLA_LATENTS "layers.#.0.to_out" },
		{ "latents.ffn.norm", EVOLLA_LATENTS "layers.#.1.norm" }, { "latents.ffn.up", EVOLLA_LATENTS "layers.#.1.fc1" },
		{ "latents.ffn.down", EVOLLA_LATENTS "layers.#.1.fc2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq", "*rotary_embeddings.inv_freq"),
	.inert = IGNORED("aligner_attention_probs_dropout_prob"),
};

const struct dialect mllama_names = {
	.name = "mllama",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "@multi_modal_projector" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("is_encoder_decoder"),
};

// $: the first stack of layers, or the second.
const struct dialect mllama_vision_names = {
	.name = "mllama-vision",
	.prefix = "vision_model.",
	.keys = KEYS({ "num_attention_heads", "attention_heads" }, { "num_attention_heads", "num_attention_heads" },
		{ "layer_norm_eps", "norm_eps" }),
	.weights = WEIGHTS({ "embed.patch", "@patch_embedding" }, { "embed.class", "@class_embedding" },
		{ "embed.position", "@gated_positional_embedding.embedding" },
		{ "embed.gate", "@gated_positional_embedding.gate" },
		{ "embed.tile", "@gated_positional_embedding.tile_embedding" },
		{ "before", "@pre_tile_positional_embedding.embedding" },
		{ "before.gate", "@pre_tile_positional_embedding.gate" },
		{ "after", "@post_tile_positional_embedding.embedding" },
		{ "after.gate", "@post_tile_positional_embedding.gate" }, { "norm.before", "@layernorm_pre" },
		{ "norm", "@layernorm_post" }, { "layers.attn.q", "@$.layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@$.layers.#.self_attn.k_proj" }, { "layers.attn.v", "@$.layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@$.layers.#.self_attn.o_proj" }, { "layers.attn.norm", "@$.layers.#.input_layernorm" },
		{ "layers.attn.gate", "@$.layers.#.gate_attn" }, { "layers.ffn.gate", "@$.layers.#.gate_ffn" },
		{ "layers.ffn.norm", "@$.layers.#.post_attention_layernorm" }, { "layers.ffn.up", "@$.layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@$.layers.#.mlp.fc2" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

// Older files have the text's keys beside text_config too.
const struct dialect fuyu_names = {
	.name = "fuyu",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector", "@vision_embed_tokens" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("image_size", "hidden_act", "hidden_size", "intermediate_size", "layer_norm_eps",
		"max_position_embeddings", "num_attention_heads", "num_hidden_layers", "qk_layernorm", "rope_scaling",
		"rope_theta", "rope_parameters", "partial_rotary_factor", "vocab_size", "is_encoder_decoder"),
};

const struct dialect kosmos_names = {
	.name = "kosmos",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "projector", "@image_to_text_projection.dense" },
		{ "projector.queries", "@image_to_text_projection.latent_query" },
		{ "projector.q", "@image_to_text_projection.x_attn.q_proj" },
		{ "projector.k", "@image_to_text_projection.x_attn.k_proj" },
		{ "projector.v", "@image_to_text_projection.x_attn.v_proj" },
		{ "projector.o", "@image_to_text_projection.x_attn.out_proj" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

// Its tower is not built.
const struct dialect kosmos_2_5_names = {
	.name = "kosmos-2.5",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = NO_WEIGHTS,
	.ignored = IGNORED("*vision_model.*", "*image_to_text_projection.*"),
	.inert = IGNORED("vision_config"),
};

const struct dialect minimax_m3_vl_names = {
	.name = "minimax-m3-vl",
	.prefix = "model.",
	.keys = IMAGE_TOKEN,
	.weights = WEIGHTS({ "projector.1", "@multi_modal_projector.linear_1" },
		{ "projector.2", "@multi_modal_projector.linear_2" }, { "merge.1", "patch_merge_mlp.linear_1" },
		{ "merge.1", "@multi_modal_projector.merge_linear_1" }, { "merge.2", "patch_merge_mlp.linear_2" },
		{ "merge.2", "@multi_modal_projector.merge_linear_2" }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED(GRID_WORDS, "video_token_index", "merged_hidden_size"),
};

const struct dialect minimax_m3_vision_names = {
	.name = "minimax-m3-vision",
	.prefix = "vision_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(SIGLIP_BRANCHES, { "embed.norm", "@pre_layrnorm" },
		{ "layers.attn.norm", "@encoder.layers.#.layer_norm1" }, { "layers.ffn.norm", "@encoder.layers.#.layer_norm2" },
		{ "layers.attn.o", "@encoder.layers.#.self_attn.out_proj" }, { "embed.patch", "@embeddings.patch_embedding" },
		{ "embed.patch", "@embeddings.proj" }, { "layers.attn.norm", "@layers.#.layer_norm1" },
		{ "layers.ffn.norm", "@layers.#.layer_norm2" }, { "layers.attn.q", "@layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@layers.#.self_attn.k_proj" }, { "layers.attn.v", "@layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@layers.#.self_attn.out_proj" }, { "layers.ffn.up", "@layers.#.mlp.fc1" },
		{ "layers.ffn.down", "@layers.#.mlp.fc2" }),
	.ignored = IGNORED("*rotary_emb.inv_freq"),
	.inert = IGNORED("image_size"),
};

const struct dialect florence_names = {
	.name = "florence",
	.prefix = "model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "projector", "@multi_modal_projector.image_projection" },
		{ "projector.norm", "@multi_modal_projector.image_proj_norm" },
		{ "positions.row", "@multi_modal_projector.image_position_embed.row_embeddings" },
		{ "positions.column", "@multi_modal_projector.image_position_embed.column_embeddings" },
		{ "frames", "@multi_modal_projector.visual_temporal_embed.pos_idx_to_embed" }),
	.ignored = IGNORED("*final_logits_bias"),
	.inert = IGNORED("is_encoder_decoder"),
};

#define DAVIT_HALF(half, attention) \
	{ half ".conv.1", "blocks.#.#." half "_block.conv1" }, { half ".conv.2", "blocks.#.#." half "_block.conv2" }, \
		{ half ".norm.1", "blocks.#.#." half "_block.norm1" }, { half ".norm.2", "blocks.#.#." half "_block.norm2" }, \
		{ half ".qkv", "blocks.#.#." half "_block." attention ".qkv" }, \
		{ half ".o", "blocks.#.#." half "_block." attention ".proj" }, \
		{ half ".ffn.up", "blocks.#.#." half "_block.ffn.fc1" }, \
	{ \
		half ".ffn.down", "blocks.#.#." half "_block.ffn.fc2" \
	}
const struct dialect davit_names = {
	.name = "davit",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed", "convs.#.conv" }, { "embed.norm", "convs.#.norm" }, DAVIT_HALF("spatial", "window_attn"),
		DAVIT_HALF("channel", "channel_attn")),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("projection_dim", "max_temporal_embeddings", "max_position_embeddings", "drop_path_rate"),
};
