// SPDX-License-Identifier: Apache-2.0
// question-answering: the part of a text that answers a question; document-question-answering
// (DocumentQuestionAnsweringPipeline): the words of a page, each with its box. A long text is cut into windows that overlap; a
// span's score is the product of the probabilities that an answer begins and ends there (softmax in a window over the tokens of
// the text alone).
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "pipeline/inside.h"

struct span {
	double score;
	size_t first, last; // offsets in the text, code points
	size_t found;       // equal scores stay in the order in which they were found
};

struct spans {
	struct span *items;
	size_t count, top;
};

static int by_score(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return a->found < b->found ? -1 : a->found > b->found;
}

// Among the best `top` of a window.
static void keep_best(struct spans *s, struct span one)
{
	size_t at = s->count;

	if (at == s->top && s->items[at - 1].score >= one.score)
		return;
	if (at < s->top)
		s->count++;
	else
		at--;
	for (; at > 0 && s->items[at - 1].score < one.score; at--)
		s->items[at] = s->items[at - 1];
	s->items[at] = one;
}

// -10000 stands where no answer can begin or end, as the reference has it.
static double *probabilities(struct arena *a, const struct tensor *logits, const bool *ok, size_t count)
{
	double *p = elements_of(a, logits, 0, count);

	for (size_t i = 0; i < count; i++)
		p[i] = ok[i] ? p[i] : -10000;
	scores_softmax(p, count, p);
	return p;
}

// Over the tokens of one window: those that are `ok` may begin or end an answer. The first token may be one of them, so that it
// takes its share of the probabilities, and is none in the end.
static enum status search(struct call *c, struct part *m, const struct encoding *e, const bool *ok, const struct tensor *boxes,
	size_t longest, struct spans *best, struct error *err)
{
	const struct tensor *start, *end;
	struct tensor *in, *given;
	size_t count, n;
	enum status st = text_tensors(m, c->a, e, &in, &count, err);

	if (boxes)
		in[count++] = *boxes;
	if (st || (st = part_run(m, &arch_whole, in, count, c->a, &given, &n, err)))
		return st;
	if (!(start = part_output(given, n, "start_logits", 2, err)) || !(end = part_output(given, n, "end_logits", 2, err)))
		return err->status;
	if (start->dim[1] != (int64_t)e->count || end->dim[1] != (int64_t)e->count)
		return error_set(err, STATUS_UNSUPPORTED, "the model gives no logits of each token");
	double *s = probabilities(c->a, start, ok, e->count), *t = probabilities(c->a, end, ok, e->count);
	s[0] = t[0] = 0;
	for (size_t i = 0; i < e->count; i++)
		for (size_t k = i; k < e->count && k < i + longest; k++)
			if (ok[i] && ok[k])
				keep_best(best, (struct span){ s[i] * t[k], e->tokens[i].begin, e->tokens[k].end, 0 });
	return STATUS_OK;
}

// Of spans with the same offsets the better one counts.
static void add(struct spans *all, const struct spans *window)
{
	for (size_t i = 0; i < window->count; i++) {
		size_t k = 0;
		while (k < all->count &&
			(all->items[k].first != window->items[i].first || all->items[k].last != window->items[i].last))
			k++;
		if (k == all->count) {
			all->items[all->count] = window->items[i];
			all->items[all->count++].found = k;
		} else if (window->items[i].score > all->items[k].score) {
			all->items[k].score = window->items[i].score;
		}
	}
}

static json_t *answers(struct call *c, const struct spans *all, const char *context)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->count && i < all->top; i++) {
		const struct span *s = &all->items[i];
		json_array_append_new(list,
			json_pack("{s:o, s:I, s:I, s:s}", "score", json_real(s->score), "start", (json_int_t)s->first, "end",
				(json_int_t)s->last, "answer", text_slice(c->a, context, s->first, s->last)));
	}
	return list;
}

static enum status windows(
	struct call *c, struct part *m, const char *question, const char *context, struct encoding *out, struct error *err)
{
	int64_t longest, stride;
	enum status st;

