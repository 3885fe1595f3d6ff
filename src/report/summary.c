// SPDX-License-Identifier: Apache-2.0
// Gathers the facts of a report from the rows. Of every question the latest answer counts; an interrupted or running row
// hides no finished one. Latencies are compared within a line only: same model, weights, layers, batch, length and type.
#include "report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

// ---- rows --------------------------------------------------------------------------------------------------------

static bool ran(enum verdict v)
{
	return v == VERDICT_RIGHT || v == VERDICT_WRONG || v == VERDICT_UNJUDGED;
}

static const char *cause_of(struct arena *a, const struct report_cell *c)
{
	if (c->is_good || c->is_running)
		return NULL;
	if (c->row.cause != NULL && *c->row.cause != '\0')
		return c->row.cause;
	if (c->row.actual != NULL && !text_is(c->row.actual, c->row.requested))
		return arena_printf(a, "%s was asked for and %s ran", c->row.requested, c->row.actual);
	return verdict_sentence(c->verdict);
}

static const char *p90_of(struct arena *a, const struct row *r)
{
	if (!isnan(r->latency_p90_ms))
		return report_ms(a, r->latency_p90_ms);
	if (r->samples == ROW_NONE || r->samples <= 0)
		return NULL;
	return arena_printf(a, "n too small (%lld of 64 samples)", (long long)r->samples);
}

static enum status take_cells(struct store *s, struct summary *out, struct error *err)
{
	// What tells questions apart on the same machine. Failed cells lack what only a run could tell, so those are not here.
	static const char sql[] =
		"SELECT r.*, c.device AS asked_device FROM result r JOIN cell c ON c.id = r.id"
		" QUALIFY row_number() OVER (PARTITION BY r.machine, r.model, r.requested, c.device, c.asked_options, c.synthetic, c.layers, c.batch, c.sequence, r.new_tokens"
		" ORDER BY CASE WHEN r.state = 'running' OR r.verdict = 'interrupted' THEN 1 ELSE 0 END, r.id DESC) = 1 ORDER BY r.id";
	struct arena *a = &s->arena;
	struct table t;
	enum status status = store_query(s, sql, &t, err);

	if (status != STATUS_OK)
		return status;
	out->cell_count = t.row_count;
	out->cells = ARENA_ARRAY(a, t.row_count + 1, struct report_cell);
	for (size_t i = 0; i < t.row_count; i++) {
		struct report_cell *c = &out->cells[i];
		table_row(&t, i, &c->row);
		c->machine = table_get(&t, i, "machine");
		c->asked_device = table_get(&t, i, "asked_device");
		c->is_running = c->row.verdict == NULL;
		c->verdict = c->is_running ? VERDICT_COUNT : verdict_find(c->row.verdict);
		if (!c->is_running && c->verdict == VERDICT_COUNT)
			return error_set(err, STATUS_BAD_INPUT, "row %lld has the verdict '%s', which this assay does not know: use a newer one",
				(long long)c->row.row, c->row.verdict);
		bool here = c->row.actual == NULL || text_is(c->row.actual, c->row.requested);
		c->is_good = !c->is_running && verdict_exit_code(c->verdict) == 0 && here;
		if (c->verdict == VERDICT_RIGHT)
			c->agreement = text_is(c->row.reference, "golden") ? "agrees with transformers" : "engines agree";
		c->cause = cause_of(a, c);
		c->p90 = ran(c->verdict) ? p90_of(a, &c->row) : NULL;
		c->times_cpu = (double)NAN;
	}
	status = store_query(s, "SELECT count(*) AS n FROM cell", &t, err);
	if (status == STATUS_OK)
		out->rows = table_integer(&t, 0, "n");
	return status;
}

// ---- the matrix --------------------------------------------------------------------------------------------------

static void count_cell(struct report_counts *n, const struct report_cell *c)
{
	n->total++;
	n->good += c->is_good;
	if (c->is_running)
		n->running++;
	else if (!c->is_good && verdict_exit_code(c->verdict) == 0)
		n->elsewhere++;
	else
		n->of[c->verdict]++;
}

static bool same_or_unknown(const char *x, const char *y)
{
	return x == NULL || y == NULL || text_is(x, y);
}

static bool fits_line(const struct report_line *l, const struct report_cell *c)
{
	const struct row *r = &c->row;

	return text_is(l->model, r->model) && text_is(l->machine, c->machine) && same_or_unknown(l->weights, r->weights)
		&& same_or_unknown(l->compute_dtype, r->compute_dtype) && l->layers == r->layers
		&& (l->batch == r->batch || l->batch == ROW_NONE || r->batch == ROW_NONE)
		&& (l->sequence == r->sequence || l->sequence == ROW_NONE || r->sequence == ROW_NONE) && l->new_tokens == r->new_tokens;
}

