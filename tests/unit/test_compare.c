// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Heap: libc
// Comparisons on made-up noise whose truth is known, and on noise recorded from an engine. Everything is seeded: the counts below
// are the same on every machine.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/text.h"
#include "stats/compare.h"

enum { PAIRS = 6, RUNS = 11, RECORDED_MOST = 96 };

static struct {
	uint64_t seed, drawn;
} noise;

static double uniform(void)
{
	return ((double)(splitmix64(noise.seed, noise.drawn++) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

struct pair_of_sides {
	double ms[2][PAIRS][RUNS];
	struct compare_process side[2][PAIRS];
};

// A drift that both sides share, a shift of each process, runs that resemble the one before, and a share of the processes
// disturbed by up to 30 %.
struct kind {
	double shift, drift, disturbed;
};

static void draw(struct pair_of_sides *s, double slower, const struct kind *kind)
{
	double level = 0;

	for (size_t i = 0; i < PAIRS; i++) {
		level += kind->drift * normal();
		for (size_t k = 0; k < 2; k++) {
			double of_process = kind->shift * normal() + (uniform() < kind->disturbed ? 0.3 * uniform() : 0),
			       like_before = 0;

			for (size_t r = 0; r < RUNS; r++) {
				like_before = 0.6 * like_before + 0.01 * normal();
				s->ms[k][i][r] = 10 * exp(level + of_process + like_before) * (k ? 1 + slower : 1);
			}
			s->side[k][i] = (struct compare_process){ s->ms[k][i], RUNS };
		}
	}
}

static struct comparison paired(const struct pair_of_sides *s)
{
	struct comparison c;
	struct error err = { 0 };

	if (compare_paired(s->side[0], s->side[1], PAIRS, 1, &c, &err))
		fail_msg("%s", err.text);
	return c;
}

static size_t called(double slower, const struct kind *kind, size_t trials, enum compare_verdict what)
{
	struct pair_of_sides s;
	size_t n = 0;

	noise.seed = 42;
	noise.drawn = 0;
	for (size_t i = 0; i < trials; i++) {
		draw(&s, slower, kind);
		n += paired(&s).verdict == what;
	}
	return n;
}

static void nothing_is_called_different(void **state)
{
	static const struct kind kinds[] = { { 0.005, 0.02, 0.1 }, { 0.02, 0.01, 0 }, { 0.05, 0.05, 0.1 }, { 0.15, 0, 0 } };
	size_t trials = 100, different = 0;

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		different += called(0, &kinds[i], trials, COMPARE_FASTER) + called(0, &kinds[i], trials, COMPARE_SLOWER);
	if (different > 12) // 3 % of 400
		fail_msg("%zu of 400 comparisons of a thing with itself were called different", different);
}

static void differences_are_found(void **state)
{
	(void)state;
	// A machine to itself, from process to process 0.5 %, drifting by 3 % a pair; then one where every twentieth process is
	// disturbed.
	size_t found = called(0.05, &(struct kind){ 0.005, 0.03, 0 }, 100, COMPARE_SLOWER);
	if (found < 90)
		fail_msg("a slow-down of 5 %% was found in %zu of 100", found);
	found = called(0.20, &(struct kind){ 0.01, 0.03, 0.05 }, 100, COMPARE_SLOWER);
	if (found < 90)
		fail_msg("a slow-down of 20 %% was found in %zu of 100", found);
	assert_int_equal(called(0.20, &(struct kind){ 0.02, 0.03, 0.05 }, 100, COMPARE_FASTER), 0);
}

static void directions_and_bounds(void **state)
{
	static const double ten[] = { 10, 10.01, 9.99, 10 }, eight[] = { 8, 8.01, 8, 7.99 }, wide[] = { 7, 20, 9, 4 },
			    bit_more[] = { 10.1, 10.11, 10.09, 10.1 };
	struct compare_process a[8], faster[8], same[8], unclear[8], little[8];
	struct comparison c, again;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		a[i] = same[i] = (struct compare_process){ ten, 4 };
		faster[i] = (struct compare_process){ eight, 4 };
		unclear[i] = (struct compare_process){ wide + i % 4, 1 };
		little[i] = (struct compare_process){ bit_more, 4 };
	}
	assert_int_equal(compare_paired(a, faster, 6, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_FASTER);
	assert_true(fabs(c.ratio - 0.8) < 0.001 && c.low <= c.low95 && c.low95 <= c.ratio && c.ratio <= c.high95 &&
		c.high95 <= c.high && c.high < 1);
	assert_true(fabs(c.a_ms - 10) < 0.01 && fabs(c.b_ms - 8) < 0.01);
	assert_true(c.a_count == 6 && c.b_count == 6 && c.a_samples == 24 && c.b_samples == 24);
	assert_int_equal(compare_paired(a, faster, 6, 1, &again, NULL), STATUS_OK);
	assert_memory_equal(&c, &again, sizeof c); // the same seed, the same answer
	assert_int_equal(compare_paired(faster, a, 6, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_SLOWER);
	assert_int_equal(compare_paired(a, same, 6, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_SAME);
	assert_int_equal(compare_paired(a, little, 6, 1, &c, NULL), STATUS_OK);
	assert_true(c.low > 1); // certain, and too small to be called
	assert_int_equal(c.verdict, COMPARE_SAME);
	assert_int_equal(compare_paired(a, unclear, 6, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_CANNOT_TELL);
	assert_int_equal(compare_paired(a, faster, 5, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_CANNOT_TELL); // five are too few, however clear
	assert_int_equal(compare_paired(a, faster, 1, 1, &c, NULL), STATUS_OK);
	assert_true(isnan(c.low) && isnan(c.high) && isnan(c.low95) && c.verdict == COMPARE_CANNOT_TELL &&
		fabs(c.ratio - 0.8) < 0.001);
	assert_int_equal(compare_paired(a, unclear, 2, 1, &c, NULL), STATUS_OK);
	assert_true(isnan(c.low) && isnan(c.high) && isnan(c.high95) && c.verdict == COMPARE_CANNOT_TELL); // two bound nothing
	assert_int_equal(compare_paired(a, unclear, 3, 1, &c, NULL), STATUS_OK);
	assert_true(c.low < c.ratio && c.ratio < c.high);
	assert_int_equal(compare_unpaired(a, 8, faster, 6, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_FASTER);
	assert_true(c.a_count == 8 && c.b_count == 6);
	assert_int_equal(compare_unpaired(a, 8, faster, 5, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_CANNOT_TELL);
}

static void drift_is_shared_by_pairs(void **state)
{
	double ms[2][PAIRS];
	struct compare_process side[2][PAIRS];
	struct comparison c;

	(void)state;
	for (size_t i = 0; i < PAIRS; i++)
		for (size_t k = 0; k < 2; k++) {
			ms[k][i] = 10 * (1 + 0.3 * (double)i) * (k ? 1.05 : 1) * (i % 2 ? 1.002 : 0.999);
			side[k][i] = (struct compare_process){ &ms[k][i], 1 };
		}
	assert_int_equal(compare_paired(side[0], side[1], PAIRS, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_SLOWER);
	assert_int_equal(compare_unpaired(side[0], PAIRS, side[1], PAIRS, 1, &c, NULL), STATUS_OK);
	assert_int_equal(c.verdict, COMPARE_CANNOT_TELL);
}

static void refusals(void **state)
{
	static const double good[] = { 1 }, zero[] = { 0 }, nan_ms[] = { (double)NAN };
	const struct compare_process a = { good, 1 }, empty = { good, 0 }, bad = { zero, 1 }, none = { nan_ms, 1 };
	struct comparison c = { .ratio = 7 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(compare_paired(&a, &a, 0, 1, &c, &err), STATUS_BAD_INPUT);
	assert_int_equal(compare_paired(&a, &empty, 1, 1, &c, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text, "side B has no times"));
	assert_int_equal(compare_paired(&bad, &a, 1, 1, &c, &err), STATUS_BAD_INPUT);
	assert_int_equal(compare_unpaired(&a, 1, &none, 1, 1, &c, &err), STATUS_BAD_INPUT);
	assert_true(c.ratio == 7);
}

static void words(void **state)
{
	(void)state;
	for (size_t i = 0; i < COMPARE_COUNT; i++) {
		assert_int_equal(compare_find(compare_word((enum compare_verdict)i)), i);
		assert_true(strlen(compare_sentence((enum compare_verdict)i)) > 20);
	}
	assert_int_equal(compare_find("better"), COMPARE_COUNT);
	assert_int_equal(compare_find(NULL), COMPARE_COUNT);
}

// Sides of unlike numbers and unlike scatter, both of the same truth: the 99 % interval may leave out 1 in one comparison of a
// hundred. With the freedom of both sides together it did in up to four.
static void unlike_sides_are_covered(void **state)
{
	enum { EACH = 200, MOST = 30 };
	static const struct {
		size_t count[2];
		double scatter[2];
	} unlike[] = {
		{ { 6, 20 }, { 0.05, 0.005 } },
		{ { 20, 6 }, { 0.03, 0.05 } },
		{ { 7, 30 }, { 0.05, 0.01 } },
		{ { 6, 24 }, { 0.05, 0.05 } },
	};
	enum { KINDS = sizeof unlike / sizeof *unlike };
	size_t missed = 0, missed95 = 0;

	(void)state;
	noise.seed = 11;
	noise.drawn = 0;
	for (size_t t = 0; t < KINDS * EACH; t++) {
		double ms[2][MOST];
		struct compare_process side[2][MOST];
		const size_t *count = unlike[t / EACH].count;
		struct comparison c;

		for (size_t k = 0; k < 2; k++)
			for (size_t i = 0; i < count[k]; i++) {
				ms[k][i] = 10 * exp(unlike[t / EACH].scatter[k] * normal());
				side[k][i] = (struct compare_process){ &ms[k][i], 1 };
			}
		assert_int_equal(compare_unpaired(side[0], count[0], side[1], count[1], t, &c, NULL), STATUS_OK);
		missed += c.low > 1 || c.high < 1;
		missed95 += c.low95 > 1 || c.high95 < 1;
	}
	printf("unlike sides: the 99 %% interval missed %zu of %d, the 95 %% interval %zu\n", missed, KINDS * EACH, missed95);
	if (2 * missed > 3 * KINDS * EACH / 100 || 2 * missed95 > 11 * KINDS * EACH / 100) // 1.5 %, 5.5 %
		fail_msg("of %d comparisons the 99 %% interval missed %zu, the 95 %% interval %zu", KINDS * EACH, missed,
			missed95);
}

// Times of processes that were run after each other on a machine that others used too; the files say how.
static size_t read_recorded(const char *file, double ms[RECORDED_MOST][64], struct compare_process *out)
{
	FILE *f = fopen(file, "r");
	char line[4096];
	size_t n = 0;

	assert_non_null(f);
	while (n < RECORDED_MOST && fgets(line, sizeof line, f)) {
		size_t count = 0;

		if (line[0] == '#')
			continue;
		for (char *at = line, *end; count < 64 && (ms[n][count] = strtod(at, &end), end != at); at = end)
			count++;
		out[n] = (struct compare_process){ ms[n], count };
		n += count > 0;
	}
	fclose(f);
	return n;
}

// Twelve neighbours of the record, in alternation, one side made slower by a factor: 0 makes it A against A.
static size_t recorded_called(const char *file, double slower, size_t trials, bool *verdicts_seen)
{
	static double ms[RECORDED_MOST][64], scaled[PAIRS][64];
	static struct compare_process all[RECORDED_MOST];
	struct compare_process side[2][PAIRS];
	size_t n = read_recorded(file, ms, all), different = 0;

	assert_true(n >= 48);
	noise.seed = 7;
	noise.drawn = 0;
	for (size_t t = 0; t < trials; t++) {
		size_t begin = (size_t)(uniform() * (double)(n - 2 * PAIRS + 1));
		struct comparison c;

		for (size_t i = 0; i < PAIRS; i++) {
			size_t swap = uniform() < 0.5; // which of two neighbours is A

			side[0][i] = all[begin + 2 * i + swap];
			side[1][i] = all[begin + 2 * i + !swap];
			for (size_t k = 0; k < side[1][i].count; k++)
				scaled[i][k] = side[1][i].ms[k] * (1 + slower);
			side[1][i].ms = scaled[i];
		}
		assert_int_equal(compare_paired(side[0], side[1], PAIRS, t, &c, NULL), STATUS_OK);
		different +=
			slower > 0 ? c.verdict == COMPARE_SLOWER : c.verdict == COMPARE_SLOWER || c.verdict == COMPARE_FASTER;
		verdicts_seen[c.verdict] = true;
	}
	return different;
}

// What `assay ab` has by default, 6 pairs of processes of 11 runs, on the null engine: the promise that is made of it.
static void recorded_null_engine(void **state)
{
	static const char file[] = TEST_SOURCE "/tests/measure/noise_null.txt";
	bool seen[COMPARE_COUNT] = { false };
	size_t different = recorded_called(file, 0, 400, seen), found = recorded_called(file, 0.05, 400, seen);

	(void)state;
	printf("null engine: A/A called different %zu of 400; 5 %% found %zu of 400\n", different, found);
	if (different > 12) // 3 %
		fail_msg("%zu of 400 comparisons of the null engine with itself were called different", different);
	if (found < 360) // 90 %
		fail_msg("a slow-down of 5 %% was found in %zu of 400", found);
	assert_true(seen[COMPARE_SAME] && seen[COMPARE_SLOWER]);
}

static void recorded_noise(void **state)
{
	static const char file[] = TEST_SOURCE "/tests/measure/noise.txt";
	bool seen[COMPARE_COUNT] = { false };
	size_t different = recorded_called(file, 0, 200, seen);

	(void)state;
	if (different > 6)
		fail_msg("%zu of 200 comparisons of recorded noise with itself were called different", different);
	// The record was taken beside compilers on two cores: one process takes up to twice as long as the next.
	size_t found = recorded_called(file, 1.0, 100, seen);
	if (found < 90)
		fail_msg("twice the time was found in %zu of 100", found);
	assert_true(seen[COMPARE_CANNOT_TELL] && seen[COMPARE_SLOWER]);
	printf("recorded noise: A/A called different %zu of 200; 10 %% found %zu, 30 %% %zu, 100 %% %zu of 100\n", different,
		recorded_called(file, 0.10, 100, seen), recorded_called(file, 0.30, 100, seen), found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directions_and_bounds),
		cmocka_unit_test(drift_is_shared_by_pairs),
		cmocka_unit_test(nothing_is_called_different),
		cmocka_unit_test(differences_are_found),
		cmocka_unit_test(unlike_sides_are_covered),
		cmocka_unit_test(recorded_null_engine),
		cmocka_unit_test(recorded_noise),
		cmocka_unit_test(refusals),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
