// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// src/artifact: placing in the cache, exporting, keys, builders side by side, and what the cache says of itself.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "artifact/artifact.h"
#include "base/file.h"
#include "base/text.h"

static int setup(void **state)
{
	return scratch_make(state) || setenv("HF_HUB_CACHE", path("hub"), 1) ? -1 : 0;
}

// A cache of its own for every test.
static void use_cache(const char *name)
{
	setenv("ASSAY_CACHE", path(name), 1);
}

// A tiny bert: enough to build.
static const char config_text[] = "{\"model_type\": \"bert\", \"architectures\": [\"BertModel\"], \"hidden_size\": 32, "
				  "\"num_hidden_layers\": 2, \"num_attention_heads\": 2,"
				  "\"intermediate_size\": 37, \"vocab_size\": 99, \"max_position_embeddings\": 64, "
				  "\"type_vocab_size\": 2, \"hidden_act\": \"gelu\"}";

static void make_checkpoint(const char *folder)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	struct synth_options o = { 0 };
	if (checkpoint_open_config(&c, "tiny", config_text, strlen(config_text), &e) || synth_write(folder, &c, &o, &e))
		fail_msg("%s", e.text);
	checkpoint_close(&c);
}

struct built {
	struct checkpoint c;
	struct arena arena;
	struct graph *g;
	struct artifact art;
};

static void build(struct built *b, const char *folder, bool plain)
{
	struct error e = { 0 };
	struct spec *s;
	struct graph_form form = { 0 };
	*b = (struct built){ 0 };
	if (checkpoint_open(&b->c, folder, &e))
		fail_msg("%s", e.text);
	if (plain)
		checkpoint_plain_locations(&b->c);
	b->g = graph_new(&form);
	if (arch_resolve(&s, &b->arena, &b->c, &e) || artifact_build(&b->art, &b->arena, &b->c, s, &arch_whole, b->g, &e) ||
		artifact_identify(&b->art, &b->arena, &b->c, &e))
		fail_msg("%s", e.text);
}

static void done(struct built *b)
{
	graph_free(b->g);
	arena_done(&b->arena);
	checkpoint_close(&b->c);
}

// A graph that does not fit together is assay's gap: no engine has seen it, and none is blamed.
static void gaps_are_our_own(void **state)
{
	(void)state;
	struct built b = { 0 };
	struct error e = { 0 };
	struct spec *s;
	const void *bytes;
	size_t nbytes;

	make_checkpoint(path("gap"));
	assert_int_equal(checkpoint_open(&b.c, path("gap"), &e), STATUS_OK);
	assert_int_equal(arch_resolve(&s, &b.arena, &b.c, &e), STATUS_OK);
	b.g = graph_new(NULL);
	graph_enter(b.g, "left open");
	assert_int_equal(artifact_build(&b.art, &b.arena, &b.c, s, &arch_whole, b.g, &e), STATUS_UNSUPPORTED);
	assert_non_null(strstr(e.text, "the head model of type bert is not built yet"));
	assert_int_equal(graph_write(b.g, &bytes, &nbytes, &e), STATUS_UNSUPPORTED);
	assert_non_null(strstr(e.text, "assay did not finish it"));
	done(&b);
}

static void builds(void **state)
{
	(void)state;
	struct built b, again;
	const char *folder = path("tiny");
	make_checkpoint(folder);
	build(&b, folder, false);
	assert_int_equal(strlen(b.art.key), 64);
	char *real = realpath(folder, NULL);
	assert_string_equal(b.art.weights_dir, real);
	free(real);
	assert_string_equal(b.art.placed_by, "memory");
	assert_null(b.art.graph_path);
	assert_true(b.art.graph_nbytes > 1000 && b.art.input_count >= 1 && b.art.output_count >= 1);
	assert_non_null(memmem(b.art.graph, b.art.graph_nbytes, "model.safetensors", 17));
	assert_int_equal(b.art.weights_dtype, DTYPE_F32);
	uint64_t nbytes = 0;
	for (size_t i = 0; i < b.c.weight_count; i++)
		nbytes += b.c.weights[i].nbytes;
	assert_true(b.art.weights_nbytes > 0 && b.art.weights_nbytes <= nbytes);
	// The same checkpoint, the same key, also when a file was touched; other content of the same size and mtime, another.
	build(&again, folder, false);
	assert_string_equal(b.art.key, again.art.key);
	done(&again);
	struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	assert_int_equal(utimensat(AT_FDCWD, path("tiny/model.safetensors"), times, 0), 0);
	build(&again, folder, false);
	assert_string_equal(b.art.key, again.art.key);
	int fd = open(path("tiny/model.safetensors"), O_WRONLY);
	assert_true(fd >= 0 && !file_write_at(fd, "\1\2\3", 3, again.c.shards[0].nbytes - 3));
	close(fd);
	done(&again);
	assert_int_equal(utimensat(AT_FDCWD, path("tiny/model.safetensors"), times, 0), 0);
	build(&again, folder, false);
	assert_string_not_equal(b.art.key, again.art.key);
	done(&again);
	done(&b);
}

