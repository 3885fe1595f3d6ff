// SPDX-License-Identifier: Apache-2.0
// Events of a child, one JSON object a line.
#include "cell/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/json.h"
#include "base/process.h"
#include "base/visible.h"

static bool is_mute;

void say_nothing(bool mute)
{
	is_mute = mute;
}

void say(json_t *event)
{
	char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;

	if (text && !is_mute)
		child_say(text, strlen(text));
	free(text);
	json_decref(event);
}

bool say_nodes(const char *name, json_t *nodes)
{
	json_t *event = json_pack("{s:s, s:o}", "event", name, "nodes", nodes);
	char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;
	size_t length = text ? strlen(text) : 0;
	bool light = text && length <= CHILD_LINE_LIMIT && json_weight(text, length, NODES_MOST) <= NODES_MOST;

	if (light)
		child_say(text, length);
	free(text);
	json_decref(event);
	return light;
}

void say_phase(const char *phase)
{
	say(json_pack("{s:s, s:s}", "event", "phase", "phase", phase));
}

void say_error(const struct error *err)
{
	struct text clean = { 0 };

	visible_clean(&clean, err->text, strlen(err->text));
	say(json_pack("{s:s, s:s, s:s, s:b}", "event", "error", "status", status_word(err->status), "text", text_get(&clean),
		"of_engine", (int)err->of_engine));
	text_done(&clean);
}

// {"event":event,key:file}; NULL: null.
static void say_file(const char *event, const char *key, const char *file)
{
	struct text clean = { 0 };

	if (file)
		visible_clean(&clean, file, strlen(file));
	say(json_pack("{s:s, s:s?}", "event", event, key, file ? text_get(&clean) : NULL));
	text_done(&clean);
}

void say_loading(const char *file)
{
	say_file("loading", "library", file);
}

void say_waiting(const char *lock)
{
	say_file("waiting", "lock", lock);
}

void say_notice(const char *text)
{
	struct text clean = { 0 };

	visible_clean(&clean, text, strlen(text));
	say(json_pack("{s:s, s:s}", "event", "notice", "text", text_get(&clean)));
	text_done(&clean);
}

void say_done(void)
{
	say(json_pack("{s:s}", "event", "done"));
}

bool say_meet(const char *gate)
{
	char answer = 'n';
	ssize_t n;

	say(json_pack("{s:s, s:s}", "event", "meet", "gate", gate));
	do
		n = recv(STDIN_FILENO, &answer, 1, 0);
	while (n < 0 && errno == EINTR);
	return n == 1 && answer == 'y';
}

static json_t *known(long long kib)
{
	return kib >= 0 ? json_integer(kib) : json_null();
}

long long memory_anonymous_kib(void)
{
	long long private = process_kib("/proc/self/smaps_rollup", "Anonymous");
	int64_t shared = process_shared_kib(getpid());

	return private < 0 || shared <= 0 ? private : private + shared;
}

void say_memory(const char *phase)
{
	long long pss = process_kib("/proc/self/smaps_rollup", "Pss"), anonymous = memory_anonymous_kib(),
		  resident = process_kib("/proc/self/status", "VmHWM");
	int64_t pss_beside, anonymous_beside;
	bool beside = backend_memory(&pss_beside, &anonymous_beside);

	if (beside) { // the kernel keeps no high-water mark of several processes
		pss += pss_beside;
		anonymous += anonymous_beside;
		resident = -1;
	}

	if (pss >= 0 || resident >= 0)
		say(json_pack("{s:s, s:s, s:o, s:o, s:o, s:b}", "event", "memory", "phase", phase, "pss_kib", known(pss),
			"anonymous_kib", known(anonymous), "resident_peak_kib", known(resident), "beside", (int)beside));
}
