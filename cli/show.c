// SPDX-License-Identifier: Apache-2.0
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "stats/compare.h"
#include "run/golden.h"
#include "question/standing.h"
#include "stats/stats.h"
#include "onnx/precision.h"
#include "emit.h"

const char *show_size(struct arena *a, uint64_t nbytes)
{
	double mib = (double)nbytes / 1048576.0;
	if (mib < 1)
		return arena_printf(a, "%.1f KiB", (double)nbytes / 1024.0);
	return mib < 10240 ? arena_printf(a, "%.*f MiB", mib < 100 ? 1 : 0, mib) : arena_printf(a, "%.1f GiB", mib / 1024.0);
}

void show_json(const json_t *json)
{
	emit_json(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY);
}

json_t *show_written(const char *path)
{
	struct stat st;

	return json_pack("{s:o, s:I}", "file", visible_json_string(path), "bytes",
		stat(path, &st) ? (json_int_t)0 : (json_int_t)st.st_size);
}

const char *show_ms(struct arena *a, double x)
{
	if (x < 1) // halves go up, as where microseconds are shown
		return arena_printf(a, "%.3f", round(x * 1e3) / 1e3);
	return arena_printf(a, "%.*f", x < 10 ? 2 : x < 1000 ? 1 : 0, x);
}

const char *show_qualified(struct arena *a, const char *words, const struct row *r)
{
	const char *qualifiers = row_qualifiers(a, r, QUALIFY_ALL);

	return qualifiers ? arena_printf(a, "%s (%s)", words, qualifiers) : words;
}

enum { LABEL_WIDTH = 12, LINE_WIDTH = 110 };

// "  label        words and more words", continued below the words.
static void line(const char *label, const char *words)
{
	const int indent = 3 + LABEL_WIDTH;
	int column = emit("  %-*s", LABEL_WIDTH, label);
	for (const char *p = words; *p;) {
		size_t length = strcspn(p, " ");
		if (column > indent && column + 1 + (int)length > LINE_WIDTH)
			column = emit("\n%*s", indent - 1, "") - 1;
		column += emit(" %.*s", (int)length, p);
		p += length;
		p += strspn(p, " ");
	}
	emit("\n");
}

// Each line of a text as one; the label stands before the first.
static void lines(struct arena *a, const char *label, const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n'), label = "") {
		n = strcspn(text, "\n");
		line(label, arena_printf(a, "%.*s", (int)n, text));
	}
}

// Of a golden file the program knows who made it only where it is its own; else the file's word is quoted.
const char *show_agreement(struct arena *a, const struct row *r, enum verdict v)
{
	if (!r->reference)
		return NULL;
	if (!text_is(r->reference, "golden"))
		return v == VERDICT_RIGHT ? "engines agree" : "engines do not agree";
	return arena_printf(a, "%s with %s%s%s%s", v == VERDICT_RIGHT ? "agrees" : "does not agree", golden_what(r, a),
		r->golden_case || !r->golden_word ? "" : "; the file says it was made by \"",
		r->golden_case || !r->golden_word ? "" : r->golden_word, r->golden_case || !r->golden_word ? "" : "\"");
}

static void add_reference(struct text *t, struct arena *arena, const struct row *r, enum verdict v)
{
	if (!r->reference) {
		if (v == VERDICT_UNJUDGED)
			text_add(t, "none: nothing on this machine could compute outputs to compare with");
		return;
	}
	const char *a = v == VERDICT_RIGHT || v == VERDICT_WRONG ? show_agreement(arena, r, v) : NULL;
	text_addf(t, "%s%s%s", r->reference, a ? ": " : "", a ? a : "");
}

static void add_bound(struct text *t, const struct row *r)
{
	if (r->left_out != ROW_NONE && r->left_out > 0)
		text_addf(t, "; %lld masked or padded values left out", (long long)r->left_out);
	if (r->bound_by)
		text_addf(t, "; nearest to its bound: %s", r->bound_by);
	if (r->bound)
		text_addf(t, "; bound: %s", r->bound);
}

