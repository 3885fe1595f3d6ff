// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Files of torch.save, made by torch itself (data/torch/make.py), whole, damaged, and in a checkpoint's folder.
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

#include "artifact/artifact.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "checkpoint/pickle.h"

enum { MUTATIONS = 3000, MOST_VALUES = 12 };

static const char *data_path(const char *name)
{
	return arena_printf(&arena, "%s/tests/unit/data/torch/%s", TEST_SOURCE, name);
}

static int setup(void **state)
{
	return scratch_make(state) || file_write(path("config.json"), "{\"model_type\": \"bert\"}", 22, NULL) ? -1 : 0;
}

static void copy(const char *from, const char *to)
{
	char *data;
	size_t nbytes;
	assert_int_equal(file_read(&arena, from, 1 << 20, &data, &nbytes, NULL), STATUS_OK);
	assert_int_equal(file_put(to, data, nbytes, NULL), STATUS_OK);
}

struct expected {
	const char *name;
	enum dtype dtype;
	int rank;
	int64_t dim[3];
	bool copied;
	double values[MOST_VALUES];
};

static const struct expected state_dict[] = {
	{ "a", DTYPE_F32, 2, { 3, 4 }, false, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 } },
	{ "a.row", DTYPE_F32, 1, { 4 }, false, { 4, 5, 6, 7 } },
	{ "a.steps", DTYPE_F32, 2, { 3, 2 }, true, { 0, 2, 4, 6, 8, 10 } },
	{ "a.tied", DTYPE_F32, 2, { 3, 4 }, false, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 } },
	{ "a.transposed", DTYPE_F32, 2, { 4, 3 }, true, { 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 } },
	{ "brain", DTYPE_BF16, 1, { 2 }, false, { 1.5, -3 } },
	{ "bytes", DTYPE_U8, 1, { 2 }, false, { 0, 255 } },
	{ "double", DTYPE_F64, 2, { 1, 2 }, false, { 1e-300, 2 } },
	{ "empty", DTYPE_F32, 2, { 0, 3 }, false, { 0 } },
	{ "flags", DTYPE_BOOL, 1, { 3 }, false, { 1, 0, 1 } },
	{ "half", DTYPE_F16, 1, { 3 }, false, { 0.5, -2, 1024 } },
	{ "ids", DTYPE_I64, 2, { 1, 2 }, false, { -1, 1099511627776.0 } },
	{ "ones", DTYPE_F32, 3, { 1, 3, 1 }, false, { 1, 1, 1 } },
	{ "parameter", DTYPE_F32, 1, { 2 }, false, { 3, 4 } },
	{ "scalar", DTYPE_F32, 0, { 0 }, false, { 7 } },
};

enum { TENSORS = sizeof state_dict / sizeof *state_dict };

static void check_weight(const struct weight *w, const struct expected *x)
{
	struct tensor t = { .dtype = w->dtype, .rank = w->rank, .nbytes = w->nbytes };
	size_t count = 0;
	assert_string_equal(w->name, x->name);
	assert_int_equal(w->dtype, x->dtype);
	assert_int_equal(w->rank, x->rank);
	assert_memory_equal(w->dim, x->dim, (size_t)x->rank * sizeof *x->dim);
	assert_int_equal(w->stride != NULL, x->copied);
	assert_true(tensor_count(w->rank, w->dim, &count));
	assert_int_equal(w->nbytes, count * dtype_size(w->dtype));
	assert_ptr_equal(w->data, w->shard->map + w->offset);
	t.data = arena_alloc(&arena, w->nbytes + 1);
	memcpy(t.data, w->data, w->nbytes);
	for (size_t i = 0; i < count; i++)
		if (tensor_get(&t, i) != x->values[i])
			fail_msg("%s[%zu] is %g, not %g", w->name, i, tensor_get(&t, i), x->values[i]);
}

static void check_state_dict(const struct checkpoint *c)
{
	assert_int_equal(c->weight_count, TENSORS);
	for (size_t i = 0; i < TENSORS; i++)
		check_weight(&c->weights[i], &state_dict[i]);
	assert_int_equal(c->copied_count, 2);
	assert_int_equal(c->copied_nbytes, 4 * (12 + 6));
	assert_ptr_equal(checkpoint_find(c, "a")->data, checkpoint_find(c, "a.tied")->data);
	assert_ptr_equal((const char *)checkpoint_find(c, "a")->data + 16, checkpoint_find(c, "a.row")->data);
}

