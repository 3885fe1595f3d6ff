// SPDX-License-Identifier: Apache-2.0
// One step of each scheduler. x_t = alpha x_0 + sigma noise; an answer is the noise, x_0, or the velocity
// alpha noise - sigma x_0.
#include <math.h>
#include <string.h>

#include "denoise/inside.h"

static double clipped(const struct scheduler *s, double x)
{
	return s->clip > 0 ? fmax(-s->clip, fmin(s->clip, x)) : x;
}

// x_0 by the answer, where alpha^2 + sigma^2 is 1; of a flow alpha is 1 - sigma.
static double clean_of(const struct scheduler *s, double alpha, double sigma, double x, double answer)
{
	switch (s->predicts) {
	case PREDICTS_NOISE:
		return (x - sigma * answer) / alpha;
	case PREDICTS_SAMPLE:
		return answer;
	case PREDICTS_VELOCITY:
		return alpha * x - sigma * answer;
	case PREDICTS_FLOW:
		break;
	}
	return x - sigma * answer;
}

static double noise_of(const struct scheduler *s, double alpha, double sigma, double x, double answer)
{
	return s->predicts == PREDICTS_NOISE       ? answer
		: s->predicts == PREDICTS_VELOCITY ? alpha * answer + sigma * x
						   : (x - alpha * answer) / sigma;
}

// alphas_cumprod after a step back of train / asked.
static double kept_before(const struct scheduler *s, double time)
{
	return time >= 0 ? s->kept[(size_t)time] : s->last_kept;
}

// Song et al. 2020 (https://arxiv.org/abs/2010.02502), formulas 12 and 16.
void step_ddim(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	double now = s->kept[(size_t)s->time[i]], next = kept_before(s, s->time[i] - (double)(s->train / s->asked));
	double alpha = sqrt(now), sigma = sqrt(1 - now);
	double spread = s->eta * sqrt((1 - next) / (1 - now) * (1 - now / next)), toward = sqrt(1 - next - spread * spread);

	for (size_t k = 0; k < n; k++) {
		double clean = clipped(s, clean_of(s, alpha, sigma, x[k], answer[k]));
		x[k] = (float)(sqrt(next) * clean + toward * noise_of(s, alpha, sigma, x[k], answer[k]) +
			(noise ? spread * noise[k] : 0));
	}
}

// Ho et al. 2020 (https://arxiv.org/abs/2006.11239), formulas 6 and 7.
void step_ddpm(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	double now = s->kept[(size_t)s->time[i]], next = i + 1 < s->steps ? s->kept[(size_t)s->time[i + 1]] : 1;
	double beta = 1 - now / next, small = fmax((1 - next) / (1 - now) * beta, 1e-20);
	double variance = s->large_variance ? beta : small, spread = sqrt(variance);

	for (size_t k = 0; k < n; k++) {
		double clean = clipped(s, clean_of(s, sqrt(now), sqrt(1 - now), x[k], answer[k]));
		x[k] = (float)(sqrt(next) * beta / (1 - now) * clean + sqrt(now / next) * (1 - next) / (1 - now) * x[k] +
			(noise ? spread * noise[k] : 0));
	}
}

// Of x_0 + sigma noise (Karras et al. 2022, https://arxiv.org/abs/2206.00364): x_0 by the answer.
static double clean_by_sigma(const struct scheduler *s, double sigma, double x, double answer)
{
	return s->predicts == PREDICTS_NOISE     ? x - sigma * answer
		: s->predicts == PREDICTS_SAMPLE ? answer
						 : x / (sigma * sigma + 1) - answer * sigma / sqrt(sigma * sigma + 1);
}

void step_euler(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	double sigma = s->sigma[i], by = s->sigma[i + 1] - sigma;
	(void)noise;

	for (size_t k = 0; k < n; k++)
		x[k] = (float)(x[k] + (x[k] - clean_by_sigma(s, sigma, x[k], answer[k])) / sigma * by);
}

void step_euler_ancestral(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	double from = s->sigma[i], to = s->sigma[i + 1];
	double up = sqrt(to * to * (from * from - to * to) / (from * from)), down = sqrt(to * to - up * up);

	for (size_t k = 0; k < n; k++)
		x[k] = (float)(x[k] + (x[k] - clean_by_sigma(s, from, x[k], answer[k])) / from * (down - from) +
			(noise ? up * noise[k] : 0));
}

// Each time but the first is asked twice: the second answer corrects the step that the first began.
void step_heun(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	bool first = i % 2 == 0;
	size_t begun = first ? i : i - 1;
	double sigma = s->sigma[begun], next = s->sigma[begun + 1], here = first ? sigma : next;
	(void)noise;

	for (size_t k = 0; k < n; k++) {
		double slope = (x[k] - clipped(s, clean_by_sigma(s, here, x[k], answer[k]))) / here;

		if (first) {
			s->before[k] = x[k];
			s->slope[k] = (float)slope;
			x[k] = (float)(x[k] + slope * (next - sigma));
		} else {
			x[k] = (float)(s->before[k] + (s->slope[k] + slope) / 2 * (next - sigma));
		}
	}
}

