// SPDX-License-Identifier: Apache-2.0
// Feature extractors of NVIDIA's kind and Google's LASR: parakeet/, cohere_asr/ and lasr/ of transformers' models/.
#include <math.h>
#include <string.h>

#include "preprocess/sound_inside.h"
#include "preprocess/sound_random.h"

// Samples that are looked at to find where long sounds are split, and parts of all of them.
#define SPLIT_MOST ((size_t)1 << 30)
enum { PARTS_MOST = 1 << 12 };

struct parts { // of sounds, each a row of the batch
	struct rows rows;
	const char **name; // of the sound it is of
	size_t looked_at;
};

static enum status part_add(struct work *w, struct parts *p, const struct sound *s, size_t begin, size_t end)
{
	if (p->rows.count == PARTS_MOST)
		return error_set(w->err, STATUS_BAD_INPUT, "%s: more than %d parts", s->name, PARTS_MOST);
	p->name[p->rows.count] = s->name;
	p->rows.values[p->rows.count] = s->samples + begin;
	p->rows.length[p->rows.count++] = end - begin;
	return STATUS_OK;
}

// ---- splitting (cohere_asr) -----------------------------------------------------------------------------------------------

struct split {
	size_t longest, search, window; // a part; its end, where a quiet place is looked for; what is quiet
};

// The window of least energy in [begin, end) begins here.
static size_t quietest(const float *x, size_t begin, size_t end, size_t window)
{
	size_t best = begin;
	double least = INFINITY;

	if (end - begin <= window)
		return (begin + end) / 2;
	for (size_t at = begin; at < end - window; at += window) {
		double energy = 0;

		for (size_t i = 0; i < window; i++)
			energy += (double)x[at + i] * x[at + i];
		if (energy < least) {
			least = energy;
			best = at;
		}
	}
	return best;
}

static enum status split_sound(struct work *w, struct parts *p, const struct split *by, const struct sound *s)
{
	enum status status = STATUS_OK;
	size_t begin = 0;

	while (!status && s->length - begin > by->longest) {
		size_t last = begin + by->longest, from = by->search < by->longest ? last - by->search : begin;
		size_t end = quietest(s->samples, from, last, by->window);

		end = end > begin ? end : begin + 1;
		p->looked_at += last - from;
		if (p->looked_at > SPLIT_MOST)
			return error_set(w->err, STATUS_BAD_INPUT, "%s: is split in too many parts", s->name);
		status = part_add(w, p, s, begin, end);
		begin = end;
	}
	return status ? status : part_add(w, p, s, begin, s->length);
}

// A sound as it is, or where the class splits it at quiet places, its parts.
static enum status parts_make(struct work *w, struct parts *p)
{
	double most = setting_number(w, "max_audio_clip_s", 35, 0.001, 3600),
	       overlap = setting_number(w, "overlap_chunk_second", 5, 0, 3600);
	double whole = fmax(0, most - overlap) * w->rate;
	struct split by = { (size_t)fmax(1, nearbyint(most * w->rate)), (size_t)fmax(1, nearbyint(overlap * w->rate)),
		(size_t)setting_whole(w, "min_energy_window_samples", 1600, 1, 1 << 24) };
	enum status s = STATUS_OK;

	*p = (struct parts){ rows_make(w, PARTS_MOST, 1), ARENA_ARRAY(w->a, PARTS_MOST, const char *), 0 };
	p->rows.count = 0;
	for (size_t i = 0; i < w->count && !s; i++) {
		const struct sound *sound = &w->sounds[i];

		if (!w->class->cohere || (double)sound->length <= whole)
			s = part_add(w, p, sound, 0, sound->length);
		else
			s = split_sound(w, p, &by, sound);
	}
	return s;
}

// ---- the wave -------------------------------------------------------------------------------------------------------------

// Noise of cohere_asr: of a sound of n samples always the same, that of the seed n.
static enum status add_noise(struct work *w, float *x, size_t n, const char *name, double scale)
{
	struct arena local = { 0 };

	if (n < TORCH_RANDN_LEAST)
		return error_set(w->err, STATUS_BAD_INPUT, "%s: a part of %zu samples", name, n);
	float *noise = ARENA_ARRAY(&local, n, float);
	torch_randn((uint32_t)n, noise, n);
	for (size_t i = 0; i < n; i++)
		x[i] += (float)scale * noise[i];
	arena_done(&local);
	return STATUS_OK;
}

// y[i] = x[i] - preemphasis x[i - 1] over a row; nothing is left behind the sound.
static void emphasize(float *x, size_t all, size_t length, double preemphasis)
{
	for (size_t i = all - 1; i > 0; i--)
		x[i] = i < length ? (float)(x[i] - preemphasis * x[i - 1]) : 0;
}

