// SPDX-License-Identifier: Apache-2.0
// Any JSON with the members of a pipeline's files: "generation" (generation_config.json), "options" of a question, "text" (ids),
// and "want" and "got", two answers, with "tolerance". Settings are read or refused with a sentence, scores stay numbers or
// never, and what differs is said with a sentence.
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "conform/case.h"
#include "fuzz.h"
#include "pipeline/choose.h"

enum { VOCAB = 32, TEXT_MOST = 64 };

static void decode(const json_t *o, struct arena *a)
{
	struct pipeline p = { .arena = a };
	struct part m = { .p = &p, .folder = "/nonexistent", .config = json_object_get(o, "generation") };
	const json_t *ids = json_object_get(o, "text");
	int64_t text[TEXT_MOST], length = 0;
	double scores[VOCAB];
	bool seen[VOCAB] = { 0 };
	struct decoding d;
	struct error e = { 0 };
	enum status s;

	for (size_t i = 0; i < json_array_size(ids) && length < TEXT_MOST; i++)
		text[length++] = json_integer_value(json_array_get(ids, i));
	s = decoding_read(&m, a, json_object_get(o, "options"), length, NEW_TOKENS_USUAL, &d, &e);
	if (s) {
		fuzz_refused(s, &e, NULL);
		return;
	}
	for (int i = 0; i < VOCAB; i++)
		scores[i] = i - 7.5;
	decoding_process(&d, text, length, scores, seen, VOCAB);
	for (int i = 0; i < VOCAB; i++)
		if (isnan(scores[i]) || seen[i])
			abort();
	if (!d.samples)
		return;
	sampling_process(&d.sampling, scores, VOCAB);
	const int64_t id = sampling_draw(&d.sampling, length, scores, VOCAB);
	if (id < 0 || id >= VOCAB)
		abort();
}

static void compare(const json_t *o, struct arena *a)
{
	json_t *want = json_object_get(o, "want");
	const struct answer_bounds b = { "/nonexistent", NULL, json_object_get(o, "tolerance") };
	struct pipeline_answer got = { .json = json_object_get(o, "got") };
	struct error e = { 0 };
	enum status s = conform_answer_compare(&b, "answers[0]", want, &got, a, &e);

	if (s)
		fuzz_refused(s, &e, NULL);
	got.json = want;
	if (want && (s = conform_answer_compare(&b, "answers[0]", want, &got, a, &e)))
		fuzz_refused(s, &e, NULL); // it points to files that are not there
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	json_t *o = NULL;
	struct error e = { 0 };

	fuzz_memory_begin();
	if (!json_bytes("pipeline.json", (const char *)data, size, &o, &e) && json_is_object(o)) {
		decode(o, &a);
		compare(o, &a);
	}
	json_decref(o);
	arena_done(&a);
	fuzz_memory_end(size, 4 << 20, 800);
	return 0;
}
