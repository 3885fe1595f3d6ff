// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The causes table: messages as engines, drivers and browsers give them (provoked here, or from their issue trackers and
// sources), each with what it has to become; and every row of the table is the first match of at least one of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/cause.h"
#include "base/file.h"
#include "base/text.h"

enum { FORM = 1, NO_HINT = 2 };

static const struct {
	const char *engine, *provider, *message;
	enum status status;
	int flags;
	const char *says; // a part of the sentence; NULL: the message is left as it is
} messages[] = {
	{ NULL, NULL,
		"/x/libonnxruntime.so.1.31.1 cannot be opened: libnuma.so.1: cannot open shared object file: Too many open files",
		STATUS_NOT_ASKED, 0, "may open no more files" },
	{ "ort", NULL, "ort: loading: Deserialize tensor x failed.open file \"/x/model.safetensors\" failed: Input/output error",
		STATUS_NOT_ASKED, 0, NULL },
	{ "ort", NULL,
		"ort: loading: External data path validation failed for initializer: w. Error: External data path escapes model "
		"directory. External data path: \"model.safetensors\" resolved path: \"/m/blobs/861f\" allowed directory: "
		"\"/m/s/1\"",
		STATUS_NOT_ASKED, 0, "a link that leads out of the folder" },
	{ "openvino", NULL,
		"openvino: reading: Loading input model Path 'model.safetensors' resolves to '/m/blobs/861f' which is outside "
		"the "
		"base directory '/m/s/1'",
		STATUS_NOT_ASKED, 0, "a link that leads out of the folder" },
	{ "openvino", NULL,
		"openvino: compiling: Exception from src/inference/src/cpp/core.cpp:117: Exception from "
		"src/inference/src/dev/plugin.cpp:54: Resource temporarily unavailable",
		STATUS_NOT_ASKED, 0, "could not be started" },
	{ "openvino", NULL,
		"compiling: Exception from src/inference/src/cpp/core.cpp:117: Exception from "
		"src/inference/src/dev/plugin.cpp:54: "
		"can't alloc",
		STATUS_NO_MEMORY, 0, NULL },
	{ "openvino", NULL,
		"compiling: Exception from src/inference/src/dev/plugin.cpp:54: Check 'ptr' failed at "
		"src/plugins/intel_cpu/src/cpu_memory.cpp:257: Failed to allocate 93782016 bytes of "
		"memory",
		STATUS_NO_MEMORY, 0, NULL },
	{ "openvino", NULL, "compiling: Exception from src/inference/src/dev/plugin.cpp:54: can't protect", STATUS_NOT_ASKED, 0,
		"may not be made executable here" },
	{ NULL, NULL,
		"no browser chromium with wasm: memory that was written may not be made executable here, and chromium may need "
		"that",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL, "no browser firefox with wasm: /x/firefox: /x/firefox did not open the page within 50 s", STATUS_NOT_ASKED,
		0, NULL },
	{ NULL, NULL,
		"no browser chromium with wasm: /x/chromium: /x/chromium died of signal 6: FATAL: No usable sandbox! Update",
		STATUS_NOT_ASKED, 0, "may make no user namespace" },
	{ NULL, NULL, "/x/chromium died of signal 9, Killed; somebody, or the kernel for want of memory, ended it",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL, "/x/chromium: the cache (ASSAY_CACHE names another): /x/c: the folder cannot be made: Permission denied",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL,
		"no browser chromium with wasm: /x/chromium: a stack may have 128 KiB here, and chromium needs 256: raise the "
		"limit "
		"(ulimit -s)",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL,
		"no browser firefox with wasm: /x/firefox: the loopback interface is down, and firefox reaches its page through "
		"it: "
		"`ip link set lo up`",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL,
		"/x/run: 2048 KiB of the disk are free, and chromium needs 5 MiB for its profile; name another folder in "
		"ASSAY_CACHE",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL,
		"/x/libonnxruntime.so.1.31.1 cannot be opened: /x/libonnxruntime.so.1.31.1: cannot read file data: Cannot "
		"allocate "
		"memory",
		STATUS_NOT_ASKED, 0, "the library libonnxruntime.so.1.31.1 is here, and this process may not read it" },
	{ "ort", "qnn",
		"OrtEp::GetCapability() for QNNExecutionProvider failed with error: [ONNXRuntimeError] : 11 : EP_FAIL : QNN "
		"SetupBackend failed Failed to initialize backend (backend). Error: QNN_BACKEND_ERROR_CANNOT_INITIALIZE: Backend "
		"failed to initialize",
		STATUS_FAILED, 0, "QNN could not be set up: Failed to initialize backend" },
	{ "ort", "qnn", "loading: Protobuf serialization failed when saving model to \"/x/compiled/0/model.onnx\"",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL, "/x/onnxruntime, in which libonnxruntime.so* may be, cannot be read: Cannot allocate memory",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL, "/x/onnxruntime, in which libonnxruntime.so* may be, cannot be read: Permission denied", STATUS_NOT_ASKED,
		0, NULL },
	{ NULL, NULL, "/x/libopenvino_c.so.2641 cannot be opened: /x/libtbb.so.12 cannot be read: No such device or address",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL, "/x/libonnxruntime.so.1.31.1 cannot be opened: /x/libonnxruntime.so.1.31.1: invalid ELF header",
		STATUS_NOT_ASKED, 0,
		"the library libonnxruntime.so.1.31.1 is here, and is damaged or of another machine: invalid ELF header" },
	{ NULL, NULL, "/x/libonnxruntime.so is a named pipe and no file: it is not opened", STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL, "/x, in which a browser may be, cannot be looked into: Permission denied", STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL, "no browser firefox with wasm: /x/firefox is there, and cannot be started: Permission denied",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL, "/x/openvino: Transport endpoint is not connected", STATUS_NOT_ASKED, 0, NULL },
	{ "openvino", "openvino",
		"openvino: no device CPU; OpenVINO's devices here: none; its plugin /x/libopenvino_intel_cpu_plugin.so cannot be "
		"opened: /x/libopenvino_intel_cpu_plugin.so: file too short",
		STATUS_NOT_ASKED, 0, NULL },
	{ "openvino", "openvino",
		"OpenVINO finds no CPU; its plugin /x/libopenvino_intel_cpu_plugin.so is loaded, and lists none",
		STATUS_NOT_ASKED, 0, NULL },
	{ NULL, NULL,
		"/x/libonnxruntime.so.1.31.1 cannot be opened: /x/libonnxruntime.so.1.31.1: cannot read file data: Input/output "
		"error",
		STATUS_NOT_ASKED, 0, NULL },
	{ "ort", "cpu",
		"/x/libonnxruntime.so.1.31.1 cannot be opened: /x/libonnxruntime.so.1.31.1: failed to map segment from shared "
		"object",
		STATUS_NOT_ASKED, 0, "the library libonnxruntime.so.1.31.1 is here" },
	{ "ort", "migraphx",
		"Failed to load library /x/libonnxruntime_providers_migraphx.so with error: libmigraphx_c.so.3: cannot open "
		"shared object file: No such file or directory",
		STATUS_UNAVAILABLE, 0, "libmigraphx_c.so is missing" },
	{ "ort", "cuda",
		"Failed to load library /x/libonnxruntime_providers_cuda.so with error: libcudnn.so.9: cannot open shared object "
		"file: No such file or directory",
		STATUS_UNAVAILABLE, 0, "cuDNN is not installed: libcudnn.so.9" },
	{ "ort", "cuda",
		"Failed to load library /x/libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open shared "
		"object file: No such file or directory",
		STATUS_UNAVAILABLE, 0, "a library of CUDA is missing: libcublasLt.so.13" },
	{ "ort", "tensorrt",
		"Failed to load library /x/libonnxruntime_providers_tensorrt.so with error: libnvinfer.so.10: cannot open shared "
		"object file: No such file or directory",
		STATUS_UNAVAILABLE, 0, "TensorRT is not installed: libnvinfer.so.10" },
	{ "openvino", "openvino",
		"Cannot load library \"/x/libopenvino_intel_gpu_plugin.so\": libOpenCL.so.1: cannot open shared object file: No "
		"such file or directory",
		STATUS_UNAVAILABLE, 0, "the library libOpenCL.so.1 is missing" },
	{ NULL, NULL, "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /x/libonnxruntime.so.1.31.1)",
		STATUS_UNAVAILABLE, 0, "libonnxruntime.so.1.31.1 needs GLIBC_2.38" },
	{ NULL, NULL, "/x/libcudnn_graph.so.9: undefined symbol: cublasLtGetVersion, version libcublasLt.so.13",
		STATUS_UNAVAILABLE, 0, "cublasLtGetVersion is missing in one of them" },
	{ "ort", "cuda",
		"/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc:122 std::conditional_t<THRW, void, "
		"onnxruntime::common::Status> onnxruntime::CudaCall(ERRTYPE, const char*, const char*, SUCCTYPE, const char*, "
		"const char*, int) [with ERRTYPE = cudaError; bool THRW = true] CUDA failure 35: CUDA driver version is "
		"insufficient for CUDA runtime version ; GPU=-1 ; hostname=c4327188c000000 ; "
		"expr=cudaSetDevice(info_.device_id);",
		STATUS_UNAVAILABLE, 0, "driver is older" },
	{ "ort", "cuda",
		"CUDA failure 100: no CUDA-capable device is detected ; GPU=-1 ; hostname=h ; "
		"expr=cudaSetDevice(info_.device_id);",
		STATUS_UNAVAILABLE, 0, "CUDA finds no GPU" },
	{ "ort", "cuda", "CUDA failure 209: no kernel image is available for execution on the device ; GPU=0 ; hostname=h",
		STATUS_UNSUPPORTED, 0, "compute capability" },
	{ "ort", "migraphx",
		"HIP failure 100: no ROCm-capable device is detected ; GPU=-1 ; hostname=h ; expr=hipSetDevice(info_.device_id);",
		STATUS_UNAVAILABLE, 0, "HIP finds no GPU" },
	{ "ort", "migraphx", "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!", STATUS_UNSUPPORTED, 0,
		"no kernels for the GPU" },
	{ "ort", "migraphx", "Unable to open /dev/kfd read-write: Permission denied", STATUS_UNAVAILABLE, 0,
		"/dev/kfd may not be opened" },
	{ "ort", "webgpu", "vkCreateInstance failed with VK_ERROR_INCOMPATIBLE_DRIVER", STATUS_UNAVAILABLE, 0,
		"no Vulkan driver" },
	{ "openvino", "openvino",
		"Exception from src/inference/src/dev/core_impl.cpp:706: Device with \"XPU\" name is not registered in the "
		"OpenVINO Runtime",
		STATUS_UNAVAILABLE, 0, "no device XPU here" },
	{ "openvino", "openvino",
		"Exception from src/plugins/intel_npu/src/compiler_adapter/src/plugin_compiler_adapter.cpp:54: VCL compiler "
		"loading failed, aborting. Error: Cannot load library \"/x/libopenvino_intel_npu_compiler_loader.so\"",
		STATUS_UNAVAILABLE, 0, "compiler for Intel's NPUs" },
	{ "openvino", "openvino",
		"L0 zeContextCreate result: ZE_RESULT_ERROR_UNINITIALIZED, code 0x78000001 - driver is not initialized",
		STATUS_UNAVAILABLE, 0, "ZE_RESULT_ERROR_UNINITIALIZED" },
	{ NULL, NULL,
		"IO Error: Could not set lock on file \"/home/u/assay.duckdb\": Conflicting lock is held in /usr/bin/python3.11 "
		"(PID 1234). See also https://duckdb.org/docs/connect/concurrency",
		STATUS_UNAVAILABLE, 0, "/usr/bin/python3.11, PID 1234" },
	{ "ort", "cuda",
		"CUDA failure 2: out of memory ; GPU=0 ; hostname=h ; expr=cudaStreamCreateWithFlags(&stream, "
		"cudaStreamNonBlocking);",
		STATUS_NO_MEMORY, 0, "GPU's memory is full" },
	{ "ort", "cuda",
		"CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0 ; hostname=h ; expr=cublasCreate(&cublas_handle_);",
		STATUS_NO_MEMORY, 0, "GPU's memory is full" },
	{ "ort", "migraphx", "HIP failure 2: out of memory ; GPU=0 ; hostname=h ; expr=hipMalloc((void**)&p, size);",
		STATUS_NO_MEMORY, 0, "GPU's memory is full" },
	{ "openvino", "openvino",
		"[GPU] Exceeded max size of memory object allocation: requested 4294967296 bytes, but max alloc size supported "
		"by device is 2147483648 bytes.",
		STATUS_NO_MEMORY, 0, "OpenCL could not give" },
	{ "openvino", "openvino", "[GPU] clEnqueueMapBuffer, error code: -5 CL_OUT_OF_RESOURCES", STATUS_NO_MEMORY, 0,
		"OpenCL could not give" },
	{ "ort", "cpu",
		"Non-zero status code returned while running Expand node. Name:'e' Status Message: "
		"/onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:360 void* "
		"onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Failed to allocate memory for "
		"requested buffer of size 70368744177664",
		STATUS_NO_MEMORY, 0, "a buffer of 70368744177664 bytes" },
	{ "ort", "webgpu",
		"Gather failed while it ran, node Gather: shader_helper.cc:401 GenerateSourceCode Program Gather requires f16 "
		"but the device does not support it.",
		STATUS_UNSUPPORTED, 0, "the adapter has no float16 in its shaders (shader-f16), and Gather computes in it" },
	{ "browser", "webgpu",
		"Buffer size (3185049600) exceeds the max buffer size limit (1073741824). This adapter supports a higher "
		"maxBufferSize of 4294967296, which can be specified in requiredLimits when calling requestDevice().",
		STATUS_NO_MEMORY, 0,
		"a buffer of 3185049600 bytes is larger than the adapter allows: maxBufferSize is 1073741824" },
	{ "browser", "webgpu",
		"Binding size (146847752) of [Buffer \"x\"] is larger than the maximum binding size (134217728). - While "
		"validating entries[2] as a Buffer.",
		STATUS_NO_MEMORY, 0,
		"146847752 bytes is larger than the adapter can bind: maxStorageBufferBindingSize is 134217728" },
	{ "browser", "wasm", "RangeError: Array buffer allocation failed", STATUS_NO_MEMORY, 0, "page could not have" },
	{ "browser", "wasm", "RangeError: WebAssembly.Memory(): could not allocate memory", STATUS_NO_MEMORY, 0,
		"page could not have" },
	{ "browser", "wasm", "RuntimeError: Aborted(OOM). Build with -sASSERTIONS for more info.", STATUS_NO_MEMORY, 0,
		"WebAssembly's memory was not enough" },
	{ "browser", "wasm", "RuntimeError: memory access out of bounds", STATUS_NO_MEMORY, 0,
		"WebAssembly's memory was not enough" },
	{ "ort", "cpu", "std::bad_alloc", STATUS_NO_MEMORY, 0, NULL },
	{ "browser", "webgpu", "[E:onnxruntime:Default, webgpu_context.cc:120 operator()] WebGPU device error(2): Out of memory",
		STATUS_NO_MEMORY, 0, NULL },
	{ "ort", "qnn",
		"ort: loading: Failed to finalize QNN graph. Error: QNN_COMMON_ERROR_MEM_ALLOC: Memory allocation related "
		"error., Code: 1002",
		STATUS_FAILED, FORM, "was not told" },
	{ "ort", "qnn", "Dynamic shape is not supported yet, for output: logits", STATUS_UNSUPPORTED, FORM,
		"QNN takes no dynamic shapes" },
	{ "ort", "qnn", "Failed to finalize QNN graph. Error code: 6020 at location qnn_model.cc:181 FinalizeGraphs",
		STATUS_UNSUPPORTED, FORM | NO_HINT, "Error code: 6020" },
	{ "ort", "qnn",
		"Non-zero status code returned while running QNN_9500122506797089069_52 node. "
		"Name:'QNNExecutionProvider_QNN_9500122506797089069_52_52' Status Message: QNN graph execute error. Error code: "
		"6031",
		STATUS_FAILED, FORM | NO_HINT, "fails to run it (error 6031)" },
	{ "ort", "cpu", "Could not find an implementation for Erf(13) node with name 'layers.0/ffn/Erf'", STATUS_UNSUPPORTED,
		FORM | NO_HINT, "no kernel for Erf of opset 13 with these types: node layers.0/ffn/Erf" },
	{ "ort", "cpu",
		"This is an invalid model. Type Error: Type 'tensor(int8)' of input parameter (x) of operator (Gemm) in node (e) "
		"is invalid.",
		STATUS_UNSUPPORTED, FORM | NO_HINT, "Gemm does not take tensor(int8): node e" },
	{ "ort", "cpu",
		"This is an invalid model. In Node, (\"e\", Foo, \"\", -1) : (\"x\": tensor(float),) -> (\"y\": tensor(float),) "
		", Error No Op registered for Foo with domain_version of 17",
		STATUS_UNSUPPORTED, FORM, "operator Foo of opset 17" },
	{ "ort", "cpu", "Fatal error: com.microsoft:Foo(-1) is not a registered function/op", STATUS_UNSUPPORTED, FORM,
		"com.microsoft:Foo" },
	{ "ort", "cpu",
		"ONNX Runtime only *guarantees* support for models stamped with official released onnx opset versions. Opset 99 "
		"is under development and support for this is limited. Current official support for domain ai.onnx is till opset "
		"26.",
		STATUS_UNSUPPORTED, FORM, "opset 99; this version takes up to 26 of ai.onnx" },
	{ "ort", "cpu", "ONNX Runtime only *guarantees* support for models stamped with opset version 7 or above",
		STATUS_UNSUPPORTED, FORM, NULL },
	{ "ort", "cpu", "Unsupported model IR version: 99, max supported IR version: 13", STATUS_UNSUPPORTED, 0,
		"IR version 99; this version takes up to 13" },
	{ "ort", "cpu",
		"This is an invalid model. In Node, (\"e\", Gemm, \"\", -1) : (\"x\": tensor(float),\"x\": tensor(float),) -> "
		"(\"y\": tensor(float),) , Error Unrecognized attribute: foo for operator Gemm",
		STATUS_UNSUPPORTED, FORM, "Gemm has no attribute foo" },
	{ "ort", "qnn",
		"This session contains graph nodes that are assigned to the default CPU EP, but fallback to CPU EP has been "
		"explicitly disabled by the user.",
		STATUS_UNSUPPORTED, FORM | NO_HINT, "left to the CPU" },
	{ "ort", "tensorrt",
		"In node 0 (importModel): UNSUPPORTED_NODE: No importer registered for op: NonMaxSuppression. Attempting to "
		"import as plugin.",
		STATUS_UNSUPPORTED, FORM | NO_HINT, "operator NonMaxSuppression" },
	{ "ort", "migraphx", "parse_graph: Unknown operator: Erf2", STATUS_UNSUPPORTED, FORM | NO_HINT, "operator Erf2" },
	{ "ort", "cuda", "Unsupported operator ai.onnx.contrib::Foo: no kernel", STATUS_UNSUPPORTED, FORM | NO_HINT,
		"operator ai.onnx.contrib::Foo" },
	{ "openvino", "openvino",
		"FrontEnd API failed with OpConversionFailure: Model wasn't fully converted. Summary: -- No conversion rule "
		"found for operations: Foo-17",
		STATUS_UNSUPPORTED, FORM | NO_HINT, "operator Foo-17" },
	{ "openvino", "openvino", "Exception from src/core/src/partial_shape.cpp:266: to_shape was called on a dynamic shape.",
		STATUS_UNSUPPORTED, FORM, "no dynamic shapes" },
	{ "openvino", "openvino",
		"Model wasn't fully converted. Failed operations detailed log: -- MatMul-17 with a message: While validating "
		"ONNX node '<Node(MatMul): y>': Check 'DimType::merge(merged_dimension)' failed",
		STATUS_UNSUPPORTED, FORM | NO_HINT, "cannot convert MatMul: node y" },
	{ "ort", "coreml", "Error in building plan.", STATUS_UNSUPPORTED, FORM | NO_HINT, "Core ML refuses" },
	{ "browser", "webnn",
		"Failed to execute 'constant' on 'MLGraphBuilder': Unsupported data type int64 for constant, must be one of "
		"[float32, float16, int32].",
		STATUS_UNSUPPORTED, FORM | NO_HINT, "WebNN refuses constant: Unsupported data type int64" },
	{ "browser", "webnn", "DOMException: Failed to execute 'build' on 'MLGraphBuilder': Unsupported operator expand",
		STATUS_UNSUPPORTED, FORM | NO_HINT, "" },
	{ "browser", "webnn",
		"Can't append execution provider: WEBNN. ERROR_CODE: 2, ERROR_MESSAGE: WEBNN execution provider is not supported "
		"in this build.",
		STATUS_UNAVAILABLE, 0, "has no WEBNN" },
	{ "browser", "webnn", "WebNN requires static shapes: set freeDimensionOverrides", STATUS_UNSUPPORTED, FORM,
		"no dynamic shapes" },
	{ "browser", "webgpu", "Error: WebGPU is not supported in current environment", STATUS_UNAVAILABLE, 0,
		"this browser has no WebGPU" },
	{ "browser", "webgpu",
		"Error: no available backend found. ERR: [webgpu] Error: Failed to get GPU adapter. You may need to enable flag "
		"\"--enable-unsafe-webgpu\" if you are using Chrome.",
		STATUS_UNAVAILABLE, 0, "no WebGPU adapter" },
	{ "browser", "webgpu", "A valid external Instance reference no longer exists.", STATUS_FAILED, 0, "lost the GPU device" },
	{ "browser", "wasm", "Error: no available backend found. ERR: [webgl] backend not found.", STATUS_UNAVAILABLE, NO_HINT,
		"webgl says backend not found" },
	{ "browser", "wasm", "115998696", STATUS_FAILED, 0, "C++ exception that carries no words" },
	{ "browser", "wasm", "browser: Error: 1991937888", STATUS_FAILED, 0, "C++ exception that carries no words" },
	{ NULL, NULL, "ValueError: Message onnx.ModelProto exceeded maximum protobuf size of 2GB: 2548210211", STATUS_UNSUPPORTED,
		0, "2 GiB" },
	{ "ort", "cpu", "Failed to load model because protobuf parsing failed.", STATUS_FAILED, NO_HINT, "no ONNX graph" },
	{ "ort", "cpu",
		"Non-zero status code returned while running Gather node. Name:'embeddings/Gather' Status Message: indices "
		"element out of data bounds, idx=7 must be within the inclusive range [-2,1]",
		STATUS_OK, NO_HINT, "Gather failed while it ran, node embeddings/Gather: indices element out of data bounds" },
	{ "ort", "cpu", "Tensor type bfloat16 is not supported for the loop counter", STATUS_UNSUPPORTED, FORM | NO_HINT, NULL },
	{ "openvino", "openvino", "[CPU] Operation Foo is not supported", STATUS_UNSUPPORTED, FORM | NO_HINT, NULL },
	{ "browser", "webnn", "NotSupportedError: Input data type is not supported", STATUS_UNSUPPORTED, FORM | NO_HINT, NULL },
	{ NULL, NULL, "write /tmp/x: Disk quota exceeded", STATUS_NO_SPACE, 0, "quota" },
	{ NULL, NULL, "write /tmp/x: No space left on device", STATUS_NO_SPACE, 0, "disk is full" },
};

