// SPDX-License-Identifier: Apache-2.0
// What each class of feature extractors makes of a batch; the files that are named are transformers' models/*/.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "preprocess/sound_inside.h"

// Values of all transforms of a batch: some ten seconds of work.
#define TRANSFORMS_MOST ((size_t)1 << 30)

static enum status put_batch(struct work *w, const struct batch *b)
{
	bool wide = b->width > 1;

	tensor_put(w, w->class->output, DTYPE_F32, wide ? 3 : 2,
		(int64_t[]){ (int64_t)b->count, (int64_t)b->length, (int64_t)b->width }, b->values);
	if (call_mask(w))
		mask_put(w, "attention_mask", b, 1, 0, 1, b->length);
	return w->status;
}

// ---- waves ----------------------------------------------------------------------------------------------------------------

// wav2vec2/feature_extraction_wav2vec2.py, and speecht5/ of what is no target.
enum status features_wave(struct work *w)
{
	struct rows rows = rows_of_sounds(w);
	struct batch b;
	enum status s = rows_pad(w, &rows, &w->call, &b);

	if (s)
		return s;
	if (setting_flag(w, "do_normalize", w->class->normalize))
		batch_normalize(w, &b, call_mask(w));
	return put_batch(w, &b);
}

// Encodec's chunks: so many samples that the last one is whole.
static enum status codec_chunks(struct work *w, const struct rows *rows, struct call *call)
{
	double seconds = setting_number(w, "chunk_length_s", 0, 0, 1e6), overlap = setting_number(w, "overlap", -1, -1e6, 1);
	size_t longest = 0, shortest = SIZE_MAX;

	if (seconds == 0 || overlap < 0 || call->max_length)
		return w->status;
	double length = trunc(seconds * w->rate), stride = fmax(1, trunc((1 - overlap) * length));
	for (size_t i = 0; i < rows->count; i++) {
		longest = rows->length[i] > longest ? rows->length[i] : longest;
		shortest = rows->length[i] < shortest ? rows->length[i] : shortest;
	}
	if (!call->truncation && call->padding == PAD_NOT)
		return w->status;
	double steps = call->truncation ? floor((double)shortest / stride) : ceil((double)longest / stride);
	double most = (steps - 1) * stride + length;
	if (!(most >= 1 && most <= (double)SOUND_MOST))
		return error_set(w->err, STATUS_BAD_INPUT, "chunks of %g samples, %g apart, give no length", length, stride);
	call->max_length = (size_t)most;
	if (!call->truncation)
		call->padding = PAD_MAX_LENGTH;
	return w->status;
}

// encodec/feature_extraction_encodec.py, dac/feature_extraction_dac.py: padding unless it is switched off, a mask with it.
enum status features_codec(struct work *w)
{
	struct rows rows = rows_of_sounds(w);
	struct call call = w->call;
	struct batch b;
	size_t channels = (size_t)w->sounds[0].channels;
	bool dac = text_is(w->class->name, "DacFeatureExtractor");
	enum status s = STATUS_OK;

	if (call.truncation && call.padding != PAD_NOT && json_object_get(w->options, "padding"))
		return error_set(w->err, STATUS_BAD_INPUT, "padding and truncation do not go together");
	if (dac && channels != 1)
		return error_set(w->err, STATUS_BAD_INPUT, "sounds of two channels are not supported by this feature extractor");
	call.multiple = dac ? (size_t)setting_whole(w, "hop_length", 512, 1, 1 << 20) : 0;
	if (!dac)
		s = codec_chunks(w, &rows, &call);
	s = s ? s : rows_pad(w, &rows, &call, &b);
	if (s)
		return s;
	tensor_put(w, w->class->output, DTYPE_F32, 3, (int64_t[]){ (int64_t)w->count, (int64_t)channels, (int64_t)b.length },
		b.values);
	if (call.padding != PAD_NOT)
		mask_put(w, "padding_mask", &b, channels, 0, 1, b.length);
	return w->status;
}

// ---- spectra --------------------------------------------------------------------------------------------------------------

enum status spectrum_of(struct work *w, const struct spectrum_maker *m, size_t bins, const char *name, const float *samples,
	size_t length, float **out, size_t *frames)
{
	*frames = spectrum_frames(m, length);
	if (!*frames)
		return error_set(w->err, STATUS_BAD_INPUT, "%s: %zu samples are less than a frame", name, length);
	if (*frames > TRANSFORMS_MOST / spectrum_cost(m) / w->count)
		return error_set(w->err, STATUS_BAD_INPUT, "%s: more frames than are computed at once: %zu", name, *frames);
	enum status s = too_many(w, w->count, *frames, bins);
	if (s)
		return s;
	*out = ARENA_ARRAY(w->a, *frames * bins, float);
	spectrum_run(m, samples, length, *out);
	return STATUS_OK;
}