static void add_to_line(struct report_line *l, const struct report_cell *c)
{
	const struct row *r = &c->row;

	l->model = r->model;
	l->name = report_model_name(r->model);
	l->machine = c->machine;
	l->layers = r->layers;
	l->new_tokens = r->new_tokens;
	l->model_type = l->model_type != NULL ? l->model_type : r->model_type;
	l->architecture = l->architecture != NULL ? l->architecture : r->architecture;
	l->weights = l->weights != NULL ? l->weights : r->weights;
	l->compute_dtype = l->compute_dtype != NULL ? l->compute_dtype : r->compute_dtype;
	l->batch = l->batch != ROW_NONE ? l->batch : r->batch;
	l->sequence = l->sequence != ROW_NONE ? l->sequence : r->sequence;
}

static const char *variant_of(struct arena *a, const struct report_line *l, bool many_machines)
{
	const char *out = l->batch != ROW_NONE ? arena_printf(a, "batch %lld", (long long)l->batch) : "";

	if (l->sequence != ROW_NONE)
		out = arena_printf(a, "%s%s%lld tokens", out, *out ? ", " : "", (long long)l->sequence);
	if (l->new_tokens != ROW_NONE)
		out = arena_printf(a, "%s, time of each of %lld generated", out, (long long)l->new_tokens);
	if (l->compute_dtype != NULL)
		out = arena_printf(a, "%s%s%s", out, *out ? ", " : "", l->compute_dtype);
	if (many_machines)
		out = arena_printf(a, "%s%smachine %.8s", out, *out ? ", " : "", l->machine != NULL ? l->machine : "?");
	return out;
}

static const char *warning_of(struct arena *a, const struct report_line *l)
{
	bool synthetic = text_is(l->weights, "synthetic"), shortened = l->layers != ROW_NONE && l->layers > 0;

	if (!synthetic && !shortened)
		return NULL;
	return arena_printf(a, "%s%s%s", synthetic ? "synthetic weights" : "", synthetic && shortened ? ", " : "",
		shortened ? arena_printf(a, "only %lld layer%s", (long long)l->layers, l->layers == 1 ? "" : "s") : "");
}

// A platform's name says its device only where cells asked for more than one.
static void name_platforms(struct summary *out, struct arena *a)
{
	for (size_t i = 0; i < out->cell_count; i++) {
		struct report_cell *c = &out->cells[i];
		c->platform = c->row.requested != NULL ? c->row.requested : "?";
		for (size_t k = 0; k < out->cell_count; k++) {
			const struct report_cell *o = &out->cells[k];
			if (text_is(o->row.requested, c->row.requested) && !text_is(o->asked_device, c->asked_device) && c->asked_device != NULL && *c->asked_device)
				c->platform = arena_printf(a, "%s:%s", c->row.requested, c->asked_device);
		}
	}
}

static void place_cells(struct summary *out, struct arena *a)
{
	out->columns = ARENA_ARRAY(a, out->cell_count + 1, const char *);
	out->column_counts = ARENA_ARRAY(a, out->cell_count + 1, struct report_counts);
	out->lines = ARENA_ARRAY(a, out->cell_count + 1, struct report_line);
	name_platforms(out, a);
	for (size_t i = 0; i < out->cell_count; i++) {
		struct report_cell *c = &out->cells[i];
		while (c->column < out->column_count && !text_is(out->columns[c->column], c->platform))
			c->column++;
		if (c->column == out->column_count)
			out->columns[out->column_count++] = c->platform;
	}
	for (size_t i = 0; i < out->cell_count; i++) {
		struct report_cell *c = &out->cells[i];
		// Two answers of one line and column differ in something that has no place in a line (options): each has its own.
		while (c->line < out->line_count && (!fits_line(&out->lines[c->line], c) || out->lines[c->line].cell[c->column] != 0))
			c->line++;
		struct report_line *l = &out->lines[c->line];
		if (c->line == out->line_count) {
			out->line_count++;
			l->batch = l->sequence = l->new_tokens = ROW_NONE;
			l->cell = ARENA_ARRAY(a, out->column_count, size_t);
		}
		add_to_line(l, c);
		l->cell[c->column] = i + 1;
		count_cell(&out->counts, c);
		count_cell(&out->column_counts[c->column], c);
	}
	for (size_t i = 0; i < out->line_count; i++) {
		out->lines[i].variant = variant_of(a, &out->lines[i], out->machine_count > 1);
		out->lines[i].warning = warning_of(a, &out->lines[i]);
	}
}

