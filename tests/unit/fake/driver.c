// SPDX-License-Identifier: Apache-2.0
// Stands in for vendors' libraries: two NVIDIA cards by NVML, one AMD GPU by HIP and amdsmi, a discrete and a software adapter by
// Vulkan. The interfaces are written down here once more, from their documents, so that a slip in assay's own declarations is
// seen. FAKE_DRIVER=fail: starting fails; crash: it ends the process. A GPU's counter of energy goes on by how often it was
// asked: once while it is opened, twice around idle, twice around the timed runs. FAKE_DRIVER_ENERGY=none: there is none; still:
// it stands.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int start(int failure)
{
	const char *how = getenv("FAKE_DRIVER");

	if (how && !strcmp(how, "crash"))
		abort();
	return how && !strcmp(how, "fail") ? failure : 0;
}

static int say(char *out, unsigned size, const char *text)
{
	if (strlen(text) >= size)
		return 7; // NVML_ERROR_INSUFFICIENT_SIZE
	strcpy(out, text);
	return 0;
}

// ---- NVML ---------------------------------------------------------------------------------------------------------------

struct nvmlDevice {
	int number;
};
static struct nvmlDevice nvml_devices[2] = { { 0 }, { 1 } };
typedef struct {
	unsigned long long total, free, used;
} nvmlMemory_t;

int nvmlInit_v2(void)
{
	return start(999);
}
static unsigned long long energy_mj(int number)
{
	static const unsigned long long at[] = { 5000, 5000, 5100, 5150, 105150 };
	static int asked[2];
	const char *how = getenv("FAKE_DRIVER_ENERGY");
	const int n = how ? 0 : asked[number]++;

	return at[n < 5 ? n : 4];
}

static int has_energy(void)
{
	const char *how = getenv("FAKE_DRIVER_ENERGY");

	return !how || strcmp(how, "none");
}

