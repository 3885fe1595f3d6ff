// SPDX-License-Identifier: Apache-2.0
// assay detect: the machine and what can be asked for on it. Engines are loaded in probe children, never here.
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "command.h"
#include "emit.h"
#include "progress.h"
#include "show.h"
#include "show_facts.h"

enum { DEVICES_SHOWN = 4, COLUMNS = 130 };

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const json_t *find_platform(const json_t *all, const char *name)
{
	const json_t *p;
	size_t i;

	json_array_foreach(json_object_get(all, "platforms"), i, p) if (text_is(text_of(p, "name"), name)) return p;
	return NULL;
}

// ---- the machine --------------------------------------------------------------------------------------------------------

static void print_caches(const struct machine *m, const json_t *caches, struct arena *a)
{
	const json_t *one;
	size_t i;

	if (!json_array_size(caches)) {
		if (m->l1d_bytes || m->l2_bytes || m->l3_bytes)
			emit("  caches       L1d %s, L2 %s, L3 %s each\n", show_size(a, (uint64_t)m->l1d_bytes),
				show_size(a, (uint64_t)m->l2_bytes), show_size(a, (uint64_t)m->l3_bytes));
		return;
	}
	emit("  caches       ");
	json_array_foreach(caches, i, one)
	{
		const json_int_t shared = json_integer_value(json_object_get(one, "shared_by_threads"));

		emit("%s%s %s", i ? ", " : "", text_of(one, "name"),
			show_size(a, (uint64_t)json_integer_value(json_object_get(one, "bytes"))));
		if (shared > 1)
			emit(" shared by %lld threads", (long long)shared);
	}
	emit("\n");
}

static void print_frequency(const json_t *f)
{
	const json_t *turbo = json_object_get(f, "turbo");

	if (!text_of(f, "governor"))
		return;
	emit("  frequency    governor %s (%s)", text_of(f, "governor"),
		text_of(f, "driver") ? text_of(f, "driver") : "driver unknown");
	if (json_object_get(f, "allowed_max_khz"))
		emit(", %.2f to %.2f GHz", json_number_value(json_object_get(f, "allowed_min_khz")) / 1e6,
			json_number_value(json_object_get(f, "allowed_max_khz")) / 1e6);
	emit("%s\n", turbo ? json_is_true(turbo) ? ", turbo on" : ", turbo off" : "");
}

static void print_held(const json_t *facts)
{
	const json_t *container = json_object_get(facts, "container"), *limits = json_object_get(facts, "limits"),
		     *quota = json_object_get(limits, "cpu_quota");
	const char *cgroup = text_of(limits, "cgroup");

	if (!container && !cgroup)
		return;
	emit("  held by      ");
	if (container)
		emit("%s: %s; ", text_of(container, "kind"), text_of(container, "why"));
	emit("control groups %s", cgroup ? cgroup : "not mounted");
	if (quota)
		emit(", %.2f CPUs", json_real_value(quota));
	emit("%s\n", quota || json_object_get(limits, "memory_bytes") ? "" : ", no limit");
}

static void print_machine(const struct machine *m, const json_t *facts, struct arena *a)
{
	const size_t nodes = json_array_size(json_object_get(facts, "numa_nodes"));

	emit("%s\n", m->cpu_model ? m->cpu_model : "processor of unknown model");
	emit("  processor    %s; sockets %d, cores %d, threads %d%s; this process may use %d\n", m->architecture, m->sockets,
		m->cores, m->threads, nodes > 1 ? arena_printf(a, ", NUMA nodes %zu", nodes) : "", m->usable_cpus);
	print_caches(m, json_object_get(facts, "caches"), a);
	emit("  features     %s\n", m->features && *m->features ? m->features : "none known");
	print_frequency(json_object_get(facts, "frequency"));
	emit("  memory       %s, %s available", show_size(a, (uint64_t)m->memory_bytes),
		show_size(a, (uint64_t)m->memory_available_bytes));
	if (m->memory_limit_bytes > 0)
		emit(", limit %s", show_size(a, (uint64_t)m->memory_limit_bytes));
	emit("\n");
	print_held(facts);
	emit("  system       %s, kernel %s%s%s\n", m->os ? m->os : "unknown", m->kernel ? m->kernel : "unknown",
		m->hypervisor ? ", in a virtual machine: " : "", m->hypervisor ? m->hypervisor : "");
}

