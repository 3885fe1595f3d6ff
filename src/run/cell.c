// SPDX-License-Identifier: Apache-2.0
// The parent's side of a cell: ask, listen, decide how it ended, judge. It never opens an engine and never builds a graph.
// Outputs come in a file under CACHE/run, which is removed at the end; those of programs that were killed go at the next
// cell's beginning.
#include "question/cell.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "artifact/identity.h"
#include "artifact/writes.h"
#include "backend/cause.h"
#include "base/cache.h"
#include "base/claim.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/pages.h"
#include "base/text.h"
#include "base/visible.h"
#include "run/cell.h"
#include "run/cell_judge.h"
#include "run/child_memory.h"
#include "run/data_judge.h"
#include "run/golden.h"
#include "run/hear.h"
#include "question/request.h"
#include "cell/asked.h"
#include "cell/data.h"
#include "cell/predict.h"
#include "cell/scratch.h"
#include "stats/stats.h"
#include "platform/state.h"

// A file that is written to all the time, or cannot be read to its end, has no content that could be named.
static const char *identity_of(const struct cell *c, struct arena *a)
{
	char *hex = arena_alloc(a, 65);

	if (c->identity)
		return c->identity;
	if (!c->path)
		return "";
	return model_identity(hex, c->path, NULL, NULL) ? digest_unknown(a) : hex;
}

const char *cell_key(const struct cell *c, struct arena *a)
{
	const char *golden = reference_golden(c, a),
		   *texts[] = { "cell 3", c->model, c->revision, c->platform, c->device, c->options, identity_of(c, a),
			   golden ? file_digest_key(a, golden) : "" };
	struct hash h;
	char *hex = arena_alloc(a, 65);

	hash_init(&h);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		hash_add_text(&h, texts[i] ? texts[i] : "");
	hash_add_text(&h, c->synthetic ? "synthetic" : "");
	if (c->inputs)
		hash_add_text(&h, asked_digests(a, &c->question));
	if (c->data)
		hash_add_text(&h, data_digest(a, c->data, c->path));
	question_hash(&h, &c->question);
	hash_hex(&h, hex);
	return hex;
}

// ---- the outputs' file --------------------------------------------------------------------------------------------------

static enum status outputs_place(struct arena *a, const char **out, struct error *err)
{
	static atomic_uint counter;
	const char *folder;
	enum status st;

	if ((st = cache_check(err)) || (st = cache_part(&folder, a, "run", err)))
		return st;
	if (access(folder, W_OK) < 0)
		return error_errno(err, "%s: outputs cannot be written there; set ASSAY_CACHE to another folder", folder);
	scratch_sweep();
	*out = arena_printf(a, "%s/%s-%u.safetensors", folder, claim_token(), atomic_fetch_add(&counter, 1));
	return STATUS_OK;
}

// ---- what the parent adds to the row ------------------------------------------------------------------------------------

static bool generates(const struct row *r)
{
	return text_is(r->task, "generate");
}

