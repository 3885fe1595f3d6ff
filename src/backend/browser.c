// SPDX-License-Identifier: Apache-2.0
// A browser as an engine: onnxruntime-web in a page that assay serves, with WebGPU, WebNN or WebAssembly. Everything is told by
// the page: times by its own clock around a run whose outputs have been read back, what ran by the log of the engine.
// What it does not do: trust a page's numbers. Shapes, types and sizes of outputs are held against the bytes that came.
#include "backend/browser.h"

#include <stdlib.h>
#include <string.h>

#include "backend/host.h"
#include "base/clock.h"
#include "base/text.h"

enum { THREADS_MOST = 256 }; // as the option says: more than processors that browsers run on have

static const struct option options[] = {
	{ "threads", NULL, "threads of WebAssembly; the CPUs that this process may use", "1..256" },
	{ "optimisation", "all", "graph rewrites: all, extended, basic, none", "all extended basic none" },
	{ "parallel", "on", "fetch files beside each other and beside the runtime; off: one after the other", OPTION_SWITCH },
	{ "cache", "off", "load from a cache that a first visit has filled: cache-api, indexeddb; off: from the network",
		"off cache-api indexeddb" },
	{ "warmup", "off", "a run with zeros while loading, so that shaders are compiled by then; needs fixed shapes",
		OPTION_SWITCH },
	{ "dims", NULL, "fixes dimensions by name: batch:1+sequence:128" },
	{ "adapter", "auto", "hardware, software; auto: software where the machine has no GPU", "auto hardware software" },
	{ "listen", NULL, "ADDR:PORT to serve at; the loopback address, any port", .reaches_out = true },
	{ "host", NULL,
		"a name by which a remote browser comes, where it is neither this machine's nor an address: of a proxy, "
		"say. This machine's other users may come to a loopback address then, too",
		.reaches_out = true },
	{ "wait_s", "600", "seconds to wait for a remote browser" },
	{ .name = NULL },
};
static const struct option webgpu_options[] = {
	{ "runtime", "native", "ONNX Runtime's WebGPU: native (the provider in C++), jsep (the older one in JavaScript)",
		"native jsep" },
	{ "layout", NULL, "of convolutions: NCHW, NHWC; the engine's own", "NCHW NHWC" },
	{ "graph_capture", "off", "record the commands of a run and replay them; needs every node on the GPU", OPTION_SWITCH },
	{ "validation", NULL, "of WebGPU calls: disabled, wgpuOnly, basic, full; the engine's own",
		"disabled wgpuOnly basic full" },
	{ "power", "none", "which adapter is asked for: none, low-power, high-performance", "none low-power high-performance" },
	{ .name = NULL },
};
static const struct option webnn_options[] = {
	{ "webnn_device", "cpu", "device type of the context: cpu, gpu, npu; on Linux all are the processor", "cpu gpu npu" },
	{ "power", "none", "what the context is asked for: none, low-power, high-performance",
		"none low-power high-performance" },
	{ .name = NULL },
};
static const struct provider providers[] = {
	{ .name = "webgpu", .build = "web", .options = webgpu_options, .detail = "WebGpuExecutionProvider" },
	{ .name = "webnn", .build = "web", .options = webnn_options, .detail = "WebNNExecutionProvider" },
	{ .name = "wasm", .build = "web", .detail = "CPUExecutionProvider", .threads = "threads" },
	{ .name = NULL },
};

// ---- opening ------------------------------------------------------------------------------------------------------------

static enum status word(struct session *s, json_t *command, const char *name, const char *key, const char *const *words,
	const char *const *theirs, size_t count, struct error *err)
{
	size_t i;
	enum status st;

	if (!session_option(s, name))
		return STATUS_OK;
	if ((st = session_option_word(s, name, words, count, &i, err)))
		return st;
	json_object_set_new(command, key, json_string(theirs[i]));
	return STATUS_OK;
}

static enum status flag(struct session *s, json_t *command, const char *name, struct error *err)
{
	bool on = false;
	enum status st = session_option_bool(s, name, &on, err);

	json_object_set_new(command, name, json_boolean(on));
	return st;
}

// "batch:1+sequence:128"
static enum status dimensions(struct session *s, json_t *command, struct error *err)
{
	const char *text = session_option(s, "dims");
	json_t *dims = json_object();
	enum status st = STATUS_OK;

