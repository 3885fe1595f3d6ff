// SPDX-License-Identifier: Apache-2.0
// Reading safetensors files: map, walk the header, believe nothing. The rules are the reference implementation's: the header
// beginning with '{' and at most 100 MB (here 24 MiB), tensors that cover the data without hole or overlap, metadata of strings
// only. Every error names the file, and the tensor where there is one.
#include "checkpoint/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/inside.h"

// The format allows headers of 100000000 bytes; no checkpoint has such a one, and all of it would be read to learn that it is
// nonsense. A tensor's entry weighs about 1600 bytes as a tree.
enum { FORMAT_LIMIT = 100000000, HEADER_LIMIT = 24 << 20, ENTRY_LIMIT = 64 << 10, ENTRY_WEIGHT = 4096, LENGTH_NBYTES = 8 };

// A tensor's name comes from the file and may be a megabyte long; the reason after it must stay readable.
#define TENSOR "tensor \"%.200s\""
#define METADATA "__metadata__"

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
	static const char *const known[] = { "C64", "F4", "F6_E2M3", "F6_E3M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ" };
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
			TENSOR ": ends at byte %" PRIi64 " of the data, the file holds %" PRIu64
			       ": it is cut off; download it again",
			w->name, (int64_t)end, data_nbytes);
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
	json_object_foreach((json_t *)v, key, item) if (!json_is_string(item)) return error_set(
		err, STATUS_BAD_INPUT, "\"__metadata__\" in its header: \"%.100s\" is not a string", key);
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
		s = error_set(
			err, STATUS_BAD_INPUT, "%" PRIu64 " bytes behind the last tensor belong to no tensor", data_nbytes - at);
	return s;
}

// A member of the header that is a tensor.
static enum status read_tensor(
	struct weight *w, const struct shard *shard, const char *begin, const struct json_member *m, struct error *err)
{
	json_t *v = NULL;

	if (m->value_nbytes <= ENTRY_LIMIT && json_weight(m->value, m->value_nbytes, ENTRY_WEIGHT) > ENTRY_WEIGHT)
		return error_set(err, STATUS_BAD_INPUT, TENSOR ": its entry in the header holds more than any tensor's", w->name);
	enum status s = json_value("its header", begin, m, ENTRY_LIMIT, &v, err);

	if (!s && !json_is_object(v))
		s = error_set(err, STATUS_BAD_INPUT, TENSOR ": its entry in the header is not an object", w->name);
	if (!s && !(s = read_dtype(w, json_object_get(v, "dtype"), err)) &&
		!(s = read_shape(w, json_object_get(v, "shape"), err)))
		s = read_offsets(w, json_object_get(v, "data_offsets"), shard->nbytes - shard->header_nbytes, err);
	json_decref(v);
	return s;
}

static enum status not_json(const struct json_walk *w, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "its header is not valid JSON: %s (byte %td)", w->error, w->at - w->begin);
}

// How many members the header has; refused here when they are more than any checkpoint's.
static enum status count_members(const char *header, size_t nbytes, size_t *out, struct error *err)
{
	struct json_walk w = json_members(header, nbytes);
	struct json_member m;
	size_t n = 0;

	while (n <= TENSORS_MOST && json_next(&w, &m))
		n++;
	if (n > TENSORS_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "its header names more than %d tensors; no checkpoint does", TENSORS_MOST);
	if (w.error)
		return not_json(&w, err);
	*out = n;
	return STATUS_OK;
}

// The member METADATA, owned by the caller. *out is NULL before.
static enum status read_metadata(json_t **out, const char *begin, const struct json_member *m, struct error *err)
{
	if (*out)
		return error_set(err, STATUS_BAD_INPUT, "duplicate \"" METADATA "\" in its header");
	enum status s = json_value("its header", begin, m, HEADER_LIMIT, out, err);
	return s ? s : check_metadata(*out, err);
}

// The members, one by one: a header never becomes a tree, which would take 75 times its bytes. Tensors are left in their order in
// the file; *synthetic as in struct shard.
static enum status read_members(
	struct arena *a, const struct shard *shard, struct weight *weights, size_t *count, bool *synthetic, struct error *err)
{
	const char *header = (const char *)shard->map + LENGTH_NBYTES;
	struct json_walk w = json_members(header, shard->header_nbytes - LENGTH_NBYTES);
	struct json_member m;
	json_t *metadata = NULL;
	enum status s = STATUS_OK;

