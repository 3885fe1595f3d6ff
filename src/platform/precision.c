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
	// A trained MiniLM against its dequantised weights, without the option: NMSE 1e-12, so nothing is rounded on the way
	// (2026.4). With it activations are rounded in groups, as ONNX Runtime rounds them for the same accuracy level: a layer
	// of Qwen2.5-0.5B in int4 is as far from float32 in both, 0.0945. All layers on one thread, processor time of 128 tokens
	// and of one: 485 and 32 ms without, 257 and 25 with.
	{ "openvino", NULL, PRECISION_INT8_WEIGHTS, PRECISION_BY_GRAPH, "dynamic_quantization=32", false, true, NULL },
	{ "openvino", NULL, PRECISION_INT4_WEIGHTS, PRECISION_BY_GRAPH, "dynamic_quantization=32", false, true, NULL },
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

// May MatMulNBits bring activations down to int8?
static bool rounds_activations(const struct precise *p)
{
	return p->accuracy == 0 || p->accuracy == PRECISION_ACCURACY;
}

bool platform_float_activations(const struct route *r, const struct precise *p)
{
	return platform_precision(r, p->precision)->float_activations && !rounds_activations(p);
}

const char *platform_precision_options(struct arena *a, const struct route *r, const struct precise *p, const char *options)
{
	const struct precision_way *w = platform_precision(r, p->precision);

	if (!w->options || platform_float_activations(r, p))
		return options;
	if (w->float_activations && options && *options) // what the graph allows, not what it asks for: below what was asked for
		return arena_printf(a, "%s,%s", w->options, options);
	return options && *options ? arena_printf(a, "%s,%s", options, w->options) : w->options;
}
