// SPDX-License-Identifier: Apache-2.0
// What rows of codecs of sound may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_CODEC_H
#define ASSAY_ARCH_FAMILY_CODEC_H

#include "arch/spec.h"

#define CODEC_TRAITS(X, T) X(T, FLAG, transformer, "Mimi: a transformer on either side, no LSTM, two quantizers side by side")
FAMILY_TRAITS(codec, CODEC_TRAITS);

#endif
