// SPDX-License-Identifier: Apache-2.0
// form.h: the forms that are tried, and what makes the next one worth a try.
#include "cell/form.h"

#include "backend/cause.h"
#include "base/text.h"

static bool is_listed(const struct forms *f, const struct graph_form *form, struct arena *a)
{
	for (size_t i = 0; i < f->count; i++)
		if (text_is(graph_form_text(a, &f->item[i]), graph_form_text(a, form)))
			return true;
	return false;
}

void forms_begin(struct forms *out, const struct platform *p, bool is_static, bool is_dynamic)
{
	struct arena a = { 0 };

	*out = (struct forms){ 0 };
	for (size_t i = 0; i < p->form_count; i++) {
		struct graph_form form = p->forms[i];

		if (is_dynamic && form.is_static)
			continue;
		form.is_static |= is_static;
		if (form.is_static) // how many tokens choose an expert is known to the run alone
			form.experts = EXPERTS_ALL;
		if (is_listed(out, &form, &a))
			continue;
		out->index[out->count] = i;
		out->item[out->count++] = form;
	}
	arena_done(&a);
}

void forms_only(struct forms *out, const struct platform *p, size_t index, bool is_static)
{
	*out = (struct forms){ .item = { p->forms[index] }, .index = { index }, .count = 1 };
	out->item[0].is_static |= is_static;
	if (out->item[0].is_static)
		out->item[0].experts = EXPERTS_ALL;
}

bool forms_refused(struct arena *a, const struct target *t, bool is_resolved, const struct error *err)
{
	struct cause cause;

	if (cause_find(&cause, a, t->route->engine, t->route->provider, err->text))
		return cause.of_form;
	// What the family itself cannot build is as little there in the next form, but for shapes.
	return err->status == STATUS_UNSUPPORTED && is_resolved;
}

bool forms_next(struct forms *f, struct arena *a, const struct target *t, const char *built, const struct error *err)
{
	struct cause cause;
	const char *reason = err->text;

	if (f->at + 1 >= f->count)
		return false;
	if (cause_find(&cause, a, t->route->engine, t->route->provider, err->text) && cause.text)
		reason = cause.text;
	f->why = arena_printf(a, "%s%s%s: %s", f->why ? f->why : "", f->why ? "; " : "", built, reason);
	f->at++;
	return true;
}
