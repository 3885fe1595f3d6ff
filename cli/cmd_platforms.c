// SPDX-License-Identifier: Apache-2.0
// assay platforms: the table of platforms as the program has it: what serves each, in which form its graphs are built, what
// judges it, where it falls back to. Looks at no machine: that is `assay detect`.
#include <stdio.h>

#include "command.h"
#include "platform/platform.h"
#include "emit.h"
#include "show.h"

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void print_list(const char *label, const json_t *list, const char *between)
{
	const json_t *item;
	size_t i;

	if (!json_array_size(list))
		return;
	emit("  %-12s ", label);
	json_array_foreach(list, i, item) emit("%s%s", i ? between : "", json_string_value(item));
	emit("\n");
}

static void print_options(const json_t *route)
{
	const json_t *option;
	size_t i;

	json_array_foreach(json_object_get(route, "options"), i, option)
	{
		const char *usual = text_of(option, "default");
		emit("    %s%s%s: %s\n", text_of(option, "name"), usual ? "=" : "", usual ? usual : "", text_of(option, "help"));
	}
}

static void print_platform(const json_t *p, bool options)
{
	const json_t *route, *word;
	size_t i, k;

	emit("%-9s %s\n", text_of(p, "name"), text_of(p, "summary"));
	json_array_foreach(json_object_get(p, "routes"), i, route)
	{
		const json_t *devices = json_object_get(route, "devices");
		const char *defaults = text_of(route, "defaults");

		emit("  %-12s %s, %s of %s; device", i ? "or" : "served by", text_of(route, "engine"), text_of(route, "provider"),
			text_of(route, "build"));
		if (json_is_array(devices))
			json_array_foreach(devices, k, word) emit(" %s", json_string_value(word));
		else
			emit(" %s, or another that the engine has", text_of(route, "device"));
		emit("%s%s\n", defaults ? "; options " : "", defaults ? defaults : "");
		if (options)
			print_options(route);
	}
	print_list("falls back to", json_object_get(p, "fallback"), ", then ");
	print_list("graphs", json_object_get(p, "forms"), "; else ");
	if (text_of(p, "judged_by"))
		emit("  %-12s %s\n", "judged by", text_of(p, "judged_by"));
	print_list("environment", json_object_get(p, "environment"), " ");
}

static int run(int argc, char **argv)
{
	bool json = false, options = false;
	const struct cli_option table[] = {
		{ "options", CLI_FLAG, &options, NULL, "each engine's options with their defaults too" },
		{ "json", CLI_FLAG, &json, NULL, "an array on standard output, one object a platform, options among it" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay platforms [--options | --json]",
		.text = "What can be asked for with --on: the engines that serve each platform, its devices, the forms in which\n"
			"its graphs are built (the next where an operator of one is refused), what judges it where there are no\n"
			"golden outputs, and where it falls back to. No machine is looked at: `assay detect` says what is "
			"here.\n\n"
			"Exit codes: 0 told; 1 bad use.\n",
		.options = table,
	};
	int words, code = cli_parse(&usage, argc, argv, &words);
	const json_t *p;
	size_t i;

	if (code >= 0)
		return code;
	if (json && options)
		return cli_bad_use("--json has the options anyway");
	json_t *all = platform_table_json();
	if (json)
		show_json(all);
	else
		json_array_foreach(all, i, p) print_platform(p, options);
	json_decref(all);
	return EXIT_GOOD;
}

const struct command command_platforms = { "platforms", "what can be asked for, what serves it, where it falls back to", run };
