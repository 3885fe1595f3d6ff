// SPDX-License-Identifier: Apache-2.0
// Private to ort*.c: execution providers that are libraries of their own.
#ifndef ASSAY_BACKEND_ORT_PLUGIN_H
#define ASSAY_BACKEND_ORT_PLUGIN_H

#include "backend/ort.h"

struct ort_plugin {
	const char *build, *pattern; // "onnxruntime-qnn", "libonnxruntime_providers_qnn.so"
	const char *registered; // the name it is registered under; one that ends in ".virtual" asks for devices that are not here
	const char *setup;      // `assay setup qnn` brings it
};

// Finds and registers it, once a process. UNAVAILABLE names the file, or the version of ONNX Runtime that is too old.
enum status ort_plugin_load(struct arena *a, const struct ort_library *l, OrtEnv *env, const struct ort_plugin *p,
	const char **path, struct error *err);
bool ort_plugin_any(void); // is one registered? Then the environment has to stay.
// Those of the library at `path`; UNAVAILABLE when there is none.
enum status ort_plugin_devices(struct arena *a, const struct ort_library *l, OrtEnv *env, const char *path,
	const OrtEpDevice *const **out, size_t *count, struct error *err);
// Stands for hardware that is not there: the plugin compiles for it and runs nothing.
bool ort_plugin_is_virtual(const struct ort_library *l, const OrtEpDevice *device);
const char *ort_plugin_version(const struct ort_library *l, const OrtEpDevice *device); // NULL: it does not say

// Options of a provider; a value NULL is left out.
enum { ORT_PAIRS = 24 };
struct ort_pairs {
	const char *keys[ORT_PAIRS], *values[ORT_PAIRS];
	size_t count;
};
void ort_pairs_add(struct ort_pairs *p, const char *key, const char *text);
enum status ort_plugin_append(struct session *s, OrtSessionOptions *o, const OrtEpDevice *const *devices, size_t count,
	const struct ort_pairs *p, struct error *err);

#endif
