// SPDX-License-Identifier: Apache-2.0
// The public functions of include/assay.h, on top of plan/matrix.h. Nothing is decided here: the command line goes the same way.
#include "assay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/visible.h"
#include "hub/fetch.h"
#include "hub/hub.h"
#include "onnx/precision.h"
#include "pipeline/pipeline.h"
#include "plan/matrix.h"
#include "question/standing.h"
#include "report/report.h"

#define X(code, word, exit, sentence) \
	_Static_assert((int)ASSAY_VERDICT_##code == (int)VERDICT_##code, "verdicts have the same numbers inside and outside");
VERDICT_LIST(X)
#undef X

static enum assay_status fail(struct assay_error *out, enum status s, const struct error *err)
{
	if (out) {
		size_t length = strnlen(err->text, sizeof out->text - 1);

		memcpy(out->text, err->text, length);
		out->text[length] = '\0';
	}
	return s == STATUS_BAD_INPUT ? ASSAY_BAD_INPUT : ASSAY_FAILED;
}

const char *assay_version(void)
{
	return ASSAY_VERSION;
}

// ---- rows ------------------------------------------------------------------------------------------------------------

struct owned_row {
	struct assay_row row; // first: assay_row_free gets its address
	struct arena arena;
	char *json;
};

static struct owned_row *make_row(const struct cell_result *result)
{
	struct owned_row *out = calloc(1, sizeof *out);

	if (!out)
		abort();
	struct arena *a = &out->arena;
	const struct row *r = &result->row;
	json_t *json = plan_json(result);
	out->json = visible_json(json, JSON_INDENT(2));
	json_decref(json);
	out->row = (struct assay_row){
		.model = arena_strdup(a, r->model),
		.requested = arena_strdup(a, r->requested),
		.actual = arena_strdup(a, r->actual),
		.device = arena_strdup(a, r->device),
		.verdict = (enum assay_verdict)result->verdict,
		.verdict_word = verdict_word(result->verdict),
		.sentence = verdict_sentence(result->verdict),
		.cause = arena_strdup(a, r->cause),
		.reference = arena_strdup(a, r->reference),
		.load_ms = r->load_ms,
		.first_ms = r->first_ms,
		.latency_ms = r->latency_ms,
		.peak_anonymous_mib = r->peak_anonymous_mib,
		.max_abs_error = r->max_abs_error,
		.cosine = r->cosine,
		.exit_code = row_exit_code(r, result->verdict),
		.number = r->row == ROW_NONE ? 0 : r->row,
		.json = out->json,
	};
	return out;
}

void assay_row_free(struct assay_row *row)
{
	struct owned_row *owned = (struct owned_row *)row;

	if (!owned)
		return;
	arena_done(&owned->arena);
	free(owned->json);
	free(owned);
}

// ---- a matrix --------------------------------------------------------------------------------------------------------

static void tell(const struct assay_matrix *to, enum assay_event_kind kind, const struct matrix_event *e, const char *text)
{
	if (to->event)
		to->event(to->context,
			&(struct assay_event){ .kind = kind,
				.cell = e->label,
				.text = text,
				.number = e->row,
				.seconds_left = e->kind == MATRIX_PROGRESS ? e->seconds_left : (double)NAN });
}

static void tell_row(const struct assay_matrix *to, const struct matrix_event *e)
{
	struct owned_row *row = make_row(e->result);

	if (to->event)
		to->event(to->context,
			&(struct assay_event){ .kind = ASSAY_EVENT_ROW,
				.cell = e->label,
				.text = e->text,
				.row = &row->row,
				.number = row->row.number,
				.seconds_left = (double)NAN });
	assay_row_free(&row->row);
}

static void on_event(void *context, const struct matrix_event *e)
{
	const struct assay_matrix *to = context;
	struct arena a = { 0 };

	switch (e->kind) {
	case MATRIX_READING:
		tell(to, ASSAY_EVENT_PROGRESS, e, arena_printf(&a, "%s: reading its files", e->text));
		break;
	case MATRIX_PROGRESS:
		tell(to, ASSAY_EVENT_PROGRESS, e, e->text);
		break;
	case MATRIX_NOTICE:
		tell(to, ASSAY_EVENT_NOTICE, e, e->text);
		break;
	case MATRIX_RESULT:
		tell_row(to, e);
		break;
	case MATRIX_FOUND:
		tell(to, ASSAY_EVENT_FOUND, e, e->text);
		break;
	case MATRIX_TAKEN:
		tell(to, ASSAY_EVENT_TAKEN, e, NULL);
		break;
	case MATRIX_SWEEP_ENDED:
		tell(to, ASSAY_EVENT_SWEEP_ENDED, e, e->text);
		break;
	case MATRIX_CHAIN: // each of its tries was a row
		break;
	}
	arena_done(&a);
}

static size_t count_of(const char *const *words)
{
	size_t n = 0;

	while (words && words[n])
		n++;
	return n;
}

static enum status add_options(struct matrix *m, const char *const *options, struct error *err)
{
	enum status s = STATUS_OK;

	for (size_t i = 0; i < count_of(options) && s == STATUS_OK; i++)
		s = matrix_option(m, options[i], err);
	return s;
}

static enum status plan(struct matrix *m, const struct assay_matrix *x, struct error *err)
{
	const size_t models = count_of(x->models);
	enum status s;

	if (models == 0)
		return error_set(err, STATUS_BAD_INPUT, "no model is named");
	m->on = x->platforms;
	m->on_count = count_of(x->platforms);
	m->db = x->db;
	m->resume = x->resume != 0;
	m->is_numbered = true;
	m->command = "assay_matrix_run";
	m->stop = (volatile sig_atomic_t *)(uintptr_t)x->stop;
	m->polls_stop = x->stop != NULL;
	if ((s = add_options(m, x->options, err)) || (s = matrix_check(m, models, err)))
		return s;
	return matrix_plan(m, x->models, models, err);
}

enum assay_status assay_matrix_run(const struct assay_matrix *matrix, struct assay_error *error)
{
	struct matrix m = MATRIX_INIT;
	struct assay_matrix x = { 0 };
	struct error err = { 0 };

	if (matrix->size == 0 || matrix->size > sizeof x) {
		error_set(&err, STATUS_BAD_INPUT,
			"assay_matrix.size is %zu: it is sizeof(struct assay_matrix), %zu in this version", matrix->size,
			sizeof x);
		return fail(error, STATUS_BAD_INPUT, &err);
	}
	memcpy(&x, matrix, matrix->size);
	m.event = on_event;
	m.context = &x;
	enum status s = plan(&m, &x, &err);
	if (s == STATUS_OK)
		s = matrix_run(&m, &err);
	matrix_done(&m);
	return s == STATUS_OK ? ASSAY_OK : fail(error, s, &err);
}

// ---- one cell --------------------------------------------------------------------------------------------------------

static void keep_last(void *context, const struct matrix_event *e)
{
	struct owned_row **kept = context;

	if (e->kind != MATRIX_RESULT)
		return;
	if (*kept)
		assay_row_free(&(*kept)->row);
	*kept = make_row(e->result);
}

enum assay_status assay_run(
	const char *model, const char *platform, const char *const *options, struct assay_row **row, struct assay_error *error)
{
	const char *const models[] = { model, NULL }, *const platforms[] = { platform, NULL };
	const struct assay_matrix one = { .models = models, .platforms = platforms, .options = options };
	struct matrix m = MATRIX_INIT;
	struct owned_row *kept = NULL;
	struct error err = { 0 };

	m.event = keep_last;
	m.context = &kept;
	enum status s = plan(&m, &one, &err);
	if (s == STATUS_OK && m.cell_count != 1)
		s = error_set(
			&err, STATUS_BAD_INPUT, "these options make %zu cells: assay_matrix_run runs several", m.cell_count);
	if (s == STATUS_OK)
		s = matrix_run(&m, &err);
	matrix_done(&m);
	if (s == STATUS_OK) {
		*row = &kept->row;
		return ASSAY_OK;
	}
	assay_row_free(kept ? &kept->row : NULL);
	return fail(error, s, &err);
}

// ---- a whole pipeline ------------------------------------------------------------------------------------------------

static enum status read_words(const struct assay_pipeline *x, json_t *inputs, json_t *options, struct error *err)
{
	enum status s = STATUS_OK;

	for (size_t i = 0; x->inputs && x->inputs[i]; i++)
		if (json_array_append_new(inputs, json_string(x->inputs[i])))
			return error_set(err, STATUS_BAD_INPUT, "inputs[%zu]: no UTF-8", i);
	if (!json_array_size(inputs))
		return error_set(err, STATUS_BAD_INPUT, "assay_pipeline.inputs has none");
	for (size_t i = 0; x->options && x->options[i] && !s; i++)
		s = pipeline_option_typed(options, x->options[i], err);
	return s;
}

static enum status ask(const struct assay_pipeline *x, struct arena *a, char **json, struct error *err)
{
	json_t *inputs = json_array(), *options = json_object();
	struct pipeline_told told = { 0 };
	const char *folder;
	struct target target;
	enum status s = read_words(x, inputs, options, err);

	if (!s)
		s = hub_folder(&folder, a, x->model ? x->model : "", "a model", err);
	if (!s && !(s = plan_pipeline_target(&target, a, x->on, err)))
		s = pipeline_ask(&(struct pipeline_asked){ .folder = folder,
					 .task = x->task,
					 .target = &target,
					 .words = inputs,
					 .options = options,
					 .precision = precision_typed(a, x->precision),
					 .save = x->save,
					 .stop = (volatile sig_atomic_t *)(uintptr_t)x->stop },
			&told, a, err);
	if (!s) {
		json_t *all = pipeline_told_json(&told, x->on ? x->on : "cpu", x->precision);

		*json = visible_json(all, JSON_INDENT(2));
		json_decref(all);
	}
	pipeline_told_done(&told);
	json_decref(inputs);
	json_decref(options);
	return s;
}

enum assay_status assay_pipeline_json(const struct assay_pipeline *pipeline, char **json, struct assay_error *error)
{
	struct assay_pipeline x = { 0 };
	struct error err = { 0 };
	struct arena a = { 0 };
	enum status s;

	if (pipeline->size == 0 || pipeline->size > sizeof x) {
		error_set(&err, STATUS_BAD_INPUT,
			"assay_pipeline.size is %zu: it is sizeof(struct assay_pipeline), %zu in this version", pipeline->size,
			sizeof x);
		return fail(error, STATUS_BAD_INPUT, &err);
	}
	memcpy(&x, pipeline, pipeline->size);
	s = ask(&x, &a, json, &err);
	arena_done(&a);
	return s == STATUS_OK ? ASSAY_OK : fail(error, s, &err);
}

// ---- the rest --------------------------------------------------------------------------------------------------------

enum assay_status assay_fetch(const char *model, const volatile sig_atomic_t *stop, struct assay_error *error)
{
	const struct fetch_options options = { .want = FETCH_MODEL };
	const struct fetch_watch watch = { .stop = stop };
	const char *name, *revision;
	struct hub_model hub;
	struct arena a = { 0 };
	struct error err = { 0 };
	enum status s = STATUS_OK;
	struct fetch *f;

	if (hub_find(&hub, &a, model, NULL) != STATUS_OK || hub.kind != HUB_CACHED || !hub_weights_are_whole(hub.path)) {
		if (fetch_is_offline())
			s = error_set(&err, STATUS_UNAVAILABLE,
				"%s: not whole in the Hub's cache, and nothing is fetched offline", model);
		else if (!hub_remote_name(&name, &revision, &a, model))
			s = error_set(&err, STATUS_BAD_INPUT,
				"%s cannot be the name of a model on the Hub, which is like ORG/NAME or ORG/NAME@REVISION",
				model);
		else if ((s = fetch_plan(&f, &a, name, revision, &options, &watch, &err)) == STATUS_OK)
			s = fetch_run(f, &err);
	}
	arena_done(&a);
	return s == STATUS_OK ? ASSAY_OK : fail(error, s, &err);
}

enum assay_status assay_detect_json(char **json, struct assay_error *error)
{
	json_t *all = detect_all();

	*json = visible_json(all, JSON_INDENT(2));
	json_decref(all);
	(void)error;
	return ASSAY_OK;
}

enum assay_status assay_report(const char *db, const char *format, char **text, struct assay_error *error)
{
	enum report_format f = report_format_find(format);
	struct store store = { 0 };
	struct text out = { 0 };
	struct error err = { 0 };

	if (f == REPORT_FORMAT_COUNT) {
		error_set(&err, STATUS_BAD_INPUT, "unknown report format '%s': one of %s", format ? format : "",
			report_format_words());
		return fail(error, STATUS_BAD_INPUT, &err);
	}
	enum status s = store_open(&store, db, true, &err);
	if (s == STATUS_OK)
		s = report_write(&store, f, &out, &err);
	store_close(&store);
	if (s == STATUS_OK && (*text = strdup(text_get(&out))) == NULL)
		abort();
	text_done(&out);
	return s == STATUS_OK ? ASSAY_OK : fail(error, s, &err);
}

void assay_free(char *text)
{
	free(text);
}
