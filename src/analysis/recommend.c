// SPDX-License-Identifier: Apache-2.0
// recommend.h.
#include "analysis/recommend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hub/hub.h"
#include "question/standing.h"
#include "analysis/forecasts.h"

static const char *const goal_words[] = {
#define X(code, word, what) word,
	RECOMMEND_LIST(X)
#undef X
};

const char *recommend_word(enum recommend_goal g)
{
	return goal_words[g];
}

enum recommend_goal recommend_find(const char *word)
{
	for (int g = 0; g < RECOMMEND_COUNT; g++)
		if (text_is(word, goal_words[g]))
			return (enum recommend_goal)g;
	return RECOMMEND_COUNT;
}

// ---- which rows ----------------------------------------------------------------------------------------------------------

static bool any_batch(const struct recommend_ask *ask)
{
	return (ask->goal == RECOMMEND_THROUGHPUT || ask->goal == RECOMMEND_COST) && ask->batch <= 0;
}

static bool is_of_model(const struct recommend_ask *ask, const struct report_cell *c)
{
	return text_is(c->name, hub_full_name(ask->model)) && report_is_plain(c);
}

static bool is_of_machine(const struct recommend_ask *ask, const struct report_cell *c)
{
	return ask->machine == NULL || text_is(c->machine, ask->machine);
}

static bool is_of_batch(const struct recommend_ask *ask, const struct row *r)
{
	return any_batch(ask) || r->batch == ROW_NONE || r->batch == (ask->batch > 0 ? ask->batch : 1);
}

static bool is_of_length(const struct recommend_ask *ask, const struct row *r)
{
	return ask->sequence <= 0 || r->sequence == ROW_NONE || r->sequence == ask->sequence ||
		row_question_sequence(r) == ask->sequence;
}

// Of the model, on the machine, of the batch and length that were asked for.
static bool is_of(const struct recommend_ask *ask, const struct report_cell *c)
{
	return is_of_model(ask, c) && is_of_machine(ask, c) && is_of_batch(ask, &c->row) && is_of_length(ask, &c->row);
}

// One question but for platform, precision, threads, options, and batch where that may be any.
static bool same_question(const struct recommend_ask *ask, const struct report_cell *x, const struct report_cell *y)
{
	unsigned but = BUT_PLATFORM | BUT_PRECISION | BUT_THREADS | BUT_OPTIONS;

	return report_alike(x, y, any_batch(ask) ? but | BUT_BATCH : but);
}

// The whole model before a shortened one, then the question that most rows answer, then the newest; of the newest questions, each
// of which is held against the others.
static const struct report_cell *choose_question(const struct summary *s, const struct recommend_ask *ask)
{
	enum { QUESTIONS_MOST = 256 };
	struct {
		const struct report_cell *newest;
		size_t rows;
	} all[QUESTIONS_MOST];
	size_t count = 0, best = 0, k;

	for (size_t i = s->cell_count; i-- > 0;) {
		const struct report_cell *c = &s->cells[i];
		if (!is_of(ask, c) || !report_is_ranked(c))
			continue;
		for (k = 0; k < count && !same_question(ask, all[k].newest, c); k++)
			;
		if (k < count) {
			all[k].rows++;
		} else if (count < QUESTIONS_MOST) {
			all[count].newest = c;
			all[count++].rows = 1;
		}
	}
	for (k = 1; k < count; k++) {
		const bool whole = all[k].newest->row.layers == ROW_NONE, best_whole = all[best].newest->row.layers == ROW_NONE;

		if (whole > best_whole || (whole == best_whole && all[k].rows > all[best].rows))
			best = k;
	}
	return count > 0 ? all[best].newest : NULL;
}

