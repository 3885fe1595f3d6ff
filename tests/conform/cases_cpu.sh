# SPDX-License-Identifier: Apache-2.0
# Program: plain
# Every case that the program carries, on ONNX Runtime; and a changed golden output, which must not pass.
on=cpu
. "$SOURCE/tests/conform/lib_cases.sh"

# A wrong answer must not pass: the last byte of a golden output, the exponent of its last element, is another one.
cp -r "$SOURCE/tests/conform/cases/bert" "$work/bert"
chmod -R u+w "$work/bert"
size=$(wc -c <"$work/bert/io.safetensors")
printf '\100' | dd of="$work/bert/io.safetensors" bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
if "$ASSAY" conform --on "$on" "$work/bert" >"$work/out" 2>&1; then
	echo "a changed golden output passed"
	exit 1
fi
grep -q 'logits: .* off at' "$work/out" || { cat "$work/out"; exit 1; }
echo good
