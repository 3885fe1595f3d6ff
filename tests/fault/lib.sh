# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests here: a scratch folder with its own cache and database, a tiny checkpoint in it ($model), and looks at
# processes and at JSON. Needs ASSAY (the program) and SOURCE (the source folder); no Python, and no tool but coreutils, grep and sed.
set -eu
: "${ASSAY:?the program}" "${SOURCE:?the source folder}"
work=$(mktemp -d)
started=
cleanup()
{
	for pid in $started; do
		kill -9 "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap cleanup EXIT
# Browsers are for tests/browser: looking at one takes seconds.
export ASSAY_BROWSER_PATH=none
export ASSAY_CACHE=$work/cache ASSAY_DB=$work/assay.duckdb LC_ALL=C
model=$work/model
"$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$model" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }

fail()
{
	echo "FAIL: $*"
	for f in "$work/out" "$work/err"; do
		[ ! -s "$f" ] || { echo "--- ${f##*/}:"; tail -40 "$f"; }
	done
	exit 1
}

# code N COMMAND...: its exit code is N; output in $work/out and $work/err.
code()
{
	local wanted=$1 got=0
	shift
	"$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
	[ "$got" -eq "$wanted" ] || fail "exit code $got, not $wanted: $*"
}

# all KEY: the values of a text or number key in the JSON of $work/out, one a line, in order.
all()
{
	sed -n "s/^ *\"$1\": \"\{0,1\}\(.*[^,\"]\)\"\{0,1\},\{0,1\}$/\1/p" "$work/out"
}

# is KEY VALUE...: the values of the cells, in order.
is()
{
	local key=$1 wanted
	shift
	wanted=$(printf '%s\n' "$@")
	[ "$(all "$key")" = "$wanted" ] || fail "\"$key\" is '$(all "$key" | tr '\n' ' ')', not '$*'"
}

# says KEY PATTERN: a value matches.
says()
{
	all "$1" | grep -Eq -e "$2" || fail "\"$1\" is '$(all "$1")', not like '$2'"
}

# until_true COMMAND...: waits for something that must come; what does not come in a minute has failed.
until_true()
{
	local i
	for i in $(seq 600); do
		! "$@" || return 0
		sleep 0.1
	done
	fail "did not happen: $*"
}

# gone PID: no process, or a zombie that nobody has looked at yet.
gone()
{
	local state
	state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) || return 0
	[ -z "$state" ] || [ "$state" = Z ] || [ "$state" = X ]
}

# look: ${children[PID]} has the numbers of every process's children, as they are now. Reads only, no program is started: a look must be
# quick on a busy machine too, and there is one for all that is asked of it.
look()
{
	local s line
	children=()
	for s in /proc/[0-9]*/stat; do
		read -r line <"$s" || continue
		# shellcheck disable=SC2086
		set -- ${line##*) }                      # state, parent, ...
		s=${s#/proc/}
		[ -z "${2-}" ] || children[$2]+=" ${s%/stat}"
	done 2>/dev/null
}

# a_child PID WORD: $child is that child of it, by the last look, whose command line has the word. Which of several is the first says nothing:
# a process that has lost its parent comes to the next reaper above it, and by names 10001 is before 9999.
a_child()
{
	local words
	for child in ${children[$1]-}; do
		{ mapfile -d '' -t words <"/proc/$child/cmdline"; } 2>/dev/null || continue
		case " ${words[*]-} " in *" $2"[\ =]*) return 0 ;; esac
	done
	return 1
}

# in_cell PID: it has a child for a cell, the guard, and that one a child, $cell, that does the work. Their command lines say "cell" and
# nothing behind it; "cell --probe ENGINE", which looks for devices before the first cell is started, is another thing. It leaves the look.
in_cell()
{
	local c words
	look
	for c in ${children[$1]-}; do
		{ mapfile -d '' -t words <"/proc/$c/cmdline"; } 2>/dev/null || continue
		if [ "${#words[@]}" -eq 2 ] && [ "${words[1]}" = cell ] && a_child "$c" cell; then
			cell=$child
			return 0
		fi
	done
	return 1
}

# Where assay makes control groups: below the one that this test is in, or beside it. What stands elsewhere is not of this machine's tests.
group_places()
{
	local controllers path
	while IFS=: read -r _ controllers path; do
		case ,$controllers, in
		*,memory,*) echo "/sys/fs/cgroup/memory$path" ;;
		,,) printf '%s\n' "/sys/fs/cgroup$path" "/sys/fs/cgroup${path%/*}" ;;
		esac
	done </proc/self/cgroup
}

# left_over PID|*: outputs, half-made references, control groups. A group whose lock is held belongs to a test that runs beside this one.
left_over()
{
	local place
	find "$ASSAY_CACHE/run" -type f 2>/dev/null
	find "$ASSAY_CACHE" -name '*.part' 2>/dev/null
	group_places | sort -u | while IFS= read -r place; do
		find "$place" -maxdepth 1 -type d -name "assay-$1-*" -exec flock -n '{}' true \; -print \
			-exec sh -c 'while read -r p; do grep -E "^(Name|State|PPid)" "/proc/$p/status"; done <"$1/cgroup.procs"' sh '{}' \; 2>/dev/null || true
	done
}

# Nothing of a run is left. Tests beside this one kill assay, and what they leave goes with the next run of theirs: so some seconds are given.
nothing_left()
{
	local i=0 left
	while left=$(left_over "$1") && [ -n "$left" ] && [ $i -lt 100 ]; do
		sleep 0.1
		i=$((i + 1))
	done
	[ -z "$left" ] || fail "left behind: $left"
}

# skip_part WORDS: a part of this test cannot be done here. The rest is, and the test then counts as skipped, with this reason.
skipped_parts=0
skip_part()
{
	echo "skip: $*"
	skipped_parts=$((skipped_parts + 1))
}

# The last line of a test that has such parts.
ended()
{
	[ "$skipped_parts" = 0 ] || exit 77
	echo good
	exit 0
}