static void add_error(struct text *t, const struct row *r)
{
	if (isnan(r->max_abs_error))
		return;
	text_addf(t, "max %.3g", r->max_abs_error);
	if (!isnan(r->nmse))
		text_addf(t, ", NMSE %.2g", r->nmse);
	if (!isnan(r->cosine))
		text_addf(t, ", cosine %.9g", r->cosine);
	if (!isnan(r->top1_agreement))
		text_addf(t, ", top-1 agrees in %.4g %%", 100 * r->top1_agreement);
	if (!isnan(r->perplexity) && !isnan(r->perplexity_float32))
		text_addf(t, ", perplexity %.5g on %s tokens, the reference's %.5g", r->perplexity,
			text_is(r->reference, "golden") ? "the given" : "random", r->perplexity_float32);
	if (r->non_finite != ROW_NONE && r->non_finite > 0)
		text_addf(t, ", %lld values are not finite", (long long)r->non_finite);
	if (r->not_judged)
		text_addf(t, "; not judged, the reference does not hold them or nothing in them can be compared: %s",
			r->not_judged);
	if (r->graph_verdict) // figures; the judgements have lines of their own
		return;
	add_bound(t, r);
}

// What a reduced precision loses, in the line that says that it is right.
static const char *headline(const struct cell_result *result, struct arena *a)
{
	const struct row *r = &result->row;
	struct text t = { 0 };
	const char *out;

	if (result->verdict == VERDICT_UNSUPPORTED && text_starts(r->cause, "--max-loss: "))
		return "computed as asked, but the limit of --max-loss cannot be applied";
	if (!r->graph_verdict && result->verdict == VERDICT_LOSSY)
		return "computed as asked, and loses more against its reference than was allowed";
	if (!r->graph_verdict || (result->verdict != VERDICT_RIGHT && result->verdict != VERDICT_LOSSY) || isnan(r->cosine))
		return verdict_sentence(result->verdict);
	text_addf(&t, "%s; against %s it loses: cosine %.6g",
		result->verdict == VERDICT_RIGHT ? "computed as asked: graph and arithmetic are right"
						 : verdict_sentence(result->verdict),
		text_is(r->reference, "golden") ? "the golden outputs" : "float32", r->cosine);
	if (!isnan(r->top1_agreement))
		text_addf(&t, ", top-1 agrees in %.4g %%", 100 * r->top1_agreement);
	if (!isnan(r->perplexity) && !isnan(r->perplexity_float32))
		text_addf(&t, ", perplexity %.5g for %.5g", r->perplexity, r->perplexity_float32);
	out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

// The engine that computed the graph in float32, which is seldom the cell's: that of the loss, or of 16-bit arithmetic. NULL: the
// row does not know.
static const char *computed_by(const struct row *r)
{
	if (r->reference && text_starts(r->reference, "engine:"))
		return r->reference;
	return r->arithmetic_reference && text_starts(r->arithmetic_reference, "engine:") && !strchr(r->arithmetic_reference, ',')
		? r->arithmetic_reference
		: NULL;
}

// The two judgements of a reduced precision.
static void add_graph(struct text *t, const struct row *r)
{
	if (!r->graph_verdict)
		return;
	text_addf(t, "%s in float32", r->graph_verdict);
	if (r->graph_reference)
		text_addf(t, ": max %.3g, NMSE %.2g%s%s against %s, by float32's bound", r->graph_max_abs_error, r->graph_nmse,
			computed_by(r) ? " of " : "", computed_by(r) ? computed_by(r) : "", r->graph_reference);
}

static void add_arithmetic(struct text *t, const struct row *r)
{
	if (!r->arithmetic_verdict)
		return;
	text_addf(t, "%s", r->arithmetic_verdict);
	if (r->arithmetic_reference)
		text_addf(t, ": max %.3g, NMSE %.2g, cosine %.9g against %s", r->arithmetic_max_abs_error, r->arithmetic_nmse,
			r->arithmetic_cosine, r->arithmetic_reference);
	add_bound(t, r);
}

static void add_nodes(struct text *t, const struct row *r)
{
	if (r->nodes == ROW_NONE)
		return;
	if (r->nodes_on_platform == ROW_NONE) {
		text_addf(t, "%lld in the graph; where they ran is not known", (long long)r->nodes);
	} else {
		text_addf(t, "%lld of %lld on %s", (long long)r->nodes_on_platform, (long long)r->nodes,
			r->tried ? r->tried : r->requested);
		if (r->nodes_fused != ROW_NONE && r->nodes_fused > 0)
			text_addf(t, ", %lld fused into others", (long long)r->nodes_fused);
		if (r->partitions != ROW_NONE && r->partitions > 1)
			text_addf(t, ", in %lld partitions", (long long)r->partitions);
		if (r->copies != ROW_NONE && r->copies > 0)
			text_addf(t, ", %lld copies between devices", (long long)r->copies);
	}
	if (r->placement_note)
		text_addf(t, " (%s)", r->placement_note);
}

// "12 of 284 nodes ran on cpu: 8 Gather int64, 4 Cast int64 (WebGPU has no int64)"
static void add_elsewhere(struct text *t, const struct row *r, enum verdict v)
{
	enum { SHOWN = 4 };
	json_t *refused = json_parse(r->refused), *one;
	size_t i;

	if (r->nodes_elsewhere != ROW_NONE && r->nodes_elsewhere > 0)
		text_addf(t, "%lld of %lld nodes %s elsewhere", (long long)r->nodes_elsewhere, (long long)r->nodes,
			v == VERDICT_COMPILES || v == VERDICT_UNSUPPORTED ? "were left" : "ran");
	json_array_foreach(refused, i, one)
	{
		const char *op = json_string_value(json_object_get(one, "op")),
			   *dtype = json_string_value(json_object_get(one, "dtype")),
			   *where = json_string_value(json_object_get(one, "where")),
			   *reason = json_string_value(json_object_get(one, "reason"));

		if (i == SHOWN) {
			text_addf(
				t, " and %zu more kinds (`assay explain %lld`)", json_array_size(refused) - i, (long long)r->row);
			break;
		}
		if (!i && where)
			text_addf(t, ", on %s", where);
		text_addf(t, "%s %lld %s%s%s", i ? "," : ":", (long long)json_integer_value(json_object_get(one, "count")),
			op ? op : "?", dtype ? " " : "", dtype ? dtype : "");
		if (reason)
			text_addf(t, " (%s)", reason);
	}
	json_decref(refused);
}

static void add_overheads(struct text *t, struct arena *a, const struct row *r)
{
	if (r->warmup_runs != ROW_NONE)
		text_addf(t, "; %lld warm-up run%s in %s ms, until %s", (long long)r->warmup_runs, r->warmup_runs == 1 ? "" : "s",
			show_ms(a, r->warmup_ms), r->warmup_end ? r->warmup_end : "?");
	if (!isnan(r->clock_overhead_us))
		text_addf(t, "; timer overhead %.2g us", r->clock_overhead_us);
	if (!isnan(r->harness_overhead_us))
		text_addf(t,
			text_is(r->task, "generate") ? "; harness overhead %.3g us a token, in its time"
						     : ", harness overhead %.2g us a run",
			r->harness_overhead_us);
}

static void add_time(struct text *t, struct arena *a, const struct cell_result *result)
{
	const struct row *r = &result->row;
	const struct {
		const char *name;
		double value;
	} parts[] = { { "build", r->build_ms }, { "load", r->load_ms }, { "first run", r->first_ms } };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!isnan(parts[i].value))
			text_addf(t, "%s%s %s ms", t->length ? ", " : "", parts[i].name, show_ms(a, parts[i].value));
	if (!isnan(r->new_shape_ms))
		text_addf(t, ", first run of another shape %s ms", show_ms(a, r->new_shape_ms));
	add_overheads(t, a, r);
}

