// SPDX-License-Identifier: Apache-2.0
// Private to ort*.c.
#ifndef ASSAY_BACKEND_ORT_H
#define ASSAY_BACKEND_ORT_H

#include <onnxruntime/onnxruntime_c_api.h>

#include "backend/backend.h"

enum { ORT_NEWEST_API = 24, ORT_OLDEST_API = 18 };

struct ort_library {
	const OrtApi *api;
	unsigned version; // of the API that `api` answers to: members added later must not be touched
	unsigned minor;   // of the library's version
	const char *text; // the library's own version, "1.31.1"
	const char *path;
};

struct ort {
	struct ort_library library;
	OrtEnv *env;
	OrtSession *session;
	OrtMemoryInfo *memory;   // of plain host memory
	OrtAllocator *allocator; // the default one; not ours to free
	const char **input_names, **output_names;
	OrtValue **in, **out; // of the last run
	struct ort_lane {
		OrtValue **in, **out;
	} * lanes;
	size_t lane_count;
	OrtValue **older;                // of the run before it, where the session keeps outputs
	const struct artifact *artifact; // what is being opened
	struct compiled *compiled;       // set by append: the folder where the provider keeps what it compiles; NULL: nowhere
	const struct ort_device_memory *device_memory; // set by append: inputs and outputs are to stay there; NULL: host memory
	struct ort_binding *binding;                   // of that memory
	bool recorded;                                 // the session itself kept where its nodes went
	int64_t copies;                                // nodes that were added to copy between devices; -1: not asked
	const char *trouble;                           // an error after which it opened nevertheless; NULL: none
	const char *profile_prefix;                    // of the file that ORT_PROFILE writes
	int purpose;                                   // enum ort_purpose of the session that is being made
	const char *context; // set by append: the file in compiled.folder that takes the graph with what was compiled of it;
			     // NULL: none
	bool from_context;   // it was opened from a compiled context: nodes of the graph have no names in it
};

// What stands after struct provider.detail: one execution provider.
struct ort_provider {
	const char *ep; // "CPUExecutionProvider", as the assignment record names it
	// What it could run on: device_add, or an error that says why there is nothing (UNAVAILABLE) and what brings it.
	enum status (*devices)(
		const struct provider *p, const struct ort_library *l, OrtEnv *env, struct device_list *out, struct error *err);
	// Checks s->device, puts the provider with its options into the session's options; session_set_option for what is
	// effective.
	enum status (*append)(struct session *s, OrtSessionOptions *o, struct error *err);
	bool unrecorded; // its nodes are missing in the assignment record, or some are: the log tells
	bool compiles;   // takes stretches of the graph as a whole, instead of having kernels for single nodes
};
extern const struct ort_provider ort_cuda, ort_tensorrt, ort_tensorrt_rtx, ort_migraphx, ort_coreml, ort_xnnpack, ort_mlx;
extern const struct option ort_cuda_options[], ort_tensorrt_options[], ort_tensorrt_rtx_options[], ort_migraphx_options[],
	ort_coreml_options[], ort_xnnpack_options[];
extern const struct provider ort_providers[]; // ort_providers.c; ends with a NULL name
extern const struct ort_provider ort_qnn, ort_webgpu, ort_webgpu_virtual;
extern const struct option ort_qnn_options[], ort_webgpu_options[], ort_webgpu_virtual_options[];

// Loads the library of a build and finds the newest API that both sides know.
enum status ort_load(struct ort_library *out, struct arena *a, const char *build, struct error *err);
// Whether the provider is built into the library. That says nothing about devices.
bool ort_has_provider(const struct ort_library *l, const char *ep);

// What an OrtStatus says as one of ours; frees it. NULL is OK.
enum status ort_check(const OrtApi *api, OrtStatus *status, const char *doing, struct error *err);
// Shape, type and address of a run's output.
enum status ort_show_output(
	struct session *s, const struct tensor_type *type, OrtValue *v, struct tensor *out, struct error *err);
enum ort_purpose {
	ORT_MEASURE, // other providers' than the processor's keep where each node goes (API 24)
	ORT_PLACE,   // never run: keeps where each node goes; prepacking is off
	ORT_REASONS, // never run: also tells in the log why nodes were left out
	ORT_PROFILE, // as ORT_MEASURE, and writes down how long each node takes
};
// A session over the artifact.
enum status ort_create_session(
	struct session *s, const struct artifact *a, enum ort_purpose purpose, OrtSession **out, struct error *err);
// ort_profile.c
enum status ort_can_profile(const struct provider *p, struct error *err);
enum status ort_profile(
	struct session *s, const struct artifact *a, const struct tensor *in, struct profile *out, struct error *err);
enum status ort_explain(
	struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err);

// ort_log.c. The environment, whose log is ours. One a process: a second call gives the same one.
enum status ort_start(const struct ort_library *l, OrtEnv **env, struct error *err);
// Forgets what was heard. `listen`: from here on also why nodes were left out, kept there; NULL: no longer.
void ort_log_begin(struct arena *listen);
int64_t ort_log_copies(void);
const char *ort_log_error(void);              // the last one; NULL: none
const char *ort_log_reason(const char *node); // NULL: it was not told
struct ort_logged {
	const char *name, *op, *provider;
	int64_t every;
	const struct ort_logged *next;
};
const struct ort_logged *ort_log_placed(void); // a node each; or one without a name, for `every` node there is

#endif
