// SPDX-License-Identifier: Apache-2.0
// A platform is what a person asks for; an engine is what runs. Each platform is a row: engine, provider, default options,
// the forms the builder should draw, the reference its outputs are judged by, the fallback chain.
#ifndef ASSAY_PLATFORM_PLATFORM_H
#define ASSAY_PLATFORM_PLATFORM_H

#include "backend/backend.h"
#include "onnx/graph.h"

struct platform {
	const char *name;                    // "cpu": what --on takes
	const char *engine;                  // backend name; NULL while no engine serves it yet
	const char *device;                  // the engine's device when --on names none: "CPU"
	const char *summary;
	const char *absent;                  // engine == NULL: the reason, a sentence
	const char *reference;               // what judges it where there are no golden outputs: a text for platform_target
	const char *options;                 // "key=value,key=value" defaults for the engine; chosen by measurement
	struct graph_form form;
	enum cache_form cache;               // for generation, of models that can (arch_unshared); form.cache is plain: right for every batch
};

size_t platform_count(void);
const struct platform *platform_get(size_t i);
const struct platform *platform_find(const char *name);     // NULL if there is none

// "openvino:GPU" -> platform row and device; "null:fail=run@3" -> the platform's device and these options over its own;
// "openvino:GPU,precision=f16" -> both. BAD_INPUT lists the known names.
struct target { const struct platform *platform; const char *device, *options; };
enum status platform_target(struct target *out, struct arena *a, const char *text, struct error *err);

// memory.c: what an engine does with memory; MiB. NULL for one that nobody has measured.
struct platform_memory {
	const char *engine;
	double opened_mib, mapped_mib;       // before any weight: anonymous; of libraries
	double made, given;                  // anonymous bytes for each byte that nodes make, and for each that they give out
	double folded_slack;                 // what stays of each folded byte after it was packed and freed
	bool frees_packed;                   // what was packed is let go of, mapped pages and folded copies
	bool widens_half_tables;             // a table of float16 becomes one of float32
};
const struct platform_memory *platform_memory(const struct platform *p);

// machine.c: what this process may use.
struct machine {
	const char *id;                      // hash of what the hardware is: the same machine, the same id, after an update too
	const char *hostname, *os, *kernel, *architecture, *cpu_vendor, *cpu_model;
	int sockets, cores, threads;         // of the machine
	int usable_cpus;                     // affinity and cgroup quota
	int64_t l1d_bytes, l2_bytes, l3_bytes;   // per instance; 0 unknown
	const char *features;                // "avx avx2 avx512f avx512_vnni ... amx_tile", in a fixed order
	const char *hypervisor;              // NULL when none is reported
	int64_t memory_bytes, memory_available_bytes, memory_limit_bytes;   // limit: cgroup, 0 none
	const char *boot_id;
};
void machine_detect(struct machine *out, struct arena *a);
// For tests: `root` goes before every path under /proc, /sys and /etc.
void machine_detect_at(struct machine *out, struct arena *a, const char *root);
json_t *machine_json(const struct machine *m);

#endif
