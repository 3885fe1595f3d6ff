// SPDX-License-Identifier: Apache-2.0
// The loop: give a step its inputs by name, run, choose, keep what present.* says for the next step.
// What it does not do by itself: sampling, beams, stopping at an end token. A measurement generates as many tokens as it was told
// to; who wants another choice gives a chooser (pipeline/beams.c).
#include "cell/generate_inside.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "onnx/flow.h"

struct state {
	struct arena *a;
	const struct prompt *prompt;
	struct tensor *past; // named as inputs, "past_key_values.0.key"
	size_t past_count, past_capacity;
	bool shared;           // `past` are buffers, whatever the step
	struct tensor encoded; // encoder_hidden_states; no name: none
	struct tensor seen,    // encoder_attention_mask as the encoder gave it; no name: it gives none
		unmasked; // ones for the encoder's attention_mask, where the prompt has none; no name: it has, or none is needed
	int64_t *mask;    // [batch, capacity], rows packed for each step's length
	int64_t capacity;
	int64_t text; // tokens of a step that are no padding behind the text; 0: all are
	int64_t kept; // num_logits_to_keep, where a graph asks for it
	struct scoring {
		double *scores;
		float *changed;
		bool *seen;
	} room; // [vocab] each, of g->how
	// Where a chooser goes on with another row, the past is moved: from one to the other, for some of it may still lie there.
	struct arena moved[2];
	int moved_at;
};

// Does it take what the step before gave: a cache or a state?
static bool is_past(const char *input)
{
	enum flow_kind kind = flow_input(input);

	return kind == FLOW_CACHE || kind == FLOW_STATE;
}

static bool takes_past(const struct session *s)
{
	for (size_t i = 0; i < s->input_count; i++)
		if (is_past(s->inputs[i].name))
			return true;
	return false;
}

static struct tensor integers(const char *name, int64_t rows, int64_t columns, const int64_t *data)
{
	return (struct tensor){ .name = name,
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { rows, columns },
		.data = (void *)(uintptr_t)data,
		.nbytes = (size_t)(rows * columns) * sizeof *data };
}

// Before the first step: a length of 0 on the axis that grows, and zeros where none does.
static struct tensor empty_past(struct arena *a, const struct tensor_type *t, int64_t batch)
{
	struct tensor x = { .name = t->name, .dtype = t->dtype, .rank = t->rank, .nbytes = dtype_size(t->dtype) };
	for (int i = 0; i < t->rank; i++) {
		x.dim[i] = t->dim[i] >= 0 ? t->dim[i] : i == 0 ? batch : 0;
		x.nbytes *= (size_t)x.dim[i];
	}
	if (x.nbytes)
		x.data = arena_alloc(a, x.nbytes);
	return x;
}

// Room for `length` tokens.
static void make_buffers(struct state *s, const struct session *session, int64_t length)
{
	s->shared = true;
	s->past = ARENA_ARRAY(s->a, session->input_count + 1, struct tensor);
	for (size_t i = 0; i < session->input_count; i++) {
		if (flow_input(session->inputs[i].name) != FLOW_CACHE || session->inputs[i].rank != 4)
			continue;
		struct tensor x = empty_past(s->a, &session->inputs[i], s->prompt->batch);
		x.dim[2] = length;
		x.nbytes = (size_t)(x.dim[0] * x.dim[1] * x.dim[2] * x.dim[3]) * dtype_size(x.dtype);
		x.data = arena_alloc(s->a, x.nbytes);
		s->past[s->past_count++] = x;
	}
	s->past_capacity = s->past_count;
}

// Does a row of the prompt end with padding? Then its next token is chosen before the last place.
static bool ends_padded(const struct prompt *p)
{
	for (int64_t row = 0; p->mask && row < p->batch; row++)
		if (!p->mask[(row + 1) * p->length - 1])
			return true;
	return false;
}

// Of a run over `length` columns: the place of the last token of a row, which the prompt may have padded.
static int64_t last_place(const struct prompt *p, int64_t row, int64_t length)
{
	int64_t at = length - 1;
	while (length == p->length && p->mask && at > 0 && !p->mask[row * length + at])
		at--;
	return at;
}

