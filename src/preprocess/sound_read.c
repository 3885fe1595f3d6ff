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
#include "preprocess/sound_ogg.h"

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

// What programs write that do not know the length, for they write into a pipe, stands for all there is.
static bool is_no_length(uint64_t said)
{
	return said == UINT32_MAX || (said >= 0x7ffff000 && said <= 0x80000000); // SoX the least, arecord the most
}

static uint64_t number(const uint8_t *at, int nbytes, bool is_big_endian)
{
	uint64_t out = 0;

	for (int i = 0; i < nbytes; i++)
		out = out << 8 | at[is_big_endian ? i : nbytes - 1 - i];
	return out;
}

// Forms of files that are chunks, each with its length: where the first one begins, the name of the one with the samples, the
// bytes of names and lengths, whether a length is of the whole chunk, and to a multiple of how many bytes the next one is.
static const struct chunked {
	const char *form, *kind;
	size_t kind_at, first, align;
	const char *samples; // as many bytes as a name has
	int name, length;
	bool is_whole, is_big_endian;
} chunked[] = {
	{ "RIFF", "WAVE", 8, 12, 2, "data", 4, 4, false, false },
	{ "RF64", "WAVE", 8, 12, 2, "data", 4, 4, false, false },
	{ "RIFX", "WAVE", 8, 12, 2, "data", 4, 4, false, true },
	{ "FORM", "AIF", 8, 12, 2, "SSND", 4, 4, false, true }, // AIFF, AIFC
	// W64, whose names are GUIDs that begin so
	{ "riff", "wave", 24, 40, 8, "data\xf3\xac\xd3\x11\x8c\xd1\0\xc0\x4f\x8e\xdb\x8a", 16, 8, true, false },
};

static bool begins(const uint8_t *data, size_t nbytes, size_t at, const char *with)
{
	return nbytes >= at + strlen(with) && memcmp(data + at, with, strlen(with)) == 0;
}

// Bytes of samples by the header, and those that are there; false: it says nothing. Of more chunks than any program writes it is
// taken to say more than there is.
static bool samples_said(const struct chunked *c, const uint8_t *data, size_t nbytes, uint64_t *said, uint64_t *there)
{
	const size_t head = (size_t)(c->name + c->length);
	uint64_t large = 0; // RF64's, whose own lengths have 32 bits

	for (size_t at = c->first, i = 0; i < CHUNKS_MOST && at <= nbytes && nbytes - at >= head; i++) {
		uint64_t length = number(data + at + c->name, c->length, c->is_big_endian);

		length -= c->is_whole && length >= head ? head : 0;
		if (!memcmp(data + at, "ds64", 4) && nbytes - at >= head + 16)
			large = number(data + at + head + 8, 8, false);
		if (!memcmp(data + at, c->samples, (size_t)c->name)) {
			*said = length == UINT32_MAX && large > 0 ? large : length;
			*there = nbytes - at - head;
			return c->length > 4 || large > 0 || !is_no_length(length);
		}
		if (length > nbytes - at - head)
			return false;
		at += head + length + (c->align - length % c->align) % c->align;
		if (i + 1 == CHUNKS_MOST) {
			*said = UINT64_MAX;
			return true;
		}
	}
	return false;
}

// Tags of ID3 in front, which no reader below is given: each passes over them in a way of its own. Bytes; more than `nbytes`
// where one is cut off.
static size_t id3_nbytes(const uint8_t *data, size_t nbytes)
{
	enum { HEAD = 10, FOOTER = 16 };
	size_t at = 0;

	while (at <= nbytes && begins(data, nbytes, at, "ID3") && nbytes - at >= HEAD) {
		const size_t size = (size_t)(data[at + 6] & 127) << 21 | (size_t)(data[at + 7] & 127) << 14 |
			(size_t)(data[at + 8] & 127) << 7 | (data[at + 9] & 127);
		at += HEAD + size + (data[at + 5] & FOOTER ? HEAD : 0);
	}
	return at;
}

