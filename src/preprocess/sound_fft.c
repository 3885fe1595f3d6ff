// SPDX-License-Identifier: Apache-2.0
#include "preprocess/sound_fft.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct dft { // of complex values
	size_t n;
	size_t factors[64];          // of n, prime or 4; 0 behind the last
	struct complex_value *root;  // exp(-2 pi i j / n), j < n
	struct complex_value *input; // [n]
	struct complex_value *output;
	// Bluestein: x[j] chirp[j], convolved with the chirp's conjugate.
	const struct dft *longer; // NULL: mixed radices
	struct complex_value *chirp, *kernel;
};

struct fft {
	size_t n;
	const struct dft *dft;      // of n values; of n / 2 where n is even: even ones are real parts, odd ones imaginary parts
	struct complex_value *turn; // exp(-2 pi i k / n), k <= n / 2
};

static struct complex_value times(struct complex_value a, struct complex_value b)
{
	return (struct complex_value){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static struct complex_value plus(struct complex_value a, struct complex_value b)
{
	return (struct complex_value){ a.re + b.re, a.im + b.im };
}

static struct complex_value minus(struct complex_value a, struct complex_value b)
{
	return (struct complex_value){ a.re - b.re, a.im - b.im };
}

// exp(-2 pi i j / n)
static struct complex_value root_of_unity(size_t j, size_t n)
{
	double angle = -2 * M_PI * (double)j / (double)n;

	return (struct complex_value){ cos(angle), sin(angle) };
}

// ---- mixed radices --------------------------------------------------------------------------------------------------------

// False when a prime factor is too large for a butterfly.
static bool factorize(size_t n, size_t *factors)
{
	size_t count = 0;

	for (; n % 4 == 0; n /= 4)
		factors[count++] = 4;
	for (size_t p = 2; p <= FFT_RADIX_MOST; p++)
		for (; n % p == 0; n /= p)
			factors[count++] = p;
	factors[count] = 0;
	return n == 1;
}

static void butterfly_2(struct complex_value *t)
{
	struct complex_value b = t[1];

	t[1] = minus(t[0], b);
	t[0] = plus(t[0], b);
}

static void butterfly_4(struct complex_value *t)
{
	struct complex_value even = plus(t[0], t[2]), even_minus = minus(t[0], t[2]);
	struct complex_value odd = plus(t[1], t[3]), odd_minus = minus(t[1], t[3]);

	t[0] = plus(even, odd);
	t[2] = minus(even, odd);
	t[1] = (struct complex_value){ even_minus.re + odd_minus.im, even_minus.im - odd_minus.re };
	t[3] = (struct complex_value){ even_minus.re - odd_minus.im, even_minus.im + odd_minus.re };
}

static void butterfly_any(const struct dft *f, struct complex_value *t, size_t p)
{
	struct complex_value in[FFT_RADIX_MOST];
	size_t step = f->n / p;

	memcpy(in, t, p * sizeof *in);
	for (size_t q = 0; q < p; q++) {
		t[q] = in[0];
		for (size_t r = 1; r < p; r++)
			t[q] = plus(t[q], times(in[r], f->root[r * q % p * step]));
	}
}

// in[0], in[stride], ...: n of them, to out[0 .. n - 1]. At most 32 deep: n halves.
static void transform(const struct dft *f, const struct complex_value *in, size_t stride, struct complex_value *out, size_t n,
	const size_t *factor)
{
	size_t p = *factor, m = p ? n / p : 1;

	if (!p) {
		*out = *in;
		return;
	}
	for (size_t r = 0; r < p; r++)
		transform(f, in + r * stride, stride * p, out + r * m, m, factor + 1);
	for (size_t k = 0; k < m; k++) {
		struct complex_value t[FFT_RADIX_MOST];

		t[0] = out[k];
		for (size_t r = 1; r < p; r++)
			t[r] = times(out[k + r * m], f->root[r * k * stride]);
		if (p == 2)
			butterfly_2(t);
		else if (p == 4)
			butterfly_4(t);
		else
			butterfly_any(f, t, p);
		for (size_t r = 0; r < p; r++)
			out[k + r * m] = t[r];
	}
}

// ---- Bluestein ------------------------------------------------------------------------------------------------------------

static struct dft *dft_make(struct arena *a, size_t n);

// jk = (j^2 + k^2 - (k - j)^2) / 2, so X[k] = chirp[k] sum of x[j] chirp[j] / chirp[k - j], with chirp[j] = exp(-pi i j^2 /
// n).
static void bluestein_make(struct arena *a, struct dft *f)
{
	size_t n = f->n, m = 1;

	while (m < 2 * n - 1)
		m *= 2;
	struct dft *longer = dft_make(a, m);
	f->longer = longer;
	f->chirp = ARENA_ARRAY(a, n, struct complex_value);
	f->kernel = ARENA_ARRAY(a, m, struct complex_value);
	for (size_t j = 0; j < n; j++)
		f->chirp[j] = root_of_unity((size_t)((uint64_t)j * j % (2 * n)), 2 * n);
	memset(longer->input, 0, m * sizeof *longer->input);
	for (size_t j = 0; j < n; j++)
		longer->input[j] = longer->input[(m - j) % m] = (struct complex_value){ f->chirp[j].re, -f->chirp[j].im };
	transform(longer, longer->input, 1, f->kernel, m, longer->factors);
}

static void bluestein(const struct dft *f)
{
	const struct dft *l = f->longer;
	size_t n = f->n, m = l->n;

	memset(l->input, 0, m * sizeof *l->input);
	for (size_t j = 0; j < n; j++)
		l->input[j] = times(f->input[j], f->chirp[j]);
	transform(l, l->input, 1, l->output, m, l->factors);
	for (size_t j = 0; j < m; j++) { // the inverse is the conjugate of the conjugate's transform
		struct complex_value product = times(l->output[j], f->kernel[j]);
		l->input[j] = (struct complex_value){ product.re, -product.im };
	}
	transform(l, l->input, 1, l->output, m, l->factors);
	for (size_t k = 0; k < n; k++) {
		struct complex_value sum = { l->output[k].re / (double)m, -l->output[k].im / (double)m };
		f->output[k] = times(sum, f->chirp[k]);
	}
}

// ---- complex, then real values --------------------------------------------------------------------------------------------

static struct dft *dft_make(struct arena *a, size_t n)
{
	struct dft *f = ARENA_NEW(a, struct dft);

	f->n = n;
	f->input = ARENA_ARRAY(a, n, struct complex_value);
	f->output = ARENA_ARRAY(a, n, struct complex_value);
	if (!factorize(n, f->factors)) {
		bluestein_make(a, f);
		return f;
	}
	f->root = ARENA_ARRAY(a, n, struct complex_value);
	for (size_t j = 0; j < n; j++)
		f->root[j] = root_of_unity(j, n);
	return f;
}

static void dft_run(const struct dft *f)
{
	if (f->longer)
		bluestein(f);
	else
		transform(f, f->input, 1, f->output, f->n, f->factors);
}

struct fft *fft_make(struct arena *a, size_t n)
{
	struct fft *f = ARENA_NEW(a, struct fft);

	f->n = n;
	f->dft = dft_make(a, n % 2 ? n : n / 2);
	f->turn = ARENA_ARRAY(a, n / 2 + 1, struct complex_value);
	for (size_t k = 0; k <= n / 2; k++)
		f->turn[k] = root_of_unity(k, n);
	return f;
}

// Z = E + i O, the transforms of even and odd values, each its own mirror image's conjugate; X[k] = E[k] + turn[k] O[k].
static void untangle(const struct fft *f, struct complex_value *out)
{
	size_t m = f->n / 2;

	for (size_t k = 0; k <= m; k++) {
		struct complex_value z = f->dft->output[k % m], mirror = f->dft->output[(m - k) % m];
		struct complex_value even = { (z.re + mirror.re) / 2, (z.im - mirror.im) / 2 };
		struct complex_value odd = { (z.im + mirror.im) / 2, (mirror.re - z.re) / 2 };
		out[k] = plus(even, times(f->turn[k], odd));
	}
}

void fft_real(const struct fft *f, const double *in, struct complex_value *out)
{
	bool even = f->n % 2 == 0;

	for (size_t j = 0; j < f->dft->n; j++)
		f->dft->input[j] = even ? (struct complex_value){ in[2 * j], in[2 * j + 1] } : (struct complex_value){ in[j], 0 };
	dft_run(f->dft);
	if (even)
		untangle(f, out);
	else
		memcpy(out, f->dft->output, (f->n / 2 + 1) * sizeof *out);
}
