// SPDX-License-Identifier: Apache-2.0
// Cells of a table (TAPAS: Herzig et al. 2020, https://arxiv.org/abs/2004.02349): one column is selected, and in it the
// cells that are a part of the answer; and what is made of them. A mean over the tokens of a cell is a product with a
// matrix that says which tokens are of one cell, [tokens, tokens]; the class has a table of all cells instead.
#include "arch/family/encoder.h"

#define OUT_OF_REACH (-1e4F) // what the class adds to a logit that may not win
#define EPSILON 1e-10F       // what it divides by at least

struct cells {
	struct graph *g;
	graph_value column; // i64 [batch, seq]: 0 of the question, at most max_num_columns - 1
	graph_value same;   // f32 [batch, seq, seq]: of one cell
	graph_value share;  // f32 [batch, seq]: 1 / how many tokens its cell has
	graph_value here;   // f32 [batch, seq]: the mean of the attention mask over the cell
};

// Number i of a token's types, at most `most`.
static graph_value index_of(struct graph *g, graph_value types, int64_t i, int64_t most)
{
	return op_min(g, op_squeeze(g, op_slice(g, types, 2, i, i + 1), 2), graph_i64(g, most));
}

static graph_value cell_mean(const struct cells *c, graph_value x)
{
	graph_value sum = op_squeeze(c->g, op_matmul(c->g, c->same, op_unsqueeze(c->g, x, 2)), 2);
	return op_mul(c->g, sum, c->share);
}

static void cells_of(struct cells *c, const struct encoder *e, const struct body *io)
{
	struct graph *g = c->g;
	graph_value row = index_of(g, io->types, 2, e->table_rows - 1);
	c->column = index_of(g, io->types, 1, e->table_columns - 1);
	graph_value same_row = op_equal(g, op_unsqueeze(g, row, 2), op_unsqueeze(g, row, 1));
	graph_value same_column = op_equal(g, op_unsqueeze(g, c->column, 2), op_unsqueeze(g, c->column, 1));
	c->same = op_cast(g, op_and(g, same_row, same_column), DTYPE_F32);
	c->share = op_div(g, graph_f32(g, 1), op_reduce_sum(g, c->same, 2, false));
	c->here = cell_mean(c, op_cast(g, io->mask, DTYPE_F32));
}

static graph_value score(struct build *b, const char *stem, const char *bias, graph_value hidden)
{
	struct graph *g = b->g;
	graph_value x = op_reduce_sum(g, op_mul(g, hidden, WEIGHT(b, stem, "", b->s->hidden_size)), 2, false);
	return op_add(g, x, weight(b, bias, "", 0, (int64_t[]){ 0 })); // [batch, seq]
}

// Where x is true, so much; else 0.
static graph_value penalty(struct graph *g, graph_value x)
{
	return op_mul(g, op_cast(g, x, DTYPE_F32), graph_f32(g, OUT_OF_REACH));
}

// The column with the best mean over its cells: i64 [batch, 1]. Each token stands for its share of a cell.
static graph_value best_column(struct build *b, const struct cells *c, graph_value scores)
{
	struct graph *g = c->g;
	const struct encoder *e = b->s->own;
	int64_t *numbers = ARENA_ARRAY(graph_arena(g), e->table_columns, int64_t);
	for (int64_t i = 0; i < e->table_columns; i++)
		numbers[i] = i;
	graph_value all = graph_i64s(g, (int)e->table_columns, numbers);
	graph_value in = op_cast(g, op_equal(g, op_unsqueeze(g, c->column, 2), all), DTYPE_F32); // [batch, seq, columns]
	graph_value weight = op_mul(g, c->share, c->here), sum = op_mul(g, weight, cell_mean(c, scores));
	graph_value count = op_reduce_sum(g, op_mul(g, in, op_unsqueeze(g, weight, 2)), 1, false); // [batch, columns]
	graph_value x = op_reduce_sum(g, op_mul(g, in, op_unsqueeze(g, sum, 2)), 1, false);
	x = op_div(g, x, op_add(g, count, graph_f32(g, EPSILON)));
	graph_value is_first = op_equal(g, all, graph_i64(g, 0));
	x = op_add(g, x, penalty(g, op_and(g, op_less(g, count, graph_f32(g, 0.5F)), op_not(g, is_first))));
	if (!e->empty_column)
		x = op_add(g, x, penalty(g, is_first));
	return op_argmax(g, x, 1, true);
}

void encoder_build_cells(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	struct cells c = { .g = g };
	int64_t n = b->s->hidden_size;
	if (!weight_named(b, "head.cells.out")) {
		head_unsupported(b);
		return;
	}
	graph_enter(g, "head");
	cells_of(&c, e, io);
	graph_value best = best_column(b, &c, score(b, "head.cells.column", "head.cells.column_bias", io->last));
	graph_value x = op_scale(g, score(b, "head.cells.out", "head.cells.bias", io->last), (float)(1 / e->cell_temperature));
	graph_value chosen = op_and(g, op_equal(g, c.column, best), op_not(g, op_equal(g, c.column, graph_i64(g, 0))));
	graph_value open = op_mul(g, c.here, op_cast(g, chosen, DTYPE_F32));
	graph_value logits = op_add(g, cell_mean(&c, x), op_mul(g, op_sub(g, graph_f32(g, 1), open), graph_f32(g, OUT_OF_REACH)));
	graph_value made = NO_VALUE;
	if (e->aggregations) {
		made = op_tanh(g, linear(b, "pooler", first_token(b, io->last), n, n, true));
		made = linear(b, "head.cells.aggregation", made, n, e->aggregations, true);
	}
	graph_leave(g);
	graph_output(g, "logits", logits); // [batch, seq]
	if (e->aggregations)
		graph_output(g, "logits_aggregation", made);
}
