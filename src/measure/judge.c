// SPDX-License-Identifier: Apache-2.0
// Compares one output with its reference and says in a sentence what is wrong. Everything is summed in double, element by
// element in order, so that a verdict does not depend on threads.
//
// Where the bounds come from:
//   f32   the conformance README: transformers in PyTorch against the engines. Seen here: bert-base 4.8e-6 of 4.4, NMSE 1e-12.
//   bf16  OpenVINO with INFERENCE_PRECISION_HINT=bf16: bert-base 0.021 of 4.4 (0.0048 of the largest value) and NMSE 2.4e-5;
//         MiniLM 0.021 and 7.2e-5; twelve 2048x2048 MatMuls 0.025 of 4.1 (0.0061). The bound is five times the worst of them; a
//         wrong graph is off by the order of the outputs themselves.
//   f16   QNN's arithmetic on a trained BERT: 0.027 of 5.8 (0.0047), cosine 0.99991, so NMSE 1.8e-4. Twice and a half that.
// Other types have no observation behind them yet and are held to the bound of f32.
#include "measure/judge.h"

#include <math.h>

#define MASKED (-10000.0)        // conformance README: what stands for a logit that the original masks

struct bound bound_for(enum dtype compute)
{
	switch (compute) {
	case DTYPE_BF16:
		return (struct bound){ 0.03, 5e-4, 0.003, false };
	case DTYPE_F16:
		return (struct bound){ 0.012, 5e-4, 0.0012, false };
	default:
		return (struct bound){ 1e-4, 1e-8, 1e-5, false };            // averages over tokens and lengths of 1
	}
}

// NMSE (and the largest error over the largest value) seen against float32, seeded weights, on ONNX Runtime 1.31: the worst of eight
// small models (clip, gemma2, mistral, qwen2, roberta, swin, t5, wav2vec2), each time gemma2 with its soft caps, then the next, then bert-base:
//   int8-weights     0.0023 (0.09), 0.0004
//   int8-dynamic     0.0055 (0.09), 0.0012; bert-base 0.0008 (OpenVINO the same)
//   int8-static      0.0072 (0.17), 0.0019; bert-base 0.0009 (OpenVINO the same)
//   int4-weights     0.23 (0.6), 0.05
//   bfloat16         bert-base 1.3e-4, a small llama the same, both by OpenVINO
// The bounds are five times the worst. Of int4 that would allow anything, for outputs that have nothing to do with the reference have an NMSE of 1 or
// more: its bound is five times the next. How wrong a precision is the row's figures say; the bound only tells rounding from a wrong graph.
static struct bound bound_of_precision(enum precision p)
{
	switch (p) {
	case PRECISION_FLOAT16:
		return (struct bound){ 0.012, 5e-4, 0.012, true };       // as bound_for
	case PRECISION_BFLOAT16:
		return (struct bound){ 0.1, 2e-3, 0.1, true };
	case PRECISION_INT8_WEIGHTS:
		return (struct bound){ 0.45, 1.2e-2, 0.45, true };
	case PRECISION_INT8_DYNAMIC: case PRECISION_INT8_STATIC:
		return (struct bound){ 0.85, 4e-2, 0.85, true };
	case PRECISION_INT4_WEIGHTS:
		return (struct bound){ 1, 0.25, 1, true };
	case PRECISION_STORED: case PRECISION_FLOAT32: case PRECISION_COUNT:
		break;
	}
	return (struct bound){ 0, 0, 0, false };
}

struct bound bound_of(enum precision p, enum dtype compute)
{
	struct bound arithmetic = bound_for(compute), asked = bound_of_precision(p);

	return (struct bound){ fmax(arithmetic.max_abs, asked.max_abs), fmax(arithmetic.nmse, asked.nmse), fmax(arithmetic.derived, asked.derived),
		asked.integers_may_differ };
}

static bool is_integer(enum dtype t)
{
	return t != DTYPE_F32 && t != DTYPE_F16 && t != DTYPE_BF16 && t != DTYPE_F64 && t != DTYPE_F8_E4M3 && t != DTYPE_F8_E5M2;
}

static double element(const struct tensor *t, size_t i)
{
	return t->dtype == DTYPE_F32 ? (double)((const float *)t->data)[i] : tensor_get(t, i);
}

// "[1,4,7]" of a flat index.
static const char *place(const struct tensor *t, size_t flat, char *out, size_t size)
{
	int64_t index[TENSOR_MAX_RANK] = { 0 };

	for (int k = t->rank - 1; k >= 0 && t->dim[k] > 0; k--) {       // an empty tensor has no place
		index[k] = (int64_t)(flat % (size_t)t->dim[k]);
		flat /= (size_t)t->dim[k];
	}
	return tensor_shape_text(t->rank, index, out, size);
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
	if (a->rank != b->rank)
		return false;
	for (int k = 0; k < a->rank; k++)
		if (a->dim[k] != b->dim[k])
			return false;
	return true;
}

