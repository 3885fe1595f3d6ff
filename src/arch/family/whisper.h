// SPDX-License-Identifier: Apache-2.0
// What rows of Whisper's encoder by itself may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_WHISPER_H
#define ASSAY_ARCH_FAMILY_WHISPER_H

#include "arch/spec.h"

#define WHISPER_ENCODER_TRAITS(X, T) X(T, FLAG, paired_states, "two neighbouring states become their mean before the last norm")
FAMILY_TRAITS(whisper_encoder, WHISPER_ENCODER_TRAITS);

#endif
