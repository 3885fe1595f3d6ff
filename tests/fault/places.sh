# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Where nothing can be written, and a program that is not there: a sentence that says which place, and what to do.
. "$SOURCE/tests/fault/lib.sh"
: >"$work/file"

ASSAY_CACHE=$work/file/cache code 1 "$ASSAY" run "$model" --on null --runs 3
grep -q "$work/file" "$work/err" || fail "the cache is not named"

ASSAY_PROGRAM=$work/absent code 1 "$ASSAY" run "$model" --on null --runs 3
grep -q "$work/absent" "$work/err" || fail "the program is not named"

# A name that is not UTF-8 is a name: the cell's process gets it byte for byte, and the row shows it.
latin=$work/$'mod\xe9l'
cp -rL "$model" "$latin"
code 0 "$ASSAY" run "$latin" --on null --runs 3 --no-conform --json
is requested null
says model 'mod.+xe9l'
code 0 "$ASSAY" build "$latin" -o "$latin/built"
cp "$latin"/built/* "$work"
mv "$work/model.onnx" "$work/"$'caf\xe9.onnx'
code 2 "$ASSAY" run "$work/"$'caf\xe9.onnx' --on null --runs 3 --no-conform --json
says cause 'needs a graph that assay built'

# A child that is another program altogether: its output is no events.
# liar LINES: such a program, which leaves the reading of the model to assay.
liar()
{
	printf '#!/bin/sh\n%s%s\n' "$ours" "$1" >"$work/liar"
	chmod +x "$work/liar"
}
ours=
liar $'echo hello >&3\nread line\n'
ASSAY_PROGRAM=$work/liar code 2 "$ASSAY" run "$model" "$model" --on null --runs 3 --json
is verdict failed failed
says cause 'hello'
ours="[ \"\$2\" != --plan ] || exec \"$ASSAY\" \"\$@\""$'\n'
liar $'echo hello >&3\nread line\necho said on standard output'
ASSAY_PROGRAM=$work/liar code 2 "$ASSAY" run "$model" --on null --runs 3 --json
is verdict failed
says cause 'hello'
liar 'exit 3'
ASSAY_PROGRAM=$work/liar code 2 "$ASSAY" run "$model" --on null --runs 3 --json
is verdict crashed
says cause 'exit code 3'
liar "echo '{\"event\":\"done\"}' >&3"
ASSAY_PROGRAM=$work/liar code 2 "$ASSAY" run "$model" --on null --runs 3 --json
is verdict failed

# The last words of a process that just ends are in the cause.
liar $'echo libfoo.so.3: cannot open shared object file >&2\nexit 127'
ASSAY_PROGRAM=$work/liar code 2 "$ASSAY" run "$model" --on null --runs 3 --json
says cause 'libfoo.so.3'
says stderr_tail 'libfoo.so.3'

# A full disk below the cache is the cell's outcome, in words. A file system of 1 MiB needs root; without it there is nothing to fill.
if mkdir "$work/small" && mount -t tmpfs -o mode=755,size=1m none "$work/small" 2>/dev/null; then
	mkdir -p "$work/small/run"
	head -c 1048576 /dev/zero >"$work/small/fill" 2>/dev/null || true
	got=0
	ASSAY_CACHE=$work/small "$ASSAY" run "$model" --on null --runs 3 --json --batch 64 >"$work/out" 2>"$work/err" </dev/null || got=$?
	umount "$work/small"
	[ "$got" -eq 1 ] || [ "$got" -eq 2 ] || fail "exit code $got on a full disk"
	cat "$work/out" "$work/err" | grep -Eiq 'space' || fail "nobody says that the disk is full"
else
	skip_part "no file system of 1 MiB can be mounted here, so no disk is full"
fi

# Where a service's memory may not be written and then executed, what compiles while it runs cannot be asked.
# A page of a browser that is not given a part of its engine calls that a failure of its own, or of the platform.
if command -v chromium >/dev/null && [ -f "${ASSAY_DEPS:-$SOURCE/.deps}/engines/onnxruntime-web/ort.webgpu.bundle.min.mjs" ]; then
	SHIM_EIO=onnxruntime-web/ort-wasm LD_PRELOAD=$BUILD/tests/attack_shim.so ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 \
		code 2 env -u ASSAY_BROWSER_PATH "$ASSAY" run "$model" --on cpu:chromium --runs 1 --no-conform --json
	is verdict not_asked
	says cause '/ort-wasm.*Input/output error'
else
	skip_part "no chromium, or no onnxruntime-web: a browser whose engine cannot be read"
fi
cat >"$work/no_code.py" <<'PY'
import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0): sys.exit(77)  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
os.execv(sys.argv[1], sys.argv[1:])
PY
if python3 "$work/no_code.py" /bin/true; then
	code 2 python3 "$work/no_code.py" "$ASSAY" run "$model" --on openvino --runs 3 --no-conform --json
	is verdict not_asked
	says cause 'may not be made executable here'
	if command -v chromium >/dev/null && [ -f "${ASSAY_DEPS:-$SOURCE/.deps}/engines/onnxruntime-web/ort.webgpu.bundle.min.mjs" ]; then
		code 2 env -u ASSAY_BROWSER_PATH python3 "$work/no_code.py" "$ASSAY" run "$model" --on cpu:chromium --runs 3 --no-conform --json
		is verdict not_asked
		says cause 'may not be made executable here, and chromium may need that'
	else
		skip_part "no chromium, or no onnxruntime-web: a browser that may not compile"
	fi
else
	skip_part "this kernel cannot refuse executable memory (Linux 6.3)"
fi
ended
