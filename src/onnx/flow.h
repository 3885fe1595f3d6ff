// SPDX-License-Identifier: Apache-2.0
// What flows from one run of a model's graphs to the next: an output, and the input that takes it. Names are those of
// optimum-onnx and transformers.js, which files of other makers have too. A new kind of state is a row of flow.c, and what a
// family names so flows: generation gives it back, nothing else need know of it.
#ifndef ASSAY_ONNX_FLOW_H
#define ASSAY_ONNX_FLOW_H

#include <stdbool.h>

#include "base/arena.h"

enum flow_kind {
	FLOW_NONE,
	FLOW_CACHE,  // keys and values: a token longer with each token; empty at the beginning
	FLOW_STATE,  // of fixed size; zeros at the beginning
	FLOW_ENCODED // what an encoder gives, once for all steps
};
enum flow_kind flow_input(const char *name);
enum flow_kind flow_output(const char *name);
// The input that takes this output: "past_key_values.0.key" of "present.0.key". NULL: none does. In `a`.
const char *flow_next(struct arena *a, const char *output);

#endif
