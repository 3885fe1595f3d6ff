# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Nothing installed names the source or the build folder: program and library find their
# data from their own place, PREFIX/bin or PREFIX/lib, so a prefix can be given at install time and moved afterwards.
if(TARGET assay)
	install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS assay_static assay_shared
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES "${PROJECT_SOURCE_DIR}/include/assay.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} OPTIONAL)

# pkg-config works out its prefix from where the file lies, so that a moved prefix keeps working.
file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
set(ASSAY_PC_PREFIX "\${pcfiledir}/${up}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/assay.pc.in" "${PROJECT_BINARY_DIR}/assay.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/assay.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
include(CMakePackageConfigHelpers)
configure_file("${PROJECT_SOURCE_DIR}/cmake/assay-config.cmake.in" "${PROJECT_BINARY_DIR}/assay-config.cmake" @ONLY)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/assay-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/assay-config.cmake" "${PROJECT_BINARY_DIR}/assay-config-version.cmake"
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/assay)

# Engines lie beside the program under lib/, never in the loader's path. With -DASSAY_INSTALL_ENGINES=OFF they come from elsewhere.
# Others than these come with `assay setup`, which runs the same tools/deps: some may not be passed on (Qualcomm, NVIDIA).
option(ASSAY_INSTALL_ENGINES "Install the CPU engines and the database of ASSAY_DEPS/engines" ON)
if(ASSAY_INSTALL_ENGINES)
	foreach(engine IN ITEMS duckdb onnxruntime openvino)
		install(DIRECTORY "${ASSAY_DEPS}/engines/${engine}" DESTINATION lib/assay/engines USE_SOURCE_PERMISSIONS OPTIONAL)
	endforeach()
endif()
install(FILES "${PROJECT_SOURCE_DIR}/deps.lock" DESTINATION share/assay)
install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/deps" DESTINATION share/assay/tools)
install(FILES "${PROJECT_SOURCE_DIR}/tools/steps.sh" DESTINATION share/assay/tools)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tests/conform/cases" "${PROJECT_SOURCE_DIR}/tests/conform/pipeline" DESTINATION share/assay/conform OPTIONAL)
install(FILES "${PROJECT_SOURCE_DIR}/docs/assay.1" DESTINATION share/man/man1 OPTIONAL)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE" DESTINATION share/doc/assay OPTIONAL)
install(DIRECTORY "${ASSAY_DEPS}/licenses" DESTINATION share/doc/assay OPTIONAL)
