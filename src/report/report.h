// SPDX-License-Identifier: Apache-2.0
// Reports from rows: one self-contained HTML file, Markdown, JSON. Facts are gathered once (summary.c) and written thrice.
#ifndef ASSAY_REPORT_REPORT_H
#define ASSAY_REPORT_REPORT_H

#include "base/text.h"
#include "store/store.h"

enum report_format { REPORT_MD, REPORT_HTML, REPORT_JSON };

enum status report_write(struct store *s, enum report_format format, struct text *out, struct error *err);

#endif
