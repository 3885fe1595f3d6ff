// SPDX-License-Identifier: Apache-2.0
// assay recommend: what to run a model on, from rows; and what nobody ran, predicted and called so. What may be chosen is decided
// in analysis/recommend.c.
#include <stdio.h>

#include "analysis/features.h"
#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "emit.h"
#include "fetching.h"
#include "reading.h"
#include "analysis/recommend.h"
#include "show.h"

enum { SHOWN = 6 }; // choices for a person

struct recommend {
	struct arena arena;
	struct recommend_ask ask;
	struct plan_model model;
	bool is_known;        // the model's configuration is here
	struct error unknown; // where nothing of that name is: hub_find's sentence, with the names that are near
	struct recommendation rows;
	struct recommend_predictions predicted;
};

static bool features_on(void *context, const char *platform, const char *precision, struct forecast_point *out)
{
	struct recommend *x = context;
	struct question q = { .batch = x->ask.batch > 0 ? x->ask.batch : 1, .sequence = x->ask.sequence, .precision = precision };
	struct error ignored = { 0 }; // a model that cannot be built there has no prediction
	struct target t;

	return x->is_known && platform_target(&t, &x->arena, platform, &ignored) == STATUS_OK &&
		plan_features(out, &x->model, &t, &q, &ignored) == STATUS_OK;
}

// ---- what is seen ------------------------------------------------------------------------------------------------

static const char *interval(struct arena *a, const struct forecast *f)
{
	return arena_printf(a, "%s, 90 %% interval %s to %s", report_ms(a, f->ms), report_ms(a, f->low), report_ms(a, f->high));
}

static const char *command_of(const struct recommend *x, struct arena *a, const struct recommend_prediction *p)
{
	struct store_question q = {
		.cell = { .model = x->ask.model, .platform = p->platform, .batch = x->ask.batch, .sequence = x->ask.sequence }
	};
	struct row r;

	row_init(&r);
	r.type_conformance = "";               // conformance cases are asked as always
	q.cell.synthetic = x->model.synthetic; // it has no weights here
	q.cell.precision = p->precision;
	q.cell.threads = p->threads > 0 ? p->threads : 0;
	return question_command(a, &q, &r);
}

static void print_choice(const char *label, const struct recommend_choice *c)
{
	emit("  %-11s %s: %s; row %lld%s\n", label, c->use, c->words ? c->words : "?", (long long)c->cell->row.row,
		c->cell->is_imported ? ", imported from another database" : "");
	if (c->claim)
		emit("  %-11s %s\n", "", c->claim);
	if (c->warning)
		emit("  %-11s %s\n", "", c->warning);
}

static void print_text(struct recommend *x)
{
	struct arena *a = &x->arena;
	const struct recommendation *r = &x->rows;

	emit("%s, for %s%s%s\n", x->ask.model, recommend_word(x->ask.goal), r->question ? ": " : "",
		r->question ? r->question : "");
	for (size_t i = 0; i < r->choice_count && i < SHOWN; i++)
		print_choice(i == 0 ? "use" : "then", &r->choices[i]);
	if (r->choice_count > SHOWN)
		emit("  %-11s and %zu more, which --json has\n", "", r->choice_count - SHOWN);
	if (r->choice_count > 0)
		emit("  %-11s %s\n", "measure it", r->choices[0].command);
	else
		emit("  %-11s %s\n", "measured",
			r->row_count > 0 ? "no row of this model here may be chosen" : "there is no row of this model here");
	for (size_t i = 0; i < x->predicted.count; i++) {
		const struct recommend_prediction *p = &x->predicted.items[i];
		emit("  %-11s %s: %s; most like %s, from %zu rows of %zu models\n", i == 0 ? "PREDICTED" : "", p->use,
			interval(a, &p->forecast), p->like, p->forecast.points, p->forecast.models);
		emit("  %-11s measure it: %s\n", "", command_of(x, a, p));
	}
	for (size_t i = 0; i < x->predicted.too_few_count; i++)
		emit("  %-11s %s\n", "no guess", x->predicted.too_few[i]);
	if (x->predicted.count > 0 && x->predicted.proof_words)
		emit("  %-11s %s\n", "how good", x->predicted.proof_words);
	for (size_t i = 0; i < r->left_out_count; i++)
		emit("  %-11s %s: %s\n", i == 0 ? "left out" : "", r->left_out[i].use, r->left_out[i].why);
}

