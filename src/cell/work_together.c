// SPDX-License-Identifier: Apache-2.0
// The child's side of --together: it meets the others at a gate before its warm-up, and when its timed runs are over it goes on
// until those of all others are. The parents of the cells answer on fd 0, which stays open behind the request.
#include "cell/work.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell/say.h"

static void say_gate(const char *gate)
{
	say(json_pack("{s:s, s:s}", "event", "meet", "gate", gate));
}

enum status work_meet(struct work *w, struct error *err)
{
	if (!w->ask.together)
		return STATUS_OK;
	say_phase("meet");
	if (!say_meet("start"))
		return error_set(err, STATUS_NOT_ASKED, "what it was to run beside did not come to its timed runs");
	w->beside.busy_from = clock_ns();
	return STATUS_OK;
}

void work_timed_begin(struct work *w)
{
	w->beside.timed_from = clock_ns();
}

void work_timed_end(struct work *w)
{
	w->beside.timed_to = clock_ns();
}

static void say_loop(const struct work *w)
{
	if (w->beside.busy_from > 0)
		say(json_pack("{s:s, s:[I,I], s:[I,I]}", "event", "loop", "timed", (json_int_t)w->beside.timed_from,
			(json_int_t)w->beside.timed_to, "busy", (json_int_t)w->beside.busy_from, (json_int_t)clock_ns()));
}

// Has the parent answered, or gone?
static bool is_answered(void)
{
	char answer;
	const ssize_t n = recv(STDIN_FILENO, &answer, 1, MSG_DONTWAIT);

	return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

enum status work_hold(
	struct work *w, enum status (*run)(void *context, int64_t *ns, struct error *err), void *context, struct error *err)
{
	enum status st = STATUS_OK;
	int64_t ns;

	if (!w->ask.together)
		return STATUS_OK;
	say_loop(w); // so far: what ends early has told it
	say_gate("end");
	while (!st && !is_answered())
		st = run(context, &ns, err);
	say_loop(w);
	return st ? error_prefix(err, "beside the others, after its timed runs") : STATUS_OK;
}
