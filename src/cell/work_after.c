// SPDX-License-Identifier: Apache-2.0
// What a cell's child does when its answer is out: the first run of another shape, and opening, running and closing again for the
// leak slope. Neither can harm the answer: an engine that refuses or dies here leaves a null. Both come after the sample, so
// that they warm nothing that is timed and add nothing to the peak of memory.
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cell/say.h"
#include "cell/work.h"
#include "cell/predict.h"
#include "stats/stats.h"

// ---- another shape ------------------------------------------------------------------------------------------------------

// Is a dimension of an input open for which the shape decides?
static bool is_open_for(const struct work *w, bool batch)
{
	for (size_t i = 0; i < w->part->session.input_count; i++) {
		const struct tensor_type *t = &w->part->session.inputs[i];

		if (batch && t->rank > 0 && t->dim[0] < 0)
			return true;
		if (!batch && t->rank == 2 && text_ends(t->name, "ids") && t->dim[1] < 0)
			return true;
	}
	return false;
}

// What the runs of the usual shape took stays with the engine, and comes on top: a batch of 2 beside one of 1 (llava's shape, 188
// million weights in int4) 758 MiB in place of 377.
static bool fits_beside(struct work *w, const struct input_shape *other)
{
	struct prediction p;
	struct machine m;
	const long long kib = memory_anonymous_kib();
	enum status st = predict_cell(&p, w->spec, &w->checkpoint, &w->target, &w->precise, other, false, NULL);

	if (st || kib < 0)
		return false;
	p.anonymous_bytes = (uint64_t)kib * 1024 + p.run_bytes;
	p.required_bytes = p.run_bytes;
	machine_detect(&m, &w->arena);
	return predict_fits(&p, &m, w->ask.memory_bytes, NULL) == STATUS_OK;
}

// Half the sequence, a batch that is one smaller; a larger batch only of a model whose memory can be predicted.
static bool other_shape(struct work *w, struct input_shape *other)
{
	*other = w->shape;
	if (w->shaped_by_sequence && is_open_for(w, false) && !w->hints.image_tokens && w->shape.sequence > 1)
		return other->sequence /= 2, true;
	if (!is_open_for(w, true))
		return false;
	if (w->shape.batch > 1)
		return other->batch--, true;
	other->batch = 2;
	return w->spec && !w->built_form.is_static && fits_beside(w, other);
}

void work_new_shape(struct work *w)
{
	const struct tensor_type *types = w->part->artifact.inputs ? w->part->artifact.inputs : w->part->session.inputs;
	size_t count = w->part->artifact.inputs ? w->part->artifact.input_count : w->part->session.input_count;
	struct tensor *built = ARENA_ARRAY(&w->arena, count + 1, struct tensor),
		      *in = ARENA_ARRAY(&w->arena, w->part->session.input_count + 1, struct tensor);
	struct input_shape shape;
	struct error err = { 0 };

	// A user's inputs come from a file: others would have to be made up beside them.
	if (w->is_quick || w->ask.golden || w->shapes_decided || w->asked_of_inputs.input_count || w->built_form.is_static ||
		!other_shape(w, &shape) ||
		inputs_synthetic(&w->arena, types, count, &w->hints, &shape, (uint64_t)w->ask.seed, built, &err))
		return;
	for (size_t i = 0; i < w->part->session.input_count; i++)
		for (size_t k = 0; k < count; k++)
			if (text_is(built[k].name, w->part->session.inputs[i].name))
				in[i] = built[k];
	say_phase("shape");
	int64_t before = clock_ns();
	if (session_run(&w->part->session, in, w->part->session.input_count, w->out, w->part->session.output_count, &err))
		return;
	int64_t ns = (w->backend->caps & BACKEND_TIMES_ITSELF) || w->part->session.run_ns > 0 ? w->part->session.run_ns
											      : clock_ns() - before;
	say_row(json_pack("{s:f}", "new_shape_ms", (double)ns / 1e6));
}

// ---- cycles -------------------------------------------------------------------------------------------------------------

// Of a sanitizer that is linked in: what was freed is kept apart by it for a while.
extern void __sanitizer_purge_allocator(void) __attribute__((weak));

// Of this process and of those that the engine runs in beside it. What the allocator only keeps for later is given back before.
static double anonymous_mib(void)
{
	int64_t pss, beside;
	long long kib;

	malloc_trim(0);
	if (__sanitizer_purge_allocator)
		__sanitizer_purge_allocator();
	kib = memory_anonymous_kib();
	return kib < 0 ? (double)NAN : ((double)kib + (backend_memory(&pss, &beside) ? (double)beside : 0)) / 1024;
}

static enum status cycle(struct work *w, struct error *err)
{
	struct part *p = w->part;
	enum status st = session_open(&p->session, w->backend, w->provider, w->target.device, w->ask.options, &p->artifact, err);

	if (!st)
		st = session_run(&p->session, w->in, p->session.input_count, w->out, p->session.output_count, err);
	session_close(&p->session);
	return st;
}

// The first close, of the session that was measured, is no value: it gives back more than a cycle takes.
void work_cycles(struct work *w)
{
	size_t cycles = (size_t)w->ask.cycles, count = 0;
	double *mib = ARENA_ARRAY(&w->arena, cycles + 1, double), slope, low, high;
	struct error err = { 0 };
	enum status st = STATUS_OK;

	if (!cycles || w->is_quick)
		return;
	say_phase("cycles");
	session_close(&w->part->session);
	while (count < cycles && !(st = cycle(w, &err)))
		mib[count++] = anonymous_mib();
	if (st) {
		say_notice(arena_printf(&w->arena, "cycle %zu of opening, running and closing: %s", count + 1, err.text));
		return;
	}
	if (!isnan(mib[0]) && stats_slope(mib, count, &slope, &low, &high))
		say_row(json_pack("{s:f, s:f, s:f}", "leak_mib_per_cycle", slope, "leak_low_mib", low, "leak_high_mib", high));
}
