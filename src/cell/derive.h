// SPDX-License-Identifier: Apache-2.0
// Golden outputs that a graph does not have but that follow from those it has. Private to cell/.
//
//   embedding, sentence_embedding   last_hidden_state averaged over the tokens that in.attention_mask keeps, as sentence
//                                   transformers do; then scaled to length 1 when the golden rows have that length
//   cosine                          the table of cosines between the rows of the embedding
//   NAME_first_token                NAME[:, 0]
#ifndef ASSAY_CELL_DERIVE_H
#define ASSAY_CELL_DERIVE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/tensor.h"

// Makes `like->name` from outputs; float32, memory in `a`. `mask` may be NULL. false: there is no such rule, or an output
// that it needs is missing or has another shape.
bool derive_output(struct tensor *out, struct arena *a, const struct tensor *like, const struct tensor *outputs, size_t count,
	const struct tensor *mask);

// Whether derive_output makes `like` from the output of that name.
bool derives_from(const char *like, const char *output);
// An average over tokens of which the mask leaves none: there is nothing that it says of the model.
bool derives_from_no_token(const char *like, const struct tensor *mask);

#endif
