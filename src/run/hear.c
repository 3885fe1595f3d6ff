// SPDX-License-Identifier: Apache-2.0
// Listening to a child. A line that is not an event, whatever it is, ends the child: an engine that writes over our pipe has
// no say in a row. How a child ended is told apart by who ended it, in which phase, and what it said last.
#include "run/hear.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/cause.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/pages.h"
#include "base/process.h"
#include "base/visible.h"
#include "question/bounds.h"
#include "run/cell.h"
#include "run/child_memory.h"

static void drop_json(void *json)
{
	json_decref(json);
}

static json_t *keep_json(struct heard *h, json_t *json)
{
	if (json)
		arena_defer(h->arena, drop_json, json_incref(json));
	return json;
}

void heard_init(struct heard *h, struct arena *a, const struct cell_watch *watch)
{
	*h = (struct heard){ .arena = a,
		.watch = watch,
		.phase = "start",
		.pss_mib = (double)NAN,
		.anonymous_mib = (double)NAN,
		.resident_mib = (double)NAN };
	row_init(&h->row);
}

// Phases in which a cell only waits: they are in no time of its.
static bool is_wait(const char *phase)
{
	return text_is(phase, "delay") || text_is(phase, "idle") || text_is(phase, "meet");
}

static enum child_watch watch_in(const char *phase)
{
	if (text_is(phase, "warm") || is_wait(phase))
		return CHILD_QUIET;
	if (text_is(phase, "load") || text_is(phase, "first") || text_is(phase, "memory"))
		return CHILD_SAMPLE;
	return CHILD_WATCH;
}

static void larger(double *most, const json_t *kib)
{
	double mib = (double)json_integer_value(kib) / 1024;

	if (json_is_integer(kib) && !(*most >= mib))
		*most = mib;
}

static bool hear_samples(struct heard *h, const json_t *ms)
{
	size_t count = json_array_size(ms);

	if (!count)
		return false;
	if (h->sample_room - h->sample_count < count) {
		double *more = ARENA_ARRAY(h->arena, h->sample_room = 2 * (h->sample_count + count), double);

		if (h->sample_count)
			memcpy(more, h->sample_ms, h->sample_count * sizeof *more);
		h->sample_ms = more;
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *x = json_array_get(ms, i);
		double took = json_number_value(x);

		if (!json_is_number(x) || !(took >= 0 && took <= BOUND_MS)) // no database is read that holds more
			return false;
		h->sample_ms[h->sample_count++] = took;
	}
	return true;
}

// What a page or an engine says of itself and nothing can have measured ends the child; nothing of it is kept.
static bool hear_row(struct heard *h, const json_t *event)
{
	const char *beyond;

	if (row_from_json(&h->row, h->arena, event, NULL) != STATUS_OK)
		return false;
	if ((beyond = row_beyond(&h->row, h->arena)) == NULL)
		return true;
	row_keep_within(&h->row, h->arena);
	h->rubbish = arena_printf(h->arena, "%s: the engine's process says that %s", h->phase, beyond);
	return false;
}

static bool hear_error(struct heard *h, const json_t *event)
{
	static const char *const words[] = {
#define X(code, word, sentence) [STATUS_##code] = word,
		STATUS_LIST(X)
#undef X
	};
	const char *word = json_string_value(json_object_get(event, "status")),
		   *text = json_string_value(json_object_get(event, "text"));

	for (size_t i = 1; word && text && i < sizeof words / sizeof *words; i++) {
		if (text_is(word, words[i])) {
			h->status = (enum status)i;
			h->error = arena_strdup(h->arena, text);
			h->of_engine = json_is_true(json_object_get(event, "of_engine"));
			return true;
		}
	}
	return false;
}

static void enter(struct heard *h, const char *phase)
{
	if (h->delay_from > 0)
		h->delay_ms += clock_ms() - h->delay_from;
	h->delay_from = is_wait(phase) ? clock_ms() : 0;
	h->phase = arena_strdup(h->arena, phase);
}

