// SPDX-License-Identifier: Apache-2.0
// What bench/overhead makes of its pairs: the median and the fastest run of each process, the ratio of the medians of both
// sides, and its 95 % interval from 10,000 bootstrap draws of whole pairs (seeded). The fastest runs are compared too: other
// load on the machine disturbs them least.
//
//     overhead FOLDER PAIRS RESULT.json [KEY=TEXT...]
// FOLDER holds cell.N.json (`assay run --json`), bare.N (milliseconds, one a line) for N from 1, and detect.json.
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DRAWS = 10000, PAIRS_LEAST = 20 };

static void die(const char *what, const char *which)
{
	fprintf(stderr, "overhead: %s: %s\n", what, which);
	exit(1);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *x, size_t count)
{
	double *sorted = malloc(count * sizeof *sorted), result;

	memcpy(sorted, x, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, ascending);
	result = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
	free(sorted);
	return result;
}

static double fastest_of(const json_t *samples)
{
	double least = INFINITY;

	for (size_t i = 0; i < json_array_size(samples); i++)
		least = fmin(least, json_number_value(json_array_get(samples, i)));
	return least;
}

static double median_of(const json_t *samples)
{
	size_t count = json_array_size(samples);
	double *x = malloc((count + 1) * sizeof *x), result;

	if (!count)
		die("no samples", "");
	for (size_t i = 0; i < count; i++)
		x[i] = json_number_value(json_array_get(samples, i));
	result = median(x, count);
	free(x);
	return result;
}

static json_t *read_json(const char *folder, const char *name)
{
	char path[4096];
	json_error_t why;
	json_t *json;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	json = json_load_file(path, 0, &why);
	if (!json)
		die(why.text, path);
	return json;
}

static json_t *read_numbers(const char *folder, const char *name)
{
	json_t *array = json_array();
	char path[4096];
	double x;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "re");
	if (!f)
		die("cannot read", path);
	while (fscanf(f, "%lf", &x) == 1)
		json_array_append_new(array, json_real(x));
	fclose(f);
	return array;
}

static uint64_t state = 20261121;