	while (!s && json_next(&w, &m)) {
		const char *name = json_key(a, &m), *made_by;

		if (!name) {
			s = error_set(err, STATUS_BAD_INPUT, "its header is not valid JSON: a name that is no text (byte %td)",
				m.key - header);
			break;
		}
		if (strcmp(name, METADATA)) {
			struct weight *t = &weights[(*count)++];

			*t = (struct weight){ .name = name, .shard = shard };
			s = read_tensor(t, shard, header, &m, err);
			continue;
		}
		if ((s = read_metadata(&metadata, header, &m, err)))
			break;
		made_by = json_string_value(json_object_get(metadata, "assay"));
		*synthetic = made_by && !strcmp(made_by, "synthetic");
	}
	json_decref(metadata);
	return s;
}

static enum status read_header(
	struct arena *a, const struct shard *shard, bool *synthetic, struct weight **out, size_t *ret_count, struct error *err)
{
	const char *header = (const char *)shard->map + LENGTH_NBYTES;
	size_t members = 0, count = 0;
	enum status s = count_members(header, shard->header_nbytes - LENGTH_NBYTES, &members, err);
	if (s)
		return s;
	struct weight *weights = ARENA_ARRAY(a, members, struct weight);
	if ((s = read_members(a, shard, weights, &count, synthetic, err)))
		return s;
	qsort(weights, count, sizeof *weights, by_name);
	for (size_t i = 1; i < count; i++)
		if (!strcmp(weights[i - 1].name, weights[i].name))
			return error_set(err, STATUS_BAD_INPUT, "duplicate " TENSOR " in its header", weights[i].name);
	if ((s = check_cover(weights, count, shard->nbytes - shard->header_nbytes, err)))
		return s;
	for (size_t i = 0; i < count; i++) {
		weights[i].offset += shard->header_nbytes;
		weights[i].data = shard->map + weights[i].offset;
	}
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
	if (n > FORMAT_LIMIT)
		return error_set(err, STATUS_BAD_INPUT,
			"its header of %" PRIu64 " bytes is longer than the %d that the format allows", n, FORMAT_LIMIT);
	if (n > HEADER_LIMIT)
		return error_set(err, STATUS_BAD_INPUT,
			"its header of %" PRIu64 " bytes is longer than the %d that are read; no checkpoint has such a one", n,
			HEADER_LIMIT);
	if (!n || shard->map[LENGTH_NBYTES] != '{')
		return error_set(err, STATUS_BAD_INPUT, "its header does not begin with '{': not a safetensors file");
	*out = (size_t)n;
	return STATUS_OK;
}

static enum status parse(
	struct arena *a, const struct shard *shard, bool *synthetic, struct weight **out, size_t *count, struct error *err)
{
	// The caller's shard is const and may lack header_nbytes: the tensors point to the caller's, the length is our own.
	struct shard known = *shard;
	size_t n;
	*synthetic = false;
	enum status s = header_length(shard, &n, err);
	if (s) {
		error_prefix(err, "%s", shard->path);
		return s;
	}
	known.header_nbytes = LENGTH_NBYTES + n;
	s = read_header(a, &known, synthetic, out, count, err);
	if (s) {
		error_prefix(err, "%s", shard->path);
		return s;
	}
	for (size_t i = 0; i < *count; i++)
		(*out)[i].shard = shard;
	return STATUS_OK;
}

enum status safetensors_metadata_of(const struct shard *file, json_t **out, struct error *err)
{
	struct arena passing = { 0 };
	struct json_walk w = { 0 };
	struct json_member m;
	size_t n;
	enum status s = header_length(file, &n, err);
	const char *header = s ? NULL : (const char *)file->map + LENGTH_NBYTES;

	*out = NULL;
	if (!s)
		w = json_members(header, n);
	while (!s && json_next(&w, &m)) {
		const char *name = json_key(&passing, &m);

		if (name && !strcmp(name, METADATA))
			s = read_metadata(out, header, &m, err);
		arena_done(&passing);
	}
	if (!s && w.error)
		s = not_json(&w, err);
	if (!s)
		return STATUS_OK;
	json_decref(*out);
	*out = NULL;
	return error_prefix(err, "%s", file->path);
}

enum status safetensors_metadata(const char *path, json_t **out, struct error *err)
{
	struct arena a = { 0 };
	struct shard shard;
	enum status s = shard_open(&shard, &a, path, err);

	*out = NULL;
	if (!s)
		s = safetensors_metadata_of(&shard, out, err);
	arena_done(&a);
	return s;
}

enum status safetensors_parse(struct arena *a, const struct shard *shard, struct weight **out, size_t *count, struct error *err)
{
	bool synthetic;
	return parse(a, shard, &synthetic, out, count, err);
}

enum status safetensors_open(
	struct arena *a, const char *path, struct shard *shard, struct weight **out, size_t *count, struct error *err)
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
	s = parse(a, shard, &shard->synthetic, out, count, err);
	pages_forget(shard->map, shard->header_nbytes);
	return s;
}
