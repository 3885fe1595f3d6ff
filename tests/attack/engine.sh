# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# An engine that means ill, and a machine that gives nothing: daemons end with their cell, memory that is shared counts, and what could not be
# asked is not said to be absent; a folder of engines that holds others. The null engine plays the engine.
. "$SOURCE/tests/fault/lib.sh"
shim()
{
	LD_PRELOAD=$BUILD/tests/attack_shim.so ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 "$@"
}

# ---- a daemon: it has left session, group and parent, and does not survive the cell, however that ends

daemon_file=$work/daemon
ends_with_the_cell()
{
	[ -s "$daemon_file" ] || fail "$*: there was no daemon"
	read -r daemon <"$daemon_file"
	rm "$daemon_file"
	started="$started $daemon"
	until_true gone "$daemon"
}

quick="--runs 1 --no-conform --json --no-db"
for cgroup in off on; do
	export ASSAY_CGROUP=$cgroup
	# shellcheck disable=SC2086
	code 2 "$ASSAY" run "$model" --on "null:daemon=$daemon_file.ends" --on "null:daemon=$daemon_file,crash=run" $quick
	is verdict right crashed
	ends_with_the_cell "a cell that dies, control groups $cgroup"
	mv "$daemon_file.ends" "$daemon_file"
	ends_with_the_cell "a cell that ends, control groups $cgroup"
done
export ASSAY_CGROUP=off
# shellcheck disable=SC2086
code 2 "$ASSAY" run "$model" --on "null:daemon=$daemon_file,hang=run" --timeout 1 $quick
is verdict timeout
ends_with_the_cell "a cell that hangs"

for signal in KILL TERM; do
	# shellcheck disable=SC2086
	"$ASSAY" run "$model" --on "null:daemon=$daemon_file,hang=run" $quick >"$work/out" 2>"$work/err" </dev/null &
	parent=$!
	started="$started $parent"
	until_true test -s "$daemon_file"
	kill -$signal $parent
	wait $parent 2>/dev/null || true
	ends_with_the_cell "a parent that is ended by SIG$signal"
done

# ---- shared memory: under a limit it is held, and without one it is measured

# shellcheck disable=SC2086
code 2 "$ASSAY" run "$model" --on null:share=0.7 --memory 0.35 $quick
is verdict no_memory
says cause 'went over the limit of 358 MiB'
# shellcheck disable=SC2086
code 0 "$ASSAY" run "$model" --on null:share=0.25 $quick
# Where nobody gave a limit there is one all the same, and the row says which.
says memory_sampling 'limit by .*: [0-9.]+ [GM]iB, since [0-9.]+ [GM]iB were available'
peak=$(all peak_anonymous_mib)
[ "${peak%.*}" -ge 250 ] || fail "256 MiB of shared memory, and the peak is $peak MiB"
# Page tables are memory, though nothing is in the pages.
# shellcheck disable=SC2086
code 2 "$ASSAY" run "$model" --on null:tables=0.5 --memory 0.35 $quick
is verdict no_memory
unset ASSAY_CGROUP
# shellcheck disable=SC2086
ASSAY_MEMORY=0.35 code 2 "$ASSAY" run "$model" --on null:share=2 --on null:eat=2 $quick
is verdict no_memory no_memory
[ "$(all cause | grep -c 'limit of 358 MiB.* as ASSAY_MEMORY says')" = 2 ] || fail "not both at the limit"
code 2 "$ASSAY" conform --on null:eat=2 --memory 0.35 "$SOURCE/tests/conform/cases/bert"
grep -q 'limit of 358 MiB' "$work/out" || fail "conform goes over its limit"
# Of a user in hundreds of groups, which the kernel tells first, nothing was counted.
if [ "$(id -u)" = 0 ]; then
	# shellcheck disable=SC2086
	ASSAY_CGROUP=off code 2 python3 -c 'import os, sys
