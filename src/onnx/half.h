// SPDX-License-Identifier: Apache-2.0
// Bringing a built graph to arithmetic in 16 bits. Private to onnx/.
#ifndef ASSAY_ONNX_HALF_H
#define ASSAY_ONNX_HALF_H

#include "onnx/graph.h"

// Every node is there and none is finished; `half` is DTYPE_F16 or DTYPE_BF16.
void graph_halve(struct graph *g, enum dtype half);

#endif
