// SPDX-License-Identifier: Apache-2.0
// Rows with a question of their own: scenarios (who asks, and how often), and generated tokens.
#include <math.h>

#include "report/gather.h"
#include "base/json.h"

static const struct report_column scenario_columns[] = {
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "scenario", "scenario", false },
	{ "verdict", "verdict", false },
	{ "throughput_per_s", "throughput", true },
	{ "latency_ms", "median", true },
	{ "latency_p90_ms", "90th", true },
	{ "latency_p99_ms", "99th", true },
	{ "result", "what may be claimed", false },
};

// {"queries": 100, "claim": "..."} as "queries 100, claim ..."; objects and lists inside are left to the JSON report.
static const char *facts(struct arena *a, const char *object)
{
	json_t *root = json_parse(object), *v;
	const char *key, *out = "";

	json_object_foreach(root, key, v)
	{
		const char *text = json_is_string(v) ? arena_strdup(a, json_string_value(v))
			: json_is_integer(v)         ? arena_printf(a, "%lld", (long long)json_integer_value(v))
			: json_is_real(v)            ? arena_printf(a, "%.4g", json_real_value(v))
			: json_is_boolean(v)         ? (json_is_true(v) ? "yes" : "no")
						     : NULL;
		if (text != NULL)
			out = arena_printf(a, "%s%s%s %s", out, *out ? ", " : "", key, text);
	}
	json_decref(root);
	return *out ? out : NULL;
}

void summary_gather_scenarios(struct summary *out, struct arena *a)
{
	struct report_section *s = section_add(out, a, "scenarios", "Scenarios",
		"Who asks, as MLPerf names it: one after the other, several at once, everything at once, or as they arrive. A "
		"scenario's throughput is its own, not batch over median.",
		scenario_columns, sizeof scenario_columns / sizeof *scenario_columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		const struct row *r = &c->row;
		if (c->is_running ||
			(r->scenario_result == NULL && (r->scenario == NULL || text_is(r->scenario, "single-stream"))))
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = value_text(r->scenario != NULL ? r->scenario : "single-stream");
		v[3] = value_noted(value_text(report_verdict_word(c)), c->is_not_valid && c->is_good ? NULL : c->cause);
		v[3] = c->is_not_valid ? value_flagged(v[3]) : v[3];
		v[4] = value_per_s(a, r->throughput_per_s);
		v[5] = value_noted(value_ms(a, r->latency_ms), report_spread(a, r));
		v[6] = isnan(r->latency_p90_ms) ? value_text(c->p90) : value_ms(a, r->latency_p90_ms);
		v[7] = isnan(r->latency_p99_ms) && r->samples > 0 && r->samples < 662
			? value_text(arena_printf(a, "n too small (%lld of 662)", (long long)r->samples))
			: value_ms(a, r->latency_p99_ms);
		v[8] = value_text(facts(a, r->scenario_result));
	}
}

static const struct report_column generation_columns[] = {
	{ "model", "model", false },
	{ "platform", "on", false },
	{ "tokens", "prompt and new tokens", false },
	{ "prefill_ms", "prompt", true },
	{ "encoder_ms", "encoder", true },
	{ "token_ms", "a token", true },
	{ "tokens_per_s", "tokens per second", true },
	{ "cache", "cache", false },
	{ "verdict", "verdict", false },
};

void summary_gather_generation(struct summary *out, struct arena *a)
{
	struct report_section *s =
		section_add(out, a, "generation", "Generated text", "Greedy. A token: the median time of one after the first.",
			generation_columns, sizeof generation_columns / sizeof *generation_columns, out->cell_count);

	for (size_t i = 0; i < out->cell_count; i++) {
		const struct report_cell *c = &out->cells[i];
		const struct row *r = &c->row;
		if (c->is_running || r->new_tokens == ROW_NONE || isnan(r->token_ms))
			continue;
		struct report_value *v = section_row(s);
		v[0] = value_noted(value_text(report_model_name(r->model)), report_line_words(a, &out->lines[c->line]));
		v[1] = value_noted(value_text(c->platform), c->own_qualifiers);
		v[2] = value_text(arena_printf(a, "%lld + %lld", (long long)(r->prompt_tokens != ROW_NONE ? r->prompt_tokens : 0),
			(long long)r->new_tokens));
		v[3] = value_ms(a, r->prefill_ms);
		v[4] = value_ms(a, r->encoder_ms);
		v[5] = value_noted(value_ms(a, r->token_ms), report_spread(a, r));
		v[6] = value_per_s(a, r->tokens_per_s);
		v[7] = value_noted(value_text(r->cache_form), r->cache_why);
		v[8] = value_text(report_verdict_word(c));
	}
}
