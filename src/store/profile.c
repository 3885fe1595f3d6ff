// SPDX-License-Identifier: Apache-2.0
// The nodes of a profile read back.
#include <math.h>

#include "store/transaction.h"

static json_t *integer_cell(const struct table *t, size_t i, const char *column)
{
	int64_t n = table_integer(t, i, column);

	return n == ROW_NONE ? json_null() : json_integer(n);
}

static json_t *real_cell(const struct table *t, size_t i, const char *column)
{
	double x = table_real(t, i, column);

	return isnan(x) ? json_null() : json_real(x);
}

enum status store_profile(struct store *s, int64_t row, json_t **out, struct error *err)
{
	static const char sql[] = "SELECT * FROM profile_node WHERE cell = ? AND event = (SELECT max(event) FROM profile_node WHERE cell = ?) ORDER BY number";
	const struct db_parameter which[] = { { .integer = row }, { .integer = row } };
	struct arena a = { 0 };
	struct table t = { 0 };
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	if (status != STATUS_OK)
		return status;
	status = db_query(&d, &a, sql, which, 2, &t, err);
	db_close(&d);
	*out = status == STATUS_OK ? json_array() : NULL;
	for (size_t i = 0; *out && i < t.row_count; i++)
		json_array_append_new(*out, json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:s?}", "name", table_get(&t, i, "name"),
			"op", table_get(&t, i, "op"), "kernel", table_get(&t, i, "kernel"), "where", table_get(&t, i, "place"), "scope", table_get(&t, i, "scope"),
			"named_by", table_get(&t, i, "named_by"), "drawn_nodes", integer_cell(&t, i, "drawn_nodes"), "ms", real_cell(&t, i, "ms"), "flops",
			integer_cell(&t, i, "flops"), "bytes", integer_cell(&t, i, "bytes"), "weight_bytes", integer_cell(&t, i, "weight_bytes"), "roof_ms",
			real_cell(&t, i, "roof_ms"), "roof", table_get(&t, i, "roof")));
	arena_done(&a);
	return status;
}
