// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// QNN's emulator and native WebGPU for real: small graphs with fixed shapes, against the same sums in double; where their nodes
// ran and why not; what is said where a library is missing. Skipped, with the reason, where the engines' folders are not there.
// Engines run only in a child, as in the program.
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include "skips.h"

#include "backend/backend.h"
#include "base/file.h"
#include "base/text.h"
#include "onnx/graph.h"
#include "onnx/op.h"

static char said[4096], sentence[4096];
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			snprintf(sentence, sizeof sentence, "line %d: %.300s: %.2000s", __LINE__, #condition, err.text); \
			return sentence; \
		} \
	} while (0)

static int setup(void **state)
{
	return scratch_make(state) || setenv("ASSAY_CACHE", scratch, 1) ? -1 : 0;
}

// Runs `body` in a child; what it returns, NULL or a sentence, comes back.
static const char *in_child(const char *(*body)(void))
{
	int fds[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const char *words = body();

		if (words && write(fds[1], words, strlen(words)) < 0)
			_exit(2);
		_exit(0);
	}
	close(fds[1]);
	while (n + 1 < sizeof said && (got = read(fds[0], said + n, sizeof said - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("the child ended with status %#x: %s", (unsigned)status, said);
	return n ? said : NULL;
}

static bool has(const char *build, const char *pattern, struct error *err)
{
	struct arena a = { 0 };
	const char *path;
	bool here = !library_find(&a, build, pattern, &path, err);

	arena_done(&a);
	return here;
}

// Else the reason is printed and the test skipped.
static void need(const char *build, const char *pattern)
{
	struct error err = { 0 };

	if (!has(build, pattern, &err)) {
		SKIP_PART("%s", err.text);
	}
}

// ---- graphs -------------------------------------------------------------------------------------------------------------

enum { ROWS = 4, WIDTH = 64 };
enum kind { SOFTMAX, ERF }; // QNN has no Erf by itself

// y = softmax(x w^T) w^T, or with erf in the middle.
static float w[WIDTH * WIDTH];

static struct graph *build(enum kind kind)
{
	struct graph_form form = { .linear = LINEAR_GEMM, .is_static = true };
	struct graph *g = graph_new(&form);
	graph_value x = graph_input(g, "x", DTYPE_F32, 2, (int64_t[]){ ROWS, WIDTH }), weight;

	for (size_t i = 0; i < WIDTH * WIDTH; i++)
		w[i] = (float)((i * 37 + i / 64 * 11) % 101) / 404 - 0.125f;
	weight = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ WIDTH, WIDTH }, w);
	graph_enter(g, "net");
	x = op_linear(g, x, weight, NO_VALUE);
	x = kind == ERF ? op_erf(g, x) : op_softmax(g, x, -1);
	x = op_linear(g, x, weight, NO_VALUE);
	graph_leave(g);
	graph_output(g, "y", x);
	assert_int_equal(graph_finish(g, NULL), STATUS_OK);
	return g;
}

static void make_artifact(struct artifact *art, struct graph *g)
{
	*art = (struct artifact){ .key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" };
	assert_int_equal(graph_write(g, &art->graph, &art->graph_nbytes, NULL), STATUS_OK);
	graph_summarise(g, &art->summary);
	art->input_count = graph_inputs(g, &art->inputs);
	art->output_count = graph_outputs(g, &art->outputs);
}

struct run {
	const char *provider, *device, *options;
	enum kind kind;
	double most; // largest error
};

static float input[ROWS * WIDTH];

static enum status run(struct session *s, struct tensor *out, struct error *err)
{
	struct tensor x = { "x", DTYPE_F32, 2, { ROWS, WIDTH }, input, sizeof input };

	for (size_t i = 0; i < ROWS * WIDTH; i++)
		input[i] = (float)((i * 29) % 83) / 40 - 1;
	return session_run(s, &x, 1, out, 1, err);
}

static void linear(const double *x, double *y)
{
	for (size_t o = 0; o < WIDTH; o++) {
		y[o] = 0;
		for (size_t k = 0; k < WIDTH; k++)
			y[o] += x[k] * (double)w[o * WIDTH + k];
	}
}

// One row of the graph, by hand.
static void expect(enum kind kind, const float *x, double *y)
{
	double a[WIDTH], b[WIDTH], sum = 0;

	for (size_t k = 0; k < WIDTH; k++)
		a[k] = (double)x[k];
	linear(a, b);
	for (size_t k = 0; k < WIDTH; k++)
		sum += a[k] = kind == ERF ? erf(b[k]) : exp(b[k]);
	for (size_t k = 0; k < WIDTH && kind == SOFTMAX; k++)
		a[k] /= sum;
	linear(a, y);
}

// Opens it, asks for the placement before any run, runs and compares; *s stays open. NULL, or what was not as it should be.
static const char *compare(const struct run *r, struct session *s, struct artifact *art, struct placement *p)
{
	struct error err = { 0 };
	struct tensor out[1];
	double worst = 0, y[WIDTH];

	make_artifact(art, build(r->kind));
	CHECK(session_open(s, &backend_ort, backend_provider(&backend_ort, r->provider), r->device, r->options, art, &err) ==
		STATUS_OK);
	CHECK(session_explain(s, art, NULL, 0, p, &err) == STATUS_OK);
	if (s->compiles_only)
		return NULL;
	CHECK(run(s, out, &err) == STATUS_OK);
	for (size_t i = 0; i < ROWS; i++) {
		expect(r->kind, input + i * WIDTH, y);
		for (size_t k = 0; k < WIDTH; k++)
			worst = fmax(worst, fabs(tensor_get(&out[0], i * WIDTH + k) - y[k]));
	}
	snprintf(err.text, sizeof err.text, "%g", worst);
	CHECK(worst <= r->most);
	return NULL;
}

static const char *where(const struct placement *p, const char *op)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->nodes[i].op, op))
			return p->nodes[i].where;
	return NULL;
}

