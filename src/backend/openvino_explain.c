// SPDX-License-Identifier: Apache-2.0
// Where OpenVINO ran each node of the graph as built. The C API cannot walk a compiled model, so a second, untimed one with
// performance counters runs once and its counters are joined to our node names. What the counters of 2026.4 say (bert-base):
//   - an operation that stayed itself keeps our name and has a kernel: "jit_avx512_f32", or "unknown_f32" for a view of memory;
//   - one that was merged shows under the name of what it was merged into (scale, mask, Softmax and both products of attention
//     in one "Subgraph"), under a new name ("MVN_53" for LayerNormalization), or by its own name with the kernel "undef".
// So a node of ours is "on the device" when a counter of its name has a kernel, and "fused away" otherwise. The counters' status
// is no help: a node that takes less than a microsecond is EXECUTED in one run and NOT_RUN in the next.
// HETERO cuts the graph into submodels and writes "subgraph3: " before a counter's name; which submodel went to which device it
// does not tell, so with more than one device a node's place is the submodel, and how many are on the asked device is not known.
#include "backend/openvino.h"

#include <stdlib.h>
#include <string.h>

#include "backend/outline.h"
#include "base/text.h"

struct counter {
	const char *name, *kernel;
	int64_t submodel; // -1: the graph is one
	double ms;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct counter *)a)->name, ((const struct counter *)b)->name);
}

// "subgraph3: layers.0/attn/MatMul" -> 3 and the rest.
static void split_name(struct arena *a, const char *name, struct counter *out)
{
	const char *colon = text_starts(name, "subgraph") ? strchr(name, ':') : NULL;
	const size_t prefix = strlen("subgraph");

	out->submodel = -1;
	out->name = arena_strdup(a, name);
	if (colon && colon[1] == ' ' &&
		text_to_int(arena_strndup(a, name + prefix, (size_t)(colon - name) - prefix), 0, 1000000, &out->submodel))
		out->name += colon + 2 - name;
}

static struct counter *sort_counters(struct arena *a, const ov_profiling_info_list_t *list, int64_t *submodels)
{
	struct counter *out = ARENA_ARRAY(a, list->size + 1, struct counter);

	*submodels = 1;
	for (size_t i = 0; i < list->size; i++) {
		split_name(a, list->profiling_infos[i].node_name, &out[i]);
		out[i].kernel = arena_strdup(a, list->profiling_infos[i].exec_type);
		out[i].ms = (double)list->profiling_infos[i].real_time / 1e3;
		if (out[i].submodel >= *submodels)
			*submodels = out[i].submodel + 1;
	}
	qsort(out, list->size, sizeof *out, by_name);
	return out;
}

static void join(const struct outline *built, const struct counter *counters, size_t count, const char *devices,
	int64_t submodels, struct placement *p)
{
	bool one = !strpbrk(devices, " ,"); // device
	size_t joined = 0, unnamed = 0;
	int64_t placed = 0;

	p->nodes = ARENA_ARRAY(p->arena, built->node_count + 1, struct placed_node);
	p->count = built->node_count;
	for (size_t i = 0; i < built->node_count; i++) {
		struct counter key = { .name = built->nodes[i].name };
		const struct counter *hit = *key.name ? bsearch(&key, counters, count, sizeof *counters, by_name) : NULL;

		unnamed += !*key.name;
		joined += hit != NULL;
		p->nodes[i] = (struct placed_node){ .name = built->nodes[i].name, .op = built->nodes[i].op };
		if (!hit || text_starts(hit->kernel, "undef")) {
			p->nodes[i].fused_away = true;
			p->fused++;
			continue;
		}
		p->nodes[i].where = one || hit->submodel < 0
			? arena_strdup(p->arena, devices)
			: arena_printf(p->arena, "submodel %lld of %s", (long long)hit->submodel, devices);
		p->nodes[i].kernel = hit->kernel;
		p->nodes[i].ms = hit->ms;
		placed++;
	}
	if (unnamed) {
		p->note = arena_printf(
			p->arena, "cannot be joined: %zu of %zu nodes of the file have no name", unnamed, built->node_count);
		return;
	}
	p->partitions = submodels;
	p->on_platform = one ? placed : -1;
	p->elsewhere = one ? 0 : -1;
	p->copies = one && submodels == 1 ? 0 : -1;
	p->note = arena_printf(p->arena,
		"performance counters of a second compile, %s%s: %zu of %zu nodes by name, %zu of OpenVINO's own%s",
		one ? "all on " : "on ", devices, joined, built->node_count, count - joined,
		one ? "" : "; which submodel is on which device it does not tell");
}

