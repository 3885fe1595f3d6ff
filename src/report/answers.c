// SPDX-License-Identifier: Apache-2.0
// Whole pipelines: what was asked, the answer or the picture, what it was held against, and the times of the parts.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "conform/answers.h"
#include "question/standing.h"
#include "report/gather.h"

// People read a row as seven columns; a program has each member by itself.
enum { MODEL, TASK, ON, JUDGED, VERDICT, MEASURES, INPUT, ANSWER, SPEED, FIRST, TOKENS, STEPS, TIME, WALL, MEMORY };

static const struct report_column columns[] = {
	[MODEL] = { "model", "model", false },
	[TASK] = { "pipeline", NULL, false },
	[ON] = { "platform", "on", false },
	[JUDGED] = { NULL, "verdict", false },
	[VERDICT] = { "verdict", NULL, false },
	[MEASURES] = { "measures", NULL, false },
	[INPUT] = { "input", "input", false },
	[ANSWER] = { "answer", "answer", false },
	[SPEED] = { NULL, "tokens, steps", true },
	[FIRST] = { "first_token_ms", NULL, true },
	[TOKENS] = { "tokens_per_s", NULL, true },
	[STEPS] = { "steps_per_s", NULL, true },
	[TIME] = { NULL, "all of it", true },
	[WALL] = { "wall_ms", NULL, true },
	[MEMORY] = { "memory_mib", NULL, true },
};

static const struct report_column part_columns[] = {
	{ "model", "model", false },
	{ "pipeline", "task", false },
	{ "part", "part", false },
	{ "platform", "on", false },
	{ "runs", "runs", true },
	{ "run_ms", "time of all runs", true },
	{ "open_ms", "opened in", true },
	{ "anonymous_mib", "memory added", true },
	{ "elsewhere", "nodes elsewhere", true },
};

enum {
	WORDS_MOST = 200, // bytes of a text that is shown
	PARTS_MOST = 64,  // graphs of an answer
};

static void add_item(struct text *t, const char *separator, const char *item)
{
	text_addf(t, "%s%s", t->length ? separator : "", item);
}

static void add_json(struct text *t, const char *separator, const json_t *x)
{
	char *text = json_dumps(x, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));

	text_addf(t, "%s%s", t->length ? separator : "", text ? text : "?");
	free(text);
}

// The beginning of the text, in whole characters of UTF-8; NULL: there is none.
static const char *take(struct text *t, size_t most, struct arena *a)
{
	size_t n = t->length;
	const char *out = NULL;

	if (n > most)
		for (n = most; n && ((unsigned char)t->data[n] & 0xC0) == 0x80; n--)
			;
	if (t->length)
		out = arena_printf(a, "%.*s%s", (int)n, t->data, n < t->length ? "..." : "");
	text_done(t);
	return out;
}

static const char *words_of(struct arena *a, const char *asked)
{
	json_t *all = json_parse(asked), *one;
	struct text t = { 0 };
	size_t i;

	json_array_foreach(json_object_get(all, "words"), i, one)
	{
		if (json_is_string(one))
			add_item(&t, " | ", json_string_value(one));
		else
			add_json(&t, " | ", one);
	}
	json_decref(all);
	return take(&t, WORDS_MOST, a);
}

static const char *options_of(struct arena *a, const char *asked)
{
	json_t *all = json_parse(asked), *one;
	struct text t = { 0 };
	const char *key;

	json_object_foreach(json_object_get(all, "options"), key, one)
	{
		add_item(&t, ", ", key);
		text_add(&t, "=");
		add_json(&t, "", one);
	}
	json_decref(all);
	return take(&t, WORDS_MOST, a);
}

// "image.png: 32 x 32, SHA-256 5101f4b2; ..": of an answer with pictures or a sound.
static void add_files(struct text *t, const json_t *answer)
{
	const char *name, *sha = json_string_value(json_object_get(json_object_get(answer, "sound"), "sha256"));
	json_t *one;

	json_object_foreach(json_object_get(answer, "pictures"), name, one)
	{
		const char *of = json_string_value(json_object_get(one, "sha256"));

		add_item(t, "; ", name);
		text_addf(t, ": %lld x %lld, SHA-256 %.8s", (long long)json_integer_value(json_object_get(one, "width")),
			(long long)json_integer_value(json_object_get(one, "height")), of ? of : "?");
	}
	if (sha)
		text_addf(t, "%ssound: SHA-256 %.8s", t->length ? "; " : "", sha);
}