static void add_latency(struct text *t, struct arena *a, const struct row *r)
{
	const struct {
		const char *name;
		double value;
	} within[] = { { "90", r->latency_p90_ms }, { "95", r->latency_p95_ms }, { "99", r->latency_p99_ms } };

	if (isnan(r->latency_ms))
		return;
	if (r->task && strcmp(r->task, "generate") == 0) {
		text_addf(t, "prompt of %lld: %s ms", (long long)r->prompt_tokens, show_ms(a, r->prefill_ms));
		if (!isnan(r->encoder_ms))
			text_addf(t, " behind the encoder's %s ms", show_ms(a, r->encoder_ms));
		text_addf(t, "; then %.1f tokens/s, each ", r->tokens_per_s);
	}
	text_addf(t, "%s, the median of %lld %s (%s to %s",
		show_qualified(a, arena_printf(a, "%s ms", show_ms(a, r->latency_ms)), r),
		r->samples == ROW_NONE ? 0LL : (long long)r->samples,
		r->task               ? "tokens"
			: r->scenario ? "queries"
				      : "runs",
		show_ms(a, r->latency_min_ms), show_ms(a, r->latency_max_ms));
	text_addf(t, ", %s", r->stability ? r->stability : "too few to call stable or unstable");
	text_add(t, ")");
	for (size_t i = 0; i < sizeof within / sizeof *within; i++)
		if (!isnan(within[i].value))
			text_addf(t, ", %s %% within %s ms", within[i].name, show_ms(a, within[i].value));
	if (r->delay_s > 0)
		text_addf(t, "; timed after %g s of rest (--delay)", r->delay_s);
	if (!isnan(r->latency_low_ms))
		text_addf(t, "; 95 %% interval of the median, if runs are independent, %s to %s", show_ms(a, r->latency_low_ms),
			show_ms(a, r->latency_high_ms));
	else if (r->samples != ROW_NONE && r->samples < STATS_INTERVAL_LEAST)
		text_addf(t, "; no 95 %% interval of the median: n too small, %d runs are needed", STATS_INTERVAL_LEAST);
	if (!isnan(r->throughput_per_s))
		text_addf(t, r->scenario ? "; %.4g samples/s" : "; %.4g samples/s by the median, %.4g by the mean of the runs",
			row_median_per_s(r), r->throughput_per_s);
	else if (r->batch == ROW_NONE)
		text_add(t, "; samples/s not known: no dimension of the graph is known to be a batch");
	if (!isnan(r->latency_cv))
		text_addf(t, "; coefficient of variation %.2g %%", 100 * r->latency_cv);
}

