// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The rules of warm-up and sample, with runs and a clock that are made up.
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "run/hear.h"
#include "cell/generate_inside.h"
#include "cell/protocol.h"

struct fake {
	int64_t now, look; // ns; what a look at the clock takes
	int64_t (*takes)(size_t run);
	size_t runs, fails_at; // fails_at counts from 1; 0: never
	int64_t told;          // the engine's own clock; -1: it has none
};

static int64_t fake_now(void *context)
{
	struct fake *f = context;

	return f->now += f->look;
}

static enum status fake_run(void *context, int64_t *ns, struct error *err)
{
	struct fake *f = context;

	f->now += f->takes(f->runs++);
	if (f->told >= 0)
		*ns = f->told;
	return f->runs == f->fails_at ? error_set(err, STATUS_FAILED, "failed as asked") : STATUS_OK;
}

static struct protocol_run runner(struct fake *f)
{
	return (struct protocol_run){ .context = f, .now = fake_now, .run = fake_run };
}

static int64_t ms20(size_t run)
{
	(void)run;
	return 20000000;
}

static int64_t us1(size_t run)
{
	(void)run;
	return 1000;
}

static int64_t cold_for_10(size_t run)
{
	return run < 10 ? 40000000 - (int64_t)run * 2000000 : 20000000;
}

static int64_t never_steady(size_t run)
{
	return run / 3 % 2 ? 10000000 : 20000000;
}

static void words(void **state)
{
	static const char *const names[] = { "rapid", "quick", "normal" };
	struct protocol_limits before = { 0 };

	(void)state;
	assert_ptr_equal(effort_find(NULL), effort_find("normal"));
	assert_null(effort_find("slow"));
	assert_null(effort_find(""));
	for (size_t i = 0; i < 3; i++) { // each costs more than the one before
		struct protocol_limits l = protocol_limits(effort_find(names[i]), 0);

		assert_true(l.warm_ns > before.warm_ns && l.sample_ns > before.sample_ns && l.most > before.most &&
			l.least >= before.least);
		assert_true(l.least <= l.most);
		before = l;
	}
	struct protocol_limits l = protocol_limits(effort_find("normal"), 5);
	assert_true(l.least == 5 && l.most == 5 && l.warm_runs == 5);
	l = protocol_limits(effort_find("rapid"), 100000);
	assert_true(l.least == 100000 && l.most == 100000 && l.warm_runs == effort_find("rapid")->warm_runs);
}

static void warms_until_it_agrees(void **state)
{
	struct fake f = { .takes = ms20, .told = -1 };
	struct protocol_run r = runner(&f);
	struct protocol_limits l = protocol_limits(effort_find("normal"), 0);
	struct protocol_warmup w;
	struct arena a = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(protocol_warm_up(&r, &l, &a, &w, &err), STATUS_OK);
	assert_ptr_equal(w.end, protocol_agree);
	assert_int_equal(w.runs, 10); // the first is in no window; three windows of three
	assert_int_equal(w.ns, 200000000);
	for (size_t i = 0; i < w.runs; i++)
		assert_int_equal(w.each[i], 20000000);

	// Of the ten cold runs nine are in the first three windows; the next three agree.
	f = (struct fake){ .takes = cold_for_10, .told = -1 };
	assert_int_equal(protocol_warm_up(&r, &l, &a, &w, &err), STATUS_OK);
	assert_ptr_equal(w.end, protocol_agree);
	assert_int_equal(w.runs, 19);

	// Short runs: a window is full after 100 of them.
	f = (struct fake){ .takes = us1, .told = -1 };
	assert_int_equal(protocol_warm_up(&r, &l, &a, &w, &err), STATUS_OK);
	assert_ptr_equal(w.end, protocol_agree);
	assert_int_equal(w.runs, 301);

	// What the engine says of itself counts, not the way there.
	f = (struct fake){ .takes = never_steady, .told = 5 };
	assert_int_equal(protocol_warm_up(&r, &l, &a, &w, &err), STATUS_OK);
	assert_ptr_equal(w.end, protocol_agree);
	arena_done(&a);
}

