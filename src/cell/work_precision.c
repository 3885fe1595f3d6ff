// SPDX-License-Identifier: Apache-2.0
// The precision of a cell: who makes it, and what the row says of it. What is converted is decided where the graph is built
// (onnx/reduced.c), how a platform comes to a precision by its row (platform/precision.c).
#include "cell/work.h"

#include <math.h>
#include <string.h>

enum status work_choose_precision(struct work *w, struct error *err)
{
	struct precise asked;
	enum status st = precision_parse(&asked, w->ask.precision, err);

	if (st)
		return st;
	const struct precision_way *way = platform_precision(w->target.route, asked.precision);
	if (way->by == PRECISION_BY_NOBODY)
		return error_set(err, STATUS_UNSUPPORTED, "%s", way->why);
	bool is_given = text_ends(w->ask.path, ".onnx");
	if (asked.precision && way->by == PRECISION_BY_GRAPH && is_given)
		return error_set(err, STATUS_UNSUPPORTED,
			"--precision %s: an .onnx file is run as it is; assay converts the models that it builds",
			precision_word(asked.precision));
	if (asked.precision)
		say_row(json_pack("{s:s}", "precision_by", way->by == PRECISION_BY_ENGINE ? "engine" : "graph"));
	w->precise = way->by == PRECISION_BY_GRAPH ? asked : (struct precise){ 0 };
	w->precise.by_engine = way->by == PRECISION_BY_GRAPH && way->quantises;
	if (w->ask.dequantised) {
		w->precise.dequantised = true;
		w->precise.by_engine = w->ask.dequantised == DEQUANTISE_WEIGHTS;
	}
	if (w->precise.precision != PRECISION_INT8_STATIC)
		return STATUS_OK;
	if (!w->ask.calibration)
		return error_set(err, STATUS_UNSUPPORTED, "int8-static: there are no ranges of activations");
	return work_read_ranges(w, w->ask.calibration, err);
}

// {"why": SENTENCE, "count": N, "first": NAME} for each reason.
static json_t *left_out(struct graph *const *graphs, size_t count)
{
	json_t *all = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct left_out *items;
		size_t n = graph_left_out(graphs[i], &items);

		for (size_t k = 0; k < n; k++) {
			json_t *entry, *found = NULL;
			size_t at;

			json_array_foreach(all, at,
				entry) if (text_is(json_string_value(json_object_get(entry, "why")), items[k].why)) found = entry;
			if (found)
				json_object_set_new(
					found, "count", json_integer(json_integer_value(json_object_get(found, "count")) + 1));
			else
				json_array_append_new(all,
					json_pack("{s:s, s:i, s:s}", "why", items[k].why, "count", 1, "first", items[k].name));
		}
	}
	return all;
}

// Of a graph of float32 by its floating-point outputs, which have another type where a checkpoint's has no other.
static const char *graph_dtype(const struct session *s)
{
	for (size_t i = 0; i < s->output_count; i++)
		if (s->outputs[i].dtype == DTYPE_F32 || s->outputs[i].dtype == DTYPE_F16 || s->outputs[i].dtype == DTYPE_BF16 ||
			s->outputs[i].dtype == DTYPE_F64)
			return dtype_word(s->outputs[i].dtype);
	return "f32";
}

const char *work_computes_in(struct work *w, const struct session *s, const char *confirmed)
{
	const struct outline_arithmetic *g = &w->given;
	const char *half = g->of & OUTLINE_F16 ? g->of & OUTLINE_BF16 ? "f16 and bf16" : "f16"
		: g->of & OUTLINE_BF16         ? "bf16"
					       : NULL;
	const char *out = confirmed ? confirmed : graph_dtype(s);

	// No word of the engine's own.
	if (half && (!confirmed || text_is(w->backend->name, "ort")) && text_is(out, graph_dtype(s)))
		out = g->f32 || g->quantised ? arena_printf(&w->arena, "f32 and %s mixed", half) : half;
	return g->quantised && !text_is(out, "none") ? arena_printf(&w->arena, "%s, quantised (%s)", out, g->quantised) : out;
}

enum status work_check_precision(struct work *w, struct error *err)
{
	enum precision asked = precision_find(w->ask.precision);
	const char *says = session_option(&w->part->session, "compute_dtype"),
		   *wanted = asked == PRECISION_FLOAT16 ? "f16"
		: asked == PRECISION_BFLOAT16           ? "bf16"
							: NULL;

