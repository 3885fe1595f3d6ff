// SPDX-License-Identifier: Apache-2.0
// The proof of `assay doctor`: a probe child loads the engine and lists its devices, then a small model runs and is judged like
// any cell. Only that makes a platform work; a list of providers does not.
#ifndef ASSAY_ANALYSIS_PROVE_H
#define ASSAY_ANALYSIS_PROVE_H

#include "plan/plan.h"
#include "platform/doctor.h"
#include "run/cell.h"

// Adds the checks "loads", "memory" and "runs" and sets c->works. Nothing is stored. `stop` may be NULL.
void prove_route(struct checkup *c, const struct target *t, double timeout_s, const struct cell_watch *watch);

#endif
