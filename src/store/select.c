// SPDX-License-Identifier: Apache-2.0
// select.h. The walk knows no shape of the tree: wherever an object has a function's name, a table's or a type's, that is looked
// at, so a part that a newer DuckDB adds is not passed over. Names are compared whatever schema stands before them, since the
// file has no macros (guard.h).
#include "store/select.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "store/schema.h"

// Values in, values out: no file, no setting, no other SQL, no catalog, no clock to wait for, and nothing that recurses as deep
// as a text is nested (json_structure, json_merge_patch, json_contains, json_pretty and json_transform do).
static const char functions[] =
	" !__postfix abs acos acosh add age ago any_value apply approx_count_distinct approx_quantile approx_top_k arbitrary "
	"arg_max arg_max_null"
	" arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg array_aggr array_aggregate "
	"array_append array_apply array_cat"
	" array_concat array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance "
	"array_distinct array_dot_product"
	" array_extract array_filter array_grade_up array_has array_has_all array_has_any array_indexof array_inner_product "
	"array_intersect array_length"
	" array_negative_dot_product array_negative_inner_product array_pop_back array_pop_front array_position array_prepend "
	"array_push_back"
	" array_push_front array_reduce array_resize array_reverse array_reverse_sort array_select array_slice array_sort "
	"array_to_json array_to_string"
	" array_to_string_comma_default array_transform array_unique array_value array_where array_zip ascii asin asinh atan "
	"atan2 atanh avg bar base64"
	" bin bit_and bit_count bit_length bit_or bit_position bit_xor bitstring bitstring_agg bool_and bool_or cardinality cbrt "
	"ceil ceiling century"
	" char_length character_length chr coalesce concat concat_ws contains corr cos cosh cot count count_if count_star "
	"countif covar_pop covar_samp cume_dist"
	" current_database current_date current_localtime current_localtimestamp current_schema damerau_levenshtein date_add "
	"date_diff date_part date_sub"
	" date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade decode "
	"degrees dense_rank divide"
	" editdist3 element_at encode ends_with entropy enum_code epoch epoch_ms epoch_ns epoch_us equi_width_bins era error "
	"even exp factorial"
	" favg fdiv fill filter first first_value flatten floor fmod format format_bytes formatreadabledecimalsize "
	"formatreadablesize from_base64 from_binary"
	" from_hex fsum gamma gcd gen_random_uuid generate_series generate_subscripts geomean geometric_mean get_bit "
	"get_current_time get_current_timestamp"
	" grade_up greatest greatest_common_divisor group_concat hamming hash hex histogram histogram_exact hour if ifnull "
	"ilike_escape instr"
	" is_histogram_other_bin isfinite isinf isnan isodow isoyear jaccard jaro_similarity jaro_winkler_similarity json "
	"json_array json_array_length"
	" json_exists json_extract json_extract_path json_extract_path_text json_extract_string json_group_array "
	"json_group_object json_keys json_object"
	" json_quote json_type json_valid json_value julian kahan_sum kurtosis kurtosis_pop lag last last_day last_value lcase "
	"lcm lead least"
	" least_common_multiple left left_grapheme len length length_grapheme levenshtein lgamma like_escape list list_aggr "
	"list_aggregate list_any_value"
	" list_append list_apply list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and "
	"list_bool_or list_cat list_concat"
	" list_contains list_cosine_distance list_cosine_similarity list_count list_distance list_distinct list_dot_product "
	"list_element list_entropy"
	" list_extract list_filter list_first list_grade_up list_has list_has_all list_has_any list_histogram list_indexof "
	"list_inner_product list_intersect"
	" list_kurtosis list_kurtosis_pop list_last list_mad list_max list_median list_min list_mode list_negative_dot_product"
	" list_negative_inner_product list_pack list_position list_prepend list_product list_reduce list_resize list_reverse "
	"list_reverse_sort list_select"
	" list_sem list_skewness list_slice list_sort list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform "
	"list_unique list_value"
	" list_var_pop list_var_samp list_where list_zip listagg ln log log10 log2 lower lpad ltrim mad make_date make_time "
	"make_timestamp make_timestamp_ms"
	" make_timestamp_ns make_timestamptz map map_concat map_contains map_contains_entry map_contains_value map_entries "
	"map_extract map_extract_value"
	" map_from_entries map_keys map_values max max_by md5 md5_number md5_number_lower md5_number_upper mean median "
	"microsecond millennium millisecond min"
	" min_by minute mismatches mod mode month monthname multiply nanosecond nextafter nfc_normalize normalized_interval "
	"not_ilike_escape"
	" not_like_escape now nth_value ntile nullif octet_length ord parse_dirname parse_dirpath parse_filename "
	"parse_formatted_bytes parse_path"
	" percent_rank pi position pow power prefix printf product quantile quantile_cont quantile_disc quarter radians random "
	"range rank rank_dense reduce"
	" regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array "
	"regr_avgx regr_avgy regr_count"
	" regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reservoir_quantile reverse right "
	"right_grapheme round round_even"
	" roundbankers row row_number row_to_json rpad rtrim second sem set_bit sha1 sha256 sign signbit sin sinh skewness split "
	"split_part sqrt"
	" starts_with stddev stddev_pop stddev_samp str_split str_split_regex strftime string_agg string_split "
	"string_split_regex string_to_array"
	" strip_accents strlen strpos strptime struct_concat struct_contains struct_extract struct_extract_at struct_has "
	"struct_indexof struct_insert"
	" struct_keys struct_pack struct_position struct_update struct_values substr substring substring_grapheme subtract "
	"suffix sum sum_no_overflow"
	" sumkahan tan tanh time_bucket timezone timezone_hour timezone_minute to_base to_base64 to_binary to_centuries to_days "
	"to_decades to_hex"
	" to_hours to_json to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp "
	"to_weeks to_years today"
	" transaction_timestamp translate trim trunc try_strptime typeof ucase unbin unhex unicode unnest unlist upper "
	"url_decode url_encode uuid"
	" uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 var_pop var_samp variance version wavg week weekday "
	"weekofyear weighted_avg xor year yearweek ";
