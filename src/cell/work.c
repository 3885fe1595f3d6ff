// SPDX-License-Identifier: Apache-2.0
// The child's side of a cell. It tells each phase before it begins, so that whatever kills the process is told apart by
// where it happened; and it tells what it knows as soon as it is known, so that a cell that dies late keeps what it had.
//
//   engine -> build -> load -> inputs -> first -> memory -> warm -> outputs -> shape -> explain -> cycles -> done
//   with --data:                           warm -> data -> outputs
//   with --delay:                                                   warm -> delay -> warm
//   an emulated device, unless runs were asked for:       first -> outputs -> explain -> done
//   a device that is not here:       build -> load -> explain -> done
//
// "memory" is one more run with the parent sampling; in "warm" (protocol.h: warm-up, then the sample) nothing is sampled, and
// between two runs there is nothing but looks at the clock. What comes after "outputs" may fail or die without harm: the
// answer is out by then.
#include "cell/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "artifact/writes.h"
#include "backend/compiled.h"
#include "base/cache.h"
#include "base/claim.h"
#include "base/clock.h"
#include "base/sealed.h"
#include "cell/cell.h"
#include "cell/say.h"
#include "cell/output_file.h"
#include "cell/predict.h"
#include "cell/protocol.h"
#include "cell/scenario.h"
#include "cell/score.h"
#include "cell/scratch.h"
#include "stats/stats.h"

void say_row(json_t *fields)
{
	if (!fields) { // json_pack refuses text that is not UTF-8, an engine's or a file's, and numbers that JSON does not have
		struct error err = { 0 };
		error_set(&err, STATUS_FAILED, "a name or a message of the engine is not UTF-8, or a number of the row is none");
		say_error(&err);
		return;
	}
	json_object_set_new(fields, "event", json_string("row"));
	say(fields);
}

// ---- inputs -------------------------------------------------------------------------------------------------------------

// A graph that assay built has the batch of the question, or the one that its golden inputs have. Of a user's file only a
// dimension's name tells, or a batch that was asked for and that every input took.
static int64_t batch_of(const struct work *w, const struct tensor_type *types, size_t count)
{
	int64_t batch = inputs_batch(types, w->made, count, w->spec ? 0 : w->ask.batch);

	// A batch that cannot come out again is none: N points of one cloud.
	if (!w->spec && !inputs_batch_leaves(w->outline.outputs, w->outline.output_count, batch) &&
		!inputs_batch_leaves(w->part->session.outputs, w->part->session.output_count, batch))
		return -1;
	return batch < 0 && w->spec ? w->shape.batch : batch;
}

// Engines tell no names of dimensions; the file has them. Only those of batches are taken, and of the first dimension whatever it
// has.
static const struct tensor_type *with_batch_names(struct work *w, const struct tensor_type *types, size_t count)
{
	const struct outline *file = &w->outline;

	if (!file->input_count)
		return types;
	struct tensor_type *named = ARENA_ARRAY(&w->arena, count + 1, struct tensor_type);
	for (size_t i = 0; i < count; i++) {
		named[i] = types[i];
		for (size_t k = 0; k < file->input_count; k++)
			for (int axis = 0; text_is(file->inputs[k].name, named[i].name) && axis < named[i].rank; axis++)
				if (axis == 0 || inputs_names_batch(file->inputs[k].symbol[axis], axis))
					named[i].symbol[axis] = file->inputs[k].symbol[axis];
	}
	return named;
}

// With all names of dimensions, as the file has them.
static struct tensor_type *with_names(struct work *w, const struct tensor_type *types, size_t count)
{
	const struct outline *file = &w->outline;
	struct tensor_type *named = ARENA_ARRAY(&w->arena, count + 1, struct tensor_type);

	for (size_t i = 0; i < count; i++) {
		named[i] = types[i];
		for (size_t k = 0; k < file->input_count; k++)
			for (int axis = 0; text_is(file->inputs[k].name, named[i].name) && axis < named[i].rank; axis++)
				named[i].symbol[axis] = file->inputs[k].symbol[axis];
	}
	return named;
}

// The shapes that were decided, as --shape has them: a reference gets the same.
static void say_shapes(struct work *w)
{
	enum { TEXT_MOST = 1 << 16 };
	struct text t = { 0 };

	for (size_t i = 0; i < w->made_count && t.length < TEXT_MOST; i++) {
		text_addf(&t, "%s%s:", i ? ";" : "", w->made[i].name);
		for (int k = 0; k < w->made[i].rank; k++)
			text_addf(&t, "%s%lld", k ? "," : "", (long long)w->made[i].dim[k]);
	}
	if (t.length && t.length < TEXT_MOST && !strpbrk(text_get(&t), "\n"))
		say(json_pack("{s:s, s:s}", "event", "shapes", "shapes", text_get(&t)));
	text_done(&t);
}