static void warm_up_has_limits(void **state)
{
	struct fake f = { .takes = never_steady, .told = -1 };
	struct protocol_run r = runner(&f);
	struct protocol_limits l = protocol_limits(effort_find("normal"), 0);
	struct protocol_warmup w;
	struct arena a = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(protocol_warm_up(&r, &l, &a, &w, &err), STATUS_OK);
	assert_ptr_equal(w.end, protocol_time);
	assert_true(w.ns >= l.warm_ns && w.ns < l.warm_ns + 20000000);
	l.warm_runs = 8;
	f = (struct fake){ .takes = never_steady, .told = -1 };
	assert_int_equal(protocol_warm_up(&r, &l, &a, &w, &err), STATUS_OK);
	assert_ptr_equal(w.end, protocol_count);
	assert_int_equal(w.runs, 8);
	// One run is always thrown away, however short the limits are.
	l.warm_ns = 0;
	f = (struct fake){ .takes = ms20, .told = -1 };
	assert_int_equal(protocol_warm_up(&r, &l, &a, &w, &err), STATUS_OK);
	assert_int_equal(w.runs, 1);
	l = protocol_limits(effort_find("rapid"), 0);
	f = (struct fake){ .takes = ms20, .told = -1, .fails_at = 4 };
	assert_int_equal(protocol_warm_up(&r, &l, &a, &w, &err), STATUS_FAILED);
	assert_non_null(strstr(err.text, "warm-up run 4"));
	arena_done(&a);
}

static void samples(void **state)
{
	struct fake f = { .takes = ms20, .told = -1, .look = 50 };
	struct protocol_run r = runner(&f);
	struct protocol_limits l = protocol_limits(effort_find("normal"), 0);
	struct protocol_sample s;
	struct arena a = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(protocol_sample(&r, &l, &a, &s, &err), STATUS_OK);
	assert_int_equal(s.count, 150); // 3 s of 20 ms, all above the least
	for (size_t i = 0; i < s.count; i++)
		assert_int_equal(s.ns[i], 20000050); // one look is in it
	assert_true(fabs(s.clock_us - 0.05) < 1e-9 && fabs(s.harness_us) < 1e-9);

	l = protocol_limits(effort_find("normal"), 7); // exactly so many, however long they take
	l.sample_ns = 1;
	f = (struct fake){ .takes = ms20, .told = 33 };
	assert_int_equal(protocol_sample(&r, &l, &a, &s, &err), STATUS_OK);
	assert_true(s.count == 7 && s.ns[0] == 33 && s.ns[6] == 33);

	l = protocol_limits(effort_find("quick"), 0); // the least is held, though the time is over
	l.sample_ns = 1;
	f = (struct fake){ .takes = ms20, .told = -1 };
	assert_int_equal(protocol_sample(&r, &l, &a, &s, &err), STATUS_OK);
	assert_int_equal(s.count, 11);

	f = (struct fake){ .takes = us1, .told = -1 }; // and the most
	l = protocol_limits(effort_find("normal"), 0);
	assert_int_equal(protocol_sample(&r, &l, &a, &s, &err), STATUS_OK);
	assert_int_equal(s.count, 662);

	f = (struct fake){ .takes = us1, .told = -1, .fails_at = 3 };
	assert_int_equal(protocol_sample(&r, &l, &a, &s, &err), STATUS_FAILED);
	assert_non_null(strstr(err.text, "timed run 3"));
	arena_done(&a);
}

// As many runs as a user asks for are told in as many lines as they need; only the numbers are kept.
static void samples_come_in_several_lines(void **state)
{
	enum { LINES = 200, EACH = 5000 };
	struct arena a = { 0 };
	struct text line = { 0 };
	struct heard h;

	(void)state;
	heard_init(&h, &a, NULL);
	text_add(&line, "{\"event\": \"samples\", \"ms\": [0.5");
	for (int i = 1; i < EACH; i++)
		text_add(&line, ", 0.0012340000000000001");
	text_add(&line, "]}");
	for (int i = 0; i < LINES; i++)
		assert_int_not_equal(heard_line(&h, text_get(&line), line.length), CHILD_REFUSE);
	assert_int_equal(h.sample_count, LINES * EACH);
	for (size_t i = 0; i < h.sample_count; i++)
		assert_true(i % EACH ? h.sample_ms[i] < 0.01 : h.sample_ms[i] >= 0.5);
	text_done(&line);
	arena_done(&a);
}

