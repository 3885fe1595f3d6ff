// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the encoder family call things.
#include "arch/dialect.h"

#define BERT_EMBED \
	{ "embed.word", "@embeddings.word_embeddings" }, { "embed.position", "@embeddings.position_embeddings" }, \
	{ \
		"embed.type", "@embeddings.token_type_embeddings" \
	}
#define BERT_EMBED_NORM \
	{ \
		"embed.norm", "@embeddings.LayerNorm" \
	}
#define BERT_LAYERS \
	{ "layers.attn.q", "@encoder.layer.#.attention.self.query" }, \
		{ "layers.attn.k", "@encoder.layer.#.attention.self.key" }, \
		{ "layers.attn.v", "@encoder.layer.#.attention.self.value" }, \
		{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" }, \
		{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" }, \
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" }, { "head.token", "classifier" }, \
		{ "head.choice.out", "classifier" }, \
	{ \
		"head.span", "qa_outputs" \
	}
#define BERT_NORMS \
	{ "layers.attn.norm", "@encoder.layer.#.attention.output.LayerNorm" }, \
	{ \
		"layers.ffn.norm", "@encoder.layer.#.output.LayerNorm" \
	}
#define BERT_BODY \
	BERT_EMBED, BERT_EMBED_NORM, BERT_LAYERS, BERT_NORMS, \
	{ \
		"embed.project", "@embeddings_project" \
	}
#define BERT_CROSS \
	{ "layers.cross.q", "@encoder.layer.#.crossattention.self.query" }, \
		{ "layers.cross.k", "@encoder.layer.#.crossattention.self.key" }, \
		{ "layers.cross.v", "@encoder.layer.#.crossattention.self.value" }, \
		{ "layers.cross.o", "@encoder.layer.#.crossattention.output.dense" }, \
	{ \
		"layers.cross.norm", "@encoder.layer.#.crossattention.output.LayerNorm" \
	}
#define BERT_POOLER \
	{ \
		"pooler", "@pooler.dense" \
	}
#define BERT_LM \
	{ "head.lm.dense", "cls.predictions.transform.dense" }, { "head.lm.norm", "cls.predictions.transform.LayerNorm" }, \
		{ "head.lm.out", "cls.predictions.decoder" }, \
	{ \
		"head.lm.loose", "cls.predictions" \
	} /* the bias of a tied output lies beside it */
#define BERT_SEQUENCE \
	{ "head.sequence.dense", "@pooler.dense" }, \
	{ \
		"head.sequence.out", "classifier" \
	}
#define BERT_HEADS BERT_POOLER, BERT_LM, { "head.next", "cls.seq_relationship" }, BERT_SEQUENCE
#define ROBERTA_LM \
	{ "head.lm.dense", "lm_head.dense" }, { "head.lm.norm", "lm_head.layer_norm" }, { "head.lm.out", "lm_head.decoder" }, \
	{ \
		"head.lm.loose", "lm_head" \
	}
#define ROBERTA_SEQUENCE \
	{ "head.sequence.dense", "classifier.dense" }, \
	{ \
		"head.sequence.out", "classifier.out_proj" \
	}
#define ROBERTA_HEADS BERT_POOLER, ROBERTA_LM, ROBERTA_SEQUENCE

const struct dialect bert_names = {
	.name = "bert",
	.prefix = "bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_CROSS, BERT_HEADS),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect chinese_clip_text_names = {
	.name = "chinese-clip-text",
	.prefix = "text_model.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, { "pooler", "@pooler.dense" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect roberta_names = {
	.name = "roberta",
	.prefix = "roberta.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_CROSS, ROBERTA_HEADS),
	.ignored = IGNORED("*embeddings.position_ids", "*embeddings.token_type_ids"),
};