// What the precision brings, in time and in error, and against which row.
static void add_precision(struct text *t, const struct row *r)
{
	double x = r->against_float32;

	if (!r->precision)
		return;
	text_addf(t, "%s%s%s", r->precision, r->precision_by ? ", by the " : "", r->precision_by ? r->precision_by : "");
	if (isnan(x)) {
		if (precision_is_reduced(precision_find(r->precision)) && !isnan(r->latency_ms))
			text_add(t,
				r->fitted ? "; taken because more does not fit (--fit): whether it is faster than float32 cannot "
					    "be "
					    "known here"
					  : "; the same was not measured in float32 here: run it without --precision to know "
					    "whether "
					    "it is faster");
		return;
	}
	const char *claim = r->against_float32_claim, *why = r->against_float32_why;

	if (text_is(claim, compare_word(COMPARE_SLOWER)))
		text_add(t, "; SLOWER than float32 here");
	else if (text_is(claim, compare_word(COMPARE_FASTER)))
		text_add(t, "; faster than float32 here");
	else if (text_is(claim, compare_word(COMPARE_SAME)))
		text_add(t, "; as fast as float32 here within 2 %");
	else
		text_add(t, "; whether it is faster than float32 here: cannot tell");
	text_addf(
		t, " (%s%s%.3f of the time of row %lld)", why ? why : "", why ? "; " : "", x, (long long)r->against_float32_row);
}