static json_t *choice_json(const struct recommend_choice *c)
{
	const struct row *r = &c->cell->row;

	return json_pack("{s:b, s:s, s:s, s:s?, s:o, s:o, s:I, s:b, s:f, s:s?, s:s?, s:s?, s:s, s:o}", "predicted", 0, "use",
		c->use, "platform", c->cell->platform, "precision", r->precision, "threads",
		r->threads == ROW_NONE ? json_null() : json_integer(r->threads), "batch",
		r->batch == ROW_NONE ? json_null() : json_integer(r->batch), "row", (json_int_t)r->row, "imported",
		(int)c->cell->is_imported, "figure", c->figure, "words", c->words, "against_cpu", c->claim, "warning", c->warning,
		"command", c->command, "options", r->options ? json_parse(r->options) : json_null());
}

static json_t *proof_json(const struct forecast_proof *p)
{
	if (p->count == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "predictions", (json_int_t)p->count, "inside",
		(json_int_t)p->covered, "share", (double)p->covered / (double)p->count, "share_low", p->low, "share_high",
		p->high, "median_factor", p->median_error, "worst_factor", p->worst_error);
}

static void print_json(struct recommend *x)
{
	json_t *choices = json_array(), *predictions = json_array(), *left_out = json_array(), *too_few = json_array();

	for (size_t i = 0; i < x->rows.choice_count; i++)
		json_array_append_new(choices, choice_json(&x->rows.choices[i]));
	for (size_t i = 0; i < x->predicted.count; i++) {
		const struct recommend_prediction *p = &x->predicted.items[i];
		json_array_append_new(predictions,
			json_pack("{s:b, s:s, s:s, s:s?, s:f, s:f, s:f, s:I, s:I, s:s, s:s}", "predicted", 1, "use", p->use,
				"platform", p->platform, "precision", p->precision, "latency_ms", p->forecast.ms, "low_ms",
				p->forecast.low, "high_ms", p->forecast.high, "rows", (json_int_t)p->forecast.points, "models",
				(json_int_t)p->forecast.models, "most_like", p->like, "command", command_of(x, &x->arena, p)));
	}
	for (size_t i = 0; i < x->predicted.too_few_count; i++)
		json_array_append_new(too_few, json_string(x->predicted.too_few[i]));
	for (size_t i = 0; i < x->rows.left_out_count; i++)
		json_array_append_new(
			left_out, json_pack("{s:s, s:s}", "use", x->rows.left_out[i].use, "why", x->rows.left_out[i].why));
	json_t *out = json_pack("{s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:o}", "model", x->ask.model, "for",
		recommend_word(x->ask.goal), "question", x->rows.question, "choices", choices, "predictions", predictions,
		"not_predicted", too_few, "prediction_test", proof_json(&x->predicted.proof), "left_out", left_out);
	show_json(out);
	json_decref(out);
}

// ---- the command -------------------------------------------------------------------------------------------------

// The configuration is wanted for predictions only: a model of which nothing is here still has its rows.
static void find_model(struct recommend *x, bool offline)
{
	struct question q = { .synthetic = true };
	struct error ignored = { 0 };
	struct hub_model hub;

	if (fetching_ensure(x->ask.model, FETCH_CONFIG, offline) >= 0)
		return;
	if (hub_find(&hub, &x->arena, x->ask.model, &x->unknown) != STATUS_OK)
		return;
	x->is_known = plan_model(&x->model, &x->arena, x->ask.model, &q, &ignored) == STATUS_OK && !x->model.refused;
}

static enum status recommend(
	struct recommend *x, struct store *s, const struct report_options *how, const char *db, struct error *err)
{
	struct summary *summary = ARENA_NEW(&x->arena, struct summary);
	enum status st = store_open_settled(s, db, err);

