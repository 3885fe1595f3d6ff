// SPDX-License-Identifier: Apache-2.0
// Results of other tools as rows: which tool a file is from is seen in what it holds, units become ours, and every row is
// unjudged with a `source`: assay measured and checked none of it. Formats, as those tools write them:
//     llama-bench           -o json, jsonl, csv: an object a test; avg_ns, samples_ns, n_prompt, n_gen, backends
//     optimum-benchmark     benchmark.json: config and report; latencies in s, memory in MB of 10^6 bytes
//     benchmark_app         benchmark_report.json or .csv of -report_type: sections of key and value, times in ms
//     onnxruntime_perf_test the result file (model,seconds,peak bytes,CPU,number) or what it prints
// Writes nothing: record.c puts the rows into a database.
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "question/bounds.h"
#include "stats/order.h"
#include "base/text.h"
#include "store/db.h"
#include "store/sql_name.h"
#include "store/lines.h"
#include "store/transfer.h"

enum { RESULTS_MOST = 10000, LINES_MOST = 1 << 18, CELLS_MOST = 1 << 21 };
#define MIB_OF_MB (1e6 / 1048576.0)

void foreign_done(struct foreign_result *r)
{
	arena_done(&r->arena);
	*r = (struct foreign_result){ 0 };
}

// A number, also where it is written as text (CSV; the Python tools).
static double number_of(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	double out;

	if (json_is_number(v))
		return json_number_value(v);
	return json_is_string(v) && text_to_double(json_string_value(v), -1e300, 1e300, &out) ? out : (double)NAN;
}

// The first of these names that has a number: the same tool in Python, in C++ as CSV, in C++ as JSON.
static double number_of_any(const json_t *object, const char *python, const char *csv, const char *json)
{
	double x = number_of(object, python);

	x = isnan(x) ? number_of(object, csv) : x;
	return isnan(x) ? number_of(object, json) : x;
}

static int64_t integer_of(const json_t *object, const char *key)
{
	double x = number_of(object, key);

	return isfinite(x) && fabs(x) < 9e15 ? (int64_t)x : ROW_NONE;
}

static const char *text_of(struct arena *a, const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	if (json_is_integer(v))
		return arena_printf(a, "%lld", (long long)json_integer_value(v));
	return json_is_string(v) && *json_string_value(v) != '\0' ? arena_strdup(a, json_string_value(v)) : NULL;
}

// Sample times of an array of numbers, in ms; false where one of them is no time.
static bool take_samples(struct arena *a, struct cell_result *r, const json_t *values, double to_ms)
{
	size_t n = json_array_size(values);

	r->sample_ms = ARENA_ARRAY(a, n + 1, double);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(values, i);
		r->sample_ms[i] = json_number_value(v) * to_ms;
		if (!json_is_number(v) || !isfinite(r->sample_ms[i]) || r->sample_ms[i] < 0)
			return false;
	}
	r->sample_count = n;
	return true;
}

// Median, smallest, largest and count of the samples, computed here.
static void take_statistics(struct arena *a, struct cell_result *r)
{
	size_t n = r->sample_count;
	double *sorted = ARENA_ARRAY(a, n + 1, double);

	if (n == 0)
		return;
	memcpy(sorted, r->sample_ms, n * sizeof *sorted);
	order_ascending(sorted, n);
	r->row.latency_ms = order_quantile(sorted, n, 0.5);
	r->row.latency_min_ms = sorted[0];
	r->row.latency_max_ms = sorted[n - 1];
	r->row.samples = (int64_t)n;
}

// A row of this tool, with what every one of them has. `platform` NULL: the tool does not say where it ran.
static struct foreign_row *row_begin(
	struct foreign_result *out, size_t i, const char *model, const char *platform, const char *engine)
{
	struct foreign_row *f = &out->rows[i];

	f->cell = (struct cell){
		.model = model, .path = "", .platform = platform != NULL ? platform : "unknown", .device = "", .options = ""
	};
	f->result = (struct cell_result){ .verdict = VERDICT_UNJUDGED };
	row_init(&f->result.row);
	struct row *r = &f->result.row;
	r->model = model;
	r->requested = f->cell.platform;
	r->actual = platform;
	r->engine = engine;
	r->weights = "real";
	r->source = out->version != NULL ? arena_printf(&out->arena, "%s %s", out->tool, out->version) : out->tool;
	r->cause = "imported: assay neither measured nor checked it";
	return f;
}

