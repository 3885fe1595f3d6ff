// SPDX-License-Identifier: Apache-2.0
// What stands on a speech encoder, for its family alone.
#ifndef ASSAY_ARCH_FAMILY_SPEECH_H
#define ASSAY_ARCH_FAMILY_SPEECH_H

#include "arch/block/block.h"

void speech_head(struct build *b, struct body *io);

#endif
