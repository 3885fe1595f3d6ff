# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts here. Gives a scratch folder of its own ($work, with cache and database), and checks that say
# what they wanted. Needs ASSAY (the program) and SOURCE (the source folder).
set -u
: "${ASSAY:?the program}" "${SOURCE:?the source folder}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# No test asks the Hub; fetch.sh brings one of its own.
export HF_HUB_OFFLINE=1
# No test here but detect.sh starts a browser.
export ASSAY_BROWSER_PATH=none
export ASSAY_CACHE=$work/cache ASSAY_DB=$work/assay.duckdb HF_HUB_CACHE=$work/hub HF_HOME=$work/hf LC_ALL=C
failures=0

fail()
{
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# code N COMMAND...: runs it, output in $work/out and $work/err, and checks the exit code.
code()
{
	local wanted=$1 got
	shift
	"$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	if [ "$got" -ne "$wanted" ]; then
		fail "exit code $got, not $wanted: ${*/$ASSAY/assay}"
		sed 's/^/    /' "$work/out" "$work/err" | tail -20
	fi
	return 0
}

# has FILE PATTERN: an extended regular expression matches a line of out or err.
has()
{
	grep -Eq -e "$2" "$work/$1" && return 0
	fail "no line like '$2' in $1:"
	sed 's/^/    /' "$work/$1" | tail -20
}

lacks()
{
	grep -Eq -e "$2" "$work/$1" && fail "a line like '$2' in $1: $(grep -E -m1 -e "$2" "$work/$1")"
	return 0
}

empty()
{
	[ -s "$work/$1" ] && fail "$1 should be empty: $(head -3 "$work/$1")"
	return 0
}

# json EXPRESSION: Python, with the parsed standard output as d and the folder $work as work; true is good.
json()
{
	local answer
	json_begin
	printf '%s\n%s' "$PWD" "$1" >"$work/json.ask"
	answer=$(<"$work/json.answer")
	[ "$answer" = good ] && return
	echo "$answer"
	fail "json: $1"
}

# One interpreter answers all of a script's json: starting it takes longer than what it is asked. It ends with the script.
json_begin()
{
	[ ! -p "$work/json.ask" ] || return 0
	mkfifo "$work/json.ask" "$work/json.answer" || exit 1
	(python3 - "$work" $$ >/dev/null 2>&1 <<'PY' &
import json, os, signal, sys
work, script = sys.argv[1], int(sys.argv[2])
def ends_with_the_script(*_):
    if not os.path.isdir("/proc/%d" % script):
        os._exit(0)
signal.signal(signal.SIGALRM, ends_with_the_script)
signal.setitimer(signal.ITIMER_REAL, 1, 1)
def unique(pairs):
    d = dict(pairs)
    assert len(d) == len(pairs), "a key stands twice"
    return d
def ask(place, expression):
    try:
        os.chdir(place)
        with open(work + "/out") as f:
            d = json.load(f, object_pairs_hook=unique)
        return "good" if eval(expression, {"d": d, "work": work, "json": json, "os": os, "sys": sys}) else "    " + json.dumps(d)[:2000]
    except BaseException:
        import traceback
        return traceback.format_exc()
while True:
    with open(work + "/json.ask") as f:
        place, _, expression = f.read().partition("\n")
    with open(work + "/json.answer", "w") as f:
        f.write(ask(place, expression))
PY
	)
}

need_python()
{
	command -v python3 >/dev/null || { echo "skip: python3 is not there to read JSON"; exit 77; }
	# What is called so may be a script that looks for one (pyenv's takes 0.1 s of a processor each time).
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
	json_begin
}

# skip_part WORDS: a part of this test cannot be done here. The rest is, and the test then counts as skipped, with this reason.
skipped_parts=0
skip_part()
{
	echo "skip: $*"
	skipped_parts=$((skipped_parts + 1))
}

# has_platform NAME: is it available here, as detect says? Where it is not, a part is skipped.
has_platform()
{
	"$ASSAY" detect "$1" | grep -Eq "^  $1 +yes" && return
	skip_part "$1 is not here"
	return 1
}

# has_device PLATFORM:ROUTE, or PLATFORM: has this very route a device here? webgpu may be here by a browser alone. Where not, a part is skipped.
has_device()
{
	"$ASSAY" detect "${1%%:*}" --json >"$work/detected" 2>"$work/detected.err"
	python3 - "$work/detected" "$1" <<'PY' && return
import json, sys
platform, _, route = sys.argv[2].partition(":")
d = json.load(open(sys.argv[1]))
here = [x["name"] for p in (d if isinstance(d, list) else d["platforms"]) if p["name"] == platform for x in p["devices"] or []]
sys.exit(not (route in here if route else here))
PY
	skip_part "$1 has no device here"
	return 1
}

# small_disk SIZE: a file system of that size at $work/small, to be unmounted; where that cannot be had, a part is skipped.
small_disk()
{
	mkdir -p "$work/small"
	mount -t tmpfs -o mode=755,size="$1" none "$work/small" 2>/dev/null && return
	skip_part "no file system of $1 can be mounted here, so no disk is full"
	return 1
}

finish()
{
	if [ "$failures" -gt 0 ]; then
		echo "$failures checks failed"
		exit 1
	fi
	if [ "$skipped_parts" -gt 0 ]; then
		echo "good, and $skipped_parts parts skipped"
		exit 77
	fi
	echo "good"
	exit 0
}

# not_a_number FOLDER TENSOR: the first float32 of this tensor of model.safetensors becomes NaN.
not_a_number()
{
	python3 - "$1/model.safetensors" "$2" <<'PY' || fail "$1 has no $2"
import json, struct, sys
with open(sys.argv[1], "r+b") as f:
	length = struct.unpack("<Q", f.read(8))[0]
	tensor = json.loads(f.read(length))[sys.argv[2]]
	assert tensor["dtype"] == "F32"
	f.seek(8 + length + tensor["data_offsets"][0])
	f.write(struct.pack("<f", float("nan")))
PY
}