// The place of a row's logits of what comes after `length` tokens.
static int64_t place_of(
	const struct generation *g, const struct prompt *p, const struct tensor *logits, int64_t row, int64_t length)
{
	if (g->places)
		return logits->dim[1] - g->places + length - 1; // those of a picture may stand before the text's (git)
	return logits->dim[1] == length ? last_place(p, row, length) : logits->dim[1] - 1;
}

// The mask over `length` columns: the prompt's, then ones. position_ids: the running count of the mask less one, or what the
// prompt says and then on from there; of the last `count` columns.
static void columns(struct state *s, int64_t length, int64_t count, int64_t *mask, int64_t *positions)
{
	const struct prompt *p = s->prompt;
	for (int64_t row = 0; row < p->batch; row++) {
		int64_t seen = 0;
		for (int64_t i = 0; i < length; i++) {
			int64_t is_token = i < p->length && p->mask   ? p->mask[row * p->length + i]
				: !s->text || i<s->text, at = seen> 0 ? seen - !is_token
								      : 0;
			if (p->positions)
				at = i < p->length ? p->positions[row * p->length + i]
						   : p->positions[(row + 1) * p->length - 1] + 1 + i - p->length;
			seen += is_token != 0;
			mask[row * length + i] = is_token;
			if (i >= length - count)
				positions[row * count + i - (length - count)] = at;
		}
	}
}

// The prompt's token types over `length` columns: what is generated is text, type 0.
static struct tensor types_over(struct state *s, const struct tensor *types, int64_t length)
{
	int64_t rows = types->dim[0], given = types->dim[1], *all = arena_alloc(s->a, (size_t)(rows * length) * sizeof *all);
	const int64_t *from = types->data;
	for (int64_t i = 0; i < rows * length; i++)
		all[i] = i % length < given ? from[i / length * given + i % length] : 0;
	return integers(types->name, rows, length, all);
}

// What the prompt's tokens see of pictures, [rows, tokens, ..], over `length` columns: what is generated sees what the last one
// does.
static struct tensor sight_over(struct state *s, const struct tensor *sight, int64_t length)
{
	struct tensor all = *sight;
	size_t given = (size_t)sight->dim[1], rows = (size_t)sight->dim[0],
	       each = given && rows ? sight->nbytes / rows / given : 0;
	all.dim[1] = length;
	all.nbytes = rows * (size_t)length * each;
	char *to = arena_alloc(s->a, all.nbytes);
	for (size_t i = 0; each && i < rows * (size_t)length; i++) {
		size_t row = i / (size_t)length, at = i % (size_t)length;
		at = at < given ? at : given - 1;
		memcpy(to + i * each, (const char *)sight->data + (row * given + at) * each, each);
	}
	all.data = to;
	return all;
}

static enum status give(struct state *s, const struct session *session, const int64_t *ids, int64_t count, int64_t length,
	bool fresh, struct tensor *in, struct error *err)
{
	const struct prompt *p = s->prompt;
	int64_t *mask = arena_alloc(s->a, (size_t)(p->batch * length) * sizeof *mask),
		*positions = arena_alloc(s->a, (size_t)(p->batch * count) * sizeof *positions);
	columns(s, length, count, mask, positions);
	for (size_t i = 0; i < session->input_count; i++) {
		const char *name = session->inputs[i].name;
		const struct tensor *other = text_is(name, "encoder_attention_mask")
			? tensor_named(p->inputs, p->input_count, "attention_mask")
			: tensor_named(p->inputs, p->input_count, name);
		const struct tensor *past = fresh && !s->shared ? NULL : tensor_named(s->past, s->past_count, name);
		if (text_is(name, "input_ids"))
			in[i] = integers(name, p->batch, count, ids);
		else if (text_is(name, "attention_mask"))
			in[i] = integers(name, p->batch, length, mask);
		else if (text_is(name, "position_ids"))
			in[i] = integers(name, p->batch, count, positions);
		else if (text_is(name, "num_logits_to_keep") && session->inputs[i].dtype == DTYPE_I64)
			in[i] = (struct tensor){ .dtype = DTYPE_I64,
				.rank = session->inputs[i].rank > 0,
				.dim = { 1 },
				.data = &s->kept,
				.nbytes = sizeof s->kept };
		else if (past)
			in[i] = *past;
		else if (is_past(name))
			in[i] = empty_past(s->a, &session->inputs[i], p->batch);
		else if (flow_input(name) == FLOW_ENCODED && s->encoded.name)
			in[i] = s->encoded;
		else if (s->seen.name && text_is(name, s->seen.name))
			in[i] = s->seen;
		else if (other && (text_ends(name, "token_type_ids") || text_is(name, "image_embeds_position_mask")) &&
			other->rank == 2 && other->dtype == DTYPE_I64)
			in[i] = types_over(s, other, count);
		else if (!other && text_is(name, "token_type_ids") && session->inputs[i].dtype == DTYPE_I64)
			in[i] = integers(name, p->batch, count,
				arena_alloc(s->a, (size_t)(p->batch * count) * sizeof *ids)); // zeros: a first text
		else if (other && text_is(name, "cross_attention_mask") && other->rank > 2)
			in[i] = sight_over(s, other, count);
		else if (other)
			in[i] = *other;
		else if (text_is(name, "encoder_attention_mask") && s->unmasked.name)
			in[i] = s->unmasked;
		else if (text_is(name, "encoder_attention_mask") && s->encoded.name) {
			int64_t *ones = arena_alloc(s->a, (size_t)(p->batch * s->encoded.dim[1]) * sizeof *ones);
			for (int64_t k = 0; k < p->batch * s->encoded.dim[1]; k++)
				ones[k] = 1;
			in[i] = integers(name, p->batch, s->encoded.dim[1], ones);
		} else
			return error_set(err, STATUS_UNSUPPORTED, "generation has nothing for the input %s", name);
		in[i].name = name;
	}
	return STATUS_OK;
}

