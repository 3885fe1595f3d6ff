# SPDX-License-Identifier: Apache-2.0
# Program: plain
# Every case that the program carries, on OpenVINO.
on=openvino
. "$SOURCE/tests/conform/lib_cases.sh"
