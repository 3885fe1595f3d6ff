// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a cell's graph are: what an engine tells, put into the row and into the placement table. What is elsewhere
// is named by operator and type, with its first node. What the engine does not tell stays unknown; nothing is guessed.
#include <string.h>
#include <strings.h>

#include "cell/work.h"
#include "base/visible.h"
#include "cell/say.h"
#include "cell/placed.h"
#include "cell/predict.h"

struct refusal {
	const char *op, *dtype, *where, *first, *reason;
	int64_t count;
};

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

// One line an operator and type, in the order of the graph.
static size_t gather(struct arena *a, const struct placement *p, struct refusal **out)
{
	struct refusal *all = ARENA_ARRAY(a, p->count + 1, struct refusal);
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct placed_node *node = &p->nodes[i];
		size_t k = 0;

		if (!node->elsewhere)
			continue;
		while (k < n &&
			(!same(all[k].op, node->op) || !same(all[k].dtype, node->dtype) || !same(all[k].where, node->where)))
			k++;
		if (k == n)
			all[n++] = (struct refusal){ node->op, node->dtype, node->where, node->name, node->reason, 0 };
		all[k].count++;
	}
	*out = all;
	return n;
}

// The platform that took what this one did not: the word of --on where there is one.
static const char *place_word(const struct refusal *r, size_t count)
{
	if (!count || !r->where)
		return "cpu";
	for (size_t i = 1; i < count; i++)
		if (!same(r[i].where, r->where))
			return "several";
	return strcasestr(r->where, "cpu") ? "cpu" : r->where;
}

static bool say_placed(const struct placement *p)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < p->count; i++) {
		const struct placed_node *n = &p->nodes[i];

		json_array_append_new(nodes,
			json_pack("{s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:b, s:b, s:o*}", "name", n->name, "op", n->op, "dtype",
				n->dtype, "where", n->where, "kernel", n->kernel, "reason", n->reason, "fused",
				(int)n->fused_away, "elsewhere", (int)n->elsewhere, "ms", n->ms > 0 ? json_real(n->ms) : NULL));
	}
	return say_nodes("placement", nodes);
}

// Did all that computes with floating point run elsewhere? Then the device's type is not what was computed in. False where a
// node's type is not known.
static bool floats_ran_elsewhere(const struct placement *p)
{
	bool any = false;

	for (size_t i = 0; i < p->count; i++) {
		const struct placed_node *n = &p->nodes[i];

		if (n->fused_away)
			continue;
		if (!n->dtype)
			return false;
		if (!text_starts(n->dtype, "f") && !text_starts(n->dtype, "bf"))
			continue;
		if (!n->elsewhere)
			return false;
		any = true;
	}
	return any;
}

// `session`: whose outputs have the type that the processor computes in.
static void say_placement(struct work *w, const struct session *session, const struct placement *p, bool ran)
{
	struct refusal *refused;
	size_t count = gather(&w->arena, p, &refused);
	json_t *list = json_array();
	const char *note = p->note, *products = work_products(w, p);

	if (p->count && !say_placed(p))
		note = arena_printf(&w->arena, "%s%sthe list of %zu nodes is too long to be kept", note ? note : "",
			note ? "; " : "", p->count);
	if (!w->part->artifact.summary.node_count && p->count) // a user's .onnx: the engine has counted them
		say_row(json_pack("{s:I}", "nodes", (json_int_t)p->count));
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
			json_pack("{s:s?, s:s?, s:I, s:s?, s:s?, s:s?}", "op", refused[i].op, "dtype", refused[i].dtype, "count",
				(json_int_t)refused[i].count, "first", refused[i].first, "where", refused[i].where, "reason",
				refused[i].reason));
	if (products)
		say_row(json_pack("{s:s}", "compute_dtype", products));
	if (text_is(products, "f32"))
		note = arena_printf(&w->arena,
			"%s%sno product of integers ran: QuantizeLinear and DequantizeLinear stand between products in f32",
			note ? note : "", note ? "; " : "");
	say_row(placed_columns(p));
	say_row(json_pack("{s:o, s:s?}", "refused", count ? json_incref(list) : json_null(), "placement_note", note));
	json_decref(list);
	struct row r;
	row_init(&r);
	r.requested = w->target.platform->name;
	r.nodes_on_platform = p->on_platform;
	r.nodes_elsewhere = p->elsewhere;
	r.partitions = p->partitions;
	if (row_left_none(&r)) {
		const char *gone = p->count == 0
			? "the graph has no node"
			: arena_printf(&w->arena, "all %zu node%s folded into constants before it was asked", p->count,
				  p->count == 1 ? " was" : "s were");

		say_row(json_pack("{s:s?, s:s}", "actual", ran ? "cpu" : NULL, "fallback_reason",
			arena_printf(&w->arena, "nothing was left to compute on %s: %s", r.requested, gone)));
		if (ran)
			say_row(json_pack("{s:s}", "compute_dtype", work_computes_in(w, session, NULL)));
	}
	if (p->on_platform == 0 && p->elsewhere > 0) {
		const char *place = place_word(refused, count);

		say_row(json_pack("{s:s?, s:s}", "actual", ran ? place : NULL, "fallback_reason",
			arena_printf(&w->arena, "%s took none of the graph: %lld nodes are on %s%s%s%s%s%s%s",
				w->target.platform->name, (long long)p->elsewhere, place,
				count && refused->op ? ", the first " : "", count && refused->op ? refused->op : "",
				count && refused->dtype ? " " : "", count && refused->dtype ? refused->dtype : "",
				count && refused->reason ? ": " : "", count && refused->reason ? refused->reason : "")));
		if (ran && text_is(place, "cpu"))
			// The cell is judged by this type, not by the device's.
			say_row(json_pack("{s:s}", "compute_dtype", work_computes_in(w, session, NULL)));
	} else if (ran && floats_ran_elsewhere(p) && text_is(place_word(refused, count), "cpu"))
		say_row(json_pack("{s:s}", "compute_dtype", work_computes_in(w, session, NULL)));
}