// ---- QNN ----------------------------------------------------------------------------------------------------------------

static const char *list_qnn(void)
{
	static const char *const socs[] = { "57", "69", "43", "60", "36", "30" };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct device_list list = { .arena = &a };

	CHECK(backend_devices(&backend_ort, "onnxruntime", &list, &err) == STATUS_OK);
	for (size_t i = 0; i < sizeof socs / sizeof *socs; i++) {
		const struct device *d = NULL;

		for (size_t k = 0; k < list.count; k++)
			if (!strcmp(list.items[k].provider, "qnn") && !strcmp(list.items[k].name, socs[i]))
				d = &list.items[k];
		CHECK(d && d->emulated && strstr(d->description, "Snapdragon"));
	}
	return NULL;
}

static const char *whole(const char *device)
{
	const struct run r = { "qnn", device, NULL, SOFTMAX, 0.004 }; // float16
	struct arena a = { 0 };
	struct error err = { 0 };
	struct placement p = { .arena = &a };
	struct artifact art;
	struct session s;
	const char *wrong = compare(&r, &s, &art, &p);

	if (wrong)
		return wrong;
	CHECK(text_is(session_option(&s, "compute_dtype"), "f16"));
	CHECK(text_is(session_option(&s, "soc_model"), device));
	CHECK(p.elsewhere == 0 && p.partitions == 1 && p.copies == 0 && p.on_platform > 0);
	CHECK(text_is(where(&p, "Softmax"), "QNNExecutionProvider"));
	CHECK(strstr(p.note, "on QNNExecutionProvider in 1 partition") && !strstr(p.note, "left out"));
	session_close(&s);
	return NULL;
}
static const char *on_57(void)
{
	return whole("57");
}
static const char *on_36(void)
{
	return whole("36");
}

static const char *left_out(void)
{
	const struct run r = { "qnn", "57", NULL, ERF, 0.01 };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct placement p = { .arena = &a };
	struct artifact art;
	struct session s;
	const char *wrong = compare(&r, &s, &art, &p);

	if (wrong)
		return wrong;
	snprintf(err.text, sizeof err.text, "%s", p.note);
	CHECK(p.elsewhere == 1 && p.partitions == 2);
	CHECK(text_is(where(&p, "Erf"), "CPUExecutionProvider"));
	CHECK(strstr(p.note, "first left out: Erf f32: "));
	CHECK(strstr(p.note, "not supported by QNN"));
	return NULL;
}

