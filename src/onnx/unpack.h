// SPDX-License-Identifier: Apache-2.0
// A whole .onnx file as protobuf-c's structures, for code that changes it. Code that only reads walks the bytes
// (backend/outline.h, onnx/external.h): that copies nothing.
#ifndef ASSAY_ONNX_UNPACK_H
#define ASSAY_ONNX_UNPACK_H

#include <stddef.h>

#include "base/error.h"
#include "onnx.pb-c.h"

// To be freed by onnx__model_proto__free_unpacked. A message of 2 bytes becomes a structure of 200, and messages within messages
// a recursion, so both are counted first: BAD_INPUT for what is no ONNX file, is nested deeper than 64 messages, or would take
// more than 96 MiB beside the texts and weights that it holds. UNSUPPORTED for one with groups: protobuf-c knows none.
enum status onnx_unpack(Onnx__ModelProto **out, const void *onnx, size_t nbytes, struct error *err);

#endif