static const char *use_of(struct arena *a, const struct report_cell *c, bool with_batch)
{
	const struct row *r = &c->row;
	const char *out = c->platform;

	if (r->precision != NULL && !text_is(r->precision, "stored"))
		out = arena_printf(a, "%s, %s", out, r->precision);
	if (r->as_shipped == 1)
		out = arena_printf(a, "%s, as shipped%s%s", out, r->compute_dtype != NULL ? " in " : "",
			r->compute_dtype != NULL ? r->compute_dtype : "");
	if (r->threads > 0)
		out = arena_printf(a, "%s, %lld thread%s", out, (long long)r->threads, r->threads == 1 ? "" : "s");
	const char *beside = report_asked_beside(a, &c->question);
	if (beside != NULL)
		out = arena_printf(a, "%s, %s", out, beside);
	if (with_batch && r->batch > 0)
		out = arena_printf(a, "%s, batch %lld", out, (long long)r->batch);
	return out;
}

// ---- figures -------------------------------------------------------------------------------------------------------------

static double figure_of(const struct summary *s, const struct recommend_ask *ask, const struct report_cell *c)
{
	switch (ask->goal) {
	case RECOMMEND_THROUGHPUT:
		return report_per_s(c);
	case RECOMMEND_MEMORY:
		return row_peak_mib(&c->row);
	case RECOMMEND_COST:
		return report_cost(s, c) * report_slower(c);
	default:
		return c->typical.ms;
	}
}

// By what it is put in its place. A time that did not settle counts by the slow end of its median's interval, of several
// processes by the slowest of them: it goes before one that did only where that is better, too.
static double rank_of(const struct recommend_ask *ask, const struct report_cell *c, double figure)
{
	const struct report_typical *t = &c->typical;
	const double slow = t->processes < 2 && !isnan(c->row.latency_high_ms) ? c->row.latency_high_ms : t->high_ms;
	const double worse = slow > t->ms ? slow / t->ms : 1;

	if (ask->goal == RECOMMEND_MEMORY || !report_is_unstable(c))
		return figure;
	return ask->goal == RECOMMEND_THROUGHPUT ? figure / worse : figure * worse;
}

static const char *time_words(const struct report_cell *c, struct arena *a)
{
	const struct report_typical *t = &c->typical;

	if (t->processes < 2)
		return report_latency(a, &c->row);
	return arena_printf(a, "%s (%s)", report_ms(a, t->ms), report_typical_spread(a, c));
}

static const char *words_of(
	const struct summary *s, const struct recommend_ask *ask, const struct report_cell *c, double figure, struct arena *a)
{
	const struct report_typical *t = &c->typical;
	const char *time = time_words(c, a);

	switch (ask->goal) {
	case RECOMMEND_THROUGHPUT:
		return arena_printf(a, "%.4g samples/s; a run takes %s", figure, time);
	case RECOMMEND_MEMORY:
		return arena_printf(a, "%s at the peak; a run takes %s", report_mib(a, figure), time);
	case RECOMMEND_COST:
		return arena_printf(a, "%.4g%s%s a million samples, by the mean of the newest row's runs%s; a run takes %s",
			figure, *s->options.currency ? " " : "", s->options.currency,
			t->processes > 1 ? arena_printf(a, " and the median of %zu processes", t->processes) : "", time);
	default:
		return time;
	}
}

// What stands beside an advice: an unstable time, what qualifies the row, what a reduced precision loses.
static const char *warning_of(const struct recommend_ask *ask, const struct report_cell *c, struct arena *a)
{
	const char *unstable = ask->goal == RECOMMEND_MEMORY ? "unstable times"
		: c->typical.processes > 1                   ? "unstable (has its place by its slowest process)"
							     : "unstable (has its place by the slow end of its time)";
	const char *loss = c->row.graph_verdict != NULL && !isnan(c->row.cosine)
		? arena_printf(a, "loss against its reference: cosine %.6g", c->row.cosine)
		: NULL;
	const char *const words[] = { report_is_unstable(c) ? unstable : NULL, c->qualifiers, loss };
	const char *out = NULL;

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		out = arena_join(a, out, ", ", words[i]);
	return out;
}

