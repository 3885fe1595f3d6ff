// SPDX-License-Identifier: Apache-2.0
// Which browsers there are and what each can do: asked once, by opening a page in it, and remembered under the browser's file,
// size and time, the drivers that there are and were named, and the devices there are. CACHE/browser/KEY.json. A device that was
// not found is remembered for ten minutes, and a failure for one: for the processes of the command that met it.
#include "backend/browser.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/cause.h"
#include "backend/host.h"
#include "base/cache.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

static const char unwanted[] = "ASSAY_BROWSER_PATH=none: browsers are not looked for";

enum { FAILURE_S = 60, ABSENT_S = 600, FACTS_S = 30 * 86400 };
#define PROBE_S 50.0
static const char no_page[] = "did not open the page within"; // cause.c knows it

// ---- where things lie ---------------------------------------------------------------------------------------------------

// What tools/deps unpacked lies beside the folder of the engines, in a build tree and where `assay setup` puts it.
static enum status find_own(struct arena *a, const char **path, struct error *err)
{
	return library_find(a, "../browsers/chromium-webnn", "chromium", path, err);
}

// *own: why the one that tools/deps unpacked is not among them.
static size_t find_all(struct arena *a, struct browser **out, const char *barred[BROWSER_KINDS], struct error *own)
{
	const char *more[] = { NULL, NULL };

	*own = (struct error){ 0 };
	find_own(a, &more[0], own);
	return browser_find(a, more, out, barred);
}

size_t browser_installed(struct arena *a, struct browser **out)
{
	const char *barred[BROWSER_KINDS];
	struct error own;

	return find_all(a, out, barred, &own);
}

// Words of why there is none, or no `such` one, after those of the browsers that were found: one may lie in a folder that cannot
// be read, or be one that cannot be started (cause.c knows both). `kind`: that was asked for; BROWSER_KINDS: any.
static void add_not_found(struct text *reasons, struct arena *a, enum browser_kind kind, const char *such)
{
	const char *barred[BROWSER_KINDS], *one = NULL;
	struct browser *all;
	struct error own;

	find_all(a, &all, barred, &own);
	for (int i = 0; i < BROWSER_KINDS; i++)
		one = one == NULL && (kind == BROWSER_KINDS || kind == (enum browser_kind)i) ? barred[i] : one;
	if (browser_unwanted())
		text_add(reasons, reasons->length ? "" : unwanted);
	else if (one)
		text_addf(reasons, "%s%s", reasons->length ? "; " : "", one);
	else if (own.status == STATUS_NOT_ASKED)
		text_addf(reasons, "%s%s", reasons->length ? "; " : "", own.text);
	else if (!reasons->length)
		text_addf(reasons, "no %sbrowser was found in PATH, in ASSAY_BROWSER_PATH or beside the engines; %s", such,
			kind == BROWSER_FIREFOX ? "Debian's package is firefox-esr" : "`assay setup web` brings one with WebNN");
}

enum status browser_runtime(struct arena *a, const char **folder, const char **version, struct error *err)
{
	const char *path;
	const uint8_t *bytes;
	size_t nbytes;
	enum status st = library_find(a, BROWSER_BUILD, "ort.webgpu.bundle.min.mjs", &path, err);

	if (st)
		return st;
	*folder = arena_strndup(a, path, (size_t)(strrchr(path, '/') - path));
	*version = NULL;
	// "/*! ... * ONNX Runtime Web v1.30.0 ..."
	if (!file_map(a, path, &bytes, &nbytes, NULL)) {
		static const char before[] = "ONNX Runtime Web v";
		const char *at = memmem(bytes, nbytes < 4096 ? nbytes : 4096, before, sizeof before - 1);

		if (at) {
			size_t n = strspn(at + sizeof before - 1, "0123456789.");

			*version = arena_strndup(a, at + sizeof before - 1, n);
		}
	}
	return STATUS_OK;
}