static enum status unlike(struct error *err, const char *path, const char *what)
{
	return error_set(err, STATUS_BAD_INPUT, "%s: %s", path, what);
}

// ---- llama-bench -------------------------------------------------------------------------------------------------

static const char *llama_platform(const char *backends)
{
	static const struct {
		const char *begin, *platform;
	} known[] = { { "CUDA", "cuda" }, { "ROCm", "rocm" }, { "HIP", "rocm" }, { "Metal", "mps" }, { "MTL", "mps" } };

	for (size_t i = 0; backends != NULL && i < sizeof known / sizeof known[0]; i++) {
		if (text_starts(backends, known[i].begin))
			return known[i].platform;
	}
	return backends == NULL || text_is(backends, "CPU") || text_is(backends, "BLAS") ? "cpu" : "llama.cpp";
}

// A build that knows a GPU computes on the CPU where no layer was given to the GPU.
static const char *llama_ran_on(struct arena *a, const json_t *test)
{
	return integer_of(test, "n_gpu_layers") == 0 ? "cpu" : llama_platform(text_of(a, test, "backends"));
}

// "Q4_K - Medium" of "llama 7B Q4_K - Medium": after the size; NULL: it has no such words.
static const char *llama_quantisation(struct arena *a, const char *model_type)
{
	static const char *const begins[] = { "Q", "IQ", "TQ", "F16", "F32", "BF16", "all F32", "MXFP", "NVFP" };

	for (const char *p = model_type != NULL ? strchr(model_type, ' ') : NULL; p != NULL; p = strchr(p + 1, ' '))
		for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
			if (text_starts(p + 1, begins[i]))
				return arena_strdup(a, p + 1);
	return NULL;
}

// Tokens a second and the time of them are one measurement: where they contradict each other, it is not known which is wrong.
static bool contradicts(double per_s, double avg_ns, int64_t tokens)
{
	double told = per_s * avg_ns / 1e9 / (double)tokens;

	return tokens > 0 && per_s > 0 && !(told >= 0.5 && told <= 2);
}

static bool is_not_the_mean(double mean, const struct cell_result *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->sample_count; i++)
		sum += r->sample_ms[i];
	double told = sum / (double)r->sample_count / mean;
	return r->sample_count > 0 && !(told >= 0.5 && told <= 2);
}

// "2026-11-03T11:20:41Z": NULL where it is no time of the years 1970 to 9999.
static const char *time_of(struct arena *a, const json_t *object, const char *key)
{
	static const char form[] = "0000-00-00T00:00:00";
	const char *text = text_of(a, object, key);

	for (size_t i = 0; text != NULL && i < sizeof form - 1; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i] && !(form[i] == 'T' && text[i] == ' '))
			return NULL;
	return text != NULL && strcmp(text, "1970") >= 0 ? text : NULL;
}

// For one more than `count` rows. A row takes 2 KiB, and a test that is refused may take 3 bytes of its file.
static void make_room(struct foreign_result *out, size_t count)
{
	struct foreign_row *more;

	if ((count & (count - 1)) != 0) // there is room up to the next power of two
		return;
	more = ARENA_ARRAY(&out->arena, count > 0 ? 2 * count : 1, struct foreign_row);
	if (count > 0)
		memcpy(more, out->rows, count * sizeof *more);
	out->rows = more;
}

static enum status read_llama(struct foreign_result *out, const char *path, const json_t *tests, struct error *err)
{
	struct arena *a = &out->arena;
	size_t i;
	json_t *t;