	for (const char *at = text; at && *at && !st;) {
		size_t n = strcspn(at, "+");
		char *item = arena_strndup(&s->arena, at, n), *colon = strrchr(item, ':');
		int64_t size;

		if (!colon || colon == item || !text_to_int(colon + 1, 1, INT32_MAX, &size)) {
			st = error_set(err, STATUS_BAD_INPUT, "option dims is \"%s\"; it takes NAME:SIZE+NAME:SIZE", text);
		} else {
			*colon = 0;
			json_object_set_new(dims, item, json_integer(size));
		}
		at += n + (at[n] == '+');
	}
	if (!st && json_object_size(dims))
		json_object_set(command, "dims", dims);
	json_decref(dims);
	return st;
}

static enum status add_options(struct session *s, json_t *command, struct error *err)
{
	static const char *const levels[] = { "all", "extended", "basic", "none" },
				 *const their_levels[] = { "all", "extended", "basic", "disabled" };
	static const char *const layouts[] = { "NCHW", "NHWC" };
	static const char *const validations[] = { "disabled", "wgpuOnly", "basic", "full" };
	static const char *const powers[] = { "none", "low-power", "high-performance" };
	static const char *const types[] = { "cpu", "gpu", "npu" };
	static const char *const caches[] = { "off", "cache-api", "indexeddb" };
	static const char *const adapters[] = { "auto", "hardware", "software" };
	static const char *const runtimes[] = { "native", "jsep" },
				 *const files[] = { "ort.webgpu.bundle.min.mjs", "ort.all.bundle.min.mjs" };
	bool webgpu = text_is(s->provider->name, "webgpu");
	size_t ignored;
	int64_t threads;
	char number[24];
	enum status st;

	if ((st = session_option_int(s, "threads", 1, THREADS_MOST, host_cpus(""), &threads, err)))
		return st;
	snprintf(number, sizeof number, "%lld", (long long)threads);
	session_set_option(s, "threads", number);
	json_object_set_new(command, "threads", json_integer(threads));
	json_object_set_new(command, "runtime",
		json_string(webgpu                                    ? files[0]
				: text_is(s->provider->name, "webnn") ? files[1]
								      : "ort.wasm.bundle.min.mjs"));
	if ((st = word(s, command, "optimisation", "optimisation", levels, their_levels, 4, err)) ||
		(st = word(s, command, "cache", "cache", caches, caches, 3, err)) || (st = flag(s, command, "parallel", err)) ||
		(st = dimensions(s, command, err)) || (st = session_option_word(s, "adapter", adapters, 3, &ignored, err)))
		return st;
	if (text_is(s->provider->name, "webnn") && (st = word(s, command, "webnn_device", "webnn_device", types, types, 3, err)))
		return st;
	if (!text_is(s->provider->name, "wasm") && (st = word(s, command, "power", "power", powers, powers, 3, err)))
		return st;
	// As the engine's log calls it; the older WebGPU runs under another name.
	session_set_option(s, "provider",
		webgpu && text_is(session_option(s, "runtime"), "jsep") ? "JsExecutionProvider"
									: (const char *)s->provider->detail);
	if (!webgpu)
		return STATUS_OK;
	if ((st = word(s, command, "runtime", "runtime", runtimes, files, 2, err)) ||
		(st = word(s, command, "layout", "layout", layouts, layouts, 2, err)) ||
		(st = word(s, command, "validation", "validation", validations, validations, 4, err)) ||
		(st = flag(s, command, "graph_capture", err)))
		return st;
	return STATUS_OK;
}

// Inputs of zeros for a run while loading.
static enum status add_warmup(struct session *s, const struct artifact *a, json_t *command, struct error *err)
{
	const json_t *dims = json_object_get(command, "dims");
	bool on = false;
	json_t *inputs;
	enum status st = session_option_bool(s, "warmup", &on, err);

