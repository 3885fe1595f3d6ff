// SPDX-License-Identifier: Apache-2.0
// What a row may say: who hears one, who stores one and who reads one hold it against the same bounds, so that nothing is stored
// that is not read again.
#ifndef ASSAY_QUESTION_BOUNDS_H
#define ASSAY_QUESTION_BOUNDS_H

#include "question/row.h"

// Bytes of a name: of a model, a platform, a device, a machine, an engine, a type. A path of Linux has fewer.
enum { NAME_MOST = 4096 };
// A time in ms: four months.
#define BOUND_MS 1e10

// A number of a row, by its name; it is at least 0.
struct row_bound {
	const char *name;
	double most;
};
extern const struct row_bound row_bounds[]; // ends with a name of NULL
extern const char *const row_names[];       // members of a row that are names; ends with NULL

// Why the row cannot be stored as it is: "first_ms is 1e+11, which nothing can have measured", in `a`; NULL: it can.
const char *row_beyond(const struct row *r, struct arena *a);
// Numbers that are beyond become absent, names that are too long their beginning, in `a`.
void row_keep_within(struct row *r, struct arena *a);
// The name, or its beginning and how long it was, in `a`.
const char *name_within(const char *name, struct arena *a);

#endif
