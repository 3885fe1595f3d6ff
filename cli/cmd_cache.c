// SPDX-License-Identifier: Apache-2.0
// assay cache: what lies in the cache, and taking away what was not used for longest.
#include <stdio.h>

#include <jansson.h>

#include "plan/plan.h"
#include "artifact/artifact.h"
#include "base/cache.h"
#include "base/claim.h"
#include "base/file.h"
#include "command.h"
#include "emit.h"
#include "cell/scratch.h"
#include "show.h"

static void print_usage(const struct cache_usage *u, const char *folder, const char *problem, uint64_t limit, struct arena *a)
{
	emit("%s\n", folder);
	if (problem)
		emit("  problem      %s\n", problem);
	emit("  graphs       %s in %zu; hard links to weights count nothing\n", show_size(a, u->artifact_bytes), u->artifacts);
	emit("  synthetic    %s in %zu; this and the next six are kept up to %s together\n", show_size(a, u->synthetic_bytes),
		u->synthetics, show_size(a, limit));
	emit("  converted    %s in %zu; weights in another precision\n", show_size(a, u->converted_bytes), u->converted);
	emit("  copied       %s in %zu; weights that cannot be linked to: on another file system, of another user\n",
		show_size(a, u->copied_bytes), u->copied);
	emit("  references   %s in %zu; outputs to compare with, ranges of activations\n", show_size(a, u->reference_bytes),
		u->references);
	emit("  compiled     %s in %zu; what vendors' compilers made of graphs\n", show_size(a, u->compiled_bytes), u->compiled);
	emit("  cases        %s in %zu; of conformance, with their weights\n", show_size(a, u->conform_bytes), u->cases);
	emit("  digests      %s in %zu; of files of 1 MiB and more, so that they are hashed once\n",
		show_size(a, u->digest_bytes), u->digests);
	emit("  claims       %s in %zu; of programs that use the cache, or have ended since\n", show_size(a, u->claim_bytes),
		u->claims);
	emit("  other        %s\n", show_size(a, u->other_bytes));
	if (u->dead_links)
		emit("  dead links   %zu: weights whose original is gone from the Hub's cache live on only here\n",
			u->dead_links);
}

static json_t *usage_json(const struct cache_usage *u, const char *folder, const char *problem, uint64_t limit)
{
	return json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:I}",
		"folder", folder, "problem", problem, "limit_bytes", (json_int_t)limit, "artifact_bytes",
		(json_int_t)u->artifact_bytes, "artifacts", (json_int_t)u->artifacts, "synthetic_bytes",
		(json_int_t)u->synthetic_bytes, "synthetics", (json_int_t)u->synthetics, "converted_bytes",
		(json_int_t)u->converted_bytes, "converted", (json_int_t)u->converted, "copied_bytes",
		(json_int_t)u->copied_bytes, "copied", (json_int_t)u->copied, "reference_bytes", (json_int_t)u->reference_bytes,
		"references", (json_int_t)u->references, "compiled_bytes", (json_int_t)u->compiled_bytes, "compiled",
		(json_int_t)u->compiled, "conform_bytes", (json_int_t)u->conform_bytes, "cases", (json_int_t)u->cases,
		"digest_bytes", (json_int_t)u->digest_bytes, "digests", (json_int_t)u->digests, "claim_bytes",
		(json_int_t)u->claim_bytes, "claims", (json_int_t)u->claims, "other_bytes", (json_int_t)u->other_bytes,
		"dead_links", (json_int_t)u->dead_links);
}

static int cache(bool verify, bool trim, bool clear, bool json, uint64_t limit, struct arena *a)
{
	const char *folder = cache_dir(a), *problem;
	struct cache_usage usage;
	struct error err = { 0 }, unused = { 0 };
	struct text report = { 0 };
	uint64_t removed = 0;
	size_t bad = 0;

	if ((trim && cache_trim(limit, &removed, &err) != STATUS_OK) || (clear && cache_clear(&removed, &err) != STATUS_OK))
		return cli_error(&err);
	trim = trim || clear;
	if (trim)
		scratch_sweep();
	problem = cache_check(&unused) ? unused.text : file_is_dir(folder) ? claim_problem() : NULL;
	if (verify && cache_verify(&report, &bad, &err) != STATUS_OK)
		return cli_error(&err);
	if (cache_usage(&usage, &err) != STATUS_OK)
		return cli_error(&err);
	if (json) {
		json_t *out = usage_json(&usage, folder, problem, limit);
		if (trim)
			json_object_set_new(out, "removed_bytes", json_integer((json_int_t)removed));
		if (verify) {
			json_object_set_new(out, "bad", json_integer((json_int_t)bad));
			json_object_set_new(out, "verify", json_string(text_get(&report)));
		}
		show_json(out);
		json_decref(out);
	} else {
		print_usage(&usage, folder, problem, limit, a);
		if (trim)
			emit("  removed      %s\n", show_size(a, removed));
		if (verify) {
			emit_lines(text_get(&report));
			emit("%zu do not match\n", bad);
		}
	}
	text_done(&report);
	return bad ? EXIT_VERDICT : EXIT_GOOD;
}

static int run(int argc, char **argv)
{
	bool verify = false, trim = false, clear = false, json = false;
	double limit = -1;
	const struct cli_option options[] = {
		{ "verify", CLI_FLAG, &verify, NULL, "hash the files whose SHA-256 is known and say which do not match" },
		{ "trim", CLI_FLAG, &trim, NULL, "remove what was used least recently and is not in use, down to the limit" },
		{ "clear", CLI_FLAG, &clear, NULL, "remove everything, graphs too; refused while another assay uses the cache" },
		{ "cache-limit", CLI_REAL, &limit, "GIB", "of all that assay makes but graphs; default 20 or $ASSAY_CACHE_LIMIT",
			0, 1e6 },
		{ "json", CLI_FLAG, &json, NULL, "an object on standard output" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay cache [--verify] [--trim] [--clear] [--cache-limit GIB] [--json]",
		.text = "The cache is $ASSAY_CACHE, else $XDG_CACHE_HOME/assay, else ~/.cache/assay. It holds graphs (weights\n"
			"are linked, not copied), synthetic and converted weights, reference outputs, what vendors' compilers "
			"made\n"
			"of graphs, conformance cases, digests; all of it may be deleted at any time. Sizes are real disk\n"
			"use. It is used only where\n"
			"nobody but you and root could have put something into it: the folder and those in it belong to one of\n"
			"you, nobody else may write into them, and those in it are no links.\n\n"
			"Exit codes: 0 good; 1 bad use or an error of assay's own; 2 --verify found files that do not match.\n",
		.options = options,
	};
	struct arena arena = { 0 };
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (clear && (trim || limit >= 0))
		return cli_bad_use("--clear leaves nothing: --trim and --cache-limit do not go with it");
	if (plan_check_cache_limit(&err))
		return cli_error(&err);
	code = cache(verify, trim, clear, json, limit >= 0 ? (uint64_t)(limit * 1073741824.0) : plan_cache_limit(), &arena);
	arena_done(&arena);
	return code;
}

const struct command command_cache = { "cache", "show, check and trim what assay keeps on disk", run };
