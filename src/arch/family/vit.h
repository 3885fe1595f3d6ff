// SPDX-License-Identifier: Apache-2.0
// What rows of the vision transformer may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_VIT_H
#define ASSAY_ARCH_FAMILY_VIT_H

#include "arch/spec.h"

#define VIT_TRAITS(X, T) \
	X(T, FLAG, distillation_token, "a second special token after the class token") \
	X(T, FLAG, no_class_token, "patches only; a classifier reads their mean") \
	X(T, FLAG, class_position, "no class token, but every patch has the position that it would have, beside its own") \
	X(T, FLAG, any_size, "takes images of any size; its learned positions are resized to them") \
	X(T, FLAG, smooth_positions, "positions are resized with antialiasing") \
	X(T, FLAG, layer_scale, "each branch times a learned vector") \
	X(T, FLAG, norm_unless_mean, "no norm after the last layer where use_mean_pooling is true; nothing is pooled") \
	X(T, FLAG, pool_is_norm, "the pooler output is the normalised class token itself") \
	X(T, FLAG, mean_patches, "the classifier reads class token and mean of the patches")
FAMILY_TRAITS(vit, VIT_TRAITS);

#endif
