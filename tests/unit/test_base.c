// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// src/base: words, errors, arena, text, numbers in 16 bits, tensors, files, JSON, hashes.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/tensor.h"
#include "base/text.h"

static void words(void **state)
{
	(void)state;
	assert_string_equal(status_word(STATUS_NO_SPACE), "no_space");
	assert_string_equal(status_word((enum status)99), "unknown");
	for (int i = 0; i < VERDICT_COUNT; i++) {
		assert_int_equal(verdict_find(verdict_word((enum verdict)i)), i);
		assert_true(strlen(verdict_sentence((enum verdict)i)) > 5);
	}
	assert_int_equal(verdict_find("fine"), VERDICT_COUNT);
	assert_int_equal(verdict_find(NULL), VERDICT_COUNT);
	assert_int_equal(verdict_exit_code(VERDICT_WRONG), 3);
	assert_int_equal(verdict_exit_code(VERDICT_COMPILES), 0);
	assert_int_equal(verdict_exit_code(VERDICT_CRASHED), 2);
	assert_int_equal(verdict_of_status(STATUS_UNSUPPORTED), VERDICT_UNSUPPORTED);
	assert_int_equal(verdict_of_status(STATUS_NO_SPACE), VERDICT_NOT_ASKED);
}

static void errors(void **state)
{
	(void)state;
	struct error e = { 0 };
	assert_int_equal(error_set(&e, STATUS_BAD_INPUT, "expected [%d,%d], found [64,32]", 64, 64), STATUS_BAD_INPUT);
	assert_int_equal(error_prefix(&e, "layers.%d.q_proj", 3), STATUS_BAD_INPUT);
	assert_int_equal(error_prefix(&e, "model.safetensors"), STATUS_BAD_INPUT);
	assert_string_equal(e.text, "model.safetensors: layers.3.q_proj: expected [64,64], found [64,32]");

	error_set(&e, STATUS_FAILED, "again: %s", e.text);
	assert_memory_equal(e.text, "again: model.", 13);

	error_set(&e, STATUS_FAILED, "two\nlines\tand \xFF\xC3/ caf\xC3\xA9\n");
	assert_string_equal(e.text,
		"two lines and ?"
		"?/ caf\xC3\xA9");

	char longer[4000];
	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = 0;
	error_set(&e, STATUS_FAILED, "%s", longer);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	assert_string_equal(e.text + strlen(e.text) - 4, "x...");
	error_prefix(&e, "a");
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	assert_memory_equal(e.text, "a: xxx", 6);
	assert_string_equal(e.text + strlen(e.text) - 3, "...");
	// A cut never leaves half a character.
	for (size_t i = 0; i + 2 < sizeof longer; i += 3)
		memcpy(longer + i, "\xE2\x82\xAC", 3);
	for (int shift = 0; shift < 3; shift++) {
		error_set(&e, STATUS_FAILED, "%.*s%s", shift, "ab", longer);
		assert_null(strchr(e.text, '?'));
	}

	errno = ENOSPC;
	assert_int_equal(error_errno(&e, "%s", "file"), STATUS_NO_SPACE);
	assert_string_equal(e.text, "file: No space left on device");
	errno = ENOMEM;
	assert_int_equal(error_errno(NULL, "x"), STATUS_NO_MEMORY);
	assert_int_equal(error_set(NULL, STATUS_TIMEOUT, "x"), STATUS_TIMEOUT);
	// A damaged ext4, a key that was withdrawn, a port that is taken: not the model's failure.
	static const int not_of_a_name[] = { EIO, EUCLEAN, EBADMSG, ENOKEY, EADDRINUSE, EMFILE, EACCES };
	for (size_t i = 0; i < sizeof not_of_a_name / sizeof *not_of_a_name; i++) {
		errno = not_of_a_name[i];
		assert_int_equal(error_errno(&e, "file"), STATUS_NOT_ASKED);
	}
	errno = ENOENT;
	assert_int_equal(error_errno(&e, "file"), STATUS_FAILED);
}

