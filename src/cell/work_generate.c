// SPDX-License-Identifier: Apache-2.0
// A cell that generates: one generation unjudged by the clock, then timed ones, each from an empty cache; the tokens are held
// against a run without a cache here, and against the reference engine's by the parent. A cache in its shared form is held
// against the plain form too, in the same process: when everything is timed, its session is closed and the plain graph's is
// opened.
//
//   inputs -> first -> memory -> warm -> outputs -> explain             with a shared cache: warm -> explain -> outputs
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cell/say.h"
#include "cell/work.h"
#include "cell/generate.h"
#include "cell/output_file.h"
#include "cell/protocol.h"
#include "onnx/flow.h"
#include "stats/stats.h"

enum { GENERATIONS_LEAST = 3, GENERATIONS_MOST = 16, NAMES_MOST = 12 };

static enum status built_for(struct work *w, const struct part *p, int64_t sequence, struct tensor **out, struct error *err)
{
	const struct tensor_type *types = w->spec ? p->artifact.inputs : w->outline.inputs;
	const size_t count = w->spec ? p->artifact.input_count : w->outline.input_count;
	struct input_shape shape = w->shape;

	shape.sequence = sequence;
	*out = ARENA_ARRAY(&w->arena, count + 1, struct tensor);
	return inputs_synthetic(&w->arena, types, count, &w->hints, &shape, (uint64_t)w->ask.seed, *out, err);
}

// What a user's file lacks to be generated with; NULL: nothing that can be told before it runs.
static const char *lacks_of(struct work *w)
{
	const struct outline *o = &w->outline;
	const char *names = NULL;
	bool has_ids = false, has_past = false;

	for (size_t i = 0; i < o->input_count; i++) {
		has_ids = has_ids || text_is(o->inputs[i].name, "input_ids");
		has_past = has_past || flow_input(o->inputs[i].name) != FLOW_NONE;
		names = i < NAMES_MOST ? arena_join(&w->arena, names, ", ", arena_printf(&w->arena, "%.60s", o->inputs[i].name))
				       : names;
	}
	return !o->input_count ? "the file cannot be read here, so its inputs are not known"
		: !has_ids     ? arena_printf(&w->arena, "it has no input named input_ids; it has %s", names)
		: !has_past
		? "it takes no cache (past_key_values.*, present.*), so each token would be computed from all before it"
		: NULL;
}

// --prompt-tokens are the tokens that go in: a causal model's prompt; of an encoder-decoder the source, and the decoder begins
// with one token.
static enum status random_prompt(struct work *w, struct prompt *p, struct error *err)
{
	const bool parted = w->part_count > 1;
	const struct part *decoder = parted ? &w->part[1] : &w->part[0];
	const size_t count = w->spec ? decoder->artifact.input_count : w->outline.input_count;
	struct tensor *in, *encoder;
	enum status st = built_for(w, decoder, parted ? 1 : w->ask.prompt_tokens, &in, err);

	for (size_t i = 0; !st && i < count; i++)
		if (text_is(in[i].name, "input_ids") && in[i].rank == 2 && in[i].dtype == DTYPE_I64) {
			p->ids = in[i].data;
			p->length = in[i].dim[1];
		}
	if (!st && !parted && w->spec && !text_is(arch_head(w->spec), "causal-lm")) { // pictures and the like
		p->inputs = in;
		p->input_count = count;
	}
	if (st || !parted || p->inputs)
		return st;
	if (!(st = built_for(w, &w->part[0], w->ask.prompt_tokens, &encoder, err))) {
		p->inputs = encoder;
		p->input_count = w->part[0].artifact.input_count;
	}
	return st;
}

static enum status make_prompt(struct work *w, struct generation *g, struct prompt *p, struct error *err)
{
	const char *lacks = w->spec ? NULL : lacks_of(w);
	enum status st;

