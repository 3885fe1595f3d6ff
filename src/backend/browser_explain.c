// SPDX-License-Identifier: Apache-2.0
// Where onnxruntime-web put each node: it tells in its log alone, so the page makes the session a second time with the log on.
//   ... Node placements
//   ... All nodes placed on [WebGpuExecutionProvider]. Number of nodes: 12
//   ...  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 3
//   ...   Gather (embeddings/word_embeddings/Gather)
// Nodes are those of the rewritten graph, of its branches and of its functions: one of ours that is not named was folded into
// another. No two have one name (artifact/parts.h), and as many lines follow as it says, or nothing is known. WebNN compiles a
// partition into one node of its own name and says how many went in, not which:
//   ... number of partitions supported by WebNN: 3 number of nodes in the graph: 150 number of nodes supported by WebNN: 146
//   ...   WEBNN_11072777413068975310_3 (WebNNExecutionProvider_WEBNN_11072777413068975310_3_0)
#include "backend/browser.h"

#include <stdlib.h>
#include <string.h>

#include "backend/outline.h"
#include "base/json.h"
#include "base/text.h"

struct assigned {
	const char *name, *op, *where;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct assigned *)a)->name, ((const struct assigned *)b)->name);
}

static bool is_copy(const char *op)
{
	return text_is(op, "MemcpyToHost") || text_is(op, "MemcpyFromHost");
}

// "]   Gather (embeddings/Gather)": what a line of the log is after its prefix.
static bool read_node(struct arena *a, const char *line, struct assigned *out)
{
	const char *begin = strstr(line, "]   "), *close = strrchr(line, ')'), *open;

	begin = begin ? begin + strlen("]   ") : NULL;
	open = begin ? strstr(begin, " (") : NULL;
	for (const char *next = open; next && next < close; next = strstr(next + 1, " ("))
		open = next;
	if (!open || open == begin || close < open + 2)
		return false;
	out->op = arena_strndup(a, begin, (size_t)(open - begin));
	out->name = arena_strndup(a, open + 2, (size_t)(close - open - 2));
	return true;
}

// What the log says.
struct assignments {
	struct assigned *all; // nodes by name, sorted; without those that copy
	size_t count;
	const char *alone;                    // all nodes are there, and none is named; NULL: not so
	bool told;                            // it says of some node where it is
	bool lacks;                           // it names fewer nodes of a place than it counts
	bool is_split;                        // it says where some of them are: then not all are in one place
	bool compiles;                        // some of them are partitions
	int64_t copies, partitions, compiled; // partitions, nodes in them: -1 where it does not say
};

static int64_t number_after(const char *line, const char *words, int64_t otherwise)
{
	const char *at = strstr(line, words), *number = at ? strstr(at, ": ") : NULL;

	return number ? strtoll(number + 2, NULL, 10) : otherwise;
}

static void read_log(struct arena *a, const char *const *lines, size_t line_count, const char *ep, struct assignments *out)
{
	const char *where = NULL;
	int64_t left = 0; // nodes of that place that are still to be named

	*out = (struct assignments){ .all = ARENA_ARRAY(a, line_count + 1, struct assigned), .partitions = -1, .compiled = -1 };
	for (size_t i = 0; i < line_count; i++) {
		const char *placed = strstr(lines[i], "placed on [");
		struct assigned *node = &out->all[out->count];

		out->partitions = number_after(lines[i], "number of partitions supported by ", out->partitions);
		out->compiled = number_after(lines[i], "number of nodes supported by ", out->compiled);
		if (placed) {
			const char *begin = placed + strlen("placed on ["), *end = strchr(begin, ']');
			const bool all = strstr(lines[i], "All nodes placed") != NULL;

			out->lacks |= left != 0;
			where = end ? arena_strndup(a, begin, (size_t)(end - begin)) : NULL;
			left = all ? 0 : number_after(lines[i], "Number of nodes", -1);
			out->told |= where != NULL;
			if (all)
				out->alone = where;
			else
				out->is_split = true;
		} else if (where && left > 0 && read_node(a, lines[i], node)) {
			node->where = where;
			left--;
			out->compiles |= text_is(where, ep) && text_starts(node->op, "WEBNN_");
			if (is_copy(node->op))
				out->copies++;
			else
				out->count++;
		}
	}
	out->lacks |= left != 0;
	out->told = out->told && !(out->alone && out->is_split);
	out->compiles &= out->compiled >= 0;
	qsort(out->all, out->count, sizeof *out->all, by_name);
}

// Of two lines about one name, that of another place than the platform counts.
static const struct assigned *find_assigned(const struct assignments *log, const char *name, const char *ep)
{
	const struct assigned key = { .name = name };
	const struct assigned *hit = *name ? bsearch(&key, log->all, log->count, sizeof *log->all, by_name) : NULL;

	if (!hit)
		return NULL;
	while (hit > log->all && text_is(hit[-1].name, name))
		hit--;
	const struct assigned *out = hit;
	for (; hit < log->all + log->count && text_is(hit->name, name) && text_is(out->where, ep); hit++)
		out = hit;
	return out;
}

// A stranger's words stand in the log as they are, and could speak its own, or end before they end.
static bool speaks(const void *graph, size_t nbytes, const struct placement *p)
{
	static const char *const words[] = { "placed on [", "supported by ", "MemcpyToHost", "MemcpyFromHost" };
	bool found = false;

	for (size_t i = 0; i < p->count; i++)
		found = found || strpbrk(p->nodes[i].op, "() \n\r");
	for (size_t i = 0; i < sizeof words / sizeof *words && nbytes; i++)
		found = found || memmem(graph, nbytes, words[i], strlen(words[i]));
	return found;
}

