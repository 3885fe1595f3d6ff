// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pickle by itself, as a file of torch.save, and behind the three pickles that begin its older layout: refused
// with a sentence, or tensors within the file's bounds.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/pickle.h"
#include "fuzz.h"

// Magic number, protocol 1001, {"little_endian": True}.
static const uint8_t stream[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
				"\x80\x02M\xe9\x03."
				"\x80\x02}X\x0d\x00\x00\x00little_endian\x88s.";

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
	struct arena a = { 0 };
	struct error e = { 0 };
	struct shard shard = { .path = "input", .map = data, .nbytes = size };
	struct weight *w = NULL;
	size_t count = 0;
	fuzz_memory_begin();
	enum status s = torch_parse(&a, &shard, &w, &count, &e);
	fuzz_memory_end(size, 16 << 10, 160);
	if (s)
		fuzz_refused(s, &e, "input: ");
	if (s && (w || count))
		abort();
	for (size_t i = 0; i < count; i++) {
		uint64_t nbytes = w[i].stride ? reach(&w[i]) : w[i].nbytes;
		if (w[i].offset > size || nbytes > size - w[i].offset || w[i].data != data + w[i].offset || w[i].shard != &shard)
			abort();
		if (i && strcmp(w[i - 1].name, w[i].name) >= 0)
			abort();
		if (nbytes) {
			fuzz_touch(data + w[i].offset, 1);
			fuzz_touch(data + w[i].offset + nbytes - 1, 1);
		}
	}
	for (size_t i = 0; i < shard.ignored_count; i++)
		fuzz_touch(shard.ignored[i], strlen(shard.ignored[i]));
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct pickle_result result;
	struct pickle_budget budget = pickle_budget_of_file;
	uint8_t *behind = malloc(sizeof stream - 1 + size);
	if (!behind)
		return 0;
	file(data, size);
	memcpy(behind, stream, sizeof stream - 1);
	if (size)
		memcpy(behind + sizeof stream - 1, data, size);
	file(behind, sizeof stream - 1 + size);
	free(behind);
	fuzz_memory_begin();
	enum status s = pickle_read(&result, &a, data, size, &budget, &e);
	fuzz_memory_end(size, 16 << 10, 160);
	if (s)
		fuzz_refused(s, &e, NULL);
	else if (!result.value || result.used > size)
		abort();
	arena_done(&a);
	return 0;
}