	*p = (struct prompt){ .batch = w->shape.batch };
	if (lacks)
		return error_set(err, STATUS_UNSUPPORTED, "--task generate of an .onnx file: %s", lacks);
	st = w->ask.golden ? work_prompt(w, g, p, err) : STATUS_OK;
	if (!st && !p->ids)
		st = random_prompt(w, p, err);
	if (!st && !p->ids)
		st = error_set(err, STATUS_UNSUPPORTED, "the graph has no input_ids [batch, sequence] of i64 to generate from");
	const int64_t places = p->length + w->ask.new_tokens - 1; // the last token does not go in
	if (!st && !w->hints.transduction && w->hints.max_sequence > 0 && places > w->hints.max_sequence)
		st = error_set(err, STATUS_UNSUPPORTED,
			"%lld tokens and %lld generated: this model has places for %lld; --prompt-tokens and --new-tokens say "
			"how many",
			(long long)p->length, (long long)w->ask.new_tokens, (long long)w->hints.max_sequence);
	struct tensor hashed[2] = { { .name = "input_ids",
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { p->batch, p->length },
		.data = (void *)(uintptr_t)p->ids,
		.nbytes = (size_t)(p->batch * p->length) * sizeof(int64_t) } };
	if (!st) {
		inputs_hash(p->input_count ? p->inputs : hashed, p->input_count ? p->input_count : 1, w->inputs_hash);
		say_row(json_pack("{s:s, s:I, s:I}", "inputs_hash", w->inputs_hash, "batch", (json_int_t)p->batch, "sequence",
			(json_int_t)w->ask.prompt_tokens));
	}
	return st;
}

static void set_up(struct work *w, struct generation *g)
{
	*g = (struct generation){ .first = &w->part[0].session,
		.next = &w->part[0].session,
		.new_tokens = w->ask.new_tokens,
		.cache_ends = w->hints.cache_ends,
		.transduction = w->hints.transduction };
	if (w->part_count > 1) {
		g->encoder = &w->part[0].session;
		g->first = &w->part[1].session;
		g->next = &w->part[w->part_count - 1].session;
	}
	g->shared = w->shares_cache;
	g->first->keeps_outputs = g->next->keeps_outputs = !g->shared;
}

// The tokens of a shared cache against one run of the plain graph. Adds to what the run without a cache said.
static enum status check_against_plain(
	struct work *w, const struct generation *g, const struct prompt *p, int64_t *differing, double *error, struct error *err)
{
	struct generation plain = *g;
	int64_t unlike;
	double most;
	enum status st;

	plain.shared = false;
	if ((st = work_reopen_plain(w, err)) || (st = generate_check(&plain, p, &unlike, &most, &w->arena, err)))
		return error_prefix(err, "the plain cache, for comparison");
	*differing = unlike > *differing ? unlike : *differing;
	*error = most > *error || !(most >= 0) ? most : *error;
	return STATUS_OK;
}

static enum status read_tokens(struct work *w, size_t count, int64_t **out, struct error *err)
{
	int64_t *tokens = ARENA_ARRAY(&w->arena, count, int64_t);
	size_t n = 0;

	for (const char *at = w->ask.reference_tokens; n < count && *at; n++) {
		char *end;

		tokens[n] = strtoll(at, &end, 10);
		if (end == at || tokens[n] < 0)
			break;
		at = end + (*end == ' ');
	}
	*out = tokens;
	return n == count ? STATUS_OK
			  : error_set(err, STATUS_BAD_INPUT, "the request has %zu of %zu tokens of the reference", n, count);
}

// Of a reduced precision, or what judges its arithmetic: what does it choose after the tokens that float32 generates, at each
// place, and which logits has it for them? *out stays empty where the request has no such tokens.
static enum status ask_about_reference(
	struct work *w, const struct generation *g, const struct prompt *p, struct generate_answer *out, struct error *err)
{
	size_t count = (size_t)(p->batch * g->new_tokens);
	int64_t *tokens, agreeing;
	enum status st;

	*out = (struct generate_answer){ 0 };
	if (!w->ask.reference_tokens)
		return STATUS_OK;
	if ((st = read_tokens(w, count, &tokens, err)))
		return st;
	out->logits = ARENA_ARRAY(&w->arena, count, float);
	out->chosen = ARENA_ARRAY(&w->arena, count, int64_t);
	if ((st = generate_ask(g, p, tokens, &agreeing, out, &w->arena, err)))
		return error_prefix(err, "asking about the tokens of the reference");
	say_row(json_pack("{s:f}", "token_agreement", (double)agreeing / (double)count));
	return STATUS_OK;
}

