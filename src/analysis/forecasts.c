// SPDX-License-Identifier: Apache-2.0
// Predictions against measurements: for every row the time that the others of its platform, without its model, would have
// promised.
#include "analysis/forecasts.h"

#include <math.h>

#include "base/json.h"
#include "base/text.h"

static bool is_point(const struct report_cell *c)
{
	const struct row *r = &c->row;

	return report_is_ranked(c) && report_is_plain(c) && c->question.own_options == NULL && r->flops > 0 &&
		r->moved_bytes > 0 && r->nodes > 0;
}

const char *forecast_precision(const struct row *r)
{
	return text_is(r->precision, "stored") ? NULL : r->precision;
}

static struct forecast_group *group_of(struct forecast_group *groups, size_t *count, const struct report_cell *c)
{
	for (size_t i = 0; i < *count; i++) {
		struct forecast_group *g = &groups[i];
		if (text_is(g->machine, c->machine) && text_is(g->platform, c->platform) &&
			text_is(g->precision, forecast_precision(&c->row)) && g->threads == c->row.threads)
			return g;
	}
	groups[*count] = (struct forecast_group){ .machine = c->machine,
		.platform = c->platform,
		.precision = forecast_precision(&c->row),
		.threads = c->row.threads };
	return &groups[(*count)++];
}

// A shortened model is the same model: its rows go out together.
static int model_of(const struct forecast_group *g, const char *model)
{
	int next = 0;

	for (size_t i = 0; i < g->count; i++) {
		if (text_is(g->cells[i]->name, model))
			return g->points[i].model;
		next = g->points[i].model >= next ? g->points[i].model + 1 : next;
	}
	return next;
}

static void add_point(struct forecast_group *g, const struct report_cell *c, struct arena *a)
{
	const struct row *r = &c->row;
	struct forecast_point p = {
		.flops = (double)r->flops, .nbytes = (double)r->moved_bytes, .nodes = (double)r->nodes, .ms = r->latency_ms
	};
	json_t *mix = json_parse(r->op_mix), *share;
	const char *op;

	json_object_foreach(mix, op, share) p.mix[forecast_mix_of(op)] += json_number_value(json_object_get(share, "flops"));
	json_decref(mix);
	p.model = model_of(g, c->name);
	if (g->points == NULL) {
		g->points = ARENA_ARRAY(a, FORECAST_ROWS, struct forecast_point);
		g->cells = ARENA_ARRAY(a, FORECAST_ROWS, const struct report_cell *);
	}
	g->points[g->count] = p;
	g->cells[g->count++] = c;
}

static const char *words_of(struct arena *a, const struct summary *s, const struct forecast_group *g)
{
	const char *out = g->platform;
	size_t imported = 0;

	for (size_t i = 0; i < g->count; i++)
		imported += g->cells[i]->is_imported;
	if (g->precision != NULL)
		out = arena_printf(a, "%s, %s", out, g->precision);
	if (g->threads > 0)
		out = arena_printf(a, "%s, %lld thread%s", out, (long long)g->threads, g->threads == 1 ? "" : "s");
	if (imported > 0)
		out = arena_printf(a, "%s, %zu of its %zu rows imported", out, imported, g->count);
	return s->own_machine_count > 1 ? arena_printf(a, "%s, machine %.8s", out, g->machine != NULL ? g->machine : "?") : out;
}

static struct forecast *prove(const struct forecast_group *g, struct arena *a)
{
	struct forecast *made = ARENA_ARRAY(a, g->count + 1, struct forecast);
	struct error ignored = { 0 }; // too few models

	return forecast_prove(g->points, g->count, made, &ignored) == STATUS_OK ? made : NULL;
}