// The answer of cpu to the same question, in the same precision, which need not be among the choices.
static const struct report_cell *cpu_beside(const struct summary *s, const struct report_cell *c)
{
	const struct report_line *l = &s->lines[c->line];

	for (size_t k = 0; k < s->column_count; k++)
		if (l->cell[k] != 0 && report_is_cpu(&s->cells[l->cell[k] - 1]))
			return &s->cells[l->cell[k] - 1];
	return NULL;
}

static const char *claim_of(
	const struct summary *s, const struct recommend_ask *ask, const struct report_cell *c, struct arena *a)
{
	const struct report_cell *cpu = cpu_beside(s, c);
	const char *words = report_speed_words(a, &c->against_cpu);

	if (ask->goal != RECOMMEND_LATENCY || cpu == NULL || cpu == c || !(c->against_cpu.times > 0))
		return NULL;
	const char *out = arena_printf(a, "%s as fast as %s, row %lld", report_times(a, c->against_cpu.times),
		use_of(a, cpu, false), (long long)cpu->row.row);
	return words != NULL ? arena_printf(a, "%s (%s)", out, words) : out;
}

// ---- what is left out ----------------------------------------------------------------------------------------------------

static const char *why_not(const struct recommend_ask *ask, const struct report_cell *c, double figure, struct arena *a)
{
	const struct row *r = &c->row;
	double peak = row_peak_mib(r);

	if (c->is_running)
		return "is running";
	if (r->source != NULL)
		return arena_printf(a, "measured by %s, not by assay", r->source);
	if (c->is_stand_in)
		return "the null engine stood in for it: nothing was computed";
	if (c->verdict == VERDICT_UNJUDGED && !c->is_elsewhere)
		return "unjudged: nothing was there to compare its outputs with";
	if (!c->is_good)
		return arena_printf(a, "%s: %s", report_verdict_word(c), c->cause != NULL ? c->cause : "no cause was told");
	if (c->is_not_valid)
		return c->cause;
	if (report_computes_nothing(c))
		return "the null engine computes nothing: its times are no hardware's";
	if (r->emulated == 1)
		return "emulated in software: its speed says nothing about the hardware";
	if (row_is_brief(r))
		return arena_printf(a, "ran %s", row_qualifiers(a, r, QUALIFY_SHAPE));
	if (!(r->latency_ms > 0))
		return "was not timed";
	if (ask->most_mib > 0 && isnan(peak))
		return "its memory was not measured";
	if (ask->most_mib > 0 && peak > ask->most_mib)
		return arena_printf(a, "took %s, more than %s", report_mib(a, peak), report_mib(a, ask->most_mib));
	return isnan(figure) ? ask->goal == RECOMMEND_COST ? "no price was given for it" : "that was not measured" : NULL;
}

// The same, and what answered in its place.
static const char *with_fallback(const char *why, const struct report_cell *c, struct arena *a)
{
	const struct report_try *answer = c->fallback != NULL ? c->fallback->answer : NULL;

	return why == NULL || answer == NULL
		? why
		: arena_printf(a, "%s; in its place %s, row %lld", why, c->fallback->got, (long long)answer->row.row);
}

static void leave_out(struct recommendation *out, const char *use, const char *why)
{
	for (size_t i = 0; i < out->left_out_count; i++)
		if (text_is(out->left_out[i].use, use) && text_is(out->left_out[i].why, why))
			return;
	out->left_out[out->left_out_count++] = (struct recommend_left_out){ use, why };
}