	out->tool = "llama-bench";
	out->version = text_of(a, json_array_get(tests, 0), "build_number");
	out->machine_cpu = name_within(text_of(a, json_array_get(tests, 0), "cpu_info"), a);
	if (json_array_size(tests) > RESULTS_MOST)
		return unlike(err, path,
			arena_printf(a, "%zu results of llama-bench; at most %d are imported from one file",
				json_array_size(tests), RESULTS_MOST));
	json_array_foreach(tests, i, t)
	{
		const char *model = text_of(a, t, "model_filename"), *backends = text_of(a, t, "backends"),
			   *platform = llama_ran_on(a, t);
		double avg_ns = number_of(t, "avg_ns");
		int64_t prompt = integer_of(t, "n_prompt"), generated = integer_of(t, "n_gen");
		if (model == NULL || !(avg_ns > 0) || prompt == ROW_NONE || generated == ROW_NONE)
			return unlike(err, path,
				arena_printf(
					a, "test %zu of llama-bench lacks model_filename, avg_ns, n_prompt or n_gen", i + 1));
		if (contradicts(number_of(t, "avg_ts"), avg_ns, prompt + generated))
			return unlike(err, path,
				arena_printf(a,
					"test %zu of llama-bench contradicts itself: avg_ts says %.4g tokens a second, avg_ns "
					"%.4g",
					i + 1, number_of(t, "avg_ts"), 1e9 * (double)(prompt + generated) / avg_ns));
		make_room(out, i);
		struct foreign_row *f = row_begin(out, i, model, platform, "llama.cpp");
		struct row *r = &f->result.row;
		if (!take_samples(a, &f->result, json_object_get(t, "samples_ns"), 1e-6))
			return unlike(err, path, arena_printf(a, "test %zu of llama-bench has a sample that is no time", i + 1));
		if (is_not_the_mean(avg_ns / 1e6, &f->result))
			return unlike(err, path,
				arena_printf(a,
					"test %zu of llama-bench contradicts itself: avg_ns is not the mean of samples_ns",
					i + 1));
		take_statistics(a, &f->result);
		if (isnan(r->latency_ms))
			r->latency_ms = avg_ns / 1e6; // CSV has the mean alone
		r->model_type = text_of(a, t, "model_type");
		r->device_description = text_of(a, t, text_is(platform, "cpu") ? "cpu_info" : "gpu_info");
		r->precision = llama_quantisation(a, r->model_type);
		r->weights_bytes = integer_of(t, "model_size");
		r->threads = integer_of(t, "n_threads");
		r->batch = 1;
		r->task = generated > 0 ? "generate" : NULL;
		r->prompt_tokens = prompt;
		r->new_tokens = generated;
		if (generated == 0)
			r->sequence = prompt;
		if (prompt > 0 && generated == 0)
			r->prefill_ms = r->latency_ms;
		if (generated > 0 && prompt == 0)
			r->token_ms = r->latency_ms / (double)generated;
		r->tokens_per_s = number_of(t, "avg_ts");
		r->started_at = time_of(a, t, "test_time");
		f->cell.batch = 1;
		f->cell.sequence = generated == 0 ? prompt : 0;
		f->cell.options = arena_printf(
			a, "p%lld n%lld %s", (long long)prompt, (long long)generated, backends != NULL ? backends : "");
		out->count = i + 1;
	}
	return STATUS_OK;
}

// ---- optimum-benchmark ---------------------------------------------------------------------------------------------

static double seconds_of(const json_t *measurements, const char *key)
{
	return 1e3 * number_of(json_object_get(measurements, "latency"), key);
}

static enum status read_optimum(struct foreign_result *out, const char *path, const json_t *file, struct error *err)
{
	struct arena *a = &out->arena;
	const json_t *config = json_object_get(file, "config"), *report = json_object_get(file, "report"),
		     *backend = json_object_get(config, "backend"), *scenario = json_object_get(config, "scenario"),
		     *shapes = json_object_get(scenario, "input_shapes"), *environment = json_object_get(config, "environment");
	const json_t *forward = json_object_get(report, "forward"), *prefill = json_object_get(report, "prefill"),
		     *decode = json_object_get(report, "decode"),
		     *load = json_object_get(report, "load_model") ? json_object_get(report, "load_model")
								   : json_object_get(report, "load");
	const json_t *main = forward != NULL ? forward : prefill != NULL ? prefill : json_object_get(report, "call");
	const json_t *latency = json_object_get(main, "latency"), *memory = json_object_get(main, "memory");
	const char *model = text_of(a, backend, "model"), *device = text_of(a, backend, "device"),
		   *name = text_of(a, backend, "name");

