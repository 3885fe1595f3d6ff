// SPDX-License-Identifier: Apache-2.0
// One report: the facts once, then the writer that was asked for.
#include "report/report.h"

#include <stdlib.h>

#include "report/summary.h"

enum status report_write(struct store *s, enum report_format format, struct text *out, struct error *err)
{
	struct summary summary;
	enum status status = summary_make(s, &summary, err);

	if (status != STATUS_OK)
		return status;
	switch (format) {
	case REPORT_MD:
		report_md(&summary, &s->arena, out);
		return STATUS_OK;
	case REPORT_HTML:
		return report_html(&summary, &s->arena, out, err);
	case REPORT_JSON: {
		json_t *json = report_json(&summary);
		char *text = json_dumps(json, JSON_INDENT(2));
		json_decref(json);
		if (text == NULL)
			return error_set(err, STATUS_FAILED, "the report does not fit into JSON");
		text_add(out, text);
		text_add(out, "\n");
		free(text);
		return STATUS_OK;
	}
	}
	return error_set(err, STATUS_BAD_INPUT, "there is no such report format");
}
