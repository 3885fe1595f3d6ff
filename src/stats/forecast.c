// SPDX-License-Identifier: Apache-2.0
// forecast.h. Nothing here is tuned to any row: the width of "alike" and the pull towards the law are 1, in units of the spread
// of the features and of one neighbour.
#include "stats/forecast.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "stats/order.h"
#include "base/text.h"
#include "stats/stats.h"

enum { TERMS = 3, FEATURES = 3 + MIX_COUNT };
static const double inside = 0.9, normal_95 = 1.9599639845400545;

enum forecast_mix forecast_mix_of(const char *op)
{
	static const struct {
		const char *op;
		enum forecast_mix mix;
	} kinds[] = {
		{ "MatMul", MIX_PRODUCT },
		{ "Gemm", MIX_PRODUCT },
		{ "FusedMatMul", MIX_PRODUCT },
		{ "MatMulNBits", MIX_PRODUCT },
		{ "MatMulInteger", MIX_PRODUCT },
		{ "MultiHeadAttention", MIX_PRODUCT },
		{ "GroupQueryAttention", MIX_PRODUCT },
		{ "DynamicQuantizeMatMul", MIX_PRODUCT },
		{ "MatMulIntegerToFloat", MIX_PRODUCT },
		{ "LSTM", MIX_PRODUCT },
		{ "GRU", MIX_PRODUCT },
		{ "Conv", MIX_CONVOLUTION },
		{ "ConvTranspose", MIX_CONVOLUTION },
		{ "Softmax", MIX_SOFTMAX },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (text_is(op, kinds[i].op))
			return kinds[i].mix;
	return MIX_REST;
}

struct law {
	double of[TERMS];
};

// Everything that a prediction is made from: points of the models that are not left out.
struct known {
	const struct forecast_point *points;
	size_t count;
	int without, also_without; // models that are left out; -1: none
};

static bool is_in(const struct known *k, size_t i)
{
	return k->points[i].model != k->without && k->points[i].model != k->also_without;
}

static void terms_of(const struct forecast_point *p, double out[TERMS])
{
	out[0] = p->flops;
	out[1] = p->nbytes;
	out[2] = p->nodes;
}

// ---- the law -------------------------------------------------------------------------------------------------------------

// Gauss with pivots; false: the columns are not independent.
static bool solve(double m[TERMS][TERMS + 1], int n)
{
	for (int k = 0; k < n; k++) {
		int best = k;

		for (int i = k + 1; i < n; i++)
			best = fabs(m[i][k]) > fabs(m[best][k]) ? i : best;
		if (fabs(m[best][k]) < 1e-12)
			return false;
		for (int j = 0; j <= n; j++) {
			double swapped = m[k][j];

			m[k][j] = m[best][j];
			m[best][j] = swapped;
		}
		for (int i = 0; i < n; i++) {
			double factor = i == k ? 0 : m[i][k] / m[k][k];

			for (int j = k; j <= n; j++)
				m[i][j] -= factor * m[k][j];
		}
	}
	for (int k = 0; k < n; k++)
		m[k][n] /= m[k][k];
	return true;
}

// Least squares of (law / measured - 1) with the terms of `set` alone, in units in which the largest term is 1; infinite where it
// has no answer or one below 0.
static double fit_of(const struct known *k, unsigned set, struct law *out)
{
	double m[TERMS][TERMS + 1] = { { 0 } }, unit[TERMS] = { 0 }, t[TERMS], squares = 0;
	int at[TERMS], n = 0;

	for (int j = 0; j < TERMS; j++)
		if (set & 1u << j)
			at[n++] = j;
	for (size_t i = 0; i < k->count; i++) {
		terms_of(&k->points[i], t);
		for (int j = 0; j < TERMS && is_in(k, i); j++)
			unit[j] = fmax(unit[j], t[j] / k->points[i].ms);
	}
	for (size_t i = 0; i < k->count; i++) {
		if (!is_in(k, i))
			continue;
		terms_of(&k->points[i], t);
		for (int r = 0; r < n; r++) {
			double x = t[at[r]] / k->points[i].ms / unit[at[r]];

			for (int c = 0; c < n; c++)
				m[r][c] += x * (t[at[c]] / k->points[i].ms / unit[at[c]]);
			m[r][n] += x;
		}
	}
	if (!solve(m, n))
		return INFINITY;
	*out = (struct law){ { 0 } };
	for (int r = 0; r < n; r++) {
		if (m[r][n] < 0)
			return INFINITY;
		out->of[at[r]] = m[r][n] / unit[at[r]];
	}
	for (size_t i = 0; i < k->count; i++) {
		double e = -1;

		if (!is_in(k, i))
			continue;
		terms_of(&k->points[i], t);
		for (int j = 0; j < TERMS; j++)
			e += out->of[j] * t[j] / k->points[i].ms;
		squares += e * e;
	}
	return squares;
}

// With three terms every set of them can be tried: the best answer that is nowhere below 0 is the one of least squares under that
// condition.
static struct law fit(const struct known *k)
{
	struct law best = { { 0 } }, law;
	double least = INFINITY;