	if (st || !on)
		return st;
	inputs = json_array();
	for (size_t i = 0; i < a->input_count && !st; i++) {
		const struct tensor_type *t = &a->inputs[i];
		json_t *shape = json_array();
		size_t count = 1;

		for (int k = 0; k < t->rank && !st; k++) {
			const json_t *fixed = t->dim[k] < 0 && t->symbol[k] ? json_object_get(dims, t->symbol[k]) : NULL;
			int64_t dim = fixed ? json_integer_value(fixed) : t->dim[k];

			if (dim < 0 || count > (SIZE_MAX >> 8) / (size_t)(dim ? dim : 1))
				st = error_set(err, STATUS_BAD_INPUT,
					"option warmup: %s has no fixed shape; make it static, or fix %s by the option dims",
					t->name, t->symbol[k] ? t->symbol[k] : "its dimensions");
			else
				count *= (size_t)dim;
			json_array_append_new(shape, json_integer(dim));
		}
		if (!st && !page_dtype(t->dtype))
			st = error_set(err, STATUS_UNSUPPORTED, "input %s has type %s, which a browser has not", t->name,
				dtype_word(t->dtype));
		json_array_append_new(inputs,
			json_pack("{s:s, s:s?, s:o, s:I}", "name", t->name, "type", page_dtype(t->dtype), "dims", shape, "nbytes",
				(json_int_t)(count * dtype_size(t->dtype))));
	}
	if (!st && !a->inputs)
		st = error_set(err, STATUS_BAD_INPUT, "option warmup needs a graph whose inputs are known before it is opened");
	if (!st)
		json_object_set(command, "warmup", inputs);
	json_decref(inputs);
	return st;
}

static size_t read_graph(const void *context, uint64_t at, void *out, size_t nbytes)
{
	const struct artifact_parts *p = context;

	if (at >= p->graph_nbytes)
		return 0;
	nbytes = nbytes < p->graph_nbytes - at ? nbytes : (size_t)(p->graph_nbytes - at);
	memcpy(out, (const char *)p->graph + at, nbytes);
	return nbytes;
}

static size_t read_part(const void *context, uint64_t at, void *out, size_t nbytes)
{
	return artifact_part_read(context, at, out, nbytes);
}

static json_t *serve_one(struct session *s, const char *name, uint64_t nbytes,
	size_t (*read)(const void *, uint64_t, void *, size_t), const void *context)
{
	struct browser_session *b = s->state;
	const char *path = arena_printf(&s->arena, "session-%lld-%s", (long long)b->id, name);

	serve_add(page_host_of(b->generation)->serve, path, &(struct serve_file){ nbytes, read, context });
	return json_pack("{s:s, s:s, s:I}", "name", name, "url", arena_printf(&s->arena, "../../file/%s", path), "nbytes",
		(json_int_t)nbytes);
}

static void serve_files(struct session *s, const struct artifact_parts *p, json_t *command)
{
	json_t *parts = json_array();

	json_object_set_new(command, "runtime_folder", json_string("../../file/ort/"));
	json_object_set_new(command, "graph", serve_one(s, "model.onnx", p->graph_nbytes, read_graph, p));
	for (size_t i = 0; i < p->count; i++)
		json_array_append_new(parts, serve_one(s, p->items[i].name, p->items[i].nbytes, read_part, &p->items[i]));
	json_object_set_new(command, "parts", parts);
}

// Inputs and outputs as the page tells them, for graphs that are not ours.
static enum status take_types(
	struct session *s, const json_t *list, const struct tensor_type **out, size_t *count, struct error *err)
{
	struct tensor_type *types = ARENA_ARRAY(&s->arena, json_array_size(list) + 1, struct tensor_type);
	const json_t *item, *dim;
	size_t i, k;

	json_array_foreach(list, i, item)
	{
		const char *name = json_string_value(json_object_get(item, "name")),
			   *type = json_string_value(json_object_get(item, "type"));
		const json_t *shape = json_object_get(item, "shape");

		types[i].name = arena_strdup(&s->arena, name ? name : "");
		types[i].dtype = type ? dtype_find(type) : DTYPE_NONE;
		if (!name || !types[i].dtype || json_array_size(shape) > TENSOR_MAX_RANK)
			return error_set(err, STATUS_UNSUPPORTED, "%s has a type or a shape that is not supported",
				name ? name : "an input");
		types[i].rank = (int)json_array_size(shape);
		json_array_foreach(shape, k, dim) types[i].dim[k] =
			json_is_integer(dim) && json_integer_value(dim) >= 0 ? json_integer_value(dim) : -1;
	}
	*out = types;
	*count = json_array_size(list);
	return STATUS_OK;
}

