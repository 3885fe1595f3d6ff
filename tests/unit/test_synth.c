// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// src/artifact/synth.c and the trimming of what it makes: the right bytes, whole or not at all, shared, least recently used
// first.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "free_bytes.h"
#include "scratch.h"

#include "artifact/artifact.h"
#include "base/file.h"
#include "base/text.h"

// `vocabulary` rows of 32 floats decide the size.
static struct checkpoint config_of(int vocabulary, const char *more)
{
	struct checkpoint c = { 0 };
	struct error e = { 0 };
	const char *text = arena_printf(&arena,
		"{\"model_type\": \"qwen2\", \"architectures\": [\"Qwen2ForCausalLM\"], \"hidden_size\": 32, "
		"\"num_hidden_layers\": 3,"
		"\"num_attention_heads\": 2, \"num_key_value_heads\": 2, \"intermediate_size\": 37, \"vocab_size\": %d, "
		"\"max_position_embeddings\": 64,"
		"\"tie_word_embeddings\": true%s}",
		vocabulary, more);
	if (checkpoint_open_config(&c, "tiny", text, strlen(text), &e))
		fail_msg("%s", e.text);
	return c;
}

static void assert_weights(const struct checkpoint *c, uint64_t seed)
{
	assert_true(c->weight_count > 10);
	for (size_t i = 0; i < c->weight_count; i++) {
		const struct weight *w = &c->weights[i];
		void *expected = malloc(w->nbytes);
		weights_fill(w, seed, 0, w->nbytes / dtype_size(w->dtype), expected);
		assert_memory_equal(w->data, expected, w->nbytes);
		free(expected);
	}
}

static int reports;

static int count_reports(void *context, uint64_t done_bytes, uint64_t total)
{
	(void)context;
	assert_true(done_bytes <= total && total > 0);
	reports++;
	return 0;
}

static void writes(void **state)
{
	(void)state;
	struct checkpoint c = config_of(200000, ""), w = { 0 };
	struct error e = { 0 };
	struct spec *s;
	struct synth_options o = { .seed = 7, .progress = count_reports };
	if (synth_write(path("a"), &c, &o, &e) || checkpoint_open(&w, path("a"), &e))
		fail_msg("%s", e.text);
	assert_true(reports > 3);
	assert_true(w.shards[0].synthetic);
	assert_weights(&w, 7);
	assert_int_equal(names_in(path("a")), 2);
	assert_int_equal(arch_resolve(&s, &arena, &c, &e), STATUS_OK);
	assert_int_equal(synth_nbytes(s, DTYPE_NONE), w.shards[0].nbytes);
	assert_int_equal(synth_nbytes(s, DTYPE_F16) < w.shards[0].nbytes / 2 + 100000, 1);
	checkpoint_close(&w);

	// Over itself with another type and fewer layers: config.json says both.
	o = (struct synth_options){ .dtype = DTYPE_BF16, .layers = 1 };
	if (synth_write(path("a"), &c, &o, &e) || checkpoint_open(&w, path("a"), &e))
		fail_msg("%s", e.text);
	assert_weights(&w, 0);
	assert_int_equal(w.weights[0].dtype, DTYPE_BF16);
	assert_int_equal(json_integer_value(json_object_get(w.config, "num_hidden_layers")), 1);
	assert_string_equal(json_string_value(json_object_get(w.config, "torch_dtype")), "bfloat16");
	assert_null(checkpoint_find(&w, "model.layers.1.mlp.up_proj.weight"));
	assert_non_null(checkpoint_find(&w, "model.layers.0.mlp.up_proj.weight"));
	assert_int_equal(arch_resolve(&s, &arena, &w, &e), STATUS_OK);
	checkpoint_close(&w);

	o.layers = 4;
	assert_int_equal(synth_write(path("b"), &c, &o, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "has 3 layers, which cannot be cut to 4"));
	assert_false(file_exists(path("b")));
	checkpoint_close(&c);
}

