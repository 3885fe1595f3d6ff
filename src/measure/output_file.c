// SPDX-License-Identifier: Apache-2.0
// Outputs go from the child to the parent as a safetensors file. Not by safetensors_write: they may have hundreds of
// megabytes, are read once and then removed, so they are neither gathered in memory nor synced.
#include "measure/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, "%s: cannot be written", path);
	for (size_t i = 0; i <= count && !st; i++) {
		const char *data = i ? outputs[i - 1].data : header;
		size_t left = i ? outputs[i - 1].nbytes : header_nbytes;
		off_t at = i ? (off_t)tensors[i - 1].offset : 0;

		while (left && !st) {
			ssize_t n = pwrite(fd, data, left, at);

			if (n < 0 && errno != EINTR)
				st = error_errno(err, "%s: cannot be written", path);
			if (n > 0) {
				data += n;
				at += n;
				left -= (size_t)n;
			}
		}
	}
	close(fd);
	return st;
}