os.setgroups(range(1000000000, 1000000500))
os.execv(sys.argv[1], sys.argv[1:])' "$ASSAY" run "$model" --on null:share=0.5 --memory 0.35 $quick
	is verdict no_memory
else
	skip_part "only the super-user can be in other groups"
fi
# shellcheck disable=SC2086
ASSAY_MEMORY=much code 1 "$ASSAY" run "$model" --on null $quick
grep -q 'ASSAY_MEMORY=much: a number of GiB' "$work/err" || fail "a limit that is no number"

# ---- a folder of engines: what lies there under an engine's name is opened only where it is a file, and one that waits while it is
# loaded is ended and named

mkdir -p "$work/engines/onnxruntime" "$work/engines/duckdb"
engines() { ASSAY_ENGINE_PATH=$work/engines timeout 20 "$ASSAY" "$@"; }
mkfifo "$work/engines/onnxruntime/libonnxruntime.so"
code 0 engines detect cpu
grep -q 'onnxruntime/libonnxruntime.so is a named pipe and no file' "$work/out" || fail "detect: a pipe in the place of an engine"
code 2 engines doctor cpu
grep -Eq 'bad +library .*libonnxruntime.so is a named pipe' "$work/out" || fail "doctor: a pipe in the place of an engine"
rm "$work/engines/onnxruntime/libonnxruntime.so"
cp "$BUILD/tests/attack_shim.so" "$work/engines/onnxruntime/libonnxruntime.so"
# Engines read settings of fixed names in the current folder, a stranger's model's perhaps: they are loaded in another. What is named from there
# is found all the same.
(cd "$work" && SHIM_HERE=$work/here ASSAY_CACHE=own ASSAY_ENGINE_PATH=engines "$ASSAY" detect cpu >"$work/out" 2>&1)
[ "$(cat "$work/here")" = / ] || fail "an engine is loaded in $(cat "$work/here")"
waits='libonnxruntime.so was still being loaded when the limit of 0.5 s was over'
export SHIM_WAITS=1
# shellcheck disable=SC2086
code 2 engines run "$model" --on cpu --timeout 0.5 $quick
is verdict timeout
says cause "$waits"
code 2 engines doctor cpu --timeout 0.5
grep -q 'libonnxruntime.so was still being' "$work/out" || fail "doctor: an engine that waits"
mv "$work/engines/onnxruntime/libonnxruntime.so" "$work/engines/duckdb/libduckdb.so"
# shellcheck disable=SC2086
code 1 engines run "$model" --on null --timeout 0.5 ${quick% --no-db}
grep -q 'libduckdb.so was still being loaded when the limit of time was over' "$work/err" || fail "run: a database library that waits"
rm "$work/engines/duckdb/libduckdb.so"
unset SHIM_WAITS
SHIM_NO_THREAD=1 code 1 shim "$ASSAY" query fastest
grep -q 'libduckdb.so.* cannot be opened: no thread can be made to limit its time' "$work/err" || fail "a library was loaded without a limit of time"
mkfifo "$work/engines/duckdb/libduckdb.so"
code 1 engines query fastest
grep -q 'duckdb/libduckdb.so is a named pipe and no file' "$work/err" || fail "query: a pipe in the place of the database library"
rm -r "$work/engines"

# ---- what lies in a folder that cannot be looked into is not said to be absent, nor is a part of an engine that is there and cannot be
# opened. A link to itself: the super-user may read everything else.