	out->tool = "optimum-benchmark";
	out->version = text_of(a, environment, "optimum_benchmark_version");
	if (config == NULL || model == NULL)
		return unlike(err, path,
			"a report of optimum-benchmark without its configuration: nothing says which model it was; import "
			"benchmark.json, which has both");
	if (!json_is_object(latency) || !text_is(json_string_value(json_object_get(latency, "unit")), "s"))
		return unlike(err, path, "optimum-benchmark's report has no latency in s of forward, prefill or call");
	out->machine_cpu = name_within(text_of(a, environment, "cpu"), a);
	out->count = 1;
	out->rows = ARENA_ARRAY(a, 1, struct foreign_row);
	const char *platform = text_is(name, "openvino") ? "openvino" : device != NULL ? device : "cpu";
	struct foreign_row *f = row_begin(out, 0, model, platform, name);
	struct row *r = &f->result.row;
	if (!take_samples(a, &f->result, json_object_get(latency, "values"), 1e3))
		return unlike(err, path, "optimum-benchmark's report has a latency that is no time");
	take_statistics(a, &f->result);
	if (isnan(r->latency_ms))
		r->latency_ms = seconds_of(main, "p50");
	if (!(r->latency_ms > 0))
		return unlike(err, path, "optimum-benchmark's report has no times");
	r->engine_version = text_of(a, backend, "version");
	r->model_type = text_of(a, backend, "model_type");
	r->batch = integer_of(shapes, "batch_size");
	r->sequence = integer_of(shapes, "sequence_length");
	r->load_ms = seconds_of(load, "mean");
	r->throughput_per_s = number_of(json_object_get(main, "throughput"), "value");
	r->warmup_runs = integer_of(scenario, "warmup_runs");
	if (text_is(json_string_value(json_object_get(memory, "unit")), "MB")) {
		r->peak_resident_mib = number_of(memory, "max_ram") * MIB_OF_MB;
		r->device_memory_mib = number_of(memory, "max_process_vram") * MIB_OF_MB;
	}
	if (prefill != NULL) {
		r->task = "generate";
		r->prefill_ms = seconds_of(prefill, "p50");
		r->prompt_tokens = r->sequence; // the row's times are those of the prompt, so it has no new tokens
		r->tokens_per_s = number_of(json_object_get(decode, "throughput"), "value");
	}
	f->cell.batch = r->batch != ROW_NONE ? r->batch : 0;
	f->cell.sequence = r->sequence != ROW_NONE ? r->sequence : 0;
	f->cell.options = arena_printf(a, "%s", name != NULL ? name : "");
	return STATUS_OK;
}

// ---- benchmark_app -------------------------------------------------------------------------------------------------

static enum status read_benchmark_app(struct foreign_result *out, const char *path, const json_t *file, struct error *err)
{
	struct arena *a = &out->arena;
	const json_t *options = json_object_get(file, "cmd_options"), *setup = json_object_get(file, "configuration_setup"),
		     *results = json_object_get(file, "execution_results");
	const char *model = text_of(a, options, "-m") ? text_of(a, options, "-m")
		: text_of(a, options, "m")            ? text_of(a, options, "m")
						      : text_of(a, setup, "topology");
	const char *device =
		text_of(a, setup, "target device") ? text_of(a, setup, "target device") : text_of(a, setup, "target_device");
	const char *said = text_of(a, results, "error");

