// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// GGUF files: every weight of every file of data/gguf, as llama.cpp's converter wrote it, is the number that the model which was
// converted has under that name and in that place (the formula of conformance cases, tools/make_gguf_case.py); numbers of every
// type are bit by bit those of gguf's own code; files that are cut off, damaged or say too much are refused in a sentence.
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/text.h"
#include "checkpoint/computed.h"
#include "checkpoint/gguf.h"
#include "token/token.h"

enum { FILES_LEAST = 31, MUTATIONS = 150, PIECE = 37 };

static const char *data_path(const char *name)
{
	return arena_printf(&arena, "%s/tests/unit/data/gguf/%s", TEST_SOURCE, name);
}

static size_t files(const char **out, size_t most)
{
	DIR *dir = opendir(data_path(""));
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (text_ends(entry->d_name, ".gguf") && n < most)
			out[n++] = arena_strdup(&arena, entry->d_name);
	closedir(dir);
	return n;
}

static void open_file(struct checkpoint *c, const char *name)
{
	struct error e = { 0 };

	if (checkpoint_open(c, data_path(name), &e))
		fail_msg("%s", e.text);
	assert_true(c->weights_from && text_starts(c->weights_from, "gguf ("));
}

// In parts that end within rows.
static float *numbers_of(const struct weight *w, size_t *n)
{
	*n = (size_t)w->nbytes / dtype_size(w->dtype);
	float *x = ARENA_ARRAY(&arena, *n, float);

	for (size_t at = 0, part; at < *n; at += part) {
		part = *n - at < PIECE ? *n - at : PIECE;
		weight_numbers(w, at, part, x + at);
	}
	return x;
}

static void check_same(const char *file, const struct weight *w, const float *x, const float *y, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (memcmp(&x[k], &y[k], sizeof *x) && !(x[k] == 0 && y[k] == 0))
			fail_msg("%s: %s: number %zu is %.9g, not %.9g", file, w->name, k, (double)x[k], (double)y[k]);
}

// Norms that the converter adds one to lose what float32 cannot keep of them.
static bool plus_one(const struct checkpoint *c, const struct weight *w)
{
	const char *type = json_string_value(json_object_get(c->config, "model_type"));

	return (text_starts(type, "gemma") || text_is("nemotron", type)) && strstr(w->name, "norm.weight");
}

static void weights(void **state)
{
	const char *names[100];
	size_t count = files(names, 100), n;

	(void)state;
	assert_true(count >= FILES_LEAST);
	for (size_t i = 0; i < count; i++) {
		struct checkpoint c;

		if (text_is(names[i], "types.gguf"))
			continue;
		open_file(&c, names[i]);
		assert_true(c.weight_count >= 10);
		for (size_t k = 0; k < c.weight_count; k++) {
			const struct weight *w = &c.weights[k];
			float *x = numbers_of(w, &n), *y = ARENA_ARRAY(&arena, n, float);

			assert_int_equal(w->dtype, DTYPE_F32);
			weights_fill(w, 0, 0, n, y);
			for (size_t j = 0; j < n && plus_one(&c, w); j++) {
				volatile float more = y[j] + 1;
				y[j] = more - 1;
			}
			check_same(names[i], w, x, y, n);
		}
		checkpoint_close(&c);
	}
}

static void types(void **state)
{
	struct checkpoint c;
	struct shard file;
	struct weight *wanted;
	struct error e = { 0 };
	size_t count, n, m;

	(void)state;
	open_file(&c, "types.gguf");
	assert_string_equal(c.weights_from,
		"gguf (F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, BF16), 14 weights "
		"dequantised to f32, 1 in another order");
	if (safetensors_open(&arena, data_path("types.expected.safetensors"), &file, &wanted, &count, &e))
		fail_msg("%s", e.text);
	assert_int_equal(count, c.weight_count);
	for (size_t i = 0; i < count; i++) {
		const struct weight *w = checkpoint_find(&c, wanted[i].name);

		if (!w || w->rank != wanted[i].rank || memcmp(w->dim, wanted[i].dim, (size_t)w->rank * sizeof *w->dim))
			fail_msg("%s is not there, or of another shape", wanted[i].name);
		const float *x = numbers_of(w, &n), *y = numbers_of(&wanted[i], &m);
		assert_int_equal(n, m);
		check_same("types.gguf", w, x, y, n);
	}
	checkpoint_close(&c);
}

