// SPDX-License-Identifier: Apache-2.0
// table-question-answering (TableQuestionAnsweringPipeline of a TAPAS model): the cells of a table that answer a question,
// and what is to be made of them. Inputs as TapasTokenizer of transformers 4.57 makes them: the question, then the table row
// by row, each token with the column, the row, the rank of its cell among the column's numbers or dates, and how it compares
// with those of the question.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "pipeline/inside.h"
#include "pipeline/numbers.h"

enum {
	TABLE_MOST = 1 << 16, // cells
	CELL_BYTES_MOST = 4096,
	TYPES = 7, // of a token
	USUAL_LENGTH = 512,
};
#define COMMON_SHARE 0.7 // of a column's cells that are numbers, or dates, for them to count

struct table_cell {
	const char *text;
	uint32_t *ids;
	size_t *word; // where the word of each token begins
	size_t count;
	struct quantities found;
	const struct quantity *value; // the one that counts; NULL
};
struct table {
	struct table_cell *cells; // [rows + 1, columns]; first the names of the columns
	size_t rows, columns;
	// What of it goes in.
	size_t kept_rows, kept_tokens; // rows of cells; tokens of each
};
struct asked_table {
	struct call *c;
	struct part *m;
	struct table table;
	struct table_cell question;
	int64_t *ids, *mask, *types; // [tokens], [tokens, TYPES]
	size_t count, limit;
};

static struct table_cell *cell_at(const struct table *t, size_t row, size_t column)
{
	return &t->cells[row * t->columns + column];
}

// ---- the table -----------------------------------------------------------------------------------

static enum status put_cell(struct table *t, size_t row, size_t column, const json_t *x, struct error *err)
{
	if (!json_is_string(x))
		return error_set(err, STATUS_BAD_INPUT, "table: row %zu of column %zu is no text", row, column + 1);
	cell_at(t, row, column)->text = json_string_value(x);
	return STATUS_OK;
}

static enum status size_table(struct table *t, struct arena *a, size_t rows, size_t columns, struct error *err)
{
	if (!rows || !columns || rows > TABLE_MOST || columns > TABLE_MOST || (rows + 1) * columns > TABLE_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "table: %zu rows and %zu columns; 1 to %d cells", rows, columns, TABLE_MOST);
	*t = (struct table){ ARENA_ARRAY(a, (rows + 1) * columns, struct table_cell), rows, columns, 0, 0 };
	return STATUS_OK;
}

// {"NAME": ["cell", ..], ..}
static enum status read_columns(struct table *t, struct arena *a, const json_t *x, struct error *err)
{
	const char *name;
	const json_t *list;
	size_t column = 0, rows = json_array_size(json_object_iter_value(json_object_iter((json_t *)(uintptr_t)x)));
	enum status st = size_table(t, a, rows, json_object_size(x), err);

	if (st)
		return st;
	json_object_foreach((json_t *)(uintptr_t)x, name, list)
	{
		if (json_array_size(list) != rows)
			return error_set(err, STATUS_BAD_INPUT, "table: %zu cells in the column %.100s, %zu in the first",
				json_array_size(list), name, rows);
		cell_at(t, 0, column)->text = name;
		for (size_t i = 0; i < rows && !st; i++)
			st = put_cell(t, i + 1, column, json_array_get(list, i), err);
		if (st)
			return st;
		column++;
	}
	return STATUS_OK;
}

// [{"NAME": "cell", ..}, ..]: the first row names the columns.
static enum status read_rows(struct table *t, struct arena *a, const json_t *x, struct error *err)
{
	const json_t *first = json_array_get(x, 0), *cell;
	const char *name;
	size_t column = 0;
	enum status st = size_table(t, a, json_array_size(x), json_object_size(first), err);

	json_object_foreach((json_t *)(uintptr_t)first, name, cell)
	{
		for (size_t i = 0; i < t->rows && !st; i++)
			st = put_cell(t, i + 1, column, json_object_get(json_array_get(x, i), name), err);
		if (st)
			return st;
		cell_at(t, 0, column++)->text = name;
	}
	return st;
}

static enum status read_table(struct asked_table *q, struct error *err)
{
	const json_t *x = json_object_get(q->c->input, "table");
	const char *question;
	enum status st = call_text(q->c, "query", &question, err);

