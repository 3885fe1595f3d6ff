// SPDX-License-Identifier: Apache-2.0
// One array of NumPy's .npy format, versions 1 to 3:
//   "\x93NUMPY" | u8 major | u8 minor | header length, u16 (version 1) or u32, little-endian
//   | a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } | the elements, row by row
// Little-endian numbers and booleans are read; what else Python may write there (records, objects, other byte orders, columns
// first) is refused by name. Every number is checked against the file.
#ifndef ASSAY_CHECKPOINT_NPY_H
#define ASSAY_CHECKPOINT_NPY_H

#include "checkpoint/checkpoint.h"

// Mapped until `a` ends: out->data points into the file. The name is the caller's.
enum status npy_open(struct arena *a, const char *path, struct weight *out, struct error *err);
// A file in memory: what npy_open does after mapping, and what the fuzzer calls.
enum status npy_parse(struct weight *out, const void *file, size_t nbytes, struct error *err);

#endif
