// SPDX-License-Identifier: Apache-2.0
// Any bytes as the model.safetensors.index.json of a folder with two shards: refused with a sentence that names the folder, or
// the weights of files that lie in it. The Hub's cache reads the same file when it looks whether a snapshot is whole.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "fuzz.h"
#include "hub/hub.h"

// One tensor each, "a" and "b".
static void put_shards(void)
{
	static const char a[] = "\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}  abcd",
			  b[] = "\x38\0\0\0\0\0\0\0{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}  abcd";
	struct checkpoint c = { 0 };
	fuzz_put("config.json", "{}", 2);
	fuzz_put("a.safetensors", a, sizeof a - 1);
	fuzz_put("b.safetensors", b, sizeof b - 1);
	static const char both[] = "{\"weight_map\": {\"a\": \"a.safetensors\", \"b\": \"b.safetensors\"}}";
	fuzz_put("model.safetensors.index.json", both, sizeof both - 1);
	if (checkpoint_open(&c, fuzz_folder(), NULL) || c.weight_count != 2)
		abort();
	checkpoint_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	struct arena a = { 0 };
	const char *const *names;
	size_t count;
	static bool ready;
	if (!ready)
		put_shards();
	ready = true;
	fuzz_put("model.safetensors.index.json", data, size);
	fuzz_memory_begin();
	enum status s = checkpoint_open(&c, fuzz_folder(), &e);
	fuzz_memory_end(size, 128 << 10, 320);
	fuzz_memory_begin();
	checkpoint_files(fuzz_folder(), &a, &names, &count);
	fuzz_memory_end(size, 128 << 10, 320);
	if (!count || strcmp(names[0], "model.safetensors.index.json"))
		abort();
	for (size_t i = 1; i < count; i++)
		if (!*names[i] || strchr(names[i], '/'))
			abort();
	bool whole = hub_weights_are_whole(fuzz_folder());
	if (s)
		fuzz_refused(s, &e, fuzz_folder());
	else if (!whole || !c.weight_count || c.weight_count > 2 || c.shard_count > 2 || count != 1 + c.shard_count)
		abort();
	for (size_t i = 0; i < c.weight_count; i++)
		fuzz_touch(c.weights[i].data, c.weights[i].nbytes);
	arena_done(&a);
	checkpoint_close(&c);
	return 0;
}