// The fastest of a line has the lowest median. A cell whose fastest run is not slower than that median cannot be told
// from it, and neither can an unstable one, whose median may be another tomorrow: they are then only near each other.
static bool is_unstable(const struct report_cell *c)
{
	return text_is(c->row.stability, "unstable");
}

static void rank_line(struct summary *out, const struct report_line *l)
{
	struct report_cell *best = NULL, *cpu = NULL;
	size_t timed = 0;

	for (size_t k = 0; k < out->column_count; k++) {
		struct report_cell *c = l->cell[k] ? &out->cells[l->cell[k] - 1] : NULL;
		if (c == NULL || !c->is_good || isnan(c->row.latency_ms))
			continue;
		timed++;
		if (best == NULL || c->row.latency_ms < best->row.latency_ms)
			best = c;
		if (text_is(c->platform, "cpu"))
			cpu = c;
	}
	if (timed < 2)
		return;
	bool alone = true;
	for (size_t k = 0; k < out->column_count; k++) {
		struct report_cell *c = l->cell[k] ? &out->cells[l->cell[k] - 1] : NULL;
		if (c == NULL || !c->is_good || isnan(c->row.latency_ms))
			continue;
		if (cpu != NULL && c != cpu)
			c->times_cpu = cpu->row.latency_ms / c->row.latency_ms;
		bool overlaps = !isnan(c->row.latency_min_ms) && c->row.latency_min_ms <= best->row.latency_ms;
		if (c != best && (overlaps || is_unstable(c) || is_unstable(best))) {
			c->is_near_fastest = true;
			alone = false;
		}
	}
	best->is_fastest = alone;
	best->is_near_fastest = !alone;
}

static void count_models(struct summary *out)
{
	for (size_t i = 0; i < out->line_count; i++) {
		bool seen = false, good = false;
		for (size_t k = 0; k < out->line_count; k++) {
			if (!text_is(out->lines[i].model, out->lines[k].model))
				continue;
			seen = seen || k < i;
			for (size_t c = 0; c < out->column_count; c++)
				good = good || (out->lines[k].cell[c] && out->cells[out->lines[k].cell[c] - 1].is_good && ran(out->cells[out->lines[k].cell[c] - 1].verdict));
		}
		out->models_total += !seen;
		out->models_good += !seen && good;
	}
}

static bool same_list(const char *const *x, size_t x_count, const char *const *y, size_t y_count)
{
	for (size_t i = 0; i < x_count && x_count == y_count; i++) {
		if (!text_is(x[i], y[i]))
			return false;
	}
	return x_count == y_count;
}

static void add_once(const char **list, size_t *count, const char *item)
{
	for (size_t i = 0; i < *count; i++) {
		if (text_is(list[i], item))
			return;
	}
	list[(*count)++] = item;
}

// What is worse stands first: wrong answers, then what broke, then what could not be had.
static int rank_of(const struct report_failure *f)
{
	static const int ranks[VERDICT_COUNT] = {
		[VERDICT_WRONG] = 0, [VERDICT_CRASHED] = 1, [VERDICT_FAILED] = 2, [VERDICT_NO_MEMORY] = 3, [VERDICT_TIMEOUT] = 4,
		[VERDICT_UNSUPPORTED] = 6, [VERDICT_UNAVAILABLE] = 7, [VERDICT_INTERRUPTED] = 8,
	};

	return f->is_elsewhere ? 5 : ranks[f->verdict];
}

static int by_rank(const void *x, const void *y)
{
	const struct report_failure *f = x, *g = y;

	return rank_of(f) != rank_of(g) ? rank_of(f) - rank_of(g) : (g->model_count > f->model_count) - (g->model_count < f->model_count);
}

