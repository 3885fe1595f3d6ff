// SPDX-License-Identifier: Apache-2.0
// DAC's encoder as a part of another model: `body` takes samples [batch, 1, n] in io->features and gives [batch, frames, hidden].
#ifndef ASSAY_ARCH_FAMILY_DAC_H
#define ASSAY_ARCH_FAMILY_DAC_H

#include "arch/spec.h"

FAMILY(dac);

// Of a spec of this family.
int64_t dac_code_width(const struct spec *s); // of the quantizers' codewords
int64_t dac_hop(const struct spec *s);        // samples of a frame

#endif
