// SPDX-License-Identifier: Apache-2.0
#include "plan/against.h"

#include <math.h>
#include <string.h>

#include "stats/compare.h"

static bool is_time(double ms)
{
	return ms > 0 && !isinf(ms);
}

static enum status claim(struct cell_result *out, struct store *store, struct arena *a, struct error *err)
{
	struct row *r = &out->row;
	struct compare_process *base, *earlier;
	size_t base_count, earlier_count;
	struct comparison c;
	enum status st = store_processes(store, a, r, true, &base, &base_count, err);

	if (!st)
		st = store_processes(store, a, r, false, &earlier, &earlier_count, err);
	if (st)
		return st;
	struct compare_process *own = ARENA_ARRAY(a, earlier_count + 1, struct compare_process), *last = own + earlier_count;

	if (earlier_count)
		memcpy(own, earlier, earlier_count * sizeof *own);
	*last = (struct compare_process){ ARENA_ARRAY(a, out->sample_count + 1, double), 0 };
	for (size_t i = 0; i < out->sample_count; i++)
		if (is_time(out->sample_ms[i]))
			((double *)last->ms)[last->count++] = out->sample_ms[i];
	size_t count = earlier_count + (last->count > 0);

	r->against_float32_claim = compare_word(COMPARE_CANNOT_TELL);
	r->against_float32_why = arena_printf(a, "%zu process%s in float32 and %zu in %s; %d of each are needed", base_count,
		base_count == 1 ? "" : "es", count, r->precision, COMPARE_LEAST);
	if (base_count < COMPARE_LEAST || count < COMPARE_LEAST || compare_unpaired(base, base_count, own, count, 0, &c, NULL))
		return STATUS_OK;
	r->against_float32_claim = compare_word(c.verdict);
	r->against_float32_why =
		arena_printf(a, "%zu processes in float32 and %zu in %s: ratio %.3f, 99 %% interval %.3f to %.3f", base_count,
			count, r->precision, c.ratio, c.low, c.high);
	return STATUS_OK;
}

enum status against_float32(struct cell_result *out, struct store *store, struct arena *a, struct error *err)
{
	struct store_measured last;
	enum status st = store_last_float32(store, a, &out->row, &last, err);

	if (st || last.row == ROW_NONE)
		return st;
	out->row.against_float32 = out->row.latency_ms / last.latency_ms;
	out->row.against_float32_row = last.row;
	return claim(out, store, a, err);
}