// A page or an engine may say anything: what nothing can have measured, and no database is read with, ends it and is not kept.
static void what_cannot_be_is_not_kept(void **state)
{
	static const struct {
		const char *line, *wanted;
	} cases[] = {
		{ "{\"event\": \"row\", \"first_ms\": 1e11}", "says that first_ms is 1e+11, which nothing can have measured" },
		{ "{\"event\": \"row\", \"load_ms\": -1}", "says that load_ms is -1, which nothing can have measured" },
		{ "{\"event\": \"row\", \"peak_resident_mib\": 1e300}", "says that peak_resident_mib is 1e+300, which" },
		{ "{\"event\": \"row\", \"actual\": \"", "says that actual is a name of more than 4096 characters" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena a = { 0 };
		struct heard h;
		char line[6000];

		heard_init(&h, &a, NULL);
		const bool is_open = cases[i].line[strlen(cases[i].line) - 1] != '}'; // a name of 5000 characters goes on
		snprintf(line, sizeof line, "%s%0*d%s", cases[i].line, is_open ? 5000 : 0, 0, is_open ? "\"}" : "");
		if (!is_open)
			snprintf(line, sizeof line, "%s", cases[i].line);
		assert_int_equal(heard_line(&h, line, strlen(line)), CHILD_REFUSE);
		assert_non_null(h.rubbish);
		assert_non_null(strstr(h.rubbish, cases[i].wanted));
		assert_true(isnan(h.row.first_ms) && isnan(h.row.load_ms) && isnan(h.row.peak_resident_mib));
		assert_true(h.row.actual == NULL || strlen(h.row.actual) < 4096);
		arena_done(&a);
	}
}

// Chunks that are left out are those with nothing to find; a NaN is found, and so is what stands in the rest behind them.
static void the_best_two_of_many(void **state)
{
	(void)state;
	float x[300], logit[2];
	int64_t id[2];

	for (int i = 0; i < 300; i++)
		x[i] = -1 - (float)(i % 7);
	x[3] = 2, x[130] = 2, x[131] = 5, x[299] = 3;
	generate_best_two(x, 300, id, logit);
	assert_true(id[0] == 131 && id[1] == 299 && logit[0] == 5 && logit[1] == 3);
	generate_best_two(x, 131, id, logit); // of equal ones the first
	assert_true(id[0] == 3 && id[1] == 130 && logit[0] == 2 && logit[1] == 2);
	x[299] = NAN;
	generate_best_two(x, 300, id, logit);
	assert_true(id[0] == 299 && isnan(logit[0]) && id[1] == 131);
	x[0] = NAN; // and stays
	generate_best_two(x, 300, id, logit);
	assert_true(id[0] == 0 && isnan(logit[0]) && id[1] == 131 && logit[1] == 5);
}

// The lower of this user's limit and the child's is the one that an allocation failed under.
static void memory_that_a_limit_keeps(void **state)
{
	rlim_t here = (rlim_t)1 << 49; // above what sanitizers map
	struct child_report r = { .end = CHILD_SIGNALLED, .code = SIGABRT, .memory_from = ", since so much was free" };
	struct child_limits l = { 0 };
	struct rlimit before;
	struct arena a = { 0 };
	struct heard h;
	const char *cause, *note;

	(void)state;
	text_add(&r.output, "what(): std::bad_alloc\n");
	heard_init(&h, &a, NULL);
	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	here = before.rlim_max < here ? before.rlim_max : here;
	assert_int_equal(setrlimit(RLIMIT_DATA, &(struct rlimit){ here, here }), 0);
	r.memory_bytes = (int64_t)here * 2;
	assert_int_equal(heard_verdict(&h, &r, &l, &cause, &note), VERDICT_NOT_ASKED);
	assert_non_null(strstr(cause, " MiB of data here, and an engine may need more: raise the limit (ulimit -d)"));
	assert_null(strstr(cause, "so much"));
	r.memory_bytes = (int64_t)here / 2;
	assert_int_equal(heard_verdict(&h, &r, &l, &cause, &note), VERDICT_NO_MEMORY);
	assert_non_null(strstr(cause, " GiB, since so much was free"));
	text_done(&r.output);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(warms_until_it_agrees),
		cmocka_unit_test(warm_up_has_limits),
		cmocka_unit_test(samples),
		cmocka_unit_test(samples_come_in_several_lines),
		cmocka_unit_test(what_cannot_be_is_not_kept),
		cmocka_unit_test(the_best_two_of_many),
		cmocka_unit_test(memory_that_a_limit_keeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