// How the engine was asked where it answers several queries at a time.
static void add_filled(struct text *t, const json_t *said)
{
	const long long requests = (long long)json_integer_value(json_object_get(said, "requests"));
	const char *hint = json_string_value(json_object_get(said, "hint")),
		   *streams = json_string_value(json_object_get(said, "engine_streams")),
		   *threads = json_string_value(json_object_get(said, "engine_threads"));

	if (requests < 1)
		return;
	text_addf(t, "; %lld request%s at a time of batch %lld", requests, requests == 1 ? "" : "s",
		(long long)json_integer_value(json_object_get(said, "batch")));
	if (hint)
		text_addf(t, ", hint %s", hint);
	if (streams)
		text_addf(t, ", %s stream%s", streams, text_is(streams, "1") ? "" : "s");
	if (threads)
		text_addf(t, ", the engine's threads %s", threads);
}

void show_add_scenario(struct text *t, const struct row *r)
{
	json_t *said = json_parse(r->scenario_result);
	const char *why = json_string_value(json_object_get(said, "why"));

	if (why)
		text_addf(t, "%s%s: %s (%lld queries of %lld samples)", r->scenario ? r->scenario : "single-stream",
			json_is_true(json_object_get(said, "valid")) ? "" : ", NOT VALID", why,
			(long long)json_integer_value(json_object_get(said, "queries")),
			(long long)json_integer_value(json_object_get(said, "samples_per_query")));
	add_filled(t, said);
	json_decref(said);
}

// Of --together: beside whom, how long by itself, and how much of the time they were really beside each other.
void show_add_together(struct text *t, struct arena *a, const struct row *r)
{
	if (!r->together)
		return;
	text_addf(t, "with %s", r->together);
	if (isnan(r->latency_ms))
		return;
	if (!isnan(r->together_factor))
		text_addf(t, "; alone it took %s ms%s, so %.2f times as long here%s (one process each: no claim)",
			show_ms(a, r->alone_ms),
			r->alone_row == ROW_NONE ? "" : arena_printf(a, " (row %lld)", (long long)r->alone_row),
			r->together_factor,
			isnan(r->together_throughput) ? ""
						      : arena_printf(a, " by the median, and %.2f of the throughput by the mean",
								r->together_throughput));
	if (!isnan(r->together_share))
		text_addf(t, "; the others ran in %.4g %% of the time of its timed runs", 100 * r->together_share);
}

void show_add_switch(struct text *t, struct arena *a, const struct row *r)
{
	if (!r->switched_from || isnan(r->switch_ms))
		return;
	text_addf(t, "from %s in %s ms: release %s, load %s, first run %s", r->switched_from, show_ms(a, r->switch_ms),
		show_ms(a, r->switch_release_ms), show_ms(a, r->load_ms), show_ms(a, r->first_ms));
	if (!isnan(r->switch_max_difference))
		text_addf(t, "; its outputs differ from those there by at most %.3g", r->switch_max_difference);
	else if (r->switch_not_compared)
		text_addf(t, "; its outputs were not compared with those there: %s", r->switch_not_compared);
	text_addf(t, "; %.1f MiB stayed behind", r->switch_left_mib);
}

void show_add_shipped(struct text *t, const struct row *r)
{
	if (r->as_shipped == 1 && r->shipped_defaults)
		text_addf(t, "the engine's own defaults: %s", r->shipped_defaults);
}

void show_add_energy(struct text *t, const struct row *r)
{
	if (isnan(r->energy_j_per_sample))
		return;
	text_addf(t, "%.3g J a sample", r->energy_j_per_sample);
	if (!isnan(r->energy_j_per_token))
		text_addf(t, ", %.3g J a token", r->energy_j_per_token);
	text_addf(t, " over %.3g W idle, by %s", r->idle_w, r->energy_source);
}

