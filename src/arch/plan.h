// SPDX-License-Identifier: Apache-2.0
// The weights that a graph asks for, when there is no checkpoint yet.
#ifndef ASSAY_ARCH_PLAN_H
#define ASSAY_ARCH_PLAN_H

#include <stdint.h>

struct plan;
void plan_add(
	struct plan *p, const char *name, int rank, const int64_t *dim, double gain); // a name added before is left as it is

#endif