static void places(void **state)
{
	(void)state;
	struct built b;
	struct error e = { 0 };
	use_cache("places");
	const char *folder = path("tiny2");
	make_checkpoint(folder);
	build(&b, folder, false);
	assert_int_equal(artifact_place(&b.art, &b.arena, &b.c, &e), STATUS_OK);
	assert_string_equal(b.art.placed_by, "hardlink");
	const char *first = b.art.graph_path,
		   *weights = path(arena_printf(&arena, "places/artifact/%s/model.safetensors", b.art.key));
	assert_true(text_ends(first, "/model.onnx") && strstr(first, b.art.key));
	assert_true(same_file(weights, path("tiny2/model.safetensors")));
	assert_int_equal(names_in(path("places/artifact")), 1);

	// Found again, by another process too; what is broken in the cache is made anew.
	static const char *const damage[] = { "model.onnx", "model.safetensors", "made.json" };
	for (size_t i = 0; i < 2 * sizeof damage / sizeof *damage; i++) {
		const char *victim = path(arena_printf(&arena, "places/artifact/%s/%s", b.art.key, damage[i / 2]));
		if (i % 2)
			assert_int_equal(unlink(victim), 0);
		else
			assert_int_equal(file_write(victim, "broken", 6, &e), STATUS_OK);
		b.art.graph_path = NULL;
		assert_int_equal(artifact_place(&b.art, &b.arena, &b.c, &e), STATUS_OK);
		assert_string_equal(b.art.placed_by, "hardlink");
		assert_true(same_file(weights, path("tiny2/model.safetensors")));
		char *graph;
		size_t nbytes;
		assert_int_equal(file_read(&arena, b.art.graph_path, 1 << 24, &graph, &nbytes, &e), STATUS_OK);
		assert_int_equal(nbytes, b.art.graph_nbytes);
		assert_memory_equal(graph, b.art.graph, nbytes);
		assert_int_equal(names_in(path("places/artifact")), 1);
	}
	// A cache that cannot be written says so, and how to help it.
	assert_int_equal(file_write(path("not-a-folder"), "", 0, &e), STATUS_OK);
	use_cache("not-a-folder");
	b.art.graph_path = NULL;
	assert_true(artifact_place(&b.art, &b.arena, &b.c, &e) != STATUS_OK);
	print_message("%s\n", e.text);
	assert_non_null(strstr(e.text, "not-a-folder"));
	assert_null(b.art.graph_path);
	done(&b);
}

