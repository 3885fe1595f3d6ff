// SPDX-License-Identifier: Apache-2.0
// doctor.h: the search path and the libraries of a route, as data. Which files a route needs is the table on top.
#include "platform/doctor.h"

#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ort.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/elf.h"

// A file of a route: found by library_find(build, pattern), or, without a build, as the loader finds a soname.
static const struct part {
	const char *engine, *provider; // provider NULL: all of the engine's
	const char *device;            // NULL, or a pattern of the devices that need it
	const char *build, *pattern;
	const char *setup; // what brings it: a word for `assay setup`; NULL: the soname's bringer
} parts[] = {
	{ "ort", "cpu", NULL, "onnxruntime", "libonnxruntime.so*", "cpu" },
	{ "ort", "qnn", NULL, "onnxruntime", "libonnxruntime.so*", "cpu" },
	{ "ort", "qnn", NULL, "onnxruntime-qnn", "libonnxruntime_providers_qnn.so", "qnn" },
	{ "ort", "qnn", NULL, "onnxruntime-qnn", "libQnnHtp.so", "qnn" },
	{ "ort", "qnn", NULL, "onnxruntime-qnn", "libQnnSystem.so", "qnn" },
	{ "ort", "qnn", NULL, "onnxruntime-qnn", "libHtpPrepare.so", "qnn" },
	{ "ort", "webgpu", NULL, "onnxruntime-webgpu", "libonnxruntime.so*", "webgpu" },
	{ "ort", "webgpu", NULL, NULL, "libvulkan.so.1", NULL },
	{ "ort", "cuda", NULL, "onnxruntime-gpu", "libonnxruntime.so*", "cuda" },
	{ "ort", "cuda", NULL, "onnxruntime-gpu", "libonnxruntime_providers_shared.so", "cuda" },
	{ "ort", "cuda", NULL, "onnxruntime-gpu", "libonnxruntime_providers_cuda.so", "cuda" },
	{ "ort", "cuda", NULL, NULL, "libcudnn.so.9", NULL },
	{ "ort", "tensorrt", NULL, "onnxruntime-gpu", "libonnxruntime.so*", "cuda" },
	{ "ort", "tensorrt", NULL, "onnxruntime-gpu", "libonnxruntime_providers_shared.so", "cuda" },
	{ "ort", "tensorrt", NULL, "onnxruntime-gpu", "libonnxruntime_providers_tensorrt.so", "cuda" },
	{ "ort", "migraphx", NULL, "onnxruntime-migraphx", "libonnxruntime.so*", "rocm" },
	{ "ort", "migraphx", NULL, "onnxruntime-migraphx", "libonnxruntime_providers_shared.so", "rocm" },
	{ "ort", "migraphx", NULL, "onnxruntime-migraphx", "libonnxruntime_providers_migraphx.so", "rocm" },
	{ "ort", "coreml", NULL, "onnxruntime", "libonnxruntime.so*", "cpu" },
	{ "ort", "xnnpack", NULL, "onnxruntime", "libonnxruntime.so*", "cpu" },
	{ "openvino", NULL, NULL, "openvino", "libopenvino_c.so*", "openvino" },
	{ "openvino", NULL, "CPU*", "openvino", "libopenvino_intel_cpu_plugin.so", "openvino" },
	{ "openvino", NULL, "GPU*", "openvino", "libopenvino_intel_gpu_plugin.so", "openvino" },
	{ "openvino", NULL, "NPU*", "openvino", "libopenvino_intel_npu_plugin.so", "openvino" },
	{ "openvino", NULL, "AUTO*", "openvino", "libopenvino_auto_plugin.so", "openvino" },
	{ "openvino", NULL, "HETERO*", "openvino", "libopenvino_hetero_plugin.so", "openvino" },
	{ "browser", "webgpu", NULL, "onnxruntime-web", "ort.webgpu.bundle.min.mjs", "webgpu" },
	{ "browser", "webnn", NULL, "onnxruntime-web", "ort.all.bundle.min.mjs", "webnn" },
	{ "browser", "wasm", NULL, "onnxruntime-web", "ort.wasm.bundle.min.mjs", "web" },
};

// Groups of deps.lock by what a person asks for.
static const struct {
	const char *word, *groups;
} setups[] = {
	{ "cpu", "base" },
	{ "openvino", "base" },
	{ "qnn", "base qnn" },
	{ "webgpu", "base webgpu web" },
	{ "webnn", "base web" },
	{ "web", "base web" },
	{ "cuda", "base cuda" },
	{ "tensorrt", "base cuda" },
	{ "rocm", "base rocm" },
	{ "npu", "base" },
	{ "xnnpack", "base" },
};

