// SPDX-License-Identifier: Apache-2.0
// Which devices an engine has: asked in a child, because loading a driver is where drivers crash. Also: the program that
// children are started from.
#include "run/cell.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cause.h"
#include "base/file.h"
#include "run/child.h"
#include "run/hear.h"
#include "cell/scratch.h"

#define PROBE_TIMEOUT_S 60.0
// Drivers of vendors take some 100 MB of it before anything is computed.
static const int64_t probe_memory_bytes = (int64_t)4 << 30;

static struct child_limits limits_of(const struct probe_limits *l)
{
	const bool less = l && l->timeout_s > 0 && l->timeout_s < PROBE_TIMEOUT_S;

	return (struct child_limits){
		.timeout_s = less ? l->timeout_s : PROBE_TIMEOUT_S, .usual_most = probe_memory_bytes, .stop = l ? l->stop : NULL
	};
}

json_t *cell_driver(const char *name, const struct probe_limits *l)
{
	struct child_limits limits = limits_of(l);
	struct child_report report;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct heard heard;
	const char *arguments[] = { "--driver", name, NULL }, *reason = NULL, *note;
	json_t *facts = NULL;

	heard_init(&heard, &a, NULL);
	if (hear_child(&heard, arguments, "{}", &limits, &report, &err)) {
		reason = err.text;
	} else {
		if (heard_verdict(&heard, &report, &limits, &reason, &note) == VERDICT_RIGHT)
			facts = json_deep_copy(json_object_get(heard.probe, "facts"));
		child_report_done(&report);
	}
	if (!facts)
		facts = json_pack("{s:s}", "error", reason ? reason : "it gave no answer");
	arena_done(&a);
	return facts ? facts : json_object();
}

// How an engine that was asked for its devices has answered. An error of its own says that it is not to be had here; that it
// died, came to no end or was not reached is something else.
static enum verdict answer_of(const struct backend *b, enum verdict v, const char *reason)
{
	if (v == VERDICT_RIGHT || v == VERDICT_CRASHED || v == VERDICT_TIMEOUT || v == VERDICT_NO_MEMORY ||
		v == VERDICT_NOT_ASKED)
		return v;
	return cause_status(b->name, NULL, reason, STATUS_UNAVAILABLE) == STATUS_NOT_ASKED ? VERDICT_NOT_ASKED
											   : VERDICT_UNAVAILABLE;
}

json_t *cell_probe(const struct backend *b, const char *build, const struct probe_limits *l)
{
	struct child_limits limits = limits_of(l);
	struct child_report report;
	struct arena a = { 0 };
	struct error err = { 0 };
	struct heard heard;
	const char *arguments[] = { "--probe", arena_printf(&a, "%s/%s", b->name, build), NULL }, *reason = NULL, *note, *part;
	json_t *devices = NULL, *absent, *result, *why;
	enum verdict v = VERDICT_NOT_ASKED;

	heard_init(&heard, &a, NULL);
	if (hear_child(&heard, arguments, "{}", &limits, &report, &err)) {
		reason = err.text;
	} else {
		scratch_sweep();
		v = heard_verdict(&heard, &report, &limits, &reason, &note);
		// One that was ended because of what it wrote, or wrote what is no answer, has not said that it is not to be had.
		v = v == VERDICT_FAILED && (report.end != CHILD_EXITED || heard.rubbish) ? VERDICT_CRASHED
											 : answer_of(b, v, reason);
		child_report_done(&report);
	}
	devices = heard.probe ? json_object_get(heard.probe, "devices") : NULL;
	absent = heard.probe ? json_object_get(heard.probe, "absent") : NULL;
	if (v == VERDICT_RIGHT && !json_array_size(devices)) {
		v = VERDICT_UNAVAILABLE;
		reason = "it has no device here";
		// Of each of its parts it may have said more: a browser that a limit of this process is in the way of.
		json_object_foreach(absent, part, why)
		{
			if (answer_of(b, VERDICT_FAILED, json_string_value(why)) != VERDICT_NOT_ASKED)
				continue;
			v = VERDICT_NOT_ASKED;
			reason = json_string_value(why);
		}
	}
	result = json_pack("{s:s, s:s, s:s, s:s?, s:O?, s:O?, s:o, s:o}", "engine", b->name, "build", build, "verdict",
		verdict_word(v), "reason", reason, "version", heard.probe ? json_object_get(heard.probe, "version") : NULL,
		"library", heard.probe ? json_object_get(heard.probe, "library") : NULL, "devices",
		devices ? json_incref(devices) : json_array(), "absent", absent ? json_incref(absent) : json_object());
	arena_done(&a);
	return result ? result
		      : json_pack("{s:s, s:s, s:s, s:s, s:n, s:n, s:[], s:{}}", "engine", b->name, "build", build, "verdict",
				verdict_word(VERDICT_FAILED), "reason", "its answer is not text", "version", "library", "devices",
				"absent");
}

static const char *folder_of(struct arena *a, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? arena_strndup(a, path, (size_t)(slash - path)) : NULL;
}

static bool is_this;

void cell_program_is_this(void)
{
	is_this = true;
}

const char *cell_program(struct arena *a)
{
	static const char *const places[] = { "assay", "../bin/assay", "../../bin/assay", "../assay" };
	const char *named = getenv("ASSAY_PROGRAM"), *folders[2] = { NULL, NULL };
	char self[4096];
	Dl_info info;
	ssize_t n;

	if (named && *named)
		return arena_strdup(a, named);
	n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n > 0) {
		self[n] = 0;
		// Itself: also when the file was replaced or moved while this one runs.
		if (is_this || text_ends(self, "/assay") || text_ends(self, "/assay (deleted)"))
			return text_ends(self, " (deleted)") ? "/proc/self/exe" : arena_strdup(a, self);
		folders[1] = folder_of(a, self);
	}
	// The address of a constant of ours lies in the library, or in the program that it is linked into.
	if (dladdr(places, &info))
		folders[0] = folder_of(a, info.dli_fname);
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; folders[i] && k < sizeof places / sizeof *places; k++) {
			const char *path = arena_printf(a, "%s/%s", folders[i], places[k]);

			if (access(path, X_OK) == 0 && !file_is_dir(path))
				return path;
		}
	}
	return NULL;
}
