// SPDX-License-Identifier: Apache-2.0
// Noise of a seed: what the latents of a picture begin as.
#ifndef ASSAY_DENOISE_NOISE_H
#define ASSAY_DENOISE_NOISE_H

#include <stddef.h>
#include <stdint.h>

// Numbers `first`, `first` + 1, ... of the seed's sequence, standard normal: the transform of Box and Muller (1958) over pairs of
// outputs of splitmix64 (base/hash.h). A number depends on the seed and its place alone, in double precision until it is rounded:
// no engine and no platform has a part in it. It is another generator than PyTorch's, whose seeds mean other pictures.
void noise_normal(uint64_t seed, uint64_t first, float *out, size_t n);

#endif