// Each sound's own spectrum as a row, after `each`, if there is one, has changed it.
static enum status rows_of_spectra(
	struct work *w, const struct spectrum *is, void (*each)(float *x, size_t frames, size_t bins), struct rows *out)
{
	struct spectrum_maker *m;
	enum status s = w->status ? w->status : spectrum_make(w->a, is, w->rate, &m, w->err);

	*out = rows_make(w, w->count, (size_t)is->bins);
	for (size_t i = 0; i < w->count && !s; i++) {
		float *values = NULL;
		s = spectrum_of(
			w, m, out->width, w->sounds[i].name, w->sounds[i].samples, w->sounds[i].length, &values, &out->length[i]);
		if (!s && each)
			each(values, out->length[i], out->width);
		out->values[i] = values;
	}
	return s;
}

static enum window_kind setting_window(struct work *w, const char *key)
{
	static const struct {
		const char *word;
		enum window_kind kind;
	} words[] = { { "hann_window", WINDOW_HANN }, { "hann", WINDOW_HANN }, { "hamming_window", WINDOW_HAMMING },
		{ "hamming", WINDOW_HAMMING }, { "boxcar", WINDOW_BOXCAR }, { "povey", WINDOW_POVEY } };
	const char *word = setting_word(w, key, "hann_window");

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (text_is(word, words[i].word))
			return words[i].kind;
	if (!w->status)
		w->status = error_set(w->err, STATUS_BAD_INPUT, "%s \"%s\" is not known", key, word);
	return WINDOW_HANN;
}

// speecht5/feature_extraction_speecht5.py: win_length and hop_length are milliseconds, the transform is the next power of two.
enum status features_speecht5(struct work *w)
{
	struct spectrum is = w->class->spectrum;
	struct rows rows;
	struct batch b;

	if (!w->call.target)
		return features_wave(w);
	is.frame = (int)((int64_t)setting_whole(w, "win_length", 64, 1, 8192) * w->rate / 1000);
	is.hop = (int)((int64_t)setting_whole(w, "hop_length", 16, 1, 1000) * w->rate / 1000);
	is.window_length = is.frame;
	for (is.fft = 1; is.fft < is.frame && is.fft <= SPECTRUM_FFT_MOST;)
		is.fft *= 2;
	is.window = setting_window(w, "win_function");
	is.bins = setting_whole(w, "num_mel_bins", 80, 1, SPECTRUM_BINS_MOST);
	is.low = setting_number(w, "fmin", 80, 0, 1e6);
	is.high = setting_number(w, "fmax", 7600, 1, 1e6);
	is.floor = setting_number(w, "mel_floor", 1e-10, 1e-30, 1e30);
	enum status s = rows_of_spectra(w, &is, NULL, &rows);
	s = s ? s : rows_pad(w, &rows, &w->call, &b);
	return s ? s : put_batch(w, &b);
}

// Of class and configuration: what AST, Speech2Text and SeamlessM4T share.
static struct spectrum kaldi(struct work *w)
{
	struct spectrum is = w->class->spectrum;

	is.bins = setting_whole(w, "num_mel_bins", is.bins, 1, SPECTRUM_BINS_MOST);
	return is;
}

// audio_spectrogram_transformer/: max_length frames, zeros behind a shorter sound, then (x - mean) / (2 std).
enum status features_ast(struct work *w)
{
	struct spectrum is = kaldi(w);
	struct rows rows;
	struct batch b;
	double mean = setting_number(w, "mean", -4.2677393, -1e9, 1e9), std = setting_number(w, "std", 4.5689974, 1e-9, 1e9);
	struct call call = { .padding = PAD_MAX_LENGTH, .truncation = true };
	bool normalize = setting_flag(w, "do_normalize", w->class->normalize);

	call.max_length = (size_t)setting_whole(w, "max_length", 1024, 1, 1 << 24);
	enum status s = rows_of_spectra(w, &is, NULL, &rows);
	s = s ? s : rows_pad(w, &rows, &call, &b);
	if (s)
		return s;
	size_t all = b.length * b.width;
	for (size_t i = 0; normalize && i < b.count * all; i++)
		b.values[i] = (float)((b.values[i] - mean) / (std * 2));
	tensor_put(w, w->class->output, DTYPE_F32, 3, (int64_t[]){ (int64_t)b.count, (int64_t)b.length, (int64_t)b.width },
		b.values);
	return w->status;
}

