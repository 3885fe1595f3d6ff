# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# run A B --together: each model alone, then all at once behind a gate. What is told (the null engine's clock) decides nothing here but counts; the
# share of overlap is by the machine's clock, and a child goes on until the timed runs of all are over, so that it does not depend on who is faster.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/gpt2" -o "$work/gpt2"
cd "$work" || exit 1

# A slow one beside a fast one: of both every timed run is beside the other.
code 0 "$ASSAY" run bert gpt2 --together --on null:sleep_ms=20,null:sleep_ms=1 --runs 12 --no-conform --json
json '[r["together"] for r in d] == [None, "gpt2 on null", None, "bert on null"] and all(r["verdict"] == "right" for r in d)'
json 'all(r["together_share"] > 0.99 for r in d if r["together"]) and all(r["together_share"] is None for r in d if not r["together"])'
json '[r["alone_row"] for r in d if r["together"]] == [d[0]["row"], d[2]["row"]] and [r["alone_ms"] for r in d if r["together"]] == [d[0]["latency_ms"], d[2]["latency_ms"]]'
json 'all(abs(r["together_factor"] - r["latency_ms"] / r["alone_ms"]) < 1e-6 and r["samples"] == 12 and r["peak_anonymous_mib"] > 0 for r in d if r["together"])'
json 'all(abs(r["together_throughput"] - r["throughput_per_s"] / [o for o in d if o["row"] == r["alone_row"]][0]["throughput_per_s"]) < 1e-6 for r in d if r["together"])'
json 'all("others ran beside it" in r["energy_why"] and r["new_shape_ms"] is None for r in d if r["together"])'
code 0 "$ASSAY" query --json "SELECT count(DISTINCT cell_key) AS keys, count(*) AS rows, count(together) AS beside FROM result"
json 'd == [{"keys": 4, "rows": 4, "beside": 2}]'
code 0 "$ASSAY" query together --json
json '[(r["model"], r["together"], r["verdict"]) for r in d] == [("bert", "gpt2 on null", "right"), ("gpt2", "bert on null", "right")] and all(r["share"] > 0.99 for r in d)'
code 0 "$ASSAY" report
has out '^#+ Together: several models'
code 0 "$ASSAY" run bert bert gpt2 --together --on null:sleep_ms=1 --runs 3 --no-conform
has out '^bert on null, together with bert on null, gpt2 on null: right'
has out '^  together +with bert on null, gpt2 on null; alone it took [0-9.]+ ms \(row [0-9]+\), so [0-9.]+ times as long here by the median, and [0-9.]+ of the throughput by the mean \(one process each: no claim\); the others ran in [0-9.]+ % of'
# A model beside itself: both rows.
code 0 "$ASSAY" query together --json
json 'len([r for r in d if r["together"] == "bert on null, gpt2 on null"]) == 2 and {(r["emulated"], r["weights"]) for r in d} == {(False, "synthetic")}'
code 0 "$ASSAY" explain 3 --json
json 'd["together"] == "gpt2 on null" and d["switched_from"] is None'
# Models take the platforms in turn; generations too, and beside each other they choose the same tokens.
code 0 "$ASSAY" run gpt2 bert gpt2 --together --on null:sleep_ms=1,null:sleep_ms=2 --runs 3 --no-conform --json
json '[json.loads(r["options"])["sleep_ms"] if isinstance(r["options"], str) else r["options"]["sleep_ms"] for r in d if not r["together"]] in (["1", "2", "1"], [1, 2, 1])'
if has_platform cpu; then
	code 0 "$ASSAY" run gpt2 gpt2 --together --task generate --effort rapid --no-conform --json
	json 'all(r["verdict"] in ("right", "unjudged") for r in d) and d[0]["tokens"] == d[1]["tokens"] and d[1]["together_share"] > 0 and d[1]["tokens_per_s"] > 0'
	code 0 "$ASSAY" run bert gpt2 --together --runs 20 --no-conform --json
	json 'all(r["verdict"] in ("right", "unjudged") and r["max_abs_error"] is not None for r in d if r["verdict"] == "right")'
fi
# What is wrong is so beside others too.
code 3 "$ASSAY" run bert gpt2 --together --on null:wrong=on,null:sleep_ms=1 --runs 3 --no-conform --json
json '[r["verdict"] for r in d] == ["wrong", "wrong", "right", "right"]'

# One that does not run alone: nobody is asked together, and each row says why. One that fails beside the others, behind its timed runs, is no
# answer; the others have the share that they had.
code 2 "$ASSAY" run bert gpt2 --together --on null:sleep_ms=1,null:fail=run@2 --runs 3 --no-conform --json
json '[r["verdict"] for r in d] == ["right", "not_asked", "failed", "not_asked"] and "gpt2 on null did not run alone: failed" in d[1]["cause"]'
code 0 "$ASSAY" query together --json
json 'sum(r["verdict"] == "not_asked" and "did not run alone" in r["cause"] for r in d) == 2'
code 2 "$ASSAY" run bert gpt2 --together --on null:sleep_ms=60,null:sleep_ms=1,fail=run@90 --runs 10 --no-conform --json
json '[r["verdict"] for r in d] == ["right", "right", "right", "failed"] and "after its timed runs" in d[3]["cause"]'
json '0 <= d[1]["together_share"] < 0.9'

# Asked again by its row it would be alone.
code 1 "$ASSAY" reproduce 3
has err 'row 3 was measured together with gpt2 on null, .*without quotes.: assay run bert gpt2 --together --on .* --no-conform --json'

for bad in "bert" "bert gpt2 --fallback" "bert gpt2 --fit" "bert gpt2 --scenario offline" "bert gpt2 --batch 1,2" "bert gpt2 --on cpu,openvino,null" "bert gpt2 --cycles 5"; do
	code 1 "$ASSAY" run --together $bad
	has err '^assay: --together'
	empty out
done
code 1 "$ASSAY" matrix --models bert gpt2 --together
finish
