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
	below "$parent"
	all=${below[*]}
	started="$started $all"
}

# $pages: those processes of the browser that show pages, by the last look; which of them shows ours cannot be seen from outside.
pages()
{
	local p words
	pages=
	below "$browser"
	for p in "${below[@]}"; do
		mapfile -d '' -t words <"/proc/$p/cmdline" || continue
		words=${words[*]}
		case $words in *--type=renderer* | *-contentproc*' tab'*) pages="$pages $p" ;; esac
	done 2>/dev/null
}

# The page is at work: waiting for it takes the cell next to no processor time, one run after the other does. What it took before there
# was any page is not counted.
a_page_is_there()
{
	a_browser_runs "$1" || return 1
	pages
	[ -n "$pages" ] || return 1
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
		look
		pages
		for p in $pages; do
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
	# Who is killed by somebody says nothing of the model.
	is verdict "$(grep -Eq 'died of signal (9|15), .*; somebody, or the kernel for want of memory' "$work/out" && echo not_asked || echo "$1")"
	says cause "$2"
	until_true none_of "$all"
	nothing_left '*'
	left=$(find "$ASSAY_CACHE/run" -mindepth 1 2>/dev/null || true)
	[ -z "$left" ] || fail "left behind: $left"
}

# Which browser is asked is $kind.
the_browser_dies()
{
	start
	kill -9 "$browser"
	ended not_asked 'died of signal 9'
}

# The browser lives.
the_page_dies()
{
	start
	pages_die
	ended failed 'page was closed or reloaded, or its process died|died of signal|ended with exit code'
}

it_is_closed_in_order()
{
	start
	kill -TERM "$browser"
	ended failed 'ended with exit code|died of signal 15|page was closed'
}

# All of it is stopped, which is somebody's doing and not the model's.
it_hangs()
{
	start --timeout 50
	look
	below "$browser"
	for p in "$browser" "${below[@]}"; do
		kill -STOP "$p" 2>/dev/null || true
	done
	ended not_asked 'had been stopped by a signal when the limit'
}

# Nobody is left to end the browser but the kernel. What a killed run left goes with the next one.
assay_is_killed()
{
	start
	kill -9 "$parent"
	wait "$parent" 2>/dev/null || true
	until_true none_of "$all"
	code 0 "$ASSAY" run "$model" --on null --runs 3 --json
	left=$(find "$ASSAY_CACHE/run" -mindepth 1 2>/dev/null || true)
	[ -z "$left" ] || fail "left behind: $left"
}

# one CASE: with a cache and a database of its own, which knows the browsers already.
one()
{
	local own=$work.$kind.$1
	cp -r "$work" "$own"
	work=$own started=
	trap cleanup EXIT
	trap 'exit 1' TERM
	export ASSAY_CACHE=$work/cache ASSAY_DB=$work/assay.duckdb
	echo "$kind: $1"
	"$1"
}

# Most of the time of two cases nothing happens: one waits for its limit, the other, where the browser is Firefox, for the minute in which
# a page may say nothing. They begin first and go on beside the others, of which each is mostly a browser that starts.
waiting=
all_end()
{
	# shellcheck disable=SC2086
	[ -z "$waiting" ] || kill $waiting 2>/dev/null || true
	wait
	cleanup
}
trap all_end EXIT
any=
for kind in firefox chromium; do
	status=0
	(needs wasm $kind) || status=$?
	[ "$status" != 77 ] || { skip_part "$kind"; continue; }
	[ "$status" = 0 ] || exit 1
	any=1
	on=cpu:$kind
	cases="the_page_dies the_browser_dies assay_is_killed"
	if [ $kind = chromium ] || [ -n "${ASSAY_LONG-}" ]; then # these are the parent's doing, whichever browser it is
		cases="it_hangs $cases it_is_closed_in_order"
	fi
	for each in $cases; do
		case $kind:$each in
		*:it_hangs | firefox:the_page_dies)
			(one "$each") &
			waiting="$waiting $!"
			;;
		*) (one "$each") ;;
		esac
	done
done
[ -n "$any" ] || exit 77
for each in $waiting; do
	wait "$each" || exit 1
done
# An adapter that is not found where the drivers are disabled is looked for again where they are not.
if (needs webgpu chromium) >/dev/null; then
	rm -rf "$ASSAY_CACHE/browser" "$work/detect"
	VK_LOADER_DRIVERS_DISABLE='*' code 0 "$ASSAY" detect webgpu --json
	says chromium 'requestAdapter gave no adapter'
	needs webgpu chromium
else
	skip_part "no chromium with WebGPU: an adapter that was not found"
fi
echo good
[ "$skipped_parts" = 0 ] || exit 77
