// SPDX-License-Identifier: Apache-2.0
// The estimate is Hodges and Lehmann's of the shift between logarithms: a process counts by its median, and the ratio is the
// middle of all averages of two pairs (paired) or of all quotients (unpaired). It is nearly as sharp as a mean and one disturbed
// process does not move it. Of 500 A/A comparisons of 6 pairs, drawn with a drift that both sides share, with noise of 1 to 10 %
// of each process and with outliers, 0 to 1.4 % were called different by it, and a slow-down of 5 % was found more often than by
// the ratio of two medians.
//
// The interval is a bootstrap over processes (a pair stays a pair): each is drawn with replacement, and its runs are kept as they
// are. How runs differ within a process is in the spread of the processes' medians already; drawing blocks of runs again in the
// processes drawn counts it twice (Davison and Hinkley, Bootstrap Methods and Their Application, 1997, section 3.8). In a
// simulation of five kinds of noise A/A was called different in 4 of 750 comparisons with blocks drawn too and in 5 of 750
// without; on what was recorded from the null engine (tests/measure/noise_null.txt) a slow-down of 5 % was found in 305 of 400
// and in all. tests/unit/test_compare.c asks the second way again. Six processes are few: percentiles of such a bootstrap are too
// narrow, since it knows neither that n - 1 are free nor how the tails of few look. So both ends are moved away from the estimate
// by Student's quantile over the normal one, times sqrt(n / (n - 1)). Of two sides the degrees of freedom are Welch and
// Satterthwaite's, each side's part of the variance from a bootstrap of that side alone: with those of both sides together, a + b
// - 2, the 99 % interval of 6 processes against 60 left out the truth in 3.3 to 4.5 % of 600 to 1500 comparisons, with these in
// 1.4 % of 3000; of six kinds of unlike sides in 0.6 to 1.4 %.
#include "stats/compare.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "stats/order.h"
#include "base/text.h"
#include "stats/stats.h"

enum { RESAMPLES = 4000, RESAMPLES_OF_SIDE = 1000 };
static const double smallest_difference = 0.02;
static const double normal_99 = 2.5758293035489004, normal_95 = 1.9599639845400545;

static const struct {
	const char *word, *sentence;
} verdicts[] = {
#define X(code, word, sentence) { word, sentence },
	COMPARE_LIST(X)
#undef X
};

const char *compare_word(enum compare_verdict v)
{
	return verdicts[v].word;
}

const char *compare_sentence(enum compare_verdict v)
{
	return verdicts[v].sentence;
}

enum compare_verdict compare_find(const char *word)
{
	for (size_t i = 0; i < COMPARE_COUNT; i++)
		if (text_is(verdicts[i].word, word))
			return (enum compare_verdict)i;
	return COMPARE_COUNT;
}

// ---- order statistics ----------------------------------------------------------------------------------------------------

// Two-sided quantile of Student's t at 99 or 95 %; exact for 1 and 2 degrees, Cornish and Fisher's expansion from 3 on (there
// within 4 %, from 5 on within 0.5 %).
static double student(double p_two_sided, double freedom)
{
	double z = p_two_sided < 0.02 ? normal_99 : normal_95, p = p_two_sided;

	if (freedom <= 1)
		return 1 / tan(M_PI * p / 2);
	if (freedom <= 2)
		return sqrt(2 / (p * (2 - p)) - 2);
	double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z, n = freedom;
	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
		(3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n) +
		(79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * n * n * n * n);
}

// ---- the estimate --------------------------------------------------------------------------------------------------------

struct sides {
	const struct compare_process *a, *b;
	size_t a_count, b_count;
	bool is_paired;
	uint64_t seed, drawn;
	double *a_own, *b_own; // logarithm of each process's median
	double *a_log, *b_log; // of the processes, as drawn
	double *work;          // large enough for all pairs, and for the runs of one process
};

