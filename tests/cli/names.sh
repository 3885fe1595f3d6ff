# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Program: plain
# Names that people type: precisions, platforms, models, endings of files. Rows hold the canonical word.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
bert=$SOURCE/tests/conform/cases/bert
quick="--synthetic --runs 1 --no-conform --json"

# The vendors' libraries are not asked: without one the cell is a row all the same, with the platform's own name.
"$ASSAY" run "$bert" --on null,nvidia,AMD,trt,coreml $quick --layers 1 >"$work/out" 2>"$work/err" </dev/null
json "[r['requested'] for r in d] == ['null', 'cuda', 'rocm', 'tensorrt', 'mps']"
# Upper case: a device where a device can be, else a platform.
"$ASSAY" run "$bert" --on NULL,CUDA,TensorRT $quick --layers 1 >"$work/out" 2>"$work/err" </dev/null
json "[r['requested'] for r in d] == ['null', 'cuda', 'tensorrt']"
"$ASSAY" run "$bert" --on gpu $quick --layers 1 >"$work/out" 2>"$work/err" </dev/null
json "[r['requested'] for r in d][0] in ('cuda', 'rocm')"
code 1 "$ASSAY" run "$bert" --on dml $quick
has err '^assay: dml: DirectML is a part of Windows, where assay does not run'
code 1 "$ASSAY" detect directml
has err 'DirectML is a part of Windows'

"$ASSAY" run "$bert" --on null $quick --precision fp16,FP32,bf16,int8,INT4,w4a16:head=float32 >"$work/out" 2>"$work/err" </dev/null
json "[r['precision'] for r in d] == ['float16', 'float32', 'bfloat16', 'int8-dynamic', 'int4-weights', 'int4-weights:head=float32']"
# The same question by either name has one key.
"$ASSAY" run "$bert" --on null $quick --precision float16 >"$work/out" 2>"$work/err" </dev/null
code 0 "$ASSAY" query --format csv "SELECT count(DISTINCT cell_key) AS n FROM result WHERE precision = 'float16'"
has out '^1$'

# The program by another name starts itself again, and not what is called assay beside it.
cp "$ASSAY" "$work/renamed" && printf '#!/bin/sh\nexit 9\n' >"$work/assay" && chmod +x "$work/assay" || fail "no copy of the program"
code 0 "$work/renamed" run "$bert" --on null $quick --layers 1
json "d[0]['verdict'] == 'right'"

# A model's own words, not letters that happen to be near.
code 1 "$ASSAY" run gpt2 --on null
lacks err 't5-small'
code 1 "$ASSAY" run bert --on null
has err 'the nearest known names are google-bert/bert-base-uncased'
code 1 "$ASSAY" run t5 --on null
has err 'nearest known names are .*t5-small'
code 1 "$ASSAY" run bert-base-uncasd --on null
has err 'nearest known names are google-bert/bert-base-uncased'

# Sides by their platforms.
code 0 "$ASSAY" ab "$bert" --synthetic --layers 1 --a null --b null,sleep_ms=1 --pairs 1 --runs 3
has out '^  B  null:NULL sleep_ms=1 '
code 1 "$ASSAY" ab "$bert" --synthetic --on null --a cpu
has err '--a names a platform, and so does --on'

# The ending of a file says the format, or is refused.
code 1 "$ASSAY" report -o "$work/x.bogus"
has err 'x.bogus: the ending says no format: .md, .html'
[ -e "$work/x.bogus" ] && fail "x.bogus was written"
code 0 "$ASSAY" report -o "$work/x.yml" --json
json "d == {'file': work + '/x.yml', 'bytes': os.stat(work + '/x.yml').st_size}"
code 1 "$ASSAY" report --json
has err '^assay: --json says what was written and needs -o FILE'
code 0 "$ASSAY" report -o "$work/plain"
code 0 "$ASSAY" report --format md -o "$work/x.bogus"
code 1 "$ASSAY" export -o "$work/x.bogus" result

# Parquet goes out and in again.
code 0 "$ASSAY" export -o "$work/all.parquet"
code 0 "$ASSAY" import "$work/all.parquet" --db "$work/again.duckdb"
has out 'all.parquet: [0-9]+ rows, [0-9]+ of them new'
code 0 "$ASSAY" query --format csv 'SELECT count(*) AS n FROM result'
cp "$work/out" "$work/here"
code 0 "$ASSAY" query --format csv --db "$work/again.duckdb" 'SELECT count(*) AS n FROM result'
cmp -s "$work/out" "$work/here" || fail "rows were lost: $(cat "$work/here" "$work/out")"
code 0 "$ASSAY" export -o "$work/result.parquet" result
code 1 "$ASSAY" import "$work/result.parquet"
has err 'result.parquet: it has no column assay_table: it is one table'
finish
