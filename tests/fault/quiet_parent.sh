# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# While a cell is timed the parent sleeps: it is not scheduled once between two looks. And it never loads an engine.
. "$SOURCE/tests/fault/lib.sh"

# Runs of 1 s: whatever the machine does beside, the looks below fall into the timed runs.
"$ASSAY" run "$model" --on null:sleep_ms=1000 --runs 8 --json >"$work/out" 2>"$work/err" </dev/null &
parent=$!
started="$started $parent"
until_true in_cell "$parent"

switches()
{
	sed -n 's/^\(non\)\{0,1\}voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$1/status" | tr '\n' ' '
}

# Untimed phases are sampled at 100 Hz, so the count stands still only when the timed ones have begun.
quiet()
{
	local before
	! gone "$parent" || fail "the cell was over before it was looked at"
	before=$(switches "$parent")
	sleep 1
	[ -n "$before" ] && [ "$before" = "$(switches "$parent")" ]
}
until_true quiet
! gone "$cell" || fail "the parent was quiet, but its cell was over"
[ "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$parent/status")" = S ] || fail "the parent does not sleep"

maps=$(cat "/proc/$parent/maps")
if echo "$maps" | grep -Eq 'libonnxruntime|libopenvino'; then
	fail "the parent has loaded an engine"
fi
wait "$parent" || fail "exit code $?"
is verdict right
is samples 8
echo good
