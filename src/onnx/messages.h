// SPDX-License-Identifier: Apache-2.0
// Which messages of an ONNX file lie within which, for those who walk it where it lies.
#ifndef ASSAY_ONNX_MESSAGES_H
#define ASSAY_ONNX_MESSAGES_H

#include "onnx/wire.h"

// ENTRY: of a tensor's external_data. Nodes are in none of those from ONNX_SPARSE on.
enum onnx_message { ONNX_MODEL, ONNX_FUNCTION, ONNX_GRAPH, ONNX_NODE, ONNX_ATTRIBUTE, ONNX_SPARSE, ONNX_TENSOR, ONNX_ENTRY };
enum { ONNX_DEPTH_MOST = 64 }; // messages within messages, as many as onnx_unpack takes

// Is the field one of these messages? *is: which.
bool onnx_leads(enum onnx_message within, const struct wire_field *f, enum onnx_message *is);

#endif
