// SPDX-License-Identifier: Apache-2.0
// How each route comes to a precision, as data: built into the graph (weights converted beforehand) unless a row here says that
// an option of the engine makes it, or that neither can. What an engine thinks of such a graph it says itself when it opens it.
#include "platform/platform.h"

#include "base/text.h"

static const struct precision_way ways[] = {
	// engine, provider, precision, by, options, quantises, float_activations, why; the first that fits
	{ "openvino", NULL, PRECISION_FLOAT16, PRECISION_BY_ENGINE, "precision=f16", false, false, NULL },
	{ "openvino", NULL, PRECISION_BFLOAT16, PRECISION_BY_ENGINE, "precision=bf16", false, false, NULL },
	// It takes DynamicQuantizeLinear apart and multiplies in float32, as slow as without; weights alone it quantises
	// activations for: three
	// layers of bert-base's size, 128 rows, 2026.4: 104 to 143 ms that way, 25 in groups of 128, 32 in groups of 32, 105 in
	// float32.
	{ "openvino", NULL, PRECISION_INT8_DYNAMIC, PRECISION_BY_GRAPH, "dynamic_quantization=128", true, false, NULL },
	// A trained MiniLM against its dequantised weights: NMSE 1e-12, so nothing is rounded on the way (2026.4).
	{ "openvino", NULL, PRECISION_INT8_WEIGHTS, PRECISION_BY_GRAPH, NULL, false, true, NULL },
	{ "openvino", NULL, PRECISION_INT4_WEIGHTS, PRECISION_BY_GRAPH, NULL, false, true, NULL },
};
static const struct precision_way built = { .by = PRECISION_BY_GRAPH };

const struct precision_way *platform_precision(const struct route *r, enum precision p)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const struct precision_way *w = &ways[i];

		if (w->precision == p && (!w->engine || text_is(w->engine, r->engine)) &&
			(!w->provider || text_is(w->provider, r->provider)))
			return w;
	}
	return &built;
}

const char *platform_precision_options(struct arena *a, const struct route *r, enum precision p, const char *options)
{
	const struct precision_way *w = platform_precision(r, p);

	if (!w->options)
		return options;
	return options && *options ? arena_printf(a, "%s,%s", options, w->options) : w->options;
}
