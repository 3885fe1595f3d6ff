// SPDX-License-Identifier: Apache-2.0
// How each route comes to a precision, as data: drawn into the graph (weights converted beforehand) unless a row here says that an
// option of the engine makes it, or that nobody can. What an engine thinks of such a graph it says itself when it opens it.
#include "platform/platform.h"

#include "base/text.h"

static const struct precision_way ways[] = {
	// engine, provider, precision, by, options, why
	{ NULL, NULL, PRECISION_INT8_DYNAMIC, PRECISION_BY_NOBODY, NULL, "int8-dynamic: no form of the graph and no option of this engine makes it" },
	{ NULL, NULL, PRECISION_INT8_STATIC, PRECISION_BY_NOBODY, NULL, "int8-static: no form of the graph and no option of this engine makes it" },
};
static const struct precision_way drawn = { .by = PRECISION_BY_GRAPH };

const struct precision_way *platform_precision(const struct route *r, enum precision p)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const struct precision_way *w = &ways[i];

		if (w->precision == p && (!w->engine || text_is(w->engine, r->engine)) && (!w->provider || text_is(w->provider, r->provider)))
			return w;
	}
	return &drawn;
}

const char *platform_precision_options(struct arena *a, const struct route *r, enum precision p, const char *options)
{
	const struct precision_way *w = platform_precision(r, p);

	if (w->by != PRECISION_BY_ENGINE || !w->options)
		return options;
	return options && *options ? arena_printf(a, "%s,%s", options, w->options) : w->options;
}