static const struct tensor *logits_of(const struct session *session, const struct tensor *out, struct error *err)
{
	for (size_t i = 0; i < session->output_count; i++)
		if (text_is(session->outputs[i].name, "logits") && out[i].rank == 3 && out[i].dtype == DTYPE_F32)
			return &out[i];
	error_set(err, STATUS_UNSUPPORTED,
		"generation needs an output logits [batch, sequence, vocabulary] in f32; this graph has none");
	return NULL;
}

// What a step gives the next one.
static void keep(struct state *s, const struct session *session, const struct tensor *out)
{
	for (size_t i = 0; !s->shared && i < session->output_count; i++) {
		const char *as = flow_next(s->a, session->outputs[i].name);
		if (!as || !is_past(as))
			continue;
		struct tensor *slot = (struct tensor *)(uintptr_t)tensor_named(s->past, s->past_count, as);
		if (!slot) {
			if (s->past_count == s->past_capacity) {
				size_t more = s->past_capacity ? s->past_capacity * 2 : 64;
				struct tensor *bigger = ARENA_ARRAY(s->a, more, struct tensor);
				if (s->past_count)
					memcpy(bigger, s->past, s->past_count * sizeof *bigger);
				s->past = bigger;
				s->past_capacity = more;
			}
			slot = &s->past[s->past_count++];
		}
		*slot = out[i];
		slot->name = as;
	}
}

// Is one of x [CHUNK] above `least`, or a NaN? Without a branch, so that compilers compare many at a time.
enum { CHUNK = 64 };
static bool one_above(const float *x, float least)
{
	int any = 0;

	for (int i = 0; i < CHUNK; i++)
		any |= !(x[i] <= least);
	return any;
}

// A vocabulary is some 100 000 numbers, of which few are among the best two so far: chunks without such a one are left out.
void generate_best_two(const float *x, int64_t count, int64_t id[2], float logit[2])
{
	id[0] = id[1] = 0;
	logit[0] = logit[1] = -INFINITY;
	for (int64_t begin = 0; begin < count; begin += CHUNK) {
		const int64_t end = count - begin < CHUNK ? count : begin + CHUNK;

		if (end - begin == CHUNK && !one_above(x + begin, logit[1]))
			continue;
		for (int64_t i = begin; i < end; i++)
			if (!isnan(logit[0]) && !(x[i] <= logit[0])) {
				id[1] = id[0], logit[1] = logit[0];
				id[0] = i, logit[0] = x[i];
			} else if (x[i] > logit[1])
				id[1] = i, logit[1] = x[i];
	}
}

enum status generate_check_scores(const float *x, int64_t count, int64_t n, struct error *err)
{
	bool none = false, some = false;

