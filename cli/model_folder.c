// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "command.h"
#include "hub/hub.h"

enum status cli_model_folder(const char **folder, struct arena *a, const char *model, const char *what, struct error *err)
{
	struct hub_model hub;
	enum status s;

	*folder = model;
	if (file_is_dir(model))
		return STATUS_OK;
	if ((s = hub_find_any(&hub, a, model, err)))
		return s;
	if (hub.kind != HUB_FOLDER && hub.kind != HUB_CACHED)
		return error_set(err, STATUS_BAD_INPUT, "%s: no folder with %s is here; `assay fetch %s --all` brings it", model,
			what, hub.kind == HUB_PUBLISHED ? hub.name : "MODEL");
	*folder = hub.path;
	return STATUS_OK;
}