static void layouts(void **state)
{
	(void)state;
	static const char *const names[] = { "zip.bin", "stream.bin", "zip64.bin" };
	for (size_t i = 0; i < 3; i++) {
		struct checkpoint c = { 0 };
		struct error e = { 0 };
		copy(data_path(names[i]), path("pytorch_model.bin"));
		if (checkpoint_open(&c, scratch, &e))
			fail_msg("%s: %s", names[i], e.text);
		check_state_dict(&c);
		assert_int_equal(c.shard_count, 2);
		assert_true(c.shards[1].copied && !c.shards[0].copied);
		assert_int_equal(c.shards[0].ignored_count, 0);
		checkpoint_close(&c);
	}
}

// One level down, beside what is no tensor.
static void nested(void **state)
{
	(void)state;
	static const char *const names[] = { "nested.bin", "nested-stream.bin" },
				 *const ignored[] = { "epoch", "lr", "big", "list", "optimizer" };
	for (size_t i = 0; i < 2; i++) {
		struct checkpoint c = { 0 };
		struct error e = { 0 };
		copy(data_path(names[i]), path("pytorch_model.bin"));
		if (checkpoint_open(&c, scratch, &e))
			fail_msg("%s: %s", names[i], e.text);
		assert_int_equal(c.weight_count, 1);
		check_weight(&c.weights[0], &(struct expected){ "weight", DTYPE_F32, 2, { 1, 2 }, false, { 5, 6 } });
		assert_int_equal(c.copied_count, 0);
		assert_int_equal(c.shard_count, 1);
		assert_int_equal(c.shards[0].ignored_count, 5);
		for (size_t j = 0; j < 5; j++)
			assert_string_equal(c.shards[0].ignored[j], ignored[j]);
		checkpoint_close(&c);
	}
}

static enum status open_file(const char *file, struct error *e, size_t *count)
{
	struct arena a = { 0 };
	struct shard shard;
	struct weight *w;
	*e = (struct error){ 0 };
	enum status s = torch_open(&a, file, &shard, &w, count, e);
	arena_done(&a);
	return s;
}

static void other_types(void **state)
{
	(void)state;
	struct error e;
	size_t count = 0;
	assert_int_equal(open_file(data_path("protocol4.bin"), &e, &count), STATUS_OK);
	assert_int_equal(count, 1);
	assert_int_equal(open_file(data_path("v3.bin"), &e, &count), STATUS_OK);
	assert_int_equal(count, 2);
}

// What is refused, and the word that says why.
static void refusals(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		enum status status;
		const char *reason;
	} cases[] = {
		{ "evil.bin", STATUS_UNSUPPORTED, "posix.system" },
		{ "evil-stream.bin", STATUS_UNSUPPORTED, "posix.system" },
		{ "sparse.bin", STATUS_UNSUPPORTED, "torch._utils._rebuild_sparse_tensor" },
		{ "nameless.bin", STATUS_UNSUPPORTED, "without names" },
		{ "packed.bin", STATUS_UNSUPPORTED, "compressed" },
		{ "make.py", STATUS_BAD_INPUT, "neither a zip file nor a pickle" },
		{ "none.bin", STATUS_BAD_INPUT, "No such file" },
	};
	struct error e;
	size_t count;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum status s = open_file(data_path(cases[i].file), &e, &count);
		if (s != cases[i].status || !strstr(e.text, cases[i].reason) || !strstr(e.text, cases[i].file))
			fail_msg("%s: %s: \"%s\"", cases[i].file, status_word(s), e.text);
	}
	// A million ones from a storage of one element: readable as a file, not worth a copy as a checkpoint.
	struct checkpoint c = { 0 };
	copy(data_path("mountain.bin"), path("pytorch_model.bin"));
	e = (struct error){ 0 };
	assert_int_equal(checkpoint_open(&c, scratch, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "more bytes than the file has"));
}