// Liu et al. 2022 (https://arxiv.org/abs/2209.03003), as in Stable Diffusion 3 (https://arxiv.org/abs/2403.03206).
void step_flow(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	double sigma = s->sigma[i], next = s->sigma[i + 1];

	for (size_t k = 0; k < n; k++)
		x[k] = (float)(s->stochastic ? (1 - next) * (x[k] - sigma * answer[k]) + (noise ? next * noise[k] : 0)
					     : x[k] + (next - sigma) * answer[k]);
}

// Luo et al. 2023 (https://arxiv.org/abs/2310.04378).
void step_lcm(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	bool last = i + 1 == s->steps;
	double now = s->kept[(size_t)s->time[i]], next = s->kept[(size_t)s->time[last ? i : i + 1]];
	double scaled = s->time[i] * s->time_scale, data = 0.5;
	double skip = data * data / (scaled * scaled + data * data), out = scaled / sqrt(scaled * scaled + data * data);

	for (size_t k = 0; k < n; k++) {
		double clean = clipped(s, clean_of(s, sqrt(now), sqrt(1 - now), x[k], answer[k]));
		double denoised = out * clean + skip * x[k];
		x[k] = (float)(last ? denoised : sqrt(next) * denoised + (noise ? sqrt(1 - next) * noise[k] : 0));
	}
}

static void keep_answer(struct scheduler *s, const float *answer, size_t n)
{
	float *oldest = s->answer[ANSWERS_MOST - 1];

	memmove(s->answer + 1, s->answer, (ANSWERS_MOST - 1) * sizeof *s->answer);
	s->answer[0] = oldest;
	memcpy(oldest, answer, n * sizeof *answer);
	s->answers += s->answers < ANSWERS_MOST;
}

// Liu et al. 2022 (https://arxiv.org/abs/2202.09778), linear multistep without Runge-Kutta at the beginning: the second answer
// is of the time that the first step went to, and repeats that step with the mean of both.
void step_pndm(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	static const double weights[ANSWERS_MOST][ANSWERS_MOST] = { { 1 }, { 1.5, -0.5 }, { 23.0 / 12, -16.0 / 12, 5.0 / 12 },
		{ 55.0 / 24, -59.0 / 24, 37.0 / 24, -9.0 / 24 } };
	double back = (double)(s->train / s->asked), time = s->time[i], before = time - back;
	bool again = i == s->first + 1;
	(void)noise;

	if (again) {
		before = time;
		time += back;
	} else {
		keep_answer(s, answer, n);
	}
	double now = s->kept[(size_t)time], next = kept_before(s, before);
	double share = (next - now) / (now * sqrt(1 - next) + sqrt(now * (1 - now) * next));
	for (size_t k = 0; k < n; k++) {
		double mixed = 0, from = x[k];

		for (int j = 0; j < s->answers && !again; j++)
			mixed += weights[s->answers - 1][j] * s->answer[j][k];
		if (i == s->first)
			s->before[k] = x[k];
		if (again) {
			mixed = ((double)answer[k] + s->answer[0][k]) / 2;
			from = s->before[k];
		}
		if (s->predicts == PREDICTS_VELOCITY)
			mixed = sqrt(now) * mixed + sqrt(1 - now) * from;
		x[k] = (float)(sqrt(next / now) * from - share * mixed);
	}
}

// The logarithm of the ratio of signal to noise; infinite where there is no noise.
static double ratio(const struct scheduler *s, size_t i)
{
	double alpha = scheduler_alpha(s, s->sigma[i]);
	double sigma = s->flow_sigmas ? s->sigma[i] : s->sigma[i] * alpha;

	return log(alpha) - log(sigma);
}

static double spread_at(const struct scheduler *s, size_t i)
{
	return s->flow_sigmas ? s->sigma[i] : s->sigma[i] * scheduler_alpha(s, s->sigma[i]);
}

// The answer as x_0, or as noise for solvers of the first kind.
static void convert(struct scheduler *s, size_t i, const float *answer, const float *x, size_t n)
{
	double alpha = scheduler_alpha(s, s->sigma[i]), sigma = spread_at(s, i);

	keep_answer(s, answer, n);
	for (size_t k = 0; k < n; k++)
		s->answer[0][k] = (float)(s->plus_plus ? clean_of(s, alpha, sigma, x[k], answer[k])
						       : noise_of(s, alpha, sigma, x[k], answer[k]));
}

