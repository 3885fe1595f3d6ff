// SPDX-License-Identifier: Apache-2.0
// derive.h: sums in double, one rounding to float32 at the end.
#include "cell/derive.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

static const struct tensor *find(const struct tensor *tensors, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(tensors[i].name) == length && !memcmp(tensors[i].name, name, length))
			return &tensors[i];
	return NULL;
}

static void make(struct tensor *out, struct arena *a, const char *name, int64_t rows, int64_t columns)
{
	*out = (struct tensor){ .name = name, .dtype = DTYPE_F32, .rank = 2, .dim = { rows, columns } };
	out->nbytes = (size_t)rows * (size_t)columns * sizeof(float);
	out->data = arena_alloc(a, out->nbytes ? out->nbytes : 1);
}

static double length_of(const double *row, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += row[i] * row[i];
	return sqrt(sum);
}

// Do all rows have length 1? Averages of hidden states have it only when somebody scaled them.
static bool unit_rows(const struct tensor *t)
{
	for (int64_t r = 0; r < t->dim[0]; r++) {
		double sum = 0;

		for (int64_t c = 0; c < t->dim[1]; c++) {
			double x = tensor_get(t, (size_t)(r * t->dim[1] + c));

			sum += x * x;
		}
		if (fabs(sqrt(sum) - 1) > 1e-4)
			return false;
	}
	return t->dim[0] > 0;
}

// hidden [batch, tokens, width], mask [batch, tokens] -> rows [batch, width] in double.
static double *pool(struct arena *a, const struct tensor *hidden, const struct tensor *mask, bool scale)
{
	int64_t batch = hidden->dim[0], tokens = hidden->dim[1], width = hidden->dim[2];
	double *rows;

	if (mask && (mask->rank != 2 || mask->dim[0] != batch || mask->dim[1] != tokens))
		return NULL;
	rows = ARENA_ARRAY(a, (size_t)(batch * width) + 1, double);
	for (int64_t b = 0; b < batch; b++) {
		double *row = rows + b * width, kept = 0, length;

		for (int64_t t = 0; t < tokens; t++) {
			if (mask && tensor_get(mask, (size_t)(b * tokens + t)) == 0)
				continue;
			kept++;
			for (int64_t i = 0; i < width; i++)
				row[i] += tensor_get(hidden, (size_t)((b * tokens + t) * width + i));
		}
		length = scale ? length_of(row, width) : kept;
		for (int64_t i = 0; i < width && length > 0; i++)
			row[i] /= length;
	}
	return rows;
}

bool derives_from_no_token(const char *like, const struct tensor *mask)
{
	size_t count;

	if (!mask || !(text_is(like, "embedding") || text_is(like, "sentence_embedding") || text_is(like, "cosine")) ||
		!tensor_count(mask->rank, mask->dim, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (tensor_get(mask, i) != 0)
			return false;
	return true;
}

bool derives_from(const char *like, const char *output)
{
	static const char suffix[] = "_first_token";

	if (text_ends(like, suffix))
		return strlen(output) == strlen(like) - (sizeof suffix - 1) && text_starts(like, output);
	return text_is(output, "last_hidden_state") &&
		(text_is(like, "embedding") || text_is(like, "sentence_embedding") || text_is(like, "cosine"));
}

bool derive_output(struct tensor *out, struct arena *a, const struct tensor *like, const struct tensor *outputs, size_t count,
	const struct tensor *mask)
{
	static const char suffix[] = "_first_token";
	const struct tensor *hidden = find(outputs, count, "last_hidden_state", 17), *whole;
	size_t length = strlen(like->name);
	double *rows;

	if (like->rank != 2)
		return false;
	if (text_ends(like->name, suffix)) {
		whole = find(outputs, count, like->name, length - (sizeof suffix - 1));
		if (!whole || whole->rank != 3 || whole->dim[1] < 1)
			return false;
		make(out, a, like->name, whole->dim[0], whole->dim[2]);
		for (int64_t b = 0; b < whole->dim[0]; b++)
			for (int64_t i = 0; i < whole->dim[2]; i++)
				((float *)out->data)[b * whole->dim[2] + i] =
					(float)tensor_get(whole, (size_t)(b * whole->dim[1] * whole->dim[2] + i));
		return true;
	}
	if (!hidden || hidden->rank != 3)
		return false;
	if (text_is(like->name, "embedding") || text_is(like->name, "sentence_embedding")) {
		if (!(rows = pool(a, hidden, mask, unit_rows(like))))
			return false;
		make(out, a, like->name, hidden->dim[0], hidden->dim[2]);
		for (int64_t i = 0; i < hidden->dim[0] * hidden->dim[2]; i++)
			((float *)out->data)[i] = (float)rows[i];
		return true;
	}
	if (text_is(like->name, "cosine")) {
		int64_t batch = hidden->dim[0], width = hidden->dim[2];

		if (!(rows = pool(a, hidden, mask, true)))
			return false;
		make(out, a, like->name, batch, batch);
		for (int64_t i = 0; i < batch * batch; i++) {
			double dot = 0;

			for (int64_t k = 0; k < width; k++)
				dot += rows[i / batch * width + k] * rows[i % batch * width + k];
			((float *)out->data)[i] = (float)dot;
		}
		return true;
	}
	return false;
}