	if (st == STATUS_OK)
		st = summary_make(s, how, summary, err);
	if (st == STATUS_OK)
		st = recommend_rows(summary, &x->ask, &x->arena, &x->rows, err);
	if (st != STATUS_OK)
		return st;
	if (x->rows.row_count == 0 && x->unknown.text[0]) {
		*err = x->unknown;
		return STATUS_BAD_INPUT;
	}
	// What is predicted answers the question of the rows that were chosen.
	if (x->ask.sequence <= 0 && x->rows.choice_count > 0 && x->rows.choices[0].cell->row.sequence > 0)
		x->ask.sequence = x->rows.choices[0].cell->row.sequence;
	recommend_unmeasured(summary, &x->ask, features_on, x, &x->arena, &x->predicted);
	return STATUS_OK;
}

static int run(int argc, char **argv)
{
	struct recommend x = { .ask.goal = RECOMMEND_LATENCY };
	const char *db = cli_default_db(), *goal = "latency", *machine_id = NULL;
	double most_gib = 0;
	bool json = false, offline = false;
	struct cli_list prices = { 0 };
	const struct cli_option options[] = {
		{ "for", CLI_TEXT, &goal, "GOAL", "latency (the default), throughput, memory or cost" },
		{ "max-memory", CLI_REAL, &most_gib, "GIB", "leave out what took more at its peak", 0.001, 1e6 },
		{ "batch", CLI_INTEGER, &x.ask.batch, "N", "of this batch; default 1, and any for throughput and cost", 1,
			65536 },
		{ "seq", CLI_INTEGER, &x.ask.sequence, "N", "of this many tokens; default: as most rows have", 1, 1 << 20 },
		{ "price", CLI_LIST, &prices, "PLATFORM=PRICE,...", "what an hour costs: for cost" },
		{ "machine", CLI_TEXT, &machine_id, "ID", "rows of that machine, or `any`; default: this one" },
		{ "db", CLI_TEXT, &db, "FILE", "the database; default $ASSAY_DB, else assay.duckdb" },
		{ "offline", CLI_FLAG, &offline, NULL, "fetch nothing from the Hub, as with HF_HUB_OFFLINE=1" },
		{ "json", CLI_FLAG, &json, NULL, "an object on standard output" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay recommend MODEL [--for latency|throughput|memory|cost] [--max-memory GIB] [options]",
		.text = "The platform, precision and options to run a model with, from what was measured: right rows on\n"
			"the platform that was asked for, of one question. Emulators, fallbacks, other tools' results and wrong\n"
			"answers are never chosen, and are named with the reason. For latency, platforms on which nobody ran\n"
			"the model get a PREDICTION of the time, from what its graph computes and moves and from the rows of\n"
			"other models there (ten at least, the largest at least half as large), with a 90 % interval and how\n"
			"often such intervals held on this database. Memory, throughput and cost are not predicted.\n\n"
			"  assay recommend bert-base-uncased\n"
			"  assay recommend Qwen/Qwen2-0.5B-Instruct --for memory --max-memory 1.5\n"
			"  assay recommend bert-base-uncased --for cost --price cpu=0.08EUR,cuda=1.20EUR\n\n"
			"Exit codes: 0 something is recommended, by measurement or prediction; 1 bad use, no database, or a\n"
			"model of which there is no row and that is not found; 2 there is nothing to recommend from.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct store s = cli_reading();
	struct report_options how = { 0 };
	struct error err = { 0 };
	struct machine machine;
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	x.ask.model = argv[1];
	x.ask.goal = recommend_find(goal);
	x.ask.most_mib = most_gib * 1024;
	if (x.ask.goal == RECOMMEND_COUNT)
		return cli_bad_use("--for %s: there are latency, throughput, memory and cost", goal);
	machine_detect(&machine, &x.arena);
	x.ask.machine = machine_id == NULL ? machine.id : text_is(machine_id, "any") ? NULL : machine_id;
	find_model(&x, offline);
	enum status st = report_prices(&x.arena, prices.items, (size_t)prices.count, &how, &err);
	if (st == STATUS_OK)
		st = recommend(&x, &s, &how, db, &err);
	if (st == STATUS_OK) {
		if (json)
			print_json(&x);
		else
			print_text(&x);
		code = x.rows.choice_count > 0 || x.predicted.count > 0 ? EXIT_GOOD : EXIT_VERDICT;
	} else {
		code = cli_error(&err);
	}
	store_close(&s);
	arena_done(&x.arena);
	return code;
}

const struct command command_recommend = { "recommend",
	"what to run a model on, from rows; what nobody ran is predicted, and called so", run };
