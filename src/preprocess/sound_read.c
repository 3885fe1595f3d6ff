// SPDX-License-Identifier: Apache-2.0
// Files of sounds. libsndfile is given bytes, and as much of them is taken as there is: memory grows with what was decoded,
// whatever a header says.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "preprocess/sound.h"
#include "preprocess/sound_library.h"

// Values of a block, and what a file may say. Silence takes encoders of FLAC a byte for some 1000 values at most, but a frame
// of 65535 equal values can be 12 bytes: what is denser than this is no sound, and is not waited for.
enum { BLOCK = 1 << 14, RATE_LEAST = 100, RATE_MOST = 1000000, CHUNKS_MOST = 1000, DENSITY_MOST = 2048 };

struct bytes { // a file, and where libsndfile is in it
	const uint8_t *data;
	sf_count_t size, at;
};

struct decoded {
	float *values; // [length, channels]
	size_t length, channels, room;
	size_t most;    // values that a file of these bytes is believed to have
	size_t longest; // values that are SOUND_MOST or fewer at the rate that is wanted
	int rate;
};

// ---- a file in memory, as libsndfile asks for it ------------------------------------------------------------------------

static sf_count_t bytes_size(void *context)
{
	return ((struct bytes *)context)->size;
}

static sf_count_t bytes_seek(sf_count_t offset, int whence, void *context)
{
	struct bytes *b = context;
	sf_count_t from = whence == SEEK_CUR ? b->at : whence == SEEK_END ? b->size : 0, to;

	if (__builtin_add_overflow(from, offset, &to) || to < 0)
		return -1;
	b->at = to;
	return to;
}

static sf_count_t bytes_read(void *out, sf_count_t count, void *context)
{
	struct bytes *b = context;
	sf_count_t left = b->at < b->size ? b->size - b->at : 0;

	count = count < left ? count : left;
	if (count <= 0)
		return 0;
	memcpy(out, b->data + b->at, (size_t)count);
	b->at += count;
	return count;
}

static sf_count_t bytes_write(const void *in, sf_count_t count, void *context)
{
	(void)in, (void)count, (void)context;
	return 0;
}

static sf_count_t bytes_tell(void *context)
{
	return ((struct bytes *)context)->at;
}

// ---- decoding -------------------------------------------------------------------------------------------------------------

static uint32_t little_endian(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// What programs write that do not know the length, for they write into a pipe, stands for all there is.
static bool is_no_length(size_t said)
{
	return said == UINT32_MAX || (said >= 0x7ffff000 && said <= 0x80000000); // SoX the least, arecord the most
}

// A WAV file whose samples do not all lie in it, as a broken download leaves it; libsndfile would take those that do.
static enum status check_wav(const char *name, const uint8_t *data, size_t nbytes, struct error *err)
{
	size_t at = 12;

	if (nbytes < at || memcmp(data, "RIFF", 4) != 0 || memcmp(data + 8, "WAVE", 4) != 0)
		return STATUS_OK;
	for (int i = 0; i < CHUNKS_MOST && at <= nbytes && nbytes - at >= 8; i++) {
		size_t said = little_endian(data + at + 4), there = nbytes - at - 8;

		if (!memcmp(data + at, "data", 4))
			return said <= there || is_no_length(said)
				? STATUS_OK
				: error_set(err, STATUS_BAD_INPUT, "%s: says that it has %zu bytes of samples, and has %zu", name,
					  said, there);
		at += 8 + said + said % 2;
	}
	return STATUS_OK;
}

static enum status too_long(const char *path, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "%s: more than %zu samples", path, SOUND_MOST);
}

static enum status check_info(const SF_INFO *info, const struct decoded *d, const char *path, struct error *err)
{
	if (info->channels < 1 || info->channels > BLOCK || info->samplerate < RATE_LEAST || info->samplerate > RATE_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "%s: %d channels of %d samples a second", path, info->channels, info->samplerate);
	if (info->frames != SF_COUNT_MAX && (info->frames < 0 || (uint64_t)info->frames > d->longest / d->channels))
		return too_long(path, err);
	return STATUS_OK;
}

static enum status check_length(const struct decoded *d, size_t length, const char *path, struct error *err)
{
	if (length > d->longest / d->channels)
		return too_long(path, err);
	if (length * d->channels > d->most)
		return error_set(err, STATUS_BAD_INPUT, "%s: more than %zu samples in so few bytes: no sound", path, d->most);
	return STATUS_OK;
}

// Room for `more` behind what there is; twice what there was.
static enum status make_room(struct decoded *d, size_t more, const char *path, struct error *err)
{
	size_t needed = (d->length + more) * d->channels, room = d->room ? d->room * 2 : BLOCK;

