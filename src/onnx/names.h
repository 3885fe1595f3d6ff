// SPDX-License-Identifier: Apache-2.0
// Names by which nodes can be told apart in an engine's log. The protobuf is walked where it lies.
#ifndef ASSAY_ONNX_NAMES_H
#define ASSAY_ONNX_NAMES_H

#include <stddef.h>

#include "base/arena.h"

// The file itself where every node, those of branches and functions too, has a name of its own that a line of a log can hold;
// else a copy, the same but for names: all nodes have new ones, in the same order. NULL: it cannot be read. Memory in `a`.
const void *onnx_named(struct arena *a, const void *onnx, size_t nbytes, size_t *out_nbytes);

#endif
