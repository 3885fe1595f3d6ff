// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_ARCH_DIALECT_H
#define ASSAY_ARCH_DIALECT_H

#include "arch/spec.h"

extern const struct dialect albert_names, bert_names, deit_names, dinov2_names, distilbert_names, electra_names, gemma2_names, llama_names, mpnet_names,
	roberta_names, vit_names;

#endif
