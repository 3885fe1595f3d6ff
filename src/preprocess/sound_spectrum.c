// SPDX-License-Identifier: Apache-2.0
#include "preprocess/sound_spectrum.h"

#include <math.h>
#include <string.h>

#include "preprocess/sound_fft.h"

struct filter { // a triangle: weights of frequencies [begin, end)
	size_t begin, end;
	double *weight; // of the first
};

struct spectrum_maker {
	struct spectrum is;
	size_t frame, hop, fft, frequencies;
	double *window; // [frame]
	struct filter *filters;
	struct fft *transform;
	double *buffer; // [fft]: a frame, zeros behind it
	struct complex_value *bins;
	double *power; // [frequencies]
};

// ---- windows --------------------------------------------------------------------------------------------------------------

static double window_at(enum window_kind kind, double i, double last)
{
	double hann = last > 0 ? 0.5 - 0.5 * cos(2 * M_PI * i / last) : 1;

	switch (kind) {
	case WINDOW_BOXCAR:
		return 1;
	case WINDOW_HANN:
		return hann;
	case WINDOW_HAMMING:
		return last > 0 ? 0.54 - 0.46 * cos(2 * M_PI * i / last) : 1;
	case WINDOW_POVEY:
		return pow(hann, 0.85);
	}
	return 0;
}

static double *window_make(struct arena *a, const struct spectrum *s)
{
	double *window = ARENA_ARRAY(a, (size_t)s->frame, double);
	int begin = (s->frame - s->window_length) / 2, last = s->periodic ? s->window_length : s->window_length - 1;

	for (int i = 0; i < s->window_length; i++)
		window[begin + i] = window_at(s->window, i, last);
	return window;
}

// ---- mel filters ----------------------------------------------------------------------------------------------------------

static double mel_of_hertz(enum mel_scale scale, double f)
{
	switch (scale) {
	case MEL_HTK:
		return 2595 * log10(1 + f / 700);
	case MEL_KALDI:
		return 1127 * log(1 + f / 700);
	case MEL_SLANEY:
		break;
	}
	return f >= 1000 ? 15 + log(f / 1000) * (27 / log(6.4)) : 3 * f / 200;
}

static double hertz_of_mel(enum mel_scale scale, double mel)
{
	switch (scale) {
	case MEL_HTK:
		return 700 * (pow(10, mel / 2595) - 1);
	case MEL_KALDI:
		return 700 * (exp(mel / 1127) - 1);
	case MEL_SLANEY:
		break;
	}
	return mel >= 15 ? 1000 * exp(log(6.4) / 27 * (mel - 15)) : 200 * mel / 3;
}

// Frequency i of the transform, in what the triangles are made in.
static double place_of(const struct spectrum *s, int rate, size_t i)
{
	size_t last = (size_t)s->fft / 2;

	if (s->mel_triangles)
		return mel_of_hertz(s->scale, (double)rate / (double)(2 * last) * (double)i);
	return (double)i * ((double)(rate / 2) / (double)last);
}

// The triangle from corner[0] over corner[1] to corner[2].
static void filter_make(struct arena *a, const struct spectrum *s, const double *place, const double *corner, struct filter *out)
{
	double left = corner[0], middle = corner[1], right = corner[2];
	size_t count = (size_t)s->fft / 2 + 1;
	double norm = s->slaney_norm ? 2 / (right - left) : 1;

	while (out->begin < count && place[out->begin] <= left)
		out->begin++;
	for (out->end = out->begin; out->end < count && place[out->end] < right;)
		out->end++;
	out->weight = ARENA_ARRAY(a, out->end - out->begin + 1, double);
	for (size_t i = out->begin; i < out->end; i++) {
		double up = (place[i] - left) / (middle - left), down = (right - place[i]) / (right - middle);
		out->weight[i - out->begin] = fmax(0, fmin(up, down)) * norm;
	}
}

static struct filter *filters_make(struct arena *a, const struct spectrum *s, int rate)
{
	struct filter *filters = ARENA_ARRAY(a, (size_t)s->bins, struct filter);
	size_t count = (size_t)s->fft / 2 + 1, corners = (size_t)s->bins + 2;
	double *place = ARENA_ARRAY(a, count, double), *corner = ARENA_ARRAY(a, corners, double);
	double low = mel_of_hertz(s->scale, s->low), high = mel_of_hertz(s->scale, s->high);

	for (size_t i = 0; i < count; i++)
		place[i] = place_of(s, rate, i);
	for (size_t i = 0; i < corners; i++) {
		double mel = low + (high - low) / (double)(corners - 1) * (double)i;
		corner[i] = s->mel_triangles ? mel : hertz_of_mel(s->scale, mel);
	}
	for (size_t i = 0; i < (size_t)s->bins; i++)
		filter_make(a, s, place, corner + i, &filters[i]);
	return filters;
}

// ---- a spectrum -----------------------------------------------------------------------------------------------------------

// Classes have 2 to 8; without a bound a setting makes of seconds of sound what takes minutes.
enum { OVERLAP_MOST = 64 };

