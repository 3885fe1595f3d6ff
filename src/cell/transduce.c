// SPDX-License-Identifier: Apache-2.0
// A transducer's greedy loop (family/transducer.c says what its graphs are; Graves 2012, https://arxiv.org/abs/1211.3711). The
// encoder runs once. A step hears one frame, after the last token that was no blank, and chooses a token or a blank:
//
//   a token    the text grows, the states that came out are kept; with durations (Xu et al. 2023) it goes on by as many frames as
//              the best of them says, else it stays at the frame, until max_symbols_per_step tokens were chosen there
//   a blank    the states that went in are kept; one frame on, or as many as the duration says and at least one
//
// As in transformers' generate() each step counts, blanks included. It does not stop at the end of the sound, where it stays at
// the last frame: a measurement takes as many steps as it was told to.
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cell/generate_inside.h"
#include "onnx/flow.h"

struct walk {
	const struct generation *g;
	struct arena *a;
	int64_t batch;
	const int64_t *given;     // [batch, new_tokens]: what is chosen, whatever the logits say; NULL: the best
	bool whole;               // each step runs over the text so far, from states of zero
	struct tensor heard;      // [batch, frames, hidden]
	int64_t *text;            // [batch, 1 + new_tokens]: the first token, then what was chosen without the blanks
	int64_t *length;          // of each row of it
	int64_t *frame, *symbols; // of each row: where it is, and how many tokens were chosen there
	struct tensor *state;     // [batch, width] by the step's inputs; no name: the input is none
};

// What a step found for a row.
struct choice {
	int64_t id[2];  // the best token and the next best
	float logit[2]; // theirs
	float of_given; // the logit of the given token
};

static enum status begin(struct walk *w, const struct prompt *p, const struct tensor *heard, struct error *err)
{
	const struct session *s = w->g->next;
	const struct transduction *t = w->g->transduction;
	size_t rows = (size_t)p->batch;

	if (t->blank >= t->vocab_size || (!t->durations && t->symbols_most < 1)) // a forward pass asks neither
		return error_set(err, STATUS_BAD_INPUT,
			"the blank is token %lld of %lld, and at most %lld tokens are chosen at a frame", (long long)t->blank,
			(long long)t->vocab_size, (long long)t->symbols_most);
	if (heard->dim[0] != p->batch)
		return error_set(err, STATUS_BAD_INPUT, "%lld texts begin, and %lld sounds were heard", (long long)p->batch,
			(long long)heard->dim[0]);
	if (p->length != 1)
		return error_set(
			err, STATUS_BAD_INPUT, "a transducer's text begins with one token, not %lld", (long long)p->length);
	w->batch = p->batch;
	w->heard = *heard;
	w->text = arena_alloc(w->a, rows * (size_t)(w->g->new_tokens + 1) * sizeof *w->text);
	w->length = arena_alloc(w->a, rows * sizeof *w->length);
	w->frame = arena_alloc(w->a, rows * sizeof *w->frame);
	w->symbols = arena_alloc(w->a, rows * sizeof *w->symbols);
	w->state = ARENA_ARRAY(w->a, s->input_count + 1, struct tensor);
	for (int64_t row = 0; row < p->batch; row++) {
		w->text[row * (w->g->new_tokens + 1)] = p->ids[row];
		w->length[row] = 1;
	}
	for (size_t i = 0; i < s->input_count; i++) {
		if (flow_input(s->inputs[i].name) != FLOW_STATE)
			continue;
		if (s->inputs[i].rank != 2 || s->inputs[i].dim[1] < 1)
			return error_set(
				err, STATUS_UNSUPPORTED, "a transducer's state %s is not [batch, width]", s->inputs[i].name);
		w->state[i] = (struct tensor){ .name = s->inputs[i].name,
			.dtype = s->inputs[i].dtype,
			.rank = 2,
			.dim = { p->batch, s->inputs[i].dim[1] } };
		w->state[i].nbytes = rows * (size_t)s->inputs[i].dim[1] * dtype_size(s->inputs[i].dtype);
		w->state[i].data = arena_alloc(w->a, w->state[i].nbytes); // zeroed
	}
	return STATUS_OK;
}

// The frame that each row is at: [batch, 1, hidden].
static struct tensor frames_of(const struct walk *w, struct arena *a)
{
	struct tensor t = w->heard;
	size_t each = (size_t)t.dim[2] * dtype_size(t.dtype);