static void hub_blob(void **state)
{
	(void)state;
	static const char etag[] = "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3";
	struct built b, plain;
	struct error e = { 0 };
	const char *placed_by;
	use_cache("blob-cache");
	make_checkpoint(path("made"));
	const char *snapshot = path("hub/models--x--tiny/snapshots/0123"), *blobs = path("hub/models--x--tiny/blobs"),
		   *blob = arena_printf(&arena, "%s/%s", blobs, etag);
	assert_int_equal(file_mkdirs(snapshot, &e), STATUS_OK);
	assert_int_equal(file_mkdirs(blobs, &e), STATUS_OK);
	assert_int_equal(rename(path("made/model.safetensors"), blob), 0);
	assert_int_equal(rename(path("made/config.json"), arena_printf(&arena, "%s/config.json", snapshot)), 0);
	assert_int_equal(
		symlink(arena_printf(&arena, "../../blobs/%s", etag), arena_printf(&arena, "%s/model.safetensors", snapshot)), 0);
	build(&b, snapshot, false);
	assert_true(text_ends(b.art.weights_dir, "/blobs"));
	assert_int_equal(artifact_place(&b.art, &b.arena, &b.c, &e), STATUS_OK);
	const char *placed = path(arena_printf(&arena, "blob-cache/artifact/%s/%s", b.art.key, etag));
	assert_true(same_file(placed, blob));
	// For people: the name of the checkpoint's folder.
	build(&plain, snapshot, true);
	assert_null(plain.art.weights_dir);
	assert_int_equal(artifact_export(&plain.art, 1, &plain.c, path("exported"), true, &placed_by, &e), STATUS_OK);
	assert_string_equal(placed_by, "hardlink");
	assert_true(same_file(path("exported/model.safetensors"), blob));
	assert_int_equal(names_in(path("exported")), 2);
	assert_int_equal(artifact_export(&plain.art, 1, &plain.c, path("exported"), false, &placed_by, &e), STATUS_OK);
	assert_true(text_is(placed_by, "copy") || text_is(placed_by, "reflink"));
	assert_false(same_file(path("exported/model.safetensors"), blob));
	// A checkpoint of somebody else is not written into.
	make_checkpoint(path("other"));
	assert_int_equal(artifact_export(&plain.art, 1, &plain.c, path("other"), true, &placed_by, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "another model's config.json"));
	done(&plain);

	// What the cache says: the bytes are the Hub's while the blob is there, ours when it is gone. (The copy in the export is
	// outside.) Its name is not its SHA-256.
	struct cache_usage u;
	struct text report = { 0 };
	size_t bad = 0;
	struct stat st;
	assert_int_equal(stat(blob, &st), 0);
	assert_int_equal(cache_usage(&u, &e), STATUS_OK);
	assert_int_equal(u.artifacts, 1);
	assert_int_equal(u.dead_links, 0);
	assert_true(u.artifact_bytes < (uint64_t)st.st_blocks * 512 + 4096 * 8);
	uint64_t before = u.artifact_bytes, removed;
	assert_int_equal(cache_verify(&report, &bad, &e), STATUS_OK);
	print_message("%s", text_get(&report));
	assert_int_equal(bad, 1);
	assert_non_null(strstr(text_get(&report), etag));
	assert_non_null(strstr(text_get(&report), "1 files whose SHA-256")); // the blob and its link are one file
	text_done(&report);

	assert_int_equal(file_remove_tree(path("hub"), &e), STATUS_OK);
	assert_int_equal(cache_usage(&u, &e), STATUS_OK);
	assert_int_equal(u.dead_links, 1);
	assert_int_equal(u.artifact_bytes, before + (uint64_t)st.st_blocks * 512);
	// Just used: kept. Not used for hours: removed.
	assert_int_equal(cache_trim(UINT64_MAX, &removed, &e), STATUS_OK);
	assert_int_equal(removed, 0);
	assert_true(file_exists(placed));
	struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	assert_int_equal(utimensat(AT_FDCWD, path(arena_printf(&arena, "blob-cache/artifact/%s/used", b.art.key)), old, 0), 0);
	assert_int_equal(cache_trim(UINT64_MAX, &removed, &e), STATUS_OK);
	assert_int_equal(removed, (uint64_t)st.st_blocks * 512);
	assert_int_equal(names_in(path("blob-cache/artifact")), 0);
	done(&b);
}

