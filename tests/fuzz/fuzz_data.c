// SPDX-License-Identifier: Apache-2.0
// Any bytes as a set of examples (--data FILE.jsonl), beside files that its lines may name: listed, its labels looked at, and
// its first examples read by a folder that has a processor of pictures and no tokenizer. Then as the one safetensors file of a
// set, as a mask, and as a file of scores. Refused with sentences, or examples whose tensors, boxes and masks are whole, within
// the bounds of data.h.
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cell/data.h"
#include "cell/score.h"
#include "fuzz.h"
#include "preprocess/encode.h"

enum { FIXED = 16 << 20, EACH = 512, READ_MOST = 16 };
enum { DECODED = DATA_MASK_MOST * 3 + (24 << 20) }; // a mask, beside the decoders' own tables

static const struct tensor_type types[] = {
	{ .name = "pixel_values", .dtype = DTYPE_F32, .rank = 4, .dim = { -1, 3, -1, -1 } },
	{ .name = "input_ids", .dtype = DTYPE_I64, .rank = 2, .dim = { -1, -1 } },
};

// Files that a line may name: p.png, m.png (grey), a.safetensors, t.txt; and the processor of the folder.
static void put_files(void)
{
	static const char settings[] =
		"{\"image_processor_type\": \"ViTImageProcessor\", \"size\": {\"height\": 8, \"width\": 8}}";
	static const char tensors[] = "{\"input_ids\":{\"dtype\":\"I64\",\"shape\":[1,2],\"data_offsets\":[0,16]}}";
	uint8_t pixels[4 * 4 * 3], file[8 + sizeof tensors - 1 + 16] = { sizeof tensors - 1 };
	const struct picture p = { 4, 4, 3, pixels };
	const char *picture = fuzz_put("p.png", "", 0), *mask = fuzz_put("m.png", "", 0);

	memcpy(file + 8, tensors, sizeof tensors - 1);
	for (size_t i = 0; i < sizeof pixels; i++)
		pixels[i] = (uint8_t)(i / 3 % 3);
	if (picture_save(&p, picture, NULL) || picture_save(&p, mask, NULL))
		abort();
	fuzz_put("a.safetensors", file, sizeof file);
	fuzz_put("t.txt", "hello", 5);
	fuzz_put("preprocessor_config.json", settings, sizeof settings - 1);
}

static void look_at(const struct data_example *e)
{
	if (e->golden_count + e->input_count > 1u << 20 || e->box_count > DATA_BOXES_MOST || (e->boxes && e->golden_count) ||
		(e->labels && e->golden_count) || (e->transcript && !*e->transcript))
		abort();
	for (size_t i = 0; i < e->input_count; i++)
		fuzz_touch(e->inputs[i].data, e->inputs[i].nbytes);
	if (e->labels)
		fuzz_touch(e->labels->data, e->labels->nbytes);
	if (e->boxes)
		fuzz_touch(e->boxes, e->box_count * sizeof *e->boxes);
	if (e->mask.pixels)
		fuzz_touch(e->mask.pixels, (size_t)e->mask.width * (size_t)e->mask.height * 3);
}

static void read_set(const char *path, size_t size)
{
	struct arena a = { 0 };
	struct data_set set;
	struct error e = { 0 };
	json_t *config = json_pack("{s:{s:i, s:i}}", "label2id", "cat", 0, "dog", 1);
	struct data_reader r = { .how = { .model = fuzz_folder(), .text_most = 16 },
		.config = config,
		.types = types,
		.type_count = sizeof types / sizeof *types };

	fuzz_memory_begin();
	enum status s = data_list(&set, &a, path, &e);
	if (!s)
		s = data_check_labels(&set, config, data_classes(config), &e);
	fuzz_memory_end(size, FIXED, EACH);
	if (s)
		fuzz_refused(s, &e, NULL);
	for (size_t i = 0; !s && i < set.count && i < READ_MOST; i++) {
		struct data_example example;
		struct arena one = { 0 };
		struct error why = { 0 };

		fuzz_memory_begin();
		const enum status read = data_read(&example, &one, &set, i, &r, &why);
		fuzz_memory_end(size, DECODED, EACH);
		if (read)
			fuzz_refused(read, &why, "--data");
		else
			look_at(&example);
		arena_done(&one);
	}
	preparing_done(&r.how);
	json_decref(config);
	arena_done(&a);
}

static void read_scores(const char *path, size_t size)
{
	struct arena a = { 0 };
	struct answer answer;
	struct scores scores;
	struct error e = { 0 };

	fuzz_memory_begin();
	enum status s = outputs_read(&a, path, &answer, &e);
	if (!s)
		s = scores_of(&scores, &answer, &e);
	fuzz_memory_end(size, FIXED, EACH);
	if (s)
		fuzz_refused(s, &e, NULL);
	else
		fuzz_touch(scores.sum, scores.count * sizeof *scores.sum);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char files[] = "{\"file\": \"a.safetensors\"}\n{\"file\": \"a.safetensors\", \"label\": 1}\n",
			  masks[] = "{\"image\": \"p.png\", \"mask\": \"m.png\"}\n";

	put_files();
	read_set(fuzz_put("set.jsonl", data, size), size);
	read_scores(fuzz_put("scores.safetensors", data, size), size);
	fuzz_put("a.safetensors", data, size);
	read_set(fuzz_put("one.jsonl", files, sizeof files - 1), size);
	fuzz_put("m.png", data, size);
	read_set(fuzz_put("masks.jsonl", masks, sizeof masks - 1), size);
	return 0;
}
