// SPDX-License-Identifier: Apache-2.0
#include "preprocess/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- filters --------------------------------------------------------------------------------------------------------------

static double box(double x)
{
	return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static double bilinear(double x)
{
	return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

static double hamming(double x)
{
	x = fabs(x);
	if (x == 0 || x >= 1)
		return x == 0;
	x *= M_PI;
	return sin(x) / x * (0.54 + 0.46 * cos(x));
}

// Keys' cubic convolution with a = -1/2.
static double bicubic(double x)
{
	x = fabs(x);
	return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static double sinc(double x)
{
	return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

static double lanczos(double x)
{
	return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

static const struct {
	double (*at)(double x);
	double support;
} filters[FILTER_COUNT] = {
	[FILTER_BOX] = { box, 0.5 },
	[FILTER_BILINEAR] = { bilinear, 1 },
	[FILTER_HAMMING] = { hamming, 1 },
	[FILTER_BICUBIC] = { bicubic, 2 },
	[FILTER_LANCZOS] = { lanczos, 3 },
};

// ---- weights --------------------------------------------------------------------------------------------------------------

// Of each output the inputs first[i] .. first[i] + count[i], weighted by weight[i * most ..].
struct taps {
	int out, most;
	int *first, *count;
	double *weight;
};

static void one_output(struct taps *t, int i, int in, enum filter filter, double scale, double support)
{
	double centre = (i + 0.5) * scale, stretch = scale < 1 ? 1 : scale, sum = 0, *w = t->weight + (size_t)i * (size_t)t->most;
	int first = (int)(centre - support + 0.5), end = (int)(centre + support + 0.5);

	first = first < 0 ? 0 : first;
	end = end > in ? in : end;
	t->first[i] = first;
	t->count[i] = end - first;
	for (int j = 0; j < end - first; j++) {
		w[j] = filters[filter].at((j + first - centre + 0.5) * (1 / stretch));
		sum += w[j];
	}
	for (int j = 0; sum != 0 && j < end - first; j++)
		w[j] /= sum;
}

// The same in float32, rounded where ATen's kernel for float rounds.
static void one_output_single(struct taps *t, int i, int in, enum filter filter, float scale, float support)
{
	float centre = (float)(scale * (i + 0.5)), inverse = scale >= 1 ? 1 / scale : 1, sum = 0;
	double *w = t->weight + (size_t)i * (size_t)t->most;
	int first = (int)(centre - support + 0.5), end = (int)(centre + support + 0.5);

	first = first < 0 ? 0 : first;
	end = end > in ? in : end;
	t->first[i] = first;
	t->count[i] = end - first;
	for (int j = 0; j < end - first; j++) {
		float one = (float)filters[filter].at((float)(((float)(j + first) - centre + 0.5) * inverse));
		w[j] = one;
		sum += one;
	}
	for (int j = 0; sum != 0 && j < end - first; j++)
		w[j] = (float)w[j] / sum;
}

// At most 65535 outputs of 6 * 65535 / out + 7 weights: 7 MB.
static struct taps taps_make(struct arena *a, int in, int out, enum filter filter, bool single)
{
	double scale = (double)in / out, support = filters[filter].support * (scale < 1 ? 1 : scale);
	struct taps t = { .out = out, .most = (int)ceil(support) * 2 + 1 };

	t.first = ARENA_ARRAY(a, (size_t)out, int);
	t.count = ARENA_ARRAY(a, (size_t)out, int);
	t.weight = ARENA_ARRAY(a, (size_t)out * (size_t)t.most, double);
	for (int i = 0; i < out; i++)
		if (single)
			one_output_single(&t, i, in, filter, (float)in / (float)out, (float)support);
		else
			one_output(&t, i, in, filter, scale, support);
	return t;
}

// Bits behind the point: Pillow's 22; in ATen as many as keep the largest weight below 2^15.
static int precision_of(const struct taps *t, enum library library)
{
	enum { PILLOW = 32 - 8 - 2, ATEN_MOST = 22 };
	double largest = 0;
	int bits = 0;

	if (library == LIBRARY_PILLOW)
		return PILLOW;
	for (size_t i = 0; i < (size_t)t->out * (size_t)t->most; i++)
		largest = t->weight[i] > largest ? t->weight[i] : largest;
	while (bits < ATEN_MOST && (int)(0.5 + largest * (1 << (bits + 1))) < 1 << 15)
		bits++;
	return bits;
}

static int32_t *taps_fixed(struct arena *a, const struct taps *t, int bits)
{
	size_t count = (size_t)t->out * (size_t)t->most;
	int32_t *out = ARENA_ARRAY(a, count, int32_t);

	for (size_t i = 0; i < count; i++) {
		double w = t->weight[i] * (1 << bits);
		out[i] = (int32_t)(w < 0 ? w - 0.5 : w + 0.5);
	}
	return out;
}

// ---- pictures -------------------------------------------------------------------------------------------------------------

static uint8_t rounded(int32_t sum, int bits)
{
	int32_t v = sum >> bits;

	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void across(struct picture *out, const struct picture *in, const struct taps *t, const int32_t *fixed, int bits)
{
	int channels = in->channels;

	for (int y = 0; y < out->height; y++)
		for (int x = 0; x < out->width; x++) {
			const uint8_t *from = picture_at(in, t->first[x], y);
			const int32_t *w = fixed + (size_t)x * (size_t)t->most;
			int32_t sum[4];
			for (int k = 0; k < channels; k++)
				sum[k] = 1 << (bits - 1);
			for (int j = 0; j < t->count[x]; j++, from += channels)
				for (int k = 0; k < channels; k++)
					sum[k] += from[k] * w[j];
			for (int k = 0; k < channels; k++)
				picture_at(out, x, y)[k] = rounded(sum[k], bits);
		}
}

static void down(
	struct picture *out, const struct picture *in, const struct taps *t, const int32_t *fixed, int bits, int32_t *sum)
{
	size_t width = (size_t)in->width * (size_t)in->channels;

	for (int y = 0; y < out->height; y++) {
		const int32_t *w = fixed + (size_t)y * (size_t)t->most;
		for (size_t x = 0; x < width; x++)
			sum[x] = 1 << (bits - 1);
		for (int j = 0; j < t->count[y]; j++) {
			const uint8_t *from = picture_at(in, 0, t->first[y] + j);
			for (size_t x = 0; x < width; x++)
				sum[x] += from[x] * w[j];
		}
		for (size_t x = 0; x < width; x++)
			picture_at(out, 0, y)[x] = rounded(sum[x], bits);
	}
}

// One pass; where nothing changes along the axis it is not done at all.
static enum status pass(struct picture *out, struct arena *a, const struct picture *in, bool vertical, int size,
	enum filter filter, enum library library, struct error *err)
{
	int from = vertical ? in->height : in->width, bits;
	struct arena own = { 0 };
	enum status s;

	if (from == size) {
		*out = *in;
		return STATUS_OK;
	}
	if ((s = picture_new(out, a, vertical ? in->width : size, vertical ? size : in->height, in->channels, err)))
		return s;
	struct taps t = taps_make(&own, from, size, filter, false);
	bits = precision_of(&t, library);
	int32_t *fixed = taps_fixed(&own, &t, bits);
	if (vertical)
		down(out, in, &t, fixed, bits, ARENA_ARRAY(&own, (size_t)in->width * (size_t)in->channels, int32_t));
	else
		across(out, in, &t, fixed, bits);
	arena_done(&own);
	return STATUS_OK;
}

// torchvision's NEAREST_EXACT: the pixel under the middle of the new one, in float32; Pillow: the same in steps of float64.
static void nearest_index(int *index, int in, int out, enum library library)
{
	float scale = (float)in / (float)out;
	double step = (double)in / out, at = step * 0.5;

	for (int i = 0; i < out; i++, at += step) {
		int j = library == LIBRARY_PILLOW ? (int)at : (int)floorf((float)((i + 0.5) * (double)scale));
		index[i] = j < in ? j : in - 1;
	}
}

static enum status nearest(struct picture *out, struct arena *a, const struct picture *in, int height, int width,
	enum library library, struct error *err)
{
	struct arena own = { 0 };
	enum status s = picture_new(out, a, width, height, in->channels, err);

	if (s)
		return s;
	int *columns = ARENA_ARRAY(&own, (size_t)width, int), *rows = ARENA_ARRAY(&own, (size_t)height, int);
	nearest_index(columns, in->width, width, library);
	nearest_index(rows, in->height, height, library);
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			memcpy(picture_at(out, x, y), picture_at(in, columns[x], rows[y]), (size_t)in->channels);
	arena_done(&own);
	return STATUS_OK;
}

// Before anything is computed: a setting may ask for what takes minutes and gigabytes. Between the passes lies a picture of
// `between` pixels.
static enum status check_made(int64_t width, int64_t height, int64_t in, int64_t between, struct error *err)
{
	enum status s = picture_check(width, height, err);

	if (s == STATUS_OK && width * height > PICTURE_MADE_MOST)
		return error_set(err, STATUS_BAD_INPUT, "it would be resized to %lld x %lld: at most %d pixels are made",
			(long long)width, (long long)height, PICTURE_MADE_MOST);
	if (s == STATUS_OK && between > PICTURE_MADE_MOST && between > in)
		return error_set(err, STATUS_BAD_INPUT,
			"it would be resized to %lld x %lld, with %lld pixels on the way: at most %d are made", (long long)width,
			(long long)height, (long long)between, PICTURE_MADE_MOST);
	return s;
}

static bool goes_down_first(const struct picture *in, int64_t height, int64_t width, enum library library)
{
	return library == LIBRARY_PILLOW && height < in->height && in->height - height > 2 * (in->width - width);
}

int64_t picture_resize_between(const struct picture *in, int64_t height, int64_t width, enum filter filter, enum library library)
{
	if (filter == FILTER_NEAREST || height == in->height || width == in->width)
		return 0;
	return goes_down_first(in, height, width, library) ? height * in->width : in->height * width;
}

enum status picture_resize(struct picture *out, struct arena *a, const struct picture *in, int height, int width,
	enum filter filter, enum library library, struct error *err)
{
	const bool down_first = goes_down_first(in, height, width, library);
	const int64_t between_pixels = picture_resize_between(in, height, width, filter, library);
	struct arena own = { 0 };
	struct picture between;
	enum status s = check_made(width, height, (int64_t)in->height * in->width, between_pixels, err);

	if (s)
		return s;
	if (filter == FILTER_NEAREST && (height != in->height || width != in->width))
		return nearest(out, a, in, height, width, library, err);
	if (!between_pixels)
		return pass(out, a, in, height != in->height, height != in->height ? height : width, filter, library, err);
	if (!(s = pass(&between, &own, in, down_first, down_first ? height : width, filter, library, err)))
		s = pass(out, a, &between, !down_first, down_first ? width : height, filter, library, err);
	arena_done(&own);
	return s;
}

// ---- planes of float32 ----------------------------------------------------------------------------------------------------

enum status planes_new(struct planes *out, struct arena *a, int channels, int height, int width, struct error *err)
{
	enum status s = picture_check(width, height, err);

	if (s)
		return s;
	*out = (struct planes){ channels, height, width, NULL };
	out->data = arena_try(a, (size_t)channels * (size_t)height * (size_t)width * sizeof(float));
	return out->data ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "no memory for a picture of %d x %d", width, height);
}

// Along an axis with `inner` values between neighbours.
static void weigh(float *out, const float *in, const struct taps *t, size_t outer, size_t in_count, size_t inner)
{
	for (size_t o = 0; o < outer; o++)
		for (int i = 0; i < t->out; i++)
			for (size_t x = 0; x < inner; x++) {
				const float *from = in + (o * in_count + (size_t)t->first[i]) * inner + x;
				const double *w = t->weight + (size_t)i * (size_t)t->most;
				float sum = 0;
				for (int j = 0; j < t->count[i]; j++, from += inner)
					sum += *from * (float)w[j];
				out[(o * (size_t)t->out + (size_t)i) * inner + x] = sum;
			}
}

static enum status apply(struct planes *out, struct arena *a, const struct planes *in, const struct taps *across,
	const struct taps *down, struct error *err)
{
	size_t c = (size_t)in->channels, h = (size_t)in->height, w = (size_t)in->width;
	struct arena own = { 0 };
	struct planes between;
	enum status s;

	if (!(s = planes_new(&between, &own, in->channels, in->height, across->out, err)) &&
		!(s = planes_new(out, a, in->channels, down->out, across->out, err))) {
		weigh(between.data, in->data, across, c * h, w, 1);
		weigh(out->data, between.data, down, c, h, (size_t)across->out);
	}
	arena_done(&own);
	return s;
}

static enum status check_planes(const struct planes *in, int64_t height, int64_t width, struct error *err)
{
	return check_made(width, height, (int64_t)in->height * in->width, in->height * width, err);
}

enum status planes_resize(struct planes *out, struct arena *a, const struct planes *in, int height, int width, enum filter filter,
	struct error *err)
{
	struct arena own = { 0 };
	enum status s = check_planes(in, height, width, err);

	if (s)
		return s;
	struct taps x = taps_make(&own, in->width, width, filter, true), y = taps_make(&own, in->height, height, filter, true);
	s = apply(out, a, in, &x, &y, err);
	arena_done(&own);
	return s;
}

// An index mirrored about the first and the last pixel: -1 is 1.
static int mirror(int i, int count)
{
	int period = 2 * count - 2;

	if (count == 1)
		return 0;
	i = abs(i) % period;
	return i < count ? i : period - i;
}

// Two neighbours; a place beyond the edge is brought back first.
static struct taps taps_between(struct arena *a, int in, int out, bool mirrored)
{
	struct taps t = { .out = out, .most = 2 };

	t.first = ARENA_ARRAY(a, (size_t)out, int);
	t.count = ARENA_ARRAY(a, (size_t)out, int);
	t.weight = ARENA_ARRAY(a, (size_t)out * 2, double);
	for (int i = 0; i < out; i++) {
		// torch's places are float32: they show where the picture is steep.
		double at = mirrored ? (i + 0.5) * in / out - 0.5 : (double)((float)in / (float)out * ((float)i + 0.5f) - 0.5f);
		if (at < 0)
			at = mirrored && in > 1 ? -at : 0;
		if (at > in - 1)
			at = mirrored && in > 1 ? 2 * (in - 1) - at : in - 1;
		int j = (int)at;
		t.first[i] = j;
		t.count[i] = j + 1 < in ? 2 : 1;
		t.weight[2 * i] = 1 - (at - j);
		t.weight[2 * i + 1] = at - j;
	}
	return t;
}

enum status planes_between(
	struct planes *out, struct arena *a, const struct planes *in, int height, int width, bool mirrored, struct error *err)
{
	struct arena own = { 0 };
	enum status s = check_planes(in, height, width, err);

	if (s)
		return s;
	struct taps x = taps_between(&own, in->width, width, mirrored), y = taps_between(&own, in->height, height, mirrored);
	s = apply(out, a, in, &x, &y, err);
	arena_done(&own);
	return s;
}

static float cubic_near(float x) // |x| <= 1
{
	return (1.25f * x - 2.25f) * x * x + 1;
}

static float cubic_far(float x) // 1 < |x| < 2
{
	return ((-0.75f * x + 3.75f) * x - 6) * x + 3;
}

// Four neighbours; what a place beyond the edge weighs is added to the edge's.
static struct taps taps_cubic(struct arena *a, int in, int out)
{
	struct taps t = { .out = out, .most = 4 };

	t.first = ARENA_ARRAY(a, (size_t)out, int);
	t.count = ARENA_ARRAY(a, (size_t)out, int);
	t.weight = ARENA_ARRAY(a, (size_t)out * 4, double);
	for (int i = 0; i < out; i++) {
		float at = (float)in / (float)out * ((float)i + 0.5f) - 0.5f, below = floorf(at), part = at - below;
		const float weight[4] = { cubic_far(part + 1), cubic_near(part), cubic_near(1 - part), cubic_far(2 - part) };
		int first = (int)below - 1, from = first > 0 ? first : 0;

		t.first[i] = from < in ? from : in - 1;
		for (int k = 0; k < 4; k++) {
			int j = first + k < 0 ? 0 : first + k < in ? first + k : in - 1;
			t.weight[4 * i + j - t.first[i]] += (double)weight[k];
			t.count[i] = j - t.first[i] + 1;
		}
	}
	return t;
}

enum status planes_cubic(struct planes *out, struct arena *a, const struct planes *in, int height, int width, struct error *err)
{
	struct arena own = { 0 };
	enum status s = picture_check(width, height, err);

	if (s)
		return s;
	struct taps x = taps_cubic(&own, in->width, width), y = taps_cubic(&own, in->height, height);
	s = apply(out, a, in, &x, &y, err);
	arena_done(&own);
	return s;
}

enum status planes_blur(
	struct planes *out, struct arena *a, const struct planes *in, bool vertical, double sigma, int radius, struct error *err)
{
	int count = vertical ? in->height : in->width;
	size_t inner = vertical ? (size_t)in->width : 1, outer = (size_t)in->channels * (vertical ? 1 : (size_t)in->height);
	struct arena own = { 0 };
	double sum = 0, *w = ARENA_ARRAY(&own, (size_t)radius * 2 + 1, double);
	enum status s = planes_new(out, a, in->channels, in->height, in->width, err);

	for (int j = -radius; j <= radius; j++)
		sum += w[j + radius] = exp(-0.5 * j * j / (sigma * sigma));
	for (size_t o = 0; s == STATUS_OK && o < outer; o++)
		for (int i = 0; i < count; i++)
			for (size_t x = 0; x < inner; x++) {
				float v = 0;
				for (int j = -radius; j <= radius; j++)
					v += (float)(w[j + radius] / sum) *
						in->data[(o * (size_t)count + (size_t)mirror(i + j, count)) * inner + x];
				out->data[(o * (size_t)count + (size_t)i) * inner + x] = v;
			}
	arena_done(&own);
	return s;
}
