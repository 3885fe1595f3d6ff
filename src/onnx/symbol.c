// SPDX-License-Identifier: Apache-2.0
// Dimensions that are no numbers: symbols by name, and lengths that only the run knows.
#include "base/text.h"
#include "onnx/inside.h"

static int64_t symbol_add(struct graph *g, const char *name)
{
	int capacity = g->symbol_capacity;
	g->symbols = graph_grow(g->symbols, g->symbol_count, &capacity, sizeof *g->symbols);
	g->symbol_values = graph_grow(g->symbol_values, g->symbol_count, &g->symbol_capacity, sizeof *g->symbol_values);
	g->symbols[g->symbol_count] = (struct named){ name ? arena_strdup(&g->arena, name) : NULL, -1 };
	g->symbol_values[g->symbol_count] = NO_VALUE;
	return -1 - (int64_t)g->symbol_count++;
}

static int64_t symbol_find(struct graph *g, const char *name)
{
	for (int i = 0; i < g->symbol_count; i++)
		if (text_is(g->symbols[i].name, name))
			return -1 - i;
	return symbol_add(g, name);
}

int64_t graph_symbol(struct graph *g, const char *name)
{
	int64_t dim = symbol_find(g, name);
	int number = g->symbols[-1 - dim].number;
	return number >= 0 ? number : dim;
}

void graph_bind(struct graph *g, const char *name, int64_t n)
{
	if (n < 0 || n > INT32_MAX) {
		graph_fail(g, STATUS_BAD_INPUT, "%s cannot be %lld", name, (long long)n);
		return;
	}
	int64_t dim = symbol_find(g, name);
	g->symbols[-1 - dim].number = (int)n;
}

const char *graph_symbol_name(const struct graph *g, int64_t dim)
{
	return dim < 0 && -1 - dim < g->symbol_count ? g->symbols[-1 - dim].name : NULL;
}

int64_t graph_unknown(struct graph *g)
{
	return symbol_add(g, NULL);
}

int64_t graph_counted(const struct graph *g, int64_t dim)
{
	return dim >= 0 ? dim : -1 - dim < g->symbol_count ? g->symbols[-1 - dim].number : -1;
}

int64_t graph_expected(struct graph *g, int64_t n)
{
	int64_t dim = symbol_add(g, NULL);
	g->symbols[-1 - dim].number = n < 0 || n > INT32_MAX ? -1 : (int)n;
	return dim;
}