const struct dialect electra_names = {
	.name = "electra",
	.prefix = "electra.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, { "head.lm.dense", "generator_predictions.dense" },
		{ "head.lm.norm", "generator_predictions.LayerNorm" }, { "head.lm.out", "generator_lm_head" },
		{ "head.lm.loose", "generator_lm_head" }, { "head.found.dense", "discriminator_predictions.dense" },
		{ "head.found.out", "discriminator_predictions.dense_prediction" },
		{ "head.choice.dense", "sequence_summary.summary" }, { "head.sequence.dense", "classifier.dense" },
		{ "head.sequence.out", "classifier.out_proj" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("summary_*"),
};

const struct dialect mpnet_names = {
	.name = "mpnet",
	.prefix = "mpnet.",
	.keys = KEYS({ "relative_buckets", "relative_attention_num_buckets" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" }, { "embed.norm", "@embeddings.LayerNorm" },
		{ "attn.relative", "@encoder.relative_attention_bias" }, { "layers.attn.q", "@encoder.layer.#.attention.attn.q" },
		{ "layers.attn.k", "@encoder.layer.#.attention.attn.k" },
		{ "layers.attn.v", "@encoder.layer.#.attention.attn.v" },
		{ "layers.attn.o", "@encoder.layer.#.attention.attn.o" },
		{ "layers.attn.norm", "@encoder.layer.#.attention.LayerNorm" },
		{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.output.LayerNorm" }, { "pooler", "@pooler.dense" },
		{ "head.token", "classifier" }, { "head.choice.out", "classifier" }, { "head.span", "qa_outputs" },
		{ "head.lm.dense", "lm_head.dense" }, { "head.lm.norm", "lm_head.layer_norm" },
		{ "head.lm.out", "lm_head.decoder" }, { "head.lm.loose", "lm_head" },
		{ "head.sequence.dense", "classifier.dense" }, { "head.sequence.out", "classifier.out_proj" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect distilbert_names = {
	.name = "distilbert",
	.prefix = "distilbert.",
	.keys = KEYS({ "hidden_size", "dim" }, { "num_hidden_layers", "n_layers" }, { "num_attention_heads", "n_heads" },
		{ "intermediate_size", "hidden_dim" }, { "hidden_act", "activation" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" }, { "embed.norm", "@embeddings.LayerNorm" },
		{ "layers.attn.q", "@transformer.layer.#.attention.q_lin" },
		{ "layers.attn.k", "@transformer.layer.#.attention.k_lin" },
		{ "layers.attn.v", "@transformer.layer.#.attention.v_lin" },
		{ "layers.attn.o", "@transformer.layer.#.attention.out_lin" },
		{ "layers.attn.norm", "@transformer.layer.#.sa_layer_norm" },
		{ "layers.ffn.up", "@transformer.layer.#.ffn.lin1" }, { "layers.ffn.down", "@transformer.layer.#.ffn.lin2" },
		{ "layers.ffn.norm", "@transformer.layer.#.output_layer_norm" }, { "head.token", "classifier" },
		{ "head.choice.out", "classifier" }, { "head.span", "qa_outputs" }, { "head.lm.dense", "vocab_transform" },
		{ "head.lm.norm", "vocab_layer_norm" }, { "head.lm.out", "vocab_projector" },
		{ "head.lm.loose", "vocab_projector" }, { "head.sequence.dense", "pre_classifier" },
		{ "head.sequence.out", "classifier" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect albert_names = {
	.name = "albert",
	.prefix = "albert.",
	.keys = KEYS({ "layer_groups", "num_hidden_groups" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" }, { "embed.type", "@embeddings.token_type_embeddings" },
		{ "embed.norm", "@embeddings.LayerNorm" }, { "embed.project", "@encoder.embedding_hidden_mapping_in" },
		{ "layers.attn.q", "@encoder.albert_layer_groups.#.albert_layers.#.attention.query" },
		{ "layers.attn.k", "@encoder.albert_layer_groups.#.albert_layers.#.attention.key" },
		{ "layers.attn.v", "@encoder.albert_layer_groups.#.albert_layers.#.attention.value" },
		{ "layers.attn.o", "@encoder.albert_layer_groups.#.albert_layers.#.attention.dense" },
		{ "layers.attn.norm", "@encoder.albert_layer_groups.#.albert_layers.#.attention.LayerNorm" },
		{ "layers.ffn.up", "@encoder.albert_layer_groups.#.albert_layers.#.ffn" },
		{ "layers.ffn.down", "@encoder.albert_layer_groups.#.albert_layers.#.ffn_output" },
		{ "layers.ffn.norm", "@encoder.albert_layer_groups.#.albert_layers.#.full_layer_layer_norm" },
		{ "pooler", "@pooler" }, { "head.token", "classifier" }, { "head.choice.out", "classifier" },
		{ "head.span", "qa_outputs" }, { "head.lm.dense", "predictions.dense" },
		{ "head.lm.norm", "predictions.LayerNorm" }, { "head.lm.out", "predictions.decoder" },
		{ "head.lm.loose", "predictions" }, { "head.order", "sop_classifier.classifier" },
		{ "head.sequence.dense", "@pooler" }, { "head.sequence.out", "classifier" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

// ---- BERT's names with another prefix, or nearly
// --------------------------------------------------------------------------------

#define BUFFERS "*embeddings.position_ids", "*embeddings.token_type_ids"

const struct dialect ernie_names = {
	.name = "ernie",
	.prefix = "ernie.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_HEADS, { "embed.task", "@embeddings.task_type_embeddings" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect layoutlm_names = {
	.name = "layoutlm",
	.prefix = "layoutlm.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_HEADS, { "embed.x", "@embeddings.x_position_embeddings" },
		{ "embed.y", "@embeddings.y_position_embeddings" }, { "embed.height", "@embeddings.h_position_embeddings" },
		{ "embed.width", "@embeddings.w_position_embeddings" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect tapas_names = {
	.name = "tapas",
	.prefix = "tapas.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.types", "@embeddings.token_type_embeddings_*" }, BERT_BODY, BERT_HEADS,
		{ "head.cells.out", "output_weights" }, { "head.cells.bias", "output_bias" },
		{ "head.cells.column", "column_output_weights" }, { "head.cells.column_bias", "column_output_bias" },
		{ "head.cells.aggregation", "aggregation_classifier" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("aggregation_labels", "aggregation_loss_weight", "aggregation_temperature", "answer_loss_cutoff",
		"answer_loss_importance", "average_approximation_function", "average_logits_per_cell",
		"cell_selection_preference", "disable_per_token_loss", "huber_loss_delta", "init_cell_selection_weights_to_zero",
		"no_aggregation_label_index", "positive_label_weight", "use_answer_as_supervision", "use_gumbel_for_aggregation",
		"use_gumbel_for_cells", "use_normalized_answer_loss"),
};

const struct dialect roc_bert_names = {
	.name = "roc_bert",
	.prefix = "roc_bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_POOLER, BERT_LM, BERT_SEQUENCE, { "embed.shape", "@embeddings.shape_embed" },
		{ "embed.sound", "@embeddings.pronunciation_embed" }, { "embed.join", "@embeddings.map_inputs_layer" }),
	.ignored = IGNORED(BUFFERS, "*embeddings.shape_embed.*",
		"*embeddings.pronunciation_embed.*"), // there even where they are not enabled
};

const struct dialect big_bird_names = {
	.name = "big_bird",
	.prefix = "bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, { "pooler", "@pooler" }, BERT_LM, { "head.next", "cls.seq_relationship" }, ROBERTA_SEQUENCE,
		{ "head.choice.dense", "sequence_summary.summary" }),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect splinter_names = {
	.name = "splinter",
	.prefix = "splinter.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.asked.query_start.dense", "splinter_qass.query_start_transform.dense" },
		{ "head.asked.query_start.norm", "splinter_qass.query_start_transform.LayerNorm" },
		{ "head.asked.query_end.dense", "splinter_qass.query_end_transform.dense" },
		{ "head.asked.query_end.norm", "splinter_qass.query_end_transform.LayerNorm" },
		{ "head.asked.start.dense", "splinter_qass.start_transform.dense" },
		{ "head.asked.start.norm", "splinter_qass.start_transform.LayerNorm" },
		{ "head.asked.end.dense", "splinter_qass.end_transform.dense" },
		{ "head.asked.end.norm", "splinter_qass.end_transform.LayerNorm" },
		{ "head.asked.start.out", "splinter_qass.start_classifier" },
		{ "head.asked.end.out", "splinter_qass.end_classifier" }, BERT_BODY),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect rembert_names = {
	.name = "rembert",
	.prefix = "rembert.",
	.keys = KEYS({ "embedding_size", "input_embedding_size" }, { "lm_size", "output_embedding_size" }),
	.weights =
		WEIGHTS({ "embed.project", "@encoder.embedding_hidden_mapping_in" }, { "head.lm.dense", "cls.predictions.dense" },
			{ "head.lm.norm", "cls.predictions.LayerNorm" }, BERT_BODY, BERT_HEADS),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect roformer_names = {
	.name = "roformer",
	.prefix = "roformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" }, { "embed.type", "@embeddings.token_type_embeddings" },
		{ "embed.rotary", "@encoder.embed_positions" }, { "embed.project", "@embeddings_project" },
		{ "head.choice.dense", "sequence_summary.summary" }, BERT_EMBED_NORM, BERT_LAYERS, BERT_NORMS, BERT_LM,
		ROBERTA_SEQUENCE),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("summary_*"),
};

const struct dialect bert_generation_names = {
	.name = "bert-generation",
	.prefix = "bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_CROSS, BERT_BODY, { "head.lm.out", "lm_head.decoder" }, { "head.lm.loose", "lm_head" }),
	.ignored = IGNORED(BUFFERS),
};

// The question's encoder, the context's and the reader are classes of one type.
const struct dialect dpr_names = {
	.name = "dpr",
	.prefix = "question_encoder.",
	.keys = KEYS({ "out_size", "projection_dim" }),
	.other_prefixes = IGNORED("ctx_encoder.", "span_predictor.encoder."),
	.weights = WEIGHTS({ "embed.word", "@bert_model.embeddings.word_embeddings" },
		{ "embed.position", "@bert_model.embeddings.position_embeddings" },
		{ "embed.type", "@bert_model.embeddings.token_type_embeddings" },
		{ "embed.norm", "@bert_model.embeddings.LayerNorm" },
		{ "layers.attn.q", "@bert_model.encoder.layer.#.attention.self.query" },
		{ "layers.attn.k", "@bert_model.encoder.layer.#.attention.self.key" },
		{ "layers.attn.v", "@bert_model.encoder.layer.#.attention.self.value" },
		{ "layers.attn.o", "@bert_model.encoder.layer.#.attention.output.dense" },
		{ "layers.attn.norm", "@bert_model.encoder.layer.#.attention.output.LayerNorm" },
		{ "layers.ffn.up", "@bert_model.encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@bert_model.encoder.layer.#.output.dense" },
		{ "layers.ffn.norm", "@bert_model.encoder.layer.#.output.LayerNorm" }, { "head.embed", "@encode_proj" },
		{ "head.span", "span_predictor.qa_outputs" }, { "head.relevance", "span_predictor.qa_classifier" }),
	.ignored = IGNORED("*embeddings.position_ids", "*bert_model.pooler.*"),
};

// ---- norms before each branch
// ----------------------------------------------------------------------------------------------------

const struct dialect megatron_bert_names = {
	.name = "megatron-bert",
	.prefix = "bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "layers.attn.norm", "@encoder.layer.#.attention.ln" }, { "layers.ffn.norm", "@encoder.layer.#.ln" },
		{ "norm", "@encoder.ln" }, BERT_EMBED, BERT_LAYERS, BERT_HEADS),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect xlm_roberta_xl_names = {
	.name = "xlm-roberta-xl",
	.prefix = "roberta.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "layers.attn.norm", "@encoder.layer.#.attention.self_attn_layer_norm" },
		{ "layers.ffn.norm", "@encoder.layer.#.LayerNorm" }, { "norm", "@encoder.LayerNorm" }, BERT_EMBED, BERT_LAYERS,
		ROBERTA_HEADS),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect roberta_prelayernorm_names = {
	.name = "roberta-prelayernorm",
	.prefix = "roberta_prelayernorm.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "layers.attn.norm", "@encoder.layer.#.attention.LayerNorm" },
		{ "layers.ffn.norm", "@encoder.layer.#.intermediate.LayerNorm" }, { "norm", "@LayerNorm" }, BERT_EMBED,
		BERT_EMBED_NORM, BERT_LAYERS, ROBERTA_HEADS),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect esm_names = {
	.name = "esm",
	.prefix = "esm.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.norm", "@embeddings.layer_norm" },
		{ "layers.attn.norm", "@encoder.layer.#.attention.LayerNorm" },
		{ "layers.ffn.norm", "@encoder.layer.#.LayerNorm" }, { "norm", "@encoder.emb_layer_norm_after" },
		{ "embed.frequencies", "@encoder.layer.$.attention.self.rotary_embeddings" },
		{ "embed.frequencies", "@rotary_embeddings" }, BERT_EMBED, BERT_LAYERS, ROBERTA_HEADS),
	.ignored = IGNORED(BUFFERS, "*contact_head.*", "*rotary_embeddings.inv_freq"),
	.inert = IGNORED("esmfold_config", "vocab_list"),
};

const struct dialect flava_text_names = {
	.name = "flava_text_model",
	.prefix = "flava.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "layers.attn.q", "@encoder.layer.#.attention.attention.query" },
		{ "layers.attn.k", "@encoder.layer.#.attention.attention.key" },
		{ "layers.attn.v", "@encoder.layer.#.attention.attention.value" },
		{ "layers.attn.norm", "@encoder.layer.#.layernorm_before" },
		{ "layers.ffn.norm", "@encoder.layer.#.layernorm_after" }, { "norm", "@layernorm" }, BERT_EMBED, BERT_EMBED_NORM,
		BERT_LAYERS, BERT_POOLER),
	.ignored = IGNORED(BUFFERS),
};

// ---- RoBERTa's names with another prefix, or nearly
// ----------------------------------------------------------------------------

const struct dialect data2vec_text_names = {
	.name = "data2vec-text",
	.prefix = "data2vec_text.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, ROBERTA_HEADS),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect ibert_names = {
	.name = "ibert",
	.prefix = "ibert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, ROBERTA_HEADS),
	.ignored = IGNORED(BUFFERS, "*_scaling_factor", "*_integer", "*.x_min", "*.x_max", "*LayerNorm.shift"),
	.inert = IGNORED("force_dequant"),
};

const struct dialect xmod_names = {
	.name = "xmod",
	.prefix = "roberta.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, ROBERTA_HEADS, { "layers.adapter.norm", "@encoder.layer.#.output.adapter_layer_norm" },
		{ "layers.adapter.down", "@encoder.layer.#.output.adapter_modules.$.dense1" },
		{ "layers.adapter.up", "@encoder.layer.#.output.adapter_modules.$.dense2" }, { "norm", "@encoder.LayerNorm" }),
	.ignored = IGNORED(BUFFERS, "*.adapter_modules.*"), // other languages'
};

const struct dialect squeezebert_names = {
	.name = "squeezebert",
	.prefix = "transformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "layers.attn.q", "@encoder.layers.#.attention.query" },
		{ "layers.attn.k", "@encoder.layers.#.attention.key" }, { "layers.attn.v", "@encoder.layers.#.attention.value" },
		{ "layers.attn.o", "@encoder.layers.#.post_attention.conv1d" },
		{ "layers.attn.norm", "@encoder.layers.#.post_attention.layernorm" },
		{ "layers.ffn.up", "@encoder.layers.#.intermediate.conv1d" },
		{ "layers.ffn.down", "@encoder.layers.#.output.conv1d" },
		{ "layers.ffn.norm", "@encoder.layers.#.output.layernorm" }, BERT_BODY, BERT_HEADS),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect markuplm_names = {
	.name = "markuplm",
	.prefix = "markuplm.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_HEADS, { "embed.tag", "@embeddings.xpath_embeddings.xpath_tag_sub_embeddings.*" },
		{ "embed.number", "@embeddings.xpath_embeddings.xpath_subs_sub_embeddings.*" },
		{ "embed.tree", "@embeddings.xpath_embeddings.xpath_unitseq2_inner" },
		{ "embed.tree_out", "@embeddings.xpath_embeddings.inner2emb" }),
	.ignored = IGNORED(BUFFERS, "*xpath_unitseq2_embeddings.*"), // the class never uses them,
	.inert = IGNORED("tag_pad_id", "subs_pad_id"),
};

const struct dialect visual_bert_names = {
	.name = "visual_bert",
	.prefix = "visual_bert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_POOLER, BERT_LM, { "head.next", "cls.seq_relationship" },
		{ "embed.seen", "@embeddings.visual_projection" },
		{ "embed.seen_type", "@embeddings.visual_token_type_embeddings" },
		{ "embed.seen_position", "@embeddings.visual_position_embeddings" }),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("special_visual_initialize"),
};

const struct dialect fnet_names = {
	.name = "fnet",
	.prefix = "fnet.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.project", "@embeddings.projection" },
		{ "layers.attn.norm", "@encoder.layer.#.fourier.output.LayerNorm" }, BERT_BODY, BERT_HEADS),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("use_tpu_fourier_optimizations", "tpu_short_seq_length"),
};

const struct dialect mobilebert_names = {
	.name = "mobilebert",
	.prefix = "mobilebert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.project", "@embeddings.embedding_transformation" },
		{ "layers.narrow", "@encoder.layer.#.bottleneck.input.dense" },
		{ "layers.narrow.norm", "@encoder.layer.#.bottleneck.input.LayerNorm" },
		{ "layers.narrow_qk", "@encoder.layer.#.bottleneck.attention.dense" },
		{ "layers.narrow_qk.norm", "@encoder.layer.#.bottleneck.attention.LayerNorm" },
		{ "layers.block.up", "@encoder.layer.#.ffn.*.intermediate.dense" },
		{ "layers.block.down", "@encoder.layer.#.ffn.*.output.dense" },
		{ "layers.block.norm", "@encoder.layer.#.ffn.*.output.LayerNorm" },
		{ "layers.widen", "@encoder.layer.#.output.bottleneck.dense" },
		{ "layers.widen.norm", "@encoder.layer.#.output.bottleneck.LayerNorm" },
		{ "head.lm.rest", "cls.predictions.dense" }, BERT_BODY, BERT_HEADS),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("true_hidden_size"),
};

const struct dialect nezha_names = {
	.name = "nezha",
	.prefix = "nezha.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" }, { "embed.type", "@embeddings.token_type_embeddings" },
		BERT_EMBED_NORM, BERT_LAYERS, BERT_NORMS, BERT_HEADS),
	.ignored = IGNORED(BUFFERS, "*relative_positions_encoding*"), // sines, computed here
};

const struct dialect convbert_names = {
	.name = "convbert",
	.prefix = "convbert.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, { "layers.conv", "@encoder.layer.#.attention.self.key_conv_attn_layer" },
		{ "layers.conv.each", "@encoder.layer.#.attention.self.key_conv_attn_layer.depthwise" },
		{ "layers.conv.mix", "@encoder.layer.#.attention.self.key_conv_attn_layer.pointwise" },
		{ "layers.conv.kernel", "@encoder.layer.#.attention.self.conv_kernel_layer" },
		{ "layers.conv.value", "@encoder.layer.#.attention.self.conv_out_layer" },
		{ "head.lm.dense", "generator_predictions.dense" }, { "head.lm.norm", "generator_predictions.LayerNorm" },
		{ "head.lm.out", "generator_lm_head" }, { "head.lm.loose", "generator_lm_head" },
		{ "head.choice.dense", "sequence_summary.summary" }, ROBERTA_SEQUENCE),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("summary_*"),
};

