# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# The job of docs/CI.md as it stands there: with nothing changed, a slow-down, one within the limit, a worse verdict, a wrong one.
. "$SOURCE/tests/cli/lib.sh" || exit 1
mkdir "$work/bin" "$work/job" && ln -s "$ASSAY" "$work/bin/assay"
export PATH=$work/bin:$PATH
sed -n '/^```sh$/,/^```$/p' "$SOURCE/docs/CI.md" | sed '1d;$d' >"$work/ci.sh"
[ "$(grep -c '^.*assay ' "$work/ci.sh")" -ge 3 ] || fail "docs/CI.md has no job"
export MODEL=$SOURCE/tests/conform/cases/bert
cd "$work/job" || exit 1
# The times are told (clock=told), and no part of the question.
steady=cpu:clock=told,noise_ms=0.5,sleep_ms
export ON=cpu

# job CODE MS [LIMIT]: the job with runs of so many ms.
job()
{
	code "$1" env ASSAY_NULL="$steady=$2" LIMIT="${3-5%}" sh -e "$work/ci.sh"
}

job 0 10
[ -s baseline.duckdb ] && [ -s assay.xml ] || fail "the first job leaves no baseline or no assay.xml"
grep -q '<testcase .*bert' assay.xml || fail "assay.xml has no case"
job 2 12
has out 'slower$'
job 0 12 50%
job 0 10

# A verdict that became worse, and one that is wrong.
code 2 env ASSAY_NULL="$steady=10,fail=run@1" sh -e "$work/ci.sh"
has out 'B failed: worse$'
grep -q 'type="failed"' assay.xml || fail "assay.xml has no verdict word"
cp now.duckdb failed.duckdb
code 0 env ASSAY_NULL="$steady=10" sh -e "$work/ci.sh"
golden=$SOURCE/tests/conform/cases/bert/io.safetensors
for db in right wrong; do
	"$ASSAY" run "$MODEL" --synthetic --on null --golden "$golden" --runs 3 --no-conform --db $db.duckdb >"$work/out" 2>&1
done
code 2 "$ASSAY" compare right.duckdb now.duckdb --fail-wrong
code 3 "$ASSAY" compare right.duckdb wrong.duckdb --metric latency --fail-wrong
code 0 "$ASSAY" compare right.duckdb wrong.duckdb --metric latency

code 0 "$ASSAY" compare baseline.duckdb run:last --db now.duckdb --fail-slower 5% --metric latency
has out '^B  run:last in now.duckdb: 1 row'
code 1 "$ASSAY" compare baseline.duckdb now.duckdb --fail-slower much
has err "fail-slower wants a share, as 5%, not 'much'"
finish
