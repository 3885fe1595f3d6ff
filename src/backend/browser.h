// SPDX-License-Identifier: Apache-2.0
// Private to browser*.c: browsers found with what they said about themselves, the one that is running, messages to its page.
#ifndef ASSAY_BACKEND_BROWSER_H
#define ASSAY_BACKEND_BROWSER_H

#include "artifact/parts.h"
#include "backend/backend.h"
#include "serve/launch.h"
#include "serve/serve.h"

#define BROWSER_BUILD "onnxruntime-web"

// ---- browser_devices.c --------------------------------------------------------------------------------------------------

struct found {
	struct browser browser;
	bool software;               // it was started with its software adapter
	const char *software_vulkan; // Firefox: the driver that was given to it for that; NULL: none
	json_t *facts;               // what its page said (page.js, facts); freed with the arena. NULL: it did not work
	const char *failure;         // why
};

// Of ASSAY_BROWSER_PATH and PATH, and the one that `assay setup webnn` brings; none is started.
size_t browser_installed(struct arena *a, struct browser **out);
// From the cache where the browser's file is the one that was asked; else each is started and asked, all at the same time.
enum status browser_probe(struct arena *a, struct found **out, size_t *count, struct error *err);
enum status browser_devices(const char *build, struct device_list *out, struct error *err);
// "chromium", "firefox.1": the browser that this device of the provider is; NULL with the reason in `err`.
const struct found *browser_of(
	struct arena *a, const struct found *all, size_t count, const char *provider, const char *device, struct error *err);
// Whether a WebGPU adapter as a page tells it computes on the processor.
bool browser_adapter_is_software(const json_t *webgpu);
// launch_start, where as many processes and threads may be started as it needs.
enum status browser_launch(struct launch *l, const struct browser *b, const struct launch_how *how, struct error *err);
// "Chromium 156.0.8078.79", from what a page said.
const char *browser_version(struct arena *a, const json_t *facts);
// The folder of onnxruntime-web, and its version ("1.30.0"; NULL: it does not say).
enum status browser_runtime(struct arena *a, const char **folder, const char **version, struct error *err);

// ---- browser_page.c -----------------------------------------------------------------------------------------------------

// A browser with our page in it. One a process at a time: sessions share it, so that a model of several graphs has one.
struct page_host {
	struct arena arena;
	char *key; // what it was started for
	struct serve *serve;
	struct launch launch;
	bool is_remote;
	json_t *hello;
	const char *version; // "Chromium 156..."
	bool software;
	int64_t next_id;
	int64_t generation; // of all hosts of this process: sessions of an ended one find no other in its place
};

// The running one if it was started for the same device and options, else a new one. `emulated` and the like are in hello.
enum status page_host_get(struct session *s, struct page_host **out, struct error *err);
// Of the browser's processes; false where none runs here.
bool page_host_memory(int64_t *pss_kib, int64_t *anonymous_kib);
void page_host_end(void); // whatever runs ends
// The host that a session was opened in; NULL when it has ended.
struct page_host *page_host_of(int64_t generation);

// What the JSON of a reply may take; `most` of page_ask is that and the bytes of tensors.
#define PAGE_HEAD_MOST ((size_t)1 << 20)
// Sends a command with its bytes and waits for at most `most` bytes. *head is the reply's JSON, the caller's; the bytes it points
// into are at text_get(reply) + *at. A command that failed in the page is an error in its words.
enum status page_ask(struct page_host *h, json_t *command, const struct tensor *blobs, size_t blob_count, size_t most,
	json_t **head, struct text *reply, size_t *at, struct error *err);

// NO_MEMORY, with both numbers, where the weights do not fit into what the page or its adapter can hold.
enum status page_fits(const struct artifact_parts *parts, const char *provider, const json_t *hello, struct error *err);

const char *page_dtype(enum dtype t); // "float32"; NULL: a browser has no such tensor

// ---- browser_explain.c --------------------------------------------------------------------------------------------------

enum status browser_explain(
	struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err);
// Assigns the nodes of a graph, each of which has a name of its own, from the lines of ONNX Runtime's log. `ep`: what the log
// calls the asked provider.
// `constant`: outline_constant of p's nodes; NULL: none is.
void browser_assign(const char *const *lines, size_t line_count, const char *ep, const bool *constant, struct placement *p);

// ---- browser.c ----------------------------------------------------------------------------------------------------------

struct browser_session {
	int64_t generation; // of its host
	int64_t id;
	struct text reply[2]; // outputs of the last two runs
	int turn;
	bool is_open;
};

#endif