const char *doctor_groups(const char *platform)
{
	for (size_t i = 0; i < sizeof setups / sizeof *setups; i++)
		if (text_is(setups[i].word, platform))
			return setups[i].groups;
	return NULL;
}

const char *check_word(enum check_state s)
{
	static const char *const words[] = { "ok", "bad", "none" };

	return words[s];
}

void checkup_add(struct checkup *c, enum check_state state, const char *name, const char *fix, const char *format, ...)
{
	va_list ap;

	if (c->count == CHECKS_MOST)
		return;
	va_start(ap, format);
	c->check[c->count++] =
		(struct check){ state, name, arena_vprintf(c->arena, format, ap), fix ? arena_strdup(c->arena, fix) : NULL };
	va_end(ap);
}

const char *checkup_fix(const struct checkup *c)
{
	struct text all = { 0 };
	const char *fix;

	for (size_t i = 0; i < c->count; i++) {
		const struct check *k = &c->check[i];
		bool said = k->state != CHECK_BAD || !k->fix;
		for (size_t n = 0; n < i && !said; n++)
			said = c->check[n].state == CHECK_BAD && text_is(c->check[n].fix, k->fix);
		if (!said)
			text_addf(&all, "%s%s", all.length ? "; then " : "", k->fix);
	}
	fix = all.length ? arena_strdup(c->arena, text_get(&all)) : NULL;
	text_done(&all);
	return fix;
}

// ---- where engines are looked for ---------------------------------------------------------------------------------------

static void check_search_path(struct checkup *c)
{
	const char *asked = getenv("ASSAY_ENGINE_PATH");
	struct text path = { 0 }, here = { 0 };
	size_t absent = 0;

	for (const char *at = asked; at && *at;) {
		size_t n = strcspn(at, ":");
		const char *folder = arena_strndup(c->arena, at, n);
		if (n && !file_is_dir(folder)) {
			checkup_add(c, CHECK_BAD, "search path", "correct ASSAY_ENGINE_PATH, or: unset ASSAY_ENGINE_PATH",
				"ASSAY_ENGINE_PATH names %s, which is no folder", folder);
			absent++;
		}
		at += n + (at[n] == ':');
	}
	library_search_path(&path);
	for (const char *line = text_get(&path); *line;) {
		size_t n = strcspn(line, "\n");
		if (n > 2 && line[0] == '+') {
			text_add(&here, here.length ? ", " : "");
			text_add_bytes(&here, line + 2, n - 2);
		}
		line += n + (line[n] == '\n');
	}
	if (!absent)
		checkup_add(c, CHECK_OK, "search path", NULL, "%s", text_get(&here));
	text_done(&path);
	text_done(&here);
}

// Folders of libraries that an engine opens before those that need them: NVIDIA's, below any folder of the search path.
static const char *const *opened_first(struct arena *a, const struct part *p)
{
	enum { MOST = 32 };
	const char **folders = ARENA_ARRAY(a, MOST + 4, const char *);
	struct text path = { 0 };
	size_t count = 0;

	if (!text_is(p->build, "onnxruntime-gpu") && !(p->pattern && text_starts(p->pattern, "libcudnn")))
		return NULL;
	library_search_path(&path);
	for (const char *line = text_get(&path); *line;) {
		size_t n = strcspn(line, "\n");
		glob_t found;
		if (n > 2 && line[0] == '+' &&
			!glob(arena_printf(a, "%.*s/nvidia/*/lib", (int)n - 2, line + 2), 0, NULL, &found)) {
			for (size_t i = 0; i < found.gl_pathc && count < MOST; i++)
				folders[count++] = arena_strdup(a, found.gl_pathv[i]);
			globfree(&found);
		}
		line += n + (line[n] == '\n');
	}
	text_done(&path);
	folders[count++] = "/usr/local/cuda/lib64";
	folders[count++] = "/usr/local/cuda-13/lib64";
	folders[count] = NULL;
	return folders;
}

// ---- one library --------------------------------------------------------------------------------------------------------

