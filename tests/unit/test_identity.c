// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// What a file contains and what a model is: digests that are remembered, the files that a model is read from, locations in .onnx
// files.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include "skips.h"

#include "artifact/identity.h"
#include "base/file.h"
#include "base/text.h"
#include "question/cell.h"
#include "onnx/external.h"
#include "run/cell.h"

static int setup(void **state)
{
	return scratch_make(state) || setenv("ASSAY_CACHE", path("cache"), 1) ? -1 : 0;
}

// Other bytes in place: the same inode, size and mtime.
static void overwrite(const char *file, const void *data, size_t nbytes)
{
	struct stat st;
	int fd = open(file, O_WRONLY);

	assert_true(fd >= 0 && !fstat(fd, &st));
	assert_int_equal(file_write_at(fd, data, nbytes, 0), 0);
	assert_int_equal(futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }), 0);
	close(fd);
}

static const char *digest(const char *file)
{
	char *out = arena_alloc(&arena, 65);
	struct error e = { 0 };

	if (file_digest(out, file, NULL, &e))
		fail_msg("%s", e.text);
	return out;
}

static const char *identity(const char *model)
{
	char *out = arena_alloc(&arena, 65);
	struct error e = { 0 };

	if (model_identity(out, model, NULL, &e))
		fail_msg("%s", e.text);
	return out;
}

static const char *note_of(const char *file)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return arena_printf(&arena, "%s/cache/digest/%jx-%jx", scratch, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
}

