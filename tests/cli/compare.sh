# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# compare: rows that are there against rows that are there. The null engine tells its times (clock=told), so what is found depends
# on nothing that this machine does besides.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
ask() { code "$1" "$ASSAY" run "$work/bert" --no-conform --runs 5 --seq 16 "${@:2}"; }

# Run 1: six processes a side of one question, by ab; rows 1 and 2 do not count for ab, but they are rows.
code 0 "$ASSAY" ab "$work/bert" --on null:clock=told,noise_ms=0.5 --a sleep_ms=10 --b sleep_ms=12 --runs 5 --seq 16 --metric latency_ms --json
code 0 "$ASSAY" query --format csv "SELECT string_agg(id::VARCHAR, ',' ORDER BY id) FILTER (asked_options LIKE '%=10') AS a, string_agg(id::VARCHAR, ',' ORDER BY id) FILTER (asked_options LIKE '%=12') AS b FROM cell"
IFS='"' read -r _ a _ b _ <<<"$(tail -1 "$work/out")"

code 2 "$ASSAY" compare "$a" "$b" --metric latency
has out '^   they differ in options: A clock=told,noise_ms=0.5,sleep_ms=10, B clock=told,noise_ms=0.5,sleep_ms=12$'
has out '^  latency +A 10\.[0-9] ms +B 12\.[0-9] ms +B/A 1\.19[0-9], 99 % interval 1\.1[0-9]+ to 1\.[0-9]+, 95 % interval .*: slower$'
has out '^1 question in common, 1 comparison: 0 better, 1 worse; verdicts that became worse: 0$'
lacks out 'load'
code 0 "$ASSAY" compare "$b" "$a" --metric latency --json
json 'd["slower"] == 0 and d["faster"] == 1 and d["questions"][0]["lines"][0]["verdict"] == "faster"'
json 'd["questions"][0]["lines"][0]["processes_a"] == 7 and d["questions"][0]["lines"][0]["high"] < 1 and d["a"]["rows"] == 7'
code 0 "$ASSAY" compare "$a" "$a" --metric latency --format md
has out '^\| .*bert.* \| latency \| 10\.[0-9] ms \| 10\.[0-9] ms \| 1\.000 \| [0-9.]+ to [0-9.]+ \| same \|$'

# Runs 2 to 4: few processes give a ratio and no call; a run has questions that the other lacks; a verdict that changed comes first.
ask 0 --on null:clock=told,sleep_ms=10 --batch 1
ask 0 --on null:clock=told,sleep_ms=10 --batch 2
ask 0 --on null:clock=told,sleep_ms=20 --batch 1
code 2 "$ASSAY" compare run:2 run:4 --json
json 'd["questions"] == [] and d["differs"] is None'    # options are part of the question, and a run is no choice of options
code 2 "$ASSAY" compare run:2 run:3
has out '^only in A'
has out '^only in B'
has out 'batch 2, 16 tokens  \(row 16\)'
code 0 "$ASSAY" compare 15 17
has out 'B/A 2\.000: cannot tell: 1 process a side; `assay ab` runs 6'

# More than three questions: where nothing is called, ratios in one line; everything with -v.
ask 0 --on null:clock=told,sleep_ms=10 --batch 1,2,3,4 --db "$work/four.duckdb"
code 0 "$ASSAY" compare "$work/four.duckdb" "$work/four.duckdb" --metric latency,throughput
has out '^  B/A  latency 1\.000, throughput 1\.000: cannot tell: 1 process a side; `assay ab` runs 6$'
lacks out '^  latency'
code 0 "$ASSAY" compare "$work/four.duckdb" "$work/four.duckdb" --metric latency,throughput -v
has out '^  latency +A 10\.[0-9] ms'
has out '^4 questions in common, 8 comparisons: 0 better, 0 worse, 8 cannot be told;'
code 1 "$ASSAY" compare "$work/four.duckdb" "$work/nosuch.duckdb"
has err 'nosuch.duckdb: no such file'
export ASSAY_NULL="cpu:clock=told,sleep_ms=5 openvino:clock=told,sleep_ms=5,wrong=1"
ask 3 --on cpu,openvino
code 2 "$ASSAY" compare run:5+on:cpu run:5+on:openvino --json
json 'd["differs"].startswith("platform: A cpu, B openvino") and d["worse_verdicts"] == 1'
json 'd["questions"][0]["verdict_is"] == "worse" and (d["questions"][0]["verdict_a"], d["questions"][0]["verdict_b"])[1] == "wrong"'
code 2 "$ASSAY" compare on:cpu on:openvino
has out '^.*/bert.* \(.*nothing computed\)$'
has out '^  verdict     A (right|unjudged), B wrong: worse$'

