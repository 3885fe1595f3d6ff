// SPDX-License-Identifier: Apache-2.0
// What checkpoints of the encoder family call things.
#include "arch/dialect.h"

#define BERT_BODY                                                                        \
	{ "embed.word", "@embeddings.word_embeddings" },                                 \
	{ "embed.position", "@embeddings.position_embeddings" },                         \
	{ "embed.type", "@embeddings.token_type_embeddings" },                           \
	{ "embed.norm", "@embeddings.LayerNorm" },                                       \
	{ "embed.project", "@embeddings_project" },                                      \
	{ "layers.attn.q", "@encoder.layer.#.attention.self.query" },                    \
	{ "layers.attn.k", "@encoder.layer.#.attention.self.key" },                      \
	{ "layers.attn.v", "@encoder.layer.#.attention.self.value" },                    \
	{ "layers.attn.o", "@encoder.layer.#.attention.output.dense" },                  \
	{ "layers.attn.norm", "@encoder.layer.#.attention.output.LayerNorm" },           \
	{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },                      \
	{ "layers.ffn.down", "@encoder.layer.#.output.dense" },                          \
	{ "layers.ffn.norm", "@encoder.layer.#.output.LayerNorm" },                      \
	{ "head.token", "classifier" },                                                  \
	{ "head.choice.out", "classifier" },                                             \
	{ "head.span", "qa_outputs" }