static uint64_t draw(void) // splitmix64
{
	uint64_t z = state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

// [low, high] of the ratio of medians, and of the median of the pairs' ratios.
static void bootstrap(const double *cells, const double *bares, size_t pairs, double medians[2], double paired[2])
{
	double *x = malloc(pairs * sizeof *x), *y = malloc(pairs * sizeof *y), *q = malloc(pairs * sizeof *q);
	double *of_medians = malloc(DRAWS * sizeof *of_medians), *of_pairs = malloc(DRAWS * sizeof *of_pairs);

	for (size_t d = 0; d < DRAWS; d++) {
		for (size_t i = 0; i < pairs; i++) {
			size_t k = (size_t)(draw() % pairs);

			x[i] = cells[k];
			y[i] = bares[k];
			q[i] = x[i] / y[i];
		}
		of_medians[d] = median(x, pairs) / median(y, pairs);
		of_pairs[d] = median(q, pairs);
	}
	qsort(of_medians, DRAWS, sizeof *of_medians, ascending);
	qsort(of_pairs, DRAWS, sizeof *of_pairs, ascending);
	medians[0] = of_medians[DRAWS * 25 / 1000];
	medians[1] = of_medians[DRAWS * 975 / 1000];
	paired[0] = of_pairs[DRAWS * 25 / 1000];
	paired[1] = of_pairs[DRAWS * 975 / 1000];
	free(x);
	free(y);
	free(q);
	free(of_medians);
	free(of_pairs);
}

int main(int argc, char **argv)
{
	char name[64];
	json_t *ours = json_array(), *theirs = json_array(), *detected, *result, *cell = NULL;
	double *cells, *bares, *ratios, *cell_fastest, *bare_fastest, medians[2], paired[2], fastest[2], unused[2], ratio;
	size_t pairs;

	if (argc < 4)
		die("usage", "overhead FOLDER PAIRS RESULT.json [KEY=TEXT...]");
	pairs = strtoul(argv[2], NULL, 10);
	if (pairs < PAIRS_LEAST)
		die("at least 20 pairs are needed, not", argv[2]);
	cells = calloc(pairs, sizeof *cells);
	bares = calloc(pairs, sizeof *bares);
	ratios = calloc(pairs, sizeof *ratios);
	cell_fastest = calloc(pairs, sizeof *cell_fastest);
	bare_fastest = calloc(pairs, sizeof *bare_fastest);
	for (size_t i = 0; i < pairs; i++) {
		json_t *array, *samples;

		snprintf(name, sizeof name, "cell.%zu.json", i + 1);
		array = read_json(argv[1], name);
		json_decref(cell);
		cell = json_incref(json_array_get(array, 0));
		json_decref(array);
		samples = json_incref(json_object_get(cell, "samples_ms"));
		cells[i] = median_of(samples);
		cell_fastest[i] = fastest_of(samples);
		json_array_append_new(ours, samples);
		snprintf(name, sizeof name, "bare.%zu", i + 1);
		samples = read_numbers(argv[1], name);
		bares[i] = median_of(samples);
		bare_fastest[i] = fastest_of(samples);
		json_array_append_new(theirs, samples);
		ratios[i] = cells[i] / bares[i];
	}
	bootstrap(cells, bares, pairs, medians, paired);
	bootstrap(cell_fastest, bare_fastest, pairs, fastest, unused);
	ratio = median(cells, pairs) / median(bares, pairs);
	detected = read_json(argv[1], "detect.json");
	json_object_del(json_object_get(detected, "machine"), "hostname"); // a result says which kind of machine, not which
	json_object_del(json_object_get(detected, "machine"), "boot_id");
	result = json_pack(
		"{s:s, s:O, s:O?, s:O?, s:O?, s:O?, s:I, s:f, s:f, s:f, s:[f,f], s:f, s:[f,f], s:f, s:[f,f], s:o, s:o}", "what",
		"latency of a cell against a bare loop around the same engine and graph file: ratio and its 95 % interval",
		"machine", json_object_get(detected, "machine"), "engine_version", json_object_get(cell, "engine_version"),
		"options", json_object_get(cell, "options"), "batch", json_object_get(cell, "batch"), "sequence",
		json_object_get(cell, "sequence"), "pairs", (json_int_t)pairs, "ours_median_ms", median(cells, pairs),
		"theirs_median_ms", median(bares, pairs), "ratio", ratio, "ratio_interval_95", medians[0], medians[1],
		"paired_ratio", median(ratios, pairs), "paired_ratio_interval_95", paired[0], paired[1], "fastest_ratio",
		median(cell_fastest, pairs) / median(bare_fastest, pairs), "fastest_ratio_interval_95", fastest[0], fastest[1],
		"ours_ms", ours, "theirs_ms", theirs);
	for (int i = 4; result && i < argc; i++) {
		char *equals = strchr(argv[i], '=');

		if (equals) {
			*equals = 0;
			json_object_set_new(result, argv[i], json_string(equals + 1));
		}
	}
	if (!result || json_dump_file(result, argv[3], JSON_COMPACT | JSON_REAL_PRECISION(9)) < 0)
		die("cannot write", argv[3]);
	printf("ratio %.4f, 95 %% interval %.4f to %.4f (paired: %.4f, %.4f to %.4f; fastest runs: %.4f, %.4f to %.4f) over %zu "
	       "pairs: %s\n",
		ratio, medians[0], medians[1], median(ratios, pairs), paired[0], paired[1],
		median(cell_fastest, pairs) / median(bare_fastest, pairs), fastest[0], fastest[1], pairs,
		medians[0] <= 1.02 ? "at most 1.02 is inside" : "above 1.02");
	return medians[0] <= 1.02 ? 0 : 1;
}
