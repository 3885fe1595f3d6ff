// SPDX-License-Identifier: Apache-2.0
// Which files an .onnx file names as places of its weights, or of what was compiled for a device. The protobuf is walked where it
// lies; nothing of it is copied.
#ifndef ASSAY_ONNX_EXTERNAL_H
#define ASSAY_ONNX_EXTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

// Where the bytes of a tensor of truth values lie, in another file.
struct onnx_truths {
	const char *location;
	uint64_t offset, nbytes; // as its dimensions say
};
struct onnx_external {
	const char *const
		*locations; // of external data and of contexts, each once, sorted, as the file writes them (relative to its
	size_t count;       // folder, or anything else that it says)
	const struct onnx_truths *truths; // one for each such tensor; at most 4096
	size_t truths_count;
};
// Left out are what lies after something damaged, names of more than 4096 bytes, which no file can have, what follows 262144
// changes of name, and what lies below 64 messages: then the answer is why the lists lack some, otherwise NULL. Memory in `a`.
const char *onnx_external_read(const uint8_t *onnx, size_t nbytes, struct arena *a, struct onnx_external *out);
// Why they are none, one a byte; NULL: each is 0 or 1.
const char *onnx_check_truths(const uint8_t *bytes, size_t nbytes);

#endif
