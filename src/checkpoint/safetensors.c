// SPDX-License-Identifier: Apache-2.0
// Reading safetensors files: map, parse the header, believe nothing. The rules are the reference implementation's: the header
// at most 100 MB and beginning with '{', tensors that cover the data without hole or overlap, metadata of strings only.
// Every error names the file, and the tensor where there is one.
#include "checkpoint/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/inside.h"

enum { HEADER_LIMIT = 100000000, LENGTH_NBYTES = 8 };

// A tensor's name comes from the file and may be a megabyte long; the reason behind it must stay readable.
#define TENSOR "tensor \"%.200s\""

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct weight *)a)->name, ((const struct weight *)b)->name);
}

static int by_offset(const void *a, const void *b)
{
	const struct weight *x = *(const struct weight *const *)a, *y = *(const struct weight *const *)b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->nbytes != y->nbytes ? (x->nbytes < y->nbytes ? -1 : 1) : strcmp(x->name, y->name);
}

// Exact words only: dtype_find is for people and takes other spellings.
static enum status read_dtype(struct weight *w, const json_t *v, struct error *err)
{
	static const char *const known[] = {"C64", "F4", "F6_E2M3", "F6_E3M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"};
	const char *word = json_string_value(v);
	if (!word)
		return error_set(err, STATUS_BAD_INPUT, TENSOR ": \"dtype\" is missing or not a string", w->name);
	for (int t = 1; t < DTYPE_COUNT; t++)
		if (!strcmp(word, dtype_safetensors((enum dtype)t))) {
			w->dtype = (enum dtype)t;
			return STATUS_OK;
		}
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(word, known[i]))
			return error_set(err, STATUS_UNSUPPORTED, TENSOR ": element type %s is not supported yet", w->name, word);
	return error_set(err, STATUS_BAD_INPUT, TENSOR ": unknown element type \"%.40s\"", w->name, word);
}

static enum status read_shape(struct weight *w, const json_t *v, struct error *err)
{
	if (!json_is_array(v))
		return error_set(err, STATUS_BAD_INPUT, TENSOR ": \"shape\" is missing or not an array", w->name);
	size_t rank = json_array_size(v);
	if (rank > TENSOR_MAX_RANK)
		return error_set(err, STATUS_UNSUPPORTED, TENSOR ": %zu dimensions; at most %d are supported", w->name, rank,
			TENSOR_MAX_RANK);
	w->rank = (int)rank;
	for (size_t i = 0; i < rank; i++) {
		const json_t *d = json_array_get(v, i);
		if (!json_is_integer(d) || json_integer_value(d) < 0)
			return error_set(err, STATUS_BAD_INPUT, TENSOR ": dimension %zu of its shape is not a size", w->name, i);
		w->dim[i] = json_integer_value(d);
	}
	return STATUS_OK;
}

// Leaves the offset relative to the data: the order is checked before it is made absolute.
static enum status read_offsets(struct weight *w, const json_t *v, uint64_t data_nbytes, struct error *err)
{
	const json_t *b = json_array_get(v, 0), *e = json_array_get(v, 1);
	if (json_array_size(v) != 2 || !json_is_integer(b) || !json_is_integer(e))
		return error_set(err, STATUS_BAD_INPUT, TENSOR ": \"data_offsets\" is missing or not two integers", w->name);
	json_int_t begin = json_integer_value(b), end = json_integer_value(e);
	if (begin < 0 || end < begin)
		return error_set(err, STATUS_BAD_INPUT, TENSOR ": its offsets [%" PRIi64 ", %" PRIi64 "] are not in order",
			w->name, (int64_t)begin, (int64_t)end);
	if ((uint64_t)end > data_nbytes)
		return error_set(err, STATUS_BAD_INPUT,
			TENSOR ": ends at byte %" PRIi64 " of the data, the file holds %" PRIu64 ": it is cut off; download it again", w->name, (int64_t)end, data_nbytes);
	char shape[128];
	size_t count, nbytes;
	if (!tensor_count(w->rank, w->dim, &count) || __builtin_mul_overflow(count, dtype_size(w->dtype), &nbytes))
		return error_set(err, STATUS_BAD_INPUT, TENSOR ": its shape %s is larger than any file", w->name,
			tensor_shape_text(w->rank, w->dim, shape, sizeof shape));
	if ((uint64_t)(end - begin) != nbytes)
		return error_set(err, STATUS_BAD_INPUT, TENSOR ": %s of %s takes %zu bytes, its offsets span %" PRIi64, w->name,
			tensor_shape_text(w->rank, w->dim, shape, sizeof shape), dtype_safetensors(w->dtype), nbytes,
				(int64_t)(end - begin));
	w->offset = (uint64_t)begin;
	w->nbytes = nbytes;
	return STATUS_OK;
}

