// SPDX-License-Identifier: Apache-2.0
// assay types: the model types that assay builds, and which of the cases it carries pass on a platform here and now.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "artifact/artifact.h"
#include "plan/plan.h"
#include "command.h"
#include "conform/conform.h"
#include "emit.h"
#include "progress.h"
#include "show.h"

struct watched {
	const char *on;
	size_t done, count;
};

// Said where there is no terminal, too: it takes minutes.
static void begin(void *context, size_t cases)
{
	struct watched *w = context;
	struct arena a = { 0 };

	w->count = cases;
	progress_notice(arena_printf(&a, "%zu case%s to run on %s; the answer is kept", cases, cases == 1 ? "" : "s", w->on));
	arena_done(&a);
}

static void each(void *context, const struct conform_case *c)
{
	struct watched *w = context;

	progress_line("[%zu/%zu] %s", ++w->done, w->count, c->name);
}

// The heads that its passed cases have, each once.
static json_t *heads(const struct conform_type *t)
{
	json_t *out = json_array();
	for (size_t i = 0; i < t->count; i++) {
		const char *head = t->cases[i].passed && t->cases[i].class_name ? arch_class_head(t->cases[i].class_name) : NULL;
		bool known = !head;
		for (size_t k = 0; k < json_array_size(out) && !known; k++)
			known = strcmp(json_string_value(json_array_get(out, k)), head) == 0;
		if (!known)
			json_array_append_new(out, json_string(head));
	}
	return out;
}

static json_t *type_json(const struct conform_type *t, size_t i, const char *on)
{
	json_t *failed = json_array();
	for (size_t k = 0; k < t->count; k++)
		if (!t->cases[k].passed)
			json_array_append_new(
				failed, json_pack("{s:s, s:s?}", "case", t->cases[k].name, "reason", t->cases[k].reason));
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:I, s:I, s:o}", "type", t->model_type, "family", arch_type_family(i),
		"dialect", arch_type_dialect(i), "architecture", arch_type_architecture(i), "heads", heads(t), "platform", on,
		"cases", (json_int_t)t->count, "cases_passed", (json_int_t)t->passed, "failed", failed);
}

static void print_type(const json_t *o, const char *before, const char *between, const char *after)
{
	emit("%s%-26s%s%-12s%s%2lld/%-2lld%s", before, json_string_value(json_object_get(o, "type")), between,
		json_string_value(json_object_get(o, "family")), between,
		(long long)json_integer_value(json_object_get(o, "cases_passed")),
		(long long)json_integer_value(json_object_get(o, "cases")), between);
	const json_t *list = json_object_get(o, "heads");
	for (size_t i = 0; i < json_array_size(list); i++)
		emit("%s%s", i ? ", " : "", json_string_value(json_array_get(list, i)));
	emit("%s\n", after);
}

static int types(const char *on, bool json, bool markdown, struct arena *a)
{
	struct error err = { 0 };
	struct target *target;
	struct conform_type *list;
	size_t targets, count, whole = 0, failed = 0;
	struct watched watched = { .on = on };
	struct cache_usage usage;

	if (plan_targets(&target, &targets, a, &on, 1, NULL, &err) != STATUS_OK)
		return cli_error(&err);
	enum status s = conform_types(&list, &count, target, begin, each, &watched, a, &err);
	progress_clear();
	if (s != STATUS_OK)
		return cli_error(&err);
	json_t *all = json_array();
	for (size_t i = 0; i < count; i++) {
		json_array_append_new(all, type_json(&list[i], i, on));
		whole += list[i].count > 0 && list[i].passed == list[i].count;
		failed += list[i].count - list[i].passed;
	}
	if (json) {
		show_json(all);
	} else {
		if (markdown)
			emit("| type | family | cases passed | heads with a passed case |\n| --- | --- | --- | --- |\n");
		for (size_t i = 0; i < count; i++)
			print_type(json_array_get(all, i), markdown ? "| " : "", markdown ? " | " : "  ", markdown ? " |" : "");
	}
	json_decref(all);
	emit_flush();
	emit_to(json || markdown ? stderr : stdout, "%zu types; all cases of %zu pass on %s\n", count, whole, on);
	if (watched.count > 0 && cache_usage(&usage, &err) == STATUS_OK)
		progress_notice(arena_printf(a, "weights of %zu case%s take %s of the cache; `assay cache` says what else does",
			usage.cases, usage.cases == 1 ? "" : "s", show_size(a, usage.conform_bytes)));
	return failed ? EXIT_VERDICT : EXIT_GOOD;
}

static int run(int argc, char **argv)
{
	const char *on = "cpu";
	bool json = false, markdown = false;
	const struct cli_option options[] = {
		{ "on", CLI_TEXT, &on, "PLATFORM", "where the cases run: cpu, openvino, openvino:GPU, ...; default cpu" },
		{ "json", CLI_FLAG, &json, NULL,
			"an array on standard output, one object a type, with `cases` and `cases_passed`" },
		{ "markdown", CLI_FLAG, &markdown, NULL, "a table for docs/TYPES.md" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay types [--on PLATFORM] [--json | --markdown]",
		.text = "The model types that assay builds. Behind each: the family that builds it, how many of the conformance\n"
			"cases that assay carries pass on the platform, and the heads that a passed case has. The cases are run\n"
			"the first time, more than a thousand, which takes minutes: standard error says how many and how far it\n"
			"is. The answer is kept until the program, the engine or a case changes.\n"
			"0/0 is a type that is a part of others and has no case of its own.\n\n"
			"Exit codes: 0 no case fails; 1 bad use or an error of assay's own; 2 one does.\n",
		.options = options,
	};
	struct arena arena = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (json && markdown)
		return cli_bad_use("--json and --markdown exclude each other");
	if ((code = cli_cache_ready()) >= 0)
		return code;
	code = types(on, json, markdown, &arena);
	arena_done(&arena);
	return code;
}

const struct command command_types = { "types", "the model types that assay builds, and which conformance cases pass here", run };
