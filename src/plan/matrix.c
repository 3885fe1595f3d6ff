// SPDX-License-Identifier: Apache-2.0
// matrix.h: from options to the cells of the plan. Running them is matrix_run.c's; what is decided about a cell is decided in
// plan.c.
#include "plan/matrix.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "cell/asked.h"
#include "cell/data.h"
#include "cell/protocol.h"
#include "cell/scenario.h"
#include "conform/conform.h"
#include "onnx/precision.h"
#include "run/loss.h"

const struct member matrix_members[MATRIX_MEMBERS] = {
#define X(kind, name, option, argument, least, most, help) \
	{ #name, option, argument, help, "", MEMBER_##kind, offsetof(struct matrix, name), least, most },
	MATRIX_LIST(X)
#undef X
};

// ---- options -------------------------------------------------------------------------------------------------------

static const struct member *find(const struct member *members, size_t count, const char *option)
{
	for (size_t i = 0; i < count; i++)
		if (members[i].option && text_is(members[i].option, option))
			return &members[i];
	return NULL;
}

const struct member *matrix_member(const char *option, bool *is_of_question)
{
	const struct member *m = find(question_members, QUESTION_COUNT, option);

	*is_of_question = m != NULL;
	return m ? m : find(matrix_members, MATRIX_MEMBERS, option);
}

static bool is_of_question(const struct member *member)
{
	return member >= question_members && member < question_members + QUESTION_COUNT;
}

enum status matrix_set(struct matrix *m, const struct member *member, const char *text, struct error *err)
{
	if (!is_of_question(member))
		return member_set(member, m, text, err);
	enum question_at at = (enum question_at)(member - question_members);
	if (question_use(at) == QUESTION_EACH) {
		struct question before = m->question;

		if (at == QUESTION_AT_inputs)
			text = asked_typed(&m->arena, text);
		return member_set(
			member, &m->question, arena_join(&m->arena, member_word(member, &m->arena, &before), ";", text), err);
	}
	if (question_use(at) != QUESTION_AXIS)
		return member_set(member, &m->question, text, err);
	return sweep_add(&m->axes, &m->arena, at, text, err);
}

enum status matrix_option(struct matrix *m, const char *word, struct error *err)
{
	const char *equals = strchr(word, '=');
	const char *name = equals ? arena_strndup(&m->arena, word, (size_t)(equals - word)) : word;
	bool ignored;
	const struct member *member = matrix_member(name, &ignored);

	if (!member)
		return error_set(err, STATUS_BAD_INPUT, "there is no option --%s", name);
	if (!equals && member->kind != MEMBER_FLAG)
		return error_set(err, STATUS_BAD_INPUT, "--%s wants a value: %s", name, member->argument);
	return matrix_set(m, member, equals ? equals + 1 : NULL, err);
}

// ---- what goes together ----------------------------------------------------------------------------------------------

// How it is measured.
static enum status check_protocol(const struct question *q, struct error *err)
{
	const enum scenario scenario = scenario_find(q->scenario);
	const bool server = scenario == SCENARIO_SERVER, multi = scenario == SCENARIO_MULTI_STREAM;
	const int64_t streams = q->streams ? q->streams : SCENARIO_STREAMS, batch = q->batch ? q->batch : 1;

	if (!effort_find(q->effort))
		return error_set(err, STATUS_BAD_INPUT, "--effort %s: there are rapid, quick and normal", q->effort);
	if (scenario == SCENARIO_COUNT)
		return error_set(err, STATUS_BAD_INPUT,
			"--scenario %s: there are single-stream, multi-stream, offline and server", q->scenario);
	if (server && !(q->rate_per_s > 0 && q->latency_bound_ms > 0))
		return error_set(err, STATUS_BAD_INPUT, "--scenario server needs --rate and --latency-bound");
	if (server && !q->runs && q->rate_per_s * effort_find(q->effort)->scenario_s < 1)
		return error_set(err, STATUS_BAD_INPUT,
			"--rate %g: one query in %.4g s, and the queries end after %g s (--effort): none would come; --runs "
			"gives it "
			"the time of so many",
			q->rate_per_s, 1 / q->rate_per_s, effort_find(q->effort)->scenario_s);
	if (!server && q->rate_per_s > 0)
		return error_set(err, STATUS_BAD_INPUT, "--rate belongs to --scenario server");
	if (!server && !multi && q->latency_bound_ms > 0)
		return error_set(err, STATUS_BAD_INPUT, "--latency-bound belongs to --scenario server or multi-stream");
	if (!multi && q->streams)
		return error_set(err, STATUS_BAD_INPUT, "--streams belongs to --scenario multi-stream");
	if (multi && streams % batch)
		return error_set(err, STATUS_BAD_INPUT, "--streams %lld is no multiple of --batch %lld", (long long)streams,
			(long long)batch);
	if (q->new_tokens && (q->scenario || q->cycles))
		return error_set(err, STATUS_BAD_INPUT, "--task generate takes neither --scenario nor --cycles");
	if (q->delay_s > 0 && q->delay_s >= plan_timeout_s(q))
		return error_set(err, STATUS_BAD_INPUT, "--delay %g leaves no time for the cell: --timeout is %g", q->delay_s,
			plan_timeout_s(q));
	return STATUS_OK;
}

// --task generate has defaults; its lengths mean nothing to a forward pass.
static enum status check_task(struct matrix *m, struct error *err)
{
	struct question *q = &m->question;
	const bool generates = text_is(q->task, "generate");

	if (q->task && !generates && !text_is(q->task, "forward"))
		return error_set(err, STATUS_BAD_INPUT, "--task %s: there are forward and generate", q->task);
	if (!generates && (q->prompt_tokens || q->new_tokens))
		return error_set(err, STATUS_BAD_INPUT, "--prompt-tokens and --new-tokens belong to --task generate");
	if (generates && m->axes.of[QUESTION_AT_sequence].count)
		return error_set(
			err, STATUS_BAD_INPUT, "--seq is the length of a forward pass; --task generate has --prompt-tokens");
	if (q->no_fallback && q->allow_fallback)
		return error_set(err, STATUS_BAD_INPUT, "--no-fallback and --allow-fallback exclude each other");
	if (q->fit && q->force)
		return error_set(
			err, STATUS_BAD_INPUT, "--fit and --force do not go together: one asks for less, one for all of it");
	if (q->is_static && q->is_dynamic)
		return error_set(err, STATUS_BAD_INPUT, "--static and --dynamic do not go together");
	if (generates && (q->golden || q->is_static))
		return error_set(err, STATUS_BAD_INPUT, "--task generate takes neither --golden nor --static");
	if (generates && q->prompt_tokens && asked_has_things(q))
		return error_set(err, STATUS_BAD_INPUT,
			"--prompt-tokens is the length of a random prompt: that of --input is the input's");
	q->task = generates ? "generate" : NULL;
	if (generates) {
		q->prompt_tokens = q->prompt_tokens ? q->prompt_tokens : 32;
		q->new_tokens = q->new_tokens ? q->new_tokens : 32;
		q->sequence = q->prompt_tokens;
	}
	return STATUS_OK;
}

static enum status check_words(const struct matrix *m, struct error *err)
{
	const struct sweep_axis *precisions = &m->axes.of[QUESTION_AT_precision];
	struct loss_limits limits;
	struct error why = { 0 };

	for (size_t i = 0; i < precisions->count; i++) {
		struct precise precise;

		if (precision_parse(&precise, precisions->values[i].precision, &why) != STATUS_OK)
			return error_set(err, STATUS_BAD_INPUT, "--precision: %s", why.text);
	}
	return loss_parse(&limits, m->question.max_loss, err);
}

static enum status check_golden(const struct matrix *m, size_t model_count, struct error *err)
{
	const struct sweep_axes *axes = &m->axes;

	if (!m->question.golden)
		return STATUS_OK;
	if (!file_exists(m->question.golden))
		return error_set(err, STATUS_BAD_INPUT, "--golden %s: no such file", m->question.golden);
	if (axes->of[QUESTION_AT_batch].count || axes->of[QUESTION_AT_sequence].count || axes->of[QUESTION_AT_image_size].count)
		return error_set(err, STATUS_BAD_INPUT,
			"--golden has the shapes of the file: --batch, --seq and --image-size do not go with it");
	return model_count > 1 ? error_set(err, STATUS_BAD_INPUT, "--golden judges one model, not %zu", model_count) : STATUS_OK;
}

// A platform that is named twice with the same device and options is asked once. How many are left.
static size_t without_repeats(struct target *t, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (k < n &&
			!(t[k].platform == t[i].platform && text_is(t[k].device, t[i].device) && t[k].chosen == t[i].chosen &&
				text_is(t[k].options, t[i].options)))
			k++;
		if (k == n)
			t[n++] = t[i];
	}
	return n;
}