// The file's own name of a dimension; NULL: it is a number, or has none.
static const char *symbol_of(const struct work *w, const struct tensor *made, int axis)
{
	for (size_t i = 0; i < w->outline.input_count; i++) {
		const struct tensor_type *t = &w->outline.inputs[i];

		if (text_is(t->name, made->name))
			return axis < t->rank && t->dim[axis] < 0 ? t->symbol[axis] : NULL;
	}
	return NULL;
}

// Was this dimension of that name given with --dim?
static bool is_asked(const struct asked_inputs *asked, const char *symbol)
{
	bool any = false;

	for (size_t d = 0; d < asked->dim_count; d++)
		any |= text_is(asked->dims[d].symbol, symbol);
	return any;
}

// "sequence=128, past=0": open dimensions that nobody gave and of which guess.words do not tell, with their usual sizes. The
// batch is a column of the row.
static const char *usual_sizes(struct work *w)
{
	const char *out = NULL, *guessed = w->guess.words ? w->guess.words : "";
	struct arena *a = &w->arena;

	if (w->spec || w->ask.golden || w->ask.inputs || w->asked_of_inputs.shape_count)
		return NULL;
	for (size_t i = 0; i < w->made_count; i++)
		for (int k = 0; k < w->made[i].rank; k++) {
			const char *symbol = symbol_of(w, &w->made[i], k);
			const int64_t n = w->made[i].dim[k];

			if (!symbol || !*symbol || is_asked(&w->asked_of_inputs, symbol) ||
				(k == 0 && (text_starts(symbol, "batch") || n == w->ask.batch)) ||
				(k > 0 && n > 0 && (n == w->ask.sequence || n == w->guess.sequence)) ||
				strstr(guessed, arena_printf(a, "%.60s: guessed", w->made[i].name)))
				continue;
			const char *one = arena_printf(a, "%.60s=%lld", symbol, (long long)n);
			out = out && strstr(out, one) ? out : arena_join(a, out, ", ", one);
		}
	return out;
}

// What its inputs are, in words: integers and their tables, what was asked, what was guessed and which guesses were refused.
static void say_inputs(struct work *w, const struct tensor_type *types, size_t count)
{
	struct arena *a = &w->arena;
	const char *note = inputs_note(a, types, count, &w->hints), *usual = usual_sizes(w);

	if (usual)
		note = arena_join(a, note, "; ", arena_printf(a, "guessed %s, as is usual", usual));
	note = arena_join(a, note, "; ", w->guess.words);
	if (w->guess.words && w->refused_guess)
		note = arena_printf(a, "%s; %zu other %s refused: %s", note, w->guess.number,
			w->guess.number > 1 ? "guesses were" : "guess was", w->refused_guess);
	say_row(json_pack("{s:s?}", "inputs_note", note));
}

// Of a user's .onnx: open dimensions get the numbers that were asked for, and guesses where those are better than what is usual
// for texts. *types are then other ones, with names of batches as before.
static enum status decide_shapes(struct work *w, const struct tensor_type **types, size_t count, struct error *err)
{
	struct tensor_type *decided = with_names(w, *types, count);
	enum status st;

	if ((st = asked_parse(&w->asked_of_inputs, &w->arena, &w->ask.question, err)) ||
		(st = asked_apply(&w->asked_of_inputs, decided, count, &w->arena, err)))
		return st;
	w->guess.batch = w->shape.batch;
	guess_dims(&w->guess, &w->arena, decided, count, w->outline.outputs, w->outline.output_count, w->ask.sequence > 0);
	if (w->guess.sequence > 0) {
		w->shape.sequence = w->guess.sequence;
		w->asked_sequence = 0;
	}
	for (size_t i = 0; i < count; i++) {
		w->shapes_decided = w->shapes_decided || memcmp(decided[i].dim, (*types)[i].dim, sizeof decided[i].dim) != 0;
		memcpy(decided[i].symbol, (*types)[i].symbol, sizeof decided[i].symbol);
	}
	*types = decided;
	return STATUS_OK;
}

// The tensors "in.NAME" that no input takes, "in.a, in.b"; NULL: none.
static const char *not_taken(
	struct arena *a, const struct tensor_type *types, size_t count, const struct weight *tensors, size_t there)
{
	enum { TOLD = 8 };
	const char *names = NULL;
	size_t more = 0;

	for (size_t k = 0; k < there; k++) {
		size_t i = 0;

		if (!text_starts(tensors[k].name, "in."))
			continue;
		while (i < count && !text_is(types[i].name, tensors[k].name + strlen("in.")))
			i++;
		if (i == count && ++more <= TOLD)
			names = arena_join(a, names, ", ", arena_printf(a, "%.80s", tensors[k].name));
	}
	return more > TOLD ? arena_printf(a, "%s and %zu more", names, more - TOLD) : names;
}