// A page's own clock, in ms. It is another's, and may say anything.
static enum status page_time(const json_t *x, const char *what, double *ms, struct error *err)
{
	static const double most = 1e10; // four months: no database is read that holds more

	*ms = json_number_value(x);
	if (!json_is_number(x))
		return error_set(err, STATUS_FAILED, "the page gave no time (%s)", what);
	if (!(*ms >= 0 && *ms <= most))
		return error_set(err, STATUS_FAILED, "the page gave a time that nothing can have taken: %s %g ms", what, *ms);
	return STATUS_OK;
}

// What a page says that it took is held against assay's own clock. A browser's may be coarse, and of another machine.
static enum status page_within(const char *what, double ms, double waited_ms, struct error *err)
{
	static const double drift = 1.01, coarse_ms = 5;

	return ms <= drift * waited_ms + coarse_ms
		? STATUS_OK
		: error_set(err, STATUS_FAILED, "the page says that %s took %g ms, and its answer was here after %g ms", what, ms,
			  waited_ms);
}

// Loading as a page's user has it: files, runtime, session, and the warm-up run where there is one; without the start of the
// browser, and without the first visit, which fills the cache.
static enum status opened_ns(const json_t *times, int64_t *ns, struct error *err)
{
	static const char *const keys[] = { "load_ms", "warmup_ms", "first_visit_ms" };
	double ms[3] = { 0 };
	enum status st = STATUS_OK;

	for (size_t i = 0; i < 3 && !st; i++)
		if (i == 0 || json_object_get(times, keys[i]))
			st = page_time(json_object_get(times, keys[i]), keys[i], &ms[i], err);
	if (!st && !(ms[0] + ms[1] > ms[2]))
		st = error_set(err, STATUS_FAILED, "the page says that loading took %g ms", ms[0] + ms[1] - ms[2]);
	*ns = st ? 0 : (int64_t)((ms[0] + ms[1] - ms[2]) * 1e6);
	return st;
}

static enum status take_opened(struct session *s, const struct artifact *a, const json_t *head, struct error *err)
{
	struct browser_session *b = s->state;
	const struct page_host *h = page_host_of(b->generation);
	const json_t *threads = json_object_get(head, "threads");
	char number[24];
	enum status st;

	if (a->inputs) {
		s->inputs = a->inputs;
		s->input_count = a->input_count;
		s->outputs = a->outputs;
		s->output_count = a->output_count;
	} else if ((st = take_types(s, json_object_get(head, "inputs"), &s->inputs, &s->input_count, err)) ||
		(st = take_types(s, json_object_get(head, "outputs"), &s->outputs, &s->output_count, err))) {
		return st;
	}
	if (json_is_integer(threads)) {
		if (json_integer_value(threads) < 1 || json_integer_value(threads) > THREADS_MOST)
			return error_set(err, STATUS_FAILED, "the page says that it has %lld threads",
				(long long)json_integer_value(threads));
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(threads));
		session_set_option(s, "threads", number);
	}
	for (size_t i = s->output_count; i-- > 0;)
		if (s->outputs[i].dtype == DTYPE_F32 || s->outputs[i].dtype == DTYPE_F16)
			session_set_option(s, "compute_dtype", dtype_word(s->outputs[i].dtype));
	if ((st = opened_ns(json_object_get(head, "times"), &s->open_ns, err)))
		return st;
	s->emulated = h->software ? 1 : -1;
	s->adapter = json_pack("{s:s, s:b, s:O, s:O?, s:O?, s:b}", "browser", h->version, "software", (int)h->software, "page",
		h->hello, "times", json_object_get(head, "times"), "runtime", json_object_get(head, "version"), "remote",
		(int)h->is_remote);
	return STATUS_OK;
}

static enum status browser_open(struct session *s, const struct artifact *a, struct error *err)
{
	struct browser_session *b = s->state;
	struct page_host *h = NULL;
	json_t *command = json_object(), *head = NULL;
	const json_t *absent;
	size_t at;
	enum status st = STATUS_OK;