// ONNX Runtime opens the session all the same, with every node on the processor.
static const char *not_set_up(void)
{
	struct error err = { 0 };
	struct artifact art;
	struct session s;

	make_artifact(&art, build(SOFTMAX));
	CHECK(session_open(&s, &backend_ort, backend_provider(&backend_ort, "qnn"), "57", "htp_share_resource_optimization=on",
		      &art, &err) == STATUS_FAILED);
	CHECK(strstr(err.text, "QNN SetupBackend failed"));
	return NULL;
}

static const char *contexts(void)
{
	const struct run r = { "qnn", "57", "context_cache=on", SOFTMAX, 0.004 };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct placement p = { .arena = &a };
	struct artifact art;
	struct session s;
	const char *wrong = compare(&r, &s, &art, &p), *compiled = NULL;
	struct dirent *e;
	DIR *dir;

	if (wrong)
		return wrong;
	CHECK(text_is(session_option(&s, "context"), "new"));
	CHECK(s.compiled_bytes > 0 && p.elsewhere == 0);
	session_close(&s);
	if ((wrong = compare(&r, &s, &art, &p)))
		return wrong;
	CHECK(text_is(session_option(&s, "context"), "found"));
	CHECK(s.compiled_bytes > 0 && p.elsewhere == 0 && p.partitions == 1 && strstr(p.note, "compiled context"));
	session_close(&s);
	// What is there no longer loads: it is made again, and the row says why.
	dir = opendir(path("compiled"));
	CHECK(dir != NULL);
	while ((e = readdir(dir)))
		if (*e->d_name != '.' && file_exists(path(arena_printf(&a, "compiled/%s/model.onnx", e->d_name))))
			compiled = path(arena_printf(&a, "compiled/%s/model.onnx", e->d_name));
	closedir(dir);
	CHECK(compiled != NULL);
	CHECK(file_write(compiled, "garbage", 7, &err) == STATUS_OK);
	if ((wrong = compare(&r, &s, &art, &p)))
		return wrong;
	CHECK(text_starts(session_option(&s, "context"), "stale, made again"));
	session_close(&s);
	// What it writes there does not fit: it is measured all the same, and the row says so; nothing is left.
	const struct rlimit none = { 4096, RLIM_INFINITY };
	signal(SIGXFSZ, SIG_IGN);
	CHECK(remove(compiled) == 0 && setrlimit(RLIMIT_FSIZE, &none) == 0);
	if ((wrong = compare(&r, &s, &art, &p)))
		return wrong;
	CHECK(text_starts(session_option(&s, "context"), "not kept: loading: Protobuf serialization failed"));
	CHECK(s.compiled_bytes <= 0 && p.elsewhere == 0 && !file_exists(compiled));
	session_close(&s);
	CHECK(session_open(&s, &backend_ort, backend_provider(&backend_ort, "qnn"), "57", "compile_only=on", &art, &err) ==
		STATUS_NOT_ASKED);
	return NULL;
}

static const char *compiled_only(void)
{
	const struct run r = { "qnn", "69", "compile_only=on", SOFTMAX, 0 };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct placement p = { .arena = &a };
	struct artifact art;
	struct session s;
	const char *wrong = compare(&r, &s, &art, &p);

	if (wrong)
		return wrong;
	CHECK(s.compiles_only && s.compiled_bytes > 0 && p.elsewhere == 0);
	return NULL;
}

static const char *bad_options(void)
{
	static const struct {
		const char *device, *options, *word;
		enum status st;
	} bad[] = {
		{ "99", NULL, "57, 69", STATUS_UNAVAILABLE },
		{ "57", "htp_performance_mode=fast", "sustained_high_performance", STATUS_BAD_INPUT },
		{ "57", "htp_graph_finalization_optimization_mode=7", "from 0 to 3", STATUS_BAD_INPUT },
		{ "57", "context_cache=maybe", "on, off", STATUS_BAD_INPUT },
	};
	struct error err = { 0 };
	struct artifact art;
	struct session s;

	make_artifact(&art, build(SOFTMAX));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		err.text[0] = 0;
		CHECK(session_open(&s, &backend_ort, backend_provider(&backend_ort, "qnn"), bad[i].device, bad[i].options, &art,
			      &err) == bad[i].st);
		CHECK(strstr(err.text, bad[i].word));
	}
	return NULL;
}

