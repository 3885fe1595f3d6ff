// SPDX-License-Identifier: Apache-2.0
#include "fetching.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "command.h"
#include "hub/hub.h"
#include "emit.h"
#include "progress.h"
#include "show.h"

static void note(void *context, const char *sentence)
{
	(void)context;
	progress_clear();
	emit_error("assay: %s\n", sentence);
}

// Bytes a second of the last seconds, half of it from before: what a server does at first says little about the rest.
static double rate_now(struct fetching *x, uint64_t fetched, double now)
{
	double seconds = (now - x->mark_ms) / 1e3;
	if (seconds > 2 || (x->rate <= 0 && seconds > 0.2)) {
		double last = (double)(fetched - x->mark_bytes) / seconds;
		x->rate = x->rate > 0 ? (x->rate + last) / 2 : last;
		x->mark_ms = now;
		x->mark_bytes = fetched;
	}
	return x->rate;
}

// A line that is replaced on a terminal; otherwise a line when a file is there, and one every half minute.
static void show(void *context, const struct fetch *f, size_t i, uint64_t done)
{
	struct fetching *x = context;
	const struct fetch_file *file = &f->files[i];
	struct arena a = { 0 };
	double now = clock_ms();
	uint64_t all = done;
	bool terminal = isatty(STDERR_FILENO);

	if (x->file != i) {
		x->file = i;
		x->file_ms = x->line_ms = now;
		x->file_from = done;
	}
	if (terminal ? now - x->shown_ms < 100 : !file->here && now - x->line_ms < 30000)
		goto end;
	x->shown_ms = x->line_ms = now;
	for (size_t k = 0; k < f->count; k++)
		all += k != i && f->files[k].here && f->files[k].size > 0 ? (uint64_t)f->files[k].size : 0;
	double rate = rate_now(x, f->fetched_bytes, now);
	double left_s = rate > 0 && f->total_bytes > all ? (double)(f->total_bytes - all) / rate : 0;
	if (!terminal && file->here) {
		double own_s = (now - x->file_ms) / 1e3;
		uint64_t own = done > x->file_from ? done - x->file_from : 0;
		emit_error("  [%zu/%zu] %s: %s, %s", i + 1, f->count, file->name, show_size(&a, done),
			file->checked ? file->checked : "here");
		if (own > 1 << 20 && own_s > 0.001)
			emit_error(", %s/s", show_size(&a, (uint64_t)((double)own / own_s)));
		emit_error("\n");
	} else if (terminal) {
		progress_line("[%zu/%zu] %s: %s of %s, %s/s, %s left", i + 1, f->count, file->name, show_size(&a, all),
			show_size(&a, f->total_bytes), show_size(&a, (uint64_t)rate), rate > 0 ? progress_duration(left_s) : "?");
	} else {
		emit_error("  [%zu/%zu] %s: %s of %s in all, %s/s, about %s left\n", i + 1, f->count, file->name,
			show_size(&a, all), show_size(&a, f->total_bytes), show_size(&a, (uint64_t)rate),
			rate > 0 ? progress_duration(left_s) : "?");
	}
end:
	arena_done(&a);
}

const struct fetch_watch *fetching_watch(struct fetching *x)
{
	x->watch = (struct fetch_watch){ .context = x, .note = note, .bytes = show, .stop = &cli_stop };
	return &x->watch;
}

const char *fetching_words(struct arena *a, const struct fetch *f)
{
	uint64_t here = f->here_bytes + f->partial_bytes;
	return arena_printf(a, "%s, commit %.7s of %s at %s: %zu of its %zu files, %s%s%s", f->model, f->commit, f->revision,
		f->endpoint, f->count, f->listed, show_size(a, f->total_bytes),
		here ? arena_printf(a, ", %s of it here", show_size(a, here)) : "",
		here && here == f->total_bytes ? ": nothing is to be fetched" : "");
}

