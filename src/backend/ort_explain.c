// SPDX-License-Identifier: Apache-2.0
// Where ONNX Runtime put each node of the graph as built.
// The record is made right after the basic rewrites: a node of ours that it does not name was folded or merged into another one
// there. Fusions of the higher levels come later and do not show.
// Of the processor a second session records it, so that the measured one has nothing beside its work; without prepacking it loads
// in milliseconds. Other providers compile for long, so there the measured session keeps it, and only where nodes
// were left out a second one tells why. Copies are added later than the record; the log counts them.
#include "backend/ort.h"

#include <stdlib.h>
#include <string.h>

#include "backend/outline.h"
#include "base/text.h"

struct assigned {
	const char *name, *op, *provider;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct assigned *)a)->name, ((const struct assigned *)b)->name);
}

// Every node of the session with its provider, sorted by name. The strings are the session's. *parts: how many stretches
// `provider` took.
static enum status read_record(const OrtApi *api, OrtSession *session, struct arena *a, const char *provider,
	struct assigned **out, size_t *count, int64_t *parts, struct error *err)
{
	const OrtEpAssignedSubgraph *const *stretches = NULL;
	struct assigned *nodes = NULL;
	size_t stretch_count = 0, n = 0;
	enum status st = ort_check(
		api, api->Session_GetEpGraphAssignmentInfo(session, &stretches, &stretch_count), "asking where nodes run", err);

