# SPDX-License-Identifier: Apache-2.0
# Program: plain
# On OpenVINO, which takes long to compile a graph: the cases that together have every family, trait and pair of operators (cover.c); in the
# tier "long" every case that the program carries. cases_cpu.sh runs all of them always.
on=openvino at=last # beside cases_cpu.sh
[ -n "${ASSAY_LONG:-}" ] || choose="${BUILD:?the build folder}/tests/cover $on"
. "$SOURCE/tests/conform/lib_cases.sh"