// First by model and cause, collecting platforms; then models that fail alike on the same platforms become one entry.
static void gather_failures(struct summary *out, struct arena *a)
{
	struct report_failure *f = out->failures = ARENA_ARRAY(a, out->cell_count + 1, struct report_failure);
	size_t count = 0;

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		bool elsewhere = !c->is_running && verdict_exit_code(c->verdict) == 0;
		size_t k = 0;
		if (c->is_good || c->is_running)
			continue;
		while (k < count && !(f[k].verdict == c->verdict && f[k].is_elsewhere == elsewhere && text_is(f[k].cause, c->cause)
			&& text_is(f[k].models[0], report_model_name(c->row.model))))
			k++;
		if (k == count) {
			f[count++] = (struct report_failure){ .cause = c->cause, .verdict = c->verdict, .is_elsewhere = elsewhere,
				.models = ARENA_ARRAY(a, out->line_count, const char *), .platforms = ARENA_ARRAY(a, out->column_count, const char *) };
			f[k].models[f[k].model_count++] = report_model_name(c->row.model);
		}
		add_once(f[k].platforms, &f[k].platform_count, c->platform);
	}
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;
		while (k < out->failure_count && !(f[k].verdict == f[i].verdict && f[k].is_elsewhere == f[i].is_elsewhere && text_is(f[k].cause, f[i].cause)
			&& same_list(f[k].platforms, f[k].platform_count, f[i].platforms, f[i].platform_count)))
			k++;
		if (k == out->failure_count)
			f[out->failure_count++] = f[i];
		else
			add_once(f[k].models, &f[k].model_count, f[i].models[0]);
	}
	qsort(f, out->failure_count, sizeof *f, by_rank);
}

// ---- what to know ------------------------------------------------------------------------------------------------

static void gather_notes(struct summary *out, struct arena *a)
{
	size_t shortened = 0, emulated = 0, unstable = 0, shared_graph = 0, unjudged = 0, split = 0, unknown = 0, timed = 0;
	const char **n = out->notes = ARENA_ARRAY(a, 16, const char *);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct row *r = &out->cells[i].row;
		out->synthetic += text_is(r->weights, "synthetic");
		shortened += r->shortened == 1;
		emulated += r->emulated == 1;
		if (!ran(out->cells[i].verdict))
			continue;
		timed++;
		unstable += text_is(r->stability, "unstable");
		shared_graph += out->cells[i].agreement != NULL && !text_is(r->reference, "golden");
		unjudged += out->cells[i].verdict == VERDICT_UNJUDGED;
		unknown += r->nodes_on_platform == ROW_NONE;
		split += r->nodes_on_platform != ROW_NONE && r->nodes != ROW_NONE && r->nodes_on_platform + (r->nodes_fused == ROW_NONE ? 0 : r->nodes_fused) < r->nodes;
	}
#define NOTE(count, ...) if ((count) > 0) n[out->note_count++] = arena_printf(a, __VA_ARGS__)
	NOTE(out->synthetic, "%zu of %zu cells ran, or would run, with synthetic weights: seeded random numbers of the right shapes. Their times and memory are those of the architecture; their outputs mean nothing.",
		out->synthetic, out->cell_count);
	NOTE(shortened, "%zu of %zu cells have fewer layers than the model: their times and memory are not the model's.", shortened, out->cell_count);
	NOTE(emulated, "%zu of %zu cells were asked of an emulated device, a software stand-in: their times say nothing about the hardware.", emulated, out->cell_count);
	NOTE(shared_graph, "%zu of %zu cells that ran were judged against another engine that was given the same graph (\"engines agree\"); only \"agrees with transformers\" compares with the original implementation.",
		shared_graph, timed);
	NOTE(unjudged, "%zu of %zu cells that ran had nothing to be compared with (unjudged).", unjudged, timed);
	NOTE(unstable, "%zu of %zu cells that ran had unstable times: their last windows of runs differ by more than 10\u00a0%%.", unstable, timed);
	NOTE(split, "In %zu of %zu cells that ran, some nodes ran elsewhere than on the platform that was asked for.", split, timed);
	NOTE(unknown, "In %zu of %zu cells that ran it is not known where every node ran.", unknown, timed);
	NOTE(out->counts.running, "%zu cell%s still running, or waiting for the program that started %s.", out->counts.running,
		out->counts.running == 1 ? " is" : "s are", out->counts.running == 1 ? "it" : "them");
	NOTE(out->machine_count > 1 ? out->machine_count : 0, "The rows come from %zu machines; cells of different machines are in different lines.", out->machine_count);
#undef NOTE
	out->methods = ARENA_ARRAY(a, out->cell_count + 1, const char *);
	for (size_t i = 0; i < out->cell_count; i++) {
		const char *m = out->cells[i].row.memory_sampling;
		size_t k = 0;
		while (m != NULL && k < out->method_count && !text_is(out->methods[k], m))
			k++;
		if (m != NULL && k == out->method_count)
			out->methods[out->method_count++] = m;
	}
}

// ---- machine, platforms, runs ------------------------------------------------------------------------------------