deps=$(readlink -f "${ASSAY_DEPS:-$SOURCE/.deps}")/engines
if [ -d "$deps/openvino" ]; then
	mkdir -p "$work/engines/onnxruntime" "$work/engines/openvino"
	ln -s "$deps"/onnxruntime/* "$work/engines/onnxruntime"
	ln -s "$deps"/openvino/lib* "$work/engines/openvino"
	ln -s onnxruntime-qnn "$work/engines/onnxruntime-qnn"
	rm "$work/engines/openvino/"*_cpu_plugin.so "$work/engines/openvino/"*_onnx_frontend.so*
	code 0 engines detect openvino
	grep -Eq '^  openvino +no ' "$work/out" || fail "detect: OpenVINO without its plugin for the processor"
	: >"$work/engines/openvino/libopenvino_intel_cpu_plugin.so"
	code 0 engines detect openvino qnn
	grep -Eq '^  openvino +\? +OpenVINO finds no CPU; its plugin .*_cpu_plugin.so' "$work/out" || fail "detect: an empty plugin"
	grep -Eq "^  qnn +\? +$work/engines/onnxruntime-qnn, in which .* may be, cannot be read" "$work/out" || fail "detect: a folder that cannot be read"
	# shellcheck disable=SC2086
	code 0 engines run "$model" --on cpu $quick
	is verdict unjudged
	says cause 'no device CPU; .* its plugin .*_cpu_plugin.so cannot be opened: .*: file too short'
	rm "$work/engines/openvino/libopenvino_intel_cpu_plugin.so"
	ln -s "$deps"/openvino/*_cpu_plugin.so "$work/engines/openvino"
	: >"$work/engines/openvino/libopenvino_onnx_frontend.so.1"
	# shellcheck disable=SC2086
	code 2 engines run "$model" --on openvino $quick
	is verdict not_asked
	says cause 'its reader of ONNX files .*/libopenvino_onnx_frontend.so.1 cannot be opened: .*: file too short'
	rm -r "$work/engines"
else
	echo "not tried: openvino is not in $deps"
fi

# ---- System V segments, semaphores and queues, which stay when their makers have ended: those of a cell go with it, however it ends, and
# nothing of anybody else's

kept() { cat /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg | wc -l; }
there_are() { [ "$(kept)" = $((there + $1)) ]; }
mkdir -p "$work/engines/onnxruntime"
cp "$BUILD/tests/attack_shim.so" "$work/engines/onnxruntime/libonnxruntime.so"
others=
if command -v ipcmk >"$work/out" && command -v ipcrm >"$work/out"; then
	others=$(ipcmk -M 4096 -S 1 -Q | sed 's/.* //') # of a process that has ended, before the cell
fi
there=$(kept)
export SHIM_KEEPS=1
# shellcheck disable=SC2086
code 2 engines run "$model" --on cpu $quick
there_are 0 || fail "a cell that ends: $(cat /proc/sysvipc/*)"
export SHIM_WAITS=1
for cgroup in off on; do
	# shellcheck disable=SC2086
	ASSAY_CGROUP=$cgroup code 2 engines run "$model" --on cpu --timeout 0.5 $quick
	is verdict timeout
	there_are 0 || fail "a cell that is ended: $(cat /proc/sysvipc/*)"
done
hangs()
{
	# shellcheck disable=SC2086
	ASSAY_ENGINE_PATH=$work/engines "$ASSAY" run "$model" --on cpu --timeout 30 $quick >"$work/out" 2>"$work/err" </dev/null &
	started="$started $!"
}
hangs
first=$!
until_true there_are 3
# What another program makes meanwhile, and leaves for its next start, is its own.
if [ -n "$others" ]; then
	others="$others $(ipcmk -M 4096 | sed 's/.* //')"
	there=$((there + 1))
fi
hangs
second=$!
until_true there_are 6
kill -KILL $first
until_true there_are 3
kill -TERM $second
until_true there_are 0
unset SHIM_KEEPS SHIM_WAITS
# shellcheck disable=SC2086
[ -z "$others" ] || { set -- $others; ipcrm -m "$1" -q "$2" -s "$3" -m "$4"; }
rm -r "$work/engines"

# ---- a machine that gives nothing: no descriptors, no stack, no processes

