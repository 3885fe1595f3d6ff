// SPDX-License-Identifier: Apache-2.0
// profile.h.
#include "cell/profile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NOBODY SIZE_MAX

const char *mapped_word(enum mapped_how how)
{
	static const char *const words[] = { "not", "name", "part", "place" };

	return words[how];
}

static size_t scope_length(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? (size_t)(slash - name) : 0;
}

const char *profile_scope(struct arena *a, const char *name)
{
	return arena_strndup(a, name, scope_length(name));
}

static bool same_scope(const char *a, const char *b)
{
	size_t n = scope_length(a);

	return n == scope_length(b) && !memcmp(a, b, n);
}

// ---- names --------------------------------------------------------------------------------------------------------------

struct names {
	struct arena *arena;
	const struct outline *built;
	const size_t *sorted; // numbers of built nodes, by name
	size_t *owner;        // of each built node: the engine's node that it belongs to; NOBODY
	const struct profile *ran;
	struct mapped_node *out;
};

static const struct outline *sorting; // of the one thread of a child

static int by_name(const void *a, const void *b)
{
	return strcmp(sorting->nodes[*(const size_t *)a].name, sorting->nodes[*(const size_t *)b].name);
}

static int name_is(const void *name, const void *number)
{
	return strcmp(name, sorting->nodes[*(const size_t *)number].name);
}

static void add_member(struct names *n, size_t engine, size_t node)
{
	struct mapped_node *m = &n->out[engine];

	if (n->owner[node] != NOBODY)
		return;
	n->owner[node] = engine;
	if (!(m->member_count & (m->member_count - 1))) { // full at every power of two
		size_t *more = ARENA_ARRAY(n->arena, m->member_count ? 2 * m->member_count : 1, size_t);

		if (m->member_count)
			memcpy(more, m->members, m->member_count * sizeof *more);
		m->members = more;
	}
	m->members[m->member_count++] = node;
}

static bool ends_word(char c)
{
	return !isalnum((unsigned char)c) && c != '.';
}

// Every name of ours that begins and ends at a word's edge of theirs; the longest where several begin: "a/MatMul_1_nchwc" is of
// MatMul_1.
static void find_parts(struct names *n, size_t engine, const char *name)
{
	for (const char *at = name; *at;) {
		size_t longest = 0, which = NOBODY;

		for (size_t i = 0; i < n->built->node_count && (at == name || ends_word(at[-1])); i++) {
			const char *ours = n->built->nodes[i].name;
			size_t length = strlen(ours);

			// A bare operator ("Gelu") is no name: engines call their own nodes so.
			if (length > longest && strchr(ours, '/') && !strncmp(at, ours, length) && ends_word(at[length]))
				longest = length, which = i;
		}
		if (which == NOBODY) {
			at++;
			continue;
		}
		add_member(n, engine, which);
		n->out[engine].how = MAPPED_PART;
		at += longest;
	}
}

static void find_names(struct names *n)
{
	for (size_t i = 0; i < n->ran->count; i++) {
		const char *name = n->ran->nodes[i].name;
		const size_t *hit = *name ? bsearch(name, n->sorted, n->built->node_count, sizeof *n->sorted, name_is) : NULL;

		n->out[i].ran = &n->ran->nodes[i];
		if (hit && n->owner[*hit] == NOBODY) {
			add_member(n, i, *hit);
			n->out[i].how = MAPPED_NAME;
		}
	}
	for (size_t i = 0; i < n->ran->count; i++)
		if (!n->out[i].how)
			find_parts(n, i, n->ran->nodes[i].name);
}

// ---- places -------------------------------------------------------------------------------------------------------------

static bool is_work(const char *op)
{
	static const char *const no[] = { "Reshape", "Shape", "Unsqueeze", "Squeeze", "Gather", "Slice", "Concat", "Cast",
		"Range", "Expand", "Identity", "Constant" };

	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (text_is(op, no[i]))
			return false;
	return true;
}

