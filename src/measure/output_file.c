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
#include "checkpoint/checkpoint.h"

enum status outputs_write(struct arena *a, const char *path, const struct tensor *outputs, size_t count, struct error *err)
{
	size_t header_nbytes;
	struct weight *tensors = ARENA_ARRAY(a, count + 1, struct weight);
	uint64_t file_nbytes;
	char *header;
	enum status st;
	int fd;

	for (size_t i = 0; i < count; i++) {
		const struct tensor *t = &outputs[i];

		tensors[i] = (struct weight){ .name = t->name, .dtype = t->dtype, .rank = t->rank, .nbytes = t->nbytes };
		memcpy(tensors[i].dim, t->dim, sizeof tensors[i].dim);
	}
	if ((st = safetensors_header(a, tensors, count, &header, &header_nbytes, &file_nbytes, err)))
		return st;
	// What an engine hands over may be less than it says: a hole in the file would be read as zeros.
	for (size_t i = 0; i < count; i++)
		if (outputs[i].nbytes != tensors[i].nbytes)
			return error_set(err, STATUS_FAILED, "output %s holds %zu bytes, its shape takes %" PRIu64, outputs[i].name, outputs[i].nbytes,
				tensors[i].nbytes);
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
