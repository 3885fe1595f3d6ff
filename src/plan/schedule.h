// SPDX-License-Identifier: Apache-2.0
// Which of many cells may run beside each other: never two on one physical device, never more than there are workers, never more
// than fits into memory. Pure: it counts and decides; threads are crew.h's.
//
// What computes on the processor is one device, whatever it is called: ONNX Runtime's cpu, OpenVINO's CPU, WebAssembly, every
// emulator, every software adapter. A GPU is another one; where it is not known which GPU a browser or Dawn took, it may be any.
// What is prepared or judged for a GPU on the processor takes the processor for that long.
#ifndef ASSAY_PLAN_SCHEDULE_H
#define ASSAY_PLAN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "platform/platform.h"

enum schedule_kind {
	SCHEDULE_NOTHING, // nothing is timed and nothing computes: a refusal
	SCHEDULE_PROCESSOR,
	SCHEDULE_GPU,
	SCHEDULE_OTHER, // an NPU, a browser on another machine, a null device
	SCHEDULE_ANY,   // not known: alone on the machine
};

struct schedule_device {
	enum schedule_kind kind;
	char name[48]; // of its kind; "": it is not known which
};

// What a target computes on. `platforms`: of detect_platforms, which knows what is emulated; NULL: not looked at.
void schedule_device_of(struct schedule_device *out, const struct target *t, const json_t *platforms);
// Software in the place of hardware, as detection says; false where it does not know.
bool schedule_is_emulated(const struct target *t, const json_t *platforms);
bool schedule_is_same(const struct schedule_device *x, const struct schedule_device *y); // or may be

enum schedule_state { SCHEDULE_IDLE, SCHEDULE_READY, SCHEDULE_RUNS };
// A line of cells, one after the other, each in steps.
struct schedule_line {
	enum schedule_state state;
	struct schedule_device device;       // of the step that is ready or runs
	uint64_t bytes;                      // of memory that it is predicted to take; 0: not known
	bool wants_processor, has_processor; // beside its device
};
struct schedule {
	struct schedule_line *lines;
	size_t count, workers;
	uint64_t room_bytes; // for everything that runs together; one alone may always run
};

void schedule_ready(struct schedule *s, size_t line, const struct schedule_device *device, uint64_t bytes);
// The first line, in their order, whose step may begin now: it runs. SIZE_MAX: none.
size_t schedule_next(struct schedule *s);
void schedule_end(struct schedule *s, size_t line); // of its step
// A running line needs the processor too, until the end of its step. It holds its device meanwhile, and nobody who has the
// processor waits for a device, so it always gets it in the end.
void schedule_want(struct schedule *s, size_t line);
size_t schedule_grant(struct schedule *s); // a line that has it from now on; SIZE_MAX: none
size_t schedule_running(const struct schedule *s);

#endif
