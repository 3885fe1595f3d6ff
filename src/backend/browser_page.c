// SPDX-License-Identifier: Apache-2.0
// The browser that runs, its page, and messages to it: a little-endian u32, that many bytes of JSON, then the bytes of tensors.
// What comes back is checked as a stranger's: a page on another device may say anything.
#include "backend/browser.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cause.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#define HELLO_TIMEOUT_S 120.0
#define WASM_NBYTES ((uint64_t)4 << 30)
#define ARRAY_NBYTES ((uint64_t)2 << 30) // an ArrayBuffer that every browser gives

static struct page_host *running;
static int64_t generations;

// ---- starting and ending ------------------------------------------------------------------------------------------------

static enum status still_there(void *context, struct error *err)
{
	struct page_host *h = context;

	return h->is_remote ? STATUS_OK : launch_alive(&h->launch, err);
}

void page_host_end(void)
{
	struct page_host *h = running;

	if (!h)
		return;
	running = NULL;
	launch_end(&h->launch); // first: its connections close, and are not waited for
	serve_close(h->serve);
	json_decref(h->hello);
	free(h->key);
	arena_done(&h->arena);
	free(h);
}

struct page_host *page_host_of(int64_t generation)
{
	return running && running->generation == generation ? running : NULL;
}

bool page_host_memory(int64_t *pss_kib, int64_t *anonymous_kib)
{
	long long pss, anonymous;

	if (!running || running->is_remote || !launch_memory(&running->launch, &pss, &anonymous))
		return false;
	*pss_kib = pss;
	*anonymous_kib = anonymous;
	return true;
}

static enum status parse_hello(struct page_host *h, const char *hello, struct error *err)
{
	enum status st = json_bytes("the page", hello, strlen(hello), &h->hello, err);

	if (!st && !json_is_object(h->hello))
		st = error_set(err, STATUS_FAILED, "the page did not say what it is");
	if (!st)
		h->version = browser_version(&h->arena, h->hello);
	return st;
}

static enum status start(struct page_host *h, struct session *s, struct error *err)
{
	const char *listen = session_option(s, "listen"), *adapter = session_option(s, "adapter"), *folder, *version,
		   *hello = NULL;
	const struct found *found = NULL;
	struct found *all;
	size_t count = 0;
	int64_t wait_s;
	enum status st;

	h->is_remote = text_is(s->device, "remote");
	if ((st = browser_runtime(&h->arena, &folder, &version, err)) ||
		(st = session_option_int(s, "wait_s", 1, 86400, 600, &wait_s, err)))
		return st;
	if (!h->is_remote) {
		if ((st = browser_probe(&h->arena, &all, &count, err)))
			return st;
		if (!(found = browser_of(&h->arena, all, count, s->provider->name, s->device, err)))
			return STATUS_UNAVAILABLE;
	}
	const struct serve_at at = { .address = listen, .name = session_option(s, "host"), .own_user = !h->is_remote };

	if ((st = serve_open(&h->serve, &at, err)))
		return st;
	serve_folder(h->serve, "ort", folder);
	const char *power = session_option(s, "power");
	const char *url = arena_printf(&h->arena, "%s?facts=%s%s%s", serve_url(h->serve, 0), s->provider->name,
		power ? "&power=" : "", power ? power : "");
	if (h->is_remote) {
		backend_notice(arena_printf(&h->arena, "open this address in the browser that shall run it: %s", url));
	} else {
		serve_alone(h->serve, 0);
		struct launch_how how = { .url = url, .software = found->software, .software_vulkan = found->software_vulkan };

		if (text_is(adapter, "hardware")) {
			how.software = false;
			how.software_vulkan = NULL;
		} else if (text_is(adapter, "software")) {
			how.software = true;
		}
		if ((st = browser_launch(&h->launch, &found->browser, &how, err)))
			return st;
	}
	if ((st = serve_hello(h->serve, 0, h->is_remote ? (double)wait_s : HELLO_TIMEOUT_S, still_there, h, &hello, err)))
		return st;
	return parse_hello(h, hello, err);
}

enum status page_host_get(struct session *s, struct page_host **out, struct error *err)
{
	// Options that are fixed once a page has loaded its runtime.
	static const char *const fixed[] = { "threads", "adapter", "listen", "host", "power", "runtime" };
	struct text key = { 0 };
	struct error gone;
	enum status st;

	text_addf(&key, "%s %s", s->provider->name, s->device);
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		const char *text = session_option(s, fixed[i]);

		text_addf(&key, " %s", text ? text : "-");
	}
	if (running && (strcmp(running->key, text_get(&key)) || still_there(running, &gone)))
		page_host_end();
	if (!running) {
		if (!(running = calloc(1, sizeof *running)) || !(running->key = strdup(text_get(&key))))
			abort();
		running->generation = ++generations;
		if ((st = start(running, s, err))) {
			page_host_end();
			text_done(&key);
			return st;
		}
	}
	text_done(&key);
	*out = running;
	return STATUS_OK;
}

// ---- messages -----------------------------------------------------------------------------------------------------------

static const char *const dtypes[DTYPE_COUNT] = { [DTYPE_F32] = "float32",
	[DTYPE_F16] = "float16",
	[DTYPE_F64] = "float64",
	[DTYPE_I64] = "int64",
	[DTYPE_I32] = "int32",
	[DTYPE_I16] = "int16",
	[DTYPE_I8] = "int8",
	[DTYPE_U64] = "uint64",
	[DTYPE_U32] = "uint32",
	[DTYPE_U16] = "uint16",
	[DTYPE_U8] = "uint8",
	[DTYPE_BOOL] = "bool" };

