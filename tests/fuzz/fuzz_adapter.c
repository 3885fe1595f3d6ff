// SPDX-License-Identifier: Apache-2.0
// Any bytes as an adapter: a configuration (its base is this target's own, a small llama), a zero byte, and its
// adapter_model.safetensors. Refused with a sentence that names its folder, or every number of every weight can be read.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "checkpoint/computed.h"
#include "fuzz.h"

static void make_base(const char *folder)
{
	static const char config[] = "{\"model_type\": \"llama\", \"tie_word_embeddings\": false}";
	static float numbers[64 * 32];
	static const struct {
		const char *name;
		int64_t rows;
	} weights[] = { { "lm_head.weight", 64 }, { "model.embed_tokens.weight", 64 },
		{ "model.layers.0.self_attn.q_proj.weight", 32 } };
	struct tensor tensors[3];
	char path[4200];

	for (size_t i = 0; i < 3; i++)
		tensors[i] = (struct tensor){ .name = weights[i].name,
			.dtype = DTYPE_F32,
			.rank = 2,
			.dim = { weights[i].rows, 32 },
			.data = numbers,
			.nbytes = (size_t)weights[i].rows * 32 * 4 };
	snprintf(path, sizeof path, "%s/config.json", folder);
	if (file_mkdirs(folder, NULL) || file_put(path, config, strlen(config), NULL))
		abort();
	snprintf(path, sizeof path, "%s/model.safetensors", folder);
	if (safetensors_write(path, tensors, 3, NULL))
		abort();
}

static void read_all(const struct weight *w)
{
	float x[256];
	const uint64_t n = w->dtype == DTYPE_F32 ? w->nbytes / 4 : 0;

	for (uint64_t at = 0, part; at < n; at += part) {
		part = n - at < 256 ? n - at : 256;
		weight_numbers(w, at, (size_t)part, x);
		fuzz_touch(x, (size_t)part * sizeof *x);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char base[4096];
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	struct text config = { 0 };
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;

	if (!*base) {
		snprintf(base, sizeof base, "%s/base", fuzz_folder());
		make_base(base);
	}
	if (!end)
		return 0;
	// What the input says of a base comes twice, and is refused.
	text_addf(&config, "{\"base_model_name_or_path\": \"%s\", ", base);
	text_add_bytes(&config, (const char *)data, (size_t)(end - data));
	text_add(&config, "}");
	fuzz_put("adapter_config.json", text_get(&config), config.length);
	fuzz_put("adapter_model.safetensors", end + 1, size - (size_t)(end + 1 - data));
	text_done(&config);
	fuzz_memory_begin();
	enum status s = checkpoint_open(&c, fuzz_folder(), &e);
	fuzz_memory_end(size, 256 << 10, 320);
	if (s) {
		fuzz_refused(s, &e, fuzz_folder());
		return 0;
	}
	for (size_t i = 0; i < c.weight_count; i++)
		read_all(&c.weights[i]);
	checkpoint_close(&c);
	return 0;
}