// From the file of inputs: golden ones, or what --input came to, all of which the model must take.
static enum status take_file(struct work *w, const struct tensor_type *types, size_t count, struct error *err)
{
	const bool is_given = asked_has_things(&w->ask.question);
	const char *path = w->ask.golden, *what = is_given ? "what --input gives" : path, *lacks = NULL;
	struct shard shard;
	struct weight *tensors;
	size_t there;
	enum status st = safetensors_open(&w->arena, path, &shard, &tensors, &there, err);

	if (!st && is_given)
		st = inputs_all_taken(types, count, tensors, there, err);
	if (!st)
		st = inputs_of(&w->arena, types, count, tensors, there, what, w->made, &lacks, err);
	if (lacks)
		lacks = arena_printf(&w->arena, "not in %s, and given their usual values: %s",
			is_given ? "what --input gives" : "the golden file", lacks);
	const char *unused = is_given || st ? NULL : not_taken(&w->arena, types, count, tensors, there);
	if (unused)
		lacks = arena_join(&w->arena, lacks, "; ",
			arena_printf(&w->arena, "in the golden file, and taken by no input of the model: %s", unused));
	say_row(json_pack("{s:s?}", "inputs_note", lacks));
	return st;
}

enum status work_make_tensors(struct work *w, const struct tensor_type *types, size_t count, struct error *err)
{
	enum status st;

	w->made = ARENA_ARRAY(&w->arena, count ? count : 1, struct tensor);
	w->made_count = count;
	types = with_batch_names(w, types, count);
	// A reference is given the shape that the cell had.
	if (!w->spec && !w->ask.golden && !w->ask.reference_name &&
		(st = inputs_check_asked(types, count, w->ask.batch, w->ask.sequence, err)))
		return st;
	if (w->ask.golden) {
		st = take_file(w, types, count, err);
	} else {
		if (!w->spec && (st = decide_shapes(w, &types, count, err)))
			return st;
		st = inputs_synthetic(&w->arena, types, count, &w->hints, &w->shape, (uint64_t)w->ask.seed, w->made, err);
		if (!st)
			st = asked_fill(&w->asked_of_inputs, &w->arena, types, w->made, count, (uint64_t)w->ask.seed, err);
	}
	w->types = types;
	return st;
}

// Where some dimensions were asked for and others were given a usual number: one may follow from another, as
// total_sequence_length does from sequence_length, and no name says so.
static const char *other_dims(struct work *w)
{
	const struct asked_inputs *asked = &w->asked_of_inputs;
	const char *given = NULL, *example = NULL;
	bool is_empty = false; // the example
	struct arena *a = &w->arena;

	for (size_t i = 0; i < w->made_count; i++)
		for (int k = 0; k < w->made[i].rank; k++) {
			const char *symbol = symbol_of(w, &w->made[i], k), *one;

			if (!symbol || !*symbol || is_asked(asked, symbol))
				continue;
			one = arena_printf(a, "%.60s=%lld", symbol, (long long)w->made[i].dim[k]);
			if (given && strstr(given, one))
				continue;
			given = arena_join(a, given, ", ", one);
			// Nothing past is what a first run has; a length is what follows from another.
			if (k > 0 && (!example || (is_empty && w->made[i].dim[k] > 0))) {
				example = arena_printf(a, "%.60s", symbol);
				is_empty = w->made[i].dim[k] == 0;
			}
		}
	return given && example
		? arena_printf(a,
			  "where a dimension follows from one that was asked for, give both, such as `--dim %s=N`; "
			  "given were %s",
			  example, given)
		: NULL;
}

void work_hint_shapes(struct work *w, bool failed)
{
	const struct outline *o = &w->outline;
	const char *hint = NULL;

	if (w->spec || w->ask.golden)
		return;
	if (w->asked_of_inputs.shape_count || w->asked_of_inputs.dim_count) {
		say_row(json_pack("{s:s?}", "hint", failed ? other_dims(w) : NULL));
		return;
	}
	for (size_t i = 0; i < o->input_count && failed && !hint; i++)
		for (int k = 0; k < o->inputs[i].rank && !hint; k++) {
			const char *symbol = o->inputs[i].symbol[k];

			// A batch of 1 is taken everywhere.
			if (o->inputs[i].dim[k] >= 0 || k == 0)
				continue;
			hint = arena_printf(&w->arena,
				"the shapes of open dimensions were guessed: `--shape %.60s:N,...`%s gives others",
				o->inputs[i].name,
				symbol && *symbol ? arena_printf(&w->arena, " or `--dim %.60s=N`", symbol) : "");
		}
	say_row(json_pack("{s:s?}", "hint", hint));
}

static enum status make_inputs(struct work *w, struct error *err)
{
	const struct artifact *art = &w->part->artifact;
	const struct session *s = &w->part->session;
	enum status st = STATUS_OK;

