// SPDX-License-Identifier: Apache-2.0
// Tables of the report: see section.h.
#include "report/section.h"

#include <math.h>
#include <stdlib.h>

#include "report/summary.h"

struct report_section *section_add(struct summary *out, struct arena *a, const char *id, const char *title, const char *hint,
	const struct report_column *columns, size_t column_count, size_t room)
{
	struct report_section *s = ARENA_ARRAY(a, 1, struct report_section);

	if (out->section_count == REPORT_SECTIONS)
		abort(); // a constant that has to grow with the program
	*s = (struct report_section){ .id = id,
		.title = title,
		.hint = hint,
		.columns = columns,
		.column_count = column_count,
		.room = room,
		.values = ARENA_ARRAY(a, room * column_count + 1, struct report_value) };
	out->sections[out->section_count++] = s;
	return s;
}

struct report_value *section_row(struct report_section *s)
{
	if (s->row_count == s->room)
		abort(); // the gathering code counted wrong
	return &s->values[s->row_count++ * s->column_count];
}

struct report_value value_text(const char *text)
{
	return (struct report_value){ .text = text, .kind = text != NULL ? REPORT_TEXT : REPORT_ABSENT };
}

struct report_value value_real(const char *text, double x)
{
	return isnan(x) ? (struct report_value){ 0 } : (struct report_value){ .text = text, .kind = REPORT_REAL, .real = x };
}

struct report_value value_ms(struct arena *a, double ms)
{
	return value_real(report_ms(a, ms), ms);
}

struct report_value value_mib(struct arena *a, double mib)
{
	return value_real(report_mib(a, mib), mib);
}

struct report_value value_times(struct arena *a, double times)
{
	return value_real(arena_printf(a, "%.2f×", times), times);
}

struct report_value value_per_s(struct arena *a, double per_s)
{
	return value_real(arena_printf(a, "%.*f/s", per_s >= 99.95 ? 0 : per_s >= 9.995 ? 1 : 2, per_s), per_s);
}

struct report_value value_count(struct arena *a, int64_t n)
{
	return n == ROW_NONE
		? (struct report_value){ 0 }
		: (struct report_value){ .text = arena_printf(a, "%lld", (long long)n), .kind = REPORT_INTEGER, .integer = n };
}

struct report_value value_noted(struct report_value v, const char *note)
{
	v.note = note;
	return v;
}

struct report_value value_flagged(struct report_value v)
{
	v.is_warning = true;
	return v;
}
