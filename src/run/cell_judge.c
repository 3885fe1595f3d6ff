// SPDX-License-Identifier: Apache-2.0
// One judgement for float32. Two for everything else: a bound that a reduced precision can keep is wider than what a wrong graph
// changes. Measured on a trained MiniLM: another GELU moves its outputs by less than bfloat16 does, a zeroed bias by less than
// int4.
//
//     graph        the same form in float32 --float32's bound--> golden outputs, else a second engine in float32
//     arithmetic   the cell's outputs --bound_of--> the same weights, dequantised, in float32; of 16-bit arithmetic that graph
//                  itself
//     loss         the cell's outputs, compared with golden outputs, else with that graph: figures; only --max-loss makes a
//                  verdict of them. Of what is judged once, they are the figures of that judgement
//
// Where the second engine has too little memory for float32 (OpenVINO takes twice the bytes of it), and it multiplies integer
// weights in float32, it judges the graph by those: against the same weights, dequantised, on the first engine.
//
// Synthetic weights that were made in a reduced precision alone (cell.unwritten) have no float32 behind them: the graph is that
// of the dequantised weights, on two engines, and there is no loss.
//
// A user's .onnx that rounds to 16 bits or to integers is its own graph, and there is none in float32. Another engine judges it
// by the bound of the arithmetic that the file itself holds. Golden outputs are of float32, and a bound that reduced arithmetic
// can keep would hide what else is wrong with the file: what is beyond float32's is a loss, and no verdict. A file of float32
// alone is held to float32's.
#include "run/cell_judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/outline.h"
#include "run/loss.h"
#include "platform/platform.h"

// Generated tokens are those of a run without a cache. What computes inexactly may choose otherwise between two that are nearly
// as good: then its best logits must be within the bound.
static void check_uncached(struct cell_result *out, const struct answer *x, struct bound bound, struct arena *a)
{
	struct row *r = &out->row;
	double largest = 1;

	if (r->tokens_unlike_uncached <= 0 || (out->verdict != VERDICT_RIGHT && out->verdict != VERDICT_UNJUDGED))
		return; // ROW_NONE is below 0
	for (size_t i = 0; i < x->count; i++) {
		const struct tensor *t = &x->tensors[i];
		size_t n;

		if (text_is(t->name, "best_logits") && tensor_count(t->rank, t->dim, &n))
			for (size_t k = 0; k < n; k++)
				largest = fmax(largest, fabs(tensor_get(t, k)));
	}
	if (bound.agreement < 1 && r->uncached_max_error <= bound.max_abs * largest)
		return;
	out->verdict = VERDICT_WRONG;
	r->cause = arena_printf(
		a, "%lld generated tokens are not those of a run without a cache", (long long)r->tokens_unlike_uncached);
}

static bool stopped(const struct judging *j)
{
	return j->watch && j->watch->stop && *j->watch->stop;
}

static enum status ask(const struct judging *j, enum reference_kind kind, const char *tokens, struct arena *a,
	struct reference *out, struct error *err)
{
	struct reference_question q = { .kind = kind,
		.form = j->form,
		.golden = j->golden,
		.tokens = tokens,
		.language = tokens ? j->language : 0,
		.calibration = j->calibration };

	return reference_ask(out, &q, j->cell, j->watch, a, err);
}

// ---- two judgements -----------------------------------------------------------------------------------------------------

static bool quantises(enum precision p)
{
	return p == PRECISION_INT8_DYNAMIC || p == PRECISION_INT8_STATIC || p == PRECISION_INT8_WEIGHTS ||
		p == PRECISION_INT4_WEIGHTS;
}

static enum activations activations_of(const struct cell *c, const struct route *route)
{
	enum precision p = precision_find(c->precision);
	const struct precision_way *way = route ? platform_precision(route, p) : NULL;
	struct precise asked;
	struct error err = { 0 };

