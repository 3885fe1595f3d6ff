// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// 1,000 damaged safetensors files and 1,000 damaged configurations, the same ones every time: opened whole or refused with a
// sentence that names the file; never a crash, and under the sanitizers never a byte beyond the file.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "arch/spec.h"
#include "artifact/artifact.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "onnx/graph.h"

enum { MUTATIONS = 1000, MOST_LAYERS = 16 };

static const char tiny_config[] =
	"{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 32, \"num_hidden_layers\": 2,\n"
	"\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": 37, \"vocab_size\": 99, "
	"\"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-06,\n"
	"\"hidden_act\": \"silu\", \"rope_theta\": 10000.0, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2.0}, "
	"\"tie_word_embeddings\": false,\n"
	"\"attention_bias\": false, \"torch_dtype\": \"float32\", \"bos_token_id\": 1, \"eos_token_id\": [2, 3], "
	"\"pad_token_id\": null}\n";

static int setup(void **state)
{
	struct checkpoint c = { 0 };
	struct synth_options o = { 0 };
	struct error e = { 0 };
	if (scratch_make(state) || checkpoint_open_config(&c, "tiny", tiny_config, strlen(tiny_config), &e) ||
		synth_write(scratch, &c, &o, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return -1;
	}
	checkpoint_close(&c);
	return 0;
}

struct dice {
	uint64_t seed, thrown;
};

static size_t roll(struct dice *d, size_t sides)
{
	return (size_t)(splitmix64(d->seed, d->thrown++) % sides);
}

// One to three of: a bit, a byte, a number, a run of bytes repeated or taken out, two runs exchanged, the end cut off. Only the
// first `active` bytes are aimed at: damage to the numbers of a weight is nothing to notice. Returns the new length.
static size_t mutate(struct dice *d, char *data, size_t n, size_t active)
{
	static const char *const numbers[] = { "0", "-1", "1", "9223372036854775807", "4294967296", "1e308", "null", "\"x\"",
		"[]", "{}" };
	for (size_t times = 1 + roll(d, 5) / 3 + roll(d, 4) / 3; times && n > 16; times--) {
		size_t most = active < n ? active : n, at = roll(d, most), run = 1 + roll(d, 24);
		if (run > most - at)
			run = most - at;
		switch (roll(d, 12)) {
		case 0:
			data[at] = (char)(data[at] ^ 1 << roll(d, 8));
			break;
		case 1:
			data[at] = (char)(uint8_t)roll(d, 256);
			break;
		case 2:
			data[at] = "{}[]\",:0123456789"[roll(d, 17)];
			break;
		case 3: // taken out
			memmove(data + at, data + at + run, n - at - run);
			n -= run;
			break;
		case 4: // repeated; there is room for that
			memmove(data + at + run, data + at, n - at);
			n += run;
			break;
		case 5:
		case 7:
		case 8:
		case 9:
		case 10: { // a number in place of a number
			while (at < most && (data[at] < '0' || data[at] > '9'))
				at++;
			size_t digits = 0;
			while (at + digits < most && data[at + digits] >= '0' && data[at + digits] <= '9')
				digits++;
			const char *number = numbers[roll(d, sizeof numbers / sizeof *numbers)];
			memmove(data + at + strlen(number), data + at + digits, n - at - digits);
			memcpy(data + at, number, strlen(number));
			n = n - digits + strlen(number);
			break;
		}
		case 6: {
			size_t other = roll(d, most - run + 1);
			for (size_t i = 0; i < run; i++) {
				char c = data[at + i];
				data[at + i] = data[other + i];
				data[other + i] = c;
			}
			break;
		}
		default:
			n = roll(d, 4) ? n : roll(d, n);
			break;
		}
	}
	return n;
}

static void safetensors_files(void **state)
{
	(void)state;
	char *original;
	size_t nbytes, refused = 0, opened = 0;
	assert_int_equal(file_read(&arena, path("model.safetensors"), 1 << 24, &original, &nbytes, NULL), STATUS_OK);
	size_t header = 8 + (size_t)(uint8_t)original[0] + ((size_t)(uint8_t)original[1] << 8);
	const char *victim = path("damaged.safetensors");
	char *data = malloc(nbytes + 4096);
	for (int i = 0; i < MUTATIONS; i++) {
		struct dice d = { .seed = 0xA55A + (uint64_t)i };
		struct arena a = { 0 };
		struct error e = { 0 };
		struct shard shard;
		struct weight *w = NULL;
		size_t count = 0;
		memcpy(data, original, nbytes);
		// Half of them keep a length that fits the header, so that what is behind it is reached.
		size_t n = mutate(&d, data, nbytes, header);
		if (i % 2 && n > 8) {
			size_t grown = header + n - nbytes;
			for (int j = 0; j < 8; j++)
				data[j] = (char)(uint8_t)((grown - 8) >> 8 * j);
		}
		assert_int_equal(file_put(victim, data, n, NULL), STATUS_OK);
		enum status s = safetensors_open(&a, victim, &shard, &w, &count, &e);
		if (s) {
			refused++;
			if (!text_starts(e.text, victim) || strlen(e.text) < strlen(victim) + 10 || e.status != s)
				fail_msg("mutation %d: \"%s\" does not name its file", i, e.text);
		} else {
			opened++;
			uint64_t sum = 0;
			for (size_t j = 0; j < count; j++)
				for (uint64_t k = 0; k < w[j].nbytes; k++)
					sum += ((const uint8_t *)w[j].data)[k];
			assert_true(sum > 0);
		}
		arena_done(&a);
	}
	free(data);
	print_message("%zu refused, %zu opened\n", refused, opened);
	// A mutation that never hurts tests nothing, nor does one that always stops at the first check.
	assert_true(refused > MUTATIONS / 2 && opened > MUTATIONS / 20);
}

// All the way from the folder to the graph's bytes.
static enum status use(const char *folder, size_t *stage, struct error *err)
{
	struct checkpoint c = { 0 };
	struct spec *spec;
	struct arena a = { 0 };
	struct artifact art;
	struct graph *g = graph_new(&(struct graph_form){ 0 });
	enum status s = checkpoint_open(&c, folder, err);
	if (!s) {
		*stage = 1;
		s = arch_resolve(&spec, &a, &c, err);
	}
	if (!s && spec->layers <= MOST_LAYERS) {
		*stage = 2;
		s = artifact_build(&art, &a, &c, spec, &arch_whole, g, err);
		if (!s)
			*stage = 3;
	}
	graph_free(g);
	checkpoint_close(&c);
	arena_done(&a);
	return s;
}

static void configurations(void **state)
{
	(void)state;
	size_t reached[4] = { 0 }, unnamed = 0;
	char data[sizeof tiny_config + 4096];
	const char *victim = path("config.json");
	for (int i = 0; i < MUTATIONS; i++) {
		struct dice d = { .seed = 0xC0F1 + (uint64_t)i };
		struct error e = { 0 };
		size_t stage = 0;
		memcpy(data, tiny_config, sizeof tiny_config);
		size_t n = mutate(&d, data, sizeof tiny_config - 1, sizeof tiny_config - 1);
		assert_int_equal(file_put(victim, data, n, NULL), STATUS_OK);
		enum status s = use(scratch, &stage, &e);
		reached[stage]++;
		// A type or class that nobody knows is refused by the folder's name; whatever is wrong in the file, by the
		// file's.
		if (s &&
			(e.status != s || !strstr(e.text, scratch) ||
				(s == STATUS_BAD_INPUT && stage < 2 && !strstr(e.text, "config.json")))) {
			print_message("mutation %d: \"%s\" does not name its file:\n%.*s\n", i, e.text, (int)n, data);
			unnamed++;
		}
	}
	print_message(
		"not JSON %zu, not understood %zu, not built %zu, built %zu\n", reached[0], reached[1], reached[2], reached[3]);
	assert_int_equal(unnamed, 0);
	for (int i = 0; i < 4; i++)
		assert_true(reached[i] > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(safetensors_files), cmocka_unit_test(configurations) };
	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