	if ((st = option_integer(c, "max_seq_len", 1, 1 << 16, 384, &longest, err)) ||
		(st = option_integer(c, "doc_stride", 0, 1 << 16, 128, &stride, err)))
		return st;
	if (m->hints.max_sequence > 0 && longest > m->hints.max_sequence)
		longest = m->hints.max_sequence;
	if (stride > longest / 2 && !json_object_get(c->options, "doc_stride"))
		stride = longest / 2;
	const struct truncation cut = { (size_t)longest, (size_t)stride, ONLY_SECOND, false };
	return text_encode(m, c->a, question, context, &cut, out, err);
}

TASK(question_answering)
{
	const char *question, *context;
	int64_t top, longest;
	struct encoding e;
	struct part *m;
	enum status st = part_open(c->p, ".", &m, err);

	if (st || (st = call_text(c, "question", &question, err)) || (st = call_text(c, "context", &context, err)) ||
		(st = option_integer(c, "top_k", 1, PIPELINE_LIST_MOST, 1, &top, err)) ||
		(st = option_integer(c, "max_answer_len", 1, 1 << 16, 15, &longest, err)) ||
		(st = windows(c, m, question, context, &e, err)))
		return st;
	struct spans all = { .top = (size_t)top };
	struct spans window = { ARENA_ARRAY(c->a, (size_t)top + 1, struct span), 0, (size_t)top };
	all.items = ARENA_ARRAY(c->a, (e.overflow_count + 1) * (size_t)top + 1, struct span);
	for (size_t i = 0; i <= e.overflow_count; i++) {
		const struct encoding *part = i ? &e.overflow[i - 1] : &e;
		bool *ok;
		window.count = 0;
		if ((st = text_second(m, c->a, question, part, &ok, err)) ||
			(st = search(c, m, part, ok, NULL, (size_t)longest, &window, err)))
			return st;
		add(&all, &window);
	}
	qsort(all.items, all.count, sizeof *all.items, by_score);
	json_t *list = answers(c, &all, context);
	if (!json_array_size(list)) {
		json_decref(list);
		return error_set(err, STATUS_BAD_INPUT, "the context has no token that an answer could be");
	}
	out->json = json_incref(top == 1 ? json_array_get(list, 0) : list);
	json_decref(list);
	return STATUS_OK;
}

// ---- document-question-answering ----------------------------------------------------------------------------------------------

struct page {
	const char *const *words;
	size_t count;
	int64_t (*boxes)[4];
	size_t *begins; // of each word in the text that they make, code points
	const char *text;
};

static enum status read_page(struct call *c, struct page *out, struct error *err)
{
	const json_t *boxes = json_object_get(c->input, "boxes");
	struct text text = { 0 };
	size_t at = 0;
	enum status st = call_texts(c, "words", &out->words, &out->count, err);

	if (st)
		return st;
	if (json_array_size(boxes) != out->count)
		return error_set(
			err, STATUS_BAD_INPUT, "boxes should be a list with a box for each of the %zu words", out->count);
	out->boxes = arena_array(c->a, out->count, sizeof *out->boxes);
	out->begins = ARENA_ARRAY(c->a, out->count, size_t);
	for (size_t i = 0; i < out->count; i++) {
		const json_t *box = json_array_get(boxes, i);
		text_addf(&text, "%s%s", i ? " " : "", out->words[i]);
		out->begins[i] = at;
		at += text_length(out->words[i]) + 1;
		for (size_t k = 0; k < 4; k++) {
			out->boxes[i][k] = json_integer_value(json_array_get(box, k));
			if (json_array_size(box) != 4 || out->boxes[i][k] < 0 || out->boxes[i][k] > 1000)
				st = STATUS_BAD_INPUT;
		}
	}
	out->text = arena_strdup(c->a, text_get(&text));
	text_done(&text);
	return st ? error_set(err, st, "a box is left, top, right and bottom, each from 0 to 1000") : STATUS_OK;
}

static size_t word_at(const struct page *p, size_t code_point)
{
	size_t low = 0, high = p->count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		if (p->begins[middle] <= code_point)
			low = middle;
		else
			high = middle;
	}
	return low;
}

