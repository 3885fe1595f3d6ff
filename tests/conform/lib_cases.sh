# SPDX-License-Identifier: Apache-2.0
# Sourced with $on set: every case that the program carries, or those whose names are in $names or the command $choose prints, on that
# engine. Leaves $work with a cache of its own. All on one processor, the last of this process's where $at is "last", else the first: a
# case's graphs are so small that an engine's threads wait for each other most of the time; batch.sh has several.
set -eu
: "${ASSAY:?the program}" "${SOURCE:?the source folder}" "${on:?the platform}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_BROWSER_PATH=none ASSAY_CACHE=$work/cache LC_ALL=C
"$ASSAY" detect "$on" >"$work/detect"
if ! grep -Eq "^  $on +yes" "$work/detect"; then
	echo "skip: $on is not here: $(grep -E "^  $on +no" "$work/detect" || true)"
	exit 77
fi
cd "$SOURCE/tests/conform/cases"
names=${names:-$(${choose:-ls})}
one=
if command -v taskset >/dev/null; then
	[ "${at:-first}" = last ] && number='s/.*[ ,-]//' || number='s/.*: //; s/[,-].*//'
	one="taskset -c $(taskset -pc $$ | sed "$number")"
fi
$one "$ASSAY" conform --on "$on" $names >"$work/out" 2>"$work/err" || { grep -v '^ok' "$work/out"; tail -5 "$work/err"; exit 1; }
cd "$OLDPWD"
count=$(wc -w <<END
$names
END
)
grep -q "^$count passed, 0 failed$" "$work/out" || { echo "not all of $count were counted:"; tail -1 "$work/out"; exit 1; }
echo "$on: $(tail -1 "$work/out")"
