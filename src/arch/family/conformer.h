// SPDX-License-Identifier: Apache-2.0
// What models that have a conformer as their encoder share with it.
#ifndef ASSAY_ARCH_FAMILY_CONFORMER_H
#define ASSAY_ARCH_FAMILY_CONFORMER_H

#include "arch/block/block.h"

// The part "encoder" of the type that the row says; another is refused, since its family is not a conformer. roots: as in
// resolve_part.
void conformer_resolve_encoder(struct config *c, struct spec *s, struct arena *a, const char *const *roots);
// Declares the encoder's inputs, with b->s at it: input_features f32 [batch, sequence, bins] and, where it is masked,
// attention_mask i64 [batch, sequence].
void conformer_inputs(struct build *b, struct body *io, bool masked);

#endif