static void side_by_side(void **state)
{
	(void)state;
	enum { BUILDERS = 8, ROUNDS = 12 };
	use_cache("crowd");
	const char *folder = path("crowded");
	make_checkpoint(folder);
	struct built known;
	build(&known, folder, false);
	const char *key = arena_strdup(&arena, known.art.key);
	done(&known);
	for (int round = 0; round < ROUNDS; round++) {
		int gate[2];
		pid_t pids[BUILDERS];
		if (round % 3 == 2) // sometimes all of them find a broken one
			assert_int_equal(file_write(path(arena_printf(&arena, "crowd/artifact/%s/model.onnx", key)), "", 0, NULL),
				STATUS_OK);
		else
			assert_int_equal(file_remove_tree(path("crowd"), NULL), STATUS_OK);
		assert_int_equal(pipe(gate), 0);
		for (int i = 0; i < BUILDERS; i++) {
			if ((pids[i] = fork()))
				continue;
			struct built b;
			struct error e = { 0 };
			char c;
			build(&b, folder, false);
			close(gate[1]);
			if (read(gate[0], &c, 1)) // all start together
				_exit(1);
			if (artifact_place(&b.art, &b.arena, &b.c, &e)) {
				fprintf(stderr, "%s\n", e.text);
				_exit(2);
			}
			char *graph;
			size_t n;
			if (file_read(&b.arena, b.art.graph_path, 1 << 24, &graph, &n, &e) || n != b.art.graph_nbytes ||
				memcmp(graph, b.art.graph, n))
				_exit(3);
			const char *weights = arena_printf(
				&b.arena, "%.*s/model.safetensors", (int)(strlen(b.art.graph_path) - 11), b.art.graph_path);
			_exit(same_file(weights, b.c.shards[0].real_path) ? 0 : 4);
		}
		close(gate[0]);
		close(gate[1]);
		for (int i = 0; i < BUILDERS; i++) {
			int status = 0;
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 0);
		}
		assert_int_equal(names_in(path("crowd/artifact")), 1); // nobody's temporary is left
	}
}

static void stale_builder(void **state)
{
	(void)state;
	use_cache("stale");
	uint64_t removed;
	struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	static const char *const names[] = { "stale/artifact/tmp-0123456789abcdef.dead00",
		"stale/artifact/tmp-0123456789abcdef.alive0", "stale/artifact/tmp-0123456789abcdef.young0",
		"stale/artifact/tmp-of-the-user" };
	for (int i = 0; i < 4; i++) {
		assert_int_equal(file_mkdirs(path(names[i]), NULL), STATUS_OK);
		assert_int_equal(utimensat(AT_FDCWD, path(names[i]), i != 2 ? old : NULL, 0), 0);
	}
	int fd = open(path(names[1]), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(cache_trim(0, &removed, NULL), STATUS_OK);
	assert_false(file_exists(path(names[0])));
	assert_true(file_exists(path(names[1])));
	assert_true(file_exists(path(names[2])));
	assert_true(file_exists(path(names[3])));
	close(fd);
}

static void users_onnx(void **state)
{
	(void)state;
	struct artifact art, other;
	struct error e = { 0 };
	assert_int_equal(artifact_open_onnx(&art, &arena, path("absent.onnx"), &e), STATUS_BAD_INPUT);
	assert_int_equal(file_write(path("empty.onnx"), "", 0, &e), STATUS_OK);
	assert_int_equal(artifact_open_onnx(&art, &arena, path("empty.onnx"), &e), STATUS_BAD_INPUT);
	assert_int_equal(file_write(path("user.onnx"), "graph", 5, &e), STATUS_OK);
	assert_int_equal(artifact_open_onnx(&art, &arena, path("user.onnx"), &e), STATUS_OK);
	assert_int_equal(art.graph_nbytes, 5);
	assert_memory_equal(art.graph, "graph", 5);
	assert_string_equal(art.placed_by, "file");
	assert_true(same_file(art.graph_path, path("user.onnx")));
	assert_null(art.inputs);
	const char *placed = art.graph_path;
	assert_int_equal(artifact_place(&art, &arena, &(struct checkpoint){ 0 }, &e), STATUS_OK);
	assert_ptr_equal(art.graph_path, placed);
	assert_int_equal(artifact_identify(&art, &arena, NULL, &e), STATUS_OK);
	assert_int_equal(file_write(path("user.onnx"), "Graph", 5, &e), STATUS_OK);
	assert_int_equal(artifact_open_onnx(&other, &arena, path("user.onnx"), &e), STATUS_OK);
	assert_int_equal(artifact_identify(&other, &arena, NULL, &e), STATUS_OK);
	assert_string_not_equal(art.key, other.key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_our_own),
		cmocka_unit_test(builds),
		cmocka_unit_test(places),
		cmocka_unit_test(hub_blob),
		cmocka_unit_test(side_by_side),
		cmocka_unit_test(stale_builder),
		cmocka_unit_test(users_onnx),
	};
	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