static void digests(void **state)
{
	(void)state;
	static char data[3 << 20];
	char out[65];

	put("abc", "abc");
	assert_string_equal(digest(path("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	put("empty", "");
	assert_string_equal(digest(path("empty")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_int_equal(symlink("abc", path("link")), 0);
	assert_string_equal(digest(path("link")), digest(path("abc")));
	assert_int_not_equal(file_digest(out, path("absent"), NULL, NULL), STATUS_OK);
	assert_int_equal(file_digest(out, scratch, NULL, NULL), STATUS_BAD_INPUT);

	// Just written: the clock of ctime may not have moved on when the next write comes, so nothing is remembered.
	put_bytes("large", data, sizeof data);
	const char *file = path("large"), *first = digest(file);
	assert_false(file_exists(note_of(file)));
	data[1 << 20] = 1;
	overwrite(file, data, sizeof data);
	assert_string_not_equal(first, digest(file));
	assert_false(file_exists(note_of(file)));
}

// The one wait of this file: a digest is remembered 2 s after the last write, and used until ctime says that there was another.
static void remembered(void **state)
{
	(void)state;
	static char data[3 << 20], note[256];
	size_t nbytes;
	char *text;
	struct stat st;

	struct statfs fs;
	if (statfs(scratch, &fs) == 0 && fs.f_type == 0x01021994)
		SKIP_PART("files of tests are on tmpfs, of which no digest is remembered");
	memset(data, 7, sizeof data);
	put_bytes("kept", data, sizeof data);
	const char *file = path("kept");
	while (stat(file, &st) == 0 && time(NULL) - st.st_ctim.tv_sec < 3)
		usleep(100000);
	const char *first = digest(file);
	assert_int_equal(file_read(&arena, note_of(file), 4096, &text, &nbytes, NULL), STATUS_OK);
	assert_non_null(strstr(text, first));
	// It is used: another digest in the note is believed.
	const size_t at = (size_t)(strstr(text, first) - text);
	memcpy(note, text, nbytes);
	note[at] = note[at] == '0' ? '1' : '0';
	assert_int_equal(file_write(note_of(file), note, nbytes, NULL), STATUS_OK);
	assert_string_not_equal(digest(file), first);
	// A damaged note is not.
	assert_int_equal(file_write(note_of(file), note, nbytes - 2, NULL), STATUS_OK);
	assert_string_equal(digest(file), first);
	// Size and mtime as before, but another content: ctime cannot be set.
	data[17] = 8;
	overwrite(file, data, sizeof data);
	assert_string_not_equal(digest(file), first);
	data[17] = 7;
	overwrite(file, data, sizeof data);
	assert_string_equal(digest(file), first);
}

// A page of tmpfs that is dirty is written to again, and no time of the file changes.
static void in_memory(void **state)
{
	enum { NBYTES = 2 << 20 };
	char name[] = "/dev/shm/assay-test-XXXXXX";
	struct statfs fs;
	struct stat st;

	(void)state;
	if (statfs("/dev/shm", &fs) != 0 || fs.f_type != 0x01021994)
		SKIP_PART("/dev/shm is no tmpfs here");
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, NBYTES), 0);
	char *map = mmap(NULL, NBYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	memset(map, 1, NBYTES);
	while (fstat(fd, &st) == 0 && time(NULL) - st.st_ctim.tv_sec < 3)
		usleep(100000);
	const char *first = digest(name);
	map[17] = 2;
	const char *second = digest(name);
	munmap(map, NBYTES);
	close(fd);
	unlink(name);
	assert_string_not_equal(first, second);
}

static int stop_at_once(void *context, uint64_t done, uint64_t total)
{
	++*(int *)context;
	assert_true(done <= total);
	return 1;
}

static void stopped(void **state)
{
	(void)state;
	int calls = 0;
	struct digest_watch watch = { .progress = stop_at_once, .context = &calls };
	struct error e = { 0 };
	char out[65];

	assert_int_equal(mkdir(path("stopped"), 0755), 0);
	put("stopped/config.json", "{}");
	assert_int_equal(model_identity(out, path("stopped"), &watch, &e), STATUS_INTERRUPTED);
	assert_int_equal(calls, 1);
}

static void folders(void **state)
{
	(void)state;
	static const char index[] = "{\"weight_map\": {\"a\": \"one.safetensors\", \"b\": \"two.safetensors\"}}";
	static const struct {
		const char *file;
		const char *text;
	} changes[] = {
		{ "m/config.json", "{\"a\":2}" },
		{ "m/one.safetensors", "1111x" },
		{ "m/two.safetensors", "2222x" },
		{ "m/model.safetensors.index.json",
			"{\"weight_map\": {\"a\": \"one.safetensors\", \"c\": \"two.safetensors\"}}" },
	};
	const char *model = path("m"), *seen[8];
	size_t n = 0;

	assert_int_equal(mkdir(model, 0755), 0);
	put("m/config.json", "{\"a\":1}");
	seen[n++] = identity(model);
	put("m/model.safetensors.index.json", index);
	seen[n++] = identity(model); // its shards are absent
	put("m/one.safetensors", "11111");
	put("m/two.safetensors", "22222");
	seen[n++] = identity(model);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		const char *file = path(changes[i].file);
		char *before;
		size_t nbytes;

		assert_int_equal(file_read(&arena, file, 4096, &before, &nbytes, NULL), STATUS_OK);
		assert_int_equal(nbytes, strlen(changes[i].text));
		overwrite(file, changes[i].text, nbytes);
		seen[n++] = identity(model);
		overwrite(file, before, nbytes);
		assert_string_equal(identity(model), seen[2]);
	}
	// What is not read does not count; what is read first counts instead.
	put("m/pytorch_model.bin", "p");
	put("m/README.md", "r");
	assert_string_equal(identity(model), seen[2]);
	put("m/model.safetensors", "m");
	seen[n++] = identity(model);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(seen[i], seen[k]);
	// The same files elsewhere are the same model.
	assert_int_equal(unlink(path("m/model.safetensors")), 0);
	assert_int_equal(rename(model, path("elsewhere")), 0);
	assert_string_equal(identity(path("elsewhere")), seen[2]);
}

// What cannot be read to its end is no content: two questions about it are two, and neither finds the other's row.
static void unknown(void **state)
{
	(void)state;
	static const char no_end[] = "/proc/self/mem"; // a regular file that gives an error where it is read
	char out[65];
	struct cell c = { .model = "m", .path = no_end, .platform = "cpu", .batch = 1 };

	assert_int_not_equal(model_identity(out, no_end, NULL, NULL), STATUS_OK);
	assert_string_not_equal(cell_key(&c, &arena), cell_key(&c, &arena));
	c.identity = "known";
	const char *key = cell_key(&c, &arena);
	assert_string_equal(key, cell_key(&c, &arena));
	c.golden = path("golden.safetensors");
	assert_string_not_equal(cell_key(&c, &arena), cell_key(&c, &arena));
	put("golden.safetensors", "1");
	assert_string_not_equal(cell_key(&c, &arena), key);
	assert_string_equal(cell_key(&c, &arena), cell_key(&c, &arena));
	assert_string_not_equal(digest_unknown(&arena), digest_unknown(&arena));
	assert_string_equal(file_digest_key(&arena, path("golden.safetensors")), digest(path("golden.safetensors")));
	assert_string_not_equal(file_digest_key(&arena, path("absent")), file_digest_key(&arena, path("absent")));
}

// ---- .onnx files --------------------------------------------------------------------------------------------------------

// One field of wire type 2. Lengths below 128 only.
static const char *field(int number, const char *bytes, size_t n, size_t *out)
{
	char *text = arena_alloc(&arena, n + 3);
	size_t k = 0;

	text[k++] = (char)((number << 3 | 2) & 127);
	if (number >= 16) {
		text[0] = (char)((number << 3 | 2) | 128);
		text[k++] = (char)(number >> 4);
	}
	assert_true(n < 128);
	text[k++] = (char)n;
	memcpy(text + k, bytes, n);
	*out = k + n;
	return text;
}

// A tensor whose data lies in this file, as the field of a message.
static const char *tensor(int number, const char *location, size_t *n)
{
	size_t nk, nv;
	const char *k = field(1, "location", 8, &nk), *v = field(2, location, strlen(location), &nv);
	char *entry = arena_alloc(&arena, nk + nv);

	memcpy(entry, k, nk);
	memcpy(entry + nk, v, nv);
	const char *external = field(13, entry, nk + nv, n);
	return field(number, external, *n, n);
}

static void onnx(void **state)
{
	(void)state;
	size_t a, b, n;
	const char *weight = tensor(5, "w.data", &a);       // of a graph
	const char *constant = tensor(5, "sub/c.data", &b); // of an attribute
	constant = field(5, constant, b, &b);               // of a node
	constant = field(1, constant, b, &b);               // of the graph
	char *graph = arena_alloc(&arena, 2 * a + b);

	memcpy(graph, weight, a);
	memcpy(graph + a, constant, b);
	memcpy(graph + a + b, weight, a);
	const char *model = field(7, graph, 2 * a + b, &n);
	struct onnx_external external;

	onnx_external_read((const uint8_t *)model, n, &arena, &external);
	assert_int_equal(external.count, 2);
	assert_string_equal(external.locations[0], "sub/c.data");
	assert_string_equal(external.locations[1], "w.data");
	for (size_t cut = 0; cut < n; cut++) // damaged: nothing beyond its end is read
		onnx_external_read(memcpy(arena_alloc(&arena, cut ? cut : 1), model, cut), cut, &arena, &external);

	put_bytes("user.onnx", model, n);
	const char *file = path("user.onnx"), *none = identity(file);
	put("w.data", "11");
	const char *one = identity(file);
	assert_int_equal(mkdir(path("sub"), 0755), 0);
	put("sub/c.data", "22");
	const char *both = identity(file);
	overwrite(path("sub/c.data"), "23", 2);
	const char *other = identity(file);
	assert_string_not_equal(none, one);
	assert_string_not_equal(one, both);
	assert_string_not_equal(both, other);
	overwrite(path("sub/c.data"), "22", 2);
	assert_string_equal(identity(file), both);
}

// A graph that names one file of weights.
static void put_naming(const char *file, const char *location)
{
	size_t n;
	const char *weight = tensor(5, location, &n), *model = field(7, weight, n, &n);

	put_bytes(file, model, n);
}

static void outside(void **state)
{
	(void)state;
	static const char *const places[] = { "../secret", "sub/../../secret", "sub/../w", "/proc/self/pagemap", "away",
		"pages" };
	struct error e = { 0 };
	const char *file = path("o/g.onnx");

	assert_int_equal(mkdir(path("o"), 0755) | mkdir(path("o/sub"), 0755), 0);
	put("secret", "1");
	assert_int_equal(symlink("../secret", path("o/away")) | symlink("/proc/self/pagemap", path("o/pages")), 0);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		put_naming("o/g.onnx", places[i]);
		overwrite(path("secret"), "1", 1);
		const char *before = identity(file);
		overwrite(path("secret"), "2", 1);
		assert_string_equal(before, identity(file));
		assert_int_equal(model_check_places(file, &e), STATUS_BAD_INPUT);
		assert_non_null(strstr(e.text, "outside of the model's folder"));
	}
	// Spellings of one file are one file.
	put("o/w", "w");
	put_naming("o/g.onnx", "w");
	assert_int_equal(model_check_places(file, &e), STATUS_OK);
	const struct model_file *plain;
	struct model_file *files;
	size_t count;
	model_files(file, &arena, &files, &count);
	plain = files;
	assert_int_equal(count, 2);
	put_naming("o/g.onnx", ".//./w");
	model_files(file, &arena, &files, &count);
	assert_int_equal(count, 2);
	assert_string_equal(files[1].path, plain[1].path);

	// A snapshot of the Hub's cache: its blobs are inside, those of another model are not.
	static const char *const folders[] = { "hub", "hub/models--a--b", "hub/models--a--b/blobs", "hub/models--a--b/snapshots",
		"hub/models--a--b/snapshots/c" };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		assert_int_equal(mkdir(path(folders[i]), 0755), 0);
	put("hub/models--a--b/blobs/1", "w");
	put("hub/other", "w");
	assert_int_equal(symlink("../../blobs/1", path("hub/models--a--b/snapshots/c/w")), 0);
	put_naming("hub/models--a--b/snapshots/c/g.onnx", "w");
	file = path("hub/models--a--b/snapshots/c/g.onnx");
	assert_int_equal(model_check_places(file, &e), STATUS_OK);
	const char *one = identity(file);
	overwrite(path("hub/models--a--b/blobs/1"), "v", 1);
	assert_string_not_equal(one, identity(file));
	assert_int_equal(unlink(path("hub/models--a--b/snapshots/c/w")) |
			symlink("../../../other", path("hub/models--a--b/snapshots/c/w")),
		0);
	assert_int_equal(model_check_places(file, &e), STATUS_BAD_INPUT);

	// A file without an end, of no size: an adapter that lies elsewhere is not looked at, and a digest ends where the size
	// does.
	char out[65];
	assert_int_equal(mkdir(path("adapted"), 0755), 0);
	put("adapted/config.json", "{}");
	assert_int_equal(symlink("/proc/self/pagemap", path("adapted/adapter_model.safetensors")), 0);
	identity(path("adapted"));
	assert_int_not_equal(file_digest(out, "/proc/self/pagemap", NULL, &e), STATUS_OK);
}

// Weights below more branches than are looked through: the list says that it lacks some.
static void nested(void **state)
{
	(void)state;
	struct onnx_external external;

	for (int deep = 3; deep < 40; deep += 36) {
		size_t size = 0, n;
		const char *inner = tensor(5, "w.data", &n);
		char *bytes = arena_alloc(&arena, 4096), *from = bytes + 4096;

		memcpy(from -= n, inner, n);
		size = n;
		// The fields of a graph, of a node, of an attribute, each in the next one: lengths below 16384.
		for (int i = 0; i < 3 * deep; i++) {
			static const char keys[] = { 6 << 3 | 2, 5 << 3 | 2, 1 << 3 | 2 };
			char head[3] = { keys[i % 3], (char)((size & 127) | 128), (char)(size >> 7) };

			memcpy(from -= 3, head, 3);
			size += 3;
		}
		char head[3] = { 7 << 3 | 2, (char)((size & 127) | 128), (char)(size >> 7) };
		memcpy(from -= 3, head, 3);
		const char *lacks = onnx_external_read((const uint8_t *)from, size + 3, &arena, &external);
		assert_int_equal(external.count, deep == 3);
		assert_int_equal(!lacks, deep == 3);
		put_bytes("nested.onnx", from, size + 3);
		assert_int_equal(model_check_places(path("nested.onnx"), NULL), deep == 3 ? STATUS_OK : STATUS_BAD_INPUT);
	}
}

// Of truth values that are neither 0 nor 1 engines make different models, wherever they lie.
static void truths(void **state)
{
	static const char *const corpus[] = { "truth_int32", "truth_elsewhere" };
	struct error e = { 0 };
	char *text;
	size_t n;

	(void)state;
	put_bytes("bool.bin", "\1\0\2", 3);
	for (size_t i = 0; i < 2; i++) {
		const char *from = arena_printf(&arena, TEST_SOURCE "/tests/fuzz/corpus/onnx/%s", corpus[i]);
		assert_int_equal(file_read(&arena, from, 4096, &text, &n, NULL), STATUS_OK);
		put_bytes("truths.onnx", text, n);
		assert_int_equal(model_check_places(path("truths.onnx"), &e), STATUS_BAD_INPUT);
		assert_non_null(strstr(e.text, "has a truth value that is neither 0 nor 1"));
	}
	put_bytes("bool.bin", "\1\0\1", 3);
	assert_int_equal(model_check_places(path("truths.onnx"), NULL), STATUS_OK);
}

static const char *lacks_of(const char *bytes, size_t n, size_t *count)
{
	struct onnx_external external;
	const char *lacks = onnx_external_read(memcpy(arena_alloc(&arena, n + 1), bytes, n), n, &arena, &external);

	*count = external.count;
	return lacks;
}

static const char *both_of(const char *a, size_t na, const char *b, size_t nb)
{
	char *text = arena_alloc(&arena, na + nb + 1);

	memcpy(text, a, na);
	memcpy(text + na, b, nb);
	return text;
}

// Of a weight of a branch that is called as a value around it engines take one or the other; beside it, or of another name, it
// is one model. A function's values are around its own nodes' branches alone.
static void shadows(void **state)
{
	enum { GRAPH, FUNCTION };
	size_t n, count, inner, named;
	const char *name = field(8, "W", 1, &n), *weight = field(5, name, n, &inner); // of a graph, called W
	const char *branch = field(6, weight, inner, &n);                             // of an attribute
	branch = field(5, branch, n, &n);                                             // of a node
	const size_t nb = n;
	static const struct {
		int number, within; // the field of the graph or function, and that of it with the name; 0: it is the name
		const char *name;
		int of;
		bool is_refused;
	} around[] = { { 5, 8, "W", GRAPH, true }, { 11, 1, "W", GRAPH, true }, { 1, 2, "W", GRAPH, true },
		{ 15, 0, "", GRAPH, false }, { 5, 8, "V", GRAPH, false }, { 13, 1, "W", GRAPH, false },
		{ 1, 1, "W", GRAPH, false }, { 4, 0, "W", FUNCTION, true }, { 7, 2, "W", FUNCTION, true },
		{ 4, 0, "V", FUNCTION, false }, { 5, 0, "W", FUNCTION, false } };

	(void)state;
	for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
		const char *value = around[i].name, *node = field(around[i].of == GRAPH ? 1 : 7, branch, nb, &n);
		named = strlen(value);
		if (around[i].within)
			value = field(around[i].within, value, named, &named);
		value = field(around[i].number, value, named, &named);
		for (int first = 0; first < 2; first++) { // the order of the fields says nothing
			const char *body = first ? both_of(value, named, node, n) : both_of(node, n, value, named);
			size_t nm;
			const char *model = field(around[i].of == GRAPH ? 7 : 25, body, named + n, &nm),
				   *lacks = lacks_of(model, nm, &count);
			assert_int_equal(lacks != NULL, around[i].is_refused);
			assert_true(!lacks || strstr(lacks, "called W, as a value around it is"));
			for (size_t cut = 0; cut < nm; cut++)
				lacks_of(model, cut, &count);
		}
	}
	// Both branches of an If may have a weight of one name; a branch within a branch sees what lies around both.
	const char *node = field(1, branch, nb, &n), *two = both_of(node, n, node, n);
	size_t nt;
	two = field(7, two, 2 * n, &nt);
	assert_null(lacks_of(two, nt, &count));
	size_t nd;
	const char *deep = field(6, node, n, &nd); // an attribute's graph with that node
	deep = field(5, deep, nd, &nd);
	deep = field(1, deep, nd, &nd);
	deep = both_of(deep, nd, weight, inner);
	size_t nw;
	deep = field(7, deep, nd + inner, &nw);
	assert_non_null(lacks_of(deep, nw, &count));

	// What ONNX Runtime packed of a weight only it takes for the weight.
	static const char *const keys[] = { "prepacked_0", "prepacked", "prepack" };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		size_t nk, nv;
		const char *k = field(1, keys[i], strlen(keys[i]), &nk), *v = field(2, "a|0;4;1", 7, &nv),
			   *entry = both_of(k, nk, v, nv);
		entry = field(13, entry, nk + nv, &n);
		entry = field(5, entry, n, &n);
		entry = field(7, entry, n, &n);
		const char *lacks = lacks_of(entry, n, &count);
		assert_non_null(lacks);
		assert_int_equal(strstr(lacks, "packed of it for one kind of processor") != NULL, i < 2);
	}
}

