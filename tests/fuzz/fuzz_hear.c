// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a child writes to its parent: lines up to the first that is no event, then every way in which a child may
// end. What was heard is numbers that are numbers and text that can be stored; a verdict other than the good ones has its
// sentence.
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "fuzz.h"
#include "run/cell.h"
#include "run/hear.h"

static void read_words(void *context, const char *words)
{
	(void)context;
	fuzz_touch(words, strlen(words));
}

static bool is_good(enum verdict v)
{
	return v == VERDICT_RIGHT || v == VERDICT_COMPILES;
}

static void end(const struct heard *h, const uint8_t *data, size_t size)
{
	static const struct child_limits limits = { .timeout_s = 10, .silence_s = 5, .memory_bytes = 1 << 30 };

	for (int way = CHILD_EXITED; way <= CHILD_REFUSED; way++) {
		struct child_report r = {
			.end = (enum child_end)way, .code = way == CHILD_SIGNALLED ? 6 : 0, .memory_limit_by = "sampler"
		};
		const char *cause = NULL, *note = NULL;

		visible_clean(&r.output, (const char *)data, size);
		enum verdict v = heard_verdict(h, &r, &limits, &cause, &note);
		if (v >= VERDICT_COUNT || (!is_good(v) && !cause) || (is_good(v) && cause))
			abort();
		if (cause)
			fuzz_touch(cause, strlen(cause));
		if (note)
			fuzz_touch(note, strlen(note));
		for (size_t i = 0, n; i < r.output.length; i += n)
			if (!(n = visible_utf8(r.output.data + i, r.output.length - i, NULL)))
				abort();
		child_report_done(&r);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cell_watch watch = { .phase = read_words, .notice = read_words };
	struct arena a = { 0 };
	struct heard h;
	enum child_watch how = CHILD_WATCH;

	heard_init(&h, &a, &watch);
	fuzz_memory_begin();
	for (size_t at = 0; at < size && how != CHILD_REFUSE;) {
		const uint8_t *newline = memchr(data + at, '\n', size - at);
		size_t length = newline ? (size_t)(newline - data) - at : size - at;

		how = heard_line(&h, (const char *)data + at, length);
		at += length + 1;
	}
	fuzz_memory_end(size, 16 << 10, 256);
	if ((how == CHILD_REFUSE) != (h.rubbish != NULL) || !h.phase || !*h.phase)
		abort();
	for (size_t i = 0; i < h.sample_count; i++)
		if (!(h.sample_ms[i] >= 0))
			abort();
	if ((h.placement && !json_is_array(h.placement) && !h.rubbish) || (h.profile && !json_is_array(h.profile) && !h.rubbish))
		abort();
	json_t *row = row_to_json(&h.row);
	if (!json_is_object(row))
		abort();
	json_decref(row);
	end(&h, data, size);
	arena_done(&a);
	return 0;
}