	if (!art->fixed) // else they were made before the load
		st = work_make_tensors(
			w, art->inputs ? art->inputs : s->inputs, art->inputs ? art->input_count : s->input_count, err);
	if (st)
		return st;
	const struct tensor_type *types = w->types;
	const size_t count = w->made_count;
	if (!w->spec && !w->ask.golden) {
		say_inputs(w, types, count);
		say_shapes(w);
	}
	if (w->spec && !w->ask.golden) // whether a user's .onnx heeds its mask is not known
		inputs_pad(w->made, count, &w->hints, (uint64_t)w->ask.seed);
	for (size_t i = 0; i < count; i++) {
		bool is_ids = w->made[i].rank == 2 && text_ends(w->made[i].name, "ids");

		// A user's .onnx may have a length of its own: then that is the question, whatever is usual.
		if (is_ids && !w->shaped_by_sequence && !w->spec && !w->ask.golden && types[i].dim[1] > 0) {
			w->shape.sequence = types[i].dim[1];
			w->asked_sequence = 0;
		}
		w->shaped_by_sequence |= is_ids;
	}
	w->batch = batch_of(w, types, count);
	inputs_hash(w->made, count, w->inputs_hash);
	double padding = inputs_padding(w->made, count);
	json_t *asked = w->shaped_by_sequence && w->asked_sequence > 0 ? json_integer(w->asked_sequence) : json_null();
	say_row(json_pack("{s:s, s:o, s:o, s:o, s:o}", "inputs_hash", w->inputs_hash, "padding",
		isnan(padding) ? json_null() : json_real(padding), "batch", w->batch > 0 ? json_integer(w->batch) : json_null(),
		"sequence", w->shaped_by_sequence ? json_integer(w->shape.sequence) : json_null(), "asked_sequence", asked));
	return STATUS_OK;
}

// As the engine counts them: another order, and inputs that nothing uses may be gone.
enum status work_order_inputs(struct work *w, struct error *err)
{
	w->in = ARENA_ARRAY(&w->arena, w->part->session.input_count + 1, struct tensor);
	w->out = ARENA_ARRAY(&w->arena, w->part->session.output_count + 1, struct tensor);
	return work_order(w, w->made, w->made_count, w->in, err);
}

enum status work_order(const struct work *w, const struct tensor *made, size_t count, struct tensor *in, struct error *err)
{
	for (size_t i = 0; i < w->part->session.input_count; i++) {
		const struct tensor *found = tensor_named(made, count, w->part->session.inputs[i].name);

		if (!found)
			return error_set(err, STATUS_FAILED, "the engine asks for an input %s, which the graph does not declare",
				w->part->session.inputs[i].name);
		in[i] = *found;
	}
	return STATUS_OK;
}

// ---- runs ---------------------------------------------------------------------------------------------------------------

static enum status run_once(struct work *w, struct error *err)
{
	return session_run(&w->part->session, w->in, w->part->session.input_count, w->out, w->part->session.output_count, err);
}

// By the engine's own clock where it runs elsewhere: the way there and back is not the model's time.
static enum status run_told(void *context, int64_t *ns, struct error *err)
{
	struct work *w = context;
	enum status st = run_once(w, err);

	if ((w->backend->caps & BACKEND_TIMES_ITSELF) || w->part->session.run_ns > 0)
		*ns = w->part->session.run_ns;
	w->told_ns += w->tells_only ? w->part->session.run_ns : 0;
	return st;
}

// Of an engine that computes nothing and only says how long it took, time is what it said.
static int64_t now(void *context)
{
	const struct work *w = context;

	return w->tells_only ? w->told_ns : clock_ns();
}

static void wait_until(void *context, int64_t ns)
{
	const int64_t spin_ns = 200 * 1000; // a sleeper wakes late; the rest is looked for
	struct work *w = context;
	int64_t sleep = ns - spin_ns - clock_ns();

	if (w->tells_only) {
		w->told_ns = ns > w->told_ns ? ns : w->told_ns;
		return;
	}
	if (sleep > 0)
		nanosleep(&(struct timespec){ .tv_sec = sleep / 1000000000, .tv_nsec = sleep % 1000000000 }, NULL);
	while (clock_ns() < ns)
		;
}

static struct protocol_run runner(struct work *w)
{
	w->tells_only = text_is(json_string_value(json_object_get(w->part->session.options, "clock")), "told");
	return (struct protocol_run){ .context = w, .now = now, .run = run_told, .wait = wait_until };
}

static enum status first_runs(struct work *w, struct error *err)
{
	struct protocol_run r = runner(w);
	int64_t ns;
	enum status st;

