// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Providers of ONNX Runtime whose hardware is not here (CUDA, TensorRT, MIGraphX, Core ML, XNNPACK, MLX), against a library that
// records the calls (fake/ort.c) and vendors' libraries that claim to have GPUs (fake/vendor.c): options and their values, choice
// of the device, order of the calls, I/O binding, kept compilations, release of every object. Then the real libraries, up to what
// they miss. Each test is a child with folders of its own: what was opened once stays open.
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

static char folder[256];
static const char *calls; // the record
static const int *live;
static void (*note)(const char *line);
static struct arena arena;

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not so: %s\nthe record:\n%s", __FILE__, __LINE__, #condition, \
				calls ? calls : ""); \
			_exit(1); \
		} \
	} while (0)
#define CHECK_TEXT(text, part) \
	do { \
		if (!(text) || !strstr(text, part)) { \
			fprintf(stderr, "%s:%d: \"%s\" is not in: %s\n", __FILE__, __LINE__, part, (text) ? (text) : "(none)"); \
			_exit(1); \
		} \
	} while (0)

int64_t __real_clock_ns(void);
int64_t __wrap_clock_ns(void);
int64_t __wrap_clock_ns(void)
{
	if (note)
		note("clock");
	return __real_clock_ns();
}

// ---- folders --------------------------------------------------------------------------------------------------------------

static const char *in_folder(const char *name)
{
	return arena_printf(&arena, "%s/%s", folder, name);
}

static void put(const char *where, const char *what)
{
	const char *path = in_folder(where), *slash = strrchr(path, '/');
	struct error err = { 0 };

	CHECK(!file_mkdirs(arena_strndup(&arena, path, (size_t)(slash - path)), &err));
	CHECK(symlink(what, path) == 0);
}

static void take(const char *where)
{
	CHECK(unlink(in_folder(where)) == 0);
}

static const char *const nvidia[] = { "engines/nvidia/libcuda.so.1", "engines/nvidia/libnvidia-ml.so.1",
	"engines/nvidia/cu13/lib/libcudart.so.13", "engines/nvidia/cu13/lib/libcublasLt.so.13",
	"engines/nvidia/cu13/lib/libcublas.so.13", "engines/nvidia/cu13/lib/libcurand.so.10",
	"engines/nvidia/cu13/lib/libnvJitLink.so.13", "engines/nvidia/cu13/lib/libcufft.so.12",
	"engines/nvidia/cu13/lib/libnvrtc.so.13", "engines/nvidia/cudnn/lib/libcudnn.so.9",
	"engines/nvidia/tensorrt/lib/libnvinfer.so.10", "engines/nvidia/tensorrt/lib/libnvinfer_plugin.so.10",
	"engines/nvidia/tensorrt/lib/libnvonnxparser.so.10", "engines/rocm/lib/libamdhip64.so.7",
	"engines/rocm/lib/libmigraphx_c.so.3" };