// Every number of every weight, where the file is not refused.
static enum status read_all(const char *file, struct error *e)
{
	struct checkpoint c;
	enum status s = checkpoint_open(&c, file, e);

	if (s)
		return s;
	for (size_t i = 0; i < c.weight_count; i++) {
		float x[64];

		for (uint64_t at = 0, n = c.weights[i].nbytes / dtype_size(c.weights[i].dtype), part; at < n; at += part) {
			part = n - at < 64 ? n - at : 64;
			weight_numbers(&c.weights[i], at, (size_t)part, x);
		}
	}
	checkpoint_close(&c);
	return s;
}

static void check_sentence(const char *of, enum status s, const struct error *e)
{
	if (s && ((s != STATUS_BAD_INPUT && s != STATUS_UNSUPPORTED) || !strstr(e->text, "model.gguf")))
		fail_msg("%s: refused without a sentence that names the file: \"%s\"", of, e->text);
}

static void damaged(void **state)
{
	const char *names[100];
	size_t count = files(names, 100), refused = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char *data;
		size_t n;

		assert_int_equal(file_read(&arena, data_path(names[i]), 1 << 20, &data, &n, NULL), STATUS_OK);
		for (unsigned m = 0; m < MUTATIONS; m++) {
			struct error e = { 0 };
			uint32_t random = m * 2654435761u;
			size_t at = m % 3 ? random % 3000 : random % n, length = m % 7 ? n : random % n;
			char kept = data[at];

			data[at] = (char)(m % 5 ? kept ^ (1 << random % 7) : (int)(random >> 8));
			assert_int_equal(file_put(path("model.gguf"), data, length, NULL), STATUS_OK);
			enum status s = read_all(path("model.gguf"), &e);
			check_sentence(names[i], s, &e);
			refused += s != STATUS_OK;
			data[at] = kept;
		}
	}
	assert_true(refused > count * MUTATIONS / 10);
}

static void tokenizers(void **state)
{
	static const char *const names[] = { "gguf-gpt2", "gguf-qwen2", "gguf-llama3", "gguf-spm-bpe-bytes" };
	size_t refused = 0;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *data;
		size_t n;

		assert_int_equal(
			file_read(&arena, arena_printf(&arena, "%s/tests/conform/tokenizer/%s/model.gguf", TEST_SOURCE, names[i]),
				1 << 20, &data, &n, NULL),
			STATUS_OK);
		for (unsigned m = 0; m < MUTATIONS; m++) {
			struct arena own = { 0 };
			struct error e = { 0 };
			struct tokenizer *t;
			struct encoding out;
			uint32_t random = m * 2654435761u;
			size_t at = m % 3 ? random % 300 : random % n, length = m % 7 ? n : random % n;
			char kept = data[at];

			data[at] = (char)(kept ^ (m ? 1 << random % 7 : 0));
			assert_int_equal(file_put(path("model.gguf"), data, m ? length : n, NULL), STATUS_OK);
			enum status s = tokenizer_open(&t, &own, path("model.gguf"), &e);
			check_sentence(names[i], s, &e);
			if (!m)
				assert_int_equal(s, STATUS_OK);
			if (!s)
				tokenizer_encode(t, &own, &(struct token_text){ "The two 12 dogs", 15, NULL, 0 }, true, &out, &e);
			refused += s != STATUS_OK;
			arena_done(&own);
			data[at] = kept;
		}
	}
	assert_true(refused > MUTATIONS / 4);
}

// ---- files made here ----------------------------------------------------------------------------------------------------

struct made {
	struct text t;
};

