// SPDX-License-Identifier: Apache-2.0
// Compares one output with its reference and says in a sentence what is wrong. Everything is summed in double, element by
// element in order, so that a verdict does not depend on threads.
//
// Where the bounds come from:
//   f32   the conformance README: transformers in PyTorch against the engines. Seen here: bert-base 4.8e-6 of 4.4, NMSE 1e-12.
//   bf16  OpenVINO with INFERENCE_PRECISION_HINT=bf16: bert-base 0.021 of 4.4 (0.0048 of the largest value) and NMSE 2.4e-5;
//         MiniLM 0.021 and 7.2e-5; twelve 2048x2048 MatMuls 0.025 of 4.1 (0.0061). The bound is five times the worst of them.
//   f16   QNN's arithmetic (its emulator) on a trained BERT: 0.027 of 5.8 (0.0047), cosine 0.99991, so NMSE 1.8e-4; on a trained
//         MiniLM 1.2e-3 in the pooler's output, whose values are small. Two and a half times the worst.
// Other types have no observation behind them yet and are held to the bound of f32.
// These bounds tell arithmetic from other arithmetic. Whether the graph is the model's is never decided by a bound wider than
// float32's: a GELU of another kind moves the outputs of a trained encoder by less than bfloat16 does (reference.h, two
// judgements).
//
// Rounding: values inside a model are of the order of 1 (normalisation, softmax, sigmoid), so its outputs carry an absolute error
// of some units in the last place of 1 however near to zero they lie. A detector's map of 1e-5 was 1.4e-7 off: NMSE 4e-4, and
// right. Up to 4 such units (root mean square) an NMSE says nothing. Where it is UNLIKE or more, what agrees is only that both
// are small: that is no verdict.
//
// A few huge values decide every figure over a whole output. What is below SMALL of the largest value is judged by itself, too,
// in float32 (in other arithmetic it is not judged where nothing of it agrees): all values below each power of two, where they
// are at least a 64th of the output, because values of every size between would hide what is smaller still. They may be a
// hundred times further off (in NMSE) than all are, since what is huge inside of a model is rounded, too.
//
// So do a few offsets that many values share. What the values of a group differ by, about its mean, is judged by itself as what
// is small is (stats/groups.h): all values are one group where their mean is far beyond what they differ by; 24 values of 100
// about 0 beside 76 of 1e6 and more are another. Up to OFFSET_ROUNDING units of rounding of the largest value a group can be
// neither right nor wrong, nor where the reference holds one value there but for its rounding.
//
// What no figure over values can see: an error that is small beside differences that are right, in values that form no groups.
#include "run/judge.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/groups.h"

#define MASKED_AT_MOST (-9000.0)
#define SMALL 0x1p-10
#define SMALL_LEAST 0x1p-6       // of the compared elements: below a power of two, or in groups
#define SMALL_NMSE 100           // times the NMSE of the bound
#define UNLIKE 0.1               // NMSE of outputs of which nothing agrees; unrelated ones have 1 or more
#define OFFSET_ROUNDING 16       // units of `rounding` of the largest value: sums of values that share an offset
#define GROUP_LEAST 8            // values of a group; of outputs of fewer than 16: 2
#define GROUPED_SAMPLE (1 << 20) // elements of an output that are looked at for groups, at most
#define BEYOND_FLOAT32 0x1p128
#define CLEAR 0.5 // of a row's largest value above the row's mean: by so much less another class is no near miss

// What models and the conformance files (README there: -10000) write where a logit is masked. Other values are values, however
// low.
static bool stands_for_masked(double r)
{
	static const double masks[] = { -10000, -65504, -1e9, -3.3895313892515355e38,
		-FLT_MAX }; // ..., the lowest bfloat16 and float32

	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
		if (r >= masks[i] && r <= masks[i])
			return true;
	return isinf(r) && r < 0;
}

struct bound bound_for(enum dtype compute)
{
	switch (compute) {
	case DTYPE_BF16:
		return (struct bound){ 0.03, 5e-4, 0x1p-9, 0.003, 0.75 };
	case DTYPE_F16:
		return (struct bound){ 0.012, 3e-3, 0x1p-12, 0.0012, 0.75 };
	default:
		return (struct bound){ 1e-4, 1e-8, 0x1p-21, 1e-5, 1 }; // derived: averages over tokens and lengths of 1
	}
}