	if (!s->device)
		s->device = "chromium";
	if (!a->parts)
		st = error_set(err, STATUS_FAILED, "the artifact was not cut into parts");
	if (!st && !(st = add_options(s, command, err)) && !(st = add_warmup(s, a, command, err)))
		st = page_host_get(s, &h, err);
	if (!st) {
		absent = json_object_get(json_object_get(h->hello, s->provider->name), "absent");
		h->software =
			text_is(s->provider->name, "webgpu") && browser_adapter_is_software(json_object_get(h->hello, "webgpu"));
		// Every WebNN context of Chromium on Linux is TFLite with XNNPACK on the processor.
		if (text_is(s->provider->name, "webnn") && strstr(h->version, "Linux"))
			h->software = true;
		if (json_is_string(absent))
			st = error_set(err, STATUS_UNAVAILABLE, "%s has no %s: %s", h->version, s->provider->name,
				json_string_value(absent));
	}
	if (!st)
		st = page_fits(a->parts, s->provider->name, h->hello, err);
	if (!st && !h->is_remote && text_is(s->provider->name, "webnn"))
		st = launch_check_webnn(h->launch.browser, a->parts->nbytes, err);
	if (!st) {
		b->id = ++h->next_id;
		b->generation = h->generation;
		b->is_open = true;
		json_object_set_new(command, "op", json_string("open"));
		json_object_set_new(command, "id", json_integer(b->id));
		json_object_set_new(command, "provider", json_string(s->provider->name));
		serve_files(s, a->parts, command);
		const double asked_ms = clock_ms();
		if (!(st = page_ask(h, command, NULL, 0, 4 * PAGE_HEAD_MOST, &head, &b->reply[0], &at, err)))
			st = take_opened(s, a, head, err);
		if (!st)
			st = page_within("loading", (double)s->open_ns / 1e6, clock_ms() - asked_ms, err);
	}
	json_decref(head);
	json_decref(command);
	return st;
}

// ---- running ------------------------------------------------------------------------------------------------------------

static enum status take_output(const struct session *s, size_t i, const json_t *list, const struct text *reply, size_t begin,
	struct tensor *out, struct error *err)
{
	const struct tensor_type *type = &s->outputs[i];
	const json_t *item = NULL, *dims, *dim;
	size_t k, count, at, nbytes;

	for (k = 0; k < json_array_size(list); k++)
		if (text_is(json_string_value(json_object_get(json_array_get(list, k), "name")), type->name))
			item = json_array_get(list, k);
	if (!item)
		return error_set(err, STATUS_FAILED, "the page gave no output %s", type->name);
	*out = (struct tensor){ .name = type->name };
	const char *words = json_string_value(json_object_get(item, "type"));
	dims = json_object_get(item, "dims");
	out->dtype = words ? dtype_find(words) : DTYPE_NONE;
	if (!out->dtype || json_array_size(dims) > TENSOR_MAX_RANK)
		return error_set(err, STATUS_UNSUPPORTED, "output %s has type %s or a rank that is not supported", type->name,
			words ? words : "?");
	out->rank = (int)json_array_size(dims);
	json_array_foreach(dims, k, dim) out->dim[k] = json_is_integer(dim) ? json_integer_value(dim) : -1;
	at = (size_t)json_integer_value(json_object_get(item, "at"));
	nbytes = (size_t)json_integer_value(json_object_get(item, "nbytes"));
	if (!tensor_count(out->rank, out->dim, &count) || count > SIZE_MAX / 8 || nbytes != count * dtype_size(out->dtype) ||
		(begin + at) % 8 || at > reply->length - begin || nbytes > reply->length - begin - at)
		return error_set(
			err, STATUS_FAILED, "output %s: what the page says of its size and what came do not agree", type->name);
	out->nbytes = nbytes;
	out->data = reply->data + begin + at;
	return STATUS_OK;
}

// The size of a dimension that has a name, by an input that has the same; -1: none has.
static int64_t dim_named(const struct session *s, const struct tensor *in, const char *symbol)
{
	for (size_t i = 0; symbol && i < s->input_count; i++)
		for (int k = 0; k < s->inputs[i].rank && k < in[i].rank; k++)
			if (text_is(s->inputs[i].symbol[k], symbol))
				return in[i].dim[k];
	return -1;
}

