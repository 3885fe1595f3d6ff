// SPDX-License-Identifier: Apache-2.0
// fallback.h: which try comes next, its target, its batch and the sentence that says why. Runs nothing, prints nothing.
#include "plan/fallback.h"

#include <math.h>
#include <string.h>

#include "run/reference.h"
#include "question/standing.h"

static void set_key(struct fallback *f)
{
	struct cell c;

	plan_cell(&c, f->model, &f->target, &f->now);
	plan_try_cell(&c, &f->attempt);
	f->attempt.key = plan_try_key(f->model, &c, &f->attempt, f->arena);
	if (f->attempt.number == 1)
		f->attempt.first_key = f->attempt.key;
}

void fallback_begin(struct fallback *f, struct arena *a, const struct plan_model *m, const struct target *t,
	const struct question *q, const json_t *platforms)
{
	*f = (struct fallback){ .arena = a,
		.model = m,
		.asked = t,
		.question = q,
		.platforms = platforms,
		.target = *t,
		.now = *q,
		.attempt = { .requested = t->platform->name, .number = 1, .fallback_of = ROW_NONE } };
	set_key(f);
}

// The engine was there and the graph was not: assay could not build, shape or place it, and could not elsewhere. With fixed
// shapes, as this platform wants them, nothing can be generated, and others take shapes as they come.
static bool is_refused(const struct fallback *f, enum verdict v, const struct row *r)
{
	const bool is_of_form = f->question->new_tokens > 0 && f->target.platform->forms[0].is_static;

	return f->model->refused ||
		((v == VERDICT_UNSUPPORTED || v == VERDICT_FAILED) && r->engine && isnan(r->build_ms) && !is_of_form);
}

static bool gave_nothing(enum verdict v)
{
	switch (v) {
	case VERDICT_UNAVAILABLE:
	case VERDICT_UNSUPPORTED:
	case VERDICT_NO_MEMORY:
	case VERDICT_TIMEOUT:
	case VERDICT_CRASHED:
	case VERDICT_FAILED:
	case VERDICT_FELL_BACK:
	case VERDICT_NOT_ASKED:
		return true;
	case VERDICT_RIGHT:
	case VERDICT_WRONG:
	case VERDICT_LOSSY:
	case VERDICT_UNJUDGED:
	case VERDICT_COMPILES:
	case VERDICT_INTERRUPTED:
	case VERDICT_COUNT:
		break;
	}
	return false;
}

static const char *reason_of(const struct fallback *f, enum verdict v, const struct row *r)
{
	return arena_printf(f->arena, "%s: %s", verdict_word(v), r->cause ? r->cause : verdict_sentence(v));
}

// Golden inputs have the batch that they have.
static bool can_halve(const struct fallback *f, enum verdict v)
{
	struct cell c;

	plan_cell(&c, f->model, &f->target, &f->now);
	return v == VERDICT_NO_MEMORY && c.batch > 1 && !reference_golden(&c, f->arena);
}

// The user's options go along where the other engine knows them. Which they are: what the asked target has over its route's own.
static enum status next_platform(struct fallback *f, const char **left_out, struct error *err)
{
	const char *name = f->asked->platform->fallback[f->next++], *theirs = f->asked->user_options;
	enum status st = platform_target(&f->target, f->arena, name, err);

	if (st != STATUS_OK)
		return st;
	if (f->platforms)
		plan_choose(&f->target, 1, f->platforms, f->arena);
	if (!theirs || !*theirs)
		return STATUS_OK;
	const struct route *r = f->target.route;
	if (backend_check_options(route_backend(r), route_provider(r), theirs, NULL) == STATUS_OK)
		f->target.options = f->target.options && *f->target.options
			? arena_printf(f->arena, "%s,%s", f->target.options, theirs)
			: theirs;
	else
		*left_out = arena_printf(f->arena, "; without the options %s, which its engine does not take", theirs);
	f->target.user_options = theirs;
	return STATUS_OK;
}

enum status fallback_next(struct fallback *f, enum verdict v, const struct row *r, bool *more, struct error *err)
{
	size_t most = sizeof f->asked->platform->fallback / sizeof *f->asked->platform->fallback;
	const char *also = "";

	*more = false;
	if (!gave_nothing(v) || is_refused(f, v, r))
		return STATUS_OK;
	const char *reason = reason_of(f, v, r);
	if (can_halve(f, v)) {
		f->now.batch /= 2;
		also = arena_printf(f->arena, "; half the batch: %lld", (long long)f->now.batch);
	} else {
		if (f->next == most || !f->asked->platform->fallback[f->next])
			return STATUS_OK;
		int64_t last = f->now.batch;
		f->now = *f->question;
		enum status st = next_platform(f, &also, err);
		if (st != STATUS_OK)
			return st;
		if (last != f->now.batch)
			also = arena_printf(
				f->arena, "%s; with the batch that was asked for: %lld", also, (long long)f->now.batch);
	}
	f->attempt.number++;
	f->attempt.reason = arena_printf(f->arena, "%s%s", reason, also);
	set_key(f);
	*more = true;
	return STATUS_OK;
}

// "1.40x the time of cuda's row 17". Two rows are two processes: the ratio is told, and no claim which platform is faster.
static const char *cost(struct arena *a, const struct row *r)
{
	double x = r->fallback_factor;

	if (isnan(x) || !(x > 0))
		return "";
	const char *against = r->fallback_against != ROW_NONE ? arena_printf(a, " row %lld", (long long)r->fallback_against) : "";
	return arena_printf(a, ", %.2fx the time of %s's%s (one process each: no claim)", x, r->requested, against);
}

const char *fallback_line(struct arena *a, const char *platform, enum verdict v, const struct row *r)
{
	const char *batch = text_is(platform, r->requested) && r->attempt > 1
		? arena_printf(a, " with a batch of %lld", (long long)r->batch)
		: "";
	const char *out = text_is(platform, r->requested)
		? arena_printf(a, "%s%s: %s", platform, batch, verdict_word(v))
		: arena_printf(a, "%s instead of %s: %s", platform, r->requested, verdict_word(v));

	if (!isnan(r->latency_ms) && v != VERDICT_WRONG && v != VERDICT_FELL_BACK)
		out = arena_printf(a, "%s, %.*f ms%s", out,
			r->latency_ms < 1            ? 3
				: r->latency_ms < 10 ? 2
						     : 1,
			r->latency_ms, cost(a, r));
	else if (r->cause)
		out = arena_printf(a, "%s: %s", out, r->cause);
	if (r->actual && !text_is(r->actual, platform))
		out = arena_printf(a, "%s; it ran on %s", out, r->actual);
	const char *qualifiers = row_qualifiers(a, r, QUALIFY_ALL & ~QUALIFY_DEVICE);
	const char *device = text_is(r->engine, "null") && !text_is(platform, "null")
		? "the null engine stood in: nothing was computed"
		: row_qualifiers(a, r, QUALIFY_DEVICE);
	if (qualifiers || device)
		out = arena_printf(a, "%s (%s%s%s)", out, qualifiers ? qualifiers : "", qualifiers && device ? ", " : "",
			device ? device : "");
	return out;
}
