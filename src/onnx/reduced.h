// SPDX-License-Identifier: Apache-2.0
// Linear layers whose weights are drawn in fewer bits. Private to onnx/.
#ifndef ASSAY_ONNX_REDUCED_H
#define ASSAY_ONNX_REDUCED_H

#include "onnx/graph.h"

// x [.., in] times a weight, [out, in] or with in_out [in, out], + b, in the form that graph_form.precise asks for. False: this one
// stays as it is (graph_left_out says why, where anything was asked for), and the caller draws it. Shapes were checked.
bool linear_reduced(struct graph *g, value x, value w, value b, bool in_out, value *y);

#endif
