// SPDX-License-Identifier: Apache-2.0
// assay explain: where the nodes of one measured cell ran, what was left to others and why, which form of the graph it was, and
// what was tried before or instead. It reads the database; nothing is run again.
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "emit.h"
#include "reading.h"
#include "show.h"
#include "store/store.h"

struct explained {
	struct arena arena;
	int64_t row;
	struct table cell, kinds, places, fused, chain;
};

static const char *get(const struct explained *x, const char *column)
{
	return table_get(&x->cell, 0, column);
}

// ---- reading ---------------------------------------------------------------------------------------------------------

static enum status ask(struct store *s, struct explained *x, const char *format, struct table *out, struct error *err)
{
	struct text sql = { 0 };
	enum status st;

	for (const char *c = format; *c; c++) // $ is the row's number
		if (*c == '$')
			text_addf(&sql, "%lld", (long long)x->row);
		else
			text_add_bytes(&sql, c, 1);
	st = store_query(s, text_get(&sql), out, err);
	text_done(&sql);
	return st;
}

#define NODES "FROM placement WHERE cell = $ AND event = (SELECT max(event) FROM placement WHERE cell = $) "

static enum status read_all(struct store *s, struct explained *x, struct error *err)
{
	enum status st = ask(s, x, "SELECT * FROM result WHERE id = $", &x->cell, err);

	if (!st && !x->cell.row_count)
		return error_set(err, STATUS_BAD_INPUT,
			"there is no row %lld; `assay query 'SELECT id, model, requested, verdict FROM result'` lists them",
			(long long)x->row);
	if (!st)
		st = ask(s, x,
			"SELECT place, op, dtype, count(*) AS nodes, sum(ms) AS ms, arg_min(node, number) AS first, "
			"min(reason) AS reason, bool_or(coalesce(elsewhere, FALSE)) AS elsewhere " NODES
			"AND NOT fused GROUP BY place, op, dtype ORDER BY elsewhere DESC, place, nodes DESC, op, dtype",
			&x->kinds, err);
	if (!st)
		st = ask(s, x,
			"SELECT place, count(*) AS nodes, sum(ms) AS ms " NODES
			"AND NOT fused GROUP BY place ORDER BY nodes DESC, place",
			&x->places, err);
	if (!st)
		st = ask(s, x, "SELECT op, count(*) AS nodes " NODES "AND fused GROUP BY op ORDER BY nodes DESC, op", &x->fused,
			err);
	if (!st)
		st = ask(s, x,
			"SELECT id, attempt, requested, actual, verdict, cause, fallback_reason, fallback_factor FROM result "
			"WHERE coalesce(fallback_of, id) = (SELECT coalesce(fallback_of, id) FROM result WHERE id = $) ORDER BY "
			"attempt, id",
			&x->chain, err);
	return st;
}

// ---- for people ------------------------------------------------------------------------------------------------------

static void label(const char *name, const char *words)
{
	if (words)
		emit("  %-11s %s\n", name, words);
}

// "284 of 854 nodes on CoreMLExecutionProvider in 66 partitions; first refused: Gather int64"
static const char *summary(struct explained *x)
{
	const char *on = get(x, "nodes_on_platform"), *elsewhere = get(x, "nodes_elsewhere"), *nodes = get(x, "nodes"),
		   *partitions = get(x, "partitions"), *copies = get(x, "copies"), *fused = get(x, "nodes_fused"),
		   *provider = get(x, "provider");
	json_t *refused = json_parse(get(x, "refused")), *first = json_array_get(refused, 0);
	struct text t = { 0 };

	if (!on) {
		text_addf(&t, "not known%s%s", get(x, "placement_note") ? ": " : "",
			get(x, "placement_note") ? get(x, "placement_note") : "");
	} else {
		text_addf(&t, "%s of %s nodes on %s", on, nodes ? nodes : "?",
			get(x, "pipeline_parts") ? "the platforms that their graphs were asked for"
				: provider       ? provider
						 : get(x, "requested"));
		if (partitions)
			text_addf(&t, " in %s partition%s", partitions, text_is(partitions, "1") ? "" : "s");
		if (fused && !text_is(fused, "0"))
			text_addf(&t, ", %s fused into others", fused);
		if (elsewhere && !text_is(elsewhere, "0"))
			text_addf(&t, ", %s elsewhere", elsewhere);
		if (copies && !text_is(copies, "0"))
			text_addf(&t, ", %s copies between devices", copies);
	}
	if (first) {
		const char *op = json_string_value(json_object_get(first, "op")),
			   *dtype = json_string_value(json_object_get(first, "dtype"));

		text_addf(&t, "; first refused: %s%s%s", op ? op : "?", dtype ? " " : "", dtype ? dtype : "");
	}
	json_decref(refused);
	const char *out = arena_strdup(&x->arena, text_get(&t));
	text_done(&t);
	return out;
}

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static const char *milliseconds(struct arena *a, const char *text)
{
	double ms;

	return text && text_to_double(text, 0, 1e12, &ms) && ms > 0 ? arena_printf(a, "%.3f", ms) : "-";
}

