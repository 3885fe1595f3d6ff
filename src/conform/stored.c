// SPDX-License-Identifier: Apache-2.0
#include "conform/stored.h"

#include "base/text.h"

enum status stored_open(struct stored *out, struct arena *a, const char *path, struct error *err)
{
	*out = (struct stored){ 0 };
	return safetensors_open(a, path, &out->shard, &out->tensors, &out->count, err);
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
