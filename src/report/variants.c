// SPDX-License-Identifier: Apache-2.0
// What a model was asked, line by line: the one that speaks for it, and the others as its variants.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/precision.h"
#include "question/standing.h"
#include "report/gather.h"

static const struct report_cell *at(const struct summary *s, const struct report_line *l, size_t k)
{
	return l->cell[k] != 0 ? &s->cells[l->cell[k] - 1] : NULL;
}

static size_t cells_of(const struct summary *s, const struct report_line *l)
{
	size_t n = 0;

	for (size_t k = 0; k < s->column_count; k++)
		n += l->cell[k] != 0;
	return n;
}

static bool is_simple(const struct report_line *l)
{
	return l->source == NULL && l->new_tokens == ROW_NONE && question_is_usual(&l->asked, QUESTION_ROW) &&
		question_is_usual(&l->asked, QUESTION_TUNED);
}

static bool is_reduced(const struct row *r)
{
	return r->precision != NULL && precision_is_reduced(precision_find(r->precision));
}

// In no fewer bits than stored: a reduced precision never speaks for what was asked first.
static bool has_good(const struct summary *s, const struct report_line *l)
{
	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_cell *c = at(s, l, k);
		if (c != NULL && c->is_good && !c->is_not_valid && !is_reduced(&c->row))
			return true;
	}
	return false;
}

// A batch of 1, or none that is known.
static bool is_single(const struct report_line *l)
{
	return l->batch == ROW_NONE || l->batch == 1;
}

bool report_speaks_for_model(const struct summary *s, size_t i)
{
	const struct report_line *l = &s->lines[i];

	for (size_t k = 0; k < s->line_count; k++) {
		const struct report_line *o = &s->lines[k];
		if (k == i || !report_same_model(o, l))
			continue;
		bool whole = l->layers == ROW_NONE, other_whole = o->layers == ROW_NONE, made = text_is(l->weights, "synthetic");
		if (whole != other_whole                                   ? other_whole
				: made != text_is(o->weights, "synthetic") ? made
				: is_single(o) != is_single(l)             ? is_single(o)
				: has_good(s, o) != has_good(s, l)         ? has_good(s, o)
				: is_simple(o) != is_simple(l)             ? is_simple(o)
				: cells_of(s, o) != cells_of(s, l)         ? cells_of(s, o) > cells_of(s, l)
									   : k < i)
			return false;
	}
	return true;
}

static size_t word_length(const char *list)
{
	return strcspn(list, ",;");
}

static const char *next_word(const char *list)
{
	list += word_length(list);
	return list + strspn(list, ",; ");
}

static bool has_word(const char *list, const char *word, size_t length)
{
	for (; list != NULL && *list != '\0'; list = next_word(list))
		if (word_length(list) == length && strncmp(list, word, length) == 0)
			return true;
	return false;
}

const char *report_words_beyond(struct arena *a, const char *list, const char *known)
{
	const char *out = NULL;

	for (; list != NULL && *list != '\0'; list = next_word(list))
		if (!has_word(known, list, word_length(list)))
			out = arena_join(a, out, ", ", arena_strndup(a, list, word_length(list)));
	return out;
}

const char *report_words_beside(struct arena *a, const struct report_line *l, const struct report_line *known)
{
	const char *out = report_words_beyond(a, report_line_words(a, l), report_line_words(a, known));
	const bool is_one_pass = l->new_tokens == ROW_NONE && l->question->cell.pipeline_asked == NULL;

	return is_one_pass && known->new_tokens != ROW_NONE ? arena_join(a, "a forward pass", ", ", out) : out;
}

bool report_has_time(const struct report_cell *c)
{
	return c->is_good && !c->is_not_valid && c->row.latency_ms > 0;
}

static bool answers_better(const struct report_cell *c, const struct report_cell *found)
{
	bool good = c->is_good && !c->is_not_valid, found_good = found != NULL && found->is_good && !found->is_not_valid;

	return found == NULL || (good != found_good ? good : is_reduced(&found->row) && !is_reduced(&c->row));
}

const struct report_cell *report_answer_of(const struct summary *s, const struct report_line *l, size_t k)
{
	const struct report_cell *found = at(s, l, k);

	for (size_t i = 0; i < s->line_count && at(s, l, k) == NULL; i++) {
		const struct report_cell *c =
			report_same_model(&s->lines[i], l) && s->lines[i].source == NULL ? at(s, &s->lines[i], k) : NULL;
		if (c != NULL && answers_better(c, found))
			found = c;
	}
	return found;
}

static int by_times(const void *x, const void *y)
{
	const struct report_variant *v = x, *w = y;
	double p = isnan(v->times) ? 0 : v->times, q = isnan(w->times) ? 0 : w->times;

	return p != q ? (p < q) - (p > q) : (v->line > w->line) - (v->line < w->line);
}

static const struct report_cell *first_of(const struct summary *s, const struct report_line *l)
{
	const struct report_cell *found = NULL;

	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_cell *c = at(s, l, k);
		if (c != NULL && (found == NULL || (report_has_time(c) && !report_has_time(found))))
			found = c;
	}
	return found;
}

// How many times as fast as the same platform in what the model's line says of it; NaN: there is nothing to compare with, or one
// of the two is unstable, of which two single rows say little.
static double times_of(const struct summary *s, const struct report_line *l, const struct report_cell *c)
{
	const unsigned but = BUT_PRECISION | BUT_THREADS | BUT_OPTIONS | BUT_SHIPPED;
	const struct report_cell *base = report_answer_of(s, l, c->column);

	return base != NULL && base != c && !is_reduced(&base->row) && report_is_ranked(base) && report_is_ranked(c) &&
			!report_is_unstable(base) && !report_is_unstable(c) && report_alike(c, base, but)
		? base->typical.ms / c->typical.ms
		: (double)NAN;
}

// The fastest that can be compared, else the line's best, else the first.
static struct report_variant variant_of(const struct summary *s, const struct report_line *l, const struct report_line *o)
{
	struct report_variant v = { o, o->best != NULL ? o->best : first_of(s, o), (double)NAN };

	for (size_t k = 0; k < s->column_count; k++) {
		const struct report_cell *c = at(s, o, k);
		double times = c != NULL ? times_of(s, l, c) : (double)NAN;
		if (!isnan(times) && (isnan(v.times) || c->typical.ms < v.cell->typical.ms))
			v = (struct report_variant){ o, c, times };
	}
	return v;
}

size_t report_variants(const struct summary *s, const struct report_line *l, struct report_variant *out)
{
	size_t count = 0;

	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_line *o = &s->lines[i];
		if (o != l && report_same_model(o, l) && first_of(s, o) != NULL)
			out[count++] = variant_of(s, l, o);
	}
	qsort(out, count, sizeof *out, by_times);
	return count;
}