static const char *setup_fix(struct arena *a, const char *setup, bool again)
{
	return setup ? arena_printf(a, "run: assay setup %s%s", setup, again ? " --again" : "") : NULL;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

// Of ONNX Runtime: the version that its symbols bear (VERS_1.31.1), against what this program can talk to.
static bool check_version(struct checkup *c, const struct part *p, const char *path)
{
	struct error err = { 0 };
	struct elf elf;
	const char *version = NULL, *dot;
	int64_t major = 1, minor;

	if (!text_is(p->engine, "ort") || !text_starts(base_of(path), "libonnxruntime.so") ||
		elf_open(&elf, c->arena, path, &err))
		return true;
	for (size_t i = 0; i < elf.version_count; i++)
		if (text_starts(elf.versions[i], "VERS_"))
			version = elf.versions[i] + strlen("VERS_");
	if (!version && text_starts(base_of(path), "libonnxruntime.so.1."))
		version = base_of(path) + strlen("libonnxruntime.so.");
	dot = version ? strchr(version, '.') : NULL;
	if (!dot || !text_to_int(arena_strndup(c->arena, version, (size_t)(dot - version)), 0, 1000, &major) ||
		!text_to_int(arena_strndup(c->arena, dot + 1, strcspn(dot + 1, ".")), 0, 100000, &minor)) {
		checkup_add(c, CHECK_NONE, "version", NULL, "%s does not say which version it is", base_of(path));
		return true;
	}
	if (major != 1 || minor < ORT_OLDEST_API) {
		checkup_add(c, CHECK_BAD, "version",
			arena_printf(c->arena, "run: assay setup %s, or take %s away", p->setup, path),
			"%s is ONNX Runtime %s; understood is 1.%d and newer", base_of(path), version, ORT_OLDEST_API);
		return false;
	}
	checkup_add(c, CHECK_OK, "version", NULL, "ONNX Runtime %s: its interface %d of 1.%d to 1.%d", version,
		minor < ORT_NEWEST_API ? (int)minor : ORT_NEWEST_API, ORT_OLDEST_API, ORT_NEWEST_API);
	return true;
}

static void check_chain(struct checkup *c, const struct part *p, const char *path, const struct elf_search *where)
{
	struct error err = { 0 };
	struct elf_chain chain;

	if (elf_walk(&chain, c->arena, path, where, &err)) {
		checkup_add(c, CHECK_BAD, "library", setup_fix(c->arena, p->setup, true), "%s", err.text);
		c->hopeless = true;
		return;
	}
	checkup_add(c, CHECK_OK, "library", NULL, "%s", path);
	if (!check_version(c, p, path)) {
		c->hopeless = true;
		return;
	}
	for (size_t i = 0; i < chain.gap_count; i++) {
		const char *bringer = chain.gaps[i].bringer;
		checkup_add(c, CHECK_BAD, "chain", bringer ? bringer : setup_fix(c->arena, p->setup, true), "%s",
			chain.gaps[i].sentence);
		c->hopeless = true;
	}
	if (!chain.gap_count)
		checkup_add(c, CHECK_OK, "chain", NULL, "%s: %zu libraries, all here", base_of(path), chain.path_count);
}

// A soname that another's path is known for, or that the loader finds.
static void check_soname(struct checkup *c, const struct part *p, const char *root)
{
	struct elf_search where = { root, opened_first(c->arena, p) };
	const char *path = elf_find(c->arena, p->pattern, &where);

	if (path) {
		check_chain(c, p, path, &where);
		return;
	}
	checkup_add(c, CHECK_BAD, "library", soname_bringer(c->arena, p->pattern), "%s is missing", p->pattern);
	c->hopeless = true;
}

static void check_part(struct checkup *c, const struct part *p, const char *root)
{
	struct elf_search where = { root, NULL };
	struct error err = { 0 };
	const char *path;

	if (!p->build) {
		check_soname(c, p, root);
		return;
	}
	const enum status st = library_find(c->arena, p->build, p->pattern, &path, &err);
	if (st) {
		checkup_add(c, CHECK_BAD, "library", st == STATUS_NOT_ASKED ? NULL : setup_fix(c->arena, p->setup, false), "%s",
			err.text);
		c->hopeless = true;
		c->unasked |= st == STATUS_NOT_ASKED;
		return;
	}
	where.folders = opened_first(c->arena, p);
	if (strstr(base_of(path), ".so"))
		check_chain(c, p, path, &where);
	else
		checkup_add(c, CHECK_OK, "library", NULL, "%s", path);
}

void doctor_route(struct checkup *out, struct arena *a, const struct target *t, const char *root)
{
	const struct route *r = t->route;

	*out = (struct checkup){ .arena = a };
	check_search_path(out);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const struct part *p = &parts[i];
		if (text_is(p->engine, r->engine) && (!p->provider || text_is(p->provider, r->provider)) &&
			(!p->device || !fnmatch(p->device, t->device ? t->device : r->device, 0)))
			check_part(out, p, root);
	}
	doctor_environment(out, t);
	doctor_devices(out, t, root);
	if (text_is(r->engine, "ort") && text_is(r->provider, "webgpu"))
		doctor_vulkan(out, root);
	if (text_is(r->engine, "browser"))
		doctor_browsers(out, t);
}