// Of a word its own, of a separator the whole page, of all else nothing.
static struct tensor boxes_of(
	struct call *c, const struct page *p, const struct encoding *e, const bool *second, int64_t separator)
{
	int64_t *data = ARENA_ARRAY(c->a, e->count * 4 + 1, int64_t);

	for (size_t i = 0; i < e->count; i++)
		for (size_t k = 0; k < 4; k++)
			data[4 * i + k] = second[i]            ? p->boxes[word_at(p, e->tokens[i].begin)][k]
				: e->tokens[i].id == separator ? 1000
							       : 0;
	return (struct tensor){ .name = "bbox",
		.dtype = DTYPE_I64,
		.rank = 3,
		.dim = { 1, (int64_t)e->count, 4 },
		.data = data,
		.nbytes = e->count * 4 * sizeof *data };
}

static enum status search_page(struct call *c, struct part *m, const char *question, const struct page *p,
	const struct encoding *e, size_t longest, struct spans *all, struct error *err)
{
	struct spans window = { ARENA_ARRAY(c->a, all->top + 1, struct span), 0, all->top };
	int64_t first = part_special_id(m, "cls_token");
	bool *ok;
	enum status st = text_second(m, c->a, question, e, &ok, err);

	if (st)
		return st;
	const struct tensor boxes = boxes_of(c, p, e, ok, part_special_id(m, "sep_token"));
	ok[0] |= e->count && e->tokens[0].id == first;
	if ((st = search(c, m, e, ok, &boxes, longest, &window, err)))
		return st;
	for (size_t i = 0; i < window.count; i++)
		if (window.items[i].last > 0) {
			all->items[all->count] = window.items[i];
			all->items[all->count].found = all->count;
			all->count++;
		}
	return STATUS_OK;
}

static json_t *words_json(struct call *c, const struct page *p, const struct spans *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->count && i < all->top; i++) {
		size_t first = word_at(p, all->items[i].first), last = word_at(p, all->items[i].last - 1);
		const char *text = p->words[first];
		for (size_t k = first + 1; k <= last; k++)
			text = arena_printf(c->a, "%s %s", text, p->words[k]);
		json_array_append_new(list,
			json_pack("{s:o, s:s, s:I, s:I}", "score", json_real(all->items[i].score), "answer", text, "start",
				(json_int_t)first, "end", (json_int_t)last));
	}
	return list;
}

TASK(document_question_answering)
{
	const char *question;
	struct page page;
	int64_t top, longest, length, stride;
	struct encoding e;
	struct part *m;
	enum status st = part_open(c->p, ".", &m, err);
	int64_t most = st ? 0 : (int64_t)part_max_length(m);

	most = most ? most : 512;
	if (st || (st = call_text(c, "question", &question, err)) || (st = read_page(c, &page, err)) ||
		(st = option_integer(c, "top_k", 1, PIPELINE_LIST_MOST, 1, &top, err)) ||
		(st = option_integer(c, "max_answer_len", 1, 1 << 16, 15, &longest, err)) ||
		(st = option_integer(c, "max_seq_len", 1, 1 << 16, most, &length, err)) ||
		(st = option_integer(c, "doc_stride", 0, 1 << 16, length / 2 < 256 ? length / 2 : 256, &stride, err)))
		return st;
	const struct truncation cut = { (size_t)length, (size_t)stride, ONLY_SECOND, false };
	if ((st = text_encode(m, c->a, question, page.text, &cut, &e, err)))
		return st;
	struct spans all = { ARENA_ARRAY(c->a, (e.overflow_count + 1) * (size_t)top + 1, struct span), 0, (size_t)top };
	for (size_t i = 0; i <= e.overflow_count && !st; i++)
		st = search_page(c, m, question, &page, i ? &e.overflow[i - 1] : &e, (size_t)longest, &all, err);
	if (st)
		return st;
	qsort(all.items, all.count, sizeof *all.items, by_score);
	out->json = words_json(c, &page, &all);
	return STATUS_OK;
}
