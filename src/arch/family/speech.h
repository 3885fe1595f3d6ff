// SPDX-License-Identifier: Apache-2.0
// What stands on a speech encoder, for its family alone.
#ifndef ASSAY_ARCH_FAMILY_SPEECH_H
#define ASSAY_ARCH_FAMILY_SPEECH_H

#include "arch/block/block.h"

// What resolve asks of a head: whether its class has the adapter, and which keys it cannot be without.
enum { SPEECH_ADAPTED = 1, SPEECH_LETTERS = 2, SPEECH_CODES = 4, SPEECH_VOICE = 8 };
extern const struct family_head speech_heads[];

#endif
