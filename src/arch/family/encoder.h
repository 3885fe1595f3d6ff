// SPDX-License-Identifier: Apache-2.0
// What encoder.c and encoder_embed.c share: what only this family knows of a model, and the inputs that only some types have.
#ifndef ASSAY_ARCH_FAMILY_ENCODER_H
#define ASSAY_ARCH_FAMILY_ENCODER_H

#include "arch/block/block.h"

enum summary { SUMMARY_FIRST, SUMMARY_LAST, SUMMARY_MEAN };

struct encoder {
	bool causal;                     // every token sees those before it only
	int64_t inner;                   // layers in a group that shares its weights
	enum summary summary;            // how a text becomes one vector where alternatives are compared and there is no pooler
	bool summary_projected;
	enum activation summary_act;
};

#endif
