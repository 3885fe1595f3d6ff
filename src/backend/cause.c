// SPDX-License-Identifier: Apache-2.0
// cause.h. Patterns are POSIX extended expressions that may match anywhere in a message; \1 to \9 in a sentence are what their
// brackets caught. The first row that matches counts, so what is special stands before what is general. A row is added when a
// message was seen, with that message as a case in tests/unit/test_cause.c.
#include "backend/cause.h"

#include <ctype.h>
#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

enum {
	FORM = 1, // another form of the graph may be taken
	HOST = 2, // an allocation failed that a limit of this process may be in the way of
};
enum { CAPTURES = 10 };

struct signature {
	const char *engine, *provider; // NULL: any
	const char *pattern;
	enum status status;
	int flags;
	const char *text, *hint; // text NULL: the message itself
};

#define COPY "copy the folder with its links followed: cp -rL FOLDER COPY"
#define MORE_ROOM "`assay cache --trim`, or --clear, makes room where the cache is on that disk"
#define SMALLER "take a smaller --batch or --seq, or fewer --layers"
#define MAY_COMPILE "start assay without MemoryDenyWriteExecute (systemd), or with the right execmem (SELinux)"
#define DOUBTFUL \
	"words of this stand in the file itself or its path, and so it is not known whether they tell of this machine or of " \
	"the file"
#define DOUBTFUL_HINT "give what the file calls so another name, and ask again"
#define DOCTOR "`assay doctor` walks the libraries and names the package that brings it"