// ---- MP3 ----------------------------------------------------------------------------------------------------------------

// Bytes of the frame of layer III whose four bytes of header these are; 0: they are none.
static size_t mp3_frame(const uint8_t *at)
{
	static const uint16_t first[] = { 0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320 }, // kbit/s of MPEG 1
		second[] = { 0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160 };                  // of 2 and 2.5
	static const uint16_t rates[] = { 44100, 48000, 32000 };
	const unsigned version = at[1] >> 3 & 3, layer = at[1] >> 1 & 3, bits = at[2] >> 4, rate = at[2] >> 2 & 3;
	const bool is_first = version == 3;

	if (at[0] != 0xff || at[1] >> 5 != 7 || version == 1 || layer != 1 || bits == 0 || bits == 15 || rate == 3)
		return 0;
	const unsigned hz = rates[rate] >> (is_first ? 0 : version == 2 ? 1 : 2), kbits = (is_first ? first : second)[bits];
	return (is_first ? 144000u : 72000u) * kbits / hz + (at[2] >> 1 & 1);
}

// Of all frames what the first says, by encoders that can go back to write it. False: nothing.
static bool mp3_total(const uint8_t *frame, size_t nbytes, uint64_t *frames, uint64_t *length)
{
	enum { XING_MOST = 36, VBRI_AT = 36, HAS_FRAMES = 1, HAS_BYTES = 2 };

	*frames = *length = 0;
	for (size_t i = 4; i <= XING_MOST && i + 16 <= nbytes; i++)
		if (begins(frame, nbytes, i, "Xing") || begins(frame, nbytes, i, "Info")) {
			const uint64_t flags = number(frame + i + 4, 4, true);
			*frames = flags & HAS_FRAMES ? number(frame + i + 8, 4, true) : 0;
			*length = flags & HAS_BYTES ? number(frame + i + (flags & HAS_FRAMES ? 12 : 8), 4, true) : 0;
			return true;
		}
	if (!begins(frame, nbytes, VBRI_AT, "VBRI") || nbytes < VBRI_AT + 18)
		return false;
	*length = number(frame + VBRI_AT + 10, 4, true);
	*frames = number(frame + VBRI_AT + 14, 4, true);
	return true;
}

// One that is cut off within a frame, or has fewer than its first one says, which encoders count a little otherwise.
static enum status check_mp3(const char *name, const uint8_t *data, size_t nbytes, struct error *err)
{
	enum { LAX_FRAMES = 2, LAX = 2048 };
	uint64_t frames = 0, length = 0, count = 0;
	size_t at = 0, n;

	const bool said = nbytes - at >= 4 && mp3_frame(data + at) > 0 && mp3_total(data + at, nbytes - at, &frames, &length);
	for (; nbytes - at >= 4 && (n = mp3_frame(data + at)) > 0 && n <= nbytes - at; count++)
		at += n;
	if (count > 0 && nbytes - at >= 4 && mp3_frame(data + at) > nbytes - at)
		return error_set(err, STATUS_BAD_INPUT, "%s: ends within a frame", name);
	if (said && (length > nbytes + LAX || (at == nbytes && frames > count + LAX_FRAMES)))
		return error_set(err, STATUS_BAD_INPUT, "%s: says that it has %llu frames of %llu bytes, and has %llu of %zu",
			name, (unsigned long long)frames, (unsigned long long)length, (unsigned long long)count, nbytes);
	return STATUS_OK;
}

// ---- is all of it there? --------------------------------------------------------------------------------------------------

// A file whose samples do not all lie in it, as a broken download leaves it; libsndfile would take those that do.
static enum status check_samples(const char *name, const uint8_t *data, size_t nbytes, struct error *err)
{
	uint64_t said = 0, there = 0;

