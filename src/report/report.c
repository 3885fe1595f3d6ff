// SPDX-License-Identifier: Apache-2.0
// One report: the facts once, then the writer that was asked for.
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "report/summary.h"

static const struct {
	const char *word, *ending;
} formats[] = {
#define X(code, word, ending, what) { word, ending },
	REPORT_FORMAT_LIST(X)
#undef X
};

#define X(code, word, ending, what) ", " word
static const char words[] = "" REPORT_FORMAT_LIST(X);
#undef X

const char *report_format_words(void)
{
	return words + 2;
}

enum report_format report_format_find(const char *word)
{
	for (size_t i = 0; i < REPORT_FORMAT_COUNT; i++)
		if (text_is(formats[i].word, word))
			return (enum report_format)i;
	return REPORT_FORMAT_COUNT;
}

enum report_format report_format_of_file(const char *path)
{
	for (size_t i = 0; path != NULL && i < REPORT_FORMAT_COUNT; i++)
		if (formats[i].ending != NULL && text_ends(path, formats[i].ending))
			return (enum report_format)i;
	if (path != NULL && text_ends(path, ".htm"))
		return REPORT_HTML;
	if (path != NULL && text_ends(path, ".yml"))
		return REPORT_YAML;
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	return path == NULL || strchr(slash != NULL ? slash + 1 : path, '.') == NULL ? REPORT_MD : REPORT_FORMAT_COUNT;
}

enum status report_prices(struct arena *a, const char *const *items, size_t count, struct report_options *out, struct error *err)
{
	struct report_price *prices = ARENA_ARRAY(a, count + 1, struct report_price);
	const char *currency = out->currency != NULL ? out->currency : "";

	for (size_t i = 0; i < count; i++) {
		const char *sign = strchr(items[i], '='), *word;
		char *end;
		if (sign == NULL || sign == items[i])
			return error_set(err, STATUS_BAD_INPUT,
				"'%s' is no price: PLATFORM=PRICE_PER_HOUR, as cpu=0.20 or cpu=0.20EUR", items[i]);
		prices[i] =
			(struct report_price){ arena_strndup(a, items[i], (size_t)(sign - items[i])), strtod(sign + 1, &end) };
		if (end == sign + 1 || !(prices[i].per_hour >= 0 && prices[i].per_hour < 1e9))
			return error_set(
				err, STATUS_BAD_INPUT, "'%s' is no price of an hour: a number that is not negative", sign + 1);
		const char *name = arena_strndup(a, prices[i].platform, strcspn(prices[i].platform, ":"));
		if (platform_find(name) == NULL)
			return error_set(err, STATUS_BAD_INPUT,
				"there is no platform '%s' to have a price; `assay platforms` lists them", name);
		for (word = end; *word == ' '; word++)
			;
		if (*word != '\0' && *currency != '\0' && !text_is(word, currency))
			return error_set(
				err, STATUS_BAD_INPUT, "prices in two currencies, %s and %s, cannot be compared", currency, word);
		if (*word != '\0')
			currency = arena_strdup(a, word);
	}
	out->prices = prices;
	out->price_count = count;
	out->currency = currency;
	return STATUS_OK;
}

static enum status add_json(json_t *json, bool as_yaml, struct text *out, struct error *err)
{
	char *text = as_yaml ? NULL : visible_json(json, JSON_INDENT(2));

	if (as_yaml)
		report_yaml(json, out);
	json_decref(json);
	if (as_yaml)
		return STATUS_OK;
	if (text == NULL)
		return error_set(err, STATUS_FAILED, "the report does not fit into JSON");
	text_add(out, text);
	text_add(out, "\n");
	free(text);
	return STATUS_OK;
}

// The columns of rows that are JSON become one tree. A row that assay measured takes some 65 KB of it with all its columns, so
// that the 5,000 that a report has are far within this.
static enum status weigh_json(const struct summary *s, struct error *err)
{
	const size_t most = (size_t)512 << 20;
	size_t n = 0;

	for (size_t i = 0; i < s->cell_count && n <= most; i++)
		n += row_json_weight(&s->cells[i].row);
	for (size_t i = 0; i < s->fallback_count && n <= most; i++)
		for (size_t k = 0; k < s->fallbacks[i].try_count; k++)
			n += row_json_weight(&s->fallbacks[i].tries[k].row);
	return n <= most
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT,
			  "the JSON in its rows takes more than %zu MiB as a tree, which is more than assay's own rows have; "
			  "--format md and html do without",
			  most >> 20);
}

static enum status write_one(
	const struct summary *summary, enum report_format format, struct arena *a, struct text *out, struct error *err)
{
	switch (format) {
	case REPORT_MD:
		report_md(summary, a, out);
		return STATUS_OK;
	case REPORT_HTML:
		return report_html(summary, a, out, err);
	case REPORT_JUNIT:
		report_junit(summary, a, out);
		return STATUS_OK;
	case REPORT_JSON:
	case REPORT_YAML: {
		enum status s = weigh_json(summary, err);
		return s != STATUS_OK ? s : add_json(report_json(summary), format == REPORT_YAML, out, err);
	}
	case REPORT_MATRIX:
	case REPORT_MATRIX_YAML:
		return add_json(report_compatibility(summary, a), format == REPORT_MATRIX_YAML, out, err);
	case REPORT_FORMAT_COUNT:
		break;
	}
	return error_set(err, STATUS_BAD_INPUT, "there is no such report format");
}

enum status report_write_each(struct store *s, const enum report_format *wanted, size_t count,
	const struct report_options *options, struct text *out, struct error *err)
{
	struct report_options asked = options != NULL ? *options : (struct report_options){ 0 };
	struct summary summary;

	asked.currency = asked.currency != NULL ? asked.currency : "";
	enum status status = summary_make(s, &asked, &summary, err);
	for (size_t i = 0; i < count && status == STATUS_OK; i++)
		status = write_one(&summary, wanted[i], &s->arena, &out[i], err);
	return status;
}

enum status report_write_with(
	struct store *s, enum report_format format, const struct report_options *options, struct text *out, struct error *err)
{
	return report_write_each(s, &format, 1, options, out, err);
}

enum status report_write(struct store *s, enum report_format format, struct text *out, struct error *err)
{
	return report_write_with(s, format, NULL, out, err);
}
