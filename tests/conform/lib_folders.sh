# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that run `assay conform` on folders of one kind, which is no model's: a scratch folder ($work), all of them
# at once, and one of them changed.
set -eu
: "${ASSAY:?the program}" "${SOURCE:?the source folder}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_CACHE=$work/cache LC_ALL=C
fail() { echo "$*"; cat "$work/out" "$work/err"; exit 1; }

# all_agree LEAST PATTERN FOLDER...: at least so many, all right, and a line that matches PATTERN for each.
all_agree()
{
	local least=$1 pattern=$2
	shift 2
	[ $# -ge "$least" ] || { echo "$# folders"; exit 1; }
	"$ASSAY" conform "$@" >"$work/out" 2>"$work/err" || fail "a folder differs"
	[ "$(tail -1 "$work/out")" = "$# passed, 0 failed" ] || fail "the last line"
	[ "$(grep -cE "$pattern" "$work/out")" = $# ] || fail "one line a folder"
}

# wrong FOLDER FILE SED-EXPRESSION PATTERN: a copy of the folder with that change is wrong, and its line matches PATTERN.
wrong()
{
	rm -rf "$work/copy"
	cp -r "$1" "$work/copy"
	chmod -R u+w "$work/copy"
	sed -i "$3" "$work/copy/$2"
	cmp -s "$work/copy/$2" "$1/$2" && { echo "$3 changed nothing"; exit 1; }
	code=0
	"$ASSAY" conform "$work/copy" >"$work/out" 2>"$work/err" || code=$?
	[ "$code" = 3 ] || fail "$1, $3: exit code $code"
	grep -qE "$4" "$work/out" || fail "$1, $3: the difference is not shown"
	[ "$(tail -1 "$work/out")" = "0 passed, 1 failed" ] || fail "$1, $3: the last line"
}