const struct dialect ernie_m_names = {
	.name = "ernie-m",
	.prefix = "ernie_m.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" }, { "embed.norm", "@embeddings.layer_norm" },
		{ "layers.attn.q", "@encoder.layers.#.self_attn.self_attn.q_proj" },
		{ "layers.attn.k", "@encoder.layers.#.self_attn.self_attn.k_proj" },
		{ "layers.attn.v", "@encoder.layers.#.self_attn.self_attn.v_proj" },
		{ "layers.attn.o", "@encoder.layers.#.self_attn.out_proj" }, { "layers.attn.norm", "@encoder.layers.#.norm1" },
		{ "layers.ffn.up", "@encoder.layers.#.linear1" }, { "layers.ffn.down", "@encoder.layers.#.linear2" },
		{ "layers.ffn.norm", "@encoder.layers.#.norm2" }, BERT_POOLER, BERT_SEQUENCE, { "head.token", "classifier" },
		{ "head.choice.out", "classifier" }, { "head.span", "qa_outputs" }),
};

const struct dialect nystromformer_names = {
	.name = "nystromformer",
	.prefix = "nystromformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, { "layers.attn.near", "@encoder.layer.#.attention.self.conv" }, BERT_LM, ROBERTA_SEQUENCE),
	.ignored = IGNORED(BUFFERS),
};