	device = name_within(device, a);
	out->tool = "benchmark_app";
	if (json_object_get(results, "error") != NULL)
		return unlike(err, path,
			arena_printf(a, "benchmark_app ended with an error, so there is no result%s%s", said != NULL ? ": " : "",
				said != NULL ? said : ""));
	double median = number_of_any(results, "latency (ms)", "Median latency (ms)", "latency_median");
	double percentile = number_of_any(results, "Percentile boundary", "Percentile boundary", "percentile_boundary");
	if (model == NULL || !(median > 0) || (!isnan(percentile) && percentile < 50) || percentile > 50)
		return unlike(err, path,
			"benchmark_app's report has no model or no median latency (-report_type no_counters writes both; a "
			"percentile other than 50 is not taken)");
	out->count = 1;
	out->rows = ARENA_ARRAY(a, 1, struct foreign_row);
	struct foreign_row *f = row_begin(out, 0, model, "openvino", "openvino");
	struct row *r = &f->result.row;
	r->device = device;
	r->latency_ms = median;
	r->latency_min_ms = number_of_any(results, "min latency", "Min latency (ms)", "latency_min");
	r->latency_max_ms = number_of_any(results, "max latency", "Max latency (ms)", "latency_max");
	r->throughput_per_s = number_of(results, "throughput");
	r->load_ms = number_of_any(results, "compile model time (ms)", "compile model time (ms)", "compile_model_time");
	r->first_ms = number_of_any(results, "first inference time (ms)", "first inference time (ms)", "first_inference_time");
	r->samples = integer_of(results, "total number of iterations") != ROW_NONE
		? integer_of(results, "total number of iterations")
		: integer_of(results, "iterations_num");
	r->batch =
		integer_of(setup, "batch size") != ROW_NONE ? integer_of(setup, "batch size") : integer_of(setup, "batch_size");
	f->cell.batch = r->batch != ROW_NONE ? r->batch : 0;
	f->cell.device = device != NULL ? device : "";
	return STATUS_OK;
}

// Sections of "key;value" lines, as the JSON report has them.
static json_t *benchmark_app_csv(struct arena *a, const char *text)
{
	static const struct {
		const char *title, *key;
	} sections[] = {
		{ "Command line parameters", "cmd_options" },
		{ "Configuration setup", "configuration_setup" },
		{ "Execution results", "execution_results" },
	};
	json_t *out = json_object(), *section = NULL;

	for (const char *p = text; *p != '\0';) {
		size_t n = strcspn(p, "\r\n"), split = strcspn(p, ";\r\n");
		for (size_t i = 0; i < 3; i++) {
			if (strlen(sections[i].title) == n && strncmp(p, sections[i].title, n) == 0) {
				section = json_object();
				json_object_set_new(out, sections[i].key, section);
			}
		}
		if (section != NULL && split < n)
			json_object_set_new(
				section, arena_strndup(a, p, split), json_string(arena_strndup(a, p + split + 1, n - split - 1)));
		p += n + (p[n] != '\0');
	}
	return out;
}

// ---- onnxruntime_perf_test -----------------------------------------------------------------------------------------

// Behind `label`, as a number; NaN where the label is not there.
static double printed(const char *text, const char *label)
{
	const char *p = strstr(text, label);

	return p != NULL ? strtod(p + strlen(label), NULL) : (double)NAN;
}

static enum status read_perf_test_printed(struct foreign_result *out, const char *path, const char *text, struct error *err)
{
	double median = printed(text, "P50 Latency: "), total = printed(text, "Total inference requests: ");

	out->tool = "onnxruntime_perf_test";
	if (!(median > 0))
		return unlike(err, path, "what onnxruntime_perf_test printed has no \"P50 Latency:\" (was it cut off?)");
	// It does not print the model: the file's name stands for it.
	const char *slash = strrchr(path, '/'), *model = slash != NULL ? slash + 1 : path;
	out->count = 1;
	out->rows = ARENA_ARRAY(&out->arena, 1, struct foreign_row);
	struct foreign_row *f = row_begin(out, 0, arena_strdup(&out->arena, model), NULL, "ort");
	struct row *r = &f->result.row;
	r->latency_ms = 1e3 * median;
	r->latency_min_ms = 1e3 * printed(text, "Min Latency: ");
	r->latency_max_ms = 1e3 * printed(text, "Max Latency: ");
	r->load_ms = 1e3 * printed(text, "Session creation time cost: ");
	r->first_ms = printed(text, "First inference time cost: ");
	r->throughput_per_s = printed(text, "Number of inferences per second: ");
	r->peak_resident_mib = printed(text, "Peak working set size: ") / 1048576.0;
	r->samples = total >= 1 && total < 1e15 ? (int64_t)total : ROW_NONE;
	r->cause = "imported: assay neither measured nor checked it; which provider ran is not in the file";
	return STATUS_OK;
}

// Lines "model,seconds,peak bytes,CPU %,number", by DuckDB's reader; after them there may be statistics.
static enum status read_perf_test_file(struct foreign_result *out, const char *path, struct table *t, struct error *err)
{
	struct arena *a = &out->arena;
	size_t n = 0;

