// SPDX-License-Identifier: Apache-2.0
// The largest rate that something reaches: windows of it are repeated until the best one no longer rises. One window is what a
// machine did in those milliseconds: right after a pause its clock is still low, and beside other processes it has fewer CPUs.
#ifndef ASSAY_CELL_PEAK_H
#define ASSAY_CELL_PEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	PEAK_QUIET = 5, // windows in a row that do not raise the best one: then it has settled
	PEAK_WINDOWS_MOST = 40,
};
#define PEAK_RISE 1.01 // what is less is no rise

struct peak {
	double best, lowest; // rate of the best window, and of the lowest after the first one, which warms up; NaN: none
	size_t windows;      // the first one too
	bool settled;        // PEAK_QUIET windows did not raise it; else a limit ended it, and it may be higher
};

struct peak_source {
	void *context;
	enum status (*window)(void *context, double *rate, struct error *err);
	int64_t (*now)(void *context); // ns
};
// At least two windows. limit_ns: none is begun after so long; 0: only PEAK_WINDOWS_MOST limits. An error of a window is the
// answer.
enum status peak_find(const struct peak_source *s, int64_t limit_ns, struct peak *out, struct error *err);

#endif
