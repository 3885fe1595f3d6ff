// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_MEASURE_OUTPUT_FILE_H
#define ASSAY_MEASURE_OUTPUT_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"

// outputs[count] under their names. Scratch memory in `a`.
enum status outputs_write(struct arena *a, const char *path, const struct tensor *outputs, size_t count, struct error *err);

#endif
