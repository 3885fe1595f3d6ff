// SPDX-License-Identifier: Apache-2.0
// The decoder layer of Conditional DETR, which DAB-DETR has too.
#ifndef ASSAY_ARCH_FAMILY_CONDITIONAL_DETR_H
#define ASSAY_ARCH_FAMILY_CONDITIONAL_DETR_H

#include "arch/block/detect.h"

struct conditional {
	graph_value queries, sines;    // [batch, queries, hidden] each: where a query is, for itself and for the memory
	graph_value memory, positions; // [batch, places, hidden] each
	graph_value bias;              // of the memory's mask, for op_attention
	bool placed;                   // positions are added to queries and keys of the cross attention too
};
graph_value conditional_layer(struct build *b, graph_value x, const struct conditional *in); // x [batch, queries, hidden]

#endif
