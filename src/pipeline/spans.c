// SPDX-License-Identifier: Apache-2.0
// question-answering: the part of a text that answers a question. A long text is cut into windows that overlap; a span's score is
// the product of the probabilities that an answer begins and ends there (softmax in a window over the tokens of the text alone).
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
	double *p = scores_of(a, logits, 0, count);

	for (size_t i = 0; i < count; i++)
		p[i] = ok[i] ? p[i] : -10000;
	scores_softmax(p, count, p);
	return p;
}

static enum status search(struct call *c, struct part *m, const char *question, const struct encoding *e, size_t longest,
	struct spans *best, struct error *err)
{
	const struct tensor *start, *end;
	struct tensor *given;
	bool *ok;
	size_t n;
	enum status st = text_second(m, c->a, question, e, &ok, err);

	if (st || (st = text_run(m, c->a, e, &given, &n, err)))
		return st;
	if (!(start = part_output(given, n, "start_logits", 2, err)) || !(end = part_output(given, n, "end_logits", 2, err)))
		return STATUS_UNSUPPORTED;
	if (start->dim[1] != (int64_t)e->count || end->dim[1] != (int64_t)e->count)
		return error_set(err, STATUS_UNSUPPORTED, "the model gives no logits of each token");
	const double *s = probabilities(c->a, start, ok, e->count), *t = probabilities(c->a, end, ok, e->count);
	for (size_t i = 0; i < e->count; i++)
		for (size_t k = i; k < e->count && k < i + longest; k++)
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
		window.count = 0;
		if ((st = search(c, m, question, i ? &e.overflow[i - 1] : &e, (size_t)longest, &window, err)))
			return st;
		add(&all, &window);
	}
	qsort(all.items, all.count, sizeof *all.items, by_score);
	json_t *list = answers(c, &all, context);
	out->json = json_incref(top == 1 ? json_array_get(list, 0) : list);
	json_decref(list);
	return STATUS_OK;
}