static char order[8];

static void note(void *handle)
{
	strcat(order, handle);
}

static void arenas(void **state)
{
	(void)state;
	struct arena a = { 0 };
	assert_null(arena_strdup(&a, NULL));
	unsigned char *previous = NULL;
	for (size_t n = 0; n < 3000; n += 7) {
		unsigned char *p = arena_alloc(&a, n);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xAB, n);
		if (previous)
			assert_true(n < 8 || previous[n - 8] == 0xAB);
		previous = p;
	}
	unsigned char *large = arena_alloc(&a, 10 << 20);
	assert_int_equal(large[(10 << 20) - 1], 0);
	assert_string_equal(arena_printf(&a, "%s-%d", "layers", 7), "layers-7");
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	arena_defer(&a, note, "1");
	arena_defer(&a, note, "2");
	arena_defer(&a, note, "3");
	arena_done(&a);
	assert_string_equal(order, "321");
	assert_null(a.blocks);
	assert_string_equal(arena_strdup(&a, "usable again"), "usable again");
	arena_done(&a);
	arena_done(&a);
}

// What was taken stays where it is, lives as long as the one that took it, and is released before what was there.
static void arena_taken(void **state)
{
	(void)state;
	struct arena to = { 0 }, from = { 0 }, none = { 0 };
	char *small = arena_strdup(&from, "small"), *large = arena_alloc(&from, 1 << 20), *there = arena_strdup(&to, "there");

	memset(large, 7, 1 << 20);
	memset(order, 0, sizeof order);
	arena_defer(&to, note, "1");
	arena_defer(&from, note, "2");
	arena_defer(&from, note, "3");
	arena_take(&to, &from);
	arena_take(&to, &none);
	assert_null(from.blocks);
	arena_done(&from);
	assert_string_equal(order, "");
	assert_string_equal(arena_strdup(&from, "usable again"), "usable again");
	assert_string_equal(arena_strdup(&to, "usable still"), "usable still");
	assert_string_equal(small, "small");
	assert_string_equal(there, "there");
	assert_int_equal(large[(1 << 20) - 1], 7);
	arena_take(&none, &to); // into an empty one
	arena_done(&none);
	assert_string_equal(order, "321");
	arena_done(&from);
}

// A sentence and an exit code: no signal, so no core.
static void no_memory(void **state)
{
	int status, fds[2];
	char said[100] = "";

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct arena a = { 0 };

		dup2(fds[1], 2);
		arena_array(&a, SIZE_MAX / 2, 16);
		_exit(0);
	}
	close(fds[1]);
	assert_true(read(fds[0], said, sizeof said - 1) > 0);
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_true(text_starts(said, "assay: out of memory ("));
}

// RFC 4648, section 10.
// The end of what an engine says is as good as its beginning.
static void fitted(void **state)
{
	char out[32];

	(void)state;
	text_fit(out, sizeof out, "exactly thirty-one characters..");
	assert_string_equal(out, "exactly thirty-one characters..");
	text_fit(out, sizeof out, "Name:'nnnnnnnnnnnnnnnnnnnnnnnn' std::bad_alloc");
	assert_string_equal(out, "Name:'nn ... nn' std::bad_alloc");
	text_fit(out, sizeof out, "");
	assert_string_equal(out, "");
}

static void base64(void **state)
{
	static const char *const pairs[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foobar", "Zm9vYmFy" },
		{ "\xfb\xff\xbf", "+/+/" } };

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct text t = { 0 };

		text_add(&t, "<");
		text_add_base64(&t, pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(text_get(&t) + 1, pairs[i][1]);
		text_done(&t);
	}
}

