// SPDX-License-Identifier: Apache-2.0
// Which files an .onnx file names as places of its weights, or of what was compiled for a device. The protobuf is walked where it
// lies; nothing of it is copied.
#ifndef ASSAY_ONNX_EXTERNAL_H
#define ASSAY_ONNX_EXTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

// Locations of external data and of contexts, each once, sorted, as the file writes them (relative to its folder, or anything
// else that it says).
// Left out are what lies after something damaged, names of more than 4096 bytes, which no file can have, what follows 262144
// changes of name, and what lies below 64 messages: then the answer is why the list lacks some, otherwise NULL. Memory in `a`.
const char *onnx_external_locations(const uint8_t *onnx, size_t nbytes, struct arena *a, const char *const **out, size_t *count);

// Of tensors of truth values in other files where their bytes lie, one each; at most 4096. Answers as the above.
struct onnx_truths {
	const char *location;
	uint64_t offset, nbytes; // as its dimensions say
};
const char *onnx_external_truths(
	const uint8_t *onnx, size_t nbytes, struct arena *a, const struct onnx_truths **out, size_t *count);
// Why they are none, one a byte; NULL: each is 0 or 1.
const char *onnx_check_truths(const uint8_t *bytes, size_t nbytes);

#endif