// Which limit of stats.h was passed, by how much, and what the machine did meanwhile.
static const char *why_unstable(const struct stats_stability *s, double others, struct arena *a)
{
	struct text t = { 0 };

	if (!s->windows_agree)
		text_addf(&t,
			"%s: the medians of the last three windows of %zu runs are %.4g, %.4g and %.4g ms, %.1f %% apart (limit "
			"5 %%)",
			s->is_drift ? "drift" : "scatter", s->size, s->median[0], s->median[1], s->median[2],
			100 * (s->apart - 1));
	if (!s->spread_is_small && isnan(s->spread))
		text_addf(&t, "%sspread: the clock says that runs took 0 ms", t.length ? "; " : "");
	else if (!s->spread_is_small)
		text_addf(&t, "%sspread: the middle half of the runs spans %.0f %% of the median (limit %.0f %%)",
			t.length ? "; " : "", 100 * s->spread, 100 * STATS_STABLE_SPREAD);
	if (!s->tail_is_short)
		text_addf(&t,
			"%stail: the coefficient of variation is %.0f %% (limit %.0f %%), the slowest run took %.3g times the "
			"median",
			t.length ? "; " : "", 100 * s->cv, 100 * STATS_STABLE_CV, s->slowest);
	if (others >= 0.1)
		text_addf(&t, "; other processes used %.1f CPUs meanwhile", others);
	else if (others >= 0)
		text_add(&t, "; other processes were calm");
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

// `others`: CPUs that other processes used while the child lived; NaN: not known.
static void take_times(struct row *r, const struct heard *h, double others, struct arena *a)
{
	struct stats_stability stability = stats_stability(h->sample_ms, h->sample_count);
	double sum = 0;

	if (h->sample_count || h->outputs)
		r->samples = (int64_t)h->sample_count;
	if (h->outputs && !stability.size)
		r->stability = "n too small";
	if (!h->sample_count)
		return;
	r->latency_ms = stats_median(h->sample_ms, h->sample_count);
	r->latency_min_ms = stats_min(h->sample_ms, h->sample_count);
	r->latency_max_ms = stats_max(h->sample_ms, h->sample_count);
	r->latency_p90_ms = stats_percentile(h->sample_ms, h->sample_count, 90);
	r->latency_p95_ms = stats_percentile(h->sample_ms, h->sample_count, 95);
	r->latency_p99_ms = stats_percentile(h->sample_ms, h->sample_count, 99);
	r->latency_cv = stats_cv(h->sample_ms, h->sample_count);
	stats_median_interval(h->sample_ms, h->sample_count, &r->latency_low_ms, &r->latency_high_ms);
	for (size_t i = 0; i < h->sample_count; i++)
		sum += h->sample_ms[i];
	// A scenario has said its own; what generates has tokens_per_s.
	if (isnan(r->throughput_per_s) && !generates(r) && r->batch != ROW_NONE && sum > 0)
		r->throughput_per_s = (double)r->batch * (double)h->sample_count * 1e3 / sum;
	if (!stability.size)
		return;
	r->stability = stability.is_stable ? "stable" : "unstable";
	r->stability_why = stability.is_stable ? NULL : why_unstable(&stability, others, a);
}

// A machine or a container that was paused is in the time of a load or of a run, of which nobody knows.
static void take_pause(struct row *r, const struct child_report *report, struct arena *a)
{
	if (!(report->stood_ms > 0) || !r->stability)
		return;
	r->stability = "unstable";
	r->stability_why = arena_join(a, r->stability_why, "; ",
		arena_printf(a,
			"pause: assay stood still for %.1f s meanwhile (stopped, or the machine was), which the load or a run "
			"may hold",
			report->stood_ms / 1e3));
}

// The child of a page that somebody opened serves it: what its browser takes nobody counts.
static void take_memory(struct row *r, const struct heard *h, const struct child_report *report, struct arena *a)
{
	if (text_is(r->engine, "browser") && r->device && text_starts(r->device, "remote")) {
		r->memory_sampling = "not known: the browser that ran it was opened by somebody, and nothing counts its memory";
		return;
	}
	r->peak_anonymous_mib = h->anonymous_mib;
	if (!(r->peak_anonymous_mib >= report->peak_anonymous_mib) && !isnan(report->peak_anonymous_mib))
		r->peak_anonymous_mib = report->peak_anonymous_mib;
	r->peak_pss_mib = h->pss_mib;
	r->peak_resident_mib = h->resident_mib;
	if (h->memory_beside) {
		r->peak_anonymous_mib = h->anonymous_mib;
		r->peak_resident_mib = (double)NAN;
		r->memory_sampling = "sum over the child and the browser's processes, smaps_rollup at the ends of load, first "
				     "run and the extra run; peaks between them are not seen";
		return;
	}
	r->memory_sampling = arena_printf(a,
		"RssAnon and shared memory at 100 Hz in load, first%s run, smaps_rollup and VmHWM at their ends%s%s",
		h->sample_count ? " and one extra" : "", h->sample_count ? ", VmHWM alone after timed runs" : "",
		report->memory_limit_by ? arena_printf(a, "; limit by %s: %s%s", report->memory_limit_by,
						  predict_amount(a, (uint64_t)report->memory_bytes), report->memory_from)
					: "");
}

const char *cell_weights_word(const struct cell *c)
{
	return c->synthetic ? "synthetic" : c->path && text_ends(c->path, ".onnx") ? "as in the file" : "real";
}

static void ask_about(struct row *r, const struct cell *c, struct arena *a)
{
	r->model = c->model;
	r->revision = c->revision;
	r->requested = c->platform;
	r->device = c->device && *c->device ? c->device : NULL;
	r->weights = cell_weights_word(c);
	r->shortened = c->shortened;
	r->fallback_allowed = c->allow_fallback;
	r->layers = c->layers > 0 ? c->layers : ROW_NONE;
	if (c->new_tokens > 0) {
		r->prompt_tokens = c->prompt_tokens;
		r->new_tokens = c->new_tokens;
	}
	r->batch = c->batch;
	row_set_asked(r, &c->question);
	r->attempts = 1;
	r->started_at = arena_strdup(a, clock_utc((char[32]){ 0 }));
	r->cell_key = c->key ? c->key : cell_key(c, a);
}

// ---- causes -------------------------------------------------------------------------------------------------------------

// The verdict that it had stands in raw_error.
static void not_asked(struct cell_result *out, const char *cause, struct arena *a)
{
	out->row.raw_error = arena_join(a, verdict_word(out->verdict), ": ", out->row.cause);
	out->verdict = VERDICT_NOT_ASKED;
	out->row.cause = cause;
}

// What the engine said, in the words of the table; its own stay beside them. `h`, `r`, `l`: its child's.
static void explain_cause(const struct cell *c, const struct heard *h, const struct child_report *r, const struct child_limits *l,
	struct arena *a, struct cell_result *out)
{
	const struct platform *p = platform_find(c->platform);
	const struct route *route = p ? platform_route(p, c->device) : NULL;
	const char *engine = route ? route->engine : NULL, *provider = route ? route->provider : NULL, *said = out->row.cause;
	struct error limit = { 0 };
	struct cause cause;
	bool found;

	// What we say of a file repeats its words.
	if (h->error && h->done && !h->of_engine && (h->status == STATUS_UNSUPPORTED || h->status == STATUS_BAD_INPUT))
		return;
	if (!said ||
		(out->verdict != VERDICT_FAILED && out->verdict != VERDICT_UNSUPPORTED && out->verdict != VERDICT_UNAVAILABLE &&
			out->verdict != VERDICT_NO_MEMORY && out->verdict != VERDICT_NOT_ASKED &&
			out->verdict != VERDICT_CRASHED))
		return;
	found = cause_find(&cause, a, engine, provider, said);
	// A process that died has said why to standard error, if at all.
	if (!found && out->verdict == VERDICT_CRASHED &&
		(found = cause_find(&cause, a, engine, provider, out->row.stderr_tail)) && cause.text)
		cause.text = arena_printf(a, "%s (%s)", cause.text, said);
	if (!found || (out->verdict == VERDICT_NOT_ASKED && verdict_of_status(cause.status) != VERDICT_NOT_ASKED))
		return;
	if (cause.of_host && heard_memory_limit(r, l, &limit)) {
		not_asked(out, arena_printf(a, "%s; %s", cause.text ? cause.text : said, limit.text), a);
		return;
	}
	if (cause.hint)
		out->row.hint = cause.hint;
	if (cause.status != STATUS_OK)
		out->verdict = verdict_of_status(cause.status);
	if (cause.text) {
		out->row.raw_error = said;
		out->row.cause = cause.text;
	}
}

// A platform that took nothing since this process may have no more memory was not asked.
static void explain_fallback(const struct cell *c, const struct child_report *r, const struct child_limits *l, struct arena *a,
	struct cell_result *out)
{
	const char *said = out->row.fallback_reason;
	struct error limit = { 0 };
	struct cause cause;

	if (c->allow_fallback || !said || !verdict_ran(out->verdict) || !row_took_none(&out->row) ||
		!cause_find(&cause, a, NULL, NULL, said) || cause.is_doubtful || !cause.of_host ||
		!heard_memory_limit(r, l, &limit))
		return;
	out->verdict = VERDICT_NOT_ASKED;
	out->row.cause = arena_printf(a, "%s; %s", said, limit.text);
}

// The platform that was asked for took nothing: its outputs are another one's, and say nothing of it. Wrong stays wrong.
static void check_placement(const struct cell *c, struct cell_result *out, struct arena *a)
{
	struct row *r = &out->row;
	const char *unjudged = out->verdict == VERDICT_UNJUDGED ? r->cause : NULL;

	if (c->allow_fallback || out->verdict == VERDICT_WRONG || !verdict_ran(out->verdict) || !row_took_none(r))
		return;
	out->verdict = VERDICT_FELL_BACK;
	r->cause = arena_printf(a, "%s%s%s",
		r->fallback_reason ? r->fallback_reason : arena_printf(a, "%s took none of the graph", c->platform),
		unjudged ? "; " : "", unjudged ? unjudged : "");
	r->hint = "`--allow-fallback` takes the answer from wherever it was computed, `--fallback` asks the next platform of the "
		  "chain, `assay doctor` looks for what the platform lacks";
}

// What the file system says of a file. Without ctime, which a link changes too.
static const char *stamp_of(struct arena *a, const char *path)
{
	struct stat st;

	if (!path || stat(path, &st))
		return "absent";
	return arena_printf(a, "%jx %jx %jd %jd.%09ld", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, (intmax_t)st.st_size,
		(intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

// Of the files that inputs and golden outputs come from: what lies there, and what it contains. NULL: there is none.
static const char *inputs_stamp(struct arena *a, const struct cell *c, const char *golden)
{
	const char *asked = asked_digests(a, &c->question);

	if (!golden && !*asked && !c->data)
		return NULL;
	return arena_printf(a, "%s %s %s %s", golden ? stamp_of(a, golden) : "", golden ? file_digest_key(a, golden) : "", asked,
		c->data ? data_digest(a, c->data, c->path) : "");
}

// Is this an outcome of what the files contained, or may it be? What was exchanged or taken away meanwhile may be why a cell
// failed, took too long or too much.
static bool is_of_files(enum verdict v)
{
	return v != VERDICT_UNAVAILABLE && v != VERDICT_NOT_ASKED && v != VERDICT_INTERRUPTED;
}

// The child reads the inputs from them, that of a reference reads them again, and this process the outputs. `stamp` is of before.
static void check_inputs(const struct cell *c, const char *golden, const char *stamp, struct cell_result *out, struct arena *a)
{
	if (!stamp || !is_of_files(out->verdict) || text_is(stamp, inputs_stamp(a, c, golden)))
		return;
	not_asked(out,
		c->data ? "the golden file, inputs or --data were changed while the model was measured: which of their contents "
			  "an "
			  "answer would be of is not known"
			: golden && !c->given
			? "the golden file was changed while the model was measured: whether its inputs and outputs are of one "
			  "content is not known"
			: "a file of inputs was changed while the model was measured: which of its contents an answer would be "
			  "of "
			  "is not known",
		a);
}

// A device that is not here: is there anything that was compiled for it?
static void check_compiled(struct cell_result *out, struct arena *a)
{
	if (out->row.nodes_elsewhere == ROW_NONE || !row_took_none(&out->row))
		return;
	out->verdict = VERDICT_UNSUPPORTED;
	out->row.cause = row_left_none(&out->row)
		? arena_printf(a, "nothing was compiled for the device: %s", out->row.fallback_reason)
		: arena_printf(a, "nothing was compiled for the device: all %lld nodes were left to others",
			  (long long)out->row.nodes_elsewhere);
	out->row.fallback_reason = NULL;
}

static void drop_json(void *json)
{
	json_decref(json);
}

static const char *state_text(
	struct arena *a, const struct state_sample *before, const struct state_sample *after, const struct calm *calm)
{
	json_t *json = state_json(before, after, calm);
	char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
	const char *out = arena_strdup(a, text);

	free(text);
	json_decref(json);
	return out;
}

// What is known of a cell before its child is started.
static void begin_row(struct row *r, const struct cell *c, const char *golden, const char *identity, struct arena *a)
{
	ask_about(r, c, a);
	// Weights made in one precision alone are other files than those of the same model in another.
	r->model_sha256 = digest_is_known(identity) && !c->unwritten ? identity : NULL;
	if (c->data) {
		const char *digest = data_digest(a, c->data, c->path);

		r->data_sha256 = digest_is_known(digest) ? digest : NULL;
	}
	r->input_files = c->given_files;
	if (golden)
		golden_describe(r, golden, a);
}

// The result of a cell that has had no child. `cause` in `a`.
static void end_childless(struct cell_result *out, const struct cell *c, const char *golden, const char *identity, enum verdict v,
	const char *cause, struct arena *a)
{
	*out = (struct cell_result){ .verdict = v };
	row_init(&out->row);
	begin_row(&out->row, c, golden, identity, a);
	out->row.verdict = verdict_word(v);
	out->row.cause = cause;
}

// No child could be started. Where a limit of this process is why, that is a row; else it is assay's own failure.
static enum status not_started(const struct cell *c, const char *golden, const char *identity, const struct error *why,
	struct arena *a, struct cell_result *out, struct error *err)
{
	if (why->status != STATUS_NOT_ASKED)
		return error_set(err, why->status, "%s", why->text);
	end_childless(out, c, golden, identity, VERDICT_NOT_ASKED, arena_strdup(a, why->text), a);
	return STATUS_OK;
}

// ---- a cell -------------------------------------------------------------------------------------------------------------

// One run of a cell: what was asked, what is known before the child is started, and what came back.
struct running {
	const struct cell *cell;
	const struct cell_watch *watch; // may be NULL
	struct arena *a;
	const char *golden, *outputs_path; // golden: NULL: there is none
	const char *scores_path;           // of --data; NULL
	const char *judging;               // golden, unless it holds no outputs and gives inputs alone
	const char *identity, *stamp;      // of the model's files and of those of the inputs, before
	char fingerprint[65];              // likewise, when `identity` was found out
	int writes;                        // to these files since then (artifact/writes.h)
	struct request ask;
	struct reference ref;
	struct heard heard;
	struct state_sample before, after;
	struct calm calm;
	double begin;
};

// An engine maps the weights and reads them when it likes, and a reference reads them again: of files that were written to
// meanwhile nothing can be said. Links that assay makes change the fingerprint, and not the identity.
static void check_files(const struct running *r, struct cell_result *out)
{
	const struct cell *c = r->cell;
	char now[65];

	if (!is_of_files(out->verdict))
		return;
	struct error why = { 0 };
	if ((out->verdict == VERDICT_FAILED || out->verdict == VERDICT_UNSUPPORTED || out->verdict == VERDICT_CRASHED) &&
		model_check_given(c->path, out->row.cause, &why)) {
		not_asked(out, arena_strdup(r->a, why.text), r->a);
		out->row.model_sha256 = NULL;
		return;
	}
	model_fingerprint(now, c->path);
	bool same = text_is(now, r->fingerprint) || (!model_identity(now, c->path, NULL, NULL) && text_is(now, r->identity));
	if (same && !writes_seen(r->writes)) // asked last: what was read is what was there all the time
		return;
	not_asked(out,
		arena_printf(r->a,
			"the model's files%s were changed while it was measured: which of their contents an answer would be "
			"of is not known",
			c->data             ? " or the examples of --data"
				: r->golden ? " or the golden file"
					    : ""),
		r->a);
	out->row.model_sha256 = NULL;
}

static void tell_phase(const struct running *r, const char *phase)
{
	if (r->watch && r->watch->phase)
		r->watch->phase(r->watch->context, phase);
}

static bool is_stopped(const struct running *r)
{
	return r->watch && r->watch->stop && *r->watch->stop;
}

// What must be read before anything runs. A golden file that was good when the run began, or that nobody named, and cannot be
// read now, is this cell's outcome. *ended: the cell has its result.
static enum status begin_running(struct running *r, struct cell_result *out, bool *ended, struct error *err)
{
	const struct cell *c = r->cell;
	struct error why = { 0 };
	enum status st;

	// A golden file holds the outputs of one forward pass; what --input came to is a prompt, too.
	r->golden = c->new_tokens > 0 ? c->given : reference_golden(c, r->a);
	r->begin = clock_ms();
	r->writes = writes_watch(r->a, c->path);
	if (r->golden)
		writes_add(r->writes, r->golden);
	if (c->data)
		data_watch(r->writes, c->data);
	if (c->fingerprint)
		snprintf(r->fingerprint, sizeof r->fingerprint, "%s", c->fingerprint);
	else
		model_fingerprint(r->fingerprint, c->path);
	r->identity = identity_of(c, r->a);
	r->stamp = inputs_stamp(r->a, c, r->golden);
	if (c->golden && c->layers > 0)
		return error_set(err, STATUS_BAD_INPUT, "--golden and --layers: golden outputs are of the whole model");
	if (r->golden && reference_read_golden(&r->ref, r->golden, r->a, &why) != STATUS_OK) {
		end_childless(out, c, NULL, r->identity, VERDICT_NOT_ASKED, arena_strdup(r->a, why.text), r->a);
		*ended = true;
		return STATUS_OK;
	}
	if ((st = outputs_place(r->a, &r->outputs_path, err)))
		return st;
	if (c->data && (st = outputs_place(r->a, &r->scores_path, err)))
		return st;
	r->judging = r->ref.name ? r->golden : NULL;
	r->ask = (struct request){ .path = c->path,
		.platform = c->platform,
		.device = c->device,
		.options = c->options,
		.outputs_path = r->outputs_path,
		.scores_path = r->scores_path,
		.second_bytes = c->second_bytes,
		.question = c->question };
	r->ask.golden = r->golden;
	return STATUS_OK;
}

// What other children find out first: ranges of activations, and the tokens that float32 chooses. *ended: the cell has its
// result.
static enum status ask_before(struct running *r, struct cell_result *out, bool *ended, struct error *err)
{
	const struct cell *c = r->cell;
	enum precision precision = precision_find(c->precision);
	const char *cause = NULL;
	struct error why = { 0 };
	enum verdict v;
	enum status st;

	if (precision == PRECISION_INT8_STATIC && !text_ends(c->path, ".onnx")) {
		tell_phase(r, "calibrate");
		st = reference_calibrate(c, r->watch, r->a, &r->ask.calibration, &v, &cause, &why);
		*ended = st || !r->ask.calibration;
		if (st)
			return not_started(c, r->judging, r->identity, &why, r->a, out, err);
		if (*ended) {
			cause = arena_printf(r->a, "int8-static: the ranges of activations could not be measured: %s", cause);
			// Of this cell's limits it says the same; what else became of that child, which is the processor's, says
			// nothing of the platform.
			const bool is_this_cells = v == VERDICT_UNSUPPORTED || v == VERDICT_TIMEOUT || v == VERDICT_NO_MEMORY;
			v = is_stopped(r) ? VERDICT_INTERRUPTED : is_this_cells ? v : VERDICT_NOT_ASKED;
			end_childless(out, c, r->judging, r->identity, v, cause, r->a);
			out->row.wall_ms = clock_ms() - r->begin;
			return STATUS_OK;
		}
	}
	// A reduced precision is asked about the tokens of float32, so that one other choice does not make all that follows
	// another text.
	if (c->new_tokens > 0 && precision_is_reduced(precision)) {
		tell_phase(r, "reference");
		// Before the child has chosen a form: its platform's first, with the plain cache that every reference has.
		if ((st = reference_ask(&r->ref, &(struct reference_question){ .kind = REFERENCE_GRAPH, .golden = r->golden }, c,
			     r->watch, r->a, err)))
			return st;
		r->ask.reference_tokens = reference_tokens(&r->ref, r->a);
		r->ask.language = r->ask.reference_tokens ? r->ref.language : 0;
	}
	return STATUS_OK;
}

// What the question and its options ("threads=8,inter_threads=4") ask for.
static int64_t threads_of(const struct cell *c)
{
	static const char word[] = "threads=";
	int64_t sum = c->question.threads > 0 ? c->question.threads : 0;

	for (const char *at = c->options; at && (at = strstr(at, word)); at += sizeof word - 1)
		sum += strtol(at + sizeof word - 1, NULL, 10) & 0xFFFF;
	return sum;
}

// The child's life, and the row of what it said and how it ended.
static enum status run_child(struct running *r, struct cell_result *out, bool *ended, struct error *err)
{
	const struct cell *c = r->cell;
	struct child_limits limits = { .timeout_s = c->timeout_s,
		.spent_s = c->planned_s,
		.memory_bytes = c->memory_bytes > 0 || !c->force ? c->memory_bytes : CHILD_UNLIMITED,
		.threads = threads_of(c),
		.mapped_bytes = child_mapped_bytes(r->a, c->path),
		.stop = r->watch ? r->watch->stop : NULL };
	struct child_report report;
	struct error why = { 0 };
	const char *cause = NULL, *note;
	struct row *row = &out->row;

	heard_init(&r->heard, r->a, r->watch);
	begin_row(&r->heard.row, c, r->judging, r->identity, r->a);
	if (c->quiet_wait_s > 0) {
		tell_phase(r, "quiet");
		state_wait(&r->calm, c->quiet_wait_s, limits.stop);
	}
	state_read(&r->before, r->a, "");
	if (hear_child(&r->heard, NULL, request_text(r->a, &r->ask), &limits, &report, &why)) {
		*ended = true;
		return not_started(c, r->judging, r->identity, &why, r->a, out, err);
	}
	state_read(&r->after, r->a, "");
	scratch_sweep(); // a browser's profile, where the child could not remove it
	cause_set_file(c->path && text_ends(c->path, ".onnx") ? c->path : NULL); // until all that it said is told
	*out = (struct cell_result){ .row = r->heard.row,
		.verdict = heard_verdict(&r->heard, &report, &limits, &cause, &note),
		.sample_ms = r->heard.sample_ms,
		.sample_count = r->heard.sample_count,
		.placement = r->heard.placement,
		.profile = r->heard.profile,
		.timed_from_ns = r->heard.timed_ns[0],
		.timed_to_ns = r->heard.timed_ns[1],
		.busy_from_ns = r->heard.busy_ns[0],
		.busy_to_ns = r->heard.busy_ns[1] };
	if (c->given)
		row->inputs_note =
			arena_join(r->a, "made by the model's own processor or tokenizer (--input)", "; ", row->inputs_note);
	else if (r->golden && !r->judging)
		row->inputs_note = arena_join(r->a,
			arena_printf(r->a, "inputs from %s, which holds no outputs (--golden)", visible_copy(r->a, r->golden)),
			"; ", row->inputs_note);
	row->machine_state = state_text(r->a, &r->before, &r->after, &r->calm);
	if (cause)
		row->cause = cause;
	if (note)
		row->placement_note = note;
	if (text_get(&report.output)[0])
		row->stderr_tail = arena_strdup(r->a, text_get(&report.output));
	take_times(row, &r->heard, state_others(&r->before, &r->after), r->a);
	take_pause(row, &report, r->a);
	take_memory(row, &r->heard, &report, r->a);
	explain_cause(c, &r->heard, &report, &limits, r->a, out);
	explain_fallback(c, &report, &limits, r->a, out);
	cause_set_file(NULL);
	child_report_done(&report);
	return STATUS_OK;
}

static enum status judge_outputs(struct running *r, struct cell_result *out, struct error *err)
{
	struct cell judged = *r->cell;

	if (out->verdict == VERDICT_COMPILES)
		check_compiled(out, r->a);
	if (out->row.emulated == 1 && judged.sequence <= 0)
		judged.sequence = r->heard.sequence; // a short one was taken: the reference gets the same
	if (r->heard.shapes)
		judged.shapes = r->heard.shapes; // so with what was guessed, or the engine knows
	if (out->verdict != VERDICT_RIGHT)
		return STATUS_OK;
	enum status st = cell_judge(&(struct judging){ .cell = &judged,
					    .outputs_path = r->outputs_path,
					    .golden = r->golden,
					    .calibration = r->ask.calibration,
					    .language = r->ask.language,
					    .form = r->heard.form,
					    .given = (unsigned)r->heard.given,
					    .draws = r->heard.draws,
					    .watch = r->watch },
		&r->ref, r->a, out, err);
	if (st || !r->scores_path)
		return st;
	return data_judge_file(&judged, r->scores_path, r->heard.form, out->row.graph_verdict != NULL, r->watch, r->a, out, err);
}

// Some of what was read here were no bytes of the files: what they were judged to be is worth nothing.
static void say_lost(struct running *r, const struct cell_result *heard, struct cell_result *out)
{
	json_decref(out->checks);
	*out = *heard;
	out->verdict = VERDICT_NOT_ASKED;
	out->row.cause = arena_strdup(r->a, pages_lost_words());
}

enum status cell_run(
	const struct cell *c, const struct cell_watch *watch, struct arena *a, struct cell_result *out, struct error *err)
{
	const unsigned lost = pages_lost();
	struct running r = { .cell = c, .watch = watch, .a = a };
	struct cell_result result = { .verdict = VERDICT_FAILED };
	bool ended = false; // without a child
	enum status st;

	if ((st = begin_running(&r, &result, &ended, err)) || (!ended && (st = ask_before(&r, &result, &ended, err))) ||
		(!ended && (st = run_child(&r, &result, &ended, err))))
		return st;
	if (!ended) {
		const struct cell_result heard = result;
		st = judge_outputs(&r, &result, err);
		unlink(r.outputs_path);
		if (r.scores_path)
			unlink(r.scores_path);
		if (st)
			return st;
		if (pages_lost() != lost)
			say_lost(&r, &heard, &result);
		check_placement(c, &result, a);
		check_files(&r, &result);
		check_inputs(c, r.golden, r.stamp, &result, a);
		if (result.checks)
			arena_defer(a, drop_json, result.checks);
		result.row.verdict = verdict_word(result.verdict);
		result.row.wall_ms = clock_ms() - r.begin - r.calm.waited_s * 1000 - r.heard.delay_ms;
	}
	*out = result;
	return STATUS_OK;
}