const struct dialect yoso_names = {
	.name = "yoso",
	.prefix = "yoso.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, { "layers.attn.near", "@encoder.layer.#.attention.self.conv" }, BERT_LM, ROBERTA_SEQUENCE),
	.ignored = IGNORED(BUFFERS),
	.inert = IGNORED("use_fast_hash", "num_hash", "lsh_backward"),
};

const struct dialect mra_names = {
	.name = "mra",
	.keeps_buffers = true,
	.prefix = "mra.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_LM, ROBERTA_SEQUENCE),
	.ignored = IGNORED(BUFFERS),
};

// Layers of blocks and of the decoder have the same words; $ says which.
const struct dialect funnel_names = {
	.name = "funnel",
	.prefix = "funnel.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_attention_heads", "n_head" }, { "head_dim", "d_head" },
		{ "intermediate_size", "d_inner" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" }, { "embed.norm", "@embeddings.layer_norm" },
		{ "attn.q", "@$.attention.q_head" }, { "attn.k", "@$.attention.k_head" }, { "attn.v", "@$.attention.v_head" },
		{ "attn.o", "@$.attention.post_proj" }, { "attn.norm", "@$.attention.layer_norm" },
		{ "attn.content_bias", "@$.attention.r_w_bias" }, { "attn.distance_bias", "@$.attention.r_r_bias" },
		{ "attn.type_bias", "@$.attention.r_s_bias" }, { "attn.distance", "@$.attention.r_kernel" },
		{ "attn.types", "@$.attention.seg_embed" }, { "ffn.up", "@$.ffn.linear_1" }, { "ffn.down", "@$.ffn.linear_2" },
		{ "ffn.norm", "@$.ffn.layer_norm" }, { "head.lm.out", "lm_head" }, { "head.lm.loose", "lm_head" },
		{ "head.found.dense", "discriminator_predictions.dense" },
		{ "head.found.out", "discriminator_predictions.dense_prediction" },
		{ "head.sequence.dense", "classifier.linear_hidden" }, { "head.sequence.out", "classifier.linear_out" },
		{ "head.token", "classifier" }, { "head.span", "qa_outputs" }),
	.inert = IGNORED("initializer_std", "max_position_embeddings", "type_vocab_size", "rel_attn_type"),
};