// speech_to_text/: each filter's mean and variance over the valid frames (CMVN of an utterance).
enum status features_speech2text(struct work *w)
{
	struct spectrum is = kaldi(w);
	struct rows rows;
	struct batch b;
	bool normalize = setting_flag(w, "do_ceptral_normalize", true), means = setting_flag(w, "normalize_means", true);
	bool variances = setting_flag(w, "normalize_vars", true);

	if (normalize && w->call.padding != PAD_NOT && !call_mask(w)) // the library needs the mask to know what is valid
		return error_set(w->err, STATUS_BAD_INPUT, "padded sounds cannot be normalized without an attention mask");
	enum status s = rows_of_spectra(w, &is, NULL, &rows);

	s = s ? s : rows_pad(w, &rows, &w->call, &b);
	if (s)
		return s;
	for (size_t column = 0; normalize && column < b.count * b.width; column++) {
		size_t valid = b.valid[column / b.width];
		float *x = b.values + column / b.width * b.length * b.width + column % b.width;
		struct moments m = moments_of(x, valid, b.width, (double)valid, 0);

		for (size_t k = 0; k < b.length; k++) {
			double value = x[k * b.width] - (means ? m.mean : 0);
			x[k * b.width] = k < valid ? (float)(variances ? value / sqrt(m.variance) : value) : w->call.value;
		}
	}
	return put_batch(w, &b);
}

static void seamless_normalize(float *x, size_t frames, size_t bins)
{
	for (size_t b = 0; b < bins; b++) {
		struct moments m = moments_of(x + b, frames, bins, (double)frames, 1);

		for (size_t k = 0; k < frames; k++)
			x[k * bins + b] = (float)((x[k * bins + b] - m.mean) / sqrt(m.variance + 1e-7));
	}
}

// seamless_m4t/, also wav2vec2-bert's: each filter normalised, then `stride` frames side by side.
enum status features_seamless(struct work *w)
{
	struct spectrum is = kaldi(w);
	struct rows rows;
	struct batch b;
	size_t stride = (size_t)setting_whole(w, "stride", 2, 1, 64);
	enum status s = rows_of_spectra(w, &is, seamless_normalize, &rows);

	s = s ? s : rows_pad(w, &rows, &w->call, &b);
	if (s)
		return s;
	size_t groups = b.length / stride, wide = groups * stride * b.width;
	for (size_t i = 0; i < b.count; i++) // what is left over is dropped
		memmove(b.values + i * wide, b.values + i * b.length * b.width, wide * sizeof *b.values);
	tensor_put(w, w->class->output, DTYPE_F32, 3,
		(int64_t[]){ (int64_t)b.count, (int64_t)groups, (int64_t)(stride * b.width) }, b.values);
	if (call_mask(w)) // the second frame of each group; where there is none, the library's mask is empty
		mask_put(w, "attention_mask", &b, 1, 1, stride, stride > 1 ? groups : 0);
	return w->status;
}

// whisper/: the last frame is dropped, what is 8 below the greatest value or lower is brought there, then (x + 4) / 4.
static void whisper_scale(const float *in, size_t frames, size_t bins, float *out)
{
	float greatest = -INFINITY;

	for (size_t i = 0; i < frames * bins; i++)
		greatest = in[i] > greatest ? in[i] : greatest;
	for (size_t k = 0; k < frames; k++)
		for (size_t b = 0; b < bins; b++) {
			float x = in[k * bins + b];
			out[b * frames + k] = ((x < greatest - 8 ? greatest - 8 : x) + 4) / 4;
		}
}

static enum status whisper_spectra(struct work *w, const struct batch *b, size_t hop)
{
	struct spectrum is = w->class->spectrum;
	struct spectrum_maker *m;

