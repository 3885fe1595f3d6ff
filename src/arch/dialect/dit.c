// SPDX-License-Identifier: Apache-2.0
// Names of diffusers' transformers.
#include "arch/dialect.h"

#define BLOCK "transformer_blocks.#."
#define ATTENTION(stem, file) \
	{ stem ".q", file ".to_q" }, { stem ".k", file ".to_k" }, { stem ".v", file ".to_v" }, { stem ".o", file ".to_out.0" }, \
		{ stem ".q_norm", file ".norm_q" }, \
	{ \
		stem ".k_norm", file ".norm_k" \
	}
#define TWO(stem, file) \
	{ stem ".1", file ".linear_1" }, \
	{ \
		stem ".2", file ".linear_2" \
	}
#define FFN(file) \
	{ "ffn.up", file ".net.0.proj" }, \
	{ \
		"ffn.down", file ".net.2" \
	}

// Keys of Transformer2DModel, which these classes leave out.
#define OF_TRANSFORMER_2D "double_self_attention", "num_vector_embeds", "only_cross_attention", "use_linear_projection"

const struct dialect dit_names = {
	.name = "dit",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION("self", BLOCK "attn1"), FFN(BLOCK "ff"), TWO("time", BLOCK "norm1.emb.timestep_embedder"),
		{ "class", BLOCK "norm1.emb.class_embedder.embedding_table" }, { "modulate", BLOCK "norm1.linear" },
		{ "norm.2", BLOCK "norm3" }, { "patch", "pos_embed.proj" }, { "out.modulate", "proj_out_1" },
		{ "out", "proj_out_2" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED(
		"dropout", "norm_num_groups", "upcast_attention", OF_TRANSFORMER_2D, "caption_channels", "cross_attention_dim"),
};

const struct dialect pixart_names = {
	.name = "pixart",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION("self", BLOCK "attn1"), ATTENTION("cross", BLOCK "attn2"), FFN(BLOCK "ff"),
		{ "table", BLOCK "scale_shift_table" }, { "norm.1", BLOCK "norm1" }, { "norm.2", BLOCK "norm2" },
		{ "patch", "pos_embed.proj" }, TWO("time", "adaln_single.emb.timestep_embedder"),
		TWO("resolution", "adaln_single.emb.resolution_embedder"),
		TWO("aspect", "adaln_single.emb.aspect_ratio_embedder"), { "modulate", "adaln_single.linear" },
		TWO("text", "caption_projection"), { "out.table", "scale_shift_table" }, { "out", "proj_out" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("dropout", "norm_num_groups", "upcast_attention", "num_embeds_ada_norm", OF_TRANSFORMER_2D),
};

// With guidance the layers of time lie beside those of guidance. Time and guidance are scaled by the pipeline.
const struct dialect sana_names = {
	.name = "sana",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION("self", BLOCK "attn1"), ATTENTION("cross", BLOCK "attn2"),
		{ "ffn.up", BLOCK "ff.conv_inverted" }, { "ffn.depth", BLOCK "ff.conv_depth" },
		{ "ffn.down", BLOCK "ff.conv_point" }, { "table", BLOCK "scale_shift_table" }, { "norm.2", BLOCK "norm2" },
		{ "patch", "patch_embed.proj" }, TWO("time", "time_embed.emb.timestep_embedder"),
		TWO("time", "time_embed.timestep_embedder"), TWO("guidance", "time_embed.guidance_embedder"),
		{ "modulate", "time_embed.linear" }, TWO("text", "caption_projection"), { "text.norm", "caption_norm" },
		{ "out.table", "scale_shift_table" }, { "out", "proj_out" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("dropout", "guidance_embeds_scale", "timestep_scale"),
};

#define AURA(stem, block, attention, q, k, v, o, ffn, norm) \
	{ stem ".modulate", block "." norm ".linear" }, { stem ".q", block "." attention "." q }, \
		{ stem ".k", block "." attention "." k }, { stem ".v", block "." attention "." v }, \
		{ stem ".o", block "." attention "." o }, { stem ".gate", block "." ffn ".linear_1" }, \
		{ stem ".up", block "." ffn ".linear_2" }, \
	{ \
		stem ".down", block "." ffn ".out_projection" \
	}

const struct dialect aura_flow_names = {
	.name = "aura_flow",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(AURA("joint", "joint_transformer_blocks.#", "attn", "to_q", "to_k", "to_v", "to_out.0", "ff", "norm1"),
		AURA("context", "joint_transformer_blocks.#", "attn", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out",
			"ff_context", "norm1_context"),
		AURA("single", "single_transformer_blocks.#", "attn", "to_q", "to_k", "to_v", "to_out.0", "ff", "norm1"),
		TWO("time", "time_step_proj"), { "patch", "pos_embed.proj" }, { "places", "pos_embed.pos_embed" },
		{ "text", "context_embedder" }, { "registers", "register_tokens" }, { "out.modulate", "norm_out.linear" },
		{ "out", "proj_out" }),
	.ignored = IGNORED(NULL),
	.inert = NULL,
};

// How many places there are before the text's is the text's own length.
const struct dialect cog_video_names = {
	.name = "cog_video",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION("self", BLOCK "attn1"), FFN(BLOCK "ff"), { "norm.1", BLOCK "norm1.norm" },
		{ "norm.2", BLOCK "norm2.norm" }, { "modulate.1", BLOCK "norm1.linear" }, { "modulate.2", BLOCK "norm2.linear" },
		TWO("time", "time_embedding"), { "patch", "patch_embed.proj" }, { "text", "patch_embed.text_proj" },
		{ "last.norm", "norm_final" }, { "out.norm", "norm_out.norm" }, { "out.modulate", "norm_out.linear" },
		{ "out", "proj_out" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("dropout", "max_text_seq_length"),
};

// How many places an axis may have is a limit of the class, not of the weights.
const struct dialect wan_names = {
	.name = "wan",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION("self", "blocks.#.attn1"), ATTENTION("cross", "blocks.#.attn2"), FFN("blocks.#.ffn"),
		{ "cross.norm", "blocks.#.norm2" }, { "table", "blocks.#.scale_shift_table" }, { "patch", "patch_embedding" },
		TWO("time", "condition_embedder.time_embedder"), { "modulate", "condition_embedder.time_proj" },
		TWO("text", "condition_embedder.text_embedder"), { "out.table", "scale_shift_table" }, { "out", "proj_out" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("rope_max_seq_len"),
};

// Patches are made before the model.
const struct dialect ltx_video_names = {
	.name = "ltx_video",
	.prefix = "",
	.keys = NO_KEYS,
	.weights = WEIGHTS(ATTENTION("self", BLOCK "attn1"), ATTENTION("cross", BLOCK "attn2"), FFN(BLOCK "ff"),
		{ "norm.1", BLOCK "norm1" }, { "norm.2", BLOCK "norm2" }, { "table", BLOCK "scale_shift_table" },
		{ "patch", "proj_in" }, TWO("time", "time_embed.emb.timestep_embedder"), { "modulate", "time_embed.linear" },
		TWO("text", "caption_projection"), { "out.table", "scale_shift_table" }, { "out", "proj_out" }),
	.ignored = IGNORED(NULL),
	.inert = IGNORED("patch_size", "patch_size_t"),
};