// Blocks until the other cells are there too. Nobody is beside a cell that was not begun with others: "no".
static bool hear_meet(struct heard *h, const char *gate)
{
	const bool is_end = text_is(gate, "end");

	if (!is_end && !text_is(gate, "start"))
		return false;
	h->answer = h->watch && h->watch->meet && h->watch->meet(h->watch->context, is_end ? CELL_GATE_END : CELL_GATE_START)
		? CHILD_YES
		: CHILD_NO;
	return true;
}

static bool hear_span(int64_t out[2], const json_t *span)
{
	for (size_t i = 0; i < 2; i++)
		out[i] = json_integer_value(json_array_get(span, i));
	return json_array_size(span) == 2 && out[0] > 0 && out[1] >= out[0];
}

static bool hear_event(struct heard *h, const char *name, json_t *event)
{
	if (text_is(name, "phase")) {
		const char *phase = json_string_value(json_object_get(event, "phase"));

		if (!phase || !*phase || strlen(phase) > 32)
			return false;
		enter(h, phase);
		if (h->watch && h->watch->phase)
			h->watch->phase(h->watch->context, h->phase);
		return true;
	}
	if (text_is(name, "notice")) {
		const char *text = json_string_value(json_object_get(event, "text"));

		if (text && h->watch && h->watch->notice)
			h->watch->notice(h->watch->context, text);
		return text != NULL;
	}
	if (text_is(name, "loading")) {
		h->loading = arena_strdup(h->arena, json_string_value(json_object_get(event, "library")));
		return true;
	}
	if (text_is(name, "waiting")) {
		h->waiting = arena_strdup(h->arena, json_string_value(json_object_get(event, "lock")));
		return true;
	}
	if (text_is(name, "row"))
		return hear_row(h, event);
	if (text_is(name, "meet"))
		return hear_meet(h, json_string_value(json_object_get(event, "gate")));
	if (text_is(name, "loop"))
		return hear_span(h->timed_ns, json_object_get(event, "timed")) &&
			hear_span(h->busy_ns, json_object_get(event, "busy"));
	if (text_is(name, "samples"))
		return hear_samples(h, json_object_get(event, "ms"));
	if (text_is(name, "memory")) {
		if (json_is_true(json_object_get(event, "beside")) && !h->memory_beside) {
			h->memory_beside = true; // what was told before is of the child alone
			h->pss_mib = h->anonymous_mib = h->resident_mib = (double)NAN;
		}
		larger(&h->pss_mib, json_object_get(event, "pss_kib"));
		larger(&h->anonymous_mib, json_object_get(event, "anonymous_kib"));
		larger(&h->resident_mib, json_object_get(event, "resident_peak_kib"));
		return true;
	}
	if (text_is(name, "placement")) {
		h->placement = keep_json(h, json_object_get(event, "nodes"));
		return json_is_array(h->placement);
	}
	if (text_is(name, "profile")) {
		h->profile = keep_json(h, json_object_get(event, "nodes"));
		return json_is_array(h->profile);
	}
	if (text_is(name, "probe")) {
		h->probe = keep_json(h, event);
		return true;
	}
	if (text_is(name, "reference")) {
		h->reference_path = arena_strdup(h->arena, json_string_value(json_object_get(event, "path")));
		return h->reference_path != NULL;
	}
	if (text_is(name, "outputs"))
		return h->outputs = true;
	if (text_is(name, "compiled"))
		return h->compiled = true;
	if (text_is(name, "shape"))
		return (h->sequence = json_integer_value(json_object_get(event, "sequence"))) >= 0;
	if (text_is(name, "language"))
		return (h->language = json_integer_value(json_object_get(event, "token"))) >= 0;
	if (text_is(name, "shapes"))
		return (h->shapes = arena_strdup(h->arena, json_string_value(json_object_get(event, "shapes")))) != NULL;
	if (text_is(name, "form"))
		return (h->form = json_integer_value(json_object_get(event, "index"))) >= 0;
	if (text_is(name, "given"))
		return (h->given = json_integer_value(json_object_get(event, "arithmetic"))) >= 0;
	if (text_is(name, "draws"))
		return (h->draws = arena_strdup(h->arena, json_string_value(json_object_get(event, "operator")))) != NULL;
	if (text_is(name, "error"))
		return hear_error(h, event);
	return text_is(name, "done") && (h->done = true);
}

