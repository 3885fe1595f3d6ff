// SPDX-License-Identifier: Apache-2.0
// question.h: a question as the command that asks it. Whatever prints a command prints this one.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "store/question.h"

static const double default_timeout_s = 600;

static void add_word(struct text *t, const char *flag, const char *word)
{
	if (!word || !*word)
		return;
	text_addf(t, " %s ", flag);
	text_add_word(t, word);
}

// The model and the words of a pipeline are those of who wrote the database: what looks like an option stands after all
// options and "--".
static bool looks_like_option(struct arena *a, const char *model, const json_t *words)
{
	bool looks = *model == '-';
	const json_t *one;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)words, i, one)
	{
		const char *word = question_text_take(a, one);

		looks = looks || (word && *word == '-');
	}
	return looks;
}

static void add_words(struct text *t, struct arena *a, const char *model, const json_t *words)
{
	const json_t *one;
	size_t i;

	text_add(t, " ");
	text_add_word(t, model);
	json_array_foreach((json_t *)(uintptr_t)words, i, one)
	{
		const char *word = question_text_take(a, one);

		text_add(t, " ");
		text_add_word(t, word ? word : "");
	}
}

// Is it said by a default, or by another option?
static bool is_left_out(enum question_at at, const struct question *q)
{
	switch (at) {
	case QUESTION_AT_sequence: // of a generation the prompt's
		return q->new_tokens > 0;
	case QUESTION_AT_prompt_tokens: // that of --input is the input's
		return q->inputs != NULL;
	case QUESTION_AT_batch:
		return q->batch <= 1;
	case QUESTION_AT_timeout_s:
		return fabs(q->timeout_s - default_timeout_s) < 1e-9;
	default:
		return question_members[at].option == NULL;
	}
}

const char *question_target(struct arena *a, const struct store_question *q)
{
	return q->cell.device && *q->cell.device ? arena_printf(a, "%s:%s", q->cell.platform, q->cell.device) : q->cell.platform;
}

// Of a whole pipeline: what stands in its pipeline_asked. Files and standard input are those of the one who asked.
static const char *pipeline_command(struct arena *a, const struct store_question *q)
{
	const struct question *asked = &q->cell.question;
	json_t *all = json_parse(asked->pipeline_asked), *one;
	struct text t = { 0 };
	const char *key, *on = arena_join(a, question_target(a, q), ",", q->own_options),
			 *model = q->cell.model ? q->cell.model : "?";
	const json_t *words = json_object_get(all, "words");
	const bool last = looks_like_option(a, model, words);

	on = arena_join(a, on, ",", asked->pipeline_parts);
	text_add(&t, "assay pipeline");
	if (!last)
		add_words(&t, a, model, words);
	add_word(&t, "--task", asked->pipeline);
	add_word(&t, "--on", on);
	add_word(&t, "--precision", asked->precision);
	json_object_foreach(json_object_get(all, "options"), key, one)
	{
		char *value = json_is_string(one) ? NULL : json_dumps(one, JSON_COMPACT | JSON_ENCODE_ANY);

		add_word(&t, "--option", arena_printf(a, "%s=%s", key, value ? value : json_string_value(one)));
		free(value);
	}
	if (last) {
		text_add(&t, " --");
		add_words(&t, a, model, words);
	}
	json_decref(all);
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

const char *question_command(struct arena *a, const struct store_question *q, const struct row *r)
{
	struct question asked = q->cell.question;
	struct text t = { 0 };

	if (asked.pipeline_asked)
		return pipeline_command(a, q);
	if (q->is_rebuilt && r->new_tokens != ROW_NONE) { // the question is older than its record
		asked.new_tokens = r->new_tokens;
		asked.prompt_tokens = r->prompt_tokens;
		asked.task = "generate";
	}
	if (!q->knows_conform)
		asked.no_conform = r->type_conformance == NULL;
	const char *model = q->cell.model ? q->cell.model : "?";
	const bool last = looks_like_option(a, model, NULL);
	text_add(&t, asked.profile ? "assay profile" : "assay run");
	if (!last)
		add_words(&t, a, model, NULL);
	if (asked.switched_from) // one of its rows is this one
		add_word(&t, "--switch", arena_printf(a, "%s,%s", asked.switched_from, question_target(a, q)));
	else
		add_word(&t, "--on", question_target(a, q));
	add_word(&t, "--options", q->own_options);
	for (unsigned i = 0; i < QUESTION_COUNT; i++) {
		const struct member *m = &question_members[i];

		if (member_is_default(m, &asked) || is_left_out((enum question_at)i, &asked))
			continue;
		if (m->kind == MEMBER_FLAG)
			text_addf(&t, " --%s", m->option);
		else
			add_word(&t, arena_printf(a, "--%s", m->option), member_word(m, a, &asked));
	}
	if (last) {
		text_add(&t, " --");
		add_words(&t, a, model, NULL);
	}
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}
