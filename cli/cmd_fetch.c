// SPDX-License-Identifier: Apache-2.0
// assay fetch: a model from the Hub into its cache.
#include <stdio.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/file.h"
#include "command.h"
#include "emit.h"
#include "fetching.h"
#include "hub/hub.h"
#include "progress.h"
#include "show.h"

struct fetch_command {
	struct cli_list include;
	bool all, dry_run, json, offline;
};

static const char *size_words(struct arena *a, int64_t size)
{
	return size < 0 ? "?" : size < 1000 ? arena_printf(a, "%lld B", (long long)size) : show_size(a, (uint64_t)size);
}

static void print_plan(const struct fetch *f, struct arena *a)
{
	emit("%s\n", fetching_words(a, f));
	for (size_t i = 0; i < f->count; i++) {
		const struct fetch_file *file = &f->files[i];
		emit("  %10s  %s%s\n", size_words(a, file->size), file->name,
			file->here              ? "  (here)"
				: file->partial ? arena_printf(a, "  (%s of it here)", show_size(a, file->partial))
						: "");
	}
	uint64_t left = f->total_bytes - f->here_bytes - f->partial_bytes;
	emit("to fetch: %s; %s free under %s\n", show_size(a, left), show_size(a, file_free_bytes(hub_cache_dir(a))),
		hub_cache_dir(a));
	emit_flush();
}

static json_t *to_json(const struct fetch *f, bool dry_run, double seconds)
{
	json_t *files = json_array();
	for (size_t i = 0; i < f->count; i++) {
		const struct fetch_file *file = &f->files[i];
		json_t *size = file->size < 0 ? json_null() : json_integer((json_int_t)file->size);
		const char *state = !file->here ? "absent" : file->checked ? "fetched" : "here";
		json_array_append_new(files,
			json_pack("{s:s, s:o, s:s, s:s?, s:s?, s:s?, s:I}", "name", file->name, "size", size, "state", state,
				"checked", file->checked, "sha256", file->sha256, "git_sha1", file->git, "partial_bytes",
				(json_int_t)file->partial));
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:f, s:o}", "model", f->model, "revision",
		f->revision, "commit", f->commit, "endpoint", f->endpoint, "path", f->folder, "dry_run", dry_run, "listed_files",
		(json_int_t)f->listed, "total_bytes", (json_int_t)f->total_bytes, "here_bytes",
		(json_int_t)(f->here_bytes + f->partial_bytes), "fetched_bytes", (json_int_t)f->fetched_bytes, "seconds", seconds,
		"files", files);
}

// Without a Hub to ask: what is in the cache, when all of it is there.
static int from_cache(const struct fetch_command *c, const char *model, struct arena *a, struct error *err)
{
	struct hub_model hub;
	if (hub_find(&hub, a, model, err) != STATUS_OK)
		return cli_error(err);
	if (hub.kind != HUB_CACHED || !hub_weights_are_whole(hub.path))
		return cli_bad_use("%s: not whole in the Hub's cache, and nothing is fetched offline", model);
	if (c->json) {
		json_t *out = json_pack(
			"{s:s, s:s, s:s, s:b}", "model", hub.name, "commit", hub.revision, "path", hub.path, "offline", 1);
		show_json(out);
		json_decref(out);
	} else {
		emit("%s, commit %.7s: in the cache; offline, so the Hub was not asked\n%s\n", hub.name, hub.revision, hub.path);
	}
	return EXIT_GOOD;
}

static int fetch(const struct fetch_command *c, const char *model, struct fetching *x)
{
	const struct fetch_options options = {
		.want = c->all             ? FETCH_ALL
			: c->include.count ? FETCH_MATCHING
					   : FETCH_MODEL,
		.include = c->include.items,
		.include_count = (size_t)c->include.count,
	};
	struct arena *a = &x->arena;
	struct error err = { 0 };
	const char *name, *revision;
	struct fetch *f;

	if (c->offline || fetch_is_offline())
		return from_cache(c, model, a, &err);
	if (!hub_remote_name(&name, &revision, a, model))
		return cli_bad_use("%s: %s", model,
			file_exists(model)
				? "is here: a file or folder, not a name on the Hub"
				: "cannot be the name of a model on the Hub, which is like ORG/NAME or ORG/NAME@REVISION");
	cli_catch_stop();
	progress_line("asking %s about %s", fetch_endpoint(a), name);
	enum status s = fetch_plan(&f, a, name, revision, &options, fetching_watch(x), &err);
	progress_clear();
	if (s == STATUS_OK && !c->json)
		print_plan(f, a);
	double begin = clock_ms();
	if (s == STATUS_OK && !c->dry_run)
		s = fetching_run(x, f, &err);
	if (s != STATUS_OK) {
		cli_error(&err);
		return s == STATUS_INTERRUPTED ? EXIT_VERDICT : EXIT_USE;
	}
	double seconds = (clock_ms() - begin) / 1e3;
	if (c->json) {
		json_t *out = to_json(f, c->dry_run, seconds);
		show_json(out);
		json_decref(out);
	} else if (!c->dry_run && !f->fetched_bytes) {
		emit("all of it was here\n%s\n", f->folder);
	} else if (!c->dry_run) {
		emit("fetched %s in %s%s\n%s\n", show_size(a, f->fetched_bytes), progress_duration(seconds),
			f->fetched_bytes > 1 << 20 && seconds > 0.01
				? arena_printf(a, ", %s/s", show_size(a, (uint64_t)((double)f->fetched_bytes / seconds)))
				: "",
			f->folder);
	}
	return EXIT_GOOD;
}

static int run(int argc, char **argv)
{
	struct fetch_command c = { 0 };
	const struct cli_option options[] = {
		{ "all", CLI_FLAG, &c.all, NULL, "every file of the repository" },
		{ "include", CLI_LIST, &c.include, "GLOB,...", "only the files whose path matches, * over slashes too" },
		{ "dry-run", CLI_FLAG, &c.dry_run, NULL, "list the files and their sizes, fetch nothing" },
		{ "offline", CLI_FLAG, &c.offline, NULL, "do not ask the Hub, as with HF_HUB_OFFLINE=1: is it in the cache?" },
		{ "json", CLI_FLAG, &c.json, NULL, "an object on standard output" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay fetch MODEL[@REVISION] [--all | --include GLOB,...] [--dry-run] [--offline] [--json]",
		.text = "Brings a model into the Hub's cache, where Python's huggingface_hub finds it too: configurations,\n"
			"tokenizer and one form of the weights (model.safetensors, else its shards, else pytorch_model.bin,\n"
			"else its shards). Sizes come first. Every file is checked against the hash that the Hub lists. What "
			"was\n"
			"broken off is taken up again. `run`, `matrix`, `build`, `inspect` and `synth` fetch on their own what "
			"is\n"
			"not here.\n\n"
			"  assay fetch google-bert/bert-base-uncased --dry-run\n"
			"  assay fetch Qwen/Qwen2-0.5B-Instruct@main --json\n\n"
			"HF_ENDPOINT names another Hub; HF_TOKEN (or the file of `hf auth login`) opens private and gated\n"
			"models and goes to no other host; HF_HUB_CACHE or HF_HOME move the cache.\n\n"
			"Exit codes: 0 everything is here; 1 bad use, a refusal of the Hub, no network, a wrong hash; 2 "
			"stopped.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct fetching x = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (c.all && c.include.count)
		return cli_bad_use("--all and --include do not go together");
	code = fetch(&c, argv[1], &x);
	fetching_done(&x);
	return code;
}

const struct command command_fetch = { "fetch", "bring a model from the Hub into its cache", run };
