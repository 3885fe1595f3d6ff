// SPDX-License-Identifier: Apache-2.0
// The tasks. A row: what an input holds, what may be asked, which classes mean it, what does it.
#include "base/text.h"
#include "pipeline/choose.h"

const struct pipeline_task pipeline_tasks[] = {
	{ "text-classification", { { "text", PIPELINE_TEXT }, { "text_pair", PIPELINE_TEXT, true } }, "top_k function_to_apply",
		"sequence-classification", .run = task_text_classification },
	{ "token-classification", { { "text", PIPELINE_TEXT } }, "aggregation_strategy stride ignore_labels",
		"token-classification", .run = task_token_classification },
	{ "fill-mask", { { "text", PIPELINE_TEXT } }, "top_k targets", "masked-lm", .run = task_fill_mask },
	{ "question-answering", { { "question", PIPELINE_TEXT }, { "context", PIPELINE_TEXT } },
		"top_k max_seq_len doc_stride max_answer_len", "question-answering", .run = task_question_answering },
	{ "zero-shot-classification", { { "sequence", PIPELINE_TEXT }, { "candidate_labels", PIPELINE_TEXTS } },
		"multi_label hypothesis_template", NULL, .run = task_zero_shot_classification },
	{ "text-ranking", { { "query", PIPELINE_TEXT }, { "documents", PIPELINE_TEXTS } }, "top_k", NULL,
		.run = task_text_ranking },
	{ "text-generation", { { "text", PIPELINE_TEXT, true }, { "messages", PIPELINE_JSON, true } },
		GENERATE_OPTIONS " return_full_text", "causal-lm", .run = task_text_generation },
	{ "translation", { { "text", PIPELINE_TEXT } }, GENERATE_OPTIONS " prefix src_lang forced_bos_token", NULL,
		.run = task_translation },
	{ "summarization", { { "text", PIPELINE_TEXT } }, GENERATE_OPTIONS " prefix", NULL, .run = task_summarization },
	{ "document-question-answering",
		{ { "question", PIPELINE_TEXT }, { "words", PIPELINE_JSON }, { "boxes", PIPELINE_JSON } },
		"top_k max_answer_len max_seq_len doc_stride", NULL, .run = task_document_question_answering },
	{ "sentence-similarity", { { "sentences", PIPELINE_TEXTS } }, "prompt prompt_name normalize_embeddings", NULL,
		.run = task_sentence_similarity },
	{ "retrieval-augmented-generation", { { "question", PIPELINE_TEXT } }, GENERATE_OPTIONS " retrieval", NULL,
		.run = task_retrieval_augmented_generation },
	{ "feature-extraction", { { "text", PIPELINE_TEXT } }, "", "model encoder", .run = task_feature_extraction },
	{ NULL },
};

size_t pipeline_task_count(void)
{
	return sizeof pipeline_tasks / sizeof *pipeline_tasks - 1;
}

bool pipeline_task_known(const char *name)
{
	return pipeline_task_find(name) != NULL;
}

const char *pipeline_task_name(size_t i, const void *unused)
{
	(void)unused;
	return i < pipeline_task_count() ? pipeline_tasks[i].name : NULL;
}

const struct pipeline_input *pipeline_task_inputs(size_t i)
{
	return pipeline_tasks[i].inputs;
}

const char *pipeline_task_options(size_t i)
{
	return pipeline_tasks[i].options;
}

const char *pipeline_generate_options(void)
{
	return GENERATE_OPTIONS;
}

const struct pipeline_task *pipeline_task_find(const char *name)
{
	for (const struct pipeline_task *t = pipeline_tasks; t->name; t++)
		if (text_is(t->name, name))
			return t;
	return NULL;
}