// Rows of the model that answer another question than the one that was asked, and the option that asks theirs.
static void leave_out_others(
	struct recommendation *out, const struct summary *s, const struct recommend_ask *ask, struct arena *a)
{
	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *c = &s->cells[i];
		if (!is_of_model(ask, c) || !report_is_ranked(c))
			continue;
		const char *use = use_of(a, c, any_batch(ask));
		if (!is_of_machine(ask, c))
			leave_out(out, use, "is of another machine: --machine any");
		else if (!is_of_batch(ask, &c->row))
			leave_out(out, use,
				arena_printf(
					a, "has batch %lld: --batch %lld", (long long)c->row.batch, (long long)c->row.batch));
		else if (!is_of_length(ask, &c->row))
			leave_out(out, use,
				arena_printf(a, "has %lld tokens: --seq %lld", (long long)c->row.sequence,
					(long long)c->row.sequence));
	}
}

static int larger_first(double a, double b)
{
	return (a < b) - (a > b);
}

static int more_first(const void *x, const void *y)
{
	return larger_first(((const struct recommend_choice *)x)->rank, ((const struct recommend_choice *)y)->rank);
}

static int less_first(const void *x, const void *y)
{
	return more_first(y, x);
}

// Why this row of another number of layers says nothing of what was asked, though its files bear the same name; NULL: it has as
// many. A shortened model is a question of its own, and never the whole model's other files.
static const char *other_layers(const struct report_cell *question, const struct report_cell *c, struct arena *a)
{
	int64_t layers = c->row.layers, asked = question->row.layers;

	if (layers == asked || layers <= 0)
		return NULL;
	return arena_printf(a, "has %lld layer%s: not compared with %s", (long long)layers, layers == 1 ? "" : "s",
		asked > 0 ? arena_printf(a, "%lld", (long long)asked) : "the whole model");
}

// Why a row of the model, machine, batch and length that were asked for answers another question than `question`; NULL: it may
// answer that.
static const char *other_model(const struct report_cell *question, const struct report_cell *c, struct arena *a)
{
	const char *why = other_layers(question, c, a);

	if (why != NULL || c->row.layers != question->row.layers || text_agree(question->row.model_sha256, c->row.model_sha256))
		return why;
	return arena_printf(a, "is of other files of that name (%.8s): not compared with those of %.8s", c->row.model_sha256,
		question->row.model_sha256);
}

static bool asks_other_length(const struct report_cell *question, const struct report_cell *c)
{
	const int64_t sequence = report_sequence(c);

	return c->row.sequence == ROW_NONE && sequence != ROW_NONE && sequence != report_sequence(question);
}

enum status recommend_rows(
	const struct summary *s, const struct recommend_ask *ask, struct arena *a, struct recommendation *out, struct error *err)
{
	const struct report_cell *question = choose_question(s, ask);

	*out = (struct recommendation){ .choices = ARENA_ARRAY(a, s->cell_count + 1, struct recommend_choice),
		.left_out = ARENA_ARRAY(a, s->cell_count + 1, struct recommend_left_out) };
	if (ask->goal == RECOMMEND_COST && s->options.price_count == 0)
		return error_set(err, STATUS_BAD_INPUT, "cost needs prices: --price cpu=0.08EUR,cuda=1.20EUR");
	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *c = &s->cells[i];
		out->row_count += text_is(c->name, hub_full_name(ask->model));
		const char *other = is_of(ask, c) && question != NULL ? other_model(question, c, a) : NULL;
		if (other != NULL) {
			leave_out(out, use_of(a, c, any_batch(ask)), other);
			continue;
		}
		if (!is_of(ask, c) || (question != NULL && report_is_ranked(c) && !same_question(ask, question, c)))
			continue;
		if (question != NULL && asks_other_length(question, c)) {
			leave_out(out, use_of(a, c, any_batch(ask)),
				arena_printf(a, "%s with %lld tokens, which is another question", report_verdict_word(c),
					(long long)report_sequence(c)));
			continue;
		}
		double figure = figure_of(s, ask, c);
		const char *why = with_fallback(why_not(ask, c, figure, a), c, a), *use = use_of(a, c, any_batch(ask));
		if (why != NULL)
			leave_out(out, use, why);
		else
			out->choices[out->choice_count++] = (struct recommend_choice){ c, use, figure, rank_of(ask, c, figure),
				words_of(s, ask, c, figure, a), claim_of(s, ask, c, a), warning_of(ask, c, a),
				report_command(a, c) };
	}
	if (out->choice_count == 0)
		leave_out_others(out, s, ask, a);
	else
		qsort(out->choices, out->choice_count, sizeof *out->choices,
			ask->goal == RECOMMEND_THROUGHPUT ? more_first : less_first);
	if (question != NULL) {
		struct report_line l = s->lines[question->line];

		l.variant = l.variant_but_options; // which options and precision is the answer
		if (any_batch(ask) && text_starts(l.variant, "batch "))
			l.variant = arena_printf(a, "any batch%s", l.variant + strcspn(l.variant, ","));
		out->question = report_line_words(a, &l);
	}
	return STATUS_OK;
}

