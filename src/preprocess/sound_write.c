// SPDX-License-Identifier: Apache-2.0
// libsndfile writes into memory, so that a file is there whole or not at all.
#include "preprocess/sound_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "preprocess/sound_library.h"

enum { SAMPLES_MOST = 1 << 29 }; // a WAV file is less than 4 GiB

struct written {
	char *data;
	sf_count_t size, room, at;
};

static sf_count_t written_size(void *context)
{
	return ((struct written *)context)->size;
}

static sf_count_t written_seek(sf_count_t offset, int whence, void *context)
{
	struct written *w = context;
	sf_count_t from = whence == SEEK_CUR ? w->at : whence == SEEK_END ? w->size : 0;

	if (from + offset < 0 || from + offset > w->size)
		return -1;
	return w->at = from + offset;
}

static sf_count_t written_read(void *out, sf_count_t count, void *context)
{
	struct written *w = context;

	count = count < w->size - w->at ? count : w->size - w->at;
	memcpy(out, w->data + w->at, (size_t)count);
	w->at += count;
	return count;
}

static sf_count_t written_write(const void *in, sf_count_t count, void *context)
{
	struct written *w = context;

	if (w->at + count > w->room) {
		sf_count_t room = 2 * (w->at + count);
		char *data = realloc(w->data, (size_t)room);

		if (!data)
			return 0;
		w->data = data;
		w->room = room;
	}
	memcpy(w->data + w->at, in, (size_t)count);
	w->at += count;
	w->size = w->at > w->size ? w->at : w->size;
	return count;
}

static sf_count_t written_tell(void *context)
{
	return ((struct written *)context)->at;
}

static enum status encode(struct written *w, const float *samples, size_t count, int rate, const char *path, struct error *err)
{
	SF_VIRTUAL_IO io = { written_size, written_seek, written_read, written_write, written_tell };
	SF_INFO info = { .samplerate = rate, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT };
	const struct sound_library *l;
	enum status st = sndfile_load(&l, err);

	if (st)
		return st;
	SNDFILE *file = l->sf_open_virtual(&io, SFM_WRITE, &info, w);
	if (!file)
		return error_set(err, STATUS_FAILED, "%s: libsndfile: %s", path, l->sf_strerror(NULL));
	l->sf_command(file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE); // it has the time of day in it
	if (l->sf_writef_float(file, samples, (sf_count_t)count) != (sf_count_t)count)
		st = error_set(err, STATUS_FAILED, "%s: libsndfile: %s", path, l->sf_strerror(file));
	if (l->sf_close(file) && !st)
		st = error_set(err, STATUS_FAILED, "%s: libsndfile cannot end the file", path);
	return st;
}

enum status sound_save(const float *samples, size_t count, int rate, const char *path, struct error *err)
{
	struct written w = { 0 };
	enum status st;

	if (rate < 1 || count > SAMPLES_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: %zu samples, %d a second: no WAV file has that", path, count, rate);
	st = encode(&w, samples, count, rate, path, err);
	if (!st)
		st = file_write_user(path, w.data, (size_t)w.size, err);
	free(w.data);
	return st;
}