void show_add_data(struct text *t, const struct row *r)
{
	if (!r->data_metric)
		return;
	if (isnan(r->data_value))
		text_addf(t, "%s not known", r->data_metric);
	else
		text_addf(t, "%s %.5g", r->data_metric, r->data_value);
	if (!isnan(r->data_low))
		text_addf(t, " (95 %% interval %.4g to %.4g)", r->data_low, r->data_high);
	text_addf(t, " of %lld example%s", (long long)r->data_examples, r->data_examples == 1 ? "" : "s");
	if (!isnan(r->data_reference))
		text_addf(t, ", float32's %.5g; %lld answered otherwise, %lld worse and %lld better", r->data_reference,
			(long long)r->data_unlike, (long long)r->data_worse, (long long)r->data_better);
	if (!isnan(r->data_macro_f1))
		text_addf(t, "; macro F1 %.4g", r->data_macro_f1);
	if (!isnan(r->data_macro_f1_reference))
		text_addf(t, ", float32's %.4g", r->data_macro_f1_reference);
	if (!isnan(r->data_max_rel_error))
		text_addf(t, "; largest relative error %.3g", r->data_max_rel_error);
	if (r->data_note)
		text_addf(t, "; %s", r->data_note);
}

void show_add_leak(struct text *t, const struct row *r)
{
	if (isnan(r->leak_mib_per_cycle))
		return;
	text_addf(t, "%s: %.3f MiB stay behind each of %lld cycles of opening, running and closing (95 %% interval %.3f to %.3f)",
		r->leak_low_mib > 0 ? "it leaks" : "none found", r->leak_mib_per_cycle, (long long)r->cycles, r->leak_low_mib,
		r->leak_high_mib);
}

static void add_tokens(struct text *t, struct arena *a, const struct row *r)
{
	if (r->tokens_unlike_uncached == ROW_NONE)
		return;
	if (r->tokens_unlike_uncached)
		text_addf(t, "%lld of %lld are NOT those of a run without a cache", (long long)r->tokens_unlike_uncached,
			(long long)(r->new_tokens * r->batch));
	else
		text_addf(t, "all %lld as without a cache (logits within %.2g)", (long long)(r->new_tokens * r->batch),
			r->uncached_max_error);
	if (!isnan(r->token_agreement))
		text_addf(t, "; behind the tokens of float32 it chooses the same in %.4g %%", 100 * r->token_agreement);
	if (r->cache_bytes == 0)
		text_add(t, "; the graph takes no cache: each token is computed from all before it");
	else if (r->cache_bytes != ROW_NONE)
		text_addf(t, "; the cache is %s, and the engine writes %s of it for each token",
			show_size(a, (uint64_t)r->cache_bytes), show_size(a, (uint64_t)r->cache_copied_bytes));
}

// Each figure by the name of what it is: they are of different moments, and none is a part of another.
static void add_memory(struct text *t, const struct row *r)
{
	const struct {
		const char *what;
		double mib;
	} parts[] = { { "peak anonymous", r->peak_anonymous_mib }, { "largest PSS at the end of a phase", r->peak_pss_mib },
		{ "on the device", r->device_memory_mib }, { "high-water mark of the resident set", r->peak_resident_mib } };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!isnan(parts[i].mib))
			text_addf(t, "%s%s %.1f MiB", t->length ? "; " : "", parts[i].what, parts[i].mib);
	if (!isnan(r->predicted_mib) && !isnan(r->peak_resident_mib))
		text_addf(
			t, " (predicted %.1f, %+.1f %%)", r->predicted_mib, 100 * (r->predicted_mib / r->peak_resident_mib - 1));
	else if (!isnan(r->predicted_mib))
		text_addf(t, "%spredicted high-water mark of the resident set %.1f MiB, which was not measured",
			t->length ? "; " : "", r->predicted_mib);
	if (r->memory_sampling && t->length)
		text_addf(t, " [%s]", r->memory_sampling);
}

