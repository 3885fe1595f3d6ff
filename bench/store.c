// SPDX-License-Identifier: Apache-2.0
// Appends cells of the null engine with made-up samples through store_started and store_finished, as a run does, and times what
// reads the file: a report, every named question, and looks at the samples themselves. Prints one JSON object. bench/store
// compiles and runs it.
//     store_bench FILE CELLSxSAMPLES...
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "platform/platform.h"
#include "report/report.h"
#include "run/cell.h"
#include "store/questions.h"

static int complain(const struct error *err)
{
	fprintf(stderr, "bench/store: %s\n", err->text);
	return 1;
}

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return 1e3 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// One cell: what a null engine's row has, with `count` samples of seeded noise around 10 ms.
static enum status add_cell(struct store *s, int64_t number, double *samples, size_t count, struct error *err)
{
	static const char *const platforms[] = { "cpu", "openvino", "webgpu", "qnn", "null" };
	char key[32], model[32];
	struct cell c = { .model = model,
		.path = "/nowhere",
		.platform = platforms[number % 5],
		.device = "",
		.options = "",
		.batch = 1,
		.sequence = 128,
		.timeout_s = 600 };
	struct cell_result r = { .verdict = VERDICT_RIGHT, .sample_ms = samples, .sample_count = count };
	int64_t row;
	enum status st;

	snprintf(key, sizeof key, "bench %lld", (long long)number);
	snprintf(model, sizeof model, "model-%lld", (long long)(number / 5));
	if ((st = store_started(s, &c, key, &row, err)))
		return st;
	for (size_t i = 0; i < count; i++)
		samples[i] = 10 + (double)(splitmix64((uint64_t)row, i) >> 40) / (1 << 24);
	row_init(&r.row);
	r.row.row = row;
	r.row.model = model;
	r.row.model_type = "bert";
	r.row.architecture = "encoder-only";
	r.row.requested = r.row.actual = c.platform;
	r.row.engine = "null";
	r.row.verdict = "right";
	r.row.weights = "synthetic";
	r.row.batch = 1;
	r.row.sequence = 128;
	r.row.latency_ms = 10.5;
	r.row.samples = (int64_t)count;
	r.row.peak_resident_mib = 30;
	r.row.cell_key = key;
	return store_finished(s, &r, err);
}

// Times of `tries` calls: the fastest and the median.
static void timed(json_t *to, const char *name, double ms[], size_t tries)
{
	for (size_t i = 0; i < tries; i++)
		for (size_t k = i + 1; k < tries; k++)
			if (ms[k] < ms[i]) {
				double other = ms[i];
				ms[i] = ms[k];
				ms[k] = other;
			}
	json_object_set_new(to, name, json_pack("{s:f, s:f}", "median_ms", ms[tries / 2], "fastest_ms", ms[0]));
}

enum { TRIES = 5 };

static int read_back(const char *path, json_t *out)
{
	static const struct {
		const char *name, *sql;
	} looks[] = {
		{ "published: hardware",
			"SELECT hardware, AVG(inference_time) as avg_time FROM hardware_results WHERE success = TRUE GROUP BY "
			"hardware ORDER BY avg_time ASC" },
		{ "published: architecture",
			"SELECT model_type, hardware, AVG(inference_time) as avg_time FROM hardware_results WHERE success = TRUE "
			"GROUP BY model_type, hardware ORDER BY model_type, avg_time ASC" },
		{ "published: memory",
			"SELECT model_id, hardware, memory_usage FROM hardware_results WHERE success = TRUE ORDER BY "
			"memory_usage DESC LIMIT 20" },
		{ "samples of one cell", "SELECT number, ms FROM sample WHERE cell = 7 ORDER BY number LIMIT 1000" },
		{ "median over every sample by platform",
			"SELECT c.requested, median(s.ms) AS ms, count(*) AS n FROM sample s JOIN cell c ON c.id = s.cell GROUP "
			"BY c.requested" },
	};
	json_t *queries = json_object();
	struct error err = { 0 };
	double ms[TRIES];

	for (size_t i = 0; i < TRIES; i++) {
		struct store s = { 0 };
		struct text t = { 0 };
		double begin = clock_ms();
		if (store_open(&s, path, true, &err) || report_write(&s, REPORT_MD, &t, &err))
			return complain(&err);
		ms[i] = clock_ms() - begin;
		text_done(&t);
		store_close(&s);
	}
	timed(queries, "report (Markdown, whole)", ms, TRIES);
	for (const struct store_question *q = store_questions; q->name; q++) {
		for (size_t i = 0; i < TRIES; i++) {
			struct store s = { 0 };
			struct table t;
			struct store_asking all = { 0 };
			const char *left;
			double begin = clock_ms();
			if (store_open(&s, path, true, &err) || store_ask(&s, q, &all, &t, &left, &err))
				return complain(&err);
			ms[i] = clock_ms() - begin;
			store_close(&s);
		}
		timed(queries, q->name, ms, TRIES);
	}
	for (size_t k = 0; k < sizeof looks / sizeof *looks; k++) {
		for (size_t i = 0; i < TRIES; i++) {
			struct store s = { 0 };
			struct table t;
			double begin = clock_ms();
			if (store_open(&s, path, true, &err) || store_query(&s, looks[k].sql, &t, &err))
				return complain(&err);
			ms[i] = clock_ms() - begin;
			store_close(&s);
		}
		timed(queries, looks[k].name, ms, TRIES);
	}
	json_object_set_new(out, "reading", queries);
	return 0;
}

int main(int argc, char **argv)
{
	struct machine machine = { .id = "bench", .hostname = "bench", .boot_id = "bench" };
	struct store s = { 0 };
	struct error err = { 0 };
	json_t *out = json_object(), *phases = json_array();
	struct stat st;
	int64_t number = 0, total = 0;

	if (argc < 3 || store_open(&s, argv[1], false, &err) || store_begin_run(&s, &machine, "bench/store", &err))
		return complain(&err);
	for (int a = 2; a < argc; a++) {
		char *end = NULL;
		long cells = strtol(argv[a], &end, 10), samples = end && *end == 'x' ? strtol(end + 1, NULL, 10) : 0;
		double *ms = calloc((size_t)samples + 1, sizeof *ms), begin = clock_ms(), cpu = cpu_ms();
		if (cells < 1 || samples < 1 || !ms)
			return 1;
		for (long i = 0; i < cells; i++)
			if (add_cell(&s, number++, ms, (size_t)samples, &err))
				return complain(&err);
		double wall = clock_ms() - begin, used = cpu_ms() - cpu, rows = (double)cells * (double)samples;
		total += (int64_t)rows;
		json_array_append_new(phases,
			json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "cells", (json_int_t)cells, "samples_each",
				(json_int_t)samples, "wall_s", wall / 1e3, "cpu_s", used / 1e3, "rows_per_s", 1e3 * rows / wall,
				"rows_per_cpu_s", 1e3 * rows / used, "ms_a_cell", wall / (double)cells));
		free(ms);
	}
	if (store_end_run(&s, &err))
		return complain(&err);
	store_close(&s);
	json_object_set_new(out, "sample_rows", json_integer(total));
	json_object_set_new(out, "appending", phases);
	if (stat(argv[1], &st) == 0)
		json_object_set_new(out, "file",
			json_pack("{s:I, s:f}", "bytes", (json_int_t)st.st_size, "bytes_a_sample",
				(double)st.st_size / (double)total));
	int code = read_back(argv[1], out);
	json_dumpf(out, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(out);
	return code;
}
