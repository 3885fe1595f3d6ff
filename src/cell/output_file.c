// SPDX-License-Identifier: Apache-2.0
// Outputs go from the child to the parent as a safetensors file. Not by safetensors_write: they may have hundreds of
// megabytes, are read once and then removed, so they are neither gathered in memory nor synced.
#include "cell/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sealed.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"

#define OUTPUT "out."
#define MASK "in.attention_mask"
#define TOKENS "in.input_ids"

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

// All of them under their names in the file.
static struct tensor *named(struct arena *a, const struct answer *answer, size_t *count)
{
	struct tensor *all = ARENA_ARRAY(a, answer->count + 2, struct tensor);
	size_t n = 0;

	for (; n < answer->count; n++) {
		all[n] = answer->tensors[n];
		all[n].name = arena_printf(a, OUTPUT "%s", answer->tensors[n].name);
	}
	if (answer->mask) {
		all[n] = *answer->mask;
		all[n++].name = MASK;
	}
	if (answer->tokens) {
		all[n] = *answer->tokens;
		all[n++].name = TOKENS;
	}
	*count = n;
	return all;
}

enum status outputs_write(
	struct arena *a, const char *path, const char *made_from, const struct answer *answer, struct error *err)
{
	size_t header_nbytes, count;
	const struct tensor *outputs = named(a, answer, &count);
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
			return error_set(err, STATUS_FAILED, "output %s holds %zu bytes, its shape takes %" PRIu64,
				outputs[i].name, outputs[i].nbytes, tensors[i].nbytes);
	if (made_from)
		seal(header, header_nbytes, outputs, count);
	// Whatever lies there: a link leads elsewhere, and a FIFO waits for a reader.
	if ((unlink(path) && errno != ENOENT) ||
		(fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
		return error_errno(err, "%s: cannot be written", path);
	for (size_t i = 0; i <= count && !st; i++) {
		errno = i ? file_write_at(fd, outputs[i - 1].data, outputs[i - 1].nbytes, tensors[i - 1].offset)
			  : file_write_at(fd, header, header_nbytes, 0);
		if (errno)
			st = error_errno(err, "%s: cannot be written", path);
	}
	close(fd);
	return st;
}

static enum status take(struct arena *a, const struct weight *all, size_t count, struct answer *out, struct error *err)
{
	struct tensor *tensors = ARENA_ARRAY(a, count + 1, struct tensor);

	*out = (struct answer){ .tensors = tensors };
	for (size_t i = 0; i < count; i++) {
		const struct weight *w = &all[i];
		const bool is_mask = text_is(w->name, MASK), is_tokens = text_is(w->name, TOKENS),
			   is_output = text_starts(w->name, OUTPUT);
		// Outputs from the front, in their order; the inputs from the back.
		struct tensor *t = is_output ? &tensors[out->count] : is_mask ? &tensors[count] : &tensors[count - 1];

		if (!is_mask && !is_tokens && !is_output)
			continue;
		*t = weight_tensor(w);
		t->name += is_output ? strlen(OUTPUT) : 0;
		// The format promises no alignment.
		if (dtype_size(t->dtype) && (uintptr_t)t->data % dtype_size(t->dtype)) {
			if (!(t->data = arena_try(a, t->nbytes)))
				return error_set(err, STATUS_NO_MEMORY, "%s: not enough memory for the %zu bytes of %s",
					w->shard->path, t->nbytes, w->name);
			memcpy(t->data, w->data, t->nbytes);
		}
		out->count += is_output;
		out->mask = is_mask ? t : out->mask;
		out->tokens = is_tokens ? t : out->tokens;
	}
	return STATUS_OK;
}

enum status outputs_read(struct arena *a, const char *path, struct answer *out, struct error *err)
{
	struct shard shard;
	struct weight *tensors;
	size_t count;
	enum status st = safetensors_open(a, path, &shard, &tensors, &count, err);

	return st ? st : take(a, tensors, count, out, err);
}

enum status outputs_read_sealed(struct arena *a, const char *path, struct answer *out, struct error *err)
{
	struct shard shard;
	struct weight *tensors;
	json_t *metadata;
	size_t count;
	enum status st;

	if ((st = safetensors_open(a, path, &shard, &tensors, &count, err)) ||
		(st = safetensors_metadata_of(&shard, &metadata, err)))
		return st;
	st = sealed_check(path, metadata, shard.map, shard.nbytes, shard.header_nbytes, err);
	json_decref(metadata);
	return st ? st : take(a, tensors, count, out, err);
}