	for (int64_t i = 0; i < count; i++) {
		none |= !(x[i] < INFINITY);
		some |= x[i] > -INFINITY;
	}
	if (!none && some)
		return STATUS_OK;
	return error_set(
		err, STATUS_FAILED, "the scores that token %lld is chosen from hold what is no number", (long long)n + 1);
}

// Logits of row `row`, place `place`, as they are chosen from behind a text of `length` tokens.
static const float *scores_at(const struct generation *g, struct state *s, const struct tensor *logits, int64_t row,
	int64_t place, const int64_t *text, int64_t length)
{
	const int64_t vocab = logits->dim[2];
	const float *x = (const float *)logits->data + (row * logits->dim[1] + place) * vocab;
	struct scoring *r = &s->room;

	if (!g->how)
		return x;
	if (!r->scores) {
		r->scores = ARENA_ARRAY(s->a, (size_t)vocab, double);
		r->changed = ARENA_ARRAY(s->a, (size_t)vocab, float);
		r->seen = ARENA_ARRAY(s->a, (size_t)vocab, bool);
	}
	for (int64_t i = 0; i < vocab; i++)
		r->scores[i] = (double)x[i];
	decoding_process(g->how, text, length, r->scores, r->seen, vocab);
	for (int64_t i = 0; i < vocab; i++)
		r->changed[i] = (float)r->scores[i];
	return r->changed;
}

static enum status encode(struct generation *g, struct state *s, struct error *err)
{
	struct session *e = g->encoder;
	const struct prompt *p = s->prompt;
	struct tensor *in = ARENA_ARRAY(s->a, e->input_count + 1, struct tensor),
		      *out = ARENA_ARRAY(s->a, e->output_count + 1, struct tensor);
	double begin = clock_ms();
	for (size_t i = 0; i < e->input_count; i++) {
		const struct tensor *x = tensor_named(p->inputs, p->input_count, e->inputs[i].name);
		for (size_t k = 0; !x && k < p->input_count && text_is(e->inputs[i].name, "attention_mask"); k++) {
			if (p->inputs[k].rank < 2)
				continue;
			int64_t *ones = arena_alloc(s->a, (size_t)(p->inputs[k].dim[0] * p->inputs[k].dim[1]) * sizeof *ones);
			for (int64_t n = 0; n < p->inputs[k].dim[0] * p->inputs[k].dim[1]; n++)
				ones[n] = 1;
			s->unmasked = integers("attention_mask", p->inputs[k].dim[0], p->inputs[k].dim[1], ones);
			x = &s->unmasked;
		}
		if (!x)
			return error_set(
				err, STATUS_BAD_INPUT, "the prompt has nothing for the encoder's input %s", e->inputs[i].name);
		in[i] = *x;
	}
	enum status st = session_run(e, in, e->input_count, out, e->output_count, err);
	if (st)
		return error_prefix(err, "encoder");
	for (size_t i = 0; i < e->output_count; i++)
		if (flow_output(e->outputs[i].name) == FLOW_ENCODED) {
			s->encoded = out[i];
			s->encoded.name = flow_next(s->a, e->outputs[i].name);
		} else if (text_is(e->outputs[i].name, "encoder_attention_mask")) {
			s->seen = out[i];
			s->seen.name = e->outputs[i].name;
		}
	g->encoder_ms = clock_ms() - begin;
	return s->encoded.rank == 3
		? STATUS_OK
		: error_set(err, STATUS_UNSUPPORTED, "the encoder gives no last_hidden_state [batch, sequence, hidden]");
}

// What the engine wrote of cache and states in a step of `count` tokens: all of it, unless it stands where the past was given.
static uint64_t written(const struct session *session, const struct tensor *in, const struct tensor *out, int64_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < session->output_count; i++) {
		int past = session->past_of ? session->past_of[i] : -1;
		enum flow_kind kind = flow_output(session->outputs[i].name);
		if (kind != FLOW_CACHE && kind != FLOW_STATE)
			continue;
		bool in_place = past >= 0 && out[i].data == in[past].data && out[i].dim[2] > 0;
		sum += in_place ? out[i].nbytes / (size_t)out[i].dim[2] * (size_t)count : out[i].nbytes;
	}
	return sum;
}

static uint64_t bytes_of(const struct tensor *t, size_t count)
{
	uint64_t n = 0;
	for (size_t i = 0; i < count; i++)
		n += t[i].nbytes;
	return n;
}

