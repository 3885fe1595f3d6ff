// SPDX-License-Identifier: Apache-2.0
// What a parent asks of its child `assay cell`: one list for both sides, so that they cannot go out of step.
#ifndef ASSAY_QUESTION_REQUEST_H
#define ASSAY_QUESTION_REQUEST_H

#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"
#include "question/question.h"

// What a request has beside the question. Text may be NULL. `scores_path`: of --data, where
// what the answers are worth goes. `reference_name`: not a measurement but a reference for another cell;
// the outputs go to CACHE/reference/KEY.safetensors unless they lie there already. `reference_tokens`: of a reduced precision,
// those that float32 generates, which it is asked about; `language`: where it heard the language of a sound, that token; 0: it is
// heard. `calibrate`: no measurement but ranges for int8-static, over so many
// inputs, into CACHE/reference; `calibration`: the file that holds them. `form_of`, `form`: of a reference, the platform whose
// graph form of that index is built; NULL: the platform's own first. `dequantised`: of a reference, the precision's weights in
// float32 arithmetic (enum dequantise). `limit_bytes`: of a reference, at how much anonymous memory it is ended; 0: none.
#define REQUEST_LIST(X) \
	X(TEXT, path) \
	X(TEXT, platform) \
	X(TEXT, device) \
	X(TEXT, options) \
	X(TEXT, outputs_path) \
	X(TEXT, scores_path) \
	X(TEXT, reference_name) \
	X(TEXT, reference_tokens) \
	X(INTEGER, language) \
	X(TEXT, form_of) \
	X(INTEGER, form) \
	X(INTEGER, dequantised) \
	X(TEXT, calibration) \
	X(INTEGER, calibrate) \
	X(INTEGER, limit_bytes) \
	X(INTEGER, second_bytes)

enum dequantise {
	DEQUANTISE_NOTHING,
	DEQUANTISE_WEIGHTS, // activations stay float32: where the engine quantises them in its own way
	DEQUANTISE_ALL,     // int8 activations too, rounded as the graph of the precision rounds them
};

struct request {
#define REQUEST_TEXT const char *
#define REQUEST_INTEGER int64_t
#define X(kind, name) REQUEST_##kind name;
	REQUEST_LIST(X)
#undef X
	QUESTION_INSIDE;
};

char *request_text(struct arena *a, const struct request *r); // one line
enum status request_parse(struct request *out, struct arena *a, const char *text, size_t length, struct error *err);

#endif
