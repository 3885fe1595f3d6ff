// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_ARCH_FAMILY_SEAMLESS_H
#define ASSAY_ARCH_FAMILY_SEAMLESS_H

#include "arch/spec.h"

#define SEAMLESS_TRAITS(X, T) \
	X(T, FLAG, causal_convolution, \
		"convolutions see the past only and are layer-normed; a frame sees its chunk and some before")
FAMILY_TRAITS(seamless, SEAMLESS_TRAITS);

#endif