	t.dim[1] = 1;
	t.nbytes = (size_t)w->batch * each;
	t.data = arena_alloc(a, t.nbytes);
	for (int64_t row = 0; row < w->batch; row++)
		memcpy((char *)t.data + (size_t)row * each,
			(const char *)w->heard.data + (size_t)(row * w->heard.dim[1] + w->frame[row]) * each, each);
	return t;
}

// The tokens that a step takes, [batch, columns]: the last of each row, or all; a shorter row goes on with blanks.
static struct tensor tokens_of(const struct walk *w, struct arena *a)
{
	int64_t columns = 1, most = w->g->new_tokens + 1, *ids;

	for (int64_t row = 0; w->whole && row < w->batch; row++)
		columns = w->length[row] > columns ? w->length[row] : columns;
	ids = arena_alloc(a, (size_t)(w->batch * columns) * sizeof *ids);
	for (int64_t row = 0; row < w->batch; row++)
		for (int64_t i = 0; i < columns; i++) {
			int64_t at = w->whole ? i : w->length[row] - 1;

			ids[row * columns + i] = at < w->length[row] ? w->text[row * most + at] : w->g->transduction->blank;
		}
	return (struct tensor){ .name = "input_ids",
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { w->batch, columns },
		.data = ids,
		.nbytes = (size_t)(w->batch * columns) * sizeof *ids };
}

static enum status give(const struct walk *w, struct tensor *in, struct arena *a, struct error *err)
{
	const struct session *s = w->g->next;

	for (size_t i = 0; i < s->input_count; i++) {
		const char *name = s->inputs[i].name;

		if (text_is(name, "input_ids"))
			in[i] = tokens_of(w, a);
		else if (text_is(name, w->heard.name))
			in[i] = frames_of(w, a);
		else if (w->state[i].name)
			in[i] = w->state[i];
		else
			return error_set(err, STATUS_UNSUPPORTED, "generation has nothing for the input %s", name);
		in[i].name = name;
	}
	return STATUS_OK;
}

// The states after a token of `row`.
static void keep(const struct walk *w, const struct tensor *out, int64_t row, struct arena *a)
{
	const struct session *s = w->g->next;

	for (size_t k = 0; k < s->output_count; k++) {
		const char *as = flow_next(a, s->outputs[k].name);

		for (size_t i = 0; as && i < s->input_count; i++)
			if (w->state[i].name && text_is(w->state[i].name, as) && out[k].nbytes == w->state[i].nbytes) {
				size_t each = out[k].nbytes / (size_t)w->batch;

				memcpy((char *)w->state[i].data + (size_t)row * each,
					(const char *)out[k].data + (size_t)row * each, each);
			}
	}
}

static int64_t best_of(const float *x, int64_t count)
{
	int64_t best = 0;

	for (int64_t i = 1; i < count; i++)
		if (x[i] > x[best])
			best = i;
	return best;
}

// By how many frames a row goes on after `token`; x: the logits of the durations. transformers takes a duration's place in the
// list for the duration; published lists are 0, 1, 2, ...
static int64_t advance(const struct walk *w, int64_t row, int64_t token, const float *x)
{
	const struct transduction *t = w->g->transduction;
	bool blank = token == t->blank;

	if (t->durations) {
		int64_t frames = best_of(x, t->durations);

		return frames > 0 || !blank ? frames : 1;
	}
	w->symbols[row] = blank ? 0 : w->symbols[row] + 1;
	if (!blank && w->symbols[row] < t->symbols_most)
		return 0;
	w->symbols[row] = 0;
	return 1;
}

static enum status choose(struct walk *w, const struct tensor *out, int64_t columns, int64_t n, struct choice *c, struct arena *a,
	struct error *err)
{
	const struct session *s = w->g->next;
	const struct transduction *t = w->g->transduction;
	const struct tensor *logits = NULL;
	int64_t width = t->vocab_size + t->durations;