// What a reply to a run can have: its outputs, an element of at least 4 bytes, since a browser has fewer types, and the JSON.
// Where the graph does not say how large an output is, what a page can hold in one array.
static size_t reply_most(const struct session *s, const struct tensor *in)
{
	static const size_t any = (size_t)2 << 30;
	size_t most = PAGE_HEAD_MOST;

	for (size_t i = 0; i < s->output_count; i++) {
		const struct tensor_type *t = &s->outputs[i];
		size_t size = dtype_size(t->dtype), count;
		int64_t dim[TENSOR_MAX_RANK];

		for (int k = 0; k < t->rank; k++)
			dim[k] = t->dim[k] >= 0 ? t->dim[k] : dim_named(s, in, t->symbol[k]);
		if (!tensor_count(t->rank, dim, &count) || count > any / 8)
			return any;
		most += count * (size > 4 ? size : 4) + 8; // each begins at a multiple of 8
		if (most > any)
			return any;
	}
	return most;
}

static enum status browser_run(struct session *s, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct browser_session *b = s->state;
	json_t *inputs = json_array(), *command, *head = NULL;
	struct text *reply = &b->reply[b->turn];
	double ms = 0, asked_ms, took_ms;
	size_t at = 0;
	enum status st = STATUS_OK;

	b->turn = s->keeps_outputs ? !b->turn : b->turn;
	for (size_t i = 0; i < s->input_count && !st; i++) {
		json_t *dims = json_array();

		for (int k = 0; k < in[i].rank; k++)
			json_array_append_new(dims, json_integer(in[i].dim[k]));
		if (!page_dtype(in[i].dtype))
			st = error_set(err, STATUS_UNSUPPORTED, "input %s has type %s, which a browser has not",
				s->inputs[i].name, dtype_word(in[i].dtype));
		json_array_append_new(inputs,
			json_pack("{s:s, s:s?, s:o, s:I, s:I}", "name", s->inputs[i].name, "type", page_dtype(in[i].dtype),
				"dims", dims, "at", (json_int_t)at, "nbytes", (json_int_t)in[i].nbytes));
		at += in[i].nbytes;
	}
	command = json_pack("{s:s, s:I, s:o}", "op", "run", "id", (json_int_t)b->id, "inputs", inputs);
	asked_ms = clock_ms();
	if (!st)
		st = page_ask(
			page_host_of(b->generation), command, in, s->input_count, reply_most(s, in), &head, reply, &at, err);
	took_ms = clock_ms() - asked_ms;
	if (!st && !(st = page_time(json_object_get(head, "ms"), "of a run", &ms, err)) && ms < 1e-6)
		st = error_set(err, STATUS_FAILED, "the page gave a time that nothing can have taken: of a run %g ms", ms);
	if (!st)
		st = page_within("a run", ms, took_ms, err);
	if (!st)
		s->run_ns = (int64_t)(ms * 1e6);
	for (size_t i = 0; i < s->output_count && !st; i++)
		st = take_output(s, i, json_object_get(head, "outputs"), reply, at, &out[i], err);
	json_decref(head);
	json_decref(command);
	return st;
}

static void browser_close(struct session *s)
{
	struct browser_session *b = s->state;
	struct text reply = { 0 };
	json_t *head = NULL;
	struct error ignored;
	size_t at;

	if (b->is_open) {
		json_t *command = json_pack("{s:s, s:I}", "op", "close", "id", (json_int_t)b->id);

		if (page_ask(page_host_of(b->generation), command, NULL, 0, PAGE_HEAD_MOST, &head, &reply, &at, &ignored))
			page_host_end(); // a page that cannot close a session is not used for another one
		else
			serve_remove(
				page_host_of(b->generation)->serve, arena_printf(&s->arena, "session-%lld-", (long long)b->id));
		json_decref(head);
		json_decref(command);
		text_done(&reply);
	}
	for (int i = 0; i < 2; i++)
		text_done(&b->reply[i]);
	memset(b, 0, sizeof *b);
}

const struct backend backend_browser = {
	.name = "browser",
	.summary = "onnxruntime-web in a browser",
	.caps = BACKEND_TIMES_ITSELF | BACKEND_NEEDS_PARTS,
	.session_size = sizeof(struct browser_session),
	.options = options,
	.providers = providers,
	.devices = browser_devices,
	.open = browser_open,
	.run = browser_run,
	.close = browser_close,
	.explain = browser_explain,
	.memory = page_host_memory,
	.end = page_host_end,
};
