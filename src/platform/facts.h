// SPDX-License-Identifier: Apache-2.0
// What is known about a platform's hardware, drivers and libraries without running anything on it: `detect` shows it beside the
// devices that the engines list, so that "no device" comes with what is there and what is missing.
//
// Files are read in this process, below a root that a test may bring. A vendor's library is only ever loaded in a child
// (driver_ask); its answer is handed in. What cannot be read is left out, or named with "not permitted": nothing is guessed.
#ifndef ASSAY_PLATFORM_FACTS_H
#define ASSAY_PLATFORM_FACTS_H

#include "platform/platform.h"
#include "platform/sysfs.h"

struct facts_source {
	struct sysfs files;
	const json_t *drivers; // what driver_ask gave, by the driver's name: {"nvml": {...}}; NULL: nothing was asked
	const struct machine *machine;
};

// An object; never NULL. "findings" in it are sentences for people, the most important first.
json_t *facts_of(const char *platform, const struct facts_source *source);

json_t *facts_cpu(const struct facts_source *source);
json_t *facts_nvidia(const struct facts_source *source);
json_t *facts_amd(const struct facts_source *source);
json_t *facts_apple(const struct facts_source *source);
json_t *facts_intel(const struct facts_source *source);
json_t *facts_qualcomm(const struct facts_source *source);
json_t *facts_webgpu(const struct facts_source *source);
json_t *facts_webnn(const struct facts_source *source);

// Vendors' libraries that can be asked, by name; NULL after the last.
const char *driver_name(size_t i);
const char *driver_platform(size_t i); // whose facts it is for
// Loads the library and asks it. Only ever in a child. {"error": "..."} when it cannot be loaded or does not answer; NULL: no
// such driver.
json_t *driver_ask(const char *name);
// The driver that counts the memory in use on the platform's devices ("gpus" of its answer); NULL: none does.
const char *driver_counting(const char *platform);
json_t *ask_nvml(void);
json_t *ask_hip(void);
json_t *ask_amdsmi(void);
json_t *ask_vulkan(void);

// pci.c: devices of this vendor whose class is a display (0x03) or a processing accelerator (0x12):
// [{"address", "vendor_id", "device_id", "class", "kind", "driver", "name"}].
enum { PCI_NVIDIA = 0x10de, PCI_AMD = 0x1002, PCI_INTEL = 0x8086 };
json_t *facts_pci(const struct sysfs *s, unsigned vendor);
// "the PCI bus cannot be seen (...)": then no list of it says that there is no card. NULL: it can.
const char *facts_pci_unseen(const struct sysfs *s);

// libraries.c: the newest file of each pattern in the folders of the engines, the loader and `more` (a glob list, may be NULL),
// as
// {"libcudart.so": {"path", "version"}}. `names`: "libcudart.so libcudnn.so".
json_t *facts_libraries(const struct sysfs *s, const char *names, const char *more);

// cpu.c: "Neoverse V1" for implementer 0x41 and part 0xd40; NULL when it is not in the table.
const char *cpu_arm_name(long implementer, long part);

// apple.c: from the texts of `sysctl hw machdep.cpu` and of `ioreg -rc AGXAccelerator -d1`; either may be NULL.
void facts_apple_texts(json_t *facts, struct arena *a, const char *sysctl, const char *ioreg);

#endif