// To ask, some engines open the model once more.
static bool lacks_memory(struct work *w)
{
	struct machine m;

	machine_detect(&m, &w->arena);
	return w->ask.second_bytes > 0 && (uint64_t)w->ask.second_bytes + predict_margin(&m) > (uint64_t)m.memory_available_bytes;
}

static enum status ask(struct work *w, struct part *part, const struct tensor *in, struct placement *p, struct error *err)
{
	*p = (struct placement){ .arena = &w->arena, .on_platform = -1, .elsewhere = -1, .partitions = -1, .copies = -1 };
	if (lacks_memory(w)) {
		p->note = arena_printf(&w->arena, "not asked: the engine would open the model a second time, which needs %s more",
			predict_amount(&w->arena, (uint64_t)w->ask.second_bytes));
		return STATUS_OK;
	}
	return session_explain(&part->session, &part->artifact, in, in ? part->session.input_count : 0, p, err);
}

static const char *clean(struct arena *a, const char *text)
{
	struct text t = { 0 };
	const char *out;

	visible_clean(&t, text, strlen(text));
	out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

// What is not known of one graph is not known of all together.
static int64_t sum(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

// `p` of one graph into `all` of the model's: nodes get its file's name before theirs, notes stand one after the other.
static void add_part(struct arena *a, struct placement *all, const struct placement *p, const char *file)
{
	struct placed_node *nodes = ARENA_ARRAY(a, all->count + p->count + 1, struct placed_node);

	if (all->count)
		memcpy(nodes, all->nodes, all->count * sizeof *nodes);
	for (size_t i = 0; i < p->count; i++) {
		struct placed_node *n = &nodes[all->count + i];

		*n = p->nodes[i];
		n->name = arena_printf(a, "%s/%s", file, n->name ? n->name : "?");
	}
	all->nodes = nodes;
	all->count += p->count;
	all->on_platform = sum(all->on_platform, p->on_platform);
	all->elsewhere = sum(all->elsewhere, p->elsewhere);
	all->partitions = sum(all->partitions, p->partitions);
	all->copies = sum(all->copies, p->copies);
	all->fused += p->fused;
	if (p->note)
		all->note = arena_printf(a, "%s%s%s: %s", all->note ? all->note : "", all->note ? "; " : "", file, p->note);
}

void work_explain(struct work *w, const struct tensor *in, bool ran)
{
	struct placement all = { .arena = &w->arena };
	struct error err = { 0 };

	say_phase("explain");
	for (size_t i = 0; i < w->part_count; i++) {
		struct placement p;

		if (ask(w, &w->part[i], in, &p, &err)) {
			say_row(json_pack("{s:s}", "placement_note", clean(&w->arena, err.text)));
			return;
		}
		if (w->part_count == 1)
			all = p;
		else
			add_part(&w->arena, &all, &p, w->part[i].which->file);
	}
	say_placement(w, &w->part[w->part_count - 1].session, &all, ran);
}

void work_place(struct work *w, const struct tensor *in)
{
	if (w->ask.no_explain && !w->ask.no_fallback)
		say_row(json_pack("{s:s}", "placement_note", "not asked: an earlier cell of the same comparison tells it"));
	else
		work_explain(w, in, true);
}

static enum status name_first(struct work *w, const struct placement *p, struct error *err)
{
	struct refusal *refused;
	size_t count = gather(&w->arena, p, &refused);

	if (!count)
		return error_set(err, STATUS_UNSUPPORTED,
			"--no-fallback: %lld nodes are elsewhere; the engine does not say which", (long long)p->elsewhere);
	return error_set(err, STATUS_UNSUPPORTED,
		"--no-fallback: %lld of %lld nodes are left to %s; the first: %s%s%s, node %s%s%s", (long long)p->elsewhere,
		(long long)p->count, refused->where ? refused->where : "another device",
		refused->op ? refused->op : "an operator", refused->dtype ? " " : "", refused->dtype ? refused->dtype : "",
		refused->first && *refused->first ? refused->first : "without a name", refused->reason ? ": " : "",
		refused->reason ? refused->reason : "");
}

enum status work_check_fallback(struct work *w, bool *of_form, struct error *err)
{
	for (size_t i = 0; i < w->part_count; i++) {
		struct placement p;
		enum status st = ask(w, &w->part[i], NULL, &p, err);

		if (st)
			return error_prefix(err, "--no-fallback: asking where the nodes are");
		if (p.elsewhere == 0)
			continue;
		if (p.elsewhere < 0)
			return error_set(err, lacks_memory(w) ? STATUS_NO_MEMORY : STATUS_UNSUPPORTED,
				"--no-fallback: it cannot be known before it runs where the nodes are: %s",
				p.note ? p.note : "the engine does not tell");
		*of_form = true;
		say_placement(w, &w->part[i].session, &p, false);
		say_row(json_pack("{s:n}", "actual"));
		return name_first(w, &p, err);
	}
	return STATUS_OK;
}