static void make_folders(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof folder, "%s/assay-fake-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	CHECK(mkdtemp(folder));
	put("engines/onnxruntime-gpu/libonnxruntime.so.1.31.1", FAKE_ORT);
	put("engines/onnxruntime-gpu/libonnxruntime_providers_shared.so", FAKE_PROVIDER);
	put("engines/onnxruntime-gpu/libonnxruntime_providers_cuda.so", FAKE_PROVIDER);
	put("engines/onnxruntime-gpu/libonnxruntime_providers_tensorrt.so", FAKE_PROVIDER);
	put("engines/onnxruntime-migraphx/libonnxruntime.so.1.27.1", FAKE_ORT);
	put("engines/onnxruntime-migraphx/libonnxruntime_providers_shared.so", FAKE_PROVIDER);
	put("engines/onnxruntime-migraphx/libonnxruntime_providers_migraphx.so", FAKE_PROVIDER);
	put("engines/onnxruntime/libonnxruntime.so.1.31.1", FAKE_ORT);
	for (size_t i = 0; i < sizeof nvidia / sizeof *nvidia; i++)
		put(nvidia[i], FAKE_VENDOR);
	setenv("ASSAY_ENGINE_PATH", in_folder("engines"), 1);
	setenv("ASSAY_CACHE", in_folder("cache"), 1);
	setenv("FAKE_PROVIDER", FAKE_PROVIDER, 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("HIP_VISIBLE_DEVICES");
	unsetenv("ROCR_VISIBLE_DEVICES");
}

// One child; its folder goes with it.
static void in_child(void (*test)(void))
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (!pid) {
		make_folders();
		pid_t inner = fork();
		if (!inner) {
			test();
			_exit(0);
		}
		waitpid(inner, &status, 0);
		file_remove_tree(folder, NULL);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

// ---- the record -----------------------------------------------------------------------------------------------------------

static void listen(void)
{
	void *h = dlopen(FAKE_ORT, RTLD_NOW | RTLD_LOCAL);

	CHECK(h);
	calls = dlsym(h, "fake_log");
	live = dlsym(h, "fake_live");
	CHECK(calls && live);
}

// From here on copies and looks at the clock are in the record too. Only once the vendor's library was opened by the code itself.
static void listen_to_vendor(void)
{
	void *ort = dlopen(FAKE_ORT, RTLD_NOW | RTLD_LOCAL), *vendor = dlopen(FAKE_VENDOR, RTLD_NOW | RTLD_LOCAL);
	void (**to)(const char *);

	CHECK(ort && vendor);
	*(void **)&note = dlsym(ort, "fake_note");
	*(void **)&to = dlsym(vendor, "fake_log_to");
	CHECK(note && to);
	*to = note;
}

static const char *line_after(const char *from, const char *line)
{
	size_t n = strlen(line);

	for (const char *at = from; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (!strncmp(at, line, n) && (at[n] == '\n' || line[n - 1] == '='))
			return at;
	return NULL;
}

static bool called(const char *line)
{
	return line_after(calls, line) != NULL;
}

// Each line is in the record, behind the one before it.
static bool in_order(const char *from, const char *const *lines)
{
	for (; *lines; lines++) {
		if (!(from = line_after(from, *lines))) {
			fprintf(stderr, "not in its place: %s\n", *lines);
			return false;
		}
		from = strchr(from, '\n') + 1;
	}
	return true;
}
#define ORDER(from, ...) CHECK(in_order(from, (const char *const[]){ __VA_ARGS__, NULL }))

static int looks; // a look at devices leaves its environment open, as the program does

static bool all_released(void)
{
	for (int i = 0; i < 16; i++)
		if (live[i] != (i ? 0 : looks)) {
			fprintf(stderr, "%d objects of kind %d are not released\n", live[i], i);
			return false;
		}
	return true;
}

// ---- sessions ---------------------------------------------------------------------------------------------------------------

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static enum status start(struct session *s, const char *provider, const char *device, const char *options, struct error *err)
{
	static const struct artifact art = { .key = KEY, .graph = "graph", .graph_nbytes = 5 };

	listen();
	*err = (struct error){ 0 };
	return session_open(s, &backend_ort, backend_provider(&backend_ort, provider), device, options, &art, err);
}

static void must_start(struct session *s, const char *provider, const char *device, const char *options)
{
	struct error err;

	if (start(s, provider, device, options, &err)) {
		fprintf(stderr, "%s: %s\n", provider, err.text);
		_exit(1);
	}
}

static void run_rows(struct session *s, int64_t rows, float first, struct tensor *out)
{
	float x[30];
	struct tensor in = { "x", DTYPE_F32, 2, { rows, 3 }, x, (size_t)rows * 3 * sizeof *x };
	struct error err = { 0 };

	for (int i = 0; i < rows * 3; i++)
		x[i] = first + (float)i;
	if (session_run(s, &in, 1, out, 1, &err)) {
		fprintf(stderr, "run: %s\n", err.text);
		_exit(1);
	}
	CHECK(out->rank == 2 && out->dim[0] == rows && out->dim[1] == 3 && out->nbytes == in.nbytes);
	for (int i = 0; i < rows * 3; i++)
		CHECK(((float *)out->data)[i] == 2 * (first + (float)i));
}

static void stop(struct session *s)
{
	session_close(s);
	CHECK(all_released());
}

static void must_fail(const char *provider, const char *device, const char *options, enum status expected, const char *words)
{
	struct session s;
	struct error err;
	enum status st = start(&s, provider, device, options, &err);

	if (st != expected)
		fprintf(stderr, "%s %s %s: %s\n", provider, device ? device : "", options ? options : "",
			st ? err.text : "it opened");
	CHECK(st == expected);
	CHECK_TEXT(err.text, words);
	CHECK(all_released());
}

// The reason why a provider has no device, or NULL; `count`: its devices.
static const char *look(const char *build, const char *provider, size_t *count, const struct device **first)
{
	struct device_list *list = ARENA_NEW(&arena, struct device_list);
	const char *reason = NULL;
	struct error err = { 0 };

	list->arena = &arena;
	looks++;
	if (backend_devices(&backend_ort, build, list, &err)) {
		fprintf(stderr, "%s: %s\n", build, err.text);
		_exit(1);
	}
	*count = 0;
	for (size_t i = 0; i < list->count; i++)
		if (text_is(list->items[i].provider, provider)) {
			if (!(*count)++ && first)
				*first = &list->items[i];
		}
	for (size_t i = 0; i < list->absent_count; i++)
		if (text_is(list->absent[i].provider, provider))
			reason = list->absent[i].reason;
	return reason;
}

static const char *real_library(const char *build, const char *file)
{
	struct error err;
	const char *path;

	unsetenv("ASSAY_ENGINE_PATH"); // whose folders hold stand-ins
	if (!library_find(&arena, build, file, &path, &err))
		return path;
	printf("%s/%s is not here: what needs the real one is not tested\n", build, file);
	return NULL;
}

// ---- CUDA -------------------------------------------------------------------------------------------------------------------

static void cuda_defaults(void)
{
	struct session s;
	struct tensor out;

	must_start(&s, "cuda", NULL, NULL);
	CHECK(called("CreateEnv telemetry=off"));
	ORDER(calls, "cuda device_id=0", "append CUDA", "CreateSession");
	CHECK(called("cuda cudnn_conv_algo_search=HEURISTIC"));
	CHECK(called("cuda arena_extend_strategy=kSameAsRequested"));
	CHECK(called("cuda use_tf32=0") && called("cuda enable_cuda_graph=0") && called("cuda prefer_nhwc=0"));
	CHECK(called("cuda do_copy_in_default_stream=1") && called("cuda cudnn_conv_use_max_workspace=1"));
	CHECK(!called("cuda gpu_mem_limit=") && !called("cuda sdpa_kernel="));
	CHECK(!called("CreateIoBinding"));
	CHECK(text_is(s.device, "0") && text_is(session_option(&s, "gpu"), "Fake GPU 0") &&
		text_is(session_option(&s, "driver"), "580.65.06"));
	CHECK(text_is(session_option(&s, "provider"), "CUDAExecutionProvider") &&
		text_is(session_option(&s, "compute_dtype"), "f32"));
	CHECK_TEXT(session_option(&s, "cuda_options"), "use_tf32=0;");
	run_rows(&s, 2, 1, &out);
	CHECK(called("Run") && s.run_ns == 0);
	stop(&s);
}

static void cuda_choices(void)
{
	struct session s;

	must_start(&s, "cuda", "1",
		"gpu_mem_limit=2g,cudnn_conv_algo_search=exhaustive,use_tf32=on,prefer_nhwc=on,arena_extend_strategy=next_power_"
		"of_two,sdpa_kernel=2,tunable_op=on,"
		"fuse_conv_bias=on,use_ep_level_unified_stream=on,cudnn_conv1d_pad_to_nc1d=on,enable_skip_layer_norm_strict_mode="
		"on,do_copy_in_default_stream=off");
	ORDER(calls, "cuda device_id=1", "cuda gpu_mem_limit=2147483648", "append CUDA", "CreateSession");
	CHECK(called("cuda cudnn_conv_algo_search=EXHAUSTIVE") && called("cuda use_tf32=1") && called("cuda prefer_nhwc=1"));
	CHECK(called("cuda arena_extend_strategy=kNextPowerOfTwo") && called("cuda sdpa_kernel=2") &&
		called("cuda tunable_op_enable=1"));
	CHECK(called("cuda tunable_op_tuning_enable=1") && called("cuda fuse_conv_bias=1") &&
		called("cuda use_ep_level_unified_stream=1"));
	CHECK(called("cuda cudnn_conv1d_pad_to_nc1d=1") && called("cuda enable_skip_layer_norm_strict_mode=1") &&
		called("cuda do_copy_in_default_stream=0"));
	CHECK(text_is(session_option(&s, "gpu"), "Fake GPU 1"));
	stop(&s);
}

static void cuda_refusals(void)
{
	must_fail("cuda", "7", NULL, STATUS_UNAVAILABLE, "no device 7; CUDA's devices here: 0 (Fake GPU 0), 1 (Fake GPU 1)");
	must_fail("cuda", "GPU", NULL, STATUS_UNAVAILABLE, "no device GPU");
	must_fail("cuda", NULL, "cudnn_conv_algo_search=fast", STATUS_BAD_INPUT, "heuristic, exhaustive, default");
	must_fail("cuda", NULL, "gpu_mem_limit=much", STATUS_BAD_INPUT, "2147483648, 512m, 2g");
	must_fail("cuda", NULL, "gpu_mem_limit=9999999999g", STATUS_BAD_INPUT, "gpu_mem_limit");
	must_fail("cuda", NULL, "enable_cuda_graph=on", STATUS_BAD_INPUT, "io_binding=on");
	setenv("FAKE_ORT_FAIL", "CUDA failure 2: out of memory; Failed to allocate memory for requested buffer of size 99", 1);
	must_fail("cuda", NULL, "io_binding=on", STATUS_NO_MEMORY, "out of memory");
}

static void cuda_devices(void)
{
	const struct device *first = NULL;
	const char *reason;
	size_t count;

	CHECK(!look("onnxruntime-gpu", "cuda", &count, &first) && count == 2);
	CHECK(text_is(first->name, "0") && text_is(first->description, "Fake GPU 0") && !first->emulated);
	CHECK_TEXT(first->features, "8192 MiB, compute capability 9.0, driver 580.65.06");
	CHECK(!look("onnxruntime-gpu", "tensorrt", &count, NULL) && count == 2);
	CHECK_TEXT(look("onnxruntime-gpu", "tensorrt-rtx", &count, NULL), "without NvTensorRTRTXExecutionProvider");
	setenv("CUDA_VISIBLE_DEVICES", "1", 1);
	CHECK(!look("onnxruntime-gpu", "cuda", &count, NULL) && count == 1);
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	reason = look("onnxruntime-gpu", "cuda", &count, NULL);
	CHECK(!count);
	CHECK_TEXT(reason, "CUDA_VISIBLE_DEVICES= hides every GPU (2 are here)");
	unsetenv("CUDA_VISIBLE_DEVICES");
	setenv("FAKE_GPUS", "0", 1);
	CHECK_TEXT(look("onnxruntime-gpu", "cuda", &count, NULL), "no CUDA-capable device is detected");
	setenv("FAKE_GPUS", "1", 1);
	setenv("FAKE_CUDA", "12040", 1);
	setenv("FAKE_DRIVER", "550.54", 1);
	reason = look("onnxruntime-gpu", "cuda", &count, NULL);
	CHECK_TEXT(reason, "driver 550.54 is for CUDA 12.4");
	CHECK_TEXT(reason, "driver 580 or newer");
	must_fail("cuda", "0", NULL, STATUS_UNAVAILABLE, "driver 550.54 is for CUDA 12.4");
}

// On a machine that has CUDA the loader finds what is taken away here.
static bool here_anyway(const char *soname)
{
	void *h = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (h)
		printf("%s is installed on this machine: what is said without it is not tested\n", soname);
	return h != NULL;
}

static void cuda_missing(void)
{
	const char *reason;
	size_t count;

	if (here_anyway("libcublas.so.13") || here_anyway("libcudnn.so.9") || here_anyway("libcuda.so.1"))
		return;
	take("engines/nvidia/cudnn/lib/libcudnn.so.9");
	take("engines/nvidia/cu13/lib/libcublas.so.13");
	put("engines/nvidia/cublas/lib/libcublas.so.12", FAKE_VENDOR);
	reason = look("onnxruntime-gpu", "cuda", &count, NULL);
	CHECK(!count);
	CHECK_TEXT(reason,
		"missing: libcublas.so.13 (libcublas.so.12 is here); missing too: libcudnn.so.9 (convolutions and recurrent "
		"layers)");
	CHECK_TEXT(reason, "`assay setup cuda`");
	take("engines/nvidia/libcuda.so.1");
	reason = look("onnxruntime-gpu", "cuda", &count, NULL);
	CHECK(text_starts(reason, "no NVIDIA driver: libcuda.so.1 is missing"));
	CHECK_TEXT(reason, "missing: libcublas.so.13");
	must_fail("cuda", NULL, NULL, STATUS_UNAVAILABLE, "no NVIDIA driver: libcuda.so.1");
	must_fail("tensorrt", NULL, NULL, STATUS_UNAVAILABLE, "libcudnn.so.9");
	take("engines/onnxruntime-gpu/libonnxruntime_providers_cuda.so");
	reason = look("onnxruntime-gpu", "cuda", &count, NULL);
	CHECK_TEXT(reason, "libonnxruntime_providers_cuda.so is not there; `assay setup cuda` brings it");
	CHECK(rename(in_folder("engines/onnxruntime-gpu"), in_folder("engines/gone")) == 0);
	if (!real_library("onnxruntime-gpu", "libonnxruntime.so*")) // the build tree may have the real one
		must_fail(
			"cuda", NULL, NULL, STATUS_UNAVAILABLE, "onnxruntime-gpu is not installed; `assay setup cuda` brings it");
}

static void cuda_without_late(void)
{
	const struct device *first = NULL;
	struct session s;
	size_t count;

	if (here_anyway("libcudnn.so.9"))
		return;
	take("engines/nvidia/cudnn/lib/libcudnn.so.9");
	CHECK(!look("onnxruntime-gpu", "cuda", &count, &first) && count == 2);
	CHECK_TEXT(first->features, "without libcudnn.so.9 (convolutions");
	must_start(&s, "cuda", NULL, NULL);
	CHECK_TEXT(session_option(&s, "without"), "libcudnn.so.9");
	stop(&s);
}

// ---- I/O binding
// ---------------------------------------------------------------------------------------------------------------

static void binding(void)
{
	struct session s;
	struct tensor out, before;
	const char *mark;
	const void *kept;

	must_start(&s, "cuda", "1", "io_binding=on");
	ORDER(calls, "append CUDA", "CreateSession", "CreateMemoryInfo Cuda 1", "CreateAllocator Cuda 1", "CreateIoBinding");
	listen_to_vendor();
	mark = calls + strlen(calls);
	run_rows(&s, 2, 1, &out);
	// The work was waited for before the second look at the clock, and the copies lie outside of both.
	ORDER(mark, "device 1", "CreateTensorAsOrtValue [2,3]", "BindInput x device", "copy to device",
		"BindOutputToDevice y Cuda 1", "SynchronizeBoundInputs", "synchronize", "clock", "RunWithBinding",
		"SynchronizeBoundOutputs", "clock", "GetBoundOutputValues", "copy to host");
	CHECK(line_after(line_after(mark, "clock"), "RunWithBinding") &&
		!line_after(line_after(mark, "GetBoundOutputValues"), "clock"));
	CHECK(s.run_ns > 0);
	mark = calls + strlen(calls);
	run_rows(&s, 2, 7, &out); // the same shape: the same places, other values
	CHECK(!line_after(mark, "BindInput x device") && !line_after(mark, "BindOutputToDevice y Cuda 1") &&
		line_after(mark, "copy to device"));
	mark = calls + strlen(calls);
	run_rows(&s, 3, 1, &out); // another shape
	ORDER(mark, "CreateTensorAsOrtValue [3,3]", "BindInput x device", "ClearBoundOutputs", "BindOutputToDevice y Cuda 1",
		"RunWithBinding");
	s.keeps_outputs = true;
	run_rows(&s, 2, 20, &before);
	kept = before.data;
	run_rows(&s, 2, 30, &out);
	CHECK(kept != out.data && ((const float *)kept)[0] == 40);
	mark = calls + strlen(calls);
	stop(&s);
	ORDER(mark, "ReleaseIoBinding", "ReleaseSession");
}

static void capture(void)
{
	float x[9] = { 0 };
	struct tensor in = { "x", DTYPE_F32, 2, { 3, 3 }, x, sizeof x }, out;
	struct error err = { 0 };
	struct session s;

	must_start(&s, "cuda", "0", "io_binding=on,enable_cuda_graph=on");
	CHECK(called("cuda enable_cuda_graph=1"));
	run_rows(&s, 2, 1, &out);
	run_rows(&s, 2, 5, &out); // replayed: the input was written to the same place
	CHECK(session_run(&s, &in, 1, &out, 1, &err) == STATUS_UNSUPPORTED);
	CHECK_TEXT(err.text, "another shape than when the graph was captured");
	stop(&s);
}

// ---- TensorRT and what it keeps
// -------------------------------------------------------------------------------------------------

static const char *cache_of(const char *options, const char *device, const char *state)
{
	struct session s;
	const char *path, *end;

	must_start(&s, "tensorrt", device, options);
	if (!text_starts(session_option(&s, "engine_cache"), state)) {
		fprintf(stderr, "engine_cache: %s, expected %s\n", session_option(&s, "engine_cache"), state);
		_exit(1);
	}
	path = strstr(session_option(&s, "tensorrt_options"), "trt_engine_cache_path=");
	CHECK(path && s.compiled_bytes == (int64_t)strlen("compiled"));
	path += strlen("trt_engine_cache_path=");
	end = strchr(path, ';');
	path = arena_strndup(&arena, path, (size_t)(end - path));
	stop(&s);
	return path;
}

// What is planted in a graph's folder is loaded by no engine: other bytes of the same size and times, links, another graph's.
static void planted(void)
{
	const char *mine = cache_of(NULL, "0", "found"), *other = cache_of("fp16=on", "0", "found");
	const char *engine = arena_printf(&arena, "%s/fake.engine", mine), *elsewhere = in_folder("elsewhere");
	struct error err = { 0 };
	struct stat st;

	CHECK(stat(engine, &st) == 0 && st.st_size == 8 && !file_write(engine, "planted!", 8, &err));
	CHECK(utimensat(AT_FDCWD, engine, (const struct timespec[]){ st.st_atim, st.st_mtim }, 0) == 0);
	cache_of(NULL, "0", "stale, made again: fake.engine is not as it was left");
	CHECK(called("compiled made"));
	CHECK(rename(engine, elsewhere) == 0 && symlink(elsewhere, engine) == 0);
	cache_of(NULL, "0", "stale, made again: fake.engine is no file");
	CHECK(symlink(elsewhere, arena_printf(&arena, "%s/more.engine", mine)) == 0);
	cache_of(NULL, "0", "stale, made again: more.engine is no file");
	CHECK(!file_remove_tree(mine, &err) && rename(other, mine) == 0);
	cache_of(NULL, "0", "stale, made again: it was made from something else");
	CHECK(!file_remove_tree(elsewhere, &err) && rename(mine, elsewhere) == 0 && symlink(elsewhere, mine) == 0);
	cache_of(NULL, "0", "stale, made again: its folder is a link or a file");
	CHECK(lstat(mine, &st) == 0 && S_ISDIR(st.st_mode));
	CHECK(file_exists(arena_printf(&arena, "%s/fake.engine", elsewhere))); // a link is removed, and what it leads to is not
	cache_of(NULL, "0", "found");
}

static void tensorrt(void)
{
	const char *mine, *other, *note_path;
	struct session s;
	struct tensor out;
	FILE *f;

	must_start(&s, "tensorrt", "1", "workspace=1g,builder_level=5,min_subgraph=3");
	ORDER(calls, "tensorrt device_id=1", "append TensorRT NVIDIA_TF32_OVERRIDE=0", "cuda device_id=1", "append CUDA",
		"compiled made", "CreateSession");
	CHECK(called("tensorrt trt_fp16_enable=0") && called("tensorrt trt_max_workspace_size=1073741824") &&
		called("tensorrt trt_builder_optimization_level=5") && called("tensorrt trt_min_subgraph_size=3") &&
		called("tensorrt trt_engine_cache_enable=1") && called("tensorrt trt_timing_cache_enable=1") &&
		called("cuda use_tf32=0"));
	CHECK(text_is(session_option(&s, "engine_cache"), "new") && text_is(session_option(&s, "compute_dtype"), "f32"));
	run_rows(&s, 2, 1, &out);
	stop(&s);
	must_start(&s, "tensorrt", "1", "workspace=1g,builder_level=5,min_subgraph=3"); // what the run compiled is known too
	CHECK(text_is(session_option(&s, "engine_cache"), "found") && called("compiled found"));
	stop(&s);

	mine = cache_of(NULL, "0", "new");
	CHECK(text_starts(mine, in_folder("cache/compiled/")));
	CHECK(text_is(cache_of(NULL, "0", "found"), mine));
	other = cache_of("fp16=on", "0", "new"); // another target has another folder
	CHECK(!text_is(other, mine));
	CHECK(text_is(cache_of(NULL, "0", "found"), mine));
	planted();
	setenv("FAKE_DRIVER", "590.10", 1);
	CHECK(text_is(cache_of(NULL, "0", "stale, made again: driver was 580.65.06, is 590.10"), mine));
	CHECK(text_is(cache_of(NULL, "0", "found"), mine));
	setenv("FAKE_TENSORRT", "101400", 1);
	CHECK(text_is(cache_of(NULL, "0", "stale, made again: tensorrt was 10.13.3, is 10.14.0"), mine));
	setenv("FAKE_ORT_VERSION", "1.30.0", 1);
	CHECK(text_is(cache_of(NULL, "0", "stale, made again: onnxruntime was 1.31.1, is 1.30.0"), mine));
	f = fopen(arena_printf(&arena, "%s/fake.engine", mine), "a");
	CHECK(f && fputs("cut", f) >= 0 && fclose(f) == 0);
	cache_of(NULL, "0", "stale, made again: fake.engine is not as it was left");
	CHECK(unlink(arena_printf(&arena, "%s/fake.engine", mine)) == 0);
	cache_of(NULL, "0", "stale, made again: a file is gone");
	note_path = arena_printf(&arena, "%s/made.json", mine); // as a killed process leaves it
	CHECK(unlink(note_path) == 0);
	cache_of(NULL, "0", "stale, made again: it was not finished");
	// A session that fails notes nothing, and lets others in.
	setenv("FAKE_ORT_FAIL", "no", 1);
	must_fail("tensorrt", "0", "bf16=on", STATUS_FAILED, "no");
	unsetenv("FAKE_ORT_FAIL");
	cache_of("bf16=on", "0", "new");
}

static void tensorrt_words(void)
{
	struct session s;

	must_start(&s, "tensorrt", NULL, "engine_cache=off,timing_cache=off,fp16=on,use_tf32=on");
	CHECK(called("append TensorRT NVIDIA_TF32_OVERRIDE=1") && called("tensorrt trt_engine_cache_enable=0") &&
		!called("tensorrt trt_engine_cache_path="));
	CHECK(!called("compiled made") && text_is(session_option(&s, "engine_cache"), "off"));
	CHECK(text_is(session_option(&s, "compute_dtype"), "f32 and f16 mixed"));
	CHECK(!file_exists(in_folder("cache/compiled")));
	stop(&s);
	must_start(&s, "tensorrt", NULL, "engine_cache=off");
	CHECK(called("tensorrt trt_timing_cache_path=") && !called("tensorrt trt_engine_cache_path=") &&
		text_is(session_option(&s, "engine_cache"), "off"));
	stop(&s);
	must_start(&s, "tensorrt", NULL, "io_binding=on,enable_cuda_graph=on");
	CHECK(called("tensorrt trt_cuda_graph_enable=1") && called("CreateIoBinding"));
	stop(&s);
	must_fail("tensorrt", NULL, "enable_cuda_graph=on", STATUS_BAD_INPUT, "io_binding=on");
	must_fail("tensorrt", NULL, "builder_level=9", STATUS_BAD_INPUT, "builder_level");
	must_fail("tensorrt-rtx", NULL, NULL, STATUS_UNAVAILABLE, "without NvTensorRTRTXExecutionProvider");
	setenv("FAKE_ORT_PROVIDERS", "NvTensorRTRTXExecutionProvider CPUExecutionProvider", 1);
	must_start(&s, "tensorrt-rtx", "1", "workspace=512m");
	ORDER(calls, "NvTensorRtRtx device_id=1", "NvTensorRtRtx nv_max_workspace_size=536870912", "append NvTensorRtRtx",
		"compiled made", "CreateSession");
	CHECK(text_is(session_option(&s, "engine_cache"), "new"));
	stop(&s);
}

// ---- MIGraphX
// -------------------------------------------------------------------------------------------------------------------

static void migraphx(void)
{
	static const char *const memories[] = { "Hip", "Cuda" };
	struct session s;
	struct tensor out;

	setenv("FAKE_ORT_VERSION", "1.27.1", 1);
	must_start(&s, "migraphx", "1", "fp16=on,exhaustive_tune=on,gpu_mem_limit=1g");
	ORDER(calls, "MIGraphX device_id=1", "MIGraphX migraphx_fp16_enable=1", "append MIGraphX", "compiled made",
		"CreateSession");
	CHECK(called("MIGraphX migraphx_exhaustive_tune=1") && called("MIGraphX migraphx_mem_limit=1073741824") &&
		called("MIGraphX migraphx_bf16_enable=0") && called("MIGraphX migraphx_arena_extend_strategy=kSameAsRequested") &&
		called("MIGraphX migraphx_model_cache_dir="));
	CHECK(text_is(session_option(&s, "compute_dtype"), "f16") && text_is(session_option(&s, "model_cache"), "new"));
	CHECK(text_is(session_option(&s, "gpu"), "Fake Radeon 1") && text_is(session_option(&s, "driver"), "HIP 7.2.26001"));
	run_rows(&s, 2, 1, &out);
	stop(&s);
	must_start(&s, "migraphx", "1", "fp16=on,exhaustive_tune=on,gpu_mem_limit=1g");
	CHECK(text_is(session_option(&s, "model_cache"), "found") && called("compiled found"));
	stop(&s);
	for (size_t i = 0; i < 2; i++) { // what its memory is called depends on the version
		setenv("FAKE_ORT_MEMORY", memories[i], 1);
		must_start(&s, "migraphx", "0", "io_binding=on,model_cache=off");
		CHECK(called(i ? "CreateMemoryInfo Cuda 0" : "CreateMemoryInfo Hip 0") &&
			text_is(session_option(&s, "compute_dtype"), "f32"));
		run_rows(&s, 2, 1, &out);
		stop(&s);
	}
	must_fail("migraphx", "2", NULL, STATUS_UNAVAILABLE, "HIP's devices here: 0 (Fake Radeon 0), 1 (Fake Radeon 1)");
}

static void migraphx_devices(void)
{
	const struct device *first = NULL;
	size_t count;

	CHECK(!look("onnxruntime-migraphx", "migraphx", &count, &first) && count == 2);
	CHECK_TEXT(first->features, "16384 MiB, driver HIP 7.2.26001");
	setenv("HIP_VISIBLE_DEVICES", "0", 1);
	CHECK(!look("onnxruntime-migraphx", "migraphx", &count, NULL) && count == 1);
	if (access("/dev/kfd", F_OK)) {
		setenv("HIP_VISIBLE_DEVICES", "", 1);
		CHECK_TEXT(look("onnxruntime-migraphx", "migraphx", &count, NULL), "/dev/kfd is missing");
	}
	if (here_anyway("libmigraphx_c.so.3"))
		return;
	take("engines/rocm/lib/libmigraphx_c.so.3");
	CHECK_TEXT(look("onnxruntime-migraphx", "migraphx", &count, NULL), "missing: libmigraphx_c.so.3");
	CHECK_TEXT(look("onnxruntime-migraphx", "migraphx", &count, NULL), "ROCm 7");
}

// ---- Core ML, XNNPACK
// -----------------------------------------------------------------------------------------------------------

static void coreml(void)
{
	static const struct {
		const char *device, *units, *dtype;
	} all[] = {
		{ NULL, "CPUAndGPU", "f32" },
		{ "GPU", "CPUAndGPU", "f32" },
		{ "ANE", "CPUAndNeuralEngine", "f16 on the neural engine" },
		{ "ALL", "ALL", "as Core ML chooses" },
	};
	struct session s;
	struct tensor out;
	size_t count;

	must_fail("coreml", NULL, NULL, STATUS_UNAVAILABLE, "needs macOS on Apple's hardware");
	CHECK_TEXT(look("onnxruntime", "coreml", &count, NULL), "needs macOS");
	setenv("FAKE_ORT_PROVIDERS", "CoreMLExecutionProvider CPUExecutionProvider", 1);
	CHECK(!look("onnxruntime", "coreml", &count, NULL) && count == 4);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const char *mark = calls + strlen(calls);

		must_start(&s, "coreml", all[i].device, "model_cache=off");
		ORDER(mark, arena_printf(&arena, "CoreML MLComputeUnits=%s", all[i].units), "CoreML ModelFormat=MLProgram",
			"append CoreML", "CreateSession");
		CHECK(text_is(session_option(&s, "compute_dtype"), all[i].dtype));
		run_rows(&s, 2, 1, &out);
		stop(&s);
	}
	CHECK(called("CoreML AllowLowPrecisionAccumulationOnGPU=0") && !called("CoreML ModelCacheDirectory="));
	for (int i = 0; i < 2; i++) {
		must_start(&s, "coreml", "GPU",
			"static_shapes=on,subgraphs=on,specialisation=fastprediction,low_precision_accumulation=on,profile_plan="
			"on");
		CHECK(text_is(session_option(&s, "model_cache"), i ? "found" : "new"));
		stop(&s);
	}
	CHECK(called("CoreML RequireStaticInputShapes=1") && called("CoreML EnableOnSubgraphs=1") &&
		called("CoreML SpecializationStrategy=FastPrediction") && called("CoreML AllowLowPrecisionAccumulationOnGPU=1") &&
		called("CoreML ProfileComputePlan=1") && called("CoreML ModelCacheDirectory="));
	setenv("FAKE_ORT_PROVIDERS", "", 1);
}

static void xnnpack(void)
{
	struct session s;
	size_t count;

	setenv("FAKE_ORT_PROVIDERS", "AzureExecutionProvider CPUExecutionProvider", 1);
	CHECK_TEXT(look("onnxruntime", "xnnpack", &count, NULL),
		"without XnnpackExecutionProvider (it has AzureExecutionProvider, CPUExecutionProvider)");
	must_fail("xnnpack", NULL, NULL, STATUS_UNAVAILABLE, "without XnnpackExecutionProvider");
	setenv("FAKE_ORT_PROVIDERS", "XnnpackExecutionProvider CPUExecutionProvider", 1);
	must_start(&s, "xnnpack", NULL, "xnnpack_threads=3");
	ORDER(calls, "XNNPACK intra_op_num_threads=3", "append XNNPACK", "CreateSession");
	stop(&s);
	must_start(&s, "xnnpack", "cpu", NULL);
	stop(&s);
}

static void mlx(void)
{
	const struct device *first = NULL;
	struct session s;
	struct tensor out;
	size_t count;

	must_fail("mlx", NULL, NULL, STATUS_UNAVAILABLE, "MLX needs macOS 14 or newer on Apple silicon");
	CHECK_TEXT(look("onnxruntime", "mlx", &count, NULL), "MLX needs macOS");
	put("engines/onnxruntime-ep-mlx/libonnxruntime_mlx_ep.dylib", FAKE_PROVIDER);
	CHECK(!look("onnxruntime", "mlx", &count, &first) && count == 1);
	CHECK(text_is(first->name, "GPU") && text_is(first->features, "plugin 0.31.0"));
	must_start(&s, "mlx", NULL, NULL);
	ORDER(calls, "RegisterExecutionProviderLibrary MLXExecutionProvider", "append plugin, 1 device", "CreateSession");
	run_rows(&s, 2, 1, &out);
	session_close(&s); // the environment stays where a plugin is registered
}

// ---- the real libraries
// -----------------------------------------------------------------------------------------------------------

// Every key that the stand-in takes is a word of the real provider's library.
static void real_keys(void)
{
	static const struct {
		const char *build, *file, *list;
	} all[] = {
		{ "onnxruntime-gpu", "libonnxruntime_providers_cuda.so", "fake_cuda_keys" },
		{ "onnxruntime-gpu", "libonnxruntime_providers_tensorrt.so", "fake_tensorrt_keys" },
		{ "onnxruntime-migraphx", "libonnxruntime_providers_migraphx.so", "fake_migraphx_keys" },
	};
	void *h = dlopen(FAKE_ORT, RTLD_NOW | RTLD_LOCAL);

	CHECK(h);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const char *path = real_library(all[i].build, all[i].file);
		const char *const *keys = dlsym(h, all[i].list);
		const uint8_t *data;
		struct error err;
		size_t n;

		CHECK(keys);
		if (!path)
			continue;
		CHECK(!file_map(&arena, path, &data, &n, &err));
		for (; *keys; keys++)
			if (!memmem(data, n, *keys, strlen(*keys) + 1)) {
				fprintf(stderr, "%s does not know %s\n", path, *keys);
				_exit(1);
			}
	}
}

// The real ONNX Runtime is asked for what this machine does not have: the answer names a library or a device. Where it has it,
// the session opens, and the graph that is none is what it complains about.
static void real_missing(void)
{
	static const struct {
		const char *build, *provider, *words[2];
	} all[] = {
		{ "onnxruntime-gpu", "cuda", { "libcuda.so.1", "libcudart.so.13" } },
		{ "onnxruntime-gpu", "tensorrt", { "libnvinfer.so.10", "libcuda.so.1" } },
		{ "onnxruntime-migraphx", "migraphx", { "/dev/kfd", "libmigraphx_c.so.3" } },
		{ "onnxruntime", "coreml", { "macOS", "CoreMLExecutionProvider" } },
		{ "onnxruntime", "xnnpack", { "XnnpackExecutionProvider", "AzureExecutionProvider" } },
	};
	static const struct artifact art = { .key = KEY, .graph = "graph", .graph_nbytes = 5 };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct error err = { 0 };
		struct session s;
		enum status st;

		if (!real_library(all[i].build, "libonnxruntime.so*"))
			continue;
		pid_t pid = fork();
		int status;

		if (!pid) {
			st = session_open(
				&s, &backend_ort, backend_provider(&backend_ort, all[i].provider), NULL, NULL, &art, &err);
			if (st != STATUS_UNAVAILABLE && !strstr(err.text, "loading"))
				_exit(1);
			if (st == STATUS_UNAVAILABLE &&
				(!strstr(err.text, all[i].words[0]) || !strstr(err.text, all[i].words[1])))
				_exit(2);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (status)
			fprintf(stderr, "%s: status %d\n", all[i].provider, WEXITSTATUS(status));
		CHECK(!status);
	}
}

#define TEST(f) \
	static void test_##f(void **state) \
	{ \
		(void)state; \
		in_child(f); \
	}
TEST(cuda_defaults)
TEST(cuda_choices)
TEST(cuda_refusals)
TEST(cuda_devices)
TEST(cuda_missing)
TEST(cuda_without_late)
TEST(binding)
TEST(capture)
TEST(tensorrt)
TEST(tensorrt_words)
TEST(migraphx)
TEST(migraphx_devices)
TEST(coreml)
TEST(xnnpack)
TEST(mlx)
TEST(real_keys)
TEST(real_missing)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuda_defaults),
		cmocka_unit_test(test_cuda_choices),
		cmocka_unit_test(test_cuda_refusals),
		cmocka_unit_test(test_cuda_devices),
		cmocka_unit_test(test_cuda_missing),
		cmocka_unit_test(test_cuda_without_late),
		cmocka_unit_test(test_binding),
		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_tensorrt),
		cmocka_unit_test(test_tensorrt_words),
		cmocka_unit_test(test_migraphx),
		cmocka_unit_test(test_migraphx_devices),
		cmocka_unit_test(test_coreml),
		cmocka_unit_test(test_xnnpack),
		cmocka_unit_test(test_mlx),
		cmocka_unit_test(test_real_keys),
		cmocka_unit_test(test_real_missing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