static void print_kinds(struct explained *x)
{
	const struct table *t = &x->kinds;

	if (!t->row_count)
		return;
	emit("\n  %-28s %-28s %-8s %6s %10s  %s\n", "place", "operator", "type", "nodes", "ms", "first");
	for (size_t i = 0; i < t->row_count; i++) {
		const char *reason = table_get(t, i, "reason");

		emit("  %-28s %-28s %-8s %6s %10s  %s%s%s%s\n", or_dash(table_get(t, i, "place")), or_dash(table_get(t, i, "op")),
			or_dash(table_get(t, i, "dtype")), table_get(t, i, "nodes"),
			milliseconds(&x->arena, table_get(t, i, "ms")), or_dash(table_get(t, i, "first")), reason ? " (" : "",
			reason ? reason : "", reason ? ")" : "");
	}
	for (size_t i = 0; i < x->fused.row_count; i++)
		emit("  %-28s %-28s %-8s %6s\n", "(fused into others)", or_dash(table_get(&x->fused, i, "op")), "",
			table_get(&x->fused, i, "nodes"));
}

static void print_places(struct explained *x)
{
	bool timed = false;

	for (size_t i = 0; i < x->places.row_count; i++)
		timed |= strcmp(milliseconds(&x->arena, table_get(&x->places, i, "ms")), "-") != 0;
	if (!timed)
		return;
	emit("\n  time, of one profiled run:\n");
	for (size_t i = 0; i < x->places.row_count; i++)
		emit("  %-28s %6s nodes %10s ms\n", or_dash(table_get(&x->places, i, "place")), table_get(&x->places, i, "nodes"),
			milliseconds(&x->arena, table_get(&x->places, i, "ms")));
}

static void print_chain(const struct explained *x)
{
	const struct table *t = &x->chain;

	if (t->row_count < 2)
		return;
	emit("\n  what was tried:\n");
	for (size_t i = 0; i < t->row_count; i++) {
		const char *actual = table_get(t, i, "actual"), *cause = table_get(t, i, "cause"),
			   *factor = table_get(t, i, "fallback_factor");

		emit("  %s row %s: %s%s%s: %s%s%s%s%s%s\n", or_dash(table_get(t, i, "attempt")), table_get(t, i, "id"),
			table_get(t, i, "requested"), actual && !text_is(actual, table_get(t, i, "requested")) ? " on " : "",
			actual && !text_is(actual, table_get(t, i, "requested")) ? actual : "",
			or_dash(table_get(t, i, "verdict")), cause ? ": " : "", cause ? cause : "", factor ? "; " : "",
			factor ? factor : "", factor ? " times the latency" : "");
	}
}

// Of a whole pipeline: "unet/model.onnx on webgpu: 480 of 621 nodes, 30 elsewhere".
static void print_graphs(struct explained *x)
{
	json_t *parts = json_parse(get(x, "answer_parts")), *g;
	size_t i;

	json_array_foreach(json_object_get(parts, "graphs"), i, g)
	{
		const char *platform = json_string_value(json_object_get(g, "platform"));
		const json_int_t on = json_integer_value(json_object_get(g, "on_platform")),
				 elsewhere = json_integer_value(json_object_get(g, "elsewhere"));

		if (!platform)
			continue;
		emit("  %-11s %s on %s: ", i ? "" : "graphs", json_string_value(json_object_get(g, "graph")), platform);
		if (on < 0)
			emit("not known\n");
		else
			emit("%lld of %lld nodes%s\n", (long long)on, (long long)json_integer_value(json_object_get(g, "nodes")),
				elsewhere > 0 ? arena_printf(&x->arena, ", %lld elsewhere", (long long)elsewhere) : "");
	}
	json_decref(parts);
}