	if (way && way->quantises)
		return ACTIVATIONS_BY_ENGINE;
	if (p != PRECISION_INT8_WEIGHTS && p != PRECISION_INT4_WEIGHTS)
		return ACTIVATIONS_AS_BUILT;
	// Left alone, OpenVINO rounds them for integer weights; that it does not is an option of assay's.
	if (way && way->float_activations && c->as_shipped)
		return ACTIVATIONS_BY_ENGINE;
	if (!precision_parse(&asked, c->precision, &err) &&
		(asked.accuracy == 1 || (route && platform_float_activations(route, &asked))))
		return ACTIVATIONS_FLOAT;
	return ACTIVATIONS_AS_BUILT;
}

static enum verdict judge_graph(const struct reference *golden, const struct reference *graph, const struct reference *second,
	struct arena *a, struct row *r, const char **why)
{
	const struct reference *by = golden->name ? golden : second;
	struct row figures;
	enum verdict v;

	row_init(&figures);
	if (!graph->name) {
		*why = arena_printf(a, "the graph in float32 was not computed: %s", graph->absent);
		return VERDICT_UNJUDGED;
	}
	v = reference_judge(by, &graph->answer, bound_for(DTYPE_F32), a, &figures, NULL);
	*why = figures.cause ? arena_printf(a, "the graph in float32 (%s): %s", graph->name, figures.cause) : NULL;
	r->graph_reference = figures.reference;
	r->graph_max_abs_error = figures.max_abs_error;
	r->graph_nmse = figures.nmse;
	return v;
}

static enum verdict judge_arithmetic(const struct reference *by, const struct answer *x, struct bound bound, struct arena *a,
	struct row *r, json_t **checks, const char **why)
{
	struct row figures;
	enum verdict v;

	row_init(&figures);
	v = reference_judge(by, x, bound, a, &figures, checks);
	*why = figures.cause ? arena_printf(a, "its arithmetic, against %s: %s",
				       by->name ? by->name : "the same weights in float32", figures.cause)
			     : NULL;
	r->arithmetic_reference = figures.reference;
	r->arithmetic_max_abs_error = figures.max_abs_error;
	r->arithmetic_nmse = figures.nmse;
	r->arithmetic_cosine = figures.cosine;
	r->left_out = figures.left_out;
	r->bound = figures.bound;
	r->bound_by = figures.bound_by;
	return v;
}

// The figures of the row; what they would mean as a verdict is left out. What was lost of outputs near zero is lost, too.
static void take_loss(const struct reference *by, const struct answer *x, struct arena *a, struct row *r)
{
	struct bound exact = bound_for(DTYPE_F32);
	struct row figures;

	row_init(&figures);
	if (!by->name)
		return;
	exact.rounding = 0;
	reference_judge(by, x, exact, a, &figures, NULL);
	r->reference = figures.reference;
	r->max_abs_error = figures.max_abs_error;
	r->max_rel_error = figures.max_rel_error;
	r->nmse = figures.nmse;
	r->cosine = figures.cosine;
	r->top1_agreement = figures.top1_agreement;
	r->non_finite = figures.non_finite;
	r->not_judged = figures.not_judged;
	r->worst = figures.worst;
	r->perplexity = figures.perplexity;
	r->perplexity_float32 = figures.perplexity_float32;
}

// Wrong before unjudged before right.
static void conclude(
	enum verdict graph, const char *graph_why, enum verdict arithmetic, const char *arithmetic_why, struct cell_result *out)
{
	out->row.graph_verdict = verdict_word(graph);
	out->row.arithmetic_verdict = verdict_word(arithmetic);
	out->verdict = graph == VERDICT_WRONG || arithmetic == VERDICT_WRONG ? VERDICT_WRONG
		: graph != VERDICT_RIGHT                                     ? graph
									     : arithmetic;
	if (out->verdict == graph && graph != VERDICT_RIGHT)
		out->row.cause = graph_why;
	else if (out->verdict != VERDICT_RIGHT)
		out->row.cause = arithmetic_why;
}

