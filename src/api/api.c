// SPDX-License-Identifier: Apache-2.0
// The public functions of include/assay.h, on top of plan.h. Nothing is decided here: the command line goes the same way.
#include "assay.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "base/visible.h"
#include "cell/protocol.h"
#include "report/report.h"
#include "run/cell.h"

struct owned_row {
	struct assay_row row; // first: assay_row_free gets its address
	struct arena arena;
	char *json;
};

static int fail(struct assay_error *out, const struct error *err)
{
	if (out) {
		size_t length = strnlen(err->text, sizeof out->text - 1);
		memcpy(out->text, err->text, length);
		out->text[length] = '\0';
	}
	return 1;
}

const char *assay_version(void)
{
	return ASSAY_VERSION;
}

static int is_stopped(void *context, uint64_t done, uint64_t total)
{
	const struct assay_cell *cell = context;

	(void)done;
	(void)total;
	return cell->stop && *cell->stop;
}

// After a stop the cell still begins, to end as interrupted; its key is no model's.
static enum status identify(struct plan_model *m, struct arena *a, const struct assay_cell *cell, struct error *err)
{
	struct error why = { 0 };
	enum status s = plan_identify(m, a, is_stopped, (void *)(uintptr_t)cell, &why);

	return s == STATUS_OK || s == STATUS_INTERRUPTED ? STATUS_OK : error_set(err, s, "%s", why.text);
}

static enum status run(const struct assay_cell *cell, struct arena *a, struct cell_result *result, struct error *err)
{
	struct question q = {
		.batch = cell->batch,
		.sequence = cell->sequence,
		.runs = cell->runs,
		.layers = cell->layers,
		.seed = cell->seed,
		.synthetic = cell->synthetic != 0,
		.is_static = cell->static_shapes != 0,
		.timeout_s = cell->timeout_s,
		.memory_bytes = cell->memory_bytes,
		.force = cell->force != 0,
		.golden = cell->golden,
		.allow_fallback = cell->allow_fallback != 0,
		.variant = { .precision = cell->precision, .threads = cell->threads, .effort = cell->effort },
	};
	struct precise precise;
	struct cell_watch watch = { .phase = cell->phase, .context = cell->context, .stop = (volatile sig_atomic_t *)cell->stop };
	const char *platform = cell->platform ? cell->platform : "cpu";
	struct plan_model model;
	struct plan_memory memory = { 0 };
	struct target *target;
	struct store store = { 0 };
	struct machine machine;
	size_t count;

	if (!cell->model)
		return error_set(err, STATUS_BAD_INPUT, "assay_cell.model is NULL: name a folder or a model");
	if (!effort_find(cell->effort))
		return error_set(
			err, STATUS_BAD_INPUT, "assay_cell.effort \"%s\": there are rapid, quick and normal", cell->effort);
	enum status s = precision_parse(&precise, cell->precision, err);
	if (s == STATUS_OK)
		s = plan_targets(&target, &count, a, &platform, 1, cell->options, err);
	if (s == STATUS_OK)
		s = plan_model(&model, a, cell->model, &q, err);
	if (s == STATUS_OK)
		s = identify(&model, a, cell, err);
	if (s == STATUS_OK)
		plan_memory(&memory, a, &model, target, &q);
	if (s == STATUS_OK && !memory.refused)
		s = plan_weights(&model, a, &q, plan_cache_limit(), NULL, NULL, err);
	if (s != STATUS_OK || !cell->db)
		return s != STATUS_OK ? s : plan_run(&model, target, &q, &memory, NULL, NULL, &watch, a, result, err);
	machine_detect(&machine, a);
	s = store_open(&store, cell->db, false, err);
	if (s == STATUS_OK)
		s = store_begin_run(&store, &machine, "assay_run", err);
	if (s == STATUS_OK) {
		json_t *platforms = detect_platforms(target, 1, false);
		s = store_detection(&store, platforms, err);
		json_decref(platforms);
	}
	if (s == STATUS_OK)
		s = plan_run(&model, target, &q, &memory, NULL, &store, &watch, a, result, err);
	if (s == STATUS_OK)
		s = store_end_run(&store, err);
	store_close(&store);
	return s;
}

int assay_run(const struct assay_cell *cell, struct assay_row **row, struct assay_error *error)
{
	struct error err = { 0 };
	struct cell_result result = { 0 };
	struct owned_row *out = calloc(1, sizeof *out);

	if (!out)
		abort();
	if (run(cell, &out->arena, &result, &err) != STATUS_OK) {
		assay_row_free(&out->row);
		return fail(error, &err);
	}
	json_t *json = plan_json(&result);
	const struct row *r = &result.row;
	out->json = visible_json(json, JSON_INDENT(2));
	json_decref(json);
	// The texts die with the arena; the model's name may be the caller's, so it is copied.
	out->row = (struct assay_row){
		.model = arena_strdup(&out->arena, r->model),
		.requested = arena_strdup(&out->arena, r->requested),
		.actual = r->actual,
		.device = arena_strdup(&out->arena, r->device),
		.verdict = verdict_word(result.verdict),
		.sentence = verdict_sentence(result.verdict),
		.cause = r->cause,
		.reference = r->reference,
		.load_ms = r->load_ms,
		.first_ms = r->first_ms,
		.latency_ms = r->latency_ms,
		.peak_anonymous_mib = r->peak_anonymous_mib,
		.max_abs_error = r->max_abs_error,
		.cosine = r->cosine,
		.exit_code = verdict_exit_code(result.verdict),
		.json = out->json,
	};
	*row = &out->row;
	return 0;
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

int assay_detect_json(char **json, struct assay_error *error)
{
	json_t *all = detect_all();
	*json = visible_json(all, JSON_INDENT(2));
	json_decref(all);
	(void)error;
	return 0;
}

int assay_report(const char *db, const char *format, char **text, struct assay_error *error)
{
	enum report_format f = report_format_find(format);
	struct store store = { 0 };
	struct text out = { 0 };
	struct error err = { 0 };

	if (f == REPORT_FORMAT_COUNT) {
		error_set(&err, STATUS_BAD_INPUT, "unknown report format '%s': one of %s", format ? format : "",
			report_format_words());
		return fail(error, &err);
	}
	enum status s = store_open(&store, db, true, &err);
	if (s == STATUS_OK)
		s = report_write(&store, f, &out, &err);
	store_close(&store);
	if (s == STATUS_OK && (*text = strdup(text_get(&out))) == NULL)
		abort();
	text_done(&out);
	return s == STATUS_OK ? 0 : fail(error, &err);
}

void assay_free(char *text)
{
	free(text);
}
