// SPDX-License-Identifier: Apache-2.0
// Where OpenVINO ran each node of the graph as drawn. The C API cannot walk a compiled model, so a second, untimed one with
// performance counters runs once and its counters are joined to our node names. What the counters of 2026.4 say (bert-base):
//   - an operation that stayed itself keeps our name and has a kernel: "jit_avx512_f32", or "unknown_f32" for a view of memory;
//   - one that was merged shows under the name of what it was merged into (scale, mask, Softmax and both products of attention
//     in one "Subgraph"), under a new name ("MVN_53" for LayerNormalization), or by its own name with the kernel "undef".
// So a node of ours is "on the device" when a counter of its name has a kernel, and "fused away" otherwise. The counters' status
// is no help: a node that takes less than a microsecond is EXECUTED in one run and NOT_RUN in the next.
#include "backend/openvino.h"

#include <stdlib.h>
#include <string.h>

#include "backend/outline.h"
#include "base/text.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(((const ov_profiling_info_t *)a)->node_name, ((const ov_profiling_info_t *)b)->node_name);
}

static void join(
	struct session *s, const struct outline *drawn, const ov_profiling_info_t *counters, size_t count, struct placement *p)
{
	const char *devices = session_option(s, "EXECUTION_DEVICES");
	size_t joined = 0, unnamed = 0;

	p->nodes = ARENA_ARRAY(p->arena, drawn->node_count + 1, struct placed_node);
	p->count = drawn->node_count;
	p->on_platform = 0;
	for (size_t i = 0; i < drawn->node_count; i++) {
		ov_profiling_info_t key = { .node_name = drawn->nodes[i].name };
		const ov_profiling_info_t *hit =
			*key.node_name ? bsearch(&key, counters, count, sizeof *counters, by_name) : NULL;

		unnamed += !*key.node_name;
		joined += hit != NULL;
		p->nodes[i] = (struct placed_node){ .name = drawn->nodes[i].name, .op = drawn->nodes[i].op };
		if (!hit || text_starts(hit->exec_type, "undef")) {
			p->nodes[i].fused_away = true;
			p->fused++;
			continue;
		}
		p->nodes[i].where = arena_strdup(p->arena, devices);
		p->nodes[i].kernel = arena_strdup(p->arena, hit->exec_type);
		p->nodes[i].ms = (double)hit->real_time / 1e3;
		p->on_platform++;
	}
	if (unnamed) {
		p->on_platform = -1;
		p->note = arena_printf(
			p->arena, "cannot be joined: %zu of %zu nodes of the file have no name", unnamed, drawn->node_count);
	} else {
		p->note = arena_printf(p->arena,
			"performance counters of a second compile, all on %s: %zu of %zu nodes by name, %zu of OpenVINO's own",
			devices, joined, drawn->node_count, count - joined);
	}
}

static enum status profile(struct session *s, const struct artifact *a, const struct tensor *in, ov_infer_request_t **request,
	ov_compiled_model_t **model, ov_tensor_t **held, ov_profiling_info_list_t *counters, struct error *err)
{
	struct openvino *o = s->state;
	const struct ov_library *l = &o->library;
	enum status st;

	if ((st = ov_check(l, l->ov_core_set_property(o->core, s->device, "PERF_COUNT", "YES"), "PERF_COUNT", err)) ||
		(st = ov_compile(s, a, model, err)) ||
		(st = ov_check(l, l->ov_compiled_model_create_infer_request(*model, request), "making a request", err)) ||
		(st = ov_give_inputs(s, *request, in, held, NULL, err)) ||
		(st = ov_check(l, l->ov_infer_request_infer(*request), "running", err)))
		return st;
	return ov_check(l, l->ov_infer_request_get_profiling_info(*request, counters), "reading performance counters", err);
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
	struct outline drawn;
	enum status st;

	if (ov_is_meta(s->device) || !devices || strpbrk(devices, " ,")) {
		out->note = arena_printf(out->arena, "%s ran on %s; OpenVINO does not tell which node ran on which", s->device,
			devices ? devices : "an unknown device");
		return STATUS_OK;
	}
	st = outline_read(&drawn, out->arena, a->graph, a->graph_nbytes, err);
	if (!st && !(st = profile(s, a, in, &request, &model, held, &counters, err))) {
		ov_profiling_info_t *sorted = ARENA_ARRAY(out->arena, counters.size + 1, ov_profiling_info_t);

		// A copy, because the list's own order may matter to whoever frees it.
		if (counters.size)
			memcpy(sorted, counters.profiling_infos, counters.size * sizeof *sorted);
		qsort(sorted, counters.size, sizeof *sorted, by_name);
		join(s, &drawn, sorted, counters.size, out);
		l->ov_profiling_info_list_free(&counters);
	}
	for (size_t i = 0; i < s->input_count; i++)
		if (held[i])
			l->ov_tensor_free(held[i]);
	if (request)
		l->ov_infer_request_free(request);
	if (model)
		l->ov_compiled_model_free(model);
	return st;
}
