// SPDX-License-Identifier: Apache-2.0
// Who chooses tokens in the loop of cell/generate.c: the best one, or one that is drawn, until an end token, or beam search as in
// transformers 5: a beam's score is its sum of log probabilities, a finished text's that over (new tokens) ^ length_penalty.
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "onnx/flow.h"
#include "pipeline/choose.h"
#include "pipeline/pictures.h"

static const double NEVER = -1e9; // what transformers adds to scores that do not count

// Of one row, [vocab] each; made at the first token.
struct room {
	double *scores;
	bool *seen;
};

static double *take_scores(struct arena *a, struct room *r, const float *logits, int64_t vocab)
{
	if (!r->scores) {
		r->scores = ARENA_ARRAY(a, (size_t)vocab, double);
		r->seen = ARENA_ARRAY(a, (size_t)vocab, bool);
	}
	for (int64_t i = 0; i < vocab; i++)
		r->scores[i] = (double)logits[i];
	return r->scores;
}

// ---- one row ----------------------------------------------------------------------------------------------------------------

struct greedy {
	const struct decoding *d;
	struct room room;
	struct arena *a;
};

static bool choose_best(void *context, const int64_t *const *texts, int64_t length, const float *const *logits, int64_t vocab,
	int64_t *next, int64_t *from)
{
	struct greedy *g = context;
	double *scores = take_scores(g->a, &g->room, logits[0], vocab);
	int64_t best = 0;

	(void)from;
	decoding_process(g->d, texts[0], length, scores, g->room.seen, vocab);
	if (g->d->samples) {
		sampling_process(&g->d->sampling, scores, vocab);
		best = sampling_draw(&g->d->sampling, length - g->d->prompt_length, scores, vocab);
	}
	for (int64_t i = 1; !g->d->samples && i < vocab; i++)
		best = scores[i] > scores[best] ? i : best;
	next[0] = best;
	return !decoding_ends(g->d, best);
}

// ---- beams ------------------------------------------------------------------------------------------------------------------

struct candidate {
	double score;
	int64_t row, id;
};
struct finished {
	double score;
	int64_t *text, length;
	bool done; // else it only holds a place
};
struct beams {
	const struct decoding *d;
	struct arena *a;
	struct room room;
	double *running;       // [beams], sums of log probabilities
	struct candidate *top; // [keep], by falling score
	size_t keep, top_count;
	struct finished *finished; // [beams], by falling score
	bool hopeless;             // what runs cannot become better than what is finished
};

static void keep_candidate(struct beams *b, struct candidate one)
{
	size_t at = b->top_count;

	if (at == b->keep && !(one.score > b->top[at - 1].score))
		return;
	at = at < b->keep ? b->top_count++ : at - 1;
	for (; at > 0 && b->top[at - 1].score < one.score; at--)
		b->top[at] = b->top[at - 1];
	b->top[at] = one;
}

static void log_softmax(double *x, int64_t count)
{
	double most = -INFINITY, sum = 0;

	for (int64_t i = 0; i < count; i++)
		most = fmax(most, x[i]);
	for (int64_t i = 0; i < count; i++)
		sum += exp(x[i] - most);
	for (int64_t i = 0; i < count; i++)
		x[i] -= most + log(sum);
}

static bool all_done(const struct beams *b)
{
	for (int64_t i = 0; i < b->d->beams; i++)
		if (!b->finished[i].done)
			return false;
	return true;
}

// Among the finished ones, if it is better than the worst of them.
static void finish(struct beams *b, const int64_t *text, int64_t length, const struct candidate *c)
{
	const struct decoding *d = b->d;
	double score = c->score / pow((double)(length + 1 - d->prompt_length), d->length_penalty);
	int64_t at = d->beams - 1;

	if (b->hopeless || (d->early == STOP_EARLY && all_done(b)) || !(score > b->finished[at].score))
		return;
	for (; at > 0 && b->finished[at - 1].score < score; at--)
		b->finished[at] = b->finished[at - 1];
	struct finished *f = &b->finished[at];
	*f = (struct finished){ score, ARENA_ARRAY(b->a, (size_t)length + 1, int64_t), length + 1, true };
	memcpy(f->text, text, (size_t)length * sizeof *text);
	f->text[length] = c->id;
}

static bool improves(const struct beams *b, int64_t length)
{
	const struct decoding *d = b->d;
	int64_t longest = d->early == STOP_NEVER && d->length_penalty > 0 ? d->max_length : length;
	double best = b->running[0] / pow((double)(longest - d->prompt_length), d->length_penalty);

	// A place that is not taken yet counts as never; one that is, as the worst of all places.
	double worst = b->finished[d->beams - 1].score;
	for (int64_t i = 0; i < d->beams; i++)
		if (best > (b->finished[i].done ? worst : NEVER))
			return true;
	return false;
}

