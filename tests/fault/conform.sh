# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# A conformance run answers for every case, whatever happens in its child.
. "$SOURCE/tests/fault/lib.sh"
cases=$SOURCE/tests/conform/cases

# count N M: the closing line.
count()
{
	grep -q "^$1 passed, $2 failed$" "$work/out" || fail "not '$1 passed, $2 failed'"
}

code 2 "$ASSAY" conform --on null:crash=open "$cases/bert" "$cases/vit" "$cases/llama"
count 0 3
[ "$(grep -c 'signal 11' "$work/out")" = 3 ] || fail "each case names its signal"
code 2 "$ASSAY" conform --on null:rubbish=on "$cases/bert" "$cases/vit"
count 0 2
code 2 "$ASSAY" conform --on null:exit=5 "$cases/bert" "$cases/vit"
count 0 2
code 3 "$ASSAY" conform --on null "$cases/bert" "$work" "$cases/absent"
count 0 3
code 2 "$ASSAY" conform --on cuda "$cases/bert"
count 0 1

# Damaged cases are told by file and line, and never fill the disk.
cp -r "$cases/bert" "$work/bert"
chmod -R u+w "$work/bert"
printf 'huge\tF32\t99999999,99999999\n' >>"$work/bert/weights.tsv"
code 2 "$ASSAY" conform --on null "$work/bert"
grep -q 'huge' "$work/out" || fail "the tensor is not named"
printf 'x' >"$work/bert/weights.tsv"
code 2 "$ASSAY" conform --on null "$work/bert"
count 0 1
grep -q 'weights.tsv' "$work/out" || fail "the file is not named"

# The form is the one that `run` takes, and no other one is tried where its outputs are wrong or nodes are left to others.
form()
{
	local wanted=$1 options=$2
	shift 2
	code "$wanted" "$ASSAY" conform --on "null:$options" --json "$@" "$cases/bert"
	all form >"$work/certified"
	"$ASSAY" run "$model" --on "null:$options" --no-conform --runs 1 --json >"$work/out" 2>"$work/err" || true
	[ -s "$work/certified" ] && [ "$(cat "$work/certified")" = "$(all form)" ] || fail "null:$options: conform tries '$(cat "$work/certified")', run takes '$(all form)'"
}
form 3 sleep_ms=0
form 0 leave=Erf --batch 1
form 0 refuse=Erf --batch 1
code 2 "$ASSAY" conform --on null:leave=all --batch 1 --json "$cases/bert"
is verdict fell_back
says reason '^null took none of the 91 nodes'
nothing_left '*'
echo good
