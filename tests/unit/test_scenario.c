// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Scenarios with runs and a clock that are made up; early stopping against binomial sums and against figures that LoadGen
// published.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "stats/early_stop.h"
#include "cell/scenario.h"

// ---- early stopping ----

static void near(double a, double b)
{
	assert_true(fabs(a - b) <= 1e-12 + 1e-10 * fabs(b));
}

// P(at most t late of n, each late with 1 - p), term by term.
static double binomial(int64_t n, int64_t t, double p)
{
	double term = pow(p, (double)n), sum = term;

	for (int64_t k = 1; k <= t; k++) {
		term *= (double)(n - k + 1) / (double)k * (1 - p) / p;
		sum += term;
	}
	return sum;
}

static void beta(void **state)
{
	(void)state;
	near(early_stop_beta(0.3, 1, 1), 0.3);
	near(early_stop_beta(0.3, 1, 4), 1 - pow(0.7, 4));
	near(early_stop_beta(0.3, 5, 1), pow(0.3, 5));
	near(early_stop_beta(0.5, 0.5, 0.5), 0.5);
	near(early_stop_beta(0.25, 0.5, 0.5), 2 / M_PI * asin(sqrt(0.25)));
	near(early_stop_beta(0, 2, 3), 0);
	near(early_stop_beta(1, 2, 3), 1);
	for (double x = 0.05; x < 1; x += 0.1)
		near(early_stop_beta(x, 7, 3), 1 - early_stop_beta(1 - x, 3, 7));
	for (int64_t n = 5; n < 400; n += 7)
		for (int64_t t = 0; t < n && t < 12; t++)
			near(early_stop_beta(0.9, (double)(n - t), (double)t + 1), binomial(n, t, 0.9));
}