	for (unsigned set = 1; set < 1u << TERMS; set++) {
		double squares = fit_of(k, set, &law);

		if (squares < least) {
			least = squares;
			best = law;
		}
	}
	return best;
}

static double law_ms(const struct law *l, const struct forecast_point *p)
{
	double t[TERMS], ms = 0;

	terms_of(p, t);
	for (int j = 0; j < TERMS; j++)
		ms += l->of[j] * t[j];
	return ms;
}

// ---- neighbours ----------------------------------------------------------------------------------------------------------

static void features_of(const struct forecast_point *p, double out[FEATURES])
{
	out[0] = log(p->flops);
	out[1] = log(p->flops / p->nbytes);
	out[2] = log(p->nodes);
	for (int j = 0; j < MIX_COUNT; j++)
		out[3 + j] = p->mix[j];
}

static void spread_of(const struct known *k, double spread[FEATURES])
{
	double sum[FEATURES] = { 0 }, squares[FEATURES] = { 0 }, f[FEATURES], n = 0;

	for (size_t i = 0; i < k->count; i++) {
		if (!is_in(k, i))
			continue;
		features_of(&k->points[i], f);
		for (int j = 0; j < FEATURES; j++) {
			sum[j] += f[j];
			squares[j] += f[j] * f[j];
		}
		n++;
	}
	for (int j = 0; j < FEATURES; j++)
		spread[j] = sqrt(fmax(0, squares[j] / n - sum[j] / n * (sum[j] / n)));
}

// What is learned from the points once, for any number of predictions.
struct trained {
	struct law law;
	double spread[FEATURES];
};

static struct trained train(const struct known *k)
{
	struct trained t = { .law = fit(k) };

	spread_of(k, t.spread);
	return t;
}

static double predict(
	const struct known *k, const struct trained *t, const struct forecast_point *asked, double *from_law, size_t *nearest)
{
	double mine[FEATURES], theirs[FEATURES], weights = 0, left = 0, least = INFINITY;

	features_of(asked, mine);
	for (size_t i = 0; i < k->count; i++) {
		double distance = 0;

		if (!is_in(k, i))
			continue;
		features_of(&k->points[i], theirs);
		for (int j = 0; j < FEATURES; j++)
			distance += t->spread[j] > 1e-9
				? (mine[j] - theirs[j]) / t->spread[j] * ((mine[j] - theirs[j]) / t->spread[j])
				: 0;
		if (distance < least) {
			least = distance;
			*nearest = i;
		}
		weights += exp(-distance / 2);
		left += exp(-distance / 2) * log(k->points[i].ms / law_ms(&t->law, &k->points[i]));
	}
	*from_law = law_ms(&t->law, asked);
	return *from_law * exp(left / (weights + 1));
}

// ---- the interval --------------------------------------------------------------------------------------------------------

// Each model by its worst row, so that many rows of one model are one error; INFINITY: too few models.
static double reach(const struct known *k)
{
	struct known rest = *k;
	struct arena a = { 0 };
	double *errors = ARENA_ARRAY(&a, k->count + 1, double), result = INFINITY, unused;
	size_t n = 0, nearest;

	for (size_t i = 0; i < k->count; i++) {
		bool seen = !is_in(k, i);

		for (size_t j = 0; j < i && !seen; j++)
			seen = k->points[j].model == k->points[i].model;
		if (seen)
			continue;
		double worst = 0;
		rest.also_without = k->points[i].model;
		struct trained t = train(&rest);
		for (size_t j = i; j < k->count; j++)
			if (k->points[j].model == k->points[i].model)
				worst = fmax(
					worst, fabs(log(k->points[j].ms / predict(&rest, &t, &k->points[j], &unused, &nearest))));
		errors[n++] = worst;
	}
	size_t wanted = (size_t)ceil(inside * (double)(n + 1));
	order_ascending(errors, n);
	if (n > 0 && wanted <= n)
		result = errors[wanted - 1];
	arena_done(&a);
	return result;
}

static size_t models_in(const struct known *k, size_t *points)
{
	size_t n = 0;

	*points = 0;
	for (size_t i = 0; i < k->count; i++) {
		bool seen = false;

		if (!is_in(k, i))
			continue;
		++*points;
		for (size_t j = 0; j < i && !seen; j++)
			seen = k->points[j].model == k->points[i].model;
		n += !seen;
	}
	return n;
}

static void make(const struct known *k, const struct forecast_point *asked, double within, struct forecast *out)
{
	struct trained t = train(k);

	*out = (struct forecast){ 0 };
	out->models = models_in(k, &out->points);
	out->ms = predict(k, &t, asked, &out->law_ms, &out->nearest);
	out->low = out->ms * exp(-within);
	out->high = out->ms * exp(within);
}

static bool is_good(const struct forecast_point *p)
{
	return p->flops > 0 && p->nbytes > 0 && p->nodes > 0 && isfinite(p->flops) && isfinite(p->nbytes) && isfinite(p->nodes);
}

static enum status check(const struct known *k, size_t least, struct error *err)
{
	size_t points, models = models_in(k, &points);

