// SPDX-License-Identifier: Apache-2.0
// Outputs go from the child to the parent as a safetensors file. Not by safetensors_write: they may have hundreds of
// megabytes, are read once and then removed, so they are neither gathered in memory nor synced.
#include "measure/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sealed.h"
#include "checkpoint/checkpoint.h"

enum { LENGTH_NBYTES = 8 };              // of the header, before it

static enum status make_header(struct arena *a, const char *made_from, struct weight *tensors, size_t count, char **header,
	size_t *header_nbytes, struct error *err)
{
	uint64_t file_nbytes;
	enum status st;

	if (!made_from)
		return safetensors_header(a, tensors, count, header, header_nbytes, &file_nbytes, err);
	json_t *metadata = json_object();
	sealed_add(metadata, made_from);
	st = safetensors_header_metadata(a, tensors, count, metadata, header, header_nbytes, &file_nbytes, err);
	json_decref(metadata);
	return st;
}

static void seal(char *header, size_t header_nbytes, const struct tensor *outputs, size_t count)
{
	struct sealing s;

	sealing_begin(&s, header, header_nbytes);
	for (size_t i = 0; i < count; i++)
		sealing_data(&s, outputs[i].data, outputs[i].nbytes);
	sealing_end(&s);
}

enum status outputs_write(
	struct arena *a, const char *path, const char *made_from, const struct tensor *outputs, size_t count, struct error *err)
{
	size_t header_nbytes;
	struct weight *tensors = ARENA_ARRAY(a, count + 1, struct weight);
	char *header;
	enum status st;
	int fd;

	for (size_t i = 0; i < count; i++) {
		const struct tensor *t = &outputs[i];

		tensors[i] = (struct weight){ .name = t->name, .dtype = t->dtype, .rank = t->rank, .nbytes = t->nbytes };
		memcpy(tensors[i].dim, t->dim, sizeof tensors[i].dim);
	}
	if ((st = make_header(a, made_from, tensors, count, &header, &header_nbytes, err)))
		return st;
	// What an engine hands over may be less than it says: a hole in the file would be read as zeros.
	for (size_t i = 0; i < count; i++)
		if (outputs[i].nbytes != tensors[i].nbytes)
			return error_set(err, STATUS_FAILED, "output %s holds %zu bytes, its shape takes %" PRIu64, outputs[i].name, outputs[i].nbytes,
				tensors[i].nbytes);
	if (made_from)
		seal(header, header_nbytes, outputs, count);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, "%s: cannot be written", path);
	for (size_t i = 0; i <= count && !st; i++) {
		errno = i ? file_write_at(fd, outputs[i - 1].data, outputs[i - 1].nbytes, tensors[i - 1].offset) : file_write_at(fd, header, header_nbytes, 0);
		if (errno)
			st = error_errno(err, "%s: cannot be written", path);
	}
	close(fd);
	return st;
}

enum status outputs_check(const struct shard *file, struct error *err)
{
	json_t *metadata;
	enum status st = safetensors_metadata_of(file, &metadata, err);

	if (!st)
		st = sealed_check(file->path, metadata, file->map, file->nbytes, file->header_nbytes, err);
	json_decref(metadata);
	return st;
}
