# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# --fit takes the first that does; the row says it everywhere. The weights exist in that precision alone: nothing of float32's size is
# on the disk.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
case=$SOURCE/tests/conform/cases/bert

mkdir "$work/wide"
python3 - "$case" "$work/wide" <<'PY'
import json, sys
c = json.load(open(sys.argv[1] + "/config.json"))
c.update(hidden_size=1024, intermediate_size=8192, num_hidden_layers=1, num_attention_heads=16)
json.dump(c, open(sys.argv[2] + "/config.json", "w"))
PY
fit="$work/wide --synthetic --on cpu --seq 8 --memory 0.06 --fit --no-conform --runs 3"
code 0 "$ASSAY" run $fit --json
json 'd[0]["verdict"] == "right" and d[0]["precision"] == "int8-weights" and d[0]["would_fit"] is None and d[0]["weights"] == "synthetic"'
json 'd[0]["fitted"].startswith("asked as stored, which does not fit: it needs ") and "taken in its place (--fit): --precision int8-weights" in d[0]["fitted"]'
json 'd[0]["fit_asked_precision"] == "stored" and d[0]["fit_asked_layers"] is None'
json '"dequantised" in d[0]["graph_reference"] and d[0]["graph_verdict"] == d[0]["arithmetic_verdict"] == "right" and d[0]["nmse"] is None'
json 'd[0]["reference"] == d[0]["arithmetic_reference"]' # without one every report called it unjudged
[ "$(du -sm "$ASSAY_CACHE" | cut -f1)" -lt 60 ] || fail "float32 weights were written: $(du -sm "$ASSAY_CACHE")"
# Asked again: the same row. In another precision the same weights are made anew, and as they were.
code 0 "$ASSAY" matrix --models $fit --resume --output-dir "$work/fitted"
code 0 "$ASSAY" matrix --models $fit --resume --output-dir "$work/fitted"
has out '1 finished before'
code 0 "$ASSAY" run ${fit/--memory 0.06 --fit/--precision int8-weights} --json
json 'd[0]["verdict"] == "right" and d[0]["fitted"] is None and d[0]["nmse"] > 0'
# Its files are others than those of float32, and it is the same model.
code 0 "$ASSAY" run ${fit/--memory 0.06 --fit/} --json
json 'd[0]["verdict"] == "right" and d[0]["precision"] is None'
code 0 "$ASSAY" recommend "$work/wide" --seq 8
has out '^  use +cpu'
lacks out 'other files'
code 0 "$ASSAY" run $fit
has out 'right \(.*int8-weights, taken to fit'
has out '^  fitted +asked as stored'
# Its question is the one that was asked, not what was taken.
row=$("$ASSAY" query --format csv "SELECT max(id) AS id FROM cell" | tail -1)
code 0 "$ASSAY" reproduce "$row" --command
has out ' --fit '
lacks out '\-\-precision'
code 0 "$ASSAY" reproduce "$row"
has out '^  taken to fit +holds: the same then and now'
code 0 "$ASSAY" run $fit -v
lacks out 'run it without --precision'
if has_platform openvino; then
	# Where the nodes are is asked by opening the model once more: too little memory for that is no_memory.
	code 2 "$ASSAY" run ${fit/--on cpu/--on openvino} --no-fallback --json
	json 'd[0]["verdict"] == "no_memory" and "a second time" in d[0]["cause"]'
	code 2 "$ASSAY" run ${fit/--memory 0.06 --fit/--memory 0.06} --on openvino --json
	json '",," not in d[0]["cause"]'
fi
code 0 "$ASSAY" cache --clear
# What judges the graph takes memory, too: float32 in OpenVINO, twice, is more than a child gets here; the same integers are not.
if has_platform openvino; then
	mkdir "$work/deep"
	python3 - "$work/wide/config.json" >"$work/deep/config.json" <<'PY'
import json, sys
config = json.load(open(sys.argv[1]))
config.update(num_hidden_layers=3)
json.dump(config, sys.stdout)
PY
	deep="$work/deep --synthetic --on cpu --seq 8 --memory 0.077 --fit --no-conform --runs 1"
	ASSAY_MEMORY=0.45 code 0 "$ASSAY" run $deep --json
	json 'd[0]["verdict"] == d[0]["graph_verdict"] == "right" and d[0]["precision"] == "int4-weights"'
	json 'd[0]["graph_reference"].startswith("engine:openvino-f32, weights in integers as they are (not engine:openvino-f32, dequantised weights: not tried: it needs ")'
	code 0 "$ASSAY" cache --clear
	# Where neither fits, nothing is opened for it, and the row says so of both.
	ASSAY_MEMORY=0.1 code 0 "$ASSAY" run $deep --json
	json 'd[0]["verdict"] == "unjudged" and d[0]["cause"].count("not tried: it needs ") >= 1'
	code 0 "$ASSAY" cache --clear
fi
# The plan counts what is taken, not what was asked: 38 MiB of integers in the place of 144 of float32.
code 0 "$ASSAY" matrix --models ${fit/--memory/--dry-run --memory} --output-dir "$work/disk"
has out '^Disk: up to 2[0-9](\.[0-9]+)? MiB of synthetic weights'
# What is there is the machine's memory, and not what the process that plans is allowed.
mkdir "$work/huge"
python3 - "$SOURCE/tests/conform/cases/llama/config.json" >"$work/huge/config.json" <<'PY'
import json, sys
config = json.load(open(sys.argv[1]))
config.update(hidden_size=16384, intermediate_size=65536, num_hidden_layers=100, num_attention_heads=128, num_key_value_heads=128, head_dim=128)
json.dump(config, sys.stdout)
PY
"$ASSAY" detect cpu --json >"$work/machine" 2>/dev/null
code 0 "$ASSAY" matrix --models "$work/huge" --synthetic --on cpu --dry-run --output-dir "$work/plan"
python3 - "$work/machine" "$work/out" <<'PY' || fail "the plan is made for another memory than the machine has"
import json, re, sys
there = json.load(open(sys.argv[1]))["machine"]["memory_available_bytes"]
said = re.search(r"of the ([0-9.]+) ([GM])iB that are available", open(sys.argv[2]).read())
said = float(said[1]) * 2 ** (30 if said[2] == "G" else 20)
sys.exit(not 0.5 < said / there < 2)
PY
finish
