// SPDX-License-Identifier: Apache-2.0
// A platform is what a person asks for; an engine is what runs. Each platform is a row: the routes by which it can be served
// (engine, provider, devices), the forms the builder should build, the reference its outputs are judged by, the fallback chain.
#ifndef ASSAY_PLATFORM_PLATFORM_H
#define ASSAY_PLATFORM_PLATFORM_H

#include "backend/backend.h"
#include "onnx/graph.h"

// One way to serve a platform. A device word chooses the route that has it ("native", "chromium"); without one the first route
// with a device here is taken.
struct route {
	const char *engine;   // backend name; NULL ends the list
	const char *provider; // of that engine
	const char *devices;  // the words that choose it, each also the beginning of one ("native" has "native.1"); NULL: all
	const char *device;   // the default: "CPU"
	const char *options;  // "key=value,key=value" defaults for the engine; chosen by measurement
};

enum {
	PLATFORM_EXTRA = 1, // a part of one of the eight, or not hardware: `detect` lists it after them, if at all
};

struct platform {
	const char *name; // "cpu": what --on takes
	const char *summary;
	unsigned flags;
	struct route routes[4];     // in the order of preference; the last has no engine
	const char *reference;      // what judges it where there are no golden outputs: a text for platform_target
	struct graph_form forms[4]; // in the order in which they are tried: the next one when an operator of this one is refused
	size_t form_count;
	enum cache_form
		cache; // for generation, of models that can (arch_unshared); the forms' cache is plain: right for every batch
	const char *fallback[4]; // names of platforms, in order; ends with NULL
	const char *environment; // variables that hide or choose its devices: "CUDA_VISIBLE_DEVICES"; NULL: none
};

size_t platform_count(void);
const struct platform *platform_get(size_t i);
const struct platform *platform_find(const char *name); // NULL if there is none
// alias.c: as people type it: in any case, and nvidia, amd, trt, coreml, gpu (the one whose card is here).
const struct platform *platform_named(const char *name);
const char *platform_elsewhere(const char *name); // a sentence about a platform that assay cannot have; NULL

// "openvino:GPU" -> platform row and device; "null:fail=run@3" -> the platform's device and these options over its own;
// "openvino:GPU,precision=f16" -> both. BAD_INPUT lists the known names.
struct target {
	const struct platform *platform;
	const struct route *route;
	const char *device, *options;
	const char *user_options; // plan_targets: those of them that were asked for of every platform; NULL: none
	bool chosen;              // the text named the device; else another route may serve as well
	const char *absent;       // plan_choose: no route has a device here: the reasons; NULL otherwise
	// Then what rows of it say: unavailable, or that it could not be asked, or how the process that asked ended.
	enum verdict absent_verdict;
	bool emulated; // pipeline_target_read: the device is a software stand-in for other hardware
	// Of a whole pipeline: the platforms of its parts, where they are others (plan_pipeline_target). Nothing else has any.
	const struct target_part *parts;
	size_t part_count;
};
struct target_part {
	const char *name;      // "unet", "encoder"
	struct target *target; // without parts
};
// The route that has this device: NULL or "" is the first route.
const struct route *platform_route(const struct platform *p, const char *device);
const struct backend *route_backend(const struct route *r);
const struct provider *route_provider(const struct route *r);
bool platform_is_software(const struct platform *p); // null: computes nothing

// stand_in.c: $ASSAY_NULL="cuda:fail=open,status=unavailable openvino cpu" lets the null engine stand in for platforms, each with
// its options, so that what assay does with platforms is tested on any machine. Rows, reports and messages say that it did.
bool platform_is_stand_in(const struct platform *p);
// The table with its stand-ins; `rows` itself where there are none. A variable that cannot be read gives NULL and *err,
// or with a NULL `err` the rows as they are: platform_target tells of it.
const struct platform *platform_stand_ins(const struct platform *rows, size_t count, struct error *err);
// table_json.c: every row with its routes, their options, forms and chain.
json_t *platform_table_json(void);
enum status platform_target(struct target *out, struct arena *a, const char *text, struct error *err);

// precision.c: how a route comes to a precision.
enum precision_by { PRECISION_BY_GRAPH, PRECISION_BY_ENGINE, PRECISION_BY_NOBODY };
struct precision_way {
	const char *engine, *provider; // provider NULL: every one of the engine
	enum precision precision;
	enum precision_by by;
	const char *options;    // "key=value,..." of the engine that make it, or what the graph leaves to the engine
	bool quantises;         // by the graph: activations are left to the engine (struct precise)
	bool float_activations; // of weights alone: the engine multiplies in float32 without `options`, which an accuracy level
				// of int8 gives it
	const char *why;        // by nobody: a sentence
};
const struct precision_way *platform_precision(const struct route *r, enum precision p); // never NULL
// Does the engine multiply integer weights in float32, as their accuracy level has it?
bool platform_float_activations(const struct route *r, const struct precise *p);
// The options of a target with those that the precision takes: after them, or before them where it only allows them; `options`
// itself where the graph makes it.
const char *platform_precision_options(struct arena *a, const struct route *r, const struct precise *p, const char *options);

// memory.c: what an engine does with memory; MiB. NULL for one that was not measured.
struct platform_memory {
	const char *engine, *provider;
	double opened_mib, mapped_mib; // before any weight: anonymous; of libraries
	double made, given;            // anonymous bytes for each byte that nodes make, and for each that they give out
	double blocks;                 // for each byte of scales and zero points of blocks: packed beside the weights
	double folded_slack;           // what stays of each folded byte after it was packed and freed
	bool frees_packed;             // what was packed is let go of, mapped pages and folded copies
	bool fuses_attention;          // holds no scores of one whose heads share no keys
	bool widens_half_tables;       // a table of float16 becomes one of float32
	bool widens_half_weights;      // a weight of float16 that is multiplied with becomes one of float32
};
const struct platform_memory *platform_memory(const struct route *r);

// machine.c: what this process may use.
struct machine {
	const char *id; // hash of what the hardware is: the same machine, the same id, after an update too
	const char *hostname, *os, *kernel, *architecture, *cpu_vendor, *cpu_model;
	int sockets, cores, threads;           // of the machine
	int usable_cpus;                       // affinity and cgroup quota
	int64_t l1d_bytes, l2_bytes, l3_bytes; // per instance; 0 unknown
	const char *features;                  // "avx avx2 avx512f avx512_vnni ... amx_tile", in a fixed order
	const char *hypervisor;                // NULL when none is reported
	int64_t memory_bytes, memory_available_bytes, memory_limit_bytes; // limit: cgroup, 0 none
	const char *boot_id;
};
void machine_detect(struct machine *out, struct arena *a);
// For tests: `root` goes before every path under /proc, /sys and /etc.
void machine_detect_at(struct machine *out, struct arena *a, const char *root);
// Its three sizes of memory alone: quick enough to be asked for each child.
void machine_memory_at(struct machine *out, struct arena *a, const char *root);
json_t *machine_json(const struct machine *m);

#endif
