# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Set-ups that this test breaks, one at a time: `assay doctor` names what is wrong and what to do, and never says that it works.
# What needs root, a mount namespace or a control group is a skipped part where that cannot be had, with its reason.
. "$SOURCE/tests/fault/lib.sh"
deps=$(readlink -f "${ASSAY_DEPS:-$SOURCE/.deps}")
unset ASSAY_ENGINE_PATH CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES VK_ICD_FILENAMES VK_DRIVER_FILES LD_LIBRARY_PATH XDG_DATA_HOME
found=0

# finds WORDS STATE CHECK PATTERN FIX: the last output has such a check, and the platform's last line the fix.
finds()
{
	grep -Eq -e "^  $2 +$3 .*$4" "$work/out" || fail "$1: no check '$3' that is $2 and like '$4'"
	grep -Eq -e "^  => .* (does not work|works is not known).*$5" "$work/out" || fail "$1: the last line does not say '$5'"
	found=$((found + 1))
}

# library FILE SONAME VERSIONS [LIBRARY]: a small real one, with these symbol versions.
library()
{
	mkdir -p "${1%/*}"
	echo "int answer_$RANDOM(void) { return 42; }" >"$work/library.c"
	printf '%s { global: *; };\n' "$3" >"$work/library.map"
	# shellcheck disable=SC2086
	cc -shared -nostdlib -fPIC -Wl,--version-script="$work/library.map" -Wl,-soname,"$2" -o "$1" "$work/library.c" ${4:+-Wl,--no-as-needed "$4"}
}
engines=$work/engines
fresh() { rm -rf "$engines"; mkdir -p "$engines/onnxruntime" "$engines/openvino"; }
export ASSAY_ENGINE_PATH=$engines

# It works: what is found below is found because it was broken.
fresh
code 0 "$ASSAY" doctor openvino
grep -q '^  => openvino works' "$work/out" || fail "openvino does not work here"
grep -Eq '^  ok +runs .*judged by engine:ort' "$work/out" || fail "the run was not judged by another engine"

# 1. The path names no folder.
ASSAY_ENGINE_PATH=$work/nowhere code 0 "$ASSAY" doctor openvino
grep -Eq "^  bad +search path +ASSAY_ENGINE_PATH names $work/nowhere, which is no folder" "$work/out" || fail "the wrong path is not named"
found=$((found + 1))

# 2. A version that is too old.
fresh
library "$engines/onnxruntime/libonnxruntime.so.1.5.0" libonnxruntime.so.1.5.0 VERS_1.5.0
code 2 "$ASSAY" doctor cpu:CPU
finds "an old version" bad version 'ONNX Runtime 1\.5\.0; understood is 1\.[0-9]+ and newer' 'assay setup cpu'

# 3. A neighbour is missing: named by its soname, with who needs it.
fresh
cp "$deps"/engines/openvino/libopenvino_c.so.* "$engines/openvino/"
code 2 "$ASSAY" doctor openvino
finds "a missing neighbour" bad chain 'libopenvino\.so\.[0-9]+ is missing; libopenvino_c\.so\.[0-9]+ needs it' 'assay setup openvino'

# 4. Another version of the neighbour is here.
fresh
library "$work/other/libvendor.so.13" libvendor.so.13 V13
library "$engines/onnxruntime/libonnxruntime.so.1.31.1" libonnxruntime.so.1 VERS_1.31.1 "$work/other/libvendor.so.13"
mv "$work/other/libvendor.so.13" "$work/other/libvendor.so.12"
LD_LIBRARY_PATH=$work/other code 2 "$ASSAY" doctor cpu:CPU
finds "another version" bad chain "libvendor\.so\.13 is missing; .*found is another version, $work/other/libvendor\.so\.12" 'assay setup cpu'

# 5. A newer C library is wanted than this system has.
fresh
library "$work/stub/libc.so.6" libc.so.6 GLIBC_9.99
echo 'int from_libc(void); int ask(void) { return from_libc(); }' >"$work/wants.c"
echo 'int from_libc(void) { return 1; }' >"$work/stub.c"
cc -shared -nostdlib -fPIC -Wl,--version-script="$work/library.map" -Wl,-soname,libc.so.6 -o "$work/stub/libc.so.6" "$work/stub.c"
printf 'VERS_1.31.1 { global: *; };\n' >"$work/wants.map"
cc -shared -nostdlib -fPIC -Wl,--version-script="$work/wants.map" -Wl,-soname,libonnxruntime.so.1 -o "$engines/onnxruntime/libonnxruntime.so.1.31.1" "$work/wants.c" "$work/stub/libc.so.6"
code 2 "$ASSAY" doctor cpu:CPU
finds "a C library that is too old" bad chain 'libc\.so\.6 here has GLIBC_2\.[0-9]+ at most, and libonnxruntime\.so\.1\.31\.1 needs GLIBC_9\.99' 'newer release'