// Arithmetic against the same weights, dequantised, in float32: NMSE (largest error over the largest value) on a trained MiniLM
// of six layers, which is worse than eleven small models of seeded weights; ONNX Runtime 1.31 on the processor, OpenVINO 2026.4,
// native WebGPU on SwiftShader.
//   float16                      1.2e-6 (0.0005), 3.0e-6 (0.0008)
//   bfloat16                     4.3e-5 (0.003); bert-base 1.3e-4
//   int8-dynamic                 4.2e-3 (0.03), 1.1e-2 (0.04) on WebGPU: an activation that rounds to the next integer moves all
//                                that follow
//   int8-dynamic, by the engine  2.5e-3 (0.025)
//   int8-static                  7e-14 on 32 tokens, where nothing rounds otherwise; on 128 of six seeds 1.8e-2 (0.09), 2.4e-2
//                                (0.09)
//   int8-weights, int4-weights   7.1e-4, 7.8e-4 (0.012), gemma2 with its soft caps 1.8e-3 (0.1) where activations may become int8
//                                (accuracy level 4); 1.2e-12 (4e-7) where they stay float32
// Where several were seen the bound is five times the worst, where activations are integers twice: more would be the loss of the
// precision itself.
static struct bound bound_of_precision(enum precision p, enum activations how)
{
	switch (p) {
	case PRECISION_FLOAT16:
		return (struct bound){ 0.012, 5e-4, 0x1p-12, 0.012, 0.75 };
	case PRECISION_BFLOAT16:
		return (struct bound){ 0.05, 1e-3, 0x1p-9, 0.05, 0.75 };
	case PRECISION_INT8_DYNAMIC:
		return how == ACTIVATIONS_BY_ENGINE ? (struct bound){ 0.13, 1.3e-2, 0x1p-12, 0.13, 0.75 }
						    : (struct bound){ 0.2, 2.2e-2, 0x1p-12, 0.2, 0.75 };
	case PRECISION_INT8_STATIC:
		return (struct bound){ 0.2, 4.8e-2, 0x1p-12, 0.2, 0.75 };
	case PRECISION_INT8_WEIGHTS:
	case PRECISION_INT4_WEIGHTS:
		return how == ACTIVATIONS_FLOAT ? (struct bound){ 2e-4, 1e-7, 0x1p-20, 2e-5, 0.95 }
						: (struct bound){ 0.4, 1.2e-2, 0x1p-12, 0.4, 0.75 };
	case PRECISION_STORED:
	case PRECISION_FLOAT32:
	case PRECISION_COUNT:
		break;
	}
	return (struct bound){ 0, 0, 0, 0, 1 };
}

struct bound bound_wider(const struct bound *x, const struct bound *y)
{
	return (struct bound){ fmax(x->max_abs, y->max_abs), fmax(x->nmse, y->nmse), fmax(x->rounding, y->rounding),
		fmax(x->derived, y->derived), fmin(x->agreement, y->agreement) };
}

struct bound bound_of(enum precision p, enum dtype compute, enum activations how)
{
	struct bound x = bound_for(compute), y = bound_of_precision(p, how);

	return bound_wider(&x, &y);
}

const char *bound_text(const struct bound *b, struct arena *a)
{
	return bound_text_of(b, (double)NAN, a);
}

