// SPDX-License-Identifier: Apache-2.0
// The report for programs. A cell has the keys of `assay run --json`, and what the report concluded beside them.
#include "report/summary.h"

#include <math.h>
#include <stdio.h>

static json_t *text_json(const char *s)
{
	return s != NULL ? json_string(s) : json_null();
}

static json_t *integer_json(int64_t x)
{
	return x != ROW_NONE ? json_integer(x) : json_null();
}

static json_t *list_json(const char *const *items, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(out, text_json(items[i]));
	return out;
}

static json_t *counts_json(const struct report_counts *n)
{
	json_t *verdicts = json_object();

	for (int v = 0; v < VERDICT_COUNT; v++) {
		if (n->of[v] > 0)
			json_object_set_new(verdicts, verdict_word((enum verdict)v), json_integer((json_int_t)n->of[v]));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "cells", (json_int_t)n->total, "good", (json_int_t)n->good,
		"ran_elsewhere", (json_int_t)n->elsewhere, "stood_in", (json_int_t)n->stood_in, "imported",
		(json_int_t)n->imported, "running", (json_int_t)n->running, "verdicts", verdicts);
}

static json_t *cell_json(const struct report_cell *c)
{
	json_t *out = row_to_json(&c->row);

	json_object_set_new(out, "platform", text_json(c->platform));
	json_object_set_new(out, "machine", text_json(c->machine));
	json_object_set_new(out, "state", json_string(c->is_running ? "running" : "finished"));
	json_object_set_new(out, "good", json_boolean(c->is_good));
	json_object_set_new(out, "not_valid", json_boolean(c->is_not_valid));
	json_object_set_new(out, "qualifiers", text_json(c->qualifiers));
	json_object_set_new(out, "software", text_json(report_software(&c->row)));
	json_object_set_new(out, "agreement", text_json(c->agreement));
	json_object_set_new(out, "why_not", text_json(c->cause));
	json_object_set_new(out, "asked_again_later", text_json(c->later));
	json_object_set_new(out, "fastest", json_boolean(c->is_fastest));
	json_object_set_new(out, "near_fastest", json_boolean(c->is_near_fastest));
	json_object_set_new(out, "unstable_no_claim", json_boolean(c->is_untold));
	json_object_set_new(out, "times_cpu", isnan(c->times_cpu) ? json_null() : json_real(c->times_cpu));
	if (!isnan(c->against_cpu.times))
		json_object_set_new(out, "against_cpu",
			json_pack("{s:f, s:o, s:o, s:I, s:I, s:b, s:s}", "times", c->against_cpu.times, "low",
				isnan(c->against_cpu.low) ? json_null() : json_real(c->against_cpu.low), "high",
				isnan(c->against_cpu.high) ? json_null() : json_real(c->against_cpu.high), "processes",
				(json_int_t)c->against_cpu.processes, "cpu_processes", (json_int_t)c->against_cpu.other_processes,
				"paired", (int)c->against_cpu.is_paired, "claim", c->against_cpu.claim));
	return out;
}

static json_t *matrix_json(const struct summary *s)
{
	json_t *lines = json_array(), *columns = json_array();

	for (size_t k = 0; k < s->column_count; k++)
		json_array_append_new(columns,
			json_pack("{s:s, s:o, s:o}", "platform", s->columns[k], "counts", counts_json(&s->column_counts[k]),
				"software", text_json(s->column_words[k])));
	for (size_t i = 0; i < s->line_count; i++) {
		const struct report_line *l = &s->lines[i];
		json_t *cells = json_object();
		for (size_t k = 0; k < s->column_count; k++) {
			if (l->cell[k] != 0)
				json_object_set_new(cells, s->columns[k], cell_json(&s->cells[l->cell[k] - 1]));
		}
		json_array_append_new(lines,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "model",
				text_json(l->model), "variant", text_json(l->variant), "source", text_json(l->source),
				"model_type", text_json(l->model_type), "architecture", text_json(l->architecture), "machine",
				text_json(l->machine), "weights", text_json(l->weights), "compute_dtype",
				text_json(l->compute_dtype), "batch", integer_json(l->batch), "sequence",
				integer_json(l->sequence), "layers", integer_json(l->layers), "imported",
				json_boolean(l->is_imported), "cells", cells));
	}
	return json_pack("{s:o, s:o}", "columns", columns, "lines", lines);
}

static json_t *comparison_of(const struct report_comparison *r)
{
	json_t *out = comparison_json(&r->line);

	json_object_set_new(out, "imported", json_boolean(r->is_imported));
	json_object_set_new(out, "where", text_json(r->where));
	json_object_set_new(out, "answer", text_json(r->answer));
	json_object_set_new(out, "notes", text_json(r->notes));
	return out;
}

static json_t *fallback_json(const struct report_fallback *f)
{
	json_t *tries = json_array();

	for (size_t k = 0; k < f->try_count; k++) {
		json_t *row = row_to_json(&f->tries[k].row);
		json_object_set_new(row, "platform", text_json(f->tries[k].platform));
		json_array_append_new(tries, row);
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "row", integer_json(f->cell->row.row), "model",
		text_json(f->cell->row.model), "requested", text_json(f->cell->row.requested), "chain", text_json(f->chain),
		"actual",
		f->answer != NULL           ? text_json(f->answer->row.actual)
			: f->try_count == 0 ? text_json(f->cell->row.actual)
					    : json_null(),
		"got", text_json(f->got), "tries", tries);
}

