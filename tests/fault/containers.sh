# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Two PID namespaces (two containers) with one cache and one database: neither removes what the other uses, and the cell of a killed
# one is known to be over from the other.
. "$SOURCE/tests/cli/lib.sh" || exit 1
if ! unshare --pid --fork --mount-proc true 2>/dev/null; then
	echo "skip: no PID namespace can be made here: unshare is refused"
	exit 77
fi
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
apart="unshare --pid --fork --kill-child --mount-proc"
quick="--runs 1 --no-conform"

$apart "$ASSAY" run "$work/bert" --on null:hang=run $quick >"$work/first" 2>&1 &
first=$!
state() { "$ASSAY" query --format csv --db "$ASSAY_DB" "SELECT coalesce(verdict, state) AS now FROM result ORDER BY id LIMIT 1" 2>/dev/null | tail -1; }
for _ in $(seq 100); do
	[ "$(state)" = running ] && claims=$(find "$ASSAY_CACHE/claim" -type f | wc -l) && [ "$claims" -gt 0 ] && break
	sleep 0.1
done
[ "$(state)" = running ] || fail "the first is not running: $(state)"
# As the first one's outputs, which a cell that hangs has not written yet.
token=$(basename "$(find "$ASSAY_CACHE/claim" -type f | head -1)")
touch "$ASSAY_CACHE/run/$token-99.safetensors"

$apart "$ASSAY" run "$work/bert" --on null $quick >"$work/out" 2>&1
[ -e "$ASSAY_CACHE/run/$token-99.safetensors" ] || fail "a program in another PID namespace removed what is in use"
[ "$(state)" = running ] || fail "seen from another PID namespace the first is $(state)"

kill -9 $first
wait $first 2>/dev/null
for _ in $(seq 20); do
	[ "$(state)" = running ] || break
	sleep 0.1
done
[ "$(state)" = interrupted ] || fail "a killed container's cell is $(state)"
$apart "$ASSAY" run "$work/bert" --on null $quick >"$work/out" 2>&1
[ -e "$ASSAY_CACHE/run/$token-99.safetensors" ] && fail "what a killed container left is still there"
finish