	is.fft = is.frame = is.window_length = setting_whole(w, "n_fft", 400, 2, SPECTRUM_FFT_MOST);
	is.hop = (int)hop;
	is.bins = setting_whole(w, "feature_size", 80, 1, SPECTRUM_BINS_MOST);
	enum status s = w->status ? w->status : spectrum_make(w->a, &is, w->rate, &m, w->err);
	if (s)
		return s;
	if (b->length <= (size_t)is.frame / 2)
		return error_set(
			w->err, STATUS_BAD_INPUT, "%zu samples cannot be mirrored %d samples far", b->length, is.frame / 2);
	size_t bins = (size_t)is.bins, frames = spectrum_frames(m, b->length) - 1;
	s = too_many(w, b->count, frames, bins);
	if (s)
		return s;
	float *out = ARENA_ARRAY(w->a, b->count * frames * bins, float);
	for (size_t i = 0; i < b->count; i++) {
		struct arena local = { 0 };
		struct work here = *w;
		float *values;
		size_t all;

		here.a = &local;
		s = spectrum_of(&here, m, bins, w->sounds[i].name, b->values + i * b->length, b->length, &values, &all);
		if (!s)
			whisper_scale(values, frames, bins, out + i * frames * bins);
		arena_done(&local);
		if (s)
			return s;
	}
	tensor_put(w, w->class->output, DTYPE_F32, 3, (int64_t[]){ (int64_t)b->count, (int64_t)bins, (int64_t)frames }, out);
	return STATUS_OK;
}

enum status features_whisper(struct work *w)
{
	struct rows rows = rows_of_sounds(w);
	struct call call = w->call;
	struct batch b;
	size_t hop = (size_t)setting_whole(w, "hop_length", 160, 1, 1 << 20);

	if (!call.max_length)
		call.max_length = (size_t)setting_whole(w, "chunk_length", 30, 1, 3600) * (size_t)w->rate;
	enum status s = rows_pad(w, &rows, &call, &b);
	if (s)
		return s;
	if (call.normalize == CHOICE_YES)
		batch_normalize(w, &b, true);
	s = whisper_spectra(w, &b, hop);
	if (s)
		return s;
	// The library asks for `return_attention_mask or do_normalize`, and shortens a mask only where the first was asked for.
	w->call.mask = call.mask == CHOICE_YES ? CHOICE_YES : call.normalize;
	if (call.mask == CHOICE_YES)
		mask_put(w, "attention_mask", &b, 1, 0, hop, b.length / hop);
	else if (call_mask(w))
		mask_put(w, "attention_mask", &b, 1, 0, 1, b.length);
	return w->status;
}

// ---- CLAP -----------------------------------------------------------------------------------------------------------------

struct clap {
	size_t most, hop, bins; // samples; samples; filters
	const struct spectrum_maker *maker;
	bool fusion, repeat, repeatpad, cut; // truncation; padding; truncation "rand_trunc"
};

static const char *option_word(struct work *w, const char *key, const char *fallback)
{
	const json_t *value = json_object_get(w->options, key);

	return json_is_string(value) ? json_string_value(value) : setting_word(w, key, fallback);
}

static enum status clap_read(struct work *w, struct clap *c)
{
	struct spectrum is = w->class->spectrum;
	const char *truncation = option_word(w, "truncation", "fusion"), *padding = option_word(w, "padding", "repeatpad");
	struct spectrum_maker *m;

	c->fusion = text_is(truncation, "fusion");
	c->cut = text_is(truncation, "rand_trunc");
	c->repeat = text_is(padding, "repeat");
	c->repeatpad = text_is(padding, "repeatpad");
	is.frame = is.fft = is.window_length = setting_whole(w, "fft_window_size", 1024, 2, SPECTRUM_FFT_MOST);
	is.hop = setting_whole(w, "hop_length", 480, 1, 1 << 20);
	is.bins = setting_whole(w, "feature_size", 64, 1, SPECTRUM_BINS_MOST);
	is.low = setting_number(w, "frequency_min", 0, 0, 1e6);
	is.high = setting_number(w, "frequency_max", 14000, 1, 1e6);
	if (!c->fusion) {
		is.scale = MEL_SLANEY;
		is.slaney_norm = true;
	}
	c->most =
		w->call.max_length ? w->call.max_length : (size_t)setting_whole(w, "max_length_s", 10, 1, 3600) * (size_t)w->rate;
	c->hop = (size_t)is.hop;
	c->bins = (size_t)is.bins;
	enum status s = w->status ? w->status : too_many(w, 1, c->most, 1);
	s = s ? s : spectrum_make(w->a, &is, w->rate, &m, w->err);
	c->maker = m;
	return s;
}