static const struct signature table[] = {
	// ---- limits of the process that asks
	{ NULL, NULL, "Too many open files", STATUS_NOT_ASKED, 0, "this process may open no more files",
		"raise the limit: ulimit -n" },
	{ NULL, NULL, "Resource temporarily unavailable", STATUS_NOT_ASKED, 0, "a thread or a process could not be started",
		"are processes (ulimit -u, pids.max) or memory (ulimit -v, -d) limited?" },
	{ NULL, NULL, "([^ /:']+\\.so[.0-9]*): failed to map segment from shared object", STATUS_NOT_ASKED, 0,
		"the library \\1 is here, and this process may not map it",
		"is its address space limited (ulimit -v), or its file system mounted noexec?" },
	{ NULL, NULL,
		"([^ /:']+\\.so[.0-9]*): cannot (open shared object file|read file data): (Cannot allocate memory|Permission "
		"denied)",
		STATUS_NOT_ASKED, 0, "the library \\1 is here, and this process may not read it: \\3",
		"whose file is it, and is memory limited (ulimit -v)?" },
	{ NULL, NULL, "may be, cannot be read: Cannot allocate memory", STATUS_NOT_ASKED, 0, NULL,
		"is memory limited (ulimit -v)?" },
	{ NULL, NULL,
		"Input/output error|Stale file handle|Transport endpoint is not connected|Structure needs cleaning|Bad message|"
		"Remote I/O error|Cannot send after transport endpoint shutdown|Required key not available|Key has expired",
		STATUS_NOT_ASKED, 0, NULL, "does a disk fail, or has the server of a file system gone?" },
	// library.c
	{ NULL, NULL, "this user may not read |\\.so[.0-9]* cannot be read: |is here, and is damaged or of another machine: ",
		STATUS_NOT_ASKED, 0, NULL, "whose file is it, and does its disk fail?" },
	{ NULL, NULL, "is there, and cannot be started: ", STATUS_NOT_ASKED, 0, NULL,
		"let this user execute it, or take it out of PATH" },
	{ NULL, NULL, "in which a browser may be, cannot be looked into: ", STATUS_NOT_ASKED, 0, NULL,
		"let this user into that folder, or take it out of PATH" },
	{ NULL, NULL, "in which [^\",]* may be, cannot be read: ", STATUS_NOT_ASKED, 0, NULL,
		"give this user the right to read that folder, or name another one: ASSAY_ENGINE_PATH" },
	{ NULL, NULL, "; somebody, or the kernel for want of memory, ended it", STATUS_NOT_ASKED, 0, NULL,
		"is memory limited (a control group, a container), or used up?" },
	// base/cache.c, of a browser
	{ NULL, NULL, "the cache (is not used|\\(ASSAY_CACHE names another\\)): ", STATUS_NOT_ASKED, 0, NULL,
		"make it a folder of your own, or name another in ASSAY_CACHE" },
	// of a compiled graph that is kept: CACHE/compiled
	{ "ort", NULL, "Protobuf serialization failed when saving model to", STATUS_NOT_ASKED, 0, NULL,
		"is its disk full, or may a file have only so many bytes here (ulimit -f)?" },
	// openvino_devices.c
	{ "openvino", NULL, "its (plugin|reader of ONNX files) [^,;\"]* cannot be opened: ", STATUS_NOT_ASKED, 0, NULL,
		"is that file whole, and may this user read it? `assay setup` brings OpenVINO anew" },
	// of the loader: what is there is damaged, or of another machine, and no other engine answers for it
	{ NULL, NULL,
		"([^ /:']+\\.so[.0-9]*): (invalid ELF header|file too short|wrong ELF class: [A-Z0-9]+|ELF load command [a-z ]+)",
		STATUS_NOT_ASKED, 0, "the library \\1 is here, and is damaged or of another machine: \\2",
		"`assay setup PLATFORM --again` brings it anew" },
	{ NULL, NULL, "is (a folder|a named pipe|a special file) and no file: it is not opened", STATUS_NOT_ASKED, 0, NULL,
		"take it away" },
	{ "openvino", NULL, "its plugin .* is loaded, and lists none", STATUS_NOT_ASKED, 0, NULL,
		"is this process kept from looking at its processors (sched_getaffinity, /proc, /sys)?" },
	// of Xbyak, which oneDNN compiles with; process_check_code
	{ "openvino", NULL, "can't protect", STATUS_NOT_ASKED, 0, "memory that was written may not be made executable here",
		MAY_COMPILE },
	{ NULL, NULL, "may not be made executable here, and", STATUS_NOT_ASKED, 0, NULL, MAY_COMPILE },
	// browser_devices.c; of Chromium
	{ NULL, NULL, "did not open the page within [0-9.]+ s", STATUS_NOT_ASKED, 0, NULL,
		"is the machine busy, or its processor or memory limited (a control group)? ask again" },
	{ NULL, NULL, "No usable sandbox!", STATUS_NOT_ASKED, 0,
		"Chromium may make no sandbox here: this process may make no user namespace",
		"allow user namespaces (kernel.unprivileged_userns_clone, AppArmor, the container's seccomp profile)" },
	// launch.c, of a browser
	{ NULL, NULL,
		"here, and [^ ]+ (needs|may need) ([0-9]+|more): raise the |the loopback interface is down, "
		"and|(free|disk), and "
		"[^ ]+ needs [0-9]+ (MiB )?for its profile",
		STATUS_NOT_ASKED, 0, NULL, "mend that and ask again: with less a browser ends, or waits without a word" },

	{ "ort", NULL, "QNN SetupBackend failed (.*)", STATUS_FAILED, HOST, "QNN could not be set up: \\1",
		"is its memory limited (--memory, ulimit -v)?" },

	// ---- libraries and drivers
	{ NULL, NULL, "libmigraphx_c\\.so[.0-9]*: cannot open shared object", STATUS_UNAVAILABLE, 0,
		"MIGraphX, which AMD's GPUs are used through, is not installed: libmigraphx_c.so is missing",
		"install ROCm with the package migraphx; `assay doctor rocm` says which version is wanted" },
	{ NULL, NULL, "(libcudnn[^ :]*): cannot open shared object", STATUS_UNAVAILABLE, 0,
		"cuDNN is not installed: \\1 is missing", "`assay setup cuda` brings it" },
	{ NULL, NULL, "(lib(cudart|cublas|cublasLt|cufft|curand|nvrtc|cuda)\\.so[.0-9]*): cannot open shared object",
		STATUS_UNAVAILABLE, 0, "a library of CUDA is missing: \\1",
		"`assay setup cuda` brings those of the toolkit; libcuda.so comes with the NVIDIA driver" },
	{ NULL, NULL, "(libnvinfer[^ :]*): cannot open shared object", STATUS_UNAVAILABLE, 0,
		"TensorRT is not installed: \\1 is missing", DOCTOR },
	{ NULL, NULL, "([^ /:']+\\.so[.0-9]*): cannot open shared object file: No such file", STATUS_UNAVAILABLE, 0,
		"the library \\1 is missing", DOCTOR },
	{ NULL, NULL, "version `([^']+)' not found \\(required by ([^)]+)\\)", STATUS_UNAVAILABLE, 0,
		"\\2 needs \\1, which this system's library has not",
		"take a build of the engine that was made for this system, or a newer system" },
	{ NULL, NULL, "undefined symbol: ([^ ,]+)", STATUS_UNAVAILABLE, 0,
		"two libraries do not fit together: \\1 is missing in one of them",
		"their versions must be of one release; " DOCTOR },
	{ NULL, NULL, "CUDA driver version is insufficient for CUDA runtime version|CUDA failure 35|cudaErrorInsufficientDriver",
		STATUS_UNAVAILABLE, 0, "the NVIDIA driver is older than what this build of CUDA needs",
		"update the driver, or take a build for an older CUDA" },
	{ NULL, NULL, "no CUDA-capable device is detected|CUDA failure 100|cudaErrorNoDevice", STATUS_UNAVAILABLE, 0,
		"CUDA finds no GPU", "is one hidden by CUDA_VISIBLE_DEVICES, or the driver not loaded? `assay doctor cuda`" },
	{ NULL, NULL, "no kernel image is available for execution on the device|CUDA failure 209", STATUS_UNSUPPORTED, 0,
		"this build has no kernels for the GPU's compute capability",
		"take a build of the engine for this generation of GPUs" },
	{ NULL, NULL, "hipErrorNoDevice|no ROCm-capable device is detected", STATUS_UNAVAILABLE, 0, "HIP finds no GPU",
		"is one hidden by HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES, or is /dev/kfd not to be opened? `assay doctor "
		"rocm`" },
	{ NULL, NULL, "hipErrorNoBinaryForGpu|Cannot find Symbol|no kernel image is available", STATUS_UNSUPPORTED, 0,
		"this build has no kernels for the GPU's architecture",
		"HSA_OVERRIDE_GFX_VERSION may stand in for a near relation; the row would have to say so" },
	{ NULL, NULL, "(/dev/(kfd|dri/[a-zA-Z0-9]+|nvidia[0-9a-z-]*|accel/[a-z0-9]+))[^a-z].*[Pp]ermission denied",
		STATUS_UNAVAILABLE, 0, "\\1 may not be opened",
		"add this user to the group that owns it (render, video), then log in anew" },
	{ NULL, NULL, "VK_ERROR_INCOMPATIBLE_DRIVER|vkCreateInstance.*failed", STATUS_UNAVAILABLE, 0,
		"no Vulkan driver is installed", "install one (mesa-vulkan-drivers), or name one: VK_ICD_FILENAMES" },
	{ "openvino", NULL, "Device with \"?([A-Za-z0-9.]+)\"? name is not registered in the OpenVINO Runtime",
		STATUS_UNAVAILABLE, 0, "OpenVINO has no device \\1 here", "`assay detect` lists those it has" },
	{ "openvino", NULL, "VCL compiler loading failed|libopenvino_intel_npu_compiler[a-z_]*\\.so: cannot open",
		STATUS_UNAVAILABLE, 0, "the compiler for Intel's NPUs is not here: it comes with their driver, not with OpenVINO",
		"install the NPU driver's package with its compiler" },
	{ "openvino", NULL, "(ZE_RESULT_ERROR_[A-Z_]*)", STATUS_UNAVAILABLE, 0,
		"Level Zero, which Intel's NPUs and GPUs are used through, says \\1", "`assay doctor openvino`" },
	{ NULL, NULL, "Conflicting lock is held in ([^ ]+) \\(PID ([0-9]+)\\)", STATUS_UNAVAILABLE, 0,
		"the database is held by another process: \\1, PID \\2",
		"end it, or wait: assay itself holds the file for milliseconds" },

	{ NULL, NULL, "Program ([A-Za-z0-9_]+) requires f16 but the device does not support it", STATUS_UNSUPPORTED, 0,
		"the adapter has no float16 in its shaders (shader-f16), and \\1 computes in it",
		"take another adapter, or --precision float32" },

	// ---- links, as those of the Hub's cache
	{ "ort", NULL, "External data path escapes model directory", STATUS_NOT_ASKED, 0,
		"its weights are a link that leads out of the folder, and ONNX Runtime follows none", COPY },
	{ "openvino", NULL, "which is outside the base directory", STATUS_NOT_ASKED, 0,
		"its weights are a link that leads out of the folder, and OpenVINO follows none", COPY },

	// ---- memory
	{ NULL, NULL,
		"CUDA_ERROR_OUT_OF_MEMORY|CUDA failure 2:|cudaErrorMemoryAllocation|CUDA error: out of "
		"memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED",
		STATUS_NO_MEMORY, 0, "the GPU's memory is full",
		SMALLER "; gpu_mem_limit bounds the arena, and other programs may hold memory" },
	{ NULL, NULL, "hipErrorOutOfMemory|HIP failure 2:", STATUS_NO_MEMORY, 0, "the GPU's memory is full", SMALLER },
	{ "openvino", NULL,
		"CL_OUT_OF_RESOURCES|CL_MEM_OBJECT_ALLOCATION_FAILURE|CL_OUT_OF_HOST_MEMORY|Exceeded max size of memory (object "
		")?allocation",
		STATUS_NO_MEMORY, 0, "OpenCL could not give the memory", SMALLER },
	{ NULL, NULL, "Failed to allocate memory for requested buffer of size ([0-9]+)", STATUS_NO_MEMORY, HOST,
		"a buffer of \\1 bytes could not be allocated", SMALLER },
	{ NULL, NULL, "[Bb]uffer size \\(([0-9]+)\\) exceeds the (max buffer size|maximum buffer size)( limit)? \\(([0-9]+)\\)",
		STATUS_NO_MEMORY, 0, "a buffer of \\1 bytes is larger than the adapter allows: maxBufferSize is \\4",
		"the largest tensor must be smaller: a smaller model or --seq; another adapter may allow more" },
	{ NULL, NULL, "[Bb]inding size \\(([0-9]+)\\).*(exceeds|larger than).*binding size( limit)? \\(([0-9]+)\\)",
		STATUS_NO_MEMORY, 0,
		"a tensor of \\1 bytes is larger than the adapter can bind: maxStorageBufferBindingSize is \\4",
		"a smaller model or --seq; another adapter may allow more" },
	{ NULL, NULL,
		"Array buffer allocation failed|RangeError: Array buffer allocation|WebAssembly\\.Memory\\(\\)?:? could not "
		"allocate|could not allocate "
		"memory|Invalid (typed )?array (buffer )?length",
		STATUS_NO_MEMORY, 0, "the browser's page could not have the memory",
		SMALLER "; WebAssembly of 32 bits ends at 4 GiB" },
	{ "browser", NULL, "Aborted\\(OOM\\)|Cannot enlarge memory|memory access out of bounds|offset is out of bounds",
		STATUS_NO_MEMORY, 0, "WebAssembly's memory was not enough", SMALLER "; WebAssembly of 32 bits ends at 4 GiB" },
	{ NULL, NULL,
		"bad_alloc|bad allocation|can't alloc|Failed to allocate ([0-9]+ bytes of )?memory|Cannot allocate memory|[Oo]ut "
		"of memory|not "
		"enough "
		"memory",
		STATUS_NO_MEMORY, HOST, NULL, SMALLER },

	// ---- Qualcomm
	{ "ort", "qnn", "QNN_COMMON_ERROR_MEM_ALLOC|[Cc]ode: ?1002", STATUS_FAILED, FORM,
		"QNN's compiler gives QNN_COMMON_ERROR_MEM_ALLOC: an operator that it cannot make for this chip, or a chip that "
		"it was not told; it is not the host's memory",
		"name another SoC, as --on qnn:57; `assay detect` lists those that are known to work" },
	{ "ort", "qnn", "[Dd]ynamic shape", STATUS_UNSUPPORTED, FORM, "QNN takes no dynamic shapes",
		"build the graph with --static" },
	{ "ort", "qnn", "Failed to finalize QNN graph.*([Ee]rror code:? ?[0-9]+)", STATUS_UNSUPPORTED, FORM,
		"QNN's compiler refuses the graph (\\1)", NULL },
	{ "ort", "qnn", "QNN graph execute error\\. Error code: ([0-9]+)", STATUS_FAILED, FORM,
		"QNN took the graph and fails to run it (error \\1): mostly an operator that it should have refused", NULL },

	// ---- operators, types, shapes
	{ "ort", NULL, "Could not find an implementation for (.+)\\(([0-9]+)\\) node with name '(.*)'", STATUS_UNSUPPORTED, FORM,
		"there is no kernel for \\1 of opset \\2 with these types: node \\3", NULL },
	{ "ort", NULL,
		"Type '([^']*)' of (input|output) parameter \\((.*)\\) of operator \\((.*)\\) in node \\((.*)\\) is "
		"invalid",
		STATUS_UNSUPPORTED, FORM, "\\4 does not take \\1: node \\5", NULL },
	{ "ort", NULL, "No Op registered for (.+) with domain_version of ([0-9]+)", STATUS_UNSUPPORTED, FORM,
		"this version does not know the operator \\1 of opset \\2", "a newer version of the engine may" },
	{ "ort", NULL, "([^ ]*)\\(([0-9-]+)\\) is not a registered function/op", STATUS_UNSUPPORTED, FORM,
		"this version does not know the operator \\1 of opset \\2", "a newer version of the engine may" },
	{ "ort", NULL, "Opset ([0-9]+) is under development.*domain ([^ ]+) is till opset ([0-9]+)", STATUS_UNSUPPORTED, FORM,
		"the graph has opset \\1; this version takes up to \\3 of \\2",
		"a newer version of the engine, or a graph of an older opset" },
	{ "ort", NULL, "ONNX Runtime only \\*guarantees\\* support", STATUS_UNSUPPORTED, FORM, NULL,
		"a newer version of the engine, or a graph of an older opset" },
	{ NULL, NULL, "[Uu]nsupported model IR version: ([0-9]+), max supported IR version: ([0-9]+)", STATUS_UNSUPPORTED, 0,
		"the file has IR version \\1; this version takes up to \\2", "a newer version of the engine" },
	{ "ort", NULL, "Unrecognized attribute: ([^ ]+) for operator ([A-Za-z0-9_]+)", STATUS_UNSUPPORTED, FORM,
		"this version's \\2 has no attribute \\1", "a newer version of the engine may" },
	{ "ort", NULL, "assigned to the default CPU EP, but fallback to CPU EP has been explicitly disabled", STATUS_UNSUPPORTED,
		FORM, "some nodes would be left to the CPU, and that was forbidden", NULL },
	{ NULL, NULL, "[Nn]o importer registered for op: ([A-Za-z0-9_]+)", STATUS_UNSUPPORTED, FORM,
		"TensorRT does not know the operator \\1", NULL },
	{ NULL, NULL, "[Uu]n(supported|known) operator:? ([A-Za-z0-9_.]+(::[A-Za-z0-9_.]+)*)", STATUS_UNSUPPORTED, FORM,
		"the engine does not know the operator \\2", NULL },
	{ "openvino", NULL, "No conversion rule found for operations: ([A-Za-z0-9_., -]+)", STATUS_UNSUPPORTED, FORM,
		"OpenVINO does not know the operator \\1", NULL },
	{ "openvino", NULL,
		"to_shape was called on a dynamic shape|[Dd]ynamic shapes? (is|are) not supported|upper bounds? (is|are) not "
		"specified",
		STATUS_UNSUPPORTED, FORM, "this device takes no dynamic shapes", "build the graph with --static" },
	{ "openvino", NULL, "While validating ONNX node '<Node\\(([A-Za-z0-9_]+)\\): ([^>']*)", STATUS_UNSUPPORTED, FORM,
		"OpenVINO cannot convert \\1: node \\2", NULL },
	{ NULL, NULL, "CoreML.*(zero elements|dynamic)|Error in building plan|Failed to (create|compile) ?(the )?MLModel",
		STATUS_UNSUPPORTED, FORM, "Core ML refuses the model", NULL },
	{ "browser", NULL, "Failed to execute '([A-Za-z0-9]+)' on 'MLGraphBuilder': (.+)", STATUS_UNSUPPORTED, FORM,
		"WebNN refuses \\1: \\2", NULL },
	{ "browser", NULL, "([A-Z]+) execution provider is not supported in this build", STATUS_UNAVAILABLE, 0,
		"this build of onnxruntime-web has no \\1",
		"ort.all.bundle.min.mjs has WebGPU and WebNN; `assay setup web` brings it" },
	{ "browser", NULL, "freeDimensionOverrides|[Dd]ynamic (shape|dimension)s? (is|are) not supported", STATUS_UNSUPPORTED,
		FORM, "this backend takes no dynamic shapes", "build the graph with --static" },
	{ "browser", NULL, "(WebGPU|WebNN) is not supported in( the)? current environment", STATUS_UNAVAILABLE, 0,
		"this browser has no \\1", "a flag may switch it on; `assay doctor` knows the flags" },
	{ "browser", NULL,
		"[Ff]ailed to get GPU adapter|[Nn]o (available|suitable|appropriate) (GPU )?adapters?|[Nn]o appropriate "
		"GPUAdapter",
		STATUS_UNAVAILABLE, 0, "the browser gives no WebGPU adapter",
		"a software one is there with --use-webgpu-adapter=swiftshader" },
	{ "browser", NULL, "device (was |is )?lost|DeviceLost|A valid external Instance reference no longer exists",
		STATUS_FAILED, 0, "the browser lost the GPU device",
		"the driver was reset, mostly by one kernel that took too long or by memory: " SMALLER },
	{ "browser", NULL, "no available backend found\\. ERR: \\[([a-z]+)\\] (.+)", STATUS_UNAVAILABLE, 0,
		"onnxruntime-web has no backend: \\1 says \\2", NULL },
	{ "browser", NULL, "^([a-z]+: )*(Uncaught |Error: |exception: )*[0-9]{5,10}$", STATUS_FAILED, 0,
		"WebAssembly threw a C++ exception that carries no words: the number is its address",
		"such numbers are nearly always memory that was not enough: " SMALLER },
	{ NULL, NULL, "exceed(s|ed) maximum protobuf size|larger than 2 ?GB|[Ss]erialized.*2147483647", STATUS_UNSUPPORTED, 0,
		"a file of protobuf cannot be larger than 2 GiB", "`assay build` keeps the weights outside of it" },
	{ NULL, NULL, "[Pp]rotobuf parsing failed", STATUS_FAILED, 0, "the file is no ONNX graph, or is cut off", NULL },
	{ "ort", NULL, "Non-zero status code returned while running ([A-Za-z0-9_]+) node\\. Name:'([^']*)' Status Message: (.*)",
		STATUS_OK, 0, "\\1 failed while it ran, node \\2: \\3", NULL },
	{ "ort", NULL, "NOT_IMPLEMENTED|is not supported|unsupported data type", STATUS_UNSUPPORTED, FORM, NULL, NULL },
	{ "openvino", NULL, "[Nn]ot (supported|implemented)|[Uu]nsupported", STATUS_UNSUPPORTED, FORM, NULL, NULL },
	{ "browser", NULL, "NotSupportedError|[Nn]ot supported", STATUS_UNSUPPORTED, FORM, NULL, NULL },
	{ NULL, NULL, "Disk quota exceeded", STATUS_NO_SPACE, 0, "this user's quota of the disk is used up", MORE_ROOM },
	{ NULL, NULL, "No space left on device", STATUS_NO_SPACE, 0, "the disk is full", MORE_ROOM },
};