enum status fetching_run(struct fetching *x, struct fetch *f, struct error *err)
{
	x->mark_ms = x->line_ms = clock_ms();
	x->mark_bytes = f->fetched_bytes;
	x->rate = x->shown_ms = 0;
	x->file = SIZE_MAX;
	enum status s = fetch_run(f, err);
	progress_clear();
	return s;
}

static int exit_code(enum status s)
{
	return s == STATUS_INTERRUPTED ? EXIT_VERDICT : EXIT_USE;
}

int fetching_add(struct fetching *x, const char *asked, enum fetch_want want, bool *added)
{
	const struct fetch_options options = { .want = want };
	struct error unknown = { 0 }, err = { 0 };
	struct hub_model hub;
	const char *name, *revision;
	struct fetch *f;

	*added = false;
	if (x->offline)
		setenv("HF_HUB_OFFLINE", "1", 1); // for messages, and for programs that are started from here
	bool known = hub_find(&hub, &x->arena, asked, &unknown) == STATUS_OK;
	if (known && (hub.kind == HUB_FOLDER || hub.kind == HUB_ONNX_FILE || want == FETCH_CONFIG))
		return -1;
	if (known && hub.kind == HUB_CACHED && hub_weights_are_whole(hub.path))
		return -1;
	if (fetch_is_offline() || !hub_remote_name(&name, &revision, &x->arena, asked))
		return -1;
	cli_catch_stop();
	progress_line("asking %s about %s", fetch_endpoint(&x->arena), name);
	enum status s = fetch_plan(&f, &x->arena, name, revision, &options, fetching_watch(x), &err);
	progress_clear();
	if (s == STATUS_UNAVAILABLE) {
		emit_error("assay: the Hub cannot be asked: %s; going on with what is here\n", err.text);
		return -1;
	}
	if (s != STATUS_OK) {
		if (known || s == STATUS_INTERRUPTED)
			cli_error(&err);
		else
			cli_bad_use("%s; and %s", unknown.text, err.text);
		return exit_code(s);
	}
	struct fetch **more = ARENA_ARRAY(&x->arena, x->count + 1, struct fetch *);
	if (x->count)
		memcpy(more, x->plans, x->count * sizeof *more);
	more[x->count++] = f;
	x->plans = more;
	*added = true;
	return -1;
}

int fetching_all(struct fetching *x)
{
	struct arena *a = &x->arena;
	struct error err = { 0 };
	uint64_t left = 0, available = file_free_bytes(hub_cache_dir(a));

	for (size_t i = 0; i < x->count; i++) {
		const struct fetch *f = x->plans[i];
		left += f->total_bytes - f->here_bytes - f->partial_bytes;
		emit_error("assay: %s %s\n", x->dry_run ? "would fetch" : "fetching", fetching_words(a, f));
	}
	if (x->count > 1)
		emit_error("assay: %s to fetch in all; %s free under %s\n", show_size(a, left), show_size(a, available),
			hub_cache_dir(a));
	if (left > available)
		return cli_bad_use(
			"no space: %s are to be fetched, and %s are free under %s; free some, let HF_HUB_CACHE name another "
			"disk, or ask for fewer models",
			show_size(a, left), show_size(a, available), hub_cache_dir(a));
	for (size_t i = 0; i < x->count && !x->dry_run; i++) {
		enum status s = fetching_run(x, x->plans[i], &err);
		if (s != STATUS_OK) {
			cli_error(&err);
			return exit_code(s);
		}
	}
	x->count = 0;
	return -1;
}

int fetching_ensure(const char *asked, enum fetch_want want, bool offline)
{
	struct fetching x = { .offline = offline };
	bool added;
	int code = fetching_add(&x, asked, want, &added);
	if (code < 0)
		code = fetching_all(&x);
	fetching_done(&x);
	return code;
}

void fetching_done(struct fetching *x)
{
	arena_done(&x->arena);
	x->count = 0;
}
