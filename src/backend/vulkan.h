// SPDX-License-Identifier: Apache-2.0
// Vulkan as far as native WebGPU depends on it: which drivers are installed, and which adapters they give. No queue is made and
// nothing is computed.
#ifndef ASSAY_BACKEND_VULKAN_H
#define ASSAY_BACKEND_VULKAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

// A manifest tells the loader where a driver's library lies. They are found as the loader finds them: VK_DRIVER_FILES, else
// VK_ICD_FILENAMES, else vulkan/icd.d below the folders of configuration and data; VK_ADD_DRIVER_FILES adds to those.
struct vulkan_manifest {
	const char *path, *library; // library NULL: the file cannot be read or names none
	const char *api_version;    // as it says; NULL: it does not
};
// `root` goes before the system's folders, not before files that a variable names.
size_t vulkan_manifests(struct arena *a, const char *root, struct vulkan_manifest **out);

struct vulkan_adapter {
	const char *name;              // "SwiftShader Device (LLVM 16.0.0)"
	const char *type;              // "discrete" "integrated" "virtual" "cpu" "other"
	const char *driver;            // "SwiftShader driver 5.0.0"; NULL: it does not say
	const char *api_version;       // "1.3.0"
	uint32_t vendor_id, device_id; // of PCI; others above 0xffff
	uint64_t local_bytes;          // the largest heap that is the device's own
	int float16, int8;             // arithmetic in shaders: 1, 0; -1: it does not say
	bool software;                 // computed by the processor: right answers, meaningless speed
};
// Loads libvulkan.so.1 and the drivers: only ever in a child. UNAVAILABLE with the reason when the loader, every driver or every
// adapter is missing.
enum status vulkan_adapters(struct arena *a, struct vulkan_adapter **out, size_t *count, struct error *err);

#endif