// A byte order that is not ours, in both layouts.
static void byte_order(void **state)
{
	(void)state;
	static const struct {
		const char *file, *find;
		size_t place, length;
		const char *by;
	} cases[] = {
		{ "zip.bin", "little", 0, 6, "bigbig" },
		{ "stream.bin", "little_endian", 15, 1, "\x89" }, // the value behind the key and its place in the memo
	};
	for (size_t i = 0; i < 2; i++) {
		char *data;
		size_t nbytes, count;
		struct error e;
		assert_int_equal(file_read(&arena, data_path(cases[i].file), 1 << 20, &data, &nbytes, NULL), STATUS_OK);
		char *at = memmem(data, nbytes, cases[i].find, strlen(cases[i].find));
		assert_non_null(at);
		memcpy(at + cases[i].place, cases[i].by, cases[i].length);
		assert_int_equal(file_put(path("big.bin"), data, nbytes, NULL), STATUS_OK);
		enum status s = open_file(path("big.bin"), &e, &count);
		if (s != STATUS_UNSUPPORTED || !strstr(e.text, "big-endian"))
			fail_msg("%s: %s: \"%s\"", cases[i].file, status_word(s), e.text);
	}
}

// model.safetensors goes first, then its index, then pytorch_model.bin, then its index.
static void preference(void **state)
{
	(void)state;
	static const char index[] = "{\"weight_map\": {\"weight\": \"part-1.bin\"}}";
	float one = 1;
	struct tensor t = { .name = "from.safetensors", .dtype = DTYPE_F32, .data = &one, .nbytes = 4 };
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	unlink(path("pytorch_model.bin"));
	copy(data_path("nested.bin"), path("part-1.bin"));
	assert_int_equal(file_put(path("pytorch_model.bin.index.json"), index, strlen(index), NULL), STATUS_OK);
	if (checkpoint_open(&c, scratch, &e))
		fail_msg("%s", e.text);
	assert_string_equal(c.weights[0].name, "weight");
	checkpoint_close(&c);
	copy(data_path("protocol4.bin"), path("pytorch_model.bin"));
	assert_int_equal(checkpoint_open(&c, scratch, &e), STATUS_OK);
	assert_string_equal(c.weights[0].name, "w");
	checkpoint_close(&c);
	assert_int_equal(safetensors_write(path("model.safetensors"), &t, 1, &e), STATUS_OK);
	assert_int_equal(checkpoint_open(&c, scratch, &e), STATUS_OK);
	assert_string_equal(c.weights[0].name, "from.safetensors");
	checkpoint_close(&c);
	unlink(path("model.safetensors"));
	unlink(path("pytorch_model.bin"));
	// An index that puts a tensor where it is not; and views in one of two files.
	static const char wrong[] = "{\"weight_map\": {\"weight\": \"part-2.bin\", \"a\": \"part-2.bin\"}}";
	copy(data_path("zip.bin"), path("part-2.bin"));
	assert_int_equal(file_put(path("pytorch_model.bin.index.json"), wrong, strlen(wrong), NULL), STATUS_OK);
	assert_int_equal(checkpoint_open(&c, scratch, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "is not in part-2.bin"));
	static const char both[] = "{\"weight_map\": {\"weight\": \"part-1.bin\", \"a.transposed\": \"part-2.bin\"}}";
	assert_int_equal(file_put(path("pytorch_model.bin.index.json"), both, strlen(both), NULL), STATUS_OK);
	e = (struct error){ 0 };
	if (checkpoint_open(&c, scratch, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c.weight_count, TENSORS + 1);
	assert_int_equal(c.shard_count, 3);
	assert_int_equal(c.copied_count, 2);
	check_weight(checkpoint_find(&c, "a.transposed"), &state_dict[4]);
	checkpoint_close(&c);
	unlink(path("pytorch_model.bin.index.json"));
}

// PyTorch's reader finds it in any letters: its numbers were read in the other order.
static void byte_order_in_any_letters(void **state)
{
	static const char name[] = "zip/byteorder";
	struct checkpoint c;
	struct error e = { 0 };
	char *data;
	size_t nbytes, found = 0;

	(void)state;
	assert_int_equal(file_read(&arena, data_path("zip.bin"), 1 << 20, &data, &nbytes, NULL), STATUS_OK);
	for (char *at = data; (at = memmem(at, nbytes - (size_t)(at - data), name, sizeof name - 1)); at += sizeof name, found++)
		memcpy(at, "zip/ByteOrder", sizeof name - 1);
	assert_int_equal(found, 2); // before its bytes, and in the table of contents
	memcpy(memmem(data, nbytes, "little", 6), "big   ", 6);
	assert_int_equal(file_put(path("pytorch_model.bin"), data, nbytes, NULL), STATUS_OK);
	assert_int_equal(checkpoint_open(&c, scratch, &e), STATUS_UNSUPPORTED);
	assert_non_null(strstr(e.text, "was written on a big-endian machine"));
	// Nor does it read a file without a version.
	for (char *at = data; (at = memmem(at, nbytes - (size_t)(at - data), "zip/version", 11)); at++)
		at[10] = 'm';
	assert_int_equal(file_put(path("pytorch_model.bin"), data, nbytes, NULL), STATUS_OK);
	assert_int_equal(checkpoint_open(&c, scratch, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "it has no version"));
	unlink(path("pytorch_model.bin"));
}

// What a machine that counts too little would fall over: depth, memo, stack, sizes.
static void hostile_pickles(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
	} cases[] = {
#define P(text) { text, sizeof text - 1 }
		P(""), P("."), P("\x80\x02"), P("\x80\x02."), P("\x80\x01N."), P("\x80\x06N."), P("R."), P("N)R."), P("(."),
		P("t."), P("(0."), P("u."), P("}s."), P("}(Nu."), P("]a."), P("h\0."), P("Nr\xff\xff\xff\xff."), P("Nq\xff."),
		P("X\xff\xff\xff\xff"
		  "a."),
		P("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
		  "a."),
		P("\x8a\xff"
		  "a."),
		P("\x8b\xff\xff\xff\x7f"
		  "a."),
		P("ccollections\nOrderedDict\n."), P("ccollections\nOrderedDict\nNR."), P("ccollections\n"),
		P("ctorch\nFloatStorage\n)R."), P("ctorch._utils\n_rebuild_tensor_v2\n)R."), P("NQ."), P("(Q."), P(")Q."),
		P("Nb."), P("2."), P("1."), P("I1\n."), P("S'x'\n."), P("\x93."), P("NN\x93."),
		P("ctorch._utils\n_rebuild_parameter\nN\x85R."), P("ctorch\nSize\nN\x85R."), P("G\0."),
		P("(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0kX\3\0\0\0cpuK\1(X\1\0\0\0vK\0K\1ttQ."), // a view
		P("}}X\4\0\0\0keysNsb."),                                                                   // a method
#undef P
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena a = { 0 };
		struct error e = { 0 };
		struct pickle_result r;
		struct pickle_budget budget = pickle_budget_of_file;
		uint8_t *exact = malloc(cases[i].n + !cases[i].n); // so that a sanitizer sees one byte too far
		memcpy(exact, cases[i].bytes, cases[i].n);
		enum status s = pickle_read(&r, &a, exact, cases[i].n, &budget, &e);
		bool harmless = i == 22; // a function that is never called
		if (harmless ? s != STATUS_OK : !s || e.status != s || !e.text[0])
			fail_msg("case %zu: %s \"%s\"", i, status_word(s), e.text);
		free(exact);
		arena_done(&a);
	}
	static const struct {
		char byte;
		size_t n;
	} many[] = { { '(', 2000 }, { 'N', 2 << 20 }, { ']', 2 << 20 } };
	for (size_t i = 0; i < 3; i++) {
		struct arena a = { 0 };
		struct error e = { 0 };
		struct pickle_result r;
		struct pickle_budget budget = pickle_budget_of_file;
		uint8_t *data = malloc(many[i].n);
		memset(data, many[i].byte, many[i].n);
		assert_int_equal(pickle_read(&r, &a, data, many[i].n, &budget, &e), STATUS_BAD_INPUT);
		assert_true(strstr(e.text, "deeper") || strstr(e.text, "stack"));
		free(data);
		arena_done(&a);
	}
	// A list that holds itself is nobody's loop.
	static const uint8_t cycle[] = "]q\0h\0a.";
	struct arena a = { 0 };
	struct error e = { 0 };
	struct pickle_result r;
	struct pickle_budget budget = pickle_budget_of_file;
	assert_int_equal(pickle_read(&r, &a, cycle, sizeof cycle - 1, &budget, &e), STATUS_OK);
	assert_ptr_equal(r.value->items.at[0], r.value);
	arena_done(&a);
}

