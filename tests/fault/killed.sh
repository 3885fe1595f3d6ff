# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Whatever ends the parent, its child goes too; a stop is a row.
. "$SOURCE/tests/fault/lib.sh"

# kill -9: no handler runs, and the child must go by itself.
for where in open run@3; do
	"$ASSAY" run "$model" --on "null:hang=$where" --runs 3 --json >"$work/out" 2>"$work/err" </dev/null &
	parent=$!
	started="$started $parent"
	until_true in_cell "$parent"
	sleep 0.3                                # it may be killed anywhere; later is the more interesting
	kill -9 "$parent"
	wait "$parent" 2>/dev/null || true
	until_true gone "$cell"
done

# The next run takes away what the killed one left, and its row says so.
code 0 "$ASSAY" run "$model" --on null --runs 3 --json
is verdict right
nothing_left '*'
code 0 "$ASSAY" query "SELECT verdict, count(*) AS n FROM result GROUP BY verdict ORDER BY verdict"
grep -Eq 'interrupted.*2' "$work/out" || fail "the killed runs' cells are not interrupted"

# SIGTERM and SIGINT: the cell ends as interrupted, at once and in order.
for signal in TERM INT; do
	# A background job of a script ignores SIGINT; setsid and env give it the default again where they can. A supervisor may
	# leave SIGCHLD ignored and signals blocked.
	env --default-signal=INT --ignore-signal=CHLD --block-signal="$signal" "$ASSAY" run "$model" --on null:hang=open --runs 3 --json >"$work/out" 2>"$work/err" </dev/null &
	parent=$!
	started="$started $parent"
	until_true in_cell "$parent"
	sleep 0.3
	kill -"$signal" "$parent"
	got=0
	wait "$parent" || got=$?
	[ "$got" -eq 2 ] || fail "exit code $got after SIG$signal"
	is verdict interrupted
	until_true gone "$cell"
	nothing_left "$parent"
done
echo good
