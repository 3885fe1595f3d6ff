// SPDX-License-Identifier: Apache-2.0
#include "cell/cell.h"
#include "pipeline/pipeline.h"

static enum status open_dictation(
	void **handle, struct arena *a, const char *folder, const struct target *t, const char *precision, struct error *err)
{
	struct pipeline *p;
	enum status st = pipeline_open(&p, a, folder, "automatic-speech-recognition", t, err);

	if (st || (st = pipeline_set_precision(p, precision, err)))
		return st;
	pipeline_untimed(p);
	*handle = p;
	return STATUS_OK;
}

static enum status hear(void *handle, struct arena *a, const char *path, const char **text, struct error *err)
{
	json_t *input = json_pack("{s:s}", "audio", path);
	struct pipeline_answer answer = { 0 };
	enum status st = input ? pipeline_answer(handle, NULL, input, NULL, a, &answer, err)
			       : error_set(err, STATUS_BAD_INPUT, "%s: no UTF-8", path);

	if (!st)
		*text = arena_strdup(a, json_string_value(json_object_get(answer.json, "text")));
	json_decref(answer.json);
	json_decref(input);
	return st;
}

const struct cell_dictation pipeline_dictation = { open_dictation, hear };
