// SPDX-License-Identifier: Apache-2.0
// The tasks. A row: what an input holds, what may be asked, which classes mean it, what does it.
#include <string.h>

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
	{ "zero-shot-classification", { { "sequence", PIPELINE_TEXT }, { "candidate_labels", PIPELINE_LABELS } },
		"multi_label hypothesis_template", NULL, .run = task_zero_shot_classification },
	{ "text-ranking", { { "query", PIPELINE_TEXT }, { "documents", PIPELINE_TEXTS } }, "top_k", NULL,
		.run = task_text_ranking },
	{ "text-generation", { { "text", PIPELINE_TEXT, true }, { "messages", PIPELINE_JSON, true } },
		GENERATE_OPTIONS " return_full_text", "causal-lm", .run = task_text_generation },
	{ "translation", { { "text", PIPELINE_TEXT } }, GENERATE_OPTIONS " prefix src_lang forced_bos_token", NULL,
		.classes = "MarianMTModel M2M100ForConditionalGeneration", .maybe = "conditional-generation",
		.run = task_translation },
	{ "summarization", { { "text", PIPELINE_TEXT } }, GENERATE_OPTIONS " prefix", NULL,
		.classes = "PegasusForConditionalGeneration", .maybe = "conditional-generation", .run = task_summarization },
	{ "document-question-answering",
		{ { "question", PIPELINE_TEXT }, { "words", PIPELINE_JSON }, { "boxes", PIPELINE_JSON } },
		"top_k max_answer_len max_seq_len doc_stride", NULL, .classes = "LayoutLMForQuestionAnswering",
		.run = task_document_question_answering },
	{ "table-question-answering", { { "table", PIPELINE_JSON }, { "query", PIPELINE_TEXT } }, "", "table-question-answering",
		.run = task_table_question_answering },
	{ "sentence-similarity", { { "sentences", PIPELINE_TEXTS } }, "prompt prompt_name normalize_embeddings", NULL,
		.run = task_sentence_similarity },
	{ "retrieval-augmented-generation", { { "question", PIPELINE_TEXT } }, GENERATE_OPTIONS " retrieval", NULL,
		.run = task_retrieval_augmented_generation },
	{ "feature-extraction", { { "text", PIPELINE_TEXT } }, "", "model encoder", .run = task_feature_extraction },
	{ "image-classification", { { "image", PIPELINE_PICTURE } }, "top_k function_to_apply", "image-classification",
		.of_pictures = true, .run = task_image_classification },
	{ "image-feature-extraction", { { "image", PIPELINE_PICTURE } }, "pool", "model", .of_pictures = true,
		.run = task_image_feature_extraction },
	{ "zero-shot-image-classification", { { "image", PIPELINE_PICTURE }, { "candidate_labels", PIPELINE_LABELS } },
		"hypothesis_template", NULL, .classes = "CLIPModel SiglipModel Siglip2Model",
		.run = task_zero_shot_image_classification },
	{ "object-detection", { { "image", PIPELINE_PICTURE } }, "threshold", "object-detection", .of_pictures = true,
		.run = task_object_detection },
	{ "zero-shot-object-detection", { { "image", PIPELINE_PICTURE }, { "candidate_labels", PIPELINE_LABELS } },
		"threshold top_k", NULL, .classes = "OwlViTForObjectDetection Owlv2ForObjectDetection",
		.run = task_zero_shot_object_detection },
	{ "image-segmentation", { { "image", PIPELINE_PICTURE } }, "subtask threshold mask_threshold overlap_mask_area_threshold",
		"semantic-segmentation segmentation", .of_pictures = true, .run = task_image_segmentation },
	{ "promptable-segmentation",
		{ { "image", PIPELINE_PICTURE }, { "input_points", PIPELINE_JSON, true }, { "input_labels", PIPELINE_JSON, true },
			{ "input_boxes", PIPELINE_JSON, true } },
		"multimask_output", NULL, .classes = "SamModel", .run = task_promptable_segmentation },
	{ "depth-estimation", { { "image", PIPELINE_PICTURE } }, "", "depth-estimation", .of_pictures = true,
		.run = task_depth_estimation },
	{ "image-to-image", { { "image", PIPELINE_PICTURE } }, "", "super-resolution", .of_pictures = true,
		.run = task_image_to_image },
	{ "visual-question-answering", { { "image", PIPELINE_PICTURE }, { "question", PIPELINE_TEXT } }, "top_k",
		"question-answering", .of_pictures = true, .run = task_visual_question_answering },
	{ "image-captioning", { { "image", PIPELINE_PICTURE }, { "text", PIPELINE_TEXT, true } }, GENERATE_OPTIONS, NULL,
		.of_pictures = true, .classes = "BlipForConditionalGeneration", .maybe = "conditional-generation",
		.run = task_image_captioning },
	{ "image-text-to-text",
		{ { "image", PIPELINE_PICTURES, true }, { "text", PIPELINE_TEXT, true }, { "messages", PIPELINE_JSON, true } },
		GENERATE_OPTIONS " generate_kwargs return_full_text", NULL, .of_pictures = true,
		.classes = "LlavaForConditionalGeneration Idefics3ForConditionalGeneration SmolVLMForConditionalGeneration",
		.maybe = "conditional-generation", .run = task_image_text_to_text },
	{ "video-classification", { { "frames", PIPELINE_PICTURES } }, "top_k function_to_apply", "video-classification",
		.of_pictures = true, .run = task_video_classification },
	{ "audio-classification", { { "audio", PIPELINE_SOUND } }, "top_k function_to_apply",
		"audio-classification sequence-classification", .of_pictures = true, .run = task_audio_classification },
	{ "zero-shot-audio-classification", { { "audio", PIPELINE_SOUND }, { "candidate_labels", PIPELINE_LABELS } },
		"hypothesis_template", NULL, .classes = "ClapModel", .run = task_zero_shot_audio_classification },
	{ "automatic-speech-recognition", { { "audio", PIPELINE_SOUND } },
		DICTATION_OPTIONS " generate_kwargs return_timestamps chunk_length_s stride_length_s", "ctc", .of_pictures = true,
		.classes = "WhisperForConditionalGeneration", .maybe = "conditional-generation",
		.run = task_automatic_speech_recognition },
	{ "text-to-image",
		{ { "prompt", PIPELINE_TEXT }, { "negative_prompt", PIPELINE_TEXT, true }, { "image", PIPELINE_PICTURE, true },
			{ "mask_image", PIPELINE_PICTURE, true, "image" }, { "latents", PIPELINE_TENSOR, true } },
		"num_inference_steps guidance_scale strength height width seed negative_prompt eta max_sequence_length prompt_2 "
		"prompt_3 "
		"negative_prompt_2 negative_prompt_3 original_size crops_coords_top_left target_size use_resolution_binning "
		"complex_human_instruction system_prompt cfg_normalization cfg_trunc_ratio "
		"controlnet_conditioning_scale control_guidance_start control_guidance_end",
		NULL, .run = task_text_to_image },
	{ "text-to-audio",
		{ { "text", PIPELINE_TEXT }, { "speaker_embeddings", PIPELINE_TENSOR, true }, { "noise", PIPELINE_TENSOR, true },
			{ "output", PIPELINE_TEXT, true } },
		"seed speaker_id threshold minlenratio maxlenratio", NULL,
		.classes = "VitsModel SpeechT5ForTextToSpeech BarkModel MusicgenForConditionalGeneration",
		.run = task_text_to_audio },
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