	for (size_t i = 0; i < s->output_count; i++)
		if (text_is(s->outputs[i].name, "logits"))
			logits = &out[i];
	if (!logits || logits->dtype != DTYPE_F32 || logits->rank != 4 || logits->dim[0] != w->batch || logits->dim[1] != 1 ||
		logits->dim[2] != columns || logits->dim[3] != width)
		return error_set(err, STATUS_UNSUPPORTED,
			"generation needs an output logits [%lld, 1, %lld, %lld] in f32; this graph has none",
			(long long)w->batch, (long long)columns, (long long)width);
	for (int64_t row = 0; row < w->batch; row++) {
		const float *x = (const float *)logits->data + (row * columns + (w->whole ? w->length[row] - 1 : 0)) * width;

		enum status st = generate_check_scores(x, t->vocab_size, n, err);

		if (st)
			return st;
		generate_best_two(x, t->vocab_size, c[row].id, c[row].logit);
		int64_t token = w->given ? w->given[row * w->g->new_tokens + n] : c[row].id[0];
		if (token < 0 || token >= t->vocab_size)
			return error_set(err, STATUS_BAD_INPUT, "token %lld is none of the %lld of the vocabulary",
				(long long)token, (long long)t->vocab_size);
		c[row].of_given = x[token];
		w->frame[row] += advance(w, row, token, x + t->vocab_size);
		if (w->frame[row] >= w->heard.dim[1])
			w->frame[row] = w->heard.dim[1] - 1;
		if (token == t->blank)
			continue;
		w->text[row * (w->g->new_tokens + 1) + w->length[row]++] = token;
		if (!w->whole)
			keep(w, out, row, a);
	}
	return STATUS_OK;
}

// Step n. *run_ms: what the engine took of it.
static enum status step(struct walk *w, int64_t n, struct choice *c, double *run_ms, struct error *err)
{
	struct session *s = w->g->next;
	struct arena a = { 0 }; // inputs of this step only
	struct tensor *in = ARENA_ARRAY(&a, s->input_count + 1, struct tensor),
		      *out = ARENA_ARRAY(&a, s->output_count + 1, struct tensor);
	int64_t columns = 1;
	enum status st = give(w, in, &a, err);
	double begin = clock_ms();

	for (size_t i = 0; !st && i < s->input_count; i++)
		if (text_is(in[i].name, "input_ids"))
			columns = in[i].dim[1];
	if (!st)
		st = session_run(s, in, s->input_count, out, s->output_count, err);
	*run_ms = clock_ms() - begin;
	if (!st)
		st = choose(w, out, columns, n, c, &a, err);
	arena_done(&a);
	return st;
}

enum status transduce_greedy(struct generation *g, const struct prompt *p, const struct tensor *heard,
	const volatile sig_atomic_t *stop, struct arena *a, struct error *err)
{
	struct walk w = { .g = g, .a = a };
	struct choice *c = ARENA_ARRAY(a, (size_t)p->batch, struct choice);
	enum status st = begin(&w, p, heard, err);

	for (int64_t n = 0; !st && n < g->new_tokens; n++) {
		double from = clock_ms(), run_ms;

		if (stop && *stop)
			return error_set(err, STATUS_INTERRUPTED, "interrupted after %lld tokens", (long long)n);
		st = step(&w, n, c, &run_ms, err);
		for (int64_t row = 0; !st && row < p->batch; row++) {
			int64_t at = row * g->new_tokens + n;

			g->ids[at] = c[row].id[0], g->best[at] = c[row].logit[0];
			g->second_ids[at] = c[row].id[1], g->second[at] = c[row].logit[1];
		}
		*(n ? &g->step_ms[n - 1] : &g->prefill_ms) = clock_ms() - from;
		if (n)
			g->own_ms[n - 1] = g->step_ms[n - 1] - run_ms;
	}
	for (size_t i = 0; !st && i < g->next->input_count; i++)
		g->cache_bytes += w.state[i].nbytes;
	g->copied_bytes = g->cache_bytes; // a step writes all of its states
	return st;
}

enum status transduce_check(const struct generation *g, const struct prompt *p, const struct tensor *heard, int64_t *differing,
	double *max_error, const struct generate_answer *answer, struct arena *a, struct error *err)
{
	struct walk w = { .g = g, .a = a, .given = g->ids, .whole = true };
	struct choice *c = ARENA_ARRAY(a, (size_t)p->batch, struct choice);
	enum status st = begin(&w, p, heard, err);
	double unused;

	*differing = 0;
	*max_error = 0;
	for (int64_t n = 0; !st && n < g->new_tokens; n++) {
		if ((st = step(&w, n, c, &unused, err)))
			break;
		for (int64_t row = 0; row < p->batch; row++) {
			int64_t at = row * g->new_tokens + n;

			*differing += c[row].id[0] != g->ids[at];
			if (answer) {
				answer->chosen[at] = c[row].id[0];
				answer->logits[at] = c[row].of_given;
				continue;
			}
			double error = fabs((double)c[row].logit[0] - (double)g->best[at]);
			*max_error = error > *max_error || !(error >= 0) ? error : *max_error;
		}
	}
	return st;
}