	for (size_t i = 0; i < k->count; i++)
		if (!is_good(&k->points[i]) || !(k->points[i].ms > 0) || !isfinite(k->points[i].ms) || k->points[i].model < 0)
			return error_set(err, STATUS_BAD_INPUT, "a row without operations, bytes, nodes or a time");
	if (models < least)
		return error_set(err, STATUS_UNSUPPORTED,
			"too few models to predict from: %zu have a time here, and %zu are needed", models, least);
	return STATUS_OK;
}

// "1.5 GFLOP" of 1.5e9 and "FLOP"
static const char *scaled(struct arena *a, double x, const char *unit)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T" };
	size_t k = 0;

	while (x >= 999.5 && k + 1 < sizeof prefixes / sizeof *prefixes) {
		x /= 1000;
		k++;
	}
	return arena_printf(a, "%.3g %s%s", x, prefixes[k], unit);
}

// What the measured models say nothing of: much more arithmetic, or bytes, than any of them has.
static enum status check_reach(const struct known *k, const struct forecast_point *asked, struct error *err)
{
	double flops = 0, nbytes = 0;
	struct arena a = { 0 };
	enum status s = STATUS_OK;

	for (size_t i = 0; i < k->count; i++) {
		flops = fmax(flops, is_in(k, i) ? k->points[i].flops : 0);
		nbytes = fmax(nbytes, is_in(k, i) ? k->points[i].nbytes : 0);
	}
	if (asked->flops > FORECAST_BEYOND * flops)
		s = error_set(err, STATUS_UNSUPPORTED, "not predicted: the largest model measured here has %s, this one %s",
			scaled(&a, flops, "FLOP"), scaled(&a, asked->flops, "FLOP"));
	else if (asked->nbytes > FORECAST_BEYOND * nbytes)
		s = error_set(err, STATUS_UNSUPPORTED, "not predicted: the largest model measured here moves %s, this one %s",
			scaled(&a, nbytes, "B"), scaled(&a, asked->nbytes, "B"));
	arena_done(&a);
	return s;
}

enum status forecast_make(const struct forecast_point *known, size_t count, const struct forecast_point *asked,
	struct forecast *out, struct error *err)
{
	struct known k = { known, count, -1, -1 };
	enum status s = check(&k, FORECAST_MODELS, err);

	if (s == STATUS_OK && !is_good(asked))
		s = error_set(err, STATUS_BAD_INPUT, "what is asked for has no operations, bytes or nodes");
	if (s == STATUS_OK)
		s = check_reach(&k, asked, err);
	if (s == STATUS_OK)
		make(&k, asked, reach(&k), out);
	return s;
}

enum status forecast_prove(const struct forecast_point *known, size_t count, struct forecast *out, struct error *err)
{
	struct known k = { known, count, -1, -1 };
	enum status s = check(&k, FORECAST_MODELS + 1, err);

	for (size_t i = 0; i < count && s == STATUS_OK; i++) {
		size_t before = 0;

		while (before < i && known[before].model != known[i].model)
			before++;
		k.without = known[i].model;
		double within = before < i ? log(out[before].high / out[before].ms) : reach(&k);
		make(&k, &known[i], within, &out[i]);
	}
	return s;
}

void forecast_judge(struct forecast_proof *out, const double *measured_ms, const struct forecast *made, size_t count)
{
	struct arena a = { 0 };
	double *errors = ARENA_ARRAY(&a, count + 1, double), z = normal_95, n = (double)count;

	*out = (struct forecast_proof){ .count = count };
	for (size_t i = 0; i < count; i++) {
		out->covered += measured_ms[i] >= made[i].low && measured_ms[i] <= made[i].high;
		errors[i] = exp(fabs(log(measured_ms[i] / made[i].ms)));
	}
	double p = (double)out->covered / n, middle = (p + z * z / (2 * n)) / (1 + z * z / n),
	       half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
	out->low = count ? fmax(0, middle - half) : (double)NAN;
	out->high = count ? fmin(1, middle + half) : (double)NAN;
	out->worst_error = stats_max(errors, count);
	out->median_error = stats_median(errors, count);
	arena_done(&a);
}