// What was written, said or answered; of a conversation its last message. NULL: the answer is no text.
static const char *text_of(const json_t *said)
{
	static const char *const keys[] = { "generated_text", "text", "answer", "summary_text", "translation_text", "sequence" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *x = json_object_get(said, keys[i]);

		if (json_is_array(x))
			x = json_object_get(json_array_get(x, json_array_size(x) - 1), "content");
		if (json_is_string(x))
			return json_string_value(x);
	}
	return NULL;
}

// "neutral 0.647, entailment 0.21" of a list of labels; else the JSON that it is.
static void add_said(struct text *t, const json_t *said)
{
	const json_t *one;
	const char *text = text_of(said);
	size_t i;

	if (text)
		add_item(t, " | ", text);
	else if (!json_is_string(json_object_get(json_array_get(said, 0), "label")))
		add_json(t, " | ", said);
	else
		json_array_foreach(said, i, one)
		{
			const char *label = json_string_value(json_object_get(one, "label"));

			add_item(t, i ? ", " : " | ", label ? label : "?");
			if (json_is_number(json_object_get(one, "score"))) // a class of a segmentation has none
				text_addf(t, " %.3g", json_number_value(json_object_get(one, "score")));
		}
}

// Of each input what it was answered. A list of masks says more than their files do.
static const char *answer_words(struct arena *a, const char *answer)
{
	json_t *all = json_parse(answer);
	const json_t *one;
	struct text t = { 0 };
	size_t i;

	json_array_foreach(all, i, one)
	{
		const json_t *said = json_object_get(one, "answer");
		const size_t before = t.length;

		if (!json_is_array(said))
			add_files(&t, one);
		if (t.length == before)
			add_said(&t, said ? said : one);
	}
	json_decref(all);
	return take(&t, WORDS_MOST, a);
}

// Also of one that has no row yet.
static const struct question *asked_of(const struct report_cell *c)
{
	return c->question.cell.pipeline_asked != NULL && !c->is_foreign ? &c->question.cell.question : NULL;
}

static const char *where_of(const struct report_cell *c, struct arena *a)
{
	return arena_join(a, c->platform, ", ", asked_of(c)->pipeline_parts);
}

static const char *row_words(const struct report_cell *c, struct arena *a)
{
	return arena_printf(a, "row %lld", (long long)c->row.row);
}

static struct report_value real_of(
	const json_t *o, const char *key, struct arena *a, struct report_value (*value)(struct arena *a, double x))
{
	const json_t *x = json_object_get(o, key);

	return json_is_number(x) ? value(a, json_number_value(x)) : (struct report_value){ 0 };
}

static struct report_value integer_of(const json_t *o, const char *key, struct arena *a)
{
	const json_t *x = json_object_get(o, key);

	return value_count(a, json_is_integer(x) && json_integer_value(x) >= 0 ? json_integer_value(x) : ROW_NONE);
}

static void add_phase(struct report_section *s, const struct report_cell *c, const json_t *parts, const char *words,
	const char *key, struct arena *a)
{
	struct report_value *v = section_row(s);

	v[0] = value_noted(value_text(report_model_name(c->row.model)), row_words(c, a));
	v[1] = value_noted(value_text(asked_of(c)->pipeline), where_of(c, a));
	v[2] = value_text(words);
	v[5] = real_of(parts, key, a, value_ms);
}

static void add_graph(struct report_section *s, const struct report_cell *c, const json_t *g, struct arena *a)
{
	const char *on = json_string_value(json_object_get(g, "platform")), *form = json_string_value(json_object_get(g, "form"));
	struct report_value *v = section_row(s);

	v[0] = value_noted(value_text(report_model_name(c->row.model)), row_words(c, a));
	v[1] = value_noted(value_text(asked_of(c)->pipeline), where_of(c, a));
	v[2] = value_noted(value_text(arena_strdup(a, json_string_value(json_object_get(g, "graph")))), arena_strdup(a, form));
	v[3] = value_noted(value_text(arena_strdup(a, on)), json_is_true(json_object_get(g, "emulated")) ? "emulated" : NULL);
	v[4] = integer_of(g, "runs", a);
	v[5] = real_of(g, "run_ms", a, value_ms);
	v[6] = real_of(g, "open_ms", a, value_ms);
	v[7] = real_of(g, "anonymous_mib", a, value_mib);
	v[8] = integer_of(g, "elsewhere", a);
}