// What is right may lose more than was allowed, and so may what is not judged; --max-loss was parsed when the question was asked.
static void limit_loss(const struct judging *j, struct arena *a, struct cell_result *out)
{
	bool judged = out->verdict == VERDICT_RIGHT, known = false;
	struct loss_limits limits;
	const char *beyond;

	if (!j->cell->max_loss || (!judged && out->verdict != VERDICT_UNJUDGED) || loss_parse(&limits, j->cell->max_loss, NULL))
		return;
	beyond = j->draws            ? arena_printf(a, "--max-loss: cannot be applied: %s",
                                    out->row.cause ? out->row.cause : "the outputs are built anew in each run")
		: j->cell->unwritten ? "--max-loss: cannot be applied: the weights were made in this precision alone, and there "
				       "is nothing in float32 to lose"
				     : loss_beyond(&limits, &out->row, a, &known);
	if (beyond && !judged && !known && !j->draws && !j->cell->unwritten) {
		// What no reference judged, this machine lacks, and not the model.
		out->row.cause =
			arena_printf(a, "--max-loss: cannot be applied: %s", out->row.cause ? out->row.cause : "not judged");
		out->verdict = out->row.reference ? VERDICT_UNSUPPORTED : VERDICT_NOT_ASKED;
	} else if (beyond) {
		out->row.cause = beyond;
		out->verdict = known ? VERDICT_LOSSY : VERDICT_UNSUPPORTED; // an exit code that a gate sees
	}
}

// In the place of *second, which there is none of; its name says why.
static enum status ask_reduced(
	const struct judging *j, const char *tokens, struct arena *a, struct reference *second, struct error *err)
{
	struct reference reduced;
	const enum precision p = precision_find(j->cell->precision);
	enum status st;

	if ((p != PRECISION_INT8_WEIGHTS && p != PRECISION_INT4_WEIGHTS) || stopped(j))
		return STATUS_OK;
	if ((st = ask(j, REFERENCE_REDUCED, tokens, a, &reduced, err)))
		return st;
	if (reduced.name) {
		reduced.name = arena_printf(a, "%s (not %s)", reduced.name, second->absent);
		reduced.is_reduced = true;
		*second = reduced;
	} else if (reduced.absent) {
		second->absent = arena_printf(a, "%s; %s", second->absent, reduced.absent);
	}
	return STATUS_OK;
}

static enum status judge_twice(const struct judging *j, const struct reference *given, struct bound bound, const struct answer *x,
	struct arena *a, struct cell_result *out, struct error *err)
{
	struct reference none = { .absent = "no golden outputs" }, golden = given->by == BY_GOLDEN && given->name ? *given : none;
	struct reference graph = given->by != BY_GOLDEN && given->name ? *given : none, second = none, arithmetic;
	const char *tokens = graph.name ? reference_tokens(&graph, a) : NULL, *graph_why, *arithmetic_why;
	enum verdict of_graph, of_arithmetic;
	enum status st;

	if (!graph.name && (st = ask(j, REFERENCE_GRAPH, NULL, a, &graph, err)))
		return st;
	if (graph.name && !golden.name && !stopped(j) && (st = ask(j, REFERENCE_SECOND, NULL, a, &second, err)))
		return st;
	arithmetic = graph;
	if (!j->cell->unwritten && quantises(precision_find(j->cell->precision)) && !stopped(j) &&
		(st = ask(j, REFERENCE_ARITHMETIC, tokens, a, &arithmetic, err)))
		return st;
	if (stopped(j)) {
		out->row.cause = "judge: stopped from outside";
		out->verdict = VERDICT_INTERRUPTED;
		return STATUS_OK;
	}
	if (graph.name && !golden.name && second.no_memory && arithmetic.name && (st = ask_reduced(j, tokens, a, &second, err)))
		return st;
	of_graph = judge_graph(&golden, second.is_reduced ? &arithmetic : &graph, &second, a, &out->row, &graph_why);
	of_arithmetic = judge_arithmetic(&arithmetic, x, bound, a, &out->row, &out->checks, &arithmetic_why);
	if (!j->cell->unwritten)
		take_loss(golden.name ? &golden : &graph, x, a, &out->row);
	else // there is nothing in float32 that it could have lost: this alone the outputs were held against
		out->row.reference = out->row.arithmetic_reference;
	conclude(of_graph, graph_why, of_arithmetic, arithmetic_why, out);
	return STATUS_OK;
}

