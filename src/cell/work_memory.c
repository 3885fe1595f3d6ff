// SPDX-License-Identifier: Apache-2.0
// Memory in use on the device, where its vendor's library counts it: before the model is loaded, and at the ends of load, first
// run and the extra run. All of the vendor's devices together, less what was in use before: the library numbers them otherwise
// than the engine does. Another process that takes or gives back memory meanwhile is in the figure. Nothing is asked while
// anything is timed.
#include <jansson.h>

#include "cell/work.h"
#include "cell/say.h"
#include "platform/facts.h"

// Bytes; -1: they are not counted.
static int64_t in_use(const char *platform)
{
	const char *driver = driver_counting(platform);
	json_t *facts = driver ? driver_ask(driver) : NULL, *one;
	int64_t sum = -1;
	size_t i;

	json_array_foreach(json_object_get(facts, "gpus"), i, one)
	{
		const json_t *all = json_object_get(one, "memory_bytes"), *left = json_object_get(one, "memory_free_bytes");

		if (json_is_integer(all) && json_is_integer(left))
			sum = (sum < 0 ? 0 : sum) + json_integer_value(all) - json_integer_value(left);
	}
	json_decref(facts);
	return sum;
}

void work_device_memory_begin(struct work *w)
{
	w->device_bytes_before = w->ask.together ? -1 : in_use(w->target.platform->name); // others would be in the figure
	w->device_bytes = -1;
}

void work_memory(struct work *w, const char *phase)
{
	int64_t now = w->device_bytes_before < 0 ? -1 : in_use(w->target.platform->name) - w->device_bytes_before;

	say_memory(phase);
	if (now <= w->device_bytes)
		return;
	w->device_bytes = now;
	say_row(json_pack("{s:f}", "device_memory_mib", (double)now / 0x1p20));
}
