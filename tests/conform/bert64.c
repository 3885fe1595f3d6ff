// SPDX-License-Identifier: Apache-2.0
// bert64.h. Tokens that the mask leaves out are not computed: nothing that is kept attends to them.
#include "bert64.h"

#include <math.h>
#include <string.h>

struct run {
	const struct bert64_model *model;
	struct arena *arena;
	const char *missing; // the first weight that is not there in the shape that is needed
	size_t batch, width, inner, heads;
	size_t rows, *first; // kept tokens; row b of the batch has [first[b], first[b + 1])
	double epsilon, (*activation)(double);
};

// ---- linear layers
// -------------------------------------------------------------------------------------------------------------

typedef double lanes __attribute__((vector_size(32)));
enum { LANES = 4, TOGETHER = 4 };

// Dot products of one row of weights with four rows of x; `n` is a multiple of 4.
static inline __attribute__((always_inline)) void dots(double *out, const double *w, const double *x, size_t n)
{
	lanes sum[TOGETHER] = { 0 };

	for (size_t i = 0; i < n; i += LANES) {
		lanes weight, value;

		memcpy(&weight, w + i, sizeof weight);
		for (size_t t = 0; t < TOGETHER; t++) {
			memcpy(&value, x + t * n + i, sizeof value);
			sum[t] += weight * value;
		}
	}
	for (size_t t = 0; t < TOGETHER; t++)
		out[t] = sum[t][0] + sum[t][1] + sum[t][2] + sum[t][3];
}

// y[rows, out] = x[rows, in] w^T + b. x has room for a multiple of four rows.
static inline __attribute__((always_inline)) void multiply(
	double *y, const double *x, size_t rows, const float *w, const float *b, size_t out, size_t in, double *wide)
{
	for (size_t o = 0; o < out; o++) {
		for (size_t i = 0; i < in; i++)
			wide[i] = (double)w[o * in + i];
		for (size_t r = 0; r < rows; r += TOGETHER) {
			double sum[TOGETHER];

			dots(sum, wide, x + r * in, in);
			for (size_t t = 0; t < TOGETHER && r + t < rows; t++)
				y[(r + t) * out + o] = sum[t] + (double)b[o];
		}
	}
}

static void multiply_plain(
	double *y, const double *x, size_t rows, const float *w, const float *b, size_t out, size_t in, double *wide)
{
	multiply(y, x, rows, w, b, out, in, wide);
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void multiply_avx2(
	double *y, const double *x, size_t rows, const float *w, const float *b, size_t out, size_t in, double *wide)
{
	multiply(y, x, rows, w, b, out, in, wide);
}
#endif

// rows x columns, rounded up to what `dots` reads.
static double *matrix(struct run *r, size_t rows, size_t columns)
{
	return ARENA_ARRAY(r->arena, (rows + TOGETHER) * columns, double);
}

static const float *weight(struct run *r, const char *name, size_t count)
{
	size_t has;

	for (size_t i = 0; i < r->model->count; i++) {
		const struct tensor *w = &r->model->weights[i];

		if (!strcmp(w->name, name) && w->dtype == DTYPE_F32 && tensor_count(w->rank, w->dim, &has) && has == count)
			return w->data;
	}
	if (!r->missing)
		r->missing = arena_strdup(r->arena, name);
	return NULL;
}

static double *linear(struct run *r, const char *name, const double *x, size_t rows, size_t out, size_t in)
{
	double *y = matrix(r, rows, out), *wide = matrix(r, 1, in);
	const float *w = weight(r, arena_printf(r->arena, "%s.weight", name), out * in);
	const float *b = weight(r, arena_printf(r->arena, "%s.bias", name), out);

	if (r->missing)
		return y;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		multiply_avx2(y, x, rows, w, b, out, in, wide);
		return y;
	}
#endif
	multiply_plain(y, x, rows, w, b, out, in, wide);
	return y;
}

// ---- what stands between them
// --------------------------------------------------------------------------------------------------

static double gelu(double x)
{
	return 0.5 * x * (1 + erf(x / sqrt(2.0)));
}