static void find_candidates(
	struct beams *b, const int64_t *const *texts, int64_t length, const float *const *logits, int64_t vocab)
{
	b->top_count = 0;
	for (int64_t row = 0; row < b->d->beams; row++) {
		double *scores = take_scores(b->a, &b->room, logits[row], vocab);

		log_softmax(scores, vocab);
		decoding_process(b->d, texts[row], length, scores, b->room.seen, vocab);
		for (int64_t i = 0; i < vocab; i++)
			keep_candidate(b, (struct candidate){ scores[i] + b->running[row], row, i });
	}
}

static bool choose_beams(void *context, const int64_t *const *texts, int64_t length, const float *const *logits, int64_t vocab,
	int64_t *next, int64_t *from)
{
	struct beams *b = context;
	const struct decoding *d = b->d;
	int64_t runs = 0;
	bool is_last = length + 1 >= d->max_length;

	find_candidates(b, texts, length, logits, vocab);
	for (size_t i = 0; i < b->top_count && runs < d->beams; i++)
		if (!decoding_ends(d, b->top[i].id)) {
			next[runs] = b->top[i].id;
			from[runs] = b->top[i].row;
			b->running[runs++] = b->top[i].score + (is_last ? NEVER : 0);
		}
	for (size_t i = 0; i < b->top_count && i < (size_t)d->beams; i++)
		if (is_last || decoding_ends(d, b->top[i].id))
			finish(b, texts[b->top[i].row], length, &b->top[i]);
	b->hopeless |= !improves(b, length + 1);
	return !is_last && runs == d->beams && !b->hopeless && !(d->early == STOP_EARLY && all_done(b));
}

static void begin_beams(struct beams *b, const struct decoding *d, struct arena *a)
{
	*b = (struct beams){ .d = d, .a = a };
	b->keep = (d->eos.count > 0 ? 1 + d->eos.count : 2) * (size_t)d->beams;
	b->running = ARENA_ARRAY(a, (size_t)d->beams, double);
	b->top = ARENA_ARRAY(a, b->keep + 1, struct candidate);
	b->finished = ARENA_ARRAY(a, (size_t)d->beams, struct finished);
	for (int64_t i = 0; i < d->beams; i++) {
		b->running[i] = i ? NEVER : 0; // all rows are alike at first
		b->finished[i].score = NEVER;
	}
}

// ---- the loop -----------------------------------------------------------------------------------------------------------------

// The same for each row.
static struct tensor repeated(struct arena *a, const struct tensor *t, int64_t rows)
{
	struct tensor out = *t;
	char *to = arena_alloc(a, t->nbytes * (size_t)rows + 1);

	for (int64_t i = 0; i < rows; i++)
		memcpy(to + (size_t)i * t->nbytes, t->data, t->nbytes);
	out.data = to;
	out.dim[0] *= rows;
	out.nbytes *= (size_t)rows;
	return out;
}

static enum status open_loop(struct part *m, const struct tensor *inputs, size_t count,
	struct part_graph *graphs[ARCH_STEPS_MOST], size_t *n, struct error *err)
{
	const struct arch_graph *which[ARCH_STEPS_MOST];
	enum status st = STATUS_OK;

	*n = arch_graphs_of_loop(m->spec, which);
	m->logits_chosen = *n == 1;
	for (size_t i = 0; i < *n && !st; i++)
		st = part_graph(m, which[i], inputs, count, &graphs[i], err);
	return st;
}

// ---- with fixed shapes

static void add_shape(struct inputs *all, const char *name, int rank, const int64_t *dim)
{
	struct tensor t = { .name = name, .rank = rank };

	memcpy(t.dim, dim, (size_t)rank * sizeof *dim);
	inputs_add(all, &t, 1);
}

// What the decoder, or the whole model, is given at every step, as far as its shapes say; contents are none.
static void decoder_shapes(struct inputs *all, const struct prompt *p, int64_t places, const struct session *encoder)
{
	const struct tensor *mask = tensor_named(p->inputs, p->input_count, "attention_mask");
	const int64_t text[] = { p->batch, places };

	add_shape(all, "input_ids", 2, text);
	add_shape(all, "attention_mask", 2, text);
	add_shape(all, "position_ids", 2, text);
	for (size_t i = 0; encoder && i < encoder->output_count; i++) {
		const struct tensor_type *t = &encoder->outputs[i];

		if (flow_output(t->name) != FLOW_ENCODED || t->rank != 3)
			continue;
		add_shape(all, "encoder_hidden_states", 3, t->dim);
		add_shape(all, "encoder_attention_mask", 2, mask && mask->rank == 2 ? mask->dim : t->dim);
	}
	inputs_add(all, p->inputs, p->input_count);
}