not_asked()
{
	local words=$1
	shift
	# The first is looked for by a probe, the other is not.
	# shellcheck disable=SC2086
	code 2 "$@" "$ASSAY" run "$model" --on cpu,null ${quick% --no-db}
	is verdict not_asked not_asked
	says cause "$words"
}
limited() { (ulimit "$1" "$2" && shift 2 && "$@"); }
not_asked 'ulimit -n' limited -n 14
not_asked 'ulimit -s' limited -s 64
# Above these bounds an engine may die of a limit, and nobody can tell that from a hole of its own.
for limit in '-s 512' ${ASSAY_LONG:+'-v 2000000'} '-d 2000000'; do
	# shellcheck disable=SC2086
	code 2 limited $limit "$ASSAY" run "$model" --on null:crash=run --on null:exit=127 $quick
	is verdict not_asked not_asked
	says cause "the process died of signal .* raise the limit .ulimit ${limit% *}"
	says cause "the process ended with exit code 127 .* raise the limit .ulimit ${limit% *}"
done
# An allocation fails under the lower of this user's limit and --memory: only of the second it may be said how much it is.
for limit in '-d 400000' ${ASSAY_LONG:+'-v 900000'}; do
	# shellcheck disable=SC2086
	code 2 limited $limit "$ASSAY" run "$model" --on null:eat=1 $quick
	is verdict not_asked
	says cause "could not be allocated: Cannot allocate memory; a process may have .* raise the limit .ulimit ${limit% *}"
done
# shellcheck disable=SC2086
code 2 limited -d 2000000 "$ASSAY" run "$model" --on null:eat=1 --memory 0.1 $quick
is verdict no_memory
# The kernel ends what an engine has started, and the engine goes on: no model that keeps to the limit.
if [ -n "${ASSAY_LONG:-}" ]; then
	# shellcheck disable=SC2086
	SHIM_FORK=cell:model.safetensors code 2 shim "$ASSAY" run "$model" --on null --memory 0.3 $quick
	is verdict no_memory
fi
export SHIM_NO_PROCESS=1
not_asked 'no process can be started for it: Resource temporarily unavailable' shim
code 0 shim "$ASSAY" detect cpu
grep -Eq '^  cpu +\? +CPU: no process can be started' "$work/out" || fail "detect says more than it knows"
unset SHIM_NO_PROCESS
code 0 "$ASSAY" query --format csv "SELECT count(*) FILTER (verdict = 'not_asked') AS a, count(*) FILTER (verdict = 'unavailable') AS b FROM result"
grep -q '^6,0$' "$work/out" || fail "the rows of limits: $(cat "$work/out")"

# So says doctor, whose answer is no row.
code 2 limited -n 14 "$ASSAY" doctor null
grep -q '=> whether null works is not known: it could not be asked' "$work/out" || fail "doctor without descriptors: $(cat "$work/out")"

# What a browser lacks ends it, or lets it wait without a word: it is not started (it is no program here), and no model is blamed.
mkdir -p "$work/engines/onnxruntime-web" "$work/browsers"
echo '/*! ONNX Runtime Web v1.30.0 */' >"$work/engines/onnxruntime-web/ort.webgpu.bundle.min.mjs"
echo '#!/bin/false' >"$work/browsers/chromium"
chmod +x "$work/browsers/chromium"
lacking()
{
	local words=$1
	shift
	# No real browser is in PATH: each would be asked what it is.
	# shellcheck disable=SC2086
	ASSAY_BROWSER_PATH=$work/browsers/chromium ASSAY_ENGINE_PATH=$work/engines code 2 "$@" env PATH="$work/none" "$ASSAY" run "$model" --on cpu:chromium $quick
	is verdict not_asked
	says cause "$words"
}
lacking 'files that may be open: 100 here, and chromium needs 160: raise the limit \(ulimit -n' limited -n 100
lacking 'a stack may have 128 KiB here, and chromium needs 256: raise the limit \(ulimit -s' limited -s 128
lacking 'a file may have 16000 KiB here, and chromium needs 32768: raise the limit \(ulimit -f' limited -f 16000
lacking 'a process may have 39062 MiB of addresses here, and chromium needs 131072: raise the limit \(ulimit -v' limited -v 40000000
lacking 'a process may have 97 MiB of data here, and chromium needs 4608: raise the limit \(ulimit -d' limited -d 100000
# It may need more than is known of it. Real ones are not in PATH, and the one beside the engines is a Chromium.
printf '#!/bin/sh\nkill -XFSZ $$\n' >"$work/browsers/firefox"
# One that this user may not execute was "not on this machine".
# shellcheck disable=SC2086
PATH=$work/none ASSAY_BROWSER_PATH=$work/browsers/firefox ASSAY_ENGINE_PATH=$work/engines "$ASSAY" run "$model" --on cpu:firefox $quick \
	>"$work/out" 2>&1 && fail "a browser that nobody may execute"