static double gelu_tanh(double x)
{
	return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static double relu(double x)
{
	return x > 0 || isnan(x) ? x : 0;
}

static double silu(double x)
{
	return x / (1 + exp(-x));
}

static bool find_activation(struct run *r)
{
	static const struct {
		const char *name;
		double (*f)(double);
	} known[] = {
		{ "gelu", gelu },
		{ "gelu_new", gelu_tanh },
		{ "relu", relu },
		{ "silu", silu },
	};
	const char *name = json_string_value(json_object_get(r->model->config, "hidden_act"));

	for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
		if (!strcmp(name, known[i].name))
			r->activation = known[i].f;
	return r->activation;
}

// x += y where y is given, then layer norm, row by row.
static void add_norm(struct run *r, const char *name, double *x, const double *y)
{
	const float *w = weight(r, arena_printf(r->arena, "%s.weight", name), r->width);
	const float *b = weight(r, arena_printf(r->arena, "%s.bias", name), r->width);

	for (size_t t = 0; t < r->rows && !r->missing; t++) {
		double *row = x + t * r->width, mean = 0, variance = 0;

		for (size_t i = 0; i < r->width; i++)
			mean += row[i] += y ? y[t * r->width + i] : 0;
		mean /= (double)r->width;
		for (size_t i = 0; i < r->width; i++)
			variance += (row[i] - mean) * (row[i] - mean);
		variance /= (double)r->width;
		for (size_t i = 0; i < r->width; i++)
			row[i] = (row[i] - mean) / sqrt(variance + r->epsilon) * (double)w[i] + (double)b[i];
	}
}

// Scaled dot-product attention of one token in one head over the tokens [begin, end) of its row.
static void attend(const struct run *r, double *out, const double *query, const double *k, const double *v, size_t begin,
	size_t end, double *score)
{
	size_t size = r->width / r->heads;
	double largest = -INFINITY, sum = 0;

	for (size_t j = begin; j < end; j++) {
		double s = 0;

		for (size_t i = 0; i < size; i++)
			s += query[i] * k[j * r->width + i];
		score[j] = s / sqrt((double)size);
		largest = score[j] > largest ? score[j] : largest;
	}
	for (size_t j = begin; j < end; j++)
		sum += score[j] = exp(score[j] - largest);
	for (size_t i = 0; i < size; i++) {
		out[i] = 0;
		for (size_t j = begin; j < end; j++)
			out[i] += score[j] / sum * v[j * r->width + i];
	}
}

static double *attention(struct run *r, const char *layer, const double *x)
{
	const char *self = arena_printf(r->arena, "%s.attention.self", layer);
	double *q = linear(r, arena_printf(r->arena, "%s.query", self), x, r->rows, r->width, r->width);
	double *k = linear(r, arena_printf(r->arena, "%s.key", self), x, r->rows, r->width, r->width);
	double *v = linear(r, arena_printf(r->arena, "%s.value", self), x, r->rows, r->width, r->width);
	double *out = matrix(r, r->rows, r->width), *score = matrix(r, 1, r->rows);
	size_t size = r->width / r->heads;

	for (size_t b = 0; b < r->batch; b++)
		for (size_t t = r->first[b]; t < r->first[b + 1]; t++)
			for (size_t h = 0; h < r->heads; h++)
				attend(r, out + t * r->width + h * size, q + t * r->width + h * size, k + h * size, v + h * size,
					r->first[b], r->first[b + 1], score);
	return linear(r, arena_printf(r->arena, "%s.attention.output.dense", layer), out, r->rows, r->width, r->width);
}

static void run_layer(struct run *r, size_t number, double *x)
{
	const char *layer = arena_printf(r->arena, "encoder.layer.%zu", number);

	add_norm(r, arena_printf(r->arena, "%s.attention.output.LayerNorm", layer), x, attention(r, layer, x));
	double *middle = linear(r, arena_printf(r->arena, "%s.intermediate.dense", layer), x, r->rows, r->inner, r->width);
	for (size_t i = 0; i < r->rows * r->inner; i++)
		middle[i] = r->activation(middle[i]);
	add_norm(r, arena_printf(r->arena, "%s.output.LayerNorm", layer), x,
		linear(r, arena_printf(r->arena, "%s.output.dense", layer), middle, r->rows, r->width, r->inner));
}

static double *embed(struct run *r, const struct bert64_inputs *in, size_t vocabulary, size_t positions, size_t types)
{
	const float *word = weight(r, "embeddings.word_embeddings.weight", vocabulary * r->width);
	const float *position = weight(r, "embeddings.position_embeddings.weight", positions * r->width);
	const float *type = weight(r, "embeddings.token_type_embeddings.weight", types * r->width);
	double *x = matrix(r, r->rows, r->width), *row = x;

	for (size_t b = 0; b < in->batch && !r->missing; b++)
		for (size_t t = 0; t < in->tokens; t++) {
			size_t at = b * in->tokens + t;

			if (!in->mask[at])
				continue;
			for (size_t i = 0; i < r->width; i++)
				row[i] = (double)word[(size_t)in->ids[at] * r->width + i] + (double)position[t * r->width + i] +
					(double)type[(size_t)in->types[at] * r->width + i];
			row += r->width;
		}
	add_norm(r, "embeddings.LayerNorm", x, NULL);
	return x;
}

// ---- outputs
// -------------------------------------------------------------------------------------------------------------------

// Mean over the tokens, scaled to length 1, as sentence-transformers does it.
static void pool(const struct run *r, const double *x, double *embedding, double *first)
{
	for (size_t b = 0; b < r->batch; b++) {
		double *row = embedding + b * r->width, length = 0;

		memcpy(first + b * r->width, x + r->first[b] * r->width, r->width * sizeof *first);
		for (size_t t = r->first[b]; t < r->first[b + 1]; t++)
			for (size_t i = 0; i < r->width; i++)
				row[i] += x[t * r->width + i];
		for (size_t i = 0; i < r->width; i++)
			length += row[i] * row[i];
		for (size_t i = 0; i < r->width; i++)
			row[i] /= sqrt(length);
	}
}

static void give_outputs(struct run *r, const double *x, struct bert64_result *out)
{
	double *embedding = matrix(r, r->batch, r->width), *first = matrix(r, r->batch, r->width);
	double *cosine = matrix(r, r->batch, r->batch);

	pool(r, x, embedding, first);
	for (size_t i = 0; i < r->batch * r->batch; i++)
		for (size_t k = 0; k < r->width; k++)
			cosine[i] += embedding[i / r->batch * r->width + k] * embedding[i % r->batch * r->width + k];
	double *pooled = linear(r, "pooler.dense", first, r->batch, r->width, r->width);
	for (size_t i = 0; i < r->batch * r->width; i++)
		pooled[i] = tanh(pooled[i]);
	for (int o = 0; o < BERT64_OUTPUT_COUNT; o++)
		out->count[o] = r->batch * r->width;
	out->count[BERT64_cosine] = r->batch * r->batch;
	out->output[BERT64_cosine] = cosine;
	out->output[BERT64_embedding] = embedding;
	out->output[BERT64_last_hidden_state_first_token] = first;
	out->output[BERT64_pooler_output] = pooled;
}

static size_t dimension(const json_t *config, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(config, key));

	return n > 0 ? (size_t)n : 0;
}

