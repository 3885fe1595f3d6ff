// SPDX-License-Identifier: Apache-2.0
// The numbers that torch.randn draws on a processor after manual_seed(seed): MT19937 (Matsumoto and Nishimura 1998), its lower
// 24 bits as uniform numbers, Box and Muller's transform of eight and eight of them. Equal up to the last bits of logarithm
// and sine.
#ifndef ASSAY_PREPROCESS_SOUND_RANDOM_H
#define ASSAY_PREPROCESS_SOUND_RANDOM_H

#include <stddef.h>
#include <stdint.h>

// count >= 16: fewer are drawn otherwise there.
enum { TORCH_RANDN_LEAST = 16 };
void torch_randn(uint32_t seed, float *out, size_t count);

#endif