static const char table_functions[] = " generate_series json_each range repeat unnest ";
// VARIANT is made by recursion as deep as its text is nested, and a type of the file's own is what its maker wrote.
static const char types[] = " BOOLEAN TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT FLOAT "
			    "DOUBLE DECIMAL CHAR VARCHAR BLOB BIT UUID"
			    " DATE TIME TIMESTAMP INTERVAL LIST ARRAY STRUCT MAP NULL ANY UNKNOWN INTEGER_LITERAL STRING_LITERAL "
			    "JSON TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS TIME_NS"
			    " TIMESTAMP_WITH_TIME_ZONE TIME_WITH_TIME_ZONE ";

// Of the file, each with its name in the column `name`.
struct relations {
	struct table tables;     // with schema and sql
	struct table views;      // of any schema
	bool own_views_stand_in; // assay's are temporary, and those of the file are others
};

struct walk {
	const struct relations *has;
	const char **named; // by WITH, anywhere in the statement
	size_t named_count;
	struct error *err;
};

static bool listed(const char *list, const char *name)
{
	char word[64];
	size_t n = strlen(name);

	if (n == 0 || n + 3 > sizeof word)
		return false;
	for (size_t i = 0; i < n; i++)
		word[i + 1] = (char)(name[i] == ' ' ? '_' : name[i]); // TIME WITH TIME ZONE
	word[0] = word[n + 1] = ' ';
	word[n + 2] = '\0';
	return strcasestr(list, word) != NULL;
}

static bool is_operator(const char *name)
{
	return *name != '\0' && name[strspn(name, "!~*%&+-/<>=@^|")] == '\0';
}

