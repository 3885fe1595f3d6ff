# SPDX-License-Identifier: Apache-2.0
# Each 32nd case under the sanitizers on cpu and each 128th on OpenVINO, to which the same of ours is beside long compiling (each 16th on both in
# the tier "long"); cases_cpu.sh and cases_openvino.sh go without.
ran=
for on in cpu openvino; do
	each=32
	[ $on = cpu ] || each=128
	[ -z "${ASSAY_LONG-}" ] || each=16
	names=$(ls "$SOURCE/tests/conform/cases" | sed -n "1~${each}p")
	code=0
	(. "$SOURCE/tests/conform/lib_cases.sh") || code=$?
	case $code in
	0) ran=1 ;;
	77) skipped=1 ;;
	*) exit $code ;;
	esac
done
[ -n "$ran" ] && [ -z "${skipped-}" ] || exit 77
