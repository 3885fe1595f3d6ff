// SPDX-License-Identifier: Apache-2.0
// A stand-in for the libraries of GPU vendors (the CUDA driver and runtime, NVML, TensorRT, HIP), for the same tests as ort.c:
// FAKE_GPUS devices, less what the variables of the vendor hide; FAKE_CUDA is what the driver supports, FAKE_DRIVER its version.
// Copies take the bit off that ort.c's device addresses have, and are noted in its log where `fake_log_to` points at one.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define ON_DEVICE ((uintptr_t)1 << 62)

EXPORT void (*fake_log_to)(const char *line);

static void note(const char *line)
{
	if (fake_log_to)
		fake_log_to(line);
}

static int number(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text ? atoi(text) : otherwise;
}

static int visible(const char *variable)
{
	const char *list = getenv(variable);
	int gpus = number("FAKE_GPUS", 2), listed = 0;

	if (!list)
		return gpus;
	for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		if (atoi(at) < 0 || atoi(at) >= gpus)
			break;
		else
			listed++;
	return listed;
}

EXPORT int cuInit(unsigned flags)
{
	return (void)flags, visible("CUDA_VISIBLE_DEVICES") ? 0 : 100;
}
EXPORT int cuDriverGetVersion(int *v)
{
	return *v = number("FAKE_CUDA", 13010), 0;
}
EXPORT int cuDeviceGetCount(int *n)
{
	return *n = visible("CUDA_VISIBLE_DEVICES"), 0;
}
EXPORT int cuDeviceGet(int *d, int ordinal)
{
	return *d = ordinal, 0;
}
EXPORT int cuDeviceGetName(char *name, int length, int d)
{
	return snprintf(name, (size_t)length, "Fake GPU %d", d), 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int d)
{
	return (void)d, *bytes = (size_t)8 << 30, 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int d)
{
	return (void)d, *value = attribute == 75 ? 9 : 0, 0;
}
EXPORT int cuGetErrorString(int code, const char **text)
{
	return (void)code, *text = "no CUDA-capable device is detected", 0;
}

EXPORT int nvmlInit_v2(void)
{
	return 0;
}
EXPORT int nvmlShutdown(void)
{
	return 0;
}
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned length)
{
	snprintf(text, length, "%s", getenv("FAKE_DRIVER") ? getenv("FAKE_DRIVER") : "580.65.06");
	return 0;
}
EXPORT int nvmlDeviceGetCount_v2(unsigned *n)
{
	return *n = (unsigned)number("FAKE_GPUS", 2), 0;
}

static int copy(void *to, const void *from, size_t n, int kind)
{
	note(kind != 4 ? "copy of another kind" : (uintptr_t)to & ON_DEVICE ? "copy to device" : "copy to host");
	memcpy((void *)((uintptr_t)to & ~ON_DEVICE), (const void *)((uintptr_t)from & ~ON_DEVICE), n);
	return 0;
}
static int set_device(int d)
{
	char line[32];

	snprintf(line, sizeof line, "device %d", d);
	note(line);
	return 0;
}

EXPORT int cudaMemcpy(void *to, const void *from, size_t n, int kind)
{
	return copy(to, from, n, kind);
}
EXPORT int cudaSetDevice(int d)
{
	return set_device(d);
}
EXPORT int cudaDeviceSynchronize(void)
{
	return note("synchronize"), 0;
}

EXPORT int getInferLibVersion(void)
{
	return number("FAKE_TENSORRT", 101303);
}

EXPORT int hipInit(unsigned flags)
{
	return (void)flags, 0;
}
EXPORT int hipGetDeviceCount(int *n)
{
	return *n = visible("HIP_VISIBLE_DEVICES"), *n ? 0 : 100;
}
EXPORT int hipDeviceGetName(char *name, int length, int d)
{
	return snprintf(name, (size_t)length, "Fake Radeon %d", d), 0;
}
EXPORT int hipDeviceTotalMem(size_t *bytes, int d)
{
	return (void)d, *bytes = (size_t)16 << 30, 0;
}
EXPORT int hipRuntimeGetVersion(int *v)
{
	return *v = 70226001, 0;
}
EXPORT const char *hipGetErrorString(int code)
{
	return (void)code, "hipErrorNoDevice";
}
EXPORT int hipMemcpy(void *to, const void *from, size_t n, int kind)
{
	return copy(to, from, n, kind);
}
EXPORT int hipSetDevice(int d)
{
	return set_device(d);
}
EXPORT int hipDeviceSynchronize(void)
{
	return note("synchronize"), 0;
}