// The beginning of a line as it may stand in a sentence.
static const char *excerpt(struct arena *a, const char *line, size_t length, size_t most)
{
	struct text clean = { 0 };
	const char *result;

	visible_clean(&clean, line, length < most ? length : most);
	result = arena_printf(a, "%s%s", text_get(&clean), length > most ? "..." : "");
	text_done(&clean);
	return result;
}

// What a child says is kept, and a child may say anything: all its lines share one budget.
static bool within_budget(struct heard *h, const char *line, size_t length)
{
	h->weight += json_weight(line, length, HEARD_MOST - h->weight);
	if (h->weight <= HEARD_MOST)
		return true;
	h->weight = HEARD_MOST;
	h->rubbish = arena_printf(h->arena,
		"%s: more events came from the engine's process than fit into the %zu MiB of memory that they are given",
		h->phase, HEARD_MOST >> 20);
	return false;
}

enum child_watch heard_line(void *context, const char *line, size_t length)
{
	struct heard *h = context;
	size_t weight = h->weight, samples = h->sample_count;
	if (h->rubbish || !within_budget(h, line, length))
		return CHILD_REFUSE;
	json_t *event = json_line(line, length);
	const char *name = json_string_value(json_object_get(event, "event"));
	h->answer = CHILD_QUIET;
	bool known = name && hear_event(h, name, event);

	json_decref(event);
	if (h->sample_count > samples) // of their line only the numbers are kept, in an array that doubles
		h->weight = weight + 4 * sizeof(double) * (h->sample_count - samples);
	if (!known && !h->rubbish)
		h->rubbish = arena_printf(h->arena, "%s: a line that is no event came from the engine's process: '%s'", h->phase,
			excerpt(h->arena, line, length, 80));
	if (known && h->answer != CHILD_QUIET)
		return h->answer;
	return known ? watch_in(h->phase) : CHILD_REFUSE;
}

// The last line of what it wrote that holds anything, as "; it said last: '...'".
static const char *last_words(struct arena *a, const struct text *output)
{
	const char *all = text_get(output);
	size_t end = output->length, begin;

	while (end && strchr(" \n\t\r", all[end - 1]))
		end--;
	for (begin = end; begin && all[begin - 1] != '\n'; begin--)
		;
	return end > begin ? arena_printf(a, "; it said last: '%s'", excerpt(a, all + begin, end - begin, 300)) : "";
}

// What a C++ engine and assay's own code say before they end for it; an engine may say the first of the user's file.
static bool lacked_memory(const struct child_report *r)
{
	return (strstr(text_get(&r->output), "bad_alloc") && !cause_is_own("bad_alloc")) ||
		strstr(text_get(&r->output), "assay: out of memory");
}

// The sentence of the handler of SIGBUS (cli/pages.c): a page of a mapped file cannot be had. "" where it was another one's.
static const char *lacked_page(struct arena *a, const struct child_report *r)
{
	const char *said = r->code == SIGBUS ? strstr(text_get(&r->output), PAGES_LOST_WORDS) : NULL;
	const char *begin = said;

	while (begin && begin > text_get(&r->output) && begin[-1] != '\n')
		begin--;
	if (!begin || !text_starts(begin, "assay: "))
		return "";
	begin += strlen("assay: ");
	return excerpt(a, begin, strcspn(begin, "\n"), 300);
}

