// SPDX-License-Identifier: Apache-2.0
// Private to ort_nvidia.c, ort_cuda.c and ort_tensorrt.c: what providers for NVIDIA's GPUs share.
#ifndef ASSAY_BACKEND_ORT_NVIDIA_H
#define ASSAY_BACKEND_ORT_NVIDIA_H

#include "backend/ort_vendor.h"

extern const struct vendor_library nvidia_cuda_libraries[];
extern const char *const nvidia_places[];

// By the driver's own library, so that CUDA_VISIBLE_DEVICES and the order are those of the provider.
void nvidia_list(struct gpu_list *out, struct arena *a, const struct vendor *v);
const char *nvidia_tensorrt_version(struct arena *a, const struct vendor *v); // "10.9.0", or NULL

// ort_cuda.c. Creates the options, fills them, appends the provider and releases them; also after TensorRT.
enum status ort_cuda_put(struct session *s, OrtSessionOptions *so, const struct ep_options *o, struct error *err);
// Options io_binding and enable_cuda_graph, which needs the other: the memory of the GPU where inputs and outputs stay there.
enum status ort_cuda_binding(struct session *s, const struct vendor *v, int64_t device, bool *captured, struct error *err);

#endif
