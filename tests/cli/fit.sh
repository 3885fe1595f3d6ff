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
json '"dequantised" in d[0]["graph_reference"] and d[0]["graph_verdict"] == d[0]["arithmetic_verdict"] == "right" and d[0]["nmse"] is None'
[ "$(du -sm "$ASSAY_CACHE" | cut -f1)" -lt 60 ] || fail "float32 weights were written: $(du -sm "$ASSAY_CACHE")"
# Asked again: the same row. In another precision the same weights are made anew, and as they were.
code 0 "$ASSAY" matrix --models $fit --resume --output-dir "$work/fitted"
code 0 "$ASSAY" matrix --models $fit --resume --output-dir "$work/fitted"
has out '1 finished before'
code 0 "$ASSAY" run ${fit/--memory 0.06 --fit/--precision int8-weights} --json
json 'd[0]["verdict"] == "right" and d[0]["fitted"] is None and d[0]["nmse"] > 0'
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
finish