const struct dialect transfo_xl_names = {
	.name = "transfo-xl",
	.prefix = "transformer.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_hidden_layers", "n_layer" }, { "num_attention_heads", "n_head" },
		{ "head_dim", "d_head" }, { "intermediate_size", "d_inner" }, { "embedding_size", "d_embed" },
		{ "layer_norm_eps", "layer_norm_epsilon" }, { "vocab_size", "vocab_size" },
		{ "vocab_size", "vocab_size_or_config_json_file" }),
	.weights = WEIGHTS({ "embed.word", "@word_emb.emb_layers.*" }, { "embed.project", "@word_emb.emb_projs.*" },
		{ "embed.frequencies", "@pos_emb" }, { "layers.attn.qkv", "@layers.#.dec_attn.qkv_net" },
		{ "layers.attn.o", "@layers.#.dec_attn.o_net" }, { "layers.attn.distance", "@layers.#.dec_attn.r_net" },
		{ "layers.attn.distance_bias", "@layers.#.dec_attn.r_r_bias" },
		{ "layers.attn.content_bias", "@layers.#.dec_attn.r_w_bias" },
		{ "layers.attn.norm", "@layers.#.dec_attn.layer_norm" }, { "layers.ffn.up", "@layers.#.pos_ff.CoreNet.0" },
		{ "layers.ffn.down", "@layers.#.pos_ff.CoreNet.3" }, { "layers.ffn.norm", "@layers.#.pos_ff.layer_norm" },
		{ "head.words", "crit.out_layers.*" }, { "head.project", "crit.out_projs.*" }, { "head.clusters", "crit" }),
	.ignored = IGNORED("crit.out_layers.*.weight", "crit.out_projs.*"),
	.inert = IGNORED("adaptive", "dropatt", "init", "init_range", "init_std", "proj_init_std", "sample_softmax"),
};

// $: which layer.
const struct dialect perceiver_text_names = {
	.name = "perceiver-text",
	.prefix = "perceiver.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.word", "@input_preprocessor.embeddings" },
		{ "embed.position", "@input_preprocessor.position_embeddings" }, { "embed.latents", "@embeddings.latents" },
		{ "embed.queries", "@decoder.output_position_encodings.position_embeddings" },
		{ "attn.norm", "@$.attention.self.layernorm1" }, { "attn.other_norm", "@$.attention.self.layernorm2" },
		{ "attn.q", "@$.attention.self.query" }, { "attn.k", "@$.attention.self.key" },
		{ "attn.v", "@$.attention.self.value" }, { "attn.o", "@$.attention.output.dense" },
		{ "ffn.norm", "@$.layernorm" }, { "ffn.up", "@$.mlp.dense1" }, { "ffn.down", "@$.mlp.dense2" },
		{ "head.lm.out", "embedding_decoder" }),
	.inert = IGNORED("audio_samples_per_frame", "image_size", "num_frames", "output_num_channels", "output_shape",
		"samples_per_patch", "train_size", "_label_trainable_num_channels", "layer_norm_eps", "num_channels"),
};

const struct dialect graphormer_names = {
	.name = "graphormer",
	.prefix = "encoder.",
	.keys = KEYS({ "hidden_size", "embedding_dim" }, { "hidden_size", "hidden_size" }),
	.weights = WEIGHTS({ "embed.atom", "@graph_encoder.graph_node_feature.atom_encoder" },
		{ "embed.in", "@graph_encoder.graph_node_feature.in_degree_encoder" },
		{ "embed.out", "@graph_encoder.graph_node_feature.out_degree_encoder" },
		{ "embed.graph", "@graph_encoder.graph_node_feature.graph_token" },
		{ "embed.norm", "@graph_encoder.emb_layer_norm" },
		{ "embed.edge", "@graph_encoder.graph_attn_bias.edge_encoder" },
		{ "embed.edge_distance", "@graph_encoder.graph_attn_bias.edge_dis_encoder" },
		{ "embed.spatial", "@graph_encoder.graph_attn_bias.spatial_pos_encoder" },
		{ "embed.graph_distance", "@graph_encoder.graph_attn_bias.graph_token_virtual_distance" },
		{ "layers.attn.q", "@graph_encoder.layers.#.self_attn.q_proj" },
		{ "layers.attn.k", "@graph_encoder.layers.#.self_attn.k_proj" },
		{ "layers.attn.v", "@graph_encoder.layers.#.self_attn.v_proj" },
		{ "layers.attn.o", "@graph_encoder.layers.#.self_attn.out_proj" },
		{ "layers.attn.norm", "@graph_encoder.layers.#.self_attn_layer_norm" },
		{ "layers.ffn.up", "@graph_encoder.layers.#.fc1" }, { "layers.ffn.down", "@graph_encoder.layers.#.fc2" },
		{ "layers.ffn.norm", "@graph_encoder.layers.#.final_layer_norm" }, { "out", "@lm_head_transform_weight" },
		{ "out.norm", "@layer_norm" }, { "head.classes", "classifier.classifier" },
		{ "head.bias", "classifier.lm_output_learned_bias" }),
	.ignored = IGNORED("*graph_encoder.final_layer_norm.*"),
	.inert = IGNORED("apply_graphormer_init", "freeze_embeddings", "kdim", "vdim", "layerdrop", "max_nodes", "num_layers",
		"num_trans_layers_to_freeze", "qn_block_size", "self_attention", "spatial_pos_max", "traceable",
		"no_token_positional_embeddings", "activation_dropout", "is_encoder_decoder"),
};

