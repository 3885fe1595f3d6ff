// SPDX-License-Identifier: Apache-2.0
// token-classification (TokenClassificationPipeline): what each token of a text is, or each word or group of them.
//
//   none      an entity a token
//   simple    tokens, then groups of neighbours with the same label
//   first, average, max   words first (by the first token's scores, the mean, the token that is surest), then groups
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "pipeline/inside.h"

enum strategy { ENTITY_NONE, ENTITY_SIMPLE, ENTITY_FIRST, ENTITY_AVERAGE, ENTITY_MAX };
static const char *const strategy_words[] = { "none", "simple", "first", "average", "max" };

struct entity {
	const char *label, *word;
	const double *scores; // of a token, [labels]
	double score;
	size_t index, begin, end; // begin, end: code points of the text
	bool continues;           // a word
};

struct entities {
	struct entity *items;
	size_t count;
};

struct tagging {
	struct call *c;
	struct part *m;
	const char *text;
	enum strategy how;
	int64_t stride; // 0: one window
	int64_t unknown;
};

// ---- tokens -----------------------------------------------------------------------------------------------------------------

// Does it go on with the word before it? By its length against the text's where the vocabulary marks such tokens, else by the
// blank before it.
static bool goes_on(const struct tagging *g, struct tokenizer *t, const char *word, const struct token *token)
{
	if (tokenizer_continues(t))
		return text_length(word) != token->end - token->begin;
	return token->begin > 0 && !strchr(text_slice(g->c->a, g->text, token->begin - 1, token->begin + 1), ' ');
}

static size_t best_of(const double *scores, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		best = scores[i] > scores[best] ? i : best;
	return best;
}

static void take_best(const struct tagging *g, struct entity *e, size_t labels)
{
	size_t best = best_of(e->scores, labels);

	e->label = label_of(g->m, g->c->a, best);
	e->score = e->scores[best];
}

static enum status tag(const struct tagging *g, const struct encoding *e, struct entities *out, size_t *labels, struct error *err)
{
	const struct tensor *logits;
	struct tensor *given;
	struct tokenizer *t;
	size_t n, nbytes;
	enum status st = part_tokenizer(g->m, &t, err);

	if (st || (st = text_run(g->m, g->c->a, e, &given, &n, err)))
		return st;
	if (!(logits = part_output(given, n, "logits", 3, err)) || logits->dim[1] != (int64_t)e->count || logits->dim[2] < 1)
		return logits ? error_set(err, STATUS_UNSUPPORTED, "the model gives no logits of each token") : err->status;
	*labels = (size_t)logits->dim[2];
	*out = (struct entities){ ARENA_ARRAY(g->c->a, e->count + 1, struct entity), 0 };
	for (size_t i = 0; i < e->count; i++) {
		const struct token *token = &e->tokens[i];
		if (token->flags & (TOKEN_SPECIAL | TOKEN_PADDING))
			continue;
		double *scores = elements_of(g->c->a, logits, i * *labels, *labels);
		scores_softmax(scores, *labels, scores);
		const char *word = tokenizer_token(t, token->id, &nbytes);
		word = word ? arena_strndup(g->c->a, word, nbytes) : "";
		struct entity *one = &out->items[out->count++];
		*one = (struct entity){ .word = word, .scores = scores, .index = i, .begin = token->begin, .end = token->end };
		one->continues = goes_on(g, t, word, token);
		if (token->id == g->unknown) {
			one->word = text_slice(g->c->a, g->text, token->begin, token->end);
			one->continues = false;
		}
		take_best(g, one, *labels);
	}
	return STATUS_OK;
}

// ---- words and groups -------------------------------------------------------------------------------------------------------

static enum status joined(const struct tagging *g, const struct entity *from, size_t count, const char **out, struct error *err)
{
	const char **words = ARENA_ARRAY(g->c->a, count + 1, const char *);
	char *text;

	for (size_t i = 0; i < count; i++)
		words[i] = from[i].word;
	enum status st = text_of_tokens(g->m, g->c->a, words, count, &text, err);
	*out = text;
	return st;
}

static enum status word_of(
	const struct tagging *g, const struct entity *from, size_t count, size_t labels, struct entity *out, struct error *err)
{
	const struct entity *which = from;
	double *mean = ARENA_ARRAY(g->c->a, labels + 1, double);

	for (size_t i = 0; i < count; i++) {
		which = from[i].score > which->score ? &from[i] : which;
		for (size_t k = 0; k < labels; k++)
			mean[k] += from[i].scores[k] / (double)count;
	}
	*out = (struct entity){ .begin = from->begin, .end = from[count - 1].end };
	out->scores = g->how == ENTITY_FIRST ? from->scores : g->how == ENTITY_MAX ? which->scores : mean;
	take_best(g, out, labels);
	return joined(g, from, count, &out->word, err);
}

static enum status words_of(const struct tagging *g, struct entities *all, size_t labels, struct error *err)
{
	size_t count = 0;
	enum status st = STATUS_OK;

	for (size_t i = 0, next; i < all->count && !st; i = next) {
		struct entity word;
		for (next = i + 1; next < all->count && all->items[next].continues; next++)
			;
		if (!(st = word_of(g, &all->items[i], next - i, labels, &word, err)))
			all->items[count++] = word;
	}
	all->count = count;
	return st;
}

// "B-PER" is PER, and begins; a label without either letter goes on.
static const char *tag_of(const char *label, bool *begins)
{
	*begins = text_starts(label, "B-");
	return *begins || text_starts(label, "I-") ? label + 2 : label;
}

