// SPDX-License-Identifier: Apache-2.0
// A profile for the terminal. Columns have one unit each, so that numbers can be compared down the line.
#include <math.h>
#include <string.h>

#include "report/profile/profile.h"
#include "base/visible.h"
#include "report/summary.h"

enum { NAME_WIDTH = 46 };
static const double scope_least = 0.002; // of the time; smaller parts of a layer are summed in their layer

// A name that is too long keeps its end, which tells the node.
static const char *shortened(struct arena *a, const char *name, size_t width)
{
	size_t n = strlen(name);

	return n <= width ? name : arena_printf(a, "..%s", name + n - width + 2);
}

static void line(const struct profile_view *v, struct text *out, int indent, const char *name, const struct profile_sum *s,
	const char *behind)
{
	struct arena *a = v->arena;
	double roof = profile_share(s);

	visible_addf(out, "%*s%-*s %9.3f %6.1f %6zu %9s %8s %12s  %s\n", 2 + indent, "", NAME_WIDTH - indent,
		shortened(a, name, (size_t)(NAME_WIDTH - indent)), s->ms, s->ms / v->whole_ms * 100, s->nodes,
		profile_rate(a, s, s->flops), profile_rate(a, s, s->bytes),
		isnan(roof) ? "" : arena_printf(a, "%.0f %s", roof * 100, s->memory_ms > s->roof_ms / 2 ? "memory" : "compute"),
		behind);
}

static void head(struct text *out, const char *what)
{
	visible_addf(out, "\n  %-*s %9s %6s %6s %9s %8s %12s\n", NAME_WIDTH, what, "ms", "% time", "nodes", "GFLOP/s", "GB/s",
		"% of roof");
}

static const char *instances(struct arena *a, const struct profile_scope *s)
{
	if (s->instances < 2)
		return "";
	return arena_printf(a, "%s%zu, each %.3f to %.3f ms",
		strchr(s->name, '*') ? arena_printf(a, "%s to %s: ", s->first, s->last) : "in ", s->instances, s->least_ms,
		s->most_ms);
}

static void rest(const struct profile_view *v, struct text *out)
{
	if (v->not_named_ms > 0) {
		struct profile_sum s = { .ms = v->not_named_ms };

		for (size_t i = 0; i < v->node_count; i++)
			s.nodes += !v->nodes[i].scope;
		line(v, out, 0, "(not named)", &s, "");
	}
	visible_addf(
		out, "  %-*s %9.3f %6.1f\n", NAME_WIDTH, "(between nodes)", v->between_ms, v->between_ms / v->whole_ms * 100);
	visible_addf(out, "  %-*s %9.3f %6.1f %6zu\n", NAME_WIDTH, "whole", v->whole_ms, 100.0, v->node_count);
}

void profile_view_text(const struct profile_view *v, size_t top, struct text *out)
{
	struct arena *a = v->arena;
	const struct row *r = v->row;

	visible_addf(out, "%s on %s, %s%s%s, row %lld: %lld profiled runs of %s (mean of the middle %lld)", r->model,
		r->requested, r->engine ? r->engine : "?", r->engine_version ? " " : "",
		r->engine_version ? r->engine_version : "", (long long)r->row,
		(long long)json_integer_value(json_object_get(v->facts, "runs")), report_ms(a, v->whole_ms),
		(long long)json_integer_value(json_object_get(v->facts, "runs_taken")));
	if (r->latency_ms > 0 && v->overhead >= 1)
		visible_addf(out, "; without the profile %s, so it costs %+.1f %%", report_ms(a, r->latency_ms),
			(v->overhead - 1) * 100);
	else if (r->latency_ms > 0)
		visible_addf(out, "; without the profile %s: what it costs cannot be told", report_ms(a, r->latency_ms));
	visible_addf(out, ".\nThe nodes make up %.1f %% of it%s.%s\n", v->nodes_ms / v->whole_ms * 100,
		r->device_ms > 0 ? arena_printf(a, ", %s of them by the device's own clock", report_ms(a, r->device_ms)) : "",
		r->emulated == 1 ? " EMULATED: a software device, whose times say nothing about the hardware." : "");
	if (isfinite(r->peak_gflops))
		visible_addf(out, "Roofs: %.*f GFLOP/s (%s)",
			r->peak_gflops < 1            ? 3
				: r->peak_gflops < 10 ? 1
						      : 0,
			r->peak_gflops, json_string_value(json_object_get(v->facts, "peak_by")));
	if (isfinite(r->peak_gflops) && isfinite(r->bandwidth_gb_s))
		visible_addf(out, ", %.1f GB/s from memory and %.0f GB/s within the caches", r->bandwidth_gb_s,
			json_number_value(json_object_get(v->facts, "cache_gb_s")));
	if (isfinite(r->peak_gflops))
		visible_addf(out, ", measured in the same process%s.\n",
			isfinite(r->bandwidth_gb_s) ? ""
						    : "; the bandwidth of this device is not measured, so there is no share");

	head(out, "layer");
	for (size_t i = 0; i < v->scope_count; i++)
		if (v->scopes[i].depth == 0 || (v->scopes[i].depth < 3 && v->scopes[i].sum.ms / v->whole_ms >= scope_least))
			line(v, out, 2 * v->scopes[i].depth, v->scopes[i].name, &v->scopes[i].sum, instances(a, &v->scopes[i]));
	rest(v, out);
	head(out, "kind of node");
	for (size_t i = 0; i < v->op_count && v->ops[i].sum.ms / v->whole_ms >= 0.001; i++)
		line(v, out, 0, v->ops[i].op, &v->ops[i].sum, "");
	if (top)
		head(out, "slowest nodes");
	for (size_t i = 0; i < v->node_count && i < top; i++) {
		const struct profile_node *n = &v->nodes[v->slowest[i]];

		line(v, out, 0, n->name, &n->sum, n->kernel && *n->kernel ? arena_printf(a, "%s %s", n->op, n->kernel) : n->op);
	}
	text_add(out, "\n");
	for (size_t i = 0; i < v->sentence_count; i++)
		visible_addf(out, "%s\n", v->sentences[i]);
}