	for (size_t i = 0; i < sizeof chunked / sizeof *chunked; i++)
		if (begins(data, nbytes, 0, chunked[i].form) && begins(data, nbytes, chunked[i].kind_at, chunked[i].kind) &&
			!samples_said(&chunked[i], data, nbytes, &said, &there))
			return STATUS_OK;
	const bool is_au = begins(data, nbytes, 0, ".snd"), is_turned = begins(data, nbytes, 0, "dns.");
	if ((is_au || is_turned) && nbytes >= 12) { // AU: where they begin, how many bytes
		const uint64_t at = number(data + 4, 4, is_au), length = number(data + 8, 4, is_au);

		said = length == UINT32_MAX ? 0 : length;
		there = at < nbytes ? nbytes - at : 0;
	}
	if (said == UINT64_MAX && there == 0)
		return error_set(err, STATUS_BAD_INPUT, "%s: has %d chunks before its samples", name, CHUNKS_MOST);
	return said <= there ? STATUS_OK
			     : error_set(err, STATUS_BAD_INPUT, "%s: says that it has %llu bytes of samples, and has %llu", name,
				       (unsigned long long)said, (unsigned long long)there);
}

// Of the other kinds that libsndfile reads a file that is cut off cannot be told from a whole one.
static enum status check_kind(const SF_INFO *info, const char *path, struct error *err)
{
	static const int kinds[] = { SF_FORMAT_WAV, SF_FORMAT_WAVEX, SF_FORMAT_RF64, SF_FORMAT_W64, SF_FORMAT_AIFF, SF_FORMAT_AU,
		SF_FORMAT_CAF, SF_FORMAT_FLAC, SF_FORMAT_OGG, SF_FORMAT_MPEG, SF_FORMAT_HTK };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if ((info->format & SF_FORMAT_TYPEMASK) == kinds[i])
			return STATUS_OK;
	return error_set(
		err, STATUS_BAD_INPUT, "%s: sounds are read from WAV, FLAC, Ogg, MP3, AIFF, AU, CAF and HTK files", path);
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

// The length of an MP3 may be a guess.
static enum status check_said(const SF_INFO *info, size_t length, const char *path, struct error *err)
{
	if (info->frames == SF_COUNT_MAX || length >= (size_t)info->frames ||
		(info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_MPEG)
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT, "%s: says that it has %lld samples, and %zu can be read", path,
		(long long)info->frames, length);
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
	return s ? s : check_said(info, d->length, path, err);
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
	return s ? s : check_said(info, length, path, err);
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
	if ((s = check_mp3(name, bytes->data, (size_t)bytes->size, err))) // before mpg123 speaks of it
		return s;
	SNDFILE *file = l->sf_open_virtual(&io, SFM_READ, &info, bytes);
	if (!file)
		return error_set(err, STATUS_BAD_INPUT, "%s: no sound that libsndfile reads: %s", name, l->sf_strerror(NULL));
	d->channels = wanted->channels == 1 ? 1 : (size_t)info.channels;
	d->rate = info.samplerate;
	d->longest = wanted->rate > d->rate ? (size_t)((double)SOUND_MOST / wanted->rate * d->rate) : SOUND_MOST;
	d->most = (size_t)bytes->size > SOUND_MOST / DENSITY_MOST ? SOUND_MOST : BLOCK + (size_t)bytes->size * DENSITY_MOST;
	s = check_kind(&info, name, err);
	s = s ? s : check_info(&info, d, name, err);
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
	const size_t tags = id3_nbytes(data, nbytes);
	if (tags > nbytes)
		return error_set(err, STATUS_BAD_INPUT, "%s: ends within its tag", name);
	struct bytes bytes = { (const uint8_t *)data + tags, (sf_count_t)(nbytes - tags), 0 };
	struct decoded d = { 0 };
	struct sound as_read;
	enum status s = check_samples(name, bytes.data, nbytes - tags, err);

	s = s ? s : ogg_check(name, bytes.data, nbytes - tags, err);
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
