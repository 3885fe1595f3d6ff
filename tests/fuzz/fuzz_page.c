// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a browser's page says of itself, and as lines of the log that it sends: words that can be shown, limits that
// are held against numbers, nodes counted once.
#include <stdlib.h>
#include <string.h>

#include "backend/browser.h"
#include "base/json.h"
#include "fuzz.h"

static void facts(const uint8_t *data, size_t size)
{
	static const struct artifact_parts parts = { .nbytes = 1000, .largest_nbytes = 900, .largest = "weight" };
	static const char *const providers[] = { "webgpu", "webnn", "wasm" };
	struct arena a = { 0 };
	struct error e = { 0 };
	json_t *hello = NULL;

	fuzz_memory_begin();
	enum status s = json_bytes("the page", (const char *)data, size, &hello, &e);
	const char *version = browser_version(&a, hello);
	browser_adapter_is_software(json_object_get(hello, "webgpu"));
	fuzz_memory_end(size, 16 << 10, 256);
	if (s)
		fuzz_refused(s, &e, "the page: ");
	if (!version || strlen(version) > 1000)
		abort();
	for (size_t i = 0; i < 3; i++) {
		e = (struct error){ 0 };
		if ((s = page_fits(&parts, providers[i], hello, &e)))
			fuzz_refused(s, &e, NULL);
	}
	json_decref(hello);
	arena_done(&a);
}

static void log_lines(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct placed_node nodes[] = { { .name = "one", .op = "Add" }, { .name = "two", .op = "Gemm" },
		{ .name = "", .op = "Gemm" } };
	struct placement p = { .arena = &a,
		.nodes = nodes,
		.count = sizeof nodes / sizeof *nodes,
		.on_platform = -1,
		.elsewhere = -1,
		.partitions = -1,
		.copies = -1 };
	char *text = arena_strndup(&a, (const char *)data, size);
	const char **lines = ARENA_ARRAY(&a, size + 1, const char *);
	size_t count = 0;

	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		lines[count++] = line;
	fuzz_memory_begin();
	browser_assign(lines, count, "webgpu", NULL, &p);
	fuzz_memory_end(size, 16 << 10, 256);
	if (p.on_platform > (int64_t)(p.count + count) || p.elsewhere > (int64_t)(p.count + count) || p.copies > (int64_t)count ||
		!p.note)
		abort();
	fuzz_touch(p.note, strlen(p.note));
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	facts(data, size);
	log_lines(data, size);
	return 0;
}