// What is judged: the answer about given tokens where there is one, else what was generated.
static enum status write_tokens(
	struct work *w, const struct generation *g, const struct generate_answer *answer, const char *path, struct error *err)
{
	struct tensor out[] = {
		{ .name = "best_logits",
			.dtype = DTYPE_F32,
			.rank = 2,
			.dim = { w->shape.batch, g->new_tokens },
			.data = answer->logits ? answer->logits : g->best },
		{ .name = "tokens",
			.dtype = DTYPE_I64,
			.rank = 2,
			.dim = { w->shape.batch, g->new_tokens },
			.data = answer->chosen ? answer->chosen : g->ids },
	};

	for (size_t i = 0; i < 2; i++)
		out[i].nbytes = (size_t)(w->shape.batch * g->new_tokens) * dtype_size(out[i].dtype);
	return path ? outputs_write(&w->arena, path, w->made_from, &(struct answer){ .tensors = out, .count = 2 }, err)
		    : STATUS_OK;
}

enum status work_generate_reference(struct work *w, const char *path, struct error *err)
{
	struct generate_answer answer;
	struct generation g;
	struct prompt p;
	enum status st;

	set_up(w, &g);
	st = make_prompt(w, &g, &p, err);
	say_phase("first");
	if (st || (st = ask_about_reference(w, &g, &p, &answer, err)) ||
		(!answer.chosen && (st = generate_greedy(&g, &p, NULL, &w->arena, err))))
		return st;
	say_phase("outputs");
	return write_tokens(w, &g, &answer, path, err);
}

// Generations as the protocol runs them; each leaves its parts behind those of the one before.
struct generations {
	struct generation *g;
	const struct prompt *prompt;
	size_t count, steps;
	double *prefill, *encoder, *step, *own;
};

static int64_t now(void *context)
{
	(void)context;
	return clock_ns();
}

static enum status generate_same(const struct generations *all, struct generation *again, struct arena *a, struct error *err)
{
	const struct generation *g = all->g;

	*again = *g;
	enum status st = generate_greedy(again, all->prompt, NULL, a, err);
	if (!st && memcmp(again->ids, g->ids, (size_t)(all->prompt->batch * g->new_tokens) * sizeof *g->ids))
		st = error_set(err, STATUS_FAILED,
			"the engine generates other tokens each time: this generation differs from the first");
	return st;
}

static enum status generate_again(void *context, int64_t *ns, struct error *err)
{
	struct generations *all = context;
	struct generation again;
	struct arena a = { 0 };
	enum status st = generate_same(all, &again, &a, err);

	(void)ns;
	if (!st) {
		all->prefill[all->count] = again.prefill_ms;
		all->encoder[all->count] = again.encoder_ms;
		memcpy(all->step + all->count * all->steps, again.step_ms, all->steps * sizeof *all->step);
		memcpy(all->own + all->count * all->steps, again.own_ms, all->steps * sizeof *all->own);
		all->count++;
	}
	arena_done(&a);
	return st;
}

// It leaves nothing behind.
static enum status generate_once(void *context, int64_t *ns, struct error *err)
{
	struct arena a = { 0 };
	struct generation again;
	enum status st = generate_same(context, &again, &a, err);

	(void)ns;
	arena_done(&a);
	return st;
}

// A generation is some hundred runs: the first one warms up, and few are a sample.
static struct protocol_limits generation_limits(const struct work *w)
{
	const struct effort *e = effort_find(w->ask.effort);
	struct protocol_limits l = protocol_limits(e, w->is_quick ? 1 : w->ask.runs);

	if (!w->is_quick && w->ask.runs <= 0) {
		l.least = e->least < GENERATIONS_LEAST ? 1 : GENERATIONS_LEAST;
		l.most = GENERATIONS_MOST;
		l.sample_ns = l.sample_ns * 5 / 3;
	}
	return l;
}

static enum status timed(struct work *w, struct generation *g, const struct prompt *p, struct error *err)
{
	struct protocol_limits limits = generation_limits(w);
	struct generations all = { .g = g,
		.prompt = p,
		.steps = (size_t)g->new_tokens - 1,
		.prefill = ARENA_ARRAY(&w->arena, limits.most, double),
		.encoder = ARENA_ARRAY(&w->arena, limits.most, double) };
	struct protocol_run run = { .context = &all, .now = now, .run = generate_again };
	struct protocol_sample sample;
	enum status st;

