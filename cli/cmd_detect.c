// SPDX-License-Identifier: Apache-2.0
// assay detect: the machine and what can be asked for on it. Engines are loaded in probe children, never here.
#include <stdio.h>

#include "api/plan.h"
#include "command.h"
#include "progress.h"
#include "show.h"

static void print_machine(const struct machine *m, struct arena *a)
{
	printf("%s\n", m->cpu_model ? m->cpu_model : "processor of unknown model");
	printf("  processor    %s; sockets %d, cores %d, threads %d; this process may use %d\n", m->architecture, m->sockets,
		m->cores, m->threads, m->usable_cpus);
	if (m->l1d_bytes || m->l2_bytes || m->l3_bytes)
		printf("  caches       L1d %s, L2 %s, L3 %s each\n", show_size(a, (uint64_t)m->l1d_bytes),
			show_size(a, (uint64_t)m->l2_bytes), show_size(a, (uint64_t)m->l3_bytes));
	printf("  features     %s\n", m->features && *m->features ? m->features : "none known");
	printf("  memory       %s, %s available", show_size(a, (uint64_t)m->memory_bytes),
		show_size(a, (uint64_t)m->memory_available_bytes));
	if (m->memory_limit_bytes > 0)
		printf(", limit %s", show_size(a, (uint64_t)m->memory_limit_bytes));
	printf("\n  system       %s, kernel %s%s%s\n\n", m->os ? m->os : "unknown", m->kernel ? m->kernel : "unknown",
		m->hypervisor ? ", in a virtual machine: " : "", m->hypervisor ? m->hypervisor : "");
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void print_platform(const json_t *p)
{
	const json_t *features = json_object_get(p, "features"), *device;
	const char *version = text_of(features, "engine_version");
	size_t i;

	if (!json_is_true(json_object_get(p, "available"))) {
		printf("  %-9s no    %s\n", text_of(p, "name"), text_of(p, "reason"));
		return;
	}
	printf("  %-9s yes   %s %s\n", text_of(p, "name"), text_of(p, "engine"), version ? version : "");
	json_array_foreach(json_object_get(p, "devices"), i, device)
	{
		const char *description = text_of(device, "description"), *words = text_of(device, "features");
		printf("  %-9s       %s%s%s%s%s%s\n", "", text_of(device, "name"), description ? ": " : "",
			description ? description : "", json_is_true(json_object_get(device, "emulated")) ? " (EMULATED)" : "",
			words ? "; " : "", words ? words : "");
	}
}

static int run(int argc, char **argv)
{
	bool json = false;
	const struct cli_option options[] = {
		{ "json", CLI_FLAG, &json, NULL, "{\"machine\": {...}, \"platforms\": [...]} on standard output" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay detect [--json]",
		.text = "The processor, its caches, instructions and memory, and each platform with its devices or the reason\n"
			"why it is absent. Engines are looked for in $ASSAY_ENGINE_PATH, beside the installed program, in\n"
			"$XDG_DATA_HOME/assay/engines, and where the system looks. An engine is listed as available only\n"
			"after a child process has loaded it and asked it for its devices.\n",
		.options = options,
	};
	struct arena arena = { 0 };
	struct machine machine;
	json_t *all, *platform;
	size_t i;
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	progress_line("looking at the engines");
	all = detect_all();
	progress_clear();
	if (json) {
		show_json(all);
	} else {
		machine_detect(&machine, &arena);
		print_machine(&machine, &arena);
		json_array_foreach(json_object_get(all, "platforms"), i, platform) print_platform(platform);
	}
	json_decref(all);
	arena_done(&arena);
	return EXIT_GOOD;
}

const struct command command_detect = { "detect", "this machine: processor, memory, and each platform or why it is absent", run };
