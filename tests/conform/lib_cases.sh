# SPDX-License-Identifier: Apache-2.0
# Sourced with $on set: every case that the program carries, or those whose names are in $names or the command $choose prints, on that
# engine. Leaves $work with a cache of its own.
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
"$ASSAY" conform --on "$on" $names >"$work/out" 2>"$work/err" || { grep -v '^ok' "$work/out"; tail -5 "$work/err"; exit 1; }
cd "$OLDPWD"
count=$(wc -w <<END
$names
END
)
grep -q "^$count passed, 0 failed$" "$work/out" || { echo "not all of $count were counted:"; tail -1 "$work/out"; exit 1; }
echo "$on: $(tail -1 "$work/out")"