// ---- predictions ---------------------------------------------------------------------------------------------------------

static bool is_measured(const struct recommend_ask *ask, const struct forecast_group *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (is_of(ask, g->cells[i]) && g->cells[i]->row.layers == ROW_NONE)
			return true;
	return false;
}

// It was tried just there and did not run, which says more than a prediction: it stands among what is left out.
static bool has_failed(const struct summary *s, const struct recommend_ask *ask, const struct forecast_group *g)
{
	for (size_t i = 0; i < s->cell_count; i++) {
		const struct report_cell *c = &s->cells[i];
		if (is_of(ask, c) && text_is(c->platform, g->platform) && text_is(c->machine, g->machine) &&
			text_is(forecast_precision(&c->row), g->precision) && c->row.threads == g->threads && !c->is_good &&
			!c->is_running && !c->is_stand_in && verdict_answers(c->verdict) && c->verdict != VERDICT_UNJUDGED &&
			!c->is_foreign)
			return true;
	}
	return false;
}

static int sooner(const void *x, const void *y)
{
	double a = ((const struct recommend_prediction *)x)->forecast.ms,
	       b = ((const struct recommend_prediction *)y)->forecast.ms;

	return (a > b) - (a < b);
}

void recommend_unmeasured(const struct summary *s, const struct recommend_ask *ask, recommend_features *features, void *context,
	struct arena *a, struct recommend_predictions *out)
{
	size_t count = s->forecast_count;

	*out = (struct recommend_predictions){ .items = ARENA_ARRAY(a, count + 1, struct recommend_prediction),
		.too_few = ARENA_ARRAY(a, count + 1, const char *) };
	forecast_groups_judge(&out->proof, s, a);
	out->proof_words = forecast_proof_words(a, &out->proof);
	for (size_t i = 0; i < count; i++) {
		const struct forecast_group *g = &s->forecasts[i];
		struct recommend_prediction p = { g->words, g->platform, g->precision, g->threads, { 0 }, NULL };
		struct forecast_point asked = { 0 };
		struct error why = { 0 };
		if ((ask->machine != NULL && !text_is(g->machine, ask->machine)) || is_measured(ask, g) ||
			has_failed(s, ask, g) || !features(context, g->platform, g->precision, &asked))
			continue;
		if (ask->goal != RECOMMEND_LATENCY) {
			out->too_few[out->too_few_count++] =
				arena_printf(a, "%s: only times are predicted: --for latency", g->words);
			continue;
		}
		if (forecast_make(g->points, g->count, &asked, &p.forecast, &why) != STATUS_OK) {
			out->too_few[out->too_few_count++] = arena_printf(a, "%s: %s", g->words, why.text);
			continue;
		}
		p.like = report_model_name(g->cells[p.forecast.nearest]->row.model);
		out->items[out->count++] = p;
	}
	if (out->count > 0)
		qsort(out->items, out->count, sizeof *out->items, sooner);
}
