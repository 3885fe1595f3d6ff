# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# reproduce: a row's question again. The null engine tells its times, and what a stand-in does is not what was asked, so an answer can be made to
# hold or not.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
cd "$work" || exit 1

export ASSAY_NULL="cpu:clock=told,sleep_ms=10,noise_ms=0.5"
code 0 "$ASSAY" run bert --no-conform --runs 9 --seq 8 --batch 2 --seed 3 --static --on cpu --options keeps_quiet=on
code 0 "$ASSAY" reproduce 1 --command
has out '^assay run bert --on cpu:[A-Z]+ --options keeps_quiet=on --batch 2 --seq 8 --runs 9 --synthetic --seed 3 --static --no-conform$'
asked=$(<"$work/out")
command=$(sed "s|^assay|$ASSAY|" "$work/out")
code 0 bash -c "$command"
code 0 "$ASSAY" reproduce 1
has out '^row 1, again as row 3$'
has out '^  verdict +holds: (right|unjudged) then and now$'
has out '^  latency +holds: 10\.[0-9]+ ms \(.*\) then, 10\.[0-9]+ ms .* now, 1\.000 times: the intervals overlap$'
has out '^holds$'
lacks out 'another now'
# Whatever prints the command prints just this one.
for format in junit html; do
	code 0 "$ASSAY" report --format $format -o "$work/report"
	grep -Fq "$asked<" "$work/report" || fail "the report as $format does not have the command '$asked'"
done
code 0 "$ASSAY" query --format csv "SELECT count(DISTINCT cell_key) AS keys, count(DISTINCT question) AS questions, count(*) AS rows FROM cell"
has out '^1,1,3$'                      # the same question, word for word

# Too few runs for an interval: no interval of numbers that are none.
code 0 "$ASSAY" run bert --no-conform --runs 3 --seq 8 --on cpu --db "$work/few.duckdb"
code 0 "$ASSAY" reproduce 1 --db "$work/few.duckdb"
has out '^  latency +not told: 10[.0-9]* ms \(too few runs for an interval\) then'
lacks out 'nan'

# From another folder the model is found where it was.
mkdir "$work/elsewhere" && cd "$work/elsewhere" || exit 1
code 0 "$ASSAY" reproduce 1 --command
has out "^assay run $work/bert "
# What has its name there is not it.
mkdir bert
code 0 "$ASSAY" reproduce 1 --command
has out "^assay run $work/bert "
cd "$work" || exit 1

# Slower, wrong, not running at all.
ASSAY_NULL="cpu:clock=told,sleep_ms=15" code 2 "$ASSAY" reproduce 1
has out '^  latency +does not hold: .* 1\.4[0-9]+ times: the intervals are apart'
has out '^does not hold$'
# Runs that scatter hold against everything: that is no answer, whatever their medians are.
ASSAY_NULL="cpu:clock=told,sleep_ms=2,noise_ms=40" code 0 "$ASSAY" reproduce 1
has out '^  latency +not told: .*: cannot tell: the (row is unstable|interval) now'
ASSAY_NULL="cpu:fail=open" code 2 "$ASSAY" reproduce 1 --json
json 'd["holds"] is False and d["row"] == 1 and d["checks"][0]["what"] == "verdict" and d["checks"][0]["holds"] is False and "failed now" in d["checks"][0]["words"]'
json 'd["now"]["verdict"] == "failed" and d["now"]["row"] == 6'

# Other weights under the same name: another model, whatever its verdict.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/other" --seed 5
rm -r "$work/bert" && mv "$work/other" "$work/bert"
code 2 "$ASSAY" reproduce 1
has out '^  model +does not hold: its files are others: [0-9a-f]{12} then, [0-9a-f]{12} now$'
has out '^  another now .*weights or graph: [0-9a-f]{12} then, [0-9a-f]{12} now'

# So is another golden file in the place of the old one.
cp "$SOURCE/tests/conform/cases/bert/io.safetensors" golden.safetensors && chmod u+w golden.safetensors
"$ASSAY" run bert --no-conform --runs 1 --on cpu --golden golden.safetensors --db golden.duckdb >"$work/first" 2>&1
printf '\001' | dd of=golden.safetensors bs=1 seek=$(($(wc -c <golden.safetensors) - 1)) conv=notrunc 2>"$work/dd" || fail "dd"
"$ASSAY" reproduce 1 --db golden.duckdb >"$work/out" 2>&1
tr -s ' \n' ' ' <"$work/out" >"$work/flat"
has flat ' another now .*golden file: [0-9a-f]{12} then, [0-9a-f]{12} now'

# Below six runs a median has no interval.
code 0 bash -c "$(sed 's|--runs 9|--runs 5|' <<<"$command") --db five.duckdb"
code 0 "$ASSAY" reproduce 1 --db five.duckdb
has out '^  latency +not told: .*: cannot tell: no interval of the median then: n too small, 6 runs are needed$'

# What --fallback took in another platform's place is no question of its own.
ASSAY_NULL="cuda:fail=open openvino" code 0 "$ASSAY" run bert --no-conform --runs 3 --on cuda --fallback --db chain.duckdb
code 1 "$ASSAY" reproduce 2 --db chain.duckdb
has err '^assay: row 2 was measured by --fallback after row 1, in place of cuda, and alone it would be another question; its run was begun as .*: assay run bert .*--fallback'

code 1 "$ASSAY" reproduce
code 1 "$ASSAY" reproduce 99
has err 'has no rows 99'
code 1 "$ASSAY" reproduce one
has err "'one' is no number of a row"
finish