	enum status s = check_length(d, d->length + more, path, err);
	if (s || needed <= d->room)
		return s;
	room = room < needed ? needed : room > d->most ? d->most : room;
	float *values = realloc(d->values, room * sizeof *values);
	if (!values)
		return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %zu samples", path, room);
	d->values = values;
	d->room = room;
	return STATUS_OK;
}

// numpy's mean of float32: sums in float, in the order of the channels.
static void take_mean(const float *block, size_t frames, size_t channels, float *out)
{
	for (size_t i = 0; i < frames; i++) {
		float sum = 0;

		for (size_t c = 0; c < channels; c++)
			sum += block[i * channels + c];
		out[i] = channels == 1 ? sum : sum / (float)channels;
	}
}

static enum status read_all(
	const struct sound_library *l, SNDFILE *file, const SF_INFO *info, const char *path, struct decoded *d, struct error *err)
{
	size_t in = (size_t)info->channels, wanted = BLOCK / in;
	float *block = malloc(BLOCK * sizeof *block);
	enum status s = block ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "%s: no memory", path);

	while (!s) {
		sf_count_t got = l->sf_readf_float(file, block, (sf_count_t)wanted);

		if (got <= 0)
			break;
		s = make_room(d, (size_t)got, path, err);
		if (s)
			break;
		if (d->channels == 1)
			take_mean(block, (size_t)got, in, d->values + d->length);
		else
			memcpy(d->values + d->length * in, block, (size_t)got * in * sizeof *block);
		d->length += (size_t)got;
	}
	free(block);
	// The length of an MP3 may be a guess.
	if (!s && info->frames != SF_COUNT_MAX && d->length < (size_t)info->frames &&
		(info->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG)
		s = error_set(err, STATUS_BAD_INPUT, "%s: says that it has %lld samples, and %zu can be read", path,
			(long long)info->frames, d->length);
	return s;
}

// How many values there are is not known before they are decoded, or is not to be believed: it is counted first, so that what is
// too long is refused before memory is taken for it. Files of so few bytes cannot hold much.
static bool must_count(const struct bytes *bytes, const SF_INFO *info)
{
	enum { FEW = 1 << 20 };
	const uint64_t nbytes = (uint64_t)bytes->size;

	return nbytes * DENSITY_MOST > FEW &&
		(info->frames == SF_COUNT_MAX || (info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_MPEG ||
			(uint64_t)info->frames * (uint64_t)info->channels > 2 * nbytes);
}

// Into d->room; `file` is then at its end.
static enum status count(
	const struct sound_library *l, SNDFILE *file, const SF_INFO *info, const char *path, struct decoded *d, struct error *err)
{
	const sf_count_t wanted = BLOCK / info->channels;
	float *block = malloc(BLOCK * sizeof *block);
	enum status s = block ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "%s: no memory", path);
	size_t length = 0;
	sf_count_t got;

	while (!s && (got = l->sf_readf_float(file, block, wanted)) > 0) {
		length += (size_t)got;
		s = check_length(d, length, path, err);
	}
	free(block);
	d->room = length * d->channels;
	return s;
}

// The file again from its first byte, with room for all that it was counted to have.
static enum status reopen(const struct sound_library *l, SNDFILE **file, SF_INFO *info, SF_VIRTUAL_IO *io, struct bytes *bytes,
	const char *name, struct decoded *d, struct error *err)
{
	l->sf_close(*file);
	*info = (SF_INFO){ 0 };
	bytes->at = 0;
	*file = l->sf_open_virtual(io, SFM_READ, info, bytes);
	d->values = *file && d->room ? malloc(d->room * sizeof *d->values) : NULL;
	if (!*file || (d->room && !d->values))
		return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %zu samples", name, d->room);
	return STATUS_OK;
}

static enum status decode(
	const char *name, struct bytes *bytes, const struct sound_wanted *wanted, struct decoded *d, struct error *err)
{
	SF_VIRTUAL_IO io = { bytes_size, bytes_seek, bytes_read, bytes_write, bytes_tell };
	const struct sound_library *l;
	SF_INFO info = { 0 };
	enum status s = sndfile_load(&l, err);

	if (s)
		return s;
	SNDFILE *file = l->sf_open_virtual(&io, SFM_READ, &info, bytes);
	if (!file)
		return error_set(err, STATUS_BAD_INPUT, "%s: no sound that libsndfile reads: %s", name, l->sf_strerror(NULL));
	d->channels = wanted->channels == 1 ? 1 : (size_t)info.channels;
	d->rate = info.samplerate;
	d->longest = wanted->rate > d->rate ? (size_t)((double)SOUND_MOST / wanted->rate * d->rate) : SOUND_MOST;
	d->most = (size_t)bytes->size > SOUND_MOST / DENSITY_MOST ? SOUND_MOST : BLOCK + (size_t)bytes->size * DENSITY_MOST;
	s = check_info(&info, d, name, err);
	if (!s && must_count(bytes, &info)) {
		s = count(l, file, &info, name, d, err);
		s = s ? s : reopen(l, &file, &info, &io, bytes, name, d, err);
	}
	s = s ? s : read_all(l, file, &info, name, d, err);
	if (file)
		l->sf_close(file);
	return s;
}

