# SPDX-License-Identifier: Apache-2.0
# Libraries that every distribution has come by pkg-config and are linked; of libcurl, libsndfile and libsoxr only
# headers are read, they are opened when something is fetched or a sound is read. Headers of engines are only read too: from the system when ASSAY_SYSTEM_DEPS is on and it has them,
# else from what tools/deps unpacked.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(nettle REQUIRED IMPORTED_TARGET nettle)
pkg_check_modules(protobuf_c REQUIRED IMPORTED_TARGET libprotobuf-c>=1.3)
pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.71)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40)
pkg_check_modules(jpeg REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(png REQUIRED IMPORTED_TARGET libpng>=1.6.32)
pkg_check_modules(webp REQUIRED IMPORTED_TARGET libwebpdemux libwebp)
find_package(GIF 5 REQUIRED)
pkg_check_modules(curl REQUIRED libcurl>=7.66)
pkg_check_modules(sndfile REQUIRED sndfile>=1.1)
pkg_check_modules(soxr REQUIRED soxr>=0.1.2)
find_program(PROTOC_C protoc-c REQUIRED)

# assay_header(VARIABLE FILE SUBFOLDERS...): the folder that makes `#include "FILE"` work.
function(assay_header variable file)
	if(ASSAY_SYSTEM_DEPS)
		find_path(${variable} "${file}" PATH_SUFFIXES ${ARGN})
	endif()
	if(NOT ${variable})
		find_path(${variable} "${file}" PATHS "${ASSAY_DEPS}/include" "${ASSAY_DEPS}/proto" NO_DEFAULT_PATH)
	endif()
	if(NOT ${variable})
		message(FATAL_ERROR "${file} is missing: run tools/deps, or install it and configure with -DASSAY_SYSTEM_DEPS=ON -D${variable}=FOLDER")
	endif()
endfunction()

assay_header(ASSAY_ONNXRUNTIME_INCLUDE onnxruntime/onnxruntime_c_api.h)
assay_header(ASSAY_OPENVINO_INCLUDE openvino/c/openvino.h)
assay_header(ASSAY_DUCKDB_INCLUDE duckdb.h duckdb)
assay_header(ASSAY_ONNX_PROTO onnx.proto onnx)
set(ASSAY_HEADER_DIRS ${ASSAY_ONNXRUNTIME_INCLUDE} ${ASSAY_OPENVINO_INCLUDE} ${ASSAY_DUCKDB_INCLUDE} ${curl_INCLUDE_DIRS}
	${sndfile_INCLUDE_DIRS} ${soxr_INCLUDE_DIRS})
list(REMOVE_DUPLICATES ASSAY_HEADER_DIRS)
