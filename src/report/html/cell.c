// SPDX-License-Identifier: Apache-2.0
// Everything that was measured of one cell.
#include <math.h>
#include <stdlib.h>

#include "report/html/html.h"
#include "base/json.h"

static const char *integer_text(struct arena *a, int64_t x)
{
	return x != ROW_NONE ? arena_printf(a, "%lld", (long long)x) : NULL;
}

// {"a": "1", "b": 2} as "a 1, b 2"; anything else as it is.
static const char *options_text(struct arena *a, const char *options)
{
	json_t *object = json_parse(options), *item;
	const char *key, *out = "";

	if (!json_is_object(object)) {
		json_decref(object);
		return options;
	}
	json_object_foreach(object, key, item)
	{
		char *text = json_is_string(item) ? NULL : json_dumps(item, JSON_COMPACT | JSON_ENCODE_ANY);
		out = arena_printf(
			a, "%s%s%s %s", out, *out != '\0' ? ", " : "", key, text != NULL ? text : json_string_value(item));
		free(text);
	}
	json_decref(object);
	return out;
}

static const char *errors(struct arena *a, double max_abs, double nmse, double cosine)
{
	const char *out = isnan(max_abs) ? NULL : arena_printf(a, "max abs %s", report_error(a, max_abs));

	if (out != NULL && !isnan(nmse))
		out = arena_printf(a, "%s, NMSE %s", out, report_error(a, nmse));
	return out == NULL || isnan(cosine) ? out : arena_printf(a, "%s, cosine %.7g", out, cosine);
}