static const char *gib(struct arena *a, int64_t bytes)
{
	return bytes < (int64_t)1 << 30 ? arena_printf(a, "%.0f MiB", (double)bytes / 0x1p20)
					: arena_printf(a, "%.2f GiB", (double)bytes / 0x1p30);
}

bool heard_memory_limit(const struct child_report *r, const struct child_limits *l, struct error *err)
{
	const unsigned long long allowed =
		r->memory_bytes > 0 ? (unsigned long long)r->memory_bytes + (unsigned long long)l->mapped_bytes : 0;

	return r->end != CHILD_MEMORY && r->end != CHILD_OOM && process_check_memory(0, allowed, "an engine", err) != STATUS_OK;
}

static enum verdict end_of(const struct heard *h, const struct child_report *r, const struct child_limits *l, const char **cause)
{
	struct arena *a = h->arena;
	const char *words = last_words(a, &r->output);
	struct error limit = { 0 };
	double limit_s;

	switch (r->end) {
	case CHILD_STOPPED:
		*cause = arena_printf(a, "stopped from outside in its phase \"%s\"", h->phase);
		return VERDICT_INTERRUPTED;
	case CHILD_TIMEOUT:
	case CHILD_SILENT:
		limit_s = r->end == CHILD_TIMEOUT ? l->timeout_s : l->silence_s;
		if (r->stopped) {
			*cause = arena_printf(a,
				"%s: one of its processes had been stopped by a signal when the limit of %g s was over: "
				"somebody, or "
				"itself, let it stand still",
				h->phase, limit_s);
			return VERDICT_NOT_ASKED;
		}
		if (h->waiting) {
			*cause = arena_printf(a,
				"%s: another process had locked %s until the limit of %g s was over, and makes the same or "
				"stands still, or what was compiled could not be written there",
				h->phase, h->waiting, limit_s);
			return VERDICT_NOT_ASKED;
		}
		*cause = h->loading
			? arena_printf(a,
				  "%s: %s was still being loaded when the limit of %g s was over: what it runs by itself "
				  "then waits, or does not end%s",
				  h->phase, h->loading, limit_s, words)
			: arena_printf(a, "%s: not finished when the limit of %g s was over%s", h->phase, limit_s, words);
		if (process_check_end(0, 0, "an engine", &limit)) { // one that could not start its threads waits for them
			*cause = arena_printf(a, "%s; %s", *cause, limit.text);
			return VERDICT_NOT_ASKED;
		}
		return VERDICT_TIMEOUT;
	case CHILD_MEMORY:
		*cause = arena_printf(
			a, "%s: anonymous memory went over the limit of %s%s", h->phase, gib(a, r->memory_bytes), r->memory_from);
		return VERDICT_NO_MEMORY;
	case CHILD_MANY:
		*cause = arena_printf(a,
			"%s: it had %d processes and more, and nobody can tell whether they keep to the limit of %s%s", h->phase,
			CHILD_MEMBERS, gib(a, r->memory_bytes), r->memory_from);
		return VERDICT_FAILED;
	case CHILD_OOM:
		*cause = r->limit_killed
			? arena_printf(a, "%s: the kernel ended %s at the limit of %s (%s)%s", h->phase,
				  r->other_killed ? "a process that it had started" : "it", gib(a, r->memory_bytes),
				  r->memory_limit_by, r->memory_from)
			: arena_printf(a, "%s: the kernel ended it because the machine was out of memory", h->phase);
		return VERDICT_NO_MEMORY;
	case CHILD_REFUSED:
		*cause = arena_printf(
			a, "%s: a line of more than %zu MiB came from the engine's process", h->phase, CHILD_LINE_LIMIT >> 20);
		return VERDICT_FAILED;
	case CHILD_SIGNALLED:
		if (lacked_memory(r))
			break;
		if (*lacked_page(a, r)) {
			*cause = arena_printf(a, "%s: %s", h->phase, lacked_page(a, r));
			return VERDICT_NOT_ASKED;
		}
		*cause = arena_printf(a, "%s: the process died of signal %d, %s%s%s%s", h->phase, r->code, strsignal(r->code),
			h->loading ? ", while it loaded " : "", h->loading ? h->loading : "", words);
		if (process_check_end(0, r->code, "an engine", &limit)) {
			*cause = arena_printf(a, "%s; %s", *cause, limit.text);
			return VERDICT_NOT_ASKED;
		}
		if (process_is_others_signal(r->code)) {
			*cause = arena_printf(a, "%s; somebody, or the kernel for want of memory, ended it", *cause);
			return VERDICT_NOT_ASKED;
		}
		return VERDICT_CRASHED;
	case CHILD_EXITED:
		break;
	}
	if (lacked_memory(r) && (r->end == CHILD_SIGNALLED || !h->done)) {
		if (heard_memory_limit(r, l, &limit)) {
			*cause = arena_printf(a, "%s: an allocation failed%s; %s", h->phase, words, limit.text);
			return VERDICT_NOT_ASKED;
		}
		*cause = arena_printf(a, "%s: an allocation failed%s%s", h->phase,
			r->memory_bytes > 0 ? arena_printf(a, " under the limit of %s%s", gib(a, r->memory_bytes), r->memory_from)
					    : "",
			words);
		return VERDICT_NO_MEMORY;
	}
	if (!h->done && r->is_lost) {
		*cause = arena_printf(a,
			"%s: how its process ended is not known: the program that uses assay waits for all children%s", h->phase,
			words);
		return VERDICT_NOT_ASKED;
	}
	if (!h->done) {
		*cause = arena_printf(a, "%s: the process ended with exit code %d %s%s%s", h->phase, r->code,
			h->loading ? "while it loaded " : "before it was done", h->loading ? h->loading : "", words);
		if (process_check_end(0, 0, "an engine", &limit)) {
			*cause = arena_printf(a, "%s; %s", *cause, limit.text);
			return VERDICT_NOT_ASKED;
		}
		return VERDICT_CRASHED;
	}
	return VERDICT_RIGHT;
}

