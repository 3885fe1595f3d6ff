// SPDX-License-Identifier: Apache-2.0
// How a summary is gathered: its parts, in the order in which summary_make calls them. Private to the folder.
#ifndef ASSAY_REPORT_GATHER_H
#define ASSAY_REPORT_GATHER_H

#include "report/summary.h"

bool report_ran(enum verdict v);                                                      // it gave outputs
void summary_place_cells(struct summary *out, struct arena *a);                       // lines.c: lines and columns
void summary_rank_line(struct summary *out, const struct report_line *l);             // the fastest of a line
void summary_count_models(struct summary *out);
void summary_gather_failures(struct summary *out, struct arena *a);                   // failures.c
enum status summary_take_fallbacks(struct store *s, struct summary *out, struct error *err);   // fallbacks.c
void summary_gather_partials(struct summary *out, struct arena *a);
void summary_gather_notes(struct summary *out, struct arena *a);                      // notes.c

#endif