	out->tool = "onnxruntime_perf_test";
	out->count = 1;
	out->rows = ARENA_ARRAY(a, 1, struct foreign_row);
	const char *model = table_get(t, 0, "model");
	if (model == NULL || *model == '\0')
		return unlike(err, path, "its first line names no model, as each of a result file of onnxruntime_perf_test does");
	struct foreign_row *f = row_begin(out, 0, arena_strdup(a, model), NULL, "ort");
	f->result.sample_ms = ARENA_ARRAY(a, t->row_count + 1, double);
	for (size_t i = 0; i < t->row_count; i++) {
		double s = table_real(t, i, "s");
		if (!text_is(table_get(t, i, "model"), f->cell.model) || !(s > 0))
			return unlike(err, path,
				arena_printf(a,
					"line %zu is of another model or has no time: one result file of onnxruntime_perf_test "
					"is one model's",
					i + 1));
		f->result.sample_ms[n++] = 1e3 * s;
	}
	f->result.sample_count = n;
	take_statistics(a, &f->result);
	f->result.row.peak_resident_mib = table_real(t, 0, "peak") / 1048576.0;
	f->result.row.cause = "imported: assay neither measured nor checked it; which provider ran is not in the file";
	return STATUS_OK;
}

// ---- how much ------------------------------------------------------------------------------------------------------

// Lines and cells, before anything is made of them: a line of four bytes is a hundred in a table.
static enum status check_lines(const char *path, const char *text, size_t lines_most, struct error *err)
{
	size_t lines = 1, cells = 0, columns = 1, length = 0, longest = 0, first = 0;

	for (const char *p = text; *p != '\0'; p++) {
		length = p > text && p[-1] == '\n' ? 1 : length + 1;
		longest = length > longest ? length : longest;
		first = lines == 1 ? length : first;
		bool ends = *p == '\n' || (*p == '\r' && p[1] != '\n');
		cells += ends || *p == ',' || *p == ';';
		columns += lines == 1 && (*p == ',' || *p == ';');
		lines += ends && p[1] != '\0';
	}
	if (lines > lines_most)
		return error_set(
			err, STATUS_BAD_INPUT, "%s: %zu lines; at most %zu are imported from one file", path, lines, lines_most);
	if (cells > CELLS_MOST || columns > CELLS_MOST / lines) // a short line is as wide as the first
		return error_set(err, STATUS_BAD_INPUT, "%s: more than %d cells; no result of a tool that is known has so many",
			path, CELLS_MOST);
	if (first > HEADER_MOST || longest > LINE_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: a line of %zu bytes; no tool that is known writes one as long", path,
			longest);
	return STATUS_OK;
}

// ---- which tool ----------------------------------------------------------------------------------------------------

static enum status read_csv(struct foreign_result *out, const char *path, const char *text, struct error *err)
{
	// Only lines that the tool writes are taken, and of them the columns that read_llama looks at; the name of the file is a
	// parameter.
	static const char llama[] = "SELECT "
				    "COLUMNS('^(build_commit|build_number|cpu_info|gpu_info|backends|model_filename|model_type|"
				    "model_size|n_threads|n_gpu_layers"
				    "|n_prompt|n_gen|test_time|avg_ns|avg_ts)$') FROM read_csv(?" PLAIN_TEXT_SQL
				    ", header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"')";
	static const char perf[] =
		"SELECT model, TRY_CAST(s AS DOUBLE) AS s, TRY_CAST(peak AS BIGINT) AS peak FROM read_csv(?" PLAIN_TEXT_SQL
		", header = false, all_varchar = true, auto_detect = false,"
		" delim = ',', columns = {'model': 'VARCHAR', 's': 'VARCHAR', 'peak': 'VARCHAR', 'cpu': "
		"'VARCHAR', 'n': 'VARCHAR'}, null_padding = true, ignore_errors = false) WHERE s IS NOT NULL";
	bool is_llama = text_starts(text, "build_commit,");
	const struct db_api *api = NULL;
	struct db d = { 0 };
	struct table t = { 0 };
	bool locked;
	enum status status = check_lines(path, text, is_llama ? RESULTS_MOST + 1 : LINES_MOST, err);

