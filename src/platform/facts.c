// SPDX-License-Identifier: Apache-2.0
// Which facts belong to which platform, and which drivers can be asked.
#include "platform/facts.h"

#include <string.h>

static const struct {
	const char *platform;
	json_t *(*facts)(const struct facts_source *source);
} makers[] = {
	{ "cpu", facts_cpu },
	{ "cuda", facts_nvidia },
	{ "tensorrt", facts_nvidia },
	{ "tensorrt-rtx", facts_nvidia },
	{ "rocm", facts_amd },
	{ "mps", facts_apple },
	{ "openvino", facts_intel },
	{ "qnn", facts_qualcomm },
	{ "webgpu", facts_webgpu },
	{ "webnn", facts_webnn },
};

static const struct {
	const char *name, *platform;
	json_t *(*ask)(void);
} drivers[] = {
	{ "nvml", "cuda", ask_nvml },
	{ "hip", "rocm", ask_hip },
	{ "amdsmi", "rocm", ask_amdsmi },
	{ "vulkan", "webgpu", ask_vulkan },
};

static const struct {
	const char *platform, *driver;
} counters[] = { { "cuda", "nvml" }, { "tensorrt", "nvml" }, { "tensorrt-rtx", "nvml" } };

json_t *facts_of(const char *platform, const struct facts_source *source)
{
	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
		if (text_is(makers[i].platform, platform))
			return makers[i].facts(source);
	return json_object();
}

const char *driver_name(size_t i)
{
	return i < sizeof drivers / sizeof *drivers ? drivers[i].name : NULL;
}

const char *driver_platform(size_t i)
{
	return drivers[i].platform;
}

const char *driver_counting(const char *platform)
{
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		if (text_is(counters[i].platform, platform))
			return counters[i].driver;
	return NULL;
}

json_t *driver_ask(const char *name)
{
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
		if (text_is(drivers[i].name, name))
			return drivers[i].ask();
	return NULL;
}
