// SPDX-License-Identifier: Apache-2.0
// question.h: what was asked of a cell to one line of JSON and back.
#include "store/question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "store/transaction.h"

static json_t *absolute(const char *path)
{
	char *full = path && *path ? realpath(path, NULL) : NULL;
	json_t *out = question_text_put(full);

	free(full);
	return out;
}

static const char *own_options(const struct cell *c)
{
	const struct platform *p = c->platform ? platform_find(c->platform) : NULL;
	const struct route *r = p ? platform_route(p, c->device) : NULL;
	size_t n = r && r->options ? strlen(r->options) : 0;

	if (!c->options || !*c->options || strncmp(c->options, r && r->options ? r->options : "", n) != 0 ||
		(n && c->options[n] && c->options[n] != ','))
		return c->options && *c->options ? c->options : NULL;
	return c->options[n] == ',' && n ? c->options + n + 1 : c->options[n] ? c->options + n : NULL;
}

const char *question_text(struct arena *a, const struct cell *c)
{
	json_t *object = json_object();

#define X(name) json_object_set_new(object, #name, question_text_put(c->name));
	QUESTION_WHERE_LIST(X)
#undef X
	question_put(object, &c->question);
	json_object_set_new(object, "model_file", absolute(c->model));
	json_object_set_new(object, "golden_file", absolute(c->golden));
	json_object_set_new(object, "data_file", absolute(c->data));
	json_object_set_new(object, "own_options", question_text_put(own_options(c)));
	char *dumped = json_dumps(object, JSON_COMPACT);
	const char *out = arena_strdup(a, dumped);
	free(dumped);
	json_decref(object);
	return out;
}

static int64_t integer_or_0(const struct table *t, size_t i, const char *column)
{
	int64_t n = table_integer(t, i, column);

	return n == ROW_NONE ? 0 : n;
}

// What the table had before the column was there.
static void rebuild(struct store_question *q, const struct table *t, size_t i)
{
	double timeout = table_real(t, i, "timeout_s");

	q->is_rebuilt = true;
	q->missing = "precision, threads, scenario, generation lengths, --dynamic, --no-fallback, --force";
	q->cell = (struct cell){
		.model = table_get(t, i, "model"),
		.path = table_get(t, i, "path"),
		.revision = table_get(t, i, "revision"),
		.platform = table_get(t, i, "requested"),
		.device = table_get(t, i, "device"),
		.options = table_get(t, i, "asked_options"),
		.question = {
			.batch = integer_or_0(t, i, "batch"),
			.sequence = integer_or_0(t, i, "sequence"),
			.runs = integer_or_0(t, i, "runs"),
			.layers = integer_or_0(t, i, "layers"),
			.seed = integer_or_0(t, i, "seed"),
			.synthetic = table_boolean(t, i, "synthetic") == 1,
			.is_static = table_boolean(t, i, "static_shapes") == 1,
			.timeout_s = isnan(timeout) ? 0 : timeout,
			.memory_bytes = integer_or_0(t, i, "memory_limit_bytes"),
			.golden = table_get(t, i, "golden"),
		},
	};
}

enum status question_of(struct store_question *out, struct arena *a, const struct table *t, size_t i, struct error *err)
{
	const char *text = table_get(t, i, "question");

	*out = (struct store_question){ 0 };
	if (text) {
		json_t *object = json_parse(text);

		if (!json_is_object(object)) {
			json_decref(object);
			return error_set(
				err, STATUS_BAD_INPUT, "row %s: its column `question` is no JSON object", table_get(t, i, "id"));
		}
#define X(name) out->cell.name = question_text_take(a, json_object_get(object, #name));
		QUESTION_WHERE_LIST(X)
#undef X
		question_take(&out->cell.question, a, object);
		if (out->cell.new_tokens > 0 && !out->cell.task) // a record older than the member
			out->cell.task = "generate";
		out->knows_conform = json_object_get(object, "no_conform") != NULL;
		out->model_file = question_text_take(a, json_object_get(object, "model_file"));
		out->golden_file = question_text_take(a, json_object_get(object, "golden_file"));
		out->data_file = question_text_take(a, json_object_get(object, "data_file"));
		out->own_options = json_object_get(object, "own_options")
			? question_text_take(a, json_object_get(object, "own_options"))
			: own_options(&out->cell);
		json_decref(object);
	} else {
		rebuild(out, t, i);
		out->own_options = own_options(&out->cell);
	}
	out->cell.requested = table_get(t, i, "requested");
	out->cell.attempt = integer_or_0(t, i, "attempt");
	out->cell.fallback_of = integer_or_0(t, i, "fallback_of");
	out->cell.fallback_reason = table_get(t, i, "fallback_reason");
	return STATUS_OK;
}

enum status store_question(struct store *s, struct arena *a, int64_t row, struct store_question *out, struct error *err)
{
	struct table t;
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	if (status != STATUS_OK)
		return status;
	status = db_query(&d, a, "SELECT * FROM cell WHERE id = ?", &(struct db_parameter){ .integer = row }, 1, &t, err);
	db_close(&d);
	if (status != STATUS_OK)
		return status;
	if (t.row_count == 0)
		return error_set(err, STATUS_BAD_INPUT, "%s has no row %lld", s->path, (long long)row);
	return question_of(out, a, &t, 0, err);
}