// Other names that transformers has, or had, for the tasks. One whose answers are of another kind is none of them.
static const struct {
	const char *name, *task;
} other_names[] = {
	{ "sentiment-analysis", "text-classification" },
	{ "ner", "token-classification" },
	{ "vqa", "visual-question-answering" },
	{ "image-to-text", "image-captioning" },
	{ "text2text-generation", "translation" },
	{ "text-to-speech", "text-to-audio" },
};

bool pipeline_task_languages(struct arena *a, const char *name, const char **from, const char **to)
{
	static const char begin[] = "translation_", between[] = "_to_";
	const char *at = name && text_starts(name, begin) ? name + strlen(begin) : NULL, *end = at ? strstr(at, between) : NULL;

	if (!end || end == at || !end[strlen(between)])
		return false;
	*from = arena_strndup(a, at, (size_t)(end - at));
	*to = arena_strdup(a, end + strlen(between));
	return true;
}

const struct pipeline_task *pipeline_task_find(const char *name)
{
	struct arena a = { 0 };
	const char *from, *to;

	if (pipeline_task_languages(&a, name, &from, &to))
		name = "translation";
	arena_done(&a);
	for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
		if (text_is(other_names[i].name, name))
			name = other_names[i].task;
	for (const struct pipeline_task *t = pipeline_tasks; t->name; t++)
		if (text_is(t->name, name))
			return t;
	return NULL;
}
