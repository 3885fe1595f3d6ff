// SPDX-License-Identifier: Apache-2.0
// Private to ort*.c: execution providers in a library of their own, which need what a vendor of GPUs brings; the GPUs that
// there are; and the memory of one, where inputs and outputs can stay.
#ifndef ASSAY_BACKEND_ORT_VENDOR_H
#define ASSAY_BACKEND_ORT_VENDOR_H

#include "backend/ort.h"

// A library that the provider's library needs. `what_for`: it is opened late, and only that fails without it; NULL: all does.
struct vendor_library {
	const char *soname, *what_for;
};

struct vendor {
	const char *file;                   // of the provider: "libonnxruntime_providers_cuda.so"
	const char *folder;                 // its libraries, one folder below engines/: "nvidia"; NULL: only the system has them
	const char *const *places;          // folders where installers put them that the loader need not know; ends with NULL
	const struct vendor_library *needs; // in the order in which they are opened; ends with a NULL soname
	const char *setup;                  // what brings the provider's library
	const char *remedy;                 // what brings the vendor's libraries
	// Makes ONNX Runtime load the provider's library: only it can. Static initialisers of the library call ONNX Runtime
	// through an interface that it hands over first; opened by anybody else, the library reads a null pointer there.
	OrtStatus *(*load)(const OrtApi *api);
};

struct gpu {
	const char *name;
	uint64_t memory_bytes;
	const char *features;
};
struct gpu_list {
	struct gpu items[64]; // by the number that the vendor's runtime gives them, which is device_id
	size_t count;
	const char *driver;  // version, or NULL
	const char *missing; // why there are none: the driver, the device file, a variable that hides them
};

// Opens one library by full path, else by the loader's rules; NULL and the loader's words when there is none.
void *vendor_open(struct arena *a, const struct vendor *v, const char *soname, const char **why);
// The address of a function, or NULL; `function` is the pointer's place.
bool vendor_find(void *handle, const char *name, void *function);
// Opens everything the provider needs, then makes ONNX Runtime load the provider's library. The error names everything
// that is missing, `driver` (gpu_list.missing, or NULL) first, and what brings it. *without: what the late ones that are missing
// are for, or NULL.
enum status vendor_load(const struct ort_library *l, struct arena *a, const struct vendor *v, const char *driver,
	const char **without, struct error *err);

// The device of that number: "1". UNAVAILABLE lists those that are here.
enum status gpu_choose(struct session *s, const struct gpu_list *l, const char *what, int64_t *index, struct error *err);
// Adds all of them, or gives the reason why there are none.
enum status gpu_add_all(
	const struct gpu_list *l, const char *provider, const char *without, struct device_list *out, struct error *err);

// Both: what a provider's `devices` does once the GPUs are listed.
enum status gpu_devices(const struct gpu_list *l, const struct vendor *v, const struct provider *p,
	const struct ort_library *library, struct device_list *out, struct error *err);

// Keys and values of a provider, as its functions take them.
struct ep_options {
	const char *keys[32], *values[32];
	size_t count;
};
void ep_option(struct ep_options *o, const char *key, const char *text);
// "on" and "off" of an option as "1" and "0" of a key.
enum status ep_option_bool(struct session *s, struct ep_options *o, const char *option, const char *key, struct error *err);
// A byte count: "2147483648", "2g", "512m". Nothing is set when the option has no value.
enum status ep_option_bytes(struct session *s, struct ep_options *o, const char *option, const char *key, struct error *err);
// One of `words`, given on as the `value` beside it.
enum status ep_option_choice(struct session *s, struct ep_options *o, const char *option, const char *key,
	const char *const *words, const char *const *values, size_t count, struct error *err);
// SessionOptionsAppendExecutionProvider, for providers without functions of their own.
enum status ep_append(struct session *s, OrtSessionOptions *so, const char *name, const struct ep_options *o, struct error *err);

#define IO_BINDING_OPTION \
	{ \
		"io_binding", "off", \
			"on: inputs and outputs stay in the device's memory and a run is timed without the copies; off: as " \
			"every caller sees it, from host memory to host memory", \
			OPTION_SWITCH \
	}

// ort_binding.c
// The memory of the device: how ONNX Runtime names it, and the functions of the vendor's runtime for it.
struct ort_device_memory {
	const char *names[3]; // "Cuda": the first that the session knows; ends with NULL
	int device_id;
	bool captured; // the graph is captured: addresses and shapes must stay those of the first run
	int (*set_device)(int device);
	int (*copy)(void *to, const void *from, size_t nbytes, int kind); // 0 is success; kind 4: by the addresses
	int (*synchronize)(void);
};
// cudaMemcpy, hipMemcpy and the like, from a library that is open already.
enum status device_memory_of(struct ort_device_memory *out, void *runtime, const char *prefix, int device, struct error *err);
// Once inputs and outputs are known. `memory` lives as long as the session.
enum status ort_binding_open(struct session *s, const struct ort_device_memory *memory, struct error *err);
// Sets session.run_ns: from the start of the run until the device has finished, without the copies.
enum status ort_binding_run(struct session *s, const struct tensor *in, struct tensor *out, struct error *err);
void ort_binding_close(struct session *s);

#endif
