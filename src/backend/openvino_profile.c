// SPDX-License-Identifier: Apache-2.0
// How long each node of OpenVINO's own graph takes, from the performance counters of a second compiled model. The counters of the
// CPU plugin (2026.4) hold the mean over every run of the model so far, in whole microseconds, also through a new request; the
// time of run n is n times the mean after it less n - 1 times the mean before it, right to n us. Plugins that keep the last run
// alone are told by a sum that does not follow: both readings are compared with the clock, and the nearer one is taken.
#include "backend/openvino.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { WARM_RUNS = 2, RUNS_LEAST = 5 };
#define RUNS_NS ((int64_t)10000000000) // after so long the least will do

// Nodes that ran; one that was merged away has the kernel "undef".
static bool counts(const ov_profiling_info_t *n)
{
	return !text_starts(n->exec_type, "undef") && !text_is(n->node_type, "Parameter") && !text_is(n->node_type, "Constant") &&
		!text_is(n->node_type, "Result");
}

static void list_nodes(struct profile *out, const ov_profiling_info_list_t *list, const char *devices)
{
	out->nodes = ARENA_ARRAY(out->arena, list->size + 1, struct profiled_node);
	out->count = 0;
	for (size_t i = 0; i < list->size; i++) {
		const ov_profiling_info_t *n = &list->profiling_infos[i];

		if (counts(n))
			out->nodes[out->count++] = (struct profiled_node){ .name = arena_strdup(out->arena, n->node_name),
				.op = arena_strdup(out->arena, n->node_type),
				.kernel = arena_strdup(out->arena, n->exec_type),
				.where = arena_strdup(out->arena, devices) };
	}
}

// The counters after a run, in the order of out->nodes.
static enum status read_counters(const struct ov_library *l, ov_infer_request_t *request, struct profile *out,
	const char *devices, size_t run, size_t runs, double **means, struct error *err)
{
	ov_profiling_info_list_t list = { 0 };
	enum status st = ov_check(l, l->ov_infer_request_get_profiling_info(request, &list), "reading performance counters", err);
	size_t n = 0;

	if (st)
		return st;
	if (!out->nodes) {
		list_nodes(out, &list, devices);
		*means = ARENA_ARRAY(out->arena, runs * out->count + 1, double);
	}
	for (size_t i = 0; i < list.size && !st; i++) {
		if (!counts(&list.profiling_infos[i]))
			continue;
		if (n == out->count || !text_is(out->nodes[n].name, list.profiling_infos[i].node_name))
			st = error_set(err, STATUS_FAILED, "its counters name other nodes in one run than in another");
		else
			(*means)[run * out->count + n++] = (double)list.profiling_infos[i].real_time / 1e3;
	}
	l->ov_profiling_info_list_free(&list);
	return st;
}

// means: after each run, the warm ones too. Which reading is the plugin's shows in how far each is from the clock.
static void read_runs(const struct profile *out, const double *means, const double *whole_ms, size_t runs, double *ms)
{
	double off_mean = 0, off_last = 0;

	for (size_t r = 0; r < runs; r++) {
		const double *behind = means + (r + WARM_RUNS) * out->count, *before = behind - out->count;
		double n = (double)(r + WARM_RUNS + 1), of_mean = 0, last = 0;

		for (size_t i = 0; i < out->count; i++) {
			double own = n * behind[i] - (n - 1) * before[i];

			ms[r * out->count + i] = own > 0 ? own : 0;
			of_mean += own;
			last += behind[i];
		}
		off_mean += fabs(of_mean - whole_ms[r]);
		off_last += fabs(last - whole_ms[r]);
	}
	if (off_last < off_mean)
		memcpy(ms, means + WARM_RUNS * out->count, runs * out->count * sizeof *ms);
}

enum status ov_profile(
	struct session *s, const struct artifact *a, const struct tensor *in, struct profile *out, struct error *err)
{
	const struct ov_library *l = &((struct openvino *)s->state)->library;
	ov_tensor_t **held = ARENA_ARRAY(&s->arena, s->input_count + 1, ov_tensor_t *);
	const char *devices = session_option(s, "EXECUTION_DEVICES");
	size_t most = (size_t)out->runs, runs = 0;
	double *whole_ms = ARENA_ARRAY(out->arena, most + 1, double), *means = NULL, *ms;
	ov_compiled_model_t *model = NULL;
	ov_infer_request_t *request = NULL;
	int64_t begin;
	enum status st = ov_open_counted(s, a, devices ? devices : s->device, in, &request, &model, held, err);

	begin = clock_ns();
	for (size_t r = 0; r < most + WARM_RUNS && !st; r++) {
		int64_t before = clock_ns();

		if ((st = ov_check(l, l->ov_infer_request_infer(request), "running", err)))
			break;
		if (r >= WARM_RUNS)
			whole_ms[runs++] = (double)(clock_ns() - before) / 1e6;
		st = read_counters(l, request, out, devices ? devices : s->device, r, most + WARM_RUNS, &means, err);
		if (runs >= RUNS_LEAST && clock_ns() - begin > RUNS_NS)
			break;
	}
	ov_close_counted(s, request, model, held);
	if (!st && !out->count)
		st = error_set(err, STATUS_UNSUPPORTED, "%s has no performance counters", s->device);
	if (st)
		return st;
	ms = ARENA_ARRAY(out->arena, runs * out->count + 1, double);
	read_runs(out, means, whole_ms, runs, ms);
	profile_gather(out, ms, whole_ms, runs);
	return STATUS_OK;
}
