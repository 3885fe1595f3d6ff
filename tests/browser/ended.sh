# SPDX-License-Identifier: Apache-2.0
# A browser that dies, hangs or is closed in the middle of a cell: a row with the cause, no process, no profile folder.
. "$SOURCE/tests/browser/lib.sh"

# start OPTIONS...: a cell that has work for longer than this test needs; $parent, $cell, $browser and $all its processes. One thread: more
# wait for each other at the cost of all processors.
start()
{
	"$ASSAY" run "$model" --on "$on" --runs 1000000 --threads 1 --timeout 200 --json "$@" >"$work/out" 2>"$work/err" </dev/null &
	parent=$!
	ticks=
	started="$started $parent"
	until_true a_page_is_there "$parent"
	all=$(below "$parent")
	started="$started $all"
}

# Those processes of the browser that show pages; which of them shows ours cannot be seen from outside.
pages()
{
	for p in $(below "$browser"); do
		{ tr '\0' ' ' <"/proc/$p/cmdline"; } 2>/dev/null | grep -Eq -e '--type=renderer|-contentproc.* tab' && echo "$p"
	done
}

# The page is at work: waiting for it takes the cell next to no processor time, one run after the other does. What it took before there
# was any page is not counted.
a_page_is_there()
{
	a_browser_runs "$1" || return 1
	[ -n "$(pages)" ] || return 1
	{ read -r line <"/proc/$cell/stat"; } 2>/dev/null || return 1
	# shellcheck disable=SC2086
	set -- ${line##*) }
	: "${ticks:=$((${12} + ${13}))}"
	[ $((${12} + ${13} - ticks)) -ge 40 ]
}

# Each process that shows pages is killed, for a while: Firefox starts some in advance, and one that is just taking the page over from
# another would go on with it.
pages_die()
{
	for _ in $(seq 30); do
		for p in $(pages); do
			kill -9 "$p" 2>/dev/null || true
		done
		sleep 0.1
	done
}

# ended VERDICT CAUSE: the run comes to its end with this row, and nothing is left.
ended()
{
	local got=0
	wait "$parent" || got=$?
	[ "$got" -eq 2 ] || fail "exit code $got"
	is verdict "$1"
	says cause "$2"
	until_true none_of "$all"
	nothing_left '*'
	left=$(find "$ASSAY_CACHE/run" -mindepth 1 2>/dev/null || true)
	[ -z "$left" ] || fail "left behind: $left"
}

any=
for kind in chromium firefox; do
	(needs wasm $kind) || { skip_part "$kind"; continue; }
	any=1
	on=cpu:$kind

	echo "$kind: The whole browser dies"
	# The whole browser dies.
	start
	kill -9 "$browser"
	ended failed 'died of signal 9'

	echo "$kind: The process of the page dies"
	# The process of the page dies, the browser lives.
	start
	pages_die
	ended failed 'page was closed or reloaded, or its process died|died of signal|ended with exit code'

	if [ $kind = chromium ] || [ -n "${ASSAY_LONG-}" ]; then # what follows is the parent's doing, whichever browser it is
		echo "$kind: It is closed in order"
		# It is closed in order.
		start
		kill -TERM "$browser"
		ended failed 'ended with exit code|died of signal 15|page was closed'

		echo "$kind: It hangs"
		# It hangs: all of it stops.
		start --timeout 40
		for p in $browser $(below "$browser"); do
			kill -STOP "$p" 2>/dev/null || true
		done
		ended timeout 'not finished when the limit'
	fi

	echo "$kind: assay itself is killed"
	# assay itself is killed: nobody is left to end the browser but the kernel.
	start
	kill -9 "$parent"
	wait "$parent" 2>/dev/null || true
	until_true none_of "$all"
done
[ -n "$any" ] || exit 77
# What a killed run left goes with the next one.
code 0 "$ASSAY" run "$model" --on null --runs 3 --json
left=$(find "$ASSAY_CACHE/run" -mindepth 1 2>/dev/null || true)
[ -z "$left" ] || fail "left behind: $left"
echo good
[ "$skipped_parts" = 0 ] || exit 77
