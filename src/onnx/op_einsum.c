// SPDX-License-Identifier: Apache-2.0
// Einstein's sums by operations that every engine has. Of two values, letters are of four kinds:
//
//   both    in both values and in the result     left     in the first and in the result
//   sum     in both, not in the result           right    in the second and in the result
//
//   first  -> [both.., left, sum]   |
//                                   | MatMul -> [both.., left, right] -> the result's order
//   second -> [both.., sum, right]  |
//
// What stands in one value alone and not in the result is summed before. left, sum and right are one dimension each for MatMul:
// more of them become one by Reshape, and none is a dimension of 1.
#include "onnx/op.h"
#include "onnx/inside.h"

#include <string.h>

struct word {
	char letters[TENSOR_MAX_RANK + 1];
	graph_value v; // with a dimension for each letter
};

struct sum {
	const char *equation;
	struct word in[2], out;
	int count;
	struct {
		graph_value of; // that it can be read off from
		int axis;
		int64_t dim;
	} letter[128];
};

static bool has(const char *letters, char c)
{
	return c && strchr(letters, c);
}

// The letters from *at on, each once; false: something else stands there.
static bool take_word(const char **at, char *letters)
{
	int count = 0;

	for (; (**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z'); ++*at) {
		if (count == TENSOR_MAX_RANK || has(letters, **at))
			return false;
		letters[count++] = **at;
		letters[count] = 0;
	}
	return true;
}

static bool take_equation(struct sum *s)
{
	const char *at = s->equation;

	for (int i = 0; i < s->count; i++) {
		if ((i && *at++ != ',') || !take_word(&at, s->in[i].letters))
			return false;
	}
	if (strncmp(at, "->", 2))
		return false;
	at += 2;
	return take_word(&at, s->out.letters) && !*at;
}

// Each letter's dimension, the same wherever it stands as far as that is known.
static bool take_dimensions(struct graph *g, struct sum *s)
{
	for (int i = 0; i < s->count; i++) {
		const struct word *w = &s->in[i];

		if (value_rank(g, w->v) != (int)strlen(w->letters))
			return false;
		for (int k = 0; w->letters[k]; k++) {
			int c = w->letters[k];
			int64_t dim = value_dim(g, w->v, k);

			if (s->letter[c].of.id && s->letter[c].dim >= 0) {
				if (dim >= 0 && dim != s->letter[c].dim)
					return false;
				continue;
			}
			if (s->letter[c].of.id && dim < 0)
				continue;
			s->letter[c].of = w->v;
			s->letter[c].axis = k;
			s->letter[c].dim = dim;
		}
	}
	for (const char *c = s->out.letters; *c; c++)
		if (!s->letter[(int)*c].of.id)
			return false;
	return true;
}

// Sums what stands in this value alone.
static void sum_alone(struct graph *g, struct sum *s, int which)
{
	struct word *w = &s->in[which];
	const char *other = s->count == 2 ? s->in[1 - which].letters : "";
	size_t count = strlen(w->letters);

	for (size_t k = count; k-- > 0;) {
		if (has(s->out.letters, w->letters[k]) || has(other, w->letters[k]))
			continue;
		w->v = op_reduce_sum(g, w->v, (int)k, false);
		memmove(&w->letters[k], &w->letters[k + 1], count-- - k);
	}
}

static graph_value in_order(struct graph *g, graph_value v, const char *letters, const char *wanted)
{
	int perm[TENSOR_MAX_RANK], rank = (int)strlen(wanted);
	bool moves = false;

	for (int i = 0; i < rank; i++) {
		perm[i] = (int)(strchr(letters, wanted[i]) - letters);
		moves |= perm[i] != i;
	}
	return moves ? op_transpose(g, v, rank, perm) : v;
}

static graph_value length_of(struct graph *g, const struct sum *s, const char *letters)
{
	graph_value n = graph_i64s(g, 1, (int64_t[]){ 1 });

	for (int i = 0; letters[i]; i++) {
		graph_value one = op_dim(g, s->letter[(int)letters[i]].of, s->letter[(int)letters[i]].axis);

		n = i ? op_mul(g, n, one) : one;
	}
	return n;
}

// v with one dimension for each group of letters; the first `kept` dimensions are as they are.
static graph_value grouped(
	struct graph *g, const struct sum *s, graph_value v, int kept, int count, const char (*group)[TENSOR_MAX_RANK + 1])
{
	int64_t dim[TENSOR_MAX_RANK] = { 0 };
	graph_value parts[TENSOR_MAX_RANK];
	int open = 0;

	for (int i = 0; i < count; i++) {
		dim[i] = 1;
		for (const char *c = group[i]; *c && dim[i] >= 0; c++)
			if (s->letter[(int)*c].dim < 0)
				dim[i] = -1;
			else if (__builtin_mul_overflow(dim[i], s->letter[(int)*c].dim, &dim[i]))
				graph_fail(g, STATUS_FAILED, "einsum %s: too many elements", s->equation);
		dim[i] = dim[i] < 0 && i < kept ? 0 : dim[i];
		open += dim[i] < 0;
	}
	if (g->failed)
		return NO_VALUE;
	if (open > 1) {
		for (int i = 0; i < count; i++)
			parts[i] = length_of(g, s, group[i]);
		v = op_reshape_to(g, v, op_concat(g, count, parts, 0));
	} else {
		v = op_reshape(g, v, count, dim);
	}
	for (int i = 0; i < count && !g->failed; i++) // Reshape has forgotten which symbol it was
		if (strlen(group[i]) == 1)
			graph_assume(g, v, i, s->letter[(int)group[i][0]].dim);
	return v;
}

static void append(char *letters, const char *more)
{
	size_t have = strlen(letters);

	memcpy(letters + have, more, strlen(more) + 1);
}

static graph_value product(struct graph *g, struct sum *s)
{
	char both[TENSOR_MAX_RANK + 1] = "", left[TENSOR_MAX_RANK + 1] = "", right[TENSOR_MAX_RANK + 1] = "",
				    sum[TENSOR_MAX_RANK + 1] = "", all[2 * TENSOR_MAX_RANK + 1] = "",
				    group[TENSOR_MAX_RANK][TENSOR_MAX_RANK + 1] = { "" };
	const char *a = s->in[0].letters, *b = s->in[1].letters;
	graph_value x[2], y;
	int kept;

	for (const char *c = s->out.letters; *c; c++)
		append(!has(a, *c) ? right : !has(b, *c) ? left : both, (char[]){ *c, 0 });
	for (const char *c = a; *c; c++)
		if (has(b, *c) && !has(s->out.letters, *c))
			append(sum, (char[]){ *c, 0 });
	kept = (int)strlen(both);
	if (kept + 2 > TENSOR_MAX_RANK) {
		graph_fail(g, STATUS_FAILED, "einsum %s: more than %d dimensions of a batch", s->equation, TENSOR_MAX_RANK - 2);
		return NO_VALUE;
	}
	for (int i = 0; i < kept; i++)
		memcpy(group[i], (char[]){ both[i], 0 }, 2);
	for (int i = 0; i < 2; i++) {
		const char *rows = i ? sum : left, *columns = i ? right : sum;

		all[0] = 0;
		append(all, both);
		append(all, rows);
		append(all, columns);
		memcpy(group[kept], rows, sizeof left);
		memcpy(group[kept + 1], columns, sizeof left);
		x[i] = in_order(g, s->in[i].v, s->in[i].letters, all);
		if (strlen(rows) != 1 || strlen(columns) != 1)
			x[i] = grouped(g, s, x[i], kept, kept + 2, (const char(*)[TENSOR_MAX_RANK + 1]) group);
	}
	y = op_matmul(g, x[0], x[1]);
	all[0] = 0;
	append(all, both);
	append(all, left);
	append(all, right);
	if (strlen(left) != 1 || strlen(right) != 1) {
		for (int i = kept; all[i]; i++)
			memcpy(group[i], (char[]){ all[i], 0 }, 2);
		y = grouped(g, s, y, kept, (int)strlen(all), (const char(*)[TENSOR_MAX_RANK + 1]) group);
	}
	return in_order(g, y, all, s->out.letters);
}

graph_value op_einsum(struct graph *g, const char *equation, int count, const graph_value *x)
{
	struct sum s = { .equation = equation, .count = count };

	if (count < 1 || count > 2) {
		graph_fail(g, STATUS_FAILED, "einsum %s of %d values: one or two", equation, count);
		return NO_VALUE;
	}
	for (int i = 0; i < count; i++) {
		if (!graph_alive(g, x[i]))
			return NO_VALUE;
		s.in[i].v = x[i];
	}
	if (!take_equation(&s) || !take_dimensions(g, &s)) {
		graph_fail(g, STATUS_FAILED, "einsum %s of %s: a letter for each dimension, each of one length", equation,
			graph_values_text(g, x, count));
		return NO_VALUE;
	}
	for (int i = 0; i < count; i++)
		sum_alone(g, &s, i);
	if (g->failed)
		return NO_VALUE;
	return count == 2 ? product(g, &s) : in_order(g, s.in[0].v, s.in[0].letters, s.out.letters);
}