static void gather_parts(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "answer_parts", "Parts of pipelines",
		"Each graph of a pipeline's answer, and what lies before, between and after the graphs, in the order in which "
		"its "
		"models were opened. Memory: the anonymous memory that opening and first run added to the process.",
		part_columns, sizeof part_columns / sizeof *part_columns, out->cell_count * (PARTS_MOST + 3));

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		json_t *parts = asked_of(c) ? json_parse(c->row.answer_parts) : NULL, *g;
		size_t k;

		if (!parts)
			continue;
		add_phase(s, c, parts, "before the first graph", "preprocess_ms", a);
		json_array_foreach(json_object_get(parts, "graphs"), k, g) if (k < PARTS_MOST) add_graph(s, c, g, a);
		add_phase(s, c, parts, "between graphs", "between_ms", a);
		add_phase(s, c, parts, "after the last", "postprocess_ms", a);
		json_decref(parts);
	}
}

// "1 of 1 labels the same; against engine:openvino-f32", behind the cause of what is not right.
static const char *judged_words(const struct report_cell *c, struct arena *a)
{
	const char *measures = answers_words(a, c->row.answer_measures), *reference = c->row.reference;

	reference = reference ? arena_printf(a, "against %s", reference) : NULL;
	return arena_join(a, arena_join(a, c->cause, "; ", measures), "; ", reference);
}

// "12334 tokens/s", or steps; below, when the first token came.
static struct report_value speed_of(const struct report_value *v, struct arena *a)
{
	const struct report_value *each = v[TOKENS].text ? &v[TOKENS] : &v[STEPS];
	const char *per_s = each->text ? strchr(each->text, '/') : NULL, *first = v[FIRST].text;
	const char *unit = each == &v[TOKENS] ? "tokens" : "steps", *speed = NULL;

	if (per_s)
		speed = arena_printf(a, "%.*s %s%s", (int)(per_s - each->text), each->text, unit, per_s);
	return value_noted(value_text(speed), first ? arena_printf(a, "first after %s", first) : NULL);
}

const char *report_pipeline_words(struct arena *a, const struct report_cell *c)
{
	enum { PROMPT_MOST = 40 };
	struct text t = { 0 };
	const char *words;

	if (!asked_of(c))
		return NULL;
	if ((words = words_of(a, asked_of(c)->pipeline_asked)))
		text_add(&t, words);
	return arena_join(a, options_of(a, asked_of(c)->pipeline_asked), "; ", take(&t, PROMPT_MOST, a));
}

static void add_answer(struct report_section *s, const struct report_cell *c, struct arena *a)
{
	const struct row *r = &c->row;
	const char *task = asked_of(c)->pipeline, *asked = asked_of(c)->pipeline_asked;
	const char *about = arena_join(a, arena_join(a, row_words(c, a), ", ", task), ", ", options_of(a, asked));
	struct report_value *v = section_row(s);

	v[MODEL] = value_noted(
		value_text(report_model_name(r->model)), arena_join(a, about, ", ", row_qualifiers(a, r, QUALIFY_WEIGHTS)));
	v[TASK] = value_noted(value_text(task), options_of(a, asked));
	v[ON] = value_noted(value_text(where_of(c, a)), c->own_qualifiers);
	v[VERDICT] = value_noted(value_text(report_verdict_word(c)), c->cause);
	v[JUDGED] = value_noted(v[VERDICT], judged_words(c, a));
	v[MEASURES] = value_noted(value_text(answers_words(a, r->answer_measures)), r->reference);
	v[INPUT] = value_text(words_of(a, asked));
	v[ANSWER] = value_text(answer_words(a, r->answer));
	v[ANSWER].picture = r->answer_picture;
	v[ANSWER].picture_words = arena_printf(a, "first picture of the answer to: %s", v[INPUT].text ? v[INPUT].text : "");
	v[FIRST] = value_ms(a, r->answer_first_token_ms);
	v[TOKENS] = value_per_s(a, 1000 / r->answer_token_ms);
	v[STEPS] = value_per_s(a, r->answer_steps_per_s);
	v[SPEED] = speed_of(v, a);
	v[WALL] = value_ms(a, r->wall_ms);
	v[MEMORY] = value_mib(a, r->peak_resident_mib);
	v[TIME] = value_noted(v[WALL], v[MEMORY].text);
}

void summary_gather_answers(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "answers", "Answers of pipelines",
		"Whole pipelines, from the input to the answer, asked once: their times include the first runs of each graph, "
		"and "
		"nothing is claimed of them. An answer is right where another platform answers the same from the same input, "
		"within the bound that the row has. Below the time of all of it is the peak of memory.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++)
		if (asked_of(&out->cells[i]))
			add_answer(s, &out->cells[i], a);
	gather_parts(out, a);
}