static enum status groups_of(const struct tagging *g, struct entities *all, struct error *err)
{
	size_t count = 0;
	enum status st = STATUS_OK;

	for (size_t i = 0, next; i < all->count && !st; i = next) {
		struct entity group = all->items[i];
		const char *dash = strchr(group.label, '-');
		bool begins, ignored;
		double sum = group.score;

		for (next = i + 1; next < all->count &&
			text_is(tag_of(all->items[next].label, &begins), tag_of(all->items[next - 1].label, &ignored)) && !begins;
			next++)
			sum += all->items[next].score;
		group.score = sum / (double)(next - i);
		group.end = all->items[next - 1].end;
		group.label = dash ? dash + 1 : group.label;
		if (!(st = joined(g, &all->items[i], next - i, &group.word, err)))
			all->items[count++] = group;
	}
	all->count = count;
	return st;
}

// ---- windows ----------------------------------------------------------------------------------------------------------------

static int by_begin(const void *x, const void *y)
{
	const struct entity *a = x, *b = y;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

// Of those that overlap the longest stays, of equally long ones the better.
static void drop_overlapping(struct entities *all)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		all->items[i].index = i;
	qsort(all->items, all->count, sizeof *all->items, by_begin);
	for (size_t i = 1; i < all->count; i++) {
		struct entity *last = &all->items[count];
		const struct entity *one = &all->items[i];
		size_t longest = last->end - last->begin, length = one->end - one->begin;

		if (one->begin >= last->end)
			all->items[++count] = *one;
		else if (length > longest || (length == longest && one->score > last->score))
			*last = *one;
	}
	all->count = all->count ? count + 1 : 0;
}

static bool is_ignored(const struct call *c, const char *label)
{
	const json_t *list = json_object_get(c->options, "ignore_labels"), *x;
	size_t i;

	if (!list || json_is_null(list))
		return text_is(label, "O");
	json_array_foreach(list, i, x) if (text_is(json_string_value(x), label)) return true;
	return false;
}

static enum status tag_all(const struct tagging *g, const struct encoding *e, struct entities *all, struct error *err)
{
	size_t room = e->count, labels;
	struct entities window;
	enum status st = STATUS_OK;

	for (size_t i = 0; i < e->overflow_count; i++)
		room += e->overflow[i].count;
	*all = (struct entities){ ARENA_ARRAY(g->c->a, room + 1, struct entity), 0 };
	for (size_t i = 0; i <= (g->stride ? e->overflow_count : 0) && !st; i++) {
		st = tag(g, i ? &e->overflow[i - 1] : e, &window, &labels, err);
		if (!st && g->how > ENTITY_SIMPLE)
			st = words_of(g, &window, labels, err);
		if (!st && g->how != ENTITY_NONE)
			st = groups_of(g, &window, err);
		for (size_t k = 0; k < window.count && !st; k++)
			if (!is_ignored(g->c, window.items[k].label))
				all->items[all->count++] = window.items[k];
	}
	if (!st && g->stride && e->overflow_count)
		drop_overlapping(all);
	return st;
}

// ---- the task -----------------------------------------------------------------------------------------------------------------

static enum status read_strategy(const struct call *c, enum strategy *out, struct error *err)
{
	const char *word;
	enum status st = option_text(c, "aggregation_strategy", "none", &word, err);

	for (int i = ENTITY_NONE; i <= ENTITY_MAX && !st; i++)
		if (text_is(word, strategy_words[i])) {
			*out = (enum strategy)i;
			return STATUS_OK;
		}
	return st
		? st
		: error_set(err, STATUS_BAD_INPUT, "aggregation_strategy is none, simple, first, average or max, not '%s'", word);
}

static json_t *entity_json(const struct tagging *g, const struct entity *e)
{
	json_t *o = json_pack("{s:s, s:o, s:s, s:I, s:I}", g->how ? "entity_group" : "entity", e->label, "score",
		json_real(e->score), "word", e->word, "start", (json_int_t)e->begin, "end", (json_int_t)e->end);

	if (o && !g->how)
		json_object_set_new(o, "index", json_integer((json_int_t)e->index));
	return o;
}

TASK(token_classification)
{
	struct tagging g = { .c = c };
	struct truncation cut;
	struct entities all;
	struct encoding e;
	enum status st = part_open(c->p, ".", &g.m, err);

	if (st || (st = call_text(c, "text", &g.text, err)) || (st = read_strategy(c, &g.how, err)) ||
		(st = option_integer(c, "stride", 0, 1 << 16, 0, &g.stride, err)))
		return st;
	bool cuts = text_cut(g.m, LONGEST_FIRST, &cut);
	cut.stride = (size_t)g.stride;
	if (g.stride && (!cuts || !g.how))
		return error_set(err, STATUS_BAD_INPUT,
			cuts ? "stride needs an aggregation_strategy" : "stride needs a tokenizer with model_max_length");
	g.unknown = part_special_id(g.m, "unk_token");
	if ((st = text_encode(g.m, c->a, g.text, NULL, cuts ? &cut : NULL, &e, err)) || (st = tag_all(&g, &e, &all, err)))
		return st;
	out->json = json_array();
	for (size_t i = 0; i < all.count; i++)
		if (json_array_append_new(out->json, entity_json(&g, &all.items[i])))
			return error_set(err, STATUS_BAD_INPUT, "a word of the answer is no UTF-8");
	return STATUS_OK;
}