	if (status == STATUS_OK)
		status = db_check_not_pattern(path, err);
	if (status != STATUS_OK)
		return status;
	status = db_load(&api, err);
	if (status == STATUS_OK)
		status = db_open(&d, api, &(struct db_opening){ .files = (const char *const[]){ path, NULL } }, &locked, err);
	const char *name = arena_printf(&out->arena, "%s%s", sql_file_prefix(path), path);
	if (status == STATUS_OK)
		status = db_query(&d, &out->arena, is_llama ? llama : perf, &(struct db_parameter){ .text = name }, 1, &t, err);
	db_close(&d);
	if (status != STATUS_OK)
		return error_set(err, STATUS_BAD_INPUT, "%s: no result of a tool that is known, and no CSV either", path);
	if (t.row_count == 0)
		return unlike(err, path, "there is no result in it");
	if (!is_llama)
		return read_perf_test_file(out, path, &t, err);
	json_t *tests = json_array();
	for (size_t i = 0; i < t.row_count; i++) {
		json_t *object = json_object();
		for (size_t c = 0; c < t.column_count; c++) {
			const char *cell = t.cells[i * t.column_count + c];
			if (cell != NULL)
				json_object_set_new(object, t.columns[c], json_string(cell));
		}
		json_array_append_new(tests, object);
	}
	status = read_llama(out, path, tests, err);
	json_decref(tests);
	return status;
}

// An object a line.
static json_t *json_lines(const char *text)
{
	json_t *out = json_array();

	while (*(text += strspn(text, " \t\r\n")) != '\0') {
		size_t n = strcspn(text, "\n");
		json_t *v = json_line(text, n);
		if (v == NULL || json_array_append_new(out, v) != 0) {
			json_decref(out);
			return NULL;
		}
		text += n;
	}
	return out;
}

static enum status read_json(struct foreign_result *out, const char *path, const char *text, size_t nbytes, struct error *err)
{
	struct error why = { 0 };
	json_t *v = NULL;
	enum status status;

	bool lines = *text == '{' && json_weight(text, nbytes, JSON_MOST) <= JSON_MOST;
	if (json_bytes(path, text, nbytes, &v, &why) != STATUS_OK && (v = lines ? json_lines(text) : NULL) == NULL)
		return error_set(err, STATUS_BAD_INPUT, "%s", why.text);
	const json_t *first = json_is_array(v) ? json_array_get(v, 0) : v;
	if (json_is_object(v) && json_object_get(v, "execution_results") != NULL)
		status = read_benchmark_app(out, path, v, err);
	else if (json_is_object(v) &&
		(json_object_get(v, "report") != NULL || json_object_get(v, "forward") != NULL ||
			json_object_get(v, "prefill") != NULL))
		status = read_optimum(out, path, v, err);
	else if (json_object_get(first, "avg_ns") != NULL && json_object_get(first, "n_prompt") != NULL) {
		json_t *tests = json_is_array(v) ? json_incref(v) : json_pack("[O]", v);
		status = read_llama(out, path, tests, err);
		json_decref(tests);
	} else {
		status = unlike(err, path, "JSON, but no result of llama-bench, optimum-benchmark or benchmark_app");
	}
	json_decref(v);
	return status;
}

// ---- what cannot be --------------------------------------------------------------------------------------------------

// Of a number that is there: a sentence where nothing can have measured it.
static const char *number_that_cannot_be(struct arena *a, const char *name, double x, double least, double most)
{
	return !isnan(x) && !(x >= least && x <= most) ? arena_printf(a, "%s is %g, which cannot be", name, x) : NULL;
}

static const char *count_that_cannot_be(struct arena *a, const char *name, int64_t n, int64_t least, int64_t most)
{
	return n != ROW_NONE && (n < least || n > most) ? arena_printf(a, "%s is %lld, which cannot be", name, (long long)n)
							: NULL;
}

