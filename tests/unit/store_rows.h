// SPDX-License-Identifier: Apache-2.0
// Rows for the tests of store and report. Their figures are made up: they belong to tests only and were never measured.
#ifndef ASSAY_TEST_STORE_ROWS_H
#define ASSAY_TEST_STORE_ROWS_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "run/cell.h"
#include "store/store.h"

static inline struct machine test_machine(void)
{
	return (struct machine){
		.id = "0123456789abcdef",
		.hostname = "testhost",
		.os = "Test OS 1",
		.kernel = "6.0",
		.architecture = "x86_64",
		.cpu_vendor = "TestVendor",
		.cpu_model = "Test CPU",
		.sockets = 1,
		.cores = 2,
		.threads = 4,
		.usable_cpus = 2,
		.l1d_bytes = 32768,
		.l2_bytes = 1 << 20,
		.l3_bytes = 32 << 20,
		.features = "avx avx2",
		.memory_bytes = 8LL << 30,
		.memory_available_bytes = 4LL << 30,
		.boot_id = "test-boot",
	};
}

static inline struct cell test_cell(const char *model, const char *platform)
{
	return (struct cell){ .model = model,
		.path = "/models/x",
		.platform = platform,
		.device = "",
		.options = "",
		.batch = 1,
		.sequence = 128,
		.timeout_s = 600 };
}

// A row that ran: latency in ms over `count` equal samples.
static inline struct cell_result test_result(int64_t row, const char *model, const char *platform, enum verdict verdict)
{
	static double samples[] = { 11, 12, 13, 12, 11, 12, 13, 12, 11, 12, 13 };
	struct cell_result r = { .verdict = verdict, .sample_ms = samples, .sample_count = 11 };

	row_init(&r.row);
	r.row.row = row;
	r.row.model = model;
	r.row.model_type = "bert";
	r.row.architecture = "encoder-only";
	r.row.head = "model";
	r.row.requested = r.row.actual = platform;
	r.row.engine = "ort";
	r.row.engine_version = "1.0";
	r.row.device = "CPU";
	r.row.verdict = verdict_word(verdict);
	r.row.weights = "synthetic";
	r.row.reference = "engine:openvino-f32";
	r.row.weights_dtype = r.row.compute_dtype = "f32";
	r.row.batch = 1;
	r.row.sequence = 128;
	r.row.load_ms = 250;
	r.row.first_ms = 20;
	r.row.latency_ms = 12;
	r.row.latency_min_ms = 11;
	r.row.latency_max_ms = 13;
	r.row.samples = 11;
	r.row.peak_anonymous_mib = 100;
	r.row.peak_pss_mib = 500;
	r.row.peak_resident_mib = 520;
	r.row.predicted_mib = 546;
	r.row.output_shape = "[1,128,768]";
	r.row.cell_key = "key";
	return r;
}

// A new folder under the build folder or TMPDIR; removed by test_folder_done.
static inline char *test_folder(void)
{
	const char *base = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof path, "%s/assay-store-XXXXXX", base != NULL ? base : "/tmp");
	return strdup(mkdtemp(path) != NULL ? path : "/nonexistent");
}

static inline void test_folder_done(char *folder)
{
	file_remove_tree(folder, NULL);
	free(folder);
}

// Opens the database at `path` for many rows: a new one's tables are a copy of those that the program's first call made, and
// the file stays open until store_close. STATUS_OK, or what store_open says.
static inline enum status test_store_open(struct store *s, const char *path, struct error *err)
{
	static struct arena kept; // of the process
	static char *empty;
	static size_t nbytes;
	enum status status = STATUS_OK;

	if (empty == NULL) {
		status = store_open(s, path, false, err);
		store_close(s);
		if (status == STATUS_OK)
			status = file_read(&kept, path, 1 << 24, &empty, &nbytes, err);
	} else if (!file_exists(path)) {
		status = file_put(path, empty, nbytes, err);
	}
	if (status == STATUS_OK)
		status = store_open(s, path, false, err);
	s->keeps_open = status == STATUS_OK;
	return status;
}

#endif
