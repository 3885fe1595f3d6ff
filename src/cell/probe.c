// SPDX-License-Identifier: Apache-2.0
// Which devices an engine has, and what a vendor's library says: the child's side.
#include "cell/cell.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/file.h"
#include "cell/say.h"
#include "platform/facts.h"

int cell_child_probe(const char *engine_build)
{
	struct device_list list = { 0 };
	struct arena arena = { 0 };
	struct error err = { 0 };
	struct text line = { 0 };
	json_t *devices = json_array(), *absent = json_object();
	const char *slash = strchr(engine_build, '/'), *engine = arena_strndup(&arena, engine_build, strcspn(engine_build, "/"));
	const struct backend *b = backend_find(engine);
	enum status st = child_begin(&line, &err);

	text_done(&line);
	list.arena = &arena;
	library_set_loading(say_loading);
	say_phase("engine");
	if (!st)
		st = b ? backend_devices(b, slash ? slash + 1 : b->providers->build, &list, &err)
		       : error_set(&err, STATUS_BAD_INPUT, "no engine is called %s", engine);
	if (st)
		say_error(&err);
	for (size_t i = 0; !st && i < list.count; i++) {
		const struct device *d = &list.items[i];

		json_array_append_new(devices,
			json_pack("{s:s, s:s, s:s?, s:b, s:b, s:s?, s:O?}", "provider", d->provider, "name", d->name,
				"description", d->description, "emulated", (int)d->emulated, "compiles_only",
				(int)d->compiles_only, "features", d->features, "facts", (json_t *)(uintptr_t)d->facts));
	}
	for (size_t i = 0; !st && i < list.absent_count; i++)
		json_object_set_new(absent, list.absent[i].provider, json_string(list.absent[i].reason));
	say(json_pack("{s:s, s:s?, s:s?, s:o, s:o}", "event", "probe", "version", list.version, "library", list.library,
		"devices", devices, "absent", absent));
	say_done();
	backend_end();
	_exit(0); // work.c says why
}

int cell_child_driver(const char *name)
{
	struct error err = { 0 };
	struct text line = { 0 };
	json_t *facts = NULL;
	int here; // where a vendor's library would look for its settings: nothing is read there after it

	if (!child_begin(&line, &err) && !file_leave_folder(&here, &err)) {
		say_phase("driver");
		facts = driver_ask(name);
		if (!facts)
			error_set(&err, STATUS_BAD_INPUT, "no driver is called %s", name);
	}
	text_done(&line);
	if (err.status)
		say_error(&err);
	say(json_pack("{s:s, s:o}", "event", "probe", "facts", facts ? facts : json_object()));
	say_done();
	_exit(0);
}