const char *bound_text_of(const struct bound *b, double largest, struct arena *a)
{
	const char *formula = arena_printf(a, "%g x max(1, largest reference value)", b->max_abs);

	return arena_printf(a, "max abs %s, NMSE %g where the root mean square error exceeds %.2g%s",
		isnan(largest) ? formula : arena_printf(a, "%.3g (%s)", b->max_abs * fmax(1, largest), formula), b->nmse,
		b->rounding, b->agreement < 1 ? arena_printf(a, "; integers equal in %g %%", 100 * b->agreement) : "");
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

	for (int k = t->rank - 1; k >= 0 && t->dim[k] > 0; k--) { // an empty tensor has no place
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

// Sign and size hold every integer of 64 bits; a double does not.
struct integer {
	bool is_negative;
	uint64_t size;
};

static struct integer integer_at(const struct tensor *t, size_t i)
{
	int64_t x;

	if (t->dtype == DTYPE_U64)
		return (struct integer){ false, ((const uint64_t *)t->data)[i] };
	x = t->dtype == DTYPE_I64 ? ((const int64_t *)t->data)[i] : (int64_t)tensor_get(t, i);
	return (struct integer){ x < 0, x < 0 ? -(uint64_t)x : (uint64_t)x };
}

static double apart(struct integer x, struct integer y)
{
	if (x.is_negative != y.is_negative)
		return (double)x.size + (double)y.size;
	return (double)(x.size > y.size ? x.size - y.size : y.size - x.size);
}

static const char *integer_text(struct integer x, struct arena *a)
{
	return arena_printf(a, "%s%llu", x.is_negative ? "-" : "", (unsigned long long)x.size);
}

static void judge_integers(const struct tensor *output, const struct tensor *reference, size_t count, double agreement,
	struct arena *a, struct check *out)
{
	char where[128];
	size_t different = 0;
	double equal;

	for (size_t i = 0; i < count; i++) {
		struct integer x = integer_at(output, i), r = integer_at(reference, i);
		double error = apart(x, r);

		if (x.size == r.size && x.is_negative == r.is_negative)
			continue;
		if (!different++ || error > out->max_abs_error) {
			out->max_abs_error = error;
			out->worst = i;
			out->worst_value = tensor_get(output, i);
			out->worst_reference = tensor_get(reference, i);
		}
	}
	equal = count ? 1 - (double)different / (double)count : 1;
	out->compared = (int64_t)count;
	out->decided_by = "integers";
	out->of_bound = agreement < 1 ? (1 - equal) / (1 - agreement) : different ? INFINITY : 0;
	out->right = equal >= agreement;
	if (agreement < 1) { // ids of tokens: which differ says something, by how much does not
		out->top1_agreement = count ? equal : (double)NAN;
		out->max_abs_error = out->max_rel_error = (double)NAN;
	}
	if (!out->right)
		out->cause = arena_printf(a, "%s: %zu of %zu integers differ, most at %s (%s, reference %s); %s", out->name,
			different, count, place(output, out->worst, where, sizeof where),
			integer_text(integer_at(output, out->worst), a), integer_text(integer_at(reference, out->worst), a),
			agreement < 1 ? arena_printf(a, "%g %% must be equal", 100 * agreement) : "they must be equal");
}

// A mask that fits an output, and how to find an element's token in it.
struct places {
	const struct tensor *mask;   // NULL: none
	size_t tokens, inner, outer; // of each row; elements of each token along the axis, and of each row of the batch
};

static struct places places_of(const struct tensor *t, const struct padded *padded)
{
	struct places p = { .inner = 1, .outer = 1 };
	const struct tensor *mask = padded ? padded->mask : NULL;
	size_t count;

	if (!mask || mask->rank != 2 || t->rank <= padded->axis || mask->dim[0] != t->dim[0] ||
		mask->dim[1] != t->dim[padded->axis] || !tensor_count(2, mask->dim, &count) ||
		mask->nbytes < count * dtype_size(mask->dtype))
		return p;
	p.tokens = (size_t)mask->dim[1];
	for (int k = 1; k < t->rank; k++) {
		p.outer *= (size_t)t->dim[k];
		p.inner *= k > padded->axis ? (size_t)t->dim[k] : 1;
	}
	p.mask = p.outer ? mask : NULL;
	return p;
}

static bool is_padding(const struct places *p, size_t i)
{
	return p->mask && !(tensor_get(p->mask, i / p->outer * p->tokens + i / p->inner % p->tokens) > 0);
}

// Scores of classes (labels, a vocabulary) are an output [.., classes] that its model calls logits; of hidden states, boxes and
// maps the largest element means nothing.
static bool has_classes(const struct tensor *t)
{
	return t->rank >= 1 && t->rank <= 3 && t->name && strstr(t->name, "logits") && !strstr(t->name, "mask");
}

struct classes {
	size_t rows, agree;
	size_t missed; // rows of another class that the reference holds clearly below its own
};

static void take_row(const struct tensor *output, const struct tensor *reference, const struct places *places, size_t row,
	size_t width, struct classes *out)
{
	size_t best = row, wanted = row, n = 0;
	double sum = 0;

	for (size_t i = row; i < row + width; i++) {
		double r = element(reference, i);

		if (is_padding(places, i))
			continue;
		best = element(output, i) > element(output, best) ? i : best;
		wanted = r > element(reference, wanted) ? i : wanted;
		if (isfinite(r) && !stands_for_masked(r)) {
			sum += r;
			n++;
		}
	}
	double top = element(reference, wanted), above = top - (n ? sum / (double)n : top);
	out->rows++;
	out->agree += best == wanted;
	out->missed += above > 0 && top - element(reference, best) > CLEAR * above;
}

static struct classes classes_of(
	const struct tensor *output, const struct tensor *reference, const struct places *places, size_t count)
{
	size_t width = output->rank ? (size_t)output->dim[output->rank - 1] : 0;
	struct classes out = { 0 };

	if (width < 2 || count < width || !has_classes(reference))
		return out;
	for (size_t row = 0; row < count; row += width)
		if (!is_padding(places, row) || output->rank <= 2)
			take_row(output, reference, places, row, width, &out);
	return out;
}

// Values of the reference from one power of two to the next.
enum { BANDS = 256, BAND_OF_1 = 128 };
struct band {
	size_t count;
	double error2, reference2;
};

static size_t band_of(double r)
{
	const int e = fabs(r) > 0 ? ilogb(r) + BAND_OF_1 : 0;

	return e < 0 ? 0 : e < BANDS ? (size_t)e : BANDS - 1;
}

struct sums {
	double error2, reference2, output2, dot;
	size_t unmasked, first_unmasked;     // places that the reference masks and the output does not
	size_t numbers;                      // compared places where both are finite
	size_t not_finite, first_not_finite; // where that is not excused
	size_t output_not_finite;            // of them: the output is
	size_t both_not_finite;              // of them: the reference has the same value
	struct band bands[BANDS];            // of `numbers`
	struct groups_value *sample;         // [sampled, at most room] compared values of the reference and their errors
	size_t sampled, room;
};

// True: the place is done with, one way or the other.
static bool is_special(size_t i, double x, double r, enum judged_by by, struct check *out, struct sums *sum)
{
	bool same = (isnan(x) && isnan(r)) || x == r;

	if (stands_for_masked(r) && (isfinite(r) || by == BY_GOLDEN)) {
		out->left_out++;
		if (!(x <= MASKED_AT_MOST) && !sum->unmasked++)
			sum->first_unmasked = i;
		return true;
	}
	if (isfinite(x) && isfinite(r))
		return false;
	out->non_finite += !isfinite(x);
	if (same && by == BY_GOLDEN) {
		out->compared++;
		return true;
	}
	if (same && by == BY_FILE) {
		out->alike_not_finite++;
		return true;
	}
	if (isfinite(x) && by == BY_GOLDEN) {
		out->no_reference++;
		return true;
	}
	sum->both_not_finite += same;
	sum->output_not_finite += !isfinite(x);
	if (!sum->not_finite++)
		sum->first_not_finite = i;
	return true;
}

// Of more elements than GROUPED_SAMPLE about so many, spread over all axes: by the fractional part of multiples of the golden
// ratio.
static bool is_in_sample(size_t i, size_t count)
{
	const double turn = (double)i * 0.6180339887498949;

	return count <= GROUPED_SAMPLE || (turn - floor(turn)) * (double)count < GROUPED_SAMPLE;
}

static void add_up(const struct tensor *output, const struct tensor *reference, const struct places *places, size_t count,
	enum judged_by by, struct check *out, struct sums *sum)
{
	for (size_t i = 0; i < count; i++) {
		double x = element(output, i), r = element(reference, i), error;

		if (is_padding(places, i) && !isnan(x)) {
			out->left_out++;
			continue;
		}
		if (is_special(i, x, r, by, out, sum))
			continue;
		out->compared++;
		sum->numbers++;
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
		struct band *band = &sum->bands[band_of(r)];
		band->count++;
		band->error2 += error * error;
		band->reference2 += r * r;
		if (sum->sampled < sum->room && is_in_sample(i, count))
			sum->sample[sum->sampled++] = (struct groups_value){ r, x - r };
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

	if (!logits || !ids || logits->rank != 3 || ids->rank != 2 || ids->dim[0] != logits->dim[0] ||
		ids->dim[1] != logits->dim[1] || (mask && !same_shape(mask, ids)))
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

// What is wrong with elements one by one, in the order of how much it says; NULL.
static const char *wrong_elements(const struct tensor *output, const struct tensor *reference, const struct sums *sum,
	size_t count, struct arena *a, struct check *out)
{
	char where[128];

	if (sum->not_finite) {
		size_t i = sum->first_not_finite;

		out->decided_by = "not finite";
		return arena_printf(a, "%s: %zu values of %zu are %s, first at %s (%g, reference %g)%s", out->name,
			sum->not_finite, count, sum->output_not_finite ? "not finite" : "finite where the reference is not",
			place(output, i, where, sizeof where), element(output, i), element(reference, i),
			sum->both_not_finite
				? "; that the reference engine has them too excuses nothing: the graph or its weights are damaged"
				: "");
	}
	if (sum->unmasked) {
		out->decided_by = "mask";
		return arena_printf(a, "%s: %zu places that the reference masks are not masked, first at %s (%g)", out->name,
			sum->unmasked, place(output, sum->first_unmasked, where, sizeof where),
			element(output, sum->first_unmasked));
	}
	return NULL;
}

// Both figures against their bounds: the nearer one decides.
static const char *beyond_bound(
	const struct tensor *output, const struct bound *bound, const struct sums *sum, struct arena *a, struct check *out)
{
	double allowed = bound->max_abs * (out->reference_absmax > 1 ? out->reference_absmax : 1);
	double rms = out->compared ? sqrt(sum->error2 / (double)out->compared) : 0, by_energy = sqrt(out->nmse / bound->nmse),
	       by_rounding = rms / bound->rounding;
	double energy = fmin(by_energy, by_rounding);
	char where[128];

	out->of_bound = out->max_abs_error / allowed;
	out->decided_by = "max abs";
	if (energy > out->of_bound) {
		out->of_bound = energy;
		out->decided_by = by_rounding < by_energy ? "rounding" : "NMSE";
	}
	place(output, out->worst, where, sizeof where);
	if (out->max_abs_error > allowed)
		return arena_printf(a, "%s: %.3g off at %s (%.6g, reference %.6g); allowed %.2g", out->name, out->max_abs_error,
			where, out->worst_value, out->worst_reference, allowed);
	if (by_energy > 1 && by_rounding <= 1 && out->nmse >= UNLIKE)
		out->not_judged = bound->rounding > bound_for(DTYPE_F32).rounding
			? "its values are no larger than the rounding of the model's inner values in its arithmetic"
			: "its values are no larger than float32's rounding of the model's inner values";
	if (energy > 1)
		return arena_printf(a,
			"%s: normalised mean squared error %.3g; allowed %.2g (root mean square error %.3g, rounding allows "
			"%.2g; worst %.3g off at %s)",
			out->name, out->nmse, bound->nmse, rms, bound->rounding, out->max_abs_error, where);
	return NULL;
}

static bool is_exact(const struct bound *bound)
{
	return bound->nmse <= bound_for(DTYPE_F32).nmse;
}

// The normalised mean squared error of a part of an output that says: nothing of it agrees.
static double unlike(const struct bound *bound)
{
	return fmin(1, fmax(UNLIKE, SMALL_NMSE * bound->nmse));
}

// All values below `top`, right or wrong for themselves; NULL where they are right. Below float32's rounding of the largest value
// they can be neither; nor in arithmetic that rounds more.
static const char *beyond_bound_below(const struct bound *bound, const struct sums *sum, const struct band *below, double top,
	struct arena *a, struct check *out)
{
	const double allowed = SMALL_NMSE * bound->nmse, n = (double)below->count;
	const double rms = sqrt(below->error2 / n), size = sqrt(below->reference2 / n);
	const double nmse = size > 0 ? rms * rms / (size * size) : INFINITY;

	if (n < SMALL_LEAST * (double)sum->numbers || fmax(size, rms) <= SMALL || nmse <= allowed)
		return NULL;
	if (!is_exact(bound) || rms <= bound->rounding * out->reference_absmax) {
		if (nmse >= unlike(bound))
			out->not_judged = arena_printf(a, "beside values of %.3g, %zu of its %zu values are below %s rounding",
				out->reference_absmax, below->count, sum->numbers,
				is_exact(bound) ? "float32's" : "its arithmetic's");
		return NULL;
	}
	out->decided_by = "NMSE of small values";
	out->of_bound = sqrt(nmse / allowed);
	return arena_printf(a,
		"%s: %zu of %zu values are %s%.3g, the largest is %.3g: their normalised mean squared error is %.3g; allowed "
		"%.2g (root mean square error %.3g)",
		out->name, below->count, sum->numbers, size > 0 ? "below " : "", size > 0 ? top : 0, out->reference_absmax, nmse,
		allowed, rms);
}

// What is small beside the largest values.
static const char *beyond_bound_of_small(const struct bound *bound, const struct sums *sum, struct arena *a, struct check *out)
{
	struct band below = { 0 };
	const char *cause = NULL;

	for (int i = 0; i < BANDS && !cause && ldexp(1, i - BAND_OF_1) < SMALL * out->reference_absmax; i++) {
		below.count += sum->bands[i].count;
		below.error2 += sum->bands[i].error2;
		below.reference2 += sum->bands[i].reference2;
		if (sum->bands[i].count > 0)
			cause = beyond_bound_below(bound, sum, &below, ldexp(1, i + 1 - BAND_OF_1), a, out);
	}
	out->not_judged = cause ? NULL : out->not_judged;
	return cause;
}

// Whether the groups at one distance are judged, and wrong; NULL: they are not.
static const char *beyond_bound_at(
	const struct bound *bound, const struct sums *sum, double distance, struct arena *a, struct check *out)
{
	const double allowed = SMALL_NMSE * bound->nmse, n = (double)sum->sampled;
	const struct groups_figures g = groups_at(sum->sample, sum->sampled, distance, n < 2 * GROUP_LEAST ? 2 : GROUP_LEAST);
	const double values = (double)g.values, rms = sqrt(g.error2 / fmax(1, values)),
		     spread = sqrt(g.spread2 / fmax(1, values));
	const double nmse = spread > 0 ? rms * rms / (spread * spread) : INFINITY, largest = g.largest / fmax(1, values);
	const bool is_all = g.groups == 1 && g.values == sum->sampled;

	if (values < SMALL_LEAST * n || rms <= bound->rounding || nmse <= allowed)
		return NULL;
	if (!is_all && spread > SMALL * out->reference_absmax) // the bound of the whole sees it
		return NULL;
	if (!is_exact(bound) || rms <= OFFSET_ROUNDING * bound->rounding * out->reference_absmax) {
		const bool is_one_value = !is_all && spread <= bound->rounding * largest;

		if (nmse >= unlike(bound) && !is_one_value)
			out->not_judged = arena_printf(a,
				"%.0f %% of its values differ by %.3g (root mean square) beside values of %.3g, which "
				"the rounding of such values hides",
				100 * values / n, spread, out->reference_absmax);
		return NULL;
	}
	out->decided_by = "NMSE in groups";
	out->of_bound = sqrt(nmse / allowed);
	return arena_printf(a,
		"%s: %.0f %% of its values differ by %.3g (root mean square) beside values of %.3g: the normalised mean squared "
		"error of that is %.3g; allowed %.2g (root mean square error %.3g)",
		out->name, 100 * values / n, spread, out->reference_absmax, nmse, allowed, rms);
}

// What the values differ by that lie close to each other and far from others: NULL where it is right.
static const char *beyond_bound_in_groups(const struct bound *bound, struct sums *sum, struct arena *a, struct check *out)
{
	const double least = OFFSET_ROUNDING * bound_for(DTYPE_F32).rounding * out->reference_absmax;
	const char *cause = NULL;

	groups_order(sum->sample, sum->sampled);
	for (double distance = 2 * out->reference_absmax; sum->sampled > 1 && distance > least && !cause; distance /= 2)
		cause = beyond_bound_at(bound, sum, distance, a, out);
	out->not_judged = cause ? NULL : out->not_judged;
	return cause;
}

// All that is asked of an output whose elements are right one by one.
static void judge_numbers(const struct tensor *output, const struct bound *bound, struct sums *sum, const struct classes *classes,
	struct arena *a, struct check *out)
{
	out->cause = beyond_bound(output, bound, sum, a, out);
	if (!out->cause && !out->not_judged)
		out->cause = beyond_bound_of_small(bound, sum, a, out);
	if (!out->cause && !out->not_judged)
		out->cause = beyond_bound_in_groups(bound, sum, a, out);
	if (!out->cause && !out->not_judged && 2 * classes->missed > classes->rows)
		out->not_judged = arena_printf(a,
			"in %zu of %zu rows another class is the largest, by more than a near miss: the bound allows more than "
			"what tells its classes apart",
			classes->missed, classes->rows);
}

static double largest_of(const struct tensor *reference, const struct places *places, size_t count)
{
	double largest = 0;

	for (size_t i = 0; i < count; i++) {
		const double r = element(reference, i);

		if (isfinite(r) && !stands_for_masked(r) && fabs(r) > largest && !is_padding(places, i))
			largest = fabs(r);
	}
	return largest;
}

// Floating point of one shape; out->reference_absmax is known.
static void judge_floats(const struct tensor *output, const struct tensor *reference, const struct places *places, size_t count,
	const struct bound *bound, enum judged_by by, struct arena *a, struct check *out)
{
	struct sums sum = { .room = count < GROUPED_SAMPLE ? count : GROUPED_SAMPLE };

	sum.sample = calloc(sum.room + 1, sizeof *sum.sample);
	if (!sum.sample) {
		out->not_judged = "no memory to judge it";
		out->right = true;
		return;
	}
	add_up(output, reference, places, count, by, out, &sum);
	// Squares of the smallest values are 0 in float64.
	out->nmse = sum.reference2 >= DBL_MIN ? sum.error2 / sum.reference2 : out->max_abs_error > 0 ? INFINITY : 0;
	out->cosine = sum.reference2 > 0 && sum.output2 > 0 ? sum.dot / sqrt(sum.reference2 * sum.output2)
		: sum.reference2 == sum.output2             ? 1
							    : 0;
	const struct classes classes = classes_of(output, reference, places, count);
	out->top1_agreement = classes.rows ? (double)classes.agree / (double)classes.rows : (double)NAN;
	if (!sum.numbers) // no figure is about anything
		out->nmse = out->cosine = out->top1_agreement = out->max_abs_error = out->max_rel_error = (double)NAN;
	out->cause = wrong_elements(output, reference, &sum, count, a, out);
	if (!out->cause && !sum.numbers && out->compared) {
		out->decided_by = "nothing";
		out->not_judged = "no finite value in it";
	} else if (!out->cause) {
		judge_numbers(output, bound, &sum, &classes, a, out);
	}
	free(sum.sample);
	out->right = !out->cause;
}

// In units of a power of two; what is masked stays as it is.
static double *in_units(const struct tensor *t, const struct tensor *reference, size_t count, double unit)
{
	double *out = malloc((count + 1) * sizeof *out);

	for (size_t i = 0; out && i < count; i++)
		out[i] = stands_for_masked(element(reference, i)) ? element(t, i) : element(t, i) / unit;
	return out;
}

// Values of float64 beyond those of float32, whose squares may be infinite: as others are, in units of the largest.
static void judge_huge(const struct tensor *output, const struct tensor *reference, const struct places *places, size_t count,
	double unit, const struct bound *bound, enum judged_by by, struct arena *a, struct check *out)
{
	double *x = in_units(output, reference, count, unit), *r = in_units(reference, reference, count, unit);
	struct tensor of_x = *output, of_r = *reference;

	of_x.dtype = of_r.dtype = DTYPE_F64;
	of_x.data = x;
	of_r.data = r;
	of_x.nbytes = of_r.nbytes = count * sizeof *x;
	if (x && r) {
		out->reference_absmax /= unit;
		judge_floats(&of_x, &of_r, places, count, bound, by, a, out);
		out->cause = out->cause ? arena_printf(a, "%s; all in units of %.3g", out->cause, unit) : NULL;
		out->max_abs_error *= unit;
		out->reference_absmax *= unit;
		out->worst_value *= unit;
		out->worst_reference *= unit;
	} else {
		out->not_judged = "no memory to judge it";
		out->right = true;
	}
	free(x);
	free(r);
}

void judge_tensor(const struct tensor *output, const struct tensor *reference, const struct padded *padded, struct bound bound,
	enum judged_by by, struct arena *a, struct check *out)
{
	char where[128], wanted[128];
	size_t count;

	*out = (struct check){ .name = reference->name,
		.top1_agreement = (double)NAN,
		.nmse = (double)NAN,
		.cosine = (double)NAN,
		.of_bound = (double)NAN,
		.decided_by = "shape" };
	if (!same_shape(output, reference)) {
		out->max_abs_error = (double)NAN;
		out->max_rel_error = (double)NAN;
		out->cause = arena_printf(a, "%s: shape %s, reference %s", out->name,
			tensor_shape_text(output->rank, output->dim, where, sizeof where),
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
	if (is_integer(reference->dtype) != is_integer(output->dtype) || !reference->dtype || !output->dtype) {
		out->decided_by = "type";
		out->max_abs_error = out->max_rel_error = (double)NAN;
		out->cause = arena_printf(
			a, "%s: holds %s, reference %s", out->name, dtype_word(output->dtype), dtype_word(reference->dtype));
		return;
	}
	if (is_integer(reference->dtype)) {
		judge_integers(output, reference, count, bound.agreement, a, out);
		return;
	}
	const struct places places = places_of(reference, padded);
	out->reference_absmax = largest_of(reference, &places, count);
	if (out->reference_absmax > BEYOND_FLOAT32)
		judge_huge(output, reference, &places, count, ldexp(1, ilogb(out->reference_absmax)), &bound, by, a, out);
	else
		judge_floats(output, reference, &places, count, &bound, by, a, out);
}

int64_t judge_not_finite(const struct tensor *t)
{
	int64_t n = 0;
	size_t count;

	if (is_integer(t->dtype) || !tensor_count(t->rank, t->dim, &count) || t->nbytes < count * dtype_size(t->dtype))
		return 0;
	for (size_t i = 0; i < count; i++) {
		double x = element(t, i);

		n += !isfinite(x) && !(x < 0); // -inf may be a mask
	}
	return n;
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
	json_object_set_new(object, "right", c->not_judged ? json_null() : json_boolean(c->right));
	json_object_set_new(object, "dtype", output ? json_string(dtype_word(output->dtype)) : json_null());
	json_object_set_new(object, "shape",
		output ? json_string(tensor_shape_text(output->rank, output->dim, where, sizeof where)) : json_null());
	json_object_set_new(object, "max_abs_error", number(c->max_abs_error));
	json_object_set_new(object, "max_rel_error", number(c->max_rel_error));
	json_object_set_new(object, "nmse", number(c->nmse));
	json_object_set_new(object, "cosine", number(c->cosine));
	json_object_set_new(object, "top1_agreement", number(c->top1_agreement));
	json_object_set_new(object, "non_finite", json_integer(c->non_finite));
	json_object_set_new(object, "compared", json_integer(c->compared));
	json_object_set_new(object, "left_out", json_integer(c->left_out));
	json_object_set_new(object, "decided_by", c->decided_by ? json_string(c->decided_by) : json_null());
	json_object_set_new(object, "of_bound", number(c->of_bound));
	json_object_set_new(object, "reference_absmax", number(c->reference_absmax));
	json_object_set_new(object, "worst_index",
		output && c->worst_value == c->worst_value ? json_string(place(output, c->worst, where, sizeof where))
							   : json_null());
	json_object_set_new(object, "worst_value", number(c->worst_value));
	json_object_set_new(object, "worst_reference", number(c->worst_reference));
	json_object_set_new(object, "cause",
		c->cause                ? json_string(c->cause)
			: c->not_judged ? json_string(c->not_judged)
					: json_null());
	return object;
}
