// SPDX-License-Identifier: Apache-2.0
// Where ONNX Runtime put each node of the graph as drawn.
// A second session records it, so that the measured one has nothing beside its work; without prepacking it loads in
// milliseconds. The record is made right behind the basic rewrites: a node of ours that it does not name was folded or
// merged into another one there. Fusions of the higher levels come later and do not show.
#include "backend/ort.h"

#include <stdlib.h>
#include <string.h>

#include "backend/outline.h"

struct assigned {
	const char *name, *op, *provider;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct assigned *)a)->name, ((const struct assigned *)b)->name);
}

// Every node of the session with its provider, sorted by name. The strings are the session's.
static enum status read_record(
	const OrtApi *api, OrtSession *session, struct arena *a, struct assigned **out, size_t *count, struct error *err)
{
	const OrtEpAssignedSubgraph *const *parts = NULL;
	struct assigned *nodes = NULL;
	size_t part_count = 0, n = 0;
	enum status st = ort_check(
		api, api->Session_GetEpGraphAssignmentInfo(session, &parts, &part_count), "asking where nodes run", err);

	for (int pass = 0; pass < 2 && !st; pass++) { // count, then fill
		if (pass)
			nodes = ARENA_ARRAY(a, n + 1, struct assigned);
		n = 0;
		for (size_t i = 0; i < part_count && !st; i++) {
			const OrtEpAssignedNode *const *members = NULL;
			size_t member_count = 0;
			const char *provider = NULL;

			if ((st = ort_check(api, api->EpAssignedSubgraph_GetEpName(parts[i], &provider), "asking where nodes run",
				     err)) ||
				(st = ort_check(api, api->EpAssignedSubgraph_GetNodes(parts[i], &members, &member_count),
					 "asking where nodes run", err)))
				break;
			for (size_t k = 0; pass && k < member_count && !st; k++) {
				nodes[n + k].provider = provider;
				st = ort_check(
					api, api->EpAssignedNode_GetName(members[k], &nodes[n + k].name), "reading a node", err);
				if (!st)
					st = ort_check(api, api->EpAssignedNode_GetOperatorType(members[k], &nodes[n + k].op),
						"reading a node", err);
			}
			n += member_count;
		}
	}
	if (st)
		return st;
	qsort(nodes, n, sizeof *nodes, by_name);
	*out = nodes;
	*count = n;
	return STATUS_OK;
}

static void join(
	const struct outline *drawn, const struct assigned *nodes, size_t count, const char *provider, struct placement *p)
{
	size_t joined = 0, elsewhere = 0, unnamed = 0;

	p->nodes = ARENA_ARRAY(p->arena, drawn->node_count + 1, struct placed_node);
	p->count = drawn->node_count;
	p->on_platform = 0;
	for (size_t i = 0; i < drawn->node_count; i++) {
		struct assigned key = { .name = drawn->nodes[i].name };
		const struct assigned *hit = *key.name ? bsearch(&key, nodes, count, sizeof *nodes, by_name) : NULL;

		unnamed += !*key.name;
		p->nodes[i] = (struct placed_node){ .name = key.name, .op = drawn->nodes[i].op, .fused_away = !hit };
		if (!hit) {
			p->fused++;
			continue;
		}
		joined++;
		p->nodes[i].where = arena_strdup(p->arena, hit->provider);
		p->nodes[i].kernel = arena_strdup(p->arena, hit->op);
		if (strcmp(hit->provider, provider))
			elsewhere++;
		else
			p->on_platform++;
	}
	if (unnamed) {
		p->on_platform = -1;
		p->note = arena_printf(
			p->arena, "cannot be joined: %zu of %zu nodes of the file have no name", unnamed, drawn->node_count);
		return;
	}
	p->note = arena_printf(p->arena,
		"ONNX Runtime's assignment record after its basic rewrites: %zu of %zu nodes by name, %zu on another provider, "
		"%zu nodes of its own",
		joined, drawn->node_count, elsewhere, count - joined);
}

enum status ort_explain(
	struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err)
{
	struct ort *o = s->state;
	const OrtApi *api = o->library.api;
	OrtSession *session = NULL;
	struct outline drawn;
	struct assigned *nodes;
	size_t count;
	enum status st;

	(void)in;
	if (o->library.version < 24) {
		out->note = arena_printf(
			out->arena, "ONNX Runtime %s does not tell where nodes run; 1.24 and later do", o->library.text);
		return STATUS_OK;
	}
	if ((st = outline_read(&drawn, out->arena, a->graph, a->graph_nbytes, err)) ||
		(st = ort_create_session(s, a, true, &session, err)))
		return st;
	if (!(st = read_record(api, session, out->arena, &nodes, &count, err)))
		join(&drawn, nodes, count, session_option(s, "provider"), out);
	api->ReleaseSession(session);
	return st;
}