const char *page_dtype(enum dtype t)
{
	return t < DTYPE_COUNT ? dtypes[t] : NULL;
}

static void add_length(struct text *t, size_t n)
{
	unsigned char length[4] = { (unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
		(unsigned char)(n >> 24) };

	text_add_bytes(t, length, 4);
}

// What the page said of a failure: its words, what the engine wrote to the console, what was noted beside.
static enum status failure(struct page_host *h, const json_t *head, struct error *err)
{
	const char *words = json_string_value(json_object_get(head, "error"));
	const json_t *console = json_object_get(head, "console");
	struct text all = { 0 };
	char *end;
	enum status st;

	text_add(&all, words && *words ? words : "the page gave no reason");
	if (words && *words && (strtod(words, &end), *end == 0))
		text_add(&all, " (a number is all that is left of an exception of the engine's own code)");
	for (size_t i = 0; i < json_array_size(console) && all.length < 1600; i++) {
		const char *line = json_string_value(json_array_get(console, i));

		if (line && !(words && strstr(line, words)))
			text_addf(&all, "%s%.400s", i ? " | " : "; its console: ", line);
	}
	if (h->serve)
		serve_notes(h->serve, 0, &all);
	for (size_t i = 0; i < all.length; i++)
		if (all.data[i] == '\n')
			all.data[i] = ' ';
	st = cause_status(backend_browser.name, NULL, text_get(&all), STATUS_FAILED);
	error_set(err, st = st == STATUS_NO_MEMORY ? st : STATUS_FAILED, "%s", text_get(&all));
	text_done(&all);
	return st;
}

static enum status read_head(const struct text *reply, json_t **head, size_t *at, struct error *err)
{
	const unsigned char *b = (const unsigned char *)reply->data;
	size_t n = reply->length >= 4 ? (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24 : SIZE_MAX;

	if (n > reply->length || n + 4 > reply->length)
		return error_set(err, STATUS_FAILED, "the page's answer is not whole");
	*at = n + 4;
	enum status st = json_bytes("the page's answer", reply->data + 4, n, head, err);
	if (!st && !json_is_object(*head)) {
		json_decref(*head);
		return error_set(err, STATUS_FAILED, "the page's answer is no answer");
	}
	return st;
}

enum status page_ask(struct page_host *h, json_t *command, const struct tensor *blobs, size_t blob_count, size_t most,
	json_t **head, struct text *reply, size_t *at, struct error *err)
{
	struct text message = { 0 };
	char *text = h ? json_dumps(command, JSON_COMPACT) : NULL;
	enum status st;

	if (!h)
		return error_set(err, STATUS_FAILED, "the browser has ended");
	if (!text)
		return error_set(err, STATUS_BAD_INPUT, "a name is not UTF-8");
	add_length(&message, strlen(text));
	text_add(&message, text);
	free(text);
	for (size_t i = 0; i < blob_count; i++)
		text_add_bytes(&message, blobs[i].data, blobs[i].nbytes);
	st = serve_ask(h->serve, 0, message.data, message.length, most, still_there, h, reply, err);
	text_done(&message);
	if (!st)
		st = read_head(reply, head, at, err);
	if (!st && !json_is_true(json_object_get(*head, "ok"))) {
		st = failure(h, *head, err);
		json_decref(*head);
		*head = NULL;
	}
	enum status unread = st ? serve_unread(h->serve, err) : STATUS_OK; // is why the page failed
	return unread ? unread : st;
}

// ---- what fits ----------------------------------------------------------------------------------------------------------

static enum status held_against(
	const char *what, const char *name, uint64_t need, const char *where, uint64_t limit, struct error *err)
{
	return need <= limit ? STATUS_OK
			     : error_set(err, STATUS_NO_MEMORY, "%s%s%s takes %llu bytes (%.2f GiB); %s is %llu (%.2f GiB)", what,
				       name ? " " : "", name ? name : "", (unsigned long long)need, (double)need / 0x1p30, where,
				       (unsigned long long)limit, (double)limit / 0x1p30);
}

enum status page_fits(const struct artifact_parts *parts, const char *provider, const json_t *hello, struct error *err)
{
	static const char *const limits[][2] = { { "maxBufferSize", "the adapter's maxBufferSize" },
		{ "maxStorageBufferBindingSize", "the adapter's maxStorageBufferBindingSize" } };
	const json_t *had = json_object_get(json_object_get(hello, "webgpu"), "limits");
	enum status st = STATUS_OK;

	if (parts->largest)
		st = held_against("the largest tensor", parts->largest, parts->largest_nbytes,
			"what a page can fetch into one array", ARRAY_NBYTES, err);
	if (!st && text_is(provider, "wasm"))
		st = held_against("the weights", NULL, parts->nbytes, "the memory of 32-bit WebAssembly", WASM_NBYTES, err);
	for (size_t i = 0; i < 2 && !st && text_is(provider, "webgpu"); i++) {
		const json_t *limit = json_object_get(had, limits[i][0]);

		// Beyond 2^53, which a page cannot count to, it limits nothing.
		if (json_is_number(limit) && json_number_value(limit) > 0 && json_number_value(limit) < 0x1p53 && parts->largest)
			st = held_against("the largest tensor", parts->largest, parts->largest_nbytes, limits[i][1],
				(uint64_t)json_number_value(limit), err);
	}
	return st;
}