size_t cause_count(void)
{
	return sizeof table / sizeof *table;
}

const char *cause_pattern(size_t i)
{
	return table[i].pattern;
}

static bool find(const char *pattern, const char *message, regmatch_t *found, size_t count)
{
	regex_t compiled;

	if (regcomp(&compiled, pattern, REG_EXTENDED))
		return false;
	const bool hit = !regexec(&compiled, message, count, found, 0);
	regfree(&compiled);
	return hit;
}

static bool matches(
	const struct signature *s, const char *engine, const char *provider, const char *message, regmatch_t found[CAPTURES])
{
	return !(s->engine && engine && strcmp(s->engine, engine)) && !(s->provider && !text_is(s->provider, provider)) &&
		find(s->pattern, message, found, CAPTURES);
}

// ---- words of the user's file -------------------------------------------------------------------------------------------

static _Thread_local const char *own_file;
static _Thread_local char own_path[PATH_MAX]; // the whole one, which engines name; "" where there is none

void cause_set_file(const char *path)
{
	own_file = path;
	if (!path || !realpath(path, own_path))
		own_path[0] = 0;
}

static bool is_word(uint8_t byte)
{
	return isalnum(byte) != 0 || byte >= 128;
}

static bool is_local(const struct signature *s)
{
	return s->status == STATUS_NOT_ASKED || s->status == STATUS_UNAVAILABLE || s->status == STATUS_NO_MEMORY ||
		s->status == STATUS_NO_SPACE;
}