// The configuration's own type, in both spellings; a list with an entry a layer is cut with the layers.
static void follows_config(void **state)
{
	(void)state;
	static const struct {
		const char *more, *key;
	} cases[] = {
		{ ", \"dtype\": \"float16\"", "dtype" },
		{ ", \"torch_dtype\": \"float16\"", "torch_dtype" },
	};
	for (size_t i = 0; i < 2; i++) {
		struct checkpoint
			c = config_of(99,
				arena_printf(&arena,
					"%s, \"layer_types\": [\"full_attention\", \"full_attention\", \"full_attention\"]",
					cases[i].more)),
			w = { 0 };
		struct error e = { 0 };
		struct synth_options o = { .layers = 2 };
		const char *folder = path(arena_printf(&arena, "follows%zu", i));
		if (synth_write(folder, &c, &o, &e) || checkpoint_open(&w, folder, &e))
			fail_msg("%s", e.text);
		assert_int_equal(w.weights[0].dtype, DTYPE_F16);
		assert_string_equal(json_string_value(json_object_get(w.config, cases[i].key)), "float16");
		assert_null(json_object_get(w.config, cases[1 - i].key));
		assert_int_equal(json_array_size(json_object_get(w.config, "layer_types")), 2);
		checkpoint_close(&w);
		checkpoint_close(&c);
	}
}

static void refuses(void **state)
{
	(void)state;
	struct checkpoint c = config_of(99, "");
	struct error e = { 0 };
	struct synth_options o = { 0 };
	float x = 1;
	struct tensor trained = { .name = "w", .dtype = DTYPE_F32, .rank = 1, .dim = { 1 }, .data = &x, .nbytes = 4 };
	assert_int_equal(file_mkdirs(path("trained"), &e), STATUS_OK);
	assert_int_equal(safetensors_write(path("trained/model.safetensors"), &trained, 1, &e), STATUS_OK);
	assert_int_equal(synth_write(path("trained"), &c, &o, &e), STATUS_BAD_INPUT);
	assert_non_null(strstr(e.text, "not synthetic"));
	assert_int_equal(file_mkdirs(path("sharded"), &e), STATUS_OK);
	assert_int_equal(file_write(path("sharded/model.safetensors.index.json"), "{}", 2, &e), STATUS_OK);
	assert_int_equal(synth_write(path("sharded"), &c, &o, &e), STATUS_BAD_INPUT);

	free_bytes = 5000;
	assert_int_equal(synth_write(path("full"), &c, &o, &e), STATUS_NO_SPACE);
	free_bytes = 0;
	print_message("%s\n", e.text);
	assert_non_null(strstr(e.text, "are needed and 4.9 KiB are free"));
	assert_int_equal(names_in(path("full")), 0);
	assert_int_equal(file_write(path("file"), "", 0, &e), STATUS_OK);
	assert_true(synth_write(path("file/x"), &c, &o, &e) != STATUS_OK);
	checkpoint_close(&c);
}

static int stop_soon(void *context, uint64_t done_bytes, uint64_t total)
{
	(void)context;
	(void)total;
	return done_bytes > 4 << 20;
}

static int die_soon(void *context, uint64_t done_bytes, uint64_t total)
{
	(void)context;
	(void)total;
	if (done_bytes > 4 << 20)
		raise(SIGKILL);
	return 0;
}