static void put_bits(struct made *m, uint64_t v, int nbytes)
{
	for (int i = 0; i < nbytes; i++) {
		const char byte = (char)(v >> 8 * i);

		text_add_bytes(&m->t, &byte, 1);
	}
}

static void put_text(struct made *m, const char *s)
{
	put_bits(m, strlen(s), 8);
	text_add(&m->t, s);
}

static void put_head(struct made *m, unsigned version, uint64_t tensors, uint64_t pairs)
{
	text_add(&m->t, "GGUF");
	put_bits(m, version, 4);
	put_bits(m, tensors, 8);
	put_bits(m, pairs, 8);
}

static void put_number(struct made *m, const char *key, uint64_t v)
{
	put_text(m, key);
	put_bits(m, GGUF_U32, 4);
	put_bits(m, v, 4);
}

static void put_architecture(struct made *m, const char *name)
{
	put_text(m, "general.architecture");
	put_bits(m, GGUF_STRING, 4);
	put_text(m, name);
}

static void put_pair(struct made *m, const char *key, const char *text)
{
	put_text(m, key);
	put_bits(m, GGUF_STRING, 4);
	put_text(m, text);
}

static void put_words(struct made *m, const char *key, const char *one, const char *two)
{
	put_text(m, key);
	put_bits(m, GGUF_ARRAY, 4);
	put_bits(m, GGUF_STRING, 4);
	put_bits(m, 2, 8);
	put_text(m, one);
	put_text(m, two);
}

static void put_tensor(struct made *m, const char *name, uint64_t rows, uint64_t columns, unsigned type, uint64_t offset)
{
	put_text(m, name);
	put_bits(m, 2, 4);
	put_bits(m, columns, 8);
	put_bits(m, rows, 8);
	put_bits(m, type, 4);
	put_bits(m, offset, 8);
}

static void check_refused(struct made *m, enum status wanted, const char *says)
{
	struct error e = { 0 };

	assert_int_equal(file_put(path("model.gguf"), text_get(&m->t), m->t.length, NULL), STATUS_OK);
	text_done(&m->t);
	enum status s = read_all(path("model.gguf"), &e);
	check_sentence(says, s, &e);
	if (s != wanted || !strstr(e.text, says))
		fail_msg("not refused with \"%s\", but: \"%s\"", says, s ? e.text : "(read)");
}

