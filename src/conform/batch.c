// SPDX-License-Identifier: Apache-2.0
// A model must say the same about a row whatever lies beside it. The rows of a case (repeated to as many as asked for) go in at
// once and one by one, and what came out of both is compared, row by row.
//
//   in   [2, 7]  -> at once [3, 7]: rows 0, 1, 0      one by one [1, 7], three times
//   out  [3, 7, 99] against [1, 7, 99]                an axis that is 3 at once and 1 alone is one of rows, wherever it stands:
//        [3, 3] against [1, 1]                        similarities of every text with every image
//        [] is about all rows together (a perplexity over the batch, a constant) and is left out
#include "conform/case.h"

#include <math.h>
#include <string.h>

// Row `r` of t, or `rows` of them one after the other; rows past the end begin anew. Every input has the batch in front.
static enum status take_rows(
	struct tensor *out, struct arena *a, const struct tensor *t, int64_t first, int64_t rows, struct error *err)
{
	if (t->rank < 1 || t->dim[0] < 1)
		return error_set(err, STATUS_UNSUPPORTED, "--batch: the input %s has no rows", t->name);
	size_t row = t->nbytes / (size_t)t->dim[0];

	*out = *t;
	out->dim[0] = rows;
	out->nbytes = row * (size_t)rows;
	out->data = arena_alloc(a, out->nbytes ? out->nbytes : 1);
	for (int64_t i = 0; i < rows; i++)
		memcpy((char *)out->data + (size_t)i * row, (const char *)t->data + (size_t)((first + i) % t->dim[0]) * row, row);
	return STATUS_OK;
}

// Of what came out at once, the part that is about row r: shaped as `like`, which came out of that row alone.
static enum status part_of(struct tensor *out, struct arena *a, const struct tensor *all, const struct tensor *like, int64_t r,
	int64_t rows, struct error *err)
{
	char at_once[128], alone[128];
	size_t size = dtype_size(all->dtype), count;
	bool fits = all->rank == like->rank && all->dtype == like->dtype && size && tensor_count(like->rank, like->dim, &count);

	for (int k = 0; fits && k < all->rank; k++)
		fits = all->dim[k] == like->dim[k] || (all->dim[k] == rows && like->dim[k] == 1);
	if (!fits)
		return error_set(err, STATUS_FAILED, "%s: %s for %lld rows at once, %s for one", like->name,
			tensor_shape_text(all->rank, all->dim, at_once, sizeof at_once), (long long)rows,
			tensor_shape_text(like->rank, like->dim, alone, sizeof alone));
	*out = *like;
	out->data = arena_alloc(a, like->nbytes ? like->nbytes : 1);
	for (size_t i = 0; i < count; i++) {
		size_t left = i, from = 0, stride = 1;

		for (int k = all->rank; k-- > 0;) {
			size_t n = (size_t)like->dim[k], index = left % n;

			left /= n;
			from += (all->dim[k] == like->dim[k] ? index : (size_t)r) * stride;
			stride *= (size_t)all->dim[k];
		}
		memcpy((char *)out->data + i * size, (const char *)all->data + from * size, size);
	}
	return STATUS_OK;
}

static enum status run_rows(struct session *s, struct arena *a, const struct tensor *in, int64_t first, int64_t rows,
	struct tensor *out, struct error *err)
{
	struct tensor *some = ARENA_ARRAY(a, s->input_count + 1, struct tensor);
	enum status st;

	for (size_t i = 0; i < s->input_count; i++)
		if ((st = take_rows(&some[i], a, &in[i], first, rows, err)))
			return st;
	if ((st = session_run(s, some, s->input_count, out, s->output_count, err)))
		return error_prefix(err, "%lld row%s", (long long)rows, rows == 1 ? "" : "s");
	for (size_t i = 0; i < s->output_count; i++) { // the engine's memory lives until the next run
		void *copy = arena_alloc(a, out[i].nbytes ? out[i].nbytes : 1);

		memcpy(copy, out[i].data, out[i].nbytes);
		out[i].data = copy;
		out[i].name = s->outputs[i].name;
	}
	return STATUS_OK;
}

enum status conform_batch(struct session *s, const struct tensor *in, int64_t rows, struct arena *a, double *max_abs_error,
	double *nmse, bool *differs, struct error *err)
{
	struct tensor *all = ARENA_ARRAY(a, s->output_count + 1, struct tensor),
		      *one = ARENA_ARRAY(a, s->output_count + 1, struct tensor);
	enum status st = run_rows(s, a, in, 0, rows, all, err);

	*max_abs_error = *nmse = 0;
	for (int64_t r = 0; r < rows && !st; r++) {
		st = run_rows(s, a, in, r, 1, one, err);
		for (size_t i = 0; i < s->output_count && !st; i++) {
			struct tensor part;
			struct check check = { .name = one[i].name };

			if (one[i].rank == 0 && all[i].rank == 0)
				continue;
			if ((st = part_of(&part, a, &all[i], &one[i], r, rows, err)))
				break;
			judge_tensor(&part, &one[i], NULL, bound_for(DTYPE_F32), BY_GOLDEN, a, &check);
			*max_abs_error = fmax(*max_abs_error, check.max_abs_error);
			*nmse = fmax(*nmse, check.nmse);
			*differs = !check.right;
			if (*differs)
				st = error_set(err, STATUS_FAILED, "row %lld of %lld at once is not what it is alone: %s",
					(long long)r, (long long)rows, check.cause);
		}
	}
	return st;
}
