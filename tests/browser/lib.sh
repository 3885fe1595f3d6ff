# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests here: what tests of faults have, and looks at browsers. Skipping is for a browser that is not there; one that
# is there and does not work has failed.
. "$SOURCE/tests/fault/lib.sh"
unset ASSAY_BROWSER_PATH

# needs PROVIDER DEVICE: a browser of that kind has wasm, webgpu or webnn, or the test is skipped with the reason.
# Is its program on this machine at all?
installed()
{
	case $1:$2 in
	webnn:*) [ -x "$SOURCE/.deps/browsers/chromium-webnn/chromium" ] ;;
	webgpu:firefox) { command -v firefox-esr || command -v firefox; } && ldconfig -p | grep "libvulkan\.so\.1 " ;;
	*:firefox) command -v firefox-esr || command -v firefox ;;
	*) command -v "$2" ;;
	esac >/dev/null
}

# needs PROVIDER KIND: exits with 77 where the browser is not installed, and with $lacks where it says itself that it has no such thing
# (Firefox 140 has no WebGPU), which ctest knows as no skip: who asks says what holds then. One that is installed and does not answer is a failure; on a machine with much other work it is asked a second time.
lacks=78
needs()
{
	local try
	for try in 1 2; do
		[ -s "$work/detect" ] || "$ASSAY" detect --json >"$work/detect" 2>/dev/null
		grep -A1 "\"provider\": \"$1\"" "$work/detect" | grep -q "\"name\": \"$2\"" && return
		why=$(sed -n "s/^ *\"$2\": \"\(.*\)\",\{0,1\}$/\1/p" "$work/detect" | head -1)
		installed "$1" "$2" || { echo "skip: no $2 with $1 here: $why"; exit 77; }
		case $why in *": Firefox "[0-9]*": "*|*": Chromium "[0-9]*": "*) echo "$2 has no $1: $why"; exit "$lacks" ;; esac
		echo "try $try: $2 with $1 does not answer: $why"
		rm -rf "$work/detect" "$ASSAY_CACHE/browser"
	done
	fail "$2 is installed, and detect does not list it for $1: $why"
}

# below PID: $below is every process below it, by the last look.
below()
{
	local i
	below=("$1")
	for ((i = 0; i < ${#below[@]}; i++)); do
		# shellcheck disable=SC2206
		below+=(${children[${below[i]}]-})
	done
	below=("${below[@]:1}")
}

# a_browser_runs PID: the cell of this run has a browser; its first process is in $browser. Processes that report its crashes are children
# of the cell, too.
a_browser_runs()
{
	in_cell "$1" && a_child "$cell" --headless || return 1
	browser=$child
}

# none_of PIDS: every one is gone.
none_of()
{
	local p
	for p in $1; do
		gone "$p" || return 1
	done
}