static void headers(void **state)
{
	static const struct {
		unsigned version;
		uint64_t tensors, pairs;
		enum status status;
		const char *says;
	} rows[] = {
		{ 1, 0, 0, STATUS_UNSUPPORTED, "version 1 is not read yet" },
		{ 3u << 24, 0, 0, STATUS_UNSUPPORTED, "highest byte first" },
		{ 3, (uint64_t)1 << 60, 0, STATUS_BAD_INPUT, "more than the file holds" },
		{ 3, 0, UINT64_MAX, STATUS_BAD_INPUT, "more than the file holds" },
		{ 3, UINT64_MAX / 33 + 1, 0, STATUS_BAD_INPUT, "more than the file holds" },
		{ 2, 0, 0, STATUS_BAD_INPUT, "names no general.architecture" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made m = { 0 };

		put_head(&m, rows[i].version, rows[i].tensors, rows[i].pairs);
		check_refused(&m, rows[i].status, rows[i].says);
	}
	struct made m = { 0 }, empty = { 0 };
	text_add(&m.t, "GGML");
	check_refused(&m, STATUS_BAD_INPUT, "not a GGUF file");
	check_refused(&empty, STATUS_BAD_INPUT, "not a GGUF file");
}

static void pairs(void **state)
{
	static const struct {
		const char *key;
		uint64_t kind, inner, count; // inner: of an array
		const char *says;
	} rows[] = {
		{ "a", GGUF_ARRAY, GGUF_STRING, UINT64_MAX, "more than 16777216 values" },
		{ "a", GGUF_ARRAY, GGUF_F64, 1 << 24, "goes on behind the end" },
		{ "a", GGUF_ARRAY, GGUF_ARRAY, 1, "type that GGUF does not have" },
		{ "a", 13, 0, 0, "type that GGUF does not have" },
		{ "a", GGUF_STRING, UINT32_MAX, UINT64_MAX, "goes on behind the end" },
		{ "a\xFF", GGUF_U8, 0, 0, "no text of 1 to 255 bytes" },
		{ "", GGUF_U8, 0, 0, "no text of 1 to 255 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made m = { 0 };

		put_head(&m, 3, 0, 1);
		put_text(&m, rows[i].key);
		put_bits(&m, rows[i].kind, 4);
		put_bits(&m, rows[i].inner, 4);
		put_bits(&m, rows[i].count, 8);
		put_bits(&m, 0, 8);
		check_refused(&m, STATUS_BAD_INPUT, rows[i].says);
	}
	struct made m = { 0 };
	put_head(&m, 3, 0, 2);
	put_number(&m, "a", 1);
	put_number(&m, "a", 2);
	check_refused(&m, STATUS_BAD_INPUT, "has \"a\" twice");
}

static void tensors(void **state)
{
	static const struct {
		uint64_t rows, columns;
		unsigned type;
		uint64_t offset;
		enum status status;
		const char *says;
	} rows[] = {
		{ 2, 32, 99, 0, STATUS_BAD_INPUT, "none that ggml has" },
		{ 2, 32, 16, 0, STATUS_UNSUPPORTED, "type IQ2_XXS of ggml is not read yet" },
		{ 2, 31, 2, 0, STATUS_BAD_INPUT, "no blocks of 32 (Q4_0)" },
		{ 0, 32, 0, 0, STATUS_BAD_INPUT, "a dimension of 0" },
		{ UINT64_MAX, 32, 0, 0, STATUS_BAD_INPUT, "is no size" },
		{ (uint64_t)1 << 40, (uint64_t)1 << 40, 0, 0, STATUS_BAD_INPUT, "larger than any file" },
		{ 1 << 20, 1 << 20, 0, 0, STATUS_BAD_INPUT, "it is cut off" },
		{ 2, 32, 0, 32, STATUS_BAD_INPUT, "lies at byte 32 of the data" },
		{ 2, 32, 0, UINT64_MAX - 31, STATUS_BAD_INPUT, "lies at byte" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made m = { 0 };

		put_head(&m, 3, 1, 1);
		put_architecture(&m, "llama");
		put_tensor(&m, "token_embd.weight", rows[i].rows, rows[i].columns, rows[i].type, rows[i].offset);
		for (int k = 0; k < 64; k++)
			put_bits(&m, 0, 8);
		check_refused(&m, rows[i].status, rows[i].says);
	}
}

// The header of a small model of `name`, which has `more` pairs besides.
static void put_small(struct made *m, const char *name, uint64_t more)
{
	static const struct {
		const char *end;
		uint64_t value;
	} own[] = { { "embedding_length", 32 }, { "attention.head_count", 2 }, { "block_count", 1 } };
	char key[128];

	put_head(m, 3, 1, 1 + sizeof own / sizeof *own + more);
	put_architecture(m, name);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		snprintf(key, sizeof key, "%s.%s", name, own[i].end);
		put_number(m, key, own[i].value);
	}
}

static void put_float(struct made *m, const char *key, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	put_text(m, key);
	put_bits(m, GGUF_F32, 4);
	put_bits(m, bits, 4);
}

// Its one tensor, of 2 rows of 32 zeros.
static void put_matrix(struct made *m, const char *name)
{
	put_tensor(m, name, 2, 32, 0, 0);
	for (int k = 0; k < 64; k++)
		put_bits(m, 0, 8);
}

// The same; then the file is opened.
static void open_small(struct made *m, struct checkpoint *c)
{
	struct error e = { 0 };

	put_matrix(m, "token_embd.weight");
	assert_int_equal(file_put(path("small.gguf"), text_get(&m->t), m->t.length, NULL), STATUS_OK);
	text_done(&m->t);
	if (checkpoint_open(c, path("small.gguf"), &e))
		fail_msg("%s", e.text);
}

// A small llama, with something more.
static void models(void **state)
{
	static const struct {
		const char *architecture, *key;
		uint64_t value;
		const char *tensor;
		enum status status;
		const char *says;
	} rows[] = {
		{ "clip", "a", 1, "token_embd.weight", STATUS_UNSUPPORTED, "architecture of GGUF is not read yet: clip" },
		{ "llama", "llama.attention.sliding_window", 8, "token_embd.weight", STATUS_UNSUPPORTED,
			"a sliding window is not read yet" },
		{ "llama", "llama.expert_count", 8, "token_embd.weight", STATUS_UNSUPPORTED, "does not know this key" },
		{ "llama", "llama.attention.causal", 0, "token_embd.weight", STATUS_UNSUPPORTED, "not causal" },
		{ "llama", "llama.rope.dimension_count", 4, "token_embd.weight", STATUS_UNSUPPORTED, "a part of each head" },
		{ "llama", "llama.attention.value_length", 4, "token_embd.weight", STATUS_UNSUPPORTED, "a width or number" },
		{ "llama", "general.alignment", 24, "token_embd.weight", STATUS_BAD_INPUT, "no power of two" },
		{ "llama", "split.count", 2, "token_embd.weight", STATUS_UNSUPPORTED, "in several GGUF files" },
		{ "llama", "a", 1, "blk.0.attn_q.weight", STATUS_BAD_INPUT, "2 rows are not those of 2 heads" },
		{ "llama", "a", 1, "blk.0.attn_sinks.weight", STATUS_UNSUPPORTED, "has no place in a model of llama" },
		{ "llama", "a", 1, "output.bias", STATUS_UNSUPPORTED, "has no place in a model of llama" },
		{ "llama", "a", 1, "blk.00.ffn_up.weight", STATUS_UNSUPPORTED, "has no place in a model of llama" },
		{ "llama", "a", 1, "rope_freqs.weight", STATUS_BAD_INPUT, "is no factor of each frequency" },
		{ "llama", "a", 1, "token_embd", STATUS_UNSUPPORTED, "has no place in a model of llama" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made m = { 0 };

		put_small(&m, rows[i].architecture, 1);
		put_number(&m, rows[i].key, rows[i].value);
		put_matrix(&m, rows[i].tensor);
		check_refused(&m, rows[i].status, rows[i].says);
	}
}

// A text in the place of what is none, and files that are no models.
static void texts(void **state)
{
	static const struct {
		const char *key, *text;
		enum status status;
		const char *says;
	} rows[] = {
		{ "tokenizer.ggml.bos_token_id", "1", STATUS_BAD_INPUT, "tokenizer.ggml.bos_token_id is no number" },
		{ "split.count", "2", STATUS_BAD_INPUT, "split.count is no number" },
		{ "general.type", "adapter", STATUS_UNSUPPORTED, "an adapter (LoRA), and no model" },
		{ "general.type", "mmproj", STATUS_UNSUPPORTED, "the model is another file" },
		{ "general.type", "imatrix", STATUS_UNSUPPORTED, "its general.type is not \"model\": imatrix" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made m = { 0 };

		put_small(&m, "llama", 1);
		put_pair(&m, rows[i].key, rows[i].text);
		put_matrix(&m, "token_embd.weight");
		check_refused(&m, rows[i].status, rows[i].says);
	}
}

// A tokenizer whose flag is a text: the usual value was taken for it.
static void tokenizer_texts(void **state)
{
	static const char *const keys[] = { "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token",
		"tokenizer.ggml.add_space_prefix", "tokenizer.ggml.remove_extra_whitespaces" };

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct made m = { 0 };
		struct tokenizer *t;
		struct error e = { 0 };

		put_head(&m, 3, 0, 2);
		put_architecture(&m, "llama");
		put_pair(&m, keys[i], "true");
		assert_int_equal(file_put(path("model.gguf"), text_get(&m.t), m.t.length, NULL), STATUS_OK);
		assert_int_equal(tokenizer_open(&t, &arena, path("model.gguf"), &e), STATUS_BAD_INPUT);
		if (!strstr(e.text, keys[i]) || !strstr(e.text, "is no number"))
			fail_msg("%s gave: %s", keys[i], e.text);
		text_done(&m.t);
	}
}

// The token that texts begin or end with is none of the file's: it was left out without a word.
static void tokens_outside(void **state)
{
	static const char *const keys[] = { "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id" };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof keys / sizeof *keys; i++) {
		struct made m = { 0 };
		struct tokenizer *t;
		struct error e = { 0 };

		put_head(&m, 3, 0, 3);
		put_architecture(&m, "llama");
		put_words(&m, "tokenizer.ggml.tokens", "a", "b");
		put_number(&m, keys[i / 2], i % 2 ? UINT32_MAX : 2);
		assert_int_equal(file_put(path("model.gguf"), text_get(&m.t), m.t.length, NULL), STATUS_OK);
		assert_int_equal(tokenizer_open(&t, &arena, path("model.gguf"), &e), STATUS_BAD_INPUT);
		if (!strstr(e.text, keys[i / 2]) || !strstr(e.text, ", and its tokens are 2"))
			fail_msg("%s gave: %s", keys[i / 2], e.text);
		check_refused(&m, STATUS_BAD_INPUT, "and its tokens are 2");
	}
}

// Granite's factors where the file leaves them out: llama.cpp has one over the square root of a head's width, the class 1.
static void multipliers(void **state)
{
	struct made m = { 0 };
	struct checkpoint c;

	(void)state;
	put_small(&m, "granite", 1);
	put_number(&m, "granite.residual_scale", 0);
	open_small(&m, &c);
	assert_true(json_number_value(json_object_get(c.config, "attention_multiplier")) == 0.25);
	assert_true(json_number_value(json_object_get(c.config, "embedding_multiplier")) == 1);
	assert_true(json_number_value(json_object_get(c.config, "residual_multiplier")) == 1);
	checkpoint_close(&c);
}

// yarn's factor of attention, which llama.cpp multiplies by what follows from the factor: 2 * (1 + 0.1 ln 4).
static void yarn(void **state)
{
	struct made m = { 0 };
	struct checkpoint c;

	(void)state;
	put_small(&m, "llama", 4);
	put_pair(&m, "llama.rope.scaling.type", "yarn");
	put_float(&m, "llama.rope.scaling.factor", 4);
	put_float(&m, "llama.rope.scaling.yarn_attn_factor", 2);
	put_number(&m, "llama.rope.scaling.original_context_length", 64);
	open_small(&m, &c);
	const json_t *rope = json_object_get(c.config, "rope_parameters");
	assert_true(fabs(json_number_value(json_object_get(rope, "attention_factor")) - 2.2772588722) < 1e-9);
	assert_true(json_number_value(json_object_get(rope, "factor")) == 4);
	checkpoint_close(&c);

	// A factor of longrope, which llama.cpp multiplies all frequencies by, and transformers has no place for.
	put_small(&m, "llama", 2);
	put_pair(&m, "llama.rope.scaling.type", "longrope");
	put_float(&m, "llama.rope.scaling.factor", 4);
	put_matrix(&m, "token_embd.weight");
	check_refused(&m, STATUS_UNSUPPORTED, "a rope.scaling.factor of longrope is not read yet");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights),
		cmocka_unit_test(types),
		cmocka_unit_test(damaged),
		cmocka_unit_test(tokenizers),
		cmocka_unit_test(headers),
		cmocka_unit_test(pairs),
		cmocka_unit_test(tensors),
		cmocka_unit_test(models),
		cmocka_unit_test(texts),
		cmocka_unit_test(tokenizer_texts),
		cmocka_unit_test(tokens_outside),
		cmocka_unit_test(multipliers),
		cmocka_unit_test(yarn),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
