// SPDX-License-Identifier: Apache-2.0
// Values that are made from stored weights before an engine opens the graph: what is to be made, from where, and in the end where
// it lies. Making them is artifact/convert.c's.
#include "onnx/inside.h"

#include <stdlib.h>
#include <string.h>

graph_value graph_stored(const struct graph *g, graph_value v)
{
	const struct value_info *i = &g->values[v.id];

	if (i->kind == VALUE_NODE && text_is(g->nodes[i->node].op, "Cast"))
		i = &g->values[(v = g->nodes[i->node].inputs[0]).id];
	return v.id && i->kind == VALUE_EXTERNAL && !i->recipe ? v : NO_VALUE;
}

graph_value graph_derived(struct graph *g, graph_value source, const char *suffix, const struct recipe *how, enum dtype t,
	int rank, const int64_t *dim)
{
	if (!graph_alive(g, source))
		return NO_VALUE;
	const struct value_info from = *VALUE(g, source);
	size_t count;
	if (from.kind != VALUE_EXTERNAL || from.recipe || !tensor_count(rank, dim, &count) || !dtype_size(t)) {
		graph_fail(g, STATUS_FAILED, "%s: nothing can be made from it", from.name);
		return NO_VALUE;
	}
	struct recipe *r = ARENA_NEW(&g->arena, struct recipe);
	*r = *how;
	r->location = from.location;
	r->offset = from.offset;
	r->source_nbytes = from.nbytes;
	r->source_dtype = from.dtype;
	r->inner = from.rank ? from.dim[from.rank - 1] : 1;
	r->outer = 1;
	for (int i = 0; i + 1 < from.rank; i++)
		r->outer *= from.dim[i];
	r->name = arena_printf(&g->arena, "%s.%s", from.name, suffix);
	r->dtype = t;
	r->rank = rank;
	if (rank)
		memcpy(r->dim, dim, (size_t)rank * sizeof *dim);
	r->nbytes = (uint64_t)count * dtype_size(t);
	graph_value v = graph_external(g, r->name, t, rank, dim, "", 0, r->nbytes);
	if (g->failed)
		return NO_VALUE;
	if (!VALUE(g, v)->recipe) {
		r->value = v.id;
		VALUE(g, v)->recipe = r;
	}
	return v;
}

void graph_make(struct graph *g, const char *location)
{
	for (int i = 1; i < g->value_count; i++) {
		struct value_info *v = &g->values[i];

		if (v->kind != VALUE_EXTERNAL || v->recipe || !text_is(v->location, location))
			continue;
		struct recipe *r = ARENA_NEW(&g->arena, struct recipe);
		*r = (struct recipe){ .kind = RECIPE_CAST,
			.location = v->location,
			.offset = v->offset,
			.source_nbytes = v->nbytes,
			.source_dtype = v->dtype,
			.dtype = v->dtype,
			.outer = 1,
			.inner = v->rank ? v->dim[v->rank - 1] : 1,
			.name = v->name,
			.rank = v->rank,
			.nbytes = v->nbytes,
			.value = i };
		for (int k = 0; k + 1 < v->rank; k++)
			r->outer *= v->dim[k];
		memcpy(r->dim, v->dim, sizeof r->dim);
		v->recipe = r;
	}
}

size_t graph_recipes(const struct graph *g, const struct recipe *const **out)
{
	struct graph *own = (struct graph *)(uintptr_t)g; // the list is made when it is asked for
	size_t count = 0;

	own->recipes = ARENA_ARRAY(&own->arena, (size_t)g->value_count, const struct recipe *);
	for (int i = 1; i < g->value_count; i++)
		if (g->values[i].live && g->values[i].recipe)
			own->recipes[count++] = g->values[i].recipe;
	*out = g->recipes;
	return count;
}

void graph_place(struct graph *g, const struct recipe *r, const char *location, uint64_t offset)
{
	g->values[r->value].location = arena_strdup(&g->arena, location);
	g->values[r->value].offset = offset;
}

bool graph_reads(const struct graph *g, const char *location, uint64_t offset, uint64_t nbytes)
{
	for (int i = 1; i < g->value_count; i++) {
		const struct value_info *v = &g->values[i];

		if (v->live && v->kind == VALUE_EXTERNAL && v->offset < offset + nbytes && offset < v->offset + v->nbytes &&
			text_is(v->location, location))
			return true;
	}
	return false;
}

void graph_leave_out(struct graph *g, const char *name, const char *why)
{
	for (int i = 0; i < g->left_out_count; i++)
		if (text_is(g->left_out[i].name, name))
			return;
	if (g->left_out_count == g->left_out_capacity) {
		g->left_out_capacity = g->left_out_capacity ? g->left_out_capacity * 2 : 32;
		g->left_out = realloc(g->left_out, (size_t)g->left_out_capacity * sizeof *g->left_out);
		if (!g->left_out)
			abort();
	}
	g->left_out[g->left_out_count++] = (struct left_out){ arena_strdup(&g->arena, name), why };
}

size_t graph_left_out(const struct graph *g, const struct left_out **out)
{
	*out = g->left_out;
	return (size_t)g->left_out_count;
}