// How many of these letters, at most, stand in the file side by side but for what is no letter, each byte looked at once (Knuth,
// Morris and Pratt). `again`: room for n numbers.
static size_t longest_in(const uint8_t *data, size_t nbytes, const uint8_t *letters, size_t n, size_t *again)
{
	const uint8_t *const end = data + nbytes;
	size_t longest = 0, k = 0;

	again[0] = 0; // of i letters that were met and a next that is another: so many of them are a beginning again
	for (size_t i = 1; i < n; i++) {
		for (k = again[i - 1]; k > 0 && letters[i] != letters[k];)
			k = again[k - 1];
		again[i] = k + (letters[i] == letters[k]);
	}
	k = 0;
	for (const uint8_t *at = data; longest < n && at < end; at++) {
		if (k == 0 && !(at = memchr(at, letters[0], (size_t)(end - at))))
			break;
		if (!is_word(*at))
			continue;
		while (k > 0 && *at != letters[k])
			k = again[k - 1];
		k += *at == letters[k];
		longest = k > longest ? k : longest;
	}
	return longest;
}

// Words of a message that may be the file's, as their letters and digits: engines and the way here change what lies between.
struct letters {
	uint8_t *at;
	size_t n;
};

static struct letters letters_of(struct arena *a, const char *words, size_t length)
{
	struct letters out = { ARENA_ARRAY(a, length + 1, uint8_t), 0 };

