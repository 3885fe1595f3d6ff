// SPDX-License-Identifier: Apache-2.0
// Tensors that no graph reads.
#ifndef ASSAY_ARCH_UNREAD_H
#define ASSAY_ARCH_UNREAD_H

#include "base/error.h"

struct build;

// After a graph was built: UNSUPPORTED where a tensor of the file that it did not read, and that the class takes from the file (a
// buffer that is computed here, or a second name of a tensor), has other numbers than what the graph has in its place. BAD_INPUT
// where so many of them share their bytes that looking at each would have no end.
enum status unread_check(const struct build *b, struct error *err);

#endif