# 6. Cut off.
fresh
whole=$(echo "$deps"/engines/onnxruntime/libonnxruntime.so.*)
head -c 100000 "$whole" >"$engines/onnxruntime/${whole##*/}"
code 2 "$ASSAY" doctor cpu:CPU
finds "a library that is cut off" bad library 'damaged or cut off: .*100000 bytes' 'assay setup cpu --again'
: >"$engines/onnxruntime/${whole##*/}"
code 2 "$ASSAY" doctor cpu:CPU
finds "an empty library" bad library 'empty' 'assay setup cpu --again'

# 7. Of another architecture: e_machine says AArch64 (or x86-64, where this is AArch64).
fresh
library "$engines/onnxruntime/libonnxruntime.so.1.31.1" libonnxruntime.so.1 VERS_1.31.1
[ "$(uname -m)" = x86_64 ] && machine='\267' theirs=AArch64 || machine='\076' theirs=x86-64
# shellcheck disable=SC2059
printf "$machine" | dd of="$engines/onnxruntime/libonnxruntime.so.1.31.1" bs=1 seek=18 conv=notrunc status=none
code 2 "$ASSAY" doctor cpu:CPU
finds "another architecture" bad library "built for $theirs, and this is" 'assay setup cpu'

# 8. A page of a web server under the library's name.
fresh
echo '<html>404</html>' >"$engines/onnxruntime/libonnxruntime.so.1.31.1"
code 2 "$ASSAY" doctor cpu:CPU
finds "no library at all" bad library 'not a shared library' 'assay setup cpu'
fresh

# 9. Hidden by the environment.
CUDA_VISIBLE_DEVICES=-1 code 2 "$ASSAY" doctor cuda
finds "hidden NVIDIA GPUs" bad environment 'CUDA_VISIBLE_DEVICES=-1 hides every device' 'unset CUDA_VISIBLE_DEVICES'
HIP_VISIBLE_DEVICES='' code 2 "$ASSAY" doctor rocm
finds "hidden AMD GPUs" bad environment 'HIP_VISIBLE_DEVICES="" hides every device' 'unset HIP_VISIBLE_DEVICES'

# 10. No driver of Vulkan.
VK_DRIVER_FILES=$work/none.json code 2 "$ASSAY" doctor webgpu:native
finds "no Vulkan driver" bad vulkan 'no Vulkan driver: VK_DRIVER_FILES names none that is here' 'unset VK_DRIVER_FILES'
library "$work/driver/libneeded.so.1" libneeded.so.1 V1
library "$work/driver/libdriver.so" libdriver.so V1 "$work/driver/libneeded.so.1"
rm "$work/driver/libneeded.so.1"
echo '{"file_format_version": "1.0.0", "ICD": {"library_path": "./libdriver.so", "api_version": "1.3.0"}}' >"$work/driver/icd.json"
VK_DRIVER_FILES=$work/driver/icd.json code 2 "$ASSAY" doctor webgpu:native
finds "a driver of Vulkan that lacks a library" bad vulkan 'the driver \./libdriver\.so cannot be used: libneeded\.so\.1 is missing' ''
rm "$work/driver/libdriver.so"
VK_DRIVER_FILES=$work/driver/icd.json code 2 "$ASSAY" doctor webgpu:native
finds "a driver of Vulkan that is gone" bad vulkan 'the driver \./libdriver\.so of .*icd\.json is missing' ''

# 11. It answers, and wrongly.
code 2 "$ASSAY" doctor null:wrong=on
finds "wrong results" bad runs 'WRONG results on NULL: .*reference' 'do not use'
code 2 "$ASSAY" doctor null:crash=run@1 --json
grep -q '"works": false' "$work/out" || fail "JSON: a crash works"
says text 'crashed: '
found=$((found + 1))

# 12. A control group that is too small for the engine. The program without sanitizers takes 6 MB of it; with them it takes 50, and
# under load the kernel ended it before it had said anything. The group's name does not begin with assay-: every run sweeps those that are
# empty and that no living program has locked, another test's run also while this one makes its own.
small=${BUILD:-}/plain/assay
[ -x "$small" ] || small=$ASSAY
limit_file=
while IFS=: read -r _ controllers path; do
	case ,$controllers, in
	*,memory,*) at=/sys/fs/cgroup/memory$path limit_file=memory.limit_in_bytes ;;
	,,) [ -n "$limit_file" ] || { at=/sys/fs/cgroup$path; limit_file=memory.max; } ;;
	esac
done </proc/self/cgroup
group=${at:-}/test-doctor-$$
if [ -n "$limit_file" ] && mkdir "$group" 2>/dev/null; then
	if echo 62914560 2>/dev/null >"$group/$limit_file" && (echo "$BASHPID" >"$group/cgroup.procs") 2>/dev/null; then
		got=0
		(echo "$BASHPID" >"$group/cgroup.procs" && exec "$small" doctor openvino) >"$work/out" 2>"$work/err" </dev/null || got=$?
		[ $got = 2 ] || fail "exit code $got, not 2, in a control group of 60 MiB"
		finds "a small control group" bad memory 'too little: .*control group is limited to 60 MiB' 'raise the memory limit'
	else
		skip_part "a control group with a memory limit cannot be made here"
	fi
	rmdir "$group"