	say_phase("first");
	if ((st = protocol_once(&r, &ns, err)))
		return st;
	w->shape_taken = true;
	w->first_ms = (double)ns / 1e6;
	say_row(json_pack("{s:f}", "first_ms", w->first_ms));
	work_memory(w, "first");
	if (w->is_quick)
		return STATUS_OK;
	say_phase("memory");
	if ((st = run_once(w, err)))
		return st;
	work_memory(w, "memory");
	return STATUS_OK;
}

// Inputs whose shapes were guessed may be none that the graph takes: then the next guess is tried. The cause is that of the first
// one when all are refused.
enum status work_first(struct work *w, struct error *err)
{
	struct error first = { 0 };

	for (;; w->guess.number++) {
		struct error why = { 0 };
		enum status st = make_inputs(w, &why);

		if (!st)
			st = work_order_inputs(w, &why);
		if (!st && !(st = first_runs(w, &why))) {
			work_hint_shapes(w, false);
			return STATUS_OK;
		}
		if (w->guess.number == 0)
			first = why;
		w->refused_guess = arena_strdup(&w->arena, first.text);
		work_hint_shapes(w, !w->shape_taken);
		if (st != STATUS_FAILED || w->guess.number + 1 >= w->guess.count || w->shape_taken || w->part->artifact.fixed)
			return w->guess.number ? error_copy(err, first.status, &first) : error_copy(err, st, &why);
	}
}

// A line is bounded (CHILD_LINE_LIMIT), the number of runs is the user's.
void say_samples(const double *each, size_t count)
{
	enum { LINE = 8192 };

	for (size_t at = 0; at < count; at += LINE) {
		json_t *ms = json_array();

		for (size_t i = at; i < count && i < at + LINE; i++)
			json_array_append_new(ms, json_real(each[i]));
		say(json_pack("{s:s, s:o}", "event", "samples", "ms", ms));
	}
}

static void say_samples_ns(struct work *w, const int64_t *ns, size_t count)
{
	double *ms = ARENA_ARRAY(&w->arena, count + 1, double);

	for (size_t i = 0; i < count; i++)
		ms[i] = (double)ns[i] / 1e6;
	say_samples(ms, count);
}

static enum status scenario(struct work *w, const struct protocol_run *r, struct error *err)
{
	struct scenario_ask ask = scenario_plan(&w->ask.question, effort_find(w->ask.effort), w->batch > 0 ? w->batch : 1);
	struct scenario_result result;
	json_t *json = NULL;
	enum status st;

	if (work_fills(w, ask.kind)) {
		if ((st = work_fill(w, &ask, &result, &json, err)))
			return st;
	} else {
		work_energy_begin(w);
		if ((st = scenario_run(r, &ask, &w->arena, &result, err)))
			return st;
		work_energy_end(w, w->batch > 0 ? (double)result.count * (double)ask.streams : (double)NAN, (double)NAN);
		json = scenario_json(&ask, &result);
	}
	json_t *throughput = w->batch > 0 && isfinite(result.throughput_per_s) ? json_real(result.throughput_per_s) : json_null();
	say_row(json_pack("{s:o, s:o}", "scenario_result", json, "throughput_per_s", throughput));
	say_samples_ns(w, result.latency_ns, result.count);
	return STATUS_OK;
}

// What every run is preceded by, and what so is in every latency that is not the engine's own.
static double check_us(struct work *w)
{
	enum { CHECKS = 101 };
	struct session *s = &w->part->session;
	struct error err = { 0 };
	double us[CHECKS];

	for (size_t i = 0; i < CHECKS; i++) {
		int64_t before = clock_ns();

		session_check(s, w->in, s->input_count, &err);
		us[i] = (double)(clock_ns() - before) / 1e3;
	}
	return stats_median_of(us, CHECKS);
}

// In a phase of its own, which the parent leaves alone like "warm" and whose time is nobody's. By the machine's clock, whatever
// the engine's is.
void work_delay(const struct work *w)
{
	const double most_s = 3600; // a stranger's row may ask for more
	double s = w->ask.delay_s < most_s ? w->ask.delay_s : most_s;
	int64_t end = clock_ns() + (int64_t)(s * 1e9), left;

	if (!(s > 0))
		return;
	say_phase("delay");
	while ((left = end - clock_ns()) > 0)
		nanosleep(&(struct timespec){ .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 }, NULL);
	say_phase("warm");
}

static enum status plain_sample(struct work *w, const struct protocol_run *r, const struct protocol_limits *limits,
	struct protocol_sample *sample, struct error *err)
{
	work_energy_begin(w);
	enum status st = protocol_sample(r, limits, &w->arena, sample, err);

	if (!st)
		work_energy_end(w, w->batch > 0 ? (double)w->batch * (double)sample->count : (double)NAN, (double)NAN);
	return st;
}

