// SPDX-License-Identifier: Apache-2.0
// assay doctor: each platform examined from its libraries to a run that is judged, and the remedy of what is wrong.
#include <stdio.h>

#include "analysis/prove.h"
#include "base/text.h"
#include "run/cell.h"
#include "command.h"
#include "emit.h"
#include "progress.h"
#include "show.h"

struct doctor {
	struct arena arena;
	double timeout_s;
	bool json;
	json_t *out; // array of platforms
	size_t asked, working;
};

static void print_checks(const struct checkup *c)
{
	for (size_t i = 0; i < c->count; i++)
		emit("  %-4s  %-11s  %s\n", c->check[i].state == CHECK_NONE ? "-" : check_word(c->check[i].state),
			c->check[i].name, c->check[i].text);
}

static json_t *checks_json(const struct checkup *c)
{
	json_t *out = json_array();

	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(out,
			json_pack("{s:s, s:s, s:s, s:s?}", "check", c->check[i].name, "state", check_word(c->check[i].state),
				"text", c->check[i].text, "fix", c->check[i].fix));
	return out;
}

static void examine(struct doctor *d, struct checkup *c, const struct target *t)
{
	const struct cell_watch watch = { .stop = &cli_stop };

	progress_line("%s: looking at libraries and devices", t->platform->name);
	doctor_route(c, &d->arena, t, "");
	progress_line("%s: running a small model", t->platform->name);
	prove_route(c, t, d->timeout_s, &watch);
	progress_clear();
}

// null: it could not be asked.
static json_t *works_json(bool works, bool unasked)
{
	return !works && unasked ? json_null() : json_boolean(works);
}

// Routes in their order until one works; a device in the text chooses its route.
static void examine_platform(struct doctor *d, const struct target *asked)
{
	const struct platform *p = asked->platform;
	const char *fix = NULL, *served = NULL, *device = asked->chosen ? asked->device : NULL;
	json_t *routes = json_array();
	bool many = !asked->chosen && p->routes[1].engine, unasked = false;

	if (!d->json && d->asked)
		emit("\n"); // in the format: an argument's line ends are shown as escapes
	if (!d->json)
		emit("%s%s%s: %s\n", p->name, device ? ":" : "", device ? device : "", p->summary);
	d->asked++;
	for (const struct route *r = asked->chosen ? asked->route : p->routes; r->engine && !served && !cli_stop; r++) {
		struct target t = *asked;
		struct checkup c;
		if (!asked->chosen) {
			t.route = r;
			t.device = r->device;
			t.options = r == asked->route ? asked->options : r->options;
		}
		if (many && !d->json)
			emit(" by %s (%s):\n", r->engine, r->device);
		examine(d, &c, &t);
		if (!d->json)
			print_checks(&c);
		json_array_append_new(routes,
			json_pack("{s:s, s:s, s:s?, s:o, s:s?, s:o}", "engine", r->engine, "provider", r->provider, "device",
				t.device, "works", works_json(c.works, c.unasked), "fix", c.works ? NULL : checkup_fix(&c),
				"checks", checks_json(&c)));
		if (c.works)
			served = t.device ? t.device : r->device;
		else if (!fix)
			fix = checkup_fix(&c);
		unasked |= c.unasked;
		if (asked->chosen)
			break;
	}
	if (!served && cli_stop) { // nothing is known of what did not end
		if (!d->json)
			emit("  => interrupted: whether %s works is not known\n", p->name);
		json_decref(routes);
		return;
	}
	d->working += served != NULL;
	if (!d->json && served)
		emit("  => %s%s%s works%s%s\n", p->name, device ? ":" : "", device ? device : "", many ? ", by " : "",
			many ? served : "");
	else if (!d->json && unasked)
		emit("  => whether %s%s%s works is not known: it could not be asked%s%s\n", p->name, device ? ":" : "",
			device ? device : "", fix ? "; " : "", fix ? fix : "");
	else if (!d->json)
		emit("  => %s%s%s does not work%s%s\n", p->name, device ? ":" : "", device ? device : "", fix ? "; " : "",
			fix ? fix : "");
	json_array_append_new(d->out,
		json_pack("{s:s, s:s?, s:o, s:s?, s:o}", "name", p->name, "device", served, "works",
			works_json(served != NULL, unasked), "fix", served ? NULL : fix, "routes", routes));
}

static enum status all_eight(struct doctor *d, struct target **out, size_t *count, struct error *err)
{
	const char **words = ARENA_ARRAY(&d->arena, platform_count(), const char *);
	size_t n = 0;

	for (size_t i = 0; i < platform_count(); i++)
		if (!(platform_get(i)->flags & PLATFORM_EXTRA))
			words[n++] = platform_get(i)->name;
	return plan_targets(out, count, &d->arena, words, n, NULL, err);
}

static int run(int argc, char **argv)
{
	struct doctor d = { .timeout_s = 120, .out = json_array() };
	const struct cli_option options[] = {
		{ "json", CLI_FLAG, &d.json, NULL, "{\"platforms\": [...]} on standard output: every check, and the fix" },
		{ "timeout", CLI_REAL, &d.timeout_s, "S",
			"seconds for loading an engine (at most 60) and for the run that proves it; default 120", 0.1, 1e7 },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay doctor [PLATFORM...] [options]",
		.text = "For each platform (default: all eight): where its engine is looked for, each library and all that it\n"
			"needs in turn, versions, device files and permissions, variables that hide devices, drivers. Then the\n"
			"engine is loaded in a child process and a small model runs on it and is judged: only that counts. The\n"
			"last line of a platform says what to do.\n\n"
			"  assay doctor qnn webgpu\n"
			"  assay doctor openvino:GPU --json\n\n"
			"Exit codes: 0 every asked platform works; 1 bad use or an error of assay's own; 2 some platform does\n"
			"not work.\n",
		.options = options,
		.max_words = -1,
	};
	struct target *targets;
	struct error err = { 0 };
	size_t count;
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code < 0 &&
		(words ? plan_targets(&targets, &count, &d.arena, (const char *const *)argv + 1, (size_t)words, NULL, &err)
		       : all_eight(&d, &targets, &count, &err)))
		code = cli_error(&err);
	if (code < 0)
		code = cli_cache_ready();
	if (code < 0) {
		cli_catch_stop();
		for (size_t i = 0; i < count && !cli_stop; i++) {
			examine_platform(&d, &targets[i]);
			emit_flush();
		}
		if (d.json) {
			json_t *all = json_pack("{s:O}", "platforms", d.out);
			show_json(all);
			json_decref(all);
		}
		code = d.working == count ? EXIT_GOOD : EXIT_VERDICT;
	}
	json_decref(d.out);
	arena_done(&d.arena);
	return code;
}

const struct command command_doctor = { "doctor", "examine platforms: libraries, devices, a run that proves them, and what to do",
	run };
