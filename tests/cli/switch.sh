# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# run MODEL --switch A,B: a process that has the model on one platform moves it to another. A row for each platform, from the one before it.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
cd "$work" || exit 1

code 0 "$ASSAY" run bert --switch null:sleep_ms=1,null:sleep_ms=3 --runs 3 --no-conform --json
json '[r["switched_from"] for r in d] == ["null:sleep_ms=3", "null:sleep_ms=1"] and all(r["verdict"] == "right" for r in d)'
json 'all(abs(r["switch_ms"] - r["switch_release_ms"] - r["load_ms"] - r["first_ms"]) < 1e-6 for r in d)'
json 'all(r["switch_max_difference"] == 0 and r["switch_left_mib"] is not None and r["samples"] == 3 for r in d)'
code 0 "$ASSAY" query switches --json
json '[(r["switched_from"], r["platform"]) for r in d] == [("null:sleep_ms=3", "null"), ("null:sleep_ms=1", "null")]'
json 'all(r["emulated"] is False and r["weights"] == "synthetic" for r in d)'
code 1 "$ASSAY" run bert --switch ,
has err "^assay: --switch wants PLATFORM,PLATFORM"
code 0 "$ASSAY" report
has out '^#+ Switches: one process'
code 0 "$ASSAY" reproduce 1 --command
has out '^assay run bert --switch null:sleep_ms=3,null:[A-Za-z]+ '
code 0 "$ASSAY" run bert --switch null,null:sleep_ms=2 --runs 3 --no-conform
has out '^bert on null, switched from null:sleep_ms=2: right'
has out '^  switch +from null:sleep_ms=2 in [0-9.]+ ms: release [0-9.]+, load [0-9.]+, first run [0-9.]+; its outputs differ from those there by at most 0; -?[0-9.]+ MiB stayed behind$'
# Outputs that are not the same are told, whatever the judge says of them.
code 3 "$ASSAY" run bert --switch null,null:wrong=on --runs 3 --no-conform --json
json 'd[0]["verdict"] == "right" and d[1]["verdict"] == "wrong" and all(r["switch_max_difference"] > 0.5 for r in d)'
if has_platform openvino; then
	code 0 "$ASSAY" run bert --switch cpu,openvino --runs 6 --no-conform --json
	json '[r["engine"] for r in d] == ["ort", "openvino"] and [r["switched_from"] for r in d] == ["openvino", "cpu"]'
	json 'all(r["verdict"] == "right" and 0 <= r["switch_max_difference"] < 1e-4 and r["switch_ms"] > r["load_ms"] for r in d)'
fi
# An emulated device gets fewer tokens: then the outputs are not compared, and the row says why.
code 0 "$ASSAY" run bert --switch null,null:EMULATED --no-conform --json
json 'all(r["switch_max_difference"] is None and r["switch_not_compared"].endswith(" there: --seq asks both for one length") for r in d)'
code 0 "$ASSAY" query switches --json
json 'd[-1]["max_difference"] is None and d[-1]["not_compared"].startswith("16 tokens here and ")'
code 0 "$ASSAY" run bert --switch null,null:EMULATED --seq 16 --no-conform --json
json 'all(r["switch_max_difference"] == 0 and r["switch_not_compared"] is None for r in d)'
# The platform before does not take it: the question could not be put, whatever the other would have answered.
code 2 "$ASSAY" run bert --switch null,null:fail=open --runs 3 --no-conform --json
json '[r["verdict"] for r in d] == ["not_asked", "failed"] and "on null:fail=open, from which it was to be switched: failed" in d[0]["cause"]'
json 'all(r["switch_ms"] is None for r in d)'

for bad in "--switch cpu" "--switch cpu,cpu" "--switch cpu,openvino --on cpu" "--switch cpu,null --fallback" "--switch cpu,null --task generate"; do
	code 1 "$ASSAY" run bert $bad
	empty out
done
code 1 "$ASSAY" matrix --models bert --switch cpu,null
finish