static bool is_as_expected(size_t i, struct arena *a)
{
	const char *message = messages[i].message;
	struct cause c;

	if (!cause_find(&c, a, messages[i].engine, messages[i].provider, message))
		print_error("not known: %s\n", message);
	else if (c.status != messages[i].status)
		print_error("is %s, not %s: %s\n", status_word(c.status), status_word(messages[i].status), message);
	else if (c.of_form != !!(messages[i].flags & FORM))
		print_error("another form %s: %s\n", c.of_form ? "would be tried" : "would not be tried", message);
	else if (!c.text != !messages[i].says || (c.text && !strstr(c.text, messages[i].says)))
		print_error("'%s' does not say '%s': %s\n", c.text ? c.text : "(nothing)",
			messages[i].says ? messages[i].says : "(nothing)", message);
	else if (c.status == STATUS_NO_MEMORY && strstr(message, "plugin.cpp") && !c.of_host)
		print_error("no limit of this process is asked: %s\n", message);
	else if (!c.hint != !!(messages[i].flags & NO_HINT))
		print_error("the hint is '%s': %s\n", c.hint ? c.hint : "(none)", message);
	else if (c.text && strchr(c.text, '\\'))
		print_error("a capture was not put in: %s\n", c.text);
	else
		return true;
	return false;
}