	if (st)
		return st;
	if (!*question)
		return error_set(err, STATUS_BAD_INPUT, "the input's query is empty");
	q->question.text = question;
	if (json_is_object(x))
		return read_columns(&q->table, q->c->a, x, err);
	if (json_is_array(x))
		return read_rows(&q->table, q->c->a, x, err);
	return error_set(err, STATUS_BAD_INPUT, "table is an object of columns, or a list of rows");
}

// ---- tokens -----------------------------------------------------------------------------------

// A token that the vocabulary lacks comes behind its last, as the class adds it: [EMPTY] in published vocabularies is there.
static uint32_t special(struct asked_table *q, struct tokenizer *t, const char *name, const char *usual)
{
	const char *token = part_special(q->m, name);
	uint32_t id;

	if (!token)
		token = usual;
	return tokenizer_id(t, token, strlen(token), &id) ? id : (uint32_t)tokenizer_size(t);
}

// A text without letters and digits is one token of its own, one without any character none.
static enum status tokenize(struct asked_table *q, struct table_cell *cell, struct error *err)
{
	const struct token_text in = { .text = cell->text, .nbytes = strlen(cell->text) };
	struct token empty = { .text = "" };
	struct tokenizer *t;
	struct encoding e;
	enum status st = part_tokenizer(q->m, &t, err);

	if (st)
		return st;
	if (in.nbytes > CELL_BYTES_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "a text of %zu bytes in the table; at most %d", in.nbytes, CELL_BYTES_MOST);
	if (in.nbytes && quantity_text_empty(cell->text)) {
		empty.id = special(q, t, "empty_token", "[EMPTY]");
		e = (struct encoding){ .tokens = &empty, .count = 1 };
	} else if ((st = tokenizer_encode_batch(t, q->c->a, &in, 1, false, NULL, NULL, &e, err))) {
		return st;
	}
	cell->ids = ARENA_ARRAY(q->c->a, e.count + 1, uint32_t);
	cell->word = ARENA_ARRAY(q->c->a, e.count + 1, size_t);
	for (size_t i = 0; i < e.count; i++) {
		bool inner = i && e.tokens[i].nbytes > 2 && !memcmp(e.tokens[i].text, "##", 2);

		cell->ids[i] = e.tokens[i].id;
		cell->word[i] = inner ? cell->word[i - 1] : i;
	}
	cell->count = e.count;
	quantities_of(&cell->found, q->c->a, cell->text);
	return STATUS_OK;
}

// Tokens of the first `rows` rows of cells, words that begin behind `most` tokens of a cell left out.
static size_t cost(const struct table *t, size_t rows, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < (rows + 1) * t->columns; i++)
		for (size_t k = 0; k < t->cells[i].count; k++)
			n += t->cells[i].word[k] < most;
	return n;
}

// How many tokens of each cell fit in; 0: not even one. `trim`: no fewer than so many; below 0: as many as there are.
static size_t tokens_that_fit(const struct table *t, size_t rows, int64_t budget, int64_t trim)
{
	size_t longest = 0, n = 0;

	for (size_t i = 0; i < (t->rows + 1) * t->columns; i++)
		longest = t->cells[i].count > longest ? t->cells[i].count : longest;
	if (trim >= 0 && longest > (size_t)trim)
		longest = (size_t)trim;
	while (n < longest && (int64_t)cost(t, rows, n + 1) <= budget)
		n++;
	return n < longest && trim >= 0 ? 0 : n;
}

static int64_t setting(const struct asked_table *q, const char *name, int64_t otherwise)
{
	const json_t *x = json_object_get(q->m->token_config, name);

	return json_is_integer(x) ? json_integer_value(x) : otherwise;
}

// Rows at the end are left out until the others fit in.
static enum status cut(struct asked_table *q, struct error *err)
{
	struct table *t = &q->table;
	const int64_t limit = (int64_t)q->limit, trim = setting(q, "cell_trim_length", -1);
	const int64_t rows = setting(q, "max_row_id", limit), columns = setting(q, "max_column_id", limit);