// Rows of the past as the chooser goes on with them. A row's part of a tensor is its share of the first axis.
static enum status move_past(struct state *s, const int64_t *from, struct error *err)
{
	const size_t rows = (size_t)s->prompt->batch;
	struct arena *a = &s->moved[s->moved_at ^ 1];

	arena_done(a);
	s->moved_at ^= 1;
	for (size_t i = 0; i < s->past_count; i++) {
		struct tensor *t = &s->past[i];
		const size_t each = t->nbytes / rows;
		if (!t->nbytes)
			continue;
		if (t->dim[0] % (int64_t)rows)
			return error_set(err, STATUS_UNSUPPORTED, "beams: %s does not begin with the rows of the batch", t->name);
		char *to = arena_try(a, t->nbytes);
		if (!to)
			return error_set(err, STATUS_NO_MEMORY, "beams: no memory for another %s", t->name);
		for (size_t row = 0; row < rows; row++)
			memcpy(to + row * each, (const char *)t->data + (size_t)from[row] * each, each);
		t->data = to;
	}
	return STATUS_OK;
}

// Rows of the texts and of the past, as the chooser says; *go_on: those were not the last.
static enum status choose(struct generation *g, struct state *s, const struct tensor *logits, int64_t *all, int64_t capacity,
	int64_t length, bool *go_on, struct error *err)
{
	const struct prompt *p = s->prompt;
	struct arena a = { 0 };
	const int64_t **texts = ARENA_ARRAY(&a, (size_t)p->batch, const int64_t *);
	const float **rows = ARENA_ARRAY(&a, (size_t)p->batch, const float *);
	int64_t *next = ARENA_ARRAY(&a, (size_t)p->batch, int64_t), *from = ARENA_ARRAY(&a, (size_t)p->batch, int64_t),
		*moved = ARENA_ARRAY(&a, (size_t)(p->batch * capacity), int64_t);
	bool same = true;
	enum status st = STATUS_OK;

	for (int64_t row = 0; row < p->batch; row++) {
		int64_t place = place_of(g, p, logits, row, length);
		from[row] = row;
		texts[row] = all + row * capacity;
		rows[row] = (const float *)logits->data + (row * logits->dim[1] + place) * logits->dim[2];
	}
	*go_on = g->chooser->choose(g->chooser->context, texts, length, rows, logits->dim[2], next, from);
	for (int64_t row = 0; row < p->batch; row++) {
		memcpy(moved + row * capacity, all + from[row] * capacity, (size_t)length * sizeof *all);
		moved[row * capacity + length] = next[row];
		same &= from[row] == row;
	}
	memcpy(all, moved, (size_t)(p->batch * capacity) * sizeof *all);
	if (!same && *go_on)
		st = s->shared ? error_set(err, STATUS_UNSUPPORTED, "beams: not with a shared cache") : move_past(s, from, err);
	arena_done(&a);
	return st;
}

static void make_results(struct generation *g, size_t places, struct arena *a)
{
	g->ids = arena_alloc(a, places * sizeof *g->ids);
	g->second_ids = arena_alloc(a, places * sizeof *g->second_ids);
	g->best = arena_alloc(a, places * sizeof *g->best);
	g->second = arena_alloc(a, places * sizeof *g->second);
	g->step_ms = arena_alloc(a, ((size_t)g->new_tokens + 1) * sizeof *g->step_ms);
	g->own_ms = arena_alloc(a, ((size_t)g->new_tokens + 1) * sizeof *g->own_ms);
}

// g->ids as the texts have them.
static void take_chosen(struct generation *g, const struct prompt *p, const int64_t *all, int64_t capacity, int64_t done)
{
	g->new_tokens = done;
	for (int64_t row = 0; row < p->batch; row++)
		memcpy(g->ids + row * done, all + row * capacity + p->length, (size_t)done * sizeof *all);
}

enum status generate_greedy(
	struct generation *g, const struct prompt *p, const volatile sig_atomic_t *stop, struct arena *a, struct error *err)
{
	struct state s = { .a = a, .prompt = p };
	int64_t capacity = p->length + g->new_tokens, *all = arena_alloc(a, (size_t)(p->batch * capacity) * sizeof *all);
	int64_t *ids = arena_alloc(a, (size_t)(p->batch * (capacity > g->places ? capacity : g->places)) * sizeof *ids);
	size_t inputs = g->first->input_count > g->next->input_count ? g->first->input_count : g->next->input_count;
	size_t outputs = g->first->output_count > g->next->output_count ? g->first->output_count : g->next->output_count;
	struct tensor *in = ARENA_ARRAY(a, inputs + 1, struct tensor), *out = ARENA_ARRAY(a, outputs + 1, struct tensor);
	bool cached = takes_past(g->next) && !g->places;
	enum status st = STATUS_OK;

