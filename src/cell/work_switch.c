// SPDX-License-Identifier: Apache-2.0
// --switch: a process that has the model on one platform moves it to another. The row is of the second; of the first it has what
// leaving cost, and whether the outputs are the same.
#include "cell/work.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "backend/compiled.h"
#include "base/clock.h"
#include "cell/say.h"

// Of the platform before, once in a process.
static struct {
	struct work work;
	struct tensor *out; // copies; order of its session's outputs
	size_t out_count;
	double release_ms, left_kib;
} before;

// The kernel's high-water mark of the resident set begins anew, so that the row's is of the platform that it is about.
static void forget_peak(void)
{
	const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "5", 1);
	close(fd);
}

static enum status keep_outputs(struct error *err)
{
	struct work *w = &before.work;
	const size_t count = w->part->session.output_count;

	before.out = ARENA_ARRAY(&w->arena, count + 1, struct tensor);
	for (size_t i = 0; i < count; i++) {
		before.out[i] = w->out[i];
		before.out[i].name = arena_strdup(&w->arena, w->out[i].name); // the session's own goes with it
		if (!(before.out[i].data = arena_try(&w->arena, w->out[i].nbytes)))
			return error_set(err, STATUS_NO_MEMORY, "not enough memory to keep its outputs");
		memcpy(before.out[i].data, w->out[i].data, w->out[i].nbytes);
	}
	before.out_count = count;
	return STATUS_OK;
}

static enum status run_before(const struct work *after, struct error *err)
{
	struct work *w = &before.work;
	struct target t;
	enum status st = platform_target(&t, &w->arena, after->ask.switched_from, err);

	if (st)
		return st;
	w->part_count = 1;
	w->ask = after->ask;
	w->ask.platform = t.platform->name;
	w->ask.device = t.device;
	w->ask.options = t.options;
	if ((st = work_set_up(w, err)) || (st = work_open_engine(w, err)) || (st = work_open(w, err)))
		return st;
	if (work_compiles_only(w))
		return error_set(err, STATUS_UNAVAILABLE, "a graph is only compiled for this device, and nothing runs");
	w->is_quick = true; // one run
	if ((st = work_first(w, err)))
		return st;
	return keep_outputs(err);
}

enum status work_leave(struct work *w, struct error *err)
{
	struct error why = { 0 };

	if (!w->ask.switched_from)
		return STATUS_OK;
	say_phase("switch");
	say_nothing(true);
	const long long anonymous = memory_anonymous_kib();
	const enum status st = run_before(w, &why);
	const double begin = clock_ms(), aside = compiled_aside_ms();
	for (size_t i = 0; i < before.work.part_count; i++)
		session_close(&before.work.part[i].session);
	before.release_ms = clock_ms() - begin - (compiled_aside_ms() - aside);
	before.left_kib = (double)(memory_anonymous_kib() - anonymous);
	forget_peak();
	say_nothing(false);
	return st ? error_set(err, STATUS_NOT_ASKED, "on %s, from which it was to be switched: %s: %s", w->ask.switched_from,
			    status_word(st), why.text)
		  : STATUS_OK;
}

void work_arrive(const struct work *w)
{
	if (w->ask.switched_from)
		say_row(json_pack("{s:f, s:f, s:f}", "switch_ms", before.release_ms + w->load_ms + w->first_ms,
			"switch_release_ms", before.release_ms, "switch_left_mib", before.left_kib / 1024));
}

static bool is_alike(const struct tensor *x, const struct tensor *y)
{
	return text_is(x->name, y->name) && x->dtype == DTYPE_F32 && y->dtype == DTYPE_F32 && x->rank == y->rank &&
		!memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim);
}

// NaN here or there is a difference that no number is: infinite.
static double most_apart(const struct tensor *x, const struct tensor *y)
{
	const float *p = x->data, *q = y->data;
	double most = 0;

	for (size_t i = 0; i < x->nbytes / sizeof *p; i++) {
		const double apart = fabs((double)p[i] - (double)q[i]);

		if (!(apart <= most) && memcmp(&p[i], &q[i], sizeof *p) != 0)
			most = isnan(apart) ? (double)INFINITY : apart;
	}
	return most;
}

// A device that is emulated is given fewer tokens.
static const char *why_other_inputs(struct work *w)
{
	const long long there = before.work.shape.sequence, here = w->shape.sequence;

	return there == here
		? "its inputs are others than those there"
		: arena_printf(&w->arena, "%lld tokens here and %lld there: --seq asks both for one length", here, there);
}

void work_compare(struct work *w)
{
	const struct session *s = &w->part->session;
	const bool same = text_is(w->inputs_hash, before.work.inputs_hash);
	double most = (double)NAN;

	if (!w->ask.switched_from)
		return;
	for (size_t i = 0; same && i < before.out_count; i++)
		for (size_t k = 0; k < s->output_count; k++)
			if (is_alike(&before.out[i], &w->out[k])) {
				const double apart = most_apart(&before.out[i], &w->out[k]);

				most = most >= apart ? most : apart;
			}
	if (isfinite(most))
		say_row(json_pack("{s:f}", "switch_max_difference", most));
	else
		say_row(json_pack("{s:s}", "switch_not_compared",
			!same                 ? why_other_inputs(w)
				: isnan(most) ? "no output in float32 has a name and a shape of one there"
					      : "an output has values that are no numbers, here or there"));
}
