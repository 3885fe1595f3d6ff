// SPDX-License-Identifier: Apache-2.0
// The state that a machine is in while something is timed: what other processes compute, how the clock is governed, whether it is
// held back, how hot it is. Read before and after a cell; a time from a machine that was not calm is not to be trusted, and the
// row says so.
#ifndef ASSAY_PLATFORM_STATE_H
#define ASSAY_PLATFORM_STATE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"

// Counters since boot, and what is so at the moment. NaN, -1 and NULL: cannot be read here.
struct state_sample {
	double at_s;            // monotonic
	int cpus;               // of the machine
	double busy_s, steal_s; // of all CPUs together; steal: the hypervisor gave the time to somebody else
	double own_s;           // this process and its children that have ended
	double load;            // 1 minute
	double pressure;        // percent of the last 10 s in which something waited for a CPU
	double temperature_c;   // the hottest sensor of the processor
	int64_t frequency_khz;  // mean over the CPUs
	int64_t thermal_events; // cores and packages that slowed down because of heat, counted
	int64_t throttled_us;   // by the quota of a control group
	int64_t memory_available_bytes;
	const char *governor; // "powersave", or several words where CPUs differ
};
// `root` goes before every path; `own_s` and `at_s` are always this process'.
void state_read(struct state_sample *out, struct arena *a, const char *root);

// How many CPUs' worth of time others used between two samples; NaN where it cannot be known. Time of children counts as own once
// they ended.
double state_others(const struct state_sample *before, const struct state_sample *after);

struct calm {
	bool asked, calm;
	double waited_s, others; // CPUs that others used in the last look
};
// Looks at half seconds until two in a row are calm (others use less than a twentieth of the machine, at least a tenth of a CPU;
// nothing is held back), or the limit is over, or *stop (may be NULL).
void state_wait(struct calm *out, double limit_s, const volatile sig_atomic_t *stop);

// {"governor", "frequency_khz", "load": [before, after], "other_cpus", "steal_cpus", "pressure_percent", "temperature_c": [b, a],
// "thermal_events", "throttled_ms", "memory_available_bytes", "waited_s", "calm", "disturbed": [sentences]}; unknown ones are
// left out.
json_t *state_json(const struct state_sample *before, const struct state_sample *after, const struct calm *calm);

#endif
