// SPDX-License-Identifier: Apache-2.0
// Who brings a library that is missing: assay's own groups of packages, Debian's package, or the vendor.
#include <string.h>

#include "base/text.h"
#include "platform/elf.h"

// A name that ends in '*' is the beginning of one. The first row that fits is taken.
static const struct bringer {
	const char *soname, *setup, *debian, *words;
} table[] = {
	{ "libonnxruntime.so*", "cpu" },
	{ "libopenvino*", "openvino" },
	{ "libduckdb*", "cpu" },
	{ "libonnxruntime_providers_qnn*", "qnn" },
	{ "libQnn*", "qnn" },
	{ "libHtp*", "qnn" },
	{ "libc++-71bc274c*", "qnn" },
	{ "libc++abi-0539aa51*", "qnn" },
	{ "libunwind-6b740a46*", "qnn" },
	{ "libonnxruntime_providers_webgpu*", "webgpu" },
	{ "libonnxruntime_providers_cuda*", "cuda" },
	{ "libonnxruntime_providers_tensorrt*", "cuda" },
	{ "libonnxruntime_providers_migraphx*", "rocm" },
	{ "libcudart.so.13", "cuda" },
	{ "libcublas.so.13", "cuda" },
	{ "libcublasLt.so.13", "cuda" },
	{ "libcurand.so.10", "cuda" },
	{ "libcufft.so.12", "cuda" },
	{ "libcudnn*", "cuda" },
	{ "libnvrtc*", "cuda" },
	{ "libnvJitLink*", "cuda" },
	{ "libcuda.so.1", .words = "install NVIDIA's driver; in a container, start it with the GPUs handed in (--gpus all)" },
	{ "libnvidia-*", .words = "install NVIDIA's driver; in a container, start it with the GPUs handed in (--gpus all)" },
	{ "libnvinfer*", .words = "pip install tensorrt-cu13-libs, and add its folder to LD_LIBRARY_PATH" },
	{ "libnvonnxparser*", .words = "pip install tensorrt-cu13-libs, and add its folder to LD_LIBRARY_PATH" },
	{ "libmigraphx*", .words = "install MIGraphX of ROCm 7 from AMD's package repository (package migraphx)" },
	{ "libamdhip64*", .words = "install ROCm 7 from AMD's package repository (package hip-runtime-amd)" },
	{ "libhsa-runtime64*", .words = "install ROCm from AMD's package repository (package hsa-rocr)" },
	{ "librocm*", .words = "install ROCm from AMD's package repository" },
	{ "libhipblas*", .words = "install ROCm from AMD's package repository" },
	{ "librocblas*", .words = "install ROCm from AMD's package repository" },
	{ "libMIOpen*", .words = "install ROCm from AMD's package repository" },
	{ "libvulkan.so.1", .debian = "libvulkan1" },
	{ "libOpenCL.so.1", .debian = "ocl-icd-libopencl1" },
	{ "libze_loader.so.1", .debian = "libze1" },
	{ "libtbb.so.12", "openvino" },
	{ "libtbb*", "openvino" },
	{ "libhwloc.so.15", "openvino" },
	{ "libstdc++.so.6", .debian = "libstdc++6" },
	{ "libgcc_s.so.1", .debian = "libgcc-s1" },
	{ "libgomp.so.1", .debian = "libgomp1" },
	{ "libatomic.so.1", .debian = "libatomic1" },
	{ "libc++.so.1", .debian = "libc++1" },
	{ "libc++abi.so.1", .debian = "libc++abi1" },
	{ "libz.so.1", .debian = "zlib1g" },
	{ "libnuma.so.1", .debian = "libnuma1" },
	{ "libelf.so.1", .debian = "libelf1" },
	{ "libnss3.so", .debian = "libnss3" },
	{ "libnssutil3.so", .debian = "libnss3" },
	{ "libsmime3.so", .debian = "libnss3" },
	{ "libssl3.so", .debian = "libnss3" },
	{ "libnspr4.so", .debian = "libnspr4" },
	{ "libexpat.so.1", .debian = "libexpat1" },
	{ "libglib-2.0.so.0", .debian = "libglib2.0-0" },
	{ "libgobject-2.0.so.0", .debian = "libglib2.0-0" },
	{ "libgio-2.0.so.0", .debian = "libglib2.0-0" },
	{ "libdbus-1.so.3", .debian = "libdbus-1-3" },
	{ "libdrm.so.2", .debian = "libdrm2" },
	{ "libgbm.so.1", .debian = "libgbm1" },
	{ "libasound.so.2", .debian = "libasound2" },
	{ "libX11.so.6", .debian = "libx11-6" },
	{ "libXext.so.6", .debian = "libxext6" },
	{ "libEGL.so.1", .debian = "libegl1" },
	{ "libGLX.so.0", .debian = "libglx0" },
	{ "libGLdispatch.so.0", .debian = "libglvnd0" },
	{ "libX11-xcb.so.1", .debian = "libx11-xcb1" },
	{ "libxcb.so.1", .debian = "libxcb1" },
	{ "libgtk-3.so.0", .debian = "libgtk-3-0" },
	{ "libatk-1.0.so.0", .debian = "libatk1.0-0" },
	{ "libcups.so.2", .debian = "libcups2" },
	{ "libfontconfig.so.1", .debian = "libfontconfig1" },
	{ "libfreetype.so.6", .debian = "libfreetype6" },
	{ "libcurl.so.4", .debian = "libcurl4" },
	{ "libmicrohttpd.so.12", .debian = "libmicrohttpd12" },
};

static bool fits(const char *pattern, const char *soname)
{
	size_t n = strlen(pattern);

	return pattern[n - 1] == '*' ? !strncmp(pattern, soname, n - 1) : !strcmp(pattern, soname);
}

const char *soname_bringer(struct arena *a, const char *soname)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (!fits(table[i].soname, soname))
			continue;
		return table[i].setup     ? arena_printf(a, "run: assay setup %s", table[i].setup)
			: table[i].debian ? arena_printf(a, "apt-get install %s", table[i].debian)
					  : table[i].words;
	}
	return NULL;
}
