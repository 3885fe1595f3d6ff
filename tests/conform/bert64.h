// SPDX-License-Identifier: Apache-2.0
// The forward pass of BertModel in float64, written from the paper's formulas (Devlin et al. 2018, Vaswani et al. 2017) and
// independent of assay's graph builder: what tests/conform/mutants.c measures its mutants with.
#ifndef ASSAY_TESTS_BERT64_H
#define ASSAY_TESTS_BERT64_H

#include <jansson.h>

#include "base/arena.h"
#include "base/tensor.h"

// All float32, under the names of the checkpoint, row-major [out, in].
struct bert64_model {
	const struct tensor *weights;
	size_t count;
	const json_t *config; // num_hidden_layers, num_attention_heads, layer_norm_eps, hidden_act
};

// [batch, tokens] each; where the mask is 0 there is no token. The first token of a row must be there.
struct bert64_inputs {
	size_t batch, tokens;
	const int64_t *ids, *mask, *types;
};

// What a sentence transformer's golden file compares, and the pooler's output, which it does not.
#define BERT64_OUTPUTS(X) X(cosine) X(embedding) X(last_hidden_state_first_token) X(pooler_output)
enum bert64_output {
#define X(name) BERT64_##name,
	BERT64_OUTPUTS(X)
#undef X
		BERT64_OUTPUT_COUNT
};

struct bert64_result {
	double *output[BERT64_OUTPUT_COUNT]; // [batch, batch], then [batch, width] three times
	size_t count[BERT64_OUTPUT_COUNT];
};

// NULL, or what is missing in the model; memory in `a`.
const char *bert64_run(const struct bert64_model *m, const struct bert64_inputs *in, struct arena *a, struct bert64_result *out);

#endif