	all.step = ARENA_ARRAY(&w->arena, limits.most * all.steps + 1, double);
	all.own = ARENA_ARRAY(&w->arena, limits.most * all.steps + 1, double);
	if ((st = work_meet(w, err)))
		return st;
	say_phase("warm");
	if (w->ask.together && (st = generate_once(&all, NULL, err))) // until the others have begun
		return st;
	work_delay(w);
	work_energy_begin(w);
	work_timed_begin(w);
	if ((st = protocol_sample(&run, &limits, &w->arena, &sample, err)))
		return st;
	work_timed_end(w);
	const double texts = (double)p->batch * (double)sample.count; // each a prompt and its new tokens
	work_energy_end(w, texts, texts * (double)g->new_tokens);
	if ((st = work_hold(w, generate_once, &all, err)))
		return st;
	say_phase("outputs");
	say_samples(all.step, all.count * all.steps);
	double token_ms = all.steps ? stats_median(all.step, all.count * all.steps) : 0;
	say_row(json_pack("{s:f, s:o, s:I, s:I}", "prefill_ms", stats_median(all.prefill, all.count), "encoder_ms",
		g->encoder ? json_real(stats_median(all.encoder, all.count)) : json_null(), "cache_bytes",
		(json_int_t)g->cache_bytes, "cache_copied_bytes", (json_int_t)g->copied_bytes));
	// Between two tokens, not between two generations: that is what a user of the figure has to take off.
	say_row(json_pack("{s:I, s:f, s:s, s:f, s:o}", "warmup_runs", (json_int_t)1, "warmup_ms", w->first_ms, "warmup_end",
		protocol_count, "clock_overhead_us", sample.clock_us, "harness_overhead_us",
		all.steps ? json_real(1e3 * stats_median(all.own, all.count * all.steps)) : json_null()));
	if (token_ms > 0)
		say_row(json_pack("{s:f, s:f}", "token_ms", token_ms, "tokens_per_s", (double)p->batch * 1000 / token_ms));
	return STATUS_OK;
}

enum status work_generate(struct work *w, struct error *err)
{
	struct generation g;
	struct prompt p;
	int64_t differing;
	double error, begin;
	struct generate_answer answer;
	enum status st;

	say_phase("inputs");
	say_row(json_pack("{s:s, s:I, s:I}", "task", "generate", "prompt_tokens", (json_int_t)w->ask.prompt_tokens, "new_tokens",
		(json_int_t)w->ask.new_tokens));
	set_up(w, &g);
	if (g.shared && (st = session_share_cache(g.first, err)))
		return st;
	if ((st = make_prompt(w, &g, &p, err)))
		return st;
	say_phase("first");
	begin = clock_ms();
	if ((st = generate_greedy(&g, &p, NULL, &w->arena, err)))
		return st;
	w->first_ms = clock_ms() - begin;
	say_row(json_pack("{s:f}", "first_ms", w->first_ms));
	work_memory(w, "first");
	say_phase("memory");
	if ((st = generate_check(&g, &p, &differing, &error, &w->arena, err)))
		return error_prefix(err, "without a cache");
	work_memory(w, "memory");
	if ((st = ask_about_reference(w, &g, &p, &answer, err)) || (st = timed(w, &g, &p, err)))
		return st;
	if (g.shared) { // its session does not outlive the comparison, which no answer goes without
		work_place(w, NULL);
		say_phase("outputs");
		if ((st = check_against_plain(w, &g, &p, &differing, &error, err)))
			return st;
	}
	say_row(json_pack("{s:I, s:f}", "tokens_unlike_uncached", (json_int_t)differing, "uncached_max_error", error));
	if ((st = write_tokens(w, &g, &answer, w->ask.outputs_path, err)))
		return st;
	json_t *ids = json_array();
	for (int64_t i = 0; i < g.new_tokens; i++)
		json_array_append_new(ids, json_integer((json_int_t)g.ids[i]));
	char shape[64];
	say_row(json_pack("{s:o, s:s}", "tokens", ids, "output_shape",
		tensor_shape_text(2, (int64_t[]){ p.batch, g.new_tokens }, shape, sizeof shape)));
	work_say_text(w, &g);
	say(json_pack("{s:s}", "event", "outputs"));
	if (!g.shared)
		work_place(w, NULL);
	return STATUS_OK;
}