static void gather(struct summary *s, struct arena *a)
{
	struct forecast_group *groups = ARENA_ARRAY(a, s->cell_count + 1, struct forecast_group);
	size_t count = 0;

	// The newest first, so that they are the ones that there is room for.
	for (size_t i = s->cell_count; i-- > 0;) {
		const struct report_cell *c = &s->cells[i];
		if (!is_point(c))
			continue;
		struct forecast_group *g = group_of(groups, &count, c);
		if (g->count < FORECAST_ROWS)
			add_point(g, c, a);
	}
	for (size_t i = 0; i < count; i++) {
		groups[i].words = words_of(a, s, &groups[i]);
		groups[i].proven = prove(&groups[i], a);
	}
	s->forecasts = groups;
	s->forecast_count = count;
}

void forecast_groups_judge(struct forecast_proof *out, const struct summary *s, struct arena *a)
{
	size_t room = 0, n = 0;

	for (size_t i = 0; i < s->forecast_count; i++)
		room += s->forecasts[i].count;
	struct forecast *made = ARENA_ARRAY(a, room + 1, struct forecast);
	double *ms = ARENA_ARRAY(a, room + 1, double);
	for (size_t i = 0; i < s->forecast_count; i++) {
		const struct forecast_group *g = &s->forecasts[i];
		for (size_t k = 0; g->proven != NULL && k < g->count; k++, n++) {
			made[n] = g->proven[k];
			ms[n] = g->points[k].ms;
		}
	}
	forecast_judge(out, ms, made, n);
}

const char *forecast_proof_words(struct arena *a, const struct forecast_proof *p)
{
	if (p->count == 0)
		return NULL;
	return arena_printf(a,
		"%zu of %zu measured times lay within the 90\u00a0%% interval that was predicted without their model "
		"(%.0f\u00a0%%; 95\u00a0%% interval of that share: %.0f to %.0f\u00a0%%); "
		"the middle prediction was %s off, the worst %s",
		p->covered, p->count, 100 * (double)p->covered / (double)p->count, 100 * p->low, 100 * p->high,
		report_times(a, p->median_error), report_times(a, p->worst_error));
}

static const struct report_column columns[] = {
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "predicted_ms", "predicted", true },
	{ "interval", "90 % interval", false },
	{ "measured_ms", "measured", true },
	{ "measured_over_predicted", "measured / predicted", true },
	{ "inside", "", false },
};

static void add_row(
	struct report_section *s, const struct summary *out, const struct forecast_group *g, size_t i, struct arena *a)
{
	const struct forecast *f = &g->proven[i];
	const struct report_cell *c = g->cells[i];
	double ms = g->points[i].ms;
	bool inside = ms >= f->low && ms <= f->high;
	struct report_value *v = section_row(s);

	v[0] = value_noted(value_text(report_model_name(c->row.model)), report_line_words(a, &out->lines[c->line]));
	v[1] = value_noted(value_text(g->words), arena_printf(a, "from %zu rows of %zu other models", f->points, f->models));
	v[2] = value_ms(a, f->ms);
	v[3] = value_text(arena_printf(a, "%s to %s", report_ms(a, f->low), report_ms(a, f->high)));
	v[4] = value_ms(a, ms);
	v[5] = value_times(a, ms / f->ms);
	v[6] = value_text(inside ? "inside" : "outside");
	if (!inside)
		v[6] = value_flagged(v[6]);
}

void summary_gather_forecasts(struct summary *out, struct arena *a)
{
	struct forecast_proof proof;
	size_t rows = 0;

	gather(out, a);
	for (size_t i = 0; i < out->forecast_count; i++)
		rows += out->forecasts[i].count;
	forecast_groups_judge(&proof, out, a);
	struct report_section *s = section_add(out, a, "predictions", "Predictions, tested on what was measured",
		arena_printf(a,
			"PREDICTED, not measured, from what a graph computes and moves and from the other models on the same "
			"platform: how `assay recommend` predicts what nobody ran. "
			"%s.",
			proof.count > 0 ? forecast_proof_words(a, &proof) : ""),
		columns, sizeof columns / sizeof *columns, rows);
	for (size_t i = 0; i < out->forecast_count; i++) {
		const struct forecast_group *g = &out->forecasts[i];
		for (size_t k = g->count; g->proven != NULL && k-- > 0;)
			add_row(s, out, g, k, a);
	}
}