// One channel. What soxr gives less than asked for is zeros, as librosa has it.
static enum status resample(const struct sound *in, const float *from, int rate, float *to, size_t length, struct error *err)
{
	const struct sound_library *l;
	enum status s = soxr_load(&l, err);

	if (s)
		return s;
	soxr_io_spec_t io = l->soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
	soxr_quality_spec_t quality = l->soxr_quality_spec(SOXR_HQ, 0);
	size_t read = 0, written = 0;
	soxr_error_t failed = l->soxr_oneshot(
		(double)in->rate, (double)rate, 1, from, in->length, &read, to, length, &written, &io, &quality, NULL);

	if (failed)
		return error_set(
			err, STATUS_FAILED, "%s: from %d to %d samples a second: libsoxr: %s", in->name, in->rate, rate, failed);
	return STATUS_OK;
}

enum status sound_resample(struct arena *a, const struct sound *in, int rate, struct sound *out, struct error *err)
{
	double exact = ceil((double)in->length * rate / in->rate);

	if (rate == in->rate || !in->length) {
		*out = *in;
		out->rate = rate;
		return STATUS_OK;
	}
	if (in->rate < RATE_LEAST || in->rate > RATE_MOST || rate < RATE_LEAST ||
		rate > RATE_MOST) // libsoxr never ends from 1 to 1000000
		return error_set(err, STATUS_BAD_INPUT, "%s: from %d to %d samples a second", in->name, in->rate, rate);
	if (exact * in->channels > (double)SOUND_MOST)
		return too_long(in->name, err);
	size_t length = (size_t)exact;
	float *samples = arena_try(a, length * (size_t)in->channels * sizeof *samples);
	if (!samples)
		return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %zu samples", in->name, length * (size_t)in->channels);
	for (int c = 0; c < in->channels; c++) {
		enum status s =
			resample(in, in->samples + (size_t)c * in->length, rate, samples + (size_t)c * length, length, err);

		if (s)
			return s;
	}
	*out = (struct sound){ in->name, samples, length, in->channels, rate };
	return STATUS_OK;
}

// One channel behind the other. Takes the values.
static enum status arrange(struct arena *a, const char *path, struct decoded *d, struct sound *out, struct error *err)
{
	float *samples = d->values;

	if (d->channels == 1) {
		arena_defer(a, free, d->values);
		d->values = NULL;
	} else if (!(samples = arena_try(a, d->length * d->channels * sizeof *samples))) {
		return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %zu samples", path, d->length * d->channels);
	}
	for (size_t c = 0; c < d->channels && d->values; c++)
		for (size_t i = 0; i < d->length; i++)
			samples[c * d->length + i] = d->values[i * d->channels + c];
	*out = (struct sound){ arena_strdup(a, path), samples, d->length, (int)d->channels, d->rate };
	return STATUS_OK;
}

// A file of float samples can hold what is no sound, and everything that is computed of it would be none.
static enum status check_finite(const char *name, const struct decoded *d, struct error *err)
{
	for (size_t i = 0; i < d->length * d->channels; i++)
		if (!isfinite(d->values[i]))
			return error_set(err, STATUS_BAD_INPUT, "%s: sample %zu of channel %zu is %s", name, i / d->channels,
				i % d->channels, isnan(d->values[i]) ? "not a number" : "infinite");
	return STATUS_OK;
}

enum status sound_parse(struct arena *a, const char *name, const void *data, size_t nbytes, const struct sound_wanted *wanted,
	struct sound *out, struct error *err)
{
	struct bytes bytes = { data, (sf_count_t)nbytes, 0 };
	struct decoded d = { 0 };
	struct sound as_read;
	enum status s = check_wav(name, data, nbytes, err);

	s = s ? s : decode(name, &bytes, wanted, &d, err);
	if (!s && !d.length)
		s = error_set(err, STATUS_BAD_INPUT, "%s: has no samples", name);
	s = s ? s : check_finite(name, &d, err);
	s = s ? s : arrange(a, name, &d, &as_read, err);
	free(d.values);
	return s ? s : sound_resample(a, &as_read, wanted->rate ? wanted->rate : as_read.rate, out, err);
}

enum status sound_read(struct arena *a, const char *path, const struct sound_wanted *wanted, struct sound *out, struct error *err)
{
	struct arena mapped = { 0 };
	const uint8_t *data;
	size_t nbytes;
	enum status s = file_map(&mapped, path, &data, &nbytes, err);

	if (!s && !nbytes)
		s = error_set(err, STATUS_BAD_INPUT, "%s: is empty", path);
	s = s ? s : sound_parse(a, path, data, nbytes, wanted, out, err);
	arena_done(&mapped);
	return s;
}
