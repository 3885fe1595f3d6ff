// SPDX-License-Identifier: Apache-2.0
// verify.h: the kinds, their folders, and what their cells and answers come to.
#include "plan/verify.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

// A folder of tests/conform/pipeline, which is installed, stands for each. A model of several kinds has its cells once.
static const struct verify_kind kinds[] = {
	{ "text", "encoder", "text-classification-roberta-pair", { "." } },
	{ "text", "decoder", "text-generation-opt-penalties", { "." } },
	{ "text", "encoder-decoder", "translation-mbart-forced", { "." } },
	{ "vision", NULL, "image-classification-vit", { "." } },
	{ "vision-text", NULL, "image-captioning-blip", { "." } },
	{ "audio", NULL, "automatic-speech-recognition-wav2vec2", { "." } },
	{ "multimodal", NULL, "zero-shot-image-classification-clip", { "." } },
	{ "diffusion", NULL, "text-to-image-sd15", { "text_encoder", "unet", "vae" } },
	{ "moe", NULL, "text-generation-qwen2-moe-chat", { "." } },
	{ "state-space", NULL, "text-generation-mamba", { "." } },
	{ "rag", NULL, "retrieval-augmented-generation-bert-llama", { "encoder", "decoder" } },
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

const char *verify_kind_word(size_t i, const void *unused)
{
	(void)unused;
	if (i < KIND_COUNT)
		return kinds[i].word;
	while (i < 2 * KIND_COUNT && !kinds[i - KIND_COUNT].form)
		i++;
	return i < 2 * KIND_COUNT ? kinds[i - KIND_COUNT].form : NULL;
}

const char *verify_kind_name(struct arena *a, const struct verify_kind *kind)
{
	return kind->form ? arena_printf(a, "%s, %s", kind->word, kind->form) : kind->word;
}

const char *verify_check_word(enum verify_check check)
{
	return check == VERIFY_GRAPHS ? "graphs" : "answer";
}

static bool is_called(const struct verify_kind *kind, const char *word)
{
	return text_is(kind->word, word) || text_is(kind->form, word);
}

static bool is_wanted(const struct verify_kind *kind, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_called(kind, words[i]))
			return true;
	return count == 0;
}

static enum status check_words(const char *const *words, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (k < KIND_COUNT && !is_called(&kinds[k], words[i]))
			k++;
		if (k < KIND_COUNT)
			continue;
		const char *near = text_nearest(words[i], verify_kind_word, NULL);
		return error_set(err, STATUS_BAD_INPUT, "--task %s: no kind of pipelines is called so%s%s%s", words[i],
			near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	}
	return STATUS_OK;
}

enum status verify_choose(struct verify *v, const char *const *words, size_t count, struct arena *a, struct error *err)
{
	const char *folder = conform_pipelines_folder(a);
	enum status st;

	if ((st = check_words(words, count, err)) || (st = conform_check_share(err)))
		return st;
	*v = (struct verify){ .kinds = ARENA_ARRAY(a, KIND_COUNT, const struct verify_kind *),
		.folders = ARENA_ARRAY(a, KIND_COUNT, const char *),
		.models = ARENA_ARRAY(a, KIND_COUNT * VERIFY_MODELS_MOST, const char *) };
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const char *path = folder ? arena_printf(a, "%s/%s", folder, kinds[i].pipeline) : NULL;

		if (!is_wanted(&kinds[i], words, count))
			continue;
		if (!path || !file_is_dir(path))
			return error_set(err, STATUS_UNAVAILABLE,
				"PREFIX/share/assay/conform/pipeline/%s is not there; set ASSAY_SHARE to the folder with "
				"conform/",
				kinds[i].pipeline);
		v->kinds[v->kind_count] = &kinds[i];
		v->folders[v->kind_count++] = path;
		for (size_t k = 0; k < VERIFY_MODELS_MOST && kinds[i].models[k]; k++)
			v->models[v->model_count++] =
				text_is(kinds[i].models[k], ".") ? path : arena_printf(a, "%s/%s", path, kinds[i].models[k]);
	}
	return STATUS_OK;
}