static enum status check_inputs(struct matrix *m, struct error *err)
{
	const struct question *q = &m->question;

	if (!q->shapes && !q->dims && !q->inputs)
		return STATUS_OK;
	if (q->golden)
		return error_set(err, STATUS_BAD_INPUT,
			"--golden has inputs and their shapes: --shape, --dim and --input do not go with it");
	if (text_is(q->task, "generate") && (q->shapes || q->dims || !asked_has_things(q)))
		return error_set(err, STATUS_BAD_INPUT,
			"--task generate takes neither --shape, --dim nor --input INPUT=..: a prompt is --input TEXT or FILE, or "
			"--prompt-tokens random tokens");
	const struct sweep_axes *axes = &m->axes;
	const bool shaped = axes->of[QUESTION_AT_batch].count || axes->of[QUESTION_AT_sequence].count ||
		axes->of[QUESTION_AT_image_size].count;
	if (asked_has_things(q) && shaped)
		return error_set(err, STATUS_BAD_INPUT,
			"--input has the shapes of the file or text: --batch, --seq and --image-size do not go with it");
	return asked_check(&m->question, &m->arena, err);
}

static enum status check_data(const struct matrix *m, struct error *err)
{
	const struct question *q = &m->question;
	struct arena a = { 0 };
	struct data_set set;