static enum status warm_runs(struct work *w, struct error *err)
{
	struct protocol_run r = runner(w);
	struct protocol_limits limits = protocol_limits(effort_find(w->ask.effort), w->ask.runs);
	struct protocol_warmup warm_up;
	struct protocol_sample sample;
	enum status st;

	if ((st = work_meet(w, err)))
		return st;
	say_phase("warm");
	if ((st = protocol_warm_up(&r, &limits, &w->arena, &warm_up, err)))
		return st;
	work_delay(w);
	work_timed_begin(w);
	if ((st = w->ask.scenario ? scenario(w, &r, err) : plain_sample(w, &r, &limits, &sample, err)))
		return st;
	work_timed_end(w);
	if ((st = work_hold(w, run_told, w, err)))
		return st;
	say_memory("timed"); // a graph may take more from some run on
	say_phase("outputs");
	json_t *each = json_array();
	for (size_t i = 0; i < warm_up.runs; i++)
		json_array_append_new(each, json_real((double)warm_up.each[i] / 1e6));
	say_row(json_pack("{s:I, s:f, s:o, s:s}", "warmup_runs", (json_int_t)warm_up.runs, "warmup_ms", (double)warm_up.ns / 1e6,
		"warmup_samples_ms", each, "warmup_end", warm_up.end));
	if (w->ask.scenario)
		return STATUS_OK;
	say_row(json_pack(
		"{s:f, s:f}", "clock_overhead_us", sample.clock_us, "harness_overhead_us", sample.harness_us + check_us(w)));
	say_samples_ns(w, sample.ns, sample.count);
	return STATUS_OK;
}

// The outputs, the attention mask, and of a causal language model the tokens.
static enum status write_outputs(struct work *w, const char *path, struct error *err)
{
	struct answer answer = { .tensors = w->out, .count = w->part->session.output_count };

	for (size_t i = 0; i < w->made_count; i++) {
		if (text_is(w->made[i].name, "attention_mask"))
			answer.mask = &w->made[i];
		if (text_is(w->made[i].name, "input_ids") && w->hints.predicts_next)
			answer.tokens = &w->made[i];
	}
	return outputs_write(&w->arena, path, w->made_from, &answer, err);
}

// Does a file with an operator that draws random numbers answer otherwise when it is asked again? What is drawn may have no
// effect.
static enum status find_draws(struct work *w, struct error *err)
{
	size_t count = w->part->session.output_count;
	struct tensor *first = ARENA_ARRAY(&w->arena, count + 1, struct tensor);
	bool same = true;
	enum status st;

	for (size_t i = 0; i < count; i++) {
		first[i] = w->out[i];
		if (!(first[i].data = arena_try(&w->arena, first[i].nbytes)))
			return error_set(
				err, STATUS_NO_MEMORY, "not enough memory to keep the outputs of a run beside those of the next");
		memcpy(first[i].data, w->out[i].data, first[i].nbytes);
	}
	if ((st = run_once(w, err)))
		return st;
	for (size_t i = 0; i < count; i++)
		same = same && first[i].nbytes == w->out[i].nbytes && !memcmp(first[i].data, w->out[i].data, first[i].nbytes);
	if (!same)
		say(json_pack("{s:s, s:s}", "event", "draws", "operator", w->given.draws));
	return STATUS_OK;
}

static enum status give_outputs(struct work *w, struct error *err)
{
	char shape[128];
	enum status st;

	if (w->ask.outputs_path && (st = write_outputs(w, w->ask.outputs_path, err)))
		return st;
	if (w->given.draws && (st = find_draws(w, err)))
		return st;
	if (w->part->session.output_count)
		say_row(json_pack(
			"{s:s}", "output_shape", tensor_shape_text(w->out[0].rank, w->out[0].dim, shape, sizeof shape)));
	if (w->part->session.compiled_bytes > 0)
		say_row(json_pack("{s:I}", "compiled_bytes", (json_int_t)w->part->session.compiled_bytes));
	say(json_pack("{s:s}", "event", "outputs"));
	return STATUS_OK;
}

// For a device that is not here: what was to be learned is learned.
static enum status say_compiled(struct work *w)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < w->part_count; i++)
		bytes += w->part[i].session.compiled_bytes;
	say_row(json_pack("{s:o}", "compiled_bytes", bytes > 0 ? json_integer(bytes) : json_null()));
	say(json_pack("{s:s}", "event", "compiled"));
	work_explain(w, NULL, false);
	return STATUS_OK;
}

// Of --data: the scores for the parent, and the usual run again, whose outputs are judged.
static enum status give_scores(struct work *w, struct error *err)
{
	struct scores scores;
	enum status st;

	if (!w->ask.data)
		return STATUS_OK;
	if ((st = work_data(w, &scores, err)) || (st = scores_write(&scores, &w->arena, w->ask.scores_path, NULL, err)))
		return st;
	return run_once(w, err);
}

