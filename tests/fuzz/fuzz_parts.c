// SPDX-License-Identifier: Apache-2.0
// Any bytes as an .onnx file whose weights are cut into files that a browser can fetch, beside it a w.bin of 64 bytes: refused
// with a sentence, or parts that lie inside of that file, and a graph that names nothing but them, whose nodes have names of
// their own.
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact.h"
#include "artifact/parts.h"
#include "fuzz.h"
#include "onnx/external.h"
#include "onnx/names.h"

enum { FILE_NBYTES = 64, LIMIT = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct artifact art = { .graph = data, .graph_nbytes = size };
	struct artifact_parts parts = { 0 };
	struct onnx_external external;
	uint8_t bytes[FILE_NBYTES];
	static bool ready;

	memset(bytes, 7, sizeof bytes);
	if (!ready)
		fuzz_put("w.bin", bytes, sizeof bytes);
	ready = true;
	art.weights_dir = fuzz_folder();
	fuzz_memory_begin();
	enum status s = artifact_cut(&parts, &a, &art, NULL, LIMIT, &e);
	fuzz_memory_end(size, 16 << 10, 512);
	if (s) {
		fuzz_refused(s, &e, NULL);
		arena_done(&a);
		return 0;
	}
	fuzz_touch(parts.graph, parts.graph_nbytes);
	size_t named;
	if (onnx_named(&a, parts.graph, parts.graph_nbytes, &named) != parts.graph)
		abort();
	for (size_t i = 0; i < parts.count; i++) {
		const struct artifact_part *p = &parts.items[i];
		uint8_t *whole = malloc(p->nbytes + 1);

		if (!whole || p->nbytes > FILE_NBYTES + 16 || artifact_part_read(p, 0, whole, p->nbytes) != p->nbytes)
			abort();
		fuzz_touch(whole, p->nbytes);
		free(whole);
	}
	if (parts.count) {
		onnx_external_read(parts.graph, parts.graph_nbytes, &a, &external);
		for (size_t i = 0; i < external.count; i++) {
			size_t k = 0;

			while (k < parts.count && strcmp(parts.items[k].name, external.locations[i]))
				k++;
			// Of a sparse tensor, and of a function's, it looks at nothing: they stay as they were.
			if (k == parts.count && !memmem(data, size, external.locations[i], strlen(external.locations[i])))
				abort();
		}
	}
	arena_done(&a);
	return 0;
}
