// SPDX-License-Identifier: Apache-2.0
// standing.h.
#include "question/standing.h"

#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "onnx/precision.h"

bool row_is_right_on(const struct row *r, const char *platform)
{
	return text_is(r->verdict, verdict_word(VERDICT_RIGHT)) && r->reference != NULL && r->source == NULL &&
		r->actual != NULL && text_is(r->actual, platform);
}

bool row_counts(const struct row *r)
{
	return row_is_right_on(r, r->requested) && r->engine != NULL &&
		(!text_is(r->engine, "null") || text_is(r->requested, "null"));
}

bool row_runs_on(const struct row *r, const char *platform)
{
	return row_is_right_on(r, platform) && r->engine != NULL && !text_is(r->engine, "null");
}

bool row_is_instead(const struct row *r)
{
	return r->fallback_of != ROW_NONE && r->tried != NULL && !text_is(r->tried, r->requested);
}

bool row_is_shortened(const struct row *r)
{
	return r->shortened == 1 || (r->shortened != 0 && r->layers != ROW_NONE && r->layers > 0);
}

bool row_is_brief(const struct row *r)
{
	return r->asked_sequence != ROW_NONE && r->asked_sequence != r->sequence;
}

bool row_is_not_valid(const struct row *r)
{
	json_t *said = r->scenario_result != NULL ? json_parse(r->scenario_result) : NULL;
	bool out = json_is_false(json_object_get(said, "valid"));

	json_decref(said);
	return out;
}

bool row_is_success(const struct row *r)
{
	return row_counts(r) && r->emulated != 1 && !row_is_shortened(r) && !row_is_brief(r) && !row_is_not_valid(r);
}

int row_exit_code(const struct row *r, enum verdict v)
{
	enum { NOT_VALID = 2 }; // as a verdict that is not right has it
	int code = verdict_exit_code(v);

	return code == 0 && row_is_not_valid(r) ? NOT_VALID : code;
}

int64_t row_question_sequence(const struct row *r)
{
	return r->asked_sequence != ROW_NONE ? r->asked_sequence : r->sequence;
}

static const char *shape_words(struct arena *a, const struct row *r)
{
	if (!row_is_brief(r))
		return NULL;
	return arena_printf(a, "%lld token%s of the usual %lld", (long long)r->sequence, r->sequence == 1 ? "" : "s",
		(long long)r->asked_sequence);
}

static const char *layers_words(struct arena *a, const struct row *r)
{
	if (!row_is_shortened(r))
		return NULL;
	return r->layers != ROW_NONE && r->layers > 0
		? arena_printf(a, "%lld layer%s", (long long)r->layers, r->layers == 1 ? "" : "s")
		: "fewer layers";
}

const char *row_published_as(struct arena *a, const struct row *r)
{
	static const char *const more[] = { " in groups", " in blocks", " (alpha" };
	const char *from = r->weights_from, *end = from ? from + strlen(from) : NULL, *at;

	for (size_t i = 0; from && i < sizeof more / sizeof *more; i++)
		if ((at = strstr(from, more[i])) && at < end)
			end = at;
	for (at = from; at && (at = strstr(at, ", ")) && at < end; at += 2) {
		const size_t digits = strspn(at + 2, "0123456789");

		if (digits && text_starts(at + 2 + digits, " weight"))
			end = at;
	}
	return from ? arena_strndup(a, from, (size_t)(end - from)) : NULL;
}

// A file in 16 bits that is computed in 16 bits is the model as published; one in 32 bits is not.
static const char *precision_words(struct arena *a, const struct row *r)
{
	const char *in = r->compute_dtype;
	bool is_half = in != NULL && (strstr(in, "f16") != NULL || strstr(in, "bf16") != NULL);

	if (r->precision != NULL && precision_is_reduced(precision_find(r->precision)))
		return r->precision;
	return is_half && !text_is(r->weights_dtype, "f16") && !text_is(r->weights_dtype, "bf16")
		? arena_printf(a, "computed in %s", in)
		: NULL;
}

const char *row_qualifiers(struct arena *a, const struct row *r, unsigned which)
{
	const char *const words[] = {
		which & QUALIFY_LAYERS ? layers_words(a, r) : NULL,
		which & QUALIFY_WEIGHTS && text_is(r->weights, "synthetic") ? "synthetic weights" : NULL,
		which & QUALIFY_WEIGHTS && r->weights_from != NULL ? arena_printf(a, "published as %s", row_published_as(a, r))
								   : NULL,
		which & QUALIFY_PRECISION ? precision_words(a, r) : NULL,
		which & QUALIFY_PRECISION && r->fitted != NULL ? "taken to fit" : NULL,
		which & QUALIFY_SHAPE ? shape_words(a, r) : NULL,
		!(which & QUALIFY_DEVICE)            ? NULL
			: text_is(r->engine, "null") ? "nothing computed"
			: r->emulated == 1           ? "emulated"
						     : NULL,
		which & QUALIFY_SCENARIO && row_is_not_valid(r) ? "NOT VALID" : NULL,
		which & QUALIFY_SOURCE && r->source != NULL ? arena_printf(a, "measured by %s, not by assay", r->source) : NULL,
	};
	const char *out = NULL;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		out = arena_join(a, out, ", ", words[i]);
	return out;
}

static double values_of(const char *shape)
{
	json_t *list = json_parse(shape), *n;
	double out = json_array_size(list) > 0 ? 1 : 0;
	size_t i;

	json_array_foreach(list, i, n) out *= json_number_value(n);
	json_decref(list);
	return out;
}

const char *row_not_judged(struct arena *a, const struct row *r)
{
	const double all = r->output_shape != NULL ? values_of(r->output_shape) : 0;
	const char *values = NULL;

	if (r->left_out > 0 && all > 0 && (double)r->left_out > all / 2)
		values = arena_printf(a, "%lld values, masked or about padding", (long long)r->left_out);
	const char *out = arena_join(a, r->not_judged, ", and ", values);
	return out != NULL ? arena_printf(a, "not judged: %s", out) : NULL;
}

const char *qualifiers_of_all(struct arena *a, const char *const *words, size_t count)
{
	const char *out = NULL;

	for (size_t i = 0; i < count; i++) {
		bool seen = words[i] == NULL;
		size_t alike = 0;

		for (size_t k = 0; k < count && !seen; k++) {
			seen = k < i && text_is(words[k], words[i]);
			alike += text_is(words[k], words[i]);
		}
		if (seen)
			continue;
		if (alike == count)
			return words[i];
		out = arena_printf(
			a, "%s%s%zu of %zu: %s", out != NULL ? out : "", out != NULL ? "; " : "", alike, count, words[i]);
	}
	return out;
}

const char *qualifiers_of_sides(struct arena *a, const char *of_a, const char *of_b)
{
	if (text_is(of_a, of_b))
		return of_a;
	return arena_printf(a, "%s%s%s%s%s", of_a != NULL ? "A: " : "", of_a != NULL ? of_a : "",
		of_a != NULL && of_b != NULL ? "; " : "", of_b != NULL ? "B: " : "", of_b != NULL ? of_b : "");
}