// ---- the two ways through -----------------------------------------------------------------------------------------------

static enum status measure(struct work *w, struct error *err)
{
	enum status st;

	if ((st = work_open_engine(w, err)) || (w->ask.profile && (st = backend_can_profile(w->backend, w->provider, err))) ||
		(st = work_leave(w, err)) || (st = work_open(w, err)))
		return st;
	if (work_compiles_only(w))
		return say_compiled(w);
	say_phase("inputs");
	if ((st = work_first(w, err)))
		return st;
	work_arrive(w);
	if ((!w->is_quick && (st = warm_runs(w, err))) || (st = give_scores(w, err)) || (st = give_outputs(w, err)))
		return st;
	work_compare(w);
	// Before "explain", in which a browser opens another session: a cold one would be slow for reasons of its own.
	if (!w->ask.profile && !w->ask.together) // its time would be beside others that may have ended
		work_new_shape(w);
	work_place(w, w->in);
	if (w->ask.profile)
		return work_profile(w, err);
	work_cycles(w);
	return STATUS_OK;
}

static enum status measure_generation(struct work *w, struct error *err)
{
	enum status st;

	if ((st = work_open_engine(w, err)) || (st = work_open(w, err)))
		return st;
	return work_compiles_only(w) ? say_compiled(w) : work_generate(w, err);
}

// CACHE/reference/KEY, and w->made_from: all that decides what the reference is. artifact.key is of the graph and its weights.
static enum status reference_stem(struct work *w, const char **stem, struct error *err)
{
	const struct request *ask = &w->ask;
	const char *folder, *key;
	json_t *facts = json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:I, s:s?, s:I, s:I, s:I, s:I, s:I}", "of",
		"reference 4", "graph_and_weights", w->part->artifact.key, "inputs", w->inputs_hash, "reference",
		ask->reference_name, "engine", w->backend->name, "engine_version", w->devices.version, "device", w->target.device,
		"options", w->target.options, "precision", ask->precision, "dequantised", (json_int_t)ask->dequantised, "tokens",
		ask->reference_tokens, "new_tokens", (json_int_t)ask->new_tokens, "prompt_tokens", (json_int_t)ask->prompt_tokens,
		"batch", (json_int_t)w->shape.batch, "sequence", (json_int_t)w->shape.sequence, "seed", (json_int_t)ask->seed);
	enum status st = sealed_key(&key, &w->made_from, &w->arena, facts, err);

	if (!st && !(st = cache_part(&folder, &w->arena, "reference", err)))
		*stem = arena_printf(&w->arena, "%s/%s", folder, key);
	return st;
}

// A file of that name that another program left, that was cut or damaged or made from something else is no reference: it is made
// again.
static bool is_kept(const char *path)
{
	struct arena a = { 0 };
	struct answer answer;
	bool good = !outputs_read_sealed(&a, path, &answer, NULL);

	arena_done(&a);
	return good;
}

// The tokens that this engine generates; not kept, because nothing cheap says what they would follow from.
static enum status make_generated(struct work *w, struct error *err)
{
	const char *path, *stem;
	enum status st;

	if ((st = work_load(w, err)) || (st = reference_stem(w, &stem, err)))
		return st;
	scratch_sweep();
	path = arena_printf(&w->arena, "%s.%s.generated.part", stem, claim_token());
	if ((st = work_generate_reference(w, path, err)))
		return st;
	say(json_pack("{s:s, s:s, s:b}", "event", "reference", "path", path, "cached", 0));
	return STATUS_OK;
}

// Another program may write the same file at the same time: each writes its own and renames.
static enum status keep_scores(struct work *w, const char *path, int writes, struct error *err)
{
	const char *temporary = arena_printf(&w->arena, "%s.%s.part", path, claim_token());
	struct scores scores;
	enum status st;

	if ((!w->is_open && (st = work_load(w, err))) || (st = work_data(w, &scores, err)))
		return st;
	scratch_sweep();
	if (writes_seen(writes))
		return error_set(err, STATUS_FAILED, "the examples of --data were changed while the reference read them");
	if ((st = scores_write(&scores, &w->arena, temporary, w->made_from, err)))
		return st;
	return rename(temporary, path) < 0 ? error_errno(err, "%s: cannot be renamed", temporary) : STATUS_OK;
}

// The scores of a reference on --data, kept under what the examples contain.
static enum status make_scores(struct work *w, struct error *err)
{
	const int writes = writes_watch(&w->arena, w->ask.path);
	const char *path, *stem;
	enum status st;

	data_watch(writes, w->ask.data);
	snprintf(w->inputs_hash, sizeof w->inputs_hash, "%s", data_digest(&w->arena, w->ask.data, w->ask.path));
	if ((!w->part->artifact.inputs && (st = work_load(w, err))) || (st = reference_stem(w, &stem, err)))
		return st;
	path = arena_printf(&w->arena, "%s.safetensors", stem);
	const bool cached = is_kept(path);
	if (!cached && (st = keep_scores(w, path, writes, err)))
		return st;
	say(json_pack("{s:s, s:s, s:b}", "event", "reference", "path", path, "cached", (int)cached));
	return STATUS_OK;
}

