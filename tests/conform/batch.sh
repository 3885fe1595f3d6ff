# SPDX-License-Identifier: Apache-2.0
# Program: plain
# Every key class at batch 3 says of each row what it says of it alone: all of its cases on cpu, and one, with ASSAY_LONG all, on OpenVINO, which
# takes long to compile a graph.
set -eu
: "${ASSAY:?the program}" "${SOURCE:?the source folder}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_BROWSER_PATH=none ASSAY_CACHE=$work/cache LC_ALL=C
cd "$SOURCE/tests/conform/cases"
all= first=
for class in bert t5 llama clip vit clap whisper wav2vec2 llava llava_next xclip qwen2 qwen3 detr; do
	[ -d "$class" ] || { echo "no case of $class is here"; exit 1; }
	first="$first $class"
	for name in "$class" "$class"-*; do
		[ -d "$name" ] && all="$all $name"
	done
done
all="$all glm5_next_text-one-index-head" # equal scores: what torch takes of them goes by the longest row beside it
"$ASSAY" detect cpu openvino >"$work/detect"
ran= skipped=0
for on in cpu openvino; do
	if ! grep -Eq "^  $on +yes" "$work/detect"; then
		skipped=77
		echo "skip: $on is not here: $(grep -E "^  $on +no" "$work/detect" || true)"
		continue
	fi
	cases=$all
	[ "$on" = cpu ] || [ -n "${ASSAY_LONG:-}" ] || cases=$first
	count=$(echo $cases | wc -w)
	"$ASSAY" conform --batch 3 --on "$on" $cases >"$work/out" 2>"$work/err" || { grep -v '^ok' "$work/out"; tail -5 "$work/err"; exit 1; }
	grep -q "^$count passed, 0 failed$" "$work/out" || { echo "not all of $count were counted:"; tail -1 "$work/out"; exit 1; }
	echo "$on: $(tail -1 "$work/out")"
	ran=yes
done

# The null engine's numbers follow from where they stand, so a row is not what it was alone: that must not pass.
code=0
"$ASSAY" conform --batch 3 --on null bert >"$work/out" 2>&1 || code=$?
[ "$code" = 3 ] || { echo "rows that differ: exit code $code, not 3"; exit 1; }
grep -q 'row 1 of 3 at once is not what it is alone: logits: ' "$work/out" || { cat "$work/out"; exit 1; }
"$ASSAY" conform --batch 1 --on null bert >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
if [ -z "$ran" ]; then
	echo "skip: no engine is here"
	exit 77
fi
[ "$skipped" = 0 ] || exit 77
echo good