static void judge_integers(const struct tensor *output, const struct tensor *reference, size_t count, bool may_differ, struct arena *a, struct check *out)
{
	char where[128];
	size_t different = 0;

	for (size_t i = 0; i < count; i++) {
		double x = tensor_get(output, i), r = tensor_get(reference, i), error = fabs(x - r);

		if (x == r)
			continue;
		if (!different++ || error > out->max_abs_error) {
			out->max_abs_error = error;
			out->worst = i;
			out->worst_value = x;
			out->worst_reference = r;
		}
	}
	out->right = different == 0 || may_differ;
	if (count && may_differ)
		out->top1_agreement = 1 - (double)different / (double)count;
	if (!out->right)
		out->cause = arena_printf(a, "%s: %zu of %zu integers differ, most at %s (%g, reference %g); they must be equal", out->name, different,
			count, place(output, out->worst, where, sizeof where), out->worst_value, out->worst_reference);
}

static double top1(const struct tensor *output, const struct tensor *reference, size_t count)
{
	size_t width = output->rank ? (size_t)output->dim[output->rank - 1] : 0, agree = 0;

	if (width < 2 || count < width)
		return (double)NAN;
	for (size_t row = 0; row < count; row += width) {
		size_t best = row, wanted = row;

		for (size_t i = row + 1; i < row + width; i++) {
			best = element(output, i) > element(output, best) ? i : best;
			wanted = element(reference, i) > element(reference, wanted) ? i : wanted;
		}
		agree += best == wanted;
	}
	return (double)agree / (double)(count / width);
}

struct sums {
	double error2, reference2, output2, dot;
	size_t unmasked, first_unmasked, not_same;   // masked places that are not; non-finite in one and not the same in the other
	size_t first_not_same;
};

static void add_up(const struct tensor *output, const struct tensor *reference, size_t count, struct check *out, struct sums *sum)
{
	for (size_t i = 0; i < count; i++) {
		double r = element(reference, i);

		if (isfinite(r) && r > MASKED && fabs(r) > out->reference_absmax)
			out->reference_absmax = fabs(r);
	}
	for (size_t i = 0; i < count; i++) {
		double x = element(output, i), r = element(reference, i), error;

		if (r <= MASKED) {
			if (!(x <= MASKED) && !sum->unmasked++)
				sum->first_unmasked = i;
			continue;
		}
		if (!isfinite(x) || !isfinite(r)) {
			bool same = (isnan(x) && isnan(r)) || x == r;

			out->non_finite += isfinite(r) && !isfinite(x);
			if (!same && !sum->not_same++)
				sum->first_not_same = i;
			continue;
		}
		error = fabs(x - r);
		if (error > out->max_abs_error) {
			out->max_abs_error = error;
			out->worst = i;
			out->worst_value = x;
			out->worst_reference = r;
		}
		// Relative error says nothing near zero: below a hundredth of the largest value it is left out.
		if (fabs(r) > 0.01 * out->reference_absmax && error / fabs(r) > out->max_rel_error)
			out->max_rel_error = error / fabs(r);
		sum->error2 += error * error;
		sum->reference2 += r * r;
		sum->output2 += x * x;
		sum->dot += x * r;
	}
	if (!out->worst && out->max_abs_error == 0 && count) {
		out->worst_value = element(output, 0);
		out->worst_reference = element(reference, 0);
	}
}

// -log softmax(row)[id]
static double surprise(const struct tensor *logits, size_t row, size_t width, size_t id)
{
	double largest = -INFINITY, sum = 0;

	for (size_t i = 0; i < width; i++)
		largest = fmax(largest, element(logits, row + i));
	for (size_t i = 0; i < width; i++)
		sum += exp(element(logits, row + i) - largest);
	return log(sum) + largest - element(logits, row + id);
}

double judge_perplexity(const struct tensor *logits, const struct tensor *ids, const struct tensor *mask)
{
	size_t pairs = 0;
	double sum = 0;

	if (!logits || !ids || logits->rank != 3 || ids->rank != 2 || ids->dim[0] != logits->dim[0] || ids->dim[1] != logits->dim[1] || (mask && !same_shape(mask, ids)))
		return (double)NAN;
	const size_t length = (size_t)ids->dim[1], places = (size_t)ids->dim[0] * length, width = (size_t)logits->dim[2];
	for (size_t i = 0; i + 1 < places; i++) {
		double next = tensor_get(ids, i + 1);

		if (i % length == length - 1 || (mask && !(tensor_get(mask, i) > 0 && tensor_get(mask, i + 1) > 0)))
			continue;
		if (!(next >= 0 && next < (double)width))
			return (double)NAN;
		sum += surprise(logits, i * width, width, (size_t)next);
		pairs++;
	}
	return pairs ? exp(sum / (double)pairs) : (double)NAN;
}

