// SPDX-License-Identifier: Apache-2.0
#include "store/objects.h"

#include <math.h>
#include <stdlib.h>

#include "question/row.h"

enum { COLUMNS = 24 };

struct object_column {
	enum db_kind kind;
	const char *column, *key; // key NULL: the object itself, as JSON
};

struct object_table {
	const char *name;
	struct object_column columns[COLUMNS]; // NULL ends them; before them stand cell, event and number
};

const struct object_table placement_table = { "placement",
	{
		{ DB_TEXT, "node", "name" },
		{ DB_TEXT, "op", "op" },
		{ DB_TEXT, "place", "where" },
		{ DB_TEXT, "kernel", "kernel" },
		{ DB_BOOLEAN, "fused", "fused" },
		{ DB_TEXT, "dtype", "dtype" },
		{ DB_TEXT, "reason", "reason" },
		{ DB_BOOLEAN, "elsewhere", "elsewhere" },
		{ DB_REAL, "ms", "ms" },
	} };

const struct object_table profile_table = { "profile_node",
	{
		{ DB_TEXT, "name", "name" },
		{ DB_TEXT, "op", "op" },
		{ DB_TEXT, "kernel", "kernel" },
		{ DB_TEXT, "place", "where" },
		{ DB_TEXT, "scope", "scope" },
		{ DB_TEXT, "named_by", "named_by" },
		{ DB_INTEGER, "drawn_nodes", "drawn_nodes" },
		{ DB_REAL, "ms", "ms" },
		{ DB_INTEGER, "flops", "flops" },
		{ DB_INTEGER, "bytes", "bytes" },
		{ DB_INTEGER, "weight_bytes", "weight_bytes" },
		{ DB_REAL, "roof_ms", "roof_ms" },
		{ DB_TEXT, "roof", "roof" },
	} };

const struct object_table check_table = { "output_check",
	{
		{ DB_TEXT, "output", "name" },
		{ DB_BOOLEAN, "agrees", "right" },
		{ DB_REAL, "max_abs_error", "max_abs_error" },
		{ DB_REAL, "max_rel_error", "max_rel_error" },
		{ DB_REAL, "nmse", "nmse" },
		{ DB_REAL, "cosine", "cosine" },
		{ DB_REAL, "top1_agreement", "top1_agreement" },
		{ DB_INTEGER, "non_finite", "non_finite" },
		{ DB_REAL, "reference_absmax", "reference_absmax" },
		{ DB_TEXT, "cause", "cause" },
		{ DB_TEXT, "facts", NULL },
	} };

const char *json_compact(struct arena *a, const json_t *v)
{
	char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	const char *copy = arena_strdup(a, text);

	free(text);
	return copy;
}

const char *json_text(struct arena *a, const json_t *object, const char *key)
{
	json_t *v = json_object_get(object, key);

	if (v == NULL || json_is_null(v))
		return NULL;
	return json_is_string(v) ? json_string_value(v) : json_compact(a, v);
}

static struct db_value value_of(struct arena *a, const struct object_column *c, const json_t *object)
{
	const json_t *v = c->key != NULL ? json_object_get(object, c->key) : object;
	struct db_value out = { .column = c->column, .kind = c->kind };

	switch (c->kind) {
	case DB_TEXT:
		out.text = c->key != NULL ? json_text(a, object, c->key) : json_compact(a, object);
		break;
	case DB_REAL:
		out.real = json_is_number(v) ? json_number_value(v) : (double)NAN;
		break;
	case DB_BOOLEAN:
		out.integer = json_is_boolean(v) ? json_is_true(v) : -1;
		break;
	default:
		out.integer = json_is_integer(v) ? json_integer_value(v) : ROW_NONE;
		break;
	}
	return out;
}

enum status objects_add(
	struct db *d, const struct object_table *t, const json_t *objects, int64_t cell, int64_t event, struct error *err)
{
	struct arena a = { 0 };
	struct insert in;
	json_t *object;
	size_t i;

	insert_begin(&in, d, t->name);
	json_array_foreach(objects, i, object)
	{
		struct db_value row[3 + COLUMNS] = { V_INTEGER("cell", cell), V_INTEGER("event", event),
			V_INTEGER("number", (int64_t)i) };
		size_t n = 3;
		for (const struct object_column *c = t->columns; c->column != NULL; c++)
			row[n++] = value_of(&a, c, object);
		insert_row(&in, row, n);
	}
	enum status status = insert_end(&in, err);
	arena_done(&a);
	return status;
}

static json_t *json_of(const struct object_column *c, const struct table *t, size_t row)
{
	int64_t n = c->kind == DB_BOOLEAN ? table_boolean(t, row, c->column)
		: c->kind == DB_INTEGER   ? table_integer(t, row, c->column)
					  : 0;
	double x = c->kind == DB_REAL ? table_real(t, row, c->column) : (double)NAN;

	switch (c->kind) {
	case DB_TEXT:
		return table_get(t, row, c->column) != NULL ? json_string(table_get(t, row, c->column)) : json_null();
	case DB_REAL:
		return isnan(x) ? json_null() : json_real(x);
	case DB_BOOLEAN:
		return n < 0 ? json_null() : json_boolean(n);
	default:
		return n == ROW_NONE ? json_null() : json_integer(n);
	}
}

enum status objects_read(struct db *d, const struct object_table *t, int64_t cell, json_t **out, struct error *err)
{
	struct arena a = { 0 };
	struct table rows = { 0 };
	const char *sql = arena_printf(&a,
		"SELECT * FROM %s WHERE cell = ? AND event = (SELECT max(event) FROM %s WHERE cell = ?) ORDER BY number", t->name,
		t->name);
	const struct db_parameter which[] = { { .integer = cell }, { .integer = cell } };
	enum status status = db_query(d, &a, sql, which, 2, &rows, err);

	*out = status == STATUS_OK ? json_array() : NULL;
	for (size_t i = 0; *out != NULL && i < rows.row_count; i++) {
		json_t *object = json_object();
		for (const struct object_column *c = t->columns; c->column != NULL; c++)
			if (c->key != NULL)
				json_object_set_new(object, c->key, json_of(c, &rows, i));
		json_array_append_new(*out, object);
	}
	arena_done(&a);
	return status;
}