is verdict not_asked
says cause 'browsers/firefox is there, and cannot be started: Permission denied'
chmod +x "$work/browsers/firefox"
# shellcheck disable=SC2086
PATH=$work/none ASSAY_BROWSER_PATH=$work/browsers/firefox ASSAY_ENGINE_PATH=$work/engines limited -f 100000 "$ASSAY" run "$model" --on cpu:firefox $quick \
	>"$work/out" 2>&1 && fail "a browser that died"
is verdict not_asked
says cause 'firefox died of signal 25, .*; a file may have 100000 KiB here, and firefox may need more: raise the limit \(ulimit -f'
# One that was killed as it was looked at was not on this machine for ten minutes.
printf '#!/bin/sh\nkill -9 $$\n' >"$work/browsers/firefox"
# shellcheck disable=SC2086
PATH=$work/none ASSAY_BROWSER_PATH=$work/browsers/firefox ASSAY_ENGINE_PATH=$work/engines "$ASSAY" run "$model" --on cpu:firefox $quick \
	>"$work/out" 2>&1 && fail "a browser that was killed"
is verdict not_asked
says cause 'firefox died of signal 9, .*; somebody, or the kernel for want of memory, ended it'
[ -z "$(grep -rl 'signal 9' "${ASSAY_CACHE:-$HOME/.cache/assay}/browser" 2>/dev/null)" ] || fail "a browser that was killed is remembered"
if [ "$(id -u)" = 0 ] && unshare -nm true 2>"$work/err"; then
	lacking 'the loopback interface is down, and chromium reaches its page through it' unshare -n
	mkdir "$work/small"
	# shellcheck disable=SC2016
	ASSAY_CACHE=$work/small lacking 'KiB of the disk are free, and chromium needs 5 MiB for its profile' \
		unshare -m sh -c 'mount -t tmpfs -o size=3m,mode=700 none "$ASSAY_CACHE" && exec "$@"' sh
else
	echo "not tried: only the super-user can have a disk and a network of his own"
fi

# Resuming asks it again.
matrix() { "$ASSAY" matrix --models "$model" --on null --runs 1 --no-conform --output-dir "$work/matrix" --resume; }
code 2 limited -n 14 matrix
grep -q '^1 not_asked' "$work/out" || fail "the matrix without descriptors"
code 0 matrix
grep -q '^1 right' "$work/out" || fail "a row that says not_asked was taken for an answer"
# A row is not refuted by what was in the way.
row=$("$ASSAY" query --format csv "SELECT max(id) FROM result WHERE verdict = 'right'" --db "$work/matrix/assay.duckdb" 2>/dev/null | tail -1)
code 2 limited -n 14 "$ASSAY" reproduce "$row" --db "$work/matrix/assay.duckdb"
grep -q '^not told: the question could not be asked here' "$work/out" || fail "reproduce where nothing can be asked: $(cat "$work/out")"
echo good