// From one node on, in a direction, the nearest that is named and does work: what computes shapes runs anywhere.
static size_t neighbour(const struct names *n, size_t from, int step)
{
	for (size_t i = from + (size_t)step; i < n->ran->count; i += (size_t)step)
		for (size_t k = 0; k < n->out[i].member_count && (n->out[i].how == MAPPED_NAME || n->out[i].how == MAPPED_PART);
			k++)
			if (is_work(n->built->nodes[n->out[i].members[k]].op))
				return step > 0 ? n->out[i].members[k] : n->out[i].members[n->out[i].member_count - 1];
	return NOBODY;
}

// What was built between the two neighbours and ran under no name, up to the first change of scope after the first of them that
// does work.
static void find_place(struct names *n, size_t engine)
{
	size_t before = neighbour(n, engine, -1), after = neighbour(n, engine, 1), first = NOBODY;
	size_t begin = before == NOBODY ? 0 : before + 1, end = after == NOBODY ? n->built->node_count : after;

	for (size_t i = begin; i < end; i++) {
		const struct outline_node *node = &n->built->nodes[i];

		if (n->owner[i] != NOBODY)
			continue;
		if (first == NOBODY && !is_work(node->op))
			continue;
		if (first == NOBODY)
			first = i;
		if (!same_scope(node->name, n->built->nodes[first].name))
			break;
		add_member(n, engine, i);
		n->out[engine].how = MAPPED_PLACE;
	}
	// Several of theirs for one of ours (a norm as two nodes): the first has the members, the others the place of it.
	if (!n->out[engine].how && engine > 0 && n->out[engine - 1].how == MAPPED_PLACE) {
		n->out[engine].how = MAPPED_PLACE;
		n->out[engine].scope = n->out[engine - 1].scope;
	} else if (!n->out[engine].how && before != NOBODY && after != NOBODY &&
		same_scope(n->built->nodes[before].name, n->built->nodes[after].name)) {
		n->out[engine].how = MAPPED_PLACE;
		n->out[engine].scope = profile_scope(n->arena, n->built->nodes[before].name);
	}
}

bool mapped_moves(const char *op)
{
	static const char *const more[] = { "Transpose", "Convert", "Reorder", "StridedSlice", "Split", "ShapeOf", "Broadcast" };

	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		if (text_is(op, more[i]))
			return true;
	return !is_work(op);
}

// Called after one of ours that only moves, and more than that: it is what was merged into the last node of a chain ("Subgraph").
static bool ends_chain(const struct names *n, size_t node)
{
	size_t by = n->owner[node];

	return by != NOBODY && mapped_moves(n->built->nodes[node].op) && n->out[by].how == MAPPED_NAME &&
		!mapped_moves(n->out[by].ran->op);
}

// Built nodes that no node of the engine ran: with the chain that ends after them, before anything else that ran and works;
// else with the nearest of their scope that was built before them, ran and works, else after them; of any scope where nothing
// of theirs ran.
static void give_rest(struct names *n)
{
	const struct outline *d = n->built;
	size_t *found = ARENA_ARRAY(n->arena, d->node_count + 1, size_t);

	for (size_t i = 0; i < d->node_count; i++) {
		found[i] = n->owner[i];
		for (size_t k = i + 1; k < d->node_count && found[i] == NOBODY && same_scope(d->nodes[k].name, d->nodes[i].name);
			k++) {
			if (ends_chain(n, k))
				found[i] = n->owner[k];
			else if (n->owner[k] != NOBODY && !mapped_moves(d->nodes[k].op))
				break;
		}
		for (size_t k = i; k-- > 0 && found[i] == NOBODY;)
			if (n->owner[k] != NOBODY && same_scope(d->nodes[k].name, d->nodes[i].name) &&
				!mapped_moves(n->out[n->owner[k]].ran->op))
				found[i] = n->owner[k];
		for (size_t k = i; k-- > 0 && found[i] == NOBODY;)
			if (n->owner[k] != NOBODY && same_scope(d->nodes[k].name, d->nodes[i].name))
				found[i] = n->owner[k];
		for (size_t k = i + 1; k < d->node_count && found[i] == NOBODY; k++)
			if (n->owner[k] != NOBODY && same_scope(d->nodes[k].name, d->nodes[i].name))
				found[i] = n->owner[k];
		for (size_t k = i; k-- > 0 && found[i] == NOBODY;)
			found[i] = n->owner[k];
		for (size_t k = i + 1; k < d->node_count && found[i] == NOBODY; k++)
			found[i] = n->owner[k];
	}
	for (size_t i = 0; i < d->node_count; i++)
		if (found[i] != NOBODY)
			add_member(n, found[i], i);
}

