# SPDX-License-Identifier: Apache-2.0
# What is made at build time: the writer of ONNX's own protobuf messages, and C files that carry data inside the program (the
# published configurations of the key models, the defaults of each model type, the report's web assets), by tools/embed.c.
set(ASSAY_GENERATED "${PROJECT_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${ASSAY_GENERATED}")

add_custom_command(OUTPUT "${ASSAY_GENERATED}/onnx.pb-c.c" "${ASSAY_GENERATED}/onnx.pb-c.h"
	COMMAND ${PROTOC_C} "--proto_path=${ASSAY_ONNX_PROTO}" "--c_out=${ASSAY_GENERATED}" "${ASSAY_ONNX_PROTO}/onnx.proto"
	DEPENDS "${ASSAY_ONNX_PROTO}/onnx.proto" VERBATIM)

# Names and their order stand in one list, which the program carries too.
set(models_list "${PROJECT_SOURCE_DIR}/src/hub/published/MODELS")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${models_list}")
file(STRINGS "${models_list}" models REGEX "^[^#-]")
foreach(line IN LISTS models)
	string(REGEX REPLACE "\t.*" "" name "${line}")
	string(REPLACE "/" "--" folder "${name}")
	set(file "${PROJECT_SOURCE_DIR}/src/hub/published/${folder}/config.json")
	list(APPEND published_files "${file}")
	list(APPEND published_rows "${name}=${file}")
endforeach()

# The charts' library as tools/deps unpacked it (src/report/ASSETS names its files), and the report's own templates.
set(ASSAY_WEB "${ASSAY_DEPS}/web" CACHE PATH "Folder with the files that src/report/ASSETS names")
file(STRINGS "${PROJECT_SOURCE_DIR}/src/report/ASSETS" ASSAY_WEB_ASSETS)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/report/ASSETS")
file(GLOB web_files CONFIGURE_DEPENDS
	"${PROJECT_SOURCE_DIR}/src/report/*.css" "${PROJECT_SOURCE_DIR}/src/report/*.js" "${PROJECT_SOURCE_DIR}/src/report/*.html")
foreach(asset IN LISTS ASSAY_WEB_ASSETS)
	list(APPEND web_files "${ASSAY_WEB}/${asset}")
endforeach()
foreach(file IN LISTS web_files)
	get_filename_component(name "${file}" NAME)
	list(APPEND web_rows "${name}=${file}")
endforeach()

add_executable(assay_embed EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tools/embed.c")
target_compile_definitions(assay_embed PRIVATE _GNU_SOURCE)
add_custom_command(OUTPUT "${ASSAY_GENERATED}/published.c"
	COMMAND assay_embed hub/hub.h hub_published hub_published_rows "${ASSAY_GENERATED}/published.c" ${published_rows}
	DEPENDS assay_embed ${published_files} VERBATIM)
add_custom_command(OUTPUT "${ASSAY_GENERATED}/published_list.c"
	COMMAND assay_embed hub/hub.h hub_published hub_published_list "${ASSAY_GENERATED}/published_list.c" "MODELS=${models_list}"
	DEPENDS assay_embed "${models_list}" VERBATIM)
add_custom_command(OUTPUT "${ASSAY_GENERATED}/web_assets.c"
	COMMAND assay_embed report/web_asset.h web_asset web_assets "${ASSAY_GENERATED}/web_assets.c" ${web_rows}
	DEPENDS assay_embed ${web_files} VERBATIM)

# The page that a browser is given (src/serve).
file(GLOB page_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/serve/page/*")
foreach(file IN LISTS page_files)
	get_filename_component(name "${file}" NAME)
	list(APPEND page_rows "${name}=${file}")
endforeach()
add_custom_command(OUTPUT "${ASSAY_GENERATED}/page_assets.c"
	COMMAND assay_embed serve/page_asset.h page_asset page_assets "${ASSAY_GENERATED}/page_assets.c" ${page_rows}
	DEPENDS assay_embed ${page_files} VERBATIM)

add_custom_command(OUTPUT "${ASSAY_GENERATED}/defaults.c"
	COMMAND assay_embed arch/defaults.h arch_defaults arch_defaults_rows "${ASSAY_GENERATED}/defaults.c"
		"defaults.jsonl=${PROJECT_SOURCE_DIR}/src/arch/defaults.jsonl"
	DEPENDS assay_embed "${PROJECT_SOURCE_DIR}/src/arch/defaults.jsonl" VERBATIM)

# Which conformance cases are assay's own, by their contents. The tool is made of the few files that hash.
file(GLOB case_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/conform/cases/*/*" "${PROJECT_SOURCE_DIR}/tests/conform/real/*/*")
foreach(file IN LISTS case_files)
	get_filename_component(folder "${file}" DIRECTORY)
	list(APPEND case_folders "${folder}")
endforeach()
list(REMOVE_DUPLICATES case_folders)
add_executable(assay_manifest EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tools/manifest.c" "${PROJECT_SOURCE_DIR}/src/run/case_digest.c")
foreach(name IN ITEMS arena cache clock digest error file hash owned process text visible)
	target_sources(assay_manifest PRIVATE "${PROJECT_SOURCE_DIR}/src/base/${name}.c")
endforeach()
target_link_libraries(assay_manifest PRIVATE assay_flags)
add_custom_command(OUTPUT "${ASSAY_GENERATED}/shipped_cases.c"
	COMMAND assay_manifest "${ASSAY_GENERATED}/shipped_cases.c" ${case_folders}
	DEPENDS assay_manifest ${case_files} VERBATIM)

set(ASSAY_GENERATED_SOURCES "${ASSAY_GENERATED}/defaults.c" "${ASSAY_GENERATED}/onnx.pb-c.c" "${ASSAY_GENERATED}/page_assets.c" "${ASSAY_GENERATED}/published.c"
	"${ASSAY_GENERATED}/published_list.c" "${ASSAY_GENERATED}/shipped_cases.c" "${ASSAY_GENERATED}/web_assets.c")
add_custom_target(assay_generated_files DEPENDS ${ASSAY_GENERATED_SOURCES})

add_custom_target(assay_commit BYPRODUCTS "${ASSAY_GENERATED}/commit.h"
	COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DOUT=${ASSAY_GENERATED}/commit.h" -P "${PROJECT_SOURCE_DIR}/cmake/Commit.cmake" VERBATIM)
add_dependencies(assay_generated_files assay_commit)
