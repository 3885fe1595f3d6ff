# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Another process has the lock of what a compiler made, as one that compiles the same: waiting for it is no part of the load, and no
# timeout of the model.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform openvino || exit 77
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
kept() { code "$1" "$ASSAY" run "$work/bert" --on openvino --options cache=true --runs 1 --no-conform --json "${@:2}"; }
kept 0
json 'd[0]["verdict"] == "right" and d[0]["options"] and d[0]["load_ms"] > 0'
lock=$(echo "$ASSAY_CACHE"/compiled/*.lock)
[ -f "$lock" ] || fail "no lock of what was compiled: $lock"
exec 8>>"$lock"
flock 8 || fail "the lock is not free"
kept 2 --timeout 2
json 'd[0]["verdict"] == "not_asked" and "another process had locked" in d[0]["cause"] and d[0]["cause"].startswith("load: ")'
(sleep 3 && exec flock -u 8) &
exec 8>&-
kept 0
json 'd[0]["verdict"] == "right" and d[0]["load_ms"] < 2500'
wait
finish
