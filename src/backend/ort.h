// SPDX-License-Identifier: Apache-2.0
// Private to ort*.c.
#ifndef ASSAY_BACKEND_ORT_H
#define ASSAY_BACKEND_ORT_H

#include <onnxruntime/onnxruntime_c_api.h>

#include "backend/backend.h"

enum { ORT_NEWEST_API = 24, ORT_OLDEST_API = 18 };

struct ort_library {
	const OrtApi *api;
	unsigned version;                    // of the API that `api` answers to: members added later must not be touched
	unsigned minor;                      // of the library's version
	const char *text;                    // the library's own version, "1.31.1"
	const char *path;
};

struct ort {
	struct ort_library library;
	OrtEnv *env;
	OrtSession *session;
	OrtMemoryInfo *memory;               // of plain host memory
	OrtAllocator *allocator;             // the default one; not ours to free
	const char **input_names, **output_names;
	OrtValue **in, **out;                // of the last run
	OrtValue **older;                    // of the run before it, where the session keeps outputs
	const struct artifact *artifact;     // what is being opened
	struct compiled *compiled;           // set by append: the folder where the provider keeps what it compiles; NULL: nowhere
	const struct ort_device_memory *device_memory;   // set by append: inputs and outputs are to stay there; NULL: host memory
	struct ort_binding *binding;         // of that memory
};

// What stands behind struct provider.detail: one execution provider.
struct ort_provider {
	const char *ep;                      // "CPUExecutionProvider", as the assignment record names it
	// What it could run on: device_add, or an error that says why there is nothing (UNAVAILABLE) and what brings it.
	enum status (*devices)(const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err);
	// Checks s->device, puts the provider with its options into the session's options; session_set_option for what is effective.
	enum status (*append)(struct session *s, OrtSessionOptions *o, struct error *err);
};
extern const struct ort_provider ort_cuda, ort_tensorrt, ort_tensorrt_rtx, ort_migraphx, ort_coreml, ort_xnnpack;
extern const struct option ort_cuda_options[], ort_tensorrt_options[], ort_tensorrt_rtx_options[], ort_migraphx_options[], ort_coreml_options[],
	ort_xnnpack_options[];
extern const struct provider ort_providers[];        // ort_providers.c; ends with a NULL name

// Loads the library of a build and finds the newest API that both sides know.
enum status ort_load(struct ort_library *out, struct arena *a, const char *build, struct error *err);
// Whether the provider is built into the library. That says nothing about devices.
bool ort_has_provider(const struct ort_library *l, const char *ep);

// What an OrtStatus says as one of ours; frees it. NULL is OK.
enum status ort_check(const OrtApi *api, OrtStatus *status, const char *doing, struct error *err);
// Shape, type and address of a run's output.
enum status ort_show_output(struct session *s, const struct tensor_type *type, OrtValue *v, struct tensor *out, struct error *err);
// A session over the artifact. `record`: keep where each node goes, which needs API 24; prepacking is off for that.
enum status ort_create_session(struct session *s, const struct artifact *a, bool record, OrtSession **out, struct error *err);
enum status ort_explain(struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out,
	struct error *err);

#endif