static void texts(void **state)
{
	(void)state;
	struct text t = { 0 };
	assert_string_equal(text_get(&t), "");
	for (int i = 0; i < 500; i++)
		text_addf(&t, "%d,", i);
	text_add(&t, "end");
	text_add_bytes(&t, "\0!", 2);
	assert_int_equal(t.length, 10 * 2 + 90 * 3 + 400 * 4 + 3 + 2);
	assert_memory_equal(t.data, "0,1,2,", 6);
	assert_memory_equal(t.data + t.length - 5, "end\0!", 6);
	text_done(&t);
	assert_null(t.data);
	static const char *const words[] = { "a/b-1.onnx", "", "y';touch x;'", "`x`", "a b", "#", "a\nb", "\\" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		text_add(&t, i ? " " : "");
		text_add_word(&t, words[i]);
	}
	assert_string_equal(text_get(&t), "a/b-1.onnx '' 'y'\\'';touch x;'\\''' '`x`' 'a b' '#' 'a\nb' '\\'");
	text_done(&t);

	assert_true(text_is(NULL, NULL) && text_is("a", "a") && !text_is("a", NULL) && !text_is(NULL, "") && !text_is("a", "b"));
	assert_true(text_starts("abc", "ab") && !text_starts("a", "ab"));
	assert_true(text_ends("a.weight", ".weight") && !text_ends("t", "weight") && text_ends("x", ""));

	int64_t n = 5;
	static const char *const not_ints[] = { "", " 1", "1 ", "+1", "0x10", "1.0", "-", "--1", "9223372036854775808", "101",
		"-1" };
	for (size_t i = 0; i < sizeof not_ints / sizeof *not_ints; i++)
		assert_false(text_to_int(not_ints[i], 0, 100, &n));
	assert_int_equal(n, 5);
	assert_true(text_to_int("-9223372036854775808", INT64_MIN, INT64_MAX, &n) && n == INT64_MIN);
	assert_true(text_to_int("100", 0, 100, &n) && n == 100);
	double x = 5;
	static const char *const not_doubles[] = { "", " 1", "nan", "inf", "0x1p3", "1e999", "1e", "1..2", "7", NULL };
	for (size_t i = 0; i < sizeof not_doubles / sizeof *not_doubles; i++)
		assert_false(text_to_double(not_doubles[i], -1, 6, &x));
	assert_true(x == 5);
	assert_true(text_to_double("0.5", 0, 1, &x) && x == 0.5);
}

static void half_precision(void **state)
{
	(void)state;
	// Every half goes to float and back unchanged, but for the payload of NaN.
	for (uint32_t h = 0; h < 0x10000; h++) {
		float x = f32_of_f16((uint16_t)h), y = f32_of_bf16((uint16_t)h);
		if (isnan(x))
			assert_true(isnan(f32_of_f16(f16_of_f32(x))));
		else
			assert_int_equal(f16_of_f32(x), h);
		if (isnan(y))
			assert_true(isnan(f32_of_bf16(bf16_of_f32(y))));
		else
			assert_int_equal(bf16_of_f32(y), h);
	}
	// Between two neighbours: the nearer, and in the middle the even one.
	for (uint32_t h = 0; h < 0x7BFF; h++) {
		float low = f32_of_f16((uint16_t)h), high = f32_of_f16((uint16_t)(h + 1)), middle = (low + high) / 2;
		assert_int_equal(f16_of_f32(middle), h & 1 ? h + 1 : h);
		assert_int_equal(f16_of_f32(nextafterf(middle, 0)), h);
		assert_int_equal(f16_of_f32(nextafterf(middle, INFINITY)), h + 1);
		assert_int_equal(f16_of_f32(-middle), 0x8000 | (h & 1 ? h + 1 : h));
	}
	for (uint32_t h = 0; h < 0x7F7F; h += 3) {
		double low = (double)f32_of_bf16((uint16_t)h), high = (double)f32_of_bf16((uint16_t)(h + 1));
		float middle = (float)((low + high) / 2);
		assert_int_equal(bf16_of_f32(middle), h & 1 ? h + 1 : h);
		assert_int_equal(bf16_of_f32(nextafterf(middle, 0)), h);
		assert_int_equal(bf16_of_f32(nextafterf(middle, INFINITY)), h + 1);
	}
	assert_int_equal(f16_of_f32(1), 0x3C00);
	assert_int_equal(f16_of_f32(65504), 0x7BFF);
	assert_int_equal(f16_of_f32(65519.996f), 0x7BFF);
	assert_int_equal(f16_of_f32(65520), 0x7C00);
	assert_int_equal(f16_of_f32(-INFINITY), 0xFC00);
	assert_int_equal(f16_of_f32(0x1p-25f), 0);
	assert_int_equal(f16_of_f32(0x1.000002p-25f), 1);
	assert_int_equal(bf16_of_f32(3.4028235e38f), 0x7F80);
	assert_int_equal(bf16_of_f32(1), 0x3F80);
}