	if (!q->data)
		return STATUS_OK;
	if (text_is(q->task, "generate") || m->together || m->switches)
		return error_set(err, STATUS_BAD_INPUT, "--data goes with none of --task generate, --together and --switch");
	enum status s = data_list(&set, &a, q->data, err);
	arena_done(&a);
	return s;
}

// What would not be the same for all of them, or measures otherwise than by timed runs.
static enum status check_together(const struct matrix *m, size_t model_count, struct error *err)
{
	const struct question *q = &m->question;
	const char *const excluded = m->fallback ? "--fallback"
		: m->workers > 1                 ? "--workers"
		: m->resume                      ? "--resume"
		: q->fit                         ? "--fit"
		: q->scenario                    ? "--scenario"
		: q->cycles > 0                  ? "--cycles"
		: q->golden                      ? "--golden"
		: q->quiet_wait_s > 0            ? "--quiet-wait"
		: sweep_most(&m->axes) > 1       ? sweep_words(&m->axes, (struct arena *)(uintptr_t)&m->arena)
						 : NULL;

	if (!m->together)
		return STATUS_OK;
	if (model_count < 2)
		return error_set(err, STATUS_BAD_INPUT, "--together takes two models or more; the same one may be named twice");
	if (m->target_count > model_count)
		return error_set(err, STATUS_BAD_INPUT, "--together: %zu platforms for %zu models; each model runs on one",
			m->target_count, model_count);
	return excluded ? error_set(err, STATUS_BAD_INPUT, "--together does not go with %s", excluded) : STATUS_OK;
}