struct dice {
	uint64_t seed, thrown;
};

static size_t roll(struct dice *d, size_t sides)
{
	return (size_t)(splitmix64(d->seed, d->thrown++) % sides);
}

// Bits, bytes, opcodes, numbers of all widths, runs taken out or exchanged, the end cut off.
static size_t mutate(struct dice *d, char *data, size_t n)
{
	static const char opcodes[] = "().0NQRX}]bchqstu\x80\x85\x86\x87\x88";
	for (size_t times = 1 + roll(d, 3); times && n > 16; times--) {
		size_t at = roll(d, n), run = 1 + roll(d, 16), other;
		run = run > n - at ? n - at : run;
		switch (roll(d, 9)) {
		case 0:
			data[at] = (char)(data[at] ^ 1 << roll(d, 8));
			break;
		case 1:
			data[at] = (char)(uint8_t)roll(d, 256);
			break;
		case 2:
		case 3:
			data[at] = opcodes[roll(d, sizeof opcodes - 1)];
			break;
		case 4:
			memmove(data + at, data + at + run, n - at - run);
			n -= run;
			break;
		case 5:
			memset(data + at, roll(d, 2) ? 0xff : 0x7f, run > 8 ? 8 : run);
			break;
		case 6:
			memset(data + at, 0, run);
			break;
		case 7:
			other = roll(d, n - run + 1);
			memmove(data + at, data + other, run);
			break;
		default:
			n = roll(d, 3) ? n : roll(d, n);
			break;
		}
	}
	return n;
}