// Each line is a node that ran: of ours, of a branch or a function, or one that the engine made. One of them on the processor is
// a fallback like any other, whatever its name.
static size_t count_elsewhere(const struct assignments *log, const char *ep)
{
	size_t elsewhere = 0;

	for (size_t i = 0; i < log->count; i++)
		elsewhere += !text_is(log->all[i].where, ep);
	return elsewhere;
}

void browser_assign(const char *const *lines, size_t line_count, const char *ep, const bool *constant, struct placement *p)
{
	struct assignments log;
	size_t on = 0, elsewhere = 0, own = 0, folded = 0;

	read_log(p->arena, lines, line_count, ep, &log);
	for (size_t i = 0; i < p->count; i++)
		folded += constant && constant[i];
	if (!log.told && p->count > 0 && folded == p->count) { // nothing was left that the log could tell
		for (size_t i = 0; i < p->count; i++)
			p->nodes[i].fused_away = true;
		p->fused = (int64_t)p->count;
		p->on_platform = p->elsewhere = p->copies = p->partitions = 0;
		return;
	}
	if (!log.told || log.lacks) {
		p->note = log.told ? "onnxruntime-web's log names fewer nodes than it counts, so it is not known where they run"
				   : "onnxruntime-web's log does not tell where nodes run";
		return;
	}
	for (size_t i = 0; i < p->count; i++) {
		struct placed_node *n = &p->nodes[i];
		const struct assigned *hit = find_assigned(&log, n->name, ep);

		if (log.alone ? constant && constant[i] : !hit) {
			p->fused++;
			n->fused_away = log.alone || !log.compiles;
			n->where = log.compiles && !log.alone ? "in a partition, or folded" : NULL;
			continue;
		}
		own += !log.alone;
		n->where = log.alone ? log.alone : hit->where;
		n->kernel = log.alone ? n->kernel : hit->op;
		n->elsewhere = !text_is(n->where, ep);
		on += !n->elsewhere;
		elsewhere += n->elsewhere;
	}
	if (!log.alone)
		elsewhere = count_elsewhere(&log, ep);
	// The rewrites fold more nodes than they make; what is left of ours is in the partitions.
	if (log.compiles && !log.alone) {
		const int64_t in = log.compiled < p->fused ? log.compiled : p->fused;

		p->fused -= in;
		on += (size_t)in;
	}
	p->on_platform = (int64_t)on;
	p->elsewhere = (int64_t)elsewhere;
	p->copies = log.copies;
	p->partitions = log.partitions >= 0 ? log.partitions : log.alone && text_is(log.alone, ep) ? 1 : -1;
	p->note = log.alone
		? arena_printf(p->arena, "onnxruntime-web's log of a second session: all nodes on %s%s", log.alone,
			  folded ? arena_printf(p->arena, " but the %zu that follow from constants alone", folded) : "")
		: arena_printf(p->arena,
			  "onnxruntime-web's log of a second session: %zu of %zu nodes by name, %zu nodes in all after "
			  "its rewrites%s",
			  own, p->count, log.count + (size_t)log.copies,
			  log.compiles ? "; how many are in partitions it says, and not which" : "");
}

enum status browser_explain(
	struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err)
{
	struct browser_session *b = s->state;
	json_t *command = json_pack("{s:s, s:I}", "op", "explain", "id", (json_int_t)b->id), *head = NULL;
	struct text reply = { 0 };
	struct outline built, given; // the user's graph, and the browser's copy of it: the same nodes, by names of their own
	size_t at;
	enum status st;

	(void)in;
	if (!(st = outline_read(&built, out->arena, a->graph, a->graph_nbytes, err)) &&
		!(st = outline_read(&given, out->arena, a->parts->graph, a->parts->graph_nbytes, err)) &&
		!(st = page_ask(page_host_of(b->generation), command, NULL, 0, JSON_MOST, &head, &reply, &at, err))) {
		const json_t *list = json_object_get(head, "lines");
		size_t n = json_array_size(list);
		const char **lines = ARENA_ARRAY(out->arena, n + 1, const char *);

		for (size_t i = 0; i < n; i++) {
			const char *line = json_string_value(json_array_get(list, i));

			lines[i] = arena_strdup(out->arena, line ? line : "");
		}
		out->nodes = ARENA_ARRAY(out->arena, built.node_count + 1, struct placed_node);
		out->count = built.node_count;
		for (size_t i = 0; i < built.node_count; i++)
			out->nodes[i] = (struct placed_node){ .name = built.nodes[i].name, .op = built.nodes[i].op };
		for (size_t i = 0; i < built.node_count && given.node_count == built.node_count; i++)
			out->nodes[i].name = given.nodes[i].name;
		bool *constant = ARENA_ARRAY(out->arena, built.node_count + 1, bool);
		outline_constant(constant, built.node_count, out->arena, a->graph, a->graph_nbytes);
		if (given.node_count != built.node_count)
			out->note = "the graph is in several pieces, whose nodes the log does not tell apart";
		else if (speaks(a->parts->graph, a->parts->graph_nbytes, out))
			out->note = "names in the graph have words of onnxruntime-web's log, which cannot be believed then";
		else
			browser_assign(lines, n, session_option(s, "provider"), constant, out);
		for (size_t i = 0; i < built.node_count; i++)
			out->nodes[i].name = built.nodes[i].name;
	}
	text_done(&reply);
	json_decref(head);
	json_decref(command);
	return st;
}
