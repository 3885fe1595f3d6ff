// SPDX-License-Identifier: Apache-2.0
// Tensors that no graph reads.
#ifndef ASSAY_ARCH_UNREAD_H
#define ASSAY_ARCH_UNREAD_H

struct build;
struct weight;

// After a graph was built: what it has for this tensor of the file, which it did not read and which the class takes from the
// file (a buffer that is computed here, or a second name of a tensor), where that has other numbers. NULL: nothing, or the
// same.
const char *unread_other(const struct build *b, const struct weight *w);

#endif
