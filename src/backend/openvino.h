// SPDX-License-Identifier: Apache-2.0
// Private to openvino*.c: the C API as a table of functions found at run time, and the session's state.
#ifndef ASSAY_BACKEND_OPENVINO_H
#define ASSAY_BACKEND_OPENVINO_H

#include <openvino/c/openvino.h>

#include "backend/backend.h"

#define OV_FUNCTIONS(X) \
	X(ov_get_openvino_version) \
	X(ov_version_free) \
	X(ov_get_error_info) \
	X(ov_get_last_err_msg) \
	X(ov_free) \
	X(ov_core_create) \
	X(ov_core_free) \
	X(ov_core_get_available_devices) \
	X(ov_available_devices_free) \
	X(ov_core_get_property) \
	X(ov_core_set_property) \
	X(ov_core_read_model) \
	X(ov_model_reshape) \
	X(ov_core_compile_model) \
	X(ov_model_free) \
	X(ov_compiled_model_free) \
	X(ov_compiled_model_get_property) \
	X(ov_compiled_model_create_infer_request) \
	X(ov_compiled_model_inputs_size) \
	X(ov_compiled_model_outputs_size) \
	X(ov_compiled_model_input_by_index) \
	X(ov_compiled_model_input_by_name) \
	X(ov_compiled_model_output_by_index) \
	X(ov_compiled_model_output_by_name) \
	X(ov_output_const_port_free) \
	X(ov_port_get_any_name) \
	X(ov_port_get_element_type) \
	X(ov_port_get_partial_shape) \
	X(ov_partial_shape_create_static) \
	X(ov_partial_shape_free) \
	X(ov_infer_request_free) \
	X(ov_infer_request_infer) \
	X(ov_infer_request_set_input_tensor_by_index) \
	X(ov_infer_request_get_tensor_by_const_port) \
	X(ov_infer_request_get_profiling_info) \
	X(ov_profiling_info_list_free) \
	X(ov_tensor_create_from_host_ptr) \
	X(ov_tensor_free) \
	X(ov_tensor_data) \
	X(ov_tensor_get_shape) \
	X(ov_tensor_get_size) \
	X(ov_tensor_get_element_type) \
	X(ov_shape_free)

struct ov_library {
#define X(f) __typeof__(f) *f;
	OV_FUNCTIONS(X)
#undef X
	const char *path, *version;
};

struct ov_given {
	void *data;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
}; // what an input tensor was made of

// A request owns its outputs, so a session that keeps those of the last run has two and takes turns.
struct ov_turn {
	ov_infer_request_t *request;
	struct ov_given *given;
	ov_tensor_t **in, **out;
};

struct openvino {
	struct ov_library library;
	ov_core_t *core;
	ov_compiled_model_t *model;
	struct ov_turn now, other; // other.request is NULL until it is needed
	struct ov_turn *lanes;     // [lane_count]
	size_t lane_count;
	ov_output_const_port_t **ports; // of the outputs
	struct compiled *compiled;      // option cache=on; else NULL
};

// openvino_devices.c
// "AUTO", "HETERO:GPU,CPU": a device that hands the work to others.
bool ov_is_meta(const char *device);
// Its own message for an absent device speaks of plugins and registries; this one lists what there is, and what is missing.
enum status ov_choose_device(struct session *s, const ov_available_devices_t *found, struct error *err);
// Why there is no CPU, no GPU, no NPU: as the absence of "openvino:GPU".
void ov_list_absent(struct device_list *out, const struct ov_library *l, const ov_available_devices_t *found);
// After an error of reading a model, `st`: whether what OpenVINO reads ONNX files by is why.
enum status ov_check_reader(struct session *s, enum status st, struct error *err);

enum dtype ov_dtype(ov_element_type_e t); // DTYPE_NONE: not one of ours
// OK for 0; else its last words as one of our errors.
enum status ov_check(const struct ov_library *l, ov_status_e code, const char *doing, struct error *err);
// Reads the artifact's file and compiles it with the properties that the core now has.
enum status ov_compile(struct session *s, const struct artifact *a, ov_compiled_model_t **out, struct error *err);
// Points a request's inputs at the caller's memory. `given`: what they point at already; NULL: nothing yet.
enum status ov_give_inputs(struct session *s, ov_infer_request_t *request, const struct tensor *in, ov_tensor_t **held,
	struct ov_given *given, struct error *err);
// A second model with counters for its nodes, its inputs given; nothing has run. `held`: [input_count] of NULL. To be closed also
// after an error.
enum status ov_open_counted(struct session *s, const struct artifact *a, const char *devices, const struct tensor *in,
	ov_infer_request_t **request, ov_compiled_model_t **model, ov_tensor_t **held, struct error *err);
void ov_close_counted(struct session *s, ov_infer_request_t *request, ov_compiled_model_t *model, ov_tensor_t **held);
// openvino_profile.c
enum status ov_profile(
	struct session *s, const struct artifact *a, const struct tensor *in, struct profile *out, struct error *err);
enum status ov_explain(
	struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err);

// openvino_options.c
extern const struct option ov_options[];
// Puts the session's options into the core, in OpenVINO's names, for the session's device or, when that is AUTO or the like,
// for all of `devices`. What a device does not have is left out, and the option "not_supported" lists it.
enum status ov_set_options(struct session *s, const ov_available_devices_t *devices, struct error *err);
// Option cache=on: names the folder to the core before it compiles; notes what lies there afterwards.
enum status ov_open_cache(struct session *s, const struct artifact *a, struct error *err);
enum status ov_keep_cache(struct session *s, struct error *err);
// The compiled model's own word on every property that decides speed or accuracy, into the options.
void ov_read_back(struct session *s);

#endif