// ---- one ----------------------------------------------------------------------------------------------------------------

static const struct {
	unsigned of;
	enum precision precision;
	const char *words;
} given_arithmetic[] = {
	{ OUTLINE_F16, PRECISION_FLOAT16, "float16" },
	{ OUTLINE_BF16, PRECISION_BFLOAT16, "bfloat16" },
	{ OUTLINE_WEIGHTS, PRECISION_INT8_WEIGHTS, "integer weights" },
	{ OUTLINE_STATIC, PRECISION_INT8_STATIC, "integer activations" },
	{ OUTLINE_DYNAMIC, PRECISION_INT8_DYNAMIC, "integer activations, scaled as they come" },
};

static struct bound bound_of_given(unsigned given, enum dtype compute)
{
	struct bound out = bound_for(compute);

	for (size_t i = 0; i < sizeof given_arithmetic / sizeof *given_arithmetic; i++) {
		struct bound more = bound_of(given_arithmetic[i].precision, compute, ACTIVATIONS_AS_BUILT);

		if (given & given_arithmetic[i].of)
			out = bound_wider(&out, &more);
	}
	return out;
}

static const char *words_of_given(unsigned given, struct arena *a)
{
	const char *out = NULL;

	for (size_t i = 0; i < sizeof given_arithmetic / sizeof *given_arithmetic; i++)
		if (given & given_arithmetic[i].of)
			out = out ? arena_printf(a, "%s and %s", out, given_arithmetic[i].words) : given_arithmetic[i].words;
	return out;
}

// A file that draws random numbers is answered by other ones each time. What the authors' library computed in float32 also
// differs by what the file's arithmetic lost, and how much that may be is not known: numbers that are too far away are then no
// verdict. Other shapes, types and values that are not finite are.
static void excuse_loss(
	const struct judging *j, const struct reference *ref, const struct answer *x, struct arena *a, struct cell_result *out)
{
	struct bound any = { INFINITY, INFINITY, INFINITY, INFINITY, 0 };
	bool reduced = ref->by == BY_GOLDEN && j->given;
	struct row ignored;

	row_init(&ignored);
	if (out->verdict != VERDICT_WRONG || (!reduced && !j->draws) ||
		reference_judge(ref, x, any, a, &ignored, NULL) != VERDICT_RIGHT)
		return;
	out->verdict = VERDICT_UNJUDGED;
	out->row.cause = j->draws
		? arena_printf(a, "not judged: the file draws random numbers (%s), other ones in every engine and every run: %s",
			  j->draws, out->row.cause)
		: arena_printf(a,
			  "not judged: the file computes with %s, and whether that alone takes it so far from the golden outputs "
			  "is not known: %s",
			  words_of_given(j->given, a), out->row.cause);
}

// Two engines that disagree: one is wrong, and nothing says which (OpenVINO computes int64 in 32 bits). Of the processor, ONNX
// Runtime without its optimisations is asked, too: only what its optimisations change is its fault for sure.
static enum status ask_third(const struct judging *j, const struct reference *ref, const struct answer *x, struct bound bound,
	struct arena *a, struct cell_result *out, struct error *err)
{
	struct reference third;
	struct row ignored;
	enum status st;