static void add_weights(struct text *t, struct arena *a, const struct row *r)
{
	if (!r->weights || (!r->actual && !r->weights_dtype))
		return;
	text_add(
		t, strcmp(r->weights, "synthetic") == 0 ? "SYNTHETIC (seeded random numbers, not the trained ones)" : r->weights);
	if (r->weights_from)
		text_addf(t, " (%s)", r->weights_from);
	// Most bytes then have another type than the files.
	bool is_converted = r->converted_bytes != ROW_NONE && r->converted_bytes > 0;
	if (r->weights_dtype)
		text_addf(t, ", %s%s", r->weights_dtype, is_converted ? " in its files" : "");
	if (r->weights_bytes != ROW_NONE)
		text_addf(t, ", %s%s", show_size(a, (uint64_t)r->weights_bytes), is_converted ? " in the graph" : "");
	if (is_converted)
		text_addf(t, ", converted%s%s", r->precision ? " for " : "", r->precision ? r->precision : "");
	if (r->placed_by)
		text_addf(t, ", reached by %s", r->placed_by);
	if (r->compute_dtype)
		text_addf(t, "; computed in %s", r->compute_dtype);
	if (r->shortened == 1)
		text_addf(t, "; SHORTENED to %lld layer%s", (long long)r->layers, r->layers == 1 ? "" : "s");
}

static void add_shape(struct text *t, const struct row *r)
{
	if (!r->form && !r->output_shape)
		return;
	if (r->batch != ROW_NONE)
		text_addf(t, "batch %lld", (long long)r->batch);
	if (r->sequence != ROW_NONE)
		text_addf(t, "%ssequence %lld", t->length ? ", " : "", (long long)r->sequence);
	if (row_is_brief(r))
		text_addf(t, " of the usual %lld: the device is emulated and no length was asked for",
			(long long)r->asked_sequence);
	if (r->padding > 0)
		text_addf(t, ", %.3g %% of the tokens padding", 100 * r->padding);
	if (r->form)
		text_addf(t, "%s%s", t->length ? "; graph: " : "graph: ", r->form);
	if (r->output_shape)
		text_addf(t, "; output %s", r->output_shape);
	if (r->form_why)
		text_addf(t, "; not taken: %s", r->form_why);
}

static void add_device(struct text *t, const struct row *r)
{
	if (r->engine)
		text_addf(t, "%s%s%s", r->engine, r->engine_version ? " " : "", r->engine_version ? r->engine_version : "");
	if (r->engine && r->device && *r->device)
		text_addf(t, "%s%s", t->length ? ", " : "", r->device);
	if (r->device_description)
		text_addf(t, ": %s", r->device_description);
	if (r->emulated == 1)
		text_add(t, " (EMULATED: its speed says nothing about the hardware)");
}

// As asked, then what was made up beside.
void show_add_inputs(struct text *t, struct arena *a, const struct row *r)
{
	const char *said = r->shapes ? arena_printf(a, "--shape %s", r->shapes) : NULL;

	said = arena_join(a, said, "; ", r->dims ? arena_printf(a, "--dim %s", r->dims) : NULL);
	said = arena_join(a, said, "; ", r->inputs ? arena_printf(a, "--input %s", r->inputs) : NULL);
	said = arena_join(a, said, "; ", r->inputs_note);
	if (said)
		text_add(t, said);
}