else
	skip_part "no control group can be made here"
fi

# 13. No browser, and one that lacks a library. The first needs a mount namespace where tools/deps has brought a browser.
mkdir -p "$work/empty" "$work/browser"
library "$work/other/libvendor.so.13" libvendor.so.13 V13
library "$work/browser/chromium" chromium V1 "$work/other/libvendor.so.13"
rm "$work/other/libvendor.so.13"
if [ -f "$deps/engines/onnxruntime-web/ort.webgpu.bundle.min.mjs" ]; then
	cat >"$work/no_browser.sh" <<'END'
[ ! -d "$deps/browsers" ] || mount -t tmpfs none "$deps/browsers"
export PATH=$work/empty
exec "$ASSAY" doctor "$@"
END
	export work ASSAY deps
	if unshare -m true 2>/dev/null; then
		got=0
		env -u ASSAY_BROWSER_PATH unshare -m bash -e "$work/no_browser.sh" webgpu:chromium >"$work/out" 2>"$work/err" </dev/null || got=$?
		[ $got = 2 ] || fail "exit code $got, not 2, without a browser"
		finds "no browser" bad browser 'no Chromium is in PATH, in ASSAY_BROWSER_PATH or beside the engines' 'apt-get install chromium'
		got=0
		ASSAY_BROWSER_PATH=$work/browser unshare -m bash -e "$work/no_browser.sh" webgpu:chromium >"$work/out" 2>"$work/err" </dev/null || got=$?
		[ $got = 2 ] || fail "exit code $got, not 2, with a browser that cannot start"
		finds "a browser that lacks a library" bad browser 'chromium cannot start: libvendor\.so\.13 is missing' ''
	else
		skip_part "no mount namespace: no browser"
	fi
else
	skip_part "onnxruntime-web is not in $deps: no browser"
fi

# Without a card no driver helps: said where the kernel shows a PCI bus without one.
if [ -d /sys/bus/pci/devices ] && ! grep -qi '^PCI_ID=10DE:' /sys/bus/pci/devices/*/uevent 2>/dev/null && [ ! -e /dev/nvidiactl ]; then
	"$ASSAY" doctor cuda >"$work/out" 2>"$work/err" && fail "cuda works without a card"
	finds "no card" bad device '/dev/nvidiactl is missing \(NVIDIA.s driver\), and no NVIDIA card is on the PCI bus' 'take a machine that has a card of NVIDIA, and there install'
fi

# 14. The library is missing, and 15. no permission on a device file: with folders laid over this machine's.
if unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs none "$1" && exec "$2" doctor openvino' sh "$deps/engines" "$ASSAY" >"$work/out" 2>"$work/err" </dev/null && fail "it works without its library"
	finds "a missing library" bad library 'libopenvino_c\.so\* is not installed: looked in' 'assay setup openvino'

	mkdir -p "$work/dev/dri" "$work/dev/shm"
	for node in null zero urandom; do : >"$work/dev/$node"; done
	: >"$work/dev/nvidiactl" && : >"$work/dev/nvidia0" && : >"$work/dev/kfd" && : >"$work/dev/dri/renderD128"
	chmod 600 "$work/dev/nvidia0"
	chmod 660 "$work/dev/kfd" "$work/dev/dri/renderD128"
	chmod 666 "$work/dev/nvidiactl"
	chmod 755 "$work" "$work/dev" "$work/dev/dri"
	chgrp video "$work/dev/kfd" 2>/dev/null || chgrp 44 "$work/dev/kfd"
	cat >"$work/as_nobody.sh" <<'END'
for node in null zero urandom; do mount --bind "/dev/$node" "$work/dev/$node"; done
mount --rbind "$work/dev" /dev
mkdir "$work/theirs" && chown 65534 "$work/theirs"
ASSAY_CACHE=$work/theirs exec setpriv --reuid=65534 --regid=65534 --clear-groups "$ASSAY" doctor cuda rocm
END
	export work ASSAY
	if ! setpriv --reuid=65534 --regid=65534 --clear-groups "$ASSAY" --version >/dev/null 2>&1; then
		skip_part "another user cannot start the program, so no permission is missing"
	else
		got=0
		unshare -m bash -e "$work/as_nobody.sh" >"$work/out" 2>"$work/err" </dev/null || got=$?
		[ $got = 2 ] || fail "exit code $got, not 2, without permission on the device files"
		finds "no permission, NVIDIA" bad device '/dev/nvidia0: no permission \(mode 0600, owner 0' 'chmod a\+rw /dev/nvidia0'
		finds "no permission, AMD" bad device '/dev/kfd: no permission \(mode 0660, owner 0, group (video|44)' 'usermod -aG (video|44)'
	fi
else
	skip_part "no mount namespace: a missing library, device files without permission"
fi

echo "$found broken set-ups found"
[ $found -ge 10 ] || fail "fewer than ten broken set-ups were found"
ended