static void print_bandwidth(const json_t *b, struct arena *a)
{
	static const char *const kernels[] = { "triad", "read" };

	for (size_t i = 0; i < 2 && b; i++) {
		const json_t *k = json_object_get(b, kernels[i]);

		emit("  %s%s GB/s, median of %zu (%.1f to %.1f), %lld threads, arrays of %s\n",
			i ? "             read " : "bandwidth    triad ",
			arena_printf(a, "%.1f", json_real_value(json_object_get(k, "gb_per_s"))),
			json_array_size(json_object_get(k, "samples")), json_real_value(json_object_get(k, "min")),
			json_real_value(json_object_get(k, "max")), (long long)json_integer_value(json_object_get(b, "threads")),
			show_size(a, (uint64_t)json_integer_value(json_object_get(b, "array_bytes"))));
	}
}

// ---- platforms ----------------------------------------------------------------------------------------------------------

// An adapter's limits and features; of WebNN's contexts how many operators each takes (--json has which, with types and ranks).
static void print_device_facts(const json_t *facts, struct arena *a)
{
	json_t *shown = json_copy((json_t *)facts), *counts = json_object(), *context;
	const char *name;

	json_object_foreach(json_object_get(facts, "contexts"), name, context)
	{
		const char *key;
		json_t *one;
		json_int_t operators = 0;

		json_object_foreach(json_object_get(context, "limits"), key, one) operators +=
			json_is_object(one) && !text_is(key, "input") && !text_is(key, "constant") && !text_is(key, "output");
		json_object_set_new(counts, name, json_integer(operators));
	}
	json_object_del(shown, "contexts");
	if (json_object_size(counts))
		json_object_set(shown, "operators_taken", counts);
	show_facts(a, "                       ", shown);
	json_decref(counts);
	json_decref(shown);
}

// `text` after `used` columns, broken between words; further lines begin at column `indent`.
static void print_wrapped(const char *text, int used, int indent)
{
	for (const char *at = text; *at;) {
		const int n = (int)strcspn(at, " ");

		if (used > indent && used + 1 + n > COLUMNS) {
			emit("\n%*s", indent, "");
			used = indent;
		} else if (at != text) {
			emit(" ");
			used++;
		}
		emit("%.*s", n, at);
		used += n;
		at += n + (at[n] == ' ');
	}
	emit("\n");
}

static void print_platform(const json_t *p, bool verbose, struct arena *a)
{
	const json_t *features = json_object_get(p, "features"), *facts = json_object_get(p, "facts"),
		     *devices = json_object_get(p, "devices"), *one;
	const char *version = text_of(features, "engine_version"), *reason = text_of(p, "reason");
	size_t i;

	if (!json_is_true(json_object_get(p, "available"))) {
		emit("  %-12s %-5s ", text_of(p, "name"), json_is_null(json_object_get(p, "available")) ? "?" : "no");
		print_wrapped(reason, 21, 21);
	} else {
		emit("  %-12s yes   %s %s\n", text_of(p, "name"), text_of(p, "engine"), version ? version : "");
	}
	json_array_foreach(devices, i, one)
	{
		const char *description = text_of(one, "description"), *words = text_of(one, "features");

		if (!verbose && i == DEVICES_SHOWN && json_array_size(devices) > DEVICES_SHOWN + 1) {
			emit("%21sand %zu more: assay detect %s\n", "", json_array_size(devices) - i, text_of(p, "name"));
			break;
		}
		emit("%21s", "");
		print_wrapped(arena_printf(a, "%s%s%s%s%s%s%s", text_of(one, "name"), description ? ": " : "",
				      description ? description : "",
				      json_is_true(json_object_get(one, "emulated")) ? " (EMULATED)" : "",
				      json_is_true(json_object_get(one, "compiles_only")) ? " (compiles only)" : "",
				      words ? "; " : "", words ? words : ""),
			21, 23);
		if (verbose && json_is_object(json_object_get(one, "facts")))
			print_device_facts(json_object_get(one, "facts"), a);
	}
	json_array_foreach(json_object_get(facts, "findings"), i,
		one) if ((verbose || i == 0) && !(reason && strstr(reason, json_string_value(one))))
	{
		emit("%21s! ", "");
		print_wrapped(json_string_value(one), 23, 23);
	}
	if (verbose)
		show_facts(a, "                     ", facts);
}

// Parts of the eight that are not here, in one line: each can be asked for by name.
static void print_extras(const json_t *platforms, struct arena *a)
{
	struct text names = { 0 };
	const json_t *p;
	size_t i;

	json_array_foreach(
		platforms, i, p) if (json_is_true(json_object_get(p, "extra")) && !json_is_true(json_object_get(p, "available")))
		text_addf(&names, "%s%s", names.length ? ", " : "", text_of(p, "name"));
	if (names.length) {
		emit("\n  not here either: ");
		print_wrapped(arena_printf(a, "%s (assay detect NAME says why)", text_get(&names)), 19, 2);
	}
	text_done(&names);
}