	for (size_t i = 0; i < length; i++)
		if (is_word((uint8_t)words[i]))
			out.at[out.n++] = (uint8_t)words[i];
	return out;
}

// Do they stand in the file, in their order, in one piece or in a few that an engine put side by side (a domain, an operator, a
// node)?
static bool stand_in(const uint8_t *data, size_t nbytes, struct letters l, struct arena *a)
{
	enum { PIECES_MOST = 4, PIECE_LEAST = 6 };
	size_t *again = ARENA_ARRAY(a, l.n + 1, size_t), at = 0;

	for (size_t pieces = 0; at < l.n && pieces < PIECES_MOST; pieces++) {
		const size_t k = longest_in(data, nbytes, l.at + at, l.n - at, again);

		at += k;
		if (k < PIECE_LEAST)
			break;
	}
	return l.n > 0 && at == l.n;
}

bool cause_is_own(const char *words)
{
	struct arena a = { 0 };
	const uint8_t *data;
	size_t nbytes;
	bool is = own_file && file_map(&a, own_file, &data, &nbytes, NULL) == STATUS_OK && nbytes > 0 &&
		stand_in(data, nbytes, letters_of(&a, words, strlen(words)), &a);

	arena_done(&a);
	return is;
}

// The pattern with brackets around each part that stands for any words; is_open[i]: those of the i-th brackets are such.
static const char *mark_open(struct arena *a, const char *pattern, bool *is_open, size_t most)
{
	struct text t = { 0 };
	size_t groups = 0;

	for (const char *c = pattern; *c;) {
		const size_t n = *c == '\\' && c[1] ? 2 : *c == '[' ? 2 + strcspn(c + 2, "]") + 1 : 1;
		const bool is_any = (*c == '[' || *c == '.') && (c[n] == '*' || c[n] == '+');

		if (*c == '(' || is_any)
			groups++;
		if (is_any && groups < most)
			is_open[groups] = true;
		text_addf(&t, is_any ? "(%.*s)" : "%.*s", (int)(n + is_any), c);
		c += n + is_any;
	}
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

// Was a message known by words of the file? They are the file's with what the pattern takes any words for, or without, since the
// engine's may be there, or, `by_parts`, a whole part of them between two such places is.
static bool is_own(const struct signature *s, const char *message, regmatch_t whole, bool by_parts)
{
	enum { PART_LEAST = 6, GROUPS = 32 };
	struct arena a = { 0 };
	const size_t length = (size_t)(whole.rm_eo - whole.rm_so);
	char *named = ARENA_ARRAY(&a, length + 1, char);
	bool is_open[GROUPS] = { false }, is = false;
	regmatch_t found[GROUPS];
	const uint8_t *data;
	size_t nbytes;

	memcpy(named, message + whole.rm_so, length);
	if (find(mark_open(&a, s->pattern, is_open, GROUPS), message, found, GROUPS))
		for (size_t i = 1; i < GROUPS; i++)
			if (is_open[i] && found[i].rm_so >= whole.rm_so && found[i].rm_eo <= whole.rm_eo)
				memset(named + (found[i].rm_so - whole.rm_so), '\n', (size_t)(found[i].rm_eo - found[i].rm_so));
	const struct letters all = letters_of(&a, message + whole.rm_so, length), fixed = letters_of(&a, named, length);
	is = stand_in((const uint8_t *)own_path, strlen(own_path), fixed, &a);
	if (!is && file_map(&a, own_file, &data, &nbytes, NULL) == STATUS_OK && nbytes > 0) {
		is = stand_in(data, nbytes, fixed, &a) || stand_in(data, nbytes, all, &a);
		for (const char *at = named; by_parts && !is && *at; at += strcspn(at, "\n"), at += strspn(at, "\n")) {
			const struct letters part = letters_of(&a, at, strcspn(at, "\n"));
			is = part.n >= PART_LEAST && stand_in(data, nbytes, part, &a);
		}
	}
	arena_done(&a);
	return is;
}

// What tells of this machine in words that the file holds, too, may be either: neither the file nor the machine is said to be so.
static const struct signature doubtful[] = {
	{ .status = STATUS_NOT_ASKED, .text = "\\1; " DOUBTFUL, .hint = DOUBTFUL_HINT },
	{ .status = STATUS_NOT_ASKED, .flags = HOST, .text = "\\1; " DOUBTFUL, .hint = DOUBTFUL_HINT },
};

static bool is_doubtful(const struct signature *s)
{
	return s == &doubtful[0] || s == &doubtful[1];
}

// After such words only one that the engine says of the graph, in its own, is looked for.
static const struct signature *look_up(const char *engine, const char *provider, const char *message, regmatch_t found[CAPTURES])
{
	const struct signature *doubt = NULL;

	for (size_t i = 0; message && i < cause_count(); i++) {
		const struct signature *s = &table[i];

		if ((doubt && s->status != STATUS_UNSUPPORTED) || !matches(s, engine, provider, message, found))
			continue;
		if (!own_file || !is_own(s, message, found[0], doubt || is_local(s)))
			return s;
		if (is_local(s))
			doubt = &doubtful[(s->flags & HOST) != 0];
	}
	if (doubt)
		found[1] = (regmatch_t){ 0, (regoff_t)strlen(message) };
	return doubt;
}

static const char *fill_in(struct arena *a, const char *text, const char *message, const regmatch_t found[CAPTURES])
{
	struct text t = { 0 };
	const char *out;

	for (const char *c = text; *c; c++) {
		const regmatch_t *m = *c == '\\' && c[1] >= '1' && c[1] <= '9' ? &found[c[1] - '0'] : NULL;

		if (!m) {
			text_add_bytes(&t, c, 1);
			continue;
		}
		if (m->rm_so >= 0)
			text_add_bytes(&t, message + m->rm_so, (size_t)(m->rm_eo - m->rm_so));
		c++;
	}
	out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

bool cause_find(struct cause *out, struct arena *a, const char *engine, const char *provider, const char *message)
{
	regmatch_t found[CAPTURES];
	const struct signature *s = look_up(engine, provider, message, found);

	if (!s)
		return false;
	*out = (struct cause){ .status = s->status,
		.is_doubtful = is_doubtful(s),
		.of_form = s->flags & FORM,
		.of_host = s->flags & HOST,
		.text = s->text ? fill_in(a, s->text, message, found) : NULL,
		.hint = s->hint };
	return true;
}

size_t cause_row(const char *engine, const char *provider, const char *message)
{
	regmatch_t found[CAPTURES];
	const struct signature *s = look_up(engine, provider, message, found);

	return s && !is_doubtful(s) ? (size_t)(s - table) : cause_count();
}

enum status cause_status(const char *engine, const char *provider, const char *message, enum status told)
{
	regmatch_t found[CAPTURES];
	const struct signature *s = look_up(engine, provider, message, found);

	return s && s->status != STATUS_OK ? s->status : told;
}

enum status cause_in_the_way(const char *engine, const char *provider, enum status told, struct error *err)
{
	regmatch_t found[CAPTURES];
	const struct signature *s = look_up(engine, provider, err->text, found);
	struct error limit = { 0 }, said = *err;
	struct rlimit own;

	if (!err->of_engine && (told == STATUS_UNSUPPORTED || told == STATUS_BAD_INPUT))
		return told; // what we say of a file repeats its words
	const bool is_here = s && (s->status == STATUS_NOT_ASKED || s->status == STATUS_NO_SPACE);
	if (told == STATUS_NO_MEMORY || (s && s->flags & HOST)) {
		// The limit of this process is the lower of --memory's and the user's.
		const unsigned long long allowed =
			getrlimit(RLIMIT_DATA, &own) || own.rlim_cur == RLIM_INFINITY ? 0 : own.rlim_cur + 1;
		if (process_check_memory(process_limited_by_user(), allowed, "an engine", &limit))
			return error_set(err, STATUS_NOT_ASKED, "%s; %s", said.text, limit.text);
	}
	if (s && is_doubtful(s))
		return error_set(err, STATUS_NOT_ASKED, "%s; " DOUBTFUL, said.text);
	return is_here ? err->status = s->status : told;
}