static bool is_behind_the_answer(const char *phase)
{
	return text_is(phase, "explain") || text_is(phase, "shape") || text_is(phase, "cycles");
}

enum verdict heard_verdict(
	const struct heard *h, const struct child_report *r, const struct child_limits *l, const char **cause, const char **note)
{
	enum verdict end;

	*cause = *note = NULL;
	if (h->rubbish) {
		*cause = h->rubbish;
		return VERDICT_FAILED;
	}
	if (h->error && h->done) {
		*cause = h->error;
		return verdict_of_status(h->status);
	}
	end = end_of(h, r, l, cause);
	if (end != VERDICT_RIGHT && end != VERDICT_INTERRUPTED && !r->other_killed && (h->outputs || h->compiled) &&
		is_behind_the_answer(h->phase)) {
		*note = *cause;
		*cause = NULL;
		end = VERDICT_RIGHT;
	}
	return end == VERDICT_RIGHT && h->compiled ? VERDICT_COMPILES : end;
}

enum status hear_child(struct heard *h, const char *const *arguments, const char *request, const struct child_limits *l,
	struct child_report *r, struct error *err)
{
	const char *argv[8] = { cell_program(h->arena), "cell" };
	size_t n = 2;

	if (!argv[0])
		return error_set(err, STATUS_FAILED,
			"the program assay, which children are started from, was not found; set ASSAY_PROGRAM to it");
	while (arguments && *arguments && n < 7)
		argv[n++] = *arguments++;
	enum status st = child_run((char *const *)(uintptr_t)argv, request, l, heard_line, h, r, err);
	enter(h, h->phase);
	return st;
}