void show_result(const struct cell_result *result, const char *label, const char *db)
{
	const struct row *r = &result->row;
	struct arena a = { 0 };
	enum {
		DEVICE,
		REFERENCE,
		ERROR,
		DATA,
		GRAPH,
		ARITHMETIC,
		WORST,
		NODES,
		ELSEWHERE,
		FALLBACK,
		TIME,
		LATENCY,
		UNSTABLE,
		SCENARIO,
		PRECISION,
		TOKENS,
		TEXT,
		MEMORY,
		ENERGY,
		LEAK,
		TOGETHER,
		SWITCH,
		WEIGHTS,
		SHIPPED,
		SHAPE,
		INPUTS,
		CONFORMANCE,
		ROW,
		LINES
	};
	static const char *const labels[LINES] = { "device", "reference", "error", "data", "graph", "arithmetic", "worst",
		"nodes", "elsewhere", "fallback", "time", "latency", "unstable", "scenario", "precision", "tokens", "text",
		"memory", "energy", "leak", "together", "switch", "weights", "as shipped", "shape", "inputs", "conformance",
		"row" };
	struct text t[LINES] = { 0 };

	emit("%s\n", show_title(&a, label, r));
	line(verdict_word(result->verdict), show_qualified(&a, headline(result, &a), r));
	if (result->verdict != VERDICT_RIGHT && r->cause)
		line("cause", r->cause);
	if (r->hint)
		line("hint", r->hint);
	if (r->fitted)
		line("fitted", r->fitted);
	add_device(&t[DEVICE], r);
	add_reference(&t[REFERENCE], &a, r, result->verdict);
	add_error(&t[ERROR], r);
	show_add_data(&t[DATA], r);
	add_graph(&t[GRAPH], r);
	add_arithmetic(&t[ARITHMETIC], r);
	if (result->verdict == VERDICT_WRONG && r->worst)
		text_add(&t[WORST], r->worst);
	add_nodes(&t[NODES], r);
	add_elsewhere(&t[ELSEWHERE], r, result->verdict);
	if (r->fallback_reason &&
		!(result->verdict == VERDICT_FELL_BACK && r->cause && text_starts(r->cause, r->fallback_reason)))
		text_add(&t[FALLBACK], r->fallback_reason);
	add_time(&t[TIME], &a, result);
	add_latency(&t[LATENCY], &a, r);
	if (r->stability_why)
		text_add(&t[UNSTABLE], r->stability_why);
	show_add_scenario(&t[SCENARIO], r);
	add_precision(&t[PRECISION], r);
	add_tokens(&t[TOKENS], &a, r);
	if (r->generated_text)
		visible_clean(&t[TEXT], r->generated_text, strlen(r->generated_text));
	add_memory(&t[MEMORY], r);
	show_add_energy(&t[ENERGY], r);
	if (r->energy_why)
		text_addf(&t[ENERGY], "no figure: %s", r->energy_why);
	show_add_leak(&t[LEAK], r);
	show_add_together(&t[TOGETHER], &a, r);
	show_add_switch(&t[SWITCH], &a, r);
	add_weights(&t[WEIGHTS], &a, r);
	show_add_shipped(&t[SHIPPED], r);
	add_shape(&t[SHAPE], r);
	show_add_inputs(&t[INPUTS], &a, r);
	bool is_reduced = r->precision && precision_is_reduced(precision_find(r->precision));
	if (r->type_conformance)
		text_addf(&t[CONFORMANCE],
			"%s cases of type %s that assay ships agree with transformers in float32 on this platform%s%s",
			r->type_conformance, r->model_type, is_reduced ? "; they say nothing of " : "",
			is_reduced ? r->precision : "");
	if (db && r->row != ROW_NONE)
		text_addf(&t[ROW], "%lld in %s", (long long)r->row, db);
	for (size_t i = 0; i < LINES; i++) {
		if (t[i].length)
			line(i == ERROR && r->graph_verdict ? "loss" : labels[i], text_get(&t[i]));
		text_done(&t[i]);
	}
	if (result->verdict == VERDICT_CRASHED && r->stderr_tail && *r->stderr_tail)
		lines(&a, "it wrote", r->stderr_tail);
	emit("\n");
	emit_flush();
	arena_done(&a);
}

const char *show_short(struct arena *a, const struct cell_result *r)
{
	const char *word = verdict_word(r->verdict);
	if (!isnan(r->row.latency_ms) && r->verdict != VERDICT_WRONG && r->verdict != VERDICT_UNSUPPORTED &&
		r->verdict != VERDICT_FELL_BACK)
		return show_qualified(a, arena_printf(a, "%s, %s ms", word, show_ms(a, r->row.latency_ms)), &r->row);
	word = show_qualified(a, word, &r->row);
	return r->row.cause ? arena_printf(a, "%s: %s", word, r->row.cause) : word;
}