	if (out->verdict != VERDICT_WRONG || ref->by == BY_GOLDEN || !text_is(j->cell->platform, "cpu") || stopped(j))
		return STATUS_OK;
	if ((st = ask(j, REFERENCE_GRAPH, NULL, a, &third, err)))
		return st;
	row_init(&ignored);
	if (third.name && reference_judge(&third, x, bound, a, &ignored, NULL) != VERDICT_RIGHT)
		return STATUS_OK;
	out->verdict = VERDICT_UNJUDGED;
	out->row.cause = third.name
		? arena_printf(a, "not judged: %s and %s disagree, and which of them is right is not known: %s", ref->name,
			  third.name, out->row.cause)
		: arena_printf(a,
			  "not judged: it disagrees with %s, and a third that would say which is right (%s) told nothing: %s",
			  ref->name, third.absent ? third.absent : "stopped", out->row.cause);
	return STATUS_OK;
}

static enum status judge_once(const struct judging *j, struct reference *ref, const struct answer *x, struct bound bound,
	struct arena *a, struct cell_result *out, struct error *err)
{
	enum status st;

	if (!ref->name && (st = ask(j, REFERENCE_ENGINE, NULL, a, ref, err)))
		return st;
	if (stopped(j) && !ref->name) {
		out->row.cause = "judge: stopped from outside";
		out->verdict = VERDICT_INTERRUPTED;
		return STATUS_OK;
	}
	const bool is_golden = ref->by == BY_GOLDEN;

	if (is_golden)
		bound = bound_for(DTYPE_F32);
	out->verdict = reference_judge(ref, x, bound, a, &out->row, &out->checks);
	if (j->given && !is_golden && out->row.bound)
		out->row.bound =
			arena_printf(a, "of the file's own arithmetic (%s): %s", words_of_given(j->given, a), out->row.bound);
	excuse_loss(j, ref, x, a, out);
	return ask_third(j, ref, x, bound, a, out, err);
}

// "f32", also of "f32, quantised (MatMulNBits)".
static enum dtype compute_of(const char *word)
{
	char first[16];

	if (!word)
		return DTYPE_F32;
	snprintf(first, sizeof first, "%.*s", (int)strcspn(word, ","), word);
	return dtype_find(first);
}

enum verdict unread_verdict(enum status st)
{
	return st == STATUS_NO_MEMORY ? VERDICT_NOT_ASKED : verdict_of_status(st); // the process that ended had its own
}

enum status cell_judge(
	const struct judging *j, struct reference *ref, struct arena *a, struct cell_result *out, struct error *err)
{
	struct row *r = &out->row;
	enum precision p = precision_find(j->cell->precision);
	enum dtype compute = compute_of(r->compute_dtype);
	const struct platform *platform = platform_find(j->cell->platform);
	const struct route *route = platform ? platform_route(platform, j->cell->device) : NULL;
	struct bound bound = j->given ? bound_of_given(j->given, compute) : bound_of(p, compute, activations_of(j->cell, route));
	struct error why = { 0 };
	struct answer answer;
	enum status st = outputs_read(a, j->outputs_path, &answer, &why);

	if (st) {
		// The engine's process wrote it: what is wrong with it is the cell's outcome, what keeps this one from it is not.
		r->cause = arena_printf(a, "its outputs cannot be read: %s", why.text);
		out->verdict = unread_verdict(st);
		return STATUS_OK;
	}
	if (j->watch && j->watch->phase)
		j->watch->phase(j->watch->context, "judge");
	if (!ref->name && j->cell->new_tokens > 0 && precision_is_reduced(p)) {
		// It chose its own tokens, and asked now float32 would choose others.
		r->cause = arena_printf(a, "not judged: the tokens of float32, about which it was to be asked, are not known: %s",
			ref->absent ? ref->absent : "they were not told");
		out->verdict = VERDICT_UNJUDGED;
		limit_loss(j, a, out);
		return STATUS_OK;
	}
	bool twice = !j->given && (precision_is_reduced(p) || compute == DTYPE_F16 || compute == DTYPE_BF16);
	st = twice ? judge_twice(j, ref, bound, &answer, a, out, err)
		   : judge_once(j, ref, &answer, j->given ? bound : bound_for(DTYPE_F32), a, out, err);
	if (!st)
		check_uncached(out, &answer, bound, a);
	if (!st)
		limit_loss(j, a, out);
	return st;
}