static const char *member(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

// Lists of the catalog: that of columns asks each view of the file for its own, which may bind it.
static bool has_own_views_alone(const struct relations *has)
{
	for (size_t i = 0; i < has->views.row_count; i++) {
		if (!schema_has_view(table_get(&has->views, i, "name")))
			return false;
	}
	return !has->own_views_stand_in;
}

static enum status look_at_function(const struct walk *w, const char *name, bool of_rows)
{
	if (of_rows && listed(" duckdb_columns duckdb_tables duckdb_views ", name) && has_own_views_alone(w->has))
		return STATUS_OK;
	if (listed(of_rows ? table_functions : functions, name) || (!of_rows && is_operator(name)))
		return STATUS_OK;
	return error_set(w->err, STATUS_BAD_INPUT,
		of_rows ? "%s is not one of the functions that a query may take rows from:%s"
			: "%s is not one of the functions that a query may call%s",
		name,
		of_rows ? table_functions
			: ", which compute with values and reach no file, no setting, no catalog and no other SQL");
}

static bool has_name(const struct table *of, const char *name)
{
	for (size_t i = 0; i < of->row_count; i++) {
		if (strcasecmp(table_get(of, i, "name"), name) == 0)
			return true;
	}
	return false;
}

static enum status look_at_name(const struct relations *has, const char *schema, const char *name, struct error *err)
{
	// Without a schema the name is assay's view, temporary where the file's differs (store.views).
	if (*schema == '\0' && schema_has_view(name))
		return STATUS_OK;
	for (size_t i = 0; i < has->tables.row_count; i++) {
		const char *sql = table_get(&has->tables, i, "sql");
		if (strcasecmp(table_get(&has->tables, i, "name"), name) != 0 ||
			strcasecmp(table_get(&has->tables, i, "schema"), *schema != '\0' ? schema : "main") != 0)
			continue;
		if (sql != NULL && strstr(sql, "GENERATED ALWAYS AS") == NULL)
			return STATUS_OK;
		return error_set(err, STATUS_BAD_INPUT,
			"%s is a table of the file with a column that is computed, and assay runs no SQL that came with a file",
			name);
	}
	if (*schema != '\0' && schema_has_view(name))
		return error_set(err, STATUS_BAD_INPUT, "%s.%s would be the file's own view: assay's is %s, without a schema",
			schema, name, name);
	if (has_name(&has->views, name))
		return error_set(
			err, STATUS_BAD_INPUT, "%s is a view of the file, and assay runs no SQL that came with one", name);
	return error_set(err, STATUS_BAD_INPUT,
		"there is no table or view '%s' in the database; docs/SCHEMA.md lists them, and so does SHOW TABLES", name);
}

static enum status look_at_table(const struct walk *w, const json_t *node)
{
	const char *name = member(node, "table_name"), *schema = member(node, "schema_name");

	if (*member(node, "catalog_name") != '\0')
		return error_set(w->err, STATUS_BAD_INPUT,
			"%s.%s.%s: only tables of the database are read, without its name before them",
			member(node, "catalog_name"), schema, name);
	// A name of WITH: the scope is not looked at, so it must be none that a view, a table or a file could have.
	for (size_t i = 0; *schema == '\0' && i < w->named_count; i++) {
		if (strcasecmp(w->named[i], name) == 0 && !has_name(&w->has->views, name) && !has_name(&w->has->tables, name))
			return STATUS_OK;
	}
	return look_at_name(w->has, schema, name, w->err);
}

static enum status look_at_show(const struct walk *w, const json_t *node)
{
	const char *name = member(node, "table_name");

	if (*name == '\0' || text_is(name, "\"tables\"") || text_is(name, "tables"))
		return STATUS_OK;
	return error_set(w->err, STATUS_BAD_INPUT,
		"of SHOW and DESCRIBE a query takes SHOW TABLES, and DESCRIBE or SUMMARIZE of a table or a SELECT");
}

static enum status look_at_type(const struct walk *w, const json_t *node)
{
	const char *id = member(node, "id");
	const json_t *info = json_object_get(node, "type_info");

	if (text_is(id, "UNBOUND")) {
		id = member(info, "name");
		if (*member(info, "schema") != '\0' || *member(info, "catalog") != '\0')
			id = "a type with a schema";
	}
	if (*member(info, "alias") != '\0') // GEOMETRY is a BLOB by another name
		id = member(info, "alias");
	if (listed(types, id))
		return STATUS_OK;
	return error_set(w->err, STATUS_BAD_INPUT,
		"%s is not one of the types that a query may cast to: numbers, texts, times, JSON, lists and structs of these",
		id);
}

static enum status look_at_object(const struct walk *w, const json_t *node, bool of_rows)
{
	enum status status = STATUS_OK;

	if (json_is_string(json_object_get(node, "function_name")))
		status = look_at_function(w, member(node, "function_name"), of_rows);
	if (status == STATUS_OK && json_is_true(json_object_get(node, "export_state")))
		status = error_set(w->err, STATUS_BAD_INPUT, "a query does not take EXPORT_STATE");
	if (status == STATUS_OK && text_is(member(node, "class"), "PARAMETER"))
		status = error_set(w->err, STATUS_BAD_INPUT, "a query has no parameters: write the value where $ or ? stands");
	if (status == STATUS_OK && text_is(member(node, "type"), "SHOW_REF"))
		status = look_at_show(w, node);
	else if (status == STATUS_OK && json_is_string(json_object_get(node, "table_name")) &&
		!text_is(member(node, "class"), "COLUMN_REF"))
		status = look_at_table(w, node);
	if (status == STATUS_OK && json_is_string(json_object_get(node, "id")))
		status = look_at_type(w, node);
	return status;
}

// As deep as jansson takes a text, 2048.
static enum status walk(const struct walk *w, const json_t *node, bool of_rows)
{
	enum status status = STATUS_OK;
	const char *key;
	json_t *child;
	size_t i;

	json_array_foreach(node, i, child)
	{
		if (status == STATUS_OK)
			status = walk(w, child, false);
	}
	if (!json_is_object(node) || status != STATUS_OK)
		return status;
	status = look_at_object(w, node, of_rows);
	bool is_rows = text_is(member(node, "type"), "TABLE_FUNCTION");
	json_object_foreach((json_t *)node, key, child)
	{
		if (status == STATUS_OK)
			status = walk(w, child, is_rows && text_is(key, "function"));
	}
	return status;
}

static bool is_plain_name(const char *name)
{
	return *name != '\0' && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

static void collect_named(struct walk *w, struct arena *a, const json_t *node)
{
	const char *key;
	json_t *child;
	size_t i;

	json_array_foreach(node, i, child) collect_named(w, a, child);
	json_object_foreach((json_t *)node, key, child)
	{
		const json_t *map = text_is(key, "cte_map") ? json_object_get(child, "map") : NULL;
		const char **more = map != NULL ? ARENA_ARRAY(a, w->named_count + json_array_size(map) + 1, const char *) : NULL;
		if (more != NULL && w->named_count > 0)
			memcpy(more, w->named, w->named_count * sizeof *more);
		w->named = more != NULL ? more : w->named;
		for (size_t k = 0; k < json_array_size(map); k++) {
			const char *name = member(json_array_get(map, k), "key");
			if (is_plain_name(name))
				w->named[w->named_count++] = name;
		}
		collect_named(w, a, child);
	}
}

static enum status list_relations(struct db *d, struct arena *a, struct relations *out, struct error *err)
{
	struct table stand_in = { 0 };
	enum status status = db_query(d, a,
		"SELECT schema_name AS schema, table_name AS name, sql FROM system.main.duckdb_tables()"
		" WHERE internal = FALSE AND temporary = FALSE",
		NULL, 0, &out->tables, err);

	if (status == STATUS_OK)
		status = db_query(d, a,
			"SELECT view_name AS name FROM system.main.duckdb_views() WHERE internal = FALSE AND temporary = FALSE",
			NULL, 0, &out->views, err);
	if (status == STATUS_OK)
		status = db_query(d, a,
			"SELECT view_name AS name FROM system.main.duckdb_views() WHERE internal = FALSE AND temporary = TRUE",
			NULL, 0, &stand_in, err);
	out->own_views_stand_in = stand_in.row_count > 0;
	return status;
}

// "DELETE" of " delete FROM cell"; "" where no word begins.
static const char *first_word(struct arena *a, const char *sql)
{
	size_t n = 0;

	while (isspace((unsigned char)*sql))
		sql++;
	while (n < 20 && isalpha((unsigned char)sql[n]))
		n++;
	char *word = arena_strndup(a, sql, n);
	for (char *c = word; *c != '\0'; c++)
		*c = (char)toupper((unsigned char)*c);
	return word;
}

// What DuckDB says of a text that it makes no tree of.
static enum status refuse(struct arena *a, const char *sql, const json_t *tree, struct error *err)
{
	const char *kind = member(tree, "error_type"), *message = member(tree, "error_message"), *word = first_word(a, sql);

	if (strstr(message, "Only SELECT") != NULL && text_is(word, "SELECT"))
		return error_set(err, STATUS_BAD_INPUT, "only one read-only SELECT is taken, and another statement follows it");
	if (strstr(message, "Only SELECT") != NULL)
		return error_set(err, STATUS_BAD_INPUT, "only a read-only SELECT is taken, and this is another statement%s%s",
			*word != '\0' ? ": " : "", word);
	if (text_is(kind, "parser"))
		return error_set(err, STATUS_FAILED, "Parser Error: %s", message);
	return error_set(err, STATUS_BAD_INPUT, "DuckDB makes no SELECT of it: %s", message);
}

static enum status look_at_tree(struct db *d, struct arena *a, const char *sql, const json_t *tree, struct error *err)
{
	const json_t *statements = json_object_get(tree, "statements");
	struct relations has = { 0 };
	struct walk w = { .has = &has, .err = err };

	if (!json_is_false(json_object_get(tree, "error")))
		return refuse(a, sql, tree, err);
	if (json_array_size(statements) != 1)
		return error_set(err, STATUS_BAD_INPUT, "one read-only SELECT is taken at a time, and these are %zu statements",
			json_array_size(statements));
	enum status status = list_relations(d, a, &has, err);
	if (status != STATUS_OK)
		return status;
	collect_named(&w, a, statements);
	return walk(&w, statements, false);
}

enum status select_look(struct db *d, struct arena *a, const char *sql, struct error *err)
{
	struct table t = { 0 };
	size_t length = strlen(sql), bad = visible_not_utf8(sql, length);

	if (length > SELECT_LENGTH_MOST)
		return error_set(err, STATUS_BAD_INPUT, "a query may have %d KiB, and this one has %zu", SELECT_LENGTH_MOST >> 10,
			(length + 1023) >> 10);
	// A parameter is cleaned of such bytes, and what is looked at must be what is run.
	if (bad < length)
		return error_set(err, STATUS_BAD_INPUT, "the query is no UTF-8 (byte %zu)", bad);
	enum status status = db_query(d, a,
		"SELECT system.main.json_serialize_sql(CAST(? AS VARCHAR), skip_null := TRUE, skip_empty := TRUE, skip_default "
		":= TRUE)",
		&(struct db_parameter){ .text = sql }, 1, &t, err);
	if (status != STATUS_OK)
		return status;
	json_t *tree = json_parse(t.row_count == 1 ? t.cells[0] : NULL);
	if (!json_is_object(tree))
		status = error_set(err, STATUS_BAD_INPUT, "the query is too long or nested too deep");
	else
		status = look_at_tree(d, a, sql, tree, err);
	json_decref(tree);
	return status;
}

enum status select_look_at_relation(struct db *d, struct arena *a, const char *name, struct error *err)
{
	struct relations has = { 0 };
	enum status status = list_relations(d, a, &has, err);

	return status == STATUS_OK ? look_at_name(&has, "", name, err) : status;
}
