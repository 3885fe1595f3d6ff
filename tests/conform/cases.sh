# SPDX-License-Identifier: Apache-2.0
# Every case that the program carries, on every engine that is here.
set -eu
: "${ASSAY:?the program}" "${SOURCE:?the source folder}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_CACHE=$work/cache LC_ALL=C
"$ASSAY" detect >"$work/detect"
ran=
for on in cpu openvino; do
	if ! grep -Eq "^  $on +yes" "$work/detect"; then
		echo "$on is not here: $(grep -E "^  $on +no" "$work/detect" || true)"
		continue
	fi
	"$ASSAY" conform --on "$on" "$SOURCE"/tests/conform/cases/* >"$work/out" 2>"$work/err" || { grep -v '^ok' "$work/out"; tail -5 "$work/err"; exit 1; }
	count=$(find "$SOURCE/tests/conform/cases" -mindepth 1 -maxdepth 1 -type d | wc -l)
	grep -q "^$count passed, 0 failed$" "$work/out" || { echo "not all of $count were counted:"; tail -1 "$work/out"; exit 1; }
	echo "$on: $(tail -1 "$work/out")"
	ran=yes
done
if [ -z "$ran" ]; then
	echo "skip: no engine is here"
	exit 77
fi

# A wrong answer must not pass: the last byte of a golden output, the exponent of its last element, is another one.
cp -r "$SOURCE/tests/conform/cases/bert" "$work/bert"
chmod -R u+w "$work/bert"
on=cpu
grep -Eq "^  cpu +yes" "$work/detect" || on=openvino
size=$(wc -c <"$work/bert/io.safetensors")
printf '\100' | dd of="$work/bert/io.safetensors" bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
if "$ASSAY" conform --on "$on" "$work/bert" >"$work/out" 2>&1; then
	echo "a changed golden output passed"
	exit 1
fi
grep -q 'logits: .* off at' "$work/out" || { cat "$work/out"; exit 1; }
echo good
