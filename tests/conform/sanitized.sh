# SPDX-License-Identifier: Apache-2.0
# Each 32nd case (each 16th in the tier "long") under the sanitizers on both engines; cases_cpu.sh and cases_openvino.sh go without.
each=32
[ -z "${ASSAY_LONG-}" ] || each=16
cd "$SOURCE/tests/conform/cases"
names=$(ls | sed -n "1~${each}p")
cd "$OLDPWD"
ran=
for on in cpu openvino; do
	code=0
	(. "$SOURCE/tests/conform/lib_cases.sh") || code=$?
	case $code in
	0) ran=1 ;;
	77) skipped=1 ;;
	*) exit $code ;;
	esac
done
[ -n "$ran" ] && [ -z "${skipped-}" ] || exit 77