// Beside the core only the plugin, without Qualcomm's library; and a plugin that is none.
static const char *half_installed(void)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct artifact art;
	struct session s;
	const char *plugin, *core, *own = path("engines/onnxruntime-qnn");
	const char *file = arena_printf(&a, "%s/libonnxruntime_providers_qnn.so", own);

	make_artifact(&art, build(SOFTMAX));
	CHECK(library_find(&a, "onnxruntime", "libonnxruntime.so*", &core, &err) == STATUS_OK);
	CHECK(library_find(&a, "onnxruntime-qnn", "libonnxruntime_providers_qnn.so", &plugin, &err) == STATUS_OK);
	CHECK(file_mkdirs(own, &err) == STATUS_OK && symlink(plugin, file) == 0);
	setenv("ASSAY_ENGINE_PATH", path("engines"), 1);
	CHECK(session_open(&s, &backend_ort, backend_provider(&backend_ort, "qnn"), "57", NULL, &art, &err) ==
		STATUS_UNAVAILABLE);
	CHECK(strstr(err.text, "onnxruntime-qnn/libQnnHtp.so is missing") && strstr(err.text, "assay setup qnn"));
	return NULL;
}

static const char *broken_plugin(void)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct artifact art;
	struct session s;
	const char *own = path("broken/onnxruntime-qnn");

	make_artifact(&art, build(SOFTMAX));
	CHECK(file_mkdirs(own, &err) == STATUS_OK &&
		file_write(arena_printf(&a, "%s/libonnxruntime_providers_qnn.so", own), "text", 4, &err) == STATUS_OK);
	setenv("ASSAY_ENGINE_PATH", path("broken"), 1);
	CHECK(session_open(&s, &backend_ort, backend_provider(&backend_ort, "qnn"), "57", NULL, &art, &err) ==
		STATUS_UNAVAILABLE);
	CHECK(strstr(err.text, "libonnxruntime_providers_qnn.so cannot be used by ONNX Runtime 1."));
	return NULL;
}

// Where it is not installed at all, the sentence names the plugin's file and what brings it. Where it is, an empty folder is laid
// over its own in this process alone.
static const char *no_plugin(void)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct artifact art;
	struct session s;
	const char *path;

	if (library_find(&a, "onnxruntime-qnn", "libonnxruntime_providers_qnn.so", &path, &err) == STATUS_OK) {
		const char *own = arena_strndup(&a, path, (size_t)(strrchr(path, '/') - path));

		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
			mount("none", own, "tmpfs", 0, NULL))
			return arena_printf(&a, "skip: the plugin is installed, and nothing can be laid over its folder: %s",
				strerror(errno));
	}
	make_artifact(&art, build(SOFTMAX));
	CHECK(session_open(&s, &backend_ort, backend_provider(&backend_ort, "qnn"), "57", NULL, &art, &err) ==
		STATUS_UNAVAILABLE);
	CHECK(strstr(err.text, "libonnxruntime_providers_qnn.so") && strstr(err.text, "assay setup qnn"));
	return NULL;
}

static void check_qnn(const char *(*body)(void))
{
	const char *wrong;

#if !defined(__x86_64__)
	SKIP_PART("the emulator is for x86-64");
#endif
	need("onnxruntime", "libonnxruntime.so*");
	need("onnxruntime-qnn", "libonnxruntime_providers_qnn.so");
	if ((wrong = in_child(body)))
		fail_msg("%s", wrong);
}

