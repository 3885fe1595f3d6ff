// SPDX-License-Identifier: Apache-2.0
// A tensor in a file of its own, as ONNX's tests keep inputs and outputs: a TensorProto, "input_0.pb".
#ifndef ASSAY_ONNX_TENSOR_FILE_H
#define ASSAY_ONNX_TENSOR_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

// Memory in `a`; name: the tensor's own, may be "". UNSUPPORTED: a type that dtype.h has not (texts, complex numbers, 4 bits).
// BAD_INPUT: no TensorProto, or another number of elements than its shape says; the error does not name the file.
enum status tensor_file_read(struct tensor *out, struct arena *a, const char *path, struct error *err);
enum status tensor_file_parse(struct tensor *out, struct arena *a, const void *bytes, size_t nbytes, struct error *err);

#endif
