# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# history: the command. Series with changes in them are tests/unit/test_side.c's, where changes are found at all tests/unit/test_change.c's.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
ask() { code "$1" "$ASSAY" run "$work/bert" --no-conform --runs 3 --seq 8 --on cpu; }

# What a stand-in does is not what was asked: one question throughout.
ASSAY_NULL="cpu:clock=told,sleep_ms=10" ask 0
ASSAY_NULL="cpu:fail=open" ask 2
ASSAY_NULL="cpu:clock=told,sleep_ms=20" ask 0
code 0 "$ASSAY" history "$work/bert" --on cpu
has out '^.*/bert, synthetic weights on cpu.* \(nothing computed\)$'
has out '^  latency of 2 runs on machine '
has out '^  ▁x█  10\.0 ms to 20\.0 ms$'
has out '^  verdict     run 2 \(row 2, [0-9: -]+\): failed, before (right|unjudged): .*as asked'
has out '^  verdict     run 3 .*: (right|unjudged), before failed'
has out '^  no answer   2 runs: of fewer than 12 a change cannot be told from chance$'
code 0 "$ASSAY" history "$work/bert" --json
json 'len(d) == 1 and [p["figure"] for p in d[0]["points"]][::2] == [10, 20] and d[0]["points"][1]["figure"] is None and d[0]["why_not"]'
json '[(t["run"], t["to"]) for t in d[0]["verdicts"]][0] == (2, "failed") and d[0]["changes"] == []'
code 0 "$ASSAY" history "$work/bert" --rows run:1..2 --metric load
has out '^  load of 1 run on'

code 1 "$ASSAY" history "$work/bert" --on openvino
has err 'has no rows'
code 1 "$ASSAY" history nothing
code 1 "$ASSAY" history
code 1 "$ASSAY" history "$work/bert" --metric tokens
code 1 "$ASSAY" history "$work/bert" --rows nonsense
has err "chooses no rows"
finish