static void test_qnn_devices(void **state)
{
	(void)state;
	check_qnn(list_qnn);
}
static void test_qnn_57(void **state)
{
	(void)state;
	check_qnn(on_57);
}
static void test_qnn_36(void **state)
{
	(void)state;
	check_qnn(on_36);
}
static void test_qnn_left_out(void **state)
{
	(void)state;
	check_qnn(left_out);
}
static void test_qnn_not_set_up(void **state)
{
	(void)state;
	check_qnn(not_set_up);
}
static void test_qnn_contexts(void **state)
{
	(void)state;
	check_qnn(contexts);
}
static void test_qnn_compiled_only(void **state)
{
	(void)state;
	check_qnn(compiled_only);
}
static void test_qnn_bad_options(void **state)
{
	(void)state;
	check_qnn(bad_options);
}
static void test_qnn_half_installed(void **state)
{
	(void)state;
	check_qnn(half_installed);
}
static void test_qnn_broken_plugin(void **state)
{
	(void)state;
	check_qnn(broken_plugin);
}

static void test_no_plugin(void **state)
{
	const char *wrong;

	(void)state;
	need("onnxruntime", "libonnxruntime.so*");
	wrong = in_child(no_plugin);
	if (wrong && text_starts(wrong, "skip: "))
		SKIP_PART("%s", wrong + strlen("skip: "));
	if (wrong)
		fail_msg("%s", wrong);
}

// ---- WebGPU -------------------------------------------------------------------------------------------------------------

static const char *native(void)
{
	const struct run r = { "webgpu", "native", NULL, SOFTMAX, 1e-4 };
	struct arena a = { 0 };
	struct error err = { 0 };
	struct placement p = { .arena = &a };
	struct device_list list = { .arena = &a };
	struct artifact art;
	struct session s;
	const char *wrong;

	CHECK(backend_devices(&backend_ort, "onnxruntime-webgpu", &list, &err) == STATUS_OK);
	if (!list.count)
		return arena_printf(&a, "skip: %s", list.absent_count ? list.absent[0].reason : "no device");
	CHECK(!strcmp(list.items[0].name, "native") &&
		!list.items[0].emulated == !strstr(list.items[0].description, "(software)"));
	if ((wrong = compare(&r, &s, &art, &p)))
		return wrong;
	snprintf(err.text, sizeof err.text, "%s", p.note);
	CHECK(text_is(session_option(&s, "compute_dtype"), "f32") && session_option(&s, "adapter"));
	CHECK(p.elsewhere == 0 && p.partitions == 1 && p.on_platform > 0);
	CHECK(strstr(p.note, "on WebGpuExecutionProvider in 1 partition"));
	session_close(&s);
	// A node that is left to the processor on purpose, and the copies that it costs.
	if ((wrong = compare(&(struct run){ "webgpu", "native", "forceCpuNodeNames=net/Softmax", SOFTMAX, 1e-4 }, &s, &art, &p)))
		return wrong;
	snprintf(err.text, sizeof err.text, "%s", p.note);
	CHECK(p.elsewhere == 1 && p.partitions == 2 && p.copies == 2);
	CHECK(strstr(p.note, "first left out: Softmax f32") && strstr(p.note, "2 copies between devices"));
	return NULL;
}

static void test_webgpu(void **state)
{
	const char *wrong;

	(void)state;
	need("onnxruntime-webgpu", "libonnxruntime.so*");
	wrong = in_child(native);
	if (wrong && text_starts(wrong, "skip: ")) {
		SKIP_PART("%s", wrong + strlen("skip: "));
	}
	if (wrong)
		fail_msg("%s", wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_plugin),
		cmocka_unit_test(test_qnn_devices),
		cmocka_unit_test(test_qnn_57),
		cmocka_unit_test(test_qnn_36),
		cmocka_unit_test(test_qnn_left_out),
		cmocka_unit_test(test_qnn_not_set_up),
		cmocka_unit_test(test_qnn_contexts),
		cmocka_unit_test(test_qnn_compiled_only),
		cmocka_unit_test(test_qnn_bad_options),
		cmocka_unit_test(test_qnn_half_installed),
		cmocka_unit_test(test_qnn_broken_plugin),
		cmocka_unit_test(test_webgpu),
	};

	return exit_code(cmocka_run_group_tests(tests, setup, scratch_remove));
}