// A sound of at most `most` samples, repeated and padded with zeros to `most`.
static float *clap_fill(struct arena *a, const struct clap *c, const struct sound *s)
{
	float *out = ARENA_ARRAY(a, c->most, float);
	size_t used = c->repeat ? c->most : c->repeatpad ? c->most / s->length * s->length : s->length;

	for (size_t i = 0; i < used; i++)
		out[i] = s->samples[i % s->length];
	return out;
}

// torch's bilinear interpolation of frames, align_corners false.
static void clap_shrink(const float *in, size_t from, size_t bins, size_t to, float *out)
{
	for (size_t k = 0; k < to; k++) {
		double at = fmax(0, ((double)k + 0.5) * ((double)from / (double)to) - 0.5);
		size_t low = (size_t)at, high = low + 1 < from ? low + 1 : low;
		double part = at - (double)low;

		for (size_t b = 0; b < bins; b++)
			out[k * bins + b] = (float)((1 - part) * in[low * bins + b] + part * in[high * bins + b]);
	}
}

// Four spectra of `chunk` frames: the whole sound shrunk, and a chunk of the front, the middle and the back. Of the places in
// each third, from which the library draws one, the first.
static enum status clap_fuse(struct work *w, const struct clap *c, const float *mel, size_t frames, size_t chunk, float *out)
{
	size_t places = frames - chunk + 1, each = places / 3, rest = places % 3, size = chunk * c->bins;
	size_t middle = each + (rest > 0), back = middle + each + (rest > 1);

	if (c->bins != 64)
		return error_set(
			w->err, STATUS_BAD_INPUT, "fusion of %zu mel filters: the feature extractor shrinks to 64", c->bins);
	clap_shrink(mel, frames, c->bins, chunk, out);
	memcpy(out + size, mel, size * sizeof *out);
	memcpy(out + 2 * size, mel + (middle < places ? middle : 0) * c->bins, size * sizeof *out);
	memcpy(out + 3 * size, mel + (back < places ? back : 0) * c->bins, size * sizeof *out);
	return STATUS_OK;
}

// [fusion: 4, else 1, chunk, bins] of one sound; memory that is only worked in comes from `w->a`.
static enum status clap_one(struct work *w, const struct clap *c, const struct sound *s, size_t chunk, float *out, bool *longer)
{
	size_t size = chunk * c->bins, frames;
	float *mel;

	*longer = s->length > c->most && c->cut;
	if (s->length > c->most && !c->cut && !c->fusion)
		return error_set(w->err, STATUS_BAD_INPUT,
			"%s: is longer than %zu samples, and truncation is neither rand_trunc nor fusion", s->name, c->most);
	const float *samples = s->length >= c->most ? s->samples : clap_fill(w->a, c, s);
	size_t length = s->length > c->most && c->fusion ? s->length : c->most;
	enum status status = spectrum_of(w, c->maker, c->bins, s->name, samples, length, &mel, &frames);
	if (status)
		return status;
	if (frames != chunk) {
		*longer = true;
		return clap_fuse(w, c, mel, frames, chunk, out);
	}
	for (size_t i = 0; i < (c->fusion ? 4u : 1u); i++)
		memcpy(out + i * size, mel, size * sizeof *out);
	return STATUS_OK;
}

// clap/feature_extraction_clap.py
enum status features_clap(struct work *w)
{
	struct clap c = { 0 };
	bool any = false;
	enum status s = clap_read(w, &c);
	size_t pictures = c.fusion ? 4 : 1, chunk = s ? 0 : spectrum_frames(c.maker, c.most);

	s = s ? s : too_many(w, w->count * pictures, chunk, c.bins);
	if (s)
		return s;
	float *out = ARENA_ARRAY(w->a, w->count * pictures * chunk * c.bins, float);
	bool *longer = ARENA_ARRAY(w->a, w->count, bool);
	for (size_t i = 0; i < w->count && !s; i++) {
		struct arena local = { 0 };
		struct work here = *w;

		here.a = &local;
		s = clap_one(&here, &c, &w->sounds[i], chunk, out + i * pictures * chunk * c.bins, &longer[i]);
		arena_done(&local);
		any |= longer[i];
	}
	if (s)
		return s;
	if (c.fusion && !any) // the library makes one of them so at random
		longer[0] = true;
	tensor_put(w, w->class->output, DTYPE_F32, 4,
		(int64_t[]){ (int64_t)w->count, (int64_t)pictures, (int64_t)chunk, (int64_t)c.bins }, out);
	tensor_put(w, "is_longer", DTYPE_BOOL, 2, (int64_t[]){ (int64_t)w->count, 1 }, longer);
	return w->status;
}