int nvmlDeviceGetTotalEnergyConsumption(struct nvmlDevice *d, unsigned long long *out)
{
	*out = energy_mj(d->number);
	return has_energy() ? 0 : 3; // NVML_ERROR_NOT_SUPPORTED
}
int nvmlShutdown(void)
{
	return 0;
}
const char *nvmlErrorString(int code)
{
	return code == 999 ? "Unknown Error" : "Insufficient Permissions";
}
int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
	return say(out, size, "580.65.06");
}
int nvmlSystemGetNVMLVersion(char *out, unsigned size)
{
	return say(out, size, "13.580.65.06");
}
int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
	*out = 13000;
	return 0;
}
int nvmlDeviceGetCount_v2(unsigned *out)
{
	*out = 3;
	return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct nvmlDevice **out)
{
	if (i > 1)
		return 4; // NVML_ERROR_NO_PERMISSION
	*out = &nvml_devices[i];
	return 0;
}
int nvmlDeviceGetName(struct nvmlDevice *d, char *out, unsigned size)
{
	return say(out, size, d->number ? "NVIDIA L4" : "NVIDIA H100 PCIe");
}
int nvmlDeviceGetUUID(struct nvmlDevice *d, char *out, unsigned size)
{
	return say(out, size, d->number ? "GPU-22222222" : "GPU-11111111");
}
int nvmlDeviceGetMemoryInfo(struct nvmlDevice *d, nvmlMemory_t *out)
{
	static unsigned long long asked;
	const char *taken = getenv("FAKE_DRIVER_TAKES"); // MiB more at each look at the first card

	*out = (nvmlMemory_t){ d->number ? 24000000000ull : 80000000000ull, d->number ? 20000000000ull : 70000000000ull, 1 };
	if (!d->number && taken)
		out->free -= asked++ * strtoull(taken, NULL, 10) << 20;
	return 0;
}
int nvmlDeviceGetCudaComputeCapability(struct nvmlDevice *d, int *major, int *minor)
{
	*major = d->number ? 8 : 9;
	*minor = d->number ? 9 : 0;
	return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(struct nvmlDevice *d, unsigned *out)
{
	*out = 350500;
	return d->number ? 3 : 0;
} // not supported by the second
int nvmlDeviceGetTemperature(struct nvmlDevice *d, int sensor, unsigned *out)
{
	*out = 41u + (unsigned)d->number;
	return sensor;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvmlDevice *d, unsigned long long *out)
{
	*out = d->number ? 0x21 : 0x1;
	return 0;
}

// ---- HIP and amdsmi -----------------------------------------------------------------------------------------------------

int hipGetDeviceCount(int *out)
{
	*out = 1;
	return start(100);
}
const char *hipGetErrorString(int code)
{
	return code == 100 ? "no ROCm-capable device is detected" : "other";
}
int hipDeviceGetName(char *out, int size, int device)
{
	return device ? 101 : say(out, (unsigned)size, "AMD Instinct MI250X");
}
int hipDeviceTotalMem(size_t *out, int device)
{
	*out = 68702699520u;
	return device ? 101 : 0;
}
int hipRuntimeGetVersion(int *out)
{
	*out = 60342134;
	return 0;
}
int hipDriverGetVersion(int *out)
{
	*out = 60342134;
	return 0;
}

int amdsmi_init(uint64_t flags)
{
	return flags == 2 ? start(2) : 1;
}
int amdsmi_shut_down(void)
{
	return 0;
}
int amdsmi_get_socket_handles(uint32_t *count, void **out)
{
	*count = 1;
	out[0] = &nvml_devices[0];
	return 0;
}
int amdsmi_get_processor_handles(void *socket, uint32_t *count, void **out)
{
	*count = 1;
	out[0] = &nvml_devices[1];
	return socket != &nvml_devices[0];
}
int amdsmi_get_gpu_memory_total(void *p, int type, uint64_t *out)
{
	*out = 68702699520u;
	return type || p != &nvml_devices[1];
}
int amdsmi_get_gpu_memory_usage(void *p, int type, uint64_t *out)
{
	*out = 11000000;
	return type || p != &nvml_devices[1];
}
int amdsmi_get_energy_count(void *p, uint64_t *count, float *resolution, uint64_t *timestamp)
{
	*resolution = 1.5F;
	*count = energy_mj(1) * 1000 * 2 / 3;
	*timestamp = 1;
	return has_energy() && p == &nvml_devices[1] ? 0 : 2;
}

// ---- Vulkan -------------------------------------------------------------------------------------------------------------

typedef void (*PFN_vkVoidFunction)(void);
typedef struct {
	uint32_t apiVersion, driverVersion, vendorID, deviceID, deviceType;
	char deviceName[256];
	uint8_t pipelineCacheUUID[16];
	uint64_t limits[63];
	uint32_t sparse[5];
} properties;
typedef struct {
	int sType;
	void *pNext;
	properties properties;
} properties2;
typedef struct {
	int sType;
	void *pNext;
	int driverID;
	char driverName[256], driverInfo[256];
	uint8_t conformance[4];
} driver_properties;
typedef struct {
	int sType;
	void *pNext;
	uint32_t features[55];
} features2;
typedef struct {
	int sType;
	void *pNext;
	uint32_t shaderFloat16, shaderInt8;
} float16_int8;
typedef struct {
	uint32_t memoryTypeCount;
	struct {
		uint32_t propertyFlags, heapIndex;
	} memoryTypes[32];
	uint32_t memoryHeapCount;
	struct {
		uint64_t size;
		uint32_t flags;
	} memoryHeaps[16];
} memory_properties;

static int vkCreateInstance(const void *info, const void *allocator, void **out)
{
	(void)info;
	(void)allocator;
	*out = nvml_devices;
	return start(-9);
}
static void vkDestroyInstance(void *instance, const void *allocator)
{
	(void)instance;
	(void)allocator;
}
static int vkEnumerateInstanceVersion(uint32_t *out)
{
	*out = 1u << 22 | 3u << 12 | 280;
	return 0;
}
static int vkEnumeratePhysicalDevices(void *instance, uint32_t *count, void **out)
{
	(void)instance;
	for (uint32_t i = 0; out && i < 2; i++)
		out[i] = &nvml_devices[i];
	*count = 2;
	return 0;
}
static void vkGetPhysicalDeviceProperties(struct nvmlDevice *d, properties *out)
{
	memset(out, 0, sizeof *out);
	*out = (properties){ .apiVersion = d->number ? 1u << 22 | 1u << 12 : 1u << 22 | 3u << 12 | 277,
		.vendorID = 0x1002,
		.deviceID = 0x744c,
		.deviceType = d->number ? 4 : 2 };
	strcpy(out->deviceName, d->number ? "a software adapter" : "AMD Radeon RX 7900 XTX (RADV NAVI31)");
}
static void vkGetPhysicalDeviceProperties2(struct nvmlDevice *d, properties2 *out)
{
	vkGetPhysicalDeviceProperties(d, &out->properties);
	for (driver_properties *p = out->pNext; p; p = p->pNext)
		if (p->sType == 1000196000) {
			strcpy(p->driverName, "radv");
			strcpy(p->driverInfo, "Mesa 25.0.1");
		}
}
static void vkGetPhysicalDeviceFeatures2(struct nvmlDevice *d, features2 *out)
{
	(void)d;
	memset(out->features, 0xff, sizeof out->features);
	for (float16_int8 *p = out->pNext; p; p = p->pNext)
		if (p->sType == 1000082000)
			p->shaderFloat16 = 1;
}
static void vkGetPhysicalDeviceMemoryProperties(struct nvmlDevice *d, memory_properties *out)
{
	(void)d;
	memset(out, 0, sizeof *out);
	out->memoryHeapCount = 3;
	out->memoryHeaps[0].size = 64000000000; // the host's
	out->memoryHeaps[1].size = 25753026560;
	out->memoryHeaps[1].flags = 1;
	out->memoryHeaps[2].size = 268435456;
	out->memoryHeaps[2].flags = 1;
}
PFN_vkVoidFunction vkGetInstanceProcAddr(void *instance, const char *name)
{
#define GIVE(f) \
	if (!strcmp(name, #f)) \
	return (PFN_vkVoidFunction)f
	(void)instance;
	GIVE(vkCreateInstance);
	GIVE(vkDestroyInstance);
	GIVE(vkEnumerateInstanceVersion);
	GIVE(vkEnumeratePhysicalDevices);
	GIVE(vkGetPhysicalDeviceProperties);
	GIVE(vkGetPhysicalDeviceProperties2);
	GIVE(vkGetPhysicalDeviceFeatures2);
	GIVE(vkGetPhysicalDeviceMemoryProperties);
	return NULL;
}