static void dtypes(void **state)
{
	(void)state;
	for (int i = 1; i < DTYPE_COUNT; i++) {
		enum dtype t = (enum dtype)i;
		assert_true(dtype_size(t) > 0);
		assert_int_equal(dtype_find(dtype_word(t)), t);
		assert_int_equal(dtype_find(dtype_safetensors(t)), t);
		assert_int_equal(dtype_of_onnx(dtype_onnx(t)), t);
	}
	assert_int_equal(dtype_find("torch.bfloat16"), DTYPE_BF16);
	assert_int_equal(dtype_find("float32"), DTYPE_F32);
	assert_int_equal(dtype_find("float"), DTYPE_F32);
	assert_int_equal(dtype_find("f"), DTYPE_NONE);
	assert_int_equal(dtype_find("none"), DTYPE_NONE);
	assert_int_equal(dtype_size(DTYPE_NONE), 0);
	assert_int_equal(dtype_of_onnx(0), DTYPE_NONE);
}

static void tensors(void **state)
{
	(void)state;
	size_t n = 7;
	assert_true(tensor_count(0, NULL, &n) && n == 1);
	assert_true(tensor_count(3, (int64_t[]){ 2, 3, 4 }, &n) && n == 24);
	assert_false(tensor_count(2, (int64_t[]){ 2, -1 }, &n));
	assert_false(tensor_count(3, (int64_t[]){ INT64_MAX, 2, 2 }, &n));
	assert_int_equal(n, 24);
	assert_true(tensor_count(4, (int64_t[]){ INT64_MAX, 2, 2, 0 }, &n) && n == 0);
	char s[32], small[6];
	assert_string_equal(tensor_shape_text(3, (int64_t[]){ 2, -1, 99 }, s, sizeof s), "[2,?,99]");
	assert_string_equal(tensor_shape_text(0, NULL, s, sizeof s), "[]");
	assert_true(strlen(tensor_shape_text(3, (int64_t[]){ 1000, 1000, 1000 }, small, sizeof small)) < sizeof small);
	int16_t i16[] = { -3, 4 };
	uint16_t bf16[] = { 0x3F80, 0xC000 };
	uint8_t flag[] = { 0, 7 };
	assert_true(tensor_get(&(struct tensor){ .dtype = DTYPE_I16, .data = i16 }, 0) == -3);
	assert_true(tensor_get(&(struct tensor){ .dtype = DTYPE_BF16, .data = bf16 }, 1) == -2);
	assert_true(tensor_get(&(struct tensor){ .dtype = DTYPE_BOOL, .data = flag }, 1) == 1);
	uint8_t eight[] = { 0x38, 0x48, 0x7F, 0xC4 }; // 1, 4, NaN and -3 of e4m3, 0.5, 8, NaN and -4 of e5m2
	const struct tensor e4m3 = { .dtype = DTYPE_F8_E4M3, .data = eight }, e5m2 = { .dtype = DTYPE_F8_E5M2, .data = eight };
	assert_true(tensor_get(&e4m3, 0) == 1 && tensor_get(&e4m3, 1) == 4 && tensor_get(&e4m3, 3) == -3);
	assert_true(tensor_get(&e5m2, 0) == 0.5 && tensor_get(&e5m2, 1) == 8 && tensor_get(&e5m2, 3) == -4);
	assert_true(isnan(tensor_get(&e4m3, 2)) && isnan(tensor_get(&e5m2, 2)));
	assert_true(isnan(tensor_get(&(struct tensor){ .dtype = DTYPE_NONE, .data = eight }, 0)));
}