static enum status check_switch(const struct matrix *m, struct error *err)
{
	if (!m->switches)
		return STATUS_OK;
	if (m->target_count < 2)
		return error_set(err, STATUS_BAD_INPUT, "--switch takes two platforms or more, unlike each other");
	if (m->fallback || m->together || m->question.new_tokens)
		return error_set(err, STATUS_BAD_INPUT, "--switch goes with none of --fallback, --together and --task generate");
	return STATUS_OK;
}

enum status matrix_check(struct matrix *m, size_t model_count, struct error *err)
{
	enum status s;

	for (size_t i = 0; i < m->axes.of[QUESTION_AT_precision].count; i++) {
		struct question *q = &m->axes.of[QUESTION_AT_precision].values[i];

		q->precision = precision_typed(&m->arena, q->precision);
	}
	// What has one value, or the first of several.
	for (size_t i = 0; i < QUESTION_COUNT; i++)
		if (m->axes.of[i].count)
			member_copy(&question_members[i], &m->question, m->axes.of[i].values);
	if ((s = check_task(m, err)) || (s = check_protocol(&m->question, err)) || (s = check_words(m, err)) ||
		(s = check_golden(m, model_count, err)) || (s = check_inputs(m, err)) || (s = check_data(m, err)) ||
		(s = conform_check_share(err)))
		return s;
	if ((s = plan_targets(&m->targets, &m->target_count, &m->arena, m->on, m->on_count, m->options, err)))
		return s;
	if (!m->together) // there a platform may have several models
		m->target_count = without_repeats(m->targets, m->target_count);
	if ((s = check_together(m, model_count, err)) || (s = check_switch(m, err)))
		return s;
	if (m->workers > 1 && m->question.quiet_wait_s > 0)
		return error_set(err, STATUS_BAD_INPUT,
			"--quiet-wait and --workers %lld: cells beside each other are no calm machine", (long long)m->workers);
	return STATUS_OK;
}

// ---- the plan --------------------------------------------------------------------------------------------------------

// Of one cell: starting an engine, first runs, 3 s of timed runs and the judging; then every GiB of weights is read, converted or
// repacked, and read again for the reference. Six cells of three models, 1.7 GiB, took 127 s on 2 busy cores.
static const double guess_s_per_cell = 8, guess_s_per_gib = 10, guess_s_per_written_gib = 2, guess_s_per_search = 5;
const char matrix_guess_words[] = "8 s a cell, 5 s more of offline and server, its --delay, and 10 s a GiB of weights, and 2 s a "
				  "GiB to write synthetic ones";

double matrix_guess_s(const struct plan_model *m, const struct target *t, const struct question *q, bool first)
{
	double gib = (double)(m->weight_bytes + m->synthetic_bytes) / 1073741824.0;

	if (m->refused || t->absent)
		return 0;
	const enum scenario scenario = scenario_find(q->scenario);
	const bool searches = scenario == SCENARIO_OFFLINE || scenario == SCENARIO_SERVER;
	return guess_s_per_cell + (searches ? guess_s_per_search : 0) + q->delay_s + guess_s_per_gib * gib +
		(first && m->makes_weights ? guess_s_per_written_gib * gib : 0);
}

uint64_t matrix_cache_limit(const struct matrix *m)
{
	return m->cache_limit_gib >= 0 ? (uint64_t)(m->cache_limit_gib * 1073741824.0) : plan_cache_limit();
}

// A target in words that are read as the same one: "openvino:CPU,precision=f16".
static const char *target_words(struct arena *a, const struct target *t)
{
	const size_t n = t->route->options ? strlen(t->route->options) : 0;
	const char *own = t->options, *device = text_is(t->device, t->platform->routes[0].device) ? NULL : t->device;

	if (own && n)
		own = own[n] == ',' ? own + n + 1 : NULL;
	return arena_printf(a, "%s%s%s%s%s", t->platform->name, device ? ":" : "", device ? device : "",
		!own || !*own    ? ""
			: device ? ","
				 : ":",
		own ? own : "");
}