// Made with exact integer binomials; 64, 130 and 662 with one late query are what LoadGen asks for at p90, p95 and p99.
static void queries(void **state)
{
	static const struct {
		double p;
		int64_t n[6];
	} table[] = {
		{ 0.50, { 7, 11, 14, 17, 19, 22 } },
		{ 0.90, { 44, 64, 81, 97, 113, 127 } },
		{ 0.95, { 90, 130, 165, 198, 229, 259 } },
		{ 0.99, { 459, 662, 838, 1001, 1157, 1307 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		for (int64_t t = 0; t < 6; t++) {
			int64_t n = table[i].n[t];

			assert_int_equal(early_stop_queries(t, table[i].p), n);
			assert_true(binomial(n, t, table[i].p) <= 0.01 && binomial(n - 1, t, table[i].p) > 0.01);
			assert_int_equal(early_stop_late(n, table[i].p), t);
			assert_int_equal(early_stop_late(n - 1, table[i].p), t - 1);
		}
	// A published LoadGen summary of single stream: 2048 queries, "would discard 172 highest latency queries", which is one
	// less than are late.
	assert_int_equal(early_stop_late(2048, 0.90), 173);
	// Many queries come near to the share itself.
	assert_in_range(early_stop_late(1000000, 0.99), 9700, 9999);
}

// ---- scenarios ----

struct fake {
	int64_t now, takes;
	int64_t slow_every, slow; // each so many-th run takes that
	size_t runs, waits;
};

static int64_t fake_now(void *context)
{
	return ((struct fake *)context)->now;
}

static enum status fake_run(void *context, int64_t *ns, struct error *err)
{
	struct fake *f = context;

	(void)ns;
	(void)err;
	f->runs++;
	f->now += f->slow_every && f->runs % (size_t)f->slow_every == 0 ? f->slow : f->takes;
	return STATUS_OK;
}

static void fake_wait(void *context, int64_t until)
{
	struct fake *f = context;

	assert_true(until > f->now);
	f->waits++;
	f->now = until;
}

static struct scenario_result run(
	struct fake *f, const struct question *v, const char *effort, int64_t runs, int64_t batch, struct arena *a)
{
	struct protocol_run r = { .context = f, .now = fake_now, .run = fake_run, .wait = fake_wait };
	struct question asked = *v;
	asked.runs = runs;
	asked.seed = 1;
	struct scenario_ask ask = scenario_plan(&asked, effort_find(effort), batch);
	struct scenario_result out;
	struct error err = { 0 };

	assert_int_equal(scenario_run(&r, &ask, a, &out, &err), STATUS_OK);
	json_t *json = scenario_json(&ask, &out);
	assert_non_null(json);
	assert_int_equal(json_is_true(json_object_get(json, "valid")), out.is_valid);
	assert_int_equal(json_integer_value(json_object_get(json, "queries")), out.count);
	json_decref(json);
	return out;
}

static const int64_t ms = 1000000;

static void words(void **state)
{
	(void)state;
	assert_int_equal(scenario_find(NULL), SCENARIO_SINGLE_STREAM);
	assert_int_equal(scenario_find("single-stream"), SCENARIO_SINGLE_STREAM);
	assert_int_equal(scenario_find("server"), SCENARIO_SERVER);
	assert_int_equal(scenario_find("Server"), SCENARIO_COUNT);
}

static void single_stream(void **state)
{
	struct question v = { .scenario = "single-stream" };
	struct arena a = { 0 };
	struct fake f = { .takes = 2 * ms, .slow_every = 20, .slow = 9 * ms };
	struct scenario_result r = run(&f, &v, "rapid", 0, 1, &a);

	(void)state;
	assert_true(r.count == 64 && r.is_valid && r.needed == 64);
	near(r.estimate_ms, 9); // three are slow, and of 64 only the slowest may be left out
	f = (struct fake){ .takes = 2 * ms, .slow_every = 20, .slow = 9 * ms };
	r = run(&f, &v, NULL, 0, 1, &a);
	assert_non_null(strstr(r.why, "with 99 % confidence if queries are independent"));
	near(r.estimate_ms, 2); // 256 queries: 12 are slow, 14 may be
	assert_int_equal(r.count, 256);
	near(r.throughput_per_s, 256 / ((244 * 2 + 12 * 9) * 1e-3));
	f = (struct fake){ .takes = 2 * ms };
	r = run(&f, &v, NULL, 63, 1, &a);
	assert_true(r.count == 63 && !r.is_valid && isnan(r.estimate_ms) && strstr(r.why, "n too small") && strstr(r.why, "64"));
	f = (struct fake){ .takes = 10000 * ms }; // the limit of time
	r = run(&f, &v, NULL, 0, 1, &a);
	assert_true(r.count == 6 && !r.is_valid);
	arena_done(&a);
}

static void multi_stream(void **state)
{
	struct question v = { .scenario = "multi-stream" };
	struct arena a = { 0 };
	struct fake f = { .takes = 1 * ms };
	struct scenario_result r = run(&f, &v, "rapid", 0, 4, &a);

	(void)state;
	assert_int_equal(r.count, 662);
	assert_int_equal(f.runs, 2 * 662); // eight samples are two batches of four
	near(r.estimate_ms, 2);
	near(r.throughput_per_s, 4000);
	v.streams = 16;
	v.latency_bound_ms = 3.5;
	f = (struct fake){ .takes = 1 * ms };
	r = run(&f, &v, "rapid", 0, 4, &a);
	near(r.estimate_ms, 4);
	assert_true(!r.is_valid && strstr(r.why, "beyond the bound of 3.5 ms"));
	v.latency_bound_ms = 4;
	f = (struct fake){ .takes = 1 * ms };
	assert_true(run(&f, &v, "rapid", 0, 4, &a).is_valid);
	arena_done(&a);
}

static void offline(void **state)
{
	struct question v = { .scenario = "offline" };
	struct arena a = { 0 };
	struct fake f = { .takes = 100 * ms };
	struct scenario_result r = run(&f, &v, NULL, 0, 8, &a);

	(void)state;
	assert_true(r.count == 30 && r.is_valid); // 3 s
	near(r.throughput_per_s, 80);
	f = (struct fake){ .takes = 1000 * ms };
	assert_int_equal(run(&f, &v, NULL, 0, 8, &a).count, 11); // the least
	arena_done(&a);
}

static void server(void **state)
{
	struct question v = { .scenario = "server", .rate_per_s = 100, .latency_bound_ms = 60 };
	struct arena a = { 0 };
	struct fake f = { .takes = 5 * ms };
	struct scenario_result r = run(&f, &v, NULL, 0, 1, &a);
	double sum = 0;

	(void)state;
	// A queue with Poisson arrivals and a fixed time of service (M/D/1), half busy: on average s + s * rho / (2 (1 - rho))
	// = 7.5 ms.
	assert_true(r.count == 2648 && !r.unanswered && r.is_valid && f.waits > 1000);
	for (size_t i = 0; i < r.count; i++) {
		assert_true(r.latency_ns[i] >= 5 * ms);
		sum += (double)r.latency_ns[i] / 1e6;
	}
	printf("mean latency at half load: %.3f ms, expected 7.5\n", sum / (double)r.count);
	assert_true(fabs(sum / (double)r.count - 7.5) < 0.6);
	assert_true(fabs(r.throughput_per_s - 100) < 6);
	v.latency_bound_ms = 5.5; // half of them have to wait
	f = (struct fake){ .takes = 5 * ms };
	r = run(&f, &v, NULL, 0, 1, &a);
	assert_true(!r.is_valid && r.late > 1000 && strstr(r.why, "took longer than 5.5 ms"));
	// More than the machine can do: it ends, says no and how much it can.
	v = (struct question){ .scenario = "server", .rate_per_s = 1000, .latency_bound_ms = 60 };
	f = (struct fake){ .takes = 50 * ms };
	r = run(&f, &v, NULL, 0, 1, &a);
	assert_true(f.now <= 61000 * ms && !r.is_valid && r.unanswered > 1000 && r.late >= r.unanswered);
	assert_true(fabs(r.throughput_per_s - 20) < 0.5 && strstr(r.why, "it answered 20 a second of the 1000"));
	// A rate at which there is no time for enough queries: it ends at the limit, and not as a success.
	v = (struct question){ .scenario = "server", .rate_per_s = 2, .latency_bound_ms = 60 };
	f = (struct fake){ .takes = 5 * ms };
	r = run(&f, &v, NULL, 0, 1, &a);
	assert_true(f.now <= 61000 * ms && !r.is_valid && !r.late && !r.unanswered && r.count > 80 && r.count < 160 &&
		strstr(r.why, "more, none of them late"));
	// So many queries and no more; twice their time is enough.
	v = (struct question){ .scenario = "server", .rate_per_s = 100, .latency_bound_ms = 60 };
	f = (struct fake){ .takes = 5 * ms };
	assert_int_equal(run(&f, &v, NULL, 500, 1, &a).count, 500);
	f = (struct fake){ .takes = 500 * ms };
	r = run(&f, &v, "rapid", 500, 1, &a);
	assert_true(f.now < 16000 * ms && r.unanswered > 400 && r.count + r.unanswered == 500);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beta),
		cmocka_unit_test(queries),
		cmocka_unit_test(words),
		cmocka_unit_test(single_stream),
		cmocka_unit_test(multi_stream),
		cmocka_unit_test(offline),
		cmocka_unit_test(server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