// ---- costs --------------------------------------------------------------------------------------------------------------

static void add_costs(struct arena *a, struct mapped_node *m, const struct graph_cost *cost, const size_t *cost_of)
{
	size_t *costed = ARENA_ARRAY(a, m->member_count + 1, size_t), count = 0;

	for (size_t i = 0; i < m->member_count; i++) {
		size_t at = cost_of[m->members[i]];

		if (at == COST_NONE)
			continue;
		costed[count++] = at;
		m->flops += cost->nodes[at].flops;
		m->weight_nbytes += cost->nodes[at].weight_nbytes;
		m->is_costed |= !cost->nodes[at].unknown;
	}
	m->nbytes = graph_cost_fused(cost, costed, count);
}

struct mapped_node *profile_map(struct arena *a, const struct outline *built, const struct graph_cost *cost,
	const size_t *cost_of, const struct profile *p)
{
	size_t *sorted = ARENA_ARRAY(a, built->node_count + 1, size_t);
	struct names n = { .arena = a,
		.built = built,
		.sorted = sorted,
		.owner = ARENA_ARRAY(a, built->node_count + 1, size_t),
		.ran = p,
		.out = ARENA_ARRAY(a, p->count + 1, struct mapped_node) };

	for (size_t i = 0; i < built->node_count; i++) {
		sorted[i] = i;
		n.owner[i] = NOBODY;
	}
	sorting = built;
	qsort(sorted, built->node_count, sizeof *sorted, by_name);
	find_names(&n);
	for (size_t i = 0; i < p->count; i++) {
		if (!n.out[i].how)
			find_place(&n, i);
		if (n.out[i].member_count)
			n.out[i].scope = profile_scope(a, built->nodes[n.out[i].members[0]].name);
	}
	give_rest(&n);
	for (size_t i = 0; i < p->count && cost; i++)
		add_costs(a, &n.out[i], cost, cost_of);
	return n.out;
}

// ---- two builds of one graph ------------------------------------------------------------------------------------------

static bool alike(const struct node_cost *a, const struct node_cost *b)
{
	return a->of_floats && b->of_floats && text_is(a->op, b->op) && same_scope(a->name, b->name);
}

// How many nodes alike `n` there are: in all, and before number `until`.
static size_t count_alike(const struct graph_cost *g, const struct node_cost *n, size_t until, size_t *all)
{
	size_t before = 0;

	*all = 0;
	for (size_t i = 0; i < g->node_count; i++)
		if (alike(&g->nodes[i], n)) {
			before += i < until;
			++*all;
		}
	return before;
}

size_t *profile_pair(struct arena *a, const struct graph_cost *built, const struct graph_cost *bound)
{
	size_t *out = ARENA_ARRAY(a, built->node_count + 1, size_t);

	for (size_t i = 0; i < built->node_count; i++) {
		const struct node_cost *n = &built->nodes[i];
		size_t all, others, ordinal = count_alike(built, n, i, &all), seen = 0;

		out[i] = COST_NONE;
		if (!n->of_floats || (count_alike(bound, n, 0, &others), all != others))
			continue;
		for (size_t k = 0; k < bound->node_count && out[i] == COST_NONE; k++)
			if (alike(&bound->nodes[k], n) && seen++ == ordinal)
				out[i] = k;
	}
	return out;
}
