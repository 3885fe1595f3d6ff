# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests here: what tests of faults have, and looks at browsers. Skipping is for a browser that is not there; one that
# is there and does not work has failed.
. "$SOURCE/tests/fault/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}malloc_context_size=2:quarantine_size_mb=16

# needs PROVIDER DEVICE: a browser of that kind has wasm, webgpu or webnn, or the test is skipped with the reason.
needs()
{
	[ -s "$work/detect" ] || "$ASSAY" detect --json >"$work/detect" 2>/dev/null
	grep -A1 "\"provider\": \"$1\"" "$work/detect" | grep -q "\"name\": \"$2\"" && return
	echo "skip: no $2 with $1 here: $(sed -n "s/^ *\"$2\": \"\(.*\)\",\{0,1\}$/\1/p" "$work/detect" | head -1)"
	exit 77
}

# Every process below PID.
below()
{
	local c
	for c in $(child_of "$1"); do
		echo "$c"
		below "$c"
	done
}

# a_browser_runs PID: the cell of this run has a browser; its first process is in $browser.
a_browser_runs()
{
	in_cell "$1" || return 1
	browser=$(child_of "$cell" | head -1)
	[ -n "$browser" ]
}

# none_of PIDS: every one is gone.
none_of()
{
	local p
	for p in $1; do
		gone "$p" || return 1
	done
}