static enum status check_metadata(const json_t *v, struct error *err)
{
	const char *key;
	json_t *item;
	if (!json_is_object(v))
		return error_set(err, STATUS_BAD_INPUT, "\"__metadata__\" in its header is not an object");
	json_object_foreach((json_t *)v, key, item)
		if (!json_is_string(item))
			return error_set(err, STATUS_BAD_INPUT, "\"__metadata__\" in its header: \"%.100s\" is not a string", key);
	return STATUS_OK;
}

// The tensors must follow each other from the first byte of the data to the last.
static enum status check_cover(struct weight *weights, size_t count, uint64_t data_nbytes, struct error *err)
{
	struct weight **order = count ? calloc(count, sizeof *order) : NULL;
	if (count && !order)
		return error_set(err, STATUS_NO_MEMORY, "not enough memory for the names of %zu tensors", count);
	for (size_t i = 0; i < count; i++)
		order[i] = &weights[i];
	if (count)
		qsort(order, count, sizeof *order, by_offset);
	uint64_t at = 0;
	enum status s = STATUS_OK;
	for (size_t i = 0; i < count && s == STATUS_OK; i++) {
		if (order[i]->offset < at)
			s = error_set(err, STATUS_BAD_INPUT, TENSOR " overlaps " TENSOR, order[i]->name, order[i - 1]->name);
		else if (order[i]->offset > at)
			s = error_set(err, STATUS_BAD_INPUT, TENSOR ": %" PRIu64 " bytes before it belong to no tensor",
				order[i]->name, order[i]->offset - at);
		at = order[i]->offset + order[i]->nbytes;
	}
	free(order);
	if (s == STATUS_OK && at != data_nbytes)
		s = error_set(err, STATUS_BAD_INPUT, "%" PRIu64 " bytes behind the last tensor belong to no tensor", data_nbytes - at);
	return s;
}

static enum status read_tensors(struct arena *a, const struct shard *shard, json_t *header, struct weight **out,
	size_t *ret_count, struct error *err)
{
	uint64_t data_nbytes = shard->nbytes - shard->header_nbytes;
	struct weight *weights = ARENA_ARRAY(a, json_object_size(header), struct weight);
	size_t count = 0;
	const char *name;
	json_t *v;
	json_object_foreach(header, name, v) {
		enum status s;
		if (!strcmp(name, "__metadata__")) {
			if ((s = check_metadata(v, err)))
				return s;
			continue;
		}
		struct weight *w = &weights[count++];
		*w = (struct weight){.name = arena_strdup(a, name), .shard = shard};
		if (!json_is_object(v))
			return error_set(err, STATUS_BAD_INPUT, TENSOR ": its entry in the header is not an object", name);
		if ((s = read_dtype(w, json_object_get(v, "dtype"), err)) || (s = read_shape(w, json_object_get(v, "shape"), err)) ||
		    (s = read_offsets(w, json_object_get(v, "data_offsets"), data_nbytes, err)))
			return s;
	}
	enum status s = check_cover(weights, count, data_nbytes, err);
	if (s)
		return s;
	for (size_t i = 0; i < count; i++) {
		weights[i].offset += shard->header_nbytes;
		weights[i].data = shard->map + weights[i].offset;
	}
	qsort(weights, count, sizeof *weights, by_name);
	*out = weights;
	*ret_count = count;
	return STATUS_OK;
}