static enum status take_machines(struct store *s, struct summary *out, struct error *err)
{
	struct table t;
	enum status status = store_query(s, "SELECT * FROM machine WHERE id IN (SELECT machine FROM run) ORDER BY (SELECT max(r.id) FROM run r WHERE r.machine = machine.id) DESC",
		&t, err);

	if (status != STATUS_OK)
		return status;
	out->machines = ARENA_ARRAY(&s->arena, t.row_count + 1, struct report_machine);
	out->machine_count = t.row_count;
	for (size_t i = 0; i < t.row_count; i++)
		out->machines[i] = (struct report_machine){
			.id = table_get(&t, i, "id"), .cpu_model = table_get(&t, i, "cpu_model"), .architecture = table_get(&t, i, "architecture"),
			.os = table_get(&t, i, "os"), .kernel = table_get(&t, i, "kernel"), .features = table_get(&t, i, "features"),
			.hypervisor = table_get(&t, i, "hypervisor"), .cores = table_integer(&t, i, "cores"), .threads = table_integer(&t, i, "threads"),
			.usable_cpus = table_integer(&t, i, "usable_cpus"), .memory_bytes = table_integer(&t, i, "memory_bytes"),
			.memory_limit_bytes = table_integer(&t, i, "memory_limit_bytes"), .l2_bytes = table_integer(&t, i, "l2_bytes"), .l3_bytes = table_integer(&t, i, "l3_bytes"),
		};
	return STATUS_OK;
}

static enum status take_platforms(struct store *s, struct summary *out, struct error *err)
{
	struct table t;
	enum status status = store_query(s, "SELECT * FROM platform_detection WHERE run = (SELECT max(run) FROM platform_detection) ORDER BY id", &t, err);

	if (status != STATUS_OK)
		return status;
	out->platforms = ARENA_ARRAY(&s->arena, t.row_count + 1, struct report_platform);
	out->platform_count = t.row_count;
	for (size_t i = 0; i < t.row_count; i++)
		out->platforms[i] = (struct report_platform){
			.name = table_get(&t, i, "platform"), .reason = table_get(&t, i, "reason"), .engine = table_get(&t, i, "engine"),
			.engine_version = table_get(&t, i, "engine_version"), .library = table_get(&t, i, "library"), .device = table_get(&t, i, "device"),
			.at = table_get(&t, i, "detected_at"), .is_available = text_is(table_get(&t, i, "available"), "true"),
		};
	return STATUS_OK;
}

static enum status take_runs(struct store *s, struct summary *out, struct error *err)
{
	struct table t;
	enum status status = store_query(s, "SELECT r.id, r.command, r.program_version, strftime(r.started_at, '%Y-%m-%d %H:%M') AS started,"
		" (SELECT count(*) FROM cell c WHERE c.run = r.id) AS cells FROM run r ORDER BY r.id DESC", &t, err);

	if (status != STATUS_OK)
		return status;
	out->runs = ARENA_ARRAY(&s->arena, t.row_count + 1, struct report_run);
	out->run_count = t.row_count;
	for (size_t i = 0; i < t.row_count; i++)
		out->runs[i] = (struct report_run){ .id = table_integer(&t, i, "id"), .command = table_get(&t, i, "command"),
			.version = table_get(&t, i, "program_version"), .started_at = table_get(&t, i, "started"), .cells = table_integer(&t, i, "cells") };
	return STATUS_OK;
}

enum status summary_make(struct store *s, struct summary *out, struct error *err)
{
	time_t now = (time_t)(clock_unix_us() / 1000000);
	struct tm utc;
	char text[32];

	*out = (struct summary){ .version = ASSAY_VERSION };
	gmtime_r(&now, &utc);
	strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
	out->made_at = arena_strdup(&s->arena, text);
	enum status status = take_machines(s, out, err);
	if (status == STATUS_OK)
		status = take_platforms(s, out, err);
	if (status == STATUS_OK)
		status = take_runs(s, out, err);
	if (status == STATUS_OK)
		status = take_cells(s, out, err);
	if (status == STATUS_OK)
		status = report_comparisons(s, &out->comparisons, &out->comparison_count, err);
	if (status != STATUS_OK)
		return error_prefix(err, "report");
	place_cells(out, &s->arena);
	for (size_t i = 0; i < out->line_count; i++)
		rank_line(out, &out->lines[i]);
	count_models(out);
	gather_failures(out, &s->arena);
	gather_notes(out, &s->arena);
	return STATUS_OK;
}