	make_results(g, (size_t)(p->batch * g->new_tokens), a);
	if (g->encoder && (st = encode(g, &s, err)))
		return st;
	if (g->transduction)
		return transduce_greedy(g, p, &s.encoded, stop, a, err);
	if (g->shared)
		make_buffers(&s, g->next, capacity - 1); // the last token does not go in
	bool go_on = true;
	int64_t done = 0;
	for (int64_t row = 0; row < p->batch; row++)
		memcpy(all + row * capacity, p->ids + row * p->length, (size_t)p->length * sizeof *all);
	for (int64_t n = 0; n < g->new_tokens && go_on; n++) {
		int64_t length = p->length + n, id[2];
		s.kept = g->places || (!n && ends_padded(p)) ? 0 : 1;
		bool anew = !n || length == g->cache_ends || g->places;
		struct session *session = anew ? g->first : g->next;
		int64_t count = cached && !anew ? 1 : length, run = g->places ? g->places : count;
		float logit[2];
		struct arena step = { 0 }; // masks and the like of this step only
		if (stop && *stop)
			return error_set(err, STATUS_INTERRUPTED, "interrupted after %lld tokens", (long long)n);
		double begin = clock_ms(), run_began, run_ms;
		for (int64_t row = 0; row < p->batch; row++)
			memcpy(ids + row * run, all + row * capacity + length - count, (size_t)count * sizeof *ids);
		s.text = g->places ? length : 0;
		s.a = &step;
		st = give(&s, session, ids, run, g->places ? g->places : length, anew, in, err);
		s.a = a;
		run_began = clock_ms();
		if (!st)
			st = session_run(session, in, session->input_count, out, session->output_count, err);
		run_ms = clock_ms() - run_began;
		arena_done(&step);
		const struct tensor *logits = st ? NULL : logits_of(session, out, err);
		if (!logits) {
			st = st ? st : STATUS_UNSUPPORTED;
			break;
		}
		for (int64_t row = 0; row < p->batch && !st; row++) {
			const int64_t at = row * g->new_tokens + n, place = place_of(g, p, logits, row, length);

			st = generate_check_scores((const float *)logits->data + (row * logits->dim[1] + place) * logits->dim[2],
				logits->dim[2], n, err);
			generate_best_two(
				scores_at(g, &s, logits, row, place, all + row * capacity, length), logits->dim[2], id, logit);
			g->ids[at] = all[row * capacity + length] = id[0];
			g->second_ids[at] = id[1];
			g->best[at] = logit[0];
			g->second[at] = logit[1];
		}
		if (st)
			break;
		keep(&s, session, out);
		if (g->chooser && (st = choose(g, &s, logits, all, capacity, length, &go_on, err)))
			break;
		done = n + 1;
		g->copied_bytes = n && cached ? written(session, in, out, count) : 0;
		*(n ? &g->step_ms[n - 1] : &g->prefill_ms) = clock_ms() - begin;
		if (n)
			g->own_ms[n - 1] = g->step_ms[n - 1] - run_ms;
	}
	g->cache_bytes = bytes_of(s.past, s.past_count);
	if (g->chooser)
		take_chosen(g, p, all, capacity, done);
	for (int i = 0; i < 2; i++)
		arena_done(&s.moved[i]);
	return st;
}

// What a check over all tokens at once compares.
struct checked {
	const int64_t *ids;                   // [batch, prompt and all generated tokens but the last]
	const struct generate_answer *answer; // about g->ids; may be NULL
	int64_t differing;
	double max_error;
};

