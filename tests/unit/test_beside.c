// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Queries at the same time: all lanes work at once, each query is answered once, none begins before it arrives, and a lane's
// error is everybody's. What is decided here are orders and counts; how long anything took is not.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cell/beside.h"

enum { LANES = 4 };

struct counted {
	atomic_int inside, most, runs, of[LANES];
	int meet;      // so many must be inside at the same time once; 0: nobody waits
	int fail_lane; // -1: none
};

static struct arena arena;

static enum status run(void *context, size_t lane, struct error *err)
{
	struct counted *c = context;
	const int64_t give_up = clock_ns() + (int64_t)60e9;
	int now = atomic_fetch_add(&c->inside, 1) + 1, most = atomic_load(&c->most);

	while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now))
		;
	while (atomic_load(&c->most) < c->meet && clock_ns() < give_up)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	atomic_fetch_add(&c->runs, 1);
	atomic_fetch_add(&c->of[lane], 1);
	atomic_fetch_sub(&c->inside, 1);
	return (int)lane == c->fail_lane ? error_set(err, STATUS_FAILED, "it broke") : STATUS_OK;
}

static enum status ask(struct counted *c, size_t lanes, struct beside_limits l, struct beside_sample *out, struct error *err)
{
	return beside_run(&(struct beside){ .context = c, .run = run, .lanes = lanes }, &l, &arena, out, err);
}

static void all_at_once(void **state)
{
	struct counted c = { .meet = LANES, .fail_lane = -1 };
	struct beside_sample s;
	int sum = 0;

	(void)state;
	assert_int_equal(ask(&c, LANES, (struct beside_limits){ .least = 40, .most = 40 }, &s, NULL), STATUS_OK);
	assert_int_equal(c.runs, 40);
	assert_int_equal(s.count, 40);
	assert_int_equal(c.most, LANES); // all of them inside at the same time, and never more
	for (int i = 0; i < LANES; i++)
		sum += c.of[i];
	assert_int_equal(sum, 40);
	for (size_t i = 0; i < s.count; i++)
		assert_true(s.latency_ns[i] >= 0 && s.latency_ns[i] <= s.elapsed_ns);
	assert_int_equal(s.unanswered, 0);
}

// The time is over at once: so many as are needed, and whole rounds, or some lane would be idle while the last one ends.
static void a_limit(void **state)
{
	struct counted c = { .fail_lane = -1 };
	struct beside_sample s;

	(void)state;
	assert_int_equal(ask(&c, LANES, (struct beside_limits){ .least = 5, .most = 1000, .limit_ns = 1 }, &s, NULL), STATUS_OK);
	assert_true(s.count >= 5 && s.count < 1000 && s.count == (size_t)c.runs);
	c = (struct counted){ .fail_lane = -1 };
	assert_int_equal(ask(&c, 1, (struct beside_limits){ .least = 3, .most = 1000, .limit_ns = 1 }, &s, NULL), STATUS_OK);
	assert_int_equal(s.count, 3);
}

static void arrivals(void **state)
{
	const int64_t ms = 1000000, arrive[] = { 0, 20 * ms, 20 * ms, 40 * ms, 3600000 * ms };
	struct counted c = { .fail_lane = -1 };
	struct beside_sample s;

	(void)state;
	// The last one comes in an hour, behind the limit: it is neither waited for nor missed.
	assert_int_equal(ask(&c, 2, (struct beside_limits){ .least = 1, .most = 5, .limit_ns = 600000 * ms, .arrive_ns = arrive },
				 &s, NULL),
		STATUS_OK);
	assert_int_equal(s.count, 4);
	assert_int_equal(s.unanswered, 0);
	assert_true(s.elapsed_ns >= 40 * ms); // none before it arrived
	for (size_t i = 0; i < s.count; i++)
		assert_true(s.latency_ns[i] >= 0);
	// One lane, and the time is over when the first has been answered: those that had come by then are counted.
	const int64_t early[] = { 0, 0, 0, 0, 3600000 * ms };
	c = (struct counted){ .fail_lane = -1 };
	assert_int_equal(ask(&c, 1, (struct beside_limits){ .least = 1, .most = 5, .limit_ns = 1, .arrive_ns = early }, &s, NULL),
		STATUS_OK);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.unanswered, 3);
}

static void an_error(void **state)
{
	struct counted c = { .meet = 3, .fail_lane = 1 };
	struct beside_sample s;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(ask(&c, 3, (struct beside_limits){ .least = 3000, .most = 3000 }, &s, &err), STATUS_FAILED);
	assert_string_equal(err.text, "request 2 of 3: it broke");
	assert_int_equal(c.of[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_at_once),
		cmocka_unit_test(a_limit),
		cmocka_unit_test(arrivals),
		cmocka_unit_test(an_error),
	};
	int failed = cmocka_run_group_tests_name("beside", tests, NULL, NULL);

	arena_done(&arena);
	return failed;
}