static void known_messages(void **state)
{
	struct arena a = { 0 };
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
		wrong += !is_as_expected(i, &a);
	arena_done(&a);
	assert_int_equal(wrong, 0);
}

static void every_row_is_reached(void **state)
{
	bool *hit = calloc(cause_count() + 1, sizeof *hit);
	size_t missed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
		hit[cause_row(messages[i].engine, messages[i].provider, messages[i].message)] = true;
	for (size_t row = 0; row < cause_count(); row++) {
		if (!hit[row])
			print_error("no message of the test is met first by: %s\n", cause_pattern(row));
		missed += !hit[row];
	}
	free(hit);
	assert_int_equal(missed, 0);
}

static void unknown_ones_stay(void **state)
{
	struct arena a = { 0 };
	struct cause c;

	(void)state;
	assert_false(cause_find(&c, &a, "ort", "cpu", "something that nobody has seen"));
	assert_false(cause_find(&c, &a, "ort", NULL, NULL));
	assert_int_equal(cause_status("ort", NULL, "something that nobody has seen", STATUS_TIMEOUT), STATUS_TIMEOUT);
	// A number alone is an abort of WebAssembly only where WebAssembly runs.
	assert_false(cause_find(&c, &a, "ort", "cpu", "115998696"));
	// 1002 means something on one provider only, and not where the provider is unknown.
	assert_false(cause_find(&c, &a, "ort", "cpu", "Error code: 1002"));
	assert_false(cause_find(&c, &a, "ort", NULL, "Error code: 1002"));
	arena_done(&a);
}