// Groups are skipped wherever they stand, as engines do; what cannot be read to its end is said, and such a file is refused.
static void groups(void **state)
{
	(void)state;
	enum { GRAPH_FROM = 40, DEEP = 100 }; // the model's last field, its graph, begins before it
	char *text, deep[4 * DEEP + 4];
	struct onnx_external external;
	size_t n, count, inner, outer;

	assert_int_equal(file_read(&arena, TEST_SOURCE "/tests/fuzz/corpus/onnx/groups", 4096, &text, &n, NULL), STATUS_OK);
	assert_null(onnx_external_read((const uint8_t *)text, n, &arena, &external));
	assert_int_equal(external.count, 1);
	assert_string_equal(external.locations[0], "w.bin");
	for (size_t cut = GRAPH_FROM; cut < n; cut++)
		assert_non_null(lacks_of(text, cut, &count));
	put_bytes("groups.onnx", text, n);
	put_bytes("w.bin", "1", 1);
	const char *file = path("groups.onnx"), *one = identity(file);
	overwrite(path("w.bin"), "2", 1);
	assert_string_not_equal(identity(file), one);
	put_bytes("cut.onnx", text, n - 9);
	struct error e = { 0 };
	assert_int_equal(model_check_places(path("cut.onnx"), &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "is damaged"));

	// In the entry: a group that does not end, one that ends another, an end alone, the number 0, a key that readers cut to
	// "value", and one whose kind is no text: that is not the key "location" taken back.
	static const struct {
		const char *bytes;
		size_t nbytes;
		bool whole;
	} in[] = {
		{ "\x0b", 1, false },
		{ "\x0b\x14", 2, false },
		{ "\x0c", 1, false },
		{ "\x02\x00", 2, false },
		{ "\x92\x80\x80\x80\x10\x00", 6, false },
		{ "\x08\x01", 2, true },
		{ "\x0b\x0c", 2, true },
		{ "\x0b\x13\x14\x0c", 4, true },
	};
	for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
		const char *key = field(1, "location", 8, &inner), *text_of = field(2, "w.data", 6, &outer);
		char entry[64];

		memcpy(entry, key, inner);
		memcpy(entry + inner, in[i].bytes, in[i].nbytes);
		memcpy(entry + inner + in[i].nbytes, text_of, outer);
		const char *model = field(13, entry, inner + in[i].nbytes + outer, &n);
		model = field(5, model, n, &n);
		model = field(7, model, n, &n);
		const char *lacks = lacks_of(model, n, &count);
		if (!lacks != in[i].whole || (in[i].whole && count != 1))
			fail_msg("entry %zu: %zu names, lacks: %s", i, count, lacks ? lacks : "none");
	}
	// As deep as readers go, and one deeper.
	for (size_t depth = DEEP; depth <= DEEP + 1; depth++) {
		memset(deep, 0x0b, depth);
		memset(deep + depth, 0x0c, depth);
		assert_int_equal(lacks_of(deep, 2 * depth, &count) != NULL, depth > DEEP);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests),
		cmocka_unit_test(remembered),
		cmocka_unit_test(in_memory),
		cmocka_unit_test(stopped),
		cmocka_unit_test(unknown),
		cmocka_unit_test(folders),
		cmocka_unit_test(onnx),
		cmocka_unit_test(outside),
		cmocka_unit_test(nested),
		cmocka_unit_test(truths),
		cmocka_unit_test(shadows),
		cmocka_unit_test(groups),
	};

	return exit_code(cmocka_run_group_tests(tests, setup, scratch_remove));
}