	for (int pass = 0; pass < 2 && !st; pass++) { // count, then fill
		if (pass)
			nodes = ARENA_ARRAY(a, n + 1, struct assigned);
		n = 0;
		*parts = 0;
		for (size_t i = 0; i < stretch_count && !st; i++) {
			const OrtEpAssignedNode *const *members = NULL;
			size_t member_count = 0;
			const char *by = NULL;

			if ((st = ort_check(
				     api, api->EpAssignedSubgraph_GetEpName(stretches[i], &by), "asking where nodes run", err)) ||
				(st = ort_check(api, api->EpAssignedSubgraph_GetNodes(stretches[i], &members, &member_count),
					 "asking where nodes run", err)))
				break;
			*parts += text_is(by, provider);
			for (size_t k = 0; pass && k < member_count && !st; k++) {
				nodes[n + k].provider = by;
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

// Stretches of the file's order, which is the order of execution, that the provider took: for one with kernels for single nodes.
static int64_t count_stretches(const struct placement *p, const char *provider)
{
	const char *before = NULL;
	int64_t n = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->nodes[i].fused_away)
			continue;
		n += text_is(p->nodes[i].where, provider) && !text_is(before, provider);
		before = p->nodes[i].where;
	}
	return n;
}

// False: nodes of the file have no name, and only numbers are known.
static bool join(
	const struct outline *built, const struct assigned *nodes, size_t count, const char *provider, struct placement *p)
{
	size_t elsewhere = 0, unnamed = 0, taken = 0;

	p->nodes = ARENA_ARRAY(p->arena, built->node_count + 1, struct placed_node);
	p->count = built->node_count;
	p->on_platform = 0;
	for (size_t i = 0; i < built->node_count; i++) {
		struct assigned key = { .name = built->nodes[i].name };
		const struct assigned *hit = *key.name ? bsearch(&key, nodes, count, sizeof *nodes, by_name) : NULL;

		unnamed += !*key.name;
		p->nodes[i] = (struct placed_node){ .name = key.name, .op = built->nodes[i].op, .fused_away = !hit };
		if (built->nodes[i].dtype)
			p->nodes[i].dtype = dtype_word(built->nodes[i].dtype);
		if (!hit) {
			p->fused++;
			continue;
		}
		p->nodes[i].where = arena_strdup(p->arena, hit->provider);
		p->nodes[i].kernel = arena_strdup(p->arena, hit->op);
		if (text_is(hit->provider, provider))
			p->on_platform++;
	}
	// Nodes that ONNX Runtime made of ours count too: a fused one on the processor is on the processor.
	for (size_t i = 0; i < count; i++)
		*(text_is(nodes[i].provider, provider) ? &taken : &elsewhere) += 1;
	p->elsewhere = (int64_t)elsewhere;
	if (unnamed) {
		// Whichever they are: where the provider has none of those that run, it took none.
		p->on_platform = count && !taken ? 0 : -1;
		p->fused = -1;
		p->note = arena_printf(p->arena, "%scannot be joined: %zu of %zu nodes of the file have no name",
			p->on_platform < 0 ? "" : "none on the provider; ", unnamed, built->node_count);
	}
	return !unnamed;
}

// ---- a second session that tells more -----------------------------------------------------------------------------------

// It is not run. What it tells is in the log until the next session; one that is not made tells nothing, or half of it.
static enum status listen(struct session *s, const struct artifact *a, struct arena *arena, struct error *err)
{
	const OrtApi *api = ((struct ort *)s->state)->library.api;
	OrtSession *session = NULL;

	ort_log_begin(arena);
	enum status st = ort_create_session(s, a, ORT_REASONS, &session, err);
	if (!st)
		api->ReleaseSession(session);
	return st;
}

// Every: all nodes that run are on one provider, `by`, and only their number is told.
static void read_log(struct arena *a, struct assigned **out, size_t *count, int64_t *every, const char **by)
{
	struct assigned *nodes;
	size_t n = 0;

	for (const struct ort_logged *l = ort_log_placed(); l; l = l->next)
		n++;
	nodes = ARENA_ARRAY(a, n + 1, struct assigned);
	n = 0;
	*every = 0;
	for (const struct ort_logged *l = ort_log_placed(); l; l = l->next) {
		if (l->name) {
			nodes[n++] = (struct assigned){ l->name, l->op, l->provider };
		} else {
			*every = l->every;
			*by = l->provider;
		}
	}
	qsort(nodes, n, sizeof *nodes, by_name);
	*out = nodes;
	*count = n;
}

// All that run are on one provider, `by`, and they are not listed: the others were folded or merged, whichever they are.
static void all_on(const struct outline *built, const char *provider, const char *by, int64_t every, struct placement *p)
{
	int64_t run = every < (int64_t)built->node_count ? every : (int64_t)built->node_count;

	p->nodes = ARENA_ARRAY(p->arena, built->node_count + 1, struct placed_node);
	p->count = built->node_count;
	for (size_t i = 0; i < p->count; i++) {
		p->nodes[i] = (struct placed_node){ .name = built->nodes[i].name, .op = built->nodes[i].op, .where = by };
		if (built->nodes[i].dtype)
			p->nodes[i].dtype = dtype_word(built->nodes[i].dtype);
	}
	p->on_platform = text_is(by, provider) ? run : 0;
	p->elsewhere = text_is(by, provider) ? 0 : every;
	p->fused = (int64_t)p->count - run;
}

static void give_reasons(struct placement *p, const char *provider)
{
	for (size_t i = 0; i < p->count; i++)
		if (!p->nodes[i].fused_away && !text_is(p->nodes[i].where, provider))
			p->nodes[i].reason = ort_log_reason(p->nodes[i].name);
}

static void describe(const struct ort *o, const struct assigned *nodes, size_t count, const char *provider, struct placement *p)
{
	const struct placed_node *first = NULL;
	const struct assigned *made = NULL;
	struct text note = { 0 };

	for (size_t i = 0; i < p->count && !first; i++)
		if (!p->nodes[i].fused_away && !text_is(p->nodes[i].where, provider))
			first = &p->nodes[i];
	for (size_t i = 0; i < count && !first && !made; i++)
		if (!text_is(nodes[i].provider, provider))
			made = &nodes[i];
	text_addf(&note, "%lld of %zu nodes on %s", (long long)p->on_platform, p->count, provider);
	if (p->partitions >= 0)
		text_addf(&note, " in %lld partition%s", (long long)p->partitions, p->partitions == 1 ? "" : "s");
	if (p->fused)
		text_addf(&note, ", %lld folded or merged before", (long long)p->fused);
	if (p->copies > 0)
		text_addf(&note, ", %lld copies between devices", (long long)p->copies);
	if (first)
		text_addf(&note, "; first left out: %s%s%s%s%s", first->op, first->dtype ? " " : "",
			first->dtype ? first->dtype : "", first->reason ? ": " : "", first->reason ? first->reason : "");
	else if (made)
		text_addf(&note, "; first left out: %s (made by ONNX Runtime)", made->op);
	if (o->trouble && p->on_platform == 0)
		text_addf(&note, "; ONNX Runtime said: %s", o->trouble);
	p->note = arena_strdup(p->arena, text_get(&note));
	text_done(&note);
}

// The compiled file has EPContext nodes instead of ours.
static void describe_context(const struct assigned *nodes, size_t count, const char *provider, struct placement *p)
{
	p->elsewhere = 0;
	for (size_t i = 0; i < count; i++)
		p->elsewhere += !text_is(nodes[i].provider, provider);
	p->note = arena_printf(p->arena,
		"opened from a compiled context: %lld partitions on %s, whose nodes have no names, and %lld nodes elsewhere",
		(long long)p->partitions, provider, (long long)p->elsewhere);
}

static void place(struct session *s, const struct artifact *a, const struct outline *built, struct assigned *nodes, size_t count,
	struct placement *p)
{
	struct ort *o = s->state;
	const struct ort_provider *own = s->provider->detail;
	const char *by = NULL;
	int64_t every = 0;
	bool listened = own->unrecorded && o->recorded;
	struct error err = { 0 };

	if (listened) {
		if (listen(s, a, p->arena, &err)) {
			p->on_platform = p->elsewhere = p->fused = p->partitions = -1;
			p->note = arena_printf(p->arena, "the session that tells where nodes run was not made: %s", err.text);
			return;
		}
		read_log(p->arena, &nodes, &count, &every, &by);
	}
	for (size_t i = 0; listened && i < count; i++)
		p->copies += text_starts(nodes[i].op, "Memcpy");
	if (every) {
		all_on(built, own->ep, by, every, p);
	} else if (!join(built, nodes, count, own->ep, p)) {
		p->partitions = -1;
		return;
	}
	if (!own->compiles)
		p->partitions = count_stretches(p, own->ep);
	// All that run may be nodes that ONNX Runtime made of ours: none of the file's, and work for the provider all the same.
	for (size_t i = 0; i < count && p->partitions == 0; i++)
		p->partitions = text_is(nodes[i].provider, own->ep);
	if (p->elsewhere && o->recorded && !listened)
		listen(s, a, p->arena, &err);                      // for reasons, without which the numbers stand
	if (p->on_platform == 0 && !o->trouble && ort_log_error()) // the first time it kept quiet
		o->trouble = arena_strdup(&s->arena, ort_log_error());
	give_reasons(p, own->ep);
	for (size_t i = 0; i < p->count && p->on_platform == 0 && o->trouble; i++)
		if (!p->nodes[i].fused_away && !p->nodes[i].reason)
			p->nodes[i].reason = o->trouble;
	describe(o, nodes, count, own->ep, p);
	ort_log_begin(NULL);
}

enum status ort_explain(
	struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err)
{
	struct ort *o = s->state;
	const struct ort_provider *own = s->provider->detail;
	const OrtApi *api = o->library.api;
	OrtSession *session = o->session;
	struct outline built = { 0 };
	struct assigned *nodes;
	size_t count;
	enum status st;

	(void)in;
	if (o->library.version < 24) {
		out->note = arena_printf(
			out->arena, "ONNX Runtime %s does not tell where nodes run; 1.24 and later do", o->library.text);
		return STATUS_OK;
	}
	if ((!o->from_context && (st = outline_read(&built, out->arena, a->graph, a->graph_nbytes, err))) ||
		(!o->recorded && (st = ort_create_session(s, a, ORT_PLACE, &session, err))))
		return st;
	if (!(st = read_record(api, session, out->arena, own->ep, &nodes, &count, &out->partitions, err))) {
		out->copies = o->copies;
		if (o->from_context) {
			describe_context(nodes, count, own->ep, out);
		} else {
			outline_types(&built, out->arena, a->graph, a->graph_nbytes);
			place(s, a, &built, nodes, count, out);
		}
	}
	if (!o->recorded)
		api->ReleaseSession(session);
	return st;
}
