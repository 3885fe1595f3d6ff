// SPDX-License-Identifier: Apache-2.0
// Which form of its graph a model gets on a platform. One rule for `run` and for `conform`, so that conformance is about the form
// that runs: the forms of the platform's row in their order, and the first that the engine opens is taken, whatever its outputs
// are then worth. The next one is built only where the engine refused an operator, a type or a shape of this one, or, with
// --no-fallback, would leave nodes of it to others. Private to cell/.
#ifndef ASSAY_CELL_FORM_H
#define ASSAY_CELL_FORM_H

#include "platform/platform.h"

enum { FORMS_MOST = sizeof((struct platform *)0)->forms / sizeof((struct platform *)0)->forms[0] };

struct forms {
	struct graph_form item[FORMS_MOST]; // no two alike
	size_t index[FORMS_MOST];           // of each in the platform's row
	size_t count;                       // 0: the platform has none that was asked for
	size_t at;                          // the one to build now
	const char *why; // why those before it were not taken, "FORM: reason; FORM: reason"; NULL: it is the first
};

// `is_static`: with fixed shapes, all of them. `is_dynamic`: without those of the row that have fixed shapes.
void forms_begin(struct forms *out, const struct platform *p, bool is_static, bool is_dynamic);
// That one form of the row alone: what is judged by a reference is built alike.
void forms_only(struct forms *out, const struct platform *p, size_t index, bool is_static);
// Did building or opening it fail for the form, so that another one may be taken? `is_resolved`: the model itself was understood.
bool forms_refused(struct arena *a, const struct target *t, bool is_resolved, const struct error *err);
// To the next one, and `why` says what was wrong with this one: `built` in words, and what `err` says. False: it was the last.
bool forms_next(struct forms *f, struct arena *a, const struct target *t, const char *built, const struct error *err);

#endif