// One run, kept in the cache under everything that decides it. Another program may write the same file at the same time:
// each writes its own and renames.
static enum status make_reference(struct work *w, struct error *err)
{
	const char *path, *stem, *temporary;
	bool cached;
	enum status st;

	if ((st = work_open_engine(w, err)) || (st = work_build(w, err)) || (st = work_check_memory(w, err)))
		return st;
	if (w->ask.new_tokens > 0)
		return make_generated(w, err);
	if (w->ask.data)
		return make_scores(w, err);
	if (!w->part->artifact.inputs && (st = work_load(w, err))) // a user's .onnx: only the engine knows the inputs
		return st;
	if ((st = make_inputs(w, err)) || (st = reference_stem(w, &stem, err)))
		return st;
	path = arena_printf(&w->arena, "%s.safetensors", stem);
	cached = is_kept(path);
	if (!cached) {
		if ((!w->is_open && (st = work_load(w, err))) || (st = work_order_inputs(w, err)))
			return st;
		say_phase("first");
		if ((st = run_once(w, err)))
			return st;
		say_phase("outputs");
		scratch_sweep();
		temporary = arena_printf(&w->arena, "%s.%s.part", path, claim_token());
		if ((st = write_outputs(w, temporary, err)))
			return st;
		if (rename(temporary, path) < 0)
			return error_errno(err, "%s: cannot be renamed", temporary);
	}
	say(json_pack("{s:s, s:s, s:b}", "event", "reference", "path", path, "cached", (int)cached));
	return STATUS_OK;
}

enum status work_set_up(struct work *w, struct error *err)
{
	struct precise asked = { 0 };

	w->target.platform = w->ask.platform ? platform_find(w->ask.platform) : NULL;
	w->target.route = w->target.platform ? platform_route(w->target.platform, w->ask.device) : NULL;
	const struct platform *of = w->ask.form_of ? platform_find(w->ask.form_of) : w->target.platform;
	if (!w->ask.path || !w->target.route)
		return error_set(err, STATUS_BAD_INPUT, "the request names no model, no platform or no device of it");
	if (!of || w->ask.form < 0 || (size_t)w->ask.form >= of->form_count)
		return error_set(err, STATUS_BAD_INPUT, "the request names a graph form that is not there");
	w->target.device = w->ask.device && *w->ask.device ? w->ask.device : w->target.route->device;
	const bool is_parsed = !precision_parse(&asked, w->ask.precision, NULL);
	// As shipped the engine rounds activations in its own way, or does not.
	if (is_parsed && !(w->ask.as_shipped && platform_precision(w->target.route, asked.precision)->float_activations))
		w->ask.options = platform_precision_options(&w->arena, w->target.route, &asked, w->ask.options);
	w->target.options = w->ask.options;
	if (w->ask.form_of)
		forms_only(&w->forms, of, (size_t)w->ask.form, w->ask.is_static != 0);
	else
		forms_begin(&w->forms, of, w->ask.is_static != 0, w->ask.is_dynamic != 0);
	w->backend = route_backend(w->target.route);
	w->provider = route_provider(w->target.route);
	if (!effort_find(w->ask.effort))
		return error_set(err, STATUS_BAD_INPUT, "no effort is called \"%s\"", w->ask.effort);
	if (scenario_find(w->ask.scenario) == SCENARIO_COUNT)
		return error_set(err, STATUS_BAD_INPUT, "no scenario is called \"%s\"", w->ask.scenario);
	return STATUS_OK;
}

int cell_child(const struct cell_dictation *dictation)
{
	static struct work w = { .part_count = 1 }; // ends with the process
	struct error err = { 0 };
	struct text line = { 0 };
	enum status st = child_begin(&line, &err);

	backend_set_notice(say_notice);
	library_set_loading(say_loading);
	cache_set_waiting(say_waiting);
	w.dictation = dictation;
	if (!st)
		st = request_parse(&w.ask, &w.arena, text_get(&line), line.length, &err);
	text_done(&line);
	if (!st)
		st = work_set_up(&w, &err);
	if (!st)
		st = w.ask.calibrate > 0       ? work_calibrate(&w, &err)
			: w.ask.reference_name ? make_reference(&w, &err)
			: w.ask.new_tokens > 0 ? measure_generation(&w, &err)
					       : measure(&w, &err);
	if (st)
		say_error(&err);
	say_done();
	backend_end();
	// Not exit(): engines' own threads and destructors have nothing left to say, and some of them crash here.
	_exit(0);
}