// One run over the first `length` tokens; the tokens from `begin` on that it chooses are compared.
static enum status check_part(
	const struct generation *g, struct state *s, struct checked *k, int64_t begin, int64_t length, struct error *err)
{
	const struct prompt *p = s->prompt;
	struct session *first = g->first;
	int64_t whole = p->length + g->new_tokens - 1, *cut = arena_alloc(s->a, (size_t)(p->batch * length) * sizeof *cut), id[2];
	struct tensor *in = ARENA_ARRAY(s->a, first->input_count + 1, struct tensor),
		      *out = ARENA_ARRAY(s->a, first->output_count + 1, struct tensor);
	float logit[2];
	enum status st;

	for (int64_t row = 0; row < p->batch; row++)
		memcpy(cut + row * length, k->ids + row * whole, (size_t)length * sizeof *cut);
	if ((st = give(s, first, cut, length, length, true, in, err)) ||
		(st = session_run(first, in, first->input_count, out, first->output_count, err)))
		return st;
	const struct tensor *logits = logits_of(first, out, err);
	if (!logits)
		return STATUS_UNSUPPORTED;
	// Those of a picture may stand before the text's (git).
	const int64_t before = logits->dim[1] - length;
	if (before < 0)
		return error_set(
			err, STATUS_FAILED, "logits for %lld places, not %lld", (long long)logits->dim[1], (long long)length);
	for (int64_t row = 0; row < p->batch; row++)
		for (int64_t n = begin; p->length + n <= length; n++) {
			int64_t at = row * g->new_tokens + n, place = n ? p->length - 1 + n : last_place(p, row, p->length);
			generate_best_two(scores_at(g, s, logits, row, before + place, k->ids + row * whole, p->length + n),
				logits->dim[2], id, logit);
			k->differing += id[0] != g->ids[at];
			if (k->answer && g->ids[at] >= logits->dim[2])
				return error_set(err, STATUS_BAD_INPUT, "token %lld is none of the %lld of the vocabulary",
					(long long)g->ids[at], (long long)logits->dim[2]);
			if (k->answer) {
				k->answer->chosen[at] = id[0];
				k->answer->logits[at] =
					((const float *)logits->data)[(row * logits->dim[1] + before + place) * logits->dim[2] +
						g->ids[at]];
				continue;
			}
			double error = fabs((double)logit[0] - (double)g->best[at]);
			k->max_error = error > k->max_error || !(error >= 0) ? error : k->max_error;
		}
	return STATUS_OK;
}

static enum status check(const struct generation *g, const struct prompt *p, int64_t *differing, double *max_error,
	const struct generate_answer *answer, struct arena *a, struct error *err)
{
	struct generation again = *g;
	struct state s = { .a = a, .prompt = p };
	int64_t length = p->length + g->new_tokens - 1, *ids = arena_alloc(a, (size_t)(p->batch * length) * sizeof *ids),
		begin = 0;
	struct checked k = { .ids = ids, .answer = answer };
	enum status st;

	for (int64_t row = 0; row < p->batch; row++) {
		memcpy(ids + row * length, p->ids + row * p->length, (size_t)p->length * sizeof *ids);
		memcpy(ids + row * length + p->length, g->ids + row * g->new_tokens, (size_t)(g->new_tokens - 1) * sizeof *ids);
	}
	if (g->encoder && (st = encode(&again, &s, err)))
		return st;
	if (g->transduction)
		return transduce_check(g, p, &s.encoded, differing, max_error, answer, a, err);
	if (g->shared)
		make_buffers(&s, g->first, length);
	if (g->cache_ends > p->length && g->cache_ends <= length) { // below it the frequencies are others
		begin = g->cache_ends - p->length;
		if ((st = check_part(g, &s, &k, 0, g->cache_ends - 1, err)))
			return st;
	}
	st = check_part(g, &s, &k, begin, length, err);
	*differing = k.differing;
	*max_error = k.max_error;
	return st;
}

enum status generate_check(const struct generation *g, const struct prompt *p, int64_t *differing, double *max_error,
	struct arena *a, struct error *err)
{
	return check(g, p, differing, max_error, NULL, a, err);
}

enum status generate_ask(const struct generation *g, const struct prompt *p, const int64_t *tokens, int64_t *agreeing,
	const struct generate_answer *answer, struct arena *a, struct error *err)
{
	struct generation theirs = *g;
	int64_t differing;
	double unused;
	enum status st;

	theirs.ids = (int64_t *)(uintptr_t)tokens;
	if (!(st = check(&theirs, p, &differing, &unused, answer, a, err)))
		*agreeing = p->batch * g->new_tokens - differing;
	return st;
}
