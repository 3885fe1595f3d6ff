// SPDX-License-Identifier: Apache-2.0
// Names a few of the conformance cases that together have all that there is to a platform: every family, every trait of a
// family's row, every graph that a family's generation runs, every operator, and every pair of operators of which one reads what
// the other gives, which is what engines' fusions look at. Of the many ways to have them, one whose graphs have few nodes.
//
//	cover PLATFORM      one name a line, sorted; the graph is that of the platform's first form
//
// A platform takes minutes for all of them. What is left out differs by names in files, by sizes and by what config.json says of
// them; cases_cpu.sh runs all.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/spec.h"
#include "base/file.h"
#include "conform/case.h"
#include "onnx/inside.h"
#include "platform/platform.h"

struct features {
	struct arena *arena; // of the words
	const char **words;
	size_t count, capacity;
};
enum { NODES_ALIKE = 200 }; // opening any graph takes as long as so many nodes
struct covered {
	const char *name;
	size_t *has; // into the words, each once
	size_t count;
	size_t cost; // nodes that an engine compiles, of all of its graphs
	bool is_taken;
};

static size_t number_of(struct features *f, const char *word)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->words[i], word) == 0)
			return i;
	if (f->count == f->capacity)
		abort();
	f->words[f->count] = arena_strdup(f->arena, word);
	return f->count++;
}

static void add(struct covered *c, struct features *f, const char *word)
{
	size_t n = number_of(f, word);
	for (size_t i = 0; i < c->count; i++)
		if (c->has[i] == n)
			return;
	c->has[c->count++] = n;
}

static void add_row(struct covered *c, struct features *f, struct arena *a, const struct spec *s)
{
	const struct family *family = s->row->family;
	add(c, f, family->name);
	for (size_t i = 0; s->row->traits && shared_traits[i].name; i++)
		if (trait_get(&shared_traits[i], s->row->traits))
			add(c, f, arena_printf(a, "%s.%s", family->name, shared_traits[i].name));
	for (size_t i = 0; s->row->traits && family->traits.traits && family->traits.traits[i].name; i++)
		if (trait_get(&family->traits.traits[i], (const char *)s->row->traits + sizeof(struct traits)))
			add(c, f, arena_printf(a, "%s:%s", family->name, family->traits.traits[i].name));
	for (size_t i = 0; i < PARTS_MOST; i++)
		if (s->parts[i].spec)
			add_row(c, f, a, s->parts[i].spec);
}

// What gives an input, by its kind where no operator does.
static const char *giver(const struct graph *g, graph_value v)
{
	static const char *const kinds[] = { "input", NULL, "weight", "constant", "body" };
	const struct value_info *value = &g->values[v.id];
	return value->kind == VALUE_NODE ? g->nodes[value->node].op : kinds[value->kind];
}

static void add_graph(struct covered *c, struct features *f, struct arena *a, const struct graph *g)
{
	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];
		c->cost += n->live;
		for (int k = 0; n->live && k < n->input_count; k++)
			if (n->inputs[k].id)
				add(c, f, arena_printf(a, "%s > %s %d", giver(g, n->inputs[k]), n->op, k));
	}
}

// What its generation runs, one by one.
static void add_loop(struct covered *c, struct features *f, struct arena *a, const struct spec *s)
{
	const struct arch_graph *which[ARCH_STEPS_MOST];
	const size_t count = arch_graphs_of_loop(s, which), nodes = c->cost;
	for (size_t i = 0; i < count; i++)
		add(c, f, arena_printf(a, "%s generates with %s", s->row->family->name, which[i]->file));
	c->cost += nodes * count;
}

// False: it is not built, and says why when it is run.
static bool look(struct covered *c, struct features *f, struct arena *a, const char *folder, const struct graph_form *form)
{
	struct checkpoint files = { 0 };
	struct spec *s;
	const char *made;
	struct graph *g = graph_new(form);
	struct error err = { 0 };
	bool built = !conform_materialise(&made, a, folder, &err) && !checkpoint_open(&files, made, &err) &&
		!arch_resolve(&s, a, &files, &err) && !arch_build(s, &files, &arch_whole, g, &err) && !graph_finish(g, &err);
	if (built) {
		add_row(c, f, a, s);
		add_graph(c, f, a, g);
		if (file_exists(arena_printf(a, "%s/gen.json", folder)))
			add_loop(c, f, a, s);
	} else {
		fprintf(stderr, "%s: %s\n", folder, err.text);
	}
	graph_free(g);
	checkpoint_close(&files);
	return built;
}

// The one that has most of what none taken has for what it costs, the first by name of several; NULL when there is nothing left.
static struct covered *best(struct covered *cases, size_t count, const size_t *taken)
{
	struct covered *best = NULL;
	double most = 0;
	for (size_t i = 0; i < count; i++) {
		size_t fresh = 0;
		for (size_t k = 0; k < cases[i].count; k++)
			fresh += !taken[cases[i].has[k]];
		if ((double)fresh / (double)cases[i].cost > most) {
			most = (double)fresh / (double)cases[i].cost;
			best = &cases[i];
		}
	}
	return best;
}

// Those taken later have all that it has?
static bool is_needless(const struct covered *c, const size_t *taken)
{
	for (size_t k = 0; k < c->count; k++)
		if (taken[c->has[k]] < 2)
			return false;
	return true;
}

static void take(struct covered *c, size_t *taken, bool is_taken)
{
	c->is_taken = is_taken;
	for (size_t k = 0; k < c->count; k++)
		taken[c->has[k]] += is_taken ? 1 : (size_t)-1;
}

static int dearest_first(const void *a, const void *b)
{
	const struct covered *x = *(struct covered *const *)a, *y = *(struct covered *const *)b;
	return x->cost != y->cost ? (x->cost < y->cost ? 1 : -1) : strcmp(x->name, y->name);
}

// Few, then without those whose features the others have, the dearest of them first.
static void choose(struct covered *cases, size_t count, size_t *taken, struct arena *a)
{
	struct covered **of = ARENA_ARRAY(a, count + 1, struct covered *), *next;
	size_t n = 0;
	while ((next = best(cases, count, taken)))
		take(of[n++] = next, taken, true);
	qsort(of, n, sizeof *of, dearest_first);
	for (size_t i = 0; i < n; i++)
		if (is_needless(of[i], taken))
			take(of[i], taken, false);
}

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	const char *folder = conform_folder(&a);
	const struct platform *platform = argc == 2 ? platform_find(argv[1]) : NULL;
	size_t count;
	if (!folder || !platform) {
		fprintf(stderr, "usage: cover PLATFORM\n");
		return 1;
	}
	const struct conform_case *cases = conform_cases(&a, folder, NULL, &count);
	struct features f = { .arena = &a, .capacity = 1 << 16 };
	f.words = ARENA_ARRAY(&a, f.capacity, const char *);
	struct covered *all = ARENA_ARRAY(&a, count, struct covered);
	size_t *taken = ARENA_ARRAY(&a, f.capacity, size_t);
	int failed = 0;
	for (size_t i = 0; i < count; i++) {
		struct arena own = { 0 };
		all[i] = (struct covered){ .name = cases[i].name, .cost = NODES_ALIKE, .has = ARENA_ARRAY(&a, 4096, size_t) };
		failed |= !look(&all[i], &f, &own, cases[i].folder, &platform->forms[0]);
		arena_done(&own);
	}
	choose(all, count, taken, &a);
	for (size_t i = 0; i < count; i++)
		if (all[i].is_taken)
			printf("%s\n", all[i].name);
	arena_done(&a);
	return failed;
}