# Another file, whole or a part of it; a failed cell and one that ran are answers to one question, though the failed one learned no length.
export ASSAY_NULL="cpu:fail=open"          # what a stand-in does is not what was asked
code 2 "$ASSAY" run "$work/bert" --no-conform --runs 5 --on cpu --db "$work/b.duckdb"
export ASSAY_NULL="cpu:clock=told,sleep_ms=5"
code 0 "$ASSAY" run "$work/bert" --no-conform --runs 5 --on cpu --db "$work/c.duckdb"
code 2 "$ASSAY" compare "$work/c.duckdb" "$work/b.duckdb"
has out 'batch 1, 16 tokens'
has out '^  verdict     A (right|unjudged), B failed: worse$'
has out '^              B: .*as asked'
code 0 "$ASSAY" compare "$work/b.duckdb:run:1" "$work/c.duckdb:1"
has out ', B (right|unjudged): better$'
# What ran nowhere was not compared.
code 2 "$ASSAY" compare "$work/b.duckdb" "$work/b.duckdb"
has out '^1 question in common, 0 comparisons'
unset ASSAY_NULL

# Other weights under one name are another model, whichever rows are named; every platform knows which.
code 0 mv "$work/bert" "$work/first"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert" --seed 7
export ASSAY_NULL="cpu:clock=told,sleep_ms=5 openvino:clock=told,sleep_ms=9"
ask 0 --on cpu,openvino --db "$work/d.duckdb" --json
json 'd[0]["model_sha256"] == d[1]["model_sha256"] and len(d[0]["model_sha256"]) == 64'
code 2 "$ASSAY" compare "$work/c.duckdb:1" "$work/d.duckdb:1"
has out '^0 questions in common'
has out '^only in A'
has out 'bert, files [0-9a-f]{8}'
unset ASSAY_NULL

# By version, commit and machine.
code 0 "$ASSAY" query --format csv "SELECT substr(machine, 1, 6), program_version, substr(coalesce(program_commit, 'none'), 1, 7) FROM run LIMIT 1"
IFS=, read -r machine version commit <<<"$(tail -1 "$work/out")"
code 0 "$ASSAY" compare "machine:$machine+run:2" "version:$version+run:2" --metric latency
if [ "$commit" != none ]; then
	code 0 "$ASSAY" compare "commit:$commit+run:2" 15 --metric latency
fi

# What was imported is called so wherever it is told, and the machine that assay ran on is told first.
cp "$ASSAY_DB" "$work/theirs.duckdb"
"$BUILD/tests/duckdb_shell" "$work/theirs.duckdb" "UPDATE machine SET id = 'theirs', cpu_model = 'Their CPU'; UPDATE run SET machine = 'theirs'" || fail "theirs"
ask 0 --on null --db "$work/both.duckdb"
code 0 "$ASSAY" import "$work/theirs.duckdb" --db "$work/both.duckdb"
code 2 "$ASSAY" compare run:1 run:2 --db "$work/both.duckdb"
has out '^A +run:1 in .*both.duckdb: 1 row$'
has out '^B +run:2 in .*both.duckdb: [0-9]+ rows, [0-9]+ of them imported$'
code 2 "$ASSAY" compare run:1 run:2 --db "$work/both.duckdb" --json
json 'd["a"]["imported"] == 0 and d["b"]["imported"] == d["b"]["rows"] > 0'
code 0 "$ASSAY" explain 2 --db "$work/both.duckdb"
has out '^  imported '
code 0 "$ASSAY" query runs --db "$work/both.duckdb" --format json
json '[r["imported"] for r in d if r["run"] in ("run:1", "run:2")] == [True, False]'
code 0 "$ASSAY" report --db "$work/both.duckdb" --format md -o "$work/both"
grep -q '^On .*, and 1 more machine\.$' "$work/both" && ! grep -q '^On Their CPU' "$work/both" || fail "the report begins with the machine of imported rows"
grep -q '^- Their CPU, .*(imported)' "$work/both" || fail "an imported machine is not called so"
grep -q '^| A/B .*| imported, machine theirs;' "$work/both" || fail "an imported comparison is not called so"
grep -q '^    assay ab .*  # imported$' "$work/both" || fail "a command of imported rows is not called so"

code 1 "$ASSAY" compare 1
code 1 "$ASSAY" compare 1 nonsense
has err "'nonsense' chooses no rows"
code 1 "$ASSAY" compare 1 999
has err 'has no rows 999'
code 1 "$ASSAY" compare 1..x 2
code 1 "$ASSAY" compare run: 2
code 1 "$ASSAY" compare 1 2 --metric tokens
has err "no metric 'tokens'"
code 1 "$ASSAY" compare 1 2 --format html
code 1 "$ASSAY" compare "$work/none.duckdb:1" 2
finish
