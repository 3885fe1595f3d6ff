// SPDX-License-Identifier: Apache-2.0
// For the two targets of foreign results.
#ifndef ASSAY_FUZZ_FOREIGN_H
#define ASSAY_FUZZ_FOREIGN_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "store/transfer.h"

// What foreign_read hands to DuckDB: text that is neither JSON, nor sections, nor what onnxruntime_perf_test prints.
static inline bool fuzz_foreign_is_table(const uint8_t *data, size_t size)
{
	static const char *const others[] = { "Command line parameters", "Configuration setup", "Execution results" };
	static const char printed[] = "Session creation time cost:";
	size_t begin = 0;

	if (memchr(data, 0, size) || memmem(data, size, printed, sizeof printed - 1))
		return false;
	while (begin < size && strchr(" \t\r\n", data[begin]))
		begin++;
	if (begin < size && (data[begin] == '{' || data[begin] == '['))
		return false;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (size - begin >= strlen(others[i]) && !memcmp(data + begin, others[i], strlen(others[i])))
			return false;
	return true;
}

static inline void fuzz_foreign(const uint8_t *data, size_t size, size_t fixed, size_t each)
{
	struct foreign_result r;
	struct error e = { 0 };
	const char *path = fuzz_put("result", data, size);

	fuzz_memory_begin();
	enum status s = foreign_read(&r, path, &e);
	fuzz_memory_end(size, fixed, each);
	if (s) {
		fuzz_refused(s, &e, path);
		if (r.rows || r.arena.blocks)
			abort();
		return;
	}
	if (!r.count || !r.rows || !r.tool)
		abort();
	for (size_t i = 0; i < r.count; i++) {
		const struct cell_result *x = &r.rows[i].result;
		json_t *json = row_to_json(&x->row);

		if (x->verdict != VERDICT_UNJUDGED || !x->row.source || !x->row.cause || !r.rows[i].cell.model ||
			!(x->row.latency_ms > 0) || !json)
			abort();
		for (size_t k = 0; k < x->sample_count; k++)
			if (!isfinite(x->sample_ms[k]) || x->sample_ms[k] < 0)
				abort();
		json_decref(json);
	}
	foreign_done(&r);
}

#endif