const char *bert64_run(const struct bert64_model *m, const struct bert64_inputs *in, struct arena *a, struct bert64_result *out)
{
	struct run r = { .model = m, .arena = a, .batch = in->batch, .first = ARENA_ARRAY(a, in->batch + 1, size_t) };
	size_t layers = dimension(m->config, "num_hidden_layers");

	r.width = dimension(m->config, "hidden_size");
	r.inner = dimension(m->config, "intermediate_size");
	r.heads = dimension(m->config, "num_attention_heads");
	r.epsilon = json_number_value(json_object_get(m->config, "layer_norm_eps"));
	if (!r.width || r.width % LANES || r.inner % LANES || !r.heads || r.width % r.heads || !find_activation(&r))
		return "config.json: sizes or an activation that are not computed here";
	for (size_t b = 0; b < in->batch; b++) {
		for (size_t t = 0; t < in->tokens; t++)
			r.rows += in->mask[b * in->tokens + t] != 0;
		r.first[b + 1] = r.rows;
	}
	double *x = embed(&r, in, dimension(m->config, "vocab_size"), dimension(m->config, "max_position_embeddings"),
		dimension(m->config, "type_vocab_size"));
	for (size_t l = 0; l < layers && !r.missing; l++)
		run_layer(&r, l, x);
	if (!r.missing)
		give_outputs(&r, x, out);
	return r.missing;
}