// The same question, where the process had the model on the platform before: of the first that is the last.
static const struct question *switched(struct matrix *m, const struct question *q, size_t target)
{
	struct question *out = ARENA_ARRAY(&m->arena, 1, struct question);

	*out = *q;
	out->switched_from = target_words(&m->arena, &m->targets[(target ? target : m->target_count) - 1]);
	return out;
}

static void add_cells(struct matrix *m, struct plan_model *model, const struct sweep_cell *cells, size_t count)
{
	const size_t turn = (size_t)(model - m->models) % m->target_count;

	for (size_t k = 0; k < m->target_count; k++)
		for (size_t n = 0; n < count && (!m->together || k == turn); n++) {
			m->line_count += n == 0 || cells[n].series != cells[n - 1].series;
			m->cells[m->cell_count++] = (struct matrix_cell){ .model = model,
				.target = &m->targets[k],
				.question = m->switches ? switched(m, &cells[n].question, k) : &cells[n].question,
				.label = cells[n].label,
				.line = m->line_count - 1,
				.series = cells[n].series,
				.latency_ms = (double)NAN,
				.low_ms = (double)NAN,
				.high_ms = (double)NAN,
				.throughput_per_s = (double)NAN };
		}
}

// Models x platforms x axes.
static void make_cells(struct matrix *m)
{
	size_t count, most = m->model_count * m->target_count;

	for (size_t i = 0; i < QUESTION_COUNT; i++)
		most *= m->axes.of[i].count ? m->axes.of[i].count : 1;
	m->cells = ARENA_ARRAY(&m->arena, most + 1, struct matrix_cell);
	for (size_t i = 0; i < m->model_count; i++) {
		struct sweep_cell *cells;
		const char *left_out;

		sweep_cells(&cells, &count, &left_out, &m->arena, &m->axes, &m->question, &m->models[i]);
		if (left_out && m->event)
			m->event(m->context,
				&(struct matrix_event){ .kind = MATRIX_NOTICE,
					.text = arena_printf(&m->arena,
						"%s: %s means nothing to this model and is left out for it", m->models[i].model,
						left_out) });
		add_cells(m, &m->models[i], cells, count);
	}
}

enum status matrix_plan(struct matrix *m, const char *const *models, size_t model_count, struct error *err)
{
	enum status s = STATUS_OK;

	m->models = ARENA_ARRAY(&m->arena, model_count + 1, struct plan_model);
	for (size_t i = 0; i < model_count && s == STATUS_OK; i++)
		s = plan_model_apart(&m->models[i], &m->arena, models[i], &m->question, m->stop, err);
	if (s != STATUS_OK)
		return s;
	m->model_count = model_count;
	if (m->event)
		m->event(m->context,
			&(struct matrix_event){
				.kind = MATRIX_PROGRESS, .text = "looking at the engines", .seconds_left = (double)NAN });
	const struct probe_limits limits = { .timeout_s = m->question.timeout_s, .stop = m->stop };
	m->platforms = m->looks_at_all ? detect_platforms(NULL, 0, m->fallback, &limits)
				       : detect_platforms(m->targets, m->target_count, m->fallback, &limits);
	plan_choose(m->targets, m->target_count, m->platforms, &m->arena);
	make_cells(m);
	return STATUS_OK;
}

void matrix_done(struct matrix *m)
{
	for (size_t i = 0; i < m->cell_count; i++)
		json_decref(m->cells[i].results);
	json_decref(m->results);
	for (int v = 0; v < VERDICT_COUNT; v++)
		json_decref(m->qualified[v]);
	json_decref(m->platforms);
	arena_done(&m->arena);
	*m = (struct matrix)MATRIX_INIT;
}