static double estimate(struct sides *s)
{
	size_t n = 0;

	if (s->is_paired) {
		for (size_t i = 0; i < s->a_count; i++)
			for (size_t k = i; k < s->a_count; k++)
				s->work[n++] = (s->b_log[i] - s->a_log[i] + s->b_log[k] - s->a_log[k]) / 2;
	} else {
		for (size_t i = 0; i < s->a_count; i++)
			for (size_t k = 0; k < s->b_count; k++)
				s->work[n++] = s->b_log[k] - s->a_log[i];
	}
	return stats_median_of(s->work, n);
}

static size_t draw(struct sides *s, size_t below)
{
	return (size_t)(((splitmix64(s->seed, s->drawn++) >> 32) * (uint64_t)below) >> 32);
}

static double draw_all(struct sides *s)
{
	for (size_t i = 0; i < s->a_count; i++) {
		size_t k = draw(s, s->a_count);

		s->a_log[i] = s->a_own[k];
		if (s->is_paired)
			s->b_log[i] = s->b_own[k];
	}
	for (size_t i = 0; i < s->b_count && !s->is_paired; i++)
		s->b_log[i] = s->b_own[draw(s, s->b_count)];
	return estimate(s);
}

// What a side alone adds to the spread of the estimate: the variance of it with only that side's processes drawn again.
static double variance_of(struct sides *s, double *own, double *drawn_log, size_t count)
{
	double mean = 0, squares = 0;

	for (size_t i = 1; i <= RESAMPLES_OF_SIDE; i++) {
		for (size_t k = 0; k < count; k++)
			drawn_log[k] = own[draw(s, count)];
		double x = estimate(s), off = x - mean;

		mean += off / (double)i;
		squares += off * (x - mean);
	}
	memcpy(drawn_log, own, count * sizeof *own);
	return squares / (RESAMPLES_OF_SIDE - 1);
}

// How well the spread is known. Of two sides that is Welch's question: the one that adds most to it decides, so six processes
// that scatter beside sixty are six.
static double freedom_of(struct sides *s)
{
	double a = (double)s->a_count - 1, b = (double)s->b_count - 1;

	if (s->is_paired || a < 1 || b < 1)
		return fmin(a, b);
	memcpy(s->a_log, s->a_own, s->a_count * sizeof *s->a_log);
	memcpy(s->b_log, s->b_own, s->b_count * sizeof *s->b_log);
	double of_a = variance_of(s, s->a_own, s->a_log, s->a_count), of_b = variance_of(s, s->b_own, s->b_log, s->b_count);
	double sum = of_a + of_b, freedom = sum * sum / (of_a * of_a / a + of_b * of_b / b);
	// None scatters: there is nothing to be known better.
	return isfinite(freedom) ? freedom : fmin(a, b);
}

static void stretch(
	const struct sides *s, const double *sorted, double middle, double freedom, double p, double *low, double *high)
{
	size_t fewest = s->a_count < s->b_count ? s->a_count : s->b_count;
	double n = (double)fewest;
	double below = order_quantile(sorted, RESAMPLES, p / 2), above = order_quantile(sorted, RESAMPLES, 1 - p / 2);

	// One process says nothing about others; of one degree of freedom Student's factor is 64.
	if (fewest < 2 || freedom < 2) {
		*low = *high = (double)NAN;
		return;
	}
	double factor = student(p, freedom) / (p < 0.02 ? normal_99 : normal_95) * sqrt(n / (n - 1));
	// Where a lopsided bootstrap does not even hold the estimate, the end stays at it.
	*low = exp(middle - factor * fmax(0, middle - below));
	*high = exp(middle + factor * fmax(0, above - middle));
}

static enum compare_verdict judge(const struct comparison *c)
{
	size_t fewest = c->a_count < c->b_count ? c->a_count : c->b_count;

	if (fewest < COMPARE_LEAST)
		return COMPARE_CANNOT_TELL;
	if (c->high < 1 && c->ratio < 1 - smallest_difference)
		return COMPARE_FASTER;
	if (c->low > 1 && c->ratio > 1 + smallest_difference)
		return COMPARE_SLOWER;
	return c->low >= 1 - smallest_difference && c->high <= 1 + smallest_difference ? COMPARE_SAME : COMPARE_CANNOT_TELL;
}