const struct dialect reformer_names = {
	.name = "reformer",
	.prefix = "reformer.",
	.keys = KEYS({ "head_dim", "attention_head_size" }, { "intermediate_size", "feed_forward_size" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings.embedding" },
		{ "embed.row", "@embeddings.position_embeddings.weights.0" },
		{ "embed.column", "@embeddings.position_embeddings.weights.1" },
		{ "layers.attn.norm", "@encoder.layers.#.attention.layer_norm" },
		{ "layers.attn.qk", "@encoder.layers.#.attention.self_attention.query_key" },
		{ "layers.attn.q", "@encoder.layers.#.attention.self_attention.query" },
		{ "layers.attn.k", "@encoder.layers.#.attention.self_attention.key" },
		{ "layers.attn.v", "@encoder.layers.#.attention.self_attention.value" },
		{ "layers.attn.o", "@encoder.layers.#.attention.output.dense" },
		{ "layers.ffn.norm", "@encoder.layers.#.feed_forward.layer_norm" },
		{ "layers.ffn.up", "@encoder.layers.#.feed_forward.dense.dense" },
		{ "layers.ffn.down", "@encoder.layers.#.feed_forward.output.dense" }, { "norm", "@encoder.layer_norm" },
		{ "head.lm.out", "lm_head.decoder" }),
	.ignored = IGNORED("*mask_value_float*", "lm_head.bias"),
	.inert = IGNORED("axial_norm_std", "chunk_size_lm_head", "classifier_dropout", "hash_seed", "local_num_chunks_*",
		"lsh_num_chunks_*", "lsh_attention_probs_dropout_prob", "local_attention_probs_dropout_prob", "num_buckets",
		"num_hashes", "tie_word_embeddings"),
};

// $: which of the three encoders.
#define CANINE_LAYER "@$.layer.#."
const struct dialect canine_names = {
	.name = "canine",
	.prefix = "canine.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "embed.hash", "@char_embeddings.HashBucketCodepointEmbedder_*" },
		{ "embed.position", "@char_embeddings.char_position_embeddings" },
		{ "embed.type", "@char_embeddings.token_type_embeddings" }, { "embed.norm", "@char_embeddings.LayerNorm" },
		{ "down", "@chars_to_molecules.conv" }, { "down.norm", "@chars_to_molecules.LayerNorm" },
		{ "up", "@projection.conv" }, { "up.norm", "@projection.LayerNorm" }, { "pooler", "@pooler.dense" },
		{ "layers.attn.q", CANINE_LAYER "attention.self.query" }, { "layers.attn.k", CANINE_LAYER "attention.self.key" },
		{ "layers.attn.v", CANINE_LAYER "attention.self.value" },
		{ "layers.attn.o", CANINE_LAYER "attention.output.dense" },
		{ "layers.attn.norm", CANINE_LAYER "attention.output.LayerNorm" },
		{ "layers.ffn.up", CANINE_LAYER "intermediate.dense" }, { "layers.ffn.down", CANINE_LAYER "output.dense" },
		{ "layers.ffn.norm", CANINE_LAYER "output.LayerNorm" }, { "head.sequence", "classifier" },
		{ "head.token", "classifier" }, { "head.span", "qa_outputs" }),
	.ignored = IGNORED("*char_embeddings.position_ids", "*pooler.*"),
};

const struct dialect xlm_names = {
	.name = "xlm",
	.prefix = "transformer.",
	.keys = KEYS({ "hidden_size", "emb_dim" }, { "num_hidden_layers", "n_layers" }, { "num_attention_heads", "n_heads" },
		{ "vocab_size", "vocab_size" }, { "vocab_size", "n_words" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings" }, { "embed.position", "@position_embeddings" },
		{ "embed.language", "@lang_embeddings" }, { "embed.norm", "@layer_norm_emb" },
		{ "layers.attn.q", "@attentions.#.q_lin" }, { "layers.attn.k", "@attentions.#.k_lin" },
		{ "layers.attn.v", "@attentions.#.v_lin" }, { "layers.attn.o", "@attentions.#.out_lin" },
		{ "layers.attn.norm", "@layer_norm1.#" }, { "layers.ffn.up", "@ffns.#.lin1" },
		{ "layers.ffn.down", "@ffns.#.lin2" }, { "layers.ffn.norm", "@layer_norm2.#" },
		{ "head.lm.out", "pred_layer.proj" }, { "head.lm.loose", "pred_layer.proj" }, { "head.token", "classifier" }),
	.ignored = IGNORED("*position_ids"),
	// The positions' sines lie in the file.
	.inert = IGNORED("bos_index", "embed_init_std", "end_n_top", "eos_index", "id2lang", "lang2id", "lang_id", "mask_index",
		"pad_index", "sinusoidal_embeddings", "start_n_top", "summary_*", "unk_index"),
};

const struct dialect realm_names = {
	.name = "realm",
	.prefix = "realm.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(
		BERT_BODY, BERT_POOLER, BERT_LM, { "head.retrieve", "cls.dense" }, { "head.retrieve.norm", "cls.LayerNorm" }),
	.ignored = IGNORED("*embeddings.position_ids", "cls.predictions.*"),
	.inert = IGNORED(
		"max_span_width", "num_block_records", "num_candidates", "reader_*", "searcher_beam_size", "span_hidden_size"),
};

