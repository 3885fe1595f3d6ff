// SPDX-License-Identifier: Apache-2.0
// Energy of the timed runs, by the counters that the machine shows (platform/energy.h): read before the first of them and after
// the last, never between. What the machine takes anyway is measured before anything is loaded, and subtracted. Where a counter
// is missing, or the runs were too short for it, there is no figure, and the row says why.
#include "cell/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cell/say.h"
#include "platform/facts.h"

static const struct timespec idle_time = { 0, 500 * 1000 * 1000 };
// RAPL counts once a millisecond, NVML some twenty times a second: what is shorter is the counter's step and not a figure.
static const double least_s = 0.2;

static const char *driver_of(const struct work *w)
{
	const char *counting = driver_counting(w->target.platform->name);

	return counting ? counting : text_is(w->target.platform->name, "rocm") ? "amdsmi" : NULL;
}

static const char *gpu_of(const struct work *w)
{
	return text_is(w->backend->name, "openvino") && w->target.device && strstr(w->target.device, "GPU") ? "i915 xe" : NULL;
}

// A test brings folders of its own.
static const char *root(void)
{
	const char *given = getenv("ASSAY_SYSFS");

	return given ? given : "";
}

void work_energy_idle(struct work *w)
{
	struct energy *e = &w->energy.counters;

	if (w->energy.is_open || w->ask.reference_name || w->ask.calibrate > 0)
		return;
	if (w->ask.together) {
		say_row(json_pack("{s:s}", "energy_why", "others ran beside it (--together), and a counter is of them all"));
		return;
	}
	w->energy.is_open = true;
	energy_open(e, &w->arena, root(), driver_of(w), gpu_of(w));
	if (!e->count || e->why || work_compiles_only(w))
		return;
	say_phase("idle");
	energy_read(e, &w->energy.idle[0]);
	nanosleep(&idle_time, NULL);
	energy_read(e, &w->energy.idle[1]);
}

void work_energy_begin(struct work *w)
{
	if (w->energy.is_open)
		energy_read(&w->energy.counters, &w->energy.begin);
}

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

void work_energy_end(struct work *w, double samples, double tokens)
{
	struct energy *e = &w->energy.counters;
	struct energy_figures f;
	struct energy_reading end;

	if (!w->energy.is_open)
		return;
	energy_read(e, &end);
	energy_figures(e, w->energy.idle, &w->energy.begin, &end, &f);
	if (e->count && !e->why && f.seconds < least_s)
		f.why = arena_printf(
			&w->arena, "the timed runs took %.3g s, and a counter needs %g s to say something", f.seconds, least_s);
	else if (!f.why && w->tells_only)
		f.why = "the engine only says how long it took";
	if (!f.why && !(samples > 0))
		f.why = "how many samples a run answers is not known";
	if (f.why)
		f.joules = (double)NAN;
	say_row(json_pack("{s:o, s:o, s:o, s:s?, s:s?, s:o}", "energy_j_per_sample", real(f.joules / samples),
		"energy_j_per_token", real(f.joules / tokens), "idle_w", real(f.idle_w), "energy_source", f.source, "energy_why",
		f.why, "energy",
		json_pack("{s:o, s:o, s:o, s:o}", "joules", real(f.joules), "with_idle_j", real(f.total_j), "seconds",
			real(f.seconds), "counters", f.parts)));
	energy_close(e);
	w->energy.is_open = false;
}