static enum status check(
	const struct compare_process *p, size_t count, const char *side, size_t *samples, size_t *most, struct error *err)
{
	if (!count)
		return error_set(err, STATUS_BAD_INPUT, "side %s has no process", side);
	*samples = 0;
	for (size_t i = 0; i < count; i++) {
		if (!p[i].count)
			return error_set(err, STATUS_BAD_INPUT, "process %zu of side %s has no times", i + 1, side);
		for (size_t k = 0; k < p[i].count; k++)
			if (!(p[i].ms[k] > 0) || isinf(p[i].ms[k]))
				return error_set(err, STATUS_BAD_INPUT, "process %zu of side %s: time %zu is %g ms", i + 1, side,
					k + 1, p[i].ms[k]);
		*samples += p[i].count;
		*most = p[i].count > *most ? p[i].count : *most;
	}
	return STATUS_OK;
}

// Fills logs[] and gives the median of the medians.
static double medians(struct sides *s, const struct compare_process *p, size_t count, double *logs)
{
	for (size_t i = 0; i < count; i++) {
		memcpy(s->work, p[i].ms, p[i].count * sizeof *s->work);
		logs[i] = log(stats_median_of(s->work, p[i].count));
	}
	for (size_t i = 0; i < count; i++)
		s->work[i] = exp(logs[i]);
	return stats_median_of(s->work, count);
}

static enum status compare(struct sides *s, struct comparison *out, struct error *err)
{
	struct comparison c = { .a_count = s->a_count, .b_count = s->b_count };
	struct arena arena = { 0 };
	size_t most = 1, pairs = s->a_count * (s->is_paired ? s->a_count + 1 : s->b_count);
	enum status st;

	if ((st = check(s->a, s->a_count, "A", &c.a_samples, &most, err)) ||
		(st = check(s->b, s->b_count, "B", &c.b_samples, &most, err)))
		return st;
	s->work = ARENA_ARRAY(&arena, pairs > most ? pairs : most, double);
	s->a_log = ARENA_ARRAY(&arena, s->a_count, double);
	s->b_log = ARENA_ARRAY(&arena, s->b_count, double);
	s->a_own = ARENA_ARRAY(&arena, s->a_count, double);
	s->b_own = ARENA_ARRAY(&arena, s->b_count, double);
	c.a_ms = medians(s, s->a, s->a_count, s->a_own);
	c.b_ms = medians(s, s->b, s->b_count, s->b_own);
	memcpy(s->a_log, s->a_own, s->a_count * sizeof *s->a_log);
	memcpy(s->b_log, s->b_own, s->b_count * sizeof *s->b_log);
	double middle = estimate(s), *drawn = ARENA_ARRAY(&arena, RESAMPLES, double);
	for (size_t i = 0; i < RESAMPLES; i++)
		drawn[i] = draw_all(s);
	order_ascending(drawn, RESAMPLES);
	c.ratio = exp(middle);
	double freedom = freedom_of(s);
	stretch(s, drawn, middle, freedom, 0.01, &c.low, &c.high);
	stretch(s, drawn, middle, freedom, 0.05, &c.low95, &c.high95);
	c.verdict = judge(&c);
	arena_done(&arena);
	*out = c;
	return STATUS_OK;
}

enum status compare_paired(const struct compare_process *a, const struct compare_process *b, size_t count, uint64_t seed,
	struct comparison *out, struct error *err)
{
	struct sides s = { .a = a, .b = b, .a_count = count, .b_count = count, .is_paired = true, .seed = seed };

	return compare(&s, out, err);
}

enum status compare_unpaired(const struct compare_process *a, size_t a_count, const struct compare_process *b, size_t b_count,
	uint64_t seed, struct comparison *out, struct error *err)
{
	struct sides s = { .a = a, .b = b, .a_count = a_count, .b_count = b_count, .seed = seed };

	if (a_count > COMPARE_MOST) {
		s.a += a_count - COMPARE_MOST;
		s.a_count = COMPARE_MOST;
	}
	if (b_count > COMPARE_MOST) {
		s.b += b_count - COMPARE_MOST;
		s.b_count = COMPARE_MOST;
	}
	return compare(&s, out, err);
}