	if (json_is_true(json_object_get(q->m->token_config, "strip_column_names")))
		return error_set(err, STATUS_UNSUPPORTED, "strip_column_names of the tokenizer is not supported yet");
	if ((int64_t)t->columns >= columns || rows < 1)
		return error_set(err, STATUS_BAD_INPUT, "table: %zu columns; the model takes fewer than %lld", t->columns,
			(long long)columns);
	t->kept_rows = (int64_t)t->rows >= rows ? (size_t)rows - 1 : t->rows;
	const int64_t budget = limit - (int64_t)q->question.count - 2;
	while (!(t->kept_tokens = tokens_that_fit(t, t->kept_rows, budget, trim)) && t->kept_rows > 1)
		t->kept_rows--;
	if (t->kept_tokens)
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT, "the question and one row of the table do not fit into %zu tokens", q->limit);
}

static void put_token(struct asked_table *q, uint32_t id, int64_t segment, size_t column, size_t row)
{
	q->ids[q->count] = id;
	q->mask[q->count] = 1;
	q->types[TYPES * q->count] = segment;
	q->types[TYPES * q->count + 1] = (int64_t)column;
	q->types[TYPES * q->count++ + 2] = (int64_t)row;
}

static enum status lay_out(struct asked_table *q, struct error *err)
{
	const struct table *t = &q->table;
	const size_t most = cost(t, t->kept_rows, t->kept_tokens) + q->question.count + 2;
	struct tokenizer *tokenizer;
	enum status st = part_tokenizer(q->m, &tokenizer, err);

	if (st)
		return st;
	if (q->m->hints.max_sequence > 0 && most > (size_t)q->m->hints.max_sequence)
		return error_set(err, STATUS_BAD_INPUT, "question and table have %zu tokens, and the model takes %lld", most,
			(long long)q->m->hints.max_sequence);
	q->ids = ARENA_ARRAY(q->c->a, most, int64_t);
	q->mask = ARENA_ARRAY(q->c->a, most, int64_t);
	q->types = ARENA_ARRAY(q->c->a, TYPES * most, int64_t);
	put_token(q, special(q, tokenizer, "cls_token", "[CLS]"), 0, 0, 0);
	for (size_t i = 0; i < q->question.count; i++)
		put_token(q, q->question.ids[i], 0, 0, 0);
	put_token(q, special(q, tokenizer, "sep_token", "[SEP]"), 0, 0, 0);
	for (size_t row = 0; row <= t->kept_rows; row++)
		for (size_t column = 0; column < t->columns; column++) {
			const struct table_cell *cell = cell_at(t, row, column);

			for (size_t i = 0; i < cell->count; i++)
				if (cell->word[i] < t->kept_tokens)
					put_token(q, cell->ids[i], 1, column + 1, row);
		}
	return STATUS_OK;
}

// ---- numbers and dates -----------------------------------------------------------------------------------

static const struct quantity *first_of(const struct quantities *found, bool is_date)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->items[i].is_date == is_date)
			return &found->items[i];
	return NULL;
}

// A column counts where enough of its cells are of one kind; dates win over as many numbers.
static void consolidate(const struct table *t, size_t column)
{
	size_t counts[2] = { 0 };

	for (size_t row = 1; row <= t->rows; row++)
		for (int date = 0; date < 2; date++)
			counts[date] += first_of(&cell_at(t, row, column)->found, date) != NULL;
	const bool is_date = counts[1] >= counts[0];
	if (!counts[is_date] || (double)counts[is_date] < (double)t->rows * COMMON_SHARE)
		return;
	for (size_t row = 1; row <= t->rows; row++)
		cell_at(t, row, column)->value = first_of(&cell_at(t, row, column)->found, is_date);
}

// The values of a column and, where it is not NULL, one beside them; false: nothing to compare them by.
static bool comparable(const struct table *t, struct arena *a, size_t column, const struct quantity *beside, bool fields[3])
{
	const struct quantity **items = ARENA_ARRAY(a, t->rows + 1, const struct quantity *);
	size_t n = 0;

	for (size_t row = 1; row <= t->rows; row++)
		if (cell_at(t, row, column)->value)
			items[n++] = cell_at(t, row, column)->value;
	if (n && beside)
		items[n++] = beside;
	return n && quantities_compare(items, n, fields);
}