// DPM-Solver++ (Lu et al. 2022, https://arxiv.org/abs/2211.01095) and DPM-Solver (https://arxiv.org/abs/2206.00927), multistep.
void step_dpm_solver(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	bool few = s->steps < 15, last = i + 1 == s->steps;
	int known, order;
	(void)noise;

	convert(s, i, answer, x, n);
	known = s->answers < s->order ? s->answers : s->order;
	order = last && ((s->lower_order_final && few) || s->sigma[s->steps] == 0) ? 1
		: i + 2 == s->steps && s->lower_order_final && few && known > 2    ? 2
										   : known;
	double alpha = scheduler_alpha(s, s->sigma[i + 1]), sigma = spread_at(s, i + 1);
	double h = ratio(s, i + 1) - ratio(s, i), sign = s->plus_plus ? -1 : 1;
	double keep = s->plus_plus ? sigma / spread_at(s, i) : alpha / scheduler_alpha(s, s->sigma[i]);
	double by = s->plus_plus ? alpha : sigma, e = expm1(sign * h);
	double r0 = order > 1 ? (ratio(s, i) - ratio(s, i - 1)) / h : 1,
	       r1 = order > 2 ? (ratio(s, i - 1) - ratio(s, i - 2)) / h : 1;
	double first = -sign * by * (e / h - sign), second = -by * ((e - sign * h) / (h * h) - 0.5);
	for (size_t k = 0; k < n; k++) {
		double m0 = s->answer[0][k], y = keep * x[k] - by * e * m0;

		if (order == 2) {
			double d = (m0 - s->answer[1][k]) / r0;
			y += s->heun ? first * d : -0.5 * by * e * d;
		} else if (order == 3) {
			double a = (m0 - s->answer[1][k]) / r0, b = ((double)s->answer[1][k] - s->answer[2][k]) / r1;
			double d1 = a + r0 / (r0 + r1) * (a - b), d2 = (a - b) / (r0 + r1);
			y += first * d1 + second * d2;
		}
		x[k] = (float)y;
	}
}

// Solves m z = v, m [n, n] of at most 3 rows, by elimination with pivots.
static void solve(int n, double m[3][3], double *v)
{
	for (int i = 0; i < n; i++) {
		int best = i;

		for (int r = i + 1; r < n; r++)
			best = fabs(m[r][i]) > fabs(m[best][i]) ? r : best;
		for (int c = 0; c < n; c++) {
			double t = m[i][c];
			m[i][c] = m[best][c], m[best][c] = t;
		}
		double t = v[i];
		v[i] = v[best], v[best] = t;
		for (int r = 0; r < n; r++) {
			double f = r == i ? 0 : m[r][i] / m[i][i];

			for (int c = 0; c < n; c++)
				m[r][c] -= f * m[i][c];
			v[r] -= f * v[i];
		}
	}
	for (int i = 0; i < n; i++)
		v[i] /= m[i][i];
}

// What UniP and UniC share, from step `from` to the next: how long the step is and the weights of differences of answers.
struct unified {
	double keep, by, phi, b, r[3], rho[3];
};

static struct unified unify(const struct scheduler *s, size_t from, int order, bool corrects)
{
	struct unified u = { .keep = spread_at(s, from + 1) / spread_at(s, from), .by = scheduler_alpha(s, s->sigma[from + 1]) };
	double h = ratio(s, from + 1) - ratio(s, from), hh = -h, phi, factorial = 1, m[3][3], right[3];
	int unknown = corrects ? order : order - 1;

	u.phi = expm1(hh);
	u.b = s->bh1 ? hh : u.phi;
	for (int k = 0; k + 1 < order; k++)
		u.r[k] = (ratio(s, from - 1 - (size_t)k) - ratio(s, from)) / h;
	u.r[order - 1] = 1;
	phi = u.phi / hh - 1;
	for (int k = 0; k < order; k++) {
		for (int c = 0; c < order; c++)
			m[k][c] = pow(u.r[c], k);
		right[k] = phi * factorial / u.b;
		factorial *= k + 2;
		phi = phi / hh - 1 / factorial;
	}
	if (unknown > 0)
		solve(unknown, m, right);
	for (int k = 0; k < unknown; k++)
		u.rho[k] = right[k];
	if (corrects ? order == 1 : order == 2) // by the paper's own choice, which is not what the equations give
		u.rho[0] = 0.5;
	return u;
}

// UniPC (Zhao et al. 2023, https://arxiv.org/abs/2302.04867): an answer corrects the step that led to it, then the next is made.
void step_unipc(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	(void)noise;
	convert(s, i, answer, x, n); // answer[0] is of now, answer[1] of where the last step began
	if (i > s->first) {
		struct unified u = unify(s, i - 1, s->last_order, true);

		for (size_t k = 0; k < n; k++) {
			double m0 = s->answer[1][k], sum = 0;

			for (int j = 0; j + 1 < s->last_order; j++)
				sum += u.rho[j] * (s->answer[2 + j][k] - m0) / u.r[j];
			sum += u.rho[s->last_order - 1] * (s->answer[0][k] - m0);
			x[k] = (float)(u.keep * s->before[k] - u.by * u.phi * m0 - u.by * u.b * sum);
		}
	}
	memcpy(s->before, x, n * sizeof *x);
	size_t left = s->steps - i;
	int order = s->lower_order_final && (size_t)s->order > left ? (int)left : s->order;
	order = order < s->answers ? order : s->answers;
	s->last_order = order;
	struct unified u = unify(s, i, order, false);
	for (size_t k = 0; k < n; k++) {
		double m0 = s->answer[0][k], sum = 0;

		for (int j = 0; j + 1 < order; j++)
			sum += u.rho[j] * (s->answer[1 + j][k] - m0) / u.r[j];
		x[k] = (float)(u.keep * x[k] - u.by * u.phi * m0 - u.by * u.b * sum);
	}
}
