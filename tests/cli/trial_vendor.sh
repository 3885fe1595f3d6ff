# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# What an engineer of a hardware vendor does in the first hour, and what each step must show: is our runtime really there, did our
# device compute, where did nodes go and why, what does the runtime do when it is left alone, is it faster than the processor's own,
# and would another measure the same?
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform openvino || finish
cases=$SOURCE/tests/conform/cases
bert=$cases/bert

# Is it there? A run that is judged, not the presence of a file.
code 0 "$ASSAY" doctor openvino
has out '^  ok +runs .*a BERT of 2 layers is right on CPU.*judged by engine:ort'
has out '^  => openvino works'

# Did it compute? Every node has its place, and the row says how that is known.
code 0 "$ASSAY" run "$bert" --synthetic --on openvino --runs 8 --json
json 'd[0]["verdict"] == "right" and d[0]["reference"] == "engine:ort-cpu-unoptimised" and d[0]["weights"] == "synthetic"'
json 'd[0]["nodes"] and d[0]["nodes_elsewhere"] == 0 and d[0]["latency_ms"] > 0 and d[0]["engine_version"].startswith("2")'
row=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[0]["row"])' "$work/out")
code 0 "$ASSAY" explain "$row"
has out '^  placement +[0-9]+ of [0-9]+ nodes on openvino'
has out '^  known by '
has out '^  CPU +Gemm '

# What did not: nodes on the processor are counted, the first is named, and --no-fallback refuses before anything runs.
code 0 "$ASSAY" run "$bert" --synthetic --on null:leave=Gemm --runs 3 --no-conform
has out '; 14 of 91 nodes ran elsewhere'
code 2 "$ASSAY" run "$bert" --synthetic --on null:leave=all --runs 3 --no-conform
has out 'on null \(ran on cpu\): fell_back .*: 91 nodes are on cpu, the first Gather'
code 2 "$ASSAY" run "$bert" --synthetic --on null:leave=all --runs 3 --no-conform --no-fallback --json
json 'd[0]["verdict"] == "unsupported" and d[0]["latency_ms"] is None and "the first: Gather" in d[0]["cause"]'
refused=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[0]["row"])' "$work/out")
code 0 "$ASSAY" query fallbacks --format json
json "[r['row'] for r in d] == [$refused - 2]" # of the newest answer of leave=all nothing ran
code 0 "$ASSAY" report --format md
has out '^## Ran only in part on the platform$'

# Left alone it may compute in another precision than ours: the row says in which, and what that loses.
code 0 "$ASSAY" run "$bert" --synthetic --on openvino --as-shipped --runs 5
has out '^  shipped +the engine.s own defaults: precision=(f32|bf16|f16),.*threads=[0-9]+'
has out 'error +max abs [0-9.e-]+, NMSE [0-9.e-]+; allowed'

# Faster than the other? Sides in alternation; a ratio with an interval, and a word that follows from it alone.
code 0 "$ASSAY" ab "$bert" --synthetic --a cpu --b openvino --pairs 6 --json
json '{"load_ms", "first_ms", "latency_ms"} <= {m["metric"] for m in d} and all(m["low"] <= m["ratio"] <= m["high"] for m in d)'
json 'all(m["verdict"] == "cannot tell" or m["verdict"] == "same" or (m["low"] > 1) == (m["verdict"] == "slower") for m in d)'
json 'all(m["pairs"] == 6 and len(m["rows_a"]) == len(m["rows_b"]) == 6 for m in d)'

# The same question again, from its row alone.
"$ASSAY" reproduce "$row" >"$work/out" 2>"$work/err"
has out '^  verdict +holds: right then and now'
has out '^  output error +holds: '

# The report for the meeting.
code 0 "$ASSAY" report -o "$work/report.html"
grep -q 'synthetic weights' "$work/report.html" || fail "the report does not say that weights are synthetic"
finish