static void files(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error e = { 0 };
	const char *file = path("a/b/c/file"), *folder = path("a/b/c");
	char *data;
	size_t n;
	const uint8_t *map;

	assert_int_equal(file_read(&a, file, 100, &data, &n, &e), STATUS_BAD_INPUT);
	assert_true(text_starts(e.text, file));
	assert_int_equal(file_mkdirs(folder, &e), STATUS_OK);
	assert_int_equal(file_mkdirs(folder, &e), STATUS_OK);
	assert_int_equal(file_read(&a, folder, 100, &data, &n, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "folder"));
	assert_int_equal(file_write(file, "one", 3, &e), STATUS_OK);
	assert_int_equal(file_write(file, "hello", 5, &e), STATUS_OK);
	assert_int_equal(file_read(&a, file, 5, &data, &n, &e), STATUS_OK);
	assert_int_equal(n, 5);
	assert_string_equal(data, "hello");
	assert_int_equal(file_read(&a, file, 4, &data, &n, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "at most 4"));
	assert_int_equal(file_map(&a, file, &map, &n, &e), STATUS_OK);
	assert_memory_equal(map, "hello", 5);
	assert_int_equal(file_write(file, "", 0, &e), STATUS_OK);
	assert_int_equal(file_map(&a, file, &map, &n, &e), STATUS_OK);
	assert_true(map == NULL && n == 0);
	assert_int_equal(file_mkdirs(file, &e), STATUS_BAD_INPUT);
	assert_true(file_write(path("absent/file"), "x", 1, &e) != STATUS_OK);
	// Does what is open still lie there? What cannot be told is no other file.
	const int opened = open(file, O_RDONLY | O_CLOEXEC);
	assert_true(opened >= 0 && file_lies_at(opened, file) && errno == 0);
	assert_true(!file_lies_at(opened, path("absent/file")) && errno == 0);
	assert_true(!file_lies_at(opened, path("a/b/c/file/below")) && errno == ENOTDIR);
	close(opened);
	assert_true(!file_lies_at(opened, file) && errno == EBADF);
	assert_non_null(strstr(e.text, "absent/file"));
	assert_int_equal(file_read(&a, "/proc/self/status", 1 << 20, &data, &n, &e), STATUS_OK);
	assert_true(n > 100 && text_starts(data, "Name:"));
	assert_int_equal(mkfifo(path("fifo"), 0600), 0);
	assert_int_equal(file_map(&a, path("fifo"), &map, &n, &e), STATUS_BAD_INPUT);

	// What a person names: links are followed, pipes and devices stay what they are; file_write follows nothing.
	struct stat st;
	assert_int_equal(symlink("c/file", path("a/b/one")) | symlink("one", path("a/b/two")) |
			symlink("none", path("a/b/to_none")) | symlink("circle", path("a/b/circle")),
		0);
	assert_int_equal(file_write_user(path("a/b/two"), "by link", 7, &e), STATUS_OK);
	assert_int_equal(file_read(&a, file, 100, &data, &n, &e), STATUS_OK);
	assert_string_equal(data, "by link");
	assert_true(!lstat(path("a/b/two"), &st) && S_ISLNK(st.st_mode) && !lstat(path("a/b/one"), &st) && S_ISLNK(st.st_mode));
	assert_int_equal(file_write_user(path("a/b/to_none"), "made", 4, &e), STATUS_OK);
	assert_int_equal(file_read(&a, path("a/b/none"), 100, &data, &n, &e), STATUS_OK);
	assert_string_equal(data, "made");
	assert_int_not_equal(file_write_user(path("a/b/circle"), "x", 1, &e), STATUS_OK);
	assert_int_equal(file_write_user(path("a/b"), "x", 1, &e), STATUS_BAD_INPUT);
	assert_int_equal(file_write(path("a/b/two"), "no link", 7, &e), STATUS_OK);
	assert_true(!lstat(path("a/b/two"), &st) && S_ISREG(st.st_mode));
	int fd = open(path("fifo"), O_RDWR | O_CLOEXEC);
	char got[8] = { 0 };
	assert_true(fd >= 0);
	assert_int_equal(file_write_user(path("fifo"), "piped", 5, &e), STATUS_OK);
	assert_int_equal(read(fd, got, sizeof got), 5);
	assert_string_equal(got, "piped");
	// An open file by its number: the file itself, even where its name is gone.
	int gone = open(path("gone"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(gone >= 0 && !unlink(path("gone")));
	assert_int_equal(file_write_user(arena_printf(&a, "/proc/self/fd/%d", gone), "open", 4, &e), STATUS_OK);
	assert_int_equal(pread(gone, got, sizeof got, 0), 4);
	close(gone);
	close(fd);
	assert_true(!lstat(path("fifo"), &st) && S_ISFIFO(st.st_mode));
	if (!stat("/dev/full", &st) && S_ISCHR(st.st_mode)) {
		assert_int_equal(symlink("/dev/full", path("full")), 0);
		assert_int_not_equal(file_write_user(path("full"), "x", 1, &e), STATUS_OK);
		assert_non_null(strstr(e.text, strerror(ENOSPC)));
		assert_true(!lstat(path("full"), &st) && S_ISLNK(st.st_mode) && !stat(path("full"), &st) && S_ISCHR(st.st_mode));
	}

	// What a file of a folder names is in the folder.
	const char *inside;
	static const char *const outside[] = { "", "/etc/passwd", "..", "../fifo", "b/../../fifo", "b/..", "out", "out/file",
		"b/up", "b/absent", "circle" };
	assert_int_equal(file_mkdirs(path("ab"), &e), STATUS_OK);
	assert_int_equal(file_write(path("ab/file"), "x", 1, &e), STATUS_OK);
	assert_int_equal(symlink("../ab", path("a/out")) | symlink("../../ab/file", path("a/b/up")) |
			symlink("circle", path("a/circle")) | symlink("a", path("to_a")),
		0);
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		if (file_inside(&a, path("a"), outside[i], &inside, &e) != STATUS_BAD_INPUT)
			fail_msg("\"%s\" is in the folder", outside[i]);
	assert_int_equal(file_inside(&a, path("a"), "b/one", &inside, &e), STATUS_OK);
	assert_string_equal(inside, path("a/b/one"));
	assert_int_equal(file_inside(&a, path("to_a"), "b/c/file", &inside, &e), STATUS_OK);
	assert_int_equal(file_inside(&a, "/", "etc", &inside, &e), STATUS_OK);

	// A tree is removed without following its links.
	const char *kept = path("kept");
	assert_int_equal(file_mkdirs(kept, &e), STATUS_OK);
	assert_int_equal(file_write(path("kept/file"), "x", 1, &e), STATUS_OK);
	assert_int_equal(symlink(kept, path("a/b/link")), 0);
	assert_int_equal(symlink("nowhere", path("a/dangling")), 0);
	assert_int_equal(file_remove_tree(path("a"), &e), STATUS_OK);
	assert_false(file_exists(path("a")));
	assert_true(file_exists(path("kept/file")));
	assert_int_equal(file_remove_tree(path("a"), &e), STATUS_OK);

	assert_true(file_free_bytes(scratch) > 0);
	assert_int_equal(file_free_bytes(path("no/such/folder")) > 0, 1);
	assert_int_equal(file_free_bytes("relative/and/absent") > 0, 1);
	arena_done(&a);
}

static void json(void **state)
{
	(void)state;
	struct arena a = { 0 };
	struct error e = { 0 };
	json_t *v = NULL;
	static const char *const bad[] = { "", "{", "{\"a\":1,\"a\":2}", "[1] 2", "[NaN]", "\"\xFF\"", "{\"a\":1}}" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(json_bytes("x.json", bad[i], strlen(bad[i]), &v, &e), STATUS_BAD_INPUT);
		assert_true(text_starts(e.text, "x.json: not valid JSON"));
	}
	char deep[5000];
	memset(deep, '[', sizeof deep);
	assert_int_equal(json_bytes("deep.json", deep, sizeof deep, &v, &e), STATUS_BAD_INPUT);
	assert_null(v);
	const char *file = path("x.json");
	assert_int_equal(file_write(file, "{\"a\": [1, 2.5]}\n", 16, &e), STATUS_OK);
	assert_int_equal(json_file(file, 100, &v, &e), STATUS_OK);
	assert_int_equal(json_array_size(json_object_get(v, "a")), 2);
	json_decref(v);
	assert_int_equal(json_file(file, 15, &v, &e), STATUS_BAD_INPUT);
	arena_done(&a);
}

static void hashes(void **state)
{
	(void)state;
	struct hash h;
	char hex[65], other[65];
	hash_init(&h);
	hash_add(&h, "a", 1);
	hash_add(&h, "bc", 2);
	hash_hex(&h, hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hash_init(&h);
	hash_add_text(&h, "ab");
	hash_add_text(&h, "c");
	hash_hex(&h, hex);
	hash_init(&h);
	hash_add_text(&h, "a");
	hash_add_text(&h, "bc");
	hash_hex(&h, other);
	assert_string_not_equal(hex, other);
	assert_true(fnv1a64("", 0) == 0xCBF29CE484222325u);
	assert_true(fnv1a64("foobar", 6) == 0x85944171F73967E8u);
	// First outputs of splitmix64 seeded with 1234567, from its published reference.
	assert_true(splitmix64(1234567, 0) == 6457827717110365317u);
	assert_true(splitmix64(1234567, 1) == 3203168211198807973u);
	// Tables' hashes go on from both ends, and have a secret.
	struct table_tail tail = TABLE_HASH_TAIL;
	for (size_t i = 6; i-- > 0;)
		table_hash_before(&tail, "foo\xFF\0r"[i]);
	uint64_t foobar = table_hash(table_hash(TABLE_HASH_START, "foo", 3), "\xFF\0r", 3);
	assert_true(table_place_of(foobar) == table_place_of(tail.sum + tail.power));
	assert_true(table_place_of(foobar) != table_place_of(table_hash(TABLE_HASH_START, "foo\xFF\0", 5)));
	assert_true(table_place_of(TABLE_HASH_START) != table_place_of(table_hash(TABLE_HASH_START, "", 1)));
	const struct table_secret secret = table_secret;
	assert_true(secret.at && secret.times & 1);
	table_secret.at ^= 2;
	assert_true(foobar != table_hash(TABLE_HASH_START, "foo\xFF\0r", 6));
	table_secret = secret;
}

// What a spreadsheet would compute, also where it parts cells at semicolons and takes quotes away.
static void cells(void **state)
{
	static const char *const rows[][2] = { { "=1+1", "'=1+1" }, { "a;=1", "a;'=1" }, { "a;\"=1+1;b", "a;'\"=1+1;b" },
		{ "-1.5", "-1.5" }, { "a\t @x", "a\t' @x" }, { "plain \"text\"", "plain \"text\"" } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct text t = { 0 };
		csv_add_safe(&t, rows[i][0]);
		assert_string_equal(text_get(&t), rows[i][1]);
		text_done(&t);
	}
}

static void clocks(void **state)
{
	(void)state;
	int64_t before = clock_ns();
	assert_true(clock_ns() >= before);
	assert_true(clock_unix_us() > 1600000000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(errors),
		cmocka_unit_test(arenas),
		cmocka_unit_test(arena_taken),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(texts),
		cmocka_unit_test(fitted),
		cmocka_unit_test(base64),
		cmocka_unit_test(half_precision),
		cmocka_unit_test(dtypes),
		cmocka_unit_test(tensors),
		cmocka_unit_test(files),
		cmocka_unit_test(json),
		cmocka_unit_test(hashes),
		cmocka_unit_test(cells),
		cmocka_unit_test(clocks),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
