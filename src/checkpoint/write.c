// SPDX-License-Identifier: Apache-2.0
// Writing safetensors files: the header for a list of tensors, and small files whole. Large ones are streamed by artifact/synth.c
// from the same header.
#include "checkpoint/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { DATA_ALIGN = 64, LENGTH_NBYTES = 8 };

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum status check_names(const struct weight *weights, size_t count, struct error *err)
{
	const char **names = calloc(count ? count : 1, sizeof *names);
	if (!names)
		return error_set(err, STATUS_NO_MEMORY, "not enough memory for the names of %zu tensors", count);
	for (size_t i = 0; i < count; i++)
		names[i] = weights[i].name;
	qsort(names, count, sizeof *names, by_text);
	enum status s = STATUS_OK;
	for (size_t i = 0; i < count && !s; i++)
		if (!strcmp(names[i], "__metadata__"))
			s = error_set(err, STATUS_BAD_INPUT, "no tensor can be called \"__metadata__\" in a safetensors file");
		else if (i && !strcmp(names[i - 1], names[i]))
			s = error_set(err, STATUS_BAD_INPUT, "tensor \"%.200s\" is given twice", names[i]);
	free(names);
	return s;
}

static enum status add_entry(struct text *t, struct weight *w, bool first, uint64_t *at, struct error *err)
{
	size_t count;
	uint64_t end;
	if (!dtype_size(w->dtype) || w->rank < 0 || w->rank > TENSOR_MAX_RANK || !tensor_count(w->rank, w->dim, &count) ||
		__builtin_mul_overflow(count, dtype_size(w->dtype), &w->nbytes) || __builtin_add_overflow(*at, w->nbytes, &end) ||
		end > INT64_MAX / 2)
		return error_set(err, STATUS_BAD_INPUT, "tensor \"%.200s\": no file can hold its type and shape", w->name);
	json_t *name = json_string(w->name);
	char *quoted = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
	json_decref(name);
	if (!quoted)
		return error_set(err, STATUS_BAD_INPUT, "tensor \"%.200s\": its name is not valid UTF-8", w->name);
	text_addf(t, "%s%s:{\"dtype\":\"%s\",\"shape\":[", first ? "" : ",", quoted, dtype_safetensors(w->dtype));
	free(quoted);
	for (int i = 0; i < w->rank; i++)
		text_addf(t, "%s%" PRIi64, i ? "," : "", w->dim[i]);
	text_addf(t, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *at, end);
	w->offset = *at;
	*at = end;
	return STATUS_OK;
}

static enum status make_header(struct arena *a, struct weight *weights, size_t count, const char *metadata, char **header,
	size_t *header_nbytes, uint64_t *file_nbytes, struct error *err)
{
	enum status s = check_names(weights, count, err);
	if (s)
		return s;
	struct text t = { 0 };
	uint64_t at = 0;
	text_add_bytes(&t, "\0\0\0\0\0\0\0\0{", LENGTH_NBYTES + 1);
	text_add(&t, metadata);
	for (size_t i = 0; i < count && !s; i++)
		s = add_entry(&t, &weights[i], i == 0 && !*metadata, &at, err);
	if (s) {
		text_done(&t);
		return s;
	}
	text_add(&t, "}");
	while (t.length % DATA_ALIGN)
		text_add(&t, " ");
	uint64_t length = t.length - LENGTH_NBYTES;
	for (int i = 0; i < LENGTH_NBYTES; i++)
		t.data[i] = (char)(uint8_t)(length >> 8 * i);
	for (size_t i = 0; i < count; i++)
		weights[i].offset += t.length;
	*header = arena_strndup(a, t.data, t.length);
	*header_nbytes = t.length;
	*file_nbytes = t.length + at;
	text_done(&t);
	return STATUS_OK;
}

enum status safetensors_header(struct arena *a, struct weight *weights, size_t count, char **header, size_t *header_nbytes,
	uint64_t *file_nbytes, struct error *err)
{
	return make_header(a, weights, count, "", header, header_nbytes, file_nbytes, err);
}

enum status safetensors_header_synthetic(struct arena *a, struct weight *weights, size_t count, char **header,
	size_t *header_nbytes, uint64_t *file_nbytes, struct error *err)
{
	return make_header(a, weights, count, "\"__metadata__\":{\"format\":\"pt\",\"assay\":\"synthetic\"}", header,
		header_nbytes, file_nbytes, err);
}

enum status safetensors_header_metadata(struct arena *a, struct weight *weights, size_t count, const json_t *metadata,
	char **header, size_t *header_nbytes, uint64_t *file_nbytes, struct error *err)
{
	char *text = json_dumps(metadata, JSON_COMPACT);
	enum status s = text ? make_header(a, weights, count, arena_printf(a, "\"__metadata__\":%s", text), header, header_nbytes,
				       file_nbytes, err)
			     : error_set(err, STATUS_BAD_INPUT, "metadata that is not UTF-8");

	free(text);
	return s;
}

typedef enum status file_writer(const char *path, const void *data, size_t nbytes, struct error *err);

static enum status write_by(file_writer *writer, const char *path, const struct tensor *tensors, size_t count, struct error *err)
{
	struct arena a = { 0 };
	struct weight *weights = ARENA_ARRAY(&a, count, struct weight);
	char *header, *file = NULL;
	size_t header_nbytes;
	uint64_t nbytes;
	for (size_t i = 0; i < count; i++) {
		const struct tensor *t = &tensors[i];
		weights[i] = (struct weight){ .name = t->name, .dtype = t->dtype, .rank = t->rank };
		memcpy(weights[i].dim, t->dim, sizeof t->dim);
	}
	enum status s = safetensors_header(&a, weights, count, &header, &header_nbytes, &nbytes, err);
	for (size_t i = 0; i < count && !s; i++)
		if (tensors[i].nbytes != weights[i].nbytes)
			s = error_set(err, STATUS_BAD_INPUT, "tensor \"%.200s\": %zu bytes given, its shape takes %" PRIu64,
				tensors[i].name, tensors[i].nbytes, weights[i].nbytes);
	if (!s && !(file = malloc(nbytes)))
		s = error_set(err, STATUS_NO_MEMORY, "not enough memory for %" PRIu64 " bytes", nbytes);
	if (s) {
		error_prefix(err, "%s", path);
	} else {
		memcpy(file, header, header_nbytes);
		for (size_t i = 0; i < count; i++)
			if (tensors[i].nbytes)
				memcpy(file + weights[i].offset, tensors[i].data, tensors[i].nbytes);
		s = writer(path, file, nbytes, err);
	}
	free(file);
	arena_done(&a);
	return s;
}

enum status safetensors_write(const char *path, const struct tensor *tensors, size_t count, struct error *err)
{
	return write_by(file_write, path, tensors, count, err);
}

enum status safetensors_write_user(const char *path, const struct tensor *tensors, size_t count, struct error *err)
{
	return write_by(file_write_user, path, tensors, count, err);
}
