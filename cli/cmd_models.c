// SPDX-License-Identifier: Apache-2.0
// assay models: the models whose configuration the program carries, and what each comes to.
#include <stdio.h>

#include "arch/arch.h"
#include "artifact/artifact.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "command.h"
#include "emit.h"
#include "hub/hub.h"
#include "show.h"

// NULL: the configuration cannot be built, which a test forbids.
static json_t *model_json(const struct hub_published *p, bool is_key, struct error *err)
{
	struct arena a = { 0 };
	struct checkpoint c;
	struct spec *spec;
	struct weight *weights;
	size_t count;
	uint64_t parameters = 0;
	json_t *out = NULL;

	if (checkpoint_open_config(&c, p->name, p->config, p->config_size, err) != STATUS_OK)
		return NULL;
	if (arch_resolve(&spec, &a, &c, err) == STATUS_OK &&
		arch_plan_weights(spec, &a, DTYPE_F32, &weights, &count, err) == STATUS_OK) {
		const struct hub_provenance from = hub_provenance(&a, p->name);

		for (size_t i = 0; i < count; i++)
			parameters += weights[i].nbytes / dtype_size(weights[i].dtype);
		out = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:b}", "name", p->name, "type", arch_model_type(spec),
			"architecture", arch_architecture(spec), "head", arch_head(spec), "parameters", (json_int_t)parameters,
			"bytes", (json_int_t)synth_nbytes(spec, DTYPE_NONE), "licence", from.licence, "source", from.source,
			"key", (int)is_key);
	}
	arena_done(&a);
	checkpoint_close(&c);
	return out;
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static void print_text(const json_t *all, struct arena *a)
{
	const json_t *o;
	size_t i;

	emit("%-46s%-12s%-41s%11s%11s  %-26s%s\n", "name", "type", "architecture, head", "parameters", "weights", "licence",
		"from");
	json_array_foreach(all, i, o) emit("%-46s%-12s%-41s%9.1f M%11s  %-26s%s%s\n", text_of(o, "name"), text_of(o, "type"),
		arena_printf(a, "%s, %s", text_of(o, "architecture"), text_of(o, "head")),
		(double)json_integer_value(json_object_get(o, "parameters")) / 1e6,
		show_size(a, (uint64_t)json_integer_value(json_object_get(o, "bytes"))), text_of(o, "licence"),
		text_of(o, "source"), json_is_true(json_object_get(o, "key")) ? ", key set" : "");
}

static int run(int argc, char **argv)
{
	const char *type = NULL;
	bool json = false;
	const struct cli_option options[] = {
		{ "type", CLI_TEXT, &type, "TYPE", "only those of this model type" },
		{ "json", CLI_FLAG, &json, NULL, "an array on standard output, one object a model" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay models [--type TYPE] [--json]",
		.text = "The models whose configuration the program carries: `assay run NAME --synthetic` needs no network and "
			"no\n"
			"weights. Any other model needs a folder with its config.json, alone or with weights. Behind each name:\n"
			"type, parameters, the size of its weights as published, the licence that its card names for them (none "
			"of\n"
			"them is here), and where the configuration is from: file, its config.json; sizes, its published sizes,\n"
			"and else the defaults of its class. The key set is what `assay matrix --key` runs.\n\n"
			"  assay models --type llama\n\n"
			"Exit codes: 0 listed; 1 bad use, or no model is of that type.\n",
		.options = options,
	};
	struct arena a = { 0 };
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);
	const size_t key_count = hub_key_count();
	json_t *all;

	if (code >= 0)
		return code;
	all = json_array();
	code = EXIT_GOOD;
	for (size_t i = 0; i < hub_published_count() && code == EXIT_GOOD; i++) {
		json_t *o = model_json(hub_published_get(i), i < key_count, &err);

		if (!o)
			code = cli_error(&err);
		else if (!type || text_is(text_of(o, "type"), type))
			json_array_append(all, o);
		json_decref(o);
	}
	if (code == EXIT_GOOD && !json_array_size(all))
		code = cli_bad_use(
			"--type %s: the program carries no model of this type; `assay types` lists what it builds", type);
	else if (code == EXIT_GOOD && json)
		show_json(all);
	else if (code == EXIT_GOOD)
		print_text(all, &a);
	json_decref(all);
	arena_done(&a);
	return code;
}

const struct command command_models = { "models", "the models whose configuration the program carries", run };