static void stops(void **state)
{
	(void)state;
	struct checkpoint c = config_of(400000, ""), w = { 0 };
	struct error e = { 0 };
	struct synth_options o = { .progress = stop_soon };
	assert_int_equal(synth_write(path("stopped"), &c, &o, &e), STATUS_INTERRUPTED);
	assert_int_equal(names_in(path("stopped")), 0);
	// Killed: the half file has no name that anybody reads, and the next one writes over it.
	pid_t pid = fork();
	if (!pid) {
		o.progress = die_soon;
		synth_write(path("stopped"), &c, &o, NULL);
		_exit(1);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_false(file_exists(path("stopped/model.safetensors")));
	assert_int_equal(names_in(path("stopped")), 1);
	o.progress = NULL;
	assert_int_equal(synth_write(path("stopped"), &c, &o, &e), STATUS_OK);
	assert_int_equal(names_in(path("stopped")), 2);
	assert_int_equal(checkpoint_open(&w, path("stopped"), &e), STATUS_OK);
	assert_weights(&w, 0);
	checkpoint_close(&w);
	checkpoint_close(&c);
}

static const char *cached(struct arena *a, struct checkpoint *c, struct synth_options o)
{
	const char *folder = NULL;
	struct error e = { 0 };
	if (synth_cached(&folder, a, c, &o, &e))
		fail_msg("%s", e.text);
	return folder;
}

static void caches(void **state)
{
	(void)state;
	struct checkpoint c = config_of(5000, ""), same = config_of(5000, ", \"torch_dtype\": \"float32\""), w = { 0 };
	struct error e = { 0 };
	setenv("ASSAY_CACHE", path("cache"), 1);
	const char *folder = cached(&arena, &c, (struct synth_options){ 0 });
	assert_true(text_starts(folder, path("cache/synthetic/")));
	struct stat before, after;
	const char *weights = arena_printf(&arena, "%s/model.safetensors", folder);
	assert_int_equal(stat(weights, &before), 0);
	// The same by other words is the same; anything else is not.
	assert_string_equal(cached(&arena, &c, (struct synth_options){ .dtype = DTYPE_F32 }), folder);
	assert_string_equal(cached(&arena, &same, (struct synth_options){ .progress = count_reports }), folder);
	assert_string_not_equal(cached(&arena, &c, (struct synth_options){ .seed = 1 }), folder);
	assert_string_not_equal(cached(&arena, &c, (struct synth_options){ .layers = 1 }), folder);
	assert_string_not_equal(cached(&arena, &c, (struct synth_options){ .dtype = DTYPE_BF16 }), folder);
	assert_int_equal(stat(weights, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	// A file that lost its bytes, as after a power cut, is made again.
	int fd = open(weights, O_WRONLY);
	char zeros[4096] = { 0 };
	assert_int_equal(pwrite(fd, zeros, sizeof zeros, before.st_size - 4096), 4096);
	close(fd);
	assert_string_equal(cached(&arena, &c, (struct synth_options){ 0 }), folder);
	assert_int_equal(stat(weights, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(checkpoint_open(&w, folder, &e), STATUS_OK);
	assert_weights(&w, 0);
	checkpoint_close(&w);
	checkpoint_close(&c);
	checkpoint_close(&same);
}

static void shared(void **state)
{
	(void)state;
	enum { MAKERS = 8 };
	setenv("ASSAY_CACHE", path("shared"), 1);
	struct checkpoint c = config_of(100000, "");
	pid_t pids[MAKERS];
	for (int i = 0; i < MAKERS; i++) {
		if ((pids[i] = fork()))
			continue;
		struct arena a = { 0 };
		struct checkpoint w = { 0 };
		const char *folder;
		// One of them is killed while it writes: another takes over.
		struct synth_options o = { .progress = i ? NULL : die_soon };
		if (synth_cached(&folder, &a, &c, &o, NULL) || checkpoint_open(&w, folder, NULL))
			_exit(1);
		assert_weights(&w, 0);
		_exit(0);
	}
	for (int i = 0; i < MAKERS; i++) {
		int status = 0;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(i ? WIFEXITED(status) && !WEXITSTATUS(status) : WIFSIGNALED(status) || !WEXITSTATUS(status));
	}
	assert_int_equal(names_in(path("shared/synthetic")), 2); // KEY and KEY.lock
	checkpoint_close(&c);
}

static void make_old(const char *folder, int age)
{
	struct timespec when[2] = { { .tv_sec = 1700000000 - age }, { .tv_sec = 1700000000 - age } };
	assert_int_equal(utimensat(AT_FDCWD, arena_printf(&arena, "%s/used", folder), when, 0), 0);
}

static void trims(void **state)
{
	(void)state;
	setenv("ASSAY_CACHE", path("trim"), 1);
	struct checkpoint c = config_of(5000, "");
	struct arena users[4] = { { 0 } };
	const char *folder[4];
	struct error e = { 0 };
	struct cache_usage u;
	uint64_t removed, one, weights;
	for (int i = 0; i < 4; i++)
		folder[i] = arena_strdup(&arena, cached(&users[i], &c, (struct synth_options){ .seed = (uint64_t)i }));
	assert_int_equal(cache_usage(&u, &e), STATUS_OK);
	assert_int_equal(u.synthetics, 4);
	one = u.synthetic_bytes / 4;
	struct stat st;
	assert_int_equal(stat(arena_printf(&arena, "%s/model.safetensors", folder[0]), &st), 0);
	weights = (uint64_t)st.st_blocks * 512;
	assert_true(weights <= one && one < weights + 8 * 4096);
	for (int i = 0; i < 4; i++)
		make_old(folder[i], (int[]){ 20, 40, 10, 30 }[i]);
	// All in use: nothing goes.
	assert_int_equal(cache_trim(0, &removed, &e), STATUS_OK);
	assert_int_equal(removed, 0);
	for (int i = 0; i < 3; i++)
		arena_done(&users[i]);
	// Within the limit nothing goes; then the oldest that nobody uses (1, then 0; 3 is older and in use).
	assert_int_equal(cache_trim(4 * weights, &removed, &e), STATUS_OK);
	assert_int_equal(removed, 0);
	assert_int_equal(cache_trim(4 * weights - 1, &removed, &e), STATUS_OK);
	assert_int_equal(removed, weights);
	assert_false(file_exists(folder[1]));
	assert_int_equal(cache_trim(2 * weights, &removed, &e), STATUS_OK);
	assert_int_equal(removed, weights);
	assert_false(file_exists(folder[0]));
	assert_true(file_exists(folder[2]) && file_exists(folder[3]));

	// An artifact that links to removed weights would keep their bytes on the disk: it goes with them.
	struct checkpoint w = { 0 };
	struct artifact art;
	struct spec *s;
	struct graph *g = graph_new(&(struct graph_form){ 0 });
	if (checkpoint_open(&w, folder[2], &e) || arch_resolve(&s, &arena, &w, &e) ||
		artifact_build(&art, &arena, &w, s, &arch_whole, g, &e) || artifact_place(&art, &arena, &w, &e))
		fail_msg("%s", e.text);
	assert_int_equal(cache_usage(&u, &e), STATUS_OK);
	assert_int_equal(u.dead_links, 0);
	assert_true(u.synthetic_bytes >= 2 * weights && u.artifact_bytes < weights); // one file, counted once
	graph_free(g);
	checkpoint_close(&w);
	assert_int_equal(cache_trim(weights, &removed, &e), STATUS_OK);
	assert_int_equal(removed, weights);
	assert_false(file_exists(folder[2]));
	assert_false(file_exists(art.graph_path));
	assert_int_equal(names_in(path("trim/artifact")), 0);
	arena_done(&users[3]);

	// What a killed maker left.
	assert_int_equal(file_mkdirs(arena_printf(&arena, "%s.tmp", folder[0]), &e), STATUS_OK);
	assert_int_equal(cache_trim(0, &removed, &e), STATUS_OK);
	assert_int_equal(removed, weights);
	assert_int_equal(cache_usage(&u, &e), STATUS_OK);
	assert_int_equal(u.synthetic_bytes, 0);
	assert_false(file_exists(arena_printf(&arena, "%s.tmp", folder[0])));
	checkpoint_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes),
		cmocka_unit_test(follows_config),
		cmocka_unit_test(refuses),
		cmocka_unit_test(stops),
		cmocka_unit_test(caches),
		cmocka_unit_test(shared),
		cmocka_unit_test(trims),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