// The names of a user's graph stand in what an engine says of it: such words are neither a limit of this machine nor a fact of
// the graph.
static void words_of_a_file(void **state)
{
	static const char names[] =
		"\x0aTooG \x12Too many\nopen\tfiles\x1a\x06 Gather\x0ain which a\x1e may be, cannot be read: /x/dev/kfd "
		"vkCreateInstance is there, is is there, and cannot be started RangeError: Array buffer allocation";
	char path[] = "/tmp/assay-cause-XXXXXX";
	struct arena a = { 0 };
	struct cause c;
	struct error err = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && write(fd, names, sizeof names) == sizeof names);
	close(fd);
	cause_set_file(path);
	assert_int_equal(
		cause_status("ort", NULL, "running Gather node. Name:'Too many open files'", STATUS_FAILED), STATUS_NOT_ASKED);
	assert_true(cause_find(&c, &a, "ort", NULL, "running Gather node. Name:'Too many open files'"));
	assert_true(strstr(c.text, "running Gather node") && strstr(c.text, "stand in the file itself or its path") && c.hint);
	assert_int_equal(cause_row("ort", NULL, "running Gather node. Name:'Too many open files'"), cause_count());
	assert_int_equal(cause_status("ort", NULL, "x: std::bad_alloc", STATUS_FAILED), STATUS_NO_MEMORY);
	// Two names that the engine put side by side, in another order than the file's.
	assert_int_equal(
		cause_status("ort", NULL, "no such thing as files: Too many open files", STATUS_FAILED), STATUS_NOT_ASKED);
	// Two names with the engine's words between them, and one before its own last words.
	assert_int_equal(
		cause_status("ort", "cpu",
			"input parameter (in which a) of operator (Sqrt) in node ( may be, cannot be read: /x) is invalid",
			STATUS_FAILED),
		STATUS_NOT_ASKED);
	assert_int_equal(
		cause_status("ort", "cpu",
			"Type 'tensor(int64)' of input parameter (in which a) of operator (Sqrt) in node ( may be, cannot "
			"be read: /x) is invalid",
			STATUS_FAILED),
		STATUS_UNSUPPORTED);
	assert_int_equal(cause_status("ort", "cpu", "input (/dev/kfd ) of operator (Sqrt): permission denied", STATUS_FAILED),
		STATUS_NOT_ASKED);
	assert_int_equal(cause_status("ort", "cpu", "input (vkCreateInstance) of Sqrt failed", STATUS_FAILED), STATUS_NOT_ASKED);
	assert_int_equal(
		cause_status("browser", NULL, "in node (RangeError: Array buffer allocation)", STATUS_FAILED), STATUS_NOT_ASKED);
	// A name that is a beginning twice.
	assert_true(cause_is_own("is there, is there, and cannot be started"));
	assert_true(cause_is_own("many open files; Too many") && !cause_is_own("bad_alloc"));
	// What we say ourselves is looked up nowhere.
	error_set(&err, STATUS_UNSUPPORTED, "a step of the type Too many open files is not known");
	assert_int_equal(cause_in_the_way("ort", "cpu", STATUS_UNSUPPORTED, &err), STATUS_UNSUPPORTED);
	err.of_engine = true;
	assert_int_equal(cause_in_the_way("ort", "cpu", STATUS_UNSUPPORTED, &err), STATUS_NOT_ASKED);
	assert_non_null(strstr(err.text, "is not known; words of this stand in the file itself or its path"));
	// A folder of such a name, which may be called from elsewhere.
	char folder[] = "/tmp/assay-cause-No space left on device-XXXXXX", file[128];
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof file, "%s/a.onnx", folder);
	assert_int_equal(rename(path, file), 0);
	// One that the engine would say of a graph, with what it would name.
	static const char template[] =
		"Type 'x' of input parameter (a) of operator (b) in node (c) is invalid; Too many open files";
	assert_int_equal(file_write(file, template, sizeof template, &err), STATUS_OK);
	cause_set_file(file);
	assert_int_equal(cause_status("ort", "cpu",
				 "running node 'Type 'x' of input parameter (a) of operator (b) in node (c) is invalid': Too "
				 "many open files",
				 STATUS_FAILED),
		STATUS_NOT_ASKED);
	assert_int_equal(cause_status("ort", NULL, "Load model from /tmp/No space left on device/a.onnx failed", STATUS_FAILED),
		STATUS_NOT_ASKED);
	cause_set_file(NULL);
	assert_true(cause_find(&c, &a, "ort", "cpu", "open: Too many open files"));
	unlink(file);
	rmdir(folder);
	arena_done(&a);
}

// A message as long as an error may be must not take long, nor a hostile one.
static void long_messages(void **state)
{
	struct arena a = { 0 };
	struct cause c;
	static char text[2048];

	(void)state;
	memset(text, '(', sizeof text - 1);
	assert_false(cause_find(&c, &a, NULL, NULL, text));
	memset(text, '\\', sizeof text - 1);
	assert_false(cause_find(&c, &a, NULL, NULL, text));
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_messages),
		cmocka_unit_test(every_row_is_reached),
		cmocka_unit_test(unknown_ones_stay),
		cmocka_unit_test(long_messages),
		cmocka_unit_test(words_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