const struct dialect bert_names = {
	.name = "bert", .prefix = "bert.", .keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY,
		{ "pooler", "@pooler.dense" },
		{ "head.lm.dense", "cls.predictions.transform.dense" },
		{ "head.lm.norm", "cls.predictions.transform.LayerNorm" },
		{ "head.lm.out", "cls.predictions.decoder" },
		{ "head.lm.loose", "cls.predictions" },              // the bias of a tied output lies beside it
		{ "head.next", "cls.seq_relationship" },
		{ "head.sequence.dense", "@pooler.dense" },
		{ "head.sequence.out", "classifier" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect chinese_clip_text_names = {
	.name = "chinese-clip-text", .prefix = "text_model.", .keys = NO_KEYS, .weights = WEIGHTS(BERT_BODY, { "pooler", "@pooler.dense" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect roberta_names = {
	.name = "roberta", .prefix = "roberta.", .keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY,
		{ "pooler", "@pooler.dense" },
		{ "head.lm.dense", "lm_head.dense" },
		{ "head.lm.norm", "lm_head.layer_norm" },
		{ "head.lm.out", "lm_head.decoder" },
		{ "head.lm.loose", "lm_head" },
		{ "head.sequence.dense", "classifier.dense" },
		{ "head.sequence.out", "classifier.out_proj" }),
	.ignored = IGNORED("*embeddings.position_ids", "*embeddings.token_type_ids"),
};

const struct dialect electra_names = {
	.name = "electra", .prefix = "electra.", .keys = NO_KEYS,
	.weights = WEIGHTS(BERT_BODY,
		{ "head.lm.dense", "generator_predictions.dense" },
		{ "head.lm.norm", "generator_predictions.LayerNorm" },
		{ "head.lm.out", "generator_lm_head" },
		{ "head.lm.loose", "generator_lm_head" },
		{ "head.found.dense", "discriminator_predictions.dense" },
		{ "head.found.out", "discriminator_predictions.dense_prediction" },
		{ "head.choice.dense", "sequence_summary.summary" },
		{ "head.sequence.dense", "classifier.dense" },
		{ "head.sequence.out", "classifier.out_proj" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect mpnet_names = {
	.name = "mpnet", .prefix = "mpnet.", .keys = KEYS({ "relative_buckets", "relative_attention_num_buckets" }),
	.weights = WEIGHTS(
		{ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" },
		{ "embed.norm", "@embeddings.LayerNorm" },
		{ "attn.relative", "@encoder.relative_attention_bias" },
		{ "layers.attn.q", "@encoder.layer.#.attention.attn.q" },
		{ "layers.attn.k", "@encoder.layer.#.attention.attn.k" },
		{ "layers.attn.v", "@encoder.layer.#.attention.attn.v" },
		{ "layers.attn.o", "@encoder.layer.#.attention.attn.o" },
		{ "layers.attn.norm", "@encoder.layer.#.attention.LayerNorm" },
		{ "layers.ffn.up", "@encoder.layer.#.intermediate.dense" },
		{ "layers.ffn.down", "@encoder.layer.#.output.dense" },
		{ "layers.ffn.norm", "@encoder.layer.#.output.LayerNorm" },
		{ "pooler", "@pooler.dense" },
		{ "head.token", "classifier" },
		{ "head.choice.out", "classifier" },
		{ "head.span", "qa_outputs" },
		{ "head.lm.dense", "lm_head.dense" },
		{ "head.lm.norm", "lm_head.layer_norm" },
		{ "head.lm.out", "lm_head.decoder" },
		{ "head.lm.loose", "lm_head" },
		{ "head.sequence.dense", "classifier.dense" },
		{ "head.sequence.out", "classifier.out_proj" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect distilbert_names = {
	.name = "distilbert", .prefix = "distilbert.",
	.keys = KEYS({ "hidden_size", "dim" }, { "num_hidden_layers", "n_layers" }, { "num_attention_heads", "n_heads" }, { "intermediate_size", "hidden_dim" },
		{ "hidden_act", "activation" }),
	.weights = WEIGHTS(
		{ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" },
		{ "embed.norm", "@embeddings.LayerNorm" },
		{ "layers.attn.q", "@transformer.layer.#.attention.q_lin" },
		{ "layers.attn.k", "@transformer.layer.#.attention.k_lin" },
		{ "layers.attn.v", "@transformer.layer.#.attention.v_lin" },
		{ "layers.attn.o", "@transformer.layer.#.attention.out_lin" },
		{ "layers.attn.norm", "@transformer.layer.#.sa_layer_norm" },
		{ "layers.ffn.up", "@transformer.layer.#.ffn.lin1" },
		{ "layers.ffn.down", "@transformer.layer.#.ffn.lin2" },
		{ "layers.ffn.norm", "@transformer.layer.#.output_layer_norm" },
		{ "head.token", "classifier" },
		{ "head.choice.out", "classifier" },
		{ "head.span", "qa_outputs" },
		{ "head.lm.dense", "vocab_transform" },
		{ "head.lm.norm", "vocab_layer_norm" },
		{ "head.lm.out", "vocab_projector" },
		{ "head.lm.loose", "vocab_projector" },
		{ "head.sequence.dense", "pre_classifier" },
		{ "head.sequence.out", "classifier" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};

const struct dialect albert_names = {
	.name = "albert", .prefix = "albert.", .keys = KEYS({ "layer_groups", "num_hidden_groups" }),
	.weights = WEIGHTS(
		{ "embed.word", "@embeddings.word_embeddings" },
		{ "embed.position", "@embeddings.position_embeddings" },
		{ "embed.type", "@embeddings.token_type_embeddings" },
		{ "embed.norm", "@embeddings.LayerNorm" },
		{ "embed.project", "@encoder.embedding_hidden_mapping_in" },
		{ "layers.attn.q", "@encoder.albert_layer_groups.#.albert_layers.#.attention.query" },
		{ "layers.attn.k", "@encoder.albert_layer_groups.#.albert_layers.#.attention.key" },
		{ "layers.attn.v", "@encoder.albert_layer_groups.#.albert_layers.#.attention.value" },
		{ "layers.attn.o", "@encoder.albert_layer_groups.#.albert_layers.#.attention.dense" },
		{ "layers.attn.norm", "@encoder.albert_layer_groups.#.albert_layers.#.attention.LayerNorm" },
		{ "layers.ffn.up", "@encoder.albert_layer_groups.#.albert_layers.#.ffn" },
		{ "layers.ffn.down", "@encoder.albert_layer_groups.#.albert_layers.#.ffn_output" },
		{ "layers.ffn.norm", "@encoder.albert_layer_groups.#.albert_layers.#.full_layer_layer_norm" },
		{ "pooler", "@pooler" },
		{ "head.token", "classifier" },
		{ "head.choice.out", "classifier" },
		{ "head.span", "qa_outputs" },
		{ "head.lm.dense", "predictions.dense" },
		{ "head.lm.norm", "predictions.LayerNorm" },
		{ "head.lm.out", "predictions.decoder" },
		{ "head.lm.loose", "predictions" },
		{ "head.order", "sop_classifier.classifier" },
		{ "head.sequence.dense", "@pooler" },
		{ "head.sequence.out", "classifier" }),
	.ignored = IGNORED("*embeddings.position_ids"),
};