const struct dialect bros_names = {
	.name = "bros",
	.keeps_buffers = true,
	.prefix = "bros.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_POOLER, { "embed.box_project", "@bbox_embeddings.bbox_projection" },
		{ "embed.box_x", "@bbox_embeddings.bbox_sinusoid_emb.x_pos_emb" },
		{ "embed.box_y", "@bbox_embeddings.bbox_sinusoid_emb.y_pos_emb" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("dim_bbox_*", "n_relations"),
};

#define LILT_LAYOUT(word, stem) \
	{ \
		"layers.layout.attn." word, "@encoder.layer.#.attention.self.layout_" stem \
	}

const struct dialect lilt_names = {
	.name = "lilt",
	.prefix = "lilt.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_POOLER, ROBERTA_SEQUENCE, { "embed.x", "@layout_embeddings.x_position_embeddings" },
		{ "embed.y", "@layout_embeddings.y_position_embeddings" },
		{ "embed.height", "@layout_embeddings.h_position_embeddings" },
		{ "embed.width", "@layout_embeddings.w_position_embeddings" },
		{ "embed.box_project", "@layout_embeddings.box_linear_embeddings" },
		{ "embed.box_position", "@layout_embeddings.box_position_embeddings" },
		{ "embed.box_norm", "@layout_embeddings.LayerNorm" }, LILT_LAYOUT("q", "query"), LILT_LAYOUT("k", "key"),
		LILT_LAYOUT("v", "value"), { "layers.layout.attn.o", "@encoder.layer.#.attention.layout_output.dense" },
		{ "layers.layout.attn.norm", "@encoder.layer.#.attention.layout_output.LayerNorm" },
		{ "layers.layout.ffn.up", "@encoder.layer.#.layout_intermediate.dense" },
		{ "layers.layout.ffn.down", "@encoder.layer.#.layout_output.dense" },
		{ "layers.layout.ffn.norm", "@encoder.layer.#.layout_output.LayerNorm" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect luke_names = {
	.name = "luke",
	.prefix = "luke.",
	.keys = NO_KEYS,
	.weights =
		WEIGHTS(BERT_BODY, BERT_POOLER, { "head.sequence.dense", "@pooler.dense" }, { "head.sequence.out", "classifier" },
			ROBERTA_LM, { "layers.attn.q_word_entity", "@encoder.layer.#.attention.self.w2e_query" },
			{ "layers.attn.q_entity_word", "@encoder.layer.#.attention.self.e2w_query" },
			{ "layers.attn.q_entity_entity", "@encoder.layer.#.attention.self.e2e_query" },
			{ "embed.entity", "@entity_embeddings.entity_embeddings" },
			{ "embed.entity_project", "@entity_embeddings.entity_embedding_dense" },
			{ "embed.entity_position", "@entity_embeddings.position_embeddings" },
			{ "embed.entity_type", "@entity_embeddings.token_type_embeddings" },
			{ "embed.entity_norm", "@entity_embeddings.LayerNorm" },
			{ "head.entity.dense", "entity_predictions.transform.dense" },
			{ "head.entity.norm", "entity_predictions.transform.LayerNorm" },
			{ "head.entity.out", "entity_predictions.decoder" }, { "head.entity", "entity_predictions" }),
	.ignored = IGNORED("*embeddings.position_ids", "*2[ew]_query.*", "*entity_embeddings.*"),
};

// Of the pyramid only the finest map is read.
const struct dialect layoutlmv2_names = {
	.name = "layoutlmv2",
	.prefix = "layoutlmv2.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_POOLER, { "embed.x", "@embeddings.x_position_embeddings" },
		{ "embed.y", "@embeddings.y_position_embeddings" }, { "embed.height", "@embeddings.h_position_embeddings" },
		{ "embed.width", "@embeddings.w_position_embeddings" }, { "attn.relative", "@encoder.rel_pos_bias" },
		{ "attn.relative_x", "@encoder.rel_pos_x_bias" }, { "attn.relative_y", "@encoder.rel_pos_y_bias" },
		{ "layers.attn.qkv", "@encoder.layer.#.attention.self.qkv_linear" },
		{ "layers.attn.q_bias", "@encoder.layer.#.attention.self.q_bias" },
		{ "layers.attn.v_bias", "@encoder.layer.#.attention.self.v_bias" }, { "head.page", "classifier" },
		{ "picture.stem", "@visual.backbone.bottom_up.stem.conv1" },
		{ "picture.stem_norm", "@visual.backbone.bottom_up.stem.conv1.norm" },
		{ "picture.conv", "@visual.backbone.bottom_up.res#.#.conv#" },
		{ "picture.norm", "@visual.backbone.bottom_up.res#.#.conv#.norm" },
		{ "picture.shortcut", "@visual.backbone.bottom_up.res#.#.shortcut" },
		{ "picture.shortcut_norm", "@visual.backbone.bottom_up.res#.#.shortcut.norm" },
		{ "picture.lateral", "@visual.backbone.fpn_lateral#" }, { "picture.finest", "@visual.backbone.fpn_output2" },
		{ "picture.project", "@visual_proj" }, { "picture.segment", "@visual_segment_embedding" },
		{ "picture.embed_norm", "@visual_LayerNorm" }),
	.ignored = IGNORED("*visual.backbone.fpn_output[345].*", "*embeddings.position_ids"),
	.inert = IGNORED("convert_sync_batchnorm"),
};

const struct dialect layoutlmv3_names = {
	.name = "layoutlmv3",
	.prefix = "layoutlmv3.",
	.keys = NO_KEYS,
	.weights = WEIGHTS({ "head.span", "qa_outputs.out_proj" }, { "head.span.dense", "qa_outputs.dense" },
		{ "head.token.dense", "classifier.dense" }, { "head.token.out", "classifier.out_proj" }, BERT_BODY,
		ROBERTA_SEQUENCE, { "embed.x", "@embeddings.x_position_embeddings" },
		{ "embed.y", "@embeddings.y_position_embeddings" }, { "embed.height", "@embeddings.h_position_embeddings" },
		{ "embed.width", "@embeddings.w_position_embeddings" }, { "embed.patch", "@patch_embed.proj" },
		{ "embed.class", "@cls_token" }, { "embed.patch_position", "@pos_embed" }, { "embed.picture_norm", "@norm" },
		{ "embed.both_norm", "@LayerNorm" }, { "attn.relative", "@encoder.rel_pos_bias" },
		{ "attn.relative_x", "@encoder.rel_pos_x_bias" }, { "attn.relative_y", "@encoder.rel_pos_y_bias" }),
	.ignored = IGNORED(
		"*embeddings.position_ids", "*encoder.rel_pos_[xy]_bias.weight"), // of no effect beside no bias of the text
};

const struct dialect longformer_names = {
	.name = "longformer",
	.prefix = "longformer.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, ROBERTA_HEADS, { "layers.attn.q_global", "@encoder.layer.#.attention.self.query_global" },
		{ "layers.attn.k_global", "@encoder.layer.#.attention.self.key_global" },
		{ "layers.attn.v_global", "@encoder.layer.#.attention.self.value_global" }),
	.ignored = IGNORED("*embeddings.position_ids"),
	.inert = IGNORED("onnx_export", "ignore_attention_mask"),
};

const struct dialect xlnet_names = {
	.name = "xlnet",
	.prefix = "transformer.",
	.keys = KEYS({ "hidden_size", "d_model" }, { "num_hidden_layers", "n_layer" }, { "num_attention_heads", "n_head" },
		{ "head_dim", "d_head" }, { "intermediate_size", "d_inner" }, { "hidden_act", "ff_activation" }),
	.weights = WEIGHTS({ "embed.word", "@word_embedding" }, { "layers.attn.q", "@layer.#.rel_attn.q" },
		{ "layers.attn.k", "@layer.#.rel_attn.k" }, { "layers.attn.v", "@layer.#.rel_attn.v" },
		{ "layers.attn.o", "@layer.#.rel_attn.o" }, { "layers.attn.r", "@layer.#.rel_attn.r" },
		{ "layers.attn.u", "@layer.#.rel_attn.r_w_bias" }, { "layers.attn.w", "@layer.#.rel_attn.r_r_bias" },
		{ "layers.attn.s", "@layer.#.rel_attn.r_s_bias" }, { "layers.attn.segments", "@layer.#.rel_attn.seg_embed" },
		{ "layers.attn.norm", "@layer.#.rel_attn.layer_norm" }, { "layers.ffn.up", "@layer.#.ff.layer_1" },
		{ "layers.ffn.down", "@layer.#.ff.layer_2" }, { "layers.ffn.norm", "@layer.#.ff.layer_norm" },
		{ "head.lm.out", "lm_loss" }, { "head.lm.loose", "lm_loss" }, { "head.token", "classifier" },
		{ "head.choice.dense", "sequence_summary.summary" }, { "head.sequence.out", "logits_proj" }),
	.ignored = IGNORED("*mask_emb"), // of what is predicted in a permuted order
	.inert = IGNORED("mem_len", "reuse_len", "use_mems*", "start_n_top", "end_n_top", "untie_r", "summary_*"),
};

#define CPMANT_LAYER(stem) "@encoder.layers.#." stem

const struct dialect cpmant_names = {
	.name = "cpmant",
	.prefix = "cpmant.",
	.keys = KEYS({ "head_dim", "dim_head" }, { "intermediate_size", "dim_ff" }),
	.weights = WEIGHTS({ "embed.word", "@input_embedding" }, { "embed.segment", "@segment_embedding" },
		{ "attn.relative", "@position_bias.relative_attention_bias" }, { "norm", "@encoder.output_layernorm" },
		{ "layers.attn.norm", CPMANT_LAYER("self_att.layernorm_before_attention") },
		{ "layers.attn.q", CPMANT_LAYER("self_att.self_attention.project_q") },
		{ "layers.attn.k", CPMANT_LAYER("self_att.self_attention.project_k") },
		{ "layers.attn.v", CPMANT_LAYER("self_att.self_attention.project_v") },
		{ "layers.attn.o", CPMANT_LAYER("self_att.self_attention.attention_out") },
		{ "layers.ffn.norm", CPMANT_LAYER("ffn.layernorm_before_ffn") },
		{ "layers.ffn.gate", CPMANT_LAYER("ffn.ffn.w_in.w_0") }, { "layers.ffn.up", CPMANT_LAYER("ffn.ffn.w_in.w_1") },
		{ "layers.ffn.down", CPMANT_LAYER("ffn.ffn.w_out") }, { "head.lm.out", "lm_head" }),
	.ignored = IGNORED(NULL),
};

const struct dialect retribert_names = {
	.name = "retribert",
	.prefix = "bert_query.",
	.keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY, BERT_POOLER, { "project.query", "project_query" }, { "project.doc", "project_doc" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

// $: whose layers these are, or which half of a cross layer.
#define LXMERT_ATTENTION(stem, own, out) \
	{ stem ".q", own ".query" }, { stem ".k", own ".key" }, { stem ".v", own ".value" }, { stem ".o", out ".dense" }, \
	{ \
		stem ".norm", out ".LayerNorm" \
	}

const struct dialect lxmert_names = {
	.name = "lxmert",
	.prefix = "lxmert.",
	.keys = KEYS({ "num_hidden_layers", "l_layers" }),
	.weights = WEIGHTS({ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" }, { "embed.type", "@embeddings.token_type_embeddings" },
		{ "embed.norm", "@embeddings.LayerNorm" }, { "regions.features", "@encoder.visn_fc.visn_fc" },
		{ "regions.features.norm", "@encoder.visn_fc.visn_layer_norm" }, { "regions.boxes", "@encoder.visn_fc.box_fc" },
		{ "regions.boxes.norm", "@encoder.visn_fc.box_layer_norm" },
		LXMERT_ATTENTION("layers.attn", "@encoder.$.#.attention.self", "@encoder.$.#.attention.output"),
		{ "layers.ffn.up", "@encoder.$.#.intermediate.dense" }, { "layers.ffn.down", "@encoder.$.#.output.dense" },
		{ "layers.ffn.norm", "@encoder.$.#.output.LayerNorm" },
		LXMERT_ATTENTION(
			"cross.attn", "@encoder.x_layers.#.visual_attention.att", "@encoder.x_layers.#.visual_attention.output"),
		LXMERT_ATTENTION("cross.self", "@encoder.x_layers.#.$_self_att.self", "@encoder.x_layers.#.$_self_att.output"),
		{ "cross.ffn.up", "@encoder.x_layers.#.$_inter.dense" },
		{ "cross.ffn.down", "@encoder.x_layers.#.$_output.dense" },
		{ "cross.ffn.norm", "@encoder.x_layers.#.$_output.LayerNorm" }, { "pooler", "@pooler.dense" }),
	.ignored = IGNORED("*embeddings.position_ids", "cls.*", "obj_predict_head.*", "answer_head.*"),
	.inert = IGNORED("num_hidden_layers", "num_*_labels", "task_*", "visual_*_loss", "visual_loss_normalizer"),
};