static void set_types(struct asked_table *q, size_t row, size_t column, int type, int64_t value)
{
	for (size_t i = 0; i < q->count; i++)
		if (q->types[TYPES * i + 1] == (int64_t)column + 1 && q->types[TYPES * i + 2] == (int64_t)row)
			q->types[TYPES * i + (size_t)type] = value;
}

static const bool *sort_fields; // of the sort at hand: a child answers one question after another

static int by_value(const void *x, const void *y)
{
	return quantity_order(*(const struct quantity *const *)x, *(const struct quantity *const *)y, sort_fields);
}

// Ranks from 1 of unlike values, and from the other end.
static void rank_column(struct asked_table *q, size_t column)
{
	const struct table *t = &q->table;
	const struct quantity **sorted = ARENA_ARRAY(q->c->a, t->rows + 1, const struct quantity *);
	bool fields[3];
	size_t n = 0, unlike = 0;

	if (!comparable(t, q->c->a, column, NULL, fields))
		return;
	for (size_t row = 1; row <= t->rows; row++)
		if (cell_at(t, row, column)->value)
			sorted[n++] = cell_at(t, row, column)->value;
	sort_fields = fields;
	qsort(sorted, n, sizeof *sorted, by_value);
	for (size_t i = 0; i < n; i++)
		if (!i || quantity_order(sorted[unlike - 1], sorted[i], fields))
			sorted[unlike++] = sorted[i];
	for (size_t row = 1; row <= t->kept_rows; row++) {
		const struct quantity *value = cell_at(t, row, column)->value;

		for (size_t i = 0; value && i < unlike; i++)
			if (!quantity_order(value, sorted[i], fields)) {
				set_types(q, row, column, 4, (int64_t)i + 1);
				set_types(q, row, column, 5, (int64_t)(unlike - i));
			}
	}
}

// Bits: a number of the question is the cell's (1), is less (2), is greater (4).
static void relate_column(struct asked_table *q, size_t column)
{
	const struct table *t = &q->table;
	int64_t *relations = ARENA_ARRAY(q->c->a, t->rows + 1, int64_t);
	bool fields[3];

	for (size_t k = 0; k < q->question.found.count; k++) {
		const struct quantity *asked = &q->question.found.items[k];

		if (!comparable(t, q->c->a, column, asked, fields))
			continue;
		for (size_t row = 1; row <= t->rows; row++) {
			const struct quantity *value = cell_at(t, row, column)->value;
			int order = value ? quantity_order(asked, value, fields) : 0;

			if (value)
				relations[row] |= order == 0 ? 1 : order < 0 ? 2 : 4;
		}
	}
	for (size_t row = 1; row <= t->kept_rows; row++)
		set_types(q, row, column, 6, relations[row]);
}

// Each kind of type is a row of a table of the model.
static enum status check_types(const struct asked_table *q, struct error *err)
{
	static const int64_t usual[TYPES] = { 3, 256, 256, 2, 256, 256, 10 };
	const json_t *sizes = json_object_get(q->m->config, "type_vocab_sizes");

	for (size_t i = 0; i < q->count * TYPES; i++) {
		const size_t k = i % TYPES;
		const int64_t most = sizes ? json_integer_value(json_array_get(sizes, k)) : usual[k];

		if (q->types[i] >= most)
			return error_set(err, STATUS_BAD_INPUT, "a %s of %lld in the table, and the model takes %lld",
				k == 1           ? "column"
					: k == 2 ? "row"
						 : "rank or relation",
				(long long)q->types[i], (long long)most - 1);
	}
	return STATUS_OK;
}

// ---- the answer -----------------------------------------------------------------------------------

// The mean probability over a cell's tokens.
static bool is_selected(const struct asked_table *q, const struct tensor *logits, size_t row, size_t column)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < q->count; i++)
		if (q->types[TYPES * i] == 1 && q->types[TYPES * i + 1] == (int64_t)column + 1 &&
			q->types[TYPES * i + 2] == (int64_t)row) {
			sum += scores_sigmoid(fmax(tensor_get(logits, i), -88.7));
			n++;
		}
	return n && sum / (double)n > 0.5;
}

