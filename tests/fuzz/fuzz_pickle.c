// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of torch.save, and as a pickle by itself: refused with a sentence, or tensors within the file's bounds.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

// The last element that a weight with strides reaches, counted in bytes from its first.
static uint64_t reach(const struct weight *w)
{
	uint64_t n = 0;
	for (int i = 0; i < w->rank; i++)
		n += (uint64_t)(w->dim[i] - 1) * (uint64_t)w->stride[i];
	return (n + 1) * dtype_size(w->dtype);
}

static void file(const uint8_t *data, size_t size)
{
	struct arena a = {0};
	struct error e = {0};
	struct shard shard = {.path = "input", .map = data, .nbytes = size};
	struct weight *w = NULL;
	size_t count = 0;
	enum status s = torch_parse(&a, &shard, &w, &count, &e);
	if (s && (e.status != s || strncmp(e.text, "input: ", 7) || w || count))
		abort();
	for (size_t i = 0; i < count; i++) {
		uint64_t nbytes = w[i].stride ? reach(&w[i]) : w[i].nbytes;
		if (w[i].offset > size || nbytes > size - w[i].offset || w[i].data != data + w[i].offset || w[i].shard != &shard)
			abort();
		if (i && strcmp(w[i - 1].name, w[i].name) >= 0)
			abort();
		if (nbytes)
			sink ^= (uint8_t)(data[w[i].offset] ^ data[w[i].offset + nbytes - 1]);
	}
	for (size_t i = 0; i < shard.ignored_count; i++)
		sink ^= (uint8_t)strlen(shard.ignored[i]);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = {0};
	struct error e = {0};
	struct pickle_result result;
	file(data, size);
	enum status s = pickle_read(&result, &a, data, size, &e);
	if (s ? e.status != s || !e.text[0] : !result.value || result.used > size)
		abort();
	arena_done(&a);
	return 0;
}