static void damaged(void **state)
{
	(void)state;
	static const char *const names[] = { "zip.bin", "stream.bin", "zip64.bin" };
	const char *victim = path("pytorch_model.bin");
	for (size_t f = 0; f < 3; f++) {
		char *original;
		size_t nbytes, refused = 0, opened = 0;
		assert_int_equal(file_read(&arena, data_path(names[f]), 1 << 20, &original, &nbytes, NULL), STATUS_OK);
		char *data = malloc(nbytes);
		for (int i = 0; i < MUTATIONS; i++) {
			struct dice d = { .seed = 0x70C4 + (uint64_t)i + f * MUTATIONS };
			struct checkpoint c = { 0 };
			struct error e = { 0 };
			memcpy(data, original, nbytes);
			size_t n = mutate(&d, data, nbytes);
			assert_int_equal(file_put(victim, data, n, NULL), STATUS_OK);
			enum status s = checkpoint_open(&c, scratch, &e);
			if (s) {
				refused++;
				if (!text_starts(e.text, scratch) || e.status != s || strlen(e.text) < strlen(scratch) + 10)
					fail_msg("%s, mutation %d: \"%s\" does not name its file", names[f], i, e.text);
				continue;
			}
			opened++;
			uint64_t sum = 0;
			for (size_t j = 0; j < c.weight_count; j++)
				for (uint64_t k = 0; k < c.weights[j].nbytes; k++)
					sum += ((const uint8_t *)c.weights[j].data)[k];
			assert_true(c.copied_nbytes <= nbytes && sum < UINT64_MAX);
			checkpoint_close(&c);
		}
		free(data);
		print_message("%s: %zu refused, %zu opened\n", names[f], refused, opened);
		assert_true(refused > MUTATIONS / 4 && opened > MUTATIONS / 20);
	}
	unlink(victim);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(layouts), cmocka_unit_test(nested), cmocka_unit_test(other_types),
		cmocka_unit_test(refusals), cmocka_unit_test(byte_order), cmocka_unit_test(preference),
		cmocka_unit_test(byte_order_in_any_letters), cmocka_unit_test(hostile_pickles), cmocka_unit_test(damaged) };
	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
