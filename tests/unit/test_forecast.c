// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Predictions of made-up machines whose law is known. Everything is seeded: the counts below are the same on every machine.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "stats/forecast.h"

enum { MOST = 120 };

static struct {
	uint64_t seed, built;
} noise;

static double uniform(void)
{
	return ((double)(splitmix64(noise.seed, noise.built++) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

// Models of very different size; some are convolution networks, which this machine does at half the rate.
static struct forecast_point build(int model, double scatter)
{
	struct forecast_point p = { .model = model, .flops = 1e8 * pow(10, 3 * uniform()), .nodes = 100 + 900 * uniform() };
	int convolves = uniform() < 0.3;

	p.nbytes = p.flops / (5 + 45 * uniform());
	p.mix[convolves ? MIX_CONVOLUTION : MIX_PRODUCT] = 0.9;
	p.mix[MIX_SOFTMAX] = convolves ? 0 : 0.04;
	p.mix[MIX_REST] = convolves ? 0.1 : 0.06;
	p.ms = (p.flops / 1e8 * (convolves ? 2 : 1) + p.nbytes / 2e7 + p.nodes * 5e-3) * exp(scatter * normal());
	return p;
}

static size_t build_all(struct forecast_point *out, size_t models, size_t rows, double scatter)
{
	for (size_t i = 0; i < models * rows; i++)
		out[i] = build((int)(i / rows), scatter);
	return models * rows;
}

// Without noise and with one kind of graph the law is found, and nothing is left for the neighbours.
static void the_law_is_found(void **state)
{
	struct forecast_point p[20], asked = { .flops = 3e10, .nbytes = 2e9, .nodes = 500, .mix = { 1 } };
	struct forecast f;
	struct error err = { 0 };

	(void)state;
	noise.seed = 1;
	for (int i = 0; i < 20; i++) {
		p[i] = build(i, 0);
		p[i].mix[MIX_PRODUCT] = 1;
		p[i].mix[MIX_CONVOLUTION] = p[i].mix[MIX_SOFTMAX] = p[i].mix[MIX_REST] = 0;
		p[i].ms = p[i].flops / 1e8 + p[i].nbytes / 2e7 + p[i].nodes * 5e-3;
	}
	assert_int_equal(forecast_make(p, 20, &asked, &f, &err), STATUS_OK);
	assert_true(fabs(f.ms - 402.5) < 1e-3);
	assert_true(f.low <= f.ms && f.ms <= f.high && f.high < f.ms * 1.001);
	assert_int_equal(f.models, 20);
	assert_true(f.nearest < 20);
}

// A term that would be negative is left out: no graph takes less time for more work.
static void nothing_is_negative(void **state)
{
	struct forecast_point p[12], more;
	struct forecast f, g;
	struct error err = { 0 };

	(void)state;
	noise.seed = 2;
	for (int i = 0; i < 12; i++) {
		p[i] = build(i, 0);
		p[i].ms = p[i].flops / 1e8 * pow(p[i].nbytes, -0.2);
	}
	more = p[3];
	assert_int_equal(forecast_make(p, 12, &p[3], &f, &err), STATUS_OK);
	more.nbytes *= 1.5;
	assert_int_equal(forecast_make(p, 12, &more, &g, &err), STATUS_OK);
	assert_true(g.law_ms >= f.law_ms);
}

// 90 % intervals cover 85 to 95 % of what was left out, over many made-up machines; and they are not wide for nothing.
static void intervals_cover(void **state)
{
	static const struct {
		size_t models, rows;
		double scatter;
	} of[] = { { 12, 1, 0.1 }, { 20, 1, 0.3 }, { 20, 2, 0.2 }, { 40, 1, 0.2 } };
	size_t count = 0, covered = 0, wide = 0;

	(void)state;
	for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
		size_t own = 0, own_covered = 0;

		for (uint64_t seed = 0; seed < 30; seed++) {
			struct forecast_point p[MOST];
			struct forecast made[MOST];
			struct forecast_proof proof;
			struct error err = { 0 };
			double ms[MOST];

			noise.seed = 100 + seed;
			noise.built = 1000 * k;
			size_t n = build_all(p, of[k].models, of[k].rows, of[k].scatter);
			assert_int_equal(forecast_prove(p, n, made, &err), STATUS_OK);
			for (size_t i = 0; i < n; i++) {
				ms[i] = p[i].ms;
				wide += made[i].high > 8 * made[i].ms;
			}
			forecast_judge(&proof, ms, made, n);
			assert_int_equal(proof.count, n);
			assert_true(proof.low * (double)n <= (double)proof.covered + 1e-9 &&
				(double)proof.covered <= proof.high * (double)n + 1e-9);
			assert_true(proof.median_error >= 1 && proof.worst_error >= proof.median_error);
			own += n;
			own_covered += proof.covered;
		}
		// Of several rows a model the interval is that of the worst one: then it covers more.
		print_message("%zu models, %zu rows each, scatter %.0f %%: %zu of %zu covered, %.1f %%\n", of[k].models,
			of[k].rows, 100 * of[k].scatter, own_covered, own, 100 * (double)own_covered / (double)own);
		assert_true((double)own_covered >= 0.85 * (double)own);
		assert_true((double)own_covered <= (of[k].rows > 1 ? 0.98 : 0.95) * (double)own);
		count += own;
		covered += own_covered;
	}
	assert_true(covered * 100 >= 85 * count && wide * 20 < count);
}

// A prediction has not seen the model that it is held against.
static void what_is_left_out_is_not_seen(void **state)
{
	struct forecast_point p[24];
	struct forecast before[24], after[24];
	struct error err = { 0 };

	(void)state;
	noise.seed = 3;
	build_all(p, 12, 2, 0.2);
	assert_int_equal(forecast_prove(p, 24, before, &err), STATUS_OK);
	p[6].ms *= 50;
	p[7].ms *= 50;
	assert_int_equal(forecast_prove(p, 24, after, &err), STATUS_OK);
	for (size_t i = 6; i < 8; i++)
		assert_true(fabs(before[i].ms - after[i].ms) <= 1e-9 * before[i].ms);
	assert_true(fabs(before[0].ms - after[0].ms) > 1e-6 * before[0].ms);
	assert_int_equal(before[0].models, 11);
	assert_int_equal(before[0].points, 22);
}

static void too_little_is_refused(void **state)
{
	struct forecast_point p[22];
	struct forecast f[22];
	struct error err = { 0 };

	(void)state;
	noise.seed = 4;
	build_all(p, 9, 2, 0.1);
	assert_int_equal(forecast_make(p, 18, &p[0], f, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "9 have a time here, and 10 are needed"));
	build_all(p, 10, 1, 0.1);
	assert_int_equal(forecast_make(p, 10, &p[0], f, &err), STATUS_OK);
	err = (struct error){ 0 };
	assert_int_equal(forecast_prove(p, 10, f, &err), STATUS_UNSUPPORTED);
	p[4].ms = 0;
	err = (struct error){ 0 };
	assert_int_equal(forecast_make(p, 10, &p[0], f, &err), STATUS_BAD_INPUT);
	p[4].ms = 1;
	struct forecast_point none = { 0 };
	err = (struct error){ 0 };
	assert_int_equal(forecast_make(p, 10, &none, f, &err), STATUS_BAD_INPUT);
}

// Small models say nothing of a large one: its time would come from the law of what they take beside their arithmetic.
static void nothing_much_larger_is_predicted(void **state)
{
	struct forecast_point p[12], asked;
	struct forecast f;
	struct error err = { 0 };

	(void)state;
	noise.seed = 5;
	for (int i = 0; i < 12; i++) {
		p[i] = build(i, 0.1);
		p[i].flops = 1e6 + 1e5 * i; // at most 2.1 MFLOP and 410 kB
		p[i].nbytes = 3e5 + 1e4 * i;
	}
	asked = p[11];
	asked.flops = 4.1e6;
	asked.nbytes = 8.1e5;
	assert_int_equal(forecast_make(p, 12, &asked, &f, &err), STATUS_OK);
	asked.flops = 2.2e10;
	assert_int_equal(forecast_make(p, 12, &asked, &f, &err), STATUS_UNSUPPORTED);
	assert_string_equal(err.text, "not predicted: the largest model measured here has 2.1 MFLOP, this one 22 GFLOP");
	asked = p[11];
	asked.nbytes = 5e8;
	err = (struct error){ 0 };
	assert_int_equal(forecast_make(p, 12, &asked, &f, &err), STATUS_UNSUPPORTED);
	assert_string_equal(err.text, "not predicted: the largest model measured here moves 410 kB, this one 500 MB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_law_is_found),
		cmocka_unit_test(nothing_is_negative),
		cmocka_unit_test(intervals_cover),
		cmocka_unit_test(what_is_left_out_is_not_seen),
		cmocka_unit_test(too_little_is_refused),
		cmocka_unit_test(nothing_much_larger_is_predicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