static int save(const char *db, const json_t *all, struct arena *a)
{
	struct store store = { 0 };
	struct error err = { 0 };
	struct machine machine;

	machine_detect(&machine, a);
	enum status s = store_open(&store, db, false, &err);
	if (s == STATUS_OK)
		s = store_begin_run(&store, &machine, "assay detect", &err);
	if (s == STATUS_OK)
		s = store_detection(&store, json_object_get(all, "platforms"), &err);
	if (s == STATUS_OK)
		s = store_end_run(&store, &err);
	store_close(&store);
	return s == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

static const char *platform_name(size_t i, const void *table)
{
	(void)table;
	return i < platform_count() ? platform_get(i)->name : NULL;
}

static int run(int argc, char **argv)
{
	bool json = false, verbose = false, bandwidth = false;
	const char *db = NULL;
	const struct cli_option options[] = {
		{ "v", CLI_FLAG, &verbose, NULL, "every fact: cards, drivers, libraries, device files, variables" },
		{ "bandwidth", CLI_FLAG, &bandwidth, NULL, "measure how fast memory is; takes some seconds" },
		{ "db", CLI_TEXT, &db, "FILE", "write what was found into this DuckDB file: table hardware_detection" },
		{ "json", CLI_FLAG, &json, NULL, "{\"machine\": {...}, \"platforms\": [...]} on standard output" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay detect [PLATFORM...] [-v] [--bandwidth] [--db FILE] [--json]",
		.text = "The processor, its caches, instructions and memory, and each platform with its devices or the reason\n"
			"why it is absent. A platform that is named is shown with every fact. Engines are looked for in\n"
			"$ASSAY_ENGINE_PATH, beside the installed program, in $XDG_DATA_HOME/assay/engines, and where the "
			"system\n"
			"looks; browsers in $ASSAY_BROWSER_PATH (none: nowhere, which is faster) and in $PATH. An engine is\n"
			"listed as available only after a child process has loaded it and asked it for its devices; drivers\n"
			"are asked in children too. What cannot be read is left out, never guessed.\n\n"
			"Exit codes: 0 whatever is here; 1 bad use or an error of assay's own.\n",
		.options = options,
		.max_words = -1,
	};
	struct arena arena = { 0 };
	struct error err = { 0 };
	struct machine machine;
	json_t *all, *platform, *measured = NULL;
	size_t i;
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	for (int w = 1; w <= words; w++)
		if (platform_named(argv[w])) {
			argv[w] = (char *)(uintptr_t)platform_named(argv[w])->name;
		} else if (platform_elsewhere(argv[w])) {
			return cli_bad_use("%s: %s", argv[w], platform_elsewhere(argv[w]));
		} else {
			const char *near = text_nearest(argv[w], platform_name, NULL);

			return near ? cli_bad_use("no platform is called %s; did you mean %s?", argv[w], near)
				    : cli_bad_use("no platform is called %s; `assay detect` lists them", argv[w]);
		}
	progress_line(bandwidth ? "measuring memory" : "looking at the engines");
	if (bandwidth && detect_bandwidth(&measured, &err)) {
		progress_clear();
		return cli_error(&err);
	}
	progress_line("looking at the engines");
	all = detect_some((const char *const *)argv + 1, (size_t)words);
	progress_clear();
	if (measured)
		json_object_set_new(json_object_get(all, "machine"), "bandwidth", measured);
	if (json) {
		show_json(all);
	} else {
		machine_detect(&machine, &arena);
		if (!words)
			print_machine(&machine, json_object_get(find_platform(all, "cpu"), "facts"), &arena);
		print_bandwidth(measured, &arena);
		if (!words || measured)
			emit("\n");
		const bool all_of_it = verbose || words;
		json_array_foreach(json_object_get(all, "platforms"), i, platform) if (all_of_it ||
			!json_is_true(json_object_get(platform, "extra")) || json_is_true(json_object_get(platform, "available")))
			print_platform(platform, all_of_it, &arena);
		if (!all_of_it)
			print_extras(json_object_get(all, "platforms"), &arena);
	}
	code = db ? save(db, all, &arena) : EXIT_GOOD;
	json_decref(all);
	arena_done(&arena);
	return code;
}

const struct command command_detect = { "detect", "this machine: processor, memory, and each platform or why it is absent", run };