void html_cell_details(const struct summary *s, const struct report_cell *c, struct arena *a, struct text *out)
{
	const struct row *r = &c->row;
	const char *latency = report_ms(a, r->latency_ms);

	text_addf(out,
		"<details id=\"cell-%lld\"><summary><span class=\"strong\">%s</span><span>%s</span><span class=\"chip %s\">%s "
		"%s</span>%s<span class=\"right\">%s</span></summary><dl>",
		(long long)r->row, html_esc(a, c->shown), html_esc(a, c->platform), html_cell_class(c), report_verdict_mark(c),
		report_verdict_word(c),
		c->qualifiers != NULL ? arena_printf(a, "<span class=\"tag warn\">%s</span>", html_esc(a, c->qualifiers)) : "",
		latency != NULL ? latency : "");
	html_fact(out, a, "Verdict", c->is_running ? "still running" : verdict_sentence(c->verdict));
	if (c->cause != NULL && *c->cause != '\0' && !text_is(c->cause, c->is_running ? "" : verdict_sentence(c->verdict)))
		text_addf(out, "<dt>Cause</dt><dd>%s</dd>", html_prose(a, c->cause));
	html_fact(out, a, "Asked again later", c->later);
	html_fact(out, a, "Agreement", arena_join(a, c->agreement, "; reference: ", r->reference));
	const bool has_loss = !isnan(r->arithmetic_max_abs_error);
	if (has_loss)
		html_fact(out, a, "Errors of its arithmetic",
			errors(a, r->arithmetic_max_abs_error, r->arithmetic_nmse, r->arithmetic_cosine));
	html_fact(out, a, has_loss ? "Loss" : "Errors", errors(a, r->max_abs_error, r->nmse, r->cosine));
	html_fact(out, a, "Bound", r->bound);
	html_fact(out, a, "Worst element", r->worst);
	html_fact(out, a, "NaN and infinite",
		r->non_finite != ROW_NONE && r->non_finite > 0 ? arena_printf(a, "%lld values", (long long)r->non_finite) : NULL);
	html_fact(out, a, "Conformance of the type",
		r->type_conformance != NULL ? arena_printf(a, "%s cases pass, in float32", r->type_conformance) : NULL);
	html_fact(out, a, "Latency", report_latency(a, r));
	html_fact(out, a, "90th percentile", c->p90);
	html_fact(out, a, "Samples",
		r->samples != ROW_NONE ? arena_printf(a, "%lld timed runs%s%s", (long long)r->samples, r->stability ? ", " : "",
						 r->stability ? r->stability : "")
				       : NULL);
	html_fact(out, a, "Why unstable", r->stability_why);
	html_fact(out, a, "Median, 95 % interval",
		!isnan(r->latency_low_ms) && !isnan(r->latency_high_ms)
			? arena_join(a, report_ms(a, r->latency_low_ms), " to ", report_ms(a, r->latency_high_ms))
			: NULL);
	html_fact(out, a, "95th and 99th percentile",
		arena_join(a, report_ms(a, r->latency_p95_ms), ", ", report_ms(a, r->latency_p99_ms)));
	html_fact(out, a, "Coefficient of variation", isnan(r->latency_cv) ? NULL : arena_printf(a, "%.3g", r->latency_cv));
	html_fact(out, a, "Throughput",
		isnan(r->throughput_per_s) ? NULL : arena_printf(a, "%.4g inputs per second", r->throughput_per_s));
	html_fact(out, a, "Time on the device", report_ms(a, r->device_ms));
	html_fact(out, a, "Overheads",
		isnan(r->clock_overhead_us) ? NULL
					    : arena_printf(a, "clock %.3g µs%s", r->clock_overhead_us,
						      isnan(r->harness_overhead_us) ? ""
										    : arena_printf(a, ", assay's own %.3g µs",
											      r->harness_overhead_us)));
	html_fact(out, a, "Warm-up",
		r->warmup_runs != ROW_NONE ? arena_join(a,
						     arena_printf(a, "%lld runs, %s", (long long)r->warmup_runs,
							     report_ms(a, r->warmup_ms) ? report_ms(a, r->warmup_ms) : ""),
						     ": ", r->warmup_end)
					   : NULL);
	html_fact(out, a, "First run of a new shape", report_ms(a, r->new_shape_ms));
	html_fact(out, a, "Building the graph", report_ms(a, r->build_ms));
	html_fact(out, a, "Loading", report_ms(a, r->load_ms));
	html_fact(out, a, "First run", report_ms(a, r->first_ms));
	html_fact(out, a, "Peak anonymous memory (100 Hz)", report_mib(a, r->peak_anonymous_mib));
	html_fact(out, a, "Largest proportional set size at the end of a phase", report_mib(a, r->peak_pss_mib));
	html_fact(out, a, "High-water mark of the resident set", report_mib(a, r->peak_resident_mib));
	html_fact(out, a, "Predicted peak",
		arena_join(a, report_mib(a, r->predicted_mib), ", of the measured one times ", report_ratio(a, r)));
	html_fact(out, a, "Placement", report_placement(a, r));
	html_fact(out, a, "Fallback", c->fallback != NULL ? arena_join(a, c->fallback->chain, ": ", c->fallback->got) : NULL);
	html_fact(
		out, a, "Computed by", c->is_stand_in ? "nothing: the null engine stood in for the platform (ASSAY_NULL)" : NULL);
	html_fact(out, a, "Model",
		arena_join(a, arena_join(a, arena_join(a, r->model, ": ", r->model_type), ", ", r->head), ", ",
			s->lines[c->line].variant));
	html_fact(out, a, "Weights",
		arena_join(a,
			arena_join(a,
				arena_join(a, r->weights, r->converted_bytes > 0 ? ", in its files " : ", ", r->weights_dtype),
				r->converted_bytes > 0 ? ", in the graph " : ", ", report_bytes(a, r->weights_bytes)),
			"; given to the engine by ", r->placed_by));
	html_fact(out, a, "Published as", r->weights_from);
	html_fact(out, a, "Shortened", r->shortened == 1 ? arena_join(a, "yes, layers: ", "", integer_text(a, r->layers)) : NULL);
	html_fact(out, a, "Engine",
		arena_join(a, arena_join(a, report_engine_name(r->engine), " ", r->engine_version), ", ",
			arena_join(a, r->device, ": ", r->device_description)));
	html_fact(out, a, "Emulated device", r->emulated == 1 ? "yes: a software stand-in for other hardware" : NULL);
	html_fact(out, a, "Graph variant", r->form);
	html_fact(out, a, "Engine options", options_text(a, r->options));
	html_fact(out, a, "Attempts", r->attempts != ROW_NONE && r->attempts > 1 ? integer_text(a, r->attempts) : NULL);
	html_fact(out, a, "Started", r->started_at);
	if (r->stderr_tail != NULL && *r->stderr_tail != '\0' && !c->is_good)
		text_addf(out, "<dt>Standard error</dt><dd><pre>%s</pre></dd>", html_esc(a, r->stderr_tail));
	text_addf(out, "<dt>Ask again</dt><dd><code>%s</code></dd><dt>Row</dt><dd>%lld</dd></dl></details>\n",
		html_esc(a, report_command(a, c)), (long long)r->row);
}