// The header's length, checked against the file.
static enum status header_length(const struct shard *shard, size_t *out, struct error *err)
{
	enum status s = shard_check_pointer(shard, err);
	if (s)
		return s;
	if (shard->nbytes < LENGTH_NBYTES)
		return error_set(err, STATUS_BAD_INPUT, "%zu bytes are too few for a safetensors file", shard->nbytes);
	uint64_t n = 0;
	for (int i = 0; i < LENGTH_NBYTES; i++)
		n |= (uint64_t)shard->map[i] << 8 * i;
	if (n > shard->nbytes - LENGTH_NBYTES)
		return error_set(err, STATUS_BAD_INPUT,
			"its header would be %" PRIu64 " bytes long, the file is %zu: not a safetensors file, or cut off", n,
			shard->nbytes);
	if (n > HEADER_LIMIT)
		return error_set(err, STATUS_BAD_INPUT,
			"its header of %" PRIu64 " bytes is longer than the %d that the format allows", n, HEADER_LIMIT);
	if (!n || shard->map[LENGTH_NBYTES] != '{')
		return error_set(err, STATUS_BAD_INPUT, "its header does not begin with '{': not a safetensors file");
	*out = (size_t)n;
	return STATUS_OK;
}

static enum status parse(struct arena *a, const struct shard *shard, bool *synthetic, struct weight **out, size_t *count, struct error *err)
{
	// The caller's shard is const and may lack header_nbytes: the tensors point to the caller's, the length is our own.
	struct shard known = *shard;
	size_t n;
	enum status s = header_length(shard, &n, err);
	if (s) {
		error_prefix(err, "%s", shard->path);
		return s;
	}
	known.header_nbytes = LENGTH_NBYTES + n;
	json_error_t e;
	json_t *header = json_loadb((const char *)shard->map + LENGTH_NBYTES, n, JSON_REJECT_DUPLICATES, &e);
	if (!header)
		s = error_set(err, STATUS_BAD_INPUT, "its header is not valid JSON: %s (byte %d)", e.text, e.position);
	else if (!json_is_object(header))
		s = error_set(err, STATUS_BAD_INPUT, "its header is not a JSON object");
	else
		s = read_tensors(a, &known, header, out, count, err);
	const char *made_by = json_string_value(json_object_get(json_object_get(header, "__metadata__"), "assay"));
	*synthetic = made_by && !strcmp(made_by, "synthetic");
	json_decref(header);
	if (s) {
		error_prefix(err, "%s", shard->path);
		return s;
	}
	for (size_t i = 0; i < *count; i++)
		(*out)[i].shard = shard;
	return STATUS_OK;
}

enum status safetensors_metadata(const char *path, json_t **out, struct error *err)
{
	struct arena a = { 0 };
	struct shard shard;
	json_error_t e;
	size_t n;
	json_t *header = NULL;
	enum status s = shard_open(&shard, &a, path, err);

	*out = NULL;
	if (s) {
		arena_done(&a);
		return s;
	}
	if (!(s = header_length(&shard, &n, err)))
		header = json_loadb((const char *)shard.map + LENGTH_NBYTES, n, JSON_REJECT_DUPLICATES, &e);
	if (!s && !json_is_object(header))
		s = error_set(err, STATUS_BAD_INPUT, "its header is not a JSON object");
	json_t *metadata = json_object_get(header, "__metadata__");
	if (metadata && !(s = check_metadata(metadata, err)))
		*out = json_incref(metadata);
	json_decref(header);
	arena_done(&a);
	return s ? error_prefix(err, "%s", path) : STATUS_OK;
}

enum status safetensors_parse(struct arena *a, const struct shard *shard, struct weight **out, size_t *count, struct error *err)
{
	bool synthetic;
	return parse(a, shard, &synthetic, out, count, err);
}

enum status safetensors_open(struct arena *a, const char *path, struct shard *shard, struct weight **out, size_t *count, struct error *err)
{
	struct shard opened;
	size_t n;
	enum status s = shard_open(&opened, a, path, err);
	if (s)
		return s;
	if ((s = header_length(&opened, &n, err))) {
		error_prefix(err, "%s", path);
		return s;
	}
	opened.header_nbytes = LENGTH_NBYTES + n;
	*shard = opened;
	return parse(a, shard, &shard->synthetic, out, count, err);
}