// Times from a nanosecond to four months in ms, rates up to 1e12 a second, memory up to an exbibyte.
static const char *cannot_be(struct arena *a, const struct foreign_row *f)
{
	const struct row *r = &f->result.row;
	const double ns = 1e-6, months = 1e10, rate = 1e12, exbibyte = 1099511627776.0;
	const char *const why[] = {
		number_that_cannot_be(a, "its median time in ms", r->latency_ms, ns, months),
		number_that_cannot_be(a, "its smallest time in ms", r->latency_min_ms, ns, months),
		number_that_cannot_be(a, "its largest time in ms", r->latency_max_ms, ns, months),
		number_that_cannot_be(a, "its time to load in ms", r->load_ms, 0, months),
		number_that_cannot_be(a, "its first time in ms", r->first_ms, 0, months),
		number_that_cannot_be(a, "its time of the prompt in ms", r->prefill_ms, ns, months),
		number_that_cannot_be(a, "its throughput", r->throughput_per_s, 0, rate),
		number_that_cannot_be(a, "its tokens a second", r->tokens_per_s, 0, rate),
		number_that_cannot_be(a, "its peak memory in MiB", r->peak_resident_mib, 0, exbibyte),
		number_that_cannot_be(a, "its device memory in MiB", r->device_memory_mib, 0, exbibyte),
		count_that_cannot_be(a, "its batch", r->batch, 1, 1 << 30),
		count_that_cannot_be(a, "its number of threads", r->threads, 1, 1 << 20),
		count_that_cannot_be(a, "its sequence", r->sequence, 1, 1 << 30),
		count_that_cannot_be(a, "its number of prompt tokens", r->prompt_tokens, 0, 1 << 30),
		count_that_cannot_be(a, "its number of generated tokens", r->new_tokens, 0, 1 << 30),
		count_that_cannot_be(a, "the bytes of its weights", r->weights_bytes, 0, INT64_MAX),
		count_that_cannot_be(a, "its number of runs", r->samples, 1, INT64_MAX),
		count_that_cannot_be(a, "its number of warm-up runs", r->warmup_runs, 0, INT64_MAX),
	};

	for (size_t i = 0; i < sizeof why / sizeof *why; i++)
		if (why[i] != NULL)
			return why[i];
	if (r->latency_min_ms > r->latency_ms || r->latency_max_ms < r->latency_ms)
		return arena_printf(a, "its median time is %g ms, its smallest %g and its largest %g, which cannot be",
			r->latency_ms, r->latency_min_ms, r->latency_max_ms);
	return row_beyond(r, a);
}

static enum status check_rows(struct foreign_result *out, const char *path, struct error *err)
{
	for (size_t i = 0; i < out->count; i++) {
		const char *why = cannot_be(&out->arena, &out->rows[i]);
		if (why != NULL)
			return unlike(err, path, arena_printf(&out->arena, "result %zu of %s: %s", i + 1, out->tool, why));
	}
	return STATUS_OK;
}

enum status foreign_read(struct foreign_result *out, const char *path, struct error *err)
{
	char *text = NULL;
	size_t nbytes = 0;
	enum status status;

	*out = (struct foreign_result){ 0 };
	status = file_read(&out->arena, path, FOREIGN_FILE_LIMIT, &text, &nbytes, err);
	if (status == STATUS_OK && memchr(text, '\0', nbytes) != NULL)
		status = unlike(err, path, "no result of a tool that is known: it has bytes that no text has");
	if (status == STATUS_OK) {
		const char *begin = text + strspn(text, " \t\r\n");
		if (*begin == '{' || *begin == '[') {
			status = read_json(out, path, begin, nbytes - (size_t)(begin - text), err);
		} else if (strstr(text, "Command line parameters") == begin || strstr(text, "Configuration setup") == begin ||
			strstr(text, "Execution results") == begin) {
			if ((status = check_lines(path, text, LINES_MOST, err)) == STATUS_OK) {
				json_t *v = benchmark_app_csv(&out->arena, text);
				status = read_benchmark_app(out, path, v, err);
				json_decref(v);
			}
		} else if (strstr(text, "Session creation time cost:") != NULL) {
			status = read_perf_test_printed(out, path, text, err);
		} else {
			status = read_csv(out, path, text, err);
		}
	}
	if (status == STATUS_OK)
		status = check_rows(out, path, err);
	if (status != STATUS_OK)
		foreign_done(out);
	return status;
}