void judge_tensor(const struct tensor *output, const struct tensor *reference, struct bound bound, struct arena *a, struct check *out)
{
	char where[128], wanted[128];
	struct sums sum = { 0 };
	double allowed;
	size_t count;

	*out = (struct check){ .name = reference->name, .top1_agreement = (double)NAN, .nmse = (double)NAN, .cosine = (double)NAN };
	if (!same_shape(output, reference)) {
		out->max_abs_error = (double)NAN;
		out->max_rel_error = (double)NAN;
		out->cause = arena_printf(a, "%s: shape %s, reference %s", out->name, tensor_shape_text(output->rank, output->dim, where, sizeof where),
			tensor_shape_text(reference->rank, reference->dim, wanted, sizeof wanted));
		return;
	}
	if (!tensor_count(output->rank, output->dim, &count) || output->nbytes < count * dtype_size(output->dtype) ||
	    reference->nbytes < count * dtype_size(reference->dtype)) {
		out->max_abs_error = (double)NAN;
		out->cause = arena_printf(a, "%s: holds fewer bytes than its shape %s says", out->name,
			tensor_shape_text(output->rank, output->dim, where, sizeof where));
		return;
	}
	if (is_integer(reference->dtype)) {
		judge_integers(output, reference, count, bound.integers_may_differ, a, out);
		return;
	}
	add_up(output, reference, count, out, &sum);
	out->nmse = sum.reference2 > 0 ? sum.error2 / sum.reference2 : sum.error2 > 0 ? INFINITY : 0;
	out->cosine = sum.reference2 > 0 && sum.output2 > 0 ? sum.dot / sqrt(sum.reference2 * sum.output2) : sum.reference2 == sum.output2 ? 1 : 0;
	out->top1_agreement = top1(output, reference, count);
	allowed = bound.max_abs * (out->reference_absmax > 1 ? out->reference_absmax : 1);

	if (sum.not_same)
		out->cause = arena_printf(a, "%s: %zu values of %zu are %s, first at %s (%g, reference %g)", out->name, sum.not_same, count,
			out->non_finite ? "not finite" : "finite where the reference is not",
			place(output, sum.first_not_same, where, sizeof where), element(output, sum.first_not_same), element(reference, sum.first_not_same));
	else if (sum.unmasked)
		out->cause = arena_printf(a, "%s: %zu places that the reference masks are not masked, first at %s (%g)", out->name, sum.unmasked,
			place(output, sum.first_unmasked, where, sizeof where), element(output, sum.first_unmasked));
	else if (out->max_abs_error > allowed)
		out->cause = arena_printf(a, "%s: %.3g off at %s (%.6g, reference %.6g); allowed %.2g", out->name, out->max_abs_error,
			place(output, out->worst, where, sizeof where), out->worst_value, out->worst_reference, allowed);
	else if (!(out->nmse <= bound.nmse))
		out->cause = arena_printf(a, "%s: normalised mean squared error %.3g; allowed %.2g (worst %.3g off at %s)", out->name, out->nmse,
			bound.nmse, out->max_abs_error, place(output, out->worst, where, sizeof where));
	out->right = !out->cause;
}

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *check_json(const struct check *c, const struct tensor *output)
{
	char where[128];
	json_t *object = json_object();

	json_object_set_new(object, "name", json_string(c->name));
	json_object_set_new(object, "right", json_boolean(c->right));
	json_object_set_new(object, "dtype", output ? json_string(dtype_word(output->dtype)) : json_null());
	json_object_set_new(object, "shape", output ? json_string(tensor_shape_text(output->rank, output->dim, where, sizeof where)) : json_null());
	json_object_set_new(object, "max_abs_error", number(c->max_abs_error));
	json_object_set_new(object, "max_rel_error", number(c->max_rel_error));
	json_object_set_new(object, "nmse", number(c->nmse));
	json_object_set_new(object, "cosine", number(c->cosine));
	json_object_set_new(object, "top1_agreement", number(c->top1_agreement));
	json_object_set_new(object, "non_finite", json_integer(c->non_finite));
	json_object_set_new(object, "reference_absmax", number(c->reference_absmax));
	json_object_set_new(object, "worst_index", output && c->worst_value == c->worst_value ?
		json_string(place(output, c->worst, where, sizeof where)) : json_null());
	json_object_set_new(object, "worst_value", number(c->worst_value));
	json_object_set_new(object, "worst_reference", number(c->worst_reference));
	json_object_set_new(object, "cause", c->cause ? json_string(c->cause) : json_null());
	return object;
}