// ---- the whole pipelines --------------------------------------------------------------------------------------------------

// What is not asked there has its verdict at once.
static bool is_asked(struct conform_case *cases, size_t count, const struct target *t)
{
	const char *reason = t->absent;
	enum verdict verdict = t->absent_verdict;

	if (!reason && platform_is_software(t->platform)) {
		reason = "the null engine computes nothing: there is no answer to hold against transformers'";
		verdict = VERDICT_UNJUDGED;
	}
	for (size_t i = 0; reason && i < count; i++) {
		cases[i].verdict = verdict;
		cases[i].reason = reason;
	}
	return !reason;
}

// Behind the one that was stopped none had begun.
static void leave_out_not_begun(struct conform_case *cases, size_t count)
{
	size_t i = 0;

	while (i < count && cases[i].verdict != VERDICT_INTERRUPTED)
		i++;
	for (i++; i < count; i++)
		cases[i].name = NULL;
}

enum status verify_answers(
	struct verify *v, struct matrix *m, void (*each)(void *, const struct conform_case *), void *context, struct error *err)
{
	enum status st = STATUS_OK;

	v->target_count = m->target_count;
	v->answers = ARENA_ARRAY(&m->arena, v->kind_count * m->target_count + 1, struct conform_case);
	for (size_t t = 0; t < m->target_count && !st && !(m->stop && *m->stop); t++) {
		struct conform_case *cases = v->answers + t * v->kind_count;

		for (size_t k = 0; k < v->kind_count; k++)
			cases[k] = (struct conform_case){ .name = v->kinds[k]->pipeline, .folder = v->folders[k] };
		if (is_asked(cases, v->kind_count, &m->targets[t]))
			st = conform_run(&(struct conform_asked){ .target = &m->targets[t],
						 .cases = cases,
						 .count = v->kind_count,
						 .memory_bytes = m->question.memory_bytes,
						 .stop = m->stop,
						 .each = each,
						 .context = context },
				&m->arena, err);
		if (m->stop && *m->stop)
			leave_out_not_begun(cases, v->kind_count);
	}
	return st;
}

// ---- the grid ---------------------------------------------------------------------------------------------------------------

static const char *text_of(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

bool verify_is_of(const struct verify *v, size_t kind, const struct matrix_cell *cell)
{
	const size_t length = strlen(v->folders[kind]);
	const char *model = cell->model->model;

	return strncmp(model, v->folders[kind], length) == 0 && (model[length] == '/' || !model[length]);
}

// What was not asked before assay was stopped has no verdict of its own.
static const struct verify_entry not_begun = { VERDICT_NOT_ASKED, "assay was stopped before it began", NULL };

// The cell's last try over what is in *out, where it is worse.
static void worse(struct verify_entry *out, const struct matrix_cell *cell)
{
	const size_t count = json_array_size(cell->results);
	const json_t *row = json_array_get(cell->results, count - 1);
	enum verdict v = count ? verdict_find(text_of(row, "verdict")) : not_begun.verdict;

	const int code = verdict_exit_code(v), before = verdict_exit_code(out->verdict);

	if (out->model && (code < before || (code == before && out->verdict != VERDICT_RIGHT)))
		return;
	*out = (struct verify_entry){ v, count ? text_of(row, "cause") : not_begun.cause, cell->model->model };
}

void verify_entry(struct verify_entry *out, const struct verify *v, struct matrix *m, size_t kind, const struct target *t,
	enum verify_check check)
{
	const size_t at = (size_t)(t - m->targets) * v->kind_count + kind;

	*out = not_begun;
	if (check == VERIFY_ANSWER && v->answers && v->answers[at].name)
		*out = (struct verify_entry){ v->answers[at].verdict, v->answers[at].reason, NULL };
	for (size_t i = 0; check == VERIFY_GRAPHS && i < m->cell_count; i++)
		if (m->cells[i].target == t && verify_is_of(v, kind, &m->cells[i]))
			worse(out, &m->cells[i]);
	if (!v->kinds[kind]->models[1] || out->cause == not_begun.cause)
		out->model = NULL;
}