static json_t *fallbacks_json(const struct summary *s)
{
	json_t *out = json_array();

	for (size_t i = 0; i < s->fallback_count; i++)
		json_array_append_new(out, fallback_json(&s->fallbacks[i]));
	return out;
}

static json_t *value_json(const struct report_value *v)
{
	switch (v->kind) {
	case REPORT_TEXT:
		return json_string(v->text);
	case REPORT_REAL:
		return isfinite(v->real) ? json_real(v->real) : json_null();
	case REPORT_INTEGER:
		return json_integer(v->integer);
	case REPORT_ABSENT:
		break;
	}
	return json_null();
}

// [{KEY: value, KEY_note: text where there is one}, ...]
static json_t *section_json(const struct report_section *t)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < t->row_count; i++) {
		json_t *row = json_object();
		for (size_t k = 0; k < t->column_count; k++) {
			const struct report_value *v = &t->values[i * t->column_count + k];
			json_object_set_new(row, t->columns[k].key, value_json(v));
			if (v->note != NULL) {
				char name[80];
				snprintf(name, sizeof name, "%s_note", t->columns[k].key);
				json_object_set_new(row, name, json_string(v->note));
			}
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

// Counts by what is known of a model.
static json_t *standings_json(const struct summary *s)
{
	static const char *const keys[REPORT_MODELS] = { "run", "run_in_part", "only_not_valid", "unjudged", "do_not_run",
		"compile", "unanswered", "asked_only_where_absent", "not_measured_by_assay" };
	json_t *out = json_object();

	for (int m = 0; m < REPORT_MODELS; m++)
		json_object_set_new(out, keys[m],
			json_pack("{s:I, s:o}", "models", (json_int_t)s->models[m], "qualifiers", text_json(s->model_words[m])));
	return out;
}

static size_t models_of(const struct summary *s)
{
	size_t n = 0;

	for (int m = 0; m < REPORT_MODELS; m++)
		n += s->models[m];
	return n;
}

json_t *report_json(const struct summary *s)
{
	json_t *machines = json_array(), *platforms = json_array(), *runs = json_array(), *failures = json_array(),
	       *comparisons = json_array();

	for (size_t i = 0; i < s->machine_count; i++) {
		const struct report_machine *m = &s->machines[i];
		json_array_append_new(machines,
			json_pack("{s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "imported",
				(int)(m->is_imported || m->is_foreign), "id", text_json(m->id), "cpu_model",
				text_json(m->cpu_model), "architecture", text_json(m->architecture), "os", text_json(m->os),
				"kernel", text_json(m->kernel), "features", text_json(m->features), "hypervisor",
				text_json(m->hypervisor), "cores", integer_json(m->cores), "threads", integer_json(m->threads),
				"usable_cpus", integer_json(m->usable_cpus), "memory_bytes", integer_json(m->memory_bytes),
				"memory_limit_bytes", integer_json(m->memory_limit_bytes)));
	}
	for (size_t i = 0; i < s->platform_count; i++) {
		const struct report_platform *p = &s->platforms[i];
		json_array_append_new(platforms,
			json_pack("{s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "name", text_json(p->name), "available",
				(int)p->is_available, "emulated", (int)p->is_emulated, "capabilities", text_json(p->capabilities),
				"reason", text_json(p->reason), "engine", text_json(p->engine), "engine_version",
				text_json(p->engine_version), "library", text_json(p->library), "device", text_json(p->device)));
	}
	for (size_t i = 0; i < s->run_count; i++) {
		const struct report_run *r = &s->runs[i];
		json_array_append_new(runs,
			json_pack("{s:I, s:b, s:o, s:o, s:o, s:o}", "run", (json_int_t)r->id, "imported", (int)r->is_imported,
				"command", text_json(r->command), "version", text_json(r->version), "started_at",
				text_json(r->started_at), "cells", integer_json(r->cells)));
	}
	for (size_t i = 0; i < s->failure_count; i++) {
		const struct report_failure *f = &s->failures[i];
		json_array_append_new(failures,
			json_pack("{s:s, s:b, s:b, s:o, s:o, s:o, s:o}", "verdict", verdict_word(f->verdict), "ran_elsewhere",
				(int)f->is_elsewhere, "stood_in", (int)f->is_stand_in, "qualifiers", text_json(f->qualifiers),
				"cause", text_json(f->cause), "models", list_json(f->models, f->model_count), "platforms",
				list_json(f->platforms, f->platform_count)));
	}
	for (size_t i = 0; i < s->comparison_count; i++)
		json_array_append_new(comparisons, comparison_of(&s->comparisons[i]));
	json_t *root = json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "assay",
		s->version, "made_at", s->made_at, "rows", (json_int_t)s->rows, "models", (json_int_t)models_of(s),
		"models_that_run", (json_int_t)s->models[REPORT_MODEL_RUNS], "machines", machines, "platforms", platforms,
		"counts", counts_json(&s->counts), "matrix", matrix_json(s), "failures", failures, "fallbacks", fallbacks_json(s),
		"comparisons", comparisons, "notes", list_json(s->notes, s->note_count), "memory_sampling",
		list_json(s->methods, s->method_count), "runs", runs);
	json_object_set_new(root, "headline", json_string(s->headline));
	json_object_set_new(root, "model_standings", standings_json(s));
	for (size_t i = 0; i < s->section_count; i++)
		json_object_set_new(root, s->sections[i]->id, section_json(s->sections[i]));
	return root;
}
