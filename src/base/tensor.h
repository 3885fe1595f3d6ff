// SPDX-License-Identifier: Apache-2.0
// A dense row-major tensor somewhere in memory. It never owns its data; the function that fills `data` says who does.
#ifndef ASSAY_BASE_TENSOR_H
#define ASSAY_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

#define TENSOR_MAX_RANK 8

struct tensor {
	const char *name;
	enum dtype dtype;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
	void *data;
	size_t nbytes;
};

// What a graph declares about an input or output: a dimension of -1 is decided at run time, and has a name where a graph of
// ours gave it one.
struct tensor_type {
	const char *name;
	enum dtype dtype;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
	const char *symbol[TENSOR_MAX_RANK];
};

// Product of the dimensions; false when one is negative or the product overflows.
bool tensor_count(int rank, const int64_t *dim, size_t *out);
// "[2,11,99]" into `out`; -1 becomes "?"; returns out.
const char *tensor_shape_text(int rank, const int64_t *dim, char *out, size_t size);
// The one of this name in a list; NULL: there is none.
const struct tensor *tensor_named(const struct tensor *list, size_t count, const char *name);
// Element i as a double, whatever the type (NONE gives NaN).
double tensor_get(const struct tensor *t, size_t i);

#endif