static enum status prepare_waves(struct work *w, const struct parts *p, struct batch *b)
{
	const json_t *said = json_object_get(w->config, "preemphasis");
	double preemphasis = said && json_is_null(said) ? 0 : setting_number(w, "preemphasis", 0.97, -10, 10);
	double dither = w->class->cohere ? setting_number(w, "dither", 1e-5, -1, 1) : 0;
	enum status s = STATUS_OK;

	for (size_t i = 0; i < b->count && !s; i++) {
		float *row = b->values + i * b->length;
		size_t length = p->rows.length[i];

		if (dither > 0)
			s = add_noise(w, row, length < b->length ? length : b->length, p->name[i], dither);
		if (preemphasis != 0)
			emphasize(row, b->length, length, preemphasis);
	}
	return s ? s : w->status;
}

// ---- features -------------------------------------------------------------------------------------------------------------

// Each filter over the valid frames; the others are zeros.
static void normalize(float *x, size_t frames, size_t bins, size_t valid)
{
	for (size_t b = 0; b < bins; b++) {
		struct moments m = moments_of(x + b, valid < frames ? valid : frames, bins, (double)valid, 1);

		for (size_t k = 0; k < frames; k++)
			x[k * bins + b] = k < valid ? (float)((x[k * bins + b] - m.mean) / (sqrt(m.variance) + 1e-5)) : 0;
	}
}

static struct spectrum spectrum_settings(struct work *w)
{
	struct spectrum is = w->class->spectrum;

	is.fft = setting_whole(w, "n_fft", 512, 2, SPECTRUM_FFT_MOST);
	is.window_length = setting_whole(w, "win_length", 400, 1, SPECTRUM_FFT_MOST);
	is.hop = setting_whole(w, "hop_length", 160, 1, 1 << 20);
	is.bins = setting_whole(w, "feature_size", is.bins ? is.bins : 128, 1, SPECTRUM_BINS_MOST);
	return is;
}

// The spectra of all rows, [count, *frames, bins].
static enum status spectra_of(
	struct work *w, const struct spectrum *is, const struct parts *p, const struct batch *b, float **out, size_t *frames)
{
	struct work all = *w;
	struct spectrum_maker *m;
	size_t bins = (size_t)is->bins;
	enum status s = w->status ? w->status : spectrum_make(w->a, is, w->rate, &m, w->err);

	all.count = b->count;
	s = s ? s : too_many(w, b->count, *frames = spectrum_frames(m, b->length), bins);
	if (s)
		return s;
	*out = ARENA_ARRAY(w->a, b->count * *frames * bins, float);
	for (size_t i = 0; i < b->count && !s; i++) {
		struct arena local = { 0 };
		float *values;

		all.a = &local;
		s = spectrum_of(&all, m, bins, p->name[i], b->values + i * b->length, b->length, &values, frames);
		if (!s)
			memcpy(*out + i * *frames * bins, values, *frames * bins * sizeof *values);
		arena_done(&local);
	}
	return s;
}

// A mask always; valid frames are length / hop_length, one less than there are.
enum status features_parakeet(struct work *w)
{
	struct spectrum is = spectrum_settings(w);
	struct parts p;
	struct batch b;
	size_t frames, bins = (size_t)is.bins;
	float *out;
	enum status s = parts_make(w, &p);

	is.frame = is.fft;
	is.high = w->rate / 2.0;
	s = s ? s : rows_pad(w, &p.rows, &w->call, &b);
	s = s ? s : prepare_waves(w, &p, &b);
	s = s ? s : spectra_of(w, &is, &p, &b, &out, &frames);
	if (s)
		return s;
	for (size_t i = 0; i < b.count; i++) {
		b.valid[i] = (p.rows.length[i] - (size_t)(is.fft % 2)) / (size_t)is.hop;
		normalize(out + i * frames * bins, frames, bins, b.valid[i]);
	}
	b.left = false;
	tensor_put(w, w->class->output, DTYPE_F32, 3, (int64_t[]){ (int64_t)b.count, (int64_t)frames, (int64_t)bins }, out);
	mask_put(w, "attention_mask", &b, 1, 0, 1, frames);
	return w->status;
}

// Frames of win_length that lie within the sound, each with zeros behind it; a mask only where the call asks for it.
enum status features_lasr(struct work *w)
{
	struct spectrum is = spectrum_settings(w);
	struct parts p;
	struct batch b;
	size_t frames;
	float *out;
	enum status s = parts_make(w, &p);

	is.frame = is.window_length;
	s = s ? s : rows_pad(w, &p.rows, &w->call, &b);
	s = s ? s : spectra_of(w, &is, &p, &b, &out, &frames);
	if (s)
		return s;
	tensor_put(w, w->class->output, DTYPE_F32, 3, (int64_t[]){ (int64_t)b.count, (int64_t)frames, is.bins }, out);
	if (w->call.mask == CHOICE_YES)
		mask_put(w, "attention_mask", &b, 1, (size_t)is.frame - 1, (size_t)is.hop, frames);
	return w->status;
}