static bool any_file(const char *pattern)
{
	glob_t found;
	bool any = !glob(pattern, 0, NULL, &found) && found.gl_pathc;

	globfree(&found);
	return any;
}

// Device files of GPUs: Direct Rendering, NVIDIA's own, Windows' in its Linux.
static bool has_gpu(void)
{
	return any_file("/dev/dri/renderD*") || any_file("/dev/nvidia0") || any_file("/dev/dxg");
}

// The driver that computes on the processor, which Chromium brings; Firefox can be told to take it.
static const char *software_vulkan(struct arena *a, const struct found *all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *real = realpath(all[i].browser.path, NULL);
		const char *folder = real ? arena_strndup(a, real, (size_t)(strrchr(real, '/') - real)) : "";
		const char *path = arena_printf(a, "%s/vk_swiftshader_icd.json", folder);

		free((void *)(uintptr_t)real);
		if (all[i].browser.kind == BROWSER_CHROMIUM && file_exists(path))
			return path;
	}
	return file_exists("/usr/lib/chromium/vk_swiftshader_icd.json") ? "/usr/lib/chromium/vk_swiftshader_icd.json" : NULL;
}

// ---- the cache ----------------------------------------------------------------------------------------------------------

// Of the environment what drivers, their loaders and a browser's look at the display read.
static bool is_of_drivers(const char *variable)
{
	static const char *const begins[] = { "VK_", "MESA", "LIBGL", "GALLIUM", "EGL_", "DRI_", "LD_", "NV", "__GL", "__VK",
		"__EGL", "__NV", "CUDA_", "HIP_", "ROCR_", "AMD_", "INTEL_", "ZINK_", "LP_", "DISPLAY=", "WAYLAND_", "XDG_",
		"MOZ_", "CHROM" };
	bool is = false;

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		is = is || text_starts(variable, begins[i]);
	return is;
}

