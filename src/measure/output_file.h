// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_MEASURE_OUTPUT_FILE_H
#define ASSAY_MEASURE_OUTPUT_FILE_H

#include "backend/backend.h"

// outputs[s->output_count] of the last run, under the names that the engine declares. Scratch memory in `a`.
enum status outputs_write(struct arena *a, const char *path, const struct session *s, const struct tensor *outputs, struct error *err);

#endif
