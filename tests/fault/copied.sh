# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# A model on another file system, of which the cache can only have copies: one for all graphs, which is kept from being trimmed while it
# is used, and goes with the graphs that link to it.
. "$SOURCE/tests/fault/lib.sh"
other=$(mktemp -d -p /dev/shm) || { echo "skip: /dev/shm cannot be written"; exit 77; }
trap 'rm -rf "$other"; cleanup' EXIT
if [ "$(stat -c %d "$other")" = "$(stat -c %d "$work")" ]; then
	echo "skip: /dev/shm and the folder of the tests are on one file system"
	exit 77
fi
cp -rL "$model" "$other/model"

code 0 "$ASSAY" run "$other/model" --on openvino --seq 8,16 --runs 3 --no-conform --json
is verdict right right
is placed_by copy copy
find "$ASSAY_CACHE/copied" -name copy >"$work/copies"
[ "$(wc -l <"$work/copies")" = 1 ] || fail "copies: $(cat "$work/copies")"
[ "$(find "$ASSAY_CACHE/artifact" -samefile "$(cat "$work/copies")" | wc -l)" -ge 1 ] || fail "no graph links to the copy"
code 0 "$ASSAY" cache --json
is copied 1
# An older process that uses it.
exec 9<"$(dirname "$(cat "$work/copies")").lock"
flock -s 9
code 0 "$ASSAY" cache --trim --cache-limit 0
[ -e "$(cat "$work/copies")" ] || fail "a copy that is in use was removed"
exec 9<&-
rm -r "$other/model"
code 0 "$ASSAY" cache --trim --cache-limit 0
[ -z "$(find "$ASSAY_CACHE/copied" "$ASSAY_CACHE/artifact" -type f -size +50k)" ] || fail "left: $(find "$ASSAY_CACHE" -type f -size +50k)"
echo good