	// Includes bf16. Asked for by name: where no type is named, the device's own is an answer.
	if (asked == PRECISION_FLOAT32 && says && strstr(says, "f16") && w->ask.as_shipped)
		return error_set(err, STATUS_UNSUPPORTED,
			"--precision float32: left to itself (--as-shipped), %s computes in %s here; without --as-shipped it is "
			"asked "
			"for float32",
			w->target.platform->name, says);
	if (asked == PRECISION_FLOAT32 && says && strstr(says, "f16"))
		return error_set(err, STATUS_UNSUPPORTED,
			"--precision float32: %s computes in %s on this device; leave --precision away, or ask for %s",
			w->target.platform->name, says, strstr(says, "bf16") ? "bfloat16" : "float16");
	// Where the graph makes it, its own types say so.
	if (!wanted || platform_precision(w->target.route, asked)->by != PRECISION_BY_ENGINE || !says || text_is(says, wanted))
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED, "%s: %s was asked to compute in %s and says that it computes in %s",
		precision_word(asked), w->backend->name, wanted, says);
}

const char *work_confirmed_dtype(const struct work *w)
{
	const char *says = session_option(&w->part->session, "compute_dtype");
	enum precision p = w->precise.precision;

	if (!says)
		says = "f32";
	// A graph of a reduced precision gives out float32 whatever its products are, and an engine's word is on what it computes
	// in floats.
	return precision_is_reduced(p) && text_is(says, "f32") && !platform_float_activations(w->target.route, &w->precise)
		? NULL
		: says;
}

const char *work_products(const struct work *w, const struct placement *p)
{
	static const char *const integer[] = { "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearMatMul",
		"QGemm", "ConvInteger", "QLinearConv" };
	bool integers = false, floats = false;

	if (w->precise.precision != PRECISION_INT8_DYNAMIC && w->precise.precision != PRECISION_INT8_STATIC)
		return NULL;
	for (size_t i = 0; i < p->count; i++) {
		const struct placed_node *n = &p->nodes[i];

		if (n->fused_away || n->elsewhere || !n->op)
			continue;
		for (size_t k = 0; k < sizeof integer / sizeof *integer; k++)
			integers |= text_is(n->op, integer[k]);
		if (text_is(n->op, "MatMulNBits"))
			return NULL; // what it multiplies in is its choice
		// It ran by itself: what reads the weights reads floats.
		floats |= text_is(n->op, "DequantizeLinear") && text_is(n->dtype, "i8");
	}
	return integers ? "f32 and int8" : floats ? "f32" : NULL;
}

static bool is_of_integers(enum precision p)
{
	return p == PRECISION_INT8_DYNAMIC || p == PRECISION_INT8_STATIC || p == PRECISION_INT8_WEIGHTS ||
		p == PRECISION_INT4_WEIGHTS;
}

// Weights that are only cast, or computed of a format that the checkpoint has, are not stored as integers by that.
static bool has_integers(struct graph *const *graphs, size_t count)
{
	const struct recipe *const *recipes;

	for (size_t i = 0; i < count; i++) {
		size_t n = graph_recipes(graphs[i], &recipes);
		for (size_t k = 0; k < n; k++)
			if (recipes[k]->kind != RECIPE_CAST)
				return true;
	}
	return false;
}

enum status work_say_precision(struct work *w, struct graph *const *graphs, const struct conversion *made, struct error *err)
{
	const struct precise *p = &w->precise;
	json_t *how;

	if (!p->precision)
		return STATUS_OK;
	how = json_pack("{s:s, s:o}", "weights", precision_word(p->precision), "left", left_out(graphs, w->part_count));
	if (p->precision == PRECISION_INT8_DYNAMIC || p->precision == PRECISION_INT8_STATIC) {
		json_object_set_new(how, "symmetric", json_true());
		json_object_set_new(how, "activations",
			json_string(p->precision == PRECISION_INT8_STATIC ? "u8, a range for each tensor"
					: p->by_engine                    ? "as the engine quantises them"
									  : "u8, a range for each tensor and run"));
		if (w->calibration)
			json_object_set(how, "calibration", w->calibration);
	}
	if (p->block > 0) {
		json_object_set_new(how, "block", json_integer(p->block));
		json_object_set_new(how, "symmetric", json_boolean(!p->asymmetric));
		json_object_set_new(how, "accuracy_level", json_integer(p->accuracy));
		json_object_set_new(how, "head", json_string(p->float_head ? "as stored" : precision_word(p->precision)));
	}
	say_row(json_pack("{s:o, s:o}", "quantization", how, "converted_bytes",
		made->nbytes ? json_integer((json_int_t)made->nbytes) : json_null()));
	if (isfinite(made->ms)) { // the same model built again finds it in the cache
		w->convert_ms += made->ms;
		say_row(json_pack("{s:f}", "convert_ms", w->convert_ms));
	}
	if (is_of_integers(p->precision) && !has_integers(graphs, w->part_count)) {
		const struct left_out *items;
		const char *why = graph_left_out(graphs[0], &items) ? items[0].why : "it has no linear layer";

		return error_set(err, STATUS_UNSUPPORTED, "%s: no weight of this model is stored that way (%s)",
			precision_word(p->precision), why);
	}
	return STATUS_OK;
}