// Of aggregation_labels; NULL: the model makes nothing of cells. *prefixed: its name stands before the cells.
static enum status aggregator_of(
	const struct asked_table *q, const struct tensor *out, size_t count, const char **name, bool *prefixed, struct error *err)
{
	const json_t *labels = json_object_get(q->m->config, "aggregation_labels"), *none;
	const struct tensor *logits;
	int64_t best = 0;

	*name = NULL;
	*prefixed = false;
	if (!json_object_size(labels) || !json_integer_value(json_object_get(q->m->config, "num_aggregation_labels")))
		return STATUS_OK;
	if (!(logits = part_output(out, count, "logits_aggregation", 2, err)))
		return err->status;
	for (int64_t i = 1; i < logits->dim[1]; i++)
		if (tensor_get(logits, (size_t)i) > tensor_get(logits, (size_t)best))
			best = i;
	*name = json_string_value(json_object_get(labels, arena_printf(q->c->a, "%lld", (long long)best)));
	if (!*name)
		return error_set(err, STATUS_BAD_INPUT, "aggregation_labels has no %lld", (long long)best);
	none = json_object_get(q->m->config, "no_aggregation_label_index");
	*prefixed = !json_is_integer(none) || json_integer_value(none) != best;
	return STATUS_OK;
}

static enum status answer_of(
	const struct asked_table *q, const struct tensor *out, size_t count, struct pipeline_answer *answer, struct error *err)
{
	const struct tensor *logits = part_output(out, count, "logits", 2, err);
	json_t *places = json_array(), *cells = json_array();
	struct text words = { 0 };
	const char *aggregator;
	bool prefixed;
	enum status st = logits ? aggregator_of(q, out, count, &aggregator, &prefixed, err) : err->status;

	if (!st && prefixed)
		text_addf(&words, "%s > ", aggregator);
	for (size_t row = 1; !st && row <= q->table.kept_rows; row++)
		for (size_t column = 0; column < q->table.columns; column++)
			if (is_selected(q, logits, row, column)) {
				const char *text = cell_at(&q->table, row, column)->text;

				text_addf(&words, "%s%s", json_array_size(cells) ? ", " : "", text);
				json_array_append_new(places, json_pack("[I, I]", (json_int_t)row - 1, (json_int_t)column));
				json_array_append_new(cells, json_string(text));
			}
	if (!st) {
		answer->json = json_pack("{s:s, s:O, s:O}", "answer", text_get(&words), "coordinates", places, "cells", cells);
		if (aggregator && *aggregator)
			json_object_set_new(answer->json, "aggregator", json_string(aggregator));
	}
	json_decref(places);
	json_decref(cells);
	text_done(&words);
	return st;
}

TASK(table_question_answering)
{
	struct asked_table q = { .c = c };
	struct tokenizer *t;
	struct tensor *given;
	size_t n;
	enum status st = part_open(c->p, ".", &q.m, err);

	if (st || (st = read_table(&q, err)) || (st = part_tokenizer(q.m, &t, err)) || (st = tokenize(&q, &q.question, err)))
		return st;
	q.limit = part_max_length(q.m) ? part_max_length(q.m) : USUAL_LENGTH;
	for (size_t i = 0; i < (q.table.rows + 1) * q.table.columns && !st; i++)
		st = tokenize(&q, &q.table.cells[i], err);
	if (st || (st = cut(&q, err)) || (st = lay_out(&q, err)))
		return st;
	for (size_t k = 0; k < q.table.columns; k++) {
		consolidate(&q.table, k);
		rank_column(&q, k);
		relate_column(&q, k);
	}
	if ((st = check_types(&q, err)))
		return st;
	const int64_t count = (int64_t)q.count;
	const size_t nbytes = q.count * sizeof *q.ids;
	const struct tensor in[] = {
		{ .name = "input_ids", .dtype = DTYPE_I64, .rank = 2, .dim = { 1, count }, .data = q.ids, .nbytes = nbytes },
		{ .name = "attention_mask",
			.dtype = DTYPE_I64,
			.rank = 2,
			.dim = { 1, count },
			.data = q.mask,
			.nbytes = nbytes },
		{ .name = "token_type_ids",
			.dtype = DTYPE_I64,
			.rank = 3,
			.dim = { 1, count, TYPES },
			.data = q.types,
			.nbytes = TYPES * nbytes }
	};
	st = part_run(q.m, &arch_whole, in, 3, c->a, &given, &n, err);
	return st ? st : answer_of(&q, given, n, out, err);
}
