// SPDX-License-Identifier: Apache-2.0
// Files of sounds. libsndfile is given what lies in a regular file, and as much of it is taken as there is: memory grows with
// what was decoded, whatever a header says.
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "preprocess/sound.h"
#include "preprocess/sound_library.h"

// Values of a block, and what a file may say.
enum { BLOCK = 1 << 14, RATE_MOST = 1000000, CHUNKS_MOST = 1000 };

struct decoded {
	float *values; // [length, channels]
	size_t length, channels, room;
	int rate;
};

static uint32_t little_endian(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// A WAV file whose samples do not all lie in it, as a broken download leaves it; libsndfile would take those that do.
// 0xFFFFFFFF is what programs write that did not know the length: all there is.
static enum status check_wav(int fd, const char *path, struct error *err)
{
	unsigned char head[12];
	struct stat st;

	if (fstat(fd, &st) || pread(fd, head, sizeof head, 0) != sizeof head || memcmp(head, "RIFF", 4) ||
		memcmp(head + 8, "WAVE", 4))
		return STATUS_OK;
	off_t at = sizeof head;
	for (int i = 0; i < CHUNKS_MOST && pread(fd, head, 8, at) == 8; i++) {
		int64_t nbytes = little_endian(head + 4), there = (int64_t)st.st_size - at - 8;

		if (!memcmp(head, "data", 4))
			return nbytes <= there || nbytes == UINT32_MAX
				? STATUS_OK
				: error_set(err, STATUS_BAD_INPUT, "%s: says that it has %lld bytes of samples, and has %lld",
					  path, (long long)nbytes, (long long)there);
		at += 8 + nbytes + nbytes % 2;
	}
	return STATUS_OK;
}

static enum status too_long(const char *path, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "%s: more than %zu samples", path, SOUND_MOST);
}

static enum status check_info(const SF_INFO *info, size_t channels, const char *path, struct error *err)
{
	if (info->channels < 1 || info->channels > BLOCK || info->samplerate < 1 || info->samplerate > RATE_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "%s: %d channels of %d samples a second", path, info->channels, info->samplerate);
	if (info->frames != SF_COUNT_MAX && (info->frames < 0 || (uint64_t)info->frames > SOUND_MOST / channels))
		return too_long(path, err);
	return STATUS_OK;
}

// Room for `more` behind what there is; twice what there was.
static enum status make_room(struct decoded *d, size_t more, const char *path, struct error *err)
{
	size_t needed = (d->length + more) * d->channels, room = d->room ? d->room * 2 : BLOCK;

	if (needed > SOUND_MOST)
		return too_long(path, err);
	if (needed <= d->room)
		return STATUS_OK;
	room = room < needed ? needed : room > SOUND_MOST ? SOUND_MOST : room;
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

static enum status decode(int fd, const char *path, bool mean, struct decoded *d, struct error *err)
{
	const struct sound_library *l;
	SF_INFO info = { 0 };
	enum status s = sndfile_load(&l, err);

	if (s)
		return s;
	SNDFILE *file = l->sf_open_fd(fd, SFM_READ, &info, SF_FALSE);
	if (!file)
		return error_set(err, STATUS_BAD_INPUT, "%s: no sound that libsndfile reads: %s", path, l->sf_strerror(NULL));
	d->channels = mean ? 1 : (size_t)info.channels;
	d->rate = info.samplerate;
	s = check_info(&info, d->channels, path, err);
	s = s ? s : read_all(l, file, &info, path, d, err);
	l->sf_close(file);
	return s;
}

static enum status open_and_decode(const char *path, bool mean, struct decoded *d, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return error_errno(err, "%s: cannot be opened", path);
	enum status s = STATUS_OK;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		s = error_set(err, STATUS_BAD_INPUT, "%s: is no regular file", path);
	s = s ? s : file_check_holes(fd, path, err);
	s = s ? s : check_wav(fd, path, err);
	s = s ? s : decode(fd, path, mean, d, err);
	close(fd);
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

// One channel behind the other.
static enum status arrange(struct arena *a, const char *path, const struct decoded *d, struct sound *out, struct error *err)
{
	float *samples = arena_try(a, d->length * d->channels * sizeof *samples);

	if (!samples)
		return error_set(err, STATUS_NO_MEMORY, "%s: no memory for %zu samples", path, d->length * d->channels);
	for (size_t c = 0; c < d->channels; c++)
		for (size_t i = 0; i < d->length; i++)
			samples[c * d->length + i] = d->values[i * d->channels + c];
	*out = (struct sound){ arena_strdup(a, path), samples, d->length, (int)d->channels, d->rate };
	return STATUS_OK;
}

enum status sound_read(struct arena *a, const char *path, const struct sound_wanted *wanted, struct sound *out, struct error *err)
{
	struct decoded d = { 0 };
	struct sound as_read;
	enum status s = open_and_decode(path, wanted->channels == 1, &d, err);

	if (!s && !d.length)
		s = error_set(err, STATUS_BAD_INPUT, "%s: has no samples", path);
	s = s ? s : arrange(a, path, &d, &as_read, err);
	free(d.values);
	return s ? s : sound_resample(a, &as_read, wanted->rate ? wanted->rate : as_read.rate, out, err);
}
