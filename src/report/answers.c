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

static const struct report_column columns[] = {
	{ "model", "model", false },
	{ "pipeline", "task", false },
	{ "platform", "on", false },
	{ "input", "input", false },
	{ "answer", "answer", false },
	{ "verdict", "verdict", false },
	{ "measures", "beside the reference", false },
	{ "parts", "parts", false },
	{ "first_token_ms", "first token", true },
	{ "tokens_per_s", "tokens", true },
	{ "steps_per_s", "steps", true },
	{ "memory_mib", "memory", true },
	{ "wall_ms", "all of it", true },
};

enum { WORDS_MOST = 200 };

// The beginning of a text in UTF-8, in whole characters.
static const char *beginning(struct arena *a, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	if (n <= WORDS_MOST)
		return text;
	for (n = WORDS_MOST; n && ((unsigned char)text[n] & 0xC0) == 0x80; n--)
		;
	return arena_printf(a, "%.*s...", (int)n, text);
}

static const char *compact(struct arena *a, const json_t *x)
{
	char *text = x ? json_dumps(x, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	const char *out = arena_strdup(a, text);

	free(text);
	return out;
}

static const char *words_of(struct arena *a, const char *asked)
{
	json_t *all = json_parse(asked), *one;
	const char *out = NULL;
	size_t i;

	json_array_foreach(json_object_get(all, "words"), i, one)
	{
		const char *word = json_string_value(one);

		out = arena_join(a, out, " | ", word ? arena_strdup(a, word) : compact(a, one));
	}
	out = beginning(a, out);
	json_decref(all);
	return out;
}

static const char *options_of(struct arena *a, const char *asked)
{
	json_t *all = json_parse(asked), *options = json_object_get(all, "options"), *one;
	const char *out = NULL, *key;

	json_object_foreach(options, key, one) out = arena_join(a, out, ", ", arena_printf(a, "%s=%s", key, compact(a, one)));
	json_decref(all);
	return beginning(a, out);
}

// "unet/model.onnx on openvino: 3 runs, 14.2 ms, opened in 88.1 ms, 12.0 MiB".
static const char *graph_words(struct arena *a, const json_t *g)
{
	const char *graph = json_string_value(json_object_get(g, "graph")),
		   *on = json_string_value(json_object_get(g, "platform"));
	const json_t *memory = json_object_get(g, "anonymous_mib");
	const char *out = arena_printf(a, "%s on %s%s: %lld runs, %s, opened in %s", graph ? graph : "?", on ? on : "?",
		json_is_true(json_object_get(g, "emulated")) ? " (emulated)" : "",
		(long long)json_integer_value(json_object_get(g, "runs")),
		report_ms(a, json_number_value(json_object_get(g, "run_ms"))),
		report_ms(a, json_number_value(json_object_get(g, "open_ms"))));

	return json_is_number(memory) ? arena_printf(a, "%s, %.1f MiB", out, json_number_value(memory)) : out;
}

static const char *parts_words(struct arena *a, const char *parts)
{
	json_t *all = json_parse(parts), *g;
	const char *out = NULL;
	size_t i;

	if (!all)
		return NULL;
	out = arena_printf(a, "before %s", report_ms(a, json_number_value(json_object_get(all, "preprocess_ms"))));
	json_array_foreach(json_object_get(all, "graphs"), i, g) out = arena_join(a, out, "; ", graph_words(a, g));
	out = arena_printf(a, "%s; between %s; after %s", out,
		report_ms(a, json_number_value(json_object_get(all, "between_ms"))),
		report_ms(a, json_number_value(json_object_get(all, "postprocess_ms"))));
	json_decref(all);
	return out;
}

// "image.png: 32 x 32, SHA-256 5101f4b2...": of an answer that is a picture or a sound. NULL: it is neither.
static const char *file_words(struct arena *a, const json_t *answer)
{
	const char *out = NULL, *name, *sha = json_string_value(json_object_get(json_object_get(answer, "sound"), "sha256"));
	json_t *one;

	json_object_foreach(json_object_get(answer, "pictures"), name, one)
	{
		const char *of = json_string_value(json_object_get(one, "sha256"));

		out = arena_join(a, out, "; ",
			arena_printf(a, "%s: %lld x %lld, SHA-256 %.8s", name,
				(long long)json_integer_value(json_object_get(one, "width")),
				(long long)json_integer_value(json_object_get(one, "height")), of ? of : "?"));
	}
	return sha ? arena_join(a, out, "; ", arena_printf(a, "sound: SHA-256 %.8s", sha)) : out;
}

// Of one input what it was answered, else the list of all.
static const char *answer_words(struct arena *a, const char *answer)
{
	json_t *all = json_parse(answer);
	const json_t *one = json_array_size(all) == 1 ? json_array_get(all, 0) : NULL, *said = json_object_get(one, "answer");
	const char *files = file_words(a, one), *out = beginning(a, compact(a, said ? said : all));

	// A list of masks says more than their files do.
	out = files && !json_is_array(said) ? beginning(a, files) : out;
	json_decref(all);
	return out;
}

void summary_gather_answers(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "answers", "Answers of pipelines",
		"Whole pipelines, from the input to the answer, asked once: their times include the first runs of each graph, "
		"and "
		"nothing is claimed of them. An answer is right where another platform answers the same from the same input, "
		"within "
		"the bound that the row has.",
		columns, sizeof columns / sizeof *columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		const struct question *q = &c->question.cell.question; // also of one that has no row yet
		const struct row *r = &c->row;

		if (q->pipeline_asked == NULL || c->is_foreign)
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), row_qualifiers(a, r, QUALIFY_WEIGHTS));
		v[1] = value_noted(value_text(q->pipeline), options_of(a, q->pipeline_asked));
		v[2] = value_noted(
			value_text(q->pipeline_parts ? arena_printf(a, "%s, %s", c->platform, q->pipeline_parts) : c->platform),
			c->own_qualifiers);
		v[3] = value_text(words_of(a, q->pipeline_asked));
		v[4] = value_text(answer_words(a, r->answer));
		v[4].picture = r->answer_picture;
		v[5] = value_noted(value_text(report_verdict_word(c)), c->cause);
		v[6] = value_noted(value_text(answers_words(a, r->answer_measures)), r->reference);
		v[7] = value_text(parts_words(a, r->answer_parts));
		v[8] = value_ms(a, r->answer_first_token_ms);
		v[9] = value_per_s(a, 1000 / r->answer_token_ms);
		v[10] = value_per_s(a, r->answer_steps_per_s);
		v[11] = value_mib(a, r->peak_resident_mib);
		v[12] = value_ms(a, r->wall_ms);
	}
}