// The properties of a device that hands the work to others are theirs.
static enum status count_on(struct session *s, const char *devices, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	enum status st = STATUS_OK;

	if (!ov_is_meta(s->device))
		return ov_check(l, l->ov_core_set_property(o->core, s->device, "PERF_COUNT", "YES"), "PERF_COUNT", err);
	for (const char *at = devices; *at && !st;) {
		size_t n = strcspn(at, " ,");

		if (n)
			st = ov_check(l, l->ov_core_set_property(o->core, arena_strndup(&s->arena, at, n), "PERF_COUNT", "YES"),
				"PERF_COUNT", err);
		at += n + (at[n] != 0);
	}
	return st;
}

enum status ov_open_counted(struct session *s, const struct artifact *a, const char *devices, const struct tensor *in,
	ov_infer_request_t **request, ov_compiled_model_t **model, ov_tensor_t **held, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	enum status st;

	// A blob with counters is another one: it must not lie among those that are kept.
	if ((st = count_on(s, devices, err)) ||
		(st = ov_check(l, l->ov_core_set_property(o->core, "", "CACHE_DIR", ""), "CACHE_DIR", err)) ||
		(st = ov_compile(s, a, model, err)) ||
		(st = ov_check(l, l->ov_compiled_model_create_infer_request(*model, request), "making a request", err)) ||
		(st = ov_give_inputs(s, *request, in, held, NULL, err)))
		return st;
	return STATUS_OK;
}

void ov_close_counted(struct session *s, ov_infer_request_t *request, ov_compiled_model_t *model, ov_tensor_t **held)
{
	const struct ov_library *l = &((struct openvino *)s->state)->library;

	for (size_t i = 0; i < s->input_count; i++)
		if (held[i])
			l->ov_tensor_free(held[i]);
	if (request)
		l->ov_infer_request_free(request);
	if (model)
		l->ov_compiled_model_free(model);
}

enum status ov_explain(
	struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err)
{
	const struct ov_library *l = &((struct openvino *)s->state)->library;
	ov_tensor_t **held = ARENA_ARRAY(&s->arena, s->input_count + 1, ov_tensor_t *);
	ov_profiling_info_list_t counters = { 0 };
	ov_compiled_model_t *model = NULL;
	ov_infer_request_t *request = NULL;
	const char *devices = session_option(s, "EXECUTION_DEVICES");
	struct outline built;
	enum status st;

	if (!devices || !*devices) {
		out->note = arena_printf(out->arena, "%s does not tell on which devices it ran", s->device);
		return STATUS_OK;
	}
	if (!in) {
		// The counters need a run. But a model is compiled for one device as a whole, or not at all.
		bool single = !strpbrk(devices, " ,");

		out->elsewhere = single ? 0 : -1;
		out->note = single
			? arena_printf(out->arena, "compiled for %s alone: what it does not take is an error there", devices)
			: arena_printf(out->arena, "compiled for %s; which node is on which shows only when it runs", devices);
		return STATUS_OK;
	}
	st = outline_read(&built, out->arena, a->graph, a->graph_nbytes, err);
	if (!st && !(st = ov_open_counted(s, a, devices, in, &request, &model, held, err)) &&
		!(st = ov_check(l, l->ov_infer_request_infer(request), "running", err)) &&
		!(st = ov_check(
			  l, l->ov_infer_request_get_profiling_info(request, &counters), "reading performance counters", err))) {
		int64_t submodels;
		struct counter *sorted = sort_counters(out->arena, &counters, &submodels);

		join(&built, sorted, counters.size, devices, submodels, out);
		l->ov_profiling_info_list_free(&counters);
	}
	ov_close_counted(s, request, model, held);
	return st;
}
