// SPDX-License-Identifier: Apache-2.0
#include "conform/stored.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

// Those that the libraries' answers were stored in have headers of at most 9 KB.
static enum status check_header(const char *path, struct error *err)
{
	enum { LENGTH_NBYTES = 8, HEADER_MOST = 1 << 20 };
	struct arena a = { 0 };
	const uint8_t *data;
	uint64_t header = 0;
	size_t nbytes;
	enum status st = file_map(&a, path, &data, &nbytes, err);

	if (!st && nbytes >= LENGTH_NBYTES)
		memcpy(&header, data, LENGTH_NBYTES);
	arena_done(&a);
	return st || header <= HEADER_MOST
		? st
		: error_set(err, STATUS_BAD_INPUT, "%s: its header has %llu bytes; a case's has at most %d", path,
			  (unsigned long long)header, HEADER_MOST);
}

enum status stored_open(struct stored *out, struct arena *a, const char *path, struct error *err)
{
	enum status st = check_header(path, err);

	*out = (struct stored){ 0 };
	return st ? st : safetensors_open(a, path, &out->shard, &out->tensors, &out->count, err);
}

const struct weight *stored_find(const struct stored *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (text_is(s->tensors[i].name, name))
			return &s->tensors[i];
	return NULL;
}

size_t stored_count(const struct weight *w)
{
	return (size_t)w->nbytes / dtype_size(w->dtype);
}

double stored_at(const struct weight *w, size_t i)
{
	struct tensor t = { .dtype = w->dtype, .data = (void *)(uintptr_t)w->data, .nbytes = w->nbytes };

	return tensor_get(&t, i);
}