// The names that fit, with what this process may do there, and for folders when something was last put in.
static void add_files(struct hash *h, struct arena *a, const char *pattern)
{
	glob_t found;
	struct stat st;

	if (!glob(pattern, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *path = found.gl_pathv[i];
			const bool is_folder = !stat(path, &st) && S_ISDIR(st.st_mode);
			hash_add_text(h,
				arena_printf(a, "%s %d %lld", path, access(path, R_OK | W_OK) == 0,
					is_folder ? (long long)st.st_mtim.tv_sec : 0LL));
		}
	globfree(&found);
}

// NULL: there is no cache for it.
static const char *cache_path(struct arena *a, const struct found *f)
{
	static const char *const files[] = { "/dev/dri/*", "/dev/nvidia*", "/dev/dxg", "/dev/kfd", "/usr/share/vulkan/*.d",
		"/usr/local/share/vulkan/*.d", "/etc/vulkan/*.d", "/usr/share/glvnd/egl_vendor.d" };
	const char *folder;
	struct hash h;
	char hex[65];

	if (cache_part(&folder, a, "browser", NULL))
		return NULL;
	hash_init(&h);
	hash_add_text(&h, "browser 2");
	hash_add_text(&h, f->browser.identity);
	hash_add_text(&h, f->software_vulkan ? f->software_vulkan : "");
	hash_add_text(&h, geteuid() == 0 ? "super-user" : "");
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		add_files(&h, a, files[i]);
	for (size_t i = 0; environ[i]; i++)
		if (is_of_drivers(environ[i]))
			hash_add_text(&h, environ[i]);
	hash_hex(&h, hex);
	return arena_printf(a, "%s/%s.json", folder, hex);
}

// What it has no word for it lacks whatever is installed; a device that it did not find may come.
static bool lacks_device(const json_t *facts)
{
	const char *name;
	json_t *part;

	json_object_foreach((json_t *)(uintptr_t)facts, name, part)
	{
		const char *absent = json_string_value(json_object_get(part, "absent"));
		if (absent && !strstr(absent, "is not there"))
			return true;
	}
	return false;
}

static void drop_json(void *json)
{
	json_decref(json);
}

static void take_facts(struct arena *a, struct found *f, json_t *facts)
{
	f->facts = json_incref(facts);
	arena_defer(a, drop_json, facts);
}

static bool read_cache(struct arena *a, struct found *f)
{
	const char *path = cache_path(a, f), *failure;
	struct stat st;
	json_t *known = NULL, *facts;

	if (!path || !cache_is_own(path) || stat(path, &st) || json_file(path, 1 << 22, &known, NULL))
		return false;
	facts = json_object_get(known, "facts");
	failure = json_string_value(json_object_get(known, "failure"));
	// And a GPU that it did not take, so that software computes.
	const bool lacks = lacks_device(facts) ||
		(has_gpu() &&
			(json_is_true(json_object_get(known, "software")) ||
				browser_adapter_is_software(json_object_get(facts, "webgpu"))));
	const time_t age = time(NULL) - st.st_mtim.tv_sec, most = failure ? FAILURE_S : lacks ? ABSENT_S : FACTS_S;
	bool good = (failure || json_is_object(facts)) && age >= 0 && age < most;
	if (good && failure) {
		f->failure = arena_strdup(a, failure);
	} else if (good) {
		take_facts(a, f, facts);
		f->software = json_is_true(json_object_get(known, "software"));
	}
	json_decref(known);
	return good;
}

// What a limit of this process was in the way of says nothing of the browser, and is found again at once.
static void write_cache(struct arena *a, const struct found *f)
{
	if (f->failure && !strstr(f->failure, no_page) &&
		cause_status(backend_browser.name, NULL, f->failure, STATUS_FAILED) == STATUS_NOT_ASKED)
		return;
	const char *path = cache_path(a, f);
	json_t *known = json_pack("{s:s, s:b, s:O?, s:s?}", "browser", f->browser.path, "software", (int)f->software, "facts",
		f->facts, "failure", f->failure);
	char *text = known ? json_dumps(known, JSON_INDENT(1)) : NULL;

	if (text && path)
		file_put(path, text, strlen(text), NULL);
	free(text);
	json_decref(known);
}

// ---- asking -------------------------------------------------------------------------------------------------------------

struct probing {
	struct found *found;
	struct launch launch;
	int page;
	bool waits, second;
};

// Processes and threads that they were seen with on two CPUs: 126, and Firefox 184.
enum { CHROMIUM_TASKS = 140, FIREFOX_TASKS = 200 };

static int64_t tasks_of(const struct browser *b)
{
	return b->kind == BROWSER_FIREFOX ? FIREFOX_TASKS : CHROMIUM_TASKS;
}

enum status browser_launch(struct launch *l, const struct browser *b, const struct launch_how *how, struct error *err)
{
	enum status st = host_check_tasks(tasks_of(b), b->name, err);

	return st ? st : launch_start(l, b, how, err);
}

static void ask(struct probing *p, struct serve *s, struct arena *a)
{
	const struct found *f = p->found;
	struct launch_how how = { .url = arena_printf(a, "%s?facts=all", serve_url(s, p->page)),
		.software = f->software,
		.software_vulkan = f->software ? f->software_vulkan : NULL };
	struct error err = { 0 };

	p->waits = !browser_launch(&p->launch, &f->browser, &how, &err);
	if (!p->waits)
		p->found->failure = arena_strdup(a, err.text);
}

// Where there was hardly room for it, with another program's beside it there may have been none.
static const char *failure_of(struct arena *a, const struct browser *b, const char *words)
{
	struct error limit;

	return host_check_tasks(2 * tasks_of(b), b->name, &limit) ? arena_printf(a, "%s; %s", words, limit.text)
								  : arena_strdup(a, words);
}

// What came of it, if anything has.
static void look(struct probing *p, struct serve *s, struct arena *a)
{
	struct error err = { 0 };
	const char *hello = NULL;
	json_t *facts = NULL;

	if (serve_has_hello(s, p->page)) {
		p->waits = false;
		if (serve_hello(s, p->page, 1, NULL, NULL, &hello, &err) ||
			json_bytes("the page", hello, strlen(hello), &facts, &err))
			p->found->failure = arena_strdup(a, err.text);
		else
			take_facts(a, p->found, facts);
	} else if (launch_alive(&p->launch, &err)) {
		p->waits = false;
		p->found->failure = failure_of(a, &p->found->browser, err.text);
	}
}

static enum status ask_together(struct arena *a, struct probing *all, size_t count, struct error *err)
{
	double until = clock_ms() + PROBE_S * 1000;
	struct serve *s;
	size_t waiting = count;
	enum status st = serve_open(&s, &(struct serve_at){ .own_user = true }, err);

	if (st)
		return st;
	for (size_t i = 0; i < count; i++)
		ask(&all[i], s, a);
	while (waiting && clock_ms() < until) {
		waiting = 0;
		for (size_t i = 0; i < count; i++) {
			if (all[i].waits)
				look(&all[i], s, a);
			waiting += all[i].waits;
		}
		if (waiting)
			usleep(20000);
	}
	for (size_t i = 0; i < count; i++) {
		struct error how = { 0 };

		if (all[i].waits && !launch_alive(&all[i].launch, &how))
			error_set(&how, STATUS_TIMEOUT, "%s %s %g s", all[i].found->browser.path, no_page, PROBE_S);
		if (all[i].waits)
			all[i].found->failure = failure_of(a, &all[i].found->browser, how.text);
	}
	for (size_t i = 0; i < count; i++)
		launch_end(&all[i].launch);
	serve_close(s);
	return STATUS_OK;
}

// One after the other where a limit on processes has no room for all of them.
static enum status ask_all(struct arena *a, struct probing *all, size_t count, struct error *err)
{
	int64_t tasks = 0;
	enum status st = STATUS_OK;

	for (size_t i = 0; i < count; i++)
		tasks += tasks_of(&all[i].found->browser);
	if (!host_check_tasks(tasks, "browsers", NULL))
		return ask_together(a, all, count, err);
	for (size_t i = 0; i < count && !st; i++)
		st = ask_together(a, &all[i], 1, err);
	return st;
}

static bool lacks_webgpu(const struct found *f)
{
	return f->facts && json_object_get(json_object_get(f->facts, "webgpu"), "absent");
}

enum status browser_probe(struct arena *a, struct found **out, size_t *count, struct error *err)
{
	struct probing asked[SERVE_PAGES] = { 0 };
	struct browser *browsers;
	size_t n = browser_installed(a, &browsers), open = 0;
	struct found *all = ARENA_ARRAY(a, n + 1, struct found);
	enum status st = STATUS_OK;

	for (size_t i = 0; i < n; i++)
		all[i].browser = browsers[i];
	const char *vulkan = software_vulkan(a, all, n);
	for (size_t i = 0; i < n; i++) {
		all[i].software_vulkan = browsers[i].kind == BROWSER_FIREFOX ? vulkan : NULL;
		all[i].software = !has_gpu();
		if (!read_cache(a, &all[i]) && open < SERVE_PAGES) {
			asked[open] = (struct probing){ .found = &all[i], .page = (int)open };
			open++;
		}
	}
	if (open)
		st = ask_all(a, asked, open, err);
	// A GPU that the browser does not take: its software adapter then, and it will be called one.
	struct probing again[SERVE_PAGES] = { 0 };
	size_t second = 0;
	for (size_t i = 0; i < open && !st; i++)
		if (lacks_webgpu(asked[i].found) && !asked[i].found->software) {
			again[second] = (struct probing){ .found = asked[i].found, .page = (int)second };
			again[second++].found->software = true;
		}
	if (second && !st)
		st = ask_all(a, again, second, err);
	for (size_t i = 0; i < open && !st; i++)
		write_cache(a, asked[i].found);
	*out = all;
	*count = n;
	return st;
}

// ---- devices ------------------------------------------------------------------------------------------------------------

static const char *kind_word(const struct found *f)
{
	return f->browser.kind == BROWSER_FIREFOX ? "firefox" : "chromium";
}

bool browser_adapter_is_software(const json_t *webgpu)
{
	static const char *const keys[] = { "vendor", "architecture", "device", "description" };
	static const char *const words[] = { "swiftshader", "llvmpipe", "lavapipe", "basic render", "software" };
	const json_t *info = json_object_get(webgpu, "info");

	if (json_is_true(json_object_get(webgpu, "is_fallback")))
		return true;
	for (size_t i = 0; i < 4; i++) {
		const char *text = json_string_value(json_object_get(info, keys[i]));

		for (size_t k = 0; text && k < 5; k++)
			if (strcasestr(text, words[k]))
				return true;
	}
	return false;
}

const char *browser_version(struct arena *a, const json_t *facts)
{
	static const char *const marks[][2] = { { "Firefox/", "Firefox" }, { "Edg/", "Edge" }, { "Chrome/", "Chromium" },
		{ "Version/", "Safari" } };
	const char *agent = json_string_value(json_object_get(facts, "user_agent")),
		   *platform = json_string_value(json_object_get(facts, "platform"));
	const json_t *brand;
	size_t i;

	json_array_foreach(json_object_get(facts, "brands"), i, brand)
	{
		const char *name = json_string_value(json_object_get(brand, "brand")),
			   *version = json_string_value(json_object_get(brand, "version"));

		if (name && version && (strstr(name, "Chrom") || strstr(name, "Edge")))
			return arena_printf(a, "%.60s %.40s on %.40s", name, version, platform ? platform : "?");
	}
	for (i = 0; agent && i < sizeof marks / sizeof *marks; i++) {
		const char *at = strstr(agent, marks[i][0]);

		if (at)
			return arena_printf(a, "%s %.*s on %.40s", marks[i][1],
				(int)strspn(at + strlen(marks[i][0]), "0123456789."), at + strlen(marks[i][0]),
				platform ? platform : "?");
	}
	return "a browser";
}

static const json_t *part_of(const struct found *f, const char *provider)
{
	return json_object_get(f->facts, provider);
}

// Why this browser is no device of the provider; NULL: it is one.
static const char *why_not(struct arena *a, const struct found *f, const char *provider)
{
	const char *absent;

	if (!f->facts)
		return f->failure ? f->failure : "it was not asked";
	if (text_is(provider, "wasm"))
		return NULL;
	absent = json_string_value(json_object_get(part_of(f, provider), "absent"));
	if (absent)
		return arena_printf(a, "%s: %s", browser_version(a, f->facts), absent);
	return part_of(f, provider) ? NULL : "its page says nothing of it";
}

const struct found *browser_of(
	struct arena *a, const struct found *all, size_t count, const char *provider, const char *device, struct error *err)
{
	size_t n = strcspn(device, "."), before = 0;
	int64_t index = 0;
	struct text reasons = { 0 };

	if (device[n] && !text_to_int(device + n + 1, 0, 99, &index))
		index = -1;
	for (size_t i = 0; i < count; i++) {
		const char *kind = kind_word(&all[i]), *why;

		if (strlen(kind) != n || strncasecmp(kind, device, n))
			continue;
		if ((why = why_not(a, &all[i], provider))) {
			text_addf(&reasons, "%s%s: %s", reasons.length ? "; " : "", all[i].browser.path, why);
			continue;
		}
		if ((int64_t)before++ == index)
			return &all[i];
	}
	add_not_found(&reasons, a, strncasecmp(device, "firefox", n) ? BROWSER_CHROMIUM : BROWSER_FIREFOX, "such ");
	error_set(err, STATUS_UNAVAILABLE, "no browser %s with %s: %s", device, provider, text_get(&reasons));
	text_done(&reasons);
	return NULL;
}

static void describe(struct arena *a, const struct found *f, const char *provider, struct device *d)
{
	const json_t *part = part_of(f, provider), *info = json_object_get(part, "info");
	const char *version = browser_version(a, f->facts);

	d->facts = part;
	if (text_is(provider, "webgpu")) {
		const char *vendor = json_string_value(json_object_get(info, "vendor")),
			   *architecture = json_string_value(json_object_get(info, "architecture"));
		const char *words = json_string_value(json_object_get(info, "description"));

		d->emulated = browser_adapter_is_software(part) || f->software;
		d->description = arena_printf(a, "%s, adapter %s%s%s%s%s%s", version, vendor && *vendor ? vendor : "unnamed",
			architecture && *architecture ? " " : "", architecture ? architecture : "", words && *words ? " " : "",
			words ? words : "", d->emulated ? ", software" : "");
	} else if (text_is(provider, "webnn")) {
		d->emulated = strstr(version, "Linux") != NULL;
		d->description = arena_printf(a, "%s%s", version,
			d->emulated ? ", TFLite with XNNPACK on the processor, whatever device type is asked for" : "");
	} else {
		d->description = arena_printf(a, "%s, WebAssembly on the processor", version);
	}
	d->features = arena_printf(a, "%s%s", f->browser.path,
		json_is_true(json_object_get(f->facts, "isolated")) ? ", isolated" : ", not isolated: no threads");
}

static void list_provider(struct device_list *out, const char *provider, const struct found *all, size_t count)
{
	size_t chromiums = 0, firefoxes = 0;
	struct text reasons = { 0 }, of_kind[2] = { { 0 }, { 0 } };

	for (size_t i = 0; i < count; i++) {
		const char *why = why_not(out->arena, &all[i], provider), *kind = kind_word(&all[i]);
		size_t *n = all[i].browser.kind == BROWSER_FIREFOX ? &firefoxes : &chromiums;
		struct device d = { .provider = provider };

		if (why) {
			struct text *own = &of_kind[all[i].browser.kind == BROWSER_FIREFOX];

			text_addf(&reasons, "%s%s: %s", reasons.length ? "; " : "", all[i].browser.path, why);
			text_addf(own, "%s%s: %s", own->length ? "; " : "", all[i].browser.path, why);
			continue;
		}
		d.name = *n ? arena_printf(out->arena, "%s.%zu", kind, *n) : kind;
		++*n;
		describe(out->arena, &all[i], provider, &d);
		device_add(out, &d);
	}
	if (!chromiums && !firefoxes) {
		add_not_found(&reasons, out->arena, BROWSER_KINDS, "");
		device_absent(out, provider, "%s", text_get(&reasons));
	}
	// One kind has it and the other not: the device that is missing is named by itself.
	else if (!chromiums && of_kind[0].length)
		device_absent(out, arena_printf(out->arena, "%s:chromium", provider), "%s", text_get(&of_kind[0]));
	else if (!firefoxes && of_kind[1].length)
		device_absent(out, arena_printf(out->arena, "%s:firefox", provider), "%s", text_get(&of_kind[1]));
	text_done(&reasons);
	text_done(&of_kind[0]);
	text_done(&of_kind[1]);
}

enum status browser_devices(const char *build, struct device_list *out, struct error *err)
{
	struct found *all;
	size_t count;
	const char *folder;
	enum status st;

	(void)build;
	if ((st = browser_runtime(out->arena, &folder, &out->version, err)) ||
		(st = browser_probe(out->arena, &all, &count, err)))
		return st;
	out->library = folder;
	for (const struct provider *p = backend_browser.providers; p->name; p++)
		list_provider(out, p->name, all, count);
	return STATUS_OK;
}
