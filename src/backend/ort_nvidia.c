// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs for the providers that run on them, asked of the driver's own library: so they have the numbers that device_id
// takes, and CUDA_VISIBLE_DEVICES has already hidden what it hides. NVML, which knows nothing of that variable, only tells the
// driver's version and how many GPUs are hidden.
#include <stdlib.h>
#include <unistd.h>

#include "backend/ort_nvidia.h"

enum { CUDA_MAJOR = 13, DRIVER_LEAST = 580 }; // what the pinned build is made for, and the driver that brings it

// In the order in which they need each other. The late ones are opened by the provider when an operator asks for them.
const struct vendor_library nvidia_cuda_libraries[] = {
	{ "libcudart.so.13", NULL },
	{ "libcublasLt.so.13", NULL },
	{ "libcublas.so.13", NULL },
	{ "libcurand.so.10", NULL },
	{ "libnvJitLink.so.13", "libcufft" },
	{ "libcufft.so.12", "Fourier transforms" },
	{ "libnvrtc.so.13", "kernels compiled at run time" },
	{ "libcudnn.so.9", "convolutions and recurrent layers" },
	{ NULL, NULL },
};

const char *const nvidia_places[] = { "/usr/local/cuda/lib64", "/usr/local/cuda-13/lib64", "/usr/lib/wsl/lib", NULL };

struct driver {
	int (*init)(unsigned flags);
	int (*version)(int *version);
	int (*count)(int *count);
	int (*get)(int *device, int ordinal);
	int (*name)(char *name, int length, int device);
	int (*memory)(size_t *bytes, int device);
	int (*attribute)(int *value, int attribute, int device);
	int (*error_text)(int code, const char **text);
};

struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	int (*driver_version)(char *version, unsigned length);
	int (*count)(unsigned *count);
};

static bool open_driver(struct driver *d, struct arena *a, const struct vendor *v, const char **why)
{
	void *h = vendor_open(a, v, "libcuda.so.1", why);

	return h && vendor_find(h, "cuInit", &d->init) && vendor_find(h, "cuDriverGetVersion", &d->version) &&
		vendor_find(h, "cuDeviceGetCount", &d->count) && vendor_find(h, "cuDeviceGet", &d->get) &&
		vendor_find(h, "cuDeviceGetName", &d->name) && vendor_find(h, "cuDeviceTotalMem_v2", &d->memory) &&
		vendor_find(h, "cuDeviceGetAttribute", &d->attribute) && vendor_find(h, "cuGetErrorString", &d->error_text);
}

// The driver's version as people know it, and how many GPUs there are before anything is hidden; -1: not known.
static int ask_nvml(struct arena *a, const struct vendor *v, const char **version)
{
	struct nvml n;
	const char *why;
	char text[96] = "";
	unsigned count = 0;
	int found = -1;
	void *h = vendor_open(a, v, "libnvidia-ml.so.1", &why);

	if (!h || !vendor_find(h, "nvmlInit_v2", &n.init) || !vendor_find(h, "nvmlShutdown", &n.shutdown) ||
		!vendor_find(h, "nvmlSystemGetDriverVersion", &n.driver_version) ||
		!vendor_find(h, "nvmlDeviceGetCount_v2", &n.count) || n.init())
		return -1;
	if (!n.driver_version(text, sizeof text))
		*version = arena_strdup(a, text);
	if (!n.count(&count))
		found = (int)count;
	n.shutdown();
	return found;
}

static const char *no_driver(struct arena *a, const char *why)
{
	bool device = access("/dev/nvidia0", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;

	return arena_printf(a, "no NVIDIA driver: libcuda.so.1 %s%s",
		why && !strstr(why, "No such file") ? "cannot be opened: " : "is missing",
		why && !strstr(why, "No such file") ? why
			: device                    ? ""
						    : ", and so is /dev/nvidia0");
}

static const char *why_none(struct arena *a, int listed, const char *driver_says)
{
	const char *hidden = getenv("CUDA_VISIBLE_DEVICES");

	if (hidden && listed != 0)
		return arena_printf(a, "CUDA_VISIBLE_DEVICES=%s hides every GPU%s", hidden,
			listed > 0 ? arena_printf(a, " (%d are here)", listed) : "");
	if (access("/dev/nvidia0", F_OK) && access("/dev/dxg", F_OK))
		return arena_printf(a, "NVIDIA's driver library is here, but no GPU: /dev/nvidia0 is missing%s%s",
			driver_says ? " and the driver says: " : "", driver_says ? driver_says : "");
	if (access("/dev/nvidia0", R_OK | W_OK) && access("/dev/dxg", F_OK))
		return "no permission to use /dev/nvidia0: join its group, or change the container's devices";
	return arena_printf(a, "NVIDIA's driver finds no GPU%s%s", driver_says ? ": " : "", driver_says ? driver_says : "");
}

static void add_gpu(struct gpu_list *out, struct arena *a, const struct driver *d, int ordinal)
{
	enum { MAJOR = 75, MINOR = 76 }; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
	char name[128] = "";
	size_t bytes = 0;
	int device, major = 0, minor = 0;

	if (out->count == sizeof out->items / sizeof *out->items || d->get(&device, ordinal) ||
		d->name(name, sizeof name, device))
		return;
	if (d->memory(&bytes, device))
		bytes = 0;
	if (d->attribute(&major, MAJOR, device) || d->attribute(&minor, MINOR, device))
		major = 0;
	out->items[out->count++] = (struct gpu){ arena_strdup(a, name), bytes,
		major ? arena_printf(a, "compute capability %d.%d", major, minor) : NULL };
}

void nvidia_list(struct gpu_list *out, struct arena *a, const struct vendor *v)
{
	struct driver d;
	const char *why = NULL, *says = NULL;
	int version = 0, count = 0, code, listed;

	*out = (struct gpu_list){ 0 };
	if (!open_driver(&d, a, v, &why)) {
		out->missing = no_driver(a, why);
		return;
	}
	listed = ask_nvml(a, v, &out->driver);
	if (!d.version(&version) && version / 1000 < CUDA_MAJOR) {
		out->missing =
			arena_printf(a, "NVIDIA's driver %s%sis for CUDA %d.%d; this build needs CUDA %d: driver %d or newer",
				out->driver ? out->driver : "", out->driver ? " " : "", version / 1000, version % 1000 / 10,
				CUDA_MAJOR, DRIVER_LEAST);
		return;
	}
	if (!(code = d.init(0)))
		code = d.count(&count);
	if (code && d.error_text(code, &says))
		says = arena_printf(a, "error %d", code);
	for (int i = 0; i < count; i++)
		add_gpu(out, a, &d, i);
	if (!out->count)
		out->missing = why_none(a, listed, says);
}

const char *nvidia_tensorrt_version(struct arena *a, const struct vendor *v)
{
	int32_t (*version)(void);
	const char *why;
	int32_t n;

	if (!vendor_find(vendor_open(a, v, "libnvinfer.so.10", &why), "getInferLibVersion", &version) || (n = version()) <= 0)
		return NULL;
	return n >= 10000 ? arena_printf(a, "%d.%d.%d", n / 10000, n / 100 % 100, n % 100)
			  : arena_printf(a, "%d.%d.%d", n / 1000, n / 100 % 10, n % 100);
}
