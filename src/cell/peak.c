// SPDX-License-Identifier: Apache-2.0
#include "cell/peak.h"

#include <math.h>

enum status peak_find(const struct peak_source *s, int64_t limit_ns, struct peak *out, struct error *err)
{
	const int64_t begin = s->now(s->context);
	size_t quiet = 0;

	*out = (struct peak){ .best = (double)NAN, .lowest = (double)NAN };
	while (!out->settled && out->windows < PEAK_WINDOWS_MOST) {
		double rate, before = out->best;

		if (limit_ns > 0 && out->windows >= 2 && s->now(s->context) - begin >= limit_ns)
			break;
		enum status st = s->window(s->context, &rate, err);
		if (st)
			return st;
		if (out->windows++)
			out->lowest = fmin(out->lowest, rate); // fmin takes the other one when one is NaN
		out->best = fmax(out->best, rate);
		quiet = rate > before * PEAK_RISE || isnan(before) ? 0 : quiet + 1;
		out->settled = quiet == PEAK_QUIET;
	}
	return STATUS_OK;
}
