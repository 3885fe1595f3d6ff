# SPDX-License-Identifier: Apache-2.0
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
nothing_left '*'
echo good