static enum status check(const struct spectrum *s, struct error *err)
{
	if (s->fft < 2 || s->fft > SPECTRUM_FFT_MOST)
		return error_set(err, STATUS_BAD_INPUT, "a transform of %d values: 2 to %d can be", s->fft, SPECTRUM_FFT_MOST);
	if (s->frame < 1 || s->frame > s->fft || s->window_length < 1 || s->window_length > s->frame)
		return error_set(err, STATUS_BAD_INPUT,
			"a window of %d samples in a frame of %d in a transform of %d does not fit", s->window_length, s->frame,
			s->fft);
	if (s->hop < 1)
		return error_set(err, STATUS_BAD_INPUT, "frames that are %d samples apart", s->hop);
	if (s->frame / s->hop > OVERLAP_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"frames of %d samples that are %d apart: each sample would be in %d of them, and at most in %d it can be",
			s->frame, s->hop, s->frame / s->hop, OVERLAP_MOST);
	if (s->bins < 1 || s->bins > SPECTRUM_BINS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%d mel filters: 1 to %d can be", s->bins, SPECTRUM_BINS_MOST);
	if (!(s->low >= 0 && s->low < s->high))
		return error_set(err, STATUS_BAD_INPUT, "mel filters from %g to %g Hz", s->low, s->high);
	return STATUS_OK;
}

enum status spectrum_make(struct arena *a, const struct spectrum *s, int rate, struct spectrum_maker **out, struct error *err)
{
	struct spectrum_maker *m = ARENA_NEW(a, struct spectrum_maker);

	m->is = *s;
	if (m->is.high == 0)
		m->is.high = rate / 2;
	enum status status = check(&m->is, err);
	if (status)
		return status;
	m->frame = (size_t)s->frame;
	m->hop = (size_t)s->hop;
	m->fft = (size_t)s->fft;
	m->frequencies = m->fft / 2 + 1;
	m->window = window_make(a, &m->is);
	m->filters = filters_make(a, &m->is, rate);
	m->transform = fft_make(a, m->fft);
	m->buffer = ARENA_ARRAY(a, m->fft, double);
	m->bins = ARENA_ARRAY(a, m->frequencies, struct complex_value);
	m->power = ARENA_ARRAY(a, m->frequencies, double);
	*out = m;
	return STATUS_OK;
}

size_t spectrum_cost(const struct spectrum_maker *m)
{
	return m->fft;
}

size_t spectrum_frames(const struct spectrum_maker *m, size_t length)
{
	size_t all = length + (m->is.center ? m->frame / 2 * 2 : 0);

	return all < m->frame || !length ? 0 : 1 + (all - m->frame) / m->hop;
}

// Sample i of a sound that goes on on both sides: zeros, or mirrored at its first and last sample.
static double sample_at(const struct spectrum_maker *m, const float *samples, size_t length, ptrdiff_t i)
{
	ptrdiff_t n = (ptrdiff_t)length, period = 2 * (n - 1);

	if (i >= 0 && i < n)
		return samples[i];
	if (m->is.zeros)
		return 0;
	if (n == 1)
		return samples[0];
	i = (i % period + period) % period;
	return samples[i < n ? i : period - i];
}

static void frame_take(const struct spectrum_maker *m, const float *samples, size_t length, size_t at)
{
	const struct spectrum *s = &m->is;
	ptrdiff_t begin = (ptrdiff_t)(at * m->hop) - (s->center ? (ptrdiff_t)(m->frame / 2) : 0);
	double *x = m->buffer, sum = 0;

	for (size_t i = 0; i < m->frame; i++) {
		x[i] = sample_at(m, samples, length, begin + (ptrdiff_t)i) * s->gain;
		sum += x[i];
	}
	if (s->remove_mean)
		for (size_t i = 0; i < m->frame; i++)
			x[i] -= sum / (double)m->frame;
	if (s->preemphasis != 0) {
		for (size_t i = m->frame - 1; i > 0; i--)
			x[i] -= s->preemphasis * x[i - 1];
		x[0] *= 1 - s->preemphasis;
	}
	for (size_t i = 0; i < m->frame; i++)
		x[i] *= m->window[i];
}

static double log_of(enum logarithm kind, double x)
{
	return kind == LOG_NATURAL ? log(x) : kind == LOG_TEN ? log10(x) : 10 * log10(x);
}

void spectrum_run(const struct spectrum_maker *m, const float *samples, size_t length, float *out)
{
	const struct spectrum *s = &m->is;
	size_t frames = spectrum_frames(m, length);

	for (size_t t = 0; t < frames; t++) {
		frame_take(m, samples, length, t);
		fft_real(m->transform, m->buffer, m->bins);
		for (size_t i = 0; i < m->frequencies; i++) {
			double re = s->single ? (float)m->bins[i].re : m->bins[i].re;
			double im = s->single ? (float)m->bins[i].im : m->bins[i].im;
			m->power[i] = s->power == 2 ? re * re + im * im : hypot(re, im);
		}
		for (size_t b = 0; b < (size_t)s->bins; b++) {
			const struct filter *f = &m->filters[b];
			double mel = 0;

			for (size_t i = f->begin; i < f->end; i++)
				mel += f->weight[i - f->begin] * m->power[i];
			*out++ = (float)log_of(s->log, (mel < s->floor ? s->floor : mel) + s->added); // NaN stays NaN
		}
	}
}
