// SPDX-License-Identifier: Apache-2.0
// What rows of DeBERTa may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_DEBERTA_H
#define ASSAY_ARCH_FAMILY_DEBERTA_H

#include "arch/spec.h"

#define DEBERTA_TRAITS(X, T) \
	X(T, FLAG, joined_by_head, "query, key and value in one tensor, head by head; each distance has a row")
FAMILY_TRAITS(deberta, DEBERTA_TRAITS);

// For encoders whose layers are these: what config.json says of them, into s->own; and the layers, with b->s at that, of x
// [batch, seq, hidden] into io->last and io->states. mask is added to the scores; NO_VALUE: none.
void deberta_resolve(struct config *c, struct spec *s, struct arena *a);
void deberta_layers(struct build *b, struct body *io, graph_value x, graph_value mask);

#endif