static void print(struct explained *x)
{
	const char *actual = get(x, "actual"), *elsewhere = actual && !text_is(actual, get(x, "requested")) ? actual : NULL;
	const char *device = get(x, "device"), *version = get(x, "engine_version"), *description = get(x, "device_description");

	emit("row %lld: %s on %s%s%s: %s\n", (long long)x->row, get(x, "model"),
		arena_join(&x->arena, get(x, "requested"), ",", get(x, "pipeline_parts")),
		text_is(get(x, "emulated"), "true") ? " (EMULATED)" : "",
		elsewhere ? arena_printf(&x->arena, " (ran on %s)", elsewhere) : "", or_dash(get(x, "verdict")));
	if (text_is(get(x, "imported"), "true"))
		label("imported", "assay did not measure it here: all of this is what an imported file says");
	label("task", get(x, "pipeline"));
	label("together", get(x, "together") ? arena_printf(&x->arena, "with %s", get(x, "together")) : NULL);
	label("switched", get(x, "switched_from") ? arena_printf(&x->arena, "from %s", get(x, "switched_from")) : NULL);
	label("cause", get(x, "cause"));
	label("hint", get(x, "hint"));
	label("it said", get(x, "raw_error"));
	if (get(x, "engine"))
		emit("  %-11s %s%s%s%s%s%s%s\n", "device", get(x, "engine"), version ? " " : "", version ? version : "",
			device ? ", " : "", device ? device : "", description ? ": " : "", description ? description : "");
	label("placement", summary(x));
	print_graphs(x);
	if (get(x, "nodes_on_platform"))
		label("known by", get(x, "placement_note"));
	label("fallback", get(x, "fallback_reason"));
	label("graph", get(x, "form"));
	label("not taken", get(x, "form_why"));
	print_kinds(x);
	print_places(x);
	print_chain(x);
}

// ---- for programs ----------------------------------------------------------------------------------------------------

static json_t *typed(const char *type, const char *text)
{
	double x;
	int64_t n;

	if (!text)
		return json_null();
	if (text_is(type, "BOOLEAN"))
		return json_boolean(text_is(text, "true"));
	if ((text_ends(type, "INT") || text_is(type, "HUGEINT")) && text_to_int(text, INT64_MIN, INT64_MAX, &n))
		return json_integer(n);
	if (text_is(type, "DOUBLE") && text_to_double(text, -1e300, 1e300, &x))
		return json_real(x);
	return json_string(text);
}

static json_t *rows(const struct table *t)
{
	json_t *out = json_array();

	for (size_t r = 0; r < t->row_count; r++) {
		json_t *one = json_object();

		for (size_t c = 0; c < t->column_count; c++)
			json_object_set_new(one, t->columns[c], typed(t->types[c], t->cells[r * t->column_count + c]));
		json_array_append_new(out, one);
	}
	return out;
}

static void print_json(struct explained *x)
{
	static const char *const keys[] = { "model", "requested", "actual", "engine", "engine_version", "provider", "device",
		"emulated", "imported", "verdict", "cause", "hint", "raw_error", "form", "form_why", "nodes", "nodes_on_platform",
		"nodes_elsewhere", "nodes_fused", "partitions", "copies", "placement_note", "fallback_reason", "together",
		"switched_from", "pipeline", "pipeline_parts" };
	json_t *out = json_object(), *cell = rows(&x->cell), *first = json_array_get(cell, 0);

	json_object_set_new(out, "row", json_integer(x->row));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		json_object_set(out, keys[i], json_object_get(first, keys[i]) ? json_object_get(first, keys[i]) : json_null());
	json_object_set_new(out, "summary", json_string(summary(x)));
	json_object_set_new(out, "refused", get(x, "refused") ? json_parse(get(x, "refused")) : json_array());
	json_object_set_new(out, "answer_parts", get(x, "answer_parts") ? json_parse(get(x, "answer_parts")) : json_null());
	json_object_set_new(out, "kinds", rows(&x->kinds));
	json_object_set_new(out, "places", rows(&x->places));
	json_object_set_new(out, "fused", rows(&x->fused));
	json_object_set_new(out, "chain", rows(&x->chain));
	show_json(out);
	json_decref(out);
	json_decref(cell);
}

static int run(int argc, char **argv)
{
	const char *db = cli_default_db();
	bool json = false;
	const struct cli_option options[] = {
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ "json", CLI_FLAG, &json, NULL, "an object on standard output" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay explain ROW [--json] [--db FILE]",
		.text = "Where each node of a measured cell ran: how many on the platform that was asked for, in how many\n"
			"partitions, what was left to others and why, with operator, type and first node; the form of the "
			"graph,\n"
			"and why earlier ones were not taken; the chain of fallbacks that the row belongs to. ROW is the number\n"
			"that `assay run` prints.\n\n"
			"  assay explain 12\n\n"
			"Exit codes: 0 explained; 1 bad use, no such row, or an error of assay's own.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct store s = cli_reading();
	struct explained x = { 0 };
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (!text_to_int(argv[1], 1, INT64_MAX, &x.row))
		return cli_bad_use("'%s' is no row: its number is wanted", argv[1]);
	enum status st = store_open_settled(&s, db, &err);
	if (st == STATUS_OK)
		st = read_all(&s, &x, &err);
	if (st == STATUS_OK)
		json ? print_json(&x) : print(&x);
	store_close(&s);
	arena_done(&x.arena);
	return st == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

const struct command command_explain = { "explain", "where the nodes of a row ran, what was refused and why", run };