// One decoder for all steps, which sees the whole text each time: a cache grows, and no shape does. Its form says how many
// tokens.
static enum status open_fixed(struct part *m, const struct prompt *p, int64_t places, struct part_graph *graphs[ARCH_STEPS_MOST],
	size_t *n, struct error *err)
{
	const struct arch_graph *which[ARCH_STEPS_MOST];
	struct inputs all = { 0 };
	enum status st = STATUS_OK;

	m->is_fixed = true;
	*n = arch_graphs_of_loop(m->spec, which) > 1 ? 2 : 1;
	if (*n > 1)
		st = part_graph(m, which[0], p->inputs, p->input_count, &graphs[0], err);
	if (st)
		return st;
	decoder_shapes(&all, p, places, *n > 1 ? &graphs[0]->session : NULL);
	if ((st = part_graph(m, which[*n - 1], all.items, all.count, &graphs[*n - 1], err)))
		return st;
	if (!strstr(graphs[*n - 1]->form, "without a past"))
		graphs[*n - 1]->form = arena_printf(m->p->arena, "%s; %lld tokens at each step, padded, without a past",
			graphs[*n - 1]->form, (long long)places);
	return STATUS_OK;
}

// What the runs took is the graphs', not the task's.
static void take_times(const struct generation *g, struct part_graph *const *graphs, size_t n, const int64_t *runs_before)
{
	for (size_t i = 0; i < n; i++)
		graphs[i]->runs += graphs[i]->session.run_count - runs_before[i];
	if (n > 1)
		graphs[0]->run_ms += g->encoder_ms;
	graphs[n > 1]->run_ms += g->prefill_ms;
	for (int64_t i = 0; i + 1 < g->new_tokens; i++)
		graphs[n - 1]->run_ms += g->step_ms[i] - g->own_ms[i];
}

static void take_tokens(struct pipeline *p, const struct generation *g)
{
	p->first_ms += (g->encoder ? g->encoder_ms : 0) + g->prefill_ms;
	p->firsts++;
	for (int64_t i = 0; i + 1 < g->new_tokens; i++)
		p->tokens_ms += g->step_ms[i];
	p->tokens += g->new_tokens > 1 ? g->new_tokens - 1 : 0;
}

static enum status run_loop(struct part *m, struct arena *a, struct generation *g, const struct prompt *p, struct error *err)
{
	struct part_graph *graphs[ARCH_STEPS_MOST] = { 0 };
	const struct arch_graph *which[ARCH_STEPS_MOST];
	int64_t runs[ARCH_STEPS_MOST];
	size_t n = arch_graphs_of_loop(m->spec, which);
	enum status st;

	g->places = part_is_static(m, which[n - 1]) ? p->length + g->new_tokens - 1 : 0;
	st = g->places ? open_fixed(m, p, g->places, graphs, &n, err) : open_loop(m, p->inputs, p->input_count, graphs, &n, err);
	if (st)
		return st;
	if (n > 1)
		g->encoder = &graphs[0]->session;
	g->first = &graphs[n > 1]->session;
	g->next = &graphs[n - 1]->session;
	g->cache_ends = m->hints.cache_ends;
	for (size_t i = 0; i < n; i++)
		runs[i] = graphs[i]->session.run_count;
	pipeline_pause(m->p);
	st = generate_greedy(g, p, NULL, a, err);
	pipeline_resume(m->p);
	if (!st) {
		take_times(g, graphs, n, runs);
		take_tokens(m->p, g);
	}
	return st;
}

enum status generate_text(struct part *m, struct arena *a, const struct decoding *d, const int64_t *ids,
	const struct tensor *inputs, size_t input_count, int64_t **out, size_t *count, struct error *err)
{
	struct greedy greedy = { .d = d, .a = a };
	struct beams beams;
	struct generate_chooser chooser = { &greedy, choose_best };
	struct generation g = { .chooser = &chooser, .new_tokens = d->new_tokens };
	int64_t *prompt = ARENA_ARRAY(a, (size_t)(d->beams * d->prompt_length) + 1, int64_t);
	struct tensor *rows = ARENA_ARRAY(a, input_count + 1, struct tensor);
	struct prompt p = {
		.batch = d->beams, .length = d->prompt_length, .ids = prompt, .inputs = rows, .input_count = input_count
	};
	enum status st;

	if (d->prompt_length < 1)
		return error_set(err, STATUS_BAD_INPUT, "the prompt has no tokens");
	if (m->p->prompt)
		return prompt_take(m, a, d, ids, inputs, input_count, err);
	if (d->beams > 1) {
		begin_beams(&beams, d, a);
		chooser = (struct generate_chooser){ &beams, choose_beams };
	}
	for (int64_t i = 0; i < d->beams; i++)
		memcpy(prompt + i * d->prompt_length, ids, (size_t)d->prompt_length * sizeof *ids);
	for (size_t i = 0; i < input_count; i++)
		rows[i] = repeated(a, &inputs[i], d->beams);
	if ((st = run_loop(m, a, &g, &p, err)))
		return st;
	if (d->beams > 1) {
		*out = beams.finished[0].text;
		*count = (size_t)beams.finished[0].length;
		return *out ? STATUS_OK : error_set(err, STATUS_FAILED, "no beam came to an end");
	}
	*count = (size_t)(d->prompt_length + g.new_tokens);
	*out = ARENA_ARRAY(a, *count + 1, int64_t);
	memcpy(*out, ids, (size_t)d->prompt_length * sizeof *ids);
	memcpy(*out + d->prompt_length, g.ids, (size_t)g.new_tokens * sizeof *ids);
	return STATUS_OK;
}
