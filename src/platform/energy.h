// SPDX-License-Identifier: Apache-2.0
// Counters of energy: RAPL by powercap, hwmon, NVML, amdsmi. They count for everybody on the machine; who reads them has to say
// so. What cannot be read is named with the reason, and a counter that stands still counts nothing: it is never 0 J.
#ifndef ASSAY_PLATFORM_ENERGY_H
#define ASSAY_PLATFORM_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/sysfs.h"

enum { ENERGY_MOST = 80 }; // counters: 64 GPUs of a vendor and some packages

struct energy_counter {
	const char *name; // "package-0", "package-0 dram", "GPU 1"
	const char *path; // of a counter in microjoules, below the root; NULL: a vendor's library
	int64_t range_uj; // it goes on with 0 after so many; 0: it does not
	bool is_part;     // told beside the others and not added: powercap lists memory below the package that it belongs to, and
			  // whether the package's counter has it differs between processors
	const void *gpu;  // the library's handle
};

struct energy {
	struct sysfs files;
	struct energy_counter items[ENERGY_MOST];
	size_t count;
	const char *why;     // what is missing, so that there is no figure; NULL: nothing
	const char *without; // what is missing and is not needed: of a GPU the processor's counter; NULL: nothing
	struct energy_driver *driver;
};

struct energy_reading {
	int64_t at_ns;
	int64_t uj[ENERGY_MOST]; // -1: it could not be read
};

// `driver`: the vendor's library whose GPUs are counted too, as driver_name names it: "nvml", "amdsmi"; NULL: none. It is loaded:
// only ever in a child. `gpu`: names of hwmon devices that are the GPU of this platform, "i915 xe"; NULL: none.
void energy_open(struct energy *e, struct arena *a, const char *root, const char *driver, const char *gpu);
void energy_read(const struct energy *e, struct energy_reading *out);
void energy_close(struct energy *e);

// What one counter counted between two readings; NAN, and *why: it could not be read, stood still, or may have gone round more
// than once.
double energy_between(const struct energy *e, size_t i, const struct energy_reading *before, const struct energy_reading *after,
	const char **why);

// The energy of what ran between begin and end over what the machine takes when nothing of this runs.
struct energy_figures {
	double joules;  // over idle, all counters but parts; NAN: `why`
	double idle_w;  // of the same counters
	double total_j; // with idle
	double seconds;
	const char *source; // "package-0, package-1 (RAPL)"; all processes of the machine are in it
	const char *why;
	json_t *parts; // [{"counter", "joules", "idle_w", "added"}]; the caller's
};
void energy_figures(const struct energy *e, const struct energy_reading idle[2], const struct energy_reading *begin,
	const struct energy_reading *end, struct energy_figures *out);

#endif
